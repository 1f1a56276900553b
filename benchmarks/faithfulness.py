"""Adversarial probes: the answers of the tree beside those of the ensemble, 10^8 rows in all.

``python -m benchmarks.faithfulness`` takes the ensembles of the tests and of real data, with their
own thresholds and with odd ones (between two float32 numbers, one ulp beside a round one, zeros of
either sign, denormal, huge, the largest float32), and probes on, beside and between thresholds.
A model whose born-again tree is not found within ``--time-limit`` is counted and left out.
Memory stays below a gigabyte. Compared are

- born-again: `BornAgainClassifier.predict` with the ensemble's own `predict`; for the hard vote,
  with the majority of its trees' own labels;
- merged: `merge_trees(...).predict_proba` with the mean of the trees' own (to 1e-12);
- pruned: `FeatureBudgetPruner.predict` with a walk through the unpruned trees that stops where the
  pruner says.
"""

from __future__ import annotations

import argparse
import collections
import importlib.util
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier

from benchmarks._record import environment
from ensemble_simplify import BornAgainClassifier, FeatureBudgetPruner, merge_trees
from ensemble_simplify.grid.thresholds import cut_points
from ensemble_simplify.reading.forest import read_forest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from oracles import adversarial_rows, trees_of
from strategies import CLASSIFIERS, small_data

ENTRIES = 2_000_000  # of a chunk of rows
FLOAT32_MAX = float(np.finfo(np.float32).max)


# Models


def compiled(model):
    return [tree.tree_ for tree in trees_of(model)]


def rounded_oddly(model, rng):
    """Move thresholds where rounding to float32 matters: in place."""
    single = np.float32
    for tree in compiled(model):
        t = tree.threshold
        near = t.astype(np.float32)
        up, down = np.nextafter(near, single(np.inf)), np.nextafter(near, single(-np.inf))
        choices = [
            t,
            np.nextafter(t, np.inf),
            np.nextafter(t, -np.inf),
            near,
            up,
            (near.astype(float) + up) / 2,
            np.nextafter((near.astype(float) + down) / 2, np.inf),
            np.nextafter(near.astype(float), -np.inf),
        ]
        t[:] = np.choose(rng.integers(len(choices), size=t.size), choices)


def moved_far(model, rng):
    """Give some nodes zeros, denormal, huge or extreme thresholds: in place."""
    numbers = [0.0, -0.0, 5e-324, -5e-324, 1e-45, -1e-45, 1e-40, 1e30, -1e38, FLOAT32_MAX]
    numbers += [-FLOAT32_MAX, np.nextafter(FLOAT32_MAX, 0), 3.5e38, -3.5e38, 1e300, np.inf]
    for tree in compiled(model):
        change = rng.random(tree.node_count) < 0.4
        tree.threshold[change] = rng.choice(numbers, size=int(change.sum()))


def models(seeds):
    """Yield (name, fitted model, X, y)."""
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        for kind, make in CLASSIFIERS.items():
            X, y = small_data(seed, n_classes=2 + seed % 3, n_features=3, levels=4)
            for how in (None, rounded_oddly, moved_far):
                model = make(seed).fit(X, y)
                if how:
                    how(model, rng)
                yield f"{kind}/grid/{how.__name__ if how else 'own'}", model, X, y
        for load in (load_iris, load_wine, load_breast_cancer, load_digits):
            X, y = load(return_X_y=True)
            X = X[:, rng.permutation(X.shape[1])[:10]]
            for kind, model in real_models(seed, len(np.unique(y)) == 2):
                model.fit(X, y)
                if seed % 2 and compiled(model):
                    rounded_oddly(model, rng)
                yield f"{kind}/{load.__name__[5:]}", model, X, y


def real_models(seed, binary):
    options = {"max_depth": 2, "random_state": seed}
    tree = DecisionTreeClassifier(max_depth=2)
    n = 6 + seed % 2
    yield "forest", RandomForestClassifier(n, **options)
    yield "forest_deep", RandomForestClassifier(3, max_leaf_nodes=8, random_state=seed)
    yield "extra_trees", ExtraTreesClassifier(n, **options)
    yield "bagging", BaggingClassifier(tree, n, max_features=0.5, random_state=seed)
    yield "adaboost", AdaBoostClassifier(tree, n_estimators=n, random_state=seed)
    yield "boosting", GradientBoostingClassifier(n_estimators=n if binary else 2, **options)
    yield "hist_boosting", HistGradientBoostingClassifier(max_iter=n if binary else 2, **options)
    if importlib.util.find_spec("xgboost"):
        from xgboost import XGBClassifier

        yield "xgboost", XGBClassifier(n_estimators=n if binary else 2, n_jobs=1, **options)
    if importlib.util.find_spec("lightgbm"):
        from lightgbm import LGBMClassifier

        yield (
            "lightgbm",
            LGBMClassifier(n_estimators=n if binary else 2, n_jobs=1, verbose=-1, **options),
        )


# What is compared


def majority(model):
    """``voting="hard"`` by the trees' own predict: the smallest of the most frequent labels."""

    def predict(X):
        votes = np.stack([tree.predict(X).astype(np.intp) for tree in model.estimators_])
        counts = np.stack([(votes == c).sum(axis=0) for c in range(len(model.classes_))], axis=1)
        return model.classes_[counts.argmax(axis=1)]

    return predict


def mean_of_trees(model):
    def predict(X):
        return np.mean([tree.predict_proba(X) for tree in model.estimators_], axis=0)

    return predict


