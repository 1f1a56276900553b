"""One forest on two measurements of iris flowers, and what each method makes of it."""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator

from ensemble_simplify import (
    BornAgainClassifier,
    CultivatedForestClassifier,
    FeatureBudgetPruner,
    GenesimClassifier,
    RepresenterTree,
)

X, y = load_iris(return_X_y=True)
X, y = X[50:, 2:], y[50:] == 2
forest = RandomForestClassifier(20, max_depth=4, random_state=0).fit(X, y)
frozen = FrozenEstimator(forest)
n_leaves = sum(tree.get_n_leaves() for tree in forest.estimators_)

born_again = BornAgainClassifier(frozen).fit(X, y)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the budget falls into a step of the path
    pruner = FeatureBudgetPruner(frozen, budget="50%").fit(X, y)
representer = RepresenterTree(frozen, max_leaf_nodes=4, random_state=0).fit(X, y)
genesim = GenesimClassifier([frozen], random_state=0).fit(X, y)
cultivated = CultivatedForestClassifier(max_depth=3).fit(X, y)

sides = [np.linspace(X[:, j].min() - 0.2, X[:, j].max() + 0.2, 300) for j in (0, 1)]
flat = np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2)
same = np.mean(representer.predict(X) == forest.predict(X))
colors = LinearSegmentedColormap.from_list("", ["#4477aa", "#ffffff", "#ee7733"])
panels = [
    ("A random forest", f"{len(forest.estimators_)} trees, {n_leaves} leaves", forest, False),
    (
        "Born again",
        f"1 tree, {born_again.n_leaves_} leaves, same answers",
        born_again,
        True,
    ),
    (
        "Feature budget",
        f"{pruner.cost_:.1f} measurements a flower, not {pruner.unpruned_cost_:.1f}",
        pruner,
        False,
    ),
    (
        "Representer",
        f"{representer.n_leaves_} leaves, same for {same:.0%} of rows",
        representer,
        True,
    ),
    ("GENESIM", f"{genesim.n_leaves_} leaves, bred for accuracy", genesim, True),
    ("Cultivated", "one tree that shows its doubt", cultivated, False),
]
figure, axes = plt.subplots(
    2, 3, figsize=(8.2, 5.2), sharex=True, sharey=True, layout="constrained"
)
for ax, (name, fact, model, sharp) in zip(axes.flat, panels, strict=True):
    if sharp:
        shade = model.predict(flat).astype(float)
        leaf = np.unique(model.decision_tree_.apply(flat), return_inverse=True)[1]
        for k in range(leaf.max() + 1):
            inside = (leaf == k).reshape(300, 300)
            if not inside.all():
                ax.contour(*sides, inside, levels=[0.5], colors="0.25", linewidths=0.6)
    else:
        shade = model.predict_proba(flat)[:, 1]
    ax.pcolormesh(
        *sides, shade.reshape(300, 300), cmap=colors, vmin=0, vmax=1, alpha=0.6, rasterized=True
    )
    for label, marker in ((False, "o"), (True, "^")):
        ax.scatter(*X[y == label].T, s=7, c="0.15", marker=marker, linewidths=0)
    ax.set_title(f"{name}\n", fontweight="bold", pad=2)
    ax.text(0.5, 1.03, fact, transform=ax.transAxes, ha="center", fontsize=8.5)
    ax.set_xlim(sides[0][[0, -1]])
    ax.set_ylim(sides[1][[0, -1]])
for ax in axes[1]:
    ax.set_xlabel("petal length (cm)")
for ax in axes[:, 0]:
    ax.set_ylabel("petal width (cm)")
