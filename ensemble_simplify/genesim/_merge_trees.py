"""The exact average of fitted trees as one tree."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from sklearn.base import is_regressor

from ensemble_simplify._axes import Axes
from ensemble_simplify._base import unwrap
from ensemble_simplify._forest import read_forest, tree_estimators
from ensemble_simplify._regions import overlay
from ensemble_simplify._sklearn_tree import write_tree


def merge_trees(estimators, *, weights=None, max_leaves=100_000, time_limit=None):
    """Average fitted trees, exactly, as one tree.

    The result answers, at every point, the weighted mean of the class probabilities of
    the given models. Its leaves are the non-empty intersections of their leaves. It
    needs no data: use it to join trees that were fitted apart, for instance at sites that
    cannot share their rows.

    Parameters
    ----------
    estimators : list of fitted estimators
        Tree classifiers, or forests and bagged trees, whose mean is taken first. Classes may
        differ: a class that a model does not know has probability zero there.
    weights : array-like of shape (n_estimators,) or None, default=None
        Non-negative weights of the models, for instance their numbers of rows; None: equal.
    max_leaves : int, default=100_000
        Largest tree to build; the number of leaves can grow like the product of the trees'.
    time_limit : float or None, default=None
        Seconds after which the merge is given up.

    Returns
    -------
    tree : DecisionTreeClassifier
        Weights of its nodes are estimates: every leaf of a model shares its training weight
        equally among the leaves of the result inside it.

    Raises
    ------
    ValueError
        If a limit is exceeded, or the models were fitted on different features.
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
    >>> mean = (north.predict_proba(X) + south.predict_proba(X)) / 2
    >>> bool(abs(tree.predict_proba(X) - mean).max() < 1e-12)
    True
    """
    if isinstance(estimators, str) or not hasattr(estimators, "__len__"):
        raise TypeError(
            f"estimators={estimators!r} is not a list. Give a list of fitted tree classifiers."
        )
    if len(estimators) == 0:
        raise ValueError("estimators is empty. Give at least one fitted tree or forest.")
    if not isinstance(max_leaves, Integral) or max_leaves < 1:
        raise ValueError(f"max_leaves={max_leaves!r} must be an integer of at least 1.")
    if time_limit is not None and not time_limit > 0:
        raise ValueError(f"time_limit={time_limit!r} must be a positive number of seconds or None.")
    models = [unwrap(estimator) for estimator in estimators]
    forests = [_read_for_merge(i, model) for i, model in enumerate(models)]
    feature_names = common_features(models, forests)
    share = _check_weights(weights, len(models))
    classes, columns = _join_classes([forest.classes for forest in forests])

    axes = Axes.of(*forests)
    coded = [axes.encode_forest(forest) for forest in forests]
    nodes, parts = overlay(
        [tree for trees in coded for tree in trees],
        *axes.whole,
        max_leaves=max_leaves,
        seconds=np.inf if time_limit is None else time_limit,
    )
    if nodes is None:
        raise ValueError(
            f"The merged tree has more than max_leaves={max_leaves} leaves, or was not finished "
            f"within time_limit={time_limit} seconds. Merge fewer or smaller trees, raise the "
            "limit, or breed a small tree with GenesimClassifier."
        )
    proba = np.zeros((len(parts), len(classes)))
    leaf_weight = np.zeros(len(parts))
    column = 0
    for model, forest, trees, which, part in zip(
        models, forests, coded, columns, share, strict=True
    ):
        for t, (fitted, _) in enumerate(tree_estimators(model)):
            leaf = trees[t][parts[:, column], 1]
            proba[:, which] += forest.value[leaf] * (part / forest.n_trees)
            old = leaf - forest.offsets[t]
            of_node = fitted.tree_.weighted_n_node_samples
            pieces = np.bincount(old, minlength=len(of_node))
            leaf_weight += of_node[old] / pieces[old] / forest.n_trees
            column += 1
    leaf_weight = np.maximum(leaf_weight, leaf_weight.sum() * 1e-12)
    leaf_rows = np.rint(leaf_weight).astype(np.intp)

    tree_nodes = axes.decode(nodes)
    weight = _sums_over_leaves(nodes, leaf_weight)
    value = _sums_over_leaves(nodes, leaf_weight[:, None] * proba) / weight[:, None]
    value[tree_nodes.leaves] = proba
    return write_tree(
        tree_nodes,
        value=value,
        n_node_samples=_sums_over_leaves(nodes, leaf_rows),
        weighted_n_node_samples=weight,
        impurity=np.maximum(1.0 - np.square(value).sum(axis=1), 0.0),
        n_features=axes.n_features,
        classes=classes,
        feature_names=feature_names,
    )


def _sums_over_leaves(nodes, leaf_totals):
    """Sum of an array over the leaves (from left to right) below every node."""
    is_leaf = nodes[:, 0] < 0
    before = np.concatenate([[0], np.cumsum(is_leaf)])
    ends = np.arange(len(nodes)) + nodes[:, 2]
    running = np.concatenate([np.zeros_like(leaf_totals[:1]), np.cumsum(leaf_totals, axis=0)])
    return running[before[ends]] - running[before[:-1]]


def _read_for_merge(i, model):
    """Read a model, which must answer the mean of its trees' class probabilities."""
    name = f"estimators[{i}]={type(model).__name__}(...)"
    if is_regressor(model):
        raise TypeError(f"{name} is a regressor. merge_trees averages class probabilities.")
    forest = read_forest(model)
    if forest.vote.rule != "mean" or forest.vote.members:
        raise TypeError(
            f"{name} does not answer the mean of its trees' class probabilities. Give decision "
            "trees, random forests, extra trees or bagged trees."
        )
    return forest


def common_features(models, forests):
    """Check that all models were fitted on the same features; return their names, if any."""
    first = forests[0].n_features
    names, named = None, None
    for i, (model, forest) in enumerate(zip(models, forests, strict=True)):
        if forest.n_features != first:
            raise ValueError(
                f"estimators[{i}] was fitted on {forest.n_features} features, but estimators[0] "
                f"on {first}. All must know the same columns in the same order."
            )
        own = getattr(model, "feature_names_in_", None)
        if own is None:
            continue
        if names is not None and not np.array_equal(own, names):
            raise ValueError(
                f"estimators[{i}] was fitted on the features {list(own)}, but estimators[{named}] "
                f"on {list(names)}. All must know the same columns in the same order."
            )
        if names is None:
            names, named = own, i
    return names


def _check_weights(weights, n):
    """Shares of the models in the average."""
    if weights is None:
        return np.full(n, 1.0 / n)
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != (n,):
        raise ValueError(
            f"weights has shape {weights.shape}, but there are {n} estimators. Give one for each."
        )
    if not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() <= 0:
        raise ValueError(
            f"weights={weights.tolist()} must be finite, not negative, and have a positive sum."
        )
    return weights / weights.sum()


def _join_classes(lists):
    """All classes, sorted, and where each model's classes stand among them."""
    kinds = {np.asarray(labels).dtype.kind in "OUS" for labels in lists}
    if len(kinds) > 1:
        raise ValueError(
            "estimators mix text labels and numbers: "
            f"{[np.asarray(labels).tolist() for labels in lists]}. Fit all on labels of one kind."
        )
    classes = np.unique(np.concatenate(lists))
    return classes, [np.searchsorted(classes, labels) for labels in lists]
