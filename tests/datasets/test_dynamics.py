"""Trajectories obey their laws."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skatoms.datasets import (
    make_duffing,
    make_flow,
    make_lorenz,
    make_oscillators,
    make_van_der_pol,
)

MAKERS = (make_oscillators, make_van_der_pol, make_duffing, make_lorenz)


def slopes(path, dt):
    """Derivatives by differences of sixth order, of rows 3 to -4."""
    weights = np.array([-1, 9, -45, 0, 45, -9, 1]) / 60
    return sum(w * path[i : len(path) - 6 + i] for i, w in enumerate(weights)) / dt


LAWS = {
    make_van_der_pol: lambda x: [x[:, 1], (1 - x[:, 0] ** 2) * x[:, 1] - x[:, 0]],
    make_duffing: lambda x: [x[:, 1], x[:, 0] - x[:, 0] ** 3 - 0.5 * x[:, 1]],
    make_lorenz: lambda x: [
        10 * (x[:, 1] - x[:, 0]),
        x[:, 0] * (28 - x[:, 2]) - x[:, 1],
        x[:, 0] * x[:, 1] - 8 / 3 * x[:, 2],
    ],
}


@pytest.mark.parametrize("make", LAWS)
def test_clean_trajectories_obey_the_law(make):
    data = make(400, n_trajectories=3, dt=0.004, random_state=0)
    for path in data.clean.reshape(3, 400, -1):
        expected = np.column_stack(LAWS[make](path))[3:-3]
        assert_allclose(slopes(path, 0.004), expected, atol=1e-6 * abs(expected).max())


def test_oscillators_and_flows_have_the_exponents_they_say():
    for data in (make_oscillators(200, random_state=0), make_flow(200, (8, 16), random_state=0)):
        K = data.clean[1:].T @ np.linalg.pinv(data.clean[:-1].T, rcond=1e-9)
        found = np.log(np.linalg.eigvals(K).astype(complex) + 1e-300) / data.dt
        for exponent in data.exponents:
            assert abs(found - exponent).min() < 1e-6


@pytest.mark.parametrize("make", [*MAKERS, make_flow])
def test_seeds_and_noise(make):
    settings = {"n_trajectories": 2, "random_state": 3}
    a, b = make(20, **settings), make(20, noise=0.1, **settings)
    assert_array_equal(a.clean, b.clean)
    assert_array_equal(a.data, a.clean)
    assert_array_equal(b.data, make(20, noise=0.1, **settings).data)
    assert a.lengths == [20, 20]
    assert len(a.data) == len(a.times) == 40
    assert not np.allclose(a.data[:20], a.data[20:])
    assert 0.03 < (b.data - b.clean).std() / b.clean.std() < 0.3


def test_bad_parameters_are_named():
    for settings, name in (
        ({"n_samples": 1}, "n_samples"),
        ({"n_trajectories": 0}, "n_trajectories"),
        ({"noise": -1}, "noise"),
        ({"dt": 0}, "dt"),
    ):
        with pytest.raises(ValueError, match=name):
            make_oscillators(**settings)
    with pytest.raises(ValueError, match="mu"):
        make_van_der_pol(mu=-1)
    with pytest.raises(ValueError, match="damping"):
        make_duffing(damping=-1)
    with pytest.raises(ValueError, match="n_features"):
        make_oscillators(n_features=0)
    with pytest.raises(ValueError, match="shape must be"):
        make_flow(shape=(3, 4, 5))
