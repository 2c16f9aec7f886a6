"""What every combination of penalty, coupling, regulariser and constraint promises."""

from itertools import islice

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skatoms import VariationalBasisLearner
from skatoms.basis import (
    Coherence,
    GraphLaplacian,
    LinearAdmissible,
    MaxCoherence,
    NonNegative,
    Separable,
    Temporal,
)
from skatoms.basis._alternation import learn
from skatoms.basis._settings import first_atoms, problem_of, samples_of
from skatoms.coding import L0, L1, ElasticNet, GroupL1, Ridge, TopK

SHAPE = (3, 4)
N_FEATURES, N_ATOMS = 12, 8
CONDITIONS = np.array([np.ones(N_FEATURES), np.arange(N_FEATURES)])

PENALTIES = {
    "l1": L1(),
    "weighted l1": L1(weights=np.arange(N_ATOMS) / 4),
    "non-negative l1": L1(positive=True),
    "elastic net": ElasticNet(0.5),
    "non-negative elastic net": ElasticNet(0.5, positive=True),
    "ridge": Ridge(),
    "non-negative ridge": Ridge(positive=True),
    "groups": GroupL1(2),
    "non-negative groups": GroupL1(2, positive=True),
    "sparse groups": GroupL1(4, l1_ratio=0.5),
    "non-negative sparse groups": GroupL1(4, l1_ratio=0.5, positive=True),
    "l0": L0(),
    "non-negative l0": L0(positive=True),
    "top-k": TopK(3),
}
COUPLINGS = {
    "none": None,
    "temporal": Temporal(0.05),
    "graph": GraphLaplacian(weight=0.05),
    "normalised graph": GraphLaplacian(weight=0.05, normalized=True),
}
REGULARIZERS = {
    "none": None,
    "energy": "energy",
    "smooth": "smooth",
    "tv": "tv",
    "l1": "l1",
    "orthogonal": "orthogonal",
    "coherence": Coherence(0.3),
}
CONSTRAINTS = {
    "unit norm": "unit_norm",
    "unit ball": "unit_ball",
    "non-negative": "non_negative",
    "non-negative ball": NonNegative("unit_ball"),
    "admissible": LinearAdmissible(CONDITIONS),
    "admissible ball": LinearAdmissible(CONDITIONS, "unit_ball"),
    "separable": Separable(1),
    "incoherent": MaxCoherence(0.8),
}


SLOW_COUPLINGS = [
    pytest.param(coupling, id=name, marks=[pytest.mark.slow] if coupling else [])
    for name, coupling in COUPLINGS.items()
]


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    smooth = np.cumsum(rng.standard_normal((6, N_FEATURES)), axis=1)
    return rng.standard_normal((40, 6)) @ smooth / 3 + 0.3 * rng.standard_normal((40, N_FEATURES))


def learner(regularizer, constraint, penalty="l1", coupling=None, **settings):
    return VariationalBasisLearner(
        N_ATOMS,
        0.3,
        penalty=penalty,
        coupling=coupling,
        regularizer=regularizer,
        regularizer_weight=0.05,
        constraint=constraint,
        feature_shape=SHAPE if isinstance(constraint, Separable) or regularizer == "tv" else None,
        random_state=0,
        **settings,
    )


def iterates(model, X, n_passes, batch_size=8):
    """The iterates of exact passes, in batches where there is no coupling."""
    rng = np.random.RandomState(0)
    samples = samples_of(model, X, None, None, rng)
    atoms = first_atoms(model, samples, rng)
    problem = problem_of(model, *atoms.shape)
    parts = samples.batches(len(samples) if problem.coupling else batch_size)
    return islice(learn(problem, samples, parts, atoms, 0.0, 0), n_passes)


def allowed(regularizer, constraint):
    return regularizer not in ("tv", "l1") or isinstance(constraint, (str, NonNegative))


def assert_feasible(constraint, atoms):
    lengths = np.linalg.norm(atoms, axis=1)
    if "ball" in str(constraint):
        assert (lengths <= 1 + 1e-12).all()
    else:
        np.testing.assert_allclose(lengths, 1, rtol=1e-12)
    if constraint == "non_negative" or isinstance(constraint, NonNegative):
        assert (atoms >= 0).all()
    if isinstance(constraint, LinearAdmissible):
        assert np.abs(atoms @ CONDITIONS.T).max() < 1e-12
    if isinstance(constraint, Separable):
        assert np.linalg.svd(atoms.reshape(-1, *SHAPE))[1][:, 1:].max() < 1e-12
    if isinstance(constraint, MaxCoherence):
        assert np.abs(np.triu(atoms @ atoms.T, 1)).max() <= 0.8


def assert_falls(steps, slack):
    steps = np.asarray(steps)
    assert np.all(np.diff(steps) <= slack * np.abs(steps[:-1]))


