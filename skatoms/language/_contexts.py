"""A softmax over contexts of several lengths: each gives weights to the tokens that followed it."""

from dataclasses import dataclass, replace

import numpy as np

from ..backend import kernel

NONE = -1
CHUNK = 8192  # tokens between checks of the room for new nodes


@dataclass(frozen=True)
class Contexts:
    """A tree of the contexts that were read; a node is a token after the context of its parent.

    The logit of a token is the sum of its weights after the contexts of length 0, 1, ..., as far as
    they were seen. Learning is one step for each token (Adagrad), so it can go on while reading,
    and new contexts join the tree.

    tokens, first, next : (room,) int32
        The token of a node, its first child, its next sibling.
    weights, squares : (room,) float32
        Of the node, and the sum of squares of the weight's gradients.
    size : (1,) int64
        How many nodes there are.
    n_tokens, length : int
        Size of the vocabulary, length of the longest context.
    rate : float
    learns : bool
        Whether reading changes weights.
    """

    tokens: np.ndarray
    first: np.ndarray
    next: np.ndarray
    weights: np.ndarray
    squares: np.ndarray
    size: np.ndarray
    n_tokens: int
    length: int
    rate: float
    learns: bool = False

    n_columns = 1

    @classmethod
    def empty(cls, n_tokens, length, rate):
        """A tree with a root alone."""
        nodes = [np.full(1, NONE, np.int32) for _ in range(3)]
        values = [np.zeros(1, np.float32) for _ in range(2)]
        return cls(*nodes, *values, np.ones(1, np.int64), n_tokens, length, rate)

    def start(self):
        """Nodes of the contexts of length 0, 1, ..., and the tree, if it can grow."""
        nodes = np.full(self.length + 1, NONE, np.int64)
        nodes[0] = 0
        return [nodes, self]

    def read(self, ids, memory, n_jobs=None):
        """Probabilities of tokens in turn, (n, 1); `memory` moves on."""
        out, values = np.empty(len(ids)), np.empty(self.n_tokens)
        for start in range(0, len(ids), CHUNK):
            some = slice(start, start + CHUNK)
            tree = memory[1]
            if self.learns:
                tree = memory[1] = tree.with_room(len(ids[some]) * (self.length + 1))
            read_contexts(
                tree.arrays, ids[some], memory[0], self.rate, self.learns, values, out[some]
            )
        return out[:, None]

    def distribution(self, memory):
        """Probabilities of all tokens, (1, n_tokens)."""
        logits = np.zeros(self.n_tokens)
        add_logits(memory[1].arrays, memory[0], logits)
        values = np.exp(logits - logits.max())
        return values[None] / values.sum()

    def ready(self):
        """The same."""
        return self

    def learning(self):
        """A copy that goes on learning while it reads."""
        arrays = [values.copy() for values in self.arrays]
        return replace(self, **dict(zip(NAMES, arrays, strict=True)), learns=True)

    def fixed(self):
        """A tree that no longer changes, without room for more."""
        n = int(self.size[0])
        arrays = [values[:n].copy() for values in self.arrays[:-1]]
        return replace(self, **dict(zip(NAMES, arrays, strict=False)), learns=False)

    @property
    def arrays(self):
        """What kernels need."""
        return self.tokens, self.first, self.next, self.weights, self.squares, self.size

    def with_room(self, n_more):
        """The same tree, with room for so many more nodes."""
        missing = int(self.size[0]) + n_more - len(self.tokens)
        if missing <= 0:
            return self
        more = max(missing, len(self.tokens))
        changes = {
            name: np.concatenate([values, np.full(more, values.dtype.type(blank))])
            for name, values, blank in zip(
                NAMES, self.arrays[:-1], (NONE, NONE, NONE, 0, 0), strict=False
            )
        }
        return replace(self, **changes)


NAMES = ("tokens", "first", "next", "weights", "squares", "size")


def learn_contexts(ids, n_tokens, length, n_epochs, rate):
    """The tree of a text, its weights learned in some passes over it."""
    tree = replace(Contexts.empty(n_tokens, length, rate), learns=True)
    for _ in range(n_epochs):
        memory = tree.start()
        tree.read(ids, memory)
        tree = memory[1]
    return tree.fixed()


@kernel
def add_logits(tree, nodes, logits):
    """Add the weights of tokens after all contexts. Cost: followers of all contexts."""
    tokens, first, following, weights, _, _ = tree
    for level in range(nodes.shape[0]):
        if nodes[level] < 0:
            break
        node = first[nodes[level]]
        while node >= 0:
            logits[tokens[node]] += weights[node]
            node = following[node]


@kernel
def child(tree, node, token):
    """The node of a token after a context, -1 if there is none. Cost: followers."""
    found = tree[1][node]
    while found >= 0 and tree[0][found] != token:
        found = tree[2][found]
    return found


@kernel
def read_contexts(tree, ids, nodes, rate, learns, values, out):
    """Predict, learn, move on. Cost: n_tokens exponentials and thrice the followers a token.

    values : (n_tokens,) float64
        Room for probabilities.
    """
    for t in range(ids.shape[0]):
        values[:] = 0.0
        add_logits(tree, nodes, values)
        values -= values.max()
        total = 0.0
        for k in range(values.shape[0]):
            values[k] = np.exp(values[k])
            total += values[k]
        values /= total
        out[t] = values[ids[t]]
        if learns:
            learn_token(tree, ids[t], nodes, rate, values)
        move_on(tree, ids[t], nodes)


@kernel
def learn_token(tree, token, nodes, rate, values):
    """A step of all weights after the contexts; the token joins those where it is new."""
    tokens, first, following, weights, squares, size = tree
    for level in range(nodes.shape[0]):
        context = nodes[level]
        if context < 0:
            break
        found = False
        node = first[context]
        while node >= 0:
            error = values[tokens[node]]
            if tokens[node] == token:
                error -= 1
                found = True
            squares[node] += error * error
            weights[node] -= rate * error / np.sqrt(squares[node])
            node = following[node]
        if not found:
            node = size[0]
            size[0] += 1
            tokens[node] = token
            error = values[token] - 1
            squares[node] = error * error
            weights[node] = rate
            following[node] = first[context]
            first[context] = node


@kernel
def move_on(tree, token, nodes):
    """The contexts after one more token."""
    grown = 0
    for level in range(nodes.shape[0]):
        context = nodes[level]
        nodes[level] = grown
        grown = child(tree, context, token) if context >= 0 else NONE
