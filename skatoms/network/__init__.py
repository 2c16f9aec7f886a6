"""Networks of layers of rank-1 weight atoms."""

from ._estimators import VectorNetwork, VectorNetworkClassifier, VectorNetworkRegressor

__all__ = ["VectorNetwork", "VectorNetworkClassifier", "VectorNetworkRegressor"]
