"""Random linear tasks on categorical factors."""

from collections.abc import Mapping, Sequence
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.utils import Bunch, check_random_state

from .._one_hot import one_hot
from .._validation import check_number, whole_numbers
from ._factors import (
    NUMBER_THEM,
    check_categories,
    check_factors,
)

DESCR = """\
Binary tasks whose log-odds are linear in the one-hot codes of categorical factors, with random
weights. The targets are the probabilities, or labels that are drawn from them."""


def make_linear_tasks(
    factors: ArrayLike,
    n_tasks: int = 100,
    n_categories: int | Sequence[int] | None = None,
    rank: int | None = None,
    ignore: Sequence[int] = (),
    scale: float = 1.0,
    hard: bool = False,
    test: Mapping[str, ArrayLike] | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Draw binary tasks that are linear in categorical factors.

    The probability of task t is `sigmoid(z w_t + b_t)` for the one-hot codes z of the factors side
    by side. Weights are normal, less their mean over the categories of each factor: as one category
    of each factor is always present, that mean would act as an intercept. So the weights have at
    most rank `sum(n_categories) - n_factors`, and with that rank the tasks determine the factors.

    Parameters
    ----------
    factors : array-like of int of shape (n_samples, n_factors)
        Categories, from 0, such as those of :func:`make_entangled_factors`.

    n_tasks : int, default=100
        Number of tasks.

    n_categories : int or sequence of int, default=None
        Number of categories of each factor, at least 2: one for all, or one a factor. None takes
        the largest category found in `factors` plus 1.

    rank : int, default=None
        Rank of the weights. None is the most that there can be: `n_tasks`, or the sum over factors
        that are not ignored of their number of categories less 1, whichever is smaller.

    ignore : sequence of int, default=()
        Factors that no task depends on: their weights are 0.

    scale : float, default=1.0
        Standard deviation of weights and intercepts, before the means are subtracted. Above 0.

    hard : bool, default=False
        Whether targets are labels 0 and 1, drawn with the probabilities, in place of the
        probabilities themselves.

    test : mapping of str to array-like, default=None
        Factors of test parts, by the name of the part: the tasks are the same on them.

    random_state : int, RandomState or None, default=None
        Seed. An int gives the same tasks at each call with the same n_categories, n_tasks, rank,
        ignore and scale, whatever the samples.

    Returns
    -------
    tasks : Bunch
        A dictionary whose entries are attributes too:

        - `target`: of shape (n_samples, n_tasks), float64 probabilities, or int labels if `hard`;
        - `probabilities`: float64 of shape (n_samples, n_tasks), with `hard` too;
        - `test`: dict of Bunch with `target` and `probabilities` of each part in `test`;
        - `weights`: float64 of shape (sum(n_categories), n_tasks): the categories of the first
          factor, then those of the second, and so on;
        - `intercept`: float64 of shape (n_tasks,);
        - `rank`: int, the rank of `weights`;
        - `n_categories`: tuple of int, one a factor;
        - `DESCR`: str.

    Raises
    ------
    ValueError, TypeError
        If a parameter is out of its range or factors are not such numbers.

    See Also
    --------
    make_entangled_factors : Rows to solve the tasks from.

    Notes
    -----
    The cost is `O(n_samples * sum(n_categories) * n_tasks)`.

    Examples
    --------
    >>> from skatoms.datasets import make_entangled_factors, make_linear_tasks
    >>> rows = make_entangled_factors(100, 50, n_factors=2, n_categories=3, random_state=0)
    >>> tasks = make_linear_tasks(
    ...     rows.factors, 20, test={"id": rows.test["id"].factors}, random_state=0
    ... )
    >>> tasks.target.shape, tasks.test["id"].target.shape, tasks.rank
    ((100, 20), (50, 20), 4)
    """
    check_number("n_tasks", n_tasks, kind=Integral, least=1)
    check_number("scale", scale, least=np.finfo(float).tiny, most=np.finfo(float).max)
    factors = whole_numbers("factors", factors, hint=NUMBER_THEM)
    if n_categories is None:
        n_categories = np.maximum(factors.max(axis=0) + 1, 2)
    counts = check_categories(n_categories, factors.shape[1])
    factors = check_factors("factors", factors, counts)
    parts = {name: check_factors(f"test[{name!r}]", part, counts) for name, part in _items(test)}
    used = _check_ignore(ignore, len(counts))
    rank = _check_rank(rank, int(sum(np.array(counts)[used] - 1)), n_tasks)
    rng = check_random_state(random_state)
    weights = scale * _draw_weights(rng, counts, used, n_tasks, rank)
    intercept = scale * rng.normal(size=n_tasks)

    def solve(part):
        probabilities = expit(one_hot(part, counts) @ weights + intercept)
        if not hard:
            return Bunch(target=probabilities, probabilities=probabilities)
        labels = rng.uniform(size=probabilities.shape) < probabilities
        return Bunch(target=labels.astype(np.int64), probabilities=probabilities)

    return Bunch(
        **solve(factors),
        test={name: solve(part) for name, part in parts.items()},
        weights=weights,
        intercept=intercept,
        rank=rank,
        n_categories=counts,
        DESCR=DESCR,
    )


def _draw_weights(rng, n_categories, used, n_tasks, rank):
    """Normal weights of this rank whose entries have variance 1 before they are centred."""
    n_rows = sum(n_categories)
    if rank == min(n_tasks, sum(np.array(n_categories)[used] - 1)):
        weights = rng.normal(size=(n_rows, n_tasks))
    else:
        left, right = rng.normal(size=(n_rows, rank)), rng.normal(size=(rank, n_tasks))
        weights = left @ right / np.sqrt(rank)
    blocks = np.split(weights, np.cumsum(n_categories)[:-1])
    centred = [
        block - block.mean(axis=0) if is_used else np.zeros_like(block)
        for block, is_used in zip(blocks, used, strict=True)
    ]
    return np.concatenate(centred)


def _items(test):
    if test is None:
        return ()
    if not isinstance(test, Mapping):
        raise TypeError(
            f"test must be a mapping from names to factors, got {type(test).__name__}: for one "
            "part give {'id': factors}."
        )
    return test.items()


def _check_ignore(ignore, n_factors):
    """Which factors the tasks depend on."""
    used = np.ones(n_factors, dtype=bool)
    if isinstance(ignore, str) or not isinstance(ignore, Sequence | np.ndarray):
        raise TypeError(f"ignore must be a sequence of indices of factors, got {ignore!r}.")
    for factor in ignore:
        check_number("ignore", factor, kind=Integral, least=0, most=n_factors - 1)
        used[factor] = False
    if not used.any():
        raise ValueError(
            f"ignore names all {n_factors} factors: tasks must depend on at least one."
        )
    return used


def _check_rank(rank, n_free, n_tasks):
    most = min(n_free, n_tasks)
    if rank is None:
        return most
    check_number("rank", rank, kind=Integral, least=1)
    if rank > most:
        raise ValueError(
            f"rank must be at most {most}, the smaller of the number of tasks, {n_tasks}, and the "
            f"number of categories less one of each factor that is not ignored, {n_free} in all, "
            f"got {rank}."
        )
    return int(rank)
