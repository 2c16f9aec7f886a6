"""Estimators that learn atoms: explicit, reusable pieces that explain each sample by a few."""

from ._version import __version__
from .basis import VariationalBasisLearner

__all__ = ["VariationalBasisLearner", "__version__"]
