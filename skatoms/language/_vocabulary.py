"""The vocabulary: tokens that are known, and texts as their numbers."""

from array import array
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from ._corpus import END, UNKNOWN

CHUNK = 4096  # tokens that are scored at a time


@dataclass(frozen=True)
class Vocabulary:
    """Known tokens, frequent ones first; number 0 is the unknown one.

    tokens : list
    end : int or None
        The number of the token at the end of each document, if it has one.
    """

    tokens: list
    end: int | None
    number: dict = field(init=False, repr=False)

    def __post_init__(self):
        object.__setattr__(self, "number", {t: k for k, t in enumerate(self.tokens)})

    def __len__(self):
        return len(self.tokens)

    def encode(self, tokens):
        """Numbers of a document's tokens, and of its end."""
        numbers = [self.number.get(token, 0) for token in tokens]
        return numbers if self.end is None else [*numbers, self.end]

    def chunks(self, documents, size=CHUNK):
        """Encoded documents in arrays of about `size` numbers, documents never cut before it."""
        waiting = array("i")
        for tokens in documents:
            if not tokens:
                continue
            waiting.extend(self.encode(tokens))
            while len(waiting) >= size:
                yield np.array(waiting[:size], np.int32)
                del waiting[:size]
        if waiting:
            yield np.array(waiting, np.int32)


def learn_vocabulary(documents, *, min_count, min_df, max_features, has_end):
    """The vocabulary of documents and their numbers, in one pass over them.

    Tokens are numbered as they come, and anew when all are known; so the text itself is not kept.

    Returns
    -------
    Vocabulary, ndarray of int32
    """
    numbers, occurrences, frequency = {}, array("i"), Counter()
    n_documents = 0
    for tokens in documents:
        if not tokens:
            continue
        n_documents += 1
        occurrences.extend(numbers.setdefault(token, len(numbers)) for token in tokens)
        occurrences.append(-1)
        frequency.update({numbers[token] for token in tokens})
    if not numbers:
        raise ValueError("The corpus is empty: no document has a token.")
    occurrences = np.array(occurrences, np.int32)
    names = np.empty(len(numbers), object)
    names[:] = list(numbers)
    counts = np.bincount(occurrences[occurrences >= 0], minlength=len(names))
    in_documents = np.array([frequency[k] for k in range(len(names))])
    kept = _kept(names, counts, in_documents, n_documents, min_count, min_df, max_features)
    tokens = [UNKNOWN, *([END] if has_end else []), *names[kept]]
    translated = np.zeros(len(names) + 1, np.int32)
    translated[kept] = np.arange(len(tokens) - len(kept), len(tokens))
    translated[-1] = 1
    ids = translated[occurrences if has_end else occurrences[occurrences >= 0]]
    return Vocabulary(tokens, 1 if has_end else None), ids


def _kept(names, counts, in_documents, n_documents, min_count, min_df, max_features):
    """Positions of tokens in the vocabulary, the most frequent first."""
    least = min_df if isinstance(min_df, int | np.integer) else min_df * n_documents
    special = np.array([name in (END, UNKNOWN) for name in names])
    kept = np.flatnonzero((counts >= min_count) & (in_documents >= least) & ~special)
    kept = kept[np.argsort(-counts[kept], kind="stable")][:max_features]
    if len(kept) == 0:
        raise ValueError(
            f"No token is left of {len(names)} with min_count={min_count}, min_df={min_df} and "
            f"max_features={max_features}: take smaller limits."
        )
    return kept
