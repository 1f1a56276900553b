"""
Nalenz and Augustin (2021), Table 1: cultivated forests beside random forests
=============================================================================

The paper compares a random forest of 500 trees, four versions of the cultivated forest
(:class:`~ensemble_simplify.CultivatedForestClassifier`), and CART on 22 data sets. It reports the
area under the ROC curve (AUC) by tenfold cross-validation. Its conclusion holds here: the full
version is at least as good as CART on every set, and mostly within 0.01 to 0.03 of the random
forest. The exception is the EEG data.

This page needs a clone of the repository: it reads ``benchmarks/results``.
"""

# %%
# Two sets, computed now
# ----------------------
# One tenfold cross-validation. Other folds change the AUC of Parkinsons by about 0.01.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from _results import read_table, shown
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from ensemble_simplify import CultivatedForestClassifier
from ensemble_simplify.datasets import load_parkinsons

parkinsons = load_parkinsons().frame.to_numpy(float)
SETS = {
    "wdbc": (*load_breast_cancer(return_X_y=True), (0.992, 0.987, 0.991, 0.992)),
    "parkinsons": (parkinsons[:, :-1], parkinsons[:, -1], (0.950, 0.949, 0.932, 0.953)),
}
VERSIONS = ("full", "split", "option", "shallow")
rows = []
for name, (X, y, paper) in SETS.items():
    for version, theirs in zip(VERSIONS, paper, strict=True):
        areas = []
        for train, test in StratifiedKFold(10, shuffle=True, random_state=0).split(X, y):
            model = CultivatedForestClassifier.preset(version).fit(X[train], y[train])
            areas.append(roc_auc_score(y[test], model.predict_proba(X[test])[:, 1]))
        rows.append((name, version, f"{np.mean(areas):.3f}", f"{theirs:.3f}"))
shown(pd.DataFrame(rows, columns=["set", "version", "AUC", "AUC, paper"]))

# %%
# All sets, from the benchmark
# ----------------------------
# Read from ``benchmarks/results/cultivated.md``, which ``python -m benchmarks.cultivated table1``
# prints. The figure leaves out sets whose data are not the paper's. Left: the AUC of the full
# version, ours against the paper's, lies near the diagonal. Right: how far the full version and
# CART are from the random forest.

PAIR = r"([\d.]+|-) \(([\d.]+)\)"
table = read_table("cultivated.md", "The paper's Table 1").set_index("set")
same = table[table["agree"] == "yes"]


def areas(column):
    """Ours and the paper's areas; ours is NaN where the benchmark did not run the model."""
    return same[column].str.extract(PAIR).apply(pd.to_numeric, errors="coerce")


full, forest, cart = areas("full"), areas("forest"), areas("cart")
figure, axes = plt.subplots(1, 2, figsize=(9, 4.6), width_ratios=[1, 1.25], layout="constrained")
axes[0].plot([0.7, 1], [0.7, 1], color="0.6", lw=1)
axes[0].plot(full[1], full[0], "o", color="C0")
axes[0].set(xlabel="AUC, paper", ylabel="AUC, ours", aspect="equal")
axes[0].set_title("full version")
place = np.arange(len(same))[::-1]
reference = forest[0].fillna(forest[1])  # the paper's where ours was not run
axes[1].axvline(0, color="0.4", lw=1)
axes[1].plot(cart[0] - reference, place, "x", color="C3", label="CART")
axes[1].plot(full[0] - reference, place, "o", color="C0", label="cultivated, full")
axes[1].set_yticks(place, [name.replace("_", " ") for name in same.index])
axes[1].set_xlabel("AUC minus that of the random forest")
axes[1].grid(axis="x", alpha=0.3)
axes[1].legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
plt.show()

# %%
# The whole table
# ---------------
# Ours, and in brackets the paper's. "Same data" says whether our data are the
# paper's. Where figures differ, the file says what is known about it.

shown(table.drop(columns="+- full").rename(columns={"agree": "same data"}).reset_index())
