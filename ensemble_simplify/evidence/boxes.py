"""The proof of a claim everywhere: a tree of boxes, in each of which bounds or a point decide."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ensemble_simplify.grid import (
    Axes,
    JointSearch,
    Stopped,
    check_time,
    children,
    last_double,
    sized_nodes,
)
from ensemble_simplify.writing import plain

_EPS = float(np.finfo(np.float64).eps)
# Exact sums of votes are multiples of 2^-20: a lead is at least that, or none.
_HALF_STEP = 2.0**-21
# Weights of the lead in the first use, as multiples of the best one; of many classes, that alone.
_MIXTURES, _MANY_CLASSES = 2.0 ** np.array([0.0, -0.75, 0.75]), 4
# Less than any difference of two doubles that matters.
_NOTHING = 1e-300
_TIED = (
    "There is no evidence to save: in some cell, sums are tied up to rounding, and the trees as "
    "they are written to the file do not show the claim there."
)
# Where a claim does not hold, for the kernel.
_WRONG = -3


class NoEvidence(ValueError):
    """A claim of which no evidence can be written."""


@dataclass(frozen=True, eq=False)
class Boxes:
    """A tree over the coordinates of a space, whose leaves are the boxes of a proof.

    Attributes
    ----------
    column : intp array of shape (n_nodes,)
        The coordinate of each split, -1 in leaves.
    end : float64 array of shape (n_nodes,)
        Numbers up to this go left; infinity: all of them do, and missing values go right.
    left, right : intp arrays of shape (n_nodes,)
    answer : int32 array of shape (n_nodes,)
        The class in a leaf; -1: several, or numbers; -2: no point of the box counts.
    bound : float64 array of shape (n_nodes,)
        How far the answer leads there at least, or how far numbers are apart at most; nan: not
        told.
    mix : list of float
        Weights of the lead in the first use where both are added up.
    """

    column: np.ndarray
    end: np.ndarray
    left: np.ndarray
    right: np.ndarray
    answer: np.ndarray
    bound: np.ndarray
    mix: list

    @property
    def n_boxes(self) -> int:
        """Number of boxes that count."""
        return int(((self.column < 0) & (self.answer > -2)).sum())


def partition(claim, max_boxes=2**62, alike=False, left_open=None) -> Boxes:
    """The `Boxes` that prove a claim; `NoEvidence` where they are too many, or not in reach.

    `alike` says that both uses make the same of what their trees say, tree by tree.
    ``left_open(boxes, among)`` names the leaves, `among` some nodes, that do not convince whoever
    reads the boxes: these are halved until none is left. None: the bounds here are believed.
    """
    cutter = _Cutter(claim, max_boxes, alike)
    lo, hi = cutter.axes.whole
    if claim.box is not None:
        lo, hi = _cells_of(claim, cutter.axes)
    tree = cutter.by_steps(lo, hi) if claim.order else cutter.cut(lo, hi)
    among = np.arange(len(tree[0]))
    while True:
        axis, cut, bound = tree
        bounds, mix = cutter.forms.bounds(bound), cutter.forms.mix
        boxes = _boxes(claim, cutter.axes, axis, cut, bounds, mix)
        is_open = [] if left_open is None else left_open(boxes, among)
        if not len(is_open):
            return boxes
        tree, among = cutter.halved(tree, is_open, lo, hi)


class _Cutter:
    """Cuts boxes of cells of a claim's space until all of it is proven."""

    def __init__(self, claim, max_boxes, alike):
        self.claim, self.left = claim, max_boxes
        self.max_boxes = max_boxes
        forests = claim.over_space
        self.axes = axes = Axes.of(*forests)
        self.forms = forms = _forms(claim, forests)
        parts = [axes.encode_forest(forest) for forest in forests]
        if claim.is_of_one_model:
            trees = _Twins(parts, forms.value, _moved_axes(claim, axes))
        else:
            trees = _Shared(parts, forms.value)
        forms.mixed(trees)
        if alike and not claim.is_of_one_model:
            forms.same(trees)
        self.sums, self.twins = forms.sums(trees), None
        if claim.is_of_one_model:
            flags = np.array(forms.flags, dtype=np.uint8).reshape(-1, 2)
            columns = [np.ascontiguousarray(flag) for flag in flags.T]
            self.twins = trees.twin, trees.apart, *columns
        self.search = JointSearch(axes.shape, trees.nodes, trees.offsets)
        self.outside = None if claim.inside is None else claim.inside.outside(axes)

    def halved(self, tree, leaves, lo, hi):
        """The tree of a box, some `leaves` halved at least once more, and which nodes are new."""
        axis, cut, _ = tree
        left, right = children(sized_nodes(axis))
        leaves, ends = set(leaves.tolist()), {0: (lo, hi)}
        parts, new, begin, n_nodes = [], [], 0, 0
        for node in range(len(axis)):
            check_time()
            lo, hi = ends.pop(node)
            if axis[node] >= 0:
                below, above = hi.copy(), lo.copy()
                below[axis[node]], above[axis[node]] = cut[node], cut[node] + 1
                ends[left[node]], ends[right[node]] = (lo, below), (above, hi)
            elif node in leaves:
                part = self.cut(lo, hi, halve=True)
                if len(part[0]) == 1:
                    raise NoEvidence(_TIED)
                n_nodes += node - begin
                new.append(n_nodes + np.arange(len(part[0])))
                n_nodes += len(part[0])
                parts += [tuple(array[begin:node] for array in tree), part]
                begin = node + 1
        parts.append(tuple(array[begin:] for array in tree))
        return _joined(parts), np.concatenate(new)

    def cut(self, lo, hi, halve=False):
        """Axis and cut of every halving, in pre-order, and the bounds of the boxes.

        With `halve`, the box is halved in any case.
        """
        claim, forms, search = self.claim, self.forms, self.search
        cover = search.cover(
            self.sums,
            forms.start,
            forms.first,
            forms.second,
            forms.joint,
            forms.wrong,
            judge=lambda cells: forms.judge(_points(self.axes, claim.inside, cells)),
            has_classes=forms.has_classes,
            lo=lo,
            hi=hi,
            outside=self.outside,
            max_boxes=self.left,
            twins=self.twins,
            halve=halve,
        )
        self.left -= search.n_boxes
        if search.stopped == "time":
            raise Stopped
        if search.stopped == "boxes":
            raise NoEvidence(
                f"The proof takes more than max_boxes={self.max_boxes:,} boxes, as each of them "
                "must be proven by plain bounds that another program can follow. Raise max_boxes, "
                "or ask about a smaller domain, or near rows."
            )
        if search.stopped == "refuted":
            raise NoEvidence(_TIED)
        return cover

    def by_steps(self, lo, hi):
        """The same where one feature rises: from each of its cells to the next one alone."""
        ((low, high),) = self.claim.order
        first, second = (
            np.flatnonzero(self.axes.features == j)[0] if len(self.axes.by_feature[j]) else None
            for j in (low, high)
        )
        if first is None:
            # no tree looks at the feature
            return _leaf(-1)
        return _joined(self._steps(lo, hi, first, second, int(lo[first]), int(hi[first])))

    def _steps(self, lo, hi, first, second, begin, end):
        """The parts of the tree for some cells of the lower value, in pre-order."""
        if begin < end:
            middle = (begin + end) // 2
            yield _split(first, middle)
            yield from self._steps(lo, hi, first, second, begin, middle)
            yield from self._steps(lo, hi, first, second, middle + 1, end)
            return
        if begin > lo[second]:
            yield _split(second, begin - 1)
            yield _leaf(-2)
        if begin == hi[second]:
            yield _leaf(-1)
            return
        yield _split(second, begin)
        # both are in one cell, and so the same to the model
        yield _leaf(-1)
        if begin + 1 < hi[second]:
            yield _split(second, begin + 1)
        own_lo, own_hi = lo.copy(), hi.copy()
        own_lo[first] = own_hi[first] = begin
        own_lo[second] = own_hi[second] = begin + 1
        yield self.cut(own_lo, own_hi)
        if begin + 1 < hi[second]:
            # the answer rises on the way there, cell by cell
            yield _leaf(-1)


