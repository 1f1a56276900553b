"""The grid of cells that a forest induces, labelled with the class, or answer, of each cell.

A leaf answers one class, one number, or one vector of probabilities. Of numbers within a tolerance,
it can stand for a region where some double v has ``abs(v - answer) <= atol``, in doubles, for the
answer of every cell. The doubles that stand for one answer are an interval; a region is a leaf
where those of its largest and of its smallest answer meet. Of probabilities the intervals of every
class have to meet, the whole has to add up to one, and the class of all cells, which is one, has to
be the most probable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

import numpy as np

from ensemble_simplify.grid import (
    FREE,
    CodedTrees,
    changes_across,
    check_time,
    in_boxes,
    last_within,
    paint,
    paint_lines,
    restrict,
)

# How far a sum of probabilities may be from one: less than would be scaled when a tree is written.
SUM_MARGIN = 5e-13
# Of two classes that are as probable, scikit-learn answers the first: an earlier class than that of
# a leaf stays below it by this share, which float32 still tells.
TIE_MARGIN = 2.0**-20
# By what share of the tolerance a number keeps off the ends of what is allowed.
ROOM = 1e-6
# Numbers are certainly close, or far, if they are by this share of their size.
SLACK = 1e-12
BISECTIONS = 60  # Of an interval of doubles between 0 and 1.


@dataclass(frozen=True)
class Tolerance:
    """What a leaf may answer.

    Attributes
    ----------
    atol : float
        Largest difference of a leaf's number from the answer of each of its cells.
    labelled : bool
        Whether answers are a class index, which a leaf has in common with its cells, and the
        probabilities of all classes. If not, they are one number.
    """

    atol: float
    labelled: bool = False

    def ends(self, answers):
        """The first and the last double that stand for each answer, of shape (n, n_outputs)."""
        answers = np.asarray(answers, dtype=np.float64)
        numbers = answers[..., 1:] if self.labelled else answers
        lower, upper = -last_within(-numbers, self.atol), last_within(numbers, self.atol)
        if self.labelled:
            label = answers[..., :1]
            lower, upper = (np.concatenate([label, e], axis=-1) for e in (lower, upper))
        return lower, upper

    def meet(self, lower, upper):
        """Whether one leaf can stand for regions, by the intervals that their answers share.

        The arrays, of shape (n, n_outputs), hold the largest first and the smallest last double of
        all answers of each region.
        """
        found = (lower <= upper).all(axis=1)
        if self.labelled:
            at = np.flatnonzero(found)
            for label in np.unique(lower[at, 0]):
                here = at[lower[at, 0] == label]
                low, high = self._shares(lower[here, 1:], upper[here, 1:], int(label))
                found[here] = low <= high
        return found

    def spans(self, low, high):
        """Whether one leaf can stand for regions, by their smallest and largest answers."""
        found = ~self.apart(low, high)
        at = np.flatnonzero(found)
        if self.labelled or not self._are_close(low[at], high[at]).all():
            found[at] = self.meet(self.ends(high[at])[0], self.ends(low[at])[1])
        return found

    def apart(self, one, two):
        """Which answers certainly share no leaf; `one` and `two` are of shape (..., n_outputs)."""
        most = np.full(np.shape(one)[-1], 2.0 * self.atol)
        if self.labelled:
            most[0] = 0.0
        return (np.abs(one - two) > most + self._slack(most, one, two)).any(axis=-1)

    def _are_close(self, one, two):
        """Which numbers certainly share a leaf."""
        most = 2.0 * self.atol
        return (np.abs(one - two) <= most - self._slack(most, one, two)).all(axis=-1)

    @staticmethod
    def _slack(most, one, two):
        # halving and adding up round
        return SLACK * (most + np.maximum(np.abs(one), np.abs(two)))

    def chosen(self, lower, upper, wish):
        """What leaves answer: as near to a wish as their intervals allow.

        `wish` is NaN where nothing is wished: the middle is taken. Numbers keep off the ends by a
        little where there is room, so that no rounding matters to who compares them.
        """
        if not self.labelled:
            middle = np.clip(0.5 * lower + 0.5 * upper, lower, upper)
            room = np.minimum(ROOM * self.atol, 0.5 * (upper - lower))
            wish = np.where(np.isnan(wish), middle, np.clip(wish, lower + room, upper - room))
            return np.clip(wish, lower, upper)
        middle = 0.5 * (lower[:, 1:] + upper[:, 1:])
        wish = np.where(np.isnan(wish[:, 1:]), middle, wish[:, 1:])
        answers = lower.copy()
        for label in np.unique(lower[:, 0]):
            at = np.flatnonzero(lower[:, 0] == label)
            ends = lower[at, 1:], upper[at, 1:]
            answers[at, 1:] = self._nearest(*ends, wish[at], int(label))
        return answers

    # ------------------------------------------------------------------ probabilities

    def _caps(self, upper, share, label):
        """The most that other classes than the label may have where that has a share."""
        factor = np.where(np.arange(upper.shape[1]) < label, 1.0 - TIE_MARGIN, 1.0)
        caps = np.minimum(upper, share[:, None] * factor)
        caps[:, label] = 0.0
        return caps

    def _shares(self, lower, upper, label):
        """The least and the most that the class of some regions can have; least > most: none."""
        lower, upper = np.maximum(lower, 0.0), np.minimum(upper, 1.0)
        others = np.arange(lower.shape[1]) != label
        most = np.minimum(upper[:, label], 1.0 - (lower * others).sum(axis=1))
        factor = np.where(np.arange(lower.shape[1]) < label, 1.0 - TIE_MARGIN, 1.0)
        least = np.maximum(lower[:, label], (lower / factor * others).max(axis=1, initial=0.0))
        within = most >= least - SUM_MARGIN
        most = np.where(within, np.maximum(most, least), most)

        def fills(share):
            return self._caps(upper, share, label).sum(axis=1) + share >= 1.0 - SUM_MARGIN

        first, last = least.copy(), most.copy()
        fits = fills(last)
        already = fills(first)
        for _ in range(BISECTIONS):
            middle = 0.5 * (first + last)
            full = fills(middle)
            first, last = np.where(full, first, middle), np.where(full, middle, last)
        least = np.where(already, least, last)
        return np.where(fits & within, least, np.inf), most

    def _nearest(self, lower, upper, wish, label):
        """Probabilities between the ends that add up to one, the label's first of the largest."""
        least, most = self._shares(lower, upper, label)
        share = np.clip(wish[:, label], least, most)
        low, high = np.maximum(lower, 0.0), self._caps(np.minimum(upper, 1.0), share, label)
        low[:, label] = 0.0
        high = np.maximum(high, low)
        # the same is added to every wish, within its ends
        first, last = np.full((2, len(wish)), 1.0)
        first = -first
        for _ in range(BISECTIONS):
            middle = 0.5 * (first + last)
            total = np.clip(wish + middle[:, None], low, high).sum(axis=1) + share
            first, last = np.where(total < 1.0, middle, first), np.where(total < 1.0, last, middle)
        chosen = np.clip(wish + last[:, None], low, high)
        chosen[:, label] = share
        return chosen


