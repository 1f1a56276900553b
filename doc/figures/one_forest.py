"""One forest on two measurements of iris flowers, and what each method makes of it."""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from sklearn.base import clone
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
genesim = GenesimClassifier([clone(forest)], random_state=0).fit(X, y)
cultivated = CultivatedForestClassifier(max_depth=3).fit(X, y)

sides = [np.linspace(X[:, j].min() - 0.2, X[:, j].max() + 0.2, 300) for j in (0, 1)]
flat = np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2)
same = np.mean(representer.predict(X) == forest.predict(X))
colors = LinearSegmentedColormap.from_list("", ["#4477aa", "#ffffff", "#ee7733"])
panels = [
    ("A random forest", f"{len(forest.estimators_)} trees, {n_leaves} leaves", forest, False),
    ("Born-again tree", f"{born_again.n_leaves_} leaves, the same answers", born_again, True),
    (
        "Representer tree",
        f"{representer.n_leaves_} leaves, same on {100 * same:.0f} % of rows",
        representer,
        True,
    ),
    ("GENESIM", f"{genesim.n_leaves_} leaves, bred for accuracy", genesim, True),
    (
        "Feature budget",
        f"{pruner.cost_:.1f} features a row, not {pruner.unpruned_cost_:.1f}",
        pruner,
        False,
    ),
    ("Cultivated forest", "one tree with soft splits", cultivated, False),
]
# Each panel is a drawing of its own: the page puts as many side by side as fit.
plt.rcParams["savefig.bbox"] = "standard"
for name, fact, model, sharp in panels:
    _, ax = plt.subplots(figsize=(2.5, 2.6), layout="constrained")
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
    ax.set_title(name, fontweight="bold", fontsize=11, pad=20)
    ax.text(0.5, 1.04, fact, transform=ax.transAxes, ha="center", fontsize=9.5)
    ax.locator_params(nbins=5)
    ax.set_xlabel("petal length (cm)")
    ax.set_ylabel("petal width (cm)")
    ax.set_xlim(sides[0][[0, -1]])
    ax.set_ylim(sides[1][[0, -1]])
