"""Between which values of some rows each split of trees lies.

A row that reaches a split lies on one side of its threshold. The *gap* of a split goes from the
largest value that it sends left to the smallest that it sends right: any threshold in it leaves
these rows on their paths.
"""

import numpy as np

from libc.math cimport isnan

from ensemble_simplify._typedefs cimport float32_t, float64_t, intp_t, uint8_t
from ensemble_simplify.grid._limits cimport should_stop

cdef enum:
    # Rows between two looks at the clock.
    POLL = 4096


def gaps_of_splits(
    const intp_t[::1] offsets,
    const intp_t[::1] left,
    const intp_t[::1] right,
    const intp_t[::1] feature,
    const float64_t[::1] threshold,
    const uint8_t[::1] missing_left,
    const float32_t[:, ::1] X,
):
    """The gap of every split, infinite where no row comes. O(rows * trees * depth).

    Parameters
    ----------
    offsets : intp array of shape (n_trees + 1,)
        Root of every tree; `left` and `right` hold ids over all trees, -1 in leaves.
    left, right, feature : intp arrays of shape (n_nodes,)
    threshold : float64 array of shape (n_nodes,)
        Float32-exact.
    missing_left : uint8 array of shape (n_nodes,)
        Whether a split sends missing values left. They are in no gap.
    X : float32 array of shape (n_rows, n_features)

    Returns
    -------
    low, high : float64 arrays of shape (n_nodes,)
    n_done : int
        Trees, the first ones, whose gaps are known. Fewer than all: the limit of time came first.
    """
    cdef:
        intp_t t, i, node, n_trees = offsets.shape[0] - 1
        float64_t x
        bint stopped = False
    lows = np.full(left.shape[0], -np.inf)
    highs = np.full(left.shape[0], np.inf)
    cdef float64_t[::1] low = lows
    cdef float64_t[::1] high = highs
    with nogil:
        for t in range(n_trees):
            for i in range(X.shape[0]):
                if i % POLL == 0 and should_stop():
                    stopped = True
                    break
                node = offsets[t]
                while left[node] >= 0:
                    x = X[i, feature[node]]
                    if x <= threshold[node]:
                        if x > low[node]:
                            low[node] = x
                        node = left[node]
                    elif isnan(x):
                        node = left[node] if missing_left[node] else right[node]
                    else:
                        if x < high[node]:
                            high[node] = x
                        node = right[node]
            if stopped:
                break
        else:
            t = n_trees
    return lows, highs, t
