"""Where each promise reaches, for a forest on two features, and where its tree differs."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator

from ensemble_simplify import BornAgainClassifier

X, y = load_iris(return_X_y=True)
X, y = X[50:, 2:], y[50:] == 2
forest = FrozenEstimator(RandomForestClassifier(20, max_depth=4, random_state=0).fit(X, y))
rows = np.unique(X[::6], axis=0)
answers = forest.predict(rows)
sides = [np.linspace(X[:, j].min() - 0.2, X[:, j].max() + 0.2, 400) for j in (0, 1)]
flat = np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2)
truth = forest.predict(flat)

plt.rcParams["savefig.bbox"] = "standard"
for name, max_changes in (("The rows", 0), ("One change of a row", 1), ("Every input", None)):
    tree = BornAgainClassifier(forest, max_changes=max_changes, random_state=0)
    tree.fit(rows, answers)
    shade = tree.predict(flat)
    _, ax = plt.subplots(figsize=(2.5, 2.6), layout="constrained")
    colors = ListedColormap(["#a9c3dc", "#f8cba3"])
    ax.pcolormesh(*sides, shade.reshape(400, 400), cmap=colors, rasterized=True)
    differs = (shade != truth).reshape(400, 400)
    ax.contourf(*sides, differs, levels=[0.5, 1.5], colors=["#b40426"], alpha=0.75)
    if max_changes == 1:
        for row in rows:
            ax.axhline(row[1], color="0.2", lw=0.7)
            ax.axvline(row[0], color="0.2", lw=0.7)
    ax.plot(*rows.T, "o", ms=4, color="0.05")
    ax.set_title(name, fontweight="bold", fontsize=11, pad=20)
    fact = f"{tree.n_leaves_} leaves; differs on {100 * differs.mean():.1f} %"
    ax.text(0.5, 1.04, fact, transform=ax.transAxes, ha="center", fontsize=9.5)
    ax.locator_params(nbins=5)
    ax.set_xlabel("petal length (cm)")
    ax.set_ylabel("petal width (cm)")
    ax.set_xlim(sides[0][[0, -1]])
    ax.set_ylim(sides[1][[0, -1]])
