"""Batches of a stream: partial_fit."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits

from skatoms import WTASymbolEncoder
from skatoms.datasets import make_entangled_factors, make_linear_tasks

pytestmark = [
    pytest.mark.filterwarnings("ignore:y is one task"),
    pytest.mark.filterwarnings("ignore:The tasks depend on"),
    pytest.mark.filterwarnings("ignore:Symbols lose"),
]


def encoder(**changes):
    settings = {"hidden_layer_sizes": (64,), "max_restarts": 0, "random_state": 0}
    return WTASymbolEncoder(**(settings | changes))


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:1500], y[:1500], X[1500:], y[1500:]


def test_the_first_batch_is_learned_as_by_fit(digits):
    X, y, new, _ = digits
    one = encoder(max_iter=5).fit(X[:300], y[:300])
    other = encoder(max_iter=5).partial_fit(X[:300], y[:300])
    assert_array_equal(one.predict_proba(new), other.predict_proba(new))


def test_more_batches_make_predictions_better(digits):
    X, y, new, labels = digits
    model = encoder(head_sizes=(10, 10)).partial_fit(X[:150], y[:150])
    before = model.score(new, labels)
    for _ in range(5):
        for first in range(150, 1500, 150):
            model.partial_fit(X[first : first + 150], y[first : first + 150])
    assert model.score(new, labels) > before + 0.02


def test_symbols_that_are_right_stay_right():
    rows = make_entangled_factors(1500, 500, n_factors=2, n_categories=4, random_state=0)
    tasks = make_linear_tasks(rows.factors, 20, random_state=0)
    model = encoder().fit(rows.data[:500], tasks.target[:500])
    before = model.symbols(rows.data)
    for first in range(500, 1500, 250):
        model.partial_fit(rows.data[first : first + 250], tasks.target[first : first + 250])
    assert_array_equal(model.symbols(rows.data), before)
    assert model.score(rows.data, tasks.target) > 0.98


def test_classes_that_the_first_batch_lacks_are_named_in_the_first_call(digits):
    X, y, new, labels = digits
    few = y[:300] < 8
    model = encoder(head_sizes=(10, 10)).partial_fit(X[:300][few], y[:300][few], classes=range(10))
    assert_array_equal(model.classes_, np.arange(10))
    for _ in range(30):
        model.partial_fit(X, y, classes=np.arange(10))
    assert np.isin(model.predict(new)[labels >= 8], (8, 9)).mean() > 0.5


def test_one_sample_at_a_time_moves_little(digits):
    X, y, new, _ = digits
    model = encoder(max_iter=10).partial_fit(X[:300], y[:300])
    before = model.predict_proba(new)
    for row in range(300, 310):
        model.partial_fit(X[row : row + 1], y[row : row + 1])
    after = model.predict_proba(new)
    assert np.isfinite(after).all()
    assert (after.argmax(axis=1) == before.argmax(axis=1)).mean() > 0.8


def test_logits_follow_the_network_after_a_batch(digits):
    X, y, new, _ = digits
    model = encoder(max_iter=10).partial_fit(X[:300], y[:300]).partial_fit(X[300:600], y[300:600])
    logits = model.transform(new) @ model.task_weights_ + model.task_intercept_
    assert_allclose(logits, model._network.logits(model._scaling(new)), rtol=1e-4, atol=1e-3)


def test_symbols_that_were_merged_stay_merged():
    rows = make_entangled_factors(1000, n_factors=2, n_categories=3, n_features=12, random_state=0)
    tasks = make_linear_tasks(rows.factors, 12, random_state=0)
    model = encoder(head_sizes=(6, 6), merge_equivalent=True).fit(rows.data, tasks.target)
    names = list(model.get_feature_names_out())
    model.partial_fit(rows.data, tasks.target)
    assert list(model.get_feature_names_out()) == names
    assert model.transform(rows.data).shape[1] == len(names) == len(model.task_weights_)
    assert model.score(rows.data, tasks.target) > 0.98


def test_what_was_not_learned_is_refused(digits):
    X, y, _, _ = digits
    model = encoder(max_iter=2).partial_fit(X[:200], y[:200] % 5)
    before = model.task_weights_.copy()
    with pytest.raises(
        ValueError, match=r"y has classes array\(\[5.*in the first call of partial_"
    ):
        model.partial_fit(X, y)
    with pytest.raises(ValueError, match="in the first call it was"):
        model.partial_fit(X, y % 5, classes=[0, 1])
    with pytest.raises(ValueError, match="y has 2 columns, but 1 were learned"):
        model.partial_fit(X, np.column_stack([y % 5, y % 5]))
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, 1:], y % 5)
    assert_array_equal(model.task_weights_, before)


def test_soft_targets_stay_probabilities():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((100, 3)), rng.random((100, 4))
    model = encoder(max_iter=2).partial_fit(X, y)
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        model.partial_fit(X, 2 * y)
    with pytest.raises(ValueError, match="y has 3 columns, but 4 were learned"):
        model.partial_fit(X, y[:, :3])
    hard = encoder(max_iter=2).partial_fit(X, (y > 0.5).astype(int))
    with pytest.raises(ValueError, match=r"0 and 1|\[0, 1\]|classes"):
        hard.partial_fit(X, 3 * (y > 0.5).astype(int))


def test_classes_go_with_one_column(digits):
    X, y, _, _ = digits
    with pytest.raises(ValueError, match="classes goes with a y of one dimension"):
        encoder().partial_fit(X, np.column_stack([y, y]), classes=range(10))
    with pytest.raises(ValueError, match="not among"):
        encoder().partial_fit(X, y, classes=range(5))


def test_samples_without_weight_change_nothing(digits):
    X, y, new, _ = digits
    model = encoder(max_iter=3, batch_size=2000).partial_fit(X[:300], y[:300])
    other = pickle.loads(pickle.dumps(model))
    weights = np.repeat([1.0, 0.0], 600)
    model.partial_fit(X[300:], y[300:], sample_weight=weights)
    wrong = np.where(weights > 0, y[300:], 9 - y[300:])
    other.partial_fit(X[300:], wrong, sample_weight=weights)
    assert_array_equal(model.predict_proba(new), other.predict_proba(new))
