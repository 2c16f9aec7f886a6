"""Bases learned from data."""

from ._constraints import (
    Constraint,
    LinearAdmissible,
    MaxCoherence,
    NonNegative,
    Separable,
    UnitBall,
    UnitNorm,
)
from ._couplings import Coupling, GraphLaplacian, Temporal
from ._learner import VariationalBasisLearner
from ._regularizers import (
    AbsoluteValues,
    Coherence,
    Energy,
    Orthogonality,
    Regularizer,
    Smoothness,
    TotalVariation,
)

__all__ = [
    "AbsoluteValues",
    "Coherence",
    "Constraint",
    "Coupling",
    "Energy",
    "GraphLaplacian",
    "LinearAdmissible",
    "MaxCoherence",
    "NonNegative",
    "Orthogonality",
    "Regularizer",
    "Separable",
    "Smoothness",
    "Temporal",
    "TotalVariation",
    "UnitBall",
    "UnitNorm",
    "VariationalBasisLearner",
]
