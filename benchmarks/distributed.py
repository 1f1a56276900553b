"""What a cluster saves: proofs, nearest flips and agreement on a local Dask cluster.

    python -m benchmarks.distributed [--trees 100] [--rows 4000] [--flips 400] [--stream 4000000]
        [--repeats 3] [--tasks verify nearest_flip agreement]

The rows of a two-class problem with twenty features lie in blocks on the workers, which have one
thread each. `verify` proves for each block that the probabilities of a forest rounded to three
digits stay within 0.001, near its rows; `nearest_flip` is cut into blocks by joblib. `agreement`
compares the models of ``in_database.py`` on the partitions of a Dask frame, which are groups of
rows of a Parquet file; without a cluster, it takes the path. Medians of the repeats, of the seconds
of all processors and of the clock.
"""

from __future__ import annotations

import argparse
import logging
import tempfile
import time
from copy import deepcopy
from pathlib import Path

import joblib
import numpy as np
from distributed import Client, LocalCluster
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from benchmarks._record import environment
from benchmarks.in_database import CHUNK, models, write_rows
from ensemble_simplify import agreement, nearest_flip, verify

BLOCKS = 4


def within(X, forest, rounded):
    """Whether two forests are close near the rows of a block."""
    return verify(forest, rounded, X=X, max_changes=1, atol=0.001).equal


def seconds_of(ask, client=None):
    """Seconds of all processors and of the clock that a call takes, and what it answers."""

    def busy():
        workers = client.run(time.process_time).values() if client else ()
        return time.process_time() + sum(workers)

    cpu, clock = busy(), time.perf_counter()
    answer = ask()
    return busy() - cpu, time.perf_counter() - clock, answer


def measure(tasks, n_workers, repeats):
    """Median seconds (processors, clock) of each task, and the answers of the last run."""
    if not n_workers:
        runs = [[seconds_of(alone) for alone, _ in tasks] for _ in range(repeats)]
    else:
        cluster = LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            dashboard_address=None,
            silence_logs=logging.ERROR,
        )
        with cluster, Client(cluster) as client:
            runs = [
                [seconds_of(lambda: spread(client), client) for _, spread in tasks]  # noqa: B023
                for _ in range(repeats)
            ]
    seconds = np.median([[run[:2] for run in row] for row in runs], axis=0)
    return seconds, [run[2] for run in runs[-1]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--flips", type=int, default=400)
    parser.add_argument("--stream", type=int, default=4_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    known = ["verify", "nearest_flip", "agreement"]
    parser.add_argument("--tasks", nargs="+", choices=known, default=known)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.parquet")
        write_rows(path, options.stream, "float64")
        compare(options, path)


def compare(options, path):
    """Print the table."""
    from dask import dataframe

    X, y = make_classification(options.rows, 20, n_informative=10, random_state=0)
    forest = RandomForestClassifier(options.trees, max_leaf_nodes=30, random_state=0).fit(X, y)
    rounded = deepcopy(forest)
    for tree in rounded.estimators_:
        tree.tree_.value[...] = tree.tree_.value.round(3)
    blocks, some = np.array_split(X, BLOCKS), X[: options.flips]

    def proofs(client):
        parts = client.scatter(blocks)
        return client.gather(client.map(within, parts, forest=forest, rounded=rounded, pure=False))

    def flips(client):
        with joblib.parallel_config("dask"):
            return changes(nearest_flip(forest, some, max_changes=1))

    def changes(found):
        return [flip.changes for flip in found]

    def agreed(rows):
        found = agreement(*models(), rows)
        return found.n_rows, found.n_different

    tasks = {
        "verify": (
            f"`verify`, {options.rows:,} rows, max_changes=1, atol=0.001",
            lambda: [within(part, forest, rounded) for part in blocks],
            proofs,
        ),
        "nearest_flip": (
            f"`nearest_flip`, {options.flips:,} rows, max_changes=1",
            lambda: changes(nearest_flip(forest, some, max_changes=1)),
            flips,
        ),
        "agreement": (
            f"`agreement`, {options.stream:,} rows of Parquet",
            lambda: agreed(path),
            lambda _: agreed(dataframe.read_parquet(path, split_row_groups=True)),
        ),
    }
    names, *tasks = zip(*(tasks[name] for name in options.tasks), strict=True)
    tasks = list(zip(*tasks, strict=True))
    found = [measure(tasks, n_workers, options.repeats) for n_workers in (0, 1, 2)]
    if any(answers != found[0][1] for _, answers in found):
        raise RuntimeError("A cluster answers otherwise than one process.")
    print(f"{environment('dask', 'distributed')}\n")
    print(f"A forest of {options.trees} trees; {BLOCKS} blocks of rows.")
    print(f"For `agreement`, the models of in_database; its groups have {CHUNK:,} rows.\n")
    columns = [
        f"{where}, {what} s"
        for where in ("no cluster", "1 worker", "2 workers")
        for what in ("CPU", "clock")
    ]
    print(f"| task | {' | '.join(columns)} |")
    print("|---" * (1 + len(columns)) + "|")
    for i, name in enumerate(names):
        cells = [f"{seconds[i, j]:.1f}" for seconds, _ in found for j in (0, 1)]
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
