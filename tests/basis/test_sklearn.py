"""VariationalBasisLearner among scikit-learn's tools: checks, pipelines, searches, callbacks."""

import importlib
import pickle
import subprocess
import sys
import threading

import joblib
import numpy as np
import pandas
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.callback import ProgressBar, ScoringMonitor
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from skatoms import VariationalBasisLearner
from skatoms.basis import (
    Coherence,
    GraphLaplacian,
    LinearAdmissible,
    MaxCoherence,
    Separable,
    Smoothness,
    Temporal,
)
from skatoms.coding import GroupL1, TopK

pytestmark = pytest.mark.filterwarnings("ignore:The objective still fell")


def small(**settings):
    return VariationalBasisLearner(4, alpha=0.2, max_iter=20, random_state=0, **settings)


def zero_mean(n_features):
    return np.ones((1, n_features))


ESTIMATORS = [
    VariationalBasisLearner(),
    VariationalBasisLearner(5, alpha=0.1, positive=True, batch_size=7),
    VariationalBasisLearner(alpha=0.0, n_jobs=2),
    small(penalty="elastic_net"),
    small(penalty="ridge"),
    small(penalty="l0"),
    small(penalty=TopK(1)),
    small(penalty=GroupL1(2, l1_ratio=0.2)),
    small(coupling=Temporal(0.01)),
    small(coupling=GraphLaplacian(weight=0.01)),
    small(regularizer="energy", constraint="unit_ball"),
    small(regularizer=Smoothness(1)),
    small(regularizer="tv", constraint="non_negative"),
    small(regularizer="l1", regularizer_weight=0.1),
    small(regularizer="orthogonal"),
    small(regularizer=Coherence(0.3)),
    small(constraint=MaxCoherence(0.9)),
    small(constraint=Separable(1), feature_shape=(1, -1)),
    small(constraint=LinearAdmissible(zero_mean)),
]


def expected_failures(estimator):
    if not isinstance(estimator.coupling, Temporal):
        return {}
    return {
        "check_sample_weight_equivalence_on_dense_data": "repeated and shuffled rows are another "
        "sequence in time"
    }


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:300] / 16, y[:300]


def learner(**changes):
    settings = {"n_components": 12, "alpha": 0.3, "max_iter": 5, "random_state": 0}
    return VariationalBasisLearner(**(settings | changes))


def test_feature_names_and_data_frames(digits):
    X = digits[0]
    for kind, library in (("pandas", "pandas"), ("polars", "polars")):
        frames = importlib.import_module(library)
        frame = frames.DataFrame(X, [f"pixel{i}" for i in range(64)] if kind == "polars" else None)
        frame.columns = [f"pixel{i}" for i in range(64)]
        model = learner().set_output(transform=kind).fit(frame)
        codes = model.transform(frame)
        assert isinstance(codes, frames.DataFrame)
        assert list(codes.columns) == [f"variationalbasislearner{i}" for i in range(12)]
        assert_array_equal(model.get_feature_names_out(), list(codes.columns))
        assert list(model.feature_names_in_) == list(frame.columns)


def test_a_failed_fit_leaves_feature_names_alone(digits):
    frame = pandas.DataFrame(digits[0]).add_prefix("pixel")
    model = learner().fit(frame)
    with pytest.raises(ValueError, match="infinity"):
        model.fit(np.full((3, 2), np.inf))
    assert list(model.feature_names_in_) == list(frame.columns)
    assert model.n_features_in_ == 64


def test_pickles_and_clones(digits, tmp_path):
    X = digits[0]
    model = learner().fit(X)
    joblib.dump(model, tmp_path / "model.joblib")
    for copy in (
        pickle.loads(pickle.dumps(model)),
        joblib.load(tmp_path / "model.joblib"),
    ):
        assert_array_equal(copy.transform(X), model.transform(X))
        copy.partial_fit(X)
    assert_array_equal(clone(model).fit(X).components_, model.components_)


