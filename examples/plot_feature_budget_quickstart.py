"""
Feature budget: the same forest for a fraction of the features
==============================================================

Every measurement has a price: a laboratory test, a sensor, a database query. A random forest
asks for nearly all of them, for every row. :class:`~ensemble_simplify.FeatureBudgetPruner` cuts
its trees back so that a row buys fewer features, and finds the best such pruning exactly.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split

from ensemble_simplify import BudgetPathDisplay, FeatureBudgetPruner

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0)

# %%
# Trees that may choose among all features share many of them; that leaves room to save.
forest = RandomForestClassifier(100, max_features=None, min_samples_leaf=3, random_state=0)
forest.fit(X_train, y_train)

# %%
# The pruner computes all optimal prunings at once, from the one of lowest error to the one that
# buys nothing. ``FrozenEstimator`` says that the forest is fitted already.
pruner = FeatureBudgetPruner(FrozenEstimator(forest)).fit(X_train, y_train)
print(f"{len(pruner.path_.lams)} prunings, from cost {pruner.path_.costs[0]:.1f} to 0")

# %%
# With a budget, it takes the best pruning that stays within it: here 40 % of what the forest pays.
cheap = pruner.at(budget="40%")
print(f"features a patient: {pruner.unpruned_cost_:.1f} -> {cheap.cost_:.1f}")
print(
    f"accuracy:           {forest.score(X_test, y_test):.3f} -> {cheap.score(X_test, y_test):.3f}"
)
print(f"optimal for this budget: {cheap.is_budget_optimal_}")

# %%
# On rows that neither the forest nor the pruner has seen, error against cost. The dashed line
# prunes the same trees one by one, blind to what the others have bought already.
fig, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
display = BudgetPathDisplay.from_estimator(cheap, X_test, y_test, ax=ax)
ax.set_ylim(0, 0.42)
ax.set_title("Breast cancer: 30 measurements at a price of 1 each")
plt.show()

# %%
# How many of the patients need each measurement, before and after. The pruned forest is a native
# ``RandomForestClassifier``.
usage = cheap.feature_usage_
order = usage.argsort()[::-1][:12]
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.barh(X.columns[order][::-1], 100 * usage[order][::-1], color="tab:blue")
ax.set_xlabel("Share of the patients that need it (%)")
ax.set_title(f"{(usage > 0).sum()} of 30 measurements are left, most of them for few")
plt.show()
print(type(cheap.pruned_estimator_).__name__)

# %%
# In use, values are fetched one at a time, when a split asks for them.
patient = X_test.iloc[0]
bought = []


def measure(name, rows):
    """Look the value up, and note that it was bought."""
    bought.append(name)
    return patient[name]


result = cheap.predict_lazy(measure)
print(f"predicted class {result.prediction[0]} after {len(bought)} measurements:")
print(", ".join(bought))

# %%
# That was a forest that must stay as it is. One that may be fitted anew is usually the better buy:
# given a budget and an unfitted ensemble, the pruner also fits ensembles on chosen features, prunes
# them all, and takes the best within the budget by rows that neither trees nor pruning have seen.
fresh = FeatureBudgetPruner(RandomForestClassifier(40, random_state=0), budget=4.0)
fresh.fit(X_train, y_train)
print(f"accuracy for 4 measurements: {fresh.score(X_test, y_test):.3f}")
print(f"of the forest above:         {pruner.at(budget=4.0).score(X_test, y_test):.3f}")
print(", ".join(X.columns[fresh.feature_usage_ > 0]))

# %%
# All candidates, the chosen one with its path on the test patients, and what these spend.
fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
display = BudgetPathDisplay.from_estimator(fresh, X_test, y_test, individual=False, ax=left)
left.set_ylim(0, 0.42)
display.plot_costs(ax=right)
plt.show()