@dataclass(frozen=True, eq=False)
class Kinds:
    """The different answers on a grid, whose cells name them by their number.

    Regions are told by codes, numbers of 16 bits of which the largest in the region counts: two for
    each output, one that rises with the answer and one that falls. Code 0 is that of cells outside
    the domain.
    """

    tolerance: Tolerance
    answers: np.ndarray  # float64 of shape (n_kinds, n_outputs)

    @property
    def n_outputs(self):
        """Numbers in an answer."""
        return self.answers.shape[1]

    def of_labels(self, labels):
        """The answers that some labels name; NaN for those of no kind."""
        known = labels < len(self.answers)
        answers = self.answers[np.where(known, labels, 0)]
        answers[~known] = np.nan
        return answers

    @cached_property
    def _sorted(self):
        """For each output, its different numbers in order, and each kind's place among them."""
        return [np.unique(column, return_inverse=True) for column in self.answers.T]

    @cached_property
    def _ends(self):
        """For each output, the ends that belong to each code: of codes that rise, of others."""
        found = []
        for k, (numbers, _) in enumerate(self._sorted):
            # a column of its own: of labelled answers, the first one is the class
            if self.tolerance.labelled and k == 0:
                lower = upper = numbers
            else:
                lower, upper = Tolerance(self.tolerance.atol).ends(numbers)
            found.append((np.append(-np.inf, lower), np.append(np.inf, upper[::-1])))
        return found

    @property
    def n_codes(self):
        """Codes of each kind."""
        return 2 * self.n_outputs

    def codes(self, n_labels):
        """Codes of every label, uint16 of shape (n_codes, n_labels); 0 for labels of no kind."""
        codes = np.zeros((self.n_codes, n_labels), dtype=np.uint16)
        for k, (numbers, place) in enumerate(self._sorted):
            codes[2 * k, : len(place)] = place + 1
            codes[2 * k + 1, : len(place)] = len(numbers) - place
        return codes

    def meet(self, codes):
        """Whether regions can be leaves, by their codes, uint16 of shape (n_codes, n)."""
        ends = [
            (lower[codes[2 * k]], upper[codes[2 * k + 1]])
            for k, (lower, upper) in enumerate(self._ends)
        ]
        lower, upper = (np.column_stack(part) for part in zip(*ends, strict=True))
        found = codes[0] == 0
        known = np.flatnonzero(~found)
        found[known] = self.tolerance.meet(lower[known], upper[known])
        return found

    def share_a_leaf(self, labels):
        """Whether all cells of these labels, whose kinds are known, can share one leaf."""
        answers = self.answers[np.unique(labels)]
        return bool(self.tolerance.spans(answers.min(axis=0)[None], answers.max(axis=0)[None])[0])

    def apart(self, one, two):
        """Which cells of two arrays of labels certainly share no leaf."""
        return self.tolerance.apart(self.answers[one], self.answers[two])

    @property
    def alone(self):
        """Which kinds can have a leaf of their own, as a bool array."""
        return self.tolerance.meet(*self.tolerance.ends(self.answers))


