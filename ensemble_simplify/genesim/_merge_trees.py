"""The exact average of fitted trees as one tree; and models in the codes of one table.

Columns that lack numbers stand twice in a tree over axes: with their gaps above all numbers, and
below them. A split of the first of the two sends gaps right, one of the second sends them left. So
trees that send them either way are trees over axes like all others, and no node of theirs is
doubled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier

from ensemble_simplify.base import Interval, TimeLimitError, validate_params, with_gaps
from ensemble_simplify.grid import (
    Axes,
    Splits,
    TreeNodes,
    is_late,
    limited,
    overlay,
    sized_nodes,
)
from ensemble_simplify.reading import (
    Forest,
    Model,
    Table,
    TableCodes,
    end_trees,
    on_codes,
    unwrap,
)
from ensemble_simplify.writing import (
    gini,
    missing_directions,
    read_nodes,
    shrunken,
    weight_of_a_row,
    with_labels,
    write_tree,
)


@limited
@validate_params(
    {
        "models": [Sequence, np.ndarray],
        "max_leaf_nodes": [Interval(Integral, 1, None, closed="left")],
        "shrinkage": [Interval(Real, 0, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
    },
    renamed={"estimators": "models"},
)
def merge_trees(
    models: Any,
    *,
    weights: ArrayLike | None = None,
    max_leaf_nodes: int = 100_000,
    allow_nan: bool = False,
    shrinkage: float = 0.0,
    time_limit: float | None = None,
) -> DecisionTreeClassifier | Pipeline:
    """Turn several fitted trees into one tree that is exactly their average.

    For every finite row, the result gives the weighted mean of the class probabilities of the given
    models, up to rounding, unless `shrinkage` is set. It needs no data. Use it to join trees that
    were fitted apart, for instance at sites that cannot share their rows. Its leaves are the
    non-empty intersections of the leaves of all models, so their number can grow fast.

    Read more in the :ref:`guide <merge_trees>`.

    Parameters
    ----------
    models : list of fitted estimators
        Tree classifiers, or forests and bagged trees, also behind the encoders and imputers of a
        pipeline, and this package's classifiers with a tree. A forest counts as the mean of its
        trees. The models may know different classes: a class that a model does not know has
        probability zero there. Each level of a column has to be known to all models that refuse
        unknown ones.
    weights : array-like of shape (n_models,) or None, default=None
        Non-negative weights of the models, for instance their numbers of rows. None: equal.
    max_leaf_nodes : int, default=100_000
        Raise an error if the result has more leaves. Their number can grow like the product of the
        numbers of leaves of all trees.
    time_limit : float or None, default=None
        Seconds after which the merge ends with an error.

    Returns
    -------
    tree : DecisionTreeClassifier or Pipeline
        The weights of its nodes are estimates: the training weight of each leaf of a model is
        shared equally among the leaves of the result inside it. Where the models know columns of
        text or categories, a pipeline of two steps: one that numbers the levels, and the tree. It
        predicts on their tables, and :func:`export_tree` writes it in their words.

    Other Parameters
    ----------------
    allow_nan : bool, default=False
        Whether the result is the mean on rows with missing values, too. It has more leaves then:
        where a model sends missing values left, they are split off. A single tree is always copied
        together with the sides to which it sends missing values. Unknown levels that the models
        take for missing values are always part of the mean.
    shrinkage : float, default=0.0
        How many rows the ancestors of a node count for in its class probabilities, in every tree
        before the mean is taken (hierarchical shrinkage). The probabilities are then better on new
        rows if the trees were grown deep. They are no longer exactly the mean, but the labels stay
        those of the mean. 10 is the default of `GenesimClassifier`.

    Raises
    ------
    ValueError
        If the result has too many leaves, the models were fitted on different features, or one of
        several trees was fitted on missing values and `allow_nan` is not set.
    TimeLimitError
        If the merge is not finished within `time_limit`.
    TypeError
        If a model does not average class probabilities of trees.

    See Also
    --------
    GenesimClassifier : A small tree bred from many, where the exact average is too large.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from ensemble_simplify import merge_trees
    >>> X, y = load_iris(return_X_y=True)
    >>> north = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[::2], y[::2])
    >>> south = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[1::2], y[1::2])
    >>> tree = merge_trees([north, south])
    >>> int(tree.get_n_leaves())
    6
    >>> mean = (north.predict_proba(X) + south.predict_proba(X)) / 2
    >>> bool(abs(tree.predict_proba(X) - mean).max() < 1e-12)
    True
    """
    if len(models) == 0:
        raise ValueError("models is empty. Give at least one fitted tree or forest.")
    models = [_read_for_merge(i, unwrap(model)) for i, model in enumerate(models)]
    fitted, forests = [model.estimator for model in models], [model.forest for model in models]
    feature_names = common_features(fitted, forests, "models")
    shares = _check_weights(weights, len(models))
    classes, columns = _join_classes([forest.classes for forest in forests])
    table = Table.common([model.table for model in models])
    members = [_Member.of(*pair, table) for pair in enumerate(models)]

    to_left, is_single = None, sum(len(member.trees) for member in members) == 1
    if is_single and members[0].is_as_it_was and table.is_plain:
        # An overlay would write thresholds anew, and lose where gaps go.
        nodes, leaves, to_left = _copied(members[0].forest, members[0].trees[0])
    else:
        missing = table.may_miss()
        if allow_nan or is_single:
            _refuse_filled(models)
            missing[:] = True
        else:
            _refuse_missing(fitted, members)
        missing = missing if missing.any() else None
        forests = [replace(member.forest, missing=missing) for member in members]
        axes = Axes.of(*forests)
        coded = [tree for forest in forests for tree in axes.encode_forest(forest)]
        cells, leaves = _overlaid(axes, coded, max_leaf_nodes, time_limit)
        nodes = axes.decode(cells)
    if nodes.n_leaves > max_leaf_nodes:
        raise _too_many_leaves(max_leaf_nodes)
    how = columns, shares, leaves, len(classes)
    proba, leaf_weight = _leaf_means(members, *how)
    if shrinkage > 0:
        shrunk = [member.shrunken(shrinkage) for member in members]
        # what shrinks the values must not change what the average answers
        proba = with_labels(_leaf_means(shrunk, *how)[0], proba.argmax(axis=1))
    tree = _write_mean(
        nodes,
        proba,
        leaf_weight,
        n_features=forests[0].n_features,
        classes=classes,
        feature_names=feature_names if table.is_plain else None,
        missing_go_to_left=to_left,
    )
    return tree if table.is_plain else on_codes(TableCodes(table), tree)


@dataclass(frozen=True, eq=False)
class _Member:
    """A model over the common table."""

    forest: Forest
    trees: list  # of scikit-learn
    origin: np.ndarray  # the id of each node of the forest in its tree
    is_as_it_was: bool  # whether the trees were read as they are, without a pipeline

    @classmethod
    def of(cls, i, model, table):
        """Put model `i` on a table."""
        trees, folded = zip(*end_trees(model.estimator), strict=True)
        forest = forest_on(model, table, f"models[{i}]")
        return cls(forest, list(trees), forest.own_nodes, not any(folded))

    def shrunken(self, strength) -> _Member:
        """The same with the values of every tree shrunk along its paths."""
        value = self.forest.value.copy()
        ends = pairwise(self.forest.offsets.tolist())
        for tree, (first, stop) in zip(self.trees, ends, strict=True):
            contents = read_nodes(tree)
            by_id = np.zeros((tree.tree_.node_count, value.shape[1]))
            by_id[self.origin[first:stop]] = value[first:stop]
            # what was written by others need not have the sums in the inner nodes
            at_leaves = contents.weighted_n_node_samples[:, None] * by_id[contents.order]
            nodes = contents.nodes
            counts = nodes._sum_up(at_leaves[nodes.leaves])
            row = weight_of_a_row(contents.n_node_samples, contents.weighted_n_node_samples)
            by_id[contents.order] = shrunken(nodes, counts / row, strength)
            value[first:stop] = by_id[self.origin[first:stop]]
        return replace(self, forest=replace(self.forest, value=value))


# --------------------------------------------------------------------- the merged tree


def _overlaid(axes, coded, max_leaf_nodes, time_limit) -> tuple[np.ndarray, np.ndarray]:
    """The overlay of trees over axes, and the leaves of the forests that its leaves lie in."""
    cells, leaf_of = overlay(coded, *axes.whole, max_leaves=max_leaf_nodes)
    if cells is None and is_late():
        raise TimeLimitError(
            f"The merge was not finished within time_limit={time_limit} seconds. Merge fewer or "
            "smaller trees, raise time_limit, or breed a small tree with GenesimClassifier."
        )
    if cells is None:
        raise _too_many_leaves(max_leaf_nodes)
    return cells, np.column_stack(
        [tree[leaf, 1] for tree, leaf in zip(coded, leaf_of.T, strict=True)]
    )


def _copied(forest, tree) -> tuple:
    """A single tree as it is, its leaves' ids, and where its splits send missing values."""
    contents = read_nodes(tree)
    left = forest.left[contents.order]
    feature = np.where(left >= 0, forest.feature[contents.order], -1)
    nodes = contents.nodes
    nodes = TreeNodes(nodes.left, nodes.right, feature, nodes.threshold)
    leaf_of = contents.order[nodes.leaves][:, None]
    return nodes, leaf_of, missing_directions(tree)[0][contents.order]


