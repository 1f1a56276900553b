"""Readers: where a fitted ensemble keeps its trees, one function for each family of ensembles.

`read` answers with the trees, as the ensemble has them, and the `Vote` over them. Members are read
by the same function, and so are this package's own estimators and pipelines: `readable` says what
stands for them.

Only this module and those that it takes families from know where an ensemble keeps its trees.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
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
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from ensemble_simplify.reading.boosting import (
    read_hist_gradient_boosting,
    read_lightgbm,
    read_xgboost,
)
from ensemble_simplify.reading.catboost import read_catboost, table_of_catboost
from ensemble_simplify.reading.cut_offs import (
    THRESHOLDS,
    calibrated,
    folds_vote,
    insides,
    with_threshold,
)
from ensemble_simplify.reading.decision import Vote, link_of, samme_votes
from ensemble_simplify.reading.imported import holds_reading, read_held
from ensemble_simplify.reading.native import LightGBMBooster, XGBoostBooster, library_of
from ensemble_simplify.reading.onnx_treelite import OnnxModel, TreeliteModel, read_exchange
from ensemble_simplify.reading.pipelines import SEARCHES, Transformers, owner_of, unwrap
from ensemble_simplify.reading.sklearn_trees import is_categorical, tree_of, tree_of_categories
from ensemble_simplify.reading.stands_for import PACKAGE, is_ours, own_table, readable
from ensemble_simplify.reading.steps import read_ebm
from ensemble_simplify.reading.table import Table
from ensemble_simplify.reading.trees import (
    Reading,
    Trees,
    constant_tree,
    name_of,
    spread,
)


def read(estimator, *, within=None, rows=None, like=None):
    """Read a fitted ensemble as a `Reading`.

    `within` is the number of features that the ensemble around it gives; None: it stands alone.
    `rows` are some rows as it is given them, in whose dtypes a pipeline is read; None: float64.
    Levels get their codes in the order of a table `like` its own, see `Reading.write`.
    """
    estimator = readable(estimator)
    family = _family_of(estimator)
    # models in other formats cannot be fitted, a threshold need not be, and CatBoost says so itself
    as_it_is = isinstance(estimator, _EXCHANGE) or family is read_catboost or insides(estimator)
    if not as_it_is:
        check_is_fitted(estimator)
    _check_width(estimator, within)
    passed = (rows,) if family in _PASS_ROWS_ON else ()
    reading = family(estimator, within, *passed)
    reading.put_in_order(like)
    if reading.classes is not None:
        # A tree or forest by itself takes classes in any order. In another ensemble, and in other
        # kinds of ensembles, classes are looked up by bisection and must be sorted.
        alone = within is None and (
            isinstance(estimator, _CLASSES_ARE_NAMES) or family is read_catboost
        )
        reading.classes = _checked_classes(estimator, reading, any_order=alone)
    return reading


def n_features_of(estimator):
    """Number of features that a fitted ensemble takes; as `readable` answers it."""
    if isinstance(estimator, Pipeline):
        return transformers_of(estimator)[0].n_features
    if inner := insides(estimator):
        return n_features_of(readable(inner[0]))
    if hasattr(estimator, "estimators_"):
        _members(estimator)
    if (
        library_of(estimator) == "catboost"
    ):  # it forgets the number in copies, and in models from files
        return len(estimator.feature_names_ or ())
    return int(estimator.n_features_in_)


def table_of(estimator, forest=None):
    """The tables that a fitted model takes; `forest`, if given, spares reading it again."""
    estimator = unwrap(estimator)
    own = next((t for t in map(own_table, (estimator, readable(estimator))) if t is not None), None)
    if own is not None:
        return own
    if forest is not None:
        return forest.table
    if inner := insides(estimator):
        return table_of(inner[0])
    estimator, table = readable(estimator), None
    if isinstance(estimator, Pipeline):
        table = _table_of_pipeline(estimator)
    elif library_of(estimator) == "catboost":
        table = table_of_catboost(estimator)
    elif _encodes_categories(type(estimator)) or is_categorical(estimator).any():
        table = read(estimator).table
    names = getattr(estimator, "feature_names_in_", None)
    return table or Table.of_numbers(getattr(estimator, "n_features_in_", 0), names)


def _table_of_pipeline(estimator):
    """What a pipeline takes, where some columns have levels and it says which; or None."""
    try:
        return transformers_of(estimator)[0].table
    except TypeError:  # it can be asked, though not read
        return None


# ------------------------------------------------------------------- checks, and parts of readers


def _check_width(estimator, within):
    """Check that a part of an ensemble was fitted on as many features as it is given."""
    width = n_features_of(estimator)
    if within is not None and within != width:
        raise ValueError(
            f"An ensemble gives {within} features to a member, a {name_of(estimator)} fitted on "
            f"{width}. Fit it again."
        )


def _members(estimator):
    members = list(estimator.estimators_)
    if not members:
        raise ValueError(f"{name_of(estimator)} has an empty estimators_: fit it first.")
    return [unwrap(member) for member in members]


def _one_output(estimator):
    if getattr(estimator, "n_outputs_", 1) != 1:
        raise ValueError(
            f"{name_of(estimator)} was fitted on y with {estimator.n_outputs_} outputs; only one "
            "output is supported. Fit one ensemble for each column of y."
        )


def _checked_classes(estimator, reading, any_order):
    """The classes of an ensemble, after checking that they are distinct and go with its vote."""
    vote, classes = reading.vote, np.asarray(reading.classes)
    distinct = classes.ndim == 1 and len(set(classes.tolist())) == len(classes)
    if not distinct or not (any_order or (classes[:-1] < classes[1:]).all()):
        raise ValueError(
            f"{name_of(estimator)} has classes_={classes.tolist()}, which are not "
            f"{'distinct' if any_order else 'sorted and distinct'}. Fit it again."
        )
    expected = 2 if vote.rule == "additive" and vote.n_scores == 1 else vote.n_scores
    if len(classes) == 1 and expected == 2 and _never_above_zero(reading):
        # boosting that was fitted on one class
        dtypes = [tree.dtype for tree in reading.trees]
        reading.trees = [constant_tree(estimator, [1.0], dtype) for dtype in dtypes]
        reading.vote = Vote("majority", 0, len(dtypes), 1)
    elif len(classes) != expected:
        raise ValueError(
            f"{name_of(estimator)} has {len(classes)} classes_, but its trees vote for {expected}. "
            "Fit it again."
        )
    return classes


def _never_above_zero(reading):
    """Whether the one sum of boosting is below zero, and the first of two classes wins."""
    if reading.vote.init is None:
        return False
    most = sum(float(tree.value[tree.left < 0].max()) for tree in reading.trees)
    return reading.vote.init[0] + most < 0


def _index_of(labels, classes, estimator):
    """Where each of a member's `labels` stands among the `classes` of the ensemble."""
    classes = np.asarray(classes)
    index = np.minimum(np.searchsorted(classes, labels), classes.shape[0] - 1)
    if not np.array_equal(classes[index], labels):
        raise ValueError(
            f"{name_of(estimator)} holds a member with classes {np.asarray(labels).tolist()}, "
            f"which are not among {classes.tolist()}. Fit the ensemble instead of assembling it "
            "from fitted parts."
        )
    return index.astype(np.intp)


