"""One binary tree as node arrays in pre-order, checked when it is made."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ensemble_simplify.grid._preorder import depths_in_order, reach
from ensemble_simplify.grid.thresholds import FLOAT32_MAX

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
        arrays = _check_node_arrays(self.left, self.right, self.feature, self.threshold)
        left, right, feature, threshold = arrays
        refuse_any(
            (left < 0) & (feature != -1),
            lambda i: f"feature[{i}]={feature[i]}, but node {i} is a leaf. Use -1 there.",
        )
        # it is frozen for all others
        vars(self).update(left=left, right=right, feature=feature, threshold=threshold)
        vars(self)["node_depth"] = check_preorder(left, right)

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
    """Return the ids that `root` reaches, in pre-order; an error for anything but a tree.

    Of several trees, `root` is an array of their roots.
    """
    n_nodes = left.size
    if np.ndim(root) == 0 and not 0 <= root < n_nodes:
        raise ValueError(f"root={root} is not a node: nodes are 0 to {n_nodes - 1}.")
    order = np.empty(n_nodes, dtype=np.intp)
    left, right = (np.ascontiguousarray(child, dtype=np.intp) for child in (left, right))
    roots = np.array(root, dtype=np.intp, ndmin=1)
    n_reached, again = reach(left, right, roots, order)
    if again >= 0:
        raise ValueError(
            f"node {again} is reached more than once from the root, node {root}. Every node of "
            "a tree must be reached exactly once."
        )
    return order[:n_reached]


def check_preorder(left, right):
    """Return the depth of each node; an error unless the nodes are one tree in pre-order."""
    depths = np.zeros(left.size, dtype=np.intp)
    left, right = (np.ascontiguousarray(child, dtype=np.intp) for child in (left, right))
    node, expected = depths_in_order(left, right, depths)
    if node < 0:
        return depths
    told = (
        f"nodes are not in pre-order: node {expected} stands where node {node} should. Renumber "
        "them with preorder()."
    )
    if expected < 0 or node == left.size:
        told = (
            f"node {node} is not reached from the root"
            if expected < 0
            else f"node {expected} is reached more than once"
        )
        told += ". Every node of a tree must be reached exactly once."
    raise ValueError(told)


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
    refuse_any(
        inner != (right >= 0),
        lambda i: (
            f"left[{i}]={left[i]} and right[{i}]={right[i]}: a node has two children, or "
            "none (-1 and -1)."
        ),
    )
    for name, child in (("left", left), ("right", right)):
        refuse_any(
            child >= n_nodes,
            lambda i, name=name, child=child: (
                f"{name}[{i}]={child[i]} is not a node: nodes are 0 "
                f"to {n_nodes - 1}, and -1 stands for no child."
            ),
        )
    refuse_any(
        inner & (feature < 0),
        lambda i: f"feature[{i}]={feature[i]} in an inner node. Features start at 0.",
    )
    refuse_any(
        inner & ~((np.abs(threshold) <= FLOAT32_MAX) | (threshold == np.inf)),
        lambda i: (
            f"threshold[{i}]={threshold[i]} in an inner node. Thresholds must be within the "
            "range of float32, since scikit-learn compares them with float32 values, or infinite, "
            "to tell missing values from all others."
        ),
    )
    return left, right, feature, threshold


def refuse_any(wrong, told, nodes=None):
    """Raise ValueError for the first place where something is `wrong`, with what is told of it.

    Places are those of some `nodes`; None: of all.
    """
    if (places := np.flatnonzero(wrong)).size:
        raise ValueError(told(places[0] if nodes is None else nodes[places[0]]))


def check_integers(name, array, shape):
    array = np.asarray(array)
    if array.dtype.kind not in "iu" and array.size:
        raise ValueError(f"{name} has dtype {array.dtype}. Give integers.")
    if array.ndim != 1 if shape is None else array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape} instead of {shape or '(n_nodes,)'}.")
    return np.ascontiguousarray(array, dtype=np.intp)
