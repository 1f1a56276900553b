"""How alike two results are that learned from other rows of the same table.

Half of each table's rows (4,000 at most) trains the model. Results learn from two samples of this
half, drawn with replacement; the shares of rows of the other half on which the two give the same
answer are averaged over tables and models. The model stays as it is ("same model"), or is fitted
to each sample first ("whole pipeline"). CART learns from the labels, the plain tree from the
model's answers. HSTree and FIGS learn from the labels, too, where imodels is installed.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.multiclass import OneVsRestClassifier
from sklearn.tree import DecisionTreeClassifier

from benchmarks._record import environment
from benchmarks.selective import TABLES
from ensemble_simplify import CultivatedForestClassifier, GenesimClassifier, RepresenterTree

SIZES = (8, 16, 32)
PEERS = {}
if find_spec("imodels"):
    from imodels import FIGSClassifier, HSTreeClassifierCV

    def hstree(size, seed, several):
        return HSTreeClassifierCV(max_leaf_nodes=size, random_state=seed)

    def figs(size, seed, several):
        model = FIGSClassifier(max_rules=size - 1, random_state=seed)
        return OneVsRestClassifier(model) if several else model

    PEERS = {"HSTree": hstree, "FIGS": figs}


def results(model, X, y, size, seed):
    """What is made of some rows: name, and a fitted tree."""
    tree = RepresenterTree(FrozenEstimator(model), max_leaf_nodes=size, random_state=seed)
    plain = DecisionTreeClassifier(max_leaf_nodes=size, random_state=seed)
    yield "representer", tree.fit(X)
    yield "plain tree", clone(plain).fit(X, model.predict(X))
    yield "CART on y", clone(plain).fit(X, y)
    yield "cultivated", CultivatedForestClassifier(max_leaf_nodes=size, max_options=5).fit(X, y)
    for name, kind in PEERS.items():
        yield name, kind(size, seed, len(np.unique(y)) > 2).fit(X, y)
    if size == SIZES[0]:
        yield "GENESIM", GenesimClassifier(max_leaf_nodes=size, random_state=seed).fit(X, y)


def runs(path, seed):
    """For each model, setting, size and result: the agreement of two, and the accuracy."""
    table = pd.read_csv(path)
    table = table.fillna(table.median())
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(table))[:4000]
    X, y = table.iloc[order, :-1].to_numpy(float), table.iloc[order, -1].to_numpy()
    half = len(X) // 2
    samples = [rng.integers(half, size=half) for _ in range(2)]
    new = X[half:]
    for model in (
        RandomForestClassifier(100, random_state=seed),
        LGBMClassifier(n_estimators=100, verbose=-1, n_jobs=1, random_state=seed),
    ):
        kind = type(model).__name__
        one = clone(model).fit(X[:half], y[:half])
        own = [clone(model).fit(X[rows], y[rows]) for rows in samples]
        for setting, models in (("same model", [one, one]), ("whole pipeline", own)):
            if setting == "whole pipeline":
                yield kind, setting, 0, "the model", *_compared(own, new, y[half:])
            for size in SIZES:
                pairs = {}
                for fitted, rows in zip(models, samples, strict=True):
                    for name, result in results(fitted, X[rows], y[rows], size, seed):
                        pairs.setdefault(name, []).append(result)
                for name, pair in pairs.items():
                    yield kind, setting, size, name, *_compared(pair, new, y[half:])


def _compared(pair, new, y):
    answers = [one.predict(new) for one in pair]
    return np.mean(answers[0] == answers[1]), np.mean([np.mean(own == y) for own in answers])


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
        print(name, file=sys.stderr)
    columns = ["table", "model", "setting", "leaves", "result", "alike", "accuracy"]
    frame = pd.DataFrame(found, columns=columns)
    n_runs = frame.groupby(["table", "model"]).ngroups
    print(f"{environment('lightgbm', 'imodels')}\n")
    print(f"{n_runs} runs, seed {options.seed}; means in %, plain trees table by table.\n")
    print("| setting | leaves | result | two agree on | more than plain trees | accuracy |")
    print("|---|---|---|---|---|---|")
    for (setting, size), part in frame.groupby(["setting", "leaves"]):
        alike = part.pivot_table(index="table", columns="result", values="alike")
        for name in part["result"].unique():
            own = part[part["result"] == name]
            more = ""
            if "plain tree" in alike and name != "plain tree":
                gain = 100 * (alike[name] - alike["plain tree"])
                more = f"{gain.mean():+.1f} ± {gain.std() / np.sqrt(len(gain)):.1f}"
            told = f"{100 * own['alike'].mean():.1f} | {more} | {100 * own['accuracy'].mean():.1f}"
            print(f"| {setting} | {size or ''} | {name} | {told} |")


if __name__ == "__main__":
    main()
