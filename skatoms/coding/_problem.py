"""What is solved for every row, and how well it was solved."""

import warnings
from collections import namedtuple
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import eigvalsh
from sklearn.exceptions import ConvergenceWarning

from .._validation import outside
from ._penalties import ElasticNet


def least_tolerance(dtype):
    """The relative residual that a precision can tell from rounding errors."""
    return 50 * float(np.finfo(dtype).eps)


@dataclass(frozen=True)
class CodingProblem:
    """min over a of 1/2 a'Ga - b'a + alpha R(a), for many rows b that share everything else.

    Parameters
    ----------
    gram : ndarray of shape (n_atoms, n_atoms)
        G, of float32 or float64, the precision in which everything is computed. The quadratic part
        of the penalty is in it already.
    penalty : penalty object
        R; what is left of it.
    alpha : float
        Weight of the penalty.
    rank : int
        An upper bound of the rank of G, such as the number of features.
    max_iter : int
        Rounds, path steps or iterations that a row may take.
    tol : float
        A row is solved when its KKT residual is at most this part of its scale: its largest |b|,
        or what rounding errors make of it. All are taken relative to the norms of the atoms.
    ridge : ndarray of shape (n_atoms,) or None
        What G has on its diagonal for the quadratic part of the penalty.
    """

    gram: np.ndarray
    penalty: object
    alpha: float
    rank: int
    max_iter: int = 1000
    tol: float = 1e-6
    ridge: np.ndarray | None = None

    @property
    def dtype(self):
        """Precision of the computation."""
        return self.gram.dtype

    @property
    def tolerance(self):
        """`tol`, but not below what the precision can tell from rounding errors."""
        return max(self.tol, least_tolerance(self.dtype))

    @cached_property
    def rules(self):
        """What the kernels need to know beside arrays."""
        eps = float(np.finfo(self.dtype).eps)
        n_atoms = len(self.gram)
        slopes = self.penalty.slopes(n_atoms) if isinstance(self.penalty, ElasticNet) else None
        thresholds = np.zeros(n_atoms) if slopes is None else float(self.alpha) * slopes
        return Rules(
            alpha=float(thresholds.max()),
            thresholds=thresholds,
            positive=bool(getattr(self.penalty, "positive", False)),
            max_iter=int(min(self.max_iter, 2**31)),
            tol=self.tolerance,
            rounding=8 * eps / self.tolerance,
            dependence=eps**0.7,
            lengths=self.lengths,
        )

    @cached_property
    def lengths(self):
        """The norms of the atoms, in float64; that of zero atoms counts as the largest one."""
        lengths = np.sqrt(self.gram.diagonal().astype(np.float64))
        return np.where(lengths > 0, lengths, lengths.max() or 1.0)

    def relative_residuals(self, targets, codes, left):
        """The KKT residual of each row, relative to its scale; see `Rules`."""
        lengths = self.lengths.astype(self.dtype)
        residuals = (self.penalty.residual(codes, left, self.alpha) / lengths).max(axis=1)
        rounding = self.dtype.type(self.rules.rounding) * (np.abs(codes) @ lengths)
        scales = np.maximum((np.abs(targets) / lengths).max(axis=1), rounding)
        return residuals / np.where(scales > 0, scales, 1)

    def prepared(self, make):
        """What `make(problem)` returns, made once for all rows."""
        memory = self.__dict__.setdefault("_prepared", {})
        if make not in memory:
            memory[make] = make(self)
        return memory[make]

    @cached_property
    def curvature(self):
        """Largest eigenvalue of G, a little rounded up."""
        last = len(self.gram) - 1
        largest = eigvalsh(self.gram, subset_by_index=[last, last])[0]
        return max(float(largest), np.finfo(self.dtype).tiny) * (1 + 1e-5)


# positive, max_iter : as in the problem.
# thresholds : the weights of the absolute values; alpha is the same where they are all alike.
# tol : residual, relative to the scale of a row, at which it is solved. The residual is the largest
#     violation of an atom, the scale the largest |b|, each divided by the atom's length: so neither
#     depends on how long atoms are, and short ones are not lost beside long ones.
# rounding : times the sum of |a| length this is the scale, where that is more: Ga then has terms so
#     large that their rounding errors are all that is left.
# dependence : squared relative distance from a span below which an atom counts as lying in it.
# lengths : norms of the atoms.
Rules = namedtuple("Rules", "alpha thresholds positive max_iter tol rounding dependence lengths")


@dataclass(frozen=True)
class CodingReport:
    """How the solver got on.

    Attributes
    ----------
    solver : str
        The solver that ran.
    n_rows : int
        How many rows there were.
    n_iter : int
        Most rounds, steps or iterations that a row took.
    residual : float
        Worst KKT residual of a row, relative to the row's scale.
    tolerance : float
        What it was to be at most: `tol`, or what the precision allows.
    n_unconverged : int
        Rows whose residual is above the tolerance.
    """

    solver: str
    n_rows: int
    n_iter: int
    residual: float
    tolerance: float
    n_unconverged: int

    def merged(self, other):
        """One report on the rows of both.

        Parameters
        ----------
        other : CodingReport
            On other rows of the same problem.

        Returns
        -------
        report : CodingReport
            On all of them.
        """
        return CodingReport(
            self.solver,
            self.n_rows + other.n_rows,
            max(self.n_iter, other.n_iter),
            max(self.residual, other.residual),
            self.tolerance,
            self.n_unconverged + other.n_unconverged,
        )

    def warn(self):
        """Warn once if there are rows that did not converge.

        Warns
        -----
        ConvergenceWarning
            How many rows, and the worst residual.
        """
        if self.n_unconverged:
            warnings.warn(
                f"{self.n_unconverged} of {self.n_rows} rows did not converge with "
                f"solver={self.solver!r}: the worst relative KKT residual is {self.residual:.1e}, "
                f"it should be at most {self.tolerance:.1e}. Where they can be set for codes, as "
                "in sparse_code, increase max_iter or tol; if that does not help, atoms hardly "
                "differ or are far too long or short, or the penalty is not convex.",
                ConvergenceWarning,
                stacklevel=outside(),
            )


def report_on(problem, solver, n_iter, residuals):
    """The CodingReport on rows that a solver has left with these residuals."""
    return CodingReport(
        solver=solver,
        n_rows=len(residuals),
        n_iter=int(n_iter),
        residual=float(residuals.max()),
        tolerance=problem.tolerance,
        # Written so that a residual that is not a number counts as unconverged.
        n_unconverged=int(np.count_nonzero(~(residuals <= problem.tolerance))),
    )
