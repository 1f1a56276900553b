"""Step functions of a column, or of several, as trees; and models that are sums of such."""

from __future__ import annotations

from typing import Any

import numpy as np

from ensemble_simplify.reading.columns import as_objects
from ensemble_simplify.reading.family import Family
from ensemble_simplify.reading.program import Link, boosted, link_of
from ensemble_simplify.reading.table import Table
from ensemble_simplify.reading.trees import Reading, Tree


def tree_of_steps(columns, edges, points, n_features):
    """A tree with a leaf for each bin, or combination of bins; alike neighbours share one.

    Gaps go where bins with their points are, and otherwise to a leaf right below a test that sends
    nothing but gaps to the left.

    Parameters
    ----------
    columns : tuple of int
    edges : tuple of float64 arrays
        Of each column ascending doubles: bin b holds ``edges[b - 1] < x <= edges[b]``.
    points : float64 array of shape (n_bins + 1, ..., n_scores)
        The last entry along the axis of a column is for gaps.
    n_features : int
    """
    writer = _Writer(columns, edges)
    writer.grow(points)
    left, right, feature, threshold, missing_left, own = zip(*writer.nodes, strict=True)
    none = np.zeros(points.shape[-1])
    return Tree(
        name=f"a term of the columns {list(columns)}",
        left=np.array(left, dtype=np.intp),
        right=np.array(right, dtype=np.intp),
        feature=np.array(feature, dtype=np.intp),
        threshold=np.array(threshold, dtype=np.float64),
        value=np.array([none if leaf is None else leaf for leaf in own], dtype=np.float64),
        n_features=n_features,
        dtype="float64",
        missing_left=np.array(missing_left, dtype=bool),
    )


class _Writer:
    """The nodes of a tree so far, the root first."""

    def __init__(self, columns, edges):
        self.columns, self.edges = columns, edges
        self.nodes = []

    def grow(self, points, axis=0):
        """Add the nodes for the points of the bins along an axis and the later ones."""
        if axis == len(self.columns):
            return self._add(-1, 0.0, False, points)
        edges, gap = self.edges[axis], points[-1]
        # the last of each run of bins with the same points
        last = [b for b in range(len(edges)) if not np.array_equal(points[b], points[b + 1])]
        last.append(len(edges))
        same = [i for i, b in enumerate(last) if np.array_equal(points[b], gap)]
        if same:
            return self._divide(points, last, 0, len(last), same[0], axis)
        # every number is at most infinite, also where a language has no number below all others
        node = self._add(axis, np.inf, False, None)
        left = self._divide(points, last, 0, len(last), -1, axis)
        return self._join(node, left, self.grow(gap, axis + 1))

    def _divide(self, points, last, begin, end, gap, axis):
        """Halve some runs; `gap` is the run that gaps go with."""
        if end - begin == 1:
            return self.grow(points[last[begin]], axis + 1)
        # runs are halved, so that the tree is as shallow as it can be
        middle = (begin + end) // 2
        node = self._add(axis, self.edges[axis][last[middle - 1]], begin <= gap < middle, None)
        left = self._divide(points, last, begin, middle, gap, axis)
        return self._join(node, left, self._divide(points, last, middle, end, gap, axis))

    def _add(self, axis, threshold, missing_left, points):
        column = -1 if axis < 0 else self.columns[axis]
        self.nodes.append([-1, -1, column, threshold, missing_left, points])
        return len(self.nodes) - 1

    def _join(self, node, left, right):
        self.nodes[node][:2] = left, right
        return node


# ------------------------------------------------------------------- explainable boosting machines


class ExplainableBoosting(Family):
    """ExplainableBoosting* of the package interpret: the intercept, and a term after the other."""

    kinds = ("interpret.ExplainableBoostingClassifier", "interpret.ExplainableBoostingRegressor")
    title = "ExplainableBoosting*"

    def own_levels(self) -> Table | None:
        return self.read().table

    def trees(self, rows: Any = None) -> Reading:
        estimator = self.estimator
        classes = getattr(estimator, "classes_", None)
        wanted = "identity" if classes is None else "logit" if len(classes) == 2 else "mlogit"
        if estimator.link_ != wanted:
            raise ValueError(
                f"{self.name} has the link {estimator.link_!r}, which is not supported. Fit "
                f"it with an objective whose link is {wanted!r}."
            )
        n_features = len(estimator.feature_names_in_)
        levels = [_levels_of_ebm(own[0]) for own in estimator.bins_]
        trees = []
        for columns, scores in zip(estimator.term_features_, estimator.term_scores_, strict=True):
            scores, edges = np.asarray(scores, dtype=np.float64), []
            if scores.ndim == len(columns):
                scores = scores[..., None]
            for axis, j in enumerate(columns):
                bins = estimator.bins_[j]
                own = bins[min(len(columns), len(bins)) - 1]
                if levels[j] is None:
                    # a bin begins at its number; entries are those of gaps, bins, unknown levels
                    edges.append(np.nextafter(np.asarray(own, dtype=np.float64), -np.inf))
                    order = [*range(1, len(own) + 2), 0]
                else:
                    edges.append(np.arange(len(levels[j])) + 0.5)
                    order = [*(own[level] for level in levels[j]), -1, 0]
                scores = np.take(scores, order, axis=axis)
            trees.append(tree_of_steps(tuple(columns), tuple(edges), scores, n_features))
        init = np.atleast_1d(np.asarray(estimator.intercept_, dtype=np.float64))
        if not trees:
            none = np.zeros((2, len(init)))
            trees.append(tree_of_steps((0,), (np.zeros(0),), none, n_features))
        link = None if classes is None else Link(link_of(len(init)))
        vote = boosted(len(trees), len(init), init=init, link=link)
        names = np.array(list(estimator.feature_names_in_), dtype=object)
        unknown = ["refused" if known is None else "code" for known in levels]
        table = Table.of_levels(names, levels, unknown, by_text=True)
        return Reading(trees, vote, classes, table)


def _levels_of_ebm(bins):
    """The levels of a column by their places; None: it holds numbers."""
    if not isinstance(bins, dict):
        return None
    return as_objects(sorted(bins, key=lambda level: (bins[level], level)))
