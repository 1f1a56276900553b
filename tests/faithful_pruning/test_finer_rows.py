"""Training rows that ensembles can answer otherwise than what float32 makes of them."""

import copy

import numpy as np
import pandas as pd
import pytest
from oracles import seconds, with_later_thresholds
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from ensemble_simplify import FaithfulPruner

X, Y = seconds()


def boosted(rows=X):
    """Trees of which every other one has its thresholds elsewhere between two float32 numbers.

    They stand in a pipeline, which is followed on what float32 represents.
    """
    hist = HistGradientBoostingClassifier(
        max_iter=30, max_leaf_nodes=4, learning_rate=0.3, random_state=0
    )
    model = make_pipeline(FunctionTransformer(), hist).fit(rows, Y)
    later = with_later_thresholds(model)
    for i in range(0, len(hist._predictors), 2):
        hist._predictors[i] = later[-1]._predictors[i]
    return model


@pytest.mark.parametrize("max_changes", [None, 0, 1])
def test_without_a_pipeline_all_doubles_are_told_apart(max_changes):
    model = boosted()[-1]
    pruner = FaithfulPruner(
        FrozenEstimator(model), max_changes=max_changes, method="heuristic", random_state=0
    ).fit(X, Y)
    assert pruner.n_exceptions_ == 0
    assert (pruner.predict(X) == model.predict(X)).all()
    assert pruner.covers(X).all()
    assert pruner.verify()
    assert pruner.n_trees_ < 30


@pytest.mark.parametrize("max_changes", [None, 0, 1])
@pytest.mark.parametrize("frame", [False, True])
def test_they_are_counted(max_changes, frame):
    rows = pd.DataFrame(X, columns=["second", "other"]) if frame else X
    model = boosted(rows)
    options = {"method": "heuristic", "n_samples": 0 if max_changes == 0 else "auto"}
    pruner = FaithfulPruner(
        FrozenEstimator(model), max_changes=max_changes, random_state=0, **options
    ).fit(rows, Y)
    single = rows.astype(np.float32)
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
    pruner = FaithfulPruner(FrozenEstimator(boosted()), max_changes=0, random_state=0)
    pruner.fit(single, Y)
    assert pruner.n_exceptions_ == 0
    assert pruner.covers(single).all()
    assert pruner.verify()


def test_held_out_rows_are_asked_as_they_are():
    model = boosted()
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
        FrozenEstimator(boosted()), max_changes=0, tolerance=1e-9, random_state=0
    ).fit(X, Y)
    assert pruner.n_exceptions_ > 0
    single = X.astype(np.float32)
    assert (pruner.predict(single) == pruner.estimator_.predict(single)).all()


def test_forests_round_themselves():
    forest = RandomForestClassifier(8, max_depth=3, random_state=0).fit(X, Y)
    pruner = FaithfulPruner(FrozenEstimator(forest), max_changes=1, random_state=0).fit(X, Y)
    assert pruner.n_exceptions_ == 0
    assert pruner.covers(X).all()
    assert (copy.copy(pruner).predict(X) == forest.predict(X)).all()
