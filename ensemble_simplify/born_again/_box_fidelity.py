"""On how much of a box of the feature space a tree has the class that a forest has."""

from __future__ import annotations

import numpy as np

from ensemble_simplify.born_again.everywhere._grid import n_cells
from ensemble_simplify.grid import FREE, leaf_boxes, leaves_of_cells

# Cells that are looked at one by one; where there are more, points are drawn.
EXACT_CELLS = 1 << 24
SAMPLE, BATCH = 100_000, 4096


def fidelity(trees, tree, weights, rng, effort=1.0):
    """Share of points that a tree classifies as a forest does, and the standard error of the share.

    `weights` are probabilities of the cells of each axis, which are independent; what is outside
    the domain does not count. `effort` is a factor on the cells that are looked at one by one, and
    on the points that are drawn. The error is 0 if, and only if, all cells were looked at; both
    are NaN if points had to be drawn, and none was inside the domain.
    """
    parts = _leaf_parts(trees, tree, weights, effort * EXACT_CELLS)
    if parts is None:
        return _sampled(trees, tree, weights, rng, int(effort * SAMPLE))
    agree = total = 0.0
    for part, part_weights, label in parts:
        labels = part.labels()
        agree += _weight(labels == label, part_weights)
        total += _weight(labels != FREE, part_weights) if trees.outside is not None else 0.0
    if trees.outside is None:
        # the weights of an axis sum up to one
        total = 1.0
    return float(min(agree / total, 1.0)), 0.0


def _leaf_parts(trees, tree, weights, max_cells):
    """For each leaf, the forest restricted to it and weights; None if there are too many cells."""
    whole = np.array(trees.shape, dtype=np.int32) - 1
    boxes = leaf_boxes(tree.nodes, np.zeros_like(whole), whole)
    parts, total = [], 0.0
    for at, lo, hi in zip(*boxes, strict=True):
        part, axes, cuts = trees.restricted(lo, hi)
        total += n_cells(part.shape)
        if total > max_cells:
            return None
        merged = [weights[a][lo[a] : hi[a] + 1] for a in range(len(hi))]
        rest = np.prod([merged[a].sum() for a in range(len(hi)) if a not in axes])
        merged = [
            np.add.reduceat(merged[a], np.concatenate([[0], c - lo[a] + 1]))
            for a, c in zip(axes, cuts, strict=True)
        ]
        parts.append((part, [rest, *merged], tree.nodes[at, 1]))
    return parts


def _weight(cells, weights):
    """Weight of the cells that are True: a factor first, then the weights of each axis."""
    factor, *weights = weights
    total = cells.astype(np.float64)
    for axis_weights in reversed(weights):
        total = total @ axis_weights
    return factor * float(total)


def _sampled(trees, tree, weights, rng, size):
    offsets = np.array([0, len(tree.nodes)], dtype=np.intp)
    agree = n = 0
    for _ in range(0, size, BATCH):
        cells = np.column_stack([rng.choice(len(w), size=BATCH, p=w) for w in weights])
        cells = cells.astype(np.int32)
        labels = trees.labels_of(cells)
        inside = labels != FREE
        leaves = np.empty((1, BATCH), dtype=np.intp)
        leaves_of_cells(tree.nodes, offsets, cells, leaves)
        n += int(inside.sum())
        agree += int((leaves[0] == labels)[inside].sum())
    if n == 0:
        return np.nan, np.nan
    share = agree / n
    # as if one more point agreed and one did not: the error of the estimate is never zero
    near = (agree + 1) / (n + 2)
    return share, float(np.sqrt(near * (1 - near) / (n + 2)))
