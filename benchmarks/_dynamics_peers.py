"""Forecasts of other packages, for `benchmarks.dynamics`, where these are installed.

A forecast is a function: states of shape (n, n_features) and a number of steps, to states of shape
(n, n_steps, n_features). For series it takes windows, (n, n_rows), to values, (n, n_steps).
"""

import importlib.metadata
import importlib.util
import warnings

import numpy as np
from sklearn.preprocessing import PolynomialFeatures

PEERS = ("pydmd", "deeptime", "kooplearn", "pysindy")
INSTALLED = {name for name in PEERS if importlib.util.find_spec(name)}
FINE = 10  # steps of Runge and Kutta between two rows
FAR = 1e6


def print_versions():
    """Which peers there are."""
    found = [f"{name} {importlib.metadata.version(name)}" for name in PEERS if name in INSTALLED]
    print(f"peers: {', '.join(found) or 'none'}")
    missing = [name for name in PEERS if name not in INSTALLED]
    if missing:
        print(f"not installed, left out: {', '.join(missing)}")


def quiet(function):
    """The function without warnings of peers."""

    def run(*args, **settings):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*args, **settings)

    return run


def pairs(parts):
    """Rows that have a next one in their trajectory, and these."""
    return np.concatenate([x[:-1] for x in parts]), np.concatenate([x[1:] for x in parts])


def repeated(step, states, n_steps):
    """Forecasts by taking one step after the other; far ones stay where they are."""
    found = []
    for _ in range(n_steps):
        with np.errstate(all="ignore"):
            states = np.clip(np.nan_to_num(step(states), nan=FAR), -FAR, FAR)
        found.append(states)
    return np.stack(found, axis=1)


# Exponentials


@quiet
def bopdmd(states, times, ahead, rank, **settings):
    """Continuous-time eigenvalues by BOPDMD, and the state at a later time."""
    from pydmd import BOPDMD

    model = BOPDMD(svd_rank=rank, **settings).fit(states.T, times)
    later = model.forecast(np.array([ahead, ahead]))  # of a single time it fails with bags
    mean = later[0] if isinstance(later, tuple) else later
    return model.eigs, mean[:, 0].real


@quiet
def dmd(states, dt, n_steps, rank, **settings):
    """Eigenvalues by one of the closed forms, and the state some steps after the last one."""
    from pydmd import DMD, FbDMD

    kind = FbDMD if settings.pop("both_ways", False) else DMD
    model = kind(svd_rank=rank, **settings).fit(states.T)
    found = np.linalg.lstsq(model.modes, states[-1].astype(complex))[0]
    later = model.modes @ (found * model.eigs**n_steps)
    return np.log(model.eigs) / dt, later.real


# Systems


@quiet
def edmd(parts, dt, degree, lifted_anew):
    """EDMD with monomials of deeptime; the state is read off by least squares, as it has no way.

    `lifted_anew`: whether states are read off and lifted again after each step, by our own hand.
    """
    from deeptime.basis import Monomials
    from deeptime.decomposition import EDMD

    now, later = pairs(parts)
    lift = Monomials(p=degree, d=now.shape[1])
    operator = EDMD(lift).fit_fetch((now, later)).koopman_matrix.real
    read = np.linalg.lstsq(lift(now), now)[0]

    def forecast(states, n_steps):
        if lifted_anew:
            return repeated(lambda x: lift(x) @ operator @ read, states, n_steps)
        return repeated(lambda z: z @ operator, lift(states), n_steps) @ read

    return forecast


