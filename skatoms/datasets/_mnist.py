"""Handwritten digits in IDX files."""

import gzip
import math
from os import PathLike

import numpy as np
from sklearn.utils import Bunch

from ._files import find_files

IMAGES = "mnist-t10k-images-idx3-ubyte.gz"
LABELS = "mnist-t10k-labels-idx1-ubyte.gz"
SOURCE = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/, where their names have no 'mnist-' in front"
)
UNSIGNED_BYTES = 8


def load_mnist_test(folder: str | PathLike) -> Bunch:
    """Read the test images of MNIST: handwritten digits, as grey levels.

    Nothing is downloaded: the two files have to be in a folder of yours.

    Parameters
    ----------
    folder : str or path
        Where ``mnist-t10k-images-idx3-ubyte.gz`` and ``mnist-t10k-labels-idx1-ubyte.gz`` are.

    Returns
    -------
    digits : Bunch
        A dictionary whose entries are attributes too:

        - `data`: float32 of shape (n_images, n_pixels), one image a row, from 0 (paper) to 1 (ink);
        - `images`: the same memory as (n_images, height, width);
        - `target`: int of shape (n_images,), the digits 0 to 9.

        The original files have 10,000 images of 28 x 28 pixels.

    Raises
    ------
    FileNotFoundError
        If the folder has not both files. The message says where they can be had.
    ValueError
        If a file is not what its name says.

    References
    ----------
    LeCun, Bottou, Bengio and Haffner, "Gradient-based learning applied to document recognition",
    Proceedings of the IEEE 86, 1998.

    Examples
    --------
    >>> from skatoms.datasets import load_mnist_test
    >>> digits = load_mnist_test("folder/of/mnist")  # doctest: +SKIP
    >>> digits.data.shape  # doctest: +SKIP
    (10000, 784)
    """
    images_path, labels_path = find_files(folder, (IMAGES, LABELS), SOURCE)
    pixels, labels = _read_idx(images_path, 3), _read_idx(labels_path, 1)
    if len(pixels) != len(labels):
        raise ValueError(f"{IMAGES} has {len(pixels)} images, but {LABELS} has {len(labels)}.")
    images = pixels.astype(np.float32) / 255
    return Bunch(
        data=images.reshape(len(images), -1),
        images=images,
        target=labels.astype(int),
    )


def _read_idx(path, n_dimensions):
    """The array of bytes in a compressed IDX file.

    Two zeros, the type of the values, the number of dimensions, the length of each as a big-endian
    32-bit integer; then the values.
    """
    with gzip.open(path) as file:
        content = file.read()
    n_head = 4 + 4 * n_dimensions
    if len(content) < n_head or content[:4] != bytes([0, 0, UNSIGNED_BYTES, n_dimensions]):
        raise ValueError(
            f"{path.name} is not an IDX file of bytes with {n_dimensions} dimension(s): it starts "
            f"with {content[:4]!r}. Get it anew from {SOURCE}."
        )
    shape = tuple(np.frombuffer(content, ">u4", n_dimensions, offset=4).tolist())
    n_values = len(content) - n_head
    if n_values != math.prod(shape):
        raise ValueError(
            f"{path.name} has {n_values} values, but announces {shape}: it is damaged. Get it anew "
            f"from {SOURCE}."
        )
    return np.frombuffer(content, np.uint8, offset=n_head).reshape(shape)
