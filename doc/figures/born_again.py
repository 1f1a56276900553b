"""Cells of a forest, the leaves of its born-again tree, and the tree."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.tree import plot_tree

from ensemble_simplify import BornAgainClassifier

X, y = load_iris(return_X_y=True)
X = X[:, 2:]
forest = RandomForestClassifier(5, max_depth=2, random_state=1).fit(X, y)
born_again = BornAgainClassifier(FrozenEstimator(forest)).fit(X, y)

trees = [tree.tree_ for tree in forest.estimators_]
cuts = [np.unique(np.concatenate([t.threshold[t.feature == j] for t in trees])) for j in range(2)]
sides = [np.linspace(0.5, 7.2, 500), np.linspace(-0.1, 2.7, 500)]
flat = np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2)
label = forest.predict(flat).reshape(500, 500)
leaf = np.unique(born_again.decision_tree_.apply(flat), return_inverse=True)[1].reshape(500, 500)
colors = ["#88bbdd", "#eedd88", "#ee9988"]

figure, axes = plt.subplots(1, 3, figsize=(10, 3), width_ratios=[1, 1, 1.8], layout="constrained")
for ax in axes[:2]:
    ax.pcolormesh(
        *sides, label, cmap=ListedColormap(colors), vmin=0, vmax=2, alpha=0.7, rasterized=True
    )
    ax.scatter(*X.T, s=4, c="0.2", linewidths=0)
    ax.set(xlabel="petal length (cm)", xlim=sides[0][[0, -1]], ylim=sides[1][[0, -1]])
axes[0].set_ylabel("petal width (cm)")
for position in cuts[0]:
    axes[0].axvline(position, color="0.3", linewidth=0.7)
for position in cuts[1]:
    axes[0].axhline(position, color="0.3", linewidth=0.7)
n_cells = (len(cuts[0]) + 1) * (len(cuts[1]) + 1)
n_leaves = sum(t.n_leaves for t in trees)
axes[0].set_title(f"{len(trees)} trees, {n_leaves} leaves: {n_cells} cells")
for k in range(leaf.max() + 1):
    axes[1].contour(*sides, leaf == k, levels=[0.5], colors="0.2", linewidths=1)
axes[1].set_title(f"the fewest boxes a tree needs: {born_again.n_leaves_}")
drawn = plot_tree(
    born_again.decision_tree_,
    feature_names=["length", "width"],
    impurity=False,
    label="none",
    fontsize=7,
    precision=2,
    ax=axes[2],
)
tree = born_again.decision_tree_.tree_
boxes = [text for text in drawn if text.get_bbox_patch() is not None]
for node, text in enumerate(boxes):
    inner = tree.children_left[node] >= 0
    rule = text.get_text().split("\n")[0]
    names = ["setosa", "versicolor", "virginica"]
    text.set_text(rule.replace("<=", "≤") if inner else names[tree.value[node, 0].argmax()])
    text.get_bbox_patch().set_facecolor("white" if inner else colors[tree.value[node, 0].argmax()])
axes[2].set_title(f"the born-again tree, depth {born_again.depth_}")
