"""
How do the methods compare with a plain tree?
=============================================

Three data sets, a forest of ten small trees for each, five methods, and a plain
``DecisionTreeClassifier``. How large is each result, how accurate is it on new rows, and how
often does it agree with the forest? The methods answer different questions,
so no column has an overall winner. Where a pruned plain tree does as well, take the plain tree.
"""

# sphinx_gallery_thumbnail_number = 2
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import LogLocator, NullFormatter, PercentFormatter
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
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

cancer = load_breast_cancer()
SETS = {
    "iris": load_iris(return_X_y=True),
    "wine": load_wine(return_X_y=True),
    "breast cancer": (cancer.data[:, :10], cancer.target),  # the means of ten measurements
}

# %%
# The models
# ----------
# The first four start from the fitted forest, six trees of depth 2. The others start from the
# data. The born-again tree is searched by the heuristic. It is equal to the forest in any case, but
# not always small. The plain tree is pruned by cross-validation.


def models(forest, seed):
    """Name and unfitted model."""
    frozen = FrozenEstimator(forest)
    ccp = {"ccp_alpha": [0.0, 0.002, 0.004, 0.008, 0.016, 0.032]}
    return {
        "born again": BornAgainClassifier(frozen, method="heuristic"),
        "born again, pruned": BornAgainClassifier(frozen, method="heuristic", post_prune=True),
        "feature budget 50 %": FeatureBudgetPruner(frozen, budget="50%"),
        "representer": RepresenterTree(frozen, max_leaf_nodes=12, random_state=seed),
        "GENESIM": GenesimClassifier(random_state=seed),
        "cultivated": CultivatedForestClassifier(),
        "plain tree": GridSearchCV(DecisionTreeClassifier(random_state=seed), ccp),
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
        forest = RandomForestClassifier(6, max_depth=2, random_state=seed).fit(A, a)
        fitted = {"forest of 6 trees": forest}
        for method, model in models(forest, seed).items():
            with warnings.catch_warnings():
                # Budgets in a step of the path.
                warnings.simplefilter("ignore")
                model.fit(A, a)
            fitted[method] = model
        for method, model in fitted.items():
            answers = model.predict(B)
            agree = np.mean(answers == forest.predict(B))
            rows.append([name, method, n_leaves(model), np.mean(answers == b), agree])
columns = ["set", "method", "leaves", "accuracy", "agreement"]
table = pd.DataFrame(rows, columns=columns).groupby(columns[:2], sort=False).mean()

# %%
# Means of three random splits, two thirds for training. "Agreement" is the share of new rows on
# which a model answers as the forest of six trees does.

formats = {"leaves": "{:,.0f}", "accuracy": "{:.3f}", "agreement": "{:.3f}"}
for name in SETS:
    part = table.loc[name].rename_axis(name)
    print(part.to_string(formatters={k: v.format for k, v in formats.items()}), "\n")

# %%
# Small is to the left, good is up. Lines are the forest of six trees and the large one.

MARKERS = dict(zip(models(None, 0), "os^vDPX", strict=False))


def draw(ax, part, quantity):
    """One panel."""
    for method, marker in MARKERS.items():
        ax.plot(part.leaves[method], part[quantity][method], marker, ms=8, label=method)
    ax.set_xscale("log")
    ax.grid(alpha=0.25)
    ax.margins(0.12)
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=1))


figure, axes = plt.subplots(2, 3, figsize=(10, 6.4), sharex="col", layout="constrained")
for column, name in zip(axes.T, SETS, strict=True):
    part = table.loc[name]
    draw(column[0], part, "accuracy")
    draw(column[1], part, "agreement")
    for method, style in (("forest of 6 trees", "-"), ("100 full trees", ":")):
        column[0].axhline(part.accuracy[method], color="0.4", ls=style, lw=1.2, label=method)
    column[0].set_title(name)
    column[1].set_xlabel("leaves")
axes[0, 0].set_ylabel("accuracy on new rows")
axes[1, 0].set_ylabel("agreement with the forest")
handles, labels = axes[0, 0].get_legend_handles_labels()
figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)
plt.show()

# %%
# One panel by itself, with names:

part = table.loc["breast cancer"]
figure, ax = plt.subplots(figsize=(6, 4.2), layout="constrained")
draw(ax, part, "agreement")
for method in MARKERS:
    place = (part.leaves[method], part.agreement[method])
    above = -17 if method == "born again, pruned" else 9
    ax.annotate(method, place, (0, above), textcoords="offset points", ha="center", fontsize=10)
ax.margins(0.2)
ax.set_xlabel("leaves (breast cancer)")
ax.set_ylabel("agreement with the forest")
plt.show()

# %%
# What to take from it
# --------------------
# - **Born again.** The tree agrees on every row there can be, so it has exactly the forest's
#   accuracy. It can be read for few features, and has 150 leaves or more on ten or more
#   continuous ones. Pruned to the parts that hold training rows it is small again, and no longer
#   equal.
# - **Feature budget.** The result is still a forest, which pays for half of the measurements. On
#   these sets that costs accuracy, most on iris, where two of the four measurements carry
#   everything.
# - **Representer and GENESIM** give six to seventeen leaves. The representer follows the forest.
#   GENESIM grows a tree of its own on a larger forest's answers and the labels: as accurate as the
#   other small trees on breast cancer, worst on wine with its 118 training rows.
# - **Cultivated.** One tree with soft splits, one to two points less accurate than the large
#   forest. It has too many leaves to read unless you limit it.
# - **Plain tree.** It is small. On iris it is as accurate as anything else of its size; on the
#   other two sets it is not. It is unrelated to the forest: on breast cancer it agrees with the
#   forest least.
#
# These are means of three splits of small sets: differences of one or two points can be chance.
