"""Pictures of one bump each."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal

from skatoms.datasets import make_spatial_bumps


@pytest.fixture(scope="module")
def pictures():
    return make_spatial_bumps(1000, 500, random_state=0)


def is_inside(centres, low=6, high=22):
    return ((centres >= low) & (centres <= high)).all(axis=1)


def test_parts_have_their_shapes(pictures):
    assert list(pictures.test) == ["id", "ood"]
    assert pictures.image_shape == (28, 28)
    for n, part in [(1000, pictures), *((500, part) for part in pictures.test.values())]:
        assert part.data.shape == part.mask.shape == (n, 784)
        assert part.centres.shape == (n, 2)
        assert part.data.dtype == part.centres.dtype == np.float64
        assert part.mask.dtype == bool


def test_only_the_ood_part_has_centres_in_the_square(pictures):
    assert not is_inside(pictures.centres).any()
    assert not is_inside(pictures.test["id"].centres).any()
    assert is_inside(pictures.test["ood"].centres).all()


def test_centres_are_uniform_in_the_picture_around_the_square(pictures):
    centres = pictures.centres
    assert centres.min() >= 0
    assert centres.max() <= 28
    area = 28**2 - 16**2
    for coordinate in centres.T:
        for start, length in [(0, 28), (22, 28), (6, 12), (14, 12)]:
            end = {0: 6, 22: 28, 6: 14, 14: 22}[start]
            share = (end - start) * length / area
            found = ((coordinate >= start) & (coordinate < end)).mean()
            assert abs(found - share) < 4 * np.sqrt(share * (1 - share) / 1000)


def test_training_has_each_row_and_each_column(pictures):
    for coordinate in pictures.centres.T:
        assert (np.histogram(coordinate, bins=28, range=(0, 28))[0] > 0).all()


@pytest.mark.parametrize("sigma", [0.7, 1.0, 2.5])
def test_a_picture_is_a_bump_at_its_centre(sigma):
    pictures = make_spatial_bumps(5, 5, size=9, sigma=sigma, withheld=(3, 6), random_state=0)
    grid = np.stack(np.mgrid[:9, :9], axis=-1) + 0.5
    for part in (pictures, *pictures.test.values()):
        for row, centre in zip(part.data, part.centres, strict=True):
            density = multivariate_normal(centre, sigma**2).pdf(grid)
            assert_allclose(row.reshape(9, 9), 2 * np.pi * sigma**2 * density, rtol=1e-10)


def test_a_third_of_the_pixels_is_hidden_and_pictures_do_not_depend_on_it(pictures):
    assert abs(pictures.mask.mean() - 1 / 3) < 0.01
    hidden = make_spatial_bumps(1000, 500, hidden=1, random_state=0)
    assert_array_equal((~hidden.mask).sum(axis=1), 1)
    assert_array_equal(hidden.data, pictures.data)


def test_the_seed_decides(pictures):
    again = make_spatial_bumps(1000, 500, random_state=0)
    other = make_spatial_bumps(1000, 500, random_state=1)
    for name in ("data", "mask", "centres"):
        assert_array_equal(again[name], pictures[name])
        assert_array_equal(again.test["ood"][name], pictures.test["ood"][name])
        assert (other[name] != pictures[name]).any(axis=1).all()
    assert (pictures.centres[:500] != pictures.test["id"].centres).any(axis=1).all()


@pytest.mark.parametrize(
    ("parameter", "value", "error"),
    [
        ("n_samples", 0, ValueError),
        ("n_test", 1.5, TypeError),
        ("size", 1, ValueError),
        ("sigma", 0, ValueError),
        ("hidden", -0.1, ValueError),
        ("withheld", (22, 6), ValueError),
        ("withheld", (0, 22), ValueError),
        ("withheld", (6, 28), ValueError),
        ("withheld", (6, float("nan")), ValueError),
        ("withheld", (6, "22"), ValueError),
        ("withheld", (6, 8, 22), ValueError),
        ("withheld", 6, ValueError),
    ],
)
def test_bad_parameters_are_named(parameter, value, error):
    with pytest.raises(error, match=f"^{parameter} must be"):
        make_spatial_bumps(**{parameter: value})
