"""Born-again search over a labelled grid: plan, solve, read out the tree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ensemble_simplify._cells import change_masks
from ensemble_simplify._dp import Programme, Stopped

# Outer boxes a layout may have: each costs some tens of bytes and a microsecond.
MAX_BOXES = 1 << 20
# Entries a row should at least have for the vector loops to pay.
ROW = 30
INT16_SPLITS = 16382


@dataclass(frozen=True, eq=False)
class CellTree:
    """A tree over the cells of a grid: pre-order nodes, -1 where it does not apply.

    A cell goes left iff its index on `axis` is at most `cut`.
    """

    left: np.ndarray
    right: np.ndarray
    axis: np.ndarray
    cut: np.ndarray
    label: np.ndarray

    @property
    def n_leaves(self):
        return (len(self.left) + 1) // 2

    @property
    def depth(self):
        depth = np.zeros(len(self.left), dtype=np.intp)
        for node in np.flatnonzero(self.left >= 0):
            depth[self.left[node]] = depth[self.right[node]] = depth[node] + 1
        return int(depth.max())


def n_regions(shape):
    """Boxes of cells of a grid: the states of the plain dynamic programme."""
    product = 1
    for n in shape:
        product *= int(n) * (int(n) + 1) // 2
    return product


def lay_out(labels):
    """The cheapest `Programme` found for a grid, by its own forecast.

    Axes become outer axes one at a time, each time the one that lowers the cost of a pass
    most: O(axes^2) layouts, each O(cells + outer boxes).
    """
    shape = labels.shape
    n_axes = len(shape)
    bits = np.concatenate([[0], np.cumsum([n - 1 for n in shape])]).astype(np.intp)
    word, shift = bits[:-1] // 64, bits[:-1] % 64
    masks = np.zeros((labels.size, int(bits[-1]) // 64 + 1), dtype=np.uint64)
    change_masks(labels.reshape(-1), np.array(shape, dtype=np.intp), word, shift, masks)
    intervals = [n * (n + 1) // 2 for n in shape]

    def layout(outer):
        inner = sorted(set(range(n_axes)) - set(outer), key=lambda a: shape[a])
        if not inner or n_regions([shape[a] for a in inner]) >= 2**62:
            return None
        n_row, row = 1, intervals[inner[-1]]
        while row < ROW and n_row < len(inner):
            n_row += 1
            row *= intervals[inner[-n_row]]
        return Programme(labels, masks, word, shift, outer, inner, n_row)

    best, outer, boxes = layout([]), [], 1
    while True:
        trials = [
            (a, layout([*outer, a]))
            for a in range(n_axes)
            if a not in outer and boxes * intervals[a] <= MAX_BOXES
        ]
        trials = [(a, trial) for a, trial in trials if trial is not None]
        if not trials:
            break
        a, trial = min(trials, key=lambda pair: pair[1].cost)
        if best is not None and trial.cost >= best.cost:
            break
        best = trial
        outer.append(a)
        boxes *= intervals[a]
    return best


def _cell_tree(lists):
    return CellTree(*(np.array(values, dtype=np.intp) for values in lists))


def single_leaf(label):
    """The tree of a grid with one class."""
    none = np.array([-1], dtype=np.intp)
    return CellTree(none, none, none, none, np.array([label], dtype=np.intp))


def solve(labels, objective, *, max_bytes, seconds=np.inf):
    """The smallest tree of a grid, proven optimal.

    Parameters
    ----------
    labels : array, from ``Grid.simplified``
    objective : {"depth", "leaves", "depth_then_leaves"}
    """
    if labels.ndim == 0 or labels.size == 1:
        return single_leaf(int(labels.reshape(-1)[0]))
    programme = lay_out(labels)
    if objective == "depth":
        dtype = np.uint8 if labels.max() < 254 else np.uint16
        layer = programme.solve(np.empty(programme.n_states, dtype=dtype), seconds)
        return _cell_tree(programme.tree([layer], 1))
    dtype = np.int16 if labels.size <= INT16_SPLITS else np.int16
    if objective == "leaves":
        layer = programme.solve(np.empty(programme.n_states, dtype=dtype), seconds)
        return _cell_tree(programme.tree([layer], 1))
    lo, hi = [0] * labels.ndim, [n - 1 for n in labels.shape]
    layers = [programme.first_layer(np.empty(programme.n_states, dtype=dtype), seconds)]
    while programme.split(layers[-1], lo, hi) is None:
        dirty, entries = programme.pending(layers[-1])
        layers.append(
            programme.next_layer(
                layers[-1], dirty, np.empty(entries, dtype=dtype), False, seconds
            )
        )
    return _cell_tree(programme.tree(layers, len(layers)))
