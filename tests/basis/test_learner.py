"""VariationalBasisLearner: what it promises to its users."""

import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pandas
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.decomposition import sparse_encode
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from skatoms import VariationalBasisLearner

pytestmark = pytest.mark.filterwarnings("ignore:The objective still fell")


@pytest.fixture(scope="module")
def planted():
    """Samples of 5 among 128 atoms in 64 dimensions, with a little noise, and the atoms."""
    rng = np.random.default_rng(0)
    atoms = rng.standard_normal((128, 64))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    codes = np.zeros((5000, 128))
    for code in codes:
        code[rng.choice(128, 5, replace=False)] = rng.standard_normal(5)
    return codes @ atoms + 0.01 * rng.standard_normal((5000, 64)), atoms


@pytest.fixture(scope="module")
def samples(planted):
    return planted[0][:300, :20].copy()


def learner(**changes):
    settings = {"n_components": 16, "alpha": 0.3, "max_iter": 15, "random_state": 0}
    return VariationalBasisLearner(**(settings | changes))


def objective(X, atoms, alpha, positive=False, weights=None):
    codes = sparse_encode(
        X, atoms, alpha=alpha, algorithm="lasso_cd", positive=positive, max_iter=100_000
    )
    rest = X - codes @ atoms
    each = 0.5 * (rest**2).sum(axis=1) + alpha * np.abs(codes).sum(axis=1)
    return np.average(each, weights=weights)


def test_a_planted_basis_is_recovered(planted):
    X, atoms = planted
    found = VariationalBasisLearner(128, alpha=0.1, max_iter=40, random_state=0).fit(X).components_
    assert np.mean(np.abs(atoms @ found.T).max(axis=1) > 0.99) >= 0.95


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("batch_size", [64, 1000])
@pytest.mark.parametrize("alpha", [0.0, 0.05, 0.5])
def test_the_objective_never_rises(samples, dtype, positive, batch_size, alpha):
    model = learner(positive=positive, batch_size=batch_size, alpha=alpha, tol=0)
    history = model.fit(samples.astype(dtype)).objective_history_
    assert len(history) == model.n_iter_ > 1
    slack = 1e-5 if dtype == np.float32 else 1e-10
    # Where alpha is zero and the fit perfect, rounding errors of the energy are all that is left.
    scale = np.maximum(history[:-1], np.finfo(dtype).eps * np.mean(samples**2) * 20)
    assert np.all(np.diff(history) <= slack * scale)


@pytest.mark.parametrize("positive", [False, True])
def test_score_is_minus_the_objective_with_the_best_codes(samples, positive):
    model = learner(positive=positive).fit(samples)
    weights = np.random.default_rng(1).uniform(size=len(samples))
    expected = -objective(samples, model.components_, 0.3, positive, weights)
    assert_allclose(model.score(samples, sample_weight=weights), expected, rtol=1e-6)


def test_transform_gives_the_codes_of_the_lasso(samples):
    model = learner().fit(samples)
    expected = sparse_encode(samples, model.components_, alpha=0.3, algorithm="lasso_lars")
    assert_allclose(model.transform(samples), expected, atol=1e-6)


def test_the_atoms_are_stationary_in_the_end(samples):
    model = learner(alpha=0.5, max_iter=2000, tol=1e-13).fit(samples)
    codes, atoms = model.transform(samples), model.components_
    gradient = codes.T @ (codes @ atoms - samples) / len(samples)
    along = (gradient * atoms).sum(axis=1, keepdims=True) * atoms
    assert np.abs(gradient - along).max() < 1e-5 * np.abs(gradient).max()


def test_atoms_have_unit_norm_and_the_precision_of_the_data(samples):
    for dtype in (np.float32, np.float64):
        model = learner().fit(samples.astype(dtype))
        assert model.components_.dtype == dtype == model.transform(samples.astype(dtype)).dtype
        norms = np.linalg.norm(model.components_, axis=1)
        assert_allclose(norms, 1, rtol=4 * np.finfo(dtype).eps)


def test_results_do_not_depend_on_n_jobs(planted):
    X = planted[0][:1500]
    one, two = (learner(n_components=90, n_jobs=n, max_iter=4).fit(X) for n in (1, 2))
    assert_array_equal(one.components_, two.components_)
    assert_array_equal(one.transform(X), two.transform(X))


def test_results_depend_on_the_seed_and_not_on_the_order_of_the_samples(samples):
    shuffled = samples[np.random.default_rng(1).permutation(len(samples))]
    atoms = learner().fit(samples).components_
    assert_array_equal(atoms, learner().fit(shuffled).components_)
    assert not np.allclose(atoms, learner(random_state=1).fit(samples).components_)


