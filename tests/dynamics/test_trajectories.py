"""What data may be, and what is said of data that may not."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skatoms import KoopmanBasisDynamics
from skatoms.datasets import make_oscillators
from skatoms.dynamics._trajectories import trajectories_of


@pytest.fixture(scope="module")
def waves():
    return make_oscillators(120, 3, random_state=0).data


def test_windows_and_pairs_by_hand():
    X = np.arange(10.0)[:, None]
    X[4] = np.nan
    found, dt = trajectories_of(X, lengths=[7, 3])
    assert dt == 1.0
    assert_array_equal(found.runs(), [1, 2, 3, 4, 0, 1, 2, 1, 2, 3])
    assert_array_equal(found.pairs(2), [1, 2, 8])
    assert_array_equal(found.windows(np.array([1, 2, 8]), 2), [[0, 1], [1, 2], [7, 8]])
    assert_array_equal(found.windows(np.array([0, 7]), 2), [[0, 0], [7, 7]])


def test_rows_with_gaps_are_skipped(waves):
    X = waves.copy()
    X[[20, 21, 70], [0, 1, 2]] = np.nan
    model = KoopmanBasisDynamics(n_delays=2, rank=4, fit_intercept=False, center=None).fit(X)
    assert_allclose(model.forecast(5, waves[:50]), waves[50:55], atol=1e-8)
    assert_array_equal(np.flatnonzero(np.isnan(model.predict(X)).any(axis=1)), [20, 21, 22, 70, 71])


def test_times_with_whole_gaps_are_taken(waves):
    kept = np.delete(np.arange(120), [30, 31, 60])
    settings = {"n_delays": 2, "rank": 4, "fit_intercept": False, "center": None}
    model = KoopmanBasisDynamics(**settings).fit(waves[kept], t=0.1 * kept + 7)
    assert model.dt_ == pytest.approx(0.1)
    assert_allclose(model.forecast(5, waves[:50]), waves[50:55], atol=1e-8)
    joined = KoopmanBasisDynamics(**settings).fit(waves[kept])
    assert abs(joined.forecast(5, waves[:50]) - waves[50:55]).max() > 1e-3


def test_constant_features_are_carried(waves):
    X = np.column_stack([waves, np.full(120, 3.0)])
    for settings in (
        {},
        {"scale": True},
        {"lift": "polynomial"},
        {"n_delays": 2, "center": "last"},
    ):
        model = KoopmanBasisDynamics(**settings).fit(X)
        assert_allclose(model.forecast(5)[:, 3], 3.0, atol=1e-8)


@pytest.mark.parametrize("value", [0.1, 3.0])
@pytest.mark.parametrize("center", ["mean", None])
@pytest.mark.parametrize("settings", [{}, {"operator": "tls", "n_delays": 3}, {"select": "auto"}])
def test_what_does_not_move_is_forecast_to_stay(value, center, settings):
    X = np.full((60, 2), value)
    model = KoopmanBasisDynamics(center=center, **settings).fit(X)
    assert_allclose(model.forecast(100), value, rtol=1e-12)


def test_inputs_and_times_come_as_trajectories_do():
    rng = np.random.default_rng(0)
    X, u, t = rng.standard_normal((5, 30, 2)), rng.standard_normal((5, 30, 1)), np.arange(30.0)
    expected = KoopmanBasisDynamics().fit(X, u=u.reshape(150, 1)).eigenvalues_
    for inputs in (u, list(u), list(u[:, :, 0])):
        model = KoopmanBasisDynamics().fit(X, u=inputs, t=np.tile(t, (5, 1)))
        assert_array_equal(model.eigenvalues_, expected)
        assert_array_equal(model.predict(X, u=inputs), model.predict(list(X), u=u.ravel()))


def bad(message, *, X=None, settings=None, **how):
    X = np.random.default_rng(0).standard_normal((20, 2)) if X is None else X
    with pytest.raises(ValueError, match=message):
        KoopmanBasisDynamics(**(settings or {})).fit(X, **how)


def test_what_can_not_be_fitted_is_refused_with_the_remedy():
    bad("n_delays=20 needs 21 rows .* longest stretch in X has 20", settings={"n_delays": 20})
    bad("n_delays=5 needs 6 rows", settings={"n_delays": 5}, lengths=[5] * 4)
    bad("lengths adds up to 19, but X has 20", lengths=[10, 9])
    bad("groups has shape", groups=[1, 2])
    bad("give one of them", lengths=[20], groups=np.ones(20))
    bad("t must increase .* after row 3", t=np.r_[:4, 2, 5:20])
    bad("t must be 20 finite times", t=np.arange(19))
    bad("whole numbers of dt", t=np.arange(20.0) ** 1.1)
    bad("u has shape \\(19, 1\\), but X has 20 rows", u=np.ones(19))
    bad("u must be finite", u=np.full(20, np.nan))
    bad("rank=3 is more than the data hold: .* 2 directions", settings={"rank": 3})
    bad("rank=9 .* hold", settings={"rank": 9, "operator": "tls"})
    bad("take n_delays of at least 2", settings={"center": "last"})
    bad("needs lift='identity'", settings={"operator": "varpro", "lift": "polynomial"})
    bad("needs center='mean'", settings={"operator": "varpro", "center": "last", "n_delays": 2})
    bad("needs u=None", settings={"operator": "varpro"}, u=np.ones(20))
    bad("gamma=1.0 estimates single states", settings={"gamma": 1.0, "n_delays": 2})
    bad("same features", X=[np.ones((5, 2)), np.ones((5, 3))])
    bad("leave out lengths", X=[np.ones((5, 2))] * 2, lengths=[5, 5])
    bad("X does not vary", settings={"operator": "varpro"}, X=np.ones((20, 2)))
    bad("rank=30 with operator='varpro' needs", settings={"operator": "varpro", "rank": 30})


def test_what_can_not_be_forecast_is_refused_with_the_remedy(waves):
    model = KoopmanBasisDynamics(n_delays=3).fit(waves, u=np.sin(np.arange(120)))
    with pytest.raises(ValueError, match="X0 has 2 rows, but forecasts need 3"):
        model.forecast(2, waves[:2], u=np.ones(2))
    with pytest.raises(ValueError, match=r"u has shape \(2, 0\), but 2 steps .* 1 inputs need"):
        model.forecast(2)
    with pytest.raises(ValueError, match=r"u has shape \(3, 1\), but 2 steps"):
        model.forecast(2, u=np.ones(3))
    with pytest.raises(ValueError, match="u has 0 inputs, but the model was fitted with 1"):
        model.predict(waves)
    with pytest.raises(ValueError, match="n_steps must be an integer of at least 1, got 0"):
        model.forecast(0)
    with pytest.raises(ValueError, match="mode must be"):
        model.forecast(2, u=np.ones(2), mode="best")
    with pytest.raises(ValueError, match="missing values in its last 3 rows"):
        model.forecast(2, np.full((3, 3), np.nan), u=np.ones(2))
    with pytest.raises(ValueError, match=r"\(n_delays\) need 13 rows .* longest stretch has 5"):
        model.score(waves[:5], u=np.ones(5))
    with pytest.raises(ValueError, match=r"there are . latents"):
        model.inverse_transform(np.ones((2, 40)))
    gap = waves.copy()
    gap[-1] = np.nan
    with pytest.raises(ValueError, match="do not end with 1 complete rows: pass X0"):
        KoopmanBasisDynamics().fit(gap).forecast(1)


def test_more_data_of_another_kind_are_refused(waves):
    model = KoopmanBasisDynamics(n_delays=2).partial_fit(waves)
    with pytest.raises(ValueError, match="u has 1 inputs, but had 0 before"):
        model.partial_fit(waves, u=np.ones(120))
    with pytest.raises(ValueError, match=r"n_delays=3 .* use fit to begin anew"):
        model.set_params(n_delays=3).partial_fit(waves)
    with pytest.raises(AttributeError):
        KoopmanBasisDynamics(operator="varpro").partial_fit(waves)
