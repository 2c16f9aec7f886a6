"""Fitting the members of a mixture, and their weights, to a text."""

from dataclasses import dataclass, replace

import numpy as np

from ._cache import Cache
from ._contexts import learn_contexts
from ._evolution import Structured
from ._kneser_ney import count, merge
from ._members import NgramMember, StateMember
from ._mixture import Mixture, learn_mixture
from ._reader import Reader, n_buckets, read_members
from ._readout import Readout
from ._token_basis import TokenBasis, learn_basis
from ._training import train

FINISH = 0.3  # of the rate, for text that was held out at first
NGRAM_ORDER = {"word": 5, "char": 8}
CONTEXT_PASSES, CONTEXT_RATE = 2, 0.3
PIECE = 16384  # tokens that are read at a time


@dataclass(frozen=True)
class Settings:
    """Parameters of the estimator that fits need."""

    kind: str
    members: tuple
    n_components: int
    code_alpha: float
    delays: int
    time_scales: tuple
    rank: int
    readout: str
    n_epochs: int
    learning_rate: float
    drop: float
    ngram_order: int
    cache_scales: tuple
    context_length: int
    validation_fraction: float


@dataclass(frozen=True)
class Fitted:
    """A reader, the weights of its mixture when it learns on, the basis of tokens, losses."""

    reader: Reader
    adaptive: Mixture
    basis: TokenBasis | None
    losses: list


def fit_text(ids, vocabulary, settings, rng, n_jobs):
    """All members, their weights on the last part of the text, which they then learn too."""
    n_held = round(settings.validation_fraction * len(ids))
    early, held = ids[: len(ids) - n_held], ids[len(ids) - n_held :]
    counts = np.bincount(ids, minlength=len(vocabulary))
    first = [] if vocabulary.end is None else [vocabulary.end]
    end = -1 if vocabulary.end is None else vocabulary.end
    members, basis, losses = {}, None, []
    if "state" in settings.members:
        basis = learn_basis(
            ids, len(vocabulary), settings.n_components, settings.code_alpha, n_jobs, rng
        )
        decays = 1 - 1 / np.array(settings.time_scales, np.float32).reshape(-1)
        evolution = Structured(basis.codes, settings.delays, decays)
        readout = Readout.start(evolution.n_features, settings.rank, counts, settings.readout, rng)
        losses = train(
            readout,
            evolution,
            early,
            n_epochs=settings.n_epochs,
            rate=settings.learning_rate,
            drop=settings.drop,
            rng=np.random.default_rng(rng.randint(2**31)),
            n_jobs=n_jobs,
        )
        members["state"] = StateMember(evolution, readout)
    if "contexts" in settings.members:
        members["contexts"] = learn_contexts(
            early,
            len(vocabulary),
            settings.context_length,
            CONTEXT_PASSES,
            CONTEXT_RATE,
        )
    if "ngram" in settings.members:
        members["ngram"] = NgramMember(count(early, settings.ngram_order, len(vocabulary), end=end))
    if "cache" in settings.members:
        prior = (counts + 0.5) / (counts + 0.5).sum()
        members["cache"] = Cache(1 - 1 / np.array(settings.cache_scales, float), prior)
    reader, adaptive = _weighed(members, held, first, n_jobs)
    return Fitted(learn_more(reader, held, settings, end, rng, n_jobs), adaptive, basis, losses)


def _weighed(members, held, first, n_jobs):
    """A reader with weights for text that was held out, and weights for reading with learning."""
    columns = sum(member.n_columns for member in members.values())
    even = Mixture(np.ones((n_buckets(members), columns)))
    reader = Reader(members, even, first)
    found = []
    for one in (reader, reader.learning(even)):
        memory, parts = one.start(), []
        for start in range(0, len(held), PIECE):
            parts.append(read_members(one.members, held[start : start + PIECE], memory, n_jobs))
        if parts:
            probabilities, buckets = (np.concatenate(part) for part in zip(*parts, strict=True))
            found.append(learn_mixture(probabilities, buckets, len(even.evidence)))
        else:
            found.append(even)
    return replace(reader, mixture=found[0]), found[1]


def learn_more(reader, ids, settings, end, rng, n_jobs):
    """A reader that also has learned this text; its weights stay."""
    members = dict(reader.members)
    if len(ids) == 0:
        return reader
    if "state" in members:
        state = members["state"]
        readout = state.readout.copy()
        train(
            readout,
            state.evolution,
            ids,
            n_epochs=1,
            rate=FINISH * settings.learning_rate,
            drop=settings.drop,
            rng=np.random.default_rng(rng.randint(2**31)),
            n_jobs=n_jobs,
        )
        members["state"] = replace(state, readout=readout)
    if "contexts" in members:
        tree = members["contexts"].learning()
        memory = tree.start()
        tree.read(ids, memory)
        members["contexts"] = memory[1].fixed()
    if "ngram" in members:
        one = members["ngram"].model
        more = count(ids, one.order, one.n_tokens, end=end)
        members["ngram"] = NgramMember(merge(one, more))
    return replace(reader, members=members)
