"""Trees that FaithfulPruner needs, time, and what the pruned ensemble is like.

    near        100 trees of default depth, every single-feature change of a row promised
    everywhere  boosted stumps and shallow forests, every input promised
    fipe        the same on the data of eminyous/fipe-experiments, 80 % of the rows, seed 42

Each pruned ensemble is put to random probes within the promise: values next to cut points.
``--data DIR`` holds CSV files, last column ``target``; for ``fipe``, the checkout's datasets.
"""

from __future__ import annotations

import argparse
import pickle
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from benchmarks._record import environment
from ensemble_simplify import FaithfulPruner
from ensemble_simplify.grid.axes import Axes
from ensemble_simplify.reading.forest import read_forest

NEAR = ["iris", "wine", "seeds", "heart_statlog", "ionosphere", "wdbc", "banknote", "digits"]
MODELS = {
    "forest": lambda s: RandomForestClassifier(100, random_state=s),
    "extra": lambda s: ExtraTreesClassifier(100, random_state=s),
    "bagged": lambda s: BaggingClassifier(DecisionTreeClassifier(), 100, random_state=s),
    "adaboost": lambda s: AdaBoostClassifier(n_estimators=100, random_state=s),
    "boosting": lambda s: GradientBoostingClassifier(random_state=s),
}
STUMPS = [
    *[(name, 50) for name in ("seeds", "htru2", "pima_diabetes", "fico_heloc")],
    *[(name, 100) for name in ("breast_cancer_683", "ionosphere", "wdbc", "spambase")],
]
SHALLOW = ["seeds", "pima_diabetes"]
FIPE_STUMPS = [
    *[(name, 50) for name in ("Seeds", "HTRU2", "Pima-Diabetes", "FICO")],
    *[
        (name, 100)
        for name in ("PoL", "ELEC2", "Breast-Cancer-Wisconsin", "Ionosphere", "Spambase")
    ],
]
FIPE_SHALLOW = ["Seeds", "Pima-Diabetes", "COMPAS-ProPublica", "FICO", "HTRU2"]


def load(name, directory):
    if name == "digits":
        return load_digits(return_X_y=True)
    path = Path(directory) / f"{name}.csv"
    if not path.exists():
        path = Path(directory) / name / f"{name}.full.csv"
    with open(path, encoding="utf-8") as file:
        rows = [line.strip().split(",") for line in file][1:]
    X = np.array([[float(v) for v in row[:-1]] for row in rows])
    return X, np.unique([row[-1] for row in rows], return_inverse=True)[1]


def n_differences(pruner, X, n, changes, rng):
    """How many of some probes the pruned ensemble answers otherwise."""
    cuts = Axes.of(read_forest(pruner.estimator_)).by_feature
    split = [j for j, values in enumerate(cuts) if len(values)]
    different = 0
    for begin in range(0, n, 50_000):
        rows = X[rng.integers(len(X), size=min(50_000, n - begin))].astype(np.float32)
        for change in range(len(split) if changes is None else changes):
            at = (
                np.full(len(rows), split[change])
                if changes is None
                else rng.choice(split, len(rows))
            )
            for j in np.unique(at):
                here = np.flatnonzero(at == j)
                value = rng.choice(cuts[j], len(here)).astype(np.float32)
                towards = rng.choice([-np.inf, 0.0, np.inf], len(here)).astype(np.float32)
                moved = np.nextafter(value, np.where(towards == 0, value, towards))
                rows[here, j] = moved
        different += np.sum(pruner.predict(rows) != pruner.estimator_.predict(rows))
    return int(different)


def seconds_of(predict, X):
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        predict(X)
        times.append(time.perf_counter() - begin)
    return min(times)


def line(name, kind, model, X, y, seed, options, *, changes):
    train, test, y_train, y_test = train_test_split(
        X, y, train_size=options.rows, random_state=seed, stratify=None if options.fipe else y
    )
    model.fit(train, y_train)
    begin = time.perf_counter()
    pruner = FaithfulPruner(
        FrozenEstimator(model), max_changes=changes, random_state=seed, time_limit=options.seconds
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        pruner.fit(train, y_train)
    seconds = time.perf_counter() - begin
    different = n_differences(pruner, train, options.probes, changes, np.random.default_rng(seed))
    few = "-"
    if changes is not None:
        fits = np.flatnonzero(pruner.path_.n_exceptions <= 0.01 * pruner.n_points_)
        few = str(pruner.path_.n_trees[fits[0]])
    whole, pruned = model, pruner.pruned_estimator_
    size = len(pickle.dumps(pruned)) / len(pickle.dumps(whole))
    speed = seconds_of(pruned.predict, test) / seconds_of(whole.predict, test)
    points = "all" if changes is None else f"{pruner.n_points_:,}"
    print(
        f"| {name} | {kind} | {points} | {len(pruner.weights_)} -> {pruner.n_trees_} | "
        f"{pruner.n_trees_lower_bound_} | {seconds:.1f} | {few} | "
        f"{np.mean(pruner.predict(test) == whole.predict(test)):.3f} | "
        f"{whole.score(test, y_test):.3f} / {pruner.score(test, y_test):.3f} | "
        f"{size:.2f} | {speed:.2f} | {different} |",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["near", "everywhere", "fipe"])
    parser.add_argument("--data", required=True, help="directory of CSV files")
    parser.add_argument("--sets", nargs="+", help="only these data sets")
    parser.add_argument("--models", nargs="+", default=["forest"], choices=MODELS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60.0, help="time limit of each")
    parser.add_argument("--probes", type=int, default=1_000_000)
    options = parser.parse_args()
    options.fipe = options.part == "fipe"
    options.rows = 0.8 if options.fipe else 0.7
    if options.fipe:
        options.seed = 42
    print(environment("highspy"))
    print(f"\n{options.rows:.0%} of the rows, seed {options.seed}, ", end="")
    print(f"time limit {options.seconds:g} s, {options.probes:,} probes.\n")
    print(
        "| set | ensemble | promised points | trees | at least | s | trees at 1 % exceptions | "
        "agreement on unseen rows | accuracy, whole / pruned | size | time | probes that differ |"
    )
    print("|" + "---|" * 12)
    if options.part == "near":
        for name in options.sets or NEAR:
            for kind in options.models:
                model = MODELS[kind](options.seed)
                X, y = load(name, options.data)
                line(name, kind, model, X, y, options.seed, options, changes=1)
        return
    for name, n_trees in FIPE_STUMPS if options.fipe else STUMPS:
        if not options.sets or name in options.sets:
            model = AdaBoostClassifier(n_estimators=n_trees, random_state=options.seed)
            X, y = load(name, options.data)
            line(name, "stumps", model, X, y, options.seed, options, changes=None)
    for name in FIPE_SHALLOW if options.fipe else SHALLOW:
        if not options.sets or name in options.sets:
            model = RandomForestClassifier(50, max_depth=2, random_state=options.seed)
            X, y = load(name, options.data)
            line(name, "forest, depth 2", model, X, y, options.seed, options, changes=None)


if __name__ == "__main__":
    main()
