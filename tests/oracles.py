"""Slow and obvious answers to compare with.

A grid of cells is given by its labels: ``labels[i, j, ...]`` is the class of the cell with index i
on the first axis, j on the second, and so on. A tree splits an axis between two neighbouring
cells; it is faithful when every leaf holds cells of one class only.
"""

from copy import deepcopy
from functools import partial
from itertools import pairwise, product
from math import inf

import numpy as np

FLOAT32_MAX = float(np.finfo(np.float32).max)
FREE = 0xFFFF  # label of cells that may get any class


# Born-again trees: exhaustive recursion over boxes
#
# A box is a tuple of (first cell, last cell), one pair an axis.


def whole_box(labels):
    """Return the box of all cells."""
    return tuple((0, size - 1) for size in labels.shape)


def is_uniform(labels, box):
    """Tell whether one leaf serves a box: all its cells, but for free ones, have the same class.

    Grids that are no arrays say themselves where one leaf serves (`tolerance_truth.Numbers`).
    """
    if not isinstance(labels, np.ndarray):
        return labels.is_leaf(box)
    inside = labels[tuple(slice(first, last + 1) for first, last in box)]
    inside = inside[inside != FREE]
    return inside.size == 0 or bool((inside == inside[0]).all())


def splits(box):
    """Yield (axis, k, left box, right box) for each way to split a box after cell k of an axis."""
    for axis, (first, last) in enumerate(box):
        for k in range(first, last):
            left = (*box[:axis], (first, k), *box[axis + 1 :])
            right = (*box[:axis], (k + 1, last), *box[axis + 1 :])
            yield axis, k, left, right


def _min_depth(labels, memo, box):
    if box not in memo:
        if is_uniform(labels, box):
            memo[box] = 0
        else:
            depth = partial(_min_depth, labels, memo)
            memo[box] = min(1 + max(depth(left), depth(right)) for _, _, left, right in splits(box))
    return memo[box]


def _min_leaves(labels, memo, box):
    if box not in memo:
        if is_uniform(labels, box):
            memo[box] = 1
        else:
            leaves = partial(_min_leaves, labels, memo)
            memo[box] = min(leaves(left) + leaves(right) for _, _, left, right in splits(box))
    return memo[box]


def _min_leaves_within(labels, memo, box, depth):
    """Fewest leaves of the faithful trees of at most this depth; inf where there are none."""
    if (box, depth) not in memo:
        if is_uniform(labels, box):
            memo[box, depth] = 1
        elif depth == 0:
            memo[box, depth] = inf
        else:
            leaves = partial(_min_leaves_within, labels, memo, depth=depth - 1)
            memo[box, depth] = min(
                leaves(left) + leaves(right) for _, _, left, right in splits(box)
            )
    return memo[box, depth]


def min_depth(labels):
    """Return the smallest depth of a faithful tree."""
    return _min_depth(labels, {}, whole_box(labels))


def min_leaves(labels):
    """Return the smallest number of leaves of a faithful tree."""
    return _min_leaves(labels, {}, whole_box(labels))


def min_leaves_at_min_depth(labels):
    """Return the smallest number of leaves among the faithful trees of smallest depth."""
    return _min_leaves_within(labels, {}, whole_box(labels), min_depth(labels))


def pareto_front(labels):
    """Return all (depth, leaves) of faithful trees that no other beats in both, by depth."""
    fewest = min_leaves(labels)
    memo = {}
    depth = min_depth(labels)
    front = [(depth, _min_leaves_within(labels, memo, whole_box(labels), depth))]
    while front[-1][1] > fewest:
        depth += 1
        leaves = _min_leaves_within(labels, memo, whole_box(labels), depth)
        if leaves < front[-1][1]:
            front.append((depth, leaves))
    return front


# Born-again trees: every single tree of a really tiny grid
#
# A tree is a class (a leaf) or a tuple (axis, k, left, right).


def brute_force_trees(labels):
    """Yield every faithful tree of a grid, one by one; for grids of a dozen cells.

    All trees are there, also those that split a box of one class.
    """
    if labels.size > 16:
        raise ValueError(f"{labels.size} cells have too many trees to list. Use at most 16.")
    return _trees(labels, whole_box(labels))


def _trees(labels, box):
    if is_uniform(labels, box):
        yield int(labels[tuple(first for first, _ in box)])
    for axis, k, left_box, right_box in splits(box):
        for left in _trees(labels, left_box):
            for right in _trees(labels, right_box):
                yield axis, k, left, right


