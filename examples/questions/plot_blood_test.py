"""
What does a blood test buy?
===========================

Thirteen findings tell whether a patient has heart disease. Asking for the age costs a dollar, a
thallium scan a hundred, and tests of one blood sample share the price of drawing it. What should be
measured, what does it cost, and what is lost by it?
"""

import warnings
from importlib.util import find_spec
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from ensemble_simplify import BudgetPathDisplay, FeatureBudgetPruner

# The 270 patients of UCI's Statlog (Heart) data.
here = Path(globals().get("__file__", "gallery")).resolve().parent
data = pd.read_csv(here.parent / "data" / "heart_statlog.csv")
X, y = data.drop(columns="target"), data["target"]

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
options = {"feature_costs": prices, "groups": groups, "group_costs": group_prices}
everything = sum(prices.values()) + sum(group_prices.values())
print(f"All tests of a patient: ${everything:.2f}")

# %%
# With a ``budget`` and an ensemble that may be fitted, the pruner fits forests on smaller and
# smaller sets of tests, prunes all of them, and takes what does best, within the budget, on
# patients that a tree has not seen. One fit answers for every budget.
forest = RandomForestClassifier(50, min_samples_leaf=3, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=2, stratify=y)
with warnings.catch_warnings():
    # Some budgets lie in a wide step of a path; the best pruning found is fine here.
    warnings.simplefilter("ignore", UserWarning)
    pruner = FeatureBudgetPruner(forest, budget=110.0, **options).fit(X_train, y_train)
    budgets = [5.0, 15.0, 30.0, 110.0, 215.0, 320.0]
    cases = [pruner.at(budget=budget) for budget in budgets]
for case in cases:
    usage = pd.Series(case.acquired_features(X_test).mean(axis=0), X.columns)
    bought = [f"{name} {100 * share:.0f} %" for name, share in usage[usage > 0].items()]
    error = np.mean(case.predict(X_test) != y_test)
    print(f"${case.budget:.0f}: pays ${case.feature_cost(X_test).mean():.2f}, error {error:.3f}")
    print(f"      {', '.join(bought)}")

# %%
# Where the money goes. On the left every candidate on patients that it has not seen, and the
# chosen ensemble with all its prunings on the test patients; on the right what they spend.
fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
display = BudgetPathDisplay.from_estimator(cases[4], X_test, y_test, individual=False, ax=left)
display.plot_costs(ax=right)
left.set_title("Error")
right.set_title("Where the money goes")
plt.show()

# %%
# One split of 270 patients says little. Five splits, beside what else one could do: a forest on
# the cheapest tests that the budget allows, the given forest pruned without fitting anything else
# (``refit=False``), and LightGBM with a penalty for each new feature of a row (CEGB, if it is
# installed), the penalty tuned on a quarter of the training patients.
alone = np.array(
    [prices[t] + sum(group_prices[g] for g, tests in groups.items() if t in tests) for t in X]
)


def price_of(tests):
    """Dollars for a set of tests, groups once."""
    shared = [group_prices[g] for g, members in groups.items() if set(members) & set(tests)]
    return sum(prices[t] for t in tests) + sum(shared)


def cheapest_tests(budget):
    """As many tests as the budget allows, the cheapest first."""
    chosen = []
    for k in np.argsort(alone, kind="stable"):
        if price_of([*chosen, X.columns[k]]) <= budget:
            chosen.append(X.columns[k])
    return chosen


def penalised(X, y, penalty):
    """LightGBM that pays for each feature that a row has not paid for yet."""
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(
        n_estimators=100,
        num_leaves=7,
        verbosity=-1,
        random_state=0,
        cegb_tradeoff=penalty,
        cegb_penalty_feature_lazy=(alone / alone.mean()).tolist(),
    )
    return model.fit(X, y)


