"""An ensemble whose thresholds and leaves are rounded to 16 bits, and how far it is from its own.

A number of a row becomes a code: the cell of a grid of equal steps, one grid a column. Thresholds
move to the end of a cell. Leaves become whole numbers of a unit that all share, a power of
two, so that their sums round nothing. What comes out is an ensemble of doubles again, which can be
written, read back and compared like any other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ensemble_simplify.grid import last_number
from ensemble_simplify.reading import Above, Largest, Temperature
from ensemble_simplify.writing.code import code_of
from ensemble_simplify.writing.named_tree import NamedEnsemble
from ensemble_simplify.writing.words import number, number_up

# Codes are -LAST to LAST; below them is the code of missing values.
LAST, MISSING = 2**15 - 1, -(2**15)
# Steps between the lowest and the highest threshold of a column: some cells are left beyond both.
_STEPS = 64_000


@dataclass(frozen=True, eq=False)
class Int16:
    """An ensemble in 16 bits.

    Attributes
    ----------
    ensemble : NamedEnsemble
        The same in doubles: its ends are the largest numbers whose codes pass the tests.
    end : int array of shape (n_nodes,)
        A code goes left iff it is at most this.
    low, per_unit : float64 arrays of shape (n_features,)
        The code of a number is ``floor((number - low) * per_unit)``, within the limits.
    unit : float
    count : int array of shape (n_leaves, n_scores)
        What leaves say, in units.
    told : list of str
        What is promised, as lines of text: of all, then of each column.
    """

    ensemble: NamedEnsemble
    end: np.ndarray
    low: np.ndarray
    per_unit: np.ndarray
    unit: float
    count: np.ndarray
    told: list

    @classmethod
    def of(cls, ensemble, rows=None):
        """A `NamedEnsemble` in 16 bits; ValueError if it has more columns or levels than these.

        Thresholds move past as few of some `rows` of numbers as they can.
        """
        ensemble = ensemble.on_thresholds
        forest, n = ensemble.forest, ensemble.n_features
        if n > LAST:
            raise ValueError(
                f"precision='int16', but the ensemble takes {n} columns. Give one of at most "
                f"{LAST:,}, or leave precision out."
            )
        rows = np.zeros((0, n)) if rows is None else rows
        code, end = np.zeros(forest.n_nodes, dtype=np.intp), ensemble.end.copy()
        low, per_unit, told = np.zeros(n), np.ones(n), []
        for j in ensemble.used:
            nodes = np.flatnonzero((ensemble.leaf < 0) & (forest.feature == j))
            ends, at = np.unique(ensemble.end[nodes], return_inverse=True)
            if ensemble.levels(j) is not None:
                code[nodes] = _of_levels(ensemble, j, ends)[at]
                told.append(f"x[{j}]: codes of levels, as they are")
                continue
            low[j], per_unit[j] = _grid(ensemble, j, ends[np.isfinite(ends)])
            own, rounded = _on_grid(ends, low[j], per_unit[j], rows[:, j])
            code[nodes], end[nodes] = own[at], rounded[at]
            with np.errstate(invalid="ignore"):
                apart = np.where(rounded == ends, 0.0, np.abs(rounded - ends))
            told.append(
                f"x[{j}]: code = floor((x - {number(low[j])}) * {number(per_unit[j])}); "
                f"{(apart > 0).sum()} of {len(ends)} thresholds moved, by at most "
                f"{number_up(apart.max())}"
            )
        largest = float(np.abs(ensemble.value).max())
        unit = 2.0 ** np.ceil(np.log2(largest / LAST)) if largest else 1.0
        count = np.rint(ensemble.value / unit).astype(np.intp)
        value = np.zeros_like(forest.value)
        value[ensemble.leaf >= 0] = count * unit
        change = number_up(_largest_change(ensemble, count * unit))
        promised = (
            "Thresholds and leaves are rounded to 16 bits. A row ends in the leaves of the model",
            "wherever none of its numbers lies between a threshold and the rounded one; there,",
            f"what trees add up to differs, in real numbers, by at most {change}.",
        )
        own = replace(
            forest,
            threshold=end,
            double_threshold=None,
            input_dtype="float64",
            row_dtype="float64",
            value=value,
            vote=_in_whole_numbers(forest.vote),
        )
        return cls(
            ensemble=replace(
                ensemble,
                forest=own,
                end=end,
                value=count * unit,
                code=code_of(own, ensemble.model.estimator),
            ),
            end=code,
            low=low,
            per_unit=per_unit,
            unit=unit,
            count=count,
            told=[*promised, *told],
        )

    @property
    def sums_fit(self):
        """Whether 32 bits hold the sums of all trees."""
        return self.ensemble.n_trees * LAST < 2**31


def _of_levels(ensemble, j, ends):
    """Codes for ends among the codes of levels."""
    n_levels = len(ensemble.levels(j))
    if n_levels >= LAST:
        raise ValueError(
            f"precision='int16', but the column {ensemble.shown(j)!r} has {n_levels:,} levels, "
            "more than 16 bits tell apart. Leave precision out."
        )
    return np.where(ends < 0, MISSING, np.floor(np.clip(ends, 0, LAST))).astype(np.intp)


def _grid(ensemble, j, ends):
    """Where the grid of a column begins, and its cells in a unit: both numbers of few digits."""
    if len(ends) < 2:
        # the one threshold is the end of a cell
        return (float(np.nextafter(ends[0], np.inf)) if len(ends) else 0.0), 1.0
    first, last = float(ends[0]), float(ends[-1])
    wanted = last / _STEPS - first / _STEPS
    if not 1e-290 < wanted < 1e290:
        raise ValueError(
            f"precision='int16', but the column {ensemble.shown(j)!r} has thresholds from "
            f"{first!r} to {last!r}, a span that no grid of 16 bits has. Leave precision out."
        )
    power = int(np.floor(np.log10(wanted)))
    digit = next((d for d in (1, 2, 5) if d * 10.0**power >= wanted), 10)
    per_unit = 10.0**-power / digit if power < 0 else 1.0 / (digit * 10.0**power)
    # numbers of few digits are in the middle of cells, so that roundings do not move them
    cells = np.rint((first / 2 + last / 2) * per_unit) + 0.5
    return float(cells / per_unit), float(per_unit)


def _on_grid(ends, low, per_unit, known):
    """For ends, the codes of the cells that end beside them, and where these do end.

    Of the two cells, the one that leads fewer `known` numbers to another side, and then the nearer.
    """
    is_finite = np.isfinite(ends)

    def cell_of(x):
        with np.errstate(over="ignore"):
            return np.floor(np.clip((x - low) * per_unit, -LAST, LAST))

    inner = cell_of(np.where(is_finite, ends, low))
    sides = [
        last_number(lambda x, cell=cell: cell_of(x) <= cell, len(ends), "float64")
        for cell in (inner - 1, inner)
    ]
    known = np.sort(known[~np.isnan(known)])
    n_up_to = known.searchsorted([*sides, ends], side="right")
    between = np.abs(n_up_to[:2] - n_up_to[2])
    apart = np.abs(np.array(sides) - np.where(is_finite, ends, 0.0))
    upper = (between[1] < between[0]) | ((between[1] == between[0]) & (apart[1] <= apart[0]))
    code = np.where(is_finite, inner - ~upper, np.where(ends > 0, LAST, MISSING))
    return code.astype(np.intp), np.where(is_finite, np.where(upper, *sides[::-1]), ends)


def _in_whole_numbers(vote):
    """The vote over leaves that are whole numbers: what it starts from is added at the end."""
    numbers, choice, link = vote.numbers, vote.choice, vote.link
    if vote.members:
        numbers = replace(numbers, members=tuple(map(_in_whole_numbers, vote.members)))
    elif vote.is_boosted_sum:
        offset = vote.moved_by / vote.divisor
        numbers = replace(numbers, init=None, dtype="float64", offset=offset)
    if isinstance(choice, Temperature):
        choice = Largest()
    elif isinstance(choice, Above | Largest):
        choice = replace(choice, by_link=False)
    link = None if link is None else replace(link, by_library=False)
    return replace(vote, numbers=numbers, choice=choice, link=link)


def _largest_change(ensemble, value):
    """How far sums of leaves can move: for each tree its largest change, in the largest column."""
    first = np.flatnonzero(ensemble.leaf >= 0).searchsorted(ensemble.forest.offsets[:-1])
    changes = np.maximum.reduceat(np.abs(value - ensemble.value), first)
    # the differences are exact, their sum is rounded
    return float(changes.sum(axis=0).max()) * (1.0 + 1e-9)
