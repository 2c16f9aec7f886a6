"""Networks among scikit-learn's tools."""

import numpy as np
import pandas
import pytest
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import parametrize_with_checks

from skatoms import VectorNetwork, VectorNetworkClassifier, VectorNetworkRegressor


@pytest.mark.filterwarnings("ignore:The objective still fell")
@pytest.mark.filterwarnings("ignore:SCIPY_ARRAY_API")
@parametrize_with_checks(
    [
        VectorNetwork(),
        VectorNetwork((8, 4), learning_rule="block", output_layers="all"),
        VectorNetwork((6, 5, 4), top_k=2),
        VectorNetworkRegressor(),
        VectorNetworkRegressor((12, 6), learning_rule="block"),
        VectorNetworkClassifier(),
        VectorNetworkClassifier((12, 6), positive=True),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore:The objective still fell")
def test_pandas_goes_in_and_comes_out():
    frame = load_digits(as_frame=True).data.iloc[:200]
    model = VectorNetwork((10, 5), alpha=1.0, max_iter=2, random_state=0)
    codes = model.set_output(transform="pandas").fit(frame).transform(frame)
    assert isinstance(codes, pandas.DataFrame)
    assert list(codes.columns) == [f"vectornetwork{k}" for k in range(5)]
    assert (model.feature_names_in_ == np.array(frame.columns)).all()
