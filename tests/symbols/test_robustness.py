"""Odd samples and settings: what is learned all the same, what is warned of, what is refused."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from skatoms import WTASymbolEncoder
from skatoms.datasets import make_entangled_factors, make_linear_tasks
from skatoms.metrics import structural_permutation_score

QUIETLY = pytest.mark.filterwarnings("ignore:y is one task|The tasks depend|Symbols lose")


def encoder(**changes):
    settings = {"hidden_layer_sizes": (64,), "max_restarts": 1, "random_state": 0}
    return WTASymbolEncoder(**(settings | changes))


@pytest.fixture(scope="module")
def data():
    rows = make_entangled_factors(1500, n_factors=3, n_categories=3, n_features=16, random_state=0)
    tasks = make_linear_tasks(rows.factors, 20, random_state=0)
    return rows.data.astype(np.float64), tasks.target, rows.factors


def solves(model, X, y, factors):
    exact = structural_permutation_score(factors, model.symbols(X)) == 1
    return exact and np.abs(model.predict_proba(X) - y).mean() < 1e-6


@pytest.mark.filterwarnings("error")
def test_clean_data_give_no_warnings(data):
    X, y, factors = data
    assert solves(encoder().fit(X, y), X, y, factors)


@pytest.mark.parametrize(("dtype", "offset"), [(np.float64, 1e6), (np.float32, 1e3)])
@pytest.mark.filterwarnings("error")
def test_offsets_and_scales_of_features_do_not_matter(data, dtype, offset):
    X, y, factors = data
    moved = (X * 10.0 ** np.linspace(-1, 1, 16) + offset).astype(dtype)
    assert solves(encoder().fit(moved, y), moved, y, factors)


@pytest.mark.filterwarnings("error")
def test_samples_far_from_all_others_get_symbols(data):
    X, y, factors = data
    model = encoder().fit(1e200 * X, y)
    assert solves(model, 1e200 * X, y, factors)
    far = encoder().fit(X, y).predict_proba(1e60 * X)
    assert np.isfinite(far).all()


def test_a_large_offset_in_single_precision_leaves_what_can_be_told(data):
    X, y, _ = data
    moved = (100 * X + 1e6).astype(np.float32)  # one part in 16 is left of a step
    model = encoder().fit(moved, y)
    assert np.abs(model.predict_proba(moved) - y).mean() < 0.01
    assert_allclose(model._scaling(moved).mean(axis=0), 0, atol=1e-3)
    assert_allclose(model._scaling(moved).std(axis=0), 1, rtol=1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("constant", [0.0, 0.1, 1e6])
def test_constant_features_say_nothing(data, dtype, constant):
    X, y, factors = data
    wide = np.column_stack([X, np.full(len(X), constant)]).astype(dtype)
    model = encoder().fit(wide, y)
    assert solves(model, wide, y, factors)
    wide[:, -1] += constant * 1e-7
    assert np.isfinite(model.predict_proba(wide)).all()


@QUIETLY
def test_equal_samples_give_one_prediction():
    X, y = np.ones((40, 3)), np.tile([0, 0, 1, 1, 1], 8)
    model = encoder().fit(X, y)
    assert_allclose(model.predict_proba(X)[:, 1], 0.6, atol=1e-5)
    soft = np.random.default_rng(0).random((40, 5))
    model = encoder().fit(X, soft)
    assert_allclose(model.predict_proba(X), np.tile(soft.mean(axis=0), (40, 1)), atol=1e-5)


@QUIETLY
@pytest.mark.parametrize("n", [1, 2, 3, 5, 11])
@pytest.mark.parametrize("head_sizes", ["auto", (3, 2)])
def test_a_few_samples_are_learned(n, head_sizes):
    rng = np.random.default_rng(n)
    X, soft = rng.standard_normal((n, 4)), rng.random((n, 6))
    model = encoder(head_sizes=head_sizes, max_iter=5).fit(X, soft)
    assert np.isfinite(model.predict_proba(X)).all()
    if n > 1:
        y = np.arange(n) % 2
        assert np.isfinite(encoder(head_sizes=head_sizes, max_iter=5).fit(X, y).score(X, y))


@QUIETLY
@pytest.mark.parametrize("fraction", [0.0, 0.5, 0.999])
@pytest.mark.parametrize("weight", [0.1, 1.9, 30.0])
def test_any_part_may_be_held_out(fraction, weight):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((7, 2)), np.arange(7) % 2
    weights = np.full(7, weight)
    model = encoder(validation_fraction=fraction, max_iter=2).fit(X, y, sample_weight=weights)
    assert np.isfinite(model.loss_)


@QUIETLY
def test_one_feature_and_no_hidden_layer_suffice_for_a_threshold():
    X = np.linspace(-1, 1, 300)[:, None]
    model = encoder(hidden_layer_sizes=(), head_sizes=(2,)).fit(X, (X[:, 0] > 0.2).astype(int))
    assert model.score(X, X[:, 0] > 0.2) > 0.9


@QUIETLY
def test_noise_has_nothing_that_heads_could_lose():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 5)), rng.integers(2, size=(300, 4))
    model = encoder().fit(X, y)
    assert model.reference_loss_ > 0.7
    assert model.lost_ == 0
    assert model.n_restarts_ == 0


@QUIETLY
def test_tasks_that_never_vary_do_no_harm(data):
    X, y, factors = data
    more = np.column_stack([np.zeros(len(X)), y, np.ones(len(X))])
    model = encoder().fit(X, more)
    assert structural_permutation_score(factors, model.symbols(X)) == 1
    assert np.abs(model.predict_proba(X) - more).max() < 1e-3


def test_many_samples_are_coded_in_chunks(data):
    X, y, _ = data
    model = encoder().fit(X, y)
    many = np.tile(X, (7, 1))
    expected = np.tile(model.symbols(X), (7, 1))
    for n_jobs in (1, 2):
        assert_array_equal(model.set_params(n_jobs=n_jobs).symbols(many), expected)
    assert len(model.transform(many)) == len(many)


# Warnings


@pytest.mark.filterwarnings("ignore:Symbols lose")
def test_one_task_is_warned_of(data):
    X, _, factors = data
    with pytest.warns(UserWarning, match="y is one task.* not identifiable"):
        encoder().fit(X, factors[:, 0] == 1)


@pytest.mark.filterwarnings("ignore:Symbols lose")
def test_tasks_of_low_rank_are_warned_of_with_numbers(data):
    X, _, factors = data
    tasks = make_linear_tasks(factors, 3, random_state=0)
    with pytest.warns(UserWarning, match=r"in 3 independent ways, but .* would have to in 6, "):
        encoder(head_sizes=(3, 3, 3), init="random").fit(X, tasks.target)


@pytest.mark.filterwarnings("ignore:Symbols lose")
def test_soft_targets_of_low_rank_are_warned_of_with_numbers(data):
    X, _, factors = data
    tasks = make_linear_tasks(factors, 20, rank=2, random_state=0)
    with pytest.warns(UserWarning, match="in 2 independent ways"):
        encoder(head_sizes=(3, 3, 3)).fit(X, tasks.target)


def test_symbols_that_lose_much_are_warned_of(data):
    X, y, _ = data
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = encoder(head_sizes=(2,)).fit(X, y)
    lost = [entry for entry in caught if entry.category is ConvergenceWarning]
    assert len(lost) == 1
    assert f"Symbols lose {model.lost_:.1%} of what" in str(lost[0].message)
    assert f"after {model.n_restarts_} restarts" in str(lost[0].message)
    assert lost[0].filename == __file__
    assert model.lost_ > 0.1


# What is refused


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"head_sizes": (3, 1)}, r"head_sizes must be whole numbers of at least 2, got \(3, 1\)"),
        ({"head_sizes": ()}, r"head_sizes=\(\) has no head"),
        ({"head_sizes": (3, 2.5)}, "head_sizes must be whole numbers"),
        ({"head_sizes": [[2, 2], [2, 2]]}, "head_sizes must be whole numbers"),
        ({"head_sizes": (True, True)}, "head_sizes must be whole numbers"),
        ({"head_sizes": "many"}, "'head_sizes' parameter"),
        ({"head_sizes": 4}, "'head_sizes' parameter"),
        ({"hidden_layer_sizes": (8, 0)}, "hidden_layer_sizes must be whole numbers of at least 1"),
        ({"hidden_layer_sizes": (8, "a")}, "hidden_layer_sizes must be whole numbers"),
        ({"init": "pca"}, "'init' parameter"),
        ({"temperature": 0.0}, "'temperature' parameter"),
        ({"learning_rate": -1.0}, "'learning_rate' parameter"),
        ({"alpha": 0.0}, "'alpha' parameter"),
        ({"batch_size": 0}, "'batch_size' parameter"),
        ({"max_iter": 0}, "'max_iter' parameter"),
        ({"validation_fraction": 1.0}, "'validation_fraction' parameter"),
        ({"max_restarts": -1}, "'max_restarts' parameter"),
    ],
)
def test_settings_that_can_not_be_are_refused_by_name(settings, message):
    X, y = np.random.default_rng(0).standard_normal((20, 3)), np.arange(20) % 2
    with pytest.raises(ValueError, match=message):
        encoder(**settings).fit(X, y)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.full((20, 3), np.nan), "Input X contains NaN"),
        (np.full((20, 3), np.inf), "Input X contains infinity"),
        (np.zeros((20, 0)), "0 feature"),
        (np.zeros(20), "Expected 2D array"),
    ],
)
def test_samples_that_can_not_be_are_refused(X, message):
    with pytest.raises(ValueError, match=message):
        encoder().fit(X, np.arange(20) % 2)


@pytest.mark.parametrize("method", ["symbols", "transform", "predict", "predict_proba"])
def test_it_has_to_be_fitted_and_to_get_the_same_features(data, method):
    X, y, _ = data
    with pytest.raises(NotFittedError):
        getattr(encoder(), method)(X)
    model = encoder(max_iter=1, head_sizes=(3, 3, 3), max_restarts=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    with pytest.raises(ValueError, match="X has 15 features"):
        getattr(model, method)(X[:, 1:])
