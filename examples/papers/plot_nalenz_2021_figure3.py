"""
Nalenz and Augustin (2021), Figure 3: smooth decisions
======================================================

Two classes, each normal in two dimensions, 300 rows. The paper shows how the probability of a class
changes over the plane for the first split of a cultivated forest, a cultivated forest, a random
forest, and an ordinary tree of depth 2. One module of a
:class:`~ensemble_simplify.CultivatedForestClassifier` is already smooth. It uses both features,
since both split about equally well.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from ensemble_simplify import CultivatedForestClassifier


def simulate(n, seed):
    """The data of the paper's supplement B."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    return rng.normal(np.where(y == 1, -1, 1)[:, None], 0.75, size=(n, 2)), y


X, y = simulate(300, 0)
X_new, y_new = simulate(100_000, 1)
models = {
    "first split": CultivatedForestClassifier.preset("full", max_depth=1),
    "cultivated forest": CultivatedForestClassifier.preset("full"),
    "random forest": RandomForestClassifier(500, random_state=0),
    "tree of depth 2": DecisionTreeClassifier(max_depth=2),
}
side = np.linspace(-3.5, 3.5, 151)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)

fig, axes = plt.subplots(2, 2, figsize=(7.5, 7), sharex=True, sharey=True, layout="constrained")
for ax, (name, model) in zip(axes.flat, models.items(), strict=True):
    model.fit(X, y)
    surface = model.predict_proba(grid)[:, 1].reshape(len(side), -1)
    image = ax.pcolormesh(side, side, surface, cmap="RdBu_r", vmin=0, vmax=1, rasterized=True)
    ax.scatter(*X[y == 1].T, s=6, c="black", marker="o", linewidths=0)
    ax.scatter(*X[y == 0].T, s=8, c="black", marker="x", linewidths=0.6)
    auc = roc_auc_score(y_new, model.predict_proba(X_new)[:, 1])
    ax.set(title=f"{name}, AUC {auc:.3f}", aspect="equal")
    ax.set(xlim=side[[0, -1]], ylim=side[[0, -1]])
for bottom, left in zip(axes[1], axes[:, 0], strict=True):
    bottom.set_xlabel("$x_1$")
    left.set_ylabel("$x_2$")
fig.colorbar(image, ax=axes, label="P(y = 1)", shrink=0.6)
plt.show()

# %%
# The best possible AUC is that of the score :math:`x_1 + x_2`:

print(f"{norm.cdf(2 * 2**0.5 / (0.75 * 2**0.5)):.4f}")
