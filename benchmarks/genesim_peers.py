"""GENESIM beside other makers of small trees, every one tuned on the training rows alone.

    python -m benchmarks.genesim_peers --data DIR [--sets heart iris] [--methods genesim streed]
                                       [--repeats 1] [--store FILE] [--report]

The paper's twelve sets (see `benchmarks.genesim`; without ``--data`` the two of them that come with
scikit-learn), stratified 3-fold cross-validation with shuffled rows. ``--store`` appends a line a
fit, so that a run can be made in pieces; ``--report`` prints what is there and runs nothing.

- ``cart``: cut back along its own pruning path, alpha by 5 shuffled folds.
- ``streed``: optimal trees of depth 3 (pystreed), 5 thresholds a feature, size tuned by its own
  five-fold validation.
- ``gosdt``, on sets of two classes, since its guesses of thresholds miss those of a third: optimal
  sparse trees, thresholds guessed from 40 boosted stumps, depth at most 5, regularisation out of
  four by 3 shuffled folds, 5 seconds a fit by the clock. ``gosdt 5``: the least of five
  regularisations that leaves at most 5 leaves; ``genesim 5``: GENESIM's ``at(n_leaves=5)``.
- ``figs``: sums of trees (imodels), number of splits out of five by 5 shuffled folds; one against
  the rest with three classes or more, "leaves" over all its trees.
- ``cultivated``, ``cultivated 15``: the whole cultivated forest, and the one of 15 leaves.
- ``ebm``: explainable boosting machine (interpret), 4 outer bags, no interactions; not a tree.
- ``forest``: 300 trees with leaves of 2 rows.

Seconds are of CPU, tuning counted.

    python -m benchmarks.genesim_peers --judge [--tables DIR] [--only TEXT ...] [--rows 3000]
                                       [--repeats 2] [--store FILE]

Leaf values, on the tables of `benchmarks.front_door` with classes (``--tables`` adds those of a
folder), or with ``--data`` on the sets named: a third of the rows tests, drawn within classes. All
methods get the same codes: text by the order of its levels, unknown ones -1, missing ones -2,
missing numbers the median. ``--store`` appends a line of JSON a cell, and cells in it are not
measured again.

- ``genesim``; ``genesim, raw`` with ``shrinkage=0``; ``genesim, bred`` from the paper's first
  population; ``cart``, tuned as above.
- ``cart, shrunk``: hierarchical shrinkage of that tree; ``hstree``: of a CART tree with as many
  leaves as GENESIM's. Its strength is chosen out of `STRENGTHS` by the log loss of 3 folds, as
  imodels' ``HSTreeClassifierCV`` does, and its values are that of ``HSTreeClassifier``. The seconds
  are those of shrinking: add CART's to the former.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from benchmarks import genesim_small_trees
from benchmarks._record import environment
from benchmarks._tables_of_packages import available
from benchmarks._tables_of_packages import read as read_table
from benchmarks.genesim import SETS, load
from benchmarks.genesim_small_trees import TunedCart
from ensemble_simplify import (
    C45Tree,
    CultivatedForestClassifier,
    GenesimClassifier,
    GuideTree,
    TimeLimitError,
)

FIRST_SEED = 9300
SECONDS = 5  # a fit of GOSDT
REGULARISATIONS = (0.05, 0.02, 0.01, 0.005)
SPLITS = (3, 6, 9, 12, 20)
STRENGTHS = (0.1, 1.0, 10.0, 50.0, 100.0, 500.0)  # of hierarchical shrinkage, as imodels has them


class Gosdt:
    """GOSDT on thresholds guessed from boosted stumps."""

    def __init__(self, seed, regularisations=REGULARISATIONS, most_leaves=None):
        self.seed = seed
        self.regularisations = regularisations
        self.most_leaves = most_leaves

    def fit(self, X, y):
        if self.most_leaves is not None:
            model = None
            for regularisation in sorted(self.regularisations):
                model = self._fit_one(X, y, regularisation) or model
                if model is not None and self._n_leaves(model) <= self.most_leaves:
                    break
            if model is None:
                raise TimeLimitError(f"no tree within {SECONDS} seconds")
            self.binarizer_, self.model_ = model
            return self
        right = dict.fromkeys(self.regularisations, 0)
        folds = StratifiedKFold(3, shuffle=True, random_state=self.seed)
        for train, test in folds.split(X, y):
            for regularisation in right:
                model = self._fit_one(X[train], y[train], regularisation)
                if model is None:  # no tree within the time
                    right[regularisation] -= len(X)
                    continue
                binarizer, tree = model
                answers = tree.predict(binarizer.transform(X[test]))
                right[regularisation] += np.sum(answers == y[test])
        for regularisation in sorted(right, key=lambda r: (-right[r], -r)):
            model = self._fit_one(X, y, regularisation)
            if model is not None:
                break
        self.binarizer_, self.model_ = model
        return self

    def _fit_one(self, X, y, regularisation):
        from gosdt import GOSDTClassifier, ThresholdGuessBinarizer

        binarizer = ThresholdGuessBinarizer(n_estimators=40, max_depth=1, random_state=self.seed)
        binarizer.set_output(transform="pandas")
        binary = binarizer.fit_transform(X, y)
        model = GOSDTClassifier(
            regularization=regularisation, depth_budget=5, time_limit=SECONDS,
            allow_small_reg=True, similar_support=False,
        )  # fmt: skip
        try:
            model.fit(binary, y)
        except RuntimeError as error:  # it says so when it has no tree at the end of its time
            print(f"# gosdt, {regularisation}: {error}", flush=True)
            return None
        return (binarizer, model) if model.trees_ else None

    @staticmethod
    def _n_leaves(model):
        def count(node):
            if hasattr(node, "left_child"):
                return count(node.left_child) + count(node.right_child)
            return 1

        return count(model[1].trees_[0].tree)

    @property
    def n_leaves_(self):
        return self._n_leaves((self.binarizer_, self.model_))

    def predict(self, X):
        return self.model_.predict(self.binarizer_.transform(X))

    def predict_proba(self, X):
        return self.model_.predict_proba(self.binarizer_.transform(X))


class Streed:
    """An optimal tree of depth three, whose size STreeD tunes itself."""

    def __init__(self, seed):
        self.seed = seed

    def fit(self, X, y):
        from pystreed import STreeDClassifier

        self.model_ = STreeDClassifier(
            "accuracy", max_depth=3, n_thresholds=5, hyper_tune=True, time_limit=60,
            random_seed=self.seed,
        ).fit(X, y)  # fmt: skip
        self.n_leaves_ = self.model_.get_n_leaves()
        return self

    def predict(self, X):
        return self.model_.predict(X)

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


class Figs:
    """Sums of trees with as many splits as held-out folds like best."""

    def __init__(self, seed):
        self.seed = seed

    def fit(self, X, y):
        from imodels import FIGSClassifier

        model, name = FIGSClassifier(random_state=self.seed), "max_rules"
        if len(np.unique(y)) > 2:
            model, name = OneVsRestClassifier(model), "estimator__max_rules"
        folds = StratifiedKFold(5, shuffle=True, random_state=self.seed)
        self.model_ = GridSearchCV(model, {name: SPLITS}, cv=folds).fit(X, y).best_estimator_
        parts = getattr(self.model_, "estimators_", [self.model_])
        self.n_leaves_ = sum(part.complexity_ + len(part.trees_) for part in parts)
        return self

    def predict(self, X):
        return self.model_.predict(X)

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


class Five:
    """GENESIM's best tree of at most five leaves."""

    def __init__(self, seed):
        self.seed = seed

    def fit(self, X, y):
        whole = GenesimClassifier(n_jobs=1, random_state=self.seed).fit(X, y)
        self.model_ = whole.at(n_leaves=max(5, int(whole.pareto_front_.n_leaves[0])))
        self.n_leaves_ = self.model_.n_leaves_
        return self

    def predict(self, X):
        return self.model_.predict(X)

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