def _has_categories(reading):
    """Whether an ensemble splits categories itself."""
    return reading.table is not None and bool(reading.table.categorical.any())


_CATEGORICAL = (
    "{} has categorical splits, which are not supported. Encode the categories as numbers or "
    "one-hot columns."
)


def _joined(readings, estimator):
    """The trees of several readings in one list, and their votes over that list."""
    if any(map(_has_categories, readings)):
        raise TypeError(
            f"{name_of(estimator)} holds members with categories of their own, which is not "
            "supported. Encode the categories before the ensemble, in a Pipeline around it."
        )
    trees, votes = [], []
    for reading in readings:
        votes.append(reading.vote.moved(len(trees)))
        trees += reading.trees
    return trees, votes


def _sklearn_tree(estimator, within):
    """One scikit-learn tree, all of whose splits are thresholds."""
    check_is_fitted(estimator)
    _check_width(estimator, within)
    _one_output(estimator)
    if is_categorical(estimator).any():
        raise ValueError(_CATEGORICAL.format(name_of(estimator)))
    return tree_of(estimator, estimator.tree_.__getstate__()["nodes"])


def keep_members(estimator, members):
    """Leave all but some members, ascending, out of a fitted forest or bagging, in place.

    It may stand in a decision threshold or a calibration.
    """
    while inner := insides(estimator):
        estimator = readable(inner[0])
    estimator.estimators_ = [estimator.estimators_[i] for i in members]
    estimator.set_params(n_estimators=len(members))
    if isinstance(estimator, (BaggingClassifier, BaggingRegressor)):
        estimator.estimators_features_ = [estimator.estimators_features_[i] for i in members]
        # scikit-learn draws the rows of each member again from its seed.
        estimator._seeds = np.asarray(estimator._seeds)[members]


