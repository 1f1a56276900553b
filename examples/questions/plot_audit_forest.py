"""
Audit a forest
==============

A forest helps to decide who has a heart disease. Before anyone relies on it, you want to know: does
it ever contradict a doctor's knowledge? What decides for this patient? Is a smaller model the same?
Trying out patients finds some faults but proves nothing. The functions on this page answer such
questions for *every* patient who can occur: with a proof, or with a patient who shows the contrary.
"""

# %%
# The forest
# ----------
# The data are "Statlog (Heart)" of the UCI Machine Learning Repository (CC BY 4.0): 270 patients,
# here with nine of the thirteen findings. The forest has 100 trees of depth 3.

import re
import textwrap

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.colors import ListedColormap
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_score
from sklearn.tree import DecisionTreeClassifier

from ensemble_simplify import Domain, agreement, is_monotone, nearest_flip, sufficient_box, verify
from ensemble_simplify.datasets import load_heart_tests

data, ill = load_heart_tests(return_X_y=True)
y = np.where(ill == 1, "disease", "healthy")
names = {
    "age": "age",
    "sex": "male",
    "cp": "chest pain type",
    "thalach": "maximum heart rate",
    "exang": "angina in exercise",
    "oldpeak": "ST depression",
    "slope": "ST slope",
    "ca": "narrowed vessels",
    "thal": "thallium scan",
}
X = data[list(names)].rename(columns=names)

forest = RandomForestClassifier(100, max_depth=3, random_state=0)
print(f"accuracy, cross-validated: {cross_val_score(forest, X, y, cv=5).mean():.3f}")
forest = forest.fit(X, y)

# %%
# Which patients can occur?
# -------------------------
# Nobody has two and a half narrowed vessels. ``Domain`` says which inputs are possible, and every
# answer below is about these.

domain = Domain(
    bounds={
        "age": (18, 110),
        "male": (0, 1),
        "chest pain type": (1, 4),
        "maximum heart rate": (50, 230),
        "angina in exercise": (0, 1),
        "ST depression": (0, 8),
        "ST slope": (1, 3),
        "narrowed vessels": (0, 3),
        "thallium scan": (3, 7),
    },
    integers=[name for name in X if name != "ST depression"],
)

# %%
# Does the forest contradict a doctor?
# ------------------------------------
# A worse finding alone should never turn "disease" into "healthy".
# :func:`~ensemble_simplify.is_monotone` proves it, or finds two patients who differ in this finding
# alone and show the contrary.

WORSE = {
    "age": 1,
    "narrowed vessels": 1,
    "ST depression": 1,
    "angina in exercise": 1,
    "maximum heart rate": -1,
}


def contradictions(model):
    """Ask about each finding; return the outcomes."""
    outcomes = {}
    for name, direction in WORSE.items():
        outcome = outcomes[name] = is_monotone(
            model, name, increasing=direction > 0, positive="disease", domain=domain
        )
        text = "proven"
        if outcome.monotone is False:
            (low, high), labels = outcome.values, " becomes ".join(outcome.predictions)
            text = f"refuted: from {low:.3g} to {high:.3g}, {labels}"
        print(f"{name:20s} {text}")
    return outcomes


outcomes = contradictions(forest)

# %%
# Two of the five rules hold for every patient. The other three are broken. This is the pair of
# patients for age; the forest itself gave both answers:

pair = outcomes["age"].counterexample
pair = pd.DataFrame(pair, columns=X.columns, index=["younger", "older"])
print(pair.round(1).assign(forest=forest.predict(pair)).T.to_string())

# %%
# How can this be repaired?
# -------------------------
# Fit the forest under constraints, with scikit-learn's ``monotonic_cst``. Its signs refer to the
# second class, "healthy". Now all five rules are proven, and the accuracy is the same.

constrained = RandomForestClassifier(
    100, max_depth=3, monotonic_cst=[-WORSE.get(name, 0) for name in X], random_state=0
)
print(f"accuracy, cross-validated: {cross_val_score(constrained, X, y, cv=5).mean():.3f}")
constrained = constrained.fit(X, y)
_ = contradictions(constrained)

# %%
# What decides for this patient?
# ------------------------------
# :func:`~ensemble_simplify.sufficient_box` names the findings that are enough for the answer,
# whatever the others are. :func:`~ensemble_simplify.nearest_flip` finds the smallest change of one
# finding that changes the answer.


def indented(parts):
    """A list in lines of moderate length."""
    space = "    "
    return textwrap.fill(", ".join(parts), 84, initial_indent=space, subsequent_indent=space)


def rounded(text):
    """A condition with numbers of four digits, for reading."""
    return re.sub(r"\d+\.\d+", lambda number: f"{float(number[0]):.4g}", text)


