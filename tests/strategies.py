"""Generators of small ensembles of every supported type, with ties on purpose."""

from itertools import product

import numpy as np
from hypothesis import strategies as st
from oracles import adversarial_rows
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from ensemble_simplify.grid.thresholds import FLOAT32_MAX, cut_points

LABELS = np.array(["ant", "bee", "cat", "dog"])


def small_data(seed, *, n_classes=3, n_features=3, n_rows=40, levels=4, labels="text"):
    """Rows on a coarse grid with noisy classes, all of them present.

    Few distinct values make few cut points; even numbers of rows in both
    classes make ties.
    """
    rng = np.random.default_rng(seed)
    X = rng.integers(levels, size=(n_rows, n_features)) * 0.3 - 0.35
    y = (np.arange(n_rows) + (X[:, 0] > 0) + rng.integers(2, size=n_rows)) % n_classes
    y[:n_classes] = np.arange(n_classes)
    if labels == "text":
        return X, LABELS[y]
    return X, y * 3 - 2 if labels == "gaps" else y


def _tree(seed, depth=2, **options):
    return DecisionTreeClassifier(max_depth=depth, random_state=seed, **options)


def _forest(seed, n_trees=4, depth=2, **options):
    return RandomForestClassifier(n_trees, max_depth=depth, random_state=seed, **options)


def _voting(seed, voting, weights=None):
    members = [("a", _tree(seed)), ("b", _forest(seed)), ("c", _tree(seed + 1, 1))]
    members.append(("d", BaggingClassifier(_tree(0), 3, max_features=2, random_state=seed)))
    return VotingClassifier(members, voting=voting, weights=weights)


def _nested_voting(seed, voting):
    members = [
        ("a", _voting(seed, "soft", [1, 0.3, 2, 0.1])),
        ("b", _forest(seed + 1, 2)),
        ("c", "drop"),
    ]
    members.append(("d", _tree(seed + 2)))
    return VotingClassifier(members, voting=voting, weights=[1, 1, 5, 1])


def _boosted_voting(seed):
    members = [
        ("a", AdaBoostClassifier(_tree(0, 1), n_estimators=3, random_state=seed)),
        ("b", GradientBoostingClassifier(n_estimators=2, max_depth=2, random_state=seed)),
        ("c", _forest(seed)),
    ]
    return VotingClassifier(members, voting="hard", weights=[0.2, 0.3, 0.5])


#: Unfitted classifiers: name -> function of a seed.
CLASSIFIERS = {
    "tree": lambda s: _tree(s, 3),
    "extra_tree": lambda s: ExtraTreeClassifier(max_depth=3, random_state=s),
    "forest": lambda s: _forest(s, 5),
    "forest_even": lambda s: _forest(s, 4, None, bootstrap=True),
    "forest_stumps": lambda s: _forest(s, 6, 1, max_features=1),
    "extra_trees": lambda s: ExtraTreesClassifier(4, max_depth=2, random_state=s),
    "bagging": lambda s: BaggingClassifier(_tree(0), 4, random_state=s),
    "bagging_subsets": lambda s: BaggingClassifier(
        _tree(0), 5, max_features=2, bootstrap_features=True, max_samples=6, random_state=s
    ),
    "bagging_forests": lambda s: BaggingClassifier(
        _forest(0, 2), 3, max_features=2, max_samples=7, random_state=s
    ),
    "bagging_hard": lambda s: BaggingClassifier(_voting(0, "hard"), 2, random_state=s),
    "adaboost": lambda s: AdaBoostClassifier(_tree(0, 1), n_estimators=6, random_state=s),
    "adaboost_slow": lambda s: AdaBoostClassifier(
        _tree(0, 2), n_estimators=4, learning_rate=0.1, random_state=s
    ),
    "adaboost_forests": lambda s: AdaBoostClassifier(_forest(0, 2), n_estimators=3, random_state=s),
    "boosting": lambda s: GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=s),
    "boosting_zero": lambda s: GradientBoostingClassifier(
        n_estimators=3, max_depth=1, init="zero", learning_rate=0.7, random_state=s
    ),
    "voting_soft": lambda s: _voting(s, "soft"),
    "voting_soft_weights": lambda s: _voting(s, "soft", [0.3, 0.1, 2, 0.7]),
    "voting_hard": lambda s: _voting(s, "hard"),
    "voting_hard_weights": lambda s: _voting(s, "hard", [0.1, 0.2, 0.3, 0.3]),
    "voting_nested_soft": lambda s: _nested_voting(s, "soft"),
    "voting_nested_hard": lambda s: _nested_voting(s, "hard"),
    "voting_boosted": _boosted_voting,
}

