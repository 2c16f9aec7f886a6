"""Codes of all layers: the energy as written down here, its minimum, its gradient."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.linear_model import Lasso

from skatoms.network._layers import Layers
from skatoms.network._settle import row_energies, settle, twins_folded

N_FEATURES = 12
ALPHAS, TOP_DOWN, TARGET = (0.2, 0.1, 0.15), (0.5, 0.3), 0.7


def network(n_layers, n_outputs=0, **settings):
    """Layers, inputs and outputs of atoms drawn at random."""
    rng = np.random.default_rng(n_layers)
    n_atoms, widths = (9, 7, 5)[:n_layers], (N_FEATURES, 8, 6)[:n_layers]
    counts = (1.0, *TOP_DOWN)[:n_layers]
    if n_outputs:
        widths, counts = (*widths, n_outputs), (*counts, TARGET)
    layers = Layers(n_atoms, widths, counts, ALPHAS[:n_layers], **settings)
    inputs = [rng.standard_normal(s) for s in zip(n_atoms, widths, strict=False)]
    outputs = [rng.standard_normal(s) for s in zip(n_atoms, widths[1:], strict=False)]
    inputs = [s / np.linalg.norm(s, axis=1, keepdims=True) for s in inputs]
    return layers, inputs, outputs


def energy(layers, inputs, outputs, x, codes, y=None):
    """The energy of one sample, term by term."""
    g = [codes[rows] for rows in layers.rows]
    total, below = 0.0, x
    for depth in range(len(layers)):
        rest = np.nan_to_num(below - g[depth] @ inputs[depth])
        cost = 0.5 * rest @ rest + layers.alphas[depth] * np.abs(g[depth]).sum()
        total += layers.counts[depth] * cost
        if depth + 1 < len(layers):
            below = g[depth] @ outputs[depth]
    if y is not None:
        total += layers.counts[-1] / 2 * ((y - g[-1] @ outputs[-1]) ** 2).sum()
    return total


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((5, N_FEATURES))


@pytest.mark.parametrize("n_outputs", [0, 2])
@pytest.mark.parametrize("n_layers", [1, 2, 3])
def test_the_energy_of_longer_samples_is_that_of_the_network(X, n_layers, n_outputs):
    layers, inputs, outputs = network(n_layers, n_outputs)
    rng = np.random.default_rng(1)
    codes = rng.standard_normal((5, layers.shape[0]))
    targets = rng.standard_normal((5, 2)) if n_outputs else None
    X[0, 3] = np.nan
    found = row_energies(
        layers, layers.longer(X, targets), codes, layers.components(inputs, outputs)
    )
    for i in range(5):
        y = targets[i] if n_outputs else None
        assert found[i] == pytest.approx(energy(layers, inputs, outputs, X[i], codes[i], y))


@pytest.mark.parametrize("n_layers", [1, 2, 3])
def test_inputs_and_outputs_come_back_from_components(n_layers):
    layers, inputs, outputs = network(n_layers, 2)
    found = layers.inputs_and_outputs(layers.components(inputs, outputs))
    for mine, theirs in zip([*inputs, *outputs], [*found[0], *found[1]], strict=True):
        assert_allclose(mine, theirs, rtol=1e-14)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("n_layers", [1, 2, 3])
def test_no_codes_have_less_energy(X, n_layers, positive, gaps):
    layers, inputs, outputs = network(n_layers, 2, positive=positive)
    targets = np.random.default_rng(1).standard_normal((5, 2))
    if gaps:
        X[:, ::3] = np.nan
    codes, report = settle(
        layers, layers.longer(X, targets), layers.components(inputs, outputs), output="dense"
    )
    assert report.n_unconverged == 0
    n = layers.shape[0]

    def split(parts, x, y):  # codes as a difference, so that the problem is smooth
        return energy(layers, inputs, outputs, x, parts[:n] - parts[n:], y)

    bounds = [(0, None)] * n + [(0, 0 if positive else None)] * n
    for x, y, code in zip(X, targets, codes, strict=True):
        start = np.concatenate([np.maximum(code, 0), np.maximum(-code, 0)])
        options = {"maxiter": 2000, "ftol": 1e-14, "gtol": 1e-9, "maxfun": 10**6}
        best = min(
            minimize(split, at, (x, y), "L-BFGS-B", bounds=bounds, options=options).fun
            for at in (start, np.zeros(2 * n))
        )
        assert energy(layers, inputs, outputs, x, code, y) <= best + 1e-9


def test_one_layer_is_the_lasso_of_stacked_data(X):
    layers, inputs, outputs = network(1, 2)
    targets = np.random.default_rng(1).standard_normal((5, 2))
    codes, _ = settle(layers, layers.longer(X, targets), layers.components(inputs, outputs))
    atoms = np.hstack([inputs[0], np.sqrt(TARGET) * outputs[0]])
    stacked = np.hstack([X, np.sqrt(TARGET) * targets])
    peer = Lasso(ALPHAS[0] / stacked.shape[1], fit_intercept=False, tol=1e-14, max_iter=10**6)
    expected = [peer.fit(atoms.T, x).coef_ for x in stacked]
    assert_allclose(codes, expected, atol=1e-8)


@pytest.mark.parametrize("n_layers", [1, 2, 3])
def test_the_gradient_of_the_least_energy_is_code_times_residual(X, n_layers):
    layers, inputs, outputs = network(n_layers, 2)
    longer = layers.longer(X, np.random.default_rng(1).standard_normal((5, 2)))
    components = layers.components(inputs, outputs)

    def least_energy(atoms):
        codes, _ = settle(layers, longer, atoms)
        return row_energies(layers, longer, codes, atoms).sum()

    codes, _ = settle(layers, longer, components)
    gradient = -codes.T @ (longer - codes @ components)
    rng = np.random.default_rng(2)
    for _ in range(5):
        direction = rng.standard_normal(components.shape) * (components != 0)
        rise = least_energy(components + 1e-5 * direction)
        rise -= least_energy(components - 1e-5 * direction)
        assert rise / 2e-5 == pytest.approx((gradient * direction).sum(), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("n_layers", [1, 2, 3])
def test_top_k_uses_no_more_and_no_turn_raises_the_energy(X, n_layers, gaps):
    layers, inputs, outputs = network(n_layers, top_k=2)
    components = layers.components(inputs, outputs)
    if gaps:
        X[:, ::3] = np.nan
    longer = layers.longer(X)
    codes, report = settle(layers, longer, components)
    assert (np.count_nonzero(codes[:, layers.rows[-1]], axis=1) <= 2).all()
    assert codes[:, layers.rows[-1]].any()
    assert report.n_iter >= 1
    before = row_energies(layers, longer, codes, components)
    again, _ = settle(layers, longer, components, start=codes)
    after = row_energies(layers, longer, again, components)
    assert (after <= before * (1 + 1e-9)).all()
    # A start that keeps to the number is never made worse.
    rng = np.random.default_rng(3)
    start = rng.standard_normal(codes.shape)
    start[:, layers.rows[-1]] *= np.arange(layers.n_atoms[-1]) < 2
    settled, _ = settle(layers, longer, components, start=start)
    worse = row_energies(layers, longer, start, components)
    assert (row_energies(layers, longer, settled, components) <= worse).all()


def test_rows_do_not_depend_on_their_company_with_top_k():
    layers, inputs, outputs = network(2, top_k=2)
    X = np.random.default_rng(0).standard_normal((300, N_FEATURES))
    components = layers.components(inputs, outputs)
    together, _ = settle(layers, layers.longer(X), components)
    alone, _ = settle(layers, layers.longer(X[7:8]), components)
    assert_allclose(together[7], alone[0], atol=1e-8)


def test_codes_of_atoms_of_one_direction_go_to_the_first(X):
    layers, inputs, outputs = network(2)
    inputs[0][4], outputs[0][4] = -inputs[0][1], -outputs[0][1]
    components = layers.components(inputs, outputs)
    fold = twins_folded(layers, components)
    codes, _ = settle(layers, layers.longer(X), components)
    folded = codes @ fold
    assert not folded[:, 4].any()
    assert_allclose(folded @ components, codes @ components, atol=1e-12)
    layers, inputs, outputs = network(2)
    assert twins_folded(layers, layers.components(inputs, outputs)) is None
