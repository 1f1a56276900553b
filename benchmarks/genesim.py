"""Tables 2 and 3 of the GENESIM paper, with the paper's own figures beside.

    python -m benchmarks.genesim --data DIR [--sets iris wine] [--methods genesim cart]
                                 [--repeats 10] [--store FILE]
    python -m benchmarks.genesim --report FILE [--means CSV]

DIR holds one CSV file a data set (header, numeric columns, last column ``target``). Without it
the two sets that come with scikit-learn are used. Every method is run by stratified
3-fold cross-validation, repeated; ``--store`` appends one line a fold to FILE, so that a long run
can be made in pieces, and ``--report`` prints the tables of what is there; ``--means`` writes
the mean of every method on every set to a CSV file.

Rows are those of the paper: its loader lost the first row of files without a header and dropped
rare classes (see `load`).
"""

from __future__ import annotations

import argparse
import csv
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.tree import DecisionTreeClassifier

from benchmarks._record import environment
from ensemble_simplify import (
    C45Tree,
    GenesimClassifier,
    GuideTree,
    InterpretableSingleModel,
    QuestTree,
)

# name: (file, first row lost by the paper's loader, classes kept)
SETS = {
    "heart": ("heart_statlog", True, None),
    "led7": ("led7", False, range(8)),
    "iris": ("iris", False, None),
    "cars": ("cars", True, None),
    "ecoli": ("ecoli", True, range(5)),
    "glass": ("glass", True, None),
    "austra": ("australian", False, None),
    "vehicle": ("vehicle", False, None),
    "breast": ("breast_cancer_original", True, None),
    "lymph": ("lymph", False, (1, 2)),
    "pima": ("pima_diabetes", False, None),
    "wine": ("wine", True, None),
}
ROWS = {
    "heart": 269, "led7": 2563, "iris": 150, "cars": 1727, "ecoli": 326, "glass": 213,
    "austra": 690, "vehicle": 846, "breast": 698, "lymph": 142, "pima": 768, "wine": 177,
}  # fmt: skip

# Tables 2 and 3 of the paper: accuracy and nodes (of XGB and RF: trees).
PAPER_METHODS = ("XGB", "CART", "QUEST", "GENESIM", "RF", "ISM", "C4.5", "GUIDE")
PAPER_ACCURACY = {
    "heart": (0.8257, 0.7441, 0.7585, 0.7982, 0.8129, 0.8024, 0.7877, 0.7829),
    "led7": (0.8018, 0.7997, 0.7986, 0.7926, 0.8027, 0.7996, 0.8012, 0.761),
    "iris": (0.9505, 0.9504, 0.9562, 0.9463, 0.95, 0.9519, 0.9395, 0.9467),
    "cars": (0.9842, 0.9749, 0.9411, 0.9543, 0.9701, 0.9685, 0.966, 0.9426),
    "ecoli": (0.8651, 0.8196, 0.8195, 0.8325, 0.8486, 0.7507, 0.817, 0.8319),
    "glass": (0.7494, 0.6667, 0.649, 0.6696, 0.7526, 0.6489, 0.6763, 0.6557),
    "austra": (0.8686, 0.8506, 0.8547, 0.8553, 0.8663, 0.8557, 0.8528, 0.8582),
    "vehicle": (0.7606, 0.6988, 0.6986, 0.6834, 0.7383, 0.6672, 0.7115, 0.6821),
    "breast": (0.9591, 0.94, 0.947, 0.9496, 0.958, 0.9466, 0.9443, 0.937),
    "lymph": (0.8354, 0.7686, 0.7907, 0.7866, 0.817, 0.7822, 0.7839, 0.7659),
    "pima": (0.7543, 0.7174, 0.7385, 0.7266, 0.7626, 0.7346, 0.7348, 0.7285),
    "wine": (0.9709, 0.9072, 0.9055, 0.9128, 0.9603, 0.8838, 0.9217, 0.8828),
}
PAPER_NODES = {
    "heart": (408.48, 35.81, 9.19, 17.44, 448.61, 35.89, 23.56, 9.15),
    "led7": (459.98, 201.96, 57.63, 92.04, 516.25, 111.29, 58.96, 32.92),
    "iris": (544.52, 12.29, 5.86, 5.90, 453.24, 10.57, 7.38, 5.33),
    "cars": (631.28, 140.13, 45.67, 103.15, 438.46, 131.41, 98.44, 43.62),
    "ecoli": (487.56, 35.67, 14.58, 19.08, 447.06, 60.13, 19.25, 10.08),
    "glass": (530.70, 57.84, 22.40, 29.67, 486.98, 80.37, 36.30, 16.16),
    "austra": (433.04, 7.75, 7.90, 23.78, 396.33, 38.88, 26.73, 8.29),
    "vehicle": (465.67, 177.11, 81.78, 83.22, 485.28, 345.56, 92.44, 33.22),
    "breast": (563.33, 30.62, 12.62, 18.52, 395.57, 43.76, 19.48, 10.43),
    "lymph": (608.44, 32.04, 13.54, 14.83, 497.94, 30.96, 16.96, 8.88),
    "pima": (180.06, 52.44, 12.0, 45.22, 434.83, 101.67, 26.0, 8.11),
    "wine": (487.09, 13.48, 9.19, 8.05, 409.24, 33.38, 9.38, 6.81),
}
PAPER_NAME = {
    "genesim": "GENESIM", "boosting": "XGB", "rf": "RF", "cart": "CART", "c45": "C4.5",
    "quest": "QUEST", "guide": "GUIDE", "ism": "ISM",
}  # fmt: skip


