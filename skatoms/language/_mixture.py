"""A mixture of distributions, whose weights depend on how well the context is known."""

from dataclasses import dataclass

import numpy as np

LEVELS = 6  # of how often a context was seen: once, twice, 3-4, ...
PRIOR = 50.0  # tokens that the weights over all contexts count for in each
N_ROUNDS = 30


@dataclass(frozen=True)
class Mixture:
    """Weights of members, by the context.

    evidence : (n_buckets, n_members) float64
        For how many held-out tokens each member spoke, in contexts of each kind.
    """

    evidence: np.ndarray

    @property
    def weights(self):
        """(n_buckets, n_members), rows of sum 1."""
        total = self.evidence.sum(axis=0)
        blended = self.evidence + PRIOR * total / total.sum()
        return blended / blended.sum(axis=1, keepdims=True)

    def posterior(self, probabilities, buckets):
        """What each member contributes to the probabilities, (n, n_members)."""
        return self.weights[buckets] * probabilities

    def add(self, joint, buckets):
        """Count tokens that were read, for weights that go on learning."""
        shares = joint / joint.sum(axis=1, keepdims=True)
        np.add.at(self.evidence, buckets, shares)

    def copy(self):
        """One that may learn on."""
        return Mixture(self.evidence.copy())


def bucket_of(lengths, support):
    """The kind of a context: its length and, by powers of 2, how often it was seen."""
    level = np.minimum(np.log2(np.maximum(support, 1)).astype(np.int64), LEVELS - 1)
    return lengths * LEVELS + level


def learn_mixture(probabilities, buckets, n_buckets):
    """Weights that make held-out text most likely, by expectation and maximisation.

    probabilities : (n, n_members)
    buckets : (n,) int
    """
    n_members = probabilities.shape[1]
    mixture = Mixture(np.full((n_buckets, n_members), 1.0))
    for _ in range(N_ROUNDS):
        joint = mixture.posterior(probabilities, buckets)
        shares = joint / joint.sum(axis=1, keepdims=True)
        evidence = np.zeros_like(mixture.evidence)
        for member in range(n_members):
            evidence[:, member] = np.bincount(buckets, shares[:, member], n_buckets)
        mixture = Mixture(evidence + 1e-9)
    return mixture