def _split(axis, cut):
    return np.array([axis], dtype=np.int32), np.array([cut], dtype=np.int32), np.zeros(1)


def _leaf(answer):
    return _split(-1, answer)


def _joined(parts):
    return tuple(np.concatenate(arrays) for arrays in zip(*parts, strict=True))


def _cells_of(claim, axes):
    """First and last cell of a claim's box on every axis."""
    lo, hi = axes.whole
    low, high, missing = claim.box
    for a, (j, cuts) in enumerate(zip(axes.features, axes.cuts, strict=True)):
        if not len(cuts):
            continue
        lo[a] = np.searchsorted(cuts, low[j], side="right") if low[j] > -np.inf else 0
        hi[a] = np.searchsorted(cuts, high[j], side="left")
        if cuts[-1] == np.inf:
            hi[a] = len(cuts) if missing[j] else min(hi[a], len(cuts) - 1)
    return lo, hi


def _moved_axes(claim, axes):
    """The axes (modulo 64, as bits) of coordinates that one use has and the other has not."""
    columns = [use.columns for use in claim.uses]
    bits = []
    for here, there in zip(columns, columns[::-1], strict=True):
        moved = np.flatnonzero(np.isin(axes.features, here[here != there]))
        bits.append(sum(1 << a for a in {int(a) % 64 for a in moved}))
    return bits


