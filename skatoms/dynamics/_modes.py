"""What a fitted estimator says of its eigenvalues."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..backend import single_threaded_blas
from ._spectrum import deviations

SPURIOUS = 0.5  # relative residual above which an eigenvalue is marked in `spectrum`


class ModesMixin:
    """Attributes and a table of the spectrum of the operator."""

    @property
    def eigenvalues_(self):
        """Eigenvalues of the operator, largest amplitude first."""
        check_is_fitted(self)
        return self._spectrum.eigenvalues

    @property
    def modes_(self):
        """The mode of each eigenvalue, one a row."""
        check_is_fitted(self)
        return self._spectrum.modes

    @property
    def amplitudes_(self):
        """How strong each mode is in the training data."""
        check_is_fitted(self)
        return self._spectrum.amplitudes

    @property
    def residuals_(self):
        """How far each eigenfunction is from moving by its eigenvalue."""
        check_is_fitted(self)
        return self._spectrum.residuals

    @property
    def frequencies_(self):
        """Cycles in a unit of time; negative for one of a conjugate pair."""
        return np.angle(self.eigenvalues_) / (2 * np.pi * self.dt_)

    @property
    def growth_rates_(self):
        """Growth in a unit of time, as the real part of an exponent; negative is decay."""
        with np.errstate(divide="ignore"):
            return np.log(abs(self.eigenvalues_)) / self.dt_

    @property
    def eigenvalues_std_(self):
        """Standard deviations of the eigenvalues."""
        check_is_fitted(self)
        if self._deviations is None:
            self._deviations = self._find_deviations()
        return self._deviations

    def spectrum(self):
        """What is known of each eigenvalue.

        Returns
        -------
        table : pandas.DataFrame
            One row for each eigenvalue, with columns ``eigenvalue``, ``std``, ``frequency``,
            ``growth_rate``, ``amplitude``, ``residual`` and ``spurious``: whether the residual is
            above one half, so that the eigenfunction does not move by the eigenvalue at all.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        try:
            from pandas import DataFrame
        except ImportError as error:
            raise ImportError(
                "spectrum() makes a table of pandas, which is not installed: python -m pip install "
                "pandas, or take eigenvalues_, residuals_ and the like."
            ) from error
        return DataFrame(
            {
                "eigenvalue": self.eigenvalues_,
                "std": self.eigenvalues_std_,
                "frequency": self.frequencies_,
                "growth_rate": self.growth_rates_,
                "amplitude": self.amplitudes_,
                "residual": self.residuals_,
                "spurious": self.residuals_ > SPURIOUS,
            }
        )

    @single_threaded_blas()
    def _find_deviations(self):
        """By leaving out parts of the data in turn, or from the curvature of the squared error."""
        fitted, eigenvalues = self._fitted, self._spectrum.eigenvalues
        if fitted.exponentials is not None:
            return _rates_deviations(fitted.exponentials, eigenvalues, self.dt_)
        moments = fitted.moments
        if len(moments.blocks) < 2:
            return np.full(len(eigenvalues), np.nan)
        total, n, others = moments.gram, moments.n, []
        for block, count in zip(moments.blocks, moments.counts, strict=True):
            try:
                model = self._settings().solve(moments, total - block, n - count)
            except ValueError:  # what is left does not hold the rank
                return np.full(len(eigenvalues), np.nan)
            others.append(np.linalg.eigvals(model.operator))
        return deviations(eigenvalues, others)


def _rates_deviations(found, eigenvalues, dt):
    """Deviations of eigenvalues exp(dt (growth + i angular))."""
    rates, k = found.rates, len(found.rates.growth)
    variances = np.diag(found.covariance)
    total = variances[:k].copy()
    total[rates.pairs] += variances[k:]
    known = np.exp(dt * (rates.growth + 1j * rates.angular))
    known = np.append(known, known.conj())
    nearest = abs(eigenvalues[:, None] - known).argmin(axis=1) % k
    return abs(eigenvalues) * dt * np.sqrt(np.maximum(total[nearest], 0))