SLAB = 1 << 15  # Cells labelled at a time: their scores stay in the processor's cache.
# In a tree, what stands in a leaf whose answer is chosen when the tree is complete.
UNNAMED = FREE - 1
MOST_CELLS = 1 << 20  # Cells of a region whose answers are looked at at once.
NUMBER_BYTES = 40.0  # That finding the different answers takes for each number.


class TooLarge(Exception):
    """The search needs more memory than it may use: so many bytes at least."""

    def __init__(self, n_bytes):
        super().__init__(f"needs {n_bytes} bytes")
        self.n_bytes = n_bytes


class Tied(Exception):
    """Of some answer, no leaf can give the class and be within the tolerance of probabilities."""


class TooManyAnswers(TooLarge):
    """Cells have more different answers than labels tell apart."""


@dataclass(frozen=True, eq=False)
class Grid:
    """Classes, or kinds of answers, on a grid of cells."""

    features: np.ndarray  # of each axis
    cuts: list  # sorted cut points of each axis; its cell i is ``(cuts[i - 1], cuts[i]]``
    # class index, or number of the kind, of each cell; `FREE` in cells outside the domain
    labels: np.ndarray
    kinds: Kinds | None = None  # None: labels are classes

    @property
    def n_cells(self):
        return self.labels.size

    @property
    def shape(self):
        """Cells on each axis."""
        return self.labels.shape

    @cached_property
    def has_free(self):
        """Whether there are cells of free class."""
        return bool(self.labels.size and self.labels.max() == FREE)

    @property
    def tolerance(self):
        """What leaves may answer; None for classes."""
        return None if self.kinds is None else self.kinds.tolerance

    @property
    def is_leaf(self):
        """Whether one leaf can stand for all cells, of a simplified grid."""
        if self.kinds is None or self.labels.size == 1:
            return self.labels.size == 1
        return self.kinds.share_a_leaf(self.labels[self.labels != FREE])

    def labels_of(self, cells):
        """Classes, or answers, of some cells, int indices of shape (n, n_axes)."""
        return self._told(self.labels[tuple(cells.T)])

    def labels_along(self, cells, axis):
        """The same on the lines along an axis through some cells, (n, shape[axis], ...)."""
        place = [position[:, None] for position in cells.T]
        place[axis] = np.arange(self.shape[axis])
        return self._told(self.labels[tuple(place)])

    def _told(self, labels):
        """What some labels stand for; answers outside the domain are NaN."""
        return labels if self.kinds is None else self.kinds.of_labels(labels)

    def cells_here(self, cells):
        """The cells that stand for cells of the grid of all cuts, in which ours are numbered."""
        columns = [
            np.searchsorted(cuts, cells[:, axis])
            for axis, cuts in zip(self.features, self.cuts, strict=True)
        ]
        return np.array(columns, dtype=np.int32).reshape(len(columns), len(cells)).T

    def sub_grid(self, lo, hi):
        """The cells lo..hi (inclusive, one entry an axis), as a view."""
        window = tuple(slice(a, b + 1) for a, b in zip(lo, hi, strict=True))
        cuts = [c[a:b] for c, a, b in zip(self.cuts, lo, hi, strict=True)]
        return Grid(self.features, cuts, self.labels[window], self.kinds)

    def simplified(self):
        """The same function without the cuts across which no class, or answer, changes.

        Such cuts appear in no smallest tree. Axes left with one cell are dropped. Where cells are
        free, a slab of cells goes as well if its neighbour has the same class in all its cells
        that are not free: a tree can treat it like the neighbour.
        """
        labels, cuts = self.labels, list(self.cuts)
        if self.has_free:
            labels = self._absorbed(cuts)
        else:
            flat, before, after = np.ascontiguousarray(labels).reshape(-1), 1, labels.size
            for a, length in enumerate(self.shape):
                after //= length
                changes = changes_across(flat, before, length, after)
                matters = np.frombuffer(changes, dtype=np.uint8).astype(bool)
                before *= length
                cuts[a] = cuts[a][matters]
                if not matters.all():
                    # cell k stands for all cells merged with it: the one above a dropped cut goes
                    labels = labels.compress(np.append(True, matters), axis=a)
        axes = [a for a, length in enumerate(labels.shape) if length > 1]
        labels = np.ascontiguousarray(labels).reshape([labels.shape[a] for a in axes])
        return Grid(self.features[axes], [cuts[a] for a in axes], labels, self.kinds)

    def _absorbed(self, cuts):
        """The labels of `simplified` where there are free cells; its cuts replace those given."""
        labels, classes = self.labels, self.labels[self.labels != FREE]
        if classes.size == 0 or classes.min() == classes.max():
            only = classes[0] if classes.size else FREE
            return np.full([1] * labels.ndim, only, dtype=labels.dtype)
        before = None
        while before != labels.shape:
            before = labels.shape
            for a in range(labels.ndim):
                slabs = np.moveaxis(labels, a, 0)
                # one slab of each group stands for all of them
                chosen, lower = [0], []
                for k in range(1, len(slabs)):
                    one, two = slabs[chosen[-1]], slabs[k]
                    differ = one != two
                    if not (differ & (two != FREE)).any():
                        continue
                    if not (differ & (one != FREE)).any():
                        chosen[-1] = k
                        continue
                    chosen.append(k)
                    lower.append(k - 1)
                if len(chosen) < len(slabs):
                    labels = labels.take(chosen, axis=a)
                    cuts[a] = cuts[a][lower]
        return labels


