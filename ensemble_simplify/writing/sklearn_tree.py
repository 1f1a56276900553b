"""Writing: node arrays -> a real scikit-learn decision tree.

This is the only module that touches ``sklearn.tree._tree``. scikit-learn restores a tree from
arrays without looking at them: a feature out of range crashes the interpreter, a cycle never
ends, a node of weight zero breaks importances and pruning paths. Everything is therefore checked
here first, and nodes that no training row reaches get a small positive weight.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass

import numpy as np
from sklearn.tree import BaseDecisionTree, DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.tree._tree import NODE_DTYPE, Tree
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from ensemble_simplify.grid import (
    FLOAT32_MAX,
    NO_CHILD,
    TreeNodes,
    check_integers,
    check_preorder,
    preorder,
    refuse_any,
    walk,
)
from ensemble_simplify.reading import TREE_FIELDS, not_known, unknown_fields

_NO_SPLIT = -2

# All nodes without training rows together weigh at most this fraction of the training rows.
_PSEUDO_WEIGHT = 1e-3

_PROBA_TOLERANCE = 1e-6
_CONSISTENCY_TOLERANCE = 1e-6
# Rows that the parent of a node counts for in the probabilities of the node: of 1 to 80,
# the least log loss on new rows of 19 tables, and what GENESIM takes.
SHRINKAGE = 10.0

# How far a corrected probability stays below the node's label, relative to it: wide enough to
# survive the rounding to float32 that exporters do.
_LABEL_MARGIN = 2.0**-20


def apply_nodes(nodes, X, missing_go_to_left=None):
    """Find the leaf (a node id) of each row, as scikit-learn would.

    Rows are cast to float32; they are finite thereafter, or missing. `missing_go_to_left`: see
    `write_tree`.
    """
    with np.errstate(invalid="ignore"):  # scikit-learn sums X, which may overflow both ways
        X = check_array(
            X,
            dtype=np.float32,
            ensure_min_samples=0,
            input_name="X",
            ensure_all_finite="allow-nan",
        )
    _check_features(nodes, X.shape[1])
    tree = _make_tree(
        _node_records(nodes, missing_go_to_left),
        np.zeros((nodes.n_nodes, 1, 1)),
        max_depth=nodes.depth,
        n_features=X.shape[1],
        n_classes=np.ones(1, dtype=np.intp),
    )
    return np.asarray(tree.apply(X), dtype=np.intp)


def node_counts(nodes, leaf_of_row, y_index, n_classes, sample_weight=None):
    """Count the training rows of each class in each node.

    `leaf_of_row` is what `apply_nodes` returns, `y_index` the class of each row from 0 on; weights
    are not negative (None: 1 each).

    Returns
    -------
    n_node_samples : ndarray of shape (n_nodes,), intp
        Number of rows of positive weight that pass each node.
    class_weights : ndarray of shape (n_nodes, n_classes), float64
        Their total weight by class.
    """
    position, weight = _check_rows(nodes, leaf_of_row, sample_weight)
    y_index = _check_class_index("y_index", y_index, position.shape, n_classes)
    rows = np.bincount(position[weight > 0], minlength=nodes.n_leaves)
    weights = np.bincount(
        position * n_classes + y_index, weights=weight, minlength=nodes.n_leaves * n_classes
    )
    return (
        nodes._sum_up(rows.astype(np.intp)),
        nodes._sum_up(weights.reshape(nodes.n_leaves, n_classes).astype(np.float64)),
    )


def gini(fractions):
    """Gini impurity of the class fractions in each row of an array."""
    return np.maximum(1.0 - np.square(fractions).sum(axis=1), 0.0)


def write_classifier(
    nodes,
    leaf_label,
    leaf_proba,
    leaf_of_row,
    y_index,
    classes,
    *,
    sample_weight=None,
    **columns,
):
    """Write a tree as a fitted ``sklearn.tree.DecisionTreeClassifier``.

    Weights, row counts and Gini impurities come from the training rows. A leaf that no row reaches
    counts as a small positive weight, spread over the classes as its probabilities. The value of an
    inner node is the weighted mean of its children's.

    Parameters
    ----------
    nodes : TreeNodes
    leaf_label : array-like of shape (n_leaves,) or (n_nodes,), integers
        Class index that the tree shall predict in each leaf, for the leaves in the order of
        ``nodes.leaves``, or for all nodes (of which only leaves are read).
    leaf_proba : array-like of shape (n_leaves, n_classes) or (n_nodes, n_classes), or None
        Probabilities of each leaf. Where the first largest is not that of the leaf's label, they
        are changed as little as makes it so. None: the class fractions of the leaf's training
        rows, or the label alone where there are none.
    leaf_of_row : array-like of shape (n_rows,), integers
        Leaf of each training row, as `apply_nodes` returns it.
    y_index : array-like of shape (n_rows,), integers
        Class index of each training row.
    classes : array-like of shape (n_classes,)
    sample_weight : array-like of shape (n_rows,) or None
        Non-negative weights of the training rows.
    **columns
        As of `write_tree`: ``n_features``, ``feature_names`` and ``missing_go_to_left``.
    """
    classes = np.asarray(classes)
    if classes.ndim != 1 or classes.size == 0:
        raise ValueError(
            f"classes has shape {classes.shape}. Give a one-dimensional array with at least one "
            "label."
        )
    n_classes = classes.size
    leaf_label = _check_class_index(
        "leaf_label", _of_leaves("leaf_label", leaf_label, nodes), (nodes.n_leaves,), n_classes
    )
    n_node_samples, class_weights = node_counts(
        nodes, leaf_of_row, y_index, n_classes, sample_weight
    )
    leaf_class_weights = class_weights[nodes.leaves]
    leaf_weight = leaf_class_weights.sum(axis=1)
    empty = leaf_weight <= 0
    if leaf_proba is None:
        leaf_proba = np.zeros_like(leaf_class_weights)
        leaf_proba[np.arange(nodes.n_leaves), leaf_label] = 1.0
        np.divide(leaf_class_weights, leaf_weight[:, None], out=leaf_proba, where=~empty[:, None])
    else:
        leaf_proba = _of_leaves("leaf_proba", leaf_proba, nodes)
        leaf_proba = _check_proba("leaf_proba", leaf_proba, (nodes.n_leaves, n_classes))
    leaf_proba = with_labels(leaf_proba, leaf_label)

    if empty.any():
        pseudo_weight = _pseudo_weight(leaf_weight, n_node_samples[0], empty)
        leaf_class_weights[empty] = pseudo_weight * leaf_proba[empty]
        leaf_weight = leaf_class_weights.sum(axis=1)
        class_weights = nodes._sum_up(leaf_class_weights)
    weight = nodes._sum_up(leaf_weight)
    fractions = class_weights / weight[:, None]
    return write_tree(
        nodes,
        value=_mean_up(nodes, leaf_proba, weight),
        n_node_samples=n_node_samples,
        weighted_n_node_samples=weight,
        impurity=gini(fractions),
        classes=classes,
        **columns,
    )


def write_regressor(nodes, leaf_value, leaf_of_row, y, *, sample_weight=None, **columns):
    """Write a tree as a fitted ``sklearn.tree.DecisionTreeRegressor``; see `write_classifier`.

    `leaf_value` is what the tree shall predict in each leaf, of shape (n_leaves,) or (n_nodes,),
    and `y` the target of each training row, from which the variances come. A leaf that no row
    reaches counts as a small positive weight at its value.
    """
    leaf_value = _check_finite(
        "leaf_value", _of_leaves("leaf_value", leaf_value, nodes), (nodes.n_leaves,)
    )
    position, row_weight = _check_rows(nodes, leaf_of_row, sample_weight)
    y = _check_finite("y", y, position.shape)
    n_leaves = nodes.n_leaves
    rows = np.bincount(position[row_weight > 0], minlength=n_leaves).astype(np.intp)
    leaf_weight = np.bincount(position, weights=row_weight, minlength=n_leaves).astype(np.float64)
    empty = leaf_weight <= 0
    with np.errstate(over="ignore", invalid="ignore"):
        leaf_mean = leaf_value.copy()
        np.divide(
            np.bincount(position, weights=row_weight * y, minlength=n_leaves),
            leaf_weight,
            out=leaf_mean,
            where=~empty,
        )
        leaf_squares = np.bincount(
            position, weights=row_weight * np.square(y - leaf_mean[position]), minlength=n_leaves
        )
        if empty.any():
            leaf_weight[empty] = _pseudo_weight(leaf_weight, rows.sum(), empty)
        weight = nodes._sum_up(leaf_weight)
        mean = _mean_up(nodes, leaf_mean, weight)
        squares = np.zeros(nodes.n_nodes)
        squares[nodes.leaves] = leaf_squares
        for inner in nodes._inner_by_level:
            left, right = nodes.left[inner], nodes.right[inner]
            share = weight[left] * (weight[right] / weight[inner])
            between = share * (mean[left] - mean[right]) ** 2
            squares[inner] = squares[left] + squares[right] + between
        impurity = squares / weight
    if not np.isfinite(impurity).all():
        raise ValueError(
            f"y reaches {np.abs(y).max():.3g} and sample_weight {row_weight.max():.3g}: weighted "
            "squares of that size are not finite. Scale them."
        )
    return write_tree(
        nodes,
        value=_mean_up(nodes, leaf_value, weight),
        n_node_samples=nodes._sum_up(rows),
        weighted_n_node_samples=weight,
        impurity=impurity,
        **columns,
    )


def write_tree(
    nodes,
    value,
    n_node_samples,
    weighted_n_node_samples,
    impurity,
    *,
    n_features,
    classes=None,
    feature_names=None,
    missing_go_to_left=None,
):
    """Write node arrays as a fitted scikit-learn decision tree, after checking all of them.

    Parameters
    ----------
    nodes : TreeNodes
    value : array-like of shape (n_nodes, n_classes), or (n_nodes,) without `classes`
        Class probabilities, or the predicted value, of each node.
    n_node_samples : array-like of shape (n_nodes,), integers
        Number of training rows of each node; in inner nodes the sum of the children's.
    weighted_n_node_samples : array-like of shape (n_nodes,)
        Their weight, positive; in inner nodes the sum of the children's.
    impurity : array-like of shape (n_nodes,)
        Not negative; in inner nodes not below the weighted mean of the children's. NaN in a
        regressor: the squares of its values are too large for a double.
    n_features : int
    classes : array-like of shape (n_classes,) or None
        Class labels; None writes a regressor.
    feature_names : array-like of shape (n_features,) of str, or None
    missing_go_to_left : array-like of shape (n_nodes,) of bool, or None
        Whether each split sends missing values left; None: all of them right.
    """
    _check_features(nodes, n_features)
    shape = (nodes.n_nodes,)
    if classes is None:
        value = _check_finite("value", value, shape)[:, None]
        n_classes = np.ones(1, dtype=np.intp)
    else:
        classes = np.array(classes)
        value = _check_proba("value", value, (nodes.n_nodes, classes.size))
        n_classes = np.array([classes.size], dtype=np.intp)
    rows = check_integers("n_node_samples", n_node_samples, shape)
    weight = _check_finite("weighted_n_node_samples", weighted_n_node_samples, shape)
    impurity = np.array(impurity, dtype=np.float64)
    known = ~np.isnan(impurity) if classes is None else True
    _check_finite("impurity", np.where(known, impurity, 0.0), shape)
    least_scale = 0.0 if classes is None else 1.0
    _check_statistics(nodes, rows, weight, impurity, least_scale=least_scale)
    names = _check_feature_names(feature_names, n_features)

    records = _node_records(nodes, missing_go_to_left)
    records["n_node_samples"] = rows
    records["weighted_n_node_samples"] = weight
    records["impurity"] = impurity
    tree = DecisionTreeRegressor() if classes is None else DecisionTreeClassifier()
    tree.n_features_in_ = int(n_features)
    if names is not None:
        tree.feature_names_in_ = names
    tree.n_outputs_ = 1
    if classes is not None:
        tree.classes_ = classes
        tree.n_classes_ = n_classes[0]
    tree.max_features_ = int(n_features)
    tree.tree_ = _make_tree(
        records,
        value[:, None, :],
        max_depth=nodes.depth,
        n_features=n_features,
        n_classes=n_classes,
    )
    return tree


def write_counted(nodes, n_node_samples, class_weights, *, shrinkage=0.0, votes=None, **columns):
    """Write a tree of which every node's class weights are known as a `DecisionTreeClassifier`.

    The first heaviest class of a node is its label, and impurities are Gini's.

    Parameters
    ----------
    nodes : TreeNodes
    n_node_samples : array-like of shape (n_nodes,), integers
    class_weights : ndarray of shape (n_nodes, n_classes)
    shrinkage : float, default=0.0
        Rows that the ancestors of a node count for in its values, see `shrunken`; 0: the values are
        the fractions of the class weights.
    votes : ndarray of shape (n_leaves, n_classes), or None
        Further evidence of the classes in the leaves, in the unit of the class weights.
    **columns
        As of `write_tree`: ``n_features``, ``classes``, ``feature_names``, ``missing_go_to_left``.
    """
    weight = class_weights.sum(axis=1)
    fractions = class_weights / weight[:, None]
    value = fractions
    if shrinkage > 0:
        evidence = class_weights if votes is None else class_weights + nodes._sum_up(votes)
        value = shrunken(nodes, evidence / weight_of_a_row(n_node_samples, weight), shrinkage)
        value = with_labels(value, fractions.argmax(axis=1))
    return write_tree(
        nodes,
        value=value,
        n_node_samples=n_node_samples,
        weighted_n_node_samples=weight,
        impurity=gini(fractions),
        **columns,
    )


def missing_directions(tree_estimator):
    """Where the splits of a fitted scikit-learn tree send missing values.

    Returns
    -------
    to_left : ndarray of bool, shape (n_nodes,)
        By the ids that the nodes have in the scikit-learn tree.
    seen : bool
        Whether there were missing values when the tree was fitted. Splits that saw none send them
        to the larger child, those of this package's own trees to the right; where no split does
        otherwise, it cannot be told.
    """
    tree = tree_estimator.tree_
    to_left = tree.__getstate__()["nodes"]["missing_go_to_left"].astype(bool)
    splits = np.flatnonzero(tree.children_left >= 0)
    rows = tree.n_node_samples
    left_is_larger = rows[tree.children_left[splits]] > rows[tree.children_right[splits]]
    seen = to_left[splits].any() and (to_left[splits] != left_is_larger).any()
    return to_left, bool(seen)


@dataclass(frozen=True, eq=False)
class TreeContents:
    """A fitted scikit-learn tree as arrays over nodes, which are in pre-order.

    `value`, of shape (n_nodes, n_scores), holds class probabilities, or the predicted value in one
    column; ``order[i]`` is the id that node ``i`` has in the scikit-learn tree.
    """

    nodes: TreeNodes
    value: np.ndarray
    n_node_samples: np.ndarray
    weighted_n_node_samples: np.ndarray
    impurity: np.ndarray
    order: np.ndarray


def read_nodes(tree_estimator):
    """Read a fitted scikit-learn tree with one output back into arrays.

    A threshold above the largest float32, as trees grown on missing values hold, becomes that
    number, which sends the same finite rows left. Where missing values go is not kept, nor are
    nodes that the root does not reach.
    """
    _check_tree_estimator(tree_estimator)
    if tree_estimator.n_outputs_ != 1:
        raise ValueError(
            f"tree_estimator={type(tree_estimator).__name__}(...) has "
            f"{tree_estimator.n_outputs_} outputs. Fit it on a single one."
        )
    tree = tree_estimator.tree_
    nodes, order = preorder(
        tree.children_left,
        tree.children_right,
        tree.feature,
        np.minimum(tree.threshold, FLOAT32_MAX),
        drop_unreached=True,
    )
    return TreeContents(
        nodes=nodes,
        value=tree.value[order, 0, :],
        n_node_samples=tree.n_node_samples[order].astype(np.intp),
        weighted_n_node_samples=tree.weighted_n_node_samples[order],
        impurity=tree.impurity[order],
        order=order,
    )


def pruned_copy(tree_estimator, keep_split, value=None):
    """Copy a fitted scikit-learn tree with some of its splits undone, nodes in pre-order.

    `keep_split`, of shape (n_nodes,), says which nodes of its ``tree_`` stay split. A node that
    does not becomes a leaf with its own value, weight and impurity, and its descendants go; leaves
    are not looked at. The copy has the type, parameters and fitted attributes of the tree and, in
    place of its own, the `value` (None: the same), of shape (n_nodes, n_classes) or (n_nodes, 1).
    """
    _check_tree_estimator(tree_estimator)
    keep_split = np.asarray(keep_split)
    tree = tree_estimator.tree_
    if keep_split.shape != (tree.node_count,) or keep_split.dtype != bool:
        raise ValueError(
            f"keep_split has shape {keep_split.shape} and dtype {keep_split.dtype}. Give one bool "
            f"for each of the {tree.node_count} nodes of the tree."
        )
    if value is None:
        value = tree.value
    else:
        check = _check_proba if hasattr(tree_estimator, "classes_") else _check_finite
        value = check("value", value, (tree.node_count, tree.value.shape[2]))[:, None, :]
    left = np.where(keep_split, tree.children_left, -1)
    right = np.where(keep_split, tree.children_right, -1)
    order = walk(left, right, 0)
    leaf = left[order] < 0
    new_id = np.empty(tree.node_count, dtype=np.intp)
    new_id[order] = np.arange(order.size)

    source = _own_records(tree_estimator)
    records = np.zeros(order.size, dtype=source.dtype)
    for field in records.dtype.names:
        records[field] = source[field][order]
    for field, child in (("left_child", left), ("right_child", right)):
        records[field] = np.where(leaf, NO_CHILD, new_id[np.where(leaf, 0, child[order])])
    records["missing_go_to_left"][leaf] = 0
    _mark_leaves(records, leaf)

    pruned = _make_tree(
        records,
        value[order],
        max_depth=int(check_preorder(records["left_child"], records["right_child"]).max()),
        n_features=tree.n_features,
        n_classes=np.array(tree.n_classes, dtype=np.intp),
    )
    return deepcopy(tree_estimator, {id(tree): pruned})


def embedded_copy(
    tree_estimator, *, n_features, n_classes, columns=None, classes=None, feature_names=None
):
    """Copy a fitted classification tree into a wider space of features and classes.

    `columns` and `classes` say which feature and class of the copy each of the tree's is (None: the
    same); the copy's classes are 0 to ``n_classes - 1``. Nodes keep their ids.
    """
    _check_tree_estimator(tree_estimator)
    tree = tree_estimator.tree_
    records = _own_records(tree_estimator).copy()
    split = records["left_child"] >= 0
    if columns is not None:
        columns = check_integers("columns", columns, (tree.n_features,))
        records["feature"][split] = columns[records["feature"][split]]
    if (records["feature"][split] >= n_features).any():
        raise ValueError(f"n_features={n_features}, but the tree splits on later features.")
    classes = np.arange(tree.value.shape[2]) if classes is None else classes
    classes = _check_class_index("classes", classes, (tree.value.shape[2],), n_classes)
    value = np.zeros((tree.node_count, 1, n_classes))
    value[:, :, classes] = tree.value

    wide = _make_tree(
        records,
        value,
        max_depth=int(tree.max_depth),
        n_features=int(n_features),
        n_classes=np.array([n_classes], dtype=np.intp),
    )
    copied = deepcopy(tree_estimator, {id(tree): wide})
    names = _check_feature_names(feature_names, n_features)
    vars(copied).pop("feature_names_in_", None)
    if names is not None:
        copied.feature_names_in_ = names
    copied.n_features_in_ = int(n_features)
    copied.n_classes_ = int(n_classes)
    copied.classes_ = np.arange(n_classes)
    return copied


def _own_records(tree_estimator):
    """The node records of a fitted tree, to be copied with all their fields."""
    records = tree_estimator.tree_.__getstate__()["nodes"]
    if unknown := unknown_fields(records, TREE_FIELDS):
        raise NotImplementedError(
            not_known(
                f"A {type(tree_estimator).__name__} cannot be copied: its nodes have fields that "
                f"are not known: {', '.join(unknown)}"
            )
        )
    return records


def _node_records(nodes, missing_go_to_left=None):
    """Return scikit-learn's node records with the splits filled in, the rest zero."""
    if further := sorted(set(NODE_DTYPE.names) - TREE_FIELDS):
        raise NotImplementedError(
            not_known(
                "A tree cannot be written: scikit-learn's nodes have fields that are not known: "
                f"{', '.join(further)}"
            )
        )
    records = np.zeros(nodes.n_nodes, dtype=NODE_DTYPE)  # zeros: padding is pickled too
    records["left_child"] = nodes.left
    records["right_child"] = nodes.right
    records["feature"] = nodes.feature
    records["threshold"] = nodes.threshold
    if missing_go_to_left is not None:
        records["missing_go_to_left"] = missing_go_to_left
    _mark_leaves(records, nodes.left < 0)
    return records


