"""Starts, repairs and restarts."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from skatoms import WTASymbolEncoder
from skatoms._one_hot import one_hot
from skatoms.datasets import make_entangled_factors, make_linear_tasks
from skatoms.metrics import structural_permutation_score
from skatoms.symbols import _starts
from skatoms.symbols._starts import Search, Start, best_of, worst_pair
from skatoms.symbols._training import Training


@pytest.mark.parametrize("mixed", [(0, 1), (1, 3), (0, 4), (2, 3)])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_pair_that_mixes_two_factors_is_found(mixed, weighted):
    """Two heads that encode two factors jointly, all units in use, as stuck runs leave them."""
    rng = np.random.default_rng(0)
    factors = rng.integers(4, size=(3000, 5))
    logits = one_hot(factors, 5 * [4]) @ rng.standard_normal((20, 30))
    symbols, (one, two) = factors.copy(), mixed
    cells = rng.permutation(16)[4 * factors[:, one] + factors[:, two]]
    symbols[:, one], symbols[:, two] = cells // 4, cells % 4
    codes = one_hot(symbols, 5 * [4])
    weights = rng.integers(1, 4, size=3000).astype(float) if weighted else np.ones(3000)
    roots = np.sqrt(weights)[:, None]
    rest = logits - codes @ np.linalg.lstsq(roots * codes, roots * logits)[0]
    assert worst_pair(symbols, [4] * 5, rest) == mixed


def search_with(constant, dense):
    search = Search.__new__(Search)
    search.losses = constant, dense
    return search


def test_what_heads_lose_is_a_share_of_what_can_be_explained():
    assert search_with(0.7, 0.2).lost(0.2) == 0
    assert search_with(0.7, 0.2).lost(0.7) == pytest.approx(1)
    assert search_with(0.7, 0.2).lost(0.1) < 0
    assert search_with(0.5, 0.7).lost(0.9) == 0


def test_the_best_start_is_that_of_the_least_loss():
    starts = [Start("", None, 0.1, Training(losses)) for losses in ([3, 1], [2, 0.5, 0.6], [1])]
    assert best_of(starts) is starts[1]


# In the encoder


@pytest.fixture(scope="module")
def data():
    rows = make_entangled_factors(2000, n_factors=4, n_categories=4, n_features=24, random_state=0)
    return rows.data, make_linear_tasks(rows.factors, 30, random_state=0).target, rows.factors


def encoder(**changes):
    settings = {
        "head_sizes": (4,) * 4,
        "hidden_layer_sizes": (64, 64),
        "init": "random",
        "random_state": 0,
    }
    return WTASymbolEncoder(**(settings | changes))


def kinds(model):
    return [entry["start"] for entry in model.history_]


@pytest.fixture
def stuck(monkeypatch):
    """Random starts end as unlucky ones do: two heads encode two factors jointly."""

    def start(search, done, rng):
        model = _starts._moments(search, done, rng).model
        mixing = np.linalg.qr(rng.standard_normal((8, 8)))[0].astype(np.float32)
        weights, offsets = model.encoder.maps[-1]
        weights[:, :8], offsets[:8] = weights[:, :8] @ mixing, offsets[:8] @ mixing
        return Start("random", model, 1e-9)

    monkeypatch.setattr(_starts, "_random", start)


def test_a_stuck_start_is_repaired(data, stuck):
    X, y, factors = data
    with pytest.warns(ConvergenceWarning, match=r"Symbols lose .*%.* after 1 restarts"):
        model = encoder(max_restarts=1).fit(X, y)
    assert model.lost_ > 0.01
    assert structural_permutation_score(factors, model.symbols(X)) < 0.95
    model = encoder(max_restarts=9).fit(X, y)
    assert kinds(model)[1:] == ["random", "random", "repaired", "random"]
    assert model.loss_ == model.history_[3]["losses"].min()
    assert model.lost_ < 0.01
    assert structural_permutation_score(factors, model.symbols(X)) == 1


@pytest.mark.parametrize("max_restarts", range(5))
@pytest.mark.filterwarnings("ignore:Symbols lose")
def test_starts_stay_within_the_budget(data, max_restarts):
    X, y, _ = data
    model = encoder(max_restarts=max_restarts, max_iter=2).fit(X, y)
    assert model.n_restarts_ == max_restarts
    assert len(model.history_) == 2 + max_restarts
    moments = encoder(max_restarts=max_restarts, max_iter=1, init="moments").fit(X, y)
    assert moments.n_restarts_ <= max_restarts


@pytest.mark.filterwarnings("ignore:Symbols lose")
def test_the_history_says_what_was_trained(data):
    X, y, _ = data
    model = encoder(max_restarts=3, max_iter=3).fit(X, y)
    assert kinds(model) == ["network without heads", "random", "random", "repaired", "random"]
    assert all(len(entry["losses"]) == 4 for entry in model.history_)
    losses = [min(entry["losses"]) for entry in model.history_]
    assert model.reference_loss_ == losses[0]
    assert model.loss_ == min(losses[1:])
    assert model.n_iter_ == 6


def test_moments_solve_at_once_what_random_heads_do_not(data):
    X, y, factors = data
    model = encoder(init="moments").fit(X, y)
    assert kinds(model) == ["network without heads", "moments"]
    assert model.n_restarts_ == 0
    assert structural_permutation_score(factors, model.symbols(X)) == 1


@pytest.mark.parametrize("init", ["moments", "random"])
@pytest.mark.filterwarnings("ignore:Symbols lose")
def test_results_do_not_depend_on_threads(data, init):
    X, y, _ = data
    settings = {"init": init, "max_iter": 4, "max_restarts": 3}
    one, two = (encoder(n_jobs=n_jobs, **settings).fit(X, y) for n_jobs in (1, 2))
    assert kinds(one) == kinds(two)
    assert_array_equal(one.task_weights_, two.task_weights_)
    assert_array_equal(one.symbols(X), two.symbols(X))


def test_random_heads_of_two_units_are_taken_where_none_stand_out():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 6))
    y = 1 / (1 + np.exp(-X @ rng.standard_normal((6, 12))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = WTASymbolEncoder(max_iter=5, max_restarts=0, random_state=0).fit(X, y)
    assert set(model.head_sizes_) == {2}
    assert 3 <= len(model.head_sizes_) <= 6
