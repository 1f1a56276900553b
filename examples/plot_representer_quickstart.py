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
# The forest stays as it is inside ``FrozenEstimator``. The representer manufactures 40 rows for
# each training row, asks the forest about them, and grows one tree on both kinds of rows.

representer = RepresenterTree(FrozenEstimator(forest), max_leaf_nodes=8, random_state=0)
representer.fit(X_train, y_train)
print(export_text(representer.decision_tree_, feature_names=list(X.columns)))

# %%
# How well does the tree agree with the forest? On rows that were set aside, on manufactured rows,
# and on the training rows; and among the rows of each class:

print(f"set aside:    {representer.fidelity_:.3f}")
print(f"manufactured: {representer.smeared_fidelity_:.3f}")
print(f"training:     {representer.train_fidelity_:.3f}")
for name, share in zip(representer.classes_, representer.train_class_fidelity_, strict=True):
    print(f"  {name:9s}   {share:.3f}")

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
# Without a number of leaves the tree grows until there is next to nothing to gain, and the pruned
# tree that agrees best with the forest on the rows set aside is taken. The band is the binomial
# interval of that agreement: 42 rows tell large differences only.

large = RepresenterTree(FrozenEstimator(forest), random_state=0).fit(X_train, y_train)
PruningPathDisplay.from_estimator(large)
plt.show()
path = large.path_
chosen = path.selected
print(
    f"{path.n_leaves[chosen]} leaves agree with the forest on {path.fidelity[chosen]:.1%} of the "
    f"rows set aside ({path.fidelity_low[chosen]:.1%} to {path.fidelity_high[chosen]:.1%})"
)

# %%
# Would other manufactured rows have given another tree? Twenty trees grown on other ones:

again = RepresenterTree(
    FrozenEstimator(forest), max_leaf_nodes=8, n_stability=20, random_state=0
).fit(X_train, y_train)
for name in ("root", "root_column", "second", "second_column"):
    print(f"{name:14s} {again.stability_[name]:.2f}")

# %%
# Beside the usual surrogate
# --------------------------
# The same number of leaves, grown on the training rows with the forest's labels; and the method of
# Breiman and Shang (1996), which smears half of the values of a row, each on its own. The columns
# of this set are strongly related (radius, perimeter, area), so that smearing makes many rows that
# no patient has. The default moves related columns together, and keeps the training rows in the
# sample. Every point is the mean of eight random splits of the data.

PAPER = {
    "sampler": "smear",
    "smearing": 0.5,
    "keep_rows": 0,
    "sampling": "per_node",
    "forbidden_splits": "stop",
    "select": None,
}
leaves = [2, 4, 8, 16, 32]
gaps = {"tree on training rows": [], "method of 1996": [], "default": []}
for seed in range(8):
    A, B, a, _ = train_test_split(X, y, random_state=seed)
    model = RandomForestClassifier(50, random_state=seed).fit(A, a)
    answers = model.predict(B)
    rows = []
    for n in leaves:
        usual = DecisionTreeClassifier(max_leaf_nodes=n, random_state=seed)
        rows.append([np.mean(usual.fit(A, model.predict(A)).predict(B) != answers)])
        for options in (PAPER, {}):
            tree = RepresenterTree(
                FrozenEstimator(model), max_leaf_nodes=n, random_state=seed, **options
            )
            rows[-1].append(np.mean(tree.fit(A, a).predict(B) != answers))
    for name, column in zip(gaps, np.transpose(rows), strict=True):
        gaps[name].append(100 * column)

for name, values in gaps.items():
    print(f"8 leaves, {name}: {np.mean(values, axis=0)[leaves.index(8)]:.1f} %")

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
for (name, values), marker in zip(gaps.items(), "s^o", strict=True):
    axes.plot(leaves, np.mean(values, axis=0), marker=marker, label=name)
axes.set(xlabel="leaves", ylabel="disagreement with the forest, % of test rows", ylim=(0, None))
axes.set_xscale("log", base=2)
axes.set_xticks(leaves, leaves)
axes.legend(frameon=False)
plt.show()
