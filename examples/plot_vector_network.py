"""
Parts learned apart, found together
===================================

Signals of four families: sines, cosines, cubic polynomials and bumps.
:class:`~skatoms.VectorNetwork` sees each family by itself and two of the six pairs. New signals are
sums of all four, and half of their points are hidden.
"""

# %%
# The signals
# -----------
import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

from skatoms import VectorNetwork
from skatoms.datasets import make_function_compositions

signals = make_function_compositions(n_samples=4000, n_test=500, random_state=0)
print(signals.data.shape, list(signals.test))


def error(filled, part):
    """Mean squared error of the hidden points, over their variance."""
    return ((filled - part.data)[part.mask] ** 2).mean() / part.data[part.mask].var()


# %%
# Learning and filling in
# -----------------------
# One layer of 160 atoms, and two layers. Missing values are NaN.
networks = {
    "one layer": VectorNetwork((160,), 0.01, learning_rule="block", n_jobs=2, random_state=0),
    "two layers": VectorNetwork((160, 64), 0.01, max_iter=10, tol=1e-2, n_jobs=2, random_state=0),
}
filled = {}
for name, network in networks.items():
    start = time.perf_counter()
    network.fit(signals.data)
    seconds = time.perf_counter() - start
    filled[name] = {
        kind: network.reconstruct(np.where(part.mask, np.nan, part.data))
        for kind, part in signals.test.items()
    }
    print(f"{name}: learned in {seconds:.1f} s, energy {network.objective_history_[-1]:.4f}")

# %%
# The natural alternatives are linear. Principal components, fitted to the points that are seen by
# least squares with a ridge, and what a normal distribution with the covariance of the signals
# makes most likely. Number and ridge are the best on signals like those of training.


def by_components(components, mean, ridge, part):
    """Fit components to the points of each signal that are seen."""
    result = np.empty_like(part.data)
    for row, (signal, hidden) in enumerate(zip(part.data, part.mask, strict=True)):
        seen = components[:, ~hidden]
        gram = seen @ seen.T + ridge * np.eye(len(seen))
        result[row] = mean + np.linalg.solve(gram, seen @ (signal - mean)[~hidden]) @ components
    return result


pca = PCA().fit(signals.data)
scaled = pca.components_ * np.sqrt(pca.explained_variance_)[:, None]
settings = [(pca.components_[:k], ridge) for k in (8, 12, 16, 24) for ridge in (1e-6, 1e-3, 1e-1)]
same = signals.test["id"]
best = min(settings, key=lambda s: error(by_components(s[0], pca.mean_, s[1], same), same))
ridges = (1e-8, 1e-6, 1e-4, 1e-2)
normal = min(ridges, key=lambda r: error(by_components(scaled, pca.mean_, r, same), same))
for name, (components, ridge) in {
    f"PCA, {len(best[0])} components": best,
    "normal distribution": (scaled, normal),
}.items():
    filled[name] = {
        kind: by_components(components, pca.mean_, ridge, part)
        for kind, part in signals.test.items()
    }
print(f"{'':22}" + "".join(f"{kind:>12}" for kind in signals.test))
for name, parts in filled.items():
    errors = [error(parts[kind], part) for kind, part in signals.test.items()]
    print(f"{name:22}" + "".join(f"{e:12.1e}" for e in errors))

# %%
# Sums of these families lie in a space of few dimensions, so linear methods are hard to beat on
# them: the normal distribution is best, and principal components are as good as atoms, which
# explain each signal by a few. Functions that are nested in each other ("nested") are no such sums.
# No method is good at them, but sparse codes go wrong much less than the linear ones.

part, points = signals.test["all four"], signals.points
figure, axes = plt.subplots(1, 4, figsize=(13, 3), layout="constrained", sharey=True)
for row, ax in enumerate(axes):
    ax.plot(points, part.data[row], color="0.75", linewidth=5, label="signal")
    ax.plot(points, filled["one layer"]["all four"][row], label="one layer")
    ax.plot(points, filled["two layers"]["all four"][row], "--", label="two layers")
    ax.plot(points[~part.mask[row]], part.data[row, ~part.mask[row]], "k.", label="seen")
axes[0].legend(fontsize="small")
figure.suptitle("sums of all four families, half of the points hidden")

# %%
# Which atoms a signal uses, and what they are
# --------------------------------------------
network = networks["one layer"]
shares = network.responsibility(part.data[:1])[0]
main = np.argsort(-np.abs(shares))[:5]
figure, ax = plt.subplots(figsize=(6.5, 3), layout="constrained")
ax.plot(points, part.data[0], color="0.75", linewidth=5, label="signal")
codes = network.transform(part.data[:1])[0]
for atom in main:
    label = f"atom {atom}: {shares[atom]:.0%}"
    ax.plot(points, codes[atom] * network.input_atoms_[0][atom], label=label)
ax.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
ax.set_title(f"the five most responsible of {np.count_nonzero(codes)} atoms")
plt.show()
