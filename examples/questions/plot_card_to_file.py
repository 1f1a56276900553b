"""
A credit card that can be filed
===============================

A lender files a scorecard with what supports it: points on the bank's scale, bins that an analyst
has agreed to, counts and weights of evidence, a check that later applicants are still like earlier
ones, and reasons for each refusal. This page makes all of it for 1,000 loans, and prints the card
on one page.
"""

# %%
# The loans
# ---------
# 1,000 loans of a German bank from 1973 to 1975 ("South German Credit" of the UCI Machine Learning
# Repository, CC BY 4.0), half of them to learn from. In some files, applicants who did not tell
# their age have -999 in its place: here, a tenth of them.

# sphinx_gallery_thumbnail_number = 1
import sqlite3

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from ensemble_simplify import ScorecardClassifier, export_model
from ensemble_simplify.datasets import load_credit

X, y = load_credit(return_X_y=True)
X.loc[X.sample(frac=0.1, random_state=0).index, "age"] = -999
X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)

# %%
# The card
# --------
# Totals are on the bank's scale: 600 points mean odds of 30 good loans to a bad one, and 20 more
# points double them. Points may not rise with the length of the loan. -999 has a bin of its own.

forest = RandomForestClassifier(min_samples_leaf=15, random_state=0)
card = ScorecardClassifier(
    forest,
    max_bins=14,
    max_features=5,
    min_samples_bin=25,
    positive="good",
    monotone={"months": "falling"},
    special_codes={"age": -999},
    pdo=20,
    base_points=600,
    base_odds=30,
    random_state=0,
).fit(X, y)

# %%
# An analyst wants rounder bins. Cuts and groups are given, checked, and all points fitted anew.

card = card.with_bins({"months": [12, 24, 36], "age": [25, 35, 50]})
card

# %%
# ``card.to_html("card.html")`` writes the page to print. The same as a picture:

card.plot()
plt.show()

# %%
# What supports it
# ----------------
# Counts, rates of good loans, weights of evidence and information values, on loans that neither the
# forest nor the card has seen.

table = card.binning_table(X_new, y_new)
print(table.bins.query("feature == 'age'").round(3).to_string(index=False))
print(f"KS {table.ks:.2f}, Gini index {table.gini:.2f}")

# %%
# The chance that the card states, against the share of good loans, in five bands of the total.

total = card.total_points(X_new)
stated = card.predict_proba(X_new)[:, list(card.classes_).index("good")]
band = pd.qcut(total, 5, labels=False, duplicates="drop")
good = (y_new == "good").to_numpy()
lines = pd.DataFrame({"total": total, "stated": stated, "observed": good}).groupby(band).mean()
print(lines.round(2).to_string(index=False))

# %%
# Are later applicants like earlier ones? The index of population stability compares shares of bins.
# Below 0.1, nobody looks closer; here, one half of the later ones is young.

later = X_new.copy()
later.loc[later.index[::2], "age"] = np.random.default_rng(0).integers(19, 26, len(later[::2]))
for name, rows in (("the other half", X_new), ("younger applicants", later)):
    moved = card.psi(X, rows)
    worst = moved.features.sort_values("psi").iloc[-1]
    print(f"{name}: totals {moved.total:.2f}, most by {worst['feature']} ({worst['psi']:.2f})")

# %%
# Reasons, where the decision is made
# -----------------------------------
# The database answers with the first four reasons: the bins that speak most for the answer.

query = export_model(card, "sql", table="loans", keys=["number"], output="reasons")
with sqlite3.connect(":memory:") as database:
    X_new.to_sql("loans", database, index_label="number")
    reasons = pd.read_sql(query, database).set_index("number")
refused = X_new.index[card.predict(X_new) == "bad"][:3]
print(reasons.loc[refused, ["reason_1", "reason_2"]].to_string())
