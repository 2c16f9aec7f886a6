"""Atoms as pictures or curves."""

import math
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ._drawing import check_picture, pyplot


class AtomsDisplay:
    """Atoms drawn side by side.

    Make one with :meth:`from_estimator`, or from an array of atoms.

    Parameters
    ----------
    components : array-like of shape (n_components, n_features)
        The atoms, one a row.

    feature_shape : tuple of int, default=None
        (height, width) draws each atom as a picture; None draws it as a curve over the features.

    Attributes
    ----------
    figure_ : matplotlib Figure
        The figure of the last `plot`.

    axes_ : ndarray of matplotlib Axes
        The axes that atoms are drawn on, one each.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skatoms import VariationalBasisLearner
    >>> from skatoms.inspection import AtomsDisplay
    >>> X = load_digits().data / 16
    >>> learner = VariationalBasisLearner(16, alpha=0.5, tol=1e-3, random_state=0).fit(X)
    >>> AtomsDisplay.from_estimator(learner, feature_shape=(8, 8)).axes_.shape
    (16,)
    """

    def __init__(
        self, components: ArrayLike, *, feature_shape: tuple[int, int] | None = None
    ) -> None:
        self.components = np.array(components, dtype=float)
        if self.components.ndim != 2 or self.components.size == 0:
            raise ValueError(
                f"components has shape {self.components.shape}, it must be (n_components, "
                "n_features) with at least one of each."
            )
        self.feature_shape = feature_shape

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        *,
        feature_shape: tuple[int, int] | None = None,
        order: ArrayLike | None = None,
        max_atoms: int = 100,
    ) -> Self:
        """Draw the atoms of a fitted estimator.

        Parameters
        ----------
        estimator : estimator with `components_`
            A fitted estimator.

        feature_shape : tuple of int, default=None
            (height, width) draws pictures, None curves.

        order : array-like of int, default=None
            Indices of the atoms to draw, in this order. None takes them as they are.

        max_atoms : int, default=100
            How many atoms are drawn at the most.

        Returns
        -------
        display : AtomsDisplay
            The display, drawn.
        """
        check_is_fitted(estimator, "components_")
        if max_atoms < 1:
            raise ValueError(f"max_atoms must be at least 1, got {max_atoms!r}.")
        atoms = estimator.components_
        chosen = atoms if order is None else atoms[np.asarray(order, dtype=int)]
        return cls(chosen[:max_atoms], feature_shape=feature_shape).plot()

    def plot(self, *, figure=None) -> Self:
        """Draw the atoms.

        Parameters
        ----------
        figure : matplotlib Figure or SubFigure, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        display : AtomsDisplay
            Itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If `feature_shape` does not match the number of features.
        """
        n_atoms, n_features = self.components.shape
        shape = self.feature_shape
        if shape is not None:
            check_picture(shape, n_features)
        if figure is None:
            side = 0.6 * math.sqrt(n_atoms) + 0.4
            figure = pyplot().figure(figsize=(side, side), layout="constrained")
        # As many columns as make the cells about square.
        aspect = figure.bbox.width / figure.bbox.height
        n_columns = min(n_atoms, math.ceil(math.sqrt(n_atoms * aspect)))
        n_rows = math.ceil(n_atoms / n_columns)
        grid = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
        for axes in grid:
            axes.set_axis_off()
        for axes, atom in zip(grid, self.components, strict=False):
            limit = np.abs(atom).max() or 1.0
            if shape is None:
                axes.plot(atom, linewidth=1)
                axes.set_ylim(-1.1 * limit, 1.1 * limit)
            else:
                # Grey is zero in every picture, whatever the range of the atom.
                axes.imshow(atom.reshape(shape), cmap="gray", vmin=-limit, vmax=limit)
        self.figure_, self.axes_ = figure, grid[:n_atoms]
        return self
