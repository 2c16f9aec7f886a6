"""Networks of layers of rank-1 weight atoms."""

from ._classifier import VectorNetworkClassifier
from ._network import VectorNetwork
from ._regressor import VectorNetworkRegressor

__all__ = ["VectorNetwork", "VectorNetworkClassifier", "VectorNetworkRegressor"]
