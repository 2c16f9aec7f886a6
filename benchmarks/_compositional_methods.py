"""Methods of `benchmarks.compositional`: each learns from complete samples and fills in others.

A method has `fit(train, valid, seed)`, `predict(part)` and, where it means something,
`active(part)`: the mean number of numbers that it describes a sample with.
"""

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from skatoms import VectorNetwork
from skatoms.coding import sparse_code
from skatoms.metrics import atom_recovery

THREADS = 2
PATIENCE = 10  # epochs without a better validation error
COUNTED = 100  # samples whose codes are counted
SAME = 0.9  # least cosine of an atom that was found

# Names of methods that need torch
CONVOLUTIONAL, NO_CODE = "conv. autoencoder", "convolutions, no code"
TRANSFORMER = "transformer"


@dataclass(frozen=True)
class Part:
    """Samples: what is given, what is asked for, and where; `mask` is None if it is all points.

    inputs are the targets with NaN where the mask is True, or features.
    """

    inputs: np.ndarray
    targets: np.ndarray
    mask: np.ndarray | None = None

    @classmethod
    def of(cls, bunch):
        """Pictures or signals, with points hidden if there is a mask."""
        mask = bunch.get("mask")
        inputs = bunch.data if mask is None else np.where(mask, np.nan, bunch.data)
        return cls(inputs, bunch.data, mask)

    def __getitem__(self, rows):
        return Part(*(None if x is None else x[rows] for x in vars(self).values()))

    def error(self, predicted):
        """The mean squared error over the variance of the targets, at the hidden points."""
        if self.mask is None:
            return ((predicted - self.targets) ** 2).mean() / self.targets.var(axis=0).mean()
        wanted = self.targets[self.mask]
        return ((predicted[self.mask] - wanted) ** 2).mean() / wanted.var()


