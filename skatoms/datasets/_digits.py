"""Digits that are shifted, turned or scaled, and what is composed of them."""

from numbers import Integral
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.ndimage import affine_transform
from sklearn.datasets import load_digits
from sklearn.utils import Bunch, check_array, check_random_state

from .._validation import check_number

TRANSFORMATIONS = ("identity", "shift", "rotation", "scale")
DIRECTIONS = tuple((row, column) for row in (-1, 0, 1) for column in (-1, 0, 1) if row or column)
MOST_DEGREES = 15.0
SCALES = (0.85, 1.15)
GREY_LEVELS = 16  # of the digits in scikit-learn

DESCR = """\
Pictures of handwritten digits, each under one transformation: none, a shift by one pixel in one of
eight directions, a rotation by up to 15 degrees, or a scale of 0.85 to 1.15.
The test parts are digits of that kind ("id"), pixel sums of two of them ("sums"), pixel maxima of
two of them ("max") and digits that are shifted, rotated and scaled at once ("combined").
Training and tests use different halves of the source images. A sum is additive, a maximum is
not."""


def make_digit_compositions(
    n_samples: int = 4000,
    n_test: int = 1000,
    images: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Draw transformed digits, with their sums, maxima and combined transformations to test on.

    A training row is one digit under one of four transformations, equally likely: identity; shift
    by one pixel in one of eight directions; rotation by an angle uniform in [-15, 15] degrees;
    scale by a factor uniform in [0.85, 1.15]. Rotation and scale are about the middle of the image,
    interpolated linearly between pixels, with 0 outside. Source images are drawn with replacement,
    for training from a random half of them, for the tests from the other half.

    Parameters
    ----------
    n_samples : int, default=4000
        Number of training rows.

    n_test : int, default=1000
        Number of rows in each of the four test parts.

    images : array-like of shape (n_images, height, width), default=None
        Source images with values in [0, 1], such as those of :func:`load_mnist_test`. At least 4.
        None takes the 1797 digits of 8 x 8 pixels of :func:`sklearn.datasets.load_digits`.

    random_state : int, RandomState or None, default=None
        Seed. An int gives the same rows at each call.

    Returns
    -------
    digits : Bunch
        A dictionary whose entries are attributes too:

        - `data`: float64 of shape (n_samples, height * width), the training rows;
        - `source`: int of shape (n_samples,), the index of the source image;
        - `transformation`: str of shape (n_samples,), one of `"identity"`, `"shift"`, `"rotation"`
          and `"scale"`;
        - `target`: int of shape (n_samples,), the digits 0 to 9. Only if `images` is None: else the
          labels of your images are `labels[digits.source]`;
        - `test`: dict of Bunch with `n_test` rows. `"id"` has the same entries, and so has
          `"combined"`, whose `transformation` is `"shift + rotation + scale"`. `"sums"` and `"max"`
          have `data`, and for their two digits, of different source images, `parts` of shape
          (n_test, 2, height * width), `source` and `transformation` of shape (n_test, 2).
          `data` is the sum, up to 2, or the maximum of `parts` over axis 1;
        - `image_shape`: tuple, (height, width);
        - `DESCR`: str.

    Raises
    ------
    ValueError, TypeError
        If a parameter is out of its range.

    Examples
    --------
    >>> from skatoms.datasets import make_digit_compositions
    >>> digits = make_digit_compositions(50, 20, random_state=0)
    >>> digits.data.shape, digits.test["sums"].data.shape
    ((50, 64), (20, 64))
    """
    check_number("n_samples", n_samples, kind=Integral, least=1)
    check_number("n_test", n_test, kind=Integral, least=1)
    images, labels = _source_images(images)
    rng = check_random_state(random_state)
    for_training, for_tests = np.array_split(rng.permutation(len(images)), 2)

    def draw(n, sources, transform=_draw_one):
        source = rng.choice(sources, size=n)
        part = _transformed(images[source], [transform(rng) for _ in range(n)])
        part.source = source
        if labels is not None:
            part.target = labels[source]
        return part

    training = draw(n_samples, for_training)
    test = {
        "id": draw(n_test, for_tests),
        "sums": _compose(rng, n_test, images, for_tests, np.sum),
        "max": _compose(rng, n_test, images, for_tests, np.max),
        "combined": draw(n_test, for_tests, _draw_all),
    }
    return Bunch(**training, test=test, image_shape=images.shape[1:], DESCR=DESCR)


class Transformation(NamedTuple):
    """A scale, then a rotation, then a shift."""

    name: str
    shift: tuple[int, int] = (0, 0)  # rows down, columns right
    degrees: float = 0.0  # counter-clockwise as seen
    scale: float = 1.0  # above 1 makes it larger

    def apply(self, image):
        """The transformed image, of the same shape. Cost: one pass."""
        cos, sin = np.cos(np.deg2rad(self.degrees)), np.sin(np.deg2rad(self.degrees))
        backward = np.array([[cos, sin], [-sin, cos]]) / self.scale
        middle = (np.array(image.shape) - 1) / 2
        offset = middle - backward @ (middle + self.shift)
        return affine_transform(image, backward, offset, order=1, mode="grid-constant")


def _source_images(images):
    """The images as float64 and their labels, None if they are not known."""
    if images is None:
        digits = load_digits()
        return digits.images / GREY_LEVELS, digits.target
    images = check_array(
        images, dtype=np.float64, allow_nd=True, ensure_2d=False, input_name="images"
    )
    if images.ndim != 3 or len(images) < 4 or 0 in images.shape:
        raise ValueError(
            f"images must be of shape (n_images, height, width), at least 4, got {images.shape}."
        )
    if images.min() < 0 or images.max() > 1:
        raise ValueError(
            f"images must be in [0, 1], got values from {images.min():g} to {images.max():g}: "
            "divide them by the largest possible value."
        )
    return images, None


def _draw_one(rng):
    """One of the four transformations."""
    name = TRANSFORMATIONS[rng.randint(len(TRANSFORMATIONS))]
    if name == "shift":
        return Transformation(name, shift=_draw_direction(rng))
    if name == "rotation":
        return Transformation(name, degrees=_draw_degrees(rng))
    if name == "scale":
        return Transformation(name, scale=_draw_scale(rng))
    return Transformation(name)


def _draw_all(rng):
    """Shift, rotation and scale at once."""
    return Transformation(
        " + ".join(TRANSFORMATIONS[1:]), _draw_direction(rng), _draw_degrees(rng), _draw_scale(rng)
    )


def _draw_direction(rng):
    return DIRECTIONS[rng.randint(len(DIRECTIONS))]


def _draw_degrees(rng):
    return rng.uniform(-MOST_DEGREES, MOST_DEGREES)


def _draw_scale(rng):
    return rng.uniform(*SCALES)


def _transformed(images, transformations):
    """Each image under its transformation, flattened."""
    pairs = zip(images, transformations, strict=True)
    return Bunch(
        data=np.stack([transformation.apply(image).ravel() for image, transformation in pairs]),
        transformation=np.array([transformation.name for transformation in transformations]),
    )


def _compose(rng, n, images, sources, combine):
    """Two transformed digits of different source images in one picture."""
    first = rng.randint(len(sources), size=n)
    second = (first + rng.randint(1, len(sources), size=n)) % len(sources)
    source = sources[np.column_stack([first, second])]
    single = _transformed(images[source.ravel()], [_draw_one(rng) for _ in range(2 * n)])
    parts = single.data.reshape(n, 2, -1)
    return Bunch(
        data=combine(parts, axis=1),
        parts=parts,
        source=source,
        transformation=single.transformation.reshape(n, 2),
    )