def tree_depth(tree):
    """Return the depth of a tree of `brute_force_trees`."""
    if isinstance(tree, int):
        return 0
    return 1 + max(tree_depth(tree[2]), tree_depth(tree[3]))


def tree_leaves(tree):
    """Return the number of leaves of a tree of `brute_force_trees`."""
    if isinstance(tree, int):
        return 1
    return tree_leaves(tree[2]) + tree_leaves(tree[3])


def tree_labels(tree, shape):
    """Return the grid of classes that a tree of `brute_force_trees` predicts."""
    labels = np.empty(shape, dtype=np.intp)
    for cell in product(*map(range, shape)):
        node = tree
        while not isinstance(node, int):
            axis, k, left, right = node
            node = left if cell[axis] <= k else right
        labels[cell] = node
    return labels


# Ensembles: their trees and thresholds, labels of cells, and rows that are hard to get right


def trees_of(model):
    """Return all fitted trees inside an ensemble, at any depth, in their order."""
    if hasattr(model, "tree_"):
        return [model]
    members = getattr(model, "estimators_", [])
    members = members.ravel() if isinstance(members, np.ndarray) else members
    return [tree for member in members for tree in trees_of(member)]


def columns_of(model, columns=None):
    """Return the columns that each tree of `trees_of` sees."""
    columns = np.arange(model.n_features_in_) if columns is None else columns
    if hasattr(model, "tree_"):
        return [columns]
    members = model.estimators_
    members = members.ravel() if isinstance(members, np.ndarray) else members
    subsets = getattr(model, "estimators_features_", [np.arange(len(columns))] * len(members))
    pairs = zip(members, subsets, strict=True)
    return [seen for member, subset in pairs for seen in columns_of(member, columns[subset])]


def thresholds_of(*models):
    """Return the thresholds of models as their trees store them, a sorted array a feature."""
    found = [[] for _ in range(models[0].n_features_in_)]
    for model in models:
        for tree, columns in zip(trees_of(model), columns_of(model), strict=True):
            inner = tree.tree_.children_left >= 0
            splits = zip(tree.tree_.feature[inner], tree.tree_.threshold[inner], strict=True)
            for feature, threshold in splits:
                found[columns[feature]].append(threshold)
    return [np.unique(values) for values in found]


def labels_by_predict(estimator, cuts):
    """Return the class index of every cell, asking nothing but ``estimator.predict``.

    Cell i of an axis with cut points c holds the float32 values in (c[i - 1], c[i]] and is
    represented by c[i]; the last cell by the largest float32.
    """
    points = [[*map(float, axis), FLOAT32_MAX] for axis in cuts]
    rows = np.array(list(product(*points)), dtype=np.float64)
    index = {label: i for i, label in enumerate(estimator.classes_.tolist())}
    predicted = estimator.predict(rows).tolist()
    labels = np.array([index[label] for label in predicted], dtype=np.intp)
    return labels.reshape([len(axis) for axis in points])


def adversarial_rows(cuts, rng, n):
    """Return n float64 rows on and just beside cut points, far out, and inside random cells.

    `cuts` are sorted numbers, an array a feature: cut points, or thresholds as they are stored.
    """
    columns = []
    for axis in cuts:
        axis = np.asarray(axis, dtype=np.float64)
        with np.errstate(over="ignore"):  # beyond float32 is inf
            single = axis.astype(np.float32)
            single_neighbours = [np.nextafter(single, np.float32(end)) for end in (-np.inf, np.inf)]
        special = np.concatenate(
            [
                axis,
                single,
                *single_neighbours,
                np.nextafter(axis, -np.inf),
                np.nextafter(axis, np.inf),
                [0.0, -0.0, 1e-45, -1e-45, 1.0, -1.0, FLOAT32_MAX, -FLOAT32_MAX],
            ]
        )
        bounds = np.concatenate([[-FLOAT32_MAX], axis, [FLOAT32_MAX]])
        cell = rng.integers(axis.size + 1, size=n)
        low, high = bounds[cell], bounds[cell + 1]
        inside = high - rng.random(n) * (high - low)
        column = np.where(rng.random(n) < 0.7, rng.choice(special, size=n), inside)
        columns.append(np.clip(column, -FLOAT32_MAX, FLOAT32_MAX))
    return np.stack(columns, axis=1)


# Free cells and domains


def completions(labels, n_classes):
    """Yield the grid once for every way to give its free cells classes."""
    free = labels == FREE
    for classes in product(range(n_classes), repeat=int(free.sum())):
        full = labels.copy()
        full[free] = classes
        yield full


