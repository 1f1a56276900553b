"""Boosters of LightGBM and XGBoost are pruned and stay what they are, with proven answers."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from native_boosters import KINDS, own_answers, table, trained, two
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from strategies import rows_of_cells
from threadpoolctl import threadpool_limits

from ensemble_simplify import Domain, FaithfulPruner, verify
from ensemble_simplify.faithful_pruning._promise import Demands, Everywhere, NearRows, Votes
from ensemble_simplify.grid.axes import Axes
from ensemble_simplify.reading import Model
from ensemble_simplify.reading.forest import read_forest
from ensemble_simplify.writing import reweighted

CLASSIFIERS = [kind for kind in KINDS if KINDS[kind][2]]


@pytest.fixture(autouse=True)
def _one_thread():
    with threadpool_limits(1):
        yield


def _wrapper(package, name, **options):
    def make():
        return getattr(pytest.importorskip(package), name)(n_jobs=1, **options)

    return make


_LGBM = {"num_leaves": 4, "min_child_samples": 5, "verbose": -1}
WRAPPERS = {
    "XGBClassifier": _wrapper("xgboost", "XGBClassifier", n_estimators=8, max_depth=2),
    "dart": _wrapper("xgboost", "XGBClassifier", n_estimators=8, max_depth=2, booster="dart"),
    "XGBRFClassifier": _wrapper("xgboost", "XGBRFClassifier", n_estimators=8, max_depth=2),
    "LGBMClassifier": _wrapper("lightgbm", "LGBMClassifier", n_estimators=8, **_LGBM),
    "forest": _wrapper(
        "lightgbm",
        "LGBMClassifier",
        n_estimators=8,
        boosting_type="rf",
        subsample=0.5,
        subsample_freq=1,
        **_LGBM,
    ),
}


def near(forest, X, max_changes, n, seed=0):
    """Rows that differ from some row in a few features, by values beside cut points or gaps."""
    rng = np.random.default_rng(seed)
    rows = X[rng.integers(len(X), size=n)].astype(np.float32)
    split = np.unique(forest.feature[forest.feature >= 0])
    may_miss = np.isnan(X).any(axis=0)
    cuts = [forest.threshold[forest.feature == j].astype(np.float32) for j in split]
    chosen = rng.random((n, len(split))).argsort(axis=1)[:, :max_changes]
    for k, j in enumerate(split):
        at = np.flatnonzero((chosen == k).any(axis=1))
        cut = rng.choice(cuts[k], len(at))
        ends = np.stack([np.full_like(cut, -np.inf), cut, np.full_like(cut, np.inf)])
        rows[at, j] = np.nextafter(cut, ends[rng.integers(3, size=len(at)), np.arange(len(at))])
        rows[at[may_miss[j] & (rng.random(len(at)) < 0.1)], j] = np.nan
    return rows.astype(np.float64)


@pytest.mark.parametrize("max_changes", [0, 1, 2])
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_native_boosters(kind, max_changes):
    booster, X, y = trained(kind)
    X, y = X[::4], y[::4]
    classes_of = KINDS[kind][-1]
    pruner = FaithfulPruner(
        booster, max_changes=max_changes, method="heuristic", random_state=0
    ).fit(X, y)
    rows = near(read_forest(booster), X, max_changes, 2000)
    assert type(pruner.pruned_estimator_) is type(booster)
    truth = classes_of(own_answers(booster, rows))
    np.testing.assert_array_equal(classes_of(own_answers(pruner.pruned_estimator_, rows)), truth)
    np.testing.assert_array_equal(pruner.predict(rows), truth)
    assert pruner.covers(rows).all()
    assert pruner.verify()
    assert verify(booster, pruner.pruned_estimator_, X=X, max_changes=max_changes)
    assert pruner.get_depth() <= 3
    if max_changes == 0 and kind != "xgboost start":  # of which all trees are needed
        assert pruner.n_trees_ < Model.of(booster).forest.n_trees


@pytest.mark.parametrize(
    "kind",
    [
        "xgboost logistic",
        "xgboost probabilities",
        "xgboost dart",
        "lightgbm multiclass",
        "lightgbm forest",
    ],
)
def test_everywhere_is_every_cell(kind):
    booster, X, y = trained(kind, n_trees=4, **_stumps(kind))
    X = np.nan_to_num(X)
    classes_of = KINDS[kind][-1]
    pruner = FaithfulPruner(booster, random_state=0).fit(X, y)
    forest = read_forest(booster)
    cuts = [np.unique(forest.threshold[forest.feature == j]) for j in range(3)]
    rows = rows_of_cells(cuts)
    truth = classes_of(own_answers(booster, rows))
    pruned = pruner.pruned_estimator_
    np.testing.assert_array_equal(classes_of(own_answers(pruned, rows)), truth)
    assert pruner.n_trees_ < forest.n_trees


@pytest.mark.parametrize("kind", ["xgboost logistic", "xgboost probabilities"])
def test_sums_of_float32_are_proven_in_their_own_arithmetic(kind, monkeypatch):
    """Leads in sums of float64 say nothing of them: not one point is known here beforehand."""
    booster, X, _ = trained(kind)
    whole = read_forest(booster)
    axes = Axes.of(whole)
    monkeypatch.setattr(NearRows, "refuted", lambda self, *_: Demands.none(whole.n_trees))
    promise = Everywhere(Votes(whole), axes, None, axes.encode_rows(np.nan_to_num(X[:1])).T)
    weights = np.ones(whole.n_trees)
    same = read_forest(reweighted(booster, weights))
    assert not len(promise.refuted(same))
    weights[0] = 0.0
    other = read_forest(reweighted(booster, weights))
    broken = promise.refuted(other)
    assert len(broken)
    # the point found is one at which the other's answer does not lead in the whole
    assert broken.leads.sum(axis=1).min() >= -promise.slack


def _stumps(kind):
    return {"max_depth": 1} if "xgboost" in kind else {"num_leaves": 2}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", WRAPPERS)
def test_wrappers(name, n_classes):
    X, y = table(n_classes, n_rows=80)
    model = WRAPPERS[name]()
    labels = y if "xgboost" in type(model).__module__ else np.array(["a", "b", "c"])[y]
    model.fit(X, labels)
    rows = near(read_forest(model), X, 1, 2000)
    truth, odds = model.predict(rows), model.predict_proba(rows)
    pruner = FaithfulPruner(FrozenEstimator(model), max_changes=1, method="heuristic")
    pruner.fit(X, labels)
    pruned = pruner.pruned_estimator_
    assert type(pruned) is type(model)
    assert pruned is not model
    np.testing.assert_array_equal(pruned.predict(rows), truth)
    np.testing.assert_array_equal(model.predict_proba(rows), odds)
    assert pruner.verify()
    again = pickle.loads(pickle.dumps(pruner))
    np.testing.assert_array_equal(again.predict(rows), truth)
    np.testing.assert_array_equal(pruner.predict_proba(rows), pruned.predict_proba(rows))


def test_unfitted_wrappers_are_fitted():
    X, y = table(n_rows=80)
    for name in ("XGBClassifier", "LGBMClassifier"):
        pruner = FaithfulPruner(WRAPPERS[name](), max_changes=0, random_state=0).fit(X, y)
        np.testing.assert_array_equal(pruner.predict(X), pruner.estimator_.predict(X))
        assert pruner.verify()
        assert clone(pruner).fit(X, y).n_trees_ == pruner.n_trees_


@pytest.mark.parametrize("kind", ["xgboost probabilities", "lightgbm multiclass"])
def test_the_path(kind):
    booster, X, y = trained(kind)
    X, y = X[::4], y[::4]
    pruner = FaithfulPruner(booster, max_changes=1, random_state=0, validation_fraction=0.2)
    pruner.fit(X, y)
    few = pruner.at(n_trees=int(pruner.path_.n_trees[1]))
    assert few.n_trees_ < pruner.n_trees_
    assert few.n_exceptions_ > 0
    found = verify(booster, few.pruned_estimator_, X=X, max_changes=1)
    assert not found.equal
    assert type(few.pruned_estimator_) is type(booster)
    loose = clone(pruner).set_params(tolerance=0.05).fit(X, y)
    assert loose.n_trees_ <= pruner.n_trees_
    assert loose.n_exceptions_ <= 0.05 * loose.n_points_
    np.testing.assert_array_equal(
        loose.predict(X), KINDS[kind][-1](own_answers(loose.pruned_estimator_, X))
    )


def test_a_domain():
    booster, X, y = trained("lightgbm binary")
    inside = Domain(bounds={0: (-1.0, 1.0)}, missing=[])
    keep = (np.abs(X[:, 0]) <= 1) & ~np.isnan(X).any(axis=1)
    pruner = FaithfulPruner(booster, max_changes=0, domain=inside).fit(X[keep], y[keep])
    truth = two(own_answers(booster, X[keep]))
    np.testing.assert_array_equal(pruner.predict(X[keep]), truth)


_RELOAD = """
import sys
import lightgbm
import numpy as np
import xgboost
for file in sys.argv[1:]:
    name = file.partition(".")[0]
    rows = np.load(name + ".rows.npy")
    if file.endswith(".ubj"):
        model = xgboost.XGBClassifier()
        model.load_model(file)
        found = model.predict(rows)
    else:
        found = (lightgbm.Booster(model_file=file).predict(rows) > 0.5).astype(int)
    np.save(name + ".answers.npy", found)