def load(name, data):
    """Rows and labels of a set as the paper used it, or None if it is not there."""
    file, loses_first, kept = SETS[name]
    if data is None:
        bundled = {"iris": load_iris, "wine": load_wine}
        if name not in bundled:
            return None
        X, y = bundled[name](return_X_y=True)
    else:
        path = Path(data) / f"{file}.csv"
        table = np.genfromtxt(path, delimiter=",", skip_header=1)
        X, y = table[:, :-1], table[:, -1].astype(int)
    if loses_first:
        X, y = X[1:], y[1:]
    if kept is not None:
        rows = np.isin(y, list(kept))
        X, y = X[rows], y[rows]
    # The paper's loader writes the integer part of the column mean for a missing value.
    X = np.where(np.isnan(X), np.trunc(np.nanmean(X, axis=0)), X)
    if len(X) != ROWS[name]:
        raise ValueError(f"{name} has {len(X)} rows, but the paper's Table 1 has {ROWS[name]}.")
    return X, y


class TunedISM:
    """ISM whose pruning is chosen on a third of the training rows."""

    def __init__(self, random_state):
        self.random_state = random_state

    def fit(self, X, y):
        forest = RandomForestClassifier(100, random_state=self.random_state)
        X_fit, X_val, y_fit, y_val = train_test_split(
            X, y, test_size=1 / 3, random_state=self.random_state, stratify=y
        )
        frozen = FrozenEstimator(forest.fit(X_fit, y_fit))
        scores = {
            alpha: InterpretableSingleModel(frozen, ccp_alpha=alpha)
            .fit(X_fit, y_fit)
            .score(X_val, y_val)
            for alpha in (0.0, 0.001, 0.003, 0.01, 0.03)
        }
        alpha = max(scores, key=lambda a: (scores[a], a))
        self.model = InterpretableSingleModel(forest, ccp_alpha=alpha).fit(X, y)
        self.decision_tree_ = self.model.decision_tree_
        return self

    def score(self, X, y):
        return self.model.score(X, y)


def boosting(seed):
    """XGBoost if installed, else scikit-learn's own."""
    try:
        from xgboost import XGBClassifier
    except ImportError:
        return HistGradientBoostingClassifier(random_state=seed)
    return XGBClassifier(
        n_estimators=200, max_depth=3, learning_rate=0.1, subsample=0.8, n_jobs=1,
        random_state=seed,
    )  # fmt: skip


# The held-out rows alone choose, as in the paper.
HELD_OUT = {"training_weight": 0.0, "selection": "best"}

METHODS = {
    "genesim": lambda seed: GenesimClassifier(**HELD_OUT, random_state=seed),
    "genesim_one_se": lambda seed: GenesimClassifier(
        **{**HELD_OUT, "selection": "one_se"}, random_state=seed
    ),
    "genesim_oob": lambda seed: GenesimClassifier(**HELD_OUT, fitness="oob", random_state=seed),
    "cart": lambda seed: GridSearchCV(
        DecisionTreeClassifier(random_state=seed),
        {"ccp_alpha": [0.0, 0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032]},
        cv=5,
    ),
    "c45": lambda seed: C45Tree(),
    "quest": lambda seed: QuestTree(),
    "guide": lambda seed: GuideTree(),
    "ism": lambda seed: TunedISM(seed),
    "rf": lambda seed: RandomForestClassifier(300, min_samples_leaf=2, random_state=seed),
    "boosting": boosting,
}


def size_of(model):
    """Nodes of the tree that a model is, or the number of trees of an ensemble."""
    if hasattr(model, "decision_tree_"):
        return model.decision_tree_.tree_.node_count
    if hasattr(model, "best_estimator_"):
        return model.best_estimator_.tree_.node_count
    return getattr(model, "n_estimators", getattr(model, "n_iter_", np.nan))


def run(sets, methods, repeats, data, first_repeat=0):
    """Yield (set, method, repeat, fold, accuracy, size, CPU seconds)."""
    for name in sets:
        loaded = load(name, data)
        if loaded is None:
            print(f"# {name}: needs --data")
            continue
        X, y = loaded
        y = np.unique(y, return_inverse=True)[1]
        for repeat in range(first_repeat, first_repeat + repeats):
            folds = StratifiedKFold(3, shuffle=True, random_state=repeat).split(X, y)
            for fold, (train, test) in enumerate(folds):
                for method in methods:
                    model = METHODS[method](3 * repeat + fold)
                    start = time.process_time()
                    model.fit(X[train], y[train])
                    seconds = time.process_time() - start
                    accuracy = model.score(X[test], y[test])
                    yield name, method, repeat, fold, accuracy, size_of(model), seconds


