"""Float32-exact thresholds: the one definition of "the entire feature space".

scikit-learn casts rows to float32 before it compares them with a float64
threshold ``t``. For a float32 number, ``x <= t`` is the same test as
``x <= float32_floor(t)``; so the feature space of an ensemble is the finite
product of the finite float32 numbers, and two thresholds with the same floor
are the same split. Where all models compare float64 numbers, the feature space
can be that of the finite float64 numbers instead, and thresholds stay as they are.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, Decimal

import numpy as np

from ensemble_simplify.grid._gaps import gaps_of_splits

#: The largest finite float32, as a float.
FLOAT32_MAX = float(np.finfo(np.float32).max)


def float32_floor(t):
    """The largest float32, as float64, not above each threshold; thresholds are not NaN.

    ``-inf`` sends every finite row right; anything from ``FLOAT32_MAX`` up sends every one left.
    """
    t = np.asarray(t, dtype=np.float64)
    with np.errstate(over="ignore"):
        nearest = t.astype(np.float32)
        below = np.nextafter(nearest, np.float32(-np.inf))
    # + 0.0 turns -0.0 into 0.0: the same split.
    return np.where(nearest > t, below, nearest).astype(np.float64) + 0.0


def float32_below(t):
    """Like `float32_floor`, for ensembles that send a row left iff ``x < t``."""
    floor = float32_floor(t)
    with np.errstate(over="ignore"):
        below = np.nextafter(floor.astype(np.float32), np.float32(-np.inf))
    return np.where(floor < t, floor, below).astype(np.float64)


def next_after(t, dtype="float32"):
    """The next number of `dtype` after each threshold that is one, as float64."""
    with np.errstate(over="ignore"):
        t = np.asarray(t, dtype=dtype)
        return np.nextafter(t, t.dtype.type(np.inf)).astype(np.float64)


def rounding_boundary(t):
    """Where the doubles end that a float32 threshold sends left once they are rounded to float32.

    Returns
    -------
    boundary : ndarray of float64
        Halfway between the last float32 that goes left and the next one. Infinity where every
        finite row goes left, and minus infinity where none does.
    inclusive : ndarray of bool
        Whether the boundary itself is rounded down, to the float32 with the even last digit: for
        every double x that does not overflow, ``float32(x) <= t`` is ``x <= boundary`` where
        inclusive, and ``x < boundary`` elsewhere.
    """
    floor = float32_floor(t)
    inner = (floor >= -FLOAT32_MAX) & (floor < FLOAT32_MAX)
    single = np.where(inner, floor, 0.0).astype(np.float32)
    after = next_after(single)
    halfway = single + (after - single) / 2
    boundary = np.where(inner, halfway, np.where(floor > 0, np.inf, -np.inf))
    return boundary, inner & (single.view(np.int32) % 2 == 0)


def last_float32(passes, n_tests):
    """The largest finite float32 that passes each test, by bisection; ``-inf`` if none does.

    ``passes(x)`` says for one float32 number a test, in an array of float64, which tests it passes;
    a number below one that passes a test passes it too.
    """
    return last_number(passes, n_tests, "float32")


def last_number(passes, n_tests, dtype):
    """The same for the numbers of a `dtype`, float32 or float64."""
    last = _last_place(dtype)
    low, high = np.full(n_tests, -last - 1), np.full(n_tests, last)
    while (low < high).any():
        # the mean, rounded up, of numbers whose sum would overflow
        middle = (low >> 1) + (high >> 1) + (((low & 1) + (high & 1) + 1) >> 1)
        passed = passes(number_at(middle, dtype))
        low, high = np.where(passed, middle, low), np.where(passed, high, middle - 1)
    return np.where(low < -last, -np.inf, number_at(low, dtype))


def place_of(x, dtype):
    """Places of numbers among the finite ones of a `dtype`: 0 has 0, the next one 1, and so on."""
    x = np.asarray(x, dtype=dtype)
    size = np.abs(x).view(_INTEGERS[dtype]).astype(np.int64)
    return np.where(x < 0, -size, size)


def number_at(place, dtype):
    """The finite number at a place, see `place_of`, as float64."""
    size = np.minimum(np.abs(place), _last_place(dtype)).astype(_INTEGERS[dtype]).view(dtype)
    return np.where(place < 0, -size, size).astype(np.float64)


@np.errstate(over="ignore")
def last_within(numbers, atol):
    """The last double v with ``v - number <= atol``, in doubles, for every number."""
    if atol == 0:
        return numbers + 0.0
    # the number itself fits; what is twice as far as the tolerance does not
    flat, largest = np.asarray(numbers, dtype=np.float64).ravel(), np.finfo(np.float64).max
    good = place_of(flat, "float64")
    start, bad = (
        place_of(np.minimum(flat + part, largest), "float64") for part in (atol, 2 * atol)
    )
    bad = np.minimum(bad + 1, _last_place("float64")) + 1

    def fits(place, at):
        return number_at(place, "float64") - flat[at] <= atol

    everywhere = np.arange(len(flat))
    for near in (start - 2, start + 2):
        inside = (near > good) & (near < bad)
        is_good = inside & fits(np.where(inside, near, good), everywhere)
        good, bad = np.where(is_good, near, good), np.where(inside & ~is_good, near, bad)
    wide = everywhere
    while (wide := wide[bad[wide] != good[wide] + 1]).size:
        # half of their sum, which can overflow
        one, two = good[wide], bad[wide]
        middle = (one >> 1) + (two >> 1) + (one & two & 1)
        is_good = fits(middle, wide)
        good[wide], bad[wide] = np.where(is_good, middle, one), np.where(is_good, two, middle)
    return number_at(good, "float64").reshape(np.shape(numbers))


_INTEGERS = {"float32": np.int32, "float64": np.int64}


def _last_place(dtype):
    """The place of the largest number."""
    return int(np.finfo(dtype).max.view(_INTEGERS[dtype]))


def last_double(threshold):
    """The largest double that rounds to a float32 at or below each threshold.

    For every double x that does not overflow, ``float32(x) <= t`` is ``x <= last_double(t)``.
    """
    boundary, inclusive = rounding_boundary(threshold)
    whole = inclusive | np.isinf(boundary)
    return np.where(whole, boundary, np.nextafter(boundary, -np.inf))


def cut_points(feature, threshold, n_features, missing=None, dtype="float32"):
    """Sorted distinct cut points of every feature: a list of arrays of `dtype` numbers as float64.

    `feature` is negative in leaves. Thresholds that split no finite row of `dtype` are left out.
    Features that may be `missing` (bool array; None: none may) and are split on end in infinity,
    above which there is nothing but missing values.
    """
    feature = np.asarray(feature)
    tested = np.isin(np.arange(n_features), feature)
    # + 0.0 turns -0.0 into 0.0: the same split
    floor = float32_floor(threshold) if dtype == "float32" else np.asarray(threshold) + 0.0
    largest = np.finfo(dtype).max
    splits = (feature >= 0) & (floor >= -largest) & (floor < largest)
    feature, floor = feature[splits], floor[splits]
    order = np.argsort(feature, kind="stable")
    ends = np.searchsorted(feature[order], np.arange(n_features), side="right")
    if not n_features:
        return []
    points = [np.unique(part) for part in np.split(floor[order], ends[:-1])]
    for j in [] if missing is None else np.flatnonzero(missing & tested):
        points[j] = np.append(points[j], np.inf)
    return points


def merged_thresholds(forest, X):
    """Thresholds of all nodes with as few distinct values as leave every row on its path.

    A node can have any threshold from the largest value that it sends left up to, but not
    including, the smallest that it sends right. Each feature gets the fewest float32 values that
    hit all these intervals, thresholds of its own where possible. Trees that are not reached before
    the limit of time keep their thresholds.
    """
    to_left = forest.missing_left
    low, high, n_done = gaps_of_splits(
        forest.offsets,
        forest.left,
        forest.right,
        forest.feature,
        forest.threshold,
        (np.zeros(forest.n_nodes, dtype=bool) if to_left is None else to_left).view(np.uint8),
        np.ascontiguousarray(X, dtype=np.float32),
    )
    threshold = forest.threshold.copy()
    movable = (forest.left >= 0) & (np.abs(threshold) < FLOAT32_MAX)
    movable[forest.offsets[n_done] :] = False
    nodes = np.flatnonzero(movable)
    nodes = nodes[np.lexsort((low[nodes], forest.feature[nodes]))]
    for part in np.split(nodes, np.flatnonzero(np.diff(forest.feature[nodes])) + 1):
        threshold[part] = _fewest(low[part], high[part], forest.threshold[part])
    return threshold


def _fewest(low, high, own):
    """Fewest float32 values of which each interval, sorted by `low`, holds one, for each interval.

    Intervals are ``[low, high)``; each holds its `own` value, and these are taken where possible.
    """
    chosen = np.empty(len(low))
    # the first end among the intervals from each one on
    first_end = np.minimum.accumulate(high[::-1])[::-1]
    i = 0
    while i < len(low):
        end = first_end[i]
        stop = int(np.searchsorted(low, end, side="left"))
        start = low[stop - 1]
        among = np.sort(own[i:stop])
        among = among[(among >= start) & (among < end)]
        if len(among):
            chosen[i:stop] = among[len(among) // 2]
        else:
            chosen[i:stop] = float32_floor(start + (end - start) / 2)
        i = stop
    return chosen


def shortest_decimal(lo, after=None):
    """The double with the fewest decimal digits from `lo` on that is below `after`.

    It is the smallest of them. None: `after` is the float32 after `lo`, so that the double splits
    like a float32-exact threshold; thresholds that split nothing come back unchanged.
    """
    lo = float(lo)
    if after is None:
        if not -FLOAT32_MAX <= lo < FLOAT32_MAX:
            return lo
        after = float(np.nextafter(np.float32(lo), np.float32(np.inf)))
    if lo <= 0.0 < after:
        return 0.0
    exact = Decimal(lo)
    shorter = (float(Context(prec=n, rounding=ROUND_CEILING).plus(exact)) for n in range(1, 18))
    # nine digits always do for float32 numbers; of doubles, the digits that Python writes do
    return next((short for short in shorter if lo <= short < after), lo)