def widen_members(estimator, features, n_features, names=None):
    """Let a bagging ensemble that was fitted on some columns take rows of all, in place.

    `features` are the columns that it was fitted on, `names` are those of all `n_features`.
    """
    estimator.estimators_features_ = [features[own] for own in estimator.estimators_features_]
    estimator.n_features_in_ = n_features
    if names is not None:
        estimator.feature_names_in_ = names
        if (table := own_table(estimator)) is not None:
            estimator._table = replace(table, names=np.asarray(names, dtype=object))


# ------------------------------------------------------------------- scikit-learn's ensembles


def _read_tree(estimator, within):
    """DecisionTreeClassifier, DecisionTreeRegressor and the extra trees."""
    _one_output(estimator)
    if is_categorical(estimator).any():
        trees, table = tree_of_categories(estimator)
    else:
        trees, table = [_sklearn_tree(estimator, within)], None
    tree = trees[0]
    classes = getattr(estimator, "classes_", None)
    if classes is not None and tree.value.shape[1] != len(classes):
        raise ValueError(
            f"{name_of(estimator)} has {len(classes)} classes_, but its tree_ holds "
            f"{tree.value.shape[1]} values a node. Fit it again."
        )
    return Reading(trees, Vote("mean", 0, 1, tree.value.shape[1]), classes, table)


def _read_forest(estimator, within):
    """RandomForest and ExtraTrees: the mean of the trees."""
    _one_output(estimator)
    classes = getattr(estimator, "classes_", None)
    n_scores = 1 if classes is None else len(classes)
    width = n_features_of(estimator)
    trees = [_sklearn_tree(member, width) for member in _members(estimator)]
    if any(tree.value.shape[1] != n_scores for tree in trees):
        raise ValueError(
            f"{name_of(estimator)} holds trees that do not share its classes_. Fit the "
            "ensemble instead of assembling it from fitted parts."
        )
    return Reading(trees, Vote("mean", 0, len(trees), n_scores, scale=len(trees)), classes)