def cost_of_boosted(model, X):
    """Mean dollars of the rows: each feature on a row's paths once."""
    used = np.zeros(X.shape, dtype=bool)
    leaves = model.booster_.predict(X, pred_leaf=True)
    for t, tree in enumerate(model.booster_.dump_model()["tree_info"]):
        stack = [(tree["tree_structure"], ())]
        while stack:
            node, above = stack.pop()
            if "split_feature" in node:
                above = (*above, node["split_feature"])
                stack += [(node["left_child"], above), (node["right_child"], above)]
            elif above:
                used[np.ix_(leaves[:, t] == node["leaf_index"], sorted(set(above)))] = True
    return np.mean([price_of(X.columns[row]) for row in used])


names = ["fitted for the budget", "given forest, pruned", "forest on the cheapest tests"]
if find_spec("lightgbm"):
    names.append("LightGBM with penalties (CEGB)")
errors = {name: [] for name in names}
for seed in range(5):
    A, B, a, b = train_test_split(X, y, test_size=0.4, random_state=seed, stratify=y)
    found = {name: [] for name in names}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        ours = FeatureBudgetPruner(forest, budget=110.0, **options).fit(A, a)
        pruned = FeatureBudgetPruner(forest, refit=False, **options).fit(A, a)
        for budget in budgets:
            for name, one in zip(names[:2], (ours, pruned), strict=True):
                found[name].append(np.mean(one.at(budget=budget).predict(B) != b))
            tests = cheapest_tests(budget)
            found[names[2]].append(np.mean(forest.fit(A[tests], a).predict(B[tests]) != b))
    if len(names) == 4:
        C, V, c, v = train_test_split(A, a, test_size=0.25, random_state=seed, stratify=a)
        models = [penalised(C, c, penalty) for penalty in np.geomspace(1e-4, 1, 9)]
        tried = [(cost_of_boosted(m, V), np.mean(m.predict(V) != v), m) for m in models]
        for budget in budgets:
            fits = [(error, k) for k, (cost, error, _) in enumerate(tried) if cost <= budget]
            answer = tried[min(fits)[1]][2].predict(B) if fits else a.mode()[0]
            found[names[3]].append(np.mean(answer != b))
    for name in names:
        errors[name].append(found[name])

table = pd.DataFrame(
    {name: np.mean(runs, axis=0) for name, runs in errors.items()},
    index=[f"${budget:.0f}" for budget in budgets],
)
print(table.round(3).to_string())

# %%
# The bars are one standard error of the five splits.
fig, ax = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
for k, (name, runs) in enumerate(errors.items()):
    spread = np.std(runs, axis=0, ddof=1) / np.sqrt(len(runs))
    place = np.arange(len(budgets)) + 0.12 * (k - (len(errors) - 1) / 2)
    ax.errorbar(place, 100 * np.mean(runs, axis=0), 100 * spread, fmt="o", capsize=3, label=name)
ax.set_xticks(range(len(budgets)), [f"${budget:.0f}" for budget in budgets])
ax.set_xlabel("Budget a patient")
ax.set_ylabel("Error on new patients (%)")
ax.set_ylim(bottom=0)
ax.legend()
plt.show()

# %%
# What the blood sample buys: the best choice for 110 dollars, with blood tests at their price,
# for free, and out of reach.
for name, factor in (("at its price", 1.0), ("for free", 0.0), ("at a hundred times", 100.0)):
    costs = {k: v * (factor if k in groups["blood sample"] else 1) for k, v in prices.items()}
    shared = {k: v * (factor if k == "blood sample" else 1) for k, v in group_prices.items()}
    case = FeatureBudgetPruner(
        forest, feature_costs=costs, groups=groups, group_costs=shared, budget=110.0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        case.fit(X_train, y_train)
    used = case.acquired_features(X_test)
    tested = used[:, X.columns.isin(groups["blood sample"])].any(axis=1).mean()
    error = np.mean(case.predict(X_test) != y_test)
    print(f"blood {name:18s}: {100 * tested:3.0f} % tested, ${case.cost_:6.2f}, error {error:.3f}")