def test_sample_weight_is_routed(digits):
    X, y = digits
    weights = np.random.default_rng(0).uniform(size=len(X))
    with sklearn.config_context(enable_metadata_routing=True):
        model = learner().set_fit_request(sample_weight=True)
        pipe = make_pipeline(model, LogisticRegression().set_fit_request(sample_weight=False))
        pipe.fit(X, y, sample_weight=weights)
    alone = learner().fit(X, sample_weight=weights)
    assert_array_equal(pipe[0].components_, alone.components_)
    assert not np.allclose(alone.components_, learner().fit(X).components_)


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_grid_search_gives_the_same_with_every_backend(digits, backend):
    X, y = digits
    pipe = make_pipeline(learner(n_jobs=2), LogisticRegression(max_iter=500))
    grid = {"variationalbasislearner__alpha": [0.1, 0.5]}
    with joblib.parallel_config(backend=backend):
        parallel = GridSearchCV(pipe, grid, cv=2, n_jobs=2, error_score="raise").fit(X, y)
    serial = GridSearchCV(pipe, grid, cv=2, error_score="raise").fit(X, y)
    assert_array_equal(
        parallel.cv_results_["mean_test_score"], serial.cv_results_["mean_test_score"]
    )


def test_fits_in_concurrent_threads_do_not_disturb_each_other(digits):
    X = digits[0]
    expected = [learner(random_state=seed).fit(X).components_ for seed in range(4)]
    found = [None] * 4

    def fit(seed):
        found[seed] = learner(random_state=seed, n_jobs=2).fit(X).components_

    threads = [threading.Thread(target=fit, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert_array_equal(found, expected)


FORK = """
import os
import numpy as np
from skatoms import VariationalBasisLearner

X = np.random.default_rng(0).standard_normal((400, 8))
fit = lambda: VariationalBasisLearner(6, 0.5, max_iter=3, tol=1, n_jobs=2, random_state=0).fit(X)
atoms = fit().components_
child = os.fork()
if child == 0:
    os._exit(0 if np.array_equal(fit().components_, atoms) else 1)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 0
assert np.array_equal(fit().components_, atoms)
"""


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="this system has no fork")
def test_fits_after_a_fork():
    subprocess.run([sys.executable, "-c", FORK], check=True, timeout=120)


def test_read_only_memory_maps_are_taken(digits, tmp_path):
    X = digits[0]
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    model = learner().fit(mapped)
    assert_array_equal(model.components_, learner().fit(X).components_)
    assert_array_equal(model.transform(mapped), model.transform(X))
    assert_allclose(model.score(mapped), model.score(X))
    model.partial_fit(mapped)


def test_progress_is_shown(digits, capsys):
    learner(tol=0).set_callbacks(ProgressBar()).fit(digits[0])
    shown = capsys.readouterr().out
    assert "VariationalBasisLearner - fit" in shown
    assert "100%" in shown


def test_scores_are_monitored_pass_by_pass(digits):
    X = digits[0]
    monitor = ScoringMonitor(scoring=lambda model, X, y: {"score": model.score(X)})
    model = learner(tol=0).set_callbacks(monitor).fit(X)
    log = [entry for entry in monitor.get_logs().data if entry["task_name"] == "pass"]
    scores = [entry["score"] for entry in log]
    assert len(scores) == model.n_iter_ == 5
    assert np.all(np.diff(scores) > 0)
    assert scores[-1] == pytest.approx(model.score(X))


def test_a_callback_can_end_the_fit(digits):
    class StopAtSecond:
        def setup(self, estimator, context): ...

        def teardown(self, estimator, context): ...

        def on_fit_task_begin(self, estimator, context): ...

        def on_fit_task_end(self, estimator, context):
            return context.task_name == "pass" and context.task_id == 1

    assert learner(tol=0).set_callbacks(StopAtSecond()).fit(digits[0]).n_iter_ == 2