def _read_bagging(estimator, within, rows=None):
    """Bagging: members see subsets of the features, and perhaps of the classes."""
    members = _members(estimator)
    if len(members) != estimator.n_estimators:
        raise ValueError(
            f"{name_of(estimator)} has n_estimators={estimator.n_estimators}, but holds "
            f"{len(members)} fitted estimators. Fit it again."
        )
    classes = None if isinstance(estimator, BaggingRegressor) else estimator.classes_
    n_scores = 1 if classes is None else len(classes)
    readings = []
    for member, subset in zip(members, _feature_subsets(estimator), strict=True):
        own = None if rows is None else _as_array(rows)[:, subset]
        reading = read(member, within=len(subset), rows=own)
        _check_averaged(estimator, member, reading)
        if classes is not None:
            index = _index_of(reading.classes, np.arange(n_scores), estimator)
            reading.vote = replace(reading.vote, columns=index, cut=None)
        for tree in reading.trees:
            tree.columns = subset if tree.columns is None else subset[tree.columns]
        readings.append(reading)
    trees, votes = _joined(readings, estimator)
    if all(vote.is_one_tree for vote in votes):
        if classes is not None:
            for tree, vote in zip(trees, votes, strict=True):
                tree.value = spread(tree.value, vote.columns, n_scores)
        votes = []
    vote = Vote("mean", 0, len(trees), n_scores, tuple(votes), scale=len(members))
    filled = np.zeros(estimator.n_features_in_, dtype=bool)
    for reading, subset in zip(readings, _feature_subsets(estimator), strict=True):
        if reading.filled is not None:
            filled[subset[reading.filled]] = True
    table = own_table(estimator)
    if table is not None and not table.coded.any():
        table = None
    return Reading(trees, vote, classes, table, filled if filled.any() else None)


def _as_array(rows):
    """Rows as an ensemble that checks them gives them to its members."""
    return check_array(rows, dtype=None, ensure_all_finite=False)


def _feature_subsets(estimator):
    """The features that each member of a Bagging ensemble was fitted on, checked."""
    subsets = [np.asarray(subset) for subset in estimator.estimators_features_]
    if len(subsets) != len(estimator.estimators_):
        raise ValueError(
            f"{name_of(estimator)} has estimators_features_ for {len(subsets)} members, but "
            f"{len(estimator.estimators_)} fitted estimators. Fit it again."
        )
    for i, subset in enumerate(subsets):
        width = estimator.n_features_in_
        if subset.dtype.kind not in "iu" or ((subset < 0) | (subset >= width)).any():
            raise ValueError(
                f"{name_of(estimator)} has estimators_features_[{i}]={subset.tolist()}, which are "
                f"not all features: these are 0 to {width - 1}. Fit it again."
            )
    return subsets


def _check_averaged(estimator, member, reading):
    """Check that a Bagging ensemble can take the mean of a member's answers."""
    regression = isinstance(estimator, BaggingRegressor)
    if (reading.classes is None) != regression:
        kind = DecisionTreeRegressor if regression else DecisionTreeClassifier
        raise TypeError(
            f"{name_of(estimator)} of {name_of(member)} is not supported: use a "
            f"{kind.__name__} as its estimator."
        )
    if reading.vote.is_boosted:
        raise TypeError(
            f"{name_of(estimator)} of {name_of(member)} is not supported: it averages "
            "probabilities that are no sums of leaf values. Use trees or forests."
        )


def _read_adaboost(estimator, within, rows=None):
    """AdaBoost (SAMME): weighted votes of labels."""
    classes = estimator.classes_
    n_classes = len(classes)
    weights = estimator.estimator_weights_
    scale = weights.sum()
    if not (np.isfinite(scale) and scale > 0):
        raise ValueError(
            f"{name_of(estimator)} has estimator_weights_ that sum to {scale}; a positive sum is "
            "needed. Fit it on other data or with a positive learning_rate."
        )
    members = _members(estimator)
    weights = weights[: len(members)]
    width = n_features_of(estimator)
    rows = None if rows is None else _as_array(rows)
    readings = [read(member, within=width, rows=rows) for member in members]
    for reading in readings:
        index = _index_of(reading.classes, classes, estimator)
        reading.vote = replace(reading.vote, columns=index)
    trees, votes = _joined(readings, estimator)
    vote = Vote("samme", 0, len(trees), n_classes, scale=scale, link=link_of(n_classes - 1))
    if not all(member.is_one_tree for member in votes):
        return Reading(trees, replace(vote, members=tuple(votes), weights=weights), classes)
    for tree, member, weight in zip(trees, votes, weights, strict=True):
        label = member.columns[tree.value.argmax(axis=1)]
        tree.value = samme_votes(label, weight, n_classes)
    return Reading(trees, vote, classes)


