"""Thresholds rounded to float32 split the float32 numbers as they did before."""

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import representatives

from ensemble_simplify.grid.thresholds import (
    FLOAT32_MAX,
    cut_points,
    float32_below,
    float32_floor,
    last_double,
    shortest_decimal,
)

doubles = st.floats(allow_nan=False)
singles = st.floats(allow_nan=False, allow_infinity=False, width=32)


def neighbours(t):
    """Finite float32 numbers around `t`, and the extremes, held in float64."""
    with np.errstate(over="ignore"):
        near = np.float32(t)
        found = [near, -near, np.float32(0)]
        for direction in (-np.inf, np.inf):
            x = near
            for _ in range(3):
                x = np.nextafter(x, np.float32(direction))
                found.append(x)
    found = np.array([*found, -FLOAT32_MAX, FLOAT32_MAX], dtype=np.float32)
    return found[np.isfinite(found)].astype(np.float64)


@given(doubles)
def test_floor_is_the_same_split(t):
    floor = float(float32_floor(t))
    assert np.float32(floor) == floor <= t
    x = neighbours(t)
    np.testing.assert_array_equal(x <= t, x <= floor)
    np.testing.assert_array_equal(x < t, x <= float32_below(t))


@pytest.mark.parametrize("t", [2.5, 0.1, -0.1, 1e-46, -1e-46, 3.5e38, -3.5e38, 1e300, -1e300])
def test_floor_by_hand(t):
    floor = float(float32_floor(t))
    x = neighbours(t)
    assert floor == max([v for v in x if v <= t], default=-np.inf)


def test_floor_of_infinities_and_zero():
    found = float32_floor([np.inf, -np.inf, -0.0])
    np.testing.assert_array_equal(found, [np.inf, -np.inf, 0.0])
    assert not np.signbit(found[2])


def test_cut_points_merge_and_drop():
    inside = np.nextafter(0.1, 1.0)  # the same float32 floor as 0.1
    feature = [2, 0, 0, -2, 0, 2, 2, 2, 2]
    threshold = [1.0, 0.1, inside, -2.0, -3.0, np.inf, 1e39, FLOAT32_MAX, -1e39]
    cuts = cut_points(feature, threshold, 3)
    assert [list(c) for c in cuts] == [[-3.0, float(float32_floor(0.1))], [], [1.0]]
    assert [c.dtype for c in cuts] == [np.float64] * 3
    assert cut_points([], [], 0) == []
    np.testing.assert_array_equal(cut_points([0], [-FLOAT32_MAX], 1), [[-FLOAT32_MAX]])


def test_cut_points_for_doubles_stay_as_they_are():
    inside = np.nextafter(0.1, 1.0)
    threshold = [0.1, inside, -0.0, 1e300, np.inf, -np.inf]
    (cuts,) = cut_points(np.zeros(6, dtype=int), threshold, 1, dtype="float64")
    assert cuts.tolist() == [0.0, 0.1, inside, 1e300]
    assert not np.signbit(cuts[0])


@given(doubles, doubles)
def test_last_double_that_rounds_to_what_passes(t, x):
    last = float(last_double(t))
    around = [last, np.nextafter(last, -np.inf), np.nextafter(last, np.inf)]
    tried = np.array([t, x, *(around if np.isfinite(last) else [])])
    tried = tried[np.abs(tried) <= FLOAT32_MAX]
    rounded = tried.astype(np.float32).astype(np.float64)
    np.testing.assert_array_equal(rounded <= t, tried <= last)


@given(st.lists(singles, max_size=6), st.lists(singles, max_size=20))
def test_representatives_lie_in_their_cells(thresholds, values):
    (cuts,) = cut_points(np.zeros(len(thresholds), dtype=int), thresholds, 1)
    points = representatives(cuts)
    np.testing.assert_array_equal(np.searchsorted(cuts, points), np.arange(len(cuts) + 1))
    cell = np.searchsorted(cuts, values)
    for t in thresholds:
        np.testing.assert_array_equal(np.array(values) <= t, points[cell] <= t)


@given(singles.filter(lambda x: x < FLOAT32_MAX))  # the largest comes back as it is
def test_shortest_decimal(lo):
    short = shortest_decimal(lo)
    x = neighbours(lo)
    np.testing.assert_array_equal(x <= lo, x <= short)
    digits = len(Decimal(repr(short)).normalize().as_tuple().digits)
    assert digits <= 9
    if digits > 1:
        shorter = [float(f"{lo:.{digits - 2}e}"), float(f"{short:.{digits - 2}e}")]
        after = np.nextafter(np.float32(lo), np.float32(np.inf))
        assert not any(lo <= value < after for value in shorter)


def test_shortest_decimal_by_hand():
    assert shortest_decimal(float32_floor(1.65)) == 1.65
    assert shortest_decimal(float32_floor(4.85)) == 4.85
    for untouched in (0.0, np.inf, -np.inf, FLOAT32_MAX):
        assert shortest_decimal(untouched) == untouched
