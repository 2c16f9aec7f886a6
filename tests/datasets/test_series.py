"""Series that come with the package."""

import numpy as np

from skatoms.datasets import load_co2, load_sunspots


def test_sunspots_are_yearly_with_their_highest_maximum_in_1957():
    series = load_sunspots()
    assert series.data.shape == (309, 1)
    np.testing.assert_array_equal(series.times, np.arange(1700, 2009))
    assert series.times[series.data.argmax()] == 1957


def test_carbon_dioxide_is_weekly_and_rises():
    series = load_co2()
    assert series.data.shape == (2284, 1)
    assert np.isnan(series.data).sum() == 59
    np.testing.assert_allclose(np.diff(series.times), series.dt)
    assert np.nanmean(series.data[-52:]) - np.nanmean(series.data[:52]) > 50
