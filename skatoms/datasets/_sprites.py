"""Pictures of one coloured shape each, at one of a few places."""

import colorsys
from numbers import Integral
from typing import NamedTuple

import numpy as np
from sklearn.utils import Bunch, check_random_state

from .._validation import check_number
from ._factors import draw_with_pairs, draw_withheld_pairs

FACTORS = ("shape", "colour", "x", "y")
MOST_COLOURS = 12
SIDE = 0.22  # of the square, as a share of the picture; all shapes have its area
MOST_SHIFT = 0.3  # of the distance between neighbouring positions
MOST_DEGREES = 15.0
MOST_STRETCH = 0.1
CHUNK = 1000  # pictures that are drawn at once

DESCR = """\
Colour pictures of one shape each on a black ground: a square, an ellipse, a triangle or a heart of
the same area, in one of several colours, at one of several columns (x) and rows (y). These four are
the factors. Edges are smooth: a pixel has the colour in the share that the shape covers of it.
The test parts are new pictures of that kind ("id") and, where pairs of shape and colour are
withheld, pictures of pairs that never occur in training ("unseen")."""


def make_sprites(
    n_samples: int = 5000,
    n_test: int = 1000,
    size: int = 32,
    n_colours: int = 6,
    n_positions: int = 5,
    jitter: float = 0.0,
    unseen_pairs: float = 0.0,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Draw pictures of coloured shapes, with pairs of shape and colour withheld for a test.

    The factors of a picture, independent of each other with equally likely categories, are

    - shape: square, ellipse with axes 2 : 1, equilateral triangle or heart, all of the same area;
    - colour: fully saturated, of hue `k / n_colours`, beginning with red;
    - x and y: the column and row of the middle, evenly spaced, from the left and from the top.

    No shape is cut off by the border.

    Parameters
    ----------
    n_samples : int, default=5000
        Number of training pictures.

    n_test : int, default=1000
        Number of pictures in each test part.

    size : int, default=32
        Height and width of a picture, in pixels. At least 16.

    n_colours : int, default=6
        Number of colours, from 2 to 12.

    n_positions : int, default=5
        Number of columns, and of rows, from 2 to `size // 6`, so that neighbours are more than
        three pixels apart.

    jitter : float, default=0.0
        How much pictures of the same factors differ, in [0, 1]. With 0 they are the same. With 1
        the middle is shifted along x and y by up to 0.3 of the distance between positions, the
        shape is turned by up to 15 degrees and stretched by up to 10 %, all uniformly.

    unseen_pairs : float, default=0.0
        Share, in [0, 1), of the pairs of a shape and a colour that training and the test part
        `"id"` lack. Each shape and each colour stays in training, with at least one partner: a
        share too large for that is refused. Training pairs are equally likely.

    random_state : int, RandomState or None, default=None
        Seed. An int gives the same pictures at each call.

    Returns
    -------
    pictures : Bunch
        A dictionary whose entries are attributes too:

        - `data`: float32 of shape (n_samples, size * size * 3), the training pictures with values
          in [0, 1]: row after row of pixels, each with red, green and blue;
        - `factors`: int of shape (n_samples, 4), categories from 0, in the order shape, colour, x
          and y;
        - `test`: dict of Bunch with the same two entries and `n_test` rows: `"id"` is drawn as the
          training part; `"unseen"`, only if pairs are withheld, has just those pairs;
        - `image_shape`: tuple, (size, size, 3);
        - `n_categories`: tuple, (4, n_colours, n_positions, n_positions);
        - `factor_names`, `shape_names`: tuple of str, each of length 4;
        - `colours`: float of shape (n_colours, 3), red, green and blue;
        - `withheld`: bool of shape (4, n_colours), True for pairs that training lacks; only if
          there are any;
        - `DESCR`: str.

    Raises
    ------
    ValueError, TypeError
        If a parameter is out of its range.

    See Also
    --------
    make_linear_tasks : Tasks on these factors.

    Notes
    -----
    A pixel is coloured in proportion to the part of it that the shape covers, found from the
    distance of its middle to the outline. Cost and memory are `O(n_samples * size^2)`: 12 kB a
    picture of 32 x 32 pixels.

    Examples
    --------
    >>> from skatoms.datasets import make_sprites
    >>> pictures = make_sprites(20, 10, unseen_pairs=0.25, random_state=0)
    >>> pictures.data.shape, pictures.image_shape, pictures.n_categories
    ((20, 3072), (32, 32, 3), (4, 6, 5, 5))
    >>> {name: part.data.shape for name, part in pictures.test.items()}
    {'id': (10, 3072), 'unseen': (10, 3072)}
    """
    check_number("n_samples", n_samples, kind=Integral, least=1)
    check_number("n_test", n_test, kind=Integral, least=1)
    check_number("size", size, kind=Integral, least=16)
    check_number("n_colours", n_colours, kind=Integral, least=2, most=MOST_COLOURS)
    check_number("n_positions", n_positions, kind=Integral, least=2, most=size // 6)
    check_number("jitter", jitter, least=0, most=1)
    check_number("unseen_pairs", unseen_pairs, least=0, most=1)
    rng = check_random_state(random_state)
    n_categories = (len(SHAPES), n_colours, n_positions, n_positions)
    colours = np.array([colorsys.hsv_to_rgb(k / n_colours, 1, 1) for k in range(n_colours)])
    withheld = draw_withheld_pairs(rng, unseen_pairs, n_categories)

    def draw(n, allowed):
        factors = draw_with_pairs(rng, n, n_categories, allowed)
        poses = _draw_poses(rng, factors, size, n_positions, jitter)
        return Bunch(data=_render(factors, poses, size, colours), factors=factors)

    training = draw(n_samples, ~withheld)
    test = {"id": draw(n_test, ~withheld)}
    extra = {}
    if withheld.any():
        test["unseen"] = draw(n_test, withheld)
        extra["withheld"] = withheld
    return Bunch(
        **training,
        test=test,
        image_shape=(size, size, 3),
        n_categories=n_categories,
        factor_names=FACTORS,
        shape_names=tuple(SHAPES),
        colours=colours,
        **extra,
        DESCR=DESCR,
    )


# The shapes have area 1 and their middle near the origin; x is to the right, y is up. Each function
# gives the distance to the outline, negative inside; beyond a corner it may be too small.


def _square(x, y):
    return np.maximum(np.abs(x), np.abs(y)) - 0.5


def _ellipse(x, y):
    """Distance to first order, which is close near the outline."""
    long, short = np.sqrt(2 / np.pi), np.sqrt(1 / (2 * np.pi))
    radius = np.hypot(x / long, y / short)
    slope = np.hypot(x / long**2, y / short**2)
    return radius * (radius - 1) / np.maximum(slope, 1e-12)


def _triangle(x, y):
    inradius = 1 / np.sqrt(3 * np.sqrt(3))
    right = (np.sqrt(3) * np.abs(x) + y) / 2
    return np.maximum(right, -y) - inradius


def _heart(x, y):
    """A square on its corner, of side s, with half discs on its upper sides."""
    side = 1 / np.sqrt(1 + np.pi / 4)
    x, y = np.abs(x), y + side / (4 * np.sqrt(2))  # half way between the top and the lower corner
    square = (x + np.abs(y)) / np.sqrt(2) - side / 2
    middle = side / (2 * np.sqrt(2))
    disc = np.hypot(x - middle, y - middle) - side / 2
    return np.minimum(square, disc)


LONGEST = 2 / np.sqrt(3 * np.sqrt(3))  # from the middle to the outline: a corner of the triangle
SHAPES = {"square": _square, "ellipse": _ellipse, "triangle": _triangle, "heart": _heart}


class Poses(NamedTuple):
    """Where the shapes are, how they are turned and how large they are: arrays over pictures."""

    x: np.ndarray  # in pixels from the left
    y: np.ndarray  # in pixels from the top
    angles: np.ndarray  # counter-clockwise, in radians
    sides: np.ndarray  # of a square of the same area, in pixels


def _draw_poses(rng, factors, size, n_positions, jitter):
    # The same draws for each jitter, so that factors drawn later do not depend on it.
    dx, dy, turn, stretch = jitter * rng.uniform(-1, 1, size=(4, len(factors)))
    margin, distance = _spacing(size, n_positions)
    return Poses(
        x=margin + distance * (factors[:, 2] + MOST_SHIFT * dx),
        y=margin + distance * (factors[:, 3] + MOST_SHIFT * dy),
        angles=np.deg2rad(MOST_DEGREES) * turn,
        sides=SIDE * size * (1 + MOST_STRETCH * stretch),
    )


def _spacing(size, n_positions):
    """Coordinate of the first position and distance of neighbours, such that no shape is cut."""
    reach = (1 + MOST_STRETCH) * SIDE * size * LONGEST
    n_gaps = n_positions - 1
    margin = (reach + MOST_SHIFT * size / n_gaps) / (1 + 2 * MOST_SHIFT / n_gaps)
    return margin, (size - 2 * margin) / n_gaps


def _render(factors, poses, size, colours):
    """The pictures, flattened."""
    data = np.empty((len(factors), size * size, 3), dtype=np.float32)
    for start in range(0, len(factors), CHUNK):
        rows = slice(start, start + CHUNK)
        part = Poses(*(values[rows] for values in poses))
        cover = _coverage(factors[rows, 0], part, size)
        data[rows] = cover[:, :, None] * colours[factors[rows, 1], None]
    return data.reshape(len(factors), -1)


def _coverage(shapes, poses, size):
    """The part of each pixel that the shape covers, float64 of shape (n, size * size)."""
    y, x = np.indices((size, size)).reshape(2, -1) + 0.5
    dx, dy = x - poses.x[:, None], poses.y[:, None] - y
    cos, sin = np.cos(poses.angles)[:, None], np.sin(poses.angles)[:, None]
    sides = poses.sides[:, None]
    across, up = (cos * dx + sin * dy) / sides, (cos * dy - sin * dx) / sides
    distances = np.empty_like(across)
    for index, distance in enumerate(SHAPES.values()):
        mine = shapes == index
        distances[mine] = distance(across[mine], up[mine])
    return np.clip(0.5 - sides * distances, 0, 1)