def _leaf_means(members, columns, shares, leaves, n_classes) -> tuple[np.ndarray, np.ndarray]:
    """Mean class probabilities of the leaves, and what they weigh."""
    proba = np.zeros((len(leaves), n_classes))
    leaf_weight = np.zeros(len(leaves))
    ids = iter(leaves.T)
    for member, which, share in zip(members, columns, shares, strict=True):
        forest = member.forest
        for tree in member.trees:
            leaf = next(ids)
            proba[:, which] += forest.value[leaf] * (share / forest.n_trees)
            # A leaf of the model lies in many of the result: its weight is shared among them.
            of_node, source = tree.tree_.weighted_n_node_samples, member.origin[leaf]
            pieces = np.bincount(source, minlength=len(of_node))
            leaf_weight += (of_node / np.maximum(pieces, 1))[source] / forest.n_trees
    # a leaf that weighs nothing would make a node whose value is not a number
    return proba, np.maximum(leaf_weight, leaf_weight.sum() * 1e-12)


def _write_mean(nodes, proba, leaf_weight, **options) -> DecisionTreeClassifier:
    """Write a tree with these probabilities and weights in its leaves."""
    sizes = sized_nodes(nodes.feature)[:, 2]

    def sums(leaf_totals):
        # a node's leaves stand one after the other, so its sum is a difference of running sums
        before = np.concatenate([[0], np.cumsum(nodes.left < 0)])
        running = np.concatenate([np.zeros_like(leaf_totals[:1]), np.cumsum(leaf_totals, axis=0)])
        return running[before[np.arange(len(sizes)) + sizes]] - running[before[:-1]]

    weight = sums(leaf_weight)
    value = sums(leaf_weight[:, None] * proba) / weight[:, None]
    # as they are: a quotient of sums rounds
    value[nodes.leaves] = proba
    return write_tree(
        nodes,
        value=value,
        n_node_samples=sums(np.rint(leaf_weight).astype(np.intp)),
        weighted_n_node_samples=weight,
        impurity=gini(value),
        **options,
    )


