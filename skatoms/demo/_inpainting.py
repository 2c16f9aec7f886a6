"""Image inpainting: atoms learned from patches with gaps fill the gaps in."""

import time
import warnings

import numpy as np
from matplotlib.figure import Figure
from rich.table import Table
from scipy.interpolate import griddata
from sklearn.datasets import load_sample_image
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.image import reconstruct_from_patches_2d

from .. import VariationalBasisLearner
from ._denoising import psnr

PATCH = (8, 8)
N_ATOMS = 100
SEEN = 0.5  # part of the pixels that are known
ALPHA = 0.05
SMOOTHNESS = 1e-4


def inpainting(console, folder):
    """Fill in half of the pixels of scikit-learn's china.jpg, beside interpolation."""
    picture = load_sample_image("china.jpg").mean(axis=2)[100:260, 180:340] / 255
    seen = np.random.default_rng(0).random(picture.shape) < SEEN
    gaps = np.where(seen, picture, np.nan)
    size = f"{PATCH[0]}x{PATCH[1]}"
    console.print(f"{SEEN:.0%} of {picture.size:,} pixels known, {N_ATOMS} atoms of {size} pixels")
    with console.status("Warming up: kernels are compiled at the very first time"):
        _by_atoms(gaps[:24, :24])
    methods = {
        "skatoms": _by_atoms,
        "linear interpolation": lambda gaps: _by_interpolation(gaps, "linear"),
        "cubic interpolation": lambda gaps: _by_interpolation(gaps, "cubic"),
    }
    table = Table("", "PSNR of the missing pixels, dB", "time, s")
    filled = {}
    for name, method in methods.items():
        with console.status(f"{name} at work"):
            start = time.perf_counter()
            filled[name] = np.where(seen, picture, method(gaps))
        quality = psnr(filled[name][~seen], picture[~seen])
        table.add_row(name, f"{quality:.2f}", f"{time.perf_counter() - start:.2f}")
    console.print(table)
    path = folder / "skatoms-inpainting.png"
    _draw(np.where(seen, picture, 0), filled).savefig(path, dpi=120)
    console.print(f"Picture: {path}")


def _by_atoms(gaps):
    windows = np.lib.stride_tricks.sliding_window_view(gaps, PATCH)
    patches = windows.reshape(-1, PATCH[0] * PATCH[1])
    means = np.nanmean(patches, axis=1, keepdims=True)
    learner = VariationalBasisLearner(
        N_ATOMS,
        ALPHA,
        regularizer="smooth",
        regularizer_weight=SMOOTHNESS,
        feature_shape=PATCH,
        max_iter=3,
        n_jobs=-1,
        random_state=0,
    )
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        learner.fit((patches - means)[::4])
    better = (learner.reconstruct(patches - means) + means).reshape(-1, *PATCH)
    return reconstruct_from_patches_2d(better, gaps.shape)


def _by_interpolation(gaps, method):
    seen = ~np.isnan(gaps)
    grid = tuple(np.indices(gaps.shape))
    between = griddata(np.argwhere(seen), gaps[seen], grid, method=method)
    nearest = griddata(np.argwhere(seen), gaps[seen], grid, method="nearest")
    return np.where(np.isnan(between), nearest, between)


def _draw(gaps, filled):
    figure = Figure(figsize=(13, 3.8), layout="constrained")
    pictures = {"half of the pixels": gaps} | filled
    for axes, (name, picture) in zip(figure.subplots(1, 4), pictures.items(), strict=True):
        axes.imshow(picture, cmap="gray", vmin=0, vmax=1)
        axes.set_title(name)
        axes.set_axis_off()
    return figure
