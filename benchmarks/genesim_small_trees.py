"""One small accurate tree: GENESIM beside what users would pick, on sets that chose no default.

    python -m benchmarks.genesim_small_trees --data DIR [--sets sonar seeds] [--repeats 1]
                                             [--methods genesim cart]

DIR holds one CSV file a data set (header, numeric columns, last column ``target``); without it
the two sets that come with scikit-learn are used. The ten sets are none of the paper's twelve, on
which the defaults were chosen. Stratified 3-fold cross-validation with shuffled rows; CART
is tuned over the alphas of its own pruning path by 5 shuffled folds of the training rows. Every
difference is to the first method, with its standard error over the sets.

GENESIM's fitness may count the training rows (``training_weight=0.3``), and a forest may choose
from the front (``selection="forest"``): "fitness", "selection", "both" or "neither".
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from benchmarks._record import environment
from ensemble_simplify import C45Tree, GenesimClassifier, GuideTree, QuestTree

SETS = (
    "blood_transfusion", "haberman", "indian_liver", "ionosphere", "parkinsons", "qsar_biodeg",
    "seeds", "sonar", "steel_plates", "vertebral",
)  # fmt: skip
BUNDLED = {"wdbc": load_breast_cancer, "wine": load_wine}
FIRST_SEED = 7100  # of folds and methods
SMALLEST_CLASS = 6  # classes with fewer rows are left out
MOST_ALPHAS = 40


class TunedCart:
    """CART cut back to the alpha of its own path that is best in 5 shuffled folds."""

    def __init__(self, seed):
        self.seed = seed

    def fit(self, X, y):
        tree = DecisionTreeClassifier(random_state=self.seed)
        alphas = np.unique(np.maximum(tree.cost_complexity_pruning_path(X, y).ccp_alphas, 0.0))
        between = np.append(np.sqrt(alphas[:-1] * alphas[1:]), alphas[-1])
        if len(between) > MOST_ALPHAS:
            between = between[np.linspace(0, len(between) - 1, MOST_ALPHAS).astype(int)]
        folds = StratifiedKFold(5, shuffle=True, random_state=self.seed)
        self.search = GridSearchCV(tree, {"ccp_alpha": between}, cv=folds).fit(X, y)
        self.decision_tree_ = self.search.best_estimator_
        return self

    def predict(self, X):
        return self.search.predict(X)

    def predict_proba(self, X):
        return self.search.predict_proba(X)


def _genesim(*estimators, **options):
    return lambda seed: GenesimClassifier(*estimators, **options, n_jobs=1, random_state=seed)


METHODS = {
    "neither": _genesim(training_weight=0.0, selection="best"),
    "fitness": _genesim(training_weight=0.3, selection="best"),
    "selection": _genesim(training_weight=0.0, selection="forest"),
    "both": _genesim(training_weight=0.3, selection="forest"),
    "paper's": _genesim("paper", n_crossovers=10, training_weight=0.0, selection="best"),
    "oob, neither": _genesim(fitness="oob", training_weight=0.0, selection="best"),
    "oob, both": _genesim(fitness="oob", training_weight=0.3, selection="forest"),
    "cart": TunedCart,
    "c45": lambda seed: C45Tree(),
    "quest": lambda seed: QuestTree(),
    "guide .03": lambda seed: GuideTree(confidence=0.03),
    "forest of 300": lambda seed: RandomForestClassifier(300, random_state=seed),
}


def load(name, data):
    """Rows and labels of a set."""
    if data is None:
        return BUNDLED[name](return_X_y=True)
    table = np.genfromtxt(Path(data) / f"{name}.csv", delimiter=",", skip_header=1)
    _, of_row, n_rows = np.unique(table[:, -1], return_inverse=True, return_counts=True)
    table = table[n_rows[of_row] >= SMALLEST_CLASS]
    X, y = table[:, :-1], np.unique(table[:, -1], return_inverse=True)[1]
    return np.where(np.isnan(X), np.nanmedian(X, axis=0), X), y


def run(name, methods, repeats, data, first_seed):
    """Accuracy, AUC, leaves and CPU seconds of every method on every fold of a set."""
    X, y = load(name, data)
    figures = defaultdict(list)
    for repeat in range(repeats):
        seed = first_seed + repeat
        for train, test in StratifiedKFold(3, shuffle=True, random_state=seed).split(X, y):
            for method in methods:
                start = time.process_time()
                model = METHODS[method](seed).fit(X[train], y[train])
                seconds = time.process_time() - start
                proba = model.predict_proba(X[test])
                auc = roc_auc_score(
                    y[test], proba[:, 1] if proba.shape[1] == 2 else proba, multi_class="ovr"
                )
                tree = getattr(model, "decision_tree_", None)
                leaves = np.nan if tree is None else tree.get_n_leaves()
                accuracy = np.mean(model.predict(X[test]) == y[test])
                figures[method].append((accuracy, auc, leaves, seconds))
    return {method: np.array(rows) for method, rows in figures.items()}


def report(results, methods):
    """Accuracy on every set, then means and differences to the first method."""
    print("| accuracy | " + " | ".join(methods) + " |")
    print("|---" * (len(methods) + 1) + "|")
    for name, figures in results.items():
        line = [f"{figures[method][:, 0].mean():.3f}" for method in methods]
        print(f"| {name} | " + " | ".join(line) + " |")
    means = np.array([[f[m].mean(axis=0) for m in methods] for f in results.values()])
    print("\n| method | accuracy | AUC | leaves | CPU s | accuracy less the first's |")
    print("|---" * 6 + "|")
    for i, method in enumerate(methods):
        accuracy, auc, leaves, seconds = means[:, i].mean(axis=0)
        gap = means[:, i, 0] - means[:, 0, 0]
        error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else np.nan
        difference = f"{gap.mean():+.4f} +- {error:.4f}" if i else ""
        print(
            f"| {method} | {accuracy:.4f} | {auc:.3f} | {leaves:.1f} | {seconds:.2f} | "
            f"{difference} |"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", help="directory of CSV files")
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    options = parser.parse_args()
    sets = options.sets or (SETS if options.data else tuple(BUNDLED))
    warnings.filterwarnings("ignore", category=FutureWarning)
    print(f"{environment()}\n")
    how = options.methods, options.repeats, options.data, options.first_seed
    results = {name: run(name, *how) for name in sets}
    print(f"{3 * options.repeats} folds a set, seeds from {options.first_seed}.\n")
    report(results, options.methods)


if __name__ == "__main__":
    main()