#: Unfitted regressors: name -> function of a seed.
REGRESSORS = {
    "tree": lambda s: DecisionTreeRegressor(max_depth=3, random_state=s),
    "extra_tree": lambda s: ExtraTreeRegressor(max_depth=3, random_state=s),
    "forest": lambda s: RandomForestRegressor(5, max_depth=2, random_state=s),
    "extra_trees": lambda s: ExtraTreesRegressor(4, max_depth=2, random_state=s),
    "bagging": lambda s: BaggingRegressor(
        DecisionTreeRegressor(max_depth=2), 4, max_features=2, random_state=s
    ),
    "bagging_forests": lambda s: BaggingRegressor(
        RandomForestRegressor(2, max_depth=2), 3, max_features=2, random_state=s
    ),
    "boosting": lambda s: GradientBoostingRegressor(n_estimators=4, max_depth=2, random_state=s),
    "boosting_median": lambda s: GradientBoostingRegressor(
        loss="absolute_error", n_estimators=3, max_depth=2, random_state=s
    ),
}


@st.composite
def fitted_classifiers(draw, kinds=tuple(CLASSIFIERS), max_classes=4):
    """A fitted classifier of one of `kinds`, with the rows it was fitted on: (model, X, y)."""
    kind = draw(st.sampled_from(sorted(kinds)))
    seed = draw(st.integers(0, 10_000))
    X, y = small_data(
        seed,
        n_classes=draw(st.integers(2, max_classes)),
        n_features=draw(st.integers(2, 4)),
        levels=draw(st.integers(2, 5)),
        labels=draw(st.sampled_from(["text", "gaps", "plain"])),
    )
    return CLASSIFIERS[kind](seed).fit(X, y), X, y


def representatives(cuts):
    """One float32-valued point for every cell of an axis.

    That of ``(cuts[i - 1], cuts[i]]`` is ``cuts[i]``, that of the last cell is ``FLOAT32_MAX``.
    """
    return np.append(cuts, FLOAT32_MAX)


def rows_of_cells(cuts, limit=np.inf, seed=0):
    """One row in every cell, in C order of the axes; in `limit` random ones if there are more."""
    points = [representatives(axis) for axis in cuts]
    if np.prod([len(axis) for axis in points], dtype=float) <= limit:
        return np.array(list(product(*points)))
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.choice(axis, limit) for axis in points])


def cell_points(forest, limit=3000, seed=0):
    """One row in every cell of the feature space (a random choice of cells beyond `limit`)."""
    cuts = cut_points(forest.feature, forest.threshold, forest.n_features)
    return rows_of_cells(cuts, limit, seed)


def edge_points(thresholds, n_features, n_rows=400, seed=0):
    """Rows of thresholds, whatever their feature, of their neighbours and of other numbers.

    Parameters
    ----------
    thresholds : array-like
        Thresholds as the ensemble stores them.
    """
    thresholds = np.asarray(thresholds, dtype=np.float64)
    axis = np.unique(thresholds[np.isfinite(thresholds)])
    return adversarial_rows([axis] * n_features, np.random.default_rng(seed), n_rows)
