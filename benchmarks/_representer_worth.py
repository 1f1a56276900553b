"""What the default representer tree is worth on tables that chose nothing.

The part `worth` of `benchmarks.representer`: beside a plain tree on the model's answers, one on a
forest's out-of-bag answers, and an earlier version.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from benchmarks._tables_of_packages import available, read
from ensemble_simplify import RepresenterTree
from ensemble_simplify.reading import out_of_bag

LEAVES = (8, 16, 32)
MOST_ROWS = 3000
# Share of the user's rows that the forest is fitted on, by setting.
SETTINGS = {"all rows": 0.6, "own rows": 1.0}
TREES = ("ours", "before", "rows", "plain", "plain_oob")

# What an earlier version is asked for, in an interpreter of its own: a fit of each size, since
# version 0.2.0 has no `at`.
_BEFORE = """
import pickle, sys, time, warnings
warnings.filterwarnings("ignore")
from sklearn.frozen import FrozenEstimator
from ensemble_simplify import RepresenterTree
with open(sys.argv[1], "rb") as file:
    model, X, y, X_test, leaves, seed = pickle.load(file)
trees, cpu = [], []
for n in leaves:
    tree = RepresenterTree(FrozenEstimator(model), max_leaf_nodes=n, random_state=seed)
    begin = time.process_time()
    trees.append(tree.fit(X, y))
    cpu.append(time.process_time() - begin)
with open(sys.argv[2], "wb") as file:
    pickle.dump((cpu[-1], [tree.predict(X_test) for tree in trees]), file)
