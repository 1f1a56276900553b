"""
What does a blood test buy?
===========================

Thirteen findings tell whether a patient has heart disease. Asking for the age costs a dollar, a
thallium scan a hundred, and tests of one blood sample share the price of drawing it. Which tests
are worth their price, and for whom?
"""

import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from ensemble_simplify import BudgetForestClassifier, FeatureBudgetPruner

# The 270 patients of UCI's Statlog (Heart) data.
here = Path(globals().get("__file__", "gallery")).resolve().parent
data = pd.read_csv(here.parent / "data" / "heart_statlog.csv")
X, y = data.drop(columns="target"), data["target"]
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=2, stratify=y)

# %%
# Prices in dollars, after Turney's study of cost-sensitive diagnosis (1995). What several tests
# share, drawing blood or putting the patient on a treadmill, is the price of a *group*: it is
# paid with the first of its tests, and the others cost only their own part.
prices = {
    "age": 1.0,
    "sex": 1.0,
    "cp": 1.0,
    "trestbps": 1.0,
    "chol": 5.17,
    "fbs": 3.10,
    "restecg": 15.50,
    "thalach": 1.0,
    "exang": 1.0,
    "oldpeak": 1.0,
    "slope": 1.0,
    "ca": 100.90,
    "thal": 1.0,
}
groups = {
    "blood sample": ["chol", "fbs"],
    "treadmill": ["exang", "oldpeak", "slope"],
    "thallium scan": ["thalach", "thal"],
}
group_prices = {"blood sample": 2.10, "treadmill": 86.30, "thallium scan": 101.90}

pruner = FeatureBudgetPruner(
    RandomForestClassifier(200, max_features=None, min_samples_leaf=5, random_state=0),
    feature_costs=prices,
    groups=groups,
    group_costs=group_prices,
).fit(X_train, y_train)
print(f"The forest as it is: ${pruner.unpruned_cost_:.0f} a patient.")

# %%
# Pruning can only leave out what the trees have. A forest that was grown with the prices in mind
# asks cheap questions first; it is pruned in the same way.
full_prices = {
    test: price + sum(group_prices[g] for g, members in groups.items() if test in members)
    for test, price in prices.items()
}
thrifty = FeatureBudgetPruner(
    BudgetForestClassifier(
        n_estimators=200, feature_costs=full_prices, min_samples_leaf=5, random_state=0
    ),
    feature_costs=prices,
    groups=groups,
    group_costs=group_prices,
).fit(X_train, y_train)

# %%
# The best pruning for each budget, and its error on new patients. The objective is the mean error
# of the trees; the error of the forest follows it, but need not fall steadily.
budgets = np.arange(0, 341, 20)
with warnings.catch_warnings():
    # Some budgets fall into a step of the path; the best pruning found is fine here.
    warnings.simplefilter("ignore", UserWarning)
    cases = [pruner.at(budget=float(budget)) for budget in budgets]
    thrifty_cases = [thrifty.at(budget=float(budget)) for budget in budgets]

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for fitted, found, name in (
    (pruner, cases, "random forest"),
    (thrifty, thrifty_cases, "grown with prices in mind"),
):
    costs = [case.feature_cost(X_test).mean() for case in found]
    errors = [100 * np.mean(case.predict(X_test) != y_test) for case in found]
    (line,) = ax.plot(costs, errors, ".-", label=name)
    whole = fitted.path_scores(X_test, y_test)
    ax.plot(whole.unpruned_cost, 100 * whole.unpruned_error, "s", color=line.get_color())
ax.plot([], [], "ks", label="not pruned")
ax.set_xlabel("Dollars a patient")
ax.set_ylabel("Error on new patients (%)")
ax.set_xlim(left=0)
ax.set_ylim(0, 50)
ax.legend()
plt.show()

# %%
# Which tests each budget buys from the random forest. A cell is the share of patients who get the
# test: a forest within a budget sends some patients to the scan and spares the others.
shown = cases[1::2]
usage = np.array([case.acquired_features(X_test).mean(axis=0) for case in shown])
order = np.argsort(-usage.sum(axis=0), kind="stable")
fig, ax = plt.subplots(figsize=(7, 4.4), layout="constrained")
image = ax.imshow(100 * usage[:, order].T, cmap="Blues", aspect="auto", vmin=0, vmax=100)
ax.set_yticks(range(len(order)), X.columns[order])
ax.set_xticks(range(len(shown)), [f"${case.budget:.0f}" for case in shown])
ax.set_xlabel("Budget a patient")
fig.colorbar(image, ax=ax, label="Patients who get the test (%)")
plt.show()

# %%
# What the blood sample buys: the best pruning for 110 dollars, with blood tests at their price,
# for free, and out of reach.
for name, factor in (("at its price", 1.0), ("for free", 0.0), ("at a hundred times", 100.0)):
    costs = {k: v * (factor if k in groups["blood sample"] else 1) for k, v in prices.items()}
    shared = {k: v * (factor if k == "blood sample" else 1) for k, v in group_prices.items()}
    case = FeatureBudgetPruner(
        pruner.estimator, feature_costs=costs, groups=groups, group_costs=shared, budget=110.0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        case.fit(X_train, y_train)
    used = case.acquired_features(X_test)
    tested = used[:, X.columns.isin(groups["blood sample"])].any(axis=1).mean()
    error = np.mean(case.predict(X_test) != y_test)
    print(f"blood {name:18s}: {100 * tested:3.0f} % tested, ${case.cost_:6.2f}, error {error:.3f}")
