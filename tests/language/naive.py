"""Modified Kneser-Ney written down from the formulas, with dictionaries, to compare with."""

from collections import Counter, defaultdict


class NaiveKneserNey:
    """Probabilities by recursion over orders, as in Chen and Goodman."""

    def __init__(self, text, order, n_tokens):
        self.order, self.n_tokens = order, n_tokens
        raw = [
            Counter(tuple(text[i : i + n]) for i in range(len(text) - n + 1))
            for n in range(1, order + 1)
        ]
        self.counts = []
        for n in range(order):
            if n == order - 1:
                self.counts.append(dict(raw[n]))
                continue
            before = defaultdict(set)
            for gram in raw[n + 1]:
                before[gram[1:]].add(gram[0])
            self.counts.append({g: len(before[g]) if before[g] else c for g, c in raw[n].items()})
        self.discounts = [self._discount(counts) for counts in self.counts]

    def _discount(self, counts):
        n = Counter(counts.values())
        amounts = [0.5, 1.0, 1.5]
        if all(n[k] for k in (1, 2, 3, 4)):
            y = n[1] / (n[1] + 2 * n[2])
            for k in (1, 2, 3):
                amount = k - (k + 1) * y * n[k + 1] / n[k]
                if 0 < amount < k:
                    amounts[k - 1] = amount
        return amounts

    def probability(self, token, context):
        """P(token | context)."""
        return self._interpolated(token, tuple(context)[-(self.order - 1) :])

    def _interpolated(self, token, context):
        counts, discounts = self.counts[len(context)], self.discounts[len(context)]
        lower = self._interpolated(token, context[1:]) if context else 1 / self.n_tokens
        after = {gram[-1]: c for gram, c in counts.items() if gram[:-1] == context}
        if not after:
            return lower
        taken = {t: discounts[min(c, 3) - 1] for t, c in after.items()}
        total = sum(after.values())
        own = (after[token] - taken[token]) / total if token in after else 0.0
        return own + sum(taken.values()) / total * lower
