"""What GENESIM costs: the paper's settings, gatree beside it, and a large table.

    python -m benchmarks.genesim_time [--data DIR] [--parts paper gatree large clock]
                                      [--repeats 3] [--store FILE]

- ``paper``: one fold of three at the paper's settings (population 150, 15 iterations, 10 merges,
  tournaments of 10, 25 bootstraps), one thread, CPU seconds after import, median of 5. The
  original program, ported to Python 3, took 42 (iris), 137 (wine) and 400 (heart) seconds.
- ``gatree``: 100 of its 2000 default iterations, stratified 3-fold, repeated; accuracies as pairs.
  Of the standard errors, the one in brackets allows for the overlap of the training sets.
- ``large``: 100 000 x 50 and the trees of a forest of 100; seconds and memory of the genetic part.
- ``clock``: a default fit of 100 000 x 50, one thread, without a time limit and under some.

``heart`` needs ``--data``; gatree is skipped if it is not installed.
"""

from __future__ import annotations

import argparse
import csv
import resource
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedKFold

from benchmarks._record import environment
from benchmarks.genesim import load
from ensemble_simplify import GenesimClassifier

ORIGINAL = {"iris": 42.0, "wine": 137.0, "heart": 400.0}
PARTS = ("paper", "gatree", "large", "clock")
PAPER = {"n_crossovers": 10}  # the other defaults are the paper's
SEEDS = 5  # fits of ours for each of gatree's


def folds(name, data, repeat=0):
    X, y = load(name, data)
    y = np.unique(y, return_inverse=True)[1]
    for train, test in StratifiedKFold(3, shuffle=True, random_state=repeat).split(X, y):
        yield X[train], y[train], X[test], y[test]


def timed(function):
    start = time.process_time()
    result = function()
    return time.process_time() - start, result


def paper(names, data):
    print("\n### Paper's settings, one fold, CPU seconds\n")
    print("| set | original | estimators='auto' | of it breeding | ratio | estimators='paper' |")
    print("|---|---|---|---|---|---|")
    for name in names:
        X, y, _, _ = next(folds(name, data))
        seconds = {}
        for estimators in ("auto", "paper"):
            runs = []
            for seed in range(6):
                model = GenesimClassifier(estimators, **PAPER, random_state=seed)
                runs.append(timed(lambda model=model, X=X, y=y: model.fit(X, y))[0])
            seconds[estimators] = np.median(runs[1:])
        runs = []
        for seed in range(6):
            model = GenesimClassifier(**PAPER, n_iter=0, random_state=seed)
            runs.append(timed(lambda model=model, X=X, y=y: model.fit(X, y))[0])
        breeding = seconds["auto"] - np.median(runs[1:])
        print(
            f"| {name} | {ORIGINAL[name]:.0f} | {seconds['auto']:.3f} | {breeding:.3f} | "
            f"{ORIGINAL[name] / seconds['auto']:.0f}x | {seconds['paper']:.3f} |"
        )


