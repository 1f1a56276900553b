"""One binary tree as node arrays in pre-order, checked when it is made."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ensemble_simplify.grid._preorder import reach
from ensemble_simplify.grid.thresholds import FLOAT32_MAX

# Trees of more nodes, with so many on a level or more, are checked level by level.
_MANY_NODES, _NODES_PER_LEVEL = 1000, 50


# What scikit-learn stores in the leaves.
NO_CHILD = -1


@dataclass(frozen=True, eq=False)
class TreeNodes:
    """The splits of one binary tree, nodes in pre-order.

    The root is node 0 and the left child of an inner node is the node after it. `left` and `right`
    are -1 in leaves, as is `feature`; the arrays are checked when the object is made (ValueError),
    so whoever holds a ``TreeNodes`` holds a tree. Rows with ``float32(x[feature]) <= threshold`` go
    left, and missing values right: an infinite threshold tells these from all others. In leaves,
    thresholds are not read.
    """

    left: np.ndarray
    right: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    node_depth: np.ndarray = field(init=False, repr=False)

    def __post_init__(self):
        left, right, feature, threshold = _check_node_arrays(
            self.left, self.right, self.feature, self.threshold
        )
        object.__setattr__(self, "left", left)
        object.__setattr__(self, "right", right)
        object.__setattr__(self, "feature", feature)
        object.__setattr__(self, "threshold", threshold)
        leaf = left < 0
        if (wrong := np.flatnonzero(leaf & (feature != -1))).size:
            i = wrong[0]
            raise ValueError(f"feature[{i}]={feature[i]}, but node {i} is a leaf. Use -1 there.")
        object.__setattr__(self, "node_depth", check_preorder(left, right))

    @property
    def n_nodes(self):
        """Number of nodes, leaves included."""
        return self.left.size

    @property
    def n_leaves(self):
        """Number of leaves."""
        return (self.n_nodes + 1) // 2

    @property
    def depth(self):
        """Largest number of splits between the root and a leaf."""
        return int(self.node_depth.max())

    @cached_property
    def leaves(self):
        """Ids of the leaves, ascending."""
        return np.flatnonzero(self.left < 0)

    @cached_property
    def _inner_by_level(self):
        """Ids of the inner nodes, one array a level, deepest level first."""
        inner = np.flatnonzero(self.left >= 0)
        inner = inner[np.argsort(-self.node_depth[inner], kind="stable")]
        return np.split(inner, np.flatnonzero(np.diff(self.node_depth[inner])) + 1)

    def _sum_up(self, leaf_totals):
        """Fill the inner nodes of an array over nodes with the sums of their children."""
        totals = np.zeros((self.n_nodes, *leaf_totals.shape[1:]), dtype=leaf_totals.dtype)
        totals[self.leaves] = leaf_totals
        for inner in self._inner_by_level:
            totals[inner] = totals[self.left[inner]] + totals[self.right[inner]]
        return totals


def preorder(left, right, feature, threshold, *, root=0, drop_unreached=False):
    """Renumber a binary tree in pre-order.

    Children are negative in leaves, where features and thresholds are not read.
    `drop_unreached` leaves out nodes that the root does not reach, which else are an error.

    Returns
    -------
    nodes : TreeNodes
    order : ndarray of shape (nodes.n_nodes,), intp
        ``order[new]`` is the old id of node ``new``.
    """
    left, right, feature, threshold = _check_node_arrays(left, right, feature, threshold)
    order = walk(left, right, root)
    if not drop_unreached and order.size < left.size:
        missing = np.setdiff1d(np.arange(left.size), order)[0]
        raise ValueError(
            f"node {missing} is not reached from the root, node {root}. Every node of a tree must "
            "be reached exactly once; leave the others out (drop_unreached=True)."
        )
    new_id = np.empty(left.size, dtype=np.intp)
    new_id[order] = np.arange(order.size)
    inner = left[order] >= 0
    nodes = TreeNodes(
        left=np.where(inner, new_id[np.where(inner, left[order], 0)], NO_CHILD),
        right=np.where(inner, new_id[np.where(inner, right[order], 0)], NO_CHILD),
        feature=np.where(inner, feature[order], -1),
        threshold=np.where(inner, threshold[order], 0.0),
    )
    return nodes, order


def walk(left, right, root):
    """Return the ids that `root` reaches, in pre-order; an error for anything but a tree."""
    n_nodes = left.size
    if not 0 <= root < n_nodes:
        raise ValueError(f"root={root} is not a node: nodes are 0 to {n_nodes - 1}.")
    order = np.empty(n_nodes, dtype=np.intp)
    left, right = (np.ascontiguousarray(child, dtype=np.intp) for child in (left, right))
    n_reached, again = reach(left, right, root, order)
    if again >= 0:
        raise ValueError(
            f"node {again} is reached more than once from the root, node {root}. Every node of "
            "a tree must be reached exactly once."
        )
    return order[:n_reached]


def _depths_by_level(left, right):
    """`check_preorder` for large trees of some width; None for others and for what is no tree."""
    n_nodes = left.size
    depths = np.full(n_nodes, -1, dtype=np.intp)
    depths[0] = 0
    levels, inner, n_seen = [], np.flatnonzero(left[:1] >= 0), 1
    while inner.size and len(levels) * _NODES_PER_LEVEL < n_nodes and n_seen < n_nodes:
        levels.append(inner)
        below = np.concatenate([left[inner], right[inner]])
        if below.min() < 0 or below.max() >= n_nodes:
            return None
        depths[below] = len(levels)
        n_seen += below.size
        inner = below[left[below] >= 0]
    if inner.size or n_seen != n_nodes or depths.min() < 0:
        return None
    size = np.ones(n_nodes, dtype=np.intp)
    for inner in reversed(levels):
        size[inner] += size[left[inner]] + size[right[inner]]
    inner = np.flatnonzero(left >= 0)
    after_left = inner + 1 + size[inner + 1]
    ordered = (left[inner] == inner + 1).all() and (right[inner] == after_left).all()
    return depths if ordered else None


def check_preorder(left, right):
    """Return the depth of each node; an error unless the nodes are one tree in pre-order."""
    n_nodes = left.size
    if n_nodes > _MANY_NODES:
        depths = _depths_by_level(left, right)
        if depths is not None:
            return depths
    depths = []
    stack = [(0, 0)]  # nodes still to come, and their depth
    left, right = left.tolist(), right.tolist()
    for node in range(n_nodes):
        if not stack:
            raise ValueError(
                f"node {node} is not reached from the root. Every node of a tree must be reached "
                "exactly once."
            )
        expected, depth = stack.pop()
        if expected != node:
            raise ValueError(
                f"nodes are not in pre-order: node {expected} stands where node {node} should. "
                "Renumber them with preorder()."
            )
        depths.append(depth)
        if left[node] >= 0:
            stack.append((right[node], depth + 1))
            stack.append((left[node], depth + 1))
    if stack:
        raise ValueError(
            f"node {stack[-1][0]} is reached more than once. Every node of a tree must be reached "
            "exactly once."
        )
    return np.array(depths, dtype=np.intp)


def _check_node_arrays(left, right, feature, threshold):
    """Return the arrays of a tree in their types; children, features, thresholds are in range."""
    left = check_integers("left", left, None)
    n_nodes = left.size
    if n_nodes == 0:
        raise ValueError("left is empty. A tree has at least one node.")
    right = check_integers("right", right, left.shape)
    feature = check_integers("feature", feature, left.shape)
    threshold = np.ascontiguousarray(threshold, dtype=np.float64)
    if threshold.shape != left.shape:
        raise ValueError(f"threshold has shape {threshold.shape} instead of {left.shape}.")
    inner = left >= 0
    if (wrong := np.flatnonzero(inner != (right >= 0))).size:
        i = wrong[0]
        raise ValueError(
            f"left[{i}]={left[i]} and right[{i}]={right[i]}: a node has two children, or none "
            "(-1 and -1)."
        )
    for name, child in (("left", left), ("right", right)):
        if (wrong := np.flatnonzero(child >= n_nodes)).size:
            i = wrong[0]
            raise ValueError(
                f"{name}[{i}]={child[i]} is not a node: nodes are 0 to {n_nodes - 1}, and -1 "
                "stands for no child."
            )
    if (wrong := np.flatnonzero(inner & (feature < 0))).size:
        i = wrong[0]
        raise ValueError(f"feature[{i}]={feature[i]} in an inner node. Features start at 0.")
    in_range = (np.abs(threshold) <= FLOAT32_MAX) | (threshold == np.inf)
    if (wrong := np.flatnonzero(inner & ~in_range)).size:
        i = wrong[0]
        raise ValueError(
            f"threshold[{i}]={threshold[i]} in an inner node. Thresholds must be within the range "
            "of float32, since scikit-learn compares them with float32 values, or infinite, to "
            "tell missing values from all others."
        )
    return left, right, feature, threshold


def check_integers(name, array, shape):
    array = np.asarray(array)
    if array.dtype.kind not in "iu" and array.size:
        raise ValueError(f"{name} has dtype {array.dtype}. Give integers.")
    if array.ndim != 1 if shape is None else array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape} instead of {shape or '(n_nodes,)'}.")
    return np.ascontiguousarray(array, dtype=np.intp)
