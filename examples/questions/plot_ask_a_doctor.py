"""
When to ask a doctor
====================

A classifier that can say "I do not know" leaves the doubtful cases to someone who can look again.
A cultivated forest measures doubt in two ways: the *margin*, how far the most probable class is
ahead, and the *spread*, how much the leaves that a row ends in disagree. This page lets rows go
by either, on recordings of voices of people with and without Parkinson's disease.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

from ensemble_simplify import AbstentionDisplay, CultivatedForestClassifier

here = Path(globals().get("__file__", "gallery")).resolve().parent
table = pd.read_csv(here.parent / "data" / "parkinsons.csv")
X = table.drop(columns="target")
y = np.where(table["target"] == 1, "Parkinson", "healthy")

# %%
# Predictions for each recording by a tree that has not seen it. (The set has about six recordings
# of each person, and folds do not keep them together, so all accuracies here are higher than
# they would be for a new person. The comparison is between ways to abstain.)

spread = np.empty(len(X))
proba = np.empty((len(X), 2))
prediction = np.empty(len(X), dtype=object)
for train, test in StratifiedKFold(10, shuffle=True, random_state=0).split(X, y):
    clf = CultivatedForestClassifier().fit(X.iloc[train], y[train])
    proba[test] = clf.predict_proba(X.iloc[test])
    spread[test] = clf.predict_spread(X.iloc[test])
    prediction[test] = clf.predict(X.iloc[test])

AbstentionDisplay.from_predictions(y, prediction, spread, proba, name="Parkinson's disease")
plt.show()

# %%
# Letting go the two fifths with the largest spread makes the rest clearly more accurate. Letting
# go those with the smallest margin does at least as well here, and on most other data: spread
# and margin go together, and the margin also counts doubt about the outcome that the leaves
# agree on. So to reject as many errors as possible, rank by margin.

right = prediction == y
margin = np.abs(proba[:, 0] - proba[:, 1])
keep = round(0.6 * len(X))
print(f"all rows                   accuracy {right.mean():.3f}")
print(f"60 % with smallest spread  accuracy {right[np.argsort(spread)[:keep]].mean():.3f}")
print(f"60 % with largest margin   accuracy {right[np.argsort(-margin)[:keep]].mean():.3f}")
together = pd.Series(spread).corr(pd.Series(margin), "spearman")
print(f"rank correlation of spread and margin {together:.2f}")

# %%
# What the spread adds is the kind of doubt. The variance of the outcome splits into two parts,
# ``p (1 - p) = (chance that the leaves agree on) + spread ** 2``. Where the second part is large,
# slightly different trees would answer differently, and measuring again can help; where it is
# small, the measures do not decide the matter.

variance = proba[:, 0] * proba[:, 1]
fig, ax = plt.subplots(figsize=(5.5, 3.8), layout="constrained")
for correct, marker, label in ((True, "o", "right"), (False, "x", "wrong")):
    rows = right == correct
    ax.scatter(variance[rows] - spread[rows] ** 2, spread[rows] ** 2, marker=marker, label=label)
ax.set(xlabel="chance within the leaves", ylabel="disagreement of the leaves (spread²)")
ax.legend(title="prediction", loc="upper left")
plt.show()

# %%
# In use: a label for the doubtful rows, and for a doctor the leaves between which the row hangs.

new = np.arange(len(X)) % 10 == 0
clf = CultivatedForestClassifier(max_options=3, max_depth=4).fit(X[~new], y[~new])
print(clf.predict_with_abstention(X[new], min_margin=0.5, abstain_label="ask a doctor"))

doubtful = X[new].iloc[[clf.predict_spread(X[new]).argmax()]]
for share in clf.explain(doubtful, n_leaves=3, max_options=2)[0]:
    likely = f"{share.proba[0]:.2f} {clf.classes_[0]}, {share.proba[1]:.2f} {clf.classes_[1]}"
    print(f"\n{share.fraction:.2f} of the recording in a leaf with {likely}:")
    print(share.rule.replace(" and [", "\nand ["))
