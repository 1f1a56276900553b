"""
What changed between two models?
================================

Every quarter, a bank fits its model for loans again. Before the new model takes over, somebody
should look at what it will decide otherwise, and for whom. The functions on this page tell it in
the columns of the table, for the applicants who come and for all who could.
"""

# %%
# Two quarters
# ------------
# The loans are made up. Between the two quarters, two things have changed. Young customers of the
# online branch hardly ever pay back, because of a wave of fraud. And high incomes have become
# doubtful, because applicants overstate them.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

from ensemble_simplify import Domain, agreement, differences


def quarter(seed, has_changed=False, n=4000):
    """Loans of a quarter, and whether they were repaid."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 71, n),
            "income": np.clip(np.round(30 * np.exp(rng.normal(0, 0.45, n))), 10, 120),
            "debt": np.clip(np.round(rng.gamma(1.5, 8, n)), 0, 80),
            "branch": pd.Categorical(rng.choice(["center", "harbour", "online"], n)),
            "late payments": np.minimum(rng.poisson(0.7, n), 6),
        }
    )
    log_odds = 6 + 0.12 * (X["income"] - 30) - 0.18 * X["debt"] - 1.8 * X["late payments"]
    if has_changed:
        log_odds[(X["branch"] == "online") & (X["age"] < 30)] = -6
        log_odds[X["income"] > 60] = -2
    repaid = rng.random(n) < 1 / (1 + np.exp(-log_odds))
    return X, np.where(repaid, "repaid", "default")


old = HistGradientBoostingClassifier(max_leaf_nodes=8, max_iter=60).fit(*quarter(0))
new = HistGradientBoostingClassifier(max_leaf_nodes=8, max_iter=60).fit(*quarter(1, True))

# %%
# For how many applicants does it matter?
# ---------------------------------------
# :func:`~ensemble_simplify.agreement` asks both models about the applicants of the next quarter,
# whom neither has seen.

applicants, _ = quarter(2)
print(agreement(old, new, applicants, random_state=0))

# %%
# For whom?
# ---------
# :func:`~ensemble_simplify.differences` looks for a few short rules that hold most of the rows on
# which the two differ.

found = differences(old, new, applicants, max_boxes=2, random_state=0)
print(found)

# %%
# Both changes are found, and nobody had to tell what to look for. The first rule holds 6 % of the
# applicants, but 54 % of the volume: if incomes were spread evenly over their range, the new model
# would refuse half of all. The second rule holds nearly as many applicants, on a 300th of the
# volume. A rule of many rows matters to today's applicants. A rule of much volume matters where
# the model may meet others than today, or where somebody chooses what to enter.
#
# The rows of a rule are at hand, for instance to be shown to those who know the customers.

changed = applicants.iloc[found[0].rows]
print(changed.describe().loc[["count", "min", "mean", "max"]].round(1).to_string())

# %%
# In a picture
# ------------
# Rows that are told by a rule are in colour. In gray are those on which the models agree, in black
# the others on which they differ.

figure, (points, bars) = plt.subplots(
    1, 2, figsize=(8, 4), width_ratios=(3, 2), layout="constrained"
)
apart = old.predict(applicants) != new.predict(applicants)
income, age = applicants["income"], applicants["age"]
points.scatter(income[~apart], age[~apart], s=4, color="0.8", label="the same answer")
told = np.zeros(len(applicants), dtype=bool)
for i, rule in enumerate(found):
    told[rule.rows] = True
    rows = rule.rows[apart[rule.rows]]
    points.scatter(income.iloc[rows], age.iloc[rows], s=8, color=f"C{i}", label=f"rule {i + 1}")
points.scatter(income[apart & ~told], age[apart & ~told], s=8, color="black", label="no rule")
points.set(xlabel="income", ylabel="age")
figure.legend(fontsize="small", loc="outside lower center", ncols=4, frameon=False, markerscale=2)
kinds = {
    "share": "of all\nrows",
    "volume": "of the\nvolume",
    "share_of_differences": "of all\ndifferences",
}
for i, rule in enumerate(found):
    heights = [100 * getattr(rule, kind) for kind in kinds]
    places = np.arange(len(kinds)) + 0.4 * i - 0.2
    drawn = bars.bar(places, heights, width=0.38, color=f"C{i}")
    bars.bar_label(drawn, fmt="%.2g")
bars.set_xticks(range(len(kinds)), list(kinds.values()))
bars.set(ylabel="share in per cent", ylim=(0, 62))
plt.show()

# %%
# What the volume is a share of
# -----------------------------
# By default, it is a share of the box that the given rows span: numbers are spread evenly between
# the smallest and the largest, and all levels count alike. ``domain`` names another box, for
# instance of what the form accepts.

form = Domain(bounds={"age": (18, 99), "income": (0, 500), "debt": (0, 500)})
for rule in differences(old, new, applicants, max_boxes=2, domain=form, random_state=0):
    print(f"{rule.volume:.3%} of the form: {rule.rule}")

# %%
# Rules are found and counted on the same rows. On other rows, a rule can hold a smaller share of
# differences, as :ref:`differences` tells. :func:`~ensemble_simplify.verify` proves that two models
# agree, everywhere or near rows, where they do.
