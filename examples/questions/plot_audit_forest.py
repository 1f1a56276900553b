"""
Audit a forest
==============

A forest that helps to decide about patients should stand up to questions. Which rules does it
follow? Does it ever contradict itself, or a doctor's knowledge? Is the simpler copy that somebody
made of it the same? A forest cannot be asked; trying out patients finds some faults, but proves
nothing. Its born-again tree is the same function in one piece, and such questions become
calculations.
"""

# %%
# The forest
# ----------
# UCI's Statlog (Heart) data: 270 patients, here with nine of the thirteen findings. Ten trees of
# depth 3 do about as well as a large forest.

import textwrap
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import cross_val_score
from sklearn.tree import DecisionTreeClassifier

from ensemble_simplify import (
    BornAgainClassifier,
    Domain,
    is_monotone,
    nearest_flip,
    sufficient_box,
    verify,
)

here = Path(globals().get("__file__", "gallery")).resolve().parent
data = pd.read_csv(here.parent / "data" / "heart_statlog.csv")
y = np.where(data.pop("target") == 1, "disease", "healthy")
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

forest = RandomForestClassifier(10, max_depth=3, max_features=None, random_state=0)
large = RandomForestClassifier(200, random_state=0)
print(f"accuracy, 10 trees of depth 3:  {cross_val_score(forest, X, y, cv=5).mean():.3f}")
print(f"accuracy, 200 full trees:       {cross_val_score(large, X, y, cv=5).mean():.3f}")
forest = forest.fit(X, y)

# %%
# What can occur
# --------------
# A tree that must be right for half a vessel wastes leaves. ``Domain`` says which inputs there are;
# inside, the tree is proven equal to the forest.

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
born_again = BornAgainClassifier(FrozenEstimator(forest), domain=domain).fit(X, y)
print(f"{born_again.n_cells_:,} cells -> {born_again.n_leaves_} leaves, {born_again.status_}")
print(born_again.verify())

# %%
# Rules
# -----
# Every leaf is a rule, and no two overlap. Most patients are in few of them; the others are there
# because the forest has an answer for every input, also for patients nobody has seen.

tree = born_again.decision_tree_.tree_


def indented(parts):
    """A list in lines of moderate length."""
    space = "    "
    return textwrap.fill(", ".join(parts), 88, initial_indent=space, subsequent_indent=space)


def in_words(row):
    """A patient."""
    return indented(f"{name} {value:.4g}" for name, value in zip(X, row, strict=True))


def leaf_boxes(tree, n_features):
    """Bounds (low, high] of every leaf on every feature, and the leaves' numbers."""
    stack = [(0, np.full(n_features, -np.inf), np.full(n_features, np.inf))]
    leaves, lows, highs = [], [], []
    while stack:
        node, low, high = stack.pop()
        if tree.children_left[node] < 0:
            leaves.append(node)
            lows.append(low)
            highs.append(high)
            continue
        j, cut = tree.feature[node], tree.threshold[node]
        below, above = high.copy(), low.copy()
        below[j], above[j] = min(high[j], cut), max(low[j], cut)
        stack.append((tree.children_left[node], low, below))
        stack.append((tree.children_right[node], above, high))
    return np.array(leaves), np.array(lows), np.array(highs)


leaves, lows, highs = leaf_boxes(tree, X.shape[1])
answer = born_again.classes_[tree.value[leaves, 0].argmax(axis=1)]
patients = tree.n_node_samples[leaves]


def rule(k):
    """The bounds of a leaf in words."""
    parts = []
    for j, name in enumerate(X):
        if np.isfinite(lows[k, j]):
            parts.append(f"{name} > {lows[k, j]:g}")
        if np.isfinite(highs[k, j]):
            parts.append(f"{name} <= {highs[k, j]:g}")
    return indented(parts)


order = np.argsort(-patients, kind="stable")
for k in order[:5]:
    print(f"{patients[k]} patients: {answer[k]}")
    print(rule(k))
print(f"these five rules: {patients[order[:5]].sum() / len(X):.0%} of the patients")
print(f"leaves without any patient: {(patients == 0).sum()} of {len(leaves)}")

# %%
# Contradictions
# --------------
# A worse finding should never turn "disease" into "healthy". :func:`~ensemble_simplify.is_monotone`
# proves that for the forest itself, or names two patients who differ in this finding alone and
# prove the contrary.