"""


def numbers_of(frame):
    """A table as numbers: codes of levels, and medians for gaps."""
    frame = frame.copy()
    text = [name for name in frame if not pd.api.types.is_numeric_dtype(frame[name])]
    if text:
        levels = frame[text].astype(object).map(str, na_action="ignore")
        frame[text] = OrdinalEncoder(encoded_missing_value=-1).fit_transform(levels)
    X = frame.to_numpy(dtype=np.float64)
    with warnings.catch_warnings():  # of columns without a number
        warnings.simplefilter("ignore")
        median = np.nan_to_num(np.nanmedian(X, axis=0))
    return np.where(np.isfinite(X), X, median)


def answers_before(python, *task):
    """CPU seconds and answers of the default tree of the version that `python` imports."""
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder, "given"), Path(folder, "found")
        given.write_bytes(pickle.dumps(task))
        # without this checkout on its path
        own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        subprocess.run([python, "-c", _BEFORE, given, found], check=True, cwd=folder, env=own)
        return pickle.loads(found.read_bytes())


def cell(X, y, values, share, seed, python):
    """Agreement x 100 with the forest on fresh rows of each tree at each size, and CPU seconds."""
    classes = None if values else y
    X, X_test, y, _ = train_test_split(X, y, test_size=1 / 3, random_state=seed, stratify=classes)
    seen = np.arange(len(X))
    if share < 1:
        classes = None if values else y
        seen, _ = train_test_split(seen, train_size=share, random_state=seed, stratify=classes)
    forest = RandomForestRegressor if values else RandomForestClassifier
    model = forest(random_state=seed).fit(X[seen], y[seen])
    truth = model.predict(X_test)
    score = r2_score if values else accuracy_score
    tree = DecisionTreeRegressor if values else DecisionTreeClassifier
    answers, cpu, found, n_leaves = {}, {}, {}, {}

    def measured(name, fit):
        begin = time.process_time()
        answers[name] = fit()
        cpu[name] = time.process_time() - begin

    def plain(truth):
        made = [tree(max_leaf_nodes=n, random_state=seed).fit(X, truth) for n in LEAVES]
        return [each.predict(X_test) for each in made]

    def ours(name, **options):
        made = RepresenterTree(
            FrozenEstimator(model), max_leaf_nodes=max(LEAVES), random_state=seed, **options
        )
        begin = time.process_time()
        made.fit(X, y)
        cpu[name] = time.process_time() - begin
        answers[name] = [made.at(n).predict(X_test) for n in LEAVES]
        n_leaves[name] = [int(made.at(n).get_n_leaves()) for n in LEAVES]
        return made

    begin = time.process_time()
    tree(max_leaf_nodes=max(LEAVES), random_state=seed).fit(X, model.predict(X))
    seconds = time.process_time() - begin
    measured("plain", lambda: plain(model.predict(X)))
    cpu["plain"] = seconds
    known = out_of_bag(model, X)
    if known is not None:
        measured("plain_oob", lambda: plain(known[0]))
    made = ours("ours")
    ours("rows", keep_rows=1.0, validation_fraction=0.0)
    if python:
        cpu["before"], answers["before"] = answers_before(python, model, X, y, X_test, LEAVES, seed)
    found = {name: [100 * float(score(truth, a)) for a in said] for name, said in answers.items()}
    return {
        "found": found,
        "cpu": cpu,
        "leaves": n_leaves,
        "law": made.sampler_,
        "keep_rows": made.keep_rows_,
        "rows": len(X),
        "columns": X.shape[1],
    }


def cells(options):
    """Every cell of tables, settings and splits; those in the cache are not measured again."""
    done = {}
    if options.cache and options.cache.exists():
        for line in options.cache.read_text().splitlines():
            record = json.loads(line)
            done[tuple(record["key"])] = record
    for name, source in available(options.tables):
        if options.sets and not any(part in name for part in options.sets):
            continue
        for seed in range(options.repeats or 2):
            table = None
            for setting, share in SETTINGS.items():
                key = (name, setting, seed)
                if key not in done:
                    table = read(source, MOST_ROWS, seed) if table is None else table
                    record = {"key": key, "values": name.startswith("r_")}
                    try:
                        X, y = numbers_of(table[0]), table[1]
                        record |= cell(X, y, record["values"], share, seed, options.before)
                    except Exception:
                        record["error"] = traceback.format_exc()
                        print(f"{key}: {record['error']}", file=sys.stderr)
                    done[key] = record
                    if options.cache:
                        with options.cache.open("a") as file:
                            file.write(json.dumps(record) + "\n")
                yield done[key]


def row(label, gains, sign=""):
    """Means over tables and their standard errors, one a size; a table is the mean of its splits.

    `gains` are pairs of a table's name and its gains.
    """
    names = sorted({name for name, _ in gains})
    means = np.array([np.mean([g for n, g in gains if n == name], axis=0) for name in names])
    cells = [f"{mean:{sign}.2f}" for mean in means.mean(axis=0)]
    if len(names) > 1:
        errors = means.std(axis=0, ddof=1) / np.sqrt(len(names))
        cells = [f"{cell} +- {error:.2f}" for cell, error in zip(cells, errors, strict=True)]
    print(f"| {label} | {len(names)} | " + " | ".join(cells) + " |")


def worth(options):
    """Print the tables; see `benchmarks.representer`."""
    found = list(cells(options))
    for kind, values in (("Labels: agreement", False), ("Values: R2, below 0 as 0", True)):
        for setting in SETTINGS:
            some = [r for r in found if r["key"][1] == setting and r["values"] == values]
            failed = [r["key"] for r in some if "error" in r]
            some = [r for r in some if "error" not in r]
            if failed:
                print(f"\nfailed: {failed}")
            if not some:
                continue
            print(f"\n{kind}, x 100, {setting}\n")
            print("| | tables | " + " | ".join(f"{n} leaves" for n in LEAVES) + " |")
            print("|---|---|" + "---|" * len(LEAVES))
            figures = {
                name: [(r["key"][0], np.maximum(r["found"][name], 0.0)) for r in some]
                for name in TREES
                if all(name in r["found"] for r in some)
            }
            for name, own in figures.items():
                row(name.replace("_", " "), own)
            for other in list(figures)[1:]:
                pairs = zip(figures["ours"], figures[other], strict=True)
                row(
                    f"ours - {other.replace('_', ' ')}",
                    [(name, one - two) for (name, one), (_, two) in pairs],
                    "+",
                )
    sound = [r for r in found if "error" not in r]
    print("\n| CPU seconds, ours | cells | of all | median ratio | largest ratio |")
    print("|---|---|---|---|---|")
    for other in ("before", "plain"):
        timed = [r["cpu"] for r in sound if other in r["cpu"]]
        if timed:
            one, two = (np.array([cpu[name] for cpu in timed]) for name in ("ours", other))
            ratios = one / np.maximum(two, 1e-3)
            print(
                f"| to {other} | {len(timed)} | {one.sum() / two.sum():.2f} "
                f"| {np.median(ratios):.2f} | {ratios.max():.2f} |"
            )
    laws = [f"{r['law']}, {r['keep_rows']:g}" for r in sound]
    print("\n| law, share of training rows | cells |\n|---|---|")
    for law in sorted(set(laws)):
        print(f"| {law} | {laws.count(law)} |")
