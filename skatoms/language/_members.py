"""Members of the mixture that are made of other parts, with the same methods as those that are not.

``start()`` gives a memory in which nothing was read, ``read(ids, memory, n_jobs)`` the
probabilities of tokens in turn, one column for each distribution of the member,
``distribution(memory)`` those of all tokens, and ``learning()`` a member that goes on learning
while it reads, each token predicted before it is learned.
"""

from dataclasses import dataclass, replace

import numpy as np

from ._evolution import Structured
from ._kneser_ney import KneserNey
from ._readout import Adam, Readout

STEP = 64  # tokens that are predicted before they are learned, all at once
RATE = 5e-4  # of steps while reading


@dataclass(frozen=True)
class StateMember:
    """A linear state and its read-out."""

    evolution: Structured
    readout: Readout
    adam: Adam | None = None
    tables: np.ndarray | None = None

    n_columns = 1

    def start(self):
        """Nothing was read."""
        return self.evolution.start()

    def read(self, ids, memory, n_jobs=None):
        """Probabilities of tokens in turn."""
        if self.adam is not None:
            return self._read_and_learn(ids, memory)
        inputs = self.readout.inputs
        tables = self.evolution.tables(inputs) if self.tables is None else self.tables
        hidden = self.evolution.project(ids, memory, inputs, tables)
        return np.exp(self.readout.log_probabilities(hidden, ids, n_jobs))[:, None]

    def _read_and_learn(self, ids, memory):
        found = np.empty((len(ids), 1))
        for start in range(0, len(ids), STEP):
            part = ids[start : start + STEP]
            states = self.evolution.read(part, memory)
            logs = self.readout.log_probabilities(states @ self.readout.inputs, part)
            found[start : start + STEP, 0] = np.exp(logs)
            self.adam.step(self.readout.gradient(states, part)[0], RATE)
        return found

    def distribution(self, memory):
        """Probabilities of all tokens."""
        return self.distribution_of(self.evolution.state(memory))

    def distribution_of(self, state):
        """Probabilities of all tokens after a state."""
        return self.readout.distribution(state @ self.readout.inputs)[None]

    def ready(self):
        """The same, prepared to read much."""
        return replace(self, tables=self.evolution.tables(self.readout.inputs))

    def learning(self):
        """A copy that learns."""
        readout = self.readout.copy()
        return replace(self, readout=readout, adam=Adam(readout.weights))


@dataclass(frozen=True)
class NgramMember:
    """Kneser-Ney; its memory also says how well the context is known."""

    model: KneserNey

    n_columns = 1

    def start(self):
        """Nothing was read."""
        return (self.model.start(),)

    def read(self, ids, memory, n_jobs=None):
        """Probabilities of tokens in turn."""
        return self.read_with_contexts(ids, memory)[0]

    def read_with_contexts(self, ids, memory):
        """Probabilities, and lengths and support of contexts."""
        p, lengths, support = self.model.read(ids, memory[0], -1)
        return p[:, None], lengths, support

    def distribution(self, memory):
        """Probabilities of all tokens."""
        return self.model.distribution(memory[0])[None]

    def context(self, memory):
        """Length and support of the context."""
        copy = memory[0].copy()
        _, lengths, support = self.model.read(np.zeros(1, np.int32), copy, -1)
        return lengths, support

    def ready(self):
        """The same."""
        return self

    def learning(self):
        """The same: counts stay."""
        return self