def _ebm(seed):
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(interactions=0, outer_bags=4, n_jobs=1, random_state=seed)


METHODS = {
    "genesim": lambda seed: GenesimClassifier(n_jobs=1, random_state=seed),
    "cart": TunedCart,
    "c45": lambda seed: C45Tree(),
    "guide .03": lambda seed: GuideTree(confidence=0.03),
    "streed": Streed,
    "gosdt": Gosdt,
    "figs": Figs,
    "cultivated": lambda seed: CultivatedForestClassifier(),
    "cultivated 15": lambda seed: CultivatedForestClassifier(max_leaf_nodes=15, max_options=5),
    "ebm": _ebm,
    "forest": lambda seed: RandomForestClassifier(
        300, min_samples_leaf=2, n_jobs=1, random_state=seed
    ),
    "genesim 5": Five,
    "gosdt 5": lambda seed: Gosdt(seed, (0.1, 0.05, 0.03, 0.02, 0.01), most_leaves=5),
}
FIVE_LEAVES = ("genesim 5", "gosdt 5")
BINARY_ONLY = ("gosdt", *FIVE_LEAVES)


# ------------------------------------------------------------------- leaf values


def shrunk(tree, strength):
    """A scikit-learn tree after hierarchical shrinkage, in place."""
    nodes = tree.tree_
    fraction, weight = nodes.value.copy(), nodes.weighted_n_node_samples
    for parent in np.flatnonzero(nodes.children_left >= 0):  # parents come before children
        for child in (nodes.children_left[parent], nodes.children_right[parent]):
            step = (fraction[child] - fraction[parent]) / (1 + strength / weight[parent])
            nodes.value[child] = nodes.value[parent] + step
    return tree


