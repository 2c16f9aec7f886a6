"""
Codes for given atoms: solvers, sparsity and error
==================================================

:func:`~skatoms.coding.sparse_code` explains samples by given atoms. Its three solvers for the l1
penalty are different algorithms for the same problem, and each says how exactly it solved it; a
fourth answers a different question, the best code with a given number of non-zeros.
"""

# %%
# Data and atoms
# --------------
#
# Patches of a photograph, of unit norm; the atoms are patches too. With both of unit norm,
# ``alpha`` is between 0 and 1: a patch whose correlations are all below it has code zero.

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_sample_image
from sklearn.feature_extraction.image import extract_patches_2d
from sklearn.preprocessing import normalize

from skatoms.coding import sparse_code

picture = load_sample_image("china.jpg").mean(axis=2) / 255
patches = extract_patches_2d(picture, (8, 8), max_patches=2000, random_state=0).reshape(-1, 64)
patches -= patches.mean(axis=1, keepdims=True)
patches = normalize(patches[patches.std(axis=1) > 0.01])
atoms, X = patches[:128], patches[128:]
print(f"{len(X)} samples of {X.shape[1]} features, {len(atoms)} atoms")

# %%
# Three algorithms, one answer
# ----------------------------
#
# The report has the worst KKT residual of a row: how far the code is from meeting the conditions
# that only a solution meets, relative to the row's largest correlation with an atom.


def errors(codes):
    """Half the squared error of each sample."""
    return 0.5 * ((X - codes @ atoms) ** 2).sum(axis=1)


alpha = 0.1
reports, objectives = {}, {}
for solver in ("active-set", "homotopy", "fista"):
    codes, reports[solver] = sparse_code(
        X, atoms, alpha=alpha, solver=solver, tol=1e-8, max_iter=10_000, return_report=True
    )
    objectives[solver] = np.mean(errors(codes) + alpha * np.abs(codes).sum(axis=1))
for solver, report in reports.items():
    print(
        f"{solver:10}  objective {objectives[solver]:.12f}, "
        f"worst residual {report.residual:.0e}, at most {report.n_iter} iterations"
    )

# %%
# How sparse, how exact
# ---------------------
#
# ``alpha`` trades error for sparsity; so does the number of non-zeros of ``penalty="top_k"``. For
# an equal number of atoms, the greedy top-k codes of orthogonal matching pursuit are nearer to the
# samples: the l1 penalty also shrinks the coefficients that it keeps. Least squares on the atoms
# that l1 has chosen takes this bias away, and makes the two comparable as choices of atoms.


def refitted(codes):
    """Codes with the same atoms, and the coefficients that are best for them."""
    better = np.zeros_like(codes)
    for sample, code, row in zip(X, codes, better, strict=True):
        used = np.flatnonzero(code)
        row[used] = np.linalg.lstsq(atoms[used].T, sample)[0]
    return better


l1, l1_refitted, top_k = [], [], []
alphas = np.geomspace(0.02, 0.5, 8)
for alpha in alphas:
    codes = sparse_code(X, atoms, alpha=alpha, n_jobs=-1)
    n_used = np.count_nonzero(codes) / len(X)
    l1.append((n_used, errors(codes).mean()))
    l1_refitted.append((n_used, errors(refitted(codes)).mean()))
for n_nonzero in (1, 2, 4, 8, 16, 32):
    codes = sparse_code(X, atoms, penalty="top_k", n_nonzero=n_nonzero, n_jobs=-1)
    top_k.append((np.count_nonzero(codes) / len(X), errors(codes).mean()))

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
left.plot(alphas, [n_used for n_used, _ in l1], "o-")
left.set(xlabel="alpha", ylabel="atoms a sample")
for name, curve in {"l1": l1, "l1, refitted": l1_refitted, "top-k (OMP)": top_k}.items():
    right.semilogy(*zip(*curve, strict=True), "o-", label=name)
right.set(xlabel="atoms a sample", ylabel="mean of half the squared error")
right.legend()
plt.show()
