"""All prunings of a tiny forest, and the path among them."""

import warnings
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator

from ensemble_simplify import FeatureBudgetPruner

X, y = load_breast_cancer(return_X_y=True)
X, y = X[:, [0, 1, 4, 6, 20, 21, 24, 27]], y
forest = RandomForestClassifier(3, max_depth=3, max_features=3, random_state=5).fit(X, y)
pruner = FeatureBudgetPruner(FrozenEstimator(forest)).fit(X, y)


def prunings(tree, node=0):
    """All sets of splits that one tree can keep."""
    if tree.children_left[node] < 0:
        return [frozenset()]
    sides = [
        prunings(tree, child) for child in (tree.children_left[node], tree.children_right[node])
    ]
    return [frozenset(), *({node} | left | right for left, right in product(*sides))]


# Distinct patterns of (wrong, bought) for the prunings of each tree.
choices = []
for estimator in forest.estimators_:
    tree = estimator.tree_
    path = estimator.decision_path(X).toarray().astype(bool)
    depth_order = np.argsort(path.sum(axis=0))[::-1]
    options = []
    for kept in prunings(tree):
        bought = np.zeros(X.shape, dtype=bool)
        end = np.zeros(len(X), dtype=int)
        for node in sorted(kept):
            rows = path[:, node]
            bought[rows, tree.feature[node]] = True
            goes_left = X[:, tree.feature[node]].astype(np.float32) <= tree.threshold[node]
            end[rows] = np.where(goes_left, tree.children_left[node], tree.children_right[node])[
                rows
            ]
        wrong = tree.value[end, 0].argmax(axis=1) != y
        options.append((wrong.mean(), np.packbits(bought)))
    choices.append(options)
points = set()
for combination in product(*choices):
    bought = combination[0][1] | combination[1][1] | combination[2][1]
    cost = np.unpackbits(bought).sum() / len(X)
    points.add((cost, np.mean([error for error, _ in combination])))
cost, error = np.array(sorted(points)).T

budget = 3.4
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # between two prunings of the path, which is the point here
    case = pruner.at(budget=budget)
figure, ax = plt.subplots(figsize=(6.6, 3.8), layout="constrained")
ax.scatter(
    cost, error, s=4, c="0.7", linewidths=0, rasterized=True,
    label=f"all {np.prod([len(o) for o in choices]):,} prunings",
)  # fmt: skip
ax.plot(
    pruner.path_.costs, pruner.path_.errors, "o-", color="#4477aa", ms=4,
    label="the path: prunings that are optimal for some lam",
)  # fmt: skip
ax.plot([budget] * 2, [0.05, 0.27], ":", color="0.3", linewidth=1, label=f"a budget of {budget}")
ax.plot(
    case.cost_, case.error_, "s", color="#cc3311", ms=6, label="the pruning taken for this budget"
)
ax.plot(
    [0.0, budget], [case.error_bound_] * 2, color="#cc3311", linewidth=1.2, linestyle="--",
    label="no pruning within the budget lies below",
)  # fmt: skip
ax.set(xlabel="features for an average row", ylabel="mean error of the trees", xlim=(-0.1, None))
ax.legend(loc="upper right")
