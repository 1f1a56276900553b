"""The forests of the born-again paper, from the text format of its authors' program."""

import csv
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from ensemble_simplify.grid.tree_nodes import preorder
from ensemble_simplify.writing.sklearn_tree import write_tree

FOLDER = Path(__file__).parent / "data" / "ba_trees"


def read_trees(path):
    """Read a forest file.

    Returns
    -------
    n_features, n_classes : int
    trees : list of (left, right, feature, threshold, label)
        Lists over the nodes of a tree; -1 where an entry does not apply.
    """
    sizes, trees = {}, []
    for line in Path(path).read_text().splitlines():
        words = line.split()
        if line.startswith("NB_NODES"):
            trees.append(([], [], [], [], []))
        elif line.startswith("NB_"):
            sizes[words[0].rstrip(":")] = int(words[1])
        elif words and words[0].isdigit():
            node = [int(words[k]) for k in (2, 3, 4)] + [float(words[5]), int(words[7])]
            for column, entry in zip(trees[-1], node, strict=True):
                column.append(entry)
    return sizes["NB_FEATURES"], sizes["NB_CLASSES"], trees


def votes(trees, X):
    """Label that each tree gives each row, walked node by node: (n_rows, n_trees)."""
    result = np.empty((len(X), len(trees)), dtype=np.intp)
    for t, (left, right, feature, threshold, label) in enumerate(trees):
        for i, row in enumerate(X):
            node = 0
            while left[node] >= 0:
                node = left[node] if row[feature[node]] <= threshold[node] else right[node]
            result[i, t] = label[node]
    return result


def majority(trees, X, n_classes):
    """The forest's answer: the most frequent label, ties to the smaller one."""
    counts = (votes(trees, X)[:, :, None] == np.arange(n_classes)).sum(axis=1)
    return counts.argmax(axis=1)


def read_random_forest(paths):
    """A fitted `RandomForestClassifier` with the trees of one file, or of several together.

    Leaves are pure, so that its mean of probabilities and the majority of labels agree.
    """
    estimators = []
    for path in paths if isinstance(paths, list) else [paths]:
        n_features, n_classes, trees = read_trees(path)
        for left, right, feature, threshold, label in trees:
            nodes, order = preorder(left, right, feature, threshold)
            rows = np.where(nodes.left < 0, 1, 0)
            value = (
                np.where(nodes.left < 0, 1, 0)[:, None]
                * np.eye(n_classes)[np.maximum(np.array(label)[order], 0)]
            )
            for node in range(nodes.n_nodes - 1, -1, -1):
                if nodes.left[node] >= 0:
                    sides = [nodes.left[node], nodes.right[node]]
                    rows[node], value[node] = rows[sides].sum(), value[sides].sum(axis=0)
            value = value / rows[:, None]
            estimators.append(
                write_tree(
                    nodes,
                    value,
                    rows,
                    rows.astype(float),
                    1 - (value**2).sum(axis=1),
                    n_features=n_features,
                    classes=np.arange(n_classes),
                )
            )
    forest = RandomForestClassifier(n_estimators=len(estimators), max_depth=3)
    forest.estimators_ = estimators
    forest.estimator_ = estimators[0].__class__()
    forest.n_features_in_, forest.n_outputs_ = n_features, 1
    forest.n_classes_, forest.classes_ = n_classes, np.arange(n_classes)
    return forest


def published(path=FOLDER / "optimal.csv"):
    """Sizes the authors' program found: {(data set, fold, objective): (depth, leaves)}."""
    with Path(path).open() as file:
        return {
            (row["forest"], int(row["fold"]), row["objective"]): (
                int(row["depth"]),
                int(row["leaves"]),
            )
            for row in csv.DictReader(file)
        }
