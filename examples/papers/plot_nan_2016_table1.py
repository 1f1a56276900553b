"""
Nan, Wang and Saligrama (2016), Table 1: error against cost
===========================================================

The paper prunes forests that were grown with feature prices in mind. It compares two ways: the
trees are pruned together, as :class:`~ensemble_simplify.FeatureBudgetPruner` does, or one by one.
Every feature costs 1, so the cost is the number of features that a row needs. Pruned together, the
trees need fewer features for the same error.

This page needs a clone of the repository: it reads ``benchmarks/results``.
"""

# %%
# Heart, computed now
# -------------------
# 90 trees and tenfold cross-validation, as in the paper, but once instead of a hundred times.

import matplotlib.pyplot as plt
import numpy as np
from _results import read_table, shown
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedKFold

from ensemble_simplify import BudgetForestClassifier, FeatureBudgetPruner
from ensemble_simplify.datasets import load_heart_tests

X, y = (part.to_numpy() for part in load_heart_tests(return_X_y=True))
X = X.astype(float)
lams = np.concatenate(([0.0], np.geomspace(1e-5, 1.0, 150)))
curves = {"ensemble": [], "tree": []}
unpruned = []
for train, test in StratifiedKFold(10, shuffle=True, random_state=0).split(X, y):
    forest = BudgetForestClassifier(
        n_estimators=90, purchases="split", alpha=1.0, random_state=0
    ).fit(X[train], y[train])
    pruner = FeatureBudgetPruner(FrozenEstimator(forest)).fit(X[train], y[train])
    for sharing, curve in curves.items():
        scores = pruner.path_scores(X[test], y[test], sharing=sharing)
        at = np.searchsorted(scores.lams, lams, side="right") - 1
        curve.append([scores.costs[at], scores.errors[at]])
    unpruned.append([scores.unpruned_cost, scores.unpruned_error])
whole = np.mean(unpruned, axis=0)
print(f"not pruned: {whole[0]:.2f} features per row, error {whole[1]:.3f} (paper 12.17, 0.172)")

# Rows of the paper's table: features per row and error at two levels, for both ways.
PAPER = {
    "ensemble": ((8.91, 0.171), (5.81, 0.198)),
    "tree": ((11.71, 0.172), (9.23, 0.197)),
}
figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for (sharing, curve), label, color in zip(
    curves.items(), ("together", "tree by tree"), ("C0", "C1"), strict=True
):
    cost, error = np.mean(curve, axis=0)
    ax.plot(cost, 100 * error, color=color, label=f"pruned {label}")
    paper = np.array(PAPER[sharing])
    ax.plot(paper[:, 0], 100 * paper[:, 1], "o", mfc="none", mew=1.5, color=color)
ax.plot(whole[0], 100 * whole[1], "ks", label="not pruned")
ax.plot(12.17, 17.2, "ko", mfc="none", mew=1.5)
ax.plot([], [], "o", color="0.3", mfc="none", mew=1.5, label="the paper's table")
ax.set(xlabel="features per row", ylabel="error on test rows (%)", xlim=(0, 13))
ax.set_ylim(15, 46)
ax.grid(alpha=0.3)
ax.legend(frameon=False)
plt.show()

# %%
# As in the paper, trees that are pruned together need fewer features for the same error. The level
# is not the paper's: there, 8.9 features are as good as all; here that costs about two points of
# error. (With 270 rows, one point of error is less than three rows.)
#
# All sets, from the benchmark
# ----------------------------
# Read from ``benchmarks/results/feature_budget.md``, which ``python -m benchmarks.feature_budget``
# prints. The first column is the cost and the error of the ensemble before pruning. The others are
# the cost that is left, in percent, where the error is 0, 1, 3 and 5 points higher: pruned together
# / tree by tree. A dash means that this error was not reached. The paper's rows are at the levels
# it reports. The file says what is known about the differences. The large sets of the paper
# (MiniBooNE, Forest, CIFAR) are not repeated.

table = read_table("feature_budget.md", "Table 1 of the paper")
table = table.apply(lambda column: column.str.replace("**", ""))
table.columns = ["ensemble", "cost, error", *(f"{name} points" for name in table.columns[2:])]
shown(table)
