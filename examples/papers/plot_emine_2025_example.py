"""
Emine et al. (2025), the example: fewer boosted trees, the same function
========================================================================

*Free Lunch in the Forest* drops trees of an ensemble and weighs the others anew such that no input
at all is answered otherwise. The authors' program needs Gurobi, a solver that has to be licensed.
This page computes the example of its documentation with HiGHS, which is free, and proves besides
that no fewer trees will do.
"""

# %%
# A hundred stumps on iris
# ------------------------
# AdaBoost grows a hundred trees of depth 1 on all rows of the iris data. Nothing is said about
# where the answers must be equal, and so they are everywhere.

import time

import matplotlib.pyplot as plt
import numpy as np
from _results import read_table
from sklearn.datasets import load_iris
from sklearn.ensemble import AdaBoostClassifier
from sklearn.frozen import FrozenEstimator

from ensemble_simplify import FaithfulPathDisplay, FaithfulPruner

data = load_iris()
X, y = data.data, data.target
boosted = AdaBoostClassifier(n_estimators=100, random_state=0).fit(X, y)

start = time.perf_counter()
pruner = FaithfulPruner(FrozenEstimator(boosted), random_state=0).fit(X, y)
print(f"{pruner.n_trees_} of {len(boosted)} trees, {pruner.status_}: ", end="")
print(f"no fewer than {pruner.n_trees_lower_bound_} can do")
print(f"{time.perf_counter() - start:.1f} s")
print(pruner.verify())

# %%
# The result is an AdaBoostClassifier again. Rows whose values all lie next to thresholds find no
# difference either; that none can is what was proven.

rng = np.random.default_rng(0)
cuts = [[] for _ in range(X.shape[1])]
for member in boosted.estimators_:
    cuts[member.tree_.feature[0]].append(member.tree_.threshold[0])
rows = np.empty((200_000, X.shape[1]), dtype=np.float32)
for j, thresholds in enumerate(cuts):
    value = rng.choice(np.float32(thresholds), len(rows)) if thresholds else np.float32(0)
    rows[:, j] = np.nextafter(value, np.float32(rng.choice([-np.inf, np.inf], len(rows))))
different = np.sum(pruner.pruned_estimator_.predict(rows) != boosted.predict(rows))
print(f"{type(pruner.pruned_estimator_).__name__}; of {len(rows):,} rows, {different} differ")

# %%
# Why so few? The hundred stumps are a dozen different splits, three of which make up 91 of them.
# The pruned ensemble needs all but one of the dozen. On the left, the weight of every split before
# and after, as shares of the whole.
#
# A smaller promise makes do with fewer trees. On the right it is about the points that differ from
# a row in one feature (``max_changes=1``). The faithful ensemble is at the end of the line; each
# one before it has fewer trees, fitted to answer otherwise as rarely as possible. All exceptions
# are counted, none is estimated.

splits = [(m.tree_.feature[0], m.tree_.threshold[0]) for m in boosted.estimators_]
names = sorted(set(splits))
before, after = np.zeros(len(names)), np.zeros(len(names))
for split, own, factor in zip(splits, boosted.estimator_weights_, pruner.weights_, strict=True):
    before[names.index(split)] += own
    after[names.index(split)] += own * factor
labels = [f"{data.feature_names[j].removesuffix(' (cm)')} ≤ {cut:.2f}" for j, cut in names]
chosen = [splits.count(name) for name in names]

near = FaithfulPruner(FrozenEstimator(boosted), max_changes=1, random_state=0).fit(X, y)

figure, (left, right) = plt.subplots(
    1, 2, figsize=(9.6, 4.2), width_ratios=[1.15, 1], layout="constrained"
)
at = np.arange(len(names))
left.barh(at + 0.2, before / before.sum(), 0.38, color="0.75", label="100 stumps")
kept = f"{pruner.n_trees_} stumps, the same function"
left.barh(at - 0.2, after / after.sum(), 0.38, color="tab:blue", label=kept)
for i, n in enumerate(chosen):
    end = (before[i] / before.sum() + 0.005, i + 0.2)
    left.annotate(f"{n} stumps" if n > 1 else "1", end, va="center", fontsize=8, color="0.4")
left.set_yticks(at, labels)
left.xaxis.set_major_formatter(lambda share, _: f"{100 * share:g} %")
left.set(xlabel="share of all weight", title="what every split weighs")
left.set_xlim(right=0.45)
left.spines[["top", "right"]].set_visible(False)
left.legend(frameon=False, loc="lower right")
FaithfulPathDisplay.from_estimator(near, ax=right)
right.set(title="fewer trees, counted exceptions")
plt.show()

# %%
# The data of the paper's experiments
# -----------------------------------
# The nine ensembles of stumps of the authors' experiments, on their data and split, took from half
# a second to forty seconds when ``python -m benchmarks.faithful fipe`` was run last; every number
# of trees is proven to be the smallest. Their program was not run beside it, for want of a licence,
# and so there are no times to compare.
#
# In forests, whose trees all decide somewhere far from the data, often none can go: that is
# proven, too, for three of the five.

table = read_table("faithful.md", "faithful.fipe")
table[["trees", "kept"]] = table["trees"].str.split(" -> ", expand=True).astype(int)
table["at least"] = table["at least"].astype(int)
print(table[["set", "ensemble", "trees", "kept", "at least", "s"]].to_string(index=False))

# %%

shown = table.iloc[::-1]
figure, ax = plt.subplots(figsize=(7.6, 4.4), layout="constrained")
at = np.arange(len(shown))
colours = np.where(shown["ensemble"] == "stumps", "tab:blue", "tab:green")
ax.barh(at, shown["trees"], color="0.9")
ax.barh(at, shown["kept"], color=colours)
ax.plot(shown["at least"], at, "k|", ms=12, mew=1.5, ls="none", label="proven lower bound")
ax.set_yticks(at, shown["set"] + ", " + shown["ensemble"])
ax.set(xlabel="trees kept (grey: of how many)")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="lower right")
plt.show()

# %%
# References
# ----------
# Y. Emine, A. Forel, I. Malek, T. Vidal (2025). Free Lunch in the Forest: Functionally-Identical
# Pruning of Boosted Tree Ensembles. AAAI 39(16), 16488-16495.
# https://doi.org/10.1609/aaai.v39i16.33811
