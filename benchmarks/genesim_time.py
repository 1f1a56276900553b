"""What GENESIM costs: the paper's settings, gatree beside it, and a large table.

    python -m benchmarks.genesim_time [--data DIR] [--parts paper gatree large]

- ``paper``: one fold of three at the paper's settings (population 150, 15 iterations, 10 merges,
  tournaments of 10, 25 bootstraps), one thread, CPU seconds after import, median of 5. The
  original program, ported to Python 3, took 42 (iris), 137 (wine) and 400 (heart) seconds.
- ``gatree``: 100 of its 2000 default iterations, on three folds.
- ``large``: 100 000 x 50 and the trees of a forest of 100; seconds and memory of the genetic part.

``heart`` needs ``--data``; gatree is skipped if it is not installed.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedKFold

from benchmarks.genesim import load, machine
from ensemble_simplify import GenesimClassifier

ORIGINAL = {"iris": 42.0, "wine": 137.0, "heart": 400.0}
PARTS = ("paper", "gatree", "large")
PAPER = {"n_crossovers": 10}  # the other defaults are the paper's


def folds(name, data):
    X, y = load(name, data)
    y = np.unique(y, return_inverse=True)[1]
    for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
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


def gatree(names, data):
    try:
        import pandas as pd
        from gatree.methods.gatreeclassifier import GATreeClassifier
    except ImportError:
        print("\n# gatree is not installed")
        return
    print("\n### gatree, 100 iterations; CPU seconds a fit, means of the three folds\n")
    print("| set | gatree s | acc | nodes | ours s | acc (and of 5 seeds) | nodes | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    for name in names:
        theirs, ours = [], []
        for X, y, X_test, y_test in folds(name, data):
            columns = [f"x{i}" for i in range(X.shape[1])]
            frame, labels = pd.DataFrame(X, columns=columns), pd.Series(y)
            rival = GATreeClassifier(n_jobs=1, random_state=0)
            seconds, _ = timed(lambda r=rival, X=frame, y=labels: r.fit(X, y, max_iter=100))
            answers = np.asarray(rival.predict(pd.DataFrame(X_test, columns=columns)))
            theirs.append((seconds, np.mean(answers == y_test), rival._tree.size()))
            for seed in range(5):
                model = GenesimClassifier(random_state=seed)
                seconds, _ = timed(lambda model=model, X=X, y=y: model.fit(X, y))
                ours.append((seconds, model.score(X_test, y_test), model.n_nodes_))
        seconds, accuracy, nodes = np.mean(theirs, axis=0)
        own, own_accuracy, own_nodes = np.mean(ours, axis=0)
        print(
            f"| {name} | {seconds:.1f} | {accuracy:.3f} | {nodes:.1f} | {own:.3f} | "
            f"{own_accuracy:.3f} | {own_nodes:.1f} | {seconds / own:.0f}x |",
            flush=True,
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", help="directory of CSV files")
    parser.add_argument("--sets", nargs="+", choices=ORIGINAL, default=list(ORIGINAL))
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    options = parser.parse_args()
    names = [name for name in options.sets if options.data or name != "heart"]
    print(machine())
    if "paper" in options.parts:
        paper(names, options.data)
    if "gatree" in options.parts:
        gatree(names, options.data)
    if "large" in options.parts:
        large()


if __name__ == "__main__":
    main()
