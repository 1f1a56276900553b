"""
Which method? All five and an ordinary tree
===========================================

The same three data sets, the same forest of ten small trees, the five methods and
``DecisionTreeClassifier``: how large is the result, how accurate on new rows, how often does it
agree with the forest, and how long does it take? The methods answer different questions, so no
column has a winner that counts for all; and where a pruned ordinary tree does as well, take it.
"""

import time
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import LogLocator, NullFormatter, PercentFormatter
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.tree import DecisionTreeClassifier

from ensemble_simplify import (
    BornAgainClassifier,
    CultivatedForestClassifier,
    FeatureBudgetPruner,
    GenesimClassifier,
    RepresenterTree,
)

here = Path(globals().get("__file__", "gallery")).resolve().parent
heart = pd.read_csv(here.parent / "data" / "heart_statlog.csv")
cancer = load_breast_cancer()
SETS = {
    "iris": load_iris(return_X_y=True),
    "heart": (heart.drop(columns="target").to_numpy(float), heart["target"].to_numpy()),
    "breast cancer": (cancer.data[:, :10], cancer.target),  # the means of ten measurements
}

# %%
# The models. The first four start from the fitted forest of ten trees with depth 2, the others from
# the data. A born-again tree gets a second of search; it is equal to the forest in
# any case, but on ten continuous features far from small. The ordinary tree is pruned by
# cross-validation.


def models(forest, seed):
    """Name and unfitted model."""
    frozen = FrozenEstimator(forest)
    ccp = {"ccp_alpha": [0.0, 0.002, 0.004, 0.008, 0.016, 0.032]}
    return {
        "born again": BornAgainClassifier(frozen, time_limit=1),
        "born again, pruned": BornAgainClassifier(frozen, time_limit=1, post_prune=True),
        "feature budget 50 %": FeatureBudgetPruner(frozen, budget="50%"),
        "representer": RepresenterTree(frozen, max_leaf_nodes=12, random_state=seed),
        "GENESIM": GenesimClassifier(random_state=seed),
        "cultivated": CultivatedForestClassifier(),
        "ordinary tree": GridSearchCV(DecisionTreeClassifier(random_state=seed), ccp),
        "100 full trees": RandomForestClassifier(100, random_state=seed),
    }


def n_leaves(model):
    """Leaves of a tree, or of all trees together."""
    if isinstance(model, FeatureBudgetPruner):
        model = model.pruned_estimator_
    if isinstance(model, CultivatedForestClassifier):
        return model.modules_.n_leaves
    if hasattr(model, "estimators_"):
        return sum(tree.get_n_leaves() for tree in model.estimators_)
    return getattr(model, "best_estimator_", getattr(model, "decision_tree_", None)).get_n_leaves()


rows = []
for name, (X, y) in SETS.items():
    for seed in range(3):
        A, B, a, b = train_test_split(X, y, test_size=1 / 3, random_state=seed, stratify=y)
        start = time.perf_counter()
        forest = RandomForestClassifier(10, max_depth=2, random_state=seed).fit(A, a)
        fitted = {"forest of 10 trees": (forest, time.perf_counter() - start)}
        for method, model in models(forest, seed).items():
            start = time.perf_counter()
            with warnings.catch_warnings():
                # Searches that end at the time limit, and budgets in a step of the path.
                warnings.simplefilter("ignore")
                model.fit(A, a)
            fitted[method] = model, time.perf_counter() - start
        for method, (model, seconds) in fitted.items():
            answers = model.predict(B)
            agree = np.mean(answers == forest.predict(B))
            rows.append([name, method, n_leaves(model), np.mean(answers == b), agree, seconds])
columns = ["set", "method", "leaves", "accuracy", "agreement", "seconds"]
table = pd.DataFrame(rows, columns=columns).groupby(columns[:2], sort=False).mean()

# %%
# Means of three random splits, two thirds for training. "Agreement" is the share of new rows on
# which a model answers like the forest of ten trees.

formats = {"leaves": "{:,.0f}", "accuracy": "{:.3f}", "agreement": "{:.3f}", "seconds": "{:.3f}"}
for name in SETS:
    part = table.loc[name].rename_axis(name)
    print(part.to_string(formatters={k: v.format for k, v in formats.items()}), "\n")

# %%
# Small is to the left, good is up. Lines are the forest of ten trees and the large one.

MARKERS = dict(zip(models(None, 0), "os^vDPX", strict=False))
figure, axes = plt.subplots(2, 3, figsize=(10, 6.4), sharex="col", layout="constrained")
for column, name in zip(axes.T, SETS, strict=True):
    part = table.loc[name]
    for ax, quantity in zip(column, ("accuracy", "agreement"), strict=True):
        for method, marker in MARKERS.items():
            ax.plot(part.leaves[method], part[quantity][method], marker, ms=8, label=method)
        ax.set_xscale("log")
        ax.grid(alpha=0.25)
        ax.margins(0.12)
        ax.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
        ax.xaxis.set_major_formatter("{x:,.0f}")
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=1))
    for method, style in (("forest of 10 trees", "-"), ("100 full trees", ":")):
        column[0].axhline(part.accuracy[method], color="0.4", ls=style, lw=1.2, label=method)
    column[0].set_title(name)
    column[1].set_xlabel("leaves")
axes[0, 0].set_ylabel("accuracy on new rows")
axes[1, 0].set_ylabel("agreement with the forest")
handles, labels = axes[0, 0].get_legend_handles_labels()
figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)
plt.show()

# %%
# What to take from it
# --------------------
# - *Equality is dear.* The born-again tree agrees on every row there can be, and has the forest's
#   accuracy because it is the forest. It is readable for few features, and has more than a thousand
#   leaves on ten continuous ones. Pruned to the parts that hold training rows it is small again,
#   and no longer equal.
# - *A feature budget leaves a forest*, for half of the measurements. On these sets that costs
#   accuracy, most on iris, where two of the four measurements carry all.
# - *Representer and GENESIM give a handful of leaves.* The first follows the forest, the second
#   the labels.
# - *A cultivated forest* is one tree one or two points below the large forest, but with too many
#   leaves to read unless it is limited.
# - *The ordinary tree* is small and often as accurate as anything else of its size. It has no
#   relation to the forest.