def report(rows):
    """Print both tables, ours beside the paper's, and the bars."""
    cells = defaultdict(list)
    for name, method, _, _, accuracy, size, seconds in rows:
        cells[name, method].append((float(accuracy), float(size), float(seconds)))
    means = {key: np.mean(value, axis=0) for key, value in cells.items()}
    sets = [name for name in SETS if any(key[0] == name for key in cells)]
    methods = [m for m in METHODS if any(key[1] == m for key in cells)]
    paper = {
        name: dict(zip(PAPER_METHODS, row, strict=True)) for name, row in PAPER_ACCURACY.items()
    }
    paper_nodes = {
        name: dict(zip(PAPER_METHODS, row, strict=True)) for name, row in PAPER_NODES.items()
    }
    for title, column, table, digits in (
        ("Accuracy (ours / paper)", 0, paper, 3),
        ("Nodes, of ensembles trees (ours / paper)", 1, paper_nodes, 1),
        ("CPU seconds a fit", 2, None, 3),
    ):
        print(f"\n### {title}\n")
        print("| set | " + " | ".join(methods) + " |")
        print("|---" * (len(methods) + 1) + "|")
        for name in sets:
            line = []
            for method in methods:
                if (name, method) not in means:
                    line.append("")
                    continue
                text = f"{means[name, method][column]:.{digits}f}"
                known = PAPER_NAME.get(method)
                if table is not None and known:
                    text += f" / {table[name][known]:.{digits}f}"
                line.append(text)
            print(f"| {name} | " + " | ".join(line) + " |")
        line = []
        for method in methods:
            have = [means[name, method][column] for name in sets if (name, method) in means]
            line.append(f"{np.mean(have):.4f}" if len(have) == len(sets) else "")
            known = PAPER_NAME.get(method)
            if line[-1] and table is not None and known:
                line[-1] += f" / {np.mean([table[name][known] for name in sets]):.4f}"
        print("| **mean** | " + " | ".join(line) + " |")
    print()
    for method in methods:
        if not method.startswith("genesim") or any((n, method) not in means for n in sets):
            continue
        ours = np.array([means[name, method][:2] for name in sets])
        theirs = np.array([(paper[n]["GENESIM"], paper_nodes[n]["GENESIM"]) for n in sets])
        cart = [means[n, "cart"][0] if (n, "cart") in means else np.nan for n in sets]
        folds = {len(cells[name, method]) for name in sets}
        print(
            f"{method} ({'-'.join(map(str, sorted(folds)))} folds a set): mean accuracy "
            f"{ours[:, 0].mean():.4f}; >= paper - 0.010 on "
            f"{np.sum(ours[:, 0] >= theirs[:, 0] - 0.010)} of {len(sets)}; > CART on "
            f"{np.sum(ours[:, 0] > cart)}; nodes <= paper on {np.sum(ours[:, 1] <= theirs[:, 1])}; "
            f"geometric mean of nodes / paper's "
            f"{np.exp(np.mean(np.log(ours[:, 1] / theirs[:, 1]))):.3f}"
        )


def write_means(rows, path):
    """Means over the folds of each set and method, the paper's figures beside."""
    cells = defaultdict(list)
    for name, method, _, _, *figures in rows:
        cells[name, method].append([float(figure) for figure in figures])
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        columns = "set method folds accuracy accuracy_se size paper_accuracy paper_size"
        writer.writerow(columns.split())
        for name in SETS:
            for method in METHODS:
                if (name, method) not in cells:
                    continue
                values = np.array(cells[name, method])
                accuracy, size, _ = values.mean(axis=0)
                error = values[:, 0].std(ddof=1) / np.sqrt(len(values))
                known = ["", ""]
                if method in PAPER_NAME:
                    column = PAPER_METHODS.index(PAPER_NAME[method])
                    known = [PAPER_ACCURACY[name][column], PAPER_NODES[name][column]]
                figures = f"{accuracy:.4f}", f"{error:.4f}", f"{size:.2f}"
                writer.writerow([name, method, len(values), *figures, *known])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", help="directory of CSV files")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--first-repeat", type=int, default=0)
    parser.add_argument("--store", help="append one line a fold to this CSV file")
    parser.add_argument("--report", help="only print the tables of this CSV file")
    parser.add_argument("--means", help="write the means to this CSV file")
    options = parser.parse_args()
    if options.report:
        with open(options.report, newline="") as file:
            rows = list(csv.reader(file))
    else:
        rows = []
        for row in run(
            options.sets, options.methods, options.repeats, options.data, options.first_repeat
        ):
            rows.append(row)
            if options.store:
                with open(options.store, "a", newline="") as file:
                    csv.writer(file).writerow(row)
    print(f"{environment('xgboost-cpu', 'xgboost')}\n")
    report(rows)
    if options.means:
        write_means(rows, options.means)


if __name__ == "__main__":
    main()
