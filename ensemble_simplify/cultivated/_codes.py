"""Values of features as codes: ranks among the distinct values, or bins.

Codes mean what they mean on `grid.Axes` whose cut points are all observed values: ``x`` is at most
the value numbered ``c`` if and only if its code is at most ``c``. They are not computed there for
three reasons. Here the axis itself has to be found, and the sort that finds it yields the codes,
while searching every value again takes three times as long. Missing values need a code. And
thresholds stay observed float64 values, without the float32 rounding that faithfulness to
scikit-learn's trees asks of cut points.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import gen_even_slices
from sklearn.utils.parallel import Parallel, delayed

MISSING_BIN = 65535
MAX_BINS = 65535  # codes 0..65534
VALUES_PER_TASK = 2_000_000


class CodedRows(NamedTuple):
    """A training set in codes."""

    # (n_features, n_samples) int32, -1 where the value is missing; for bins uint16, `MISSING_BIN`
    codes: np.ndarray
    n_codes: np.ndarray  # intp (n_features,)
    values: np.ndarray  # (sum(n_codes),): distinct values of each feature, or the largest in a bin

    def decode(self, feature, code):
        """Values that codes of some features stand for."""
        first = np.concatenate([[0], np.cumsum(self.n_codes)])
        return self.values[first[feature] + code]


def encode(X, weight, max_bins, n_jobs):
    """Rank every value among the distinct values of its feature, as `CodedRows`.

    A feature with more than `max_bins` distinct values (None: no bins) is cut into that many bins
    of equal mass.
    """
    # Some columns at a time: many small ones are cheap together, large ones need memory.
    n_tasks = min(X.shape[1], max(effective_n_jobs(n_jobs), X.size // VALUES_PER_TASK))
    parts = Parallel(n_jobs=n_jobs, require="sharedmem")(
        delayed(_encode)(np.ascontiguousarray(X[:, part].T), weight, max_bins)
        for part in gen_even_slices(X.shape[1], n_tasks)
    )
    return CodedRows(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def _encode(columns, weight, max_bins):
    """`encode` for a few features, which are the rows of `columns`."""
    dtype, missing = (np.int32, -1) if max_bins is None else (np.uint16, MISSING_BIN)
    order = np.argsort(columns, axis=1)  # missing values last
    ranked = np.take_along_axis(columns, order, axis=1)
    first = np.empty(columns.shape, dtype=bool)  # of equal values
    first[:, 0] = ~np.isnan(ranked[:, 0])
    first[:, 1:] = ranked[:, 1:] > ranked[:, :-1]
    n_codes = np.count_nonzero(first, axis=1)
    values = np.split(ranked[first], np.cumsum(n_codes)[:-1])
    codes = np.empty(columns.shape, dtype=dtype)
    np.put_along_axis(codes, order, (np.cumsum(first, axis=1) - 1).astype(dtype), axis=1)
    for j in np.flatnonzero(n_codes > (np.inf if max_bins is None else max_bins)):
        values[j] = _bin_ends(ranked[j], weight[order[j]], max_bins)
        n_codes[j] = len(values[j])
        # the values are sorted already: bins are runs of them
        n_known = np.count_nonzero(~np.isnan(ranked[j]))
        last = np.searchsorted(ranked[j, :n_known], values[j], side="right")
        runs = np.repeat(np.arange(n_codes[j], dtype=dtype), np.diff(last, prepend=0))
        codes[j, order[j, :n_known]] = runs
    codes[np.isnan(columns)] = missing
    return codes, n_codes, np.concatenate(values)


def _bin_ends(ranked, weight, max_bins):
    """Largest values of bins of about equal mass, for sorted values and their weights."""
    mass = np.cumsum(weight)[: np.count_nonzero(~np.isnan(ranked))]
    ends = np.searchsorted(mass, mass[-1] * np.arange(1, max_bins + 1) / max_bins)
    return np.unique(ranked[np.minimum(ends, len(mass) - 1)])
