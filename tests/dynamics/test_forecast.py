"""Forecasts: the right step, many trajectories, spread, divergence."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from skatoms import KoopmanBasisDynamics
from skatoms.datasets import make_duffing, make_lorenz, make_oscillators, make_van_der_pol

LIFTS = {
    "identity": "identity",
    "polynomial": PolynomialFeatures(5),
    "rff": "rff",
    "nystroem": "nystroem",
    "pipeline": make_pipeline(StandardScaler(), PolynomialFeatures(4)),
}


@pytest.mark.parametrize("mode", ["relift", "linear"])
@pytest.mark.parametrize("center", ["mean", "last"])
@pytest.mark.parametrize("lift", LIFTS)
def test_a_forecast_is_as_far_ahead_as_it_says(lift, center, mode):
    n_delays = 2 if center == "last" else 1
    if lift == "identity":
        X = make_oscillators(2000, 4, dt=0.01, random_state=0).data
    else:
        X = make_lorenz(2000, random_state=0).data
    model = KoopmanBasisDynamics(
        LIFTS[lift], n_delays, operator="ridge", alpha=1e-9, center=center, random_state=0
    ).fit(X[:1500])
    past = X[1500 - n_delays : 1500]
    states = model.forecast(3, past, mode=mode)
    assert_allclose(states[0], model.predict(past)[-1], rtol=1e-5)
    for step in range(3):
        distances = np.linalg.norm(X[1498:1506] - states[step], axis=1)
        assert distances.argmin() == 2 + step


@pytest.mark.parametrize("operator", ["ls", "tls", "varpro"])
@pytest.mark.parametrize("stability", [None, "stable"])
def test_one_step_is_what_predict_gives(operator, stability):
    X = make_oscillators(200, 4, noise=0.1, random_state=0).data
    model = KoopmanBasisDynamics(n_delays=3, rank=4, operator=operator, stability=stability).fit(X)
    expected = model.predict(X)[-1]
    for mode in ("relift", "linear"):
        assert_allclose(model.forecast(1, X, mode=mode)[0], expected, rtol=1e-9)


def test_varpro_goes_on_from_a_state_fitted_to_all_rows():
    data = make_oscillators(400, 10, noise=0.3, random_state=0)
    model = KoopmanBasisDynamics(n_delays=3, rank=4, operator="varpro", dt=data.dt)
    model.fit(data.data[:300])
    truth = data.clean[300:]
    smooth = np.sqrt(((model.forecast(100) - truth) ** 2).mean())
    last = np.sqrt(((model.forecast(100, data.data[:300]) - truth) ** 2).mean())
    assert smooth < last / 2
    assert smooth < 0.05 * truth.std()


@pytest.mark.parametrize(
    ("data", "bar"),
    [
        (make_van_der_pol, 1e-3),
        (make_duffing, 1e-5),
    ],
)
def test_relifting_follows_nonlinear_systems(data, bar):
    seen, new = data(random_state=0), data(random_state=1, n_trajectories=60)
    model = KoopmanBasisDynamics(PolynomialFeatures(5)).fit(seen.data, lengths=seen.lengths)
    paths = new.data.reshape(60, 100, 2)
    relifted = model.forecast(50, paths[:, :1])
    linear = model.forecast(50, paths[:, :1], mode="linear")
    errors = [np.linalg.norm(f[:, -1] - paths[:, 50], axis=1) for f in (relifted, linear)]
    medians = [np.median(error) / seen.data.std() for error in errors]
    assert medians[0] < bar
    assert medians[1] > 100 * bar


def test_lists_and_arrays_of_trajectories_give_the_same():
    data = make_duffing(30, n_trajectories=5, random_state=0)
    parts = data.data.reshape(5, 30, 2)
    a = KoopmanBasisDynamics("polynomial").fit(parts)
    b = KoopmanBasisDynamics("polynomial").fit(list(parts))
    c = KoopmanBasisDynamics("polynomial").fit(data.data, lengths=data.lengths)
    d = KoopmanBasisDynamics("polynomial").fit(data.data, groups=np.repeat(list("abcde"), 30))
    expected = a.forecast(4, parts)
    assert expected.shape == (5, 4, 2)
    for model in (b, c, d):
        assert_array_equal(model.forecast(4, list(parts)), expected)
    assert_allclose(a.forecast(4, parts[2]), expected[2], rtol=1e-10)
    assert_array_equal(a.predict(parts), c.predict(data.data, lengths=data.lengths))


def test_no_pair_reaches_over_an_end():
    X = np.vstack([np.zeros((20, 1)), np.ones((20, 1))]) + 0.0
    X[:, 0] += np.tile(0.5 ** np.arange(20), 2)
    joined, split = (KoopmanBasisDynamics().fit(X, lengths=n) for n in (None, [20, 20]))
    exact = KoopmanBasisDynamics(n_delays=2).fit(X, lengths=[20, 20])
    assert_allclose(exact.predict(X, lengths=[20, 20])[1:19], X[2:20], atol=1e-9)
    assert abs(joined.predict(X) - split.predict(X)).max() > 1e-3


def test_deviations_are_those_of_an_autoregression():
    rng = np.random.default_rng(0)
    x = np.zeros(20_000)
    noise = rng.standard_normal(len(x))
    for i in range(1, len(x)):
        x[i] = 0.8 * x[i - 1] + noise[i]
    model = KoopmanBasisDynamics().fit(x[:, None])
    expected = np.sqrt((1 - 0.8 ** (2 * np.arange(1, 11))) / (1 - 0.8**2))
    for mode in ("linear", "relift"):
        std = model.forecast(10, mode=mode, return_std=True)[1]
        assert_allclose(std[:, 0], expected, rtol=0.03)
    relative = KoopmanBasisDynamics(n_delays=2, center="last").fit(noise.cumsum()[:, None])
    std = relative.forecast(10, return_std=True)[1]
    assert_allclose(std[:, 0], np.sqrt(np.arange(1, 11)), rtol=0.05)


def test_ensembles_have_the_spread_of_the_recursion():
    rng = np.random.default_rng(0)
    X = np.zeros((5000, 2))
    for i in range(1, 5000):
        X[i] = 0.9 * X[i - 1] @ np.array([[0.8, 0.6], [-0.6, 0.8]]) + rng.standard_normal(2)
    linear = KoopmanBasisDynamics().fit(X).forecast(8, return_std=True)[1]
    lifted = KoopmanBasisDynamics(PolynomialFeatures(2), random_state=0).fit(X)
    assert_allclose(lifted.forecast(8, return_std=True)[1], linear, rtol=0.25)
    paths = np.stack([lifted.simulate(8, random_state=seed) for seed in range(200)])
    assert_allclose(paths.std(axis=0), linear, rtol=0.25)


def test_bands_of_varpro_hold_what_comes():
    inside = []
    for seed in range(10):
        data = make_oscillators(400, 6, noise=0.2, random_state=seed)
        model = KoopmanBasisDynamics(n_delays=2, rank=4, operator="varpro").fit(data.data[:300])
        states, std = model.forecast(100, return_std=True)
        inside.append((abs(states - data.data[300:]) < 1.96 * std).mean())
    assert 0.9 < np.mean(inside) < 0.98


def test_simulations_of_varpro_go_on_from_the_fitted_state():
    data = make_oscillators(300, 6, noise=0.2, random_state=0)
    model = KoopmanBasisDynamics(n_delays=2, rank=4, operator="varpro").fit(data.data)
    paths = np.stack([model.simulate(5, random_state=seed) for seed in range(300)])
    states, std = model.forecast(5, return_std=True)
    assert (abs(paths.mean(axis=0) - states) < 4 * std / np.sqrt(300)).all()
    assert_allclose(paths.std(axis=0), std, rtol=0.25)


@pytest.mark.parametrize("settings", [{}, {"operator": "varpro", "rank": 4}, {"select": "auto"}])
def test_single_precision_is_kept(settings):
    X = make_oscillators(100, 3, noise=0.01, random_state=0).data.astype(np.float32)
    model = KoopmanBasisDynamics(n_delays=2, **settings).fit(X)
    latents = model.transform(X)
    results = [model.predict(X), latents, model.inverse_transform(latents), model.simulate(2)]
    results += [*model.forecast(3, return_std=True), *model.forecast(3, X, return_std=True)]
    assert {some.dtype for some in results} == {np.dtype(np.float32)}
    double = KoopmanBasisDynamics(n_delays=2, **settings).fit(X.astype(float))
    assert_allclose(model.forecast(3, X), double.forecast(3, X.astype(float)), rtol=1e-4)


def test_divergence_is_reported_with_its_step():
    x = 2.0 ** np.arange(30)[:, None] / 2.0**29
    model = KoopmanBasisDynamics(fit_intercept=False, center=None).fit(x)
    with pytest.warns(UserWarning, match="1 of 1 forecasts left 1e\\+06 times .* at step 20"):
        states = model.forecast(30)
    assert np.isfinite(states[:19]).all()
    assert np.isnan(states[19:]).all()
    bad = KoopmanBasisDynamics(PolynomialFeatures(5)).fit(make_lorenz(300, random_state=0).data)
    with pytest.warns(UserWarning, match="3 of 4 forecasts"):
        states = bad.forecast(30, np.array([[[1, 1, 20]], *[[[1e3, 1e3, 1e4]]] * 3]))
    assert np.isfinite(states[0]).all()


def test_scores_are_r2_of_forecasts_at_the_horizon():
    X = make_oscillators(200, 3, noise=0.1, random_state=0).data
    model = KoopmanBasisDynamics(n_delays=4, horizon=5).fit(X[:150])
    new = X[150:]
    states = [model.forecast(5, new[i - 4 : i])[-1] for i in range(4, 46)]
    truth = new[8:]
    expected = 1 - ((truth - states) ** 2).sum() / ((truth - truth.mean(axis=0)) ** 2).sum()
    assert model.score(new) == pytest.approx(expected, rel=1e-9)


def test_latents_give_states_back():
    X = make_oscillators(100, 3, random_state=0).data
    for settings in ({"n_delays": 3}, {"n_delays": 3, "center": "last"}, {"lift": "polynomial"}):
        model = KoopmanBasisDynamics(**settings).fit(X)
        assert_allclose(model.inverse_transform(model.transform(X))[2:], X[2:], atol=1e-6)
    for operator in ("tls", "varpro"):
        model = KoopmanBasisDynamics(n_delays=3, rank=4, operator=operator, fit_intercept=False)
        model.set_params(center=None).fit(X)
        assert_allclose(model.inverse_transform(model.transform(X))[2:], X[2:], atol=1e-6)
