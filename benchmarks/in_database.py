"""Two models compared on rows of Parquet: inside DuckDB, as streams, and by a loop of one's own.

    python -m benchmarks.in_database [--rows 10000000] [--dtype float64] [--ways inside ...]

A forest of 20 trees with 32 leaves and a tree with 16 are compared by label on rows of ten columns
of floats, which are written in chunks. Every way runs in a process of its own, with one thread.
Given are the seconds of processor time of the comparison, and the peak of the process's memory
above what it had before.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks._checkouts import measured
from benchmarks._record import ROOT, environment

N_COLUMNS, CHUNK = 10, 100_000


def rows_of(n, rng):
    return pd.DataFrame(
        rng.normal(size=(n, N_COLUMNS)), columns=[f"c{j}" for j in range(N_COLUMNS)]
    )


def write_rows(path, n, dtype):
    """A Parquet file of rows in groups of a chunk."""
    import pyarrow
    from pyarrow import parquet

    rng, writer = np.random.default_rng(1), None
    for begin in range(0, n, CHUNK):
        rows = rows_of(min(CHUNK, n - begin), rng).astype(dtype)
        table = pyarrow.Table.from_pandas(rows)
        writer = writer or parquet.ParquetWriter(path, table.schema)
        writer.write_table(table)
    writer.close()


def models():
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier

    X = rows_of(2_000, np.random.default_rng(0))
    y = np.where(X.c0 + X.c1 * X.c2 > 0, "yes", "no")
    forest = RandomForestClassifier(20, max_leaf_nodes=32, random_state=0).fit(X, y)
    return forest, DecisionTreeClassifier(max_leaf_nodes=16, random_state=0).fit(X, y)


def relation(path):
    import duckdb

    duckdb.execute("SET threads = 1")
    return duckdb.sql(f"FROM '{path}'")


def inside(path):
    from ensemble_simplify import agreement

    return agreement(*models(), relation(path), in_database=True)


def of_relation(path):
    from ensemble_simplify import agreement

    return agreement(*models(), relation(path))


def of_parquet(path):
    from ensemble_simplify import agreement

    return agreement(*models(), path)


def by_hand(path):
    from pyarrow import parquet

    forest, tree, n = *models(), 0
    for batch in parquet.ParquetFile(path, pre_buffer=False).iter_batches(CHUNK, use_threads=False):
        X = batch.to_pandas()
        n += int((forest.predict(X) != tree.predict(X)).sum())
    return n


WAYS = {
    "inside": ("`agreement(..., in_database=True)`, a relation of DuckDB", inside),
    "of_relation": ("`agreement`, a relation of DuckDB, batch by batch", of_relation),
    "of_parquet": ("`agreement`, the path of the file", of_parquet),
    "by_hand": ("pyarrow's batches, `predict` and compare", by_hand),
}


def memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def work(name):
    way, small, large = name.split(" ")
    ask = WAYS[way][1]
    ask(small)  # what is imported, and what takes memory once
    held, begin = memory(), time.process_time()
    found = ask(large)
    seconds = time.process_time() - begin
    print(json.dumps([seconds, memory() - held, getattr(found, "n_different", found)]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--dtype", default="float64")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    options = parser.parse_args()
    print(f"{environment('duckdb', 'pyarrow', 'pandas')}\n")
    print(f"{options.rows:,} rows of {N_COLUMNS} columns of {options.dtype} in one file.\n")
    print("| way | CPU s | memory, MB | rows that differ |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"{size}.parquet") for size in ("small", "large")]
        for path, n in zip(paths, (CHUNK, options.rows), strict=True):
            write_rows(path, n, options.dtype)
        for name in options.ways:
            found = measured(__file__, f"{name} {paths[0]} {paths[1]}", ROOT, 1800)
            seconds, megabytes, n = found
            print(f"| {WAYS[name][0]} | {seconds:.1f} | {megabytes:.0f} | {n:,} |", flush=True)


if __name__ == "__main__":
    main()
