"""Trees and rows as integers: what the front rooms hand to the merge kernel and get back.

An axis is the sorted distinct cut points of a feature. The code of a row on it counts the cut
points below the row's value, so that ``x <= cuts[c]`` is ``code <= c``.
"""

from __future__ import annotations

import numpy as np

from ensemble_simplify._merge import encode_trees
from ensemble_simplify._sklearn_tree import TreeNodes, write_tree
from ensemble_simplify._thresholds import (
    FLOAT32_MAX,
    cut_points,
    float32_floor,
    shortest_decimal,
)


class Axes:
    """The features that some tree splits on, with their cut points.

    Parameters
    ----------
    forests : list of Forest
        All on the same features.
    X : ndarray of float32, shape (n_rows, n_features), or None
        If given, points between neighbouring values of these rows become cut points too.
    max_values : int, default=256
        Cut points of a feature taken from `X`; more are thinned out to quantiles.

    Attributes
    ----------
    features : ndarray of intp, shape (n_axes,)
        Features with at least one cut point; if there are none, the first feature.
    cuts : list of ndarray of float64
        Cut points of each of these features.
    n_codes : ndarray of int32, shape (n_axes,)
        Their numbers.
    """

    def __init__(self, forests, X=None, *, max_values=256):
        self.n_features = forests[0].n_features
        cuts = cut_points(
            np.concatenate([forest.feature for forest in forests]),
            np.concatenate([forest.threshold for forest in forests]),
            self.n_features,
        )
        # At least one axis, so that a split that cuts nothing has one to name.
        self.features = np.flatnonzero([len(c) for c in cuts])
        if not self.features.size:
            self.features = np.zeros(1, dtype=np.intp)
        self.cuts = [cuts[f] for f in self.features]
        if X is not None:
            self.cuts = [
                np.union1d(c, _points_between(X[:, f], max_values))
                for f, c in zip(self.features, self.cuts, strict=True)
            ]
        self.n_codes = np.array([len(c) for c in self.cuts], dtype=np.int32)
        self._decimals = {}

    def encode_rows(self, X):
        """Codes of float32 rows as an int32 array of shape (n_axes, n_rows)."""
        codes = np.empty((len(self.cuts), X.shape[0]), dtype=np.int32)
        for axis, (feature, cuts) in enumerate(zip(self.features, self.cuts, strict=True)):
            codes[axis] = np.searchsorted(cuts, X[:, feature], side="left")
        return codes

    def encode_forest(self, forest):
        """Trees of a forest in the form of the kernel; leaves keep their old ids as codes."""
        axis_of = np.full(self.n_features, -1, dtype=np.intp)
        axis_of[self.features] = np.arange(len(self.features))
        feature = np.where(forest.feature >= 0, axis_of[forest.feature], -1)
        inner = forest.left >= 0
        code = np.zeros(forest.n_nodes, dtype=np.int32)
        order = np.argsort(feature, kind="stable")
        ends = np.searchsorted(feature[order], np.arange(-1, len(self.cuts)), side="right")
        for axis, cuts in enumerate(self.cuts):
            part = order[ends[axis] : ends[axis + 1]]
            code[part] = np.searchsorted(cuts, forest.threshold[part], side="left")
        # Splits that send every finite row to one side need no axis.
        feature[inner & (feature < 0)] = 0
        code[inner & (forest.threshold < -FLOAT32_MAX)] = -1
        code[inner & (forest.threshold >= FLOAT32_MAX)] = np.iinfo(np.int32).max
        return encode_trees(forest.offsets, forest.left, forest.right, feature, code)

    def decode(self, nodes):
        """`TreeNodes` of a tree in the form of the kernel, with short decimal thresholds."""
        axis, _, size = nodes.T.astype(np.intp)
        inner = np.flatnonzero(axis >= 0)
        left = np.full(len(nodes), -1, dtype=np.intp)
        right = np.full(len(nodes), -1, dtype=np.intp)
        feature = np.full(len(nodes), -1, dtype=np.intp)
        threshold = np.zeros(len(nodes))
        left[inner] = inner + 1
        right[inner] = inner + 1 + size[inner + 1]
        if inner.size:
            feature[inner] = self.features[axis[inner]]
            split, which = np.unique(nodes[inner, :2], axis=0, return_inverse=True)
            points = np.array([self._decimal(f, c) for f, c in split.tolist()])
            threshold[inner] = points[which.ravel()]
        return TreeNodes(left=left, right=right, feature=feature, threshold=threshold)

    def _decimal(self, axis, code):
        """The cut point as a short decimal, found once: trees bred together share their splits."""
        if (axis, code) not in self._decimals:
            self._decimals[axis, code] = shortest_decimal(self.cuts[axis][code])
        return self._decimals[axis, code]


def _points_between(x, max_values):
    """Float32-exact points that separate neighbouring values of a column."""
    values = np.unique(x).astype(np.float64)
    points = float32_floor(values[:-1] / 2 + values[1:] / 2)
    if points.size > max_values:
        values = np.quantile(x, np.linspace(0, 1, max_values + 2)[1:-1], method="lower")
        values = np.unique(values).astype(np.float64)
        points = points[np.searchsorted(points, values, side="left").clip(max=points.size - 1)]
    return np.unique(points)


def write_coded(axes, nodes, n_rows, class_weights, *, classes, feature_names=None):
    """Write a tree of the kernel as a `DecisionTreeClassifier`.

    Parameters
    ----------
    axes : Axes
    nodes : int32 array of shape (n_nodes, 3)
    n_rows : intp array of shape (n_nodes,)
        Training rows of every node.
    class_weights : float64 array of shape (n_nodes, n_classes)
        Their weight by class; the first heaviest class of a leaf is its label.
    classes : array of shape (n_classes,)
    feature_names : array of str or None

    Returns
    -------
    tree : DecisionTreeClassifier
    """
    weight = class_weights.sum(axis=1)
    fractions = class_weights / weight[:, None]
    return write_tree(
        axes.decode(nodes),
        value=fractions,
        n_node_samples=n_rows,
        weighted_n_node_samples=weight,
        impurity=np.maximum(1.0 - np.square(fractions).sum(axis=1), 0.0),
        n_features=axes.n_features,
        classes=classes,
        feature_names=feature_names,
    )
