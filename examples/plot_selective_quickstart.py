"""
A tree that answers where it may
================================

A small tree answers the rows of leaves that are certified; a forest answers the others.
"""

# %%
# The forest learns from half of the rows. The other rows, which it has not seen, calibrate.
import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator

from ensemble_simplify import SelectiveTreeClassifier

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
y = y.map({0: "malignant", 1: "benign"})
forest = RandomForestClassifier(random_state=0).fit(X[:280], y[:280])
tree = SelectiveTreeClassifier(
    FrozenEstimator(forest), max_disagreement=0.035, max_leaf_nodes=6, random_state=0
)
tree = tree.fit(X[280:], X_more=X[:280])
print(tree)

# %%
# Leaves that ask the forest are grey.
fig, ax = plt.subplots(figsize=(11, 5.5))
_ = tree.plot(ax=ax, fontsize=8)

# %%
# The limit is yours to choose, before you look at what it gives. See :ref:`selective`.
for limit in (0.02, 0.05, 0.1):
    print(f"at most {limit:.0%}: the tree answers {tree.at(max_disagreement=limit).coverage_:.0%}")
