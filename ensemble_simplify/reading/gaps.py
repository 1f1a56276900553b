"""What rows lack, and what can stand for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Gaps:
    """What rows lack, and what can stand for it where numbers are needed.

    Attributes
    ----------
    seen : ndarray of bool, shape (n_columns,)
        Columns in which some row lacks a number.
    low : ndarray of shape (n_columns,)
        The least number of each column; infinity where there is none.
    stand_in : ndarray of float32, shape (n_columns,)
        A number below all those of a column, for a gap in it.
    """

    seen: np.ndarray
    low: np.ndarray
    stand_in: np.ndarray

    @classmethod
    def of(cls, numbers):
        """The gaps of some rows of numbers."""
        missing = np.isnan(numbers)
        low = np.where(missing, np.inf, numbers).min(axis=0, initial=np.inf)
        high = np.where(missing, -np.inf, numbers).max(axis=0, initial=-np.inf)
        # below all values, at a distance that float32 keeps
        with np.errstate(invalid="ignore"):  # a column without a number
            room = np.maximum(high - low, np.maximum(np.abs(low) * 1e-3, 1.0))
            below = np.where(np.isfinite(low), low - room, -1.0)
        stand_in = np.maximum(below, np.finfo(np.float32).min).astype(np.float32)
        return cls(missing.any(axis=0), low, stand_in)

    def fill(self, rows):
        """Rows of numbers without gaps."""
        return np.where(np.isnan(rows), self.stand_in, rows)

    def restore(self, numbers):
        """Rows of numbers with gaps where a column that had some holds what stands for one."""
        numbers = np.array(numbers, dtype=np.float64)
        numbers[(numbers <= self.stand_in) & self.seen] = np.nan
        return numbers
