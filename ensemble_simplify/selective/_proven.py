"""Leaves in which the model is proven to answer as the tree does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ensemble_simplify.grid import Domain, read_domain, time_left
from ensemble_simplify.proof import verify


def proven_leaves(tree, model, leaves, domain, *, atol, max_boxes):
    """For each of some leaves, whether the model is proven to answer alike on every input there.

    The proof is about a box that holds the leaf and may hold more: conditions on levels are left
    out of it, and gaps may be in any column in which the model takes them. What is proven of the
    box is true of the leaf.

    Parameters
    ----------
    tree : RepresenterTree
    model : fitted estimator
    leaves : array of int
        Nodes of the scikit-learn tree.
    domain : Domain or None
        Which inputs can occur. None: all.
    atol : float or None
        For values: how far they may be apart.
    max_boxes : int
        Effort for each leaf.

    Returns
    -------
    ndarray of bool
        False also where the time or the effort was spent first.
    """
    n_features, names = tree.n_features_in_, getattr(tree, "feature_names_in_", None)
    if domain is None:
        may_miss = tree._may_miss
        gaps = () if may_miss is None else tuple(map(int, np.flatnonzero(may_miss)))
        domain = Domain(missing=gaps)
    # errors of the domain itself are told before any work
    read_domain(domain, n_features, names)
    boxes, found = _boxes(tree.decision_tree_.tree_), np.zeros(len(leaves), dtype=bool)
    for k, leaf in enumerate(leaves):
        if time_left() <= 0:
            break
        bounds = dict(domain.bounds)
        for j, (low, high) in boxes[int(leaf)].items():
            if not tree._table.coded[j]:
                first, last = bounds.get(j, (None, None))
                first = low if first is None else max(low, first)
                bounds[j] = first, high if last is None else min(high, last)
        inside = replace(domain, bounds=bounds)
        try:
            read_domain(inside, n_features, names)
        except ValueError:
            continue  # no input of the domain gets here
        found[k] = verify(model, tree, domain=inside, atol=atol, max_boxes=max_boxes).equal is True
    return found


def _boxes(tree):
    """For each leaf the lowest and highest float32 number of each feature on its path."""
    boxes, stack = {}, [(0, {})]
    while stack:
        node, box = stack.pop()
        if tree.children_left[node] < 0:
            boxes[node] = box
            continue
        j, threshold = int(tree.feature[node]), float(tree.threshold[node])
        last = np.float32(threshold)
        if last > threshold:
            last = np.nextafter(last, np.float32(-np.inf))
        first = np.nextafter(last, np.float32(np.inf))
        low, high = box.get(j, (-np.inf, np.inf))
        stack.append((int(tree.children_left[node]), {**box, j: (low, min(high, float(last)))}))
        stack.append((int(tree.children_right[node]), {**box, j: (max(low, float(first)), high)}))
    return boxes
