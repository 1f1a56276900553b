"""
HistGradientBoosting: how much of it fits into a small tree?
============================================================

A ``HistGradientBoostingClassifier`` decides on loans from a table with text columns. How often
would a tree of 4, 8, 16 or 32 leaves decide alike, and what does it cost in accuracy?
:func:`~ensemble_simplify.simplify` compares them on loans that neither the model nor the trees have
seen.
"""

# %%
# The model
# ---------
# 1,000 loans of a German bank ("South German Credit" of the UCI Machine Learning Repository, CC BY
# 4.0). Histogram gradient boosting takes text as categories, without an encoder.

import matplotlib.pyplot as plt
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from ensemble_simplify import simplify
from ensemble_simplify.datasets import load_credit

X, y = load_credit(return_X_y=True)
X = X.astype({name: "category" for name in X.select_dtypes(exclude="number")})
X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)

model = HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=8, random_state=0).fit(X, y)
print(f"right on {model.score(X_new, y_new):.1%} of the new loans")

# %%
# Trees of several sizes
# ----------------------

outcome = simplify(model, X_new, y_new, X_more=X, random_state=0)
print(outcome.verdict.text)

# %%
# A tree to read
# --------------
# The recommended tree is too large for a slide. ``at`` takes a smaller one, without a new search.
# Two loans of three have a friendly account, and are hardly ever refused; the others depend on
# their length and on what the client has saved.

small = outcome.at(n_leaves=4)
print(small.export_text(decimals=0))
_, ax = plt.subplots(figsize=(6.8, 5.6), layout="constrained")
small.plot(ax=ax, fontsize=9)
plt.show()

# %%
# What does it cost?
# ------------------
# Left: how often trees of each size give the model's answer, with intervals of 95 %. Right: how
# often they are right, beside the model. Each loan was judged by trees that had not seen it.

outcome.plot()
plt.show()
