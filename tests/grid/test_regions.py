"""The engine's ground floor against enumeration of all cells."""

import numpy as np
from coded_trees import all_cells, boxes, check_form, leaf_of, random_trees
from ensemble_simplify.grid._regions import (
    depths,
    encode_trees,
    leaf_boxes,
    leaves_of_cells,
    overlay,
    restrict,
    with_sizes,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

SETTINGS = settings(deadline=None, max_examples=60)


def joined(trees):
    """Several trees in one array; leaves are numbered by their positions in it."""
    offsets = np.concatenate([[0], np.cumsum([len(tree) for tree in trees])]).astype(np.intp)
    nodes = np.concatenate(trees)
    leaves = np.flatnonzero(nodes[:, 0] < 0)
    nodes[leaves, 1] = leaves
    return nodes, offsets


def regions(n_cuts):
    """Strategy of a region on axes with so many cuts: first and last cells, int32."""
    ends = [st.tuples(st.integers(0, n), st.integers(0, n)).map(sorted) for n in n_cuts]
    return st.tuples(*ends).map(lambda pairs: np.array(pairs, dtype=np.int32).T.copy())


# ---------------------------------------------------------------- reading


def test_encode_trees_routes_like_scikit_learn():
    X, y = make_classification(200, 6, random_state=0)
    X = X.astype(np.float32)
    offsets, left, right, feature, threshold = [0], [], [], [], []
    models = [DecisionTreeClassifier(max_depth=d, random_state=d).fit(X, y) for d in (1, 3, 8)]
    for model in models:
        tree = model.tree_
        for out, child in ((left, tree.children_left), (right, tree.children_right)):
            out.append(np.where(child < 0, -1, child + offsets[-1]))
        feature.append(tree.feature)
        threshold.append(tree.threshold)
        offsets.append(offsets[-1] + tree.node_count)
    left, right, feature, threshold = map(np.concatenate, (left, right, feature, threshold))
    cuts = [np.unique(threshold[feature == f]) for f in range(6)]
    code = np.zeros(len(left), dtype=np.int32)
    for f in range(6):
        code[feature == f] = np.searchsorted(cuts[f], threshold[feature == f])
    n_cuts = np.array([len(c) for c in cuts], dtype=np.int32)
    nodes, new_offsets = encode_trees(
        np.array(offsets, dtype=np.intp), left, right, feature, code, n_cuts
    )
    rows = np.array([np.searchsorted(cuts[f], X[:, f]) for f in range(6)])
    for t, model in enumerate(models):
        tree = nodes[new_offsets[t] : new_offsets[t + 1]]
        check_form(tree)
        got = [tree[leaf_of(tree, row), 1] for row in rows.T]
        np.testing.assert_array_equal(np.array(got) - offsets[t], model.apply(X))


# ---------------------------------------------------------------- exact overlay


@SETTINGS
@given(st.integers(0, 2**31), st.integers(1, 4))
def test_overlay_has_one_leaf_for_each_intersection(seed, k):
    n_codes = [3, 2, 4]
    trees = random_trees(seed, k, n_codes)
    lo, hi = np.zeros(3, np.int32), np.array(n_codes, np.int32)
    nodes, parts = overlay(trees, lo, hi, max_leaves=10**6)
    check_form(nodes)
    assert sorted(nodes[nodes[:, 0] < 0, 1]) == list(range(len(parts)))
    expected = set()
    for cell in all_cells(lo, hi):
        want = tuple(leaf_of(tree, cell) for tree in trees)
        expected.add(want)
        assert tuple(parts[nodes[leaf_of(nodes, cell), 1]]) == want
    assert len(parts) == len(expected) == len({tuple(part) for part in parts})
    boxes(nodes, n_codes)


@SETTINGS
@given(st.integers(0, 2**31))
def test_overlay_of_a_tree_with_itself_is_the_tree(seed):
    n_codes = [5, 5]
    tree = random_trees(seed, 1, n_codes)[0]
    lo, hi = np.zeros(2, np.int32), np.array(n_codes, np.int32)
    clean, parts = overlay([tree], lo, hi, max_leaves=10**6)
    clean[clean[:, 0] < 0, 1] = parts[:, 0]
    twice, parts = overlay([clean, clean, clean], lo, hi, max_leaves=10**6)
    np.testing.assert_array_equal(parts, np.repeat(parts[:, :1], 3, axis=1))
    twice[twice[:, 0] < 0, 1] = clean[parts[:, 0], 1]
    np.testing.assert_array_equal(twice, clean)


@SETTINGS
@given(st.integers(0, 2**31), st.data())
def test_overlay_restricted_to_a_region(seed, data):
    n_codes = [4, 4]
    trees = random_trees(seed, 2, n_codes)
    corners = [sorted((data.draw(st.integers(0, 4)), data.draw(st.integers(0, 4)))) for _ in "ab"]
    lo, hi = np.array(corners, dtype=np.int32).T.copy()
    nodes, parts = overlay(trees, lo, hi, max_leaves=10**6)
    want = {tuple(leaf_of(tree, cell) for tree in trees) for cell in all_cells(lo, hi)}
    assert {tuple(part) for part in parts} == want
    for cell in all_cells(lo, hi):
        assert tuple(parts[nodes[leaf_of(nodes, cell), 1]]) == tuple(
            leaf_of(tree, cell) for tree in trees
        )


def test_overlay_stops_at_max_leaves():
    n_codes = [30, 30]
    trees = random_trees(4, 6, n_codes, depth=7)
    lo, hi = np.zeros(2, np.int32), np.array(n_codes, np.int32)
    _, parts = overlay(trees, lo, hi, max_leaves=10**6)
    assert len(parts) > 20
    assert overlay(trees, lo, hi, max_leaves=len(parts) - 1) == (None, None)
    assert len(overlay(trees, lo, hi, max_leaves=len(parts))[1]) == len(parts)


# ---------------------------------------------------------------- regions


def test_splits_that_decide_nothing_are_left_out():
    # root sends every cell left, its left child every cell right
    left = np.array([1, 3, -1, -1, -1], dtype=np.intp)
    right = np.array([2, 4, -1, -1, -1], dtype=np.intp)
    axis = np.array([0, 1, -1, -1, -1], dtype=np.intp)
    cut = np.array([2, -1, 0, 0, 0], dtype=np.int32)
    nodes, offsets = encode_trees(
        np.array([0, 5], dtype=np.intp), left, right, axis, cut, np.array([2, 2], dtype=np.int32)
    )
    assert nodes.tolist() == [[-1, 4, 1]]
    assert offsets.tolist() == [0, 1]


@SETTINGS
@given(st.integers(0, 2**31), regions([3, 2, 4]))
def test_restricted_trees_answer_alike_in_the_region(seed, region):
    n_cuts, (lo, hi) = [3, 2, 4], region
    nodes, offsets = joined(random_trees(seed, 3, n_cuts))
    rng = np.random.default_rng(seed)
    wide = np.flatnonzero(hi > lo)
    also = [(a, rng.integers(lo[a], hi[a])) for a in wide[: rng.integers(3)]]
    also_axis, also_cut = np.array(also, dtype=np.intp).reshape(-1, 2).T.copy()
    part, part_offsets, axes, cuts = restrict(nodes, offsets, lo, hi, also_axis, also_cut)
    used = {(axes[a], cuts[a][c]) for a, c, _ in part if a >= 0}
    assert {(a, c) for a, kept in zip(axes, cuts, strict=True) for c in kept} == used | set(also)
    assert all(lo[a] <= c < hi[a] for a, c in used)
    shape = [len(kept) for kept in cuts]
    for t in range(3):
        whole = nodes[offsets[t] : offsets[t + 1]]
        tree = part[part_offsets[t] : part_offsets[t + 1]]
        check_form(tree)
        boxes(tree, shape)
        for cell in all_cells(lo, hi):
            local = [np.searchsorted(kept, cell[a]) for a, kept in zip(axes, cuts, strict=True)]
            assert tree[leaf_of(tree, local), 1] == whole[leaf_of(whole, cell), 1]


@SETTINGS
@given(st.integers(0, 2**31), regions([3, 2, 4]))
def test_leaf_boxes_are_the_cells_of_the_leaves(seed, region):
    lo, hi = region
    tree = random_trees(seed, 1, [3, 2, 4])[0]
    at, first, last = leaf_boxes(tree, lo, hi)
    assert (np.diff(at) > 0).all()
    found = {}
    for leaf, low, high in zip(at, first, last, strict=True):
        found.update(dict.fromkeys(all_cells(low, high), leaf))
    assert found == {cell: leaf_of(tree, cell) for cell in all_cells(lo, hi)}
    assert sum(np.prod(last - first + 1, axis=1)) == len(found)


@SETTINGS
@given(st.integers(0, 2**31))
def test_cells_fall_into_the_leaves_that_a_walk_finds(seed):
    trees = random_trees(seed, 3, [3, 2, 4])
    nodes, offsets = joined(trees)
    cells = np.array(all_cells([0, 0, 0], [3, 2, 4]), dtype=np.int32)
    leaves = np.empty((3, len(cells)), dtype=np.intp)
    leaves_of_cells(nodes, offsets, cells, leaves)
    for t, tree in enumerate(trees):
        assert leaves[t].tolist() == [offsets[t] + leaf_of(tree, cell) for cell in cells]


@SETTINGS
@given(st.integers(0, 2**31))
def test_depths_and_sizes(seed):
    tree = random_trees(seed, 1, [3, 2, 4])[0]
    depth = depths(tree)
    assert depth[0] == 0
    for at, (axis, _, _) in enumerate(tree):
        if axis >= 0:
            right = at + 1 + tree[at + 1, 2]
            assert depth[at + 1] == depth[right] == depth[at] + 1
    blank = tree.copy()
    blank[:, 2] = 0
    assert with_sizes(blank) is not None
    np.testing.assert_array_equal(blank, tree)
