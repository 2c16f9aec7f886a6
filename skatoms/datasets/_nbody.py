"""Bodies in a plane, each system under one force, and what follows from several."""

from collections.abc import Sequence
from numbers import Integral
from typing import NamedTuple

import numpy as np
from sklearn.utils import Bunch, check_random_state

from .._validation import check_number

FORCES = ("gravity", "drag", "magnetic field", "springs")
AXES = ("x", "y")
TERMS = tuple(f"{force} term {axis}" for force in FORCES for axis in AXES)
RAW = (
    *FORCES,
    *(f"{what} {axis}" for what in ("position", "velocity", "others' mean") for axis in AXES),
    "number of bodies",
    "mass",
    "charge",
    "charge / mass",
)
FEATURES = tuple(f"{force} * {term}" for force in FORCES for term in TERMS) + RAW

SOFTENING = 0.3  # the distance below which gravity stops to grow
STRENGTHS = (0.5, 1.5)
MASSES = (0.5, 2.0)
CHARGES = (-1.0, 1.0)
POSITIONS = (-1.0, 1.0)
SPEED = 1.0
FEWER_BODIES = 2

DESCR = """\
Bodies in a plane with random positions, velocities, masses and charges, and the acceleration of
each. The forces are softened gravity, drag, a uniform magnetic field and springs between all
bodies. Each training system is under one force; the test parts are new systems of that kind
("id"), systems under two to four forces ("several forces"), of two bodies ("fewer bodies") and of
two bodies under two to four forces ("both"). A row is one body. Its acceleration is a linear
function of the features, most of which are distractors: least squares solves it, so report that
beside."""


