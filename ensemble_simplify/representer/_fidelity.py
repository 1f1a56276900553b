"""Where a tree disagrees with its predictor, which pruning that selects, and how stable it is."""

from __future__ import annotations

import numpy as np
from sklearn.utils import Bunch

from ensemble_simplify.base import binomial_interval
from ensemble_simplify.representer._written_tree import pruning_path

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


def node_figures(tree, target, judging, aside, class_weight, new):
    """For every node as a leaf, what the figures of the pruning path are sums of.

    Columns: errors on the rows `judging`; errors, infidelity and infidelity by class on the rows
    set aside; errors on `new` rows, where there are such. NaN for what is not known.
    """
    errors = tree.errors(*judging, target)
    figures = np.full((errors.size, 5), np.nan)
    figures[:, 0] = errors
    if aside.n_rows:
        figures[:, 1] = tree.errors(aside.X, aside.truth, aside.weight, aside.target)
        figures[:, 2] = infidelity(tree, aside)
        if class_weight is not None:
            figures[:, 3] = infidelity(tree, aside, class_weight)
    if new is not None:
        figures[:, 4] = tree.errors(*new, target)
    return figures


def prunings(tree, figures, n_aside):
    """The pruning path, in which pruning each node is no longer split, and what to select by.

    `figures` are of its nodes; `n_aside` rows of equal weight tell the range of the fidelity, if
    it is a share.
    """
    pruned_at, path, sums = pruning_path(tree, figures)
    path.errors, path.held_out_errors, unlike, by_class, on_new_rows = sums.T.copy()
    path.fidelity = 1.0 - unlike
    path.fidelity_low, path.fidelity_high = np.full((2, path.fidelity.size), np.nan)
    if n_aside:
        share = np.clip(path.fidelity, 0.0, 1.0)
        path.fidelity_low, path.fidelity_high = binomial_interval(share * n_aside, n_aside)
    path.selected = 0
    return path, pruned_at, (unlike, by_class, on_new_rows)


def selected(path, figures, by):
    """The smallest of the best prunings on a path; without `by`, the whole tree.

    By fidelity, trees are compared on the rows set aside; then, as few rows leave many ties, on
    synthetic rows. Where some answer of the predictor is rare, all answers count alike, and the
    errors on both kinds of rows are added.
    """
    if by is None:
        return 0
    unlike, by_class, on_new_rows = figures
    # All prunings, the whole tree first.
    best = np.arange(on_new_rows.size)
    if by != "fidelity":
        return int(_least(path.errors, best)[-1])
    if not np.isnan(by_class).any():  # too few rows of the rare classes to go by them alone
        on_new_rows = on_new_rows + by_class
    elif not np.isnan(unlike).any():
        best = _least(unlike, best)
    return int(_least(on_new_rows, best)[-1])


def _least(values, among):
    """The positions in `among` whose values are least, up to rounding."""
    values = values[among]
    least = values.min()
    return among[values <= least + 1e-12 * max(abs(least), 1.0)]


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
        # Below different roots there is nothing to compare.
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
