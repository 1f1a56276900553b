"""
Represent a forest by one small tree
====================================

You have a fitted forest and want one small tree that answers as the forest does.
:class:`~ensemble_simplify.RepresenterTree` makes rows of its own, asks the forest about them, and
grows the tree on these rows and the training rows. On the breast cancer data, a tree of 8 leaves
grown this way agrees with the forest on more test rows than a plain tree of 8 leaves fitted to the
forest's answers.
"""

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
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
# Fit
# ---
# ``FrozenEstimator`` keeps the forest as it is. The tree is asked to have 8 leaves.

representer = RepresenterTree(FrozenEstimator(forest), max_leaf_nodes=8, random_state=0)
representer.fit(X_train, y_train)
print(f"agreement with the forest on the test rows: {representer.fidelity(X_test):.3f}")
print(f"accuracy on the test rows: tree {representer.score(X_test, y_test):.3f}, ", end="")
print(f"forest {forest.score(X_test, y_test):.3f}")

# %%
# The result is a scikit-learn tree
# ---------------------------------
# ``decision_tree_`` is a ``DecisionTreeClassifier``. Everything that works with such a tree works
# with it.

print(export_text(representer.decision_tree_, feature_names=list(X.columns)))

# %%

figure, axes = plt.subplots(figsize=(9, 6.5), layout="constrained")
plot_tree(
    representer.decision_tree_,
    feature_names=X.columns,
    class_names=list(representer.classes_),
    label="root",
    filled=True,
    impurity=False,
    proportion=True,
    fontsize=9,
    precision=2,
    ax=axes,
)
plt.show()

# %%
# Is it better than a plain tree?
# -------------------------------
# One split of the data says little. The table has the means of six random splits, for trees of 8
# leaves. The forest fits its training rows perfectly here, so its answers on them are the labels
# themselves, and a plain tree on the forest's answers is the plain tree on the labels.

rows = []
for seed in range(6):
    A, B, a, b = train_test_split(X, y, random_state=seed)
    model = RandomForestClassifier(50, random_state=seed).fit(A, a)
    plain = DecisionTreeClassifier(max_leaf_nodes=8, random_state=seed).fit(A, model.predict(A))
    tree = RepresenterTree(FrozenEstimator(model), max_leaf_nodes=8, random_state=seed).fit(A, a)
    for name, one in (
        ("plain tree on the forest's answers", plain),
        ("RepresenterTree", tree),
        ("the forest itself", model),
    ):
        same = np.mean(one.predict(B) == model.predict(B))
        rows.append((name, same, one.score(B, b)))
table = pd.DataFrame(rows, columns=["model", "agreement with the forest", "accuracy"])
table.groupby("model", sort=False).mean().round(3)

# %%
# The tree agrees with the forest more often, and is about as accurate as the plain tree. The
# :ref:`user guide <representer>` has the same comparison on sixteen data sets and four kinds of
# models.
#
# How many leaves?
# ----------------
# Without ``max_leaf_nodes`` the size is chosen on rows that were set aside: a tenth of the training
# rows, here 42. The display shows all sizes. The band is the 95 % interval of the disagreement on
# these rows; it is wide, because 42 rows tell only large differences.

large = RepresenterTree(FrozenEstimator(forest), random_state=0).fit(X_train, y_train)
PruningPathDisplay.from_estimator(large)
plt.show()
