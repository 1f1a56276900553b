"""CatBoost models with fewer trees under other weights: their own type, exact, and loadable."""

import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ensemble_simplify import FaithfulPruner, verify
from ensemble_simplify.reading import Model
from ensemble_simplify.writing import depth_of, reweighted

catboost = pytest.importorskip("catboost")
pandas = pytest.importorskip("pandas")

Classifier = partial(
    catboost.CatBoostClassifier, verbose=0, allow_writing_files=False, thread_count=1
)
LABELS = [np.array([False, True]), np.array(["ant", "bee"]), np.array(["ant", "bee", "cat"])]


def rows(n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(250, 3)).round(1)
    X[rng.random(X.shape) < 0.1] = np.nan
    score = np.nan_to_num(X[:, 0]) * np.nan_to_num(X[:, 1]) + np.nan_to_num(X[:, 2])
    return X, np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)


def table():
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {
            "c": rng.choice(["red", "green", "blue", "grey"], 250),
            "k": rng.integers(0, 3, 250),
            "b": rng.normal(size=250).round(1),
        }
    )
    y = np.where((frame["c"] == "red") ^ (frame["k"] > 1) ^ (frame["b"] > 0), "yes", "no")
    return frame, y


def raw(model, X, **trees):
    return model.predict(X, prediction_type="RawFormulaVal", **trees)


@pytest.mark.parametrize("policy", ["SymmetricTree", "Lossguide"])
@pytest.mark.parametrize("labels", LABELS, ids=["bool", "text", "three"])
def test_weighted_sums(policy, labels):
    """They are the sums of the scaled leaves to the last bit; all else stays as it was."""
    X, y = rows(len(labels))
    model = Classifier(iterations=9, depth=3, grow_policy=policy).fit(X, labels[y])
    if len(labels) == 2:
        model.set_scale_and_bias(1.0, 0.1)
        model.set_probability_threshold(0.4)
    weights = np.array([1.0, 0.0, 0.37, 1e-3, 0.0, 2.1, 1.0, 0.7, 0.1])
    written = reweighted(model, weights)
    plain, total = model.copy(), 0.0
    if len(labels) == 2:
        plain.set_scale_and_bias(1.0, 0.0)
    for tree, weight in enumerate(weights):
        total = total + weight * raw(plain, X, ntree_start=tree, ntree_end=tree + 1)
    bias = 0.1 if len(labels) == 2 else 0.0
    np.testing.assert_array_equal(raw(written, X), total + bias)
    assert type(written) is catboost.CatBoostClassifier
    assert written.tree_count_ == np.count_nonzero(weights)
    np.testing.assert_array_equal(written.classes_, labels)
    assert depth_of(written) <= depth_of(model)
    if len(labels) == 2:
        assert written.get_probability_threshold() == 0.4
    Model.of(written)


@pytest.mark.parametrize("max_changes", [None, 0])
def test_pruned(max_changes):
    X, y = rows()
    model = Classifier(iterations=20, depth=2, grow_policy="Lossguide").fit(X, y)
    pruner = FaithfulPruner(FrozenEstimator(model), max_changes=max_changes, random_state=0)
    pruner.fit(X, y)
    pruned = pruner.pruned_estimator_
    assert pruner.n_trees_ < 20
    assert pruned.tree_count_ == pruner.n_trees_
    np.testing.assert_array_equal(pruned.predict(X), model.predict(X))
    np.testing.assert_array_equal(pruner.predict(X), model.predict(X))
    assert pruner.verify().equal
    if max_changes is None:
        assert verify(model, pruned).equal


def test_pruned_on_a_table(tmp_path):
    """What is left is read in the codes of the whole, and loaded by a fresh process."""
    frame, y = table()
    options = dict(cat_features=["c", "k"], one_hot_max_size=9)
    model = Classifier(iterations=25, depth=2, **options).fit(frame, y)
    pruner = FaithfulPruner(FrozenEstimator(model), max_changes=0, random_state=0).fit(frame, y)
    assert pruner.n_trees_ < 25
    assert pruner.verify().equal
    answers = pruner.predict(frame)
    np.testing.assert_array_equal(answers, model.predict(frame))
    first = np.zeros(25)
    first[0] = 1.0
    alone = reweighted(model, first)
    # in the codes of the whole model
    forest = Model.of(alone, rows=Model.of(model, rows=frame).table).forest
    codes = Model.of(model, rows=frame).table.read(frame)
    found = forest.classes[forest.predict_index(codes)]
    np.testing.assert_array_equal(found, alone.predict(frame))
    pruner.pruned_estimator_.save_model(str(tmp_path / "model.cbm"))
    frame.to_csv(tmp_path / "rows.csv", index=False)
    code = (
        "import catboost, pandas\n"
        "model = catboost.CatBoostClassifier().load_model('model.cbm')\n"
        "print(' '.join(model.predict(pandas.read_csv('rows.csv'))))\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    np.testing.assert_array_equal(told.stdout.split(), answers)


def test_behind_a_scaler():
    X, y = rows()
    model = make_pipeline(StandardScaler(), Classifier(iterations=12, depth=2)).fit(X, y)
    pruner = FaithfulPruner(FrozenEstimator(model), max_changes=0, random_state=0).fit(X, y)
    np.testing.assert_array_equal(pruner.predict(X), model.predict(X))
    assert pruner.get_depth() == 2


def test_labels_of_three_classes():
    """CatBoost answers them in a column, the pruner does not."""
    X, y = rows(3)
    model = Classifier(iterations=6, depth=2).fit(X, LABELS[2][y])
    pruner = FaithfulPruner(FrozenEstimator(model), max_changes=0, random_state=0)
    pruner.fit(X, LABELS[2][y])
    assert model.predict(X).shape == (250, 1)
    np.testing.assert_array_equal(pruner.predict(X), model.predict(X)[:, 0])
