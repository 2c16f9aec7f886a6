"""
Inpainting: half of the pixels are missing
==========================================

:class:`~skatoms.VariationalBasisLearner` takes NaN as a missing value: atoms and codes explain the
pixels that there are, and ``reconstruct`` fills in the others. No complete patch is ever seen.
"""

# %%
# A picture with gaps
# -------------------
import time

import matplotlib.pyplot as plt
import numpy as np
from scipy.interpolate import griddata
from sklearn.datasets import load_sample_image
from sklearn.feature_extraction.image import reconstruct_from_patches_2d

from skatoms import VariationalBasisLearner

SIZE = (8, 8)
rng = np.random.default_rng(0)
picture = load_sample_image("china.jpg").mean(axis=2)[100:228, 200:328] / 255
seen = rng.random(picture.shape) < 0.5
gaps = np.where(seen, picture, np.nan)


def psnr(filled):
    """Peak signal-to-noise ratio on the missing pixels, in dB."""
    return -10 * np.log10(np.mean((np.clip(filled, 0, 1) - picture)[~seen] ** 2))


# %%
# Atoms from patches with gaps
# ----------------------------
# Each patch loses the mean of the pixels that it has. Patches overlap, so each missing pixel is
# filled in by up to 64 of them, and the results are averaged.
start = time.perf_counter()
patches = np.lib.stride_tricks.sliding_window_view(gaps, SIZE).reshape(-1, 64)
means = np.nanmean(patches, axis=1, keepdims=True)
learner = VariationalBasisLearner(
    100,
    alpha=0.05,
    regularizer="smooth",
    regularizer_weight=1e-4,
    feature_shape=SIZE,
    max_iter=3,
    tol=1e-2,
    n_jobs=2,
    random_state=0,
)
learner.fit((patches - means)[::4])
filled = (learner.reconstruct(patches - means) + means).reshape(-1, *SIZE)
ours = np.where(seen, picture, reconstruct_from_patches_2d(filled, picture.shape))
seconds = time.perf_counter() - start

# %%
# The natural alternative interpolates between the pixels nearby.
places = np.argwhere(seen)
grid = tuple(np.indices(picture.shape))
results = {"atoms": ours}
for method in ("linear", "cubic"):
    between = griddata(places, picture[seen], grid, method=method)
    nearest = griddata(places, picture[seen], grid, method="nearest")
    results[f"{method} interpolation"] = np.where(np.isnan(between), nearest, between)
print(f"learning and filling in: {seconds:.1f} s")
for name, result in results.items():
    print(f"{name:22} {psnr(result):.2f} dB on the missing pixels")

# %%
figure, axes = plt.subplots(1, 4, figsize=(12, 3.4), layout="constrained")
axes[0].imshow(np.where(seen, picture, 0), cmap="gray", vmin=0, vmax=1)
axes[0].set_title("half of the pixels")
for ax, (name, result) in zip(axes[1:], results.items(), strict=True):
    ax.imshow(result, cmap="gray", vmin=0, vmax=1)
    ax.set_title(f"{name}: {psnr(result):.2f} dB")
for ax in axes:
    ax.set_axis_off()
plt.show()
