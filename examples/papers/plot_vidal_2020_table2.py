"""
Vidal, Pacheco and Schiffer (2020), Table 2: sizes of born-again trees
======================================================================

Sixty random forests of ten trees with depth 3, ten for each of six data sets, were published with
the paper. Its Table 2 reports the mean depth and number of leaves of their born-again trees for
three objectives: least depth (D), fewest leaves (L), and fewest leaves among the trees of least
depth (DL).
"""

# %%
# Thirteen forests, solved now
# ----------------------------
# The tests of this package carry thirteen of the forests, with the sizes that the authors' program
# found for them.

import importlib.util
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from _results import ROOT, read_table
from sklearn.frozen import FrozenEstimator

from ensemble_simplify import BornAgainClassifier

spec = importlib.util.spec_from_file_location("ba_trees", ROOT / "tests" / "ba_trees.py")
ba_trees = importlib.util.module_from_spec(spec)
spec.loader.exec_module(ba_trees)

OBJECTIVES = {"D": "depth", "L": "leaves", "DL": "depth_then_leaves"}


def born_again(paths, objective, n_trees=None):
    """The born-again tree of the trees in some files, by majority vote as in the paper."""
    forest = ba_trees.read_random_forest(paths)
    forest.estimators_ = forest.estimators_[:n_trees]
    forest.n_estimators = len(forest.estimators_)
    X = np.random.default_rng(0).integers(0, 11, (100, forest.n_features_in_)).astype(float)
    model = BornAgainClassifier(FrozenEstimator(forest), objective=objective, voting="hard")
    return model.fit(X, forest.predict(X))


def shown(sizes):
    """Depth and leaves."""
    return "{} / {}".format(*sizes)


published = ba_trees.published()
start = time.perf_counter()
rows = {}
for path in sorted(Path(ba_trees.FOLDER).glob("*.RF*.txt")):
    name, _, fold = path.stem.rpartition(".RF")
    row = rows.setdefault((name, int(fold)), {})
    for short, objective in OBJECTIVES.items():
        model = born_again(path, objective)
        size, theirs = (model.depth_, model.n_leaves_), published[name, int(fold), objective]
        assert model.status_ == "optimal"
        assert size[0] == theirs[0] or short == "L"
        assert size[1] <= theirs[1] or short == "D"
        row[short], row[f"{short}, theirs"] = shown(size), shown(theirs)
print(f"{3 * len(rows)} trees in {time.perf_counter() - start:.1f} s; depth / leaves")
print(pd.DataFrame(rows).T.to_string())

# %%
# Depths under D and leaves under L are the same, as two optima must be. Under D the number of
# leaves is whatever the search happens to build. Under DL the program keeps one pair (depth,
# leaves) for each region and can miss smaller trees of the same depth, as it did for three of the
# four forests of Pima-Diabetes and Seeds.
#
# All forests, from the benchmark
# -------------------------------
# The means over ten forests are read from ``benchmarks/results/born_again.md``, which
# ``python -m benchmarks.born_again`` prints; an empty cell was measured on fewer than ten. (The
# breast cancer forests, for which the authors' program needs up to minutes and gigabytes, are not
# all in it.)

PAPER = {
    "COMPAS-ProPublica": {"D": (8.9, 119.9), "L": (8.9, 37.1), "DL": (8.9, 37.1)},
    "FICO": {"D": (8.6, 71.3), "L": (8.6, 39.2), "DL": (8.6, 39.2)},
    "HTRU2": {"D": (6.0, 20.2), "L": (6.3, 11.9), "DL": (6.0, 12.0)},
    "Pima-Diabetes": {"D": (9.6, 460.1), "L": (15.0, 169.7), "DL": (9.6, 206.7)},
    "Seeds": {"D": (10.2, 450.9), "L": (13.8, 214.6), "DL": (10.2, 261.0)},
}
measured = read_table("born_again.md", "Born-again trees").set_index(["data set", "objective"])
means = {}
for name, paper in PAPER.items():
    ours, theirs = means.setdefault((name, "ours"), {}), means.setdefault((name, "paper"), {})
    for short, objective in OBJECTIVES.items():
        theirs[short] = shown(paper[short])
        if (name, objective) in measured.index and measured.forests[name, objective] == "10":
            ours[short] = shown(measured[key][name, objective] for key in ("depth", "leaves"))
print(pd.DataFrame(means).T.fillna("").to_string())

# %%
# How the work grows with the number of trees
# -------------------------------------------
# The paper's Figure 3 (right) varies the number of trees. Here they are the first 3 to 20 trees of
# the published forests of a data set, and the tree of least depth is sought. More trees bring
# more thresholds, until every level of every feature is one.

figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.4), layout="constrained")
counts = [3, 5, 7, 10, 12, 15, 17, 20]
for name, marker in (("COMPAS-ProPublica", "o"), ("FICO", "s"), ("HTRU2", "^")):
    files = sorted(Path(ba_trees.FOLDER).glob(f"{name}.RF*.txt"))[:2]
    seconds, regions = [], []
    for n_trees in counts:
        start = time.perf_counter()
        model = born_again(files, "depth", n_trees)
        seconds.append(1000 * (time.perf_counter() - start))
        regions.append(model.n_regions_)
    axes[0].semilogy(counts, regions, marker=marker, label=name)
    axes[1].semilogy(counts, seconds, marker=marker, label=name)
axes[0].set(xlabel="trees", ylabel="regions")
axes[1].set(xlabel="trees", ylabel="milliseconds a fit", ylim=(1, 1000))
for ax in axes:
    ax.set_xticks(range(0, 21, 5))
    ax.grid(alpha=0.3)
axes[0].legend(frameon=False)
plt.show()
