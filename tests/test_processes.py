"""Estimators among other things that run: Ctrl-C, other processes, several threads, copies."""

import copy
import os
import pickle
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from estimators import ESTIMATORS
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

import ensemble_simplify
from ensemble_simplify import (
    BornAgainClassifier,
    FeatureBudgetPruner,
    InterpretableSingleModel,
    agreement,
    merge_trees,
    nearest_flip,
    verify,
)

pytestmark = pytest.mark.usefixtures("few_votes")
HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="module")
def data():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:200, :6], y[:200]


@pytest.fixture(scope="module")
def fitted(data):
    return {name: clone(estimator).fit(*data) for name, estimator in ESTIMATORS.items()}


def environment(**variables):
    paths = [str(HERE.parent), str(HERE), *sys.path]
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))} | variables


# Ctrl-C


def test_ctrl_c_ends_every_fit_and_leaves_the_estimator_as_it_was():
    """All of them end within a second of work, counted by the processor's clock."""
    run = subprocess.run(
        [sys.executable, str(HERE / "interrupted.py")],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    outcomes = {line.split()[0]: line.split()[1:] for line in run.stdout.splitlines()}
    assert len(outcomes) == 12
    for name, (seconds, *state) in outcomes.items():
        expected = ["interrupted"]
        if name not in ("estimate", "merge_trees", "verify"):
            expected += ["unfitted", "usable"]
        assert state == expected, name
        assert float(seconds) < 10, name


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_a_fit_that_fails_changes_nothing(name, fitted, data):
    X, y = data
    again = copy.deepcopy(fitted[name])
    before = again.predict(X)
    with pytest.raises(ValueError, match="infinity"):
        again.fit(np.full_like(X[:, :3], np.inf), y)
    check_is_fitted(again)
    assert again.n_features_in_ == X.shape[1]
    np.testing.assert_array_equal(again.predict(X), before)
    new = clone(again)
    with pytest.raises(ValueError, match="infinity"):
        new.fit(np.full_like(X[:, :3], np.inf), y)
    assert not [attribute for attribute in vars(new) if attribute.endswith("_")]


# Processes


def test_pickles_are_read_by_another_process(fitted, data, tmp_path):
    """Another interpreter with another hash seed reads pickle and joblib files alike."""
    X, _ = data
    expected = {name: estimator.predict(X) for name, estimator in fitted.items()}
    (tmp_path / "fitted.pickle").write_bytes(pickle.dumps((fitted, X, expected)))
    joblib.dump(fitted, tmp_path / "fitted.joblib", compress=3)
    code = (
        "import pickle, sys, joblib, numpy as np\n"
        "with open('fitted.pickle', 'rb') as file: fitted, X, expected = pickle.load(file)\n"
        "again = joblib.load('fitted.joblib')\n"
        "for name in fitted:\n"
        "    for estimator in (fitted[name], again[name]):\n"
        "        assert np.array_equal(estimator.predict(X), expected[name]), name\n"
        "        if hasattr(estimator, 'predict_proba'):\n"
        "            estimator.predict_proba(X)\n"
        "assert fitted['BornAgainClassifier'].verify().equal\n"
        "pruner = again['FeatureBudgetPruner']\n"
        "assert pruner.at(budget='30%').cost_ <= pruner.cost_\n"
        "print(len(fitted), hash('x'))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment(PYTHONHASHSEED=str(hash("x") % 2**32)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    count, found = run.stdout.split()
    assert int(count) == len(ESTIMATORS)
    assert int(found) != hash("x")


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_pickles_of_another_minor_version_are_refused(name, fitted, data, monkeypatch):
    """Fitted ones; what is not fitted holds parameters alone, and patches change nothing."""
    X, _ = data
    estimator, new = fitted[name], clone(fitted[name])
    here = ensemble_simplify.__version__
    for written, is_refused in [("0.3.7", True), ("9.0.0", True), (f"{here[:3]}.99", False)]:
        with monkeypatch.context() as at:
            at.setattr(ensemble_simplify, "__version__", written)
            kept, bare = pickle.dumps(estimator), pickle.dumps(new)
            again = pickle.loads(kept)
        np.testing.assert_array_equal(again.predict(X), estimator.predict(X))
        assert set(vars(pickle.loads(bare))) == set(vars(new))
        if is_refused:
            with pytest.raises(ValueError, match=f"pickled by version {written}.*Fit it again"):
                pickle.loads(kept)
        else:
            assert set(vars(pickle.loads(kept))) == set(vars(estimator))
    # those that were written before pickles had a version
    with pytest.raises(ValueError, match=r"version 0\.3 or before"):
        copy.copy(new).__setstate__(dict(vars(estimator)))


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_copies_and_clones(name, fitted, data):
    X, y = data
    estimator = fitted[name]
    twin = copy.deepcopy(estimator)
    np.testing.assert_array_equal(twin.predict(X), estimator.predict(X))
    bare = clone(estimator)
    assert not [attribute for attribute in vars(bare) if attribute.endswith("_")]
    np.testing.assert_array_equal(bare.fit(X, y).predict(X), estimator.predict(X))
    frozen = clone(FrozenEstimator(estimator))
    np.testing.assert_array_equal(frozen.predict(X), estimator.predict(X))


def test_searches_in_other_processes(data):
    X, y = data
    grids = {
        "BornAgainClassifier": {"estimator__max_depth": [1, 2]},
        "FeatureBudgetPruner": {"budget": ["30%", "60%"]},
    }
    for name, grid in grids.items():
        scores = [
            GridSearchCV(clone(ESTIMATORS[name]), grid, cv=2, n_jobs=n_jobs)
            .fit(X, y)
            .cv_results_["mean_test_score"]
            for n_jobs in (None, 2)
        ]
        np.testing.assert_array_equal(*scores)


@pytest.fixture(scope="module")
def cluster():
    """A local cluster of dask.distributed with two worker processes."""
    distributed = pytest.importorskip("dask.distributed")
    import dask

    workers = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    # where many processes share few processors, workers answer late
    patient = {f"distributed.comm.timeouts.{name}": "300s" for name in ("connect", "tcp")}
    with (
        dask.config.set(patient),
        distributed.LocalCluster(**workers, dashboard_address=None) as local,
        distributed.Client(local) as client,
    ):
        yield client


def n_tasks(cluster):
    """How many tasks each worker has done."""
    return cluster.run(lambda dask_worker: dask_worker.state.executed_count)


def test_blocks_of_rows_on_a_cluster_prove_what_all_rows_prove(cluster, data):
    X, y = data
    X = X.copy()
    X[::40, 0] = np.nan
    forest = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, y)
    rounded = copy.deepcopy(forest)
    for tree in rounded.estimators_:
        tree.tree_.value[...] = tree.tree_.value.round(2)
    # what may be missing is told to all blocks: few of them hold a row that lacks something
    told = {"max_changes": 1, "domain": {"missing": [0]}}
    blocks = np.array_split(X, 7)
    for atol in (0.002, 0.01):
        whole = verify(forest, rounded, X=X, atol=atol, **told)
        tasks = [
            cluster.submit(verify, forest, rounded, X=block, atol=atol, pure=False, **told)
            for block in blocks
        ]
        parts = cluster.gather(tasks)
        assert whole.equal is (atol == 0.01)
        assert all(parts) is bool(whole)
        if whole:
            assert max(part.max_difference for part in parts) == whole.max_difference
            assert max(part.max_difference_bound for part in parts) == whole.max_difference_bound
        else:
            found = next(part for part in parts if not part)
            row = found.counterexample[None]
            apart = forest.predict_proba(row) - rounded.predict_proba(row)
            assert abs(apart).max() > atol
    assert any(n_tasks(cluster).values())


def test_partitions_on_a_cluster_agree_as_all_rows_do(cluster, data):
    X, y = data
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    forest = RandomForestClassifier(5, max_depth=3, random_state=0).fit(frame, y)
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(frame, y)
    parts = pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=5)
    before = n_tasks(cluster)
    for atol in (None, 0.1):
        whole = agreement(forest, tree, frame, atol=atol, volume=False)
        found = agreement(forest, tree, parts, atol=atol)
        assert (found.n_rows, found.n_different) == (len(X), whole.n_different)
        np.testing.assert_array_equal(found.counterexamples, whole.counterexamples)
        np.testing.assert_array_equal(found.differences, whole.differences)
    assert sum(n_tasks(cluster).values()) >= sum(before.values()) + 10