def shrunk_by_folds(tree, X, y, seed):
    """A tree of these parameters, shrunk with the strength of least log loss in three folds."""
    losses = np.zeros(len(STRENGTHS))
    for train, test in StratifiedKFold(3, shuffle=True, random_state=seed).split(X, y):
        for i, strength in enumerate(STRENGTHS):
            part = shrunk(tree.fit(X[train], y[train]), strength)
            proba = np.zeros((len(test), y.max() + 1))
            proba[:, part.classes_] = part.predict_proba(X[test])
            losses[i] += log_loss(y[test], proba, labels=np.arange(y.max() + 1))
    return shrunk(tree.fit(X, y), STRENGTHS[int(np.argmin(losses))])


def values_of(name, source, seed, most_rows):
    """All figures of leaf values for one table and one split, as they are stored."""
    if isinstance(source, str) and Path(source).is_dir():
        X, y = genesim_small_trees.load(name, source)
        chosen = np.random.default_rng(seed).permutation(len(X))[:most_rows]
        few = np.isin(y, np.flatnonzero(np.bincount(y[chosen]) < 8))
        chosen = chosen[~few[chosen]]
        X, y = X[chosen], y[chosen]
    else:
        X, y = read_table(source, most_rows, seed)
    y = np.unique(y, return_inverse=True)[1]
    rows = train_test_split(np.arange(len(y)), test_size=1 / 3, stratify=y, random_state=seed)
    if hasattr(X, "columns"):
        text = [c for c in X if X[c].dtype.kind not in "biuf"]
        places = OrdinalEncoder(
            handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2
        )
        numbers = [c for c in X if c not in text]
        codes = make_column_transformer(
            (places, text), (SimpleImputer(strategy="median"), numbers)
        ).fit(X.iloc[rows[0]])
        train, test = (codes.transform(X.iloc[part]).astype(np.float32) for part in rows)
    else:
        train, test = (X[part].astype(np.float32) for part in rows)
    y_train, y_test = (y[part] for part in rows)

    cell = {"table": name, "seed": seed, "rows": len(y), "figures": {}}
    tuned, size = None, None
    options_of = {
        "genesim": {},
        "genesim, raw": {"shrinkage": 0},
        "genesim, bred": {"selection": "forest"},
    }
    for method in (*options_of, "cart", "cart, shrunk", "hstree"):
        start = time.process_time()
        if method in options_of:
            model = GenesimClassifier(n_jobs=1, random_state=seed, **options_of[method])
            model.fit(train, y_train)
            size = model.n_leaves_ if method == "genesim" else size
        elif method == "cart":
            model = tuned = TunedCart(seed).fit(train, y_train)
        else:
            options = {"max_leaf_nodes": max(size, 2), "random_state": seed}
            if method == "cart, shrunk":
                options = tuned.decision_tree_.get_params()
            model = shrunk_by_folds(DecisionTreeClassifier(**options), train, y_train, seed)
        seconds = time.process_time() - start
        proba = np.clip(model.predict_proba(test), 0.0, 1.0)
        proba /= proba.sum(axis=1, keepdims=True)
        tree = getattr(model, "decision_tree_", model)
        cell["figures"][method] = {
            "accuracy": float(np.mean(model.predict(test) == y_test)),
            "log loss": log_loss(y_test, proba, labels=np.arange(y.max() + 1)),
            "AUC": roc_auc_score(
                y_test, proba[:, 1] if proba.shape[1] == 2 else proba, multi_class="ovr"
            ),
            "Brier": float(np.mean(np.sum((proba - np.eye(y.max() + 1)[y_test]) ** 2, axis=1))),
            "leaves": int(tree.get_n_leaves()),
            "CPU s": seconds,
        }
    return cell


