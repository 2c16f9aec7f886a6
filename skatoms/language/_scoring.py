"""What a fitted language model says about texts."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

PIECE = 16384  # tokens that are read at a time


class ScoringMixin:
    """Probabilities of tokens in texts, states after them, and what was learned of tokens."""

    analyzer: Any
    members: Any
    n_jobs: Any
    _adaptive: Any
    _basis: Any
    _documents: Any
    _reader: Any
    _vocabulary: Any

    def score(self, X: Iterable, y: object = None, *, adapt: bool = False) -> float:
        """Mean log-likelihood of a token.

        Documents are read as one stream: what was read of one is context of the next. Ends of
        documents are tokens too, unless tokens are characters.

        Parameters
        ----------
        X : str, path or iterable of documents
            As in `fit`.

        y : Ignored
            Not used, present for API consistency.

        adapt : bool, default=False
            Whether a copy of the model goes on learning from what it has read. Tokens are
            predicted first and learned afterwards. Figures with and without it do not compare.

        Returns
        -------
        score : float
            In nats.
        """
        total = n = 0
        for logs, _ in self._read(X, adapt):
            total += logs.sum()
            n += len(logs)
        if n == 0:
            raise ValueError("There is nothing to score: X has no token.")
        return float(total / n)

    def perplexity(self, X: Iterable, *, adapt: bool = False) -> float:
        """exp of minus the mean log-likelihood of a token.

        Parameters
        ----------
        X : str, path or iterable of documents
            As in `fit`.

        adapt : bool, default=False
            As in `score`.

        Returns
        -------
        perplexity : float
            Among how many tokens, all as likely, the choice would be as hard.
        """
        return float(np.exp(-self.score(X, adapt=adapt)))

    def bits_per_char(self, X: Iterable, *, adapt: bool = False) -> float:
        """Mean bits that it takes to write a character down; for models of characters.

        Parameters
        ----------
        X : str, path or iterable of documents
            As in `fit`.

        adapt : bool, default=False
            As in `score`.

        Returns
        -------
        bits : float
            Minus the mean log-likelihood of a character, in bits.
        """
        if self.analyzer != "char":
            raise ValueError(
                f"bits_per_char is for analyzer='char', not for {self.analyzer!r}: use perplexity."
            )
        return float(-self.score(X, adapt=adapt) / np.log(2))

    def score_tokens(self, X: Iterable, *, adapt: bool = False) -> list:
        """Log-likelihood of each token, given all that was read before it.

        Parameters
        ----------
        X : str, path or iterable of documents
            As in `fit`.

        adapt : bool, default=False
            As in `score`.

        Returns
        -------
        scores : list of ndarray
            One for each document, with the end of the document last. Very low ones are surprises.
        """
        lengths = []

        def counted(documents):
            for tokens in documents:
                end = 0 if self._fitted_vocabulary().end is None else 1
                lengths.append(len(tokens) + end if tokens else 0)
                yield tokens

        parts = [logs for logs, _ in self._read(X, adapt, counted)]
        logs = np.concatenate([np.empty(0), *parts])
        return np.split(logs, np.cumsum(lengths)[:-1]) if lengths else []

    def predict(self, X: Iterable) -> np.ndarray:
        """The most likely next token after each context.

        Parameters
        ----------
        X : iterable of documents
            Contexts, each read by itself.

        Returns
        -------
        tokens : ndarray of shape (n_contexts,)
            The tokens.
        """
        names = np.empty(len(self._fitted_vocabulary()), object)
        names[:] = self._vocabulary.tokens
        return names[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X: Iterable) -> np.ndarray:
        """Probabilities of the next token after each context.

        Parameters
        ----------
        X : iterable of documents
            Contexts, each read by itself.

        Returns
        -------
        probabilities : ndarray of shape (n_contexts, n_tokens)
            Columns are numbered by `vocabulary_`.
        """
        self._fitted_vocabulary()
        rows = [self._after(tokens) for tokens in self._documents(X)]
        return np.array(rows).reshape(len(rows), len(self._vocabulary))

    def transform(self, X: Iterable) -> np.ndarray:
        """The state at the end of each document, for classifiers and the like.

        Parameters
        ----------
        X : str, path or iterable of documents
            Documents, each read by itself, without its end.

        Returns
        -------
        states : ndarray of shape (n_documents, n_features)
            Blocks of `n_components` numbers for each delay and each time scale.
        """
        self._fitted_vocabulary()
        evolution = self._state_member().evolution
        rows = []
        for tokens in self._documents(X):
            memory = evolution.start()
            ids = np.array([self._vocabulary.number.get(t, 0) for t in tokens], np.int32)
            evolution.advance(ids, memory)
            rows.append(evolution.state(memory)[:-1])
        return np.array(rows, np.float32).reshape(len(rows), evolution.n_features - 1)

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
        """Names of the numbers in a state.

        Parameters
        ----------
        input_features : Ignored
            Not used, present for API consistency.

        Returns
        -------
        names : ndarray of str
            The block and the atom.
        """
        evolution = self._state_member().evolution
        names = [
            f"{block} atom {k}"
            for block in evolution.block_names
            for k in range(evolution.codes.shape[1])
        ]
        return np.array(names, dtype=object)

    @property
    def token_codes_(self) -> csr_array:
        """Sparse codes of tokens, (n_tokens, n_components)."""
        return self._state_member().evolution.codes

    @property
    def components_(self) -> np.ndarray:
        """Atoms as weights of tokens, (n_components, n_tokens)."""
        self._state_member()
        return self._basis.components

    @property
    def eigenvalues_(self) -> np.ndarray:
        """Of the operator that moves the state."""
        return self._state_member().evolution.eigenvalues

    @property
    def time_scales_(self) -> np.ndarray:
        """Tokens after which what belongs to each eigenvalue has faded to 1/e."""
        sizes = np.abs(self.eigenvalues_)
        with np.errstate(divide="ignore"):
            return -1 / np.log(sizes)

    @property
    def member_weights_(self) -> dict:
        """The mixture's weights, averaged over held-out text."""
        self._fitted_vocabulary()
        evidence = self._reader.mixture.evidence.sum(axis=0)
        result: dict = {}
        for name, share in zip(self._reader.columns, evidence / evidence.sum(), strict=True):
            result[name] = result.get(name, 0.0) + float(share)
        return result

    def top_tokens(self, component: int, n_tokens: int = 10) -> list:
        """The tokens in whose codes an atom is strongest.

        Parameters
        ----------
        component : int
            The atom.

        n_tokens : int, default=10
            How many.

        Returns
        -------
        tokens : list
            The strongest first.
        """
        column = self.token_codes_[:, [component]].toarray().ravel()
        order = np.argsort(-column, kind="stable")[:n_tokens]
        return [self._vocabulary.tokens[k] for k in order if column[k] > 0]

    def _read(self, X, adapt, watch=lambda documents: documents):
        """log P of tokens in turn and their numbers, in pieces."""
        vocabulary = self._fitted_vocabulary()
        reader = self._reader.learning(self._adaptive) if adapt else self._reader.ready()
        memory = reader.start()
        for ids in vocabulary.chunks(watch(self._documents(X)), PIECE):
            yield reader.read(ids, memory, self.n_jobs), ids

    def _after(self, tokens):
        """Probabilities of the next token."""
        distributions, weights = self._reader.distributions(self._memory_of(tokens))
        return weights @ distributions

    def _memory_of(self, tokens):
        """Memories of all members after these tokens."""
        memory = self._reader.start()
        ids = np.array([self._vocabulary.number.get(t, 0) for t in tokens], np.int32)
        if len(ids):
            self._reader.read(ids, memory)
        return memory

    def _fitted_vocabulary(self):
        check_is_fitted(self, "_reader")
        return self._vocabulary

    def _state_member(self):
        check_is_fitted(self, "_reader")
        if "state" not in self._reader.members:
            raise AttributeError(f"members={self.members!r} have no 'state', which this needs.")
        return self._reader.members["state"]
