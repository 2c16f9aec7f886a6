"""VectorNetwork: an epoch, coding, and all layers at once against one layer after the other.

    python -m benchmarks.vector_network [--quick]

60,000 pictures of 784 pixels: scikit-learn's digits, enlarged and shifted, with noise. Layers of
256 and 64 atoms. There is no peer: the last table compares the way in which codes are solved here,
for all layers together, with sweeps up and down through the layers, each of which is a lasso
with the codes of the others as they are, from the codes before, until a sweep lowers the energy of
no sample by more than a millionth.
"""

import argparse
import warnings
from time import perf_counter

import numpy as np
from scipy.ndimage import zoom
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from skatoms import VectorNetwork
from skatoms.coding import L1
from skatoms.coding._encode import encode
from skatoms.network._settle import row_energies, settle

from ._common import print_environment, print_table

N_ATOMS, ALPHA, TOP_DOWN = (256, 64), 0.5, 0.1
SIZE, N_ROWS, N_CODED = 28, 60_000, 10_000
SWEEP_TOL = 1e-6
MAX_SWEEPS = 300


def pictures(n, seed=0):
    """Digits at random places of a picture of 28 x 28, (n, 784) float32."""
    rng = np.random.default_rng(seed)
    digits = load_digits().images / 16
    large = np.stack([zoom(digit, 2.5, order=1) for digit in digits]).astype(np.float32)
    side = large.shape[1]
    result = np.zeros((n, SIZE, SIZE), np.float32)
    for picture, digit in zip(result, rng.integers(len(large), size=n), strict=True):
        top, left = rng.integers(SIZE - side + 1, size=2)
        picture[top : top + side, left : left + side] = large[digit]
    return (result + 0.02 * rng.standard_normal(result.shape, np.float32)).reshape(n, -1)


def sweep(layers, X, components):
    """Codes by visits of the layers, up and down in turns; and the number of sweeps."""
    codes = np.zeros((len(X), len(components)), X.dtype)
    rows, before = np.arange(len(X)), np.full(len(X), np.inf)
    order = list(range(len(layers)))
    done = 0
    while len(rows) > 0 and done < MAX_SWEEPS:
        done += 1
        now = codes[rows]
        for layer in order:
            part = layers.rows[layer]
            weights = layers.penalty.weights[part]
            rest = X[rows] - now @ components + now[:, part] @ components[part]
            now[:, part], _ = encode(
                rest, components[part], alpha=1.0, penalty=L1(weights=weights), start=now[:, part]
            )
        codes[rows] = now
        energy = row_energies(layers, X[rows], now, components)
        falls = before - energy > SWEEP_TOL * energy
        rows, before = rows[falls], energy[falls]
        order.reverse()
    return codes, done


def seconds(function, *args):
    """What a call returns, and its time."""
    start = perf_counter()
    result = function(*args)
    return result, perf_counter() - start


def epochs(X, coded):
    """A pass over X and coding by either rule."""
    lines = []
    for rule in ("hebb", "block"):
        model = VectorNetwork(
            N_ATOMS,
            ALPHA,
            top_down=TOP_DOWN,
            learning_rule=rule,
            max_iter=1,
            output_layers="all",
            n_jobs=2,
            random_state=0,
        )
        _, learning = seconds(model.fit, X)
        codes, coding = seconds(model.transform, coded)
        active = [np.count_nonzero(codes[:, rows]) / len(codes) for rows in model._layers().rows]
        lines.append([rule, f"{learning:.1f}", f"{coding:.2f}", *(f"{a:.1f}" for a in active)])
    print(f"\nA pass over {len(X):,} rows, and coding {len(coded):,}; 2 threads")
    print_table(["rule", "pass, s", "coding, s", "active, layer 1", "active, layer 2"], lines)
    return model


def settling(model, coded):
    """All layers at once, and layer by layer, for interfaces that count little and much."""
    lines = []
    for top_down in (0.1, 1.0, 10.0):
        model.set_params(top_down=top_down)
        layers = model._layers().without_outputs
        components = model._components(layers, np.float64)
        X = layers.longer(coded.astype(np.float64))
        settle(layers, X[:10], components)
        (codes, report), together = seconds(settle, layers, X, components)
        (swept, n_sweeps), in_turns = seconds(sweep, layers, X, components)
        best, other = (row_energies(layers, X, c, components).sum() for c in (codes, swept))
        lines.append(
            [
                f"{top_down:g}",
                f"{together:.2f}",
                f"{in_turns:.2f}",
                f"{in_turns / together:.1f}",
                f"{n_sweeps}",
                f"{report.residual:.0e}",
                f"{(other - best) / best:.0e}",
            ]
        )
    print(f"\nCodes of {len(coded):,} rows in float64, one thread")
    header = ["top_down", "together, s", "sweeps, s", "ratio", "most sweeps", "KKT residual"]
    print_table([*header, "sweeps' energy above ours"], lines)


def main():
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="see that it runs: times mean nothing")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore", ConvergenceWarning)
    print_environment("Vector networks: passes, coding and settling")
    X, coded = pictures(2000 if quick else N_ROWS), pictures(200 if quick else N_CODED, 1)
    model = epochs(X, coded)
    settling(model, coded[: 100 if quick else 2000])


if __name__ == "__main__":
    main()
