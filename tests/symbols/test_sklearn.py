"""WTASymbolEncoder among scikit-learn's tools."""

import importlib
import pickle
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy

import joblib
import numpy as np
import pandas
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.callback import ProgressBar, ScoringMonitor
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from skatoms import WTASymbolEncoder
from skatoms.datasets import make_entangled_factors, make_linear_tasks

pytestmark = pytest.mark.filterwarnings("ignore:y is one task|The tasks depend|Symbols lose")
SMALL = {"hidden_layer_sizes": (16,), "max_iter": 20, "max_restarts": 1}


@parametrize_with_checks(
    [
        WTASymbolEncoder(max_iter=20),
        WTASymbolEncoder((3, 2), **SMALL),
        WTASymbolEncoder((4,), init="random", merge_equivalent=True, n_jobs=2, **SMALL),
    ]
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.mark.slow
def test_scikit_learn_conventions_with_default_settings():
    check_estimator(WTASymbolEncoder(), on_skip=None)


@pytest.fixture(scope="module")
def data():
    rows = make_entangled_factors(1000, n_factors=2, n_categories=4, n_features=16, random_state=0)
    return rows.data, make_linear_tasks(rows.factors, 20, random_state=0).target


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


def encoder(**changes):
    settings = {"hidden_layer_sizes": (32,), "max_restarts": 1, "random_state": 0}
    return WTASymbolEncoder(**(settings | changes))


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_feature_names_and_data_frames(data, kind):
    library = importlib.import_module(kind)
    X, y = data
    frame = library.DataFrame({f"pixel{k}": column for k, column in enumerate(X.T)})
    model = encoder().set_output(transform=kind).fit(frame, y)
    codes = model.transform(frame)
    assert isinstance(codes, library.DataFrame)
    names = [f"symbol{head}={unit}" for head in range(2) for unit in range(4)]
    assert list(codes.columns) == list(model.get_feature_names_out()) == names
    assert list(model.feature_names_in_) == list(frame.columns)
    assert_array_equal(clone(model).fit(X, y).symbols(X), model.symbols(frame))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sparse_output", [False, True])
def test_codes_have_the_type_of_samples(data, dtype, sparse_output):
    X, y = data
    model = encoder(sparse_output=sparse_output).fit(X, y)
    codes = model.transform(X.astype(dtype))
    assert codes.dtype == dtype
    assert isinstance(codes, csr_array if sparse_output else np.ndarray)
    dense = codes.toarray() if sparse_output else codes
    symbols = model.symbols(X)
    assert_array_equal(dense, np.hstack([np.eye(4)[head] for head in symbols.T]))
    assert_allclose(model.usage_, dense.mean(axis=0), rtol=1e-5)


def test_pickles_and_clones(data, tmp_path):
    X, y = data
    model = encoder().fit(X, y)
    joblib.dump(model, tmp_path / "model.joblib")
    for copy in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model.joblib")):
        assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
        before = model.predict_proba(X)
        copy.partial_fit(X, y)
        assert not np.array_equal(copy.predict_proba(X), before)
        assert_array_equal(model.predict_proba(X), before)
    assert_array_equal(clone(model).fit(X, y).task_weights_, model.task_weights_)


def test_a_copy_learns_as_the_original_would_have(data):
    X, y = data
    model = encoder(max_iter=3).fit(X, y)
    copies = [pickle.loads(pickle.dumps(model)), deepcopy(model)]
    model.partial_fit(X, y)
    for copy in copies:
        copy.partial_fit(X, y)
        assert_array_equal(copy.predict_proba(X), model.predict_proba(X))


def test_seeds_reproduce_and_differ(data):
    X, y = data
    settings = {"max_iter": 2, "init": "random", "head_sizes": (3, 3)}
    one, same, other = (
        encoder(random_state=seed, **settings).fit(X, y)
        for seed in (1, np.random.RandomState(1), 2)
    )
    assert_array_equal(one.task_weights_, same.task_weights_)
    assert not np.array_equal(one.task_weights_, other.task_weights_)


def test_the_order_of_samples_does_not_matter(data):
    X, y = data
    order = np.random.default_rng(0).permutation(len(X))
    one, other = encoder().fit(X, y), encoder().fit(X[order], y[order])
    assert_array_equal(one.symbols(X), other.symbols(X))
    assert_allclose(one.task_weights_, other.task_weights_, atol=1e-6)


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_a_weight_is_as_many_repetitions(data, noise):
    X, y = data
    X = X + noise * np.random.default_rng(1).standard_normal(X.shape)
    times = np.random.default_rng(0).integers(4, size=len(X))
    weighted = encoder(max_iter=5).fit(X, y, sample_weight=times)
    repeated = encoder(max_iter=5).fit(np.repeat(X, times, axis=0), np.repeat(y, times, axis=0))
    assert_array_equal(weighted.symbols(X), repeated.symbols(X))
    assert_allclose(weighted.task_weights_, repeated.task_weights_, atol=1e-6)
    assert_allclose(weighted.usage_, repeated.usage_)


def test_samples_without_weight_are_not_learned_from(data):
    X, y = data
    weights = (np.arange(len(X)) % 2).astype(float)
    wrong = np.where(weights[:, None] > 0, y, 1 - y)
    model = encoder().fit(X, wrong, sample_weight=weights)
    assert np.abs(model.predict_proba(X) - y).mean() < 1e-6
    with pytest.raises(ValueError, match="at least one non-zero"):
        encoder().fit(X, y, sample_weight=np.zeros(len(X)))
    with pytest.raises(ValueError, match="Negative values in data"):
        encoder().fit(X, y, sample_weight=-weights)


def test_the_scale_of_small_weights_does_not_matter(data):
    X, y = data
    one, other = (encoder().fit(X, y, sample_weight=np.full(len(X), w)) for w in (1e-6, 1e-3))
    assert_array_equal(one.symbols(X), other.symbols(X))


def test_symbols_feed_a_classifier_in_a_pipeline(wine):
    X, y = wine
    pipe = make_pipeline(encoder(), DecisionTreeClassifier(max_depth=2, random_state=0))
    grid = {"wtasymbolencoder__head_sizes": [(2,), (3,)]}
    search = GridSearchCV(pipe, grid, cv=3, error_score="raise")
    search.fit(X, y)
    assert search.best_params_ == {"wtasymbolencoder__head_sizes": (3,)}
    assert search.best_score_ > 0.9


def test_cross_validation_gives_the_same_with_processes_and_threads(wine):
    X, y = wine
    settings = {"head_sizes": (3,), "init": "random", "n_jobs": 2}
    expected = cross_val_score(encoder(**settings), X, y, cv=2)
    for backend in ("loky", "threading"):
        with joblib.parallel_config(backend=backend):
            scores = cross_val_score(encoder(**settings), X, y, cv=2, n_jobs=2)
        assert_array_equal(scores, expected)


def test_fits_in_concurrent_threads_do_not_disturb_each_other(data):
    X, y = data
    settings = {"max_iter": 3, "init": "random", "head_sizes": (4, 4), "n_jobs": 2}
    fit = lambda seed: encoder(random_state=seed, **settings).fit(X, y).task_weights_  # noqa: E731
    expected = [fit(seed) for seed in range(3)]
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(fit, range(3)))
    for one, other in zip(found, expected, strict=True):
        assert_array_equal(one, other)