def is_refuted(claim, point) -> bool:
    """Whether a claim does not hold at a point of its space."""
    forms = _forms(claim, claim.over_space)
    return forms.judge(point[None])[0] == _WRONG


def _points(axes, inside, cells):
    return axes.points(cells) if inside is None else inside.points(axes, cells)


def _boxes(claim, axes, axis, cut, bound, mix):
    inner = axis >= 0
    left, right = children(sized_nodes(axis))
    bound = np.where(inner | (cut == -2), np.nan, bound)
    end = np.zeros(len(axis))
    for a, (j, cuts) in enumerate(zip(axes.features, axes.cuts, strict=True)):
        whole = claim.inside is not None and claim.inside.integer[j]
        if axes.row_dtype == "float32" and not whole:
            cuts = np.where(np.isinf(cuts), cuts, last_double(cuts))
        at = inner & (axis == a)
        end[at] = cuts[cut[at]]
    column = np.where(inner, axes.features[axis], -1)
    return Boxes(column, end, left, right, np.where(inner, -1, cut), bound, mix)


class _Shared:
    """The trees of one or two uses: a tree of the first and one of the second, of the same splits,
    are one.

    No more of them are joined than the checker of evidence pairs, in the same order: bounds on
    fewer trees are tighter, but no use where it cannot follow them.

    Parameters
    ----------
    parts : list of CodedTrees
    value : list of float64 arrays of shape (n_nodes, n_columns)
        What the leaves of each add.
    """

    def __init__(self, parts, value):
        # of each joined tree its nodes, the rows of the leaves of its members, and their places
        self.joined, first = [], 0
        alone = {}
        for use, (trees, use_value) in enumerate(zip(parts, value, strict=True)):
            for t in range(len(trees)):
                nodes = trees[t].copy()
                leaf = nodes[:, 0] < 0
                rows = nodes[leaf, 1] + first
                nodes[leaf, 1] = np.arange(len(rows))
                twins = alone.setdefault(nodes.tobytes(), [])
                if use and twins:
                    _, members, places = twins.pop(0)
                    members.append(rows)
                    places.append(t)
                    continue
                self.joined.append((nodes, [rows], [t]))
                if not use:
                    twins.append(self.joined[-1])
            first += len(use_value)
        sizes = [len(nodes) for nodes, *_ in self.joined]
        self.offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
        self.nodes = np.concatenate([nodes for nodes, *_ in self.joined])
        leaf = self.nodes[:, 0] < 0
        self.nodes[leaf, 1] = np.arange(leaf.sum())
        n_leaves = [len(rows[0]) for _, rows, _ in self.joined]
        self.first = np.concatenate([[0], np.cumsum(n_leaves)[:-1]]).astype(np.intp)

    def sums(self, value) -> np.ndarray:
        """What every leaf adds, of shape (n_leaves, n_columns)."""
        return np.ascontiguousarray(
            np.concatenate([sum(value[rows] for rows in members) for _, members, _ in self.joined])
        )

    def changed(self, value) -> np.ndarray:
        """What every leaf says otherwise in the second use than in the first; 1: not known."""
        changes = []
        for nodes, members, places in self.joined:
            # the same numbers are rounded alike only if they are added in the same order
            change = np.ones((nodes[:, 0] < 0).sum())
            if len(places) == 2 and places[0] == places[1]:
                change = np.abs(value[members[0]] - value[members[1]]).sum(axis=1)
            changes.append(change)
        return np.concatenate(changes)

    def most(self, value) -> np.ndarray:
        """The largest sum over all trees of each column."""
        return np.maximum.reduceat(self.sums(value), self.first).sum(axis=0)


