"""One or two forests on their common grid of cells, with a `Certifier` of their votes."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from ensemble_simplify.grid import Axes
from ensemble_simplify.proof._certify import Certifier
from ensemble_simplify.proof.changed_boxes import changed_boxes, equal_subtrees, same_vote
from ensemble_simplify.proof.joined_trees import PairOfVotes, Sums
from ensemble_simplify.reading import ExactRule, Unit

_EPS = float(np.finfo(np.float64).eps)
# Leaves whose depths forecast the size of a tree.
FORECAST_LEAVES = 2000


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
    wrong : callable or None
        ``wrong(labels)``: which pairs of answers of two forests refute, as a bool array of shape
        (n_labels, n_labels), never an answer with itself. None: those that differ.

    Attributes
    ----------
    certifier : Certifier
        On `axes`; labels are positions in `labels`.
    labels : list
        All class labels of the forests.
    axes : Axes
    whole : pair of int32 arrays
        First and last cell of the whole grid on every axis.
    outside : pair of int32 arrays or None
        First and last cells of regions outside the domain.
    """

    def __init__(self, forests, axes=None, domain=None, wrong=None):
        if domain is not None:
            forests = [domain.read(forest) for forest in forests]
        self.forests = forests
        self.axes = Axes.of(*forests) if axes is None else axes
        self.outside = None if domain is None else domain.outside(self.axes)
        self.whole = self.axes.whole
        self.labels, self.columns = common_labels(forests)
        n_labels = max(2, len(self.labels))
        self.wrong = ~np.eye(n_labels, dtype=bool)
        if wrong is not None:
            self.wrong[: len(self.labels), : len(self.labels)] = wrong(self.labels)
        units = []
        unit_of, value = [], []
        for model, forest in enumerate(forests):
            builder = _Units(forest, model, n_labels, units)
            builder.add(forest.vote, np.arange(forest.n_classes), self.columns[model])
            unit_of.append(builder.unit_of)
            value.append(builder.value)
        trees = self.trees = [self.axes.encode_forest(forest) for forest in forests]
        nodes = np.concatenate([part.nodes for part in trees])
        offsets = np.concatenate([[0], *(np.diff(part.offsets) for part in trees)]).cumsum()
        # leaves of the second forest have their votes below those of the first
        second = nodes[len(trees[0].nodes) :]
        second[second[:, 0] < 0, 1] += forests[0].n_nodes
        exact = [_exact_rule(f, c) for f, c in zip(forests, self.columns, strict=True)]
        scores = _stacked([forest.value for forest in forests])
        twin = None
        # where two forests can differ at all; None: anywhere
        self.changed = None
        if len(forests) == 2 and same_vote(forests[0], forests[1]):
            same = np.array_equal(self.columns[0], self.columns[1])
            twin = equal_subtrees(nodes, offsets, scores) if same else None
            if twin is not None:
                self.changed = changed_boxes(trees, twin, self.whole) or None
        self.certifier = Certifier(
            self.axes.shape,
            nodes,
            offsets,
            np.concatenate(value),
            np.concatenate(unit_of),
            units,
            self.judge,
            exact,
            scores,
            twin,
            self.wrong,
        )

    def grow(self, seconds, max_leaves):
        """A tree over the axes of the whole grid, see ``Certifier.grow``; None at a limit."""
        return self.certifier.grow(*self.whole, seconds, max_leaves)

    def forecast_leaves(self, seconds, rng):
        """Leaves that `grow` would come to without a limit; unbiased, from a sample of them."""
        seed = int(rng.integers(1 << 63))
        depths = self.certifier.sample_depths(*self.whole, FORECAST_LEAVES, seed, seconds)
        with np.errstate(over="ignore"):
            return float(np.exp2(depths.astype(float)).mean())

    @cached_property
    def pair(self):
        """The two votes as sums over the same trees, or None where they are none."""
        if min(forest.n_trees for forest in self.forests) == 1:
            # bounds on each vote decide faster, leaf by leaf of the tree
            return None
        sums = [Sums.of(forest) for forest in self.forests]
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