# --------------------------------------------------------------------- what is given


def _too_many_leaves(max_leaf_nodes) -> ValueError:
    return ValueError(
        f"The merged tree has more than max_leaf_nodes={max_leaf_nodes} leaves. Merge fewer or "
        "smaller trees, raise max_leaf_nodes, or breed a small tree with GenesimClassifier."
    )


def _refuse_missing(models, members) -> None:
    """Refuse trees that were fitted on missing values: the overlay knows finite values alone."""
    for i, (model, member) in enumerate(zip(models, members, strict=True)):
        if any(missing_directions(tree)[1] for tree in member.trees):
            raise ValueError(
                f"models[{i}]={type(model).__name__}(...) was fitted on missing values. Set "
                "allow_nan=True to have the merged tree answer them as the models do, with more "
                "leaves, or fit the models on rows without missing values."
            )


def _refuse_filled(models) -> None:
    """Refuse pipelines that fill in missing values from other columns, which no tree can do."""
    for i, model in enumerate(models):
        if model.forest.filled is not None and model.forest.filled.any():
            raise ValueError(
                f"models[{i}]={model.name}(...) fills in missing values from other columns, "
                "which the merged tree cannot do. Leave out allow_nan=True."
            )


def _read_for_merge(i, model) -> Model:
    """Read a model, which must answer the mean of its trees' class probabilities."""
    name = f"models[{i}]={type(model).__name__}(...)"
    read = Model.of(model)
    forest = read.forest
    if forest.classes is None:
        raise TypeError(f"{name} is a regressor. merge_trees averages class probabilities.")
    if not forest.vote.averages_trees or forest.vote.cut is not None:
        raise TypeError(
            f"{name} does not answer the mean of its trees' class probabilities. Give decision "
            "trees, random forests, extra trees or bagged trees."
        )
    return read