def _mark_leaves(records, leaf):
    """Write into records which nodes are leaves; the others compare with a threshold."""
    records["feature"][leaf] = _NO_SPLIT
    records["threshold"][leaf] = _NO_SPLIT


def _make_tree(records, values, *, max_depth, n_features, n_classes):
    """Make scikit-learn's compiled tree from checked arrays."""
    tree = Tree(n_features, n_classes, values.shape[1])
    tree.__setstate__(
        {
            "max_depth": max_depth,
            "node_count": records.size,
            "nodes": records,
            "values": np.ascontiguousarray(values, dtype=np.float64),
        }
    )
    return tree


def _check_features(nodes, n_features):
    if n_features < 1:
        raise ValueError(f"n_features={n_features}. It must be at least 1.")
    refuse_any(
        nodes.feature >= n_features,
        lambda i: (
            f"feature[{i}]={nodes.feature[i]} is out of range: n_features={n_features}, so "
            f"features are 0 to {n_features - 1}."
        ),
    )


def _check_statistics(nodes, rows, weight, impurity, *, least_scale):
    """Check that row counts and weights add up and that no split increases the impurity.

    Impurities may be off by a small part of the largest one, or of `least_scale`.
    """
    refuse_any(
        rows < 0, lambda i: f"n_node_samples[{i}]={rows[i]}. Row counts must not be negative."
    )
    refuse_any(
        weight <= 0,
        lambda i: (
            f"weighted_n_node_samples[{i}]={weight[i]}. Weights must be positive: "
            "scikit-learn divides by them. Give nodes without rows a small weight."
        ),
    )
    refuse_any(
        impurity < 0, lambda i: f"impurity[{i}]={impurity[i]}. Impurities must not be negative."
    )
    inner = np.flatnonzero(nodes.left >= 0)
    left, right = nodes.left[inner], nodes.right[inner]
    sums = (
        ("n_node_samples", rows, 0),
        ("weighted_n_node_samples", weight, _CONSISTENCY_TOLERANCE * weight[inner]),
    )
    for name, own, most in sums:
        refuse_any(
            np.abs(own[inner] - (own[left] + own[right])) > most,
            lambda i, name=name, own=own: (
                f"{name}[{i}]={own[i]} is not the sum of those of its children, nodes "
                f"{nodes.left[i]} and {nodes.right[i]}."
            ),
            inner,
        )
    share = weight[left] / weight[inner]
    below = share * impurity[left] + (1.0 - share) * impurity[right]
    slack = _CONSISTENCY_TOLERANCE * np.fmax.reduce(impurity, initial=least_scale)
    refuse_any(
        below > impurity[inner] + slack,
        lambda i: (
            f"impurity[{i}]={impurity[i]} is below the weighted mean of its children's, "
            f"nodes {nodes.left[i]} and {nodes.right[i]}. A split must not increase the impurity."
        ),
        inner,
    )


