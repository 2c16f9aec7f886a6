"""Where training of heads starts, what its end is worth, and what is tried next.

A network without heads tells how well tasks can be predicted at all. A start is solved if its heads
keep that but for a small share. If not, the pair of heads whose symbols together explain most of
what is lost is built anew, beside a start of random heads, until one is solved or the budget is
used up. Where targets are labels, a solved network learns once more, from symbols that labels tell.
"""

from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy.special import expit

from .._one_hot import one_hot
from ..backend import run_chunks
from ._moments import find_categories
from ._networks import Perceptron, SymbolNetwork, draw_map
from ._readout import fit_readout
from ._relearning import labels_tell, relearning
from ._training import Samples, Schedule, Training, train

NOTHING = 1e-3  # share of the loss of a constant that counts as nothing explained
SOLVED = 0.01  # share of what a network without heads explains that heads may lose
CONTRAST = 20.0  # score of a unit that wins, over those of others
NOTICEABLE = 0.95  # part of a variance that counts
ENOUGH = 4000  # samples to fit a first read-out to,
RIDGE = 1e-4  # with squared weights at this price
FASTER = 5.0  # rate for random heads, over that for others
ABREAST = 2  # starts of a round, which run side by side
RELEARNED = "relearned"


@dataclass
class Search:
    """What all starts share.

    samples, held_out : Samples to learn from and to judge by
    dense : Perceptron, trained to predict tasks without heads
    logits : ndarray of shape (n_samples, n_tasks), what it says of the samples; 0 for tasks that
        never vary, whose logits have no limit and no meaning
    losses : (float, float), held-out loss of the best constant and of the network without heads
    head_sizes : tuple of int, or None to take what is found
    """

    samples: Samples
    held_out: Samples
    dense: Perceptron
    losses: tuple
    head_sizes: tuple | None
    temperature: float
    schedule: Schedule
    n_jobs: int | None

    def __post_init__(self):
        self.logits = self.dense.logits(self.samples.x)
        self.logits[:, np.ptp(self.samples.targets, axis=0) == 0] = 0

    def lost(self, loss):
        """The share of what can be explained that a loss lacks; 0 if nothing can be."""
        constant, dense = self.losses
        explained = constant - dense
        return (loss - dense) / explained if explained > NOTHING * constant else 0.0


@dataclass
class Start:
    """A network with heads, where it came from, and how its training went."""

    kind: str
    model: SymbolNetwork
    rate: float
    training: Training | None = None


def search_heads(search, init, max_restarts, rng, progress):
    """All starts in order, and whether the best one is solved.

    progress : ``progress(kind, model)`` gives what begins, ends and closes epochs of a start
    """
    done, first = [], _moments if init == "moments" else _random
    makers = [first] if init == "moments" else ABREAST * [first]
    while True:
        makers = makers[: 1 + max_restarts - len(done)]
        starts = [make(search, done, rng) for make in makers]
        _train(search, starts, done, rng, progress)
        done += starts
        best = best_of(done)
        solved = search.lost(best.training.loss) <= SOLVED
        if solved and labels_tell(best.model, search.samples.targets):
            done.append(_relearned(search, best, rng, progress))
        if solved or len(done) > max_restarts:
            return done, solved
        repair = _repaired if len(best_of(done).model.head_sizes) > 2 else _random
        makers = [repair, *(ABREAST - 1) * [_random]]


def best_of(starts):
    """The start that ended at the least loss."""
    return min(starts, key=lambda start: start.training.loss)


def _relearned(search, best, rng, progress):
    """The best network, trained on what its samples' labels say together; it gets no worse.

    Losses are those without the noise of labels, moved to begin where that with it has ended.
    """
    model, seed = deepcopy(best.model), np.random.default_rng(rng.randint(2**31))
    parts = relearning(model, search.samples, search.held_out)
    epochs = progress(RELEARNED, model)
    training = train(model, *parts, search.schedule, seed, epochs)
    epochs.close()
    moved = best.training.loss - training.losses[0]
    training.losses = [loss + moved for loss in training.losses]
    return Start(RELEARNED, model, search.schedule.rate, training)


def _train(search, starts, done, rng, progress):
    to_beat = best_of(done).training.loss if done else np.inf
    epochs = [progress(start.kind, start.model) for start in starts]
    seeds = [np.random.default_rng(rng.randint(2**31)) for _ in starts]

    def run(number, _):
        start = starts[number]
        schedule = replace(search.schedule, rate=start.rate, to_beat=to_beat)
        data = search.samples, search.held_out
        start.training = train(start.model, *data, schedule, seeds[number], epochs[number])

    run_chunks(run, len(starts), 1, search.n_jobs)
    for tasks in epochs:
        tasks.close()


# How heads start


def _moments(search, done, rng):
    """Heads read off what the network without heads says: logits or, failing that, probabilities.

    Logits are what categories add up to. Where tasks can be told with near certainty, logits are
    of any size and only probabilities take a few values.
    """
    models, losses = [], []
    for outputs in (search.logits, expit(search.logits)):
        found = _categories(search, outputs, search.head_sizes, rng)
        sizes = search.head_sizes or tuple(max(2, len(factor)) for factor in found.factors)
        if sizes and found.factors:
            models.append(_network(search, sizes))
            _install(search, models[-1], range(len(sizes)), found, outputs)
            losses.append(search.held_out.loss(models[-1]))
            if search.lost(losses[-1]) <= SOLVED:
                break
    if not models:
        return _random(search, done, rng)
    return Start("moments", models[int(np.argmin(losses))], search.schedule.rate)


