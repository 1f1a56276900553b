"""Writers: an ensemble with some of its trees, under other weights, as a native object.

Beside `sklearn`, the only module that knows where an ensemble keeps its trees.
"""

from __future__ import annotations

import copy

import numpy as np
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import LabelEncoder
from sklearn.utils import Bunch

from ensemble_simplify.reading import (
    Model,
    insides,
    library_of,
    readable,
    tree_estimators,
    tree_shares,
)
from ensemble_simplify.writing.boosters import depth_of_booster, reweighted_booster
from ensemble_simplify.writing.catboost import depth_of_catboost, reweighted_catboost
from ensemble_simplify.writing.sklearn_tree import embedded_copy, pruned_copy

_GRADIENT_BOOSTING = GradientBoostingClassifier, GradientBoostingRegressor
_HIST_GRADIENT_BOOSTING = HistGradientBoostingClassifier, HistGradientBoostingRegressor
_FORESTS = RandomForestRegressor, ExtraTreesRegressor
# Fitted attributes that tell how the trees of an ensemble were grown, one entry for each.
_HISTORY = (
    "train_score_",
    "validation_score_",
    "oob_improvement_",
    "oob_scores_",
    "oob_score_",
    "oob_decision_function_",
    "oob_prediction_",
    "evals_result_",
)


def weights_can_be_written(estimator):
    """Raise TypeError unless `reweighted` can write an ensemble of this kind."""
    estimator = readable(estimator)
    forest = Model.of(estimator, check=False).forest
    if forest.classes is not None and forest.sums is None:
        raise TypeError(
            f"estimator={type(estimator).__name__}(...) does not add up votes of trees: its "
            "members, ensembles themselves, vote by their labels. Give trees as members, or "
            "voting='soft'."
        )
    last = last_step(estimator)
    if not isinstance(last, _HIST_GRADIENT_BOOSTING) and library_of(last) is None:
        tree_estimators(last)


def reweighted(estimator, weights, offset=0.0):
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
    estimator = readable(estimator)
    if library_of(estimator) is not None:
        return _reweighted_booster(estimator, weights, offset)
    if (weights == 1).all() and offset == 0.0:
        return copy.deepcopy(estimator)
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        written = copy.copy(estimator)
        written.steps = [
            *copy.deepcopy(estimator.steps[:-1]),
            (name, reweighted(last, weights, offset)),
        ]
        return written
    if inner := insides(estimator):
        written = reweighted(inner[0], weights, offset)
        if isinstance(inner[0], FrozenEstimator):
            written = FrozenEstimator(written)
        # whatever holds the model holds the written one in the copy
        return copy.deepcopy(estimator, {id(inner[0]): written})
    kept = np.flatnonzero(weights)
    if isinstance(estimator, _GRADIENT_BOOSTING):
        return _reweighted_gradient_boosting(estimator, kept, weights, offset)
    if isinstance(estimator, _HIST_GRADIENT_BOOSTING):
        return _reweighted_hist_gradient_boosting(estimator, kept, weights, offset)
    if isinstance(estimator, (*_FORESTS, BaggingRegressor)):
        return _reweighted_mean(estimator, kept, weights, offset)
    if isinstance(estimator, AdaBoostClassifier):
        return _reweighted_adaboost(estimator, kept, weights)
    equal = (weights[kept] == weights[kept[0]]).all()
    if equal and isinstance(estimator, RandomForestClassifier | ExtraTreesClassifier):
        members = [copy.deepcopy(estimator.estimators_[t]) for t in kept]
        return _with(estimator, estimators_=members, n_estimators=len(kept))
    return _voting(estimator, kept, weights)


def last_step(estimator):
    """What a pipeline ends in, without thresholds and calibrations; another estimator itself."""
    while True:
        estimator = readable(estimator)
        if isinstance(estimator, Pipeline):
            estimator = estimator.steps[-1][1]
        elif inner := insides(estimator):
            estimator = inner[0]
        else:
            return estimator


def _with(estimator, **attributes):
    """A copy of an ensemble with some attributes replaced, and without its history."""
    parts = {**vars(estimator), **attributes}
    written = type(estimator).__new__(type(estimator))
    for name, part in parts.items():
        if name not in _HISTORY:
            # what is replaced is new already
            vars(written)[name] = part if name in attributes else copy.deepcopy(part)
    return written


def _reweighted_adaboost(estimator, kept, weights):
    return _with(
        estimator,
        estimators_=[copy.deepcopy(estimator.estimators_[t]) for t in kept],
        estimator_weights_=estimator.estimator_weights_[kept] * weights[kept],
        estimator_errors_=estimator.estimator_errors_[kept],
        n_estimators=len(kept),
    )


