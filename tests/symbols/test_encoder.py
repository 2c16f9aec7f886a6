"""WTASymbolEncoder recovers the factors that tasks are functions of."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skatoms import WTASymbolEncoder
from skatoms.datasets import make_entangled_factors, make_linear_tasks
from skatoms.metrics import category_recovery, structural_permutation_score
from skatoms.symbols._fitting import read_out, relabelled
from skatoms.symbols._training import Samples

SMALL = {"n_factors": 3, "n_categories": 4, "n_features": 24}


def factors_and_tasks(hard=False, **options):
    data = make_entangled_factors(3000, 1000, random_state=0, **{**SMALL, **options})
    test = data.test["id"]
    tasks = make_linear_tasks(
        data.factors, 40, hard=hard, test={"id": test.factors}, random_state=0
    )
    return data, tasks, test


@pytest.mark.parametrize("head_sizes", ["auto", (4, 4, 4), (7, 5, 4), (4, 4, 4, 4)])
def test_soft_targets_give_the_factors_exactly(head_sizes):
    data, tasks, test = factors_and_tasks()
    encoder = WTASymbolEncoder(head_sizes, random_state=0).fit(data.data, tasks.target)
    symbols = encoder.symbols(test.data)
    assert category_recovery(test.factors, symbols).count(0) == 12
    assert np.abs(encoder.predict_proba(test.data) - tasks.test["id"].target).mean() < 1e-6


@pytest.mark.parametrize("n_hidden_layers", [0, 1, 2])
def test_however_factors_are_entangled(n_hidden_layers):
    data, tasks, test = factors_and_tasks(n_hidden_layers=n_hidden_layers)
    encoder = WTASymbolEncoder(random_state=0).fit(data.data, tasks.target)
    assert structural_permutation_score(test.factors, encoder.symbols(test.data)) == 1


@pytest.mark.parametrize("head_sizes", ["auto", (5, 5, 5, 5)])
def test_factors_of_different_sizes_are_found(head_sizes):
    data, tasks, test = factors_and_tasks(n_categories=(2, 5, 3))
    encoder = WTASymbolEncoder(head_sizes, random_state=0).fit(data.data, tasks.target)
    assert structural_permutation_score(test.factors, encoder.symbols(test.data)) == 1
    if head_sizes == "auto":
        assert encoder.head_sizes_ == (5, 3, 2)
    assert (encoder.usage_ > 0).sum() == 10 + (len(encoder.head_sizes_) - 3)


def test_factors_that_no_task_needs_are_left_out():
    data, tasks, test = factors_and_tasks(n_distractors=1)
    encoder = WTASymbolEncoder(random_state=0).fit(data.data, tasks.target)
    assert encoder.head_sizes_ == (4, 4, 4)
    assert structural_permutation_score(test.factors, encoder.symbols(test.data)) == 1


def test_noisy_samples_give_the_factors():
    data, tasks, test = factors_and_tasks(noise=0.05)
    encoder = WTASymbolEncoder(random_state=0).fit(data.data, tasks.target)
    assert structural_permutation_score(test.factors, encoder.symbols(test.data)) > 0.99


@pytest.mark.filterwarnings("ignore:The tasks depend on symbols in")
def test_heads_that_are_not_needed_are_merged():
    data, tasks, test = factors_and_tasks()
    head_sizes = (7, 5, 4, 3, 2)
    wide = WTASymbolEncoder(head_sizes, random_state=0).fit(data.data, tasks.target)
    merged = WTASymbolEncoder(head_sizes, merge_equivalent=True, random_state=0)
    merged.fit(data.data, tasks.target)
    assert wide.head_sizes_ == head_sizes
    assert (wide.usage_ > 0).sum() == 14
    assert sorted(merged.head_sizes_) == [1, 1, 4, 4, 4]
    assert (merged.usage_ > 0).all()
    assert structural_permutation_score(test.factors, merged.symbols(test.data)) == 1
    assert_allclose(merged.predict_proba(test.data), wide.predict_proba(test.data), atol=1e-6)


def test_units_that_share_a_category_are_merged():
    """A free unit of each head takes over those samples of another one that it likes better."""
    data, tasks, _ = factors_and_tasks()
    encoder = WTASymbolEncoder((6, 6, 6), random_state=0).fit(data.data, tasks.target)
    network, scaling = encoder._network, encoder._scaling
    weights, offsets = network.encoder.maps[-1]
    rng = np.random.default_rng(0)
    for head in range(3):
        units = np.arange(6 * head, 6 * head + 6)
        used = units[encoder.usage_[units] > 0]
        free = units[encoder.usage_[units] == 0][0]
        weights[:, free] = weights[:, used[0]] + 1e-3 * rng.standard_normal(len(weights))
        offsets[free] = offsets[used[0]]
    x = scaling(data.data)
    samples = Samples(x, tasks.target, np.ones(len(x)))
    split, joined = (read_out(network, samples, 1e-9, merge) for merge in (False, True))
    assert (split["usage_"] > 0).sum() == 15
    assert joined["head_sizes_"] == (4, 4, 4)
    symbols = relabelled(network.symbols(x), network.starts, joined["_labels"])
    assert structural_permutation_score(data.factors, symbols) == 1


def test_sampled_labels_give_the_factors():
    data, tasks, test = factors_and_tasks(hard=True)
    encoder = WTASymbolEncoder(random_state=0).fit(data.data, tasks.target)
    assert structural_permutation_score(test.factors, encoder.symbols(test.data)) > 0.99


@pytest.mark.filterwarnings("ignore:Symbols lose")
def test_random_heads_mostly_come_to_the_same_with_restarts_and_repairs():
    data, tasks, test = factors_and_tasks()
    n_found = 0
    for seed in (1, 2, 3):
        encoder = WTASymbolEncoder((4, 4, 4), init="random", random_state=seed)
        encoder.fit(data.data, tasks.target)
        assert encoder.n_restarts_ == len(encoder.history_) - 2
        score = structural_permutation_score(test.factors, encoder.symbols(test.data))
        n_found += score > 0.99
    assert n_found >= 2


def test_codes_are_one_hot_and_named():
    data, tasks, test = factors_and_tasks()
    encoder = WTASymbolEncoder(random_state=0, sparse_output=True).fit(data.data, tasks.target)
    codes = encoder.transform(test.data)
    assert codes.dtype == np.float32
    assert (codes.sum(axis=1) == 3).all()
    assert len(encoder.get_feature_names_out()) == codes.shape[1] == 12


@pytest.mark.filterwarnings("ignore:Symbols lose")
def test_threads_do_not_matter():
    data, tasks, _ = factors_and_tasks()
    options = {"head_sizes": (4, 4, 4), "init": "random", "max_iter": 5, "random_state": 0}
    one = WTASymbolEncoder(n_jobs=1, **options).fit(data.data, tasks.target)
    two = WTASymbolEncoder(n_jobs=2, **options).fit(data.data, tasks.target)
    np.testing.assert_array_equal(one.task_weights_, two.task_weights_)


def test_one_task_is_said_not_to_identify_symbols():
    data, tasks, _ = factors_and_tasks()
    with pytest.warns(UserWarning, match="one task"):
        WTASymbolEncoder((2,), max_restarts=0).fit(data.data, tasks.target[:, 0] > 0.5)


@pytest.mark.parametrize(
    ("options", "y", "message"),
    [
        ({"head_sizes": (4, 1)}, [0, 1] * 10, "head_sizes"),
        ({"head_sizes": ()}, [0, 1] * 10, "head_sizes"),
        ({}, np.linspace(0, 2, 20), r"\[0, 1\]"),
        ({}, np.zeros(20, int), "at least 2 classes"),
    ],
)
def test_bad_input_is_refused_by_name(options, y, message):
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(ValueError, match=message):
        WTASymbolEncoder(**options).fit(X, y)
