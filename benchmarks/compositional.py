"""Combinations that training lacks: vector networks beside dense and linear methods.

    python -m benchmarks.compositional [part ...] [--seeds N] [--quick] [--figures FOLDER]

The parts, all of them if none is named:

functions
    Sums of sines, cosines, polynomials and bumps, half of the points hidden.
bumps
    Pictures of one bump each, a third of the pixels hidden; training has none in a square.
nbody
    Accelerations of bodies; training has one force at a time.
digits
    Digits that are shifted, turned or scaled, described by 16 numbers; sums of two to test on.

Errors are mean squared errors over the variance of what is asked for, at the hidden points where
points are hidden; means and standard deviations over seeds, each of which draws the data and starts
the models. All methods learn from the same samples, complete ones, and are tested on the same ones.
A tenth of the training samples, of the kind "id", is set aside for validation: settings of all
methods are chosen there, once, with seed 0, and perceptrons end at its least error. The grids to
choose from were drawn up after trial runs with seed 0 that showed test parts too; within them no
test part is looked at. "active" is how many numbers describe a sample of "id": non-zero codes of
all layers, components, or units of the narrowest layer. "found" is the part of the true atoms,
sines and cosines of functions or bumps at the middles of pixels, that an atom of the network has a
cosine of more than 0.9 with. Seconds to predict are for all test parts.
"""

import argparse
import importlib.util
from dataclasses import replace
from itertools import product

from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.multioutput import MultiOutputRegressor

from skatoms import VectorNetworkRegressor
from skatoms.basis import Separable
from skatoms.datasets import (
    make_digit_compositions,
    make_function_compositions,
    make_nbody,
    make_spatial_bumps,
)

from ._common import print_environment
from ._compositional_methods import (
    CONVOLUTIONAL,
    NO_CODE,
    TRANSFORMER,
    Components,
    Gaussian,
    HandMade,
    MultilayerPerceptron,
    Network,
    NetworkRegressor,
    Part,
    Regressor,
    StandardisedPerceptron,
)
from ._compositional_scores import Bar, Scores, chosen, draw, report, split
from ._compositional_truth import bump_pictures, function_atoms, waves

TORCH = importlib.util.find_spec("torch") is not None
if TORCH:
    from . import _compositional_torch as neural

NO_TOP_DOWN = 1e-6
TOP_ALPHA = 0.1  # of the upper of two layers, for bodies
BUDGET = 16  # of numbers that describe a digit
TUNED_ON = 100  # samples by which settings of bumps are chosen
CODING_ALPHAS = (None, 3e-4, 1e-4)  # of signals, once atoms are learned; None: as they were
RIDGES = (1e-4, 1e-7, 1e-6, 1e-5, 1e-3, 1e-2)

ONE, TWO, NONE = "network, one layer", "network, two layers", "network, top_down 1e-6"
PCA_CHOSEN, DENSE = "principal components", "dense autoencoder"
SEPARABLE, RECOMBINED = "network, separable", "network, recombined"
PCA_AS_MANY, HAND_MADE = "components, as many", "hand-made products"
TRUE_ATOMS = "true atoms"
NEURAL = CONVOLUTIONAL, NO_CODE, TRANSFORMER
PERCEPTRON, BOOSTING, LINEAR = "perceptron", "boosting", "linear (ridge)"
TOP_K = f"network, top_k={BUDGET}"


def samples(make, n_samples, n_test, atoms=None):
    """A function of the seed that draws data to fill in; atoms : the true ones, if known."""

    def drawn(seed):
        bunch = make(n_samples, n_test, random_state=seed)
        tests = {name: Part.of(part) for name, part in bunch.test.items()}
        return split(Part.of(bunch), tests, atoms)

    return drawn


def few(options, values):
    """All values to try, or the first one in a check."""
    return list(values)[:1] if options.quick else list(values)


def all_chosen(options, candidates, train, valid):
    """The best of the candidates of each name."""
    return {name: chosen(name, few(options, some), train, valid) for name, some in candidates}


