"""
What may I promise about this forest?
=====================================

A small tree that "approximates" a forest is easy to get; what it is worth in an argument depends on
what can be said of it without "approximately". For a default forest of a hundred full trees there
are three promises: the same answer for the cases in the data, for every single-feature "what if"
about them, and for every input. This page asks for all three.
"""

# %%
# A default forest
# ----------------
# Breast cancer: 569 tumours, 30 measurements, ``RandomForestClassifier()`` as it comes. A third of
# the tumours is kept aside; neither the forest nor the trees see them.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier, plot_tree

from ensemble_simplify import BornAgainClassifier, ExceptionPathDisplay, verify

data = load_breast_cancer(as_frame=True)
y = data.target_names[data.target]
X, X_new, y, y_new = train_test_split(data.data, y, train_size=2 / 3, random_state=3, stratify=y)
forest = RandomForestClassifier(random_state=0).fit(X, y)
leaves = sum(tree.get_n_leaves() for tree in forest.estimators_)
print(f"100 trees with {leaves:,} leaves, accuracy {forest.score(X_new, y_new):.3f}")
frozen = FrozenEstimator(forest)

# %%
# Every input: refused
# --------------------
# The smallest tree with the same answer for *every* input would have more leaves than there are
# grains of sand. ``fit`` says so at once, and says what can be had instead.

try:
    BornAgainClassifier(frozen, random_state=0).fit(X, y)
except ValueError as error:
    print(error)

# %%
# The cases in the data
# ---------------------
# ``max_changes=0``: the same answer for all 379 tumours that the forest was trained on.

rows = BornAgainClassifier(frozen, max_changes=0, random_state=0).fit(X, y)
print(f"{rows.n_leaves_} leaves, {rows.status_}; at least {rows.n_leaves_lower_bound_} are needed")
print(rows.verify())

# %%
# Such a promise is thin. Change one measurement of a tumour, and the two may part: ``verify``
# finds such a change.

outcome = verify(forest, rows, X=X, max_changes=1)
before, after = X.iloc[outcome.row].to_numpy(np.float32), outcome.counterexample
(j,) = np.flatnonzero(before != after)
print(
    f"Tumour {outcome.row} with {X.columns[j]} = {after[j]:.4g} instead of {before[j]:.4g}:\n"
    f"the forest says {outcome.predictions[0]}, the tree says {outcome.predictions[1]}."
)

# %%
# Every single "what if"
# ----------------------
# ``max_changes=1``: the same answer also wherever one measurement of a tumour takes any other
# value. That is more than half a million points; each is looked at.

what_if = BornAgainClassifier(frozen, max_changes=1, random_state=0).fit(X, y)
print(f"{what_if.n_leaves_} leaves for {what_if.n_points_:,} points")
print(what_if.verify())

# %%
# Whoever can live with counted exceptions gets by with a tenth of the leaves. The path from one
# leaf to the faithful tree comes with the fit.

ExceptionPathDisplay.from_estimator(what_if)

# %%
# Where the training rows are all right, the tree can be read: every tumour of the data gets the
# forest's answer, and so do nearly all of their single changes.

place = int(np.flatnonzero(what_if.path_.n_row_exceptions == 0)[0])
small = what_if.at(n_leaves=int(what_if.path_.n_leaves[place]))
share = small.n_exceptions_ / small.n_points_
print(
    f"{small.n_leaves_} leaves: {small.n_row_exceptions_} of {small.n_rows_} tumours, "
    f"{small.n_exceptions_:,} what-ifs ({share:.2%}) answered otherwise"
)
_, ax = plt.subplots(figsize=(11, 6), layout="constrained")
plot_tree(
    small.decision_tree_, feature_names=list(X.columns), class_names=list(small.classes_),
    impurity=False, filled=True, fontsize=5, ax=ax,
)  # fmt: skip

# %%
# Beside the usual surrogate
# --------------------------
# The usual way is to fit a tree on the forest's answers. Of the same size, it answers more of the
# what-ifs otherwise, and nobody counts them. On tumours that neither has seen, the two agree
# with the forest about as often: a promise near the training rows is no promise about new ones,
# and ``covers`` says so.

surrogate = DecisionTreeClassifier(max_leaf_nodes=small.n_leaves_, random_state=0)
surrogate.fit(X, forest.predict(X))
print(f"{'':>26}  new rows agree  new rows correct")
for name, tree in [
    ("surrogate", surrogate),
    ("max_changes=0", rows),
    (f"max_changes=1, {small.n_leaves_} leaves", small),
    (f"max_changes=1, {what_if.n_leaves_} leaves", what_if),
]:
    agree = np.mean(tree.predict(X_new) == forest.predict(X_new))
    print(f"{name:>26}  {agree:14.3f}  {tree.score(X_new, y_new):16.3f}")
print(f"new rows within the promise: {what_if.covers(X_new).mean():.0%}")
