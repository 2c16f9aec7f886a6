"""Perplexity and bits of texts by `skatoms.BasisStateLM` beside n-gram models and compressors.

    python -m benchmarks.language [part ...] [--quick]

The parts, all of them if none is named:

words
    Tiny Shakespeare, cut at 90 % of its characters, and the validation part of WikiText-2 against
    its test part. Lines are documents whose end is predicted; tokens seen once are unknown.
chars
    The same texts as characters, with and without learning while reading.
scaling
    Perplexity of the state alone by the number of atoms, and of the mixture by the part of the
    text that was learned from; on the last 5 % of the training text.

The texts are read from the folder that SKATOMS_DATA names, as tinyshakespeare.txt and
wikitext2.valid.txt and wikitext2.test.txt; a text that is not there is skipped. Settings were
chosen on the last 5 % of the training part of tiny Shakespeare; test texts are for the figures
alone. Figures of models that learn while they read, or keep a cache, have rows of their own.
Published peers, measured once on the same texts, are printed beside ours.
"""

import argparse
import bz2
import lzma
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np

from skatoms import BasisStateLM

from ._common import print_environment, print_table

SHAKESPEARE, WIKITEXT = "tiny Shakespeare", "WikiText-2, valid to test"
ADAPTS = "learns while reading"
# Measured by others' programs on the same splits: KenLM's lmplz, PPMd var. H.
WORD_PEERS = {SHAKESPEARE: {"KenLM 5": 96.00}, WIKITEXT: {"KenLM 5": 172.83}}
CHAR_PEERS = {
    SHAKESPEARE: {"KenLM 6": 2.188, f"PPMd order 8, {ADAPTS}": 2.035},
    WIKITEXT: {"KenLM 6": 1.864, f"PPMd order 5, {ADAPTS}": 1.697},
}


def texts(quick):
    """Training and test texts that are at hand."""
    folder = Path(os.environ.get("SKATOMS_DATA", "data"))
    found = {}
    if (folder / "tinyshakespeare.txt").exists():
        text = (folder / "tinyshakespeare.txt").read_text(encoding="utf-8")
        cut = int(0.9 * len(text))
        found[SHAKESPEARE] = text[:cut], text[cut:]
    names = [f"wikitext2.{part}.txt" for part in ("valid", "test")]
    if all((folder / name).exists() for name in names):
        found[WIKITEXT] = tuple((folder / name).read_text(encoding="utf-8") for name in names)
    if not found:
        print("There are no texts: let SKATOMS_DATA name a folder with tinyshakespeare.txt.")
    if quick:
        found = {name: (a[-40_000:], b[:4_000]) for name, (a, b) in list(found.items())[:1]}
    return found


def words_model(name, **changes):
    """A model of words; WikiText-2 comes with its words apart."""
    pattern = {"token_pattern": r"\S+"} if name == WIKITEXT else {}
    return BasisStateLM(**(pattern | {"random_state": 0, "n_jobs": -1} | changes))


def documents(text):
    """Lines that are not empty."""
    return [line for line in text.split("\n") if line.strip()]


def timed(method, *arguments):
    """What a method returns, and its seconds."""
    start = perf_counter()
    result = method(*arguments)
    return result, perf_counter() - start


