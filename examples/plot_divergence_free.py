"""
Atoms that obey a conservation law
==================================

An incompressible flow has no divergence. Principal components of noisy snapshots do not know that;
:class:`~skatoms.basis.LinearAdmissible` keeps every atom free of divergence, to rounding errors and
at every step of learning. What is known of the physics need not be learned from noise.
"""

# %%
# Snapshots
# ---------
# Four vortices of random strength, place and size on a periodic grid of 24 x 24 points; of their
# stream function the velocity is the curl, by central differences. The divergence, by the same
# differences, is then zero. A sample has both components of the velocity, one after the other.
import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import eye_array, hstack, kron

from skatoms import VariationalBasisLearner
from skatoms.basis import LinearAdmissible

SIZE = 24
rng = np.random.default_rng(0)
shift = np.roll(np.eye(SIZE), 1, axis=1)
slope = (shift - shift.T) / 2
along_y, along_x = kron(slope, eye_array(SIZE)), kron(eye_array(SIZE), slope)
divergence = hstack([along_x, along_y]).tocsr()

y, x = np.mgrid[:SIZE, :SIZE]
places = rng.uniform(0, SIZE, (12, 2))


def snapshots(n_samples):
    """Velocity fields in which four of twelve vortices are at work, (n_samples, 2 * SIZE ** 2)."""
    fields = np.zeros((n_samples, SIZE, SIZE))
    for field in fields:
        for place in places[rng.choice(len(places), 4, replace=False)]:
            dx, dy = ((d + SIZE / 2) % SIZE - SIZE / 2 for d in (x - place[0], y - place[1]))
            field += 3 * rng.standard_normal() * np.exp(-(dx**2 + dy**2) / 18)
    stream = fields.reshape(n_samples, -1)
    return np.hstack([stream @ along_y.T, -(stream @ along_x.T)])


clean = snapshots(600)
noisy = clean + 0.2 * rng.standard_normal(clean.shape)
train, test, truth = noisy[:300], noisy[300:], clean[300:]
print(f"largest divergence of the flow: {np.abs(clean @ divergence.T).max():.0e}")

# %%
# Three bases of 12 modes
# -----------------------
# Principal components of the raw snapshots (proper orthogonal decomposition), atoms, and atoms
# without divergence. All are learned from noisy snapshots, and judged by how well they tell the
# flow from the noise in other ones.
pod = np.linalg.svd(train, full_matrices=False)[2][:12]
settings = {"n_components": 12, "alpha": 0.6, "max_iter": 200, "random_state": 0}
free = VariationalBasisLearner(**settings).fit(train)
bound = VariationalBasisLearner(**settings, constraint=LinearAdmissible(divergence)).fit(train)


def refitted(model):
    """Least squares on the atoms that the code of each sample uses: codes alone are shrunk."""
    codes = model.transform(test)
    fits = np.empty_like(test)
    for fit, code, sample in zip(fits, codes, test, strict=True):
        atoms = model.components_[code != 0]
        fit[:] = np.linalg.lstsq(atoms.T, sample)[0] @ atoms
    return fits


results = {
    "POD": (pod, test @ pod.T @ pod),
    "atoms": (free.components_, refitted(free)),
    "atoms without divergence": (bound.components_, refitted(bound)),
}
print(f"{'':26}divergence   error of the flow")
print(f"{'noisy snapshots':26}{np.abs(test @ divergence.T).max():10.0e}", end="")
print(f"{np.linalg.norm(test - truth) / np.linalg.norm(truth):12.3f}")
for name, (modes, fits) in results.items():
    error = np.linalg.norm(fits - truth) / np.linalg.norm(truth)
    print(f"{name:26}{np.abs(modes @ divergence.T).max():10.0e}{error:12.3f}")

assert np.abs(bound.components_ @ divergence.T).max() < 1e-10

# %%
# The modes
# ---------
# Principal components mix all vortices. Atoms are single ones, and the constraint takes the noise
# out of them that no flow could have.
figure, axes = plt.subplots(3, 4, figsize=(9, 7), layout="constrained")
for row, (name, (modes, _)) in zip(axes, results.items(), strict=True):
    for ax, mode in zip(row, modes, strict=False):
        u, v = mode.reshape(2, SIZE, SIZE)[:, ::2, ::2]
        sources = (divergence @ mode).reshape(SIZE, SIZE)
        image = ax.imshow(sources, cmap="PiYG", vmin=-0.03, vmax=0.03, origin="lower")
        ax.quiver(x[::2, ::2], y[::2, ::2], u, v, scale=1.2, width=0.008)
        ax.set(xticks=[], yticks=[])
    row[0].set_ylabel(name)
figure.colorbar(image, ax=axes, label="divergence", shrink=0.6)
plt.show()
