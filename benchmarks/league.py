"""What to make of a default random forest: every method here, and what one would do instead.

    python -m benchmarks.league --data DIR [--sets sonar seeds] [--methods representer streed]
        [--splits 5] [--first-seed N] [--store FILE] [--report]

The question: "I have ``RandomForestClassifier()``, 100 full trees, and want something simpler." Ten
sets (those of DIR, CSV files with a last column ``target``, and scikit-learn's digits; at most
2,000 rows), stratified splits with two thirds of the rows to learn from. The forest is fitted on
those, and every method gets the forest and the same rows; it is judged on the other third:

- ``accuracy``, and ``agreement`` with the forest, on test rows; ``worst class``: the agreement
  among the test rows to which the forest gives one class, for the class where it is lowest (classes
  of fewer than 5 such rows are left out);
- ``seconds`` of CPU on one core, tuning counted, the fit of the given forest not.

Differences are to the plain tree on the forest's answers, in one split; their standard error is
that of the means of the sets. Methods:

- ``forest``: the given one; ``forest of 10 trees``: a smaller one, fitted on y.
- ``plain tree on answers``, ``plain tree on y``: scikit-learn's, of at most 8 leaves, on the
  forest's answers or on y; ``plain tree on y, tuned``: of any size, cost-complexity by 5 shuffled
  folds.
- ``born-again``: ``BornAgainClassifier(max_changes=1)`` of the forest, 4 seconds, and its ``at()``
  with 8 leaves; ``representer``; ``faithful pruning``: ``max_changes=1``, 4 seconds;
  ``feature-budget pruning``: of the given forest to half of what its features cost, each costs one.
- ``GENESIM`` and its ``at()`` with 8 leaves, ``cultivated`` whole and with 8 leaves: learn from y.
- ``simplify``: the tree that it recommends within 8 seconds, ``max_leaves=8``.
- ``STreeD`` (depth 3, so at most 8 leaves), ``GOSDT`` (two classes only: the least of
  three regularisations that leaves at most 8 leaves, 5 seconds a fit), ``FIGS`` (12
  splits, its default), ``EBM`` (4 outer bags, no interactions; not a tree): learn from y. See
  `benchmarks.genesim_peers`. Methods whose package is not installed are left out.

Without ``--data`` it runs on wine and wdbc, to try the program out. ``--store`` appends a line a
result, so that a run can be made in pieces; ``--report`` prints what is there and runs nothing.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.tree import DecisionTreeClassifier

from benchmarks import genesim_small_trees
from benchmarks._record import environment
from benchmarks.genesim_peers import Gosdt, Streed, _ebm
from benchmarks.genesim_small_trees import TunedCart
from ensemble_simplify import (
    BornAgainClassifier,
    CultivatedForestClassifier,
    FaithfulPruner,
    FeatureBudgetPruner,
    GenesimClassifier,
    RepresenterTree,
    TimeLimitError,
    simplify,
)
from ensemble_simplify.reading.forest import read_forest

SETS = (
    "banknote", "blood_transfusion", "climate_model", "digits", "fico_heloc", "qsar_biodeg",
    "seeds", "sonar", "spambase", "steel_plates",
)  # fmt: skip
MORE_CLASSES = ("digits", "seeds", "steel_plates")  # GOSDT takes two
FIRST_SEED = 4100
MAX_ROWS = 2000
LEAVES = 8
SECONDS = 4  # of born-again trees and of faithful pruning
SIMPLIFY_SECONDS = 8
FEW = 5  # test rows of a class that tell too little
BASE = "plain tree on answers"


class Given(NamedTuple):
    """The rows to learn from, the forest, its answers to them, and the seed of the split."""

    X: np.ndarray
    y: np.ndarray
    forest: RandomForestClassifier
    answers: np.ndarray
    seed: int

    @property
    def frozen(self):
        return FrozenEstimator(self.forest)


# ------------------------------------------------------------------- methods


def plain(given):
    tree = DecisionTreeClassifier(max_leaf_nodes=LEAVES, random_state=given.seed)
    return {BASE: tree.fit(given.X, given.answers)}


def plain_on_y(given):
    tree = DecisionTreeClassifier(max_leaf_nodes=LEAVES, random_state=given.seed)
    return {"plain tree on y": tree.fit(given.X, given.y)}


def tuned(given):
    return {"plain tree on y, tuned": TunedCart(given.seed).fit(given.X, given.y)}


def born_again(given):
    whole = BornAgainClassifier(
        given.frozen, max_changes=1, time_limit=SECONDS, random_state=given.seed
    ).fit(given.X, given.y)
    return {"born-again": whole, "born-again, 8 leaves": whole.at(n_leaves=LEAVES)}


def representer(given):
    tree = RepresenterTree(given.frozen, max_leaf_nodes=LEAVES, random_state=given.seed)
    return {"representer": tree.fit(given.X)}


def genesim(given):
    whole = GenesimClassifier(n_jobs=1, random_state=given.seed).fit(given.X, given.y)
    least = int(whole.pareto_front_.n_leaves[0])
    return {"GENESIM": whole, "GENESIM, 8 leaves": whole.at(n_leaves=max(LEAVES, least))}


def cultivated(given):
    return {"cultivated": CultivatedForestClassifier(random_state=given.seed).fit(given.X, given.y)}


def cultivated_8(given):
    tree = CultivatedForestClassifier(max_leaf_nodes=LEAVES, max_options=5, random_state=given.seed)
    return {"cultivated, 8 leaves": tree.fit(given.X, given.y)}


def faithful(given):
    pruner = FaithfulPruner(
        given.frozen, max_changes=1, time_limit=SECONDS, random_state=given.seed
    )
    return {"faithful pruning": pruner.fit(given.X, given.y)}


def feature_budget(given):
    pruner = FeatureBudgetPruner(
        given.frozen,
        feature_costs=np.ones(given.X.shape[1]),
        budget="50%",
        random_state=given.seed,
    )
    return {"feature-budget pruning": pruner.fit(given.X, given.y)}


def recommended(given):
    found = simplify(
        given.forest,
        given.X,
        given.y,
        max_leaves=LEAVES,
        time_limit=SIMPLIFY_SECONDS,
        random_state=given.seed,
    )
    return {"simplify": found.best_model}


def forest(given):
    return {"forest": given.forest}


def small_forest(given):
    smaller = RandomForestClassifier(10, n_jobs=1, random_state=given.seed)
    return {"forest of 10 trees": smaller.fit(given.X, given.y)}


def streed(given):
    return {"STreeD": Streed(given.seed, tune=False).fit(given.X, given.y)}


def gosdt(given):
    if len(np.unique(given.y)) > 2:
        return {}
    found = Gosdt(given.seed, (0.05, 0.02, 0.01), most_leaves=LEAVES).fit(given.X, given.y)
    return {"GOSDT": found}


class Figs:
    """FIGS of twelve splits, its default; one against the rest with three classes or more."""

    def __init__(self, seed):
        self.seed = seed

    def fit(self, X, y):
        from imodels import FIGSClassifier

        model = FIGSClassifier(random_state=self.seed)
        self.model_ = (model if len(np.unique(y)) == 2 else OneVsRestClassifier(model)).fit(X, y)
        parts = getattr(self.model_, "estimators_", [self.model_])
        self.n_leaves_ = sum(part.complexity_ + len(part.trees_) for part in parts)
        self.n_trees_ = sum(len(part.trees_) for part in parts)
        return self

    def predict(self, X):
        return self.model_.predict(X)


def figs(given):
    return {"FIGS": Figs(given.seed).fit(given.X, given.y)}


def ebm(given):
    return {"EBM": _ebm(given.seed).fit(given.X, given.y)}


METHODS = (
    forest, plain, plain_on_y, tuned, small_forest, born_again, faithful, representer, recommended,
    genesim, cultivated, cultivated_8, feature_budget, streed, gosdt, figs, ebm,
)  # fmt: skip
NEAR = "proven where one feature of a training row changes"
# What each promises, in the order of the table: trees to read, larger ones, and what is no tree.
PROMISES = {
    "forest": "",
    "simplify": "that of the tree it picks",
    "representer": "none",
    "born-again, 8 leaves": "exceptions are counted",
    "GENESIM, 8 leaves": "none",
    "cultivated, 8 leaves": "none; soft splits",
    BASE: "none",
    "plain tree on y": "none",
    "STreeD": "optimal on y at its depth",
    "GOSDT": "optimal on y, given time",
    "born-again": NEAR,
    "GENESIM": "none",
    "cultivated": "none; soft splits",
    "plain tree on y, tuned": "none",
    "faithful pruning": NEAR,
    "feature-budget pruning": "half the cost of features",
    "forest of 10 trees": "none",
    "FIGS": "none",
    "EBM": "none; a sum of curves",
}
HERE = (
    "simplify", "representer", "born-again, 8 leaves", "GENESIM, 8 leaves", "cultivated, 8 leaves",
    "born-again", "GENESIM", "cultivated", "faithful pruning", "feature-budget pruning",
)  # fmt: skip
CAPTION = (
    "Means over {sets} data sets of {splits} splits each (seeds from {seed}); methods of this "
    "package in bold. Agreement is the share of test rows that get the forest's answer. The next "
    "column is its difference, in points, to the plain tree on the forest's answers, with the "
    "standard error over the sets."
)
# Methods that a reader compares with another than the plain tree.
PAIRS = (
    ("representer", "STreeD"),
    ("representer", "born-again, 8 leaves"),
    ("GENESIM, 8 leaves", "representer"),
    ("simplify", "representer"),
    ("GENESIM", "plain tree on y, tuned"),
    ("forest of 10 trees", "born-again"),
    ("forest of 10 trees", "cultivated"),
    ("forest of 10 trees", "feature-budget pruning"),
    ("EBM", "forest"),
)
NEEDS = {streed: "pystreed", gosdt: "gosdt", figs: "imodels", ebm: "interpret"}


# ------------------------------------------------------------------- measuring


def load(name, data):
    """Rows and labels of a set, at most 2,000 rows."""
    if name == "digits":
        return load_digits(return_X_y=True)
    X, y = genesim_small_trees.load(name, data)
    if len(X) > MAX_ROWS:
        rows = np.random.default_rng(0).permutation(len(X))[:MAX_ROWS]
        X, y = X[rows], y[rows]
    return X, y


def worst_class(predicted, answers):
    """Least share of the rows to which the model gives one class that get it here, too."""
    labels, counts = np.unique(answers, return_counts=True)
    enough = labels[counts >= FEW]
    return float(min(np.mean(predicted[answers == label] == label) for label in enough))


def size(model):
    """Leaves and trees; NaN for what is none."""
    if isinstance(model, RandomForestClassifier):
        return sum(tree.get_n_leaves() for tree in model.estimators_), len(model.estimators_)
    if isinstance(model, FaithfulPruner | FeatureBudgetPruner):
        pruned = read_forest(model)
        return np.sum(pruned.left < 0), pruned.n_trees
    if hasattr(model, "n_leaves_"):
        return model.n_leaves_, getattr(model, "n_trees_", 1)
    tree = getattr(model, "decision_tree_", model)
    return (tree.get_n_leaves(), 1) if hasattr(tree, "get_n_leaves") else (np.nan, np.nan)


def split(name, seed, data):
    """The given forest with its rows, and the rows that judge."""
    X, y = load(name, data)
    X, X_test, y, y_test = train_test_split(X, y, train_size=2 / 3, stratify=y, random_state=seed)
    model = RandomForestClassifier(n_jobs=1, random_state=seed).fit(X, y)
    return Given(X, y, model, model.predict(X), seed), X_test, y_test


def run(options, done):
    """Fit what is not in the store yet."""
    methods = [m for m in METHODS if not options.methods or m.__name__ in options.methods]
    for seed in range(options.first_seed, options.first_seed + options.splits):
        for name in options.sets:
            given, X_test, y_test = split(name, seed, options.data)
            answers = given.forest.predict(X_test)
            for method in methods:
                if (name, seed, method.__name__) in done or not installed(method):
                    continue
                for title, *figures in measure(method, given, X_test, y_test, answers):
                    done.setdefault((name, seed, method.__name__), {})[title] = figures
                    if options.store:
                        with open(options.store, "a", newline="", encoding="utf-8") as file:
                            csv.writer(file).writerow(
                                (name, seed, method.__name__, title, *figures)
                            )


def installed(method):
    """Whether the package that a method needs is there."""
    return method not in NEEDS or find_spec(NEEDS[method]) is not None


def measure(method, given, X_test, y_test, answers):
    """A line for each result of a method: accuracy, agreement, worst class, size and seconds."""
    begin = time.process_time()
    try:
        results = method(given)
    except TimeLimitError as error:
        print(f"# {method.__name__}: {error}", flush=True)
        results = {}
    seconds = time.process_time() - begin
    for title, model in results.items():
        predicted = np.asarray(model.predict(X_test))
        yield (
            title,
            float(np.mean(predicted == y_test)),
            float(np.mean(predicted == answers)),
            worst_class(predicted, answers),
            *size(model),
            seconds,
        )


def read(store):
    """Figures by (set, seed, method) and title."""
    done = {}
    if store and Path(store).exists():
        with open(store, newline="", encoding="utf-8") as file:
            for name, seed, method, title, *figures in csv.reader(file):
                results = done.setdefault((name, int(seed), method), {})
                results[title] = [float(figure) for figure in figures]
    return done


# ------------------------------------------------------------------- tables


def by_title(done):
    """Means over the splits by title and set: figures, then their differences to the plain tree."""
    splits = defaultdict(dict)
    for (name, seed, _), results in done.items():
        splits[name, seed].update(results)
    cells = defaultdict(lambda: defaultdict(list))
    for (name, _), results in splits.items():
        for title, figures in results.items():
            gaps = np.subtract(figures[:3], results[BASE][:3])
            cells[title][name].append([*figures, *gaps])
    return {
        title: {name: np.mean(rows, axis=0) for name, rows in sets.items()}
        for title, sets in cells.items()
    }


def bold(title):
    """The title, in bold if it is a method of this package."""
    return f"**{title}**" if title in HERE else title


def in_words(leaves, trees):
    """A size in a few words."""
    if np.isnan(trees):
        return "not a tree"
    size = f"{leaves:,.0f} leaves"
    return size if trees == 1 else f"{trees:.0f} trees, {size}"


def difference(values):
    """Mean and standard error of differences in points of per cent."""
    values = 100 * np.asarray(values)
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{values.mean():+.1f} ± {error:.1f}"


def summary(means, n_sets):
    """Lines of the table for the front page."""
    yield "| Method | Size | Accuracy | Agreement | vs plain tree | CPU s | Promise |"
    yield "|---" * 7 + "|"
    for title, promise in PROMISES.items():
        if title not in means or len(means[title]) < n_sets:
            continue
        rows = np.array(list(means[title].values()))
        accuracy, agreement, _, leaves, trees, seconds = rows.mean(axis=0)[:6]
        beside = "" if title in ("forest", BASE) else difference(rows[:, 7])
        yield (
            f"| {bold(title)} | {in_words(leaves, trees)} | {100 * accuracy:.1f} % | "
            f"{100 * agreement:.1f} % | {beside} | {_seconds(title, seconds)} | {promise} |"
        )


def _seconds(title, seconds):
    if title == "forest":
        return ""
    return f"{seconds:.1f}" if seconds >= 0.05 else "< 0.1"


def more(means, sets):
    """Lines of differences in accuracy and in the worst class, over the sets that all have."""
    yield "| Method | Accuracy vs plain tree | Worst class | vs plain tree |"
    yield "|---" * 4 + "|"
    for title in PROMISES:
        if title not in means or not set(sets) <= set(means[title]):
            continue
        rows = np.array([means[title][name] for name in sets])
        gaps = ["", ""] if title == BASE else [difference(rows[:, 6]), difference(rows[:, 8])]
        yield f"| {bold(title)} | {gaps[0]} | {100 * rows[:, 2].mean():.1f} % | {gaps[1]} |"


def pairs(means, sets):
    """Lines of differences between other methods than the plain tree."""
    yield "| Methods | Accuracy | Agreement |"
    yield "|---" * 3 + "|"
    for one, other in PAIRS:
        if set(sets) <= set(means.get(one, ())) & set(means.get(other, ())):
            gaps = np.array([means[one][name][:2] - means[other][name][:2] for name in sets])
            both = f"{bold(one)} less {bold(other)}"
            yield f"| {both} | {difference(gaps[:, 0])} | {difference(gaps[:, 1])} |"


def per_set(means, sets):
    """Lines of accuracy / agreement in per cent of each set."""
    yield "| accuracy / agreement, % | " + " | ".join(sets) + " |"
    yield "|---" * (len(sets) + 1) + "|"
    for title in PROMISES:
        if title in means:
            cells = [
                "{:.1f} / {:.1f}".format(*(100 * means[title][name][:2]))
                if name in means[title]
                else ""
                for name in sets
            ]
            yield f"| {bold(title)} | " + " | ".join(cells) + " |"


def missing(done):
    """In how many splits a method found nothing, of those sets that it takes."""
    found, splits = defaultdict(set), {(name, seed) for name, seed, _ in done}
    for (name, seed, _), results in done.items():
        for title in results:
            found[title].add((name, seed))
    out = {}
    for title, own in found.items():
        taken = {key for key in splits if title != "GOSDT" or (key[0] not in MORE_CLASSES)}
        if own != taken:
            out[title] = f"{len(taken - own)} of {len(taken)} splits"
    return out


def report(done):
    """The tables of what is stored."""
    means = by_title(done)
    sets = [name for name in SETS if name in means[BASE]] or list(means[BASE])
    seeds = sorted({seed for _, seed, _ in done})
    print(f"\n{CAPTION.format(sets=len(sets), splits=len(seeds), seed=seeds[0])}\n")
    print("\n".join(summary(means, len(sets))), end="\n\n")
    for title, fewer in missing(done).items():
        print(f"{title} found nothing within its time in {fewer}.\n")
    print("\n".join(more(means, sets)), end="\n\n")
    print("\n".join(pairs(means, sets)), end="\n\n")
    two = [name for name in sets if name in means.get("GOSDT", ())]
    if two and two != sets:
        part = {title: {n: m[n] for n in two if n in m} for title, m in means.items()}
        print(f"Sets of two classes alone, where GOSDT can be used: {', '.join(two)}.\n")
        print("\n".join(summary(part, len(two))), end="\n\n")
    print("\n".join(per_set(means, sets)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", help="directory of CSV files")
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--methods", nargs="+", choices=[m.__name__ for m in METHODS])
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--store", help="append one line a result to this CSV file")
    parser.add_argument("--report", action="store_true", help="print what is stored, fit nothing")
    options = parser.parse_args()
    options.sets = options.sets or (SETS if options.data else ("wine", "wdbc"))
    warnings.filterwarnings("ignore")
    print(environment("pystreed", "gosdt", "imodels", "interpret-core"))
    done = read(options.store)
    if not options.report:
        run(options, done)
    report(done)


if __name__ == "__main__":
    main()
