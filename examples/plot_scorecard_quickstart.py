"""
Any model as a scorecard
========================

You have a fitted model, and readers who want to work out its answer by hand.
:class:`~ensemble_simplify.ScorecardClassifier` makes a card of it: a few bins of each feature,
points for each bin, and a sum that decides. On the breast cancer data, a card of 16 bins is about
as accurate as the forest that it was made from.
"""

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split

from ensemble_simplify import RepresenterTree, ScorecardClassifier

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
y = y.map({0: "malignant", 1: "benign"})
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0)
forest = RandomForestClassifier(random_state=0).fit(X_train, y_train)

# %%
# Fit
# ---
# ``FrozenEstimator`` keeps the forest as it is; the card asks it for its answers.

card = ScorecardClassifier(FrozenEstimator(forest), max_bins=16, random_state=0)
card.fit(X_train, y_train)
tree = RepresenterTree(FrozenEstimator(forest), max_leaf_nodes=8, random_state=0)
tree.fit(X_train, y_train)
for name, one in (("card of 16 bins", card), ("tree of 8 leaves", tree)):
    agreement, accuracy = one.fidelity(X_test), one.score(X_test, y_test)
    print(f"{name}: agreement with the forest {agreement:.3f}, accuracy {accuracy:.3f}")
print(f"the forest itself: accuracy {forest.score(X_test, y_test):.3f}")

# %%
# The card
# --------
# Add up the points. A notebook shows the card like this; ``card.to_html("card.html")`` writes a
# page to print, and ``card.export_text()`` is text.

card

# %%
# Points over each feature
# ------------------------
# Features that tell rows apart most come first.

card.plot()
plt.show()

# %%
# Why?
# ----
# For each row, the bins that speak most for its answer, compared with the bins that are best for
# the other one.

for answer, reasons in zip(card.predict(X_test[:2]), card.reasons(X_test[:2], n=2), strict=True):
    print(answer)
    for reason in reasons:
        print("  -", reason)

# %%
# How many bins?
# --------------
# ``at`` gives smaller cards of the same fit.

sizes = [4, 6, 8, 10, 12, 14, 16]
smaller = [card.at(n_bins=n_bins) for n_bins in sizes]
figure, ax = plt.subplots(figsize=(5.2, 3.6), layout="constrained")
ax.plot(sizes, [one.fidelity(X_test) for one in smaller], "o-", label="agreement with the forest")
ax.plot(sizes, [one.score(X_test, y_test) for one in smaller], "s-", label="accuracy")
ax.axhline(forest.score(X_test, y_test), color="0.5", ls="--", label="accuracy of the forest")
ax.set(xlabel="bins of the card", ylabel="share of the test rows")
ax.legend()
plt.show()
