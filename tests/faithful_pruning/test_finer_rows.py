"""Training rows that ensembles can answer otherwise than what float32 makes of them."""

import copy

import numpy as np
import pandas as pd
import pytest
from oracles import seconds, with_later_thresholds
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler

from ensemble_simplify import FaithfulPruner

X, Y = seconds()


def boosted(rows=X, scale=1.0):
    """Trees of which every other one has its thresholds elsewhere between two float32 numbers."""
    model = HistGradientBoostingClassifier(
        max_iter=30, max_leaf_nodes=4, learning_rate=0.3, random_state=0
    ).fit(rows, Y)
    later = with_later_thresholds(model, scale)
    for i in range(0, len(model._predictors), 2):
        model._predictors[i] = later._predictors[i]
    return model


def scaled(rows=X):
    """The same behind a scaler."""
    scaler = MaxAbsScaler().fit(rows)
    return Pipeline(
        [("scaler", scaler), ("model", boosted(scaler.transform(rows), scaler.scale_[0]))]
    )


@pytest.mark.parametrize("max_changes", [None, 0, 1])
@pytest.mark.parametrize("frame", [False, True])
def test_they_are_counted(max_changes, frame):
    rows = pd.DataFrame(X, columns=["second", "other"]) if frame else X
    model = scaled(rows)
    pruner = FaithfulPruner(
        FrozenEstimator(model), max_changes=max_changes, method="heuristic", random_state=0
    ).fit(rows, Y)
    single = rows.astype(np.float32).astype(np.float64)
    assert (pruner.predict(single) == model.predict(single)).all()
    wrong = pruner.predict(rows) != model.predict(rows)
    assert wrong.any()
    assert pruner.n_exceptions_ == pruner.path_.n_exceptions[-1] == wrong.sum()
    covered = pruner.covers(rows)
    assert covered.any()
    assert not wrong[covered].any()
    outcome = pruner.verify()
    assert outcome.equal is False
    assert (outcome.counterexample == X[wrong]).all(axis=1).any()
    fewest = pruner.at(n_trees=int(pruner.path_.n_trees[0]))
    outcome = fewest.verify()
    assert outcome.equal is False
    if max_changes == 0:
        cells = np.unique(pruner._axes.encode_rows(single.to_numpy() if frame else single), axis=1)
        finer = pruner._axes.between(X).any(axis=0)
        assert pruner.n_points_ == cells.shape[1] + finer.sum()
        assert fewest.n_exceptions_ >= (fewest.predict(rows) != model.predict(rows))[finer].sum()


def test_none_are_where_float32_represents_the_rows():
    single = X.astype(np.float32).astype(np.float64)
    pruner = FaithfulPruner(FrozenEstimator(scaled()), max_changes=0, random_state=0)
    pruner.fit(single, Y)
    assert pruner.n_exceptions_ == 0
    assert pruner.covers(single).all()
    assert pruner.verify()


def test_held_out_rows_are_asked_as_they_are():
    model = scaled()
    pruner = FaithfulPruner(
        FrozenEstimator(model), max_changes=0, validation_fraction=0.5, random_state=0
    ).fit(X, Y)
    rng = np.random.RandomState(0)
    aside = np.sort(rng.permutation(np.arange(len(X)))[: len(X) // 2])
    truth = np.mean(pruner.predict(X[aside]) == model.predict(X[aside]))
    assert pruner.fidelity_ == pytest.approx(truth)


def test_tolerance_is_about_what_is_promised():
    """Finer rows that no pruned ensemble answers alike leave the choice to the others."""
    pruner = FaithfulPruner(
        FrozenEstimator(scaled()), max_changes=0, tolerance=1e-9, random_state=0
    ).fit(X, Y)
    assert pruner.n_exceptions_ > 0
    single = X.astype(np.float32).astype(np.float64)
    assert (pruner.predict(single) == pruner.estimator_.predict(single)).all()


@pytest.mark.parametrize("max_changes", [None, 1])
def test_doubles_are_promised_where_both_compare_them(max_changes):
    model = boosted()
    pruner = FaithfulPruner(
        FrozenEstimator(model), max_changes=max_changes, method="heuristic", random_state=0
    ).fit(X, Y)
    assert pruner.n_trees_ < 30
    assert pruner.n_exceptions_ == 0
    assert pruner.covers(X).all()
    rows = np.repeat(X, 20, axis=0)
    rows[:, 0] += np.random.RandomState(0).uniform(-200, 200, len(rows))
    assert (pruner.predict(rows) == model.predict(rows)).all()
    assert "every finite input" in repr(pruner.verify())


def test_forests_round_themselves():
    forest = RandomForestClassifier(8, max_depth=3, random_state=0).fit(X, Y)
    pruner = FaithfulPruner(FrozenEstimator(forest), max_changes=1, random_state=0).fit(X, Y)
    assert pruner.n_exceptions_ == 0
    assert pruner.covers(X).all()
    assert (copy.copy(pruner).predict(X) == forest.predict(X)).all()