@pytest.mark.parametrize("batch_size", [50, 1000])
def test_a_weight_counts_like_repetition_and_zero_like_absence(samples, batch_size):
    weights = np.random.default_rng(1).integers(0, 4, len(samples))
    weighted = learner(batch_size=batch_size).fit(samples, sample_weight=weights)
    repeated = learner(batch_size=batch_size).fit(samples.repeat(weights, axis=0))
    assert_allclose(weighted.components_, repeated.components_, atol=1e-9)
    assert_allclose(weighted.objective_history_, repeated.objective_history_, rtol=1e-9)


def test_atoms_that_nobody_uses_are_put_where_samples_are_explained_worst():
    # The start has the first axis only, several times: all but one of these atoms stay unused.
    X = np.eye(6) * np.arange(1, 7)[:, None]
    start = np.tile(np.eye(6)[0], (6, 1))
    model = VariationalBasisLearner(alpha=0.1, init=start, max_iter=20, tol=0).fit(X)
    assert_allclose(np.abs(model.components_ @ np.eye(6)).max(axis=0), 1)
    assert np.all(np.diff(model.objective_history_) <= 1e-12)


def test_more_atoms_than_samples_and_features():
    X = np.random.default_rng(0).standard_normal((5, 3))
    model = VariationalBasisLearner(12, alpha=0.1, max_iter=5, random_state=0).fit(X)
    assert model.components_.shape == (12, 3)
    assert_allclose(np.linalg.norm(model.components_, axis=1), 1)
    # Each sample has an atom to itself, which is the best there is: alpha |x| - alpha^2 / 2.
    lengths = np.linalg.norm(X, axis=1)
    assert -model.score(X) <= np.mean(0.1 * lengths - 0.1**2 / 2) + 1e-9


def test_parameters_of_learning_do_not_matter_to_a_fitted_basis(samples):
    model = learner().fit(samples)
    codes, score = model.transform(samples), model.score(samples)
    model.set_params(n_components=3, init=np.eye(2), max_iter=1, random_state=7)
    assert_array_equal(model.transform(samples), codes)
    assert model.score(samples) == score
    model.set_params(alpha=1.0)
    assert np.count_nonzero(model.transform(samples)) < np.count_nonzero(codes)


def test_inverse_transform_takes_dense_and_sparse_codes(samples):
    model = learner(alpha=0.0, n_components=20).fit(samples)
    codes = model.transform(samples)
    assert_allclose(model.inverse_transform(codes), samples, atol=1e-5)
    assert_allclose(model.inverse_transform(csr_array(codes)), model.inverse_transform(codes))


def test_fit_transform_is_fit_and_transform(samples):
    assert_array_equal(learner().fit_transform(samples), learner().fit(samples).transform(samples))


def test_init_may_be_given_and_is_scaled(samples):
    start = 3 * np.eye(20)[:7]
    model = VariationalBasisLearner(alpha=100, init=start, max_iter=1)
    with pytest.warns(UserWarning, match="alpha=100 leaves all codes at zero"):
        model.fit(samples)
    assert_array_equal(model.components_, np.eye(20)[:7])


def test_warm_start_goes_on_from_the_fit_before(samples):
    model = learner(warm_start=True, max_iter=5).fit(samples)
    reached = model.objective_history_[-1]
    model.fit(samples)
    assert model.objective_history_[0] <= reached
    assert learner(max_iter=5).fit(samples).objective_history_[0] > reached


def test_running_out_of_iterations_is_warned_about(samples):
    with pytest.warns(ConvergenceWarning, match="last of 3 passes, tol=0.0e"):
        learner(max_iter=3, tol=0).fit(samples)


def test_partial_fit_without_forgetting_adds_up_the_batches(samples):
    start = learner(init=np.eye(20)[:16], forgetting=0.0)
    weights = np.random.default_rng(2).uniform(size=len(samples))
    model = start.partial_fit(samples[:100], sample_weight=weights[:100])
    sums = model._statistics
    codes = model.transform(samples[100:])
    model.partial_fit(samples[100:], sample_weight=weights[100:])
    expected = sums.codes_codes + codes.T @ (weights[100:, None] * codes)
    assert_allclose(model._statistics.codes_codes, expected, atol=1e-5)
    assert model.n_samples_seen_ == pytest.approx(weights.sum())


def test_partial_fit_forgets_by_the_step(samples):
    model = learner(forgetting=2.0)
    for step in range(1, 4):
        before = getattr(model, "_statistics", None)
        model.partial_fit(samples[:50])
        kept = 0 if before is None else before.weight * (1 - 1 / step) ** 2
        assert_allclose(model._statistics.weight, 50 + kept)


