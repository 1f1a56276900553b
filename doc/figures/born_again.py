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
# Each panel is a drawing of its own: the page puts as many side by side as fit.
plt.rcParams["savefig.bbox"] = "standard"


def entitle(ax, name, fact):
    """Give axes a title of two lines."""
    ax.set_title(name, fontweight="bold", fontsize=11, pad=20)
    ax.text(0.5, 1.04, fact, transform=ax.transAxes, ha="center", fontsize=9.5)


def plane(name, fact):
    """The classes of the forest, and the flowers."""
    _, ax = plt.subplots(figsize=(2.5, 2.6), layout="constrained")
    entitle(ax, name, fact)
    shades = {"cmap": ListedColormap(colors), "vmin": 0, "vmax": 2, "alpha": 0.7}
    ax.pcolormesh(*sides, label, rasterized=True, **shades)
    ax.scatter(*X.T, s=4, c="0.2", linewidths=0)
    ax.set(xlabel="petal length (cm)", ylabel="petal width (cm)")
    ax.set(xlim=sides[0][[0, -1]], ylim=sides[1][[0, -1]])
    ax.locator_params(nbins=5)
    return ax


n_leaves = sum(tree.n_leaves for tree in trees)
n_cells = (len(cuts[0]) + 1) * (len(cuts[1]) + 1)
ax = plane(f"{n_cells} cells", f"of {len(trees)} trees, {n_leaves} leaves")
for position in cuts[0]:
    ax.axvline(position, color="0.3", linewidth=0.7)
for position in cuts[1]:
    ax.axhline(position, color="0.3", linewidth=0.7)

ax = plane(f"{born_again.n_leaves_} boxes", "the fewest that a tree needs")
for k in range(leaf.max() + 1):
    ax.contour(*sides, leaf == k, levels=[0.5], colors="0.2", linewidths=1)

_, ax = plt.subplots(figsize=(2.5, 2.6), layout="constrained")
drawn = plot_tree(
    born_again.decision_tree_,
    feature_names=["l", "w"],
    impurity=False,
    label="none",
    fontsize=6,
    precision=2,
    ax=ax,
)
entitle(ax, "The born-again tree", f"{born_again.n_leaves_} leaves, depth {born_again.depth_}")
tree = born_again.decision_tree_.tree_
boxes = [text for text in drawn if text.get_bbox_patch() is not None]
for node, text in enumerate(boxes):
    inner = tree.children_left[node] >= 0
    rule = text.get_text().split("\n")[0]
    text.set_text(rule.replace(" <= ", "≤") if inner else "   ")
    text.get_bbox_patch().set_facecolor("white" if inner else colors[tree.value[node, 0].argmax()])
