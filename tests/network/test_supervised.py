"""Networks with a target at the top."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.callback import ScoringMonitor
from sklearn.datasets import load_diabetes, load_digits
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skatoms import VectorNetworkClassifier, VectorNetworkRegressor

pytestmark = pytest.mark.filterwarnings("ignore:The objective still fell")


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:1200] / 16, y[:1200], X[1200:] / 16, y[1200:]


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(0)
    codes = rng.standard_normal((900, 12)) * (rng.random((900, 12)) < 0.3)
    X = codes @ rng.standard_normal((12, 20)) + 0.05 * rng.standard_normal((900, 20))
    return X[:600], codes[:600] @ rng.standard_normal((12, 2)), X[600:]


@pytest.mark.parametrize("n_atoms", [(40,), (40, 20)])
@pytest.mark.parametrize("rule", ["hebb", "block"])
def test_codes_from_samples_alone_predict_what_they_allow(numbers, n_atoms, rule):
    X, y, _ = numbers
    model = VectorNetworkRegressor(n_atoms, 0.05, learning_rule=rule, random_state=0).fit(X, y)
    model.set_params(output_layers="all")
    codes = model.transform(X)
    allowed = LinearRegression().fit(codes, y).predict(codes)
    reached = ((model.predict(X) - y) ** 2).mean()
    assert reached <= 1.1 * ((allowed - y) ** 2).mean()
    assert_allclose(model.predict(X), codes @ model.coef_.T + model.intercept_)
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("n_atoms", [(128,), (128, 32)])
def test_digits_are_told_apart(digits, n_atoms):
    X, y, new, labels = digits
    model = VectorNetworkClassifier(n_atoms, random_state=0).fit(X, y)
    dense = LogisticRegression(max_iter=1000).fit(X, y)
    assert model.score(new, labels) > dense.score(new, labels) + 0.01
    probabilities = model.predict_proba(new)
    assert_allclose(probabilities.sum(axis=1), 1)
    assert (probabilities >= 0).all()
    assert_array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(new))


def test_missing_pixels_make_digits_only_a_little_harder(digits):
    X, y, new, labels = digits
    model = VectorNetworkClassifier(random_state=0).fit(X, y)
    gaps = np.where(np.random.default_rng(0).random(new.shape) < 0.25, np.nan, new)
    assert model.score(gaps, labels) > model.score(new, labels) - 0.1


def test_targets_that_are_clamped_shape_the_atoms(numbers):
    X, y, _ = numbers
    weak = VectorNetworkRegressor(12, 0.05, target_weight=1e-9, random_state=0).fit(X, y)
    strong = VectorNetworkRegressor(12, 0.05, target_weight=1.0, random_state=0).fit(X, y)
    assert np.abs(weak.input_atoms_[0] - strong.input_atoms_[0]).max() > 0.01
    # Outputs of the top explain the centred target.
    codes = strong.transform(X)
    explained = codes @ strong.output_atoms_[0]
    rest = y - y.mean(axis=0) - explained
    assert (rest**2).mean() < 0.5 * y.var(axis=0).mean()


@pytest.mark.parametrize("rule", ["hebb", "block"])
def test_a_stream_of_batches_is_learned_from(digits, rule):
    X, y, new, labels = digits
    model = VectorNetworkClassifier(learning_rule=rule, random_state=0)
    model.partial_fit(X[:100], y[:100], classes=np.arange(10))
    for first in range(100, 1200, 100):
        model.partial_fit(X[first : first + 100], y[first : first + 100])
    assert model.n_samples_seen_ == 1200
    assert model.score(new, labels) > 0.85


def test_one_output_and_several(numbers):
    X, y, new = numbers
    one = VectorNetworkRegressor(20, random_state=0, max_iter=3).fit(X, y[:, 0])
    assert one.predict(new).shape == (300,)
    both = VectorNetworkRegressor(20, random_state=0, max_iter=3).fit(X, y)
    assert both.predict(new).shape == (300, 2)
    assert one.coef_.shape == (1, 20)
    assert both.coef_.shape == (2, 20)


def test_constant_targets_are_predicted():
    X = np.random.default_rng(0).standard_normal((50, 4))
    model = VectorNetworkRegressor(6, random_state=0, max_iter=3).fit(X, np.full(50, 3.0))
    assert_allclose(model.predict(X), 3, atol=1e-6)


def test_two_classes_have_one_decision(digits):
    X, y, new, _ = digits
    model = VectorNetworkClassifier(32, random_state=0, max_iter=3).fit(
        X, np.where(y > 4, "b", "a")
    )
    decision = model.decision_function(new)
    assert decision.shape == (len(new),)
    assert_array_equal(model.predict(new), np.where(decision > 0, "b", "a"))


def test_parts_and_unions_predict(numbers):
    X, y, new = numbers
    model = VectorNetworkRegressor((20, 10), random_state=0, max_iter=10).fit(X, y)
    whole = model.select_atoms(np.ones(30, bool))
    assert_allclose(whole.predict(new), model.predict(new), atol=1e-8)
    pruned = model.select_atoms(np.arange(30) != 3)
    assert pruned.coef_.shape == (2, 29)
    assert pruned.score(X, y) <= model.score(X, y) + 1e-3
    other = VectorNetworkRegressor((20, 10), random_state=1, max_iter=10).fit(X, y)
    union = model.merge(other)
    assert union.coef_.shape == (2, 60)
    assert union.predict(new).shape == (300, 2)
    union.partial_fit(X, y)
    assert union.score(X, y) > 0.8


def test_a_search_over_a_pipeline(digits):
    X, y = load_diabetes(return_X_y=True)
    pipe = make_pipeline(StandardScaler(), VectorNetworkRegressor(24, max_iter=5, random_state=0))
    grid = {
        "vectornetworkregressor__alpha": [0.1, 0.5],
        "vectornetworkregressor__learning_rule": ["hebb", "block"],
    }
    search = GridSearchCV(pipe, grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.3


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.r_[np.nan, np.zeros(599)], "Input y contains NaN"),
        (np.zeros(10), "inconsistent numbers of samples"),
    ],
)
def test_bad_targets_are_refused(numbers, y, message):
    with pytest.raises(ValueError, match=message):
        VectorNetworkRegressor().fit(numbers[0], y)


def test_networks_of_other_classes_are_not_merged(digits):
    X, y, new, labels = digits
    first, second = (
        VectorNetworkClassifier(32, max_iter=3, random_state=seed).fit(X, y) for seed in (0, 1)
    )
    assert first.merge(second).score(new, labels) > 0.8
    with pytest.raises(ValueError, match="other knows the classes"):
        first.merge(VectorNetworkClassifier(32, max_iter=3).fit(X, y + 1))


def test_classes_that_change_are_refused(digits):
    X, y, _, _ = digits
    model = VectorNetworkClassifier(16, random_state=0)
    with pytest.raises(ValueError, match="at least 2 classes"):
        model.fit(X[y == 3], y[y == 3])
    model.partial_fit(X[y < 5], y[y < 5])
    with pytest.raises(ValueError, match="name all classes in the first call"):
        model.partial_fit(X, y)
    with pytest.raises(ValueError, match="in the first call it was"):
        model.partial_fit(X[y < 5], y[y < 5], classes=[0, 1])


@pytest.mark.parametrize("rule", ["hebb", "block"])
def test_results_do_not_depend_on_the_order_of_rows(numbers, rule):
    X, y, new = numbers
    order = np.random.default_rng(5).permutation(len(X))
    settings = {"learning_rule": rule, "max_iter": 4, "random_state": 0}
    first = VectorNetworkRegressor((10, 6), 0.05, **settings).fit(X, y)
    second = VectorNetworkRegressor((10, 6), 0.05, **settings).fit(X[order], y[order])
    assert_array_equal(first.input_atoms_[0], second.input_atoms_[0])
    assert_allclose(first.predict(new), second.predict(new), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [3, 7, 59])
def test_rounding_errors_of_constant_targets_do_not_count(n, dtype):
    X = np.random.default_rng(0).standard_normal((n, 5)).astype(dtype)
    model = VectorNetworkRegressor(4, max_iter=2, random_state=0).fit(X, np.full(n, 0.1, dtype))
    assert not model.output_atoms_[-1].any()
    assert_allclose(model.predict(X), 0.1, rtol=1e-5)


def test_callbacks_score_what_the_network_predicts_at_the_time(numbers, digits):
    X, y, _ = numbers
    seen = []

    def scoring(model, X, y):
        seen.append(model.score(X, y))
        return {"r2": seen[-1]}

    model = VectorNetworkRegressor((12, 6), 0.05, max_iter=4, random_state=0)
    model.set_callbacks(ScoringMonitor(scoring=scoring)).fit(X, y)
    assert seen[-1] == pytest.approx(model.score(X, y))
    X, y, _, _ = digits
    model = VectorNetworkClassifier(16, max_iter=2, random_state=0)
    model.set_callbacks(ScoringMonitor(scoring=scoring)).fit(X, y)
    assert seen[-1] == pytest.approx(model.score(X, y))


def test_an_interrupt_leaves_the_last_finished_pass(numbers):
    X, y, new = numbers

    calls = []

    def interrupt(model, X, y):
        calls.append(model)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return {"r2": 0.0}

    model = VectorNetworkRegressor(12, 0.05, max_iter=9, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.set_callbacks(ScoringMonitor(scoring=interrupt)).fit(X, y)
    assert model.n_iter_ == 2
    assert model.predict(new).shape == (300, 2)
    assert model.score(X, y) > 0.3


def test_merged_predictions_are_the_sums_of_both():
    rng = np.random.default_rng(0)
    parts = [np.zeros((300, 20)), np.zeros((300, 20))]
    parts[0][:, :10], parts[1][:, 10:] = rng.standard_normal((2, 300, 10))
    weights = rng.standard_normal(20)
    models = [
        VectorNetworkRegressor(30, 0.05, random_state=0).fit(part, part @ weights * scale + shift)
        for part, scale, shift in zip(parts, (1, 1000), (2, 50), strict=True)
    ]
    union = models[0].merge(models[1])
    both = parts[0] + parts[1]
    expected = models[0].predict(parts[0]) + models[1].predict(parts[1])
    assert_allclose(union.predict(both), expected, rtol=1e-4, atol=1e-3)
    assert_allclose(union.output_atoms_[-1][30:], models[1].output_atoms_[-1], rtol=1e-12)


def test_sizes_that_change_are_refused_with_a_warm_start(numbers):
    X, y, _ = numbers
    model = VectorNetworkRegressor((12, 6), max_iter=1, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match=r"n_atoms=\(4,\) .* fit anew without warm_start"):
        model.set_params(n_atoms=(4,)).fit(X, y)