def _read_gradient_boosting(estimator, within):
    """GradientBoosting: raw sums of scaled leaf values."""
    constant = isinstance(estimator.init_, DummyRegressor) or (
        isinstance(estimator.init_, DummyClassifier)
        and estimator.init_.strategy in ("prior", "most_frequent", "constant", "uniform")
    )
    if not constant and not (isinstance(estimator.init_, str) and estimator.init_ == "zero"):
        raise ValueError(
            f"{name_of(estimator)} starts from init={name_of(estimator.init_)}(...), which is not "
            "constant. Use init=None or init='zero'."
        )
    stages = estimator.estimators_
    if stages.size == 0:
        raise ValueError(f"{name_of(estimator)} has an empty estimators_: fit it first.")
    n_scores, width = stages.shape[1], estimator.n_features_in_
    trees = []
    for stage in stages:
        for k, member in enumerate(stage):
            tree = _sklearn_tree(member, width)
            tree.value = spread(estimator.learning_rate * tree.value, [k], n_scores)
            trees.append(tree)
    row = np.zeros((1, width), dtype=np.float32)
    classes = getattr(estimator, "classes_", None)
    vote = Vote(
        "additive",
        0,
        len(trees),
        n_scores,
        init=estimator._raw_predict_init(row)[0],
        tie_upper=n_scores == 1,
        link=None if classes is None else link_of(n_scores),
        # the loss that it was fitted with, whatever its parameter says now
        slope=2.0 if type(estimator._loss).__name__ == "ExponentialLoss" else 1.0,
    )
    return Reading(trees, vote, classes)


def _read_voting(estimator, within, rows=None):
    """VotingClassifier over any classifiers read here."""
    classes = estimator.classes_
    soft = estimator.voting == "soft"
    weights = _weights_of_voting(estimator)
    width, readings = n_features_of(estimator), []
    for member in _members(estimator):
        reading = read(member, within=width, rows=rows)
        if soft and (reading.vote.is_boosted or reading.vote.rule == "hard"):
            raise TypeError(
                f"{name_of(estimator)}(voting='soft') over {name_of(member)} is not supported: its "
                "probabilities are no sums of leaf values. Use voting='hard'."
            )
        if reading.classes is None:
            raise TypeError(
                f"{name_of(estimator)} over the regressor {name_of(member)} is not supported. "
                "Use classifiers."
            )
        if soft and len(reading.classes) == len(classes):
            index = np.arange(len(classes))
        else:
            index = _index_of(reading.classes, np.arange(len(classes)), estimator)
        cut = None if soft else reading.vote.cut
        reading.vote = replace(reading.vote, columns=index, cut=cut)
        readings.append(reading)
    trees, votes = _joined(readings, estimator)
    if soft and any(len(vote.columns) != len(classes) for vote in votes):
        raise ValueError(
            f"{name_of(estimator)}(voting='soft') holds members with fewer classes than its "
            f"{len(classes)}. Fit the ensemble instead of assembling it from fitted parts."
        )
    if weights is not None and len(weights) != len(votes):
        raise ValueError(
            f"{name_of(estimator)} has {len(weights)} weights for {len(votes)} fitted "
            "estimators. Fit it again."
        )
    rule = "soft" if soft else "hard"
    filled = [reading.filled for reading in readings if reading.filled is not None]
    return Reading(
        trees,
        Vote(rule, 0, len(trees), len(classes), tuple(votes), weights),
        classes,
        filled=np.any(filled, axis=0) if filled else None,
    )


def _weights_of_voting(estimator):
    """Weights of the members of a VotingClassifier that were not dropped, or None."""
    if estimator.weights is None:
        return None
    weights = np.array(
        [
            weight
            for (_, member), weight in zip(estimator.estimators, estimator.weights, strict=True)
            if not (isinstance(member, str) and member == "drop")
        ],
        dtype=np.float64,
    )
    soft = estimator.voting == "soft"
    if not np.isfinite(weights).all() or (soft and weights.sum() == 0):
        raise ValueError(
            f"{name_of(estimator)} has weights={estimator.weights}. They must be finite"
            f"{', and their sum not zero' if soft else ''}."
        )
    if soft and (weights < 0).any():
        raise ValueError(
            f"{name_of(estimator)}(voting='soft') has weights={estimator.weights}: with a negative "
            "weight, its means of probabilities can be negative. Use weights of 0 or more, or "
            "voting='hard'."
        )
    return weights