def test_nearest_flips_on_a_cluster_are_those_of_one_process(cluster, data):
    X, y = data
    forest = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, y)
    alone = nearest_flip(forest, X[:30], max_changes=2)
    before = n_tasks(cluster)
    with joblib.parallel_config("dask"):
        flips = nearest_flip(forest, X[:30], max_changes=2)
    assert [flip.changes for flip in flips] == [flip.changes for flip in alone]
    assert [flip.proven for flip in flips] == [flip.proven for flip in alone]
    assert sum(n_tasks(cluster).values()) > sum(before.values())


def test_dantzig_wolfe_on_a_cluster(cluster, data):
    """The trees are priced by the workers."""
    X, y = data
    frozen = FrozenEstimator(RandomForestClassifier(4, max_depth=3, random_state=0).fit(X, y))
    exact = FeatureBudgetPruner(frozen, lam=0.01).fit(X, y)
    before = n_tasks(cluster)
    with joblib.parallel_config("dask"):
        remote = FeatureBudgetPruner(frozen, lam=0.01, solver="dantzig_wolfe").fit(X, y)
    assert remote.error_ + 0.01 * remote.cost_ == pytest.approx(
        exact.error_ + 0.01 * exact.cost_, abs=1e-9
    )
    assert sum(n_tasks(cluster).values()) > sum(before.values())


