"""The born-again tree is the ensemble, and no equal tree is smaller."""

import builtins
import copy
import pickle
import sys
import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
from ba_trees import FOLDER, majority, published, read_random_forest, read_trees
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import (
    FLOAT32_MAX,
    adversarial_rows,
    labels_by_predict,
    min_depth,
    min_leaves,
    min_leaves_at_min_depth,
)
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer
from sklearn.tree import DecisionTreeClassifier, export_text, plot_tree
from strategies import CLASSIFIERS, LABELS, fitted_classifiers, small_data

from ensemble_simplify import BornAgainClassifier

# scikit-learn looks for NaN by adding up all entries: rows of the largest numbers overflow.
pytestmark = [
    pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning"),
]

OBJECTIVES = ["depth", "leaves", "depth_then_leaves"]
BOOSTED = {"adaboost", "adaboost_slow", "adaboost_forests", "boosting", "boosting_zero"}
BOOSTED |= {"voting_boosted"}


# ------------------------------------------------------------------- truth, by predict alone


def trees_of(model, columns=None):
    """All fitted trees inside an ensemble, each with the columns it sees."""
    columns = np.arange(model.n_features_in_) if columns is None else columns
    if hasattr(model, "tree_"):
        yield model, columns
        return
    members = model.estimators_
    members = members.ravel() if isinstance(members, np.ndarray) else members
    subsets = getattr(model, "estimators_features_", [np.arange(len(columns))] * len(members))
    for member, subset in zip(members, subsets, strict=True):
        yield from trees_of(member, columns[subset])


def thresholds_of(model):
    """Thresholds of an ensemble as its trees store them, a sorted array a feature."""
    found = [[] for _ in range(model.n_features_in_)]
    for tree, columns in trees_of(model):
        inner = tree.tree_.children_left >= 0
        splits = zip(tree.tree_.feature[inner], tree.tree_.threshold[inner], strict=True)
        for feature, threshold in splits:
            found[columns[feature]].append(threshold)
    return [np.unique(values) for values in found]


def cuts_of(thresholds):
    """The largest float32 at or below each threshold."""
    cuts = []
    for values in thresholds:
        single = values.astype(np.float32)
        single = np.where(single > values, np.nextafter(single, np.float32(-np.inf)), single)
        cuts.append(np.unique(single.astype(np.float64)))
    return cuts


class HardVote:
    """The majority of the labels that an ensemble's trees answer, ties to the first class."""

    def __init__(self, model):
        self.trees = list(trees_of(model))
        self.classes_ = model.classes_

    def predict(self, X):
        # trees inside forests answer with class numbers as floats, free-standing ones with labels
        counts = np.zeros((len(X), len(self.classes_)))
        for tree, columns in self.trees:
            best = tree.predict_proba(X[:, columns]).argmax(axis=1)
            own = tree.classes_
            if not np.isin(own, self.classes_).all() or own.dtype.kind == "f":
                own = self.classes_[own.astype(int)]
            counts[np.arange(len(X)), np.searchsorted(self.classes_, own[best])] += 1
        return self.classes_[counts.argmax(axis=1)]


def without_idle_cuts(labels):
    """The grid without cuts that separate equal slabs."""
    for axis in range(labels.ndim):
        equal = [
            (labels.take(k, axis) == labels.take(k + 1, axis)).all()
            for k in range(labels.shape[axis] - 1)
        ]
        labels = np.delete(labels, np.flatnonzero(equal), axis)
    return labels


def hard_rows(thresholds, cuts, seed):
    """Rows on cells' representatives, and on and beside thresholds in float32 and float64."""
    points = [[*axis, FLOAT32_MAX] for axis in cuts]
    if np.prod([len(axis) for axis in points]) <= 3000:
        cells = np.array(list(product(*points)))
    else:
        rng = np.random.default_rng(seed)
        cells = np.column_stack([rng.choice(axis, 3000) for axis in points])
    rng = np.random.default_rng(seed)
    return np.concatenate(
        [cells, adversarial_rows(cuts, rng, 150), adversarial_rows(thresholds, rng, 150)]
    )


def assert_reborn(model, X, y, voting="estimator", seed=0):
    """All three objectives against exhaustive search over a grid labelled by predict alone."""
    truth = HardVote(model) if voting == "hard" else model
    thresholds = thresholds_of(model)
    cuts = cuts_of(thresholds)
    labels = without_idle_cuts(labels_by_predict(truth, cuts))
    depth = min_depth(labels)
    optimum = {
        "depth": (depth, None),
        "leaves": (None, min_leaves(labels)),
        "depth_then_leaves": (depth, min_leaves_at_min_depth(labels)),
    }
    rows = hard_rows(thresholds, cuts, seed)
    answer = truth.predict(rows)
    for objective in OBJECTIVES:
        reborn = BornAgainClassifier(
            FrozenEstimator(model), objective=objective, voting=voting, random_state=seed
        ).fit(X, y)
        tree = reborn.decision_tree_
        assert (reborn.get_depth(), reborn.get_n_leaves()) == (tree.get_depth(), tree.get_n_leaves())
        best_depth, best_leaves = optimum[objective]
        assert best_depth in (None, reborn.depth_)
        assert best_leaves in (None, reborn.n_leaves_)
        assert reborn.status_ == "optimal"
        assert reborn.n_cells_ == labels.size
        assert depth >= reborn.depth_lower_bound_
        assert reborn.depth_lower_bound_ == (depth if best_depth else reborn.depth_lower_bound_)
        fewest = best_leaves or optimum["leaves"][1]
        assert reborn.n_leaves_lower_bound_ <= fewest
        assert reborn.n_leaves_lower_bound_ == (best_leaves or reborn.n_leaves_lower_bound_)
        np.testing.assert_array_equal(reborn.predict(rows), answer)
        np.testing.assert_array_equal(tree.predict(rows), answer)
        proba = reborn.predict_proba(rows)
        np.testing.assert_allclose(proba.sum(axis=1), 1)
        np.testing.assert_array_equal(reborn.classes_[proba.argmax(axis=1)], answer)
    return reborn


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_brute_force(kind):
    """With the next test 308 ensembles: soft votes, AdaBoost, boosting, voting over them."""
    for seed in range(10):
        X, y = small_data(seed, n_classes=2 + seed % 3, n_rows=12 + 4 * seed, levels=3)
        assert_reborn(CLASSIFIERS[kind](seed).fit(X, y), X, y, seed=seed)


@pytest.mark.parametrize("kind", sorted(set(CLASSIFIERS) - BOOSTED))
def test_brute_force_hard_vote(kind):
    for seed in range(6):
        X, y = small_data(50 + seed, n_classes=2 + seed % 3, levels=3)
        assert_reborn(CLASSIFIERS[kind](seed).fit(X, y), X, y, voting="hard", seed=seed)
