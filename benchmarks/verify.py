"""Pairs of models that `verify` decides, or not, and in what time.

    pairs    boosted stumps against their pruned and their merged version, forests against the
             same trees in another order and against their pruned version, every input
    numbers  models with rounded leaves: the largest difference of values and probabilities

``--data DIR`` holds CSV files, last column ``target``.
"""

from __future__ import annotations

import argparse
import copy
import time
import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator

from benchmarks._record import environment
from benchmarks.faithful import load
from ensemble_simplify import FaithfulPruner, verify

STUMPS = ["seeds", "wine", "vehicle", "breast_cancer_683", "ionosphere", "wdbc", "pima_diabetes"]
SHALLOW = ["seeds", "pima_diabetes", "banknote", "wdbc", "fico_binary", "compas_binary"]


def shuffled(model, seed):
    """The same trees in another order."""
    other = copy.deepcopy(model)
    order = np.random.default_rng(seed).permutation(len(model.estimators_))
    other.estimators_ = [model.estimators_[i] for i in order]
    return other


def merged(model):
    """Stumps of the same split and labels become one, with the sum of their weights."""
    other, kinds = copy.deepcopy(model), {}
    for tree, weight in zip(model.estimators_, model.estimator_weights_, strict=False):
        nodes = tree.tree_
        labels = nodes.value[:, 0].argmax(axis=1)
        key = nodes.feature.tobytes() + nodes.threshold.tobytes() + labels.tobytes()
        kinds.setdefault(key, [tree, 0.0])[1] += weight
    other.estimators_ = [tree for tree, _ in kinds.values()]
    other.estimator_weights_ = np.array([weight for _, weight in kinds.values()])
    other.n_estimators = len(kinds)
    return other


def rounded(model, digits):
    """A copy with rounded leaves."""
    other = copy.deepcopy(model)
    for tree in np.ravel(other.estimators_):
        tree.tree_.value[...] = np.round(tree.tree_.value, digits)
    return other


def pruned(model, X, y, options):
    """The pruned ensemble, and how long pruning took."""
    begin = time.perf_counter()
    pruner = FaithfulPruner(
        FrozenEstimator(model), random_state=0, method="heuristic", time_limit=options.seconds
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        pruner.fit(X, y)
    return pruner, time.perf_counter() - begin


def pair_line(name, kind, a, b, n_trees, seconds, options):
    outcome = verify(a, b, time_limit=options.seconds)
    print(
        f"| {name} | {kind} | {n_trees} | {seconds} | {outcome.equal} | {outcome.n_boxes:,} | "
        f"{outcome.seconds:.2f} |",
        flush=True,
    )


def pairs(options):
    print("| set | pair | trees | s of pruning | equal | boxes | s |")
    print("|" + "---|" * 7)
    for name in options.sets or STUMPS:
        X, y = load(name, options.data)
        model = AdaBoostClassifier(n_estimators=100, random_state=options.seed).fit(X, y)
        other = merged(model)
        sizes = f"{len(model.estimators_)}, {len(other.estimators_)}"
        pair_line(name, "stumps, merged", model, other, sizes, "-", options)
        pruner, seconds = pruned(model, X, y, options)
        sizes = f"{len(model.estimators_)}, {pruner.n_trees_}"
        pair_line(name, "stumps, pruned", model, pruner, sizes, f"{seconds:.1f}", options)
    for name in options.sets or SHALLOW:
        X, y = load(name, options.data)
        for n_trees in (10, 50):
            model = RandomForestClassifier(n_trees, max_depth=3, random_state=options.seed)
            model.fit(X, y)
            other = shuffled(model, options.seed)
            sizes = f"{n_trees}, {n_trees}"
            pair_line(name, "depth 3, other order", model, other, sizes, "-", options)
        model = RandomForestClassifier(50, max_depth=2, random_state=options.seed).fit(X, y)
        pruner, seconds = pruned(model, X, y, options)
        sizes = f"50, {pruner.n_trees_}"
        pair_line(name, "depth 2, pruned", model, pruner, sizes, f"{seconds:.1f}", options)


def numbers(options):
    X, y = load_diabetes(return_X_y=True)
    cancer = load_breast_cancer(return_X_y=True)
    seed = options.seed
    models = [
        ("boosting, 100 trees of depth 3", GradientBoostingRegressor(random_state=seed), X, y, 3),
        (
            "boosting, 100 stumps",
            GradientBoostingRegressor(max_depth=1, random_state=seed),
            X,
            y,
            3,
        ),
        (
            "forest, 50 trees of depth 6",
            RandomForestRegressor(50, max_depth=6, random_state=seed),
            X,
            y,
            1,
        ),
        (
            "forest, 100 trees",
            RandomForestRegressor(100, random_state=seed),
            X,
            y,
            -1,
        ),
        (
            "classifying forest, 50 trees of depth 6",
            RandomForestClassifier(50, max_depth=6, random_state=seed),
            *cancer,
            2,
        ),
        (
            "boosted classes, 60 trees of depth 3",
            GradientBoostingClassifier(n_estimators=60, random_state=seed),
            *cancer,
            2,
        ),
    ]
    print("| model | digits | known bound | equal | difference seen | proven | boxes | s |")
    print("|" + "---|" * 8)
    for name, model, rows, target, digits in models:
        model.fit(rows, target)
        # half a unit of the last digit in each tree
        share = 1.0 if name.startswith(("forest", "class")) else 0.1 * len(model.estimators_)
        known = 0.5 * 10.0**-digits * share * (0.25 if "boosted" in name else 1.0)
        outcome = verify(model, rounded(model, digits), atol=known, time_limit=options.seconds)
        print(
            f"| {name} | {digits} | {known:.3g} | {outcome.equal} | {outcome.max_difference:.4g} | "
            f"{outcome.max_difference_bound:.4g} | {outcome.n_boxes:,} | {outcome.seconds:.2f} |",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["pairs", "numbers"])
    parser.add_argument("--data", help="directory of CSV files")
    parser.add_argument("--sets", nargs="+", help="only these data sets")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=30.0, help="time limit of each")
    options = parser.parse_args()
    if options.part == "pairs" and options.data is None:
        parser.error("pairs needs --data")
    print(environment("highspy"))
    print(f"\nSeed {options.seed}, time limit {options.seconds:g} s.\n")
    {"pairs": pairs, "numbers": numbers}[options.part](options)


if __name__ == "__main__":
    main()
