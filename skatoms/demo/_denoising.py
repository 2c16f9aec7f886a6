"""Image denoising: atoms learned from the noisy image itself."""

import time
import warnings
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from rich.table import Table
from sklearn.datasets import load_sample_image
from sklearn.decomposition import MiniBatchDictionaryLearning
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.image import extract_patches_2d, reconstruct_from_patches_2d

from .. import VariationalBasisLearner
from ..inspection import AtomsDisplay

PATCH = (7, 7)
N_ATOMS = 256
NOISE = 0.1  # standard deviation; grey levels go from 0 to 1
ALPHA = 1.8 * NOISE  # weight of the l1 penalty, for learning and for denoising


@dataclass(frozen=True)
class Result:
    """What a learner has made of the noisy half."""

    picture: np.ndarray
    atoms: np.ndarray
    seconds_learning: float
    seconds_denoising: float


def denoising(console, folder):
    """Denoise half of scikit-learn's china.jpg with atoms learned from it, beside scikit-learn."""
    image = load_sample_image("china.jpg").mean(axis=2)[::2, ::2] / 255
    half = image.shape[1] // 2
    clean = image[:, half:]
    noisy = clean + NOISE * np.random.default_rng(0).standard_normal(clean.shape)
    patches = extract_patches_2d(noisy, PATCH).reshape(-1, PATCH[0] * PATCH[1])
    size = f"{PATCH[0]}x{PATCH[1]}"
    console.print(f"{len(patches):,} patches of {size} pixels, {N_ATOMS} atoms, alpha={ALPHA:.2f}")
    ours = VariationalBasisLearner(N_ATOMS, ALPHA, max_iter=5, n_jobs=-1, random_state=0)
    # The fastest of scikit-learn's settings here that are as good: coordinate descent instead of
    # LARS, larger batches than its default.
    peer = MiniBatchDictionaryLearning(
        N_ATOMS,
        alpha=ALPHA,
        batch_size=1024,
        max_iter=1,
        fit_algorithm="cd",
        transform_algorithm="lasso_cd",
        transform_alpha=ALPHA,
        n_jobs=-1,
        random_state=0,
    )
    few = (3 * PATCH[0], noisy.shape[1])
    n_few = (few[0] - PATCH[0] + 1) * (few[1] - PATCH[1] + 1)
    learners = {"skatoms": ours, "scikit-learn": peer}
    with console.status("Warming up: kernels are compiled at the very first time, workers start"):
        for learner in learners.values():
            _denoise(learner, patches[:n_few], few)
    results = {}
    for name, learner in learners.items():
        with console.status(f"{name} learns and denoises"):
            results[name] = _denoise(learner, patches, noisy.shape)

    table = Table("", "PSNR, dB", "learning, s", "denoising, s")
    table.add_row("noisy", f"{psnr(noisy, clean):.2f}", "", "")
    for name, result in results.items():
        table.add_row(
            name,
            f"{psnr(result.picture, clean):.2f}",
            f"{result.seconds_learning:.2f}",
            f"{result.seconds_denoising:.2f}",
        )
    console.print(table)
    path = folder / "skatoms-denoising.png"
    _draw(image, noisy, clean, results).savefig(path, dpi=120)
    console.print(f"Picture: {path}")


def _denoise(learner, patches, shape):
    means = patches.mean(axis=1, keepdims=True)
    start = time.perf_counter()
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        learner.fit(patches - means)
        learned = time.perf_counter()
        codes = learner.transform(patches - means)
    better = (codes @ learner.components_ + means).reshape(-1, *PATCH)
    seconds = time.perf_counter() - learned
    by_use = np.argsort(-np.abs(codes).sum(axis=0))
    picture = reconstruct_from_patches_2d(better, shape)
    return Result(picture, learner.components_[by_use], learned - start, seconds)


def psnr(picture, clean):
    """Peak signal-to-noise ratio in dB of grey levels from 0 to 1."""
    return -10 * np.log10(np.mean((np.clip(picture, 0, 1) - clean) ** 2))


def _draw(image, noisy, clean, results):
    figure = Figure(figsize=(13, 6.8), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=(1.1, 1))
    halves = {"noisy": noisy} | {name: result.picture for name, result in results.items()}
    for axes, (name, half) in zip(above.subplots(1, 3), halves.items(), strict=True):
        whole = np.hstack([image[:, : -clean.shape[1]], half])
        axes.imshow(whole, cmap="gray", vmin=0, vmax=1)
        axes.set_title(f"left half clean, right half {name}: {psnr(half, clean):.2f} dB")
        axes.set_axis_off()
    for part, (name, result) in zip(below.subfigures(1, 2), results.items(), strict=True):
        AtomsDisplay(result.atoms[:96], feature_shape=PATCH).plot(figure=part)
        part.suptitle(f"the 96 most used atoms of {name}", fontsize="medium")
    return figure