"""


def test_saved_and_loaded_in_a_fresh_process(tmp_path):
    X, y = table(n_rows=80)
    answers, files = {}, []
    for name in ("XGBClassifier", "dart", "LGBMClassifier", "forest"):
        model = WRAPPERS[name]().fit(X, y)
        pruner = FaithfulPruner(FrozenEstimator(model), max_changes=1, method="heuristic")
        rows = near(read_forest(model), X, 1, 2000)
        np.save(tmp_path / f"{name}.rows.npy", rows)
        answers[name] = model.predict(rows)
        own = pruner.fit(X, y).pruned_estimator_
        is_xgboost = "xgboost" in type(model).__module__
        files.append(f"{name}.{'ubj' if is_xgboost else 'txt'}")
        (own if is_xgboost else own.booster_).save_model(tmp_path / files[-1])
    subprocess.run([sys.executable, "-c", _RELOAD, *files], check=True, cwd=tmp_path)
    for name, expected in answers.items():
        np.testing.assert_array_equal(np.load(tmp_path / f"{name}.answers.npy"), expected)


def test_names_with_spaces_are_those_of_the_table():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pandas.DataFrame({"a b": rng.normal(size=200), "c d": rng.integers(3, size=200)})
    X["of text"] = pandas.Categorical(rng.choice(["x", "y"], 200))
    y = (X["a b"] + (X["of text"] == "x") > 0).astype(int)
    # it keeps a_b and c_d
    model = WRAPPERS["LGBMClassifier"]().fit(X, y)
    pruner = FaithfulPruner(FrozenEstimator(model), max_changes=0).fit(X, y)
    assert pruner.verify()
    assert verify(model, pruner, X=X, max_changes=0)
    with pytest.raises(ValueError, match=r"column 'c' where Faithful.* fitted on 'c d'"):
        verify(pruner, model, X=X.rename(columns={"c d": "c"}), max_changes=0)
