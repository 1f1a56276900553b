"""A card in its user's words: parts of the sum by name, their bins, points and shares of rows."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ensemble_simplify.grid import float32_floor, last_double
from ensemble_simplify.scorecards._card import Card, Term, singles
from ensemble_simplify.writing import (
    NamedColumns,
    Span,
    aligned,
    end_of_interval,
    number,
    one_line,
    percent,
    plain,
)

# Letters of a line of bins in a text, and of what is said below.
_LONGEST, _WIDTH = 60, 88
# Totals of which the chance is told, at most.
_MOST_TOTALS = 11
# A chance is what happened; what a model says of it has another name.
_CHANCES = {
    "itself": "model's probability of",
    "y": "chance of",
    "model": "model's mean probability of",
    "answers": "how often the model says",
}
_ADD = "Take the points of the start. In each block, add the points of the line that fits."
_MULTIPLY = (
    "Take the rate of the start. Multiply it, for each block, by the relativity of the line that "
    "fits. The product is the answer."
)
# Bins without a row that are named, at most.
_MOST_UNSEEN = 12
# Letters of a number up to which it was hardly made by rounding to float32.
_MOST_DIGITS = 10


class Side(NamedTuple):
    """A bin of a column, or several with the same points."""

    text: str  # "30 < age <= 45", "job: cook, driver"
    brief: str  # below the name of the column: "over 30, up to 45", "cook, driver"
    places: np.ndarray  # of the bins
    is_told: bool = True  # False: a gap where no row lacked anything
    ends: tuple | None = None  # of an interval of numbers


@dataclass(frozen=True, eq=False)
class Line:
    """A bin of a part of the card: of a column, or of two."""

    text: str
    brief: str
    points: np.ndarray  # (n_scores,)
    share: float  # of the rows that were counted; NaN if none were
    is_told: bool
    sides: tuple  # places among the sides of each column


@dataclass(frozen=True, eq=False)
class Part:
    """What one column, or a pair, brings to the sum.

    Attributes
    ----------
    name : str
        "age", or "age and job".
    term : Term
    place : int
        Of the term in the card.
    sides : tuple of list of Side
        Of each column.
    lines : list of Line
        In the order of the bins; of a pair, row by row.
    """

    name: str
    term: Term
    place: int
    sides: tuple
    lines: list

    @property
    def told(self) -> list[Line]:
        """The lines that a printed card has: without gaps where no row lacked anything."""
        return [line for line in self.lines if line.is_told]

    @property
    def is_constant(self) -> bool:
        """Whether every row gets the same points, which are part of the start."""
        return all(np.array_equal(line.points, self.lines[0].points) for line in self.lines)

    @property
    def span(self) -> float:
        """How far apart two rows can be by this part, at most."""
        points = np.array([line.points for line in self.told])
        return float(np.ptp(points, axis=0).max())

    @property
    def grid(self) -> tuple:
        """Of a pair, the sides of both columns that are told, and rows of lines between them."""
        line_of = {line.sides: line for line in self.lines}
        shown = [[k for k, side in enumerate(own) if side.is_told] for own in self.sides]
        sides = [[own[k] for k in keep] for own, keep in zip(self.sides, shown, strict=True)]
        return (*sides, [[line_of[a, b] for b in shown[1]] for a in shown[0]])

    def line_of(self) -> np.ndarray:
        """The number of the line of every bin, in the shape of the points without scores."""
        found = np.zeros(self.term.points.shape[:-1], dtype=np.intp)
        for number_, line in enumerate(self.lines):
            cells = [sides[k].places for sides, k in zip(self.sides, line.sides, strict=True)]
            found[np.ix_(*cells)] = number_
        return found


@dataclass(frozen=True, eq=False)
class NamedCard(NamedColumns):
    """A card with what its user calls things.

    Attributes
    ----------
    card : Card
    classes : list or None
        Labels as Python's own objects; None for regression.
    told : ndarray of bool, shape (n_features,)
        Columns in which some rows lacked something, or may have if there were none.
    can_lack : ndarray of bool, shape (n_features,)
        Columns in which new rows can lack something, or have a level that nobody knows.
    rows : list of ndarray or None
        The weight of the rows in each bin of each term; None: nobody counted.
    counted : {"rows", "weight", "exposure"}
        What shares of them are shares of.
    scale : Scale or None
        What totals mean, where that was asked for.
    source : {"y", "model", "answers", "itself"}
        What chances were fitted to: labels, the model's probabilities, or how often it answered;
        "itself": they are those of an additive model.
    """

    card: Card
    classes: Any
    told: np.ndarray
    can_lack: np.ndarray
    rows: list | None = None
    counted: str = "rows"
    scale: Any = None
    source: str = "itself"

    # --------------------------------------------------------------- parts

    def parts(self) -> list[Part]:
        """What the columns bring to the sum, that which tells rows apart most first."""
        found = self._all_parts
        found = [part for part in found if not part.is_constant]
        return sorted(found, key=lambda part: -part.span)  # stable

    @cached_property
    def _all_parts(self):
        rows = self.rows or [None] * len(self.card.terms)
        terms = enumerate(zip(self.card.terms, rows, strict=True))
        return [self._part(place, *pair) for place, pair in terms]

    @property
    def start(self) -> np.ndarray:
        """What every row gets: the base, and the points of terms that are the same for all."""
        constant = [part.lines[0].points for part in self._all_parts if part.is_constant]
        return self.card.base + sum(constant, np.zeros(len(self.card.base)))

    def _part(self, place, term, rows):
        sides = tuple(
            self._sides(j, edges, np.moveaxis(term.points, axis, 0))
            for axis, (j, edges) in enumerate(zip(term.columns, term.edges, strict=True))
        )
        lines = []
        for at in product(*(range(len(each)) for each in sides)):
            chosen = [each[k] for each, k in zip(sides, at, strict=True)]
            cells = np.ix_(*(side.places for side in chosen))
            lines.append(
                Line(
                    text=" and ".join(side.text for side in chosen),
                    brief=" and ".join(
                        side.text if len(sides) > 1 else side.brief for side in chosen
                    ),
                    points=term.points[tuple(side.places[0] for side in chosen)],
                    share=np.nan if rows is None else float(rows[cells].sum() / rows.sum()),
                    is_told=all(side.is_told for side in chosen),
                    sides=at,
                )
            )
        name = " and ".join(self.shown(j) for j in term.columns)
        return Part(name, term, place, sides, lines)

    def _sides(self, j, edges, points):
        """Bins of column j in words, those with the same points together."""
        groups = self._groups_of_levels if self.levels(j) is not None else self._groups_of_numbers
        found = groups(j, edges, points)
        if not self.can_lack[j]:
            return found
        gap = np.array([len(edges) + 1])
        other = ["missing"]
        if self.levels(j) is not None and self.unknown(j) == "missing":
            other.append("unknown")
        words = " or ".join(other)
        found.append(Side(f"{self.shown(j)} is {words}", words, gap, bool(self.told[j])))
        return found

    def _groups_of_numbers(self, j, edges, points):
        ends, is_code = np.concatenate([[-np.inf], edges, [np.inf]]), singles(edges)
        is_whole = self.table.columns[j].whole is not None
        if is_whole:
            ends = np.floor(ends)  # of whole numbers, 30.5 parts what 30 does
        # neighbours with the same points are one line, also those that a code parts
        runs, name = [], self.shown(j)
        for b in np.flatnonzero(~is_code).tolist():
            if runs and (points[b] == points[runs[-1][-1]]).all():
                runs[-1].append(b)
            else:
                runs.append([b])
        found = []
        for run in runs:
            low, high = float(ends[run[0]]), float(ends[run[-1] + 1])
            text = self.interval(j, Span(low, high), write=_end) or f"{name} is known"
            brief = between_in_words(_end(low), _end(high))
            if is_whole and high == low + 1:
                text, brief = f"{name} = {_end(high)}", _end(high)
            codes = [_end(edges[b]) for b in np.setdiff1d(range(run[0], run[-1]), run)]
            other = f", but not {' or '.join(codes)}" if codes else ""
            found.append(Side(text + other, brief + other, np.array(run), ends=(low, high)))
        codes = [(_end(edges[b]), np.array([b])) for b in np.flatnonzero(is_code)]
        return found + [Side(f"{name} = {end}", end, own) for end, own in codes]

    def _groups_of_levels(self, j, edges, points):
        levels, name = self.levels(j), self.shown(j)
        codes = np.array(self.codes(j, Span()))
        places = np.searchsorted(edges, codes, side="left")
        groups = {}
        for place in dict.fromkeys(places.tolist()):
            groups.setdefault(points[place].tobytes(), []).append(place)
        found, at = [], []
        for group in groups.values():
            mine = codes[np.isin(places, group)].tolist()
            known = [_level(levels[code]) for code in mine if code < len(levels)]
            words = ", ".join(known + ["any other"] * (len(known) < len(mine)))
            found.append(Side(f"{name}: {words}", words, np.array(group)))
            at += group
        # bins between which there is no code belong to some line, too
        rest = np.setdiff1d(np.arange(len(edges) + 1), at)
        if rest.size:
            found[-1] = found[-1]._replace(places=np.concatenate([found[-1].places, rest]))
        return found

    # --------------------------------------------------------------- words

    @property
    def scored(self) -> list:
        """What each score is for: a label; none for values."""
        if self.classes is None:
            return []
        event = self.card.event
        return [self.classes[event]] if self.card.link == "logistic" else self.classes

    @property
    def heads(self) -> list[str]:
        """Headings of the columns of points."""
        if self.card.link == "softmax":
            return [one_line(label) for label in self.scored]
        return ["relativity" if self.card.link == "log" else "points"]

    def shown_as(self, value) -> float:
        """Points as they are read: a relativity is what the value is multiplied by."""
        return float(f"{np.exp(value):.12g}") if self.card.link == "log" else float(value)

    @property
    def is_whole(self) -> bool:
        """Whether all points are whole numbers."""
        arrays = [self.card.base, *(term.points for term in self.card.terms)]
        return self.card.link != "log" and all((array == np.rint(array)).all() for array in arrays)

    def in_points(self, value, decimals=None) -> str:
        """Points in words: three digits of the largest ones, whole numbers as they are."""
        value = self.shown_as(value)
        if decimals is None:
            decimals = 0 if self.is_whole else self._decimals
            if self.card.link == "log" and not _ends_at(value, decimals):
                return f"{value:.6g}"  # a base rate, or relativities that are not rounded
        text = f"{value:.{decimals}f}"
        return text.removeprefix("-") if float(text) == 0 else text

    @property
    def _decimals(self):
        if self.card.link == "log":
            told = [np.exp(term.points).ravel() for term in self.card.terms]
            told = np.concatenate([[1.0], *told])
            return next((d for d in range(2, 7) if _ends_at(told, d).all()), 2)
        most = max((np.abs(term.points).max() for term in self.card.terms), default=0.0)
        return int(np.clip(2 - np.floor(np.log10(most)), 0, 9)) if most > 0 else 2

    @property
    def title(self) -> str:
        if self.card.link == "log":
            return "Tariff: a base rate and relativities"
        if self.card.link == "identity":
            return "Scorecard for a number"
        if self.card.link == "softmax":
            return f"Scorecard for {len(self.classes)} classes"
        return f"Scorecard: points for {quoted(self.scored[0])}"

    def decision(self) -> str:
        """What the total says, in a sentence."""
        if self.card.link == "log":
            return _MULTIPLY
        if self.card.link == "identity":
            return f"{_ADD} The total is the answer."
        if self.card.link == "softmax":
            return f"{_ADD} Do this for each class. The class with the largest total is the answer."
        yes, no = map(quoted, self.classes[:: 1 - 2 * self.card.event])
        at = self.card.at
        if self.is_whole and not self.card.tie_upper:
            least = f"{self.in_points(at + 1)} or more"
        else:
            text = self.in_points(at) if self.is_whole else number(at)
            least = f"{text} or more" if self.card.tie_upper else f"more than {text}"
        return f"{_ADD} The answer is {yes} if the total is {least}, otherwise {no}."

    def unseen(self) -> str:
        """A sentence on gaps where no row lacked anything; empty if there are none."""
        hidden = [(part, line) for part in self.parts() for line in part.lines if not line.is_told]
        if not hidden:
            return ""
        if not any(line.points.any() for _, line in hidden):
            what = "changes nothing" if self.card.link == "log" else "adds 0 points"
            return f"A missing or unknown value {what}, if no line says otherwise."
        lines = [line for part, line in hidden if len(part.sides) == 1][:_MOST_UNSEEN]
        told = [f"{line.text} ({self._in_one(line.points)})" for line in lines]
        more = len(hidden) - len(told)
        told += [f"{more} {'more' if told else 'bins'}, listed by to_frame"] if more else []
        return f"Not shown above, since no training row had it: {'; '.join(told)}."

    def _in_one(self, points):
        return ", ".join(map(self.in_points, points))

    # --------------------------------------------------------------- totals

    def range(self) -> tuple[float, float]:
        """The lowest and the highest total of a card with one score."""
        low = high = float(self.start[0])
        for part in self.parts():
            points = [line.points[0] for line in part.told]
            low, high = low + min(points), high + max(points)
        return low, high

    @property
    def chance_head(self) -> str:
        """What the chances of totals are, in words."""
        return f"{_CHANCES[self.source]} {quoted(self.scored[0])}"

    def totals(self) -> tuple[np.ndarray, list[str]]:
        """Round totals over the range of a card for two classes, as numbers and as text."""
        if self.card.link != "logistic":
            return np.zeros(0), []
        low, high = self.range()
        steps = (s * 10.0**e for e in range(-9, 12) for s in (1, 2, 5))
        # the finest round step for which the table stays short
        step = next(s for s in steps if (high - low) / s <= _MOST_TOTALS - 1)
        if self.is_whole:
            step = max(step, 1.0)
        totals = np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step + 0.0
        digits = max(0, -int(np.floor(np.log10(step) + 1e-9)))
        return totals, [f"{total:.{digits}f}" for total in totals]

    def scaling(self) -> str:
        """A sentence on the scale of totals; empty if there is none."""
        if self.scale is None:
            return ""
        pdo, points, odds = map(number, self.scale)
        return f"The odds double every {pdo} points, and are {odds} to 1 at a total of {points}."

    # --------------------------------------------------------------- text

    def text(self, decimals=None, *, with_title=True) -> str:
        """The card as text: a line for each bin, blocks for columns."""
        parts = self.parts()
        blocks = [[("start", self.start, np.nan)]]
        blocks += [[(line.text, line.points, line.share) for line in part.told] for part in parts]
        heads, with_rows = ["", *self.heads], self.rows is not None
        heads += [self.counted] * with_rows
        cells = [heads]
        for block in blocks:
            for words, points, share in block:
                first, *rest = textwrap.wrap(words, _LONGEST, subsequent_indent="    ") or [words]
                own = [self.in_points(value, decimals) for value in points]
                own += [percent(share, digits=0, brief=True)] * with_rows
                # the points stand beside the last line of a bin that takes several
                taken = [first, *rest]
                cells += [[line, *[""] * len(own)] for line in taken[:-1]] + [[taken[-1], *own]]
            cells.append([])
        lines = [self.title, "=" * len(self.title), ""] if with_title else []
        lines += aligned(cells, gap=3)
        lines += textwrap.wrap(self.decision(), _WIDTH, break_on_hyphens=False)
        totals, texts = self.totals()
        if len(totals):
            chances = map(chance_in_words, self.card.chances(totals))
            rows = [["total", *texts], [self.chance_head, *chances]]
            lines += ["", *aligned(rows, gap=3), *filter(None, [self.scaling()])]
        if unseen := self.unseen():
            lines += ["", *textwrap.wrap(unseen, _WIDTH, break_on_hyphens=False)]
        return "\n".join(lines) + "\n"


def chance_in_words(chance) -> str:
    """A probability in a table of totals."""
    return percent(float(chance), digits=0, brief=True)


def quoted(label) -> str:
    """A label in a sentence."""
    return f"'{one_line(label)}'" if isinstance(label, str) else one_line(label)


def _end(end, decimals=None):
    """The end of an interval in words.

    A float32, and the last double that is rounded to one, are written in as few digits as split
    float32 numbers alike, as thresholds of trees are. Others keep all of their digits.
    """
    if np.isinf(end) or decimals is not None or float(np.float32(end)) == end:
        return end_of_interval(end, decimals)
    text = number(end)
    is_rounded = len(text) > _MOST_DIGITS and float(last_double(float32_floor(end))) == end
    return end_of_interval(end) if is_rounded else text


def _ends_at(value, decimals):
    """Whether numbers have so few digits after the point."""
    return np.abs(np.round(value, decimals) - value) < 1e-9 * value


def between_in_words(low, high) -> str:
    """An interval below the name of its column, its ends in words; None: there is none."""
    if low is None:
        return "any number" if high is None else f"up to {high}"
    return f"over {low}" if high is None else f"over {low}, up to {high}"


# Texts of levels that would be read as something else in a list.
_ODD = ("", "missing", "unknown", "any other", "known")


def _level(level):
    """A level in a list: text as it is, in quotes where it could be read otherwise."""
    level = plain(level)
    text = one_line(level)
    if isinstance(level, str) and (text in _ODD or text != level or set(text) & set(",;:'\"")):
        return repr(text)
    return text
