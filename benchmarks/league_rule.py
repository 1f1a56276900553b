"""Whether what ``simplify`` recommends is better than always taking a plain tree.

    python -m benchmarks.league_rule --data DIR [--sets magic] [--models forest mlp]
        [--splits 2] [--first-seed N] [--store FILE] [--report]

Ten sets, of at most 2,000 rows (those of DIR, CSV files with
a last column ``target``; without ``--data`` wine and wdbc, to try the program out), four kinds of
models, and stratified splits in three thirds: the model is fitted on the first, ``simplify`` gets
the second, and the third, which neither has seen, judges. It is called twice: with
``max_leaf_nodes=8``, and without, where it chooses the size.

- ``recommended``: the tree that ``simplify`` recommends, learned from all rows that it got.
- ``plain tree``: scikit-learn's, of the same number of leaves, on the model's answers to them.
- ``representer``: always this method's tree.
- ``best in hindsight``: the tree among the results that agrees most on the third that judges.

``--store`` appends a line a cell, so that a run can be made in pieces; ``--report`` prints what is
there and runs nothing.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks import genesim_small_trees
from benchmarks._record import environment
from benchmarks.league import worst_class
from ensemble_simplify import simplify

SETS = (
    "australian", "cars", "compas_binary", "eeg_eye_state", "heart_cleveland", "htru2",
    "indian_liver", "magic", "vehicle", "vertebral",
)  # fmt: skip
FIRST_SEED = 5300
MAX_ROWS = 2000
LEAVES = 8
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
PLAIN, BEST, HINDSIGHT = "plain tree", "recommended", "best in hindsight"
CHOICES = {BEST: "recommended", PLAIN: "plain_tree", "representer": "representer"}


def load(name, data):
    """Rows and labels of a set, at most 2,000 rows."""
    X, y = genesim_small_trees.load(name, data)
    rows = np.arange(len(X))
    if len(X) > MAX_ROWS:
        rows = np.random.default_rng(0).permutation(len(X))[:MAX_ROWS]
    return X[rows], y[rows]


def measure(tree, X, y, answers):
    """Agreement, that of the worst class, accuracy and leaves."""
    predicted = tree.predict(X)
    return [
        float(np.mean(predicted == answers)),
        worst_class(predicted, answers),
        float(np.mean(predicted == y)),
        int(tree.get_n_leaves()),
    ]


def cell(name, kind, seed, data):
    """Figures of every result for one model of one split, and which one was recommended."""
    X, y = load(name, data)
    X_fit, X, y_fit, y = train_test_split(X, y, train_size=1 / 3, stratify=y, random_state=seed)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
    model = MODELS[kind](seed).fit(X_fit, y_fit)
    answers = model.predict(X_test)
    record = {"set": name, "model": kind, "seed": seed}
    for size in (LEAVES, None):
        begin = time.process_time()
        found = simplify(model, X, y, max_leaf_nodes=size, random_state=seed)
        seconds = time.process_time() - begin
        rows = {row.name: row for row in found.table if row.is_tree and row.is_measured}
        figures = {
            name: measure(found.results[name], X_test, y_test, answers)
            for name, row in rows.items()
            if row.leaves <= found.max_leaf_nodes and name != "plain_tree_on_y"
        }
        record["free" if size is None else "fixed"] = {
            "best": found.best,
            "size": found.max_leaf_nodes,
            "measured": rows[found.best].agreement,
            "corrected": found.verdict.agreement,
            "level": found.verdict.level,
            "figures": figures,
            "seconds": seconds,
        }
    return record


def chosen(run):
    """Figures by the names of the choices."""
    figures = {**run["figures"], "recommended": run["figures"][run["best"]]}
    found = {title: figures[key] for title, key in CHOICES.items() if key in figures}
    found[HINDSIGHT] = max(run["figures"].values(), key=lambda f: (f[0], -f[3]))
    return found


def summary(runs):
    """Lines of means over sets, with differences to the plain tree within one cell."""
    by_set = defaultdict(lambda: defaultdict(list))
    for name, run in runs:
        figures = chosen(run)
        for title, values in figures.items():
            by_set[title][name].append([*values, *np.subtract(values, figures[PLAIN])])
    yield "| choice | agreement | more than the plain tree | worst class | more | accuracy |" + (
        " leaves |"
    )
    yield "|---" * 7 + "|"
    for title, cells in by_set.items():
        means = np.array([np.mean(each, axis=0) for each in cells.values()])
        agreement, worst, accuracy, leaves, *_ = means.mean(axis=0)
        gaps = [difference(means[:, 4 + i]) if title != PLAIN else "" for i in (0, 1)]
        yield (
            f"| {title} | {agreement:.4f} | {gaps[0]} | {worst:.3f} | {gaps[1]} | {accuracy:.4f} | "
            f"{leaves:.1f} |"
        )


def difference(values):
    """Mean and standard error of differences, one a set."""
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{np.mean(values):+.4f} +- {error:.4f}"


def told(runs, key):
    """How much more than on the rows that judge is reported for the recommended tree."""
    by_set = defaultdict(list)
    for name, run in runs:
        by_set[name].append(run[key] - run["figures"][run["best"]][0])
    return difference([np.mean(part) for part in by_set.values()])


def counted(values):
    return ", ".join(f"{value} {n}" for value, n in Counter(values).most_common())


def report(records, splits):
    """Tables of what is stored."""
    print(
        f"\n{len(records)} models: {len({r['set'] for r in records})} sets, "
        f"{len({r['model'] for r in records})} kinds, {splits} splits from seed "
        f"{min(r['seed'] for r in records)}. Differences are to the plain tree, for the same "
        "models, +- their standard error over sets."
    )
    for key, title in (("fixed", f"`max_leaf_nodes={LEAVES}`"), ("free", "`max_leaf_nodes=None`")):
        runs = [(r["set"], r[key]) for r in records]
        gaps = [chosen(run)[BEST][0] - chosen(run)[PLAIN][0] for _, run in runs]
        print(f"\n{title}, {np.mean([run['seconds'] for _, run in runs]):.1f} CPU seconds:\n")
        print("\n".join(summary(runs)))
        print(
            f"\nRecommended: {counted(run['best'] for _, run in runs)}; sizes "
            f"{counted(run['size'] for _, run in runs)}; verdicts "
            f"{counted(run['level'] for _, run in runs)}. Against the plain tree, more rows for "
            f"{np.sum(np.array(gaps) > 0)} models, as many for {np.sum(np.array(gaps) == 0)}, "
            f"fewer for {np.sum(np.array(gaps) < 0)}. The agreement reported, less that on the "
            f"rows that judge: {told(runs, 'corrected')}; before the correction "
            f"{told(runs, 'measured')}."
        )


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
