"""Axes of cut points: the only encoder and decoder between values and codes.

An axis is the sorted distinct cut points of a feature. The code of a value on it counts the cut
points below, so that ``x <= cuts[c]`` is ``code <= c``: codes number the cells of the axis. Where a
feature may be missing, its last cut point is infinity, and the last cell is "missing": a cell like
the others, on whose side no comparison is true. Trees over axes are the arrays of `_regions.pyx`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ensemble_simplify.grid._limits import check_time
from ensemble_simplify.grid._regions import encode_trees, leaves_of_cells, with_sizes
from ensemble_simplify.grid.thresholds import (
    FLOAT32_MAX,
    cut_points,
    float32_floor,
    next_after,
    rounding_boundary,
    shortest_decimal,
)
from ensemble_simplify.grid.tree_nodes import TreeNodes

# Nodes of trees with a cell for missing values: 12 bytes each.
MAX_NODES = 1 << 27


@dataclass(frozen=True, eq=False)
class CodedTrees:
    """Trees over axes, one after the other.

    Attributes
    ----------
    nodes : int32 array of shape (n_nodes, 3)
        Columns axis, cut and size; the number of a leaf is its id in the forest.
    offsets : intp array of shape (n_trees + 1,)
        Tree t stands in the rows ``offsets[t], ..., offsets[t + 1] - 1``.
    """

    nodes: np.ndarray
    offsets: np.ndarray

    def __len__(self):
        return len(self.offsets) - 1

    def __getitem__(self, t):
        if not 0 <= t < len(self):
            raise IndexError(t)
        return self.nodes[self.offsets[t] : self.offsets[t + 1]]

    def leaves(self, cells):
        """The leaf of each cell, int32 of shape (n, n_axes), in each tree: (n_trees, n) ids."""
        found = np.empty((len(self), len(cells)), dtype=np.intp)
        leaves_of_cells(self.nodes, self.offsets, np.ascontiguousarray(cells), found)
        return found


@dataclass(frozen=True, eq=False)
class Splits:
    """The splits of trees, as in a `Forest`, without what the leaves say.

    Node arrays are numbered over all trees, whose roots are the first `offsets`; children and
    features are -1 in leaves, thresholds are float32-exact. `source` has the leaves that trees over
    axes are to name, by the nodes here; None: these are named themselves.
    """

    n_features: int
    offsets: np.ndarray
    left: np.ndarray
    right: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    missing_left: np.ndarray | None = None
    missing: np.ndarray | None = None
    row_dtype: str = "float32"
    source: np.ndarray | None = None

    @property
    def splits(self) -> Splits:
        """The same; a `Forest` has its splits by this name."""
        return self

    @classmethod
    def of_tree(cls, nodes, n_features):
        """The splits of one tree that was decoded (or read from scikit-learn)."""
        offsets = np.array([0, nodes.n_nodes], dtype=np.intp)
        threshold = float32_floor(nodes.threshold)
        return cls(n_features, offsets, nodes.left, nodes.right, nodes.feature, threshold)

    @property
    def n_nodes(self):
        """Number of nodes of all trees."""
        return len(self.left)


class Axes:
    """The features that are split on, with their cut points.

    Parameters
    ----------
    by_feature : list of n_features arrays of float64
        Sorted distinct cut points of every feature; infinity is the last one where the feature
        may be missing.
    row_dtype : {"float32", "float64"}
        The numbers that the cells hold.

    Attributes
    ----------
    by_feature : list of n_features arrays
    features : ndarray of intp, shape (n_axes,)
        Features with at least one cut point; if there are none, the first feature.
    cuts : list of n_axes arrays
        Cut points of each of these features.
    shape : tuple of int
        Cells on each axis.
    missing_cells : int32 array of shape (n_axes,)
        The cell "missing" of each axis, -1 where values cannot be missing.
    """

    def __init__(self, by_feature, row_dtype="float32"):
        self.by_feature, self.row_dtype = by_feature, row_dtype
        self.features = np.flatnonzero([len(c) for c in by_feature])
        if not self.features.size:
            # one axis at least, so that no array of cells is without a column
            self.features = np.zeros(1, dtype=np.intp)
        self.cuts = [by_feature[j] for j in self.features]
        self.shape = tuple(len(c) + 1 for c in self.cuts)
        last = [len(c) if len(c) and c[-1] == np.inf else -1 for c in self.cuts]
        self.missing_cells = np.array(last, dtype=np.int32)
        self._some_miss = max(last) >= 0
        # the cut of a split that sends every value left
        self._all_left = np.array([c - 1 if c >= 0 else np.iinfo(np.int32).max for c in last])
        self._decimals = [{} for _ in self.cuts]

    @classmethod
    def of(cls, *forests):
        """Axes of all cut points of some forests (or `Splits`) on the same features.

        Their rows are of one `row_dtype`. Sets of codes have cut points where codes next to one
        another go different ways.
        """
        forests = [forest.splits for forest in forests]
        may_miss = [forest.missing for forest in forests if forest.missing is not None]
        row_dtype = forests[0].row_dtype
        return cls(
            cut_points(
                np.concatenate([forest.feature for forest in forests]),
                np.concatenate([forest.threshold for forest in forests]),
                forests[0].n_features,
                np.any(may_miss, axis=0) if may_miss else None,
                row_dtype,
            ),
            row_dtype,
        )

    @classmethod
    def of_tests(cls, forest):
        """The same of one forest that is not laid out: sets have all their borders as cut points.

        That takes no time, and can be more: some trees may never tell two of these codes apart.
        """
        is_set = forest.sets.is_set
        feature, threshold = forest.sets.borders(forest.feature)
        return cls(
            cut_points(
                np.append(np.where(is_set, -1, forest.feature), feature),
                np.append(np.where(is_set, 0.0, forest.threshold), threshold),
                forest.n_features,
                forest.missing,
                forest.row_dtype,
            ),
            forest.row_dtype,
        )

    def codes_of(self, lo, hi):
        """Codes of features in a box of cells: first, last, and whether values can be missing.

        An int64 array of shape (n_features, 3); features without an axis can have any code.
        """
        any_code = np.iinfo(np.int64).max
        codes = np.tile(np.array([0, any_code, 1]), (self.n_features, 1))
        for j, cuts, at, first, last in zip(
            self.features, self.cuts, self.missing_cells, lo, hi, strict=True
        ):
            known = len(cuts) - (at >= 0)
            codes[j, 2] = first <= at <= last
            if first > 0:
                # of the cell "missing" alone, no code
                codes[j, 0] = np.ceil(cuts[first - 1]) if first <= known else any_code
            if last < known:
                codes[j, 1] = np.floor(cuts[last])
            if first > known:
                codes[j, 1] = 0
        return codes

    def refined(self, X, max_values=256):
        """Axes with points between neighbouring values of some float32 rows as well.

        More than `max_values` points of an axis are thinned out to quantiles of the rows. Entries
        that are not finite make no points.
        """
        by_feature = list(self.by_feature)
        for j, cuts in zip(self.features, self.cuts, strict=True):
            x = X[:, j]
            by_feature[j] = np.union1d(cuts, _points_between(x[np.isfinite(x)], max_values))
        return Axes(by_feature, self.row_dtype)

    @property
    def largest(self):
        """The largest finite number of the rows."""
        return float(np.finfo(self.row_dtype).max)

    @property
    def n_features(self):
        """Number of features, with and without cut points."""
        return len(self.by_feature)

    @property
    def n_cuts(self):
        """Number of cut points of each axis, as an int32 array."""
        return np.array([len(c) for c in self.cuts], dtype=np.int32)

    @property
    def whole(self):
        """The region of all cells: first and last cell on every axis, int32 arrays."""
        last = self.n_cuts
        return np.zeros_like(last), last

    def encode_rows(self, X):
        """Codes of rows, rounded to `row_dtype`, as an int32 array of shape (n_axes, n_rows).

        Raises `Stopped` when the limit of time has passed.
        """
        X = X.astype(self.row_dtype, copy=False)
        codes = np.empty((len(self.cuts), X.shape[0]), dtype=np.int32)
        for axis, (feature, cuts) in enumerate(zip(self.features, self.cuts, strict=True)):
            check_time()
            codes[axis] = np.searchsorted(cuts, X[:, feature], side="left")
        return codes

    def between(self, X):
        """Which numbers lie between a cut point and the next float32: bool of (n_axes, n_rows).

        A model that does not round to float32 can answer them as on either side.
        """
        found = np.zeros((len(self.cuts), X.shape[0]), dtype=bool)
        if X.dtype == np.float32:
            return found
        for axis, (feature, cuts) in enumerate(zip(self.features, self.cuts, strict=True)):
            if len(cuts):
                below = np.searchsorted(cuts, X[:, feature], side="left") - 1
                found[axis] = (below >= 0) & (X[:, feature] < next_after(cuts)[below])
        return found

    def encode_splits(self, feature, threshold):
        """Axis and cut of splits at cut points; -1 in leaves (`feature` below 0).

        A split that sends every finite row right has cut -1, one that sends them left the number
        of cuts of its axis or more, or the cut between them and missing values.
        """
        axis_of = np.zeros(self.n_features, dtype=np.intp)
        axis_of[self.features] = np.arange(len(self.features))
        axis = np.where(feature >= 0, axis_of[feature], -1)
        cut = np.full(len(feature), -1, dtype=np.int32)
        order = np.argsort(axis, kind="stable")
        ends = np.searchsorted(axis[order], np.arange(-1, len(self.cuts)), side="right")
        for a, cuts in enumerate(self.cuts):
            part = order[ends[a] : ends[a + 1]]
            cut[part] = np.searchsorted(cuts, threshold[part], side="right") - 1
        all_left = (axis >= 0) & (threshold >= self.largest)
        cut[all_left] = self._all_left[axis[all_left]]
        return axis, cut

    def encode_forest(self, forest):
        """Trees of a forest (or `Splits`) over these axes, which must hold their cut points.

        Leaves keep their ids as numbers. Splits that send every row one way are left out. A split
        that sends missing values left becomes two: one that tells them apart, and one of the
        others; so what lies left of it can stand twice, and so can what lies below a test of a set.
        """
        forest = forest.splits
        axis, cut = self.encode_splits(forest.feature, forest.threshold)
        n_cuts, missing_cells = self.n_cuts, self.missing_cells
        if self._some_miss:
            # one more axis, without cuts, for splits on features that have none: all are decided
            apart = (axis >= 0) & ~np.isin(forest.feature, self.features)
            axis[apart] = len(self.cuts)
            cut[apart] = np.where(forest.threshold[apart] >= self.largest, 0, -1)
            n_cuts = np.append(n_cuts, np.int32(0))
            missing_cells = np.append(missing_cells, np.int32(-1))
        missing = ()
        if forest.missing_left is not None and self._some_miss:
            missing = forest.missing_left.view(np.uint8), missing_cells, MAX_NODES
        nodes, offsets = encode_trees(
            forest.offsets, forest.left, forest.right, axis, cut, n_cuts, *missing
        )
        if nodes is None:
            raise ValueError(
                f"With a cell for missing values, the trees take more than {MAX_NODES:,} nodes: "
                f"{(self.missing_cells >= 0).sum()} features may be missing. Name fewer in "
                "Domain(missing=...), or use shallower trees."
            )
        if forest.source is not None:
            leaves = nodes[:, 0] < 0
            nodes[leaves, 1] = forest.source[nodes[leaves, 1]]
        return CodedTrees(nodes, offsets)

    def decode(self, nodes):
        """`TreeNodes` of one tree over these axes, with short decimal thresholds."""
        axis = nodes[:, 0]
        inner = axis >= 0
        left, right = children(nodes)
        threshold = np.zeros(len(nodes))
        if inner.any():
            # a number for every cut of every axis: one column sorts faster than two
            first = np.concatenate([[0], np.cumsum(self.n_cuts)])
            used, which = np.unique(first[axis[inner]] + nodes[inner, 1], return_inverse=True)
            on = np.searchsorted(first, used, side="right") - 1
            split = zip(on.tolist(), (used - first[on]).tolist(), strict=True)
            points = np.array([self._decimal(a, c) for a, c in split])
            threshold[inner] = points[which]
        feature = np.where(inner, self.features[axis], -1)
        return TreeNodes(left=left, right=right, feature=feature, threshold=threshold)

    def points(self, cells):
        """A row of plain numbers in each cell of shape (n, n_axes).

        Numbers are such as float32 represents, if there are any in the cell. Float64 of shape
        (n, n_features): 0 for features without cut points, NaN in the cells of missing values.
        """
        rows = np.zeros((len(cells), self.n_features))
        for a, j in enumerate(self.features):
            rows[:, j] = _point_in_each(self.cuts[a], self.largest)[cells[:, a]]
        return rows

    def sample(self, first, last, rng):
        """A random row, float64, in each of some regions: first and last cells, int of (n, n_axes).

        Rows are uniform inside. Where a region is unbounded, it is cut off as far outside the cut
        points of the axis as they lie apart; features without cut points are drawn from 0..1.
        Values are missing where the region leaves nothing else.
        """
        low = np.zeros((len(first), self.n_features))
        high = np.ones((len(first), self.n_features))
        absent = np.zeros(low.shape, dtype=bool)
        for a, (j, cuts) in enumerate(zip(self.features, self.cuts, strict=True)):
            if len(cuts) and np.isinf(cuts[-1]):
                absent[:, j] = first[:, a] == len(cuts)
                cuts = cuts[:-1]
            if not len(cuts):
                continue
            margin = max(cuts[-1] - cuts[0], abs(cuts[0]) * 1e-3, 1e-30)
            ends = [cuts[0] - margin, *cuts, cuts[-1] + margin]
            ends = np.clip(ends, -FLOAT32_MAX, FLOAT32_MAX)
            most = len(cuts)
            low[:, j] = ends[np.minimum(first[:, a], most)]
            high[:, j] = ends[np.minimum(last[:, a], most) + 1]
        X = low + (high - low) * (1.0 - rng.random_sample(low.shape))
        X[absent] = np.nan
        return X

    def _decimal(self, axis, cut):
        """The cut point as a short decimal, found once: trees bred together share their splits."""
        known, cut = self._decimals[axis], int(cut)
        if cut not in known:
            known[cut] = shortest_decimal(self.cuts[axis][cut])
        return known[cut]


def cell_shares(cuts, low, high, integer, row_dtype="float32", finer=False):
    """Probability of each cell of an axis for numbers drawn uniformly from low..high.

    Integers are drawn if `integer`; where low equals high, it is the one number. What is drawn is
    rounded to `row_dtype`. With `finer`, it is not, and numbers between a cut point and the next
    float32 are in no cell: the probabilities can sum to less than 1.
    """
    if finer:
        last, first = np.asarray(cuts), next_after(cuts)
    else:
        last, inclusive = cuts, np.ones(len(cuts), dtype=bool)
        if row_dtype == "float32":
            last, inclusive = rounding_boundary(cuts)
        first = last
        if integer:
            last = np.where(inclusive, np.floor(last), np.ceil(last) - 1.0)
            first = last + 1.0
    first = np.maximum(np.concatenate([[low], first]), low)
    last = np.minimum(np.concatenate([last, [high]]), high)
    if integer:
        return np.maximum(np.floor(last) - np.ceil(first) + 1.0, 0.0) / (high - low + 1.0)
    if high > low:
        return np.maximum(last - first, 0.0) / (high - low)
    at = low if finer else np.dtype(row_dtype).type(low)
    # the outer cells have no ends: rounded, the number can lie beyond itself
    first = np.concatenate([[-np.inf], next_after(cuts, row_dtype)])
    last = np.concatenate([cuts, [np.inf]])
    return ((first <= at) & (at <= last)).astype(np.float64)


def children(nodes):
    """Left and right children of the nodes of trees over axes, -1 in leaves."""
    left = np.where(nodes[:, 0] >= 0, np.arange(1, len(nodes) + 1), -1)
    right = np.where(left >= 0, left + nodes[left % len(nodes), 2], -1)
    return left, right


def distinct_rows(cells):
    """Where each of the distinct rows of codes stands first, and which of them every row is.

    The distinct rows, ``cells[first]``, are in the order of ``np.unique(cells, axis=0)``; numbers
    that stand for rows are sorted sooner than rows.
    """
    key, size = np.zeros(len(cells), dtype=np.int64), 1
    for column in cells.T if len(cells) else ():
        low = int(column.min())
        radix = int(column.max()) - low + 1
        if size * radix >= 1 << 62:
            key = np.unique(key, return_inverse=True)[1]
            size = int(key.max()) + 1
        key = key * radix + (column - low)
        size *= radix
    return np.unique(key, return_index=True, return_inverse=True)[1:]


def sized_nodes(axis):
    """Nodes of one tree for kernels that look at axes and sizes, from axes in pre-order."""
    nodes = np.zeros((len(axis), 3), dtype=np.int32)
    nodes[:, 0] = axis
    return with_sizes(nodes)


def _points_between(x, max_values):
    """Float32-exact points that separate neighbouring values of a column."""
    values = np.unique(x).astype(np.float64)
    points = float32_floor(values[:-1] / 2 + values[1:] / 2)
    if points.size > max_values:
        values = np.quantile(x, np.linspace(0, 1, max_values + 2)[1:-1], method="lower")
        values = np.unique(values).astype(np.float64)
        points = points[np.searchsorted(points, values, side="left").clip(max=points.size - 1)]
    return np.unique(points)


def _point_in_each(cuts, largest):
    """A plain number in every cell of an axis, of float32 if it can be; NaN where missing."""
    if len(cuts) and cuts[-1] == np.inf:
        return np.append(_point_in_each(cuts[:-1], largest), np.nan)
    low, high = np.append(-largest, cuts), np.append(cuts, largest)
    guess = low / 2 + high / 2
    if len(cuts):
        guess[0], guess[-1] = np.floor(high[0]), np.floor(low[-1]) + 1.0
    with np.errstate(over="ignore"):
        guess = guess.astype(np.float32).astype(np.float64)
    inside, other = (low < guess) & (guess <= high), high.copy()
    if len(cuts):
        # the last cell holds numbers of float32, too, unless its cut point is beyond them
        other[-1] = min(next_after(cuts[-1]).item(), largest)
    return np.where(inside, guess, other)
