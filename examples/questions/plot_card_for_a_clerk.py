"""
A card for the clerk
====================

A bank's model decides on loans. At the counter, somebody must be able to work out the decision with
a pencil, and to say why. :class:`~ensemble_simplify.ScorecardClassifier` turns the model into a
card: points for each answer of a client, which are added up. This page makes the card, uses it for
one client, and runs it as SQL in a database.
"""

# %%
# The model
# ---------
# 1,000 loans of a German bank from 1973 to 1975 ("South German Credit" of the UCI Machine Learning
# Repository, CC BY 4.0). The model is fitted on half of them.

# sphinx_gallery_thumbnail_number = 2
import sqlite3

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split

from ensemble_simplify import ScorecardClassifier, export_model
from ensemble_simplify.datasets import load_credit

X, y = load_credit(return_X_y=True)
X = X.astype({name: "category" for name in X.select_dtypes(exclude="number")})
X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
model = HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=8, random_state=0).fit(X, y)
print(f"accuracy of the model on new loans: {model.score(X_new, y_new):.3f}")

# %%
# The card
# --------
# At most 20 bins in all, with at least 25 past loans in each. The model is asked, not fitted again.

card = ScorecardClassifier(
    FrozenEstimator(model), max_bins=20, min_samples_bin=25, random_state=0
).fit(X, y)
print(f"accuracy of the card on new loans: {card.score(X_new, y_new):.3f}")
print(f"same answer as the model on new loans: {card.fidelity(X_new):.3f}")

# %%
# A notebook shows the card like this; ``card.to_html("card.html")`` writes a page to print, with a
# column for the clerk's pencil.

card

# %%
# Points over each column: bars to the right speak for a good loan.

card.plot()
plt.show()

# %%
# Good loans have more points than bad ones, on new loans, too. The card says "good" from 0 points
# on.

points = card.total_points(X_new)
bins = np.arange(points.min() - 0.5, points.max() + 1)
figure, ax = plt.subplots(figsize=(5.4, 3.6), layout="constrained")
for label, color in (("good", "#1b9e77"), ("bad", "#d95f02")):
    ax.hist(points[y_new == label], bins, density=True, alpha=0.6, color=color, label=label)
ax.axvline(-0.5, color="0.3", ls="--")
ax.set(xlabel="points", ylabel="share of the new loans")
ax.legend()
plt.show()

# %%
# One client
# ----------
# The clerk adds up the points of one line of each block.

client = X_new[card.predict(X_new) == "bad"].head(1)
print(client.T.to_string(header=False))

# %%

total, chance = card.total_points(client)[0], card.predict_proba(client)[0, 1]
print(f"{total:.0f} points: {card.predict(client)[0]}, chance of 'good' {chance:.0%}")

# %%
# Why? ``reasons`` compares the client's bins with those that would be best for the other answer, as
# lenders must state when they refuse.

for reason in card.reasons(client)[0]:
    print("-", reason)

# %%
# What whole points cost
# ----------------------
# The points of the best card are real numbers. They were rounded such that few decisions change.

rounded = card.rounded_
print(f"past loans whose decision changes: {rounded.n_changed} of {len(X)}")
print(f"the chance of no client changes by more than {rounded.probability_change:.2f}")

# %%
# The card in the database
# ------------------------
# ``export_model`` writes the card as SQL. It gives the card's own answer to every loan, also where
# a value is missing.

query = export_model(card, "sql", table="loans", name="decision", keys=["number"])
print(query[:700], "...")

# %%

database = sqlite3.connect(":memory:")
text = {name: object for name in X.select_dtypes("category")}
X_new.astype(text).to_sql("loans", database, index_label="number")
answers = pd.read_sql(query, database).set_index("number")["decision"]
same = answers.loc[X_new.index] == card.predict(X_new)
print(f"the database answers as the card on {same.sum()} of {len(same)} new loans")
