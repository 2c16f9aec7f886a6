"""Estimators that learn atoms: explicit, reusable pieces that explain each sample by a few."""

from ._version import __version__
from .basis import VariationalBasisLearner
from .network import VectorNetwork, VectorNetworkClassifier, VectorNetworkRegressor

__all__ = [
    "VariationalBasisLearner",
    "VectorNetwork",
    "VectorNetworkClassifier",
    "VectorNetworkRegressor",
    "__version__",
]