def test_read_only_memory_maps_are_taken(data, tmp_path):
    X, y = data
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    model = encoder(max_iter=2).fit(mapped, y)
    assert_array_equal(model.symbols(mapped), encoder(max_iter=2).fit(X, y).symbols(X))
    model.partial_fit(mapped, y)


def test_sample_weight_is_routed(data):
    X, y = data
    weights = np.random.default_rng(0).integers(3, size=len(X))
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_pipeline(encoder(max_iter=2).set_fit_request(sample_weight=True))
        pipe.fit(X, y, sample_weight=weights)
    alone = encoder(max_iter=2).fit(X, y, sample_weight=weights)
    assert_array_equal(pipe[0].task_weights_, alone.task_weights_)


# Callbacks


class Recorder:
    """Notes the names of tasks as they end; asks to stop after so many epochs."""

    def __init__(self, most=np.inf):
        self.ended, self.most, self.epochs = [], most, 0

    def setup(self, estimator, context): ...

    def teardown(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context): ...

    def on_fit_task_end(self, estimator, context):
        self.ended.append(context.task_name)
        self.epochs += context.task_name == "epoch"
        return context.task_name == "epoch" and self.epochs >= self.most


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_each_network_and_each_epoch_is_a_task(data, n_jobs):
    recorder = Recorder()
    model = encoder(init="random", head_sizes=(4, 4), max_iter=2, max_restarts=3, n_jobs=n_jobs)
    model.set_callbacks(recorder).fit(*data)
    networks = [start["start"] for start in model.history_]
    assert [name for name in recorder.ended if name not in ("epoch", "fit")] == networks
    assert recorder.ended.count("fit") == 1
    assert recorder.epochs == sum(len(start["losses"]) - 1 for start in model.history_)


