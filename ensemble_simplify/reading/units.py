"""Votes over votes, split into units: sums over trees whose labels are votes in other sums.

A certifier bounds each unit by itself: a unit adds up its trees and, for every unit below it, a
weight on the label that this one answers; its own label goes to the unit above. A vote that is one
sum is one unit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ensemble_simplify.reading import program as steps
from ensemble_simplify.reading.sums import class_sums

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Unit:
    """A sum over trees and labels of units below.

    Attributes
    ----------
    rank : ndarray of int, shape (n_labels,)
        Ties go to the label of the lowest rank; -1: never answered.
    tolerance : float
        Within this, sums are left to the ensemble's own arithmetic; 0: they are exact.
    parent : int
        The unit that its label is a vote in; -1: it is the label of the model.
    weight : float
        Of its label there.
    opaque : bool
        Whether no bounds hold, as with negative weights.
    model : int
        The model, of two that are compared.
    """

    rank: np.ndarray
    tolerance: float
    parent: int = -1
    weight: float = 0.0
    opaque: bool = False
    model: int = 0


@dataclass(frozen=True, eq=False)
class Units:
    """The units of a vote, each after those below it.

    Attributes
    ----------
    units : list of Unit
    value : float64 array of shape (n_nodes, n_labels)
        What the leaves add for each label, in their unit.
    unit_of : intp array of shape (n_trees,)
    """

    units: list[Unit]
    value: np.ndarray
    unit_of: np.ndarray

    def after(self, n_units, model):
        """The same units of a model, numbered from `n_units` on."""
        if not model and not n_units:
            return self
        units = [
            replace(unit, model=model, parent=unit.parent + n_units if unit.parent >= 0 else -1)
            for unit in self.units
        ]
        return Units(units, self.value, self.unit_of + n_units)


def units_of(forest, labels, n_labels):
    """Split the vote of a forest into units; `labels` are the places of its classes among all."""
    splitting = _Splitting(forest, n_labels)
    splitting.add(forest.vote, labels)
    return Units(splitting.units, splitting.value, splitting.unit_of)


class _Splitting:
    """The units so far."""

    def __init__(self, forest, n_labels):
        self.forest = forest
        self.units = []
        self.value = np.zeros((forest.n_nodes, n_labels))
        self.unit_of = np.full(forest.n_trees, -1, dtype=np.intp)

    def add(self, vote, labels):
        """Add the unit of a vote, after those below it; return its number."""
        sums = class_sums(self.forest, vote)
        below = []
        if sums is not None:
            self._put(vote, sums, labels, 1.0)
            unit = self._unit_of_sums(vote, sums, labels)
        else:
            below = self._below(vote, labels, 1.0)
            unit = self._unit_of_labels(vote, below, labels)
        number = len(self.units)
        self.units.append(unit)
        for child, weight in below or ():
            self.units[child] = replace(self.units[child], parent=number, weight=weight)
        own = self.unit_of[vote.start : vote.stop]
        own[own < 0] = number
        return number

    def _unit_of_sums(self, vote, sums, labels):
        order = np.arange(vote.n_classes)
        return Unit(
            rank=self._rank(labels, order[::-1] if sums.tie_upper else order),
            tolerance=sums.error_bound and sums.error_bound + self._rounding(vote),
        )

    def _unit_of_labels(self, vote, below, labels):
        rank = self._rank(labels, np.arange(vote.n_classes))
        if below is None:
            self.value[self.forest.nodes_of(vote)] = 0.0
            self.unit_of[vote.start : vote.stop] = -1
            return Unit(rank, tolerance=0.0, opaque=True)
        weights = np.array([weight for _, weight in below])
        whole = np.ldexp(weights, 20)
        if vote.counts_labels and weights.sum() < 2.0**20 and (whole == np.rint(whole)).all():
            return Unit(rank, tolerance=0.0)
        total = 16.0 * (len(below) + 16) * _EPS * np.abs(weights).sum()
        return Unit(rank, tolerance=4.0 * self._rounding(vote) + total)

    def _below(self, vote, labels, factor):
        """Put trees that add up into `value`; return (unit, weight) of all other members.

        None if a weight is negative, a member behind a link, or there are none: then nothing is
        bounded.
        """
        if not vote.members or isinstance(vote.numbers, steps.MemberMedian | steps.MemberStack):
            return None
        weights = factor * vote.member_weights
        if vote.is_mean and any(member.is_curved for member in vote.members):
            return None
        if vote.is_of_votes and vote.n_scores > 1:
            # a label leads another by its weight and by what that one loses
            weights = weights * (1.0 + 1.0 / (vote.n_scores - 1))
        elif isinstance(vote.numbers, steps.MemberMean):
            weights = weights / vote.divisor
        elif isinstance(vote.numbers, steps.MemberAverage):
            weights = weights / vote.member_weights.sum()
        if (weights < 0).any():
            return None
        below = []
        for member, weight in zip(vote.members, weights.tolist(), strict=True):
            own = labels[member.columns]
            if vote.is_of_votes or vote.counts_labels or member.counts_labels:
                below.append((self.add(member, own), weight))
                continue
            sums = class_sums(self.forest, member)
            if sums is not None:
                self._put(member, sums, own, weight if member.members else weight / member.divisor)
                continue
            inner = self._below(member, own, weight)
            if inner is None:
                return None
            below += inner
        return below

    def _rank(self, labels, rank):
        ranks = np.full(self.value.shape[1], -1)
        ranks[labels] = rank
        return ranks

    def _put(self, vote, sums, labels, factor):
        nodes = self.forest.nodes_of(vote)
        self.value[nodes, labels] = sums.folded[nodes] * factor

    def _rounding(self, vote):
        """Bound on the error of the certifier's own sums."""
        nodes = self.forest.nodes_of(vote)
        largest = np.abs(self.value[nodes]).max(axis=1, initial=0.0)
        first = self.forest.offsets[vote.start : vote.stop] - nodes.start
        magnitude = np.maximum.reduceat(largest, first).sum()
        return 8.0 * (vote.n_trees + 16) * _EPS * float(magnitude)


@dataclass(frozen=True, eq=False)
class ExactRule:
    """How a kernel can follow the arithmetic of an ensemble itself.

    Attributes
    ----------
    rule : {"ask", "first_largest", "second_above", "above_zero", "not_below_zero"}
        ``"ask"``: it cannot, and asks.
    scale : float
        Divisor of the sums.
    start : ndarray of shape (n_scores,)
        Where the sums start.
    labels : ndarray of int
        Place, among all labels, of each class.
    """

    rule: str
    scale: float
    start: np.ndarray
    labels: np.ndarray


# Choices that a kernel can make as the ensemble does, with its roundings.
_EXACT = {
    steps.Largest(): "first_largest",
    steps.Lead(): "second_above",
    steps.Above(): "above_zero",
    steps.Above(inclusive=True): "not_below_zero",
}


def exact_rule(vote, labels):
    """How the sums of a vote without members become its class; see `ExactRule`."""
    rule = "ask"
    is_plain = not vote.members and vote.dtype == "float64" and vote.offset is None
    if vote.is_boosted_sum:
        is_plain &= vote.divisor == 1
    if is_plain and vote.choice in _EXACT:
        rule = _EXACT[vote.choice]
    start = np.zeros(vote.n_scores) if vote.init is None else vote.init[: vote.n_scores]
    scale = 1.0 if vote.is_boosted_sum else float(vote.divisor)
    return ExactRule(rule, scale, start, labels)
