"""Second moments of a window, the next window and the next state: all that operators need."""

from dataclasses import dataclass, field

import numpy as np

CHUNK_NUMBERS = 4_000_000  # numbers of a chunk of records, 32 MB
N_BLOCKS = 10  # parts of the data that a jackknife leaves out in turn
WIDEST_BLOCKS = 1_000  # columns above which parts are not kept apart


@dataclass(frozen=True)
class Layout:
    """Which columns of a record are what: [1, controls, lifted, lifted next, state next].

    If windows are relative, the last `n_features` lifted columns are the level of the window.
    """

    n_controls: int
    n_lifted: int
    n_features: int
    relative: bool

    @property
    def width(self):
        """Number of columns."""
        return 1 + self.n_controls + 2 * self.n_lifted + self.n_features

    @property
    def n_free(self):
        """Lifted columns that an operator is fitted for: all but the level."""
        return self.n_lifted - (self.n_features if self.relative else 0)

    def reduce(self, gram):
        """Moments of [1, controls, free, free next, state next], minus the level where there is.

        What windows are relative to is taken from the next state, so that this is a change.
        """
        known, m, free = 1 + self.n_controls, self.n_lifted, self.n_free
        if not self.relative:
            return gram
        ahead = np.arange(known + 2 * m, self.width)
        level = np.arange(known + free, known + m)
        gram = gram.copy()
        gram[ahead] -= gram[level]
        gram[:, ahead] -= gram[:, level]
        chosen = np.r_[: known + free, known + m : known + m + free, ahead]
        return gram[np.ix_(chosen, chosen)]


@dataclass
class Moments:
    """Sums of products of columns of records, in a few blocks that follow each other in time."""

    layout: Layout
    blocks: list = field(default_factory=list)
    counts: list = field(default_factory=list)

    @property
    def gram(self):
        """Moments of all records."""
        return sum(self.blocks)

    @property
    def n(self):
        """Number of records."""
        return sum(self.counts)

    def add(self, gram, count):
        """Take in one more block; pairs of blocks are joined if there are too many."""
        self.blocks.append(gram)
        self.counts.append(count)
        most = 1 if self.layout.width > WIDEST_BLOCKS else 2 * N_BLOCKS - 1
        if len(self.blocks) > most:
            self.blocks = _joined(self.blocks)
            self.counts = _joined(self.counts)


def _joined(values):
    return [sum(values[i : i + 2]) for i in range(0, len(values), 2)]


def moments_of(lift, trajectories, pairs, before=None):
    """Moments of the pairs of windows whose first one ends at these rows.

    Costs one pass in chunks of rows: ``n_pairs * width ** 2`` operations, memory for a chunk and
    the blocks only. `before` are moments to add to.
    """
    layout = Layout(
        trajectories.controls.shape[1],
        lift.n_lifted,
        trajectories.states.shape[1],
        lift.relative,
    )
    moments = Moments(layout)
    if before is not None:
        moments = Moments(before.layout, list(before.blocks), list(before.counts))
    n_rows = max(1, CHUNK_NUMBERS // layout.width)
    for block in np.array_split(pairs, min(N_BLOCKS, len(pairs))):
        gram = np.zeros((layout.width, layout.width))
        for start in range(0, len(block), n_rows):
            records = _records(lift, trajectories, block[start : start + n_rows])
            gram += records.T @ records
        moments.add(gram, len(block))
    return moments


def _records(lift, trajectories, rows):
    """Records of these rows; windows that two rows share are lifted once."""
    ends = np.unique(np.concatenate([rows, rows + 1]))
    lifted = lift(trajectories.windows(ends, lift.n_delays))
    now = np.searchsorted(ends, rows)
    ahead = (trajectories.states[rows + 1] - lift.level) / lift.scale
    ones = np.ones((len(rows), 1))
    return np.hstack([ones, trajectories.controls[rows], lifted[now], lifted[now + 1], ahead])
