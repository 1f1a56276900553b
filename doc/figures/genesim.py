"""Two parents, the intersections of their regions, and the tree bred from them."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from sklearn.datasets import load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier

from ensemble_simplify import GenesimClassifier, merge_trees

X, y = load_iris(return_X_y=True)
X, y = X[50:, 2:], y[50:] - 1
rng = np.random.default_rng(3)
parents = []
for seed in range(2):
    rows = rng.integers(0, len(X), len(X))
    parents.append(
        DecisionTreeClassifier(max_leaf_nodes=4, max_features=1, random_state=seed + 1).fit(
            X[rows], y[rows]
        )
    )
merged = merge_trees(parents)
bred = GenesimClassifier(
    [FrozenEstimator(parent) for parent in parents], n_iter=1, random_state=0
).fit(X, y)

sides = [np.linspace(2.8, 7.1, 400), np.linspace(0.9, 2.6, 400)]
flat = np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2)
leaf_of_row = merged.apply(X)
leaf = merged.apply(flat)
counts = {k: np.bincount(y[leaf_of_row == k], minlength=2) for k in np.unique(leaf)}
by_rows = np.array([2 if counts[k].sum() < 3 else counts[k].argmax() for k in leaf])
colors = ListedColormap(["#88bbdd", "#ee9988", "#e8e8e8"])
figure, axes = plt.subplots(1, 4, figsize=(9.4, 2.9), sharey=True, layout="constrained")
for ax, tree, label, title in (
    (axes[0], parents[0], parents[0].predict(flat), f"parent, {parents[0].get_n_leaves()} leaves"),
    (axes[1], parents[1], parents[1].predict(flat), f"parent, {parents[1].get_n_leaves()} leaves"),
    (axes[2], merged, by_rows, f"{merged.get_n_leaves()} intersections"),
    (axes[3], bred.decision_tree_, bred.predict(flat), f"bred, {bred.n_leaves_} leaves"),
):
    ax.pcolormesh(
        *sides, label.reshape(400, 400), cmap=colors, vmin=0, vmax=2, alpha=0.7, rasterized=True
    )
    region = np.unique(tree.apply(flat), return_inverse=True)[1].reshape(400, 400)
    for k in range(region.max() + 1):
        ax.contour(*sides, region == k, levels=[0.5], colors="0.2", linewidths=0.8)
    for k, marker in enumerate("o^"):
        ax.scatter(*X[y == k].T, s=6, c="0.15", marker=marker, linewidths=0)
    ax.set(title=title, xlabel="petal length (cm)")
    ax.set(xlim=sides[0][[0, -1]], ylim=sides[1][[0, -1]])
axes[0].set_ylabel("petal width (cm)")
