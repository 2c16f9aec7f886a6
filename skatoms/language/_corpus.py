"""What may be a corpus, and its documents as lists of tokens, one at a time."""

import os
import re
from collections.abc import Iterable
from numbers import Integral, Real

END, UNKNOWN = "</s>", "<unk>"


def documents_of(X, analyzer):
    """The documents of X, one after the other; nothing is read before it is needed.

    X : str is one long text, a path is a file of one, anything else an iterable of documents. The
        lines of a text are its documents, but for characters, where line ends are characters.
    """
    if isinstance(X, os.PathLike):
        with open(X, encoding="utf-8") as file:
            yield from file
    elif isinstance(X, str):
        yield from X.splitlines(keepends=True)
    elif isinstance(X, bytes):
        raise TypeError("X is bytes: decode them first, for instance by X.decode('utf-8').")
    elif not isinstance(X, Iterable) or getattr(X, "ndim", 1) == 0:
        raise ValueError(
            f"X must be a text, a path or an iterable of documents, got {type(X).__name__}."
        )
    else:
        if getattr(X, "ndim", 1) > 1:
            X = _column(X)
        yield from X


def _column(X):
    if X.shape[1:] != (1,):
        raise ValueError(
            f"X has shape {tuple(X.shape)}: documents are expected in one dimension, as strings."
        )
    return X.to_numpy()[:, 0] if hasattr(X, "to_numpy") else X[:, 0]


class Tokenizer:
    """Turns a document, a string or a sequence of tokens, into a list of tokens.

    Parameters
    ----------
    analyzer : {"word", "char"} or callable
        A callable gets the whole document.
    lowercase : bool
    token_pattern : str
    tokenizer : callable or None
        Takes the place of the pattern.
    """

    def __init__(self, analyzer, lowercase, token_pattern, tokenizer):
        self.lowercase, self.whole = lowercase, analyzer
        if analyzer == "char":
            self.split = list
        elif tokenizer is not None:
            self.split = tokenizer
        else:
            self.split = re.compile(token_pattern).findall

    def __call__(self, document):
        """The tokens of a document."""
        if callable(self.whole):
            return list(self.whole(document))
        if isinstance(document, str):
            return self.split(document.lower() if self.lowercase else document)
        return _tokens(document)


def _tokens(document):
    """A sequence of tokens that was given instead of a string."""
    if isinstance(document, bytes):
        raise TypeError("A document is bytes: decode it first, for instance by .decode('utf-8').")
    if document is None or isinstance(document, Real) or not isinstance(document, Iterable):
        raise ValueError(f"A document must be a string or a sequence of tokens, got {document!r}.")
    tokens = list(document)
    for token in tokens:
        if not isinstance(token, str | Integral):
            raise ValueError(f"A token must be a string or a whole number, got {token!r}.")
    return tokens
