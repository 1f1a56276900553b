"""
Born-again tree: one tree with the answers of a forest
======================================================

``BornAgainClassifier`` turns a forest into a single decision tree. The tree gives the same class as
the forest for every input, and no decision tree that does so is smaller. This page fits a forest,
finds its tree, proves that the two are equal, and draws the tree.
"""

# %%
# A small forest on the iris flowers
# ----------------------------------
# The forest has 100 trees of depth 2.

# sphinx_gallery_thumbnail_number = 1
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier, plot_tree

from ensemble_simplify import BornAgainClassifier

iris = load_iris(as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(
    iris.data, iris.target_names[iris.target], random_state=0
)
forest = RandomForestClassifier(
    n_estimators=100, max_depth=2, max_features=None, random_state=0
).fit(X_train, y_train)

# %%
# Its born-again tree
# -------------------
# ``FrozenEstimator`` says that the forest is already fitted. ``fit`` then only searches for the
# tree. By default it looks for the smallest depth and, among the trees of that depth, for the
# fewest leaves.

born_again = BornAgainClassifier(FrozenEstimator(forest)).fit(X_train, y_train)

print(f"forest: {len(forest)} trees, {sum(t.get_n_leaves() for t in forest)} leaves")
print(f"tree:   1 tree, {born_again.n_leaves_} leaves, depth {born_again.depth_}")
print(f"status: {born_again.status_}")

# %%
# ``status: optimal`` means that the tree is proven smallest.
#
# The proof that the two are equal
# --------------------------------
# ``verify`` proves the equality again. It does not use the search: it bounds the votes of the
# forest on the box of each leaf.

proof = born_again.verify()
print(proof)
assert proof

# %%
# What a plain tree does instead
# ------------------------------
# The plain alternative is an ordinary tree that is fitted on the forest's answers. It has fewer
# leaves and the same test accuracy. But it differs from the forest on a large share of 100,000
# random inputs, drawn evenly between the smallest and the largest value of each feature.

plain = DecisionTreeClassifier(random_state=0).fit(X_train, forest.predict(X_train))

rng = np.random.default_rng(0)
points = pd.DataFrame(
    {name: rng.uniform(column.min(), column.max(), 100_000) for name, column in iris.data.items()}
)
answers = forest.predict(points)
pd.DataFrame.from_dict(
    {
        name: {
            "leaves": model.get_n_leaves(),
            "test accuracy": f"{model.score(X_test, y_test):.3f}",
            "differs from the forest": f"{np.mean(model.predict(points) != answers):.1%}",
        }
        for name, model in (("born-again tree", born_again), ("plain tree", plain))
    },
    orient="index",
)

# %%
# Where is that? The colours are the answers for flowers of average sepals. The plain tree has its
# borders elsewhere.

side = {name: np.linspace(0, column.max(), 200) for name, column in iris.data.items()}
length, width = "petal length (cm)", "petal width (cm)"
flowers = pd.DataFrame(np.tile(iris.data.mean(), (200 * 200, 1)), columns=iris.data.columns)
flowers[length], flowers[width] = (own.ravel() for own in np.meshgrid(side[length], side[width]))
figure, axes = plt.subplots(1, 3, figsize=(6.6, 2.9), sharey=True, layout="constrained")
for ax, (name, model) in zip(
    axes, {"forest": forest, "born-again": born_again, "plain": plain}.items(), strict=True
):
    answer = np.searchsorted(iris.target_names, model.predict(flowers)).reshape(200, 200)
    ax.pcolormesh(side[length], side[width], answer, cmap="viridis", vmin=-0.5, vmax=2.5)
    ax.set_title(name, fontsize=15)
    ax.set_xlabel("petal length")
axes[0].set_ylabel("petal width")
plt.show()

# %%
# So take the plain tree if you only need a small tree of the same accuracy on data like yours. Take
# the born-again tree if its answers have to be those of the forest: for an audit, or to replace a
# forest that has been approved.
#
# Read the tree
# -------------
# ``decision_tree_`` is an ordinary ``DecisionTreeClassifier``. ``export_text()`` prints it, and
# everything that takes a scikit-learn tree takes it. Here each box shows only the test or the
# class.

figure, ax = plt.subplots(figsize=(10, 5), layout="constrained")
boxes = plot_tree(
    born_again.decision_tree_,
    feature_names=[name.removesuffix(" (cm)") for name in X_train],
    class_names=born_again.classes_,
    impurity=False,
    label="none",
    precision=3,
    fontsize=9,
    ax=ax,
)
colors = {"setosa": "#88bbdd", "versicolor": "#eedd88", "virginica": "#ee9988"}
for box in boxes:
    if box.get_bbox_patch() is not None:
        lines = box.get_text().split("\n")
        is_test = "<=" in lines[0]
        box.set_text(lines[0].replace(" <= ", "\n≤ ") if is_test else lines[-1])
        box.get_bbox_patch().set_facecolor("white" if is_test else colors[lines[-1]])
ax.set_title(f"The born-again tree of {len(forest)} trees")
plt.show()

# %%
# Larger forests
# --------------
# The smallest equal tree of a default forest usually has far more leaves than anyone can store.
# For such a forest set ``max_changes=1``: the tree is then equal to the forest on all training rows
# and wherever one feature of a training row takes another value. It is still large;
# ``at(n_leaves=8)`` to ``at(n_leaves=32)`` give trees to read, with counted exceptions. See
# :ref:`born_again_near`.