def _check_feature_names(feature_names, n_features):
    if feature_names is None:
        return None
    names = np.array(feature_names, dtype=object)
    if names.shape != (n_features,) or not all(isinstance(name, str) for name in names):
        raise ValueError(
            f"feature_names={feature_names!r} is not a list of {n_features} strings, one for each "
            "feature. Use None for features without names."
        )
    return names


def _check_finite(name, array, shape):
    array = np.array(array, dtype=np.float64)
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape} instead of {shape}.")
    if (wrong := np.argwhere(~np.isfinite(array))).size:
        i = wrong[0]
        raise ValueError(f"{name}[{', '.join(map(str, i))}]={array[tuple(i)]} is not finite.")
    return array


def _check_class_index(name, index, shape, n_classes):
    index = check_integers(name, index, shape)
    refuse_any(
        (index < 0) | (index >= n_classes),
        lambda i: (
            f"{name}[{i}]={index[i]} is not a class index: there are {n_classes} classes, "
            "counted from 0."
        ),
    )
    return index


def _check_proba(name, proba, shape):
    proba = _check_finite(name, proba, shape)
    if (wrong := np.argwhere(proba < 0)).size:
        i, k = wrong[0]
        raise ValueError(f"{name}[{i}, {k}]={proba[i, k]}. Probabilities must not be negative.")
    total = proba.sum(axis=1)
    refuse_any(
        np.abs(total - 1.0) > _PROBA_TOLERANCE,
        lambda i: f"{name}[{i}] sums to {total[i]}. Probabilities must sum to 1.",
    )
    return proba


