"""Trees that FaithfulPruner needs, time, and what the pruned ensemble is like.

    near        100 trees of default depth, every single-feature change of a row promised
    everywhere  boosted stumps and shallow forests, every input promised
    fipe        the same on the data of eminyous/fipe-experiments, 80 % of the rows, seed 42
    needed      how many of 100 default trees are needed, for each promise, and the processor's time
    rows        max_changes=0 on a forest's own rows, and with fresh rows as X_more, beside as many
                trees chosen otherwise: by their votes, by their answers, the first ones, and a
                forest of that many trees

In the first three, each pruned ensemble is put to random probes within the promise: values next to
cut points. ``--data DIR`` holds CSV files, last column ``target``; for ``fipe``, the checkout's
datasets. ``needed`` and ``rows`` keep each cell in the file ``--cache FILE``, one line of JSON a
cell, and go on from there.
"""

from __future__ import annotations

import argparse
import json
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
# By these, the choice of trees by votes was made; the others confirm it.
CHOSEN_BY = [
    *["heart_statlog", "wdbc", "seeds", "pima_diabetes", "vehicle", "blood_transfusion"],
    *["qsar_biodeg", "steel_plates", "magic", "ionosphere"],
]
CONFIRMED_BY = [
    *["banknote", "australian", "spambase", "eeg_eye_state", "fico_heloc", "sonar", "glass"],
    *["vertebral", "haberman", "parkinsons", "climate_model", "wilt"],
]
NEEDED = [
    *["wdbc", "ionosphere", "seeds", "heart_statlog", "vehicle", "blood_transfusion"],
    *["vertebral", "pima_diabetes", "banknote"],
]
MOST_ROWS, TREES = 1500, 100
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


def few_rows(name, seed, options):
    """A set, of which at most so many rows are drawn."""
    X, y = load(name, options.data)
    if len(X) > MOST_ROWS:
        X, _, y, _ = train_test_split(X, y, train_size=MOST_ROWS, random_state=seed, stratify=y)
    return X, y


def needed(name, changes, options):
    """Trees kept and needed, and CPU seconds, for one promise about a default forest."""
    X, y = few_rows(name, options.seed, options)
    X, _, y, _ = train_test_split(X, y, train_size=0.7, random_state=options.seed, stratify=y)
    forest = RandomForestClassifier(TREES, random_state=options.seed).fit(X, y)
    pruner = FaithfulPruner(
        FrozenEstimator(forest),
        max_changes=None if changes == "every input" else int(changes),
        random_state=0,
        time_limit=options.seconds,
    )
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        pruner.fit(X, y)
    seconds = time.process_time() - begin
    return {"kept": pruner.n_trees_, "needed": pruner.n_trees_lower_bound_, "seconds": seconds}


def by_votes(votes, n):
    """Trees of which the mean votes are, one after the other, the nearest to those of all."""
    target, total, chosen = votes.mean(axis=0), np.zeros(votes.shape[1:]), []
    for m in range(1, n + 1):
        left = [t for t in range(len(votes)) if t not in chosen]
        chosen.append(
            min(left, key=lambda t, m=m: np.square((total + votes[t]) / m - target).sum())
        )
        total = total + votes[chosen[-1]]
    return chosen


def by_answers(votes, n):
    """Trees that, one after the other, answer the most rows as all; ties by bounded leads."""
    rows, whole = np.arange(votes.shape[1]), votes.sum(axis=0).argmax(axis=1)
    total, chosen = np.zeros(votes.shape[1:]), []

    def same(t):
        found = total + votes[t]
        second = np.partition(found, -2, axis=1)[:, -2]
        right = (found.argmax(axis=1) == whole).sum()
        return right, np.minimum(found[rows, whole] - second, 1).sum()

    for _ in range(n):
        chosen.append(max((t for t in range(len(votes)) if t not in chosen), key=same))
        total = total + votes[chosen[-1]]
    return chosen


def near_rows(name, setting, seed, options):
    """Agreement on new rows at max_changes=0, beside as many trees chosen otherwise."""
    X, y = few_rows(name, seed, options)
    X, X_new, y, _ = train_test_split(X, y, train_size=2 / 3, random_state=seed)
    n_own = len(X) if setting == "own rows" else int(0.6 * len(X))
    own, own_y = X[:n_own], y[:n_own]
    forest = RandomForestClassifier(TREES, random_state=seed).fit(own, own_y)
    pruner = FaithfulPruner(
        FrozenEstimator(forest), max_changes=0, method="heuristic", random_state=0
    )
    begin = time.process_time()
    pruner.fit(own, own_y, X_more=X[n_own:] if n_own < len(X) else None)
    seconds = time.process_time() - begin
    n = pruner.n_trees_
    whole = forest.predict(X_new)
    votes, new = (
        np.array([tree.predict_proba(rows) for tree in forest.estimators_]) for rows in (X, X_new)
    )

    def agreement(trees):
        answers = forest.classes_[new[trees].sum(axis=0).argmax(axis=1)]
        return float(np.mean(answers == whole))

    small = RandomForestClassifier(n, random_state=seed + 1000).fit(own, own_y)
    return {
        "trees": n,
        "seconds": seconds,
        "pruned": float(np.mean(pruner.predict(X_new) == whole)),
        "by votes": agreement(by_votes(votes, n)),
        "by answers": agreement(by_answers(votes, n)),
        "first": agreement(list(range(n))),
        "a forest": float(np.mean(small.predict(X_new) == whole)),
    }