def size_of(model):
    """Megabytes of the model's file."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        model.save(path)
        return path.stat().st_size / 1e6


def words(options):
    """Perplexity of words."""
    bars = []
    variants = {
        "Kneser-Ney 5": ("ngram",),
        "Kneser-Ney 5 + cache": ("ngram", "cache"),
        "state": ("state",),
        "state + Kneser-Ney 5": ("state", "ngram"),
        "state + Kneser-Ney 5 + cache": ("state", "ngram", "cache"),
    }
    for name, (train, test) in texts(options.quick).items():
        train, test = documents(train), documents(test)
        rows = [[peer, f"{value:.1f}", "-", "-", "-"] for peer, value in WORD_PEERS[name].items()]
        for label, members in variants.items():
            model, fitting = timed(words_model(name, members=members).fit, train)
            model.perplexity(test[:10])
            perplexity, scoring = timed(model.perplexity, test)
            n = sum(map(len, model.score_tokens(test)))
            rate = f"{n / scoring:,.0f}"
            rows.append(
                [label, f"{perplexity:.1f}", f"{fitting:.1f}", rate, f"{size_of(model):.1f}"]
            )
            print(rows[-1], flush=True)
            if name == SHAKESPEARE and label == "state":
                bars.append(("words of tiny Shakespeare, state", 84, perplexity))
            if len(members) == 3:
                bar = 74 if name == SHAKESPEARE else 111
                bars.append((f"words of {name}, mixture", bar, perplexity))
                if name == SHAKESPEARE:
                    bars.append(("seconds of the fit", 60, fitting))
                    bars.append(("microseconds of scoring a token", 10, 1e6 * scoring / n))
                    bars.append(("megabytes of the file", 20, size_of(model)))
        print(f"Words of {name}: perplexity of the test text")
        print_table(["", "perplexity", "fit, s", "tokens/s", "file, MB"], rows)
    return bars


def chars(options):
    """Bits of characters."""
    bars = []
    for name, (train, test) in texts(options.quick).items():
        rows = [[peer, f"{value:.3f}", "-"] for peer, value in CHAR_PEERS[name].items()]
        for label, compress in (("xz", lzma.compress), ("bzip2", bz2.compress)):
            more = len(compress((train + test).encode())) - len(compress(train.encode()))
            rows.append([f"{label}, {ADAPTS}", f"{8 * more / len(test):.3f}", "-"])
        for label, members in (("Kneser-Ney 8", ("ngram",)), ("mixture", None)):
            model = BasisStateLM("char", members=members, random_state=0, n_jobs=-1)
            model, fitting = timed(model.fit, train)
            bits = model.bits_per_char(test)
            rows.append([label, f"{bits:.3f}", f"{fitting:.0f}"])
            if members is None:
                adaptive = model.bits_per_char(test, adapt=True)
                rows.append([f"{label}, {ADAPTS}", f"{adaptive:.3f}", f"{fitting:.0f}"])
                if name == SHAKESPEARE:
                    bars.append(("bits of tiny Shakespeare", 2.142, bits))
                bar = 2.010 if name == SHAKESPEARE else 1.69
                bars.append((f"bits of {name}, {ADAPTS}", bar, adaptive))
        print(f"Characters of {name}: bits each in the test text")
        print_table(["", "bits", "fit, s"], rows)
    return bars


def scaling(options):
    """How perplexity falls with atoms and with text."""
    for name, (train, _) in list(texts(options.quick).items())[:1]:
        lines = documents(train)
        cut = int(0.95 * len(lines))
        train, held = lines[:cut], lines[cut:]
        # One vocabulary, or perplexities would not compare.
        known = set(words_model(name, members=("ngram",), ngram_order=1).fit(lines).vocabulary_)
        tokens = words_model(name)._documents(train), words_model(name)._documents(held)
        train, held = (
            [[t if t in known else "<unk>" for t in line] for line in part] for part in tokens
        )
        rows = []
        for n_components in (16, 32, 64, 128, 256) if not options.quick else (4, 8):
            model = words_model(
                name, members=("state",), n_components=n_components, rank=n_components, min_count=1
            ).fit(train)
            rows.append([f"state of {n_components} atoms", f"{model.perplexity(held):.1f}"])
        for part in (0.25, 0.5, 1.0):
            some = train[-int(part * len(train)) :]
            model = words_model(name, min_count=1).fit([*some, *([token] for token in known)])
            rows.append([f"mixture, {part:.0%} of the text", f"{model.perplexity(held):.1f}"])
        print(f"Words of {name}: perplexity of the last 5 % of the training text")
        print_table(["", "perplexity"], rows)
    return []


PARTS = {"words": words, "chars": chars, "scaling": scaling}


def main():
    """Run the parts that are named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help="all if none is named")
    parser.add_argument("--quick", action="store_true", help="small texts, to see that it runs")
    options = parser.parse_args()
    print_environment("Language models")
    np.seterr(all="raise", under="ignore")
    bars = [bar for part in options.parts or PARTS for bar in PARTS[part](options)]
    rows = [
        [what, f"{bar:.4g}", f"{value:.4g}", "met" if value <= bar else "missed"]
        for what, bar, value in bars
    ]
    if rows and not options.quick:
        print_table(["bar", "at most", "measured", "verdict"], rows)


if __name__ == "__main__":
    main()