@quiet
def sindy(parts, dt, degree, threshold, derivative):
    """PySINDy: a sparse polynomial law.

    derivative : None for finite differences, the length of a window that smooths them, or ("weak",
        width of a subdomain) for the weak form.
    """
    import pysindy as ps

    library, differences = ps.PolynomialLibrary(degree=degree), ps.FiniteDifference()
    if isinstance(derivative, tuple):
        library = ps.WeakPDELibrary(
            function_library=library,
            spatiotemporal_grid=np.arange(len(parts[0])) * dt,
            is_uniform=True,
            K=max(8000 // len(parts), 20),
            H_xt=[derivative[1]],
        )
    elif derivative is not None:
        differences = ps.SmoothedFiniteDifference(smoother_kws={"window_length": derivative})
    model = ps.SINDy(ps.STLSQ(threshold=threshold), library, differences)
    model.fit(parts if len(parts) > 1 else parts[0], t=dt)
    features = PolynomialFeatures(degree)
    terms = np.asarray(model.coefficients()).T

    def law(x):
        return features.fit_transform(np.clip(x, -FAR, FAR)) @ terms

    def step(x):
        short = dt / FINE
        for _ in range(FINE):
            a = law(x)
            b = law(x + short / 2 * a)
            c = law(x + short / 2 * b)
            x = x + short / 6 * (a + 2 * b + 2 * c + law(x + short * c))
        return x

    return lambda states, n_steps: repeated(step, states, n_steps)


# Series


def windows_of(series, n_delays):
    """All windows of a series, and the windows one step later."""
    rows = np.lib.stride_tricks.sliding_window_view(series, n_delays)
    return rows[:-1], rows[1:]


def from_windows(step, n_delays):
    """Forecasts of a series by a step of windows."""

    def forecast(past, n_steps):
        return repeated(step, past[:, -n_delays:], n_steps)[:, :, -1]

    return forecast


@quiet
def deeptime_dmd(series, n_delays, rank):
    """DMD of windows by deeptime."""
    from deeptime.decomposition import DMD

    centre = series.mean()
    model = DMD(rank=rank).fit_fetch(tuple(w - centre for w in windows_of(series, n_delays)))
    return from_windows(lambda w: model.transform(w - centre).real + centre, n_delays)


@quiet
def pydmd_tls(series, n_delays, rank):
    """DMD of windows by total least squares, by PyDMD."""
    from pydmd import DMD

    centre = series.mean()
    rows = np.lib.stride_tricks.sliding_window_view(series - centre, n_delays)
    model = DMD(svd_rank=rank, tlsq_rank=rank).fit(rows.T.copy())
    return from_windows(lambda w: model.predict((w - centre).T).real.T + centre, n_delays)


@quiet
def kooplearn_ridge(series, n_delays, rank, alpha):
    """Ridge regression of windows by kooplearn."""
    from kooplearn.linear_model import Ridge

    centre = series.mean()
    rows = np.lib.stride_tricks.sliding_window_view(series - centre, n_delays).copy()
    model = Ridge(n_components=rank, reduced_rank=False, alpha=alpha, random_state=0).fit(rows)
    return from_windows(lambda w: model.predict(w - centre) + centre, n_delays)


# Which step


@quiet
def stepping(states):
    """Forecasts of linear data by each peer, as a function of the number of steps."""
    found = {}
    if "kooplearn" in INSTALLED:
        from kooplearn.kernel import KernelRidge, NystroemKernelRidge
        from kooplearn.linear_model import Ridge

        for name, model in {
            "kooplearn Ridge": Ridge(n_components=4, alpha=1e-10),
            "kooplearn KernelRidge": KernelRidge(n_components=4, alpha=1e-10),
            "kooplearn NystroemKernelRidge": NystroemKernelRidge(
                n_components=4, alpha=1e-10, n_centers=100, random_state=0
            ),
        }.items():
            model.fit(states)
            found[name] = quiet(lambda x, n, model=model: model.predict(x, n_steps=n))
    if "deeptime" in INSTALLED:
        anew = edmd([states], 1, 1, True)
        found["deeptime EDMD, powers by hand"] = lambda x, n: anew(x, n)[:, -1]
    if "pydmd" in INSTALLED:
        from pydmd import DMD

        operator = DMD(svd_rank=4).fit(states.T)

        def by_modes(x, n):
            amplitudes = np.linalg.lstsq(operator.modes, x.T.astype(complex))[0]
            return (operator.modes @ (operator.eigs[:, None] ** n * amplitudes)).real.T

        found["PyDMD DMD, powers by hand"] = by_modes
    return found
