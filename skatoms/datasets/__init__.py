"""Readers of public data sets that are files in a folder of yours."""

from ._ecg import load_ecg_beats
from ._mnist import load_mnist_test

__all__ = ["load_ecg_beats", "load_mnist_test"]
