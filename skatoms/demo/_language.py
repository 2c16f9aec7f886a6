"""The reference of the Python language: words foreseen, explained, and lines that do not belong."""

import re
import time
from pydoc_data.topics import topics

import numpy as np
from matplotlib.figure import Figure
from rich.table import Table
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.metrics import roc_auc_score

from .. import BasisStateLM

CONTEXT = "an exception is"
N_ATOMS = 12
LOADERS = (load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine)


def language(console, folder):
    """Learn the Python reference, explain a prediction, find paragraphs of another text."""
    reference = _paragraphs(topics[name] for name in sorted(topics))
    held = reference[::10]
    train = [part for number, part in enumerate(reference) if number % 10]
    console.print(f"{len(train):,} paragraphs of Python's reference; {len(held)} are held out")
    table = Table("members", "perplexity, held out", "fit, s")
    settings = {"n_components": 60, "rank": 60, "min_count": 1, "lowercase": True}
    for members in (("ngram",), ("state",), ("state", "ngram")):
        model = BasisStateLM(members=members, n_jobs=-1, random_state=0, **settings)
        with console.status("skatoms learns; kernels are compiled at the very first time"):
            start = time.perf_counter()
            model.fit(train)
            seconds = time.perf_counter() - start
        table.add_row(" + ".join(members), f"{model.perplexity(held):.1f}", f"{seconds:.1f}")
    console.print(table)
    planted = _paragraphs(loader().DESCR for loader in LOADERS)
    surprise = [-scores.mean() for scores in model.score_tokens([*held, *planted])]
    area = roc_auc_score(np.arange(len(surprise)) >= len(held), surprise)
    console.print(f"{len(planted)} paragraphs on data, planted among those held out, are told by")
    console.print(f"their surprise: area under the curve {area:.3f}")
    reason = model.explain(CONTEXT)
    shares = ", ".join(f"{name} {share:.3f}" for name, share in reason.members.items())
    console.print(f"'{CONTEXT}' goes on with '{reason.token}', {reason.probability:.3f}: {shares}")
    path = folder / "skatoms-language.png"
    _draw(model, reason).savefig(path)
    console.print(f"Picture: {path}")


def _paragraphs(texts):
    """Paragraphs of plain sentences, each once."""
    parts = (" ".join(part.split()) for text in texts for part in re.split(r"\n\s*\n", text))
    return list(dict.fromkeys(part for part in parts if re.fullmatch(r"[A-Z].{60,}[.:]", part)))


def _draw(model, reason):
    """What each atom adds to the logit, at each place in the state."""
    strongest = np.argsort(abs(reason.logits).max(axis=0))[::-1][:N_ATOMS]
    limit = abs(reason.logits).max()
    figure = Figure(figsize=(8, 4), dpi=120)
    figure.set_layout_engine("constrained")
    axes = figure.subplots()
    picture = axes.imshow(
        reason.logits[:, strongest], cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto"
    )
    axes.set_yticks(range(len(reason.blocks)), reason.blocks)
    names = [", ".join(model.top_tokens(atom, 2)) for atom in strongest]
    axes.set_xticks(range(len(strongest)), names, rotation=40, ha="right")
    axes.set_title(f"'{CONTEXT}': what speaks for '{reason.token}'")
    figure.colorbar(picture, label="logit")
    return figure
