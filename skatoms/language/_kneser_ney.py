"""Modified Kneser-Ney: probabilities of tokens from counts of n-grams, interpolated."""

from dataclasses import dataclass

import numpy as np

from ..backend import kernel

NONE = -1  # the number of an n-gram that was not seen
FALLBACK = (0.5, 1.0, 1.5)  # discounts where counts are too few to estimate them


@dataclass(frozen=True)
class KneserNey:
    """n-grams of all orders as tries in flat arrays; those of an order follow each other.

    n-grams of order o are numbered by (number of their first o - 1 tokens, last token), so what
    follows a context are neighbours: ``tokens[first[c]:first[c + 1]]`` for the context c, counted
    over all orders. Context 0 is the empty one, and n-gram k is the context k + 1.

    tokens : (n_grams,) int32
        The last token of each n-gram.
    first : (n_contexts + 1,) int64
    weights : (n_grams,) float32
        What the n-gram itself gives to the probability of its last token.
    backoff : (n_contexts,) float64
        The weight of the shorter context's distribution.
    support : (n_contexts,) int32
        How often the context was seen, as it is counted in its order.
    counts : (n_grams,) int32
        How often each n-gram was seen.
    sizes : (order,) int64
        How many n-grams of each order there are.
    n_tokens : int
        The size of the vocabulary.
    """

    tokens: np.ndarray
    first: np.ndarray
    weights: np.ndarray
    backoff: np.ndarray
    support: np.ndarray
    counts: np.ndarray
    sizes: np.ndarray
    n_tokens: int

    @property
    def order(self):
        """The longest n-gram."""
        return len(self.sizes)

    def counted(self):
        """Keys and counts of the n-grams of each order, as `of_counts` takes them."""
        edges = np.concatenate([[0], np.cumsum(self.sizes)])
        contexts = np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))
        for order in range(self.order):
            some = slice(edges[order], edges[order + 1])
            before = edges[order - 1] + 1 if order else 0  # context 0 is the empty one
            key = (contexts[some] - before) * self.n_tokens + self.tokens[some]
            yield key, self.counts[some]

    def start(self):
        """Contexts of all lengths, 0 to order - 1, where nothing was read."""
        contexts = np.full(self.order, NONE, np.int64)
        contexts[0] = 0
        return contexts

    def read(self, ids, contexts, end):
        """Probabilities of tokens in turn, and contexts' lengths and support; moves `contexts`.

        ids : (n,) int32
        contexts : as `start` gives them
        end : int
            The token after which a new context begins with it; -1 if none does.

        Returns
        -------
        probabilities : (n,) float64
        lengths, support : (n,) int32
            Of the longest context that was seen in the fit.
        """
        out = np.empty(len(ids)), np.empty(len(ids), np.int32), np.empty(len(ids), np.int32)
        read_tokens(self._tries, ids, contexts, end, 1 / self.n_tokens, *out)
        return out

    def distribution(self, contexts):
        """Probabilities of all tokens after these contexts, (n_tokens,)."""
        out = np.full(self.n_tokens, 1 / self.n_tokens)
        fill_distribution(self._tries, contexts, out)
        return out

    @property
    def _tries(self):
        return self.tokens, self.first, self.weights, self.backoff, self.support


def count(ids, order, n_tokens, *, end=NONE, apart=False):
    """Kneser-Ney of a text.

    Parameters
    ----------
    ids : (n,) int32
    order : int
    n_tokens : int
    end : int
        The token at the end of documents, which also stands before the first one; -1 if there is
        none.
    apart : bool
        Whether no n-gram reaches back beyond the end of the document before.

    Returns
    -------
    KneserNey
    """
    head = [end] if end >= 0 else []
    ids = np.concatenate([head, ids]).astype(np.int64)
    available = _available(ids, end, apart)
    keys, raw = np.unique(ids[len(head) :], return_counts=True)
    grams = np.searchsorted(keys, ids)
    keys, counts = [keys], [raw]
    for length in range(2, order + 1):
        where = np.flatnonzero(available >= length)
        found = grams[where - 1] * n_tokens + ids[where]
        new, inverse, raw = np.unique(found, return_inverse=True, return_counts=True)
        keys.append(new)
        counts.append(raw)
        grams = np.full(len(ids), NONE)
        grams[where] = inverse
    return of_counts(keys, counts, n_tokens)


