"""The parts of the language model, each against something independent."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from skatoms.language._cache import Cache
from skatoms.language._contexts import learn_contexts
from skatoms.language._evolution import Structured
from skatoms.language._kneser_ney import count, merge
from skatoms.language._mixture import learn_mixture
from skatoms.language._readout import Readout, edges_of
from skatoms.language._token_basis import nearness

from .naive import NaiveKneserNey

N_TOKENS = 12


def text_of(n, seed=0):
    """Numbers that depend on those before them."""
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.full(N_TOKENS, 0.2), size=(N_TOKENS, N_TOKENS))
    ids = [0, 1]
    for _ in range(n - 2):
        ids.append(rng.choice(N_TOKENS, p=table[ids[-2], ids[-1]]))
    return np.array(ids, np.int32)


def test_kneser_ney_equals_an_independent_implementation():
    text, other = text_of(400), text_of(60, seed=1)
    naive = NaiveKneserNey(text.tolist(), 4, N_TOKENS)
    model = count(text, 4, N_TOKENS)
    p, _, _ = model.read(other, model.start(), -1)
    wanted = [naive.probability(x, other[:t].tolist()) for t, x in enumerate(other.tolist())]
    assert_allclose(p, wanted, rtol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_kneser_ney_is_a_distribution_after_any_context(seed):
    model = count(text_of(200), 4, N_TOKENS)
    contexts = model.start()
    for token in text_of(30, seed=seed):
        p = model.distribution(contexts)
        assert abs(p.sum() - 1) < 1e-12
        assert p.min() > 0
        read, _, _ = model.read(np.array([token]), contexts, -1)
        assert_allclose(read[0], p[token], rtol=1e-12)


def test_merged_counts_are_those_of_both_texts():
    one, other = text_of(300), text_of(200, seed=1)
    # Text that ends with the token for ends, which also stands before each of them.
    one = np.append(one, 0)
    apart = merge(count(one, 3, N_TOKENS, end=0), count(other, 3, N_TOKENS, end=0))
    together = count(np.concatenate([one, other]), 3, N_TOKENS, end=0)
    rows = {}
    for name, model in (("apart", apart), ("together", together)):
        rows[name] = [dict(zip(k.tolist(), c.tolist(), strict=True)) for k, c in model.counted()]
    assert rows["apart"][0] == rows["together"][0]
    assert rows["apart"][1] == rows["together"][1]
    # One 3-gram crosses from text to text.
    assert sum(rows["together"][2].values()) - sum(rows["apart"][2].values()) == 1


def test_cache_is_the_leaky_sum_that_it_says():
    decays, prior = np.array([0.5, 0.9]), np.full(N_TOKENS, 1 / N_TOKENS)
    cache, text = Cache(decays, prior), text_of(500)
    memory = cache.start()
    p = cache.read(text, memory)
    for column, decay in enumerate(decays):
        state = prior.copy()
        for t, token in enumerate(text):
            assert_allclose(p[t, column], state[token], rtol=1e-9)
            state *= decay
            state[token] += 1 - decay
        assert_allclose(cache.distribution(memory)[column], state, rtol=1e-9)


def test_states_are_the_leaky_sums_and_delays_that_they_say():
    rng = np.random.default_rng(0)
    dense = rng.standard_normal((N_TOKENS, 3)).astype(np.float32)
    decays = np.array([0.5, 0.9], np.float32)
    evolution, text = Structured(csr_array(dense), 2, decays), text_of(40)
    states = evolution.read(text, evolution.start())
    leaky = np.zeros((2, 3))
    for t, token in enumerate(text):
        delayed = [dense[text[t - d]] if t >= d else np.zeros(3) for d in (1, 2)]
        assert_allclose(states[t], [*np.ravel(delayed), *leaky.ravel(), 1], rtol=1e-4, atol=1e-5)
        leaky = decays[:, None] * leaky + np.sqrt(1 - decays**2)[:, None] * dense[token]
    inputs = rng.standard_normal((evolution.n_features, 5)).astype(np.float32)
    memory = evolution.start()
    evolution.advance(text[:7], memory)
    projected = evolution.project(text[7:], memory, inputs, evolution.tables(inputs))
    assert_allclose(projected, states[7:] @ inputs, rtol=1e-4, atol=1e-4)


def readout_of(n_tokens, edges, seed=0):
    rng = np.random.default_rng(seed)
    n = n_tokens + len(edges) - 1
    return Readout(
        rng.standard_normal((6, 4)), rng.standard_normal((n, 4)), rng.standard_normal(n), edges
    )


EDGES = [np.array([N_TOKENS]), np.array([5, 8, N_TOKENS])]


@pytest.mark.parametrize("edges", EDGES)
def test_gradients_of_the_readout(edges):
    readout = readout_of(N_TOKENS, edges)
    rng = np.random.default_rng(1)
    states, targets = rng.standard_normal((30, 6)), rng.integers(N_TOKENS, size=30)
    gradients, loss = readout.gradient(states, targets)

    def loss_now():
        return -readout.log_probabilities(states @ readout.inputs, targets).mean()

    assert_allclose(loss, loss_now(), rtol=1e-12)
    for weights, gradient in zip(readout.weights, gradients, strict=True):
        for place in rng.integers(weights.size, size=8):
            at = np.unravel_index(place, weights.shape)
            before = weights[at]
            weights[at] = before + 1e-5
            above = loss_now()
            weights[at] = before - 1e-5
            below = loss_now()
            weights[at] = before
            assert_allclose(gradient[at], (above - below) / 2e-5, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("edges", EDGES)
def test_probabilities_of_the_readout_sum_to_one(edges):
    readout = readout_of(N_TOKENS, edges)
    hidden = np.random.default_rng(2).standard_normal(4)
    p = readout.distribution(hidden)
    logs = readout.log_probabilities(np.tile(hidden, (N_TOKENS, 1)), np.arange(N_TOKENS))
    assert abs(p.sum() - 1) < 1e-12
    assert_allclose(np.exp(logs), p, rtol=1e-9)


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_gradients_do_not_depend_on_threads(n_jobs):
    readout = readout_of(5000, edges_of(5000, "auto"))
    rng = np.random.default_rng(1)
    states, targets = rng.standard_normal((600, 6)), rng.integers(5000, size=600)
    one, many = (readout.gradient(states, targets, jobs)[0] for jobs in (1, n_jobs))
    for left, right in zip(one, many, strict=True):
        assert_array_equal(left, right)


def test_contexts_predict_before_they_learn_and_find_the_pattern():
    text = np.tile(np.array([0, 1, 2, 1, 3], np.int32), 100)
    tree = learn_contexts(text, 4, 2, 1, 0.3)
    memory = tree.start()
    first = tree.learning()
    assert_allclose(first.read(text[:1], first.start())[0, 0], tree.distribution(memory)[0, 0])
    p = tree.read(text[:50], memory)[:, 0]
    assert p[5:].min() > 0.9  # the last two tokens tell the next
    assert abs(tree.distribution(memory).sum() - 1) < 1e-12


def test_learning_contexts_leaves_the_tree_it_came_from():
    tree = learn_contexts(text_of(200), N_TOKENS, 3, 1, 0.3)
    before = tree.weights.copy()
    learner = tree.learning()
    learner.read(text_of(200, seed=5), learner.start())
    assert_array_equal(tree.weights, before)


def test_weights_of_a_mixture_maximise_the_likelihood():
    rng = np.random.default_rng(0)
    probabilities = rng.random((4000, 2)) * [1.0, 0.7]
    mixture = learn_mixture(probabilities, np.zeros(4000, int), 1)
    share = mixture.weights[0, 0]

    def likelihood(w):
        return np.log(probabilities @ [w, 1 - w]).sum()

    grid = np.linspace(0.001, 0.999, 999)
    best = grid[np.argmax([likelihood(w) for w in grid])]
    assert abs(share - best) < 0.02


def test_nearness_is_positive_pointwise_information():
    text = text_of(500)
    found = nearness(text, N_TOKENS, smoothing=1.0, window=1).toarray()
    counts = np.zeros((N_TOKENS, N_TOKENS))
    np.add.at(counts, (text[1:], text[:-1]), 1)
    with np.errstate(divide="ignore"):
        ratio = counts * counts.sum() / np.outer(counts.sum(1), counts.sum(0))
        wanted = np.maximum(np.log(ratio), 0)
    assert_allclose(found[:, :N_TOKENS], wanted, atol=1e-9)