# ------------------------------------------------------------------- cut-offs and calibration


def _read_threshold(estimator, within, rows=None):
    """A decision threshold on what a classifier of two classes answers."""
    (model,) = insides(estimator)
    return with_threshold(estimator, read(model, within=within, rows=rows))


def _read_calibrated(estimator, within, rows=None):
    """Calibrated probabilities: of one model, or the mean of those of several folds."""
    readings = [read(model, within=within, rows=rows) for model in insides(estimator)]
    reading = calibrated(estimator, readings)
    if reading is not None:
        return reading
    trees, votes = _joined(readings, estimator)
    filled = [own.filled for own in readings if own.filled is not None]
    return Reading(
        trees,
        folds_vote(readings, votes, len(trees)),
        estimator.classes_,
        filled=np.any(filled, axis=0) if filled else None,
    )


# ------------------------------------------------------------------- pipelines


def transformers_of(estimator, rows=None):
    """The transformers of a pipeline, those of pipelines in it among them, and its last step.

    `rows` are as of `read`. TypeError if a transformer is not known.
    """
    steps, last = [], estimator
    names = getattr(estimator, "feature_names_in_", None)
    while isinstance(last, Pipeline):
        _family_of(last)
        steps += last.steps[:-1]
        last = readable(last.steps[-1][1])
    check_is_fitted(last)
    return Transformers(steps, last.n_features_in_, names, rows), last


def _read_pipeline(estimator, within, rows=None):
    """Pipeline: the tests of its last step, in terms of the rows it is given."""
    transformers, last = transformers_of(estimator, rows)
    # The last step stands alone if the pipeline does: its classes may be mere names.
    reading = read(last)
    _check_width(last, len(transformers.source))
    trees = reading.trees
    if any(tree.folded for tree in trees):
        raise TypeError(
            f"{name_of(estimator)} is not supported: it ends in an ensemble that holds pipelines. "
            "Give the transformed rows to that ensemble."
        )
    if _has_categories(reading):
        raise TypeError(
            f"{name_of(estimator)} is not supported: its last step has categorical splits of "
            "transformed columns. Leave the categories to the last step, without the pipeline."
        )
    tests = [_tests_of(tree) for tree in trees]
    features = [
        tree.feature[nodes] if tree.columns is None else tree.columns[tree.feature[nodes]]
        for tree, nodes in zip(trees, tests, strict=True)
    ]
    ends = np.cumsum([len(nodes) for nodes in tests])
    folded = transformers.fold(
        np.concatenate(features),
        np.concatenate([tree.threshold[nodes] for tree, nodes in zip(trees, tests, strict=True)]),
        np.repeat([tree.dtype == "float32" for tree in trees], np.diff(ends, prepend=0)),
    )
    rescaled = transformers.rescaled[np.concatenate(features)]
    sets = []
    for tree, nodes, end in zip(trees, tests, ends, strict=True):
        tree.rescaled = bool(rescaled[end - len(nodes) : end].any())
        columns = np.arange(tree.n_features) if tree.columns is None else tree.columns
        tree.columns = transformers.source[columns]
        sets.append(_fold_tests(tree, nodes, folded, end - len(nodes)))
    if any(sets):
        reading.trees = Trees()
        for tree, own in zip(trees, sets, strict=True):
            reading.trees.add(tree, own)
    reading.table = transformers.table
    reading.filled = transformers.filled if transformers.filled.any() else None
    return reading


