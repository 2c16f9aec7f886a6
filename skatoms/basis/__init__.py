"""Bases learned from data."""

from ._learner import VariationalBasisLearner

__all__ = ["VariationalBasisLearner"]