def _categories(search, outputs, sizes, rng):
    """Categories that fit into heads of these sizes, or all."""
    if sizes is None:
        most, largest = outputs.shape[1], outputs.shape[1] + 1
    else:
        most, largest = int(sum(sizes)) - len(sizes), int(max(sizes))
    return find_categories(outputs, search.samples.weights, most, largest, rng)


def _random(search, done, rng):
    """Random heads on the hidden layers of the network without heads."""
    sizes = search.head_sizes
    if sizes is None:
        sizes = tuple(done[0].model.head_sizes) if done else _pairs(search)
    model = _network(search, sizes)
    for weights, offsets in (model.encoder.maps[-1], model.readout.maps[0]):
        draw_map(weights, offsets, rng)
    return Start("random", model, FASTER * search.schedule.rate)


def _pairs(search):
    """Heads of two units, one for each direction in which probabilities vary noticeably."""
    probabilities, weights = expit(search.logits), search.samples.weights
    centred = probabilities - np.average(probabilities, axis=0, weights=weights)
    variances = np.linalg.eigvalsh((centred.T * weights) @ centred)[::-1]
    return (2,) * int(1 + (np.cumsum(variances) < NOTICEABLE * variances.sum()).sum())


def _repaired(search, done, rng):
    """The best network so far, with the worst pair of its heads built anew."""
    best = best_of(done).model
    model = _network(search, tuple(best.head_sizes))
    model.values[:] = best.values
    symbols = model.symbols(search.samples.x)
    explained = _additive(symbols, model.starts, search)
    pair = worst_pair(symbols, model.head_sizes, search.logits - explained.sum(axis=0))
    others = [head for head in range(len(explained)) if head not in pair]
    rest = search.logits - explained[others].sum(axis=0)
    found = _categories(search, rest, model.head_sizes[list(pair)], rng)
    _install(search, model, pair, found, rest)
    return Start("repaired", model, search.schedule.rate)


def _network(search, head_sizes):
    """A network whose hidden layers are those of the one without heads."""
    *sizes, n_tasks = search.dense.sizes
    model = SymbolNetwork(sizes, head_sizes, n_tasks, search.temperature)
    maps = zip(model.encoder.maps[:-1], search.dense.maps[:-1], strict=True)
    for (weights, offsets), (from_weights, from_offsets) in maps:
        weights[:], offsets[:] = from_weights, from_offsets
    return model


def _install(search, model, heads, found, outputs):
    """Let heads tell the categories found in outputs of the samples, and fit a read-out."""
    *_, hidden, _ = model.encoder.forward(search.samples.x)
    wanted = outputs @ found.directions + found.offsets
    maps = _least_squares(hidden, wanted, search.samples.weights)
    weights, offsets = model.encoder.maps[-1]
    heads = sorted(heads, key=lambda head: -model.head_sizes[head])
    for head, factor in zip(heads, _padded(found.factors, len(heads)), strict=True):
        first, last = model.starts[head], model.starts[head + 1]
        columns = factor[np.argsort(-found.shares[factor], kind="stable")][: last - first]
        units = slice(first, first + len(columns))
        weights[:, first:last], offsets[first:last] = 0, -CONTRAST  # units for which there is none
        offsets[first] = 0
        weights[:, units] = CONTRAST * maps[:-1, columns]
        offsets[units] = CONTRAST * maps[-1, columns]
    few = search.samples[:ENOUGH]
    symbols, (weights, offsets) = model.symbols(few.x), model.readout.maps[0]
    found = fit_readout(symbols, model.starts, few.targets, few.weights, RIDGE)
    weights[:], offsets[:] = found


def _padded(factors, n_heads):
    nothing = np.empty(0, int)
    return [*factors, *(n_heads * [nothing])][:n_heads]


def _least_squares(inputs, outputs, weights):
    """Linear maps from inputs and a one to outputs, with hardly any ridge."""
    inputs = np.column_stack([inputs, np.ones(len(inputs))]).astype(np.float64)
    gram = (inputs.T * weights) @ inputs
    gram[np.diag_indices_from(gram)] += 1e-9 * np.trace(gram) / len(gram) + np.finfo(float).tiny
    return np.linalg.solve(gram, (inputs.T * weights) @ outputs)


# What heads lack


def _additive(symbols, starts, search):
    """(n_heads, n_samples, n_tasks): what each head adds to the logits, by least squares."""
    codes = one_hot(symbols, np.diff(starts))
    maps = _least_squares(codes, search.logits, search.samples.weights)
    parts = [
        maps[first:last][symbols[:, head]] for head, (first, last) in enumerate(pairwise(starts))
    ]
    parts[0] = parts[0] + maps[-1]
    return np.array(parts)


def worst_pair(symbols, head_sizes, rest):
    """The two heads whose symbols together, and not one by one, explain most of the rest.

    Parameters
    ----------
    symbols : ndarray of int of shape (n_samples, n_heads)
    head_sizes : sequence of int
    rest : ndarray of shape (n_samples, n_tasks)
        What is left of logits after an additive fit.
    """
    n_heads = len(head_sizes)
    best, pair = -1.0, (0,)
    for one in range(n_heads):
        for two in range(one + 1, n_heads):
            cells = symbols[:, one] * head_sizes[two] + symbols[:, two]
            _, cells, counts = np.unique(cells, return_inverse=True, return_counts=True)
            sums = np.zeros((len(counts), rest.shape[1]))
            np.add.at(sums, cells, rest)
            explained = (sums**2 / counts[:, None]).sum()
            if explained > best:
                best, pair = explained, (one, two)
    return pair
