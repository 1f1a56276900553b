"""
Represent a forest by one small tree
====================================

A random forest on the breast cancer data, and a tree of eight leaves that agrees with it as far
as eight leaves can. The usual way, a tree fitted to the forest's answers on the training rows, is
drawn beside it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier, export_text, plot_tree

from ensemble_simplify import PruningPathDisplay, RepresenterTree

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
y = y.map({0: "malignant", 1: "benign"})
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
forest = RandomForestClassifier(random_state=0).fit(X_train, y_train)

# %%
# The forest stays as it is inside ``FrozenEstimator``. In every node the representer manufactures
# as many rows as there are training rows, so that the eighth leaf rests on as much data as the
# first split.

representer = RepresenterTree(
    FrozenEstimator(forest), smearing=0.1, max_leaf_nodes=8, random_state=0
)
representer.fit(X_train, y_train)
print(export_text(representer.decision_tree_, feature_names=list(X.columns)))

# %%
# How well does the tree agree with the forest? On rows that were set aside, on manufactured rows,
# and on the training rows:

print(f"set aside:    {representer.fidelity_:.3f}")
print(f"manufactured: {representer.smeared_fidelity_:.3f}")
print(f"training:     {representer.train_fidelity_:.3f}")

# %%
# ``decision_tree_`` is scikit-learn's own ``DecisionTreeClassifier``.

figure, axes = plt.subplots(figsize=(11, 5.5), layout="constrained")
plot_tree(
    representer.decision_tree_,
    feature_names=X.columns,
    class_names=list(representer.classes_),
    filled=True,
    impurity=False,
    proportion=True,
    fontsize=8,
    ax=axes,
)
plt.show()

# %%
# Without a limit the tree grows until its leaves are pure or out of training rows, and is then
# pruned: the tree of the path with the least error on the training rows is taken. On new rows a
# smaller one would do as well.

large = RepresenterTree(FrozenEstimator(forest), smearing=0.1, random_state=0)
PruningPathDisplay.from_estimator(large.fit(X_train, y_train))
plt.show()

# %%
# Beside the usual surrogate
# --------------------------
# The same number of leaves, grown on the training rows with the forest's labels. The columns of
# this set are strongly related (radius, perimeter, area), and smearing half of the values makes
# many rows that no patient has; smearing a tenth stays closer to the data. Every point is the mean
# of eight random splits of the data.

leaves = [2, 4, 8, 16]
gaps = {"tree on training rows": [], "smearing=0.5": [], "smearing=0.1": []}
for seed in range(8):
    A, B, a, _ = train_test_split(X, y, random_state=seed)
    model = RandomForestClassifier(50, random_state=seed).fit(A, a)
    answers = model.predict(B)
    rows = []
    for n in leaves:
        usual = DecisionTreeClassifier(max_leaf_nodes=n, random_state=seed)
        rows.append([np.mean(usual.fit(A, model.predict(A)).predict(B) != answers)])
        for smearing in (0.5, 0.1):
            tree = RepresenterTree(
                FrozenEstimator(model),
                smearing=smearing,
                max_leaf_nodes=n,
                select=None,
                validation_fraction=0,
                random_state=seed,
            ).fit(A, a)
            rows[-1].append(np.mean(tree.predict(B) != answers))
    for name, column in zip(gaps, np.transpose(rows), strict=True):
        gaps[name].append(100 * column)

for name, values in gaps.items():
    print(f"8 leaves, {name}: {np.mean(values, axis=0)[leaves.index(8)]:.1f} %")

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
for (name, values), marker in zip(gaps.items(), "so^", strict=True):
    axes.plot(leaves, np.mean(values, axis=0), marker=marker, label=name)
axes.set(xlabel="leaves", ylabel="disagreement with the forest, % of test rows", ylim=(0, None))
axes.legend(frameon=False)
plt.show()
