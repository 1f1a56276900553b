"""Writers: an ensemble with some of its trees, under other weights, as a native object.

The family of the ensemble writes it, but for two things: only here can trees of scikit-learn be
made, and what has no place for weights becomes a vote of such trees.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.ensemble import VotingClassifier
from sklearn.preprocessing import LabelEncoder
from sklearn.utils import Bunch

from ensemble_simplify.reading import Family, Model, family_of, tree_estimators, tree_shares
from ensemble_simplify.writing.sklearn_tree import embedded_copy, pruned_copy


def weights_can_be_written(estimator: Any) -> None:
    """Raise TypeError unless `reweighted` can write an ensemble of this kind."""
    family = family_of(estimator)
    forest = Model.of(family.estimator, check=False).forest
    if forest.classes is not None and forest.sums is None:
        raise TypeError(
            f"estimator={family.name}(...) does not add up votes of trees: its members, ensembles "
            "themselves, vote by their labels. Give trees as members, or voting='soft'."
        )
    core, vote = family.core, forest.vote
    if core.writes_nodes:
        return
    trees = tree_estimators(core.estimator)
    # a tree of values has its place in families that write such, but not among members of others
    mixed = any(member.is_boosted_sum for member in vote.members)
    placed = type(core).reweighted is not Family.reweighted and not mixed
    if len(trees) > 1 and not placed and not hasattr(trees[0][0], "classes_"):
        raise TypeError(
            f"estimator={family.name}(...) has no place for weights of single trees: it averages "
            "or judges sums of several models. Prune its members one by one, and make it of these."
        )


def reweighted(estimator: Any, weights: np.ndarray, offset: float = 0.0) -> Any:
    """A fitted copy of an ensemble with the trees whose weight is not zero.

    AdaBoost and gradient boosting, also by histograms and by LightGBM, XGBoost and CatBoost, stay
    what they are. So does a random forest whose trees all have the same weight. Other means of
    trees become a soft ``VotingClassifier`` of trees, hard votes a hard one: these have a place for
    weights, and their ``predict`` is scikit-learn's own. Decision thresholds and calibrations stay,
    around such an ensemble. Forests and bagged trees that answer values stay what they are, with
    scaled leaves.

    `weights`, of shape (n_trees,), are what each tree's votes are multiplied by; trees are as
    `Model.of` has them. The `offset` is added to the sum of all: it goes into the leaves of the
    first tree that is kept. Where leaves are scaled, weights may be negative; means of votes and
    AdaBoost have no place for an offset, nor for negative weights.
    """
    family = family_of(estimator)
    # of a booster that stopped early, iterations are left out that no answer uses
    if family.library is None and (weights == 1).all() and offset == 0.0:
        return copy.deepcopy(family.estimator)
    if family.last is not None:
        return family.around(reweighted(family.last, weights, offset))
    written = family.reweighted(weights, offset, _scaled_copy)
    return _voting(family.estimator, weights) if written is None else written


def depth_of(estimator: Any) -> int:
    """Depth of the deepest tree of an ensemble that `reweighted` can write."""
    return family_of(estimator).core.depth()


def _scaled_copy(tree, weight, offset=0.0):
    """A copy of a regression tree with scaled leaves, of one leaf if the weight is zero."""
    keep = np.full(tree.tree_.node_count, weight != 0)
    return pruned_copy(tree, keep, tree.tree_.value[:, :, 0] * weight + offset)


def _voting(estimator, weights):
    """A VotingClassifier of copies of trees that know all features and all classes."""
    forest, kept = Model.of(estimator, check=False).forest, np.flatnonzero(weights)
    names = getattr(estimator, "feature_names_in_", None)
    # as many shares as trees: those of a plain forest are one each; hard votes keep their weights
    is_hard = forest.vote.counts_labels
    n_shares = float(forest.vote.member_weights.sum() if is_hard else forest.n_trees)
    places = tree_shares(forest.vote, forest.n_classes, n_shares)
    trees = tree_estimators(estimator)
    members, shares = [], []
    for t in kept:
        tree, columns = trees[t]
        share, classes = places[t]
        if len(classes) != tree.n_classes_:
            classes = classes[tree.classes_.astype(np.intp)]
        members.append(
            embedded_copy(
                tree,
                columns=columns,
                n_features=forest.n_features,
                classes=classes,
                n_classes=forest.n_classes,
                feature_names=names,
            )
        )
        shares.append(float(share * weights[t]))
    written = VotingClassifier(
        [(f"tree{t}", member) for t, member in zip(kept, members, strict=True)],
        voting="hard" if is_hard else "soft",
        weights=shares,
    )
    written.estimators_ = members
    written.named_estimators_ = Bunch(**dict(written.estimators))
    written.le_ = LabelEncoder()
    written.le_.classes_ = written.classes_ = forest.classes
    if names is not None:
        written.feature_names_in_ = names.copy()
    return written
