"""Data sets: short public series, readers of files in a folder of yours, and generators.

A generator returns a training part and, as `test`, parts to test on: new data of the same kind, and
combinations that training does not have. Those of trajectories return rows with and without noise.
"""

from ._bumps import make_spatial_bumps
from ._digits import make_digit_compositions
from ._dynamics import (
    make_duffing,
    make_flow,
    make_lorenz,
    make_oscillators,
    make_van_der_pol,
)
from ._ecg import load_ecg, load_ecg_beats
from ._entangled import make_entangled_factors
from ._functions import make_function_compositions
from ._linear_tasks import make_linear_tasks
from ._mnist import load_mnist_test
from ._nbody import make_nbody
from ._series import load_co2, load_sunspots
from ._sprites import make_sprites

__all__ = [
    "load_co2",
    "load_ecg",
    "load_ecg_beats",
    "load_mnist_test",
    "load_sunspots",
    "make_digit_compositions",
    "make_duffing",
    "make_entangled_factors",
    "make_flow",
    "make_function_compositions",
    "make_linear_tasks",
    "make_lorenz",
    "make_nbody",
    "make_oscillators",
    "make_spatial_bumps",
    "make_sprites",
    "make_van_der_pol",
]