def test_a_pass_of_partial_fit_learns_nearly_what_a_pass_of_fit_does(planted):
    X = planted[0]
    online = VariationalBasisLearner(128, alpha=0.2, random_state=0)
    for batch in np.array_split(X[:4000], 16):
        online.partial_fit(batch)
    start = VariationalBasisLearner(128, alpha=0.2, random_state=0).partial_fit(X[:250])
    fitted = VariationalBasisLearner(128, alpha=0.2, random_state=0, max_iter=2).fit(X[:4000])
    held = X[4000:]
    gain = (online.score(held) - start.score(held)) / (fitted.score(held) - start.score(held))
    assert gain > 0.8


def test_a_small_batch_does_not_undo_a_fit(samples):
    model = learner(max_iter=50).fit(samples)
    before = model.score(samples)
    model.partial_fit(samples[:5])
    assert model.n_samples_seen_ == 305
    assert model.score(samples) == pytest.approx(before, rel=1e-3)
    for _ in range(300):
        model.partial_fit(samples[:5])
    assert model.score(samples) < 1.05 * before
    assert model.score(samples[:5]) > before


def test_atoms_that_a_stream_has_left_behind_learn_what_comes_now():
    rng = np.random.default_rng(0)
    model = VariationalBasisLearner(8, alpha=0.1, random_state=0)
    for _ in range(3):
        model.partial_fit(rng.standard_normal((20, 1)) * np.eye(8)[rng.integers(0, 4, 20)])
    for _ in range(60):
        model.partial_fit(rng.standard_normal((20, 1)) * np.eye(8)[rng.integers(4, 8, 20)])
    recent = np.abs(model.components_ @ np.eye(8)[4:].T)
    assert_allclose(recent.max(axis=0), 1)
    assert np.mean(recent.max(axis=1) > 0.99) > 0.5


def test_rows_that_do_not_converge_are_warned_about_once_a_fit(samples, monkeypatch):
    import skatoms.basis._alternation as module

    encode = module.encode
    monkeypatch.setattr(module, "encode", lambda *a, **k: encode(*a, **(k | {"max_iter": 1})))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        learner(tol=1, batch_size=50, max_iter=4).fit(samples)
    (warning,) = caught
    assert issubclass(warning.category, ConvergenceWarning)
    assert "of 300 rows did not converge with solver='active-set'" in str(warning.message)
    assert warning.filename == __file__
    with pytest.warns(ConvergenceWarning, match="of 300 rows"):
        learner(tol=1).fit(samples).transform(samples)


def test_interrupts_leave_the_last_finished_pass(samples, monkeypatch):
    import skatoms.basis._learner as module

    def interrupted(*args, passes=module.learn):
        for done, iterate in enumerate(passes(*args)):
            if done == 3:
                raise KeyboardInterrupt
            yield iterate

    whole = learner(max_iter=3, tol=0).fit(samples)
    monkeypatch.setattr(module, "learn", interrupted)
    model = learner(max_iter=10, tol=0, warm_start=True)
    with pytest.raises(KeyboardInterrupt):
        model.fit(samples)
    monkeypatch.undo()
    assert model.n_iter_ == 3
    assert_array_equal(model.components_, whole.components_)
    assert model.fit(samples).objective_history_[0] <= whole.objective_history_[-1]


INTERRUPTED = """
import warnings
import numpy as np
from skatoms import VariationalBasisLearner

X = np.random.default_rng(0).standard_normal((20_000, 30))
model = VariationalBasisLearner(60, 0.3, max_iter=100_000, tol=0, n_jobs=2, random_state=0)
model.set_params(max_iter=3).fit(X)
print("ready", flush=True)
try:
    model.set_params(max_iter=100_000).fit(X)
except KeyboardInterrupt:
    history = model.objective_history_
    assert len(history) == model.n_iter_ > 0
    model.set_params(warm_start=True, max_iter=1).fit(X)
    assert model.objective_history_[0] <= history[-1]
    print("went on", flush=True)
"""


@pytest.mark.filterwarnings("default")
@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent in another way there")
def test_a_real_interrupt_leaves_atoms_to_go_on_from():
    arguments = [sys.executable, "-W", "ignore", "-c", INTERRUPTED]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(4)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert out == "went on\n"


BAD_DATA = {
    "one dimension": (np.zeros(3), "2D array"),
    "no rows": (np.zeros((0, 3)), "0 sample"),
    "no columns": (np.zeros((3, 0)), "0 feature"),
    "infinite": (np.array([[1.0, np.inf]]), "infinity"),
    "all zero": (np.zeros((4, 3)), "X is all zeros"),
    "sparse": (csr_array(np.eye(3)), "[Ss]parse"),
    "strings": (np.array([["a", "b"]]), "could not convert"),
    "complex": (np.array([[1j, 2]]), "Complex data"),
}


