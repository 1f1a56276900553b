"""The grid of cells that a forest induces, labelled with the class of each cell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ensemble_simplify._cells import changes_across, paint

# Cells labelled at a time: their scores stay in the processor's cache.
SLAB = 1 << 15


@dataclass(frozen=True, eq=False)
class Grid:
    """Classes on a grid of cells.

    Attributes
    ----------
    features : intp array of shape (n_axes,)
        The feature of each axis.
    cuts : list of float64 arrays
        Sorted cut points of each axis; cell i of an axis is ``(cuts[i - 1], cuts[i]]``.
    labels : array of shape (len(cuts[0]) + 1, len(cuts[1]) + 1, ...)
        Class index of each cell.
    """

    features: np.ndarray
    cuts: list
    labels: np.ndarray

    @property
    def n_cells(self):
        return self.labels.size

    def sub_grid(self, lo, hi):
        """The cells lo..hi (inclusive, one entry an axis), as a view."""
        window = tuple(slice(a, b + 1) for a, b in zip(lo, hi, strict=True))
        cuts = [c[a:b] for c, a, b in zip(self.cuts, lo, hi, strict=True)]
        return Grid(self.features, cuts, self.labels[window])

    def simplified(self):
        """The same function without the cuts across which no class changes.

        Such cuts appear in no smallest tree. Axes left with one cell are dropped.
        """
        labels = np.ascontiguousarray(self.labels)
        keep = []
        before, after = 1, labels.size
        for length in labels.shape:
            after //= length
            keep.append(
                np.frombuffer(
                    changes_across(labels.reshape(-1), before, length, after), dtype=np.uint8
                ).astype(bool)
            )
            before *= length
        for a, matters in enumerate(keep):
            if not matters.all():
                # cell k stands for all cells merged with it: the one above a dropped cut goes
                labels = labels.compress(np.concatenate([[True], matters]), axis=a)
        axes = [a for a, matters in enumerate(keep) if matters.any()]
        return Grid(
            self.features[axes],
            [self.cuts[a][keep[a]] for a in axes],
            np.ascontiguousarray(labels).reshape([labels.shape[a] for a in axes]),
        )


def grid_shape(cuts):
    """Axes (features with at least one cut) and cells on each."""
    axes = [j for j, c in enumerate(cuts) if len(c)]
    return np.array(axes, dtype=np.intp), [len(cuts[j]) + 1 for j in axes]


def grid_bytes(shape, n_classes):
    """Bytes that labelling and simplifying a grid of this shape takes at most."""
    n_cells = 1
    for n in shape:
        n_cells *= int(n)
    return (2 if n_classes <= 256 else 4) * n_cells


def trees_over_axes(forest, cuts):
    """The forest's trees in terms of cells.

    Returns
    -------
    roots, left, right, axis, cut : intp arrays
        A cell goes left iff its index on `axis` is at most `cut`; `axis` is -1 in leaves.
        Splits that send every finite row one way are passed through.
    """
    axes, _ = grid_shape(cuts)
    axis_of = np.full(forest.n_features, -1, dtype=np.intp)
    axis_of[axes] = np.arange(len(axes))
    inner = forest.left >= 0
    axis = np.where(inner, axis_of[forest.feature], -1)
    cut = np.full(forest.n_nodes, -1, dtype=np.intp)
    for j in axes:
        here = inner & (forest.feature == j)
        cut[here] = np.searchsorted(cuts[j], forest.threshold[here], side="right") - 1
    all_left = inner & (forest.threshold >= np.finfo(np.float32).max)
    decided = all_left | (inner & (cut < 0))
    onward = np.where(decided, np.where(all_left, forest.left, forest.right), -1)
    node = np.arange(forest.n_nodes)
    while decided[node].any():
        node = np.where(decided[node], onward[node], node)
    left, right = node[forest.left], node[forest.right]
    return node[forest.offsets[:-1]], left, right, axis, cut


def label_grid(forest, cuts):
    """Label every cell with the class the forest's own arithmetic gives it.

    Cost: one addition a cell, tree and score, O(cells * trees * scores); memory: the labels
    (1 byte a cell up to 256 classes, else 2) and one slab of scores.
    """
    axes, shape = grid_shape(cuts)
    roots, left, right, axis, cut = trees_over_axes(forest, cuts)
    dtype = np.uint8 if len(forest.classes) <= 256 else np.uint16
    labels = np.empty(int(np.prod(shape, dtype=np.int64)), dtype=dtype)
    position = 0
    for first, last in _slabs(shape):
        n = int(np.prod([b - a + 1 for a, b in zip(first, last, strict=True)], dtype=np.int64))

        def sums(start, stop, init, n=n, first=first, last=last):
            scores = np.zeros((n, forest.n_scores))
            if init is not None:
                scores += init
            paint(
                left,
                right,
                axis,
                cut,
                forest.value,
                roots[start:stop],
                np.array(first, dtype=np.intp),
                np.array(last, dtype=np.intp),
                scores,
            )
            return scores

        labels[position : position + n] = forest.decide(sums)
        position += n
    return Grid(axes, [cuts[j] for j in axes], labels.reshape(shape))


def _slabs(shape):
    """Boxes of about SLAB cells that cover the grid in C order."""
    if not shape:
        yield [], []
        return
    # leading axes are walked cell by cell, one axis in runs, the rest stays whole
    inner, a = 1, len(shape)
    while a > 0 and inner * shape[a - 1] <= SLAB:
        a -= 1
        inner *= shape[a]
    if a == 0:
        yield [0] * len(shape), [n - 1 for n in shape]
        return
    run = max(1, SLAB // inner)
    tail_first, tail_last = [0] * (len(shape) - a), [n - 1 for n in shape[a:]]
    for lead in np.ndindex(*shape[: a - 1]):
        for k in range(0, shape[a - 1], run):
            end = min(k + run, shape[a - 1]) - 1
            yield [*lead, k, *tail_first], [*lead, end, *tail_last]
