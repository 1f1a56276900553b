"""The proof of a claim everywhere: a tree of boxes, in each of which bounds or a point decide."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ensemble_simplify.evidence._partition import Partition
from ensemble_simplify.grid import Axes, Stopped, children, last_double, sized_nodes
from ensemble_simplify.writing import plain

_EPS = float(np.finfo(np.float64).eps)
# Exact sums of votes are multiples of 2^-20: a lead is at least that, or none.
_HALF_STEP = 2.0**-21
# Weights of the lead in the first use, as multiples of the best one; of many classes, that alone.
_MIXTURES, _MANY_CLASSES = 2.0 ** np.array([0.0, -0.75, 0.75]), 4
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
        How far the answer leads there at least, or how far numbers are apart at most.
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
    def n_boxes(self):
        """Number of boxes that count."""
        return int(((self.column < 0) & (self.answer > -2)).sum())


def partition(claim, deadline=np.inf, max_boxes=2**62, rule=1):
    """The `Boxes` that prove a claim; `NoEvidence` where they are too many, or not in reach."""
    forests = claim.over_space
    axes = Axes.of(*forests)
    forms = _Classes(claim, forests) if claim.kind == "same_class" else _forms(claim, forests)
    trees = _Shared([axes.encode_forest(forest) for forest in forests], forms.value)
    forms.mixed(trees)
    search = Partition(axes.shape, trees.nodes, trees.offsets)
    whole = axes.whole
    axis, cut, bound = search.grow(
        trees.sums(forms.leaves()),
        forms.start,
        forms.first,
        forms.second,
        forms.joint,
        forms.wrong,
        judge=lambda cells: forms.judge(_points(axes, claim.inside, cells)),
        has_classes=forms.has_classes,
        lo=whole[0],
        hi=whole[1],
        outside=None if claim.inside is None else claim.inside.outside(axes),
        deadline=deadline,
        max_boxes=max_boxes,
        rule=rule,
    )
    if search.stopped == "time":
        raise Stopped
    if search.stopped == "boxes":
        raise NoEvidence(
            f"The proof takes more than max_boxes={max_boxes} boxes when each is proven by plain "
            "bounds, which another program can follow. Raise max_boxes, or ask about a smaller "
            "domain, or near rows."
        )
    if search.stopped == "refuted":
        raise NoEvidence(
            "The trees of the models do not have the claim in a cell where it was said to hold: "
            "sums are tied there up to rounding. There is no evidence of it."
        )
    return _boxes(claim, axes, axis, cut, bound + forms.tolerance, forms.mix)


def _points(axes, inside, cells):
    return axes.points(cells) if inside is None else inside.points(axes, cells)


def _boxes(claim, axes, axis, cut, bound, mix):
    inner = axis >= 0
    left, right = children(sized_nodes(axis))
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
    """The trees of one or two uses: those of the same splits are one.

    Parameters
    ----------
    parts : list of CodedTrees
    value : list of float64 arrays of shape (n_nodes, n_columns)
        What the leaves of each add.
    """

    def __init__(self, parts, value):
        self.kinds, first = {}, 0
        for trees, own in zip(parts, value, strict=True):
            for t in range(len(trees)):
                nodes = trees[t].copy()
                leaf = nodes[:, 0] < 0
                rows = nodes[leaf, 1] + first
                nodes[leaf, 1] = np.arange(len(rows))
                self.kinds.setdefault(nodes.tobytes(), (nodes, []))[1].append(rows)
            first += len(own)
        sizes = [len(nodes) for nodes, _ in self.kinds.values()]
        self.offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
        self.nodes = np.concatenate([nodes for nodes, _ in self.kinds.values()])
        leaf = self.nodes[:, 0] < 0
        self.nodes[leaf, 1] = np.arange(leaf.sum())
        n_leaves = [len(rows[0]) for _, rows in self.kinds.values()]
        self.first = np.concatenate([[0], np.cumsum(n_leaves)[:-1]]).astype(np.intp)

    def sums(self, value):
        """What every leaf adds, of shape (n_leaves, n_columns)."""
        return np.ascontiguousarray(
            np.concatenate(
                [sum(value[rows] for rows in members) for _, members in self.kinds.values()]
            )
        )

    def most(self, value):
        """The largest sum over all trees of each column."""
        return np.maximum.reduceat(self.sums(value), self.first).sum(axis=0)


class _Forms:
    """What the kernel is told: forms, and which of them each answer needs."""

    has_classes = True

    def __init__(self, claim, forests):
        self.claim, self.forests = claim, forests
        self.mix, self.tolerance = [], 0.0
        self.columns, self.starts = [], []

    def _add(self, leaves, start, least):
        """A new form: its number. `leaves` has one array for each use."""
        self.columns.append(np.concatenate(leaves))
        self.starts.append(start - least)
        return len(self.starts) - 1

    def leaves(self):
        return np.column_stack(self.columns)

    @property
    def start(self):
        return np.array(self.starts)


class _Classes(_Forms):
    """Two uses answer classes; some pairs of these are wrong."""

    def __init__(self, claim, forests):
        super().__init__(claim, forests)
        self.sums = [_sums_of(forest) for forest in forests]
        self.value = [own.value for own in self.sums]
        self.labels = [[plain(label) for label in forest.classes] for forest in forests]
        n = [len(own) for own in self.labels]
        zero = [np.zeros(len(own)) for own in self.value]
        self.lead = []
        tables = []
        for use, sums in enumerate(self.sums):
            leads, table = {}, np.full((n[use], n[use]), -1, dtype=np.int32)
            for a in range(n[use]):
                for k in range(n[use]):
                    if a == k:
                        continue
                    leaves = list(zero)
                    leaves[use] = sums.value[:, a] - sums.value[:, k]
                    leads[a, k] = leaves, sums.start[a] - sums.start[k], _least(sums, a, k)
                    table[a, k] = self._add(*leads[a, k])
            self.lead.append(leads)
            tables.append(table)
        self.first, self.second = tables
        self.wrong = np.array(
            [[_key(a) != _key(b) for b in self.labels[1]] for a in self.labels[0]], dtype=np.uint8
        )

    def mixed(self, trees):
        """Add the forms of both uses together."""
        n = self.wrong.shape
        pairs = []
        place = [{_key(label): i for i, label in enumerate(own)} for own in self.labels]
        for a in range(n[0]):
            for b in range(n[1]):
                other = place[0].get(_key(self.labels[1][b])), place[1].get(_key(self.labels[0][a]))
                if self.wrong[a, b] and None not in other:
                    pairs.append((a, b, self.lead[0][a, other[0]], self.lead[1][b, other[1]]))
        factors = _MIXTURES if max(n) <= _MANY_CLASSES else _MIXTURES[:1]
        if pairs and min(len(forest.offsets) for forest in self.forests) > 2:
            self.mix = [float(m) for m in factors * _best_mixture(trees, pairs)]
        self.joint = np.full((*n, len(self.mix)), -1, dtype=np.int32)
        exact = all(own.is_exact for own in self.sums)
        for i, m in enumerate(self.mix):
            for a, b, one, two in pairs:
                leaves = [m * x + y for x, y in zip(one[0], two[0], strict=True)]
                size = m * self.sums[0].magnitude + self.sums[1].magnitude
                error = 0.0 if exact else 16.0 * (len(trees.first) + 16) * _EPS * size
                least = m * one[2] + two[2] - error
                self.joint[a, b, i] = self._add(leaves, m * one[1] + two[1], least)

    def judge(self, points):
        first, second = (forest.predict_index(points) for forest in self.forests)
        return np.where(self.wrong[first, second], _WRONG, first)


def _key(label):
    """Labels that are equal in JSON, and no others, have the same."""
    return type(label).__name__, label


def _sums_of(forest):
    if forest.sums is None:
        raise NoEvidence(
            "The class of a model is no sum of what its trees say: it counts labels of members. "
            "Evidence is written of sums alone."
        )
    return forest.sums


def _least(sums, a, k):
    """The least lead of a class over another with which it can be the answer."""
    if not sums.is_exact:
        return -2.0 * sums.rounding
    return 0.0 if (a < k) != sums.tie_upper else _HALF_STEP


def _best_mixture(trees, pairs):
    """The weight of the lead in the first use for which the bounds on both are smallest."""
    one, two = pairs[0][2:]
    one, two = np.concatenate(one[0]), np.concatenate(two[0])
    spread = [float(trees.most(np.column_stack([x, -x])).sum()) for x in (one, two)]
    scale = spread[1] / spread[0] if min(spread) > 0 else 1.0
    tried = scale * 2.0 ** np.arange(-6.0, 6.01, 0.5)
    bounds = trees.most(tried[None] * one[:, None] + two[:, None])
    return float(tried[np.argmin(bounds)])


def _forms(claim, forests):
    raise NotImplementedError(claim.kind)