def _reweighted_booster(estimator, weights, offset):
    """Another booster, native or in a copy of its wrapper."""
    if library_of(estimator) == "catboost":
        return reweighted_catboost(estimator, weights, offset)
    booster = reweighted_booster(estimator, weights, offset)
    if not hasattr(estimator, "n_estimators"):
        return booster
    written = _with(estimator, _Booster=booster)
    if library_of(estimator) == "lightgbm":
        written._best_iteration, written._best_score, written._evals_result = -1, {}, {}
        written.n_estimators = booster.current_iteration()
    else:
        written.n_estimators = booster.num_boosted_rounds()
        if written.num_parallel_tree is not None:
            written.num_parallel_tree = 1
    return written


def depth_of(estimator):
    """Depth of the deepest tree of an ensemble that `reweighted` can write."""
    last = last_step(estimator)
    library = library_of(last)
    if library is not None:
        return depth_of_catboost(last) if library == "catboost" else depth_of_booster(last)
    if isinstance(last, _HIST_GRADIENT_BOOSTING):
        return max(int(tree.nodes["depth"].max()) for stage in last._predictors for tree in stage)
    return max(tree.get_depth() for tree, _ in tree_estimators(last))


def _columns_of_stages(kept, n_scores):
    """For each score, the stages whose trees are kept; and how many stages that takes."""
    columns = [[t // n_scores for t in kept if t % n_scores == k] for k in range(n_scores)]
    return columns, max(len(column) for column in columns)


def _scaled_copy(tree, weight, offset=0.0):
    """A copy of a regression tree with scaled leaves, of one leaf if the weight is zero."""
    keep = np.full(tree.tree_.node_count, weight != 0)
    return pruned_copy(tree, keep, tree.tree_.value[:, :, 0] * weight + offset)


def _reweighted_mean(estimator, kept, weights, offset):
    """A forest, or bagged trees, whose mean is the weighted sum: trees stay where they were."""
    trees = tree_estimators(estimator)
    # what a tree is divided by now, and was before: members may be forests themselves
    share = len(kept) * np.array([part for part, _ in _shares_of(estimator)])
    offsets = np.where(np.arange(len(kept)) == 0, offset * len(kept), 0.0)
    members = [
        _scaled_copy(trees[t][0], weights[t] * share[t], more)
        for t, more in zip(kept, offsets, strict=True)
    ]
    if isinstance(estimator, _FORESTS):
        return _with(estimator, estimators_=members, n_estimators=len(kept))
    everything = np.arange(estimator.n_features_in_)
    columns = [everything if trees[t][1] is None else trees[t][1] for t in kept]
    own = {}
    if len(trees) == len(estimator.estimators_):
        own["_seeds"] = np.asarray(estimator._seeds)[kept]
    return _with(
        estimator,
        estimators_=members,
        estimators_features_=columns,
        n_estimators=len(kept),
        **own,
    )


def _shares_of(estimator):
    forest = Model.of(estimator, check=False).forest
    return tree_shares(forest.vote, 1, 1.0)


def _reweighted_gradient_boosting(estimator, kept, weights, offset):
    """Stages filled up with trees that add nothing, where classes have kept different numbers."""
    stages = estimator.estimators_
    n_scores = stages.shape[1]
    columns, n_stages = _columns_of_stages(kept, n_scores)
    written = np.empty((n_stages, n_scores), dtype=object)
    # one generator for all trees, as in the ensemble: copies of it would outweigh small trees
    random_state = copy.deepcopy(stages[0, 0].random_state)
    more = offset / estimator.learning_rate if offset else 0.0
    for k, column in enumerate(columns):
        for i in range(n_stages):
            tree = stages[column[i] if i < len(column) else 0, k]
            weight = weights[column[i] * n_scores + k] if i < len(column) else 0.0
            written[i, k] = _scaled_copy(tree, weight, more if i == 0 else 0.0)
            written[i, k].random_state = random_state
    return _with(estimator, estimators_=written, n_estimators=n_stages, n_estimators_=n_stages)


def _reweighted_hist_gradient_boosting(estimator, kept, weights, offset):
    """The same for histogram gradient boosting."""
    stages = estimator._predictors
    n_scores = len(stages[0])
    columns, n_stages = _columns_of_stages(kept, n_scores)
    written = []
    for i in range(n_stages):
        stage = []
        for k, column in enumerate(columns):
            here = i < len(column)
            tree = copy.deepcopy(stages[column[i] if here else 0][k])
            tree.nodes["value"] *= weights[column[i] * n_scores + k] if here else 0.0
            tree.nodes["value"] += offset if i == 0 else 0.0
            stage.append(tree)
        written.append(stage)
    return _with(estimator, _predictors=written, max_iter=n_stages)


def _voting(estimator, kept, weights):
    """A VotingClassifier of copies of trees that know all features and all classes."""
    forest = Model.of(estimator, check=False).forest
    names = getattr(estimator, "feature_names_in_", None)
    # as many shares as trees: those of a plain forest are one each; hard votes keep their weights
    is_hard = forest.vote.rule == "hard"
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