def test_a_callback_can_end_training(data):
    model = encoder().set_callbacks(Recorder(most=2)).fit(*data)
    assert [len(start["losses"]) for start in model.history_][:2] == [3, 2]
    assert model.predict(data[0]).shape == data[1].shape


def test_progress_is_shown(data, capsys):
    encoder().set_callbacks(ProgressBar()).fit(*data)
    shown = capsys.readouterr().out
    assert "WTASymbolEncoder - fit" in shown
    assert "moments" in shown


def test_scores_are_monitored_epoch_by_epoch(data):
    X, y = data
    monitor = ScoringMonitor(scoring=lambda model, X, y: {"score": model.score(X, y)})
    model = encoder().set_callbacks(monitor).fit(X, y)
    log = [entry for entry in monitor.get_logs().data if entry["task_name"] == "epoch"]
    assert len(log) == len(model.history_[1]["losses"]) - 1
    assert max(entry["score"] for entry in log) == pytest.approx(model.score(X, y), abs=1e-6)


def test_callbacks_change_nothing(data):
    X, y = data
    monitor = ScoringMonitor(scoring=lambda model, X, y: {"score": model.score(X, y)})
    settings = {"init": "random", "head_sizes": (5, 5), "max_iter": 8}
    watched = encoder(**settings).set_callbacks(monitor).fit(X, y)
    alone = encoder(**settings).fit(X, y)
    assert_array_equal(watched.task_weights_, alone.task_weights_)


# What goes wrong


@pytest.mark.parametrize("bad", ["NaN", "y", "settings", "interrupt"])
def test_a_fit_that_fails_leaves_the_one_before(data, bad):
    X, y = data
    frame = pandas.DataFrame(X).add_prefix("pixel")
    model = encoder().fit(frame, y)
    before = {name: value for name, value in vars(model).items() if name.endswith("_")}
    predicted = model.predict_proba(frame)
    other = pandas.DataFrame(X[:, :5]).add_prefix("other")
    if bad == "interrupt":

        def interrupt(model, X, y):
            raise KeyboardInterrupt

        model.set_callbacks(ScoringMonitor(scoring=interrupt))
        with pytest.raises(KeyboardInterrupt):
            model.fit(other, y)
        model.set_callbacks()
    else:
        changed = {"NaN": (other * np.nan, y), "y": (other, y + 1), "settings": (other, y)}[bad]
        with pytest.raises(ValueError, match=r"NaN|probabilities|head_sizes"):
            model.set_params(head_sizes=(1,) if bad == "settings" else "auto").fit(*changed)
    assert {name: value for name, value in vars(model).items() if name.endswith("_")} == before
    assert_array_equal(model.predict_proba(frame), predicted)