def _check_rows(nodes, leaf_of_row, sample_weight):
    """Return the position of each row's leaf among the leaves, and the weight of each row."""
    leaf_of_row = np.asarray(leaf_of_row)
    if leaf_of_row.ndim != 1:
        raise ValueError(f"leaf_of_row has shape {leaf_of_row.shape} instead of (n_rows,).")
    leaf_of_row = check_integers("leaf_of_row", leaf_of_row, leaf_of_row.shape)
    position_of_node = np.full(nodes.n_nodes, -1, dtype=np.intp)
    position_of_node[nodes.leaves] = np.arange(nodes.n_leaves)
    known = (leaf_of_row >= 0) & (leaf_of_row < nodes.n_nodes)
    position = np.where(known, position_of_node[np.where(known, leaf_of_row, 0)], -1)
    refuse_any(
        position < 0,
        lambda i: (
            f"leaf_of_row[{i}]={leaf_of_row[i]} is not a leaf of the tree. Use the node ids "
            "that apply_nodes() returns."
        ),
    )
    if sample_weight is None:
        return position, np.ones(position.size)
    weight = _check_finite("sample_weight", sample_weight, position.shape)
    refuse_any(
        weight < 0, lambda i: f"sample_weight[{i}]={weight[i]}. Weights must not be negative."
    )
    return position, weight


