"""Probabilities in the leaves of a born-again tree: the ensemble's own, averaged."""

from __future__ import annotations

import numpy as np

from ensemble_simplify.grid import leaf_boxes, leaves_of_cells
from ensemble_simplify.reading import Model, TreeCount

# Leaves that no training row reaches get their probabilities from random points: at most so many
# in a leaf,
POINTS_PER_LEAF = 16
POINTS = 1 << 15  # and about so many in all leaves, at least one in each;
POINTS_AT_ONCE = 1 << 16  # the ensemble is asked about so many at a time.
BATCH = 1 << 20  # Rows times trees that are sent to their leaves at a time.


def leaf_probabilities(estimator, problem, tree, axes, leaf_of_row, rows, weight, rng, table):
    """Weighted mean of an ensemble's probabilities in every leaf; None without ``predict_proba``.

    The problem is the ensemble as it was read, over its own axes; `axes` are those of the tree, and
    `leaf_of_row` is the node of each training row in it. In leaves that no row of positive weight
    reaches, random points count. `table` is what the estimator takes.
    """
    if not hasattr(estimator, "predict_proba") or problem.forest.n_classes == 1:
        # boosting of one class answers probabilities of two
        return None
    proba_of = _own_probabilities(estimator, problem)
    if proba_of is None:
        asked = Model(estimator, table)

        def proba_of(X):
            return asked.answers(table.rounded(X), "predict_proba")

    position = np.searchsorted(np.flatnonzero(tree.is_leaf), leaf_of_row)
    count = np.bincount(position, weights=weight, minlength=tree.n_leaves)
    total = np.stack(
        [
            np.bincount(position, weights=weight * column, minlength=tree.n_leaves)
            for column in proba_of(rows).T
        ],
        axis=1,
    )
    empty = np.flatnonzero(count == 0)
    if len(empty):
        n_points = min(POINTS_PER_LEAF, max(1, POINTS // len(empty)))
        _, first, last = leaf_boxes(tree.nodes, *axes.whole)
        for part in np.array_split(empty, -(-n_points * len(empty) // POINTS_AT_ONCE)):
            points = axes.sample(
                np.repeat(first[part], n_points, 0), np.repeat(last[part], n_points, 0), rng
            )
            proba = proba_of(points)
            total[part] = proba.reshape(len(part), n_points, -1).sum(axis=1)
        count[empty] = n_points
    proba = total / count[:, None]
    return proba / proba.sum(axis=1, keepdims=True)


def _own_probabilities(estimator, problem):
    """``predict_proba`` from the node arrays; None where it is not the mean of leaf values.

    It is for trees, forests and bagged trees. What boosting and AdaBoost answer is no mean.
    """
    forest, axes, trees = problem.forest, problem.axes, problem.trees
    if isinstance(forest.vote.numbers, TreeCount):
        # the vote counts labels here, but the nodes of the trees hold probabilities
        forest = Model.of(estimator, check=False).forest
    if not forest.vote.averages_trees:
        return None

    def proba_of(rows):
        X = np.asarray(rows).astype(np.float32, copy=False)
        proba = np.zeros((len(X), forest.n_classes))
        step = max(1, BATCH // trees.n_trees)
        for first in range(0, len(X), step):
            part = slice(first, min(first + step, len(X)))
            cells = np.ascontiguousarray(axes.encode_rows(X[part]).T)
            leaves = np.empty((trees.n_trees, len(cells)), dtype=np.intp)
            leaves_of_cells(trees.nodes, trees.offsets, cells, leaves)
            for tree in leaves:
                proba[part] += forest.value.take(tree, axis=0)
        return proba / forest.vote.divisor

    return proba_of