def quietly(call, *args):
    """Call without the warning that it could go on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return call(*args)


@dataclass
class Network:
    """`VectorNetwork`, fitted to complete samples.

    max_cosine : of `recombine`, or None to leave the atoms as they are; coding_alpha : alpha once
    it is fitted, or None for the one it was fitted with.
    """

    settings: dict
    max_cosine: float | None = None
    coding_alpha: float | None = None
    model: Any = field(default=None, repr=False)

    def fit(self, train, valid, seed):
        """Learn from the targets: samples without anything hidden."""
        network = VectorNetwork(**self.settings, n_jobs=THREADS, random_state=seed)
        self.model = quietly(network.fit, train.targets)
        if self.max_cosine is not None:
            self.model = self.model.recombine(self.max_cosine)
        if self.coding_alpha is not None:
            self.model.set_params(alpha=self.coding_alpha)
        return self

    def predict(self, part):
        """Complete samples."""
        return quietly(self.model.reconstruct, part.inputs)

    def active(self, part):
        """The mean number of non-zero codes in all layers."""
        output_layers = self.model.output_layers
        self.model.set_params(output_layers="all")
        codes = quietly(self.model.transform, part.inputs[:COUNTED])
        self.model.set_params(output_layers=output_layers)
        return (codes != 0).sum(axis=1).mean()

    def found(self, atoms):
        """The part of true atoms that atoms of the first layer stand for."""
        return atom_recovery(atoms, self.model.input_atoms_[0]).fraction(SAME)


@dataclass
class Components:
    """Principal components, fitted to the seen points of a sample by ridge regression."""

    n_components: int
    ridge: float = 0.0

    def fit(self, train, valid, seed):
        """Components of complete samples."""
        self.model = PCA(self.n_components, random_state=seed).fit(train.targets)
        return self

    def predict(self, part):
        """Complete samples: the mean and the components that explain what is seen best."""
        basis, mean = self.model.components_, self.model.mean_
        rest = np.nan_to_num(part.inputs - mean)
        seen = np.ones_like(rest) if part.mask is None else (~part.mask).astype(float)
        k = len(basis)
        squares = (basis[:, None] * basis[None]).reshape(k * k, -1)
        grams = (seen @ squares.T).reshape(-1, k, k) + (self.ridge + 1e-10) * np.eye(k)
        return mean + np.linalg.solve(grams, (rest @ basis.T)[..., None])[..., 0] @ basis

    def active(self, part):
        """All components."""
        return float(self.n_components)


@dataclass
class Gaussian:
    """What is expected at hidden points, given the seen ones, if samples were normal."""

    ridge: float

    def fit(self, train, valid, seed):
        """Mean and covariance of complete samples."""
        self.mean, self.covariance = train.targets.mean(axis=0), np.cov(train.targets.T)
        return self

    def predict(self, part):
        """The conditional mean."""
        seen, rest = ~part.mask, np.nan_to_num(part.inputs - self.mean)
        among = self.covariance * seen[:, :, None] * seen[:, None]
        among += self.ridge * np.eye(len(self.mean))
        weights = np.linalg.solve(among, rest[..., None])[..., 0]
        return self.mean + (weights * seen) @ self.covariance


class Dense:
    """What learns in epochs; it stops at the least validation error and goes back to it.

    For samples it is an autoencoder, whose input is the sample with zeros at hidden points and, if
    points are hidden, the mask. Samples are then hidden in new ways at each epoch.

    What derives from it has `epochs` and says how to `_start`, go on by one `_epoch`, keep
    `_weights` and `_restore` them, and what the `_outputs` are.
    """

    @threadpool_limits.wrap(limits=1)  # products of so few rows take longer with more
    def fit(self, train, valid, seed):
        """Adam on batches of 64."""
        rng = np.random.default_rng(seed)
        self.scale = train.targets.std()  # pictures that are dark but for a bump need it
        known, targets = self._inputs(train), (train.targets / self.scale).astype(np.float32)
        self._start(train, seed)
        kept, least, since = None, np.inf, 0
        for _ in range(self.epochs):
            if train.mask is not None:
                known = self._inputs(hidden_anew(train, rng))
            self._epoch(known, targets)
            error, since = valid.error(self.predict(valid)), since + 1
            if error < least:
                kept, least, since = self._weights(), error, 0
            if since == PATIENCE:
                break
        self._restore(kept)
        return self

    def predict(self, part):
        """Complete samples, or whatever the targets are."""
        return self.scale * self._outputs(self._inputs(part))

    def _inputs(self, part):
        known = [np.nan_to_num(part.inputs) / self.scale]
        if part.mask is not None:
            known.append(part.mask)
        return np.concatenate(known, axis=1, dtype=np.float32)


class Standardised:
    """For what derives from `Dense`, before it: inputs are features, which are standardised."""

    def fit(self, train, valid, seed):
        """Fit both."""
        self.scaler = StandardScaler().fit(train.inputs)
        return super().fit(train, valid, seed)

    def _inputs(self, part):
        return self.scaler.transform(part.inputs).astype(np.float32)

    def active(self, part):
        """Nothing that could be compared."""
        return np.nan


@dataclass
class MultilayerPerceptron(Dense):
    """`MLPRegressor` in float32, with a step of 1e-3."""

    hidden: tuple
    activation: str = "relu"
    epochs: int = 150

    def active(self, part):
        """The width of the narrowest layer."""
        return float(min(self.hidden))

    def _start(self, train, seed):
        self.model = MLPRegressor(
            hidden_layer_sizes=self.hidden,
            activation=self.activation,
            batch_size=min(64, len(train.inputs)),
            random_state=seed,
        )

    def _epoch(self, known, targets):
        self.model.partial_fit(known, targets)

    def _outputs(self, known):
        return self.model.predict(known)

    def _weights(self):
        parts = self.model.coefs_, self.model.intercepts_
        return [[x.copy() for x in some] for some in parts]

    def _restore(self, weights):
        self.model.coefs_, self.model.intercepts_ = weights


class StandardisedPerceptron(Standardised, MultilayerPerceptron):
    """The perceptron, after its inputs were standardised."""


def hidden_anew(part, rng):
    """The same samples, as many points hidden, but others: masks change rows and are turned."""
    mask = np.roll(part.mask[rng.permutation(len(part.mask))], rng.integers(1 << 16), axis=1)
    return Part(np.where(mask, np.nan, part.targets), part.targets, mask)


@dataclass
class HandMade:
    """Codes for the true atoms: nothing but alpha is learned."""

    alpha: float
    atoms: np.ndarray = field(repr=False)

    def fit(self, train, valid, seed):
        """Nothing to do."""
        return self

    def predict(self, part):
        """Complete samples."""
        return self._codes(part) @ self.atoms

    def active(self, part):
        """The mean number of non-zero codes."""
        return (self._codes(part[:COUNTED]) != 0).sum(axis=1).mean()

    def _codes(self, part):
        codes = np.zeros((len(part.inputs), len(self.atoms)))
        for row, (x, hidden) in enumerate(zip(part.inputs, part.mask, strict=True)):
            atoms = np.ascontiguousarray(self.atoms[:, ~hidden])
            codes[row] = quietly(self._code, x[None, ~hidden], atoms)[0]
        return codes

    def _code(self, x, atoms):
        return sparse_code(x, atoms, alpha=self.alpha, n_jobs=THREADS)


@dataclass
class Regressor:
    """Any regressor of scikit-learn's make, after its inputs were standardised."""

    estimator: Any

    def fit(self, train, valid, seed):
        """Fit both."""
        estimator = clone(self.estimator)
        seeds = {name: seed for name in estimator.get_params() if name.endswith("random_state")}
        self.model = make_pipeline(StandardScaler(), estimator.set_params(**seeds))
        quietly(self.model.fit, train.inputs, train.targets)
        return self

    def predict(self, part):
        """The targets."""
        return quietly(self.model.predict, part.inputs)


class NetworkRegressor(Regressor):
    """The same, of which codes are counted."""

    def active(self, part):
        """The mean number of non-zero codes in all layers."""
        scaler, network = self.model
        network.set_params(output_layers="all")
        codes = quietly(network.transform, scaler.transform(part.inputs[:COUNTED]))
        return (codes != 0).sum(axis=1).mean()
