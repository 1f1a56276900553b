"""Training rows, synthetic rows, and synthetic rows of one small node."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator

from ensemble_simplify import RepresenterTree

X, y = load_breast_cancer(return_X_y=True)
X = X[:, [20, 21]]
forest = RandomForestClassifier(100, min_samples_leaf=3, random_state=0).fit(X, y)
low, high = np.array([14.5, 28.0]), np.array([15.5, 34.0])


def inside(rows):
    return ((rows > low) & (rows <= high)).all(axis=1)


representer = RepresenterTree(FrozenEstimator(forest), max_leaf_nodes=2, random_state=0).fit(X, y)
everywhere = representer.sample(len(X), random_state=0)
pool = representer.sample(400_000, random_state=1)
drawn = pool[inside(pool)][: len(X)]  # by rejection: the law that the tree draws from directly
colors = np.array(["#ee7733", "#4477aa"])
figure, axes = plt.subplots(1, 3, figsize=(9, 3.4), layout="constrained")
for ax, rows, title in (
    (axes[0], X, f"{len(X)} training rows,\n{inside(X).sum()} of them in the node"),
    (axes[1], everywhere, f"{len(X)} synthetic rows,\n{inside(everywhere).sum()} in the node"),
    (axes[2], drawn, f"{len(drawn)} synthetic rows\ninside the node"),
):
    answers = forest.predict(rows)
    for k, name in enumerate(("malignant", "benign")):
        label = name if ax is axes[0] else None
        ax.scatter(*rows[answers == k].T, s=5, c=colors[k], linewidths=0, alpha=0.8, label=label)
    ax.set_title(title)
    ax.set_xlabel("worst radius")
    ax.add_patch(Rectangle(low, *(high - low), fill=False, edgecolor="0.1", linewidth=1))
axes[0].set_ylabel("worst texture")
axes[1].sharex(axes[0])
axes[1].sharey(axes[0])
axes[2].set(xlim=(low[0] - 0.1, high[0] + 0.1), ylim=(low[1] - 0.6, high[1] + 0.6))
figure.legend(title="the forest's answer", loc="outside lower center", ncols=2, markerscale=3)
