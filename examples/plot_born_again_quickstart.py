"""
A forest of a hundred trees, told as one
========================================

A random forest predicts well but cannot be read. Its *born-again tree* is the smallest single
decision tree with exactly the same function: for every input it gives the answer of the forest,
and no decision tree that does so is smaller.
"""

# %%
# An ordinary forest on the iris flowers
# --------------------------------------

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.tree import export_text, plot_tree

from ensemble_simplify import BornAgainClassifier

iris = load_iris(as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(
    iris.data, iris.target_names[iris.target], random_state=0
)
forest = RandomForestClassifier(n_estimators=100, max_depth=2, max_features=None, random_state=0)

# %%
# Its born-again tree
# -------------------
#
# ``fit`` trains the forest and finds the tree: least depth first, then fewest leaves. To simplify
# a forest that is already fitted, wrap it in ``sklearn.frozen.FrozenEstimator``.

born_again = BornAgainClassifier(forest).fit(X_train, y_train)
trees = born_again.estimator_.estimators_

print(f"forest: {len(trees)} trees, {sum(tree.get_n_leaves() for tree in trees)} leaves")
print(f"tree:   1 tree, {born_again.n_leaves_} leaves, depth {born_again.depth_}")
print(f"status: {born_again.status_}, over {born_again.n_cells_} cells")

# %%
# The same function
# -----------------
#
# Not only on the test rows: everywhere. ``verify`` proves it, independently of the search, by
# bounding the votes of the forest on the box of each leaf.

proof = born_again.verify()
print(proof)
assert proof

# %%
# Who prefers to see it can ask both at a million random points of a box three times as wide as
# the data.

low, high = iris.data.min(), iris.data.max()
rng = np.random.default_rng(0)
points = iris.data.iloc[:0].reindex(range(1_000_000))
for name in points:
    width = high[name] - low[name]
    points[name] = rng.uniform(low[name] - width, high[name] + width, len(points))

same = born_again.predict(points) == born_again.estimator_.predict(points)
print(f"equal answers: {same.sum():,} of {len(points):,}")
print(f"test accuracy: forest {born_again.estimator_.score(X_test, y_test):.3f}, ", end="")
print(f"tree {born_again.score(X_test, y_test):.3f}")
assert same.all()

# %%
# Read it
# -------
#
# ``decision_tree_`` is a real ``sklearn.tree.DecisionTreeClassifier``.

print(export_text(born_again.decision_tree_, feature_names=list(X_train), decimals=4))

# %%
# So it can be drawn, here with only the rule or the class in each box.

figure, ax = plt.subplots(figsize=(10, 5), layout="constrained")
plot_tree(
    born_again.decision_tree_,
    feature_names=[name.removesuffix(" (cm)") for name in X_train],
    class_names=born_again.classes_,
    filled=True,
    rounded=True,
    impurity=False,
    label="none",
    precision=3,
    fontsize=8,
    ax=ax,
)
for box in ax.texts:
    lines = box.get_text().split("\n")
    box.set_text(lines[0].replace(" <= ", "\n≤ ") if "<=" in lines[0] else lines[-1])
ax.set_title(f"The born-again tree of {len(trees)} trees")
plt.show()
