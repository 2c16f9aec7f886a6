"""
Trajectories told apart by their latents
========================================

Which of two oscillators made this short, noisy trajectory? ``transform`` gives the latents of each
row. What is usual of them, over the rows of a trajectory, are features for any classifier. All of
it is a pipeline, so a search chooses parameters of the dynamics by how well classes are told.
"""

# %%
# The data
# --------
#
# Van der Pol's oscillator with two strengths of its damping. Each trajectory starts somewhere else,
# lasts for half a cycle only, and has noise of a fifth of the signal. The estimator takes an array
# of (trajectories, times, features) as it is. The first half is to train, the second to test.

import numpy as np
from matplotlib import pyplot as plt
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from skatoms import KoopmanBasisDynamics
from skatoms.datasets import make_van_der_pol

N_EACH, N_TIMES = 300, 60
parts = [
    make_van_der_pol(N_TIMES, n_trajectories=N_EACH, mu=mu, noise=0.2, random_state=seed).data
    for seed, mu in enumerate((0.8, 1.6))
]
X = np.concatenate(parts).reshape(2 * N_EACH, N_TIMES, 2)
y = np.repeat([0, 1], N_EACH)
order = np.random.default_rng(0).permutation(len(X))
X_train, X_test = np.split(X[order], 2)
y_train, y_test = np.split(y[order], 2)

figure, panels = plt.subplots(
    1, 2, figsize=(8, 3.6), sharex=True, sharey=True, layout="constrained"
)
for label, axes in enumerate(panels):
    for trajectory in X_train[y_train == label][:12]:
        axes.plot(*trajectory.T, linewidth=0.8)
    axes.set(title=f"class {label}", xlabel="position")
panels[0].set_ylabel("velocity")

# %%
# A pipeline
# ----------
#
# Latents move as z[i + 1] = K z[i]. Products of latents with their changes, averaged over a
# trajectory, say how this one moves; they stand beside mean squares.


def moments(latents):
    """Products of neighbouring latents averaged over each trajectory, one row for each."""
    latents = latents.reshape(-1, N_TIMES, latents.shape[1])[:, 5:]  # whose windows are full
    now, later = latents[:, :-1], latents[:, 1:]
    products = [np.einsum("nti,ntj->nij", now, some) / N_TIMES for some in (now, later - now)]
    return np.concatenate([some.reshape(len(latents), -1) for some in products], axis=1)


def with_moments(first):
    return make_pipeline(
        first,
        FunctionTransformer(moments),
        StandardScaler(),
        LogisticRegression(C=0.1, max_iter=2000),
    )


search = GridSearchCV(
    with_moments(KoopmanBasisDynamics("polynomial", scale=True)),
    {
        "koopmanbasisdynamics__n_delays": [1, 3],
        "koopmanbasisdynamics__rank": [4, 8],
    },
    cv=3,
)

# %%
# Beside it are the same pooling of raw states, and two classifiers of the trajectory as one row.

rows = FunctionTransformer(lambda X: X.reshape(len(X), -1))
raw = FunctionTransformer(lambda X: X.reshape(-1, X.shape[2]))
methods = {
    "latents, pooled": search,
    "states, pooled": with_moments(raw),
    "logistic regression of all values": make_pipeline(
        rows, StandardScaler(), LogisticRegression(C=0.1, max_iter=2000)
    ),
    "forest of all values": make_pipeline(rows, RandomForestClassifier(200, random_state=0)),
}
accuracies = {
    name: method.fit(X_train, y_train).score(X_test, y_test) for name, method in methods.items()
}
for name, accuracy in accuracies.items():
    print(f"{name:34} {accuracy:.3f}")
print(search.best_params_)

figure, axes = plt.subplots(figsize=(7, 2.4), layout="constrained")
axes.barh(list(accuracies), list(accuracies.values()))
axes.axvline(0.5, color="0.4", linestyle=":")
axes.set(xlabel="share of test trajectories told right", xlim=(0.4, 1))
axes.invert_yaxis()
plt.show()
