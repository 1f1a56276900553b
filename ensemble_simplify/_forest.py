"""Reading: a fitted ensemble becomes plain node arrays and a vote rule.

`read_forest` answers with a `Forest`: the nodes of all trees one after the
other, what each leaf adds to the score vector, and a `Vote` that turns the
sums into a class with the arithmetic of the ensemble's own ``predict``
(``n_jobs=None``), bit for bit.

This is the only module that knows where an ensemble keeps its trees.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
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
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from ensemble_simplify._thresholds import FLOAT32_MAX, float32_below, float32_floor

# Rows times trees that `predict_index` routes at once.
_BATCH = 1 << 20


@dataclass(frozen=True, eq=False)
class Vote:
    """How leaf votes become a class.

    Attributes
    ----------
    rule : {"mean", "majority", "samme", "additive", "soft", "hard"}
        ``"mean"``: sums divided by `scale`, first argmax (for regression, the mean);
        ``"majority"``: counts of tree labels, first argmax;
        ``"samme"``: AdaBoost; sums divided by `scale`, the sum of the weights;
        ``"additive"``: boosting, sums from `init`; with one score, class 1 iff
        it is above zero, or at zero if `tie_upper`, else first argmax; after `link` if given;
        ``"soft"`` and ``"hard"``: a `VotingClassifier` over `members`.
    start, stop : int
        Its trees are ``start, ..., stop - 1``.
    n_scores : int
        Number of leading score columns in use.
    members : tuple of Vote
        Votes it is made of; if empty, it adds up leaf values itself. Besides
        ``"soft"`` and ``"hard"``, also ``"mean"`` and ``"samme"`` may have members.
    weights : ndarray of shape (n_members,) or None
        Weights of the members.
    init : ndarray of shape (n_scores of the forest,) or None
        Where the sums start.
    scale : float
        Divisor of ``"mean"`` and ``"samme"``; slope of the sigmoid.
    tie_upper : bool
        Whether the upper of two classes wins a tie.
    columns : ndarray of int or None
        Of a member: the class index, in the vote around it, of each of its classes.
    link : {None, "sigmoid", "softmax"}
        What turns the sums of ``"additive"`` into the probabilities that are compared.
    dtype : {"float64", "float32"}
        Type in which the sums of ``"additive"`` are rounded, tree after tree (float32: XGBoost).
    """

    rule: str
    start: int
    stop: int
    n_scores: int
    members: tuple[Vote, ...] = ()
    weights: np.ndarray | None = None
    init: np.ndarray | None = None
    scale: float = 1.0
    tie_upper: bool = False
    columns: np.ndarray | None = None
    link: str | None = None
    dtype: str = "float64"


class LinearVotes(NamedTuple):
    """Real-arithmetic view of a vote; see `Forest.linear_votes`."""

    value: np.ndarray
    tie_upper: bool
    error_bound: float


@dataclass(frozen=True, eq=False)
class Forest:
    """A fitted tree ensemble as plain arrays.

    Attributes
    ----------
    n_features : int
    classes : ndarray of shape (n_classes,) or None
        Original labels; None for regression.
    offsets : ndarray of intp, shape (n_trees + 1,)
        Nodes of tree ``t`` are ``offsets[t], ..., offsets[t + 1] - 1``; the first is its root.
    left, right : ndarray of intp, shape (n_nodes,)
        Children, numbered over the whole forest; -1 in leaves.
    feature : ndarray of intp, shape (n_nodes,)
        Index into all `n_features`; -1 in leaves.
    threshold : ndarray of float64, shape (n_nodes,)
        Float32-exact: a row goes left iff ``float32(x) <= threshold``.
    value : ndarray of float64, shape (n_nodes, n_scores)
        What the tree adds to the scores of a row that ends in the node.
    vote : Vote
    input_dtype : {"float32", "float64"}
        Type in which the ensemble compares. ``"float64"``: this forest is
        faithful for rows that float32 can represent.
    """

    n_features: int
    classes: np.ndarray | None
    offsets: np.ndarray
    left: np.ndarray
    right: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    value: np.ndarray
    vote: Vote
    input_dtype: str = "float32"

    @property
    def n_trees(self):
        """Number of trees."""
        return self.offsets.shape[0] - 1

    @property
    def n_nodes(self):
        """Number of nodes in all trees."""
        return self.left.shape[0]

    @property
    def n_scores(self):
        """Number of score columns."""
        return self.value.shape[1]

    @property
    def n_classes(self):
        """Number of classes; 0 for regression."""
        return 0 if self.classes is None else self.classes.shape[0]

    def apply(self, X):
        """Return the leaf in which each row ends, in every tree.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Finite rows; cast to float32.

        Returns
        -------
        ndarray of intp, shape (n_rows, n_trees)
            Node numbers over the whole forest.
        """
        return np.ascontiguousarray(self._route(_finite_float32(X)).T)

    def _route(self, X):
        """Leaves of float32 rows, of shape (n_trees, n_rows)."""
        if X.shape[1] != self.n_features:
            raise ValueError(
                f"X has {X.shape[1]} features, but the ensemble was fitted on "
                f"{self.n_features}. Pass the columns it was fitted on."
            )
        n_rows = X.shape[0]
        entries, threshold = X.ravel(), self.threshold.astype(np.float32)
        children = np.stack([self.right, self.left], axis=1).ravel()
        leaves = np.repeat(self.offsets[:-1], n_rows)
        active = np.flatnonzero(self.left[leaves] >= 0)
        node, row = leaves[active], active % n_rows * self.n_features
        while active.size:
            goes_left = entries.take(row + self.feature.take(node)) <= threshold.take(node)
            node = children.take(2 * node + goes_left)
            inner = self.left.take(node) >= 0
            leaves[active[~inner]] = node[~inner]
            active, node, row = active[inner], node[inner], row[inner]
        return leaves.reshape(self.n_trees, n_rows)

    def decide(self, sums):
        """Turn sums of leaf votes into classes, as the ensemble itself does.

        Parameters
        ----------
        sums : callable
            ``sums(start, stop, init)`` returns a float64 array of shape (n_rows,
            n_scores): `init` (None: zeros) plus the leaf votes of trees ``start,
            ..., stop - 1``, added one tree after the other in float64. May be called
            several times: once for each member, or (XGBoost) for each tree.

        Returns
        -------
        ndarray of shape (n_rows,)
            Class indices (intp); for regression, the predicted values (float64).
        """
        if self.classes is None:
            return _scores(self.vote, sums)[:, 0]
        return _labels(self.vote, sums)

    def predict_index(self, X):
        """Predict rows: class indices, or values for regression.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        X = _finite_float32(X)
        step = max(1, _BATCH // max(1, self.n_trees))
        parts = [self.decide_at(self._route(X[i : i + step])) for i in range(0, X.shape[0], step)]
        return np.concatenate(parts)

    def decide_at(self, nodes):
        """Turn the nodes where rows end into classes, or values for regression.

        Parameters
        ----------
        nodes : ndarray of intp, shape (n_trees, n_rows)
            Node numbers over the whole forest, of every tree.

        Returns
        -------
        ndarray of shape (n_rows,)
        """

        def sums(start, stop, init):
            total = np.zeros((nodes.shape[1], self.n_scores))
            if init is not None:
                total += init
            for tree in range(start, stop):
                total += self.value[nodes[tree]]
            return total

        return self.decide(sums)

    def linear_votes(self):
        """View the vote as a sum of leaf vectors in real arithmetic.

        Returns
        -------
        LinearVotes or None
            ``value`` of shape (n_nodes, n_classes), ``tie_upper`` and
            ``error_bound``. Where the sum of ``value`` over the leaves of a row
            is larger for one class than for every other by more than
            ``error_bound``, `decide` answers that class. A bound of zero means that the
            sums are exact: ties go to the first class, or to the last if
            ``tie_upper``. None where the vote is not additive: hard votes
            over forests, and regression.
        """
        if self.classes is None:
            return None
        value = np.zeros((self.n_nodes, self.n_classes))
        if not self._add_linear(self.vote, np.arange(self.n_classes), None, value):
            return None
        leaves = np.where(self.left[:, None] < 0, value, 0.0)
        magnitude = np.maximum.reduceat(np.abs(leaves).max(axis=1), self.offsets[:-1]).sum()
        vote = self.vote
        if vote.init is not None:
            magnitude += 2.0 * np.abs(vote.init).max()
        plain = vote.rule in ("majority", "hard") or (vote.rule == "mean" and not vote.members)
        if plain and (self.n_trees == 1 or _sums_are_exact(leaves, magnitude)):
            bound = 0.0
        else:
            eps = float(np.finfo(vote.dtype).eps)
            bound = 8.0 * (self.n_trees + 16) * eps * float(magnitude)
            if vote.link is not None:
                bound += _link_margin(vote)
        return LinearVotes(value, vote.tie_upper, bound)

    def _add_linear(self, vote, columns, factor, out):
        """Add `factor` times the leaf vectors of `vote` to `out`; False if there are none."""
        nodes = slice(self.offsets[vote.start], self.offsets[vote.stop])
        if vote.rule == "additive":
            out[nodes, vote.n_scores == 1 :] = self.value[nodes, : vote.n_scores]
            if vote.init is not None:
                first = slice(self.offsets[vote.start], self.offsets[vote.start + 1])
                out[first, vote.n_scores == 1 :] += vote.init[: vote.n_scores]
            return True
        if vote.rule == "hard":
            if not all(_is_one_tree(member) for member in vote.members):
                return False
            weights = np.ones(len(vote.members)) if vote.weights is None else vote.weights
            if (weights < 0).any():
                return False
            for member, weight in zip(vote.members, weights, strict=True):
                part = slice(self.offsets[member.start], self.offsets[member.stop])
                label = member.columns[self.value[part, : member.n_scores].argmax(axis=1)]
                out[np.arange(part.start, part.stop), columns[label]] = weight
            return True
        if not vote.members:
            # Without `factor`, the vote is the whole forest, and dividing cannot change its argmax.
            share = 1.0 if factor is None else factor / vote.scale
            out[nodes, columns] = self.value[nodes, : vote.n_scores] * share
            return True
        if vote.rule == "samme":
            return False
        if vote.rule == "mean":
            shares = np.full(len(vote.members), 1.0 / vote.scale)
        else:
            weights = np.ones(len(vote.members)) if vote.weights is None else vote.weights
            shares = weights / weights.sum()
        outer = 1.0 if factor is None else factor
        return all(
            m.rule != "hard" and self._add_linear(m, columns[m.columns], outer * share, out)
            for m, share in zip(vote.members, shares, strict=True)
        )


def _finite_float32(X):
    # The quick test for NaN adds up all entries: the largest float32 numbers overflow in it.
    with np.errstate(over="ignore", invalid="ignore"):
        return check_array(X, dtype=np.float32, order="C")


def _sums_are_exact(value, magnitude):
    """Whether sums of rows of `value` cannot round, nor meet when divided by a count."""
    scaled = np.ldexp(value, 20)
    return magnitude < 2.0**20 and bool((scaled == np.rint(scaled)).all())


# How a vote is counted: the NumPy expressions of scikit-learn, in its order.


def _scores(vote, sums):
    """Mean probabilities (or raw values) of a vote."""
    if vote.rule == "soft":
        probabilities = np.asarray([_member_scores(member, vote, sums) for member in vote.members])
        return np.average(probabilities, axis=0, weights=vote.weights)
    if vote.rule == "mean" and vote.members:
        total = 0.0
        for member in vote.members:
            total = total + _member_scores(member, vote, sums)
        return total / vote.scale
    if vote.dtype == "float32":
        total = vote.init[: vote.n_scores].astype(np.float32)
        for tree in range(vote.start, vote.stop):
            total = total + sums(tree, tree + 1, None)[:, : vote.n_scores].astype(np.float32)
        return total
    total = sums(vote.start, vote.stop, vote.init)[:, : vote.n_scores]
    if vote.rule in ("mean", "samme"):
        return total / vote.scale
    return total


def _member_scores(member, vote, sums):
    """Probabilities of a member, in the classes of the vote around it; labels count as ones."""
    if member.rule == "hard":
        return _one_hot(member.columns[_labels(member, sums)], vote.n_scores)
    scores = _scores(member, sums)
    if member.columns is None or scores.shape[1] == vote.n_scores:
        return scores
    full = np.zeros((scores.shape[0], vote.n_scores))
    full[:, member.columns] = scores
    return full


def _labels(vote, sums):
    """Class indices of a vote."""
    if vote.rule == "hard":
        labels = np.stack([m.columns[_labels(m, sums)] for m in vote.members], axis=1)
        weights = np.ones(len(vote.members)) if vote.weights is None else vote.weights
        counts = np.zeros((labels.shape[0], vote.n_scores))
        rows = np.arange(labels.shape[0])
        for member, weight in enumerate(weights):
            counts[rows, labels[:, member]] += weight
        # np.bincount ends at the largest label: classes beyond it cannot win, whatever the weights.
        counts[np.arange(vote.n_scores) > labels.max(axis=1)[:, None]] = -np.inf
        return counts.argmax(axis=1)
    if vote.rule == "samme":
        if vote.members:
            scores = 0.0
            for member, weight in zip(vote.members, vote.weights, strict=True):
                label = member.columns[_labels(member, sums)]
                scores = scores + _samme_votes(label, weight, vote.n_scores)
            scores = scores / vote.scale
        else:
            scores = _scores(vote, sums)
        if vote.n_scores == 2:
            return (-scores[:, 0] + scores[:, 1] > 0).astype(np.intp)
        return scores.argmax(axis=1)
    scores = _scores(vote, sums)
    if vote.rule == "additive" and vote.n_scores == 1:
        scores = scores[:, 0]
        label = (scores >= 0 if vote.tie_upper else scores > 0).astype(np.intp)
        if vote.link is not None:
            close = np.abs(scores) < _link_margin(vote)
            upper = _sigmoid(scores[close], vote.scale)
            # LightGBM's test; XGBoost's, above one half, is the same.
            label[close] = upper > 1 - upper
        return label
    label = scores.argmax(axis=1)
    if vote.rule == "additive" and vote.link is not None:
        first_two = np.partition(scores, -2, axis=1)[:, -2:]
        close = first_two[:, 1] - first_two[:, 0] < _link_margin(vote)
        label[close] = _softmax(scores[close]).argmax(axis=1)
    return label


def _link_margin(vote):
    """Scores that differ by more keep their order through the sigmoid or softmax."""
    return 64.0 * float(np.finfo(vote.dtype).eps) / abs(vote.scale)


def _exp(x):
    # The C library's exponential, which the packages use; NumPy has its own.
    return np.array([math.exp(v) for v in x.ravel().tolist()], dtype=x.dtype).reshape(x.shape)


def _sigmoid(scores, slope):
    one = scores.dtype.type(1)
    return one / (one + _exp(-scores.dtype.type(slope) * scores))


def _softmax(scores):
    powers = _exp(scores - scores.max(axis=1, keepdims=True))
    total = np.zeros(scores.shape[0])
    for k in range(scores.shape[1]):
        total += powers[:, k]
    return powers / total.astype(scores.dtype)[:, None]


def _one_hot(label, n_classes):
    return (label[:, None] == np.arange(n_classes)).astype(np.float64)


def _samme_votes(label, weight, n_classes):
    """What AdaBoost adds for a member that answers `label`."""
    if n_classes == 1:
        return np.zeros((label.shape[0], 1))
    return np.where(label[:, None] == np.arange(n_classes), weight, -1 / (n_classes - 1) * weight)


# Reading.


@dataclass(eq=False)
class _Tree:
    """One tree as its ensemble keeps it: local node ids, -1 for no child."""

    name: str
    left: np.ndarray
    right: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    value: np.ndarray
    n_features: int
    columns: np.ndarray | None  # feature subset of a Bagging ensemble
    estimator: object = None


def _name(estimator):
    return type(estimator).__name__


def _thawed(estimator):
    while isinstance(estimator, FrozenEstimator):
        estimator = estimator.estimator
    return estimator


def _one_output(estimator):
    if getattr(estimator, "n_outputs_", 1) != 1:
        raise ValueError(
            f"{_name(estimator)} was fitted on y with {estimator.n_outputs_} outputs; only one "
            "output is supported. Fit one ensemble for each column of y."
        )


def _checked_classes(estimator, classes, vote, any_order):
    """The classes of an ensemble, after checking that they are distinct and go with its vote."""
    classes = np.asarray(classes)
    distinct = classes.ndim == 1 and len(set(classes.tolist())) == len(classes)
    if not distinct or not (any_order or (classes[:-1] < classes[1:]).all()):
        raise ValueError(
            f"{_name(estimator)} has classes_={list(classes)}, which are not "
            f"{'distinct' if any_order else 'sorted and distinct'}. Fit it again."
        )
    expected = 2 if vote.rule == "additive" and vote.n_scores == 1 else vote.n_scores
    if len(classes) != expected:
        raise ValueError(
            f"{_name(estimator)} has {len(classes)} classes_, but its trees vote for {expected}. "
            "Fit it again."
        )
    return classes


def _feature_subsets(estimator):
    """The features that each member of a Bagging ensemble was fitted on, checked."""
    subsets = [np.asarray(subset) for subset in estimator.estimators_features_]
    if len(subsets) != len(estimator.estimators_):
        raise ValueError(
            f"{_name(estimator)} has estimators_features_ for {len(subsets)} members, but "
            f"{len(estimator.estimators_)} fitted estimators. Fit it again."
        )
    for i, subset in enumerate(subsets):
        width = estimator.n_features_in_
        if subset.dtype.kind not in "iu" or ((subset < 0) | (subset >= width)).any():
            raise ValueError(
                f"{_name(estimator)} has estimators_features_[{i}]={subset.tolist()}, which are "
                f"not all features: these are 0 to {width - 1}. Fit it again."
            )
    return subsets


def _index_of(labels, classes, estimator):
    """Where each of a member's `labels` stands among the `classes` of the ensemble."""
    classes = np.asarray(classes)
    index = np.minimum(np.searchsorted(classes, labels), classes.shape[0] - 1)
    if not np.array_equal(classes[index], labels):
        raise ValueError(
            f"{_name(estimator)} holds a member with classes {list(labels)}, which are not among "
            f"{list(classes)}. Fit the ensemble instead of assembling it from fitted parts."
        )
    return index.astype(np.intp)


class _Reader:
    """Collects trees while it walks through nested ensembles."""

    def __init__(self):
        self.trees = []
        self.n_features = None
        self.input_dtype = "float32"

    def read(self, estimator, columns=None):
        """Add the trees of `estimator`; return its vote and its classes (None for regression)."""
        estimator = _thawed(estimator)
        read = _reader_of(estimator)
        check_is_fitted(estimator)
        # In a tree or forest alone, classes are mere names; elsewhere they are looked up.
        names = self.n_features is None and isinstance(
            estimator, (DecisionTreeClassifier, RandomForestClassifier, ExtraTreesClassifier)
        )
        self._check_width(estimator, columns)
        vote, classes = read(self, estimator, columns)
        return vote, None if classes is None else _checked_classes(estimator, classes, vote, names)

    def _check_width(self, estimator, columns):
        """Check that a part of the ensemble was fitted on as many features as it is given."""
        if hasattr(estimator, "estimators_"):
            self._members(estimator)
        if self.n_features is None:
            self.n_features = int(estimator.n_features_in_)
        given = self.n_features if columns is None else len(columns)
        if given != estimator.n_features_in_:
            raise ValueError(
                f"An ensemble gives {given} features to a member, a {_name(estimator)} fitted on "
                f"{estimator.n_features_in_}. Fit it again."
            )

    def _members(self, estimator):
        members = list(estimator.estimators_)
        if not members:
            raise ValueError(f"{_name(estimator)} has an empty estimators_: fit it first.")
        return [_thawed(member) for member in members]

    def _add_tree(self, estimator, columns):
        check_is_fitted(estimator)
        self._check_width(estimator, columns)
        _one_output(estimator)
        if np.any(getattr(estimator, "is_categorical_", False)):
            raise ValueError(_CATEGORICAL.format(_name(estimator)))
        tree = estimator.tree_
        value = np.array(tree.value[:, 0, :], dtype=np.float64, order="C")
        self.trees.append(
            _Tree(
                name=_name(estimator),
                left=tree.children_left,
                right=tree.children_right,
                feature=tree.feature,
                threshold=tree.threshold,
                value=value,
                n_features=estimator.n_features_in_,
                columns=columns,
                estimator=estimator,
            )
        )
        return self.trees[-1]

    def tree(self, estimator, columns):
        """DecisionTreeClassifier, DecisionTreeRegressor and the extra trees."""
        start = len(self.trees)
        tree = self._add_tree(estimator, columns)
        classes = getattr(estimator, "classes_", None)
        if classes is not None and tree.value.shape[1] != len(classes):
            raise ValueError(
                f"{_name(estimator)} has {len(classes)} classes_, but its tree_ holds "
                f"{tree.value.shape[1]} values a node. Fit it again."
            )
        return Vote("mean", start, start + 1, tree.value.shape[1]), classes

    def forest(self, estimator, columns):
        """RandomForest and ExtraTrees."""
        _one_output(estimator)
        classes = getattr(estimator, "classes_", None)
        n_scores = 1 if classes is None else len(classes)
        members = self._members(estimator)
        start = len(self.trees)
        for member in members:
            if self._add_tree(member, columns).value.shape[1] != n_scores:
                raise ValueError(
                    f"{_name(estimator)} holds trees that do not share its classes_. Fit the "
                    "ensemble instead of assembling it from fitted parts."
                )
        return Vote("mean", start, len(self.trees), n_scores, scale=len(members)), classes

    def bagging(self, estimator, columns):
        """Bagging: members see subsets of the features, and perhaps of the classes."""
        members = self._members(estimator)
        if len(members) != estimator.n_estimators:
            raise ValueError(
                f"{_name(estimator)} has n_estimators={estimator.n_estimators}, but holds "
                f"{len(members)} fitted estimators. Fit it again."
            )
        regression = isinstance(estimator, BaggingRegressor)
        classes = None if regression else estimator.classes_
        n_scores = 1 if regression else len(classes)
        kind = DecisionTreeRegressor if regression else DecisionTreeClassifier
        start, votes = len(self.trees), []
        for member, subset in zip(members, _feature_subsets(estimator), strict=True):
            full = subset if columns is None else columns[subset]
            vote, own = self.read(member, full)
            if (own is None) != regression:
                raise TypeError(
                    f"{_name(estimator)} of {_name(member)} is not supported: use a "
                    f"{kind.__name__} as its estimator."
                )
            if _is_boosted(vote):
                raise TypeError(
                    f"{_name(estimator)} of {_name(member)} is not supported: it averages "
                    "probabilities that are no sums of leaf values. Use trees or forests."
                )
            index = None if regression else _index_of(own, np.arange(n_scores), estimator)
            votes.append(replace(vote, columns=index))
        if all(_is_one_tree(vote) for vote in votes):
            if not regression:
                for tree, vote in zip(self.trees[start:], votes, strict=True):
                    tree.value = _spread(tree.value, vote.columns, n_scores)
            votes = []
        return (
            Vote("mean", start, len(self.trees), n_scores, tuple(votes), scale=len(members)),
            classes,
        )

    def adaboost(self, estimator, columns):
        """AdaBoost (SAMME): weighted votes of labels."""
        classes = estimator.classes_
        n_classes = len(classes)
        weights = estimator.estimator_weights_
        scale = weights.sum()
        if not (np.isfinite(scale) and scale > 0):
            raise ValueError(
                f"{_name(estimator)} has estimator_weights_ that sum to {scale}; a positive sum is "
                "needed. Fit it on other data or with a positive learning_rate."
            )
        members = self._members(estimator)
        weights = weights[: len(members)]
        start, votes = len(self.trees), []
        for member in members:
            vote, own = self.read(member, columns)
            votes.append(replace(vote, columns=_index_of(own, classes, estimator)))
        common = {"start": start, "stop": len(self.trees), "n_scores": n_classes, "scale": scale}
        if all(_is_one_tree(vote) for vote in votes):
            for tree, vote, weight in zip(self.trees[start:], votes, weights, strict=True):
                label = vote.columns[tree.value.argmax(axis=1)]
                tree.value = _samme_votes(label, weight, n_classes)
            return Vote("samme", **common), classes
        return Vote("samme", members=tuple(votes), weights=weights, **common), classes

    def gradient_boosting(self, estimator, columns):
        """GradientBoosting: raw sums of scaled leaf values."""
        constant = isinstance(estimator.init_, DummyRegressor) or (
            isinstance(estimator.init_, DummyClassifier)
            and estimator.init_.strategy in ("prior", "most_frequent", "constant", "uniform")
        )
        if not constant and not (isinstance(estimator.init_, str) and estimator.init_ == "zero"):
            raise ValueError(
                f"{_name(estimator)} starts from init={_name(estimator.init_)}(...), which is not "
                "constant. Use init=None or init='zero'."
            )
        stages = estimator.estimators_
        if stages.size == 0:
            raise ValueError(f"{_name(estimator)} has an empty estimators_: fit it first.")
        n_scores = stages.shape[1]
        start = len(self.trees)
        for stage in stages:
            for k, member in enumerate(stage):
                tree = self._add_tree(member, columns)
                tree.value = _spread(estimator.learning_rate * tree.value, [k], n_scores)
        row = np.zeros((1, estimator.n_features_in_), dtype=np.float32)
        vote = Vote(
            "additive",
            start,
            len(self.trees),
            n_scores,
            init=estimator._raw_predict_init(row)[0],
            tie_upper=n_scores == 1,
        )
        return vote, getattr(estimator, "classes_", None)

    def voting(self, estimator, columns):
        """VotingClassifier over any classifiers read here."""
        classes = estimator.classes_
        soft = estimator.voting == "soft"
        weights = estimator.weights
        if weights is not None:
            weights = np.array(
                [
                    weight
                    for (_, member), weight in zip(estimator.estimators, weights, strict=True)
                    if not (isinstance(member, str) and member == "drop")
                ],
                dtype=np.float64,
            )
            if not np.isfinite(weights).all() or (soft and weights.sum() == 0):
                raise ValueError(
                    f"{_name(estimator)} has weights={estimator.weights}. They must be finite"
                    f"{', and their sum not zero' if soft else ''}."
                )
        start, votes = len(self.trees), []
        for member in self._members(estimator):
            vote, own = self.read(member, columns)
            if soft and (_is_boosted(vote) or vote.rule == "hard"):
                raise TypeError(
                    f"{_name(estimator)}(voting='soft') over {_name(member)} is not supported: its "
                    "probabilities are no sums of leaf values. Use voting='hard'."
                )
            if own is None:
                raise TypeError(
                    f"{_name(estimator)} over the regressor {_name(member)} is not supported. "
                    "Use classifiers."
                )
            if soft and len(own) == len(classes):
                index = np.arange(len(classes))
            else:
                index = _index_of(own, np.arange(len(classes)), estimator)
            votes.append(replace(vote, columns=index))
        if soft and any(len(vote.columns) != len(classes) for vote in votes):
            raise ValueError(
                f"{_name(estimator)}(voting='soft') holds members with fewer classes than its "
                f"{len(classes)}. Fit the ensemble instead of assembling it from fitted parts."
            )
        if weights is not None and len(weights) != len(votes):
            raise ValueError(
                f"{_name(estimator)} has {len(weights)} weights for {len(votes)} fitted "
                "estimators. Fit it again."
            )
        rule = "soft" if soft else "hard"
        vote = Vote(rule, start, len(self.trees), len(classes), tuple(votes), weights)
        return vote, classes

    def hist_gradient_boosting(self, estimator, columns):
        """HistGradientBoosting: raw sums in float64, a tie goes to class 0."""
        if np.any(getattr(estimator, "is_categorical_", None)):
            raise ValueError(_CATEGORICAL.format(_name(estimator)))
        treelite = _import_treelite(estimator)
        self.input_dtype = "float64"
        return self._boosted(treelite.sklearn.import_model(estimator), estimator, columns)

    def xgboost(self, estimator, columns):
        """XGBoost: float32 sums of trees from the base score, then sigmoid or softmax."""
        treelite = _import_treelite(estimator)
        booster = estimator.get_booster()
        if estimator.booster not in (None, "gbtree"):
            raise ValueError(
                f"{_name(estimator)} has booster={estimator.booster!r}, which is not supported. "
                "Use booster='gbtree'."
            )
        if estimator.missing is not None and np.isfinite(estimator.missing):
            raise ValueError(
                f"{_name(estimator)} has missing={estimator.missing!r}: it treats a number as "
                "missing, which is not supported. Use missing=nan."
            )
        try:
            booster = booster[: estimator.best_iteration + 1]
        except AttributeError:
            booster = estimator.get_booster()
        start = len(self.trees)
        vote, classes = self._boosted(treelite.frontend.from_xgboost(booster), estimator, columns)
        init = vote.init.astype(np.float32)
        if len(init) == 1:
            init = _base_margin(booster, init, self.trees[start:], estimator)
        return replace(vote, init=init.astype(np.float64), dtype="float32"), classes

    def lightgbm(self, estimator, columns):
        """LightGBM: float64 sums of trees, then sigmoid or softmax."""
        treelite = _import_treelite(estimator)
        text = estimator.booster_.model_to_string()
        kinds = [
            int(kind)
            for line in re.findall(r"^decision_type=(.*)$", text, re.M)
            for kind in line.split()
        ]
        if any(kind >> 2 & 3 == 1 for kind in kinds):
            raise ValueError(
                f"{_name(estimator)} was fitted with zero_as_missing=True, which is not supported. "
                "Fit it without."
            )
        options = estimator.get_params()
        for name, refused in (("boosting_type", "rf"), ("pred_early_stop", True)):
            if options.get(name) == refused:
                raise ValueError(
                    f"{_name(estimator)} has {name}={refused!r}, which is not supported. "
                    "Fit it without."
                )
        self.input_dtype = "float64"
        model = treelite.frontend.from_lightgbm(estimator.booster_)
        start = len(self.trees)
        vote, classes = self._boosted(model, estimator, columns)
        # LightGBM takes numbers up to 1e-35 for zero.
        zero = np.float32(1e-35)
        for tree in self.trees[start:]:
            t = tree.threshold
            t = np.where((t >= -zero) & (t < 0), np.nextafter(-zero, np.float32(-1)), t)
            tree.threshold = np.where((t >= 0) & (t < zero), zero, t).astype(np.float64)
        slope = re.search(r"^objective=.*sigmoid:(\S+)", text, re.M)
        return replace(vote, scale=float(slope[1]) if slope else 1.0), classes

    def _boosted(self, model, estimator, columns):
        """Add the trees of a treelite model, copied: it frees its arrays."""
        classes = estimator.classes_
        n_scores = 1 if len(classes) == 2 else len(classes)
        header = model.get_header_accessor()
        link = header.get_field("postprocessor")
        init = np.array(header.get_field("base_scores"), dtype=np.float64)
        if link != ("sigmoid" if n_scores == 1 else "softmax") or len(init) != n_scores:
            raise ValueError(
                f"{_name(estimator)} has {len(classes)} classes and ends in {link!r}, which is not "
                "supported. Fit it on at least two classes with its default objective."
            )
        start = len(self.trees)
        for index, score in enumerate(header.get_field("class_id")):
            nodes = model.get_tree_accessor(index)
            kind, sign = nodes.get_field("node_type"), nodes.get_field("cmp")
            if (kind == 2).any():
                raise ValueError(_CATEGORICAL.format(_name(estimator)))
            if nodes.get_field("leaf_vector").size or not np.isin(sign[kind == 1], (2, 3)).all():
                raise ValueError(
                    f"{_name(estimator)} has trees with vectors in their leaves or unknown tests, "
                    "which are not supported. Fit it with its default options."
                )
            threshold = nodes.get_field("threshold")
            threshold = np.where(sign == 2, float32_below(threshold), float32_floor(threshold))
            value = np.array(nodes.get_field("leaf_value"), dtype=np.float64)[:, None]
            self.trees.append(
                _Tree(
                    name=f"a tree of {_name(estimator)}",
                    left=np.array(nodes.get_field("cleft")),
                    right=np.array(nodes.get_field("cright")),
                    feature=np.array(nodes.get_field("split_index")),
                    threshold=threshold,
                    value=_spread(value, [score], n_scores),
                    n_features=estimator.n_features_in_,
                    columns=columns,
                )
            )
        histogram = isinstance(estimator, HistGradientBoostingClassifier)
        return (
            Vote(
                "additive",
                start,
                len(self.trees),
                n_scores,
                init=init,
                link=None if histogram else link,
            ),
            classes,
        )


_CATEGORICAL = (
    "{} has categorical splits, which are not supported. Encode the categories as numbers or "
    "one-hot columns."
)


def _import_treelite(estimator):
    try:
        import treelite
        import treelite.sklearn
    except ImportError as error:
        raise ImportError(
            f"Reading {_name(estimator)} needs treelite. Install it with "
            'pip install "ensemble-simplify[boosting]".'
        ) from error
    return treelite


def _base_margin(booster, guess, trees, estimator):
    """Where XGBoost starts its sums: the float32 near `guess` that reproduces its margins."""
    rows = np.concatenate([_leaf_rows(tree) for tree in trees[:20]])

    def margins(trees, base=None):
        if base is not None:
            base = np.full(rows.shape[0], base)
        return booster.inplace_predict(
            rows, iteration_range=trees, predict_type="margin", base_margin=base
        )

    ranges = ((0, 1), (0, 0))
    truth = [margins(part) for part in ranges]
    up = down = guess
    for _ in range(8):
        for base in (up, down):
            found = (margins(part, base[0]) for part in ranges)
            if all(map(np.array_equal, truth, found)):
                return base
        up, down = np.nextafter(up, np.float32(np.inf)), np.nextafter(down, np.float32(-np.inf))
    raise ValueError(
        f"The base score of {_name(estimator)} could not be found from its predictions. "
        "Move it to the CPU (set_params(device='cpu')) or fit it with base_score=0.5."
    )


def _leaf_rows(tree):
    """One row for every leaf of a tree that a row can reach."""
    rows, todo = [], [(0, np.full(tree.n_features, FLOAT32_MAX))]
    while todo:
        node, row = todo.pop()
        if tree.left[node] < 0:
            rows.append(row)
            continue
        feature = tree.feature[node]
        if row[feature] > tree.threshold[node]:
            todo.append((tree.right[node], row))
            row = row.copy()
            row[feature] = tree.threshold[node]
        todo.append((tree.left[node], row))
    return np.array(rows, dtype=np.float32)


def _is_one_tree(vote):
    return vote.rule == "mean" and not vote.members and vote.stop - vote.start == 1


def _is_boosted(vote):
    return vote.rule in ("samme", "additive") or any(
        vote.rule != "hard" and _is_boosted(member) for member in vote.members
    )


def _spread(value, columns, n_columns):
    """Put the columns of `value` at `columns` of a wider array of zeros."""
    if value.shape[1] == n_columns:
        return value
    wide = np.zeros((value.shape[0], n_columns))
    wide[:, columns] = value
    return wide


# Type, the methods whose arithmetic is reproduced, and how it is read.
_READERS = (
    ((DecisionTreeClassifier,), ("predict", "predict_proba"), _Reader.tree),
    ((DecisionTreeRegressor,), ("predict",), _Reader.tree),
    (
        (RandomForestClassifier, ExtraTreesClassifier),
        ("predict", "predict_proba"),
        _Reader.forest,
    ),
    ((RandomForestRegressor, ExtraTreesRegressor), ("predict",), _Reader.forest),
    ((BaggingClassifier,), ("predict", "predict_proba"), _Reader.bagging),
    ((BaggingRegressor,), ("predict",), _Reader.bagging),
    ((AdaBoostClassifier,), ("predict", "decision_function"), _Reader.adaboost),
    ((GradientBoostingClassifier,), ("predict", "decision_function"), _Reader.gradient_boosting),
    ((GradientBoostingRegressor,), ("predict",), _Reader.gradient_boosting),
    (
        (HistGradientBoostingClassifier,),
        ("predict", "_raw_predict"),
        _Reader.hist_gradient_boosting,
    ),
    ((VotingClassifier,), ("predict", "predict_proba"), _Reader.voting),
)

# The same for classes of packages that are not imported here, by module and name.
_FOREIGN_READERS = {
    ("xgboost", "XGBClassifier"): _Reader.xgboost,
    ("lightgbm", "LGBMClassifier"): _Reader.lightgbm,
}

_SUPPORTED = (
    "DecisionTree*, RandomForest*, ExtraTrees*, Bagging* of trees, GradientBoosting*, "
    "AdaBoostClassifier, HistGradientBoostingClassifier, XGBClassifier, LGBMClassifier and "
    "VotingClassifier of these"
)


def _owner(kind, method):
    """The class from which `kind` has its method."""
    return next(base for base in kind.__mro__ if method in vars(base))


def _reader_of(estimator):
    for kind, methods, read in _candidates(type(estimator)):
        for method in methods:
            if _owner(type(estimator), method) is not _owner(kind, method):
                raise TypeError(
                    f"{_name(estimator)} is not supported: it replaces the method {method} of "
                    f"{kind.__name__}. Supported: {_SUPPORTED}."
                )
        return read
    raise TypeError(
        f"An ensemble of type {_name(estimator)} is not supported. Supported: {_SUPPORTED}."
    )


def _candidates(found):
    for kinds, methods, read in _READERS:
        for kind in kinds:
            if issubclass(found, kind):
                yield kind, methods, read
    for kind in found.__mro__:
        read = _FOREIGN_READERS.get((kind.__module__.partition(".")[0], kind.__name__))
        if read is not None:
            yield kind, ("predict", "predict_proba"), read


def read_forest(estimator, *, voting="estimator"):
    """Read a fitted ensemble.

    Parameters
    ----------
    estimator : estimator
        A fitted ensemble of trees, or a ``FrozenEstimator`` around one. It is
        left as it is.
    voting : {"estimator", "hard"}, default="estimator"
        ``"estimator"``: the forest decides exactly as ``estimator.predict``
        (with ``n_jobs=None``). ``"hard"``: majority of the trees' labels, each
        tree with the same weight, ties to the smaller class index; not for boosting.

    Returns
    -------
    Forest

    Raises
    ------
    TypeError
        If the ensemble, or a member of it, is of a type that is not supported.
    ValueError
        If it has several outputs, `voting` does not fit it, or its node arrays are no trees.
    NotFittedError
        If it is not fitted.

    Notes
    -----
    Leaf values of GradientBoosting are scaled before they are added; a build of
    scikit-learn that fuses the two steps (not on x86-64) may round differently.
    Sums of XGBoost and LightGBM are reproduced bit for bit; the exponential of their sigmoid or
    softmax is the C library's, so for scores within 1e-5 (XGBoost) or 1e-13 (LightGBM) of a tie
    the label relies on the package using the same one.
    HistGradientBoosting and LightGBM compare float64 rows: for them the forest is
    faithful on rows that float32 can represent.
    """
    if voting not in ("estimator", "hard"):
        raise ValueError(f"voting={voting!r} is not one of 'estimator', 'hard'.")
    estimator = _thawed(estimator)
    reader = _Reader()
    vote, classes = reader.read(estimator)
    if voting == "hard":
        _count_labels(reader.trees, vote, classes, estimator)
        vote = Vote("majority", 0, len(reader.trees), len(classes))
    return _assemble(reader, vote, classes, estimator)


def tree_estimators(estimator):
    """List the fitted scikit-learn trees of an ensemble, in the order of `read_forest`.

    Parameters
    ----------
    estimator : estimator
        A fitted scikit-learn ensemble.

    Returns
    -------
    list of (DecisionTreeClassifier or DecisionTreeRegressor, ndarray or None)
        Each tree with the indices of the features it was fitted on (None: all of them).
    """
    reader = _Reader()
    reader.read(estimator)
    if any(tree.estimator is None for tree in reader.trees):
        raise TypeError(
            f"{_name(_thawed(estimator))} does not hold scikit-learn trees (it is or holds a "
            "HistGradientBoosting, XGBoost or LightGBM ensemble). Use another ensemble."
        )
    return [(tree.estimator, tree.columns) for tree in reader.trees]


def _count_labels(trees, vote, classes, estimator):
    """Let every tree vote for its label, as one."""
    if classes is None:
        raise ValueError(
            f"voting='hard' needs a classifier, but {_name(estimator)} is a regressor. "
            "Use voting='estimator'."
        )

    def count(vote, columns):
        if vote.rule in ("samme", "additive"):
            raise ValueError(
                f"voting='hard' is not defined for boosting, and {_name(estimator)} is or holds a "
                "boosted ensemble. Use voting='estimator'."
            )
        for member in vote.members:
            count(member, columns[member.columns])
        if not vote.members:
            for tree in trees[vote.start : vote.stop]:
                label = columns[tree.value[:, : vote.n_scores].argmax(axis=1)]
                tree.value = _one_hot(label, len(classes))

    count(vote, np.arange(len(classes)))


def _assemble(reader, vote, classes, estimator):
    """Join trees to a `Forest`, after checking that they are trees."""
    trees = reader.trees
    sizes = np.array([tree.left.shape[0] for tree in trees], dtype=np.intp)
    if (sizes == 0).any():
        raise ValueError(f"{_name(estimator)} holds a tree without nodes. Fit it again.")
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
    left = np.concatenate([tree.left for tree in trees]).astype(np.intp)
    right = np.concatenate([tree.right for tree in trees]).astype(np.intp)
    feature = np.concatenate([tree.feature for tree in trees]).astype(np.intp)
    threshold = np.concatenate([tree.threshold for tree in trees]).astype(np.float64)
    n_scores = max(tree.value.shape[1] for tree in trees)
    value = np.concatenate([_padded(tree.value, n_scores) for tree in trees])
    n_features = reader.n_features

    def check(bad, what):
        if bad.size:
            node = int(bad[0])
            tree = int(np.searchsorted(offsets, node, side="right")) - 1
            raise ValueError(
                f"{_name(estimator)} holds a damaged tree: in tree {tree} ({trees[tree].name}), "
                f"node {node - offsets[tree]} {what}. Fit it again."
            )

    tree_of = np.repeat(np.arange(len(trees)), sizes)
    inner = left != -1
    for child, side in ((left, "left"), (right, "right")):
        check(
            np.flatnonzero(inner & ((child < 0) | (child >= sizes[tree_of]))),
            f"has no valid {side} child",
        )
    width = np.array([tree.n_features for tree in trees])
    check(
        np.flatnonzero(inner & ((feature < 0) | (feature >= width[tree_of]))),
        "splits on an unknown feature",
    )
    check(np.flatnonzero(inner & np.isnan(threshold)), "has a threshold that is not a number")
    for tree, begin, end in zip(trees, offsets[:-1], offsets[1:], strict=True):
        if tree.columns is not None:
            part = slice(begin, end)
            feature[part] = tree.columns[np.where(inner[part], feature[part], 0)]
    check(np.flatnonzero(inner & (feature >= n_features)), "splits on an unknown feature")

    # Nodes that no path reaches (a tree cut back by hand may hold some) become leaves.
    reached = np.zeros(left.shape[0], dtype=bool)
    level = offsets[:-1]
    while level.size:
        level = np.sort(level)
        again = reached[level]
        again[1:] |= level[1:] == level[:-1]
        check(level[again], "has two parents")
        reached[level] = True
        split = level[inner[level]]
        begin = offsets[tree_of[split]]
        level = np.concatenate([left[split] + begin, right[split] + begin])
    inner &= reached
    leaf = reached & ~inner
    check(np.flatnonzero(leaf & ~np.isfinite(value).all(axis=1)), "has a value that is not finite")
    with np.errstate(over="ignore"):
        largest = np.abs(np.where(leaf[:, None], value, 0.0)).max(axis=1)
        total = np.maximum.reduceat(largest, offsets[:-1]).sum() + _largest_start(vote)
    if not np.isfinite(total):
        raise ValueError(
            f"{_name(estimator)} has values whose sums are not finite. Scale the target, or fit "
            "it again."
        )
    return Forest(
        n_features=n_features,
        classes=None if classes is None else np.asarray(classes),
        offsets=offsets,
        left=np.where(inner, left + offsets[tree_of], -1),
        right=np.where(inner, right + offsets[tree_of], -1),
        feature=np.where(inner, feature, -1),
        threshold=np.where(inner, float32_floor(threshold), -2.0),
        value=value,
        vote=_padded_vote(vote, n_scores),
        input_dtype=reader.input_dtype,
    )


def _largest_start(vote):
    """Largest absolute number from which a vote, or a member of it, starts its sums."""
    own = 0.0 if vote.init is None else np.abs(vote.init).max()
    return max([own, *map(_largest_start, vote.members)])


def _padded(value, n_scores):
    if value.shape[1] == n_scores:
        return value
    return np.pad(value, ((0, 0), (0, n_scores - value.shape[1])))


def _padded_vote(vote, n_scores):
    """Widen where sums start to the score columns of the forest."""
    members = tuple(_padded_vote(member, n_scores) for member in vote.members)
    init = vote.init
    if init is not None:
        init = np.pad(init, (0, n_scores - init.shape[0]))
    return replace(vote, members=members, init=init)
