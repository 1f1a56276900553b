"""
One tree from three models
==========================

Three hospitals have measured the same two things. They may not share their rows, only their models.
Each fits a tree on its own rows. :func:`~ensemble_simplify.merge_trees` turns the three trees into
one tree, which gives exactly the mean of their class probabilities for every input without missing
values.
"""

# %%
# Three sites, three trees
# ------------------------
# The rows are made up: two measurements, and a grade "low", "medium" or "high". The second site has
# never seen the grade "high". Each site counts as much as it has rows (``weights``).

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier

from ensemble_simplify import GenesimClassifier, merge_trees

rng = np.random.default_rng(7)


def measure(n, without=()):
    """Rows with two measurements and a grade."""
    X = rng.uniform(0, 10, size=(n, 2))
    risk = X[:, 0] + 0.12 * X[:, 1] ** 2 + rng.normal(0, 1.2, n)
    y = np.array(["low", "medium", "high"])[np.digitize(risk, [6, 14])]
    kept = ~np.isin(y, without)
    return X[kept], y[kept]


sites = [measure(300), measure(200, without=("high",)), measure(120)]
trees = [
    DecisionTreeClassifier(max_leaf_nodes=7, min_samples_leaf=5, random_state=0).fit(X, y)
    for X, y in sites
]
merged = merge_trees(trees, weights=[len(X) for X, _ in sites])
print("leaves:", [int(tree.get_n_leaves()) for tree in trees], "->", int(merged.get_n_leaves()))

# %%
# Is the merged tree really the mean?
# -----------------------------------
# Compare both on 100,000 random points. They differ by rounding errors alone. A class that a site
# does not know has probability zero there.

points = rng.uniform(-5, 15, size=(100_000, 2))
mean = np.zeros((len(points), 3))
for tree, (X, _) in zip(trees, sites, strict=True):
    columns = np.searchsorted(merged.classes_, tree.classes_)
    mean[:, columns] += len(X) * tree.predict_proba(points)
mean /= sum(len(X) for X, _ in sites)
print("largest difference:", abs(merged.predict_proba(points) - mean).max())

# %%
# Each leaf of the merged tree is the intersection of one leaf of each of the three trees. In the
# figure, colours are the predicted grades, and black lines are the borders of leaves.

colors = ListedColormap(["#d95f02", "#1b9e77", "#e6ab02"])


def draw(ax, tree, title):
    side = np.linspace(0, 10, 400)
    flat = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    label = np.searchsorted(merged.classes_, tree.predict(flat)).reshape(400, 400)
    _, leaf = np.unique(tree.apply(flat), return_inverse=True)
    leaf = leaf.reshape(400, 400)
    ax.imshow(
        label,
        origin="lower",
        extent=(0, 10, 0, 10),
        cmap=colors,
        vmin=0,
        vmax=2,
        alpha=0.55,
        interpolation="nearest",
        aspect="auto",
    )
    for k in range(leaf.max() + 1):
        ax.contour(leaf == k, levels=[0.5], colors="k", linewidths=0.7, extent=(0, 10, 0, 10))
    ax.set_title(title)


fig, axes = plt.subplots(2, 2, figsize=(6.4, 6.6), layout="constrained", sharex=True, sharey=True)
for i, (ax, tree) in enumerate(zip(axes.flat, trees, strict=False)):
    draw(ax, tree, f"site {i + 1}: {tree.get_n_leaves()} leaves")
draw(axes[1, 1], merged, f"merged: {merged.get_n_leaves()} leaves")
for ax in axes[1]:
    ax.set_xlabel("first measurement")
for ax in axes[:, 0]:
    ax.set_ylabel("second measurement")
for i in (1, 2, 0):
    axes[0, 0].plot([], [], "s", ms=10, color=colors(i), alpha=0.55, label=merged.classes_[i])
fig.legend(loc="outside lower center", ncols=3, frameon=False)
plt.show()

# %%
# A smaller tree, if you have some rows
# -------------------------------------
# The exact mean of many trees is large. If you have some rows that no site used for its tree,
# :class:`~ensemble_simplify.GenesimClassifier` breeds a small tree from the three.

X_test, y_test = measure(5000)
X, y = measure(300)
bred = GenesimClassifier([FrozenEstimator(tree) for tree in trees], random_state=0).fit(X, y)
for i, tree in enumerate(trees):
    print(f"site {i + 1}   {tree.score(X_test, y_test):.3f}   {tree.get_n_leaves():3d} leaves")
print(f"merged   {merged.score(X_test, y_test):.3f}   {merged.get_n_leaves():3d} leaves")
print(f"bred     {bred.score(X_test, y_test):.3f}   {bred.n_leaves_:3d} leaves")
