"""Data sets: readers of public ones that are files in a folder of yours, and generators.

A generator returns a training part and, as `test`, parts to test on: new data of the same kind, and
combinations that training does not have.
"""

from ._bumps import make_spatial_bumps
from ._digits import make_digit_compositions
from ._ecg import load_ecg_beats
from ._functions import make_function_compositions
from ._mnist import load_mnist_test
from ._nbody import make_nbody

__all__ = [
    "load_ecg_beats",
    "load_mnist_test",
    "make_digit_compositions",
    "make_function_compositions",
    "make_nbody",
    "make_spatial_bumps",
]