WORSE = {
    "age": 1,
    "narrowed vessels": 1,
    "ST depression": 1,
    "angina in exercise": 1,
    "maximum heart rate": -1,
}
refuted = []
for name, direction in WORSE.items():
    outcome = is_monotone(forest, name, increasing=direction > 0, positive="disease", domain=domain)
    if outcome:
        print(f"{name:20s} proven: worse is never healthier")
    else:
        refuted.append(outcome)
        (low, high), labels = outcome.values, " becomes ".join(outcome.predictions)
        print(f"{name:20s} refuted: from {low:.4g} to {high:.4g}, {labels}")

# %%
# One such pair in full. It is put to the forest itself, so there is nothing to believe.

pair = pd.DataFrame(refuted[0].counterexample, columns=X.columns, index=["lower", "higher"])
print(pair.round(1).assign(forest=forest.predict(pair)).T.to_string())

# %%
# One patient
# -----------
# Which findings of a patient decide, whatever the others are, and what would have to be different?
# Every patient in the box of :func:`~ensemble_simplify.sufficient_box` gets the same answer, and no
# side of it can be moved. :func:`~ensemble_simplify.nearest_flip` looks at every change of one
# finding.

patient = X.iloc[[0]]
box = sufficient_box(forest, patient, domain=domain)
print(f"{box.label}, whatever else, if")
print(indented(box.conditions))
print(f"patients in this box: {box.contains(X).sum()} of {len(X)}")
print(nearest_flip(forest, patient, domain=domain))
borderline = X.iloc[[np.abs(forest.predict_proba(X)[:, 0] - 0.5).argmin()]]
flip = nearest_flip(forest, borderline, domain=domain)
print(f"the patient nearest to a tie: {flip.predictions[0]} becomes {flip.predictions[1]} with")
changes = flip.changes.items()
print(indented(f"{name} {new:.4g} instead of {old:.4g}" for name, (old, new) in changes))

# %%
# A statement about the forest
# ----------------------------
# "Nobody without narrowed vessels, without angina in exercise and with a normal thallium scan (3)
# is called sick." A statement about a box is an equality there: of the forest with a tree that
# has only the one answer. :func:`~ensemble_simplify.verify` proves it, or names a patient.

healthy = DecisionTreeClassifier(max_depth=1).fit(X, np.full(len(X), "healthy"))
calm = {"narrowed vessels": (0, 0), "angina in exercise": (0, 0), "thallium scan": (3, 3)}
for text, extra in (
    ("any heart rate", {}),
    ("heart rate above 150", {"maximum heart rate": (151, 230)}),
    ("and chest pain not of type 4", {"maximum heart rate": (151, 230), "chest pain type": (1, 3)}),
):
    box = Domain(bounds={**domain.bounds, **calm, **extra}, integers=domain.integers)
    outcome = verify(forest, healthy, domain=box)
    print(f"{text:28s} {'proven' if outcome else 'refuted'}")
    if outcome.equal is False:
        print(in_words(outcome.counterexample))

# %%
# Two models
# ----------
# Somebody kept only the leaves that hold patients (``post_prune=True``), and says that the small
# tree is "practically" the forest. It is not the same function, and ``verify`` shows on whom they
# differ; ``volume_fidelity_`` is the share of the domain on which they agree.

small = BornAgainClassifier(FrozenEstimator(forest), domain=domain, post_prune=True).fit(X, y)
outcome = verify(forest, small, domain=domain)
print(f"{small.n_leaves_} leaves; equal: {outcome.equal}; agreement {small.volume_fidelity_:.3f}")
print(f"on the 270 patients: {np.mean(small.predict(X) == forest.predict(X)):.3f}")
print(in_words(outcome.counterexample))
print(f"forest: {outcome.predictions[0]}, small tree: {outcome.predictions[1]}")

# %%
# How small can the truth be?
# ---------------------------
# ``front`` gives the fewest leaves for each depth: no tree with the forest's answers lies below
# the line.

front = np.array(born_again.front())
figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
ax.plot(*front.T, "o-", color="tab:blue", label="equal to the forest in the domain")
ax.plot(small.depth_, small.n_leaves_, "s", color="tab:orange", label="post_prune: not equal")
total = sum(t.get_n_leaves() for t in forest.estimators_)
ax.axhline(total, color="0.5", ls="--", lw=1, label=f"the ten trees together: {total} leaves")
for depth, n_leaves in [*front, (small.depth_, small.n_leaves_)]:
    ax.annotate(str(n_leaves), (depth, n_leaves + 5), ha="center")
ax.set(xlabel="depth", ylabel="leaves", xlim=(7.5, 11.5), ylim=(0, 240))
ax.set_xticks(range(8, 12))
ax.legend(frameon=False, loc="upper left")
plt.show()
