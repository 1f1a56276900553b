"""One or two forests on their common grid of cells, with a `Certifier` of their votes."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ensemble_simplify.base import warn_out_of_time
from ensemble_simplify.grid import Axes, time_left
from ensemble_simplify.proof._certify import Certifier
from ensemble_simplify.proof.changed_boxes import (
    changed_boxes,
    equal_subtrees,
    same_trees,
    same_vote,
)
from ensemble_simplify.proof.vote_pair import PairOfVotes
from ensemble_simplify.reading import exact_rule, units_of

# Leaves whose depths forecast the size of a tree, and boxes, times trees, looked at for them.
FORECAST_LEAVES, FORECAST_BOXES = 2000, 5e6


# Forecast of the seconds in which one node of a forest is put on the grid.
NODE_SECONDS = 1e-6
# By how many seconds a time limit may be passed.
LATE_SECONDS = 1.0


def may_begin(forests) -> bool:
    """Whether forests can be put on a grid in time; nothing else can end it. Warns if not."""
    n_nodes = sum(forest.n_nodes for forest in forests)
    if NODE_SECONDS * n_nodes <= time_left() + LATE_SECONDS:
        return True
    warn_out_of_time(
        f"time_limit ends before a proof can begin: {n_nodes:,} nodes of trees take about "
        f"{NODE_SECONDS * n_nodes:.1f} s to be laid out. Raise time_limit."
    )
    return False


class Space:
    """The common grid of one or two forests, and a `Certifier` on it.

    Parameters
    ----------
    forests : list of one or two Forest
        Classifiers on the same features.
    axes : Axes or None
        With all of the forests' cut points among theirs; None: just those.
    domain : Inside or None
        Where the forests are compared.
    in_time : bool, default=False
        Whether `Stopped` is raised when the time is over before the trees are laid out.
    wrong : callable or None
        ``wrong(labels)``: which pairs of answers of two forests refute, as a bool array of shape
        (n_labels, n_labels), never an answer with itself. None: those that differ.

    Attributes
    ----------
    labels : list
        All class labels of the forests.
    axes : Axes
    whole : pair of int32 arrays
        First and last cell of the whole grid on every axis.
    trees : list of CodedTrees
        Of each forest, on `axes`.
    outside : pair of int32 arrays or None
        First and last cells of regions outside the domain.
    """

    def __init__(self, forests, axes=None, domain=None, wrong=None, in_time=False):
        if domain is not None:
            forests = [domain.read(forest) for forest in forests]
        if in_time:
            forests = [forest.laid_out() for forest in forests]
        self.forests = forests
        self.axes = Axes.of(*forests) if axes is None else axes
        self.outside = None if domain is None else domain.outside(self.axes)
        self.whole = self.axes.whole
        self.labels, self.columns = common_labels([forest.classes for forest in forests])
        n_labels = max(2, len(self.labels))
        self.wrong = ~np.eye(n_labels, dtype=bool)
        if wrong is not None:
            self.wrong[: len(self.labels), : len(self.labels)] = wrong(self.labels)
        self.trees = [self.axes.encode_forest(forest) for forest in forests]

    @cached_property
    def same(self):
        """Whether both forests have the same trees; see `same_trees`."""
        return same_trees(self.forests, self.trees)

    def _joined(self):
        """Nodes and offsets of all trees, and the scores of their leaves, by number."""
        nodes = np.concatenate([part.nodes for part in self.trees])
        offsets = np.concatenate([[0], *(np.diff(part.offsets) for part in self.trees)]).cumsum()
        # leaves of the second forest have their votes below those of the first
        second = nodes[len(self.trees[0].nodes) :]
        second[second[:, 0] < 0, 1] += self.forests[0].n_nodes
        return nodes, offsets, _stacked([forest.value for forest in self.forests])

    @cached_property
    def _twin(self):
        """Numbers of equal subtrees; None where equal sums are not equal answers."""
        if len(self.forests) == 1 or not same_vote(*self.forests):
            return None
        return equal_subtrees(*self._joined()) if np.array_equal(*self.columns) else None

    @cached_property
    def changed(self):
        """Boxes in which two forests can differ at all; None: anywhere."""
        if self._twin is None:
            return None
        return changed_boxes(self.trees, self._twin, self.whole) or None

    @cached_property
    def certifier(self):
        """A `Certifier` on `axes`, whose labels are positions in `labels`."""
        split, n_units = [], 0
        for model, forest in enumerate(self.forests):
            own = units_of(forest, self.columns[model], len(self.wrong)).after(n_units, model)
            n_units += len(own.units)
            split.append(own)
        nodes, offsets, scores = self._joined()
        return Certifier(
            self.axes.shape,
            nodes,
            offsets,
            np.concatenate([own.value for own in split]),
            np.concatenate([own.unit_of for own in split]),
            [unit for own in split for unit in own.units],
            self.judge,
            [exact_rule(f.vote, c) for f, c in zip(self.forests, self.columns, strict=True)],
            scores,
            self._twin,
            self.wrong,
        )

    def grow(self, max_leaves):
        """A tree over the axes of the whole grid, see ``Certifier.grow``; None at a limit."""
        return self.certifier.grow(*self.whole, max_leaves)

    def forecast_leaves(self, rng) -> float:
        """Leaves that `grow` would come to without a limit; unbiased, from a sample of them."""
        seed = int(rng.integers(1 << 63))
        most = FORECAST_BOXES / self.forests[0].n_trees
        depths = self.certifier.sample_depths(*self.whole, FORECAST_LEAVES, seed, most)
        with np.errstate(over="ignore"):
            return float(np.exp2(depths.astype(float)).mean())

    @cached_property
    def pair(self):
        """The two votes as sums over the same trees, or None where they are none."""
        if min(forest.n_trees for forest in self.forests) == 1:
            # bounds on each vote decide faster, leaf by leaf of the tree
            return None
        sums = [forest.sums for forest in self.forests]
        if any(part is None for part in sums):
            return None
        return PairOfVotes(
            sums, self.columns, self.trees, self.axes, self.outside, self.differ, self.wrong
        )

    def differ(self, cells):
        """At which of some cells the own answers of two forests differ, or are wrong."""
        return self.wrong[self.judge(0, cells), self.judge(1, cells)]

    def judge(self, model, cells):
        """Labels of cells in the arithmetic of a forest's own ``predict``."""
        return self.columns[model][self.forests[model].predict_index(self.axes.points(cells))]


def _stacked(arrays):
    missing = [max(array.shape[1] for array in arrays) - a.shape[1] for a in arrays]
    if any(missing):
        arrays = [np.pad(a, ((0, 0), (0, n))) for a, n in zip(arrays, missing, strict=True)]
    return np.concatenate(arrays)


def common_labels(classes):
    """All class labels of some models, and the places of each one's own among them."""
    labels = list(dict.fromkeys(c for own in classes for c in own.tolist()))
    place = {label: i for i, label in enumerate(labels)}
    return labels, [np.array([place[c] for c in own.tolist()], dtype=np.intp) for own in classes]


def points_in(axes, inside, cells):
    """A row in each of some cells, inside the domain."""
    return axes.points(cells) if inside is None else inside.points(axes, cells)
