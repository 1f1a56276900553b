"""Leaves in which the model is proven to answer as the tree does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ensemble_simplify.grid import Domain, float32_floor, next_after, read_domain, time_left
from ensemble_simplify.proof import verify
from ensemble_simplify.writing import NamedTree


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
    named, found = NamedTree.of(tree), np.zeros(len(leaves), dtype=bool)
    spans = {int(named.order[node]): own for node, own in named.paths()}
    for k, leaf in enumerate(leaves):
        if time_left() <= 0:
            break
        bounds = dict(domain.bounds)
        for j, span in spans[int(leaf)].items():
            if not tree._table.coded[j]:
                # a span begins above its low end; without one, at minus infinity
                low, high = float32_floor([span.low, span.high]).tolist()
                low = float(next_after(low)) if np.isfinite(low) else low
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