def _check_tree_estimator(tree_estimator):
    if not isinstance(tree_estimator, BaseDecisionTree):
        raise TypeError(
            f"tree_estimator is a {type(tree_estimator).__name__}. Give a scikit-learn "
            "DecisionTreeClassifier or DecisionTreeRegressor (or a subclass)."
        )
    check_is_fitted(tree_estimator)


def _of_leaves(name, array, nodes):
    """Take the leaves' rows of an array that is given over leaves or over all nodes."""
    array = np.asarray(array)
    if array.ndim and array.shape[0] == nodes.n_nodes:
        return array[nodes.leaves]
    if array.ndim and array.shape[0] == nodes.n_leaves:
        return array
    raise ValueError(
        f"{name} has shape {array.shape}. Its first dimension must be the number of leaves, "
        f"{nodes.n_leaves}, or of nodes, {nodes.n_nodes}."
    )


def _pseudo_weight(leaf_weight, n_rows, empty):
    """Return the weight of a leaf that no row reaches: small beside one row and altogether."""
    total = leaf_weight.sum()
    if total <= 0:
        return 1.0
    return _PSEUDO_WEIGHT * total / max(int(n_rows), np.count_nonzero(empty))


def _mean_up(nodes, leaf_values, weight):
    """Fill the inner nodes of an array over nodes with the weighted means of their children."""
    values = np.zeros((nodes.n_nodes, *leaf_values.shape[1:]))
    values[nodes.leaves] = leaf_values
    for inner in nodes._inner_by_level:
        left, right = nodes.left[inner], nodes.right[inner]
        share = weight[left] / weight[inner]
        share = share.reshape(-1, *(1,) * (leaf_values.ndim - 1))
        values[inner] = share * values[left] + (1.0 - share) * values[right]
    return values


