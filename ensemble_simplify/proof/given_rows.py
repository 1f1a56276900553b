"""Two models on the rows that a user gave: each is asked about them as they were given.

Cells can be of numbers that float32 represents. A model that compares finer numbers, or that
scales rows in the dtype in which they come, can answer a row otherwise than its cell; what is said
of rows is therefore asked.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ensemble_simplify.base import safe_indexing
from ensemble_simplify.grid import check_time

# Rows that a model is asked about at once.
BATCH = 1 << 17


class Given(NamedTuple):
    """Rows as a user gave them, and the same as numbers: float64, or float32 if they came so."""

    X: object
    numbers: np.ndarray

    @classmethod
    def of(cls, table, X):
        """Rows of a table."""
        numbers = table.read(X, [np.float64, np.float32])
        return cls(X if hasattr(X, "shape") else numbers, numbers)

    def rounded(self, dtype):
        """The numbers of some dtype that they are rounded to, as float64."""
        return self.numbers.astype(dtype).astype(np.float64)

    def answers(self, models, method="predict", to_end=False):
        """Batches: the number of their first row, and what each model answers to them.

        Raises `Stopped` between batches when the time is over, unless they are to go on to the end.
        """
        for begin in range(0, len(self.numbers), BATCH):
            if begin and not to_end:
                check_time()
            part = slice(begin, begin + BATCH)
            X = self.X if len(self.numbers) <= BATCH else safe_indexing(self.X, part)
            yield begin, [model.ask_given(X, self.numbers[part], method) for model in models]


def differ(a, b):
    """Which labels of two models are not the same, also where they are of two types."""
    if (a.dtype.kind in "OSU") != (b.dtype.kind in "OSU"):
        a, b = a.astype(object), b.astype(object)
    return a != b
