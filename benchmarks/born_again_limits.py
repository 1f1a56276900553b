"""What time limits give: trees and bounds where the exact search does not end, and proofs.

    python -m benchmarks.born_again_limits frontier --data DIR [--limit 10] [--sets pima heart]
    python -m benchmarks.born_again_limits anytime --data DIR
    python -m benchmarks.born_again_limits changed --data DIR [--changes 20]

frontier
    Random forests with ``random_state=0`` on all rows, default parameters and a time limit: depth
    and leaves, each with its bound, ``*`` where they are proven smallest. "refused": a tree with
    the forest's function is expected to have far more than a million leaves.
anytime
    The same forest under rising limits, with the processor's seconds of the whole ``fit``, the
    reading of the forest and the writing of the tree included.
changed
    One leaf turned round in a forest of 200 trees without a limit on their depth, on spambase:
    how long `verify` takes to find a row that tells the two forests apart.

Limits are on wall time: on a busy machine, the processor's seconds are fewer.
"""

from __future__ import annotations

import argparse
import copy
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator

from benchmarks._record import environment
from ensemble_simplify import BornAgainClassifier, TimeLimitError, verify

FILES = {
    "iris": "iris",
    "wine": "wine",
    "bc683": "breast_cancer_683",
    "banknote": "banknote",
    "pima": "pima_diabetes",
    "heart": "heart_statlog",
    "blood": "blood_transfusion",
    "seeds": "seeds",
}
SHAPES = ((10, 3), (10, 5), (100, 3), (100, None))
LADDERS = (
    ("heart", 10, 3, (1, 2, 3, 5, 10, 30)),
    ("banknote", 10, None, (1, 3, 10)),
    ("wine", 10, 3, (1, 3, 10)),
    ("wine", 10, 5, (1, 3, 10)),
)


def read(folder, name):
    data = pd.read_csv(folder / f"{name}.csv")
    return data.drop(columns="target").to_numpy(float), data["target"].to_numpy()


def grown(folder, name, n_trees, depth):
    X, y = read(folder, FILES.get(name, name))
    return X, y, RandomForestClassifier(n_trees, max_depth=depth, random_state=0).fit(X, y)


def fitted(X, y, forest, limit):
    """What a fit under a limit gives, in words, and its seconds."""
    model = BornAgainClassifier(FrozenEstimator(forest), time_limit=limit, random_state=0)
    begin, wall = time.process_time(), time.perf_counter()
    try:
        model.fit(X, y)
    except TimeLimitError:
        found = "no tree"
    except ValueError as error:
        if "is expected to have" not in str(error):
            raise
        found = "refused"
    else:
        star = "*" if model.status_ == "optimal" else ""
        found = (
            f"{model.depth_}/{model.depth_lower_bound_}, "
            f"{model.n_leaves_:,}/{model.n_leaves_lower_bound_:,}{star}"
        )
    return found, time.process_time() - begin, time.perf_counter() - wall


def frontier(options):
    print(f"Depth/bound, leaves/bound at `time_limit={options.limit:g}`.\n")
    print(f"| trees x depth | {' | '.join(options.sets)} |\n|---|{'---|' * len(options.sets)}")
    used = wall = 0.0
    for n_trees, depth in SHAPES:
        cells = []
        for name in options.sets:
            found, *seconds = fitted(*grown(options.data, name, n_trees, depth), options.limit)
            used, wall = used + seconds[0], wall + seconds[1]
            cells.append(found)
        print(f"| {n_trees}x{depth} | {' | '.join(cells)} |", flush=True)
    print(f"\nThe processor worked for {used / wall:.0%} of the wall time.")


def anytime(options):
    print("| forest | time_limit | depth/bound, leaves/bound | CPU s | wall s |")
    print("|---|---|---|---|---|")
    for name, n_trees, depth, limits in LADDERS:
        forest = grown(options.data, name, n_trees, depth)
        for limit in limits:
            found, used, wall = fitted(*forest, limit)
            line = f"| {name} {n_trees}x{depth} | {limit} | {found} | {used:.2f} | {wall:.2f} |"
            print(line, flush=True)


def changed(options):
    _, _, forest = grown(options.data, "spambase", 200, None)
    rng = np.random.default_rng(0)
    seconds, found = [], 0
    for _ in range(options.changes):
        other = copy.deepcopy(forest)
        while True:
            tree = other.estimators_[rng.integers(200)].tree_
            leaf = rng.choice(np.flatnonzero(tree.children_left < 0))
            if tree.value[leaf, 0, 0] != tree.value[leaf, 0, 1]:
                break
        tree.value[leaf, 0] = tree.value[leaf, 0, ::-1].copy()
        begin = time.process_time()
        outcome = verify(forest, other, time_limit=10)
        seconds.append(time.process_time() - begin)
        if outcome.equal is False:
            row = outcome.counterexample.reshape(1, -1)
            found += int((forest.predict(row) != other.predict(row))[0])
    print(
        f"One leaf of 200 trees turned round, {options.changes} times: told apart {found} times; "
        f"CPU seconds {np.mean(seconds):.2f} on average, {max(seconds):.2f} at most."
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = {"frontier": frontier, "anytime": anytime, "changed": changed}
    parser.add_argument("part", choices=parts)
    parser.add_argument("--data", type=Path, required=True, help="directory of CSV files")
    parser.add_argument("--limit", type=float, default=10.0, help="time limit of the frontier")
    parser.add_argument("--sets", nargs="+", choices=FILES, default=list(FILES))
    parser.add_argument("--changes", type=int, default=20)
    options = parser.parse_args()
    print(f"{environment()}\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parts[options.part](options)


if __name__ == "__main__":
    main()
