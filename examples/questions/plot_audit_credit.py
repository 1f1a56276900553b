"""
Audit a credit model
====================

A boosted model decides who gets a loan. An auditor asks: can an applicant's sex change the
decision, and how far can it move the probability? Does the risk always rise and fall with what it
should? And what can a refused applicant do about it, at the same age? The functions on this page
answer for every applicant who can occur, with a proof or with applicants who show the contrary.
"""

# %%
# The model
# ---------
# The 3,000 past loans are made up. In them, women with the same income and debt were somewhat less
# often recorded as having repaid, as can happen where records are unfair.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.colors import ListedColormap
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import cross_val_score

from ensemble_simplify import Domain, is_monotone, is_sensitive, nearest_flip

rng = np.random.default_rng(0)
n = 3000
age = rng.integers(21, 71, n)
X = pd.DataFrame(
    {
        "age": age,
        "woman": rng.integers(0, 2, n),
        "income": np.clip(np.round(30 * np.exp(rng.normal(0, 0.45, n))), 10, 120),
        "debt": np.clip(np.round(rng.gamma(1.5, 8, n)), 0, 80),
        "years in job": np.minimum(np.round(rng.exponential(6, n)), age - 18),
        "late payments": np.minimum(rng.poisson(0.7, n), 6),
    }
)
log_odds = (
    1.0
    + 0.06 * (X["income"] - 30)
    - 0.07 * X["debt"]
    + 0.08 * np.minimum(X["years in job"], 10)
    - 0.9 * X["late payments"]
    - 0.5 * X["woman"]
)
y = np.where(rng.random(n) < 1 / (1 + np.exp(-log_odds)), "repaid", "default")

boosting = HistGradientBoostingClassifier(max_leaf_nodes=4)
print(f"accuracy, cross-validated: {cross_val_score(boosting, X, y, cv=5).mean():.3f}")
boosting = boosting.fit(X, y)

# %%
# ``Domain`` says who can occur. Income and debt are in thousands; all numbers are whole.

domain = Domain(
    bounds={
        "age": (18, 90),
        "woman": (0, 1),
        "income": (0, 200),
        "debt": (0, 100),
        "years in job": (0, 50),
        "late payments": (0, 12),
    },
    integers=list(X),
)

# %%
# Can sex change the decision?
# ----------------------------
# :func:`~ensemble_simplify.is_sensitive` looks for two applicants who differ in these features
# alone and get another class; with ``gap``, two whose probabilities differ by more than that.


def told(outcome):
    """An answer in a word."""
    return {True: "yes", False: "no, proven", None: "undecided"}[outcome.sensitive]


decision = is_sensitive(boosting, ["woman"], domain=domain)
print(f"can sex change the decision? {told(decision)}")
for gap in (0.1, 0.15, 0.2):
    moved = is_sensitive(
        boosting, ["woman"], gap=gap, response="probabilities", positive="repaid", domain=domain
    )
    print(f"can it move the probability by more than {gap}? {told(moved)}")
    if moved:
        widest = moved

# %%
# The pair that shows the largest of these gaps. The model itself gave both probabilities:

pair = pd.DataFrame(widest.counterexample, columns=X.columns, index=["one", "the other"])
shown = pair.assign(probability=boosting.predict_proba(pair)[:, 1].round(3))
print(shown.T.to_string())

# %%
# Such a pair can be rare. With ``near``, one of the two must be a past applicant, or differ from
# one in at most ``max_changes`` further features:

near = is_sensitive(
    boosting,
    ["woman"],
    gap=0.1,
    response="probabilities",
    positive="repaid",
    near=X,
    max_changes=0,
    domain=domain,
)
print(f"more than 0.1 for a past applicant? {told(near)}")

# %%
# Does the risk follow the rules?
# -------------------------------
# A higher income and more years in the job should never lower the probability of repayment; more
# debt and more late payments should never raise it. :func:`~ensemble_simplify.is_monotone` asks
# about several features at once, of the class or of the probability.

RULES = {"income": True, "debt": False, "years in job": True, "late payments": False}


def rules_of(model, domain):
    """Ask one model about each rule."""
    for name, increasing in RULES.items():
        outcome = is_monotone(
            model,
            name,
            increasing=increasing,
            response="probabilities",
            positive="repaid",
            domain=domain,
        )
        print(f"{name:14s} {'proven' if outcome else 'refuted'}")


rules_of(boosting, domain)

# %%
# A model for use is fitted without the column for sex, and under these rules. It is nearly
# as accurate.

