"""Writing a pruning as an ensemble of scikit-learn, and walking it feature by feature."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import numpy as np

from ensemble_simplify.reading import family_of, tree_estimators
from ensemble_simplify.writing import pruned_copy


def voting_trees(forest, keep, *, drop):
    """Numbers of the trees that vote when the splits `keep` (uint8, by node) are left.

    With `drop`, trees without a split are left out, unless none has any.
    """
    grown = np.flatnonzero(keep[forest.offsets[:-1]])
    return grown if drop and grown.size else np.arange(forest.n_trees)


def decide_among(forest, trees, nodes):
    """Classes, or values for regression, of rows by the vote of some trees.

    `nodes`, of shape (n_rows, n_trees), says where the rows end in all trees.
    """
    if len(trees) == forest.n_trees:
        return forest.decide_at(nodes.T)
    numbers = replace(forest.vote.numbers, stop=len(trees), divisor=len(trees))
    vote = replace(forest.vote, numbers=numbers)
    return replace(forest, vote=vote).decide_at(nodes.T[trees])


def write_pruned(estimator, forest, keep, trees, *, own_values):
    """A deep copy of an ensemble with pruned trees in it; the ensemble is not changed.

    `keep` is 1 for each split that stays a split, `trees` are those that stay in the ensemble.
    Nodes have the values that the ensemble gave them (`own_values`), or those of `forest`.
    """
    pruned = {}
    for t, (tree, _) in enumerate(tree_estimators(estimator)):
        nodes = slice(forest.offsets[t], forest.offsets[t + 1])
        value = None if own_values else _values_for(tree, t, forest.value[nodes])
        pruned[id(tree)] = pruned_copy(tree, keep[nodes].astype(bool), value)
    # Whatever holds a tree holds the pruned one in the copy.
    ensemble = deepcopy(estimator, pruned)
    if len(trees) < forest.n_trees:
        family_of(ensemble).keep_members(trees)
    return ensemble


def _values_for(tree, t, value):
    """Class probabilities in the order of the classes that the tree knows."""
    classes = getattr(tree, "classes_", None)
    if classes is None or len(classes) == value.shape[1]:
        return value
    # Members of an ensemble that know fewer classes hold class indices.
    known = np.asarray(classes, dtype=np.intp)
    if (np.delete(value, known, axis=1) > 0).any():
        raise ValueError(
            f"labels='sample' cannot write the classes of the given rows into tree {t}, which was "
            "grown without some of them. Use labels='tree'."
        )
    return value[:, known]


def fetch_along_paths(forest, keep, fetch, names, n_samples, entry):
    """Send rows through pruned trees, and fetch a feature of a row when a split asks for it.

    ``fetch(name, rows)`` returns the values of a feature for some rows, of which `entry` makes the
    columns that the trees split.

    Returns
    -------
    node : ndarray of intp, shape (n_samples, n_trees)
        Where the rows end.
    known : ndarray of bool, shape (n_samples, n_features)
        What was fetched.
    """
    known = np.zeros((n_samples, len(names)), dtype=bool)
    values = np.zeros((n_samples, forest.n_features), dtype=np.float32)
    node = np.tile(forest.offsets[:-1], (n_samples, 1))
    for t in range(forest.n_trees):
        active = np.flatnonzero(keep[node[:, t]])
        while active.size:
            wanted = forest.feature[node[active, t]]
            asked = entry.source[wanted]
            # One question for all rows that lack a feature: it may be a laboratory that answers.
            for k in np.unique(asked[~known[active, asked]]):
                rows = active[asked == k]
                rows = rows[~known[rows, k]]
                made = np.flatnonzero(entry.source == k)
                values[rows[:, None], made] = _fetched(fetch, k, names[k], rows, entry)
                known[rows, k] = True
            here = node[active, t]
            value = values[active, wanted]
            goes_left = value <= forest.threshold[here]
            if forest.missing_left is not None:
                goes_left |= np.isnan(value) & forest.missing_left[here]
            node[active, t] = np.where(goes_left, forest.left[here], forest.right[here])
            active = active[keep[node[active, t]] != 0]
    return node, known


def _fetched(fetch, k, name, rows, entry):
    # text and a gap would else become text
    dtype = object if entry.table.coded[k] else None
    fetched = np.asarray(fetch(name, rows), dtype=dtype).reshape(-1)
    if fetched.shape == rows.shape:
        numbers = entry.table.columns[k].numbers(fetched, name)
        if not np.isinf(numbers).any():
            return entry.of_column(k, numbers)
    raise ValueError(
        f"fetch({name!r}, rows) returned {fetched!r} for {len(rows)} rows. Return one finite "
        "number, or NaN if it is missing, for each; or one level where the column holds such."
    )
