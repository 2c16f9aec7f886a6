"""Pictures of dynamics."""

import sys

import numpy as np
import pytest
from matplotlib import pyplot
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from skatoms import KoopmanBasisDynamics
from skatoms.datasets import make_flow, make_oscillators
from skatoms.inspection import ForecastDisplay, ModesDisplay, SpectrumDisplay


@pytest.fixture(autouse=True)
def close_figures():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def data():
    return make_oscillators(noise=0.05, random_state=0)


@pytest.fixture(scope="module")
def fitted(data):
    return KoopmanBasisDynamics(n_delays=3, rank=4, dt=data.dt).fit(data.data)


def test_dots_are_the_eigenvalues_with_their_residuals_as_colours(fitted):
    display = SpectrumDisplay.from_estimator(fitted)
    dots = display.ax_.collections[0]
    assert_allclose(dots.get_offsets() @ [1, 1j], fitted.eigenvalues_)
    assert_allclose(dots.get_array(), fitted.residuals_)
    assert np.argmax(dots.get_sizes()) == np.argmax(fitted.amplitudes_)
    circle = display.ax_.lines[0].get_xydata()
    assert_allclose(np.linalg.norm(circle, axis=1), 1)


def test_circles_around_eigenvalues_have_their_deviations_as_radius():
    display = SpectrumDisplay([0.5, 0.9j], deviations=[0.1, np.nan]).plot()
    around = display.ax_.lines[1].get_xydata()
    assert_allclose(np.linalg.norm(around - [0.5, 0], axis=1), 0.1)


def test_pictures_are_real_parts_of_one_mode_of_each_pair():
    flow = make_flow(60, (6, 12), random_state=0)
    model = KoopmanBasisDynamics(rank=5, center=None, fit_intercept=False, dt=flow.dt)
    model.fit(flow.data)
    display = ModesDisplay.from_estimator(model, feature_shape=(6, 12))
    firsts = np.flatnonzero(model.eigenvalues_.imag >= 0)
    assert len(display.axes_) == len(firsts) == 3
    for axes, k in zip(display.axes_, firsts, strict=True):
        (image,) = axes.images
        assert_array_equal(image.get_array(), model.modes_[k].real.reshape(6, 12))
    assert "0.2 cycles, growth 0" in display.names
    assert "0.5 cycles, growth -0.05" in display.names


def test_without_a_shape_modes_are_curves_and_few_are_drawn(fitted):
    display = ModesDisplay.from_estimator(fitted, max_modes=1)
    (axes,) = display.axes_
    assert_array_equal(axes.lines[0].get_ydata(), fitted.modes_[0].real)


def test_a_forecast_goes_on_where_the_past_ends(fitted, data):
    past, truth = data.data[:200], data.data[200:240]
    display = ForecastDisplay.from_estimator(fitted, past, 40, feature=2, start=7.0, truth=truth)
    seen, came, ahead = display.ax_.lines
    states, deviations = fitted.forecast(40, past, return_std=True)
    assert_array_equal(seen.get_ydata(), past[:, 2])
    assert_allclose(seen.get_xdata()[-1], 7.0)
    assert_array_equal(came.get_ydata(), truth[:, 2])
    assert_array_equal(ahead.get_ydata(), states[:, 2])
    assert_allclose(ahead.get_xdata(), 7 + data.dt * np.arange(1, 41))
    band = display.ax_.collections[0].get_paths()[0].vertices[:, 1]
    assert_allclose(band.max(), (states + 2 * deviations)[:, 2].max())


def test_what_can_not_be_drawn_is_refused(fitted):
    with pytest.raises(ValueError, match=r"feature_shape=\(4, 4\) .* = 10, the number of features"):
        ModesDisplay.from_estimator(fitted, feature_shape=(4, 4))
    with pytest.raises(ValueError, match="max_modes must be at least 1, got 0"):
        ModesDisplay.from_estimator(fitted, max_modes=0)
    with pytest.raises(ValueError, match=r"a name for each; there are 1 names"):
        ModesDisplay(np.ones((2, 3)), ["one"])


@pytest.mark.parametrize("display", [SpectrumDisplay, ModesDisplay])
def test_an_estimator_that_is_not_fitted_is_refused(display):
    with pytest.raises(NotFittedError):
        display.from_estimator(KoopmanBasisDynamics())


def test_without_matplotlib_the_error_says_what_to_install(fitted, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "matplotlib.pyplot", raising=False)
    with pytest.raises(ImportError, match=r'pip install "skatoms\[demo\]"'):
        SpectrumDisplay.from_estimator(fitted)
