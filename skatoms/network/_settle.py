"""Codes of all layers for given atoms: the least energy."""

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from ..basis._alternation import row_errors
from ..basis._atoms import normalised
from ..coding import L1
from ..coding._encode import encode, encode_masked

MAX_SWEEPS = 100
TWINS = 1e-6  # one less the cosine of atoms that count as the same
SWEEP_TOL = 1e-6  # relative fall of the energy of a batch at which sweeps end


def settle(layers, X, components, *, start=None, output="dense", n_jobs=None):
    """Codes of least energy for longer samples; returns codes and the report.

    The energy is convex in all codes, so all layers are solved together, by one problem, to its
    only minimum. A top layer that counts its codes is not convex: it and the layers below then take
    turns, each starting from where it was, so that no turn raises the energy; `n_iter` of the
    report is then the number of these sweeps.

    Parameters
    ----------
    layers : Layers
    X : ndarray of shape (n_samples, length)
        Longer samples, with or without targets. NaN is not explained.
    components : ndarray of shape (n_atoms of all layers, length)
    start : ndarray or CSR of shape (n_samples, n_atoms of all layers), default=None
        Codes to start from.
    output : {"dense", "sparse"}
    n_jobs : int or None
    """
    how = {"output": output, "n_jobs": n_jobs}
    if layers.top_k is None:
        return _code(X, components, layers.penalty, start=start, **how)
    if len(layers) == 1:
        return _code(X, components, layers.top_penalty, start=start, **how)
    codes = np.zeros((len(X), len(components)), X.dtype)
    if start is not None:
        codes += start
    codes, report = _take_turns(layers, X, components, np.asarray(codes), n_jobs)
    return (codes if output == "dense" else csr_array(codes)), report


def _code(X, components, penalty, **how):
    known = encode_masked if np.isnan(X).any() else encode
    return known(X, components, alpha=1.0, penalty=penalty, **how)


def _take_turns(layers, X, components, codes, n_jobs):
    """Sweeps of the layers below the top and the top, for rows whose energy still falls."""
    top, below = layers.rows[-1], slice(0, layers.rows[-1].start)
    turns = (
        (below, top, L1(layers.positive, layers.penalty.weights[below])),
        (top, below, layers.top_penalty),
    )
    rows, before, reports = np.arange(len(X)), row_energies(layers, X, codes, components), []
    n_sweeps = 0
    while len(rows) > 0 and n_sweeps < MAX_SWEEPS:
        n_sweeps += 1
        now = codes[rows]
        for part, others, penalty in turns:
            rest = X[rows] - now[:, others] @ components[others]
            now[:, part], report = _code(
                rest, components[part], penalty, start=now[:, part], n_jobs=n_jobs
            )
            reports.append(report)
        codes[rows] = now
        energy = row_energies(layers, X[rows], now, components)
        falls = before - energy > SWEEP_TOL * energy
        rows, before = rows[falls], energy[falls]
    worst = max(reports[-2:], key=lambda report: report.n_unconverged)
    return codes, replace(worst, n_rows=len(X), n_iter=n_sweeps)


def row_energies(layers, X, codes, components):
    """The energy of each row, missing values left out."""
    return row_errors(X, codes, components) + layers.penalty.value(codes)


def twins_folded(layers, components):
    """A matrix that moves what codes give to an atom to the first one of the same direction.

    Codes may be shared between such atoms in any way, at the same energy: so they are well-defined.
    It is (n_atoms, n_atoms), or None if no atoms are alike.
    """
    unit = normalised(components)
    cosines = unit @ unit.T
    alike = (cosines if layers.positive else np.abs(cosines)) > 1 - TWINS
    np.fill_diagonal(alike, True)
    first = alike.argmax(axis=1)
    everyone = np.arange(len(first))
    if (first == everyone).all():
        return None
    signs = np.sign(cosines[everyone, first])
    return csr_array((signs.astype(components.dtype), (everyone, first)), alike.shape)
