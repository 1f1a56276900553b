"""What a promise on boosting's own rows is worth on new ones, with and without synthetic rows.

Boosting is fitted on six tenths of 1,300 rows at most. ``FaithfulPruner(max_changes=0)`` keeps its
answers to these, or to these and 3,000 synthetic rows (the default). Counted on the other rows: how
often the pruned model answers as the whole one, and what its accuracy loses; the same for as many
first trees. The number of rows and the law were chosen on six other tables.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split

from benchmarks._record import environment
from ensemble_simplify import FaithfulPruner

TABLES = (
    "seeds ecoli vehicle qsar_biodeg australian blood_transfusion climate_model steel_plates "
    "parkinsons wdbc haberman spectf"
).split()
COLUMNS = "table model rows of trees alike loss first_alike first_loss seconds".split()


def answers_of_first(model, n, X):
    """What the first iterations answer that hold at most `n` trees, but for one."""
    if isinstance(model, LGBMClassifier):
        a_round = len(model.classes_) if len(model.classes_) > 2 else 1
        return model.predict(X, num_iteration=max(1, n // a_round))
    return list(model.staged_predict(X))[max(1, n // model.estimators_.shape[1]) - 1]


def runs(path, seed):
    table = pd.read_csv(path)
    X = table.iloc[:, :-1].apply(pd.to_numeric, errors="coerce")
    X = X.fillna(X.median()).to_numpy(np.float32).astype(float)
    y = np.unique(table.iloc[:, -1], return_inverse=True)[1]
    order = np.random.default_rng(seed).permutation(len(X))[:1300]
    X, X_new, y, y_new = train_test_split(
        X[order], y[order], test_size=0.4, random_state=seed, stratify=y[order]
    )
    for model in (
        LGBMClassifier(n_estimators=100, verbose=-1, n_jobs=1),
        GradientBoostingClassifier(random_state=0),
    ):
        whole = model.fit(X, y).predict(X_new)
        right = np.mean(whole == y_new)
        for rows, n_samples in (("its own", 0), ("and synthetic ones", "auto")):
            begin = time.process_time()
            pruner = FaithfulPruner(
                FrozenEstimator(model), max_changes=0, n_samples=n_samples, random_state=0
            ).fit(X, y)
            seconds = time.process_time() - begin
            row = [path.stem, type(model).__name__, rows, len(pruner.weights_), pruner.n_trees_]
            first = answers_of_first(model, pruner.n_trees_, X_new)
            for found in (pruner.predict(X_new), first):
                row += [100 * np.mean(found == whole), 100 * (right - np.mean(found == y_new))]
            yield [*row, seconds]


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of CSV files")
    parser.add_argument("--seed", type=int, default=21)
    parser.add_argument("--tables", nargs="*", default=TABLES)
    options = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    found = []
    for name in options.tables:
        found += runs(options.data / f"{name}.csv", options.seed)
        print(name, file=sys.stderr)
    frame = pd.DataFrame(found, columns=COLUMNS)
    print(f"{environment('lightgbm', 'highspy')}\n")
    print(
        f"{frame['table'].nunique()} tables, seed {options.seed}; in %, points and CPU seconds.\n"
    )
    print(
        "| model | promised rows | trees | alike | accuracy lost | first trees: alike | lost | s |"
    )
    print("|---" * 8 + "|")
    for (model, rows), part in frame.groupby(["model", "rows"], sort=False):
        mean, error = part.mean(numeric_only=True), part.sem(numeric_only=True)
        cells = [f"{mean['trees']:.0f} of {mean['of']:.0f}", f"{mean['alike']:.1f}"]
        cells.append(f"{mean['loss']:.1f} ± {error['loss']:.1f}")
        cells += [f"{mean['first_alike']:.1f}"]
        cells.append(f"{mean['first_loss']:.1f} ± {error['first_loss']:.1f}")
        print(f"| {model} | {rows} | {' | '.join(cells)} | {mean['seconds']:.1f} |")


if __name__ == "__main__":
    main()