class _Twins:
    """The trees of two uses of one model, which each have a twin in the other use.

    Parameters are those of `_Shared`, and the axes on which each use alone splits, as bits.
    """

    def __init__(self, parts, value, moved):
        nodes, first, self.rows = [], 0, []
        for trees, use_value in zip(parts, value, strict=True):
            use_nodes = trees.nodes.copy()
            leaf = use_nodes[:, 0] < 0
            self.rows.append(use_nodes[leaf, 1] + first)
            first += len(use_value)
            nodes.append(use_nodes)
        self.nodes, self.rows = np.concatenate(nodes), np.concatenate(self.rows)
        leaf = self.nodes[:, 0] < 0
        self.nodes[leaf, 1] = np.arange(leaf.sum())
        n = len(parts[0])
        self.offsets = np.concatenate([parts[0].offsets, parts[1].offsets[1:] + len(nodes[0])])
        self.first = np.concatenate([[0], np.cumsum(leaf)])[self.offsets[:-1]].astype(np.intp)
        self.twin = np.roll(np.arange(2 * n, dtype=np.int32), n)
        self.apart = np.repeat(np.array(moved, dtype=np.uint64), n)

    def sums(self, value) -> np.ndarray:
        """What every leaf adds, of shape (n_leaves, n_columns)."""
        return np.ascontiguousarray(value[self.rows])


class _Forms:
    """What the kernel is told: forms, and which of them each answer needs.

    An answer is possible in a box unless one of its forms falls short there; so is a pair of
    answers of both uses.
    """

    has_classes = True
    # what the leaves of each use add, the forms of each answer and of pairs, and the wrong pairs
    value: list
    first: np.ndarray
    second: np.ndarray
    joint: np.ndarray
    wrong: np.ndarray

    def __init__(self, claim, forests):
        self.claim, self.forests = claim, forests
        self.mix, self.tolerance = [], 0.0
        self.columns, self.starts, self.change = [], [], None
        self.flags = []

    def _add(self, leaves, start, least, flags=(0, 0)):
        """A new form, which must be `least` at least: its number. `leaves` has an array a use.

        The `flags` say whether it is a change between twins, and whether it is one tree by tree.
        """
        self.columns.append(np.concatenate(leaves))
        self.starts.append(float(start - least))
        self.flags.append(flags)
        return len(self.starts) - 1

    def _alone(self, use, leaves):
        """What one use's leaves add, beside nothing of the others."""
        added = [np.zeros(len(value)) for value in self.value]
        added[use] = leaves
        return added

    def _leads(self, use, forest):
        """The leads of every class over every other one, and a table of their forms.

        Where classes do not lead by sums, there are none: points alone decide.
        """
        n, sums = forest.n_classes, forest.sums
        leads, table = {}, np.full((n, n), -1, dtype=np.int32)
        if sums is None:
            return leads, table
        for a in range(n):
            for k in range(n):
                if a != k:
                    leaves = self._alone(use, sums.value[:, a] - sums.value[:, k])
                    leads[a, k] = leaves, sums.start[a] - sums.start[k], _least(sums, a, k)
                    table[a, k] = self._add(*leads[a, k])
        return leads, table

    def mixed(self, trees) -> None:
        """Add what weighs both uses at once, once it is known which trees they share."""
        self.joint = np.full((*self.wrong.shape, 0), -1, dtype=np.int32)

    def same(self, trees) -> None:
        """Add that both uses answer alike where no tree says anything else in the one."""
        # in what leaves say, not in sums: these can be rounded apart where the others are the same
        value = np.concatenate([forest.value for forest in self.forests])
        self.change = trees.changed(value)
        self.starts.append(-_NOTHING)
        same = np.full((*self.wrong.shape, 1), len(self.starts) - 1, dtype=np.int32)
        self.joint = np.concatenate([self.joint, same], axis=2)

    def sums(self, trees) -> np.ndarray:
        """What the leaves of shared trees add to each form."""
        if not self.columns:
            # a form that says nothing, so that there is one
            self._add([np.zeros(len(value)) for value in self.value], 0.0, 0.0)
        sums = trees.sums(np.column_stack(self.columns))
        return sums if self.change is None else np.column_stack([sums, self.change])

    @property
    def start(self):
        return np.array(self.starts)

    def bounds(self, bound) -> np.ndarray:
        """Bounds as they are told: leads in what the models themselves compare, nan: none."""
        unit = min(_unit(forest.vote) for forest in self.forests)
        # of exact sums, what is no lead falls short by a step
        bound = bound - _HALF_STEP
        return np.where(bound > 0.0, bound * unit, np.nan)


