"""
A language model that can be asked why, and lines that do not belong
====================================================================

The reference of the Python language comes with Python. A small model learns it in seconds, says
what its atoms stand for and what a prediction comes from, and finds lines of another text among
lines of the reference.
"""

# %%
# Learning
# --------
#
# Paragraphs are documents; every tenth one is held out. The members of the mixture are compared one
# by one. Perplexity is how many equally likely words a model hesitates between, on average.

import re
from pydoc_data.topics import topics

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.metrics import RocCurveDisplay, roc_auc_score

from skatoms import BasisStateLM


def paragraphs(texts):
    """Paragraphs of plain sentences, each once."""
    parts = (" ".join(part.split()) for text in texts for part in re.split(r"\n\s*\n", text))
    return list(dict.fromkeys(part for part in parts if re.fullmatch(r"[A-Z].{60,}[.:]", part)))


reference = paragraphs(topics[name] for name in sorted(topics))
held = reference[::10]
train = [part for k, part in enumerate(reference) if k % 10]
model = BasisStateLM(n_components=60, rank=60, lowercase=True, n_jobs=-1, random_state=0)
print(f"{len(train):,} paragraphs are learned, {len(held)} are held out")
for members in (("ngram",), ("state",), ("state", "ngram", "cache")):
    model.set_params(members=members).fit(train)
    print(f"{' + '.join(members):22} perplexity {model.perplexity(held):6.1f}")

# %%
# What atoms stand for
# --------------------
#
# The words with the largest parts of an atom keep similar company.

strength = abs(model.token_codes_[:500]).sum(axis=0)  # frequent words come first
for atom in np.argsort(strength)[::-1][:6]:
    print(f"atom {atom:2}: {', '.join(model.top_tokens(atom, 8))}")

# %%
# What a prediction comes from
# ----------------------------
#
# Each atom adds to the logit of a word, by where it stood among the last words or, fading, before.

context = "an exception is"
reason = model.explain(context)
shares = ", ".join(f"{name} {share:.3f}" for name, share in reason.members.items())
print(
    f"{context!r} goes on with {reason.token!r}: probability {reason.probability:.3f}, of {shares}"
)
strongest = np.argsort(abs(reason.logits).max(axis=0))[::-1][:12]
limit = abs(reason.logits).max()
figure, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
picture = axes.imshow(
    reason.logits[:, strongest], cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto"
)
axes.set_yticks(range(len(reason.blocks)), reason.blocks)
axes.set_xticks(
    range(len(strongest)),
    [", ".join(model.top_tokens(atom, 2)) for atom in strongest],
    rotation=40,
    ha="right",
)
axes.set_title(f"{context!r}: what speaks for {reason.token!r}")
figure.colorbar(picture, label="logit")

# %%
# Lines that do not belong
# ------------------------
#
# Descriptions of scikit-learn's data are hidden among the held-out paragraphs. ``score_tokens``
# tells the surprise of each word; its mean finds them, better than the frequency of words alone.
# Words seen once must count as known here (``min_count=1``): otherwise the unknown word is a
# frequent one, and strange words surprise nobody.

loaders = (load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine)
planted = paragraphs(loader().DESCR for loader in loaders)
lines = [*held, *planted]
foreign = np.arange(len(lines)) >= len(held)
model.set_params(min_count=1, members=("state", "ngram")).fit(train)
plain = BasisStateLM(members=("ngram",), ngram_order=1, min_count=1, lowercase=True).fit(train)
figure, axes = plt.subplots(figsize=(4.6, 4.4), layout="constrained")
surprises = {
    name: np.array([-scores.mean() for scores in some.score_tokens(lines)])
    for name, some in {"single words": plain, "state + n-grams": model}.items()
}
for name, surprise in surprises.items():
    RocCurveDisplay.from_predictions(foreign, surprise, name=name, ax=axes)
    print(f"{name:16} area under the curve {roc_auc_score(foreign, surprise):.3f}")
axes.set_title(f"{foreign.sum()} planted paragraphs among {len(held)}")
print("most surprising:", lines[surprises["state + n-grams"].argmax()])
plt.show()
