"""
A card for the clerk
====================

A bank's model decides on loans. At the counter, somebody must be able to work out the decision with
a pencil, and to say why. :class:`~ensemble_simplify.ScorecardClassifier` turns the model into a
card: points for each answer of an applicant, which are added up. This page makes the card as it
would be printed, uses it for one applicant, and runs it as SQL in a database.
"""

# %%
# The model
# ---------
# The 4,000 past loans are made up. Some applicants did not tell how long they have had their job.

import sqlite3

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split

from ensemble_simplify import ScorecardClassifier, export_model

rng = np.random.default_rng(0)
n = 4000
X = pd.DataFrame(
    {
        "age": rng.integers(19, 75, n),
        "account": rng.choice(["none", "overdrawn", "below 200", "200 or more"], n),
        "purpose": rng.choice(["car", "furniture", "studies", "repairs", "business", "holiday"], n),
        "amount": np.round(1000 * np.exp(rng.normal(0.9, 0.7, n)), -2),
        "months": rng.choice([6, 12, 18, 24, 36, 48], n),
        "years in job": np.round(rng.exponential(5, n)),
        "other loans": rng.poisson(0.6, n),
    }
)
log_odds = (
    -0.6
    + X["account"].map({"none": 0.2, "overdrawn": 1.3, "below 200": 0.4, "200 or more": -0.9})
    + X["purpose"].map({"business": 0.8, "studies": 0.5, "holiday": 0.6, "car": -0.4}).fillna(0)
    + 0.03 * (X["months"] - 18)
    + 0.25 * np.log(X["amount"] / 2500)
    - 0.12 * np.minimum(X["years in job"], 8)
    - 0.9 * (X["age"] > 30)
    + 0.5 * X["other loans"]
)
y = np.where(rng.random(n) < 1 / (1 + np.exp(-log_odds)), "default", "repaid")
y = pd.Series(y, dtype=object)
X.loc[rng.random(n) < 0.1, "years in job"] = np.nan
X = X.astype({"account": "category", "purpose": "category"})

X, X_new, y, y_new = train_test_split(X, y, test_size=0.25, random_state=0)
model = HistGradientBoostingClassifier(random_state=0).fit(X, y)
print(f"accuracy of the model on new loans: {model.score(X_new, y_new):.3f}")

# %%
# The card
# --------
# At most 20 bins in all; at least 50 past loans in each. The model is asked, not fitted again.

card = ScorecardClassifier(
    FrozenEstimator(model), max_bins=20, min_samples_bin=50, random_state=0
).fit(X, y)
print(f"accuracy of the card on new loans: {card.score(X_new, y_new):.3f}")
print(f"agreement of card and model on new loans: {card.fidelity(X_new):.3f}")

# %%
# The card for the screen; ``card.to_html("card.html")`` writes a page to print, with a column for
# the clerk's pencil.

card

# %%
# Points over each feature as a picture: bars to the right speak for repayment.

card.plot()
plt.show()

# %%
# One applicant
# -------------
# The clerk adds up the points of one line of each block.

applicant = X_new.iloc[[3]]
applicant.T

# %%

total = card.total_points(applicant)[0]
chance = card.predict_proba(applicant)[0, 1]
print(f"{total:.0f} points: {card.predict(applicant)[0]}, chance of 'repaid' {chance:.0%}")

# %%
# Why? ``reasons`` compares the applicant's bins with those that would be best for the other answer,
# as lenders must state when they refuse.

for reason in card.reasons(applicant)[0]:
    print("-", reason)

# %%
# What the whole points cost
# --------------------------
# The points of the best card are real numbers; these were made whole ones, as small as few changed
# decisions allow.

rounded = card.rounded_
print(f"past loans whose decision that changes: {rounded.n_changed} of {len(X)}")
print(f"the chance of no applicant changes by more than {rounded.probability_change:.2f}")

# %%
# The card in the database
# ------------------------
# ``export_model`` writes the card as SQL. It gives the card's own answer to every loan, also where
# an answer is missing.

query = export_model(card, "sql", table="loans", name="decision", keys=["number"])
print(query[:1500])

# %%

database = sqlite3.connect(":memory:")
loans = X_new.astype({"account": object, "purpose": object}).reset_index(names="number")
loans.to_sql("loans", database, index=False)
answers = pd.read_sql(query, database).set_index("number")["decision"]
same = answers.loc[X_new.index] == card.predict(X_new)
print(f"the database answers as the card on {same.sum()} of {len(same)} new loans")
