"""Trees over axes in plain Python: random ones, their leaves and boxes, by enumeration."""

import itertools

import numpy as np


def random_tree(rng, n_codes, n_labels, p_split=0.75, depth=4):
    """A random pre-order tree; splits may be unreachable or repeat those above."""
    if depth == 0 or rng.random() > p_split:
        return [(-1, int(rng.integers(n_labels)), 1)]
    feature = int(rng.integers(len(n_codes)))
    code = int(rng.integers(-1, n_codes[feature] + 1))
    left = random_tree(rng, n_codes, n_labels, p_split, depth - 1)
    right = random_tree(rng, n_codes, n_labels, p_split, depth - 1)
    return [(feature, code, 1 + len(left) + len(right)), *left, *right]


def random_trees(seed, k, n_codes, n_labels=3, depth=4):
    rng = np.random.default_rng(seed)
    return [
        np.array(random_tree(rng, n_codes, n_labels, depth=depth), dtype=np.int32) for _ in range(k)
    ]


def leaf_of(tree, point):
    at = 0
    while tree[at, 0] >= 0:
        at = at + 1 if point[tree[at, 0]] <= tree[at, 1] else at + 1 + tree[at + 1, 2]
    return at


def all_cells(lo, hi):
    return list(
        itertools.product(*[range(low, high + 1) for low, high in zip(lo, hi, strict=True)])
    )


def subtree(tree, at):
    return tree[at : at + tree[at, 2]]


def check_form(tree):
    """Sizes agree and every node is reached from the root."""
    for i, (feature, _, size) in enumerate(tree):
        if feature < 0:
            assert size == 1
        else:
            assert size == 1 + tree[i + 1, 2] + tree[i + 1 + tree[i + 1, 2], 2]
    assert tree[0, 2] == len(tree)
    assert len(tree) == 2 * np.sum(tree[:, 0] < 0) - 1


def boxes(tree, n_codes):
    """(leaf, lo, hi) of every leaf; fails on a split that cuts nothing."""
    found = []
    stack = [(0, np.zeros(len(n_codes), int), np.array(n_codes))]
    while stack:
        at, lo, hi = stack.pop()
        feature, code, _ = tree[at]
        if feature < 0:
            found.append((at, lo, hi))
            continue
        assert lo[feature] <= code < hi[feature]
        left_hi, right_lo = hi.copy(), lo.copy()
        left_hi[feature], right_lo[feature] = code, code + 1
        stack.append((at + 1, lo, left_hi))
        stack.append((at + 1 + tree[at + 1, 2], right_lo, hi))
    return found