@pytest.mark.parametrize("coupling", SLOW_COUPLINGS)
@pytest.mark.parametrize("constraint", CONSTRAINTS.values(), ids=CONSTRAINTS)
@pytest.mark.parametrize("regularizer", REGULARIZERS.values(), ids=REGULARIZERS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_no_half_step_raises_the_objective_and_every_iterate_is_feasible(
    X, regularizer, constraint, coupling
):
    if not allowed(regularizer, constraint):
        with pytest.raises(ValueError, match="does not go with constraint="):
            learner(regularizer, constraint, coupling=coupling).fit(X)
        return
    for penalty in PENALTIES.values():
        model, steps = learner(regularizer, constraint, penalty, coupling), []
        for iterate in iterates(model, X[:16], 1 if coupling else 2):
            steps += iterate.steps
            assert_feasible(constraint, iterate.atoms)
        assert_falls(steps, 1e-10)


@pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES)
@pytest.mark.parametrize("coupling", SLOW_COUPLINGS)
def test_no_half_step_raises_the_objective_in_single_precision(X, penalty, coupling):
    for regularizer, constraint in (
        (None, "unit_norm"),
        ("smooth", "unit_ball"),
        ("tv", "non_negative"),
        ("orthogonal", LinearAdmissible(CONDITIONS)),
    ):
        model = learner(regularizer, constraint, penalty, coupling)
        found = list(iterates(model, X[:16].astype(np.float32), 2))
        assert_falls([step for iterate in found for step in iterate.steps], 1e-5)
        assert found[-1].atoms.dtype == np.float32


def test_fixed_atoms_stay_to_the_last_bit_and_the_others_learn(X):
    start = np.random.default_rng(1).standard_normal((3, N_FEATURES))
    fixed = np.arange(N_ATOMS) == 1
    for constraint in ("unit_norm", "non_negative", LinearAdmissible(CONDITIONS)):
        model = learner("smooth", constraint, init=start, fixed_atoms=fixed, max_iter=5, tol=0)
        with pytest.warns(match="still fell"):
            model.fit(X)
        assert_array_equal(model.components_[1], start[1])
        assert not np.isclose(model.components_[0], start[0]).any()
        model.partial_fit(X)
        assert_array_equal(model.components_[1], start[1])


@pytest.mark.parametrize("regularizer", REGULARIZERS.values(), ids=REGULARIZERS)
def test_partial_fit_works_with_every_regularizer(X, regularizer):
    for constraint in ("unit_norm", "unit_ball", "non_negative"):
        model = learner(regularizer, constraint)
        for batch in np.array_split(X, 4):
            model.partial_fit(batch)
        assert_feasible(constraint, model.components_)


@pytest.mark.parametrize("constraint", ["unit_norm", "unit_ball", LinearAdmissible(CONDITIONS)])
@pytest.mark.parametrize("regularizer", [None, "energy", "smooth", "orthogonal"])
@pytest.mark.parametrize(
    "penalty", [L1(), Ridge(), pytest.param(GroupL1(2), marks=pytest.mark.slow)]
)
@pytest.mark.filterwarnings("ignore:The objective still fell")
def test_fits_end_at_a_stationary_point_of_both_blocks(X, penalty, regularizer, constraint):
    model = learner(regularizer, constraint, penalty, max_iter=4000, tol=1e-14).fit(X)
    atoms, codes = model.components_, model.transform(X)

    def objective(atoms):
        rest = X - codes @ atoms
        inner = atoms @ atoms.T - np.eye(N_ATOMS)
        second = np.diff(atoms, 2, axis=1)
        omega = {"energy": atoms, "smooth": second, "orthogonal": inner / np.sqrt(2)}
        extra = 0 if regularizer is None else 0.05 / 2 * (omega[regularizer] ** 2).sum()
        return 0.5 * (rest**2).sum() / len(X) + extra

    # The gradient along what the constraint leaves free, by differences.
    gradient = np.empty_like(atoms)
    for place in np.ndindex(atoms.shape):
        step = np.zeros_like(atoms)
        step[place] = 1e-5
        gradient[place] = (objective(atoms + step) - objective(atoms - step)) / 2e-5
    scale = np.abs(codes.T @ X).max() / len(X)
    if isinstance(constraint, LinearAdmissible):
        normal = np.linalg.qr(CONDITIONS.T)[0]
        gradient -= gradient @ normal @ normal.T
    along = (gradient * atoms).sum(axis=1, keepdims=True)
    if constraint == "unit_ball":
        inside = np.linalg.norm(atoms, axis=1, keepdims=True) < 1 - 1e-9
        along = np.where(inside, 0, np.minimum(along, 0))
    gradient -= along * atoms
    assert np.abs(gradient).max() < 1e-4 * scale
