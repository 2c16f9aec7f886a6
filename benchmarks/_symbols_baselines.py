"""Other ways to symbols, for `benchmarks.symbols`: clusters, bins and soft bottlenecks."""

import warnings
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from scipy.special import expit
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA, FastICA
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler

from skatoms import WTASymbolEncoder
from skatoms.backend import single_threaded_blas
from skatoms.symbols._choice import choose_softly, softmax_gradient
from skatoms.symbols._networks import Perceptron, count_of, cross_entropy_slopes
from skatoms.symbols._training import Samples, Schedule, train

HIDDEN = (256, 256)
RATES = (2e-3, 5e-4, 5e-3)


@dataclass(frozen=True)
class Found:
    """Symbols of the test samples, probabilities of their tasks if told, seconds to learn."""

    symbols: np.ndarray
    probabilities: np.ndarray | None
    seconds: float
    loss: float = np.nan  # of samples held out, to choose settings by
    restarts: int = 0


def ours(data, head_sizes, seed, hidden=HIDDEN, **settings):
    """The encoder."""
    encoder = WTASymbolEncoder(head_sizes, hidden, n_jobs=2, random_state=seed, **settings)
    start = perf_counter()
    encoder.fit(data.x, data.targets)
    seconds = perf_counter() - start
    probabilities = encoder.predict_proba(data.test_x)
    symbols = encoder.symbols(data.test_x)
    return Found(symbols, probabilities, seconds, encoder.loss_, encoder.n_restarts_)


# Without tasks


def components_in_clusters(method):
    """As many components as heads, each cut into as many clusters as the head has units."""

    def found(data, head_sizes, seed):
        start = perf_counter()
        reduce = method(len(head_sizes), whiten="unit-variance", random_state=seed, max_iter=500)
        with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
            train_codes = reduce.fit_transform(data.x)
        codes, columns = reduce.transform(data.test_x), []
        for k, n_units in enumerate(head_sizes):
            clusters = KMeans(n_units, n_init=3, random_state=seed).fit(train_codes[:, [k]])
            columns.append(clusters.predict(codes[:, [k]]))
        return Found(np.column_stack(columns), None, perf_counter() - start)

    return found


def principal(n_components, whiten, random_state, max_iter):
    """Principal components with the arguments of independent ones."""
    return PCA(n_components, whiten=bool(whiten), random_state=random_state)


def bins(data, head_sizes, seed):
    """Each feature by itself in equally full bins: a head for each feature."""
    start = perf_counter()
    binning = KBinsDiscretizer(max(head_sizes), encode="ordinal", quantile_method="linear")
    binning.fit(data.x.astype(np.float64))
    symbols = binning.transform(data.test_x.astype(np.float64)).astype(int)
    return Found(symbols, None, perf_counter() - start)


# From the same tasks, without a hard choice


class Rectified(Perceptron):
    """A perceptron whose last hidden layer is the bottleneck, read as heads."""

    def __init__(self, n_features, head_sizes, n_tasks):
        super().__init__((n_features, *HIDDEN, sum(head_sizes), n_tasks))

    def scores(self, x):
        """What is largest in each head is its symbol."""
        return self.forward(x)[-2]


class Softmax:
    """Heads that pass the softmax of their scores, and a linear read-out."""

    def __init__(self, n_features, head_sizes, n_tasks):
        self.starts = np.append(0, np.cumsum(head_sizes))
        outer, inner = (n_features, *HIDDEN, sum(head_sizes)), (sum(head_sizes), n_tasks)
        self.values = np.zeros(count_of(outer) + count_of(inner), np.float32)
        self.split = count_of(outer)
        self.encoder = Perceptron(outer, self.values[: self.split])
        self.readout = Perceptron(inner, self.values[self.split :])

    def draw(self, rng):
        """Random parameters."""
        self.encoder.draw(rng)
        self.readout.draw(rng)
        return self

    def scores(self, x):
        """What is largest in each head is its symbol."""
        return self.encoder.logits(x)

    def _soften(self, scores):
        hard, soft = np.empty_like(scores), np.empty_like(scores)
        choose_softly(scores, self.starts, np.float32(1), hard, soft)
        return soft

    def logits(self, x):
        """Task logits."""
        return self.readout.logits(self._soften(self.scores(x)))

    def gradient(self, x, targets, weights, rng, out):
        """Write the gradient of the weighted cross-entropy of tasks."""
        passed = self.encoder.forward(x)
        soft = self._soften(passed[-1])
        slopes = cross_entropy_slopes(self.readout.logits(soft), targets, weights)
        self.readout.backward([soft], slopes, out[self.split :])
        slopes = slopes @ self.readout.maps[0][0].T
        softmax_gradient(soft, self.starts, np.float32(1), slopes)
        self.encoder.backward(passed, slopes, out[: self.split])


class Silent:
    """Nobody listens to epochs."""

    def begin(self):
        """An epoch begins."""

    def end(self):
        """Go on."""
        return False


def bottleneck(kind):
    """Train a network with a soft bottleneck as ours is trained; argmax of each head."""

    def found(data, head_sizes, seed, rate=RATES[0], epochs=100):
        start = perf_counter()
        scaling, rng = StandardScaler().fit(data.x), np.random.default_rng(seed)
        x = scaling.transform(data.x).astype(np.float32)
        targets, weights = data.targets.astype(np.float32), np.ones(len(x), np.float32)
        samples, n_held_out = Samples(x, targets, weights), len(x) // 10
        network = kind(x.shape[1], head_sizes, targets.shape[1]).draw(rng)
        schedule = Schedule(rate, int(np.clip(len(x) // 16, 16, 256)), epochs, 1e-4, 5)
        parts = samples[n_held_out:], samples[:n_held_out]
        with single_threaded_blas():
            training = train(network, *parts, schedule, rng, Silent())
        seconds = perf_counter() - start
        test_x = scaling.transform(data.test_x).astype(np.float32)
        starts, scores = np.append(0, np.cumsum(head_sizes)), network.scores(test_x)
        heads = np.split(scores, starts[1:-1], axis=1)
        symbols = np.column_stack([head.argmax(axis=1) for head in heads])
        return Found(symbols, expit(network.logits(test_x)), seconds, training.loss)

    return found


METHODS = {
    "PCA + k-means": components_in_clusters(principal),
    "ICA + k-means": components_in_clusters(FastICA),
    "KBinsDiscretizer": bins,
    "bottleneck, ReLU": bottleneck(Rectified),
    "bottleneck, softmax": bottleneck(Softmax),
}
TUNED = ("bottleneck, ReLU", "bottleneck, softmax")
