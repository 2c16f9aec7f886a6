"""Missing values: NaN in X is left out, and filled in."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skatoms import VariationalBasisLearner

pytestmark = pytest.mark.filterwarnings("ignore:The objective still fell")


@pytest.fixture(scope="module")
def data():
    """Samples of low rank, and the same with a third of the entries missing."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 4)) @ rng.standard_normal((4, 20))
    return X, np.where(rng.random(X.shape) < 0.3, np.nan, X)


def learner(**changes):
    settings = {"n_components": 8, "alpha": 0.05, "max_iter": 30, "random_state": 0}
    return VariationalBasisLearner(**(settings | changes))


@pytest.mark.parametrize("batch_size", [40, 1000])
def test_a_matrix_of_low_rank_is_filled_in_from_its_known_entries(data, batch_size):
    X, gaps = data
    filled = learner(batch_size=batch_size).fit(gaps).reconstruct(gaps)
    missing = np.isnan(gaps)
    means = np.broadcast_to(np.nanmean(gaps, axis=0), X.shape)
    error = np.abs(filled - X)[missing].mean()
    assert error < 0.15 * np.abs(means - X)[missing].mean()


@pytest.mark.parametrize("batch_size", [40, 1000])
def test_the_objective_never_rises_after_the_online_passes(data, batch_size):
    history = learner(batch_size=batch_size, tol=0).fit(data[1]).objective_history_
    assert np.all(np.diff(history[1:]) <= 1e-10 * history[1:-1])


def test_the_objective_is_that_of_the_known_entries(data):
    _, gaps = data
    model = learner(max_iter=100, tol=1e-9).fit(gaps)
    codes = model.transform(gaps)
    rest = np.nan_to_num(gaps - codes @ model.components_)
    expected = (0.5 * (rest**2).sum(axis=1) + 0.05 * np.abs(codes).sum(axis=1)).mean()
    assert -model.score(gaps) == pytest.approx(expected)
    assert model.objective_history_[-1] == pytest.approx(expected, rel=5e-3)


def test_gaps_in_some_samples_do_not_change_the_codes_of_others(data):
    X, gaps = data
    model = learner().fit(X)
    mixed = np.concatenate([X[:50], gaps[50:100]])
    assert_allclose(model.transform(mixed)[:50], model.transform(X[:50]), atol=1e-4)


def test_partial_fit_learns_from_gaps(data):
    X, gaps = data
    model = learner()
    for batch in np.array_split(gaps, 8):
        model.partial_fit(batch)
    missing = np.isnan(gaps)
    error = np.abs(model.reconstruct(gaps) - X)[missing].mean()
    assert error < 0.5 * np.abs(X)[missing].mean()


def test_results_do_not_depend_on_n_jobs(data):
    one, two = (learner(n_jobs=n, max_iter=3).fit(data[1]) for n in (1, 2))
    assert_array_equal(one.components_, two.components_)
    assert_array_equal(one.transform(data[1]), two.transform(data[1]))


def test_samples_and_features_of_which_nothing_is_known():
    X = np.random.default_rng(0).standard_normal((30, 5))
    X[3] = X[:, 2] = np.nan
    model = learner(n_components=4).fit(X)
    assert np.isfinite(model.components_).all()
    assert not model.transform(X)[3].any()
    assert np.isfinite(model.reconstruct(X)).all()


def test_nothing_known_at_all_is_refused():
    with pytest.raises(ValueError, match="X is all zeros where it has weight"):
        learner().fit(np.full((5, 3), np.nan))