def make_nbody(
    n_samples: int = 6000,
    n_test: int = 1000,
    n_bodies: Sequence[int] = (3, 4, 5),
    noise: float = 0.0,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Draw bodies with their accelerations: one force in training, several to test on.

    Body i has position x_i and velocity v_i in the plane, mass m_i and charge q_i. The strengths G,
    c, B and k belong to its system; those of absent forces are 0. Its acceleration is the sum of

    - gravity, `G sum_j m_j (x_j - x_i) / (r_ij^2 + 0.3^2)^(3/2)` with the distances r_ij;
    - drag, `c (-v_i / m_i)`;
    - the Lorentz force of a magnetic field across the plane, `B q_i / m_i (v_iy, -v_ix)`;
    - springs without length between all bodies, `k sum_j (x_j - x_i) / m_i`.

    Positions are uniform in [-1, 1]^2, velocities normal with deviation 1, masses uniform in
    [0.5, 2], charges in [-1, 1], strengths of the forces at work in [0.5, 1.5].

    A row is one body, described by 46 features:

    - columns 0 to 31: the eight components of the four terms above, without G, c, B and k, times
      each of the four strengths: column `8 a + 2 b + d` is strength a times component d of term b;
    - columns 32 to 35: the strengths G, c, B and k;
    - columns 36 to 41: own position, own velocity, mean position of the other bodies;
    - columns 42 to 45: number of bodies in the system, mass, charge, charge / mass.

    So the acceleration is an exact linear function of the features: of the eight columns where
    a = b. The other columns are distractors. A linear model is the control to report.

    Parameters
    ----------
    n_samples : int, default=6000
        Number of training rows. A system has one row a body; of the last one some may be cut off.

    n_test : int, default=1000
        Number of rows in each of the four test parts.

    n_bodies : sequence of int, default=(3, 4, 5)
        Numbers of bodies that a training system may have, equally likely. Each at least 3, as two
        bodies are a test.

    noise : float, default=0.0
        Standard deviation of what is added to the accelerations of the training part. Test parts
        are exact.

    random_state : int, RandomState or None, default=None
        Seed. An int gives the same rows at each call.

    Returns
    -------
    bodies : Bunch
        A dictionary whose entries are attributes too:

        - `data`: float64 of shape (n_samples, 46), the features of the training rows;
        - `target`: float64 of shape (n_samples, 2), the accelerations;
        - `system`: int of shape (n_samples,), which rows are of one system, from 0;
        - `strengths`: float64 of shape (n_samples, 4), G, c, B and k as in `data`;
        - `test`: dict of Bunch with the same entries and `n_test` rows: `"id"` is drawn as the
          training part, `"several forces"` has two, three or four forces at once, `"fewer bodies"`
          two bodies and one force, `"both"` two bodies and two, three or four forces;
        - `law`: float64 of shape (46, 2), zeros and ones: without noise, `target` is `data @ law`;
        - `feature_names`, `force_names`: tuple of str, of lengths 46 and 4;
        - `DESCR`: str.

    Raises
    ------
    ValueError, TypeError
        If a parameter is out of its range.

    Examples
    --------
    >>> from skatoms.datasets import make_nbody
    >>> bodies = make_nbody(60, 20, random_state=0)
    >>> bodies.data.shape, bodies.target.shape
    ((60, 46), (60, 2))
    >>> list(bodies.test)
    ['id', 'several forces', 'fewer bodies', 'both']
    """
    check_number("n_samples", n_samples, kind=Integral, least=1)
    check_number("n_test", n_test, kind=Integral, least=1)
    check_number("noise", noise, least=0, most=np.finfo(float).max)
    sizes = _check_sizes(n_bodies)
    rng = check_random_state(random_state)
    training = _draw_rows(rng, n_samples, sizes, (1,))
    training.target += noise * rng.normal(size=training.target.shape)
    several = tuple(range(2, len(FORCES) + 1))
    test = {
        "id": _draw_rows(rng, n_test, sizes, (1,)),
        "several forces": _draw_rows(rng, n_test, sizes, several),
        "fewer bodies": _draw_rows(rng, n_test, (FEWER_BODIES,), (1,)),
        "both": _draw_rows(rng, n_test, (FEWER_BODIES,), several),
    }
    names = {"feature_names": FEATURES, "force_names": FORCES}
    return Bunch(**training, test=test, law=_law(), **names, DESCR=DESCR)


class Systems(NamedTuple):
    """Systems of bodies, padded to the largest one."""

    present: np.ndarray  # (n_systems, most_bodies), False where it is padding
    positions: np.ndarray  # (n_systems, most_bodies, 2)
    velocities: np.ndarray  # (n_systems, most_bodies, 2)
    masses: np.ndarray  # (n_systems, most_bodies)
    charges: np.ndarray  # (n_systems, most_bodies)
    strengths: np.ndarray  # (n_systems, 4)


def _check_sizes(n_bodies):
    try:
        sizes = tuple(n_bodies)
    except TypeError:
        raise TypeError(f"n_bodies must be a sequence of int, got {n_bodies!r}.") from None
    if not sizes:
        raise ValueError("n_bodies must have at least one number, got none.")
    for size in sizes:
        check_number("n_bodies", size, kind=Integral, least=FEWER_BODIES + 1)
    return sizes


def _draw_rows(rng, n, sizes, n_forces):
    """Rows of as many systems as are needed for n bodies."""
    systems = _draw_systems(rng, -(-n // min(sizes)), sizes, n_forces)
    present, strengths = systems.present, systems.strengths[:, None, :]
    terms = _terms(systems)
    weighted = strengths[..., None, None] * terms[:, :, None]  # (system, body, strength, term, 2)
    columns = [weighted.reshape(*present.shape, -1), _raw_features(systems)]
    target = (strengths[..., None] * terms).sum(axis=2)
    system = np.repeat(np.arange(len(present)), present.sum(axis=1))[:n]
    return Bunch(
        data=np.concatenate(columns, axis=2)[present][:n],
        target=target[present][:n],
        system=system,
        strengths=systems.strengths[system],
    )


def _draw_systems(rng, n, sizes, n_forces):
    present = np.arange(max(sizes)) < rng.choice(sizes, size=(n, 1))
    shape = present.shape
    ranks = rng.uniform(size=(n, len(FORCES))).argsort(axis=1)
    at_work = ranks < rng.choice(n_forces, size=(n, 1))
    return Systems(
        present=present,
        positions=rng.uniform(*POSITIONS, size=(*shape, 2)),
        velocities=rng.normal(scale=SPEED, size=(*shape, 2)),
        masses=rng.uniform(*MASSES, size=shape),
        charges=rng.uniform(*CHARGES, size=shape),
        strengths=np.where(at_work, rng.uniform(*STRENGTHS, size=ranks.shape), 0.0),
    )


def _terms(systems):
    """Accelerations by the four forces at strength 1: (n_systems, most_bodies, 4, 2)."""
    x, v = systems.positions, systems.velocities
    mass = systems.masses[..., None]
    ways = x[:, None] - x[:, :, None]  # from i to j
    ways *= systems.present[:, None, :, None]
    softened = (np.square(ways).sum(axis=-1) + SOFTENING**2) ** 1.5
    gravity = (systems.masses[:, None] / softened)[..., None] * ways
    turned = np.stack([v[..., 1], -v[..., 0]], axis=-1)
    lorentz = systems.charges[..., None] / mass * turned
    return np.stack([gravity.sum(axis=2), -v / mass, lorentz, ways.sum(axis=2) / mass], axis=2)


def _raw_features(systems):
    """What is known of a body and its system, without physics: (n_systems, most_bodies, 14)."""
    present, x = systems.present, systems.positions
    n_bodies = present.sum(axis=1)[:, None]
    others = (x * present[..., None]).sum(axis=1, keepdims=True) - x
    columns = [
        np.broadcast_to(systems.strengths[:, None], (*present.shape, len(FORCES))),
        x,
        systems.velocities,
        others / (n_bodies[..., None] - 1),
        np.broadcast_to(n_bodies, present.shape)[..., None],
        systems.masses[..., None],
        systems.charges[..., None],
        (systems.charges / systems.masses)[..., None],
    ]
    return np.concatenate(columns, axis=2)


def _law():
    """One where the strength of a force meets the term of the same force."""
    law = np.zeros((len(FORCES), len(FORCES), len(AXES), len(AXES)))
    for force in range(len(FORCES)):
        law[force, force] = np.eye(len(AXES))
    return np.vstack([law.reshape(-1, len(AXES)), np.zeros((len(RAW), len(AXES)))])
