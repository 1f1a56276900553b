"""How a module decides: one feature, two features, and an ordinary tree beside."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from ensemble_simplify import CultivatedForestClassifier

X, y = load_iris(return_X_y=True)
X, y = X[50:, 2:], y[50:] == 2
length = np.linspace(2.8, 7.1, 600)[:, None]
robust = CultivatedForestClassifier(max_depth=1).fit(X[:, :1], y)
stump = DecisionTreeClassifier(max_depth=1).fit(X[:, :1], y)
module = CultivatedForestClassifier(max_depth=1).fit(X, y)
plain = DecisionTreeClassifier(max_depth=1).fit(X, y)


def rescaled(proba):
    """Share of the row on the right: 0 where all is left, 1 where all is right."""
    return (proba - proba.min()) / (proba.max() - proba.min())


figure, axes = plt.subplots(1, 3, figsize=(9, 2.9), layout="constrained")
for one, name, style, height in (
    (robust, "module", {"color": "#4477aa"}, 0.55),
    (stump, "ordinary node", {"color": "0.4", "ls": "--"}, 0.4),
):
    axes[0].plot(length, rescaled(one.predict_proba(length)[:, 1]), **style)
    axes[0].text(5.1, height, name, color=style["color"])
axes[0].set(xlabel="petal length (cm)", ylabel="fraction that goes right")
axes[0].set_title("robust split: a soft threshold")
sides = [np.linspace(2.8, 7.1, 300), np.linspace(0.9, 2.6, 300)]
flat = np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2)
for ax, model, title in (
    (axes[1], plain, "ordinary node: one feature"),
    (axes[2], module, "module: both features vote"),
):
    share = rescaled(model.predict_proba(flat)[:, 1]).reshape(300, 300)
    image = ax.pcolormesh(
        *sides, share, cmap="RdYlBu_r", vmin=0, vmax=1, rasterized=True, alpha=0.8
    )
    for label, marker in ((False, "o"), (True, "^")):
        ax.scatter(*X[y == label].T, s=6, c="0.15", marker=marker, linewidths=0)
    ax.set(title=title, xlabel="petal length (cm)", ylabel="petal width (cm)")
figure.colorbar(image, ax=axes[2], label="fraction that goes right")