def walk_to_stops(model, kept):
    """Labels of a forest in which a row stops at the first node that is not `kept`."""
    stops = []
    for tree, keep in zip(model.estimators_, kept, strict=True):
        t = tree.tree_
        stop = np.arange(t.node_count)
        above = [(0, None)]
        while above:
            node, at = above.pop()
            stop[node] = node if at is None else at
            at = node if at is None and not keep[node] else at
            if t.children_left[node] >= 0:
                above += [(t.children_left[node], at), (t.children_right[node], at)]
        stops.append(t.value[stop, 0])

    def predict(X):
        total = 0.0
        for tree, value in zip(model.estimators_, stops, strict=True):
            total = total + value[tree.apply(X)]
        return model.classes_[(total / len(stops)).argmax(axis=1)]

    return predict


def comparisons(name, model, X, y, time_limit, left_out):
    """Yield (what, ours, truth, tolerance) for a model."""
    frozen = FrozenEstimator(model)
    y = model.predict(X)
    kind = name.split("/")[0]
    forest = kind.startswith(("forest", "extra_trees"))
    # The reader says what hand-made thresholds mean; the truth is what the model itself answers.
    for voting in ("estimator", "hard") if forest else ("estimator",):
        tree = BornAgainClassifier(frozen, voting=voting, time_limit=time_limit, random_state=0)
        try:
            tree.fit(X, y)
        except ValueError as error:
            if "time_limit" not in str(error) and "max_memory" not in str(error):
                raise
            left_out[f"born-again of {kind}"] += 1
        else:
            truth = model.predict if voting == "estimator" else majority(model)
            yield f"born-again, {voting} vote", tree.predict, truth, 0.0
    if forest:
        try:
            merged = merge_trees([model], max_leaf_nodes=200_000)
        except ValueError as error:
            if "max_leaf_nodes" not in str(error):
                raise
            left_out[f"merged {kind}"] += 1
        else:
            yield "merged", merged.predict_proba, mean_of_trees(model), 1e-12
        pruner = FeatureBudgetPruner(frozen, budget="50%").fit(X, y)
        offsets = np.cumsum([0, *(tree.node_count for tree in compiled(model))])
        kept = np.split(pruner._pruning.keep.astype(bool), offsets[1:-1])
        yield "pruned", pruner.predict, walk_to_stops(model, kept), 0.0


def cuts_of(model, X):
    """Numbers to probe around, one array a feature.

    The thresholds as the reader has them, those that scikit-learn stores, in every feature, and
    points between values of the training rows.
    """
    forest = read_forest(model)
    read = cut_points(forest.feature, forest.threshold, forest.n_features)
    stored = np.concatenate([*(tree.threshold for tree in compiled(model)), np.zeros(0)])
    stored = stored[np.abs(stored) <= FLOAT32_MAX]
    cuts = []
    for j, own in enumerate(read):
        values = np.unique(X[:, j])
        between = (values[:-1] + values[1:])[:20] / 2
        cuts.append(np.unique(np.concatenate([own, stored, values[:20], between])))
    return cuts


def compare(ours, truth, tolerance, cuts, n, rng, exact):
    """Number of rows, of `n`, on which two functions differ, and the first of them."""
    wrong, first = 0, None
    step = max(1000, ENTRIES // len(cuts))
    for begin in range(0, n, step):
        rows = adversarial_rows(cuts, rng, min(step, n - begin))
        if exact:  # the ensemble compares float64: only rows that float32 can hold count
            rows = rows.astype(np.float32).astype(np.float64)
        a, b = ours(rows), truth(rows)
        differ = np.abs(a - b).max(axis=1) > tolerance if tolerance else a != b
        wrong += int(differ.sum())
        if first is None and differ.any():
            first = rows[differ][0]
    return wrong, first


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--probes", type=float, default=1e8, help="rows in all")
    parser.add_argument("--seeds", type=int, default=6, help="ensembles of each kind")
    parser.add_argument("--time-limit", type=float, default=10.0, help="of each search, seconds")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", RuntimeWarning)
    warnings.simplefilter("ignore", UserWarning)
    place = environment("treelite", "lightgbm")
    begin, cpu = time.monotonic(), time.process_time()
    seen = 0
    rows, pairs, wrong = (collections.Counter() for _ in range(3))
    left_out, failures = collections.Counter(), []
    todo = list(models(options.seeds))
    for number, (name, model, X, y) in enumerate(todo):
        found = list(comparisons(name, model, X, y, options.time_limit, left_out))
        if not found:
            continue
        share = (options.probes - seen) / (len(todo) - number)
        n = int(np.ceil(share / len(found)))
        exact = name.startswith(("hist", "lightgbm"))
        cuts = cuts_of(model, X)
        for what, ours, truth, tolerance in found:
            rng = np.random.default_rng([number, len(what)])
            bad, row = compare(ours, truth, tolerance, cuts, n, rng, exact)
            seen += n
            rows[what] += n
            pairs[what] += 1
            wrong[what] += bad
            if bad:
                failures.append(f"{what}, {name}, model {number}: {bad} of {n}; {row!r}")
                print(failures[-1], file=sys.stderr, flush=True)

    print(
        f"{place}; {len(todo)} ensembles, {time.process_time() - cpu:.0f} s of CPU, "
        f"{time.monotonic() - begin:.0f} s.\n"
    )
    print("| what | models | rows | rows that differ |\n|---|---:|---:|---:|")
    for what in sorted(rows):
        print(f"| {what} | {pairs[what]} | {rows[what]:,} | {wrong[what]} |")
    print(f"| all | {sum(pairs.values())} | {sum(rows.values()):,} | {sum(wrong.values())} |")
    if left_out:
        listed = ", ".join(f"{what} ({count})" for what, count in sorted(left_out.items()))
        print(f"\nLeft out, too large for --time-limit {options.time_limit:g}: {listed}.")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
