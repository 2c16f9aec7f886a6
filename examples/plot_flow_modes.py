"""
Modes of a flow
===============

Pictures of a flow in a channel: a mean shear and two rows of vortices that travel at different
speeds, one of which dies out. All lie on top of each other, and there is noise. Dynamic modes take
them apart by the way in which they move, and say how that is.
"""

# %%
# The data
# --------
#
# 150 pictures of 16 x 32 pixels, with noise as strong as half of the signal's deviation.

import numpy as np
from matplotlib import pyplot as plt
from sklearn.decomposition import PCA

from skatoms import KoopmanBasisDynamics
from skatoms.datasets import make_flow
from skatoms.inspection import ModesDisplay, SpectrumDisplay

flow = make_flow(shape=(16, 32), noise=0.5, random_state=0)
figure, panels = plt.subplots(2, 3, figsize=(9, 3.6), layout="constrained")
for column, k in zip(panels.T, (0, 40, 120), strict=True):
    for axes, pictures in zip(column, (flow.data, flow.clean), strict=True):
        picture = pictures[k].reshape(flow.image_shape)
        axes.imshow(picture, cmap="RdBu_r", vmin=-3, vmax=3)
        axes.set(xticks=[], yticks=[])
    column[0].set_title(f"time {flow.times[k]:.0f}")
panels[0, 0].set_ylabel("seen")
panels[1, 0].set_ylabel("without noise")

# %%
# Modes
# -----
#
# Five exponentials are fitted to all pictures: a constant one, and two pairs. Nothing is taken off
# the pictures before, so that the mean flow is a mode as well.

model = KoopmanBasisDynamics(
    rank=5, operator="varpro", center=None, fit_intercept=False, dt=flow.dt
).fit(flow.data)
print("true frequencies ", np.sort(abs(flow.exponents.imag / (2 * np.pi))).round(4))
print("found frequencies", np.sort(abs(model.frequencies_)).round(4))
print("true growth rates ", np.sort(flow.exponents.real).round(4))
print("found growth rates", np.sort(model.growth_rates_).round(4))
ModesDisplay.from_estimator(model, feature_shape=flow.image_shape)

# %%
# Eigenvalues of what stays are on the unit circle, those of what dies out are inside. The area of a
# dot is the amplitude. Plain least squares, on the right, take noise for damping and pull what is
# weak further inwards.

naive = KoopmanBasisDynamics(rank=5, center=None, fit_intercept=False, dt=flow.dt).fit(flow.data)
figure, panels = plt.subplots(1, 2, figsize=(8, 4.4), layout="constrained")
true = np.exp(flow.exponents * flow.dt)
for axes, some, name in zip(panels, (model, naive), ("varpro", "ls"), strict=True):
    SpectrumDisplay.from_estimator(some, ax=axes)
    axes.plot(true.real, true.imag, "k+", markersize=14, zorder=4)
    axes.set(title=f'operator="{name}", crosses are true', xlim=(0.85, 1.03), ylim=(0.05, 0.36))
print("growth rates by least squares", np.sort(naive.growth_rates_).round(4))

# %%
# Principal components
# --------------------
#
# These two waves are orthogonal, so that components tell them apart as well. But they need two
# stills for each, lose the mean flow, which is taken off before, and do not say how fast anything
# moves, or whether it dies out.

components = PCA(4, random_state=0).fit(flow.data).components_
figure, panels = plt.subplots(1, 4, figsize=(10, 1.7), layout="constrained")
for k, (axes, component) in enumerate(zip(panels, components, strict=True)):
    axes.imshow(component.reshape(flow.image_shape), cmap="RdBu_r")
    axes.set(xticks=[], yticks=[], title=f"component {k}")

# %%
# A forecast
# ----------
#
# Fifty more pictures are foreseen from the fitted state. The error is that of the picture without
# noise.

longer = make_flow(200, (16, 32), noise=0.5, random_state=0)
truth = longer.clean[150:]
for name, some in (("varpro", model), ("ls", naive)):
    error = np.sqrt(((some.forecast(50) - truth) ** 2).mean(axis=1)) / truth.std()
    print(f"{name:6} error after 1, 10, 50 pictures:", error[[0, 9, 49]].round(3))
plt.show()