fair_X = X.drop(columns="woman")
signs = {name: 1 if rising else -1 for name, rising in RULES.items()}
fair = HistGradientBoostingClassifier(max_leaf_nodes=4, monotonic_cst=signs)
print(f"accuracy, cross-validated: {cross_val_score(fair, fair_X, y, cv=5).mean():.3f}")
fair = fair.fit(fair_X, y)
bounds = {name: domain.bounds[name] for name in fair_X}
possible = Domain(bounds=bounds, integers=list(fair_X))
rules_of(fair, possible)

# %%
# What can a refused applicant do?
# --------------------------------
# Nobody can change their age or the late payments of the past. Income and years in the job can only
# rise, debt can only fall. This applicant wants to ask again in three years, so the domain also
# says how far each can get by then. :func:`~ensemble_simplify.nearest_flip` finds the plans with
# the fewest and smallest changes that lead to a probability of at least .6, and proves that none is
# smaller.

rules = {
    "frozen": ["age", "late payments"],
    "direction": {"income": "up", "years in job": "up", "debt": "down"},
    "target": "repaid",
    "min_proba": 0.6,
}
refused = fair_X[fair.predict(fair_X) == "default"]
applicant = refused.iloc[[53]]
print(applicant.to_string(index=False))

within = {"income": (20, 26), "debt": (3, 13), "years in job": (5, 8)}
soon = Domain(bounds={**bounds, **within}, integers=list(fair_X))
flip = nearest_flip(fair, applicant, max_changes=2, n_plans=3, domain=soon, **rules)
for number, plan in enumerate(flip.plans, start=1):
    changes = (f"{name} from {old:g} to {new:g}" for name, (old, new) in plan.changes.items())
    print(f"plan {number}: {', '.join(changes)}")
print("no plan is smaller: proven" if flip.proven else "undecided")

# %%
# On the left, the pair of applicants from above: their incomes vary, and nothing else. On the
# right, income and debt of the refused applicant vary. The frame is what can be reached in three
# years, the arrow is the plan that changes these two.

figure, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.6), layout="constrained")
incomes = np.arange(10, 81)
for who, sex in (("man", 0), ("woman", 1)):
    rows = pd.concat([pair.iloc[[0]]] * len(incomes), ignore_index=True)
    rows = rows.assign(woman=sex, income=incomes)
    left.step(incomes, boosting.predict_proba(rows)[:, 1], where="post", label=who)
left.axhline(0.5, color="0.6", lw=1, ls="--")
left.set(xlabel="income", ylabel="probability of repayment", title="Two who differ in sex alone")
left.legend(frameon=False)

debts = np.arange(0, 31)
grid = pd.concat([applicant] * (len(incomes) * len(debts)), ignore_index=True)
grid["income"], grid["debt"] = np.tile(incomes, len(debts)), np.repeat(debts, len(incomes))
proba = fair.predict_proba(grid)[:, 1].reshape(len(debts), len(incomes))
levels = np.digitize(proba, [0.5, 0.6])
colors = ListedColormap(["#fdae6b", "#deebf7", "#9ecae1"])
right.pcolormesh(incomes, debts, levels, cmap=colors, vmin=0, vmax=2, shading="nearest")
for level, name in enumerate(["below .5", ".5 to .6", "at least .6"]):
    right.plot([], [], "s", ms=9, color=colors(level), label=name)
corner = within["income"][0], within["debt"][0]
size = np.ptp(within["income"]), np.ptp(within["debt"])
right.add_patch(plt.Rectangle(corner, *size, fill=False, lw=1.5))
moves = next(plan.changes for plan in flip.plans if set(plan.changes) == {"income", "debt"})
start, end = zip(moves["income"], moves["debt"], strict=True)
right.plot(*start, "ko")
right.annotate("", end, start, arrowprops={"arrowstyle": "->", "shrinkA": 4, "shrinkB": 0})
right.set(xlabel="income", ylabel="debt", xlim=(10, 50), ylim=(0, 30), title="A refused applicant")
right.legend(loc="upper right", framealpha=0.9)
plt.show()

# %%
# Several applicants are asked about in one call. How many of a hundred could get there by paying
# back debt alone?

first = refused.iloc[:100]
only = {**rules, "features": ["debt"], "frozen": None, "direction": {"debt": "down"}}
outcomes = nearest_flip(fair, first, domain=possible, **only)
never = sum(one.proven and not one for one in outcomes)
print(f"{sum(map(bool, outcomes))} could, {never} could not: proven")

# %%
# The answers are about this model and these inputs, not about the world: a model without the column
# for sex can still follow it through other features that go with it. All functions of this page
# are explained in :ref:`audit`.
