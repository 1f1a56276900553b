"""Frames of text, categories and missing values, end to end: the same answers on a million rows.

Two made tables (people on a ship, and a census), each under a pipeline that encodes, fills in and
scales before a forest of 100 trees, and under boosting that takes the frame as it is. Each model
becomes a born-again tree near its rows and, if its trees can be weighed anew, fewer trees. Answers
are compared on random rows within the promise: a training row in which one column takes any level,
also an unknown one where the model takes such, a cut point of a column of numbers or its float32
neighbours, or goes missing. Numbers are such as float32 represents: pipelines and boosting compare
float64 numbers, which a tree of scikit-learn does not tell apart.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from benchmarks._record import environment
from ensemble_simplify import BornAgainClassifier, FaithfulPruner
from ensemble_simplify.reading.forest import read_forest

PROBES, BATCH = 1_000_000, 50_000


def passengers(rng, n=891):
    """People on a ship, as many as in the well-known table."""
    table = pd.DataFrame(
        {
            "sex": rng.choice(["male", "female"], n, p=[0.65, 0.35]),
            "age": rng.normal(30, 14, n).clip(0.5, 80).round(1),
            "port": rng.choice(["S", "C", "Q"], n, p=[0.72, 0.19, 0.09]),
            "class": rng.choice([1, 2, 3], n, p=[0.24, 0.21, 0.55]),
            "relatives": rng.poisson(0.9, n).astype(float),
        }
    )
    table["fare"] = np.exp(rng.normal(4.5 - 0.8 * table["class"], 0.5, n)).round(2)
    score = 2.4 * (table["sex"] == "female") - 0.9 * (table["class"] - 2) - 0.03 * table["age"]
    y = np.where(score + rng.logistic(size=n) > 0.4, "lived", "died")
    table.loc[rng.random(n) < 0.2, "age"] = np.nan
    table.loc[rng.random(n) < 0.01, "port"] = np.nan
    return table, y


def census(rng, n=1500):
    """Who earns more, by work and schooling."""
    work = [f"work {letter}" for letter in "ABCDEFGHIJKL"]
    table = pd.DataFrame(
        {
            "age": rng.integers(17, 80, n).astype(float),
            "employer": rng.choice(["private", "state", "own"], n, p=[0.75, 0.14, 0.11]),
            "years": rng.integers(4, 20, n).astype(float),
            "status": rng.choice(["married", "single", "divorced", "widowed"], n),
            "work": rng.choice(work, n),
            "hours": rng.normal(40, 11, n).clip(1, 99).round(),
            "gain": np.where(rng.random(n) < 0.09, np.exp(rng.normal(8, 1, n)).round(), 0.0),
        }
    )
    value = {name: rng.normal() for name in work}
    score = 0.35 * (table["years"] - 12) + 0.05 * (table["hours"] - 40) + table["work"].map(value)
    score += 1.6 * (table["status"] == "married") + (table["gain"] > 3000) * 2.0
    y = np.where(score + rng.logistic(size=n) > 1.5, ">50K", "<=50K")
    table.loc[rng.random(n) < 0.06, "work"] = np.nan
    table.loc[rng.random(n) < 0.05, "hours"] = np.nan
    return table, y


def pipeline(table):
    """Four levels or less one by one, others by place; numbers filled in, with a flag, scaled."""
    text = [name for name in table if not pd.api.types.is_numeric_dtype(table[name])]
    few = [name for name in text if table[name].nunique() <= 4]
    places = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    return make_pipeline(
        make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), few),
            (places, [name for name in text if name not in few]),
            (numbers, [name for name in table if name not in text]),
        ),
        RandomForestClassifier(100, random_state=0),
    )


def models(table, y):
    yield "pipeline, forest of 100", pipeline(table).fit(table, y), table
    frame = table.copy()
    for name in frame:
        if not pd.api.types.is_numeric_dtype(frame[name]):
            frame[name] = frame[name].astype("category")
    yield "HistGradientBoosting", HistGradientBoostingClassifier(max_iter=50).fit(frame, y), frame
    try:
        from lightgbm import LGBMClassifier
    except ImportError:
        return
    yield "LightGBM", LGBMClassifier(n_estimators=50, verbose=-1).fit(frame, y), frame


def probes(forest, codes, n, rng):
    """Rows of codes, each a training row with one column changed."""
    rows = codes[rng.integers(len(codes), size=n)]
    chosen = rng.integers(codes.shape[1], size=n)
    for j in range(codes.shape[1]):
        mine = np.flatnonzero(chosen == j)
        if forest.table is not None and forest.table.levels[j] is not None:
            values = np.arange(forest.table.highest[j] + 1)
        else:
            cuts = forest.threshold[(forest.feature == j) & (np.abs(forest.threshold) < 1e30)]
            cuts = np.append(cuts, 0.0).astype(np.float32)
            sides = [np.nextafter(cuts, np.float32(end)) for end in (-np.inf, np.inf)]
            values = np.concatenate([cuts, *sides]).astype(np.float64)
        if np.isnan(codes[:, j]).any():
            values = np.append(values, np.nan)
        rows[mine, j] = rng.choice(values, len(mine))
    return rows


def measure(name, kind, model, frame, y, time_limit, n_probes, seed):
    forest = read_forest(model)
    begin = time.perf_counter()
    simple = kind(FrozenEstimator(model), max_changes=1, random_state=seed, time_limit=time_limit)
    simple.fit(frame, y)
    seconds = time.perf_counter() - begin
    begin = time.perf_counter()
    proven = simple.verify()
    check = time.perf_counter() - begin
    codes = frame if forest.table is None else forest.table.encode(frame)
    codes = np.asarray(codes, dtype=np.float32).astype(np.float64)
    rng, different = np.random.default_rng(seed), 0
    for _ in range(0, n_probes, BATCH):
        rows = probes(forest, codes, BATCH, rng)
        rows = pd.DataFrame(rows, columns=frame.columns)
        rows = rows if forest.table is None else forest.table.decode(rows)
        different += int((simple.predict(rows) != model.predict(rows)).sum())
    size = simple.n_leaves_ if kind is BornAgainClassifier else simple.n_trees_
    unit = "leaves" if kind is BornAgainClassifier else "trees"
    print(
        f"| {name} | {kind.__name__} | {size} {unit} | {seconds:.1f} | {bool(proven)} "
        f"({check:.1f} s) | {different} of {n_probes:,} |",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--probes", type=int, default=PROBES)
    parser.add_argument("--seed", type=int, default=11)
    args = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.filterwarnings("ignore", message="X does not have valid feature names")
    print(environment())
    print(f"\nmax_changes=1, time_limit={args.time_limit:g} s, seed {args.seed}\n")
    print("| model | method | result | seconds | verify | answered otherwise |")
    print("|---|---|---|---|---|---|")
    for make in (passengers, census):
        table, y = make(np.random.default_rng(args.seed))
        for name, model, frame in models(table, y):
            for kind in (BornAgainClassifier, FaithfulPruner):
                try:
                    label = f"{make.__name__}, {name}"
                    measure(label, kind, model, frame, y, args.time_limit, args.probes, args.seed)
                except TypeError:
                    why = f"{type(model).__name__} keeps no trees that could be weighed anew"
                    print(f"| {label} | {kind.__name__} | refused: {why} | | | |", flush=True)


if __name__ == "__main__":
    main()
