"""Pictures of shapes in colours at places: symbols for what many tasks have in common."""

import time
import warnings

import numpy as np
from matplotlib.figure import Figure
from rich.table import Table
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.neural_network import MLPClassifier

from .. import WTASymbolEncoder
from ..datasets import make_linear_tasks, make_sprites
from ..metrics import factor_match_matrix, structural_permutation_score

N_TASKS, N_NEW, N_FEW = 100, 5, 100


def symbols(console, folder):
    """Find shape, colour and place in pictures, and learn new tasks from few of them."""
    pictures = make_sprites(4000, 1000, random_state=0)
    test = pictures.test["id"]
    tasks = make_linear_tasks(pictures.factors, N_TASKS, random_state=0)
    height, width, _ = pictures.image_shape
    console.print(
        f"{len(pictures.data):,} pictures of {height}x{width} pixels with {N_TASKS} tasks, each a "
        "probability that depends on shape, colour, column and row"
    )
    encoder = WTASymbolEncoder(pictures.n_categories, n_jobs=-1, random_state=0)
    with console.status("skatoms learns; kernels are compiled at the very first time"):
        start = time.perf_counter()
        encoder.fit(pictures.data, tasks.target)
        seconds = time.perf_counter() - start
    found = {"skatoms": encoder.symbols(test.data), "PCA + k-means": _clusters(pictures, test)}
    table = Table("right, with the best names", *pictures.factor_names, "all")
    for name, some in found.items():
        right = factor_match_matrix(test.factors, some).max(axis=1)
        score = structural_permutation_score(test.factors, some)
        table.add_row(name, *(f"{share:.3f}" for share in right), f"{score:.3f}")
    console.print(table)
    console.print(f"Learned in {seconds:.1f} s.")
    with console.status("new tasks"):
        areas = _new_tasks(encoder, pictures, test)
    table = Table(f"new tasks from {N_FEW} pictures", "area under the curve")
    for name, area in areas.items():
        table.add_row(f"perceptron on {name}", f"{area:.3f}")
    console.print(table)
    path = folder / "skatoms-symbols.png"
    _draw(found["skatoms"], test.data, encoder.head_sizes_, pictures.image_shape).savefig(path)
    console.print(f"Picture: {path}")


def _clusters(pictures, test):
    """A principal component for each factor, in as many clusters as the factor has categories."""
    components = PCA(len(pictures.n_categories), random_state=0).fit(pictures.data)
    train, new = components.transform(pictures.data), components.transform(test.data)
    clusters = [
        KMeans(n_categories, n_init=3, random_state=0).fit(train[:, [k]]).predict(new[:, [k]])
        for k, n_categories in enumerate(pictures.n_categories)
    ]
    return np.column_stack(clusters)


def _new_tasks(encoder, pictures, test):
    """Mean areas for tasks that depend on two factors each, from symbols and from pixels."""
    inputs = {
        "symbols": (encoder.transform(pictures.data[:N_FEW]), encoder.transform(test.data)),
        "pixels": (pictures.data[:N_FEW], test.data),
    }
    areas = {name: [] for name in inputs}
    for number in range(N_NEW):
        used = np.random.default_rng(number).permutation(4)[:2]
        tasks = make_linear_tasks(
            pictures.factors,
            1,
            pictures.n_categories,
            ignore=[factor for factor in range(4) if factor not in used],
            test={"test": test.factors},
            random_state=number,
        )
        limit = np.median(tasks.probabilities)
        labels = tasks.probabilities[:N_FEW, 0] > limit
        truth = tasks.test["test"].probabilities[:, 0] > limit
        for name, (few, new) in inputs.items():
            network = MLPClassifier((64, 64), alpha=1.0, max_iter=200, random_state=0)
            with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
                network.fit(few, labels)
            areas[name].append(roc_auc_score(truth, network.predict_proba(new)[:, 1]))
    return {name: np.mean(some) for name, some in areas.items()}


def _draw(found, data, head_sizes, shape):
    """The mean picture of each symbol, a row for each head."""
    figure = Figure(figsize=(1.5 * max(head_sizes), 1.7 * len(head_sizes)), dpi=120)
    figure.set_layout_engine("constrained")
    for head, line in enumerate(figure.subplots(len(head_sizes), max(head_sizes), squeeze=False)):
        for unit, axes in enumerate(line):
            axes.set_axis_off()
            members = data[found[:, head] == unit]
            if unit < head_sizes[head] and len(members):
                mean = members.mean(axis=0).reshape(shape)
                axes.imshow(mean / mean.max())
                axes.set_title(f"symbol{head}={unit}", fontsize="small")
    figure.suptitle("mean of the pictures that have a symbol")
    return figure