# ------------------------------------------------------------------- what nodes answer


def shrunken(nodes, class_weights, strength):
    """Class probabilities of all nodes by hierarchical shrinkage [1]_.

    The probabilities of a node are those of its parent, plus the difference of the two nodes' class
    fractions times ``n / (n + strength)``, where `n` is the weight of the parent. At the root, one
    row more is counted, spread evenly over the classes. So they are a weighted mean of the
    fractions on the path, and none is zero.

    Parameters
    ----------
    nodes : TreeNodes
    class_weights : ndarray of shape (n_nodes, n_classes)
        Not negative, one row weighing about one; in inner nodes the sums of the children's.
    strength : float
        Rows that the parent counts for; positive.

    Returns
    -------
    proba : ndarray of shape (n_nodes, n_classes)

    References
    ----------
    .. [1] A. Agarwal, Y. S. Tan, O. Ronen, C. Singh and B. Yu, "Hierarchical shrinkage: improving
       the accuracy and interpretability of tree-based methods", ICML 2022.
    """
    weight = class_weights.sum(axis=1)
    fraction = class_weights / np.where(weight > 0, weight, 1.0)[:, None]
    fraction[0] = (class_weights[0] + 1.0 / class_weights.shape[1]) / (weight[0] + 1.0)
    proba = fraction.copy()
    for parent in nodes._inner_by_level[::-1]:
        share = (weight[parent] / (weight[parent] + strength))[:, None]
        for child in (nodes.left[parent], nodes.right[parent]):
            # a node that no row reaches knows nothing beyond its parent
            empty = weight[child] <= 0
            fraction[child[empty]] = fraction[parent[empty]]
            proba[child] = proba[parent] + share * (fraction[child] - fraction[parent])
    return proba


