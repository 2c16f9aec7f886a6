"""Operators against closed forms, numpy and scipy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import least_squares

from skatoms import KoopmanBasisDynamics
from skatoms.datasets import make_oscillators
from skatoms.dynamics._operators import stabilised
from skatoms.dynamics._varpro import fit_exponentials, rates_of


def rotation(angle, size=1.0):
    return size * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def exponents_error(model, exponents):
    found = model.growth_rates_ + 2j * np.pi * model.frequencies_
    return max(abs(found - one).min() for one in exponents)


def test_least_squares_are_those_of_numpy(rng):
    X = rng.standard_normal((60, 3)).cumsum(axis=0)
    model = KoopmanBasisDynamics().fit(X)
    A = np.column_stack([X[:-1], np.ones(59)])
    B = np.linalg.lstsq(A, X[1:])[0]
    assert_allclose(model.predict(X), np.column_stack([X, np.ones(60)]) @ B, rtol=1e-9)
    known = np.linalg.eigvals(B[:3].T)
    assert_allclose(np.sort_complex(model.eigenvalues_), np.sort_complex(known), rtol=1e-8)


def test_autoregression_is_that_of_numpy(rng):
    x = rng.standard_normal(200).cumsum()
    model = KoopmanBasisDynamics(n_delays=4).fit(x[:, None])
    windows = np.lib.stride_tricks.sliding_window_view(x, 5)
    A = np.column_stack([windows[:, :4], np.ones(len(windows))])
    b = np.linalg.lstsq(A, windows[:, 4])[0]
    assert_allclose(model.predict(x[:, None])[3:-1, 0], A @ b, rtol=1e-8)


def test_last_centres_give_an_autoregression_of_changes(rng):
    x = rng.standard_normal(200).cumsum()
    model = KoopmanBasisDynamics(n_delays=3, center="last").fit(x[:, None])
    w = np.lib.stride_tricks.sliding_window_view(x, 4)
    A = np.column_stack([w[:, 0] - w[:, 2], w[:, 1] - w[:, 2], np.ones(len(w))])
    b = np.linalg.lstsq(A, w[:, 3] - w[:, 2])[0]
    assert_allclose(model.predict(x[:, None])[2:-1, 0], w[:, 2] + A @ b, rtol=1e-8)
    assert_allclose(model.forecast(7), model.forecast(7, mode="linear"), rtol=1e-8)
    assert min(abs(model.eigenvalues_ - 1)) < 1e-12


def test_a_shift_of_level_shifts_forecasts_with_last_centres(rng):
    X = rng.standard_normal((100, 2)).cumsum(axis=0)
    model = KoopmanBasisDynamics("polynomial", n_delays=2, center="last").fit(X)
    past = X[-2:]
    assert_allclose(model.forecast(4, past + 50), model.forecast(4, past) + 50, rtol=1e-7)


def test_ridge_is_that_of_its_normal_equations(rng):
    X = rng.standard_normal((50, 3))
    alpha = 0.3
    model = KoopmanBasisDynamics(operator="ridge", alpha=alpha).fit(X)
    now, later = X[:-1] - X[:-1].mean(axis=0), X[1:] - X[1:].mean(axis=0)
    gram = now.T @ now
    K = np.linalg.solve(gram + alpha * np.trace(gram) / 3 * np.eye(3), now.T @ later).T
    expected = X[1:].mean(axis=0) + (X - X[:-1].mean(axis=0)) @ K.T
    assert_allclose(model.predict(X), expected, rtol=1e-9)


def test_controls_are_found(rng):
    K, B = rotation(0.5, 0.95), np.array([[1.0], [0.5]])
    u = rng.standard_normal((100, 1))
    X = np.zeros((100, 2))
    X[0] = 1, 0
    for i in range(99):
        X[i + 1] = K @ X[i] + B @ u[i] + 0.1
    for operator in ("ls", "tls"):
        model = KoopmanBasisDynamics(operator=operator).fit(X[:80], u=u[:80])
        assert_allclose(model.forecast(20, u=u[79:99]), X[80:], atol=1e-8)
        assert_allclose(model.predict(X, u=u)[:-1], X[1:], atol=1e-8)
        assert_allclose(model.forecast(20, u=u[79:99], mode="linear"), X[80:], atol=1e-8)


@pytest.mark.parametrize("operator", ["ls", "ridge", "tls", "varpro"])
def test_noise_free_oscillators_are_found_exactly(operator):
    data = make_oscillators(200, 6, random_state=1)
    model = KoopmanBasisDynamics(
        n_delays=2,
        rank=4,
        operator=operator,
        alpha=0.0,
        dt=data.dt,
        fit_intercept=False,
        center=None,
    ).fit(data.data)
    assert exponents_error(model, data.exponents) < 1e-6
    for exponent, mode in zip(data.exponents, data.modes, strict=True):
        rates = model.growth_rates_ + 2j * np.pi * model.frequencies_
        found = model.modes_[np.argmin(abs(rates - exponent))]
        cosine = abs(found.conj() @ mode) / np.linalg.norm(mode)
        assert cosine == pytest.approx(1, abs=1e-8)


def test_total_least_squares_and_varpro_are_less_biased_under_noise():
    errors = {"ls": [], "tls": [], "varpro": []}
    for seed in range(4):
        data = make_oscillators(noise=0.1, random_state=seed)
        for operator, found in errors.items():
            model = KoopmanBasisDynamics(
                n_delays=1 if operator == "ls" else 10, rank=4, operator=operator, dt=data.dt
            )
            found.append(exponents_error(model.fit(data.data), data.exponents))
    ls, tls, varpro = (np.median(found) for found in errors.values())
    assert tls < ls / 20
    assert varpro < tls


def squared(parts, exponents):
    """The squared error of free exponentials, by an independent path."""
    total = 0.0
    for t, x in parts:
        waves = np.exp(np.outer(t, exponents))
        A = np.hstack([waves.real, waves.imag])
        total += ((x - A @ np.linalg.lstsq(A, x)[0]) ** 2).sum()
    return total


def test_varpro_ends_in_a_minimum(rng):
    data = make_oscillators(80, 3, noise=0.2, n_trajectories=2, random_state=3)
    parts = [(data.times[rows], data.data[rows]) for rows in (slice(0, 80), slice(80, 160))]
    start = rates_of(np.exp(data.dt * data.exponents), data.dt, None)
    found = fit_exponentials(parts, start, None, False)
    best = found.rates.growth + 1j * found.rates.angular
    assert found.error == pytest.approx(squared(parts, best), rel=1e-9)

    def error(v):
        return np.sqrt(squared(parts, v[:2] + 1j * v[2:]))

    independent = least_squares(
        lambda v: [error(v)], np.r_[best.real, best.imag] + 1e-3, method="trf", xtol=1e-12
    )
    assert found.error <= error(independent.x) ** 2 * (1 + 1e-6)


def test_varpro_takes_irregular_times(rng):
    data = make_oscillators(400, 5, noise=0.05, random_state=0)
    kept = np.sort(rng.choice(400, 250, replace=False))
    t = kept * data.dt + rng.uniform(0, 0.03, size=250)
    waves = np.exp(t[:, None] * data.exponents)
    X = (waves @ data.modes).real + 0.02 * rng.standard_normal((250, 5))
    model = KoopmanBasisDynamics(rank=4, operator="varpro", n_delays=2).fit(X, t=t)
    assert exponents_error(model, data.exponents) < 0.01
    with pytest.raises(ValueError, match="operator='varpro', or interpolate"):
        KoopmanBasisDynamics().fit(X, t=t)


@pytest.mark.parametrize("stability", ["stable", "conservative"])
def test_stabilised_operators_stay_in_the_circle_and_keep_what_is_in_it(rng, stability):
    V = rng.standard_normal((6, 6))
    blocks = np.zeros((6, 6))
    blocks[:2, :2], blocks[2:4, 2:4] = rotation(0.3, 1.1), rotation(1.0, 0.9)
    blocks[4, 4], blocks[5, 5] = -1.3, 0.5
    K = V @ blocks @ np.linalg.inv(V)
    moved = np.linalg.eigvals(stabilised(K, stability))
    expected = np.linalg.eigvals(K)
    size = abs(expected)
    size = size if stability == "conservative" else np.maximum(size, 1)
    for value in expected / size:
        assert abs(moved - value).min() < 1e-10
    assert abs(moved).max() <= 1 + 1e-12


@pytest.mark.parametrize("operator", ["ls", "tls", "varpro"])
def test_stability_does_no_harm_to_a_damped_system(operator):
    data = make_oscillators(300, 5, noise=0.1, random_state=2)
    settings = {"n_delays": 10, "rank": 4, "operator": operator, "dt": data.dt}
    free = KoopmanBasisDynamics(**settings).fit(data.data)
    stable = KoopmanBasisDynamics(**settings, stability="stable").fit(data.data)
    assert abs(stable.eigenvalues_).max() <= 1 + 1e-12
    assert_allclose(stable.eigenvalues_, free.eigenvalues_, atol=1e-9)


def test_long_forecasts_of_a_stable_model_are_bounded(rng):
    X = np.exp(0.01 * np.arange(200))[:, None] * rng.standard_normal((200, 2)).cumsum(axis=0)
    for center in ("mean", None):
        model = KoopmanBasisDynamics(n_delays=3, stability="stable", center=center).fit(X)
        assert np.isfinite(model.forecast(5000)).all()


@pytest.mark.parametrize("operator", ["ls", "tls", "varpro"])
def test_deviations_of_eigenvalues_are_those_over_data_sets(operator):
    found, said = [], []
    for seed in range(30):
        data = make_oscillators(300, 4, noise=0.1, random_state=0)
        noise = np.random.default_rng(seed).standard_normal(data.clean.shape)
        X = data.clean + 0.1 * np.sqrt((data.clean**2).mean()) * noise
        model = KoopmanBasisDynamics(
            n_delays=8, rank=4, operator=operator, fit_intercept=False, center=None
        ).fit(X)
        order = np.argsort(model.eigenvalues_.imag)
        found.append(model.eigenvalues_[order])
        said.append(model.eigenvalues_std_[order])
    found = np.array(found)
    true = np.sqrt((abs(found - found.mean(axis=0)) ** 2).mean(axis=0))
    ratio = np.median(said, axis=0) / true
    assert (ratio > 0.4).all()
    assert (ratio < 3).all()


def test_residuals_mark_eigenvalues_that_are_noise(rng):
    data = make_oscillators(300, 2, noise=0.0, random_state=0)
    X = np.column_stack([data.data, rng.standard_normal((300, 2))])
    model = KoopmanBasisDynamics(n_delays=2).fit(X)
    table = model.spectrum()
    true = np.exp(data.dt * data.exponents)
    for value in true:
        row = int(np.argmin(abs(table.eigenvalue - value)))
        assert not table.spurious[row]
    assert table.spurious.sum() >= 2


def test_partial_fit_is_fit():
    # The frame is that of the first call, which does not matter to these.
    data = make_oscillators(100, 3, n_trajectories=4, noise=0.1, random_state=0)
    for settings in ({"operator": "tls", "rank": 4}, {"lift": "polynomial"}, {"center": "last"}):
        settings = {"n_delays": 2, **settings}
        whole = KoopmanBasisDynamics(**settings).fit(data.data, lengths=data.lengths)
        streamed = KoopmanBasisDynamics(**settings)
        for start in range(0, 400, 100):
            streamed.partial_fit(data.data[start : start + 100])
        assert streamed.n_samples_seen_ == 400
        past = data.data[:5]
        assert_allclose(streamed.forecast(3, past), whole.forecast(3, past), rtol=1e-6)
