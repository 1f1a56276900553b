"""What each node of a forest loses as a leaf: the objective of feature-budget pruning."""

from __future__ import annotations

import numpy as np

from ensemble_simplify.feature_budget.pruning._closure_problem import node_sums, order_nodes


def node_losses(forest, leaf, target, weight, counted, *, loss, labels):
    """Loss of every node as a leaf, its unit, and the node values of the pruned trees.

    O(n_rows * n_trees + n_nodes), times the number of classes. The loss of a pruning is ``unit``
    times the sum of its leaves' losses.

    Parameters
    ----------
    forest : Forest
    leaf : ndarray of int32, shape (n_rows, n_trees)
        The leaf of each row in each tree.
    target : ndarray of shape (n_rows,)
        Class indices, or values for regression.
    weight : ndarray of float64, shape (n_rows,)
    counted : ndarray of uint8, shape (n_rows, n_trees)
        Mask of the rows on which each tree is judged; empty: all of them.
    loss : {"error", "gini", "log_loss", "squared_error"}
    labels : {"tree", "sample"}
        Whether nodes keep the values of the forest, or get those of the rows.
    """
    regression = forest.classes is None
    parent = np.empty(forest.n_nodes, dtype=np.intp)
    order = np.empty(forest.n_nodes, dtype=np.intp)
    order_nodes(forest.offsets, forest.left, forest.right, parent, order)

    def sums(values, rows):
        out = np.zeros((forest.n_nodes, values.shape[1]))
        node_sums(leaf, np.ascontiguousarray(values), rows, parent, order, out)
        return out

    every = np.empty((0, 0), dtype=np.uint8)
    value = forest.value
    if regression:
        # Moments about the mean target: no digits are lost to its size.
        middle = float(np.average(target, weights=weight))
        centred = target - middle
        moments = np.column_stack([weight, weight * centred, weight * centred**2])
    else:
        moments = weight[:, None] * (target[:, None] == np.arange(forest.n_classes))
    if labels == "sample":
        total = sums(moments, every)
        value = value.copy()
        if regression:
            seen = total[:, 0] > 0
            value[seen, 0] = middle + total[seen, 1] / total[seen, 0]
        else:
            seen = total.sum(axis=1) > 0
            value[seen] = total[seen] / total[seen].sum(axis=1, keepdims=True)
    judged = sums(moments, counted)
    if regression:
        v = value[:, 0] - middle
        with np.errstate(over="ignore", invalid="ignore"):
            losses = judged[:, 2] - 2 * v * judged[:, 1] + v**2 * judged[:, 0]
        losses = np.maximum(losses, 0.0)
        mass = judged[:, 0]
    else:
        mass = judged.sum(axis=1)
        if loss == "error":
            losses = mass - judged[np.arange(len(judged)), value.argmax(axis=1)]
        elif loss == "gini":
            squares = np.square(value).sum(axis=1)
            losses = mass * (1.0 + squares) - 2.0 * (judged * value).sum(axis=1)
        else:
            floor = np.finfo(np.float64).eps
            losses = -(judged * np.log(np.clip(value, floor, 1.0))).sum(axis=1)
    if not np.isfinite(losses).all():
        raise ValueError(
            f"loss={loss!r} is not finite on these rows: values of the ensemble, or the targets, "
            "are too large. Scale the targets."
        )
    tree_mass = mass[forest.offsets[:-1]]
    if (tree_mass <= 0).any():
        t = int(np.argmin(tree_mass))
        raise ValueError(
            f"Tree {t} has no {'out-of-bag ' if counted.size else ''}row of positive weight "
            "to be judged on. Give more rows, or use errors='given'."
        )
    if counted.size:
        losses = losses / np.repeat(tree_mass, np.diff(forest.offsets))
        return losses, 1.0 / forest.n_trees, value
    return losses, 1.0 / (forest.n_trees * weight.sum()), value
