"""VectorNetwork: learning, codes, reconstruction, the atoms as a library."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.callback import ScoringMonitor
from sklearn.neural_network import MLPRegressor

from skatoms import VariationalBasisLearner, VectorNetwork
from skatoms.basis import Separable
from skatoms.network._settle import MAX_SWEEPS

pytestmark = pytest.mark.filterwarnings("ignore:The objective still fell")

N_FEATURES = 20


def draw(n, seed, atoms=None):
    """Samples of three atoms each, of 15 planted ones or of those given."""
    rng = np.random.default_rng(seed)
    if atoms is None:
        atoms = planted(0)
    codes = np.zeros((n, len(atoms)))
    for row in codes:
        row[rng.choice(len(atoms), 3, replace=False)] = rng.uniform(0.5, 1.5, 3)
    return codes @ atoms + 0.01 * rng.standard_normal((n, N_FEATURES))


def planted(seed, part=slice(None)):
    atoms = np.zeros((15, N_FEATURES))
    atoms[:, part] = np.random.default_rng(seed).standard_normal(atoms[:, part].shape)
    return atoms / np.linalg.norm(atoms, axis=1, keepdims=True)


def network(n_atoms=(15, 8), **settings):
    return VectorNetwork(n_atoms, **{"alpha": 0.05, "random_state": 0} | settings)


@pytest.fixture(scope="module")
def X():
    return draw(600, 1)


@pytest.fixture(scope="module", params=["hebb", "block"])
def fitted(X, request):
    return network(learning_rule=request.param, max_iter=30).fit(X)


def test_learning_lowers_the_energy(X, fitted):
    history = fitted.objective_history_
    assert history[-1] < 0.8 * history[0]
    assert (np.diff(history) <= 0.01 * history[:-1]).all()
    if fitted.learning_rule == "block":  # after two online passes
        assert (np.diff(history[2:]) <= 1e-10 * history[2:-1]).all()


@pytest.mark.parametrize("top_k", [None, 2])
def test_the_report_says_how_the_codes_of_the_last_pass_were_solved(X, top_k):
    report = network(max_iter=2, top_k=top_k).fit(X).report_
    assert report.n_rows == len(X)
    assert 1 <= report.n_iter <= (np.inf if top_k is None else MAX_SWEEPS)
    assert report.n_unconverged == 0
    assert report.residual <= report.tolerance


def test_norms_are_one(fitted):
    for atoms in (*fitted.input_atoms_, *fitted.output_atoms_):
        assert_allclose(np.linalg.norm(atoms, axis=1), 1, atol=1e-12)


def test_outputs_within_the_network_stay_orthogonal(fitted):
    outputs = fitted.output_atoms_[0]
    assert_allclose(outputs @ outputs.T, np.eye(15), atol=1e-12)


def test_layers_above_do_not_collapse(X):
    model = network((15, 15), top_down=1.0, learning_rule="block", max_iter=40).fit(X)
    assert (model.transform(X) != 0).any(axis=0).all()


def test_one_layer_learns_as_well_as_the_basis_learner(X):
    learner = VariationalBasisLearner(15, 0.05, tol=1e-3, random_state=0).fit(X)
    for rule in ("hebb", "block"):
        one = network((15,), learning_rule=rule, max_iter=60).fit(X)
        margin = 1.1 if rule == "hebb" else 1.01
        assert one.score(X) > margin * learner.score(X)  # scores are negative


def test_the_energy_adds_up_to_the_objective_of_its_codes(X, fitted):
    energy = fitted.energy(X)
    assert energy["error"].shape == energy["penalty"].shape == (2,)
    total = energy["error"].sum() + energy["penalty"].sum()
    assert energy["total"] == pytest.approx(total) == pytest.approx(-fitted.score(X))
    codes = clone(fitted).set_params(output_layers="all").fit(X).transform(X)
    rest = X - codes[:, :15] @ fitted.input_atoms_[0]
    assert energy["error"][0] == pytest.approx(0.5 * (rest**2).sum(axis=1).mean(), rel=1e-6)
    assert energy["penalty"][0] == pytest.approx(0.05 * np.abs(codes[:, :15]).sum(1).mean())


def test_missing_values_are_filled_in(X):
    one = network((15,), learning_rule="block", max_iter=60).fit(X)
    new = draw(100, 5)
    hidden = np.random.default_rng(0).random(new.shape) < 0.25
    filled = one.reconstruct(np.where(hidden, np.nan, new))
    error = ((filled - new)[hidden] ** 2).mean() / new[hidden].var()
    assert error < 0.1


def test_it_learns_from_samples_with_gaps(X):
    gaps = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
    model = network(max_iter=20).fit(gaps)
    assert ((model.reconstruct(X) - X) ** 2).mean() < 0.15 * (X**2).mean()


def test_codes_of_the_top_bring_back_something_of_the_sample(X):
    model = network((15, 15), top_down=1.0, learning_rule="block", max_iter=40).fit(X)
    back = model.inverse_transform(model.transform(X))
    assert back.shape == X.shape
    assert ((back - X) ** 2).mean() < 0.7 * (X**2).mean()
    model.set_params(output_layers="all")
    assert_allclose(model.inverse_transform(model.transform(X)), model.reconstruct(X))


def test_effective_weights_map_what_a_layer_explains_to_what_it_says(X, fitted):
    codes, outputs, inputs = fitted.effective_weights(X[:4])
    assert (codes.shape, outputs.shape, inputs.shape) == ((4, 15), (15, 15), (15, N_FEATURES))
    dense = fitted.effective_weights(X[:4], dense=True)
    assert_allclose(dense[1], outputs.T @ np.diag(codes[1]) @ inputs)
    with pytest.raises(ValueError, match="top of the network"):
        fitted.effective_weights(X, layer=1)


def test_names_and_numbers_of_outputs(X, fitted):
    assert list(fitted.get_feature_names_out()[:2]) == ["vectornetwork0", "vectornetwork1"]
    assert fitted.transform(X).shape == (600, 8)
    everything = clone(fitted).set_params(output_layers="all", max_iter=1).fit(X)
    assert everything.transform(X).shape == (600, 23)
    assert len(everything.get_feature_names_out()) == 23


@pytest.mark.parametrize("rule", ["hebb", "block"])
def test_results_do_not_depend_on_threads_or_order(X, rule):
    first = network(learning_rule=rule, max_iter=3, n_jobs=1).fit(X)
    second = network(learning_rule=rule, max_iter=3, n_jobs=2).fit(X[::-1])
    assert_array_equal(first.input_atoms_[0], second.input_atoms_[0])
    assert_array_equal(first.output_atoms_[0], second.output_atoms_[0])


@pytest.mark.parametrize("rule", ["hebb", "block"])
def test_single_precision_stays_and_gives_nearly_the_same(X, rule):
    X = X.astype(np.float32).astype(np.float64)
    double = network(learning_rule=rule, max_iter=3).fit(X)
    single = network(learning_rule=rule, max_iter=3).fit(X.astype(np.float32))
    assert single.input_atoms_[0].dtype == single.output_atoms_[0].dtype == np.float32
    assert single.transform(X.astype(np.float32)).dtype == np.float32
    assert_allclose(single.objective_history_, double.objective_history_, rtol=1e-3)


def test_it_is_pickled_and_monitored(X):
    seen = []
    monitor = ScoringMonitor(
        scoring=lambda model, X, y: {"energy": seen.append(model.score(X)) or 0}
    )
    network(max_iter=3).set_callbacks(monitor).fit(X)
    assert len(seen) >= 3
    assert seen[-1] > seen[0]
    model = network(max_iter=3).fit(X)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.transform(X), model.transform(X))


# The library.


@pytest.mark.parametrize("rule", ["hebb", "block"])
def test_learning_leaves_atoms_that_are_not_used_as_they_are(rule):
    first, second = planted(0, slice(0, 10)), planted(1, slice(10, 20))
    model = network((30, 10), learning_rule=rule)
    model.partial_fit(np.concatenate([draw(300, 1, first), draw(300, 2, second)]))
    new = draw(200, 3, second)
    before = [atoms.copy() for atoms in (model.input_atoms_[0], model.output_atoms_[0])]
    model.set_params(output_layers="all")
    idle = ~model.transform(new)[:, :30].any(axis=0) & (model.usage_[:30] > 0)
    assert 3 < idle.sum() < 27
    model.partial_fit(new)
    assert_array_equal(model.input_atoms_[0][idle], before[0][idle])
    assert_array_equal(model.output_atoms_[0][idle], before[1][idle])
    assert not np.array_equal(model.input_atoms_[0][~idle], before[0][~idle])


@pytest.mark.parametrize("rule", ["hebb", "block"])
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_frozen_atoms_stay_to_the_last_bit(X, rule, method):
    model = network(learning_rule=rule, max_iter=3, warm_start=True).fit(X)
    mask = np.arange(23) % 2 == 0
    inputs = [atoms.copy() for atoms in model.input_atoms_]
    getattr(model.freeze(mask), method)(draw(300, 7, planted(3)))
    assert_array_equal(model.input_atoms_[0][mask[:15]], inputs[0][mask[:15]])
    assert_array_equal(model.input_atoms_[1][mask[15:]], inputs[1][mask[15:]])
    assert not np.array_equal(model.input_atoms_[0], inputs[0])


def relative_error(model, X):
    return ((model.reconstruct(X) - X) ** 2).mean() / (X**2).mean()


def test_what_was_learned_first_is_not_forgotten_as_by_a_dense_network():
    first, second = planted(0, slice(0, 12)), planted(1, slice(8, 20))
    a, b, test = draw(1500, 1, first), draw(1500, 2, second), draw(300, 3, first)
    model = network((40,), learning_rule="hebb", forgetting=0.0)
    for batch in np.array_split(a, 10):
        model.partial_fit(batch)
    before = relative_error(model, test)
    model.freeze(model.usage_ > 1e-4)
    for batch in np.array_split(b, 10):
        model.partial_fit(batch)
    after = relative_error(model, test)
    assert after < 1.05 * before

    dense = MLPRegressor(hidden_layer_sizes=(40,), learning_rate_init=1e-2, random_state=0)
    errors = []
    for data in (a, b):
        for _ in range(30):
            dense.partial_fit(data, data)
        errors.append(((dense.predict(test) - test) ** 2).mean() / (test**2).mean())
    assert errors[1] > 2 * errors[0]


def test_merged_networks_explain_mixtures_as_each_explains_its_own():
    first, second = planted(0, slice(0, 10)), planted(1, slice(10, 20))
    models = [
        network((15, 6), learning_rule="block", max_iter=40).fit(draw(600, seed, atoms))
        for seed, atoms in ((1, first), (2, second))
    ]
    union = models[0].merge(models[1])
    assert union.n_atoms == (30, 12)
    assert union.widths == (30,)
    a, b = draw(200, 3, first), draw(200, 4, second)
    single = [relative_error(m, x) for m, x in zip(models, (a, b), strict=True)]
    assert relative_error(union, a + b) < 1.2 * max(single)
    assert_allclose(union.usage_[:15] * 2, models[0].usage_[:15])
    union.partial_fit(a + b)  # goes on
    assert_allclose(
        models[0].merge(models[1]).reconstruct(a)[:, :10],
        models[0].reconstruct(a)[:, :10],
        atol=0.05,
    )


def test_a_part_of_the_atoms_makes_a_network(X, fitted):
    everything = fitted.select_atoms(np.ones(23, bool))
    assert_array_equal(everything.transform(X), fitted.transform(X))
    mask = np.arange(23) % 3 > 0
    part = fitted.select_atoms(mask)
    assert part.n_atoms == (mask[:15].sum(), mask[15:].sum())
    assert_array_equal(part.input_atoms_[0], fitted.input_atoms_[0][mask[:15]])
    assert part.score(X) <= fitted.score(X)
    part.partial_fit(X)
    assert fitted.prune(1e-9).n_atoms[0] <= 15


def test_a_part_too_small_for_top_k_is_refused(X):
    model = network(top_k=3, max_iter=1).fit(X)
    with pytest.raises(ValueError, match="mask must keep at least top_k=3 atoms"):
        model.select_atoms(np.arange(23) < 17)


def test_responsibility_is_the_part_that_each_atom_explains(X, fitted):
    shares = fitted.responsibility(X[:20])
    codes = fitted.effective_weights(X[:20])[0]
    rest = X[:20] - fitted.reconstruct(X[:20])
    explained = 1 - np.einsum("ij,ij->i", rest, X[:20]) / (X[:20] ** 2).sum(axis=1)
    assert_allclose(shares[:, :15].sum(axis=1), explained)
    assert ((shares[:, :15] != 0) == (codes != 0)).all()


def test_profiles_are_recombined_to_pictures_that_were_never_seen():
    rng = np.random.default_rng(0)
    grid = np.arange(8)

    def bumps(rows, columns):
        profiles = [np.exp(-((grid - c[:, None]) ** 2) / 2) for c in (rows, columns)]
        return np.einsum("ni,nj->nij", *profiles).reshape(-1, 64)

    rows, columns = rng.integers(8, size=(2, 2000))
    inside = (rows > 2) & (rows < 6) & (columns > 2) & (columns < 6)
    model = VectorNetwork(
        (60,),
        0.01,
        constraint=Separable(1),
        feature_shape=(8, 8),
        positive=True,
        learning_rule="block",
        random_state=0,
    ).fit(bumps(rows[~inside], columns[~inside]))
    new = bumps(rows[inside], columns[inside])
    hidden = rng.random(new.shape) < 0.3
    gaps = np.where(hidden, np.nan, new)
    errors = [
        ((m.reconstruct(gaps) - new)[hidden] ** 2).mean() / (new[hidden] ** 2).mean()
        for m in (model, model.recombine())
    ]
    assert errors[1] < 0.1 * errors[0]
    several = clone(model).set_params(n_atoms=(20, 4), alpha=(0.01, 0.02), top_down=(0.5,))
    products = several.fit(new).recombine()
    before = products.input_atoms_[0].copy()
    products.partial_fit(new[:20])
    idle = products.usage_ == 0
    assert idle.any()
    assert_array_equal(products.input_atoms_[0][idle], before[idle])
    with pytest.raises(ValueError, match="recombine needs feature_shape"):
        network(max_iter=1).fit(new).recombine()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_atoms": ()}, "n_atoms must name at least one layer"),
        ({"n_atoms": (4, 0)}, "n_atoms must be positive integers"),
        ({"n_atoms": (4, 2.5)}, "n_atoms must be positive integers"),
        ({"alpha": (0.1,)}, r"alpha must be one number for all, or one for each of the 2 layers"),
        ({"alpha": (0.1, -1)}, "alpha must be finite and not negative"),
        (
            {"top_down": (0.1, 0.1)},
            "top_down must be one number for all, or one for each of the 1 interfaces",
        ),
        ({"top_down": (0.0,)}, "top_down must be finite and positive"),
        ({"widths": (3, 3)}, "widths has 2 entries, but there are 1 interfaces"),
        ({"alpha": (0.1, "a")}, "alpha must be an array of numbers"),
        ({"top_k": 9}, "top_k=9 is larger than the top layer, which has 8 atoms"),
        ({"top_k": 2, "positive": True}, "positive=True does not go with top_k"),
        ({"constraint": "separable"}, "needs feature_shape"),
        ({"learning_rule": "backprop"}, "learning_rule"),
    ],
)
def test_what_can_not_be_is_refused_by_name_and_the_fit_before_stays(X, settings, message):
    model = network(max_iter=1).fit(X)
    before = model.input_atoms_[0]
    with pytest.raises((ValueError, TypeError), match=message):
        model.set_params(**settings).fit(X)
    assert model.input_atoms_[0] is before


def test_samples_without_any_value_are_refused(X):
    empty = X[:50].copy()
    empty[7] = np.nan
    with pytest.raises(ValueError, match=r"rows without any value \(1, the first of them 7\)"):
        network().fit(empty)


def test_networks_of_different_make_are_not_merged(X, fitted):
    for other, message in (
        (network((15,), max_iter=1).fit(X), "other has layers 1"),
        (network(max_iter=1).fit(X[:, 1:]), "other has features 19"),
        (network(max_iter=1, top_down=0.3).fit(X), "top_down"),
        (network(max_iter=1, alpha=0.3).fit(X), "other has alpha"),
    ):
        with pytest.raises(ValueError, match=message):
            fitted.merge(other)
    with pytest.raises(TypeError, match="other must be a VectorNetwork"):
        fitted.merge(VariationalBasisLearner(3, max_iter=1).fit(X))
    with pytest.raises(ValueError, match="mask must be True or False for each of the 23 atoms"):
        fitted.select_atoms([True])
    with pytest.raises(ValueError, match="at least one atom of each layer"):
        fitted.select_atoms(np.arange(23) < 15)
