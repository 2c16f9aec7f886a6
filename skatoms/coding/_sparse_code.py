"""The public entry to the coding layer."""

import sys
from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse, sparray, spmatrix
from sklearn.utils.validation import check_array

from .._validation import FLOAT_DTYPES
from ._encode import encode
from ._penalties import Penalty, as_penalty
from ._problem import CodingReport
from ._solvers import SOLVERS, choose_solver


def sparse_code(
    X: ArrayLike,
    components: ArrayLike,
    *,
    alpha: float = 1.0,
    penalty: str | Penalty = "l1",
    solver: str = "auto",
    positive: bool = False,
    n_nonzero: int | None = None,
    codes_init: ArrayLike | sparray | spmatrix | None = None,
    max_iter: int = 1000,
    tol: float = 1e-6,
    n_jobs: int | None = None,
    output: str = "dense",
    return_report: bool = False,
) -> np.ndarray | csr_array | tuple[np.ndarray | csr_array, CodingReport]:
    """Explain each row of X by few atoms.

    Row x of X gets the code a that minimises ``1/2 |x - components.T @ a|^2 + alpha * R(a)``.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Data. float32 and float64 are each computed in their own precision, but for the small
        systems of each row's non-zeros, which are always solved in float64. Other dtypes are
        converted to float64.

    components : array-like of shape (n_components, n_features)
        The atoms, one a row, of any norm. Converted to the dtype of X.

    alpha : float, default=1.0
        Weight of the penalty, not negative. With the l1 penalty, a row whose largest
        ``|components @ x|`` is at most alpha has code zero. Not used by `penalty="top_k"`.

    penalty : {"l1", "elastic_net", "ridge", "l0", "top_k"} or penalty object, default="l1"
        R: the sum of absolute values, its mean with half the sum of squares, that alone, the number
        of non-zeros, or at most `n_nonzero` non-zeros. Objects of :mod:`skatoms.coding` such as
        ``GroupL1(groups)`` or ``L1(weights=w)`` say more than a name can.

    solver : {"auto", "active-set", "homotopy", "fista", "block-descent", "direct", "omp"}, \
default="auto"
        - "active-set": exact, the fastest for l1 and the elastic net, and able to start from
          `codes_init`;
        - "homotopy": exact for the same, follows the path of solutions from zero;
        - "fista": accelerated proximal gradient, for every convex penalty, able to start from
          `codes_init`;
        - "block-descent": one group of atoms after the other, for :class:`GroupL1` and for l0,
          whose local minima depend on `codes_init`;
        - "direct": the closed form of ridge;
        - "omp": orthogonal matching pursuit, a greedy answer to `penalty="top_k"`, the
          only one for it; a row ends early where no atom's correlation with what is left
          is above `tol` times the largest at its start. Rows for which the atoms of
          `codes_init` explain more keep these;
        - "auto": the first of these that can solve the penalty, but ridge by "direct".

    positive : bool, default=False
        Whether codes must not be negative. For all names but "top_k".

    n_nonzero : int, default=None
        Non-zeros of each row, for `penalty="top_k"`.

    codes_init : array-like or sparse of shape (n_samples, n_components), default=None
        Codes to start from, for all solvers but "homotopy" and "direct".

    max_iter : int, default=1000
        Rounds, path steps or iterations that each row may take.

    tol : float, default=1e-6
        A row is solved when its KKT residual is at most `tol` times its scale. The residual is the
        largest distance of an atom's correlation with what the code leaves from where it has to
        be, the scale the largest ``|components @ x|``, both with each atom's entry divided by its
        norm. What rounding errors hide is forgiven: `tol` is never taken below 50 times the
        precision of the dtype, nor the residual below 8 times the precision times the sum of
        ``|a|`` times the norms of their atoms.

    n_jobs : int, default=None
        Threads. None is 1 unless in a :obj:`joblib.parallel_config` context, -1 is all cores.
        Results do not depend on it.

    output : {"dense", "sparse"}, default="dense"
        Codes as an ndarray or as a :class:`scipy.sparse.csr_array`.

    return_report : bool, default=False
        Whether to return a :class:`CodingReport` too.

    Returns
    -------
    codes : ndarray or csr_array of shape (n_samples, n_components)
        In the precision of X.

    report : CodingReport
        Only if `return_report`.

    Raises
    ------
    ValueError, TypeError
        If a parameter is out of its range; the message names it.

    Warns
    -----
    ConvergenceWarning
        If rows were not solved to `tol`: how many, and the worst residual.

    Notes
    -----
    A row costs about ``rounds * n_components * s + s ** 3`` operations for s non-zeros, after a
    product with the atoms. Memory beside the output is a Gram matrix of
    ``n_components ** 2`` and some 128 rows a thread.

    References
    ----------
    Efron, Hastie, Johnstone and Tibshirani, "Least angle regression", 2004 (homotopy).
    Lee, Battle, Raina and Ng, "Efficient sparse coding algorithms", 2006 (active set).
    O'Donoghue and Candes, "Adaptive restart for accelerated gradient schemes", 2015 (FISTA).
    Rubinstein, Zibulevsky and Elad, "Efficient implementation of the K-SVD algorithm", 2008 (OMP).

    Examples
    --------
    >>> import numpy as np
    >>> from skatoms.coding import sparse_code
    >>> atoms = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    >>> sparse_code([[0.6, 0.8], [2.0, 0.0]], atoms, alpha=0.1)
    array([[0. , 0. , 0.9],
           [1.9, 0. , 0. ]])
    """
    X = check_array(X, dtype=FLOAT_DTYPES, order="C", input_name="X")
    components = check_array(components, dtype=X.dtype, order="C", input_name="components")
    if components.shape[1] != X.shape[1]:
        raise ValueError(
            f"components has {components.shape[1]} features and X has {X.shape[1]}: each atom, a "
            "row of components, needs one entry per feature of X."
        )
    _check_range(X, components)
    penalty = as_penalty(penalty, positive, n_nonzero)
    penalty.check(len(components))
    chosen = choose_solver(solver, penalty)
    _check_number("alpha", alpha, Real, 0)
    _check_number("tol", tol, Real, 0)
    _check_number("max_iter", max_iter, Integral, 1)
    if n_jobs is not None:
        _check_number("n_jobs", n_jobs, Integral, -np.inf)
    if output not in ("dense", "sparse"):
        raise ValueError(f"output must be 'dense' or 'sparse', got {output!r}.")
    if codes_init is not None:
        if not SOLVERS[chosen].warm:
            raise ValueError(
                f"codes_init does not go with solver={solver!r}, which starts from zero: leave it "
                "out, or use another one."
            )
        codes_init = _check_codes(codes_init, X, components)
    codes, report = encode(
        X,
        components,
        alpha=alpha,
        penalty=penalty,
        solver=chosen,
        start=codes_init,
        max_iter=max_iter,
        tol=tol,
        output=output,
        n_jobs=n_jobs,
    )
    report.warn()
    return (codes, report) if return_report else codes


