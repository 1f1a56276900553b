"""Trees that answer as a default forest near its training rows (``max_changes``).

    python -m benchmarks.born_again_near --data DIR [faithful] [path] [new] [--sets iris ...]
        [--cache FILE]

faithful
    ``RandomForestClassifier()`` as it comes, fitted on 70 % of the rows; ``max_changes`` 0 and 1
    with nothing else set. Leaves and the proven bound; leaves of scikit-learn's tree grown to
    purity on the same points (the better of entropy and Gini). On the other 30 % of the rows:
    agreement with the forest, beside that of scikit-learn's tree on the rows labelled by the forest
    (the plain surrogate, grown to purity), and the share that the promise covers.
path
    ``max_changes=1``: weight of exceptions, in percent of all, at 8, 16, 32 and 64 leaves; beside
    it scikit-learn's tree of that size on the same points with the same weights, best first, and
    on the rows labelled by the forest (the plain surrogate).
new
    Agreement with the forest on the other 30 % of the rows: the whole tree of ``max_changes=0``;
    ``at(8)``, ``at(16)``, ``at(32)`` and the whole tree of ``max_changes=1``; each minus a plain
    surrogate of as many leaves, in points, means over sets and standard errors. Each set is kept
    in ``--cache``, one line of JSON a set.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from benchmarks._record import environment
from ensemble_simplify import BornAgainClassifier
from ensemble_simplify.grid.axes import Axes
from ensemble_simplify.reading.forest import read_forest

SETS = ["iris", "wine", "wdbc", "banknote", "pima_diabetes", "heart_statlog", "seeds", "digits"]
# Seeds that took no part in choosing defaults.
SEED = 7


def split(name, folder):
    """A forest, its training rows and other rows."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
    else:
        data = pd.read_csv(Path(folder) / f"{name}.csv")
        y = data.pop("target").to_numpy()
        X = data.to_numpy(float)
    X, other, y, _ = train_test_split(X, y, train_size=0.7, random_state=SEED, stratify=y)
    return RandomForestClassifier(random_state=SEED).fit(X, y), X, y, other


