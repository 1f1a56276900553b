"""`nearest_flip` for many rows at once, and one row at a time, in seconds of the processor.

    python -m benchmarks.nearest_flip [--rows 1000] [--alone 50] [--sets NAME ...] [--data DIR]

The model is gradient boosting of 100 trees of depth 3, of classes or of values; the rows are drawn
from those it was fitted on. Changes of at most two features are looked for: of values, those that
raise the answer by half a standard deviation of all answers. `alone` is the time of one row when
each is asked about in a call of its own, which reads the model every time.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes, make_friedman1
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor

from benchmarks._record import environment
from ensemble_simplify import nearest_flip


def set_of(name, data):
    """Rows and targets of a set: of scikit-learn, or the last column of a file."""
    if name == "breast_cancer":
        return load_breast_cancer(return_X_y=True)
    if name == "diabetes":
        return load_diabetes(return_X_y=True)
    if name == "friedman":
        return make_friedman1(2000, noise=1.0, random_state=0)
    frame = pd.read_csv(Path(data) / f"{name}.csv")
    return frame.drop(columns="target").to_numpy(float), frame["target"].to_numpy()


def seconds_of(ask):
    """What a call answers, and its seconds of the processor."""
    start = time.process_time()
    return ask(), time.process_time() - start


def measure(name, options):
    """One line of the table."""
    X, y = set_of(name, options.data)
    is_value = y.dtype.kind == "f" and len(np.unique(y)) > 20
    kind = GradientBoostingRegressor if is_value else GradientBoostingClassifier
    model = kind(n_estimators=100, max_depth=3, random_state=0).fit(X, y)
    rows = X[np.random.default_rng(0).integers(len(X), size=options.rows)]
    asked = {"max_changes": 2}
    if is_value:
        answers = model.predict(X)
        asked["target"] = (float(np.median(answers) + answers.std() / 2), None)
    flips, together = seconds_of(lambda: nearest_flip(model, rows, **asked))
    some = rows[: options.alone]
    alone, apart = seconds_of(lambda: [nearest_flip(model, row, **asked) for row in some])
    same = all(a.changes == b.changes for a, b in zip(alone, flips, strict=False))
    if not same or not all(flip.proven for flip in flips):
        raise RuntimeError(f"{name}: rows asked about together and alone are answered otherwise.")
    found = [len(flip.changes) for flip in flips if flip]
    each, own = together / len(rows), apart / len(some)
    shares = [found.count(n) / len(rows) for n in (0, 1, 2)]
    none = 1.0 - len(found) / len(rows)
    return (
        f"| {name} | {X.shape[1]} | {'value' if is_value else len(model.classes_)} | "
        f"{together:.1f} | {1000 * each:.1f} | {1000 * own:.1f} | {own / each:.1f} | "
        + " | ".join(f"{share:.0%}" for share in (*shares, none))
        + " |"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--alone", type=int, default=50)
    parser.add_argument("--data", help="a directory of CSV files, last column `target`")
    parser.add_argument("--sets", nargs="+", default=["breast_cancer", "diabetes", "friedman"])
    options = parser.parse_args()
    print(f"{environment()}\n")
    print(
        f"| set | features | classes | {options.rows} rows, CPU s | a row, ms | alone, ms | ratio "
        "| no change | 1 | 2 | none of 2 |"
    )
    print("|" + "---|" * 11)
    for name in options.sets:
        print(measure(name, options), flush=True)


if __name__ == "__main__":
    main()