class _OneClass(_Forms):
    """One use answers one class."""

    def __init__(self, claim, forests):
        super().__init__(claim, forests)
        self.value = [_value_of(forests[0])]
        _, self.first = self._leads(0, forests[0])
        self.second = np.full((1, 0), -1, dtype=np.int32)
        is_wrong = np.arange(len(self.first)) == claim.data["class"]
        is_wrong = is_wrong if claim.kind == "class_is_not" else ~is_wrong
        self.wrong = is_wrong[:, None].astype(np.uint8)

    def judge(self, points) -> np.ndarray:
        answer = self.forests[0].predict_index(points)
        return np.where(self.wrong[answer, 0], _WRONG, answer)


class _TwoClasses(_Forms):
    """Two uses answer classes; some pairs of these are wrong."""

    def __init__(self, claim, forests):
        super().__init__(claim, forests)
        self.use_sums = [forest.sums for forest in forests]
        self.value = [_value_of(forest) for forest in forests]
        self.labels = [[_key(label) for label in forest.classes] for forest in forests]
        leads = [self._leads(use, forest) for use, forest in enumerate(forests)]
        (self.lead, (self.first, self.second)) = zip(*leads, strict=True)
        if claim.kind == "rises":
            rank = np.array(claim.data["order"])
            self.wrong = (rank[:, None] > rank).astype(np.uint8)
        else:
            wrong = [[a != b for b in self.labels[1]] for a in self.labels[0]]
            self.wrong = np.array(wrong, dtype=np.uint8)

    def mixed(self, trees) -> None:
        one, two = self.labels
        if any(sums is None for sums in self.use_sums):
            super().mixed(trees)
            return
        pairs = []
        for a, b in np.argwhere(self.wrong).tolist():
            if two[b] in one and one[a] in two:
                leads = self.lead[0][a, one.index(two[b])], self.lead[1][b, two.index(one[a])]
                pairs.append((a, b, *leads))
        if self.claim.is_of_one_model:
            self._changes(trees, pairs)
            return
        factors = _MIXTURES if max(self.wrong.shape) <= _MANY_CLASSES else _MIXTURES[:1]
        # one tree alone is decided in a few halvings: weights would only make them longer
        if pairs and min(forest.n_trees for forest in self.forests) > 1:
            self.mix = [float(m) for m in factors * _best_mixture(trees, *pairs[0][2:])]
        self.joint = np.full((*self.wrong.shape, len(self.mix)), -1, dtype=np.int32)
        exact = all(sums.is_exact for sums in self.use_sums)
        for i, m in enumerate(self.mix):
            for a, b, one, two in pairs:
                leaves = [m * x + y for x, y in zip(one[0], two[0], strict=True)]
                size = m * self.use_sums[0].magnitude + self.use_sums[1].magnitude
                error = 0.0 if exact else _error(trees, size)
                least = m * one[2] + two[2] - error
                self.joint[a, b, i] = self._add(leaves, m * one[1] + two[1], least)

    def _changes(self, trees, pairs):
        """Add the leads that one class loses, and another gains, between both uses of one model."""
        self.joint = np.full((*self.wrong.shape, 2), -1, dtype=np.int32)
        self.mix = [1.0]
        for a, b, one, two in pairs:
            leaves = [x + y for x, y in zip(one[0], two[0], strict=True)]
            error = _error(trees, 2.0 * self.use_sums[0].magnitude)
            self.joint[a, b] = (
                self._add(leaves, 0.0, one[2] + two[2] - error, (1, 0)),
                self._add(leaves, 0.0, _NOTHING, (1, 1)),
            )

    def judge(self, points) -> np.ndarray:
        first, second = (forest.predict_index(points) for forest in self.forests)
        return np.where(self.wrong[first, second], _WRONG, first)