def promised_points(forest, X, max_changes):
    """Every promised point once for each row, as codes of cells, and the forest's answers."""
    axes = Axes.of(read_forest(forest))
    rows, counts = np.unique(axes.encode_rows(X.astype(np.float32)).T, axis=0, return_counts=True)
    points = [rows]
    for a, n in enumerate(axes.shape) if max_changes else ():
        near = np.repeat(rows, n, axis=0)
        near[:, a] = np.tile(np.arange(n), len(rows))
        near = near[near[:, a] != np.repeat(rows[:, a], n)]
        points.append(near)
    points = np.concatenate(points)
    answers = np.concatenate(
        [
            forest.predict(axes.points(part))
            for part in np.array_split(points, 1 + len(points) // 50_000)
        ]
    )
    others = max(len(points) - len(rows), 0)
    weight = np.ones(len(points))
    weight[: len(rows)] = counts
    if others:
        weight[: len(rows)] = np.maximum(np.rint(counts * others / counts.sum()), 1)
    return axes, points.astype(np.float32), answers, weight


def faithful(options):
    """The smallest trees found without exceptions."""
    print(
        "| set | max_changes | points | leaves | at least | status | CART to purity | seconds "
        "| agreement on unseen rows | surrogate's | covered |"
        "\n|---|---|---|---|---|---|---|---|---|---|---|"
    )
    for name in options.sets:
        forest, X, y, other = split(name, options.data)
        for max_changes in (0, 1):
            model = BornAgainClassifier(
                FrozenEstimator(forest), max_changes=max_changes, random_state=SEED
            )
            begin = time.perf_counter()
            model.fit(X, y)
            seconds = time.perf_counter() - begin
            assert model.verify()
            _, points, answers, _ = promised_points(forest, X, max_changes)
            plain = min(
                DecisionTreeClassifier(criterion=criterion, random_state=SEED)
                .fit(points, answers)
                .get_n_leaves()
                for criterion in ("entropy", "gini")
            )
            surrogate = DecisionTreeClassifier(random_state=SEED).fit(X, forest.predict(X))
            agree, others = (
                np.mean(tree.predict(other) == forest.predict(other)) for tree in (model, surrogate)
            )
            print(
                f"| {name} | {max_changes} | {model.n_points_:,} | {model.n_leaves_:,} "
                f"| {model.n_leaves_lower_bound_:,} | {model.status_} | {plain:,} | {seconds:.1f} "
                f"| {agree:.3f} | {others:.3f} | {model.covers(other).mean():.3f} |",
                flush=True,
            )


def path(options):
    """Exceptions at small sizes."""
    sizes = (8, 16, 32, 64)
    print(
        "| set | " + " | ".join(f"{m}: ours | CART | surrogate" for m in sizes) + " |\n|---"
        + "|---|---|---" * len(sizes) + "|"
    )  # fmt: skip
    ratios = []
    for name in options.sets:
        forest, X, y, _ = split(name, options.data)
        model = BornAgainClassifier(FrozenEstimator(forest), max_changes=1, random_state=SEED)
        model.fit(X, y)
        axes, points, answers, weight = promised_points(forest, X, 1)
        cells = axes.encode_rows(X.astype(np.float32)).T.astype(np.float32)
        entries = []
        for m in sizes:
            place = np.searchsorted(model.path_.n_leaves, m, side="right") - 1
            ours = model.path_.weighted_share[place]
            shares = []
            for rows, labels, weights in (
                (points, answers, weight),
                (cells, forest.predict(X), None),
            ):
                tree = DecisionTreeClassifier(
                    max_leaf_nodes=m, criterion="entropy", random_state=SEED
                ).fit(rows, labels, sample_weight=weights)
                shares.append(weight[tree.predict(points) != answers].sum() / weight.sum())
            entries.append(" | ".join(f"{100 * share:.2f}" for share in (ours, *shares)))
            if min(shares) > 0:
                ratios.append(ours / min(shares))
        print(f"| {name} | {' | '.join(entries)} |", flush=True)
    print(
        f"\nExceptions beside the better of the other two: mean ratio {np.mean(ratios):.2f}, from "
        f"{min(ratios):.2f} to {max(ratios):.2f} ({len(ratios)} cells)."
    )


def agreements(name, options):
    """Leaves, agreement on new rows, and that of a plain surrogate, by what is compared."""
    forest, X, y, other = split(name, options.data)
    answers, wanted = forest.predict(X), forest.predict(other)
    trees = {}
    for max_changes in (0, 1):
        model = BornAgainClassifier(
            FrozenEstimator(forest), max_changes=max_changes, random_state=SEED
        ).fit(X, y)
        trees[f"{max_changes} change{'s' * (not max_changes)}, whole"] = model
    trees |= {f"1 change, at({n})": model.at(n_leaves=n) for n in NEW_SIZES}
    found = {}
    for what, tree in trees.items():
        size = int(what.split("(")[1][:-1]) if "(" in what else tree.n_leaves_
        plain = DecisionTreeClassifier(max_leaf_nodes=max(size, 2), random_state=SEED)
        plain.fit(X, answers)
        same = [float(np.mean(m.predict(other) == wanted)) for m in (tree, plain)]
        found[what] = [int(tree.n_leaves_), *same]
    return found


def new(options):
    """Agreement on new rows beside that of surrogates of the same size."""
    known = {}
    if options.cache and options.cache.exists():
        lines = options.cache.read_text(encoding="utf-8").splitlines()
        known = dict(json.loads(entry) for entry in lines)
    for name in options.sets:
        if name not in known:
            known[name] = agreements(name, options)
            if options.cache:
                with open(options.cache, "a", encoding="utf-8") as file:
                    print(json.dumps([name, known[name]]), file=file)
    print(f"{', '.join(options.sets)}\n\n| tree | leaves | agreement | minus a plain surrogate |")
    print("|---|---|---|---|")
    for what in known[options.sets[0]]:
        leaves, ours, others = np.array([known[name][what] for name in options.sets]).T
        gain = 100 * (ours - others)
        error = gain.std(ddof=1) / len(gain) ** 0.5 if len(gain) > 1 else np.nan
        shown = f"{leaves.mean():.0f} | {ours.mean():.3f} | {gain.mean():+.1f} ± {error:.1f}"
        print(f"| {what} | {shown} |")


NEW_SIZES = (8, 16, 32)
PARTS = {"faithful": faithful, "path": path, "new": new}


def main():
    """Read the command line and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("parts", nargs="*", default=["faithful", "path"], choices=[*PARTS, []])
    parser.add_argument(
        "--data", required=True, help="directory of CSV files, last column `target`"
    )
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--cache", type=Path, help="for new: the sets that are done")
    options = parser.parse_args()
    print(environment() + "\n")
    for part in options.parts:
        PARTS[part](options)
        print()


if __name__ == "__main__":
    main()
