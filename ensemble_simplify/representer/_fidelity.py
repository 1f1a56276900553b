"""Where a tree disagrees with its predictor, and how stable its splits are."""

from __future__ import annotations

import numpy as np
from sklearn.utils import Bunch

# Two splits are the same if they send this part of a node's training rows the same way.
_SAME = 0.95


def infidelity(tree, aside, class_weight=None):
    """For every node as a leaf: the share of all rows set aside that are in it and disagree."""
    weight = aside.weight
    if aside.target == "value":
        mean = np.average(aside.decisions, weights=weight)
        variance = np.average((aside.decisions - mean) ** 2, weights=weight)
        return tree.errors(aside.X, aside.encoded, weight, "value") / (variance or 1.0)
    if class_weight is not None:
        weight = weight * class_weight[aside.encoded.argmax(axis=1)]
    return tree.errors(aside.X, aside.encoded, weight, "label")


def stability(trees, X):
    """How often the first splits of trees are those of the first tree, as sent by training rows X.

    ``root`` and ``second`` are the shares of the other trees with the same split at the root, and
    of the splits below it, where the root is the same, that are the same too (nan without any);
    ``root_column`` and ``second_column`` are the same of the columns alone.
    """
    first, *others = trees
    counts = {name: [] for name in ("root", "root_column", "second", "second_column")}
    everywhere = np.ones(len(X), dtype=bool)
    for other in others:
        same, column = _same_split(first, 0, other, 0, X, everywhere)
        counts["root"].append(same)
        counts["root_column"].append(column)
        if not same or first.splits[0] is None:
            continue
        goes_left = first.splits[0].goes_left(X[:, first.splits[0].column])
        pairs = zip(first.children(0), other.children(0), (goes_left, ~goes_left), strict=True)
        for mine, theirs, rows in pairs:
            if first.splits[mine] is not None:
                same, column = _same_split(first, mine, other, theirs, X, rows)
                counts["second"].append(same)
                counts["second_column"].append(column)
    return Bunch(
        **{name: float(np.mean(found)) if found else np.nan for name, found in counts.items()},
        n_trees=len(others),
    )


def _same_split(a, s, b, t, X, rows):
    """Whether node s of one tree and t of another split alike, and by the same column."""
    one, two = a.splits[s], b.splits[t]
    if one is None or two is None:
        return (one is two,) * 2
    if one.column != two.column:
        return False, False
    x = X[rows, one.column]
    return bool(np.mean(one.goes_left(x) == two.goes_left(x)) >= _SAME) if x.size else True, True