def _check_number(name, value, kind, least):
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number of type {kind.__name__}, got {value!r}.")
    if not least <= value <= sys.float_info.max:
        raise ValueError(f"{name} must be finite and at least {least}, got {value!r}.")


def _check_range(X, components):
    """Refuse what the products with atoms can not hold in the precision of X."""
    limits = np.finfo(X.dtype)
    peaks = np.abs(components).max(axis=1).astype(np.float64)
    peaks = peaks[peaks > 0]
    if len(peaks) == 0:
        return
    width = np.sqrt(X.shape[1])
    least, most = np.sqrt(float(limits.tiny)), np.sqrt(float(limits.max)) / width
    if not least <= peaks.min() <= peaks.max() <= most:
        raise ValueError(
            f"components has atoms with a largest entry of {peaks.min():.1e} and of "
            f"{peaks.max():.1e}: it must be between {least:.1e} and {most:.1e} (or zero), so that "
            f"{X.dtype} can hold their squares. Scale them."
        )
    largest = float(np.abs(X).max())
    if largest * float(peaks.max()) * X.shape[1] > float(limits.max):
        raise ValueError(
            f"X has values up to {largest:.1e}, whose products with components {X.dtype} can not "
            "hold: scale it down."
        )


def _check_codes(codes_init, X, components):
    if issparse(codes_init):
        codes_init = csr_array(codes_init)
        codes_init.check_format(full_check=True)
    codes = check_array(
        codes_init,
        accept_sparse="csr",
        dtype=X.dtype,
        order="C",
        input_name="codes_init",
    )
    if codes.shape != (len(X), len(components)):
        raise ValueError(
            f"codes_init has shape {codes.shape}, but X and components need "
            f"{(len(X), len(components))}."
        )
    return codes
