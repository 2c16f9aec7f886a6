"""BasisStateLM: a language model of explicit bases and a linear state."""

from collections.abc import Callable, Iterable
from numbers import Integral, Real
from pathlib import Path
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ._corpus import Tokenizer, documents_of
from ._fitting import NGRAM_ORDER, Fitted, Settings, fit_text, learn_more
from ._generation import GenerationMixin
from ._mixture import Mixture
from ._scoring import ScoringMixin
from ._storage import load_model, save_model
from ._vocabulary import learn_vocabulary

MEMBERS = {"word": ("state", "ngram", "cache"), "char": ("state", "contexts", "ngram")}
CHUNK = 65536  # numbers of a stream that are learned at a time


class BasisStateLM(ScoringMixin, GenerationMixin, TransformerMixin, BaseEstimator):
    r"""A language model of explicit bases and a linear state.

    Each token has a sparse code over atoms that are learned from the company tokens keep. The text
    read so far is a state that is linear in these codes: a delay line of the last ones and sums
    that fade at several rates. A log-bilinear read-out gives probabilities of the next token::

        z <- a z + sqrt(1 - a^2) code(x),    log P(x) = w_x' B z + b_x - log sum

    There is no attention and no hidden non-linear layer. Its distribution is mixed with those of
    other members, by weights that depend on how often the context was seen.

    Read more in the :ref:`User Guide <language>`.

    Parameters
    ----------
    analyzer : {"word", "char"} or callable, default="word"
        What tokens are. A callable turns a document into a list of tokens. Words have a token for
        the end of documents, characters have not.

    n_components : int, default=150
        Atoms of the token basis; no more than there are tokens.

    code_alpha : float, default=0.02
        Weight of the l1 penalty of codes, which are then brought to length 1.

    lowercase : bool, default=False
        Whether strings are converted to lower case.

    token_pattern : str, default=r"\w+(?:'\w+)?|[^\w\s]"
        What a word is.

    tokenizer : callable, default=None
        Takes the place of the pattern.

    min_count : int, default=None
        Tokens seen less often become unknown. None is 2 for words and 1 for characters.

    min_df : int or float, default=1
        Tokens of fewer documents, or of a smaller part of them, become unknown.

    max_features : int, default=None
        Only so many tokens are known, the most frequent ones.

    delays : int, default=None
        How many of the last tokens the state has one by one. None is 4 for words, 8 for characters.

    time_scales : sequence of float, default=(2, 5, 20, 100)
        A leaky sum keeps 1 - 1/scale of itself at each token, so after about as many tokens as its
        scale it has faded to 1/e. Each is larger than 1.

    rank : int, default=100
        Columns of B.

    readout : {"auto", "full", "adaptive"}, default="auto"
        "adaptive" reads rare tokens out in two steps, first a group of them, then a token of it;
        "auto" does so for more than 2,000 tokens.

    members : tuple of {"state", "ngram", "cache", "contexts"}, default=None
        What is mixed: the state; modified Kneser-Ney; fading counts of tokens; a softmax over
        contexts of all lengths up to `context_length`. None is the first three for words, all but
        the cache for characters.

    ngram_order : int, default=None
        Tokens of the longest n-grams. None is 5 for words and 8 for characters.

    cache_scales : sequence of float, default=(10, 100, 500, 2000)
        After how many tokens counts have faded to 1/e.

    context_length : int, default=6
        Tokens of the longest context in "contexts".

    max_iter : int, default=3
        Passes over the text in which the read-out is learned.

    learning_rate : float, default=0.002
        Of the read-out, at first; it falls linearly.

    drop : float, default=0.0
        Part of the state that is left out at random while learning.

    validation_fraction : float, default=0.05
        Last part of the text, on which the mixture's weights are learned. Members then learn it
        too.

    n_jobs : int, default=None
        Number of threads; -1 takes all cores. Results do not depend on it.

    random_state : int, RandomState instance or None, default=None
        Starts the basis and the read-out.

    Attributes
    ----------
    vocabulary_ : dict
        Number of each token. 0 is the unknown one.

    token_codes_ : csr_array of shape (n_tokens, n_components)
        Sparse codes of tokens.

    components_ : ndarray of shape (n_components, n_tokens)
        Atoms, as weights of the tokens that stand near those they are in.

    eigenvalues_ : ndarray
        Of the operator that moves the state.

    time_scales_ : ndarray
        Tokens after which what belongs to each eigenvalue has faded to 1/e.

    member_weights_ : dict
        The mixture's weights, averaged over held-out text.

    losses_ : list
        Mean loss of each pass over the text, while the read-out was learned.

    n_tokens_seen_ : int
        Tokens that were learned from.

    Notes
    -----
    Memory is linear in the vocabulary times `n_components` and in the number of distinct n-grams.
    Texts are read one document at a time; four bytes a token are kept during a fit.

    References
    ----------
    .. [1] Chen and Goodman, "An empirical study of smoothing techniques for language modeling",
       Computer Speech and Language 13, 1999.
    .. [2] Mnih and Hinton, "Three new graphical models for statistical language modelling",
       ICML 2007.

    Examples
    --------
    >>> from skatoms import BasisStateLM
    >>> lines = ["the cat sat on the mat", "the dog sat on the rug"] * 50
    >>> model = BasisStateLM(n_components=4, random_state=0).fit(lines)
    >>> model.predict(["the cat"]).tolist()
    ['sat']
    """

    _parameter_constraints: dict = {
        "analyzer": [StrOptions({"word", "char"}), callable],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "code_alpha": [Interval(Real, 0, None, closed="left")],
        "lowercase": ["boolean"],
        "token_pattern": [str],
        "tokenizer": [callable, None],
        "min_count": [Interval(Integral, 1, None, closed="left"), None],
        "min_df": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="both"),
        ],
        "max_features": [Interval(Integral, 1, None, closed="left"), None],
        "delays": [Interval(Integral, 0, None, closed="left"), None],
        "time_scales": ["array-like"],
        "rank": [Interval(Integral, 1, None, closed="left")],
        "readout": [StrOptions({"auto", "full", "adaptive"})],
        "members": ["array-like", None],
        "ngram_order": [Interval(Integral, 1, None, closed="left"), None],
        "cache_scales": ["array-like"],
        "context_length": [Interval(Integral, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "drop": [Interval(Real, 0, 1, closed="left")],
        "validation_fraction": [Interval(Real, 0, 0.5, closed="both")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        analyzer: str | Callable = "word",
        n_components: int = 150,
        code_alpha: float = 0.02,
        *,
        lowercase: bool = False,
        token_pattern: str = r"\w+(?:'\w+)?|[^\w\s]",
        tokenizer: Callable | None = None,
        min_count: int | None = None,
        min_df: int | float = 1,
        max_features: int | None = None,
        delays: int | None = None,
        time_scales: tuple = (2, 5, 20, 100),
        rank: int = 100,
        readout: str = "auto",
        members: tuple | None = None,
        ngram_order: int | None = None,
        cache_scales: tuple = (10, 100, 500, 2000),
        context_length: int = 6,
        max_iter: int = 3,
        learning_rate: float = 0.002,
        drop: float = 0.0,
        validation_fraction: float = 0.05,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.analyzer = analyzer
        self.n_components = n_components
        self.code_alpha = code_alpha
        self.lowercase = lowercase
        self.token_pattern = token_pattern
        self.tokenizer = tokenizer
        self.min_count = min_count
        self.min_df = min_df
        self.max_features = max_features
        self.delays = delays
        self.time_scales = time_scales
        self.rank = rank
        self.readout = readout
        self.members = members
        self.ngram_order = ngram_order
        self.cache_scales = cache_scales
        self.context_length = context_length
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.drop = drop
        self.validation_fraction = validation_fraction
        self.n_jobs = n_jobs
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Iterable, y: object = None) -> Self:
        """Learn from documents.

        Parameters
        ----------
        X : str, path or iterable of documents
            Documents are strings or sequences of tokens, and are read one at a time; those without
            tokens are skipped. The lines of a string, or of a file that a path names, are
            documents.

        y : Ignored
            Not used, present for API consistency.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        settings = self._settings()
        has_end = settings.kind == "word"
        least = self.min_count or (2 if has_end else 1)
        vocabulary, ids = learn_vocabulary(
            self._documents(X),
            min_count=least,
            min_df=self.min_df,
            max_features=self.max_features,
            has_end=has_end,
        )
        rng = check_random_state(self.random_state)
        fitted = fit_text(ids, vocabulary, settings, rng, self.n_jobs)
        self._keep(vocabulary, fitted)
        self.n_tokens_seen_ = len(ids)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Iterable, y: object = None) -> Self:
        """Learn from more documents.

        The first call is a fit: it makes the vocabulary and the basis of tokens, which stay. Later
        calls add counts, and move the read-out in one pass; weights of the mixture learn from how
        well members predicted before.

        Parameters
        ----------
        X : str, path or iterable of documents
            As in `fit`.

        y : Ignored
            Not used, present for API consistency.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        if not hasattr(self, "_reader"):
            return self.fit(X)
        end = -1 if self._vocabulary.end is None else self._vocabulary.end
        rng = check_random_state(self.random_state)
        for ids in self._vocabulary.chunks(self._documents(X), CHUNK):
            self._reader = learn_more(self._reader, ids, self._settings(), end, rng, self.n_jobs)
            self.n_tokens_seen_ += len(ids)
        return self

    def save(self, path: str | Path) -> None:
        """Write the model to a file, compactly and without pickle.

        Parameters
        ----------
        path : str or path
            Where to. Callable parameters cannot be written.
        """
        check_is_fitted(self)
        save_model(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model that `save` has written.

        Parameters
        ----------
        path : str or path
            Where from.

        Returns
        -------
        model : BasisStateLM
            The fitted model.
        """
        return load_model(cls, path)

    def _documents(self, X):
        tokenizer = Tokenizer(self.analyzer, self.lowercase, self.token_pattern, self.tokenizer)
        return map(tokenizer, documents_of(X, self.analyzer))

    def _settings(self):
        kind = "char" if self.analyzer == "char" else "word"
        members = MEMBERS[kind] if self.members is None else tuple(self.members)
        unknown = set(members) - {"state", "ngram", "cache", "contexts"}
        if unknown or not members:
            raise ValueError(
                f"members={self.members!r}: name some of 'state', 'ngram', 'cache', 'contexts'."
            )
        return Settings(
            kind=kind,
            members=members,
            n_components=self.n_components,
            code_alpha=self.code_alpha,
            delays=(8 if kind == "char" else 4) if self.delays is None else self.delays,
            time_scales=_scales("time_scales", self.time_scales),
            rank=self.rank,
            readout=self.readout,
            n_epochs=self.max_iter,
            learning_rate=self.learning_rate,
            drop=self.drop,
            ngram_order=self.ngram_order or NGRAM_ORDER[kind],
            cache_scales=_scales("cache_scales", self.cache_scales),
            context_length=self.context_length,
            validation_fraction=self.validation_fraction,
        )

    def _keep(self, vocabulary, fitted: Fitted):
        self._vocabulary, self._reader = vocabulary, fitted.reader
        self._adaptive: Mixture = fitted.adaptive
        self.vocabulary_ = vocabulary.number
        self.losses_ = fitted.losses
        self._basis = fitted.basis

    def __sklearn_tags__(self):
        """Texts go in, as into scikit-learn's vectorisers."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


def _scales(name, values):
    """Time scales as numbers that are larger than 1."""
    values = np.asarray(values, float)
    if values.ndim != 1 or not (values > 1).all() or not np.isfinite(values).all():
        raise ValueError(f"{name} must be finite numbers larger than 1, got {values.tolist()}.")
    return tuple(values.tolist())
