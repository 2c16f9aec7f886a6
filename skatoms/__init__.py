"""Estimators that learn atoms: explicit, reusable pieces that explain each sample by a few."""

from .basis import VariationalBasisLearner

__version__ = "0.1.0.dev0"
__all__ = ["VariationalBasisLearner"]
