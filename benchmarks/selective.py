"""How many rows selective trees answer, at which limits, and how often a limit is broken.

Half of each table's rows (4,000 at most) trains the model, and the tree learns from the same rows;
a quarter calibrates, and a quarter tells what is true. A limit is clearly broken where so many
wrong answers on the last quarter would have a chance of less than 5 % at the limit.

Three alternatives get the same rows and the same test. A plain tree is grown on the model's answers
to the rows that train. Its leaves, or those of a representer tree of that size, are added one after
the other, the surest by their own probabilities first, until the test fails. A gate is a forest
that is fitted to whether the plain tree agrees with the model on these rows (as far as the abstract
of arXiv 2603.14623 tells); rows are added by its probability. It answers what no reader can follow.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from copy import copy
from pathlib import Path

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from scipy.stats import binom
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier

from benchmarks._record import environment
from ensemble_simplify import RepresenterTree, SelectiveTreeClassifier

# None of these had a say in how trees are chosen.
TABLES = (
    "banknote climate_model spambase wilt ionosphere htru2 compas_binary fico_heloc eeg_eye_state "
    "ecoli heart_statlog haberman fico_binary spectf breast_cancer_original soybean "
    "pima_binned10 htru2_binned10"
).split()
LIMITS = (0.02, 0.05, 0.10)
SIZES = (16, 48)


def surest_first(of_row, wrong, limit):
    """The least score with which a row may be answered: one fixed sequence, the surest first."""
    least = np.inf
    for threshold in np.unique(of_row)[::-1]:
        answered = of_row >= threshold
        n = int(answered.sum())
        # too few rows to tell anything: the sequence begins later
        if binom.cdf(0, n, limit) > 0.05:
            continue
        if binom.cdf(wrong[answered].sum(), n, limit) > 0.05:
            break
        least = threshold
    return least


def runs(path, seed):
    """For each model, size and limit: coverage, and whether the limit is broken, and clearly."""
    table = pd.read_csv(path)
    table = table.fillna(table.median())
    order = np.random.default_rng(seed).permutation(len(table))[:4000]
    X, y = table.iloc[order, :-1].to_numpy(float), table.iloc[order, -1].to_numpy()
    half, last = len(X) // 2, 3 * len(X) // 4
    for model in (
        RandomForestClassifier(100, random_state=seed),
        LGBMClassifier(n_estimators=100, verbose=-1, n_jobs=1, random_state=seed),
    ):
        model.fit(X[:half], y[:half])
        tree = SelectiveTreeClassifier(FrozenEstimator(model), random_state=seed)
        tree.fit(X[half:last], X_more=X[:half])
        wanted, told = model.predict(X[last:]), model.predict(X[half:last])
        for size in SIZES:
            # both sizes are pruned from the same large tree
            sized = copy(tree).set_params(max_leaf_nodes=size)
            plain = DecisionTreeClassifier(max_leaf_nodes=size, random_state=seed)
            plain.fit(X[:half], model.predict(X[:half]))
            sure = RepresenterTree(
                FrozenEstimator(model), max_leaf_nodes=size, random_state=seed
            ).fit(X[:half])
            agrees = plain.predict(X[:half]) == model.predict(X[:half])
            forest = RandomForestClassifier(100, min_samples_leaf=5, random_state=seed)
            forest.fit(X[:half], agrees)

            def gate(rows, forest=forest):
                return forest.predict_proba(rows)[:, forest.classes_.tolist().index(True), None]

            for limit in LIMITS:
                one = sized.at(max_disagreement=limit)
                ways = {"selective": (one, ~one.defers(X[last:]))}
                for way, other, score in (
                    ("plain tree", plain, plain.predict_proba),
                    ("representer", sure, sure.predict_proba),
                    ("gate", plain, gate),
                ):
                    wrong = other.predict(X[half:last]) != told
                    least = surest_first(score(X[half:last]).max(axis=1), wrong, limit)
                    ways[way] = other, score(X[last:]).max(axis=1) >= least
                for way, (answers, answered) in ways.items():
                    wrong = int((answers.predict(X[last:]) != wanted)[answered].sum())
                    n = int(answered.sum())
                    clearly = n > 0 and binom.sf(wrong - 1, n, limit) < 0.05
                    told_of = type(model).__name__, way, size, limit
                    yield *told_of, n / len(wanted), wrong > limit * n, clearly


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of CSV files")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tables", nargs="*", default=TABLES)
    options = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    found = []
    for name in options.tables:
        found += [(name, *own) for own in runs(options.data / f"{name}.csv", options.seed)]
        print(name, [round(own[5], 2) for own in found if own[0] == name], file=sys.stderr)
    frame = pd.DataFrame(
        found,
        columns=["table", "model", "way", "leaves", "limit", "coverage", "broken", "clearly"],
    )
    frame["none"] = frame["coverage"] == 0
    n_runs = frame.groupby(["table", "model"]).ngroups
    print(f"{environment('lightgbm')}\n")
    print(f"{n_runs} runs, seed {options.seed}; shares in %.\n")
    print("| limit | leaves | way | rows answered | nothing certified | exceeded | clearly |")
    print("|---|---|---|---|---|---|---|")
    ways = frame["way"].unique()
    for (limit, size), part in frame.groupby(["limit", "leaves"]):
        for way in ways:
            mean = part[part["way"] == way][["coverage", "none", "broken", "clearly"]].mean()
            shares = " | ".join(f"{100 * share:.1f}" for share in mean)
            print(f"| {100 * limit:g} | {size} | {way} | {shares} |")


if __name__ == "__main__":
    main()