def cells(tasks, options):
    """Figures of tasks, ``{key: call}``, by key: from the cache, or measured and kept there."""
    known = {}
    if options.cache and options.cache.exists():
        for entry in options.cache.read_text(encoding="utf-8").splitlines():
            cell = json.loads(entry)
            known[tuple(cell["key"])] = cell["found"]
    for key, call in tasks.items():
        if key not in known:
            known[key] = call()
            if options.cache:
                with open(options.cache, "a", encoding="utf-8") as file:
                    print(json.dumps({"key": key, "found": known[key]}), file=file)
    return {key: known[key] for key in tasks}


def show_needed(options):
    """A row for each set; trees kept, trees proven to be needed, CPU seconds, for each promise."""
    promises = ["1", "2", "every input"]
    tasks = {
        ("needed", name, changes): lambda name=name, changes=changes: needed(name, changes, options)
        for name in options.sets or NEEDED
        for changes in promises
    }
    found = cells(tasks, options)
    print(f"70 % of the rows, seed {options.seed}, time limit {options.seconds:g} s.\n")
    columns = [
        f"{what}: {column}"
        for what in ("1 change", "2 changes", "every input")
        for column in ("kept", "needed", "CPU s")
    ]
    print(f"| set | {' | '.join(columns)} |")
    print("|" + "---|" * (1 + len(columns)))
    for name in options.sets or NEEDED:
        row = [found["needed", name, changes] for changes in promises]
        shown = [f"{r['kept']} | {r['needed']} | {r['seconds']:.1f}" for r in row]
        print(f"| {name} | {' | '.join(shown)} |")


def show_rows(options):
    """Mean differences over sets, with standard errors, in points of agreement on new rows."""
    halves = {"chosen by": CHOSEN_BY, "confirmed by": CONFIRMED_BY}
    seeds = range(options.seed, options.seed + 2)
    settings = "own rows", "fresh rows as X_more"
    tasks = {
        ("rows", name, setting, seed): lambda name=name, setting=setting, seed=seed: near_rows(
            name, setting, seed, options
        )
        for names in halves.values()
        for name in names
        if not options.sets or name in options.sets
        for setting in settings
        for seed in seeds
    }
    found = cells(tasks, options)
    print(
        f"Default forests on two thirds of at most {MOST_ROWS} rows (with fresh rows: on 60 % of "
        "these), two splits, method='heuristic'; agreement with the forest on the last third, and "
        "the difference to as many trees chosen otherwise, in points; means over sets and "
        "standard errors.\n"
    )
    others = "by votes", "by answers", "first", "a forest"
    print(f"| rows | sets | trees | agreement | {' | '.join(others)} | CPU s |")
    print("|" + "---|" * (5 + len(others)))
    for setting in settings:
        for half, names in halves.items():
            cell = [
                [found["rows", name, setting, seed] for seed in seeds]
                for name in names
                if ("rows", name, setting, seeds[0]) in found
            ]
            if len(cell) < 2:
                continue
            mean = {k: np.array([np.mean([f[k] for f in c]) for c in cell]) for k in cell[0][0]}
            shown = []
            for other in others:
                gain = 100 * (mean["pruned"] - mean[other])
                shown.append(f"{gain.mean():+.1f} ± {gain.std(ddof=1) / len(gain) ** 0.5:.1f}")
            print(
                f"| {setting} | {len(cell)} {half} | {mean['trees'].mean():.0f} | "
                f"{mean['pruned'].mean():.3f} | {' | '.join(shown)} | "
                f"{mean['seconds'].mean():.1f} |"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["near", "everywhere", "fipe", "needed", "rows"])
    parser.add_argument("--data", required=True, help="directory of CSV files")
    parser.add_argument("--sets", nargs="+", help="only these data sets")
    parser.add_argument("--models", nargs="+", default=["forest"], choices=MODELS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60.0, help="time limit of each")
    parser.add_argument("--probes", type=int, default=1_000_000)
    parser.add_argument("--cache", type=Path, help="for needed and rows: cells that are done")
    options = parser.parse_args()
    if options.part in ("needed", "rows"):
        print(environment("highspy"), end="\n\n")
        return show_needed(options) if options.part == "needed" else show_rows(options)
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
