"""Regularisers, constraints and couplings, each against something independent."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import lsq_linear
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from skatoms import VariationalBasisLearner
from skatoms.basis import (
    AbsoluteValues,
    Coherence,
    Energy,
    GraphLaplacian,
    LinearAdmissible,
    MaxCoherence,
    NonNegative,
    Orthogonality,
    Separable,
    Smoothness,
    Temporal,
    TotalVariation,
    UnitBall,
    UnitNorm,
)
from skatoms.basis._couplings import sequence_labels
from skatoms.basis._regularizers import differences
from skatoms.coding import L1, ElasticNet, GroupL1, TopK

SHAPES = [(12,), (3, 4), (2, 3, 2)]
RNG = np.random.default_rng(0)
ATOMS = RNG.standard_normal((5, 12))


@pytest.mark.parametrize("shape", SHAPES)
def test_differences_are_those_along_every_axis_of_the_grid(shape):
    found = [step @ ATOMS[0] for step in differences(shape, 1)]
    for axis, values in enumerate(found):
        assert_allclose(values, np.diff(ATOMS[0].reshape(shape), axis=axis).ravel())


@pytest.mark.parametrize("shape", [(12,), (3, 4)])
@pytest.mark.parametrize(
    "regularizer",
    [Energy(), Smoothness(1), Smoothness(2), Orthogonality(), Coherence(0.0), Coherence(0.3)],
    ids=str,
)
def test_gradients_are_those_of_the_values_and_curvatures_bound_them(regularizer, shape):
    atoms = ATOMS / np.linalg.norm(ATOMS, axis=1, keepdims=True)
    direction = np.random.default_rng(1).standard_normal(atoms.shape)
    direction /= np.linalg.norm(direction)
    before, here, after = (
        regularizer.value(atoms + step * direction, shape) for step in (-1e-4, 0, 1e-4)
    )
    slope = np.vdot(regularizer.gradient(atoms, shape), direction)
    assert slope == pytest.approx((after - before) / 2e-4, rel=1e-5, abs=1e-8)
    bend = (after - 2 * here + before) / 1e-8
    assert bend <= regularizer.curvature(atoms, shape) + 1e-6


@pytest.mark.parametrize("weight", [0.0, 0.1, 0.5, 3.0, 100.0])
@pytest.mark.parametrize("shape", [(12,), (3, 4), (1,), (2,)])
def test_the_prox_of_total_variation_solves_its_dual(weight, shape):
    n = int(np.prod(shape))
    values = np.random.default_rng(2).standard_normal((4, n))
    found = TotalVariation().prox(values, np.full(4, weight), shape)
    steps = np.vstack([step.toarray() for step in differences(shape, 1)])
    for value, result in zip(values, found, strict=True):
        if weight == 0 or len(steps) == 0:
            expected = value
        else:
            dual = lsq_linear(steps.T, value, (-weight, weight), tol=1e-14, lsmr_tol="auto").x
            expected = value - steps.T @ dual
        assert_allclose(result, expected, atol=1e-6)


def test_the_prox_of_absolute_values_is_soft_thresholding():
    found = AbsoluteValues().prox(np.array([[3.0, -0.5], [1.0, -4.0]]), np.array([1, 2]), (2,))
    assert_array_equal(found, [[2, 0], [0, -2]])


def admissible():
    return LinearAdmissible(np.random.default_rng(3).standard_normal((4, 12)))


@pytest.mark.parametrize(
    "constraint",
    [UnitNorm(), UnitBall(), NonNegative(), NonNegative("unit_ball"), admissible(), Separable(2)],
    ids=lambda constraint: type(constraint).__name__,
)
def test_no_feasible_point_is_nearer_than_the_projection(constraint):
    found = constraint.project(ATOMS, (3, 4))
    assert_allclose(constraint.project(found, (3, 4)), found, atol=1e-14)
    distances = np.linalg.norm(found - ATOMS, axis=1)
    for scale in (1e-3, 0.1, 1.0):
        for _ in range(50):
            moved = found + scale * RNG.standard_normal(ATOMS.shape)
            others = constraint.project(moved, (3, 4))
            assert np.all(np.linalg.norm(others - ATOMS, axis=1) >= distances - 1e-12)


def test_projections_of_nothing_say_so():
    assert np.isnan(NonNegative().project(-np.ones((1, 12)), (12,))).all()
    assert_array_equal(NonNegative("unit_ball").project(-np.ones((1, 12)), (12,)), 0)


def test_incoherent_atoms_keep_to_the_bound():
    atoms = np.random.default_rng(0).standard_normal((20, 12))
    found = MaxCoherence(0.4).project(atoms, (12,))
    assert np.abs(np.triu(found @ found.T, 1)).max() <= 0.4
    assert_allclose(np.linalg.norm(found, axis=1), 1)


def test_a_path_ends_where_sequences_end():
    X, codes = np.zeros((5, 1)), np.random.default_rng(0).standard_normal((5, 3))
    laplacian = Temporal(2.0).laplacian(X, np.array([0, 0, 1, 1, 1]))
    expected = sum(((codes[i] - codes[i - 1]) ** 2).sum() for i in (1, 3, 4))
    assert np.vdot(codes, laplacian @ codes) == pytest.approx(2 * expected)
    whole = Temporal().laplacian(X, None)
    assert np.vdot(codes, whole @ codes) == pytest.approx((np.diff(codes, axis=0) ** 2).sum())


@pytest.mark.parametrize("normalized", [False, True])
def test_a_graph_compares_the_codes_of_neighbours(normalized):
    rng = np.random.default_rng(0)
    affinity = np.triu(rng.random((6, 6)), 1)
    affinity += affinity.T
    codes = rng.standard_normal((6, 2))
    found = GraphLaplacian(csr_array(affinity), weight=3.0, normalized=normalized)
    laplacian = found.laplacian(np.zeros((6, 1)), None)
    scaled = codes / np.sqrt(affinity.sum(axis=1))[:, None] if normalized else codes
    expected = 0.5 * sum(
        affinity[i, j] * ((scaled[i] - scaled[j]) ** 2).sum() for i in range(6) for j in range(6)
    )
    assert np.vdot(codes, laplacian @ codes) == pytest.approx(3 * expected)


def test_lengths_and_groups_say_the_same():
    assert_array_equal(sequence_labels(5, None, [2, 3]), [0, 0, 1, 1, 1])
    assert_array_equal(sequence_labels(3, ["a", "a", "b"], None), ["a", "a", "b"])
    assert sequence_labels(3, None, None) is None


@pytest.mark.filterwarnings("ignore:The objective still fell")
def test_coupled_codes_are_smoother_in_time():
    rng = np.random.default_rng(0)
    slow = np.repeat(rng.standard_normal((10, 4)), 20, axis=0)
    X = slow @ rng.standard_normal((4, 8)) + 0.5 * rng.standard_normal((200, 8))
    lengths = [100, 100]
    codes = [
        VariationalBasisLearner(
            4, 0.1, coupling=coupling, max_iter=5, random_state=0
        ).fit_transform(X, lengths=lengths)
        for coupling in (None, Temporal(2.0))
    ]
    roughness = [(np.diff(code, axis=0) ** 2).sum() / (code**2).sum() for code in codes]
    assert roughness[1] < 0.5 * roughness[0]


def test_new_samples_are_pulled_to_their_neighbours_in_the_fit():
    X = np.random.default_rng(0).standard_normal((60, 6))
    model = VariationalBasisLearner(6, 0.1, coupling="graph", random_state=0).fit(X)
    new = X[:5] + 0.01
    alone = model.set_params(coupling=None).transform(new)
    pulled = model.set_params(coupling="graph").transform(new)
    assert not np.allclose(alone, pulled, atol=1e-3)
    assert_allclose(model.set_params(coupling="temporal").transform(new), alone)


def test_objects_can_be_searched_cloned_and_changed_by_name():
    X = np.random.default_rng(0).standard_normal((40, 6))
    model = VariationalBasisLearner(
        4, 0.2, penalty=ElasticNet(), coupling=None, regularizer=Smoothness(1), max_iter=3, tol=1
    )
    grid = {
        "penalty__l1_ratio": [0.2, 0.8],
        "regularizer_weight": [0.0, 0.1],
        "constraint": ["unit_norm", NonNegative()],
    }
    search = GridSearchCV(model, grid, cv=2, error_score="raise").fit(X)
    assert len(search.cv_results_["params"]) == 8
    for part in (GroupL1(2), TopK(2), Temporal(3.0), MaxCoherence(0.5), admissible()):
        assert str(clone(part)) == str(part)


REFUSED = [
    ({"penalty": GroupL1([0, 1])}, "a label for each of the 4 atoms"),
    ({"penalty": GroupL1(0)}, "groups must be at least 1"),
    ({"penalty": GroupL1(2, weights=[1, -1])}, "weights must be finite and not negative"),
    ({"penalty": L1(weights=[1.0])}, r"weights has shape \(1,\), but there are 4 atoms"),
    ({"penalty": ElasticNet(2.0)}, "l1_ratio must be a number from 0 to 1"),
    ({"penalty": TopK(5)}, "n_nonzero=5 must be at least 1 and at most"),
    ({"penalty": "l2"}, "'penalty'"),
    ({"penalty": L1(), "positive": True}, "positive does not go with penalty"),
    ({"coupling": GraphLaplacian(np.triu(np.ones((30, 30))))}, "affinity is not symmetric"),
    ({"coupling": GraphLaplacian(np.ones((3, 3)))}, r"affinity has shape \(3, 3\), but there are"),
    ({"coupling": GraphLaplacian(-np.ones((30, 30)))}, "affinity must be finite and not negative"),
    ({"coupling": GraphLaplacian(n_neighbors=0)}, "n_neighbors must be an integer of at least 1"),
    ({"coupling": Temporal(-1.0)}, "weight of Temporal must be finite and not negative"),
    ({"coupling": "spatial"}, "'coupling'"),
    ({"regularizer": "rough"}, "'regularizer'"),
    ({"regularizer_weight": -1.0}, "'regularizer_weight'"),
    ({"regularizer": Smoothness(3)}, "order must be 1 or 2"),
    ({"regularizer": Smoothness(2), "feature_shape": (3, 2)}, "needs more than 2 entries"),
    ({"regularizer": Coherence(1.5)}, "bound of Coherence must be from 0"),
    (
        {"regularizer": "tv", "constraint": LinearAdmissible(np.ones((1, 6)))},
        "does not go with constraint",
    ),
    ({"constraint": LinearAdmissible(np.eye(6))}, "full column rank 6"),
    ({"constraint": LinearAdmissible(np.ones((1, 4)))}, "a column for each of the 6 features"),
    ({"constraint": LinearAdmissible([[np.nan] * 6])}, "must be finite"),
    ({"constraint": MaxCoherence(0.1), "n_components": 12}, "below the Welch bound 0.3015"),
    ({"constraint": MaxCoherence(1.0)}, "bound of MaxCoherence must be between 0 and 1"),
    ({"constraint": Separable(1)}, r"Separable needs feature_shape=\(height, width\)"),
    ({"constraint": Separable(3), "feature_shape": (2, 3)}, "rank of Separable must be"),
    ({"constraint": NonNegative("big")}, "norm must be one of"),
    ({"feature_shape": (2, 2)}, "feature_shape must be positive integers whose product"),
    ({"fixed_atoms": [True] * 4}, "fixed_atoms needs init to be an array"),
    ({"fixed_atoms": [1, 0, 0, 0], "init": np.eye(6)[:2]}, "fixed_atoms must be a mask"),
    ({"fixed_atoms": [False] * 3 + [True], "init": np.eye(6)[:2]}, "fixed_atoms must have an"),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED)
def test_what_can_not_be_is_refused_by_name_and_leaves_the_fit_before_intact(changes, message):
    X = np.random.default_rng(0).standard_normal((30, 6))
    model = VariationalBasisLearner(4, 0.2, max_iter=2, tol=1, random_state=0).fit(X)
    atoms = model.components_
    with pytest.raises((ValueError, TypeError), match=message):
        model.set_params(**changes).fit(X)
    assert model.components_ is atoms


@pytest.mark.parametrize(
    ("sequences", "message"),
    [
        ({"lengths": [10, 10]}, "lengths adds up to 20, but X has 30 samples"),
        ({"lengths": [30.0]}, "lengths must be positive integers"),
        ({"groups": [0, 1]}, r"groups has shape \(2,\), but X has 30 samples"),
        ({"groups": [0] * 30, "lengths": [30]}, "give one of them"),
        ({"sample_weight": [0] + [1] * 29}, "sample_weight has zeros"),
    ],
)
def test_sequences_that_do_not_fit_are_refused(sequences, message):
    X = np.random.default_rng(0).standard_normal((30, 6))
    with pytest.raises(ValueError, match=message):
        VariationalBasisLearner(4, coupling="temporal").fit(X, **sequences)