def in_domain(row, *, bounds=(), integers=(), one_hot=(), at_most_one=(), implies=()):
    """Tell whether a row, with features by index, satisfies every statement of a domain."""
    ones = [j for groups in (one_hot, at_most_one, implies) for group in groups for j in group]
    return (
        all(low <= row[j] <= high for j, (low, high) in dict(bounds).items())
        and all(row[j] == int(row[j]) for j in integers)
        and all(row[j] in (0, 1) for j in ones)
        and all(sum(row[j] for j in group) == 1 for group in one_hot)
        and all(sum(row[j] for j in group) <= 1 for group in at_most_one)
        and all(row[a] <= row[b] for chain in implies for a, b in pairwise(chain))
    )


# Certificates: the integer programme of Vidal et al. (2020), section 4.5


def largest_lead(left, right, axis, cut, roots, value, shape, lo, hi, rival, label):
    """Return the largest lead of one class over another in a box of cells, and its cell.

    One binary variable for each leaf of each tree, and one for each cut (does the cell lie
    below it?); solved by HiGHS. `value` are the votes of leaves, which add up.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    first_cut = np.concatenate([[0], np.cumsum([n - 1 for n in shape])])
    n_cuts = int(first_cut[-1])
    paths = []  # (node, [(cut variable, goes left)]) of every leaf, tree by tree
    one_leaf = []
    for root in roots:
        todo, begin = [(root, [])], len(paths)
        while todo:
            node, path = todo.pop()
            if axis[node] < 0:
                paths.append((node, path))
            else:
                at = int(first_cut[axis[node]] + cut[node])
                todo.append((left[node], [*path, (at, True)]))
                todo.append((right[node], [*path, (at, False)]))
        one_leaf.append(range(begin, len(paths)))
    n = n_cuts + len(paths)
    rows, low, high = [], [], []

    def constrain(entries, least, most):
        row = np.zeros(n)
        for at, factor in entries:
            row[at] = factor
        rows.append(row)
        low.append(least)
        high.append(most)

    for leaves in one_leaf:
        constrain([(n_cuts + i, 1) for i in leaves], 1, 1)
    for i, (_, path) in enumerate(paths):
        for at, goes_left in path:
            if goes_left:
                constrain([(n_cuts + i, 1), (at, -1)], -inf, 0)
            else:
                constrain([(n_cuts + i, 1), (at, 1)], -inf, 1)
    lower, upper = np.zeros(n), np.ones(n)
    for a, size in enumerate(shape):
        for k in range(size - 1):
            at = first_cut[a] + k
            if k + 2 < size:
                constrain([(at, 1), (at + 1, -1)], -inf, 0)
            lower[at] = float(hi[a] <= k)
            upper[at] = float(lo[a] <= k)
    gain = np.zeros(n)
    gain[n_cuts:] = [value[node][rival] - value[node][label] for node, _ in paths]
    answer = milp(
        -gain,
        integrality=np.ones(n),
        bounds=Bounds(lower, upper),
        constraints=LinearConstraint(np.array(rows), low, high),
    )
    assert answer.status == 0, answer.message
    below = answer.x[:n_cuts] > 0.5
    cell = [
        size - 1 - int(below[first_cut[a] : first_cut[a] + size - 1].sum())
        for a, size in enumerate(shape)
    ]
    return -answer.fun, cell


def seconds(n_rows=600, seed=0):
    """Rows with seconds since 1970, of which float32 tells every 128th apart, and two classes."""
    rng = np.random.RandomState(seed)
    second = 1_700_000_000 + rng.randint(0, 40_000, n_rows).astype(np.int64)
    X = np.column_stack([second, rng.normal(size=n_rows).round(1)]).astype(float)
    return X, ((second // 5000 % 2 == 1) ^ (X[:, 1] > 1)).astype(int)


def with_later_thresholds(model):
    """A copy of a boosted model by histograms that is the same for numbers of float32, only.

    Its thresholds of the first column come just before the next float32. The model can be the last
    step of a pipeline.
    """
    model = deepcopy(model)
    last = model[-1] if hasattr(model, "steps") else model
    for predictor in (tree for iteration in last._predictors for tree in iteration):
        nodes = predictor.nodes
        first = (nodes["is_leaf"] == 0) & (nodes["feature_idx"] == 0)
        threshold = nodes["num_threshold"][first]
        single = threshold.astype(np.float32)
        below = np.where(single > threshold, np.nextafter(single, np.float32(-np.inf)), single)
        after = np.nextafter(below, np.float32(np.inf)).astype(float)
        nodes["num_threshold"][first] = below + 0.99 * (after - below)
    return model
