"""What is read before a search, and the tree that is written after it.

Probabilities in its leaves are the ensemble's own, averaged. A tree that was changed after the
search has the class of the ensemble on some share of a box of the feature space, which is counted
or drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ensemble_simplify.born_again.everywhere._grid import n_cells
from ensemble_simplify.born_again.everywhere._planner import Problem
from ensemble_simplify.born_again.everywhere._search import CellTree
from ensemble_simplify.grid import FREE, Axes, leaf_boxes, leaves_of_cells
from ensemble_simplify.reading import Forest, Model, TreeCount

# Leaves that no training row reaches get their probabilities from random points: at most so many
# in a leaf,
POINTS_PER_LEAF = 16
POINTS = 1 << 15  # and about so many in all leaves, at least one in each;
POINTS_AT_ONCE = 1 << 16  # the ensemble is asked about so many at a time.
ROWS = 1 << 20  # Rows times trees that are sent to their leaves at a time.

# Cells that are looked at one by one; where there are more, points are drawn.
EXACT_CELLS = 1 << 24
SAMPLE, BATCH = 100_000, 4096


@dataclass(eq=False)
class Reading:
    """An ensemble and its training rows, read."""

    begin: float  # when reading began, by ``time.monotonic()``
    forest: Forest
    domain: Any  # what `promised_domain` answers
    whole: Problem  # the forest inside the domain
    problem: Problem  # the same with merged thresholds: what is searched
    rows: np.ndarray  # numbers
    targets: np.ndarray
    weight: np.ndarray
    cells: np.ndarray  # int32, a column for each axis of `problem`
    answers: Any  # what `answers_to_finer_rows` gives

    @property
    def counted(self) -> np.ndarray:
        """Rows of positive weight."""
        return self.weight > 0


@dataclass(eq=False)
class TreeOnRows:
    """A tree over axes, and the training rows that it is written with."""

    tree: CellTree
    axes: Axes
    nodes: Any  # the tree over features
    rows: np.ndarray
    targets: np.ndarray
    weight: np.ndarray
    leaf_of_row: np.ndarray
    ends: np.ndarray | None  # those of `Result`

    @classmethod
    def of(cls, tree, axes, read, ends=None) -> TreeOnRows:
        """A tree with the rows, targets, weight and cells of a `Reading` or `Training`."""
        nodes, leaf_of_row = axes.decode(tree.nodes), tree.apply(read.cells)
        return cls(tree, axes, nodes, read.rows, read.targets, read.weight, leaf_of_row, ends)

    @property
    def labels(self) -> np.ndarray:
        """Class of each leaf."""
        return self.tree.nodes[self.nodes.leaves, 1]


def as_int(number):
    """A count, as an int where it is exact."""
    return int(number) if number < 2**53 else number


def cells_as_int(shape):
    """Number of cells, as an int where 64 bits hold it."""
    return as_int(n_cells(shape))


def count_in_words(number) -> str:
    """A count for people: in full while it is short."""
    if number == np.inf:
        return "more than 1e308"
    return f"{int(number):,}" if number < 1e6 else f"{number:.2g}"


def name_of(born) -> str:
    """The ensemble of an estimator, for errors."""
    return f"estimator={type(born.estimator_).__name__}(...)"


def leaf_probabilities(estimator, problem, fitted, rng, table) -> np.ndarray | None:
    """Weighted mean of an ensemble's probabilities in every leaf; None without ``predict_proba``.

    The problem is the ensemble as it was read, over its own axes; `fitted` is a `TreeOnRows`. In
    leaves that no row of positive weight reaches, random points count. `table` is what the
    estimator takes.
    """
    if not hasattr(estimator, "predict_proba") or problem.forest.n_classes == 1:
        # boosting of one class answers probabilities of two
        return None
    proba_of = _own_probabilities(estimator, problem)
    if proba_of is None:
        asked = Model(estimator, table)

        def proba_of(X):
            return asked.answers(table.rounded(X), "predict_proba")

    tree, axes, weight = fitted.tree, fitted.axes, fitted.weight
    position = np.searchsorted(np.flatnonzero(tree.is_leaf), fitted.leaf_of_row)
    count = np.bincount(position, weights=weight, minlength=tree.n_leaves)
    total = np.stack(
        [
            np.bincount(position, weights=weight * column, minlength=tree.n_leaves)
            for column in proba_of(fitted.rows).T
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
        step = max(1, ROWS // trees.n_trees)
        for first in range(0, len(X), step):
            part = slice(first, min(first + step, len(X)))
            cells = np.ascontiguousarray(axes.encode_rows(X[part]).T)
            leaves = np.empty((trees.n_trees, len(cells)), dtype=np.intp)
            leaves_of_cells(trees.nodes, trees.offsets, cells, leaves)
            for tree in leaves:
                proba[part] += forest.value.take(tree, axis=0)
        return proba / forest.vote.divisor

    return proba_of


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
    parts, total = [], 0.0
    for at, lo, hi in zip(*leaf_boxes(tree.nodes, *trees.whole), strict=True):
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
