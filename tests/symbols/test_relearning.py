"""Symbols told by many labels, and learning again from them."""

import numpy as np
import pytest

from skatoms import WTASymbolEncoder
from skatoms.datasets import make_entangled_factors, make_linear_tasks
from skatoms.metrics import structural_permutation_score
from skatoms.symbols._relearning import labels_tell, likely_symbols


@pytest.fixture(scope="module")
def data():
    rows = make_entangled_factors(2000, n_factors=3, n_categories=4, n_features=24, random_state=0)
    return rows, make_linear_tasks(rows.factors, 60, hard=True, random_state=0)


def test_labels_and_scores_tell_symbols_that_were_wrong(data):
    rows, _ = data
    tasks = make_linear_tasks(rows.factors, 300, hard=True, random_state=0)
    rng, starts = np.random.default_rng(0), 4 * np.arange(4)
    wrong = np.where(
        rng.random(rows.factors.shape) < 0.1, rng.integers(4, size=rows.factors.shape), rows.factors
    )
    model = tasks.weights, tasks.intercept
    found = likely_symbols(wrong, np.zeros((2000, 12)), starts, tasks.target, *model)
    assert (wrong == rows.factors).mean() < 0.95
    assert (found == rows.factors).mean() > 0.99


def test_no_other_symbol_of_one_head_is_more_probable():
    rng, starts = np.random.default_rng(1), np.array([0, 2, 5])
    weights, intercept = rng.standard_normal((5, 40)), rng.standard_normal(40)
    labels, scores = rng.integers(2, size=(50, 40)), rng.standard_normal((50, 5))
    found = likely_symbols(np.zeros((50, 2), int), scores, starts, labels, weights, intercept)

    def probability(one, two):
        logits = weights[one] + weights[2 + two] + intercept
        fits = (labels * logits - np.logaddexp(0, logits)).sum(axis=1)
        return fits + scores[:, one] + scores[:, 2 + two]

    table = np.array([[probability(one, two) for two in range(3)] for one in range(2)])
    samples = np.arange(50)
    chosen = table[found[:, 0], found[:, 1], samples]
    assert (chosen >= table[:, found[:, 1], samples].max(axis=0) - 1e-9).all()
    assert (chosen >= table[found[:, 0], :, samples].max(axis=1) - 1e-9).all()


def test_it_needs_many_labels(data):
    class Model:
        starts = np.array([0, 4, 8])

    labels = np.zeros((5, 16), int)
    assert labels_tell(Model, labels)
    assert not labels_tell(Model, labels[:, :15])
    assert not labels_tell(Model, labels + 0.5)


def test_a_network_learns_again_from_labels_and_gets_no_worse(data):
    rows, tasks = data
    settings = {"hidden_layer_sizes": (64, 64), "random_state": 0}
    model = WTASymbolEncoder(**settings).fit(rows.data, tasks.target)
    kinds = [entry["start"] for entry in model.history_]
    assert kinds == ["network without heads", "moments", "relearned"]
    assert model.n_restarts_ == 0
    before, after = (entry["losses"] for entry in model.history_[1:])
    assert after[0] == pytest.approx(before.min())
    assert model.loss_ == min(before.min(), after.min())
    assert structural_permutation_score(rows.factors, model.symbols(rows.data)) == 1
    soft = WTASymbolEncoder(**settings).fit(rows.data, tasks.probabilities)
    assert "relearned" not in [entry["start"] for entry in soft.history_]