def common_features(models, forests, parameter) -> np.ndarray | None:
    """Check that all models were fitted on the same features; return their names, if any."""
    first = forests[0].n_features
    names, named = None, None
    for i, (model, forest) in enumerate(zip(models, forests, strict=True)):
        if forest.n_features != first:
            raise ValueError(
                f"{parameter}[{i}] was fitted on {forest.n_features} features, but {parameter}[0] "
                f"on {first}. All must know the same columns in the same order."
            )
        its_names = getattr(model, "feature_names_in_", None)
        if its_names is None:
            continue
        if names is not None and not np.array_equal(its_names, names):
            raise ValueError(
                f"{parameter}[{i}] was fitted on the features {list(its_names)}, but "
                f"{parameter}[{named}] "
                f"on {list(names)}. All must know the same columns in the same order."
            )
        if names is None:
            names, named = its_names, i
    return names


def _check_weights(weights, n) -> np.ndarray:
    """Shares of the models in the average."""
    if weights is None:
        return np.full(n, 1.0 / n)
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != (n,):
        raise ValueError(
            f"weights has shape {weights.shape}, but there are {n} models. Give one for each."
        )
    if not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() <= 0:
        raise ValueError(
            f"weights={weights.tolist()} must be finite, not negative, and have a positive sum."
        )
    return weights / weights.sum()


def _join_classes(lists) -> tuple[np.ndarray, list]:
    """All classes, sorted, and where each model's classes stand among them."""
    kinds = {np.asarray(labels).dtype.kind in "OUS" for labels in lists}
    if len(kinds) > 1:
        raise ValueError(
            "models mix text labels and numbers: "
            f"{[np.asarray(labels).tolist() for labels in lists]}. Fit all on labels of one kind."
        )
    classes = np.unique(np.concatenate(lists))
    return classes, [np.searchsorted(classes, labels) for labels in lists]


# --------------------------------------------------------------------- the codes of one table


def forest_on(model, table, name="estimator") -> Forest:
    """The forest of a model that was read, over the codes of another table of the same columns.

    ValueError, which calls the model by `name`, if it takes numbers where the table has text.
    """
    if not model.table.knows_kinds_of(table):
        kinds = enumerate(zip(model.table.columns, table.columns, strict=True))
        j = next(j for j, (mine, given) in kinds if not mine.knows_kind_of(given))
        raise ValueError(
            f"{name}={model.name}(...) was fitted on numbers in the column "
            f"{j if table.names is None else table.names[j]!r}, which is text in X. Give the rows "
            "that it was fitted on, or the pipeline that makes numbers of them."
        )
    return model.on_codes_of(table).forest


class GapColumns:
    """The columns of a table, and those with `gaps` (of all rows) a second time after them.

    Where there are no gaps, rows and trees stay as they are.
    """

    def __init__(self, gaps):
        self.gaps = gaps
        self.n_features = len(gaps.seen)
        self.lacking = np.flatnonzero(gaps.seen)

    def rows(self, X) -> np.ndarray:
        """Rows of all columns: NaN is above all numbers, minus infinity below them."""
        if not self.lacking.size:
            return X
        below = X[:, self.lacking]
        return np.column_stack([X, np.where(np.isnan(below), X.dtype.type(-np.inf), below)])

    def axes(self, forests) -> tuple[Axes, list]:
        """The axes of forests (or `Splits`) over the table, and their trees over these axes."""
        forests = [self._splits(forest) for forest in forests]
        return Axes.of(*forests), forests

    def _splits(self, forest):
        if not self.lacking.size:
            return forest
        forest = forest.splits
        left, right, feature, threshold = (
            a.copy() for a in (forest.left, forest.right, forest.feature, forest.threshold)
        )
        # Gaps are above all numbers of a column, and below those of its twin: a split that sends
        # them left tests the twin.
        twin = np.full(self.n_features, -1)
        twin[self.lacking] = self.n_features + np.arange(len(self.lacking))
        if forest.missing_left is not None:
            turned = np.flatnonzero((feature >= 0) & forest.missing_left & (twin[feature] >= 0))
            # gaps alone go left: they stand on the right of an infinite threshold
            alone = turned[threshold[turned] == -np.inf]
            left[alone], right[alone] = right[alone], left[alone]
            threshold[alone] = np.inf
            others = turned[threshold[turned] < np.inf]
            feature[others] = twin[feature[others]]
        missing = np.append(self.gaps.seen, np.zeros(len(self.lacking), dtype=bool))
        arrays = left, right, feature, threshold
        return Splits(len(missing), forest.offsets, *arrays, missing=missing, source=forest.source)

    def written(self, nodes, n_rows) -> tuple:
        """A tree over the columns of the table; as `with_gaps` answers."""
        below = nodes.feature >= self.n_features
        feature = nodes.feature.copy()
        feature[below] = self.lacking[feature[below] - self.n_features]
        nodes = TreeNodes(nodes.left, nodes.right, feature, nodes.threshold)
        return with_gaps(nodes, self.gaps, n_rows, below)