def _fold_tests(tree, nodes, folded, begin):
    """Let the tests of a tree ask for the columns that go into a pipeline, in place.

    Returns the tests of sets of codes, see `Trees.add`.
    """
    part = slice(begin, begin + len(nodes))
    n_nodes = len(tree.left)
    to_left = np.zeros(n_nodes, dtype=bool) if tree.missing_left is None else tree.missing_left
    threshold, goes_left = tree.threshold.copy(), to_left.copy()
    threshold[nodes] = folded.threshold[part]
    stays = folded.missing_stays[part]
    goes_left[nodes] = np.where(stays, to_left[nodes], folded.missing_passes[part])
    turned = np.zeros(n_nodes, dtype=bool)
    turned[nodes] = folded.falls[part]
    left, right = np.where(turned, tree.right, tree.left), np.where(turned, tree.left, tree.right)
    tree.left, tree.right, tree.threshold = left, right, threshold
    tree.missing_left = goes_left != turned
    tree.folded, tree.by_dtype = True, folded.by_dtype
    sets = {}
    set_of = folded.set_of[part]
    coded = np.flatnonzero(set_of >= 0)
    for node, place in zip(nodes[coded].tolist(), set_of[coded].tolist(), strict=True):
        passes, absent = folded.sets[place]
        sets[node] = np.where(absent, to_left[node], passes) if absent.any() else passes
    return sets


def _tests_of(tree):
    """Nodes with a test that makes sense; the others are complained about later."""
    known = (tree.left != -1) & (tree.feature >= 0) & (tree.feature < tree.n_features)
    return np.flatnonzero(known & ~np.isnan(tree.threshold))


# ------------------------------------------------------------------- which reader for which type

_EXCHANGE = (OnnxModel, TreeliteModel)

_CLASSES_ARE_NAMES = (
    *_EXCHANGE,
    DecisionTreeClassifier,
    RandomForestClassifier,
    ExtraTreesClassifier,
    Pipeline,
)

# Types, the methods whose arithmetic is reproduced, and how they are read.
_FAMILIES = (
    ((DecisionTreeClassifier,), ("predict", "predict_proba"), _read_tree),
    ((DecisionTreeRegressor,), ("predict",), _read_tree),
    (
        (RandomForestClassifier, ExtraTreesClassifier),
        ("predict", "predict_proba"),
        _read_forest,
    ),
    ((RandomForestRegressor, ExtraTreesRegressor), ("predict",), _read_forest),
    ((BaggingClassifier,), ("predict", "predict_proba"), _read_bagging),
    ((BaggingRegressor,), ("predict",), _read_bagging),
    ((AdaBoostClassifier,), ("predict", "decision_function"), _read_adaboost),
    ((GradientBoostingClassifier,), ("predict", "decision_function"), _read_gradient_boosting),
    ((GradientBoostingRegressor,), ("predict",), _read_gradient_boosting),
    (
        (HistGradientBoostingClassifier,),
        ("predict", "_raw_predict"),
        read_hist_gradient_boosting,
    ),
    ((HistGradientBoostingRegressor,), ("predict", "_raw_predict"), read_hist_gradient_boosting),
    ((VotingClassifier,), ("predict", "predict_proba"), _read_voting),
    (THRESHOLDS, ("predict", "predict_proba", "decision_function"), _read_threshold),
    ((CalibratedClassifierCV,), ("predict", "predict_proba"), _read_calibrated),
    ((Pipeline,), ("predict", "predict_proba"), _read_pipeline),
    (_EXCHANGE, ("predict",), read_exchange),
    ((XGBoostBooster,), ("predict", "predict_proba"), read_xgboost),
    ((LightGBMBooster,), ("predict", "predict_proba"), read_lightgbm),
)

# Readers whose ensembles pass rows on in the dtypes in which they come.
_PASS_ROWS_ON = (
    _read_bagging,
    _read_adaboost,
    _read_voting,
    _read_threshold,
    _read_calibrated,
    _read_pipeline,
)

