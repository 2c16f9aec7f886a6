"""Pictures of bumps at places where there were none to learn from, a third of the pixels hidden."""

import time
import warnings

import numpy as np
from matplotlib.figure import Figure
from rich.table import Table
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor

from .. import VectorNetwork
from ..basis import Separable
from ..datasets import make_spatial_bumps

N_ATOMS, ALPHA = 200, 0.01
N_PROFILES_APART = 0.9  # the largest cosine of profiles that are combined
HIDDEN_UNITS, DENSE_PASSES = (256, 64, 256), 60


def composition(console, folder):
    """Fill in bumps in a part of the picture where none were seen, beside a dense network."""
    pictures = make_spatial_bumps(2000, 300, random_state=0)
    shape = pictures.image_shape
    console.print(
        f"{len(pictures.data):,} pictures of {shape[0]}x{shape[1]} pixels with a bump each, none "
        "of them in the square in the middle; a third of the pixels hidden"
    )
    learner = VectorNetwork(
        (N_ATOMS,),
        ALPHA,
        positive=True,
        constraint=Separable(1),
        feature_shape=shape,
        learning_rule="block",
        n_jobs=-1,
        random_state=0,
    )
    dense = MLPRegressor(
        hidden_layer_sizes=HIDDEN_UNITS, max_iter=DENSE_PASSES, tol=0, random_state=0
    )
    seconds = {}
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        with console.status("skatoms learns; kernels are compiled at the very first time"):
            start = time.perf_counter()
            learner.fit(pictures.data)
            seconds["skatoms"] = time.perf_counter() - start
            start = time.perf_counter()
            recombined = learner.recombine(N_PROFILES_APART)
            seconds["recombined"] = time.perf_counter() - start
        with console.status("the dense network learns"):
            start = time.perf_counter()
            unit = pictures.data.std()  # dense networks want values of about 1
            dense.fit(_seen(pictures, unit), (pictures.data / unit).astype(np.float32))
            seconds["dense network"] = time.perf_counter() - start

    def fill(part):
        gaps = np.where(part.mask, np.nan, part.data)
        return {
            "skatoms": learner.reconstruct(gaps),
            "recombined": recombined.reconstruct(gaps),
            "dense network": unit * dense.predict(_seen(part, unit)),
        }

    with console.status("filling in"):
        filled = {name: fill(part) for name, part in pictures.test.items()}
    table = Table("error of hidden pixels / variance", "known places", "new places", "learning, s")
    for name, learning in seconds.items():
        errors = [_error(filled[part][name], pictures.test[part]) for part in ("id", "ood")]
        table.add_row(name, *(f"{error:.3f}" for error in errors), f"{learning:.1f}")
    console.print(table)
    console.print(
        f"Recombined: {recombined.n_atoms[0]:,} products of the profiles of {N_ATOMS} atoms."
    )
    path = folder / "skatoms-composition.png"
    _draw(pictures.test["ood"], filled["ood"], shape).savefig(path, dpi=120)
    console.print(f"Picture: {path}")


def _seen(part, unit):
    """What a dense network gets: the known pixels, and which those are."""
    return np.hstack([np.where(part.mask, 0, part.data) / unit, part.mask]).astype(np.float32)


def _error(filled, part):
    return ((filled - part.data)[part.mask] ** 2).mean() / part.data[part.mask].var()


def _draw(part, filled, shape, n_rows=3):
    figure = Figure(figsize=(10, 6.2), layout="constrained")
    columns = {"bump": part.data, "known pixels": np.where(part.mask, np.nan, part.data)} | filled
    panels = figure.subplots(n_rows, len(columns))
    for row, line in enumerate(panels):
        for axes, (name, pictures) in zip(line, columns.items(), strict=True):
            axes.imshow(pictures[row].reshape(shape), vmin=0, vmax=part.data[row].max())
            axes.set(xticks=[], yticks=[], title=name if row == 0 else "")
    figure.suptitle("bumps at places where training had none")
    return figure
