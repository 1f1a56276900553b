"""Single trees of scikit-learn, from the fields of their nodes; of 1.10, with categories, too."""

from __future__ import annotations

import numpy as np

from ensemble_simplify.reading.boosting import bits_of, codes_and_table
from ensemble_simplify.reading.node_fields import (
    OF_HASH,
    OF_SET,
    OF_THRESHOLD,
    TREE_FIELDS,
    not_known,
    unknown_fields,
)
from ensemble_simplify.reading.trees import MAX_CODE, Tree, Trees, name_of, sides_of


def tree_of(estimator, nodes):
    """A scikit-learn tree with one output, from the fields of its nodes."""
    if unknown := unknown_fields(nodes, TREE_FIELDS):
        found = f"{name_of(estimator)} has nodes with fields that are not known"
        raise ValueError(not_known(f"{found}: {', '.join(unknown)}"))
    return Tree(
        name=name_of(estimator),
        left=nodes["left_child"],
        right=nodes["right_child"],
        feature=nodes["feature"],
        threshold=nodes["threshold"],
        value=np.array(estimator.tree_.value[:, 0, :], dtype=np.float64, order="C"),
        n_features=estimator.n_features_in_,
        estimator=estimator,
        missing_left=nodes["missing_go_to_left"].astype(bool),
    )


def is_categorical(estimator):
    """Which features a tree of scikit-learn 1.10 or later takes as categories."""
    found = getattr(estimator, "is_categorical_", None)
    return np.zeros(0, dtype=bool) if found is None else np.asarray(found, dtype=bool)


def tree_of_categories(estimator):
    """One scikit-learn tree with splits of categories, and its table.

    Its encoder counts the categories of each column; one that it does not know is missing.
    """
    nodes = estimator.tree_.__getstate__()["nodes"]
    tree = tree_of(estimator, nodes)
    tree.estimator = None  # whose nodes are others
    categorical = is_categorical(estimator)
    columns = np.flatnonzero(categorical)
    categories = estimator._categorical_encoder.categories_
    if (most := max(map(len, categories))) >= MAX_CODE:
        raise ValueError(
            f"{name_of(estimator)} has a column of {most:,} categories; fewer than {MAX_CODE:,} "
            "are supported. Put rare ones together."
        )
    seen = np.concatenate([columns, np.flatnonzero(~categorical)])
    codes, table = codes_and_table(estimator, seen, categories)
    splits = np.flatnonzero(tree.left != -1)
    of_category = splits[np.isin(tree.feature[splits], columns)]
    kinds = np.full(len(nodes), OF_THRESHOLD)
    if "split_kind" in nodes.dtype.names:
        kinds = nodes["split_kind"].astype(np.int64)
    else:
        kinds[of_category] = OF_SET
    tests_set = np.isin(kinds[splits], (OF_SET, OF_HASH))
    if not np.array_equal(splits[tests_set], of_category) or (kinds[splits] > OF_HASH).any():
        found = f"{name_of(estimator)} has kinds of splits that are not known"
        raise ValueError(not_known(f"{found}: {np.unique(kinds[splits]).tolist()}"))
    place, sets = {column: i for i, column in enumerate(columns.tolist())}, {}
    for node in of_category.tolist():
        known, words = codes[place[int(tree.feature[node])]], nodes["left_cat_bitset"][node]
        inside = _hash(words[0], len(known)) if kinds[node] == OF_HASH else bits_of(words)
        sets[node] = sides_of(known, inside, bool(tree.missing_left[node]))
    trees = Trees()
    trees.add(tree, sets)
    return trees, table


def _hash(seed, n_categories):
    """Whether a hash sends each category left: "lowbias32" of Chris Wellons, its lowest bit."""
    x = np.arange(n_categories, dtype=np.uint32) ^ np.uint32(seed)
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B), (16, 1)):
        x = (x ^ (x >> np.uint32(shift))) * np.uint32(factor)
    return (x & np.uint32(1)).astype(bool)