class _Units:
    """Splits the vote of a forest into sums over trees whose labels are votes in other sums."""

    def __init__(self, forest, model, n_labels, units):
        self.forest = forest
        self.model = model
        self.units = units
        self.value = np.zeros((forest.n_nodes, n_labels))
        self.unit_of = np.zeros(forest.n_trees, dtype=np.intp)

    def add(self, vote, classes, labels):
        """Add the unit of a vote, after those below it; return its number.

        `classes` are the vote's class indices, `labels` their places among all labels.
        """
        linear = self._linear(vote, len(classes))
        rank = np.full(self.value.shape[1], -1)
        rank[labels] = classes
        opaque = False
        if linear is not None:
            nodes = self._put(vote, linear, labels, 1.0)
            if linear.tie_upper:
                rank = np.where(rank >= 0, len(classes) - 1 - rank, -1)
            one_tree = vote.rule == "mean" and vote.stop - vote.start == 1
            bound = 0.0 if one_tree else linear.error_bound
            tolerance = bound and bound + self._rounding(nodes, vote)
            below = []
        else:
            below = self._gather(vote, labels, 1.0)
            if below is None:
                self.value[self._nodes(vote)] = 0.0
                opaque = True
                below = []
            weights = np.array([weight for _, weight in below])
            whole = np.ldexp(weights, 20)
            if vote.rule == "hard" and weights.sum() < 2.0**20 and (whole == np.rint(whole)).all():
                tolerance = 0.0
            else:
                total = np.abs(weights).sum()
                tolerance = self._rounding(self._nodes(vote), vote) * 4 + (
                    16.0 * (len(below) + 16) * _EPS * total
                )
        number = len(self.units)
        self.units.append(Unit(self.model, rank.tolist(), tolerance, opaque))
        own = np.ones(vote.stop - vote.start, dtype=bool)
        for child, weight in below:
            self.units[child] = replace(self.units[child], parent=number, weight=weight)
        if below:
            own = self.unit_of[vote.start : vote.stop] < 0
        self.unit_of[vote.start : vote.stop][own] = number
        return number

    def _gather(self, vote, labels, factor):
        """Put trees that add up into `value`; return (unit, weight) of all other members.

        None if a weight is negative: then nothing is bounded.
        """
        if vote.rule == "samme" or vote.rule == "hard":
            weights = np.ones(len(vote.members)) if vote.weights is None else vote.weights
            if (np.asarray(weights) < 0).any():
                return None
            n = vote.n_scores
            lead = 1.0 + 1.0 / (n - 1) if vote.rule == "samme" and n > 1 else 1.0
            return [
                (self._below(member, labels), factor * lead * float(weight))
                for member, weight in zip(vote.members, weights, strict=True)
            ]
        if vote.rule == "mean":
            shares = np.full(len(vote.members), 1.0 / vote.scale)
        else:
            weights = np.ones(len(vote.members)) if vote.weights is None else vote.weights
            shares = np.asarray(weights) / np.sum(weights)
        if (shares < 0).any():
            return None
        below = []
        for member, share in zip(vote.members, shares, strict=True):
            linear = None if member.rule == "hard" else self._linear(member, len(member.columns))
            if member.rule == "hard":
                below.append((self._below(member, labels), factor * float(share)))
            elif linear is not None:
                scale = 1.0 if member.members else member.scale
                self._put(member, linear, labels[member.columns], factor * share / scale)
                self.unit_of[member.start : member.stop] = -1
            else:
                inner = self._gather(member, labels[member.columns], factor * float(share))
                if inner is None:
                    return None
                below += inner
        return below

    def _below(self, member, labels):
        return self.add(member, np.arange(len(member.columns)), labels[member.columns])

    def _linear(self, vote, n_classes):
        return replace(self.forest, vote=vote, classes=np.arange(n_classes)).linear_votes()

    def _nodes(self, vote):
        return slice(self.forest.offsets[vote.start], self.forest.offsets[vote.stop])

    def _put(self, vote, linear, labels, factor):
        nodes = self._nodes(vote)
        self.value[nodes, labels] = linear.value[nodes] * factor
        return nodes

    def _rounding(self, nodes, vote):
        """Bound on the error of the certifier's own sums."""
        largest = np.abs(self.value[nodes]).max(axis=1, initial=0.0)
        starts = self.forest.offsets[vote.start : vote.stop] - nodes.start
        magnitude = np.maximum.reduceat(largest, starts).sum()
        return 8.0 * (vote.stop - vote.start + 16) * _EPS * float(magnitude)


def _exact_rule(forest, columns):
    """How the certifier can follow `Forest.decide` itself, for votes without members."""
    vote = forest.vote
    rule = "ask"
    start = np.zeros(vote.n_scores)
    plain = vote.divisor == 1 and vote.offset is None and vote.above == 0.0
    if not vote.members and vote.dtype == "float64" and vote.link is None and plain:
        if vote.rule in ("mean", "majority") or (vote.rule == "samme" and vote.n_scores != 2):
            rule = "first_largest"
        elif vote.rule == "samme":
            rule = "second_above"
        elif vote.rule == "additive":
            rule = "first_largest"
            if vote.n_scores == 1:
                rule = "not_below_zero" if vote.tie_upper else "above_zero"
    if vote.init is not None:
        start = vote.init[: vote.n_scores]
    scale = vote.scale if vote.rule in ("mean", "samme") else 1.0
    return ExactRule(rule, float(scale), start.tolist(), columns.tolist())


def _stacked(arrays):
    width = max(array.shape[1] for array in arrays)
    return np.concatenate([np.pad(a, ((0, 0), (0, width - a.shape[1]))) for a in arrays])


def common_labels(forests):
    """All class labels of some forests, and the places of each forest's own among them."""
    labels = list(dict.fromkeys(c for forest in forests for c in forest.classes.tolist()))
    place = {label: i for i, label in enumerate(labels)}
    columns = [
        np.array([place[c] for c in forest.classes.tolist()], dtype=np.intp) for forest in forests
    ]
    return labels, columns


def points_in(axes, inside, cells):
    """A row in each of some cells, inside the domain."""
    return axes.points(cells) if inside is None else inside.points(axes, cells)
