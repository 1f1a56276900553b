"""
A default forest with a fraction of its trees
=============================================

A forest of a hundred trees answers every training row, and every change of one feature of it, as a
fraction of its trees do when they are weighed anew. ``FaithfulPruner`` finds them and proves it.
"""

# %%
# An ordinary forest on the breast cancer data
# --------------------------------------------

import pickle

import matplotlib.pyplot as plt
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
#
# ``max_changes=1`` promises the forest's class at every point that differs from some training row
# in one feature, whatever value that takes.

pruner = FaithfulPruner(FrozenEstimator(forest), max_changes=1, random_state=0)
pruner.fit(X_train, y_train)

print(f"{pruner.n_trees_} of {len(pruner.weights_)} trees, at least {pruner.n_trees_lower_bound_}")
print(f"promised points: {pruner.n_points_:,}, exceptions: {pruner.n_exceptions_}")
print(pruner.verify())

# %%
# The result is an object of scikit-learn, and smaller on disk.

pruned = pruner.pruned_estimator_
print(type(pruned).__name__, type(pruned.estimators_[0]).__name__)
print(f"size: {len(pickle.dumps(pruned)) / len(pickle.dumps(forest)):.0%} of the forest's")

# %%
# What was not promised
# ---------------------
#
# On new rows the two mostly agree. How often is a matter of statistics: the interval holds for
# rows drawn like these.

outcome = agreement(forest, pruner, X_test, random_state=0)
print(f"agreement: {outcome.share:.3f}, between {outcome.interval[0]:.3f} ", end="")
print(f"and {outcome.interval[1]:.3f} with 95 % confidence")
print(f"accuracy: forest {forest.score(X_test, y_test):.3f}, pruned ", end="")
print(f"{pruner.score(X_test, y_test):.3f}")

# %%
# Fewer still
# -----------
#
# Some exceptions, counted, make do with even fewer trees.

FaithfulPathDisplay.from_estimator(pruner, X_test)
plt.show()
