"""The atoms that data of `benchmarks.compositional` are made of."""

import numpy as np

from skatoms.datasets._functions import BUMP_CENTRES, BUMP_WIDTH, DEGREE, FREQUENCIES

N_BUMPS = 100  # places of a bump in a signal, evenly spaced: true ones are anywhere between


def waves(n_points):
    """All sines and cosines, one a row."""
    angles = np.pi * np.array(FREQUENCIES)[:, None] * np.linspace(-1, 1, n_points)
    return unit(np.concatenate([np.sin(angles), np.cos(angles)]))


def function_atoms(n_points):
    """The waves, a basis of the polynomials, and bumps."""
    points = np.linspace(-1, 1, n_points)
    polynomials = np.polynomial.legendre.legvander(points, DEGREE).T
    centres = np.linspace(*BUMP_CENTRES, N_BUMPS)[:, None]
    bumps = np.exp(-(((points - centres) / BUMP_WIDTH) ** 2) / 2)
    return np.concatenate([waves(n_points), unit(polynomials), unit(bumps)])


def bump_pictures(size, sigma=1.0):
    """A bump at the middle of each pixel, one a row: all products of two profiles."""
    middles = np.arange(size)
    profiles = unit(np.exp(-(((middles - middles[:, None]) / sigma) ** 2) / 2))
    return np.einsum("ih,jw->ijhw", profiles, profiles).reshape(size**2, -1)


def unit(atoms):
    """Each row divided by its norm."""
    return atoms / np.linalg.norm(atoms, axis=1, keepdims=True)
