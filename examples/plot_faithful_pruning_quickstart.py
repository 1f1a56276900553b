"""
Faithful pruning: the same answers from a fifth of the trees
============================================================

``FaithfulPruner`` drops trees of a fitted forest and gives new weights to the others. It proves
that the class stays the same on every training row, and wherever one feature of a training row
takes another value. This page does so for a default forest of 100 trees.
"""

# %%
# A default forest on the breast cancer data
# ------------------------------------------
# Breast cancer is a good case: its classes hardly overlap. Most default forests need all or nearly
# all of their trees for this promise; ``n_trees_lower_bound_`` says so within seconds.

import pickle

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split

from ensemble_simplify import FaithfulPathDisplay, FaithfulPruner, agreement

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
forest = RandomForestClassifier(random_state=0).fit(X_train, y_train)

# %%
# Fewer trees, the same answers
# -----------------------------
# ``FrozenEstimator`` says that the forest is already fitted. ``max_changes=1`` chooses the promise:
# the forest's class on all training rows, and at every point that differs from a training row in
# one feature. ``method="heuristic"`` skips the search for a lower bound on the number of trees,
# which takes most of the time.

pruner = FaithfulPruner(
    FrozenEstimator(forest), max_changes=1, method="heuristic", random_state=0
).fit(X_train, y_train)

print(f"{pruner.n_trees_} of {len(forest)} trees")
print(f"{pruner.n_points_:,} promised points, {pruner.n_exceptions_} exceptions")
print(pruner.verify())

# %%
# The result is an ordinary scikit-learn object. It takes less space on disk.

pruned = pruner.pruned_estimator_
print(f"a {type(pruned).__name__} of {type(pruned.estimators_[0]).__name__}s")
print(f"size on disk: {len(pickle.dumps(pruned)) / len(pickle.dumps(forest)):.0%} of the forest's")

# %%
# What a smaller forest does instead
# ----------------------------------
# The plain alternative is a forest of as many trees. Both are compared with the large forest: on
# the training rows, on 100,000 training rows with one feature changed at random, and on new rows.
# The table counts the rows that get another class than from the large forest.

small = RandomForestClassifier(pruner.n_trees_, random_state=0).fit(X_train, y_train)

rng = np.random.default_rng(0)
n = 100_000
what_if = X_train[rng.integers(len(X_train), size=n)]
feature = rng.integers(X.shape[1], size=n)
what_if[np.arange(n), feature] = X_train[rng.integers(len(X_train), size=n), feature]

places = {"training rows": X_train, "one feature changed": what_if, "new rows": X_test}
answers = {place: forest.predict(rows) for place, rows in places.items()}
table = {}
for name, model in (("pruned forest", pruner), ("forest of as many trees", small)):
    different = {
        place: np.sum(model.predict(rows) != answers[place]) for place, rows in places.items()
    }
    table[name] = {**different, "test accuracy": f"{model.score(X_test, y_test):.3f}"}
pd.DataFrame.from_dict(table, orient="index")

# %%
# The small forest is as accurate on new rows. Take it if that is all you need. Take the pruned
# forest if the answers about known cases, and about changes of one of their values, must stay those
# of the forest you have.
#
# What is not promised
# --------------------
# On new rows the two forests agree most of the time. ``agreement`` measures how often, with an
# interval that holds for rows like these.

outcome = agreement(forest, pruner, X_test, random_state=0)
print(f"agreement on new rows: {outcome.share:.3f}")
print(f"95 % interval: {outcome.interval[0]:.3f} to {outcome.interval[1]:.3f}")

# %%
# Even fewer trees
# ----------------
# With still fewer trees there are exceptions, and they are counted. ``pruner.at(n_trees=10)`` takes
# one of these smaller forests without a new search.

FaithfulPathDisplay.from_estimator(pruner, X_test)
plt.show()

# %%
# With the default, ``method="auto"``, the pruner also searches again from other starting points,
# and computes a lower bound on the number of trees. See :ref:`faithful_pruning`.
