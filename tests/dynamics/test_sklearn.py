"""KoopmanBasisDynamics among scikit-learn's tools."""

import pickle

import numpy as np
import pandas
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils.estimator_checks import parametrize_with_checks

from skatoms import KoopmanBasisDynamics
from skatoms.datasets import make_oscillators

ESTIMATORS = [
    KoopmanBasisDynamics(),
    KoopmanBasisDynamics("polynomial", operator="ridge", stability="stable"),
    KoopmanBasisDynamics(PolynomialFeatures(2), gamma=10.0, max_iter=3),
    KoopmanBasisDynamics("nystroem", operator="ridge", random_state=0),
    KoopmanBasisDynamics(operator="tls", rank=1, scale=True),
    KoopmanBasisDynamics(operator="varpro"),
    KoopmanBasisDynamics(center=None, fit_intercept=False, stability="conservative"),
]


@pytest.mark.filterwarnings("ignore:n_components > n_samples")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def waves():
    return make_oscillators(200, 3, noise=0.01, random_state=0).data


def test_frames_go_in_and_come_out(waves):
    frame = pandas.DataFrame(waves, columns=["a", "b", "c"])
    model = KoopmanBasisDynamics(n_delays=3, rank=4).set_output(transform="pandas").fit(frame)
    latents = model.transform(frame)
    assert list(latents.columns) == [f"koopmanbasisdynamics{i}" for i in range(4)]
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    table = model.spectrum()
    assert isinstance(table, pandas.DataFrame)
    assert len(table) == 4


def test_pickles_and_clones(waves):
    model = KoopmanBasisDynamics("polynomial", n_delays=2).fit(waves)
    for copy in (pickle.loads(pickle.dumps(model)), clone(model).fit(waves)):
        assert_allclose(copy.forecast(5), model.forecast(5), rtol=1e-10)


def test_a_failed_fit_leaves_the_former_one(waves):
    model = KoopmanBasisDynamics(n_delays=2).fit(pandas.DataFrame(waves, columns=list("abc")))
    before = model.forecast(3)
    with pytest.raises(ValueError, match="rank=50 is more than the data hold"):
        model.set_params(rank=50).fit(waves)
    with pytest.raises(ValueError, match="n_delays=300"):
        model.set_params(rank=None, n_delays=300).fit(waves)
    assert list(model.feature_names_in_) == list("abc")
    assert_array_equal(model.forecast(3), before)


def test_lengths_are_routed(waves):
    import sklearn

    with sklearn.config_context(enable_metadata_routing=True):
        model = KoopmanBasisDynamics().set_fit_request(groups=True).set_score_request(groups=True)
        search = GridSearchCV(model, {"rank": [2, 3]}, cv=2, error_score="raise")
        search.fit(waves, groups=np.repeat([0, 1, 2, 3], 50))
    assert search.best_params_["rank"] == 3
