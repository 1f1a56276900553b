"""Probabilities in the leaves of a born-again tree: the ensemble's own, averaged."""

from __future__ import annotations

import numpy as np

from ensemble_simplify._axes import Axes
from ensemble_simplify._regions import leaves_of_cells

# Points looked at in a leaf that no training row reaches: so many a leaf, so many in all if there
# are not more leaves than that, and so many at a time.
POINTS_PER_LEAF, POINTS, POINTS_AT_ONCE = 16, 1 << 15, 1 << 16
# Rows times trees that are sent to their leaves at a time.
BATCH = 1 << 20


def leaf_probabilities(estimator, forest, nodes, leaf_of_row, rows, weight, rng, *, axes=None):
    """Weighted mean of an ensemble's probabilities in every leaf.

    Parameters
    ----------
    estimator : fitted classifier
    forest : Forest
        The same as it was read.
    nodes : TreeNodes
        The born-again tree.
    leaf_of_row : intp array of shape (n_rows,)
    rows : array or data frame of shape (n_rows, n_features)
        Training rows; in leaves that none of positive weight reaches, random points count.
    weight : float64 array of shape (n_rows,)
    rng : RandomState
    axes : Axes or None
        Of the forest, if they are known already.

    Returns
    -------
    ndarray of shape (n_leaves, n_classes), or None if the ensemble has no ``predict_proba``
    """
    if not hasattr(estimator, "predict_proba"):
        return None
    proba_of = _own_probabilities(forest, axes) or _as_frame_of(rows, estimator.predict_proba)
    position = np.searchsorted(nodes.leaves, leaf_of_row)
    count = np.bincount(position, weights=weight, minlength=nodes.n_leaves)
    total = np.stack(
        [
            np.bincount(position, weights=weight * column, minlength=nodes.n_leaves)
            for column in proba_of(rows).T
        ],
        axis=1,
    )
    empty = np.flatnonzero(count == 0)
    if len(empty):
        n_points = min(POINTS_PER_LEAF, max(1, POINTS // len(empty)))
        draw = _points_in_leaves(nodes, forest.n_features, rng)
        for part in np.array_split(empty, -(-n_points * len(empty) // POINTS_AT_ONCE)):
            proba = proba_of(draw(nodes.leaves[part], n_points))
            total[part] = proba.reshape(len(part), n_points, -1).sum(axis=1)
        count[empty] = n_points
    proba = total / count[:, None]
    return proba / proba.sum(axis=1, keepdims=True)


def _own_probabilities(forest, axes=None):
    """``predict_proba`` from the node arrays; None where it is not the mean of leaf values.

    It is for trees, forests and bagged trees. What boosting and AdaBoost answer is no mean, and
    labels that are counted have no probabilities.
    """
    if forest.vote.rule != "mean" or forest.vote.members:
        return None
    axes = Axes.of(forest) if axes is None else axes
    trees = axes.encode_forest(forest)

    def proba_of(rows):
        X = np.asarray(rows).astype(np.float32, copy=False)
        proba = np.zeros((len(X), forest.n_classes))
        step = max(1, BATCH // len(trees))
        for first in range(0, len(X), step):
            part = slice(first, min(first + step, len(X)))
            cells = np.ascontiguousarray(axes.encode_rows(X[part]).T)
            leaves = np.empty((len(trees), len(cells)), dtype=np.intp)
            leaves_of_cells(trees.nodes, trees.offsets, cells, leaves)
            for tree in leaves:
                proba[part] += forest.value.take(tree, axis=0)
        return proba / forest.vote.scale

    return proba_of


def _as_frame_of(rows, predict_proba):
    """The function on arrays, given as frames with the column names of `rows` if it has such."""

    def proba_of(X):
        if X is not rows and hasattr(rows, "columns"):
            names = list(rows.columns)
            pandas = hasattr(rows, "iloc")
            X = type(rows)(X, **({"columns": names} if pandas else {"schema": names}))
        return predict_proba(X)

    return proba_of


def _points_in_leaves(nodes, n_features, rng):
    """A function that draws some points of each of some leaves, one leaf after the other.

    Where a leaf is unbounded, it is cut off a little outside the tree's thresholds.
    """
    lo = np.zeros((nodes.n_nodes, n_features), dtype=np.float32)
    hi = np.ones((nodes.n_nodes, n_features), dtype=np.float32)
    inner = np.flatnonzero(nodes.left >= 0)
    for j in np.unique(nodes.feature[inner]):
        thresholds = nodes.threshold[inner[nodes.feature[inner] == j]]
        margin = max(np.ptp(thresholds), abs(thresholds[0]) * 1e-3, 1e-30)
        limit = np.finfo(np.float32).max
        lo[0, j] = max(thresholds.min() - margin, -limit)
        hi[0, j] = min(thresholds.max() + margin, limit)
    level = inner[:1]
    while level.size:
        left, right, j = nodes.left[level], nodes.right[level], nodes.feature[level]
        lo[left] = lo[right] = lo[level]
        hi[left] = hi[right] = hi[level]
        hi[left, j] = lo[right, j] = nodes.threshold[level]
        level = np.concatenate([left, right])
        level = level[nodes.left[level] >= 0]

    def draw(leaves, n_points):
        first = np.repeat(lo[leaves].astype(np.float64), n_points, axis=0)
        last = np.repeat(hi[leaves].astype(np.float64), n_points, axis=0)
        return first + (last - first) * (1.0 - rng.random_sample(first.shape))

    return draw
