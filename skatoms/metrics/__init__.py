"""Measures of atoms and codes."""

from ._recovery import (
    AtomRecovery,
    RecoveryGuarantee,
    atom_recovery,
    exact_recovery,
    mutual_coherence,
    support_f1,
    welch_bound,
)

__all__ = [
    "AtomRecovery",
    "RecoveryGuarantee",
    "atom_recovery",
    "exact_recovery",
    "mutual_coherence",
    "support_f1",
    "welch_bound",
]
