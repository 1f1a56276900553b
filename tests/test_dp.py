"""Dynamic programming gives every region the value that exhaustive search gives it."""

from itertools import chain, combinations, product
from math import ceil, inf, log2

import numpy as np
import pytest
from cell_grids import columns_of, forest_grid, labels_of_tree, random_grid
from ensemble_simplify._dp import Solver, smallest_tree
from ensemble_simplify._dp_layout import Layout
from hypothesis import given
from hypothesis import strategies as st
from oracles import (
    FREE,
    _min_depth,
    _min_leaves,
    _min_leaves_within,
    min_depth,
    min_leaves,
    whole_box,
)

from ensemble_simplify.grid import Stopped, change_masks, limits

DEPTH_TYPES = [np.uint8, np.uint16]
SPLIT_TYPES = [np.int16, np.int32]


def solver(labels, outer, n_row=1, *, spread=0):
    """With these outer axes; with `spread`, each axis's cuts begin that many bits on."""
    labels = np.ascontiguousarray(labels, dtype=np.uint16)
    word, shift, bit = [], [], 0
    for n in labels.shape:
        word.append(bit // 64)
        shift.append(bit % 64)
        bit += n - 1 + spread
    word, shift = np.array(word, dtype=np.intp), np.array(shift, dtype=np.intp)
    masks = np.zeros((labels.size, bit // 64 + 1), dtype=np.uint64)
    change_masks(labels.reshape(-1), np.array(labels.shape, dtype=np.intp), word, shift, masks)
    inner = [a for a in range(labels.ndim) if a not in outer]
    return Solver(Layout(labels, masks, word, shift, outer, inner, n_row))


def tree_columns(layers, depth):
    return columns_of(smallest_tree(layers, depth))


def layouts(n_axes):
    """All (outer axes, row axes): every subset but the full one, in both orders."""
    axes = range(n_axes)
    for outer in chain.from_iterable(combinations(axes, k) for k in range(n_axes)):
        for n_row in range(1, n_axes - len(outer) + 1):
            yield list(outer), n_row
            if len(outer) > 1:
                yield list(outer[::-1]), n_row


def boxes(shape):
    """All boxes of cells as (first cells, last cells)."""
    intervals = [[(a, b) for a in range(n) for b in range(a, n)] for n in shape]
    for box in product(*intervals):
        yield [a for a, _ in box], [b for _, b in box]


def check_all_regions(labels, whole, dtypes, layouts_used):
    """Values of all regions and the tree, with every layout and number type."""
    function = _min_depth if dtypes is DEPTH_TYPES else _min_leaves
    memo = {}
    function(labels, memo, whole_box(labels))
    least = 0 if dtypes is DEPTH_TYPES else 1
    truth = [
        (lo, hi, memo.get(tuple(zip(lo, hi, strict=True)), least) - least)
        for lo, hi in boxes(labels.shape)
    ]
    for k, (outer, n_row) in enumerate(layouts_used):
        dp = solver(labels, outer, n_row, spread=(0, 5, 40)[k % 3])
        dtype = dtypes[k % 2]
        layer = dp.solve(np.empty(dp.layout.n_states, dtype=dtype))
        assert layer.solved()
        assert dp.layout.n_states <= len(truth)
        values = [layer.value(lo, hi) for lo, hi, _ in truth]
        assert values == [value for _, _, value in truth], (outer, n_row, dtype)
        told, depth, leaves = labels_of_tree(*tree_columns([layer], 1), labels.shape)
        np.testing.assert_array_equal(told, labels)
        assert whole == (depth if dtypes is DEPTH_TYPES else leaves)


@pytest.mark.parametrize("dtypes", [DEPTH_TYPES, SPLIT_TYPES], ids=["depth", "leaves"])
@pytest.mark.parametrize("block", range(8))
def test_every_region_with_every_layout(block, dtypes):
    optimum = min_depth if dtypes is DEPTH_TYPES else min_leaves
    for seed in range(20 * block, 20 * block + 20):
        labels = random_grid(seed, 500)
        used = list(layouts(labels.ndim))
        if len(used) > 8:
            rng = np.random.default_rng(seed)
            used = [used[i] for i in rng.permutation(len(used))[:8]]
        check_all_regions(labels, optimum(labels), dtypes, used)


@given(st.data())
def test_any_grid(data):
    """Noise of any shape, with free cells or without, in any layout."""
    shape = data.draw(st.lists(st.integers(2, 4), min_size=1, max_size=4))
    while np.prod(shape) > 48:
        shape = shape[1:]
    size = int(np.prod(shape))
    classes = st.sampled_from([0, 1, 2, *([FREE] if data.draw(st.booleans()) else [])])
    labels = np.array(data.draw(st.lists(classes, min_size=size, max_size=size))).reshape(shape)
    outer, n_row = data.draw(st.sampled_from(list(layouts(labels.ndim))))
    dp = solver(labels, outer, n_row, spread=data.draw(st.integers(0, 70)))
    for function, dtypes, least in ((_min_depth, DEPTH_TYPES, 0), (_min_leaves, SPLIT_TYPES, 1)):
        layer = dp.solve(np.empty(dp.layout.n_states, dtype=data.draw(st.sampled_from(dtypes))))
        for lo, hi in boxes(labels.shape):
            box = tuple(zip(lo, hi, strict=True))
            assert layer.value(lo, hi) == function(labels, {}, box) - least
        assert layer.solved()


def layered(dp, limit, dtype, in_place_from):
    """Layers 0..limit-1, overwritten from some layer on; (layers kept, whole depth)."""
    layers = [dp.first_layer(np.empty(dp.layout.n_states, dtype=dtype))]
    depth = 1
    while depth < limit:
        update, entries = dp.blocks_to_update(layers[-1], limit - depth)
        in_place = depth >= in_place_from
        room = dp.layout.largest_block() if in_place else entries
        layer = dp.next_layer(
            layers[-1], update, limit - depth, np.empty(room, dtype=dtype), in_place
        )
        layers = [layer] if in_place else [*layers, layer]
        depth += 1
    return layers


@pytest.mark.parametrize("block", range(6))
def test_layers(block):
    """Fewest leaves within a depth, for the least depth and more than that."""
    for seed in range(20 * block, 20 * block + 20):
        labels = random_grid(seed, 600)
        rng = np.random.default_rng(seed)
        lo, hi = [0] * labels.ndim, [n - 1 for n in labels.shape]
        used = list(layouts(labels.ndim))
        memo = {}
        least = min_depth(labels)
        if least == 0:
            continue
        for limit in range(max(1, least - 1), least + 3):
            leaves = _min_leaves_within(labels, memo, whole_box(labels), limit)
            outer, n_row = used[rng.integers(len(used))]
            dp = solver(labels, outer, n_row)
            dtype = SPLIT_TYPES[limit % 2]
            layers = layered(dp, limit, dtype, inf)
            if leaves == inf:
                assert layers[-1].split(lo, hi) is None
                continue
            assert layers[-1].split(lo, hi)[2] == leaves - 1
            told, depth, n_leaves = labels_of_tree(*tree_columns(layers, limit), labels.shape)
            np.testing.assert_array_equal(told, labels)
            assert depth <= limit
            assert n_leaves == leaves
            in_place = layered(dp, limit, dtype, int(rng.integers(1, limit + 1)))
            assert in_place[-1].split(lo, hi)[2] == leaves - 1


def test_first_layer_and_what_the_next_one_changes():
    """A block may stay out of the next layer only if no value in it changes."""
    skipped = 0
    for seed in range(12):
        labels = random_grid(seed, 600)
        whole = [0] * labels.ndim, [n - 1 for n in labels.shape]
        for outer, n_row in layouts(labels.ndim):
            dp = solver(labels, outer, n_row)
            layer = dp.first_layer(np.empty(dp.layout.n_states, dtype=np.int32))
            for lo, hi in boxes(labels.shape):
                window = labels[tuple(slice(a, b + 1) for a, b in zip(lo, hi, strict=True))]
                assert (layer.value(lo, hi) == 0) == (window == window.flat[0]).all()
            depth = 0
            while True:
                update, entries = dp.blocks_to_update(layer, 99)
                every = bytearray(b"\1") * len(update)
                room = [np.empty(n, dtype=np.int32) for n in (entries, dp.layout.n_states)]
                told = dp.next_layer(layer, update, 99, room[0], False)
                full = dp.next_layer(layer, every, 99, room[1], False)
                depth += 1
                for lo, hi in boxes(labels.shape):
                    assert told.value(lo, hi) == full.value(lo, hi)
                skipped += 0 < entries < dp.layout.n_states
                if entries == 0:
                    break
                layer = told
            assert layer.value(*whole) == min_leaves(labels) - 1
            assert depth - 1 >= min_depth(labels)
    assert skipped


@pytest.mark.parametrize("n_classes", [2, 254, 255, 256, 300])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int16, np.int32])
def test_class_numbers_do_not_matter(n_classes, dtype):
    """Relabelled with numbers up to n_classes - 1, as far as the type can mark classes."""
    if dtype == np.uint8 and n_classes > 254:
        pytest.skip("depths in 8 bits leave room for 254 classes")
    for seed in range(10):
        labels = random_grid(seed, 300)
        names = np.random.default_rng(seed).permutation(n_classes - 1)[: labels.max() + 1]
        names[-1:] = n_classes - 1
        renamed = names[labels] if len(names) == labels.max() + 1 else labels
        for outer, n_row in list(layouts(labels.ndim))[-3:]:
            dp = solver(renamed, outer, n_row)
            layer = dp.solve(np.empty(dp.layout.n_states, dtype=dtype))
            told, depth, leaves = labels_of_tree(*tree_columns([layer], 1), labels.shape)
            np.testing.assert_array_equal(told, renamed)
            if dtype in DEPTH_TYPES:
                assert depth == min_depth(renamed)
            else:
                assert leaves == min_leaves(renamed)


@pytest.mark.parametrize("n", [64, 65, 66, 100])
def test_long_axes(n):
    """One long axis: as many leaves as runs; with a second axis, in and out of the rows."""
    rng = np.random.default_rng(n)
    line = rng.integers(0, 3, n)
    runs = 1 + int((line[1:] != line[:-1]).sum())
    for spread in (0, 7):
        dp = solver(line, [], spread=spread)
        layer = dp.solve(np.empty(dp.layout.n_states, dtype=np.int32))
        assert labels_of_tree(*tree_columns([layer], 1), line.shape)[2] == runs
        layer = dp.solve(np.empty(dp.layout.n_states, dtype=np.uint8))
        told, depth, _ = labels_of_tree(*tree_columns([layer], 1), line.shape)
        assert depth == ceil(log2(runs))
        np.testing.assert_array_equal(told, line)
    # the second axis decides between the line and one class: runs + 1 leaves
    for axis in (0, 1):
        plane = np.stack([line, np.full(n, 3)], axis=axis)
        for outer in ([], [0], [1]):
            dp = solver(plane, outer)
            layer = dp.solve(np.empty(dp.layout.n_states, dtype=np.int16))
            told, _, leaves = labels_of_tree(*tree_columns([layer], 1), plane.shape)
            np.testing.assert_array_equal(told, plane)
            assert leaves == runs + 1
            limit = 1 + ceil(log2(runs))
            layers = layered(dp, limit, np.int16, inf)
            told, depth, leaves = labels_of_tree(*tree_columns(layers, limit), plane.shape)
            np.testing.assert_array_equal(told, plane)
            assert (depth <= limit, leaves) == (True, runs + 1)


def test_many_words_of_cuts():
    """Three axes of 70 cells that each matter in a few places only."""
    rng = np.random.default_rng(0)
    small = forest_grid((4, 4, 4), rng, 5, 3)
    pick = [np.sort(rng.integers(0, 4, 70)) for _ in range(3)]
    big = small[np.ix_(*pick)]
    expected = small[np.ix_(*[np.unique(p) for p in pick])]
    for outer in ([0, 1], [1, 2], [2, 0]):
        dp = solver(big[:40, :35, :25], outer)
        layer = dp.solve(np.empty(dp.layout.n_states, dtype=np.int32))
        corner = small[np.ix_(*[np.unique(p[:n]) for p, n in zip(pick, (40, 35, 25), strict=True)])]
        assert labels_of_tree(*tree_columns([layer], 1), (40, 35, 25))[2] == min_leaves(corner)
    assert expected.size <= 64


def test_equal_regions_are_stored_once():
    labels = np.zeros((6, 6), dtype=np.intp)
    labels[3:, 2:] = 1
    dp = solver(labels, [0])
    assert dp.layout.n_states < 21 * 21
    assert dp.layout.shape == (6, 6)
    assert dp.layout.cost > 0


def test_table_of_wrong_size():
    dp = solver(random_grid(0), [])
    for size in (0, dp.layout.n_states - 1, dp.layout.n_states + 1):
        with pytest.raises(ValueError, match=str(dp.layout.n_states)):
            dp.solve(np.empty(size, dtype=np.uint8))


def test_out_of_time():
    labels = np.random.default_rng(0).integers(0, 2, (14, 14, 14, 4))
    dp = solver(labels, [0, 1])
    for seconds in (0.0, -1.0):
        with limits(seconds), pytest.raises(Stopped):
            dp.solve(np.empty(dp.layout.n_states, dtype=np.int16))