def with_chances(tree_estimator, leaf_of_row, chances, sample_weight, strength=SHRINKAGE):
    """Copy a fitted classification tree with other probabilities, and the same labels.

    The probabilities of a leaf are the mean `chances` of some rows in it, drawn towards those of
    the branch above; see `shrunken`. Its label stays the most probable one; see `with_labels`. The
    probabilities of an inner node are the mean of those below it.

    Parameters
    ----------
    tree_estimator : DecisionTreeClassifier
    leaf_of_row : ndarray of shape (n_rows,), integers
        Where its ``apply`` sends each row.
    chances : ndarray of shape (n_rows, n_classes)
        What is known of the class of each row: a one for its label, or probabilities.
    sample_weight : ndarray of shape (n_rows,)
    strength : float, default=SHRINKAGE
        Rows that the branch above counts for.
    """
    contents = read_nodes(tree_estimator)
    nodes, place = contents.nodes, np.empty_like(contents.order)
    place[contents.order] = np.arange(nodes.n_nodes)
    at = place[leaf_of_row]
    sums = [
        np.bincount(at, weights=sample_weight * own, minlength=nodes.n_nodes) for own in chances.T
    ]
    sums = nodes._sum_up(np.column_stack(sums)[nodes.leaves])
    n_rows = np.count_nonzero(sample_weight)
    sums /= weight_of_a_row([n_rows], [sample_weight.sum()]) or 1.0
    leaves = nodes.leaves
    proba = shrunken(nodes, sums, strength)[leaves]
    proba = with_labels(proba, contents.value[leaves].argmax(axis=1))
    value = np.empty_like(contents.value)
    value[contents.order] = _mean_up(nodes, proba, contents.weighted_n_node_samples)
    return pruned_copy(tree_estimator, tree_estimator.tree_.children_left >= 0, value)


