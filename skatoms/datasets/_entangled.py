"""Categorical factors that a random network entangles without losing any."""

from collections.abc import Sequence
from itertools import pairwise
from numbers import Integral
from typing import NamedTuple

import numpy as np
from sklearn.utils import Bunch, check_random_state

from .._one_hot import one_hot
from .._validation import check_number
from ._factors import (
    check_categories,
    draw_factors,
    draw_with_pairs,
    draw_withheld_pairs,
)

SLOPE = 0.2  # of the leaky ReLU where its input is negative
N_REFERENCE = 2000  # samples from which the scale of each unit is taken

DESCR = """\
Rows that are made from categorical factors. One-hot codes of the factors, side by side, go through
a random network of leaky ReLU layers that maps different codes to different rows: each factor can
be told from a row, but no single feature tells it. Distractors are further factors that enter the
network in the same way, meant for no task to depend on.
The test parts are new rows of that kind ("id") and, where pairs of categories are withheld, rows
whose pair of the first two factors never occurs in training ("unseen")."""


def make_entangled_factors(
    n_samples: int = 20000,
    n_test: int = 2000,
    n_factors: int = 5,
    n_categories: int | Sequence[int] = 6,
    n_features: int = 64,
    n_distractors: int = 0,
    n_hidden_layers: int = 2,
    noise: float = 0.0,
    unseen_pairs: float = 0.0,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Draw categorical factors and entangle them by a random network.

    A row is `h(... h(z W_0 + b_0) ...) W_L + b_L` for the one-hot codes z of its factors and
    distractors, L hidden layers of `n_features` units each, and the leaky ReLU h of slope 0.2. The
    weights are normal, so they have full rank, and no layer is narrower than what enters it: so the
    network is injective, and different factors give different rows. Each layer, and so each
    feature, is shifted and scaled to mean 0 and variance 1 over samples of all combinations.

    Factors are independent of each other with equally likely categories, so that all combinations
    occur if there are samples enough; only `unseen_pairs` changes that.

    Parameters
    ----------
    n_samples : int, default=20000
        Number of training rows.

    n_test : int, default=2000
        Number of rows in each test part.

    n_factors : int, default=5
        Number of factors. At least 1.

    n_categories : int or sequence of int, default=6
        Number of categories of each factor, at least 2: one for all, or one a factor.

    n_features : int, default=64
        Number of features. At least the number of categories of all factors and distractors
        together, else the network could not be injective.

    n_distractors : int, default=0
        Number of further factors that enter the network but are not among `factors`. Each has as
        many categories as the largest factor.

    n_hidden_layers : int, default=2
        Number of layers of leaky ReLUs. With 0 the network is linear; the more, the more entangled.

    noise : float, default=0.0
        Standard deviation of normal noise that is added to each feature, in training and test
        parts. Factors and network do not depend on it.

    unseen_pairs : float, default=0.0
        Share, in [0, 1), of the pairs of a category of the first and one of the second factor that
        training and the test part `"id"` lack. Each category stays in training, with at least one
        partner: a share too large for that is refused. Training pairs are equally likely.

    random_state : int, RandomState or None, default=None
        Seed. An int gives the same rows at each call, and the same network whatever the numbers
        of rows.

    Returns
    -------
    rows : Bunch
        A dictionary whose entries are attributes too:

        - `data`: float32 of shape (n_samples, n_features), the training rows;
        - `factors`: int of shape (n_samples, n_factors), categories from 0;
        - `distractors`: int of shape (n_samples, n_distractors), the same of the distractors;
        - `test`: dict of Bunch with the same three entries and `n_test` rows: `"id"` is drawn as
          the training part; `"unseen"`, only if pairs are withheld, has just those pairs;
        - `n_categories`: tuple of int, of length `n_factors`;
        - `withheld`: bool of shape (n_categories[0], n_categories[1]), True for pairs that training
          lacks; only if there are any;
        - `DESCR`: str.

    Raises
    ------
    ValueError, TypeError
        If a parameter is out of its range.

    See Also
    --------
    make_linear_tasks : Tasks on these factors.

    Notes
    -----
    The cost is `O(n_samples * n_features^2 * n_hidden_layers)`.

    Examples
    --------
    >>> from skatoms.datasets import make_entangled_factors
    >>> rows = make_entangled_factors(100, 50, n_factors=3, n_categories=(2, 3, 4), random_state=0)
    >>> rows.data.shape, rows.factors.shape, rows.n_categories
    ((100, 64), (100, 3), (2, 3, 4))
    >>> rows.factors.max(axis=0)
    array([1, 2, 3])
    """
    check_number("n_samples", n_samples, kind=Integral, least=1)
    check_number("n_test", n_test, kind=Integral, least=1)
    check_number("n_factors", n_factors, kind=Integral, least=1)
    check_number("n_distractors", n_distractors, kind=Integral, least=0)
    check_number("n_hidden_layers", n_hidden_layers, kind=Integral, least=0)
    check_number("noise", noise, least=0, most=np.finfo(np.float32).max)
    check_number("unseen_pairs", unseen_pairs, least=0, most=1)
    counts = check_categories(n_categories, n_factors)
    inputs = counts + (max(counts),) * n_distractors
    _check_width(n_features, inputs)
    _check_pairs(unseen_pairs, n_factors)
    rng = check_random_state(random_state)
    network = _draw_network(rng, inputs, n_features, n_hidden_layers)
    withheld = draw_withheld_pairs(rng, unseen_pairs, counts) if unseen_pairs else None

    def draw(n, allowed=None):
        if allowed is None:
            drawn = draw_factors(rng, n, inputs)
        else:
            drawn = draw_with_pairs(rng, n, inputs, allowed)
        data = network.entangle(one_hot(drawn, inputs))
        data += noise * rng.normal(size=data.shape)
        return Bunch(
            data=data.astype(np.float32),
            factors=drawn[:, :n_factors],
            distractors=drawn[:, n_factors:],
        )

    if withheld is None or not withheld.any():
        training, test = draw(n_samples), {"id": draw(n_test)}
        return Bunch(**training, test=test, n_categories=counts, DESCR=DESCR)
    training = draw(n_samples, ~withheld)
    test = {"id": draw(n_test, ~withheld), "unseen": draw(n_test, withheld)}
    return Bunch(**training, test=test, n_categories=counts, withheld=withheld, DESCR=DESCR)


class Network(NamedTuple):
    """Affine layers with leaky ReLUs between them."""

    weights: list[np.ndarray]
    biases: list[np.ndarray]

    def entangle(self, codes):
        """The rows of these one-hot codes, float64 of shape (n_samples, n_features)."""
        values = codes @ self.weights[0] + self.biases[0]
        for weights, bias in zip(self.weights[1:], self.biases[1:], strict=True):
            values = _leaky_relu(values) @ weights + bias
        return values


def _draw_network(rng, n_categories, n_features, n_hidden_layers):
    """Normal weights, scaled such that all values have mean 0 and variance 1."""
    network = Network([], [])
    values = one_hot(draw_factors(rng, N_REFERENCE, n_categories), n_categories)
    widths = [values.shape[1]] + [n_features] * (n_hidden_layers + 1)
    for n_in, n_out in pairwise(widths):
        if network.weights:
            values = _leaky_relu(values)
        weights = rng.normal(size=(n_in, n_out))
        values = values @ weights
        means, deviations = values.mean(axis=0), values.std(axis=0)
        network.weights.append(weights / deviations)
        network.biases.append(-means / deviations)
        values = (values - means) / deviations
    return network


def _leaky_relu(values):
    return np.maximum(values, SLOPE * values)


def _check_width(n_features, n_categories):
    check_number("n_features", n_features, kind=Integral, least=1)
    if n_features < sum(n_categories):
        raise ValueError(
            f"n_features must be at least {sum(n_categories)}, the number of categories of all "
            f"factors and distractors, got {n_features}: with fewer, rows could lose factors. "
            "Raise it or take fewer categories."
        )


def _check_pairs(unseen_pairs, n_factors):
    if unseen_pairs and n_factors < 2:
        raise ValueError(
            f"unseen_pairs={unseen_pairs} needs at least two factors, got n_factors={n_factors}: "
            "pairs are of the first two."
        )
