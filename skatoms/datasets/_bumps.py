"""Pictures of one bump each, with a square where training has none."""

from collections.abc import Sequence
from numbers import Integral, Real

import numpy as np
from sklearn.utils import Bunch, check_random_state

from .._validation import check_number
from ._functions import draw_mask

DESCR = """\
Square pictures of one Gaussian bump of height 1 each, at a place between the pixels.
In training and in the test part "id" the centres are uniform in the picture without a square; in
the test part "ood" they are uniform in that square. In each row some pixels, drawn at random, are
marked as hidden. A bump is the product of a profile over rows and one over columns: training has
each profile, but not each pair of them."""


def make_spatial_bumps(
    n_samples: int = 4000,
    n_test: int = 1000,
    size: int = 28,
    sigma: float = 1.0,
    withheld: Sequence[float] = (6, 22),
    hidden: float = 1 / 3,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Draw pictures of Gaussian bumps, with centres in a withheld square to test on.

    The picture is [0, size] x [0, size], the middle of pixel (i, j) is at (i + 0.5, j + 0.5), and
    the pixel is `exp(-d^2 / (2 sigma^2))` at distance d from the centre of the bump.

    Parameters
    ----------
    n_samples : int, default=4000
        Number of training pictures.

    n_test : int, default=1000
        Number of pictures in each of the two test parts.

    size : int, default=28
        Height and width of a picture, in pixels. At least 2.

    sigma : float, default=1.0
        Width of a bump, in pixels. At least 0.1, below which bumps fall between the pixels.

    withheld : (low, high), default=(6, 22)
        The square [low, high] x [low, high] has no centres in training. In pixels, with
        0 < low < high < size, so that training has centres on all sides.

    hidden : float, default=1/3
        Probability that a pixel is hidden, in [0, 1]. The pictures do not depend on it.

    random_state : int, RandomState or None, default=None
        Seed. An int gives the same pictures at each call.

    Returns
    -------
    pictures : Bunch
        A dictionary whose entries are attributes too:

        - `data`: float64 of shape (n_samples, size * size), the complete training pictures, row
          after row of pixels;
        - `mask`: bool of the same shape, True where a pixel is hidden. At least one pixel a picture
          is seen;
        - `centres`: float64 of shape (n_samples, 2), the (row, column) of the bumps;
        - `test`: dict of Bunch with the same entries and `n_test` rows: `"id"` is drawn as the
          training part, `"ood"` has its centres in the square;
        - `image_shape`: tuple, (size, size);
        - `DESCR`: str.

    Raises
    ------
    ValueError, TypeError
        If a parameter is out of its range.

    Examples
    --------
    >>> from skatoms.datasets import make_spatial_bumps
    >>> pictures = make_spatial_bumps(50, 20, random_state=0)
    >>> pictures.data.shape, pictures.test["ood"].data.shape
    ((50, 784), (20, 784))
    """
    check_number("n_samples", n_samples, kind=Integral, least=1)
    check_number("n_test", n_test, kind=Integral, least=1)
    check_number("size", size, kind=Integral, least=2)
    check_number("sigma", sigma, least=0.1, most=size)
    check_number("hidden", hidden, least=0, most=1)
    low, high = _check_square(withheld, size)
    rng = check_random_state(random_state)

    def draw(n, rectangles):
        centres = _draw_centres(rng, n, np.array(rectangles, dtype=float))
        data = _render(centres, size, sigma)
        return Bunch(data=data, mask=draw_mask(rng, data.shape, hidden), centres=centres)

    square = [(low, low, high, high)]
    around = [  # above, below, left, right
        (0, 0, low, size),
        (high, 0, size, size),
        (low, 0, high, low),
        (low, high, high, size),
    ]
    training = draw(n_samples, around)
    test = {"id": draw(n_test, around), "ood": draw(n_test, square)}
    return Bunch(**training, test=test, image_shape=(size, size), DESCR=DESCR)


def _check_square(withheld, size):
    allowed = f"two numbers with 0 < low < high < size={size}"
    try:
        low, high = withheld
    except (TypeError, ValueError):
        raise ValueError(f"withheld must be {allowed}, got {withheld!r}.") from None
    if not (isinstance(low, Real) and isinstance(high, Real) and 0 < low < high < size):
        raise ValueError(f"withheld must be {allowed}, got {withheld!r}.")
    return low, high


def _draw_centres(rng, n, rectangles):
    """Points uniform in rectangles (top, left, bottom, right) that do not overlap.

    A rectangle does not have its bottom and right edge.
    """
    starts, lengths = rectangles[:, :2], rectangles[:, 2:] - rectangles[:, :2]
    areas = lengths.prod(axis=1)
    chosen = rng.choice(len(areas), size=n, p=areas / areas.sum())
    return starts[chosen] + rng.uniform(size=(n, 2)) * lengths[chosen]


def _render(centres, size, sigma):
    """One picture a centre, flattened: the outer product of its two profiles."""
    middles = np.arange(size) + 0.5
    profiles = np.exp(-(((middles - centres[:, :, None]) / sigma) ** 2) / 2)
    return np.einsum("ni,nj->nij", profiles[:, 0], profiles[:, 1]).reshape(len(centres), -1)