def weight_of_a_row(n_node_samples, weight):
    """What a row of a tree weighs; 1 where rows weigh more: they then stand for several."""
    return min(1.0, weight[0] / max(n_node_samples[0], 1))


def with_labels(proba, label):
    """Change probabilities as little as makes ``label`` their first argmax, also as float32.

    The classes that stand above the label are lowered, and the label raised, to one common level:
    the Euclidean projection on the probabilities in which the label is largest. Where ``argmax``
    would answer an earlier class of the same level, a margin goes from that class to the label.
    """
    proba = proba.copy()
    proba /= np.where(np.abs(proba.sum(axis=1) - 1.0) > 1e-12, proba.sum(axis=1), 1.0)[:, None]
    wrong = (proba.argmax(axis=1) != label) | (proba.astype(np.float32).argmax(axis=1) != label)
    p, label = proba[wrong], label[wrong]
    rows = np.arange(label.size)
    own = p[rows, label].copy()
    p[rows, label] = -1.0
    descending = -np.sort(-p, axis=1)[:, :-1]
    count = np.arange(1, descending.shape[1] + 1)
    # The level when the first `count` classes take part; it peaks where the last belongs to it.
    levels = (own[:, None] + np.cumsum(descending, axis=1)) / (count + 1)
    level = np.maximum(own, levels.max(axis=1, initial=0.0))
    earlier = np.arange(p.shape[1]) < label[:, None]
    bound = np.where(earlier, level[:, None] * (1.0 - _LABEL_MARGIN), level[:, None])
    p = np.minimum(p, bound)
    p[rows, label] = 0.0
    p[rows, label] = np.maximum(1.0 - p.sum(axis=1), level)
    proba[wrong] = p
    return proba