class _Numbers(_Forms):
    """Numbers of one use or two, in a range or near one another; the answers are excesses."""

    has_classes = False

    def __init__(self, claim, forests):
        super().__init__(claim, forests)
        kinds, self.use_sums = zip(*map(_number_sums, forests), strict=True)
        if len(set(kinds)) > 1:
            raise NoEvidence(
                "There is no evidence to save: the numbers of one model are sums over its trees, "
                "those of the other are a sigmoid of such sums. Both must be of one kind."
            )
        self.is_odds = kinds[0]
        self.value = [sums.value for sums in self.use_sums]
        self.second = np.full((1, 0), -1, dtype=np.int32)
        self.pending = []

    def mixed(self, trees) -> None:
        data, kind = self.claim.data, self.claim.kind
        size = sum(sums.magnitude for sums in self.use_sums)
        error = _error(trees, size) + sum(sums.rounding for sums in self.use_sums)
        if self.is_odds:
            # what sigmoids round
            single = any(forest.vote.dtype == "float32" for forest in self.forests)
            error += 4.0 * (1e-5 if single else 1e-12)
        table = []
        if kind == "in_range":
            column = 0 if self.is_odds else data["column"]
            for sign, end in ((1.0, data["high"]), (-1.0, data["low"])):
                if end is not None:
                    end = _logit(end) if self.is_odds else end
                    table.append([self._form([sign], [column], sign * end, error)])
        elif kind == "rises":
            column = 0 if self.is_odds else data["column"]
            pair = [1.0, -1.0], [column, column]
            table.append(
                [self._form(*pair, 0.0, error, (1, 0)), self._form(*pair, _NOTHING, 0.0, (1, 1))]
            )
        else:
            for columns in self._columns():
                for sign in (1.0, -1.0):
                    table.append(self._apart(sign, columns, data, error))
        width = max(map(len, table), default=1)
        self.first = np.full((len(table), width), -1, dtype=np.int32)
        for row, forms in zip(self.first, table, strict=True):
            row[: len(forms)] = forms
        self.wrong = np.ones((len(table), 1), dtype=np.uint8)
        super().mixed(trees)

    def _form(self, factors, columns, end, error, flags=(0, 0)):
        """The sum of some columns times factors, which is above an end at most by an error."""
        leaves, start = [], 0.0
        for sums, factor, k in zip(self.use_sums, factors, columns, strict=True):
            if k is None:
                leaves.append(np.zeros(len(sums.value)))
            else:
                leaves.append(factor * sums.value[:, k])
                start += factor * sums.start[k]
        return self._add(leaves, start, end - error, flags)

    def _apart(self, sign, columns, data, error):
        """Forms that are all above zero where one number exceeds another by the tolerance."""
        atol, rtol = data["atol"], data["rtol"]
        if self.is_odds:
            # a sigmoid rises by no more than a quarter of what it is given
            forms = [self._form([sign, -sign], columns, 4.0 * atol, error, (1, 0))]
            if 0.0 < atol < 1.0:
                first, second = (columns[0], None), (None, columns[1])
                if sign < 0:
                    first, second = second, first
                # the larger one is above the tolerance, the smaller one below one minus it
                end = _logit(1.0 - atol)
                forms += [
                    self._form([1.0, 1.0], first, -end, error),
                    self._form([-1.0, -1.0], second, -end, error),
                ]
            return forms
        if not rtol:
            self.tolerance = atol
        signs = (1.0, -1.0) if rtol else (1.0,)
        return [
            self._form(
                [sign, -sign - side * rtol], columns, atol, (1.0 + rtol) * error, (not rtol, 0)
            )
            for side in signs
        ]

    def _columns(self):
        """The column of each number in both uses; None: it is zero there."""
        if self.is_odds or self.forests[0].classes is None:
            return [(0, 0)]
        one, two = ([_key(label) for label in forest.classes] for forest in self.forests)
        return [
            tuple(labels.index(label) if label in labels else None for labels in (one, two))
            for label in dict.fromkeys([*one, *two])
        ]

    def bounds(self, bound) -> np.ndarray:
        if self.is_odds or self.claim.kind != "within" or self.claim.data["rtol"]:
            return np.full_like(bound, np.nan)
        return bound + self.tolerance

    def judge(self, points) -> np.ndarray:
        data = self.claim.data
        answers = [numbers_of(forest, points) for forest in self.forests]
        if self.claim.kind in ("in_range", "out_of_range"):
            number = answers[0][:, data["column"]]
            low, high = (
                -np.inf if data["low"] is None else data["low"],
                np.inf if data["high"] is None else data["high"],
            )
            is_in = (low <= number) & (number <= high)
            return np.where(is_in == (self.claim.kind == "in_range"), -1, _WRONG)
        if self.claim.kind == "rises":
            first, second = (numbers[:, data["column"]] for numbers in answers)
            return np.where(first <= second, -1, _WRONG)
        right = np.ones(len(points), dtype=bool)
        columns = self._columns()
        if self.is_odds:
            columns = [(k, k) for k in range(answers[0].shape[1])]
        for pair in columns:
            a, b = (
                np.zeros(len(points)) if k is None else numbers[:, k]
                for numbers, k in zip(answers, pair, strict=True)
            )
            right &= np.abs(a - b) <= data["atol"] + data["rtol"] * np.abs(b)
        return np.where(right, -1, _WRONG)


