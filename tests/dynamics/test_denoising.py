"""States estimated along with the operator."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.preprocessing import PolynomialFeatures

from skatoms import KoopmanBasisDynamics
from skatoms.datasets import make_duffing
from skatoms.dynamics._denoising import denoised


def error_at_50(model, scale):
    new = make_duffing(random_state=1, n_trajectories=60)
    paths = new.data.reshape(60, 100, 2)
    errors = np.linalg.norm(model.forecast(50, paths[:, :1])[:, -1] - paths[:, 50], axis=1)
    return np.median(errors) / scale


def test_denoising_makes_forecasts_of_noisy_systems_better():
    data = make_duffing(noise=0.01, random_state=0)
    plain = KoopmanBasisDynamics("polynomial").fit(data.data, lengths=data.lengths)
    model = KoopmanBasisDynamics("polynomial", gamma=300.0).fit(data.data, lengths=data.lengths)
    assert (np.diff(model.objective_history_) <= 0).all()
    scale = data.data.std()
    assert error_at_50(model, scale) < error_at_50(plain, scale) / 3


def test_states_for_a_linear_map_are_those_of_a_general_minimiser():
    rng = np.random.default_rng(0)
    K, data = np.array([[0.9, 0.3], [-0.3, 0.9]]), rng.standard_normal((12, 2))
    firsts = np.delete(np.arange(11), 5)  # row 5 ends a trajectory

    def objective(x):
        x = x.reshape(12, 2)
        return ((data - x) ** 2).sum() + 4.0 * ((x[firsts + 1] - x[firsts] @ K.T) ** 2).sum()

    states, history, _ = denoised(data, firsts, lambda x: lambda x: x @ K.T, 4.0, 5, 1e-12)
    expected = minimize(objective, data.ravel(), tol=1e-12).x
    assert_allclose(states.ravel(), expected, atol=1e-5)
    assert_allclose(history[-1], objective(expected), rtol=1e-8)


def test_missing_rows_are_left_out():
    data = make_duffing(noise=0.01, random_state=0)
    X = data.data.copy()
    X[::37] = np.nan
    model = KoopmanBasisDynamics(PolynomialFeatures(3), gamma=300.0).fit(X, lengths=data.lengths)
    assert (np.diff(model.objective_history_) <= 0).all()
    assert error_at_50(model, data.data.std()) < 5e-3
