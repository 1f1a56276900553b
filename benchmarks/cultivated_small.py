"""Cultivated forests: small trees, and which predictions can be relied on.

    python -m benchmarks.cultivated_small leaves --data DIR [--sets sonar seeds] [--repeats 1]
    python -m benchmarks.cultivated_small reliability --data DIR

DIR holds one CSV file a data set (header, numeric columns, last column ``target``); without it
the two sets that come with scikit-learn are used. Stratified 5-fold cross-validation with
shuffled rows, on ten sets that took no part in choosing what is compared here; differences are
to the first line, with their standard errors over the sets.

``leaves``: accuracy and AUC of trees that are limited in different ways, beside the whole tree.
``reliability``: how well scores rank the errors on held-out rows (AUC, 1 if every wrong row
comes before every right one), and the coverage of sets of classes.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import defaultdict

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from benchmarks._record import environment
from benchmarks.genesim_small_trees import BUNDLED, SETS, TunedCart, load
from ensemble_simplify import CultivatedForestClassifier

FIRST_SEED = 8100
CART = "CART of sharp splits, tuned"  # over its own pruning path, 5 shuffled folds
SMALL = {"max_leaf_nodes": 15, "max_options": 5}
TREES = {
    "whole": {"ccp_alpha": 0},
    "whole, 5 options": {"ccp_alpha": 0, "max_options": 5},
    "whole, refitted": {"ccp_alpha": 0, "leaf_values": "refit"},
    "default": {},
    "default, 5 options": {"max_options": 5},
    "depth 4": {"max_depth": 4},
    "depth 4, 5 options": {"max_depth": 4, "max_options": 5},
    "15 leaves": {"max_leaf_nodes": 15},
    "15 leaves, 5 options": SMALL,
    "15 leaves, 5 options, k of the whole": {**SMALL, "k": "sqrt"},
    "15 leaves, 5 options, class shares": {**SMALL, "leaf_values": "shares"},
    "15 leaves, 5 options, both": {**SMALL, "k": "sqrt", "leaf_values": "shares"},
    "15 leaves, 5 options, cv": {**SMALL, "ccp_alpha": "cv"},
    "cv": {"ccp_alpha": "cv"},
    "cv, 5 options": {"ccp_alpha": "cv", "max_options": 5},
    CART: None,
}
CONFIDENCES = (0.8, 0.9, 0.95)


def folds_of(name, options):
    """Training and test rows of every fold, with its seed."""
    X, y = load(name, options.data)
    for repeat in range(options.repeats):
        seed = FIRST_SEED + repeat
        for train, test in StratifiedKFold(5, shuffle=True, random_state=seed).split(X, y):
            yield X[train], y[train], X[test], y[test], seed


def compare_trees(name, options):
    """Accuracy, AUC, leaves and CPU seconds of every tree."""
    figures = defaultdict(list)
    for X, y, X_test, y_test, seed in folds_of(name, options):
        for tree, limits in TREES.items():
            if limits is None:
                clf = TunedCart(seed)
            else:
                clf = CultivatedForestClassifier(**limits, random_state=seed)
            start = time.process_time()
            clf.fit(X, y)
            seconds = time.process_time() - start
            proba = clf.predict_proba(X_test)
            auc = roc_auc_score(
                y_test, proba[:, 1] if proba.shape[1] == 2 else proba, multi_class="ovr"
            )
            leaves = clf.decision_tree_.get_n_leaves() if limits is None else clf.n_leaves_
            accuracy = np.mean(clf.predict(X_test) == y_test)
            figures[tree].append((accuracy, auc, leaves, seconds))
    return {tree: np.mean(rows, axis=0) for tree, rows in figures.items()}


def signs(clf, X):
    """Margin and spread of rows."""
    return np.column_stack([clf.predict_margin(X), clf.predict_spread(X)])


def learned_doubt(X, y, X_test, clf, seed):
    """Probability of an error by margin and spread, learned on held-out training rows."""
    inputs, wrong = [], []
    for train, held in StratifiedKFold(5, shuffle=True, random_state=seed).split(X, y):
        part = CultivatedForestClassifier().fit(X[train], y[train])
        inputs.append(signs(part, X[held]))
        wrong.append(part.predict(X[held]) != y[held])
    wrong = np.concatenate(wrong)
    if wrong.all() or not wrong.any():
        return None
    model = make_pipeline(PolynomialFeatures(2), StandardScaler(), LogisticRegression())
    model.fit(np.concatenate(inputs), wrong)
    return model.predict_proba(signs(clf, X_test))[:, 1]


def rank_errors(name, options):
    """AUC of every score as a ranking of the errors; coverage and size of sets of classes."""
    figures = defaultdict(list)
    for X, y, X_test, y_test, seed in folds_of(name, options):
        clf = CultivatedForestClassifier().fit(X, y)
        margin, spread = signs(clf, X_test).T
        proba = clf.predict_proba(X_test)
        wrong = clf.predict(X_test) != y_test
        scores = {
            "margin": -margin,
            "spread": spread,
            "margin less half the spread": 0.5 * spread - margin,
            "margin and half the spread": -margin - 0.5 * spread,
            "margin by spread": -margin / (spread + 0.05),
            "entropy": -(proba * np.log(np.maximum(proba, 1e-12))).sum(axis=1),
            "learned from both": learned_doubt(X, y, X_test, clf, seed),
        }
        if wrong.any() and not wrong.all() and scores["learned from both"] is not None:
            for score, values in scores.items():
                figures[score].append(roc_auc_score(wrong, values))
        X_fit, X_rest, y_fit, y_rest = train_test_split(
            X, y, test_size=1 / 3, stratify=y, random_state=seed
        )
        ready = CultivatedForestClassifier().fit(X_fit, y_fit).calibrate(X_rest, y_rest)
        for confidence in CONFIDENCES:
            member = ready.predict_label_set(X_test, confidence=confidence)
            held = member[np.arange(len(y_test)), np.searchsorted(ready.classes_, y_test)]
            figures[confidence].append((held.mean(), member.sum(axis=1).mean()))
    return {score: np.mean(rows, axis=0) for score, rows in figures.items()}


def difference(values, first):
    """Mean difference over the sets and its standard error, as text."""
    gap = values - first
    if not gap.any():
        return ""
    return f"{gap.mean():+.4f} +- {gap.std(ddof=1) / np.sqrt(len(gap)):.4f}"


def print_trees(results):
    print("| tree | accuracy | AUC | leaves | CPU s | accuracy less the first's |")
    print("|---" * 6 + "|")
    first = np.array([figures["whole"][0] for figures in results.values()])
    for tree in TREES:
        of_sets = np.array([figures[tree] for figures in results.values()])
        accuracy, auc, leaves, seconds = of_sets.mean(axis=0)
        print(
            f"| {tree} | {accuracy:.4f} | {auc:.4f} | {leaves:.1f} | {seconds:.3f} | "
            f"{difference(of_sets[:, 0], first)} |"
        )


def print_ranks(results):
    print("| errors ranked by | AUC | less the margin's |\n|---|---|---|")
    ranked = [figures for figures in results.values() if "margin" in figures]
    first = np.array([figures["margin"] for figures in ranked])
    for score in ranked[0]:
        if isinstance(score, str):
            values = np.array([figures[score] for figures in ranked])
            print(f"| {score} | {values.mean():.4f} | {difference(values, first)} |")
    print("\n| confidence | coverage: mean | least of the sets | classes in a set |")
    print("|---|---|---|---|")
    for confidence in CONFIDENCES:
        held, size = np.array([figures[confidence] for figures in results.values()]).T
        print(f"| {confidence} | {held.mean():.4f} | {held.min():.3f} | {size.mean():.2f} |")


PARTS = {"leaves": (compare_trees, print_trees), "reliability": (rank_errors, print_ranks)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--data", help="directory of CSV files")
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--repeats", type=int, default=1)
    options = parser.parse_args()
    sets = options.sets or (SETS if options.data else tuple(BUNDLED))
    warnings.filterwarnings("ignore", category=FutureWarning)
    measure, show = PARTS[options.part]
    print(f"{environment()}\n\n{len(sets)} sets, {5 * options.repeats} folds a set.\n")
    show({name: measure(name, options) for name in sets})


if __name__ == "__main__":
    main()
