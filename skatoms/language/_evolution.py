"""The state of the text read so far: a delay line of codes, and codes that fade."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from ..backend import kernel


@dataclass(frozen=True)
class Structured:
    """A delay line and leaky sums: z <- a z + sqrt(1 - a^2) code.

    The state has a block of `n_components` numbers for each delay and each rate, and a constant.

    codes : csr_array of shape (n_tokens, n_components) float32
    delays : int
        The last tokens whose codes the state has one by one.
    decays : (n_scales,) float32
        a, of each leaky sum.
    """

    codes: csr_array
    delays: int
    decays: np.ndarray

    @property
    def n_blocks(self):
        """Delays and rates."""
        return self.delays + len(self.decays)

    @property
    def n_features(self):
        """Length of the state."""
        return self.n_blocks * self.codes.shape[1] + 1

    @property
    def block_names(self):
        """What each block stands for."""
        delays = [f"delay {d + 1}" for d in range(self.delays)]
        return delays + [f"time scale {1 / (1 - a):.3g}" for a in self.decays]

    @property
    def eigenvalues(self):
        """Of the operator that moves the state: 0 for the delay line, which forgets."""
        size = self.codes.shape[1]
        return np.concatenate([np.repeat(self.decays, size), np.zeros(self.delays * size)])

    def start(self):
        """Where nothing was read: no recent tokens, nothing that fades."""
        recent = np.full(self.delays, -1, np.int32)
        return recent, np.zeros((len(self.decays), self.codes.shape[1]), np.float32)

    def read(self, ids, memory):
        """States before each token, (n, n_features) float32; `memory` moves on."""
        states = np.zeros((len(ids), self.n_features), np.float32)
        read_states(self._arrays, ids, *memory, self.decays, states)
        return states

    def advance(self, ids, memory):
        """Move on without states."""
        advance_states(self._arrays, ids, *memory, self.decays)

    def state(self, memory):
        """The state now, (n_features,)."""
        recent, leaky = memory
        return self.read(np.zeros(1, np.int32), (recent.copy(), leaky.copy()))[0]

    def tables(self, inputs):
        """Codes of all tokens times the part of `inputs` of each block, and its constant."""
        size = self.codes.shape[1]
        parts = [self.codes @ inputs[k * size : (k + 1) * size] for k in range(self.n_blocks)]
        return np.array(parts, np.float32).reshape(self.n_blocks, -1, inputs.shape[1])

    def project(self, ids, memory, inputs, tables):
        """States before each token times `inputs`, without states; `memory` moves on.

        The projection of a leaky sum is the leaky sum of projections.
        """
        recent, leaky = memory
        size = self.codes.shape[1]
        blocks = inputs[self.delays * size : -1].reshape(len(self.decays), size, -1)
        faded = np.einsum("sk,skr->sr", leaky, blocks)
        out = np.empty((len(ids), inputs.shape[1]), np.float32)
        project_states(tables, ids, recent.copy(), faded, self.decays, inputs[-1], out)
        self.advance(ids, memory)
        return out

    @property
    def _arrays(self):
        return self.codes.indptr, self.codes.indices, self.codes.data


@kernel
def push(recent, token):
    """The delay line moves by one."""
    for d in range(recent.shape[0] - 1, 0, -1):
        recent[d] = recent[d - 1]
    if recent.shape[0]:
        recent[0] = token


@kernel
def advance_states(codes, ids, recent, leaky, decays):
    """Memory after the tokens. Cost: n_scales * n_components a token."""
    starts, atoms, values = codes
    for t in range(ids.shape[0]):
        for s in range(leaky.shape[0]):
            rate = np.sqrt(1 - decays[s] * decays[s])
            for k in range(leaky.shape[1]):
                leaky[s, k] *= decays[s]
            for p in range(starts[ids[t]], starts[ids[t] + 1]):
                leaky[s, atoms[p]] += rate * values[p]
        push(recent, ids[t])


@kernel
def read_states(codes, ids, recent, leaky, decays, states):
    """States before each token. Cost: n_scales * n_components + delays * non-zeros a token."""
    starts, atoms, values = codes
    n_delays, (n_scales, n_components) = recent.shape[0], leaky.shape
    for t in range(ids.shape[0]):
        state = states[t]
        for d in range(n_delays):
            token = recent[d]
            if token >= 0:
                for p in range(starts[token], starts[token + 1]):
                    state[d * n_components + atoms[p]] = values[p]
        place = n_delays * n_components
        for s in range(n_scales):
            for k in range(n_components):
                state[place] = leaky[s, k]
                place += 1
        state[place] = 1
        advance_states(codes, ids[t : t + 1], recent, leaky, decays)


@kernel
def project_states(tables, ids, recent, faded, decays, constant, out):
    """Projected states before each token. Cost: n_blocks * rank a token."""
    n_delays, n_scales, rank = recent.shape[0], faded.shape[0], out.shape[1]
    for t in range(ids.shape[0]):
        row = out[t]
        for r in range(rank):
            row[r] = constant[r]
        for d in range(n_delays):
            if recent[d] >= 0:
                table = tables[d, recent[d]]
                for r in range(rank):
                    row[r] += table[r]
        for s in range(n_scales):
            rate = np.sqrt(1 - decays[s] * decays[s])
            table = tables[n_delays + s, ids[t]]
            for r in range(rank):
                row[r] += faded[s, r]
                faded[s, r] = decays[s] * faded[s, r] + rate * table[r]
        push(recent, ids[t])
