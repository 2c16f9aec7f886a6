"""
Denoising a photograph: how large should alpha be?
==================================================

Most atoms learned from the patches of a noisy photograph follow its edges, which many patches
share, and not its noise, which none do. Explaining each patch by few atoms and averaging the
explanations removes most of the noise. The one parameter that decides is ``alpha``.
"""

# %%
# A noisy photograph in pieces
# ----------------------------
#
# Every 8 x 8 patch is a sample. Its mean is taken off: brightness is not what atoms are for.

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_sample_image
from sklearn.feature_extraction.image import extract_patches_2d, reconstruct_from_patches_2d

from skatoms import VariationalBasisLearner
from skatoms.inspection import AtomsDisplay

SIZE = (8, 8)
clean = load_sample_image("flower.jpg").mean(axis=2)[::2, 60:540:2] / 255
noise = np.random.default_rng(0).standard_normal(clean.shape)


def patches_of(picture):
    """Patches without their means, and these."""
    patches = extract_patches_2d(picture, SIZE).reshape(-1, SIZE[0] * SIZE[1])
    means = patches.mean(axis=1, keepdims=True)
    return patches - means, means


def psnr(picture):
    """Peak signal-to-noise ratio in dB."""
    return -10 * np.log10(np.mean((np.clip(picture, 0, 1) - clean) ** 2))


# %%
# Learn, explain, average
# -----------------------
#
# A pixel is in up to 64 patches, and gets the mean of what these say.


def denoise(noisy, alpha):
    """A picture, the atoms from the most to the least used, and how many a patch needs."""
    patches, means = patches_of(noisy)
    learner = VariationalBasisLearner(100, alpha, tol=3e-3, n_jobs=-1, random_state=0)
    codes = learner.fit_transform(patches)
    better = (learner.inverse_transform(codes) + means).reshape(-1, *SIZE)
    picture = reconstruct_from_patches_2d(better, clean.shape)
    by_use = np.argsort(-np.abs(codes).sum(axis=0))
    return picture, learner.components_[by_use], np.count_nonzero(codes) / len(codes)


# %%
# Alpha follows the noise
# -----------------------
#
# The correlation of pure noise with an atom of unit norm has the standard deviation of the noise,
# sigma. So ``alpha`` is best thought of in units of sigma: at 1 atoms still follow the noise, at 3
# hardly, but faint textures are gone as well. With one amount of noise and with twice as much, the
# best ratio is about the same, between 1.5 and 2.

ratios = np.array([1, 1.5, 2, 2.5, 3])
sigmas = (0.05, 0.1)
results = {
    (sigma, ratio): denoise(clean + sigma * noise, ratio * sigma)
    for sigma in sigmas
    for ratio in ratios
}
best = {}
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
for sigma in sigmas:
    quality = [psnr(results[sigma, ratio][0]) for ratio in ratios]
    n_used = [results[sigma, ratio][2] for ratio in ratios]
    left.plot(ratios, quality, "o-", label=f"sigma = {sigma}")
    right.plot(ratios, n_used, "o-", label=f"sigma = {sigma}")
    top = np.argmax(quality)
    best[sigma] = ratios[top]
    print(
        f"sigma {sigma}: noisy {psnr(clean + sigma * noise):.2f} dB, "
        f"denoised {quality[top]:.2f} dB with alpha = {ratios[top]} sigma, "
        f"{n_used[top]:.1f} atoms a patch"
    )
left.set(xlabel="alpha / sigma", ylabel="PSNR, dB")
right.set(xlabel="alpha / sigma", ylabel="atoms a patch", ylim=(0, None))
left.legend()

# %%
# The picture and its atoms
# -------------------------
#
# What was taken away should look like noise: structure in it is texture lost to the penalty.

sigma = 0.1
picture, atoms, _ = results[sigma, best[sigma]]
noisy = clean + sigma * noise
views = {
    f"noisy, {psnr(noisy):.1f} dB": noisy,
    f"denoised, {psnr(picture):.1f} dB": picture,
    "taken away": noisy - picture + 0.5,
}
figure, grid = plt.subplots(1, 3, figsize=(10, 3.3), layout="constrained")
for axes, (title, view) in zip(grid, views.items(), strict=True):
    axes.imshow(view, cmap="gray", vmin=0, vmax=1)
    axes.set_title(title)
    axes.set_axis_off()

# %%
# The atoms, the most used first: edges in all directions. The least used ones still look like the
# noisy patches that they started from.

AtomsDisplay(atoms, feature_shape=SIZE).plot()
plt.show()
