"""Pictures of atoms."""

import sys

import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.exceptions import NotFittedError

from skatoms import VariationalBasisLearner
from skatoms.inspection import AtomsDisplay


@pytest.fixture(autouse=True)
def close_figures():
    yield
    pyplot.close("all")


@pytest.fixture
def fitted():
    X = np.random.default_rng(0).standard_normal((40, 6))
    return VariationalBasisLearner(7, 0.5, tol=1, random_state=0).fit(X)


def test_pictures_show_the_atoms_with_zero_in_the_middle_of_the_colours(fitted):
    display = AtomsDisplay.from_estimator(fitted, feature_shape=(2, 3))
    assert len(display.axes_) == 7
    for axes, atom in zip(display.axes_, fitted.components_, strict=True):
        (image,) = axes.images
        np.testing.assert_array_equal(image.get_array(), atom.reshape(2, 3))
        low, high = image.get_clim()
        assert low == -high == -np.abs(atom).max()


def test_without_a_shape_atoms_are_curves(fitted):
    display = AtomsDisplay.from_estimator(fitted)
    (line,) = display.axes_[2].lines
    np.testing.assert_array_equal(line.get_ydata(), fitted.components_[2])


def test_atoms_can_be_chosen_ordered_and_limited(fitted):
    display = AtomsDisplay.from_estimator(fitted, order=[5, 0, 3], max_atoms=2)
    np.testing.assert_array_equal(display.components, fitted.components_[[5, 0]])


def test_a_figure_may_be_given(fitted):
    figure = pyplot.figure()
    display = AtomsDisplay(fitted.components_).plot(figure=figure)
    assert display.figure_ is figure


def test_a_shape_that_does_not_fit_is_refused(fitted):
    with pytest.raises(ValueError, match=r"feature_shape=\(4, 4\) .* = 6, the number of features"):
        AtomsDisplay.from_estimator(fitted, feature_shape=(4, 4))


def test_nothing_to_draw_is_refused(fitted):
    with pytest.raises(ValueError, match="max_atoms must be at least 1, got 0"):
        AtomsDisplay.from_estimator(fitted, max_atoms=0)
    with pytest.raises(ValueError, match=r"components has shape \(0, 6\)"):
        AtomsDisplay.from_estimator(fitted, order=[])
    with pytest.raises(ValueError, match="feature_shape=6 must be"):
        AtomsDisplay.from_estimator(fitted, feature_shape=6)


def test_an_estimator_that_is_not_fitted_is_refused():
    with pytest.raises(NotFittedError):
        AtomsDisplay.from_estimator(VariationalBasisLearner())


def test_without_matplotlib_the_error_says_what_to_install(fitted, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "matplotlib.pyplot", raising=False)
    with pytest.raises(ImportError, match=r'pip install "skatoms\[demo\]"'):
        AtomsDisplay.from_estimator(fitted)