# Threads


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_fits_in_several_threads(name, fitted, data):
    """Three fits at once, of the same unfitted ensemble object, answer like one."""
    X, y = data
    with ThreadPoolExecutor(3) as pool:
        fits = list(pool.map(lambda _: clone(ESTIMATORS[name]).fit(X, y), range(3)))
    method = "predict_proba" if is_classifier(fitted[name]) else "predict"
    expected = pickle.dumps(getattr(fitted[name], method)(X))
    for estimator in fits:
        assert pickle.dumps(getattr(estimator, method)(X)) == expected


def test_one_fitted_forest_in_several_threads(data):
    X, y = data
    forest = RandomForestClassifier(5, max_depth=2, random_state=0).fit(X, y)
    before = pickle.dumps(forest)
    frozen = FrozenEstimator(forest)
    reborn = BornAgainClassifier(frozen, random_state=0).fit(X, y)
    jobs = {
        "reborn": lambda: BornAgainClassifier(frozen, random_state=0).fit(X, y).n_leaves_,
        "verified": lambda: verify(forest, reborn).equal,
        "merged": lambda: merge_trees([forest]).get_n_leaves(),
        "pruned": lambda: FeatureBudgetPruner(frozen, budget="50%").fit(X, y).error_,
        "single": lambda: InterpretableSingleModel(frozen).fit(X, y).n_leaves_,
        "predicted": lambda: reborn.predict(X).tolist(),
        "shared": lambda: reborn.verify().equal,
    }
    alone = {name: job() for name, job in jobs.items()}
    with ThreadPoolExecutor(4) as pool, warnings.catch_warnings():
        found = {name: [pool.submit(job) for _ in range(4)] for name, job in jobs.items()}
        for name, futures in found.items():
            assert [future.result() for future in futures] == [alone[name]] * 4, name
    assert pickle.dumps(forest) == before
