"""What y may be, and predictions in its form."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn.metrics import accuracy_score

from skatoms import WTASymbolEncoder
from skatoms.datasets import make_entangled_factors, make_linear_tasks

pytestmark = [
    pytest.mark.filterwarnings("ignore:y is one task"),
    pytest.mark.filterwarnings("ignore:The tasks depend on"),
    pytest.mark.filterwarnings("ignore:Symbols lose"),
]

NAMES = np.array(["ash", "beech", "cedar"])


@pytest.fixture(scope="module")
def rows():
    return make_entangled_factors(900, n_factors=2, n_categories=3, n_features=12, random_state=0)


def encoder(**changes):
    settings = {"hidden_layer_sizes": (32,), "max_iter": 15, "max_restarts": 1, "random_state": 0}
    return WTASymbolEncoder(**(settings | changes))


def y_of(kind, factors):
    first, second = factors.T
    ones = np.column_stack([first == 0, first == 1, second == 2, second == 0]).astype(int)
    return {
        "binary": (first == 0).astype(int),
        "booleans": first == 0,
        "signs": np.where(first == 0, 1, -1),
        "two names": NAMES[(first == 0).astype(int)],
        "numbers": first + 10,
        "floats": first + 1.0,
        "names": NAMES[second],
        "objects": NAMES.astype(object)[second],
        "indicators": ones,
        "sparse indicators": csr_array(ones),
        "soft": make_linear_tasks(factors, 12, random_state=0).target,
        "one soft": expit(first - 1.0),
        "columns of names": NAMES[factors],
        "columns of numbers": factors,
        "columns of one and several": np.column_stack([first == 0, second]),
    }[kind]


ONE_COLUMN = ["binary", "booleans", "signs", "two names", "numbers", "floats", "names", "objects"]
BINARY = ["indicators", "sparse indicators", "soft"]
COLUMNS = ["columns of names", "columns of numbers", "columns of one and several"]


def logits(model, X):
    return model.transform(X) @ model.task_weights_ + model.task_intercept_


def dense(y):
    return y.toarray() if hasattr(y, "toarray") else y


@pytest.mark.parametrize("kind", [*ONE_COLUMN, *BINARY, "one soft", *COLUMNS])
def test_predictions_have_the_form_of_y(rows, kind):
    y = y_of(kind, rows.factors)
    model = encoder(head_sizes=(3, 3)).fit(rows.data, y)
    predicted = model.predict(rows.data)
    assert predicted.shape == y.shape
    if "soft" not in kind:
        assert predicted.dtype.kind == dense(y).dtype.kind
        assert_array_equal(predicted, dense(y))
    assert model.score(rows.data, y) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("kind", ONE_COLUMN)
def test_probabilities_of_classes_add_up_to_one(rows, kind):
    y = y_of(kind, rows.factors)
    model = encoder(max_iter=2, max_restarts=0).fit(rows.data, y)
    assert_array_equal(model.classes_, np.unique(y))
    probabilities = model.predict_proba(rows.data)
    assert probabilities.shape == (900, len(model.classes_))
    assert (probabilities >= 0).all()
    assert_allclose(probabilities.sum(axis=1), 1)
    assert_array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(rows.data))
    tasks = expit(logits(model, rows.data))
    if len(model.classes_) == 2:
        assert_allclose(probabilities[:, 1], tasks[:, 0])
    else:
        assert_allclose(probabilities, tasks / tasks.sum(axis=1, keepdims=True))
    expected = accuracy_score(y, model.predict(rows.data))
    assert model.score(rows.data, y) == pytest.approx(expected)


@pytest.mark.parametrize("kind", BINARY)
def test_each_column_of_zeros_and_ones_is_a_task(rows, kind):
    y = y_of(kind, rows.factors)
    model = encoder(max_iter=2, max_restarts=0).fit(rows.data, y)
    assert_array_equal(model.classes_, np.arange(y.shape[1]))
    assert_allclose(model.predict_proba(rows.data), expit(logits(model, rows.data)))
    assert_array_equal(model.predict(rows.data), logits(model, rows.data) > 0)
    right = (model.predict(rows.data) == dense(y)).all(axis=1).mean()
    if kind == "soft":
        right = 1 - np.abs(model.predict_proba(rows.data) - y).mean()
    assert model.score(rows.data, y) == pytest.approx(right)


@pytest.mark.parametrize("kind", COLUMNS)
def test_each_column_of_classes_has_probabilities_of_its_own(rows, kind):
    y = y_of(kind, rows.factors)
    model = encoder(max_iter=2, max_restarts=0).fit(rows.data, y)
    probabilities = model.predict_proba(rows.data)
    for column, (classes, table) in enumerate(zip(model.classes_, probabilities, strict=True)):
        assert_array_equal(classes, np.unique(y[:, column]))
        assert_allclose(table.sum(axis=1), 1)
        assert_array_equal(classes[table.argmax(axis=1)], model.predict(rows.data)[:, column])
    assert model.score(rows.data, y) == pytest.approx((model.predict(rows.data) == y).mean())


def test_soft_targets_of_one_dimension_are_one_task(rows):
    y = y_of("one soft", rows.factors)
    model = encoder(head_sizes=(3,)).fit(rows.data, y)
    assert_array_equal(model.classes_, [0, 1])
    assert_allclose(model.predict_proba(rows.data)[:, 1], y, atol=1e-6)
    assert_array_equal(model.predict(rows.data), y > 0.5)


@pytest.mark.parametrize("kind", ["names", "indicators", "soft", "columns of names"])
def test_scores_are_means_over_weighted_samples(rows, kind):
    y = y_of(kind, rows.factors)
    model = encoder(max_iter=1, max_restarts=0).fit(rows.data, y)
    weights = np.random.default_rng(0).integers(3, size=900)
    repeated = np.repeat(np.arange(900), weights)
    expected = model.score(rows.data[repeated], y[repeated])
    assert model.score(rows.data, y, sample_weight=weights) == pytest.approx(expected)


def test_targets_in_a_column_are_those_of_one_dimension(rows):
    y = y_of("names", rows.factors)
    with pytest.warns(match="column-vector"):
        model = encoder(max_iter=2).fit(rows.data, y[:, None])
    expected = encoder(max_iter=2).fit(rows.data, y).predict(rows.data)
    assert_array_equal(model.predict(rows.data), expected)


def test_numbers_in_an_array_of_objects_are_numbers(rows):
    soft = y_of("soft", rows.factors)
    one, other = (encoder(max_iter=2).fit(rows.data, y) for y in (soft, soft.astype(object)))
    assert_array_equal(one.task_weights_, other.task_weights_)


def test_predictions_follow_weights_that_are_edited(rows):
    model = encoder().fit(rows.data, y_of("indicators", rows.factors))
    before = model.predict_proba(rows.data)
    symbols = model.symbols(rows.data)
    model.task_weights_[1, 2] += 100  # symbol 1 of the first head speaks for task 2
    after = model.predict_proba(rows.data)
    changed = np.outer(symbols[:, 0] == 1, np.arange(4) == 2)
    assert_allclose(after, np.where(changed, 1, before), atol=1e-9)
    assert model.predict(rows.data)[changed].all()


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (
            np.linspace(-0.1, 1, 20),
            r"from -0.1 to 1, but tasks are 0, 1 or probabilities in \[0, 1",
        ),
        (np.linspace(0, 1.5, 40).reshape(20, 2), r"probabilities in \[0, 1\]"),
        (np.ones(20, int), r"y must have at least 2 classes, got 1 class: array\(\[1\]\)"),
        (np.tile([["a", "b"]], (20, 1)), "got 1 class in column 0"),
        (np.r_[np.nan, np.zeros(19)], "NaN"),
        (np.zeros(19), "inconsistent numbers of samples"),
        (None, "requires y to be passed"),
    ],
)
def test_targets_that_can_not_be_are_refused(rows, y, message):
    with pytest.raises(ValueError, match=message):
        encoder().fit(rows.data[:20], y)


def test_scores_need_as_many_columns_as_were_learned(rows):
    model = encoder(max_iter=1).fit(rows.data, y_of("indicators", rows.factors))
    with pytest.raises(ValueError, match="y has 3 columns, but 4 were learned"):
        model.score(rows.data, y_of("indicators", rows.factors)[:, :3])