def _forms(claim, forests):
    if claim.kind in ("class_is", "class_is_not"):
        return _OneClass(claim, forests)
    return (_TwoClasses if claim.is_of_classes else _Numbers)(claim, forests)


def _unit(vote):
    """What a lead of sums is multiplied by in the scores of a vote; nan where they have no such."""
    if vote.members or vote.cut is not None or vote.temperature is not None:
        return np.nan
    return 1.0 / vote.divisor


def _key(label):
    """Labels that are equal in JSON, and no others, have the same."""
    label = plain(label)
    return type(label).__name__, label


def _logit(share):
    with np.errstate(divide="ignore"):
        return float(np.log(share) - np.log1p(-share))


def _error(trees, size):
    """Largest error of a sum over trees whose absolute values sum up to a size."""
    return 16.0 * (len(trees.first) + 16) * _EPS * size


def _value_of(forest):
    """What the leaves of a forest add to its sums; nothing, where it has none."""
    return np.zeros((forest.n_nodes, 1)) if forest.sums is None else forest.sums.value


def _number_sums(forest):
    """Whether sums are log-odds, and the sums."""
    if forest.number_sums is not None:
        return False, forest.number_sums
    if forest.odds_sums is not None:
        return True, forest.odds_sums
    raise NoEvidence(
        "There is no evidence to save: the numbers of a model are neither sums over its trees, nor "
        "a sigmoid of such a sum."
    )


def numbers_of(forest, points) -> np.ndarray:
    """What a model itself answers: values, or the probabilities of its classes."""
    if forest.classes is None:
        return forest.predict_index(points)[:, None].astype(np.float64)
    return np.asarray(forest.probabilities(points), dtype=np.float64)


def _least(sums, a, k):
    """The least lead of a class over another with which it can be the answer."""
    if not sums.is_exact:
        return -2.0 * sums.rounding
    return 0.0 if (a < k) != sums.tie_upper else _HALF_STEP


def _best_mixture(trees, one, two):
    """The weight of the lead in the first use for which the bounds on both are smallest."""
    one, two = np.concatenate(one[0]), np.concatenate(two[0])
    spread = [float(trees.most(np.column_stack([x, -x])).sum()) for x in (one, two)]
    scale = spread[1] / spread[0] if min(spread) > 0 else 1.0
    tried = scale * 2.0 ** np.arange(-6.0, 6.01, 0.5)
    bounds = trees.most(tried * one[:, None] + two[:, None])
    return float(tried[np.argmin(bounds)])
