"""Continuing a text, under control, and explaining what was predicted."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.utils import Bunch, check_random_state

from .._validation import check_number


class GenerationMixin:
    """Next tokens: their probabilities, samples, reasons."""

    _documents: Any
    _fitted_vocabulary: Any
    _memory_of: Any
    _reader: Any
    _state_member: Any
    _vocabulary: Any

    def next_proba(
        self,
        context: str | Iterable = "",
        *,
        masked: Iterable = (),
        pinned: dict | None = None,
        banned: Iterable = (),
    ) -> np.ndarray:
        """Probabilities of the next token after one context.

        Parameters
        ----------
        context : str or sequence of tokens, default=""
            Of any length; what has faded or is beyond the delays no longer counts.

        masked : iterable of int, default=()
            Atoms that are taken out of the state, at all delays and time scales.

        pinned : dict of int to float, default=None
            Atoms that have this value in the state, at all delays and time scales.

        banned : iterable, default=()
            Tokens that do not occur.

        Returns
        -------
        probabilities : ndarray of shape (n_tokens,)
            They sum to 1.
        """
        memory = self._memory_of(self._context_tokens(context))
        return self._controlled(memory, self._edit(masked, pinned), self._numbers(banned))

    def sample(
        self,
        n_tokens: int = 20,
        prompt: str | Iterable = "",
        *,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float = 1.0,
        masked: Iterable = (),
        pinned: dict | None = None,
        banned: Iterable = (),
        random_state: int | np.random.RandomState | None = None,
    ) -> list:
        """Draw a continuation, token by token.

        Parameters
        ----------
        n_tokens : int, default=20
            How many.

        prompt : str or sequence of tokens, default=""
            What stands before.

        temperature : float, default=1.0
            Probabilities are raised to the power of its inverse.

        top_k : int, default=None
            Only so many most likely tokens may be drawn.

        top_p : float, default=1.0
            Only the most likely tokens that have this probability together may be drawn.

        masked, pinned, banned : see `next_proba`
            Controls.

        random_state : int, RandomState instance or None, default=None
            Seed.

        Returns
        -------
        tokens : list
            Without the prompt. Models of characters: join them; "</s>" is the end of a document.
        """
        check_number("n_tokens", n_tokens, kind=(int, np.integer), least=0)
        check_number("temperature", temperature, least=1e-6)
        check_number("top_p", top_p, least=1e-12, most=1)
        rng = check_random_state(random_state)
        memory = self._memory_of(self._context_tokens(prompt))
        edit, numbers = self._edit(masked, pinned), self._numbers(banned)
        drawn = []
        for _ in range(n_tokens):
            p = self._controlled(memory, edit, numbers)
            p = narrowed(p, temperature, top_k, top_p)
            token = int(np.searchsorted(np.cumsum(p), rng.random_sample(), side="right"))
            token = min(token, int(np.flatnonzero(p)[-1]))
            drawn.append(self._vocabulary.tokens[token])
            self._reader.read(np.array([token], np.int32), memory)
        return drawn

    def explain(self, context: str | Iterable, token: object = None) -> Bunch:
        """What gave a token its probability.

        Parameters
        ----------
        context : str or sequence of tokens
            What stands before.

        token : str or int, default=None
            The token that is explained; None is the most likely one.

        Returns
        -------
        explanation : Bunch
            `token` and its `probability`; `members`, the part of the probability that comes from
            each member, they add up to it; `logits`, an array of shape (n_blocks, n_components):
            what each atom adds to the token's logit at each delay and time scale, beyond what it
            adds on average over tokens; and `blocks`, the names of the rows. For tokens that are
            read out in two steps it is the logit within the group of rare ones.
        """
        memory = self._memory_of(self._context_tokens(context))
        distributions, weights = self._reader.distributions(memory)
        total = weights @ distributions
        number = int(total.argmax()) if token is None else self._numbers([token])[0]
        members: dict = {}
        for name, share in zip(
            self._reader.columns, weights * distributions[:, number], strict=True
        ):
            members[name] = members.get(name, 0.0) + float(share)
        result = Bunch(
            token=self._vocabulary.tokens[number],
            probability=float(total[number]),
            members=members,
        )
        if "state" in self._reader.members:
            state = self._reader.members["state"]
            values = state.evolution.state(memory["state"])[:-1]
            output = state.readout.contrast(number)
            size = state.evolution.codes.shape[1]
            result.logits = (values * (state.readout.inputs[:-1] @ output)).reshape(-1, size)
            result.blocks = state.evolution.block_names
        return result

    def _context_tokens(self, context):
        self._fitted_vocabulary()
        documents = list(self._documents(context if isinstance(context, str) else [context]))
        end = self._vocabulary.end
        tokens: list = []
        for number, document in enumerate(documents):
            if number and end is not None:
                tokens.append(self._vocabulary.tokens[end])
            tokens.extend(document)
        return tokens

    def _controlled(self, memory, edit, banned):
        distributions, weights = self._reader.distributions(memory, edit)
        p = weights @ distributions
        p[banned] = 0
        total = p.sum()
        if total <= 0:
            raise ValueError("banned leaves no token that could follow: ban fewer.")
        return p / total

    def _edit(self, masked, pinned):
        """A change of states, or None."""
        values = dict.fromkeys(masked, 0.0) | (pinned or {})
        if not values:
            return None
        n = self._state_member().evolution.codes.shape[1]
        for atom in values:
            check_number("An atom", atom, kind=(int, np.integer), least=0, most=n - 1)

        def edit(state):
            blocks = state[:-1].reshape(-1, n)
            for atom, value in values.items():
                blocks[:, atom] = value
            return state

        return edit

    def _numbers(self, tokens):
        number = self._fitted_vocabulary().number
        unknown = [token for token in tokens if token not in number]
        if unknown:
            raise ValueError(f"{unknown[0]!r} is not in the vocabulary: see vocabulary_.")
        return [number[token] for token in tokens]


def narrowed(p, temperature, top_k, top_p):
    """Probabilities from which a token is drawn."""
    if temperature != 1:
        with np.errstate(divide="ignore"):
            logs = np.log(p) / temperature
        p = np.exp(logs - logs.max())
        p /= p.sum()
    order = np.argsort(-p, kind="stable")
    n = len(p) if top_k is None else min(top_k, len(p))
    if top_p < 1:
        n = min(n, int(np.searchsorted(np.cumsum(p[order]), top_p)) + 1)
    p = p.copy()
    p[order[n:]] = 0
    return p / p.sum()