def gatree(names, data, repeats, store):
    """Both sides on the same folds, in one process; `store` keeps a line a fit of either side."""
    try:
        import pandas as pd
        from gatree.methods.gatreeclassifier import GATreeClassifier
    except ImportError:
        print("\n# gatree is not installed")
        return
    done = {}
    if store and Path(store).exists():
        with open(store, newline="") as file:
            for name, side, repeat, fold, seed, *figures in csv.reader(file):
                key = name, side, int(repeat), int(fold), int(seed)
                done[key] = tuple(float(figure) for figure in figures)

    def once(key, fit):
        if key not in done:
            done[key] = fit()
            if store:
                with open(store, "a", newline="") as file:
                    csv.writer(file).writerow((*key, *done[key]))
        return done[key]

    def theirs(X, y, X_test, y_test):
        columns = [f"x{i}" for i in range(X.shape[1])]
        frame, labels = pd.DataFrame(X, columns=columns), pd.Series(y)
        rival = GATreeClassifier(n_jobs=1, random_state=0)
        seconds, _ = timed(lambda: rival.fit(X=frame, y=labels, max_iter=100))
        answers = np.asarray(rival.predict(pd.DataFrame(X_test, columns=columns)))
        return seconds, np.mean(answers == y_test), rival._tree.size()

    def ours(seed, X, y, X_test, y_test):
        model = GenesimClassifier(random_state=seed)
        seconds, _ = timed(lambda: model.fit(X, y))
        return seconds, model.score(X_test, y_test), model.n_nodes_

    print(f"\n### gatree, 100 iterations; {repeats} x 3 folds, ours the mean of {SEEDS} seeds\n")
    print("| set | gatree s | acc | nodes | ours s | acc | nodes | ratio | difference | s.e. |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    both = []
    for name in names:
        pairs = []
        for repeat in range(repeats):
            for fold, rows in enumerate(folds(name, data, repeat)):
                rival = once((name, "gatree", repeat, fold, 0), lambda r=rows: theirs(*r))
                own = [
                    once((name, "ours", repeat, fold, s), lambda r=rows, s=s: ours(s, *r))
                    for s in range(SEEDS)
                ]
                pairs.append((rival, np.mean(own, axis=0)))
        both.append(np.array(pairs))
        print(gatree_row(name, both[-1]), flush=True)
    print(gatree_row("mean", np.mean(both, axis=0)))


def gatree_row(name, pairs):
    """One line of the table from an array of shape (n_folds, 2, 3)."""
    rival, own = pairs.mean(axis=0)
    difference = pairs[:, 1, 1] - pairs[:, 0, 1]
    n = len(difference)
    # Training sets of repeated folds overlap: Nadeau and Bengio's correction, for 1 row in 3.
    error = difference.std(ddof=1) * np.sqrt(1 / n + 1 / 2)
    return (
        f"| {name} | {rival[0]:.1f} | {rival[1]:.3f} | {rival[2]:.1f} | {own[0]:.3f} | "
        f"{own[1]:.3f} | {own[2]:.1f} | {rival[0] / own[0]:.0f}x | {difference.mean():+.4f} | "
        f"{difference.std(ddof=1) / np.sqrt(n):.4f} ({error:.4f}) |"
    )


def large():
    print("\n### 100 000 x 50, 100 trees fitted before\n")
    X, y = make_classification(
        100_000, 50, n_informative=20, n_classes=4, n_clusters_per_class=4, flip_y=0.05,
        random_state=0,
    )  # fmt: skip
    X = X.astype(np.float32)
    print("Seconds of CPU, one thread; 15 iterations of 10 merges.\n")
    print("| trees | leaves a tree | max_leaf_nodes | fit | of it breeding | added MB | result |")
    print("|---|---|---|---|---|---|---|")
    for depth, cap in ((8, 64), (8, None)):
        forest = RandomForestClassifier(
            100, max_depth=depth, min_samples_leaf=20, max_samples=0.2, n_jobs=2, random_state=0
        ).fit(X[:50_000], y[:50_000])
        leaves = np.mean([tree.get_n_leaves() for tree in forest.estimators_])
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        seconds = []
        for n_iter in (0, 15):
            model = GenesimClassifier(
                [FrozenEstimator(forest)], **PAPER, n_iter=n_iter, max_leaf_nodes=cap,
                random_state=0,
            )  # fmt: skip
            seconds.append(timed(lambda model=model: model.fit(X, y))[0])
        added = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        print(
            f"| depth {depth} | {leaves:.0f} | {cap} | {seconds[1]:.2f} | "
            f"{seconds[1] - seconds[0]:.2f} | {added:.0f} | {model.n_leaves_} leaves, "
            f"validation {model.validation_score_:.3f}, ensemble {model.ensemble_score_:.3f} |",
            flush=True,
        )


def clock():
    print("\n### Default fits of 100 000 x 50, one thread\n")
    X, y = make_classification(100_000, 50, n_informative=10, flip_y=0.05, random_state=0)
    X = X.astype(np.float32)
    train, test = np.arange(80_000), np.arange(80_000, 100_000)
    print("80 000 of the rows train.\n")
    print("| time_limit | seconds | of CPU | iterations | leaves | accuracy on the rest |")
    print("|---" * 6 + "|")
    for limit in (10, 20, 40, None):
        model = GenesimClassifier(time_limit=limit, n_jobs=1, random_state=0)
        start = time.monotonic()
        cpu, _ = timed(lambda model=model: model.fit(X[train], y[train]))
        print(
            f"| {limit} | {time.monotonic() - start:.1f} | {cpu:.1f} | {model.n_iter_} | "
            f"{model.n_leaves_} | {model.score(X[test], y[test]):.4f} |",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", help="directory of CSV files")
    parser.add_argument("--sets", nargs="+", choices=ORIGINAL, default=list(ORIGINAL))
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--repeats", type=int, default=3, help="of three folds, for gatree")
    parser.add_argument("--store", help="append one line a fit of the gatree part to this CSV file")
    options = parser.parse_args()
    names = [name for name in options.sets if options.data or name != "heart"]
    print(environment("gatree"))
    if "paper" in options.parts:
        paper(names, options.data)
    if "gatree" in options.parts:
        gatree(names, options.data, options.repeats, options.store)
    if "large" in options.parts:
        large()
    if "clock" in options.parts:
        clock()


if __name__ == "__main__":
    main()
