"""Estimators that learn atoms: explicit, reusable pieces that explain each sample by a few."""

from ._version import __version__
from .basis import VariationalBasisLearner
from .dynamics import KoopmanBasisDynamics
from .language import BasisStateLM
from .network import VectorNetwork, VectorNetworkClassifier, VectorNetworkRegressor
from .symbols import WTASymbolEncoder

__all__ = [
    "BasisStateLM",
    "KoopmanBasisDynamics",
    "VariationalBasisLearner",
    "VectorNetwork",
    "VectorNetworkClassifier",
    "VectorNetworkRegressor",
    "WTASymbolEncoder",
    "__version__",
]
