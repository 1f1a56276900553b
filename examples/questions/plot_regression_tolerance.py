"""
One tree that is never more than 20 points off
==============================================

A boosted model predicts how far diabetes has progressed after a year, in points from 25 to 346. You
want to replace it by one table of rules, and an error of up to 20 points would not matter.
:class:`~ensemble_simplify.BornAgainRegressor` finds the smallest tree that is never further off,
for any patient there can be.

It is for small models, such as thirty boosted stumps here: for a hundred deep trees, such a tree
would have millions of leaves.
"""

# %%
# The model
# ---------

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeRegressor

from ensemble_simplify import BornAgainRegressor

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X, X_new, y, y_new = train_test_split(X, y, random_state=0)
model = GradientBoostingRegressor(n_estimators=30, max_depth=1, random_state=0).fit(X, y)
print(f"R2 on new patients: {model.score(X_new, y_new):.2f}")

# %%
# The tree, and the proof
# -----------------------
# "optimal" says that no smaller tree keeps to the tolerance. ``verify`` proves the tolerance again,
# without the search.

tree = BornAgainRegressor(FrozenEstimator(model), atol=20).fit(X, y)
print(f"{tree.n_leaves_} leaves, {tree.status_}")
proof = tree.verify()
print(f"never more than 20 points off: {proof.equal}")
print(f"R2 on new patients: {tree.score(X_new, y_new):.2f}")

# %%
# What a narrower tolerance costs
# -------------------------------
# The number of leaves grows fast. Each of these trees is proven to be the smallest.

tolerances = [30, 20, 15, 10, 5]
trees = [BornAgainRegressor(FrozenEstimator(model), atol=atol).fit(X, y) for atol in tolerances]
for atol, one in zip(tolerances, trees, strict=True):
    print(f"at most {atol:2d} points off: {one.n_leaves_:3d} leaves, {one.status_}")

# %%
# Beside a plain tree
# -------------------
# The usual way is a tree that is fitted on the model's answers. With as many leaves, it is closer
# to the model on average. But for some patients it is further off than was agreed, and nothing says
# how far.

plain = DecisionTreeRegressor(max_leaf_nodes=tree.n_leaves_, random_state=0)
plain.fit(X, model.predict(X))
off = {"born-again tree": tree, "plain tree": plain}
off = {name: one.predict(X_new) - model.predict(X_new) for name, one in off.items()}
for name, points in off.items():
    far = np.abs(points)
    print(f"{name}: off by {far.mean():.0f} on average, {far.max():.0f} at most")

figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
ax.axhspan(-20, 20, color="0.92", label="agreed")
for (name, points), marker in zip(off.items(), "ox", strict=True):
    ax.plot(model.predict(X_new), points, marker, ls="none", ms=5, label=name)
ax.set(xlabel="answer of the model", ylabel="answer of the tree minus that", ylim=(-45, 45))
figure.legend(loc="outside lower center", ncols=3, frameon=False)
plt.show()

# %%
# :ref:`born_again_regressor` has more: tolerances for the patients of the table alone, which any
# model allows, and tolerances for probabilities.
