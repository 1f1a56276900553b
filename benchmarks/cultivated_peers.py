"""Cultivated trees of 15 leaves beside logistic regression, HSTree, tuned CART and forests.

    python -m benchmarks.cultivated_peers --data DIR [--sets sonar seeds]   # sets of the papers
    python -m benchmarks.cultivated_peers --tables [DIR] [--only TEXT ...]  # tables of front_door
        [--methods TEXT ...] [--splits 5] [--rows 3000] [--cache FILE]

``--data`` takes CSV files of numbers with a last column ``target``; without it and ``--tables`` the
two sets that come with scikit-learn are used. ``--tables`` takes the classification tables of
`benchmarks.front_door`: those that packages ship, and those of DIR. None was used to choose
anything.

Stratified halves, learned from one and judged on the other; all contestants get the same numbers:
columns of at most ten levels one by one, of more levels as places, gaps filled in with the median.
Logistic regression gets them scaled. CART and HSTree (hierarchical shrinkage of Agarwal et al.,
2022) are tuned by five folds of the training rows; HSTree of any of 4 to 64 leaves, and of 15.

Differences are to logistic regression, in points; a standard error is that of the mean over sets.
The sets are also told apart by what a user can find out before choosing: whether a forest of 100
trees beats logistic regression by more than a point, in five folds of the training rows. Every
result is appended to the cache as it comes, so that a run can be made in pieces.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from benchmarks._record import environment
from benchmarks._tables_of_packages import available, read
from benchmarks.genesim_small_trees import BUNDLED, TunedCart, load
from ensemble_simplify import CultivatedForestClassifier

# Of the papers' sets, those on which defaults of cultivated forests were chosen, and others. EEG
# was looked at when the price of a leaf was chosen, which trees of 15 leaves do not pay.
CHOSEN_ON = (
    "australian", "banknote", "climate_model", "pima_diabetes", "heart_statlog", "spectf", "wdbc",
    "glass", "vehicle", "cars", "magic", "spambase", "fico_heloc", "wilt",
)  # fmt: skip
SETS = (
    "blood_transfusion", "haberman", "indian_liver", "ionosphere", "parkinsons", "qsar_biodeg",
    "seeds", "sonar", "steel_plates", "vertebral", "heart_cleveland", "ecoli", "wine", "lymph",
    "eeg_eye_state", "htru2", "led7", "compas_binary",
)  # fmt: skip
FIRST_SEED = 9700
FEW_LEVELS = 10
SMALLEST_CLASS = 8  # as in the tables of packages
CLEAR = 0.01  # accuracy by which a forest must be ahead, for a set not to count as linear


class HSTree:
    """CART whose nodes' answers are drawn to their parents'; strength and size by five folds."""

    STRENGTHS = (0.0, 0.1, 1.0, 10.0, 25.0, 50.0, 100.0)

    def __init__(self, seed, sizes):
        self.seed, self.sizes = seed, sizes

    def tree(self, n_leaves, X, y):
        return DecisionTreeClassifier(max_leaf_nodes=n_leaves, random_state=self.seed).fit(X, y)

    def fit(self, X, y):
        right = defaultdict(float)
        folds = StratifiedKFold(5, shuffle=True, random_state=self.seed)
        for train, test in folds.split(X, y):
            for size in self.sizes:
                tree = self.tree(size, X[train], y[train])
                leaf = tree.apply(X[test])
                for strength in self.STRENGTHS:
                    answers = tree.classes_[shrunk(tree.tree_, strength)[leaf].argmax(axis=1)]
                    right[size, strength] += np.sum(answers == y[test])
        size, strength = max(right, key=right.get)
        self.tree_ = self.tree(size, X, y)
        self.value_ = shrunk(self.tree_.tree_, strength)
        return self

    def predict_proba(self, X):
        return self.value_[self.tree_.apply(X)]


def shrunk(tree, strength):
    """Class shares of all nodes, each step down from the root divided by 1 + strength / rows."""
    share = tree.value[:, 0] / tree.value[:, 0].sum(axis=1, keepdims=True)
    value, rows = share.copy(), tree.weighted_n_node_samples
    for node in np.flatnonzero(tree.children_left >= 0):  # parents come first
        for child in (tree.children_left[node], tree.children_right[node]):
            step = (share[child] - share[node]) / (1 + strength / rows[node])
            value[child] = value[node] + step
    return value


LOGISTIC, FOREST, TUNED = "logistic regression", "forest of 100 trees", "CART, tuned"
METHODS = {
    LOGISTIC: lambda seed: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    FOREST: lambda seed: RandomForestClassifier(random_state=seed),
    TUNED: TunedCart,
    "HSTree, tuned": lambda seed: HSTree(seed, (4, 8, 15, 32, 64)),
    "HSTree, 15 leaves": lambda seed: HSTree(seed, (15,)),
    "cultivated, 15 leaves": lambda seed: CultivatedForestClassifier(
        max_leaf_nodes=15, max_options=5
    ),
    "cultivated": lambda seed: CultivatedForestClassifier(),
    "cultivated, whole": lambda seed: CultivatedForestClassifier(ccp_alpha=0),
}


def encoder(frame):
    """What makes numbers of a table, the same for all."""
    text = [name for name in frame if not pd.api.types.is_numeric_dtype(frame[name])]
    few = [name for name in text if frame[name].nunique() <= FEW_LEVELS]
    many = [name for name in text if name not in few]
    places = OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2
    )
    return make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), few),
        (places, many),
        (SimpleImputer(strategy="median"), [name for name in frame if name not in text]),
        sparse_threshold=0.0,
    )


def sets_of(options):
    """Names of the sets, and what reads them: rows as a table, and labels."""
    if options.tables is not None:
        for name, source in available(options.tables or None):
            if name.startswith("c_") and any(text in name for text in options.only):
                yield name, lambda source=source: read(source, options.rows)
        return

    def numbers(name):
        X, y = load(name, options.data)
        kept = np.random.default_rng(0).permutation(len(X))[: options.rows]
        return pd.DataFrame(X[kept]), y[kept]

    for name in options.sets or (SETS if options.data else tuple(BUNDLED)):
        yield name, lambda name=name: numbers(name)


def halves(frame, y, seed):
    """Numbers and labels to learn from, and to judge on."""
    classes, counts = np.unique(y, return_counts=True)
    used = np.isin(y, classes[counts >= SMALLEST_CLASS])
    frame, y = frame[used], np.unique(y[used], return_inverse=True)[1]
    train, test = train_test_split(np.arange(len(y)), test_size=0.5, stratify=y, random_state=seed)
    encode = encoder(frame).fit(frame.iloc[train])
    X, X_test = (
        np.asarray(encode.transform(frame.iloc[rows]), dtype=float) for rows in (train, test)
    )
    return X, y[train], X_test, y[test]


def forest_ahead(X, y, seed):
    """By how much a forest beats logistic regression in five folds of the training rows."""
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    forest, linear = (
        cross_val_score(METHODS[name](seed), X, y, cv=folds).mean() for name in (FOREST, LOGISTIC)
    )
    return {"ahead": forest - linear}


def judged(method, X, y, X_test, y_test, seed):
    """Figures of one method."""
    start = time.process_time()
    model = METHODS[method](seed).fit(X, y)
    seconds = time.process_time() - start
    proba = np.clip(model.predict_proba(X_test), 1e-3, 1)
    proba /= proba.sum(axis=1, keepdims=True)
    two = proba.shape[1] == 2
    leaves = getattr(model, "n_leaves_", None)
    if isinstance(model, (HSTree, TunedCart)):
        leaves = getattr(model, "tree_", getattr(model, "decision_tree_", None)).get_n_leaves()
    return {
        "accuracy": np.mean(proba.argmax(axis=1) == y_test),
        "auc": roc_auc_score(y_test, proba[:, 1] if two else proba, multi_class="ovr"),
        "log loss": log_loss(y_test, proba),
        "leaves": leaves,
        "seconds": seconds,
    }


def measure(options):
    """Figures of all cells, from the cache where it has them: set -> method -> list of dicts."""
    cache, done = options.cache and Path(options.cache), {}
    if cache and cache.exists():
        for text in cache.read_text(encoding="utf-8").splitlines():
            cell = json.loads(text)
            done[tuple(cell["key"])] = cell["figures"]
    results = defaultdict(lambda: defaultdict(list))
    for name, rows_of in sets_of(options):
        table = None
        for seed in range(FIRST_SEED, FIRST_SEED + options.splits):
            parts = None
            for method in ("ahead", *options.methods):
                key = (name, seed, method, options.rows)
                if key not in done:
                    table = table or rows_of()
                    parts = parts or halves(*table, seed)
                    how = forest_ahead if method == "ahead" else judged
                    given = parts[:2] if method == "ahead" else (method, *parts)
                    done[key] = {
                        figure: None if value is None else float(value)
                        for figure, value in how(*given, seed).items()
                    }
                    if cache:
                        with cache.open("a", encoding="utf-8") as file:
                            file.write(json.dumps({"key": key, "figures": done[key]}) + "\n")
                results[name][method].append(done[key])
    return results


def mean(cells, figure):
    """Mean of a figure over the splits of a set."""
    values = [cell[figure] for cell in cells if cell[figure] is not None]
    return np.mean(values) if values else np.nan


def gap(results, method, other, figure):
    """Mean difference over the sets, and its standard error, in points."""
    each = 100 * np.array(
        [mean(cells[method], figure) - mean(cells[other], figure) for cells in results.values()]
    )
    error = each.std(ddof=1) / len(each) ** 0.5 if len(each) > 1 else np.nan
    return f"{each.mean():+.2f} +- {error:.2f}"


def print_means(results, methods):
    beside = [method for method in (LOGISTIC, TUNED) if method in methods]
    less = [f"less that of {method}" for method in beside]
    columns = ["method", "accuracy", *less, "AUC", *less, "log loss", "leaves", "CPU s"]
    print(f"| {' | '.join(columns)} |")
    print("|---" * len(columns) + "|")
    for method in methods:
        accuracy, auc, loss, leaves, seconds = (
            np.mean([mean(cells[method], figure) for cells in results.values()])
            for figure in ("accuracy", "auc", "log loss", "leaves", "seconds")
        )
        gaps = [
            [gap(results, method, other, figure) for other in beside]
            for figure in ("accuracy", "auc")
        ]
        leaves = "" if np.isnan(leaves) else f"{leaves:.0f}"
        cells = [method, f"{accuracy:.4f}", *gaps[0], f"{auc:.4f}", *gaps[1], f"{loss:.3f}"]
        print(f"| {' | '.join([*cells, leaves, f'{seconds:.3f}'])} |")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help="directory of CSV files")
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--tables", nargs="?", const="", help="tables of packages, and of DIR")
    parser.add_argument("--only", nargs="+", default=[""], help="parts of the tables' names")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--rows", type=int, default=3000, help="rows of a set, at most")
    parser.add_argument("--cache", help="file of finished cells, a line each")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if LOGISTIC not in options.methods:
        options.methods.insert(0, LOGISTIC)
    print(environment())
    results = measure(options)
    groups = {"All": list(results)}
    groups["Where a forest is ahead in folds"] = [
        name for name, cells in results.items() if mean(cells["ahead"], "ahead") > CLEAR
    ]
    groups["Where it is not"] = [name for name in results if name not in list(groups.values())[1]]
    for title, names in groups.items():
        print(f"\n{title}: {len(names)} sets, {options.splits} splits, {', '.join(names)}.\n")
        if names:
            print_means({name: results[name] for name in names}, options.methods)


if __name__ == "__main__":
    main()