def judge(options):
    """Measure what is not stored, and print means over tables with differences to GENESIM."""
    cells = {}
    if options.store and Path(options.store).exists():
        for text in Path(options.store).read_text(encoding="utf-8").splitlines():
            cell = json.loads(text)
            cells[cell["table"], cell["seed"]] = cell
    if options.data:
        tables = [(name, options.data) for name in options.sets or genesim_small_trees.SETS]
    else:
        tables = [found for found in available(options.tables) if found[0].startswith("c_")]
    tables = [t for t in tables if any(text in t[0] for text in options.only)]
    for name, source in [] if options.report else tables:
        for seed in range(options.repeats):
            if (name, seed) not in cells:
                cells[name, seed] = cell = values_of(name, source, seed, options.rows)
                if options.store:
                    with open(options.store, "a", encoding="utf-8") as file:
                        file.write(json.dumps(cell) + "\n")
    known = {name for name, _ in tables}
    cells = [cell for cell in cells.values() if cell["table"] in known]
    print("\n".join(judged(cells)) if cells else "No cells.")


def judged(cells):
    """Lines of means over tables, and of GENESIM less each method with the standard error."""
    names = sorted({cell["table"] for cell in cells})
    methods = list(cells[0]["figures"])
    heads = list(cells[0]["figures"][methods[0]])
    means = np.array(
        [
            np.mean(
                [
                    [[cell["figures"][m][head] for head in heads] for m in methods]
                    for cell in cells
                    if cell["table"] == name
                ],
                axis=0,
            )
            for name in names
        ]
    )
    yield f"{len(names)} tables, {len(cells)} cells.\n"
    yield "| method | " + " | ".join(heads) + " |\n" + "|---" * (len(heads) + 1) + "|"
    for method, row in zip(methods, means.mean(axis=0), strict=True):
        yield f"| {method} | " + " | ".join(f"{value:.4g}" for value in row) + " |"
    yield "\n| genesim less | " + " | ".join(heads[:4]) + " |\n" + "|---" * 5 + "|"
    for i, method in enumerate(methods[1:], start=1):
        gap = means[:, 0, :4] - means[:, i, :4]
        error = gap.std(axis=0, ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else [np.nan] * 4
        told = [f"{g:+.4f} +- {e:.4f}" for g, e in zip(gap.mean(axis=0), error, strict=True)]
        yield f"| {method} | " + " | ".join(told) + " |"
    yield "\n| table | rows | " + " | ".join(f"{m}: accuracy, log loss" for m in methods) + " |"
    yield "|---" * (len(methods) + 2) + "|"
    for name, of_table in zip(names, means, strict=True):
        rows = next(cell["rows"] for cell in cells if cell["table"] == name)
        told = [f"{row[0]:.3f}, {row[1]:.3f}" for row in of_table]
        yield f"| {name} | {rows} | " + " | ".join(told) + " |"


# ------------------------------------------------------------------- many makers of trees


def n_leaves(model):
    """Leaves of a fitted model; NaN for those that are not trees."""
    if hasattr(model, "n_leaves_"):
        return model.n_leaves_
    tree = getattr(model, "decision_tree_", None)
    return np.nan if tree is None else tree.get_n_leaves()


def measure(model, X, y, X_test, y_test):
    """Accuracy, AUC, leaves and CPU seconds of one fit."""
    start = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - start
    proba = np.asarray(model.predict_proba(X_test), dtype=float)
    proba = proba / proba.sum(axis=1, keepdims=True)
    auc = roc_auc_score(y_test, proba[:, 1] if proba.shape[1] == 2 else proba, multi_class="ovr")
    return np.mean(model.predict(X_test) == y_test), auc, n_leaves(model), seconds


def read(store):
    """Figures of the fits in a file, by (set, method, seed, fold)."""
    done = {}
    if store and Path(store).exists():
        with open(store, newline="", encoding="utf-8") as file:
            for name, method, seed, fold, *figures in csv.reader(file):
                done[name, method, int(seed), int(fold)] = [float(f) for f in figures]
    return done


def run(options, done):
    """Fit what is not in the store yet, all methods on one fold after another."""
    for repeat in range(options.repeats):
        seed = FIRST_SEED + repeat
        for name in options.sets:
            X, y = load(name, options.data)
            y = np.unique(y, return_inverse=True)[1]
            folds = StratifiedKFold(3, shuffle=True, random_state=seed).split(X, y)
            for fold, (train, test) in enumerate(folds):
                for method in options.methods:
                    key = name, method, seed, fold
                    if key in done or (method in BINARY_ONLY and y.max() > 1):
                        continue
                    done[key] = measure(METHODS[method](seed), X[train], y[train], X[test], y[test])
                    if options.store:
                        with open(options.store, "a", newline="", encoding="utf-8") as file:
                            csv.writer(file).writerow((*key, *done[key]))


def table(figures, sets, methods):
    """Lines of means over the sets, with the difference to the first method."""
    yield "| method | accuracy | AUC | leaves | CPU s | the first's accuracy less this one's |"
    yield "|---" * 6 + "|"
    means = {m: np.array([np.mean(figures[name, m], axis=0) for name in sets]) for m in methods}
    for method in methods:
        accuracy, auc, leaves, seconds = means[method].mean(axis=0)
        gap = means[methods[0]][:, 0] - means[method][:, 0]
        error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else np.nan
        difference = f"{gap.mean():+.4f} +- {error:.4f}" if method != methods[0] else ""
        yield (
            f"| {method} | {accuracy:.4f} | {auc:.3f} | {leaves:.1f} | {seconds:.2f} | "
            f"{difference} |"
        )


def report(done, options):
    """Tables of the folds in which every method is done."""
    figures = defaultdict(list)
    for (name, method, _, _), values in done.items():
        figures[name, method].append(values)
    whole = [m for m in options.methods if m not in FIVE_LEAVES]
    for title, methods in (
        ("All sets", [m for m in whole if m not in BINARY_ONLY]),
        ("Two classes", whole if "gosdt" in whole else []),
        ("Two classes, at most 5 leaves", [m for m in FIVE_LEAVES if m in options.methods]),
    ):
        counts = {name: min((len(figures[name, m]) for m in methods), default=0) for name in SETS}
        sets = [name for name in SETS if counts[name]]
        if not sets:
            continue
        print(f"\n{title}: {', '.join(f'{name} ({counts[name]} folds)' for name in sets)}\n")
        print("\n".join(table(figures, sets, methods)))
        print("\n| accuracy | " + " | ".join(methods) + " |\n" + "|---" * (len(methods) + 1) + "|")
        for name in sets:
            cells = [f"{np.mean(figures[name, m], axis=0)[0]:.3f}" for m in methods]
            print(f"| {name} | " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", help="directory of CSV files")
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--store", help="append one line a fit, or a cell, to this file")
    parser.add_argument("--report", action="store_true", help="print what is stored, fit nothing")
    parser.add_argument("--judge", action="store_true", help="leaf values on many tables")
    parser.add_argument("--tables", help="a folder of CSV files to judge on, too")
    parser.add_argument("--only", nargs="+", default=[""], help="parts of the tables' names")
    parser.add_argument("--rows", type=int, default=3000, help="rows of a table, at most")
    options = parser.parse_args()
    if options.judge:
        warnings.filterwarnings("ignore")
        print(f"{environment('pandas')}; at most {options.rows} rows\n")
        judge(options)
        return
    options.sets = options.sets or (list(SETS) if options.data else ["iris", "wine"])
    warnings.filterwarnings("ignore")
    print(environment("pystreed", "gosdt", "imodels", "interpret-core"))
    done = read(options.store)
    if not options.report:
        run(options, done)
    report(done, options)


if __name__ == "__main__":
    main()
