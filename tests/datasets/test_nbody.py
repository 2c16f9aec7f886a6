"""Bodies in a plane under one force or several."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skatoms.datasets import make_nbody

TESTS = ("id", "several forces", "fewer bodies", "both")


@pytest.fixture(scope="module")
def bodies():
    return make_nbody(1000, 300, random_state=0)


def column(bodies, part, name):
    return part.data[:, bodies.feature_names.index(name)]


def vectors(bodies, part, name):
    return np.column_stack([column(bodies, part, f"{name} {axis}") for axis in "xy"])


def whole_systems(part):
    """Rows of each system, but not of the last, of which some may be cut off."""
    return [np.flatnonzero(part.system == number) for number in np.unique(part.system)[:-1]]


def test_parts_have_their_shapes(bodies):
    assert tuple(bodies.test) == TESTS
    assert len(bodies.feature_names) == len(set(bodies.feature_names)) == 46
    assert bodies.force_names == ("gravity", "drag", "magnetic field", "springs")
    assert bodies.law.shape == (46, 2)
    for n, part in [(1000, bodies), *((300, part) for part in bodies.test.values())]:
        assert part.data.shape == (n, 46)
        assert part.target.shape == (n, 2)
        assert part.system.shape == (n,)
        assert part.strengths.shape == (n, 4)
        assert part.data.dtype == part.target.dtype == part.strengths.dtype == np.float64


def test_acceleration_is_linear_in_the_features(bodies):
    law, _, rank, _ = np.linalg.lstsq(bodies.data, bodies.target, rcond=None)
    assert rank == 46
    assert_allclose(law, bodies.law, atol=1e-8)
    for part in (bodies, *bodies.test.values()):
        assert np.abs(part.data @ law - part.target).max() < 1e-8


def test_the_law_has_the_columns_where_strength_and_term_are_of_one_force(bodies):
    for axis in range(2):
        chosen = [bodies.feature_names[k] for k in np.flatnonzero(bodies.law[:, axis])]
        assert chosen == [f"{force} * {force} term {'xy'[axis]}" for force in bodies.force_names]


@pytest.mark.parametrize("name", ["training", *TESTS])
def test_acceleration_follows_from_the_bodies_of_the_system(bodies, name):
    """An oracle that sums over bodies one by one and reads only raw features."""
    part = bodies if name == "training" else bodies.test[name]
    x, v = vectors(bodies, part, "position"), vectors(bodies, part, "velocity")
    m, q = column(bodies, part, "mass"), column(bodies, part, "charge")
    for rows in whole_systems(part)[:40]:
        for i in rows:
            gravity, drag, field, springs = part.strengths[i]
            force = -drag * v[i] + field * q[i] * np.array([v[i, 1], -v[i, 0]])
            for j in set(rows) - {i}:
                way = x[j] - x[i]
                force += gravity * m[i] * m[j] * way / (way @ way + 0.09) ** 1.5 + springs * way
            assert_allclose(part.target[i], force / m[i], atol=1e-12)


def test_raw_features_describe_the_system(bodies):
    x = vectors(bodies, bodies, "position")
    for rows in whole_systems(bodies):
        for i in rows:
            others = x[[j for j in rows if j != i]]
            mean = vectors(bodies, bodies, "others' mean")[i]
            assert_allclose(mean, others.mean(axis=0), atol=1e-12)
        assert_array_equal(column(bodies, bodies, "number of bodies")[rows], len(rows))
    ratio = column(bodies, bodies, "charge") / column(bodies, bodies, "mass")
    assert_allclose(column(bodies, bodies, "charge / mass"), ratio)
    for k, force in enumerate(bodies.force_names):
        assert_array_equal(column(bodies, bodies, force), bodies.strengths[:, k])


def test_training_systems_are_under_one_force(bodies):
    counts = {name: (part.strengths > 0).sum(axis=1) for name, part in bodies.test.items()}
    assert_array_equal((bodies.strengths > 0).sum(axis=1), 1)
    assert_array_equal(counts["id"], 1)
    assert_array_equal(counts["fewer bodies"], 1)
    assert set(counts["several forces"]) == set(counts["both"]) == {2, 3, 4}
    assert (bodies.strengths > 0).any(axis=0).all()
    for rows in whole_systems(bodies):
        assert len(np.unique(bodies.strengths[rows], axis=0)) == 1


def test_only_the_tests_have_systems_of_two_bodies(bodies):
    sizes = {
        name: set(column(bodies, part, "number of bodies")) for name, part in bodies.test.items()
    }
    assert set(column(bodies, bodies, "number of bodies")) == {3, 4, 5}
    assert sizes["id"] == sizes["several forces"] == {3, 4, 5}
    assert sizes["fewer bodies"] == sizes["both"] == {2}


def test_noise_is_added_to_the_training_targets_only(bodies):
    noisy = make_nbody(1000, 300, noise=0.1, random_state=0)
    deviation = noisy.target - bodies.target
    # Standard deviation of the estimate from 2000 numbers: 0.0016.
    assert abs(deviation.std() - 0.1) < 0.008
    assert_array_equal(noisy.data, bodies.data)
    for name, part in bodies.test.items():
        assert_array_equal(noisy.test[name].target, part.target)


def test_the_seed_decides(bodies):
    again, other = (make_nbody(1000, 300, random_state=seed) for seed in (0, 1))
    for key in ("data", "target", "system", "strengths"):
        assert_array_equal(again[key], bodies[key])
        assert_array_equal(again.test["both"][key], bodies.test["both"][key])
    assert (other.data != bodies.data).any(axis=1).all()
    assert (other.test["both"].data != bodies.test["both"].data).any(axis=1).all()


def test_one_row_may_be_all():
    bodies = make_nbody(1, 1, n_bodies=[7], random_state=0)
    assert bodies.data.shape == (1, 46)
    assert column(bodies, bodies, "number of bodies") == 7


@pytest.mark.parametrize(
    ("parameter", "value", "error"),
    [
        ("n_samples", 0, ValueError),
        ("n_test", 1.5, TypeError),
        ("noise", -1, ValueError),
        ("noise", float("inf"), ValueError),
        ("n_bodies", 3, TypeError),
        ("n_bodies", (), ValueError),
        ("n_bodies", (2, 3), ValueError),
        ("n_bodies", (3.5,), TypeError),
    ],
)
def test_bad_parameters_are_named(parameter, value, error):
    with pytest.raises(error, match=f"^{parameter} must"):
        make_nbody(**{parameter: value})