patient = X.iloc[[1]]
print("the patient:")
print(indented(f"{name} {value:g}" for name, value in patient.iloc[0].items()))
box = sufficient_box(constrained, patient, domain=domain)
print(f"{box.label}, whatever the other findings are, if")
print(indented(rounded(side) for side in box.conditions))
print(f"patients of whom this is true: {box.contains(X).sum()} of {len(X)}")
flip = nearest_flip(constrained, patient, domain=domain)
print(f"{flip.predictions[0]} becomes {flip.predictions[1]} with")
changes = flip.changes.items()
print(indented(f"{name} {new:.3g} instead of {old:.3g}" for name, (old, new) in changes))

# %%
# In the figure, two findings of this patient vary, and the others stay as they are. Colours are the
# forest's answers. The frame is the box above: inside, the answer is "healthy" for all patients
# with the same chest pain type, no angina in exercise and no narrowed vessel, whatever their age,
# sex, ST slope and thallium scan are. The colours outside the frame are about this patient only.

rate, depression = "maximum heart rate", "ST depression"
rates, depressions = np.arange(100, 201), np.linspace(0, 5, 201)
grid = pd.concat([patient] * (len(rates) * len(depressions)), ignore_index=True)
grid[rate] = np.tile(rates, len(depressions))
grid[depression] = np.repeat(depressions, len(rates))
sick = (constrained.predict(grid) == "disease").reshape(len(depressions), len(rates))

figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
colors = ListedColormap(["#9ecae1", "#fdae6b"])
ax.pcolormesh(rates, depressions, sick, cmap=colors, vmin=0, vmax=1, shading="nearest")
for value, name in enumerate(["healthy", "disease"]):
    ax.plot([], [], "s", ms=10, color=colors(value), label=name)
shown = X.columns.get_indexer([rate, depression])
corner = np.maximum(box.low[shown], (100, 0))
width, height = np.minimum(box.high[shown], (200, 5)) - corner
ax.add_patch(plt.Rectangle(corner, width, height, fill=False, lw=2.5, label="sufficient box"))
start, end = patient.to_numpy()[0, shown], flip.row[shown]
ax.plot(*start, "ko", label="the patient")
ax.plot(*end, "kX", ms=9, label="nearest flip")
ax.annotate("", end, start, arrowprops={"arrowstyle": "->", "shrinkA": 6, "shrinkB": 6})
ax.set(xlabel=rate, ylabel=depression, xlim=(100, 200), ylim=(0, 5))
figure.legend(loc="outside lower center", ncols=5, frameon=False, columnspacing=1)
plt.show()

# %%
# Is a statement about the forest true?
# -------------------------------------
# "Nobody without narrowed vessels, without angina in exercise and with a normal thallium scan (3)
# is called sick." To check this, compare the forest with a tree that always says "healthy", on
# these patients alone. :func:`~ensemble_simplify.verify` proves that they agree, or names a
# patient.

healthy = DecisionTreeClassifier(max_depth=1).fit(X, np.full(len(X), "healthy"))
calm = {"narrowed vessels": (0, 0), "angina in exercise": (0, 0), "thallium scan": (3, 3)}
for text, extra in (
    ("any heart rate", {}),
    ("heart rate above 150", {"maximum heart rate": (151, 230)}),
):
    these = Domain(bounds={**domain.bounds, **calm, **extra}, integers=domain.integers)
    outcome = verify(constrained, healthy, domain=these)
    print(f"{text:21s} {'proven' if outcome else 'refuted by this patient:'}")
    if outcome.equal is False:
        row = zip(X, outcome.counterexample, strict=True)
        print(indented(f"{name} {value:.3g}" for name, value in row))

# %%
# The statement is false as it stands, and true for a maximum heart rate above 150.
#
# Is the small tree the same?
# ---------------------------
# Somebody offers a tree with 12 leaves, fitted on the forest's answers, and says that it is
# "practically the forest". :func:`~ensemble_simplify.agreement` measures how far that is true. Its
# second figure is proven: it bounds the share of all possible patients who get the same answer.

tree = DecisionTreeClassifier(max_leaf_nodes=12, random_state=0)
tree = tree.fit(X, constrained.predict(X))
known = agreement(constrained, tree, X, domain=domain, random_state=0)
low, high = known.volume
print(f"same answer for {known.share:.1%} of the 270 patients,")
print(f"and for {low:.0%} to {high:.0%} of all patients who can occur")
outcome = verify(constrained, tree, domain=domain)
print(f"forest: {outcome.predictions[0]}, tree: {outcome.predictions[1]}, for example for")
row = zip(X, outcome.counterexample, strict=True)
print(indented(f"{name} {value:.3g}" for name, value in row))

# %%
# The tree learned from the 270 patients, and agrees with the forest there. Away from them it does
# not. (These figures take the tree's own training rows; use held-out rows to estimate the agreement
# on new patients.) For a tree that *is* the forest, see :ref:`born_again`; for one that agrees on
# every change of one finding, its parameter ``max_changes``. All that this page asked is explained
# in :ref:`audit`.