def compared(options, name, title, draw_data, methods, bars):
    """Fit and test all methods with each seed; print and draw."""
    scores = {method: Scores() for method in methods}
    for seed in range(options.seeds):
        data = draw_data(seed)
        for method, score in scores.items():
            score.add(methods[method], data, seed)
    report(f"{title}; {options.seeds} seeds", scores, bars)
    if options.figures:
        draw(options.figures, name, title, scores)


# Parts


def functions(options):
    """Fill in signals."""
    n_samples, n_test = (300, 30) if options.quick else (4000, 200)
    draw_data = samples(make_function_compositions, n_samples, n_test, atoms=waves(64))
    data = draw_data(0).cut(20) if options.quick else draw_data(0)
    train, valid = data.train, data.valid

    grid = product((128, 200, 400), (0.01, 0.003, 0.001), ("hebb", "block"), CODING_ALPHAS)
    candidates = [
        Network(
            {"n_atoms": (n,), "alpha": alpha, "learning_rule": rule, "max_iter": 30},
            coding_alpha=coding_alpha,
        )
        for n, alpha, rule, coding_alpha in few(options, grid)
    ]
    one = chosen(ONE, candidates, train, valid)
    sizes = (*one.settings["n_atoms"], one.settings["n_atoms"][0] // 2)
    deep, alpha = one.settings | {"n_atoms": sizes}, one.settings["alpha"]
    grid = few(options, product((0.1, 0.02), (0.001, 0.01), CODING_ALPHAS))
    candidates = [
        Network(deep | {"alpha": (alpha, top), "top_down": weight}, coding_alpha=coding_alpha)
        for top, weight, coding_alpha in grid
    ]
    two = chosen(TWO, candidates, train, valid)
    candidates = [
        Components(k, r) for k, r in few(options, product((16, 12, 20, 24, 32, 48), RIDGES))
    ]
    components = chosen(PCA_CHOSEN, candidates, train, valid)
    weights = few(options, (1e-3, 1e-4, 1e-5, 1e-6))
    true = [HandMade(weight, function_atoms(64)) for weight in weights]
    gaussian = chosen("gaussian", [Gaussian(r) for r in few(options, RIDGES)], train, valid)
    sizes = few(options, ((256, 256), (512, 64, 512)))
    epochs = 5 if options.quick else 150
    dense = [MultilayerPerceptron(hidden, epochs=epochs) for hidden in sizes]
    methods = {
        TWO: two,
        NONE: replace(two, settings=two.settings | {"top_down": NO_TOP_DOWN}),
        ONE: one,
        DENSE: chosen(DENSE, dense, train, valid),
        PCA_CHOSEN: components,
        "gaussian": gaussian,
        TRUE_ATOMS: chosen(TRUE_ATOMS, true, train, valid),
    }
    if TORCH:
        methods |= all_chosen(options, neural.for_signals(options.quick), train, valid)
    unseen = ("pairs", "all four")
    bars = [
        Bar(TWO, (DENSE,), 20, unseen),
        Bar(TWO, NEURAL, 20, unseen),
        Bar(TWO, (PCA_CHOSEN,), 10, unseen),
        Bar(TWO, ("gaussian",), 10, unseen),
        Bar(TWO, (TRUE_ATOMS,), 1, ("id", *unseen)),
        Bar(TWO, (DENSE, *NEURAL), 1 / 1.5, ("id",)),
        Bar(TWO, (ONE,), 1, ("id", *unseen)),
    ]
    title = f"Functions: {n_samples} signals of 64 points, half of them hidden"
    compared(options, "functions", title, draw_data, methods, bars)


def bumps(options):
    """Fill in pictures of bumps."""
    n_samples, n_test = (200, 10) if options.quick else (3000, 200)
    pictures = bump_pictures(28)
    draw_data = samples(make_spatial_bumps, n_samples, n_test, atoms=pictures)
    data = draw_data(0).cut(10 if options.quick else TUNED_ON)
    train, valid = data.train, data.valid

    separable = {"constraint": Separable(1), "feature_shape": (28, 28)}
    settings = [
        separable | {"n_atoms": (n,), "alpha": alpha}
        for n, alpha in few(options, product((200,), (0.3, 0.1)))
    ]
    weights = few(options, (0.03, 0.01))
    candidates = [Network(s, None, weight) for s, weight in product(settings, weights)]
    before = chosen(SEPARABLE, candidates, train, valid)
    cosines = few(options, (0.8, 0.9))
    candidates = [Network(*choice) for choice in product(settings, cosines, weights)]
    after = chosen(RECOMBINED, candidates, train, valid)
    used = max(1, round(after.fit(train, valid, 0).active(valid)))
    candidates = [Components(used, r) for r in few(options, RIDGES)]
    as_many = chosen(PCA_AS_MANY, candidates, train, valid)
    candidates = [Components(k, r) for k, r in few(options, product((8, 16, 32, 64), RIDGES))]
    components = chosen(PCA_CHOSEN, candidates, train, valid)
    sizes = few(options, ((512, 512), (512, 64, 512)))
    epochs = 2 if options.quick else 40
    dense = [MultilayerPerceptron(hidden, epochs=epochs) for hidden in sizes]
    hand_made = [HandMade(weight, pictures) for weight in weights]
    methods = {
        SEPARABLE: before,
        RECOMBINED: after,
        DENSE: chosen(DENSE, dense, train, valid),
        PCA_AS_MANY: as_many,
        PCA_CHOSEN: components,
        HAND_MADE: chosen(HAND_MADE, hand_made, train, valid),
    }
    if TORCH:
        methods |= all_chosen(options, neural.for_pictures(used, options.quick), train, valid)
    bars = [
        Bar(RECOMBINED, (RECOMBINED,), 1 / 3, ("id",), ours_part="ood"),
        Bar(RECOMBINED, (DENSE, CONVOLUTIONAL), 10, ("ood",)),
        Bar(RECOMBINED, (NO_CODE,), 10, ("ood",)),
        Bar(RECOMBINED, (PCA_AS_MANY, PCA_CHOSEN), 10, ("ood",)),
        Bar(RECOMBINED, (DENSE, CONVOLUTIONAL), 1 / 1.5, ("id",)),
        Bar(RECOMBINED, (NO_CODE,), 1 / 1.5, ("id",)),
    ]
    title = f"Bumps: {n_samples} pictures of 28 x 28, a third of the pixels hidden"
    compared(options, "bumps", title, draw_data, methods, bars)


def nbody(options):
    """Predict accelerations."""
    n_samples, n_test = (300, 50) if options.quick else (4000, 1000)

    def draw_data(seed):
        bunch = make_nbody(n_samples, n_test, random_state=seed)
        tests = {name: Part(part.data, part.target) for name, part in bunch.test.items()}
        return split(Part(bunch.data, bunch.target), tests)

    data = draw_data(0)
    train, valid = data.train, data.valid

    def network(n_atoms, alpha, **settings):
        settings = {"ridge": 1e-6, "n_jobs": 2} | settings
        return NetworkRegressor(VectorNetworkRegressor(n_atoms, alpha, **settings))

    weights = few(options, (0.1, 0.03, 0.01))
    candidates = [network((64,), alpha) for alpha in weights]
    one = chosen(ONE, candidates, train, valid)
    (n_atoms,), alpha = one.estimator.n_atoms, one.estimator.alpha
    sizes = n_atoms, n_atoms // 2
    alphas = (alpha, TOP_ALPHA)
    candidates = [network(sizes, alphas, top_down=w) for w in few(options, (0.1, 0.01))]
    two = chosen(TWO, candidates, train, valid)
    epochs = 3 if options.quick else 150
    sizes = few(options, ((128, 128), (256, 256)))
    dense = [StandardisedPerceptron(hidden, epochs=epochs) for hidden in sizes]
    rounds = 5 if options.quick else 200
    boosting = [
        Regressor(MultiOutputRegressor(HistGradientBoostingRegressor(max_iter=n, learning_rate=r)))
        for n, r in few(options, product((rounds,), (0.1, 0.05)))
    ]
    linear = [Regressor(Ridge(r)) for r in few(options, RIDGES)]
    methods = {
        TWO: two,
        NONE: network(two.estimator.n_atoms, alphas, top_down=NO_TOP_DOWN),
        ONE: one,
        PERCEPTRON: chosen(PERCEPTRON, dense, train, valid),
        BOOSTING: chosen(BOOSTING, boosting, train, valid),
        LINEAR: chosen(LINEAR, linear, train, valid),
    }
    if TORCH:
        methods |= all_chosen(options, neural.for_features(options.quick), train, valid)
    unseen = ("several forces", "fewer bodies")
    bars = [Bar(name, (PERCEPTRON, BOOSTING), 5, unseen) for name in (TWO, ONE)]
    bars.append(Bar(TWO, (TRANSFORMER,), 5, unseen))
    bars.append(Bar(TWO, (PERCEPTRON, BOOSTING, TRANSFORMER), 1 / 1.5, ("id",)))
    bars.append(Bar(TWO, (ONE,), 1, ("id", *unseen)))
    bars.append(Bar(TWO, (LINEAR,), 1, unseen))
    title = f"Bodies: {n_samples} rows of 46 features"
    compared(options, "nbody", title, draw_data, methods, bars)
    print(
        "The target is a linear function of the features, so that the linear control is exact. "
        "Where codes use nearly\nas many atoms as there are features, they are nearly a linear "
        "map too.\n"
    )


def digits(options):
    """Describe digits by few numbers."""
    n_samples, n_test = (300, 50) if options.quick else (4000, 1000)
    draw_data = samples(make_digit_compositions, n_samples, n_test)
    data = draw_data(0)
    train, valid = data.train, data.valid

    candidates = [
        Network({"n_atoms": (n,), "top_k": BUDGET, "learning_rule": rule})
        for n, rule in few(options, product((128, 64, 256), ("hebb", "block")))
    ]
    network = chosen(TOP_K, candidates, train, valid)
    epochs = 5 if options.quick else 200
    shapes = few(options, product((128, 256), ("relu", "tanh")))
    perceptrons = [MultilayerPerceptron((n, BUDGET, n), kind, epochs) for n, kind in shapes]
    methods = {
        TOP_K: network,
        DENSE: chosen(DENSE, perceptrons, train, valid),
        PCA_CHOSEN: Components(BUDGET),
    }
    if TORCH:
        methods |= all_chosen(options, neural.for_digits(BUDGET, options.quick), train, valid)
    dense = (DENSE, CONVOLUTIONAL)
    bars = [
        Bar(TOP_K, dense, 5, ("sums",)),
        Bar(TOP_K, dense, 1, ("max", "combined")),
        Bar(TOP_K, dense, 1 / 1.5, ("id",)),
        Bar(TOP_K, (PCA_CHOSEN,), 1, ("id", "sums", "max", "combined")),
    ]
    title = f"Digits: {n_samples} pictures of 8 x 8, described by {BUDGET} numbers each"
    compared(options, "digits", title, draw_data, methods, bars)
    print(
        "A network also says which atoms it uses; components and bottleneck are always the same "
        f"{BUDGET}. top_k counts codes\nof the top layer alone, so there is no form of two layers "
        "at this budget.\n"
    )


PARTS = {"functions": functions, "bumps": bumps, "nbody": nbody, "digits": digits}


def parse_options():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="part", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="small data, one seed: a check")
    parser.add_argument("--figures", metavar="FOLDER", help="where to put a figure of each part")
    options = parser.parse_args()
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        parser.error(f"unknown parts {sorted(unknown)}: take some of {list(PARTS)}")
    if options.quick:
        options.seeds = 1
    return options


def main():
    """Print all tables."""
    options = parse_options()
    print_environment("Combinations that training lacks: vector networks beside other methods")
    if TORCH:
        neural.print_version()
    else:
        print("torch is not installed: convolutional and sequence baselines are left out")
    for part in options.parts or PARTS:
        print(f"{part}: settings chosen by validation with seed 0")
        PARTS[part](options)


if __name__ == "__main__":
    main()
