"""Choices, gradients and steps, against plain formulas."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime
from scipy.special import expit, softmax

from skatoms._one_hot import one_hot
from skatoms.symbols._choice import choose, choose_softly, softmax_gradient
from skatoms.symbols._networks import (
    Perceptron,
    SymbolNetwork,
    count_of,
    cross_entropy,
    cross_entropy_slopes,
)
from skatoms.symbols._training import Adam, Samples, Schedule, train

HEADS = [(2,), (3, 3), (2, 5, 1, 3)]


def starts_of(sizes):
    return np.append(0, np.cumsum(sizes))


def scores_of(sizes, dtype=np.float32, n=40):
    return (5 * np.random.default_rng(0).standard_normal((n, sum(sizes)))).astype(dtype)


def each_head(table, sizes):
    return np.split(table, np.cumsum(sizes)[:-1], axis=1)


@pytest.mark.parametrize("sizes", HEADS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_unit_of_largest_score_is_chosen_in_each_head(sizes, dtype):
    scores = scores_of(sizes, dtype)
    chosen = np.empty((len(scores), len(sizes)), np.intp)
    choose(scores, starts_of(sizes), chosen)
    assert_array_equal(chosen, np.transpose([h.argmax(1) for h in each_head(scores, sizes)]))


def test_the_first_of_equal_scores_is_chosen():
    scores = np.float32([[1, 1, 0, 2, 2], [0, 0, 3, 3, 3]])
    chosen, hard, soft = np.empty((2, 2), np.intp), np.empty_like(scores), np.empty_like(scores)
    choose(scores, starts_of((2, 3)), chosen)
    choose_softly(scores, starts_of((2, 3)), np.float32(1), hard, soft)
    assert_array_equal(chosen, [[0, 1], [0, 0]])
    assert_array_equal(hard, one_hot(chosen, (2, 3)))


@pytest.mark.parametrize("sizes", HEADS)
@pytest.mark.parametrize("temperature", [0.7, 5.0])
def test_soft_choices_are_the_softmax_of_each_head(sizes, temperature):
    scores = scores_of(sizes)
    hard, soft = np.empty_like(scores), np.empty_like(scores)
    choose_softly(scores, starts_of(sizes), np.float32(temperature), hard, soft)
    expected = [softmax(h.astype(float) / temperature, axis=1) for h in each_head(scores, sizes)]
    assert_allclose(soft, np.hstack(expected), rtol=1e-5, atol=1e-12)
    expected = [np.eye(h.shape[1])[h.argmax(axis=1)] for h in each_head(scores, sizes)]
    assert_array_equal(hard, np.hstack(expected))
    assert soft.dtype == np.float32


def test_faint_choices_are_neither_subnormal_nor_nan():
    scores = np.float32([[0, -1e30, 1e4, -1e4]])
    hard, soft = np.empty_like(scores), np.empty_like(scores)
    choose_softly(scores, starts_of((2, 2)), np.float32(1e-3), hard, soft)
    assert_allclose(soft, [[1, 0, 1, 0]], atol=1e-12)
    assert soft.min() > np.finfo(np.float32).tiny


@pytest.mark.parametrize("sizes", HEADS)
def test_slopes_of_choices_become_slopes_of_scores(sizes):
    temperature, scores = 2.5, scores_of(sizes, np.float64)
    hard, soft = np.empty_like(scores), np.empty_like(scores)
    choose_softly(scores, starts_of(sizes), temperature, hard, soft)
    slopes = np.random.default_rng(1).standard_normal(scores.shape)
    expected = []
    for s, g in zip(each_head(soft, sizes), each_head(slopes, sizes), strict=True):
        jacobians = (s[:, :, None] * np.eye(s.shape[1]) - s[:, :, None] * s[:, None]) / temperature
        expected.append(np.einsum("iuv,iv->iu", jacobians, g))
    softmax_gradient(soft, starts_of(sizes), temperature, slopes)
    assert_allclose(slopes, np.hstack(expected), atol=1e-14)


# Networks


def in_double(network):
    """The same network in float64, where differences are exact enough."""
    double = Perceptron(network.sizes, network.values.astype(np.float64))
    return double


@pytest.mark.parametrize("sizes", [(4, 3), (4, 6, 3), (4, 6, 5, 2)])
def test_gradients_of_a_perceptron_are_differences_of_its_loss(sizes):
    rng = np.random.default_rng(0)
    network = in_double(Perceptron(sizes).draw(rng))
    network.values += 0.1 * rng.standard_normal(len(network.values))  # offsets too
    x, targets = rng.standard_normal((9, 4)), rng.random((9, sizes[-1]))
    weights = rng.random(9)

    def loss(values):
        logits = Perceptron(sizes, values).logits(x)
        return weights @ (np.logaddexp(0, logits) - targets * logits).sum(axis=1)

    gradient = np.empty_like(network.values)
    network.gradient(x, targets, weights, rng, gradient)
    assert_allclose(gradient, approx_fprime(network.values, loss, 1e-7), atol=2e-6)


def symbol_network(rng, sizes=(4, 6), heads=(3, 2), n_tasks=5):
    network = SymbolNetwork(sizes, heads, n_tasks, 2.0)
    network.values[:] = 0.5 * rng.standard_normal(len(network.values))
    return network


def test_the_gradient_passes_straight_through_choices():
    """Against the same formula in plain float64, with the same noise."""
    rng = np.random.default_rng(0)
    network, sizes = symbol_network(rng), (3, 2)
    x, targets = rng.standard_normal((50, 4)).astype(np.float32), rng.random((50, 5))
    weights = rng.random(50)
    gradient = np.empty_like(network.values)
    network.gradient(x, targets, weights, np.random.default_rng(7), gradient)

    encoder, readout = in_double(network.encoder), in_double(network.readout)
    waits = np.random.default_rng(7).standard_exponential((50, 5), np.float32)
    noise = -np.log(waits.astype(float))
    scores = encoder.logits(x.astype(float)) + noise
    hard = np.hstack([np.eye(h.shape[1])[h.argmax(axis=1)] for h in each_head(scores, sizes)])
    soft = np.hstack([softmax(h / 2.0, axis=1) for h in each_head(scores, sizes)])
    slopes = (expit(readout.logits(hard)) - targets) * weights[:, None]

    # The read-out's part is exact: it is linear in what was chosen.
    def loss_of_readout(values):
        logits = Perceptron(readout.sizes, values).logits(hard)
        return weights @ (np.logaddexp(0, logits) - targets * logits).sum(axis=1)

    expected = approx_fprime(readout.values, loss_of_readout, 1e-7)
    assert_allclose(gradient[network.split :], expected, atol=1e-5)

    # That of the encoder: slopes where choices are hard, times the derivative of soft ones.
    upstream = slopes @ readout.maps[0][0].T

    def surrogate(values):
        shifted = Perceptron(encoder.sizes, values).logits(x.astype(float)) + noise
        choices = np.hstack([softmax(h / 2.0, axis=1) for h in each_head(shifted, sizes)])
        return (upstream * choices).sum()

    assert_allclose(surrogate(encoder.values), (upstream * soft).sum())
    expected = approx_fprime(encoder.values, surrogate, 1e-7)
    assert_allclose(gradient[: network.split], expected, atol=1e-5)


def test_gradients_stay_in_single_precision():
    slopes = cross_entropy_slopes(np.zeros((3, 2), np.float32), np.ones((3, 2)), np.ones(3))
    assert slopes.dtype == np.float32
    assert_allclose(slopes, -0.5)


def test_parameters_are_one_array():
    network = symbol_network(np.random.default_rng(0))
    assert len(network.values) == count_of((4, 6, 5)) + count_of((5, 5))
    before = network.logits(np.ones((1, 4), np.float32))
    network.values[:] = 0
    assert before.any()
    assert not network.logits(np.ones((1, 4), np.float32)).any()


def test_logits_of_a_symbol_network_are_those_of_its_symbols():
    rng = np.random.default_rng(0)
    network, x = symbol_network(rng), rng.standard_normal((30, 4)).astype(np.float32)
    weights, offsets = network.readout.maps[0]
    symbols = network.symbols(x)
    assert_allclose(
        network.logits(x), weights[symbols[:, 0]] + weights[3 + symbols[:, 1]] + offsets
    )


def test_cross_entropy_is_the_mean_over_tasks_and_weighted_samples():
    rng = np.random.default_rng(0)
    logits, targets, weights = rng.standard_normal((8, 3)), rng.random((8, 3)), rng.random(8)
    p = expit(logits)
    each = -(targets * np.log(p) + (1 - targets) * np.log(1 - p)).mean(axis=1)
    assert cross_entropy(logits, targets, weights) == pytest.approx(
        np.average(each, weights=weights)
    )
    certain = np.float32([[1e4, -1e4]])
    assert cross_entropy(certain, np.array([[1.0, 0.0]]), np.ones(1)) == 0


# Training


def test_adam_takes_the_steps_of_its_paper():
    rng = np.random.default_rng(0)
    values = rng.standard_normal(20).astype(np.float32)
    expected, mean, square = values.astype(float), np.zeros(20), np.zeros(20)
    optimizer = Adam(values)
    for step in range(1, 30):
        gradient = rng.standard_normal(20).astype(np.float32)
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient.astype(float) ** 2
        expected -= 0.01 * (mean / (1 - 0.9**step)) / np.sqrt(square / (1 - 0.999**step))
        optimizer.step(values, gradient, 0.01)
    assert_allclose(values, expected, rtol=1e-4, atol=1e-6)


class Epochs:
    def __init__(self, most=np.inf):
        self.n, self.most = 0, most

    def begin(self): ...

    def end(self):
        self.n += 1
        return self.n == self.most


def linear_samples(n, seed):
    x = np.random.default_rng(seed).standard_normal((n, 3)).astype(np.float32)
    return Samples(x, (x[:, :2] > 0).astype(float), np.ones(n))


def trained(epochs, **settings):
    schedule = Schedule(
        **{"rate": 0.01, "batch_size": 32, "max_iter": 30, "tol": 1e-3, "n_iter_no_change": 3}
        | settings
    )
    network = Perceptron((3, 2))
    history = train(network, linear_samples(400, 0), held_out, schedule, rng(), epochs)
    return network, history


def rng():
    return np.random.default_rng(0)


held_out = linear_samples(200, 1)


def test_training_lowers_the_loss_and_ends_at_the_least():
    network, history = trained(Epochs(), rate=0.3, max_iter=60)
    assert history.losses[0] == pytest.approx(np.log(2))
    assert history.loss < 0.3 * history.losses[0]
    assert held_out.loss(network) == history.loss == min(history.losses)
    assert history.settled


def test_training_stops_where_a_callback_asks_to():
    _, history = trained(Epochs(most=4))
    assert len(history.losses) == 5
    assert not history.settled


def test_hopeless_training_ends_where_it_would_slow_down():
    epochs, all_epochs = Epochs(), Epochs()
    trained(epochs, rate=1.0, max_iter=200, to_beat=-1.0)
    trained(all_epochs, rate=1.0, max_iter=200)
    assert epochs.n <= all_epochs.n / 2
