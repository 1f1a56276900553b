"""Sets of codes written as thresholds: the same leaf for every code and missing values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemble_simplify.grid import as_thresholds, code_sets


@st.composite
def set_trees(draw):
    """A tree over two columns of codes and one of numbers."""
    n_inner = draw(st.integers(0, 9))
    left, right, feature = [-1], [-1], [-1]
    threshold, missing_left, sets = [0.0], [False], {}
    for _ in range(n_inner):
        node = draw(st.sampled_from([i for i, child in enumerate(left) if child < 0]))
        left[node], right[node] = len(left), len(left) + 1
        for column, value in ((left, -1), (right, -1), (feature, -1), (threshold, 0.0)):
            column += [value, value]
        missing_left += [False, False]
        feature[node] = draw(st.integers(0, 2))
        missing_left[node] = draw(st.booleans())
        threshold[node] = draw(st.sampled_from([-1.0, 0.5, 2.0]))
        if feature[node] < 2:
            sets[node] = np.array(draw(st.lists(st.booleans(), min_size=1, max_size=6)))
    arrays = left, right, feature, threshold, missing_left
    return *[np.array(a) for a in arrays], sets


def leaf_of(left, right, feature, threshold, missing_left, sets, row):
    node = 0
    while left[node] >= 0:
        value = row[feature[node]]
        if np.isnan(value):
            goes_left = missing_left[node]
        elif node in sets:
            goes_left = sets[node][min(int(value), len(sets[node]) - 1)]
        else:
            goes_left = value <= threshold[node]
        node = left[node] if goes_left else right[node]
    return node


CODES = [*range(8), np.nan]
ROWS = [np.array([a, b, x], dtype=float) for a in CODES for b in CODES for x in (-3, 1, 5, np.nan)]


@given(set_trees())
def test_every_row_keeps_its_leaf(case):
    *tree, sets = case
    *written, origin = as_thresholds(*tree, sets)
    for row in ROWS:
        here = leaf_of(*written, {}, row)
        assert origin[here] == leaf_of(*tree, sets, row)
        assert written[0][here] < 0
    assert set(origin[written[0] >= 0]) <= set(np.flatnonzero(tree[0] >= 0))
    # every child has one parent
    children = np.concatenate([side[side >= 0] for side in written[:2]])
    assert sorted(children.tolist()) == list(range(1, len(origin)))


def test_one_level_takes_two_thresholds():
    tree = [np.array(a) for a in ([1, -1, -1], [2, -1, -1], [0, -1, -1], [0.0] * 3, [False] * 3)]
    left, _, feature, threshold, _, origin = as_thresholds(
        *tree, {0: np.array([False, False, True, False])}
    )
    np.testing.assert_array_equal(threshold[feature >= 0], [1.5, 2.5])
    np.testing.assert_array_equal(origin[left < 0], [2, 1, 2])


def test_limit(monkeypatch):
    monkeypatch.setattr(code_sets, "MAX_TREE_NODES", 3)
    tree = [np.array(a) for a in ([1, -1, -1], [2, -1, -1], [0, -1, -1], [0.0] * 3, [False] * 3)]
    with pytest.raises(ValueError, match="fewer levels"):
        as_thresholds(*tree, {0: np.array([True, False, True, False, True, False])})


def test_features_of_leaves_do_not_matter():
    """Damaged models can hold any number there."""
    tree = [np.array(a) for a in ([1, -1, -1], [2, -1, -1], [0, 2**40, -7], [0.0] * 3, [False] * 3)]
    *_, origin = as_thresholds(*tree, {0: np.array([False, True, False])})
    assert sorted(origin.tolist()) == [0, 0, 1, 2, 2]
