"""
A small tree bred from many
===========================

:class:`~ensemble_simplify.GenesimClassifier` starts from an ensemble of trees and breeds one
small tree. Here it learns which tumours are malignant, and is drawn beside a pruned CART tree and
a random forest.
"""

# %%
# Fit
# ---
# Half of the training rows are held out inside ``fit``: they, and in part the other half, decide
# which trees survive. The votes of a forest help to choose among the fittest tree of every size.

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.tree import DecisionTreeClassifier, export_text, plot_tree

from ensemble_simplify import GenesimClassifier, ParetoFrontDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
y = y.map({0: "malignant", 1: "benign"})
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)

model = GenesimClassifier(random_state=0).fit(X_train, y_train)
print(f"accuracy on the test rows: {model.score(X_test, y_test):.3f}, {model.n_leaves_} leaves")

# %%
# The result is a scikit-learn tree
# ---------------------------------

print(export_text(model.decision_tree_, feature_names=list(X.columns), show_weights=True))

# %%

fig, ax = plt.subplots(figsize=(9, 6), layout="constrained")
plot_tree(
    model.decision_tree_,
    feature_names=list(X.columns),
    class_names=model.classes_,
    impurity=False,
    proportion=True,
    filled=True,
    fontsize=8,
    precision=2,
    ax=ax,
)
plt.show()

# %%
# Accuracy against size
# ---------------------
# The fittest tree of every size met on the way is kept in ``pareto_front_``. On rows that took no
# part in choosing, the curve need not rise everywhere, and with 228 of them one percentage point
# is two rows: the user guide has means over many splits.

forest = RandomForestClassifier(300, random_state=0).fit(X_train, y_train)
cart = GridSearchCV(
    DecisionTreeClassifier(random_state=0), {"ccp_alpha": [0.0, 0.002, 0.005, 0.01, 0.02]}
)
cart = cart.fit(X_train, y_train).best_estimator_

others = {"CART": cart, "random forest": forest}
ParetoFrontDisplay.from_estimator(model, X_test, y_test, others=others)
plt.show()

# %%
# A smaller tree, without fitting again
# -------------------------------------

small = model.at(n_leaves=2)
print(export_text(small.decision_tree_, feature_names=list(X.columns)))
print(f"accuracy on the test rows: {small.score(X_test, y_test):.3f}")

# %%
# How the search went
# -------------------
# The fitness of a tree is its accuracy on the rows held out, plus 0.3 times that on the others.

iterations = range(model.n_iter_ + 1)
fig, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
ax.plot(iterations, model.history_.best_score, "C0o-", ms=4, label="fittest tree")
ax.plot(iterations, model.history_.mean_score, "C1--", label="mean of the population")
ax.set(xlabel="iteration", ylabel="fitness")
ax.grid(alpha=0.3)
ax.legend(loc="lower right")
plt.show()