def merge(one, other):
    """Kneser-Ney of two texts, from that of each."""
    keys, counts = [], []
    numbers = [np.zeros(1, np.int64)] * 2  # of the n-grams of each, in both together
    for parts in zip(one.counted(), other.counted(), strict=True):
        found = [
            number[key // one.n_tokens] * one.n_tokens + key % one.n_tokens
            for number, (key, _) in zip(numbers, parts, strict=True)
        ]
        new, inverse = np.unique(np.concatenate(found), return_inverse=True)
        keys.append(new)
        counts.append(np.bincount(inverse, np.concatenate([raw for _, raw in parts])).astype(int))
        numbers = np.split(inverse, [len(found[0])])
    return of_counts(keys, counts, one.n_tokens)


def _available(ids, end, apart):
    """The longest n-gram that ends at each token."""
    places = np.arange(len(ids))
    if not apart:
        return places + 1
    ends = np.where(ids == end, places, 0)
    before = np.concatenate([[0], np.maximum.accumulate(ends)[:-1]])
    return places - before + 1


def of_counts(keys, counts, n_tokens):
    """Discounted counts, order by order, as tries.

    keys : list of (n_grams_of_order,) int64
        Number of the first tokens * n_tokens + last token, sorted.
    counts : list of (n_grams_of_order,) int64
        How often each was seen.
    """
    first, weights, backoff, support = [[0]], [], [], []
    n_before, n_contexts = 0, 1
    for key, adjusted in zip(keys, _adjusted(keys, counts, n_tokens), strict=True):
        prefix = key // n_tokens
        followers = np.bincount(prefix, minlength=n_contexts)
        totals = np.bincount(prefix, adjusted, minlength=n_contexts)
        kept = adjusted - _discounts(adjusted)
        weight = (kept / totals[prefix]).astype(np.float32)
        weights.append(weight)
        backoff.append(1 - np.bincount(prefix, weight.astype(np.float64), minlength=n_contexts))
        support.append(totals.astype(np.int32))
        first.append(n_before + np.cumsum(followers))
        n_before, n_contexts = n_before + len(key), len(key)
    return KneserNey(
        (np.concatenate(keys) % n_tokens).astype(np.int32),
        np.concatenate(first),
        np.concatenate(weights),
        np.concatenate(backoff),
        np.concatenate(support),
        np.concatenate(counts).astype(np.int32),
        np.array([len(key) for key in keys]),
        n_tokens,
    )


def _adjusted(keys, counts, n_tokens):
    """Counts of the longest n-grams; of the others, how many tokens were seen before them.

    n-grams that nothing was seen before, those at the start of a text, keep their counts.
    """
    suffix = np.zeros(len(keys[0]), np.int64)  # the n-gram without its first token
    result = [raw.copy() for raw in counts]
    for order in range(1, len(keys)):
        key = keys[order]
        longer = suffix[key // n_tokens] * n_tokens + key % n_tokens
        suffix = np.searchsorted(keys[order - 1], longer)
        before = np.bincount(suffix, minlength=len(keys[order - 1]))
        result[order - 1] = np.where(before > 0, before, counts[order - 1])
    return result


def _discounts(counts):
    """What is taken from each count: one amount for 1, for 2, and for 3 and more."""
    n = np.bincount(np.minimum(counts, 5), minlength=5)[1:5].astype(float)
    amounts = np.array(FALLBACK)
    if n.all():
        scale = n[0] / (n[0] + 2 * n[1])
        k = np.arange(1, 4)
        found = k - (k + 1) * scale * n[1:] / n[:-1]
        amounts = np.where((found > 0) & (found < k), found, amounts)
    return amounts[np.minimum(counts, 3) - 1]


@kernel
def find(tries, context, token):
    """The number of the context with one more token, NONE if not seen. Cost: log(followers)."""
    tokens, first = tries[0], tries[1]
    low, high = first[context], first[context + 1]
    stop = high
    while low < high:
        middle = (low + high) // 2
        if tokens[middle] < token:
            low = middle + 1
        else:
            high = middle
    return low if low < stop and tokens[low] == token else NONE


@kernel
def read_tokens(tries, ids, contexts, end, uniform, probabilities, lengths, support):
    """Probabilities of tokens one after the other. Cost: order * log(followers) a token."""
    _, first, weights, backoff, seen = tries
    order = contexts.shape[0]
    for t in range(ids.shape[0]):
        p, longest, grown, times = uniform, 0, 0, 0
        for length in range(order):
            context = contexts[length]
            contexts[length] = grown if length else 0
            grown = NONE
            if context == NONE:
                continue
            gram = find(tries, context, ids[t])
            if first[context] < first[context + 1]:
                p *= backoff[context]
                longest, times = length, seen[context]
            if gram != NONE:
                p += weights[gram]
                grown = gram + 1
        probabilities[t], lengths[t], support[t] = p, longest, times
        if ids[t] == end:
            contexts[2:] = NONE


@kernel
def fill_distribution(tries, contexts, out):
    """out = the distribution after these contexts. Cost: order * n_tokens."""
    tokens, first, weights, backoff, _ = tries
    for length in range(contexts.shape[0]):
        context = contexts[length]
        if context == NONE or first[context] == first[context + 1]:
            break
        for token in range(out.shape[0]):
            out[token] *= backoff[context]
        for gram in range(first[context], first[context + 1]):
            out[tokens[gram]] += weights[gram]
