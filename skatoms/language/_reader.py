"""Reading a text with all members of a mixture."""

from dataclasses import dataclass

import numpy as np

from ._members import NgramMember
from ._mixture import LEVELS, Mixture, bucket_of

ADAPT = 256  # tokens after which weights of the mixture learn, when they do


@dataclass(frozen=True)
class Reader:
    """Members and their weights.

    members : dict of str to member
    mixture : Mixture
    first : list of int
        Tokens that stand before any text.
    adapts : bool
        Whether weights learn while reading.
    """

    members: dict
    mixture: Mixture
    first: list
    adapts: bool = False

    def start(self):
        """Memories of all members, before a text."""
        memory = {name: member.start() for name, member in self.members.items()}
        if self.first:
            read_members(self.members, np.array(self.first, np.int32), memory)
        return memory

    def read(self, ids, memory, n_jobs=None):
        """log P of tokens in turn; `memory` moves on."""
        probabilities, buckets = read_members(self.members, ids, memory, n_jobs)
        step = ADAPT if self.adapts else max(len(ids), 1)
        out = np.empty(len(ids))
        for start in range(0, len(ids), step):
            some = slice(start, start + step)
            joint = self.mixture.posterior(probabilities[some], buckets[some])
            out[some] = np.log(joint.sum(axis=1))
            if self.adapts:
                self.mixture.add(joint, buckets[some])
        return out

    def distributions(self, memory, edit=None):
        """P of all tokens by each member, and the members' weights.

        edit : callable or None
            Changes the state before it is read off.

        Returns
        -------
        (n_columns, n_tokens), (n_columns,)
        """
        parts = []
        for name, member in self.members.items():
            if edit is not None and name == "state":
                state = edit(member.evolution.state(memory[name]))
                parts.append(member.distribution_of(state))
            else:
                parts.append(member.distribution(memory[name]))
        bucket = 0
        if "ngram" in self.members:
            bucket = bucket_of(*self.members["ngram"].context(memory["ngram"]))[0]
        return np.concatenate(parts), self.mixture.weights[bucket]

    def ready(self):
        """The same, prepared to read much."""
        members = {name: member.ready() for name, member in self.members.items()}
        return Reader(members, self.mixture, self.first)

    def learning(self, mixture):
        """A copy that learns while it reads, with weights for that."""
        members = {name: member.learning() for name, member in self.members.items()}
        return Reader(members, mixture.copy(), self.first, adapts=True)

    @property
    def columns(self):
        """The member of each column."""
        return [name for name, member in self.members.items() for _ in range(member.n_columns)]


def read_members(members, ids, memory, n_jobs=None):
    """Probabilities by all members, (n, n_columns), and the kind of each token's context."""
    columns, buckets = [], np.zeros(len(ids), np.int64)
    for name, member in members.items():
        if isinstance(member, NgramMember):
            found, lengths, support = member.read_with_contexts(ids, memory[name])
            buckets = bucket_of(lengths, support)
        else:
            found = member.read(ids, memory[name], n_jobs)
        columns.append(found)
    return np.concatenate(columns, axis=1), buckets


def n_buckets(members):
    """How many kinds of contexts there are."""
    return members["ngram"].model.order * LEVELS if "ngram" in members else 1
