"""How far apart two ensembles' numbers can be: predictions of regressors, probabilities of classes.

Both add up over trees. Trees are joined as for classes (`joined_trees`), and in each leaf what the
second adds is taken from what the first does: on a box, the difference is at most the sum of the
largest such numbers that each tree can reach. A first search climbs to a large difference; then
boxes are searched (`_joint`) for one above a bar, which is lowered from a bound on everything down
to the tolerance. Bars keep off the tolerance by a margin for all rounding; what lies within it is
decided, as far as it can be listed, by the models' own answers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from sys import maxsize

import numpy as np
from joblib import effective_n_jobs
from scipy.special import expit

from ensemble_simplify.grid import Stopped, in_boxes, in_threads, is_late, leaves_of_cells
from ensemble_simplify.proof.joined_trees import JoinedPair
from ensemble_simplify.proof.near_rows import axis_lines

_EPS = float(np.finfo(np.float64).eps)
# Random cells from which the search for a large difference starts.
STARTS = 16
# How often each of these cells is moved along every axis.
SWEEPS = 4
# Differences that are excluded one after the other, down to the tolerance: each lies half as far
# above the tolerance as the one before.
BARS = 6
# Boxes searched at most for points whose difference is the tolerance itself, up to rounding.
GREY_BOXES = 20_000
# Bisections, at most, of the interval that holds the largest difference.
BISECTIONS = 40
# Boxes searched at most in one bisection.
BRACKET_BOXES = 20_000
# Bisections that may run out of boxes before no more are tried.
FAILURES = 3
# The largest difference counts as known once its interval is this share of its upper end.
CLOSE = 1e-6
# Where the tangents to the set of log-odds touch it: shares of the way from the bar to one.
TANGENTS = (0.002, 0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98, 0.998)
# Numbers that a thread holds at once while lines of cells are compared.
LINE_NUMBERS = 1 << 22
# Cells that the models are asked about at once.
ASKED = 4096


@dataclass(eq=False)
class Found:
    """How far apart answers are known to be, and how far they can be at most.

    Attributes
    ----------
    outcome : bool or None
        Whether all are within the tolerance.
    cell : int32 array of shape (n_axes,) or None
        Where they are not.
    largest : float
        Largest difference of the models' own answers that was seen.
    bound : float
        No difference is larger.
    reason : {None, "time", "boxes", "rounding"}
        What came before an outcome.
    row : int or None
        The row near which the cell is.
    """

    outcome: bool | None = None
    cell: np.ndarray | None = None
    largest: float = 0.0
    bound: float = np.inf
    reason: str | None = None
    row: int | None = None


class Closeness:
    """Two models' numbers on a common grid.

    Parameters
    ----------
    sums : pair of Sums
        Of values or probabilities.
    columns : pair of int arrays
        The places of each model's outputs among all.
    trees : pair of CodedTrees
        The numbers of their leaves are nodes of their forests.
    axes : Axes
    outside : pair of int32 arrays or None
        Regions outside the domain.
    answers : callable
        ``answers(cells)``: the own answers of both, two arrays of shape (n, n_outputs).
    atol, rtol : float
        Answers a and b are close where ``abs(a - b) <= atol + rtol * abs(b)``.
    twins : {None, "common", "all"}, default=None
        How trees are joined, see `JoinedTrees`.

    Attributes
    ----------
    is_copy : bool
        Whether the models have the same trees, which add up alike.
    found : Found
        What is known.
    """

    is_copy = False
    # where to look, as pairs of first and last cells; None is everywhere
    boxes: Iterable = (None,)
    are_odds = False

    def __init__(self, sums, columns, trees, axes, outside, answers, atol, rtol, twins=None):
        self.axes, self.outside, self.answers = axes, outside, answers
        self.atol, self.rtol = atol, rtol
        pair = JoinedPair(sums, columns, trees, axes, twins)
        self.trees, self.leaves, self.start = pair.trees, pair.leaves, pair.start
        self.n_outputs = len(pair.start[0])
        # sums here, and those of the models, are no further from real ones than this
        magnitude = sums[0].magnitude + (1.0 + rtol) * sums[1].magnitude
        own = sums[0].rounding + (1.0 + rtol) * sums[1].rounding
        terms = self.trees.n_members + len(self.trees.first) + 16
        # the comparison itself rounds, too
        self.margin = 2.0 * own + 16.0 * terms * _EPS * magnitude + 8.0 * _EPS * atol
        self.n_boxes = 0
        self.found = Found()

    @cached_property
    def search(self):
        """The search over boxes."""
        return self.trees.search

    # ------------------------------------------------------------------ the models' own answers

    def ask(self, cells):
        """Which of some cells the models' own answers differ at beyond the tolerance, as bools."""
        apart = np.zeros(len(cells), dtype=bool)
        for i in range(0, len(cells), ASKED):
            part = slice(i, i + ASKED)
            a, b = self.answers(cells[part])
            apart[part] = self._note(cells[part], a, b)
        return apart

    def _note(self, cells, a, b):
        """Which answers are apart; the first of them refutes, whatever bounds say."""
        difference = self._difference(a, b)
        apart = (difference > self.atol + self.rtol * np.abs(b)).any(axis=1)
        self.found.largest = max(self.found.largest, float(difference.max(initial=0.0)))
        if apart.any() and self.found.cell is None:
            self.found.cell = cells[apart.argmax()].copy()
        return apart

    def _difference(self, a, b):
        """How far apart numbers are."""
        return np.abs(a - b)

    def _is_inside(self, cells):
        return ~in_boxes(cells, self.outside)

    # ------------------------------------------------------------------ lines

    def _link(self, sums):
        """What sums become: here they are the numbers that are answered."""
        return sums

    @cached_property
    def _numbers(self):
        """What the leaves add to both models' outputs."""
        return np.ascontiguousarray(np.hstack(self.leaves))

    def _on_lines(self, cells, axis):
        """Excess over the relative tolerance, and the difference, along an axis through cells.

        Both are float64 of shape (n, cells of the axis).
        """
        a, b = np.split(self._link(self._sums_on_lines(cells, axis)), 2, axis=1)
        difference = np.abs(a - b)
        excess = (difference - self.rtol * np.abs(b)).max(axis=1)
        shape = len(cells), self.axes.shape[axis]
        return excess.reshape(shape), difference.max(axis=1).reshape(shape)

    def _sums_on_lines(self, cells, axis):
        """Both models' outputs, side by side, at all cells of lines, one line after the other."""
        return self.trees.sums_on_lines(self._numbers, np.concatenate(self.start), cells, axis)

    def _sums_at(self, cells):
        """Both models' outputs, side by side, at cells."""
        cells = np.ascontiguousarray(cells, dtype=np.int32)
        leaves = np.empty((len(self.trees.first), len(cells)), dtype=np.intp)
        leaves_of_cells(self.trees.nodes, self.trees.offsets, cells, leaves)
        return np.concatenate(self.start) + self._numbers[leaves].sum(axis=0)

    def _difference_of(self, sums):
        """The largest difference of the outputs."""
        a, b = np.split(self._link(sums), 2, axis=1)
        return np.abs(a - b).max(axis=1)

    def climb(self, rng) -> None:
        """Move random cells, one coordinate after the other, to where the excess is largest."""
        shape = np.array(self.axes.shape)
        cells = rng.integers(shape, size=(STARTS, len(shape))).astype(np.int32)
        cells[0], cells[1] = 0, shape - 1
        # sums that are the same everywhere are no further apart anywhere else
        same = self.furthest() <= 2.0 * self.margin and self._is_inside(cells).all()
        for _ in range(0 if same else SWEEPS):
            before = cells.copy()
            for axis in rng.permutation(len(shape)):
                if is_late():
                    break
                excess, _ = self._on_lines(cells, axis)
                own = excess[np.arange(len(cells)), cells[:, axis]]
                own[~self._is_inside(cells)] = -np.inf
                for i in np.flatnonzero(excess.max(axis=1) > own):
                    moved = np.repeat(cells[i : i + 1], len(excess[i]), axis=0)
                    moved[:, axis] = np.arange(len(moved))
                    better = np.where(self._is_inside(moved), excess[i], -np.inf)
                    if better.max() > own[i]:
                        cells[i, axis] = better.argmax()
            if (cells == before).all():
                break
        cells = np.unique(cells[self._is_inside(cells)], axis=0)
        if len(cells):
            self.ask(cells)

    def proves_copy(self) -> bool:
        """Whether the models are a copy of one another; where so, `found` says it."""
        if not self.is_copy:
            return False
        largest = self.found.largest
        # what is not read of the models would show here
        self.climb(np.random.default_rng(0))
        if self.found.cell is None:
            self.found = Found(True, None, largest, largest)
            return True
        self.found = Found(largest=largest)
        return False

    def near(self, cells, max_changes, n_jobs=None) -> Found:
        """Compare the models at every point near some rows, cells of shape (n_rows, n_axes).

        At least one change is allowed. Threads share the lines.
        """
        found = self.found
        # a bound on every point, until all points near the rows have been seen
        found.bound = self.furthest()
        for i in range(0, len(cells), ASKED):
            if is_late():
                found.reason = "time"
                return found
            apart = self.ask(cells[i : i + ASKED])
            if apart.any():
                found.outcome, found.row = False, i + int(apart.argmax())
                return found
        top = 0.0
        shape = self.axes.shape
        step = max(1, LINE_NUMBERS // (max(shape) * 2 * self.n_outputs))
        try:
            walked = axis_lines(cells, shape, max_changes, step)
            # looked at in the order of one thread: what the models are asked depends on it
            while parts := list(islice(walked, effective_n_jobs(n_jobs))):
                calls = [partial(self._on_lines, here, axis) for _, here, axis, _ in parts]
                known = in_threads(n_jobs, calls)
                for (rows, here, axis, _), (excess, difference) in zip(parts, known, strict=True):
                    if not self._look_at(rows, here, axis, excess, difference):
                        return found
                    top = max(top, float(difference.max()))
        except Stopped:
            found.reason = "time"
            return found
        found.outcome, found.bound = True, top + self.margin
        return found

    def _look_at(self, rows, cells, axis, excess, difference):
        """Ask the models where lines come close to the tolerance; False if that ends the search."""
        chosen = np.zeros(excess.shape, dtype=bool)
        if difference.max() > self.found.largest + 2.0 * self.margin:
            chosen.flat[difference.argmax()] = True
        chosen |= excess > self.atol - self.margin
        at, position = np.nonzero(chosen)
        # the furthest first
        order = np.argsort(-excess[at, position], kind="stable")
        for i in range(0, len(order), ASKED):
            if is_late():
                self.found.reason = "time"
                return False
            part = order[i : i + ASKED]
            moved = cells[at[part]]
            moved[:, axis] = position[part]
            inside = self._is_inside(moved)
            apart = np.zeros(len(moved), dtype=bool)
            if inside.any():
                apart[inside] = self.ask(moved[inside])
            if apart.any():
                self.found.outcome = False
                self.found.row = int(rows[at[part][apart.argmax()]])
                return False
        return True

    # ------------------------------------------------------------------ boxes

    def _cases(self, bar, rtol):
        """What a point needs that is further apart than a bar: forms, starts and needs."""
        one, two = self.leaves
        for k in range(self.n_outputs):
            for sign in (1.0, -1.0):
                forms = [sign * (one[:, k] - two[:, k])]
                start = [sign * (self.start[0][k] - self.start[1][k])]
                if rtol > 0:
                    for side in (rtol, -rtol):
                        forms.append(forms[0] + side * two[:, k])
                        start.append(start[0] + side * self.start[1][k])
                forms = np.ascontiguousarray(np.column_stack(forms))
                yield forms, np.array(start), np.full(len(start), bar)

    def furthest(self):
        """A bound on all differences, before anything is searched."""
        return self._largest(self.leaves[0] - self.leaves[1], self.start[0] - self.start[1])

    def _top(self, leaves, start):
        """The largest absolute value of some sums, but for rounding."""
        top = self.trees.most(np.hstack([leaves, -leaves])) + np.concatenate([start, -start])
        return float(top.max())

    def _largest(self, leaves, start):
        """A bound on the absolute value of some sums."""
        return self._top(leaves, start) + self.margin

    def _most_allowed(self):
        """The tolerance where the second model's answer is largest."""
        if self.rtol == 0:
            return self.atol
        return self.atol + self.rtol * self._largest(self.leaves[1], self.start[1])

    def everywhere(self, rng, max_boxes=maxsize) -> Found:
        """Compare the models at every point of the domain."""
        found = self.found
        found.bound = self.furthest()
        self.climb(rng)
        self._decide(max_boxes)
        self._bracket(max_boxes)
        return found

    def _is_settled(self):
        """Whether the outcome is known before boxes are looked at; it is then set."""
        if self.found.cell is not None:
            self.found.outcome = False
        elif self.found.bound <= self.atol:
            self.found.outcome = True
        return self.found.outcome is not None

    def _bars(self, bar):
        """Bars from what is known down to one, with the boxes that each may take."""
        top = self.found.bound
        above = bar + (top - bar) * 0.5 ** np.arange(1, BARS) if top > bar else ()
        return [(level, maxsize) for level in (*above, bar)]

    def _levels(self):
        """The bars that are searched one after the other."""
        yield from self._bars(self.atol + self.margin)
        yield self.atol - self.margin, GREY_BOXES

    def _decide(self, max_boxes) -> None:
        """Lower the bar to the tolerance."""
        found = self.found
        if self._is_settled():
            return
        for level, limit in self._levels():
            below, reason = self._is_below(level, self.ask, limit, max_boxes, self.rtol)
            if found.cell is not None:
                found.outcome = False
                return
            if reason is not None:
                found.reason = reason
                return
            if self.rtol == 0:
                found.bound = min(found.bound, below)
            if below <= self.atol - self.margin:
                break
        found.outcome = True
        found.bound = min(found.bound, self._most_allowed())

    def _bracket(self, max_boxes) -> None:
        """Close in on the largest difference, as far as little effort goes."""
        found = self.found
        beyond, n_failed = 0.0, 0
        for _ in range(BISECTIONS):
            low = max(found.largest + self.margin, beyond)
            if found.bound - low <= max(2.0 * self.margin, CLOSE * found.bound):
                break
            level = 0.5 * (low + found.bound)
            below, reason = self._is_below(level, self._raises, BRACKET_BOXES, max_boxes)
            if reason is None:
                found.bound = min(found.bound, below)
                continue
            # too low a bar for so little effort
            beyond, n_failed = level, n_failed + 1
            if reason != "rounding" or n_failed == FAILURES:
                break
        if found.cell is not None:
            found.outcome = False

    def _raises(self, cells):
        """At which cells the models' own answers are further apart than known so far."""
        known = self.found.largest
        a, b = self.answers(cells)
        self._note(cells, a, b)
        return np.abs(a - b).max(axis=1) > known

    def settle(self, box, max_boxes) -> bool | None:
        """Whether all answers in a box are within `atol`, or none are; None: neither is proven.

        `rtol` is not looked at.
        """
        lo, hi = box
        is_beyond = self._beyond((lo + hi)[None] // 2)[0]
        if (lo == hi).all():
            return not is_beyond
        if not is_beyond:
            limit = self.n_boxes + max_boxes
            bar = self.atol - self.margin
            bound, _ = self._is_below(bar, self._beyond, max_boxes, limit, box=box)
            return True if bound < np.inf else None
        for forms, start, need in self._all_above():
            cells = self.search.find(
                forms,
                start,
                need,
                box=box,
                judge=lambda cells: ~self._beyond(cells),
                max_boxes=max_boxes,
            )
            if not len(cells) and self.search.stopped is None:
                return False
        return None

    def _beyond(self, cells):
        """At which cells answers are further apart than `atol`; asked where sums cannot tell."""
        difference = self._difference_of(self._sums_at(cells))
        apart = difference > self.atol + self.margin
        unsure = np.flatnonzero(~apart & (difference > self.atol - self.margin))
        if unsure.size:
            a, b = self.answers(cells[unsure])
            apart[unsure] = (np.abs(a - b) > self.atol).any(axis=1)
        return apart

    def _all_above(self):
        """Ways in which all points of a box are further apart: what no point may reach then."""
        for forms, start, need in self._cases(self.atol + self.margin, 0.0):
            yield -forms, -start, -need

    def _is_below(self, bar, judge, limit, max_boxes, rtol=0.0, box=None):
        """Search for points above a bar: a bound on the excess, and what ended the search."""
        bound = -np.inf
        for forms, start, need in self._cases(bar, rtol):
            for i, part in enumerate(self.boxes if box is None else (box,)):
                if i and is_late():
                    return np.inf, "time"
                room = max_boxes - self.n_boxes
                if room <= 0:
                    return np.inf, "boxes"
                cells = self.search.find(
                    forms,
                    start,
                    need,
                    box=part,
                    outside=self.outside,
                    judge=judge,
                    are_odds=self.are_odds,
                    max_boxes=min(limit, room),
                )
                self.n_boxes += self.search.n_boxes
                if len(cells):
                    return np.inf, None
                if self.search.stopped == "boxes" and limit < room:
                    return np.inf, "rounding"
                if self.search.stopped is not None:
                    return np.inf, self.search.stopped
                bound = max(bound, self._closed(bar))
        return max(bound + self.margin, self.found.largest), None

    def _closed(self, bar):
        """No point of the boxes that the last search closed is further apart."""
        return bar + self.search.highest


class CloseBehind(Closeness):
    """Numbers that are a link of one sum each, which never falls.

    The pairs of sums at which the first number exceeds the second one by more than a bar are a
    convex set: its tangents are demands on sums.
    """

    # how the sums become what is answered, in words
    named = ""

    def __init__(self, sums, columns, trees, axes, outside, answers, atol, rtol=0.0):
        super().__init__(sums, columns, trees, axes, outside, answers, atol, 0.0)
        # the margin so far is one of sums
        self.rtol, self.of_sums, self.own = rtol, self.margin, answers
        self.answers = self._checked

    def _checked(self, cells):
        """The models' own answers, which must be what is bounded."""
        answers = self.own(cells)
        expected = self._link(self._sums_at(cells))
        for k, given in enumerate(answers):
            off = np.abs(given[:, -1] - expected[:, k]).max(initial=0.0)
            if off > self.margin:
                raise RuntimeError(
                    f"What model_{'ab'[k]} answers is {off:.3g} off the {self.named} of its "
                    "trees' sum. Leave atol and rtol out."
                )
        return answers

    def _all_above(self):
        return ()  # what is left beside the tangents is not convex

    def _furthest_sums(self):
        """A bound on how far the sums of both models are apart."""
        return max(self._top(self.leaves[0] - self.leaves[1], self.start[0] - self.start[1]), 0.0)

    def _closed(self, bar):
        return max(bar, 0.0)


class CloseOdds(CloseBehind):
    """Two boosted classifiers of two classes: probabilities are sigmoids of sums."""

    named = "sigmoid"

    def __init__(self, sums, columns, trees, axes, outside, answers, atol, dtype):
        super().__init__(sums, columns, trees, axes, outside, answers, atol)
        # the sigmoid is no steeper than a quarter
        self.margin = 0.25 * self.margin + 32.0 * float(np.finfo(dtype).eps)

    def _link(self, sums):
        return expit(sums)

    def furthest(self):
        # log-odds a distance apart give probabilities furthest apart around one half
        return float(np.tanh(0.25 * self._furthest_sums())) + self.margin

    def _cases(self, bar, rtol):
        yield from odds_apart(self.leaves, self.start, bar, self.of_sums)


class CloseValues(CloseBehind):
    """Two regressors whose values are exponentials of sums, or these `less` a number."""

    named = "exponential"

    def __init__(self, sums, columns, trees, axes, outside, answers, atol, rtol, less=0.0):
        self.less = less
        super().__init__(sums, columns, trees, axes, outside, answers, atol, rtol)
        self.largest_values, self.margin = values_of_sums(
            self.trees, self.leaves, self.start, self.of_sums, rtol
        )

    def _link(self, sums):
        with np.errstate(over="ignore"):
            return np.exp(sums) - self.less

    def furthest(self):
        top = float(self.largest_values.max())
        return top * -float(np.expm1(-self._furthest_sums())) + self.margin

    def _most_allowed(self):
        return self.atol + self.rtol * float(self.largest_values[1]) if self.rtol else self.atol

    def _cases(self, bar, rtol):
        """The sums u and v of points at which one value exceeds the other one's share by a bar.

        Where a exceeds b: exp(u) > bar + (1 + rtol) exp(v). Where b exceeds a: exp(v) > (bar +
        exp(u)) / (1 - rtol). In both, the one sum is above a convex function of the other.
        """
        (one, two), (first, second) = self.leaves, self.start
        one, two, start, more = one[:, 0], two[:, 0], (first[0], second[0]), np.log1p(rtol)
        yield values_above(one, two, start, bar, self.of_sums, more)
        if rtol < 1.0:
            up = -np.log1p(-rtol)
            yield values_above(two, one, start[::-1], bar, self.of_sums, up=up)


def values_above(high, low, start, bar, margin, shift=0.0, up=0.0):
    """What a point needs at which ``h > log(bar + exp(l + shift)) + up``, for sums h and l.

    `high` and `low` are what the leaves add to them, `start` is where they start; `margin` is by
    how much sums can be off. Answers forms of the leaves, their starts, and what is needed of each.
    """
    slopes, at = np.ones(1), np.full(1, shift)
    if bar > 0:
        # a tangent's slope is the share of the second term; its ends are the asymptotes
        inner = np.array(TANGENTS)
        slopes = np.concatenate([[0.0], inner, [1.0]])
        touched = np.log(inner / (1.0 - inner)) + np.log(bar) - shift
        height = np.logaddexp(np.log(bar), touched + shift)
        at = np.concatenate([[np.log(bar)], height - inner * touched, [shift]])
    forms = high[:, None] - slopes * low[:, None]
    need = at + up
    # the tangent's own rounding, too
    need = need - 2.0 * margin - 1e-12 * (1.0 + np.abs(need))
    return np.ascontiguousarray(forms), start[0] - slopes * start[1], need


def values_of_sums(trees, leaves, start, margin, rtol=0.0):
    """The largest exponentials of two sums, and how far these can be from what models answer."""
    tops = [float(trees.most(one)[0] + begin[0]) for one, begin in zip(leaves, start, strict=True)]
    with np.errstate(over="ignore"):
        largest = np.exp(np.array(tops) + margin)
        # exponentials are rounded in the type in which models add up
        unit = max(_EPS, margin / 16.0)
        off = float((1.0 + rtol) * largest.max()) * (np.expm1(margin) + 32.0 * unit)
    return largest, off


def odds_apart(leaves, start, bar, margin):
    """What a point needs at which two sigmoids of sums are further apart than a bar.

    `leaves` and `start` are those of a `JoinedPair` of log-odds; `margin` is by how much sums can
    be off. Yields forms of the leaves, their starts, and what is needed of each.
    """
    if bar >= 1.0:
        return
    bar = max(bar, 0.0)
    for upper, lower in ((0, 1), (1, 0)):
        one, two = leaves[upper][:, 0], leaves[lower][:, 0]
        forms, begin, need = [], [], []
        for share in TANGENTS:
            # in both, or one of both, probabilities far from the ends
            p = bar + (1.0 - bar) * share
            q = p - bar
            slope = p * (1.0 - p) / (q * (1.0 - q))
            touched = slope * np.log(p / (1.0 - p)) - np.log(q / (1.0 - q))
            # as shares of the larger of both weights
            weight = max(slope, 1.0)
            forms.append((slope * one - two) / weight)
            begin.append((slope * start[upper][0] - start[lower][0]) / weight)
            # the tangent's own rounding, too
            error = margin + 1e-12 * (1.0 + abs(touched) / weight)
            need.append(touched / weight - error)
        yield np.ascontiguousarray(np.column_stack(forms)), np.array(begin), np.array(need)
