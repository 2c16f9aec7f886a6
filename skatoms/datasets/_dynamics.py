"""Trajectories of systems whose laws are known."""

from numbers import Integral

import numpy as np
from scipy.integrate import solve_ivp
from sklearn.utils import Bunch, check_random_state

from .._validation import check_number

ACCURACY = {"rtol": 1e-10, "atol": 1e-12, "method": "DOP853"}
RATES = (-0.05 + 2.0j, -0.02 + 5.0j)  # growth and angular frequency of the oscillators
START = 2.0  # Van der Pol and Duffing start in [-START, START] squared
TRANSIENT = 10.0  # time after which Lorenz trajectories are on the attractor
VORTEX_WAVES = ((1, 0.2), (2, 0.5))  # waves along the channel, and cycles a unit of time


def make_oscillators(
    n_samples: int = 300,
    n_features: int = 10,
    *,
    n_trajectories: int = 1,
    dt: float = 0.1,
    noise: float = 0.0,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Two damped oscillators as sensors see them: exactly linear, of rank 4.

    Each sensor measures a random mixture of ``exp(-0.05 t)`` at 2 radians and ``exp(-0.02 t)`` at 5
    radians a unit of time. Trajectories differ in amplitudes and phases.

    Parameters
    ----------
    n_samples : int, default=300
        Rows of a trajectory.

    n_features : int, default=10
        Number of sensors.

    n_trajectories : int, default=1
        Number of trajectories.

    dt : float, default=0.1
        Time between rows.

    noise : float, default=0.0
        Standard deviation of the noise, relative to the root mean square of the signal.

    random_state : int, RandomState or None, default=None
        Seed. An int gives the same data at each call; `clean` does not depend on `noise`.

    Returns
    -------
    data : Bunch
        A dictionary whose entries are attributes too:

        - `data`: float64 of shape (n_trajectories * n_samples, n_features), with noise;
        - `clean`: the same without;
        - `lengths`: list of int, rows of each trajectory;
        - `times`: float64 of shape (n_trajectories * n_samples,);
        - `dt`: float;
        - `exponents`: complex of shape (4,), the continuous-time eigenvalues;
        - `modes`: complex of shape (4, n_features).

    Examples
    --------
    >>> from skatoms.datasets import make_oscillators
    >>> make_oscillators(100, noise=0.1, random_state=0).data.shape
    (100, 10)
    """
    rng = _checked(n_samples, n_trajectories, dt, noise, random_state)
    check_number("n_features", n_features, kind=Integral, least=1)
    rates = np.array(RATES)
    modes = rng.normal(size=(2, n_features)) + 1j * rng.normal(size=(2, n_features))
    amplitudes = rng.normal(size=(n_trajectories, 2)) + 1j * rng.normal(size=(n_trajectories, 2))
    amplitudes = np.exp(1j * np.angle(amplitudes)) * (0.5 + abs(amplitudes))
    waves = np.exp(np.arange(n_samples)[:, None] * dt * rates)
    clean = 2 * np.einsum("tk,nk,kp->ntp", waves, amplitudes, modes).real
    return _bunch(
        rng,
        clean,
        dt,
        noise,
        size=np.sqrt((clean**2).mean()),
        exponents=np.append(rates, rates.conj()),
        modes=np.vstack([modes, modes.conj()]),
    )


def make_van_der_pol(
    n_samples: int = 100,
    *,
    n_trajectories: int = 40,
    dt: float = 0.05,
    mu: float = 1.0,
    noise: float = 0.0,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Van der Pol's oscillator, x'' = mu (1 - x^2) x' - x, which tends to a limit cycle.

    Parameters
    ----------
    n_samples : int, default=100
        Rows of a trajectory.

    n_trajectories : int, default=40
        Number of trajectories; each starts anywhere in [-2, 2] x [-2, 2].

    dt : float, default=0.05
        Time between rows.

    mu : float, default=1.0
        How strong the non-linear damping is, not negative.

    noise : float, default=0.0
        Standard deviation of the noise, relative to that of each feature.

    random_state : int, RandomState or None, default=None
        Seed. An int gives the same data at each call; `clean` does not depend on `noise`.

    Returns
    -------
    data : Bunch
        With `data`, `clean`, `lengths`, `times` and `dt` as in `make_oscillators`; the features are
        position and velocity.

    Examples
    --------
    >>> from skatoms.datasets import make_van_der_pol
    >>> make_van_der_pol(50, n_trajectories=3, random_state=0).data.shape
    (150, 2)
    """
    rng = _checked(n_samples, n_trajectories, dt, noise, random_state)
    check_number("mu", mu, least=0)
    starts = rng.uniform(-START, START, size=(n_trajectories, 2))

    def law(x):
        return np.stack([x[1], mu * (1 - x[0] ** 2) * x[1] - x[0]])

    return _bunch(rng, _integrate(law, starts, n_samples, dt), dt, noise)


def make_duffing(
    n_samples: int = 100,
    *,
    n_trajectories: int = 40,
    dt: float = 0.05,
    damping: float = 0.5,
    noise: float = 0.0,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Duffing's oscillator with two wells, x'' = x - x^3 - damping x'.

    Parameters
    ----------
    n_samples : int, default=100
        Rows of a trajectory.

    n_trajectories : int, default=40
        Number of trajectories; each starts anywhere in [-2, 2] x [-2, 2].

    dt : float, default=0.05
        Time between rows.

    damping : float, default=0.5
        At 0 energy is conserved. Not negative.

    noise : float, default=0.0
        Standard deviation of the noise, relative to that of each feature.

    random_state : int, RandomState or None, default=None
        Seed. An int gives the same data at each call; `clean` does not depend on `noise`.

    Returns
    -------
    data : Bunch
        With `data`, `clean`, `lengths`, `times` and `dt` as in `make_oscillators`; the features are
        position and velocity.

    Examples
    --------
    >>> from skatoms.datasets import make_duffing
    >>> make_duffing(50, n_trajectories=3, random_state=0).lengths
    [50, 50, 50]
    """
    rng = _checked(n_samples, n_trajectories, dt, noise, random_state)
    check_number("damping", damping, least=0)
    starts = rng.uniform(-START, START, size=(n_trajectories, 2))

    def law(x):
        return np.stack([x[1], x[0] - x[0] ** 3 - damping * x[1]])

    return _bunch(rng, _integrate(law, starts, n_samples, dt), dt, noise)


def make_lorenz(
    n_samples: int = 4000,
    *,
    n_trajectories: int = 1,
    dt: float = 0.01,
    noise: float = 0.0,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Lorenz's chaotic system with its usual constants, 10, 28 and 8/3, on its attractor.

    Parameters
    ----------
    n_samples : int, default=4000
        Rows of a trajectory.

    n_trajectories : int, default=1
        Number of trajectories. Each has moved for ten units of time before its first row.

    dt : float, default=0.01
        Time between rows.

    noise : float, default=0.0
        Standard deviation of the noise, relative to that of each feature.

    random_state : int, RandomState or None, default=None
        Seed. An int gives the same data at each call; `clean` does not depend on `noise`.

    Returns
    -------
    data : Bunch
        With `data`, `clean`, `lengths`, `times` and `dt` as in `make_oscillators`; three features.

    Examples
    --------
    >>> from skatoms.datasets import make_lorenz
    >>> make_lorenz(200, random_state=0).data.shape
    (200, 3)
    """
    rng = _checked(n_samples, n_trajectories, dt, noise, random_state)
    starts = rng.uniform((-15, -20, 10), (15, 20, 40), size=(n_trajectories, 3))

    def law(x):
        return np.stack([10 * (x[1] - x[0]), x[0] * (28 - x[2]) - x[1], x[0] * x[1] - 8 / 3 * x[2]])

    starts = _integrate(law, starts, 2, TRANSIENT)[:, 1]
    return _bunch(rng, _integrate(law, starts, n_samples, dt), dt, noise)


def make_flow(
    n_samples: int = 150,
    shape: tuple[int, int] = (24, 48),
    *,
    n_trajectories: int = 1,
    dt: float = 0.1,
    noise: float = 0.0,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Vorticity in a channel with two rows of vortices that travel and decay: pictures of modes.

    The field is a mean shear plus two travelling waves along the channel, of which the slower is
    steady and the faster decays; across it they have one and two bumps. It is linear, of rank 5.

    Parameters
    ----------
    n_samples : int, default=150
        Pictures of a trajectory.

    shape : tuple of int, default=(24, 48)
        Height and width of a picture.

    n_trajectories : int, default=1
        Number of trajectories, which differ in the phases of the waves.

    dt : float, default=0.1
        Time between pictures.

    noise : float, default=0.0
        Standard deviation of the noise, relative to that of all pixels.

    random_state : int, RandomState or None, default=None
        Seed. An int gives the same data at each call; `clean` does not depend on `noise`.

    Returns
    -------
    data : Bunch
        With `data`, `clean`, `lengths`, `times`, `dt` and `exponents` as in `make_oscillators`; a
        feature is a pixel. `image_shape` is `shape`.

    Examples
    --------
    >>> from skatoms.datasets import make_flow
    >>> make_flow(20, (8, 16), random_state=0).data.shape
    (20, 128)
    """
    rng = _checked(n_samples, n_trajectories, dt, noise, random_state)
    if len(shape) != 2:
        raise ValueError(f"shape must be (height, width), got {shape!r}.")
    for length in shape:
        check_number("shape", length, kind=Integral, least=2)
    height, width = shape
    y = np.linspace(-1, 1, height)[:, None]
    x = 2 * np.pi * np.arange(width) / width
    times = np.arange(n_samples) * dt
    fields = np.broadcast_to(y * np.exp(-2 * y**2), (n_trajectories, n_samples, height, width))
    profiles = (np.exp(-3 * y**2), y * np.exp(-4 * y**2) * 3)
    exponents = [0j]
    for (waves, cycles), profile, decay in zip(VORTEX_WAVES, profiles, (0.0, 0.05), strict=True):
        phases = rng.uniform(0, 2 * np.pi, size=(n_trajectories, 1, 1, 1))
        angle = waves * x - 2 * np.pi * cycles * times[:, None, None] + phases
        fields = fields + profile * np.exp(-decay * times[:, None, None]) * np.cos(angle)
        exponents += [-decay + 2j * np.pi * cycles, -decay - 2j * np.pi * cycles]
    clean = fields.reshape(n_trajectories, n_samples, -1)
    return _bunch(
        rng, clean, dt, noise, clean.std(), exponents=np.array(exponents), image_shape=tuple(shape)
    )


def _checked(n_samples, n_trajectories, dt, noise, random_state):
    check_number("n_samples", n_samples, kind=Integral, least=2)
    check_number("n_trajectories", n_trajectories, kind=Integral, least=1)
    check_number("noise", noise, least=0)
    check_number("dt", dt, least=0)
    if dt == 0:
        raise ValueError("dt must be above 0, got 0.")
    return check_random_state(random_state)


def _integrate(law, starts, n_samples, dt):
    """All trajectories at once, (n_trajectories, n_samples, p)."""
    n, p = starts.shape
    times = np.arange(n_samples) * dt

    def flat(_, x):
        return law(x.reshape(p, n)).ravel()

    solved = solve_ivp(flat, (0, times[-1]), starts.T.ravel(), t_eval=times, **ACCURACY)
    return solved.y.reshape(p, n, n_samples).transpose(1, 2, 0)


def _bunch(rng, clean, dt, noise, size=None, **more):
    """The result; noise is relative to size, or to the deviation of each feature."""
    n, n_samples, p = clean.shape
    rows = clean.reshape(-1, p)
    size = rows.std(axis=0) if size is None else size
    data = rows + noise * size * rng.normal(size=rows.shape)
    times = np.tile(np.arange(n_samples) * dt, n)
    return Bunch(data=data, clean=rows, lengths=[n_samples] * n, times=times, dt=dt, **more)
