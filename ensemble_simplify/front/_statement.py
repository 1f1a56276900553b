"""What is said of a figure: the record that every sentence, table and page is written from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ensemble_simplify.writing import percent

# How the figures of a report are known, by what the model has learned of the rows that judge.
ON_ROWS = "measured on rows that the result has not learned from"
BY_COPIES = "copies of the model, each measured on the part of the rows that it has not seen"
OUT_OF_BAG = "out-of-bag answers, of trees of the model that have not seen the row"
ON_LEARNED = "measured on rows that the model has learned from"
PROVEN = "proven"
# What is told in the unit of y, which may be large or small.
_AMOUNTS = ("mean error", "mean absolute error", "mean absolute error lost")


def figure(value, is_share) -> str:
    """An agreement, an accuracy or an R2, as it is shown everywhere; empty if it is not known."""
    if not np.isfinite(value):
        return ""
    return (
        percent(value, brief=True) if is_share else f"{round(value, 3) + 0.0:.3f}"
    )  # no minus zero


def interval(low, high, is_share) -> str:
    """The ends of its interval."""
    ends = [figure(end, is_share).removesuffix(" %") for end in (low, high)]
    return " to ".join(ends) if all(ends) else ""


@dataclass(frozen=True)
class Statement:
    """One figure, with all that has to be known to say it in words.

    Parameters
    ----------
    estimand : str
        What the figure is: "agreement", "accuracy", "lost", ...
    of : str
        What it is a property of: a result, the model, or how results are chosen.
    population : str
        The inputs that it is about.
    learned : str
        Which of these rows the model has learned from: "all", "part", "more", "no" or "unknown".
    value : float
    low, high : float, default=nan
        Ends of the 95 % interval, or bounds; nan where none is known.
    how : str
        How it is known.
    n_rows : int, default=0
        Rows that it was measured on.
    is_share : bool, default=True
        Whether it is a share of rows; else a coefficient of determination, or a distance.
    """

    estimand: str
    of: str
    population: str
    learned: str
    value: float
    low: float = np.nan
    high: float = np.nan
    how: str = ON_ROWS
    n_rows: int = 0
    is_share: bool = True

    @property
    def text(self) -> str:
        """The figure, as it is shown everywhere; empty if it is not known."""
        return self.shown(self.value)

    @property
    def interval(self) -> str:
        """Its interval, as it is shown everywhere; empty if it is not known."""
        ends = [self.shown(end).removesuffix(" %") for end in (self.low, self.high)]
        return " to ".join(ends) if all(ends) else ""

    def shown(self, value) -> str:
        """A number of its kind; empty if it is not known."""
        if not np.isfinite(value):
            return ""
        if self.estimand in _AMOUNTS:
            return f"{value:.3g}"
        if self.estimand == "lost":
            return f"{100 * value:.1f}" if self.is_share else f"{value:.3f}"
        return figure(value, self.is_share)