@pytest.mark.parametrize(("X", "message"), BAD_DATA.values(), ids=BAD_DATA)
@pytest.mark.parametrize("method", ["fit", "partial_fit", "fit_transform"])
def test_bad_data_is_refused_and_the_earlier_fit_is_intact(samples, X, message, method):
    with pytest.raises((ValueError, TypeError), match=message):
        getattr(learner(), method)(X)
    model = learner().fit(samples)
    before = dict(vars(model))
    with pytest.raises((ValueError, TypeError)):
        getattr(model, method)(X)
    assert vars(model) == before


BAD_PARAMETERS = [
    ({"alpha": -1}, "'alpha'"),
    ({"alpha": "much"}, "'alpha'"),
    ({"alpha": np.nan}, "'alpha'"),
    ({"n_components": 0}, "'n_components'"),
    ({"n_components": 2.5}, "'n_components'"),
    ({"batch_size": 0}, "'batch_size'"),
    ({"max_iter": 0}, "'max_iter'"),
    ({"tol": -1e-3}, "'tol'"),
    ({"forgetting": -1}, "'forgetting'"),
    ({"init": "pca"}, "'init'"),
    ({"init": np.eye(3)}, "init has shape"),
    ({"init": np.zeros((16, 20))}, "init has an atom of all zeros"),
    ({"init": np.full((16, 20), np.nan)}, "init contains NaN"),
    ({"positive": "yes"}, "'positive'"),
    ({"random_state": "seed"}, "'random_state'"),
]


@pytest.mark.parametrize(("changes", "message"), BAD_PARAMETERS)
def test_bad_parameters_are_named(samples, changes, message):
    with pytest.raises((ValueError, TypeError), match=message):
        learner(**changes).fit(samples)


def test_parameters_set_after_a_fit_are_checked_too(samples):
    model = learner().fit(samples)
    atoms = model.components_
    model.set_params(alpha=-1)
    for method in ("partial_fit", "transform", "score"):
        with pytest.raises(ValueError, match="'alpha'"):
            getattr(model, method)(samples)
    assert model.components_ is atoms


@pytest.mark.parametrize("scale", [1e-60, 1e60, 1e140])
def test_the_unit_of_the_data_does_not_matter(samples, scale):
    model = learner(alpha=0.3 * scale, init=np.eye(20)[:16], max_iter=5)
    expected = learner(init=np.eye(20)[:16], max_iter=5).fit(samples).components_
    assert_allclose(model.fit(samples * scale).components_, expected, atol=1e-6)


def test_data_beyond_the_range_of_squares_are_refused(samples):
    with pytest.raises(ValueError, match=r"X has values up to .* scale it down"):
        learner().fit(1e160 * samples)


def test_warm_start_refuses_features_of_other_names(samples):
    frame = pandas.DataFrame(samples).add_prefix("x")
    model = learner(warm_start=True).fit(frame)
    with pytest.raises(ValueError, match="feature names should match"):
        model.fit(frame[frame.columns[::-1]])


def test_bad_weights_are_refused(samples):
    for weights, message in (
        (-np.ones(300), "[Nn]egative"),
        (np.ones(3), "shape"),
        (np.zeros(300), "zero"),
    ):
        with pytest.raises(ValueError, match=message):
            learner().fit(samples, sample_weight=weights)


def test_warm_start_refuses_another_number_of_atoms_or_features(samples):
    model = learner(warm_start=True).fit(samples)
    with pytest.raises(ValueError, match=r"X has 4 features, but .* expecting 20"):
        model.fit(samples[:, :4])
    with pytest.raises(ValueError, match="n_components=3, but 16 atoms"):
        model.set_params(n_components=3).fit(samples)


def test_constant_samples_are_explained_by_one_atom():
    X = np.full((30, 4), 2.0)
    model = VariationalBasisLearner(alpha=0.1, random_state=0).fit(X)
    assert np.abs(model.components_ @ np.full(4, 0.5)).max() == pytest.approx(1)
    assert_allclose(model.inverse_transform(model.transform(X)), X, atol=0.06)


def test_integers_and_numbers_in_object_arrays_are_taken(samples):
    X = np.round(samples * 10).astype(int)
    model = learner(alpha=2).fit(X)
    assert model.components_.dtype == np.float64
    assert_array_equal(model.components_, learner(alpha=2).fit(X.astype(object)).components_)


def test_codes_for_inverse_transform_must_fit_the_atoms(samples):
    with pytest.raises(ValueError, match="X has 3 columns, but there are 16 atoms"):
        learner().fit(samples).inverse_transform(np.ones((2, 3)))


def test_an_estimator_that_is_not_fitted_says_so(samples):
    for method in ("transform", "inverse_transform", "score"):
        with pytest.raises(NotFittedError):
            getattr(learner(), method)(samples)
