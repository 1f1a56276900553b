"""Whether what ``simplify`` recommends is better than always taking a plain tree.

    python -m benchmarks.league_rule --data DIR [--sets magic] [--models forest mlp]
        [--splits 2] [--first-seed N] [--store FILE] [--report]

Ten sets that `benchmarks.league` does not have, of at most 2,000 rows (those of DIR, CSV files with
a last column ``target``; without ``--data`` wine and wdbc, to try the program out), four kinds of
models, and stratified splits in three thirds: the model is fitted on the first, ``simplify`` gets
the second, and the third, which neither has seen, judges. Only methods whose results can be
recommended (ordinary trees of at most 8 leaves) are tried, so that the seconds go to them.

- ``recommended``: the tree that ``simplify`` recommends, learned from three quarters of its rows.
- ``learned again``: that method, by ``refit()``, fitted to all rows that ``simplify`` got.
- ``plain tree``: scikit-learn's, of at most 8 leaves, on the model's answers to all those rows.
- ``plain tree, 3/4``: the one that ``simplify`` itself fits, on three quarters of them.
- ``representer``, ``born-again (one change)``: always this method's tree of at most 8 leaves.
- ``best in hindsight``: the candidate of ``simplify`` that agrees most on the third that judges.

``--store`` appends a line a cell, so that a run can be made in pieces; ``--report`` prints what is
there and runs nothing.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from benchmarks._record import environment
from benchmarks.league import LEAVES, load, worst_class
from ensemble_simplify import simplify

SETS = (
    "australian", "cars", "compas_binary", "eeg_eye_state", "heart_cleveland", "htru2",
    "indian_liver", "magic", "vehicle", "vertebral",
)  # fmt: skip
FIRST_SEED = 5300
SECONDS = 4  # of simplify, and of learning again
CANDIDATES = ["representer", "born_again", "born_again_1", "born_again_0", "genesim"]
MODELS = {
    "forest": lambda seed: RandomForestClassifier(random_state=seed, n_jobs=1),
    "balanced forest": lambda seed: RandomForestClassifier(
        class_weight="balanced", min_samples_leaf=3, random_state=seed, n_jobs=1
    ),
    "boosting": lambda seed: HistGradientBoostingClassifier(random_state=seed),
    "mlp": lambda seed: make_pipeline(
        StandardScaler(), MLPClassifier(max_iter=300, random_state=seed)
    ),
}
PLAIN = "plain tree"
CHOICES = {
    "recommended": "recommended",
    "learned again": "again",
    PLAIN: PLAIN,
    "plain tree, 3/4": "plain_tree",
    "representer": "representer",
    "born-again (one change)": "born_again_1_small",
    "best in hindsight": "hindsight",
}
FIGURES = ("agreement", "worst class", "accuracy", "leaves")


def measure(tree, X, y, answers):
    """Agreement, that of the worst class, accuracy and leaves."""
    predicted = tree.predict(X)
    leaves = getattr(tree, "decision_tree_", tree).get_n_leaves()
    return [
        float(np.mean(predicted == answers)),
        worst_class(predicted, answers),
        float(np.mean(predicted == y)),
        int(leaves),
    ]


def cell(name, kind, seed, data):
    """Figures of every candidate for one model of one split, and which one was recommended."""
    X, y = load(name, data)
    X_fit, X, y_fit, y = train_test_split(X, y, train_size=1 / 3, stratify=y, random_state=seed)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
    model = MODELS[kind](seed).fit(X_fit, y_fit)
    begin = time.process_time()
    found = simplify(
        model, X, y, max_leaves=LEAVES, methods=CANDIDATES, time_limit=SECONDS, random_state=seed
    )
    seconds = time.process_time() - begin
    answers = model.predict(X_test)
    rows = [r for r in found.table[1:] if r.is_measured and r.is_tree and r.leaves <= LEAVES]
    figures = {row.name: measure(found[row.name], X_test, y_test, answers) for row in rows}
    plain = DecisionTreeClassifier(max_leaf_nodes=LEAVES, random_state=seed)
    plain.fit(X, model.predict(X))
    again = found.refit(X, y, time_limit=SECONDS)
    return {
        "set": name,
        "model": kind,
        "seed": seed,
        "best": found.best,
        "aside": {row.name: row.agreement for row in rows},
        "figures": {
            **figures,
            PLAIN: measure(plain, X_test, y_test, answers),
            "again": measure(again, X_test, y_test, answers),
        },
        "accuracy": float(np.mean(answers == y_test)),
        "seconds": seconds,
    }


def chosen(record):
    """Figures by the names of the choices; a method that found no small tree is left out."""
    figures = dict(record["figures"])
    candidates = {name: f for name, f in figures.items() if name in record["aside"]}
    figures["recommended"] = figures[record["best"]]
    figures["hindsight"] = max(candidates.values(), key=lambda f: (f[0], -f[3]))
    # a whole tree that is small enough needs no smaller one
    figures.setdefault("born_again_1_small", figures.get("born_again_1"))
    return {title: figures[key] for title, key in CHOICES.items() if figures.get(key)}


def summary(records):
    """Lines of means over sets, with differences to the plain tree within one cell."""
    by_set = defaultdict(lambda: defaultdict(list))
    for record in records:
        figures = chosen(record)
        for title, values in figures.items():
            gap = np.subtract(values, figures[PLAIN])
            by_set[title][record["set"]].append([*values, *gap])
    yield "| choice | agreement | more than the plain tree | worst class | more | accuracy |" + (
        " leaves |"
    )
    yield "|---" * 7 + "|"
    for title in CHOICES:
        if title not in by_set:
            continue
        means = np.array([np.mean(cells, axis=0) for cells in by_set[title].values()])
        agreement, worst, accuracy, leaves, *_ = means.mean(axis=0)
        gaps = [difference(means[:, 4 + i]) if title != PLAIN else "" for i in (0, 1)]
        yield (
            f"| {title} | {agreement:.4f} | {gaps[0]} | {worst:.3f} | {gaps[1]} | {accuracy:.4f} | "
            f"{leaves:.1f} |"
        )


def difference(values):
    """Mean and standard error of differences, one a set."""
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{values.mean():+.4f} +- {error:.4f}"


def breakdown(records, key):
    """Lines of agreement by set or by kind of model."""
    groups = defaultdict(list)
    for record in records:
        groups[record[key]].append(chosen(record))
    yield f"| agreement, by {key} | " + " | ".join(CHOICES) + " |"
    yield "|---" * (len(CHOICES) + 1) + "|"
    for name, cells in groups.items():
        parts = [[c[title][0] for c in cells if title in c] for title in CHOICES]
        line = [f"{np.mean(part):.3f}" if part else "" for part in parts]
        yield f"| {name} | " + " | ".join(line) + " |"


def report(records, splits):
    """Tables of what is stored."""
    counts = defaultdict(int)
    for record in records:
        counts[record["best"]] += 1
    gaps = np.array([chosen(r)["recommended"][0] - chosen(r)[PLAIN][0] for r in records])
    print(
        f"\n{len(records)} models: {len({r['set'] for r in records})} sets, "
        f"{len({r['model'] for r in records})} kinds, {splits} splits from seed "
        f"{min(r['seed'] for r in records)}; trees of at most {LEAVES} leaves; "
        f"time_limit={SECONDS}, {np.mean([r['seconds'] for r in records]):.1f} CPU seconds on "
        "average. Differences are to the plain tree, for the same models, +- their standard error "
        "over sets. Born-again trees are not tried for networks.\n"
    )
    print("\n".join(summary(records)))
    told = defaultdict(list)
    for r in records:
        told[r["set"]].append(r["aside"][r["best"]] - r["figures"][r["best"]][0])
    told = difference(np.array([np.mean(part) for part in told.values()]))
    print(
        "\nThe agreement that simplify reports for the recommended tree, less that on the rows "
        f"that judge: {told}.\n\nAgainst the plain tree the recommended tree agrees on more test "
        "rows for "
        f"{np.sum(gaps > 0)} models, on as many for {np.sum(gaps == 0)}, on fewer for "
        f"{np.sum(gaps < 0)}. Recommended: "
        + ", ".join(f"{name} {n}" for name, n in sorted(counts.items(), key=lambda c: -c[1]))
        + ".\n"
    )
    print("\n".join(breakdown(records, "set")), end="\n\n")
    print("\n".join(breakdown(records, "model")))


def read(store):
    """Cells in a file."""
    if not store or not Path(store).exists():
        return []
    return [json.loads(line) for line in Path(store).read_text(encoding="utf-8").splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", help="directory of CSV files")
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--store", help="append one line a cell to this file")
    parser.add_argument("--report", action="store_true", help="print what is stored, fit nothing")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    print(environment())
    records = read(options.store)
    done = {(r["set"], r["model"], r["seed"]) for r in records}
    sets = options.sets or (SETS if options.data else ("wine", "wdbc"))
    seeds = range(options.first_seed, options.first_seed + options.splits)
    for key in [(s, m, seed) for seed in seeds for s in sets for m in options.models]:
        if options.report or key in done:
            continue
        records.append(cell(*key, options.data))
        if options.store:
            with open(options.store, "a", encoding="utf-8") as file:
                file.write(json.dumps(records[-1]) + "\n")
    report(records, options.splits)


if __name__ == "__main__":
    main()
