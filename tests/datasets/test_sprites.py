"""Pictures of one coloured shape each."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skatoms.datasets import make_sprites
from skatoms.datasets._sprites import SHAPES, SIDE

AREA = (SIDE * 32) ** 2


@pytest.fixture(scope="module")
def pictures():
    return make_sprites(800, 200, unseen_pairs=0.25, random_state=0)


def covers(part, size=32):
    """What is not black: (n_samples, size, size)."""
    return part.data.reshape(-1, size, size, 3).max(axis=3)


def n_different(data):
    return len({row.tobytes() for row in data})


def middles(part, size=32):
    """Centre of mass, (x, y) in pixels from the upper left."""
    cover = covers(part, size)
    grid = np.arange(size) + 0.5
    total = cover.sum(axis=(1, 2))
    return np.stack([cover.sum(axis=1) @ grid, cover.sum(axis=2) @ grid], axis=1) / total[:, None]


def test_parts_have_their_shapes(pictures):
    assert list(pictures.test) == ["id", "unseen"]
    assert pictures.image_shape == (32, 32, 3)
    assert pictures.n_categories == (4, 6, 5, 5)
    assert pictures.factor_names == ("shape", "colour", "x", "y")
    assert pictures.shape_names == ("square", "ellipse", "triangle", "heart")
    for n, part in [(800, pictures), *((200, part) for part in pictures.test.values())]:
        assert part.data.shape == (n, 3072)
        assert part.data.dtype == np.float32
        assert part.factors.shape == (n, 4)
        assert part.data.min() == 0
        assert part.data.max() == 1
    for factor, count in zip(pictures.factors.T, pictures.n_categories, strict=True):
        assert_array_equal(np.unique(factor), np.arange(count))


def test_without_withheld_pairs_there_is_no_unseen_part():
    pictures = make_sprites(10, 5, random_state=0)
    assert list(pictures.test) == ["id"]
    assert "withheld" not in pictures


def test_only_the_unseen_part_has_withheld_pairs(pictures):
    assert pictures.withheld.sum() == 6  # of 24
    for part in (pictures, pictures.test["id"]):
        assert not pictures.withheld[part.factors[:, 0], part.factors[:, 1]].any()
    unseen = pictures.test["unseen"].factors
    assert pictures.withheld[unseen[:, 0], unseen[:, 1]].all()


@pytest.mark.parametrize("size", [32, 64])
@pytest.mark.parametrize("jitter", [0.0, 1.0])
def test_pictures_have_the_colour_of_their_category(size, jitter):
    pictures = make_sprites(100, 1, size=size, jitter=jitter, random_state=0)
    cover = covers(pictures, size)[:, :, :, None]
    colours = pictures.colours[pictures.factors[:, 1]][:, None, None]
    assert_allclose(pictures.data.reshape(-1, size, size, 3), cover * colours, atol=1e-6)
    assert_array_equal(pictures.colours[[0, 2, 4]], np.eye(3))


def test_all_shapes_have_the_same_area(pictures):
    areas = covers(pictures).sum(axis=(1, 2))
    for shape in range(4):
        assert_allclose(areas[pictures.factors[:, 0] == shape], AREA, rtol=0.025)


@pytest.mark.parametrize("name", SHAPES)
def test_outlines_enclose_area_one_and_distances_are_distances(name):
    grid = np.linspace(-1.2, 1.2, 1201)
    x, y = np.meshgrid(grid, grid)
    distance = SHAPES[name](x, y)
    assert_allclose((distance < 0).mean() * 2.4**2, 1, rtol=5e-3)
    slope = np.hypot(*np.gradient(distance, grid[1] - grid[0]))
    assert_allclose(np.median(slope[np.abs(distance) < 0.02]), 1, rtol=0.03)


def test_edges_are_as_smooth_as_those_of_a_finer_picture():
    """A pixel is near the mean of 8 x 8 pixels of a picture drawn eight times as large."""
    fine = make_sprites(60, 1, size=256, random_state=0)
    coarse = make_sprites(60, 1, size=32, random_state=0)
    assert_array_equal(fine.factors, coarse.factors)
    assert set(fine.factors[:, 0]) == {0, 1, 2, 3}
    means = covers(fine, 256).reshape(-1, 32, 8, 32, 8).mean(axis=(2, 4))
    error = np.abs(means - covers(coarse))
    assert error.max() < 0.3  # in a corner
    assert error.mean(axis=(1, 2)).max() < 0.03 * AREA / 32**2


def test_positions_go_from_the_left_and_from_the_top(pictures):
    where = middles(pictures)
    for shape in range(4):
        for axis, factor in enumerate(pictures.factors[:, 2:].T):
            mine = pictures.factors[:, 0] == shape
            means = [where[mine & (factor == k), axis].mean() for k in range(5)]
            assert_allclose(np.diff(means), 4.0, atol=0.02)  # pixels


def test_shapes_are_different(pictures):
    """At the same place and in the same colour at least a tenth of the area differs."""
    first = [
        covers(pictures)[(pictures.factors[:, [0, 2, 3]] == (shape, 2, 2)).all(axis=1)][0]
        for shape in range(4)
    ]
    for one in range(4):
        for other in range(one):
            assert np.abs(first[one] - first[other]).sum() > 0.1 * AREA


def test_hearts_and_triangles_stand_upright(pictures):
    rows = covers(pictures).sum(axis=2)
    for name, wide_end in [("heart", "top"), ("triangle", "bottom")]:
        shape = pictures.shape_names.index(name)
        for row in rows[pictures.factors[:, 0] == shape]:
            width = row[row > 0.5]
            top, bottom = width[: len(width) // 2].sum(), width[-(len(width) // 2) :].sum()
            assert (top > bottom) == (wide_end == "top")


def test_without_jitter_the_same_factors_give_the_same_picture():
    pictures = make_sprites(1500, 1, random_state=0)
    n_combinations = len(np.unique(pictures.factors, axis=0))
    assert n_different(pictures.data) == n_combinations


@pytest.mark.parametrize("size", [16, 32])
@pytest.mark.parametrize("positions", ["fewest", "most"])
def test_jitter_varies_pictures_without_cutting_or_mixing_positions(size, positions):
    n_positions = 2 if positions == "fewest" else size // 6
    pictures = make_sprites(1000, 1, size=size, n_positions=n_positions, jitter=1, random_state=0)
    assert n_different(pictures.data) == 1000
    areas = covers(pictures, size).sum(axis=(1, 2)) / (SIDE * size) ** 2
    assert_allclose([areas.min(), areas.max()], [0.9**2, 1.1**2], rtol=0.06)
    plain = make_sprites(1000, 1, size=size, n_positions=n_positions, random_state=0)
    assert_array_equal(plain.factors, pictures.factors)
    step = np.diff(np.unique(middles(plain, size)[plain.factors[:, 0] == 0, 0].round(3)))[0]
    moved = np.abs(middles(pictures, size) - middles(plain, size)).max()
    assert 0.25 * step < moved < 0.4 * step


def test_the_seed_decides(pictures):
    again = make_sprites(800, 200, unseen_pairs=0.25, random_state=0)
    other = make_sprites(800, 200, unseen_pairs=0.25, random_state=1)
    for name in ("data", "factors"):
        assert_array_equal(again[name], pictures[name])
        assert_array_equal(again.test["unseen"][name], pictures.test["unseen"][name])
    assert (other.factors != pictures.factors).any(axis=1).mean() > 0.9


@pytest.mark.parametrize(
    ("parameter", "value", "error"),
    [
        ("n_samples", 0, ValueError),
        ("n_test", 1.5, TypeError),
        ("size", 15, ValueError),
        ("n_colours", 1, ValueError),
        ("n_colours", 13, ValueError),
        ("n_positions", 1, ValueError),
        ("n_positions", 6, ValueError),
        ("jitter", 1.5, ValueError),
        ("jitter", float("nan"), ValueError),
        ("unseen_pairs", -0.1, ValueError),
    ],
)
def test_bad_parameters_are_named(parameter, value, error):
    with pytest.raises(error, match=f"^{parameter} must be"):
        make_sprites(**{parameter: value})


def test_too_many_unseen_pairs_are_refused():
    with pytest.raises(ValueError, match=r"unseen_pairs=0.9 .* at most 0.750 can be unseen"):
        make_sprites(unseen_pairs=0.9)
