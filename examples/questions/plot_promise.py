"""
What may I promise about this forest?
=====================================

It is easy to get a small tree that approximates a forest. What can you say about it without the
word "approximately"? For a default forest of a hundred full trees there are three promises: the
same answer for the cases in the data, for every single-feature change of them, and for every
input. This page asks for all three.
"""

# %%
# A default forest
# ----------------
# Breast cancer: 569 tumours, 30 measurements, ``RandomForestClassifier()`` as it comes. The forest
# and the trees see 200 of the tumours; the others are new to them.

import textwrap

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier, plot_tree

from ensemble_simplify import BornAgainClassifier, ExceptionPathDisplay, verify

data = load_breast_cancer(as_frame=True)
y = data.target_names[data.target]
X, X_new, y, y_new = train_test_split(data.data, y, train_size=200, random_state=3, stratify=y)
forest = RandomForestClassifier(random_state=0).fit(X, y)
leaves = sum(tree.get_n_leaves() for tree in forest.estimators_)
print(f"100 trees with {leaves:,} leaves, accuracy {forest.score(X_new, y_new):.3f}")
frozen = FrozenEstimator(forest)

# %%
# Every input: refused
# --------------------
# The smallest tree with the same answer for *every* input is far too large to be written out.
# ``fit`` says so within seconds, with what you can have instead.

try:
    BornAgainClassifier(frozen, random_state=0).fit(X, y)
except ValueError as error:
    print(textwrap.fill(str(error), 90))

# %%
# The cases in the data
# ---------------------
# ``max_changes=0``: the same answer for all 200 tumours that the forest was trained on.

rows = BornAgainClassifier(frozen, max_changes=0, random_state=0).fit(X, y)
print(f"{rows.n_leaves_} leaves, {rows.status_}; at least {rows.n_leaves_lower_bound_} are needed")
print(rows.verify())

# %%
# This promise is weak. Change one measurement of a tumour, and the tree and the forest may
# disagree. ``verify`` finds such a change.

outcome = verify(forest, rows, X=X, max_changes=1)
before, after = X.iloc[outcome.row].to_numpy(np.float32), outcome.counterexample
(j,) = np.flatnonzero(before != after)
print(
    f"Tumour {outcome.row} with {X.columns[j]} = {after[j]:.4g} instead of {before[j]:.4g}:\n"
    f"the forest says {outcome.predictions[0]}, the tree says {outcome.predictions[1]}."
)

# %%
# Every single change
# -------------------
# ``max_changes=1``: the same answer also wherever one measurement of a tumour takes any other
# value. These are several hundred thousand points, and all of them are checked.

what_if = BornAgainClassifier(frozen, max_changes=1, random_state=0).fit(X, y)
print(f"{what_if.n_leaves_} leaves for {what_if.n_points_:,} points")
print(what_if.verify())

# %%
# If you accept counted exceptions, about a tenth of the leaves is enough. One fit gives the whole
# path of trees, from a single leaf to the tree without exceptions.

display = ExceptionPathDisplay.from_estimator(what_if)

# %%
# The smallest tree that is right on all training rows can be read. Every tumour of the data gets
# the forest's answer, and so do nearly all of their single changes.

place = int(np.flatnonzero(what_if.path_.n_row_exceptions == 0)[0])
small = what_if.at(n_leaves=int(what_if.path_.n_leaves[place]))
share = small.n_exceptions_ / small.n_points_
print(
    f"{small.n_leaves_} leaves: {small.n_row_exceptions_} of {small.n_rows_} tumours and "
    f"{small.n_exceptions_:,} single changes ({share:.2%}) get another answer"
)
_, ax = plt.subplots(figsize=(12, 8), layout="constrained")
_ = plot_tree(
    small.decision_tree_,
    feature_names=list(X.columns),
    class_names=list(small.classes_),
    impurity=False,
    label="root",
    filled=True,
    precision=3,
    fontsize=8,
    ax=ax,
)

# %%
# Beside a plain tree
# -------------------
# The usual way is to fit a plain tree on the forest's answers. Nobody counts the changes to which
# such a tree gives another answer. Here they are counted, for a plain tree of the same size: a
# change is drawn at random, a hundred for each tumour.

plain = DecisionTreeClassifier(max_leaf_nodes=small.n_leaves_, random_state=0)
plain.fit(X, forest.predict(X))
rng = np.random.default_rng(0)
changed = X.loc[X.index.repeat(100)].to_numpy(copy=True)
some = np.arange(len(changed)), rng.integers(X.shape[1], size=len(changed))
changed[some] = X.to_numpy()[rng.integers(len(X), size=len(changed)), some[1]]
changed = pd.DataFrame(changed, columns=X.columns)
answers = forest.predict(changed)
print(f"{'':>26}  changes differ  new rows agree  new rows correct")
for name, tree in [
    ("plain tree", plain),
    ("max_changes=0", rows),
    (f"max_changes=1, {small.n_leaves_} leaves", small),
    (f"max_changes=1, {what_if.n_leaves_} leaves", what_if),
]:
    differ = np.mean(tree.predict(changed) != answers)
    agree = np.mean(tree.predict(X_new) == forest.predict(X_new))
    print(f"{name:>26}  {differ:14.2%}  {agree:14.3f}  {tree.score(X_new, y_new):16.3f}")
print(f"new rows within the promise: {what_if.covers(X_new).mean():.0%}")

# %%
# On these new tumours, the tree that is right for all single changes agrees with the forest most
# often, and the one of nine leaves less often than the plain tree. That is a measurement. No new
# tumour is within the promise, as ``covers`` says, and on other data the plain tree can be ahead
# (:ref:`choosing_a_promise` shows such a case).
