"""What split selection wants to know about many nodes at once: best cuts and quartiles.

An **entry** is a row in a node, with a weight. The entries of node i are those from `start[i]` to
`start[i + 1]`; `row` says which row of `X` and `label` each of them is.
"""

import numpy as np

from libc.math cimport INFINITY, log2, nextafterf
from libcpp.vector cimport vector

from ensemble_simplify._typedefs cimport float32_t, float64_t, intp_t, uint8_t, uint64_t
from ensemble_simplify.grid._sweep cimport (
    impurity, is_better, middle, place_of, same_value, sort_column, value_of,
)

cdef inline double middle_float32(uint64_t low, uint64_t high) noexcept nogil:
    """The largest float32 not above the middle of the values of two keys."""
    cdef double point = middle(low, high)
    cdef float32_t nearest = <float32_t>point
    if nearest > point:
        nearest = nextafterf(nearest, -INFINITY)
    return <double>nearest + 0.0


def best_cuts(
    const float32_t[:, ::1] X,
    const intp_t[::1] label,
    const intp_t[::1] row,
    const float64_t[::1] weight,
    const intp_t[::1] start,
    const intp_t[:, ::1] feature,
    const float64_t[::1] least,
    intp_t n_classes,
    *,
    bint entropy,
):
    """Best cut of some features of every node by the decrease of entropy or Gini impurity.

    `feature`, of shape (n_nodes, n_tried), says which features to look at, `least` which weight
    both sides of a node have at least.

    Returns
    -------
    gain, ratio, cut, n_cuts : float64 arrays of shape (n_nodes, n_tried)
        Gain a unit of weight (-inf: no cut leaves enough on both sides), gain ratio, threshold,
        and number of points between distinct values.
    """
    cdef intp_t n_nodes = start.shape[0] - 1, n_tried = feature.shape[1]
    cdef intp_t i, j, e, m, c, n, best, k = n_classes
    cdef double total, on_left, after, whole, value, gain, share
    cdef vector[uint64_t] keys, spare
    cdef vector[double] everything, left, right
    shape = (n_nodes, n_tried)
    gains, ratios = np.full(shape, -np.inf), np.full(shape, -np.inf)
    cuts, n_cuts = np.zeros(shape), np.zeros(shape)
    cdef float64_t[:, ::1] gain_view = gains, ratio_view = ratios
    cdef float64_t[:, ::1] cut_view = cuts, n_cuts_view = n_cuts
    with nogil:
        for i in range(n_nodes):
            everything.assign(k, 0.0)
            for e in range(start[i], start[i + 1]):
                everything[label[row[e]]] += weight[e]
            total = 0.0
            for c in range(k):
                total += everything[c]
            whole = impurity(everything.data(), k, entropy)
            # One sweep over the sorted values of each feature: rows move from right to left.
            for j in range(n_tried):
                n = start[i + 1] - start[i]
                sort_column(&X[0, feature[i, j]], X.shape[1], &row[start[i]], n, keys, spare)
                left.assign(k, 0.0)
                right = everything
                on_left = 0.0
                best = -1
                gain = -INFINITY
                for e in range(n - 1):
                    m = start[i] + place_of(keys[e])
                    value = weight[m]
                    c = label[row[m]]
                    left[c] += value
                    right[c] = everything[c] - left[c]
                    on_left += value
                    if same_value(keys[e], keys[e + 1]):
                        continue
                    # Cuts that leave too few rows count, too: C4.5 makes a feature pay for all.
                    n_cuts_view[i, j] += 1.0
                    if on_left < least[i] - 1e-9 or total - on_left < least[i] - 1e-9:
                        continue
                    after = impurity(left.data(), k, entropy) + impurity(right.data(), k, entropy)
                    value = (whole - after) / total
                    if is_better(value, gain, 1.0):
                        gain = value
                        share = on_left / total
                        best = e
                if best < 0:
                    continue
                gain_view[i, j] = gain
                ratio_view[i, j] = gain / -(
                    share * log2(share) + (1.0 - share) * log2(1.0 - share)
                )
                cut_view[i, j] = middle_float32(keys[best], keys[best + 1])
    return gains, ratios, cuts, n_cuts


def quartile_groups(
    const float32_t[:, ::1] X,
    const intp_t[::1] row,
    const float64_t[::1] weight,
    const intp_t[::1] start,
):
    """How many of the weighted quartiles of its node each entry lies above, for every feature."""
    cdef intp_t n_features = X.shape[1], i, f, e, n, level, at
    cdef double total, running
    cdef vector[uint64_t] keys, spare
    cdef float32_t[3] quartile
    groups = np.empty((row.shape[0], n_features), dtype=np.uint8)
    cdef uint8_t[:, ::1] view = groups
    with nogil:
        for i in range(start.shape[0] - 1):
            total = 0.0
            for e in range(start[i], start[i + 1]):
                total += weight[e]
            for f in range(n_features):
                n = start[i + 1] - start[i]
                sort_column(&X[0, f], X.shape[1], &row[start[i]], n, keys, spare)
                at = 0
                running = weight[start[i] + place_of(keys[0])]
                for level in range(3):
                    while at + 1 < n and running < 0.25 * (level + 1) * total - 1e-9:
                        at += 1
                        running += weight[start[i] + place_of(keys[at])]
                    quartile[level] = value_of(keys[at])
                for e in range(start[i], start[i + 1]):
                    view[e, f] = (
                        (X[row[e], f] > quartile[0]) + (X[row[e], f] > quartile[1])
                        + (X[row[e], f] > quartile[2])
                    )
    return groups
