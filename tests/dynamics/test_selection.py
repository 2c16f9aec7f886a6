"""Rolling origins, and the choice among forecasters."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit, cross_val_score
from sklearn.preprocessing import PolynomialFeatures

from skatoms import KoopmanBasisDynamics
from skatoms.datasets import make_duffing, make_lorenz
from skatoms.dynamics import HorizonSplit


@pytest.mark.parametrize("gap", [0, 3])
@pytest.mark.parametrize("max_train_size", [None, 7])
def test_one_trajectory_is_split_as_scikit_learn_does(gap, max_train_size):
    X = np.zeros((50, 1))
    settings = {"test_size": 8, "gap": gap, "max_train_size": max_train_size}
    ours = HorizonSplit(4, **settings)
    theirs = TimeSeriesSplit(4, **settings)
    assert ours.get_n_splits() == 4
    for mine, other in zip(ours.split(X), theirs.split(X), strict=True):
        assert_array_equal(mine[0], other[0])
        assert_array_equal(mine[1], other[1])


def test_each_trajectory_is_cut():
    groups = np.repeat(["a", "b"], [10, 14])
    splits = list(HorizonSplit(2, test_size=4).split(np.zeros((24, 1)), groups=groups))
    assert_array_equal(splits[0][0], [0, 1, *range(10, 16)])
    assert_array_equal(splits[0][1], [2, 3, 4, 5, *range(16, 20)])
    assert_array_equal(splits[1][1], [6, 7, 8, 9, *range(20, 24)])


def test_splits_that_leave_nothing_are_refused():
    with pytest.raises(ValueError, match="shortest trajectory has 10 rows"):
        list(HorizonSplit(2, test_size=5).split(np.zeros((10, 1))))
    with pytest.raises(ValueError, match="test_size must be between 1"):
        list(HorizonSplit(test_size=0).split(np.zeros((10, 1))))
    with pytest.raises(ValueError, match="groups has shape"):
        list(HorizonSplit().split(np.zeros((100, 1)), groups=[1]))


def test_a_search_over_origins_finds_the_order_of_an_autoregression():
    rng = np.random.default_rng(0)
    x = np.zeros(1500)
    for i in range(3, len(x)):
        x[i] = 0.5 * x[i - 1] - 0.5 * x[i - 3] + rng.standard_normal()
    grid = {"n_delays": [1, 2, 3]}
    split = HorizonSplit(4, test_size=200)
    search = GridSearchCV(KoopmanBasisDynamics(horizon=3), grid, cv=split, error_score="raise")
    assert search.fit(x[:, None]).best_params_["n_delays"] == 3


def test_a_search_over_lifts_finds_that_of_lorenz():
    X = make_lorenz(2000, random_state=0).data
    lifts = ["identity", PolynomialFeatures(2), PolynomialFeatures(4)]
    scores = [
        cross_val_score(KoopmanBasisDynamics(lift), X, cv=HorizonSplit(3, test_size=300)).mean()
        for lift in lifts
    ]
    assert scores[0] < scores[1] < scores[2]
    assert 1 - scores[2] < 1e-6


def rolling_errors(model, x, start, step):
    n_rows = model._source.n_rows
    origins = np.arange(start, len(x) - step + 1)
    past = np.stack([x[i - n_rows : i] for i in origins])[..., None]
    found = model.forecast(step, past)[:, -1, 0]
    return np.sqrt(((found - x[origins + step - 1]) ** 2).mean())


def test_the_choice_suits_the_series():
    rng = np.random.default_rng(0)
    t = np.arange(600)
    pattern = rng.standard_normal(12)[t % 12]
    walk = rng.standard_normal(600).cumsum()
    noise = rng.standard_normal(600)
    for x, best in (
        (pattern + 1e-6 * noise, 1e-4),
        (walk, 1.1),
        (noise, 1.1),
        (np.sin(0.2 * t) * np.sin(0.03 * t), 1e-3),
    ):
        model = KoopmanBasisDynamics(select="auto").fit(x[:400, None])
        assert rolling_errors(model, x, 400, 1) < best
    names = KoopmanBasisDynamics(select="auto").fit(noise[:400, None]).selection_.names
    assert "mean" in names


def test_what_was_taken_is_said_and_adds_up():
    X = make_duffing(60, n_trajectories=10, random_state=0)
    model = KoopmanBasisDynamics(select="auto", horizon=5).fit(X.data, lengths=X.lengths)
    found = model.selection_
    assert found.weights.shape == found.errors.shape
    assert len(found.names) == len(found.weights)
    assert_allclose(found.weights.sum(axis=0), 1)
    assert any(name.startswith("polynomial 3") for name in found.names)
    n_rows = model._source.n_rows
    past = X.data[:n_rows]
    assert_allclose(model.forecast(1, past)[0], model.predict(past)[-1], rtol=1e-9)
    states, std = model.forecast(70, past, return_std=True)
    assert states.shape == std.shape == (70, 2)
    assert (np.diff(std, axis=0) >= 0).all()
    assert len(model.eigenvalues_) == model.transform(past).shape[1]
    assert model.score(X.data, lengths=X.lengths) > 0.99
    assert model.simulate(5, past, random_state=0).shape == (5, 2)
    assert model.forecast(3).shape == (3, 2)


def test_the_own_settings_are_a_candidate():
    X = np.cos(np.arange(300)[:, None] * [0.1, 0.5, 0.7])  # rank 6
    X += 0.05 * np.random.default_rng(1).standard_normal(X.shape)
    own = KoopmanBasisDynamics(n_delays=20, rank=6, operator="tls", select="auto").fit(X)
    weights = dict(zip(own.selection_.names, own.selection_.weights[:, 20], strict=True))
    assert max(weights, key=weights.get) == "as given"


def test_controls_go_through_a_selection():
    rng = np.random.default_rng(0)
    u = rng.standard_normal(200)
    x = np.zeros((200, 1))
    for i in range(199):
        x[i + 1] = 0.9 * x[i] + u[i]
    model = KoopmanBasisDynamics(select="auto").fit(x[:150], u=u[:150])
    assert_allclose(model.forecast(20, u=u[149:169]), x[150:170], atol=1e-6)


def test_bad_uses_are_refused():
    X = np.random.default_rng(0).standard_normal((40, 1))
    with pytest.raises(ValueError, match="select='auto' holds out half"):
        KoopmanBasisDynamics(select="auto").fit(X[:15])
    with pytest.raises(ValueError, match="take another operator than 'varpro'"):
        KoopmanBasisDynamics(select="auto", operator="varpro").fit(X)
    with pytest.raises(AttributeError):
        KoopmanBasisDynamics(select="auto").partial_fit(X)
