"""The inner problem of all estimators: explain each sample by few atoms."""

from ._penalties import L0, L1, ElasticNet, GroupL1, Penalty, Ridge, TopK
from ._problem import CodingReport
from ._sparse_code import sparse_code

__all__ = [
    "L0",
    "L1",
    "CodingReport",
    "ElasticNet",
    "GroupL1",
    "Penalty",
    "Ridge",
    "TopK",
    "sparse_code",
]
