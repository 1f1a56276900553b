"""What nodes answer: class probabilities shrunk to their ancestors', labels kept."""

from __future__ import annotations

import numpy as np

# How far a corrected probability stays below the node's label, relative to it: wide enough to
# survive the rounding to float32 that exporters do.
_LABEL_MARGIN = 2.0**-20


def shrunken(nodes, class_weights, strength):
    """Class probabilities of all nodes by hierarchical shrinkage [1]_.

    The probabilities of a node are those of its parent, plus the difference of the two nodes' class
    fractions times ``n / (n + strength)``, where `n` is the weight of the parent. At the root, one
    row more is counted, spread evenly over the classes. So they are a weighted mean of the
    fractions on the path, and none is zero.

    Parameters
    ----------
    nodes : TreeNodes
    class_weights : ndarray of shape (n_nodes, n_classes)
        Not negative, one row weighing about one; in inner nodes the sums of the children's.
    strength : float
        Rows that the parent counts for; positive.

    Returns
    -------
    proba : ndarray of shape (n_nodes, n_classes)

    References
    ----------
    .. [1] A. Agarwal, Y. S. Tan, O. Ronen, C. Singh and B. Yu, "Hierarchical shrinkage: improving
       the accuracy and interpretability of tree-based methods", ICML 2022.
    """
    weight = class_weights.sum(axis=1)
    fraction = class_weights / np.where(weight > 0, weight, 1.0)[:, None]
    fraction[0] = (class_weights[0] + 1.0 / class_weights.shape[1]) / (weight[0] + 1.0)
    proba = fraction.copy()
    for parent in nodes._inner_by_level[::-1]:
        share = (weight[parent] / (weight[parent] + strength))[:, None]
        for child in (nodes.left[parent], nodes.right[parent]):
            # a node that no row reaches knows nothing beyond its parent
            empty = weight[child] <= 0
            fraction[child[empty]] = fraction[parent[empty]]
            proba[child] = proba[parent] + share * (fraction[child] - fraction[parent])
    return proba


def weight_of_a_row(n_node_samples, weight):
    """What a row of a tree weighs; 1 where rows weigh more: they then stand for several."""
    return min(1.0, weight[0] / max(n_node_samples[0], 1))


def with_labels(proba, label):
    """Change probabilities as little as makes ``label`` their first argmax, also as float32.

    The classes that stand above the label are lowered, and the label raised, to one common level:
    the Euclidean projection on the probabilities in which the label is largest. Where ``argmax``
    would answer an earlier class of the same level, a margin goes from that class to the label.
    """
    proba = proba.copy()
    proba /= np.where(np.abs(proba.sum(axis=1) - 1.0) > 1e-12, proba.sum(axis=1), 1.0)[:, None]
    wrong = (proba.argmax(axis=1) != label) | (proba.astype(np.float32).argmax(axis=1) != label)
    p, label = proba[wrong], label[wrong]
    rows = np.arange(label.size)
    own = p[rows, label].copy()
    p[rows, label] = -1.0
    descending = -np.sort(-p, axis=1)[:, :-1]
    count = np.arange(1, descending.shape[1] + 1)
    # The level when the first `count` classes take part; it peaks where the last belongs to it.
    levels = (own[:, None] + np.cumsum(descending, axis=1)) / (count + 1)
    level = np.maximum(own, levels.max(axis=1, initial=0.0))
    earlier = np.arange(p.shape[1]) < label[:, None]
    bound = np.where(earlier, level[:, None] * (1.0 - _LABEL_MARGIN), level[:, None])
    p = np.minimum(p, bound)
    p[rows, label] = 0.0
    p[rows, label] = np.maximum(1.0 - p.sum(axis=1), level)
    proba[wrong] = p
    return proba