# The same for classes of packages that are not imported here, by module and name.
_FOREIGN_FAMILIES = {
    ("xgboost", "XGBClassifier"): read_xgboost,
    ("xgboost", "XGBRegressor"): read_xgboost,
    ("lightgbm", "LGBMClassifier"): read_lightgbm,
    ("lightgbm", "LGBMRegressor"): read_lightgbm,
    ("catboost", "CatBoostClassifier"): read_catboost,
    ("catboost", "CatBoostRegressor"): read_catboost,
    ("catboost", "CatBoost"): read_catboost,
    ("interpret", "ExplainableBoostingClassifier"): read_ebm,
    ("interpret", "ExplainableBoostingRegressor"): read_ebm,
}

_SUPPORTED = (
    "DecisionTree*, RandomForest*, ExtraTrees*, Bagging* of trees, GradientBoosting*, "
    "AdaBoostClassifier, HistGradientBoosting*, XGB*, LGBM* and CatBoost* classifiers and "
    "regressors, xgboost.Booster and lightgbm.Booster, ExplainableBoosting*, VotingClassifier of "
    "these, FixedThresholdClassifier, TunedThresholdClassifierCV and CalibratedClassifierCV over "
    "these, a Pipeline of scalers, encoders and imputers that ends in one of these, a fitted "
    "GridSearchCV over one of these, and this package's estimators that hold a tree, an ensemble "
    "or a scorecard; to compare, OnnxModel and TreeliteModel"
)


def _family_of(estimator):
    """The function that reads an estimator."""
    for kind, methods, family in _candidates(type(estimator)):
        for method in methods:
            owner = owner_of(type(estimator), method)
            # this package's own forest makes numbers of its rows, and answers as its kind does
            is_known = owner is owner_of(kind, method) or owner.__module__.startswith(f"{PACKAGE}.")
            if not is_known or method in vars(estimator):
                raise TypeError(
                    f"{name_of(estimator)} is not supported: it replaces the method {method} of "
                    f"{kind.__name__}. Supported: {_SUPPORTED}."
                )
        return family
    if is_ours(estimator):
        check_is_fitted(estimator)
        if holds_reading(estimator):
            return read_held
    raise TypeError(
        f"An ensemble of type {name_of(estimator)} is not supported. Supported: {_SUPPORTED}. "
        "Methods that need no more of a model than predict: RepresenterTree, agreement, simplify."
    )


def _encodes_categories(found):
    """Whether ensembles of a type can be fitted on tables with categories."""
    own = (
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
        XGBoostBooster,
        LightGBMBooster,
    )
    if issubclass(found, own):
        return True
    return any(
        (kind.__module__.partition(".")[0], kind.__name__) in _FOREIGN_FAMILIES
        for kind in found.__mro__
    )


def takes_numbers_alone(estimator):
    """Whether an ensemble, fitted or not, is known to take no table but one of numbers."""
    if isinstance(estimator, SEARCHES):
        return takes_numbers_alone(estimator.estimator)
    if library_of(estimator) == "catboost":
        # which of its columns are none of numbers is told beforehand
        given = estimator.get_params()
        return all(given.get(f"{kind}_features") is None for kind in ("cat", "text", "embedding"))
    kinds = (kind for kinds, _, family in _FAMILIES if family in _OF_NUMBERS for kind in kinds)
    if not isinstance(estimator, tuple(kinds)) or is_ours(estimator):
        return False
    return all(
        takes_numbers_alone(value)
        for value in estimator.get_params().values()
        if hasattr(value, "fit")
    )


# Readers whose ensembles take arrays of numbers, unless a member of theirs makes such.
_OF_NUMBERS = (
    _read_tree,
    _read_forest,
    _read_bagging,
    _read_adaboost,
    _read_gradient_boosting,
    _read_voting,
)


def _candidates(found):
    for kinds, methods, family in _FAMILIES:
        for kind in kinds:
            if issubclass(found, kind):
                yield kind, methods, family
    for kind in found.__mro__:
        family = _FOREIGN_FAMILIES.get((kind.__module__.partition(".")[0], kind.__name__))
        if family is not None:
            methods = [m for m in ("predict", "predict_proba") if hasattr(kind, m)]
            yield kind, methods, family
