"""How many rows selective trees answer, at which limits, and how often a limit is broken.

Half of each table's rows (4,000 at most) trains the model, and the tree learns from the same rows;
a quarter calibrates, and a quarter tells what is true. A limit is clearly broken where so many
wrong answers on the last quarter would have a chance of less than 5 % at the limit.
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

from ensemble_simplify import SelectiveTreeClassifier

# None of these had a say in how trees are chosen.
TABLES = (
    "banknote climate_model spambase wilt ionosphere htru2 compas_binary fico_heloc eeg_eye_state "
    "ecoli heart_statlog haberman fico_binary spectf breast_cancer_original soybean "
    "pima_binned10 htru2_binned10"
).split()
LIMITS = (0.02, 0.05, 0.10)


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
        wanted = model.predict(X[last:])
        for size in (16, 48):
            # both sizes are pruned from the same large tree
            sized = copy(tree).set_params(max_leaf_nodes=size)
            for limit in LIMITS:
                one = sized.at(max_disagreement=limit)
                answered = ~one.defers(X[last:])
                wrong = int((one.predict(X[last:]) != wanted).sum())
                n = int(answered.sum())
                clearly = n > 0 and binom.sf(wrong - 1, n, limit) < 0.05
                yield type(model).__name__, size, limit, n / len(wanted), wrong > limit * n, clearly


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
        print(name, [round(own[4], 2) for own in found if own[0] == name], file=sys.stderr)
    frame = pd.DataFrame(
        found, columns=["table", "model", "leaves", "limit", "coverage", "broken", "clearly"]
    )
    frame["none"] = frame["coverage"] == 0
    told = frame.groupby(["leaves", "limit"])[["coverage", "none", "broken", "clearly"]].mean()
    print(len(frame) // 6, "runs")
    print(told.round(3).to_string())


if __name__ == "__main__":
    main()
