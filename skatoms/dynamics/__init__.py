"""Dynamics: trajectories as linear motion of lifted states."""

from ._horizon import HorizonSplit
from ._koopman import KoopmanBasisDynamics

__all__ = ["HorizonSplit", "KoopmanBasisDynamics"]
