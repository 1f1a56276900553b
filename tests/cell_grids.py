"""Tiny labelled grids of every make, and trees over cells to check."""

import numpy as np
from oracles import whole_box

from ensemble_simplify.born_again.everywhere._grid import Grid


def random_box_tree(labels, box, rng, depth, n_classes):
    """Label a box by a random tree of some depth; in place."""
    axes = [a for a, (first, last) in enumerate(box) if first < last]
    if depth == 0 or not axes:
        labels[tuple(slice(a, b + 1) for a, b in box)] = rng.integers(n_classes)
        return
    axis = rng.choice(axes)
    first, last = box[axis]
    k = int(rng.integers(first, last))
    for side in ((first, k), (k + 1, last)):
        random_box_tree(labels, (*box[:axis], side, *box[axis + 1 :]), rng, depth - 1, n_classes)


def tree_grid(shape, rng, depth, n_classes):
    """Labels of a random tree."""
    labels = np.empty(shape, dtype=np.intp)
    random_box_tree(labels, whole_box(labels), rng, depth, n_classes)
    return labels


def forest_grid(shape, rng, n_trees, n_classes):
    """Majority of a few shallow random trees, ties to the smaller class."""
    votes = np.stack([tree_grid(shape, rng, 2, n_classes) for _ in range(n_trees)])
    return (votes[..., None] == np.arange(n_classes)).sum(axis=0).argmax(axis=-1)


def random_shape(rng, max_regions=700, max_axes=4):
    """Cells on each axis, at least two."""
    while True:
        shape = rng.integers(2, 8, size=rng.integers(1, max_axes + 1))
        if np.prod(shape * (shape + 1) // 2) <= max_regions:
            return tuple(int(n) for n in shape)


def random_grid(seed, max_regions=700, max_axes=4):
    """A grid: noise, a tree, a forest, equal slabs, or nearly one class."""
    rng = np.random.default_rng(seed)
    shape = random_shape(rng, max_regions, max_axes)
    n_classes = int(rng.integers(2, 5))
    kind = seed % 5
    if kind == 0:
        return rng.integers(n_classes, size=shape)
    if kind == 1:
        return tree_grid(shape, rng, int(rng.integers(1, 6)), n_classes)
    if kind == 2:
        return forest_grid(shape, rng, int(rng.integers(2, 7)), n_classes)
    if kind == 3:
        labels = rng.integers(n_classes, size=shape)
        for axis, n in enumerate(shape):
            # slabs that repeat others, near and far
            labels = labels.take(np.sort(rng.integers(0, max(1, n // 2) + 1, size=n) % n), axis)
        return labels
    labels = np.zeros(shape, dtype=np.intp)
    labels.flat[rng.integers(labels.size, size=2)] = 1
    return labels


def columns_of(nodes):
    """Children, axis, cut and label of the nodes of a tree over axes, -1 where they have none."""
    is_leaf = nodes[:, 0] < 0
    left = np.where(is_leaf, -1, np.arange(1, len(nodes) + 1))
    right = np.array(
        [-1 if leaf else i + 1 + nodes[i + 1, 2] for i, leaf in enumerate(is_leaf.tolist())]
    )
    cut, label = np.where(is_leaf, -1, nodes[:, 1]), np.where(is_leaf, nodes[:, 1], -1)
    return left, right, nodes[:, 0], cut, label


def labels_of_tree(left, right, axis, cut, label, shape):
    """Grid of labels that a tree over cells predicts, its depth and its number of leaves."""
    result = np.full(shape, -1, dtype=np.intp)
    deepest, n_leaves = 0, 0
    stack = [(0, tuple((0, n - 1) for n in shape), 0)]
    while stack:
        node, box, depth = stack.pop()
        assert all(first <= last for first, last in box), "a part without cells"
        if left[node] < 0:
            assert right[node] < 0
            result[tuple(slice(a, b + 1) for a, b in box)] = label[node]
            deepest, n_leaves = max(deepest, depth), n_leaves + 1
            continue
        a, k = axis[node], cut[node]
        first, last = box[a]
        assert first <= k < last, "a split outside its box"
        assert left[node] == node + 1, "not in pre-order"
        stack.append((right[node], (*box[:a], (k + 1, last), *box[a + 1 :]), depth + 1))
        stack.append((left[node], (*box[:a], (first, k), *box[a + 1 :]), depth + 1))
    assert len(left) == 2 * n_leaves - 1, "nodes that no cell reaches"
    return result, deepest, n_leaves


def labelled(labels):
    """A grid of these classes, its axes and cuts numbered."""
    cuts = [np.arange(n - 1) for n in labels.shape]
    return Grid(np.arange(labels.ndim), cuts, labels.astype(np.uint16))
