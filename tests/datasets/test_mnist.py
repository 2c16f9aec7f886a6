"""Digits in IDX files."""

import gzip
import os
import struct
from pathlib import Path

import numpy as np
import pytest

from skatoms.datasets import load_mnist_test

IMAGES, LABELS = "mnist-t10k-images-idx3-ubyte.gz", "mnist-t10k-labels-idx1-ubyte.gz"


def write(folder, pixels, labels):
    n, height, width = np.shape(pixels)
    images = struct.pack(">4B3I", 0, 0, 8, 3, n, height, width) + bytes(np.ravel(pixels).tolist())
    (folder / IMAGES).write_bytes(gzip.compress(images))
    content = struct.pack(">4BI", 0, 0, 8, 1, len(labels)) + bytes(labels)
    (folder / LABELS).write_bytes(gzip.compress(content))


def test_images_are_grey_levels_with_their_digits(tmp_path):
    pixels = [[[0, 51, 255], [1, 2, 3]], [[255, 255, 0], [0, 0, 102]]]
    write(tmp_path, pixels, [7, 0])
    digits = load_mnist_test(tmp_path)
    assert digits.data.dtype == np.float32
    np.testing.assert_allclose(digits.images, np.array(pixels) / 255, rtol=1e-6)
    np.testing.assert_array_equal(digits.data, digits.images.reshape(2, 6))
    np.testing.assert_array_equal(digits.target, [7, 0])


def test_a_folder_may_be_text(tmp_path):
    write(tmp_path, np.zeros((1, 2, 2), int), [3])
    assert load_mnist_test(str(tmp_path)).target == [3]


def test_missing_files_are_named_with_where_to_get_them(tmp_path):
    with pytest.raises(FileNotFoundError, match=f"{IMAGES} and {LABELS} can not .* https://"):
        load_mnist_test(tmp_path)
    write(tmp_path, np.zeros((1, 2, 2), int), [3])
    (tmp_path / LABELS).unlink()
    with pytest.raises(FileNotFoundError, match=f"but {LABELS} can not be found"):
        load_mnist_test(tmp_path)


def test_files_that_are_something_else_are_refused(tmp_path):
    write(tmp_path, np.zeros((1, 2, 2), int), [3])
    (tmp_path / IMAGES).write_bytes((tmp_path / LABELS).read_bytes())
    with pytest.raises(ValueError, match=f"{IMAGES} is not an IDX file of bytes with 3 dimension"):
        load_mnist_test(tmp_path)


def test_files_that_are_cut_off_are_refused(tmp_path):
    write(tmp_path, np.zeros((1, 2, 2), int), [3])
    content = gzip.decompress((tmp_path / IMAGES).read_bytes())
    (tmp_path / IMAGES).write_bytes(gzip.compress(content[:-1]))
    with pytest.raises(ValueError, match=r"has 3 values, but announces \(1, 2, 2\)"):
        load_mnist_test(tmp_path)


def test_files_that_do_not_belong_together_are_refused(tmp_path):
    write(tmp_path, np.zeros((1, 2, 2), int), [3, 4])
    with pytest.raises(ValueError, match=f"has 1 images, but {LABELS} has 2"):
        load_mnist_test(tmp_path)


@pytest.mark.skipif("SKATOMS_DATA" not in os.environ, reason="SKATOMS_DATA names no folder of data")
def test_the_original_has_its_known_counts_of_digits():
    digits = load_mnist_test(Path(os.environ["SKATOMS_DATA"]))
    assert digits.data.shape == (10000, 784)
    counts = [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    np.testing.assert_array_equal(np.bincount(digits.target), counts)
    assert digits.data.min() == 0
    assert digits.data.max() == 1
