"""Transformed digits and what is composed of them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import ndimage
from sklearn.datasets import load_digits

from skatoms.datasets import make_digit_compositions
from skatoms.datasets._digits import Transformation

SINGLE = {"identity", "shift", "rotation", "scale"}


@pytest.fixture(scope="module")
def digits():
    return make_digit_compositions(1000, 300, random_state=0)


@pytest.fixture
def blob():
    """A picture that is smooth, without symmetry and dark at its border."""
    picture = np.zeros((15, 13))
    picture[5:9, 4:6], picture[8, 5:9] = 1, 0.5
    return ndimage.gaussian_filter(picture, 1, mode="constant", truncate=3)


def test_parts_have_their_shapes(digits):
    assert list(digits.test) == ["id", "sums", "max", "combined"]
    assert digits.image_shape == (8, 8)
    singles = [(1000, digits), (300, digits.test["id"]), (300, digits.test["combined"])]
    for n, part in singles:
        assert part.data.shape == (n, 64)
        assert part.source.shape == part.transformation.shape == part.target.shape == (n,)
    for part in (digits.test["sums"], digits.test["max"]):
        assert part.data.shape == (300, 64)
        assert part.parts.shape == (300, 2, 64)
        assert part.source.shape == part.transformation.shape == (300, 2)
        assert "target" not in part
    for part in (digits, *digits.test.values()):
        assert part.data.dtype == np.float64


def test_training_and_tests_have_different_source_images(digits):
    training = set(digits.source)
    tests = set(np.concatenate([part.source.ravel() for part in digits.test.values()]))
    assert not training & tests
    assert len(tests) > 500
    assert max(training | tests) < 1797


def test_single_digits_are_under_one_transformation(digits):
    assert set(digits.transformation) == set(digits.test["id"].transformation) == SINGLE
    assert set(digits.test["sums"].transformation.ravel()) == SINGLE
    assert set(digits.test["combined"].transformation) == {"shift + rotation + scale"}


def test_targets_are_the_labels_of_the_sources(digits):
    for part in (digits, digits.test["id"], digits.test["combined"]):
        assert_array_equal(part.target, load_digits().target[part.source])


def test_rows_are_transforms_of_their_sources(digits):
    sources = load_digits().images / 16
    is_same = digits.transformation == "identity"
    assert_allclose(digits.data[is_same], sources[digits.source[is_same]].reshape(-1, 64))
    directions = set()
    for k in np.flatnonzero(digits.transformation == "shift"):
        fits = [
            (row, column)
            for row in (-1, 0, 1)
            for column in (-1, 0, 1)
            if np.allclose(
                ndimage.shift(sources[digits.source[k]], (row, column), order=0).ravel(),
                digits.data[k],
            )
        ]
        assert fits
        directions.add(fits[0])
    assert len(directions) == 8
    assert (0, 0) not in directions


def test_sums_and_maxima_are_those_of_two_different_digits(digits):
    sums, maxima = digits.test["sums"], digits.test["max"]
    assert_allclose(sums.data, sums.parts[:, 0] + sums.parts[:, 1])
    assert_array_equal(maxima.data, np.maximum(maxima.parts[:, 0], maxima.parts[:, 1]))
    for part in (sums, maxima):
        assert (part.source[:, 0] != part.source[:, 1]).all()
        assert part.parts.max() <= 1
        assert part.data.min() >= 0


def test_a_quarter_turn_is_counter_clockwise():
    image = np.random.default_rng(0).uniform(size=(7, 7))
    turned = Transformation("rotation", degrees=90).apply(image)
    assert_allclose(turned, np.rot90(image), atol=1e-12)


def test_scale_and_rotation_move_coordinates_about_the_middle(blob):
    row, column = np.subtract(ndimage.center_of_mass(blob), (7, 6))
    scaled = Transformation("scale", scale=1.15).apply(blob)
    assert_allclose(scaled.sum(), 1.15**2 * blob.sum(), rtol=0.02)
    moved = np.subtract(ndimage.center_of_mass(scaled), (7, 6))
    assert_allclose(moved, [1.15 * row, 1.15 * column], atol=0.03)
    turned = Transformation("rotation", degrees=15).apply(blob)
    moved = np.subtract(ndimage.center_of_mass(turned), (7, 6))
    cos, sin = np.cos(np.pi / 12), np.sin(np.pi / 12)
    assert_allclose(moved, [cos * row - sin * column, sin * row + cos * column], atol=0.03)


def test_a_combined_transformation_shifts_last(blob):
    plain = Transformation("", degrees=10, scale=0.9).apply(blob)
    shifted = Transformation("", (1, -1), 10, 0.9).apply(blob)
    assert_allclose(shifted[1:, :-1], plain[:-1, 1:], atol=1e-12)


def test_own_images_may_have_any_shape():
    images = np.random.default_rng(0).uniform(size=(5, 6, 4)).astype(np.float32)
    digits = make_digit_compositions(30, 20, images=images, random_state=0)
    assert digits.image_shape == (6, 4)
    assert digits.data.shape == (30, 24)
    assert digits.data.dtype == np.float64
    assert set(digits.source) | set(digits.test["id"].source) == set(range(5))
    assert "target" not in digits
    assert "target" not in digits.test["id"]
    is_same = digits.transformation == "identity"
    assert_array_equal(digits.data[is_same], images[digits.source[is_same]].reshape(-1, 24))


def test_the_seed_decides(digits):
    again, other = (make_digit_compositions(1000, 300, random_state=seed) for seed in (0, 1))
    for key in ("data", "source", "transformation"):
        assert_array_equal(again[key], digits[key])
        for name, part in digits.test.items():
            assert_array_equal(again.test[name][key], part[key])
    assert (other.data != digits.data).any(axis=1).mean() > 0.9
    assert set(other.source) != set(digits.source)


@pytest.mark.parametrize(
    ("parameter", "value", "error"),
    [
        ("n_samples", 0, ValueError),
        ("n_test", 1.5, TypeError),
        ("images", np.zeros((10, 64)), ValueError),
        ("images", np.zeros((3, 8, 8)), ValueError),
        ("images", np.full((10, 8, 8), 255), ValueError),
        ("images", np.full((10, 8, 8), -0.1), ValueError),
    ],
)
def test_bad_parameters_are_named(parameter, value, error):
    with pytest.raises(error, match=f"^{parameter} must be"):
        make_digit_compositions(**{parameter: value})


def test_images_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match="images contains NaN"):
        make_digit_compositions(images=np.full((10, 8, 8), np.nan))
