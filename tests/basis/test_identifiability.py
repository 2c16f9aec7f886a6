"""A basis that the samples were made from is found again, and what is known of it helps."""

import numpy as np
import pytest

from skatoms import VariationalBasisLearner
from skatoms.basis import LinearAdmissible
from skatoms.coding import GroupL1
from skatoms.metrics import atom_recovery

pytestmark = pytest.mark.filterwarnings("ignore:The objective still fell")


def unit(atoms):
    return atoms / np.linalg.norm(atoms, axis=1, keepdims=True)


def sparse_codes(rng, n_samples, n_atoms, part):
    codes = rng.standard_normal((n_samples, n_atoms))
    return codes * (rng.random((n_samples, n_atoms)) < part)


def learned(X, n_components, alpha, **settings):
    return VariationalBasisLearner(n_components, alpha, tol=1e-6, random_state=0, **settings).fit(X)


def test_a_non_negative_basis_is_recovered():
    rng = np.random.default_rng(0)
    atoms = unit(np.abs(rng.standard_normal((24, 20))) * (rng.random((24, 20)) < 0.4) + 1e-3)
    codes = np.abs(sparse_codes(rng, 1500, 24, 0.12))
    X = np.maximum(codes @ atoms + 0.01 * rng.standard_normal((1500, 20)), 0)
    model = learned(X, 24, 0.03, positive=True, constraint="non_negative", max_iter=150)
    assert (model.components_ >= 0).all()
    assert atom_recovery(atoms, model.components_, signed=True).fraction(0.99) == 1


@pytest.mark.slow
def test_the_subspaces_of_groups_are_recovered_by_the_best_of_some_starts():
    # Within a group only the span of its atoms is determined.
    rng = np.random.default_rng(0)
    groups = np.arange(18) // 3
    atoms = unit(rng.standard_normal((18, 16)))
    members = rng.integers(0, 6, 1000)[:, None] == groups
    X = (rng.standard_normal((1000, 18)) * members) @ atoms
    X += 0.01 * rng.standard_normal(X.shape)
    fits = [
        VariationalBasisLearner(
            18, 0.5, penalty=GroupL1(groups), batch_size=48, max_iter=60, random_state=seed
        ).fit(X)
        for seed in range(6)
    ]
    best = min(fits, key=lambda model: model.objective_history_[-1])
    spans = [np.linalg.qr(basis.T)[0] for basis in atoms.reshape(6, 3, 16)]
    found = [np.linalg.qr(basis.T)[0] for basis in best.components_.reshape(6, 3, 16)]
    cosines = [max(np.linalg.svd(a.T @ b)[1].min() for b in found) for a in spans]
    assert min(cosines) > 0.99


def test_smooth_atoms_are_recovered_better_with_the_smoothness_term():
    rng = np.random.default_rng(0)
    time = np.linspace(0, 1, 60)
    centres, widths = rng.uniform(0.1, 0.9, 10), rng.uniform(0.05, 0.12, 10)
    atoms = unit(np.exp(-0.5 * ((time - centres[:, None]) / widths[:, None]) ** 2))
    codes = sparse_codes(rng, 300, 10, 0.25)
    X = codes @ atoms + 0.15 * rng.standard_normal((300, 60))
    rough = learned(X, 10, 0.2)
    smooth = learned(X, 10, 0.2, regularizer="smooth", regularizer_weight=0.1)
    gain = (
        atom_recovery(atoms, smooth.components_).cosines.mean()
        - atom_recovery(atoms, rough.components_).cosines.mean()
    )
    assert gain > 0.01


def test_admissible_atoms_are_recovered_better_with_the_constraint():
    rng = np.random.default_rng(0)
    conditions = rng.standard_normal((10, 20))
    admissible = np.linalg.svd(conditions)[2][10:]
    atoms = unit(rng.standard_normal((12, 10)) @ admissible)
    X = sparse_codes(rng, 300, 12, 0.2) @ atoms + 0.2 * rng.standard_normal((300, 20))
    free = learned(X, 12, 0.3)
    bound = learned(X, 12, 0.3, constraint=LinearAdmissible(conditions))
    assert np.abs(bound.components_ @ conditions.T).max() < 1e-12
    lost = [1 - atom_recovery(atoms, model.components_).cosines.mean() for model in (bound, free)]
    assert lost[0] < 0.8 * lost[1]
