"""The inner problem of all estimators: explain each sample by few atoms."""

from ._penalties import L1, Penalty, TopK
from ._problem import CodingReport
from ._sparse_code import sparse_code

__all__ = ["L1", "CodingReport", "Penalty", "TopK", "sparse_code"]
