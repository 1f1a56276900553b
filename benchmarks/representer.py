"""RepresenterTree beside rejection sampling, a public package, a usual surrogate and its paper.

``python -m benchmarks.representer draws`` and so on; without a part, all of them.

draws
    Rows per second drawn inside nodes of given probability, and by rejection.
whole
    A whole tree of 20 leaves, and one of the package generalizedtrees (if it is installed).
surrogate
    Disagreement with the model at equal leaves: usual surrogate, per-node and one-shot sampling.
fidelity
    Fidelity on new rows at 8, 16 and 32 leaves of the default, of the 1996 method, of the usual
    surrogate and of TREPAN (if generalizedtrees is installed; on the first split only), for a
    forest, boosting, a neural network and a support vector machine; accuracy beside CART.
large
    100,000 rows and 20 columns, 100 trees, 32 leaves: seconds and fidelity beside the surrogate.
paper
    Tables 2, 4, 5 and 6 of Breiman and Shang (1996) and their two tables of fidelity, the paper's
    figures in parentheses.

worth
    The default beside a plain tree on the model's answers (``plain``), on a forest's out-of-bag
    answers (``plain oob``), a tree of the training rows alone, overgrown and pruned exactly
    (``rows``), and an earlier version (``before``), on real tables that chose nothing: those of
    ``--tables DIR`` (CSV files ``c_...`` and ``r_...``, last column ``target``) and of packages
    (`benchmarks._tables_of_packages`). A third of at most 3,000 rows are fresh. The model is a
    default random forest: for "all rows" fitted on 60 % of the others, of which the trees know all;
    for "own rows" on all of them. Trees of 8, 16 and 32 leaves are from one fit, by ``at``.
    Standard errors are those of the means of tables. ``--cache FILE`` keeps each cell as it comes
    (JSON lines), so that the next run goes on; ``--before PYTHON`` is an interpreter with the
    earlier version, and ``--sets`` are parts of names. Only if it is asked for.

    The laws that the default chooses from were chosen on the papers' sets vehicle, pima_diabetes,
    eeg_eye_state, magic, heart_statlog, qsar_biodeg, spambase, steel_plates, indian_liver and
    sonar, and confirmed on australian, compas_binary, fico_heloc, glass, ionosphere, htru2, ecoli,
    parkinsons, wdbc, wilt, heart_cleveland, vertebral, spectf and climate_model, at most 1,500 rows
    of each.

``--data DIR`` names a folder with the sets of the paper that scikit-learn does not bundle, one
CSV each: header, numeric columns, ``target`` last, empty fields for missing values.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import (
    load_breast_cancer,
    make_classification,
    make_friedman1,
    make_friedman2,
    make_friedman3,
)
from sklearn.ensemble import (
    BaggingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import GridSearchCV, KFold, train_test_split
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from benchmarks._record import environment
from benchmarks._representer_worth import worth
from ensemble_simplify import RepresenterTree
from ensemble_simplify.sampling import ColumnSplit as _Split
from ensemble_simplify.sampling import Coordinates as _Coordinates
from ensemble_simplify.sampling import make_law as _make_law

# The method of the paper, by parameters.
PAPER = {
    "sampler": "smear",
    "smearing": 0.5,
    "keep_rows": 0.0,
    "sampling": "per_node",
    "forbidden_splits": "stop",
    "min_cost": 0.0,
    "select": "train",
}


class ArcFS(ClassifierMixin, BaseEstimator):
    """Arcing as Breiman (1996) has it: AdaBoost by resampling, with unpruned trees."""

    def __init__(self, n_estimators=50, random_state=None):
        self.n_estimators = n_estimators
        self.random_state = random_state

    def fit(self, X, y):
        rng = np.random.default_rng(self.random_state)
        self.classes_, y = np.unique(y, return_inverse=True)
        p = np.full(len(y), 1 / len(y))
        self.trees_, self.weights_ = [], []
        X = X.astype(np.float32)
        for _ in range(self.n_estimators):
            rows = rng.choice(len(y), len(y), p=p)
            tree = DecisionTreeClassifier(random_state=int(rng.integers(2**31)))
            tree.fit(X[rows], y[rows])
            wrong = self._labels(tree, X) != y
            error = p @ wrong
            beta = (1 - min(max(error, 0.5 / len(y)), 0.5)) / max(error, 0.5 / len(y))
            if 0 < error < 0.5:
                p = p * np.where(wrong, beta, 1.0)
                p /= p.sum()
            else:
                p = np.full(len(y), 1 / len(y))
            self.trees_.append(tree)
            self.weights_.append(np.log(beta) if error < 0.5 else 0.0)
        return self

    @staticmethod
    def _labels(tree, X):
        leaf = tree.tree_.apply(X)
        return tree.classes_[tree.tree_.value[:, 0].argmax(axis=1)[leaf]]

    def predict(self, X):
        X = np.ascontiguousarray(X, dtype=np.float32)
        votes = np.zeros((len(X), self.classes_.size))
        rows = np.arange(len(X))
        for tree, weight in zip(self.trees_, self.weights_, strict=True):
            votes[rows, self._labels(tree, X)] += weight
        return self.classes_[votes.argmax(axis=1)]


def pruned_cart(X, y, seed, regression=False):
    """CART, cost-complexity pruned by tenfold cross-validation."""
    tree = (DecisionTreeRegressor if regression else DecisionTreeClassifier)(random_state=seed)
    alphas = tree.cost_complexity_pruning_path(X, y).ccp_alphas[:-1].clip(0)
    if alphas.size > 25:
        alphas = np.unique(np.quantile(alphas, np.linspace(0, 1, 25), method="nearest"))
    alphas = np.concatenate([np.sqrt(alphas[:-1] * alphas[1:]), alphas[-1:]])
    folds = KFold(10, shuffle=True, random_state=seed)
    scoring = "neg_mean_squared_error" if regression else "accuracy"
    grid = {"ccp_alpha": np.unique(alphas)[::-1]}  # the largest wins ties
    return GridSearchCV(tree, grid, cv=folds, scoring=scoring).fit(X, y).best_estimator_


def read_set(folder, name):
    table = np.genfromtxt(Path(folder) / f"{name}.csv", delimiter=",", skip_header=1)
    X, y = table[:, :-1], table[:, -1]
    if name == "soybean":  # a missing value is one more level
        X = np.where(np.isnan(X), -1.0, X)
    return np.where(np.isnan(X), np.nanmedian(X, axis=0), X), y


# ---------------------------------------------------------------------- draws


def box_of_probability(law, X, labels, target):
    """The splits towards the node of a CART tree whose probability is next to `target`."""
    tree = DecisionTreeClassifier(random_state=0).fit(X, labels).tree_
    best = (np.inf, None, None)
    stack = [(0, law.everywhere(), [])]
    while stack:
        node, region, splits = stack.pop()
        distance = abs(np.log(law.probability(region) / target))
        if distance < best[0]:
            best = (distance, region, splits)
        if tree.children_left[node] >= 0:
            split = _Split(int(tree.feature[node]), float(tree.threshold[node]))
            for left, child in ((True, tree.children_left), (False, tree.children_right)):
                part = law.parts(region, split)[0 if left else 1]
                stack.append((child[node], part, [*splits, (split, left)]))
    return best[1], best[2]


def rejection(law, splits, n):
    """n rows inside a box by the same compiled draws from the whole law, and their number."""
    everywhere = law.everywhere()
    accepted = drawn = 0
    seed = 0
    batch = 4096
    while accepted < n:
        rows = law.draw(everywhere, batch, seed)
        inside = np.ones(batch, dtype=bool)
        for split, left in splits:
            inside &= split.goes_left(rows[:, split.column]) == left
        accepted += np.count_nonzero(inside)
        drawn += batch
        seed += 1
    return accepted, drawn


def draws(options):
    print("| set | pr(t) | conditional, rows/s | rejection, rows/s | ratio | 0.3 / pr |")
    print("|---|---|---|---|---|---|")
    for name, X, y in sets_at_hand(options):
        columns = _Coordinates.resolve(None, None, X.shape[1], None)
        law = _make_law(
            X=X,
            weight=np.ones(len(X)),
            columns=columns,
            sampler="smear",
            smearing=0.5,
            keep_rows=0.0,
            n_neighbors=1,
            seed=0,
        )
        for target in (0.1, 0.01, 0.001):
            region, splits = box_of_probability(law, X, y, target)
            n = len(X)  # as many as a node gets
            ours, theirs = [], []
            for repeat in range(5):
                begin = time.perf_counter()
                for k in range(20):
                    law.draw(region, n, 20 * repeat + k)
                ours.append(20 * n / (time.perf_counter() - begin))
                begin = time.perf_counter()
                accepted, _ = rejection(law, splits, 200)
                theirs.append(accepted / (time.perf_counter() - begin))
            a, b = np.median(ours), np.median(theirs)
            pr = law.probability(region)
            print(f"| {name} | {pr:.4f} | {a:,.0f} | {b:,.0f} | {a / b:.0f} | {0.3 / pr:.0f} |")


def sets_at_hand(options):
    yield ("wdbc", *load_breast_cancer(return_X_y=True))
    if options.data:
        yield ("pima", *read_set(options.data, "pima_diabetes"))


# ---------------------------------------------------------------------- whole trees


def whole(options):
    try:
        if not hasattr(np, "float"):
            np.float = float  # noqa: NPY001 (the package was written for NumPy before 1.24)
        from generalizedtrees.recipes import born_again_tree
    except ImportError:
        print("generalizedtrees is not installed: nothing to compare with")
        return
    print(
        "| set | tree | leaves | seconds | of them in the forest | ratio "
        "| ratio outside the forest | disagreement with the forest, % |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for name, X, y in sets_at_hand(options):
        X, X_test, y, _ = train_test_split(X, y, test_size=0.25, random_state=0)
        forest = RandomForestClassifier(random_state=0).fit(X, y)
        truth = forest.predict(X_test)
        asking = timed(forest)

        theirs = born_again_tree(max_tree_size=39)  # nodes: 20 leaves
        begin = time.perf_counter()
        theirs.fit(X, forest)
        reference = time.perf_counter() - begin
        outside = reference - sum(asking)
        answer = np.asarray(theirs.predict(X_test)).ravel()
        leaves = (len(theirs.tree) + 1) // 2
        wrong = 100 * np.mean(forest.classes_[answer.astype(int)] != truth)
        print(
            f"| {name} | generalizedtrees | {leaves} | {reference:.2f} | {sum(asking):.2f} | 1 | 1 "
            f"| {wrong:.1f} |"
        )

        unpruned = PAPER | {"select": None}
        for label, more in (
            ("per node", unpruned),
            ("per node, reuse", unpruned | {"reuse": True}),
            ("one shot", {"select": None}),
        ):
            seconds, inside, wrongs = [], [], []
            for seed in range(5):
                tree = RepresenterTree(
                    FrozenEstimator(forest),
                    max_leaf_nodes=leaves,
                    validation_fraction=0,
                    random_state=seed,
                    **more,
                )
                asking.clear()
                begin = time.perf_counter()
                tree.fit(X, y)
                seconds.append(time.perf_counter() - begin)
                inside.append(sum(asking))
                wrongs.append(100 * np.mean(tree.predict(X_test) != truth))
            total, asked = np.median(seconds), np.median(inside)
            print(
                f"| {name} | {label} | {tree.n_leaves_} | {total:.2f} | {asked:.2f} "
                f"| {reference / total:.0f} | {outside / (total - asked):.0f} "
                f"| {np.mean(wrongs):.1f} ({min(wrongs):.1f} to {max(wrongs):.1f}) |"
            )


def timed(model):
    """Let a fitted model note the seconds of every call of predict in the list returned."""
    seconds = []
    predict = model.predict

    def predict_and_note(X):
        begin = time.perf_counter()
        answer = predict(X)
        seconds.append(time.perf_counter() - begin)
        return answer

    model.predict = predict_and_note
    return seconds


# ---------------------------------------------------------------------- the usual surrogate


def surrogate(options):
    print(
        "| set, model | leaves | tree on training rows | per node, N | per node, 5 N "
        "| one shot, same rows as 5 N |"
    )
    print("|---|---|---|---|---|---|")
    cases = [("Friedman 1, bagging", None), ("Friedman 3, bagging", None)]
    if options.data:
        cases.append(("pima, random forest", options.data))
    for name, folder in cases:
        for leaves in (8, 16, 32, 64):
            gaps = []
            for seed in range(options.repeats or 8):
                if folder is None:
                    make = make_friedman1 if "1" in name else make_friedman3
                    X, y = make(200, noise=1.0 if "1" in name else 0.1, random_state=seed)
                    X_test, _ = make(2000, random_state=1000 + seed)
                    model = BaggingRegressor(n_estimators=50, random_state=seed).fit(X, y)
                    usual = DecisionTreeRegressor(max_leaf_nodes=leaves, random_state=seed)
                else:
                    X, y = read_set(folder, "pima_diabetes")
                    X, X_test, y, _ = train_test_split(X, y, test_size=0.3, random_state=seed)
                    model = RandomForestClassifier(random_state=seed).fit(X, y)
                    usual = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=seed)
                truth = model.predict(X_test)

                def gap(tree, truth=truth, X_test=X_test, labels=folder is not None):
                    answer = tree.predict(X_test)
                    if labels:
                        return 100 * np.mean(answer != truth)
                    return 100 * np.mean((answer - truth) ** 2) / truth.var()

                gaps.append([gap(usual.fit(X, model.predict(X)))])
                smear = {"sampler": "smear", "smearing": 0.5, "keep_rows": 0.0}
                unpruned = PAPER | {"select": None}
                for more in (
                    unpruned,
                    unpruned | {"n_samples": 5 * len(X)},
                    smear | {"n_samples": 5 * (2 * leaves - 1) * len(X)},
                ):
                    tree = RepresenterTree(
                        FrozenEstimator(model),
                        max_leaf_nodes=leaves,
                        validation_fraction=0,
                        random_state=seed,
                        **more,
                    ).fit(X, y)
                    gaps[-1].append(gap(tree))
            print(
                f"| {name} | {leaves} | " + " | ".join(f"{g:.1f}" for g in np.mean(gaps, 0)) + " |"
            )


# ---------------------------------------------------------------------- fidelity of the default

# Sets that did not choose the defaults, but for the first three, on which the 1996 law fails.
FIDELITY_SETS = [
    "vehicle",
    "ionosphere",
    "boston_housing",
    "australian",
    "banknote",
    "blood_transfusion",
    "climate_model",
    "indian_liver",
    "spectf",
    "wine",
    "breast_cancer_683",
    "heart_cleveland",
    "cars",
    "fico_heloc",
    "friedman1",
    "friedman3",
]
FIDELITY_LEAVES = (8, 16, 32)
FIRST_SPLIT = 100  # random state of the first split; those before chose the defaults
MOST_ROWS = 2000


def models(regression, seed):
    """The predictors to represent, by name."""

    def scaled(model):
        model = make_pipeline(StandardScaler(), model)
        if not regression:
            return model
        return TransformedTargetRegressor(model, transformer=StandardScaler())

    if regression:
        return {
            "forest": RandomForestRegressor(random_state=seed),
            "boosting": GradientBoostingRegressor(random_state=seed),
            "network": scaled(
                MLPRegressor(
                    hidden_layer_sizes=(50,),
                    solver="lbfgs",
                    alpha=0.01,
                    max_iter=1000,
                    random_state=seed,
                )
            ),
            "SVM": scaled(SVR(C=10)),
        }
    return {
        "forest": RandomForestClassifier(random_state=seed),
        "boosting": GradientBoostingClassifier(random_state=seed),
        "network": scaled(MLPClassifier((50,), max_iter=500, random_state=seed)),
        "SVM": scaled(SVC(C=10)),
    }


def fidelity_split(name, options, seed):
    """Rows for training and for testing, and whether the set is one of regression."""
    if name.startswith("friedman"):
        make = {"friedman1": make_friedman1, "friedman3": make_friedman3}[name]
        X, y = make(1300, noise=1.0 if name == "friedman1" else 0.1, random_state=seed)
        return X[:300], X[300:], y[:300], y[300:], True
    X, y = read_set(options.data, name)
    if len(X) > MOST_ROWS:
        some = np.random.default_rng(seed).choice(len(X), MOST_ROWS, replace=False)
        X, y = X[some], y[some]
    regression = name == "boston_housing"
    split = train_test_split(
        X, y, test_size=0.3, random_state=seed, stratify=None if regression else y
    )
    return *split, regression


def trepan_fidelity(X, X_test, model, truth, leaves):
    """Of TREPAN as the package generalizedtrees has it; nan without the package."""
    try:
        if not hasattr(np, "float"):
            np.float = float  # noqa: NPY001 (the package was written for NumPy before 1.24)
        from generalizedtrees.recipes import trepan
    except ImportError:
        return np.nan
    tree = trepan(max_tree_size=2 * leaves - 1)

    def one_hot(rows):
        return (model.predict(rows)[:, None] == model.classes_).astype(float)

    with contextlib.redirect_stderr(io.StringIO()):
        tree.fit(X, one_hot)
    answer = np.asarray(tree.predict(X_test)).ravel().astype(int)
    return np.mean(model.classes_[answer] == truth)


METHODS = ("surrogate", "default", "1996", "TREPAN")


def fidelity(options):
    if options.data is None:
        print("the sets need --data DIR")
        return
    print("| set, model |" + "".join(f" {n}: {' / '.join(METHODS)} |" for n in FIDELITY_LEAVES))
    print("|---|" + "---|" * len(FIDELITY_LEAVES))
    cells, accuracy = {}, {}
    for name in options.sets or FIDELITY_SETS:
        found = {}
        for seed in range(FIRST_SPLIT, FIRST_SPLIT + (options.repeats or 5)):
            fidelity_of_split(name, options, seed, found, accuracy)
        for model in sorted({key[0] for key in found}):
            row = [f"{name}, {model}"]
            for leaves in FIDELITY_LEAVES:
                mean = np.nanmean(found[model, leaves], axis=0)
                cells[name, model, leaves] = mean
                row.append(" / ".join("-" if np.isnan(m) else f"{m:.3f}" for m in mean))
            print("| " + " | ".join(row) + " |", flush=True)
    print()
    print(
        "| leaves | cells | default - surrogate | at least -.005 | 1996 - surrogate "
        "| default - TREPAN, its cells | accuracy: default, CART, surrogate |"
    )
    print("|---|---|---|---|---|---|---|")
    for leaves in FIDELITY_LEAVES:
        table = np.array([mean for key, mean in cells.items() if key[2] == leaves])
        gain = table[:, 1] - table[:, 0]
        ours, cart, usual = np.mean(accuracy[leaves], axis=0)
        print(
            f"| {leaves} | {len(table)} | {gain.mean():+.4f}"
            f" | {100 * np.mean(gain >= -0.005):.0f} %"
            f" | {np.mean(table[:, 2] - table[:, 0]):+.4f}"
            f" | {np.nanmean(table[:, 1] - table[:, 3]):+.4f}"
            f" | {ours:.4f}, {cart:.4f}, {usual:.4f} |"
        )


def fidelity_of_split(name, options, seed, found, accuracy):
    """Add the fidelities of one split to `found`, the accuracies to `accuracy`."""
    X, X_test, y, y_test, regression = fidelity_split(name, options, seed)
    metric = r2_score if regression else accuracy_score
    usual = DecisionTreeRegressor if regression else DecisionTreeClassifier
    for model_name, model in models(regression, seed).items():
        model.fit(X, y)
        answers, truth = model.predict(X), model.predict(X_test)
        for leaves in FIDELITY_LEAVES:
            options_of_tree = {"max_leaf_nodes": leaves, "random_state": seed}
            surrogate_tree = usual(**options_of_tree).fit(X, answers)
            default = RepresenterTree(FrozenEstimator(model), **options_of_tree).fit(X, y)
            paper_tree = RepresenterTree(FrozenEstimator(model), **options_of_tree, **PAPER)
            paper_tree.fit(X, y)
            row = [metric(truth, t.predict(X_test)) for t in (surrogate_tree, default, paper_tree)]
            trepan = np.nan
            if not regression and seed == FIRST_SPLIT:
                trepan = trepan_fidelity(X, X_test, model, truth, leaves)
            found.setdefault((model_name, leaves), []).append([*row, trepan])
            cart = usual(**options_of_tree).fit(X, y)
            accuracy.setdefault(leaves, []).append(
                [metric(y_test, t.predict(X_test)) for t in (default, cart, surrogate_tree)]
            )


def large(options):
    X, y = make_classification(
        120_000, 20, n_informative=10, n_classes=3, n_clusters_per_class=3, random_state=0
    )
    X, X_test, y, _ = X[:100_000], X[100_000:], y[:100_000], y[100_000:]
    forest = RandomForestClassifier(100, min_samples_leaf=5, random_state=0).fit(X, y)
    truth, answers = forest.predict(X_test), forest.predict(X)
    asking = timed(forest)
    print("| tree | seconds | of them in the forest | rest | questions | fidelity |")
    print("|---|---|---|---|---|---|")
    begin = time.perf_counter()
    usual = DecisionTreeClassifier(max_leaf_nodes=32, random_state=0).fit(X, answers)
    seconds = time.perf_counter() - begin
    share = np.mean(usual.predict(X_test) == truth)
    print(f"| surrogate | {seconds:.1f} | 0.0 | {seconds:.1f} | {len(X)} | {share:.4f} |")
    for label, more in (("default", {}), ("1996", PAPER | {"n_samples": 5000})):
        asking.clear()
        begin = time.perf_counter()
        tree = RepresenterTree(FrozenEstimator(forest), max_leaf_nodes=32, random_state=0, **more)
        tree.fit(X, y)
        seconds, inside = time.perf_counter() - begin, sum(asking)
        share = np.mean(tree.predict(X_test) == truth)
        print(
            f"| {label} | {seconds:.1f} | {inside:.1f} | {seconds - inside:.1f} "
            f"| {tree.n_queries_} | {share:.4f} |",
            flush=True,
        )


# ---------------------------------------------------------------------- the paper


CLASSIFICATION = {  # born again, CART, ensemble, disagreement; leaves CART, born again, smeared
    "breast_cancer_original": (3.9, 5.9, 3.0, 2.3, 16, 28, 25),
    "ionosphere": (6.1, 11.2, 5.7, 3.3, 11, 28, 22),
    "glass": (28.2, 30.4, 21.6, 17.0, 18, 55, 45),
    "soybean": (8.4, 8.6, 6.3, 6.4, 62, 74, 71),
    "sonar": (25.1, 32.1, 16.0, 19.9, 10, 36, 33),
}
REGRESSION = {  # born again, CART, ensemble, difference; leaves CART, born again
    "boston_housing": (15.6, 20.0, 10.8, 3.5, 22, 58),
    "ozone": (19.0, 23.9, 18.1, 2.2, 9, 46),
    "friedman1": (8.7, 11.4, 6.4, 1.1, 17, 49),
    "friedman2": (24.7, 33.1, 21.2, 4.2, 18, 25),
    "friedman3": (32.7, 40.3, 25.5, 4.5, 22, 37),
}
SCALE = {"friedman2": 1e-3, "friedman3": 1e3}


def paper(options):
    if options.data is None:
        print("the paper's sets need --data DIR")
        return
    wanted = options.sets or [*CLASSIFICATION, *REGRESSION]
    if names := [name for name in CLASSIFICATION if name in wanted]:
        print(
            "| set | born again | smeared selection | CART | arc-fs | disagreement "
            "| leaves: born again | smeared selection | CART | seconds |"
        )
        print("|---|---|---|---|---|---|---|---|---|---|")
        for name in names:
            classification_row(name, options)
    if names := [name for name in REGRESSION if name in wanted]:
        print(
            "| set | born again | CART | bagging | difference | leaves: born again | CART "
            "| seconds |"
        )
        print("|---|---|---|---|---|---|---|---|")
        for name in names:
            regression_row(name, options)


def classification_row(name, options):
    X, y = read_set(options.data, name)
    more = {}
    if name == "soybean":
        more = {"smearing": 0.25, "categorical_features": np.arange(X.shape[1])}
    rows = []
    for seed in range(options.repeats or 20):
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.1, random_state=seed)
        model = ArcFS(random_state=seed).fit(X_train, y_train)
        begin = time.perf_counter()
        trees = [
            RepresenterTree(
                FrozenEstimator(model),
                validation_fraction=0,
                random_state=seed,
                **PAPER | more | {"select": select},
            ).fit(X_train, y_train)
            for select in ("train", "smeared")
        ]
        seconds = (time.perf_counter() - begin) / 2
        cart = pruned_cart(X_train, y_train, seed)
        answers = model.predict(X_test)
        rows.append(
            [
                *(100 * np.mean(tree.predict(X_test) != y_test) for tree in trees),
                100 * np.mean(cart.predict(X_test) != y_test),
                100 * np.mean(answers != y_test),
                100 * np.mean(answers != trees[0].predict(X_test)),
                *(tree.n_leaves_ for tree in trees),
                cart.get_n_leaves(),
                seconds,
            ]
        )
    ba, ba1, cart, arc, gap, leaves, leaves1, cart_leaves, seconds = np.mean(rows, axis=0)
    p = CLASSIFICATION[name]
    print(
        f"| {name} | {ba:.1f} ({p[0]}) | {ba1:.1f} | {cart:.1f} ({p[1]}) | {arc:.1f} ({p[2]}) "
        f"| {gap:.1f} ({p[3]}) | {leaves:.0f} ({p[5]}) | {leaves1:.0f} ({p[6]}) "
        f"| {cart_leaves:.0f} ({p[4]}) | {seconds:.2f} |",
        flush=True,
    )


def regression_data(name, options, seed):
    if name in ("boston_housing", "ozone"):
        X, y = read_set(options.data, name)
        return train_test_split(X, y, test_size=0.1, random_state=seed)
    make, noise = {
        "friedman1": (make_friedman1, 1.0),
        "friedman2": (make_friedman2, 125.0),
        "friedman3": (make_friedman3, 0.1),
    }[name]
    X, y = make(2200, noise=noise, random_state=seed)
    return X[:200], X[200:], y[:200], y[200:]


def regression_row(name, options):
    rows = []
    for seed in range(options.repeats or 20):
        X_train, X_test, y_train, y_test = regression_data(name, options, seed)
        model = BaggingRegressor(n_estimators=50, random_state=seed).fit(X_train, y_train)
        begin = time.perf_counter()
        tree = RepresenterTree(
            FrozenEstimator(model), validation_fraction=0, random_state=seed, **PAPER
        )
        tree.fit(X_train, y_train)
        seconds = time.perf_counter() - begin
        cart = pruned_cart(X_train, y_train, seed, regression=True)
        answers, ours = model.predict(X_test), tree.predict(X_test)
        rows.append(
            [
                np.mean((ours - y_test) ** 2),
                np.mean((cart.predict(X_test) - y_test) ** 2),
                np.mean((answers - y_test) ** 2),
                np.mean((answers - ours) ** 2),
                tree.n_leaves_,
                cart.get_n_leaves(),
                seconds,
            ]
        )
    mean = np.mean(rows, axis=0)
    ba, cart, bag, gap = mean[:4] * SCALE.get(name, 1.0)
    leaves, cart_leaves, seconds = mean[4:]
    p = REGRESSION[name]
    print(
        f"| {name} | {ba:.1f} ({p[0]}) | {cart:.1f} ({p[1]}) | {bag:.1f} ({p[2]}) "
        f"| {gap:.1f} ({p[3]}) | {leaves:.0f} ({p[5]}) | {cart_leaves:.0f} ({p[4]}) "
        f"| {seconds:.2f} |",
        flush=True,
    )


PARTS = {
    "draws": draws,
    "whole": whole,
    "surrogate": surrogate,
    "fidelity": fidelity,
    "large": large,
    "paper": paper,
}
# Parts that are run only if they are asked for.
BY_NAME = {"worth": worth}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", help=", ".join(PARTS | BY_NAME))
    parser.add_argument("--data", type=Path, help="folder with CSV files")
    parser.add_argument("--repeats", type=int, help="repetitions of each experiment")
    parser.add_argument("--sets", nargs="+", help="sets of 'fidelity', 'paper' and 'worth'")
    parser.add_argument("--tables", help="folder with tables for 'worth'")
    parser.add_argument("--cache", type=Path, help="file that keeps the cells of 'worth'")
    parser.add_argument("--before", help="interpreter with an earlier version, for 'worth'")
    options = parser.parse_args()
    # what the trees warn of, few leaves for many classes, is what is measured
    warnings.filterwarnings("ignore", category=UserWarning)
    for part in options.parts or PARTS:
        if part not in PARTS | BY_NAME:
            parser.error(f"unknown part {part!r}: use {', '.join(PARTS)}")
        print(f"\n{part}: {environment('generalizedtrees')}\n")
        (PARTS | BY_NAME)[part](options)


if __name__ == "__main__":
    main()
