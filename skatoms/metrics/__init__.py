"""Measures of atoms, codes and symbols."""

from ._disentanglement import DCIScores, dci, modularity_score, mutual_information_gap, sap_score
from ._recovery import (
    AtomRecovery,
    RecoveryGuarantee,
    atom_recovery,
    exact_recovery,
    mutual_coherence,
    support_f1,
    welch_bound,
)
from ._symbols import (
    CategoryRecovery,
    category_recovery,
    factor_match_matrix,
    population_code_score,
    structural_permutation_score,
)

__all__ = [
    "AtomRecovery",
    "CategoryRecovery",
    "DCIScores",
    "RecoveryGuarantee",
    "atom_recovery",
    "category_recovery",
    "dci",
    "exact_recovery",
    "factor_match_matrix",
    "modularity_score",
    "mutual_coherence",
    "mutual_information_gap",
    "population_code_score",
    "sap_score",
    "structural_permutation_score",
    "support_f1",
    "welch_bound",
]