def n_cells(shape):
    """Cells of a grid with so many on each axis, as a float; infinity where it holds no more."""
    return prod(map(float, shape))


def halves(lo, hi, axis, cut):
    """The two sides of a cut through a region."""
    below, above = hi.copy(), lo.copy()
    below[axis], above[axis] = cut, cut + 1
    return (lo, below), (above, hi)


def grid_bytes(shape, n_numbers=0):
    """Bytes that labelling and simplifying a grid of this shape takes at most.

    `n_numbers` are those in the answer of a cell; 0 where it is a class.
    """
    return (4.0 + NUMBER_BYTES * n_numbers) * n_cells(shape)


@dataclass(frozen=True, eq=False)
class CellTrees:
    """The trees of a forest over axes, with the votes of their leaves."""

    nodes: np.ndarray  # of trees over axes; the numbers of their leaves are rows of `value`
    offsets: np.ndarray  # where the trees begin, and the end
    value: np.ndarray
    shape: tuple  # cells on each axis
    # what the forest the trees come from makes of sums: ``Forest.decide``, or with a tolerance its
    # answers, an array of shape (n, n_outputs)
    decide: Callable
    sums_at: Callable  # its ``Forest.sums_at``
    # first and last cells, int32 arrays of shape (n_regions, n_axes), of regions outside the
    # domain: the class is `FREE` there
    outside: tuple | None = None
    tolerance: Tolerance | None = None  # what leaves may answer; None: the class of their cells
    n_numbers: int = 0  # in an answer; 0 where it is a class
    rises: bool = False  # whether larger sums mean larger answers

    @classmethod
    def of(cls, forest, axes, outside=None, tolerance=None):
        """The trees of a forest over `Axes` that hold all its cut points."""
        trees = axes.encode_forest(forest)
        arrays = trees.nodes, trees.offsets, forest.value, axes.shape
        if tolerance is None:
            return cls(*arrays, forest.decide, forest.sums_at, outside)
        decide, n_numbers = forest.decide_numbers, 1
        if tolerance.labelled:
            decide, n_numbers = forest.decide_probabilities, 1 + forest.n_classes
        further = outside, tolerance, n_numbers, forest.is_rising
        return cls(*arrays, decide, forest.sums_at, *further)

    @property
    def has_free(self):
        """Whether there are cells of free class."""
        return self.outside is not None

    @property
    def whole(self):
        """First and last cell on every axis, int32 arrays."""
        last = np.array(self.shape, dtype=np.int32) - 1
        return np.zeros_like(last), last

    @property
    def n_trees(self):
        """Number of trees."""
        return len(self.offsets) - 1

    @property
    def roots(self):
        """The roots of the trees, as nodes of shape (n_trees, 3)."""
        return self.nodes[self.offsets[:-1]]

    @property
    def commonest_split(self):
        """The axis and cut at which most trees have their root; the first of several."""
        roots = self.roots[self.roots[:, 0] >= 0]
        first = np.concatenate([[0], np.cumsum(self.shape)])
        used = np.bincount(first[roots[:, 0]] + roots[:, 1], minlength=int(first[-1]))
        best = int(used.argmax())
        axis = int(np.searchsorted(first, best, side="right")) - 1
        return axis, best - int(first[axis])

    def halves(self, axis, cut):
        """The trees on the two sides of a cut."""
        return [self.restricted(*half)[0] for half in halves(*self.whole, axis, cut)]

    def restricted(self, lo, hi):
        """The trees on the region lo..hi (inclusive), the axes left, and the cuts kept on each."""
        lo, hi = np.asarray(lo, dtype=np.int32), np.asarray(hi, dtype=np.int32)
        outside, kept_axis, kept_cut = self._outside_in(lo, hi)
        nodes, offsets, axes, cuts = restrict(self.nodes, self.offsets, lo, hi, kept_axis, kept_cut)
        if outside is not None:
            outside = tuple(
                np.array(
                    [np.searchsorted(c, ends[:, a]) for a, c in zip(axes, cuts, strict=True)],
                    dtype=np.int32,
                ).T.reshape(len(ends), len(axes))
                for ends in outside
            )
        shape = tuple(len(c) + 1 for c in cuts)
        here = replace(self, nodes=nodes, offsets=offsets, shape=shape, outside=outside)
        return here, axes, cuts

    def _outside_in(self, lo, hi):
        """Where the regions outside the domain meet a region, and the cuts that bound them."""
        none = np.empty(0, dtype=np.intp)
        if self.outside is None:
            return None, none, none
        first, last = np.maximum(self.outside[0], lo), np.minimum(self.outside[1], hi)
        meet = (first <= last).all(axis=1)
        if not meet.any():
            return None, none, none
        first, last = first[meet], last[meet]
        below, above = np.nonzero(first > lo), np.nonzero(last < hi)
        axis = np.concatenate([below[1], above[1]])
        cut = np.concatenate([first[below] - 1, last[above]]).astype(np.intp)
        return (first, last), axis, cut

    def only_class(self):
        """The class of all cells inside the domain where that is plain, else None.

        `FREE` if all are outside. Of classes, without regions outside the domain, always None.
        Where one leaf can stand for all answers, by bounds on them, `UNNAMED`.
        """
        if self.outside is not None:
            whole = (self.outside[0] == 0) & (self.outside[1] == np.array(self.shape) - 1)
            if whole.all(axis=1).any():
                return FREE
        if self.tolerance is not None:
            bounds = self._bounds()
            return UNNAMED if bounds is not None and self.tolerance.spans(*bounds)[0] else None
        if self.outside is None or (self.roots[:, 0] >= 0).any():
            return None
        cell = np.zeros((1, len(self.shape)), dtype=np.int32)
        return int(replace(self, outside=None).labels_of(cell)[0])

    def _bounds(self):
        """The least and the most that answers can be, of shape (1, n_numbers); None: not known.

        Every rounding of the sums keeps their order, so the least and the largest leaf that each
        tree can reach bound the answers in the very doubles.
        """
        if not self.rises:
            return None
        leaves = self.nodes[:, 0] < 0
        numbers = np.where(leaves, self.nodes[:, 1], 0)
        bounds = []
        for least in (True, False):
            values = np.where(leaves[:, None], self.value[numbers], np.inf if least else -np.inf)
            pick = np.minimum if least else np.maximum
            of_tree = pick.reduceat(values, self.offsets[:-1], axis=0)

            def sums(start, stop, init, of_tree=of_tree):
                # one after the other, as everywhere else
                rows = np.vstack([self._start(1, init), of_tree[start:stop]])
                return rows.cumsum(axis=0)[-1:]

            bounds.append(self.decide(sums)[0])
        low, high = np.minimum(*bounds), np.maximum(*bounds)
        if self.tolerance.labelled:
            # the class that leads whatever the others have
            label = int(low[1:].argmax())
            others = np.delete(high[1:], label)
            if not (low[1 + label] > others).all():
                return None
            low[0] = high[0] = label
        return low[None], high[None]

    def extremes(self, lo, hi):
        """The smallest and the largest answer on a region, an array of shape (2, n_numbers).

        They are bounds where one leaf can stand for these.
        """
        low, high = np.full(self.n_numbers, np.inf), np.full(self.n_numbers, -np.inf)
        stack = [self.restricted(lo, hi)[0]]
        while stack:
            trees = stack.pop()
            if trees.only_class() == FREE:
                continue
            here = trees._bounds()
            if here is None or not self.tolerance.spans(*here)[0]:
                if n_cells(trees.shape) > MOST_CELLS:
                    stack += trees.halves(*trees.commonest_split)
                    continue
                here = trees.labels()
                here = here[~np.isnan(here[..., 0])]
            here = np.reshape(here, (-1, self.n_numbers))
            low = np.minimum(low, here.min(axis=0, initial=np.inf))
            high = np.maximum(high, here.max(axis=0, initial=-np.inf))
        return np.array([low, high])

    def table(self, features, cuts):
        """The grid of all cells, its axes and cuts under other names."""
        answers = self.labels()
        if self.tolerance is None:
            return Grid(features, cuts, answers)
        answers = answers.reshape(-1, self.n_numbers)
        known = ~np.isnan(answers[:, 0])
        place = np.zeros(int(known.sum()), dtype=np.intp)
        for column in answers[known].T:
            numbers, here = np.unique(column, return_inverse=True)
            place = np.unique(place * len(numbers) + here, return_inverse=True)[1]
        n_kinds = int(place.max(initial=-1)) + 1
        if n_kinds > UNNAMED:
            raise TooManyAnswers(np.inf)
        kinds = np.empty((n_kinds, self.n_numbers))
        kinds[place] = answers[known]
        if self.tolerance.labelled and not Kinds(self.tolerance, kinds).alone.all():
            raise Tied
        labels = np.full(len(answers), FREE, dtype=np.uint16)
        labels[known] = place
        kinds = Kinds(self.tolerance, kinds)
        return Grid(features, cuts, labels.reshape(self.shape), kinds)

    @property
    def free(self):
        """What is said of cells outside the domain."""
        return FREE if self.tolerance is None else np.nan

    def labels(self):
        """Class of every cell, or its answer, as an array of `shape`, by the forest's arithmetic.

        Raises `Stopped` where time is over.

        Cost: one addition a cell, tree and score, O(cells * trees * scores); memory: the
        labels (2 bytes a cell, 8 for each number) and one slab of scores.
        """
        n, position = int(np.prod(self.shape, dtype=np.int64)), 0
        labels = np.empty(n, dtype=np.uint16)
        if self.tolerance is not None:
            labels = np.empty((n, self.n_numbers))
        for first, last in _slabs(self.shape):
            check_time()
            first, last = np.array(first, dtype=np.int32), np.array(last, dtype=np.int32)
            n = int(np.prod(last - first + 1, dtype=np.int64))

            def sums(start, stop, init, n=n, first=first, last=last):
                scores = self._start(n, init)
                paint(self.nodes, self.offsets[start:stop], self.value, first, last, scores)
                return scores

            labels[position : position + n] = self.decide(sums)
            position += n
        labels = labels.reshape(self.shape + labels.shape[1:])
        for first, last in self._boxes_outside:
            labels[tuple(slice(a, b + 1) for a, b in zip(first, last, strict=True))] = self.free
        return labels

    @property
    def _boxes_outside(self):
        """First and last cells of each region outside the domain."""
        return zip(*self.outside or ((), ()), strict=True)

    def labels_of(self, cells):
        """Class, or answer, of some cells, int32 indices of shape (n, n_axes).

        It is `free` outside the domain.
        """
        leaves = CodedTrees(self.nodes, self.offsets).leaves(cells)
        labels = np.asarray(self.decide(self.sums_at(leaves)))
        labels[in_boxes(cells, self.outside)] = self.free
        return labels

    def labels_along(self, cells, axis):
        """The same on lines along an axis through some cells, of shape (n, shape[axis], ...)."""
        length = self.shape[axis]

        def sums(start, stop, init):
            scores = self._start(len(cells) * length, init)
            roots = self.offsets[start:stop]
            paint_lines(self.nodes, roots, self.value, cells, axis, length, scores)
            return scores

        labels = np.asarray(self.decide(sums))
        labels = labels.reshape(len(cells), length, *labels.shape[1:])
        others = np.arange(len(self.shape)) != axis
        for first, last in self._boxes_outside:
            meets = (cells >= first) & (cells <= last)
            labels[meets[:, others].all(axis=1), first[axis] : last[axis] + 1] = self.free
        return labels

    def _start(self, n, init):
        scores = np.zeros((n, self.value.shape[1]))
        if init is not None:
            scores += init
        return scores


def _slabs(shape):
    """Boxes of about SLAB cells that cover the grid in C order."""
    # leading axes are walked cell by cell, one axis in runs, the rest stays whole
    inner, a = 1, len(shape)
    while a > 0 and inner * shape[a - 1] <= SLAB:
        a -= 1
        inner *= shape[a]
    tail_first, tail_last = [0] * (len(shape) - a), [n - 1 for n in shape[a:]]
    if a == 0:
        yield tail_first, tail_last
        return
    run = max(1, SLAB // inner)
    for lead in np.ndindex(*shape[: a - 1]):
        for k in range(0, shape[a - 1], run):
            end = min(k + run, shape[a - 1]) - 1
            yield [*lead, k, *tail_first], [*lead, end, *tail_last]
