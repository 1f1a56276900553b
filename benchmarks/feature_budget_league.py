"""The most accuracy for the money: feature budgets beside what people would use instead.

    python -m benchmarks.feature_budget_league [--data DIR] [--streed DIR] [--splits N] [--first N]
        [--sets NAME ...] [--rows N] [--shares S ...] [--methods NAME ...] [--cells FILE] [--frozen]

For each set, 25, 50 and 75 % of the price of all features as the budget for the mean row, and N
splits (70 / 30): the test error of

- ``refit``: ``FeatureBudgetPruner(RandomForestClassifier(), budget=...)``;
- ``frozen``: the same of ``FrozenEstimator(forest)``;
- ``forest, top k``, ``LightGBM, top k``: fitted on the k features of highest importance, or of
  highest importance for their price;
- ``L1, forest`` and ``RFE, forest``: a forest on the first k features that a logistic regression
  with an L1 penalty lets in, or on the last k that recursive elimination by a forest leaves;
- ``CEGB lazy``, ``CEGB coupled``: LightGBM with penalties on features;
- ``STreeD``: the optimal tree of depth 3 for test and misclassification cost, on features cut into
  at most six ranges.

Peers are tuned on a quarter of the training rows (k, the ranking, the penalty, the size of trees),
and then fitted on all of them. Sets: DIR of ``--data`` has CSV files with a last column ``target``;
DIR of ``--streed`` is a checkout of AlgTUDelft/pystreed, whose sets of test costs are the ones of
Lomax (2013), after Turney (1995). LightGBM and pystreed are left out where they are not installed.
``--sets`` may name any of the CSV files. With ``--cells FILE`` a run that was interrupted goes on
where it stopped.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import RFE
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from benchmarks._record import environment
from ensemble_simplify import FeatureBudgetPruner
from ensemble_simplify.feature_budget._case import decide_among, voting_trees
from ensemble_simplify.feature_budget._prices import Prices

SHARES = (0.25, 0.5, 0.75)
#: Sets with the prices of tests, from the checkout of pystreed.
PRICED = ("heart", "diabetes", "hepatitis", "soybean", "glass")
#: Sets whose features cost one each.
PLAIN = ("digits", "spambase", "steel_plates", "qsar_biodeg", "magic")
MAX_ROWS = 2000


def priced_set(directory, name):
    """Rows, classes and prices of a set of pystreed; columns of one test joined again."""
    folder = Path(directory) / "data" / "cost-sensitive" / name
    lines = (folder / f"{name}-middle-costs.csv").read_text(encoding="utf-8").splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("Attribute"))
    rows = np.vstack([np.loadtxt(folder / f"{name}-{part}-1.csv") for part in ("train", "test")])
    columns, own, members, shared = [], [], {}, {}
    for line in lines[head + 1 :]:
        if not line.strip():
            continue
        _, cost, discounted, group, begin, end = line.split()
        part = rows[:, 1 + int(begin) : 2 + int(end)]
        columns.append(part @ np.arange(1, part.shape[1] + 1))
        cost, discounted = float(cost), float(discounted)
        own.append(discounted if group != "x" else cost)
        if group != "x":
            members.setdefault(group, []).append(len(columns) - 1)
            shared[group] = max(shared.get(group, 0.0), cost - discounted)
    groups = {name: part for name, part in members.items() if shared[name] > 0}
    options = {"feature_costs": np.array(own)}
    if groups:
        options |= {"groups": groups, "group_costs": {g: shared[g] for g in groups}}
    return np.column_stack(columns), rows[:, 0].astype(int), options


def plain_set(directory, name, max_rows=MAX_ROWS):
    """Rows and classes of a set whose features cost one each."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
    else:
        table = np.genfromtxt(Path(directory) / f"{name}.csv", delimiter=",", skip_header=1)
        table = table[~np.isnan(table).any(axis=1)]
        X, y = table[:, :-1], table[:, -1].astype(int)
    if len(X) > max_rows:
        rows = np.random.default_rng(0).permutation(len(X))[:max_rows]
        X, y = X[rows], y[rows]
    return X, y, {"feature_costs": np.ones(X.shape[1])}


# ------------------------------------------------------------------- peers


def rankings(worth, prices):
    """Features by their worth, and by their worth for their price."""
    return [np.argsort(-worth, kind="stable"), np.argsort(-worth / prices.alone(), kind="stable")]


def by_importance(model, X, y, prices):
    """Features by the importance to a model."""
    return rankings(model.fit(X, y).feature_importances_, prices)


def by_l1(model, X, y, prices):
    """Features by the order in which a weaker and weaker L1 penalty lets them in."""
    columns = StandardScaler().fit_transform(X)
    strongest = np.zeros(X.shape[1])
    classes = np.unique(y)
    for c in classes[len(classes) == 2 :]:
        for penalty in np.geomspace(1, 1000, 25)[::-1]:
            sparse = LogisticRegression(penalty="l1", solver="liblinear", C=1 / penalty)
            joined = sparse.fit(columns, y == c).coef_[0] != 0
            strongest[joined] = np.maximum(strongest[joined], penalty)
    return rankings(strongest, prices)


def by_elimination(model, X, y, prices):
    """Features by recursive elimination of a tenth at a time; prices have no say."""
    return [np.argsort(RFE(model, n_features_to_select=1, step=0.1).fit(X, y).ranking_)]


def top_k(make, rank, X, y, X_val, y_val, prices, budgets):
    """For each budget the features of lowest validation error, and the settings of the model."""
    best = [(np.inf, None, None)] * len(budgets)
    for settings in make.settings:
        tried = set()
        for order in rank(make(**settings), X, y, prices):
            sizes = np.unique(np.geomspace(1, X.shape[1], 12).astype(int))
            for k in sizes:
                chosen = np.sort(order[:k])
                price = prices.of_set(chosen)
                if tuple(chosen) in tried or price > max(budgets) * (1 + 1e-9):
                    continue
                tried.add(tuple(chosen))
                model = make(**settings).fit(X[:, chosen], y)
                error = np.mean(model.predict(X_val[:, chosen]) != y_val)
                for b, budget in enumerate(budgets):
                    if price <= budget * (1 + 1e-9) and error < best[b][0]:
                        best[b] = error, chosen, settings
    return best


def forest(**settings):
    return RandomForestClassifier(100, random_state=0, n_jobs=1, **settings)


forest.settings = ({},)


def boosted(**settings):
    from lightgbm import LGBMClassifier

    return LGBMClassifier(
        n_estimators=100, random_state=0, n_jobs=1, verbosity=-1, deterministic=True, **settings
    )


boosted.settings = ({"num_leaves": 31}, {"num_leaves": 7})


def boosted_cost(model, X, prices):
    """Mean cost of the rows in a LightGBM model: each feature on a row's paths once."""
    leaves = np.asarray(model.booster_.predict(X, pred_leaf=True)).reshape(len(X), -1)
    acquired = np.zeros(X.shape, dtype=bool)
    for t, tree in enumerate(model.booster_.dump_model()["tree_info"]):
        used = {}
        stack = [(tree["tree_structure"], frozenset())]
        while stack:
            node, above = stack.pop()
            if "split_feature" in node:
                above = above | {node["split_feature"]}
                stack += [(node["left_child"], above), (node["right_child"], above)]
            else:
                used[node.get("leaf_index", 0)] = sorted(above)
        for leaf, features in used.items():
            acquired[np.ix_(leaves[:, t] == leaf, features)] = True
    return prices.paid(acquired).mean()


def penalised(kind, X, y, X_val, y_val, X_all, y_all, prices, budgets):
    """For each budget the model with penalties that does best on the validation rows."""
    price = prices.alone() / prices.alone().mean()
    levels = np.geomspace(1e-4, 1, 8) if kind == "lazy" else np.geomspace(0.1, 1000, 8)
    best = [(np.inf, None, None)] * len(budgets)
    for settings in boosted.settings:
        for level in levels:
            options = settings | {
                "cegb_tradeoff": level,
                f"cegb_penalty_feature_{kind}": price.tolist(),
            }
            model = boosted(**options).fit(X, y)
            cost = boosted_cost(model, X_val, prices)
            error = np.mean(model.predict(X_val) != y_val)
            for b, budget in enumerate(budgets):
                if cost <= budget and error < best[b][0]:
                    best[b] = error, model, options
    found = []
    for budget, (_, model, options) in zip(budgets, best, strict=True):
        if model is not None:
            again = boosted(**options).fit(X_all, y_all)
            if boosted_cost(again, X_all, prices) <= budget:
                model = again
        found.append(model)
    return found


def ranges(X, columns, cuts):
    """Binary columns, one for each range of each feature, that say that a row lies above it."""
    return np.column_stack([(X[:, k] > c).astype(int) for k, c in zip(columns, cuts, strict=True)])


def streed(X, y, X_val, y_val, X_test, prices, resources, budgets):
    """For each budget the predictions of the optimal tree that does best on validation rows."""
    from pystreed import STreeDCostSensitiveClassifier
    from pystreed.data import CostSpecifier, FeatureCostSpecifier

    columns, cuts, parts = [], [], []
    for k in range(X.shape[1]):
        values = np.unique(X[:, k])
        middle = (values[1:] + values[:-1]) / 2
        if len(middle) > 5:
            middle = np.unique(np.quantile(X[:, k], np.arange(1, 6) / 6))
        if not len(middle):
            continue
        own, group = resources[k]
        cost = prices.price[own] if own >= 0 else 0.0
        more = prices.price[group] if group >= 0 else 0.0
        parts.append(
            FeatureCostSpecifier(
                cost + more,
                cost,
                f"g{group}" if group >= 0 else f"f{k}",
                len(columns),
                len(columns) + len(middle) - 1,
            )
        )
        columns += [k] * len(middle)
        cuts += middle.tolist()
    classes, index = np.unique(y, return_inverse=True)
    binary = [ranges(part, columns, cuts) for part in (X, X_val, X_test)]
    total = prices.of_set(np.arange(X.shape[1]))
    best = [(np.inf, None)] * len(budgets)
    for wrong in total * np.geomspace(0.05, 50, 8):
        matrix = wrong * (1 - np.eye(len(classes)))
        model = STreeDCostSensitiveClassifier(max_depth=3, time_limit=20)
        model.fit(binary[0], index, CostSpecifier(matrix.tolist(), parts))
        if not model.is_fitted():
            continue
        cost = streed_cost(model.get_tree(), binary[1], columns, prices, X.shape[1])
        error = np.mean(classes[np.asarray(model.predict(binary[1]), dtype=int)] != y_val)
        answer = classes[np.asarray(model.predict(binary[2]), dtype=int)]
        for b, budget in enumerate(budgets):
            if cost <= budget and error < best[b][0]:
                best[b] = error, answer
    return [answer for _, answer in best]


def streed_cost(tree, X, columns, prices, n_features):
    """Mean cost of binary rows in a tree of pystreed."""
    acquired = np.zeros((len(X), n_features), dtype=bool)
    stack = [(tree, np.arange(len(X)))]
    while stack:
        node, rows = stack.pop()
        if node.is_leaf_node():
            continue
        k = node.feature
        acquired[rows, columns[k]] = True
        right = X[rows, k] > 0
        stack += [(node.left_child, rows[~right]), (node.right_child, rows[right])]
    return prices.paid(acquired).mean()


# ------------------------------------------------------------------- a frozen forest


def frozen_errors(X, y, options, seed, shares):
    """Errors of a pruned default forest, of its first trees, and of its most important features.

    For each budget the mean error of the trees on the training rows, which is what pruning
    minimises, and the error of the vote on the test rows: of the pruner, of the largest number of
    first trees that the budget allows, and of the largest number of most important features, all
    splits on others undone.
    """
    counts = np.unique(y, return_counts=True)[1]
    X, X_test, y, y_test = train_test_split(
        X, y, test_size=0.3, random_state=seed, stratify=y if counts.min() > 1 else None
    )
    fitted = RandomForestClassifier(100, random_state=seed).fit(X, y)
    pruner = FeatureBudgetPruner(FrozenEstimator(fitted), **options).fit(X, y)
    problem, read = pruner._problem, pruner._forest
    leaf = read.apply(X_test)
    target = np.searchsorted(fitted.classes_, y_test)

    def measured(keep):
        grown = voting_trees(read, keep, drop=True)
        answer = decide_among(read, grown, problem.stops(keep)[leaf])
        return problem.loss(keep), answer != target

    tree = np.repeat(np.arange(read.n_trees), np.diff(read.offsets))
    families = {"first trees": [problem.split * (tree < k) for k in range(1, read.n_trees)]}
    families["top k"] = []
    for k in range(1, X.shape[1] + 1):
        usable = np.isin(problem.feature, np.argsort(-fitted.feature_importances_)[:k])
        keep = problem.split * usable
        for node in problem.order[keep[problem.order] > 0]:
            above = problem.parent[node]
            keep[node] = above < 0 or keep[above]
        families["top k"].append(keep)
    found = {}
    for share in shares:
        budget = share * pruner.unpruned_cost_
        cells = {"pruner": measured(pruner.at(budget=budget)._pruning.keep)}
        for name, keeps in families.items():
            # Their costs rise: the last that fits.
            below, above = -1, len(keeps)
            while above - below > 1:
                middle = (below + above) // 2
                if problem.cost(keeps[middle]) <= budget * (1 + 1e-9):
                    below = middle
                else:
                    above = middle
            nothing = np.zeros_like(problem.split)
            cells[name] = measured(keeps[below] if below >= 0 else nothing)
        found[share] = cells
    return found


def frozen_table(sets, args):
    """Print the comparison of prunings of the same forests."""
    print(
        f"A default forest of 100 trees, not fitted again, at {percent(args.shares)} % of its "
        "cost: mean error of its trees on the training rows / error of the vote on test rows; "
        f"{args.splits} splits.\n"
    )
    names = ("pruner", "first trees", "top k")
    print(f"| | {' | '.join(names)} |\n|---|---|---|---|")
    worse = dict.fromkeys(names[1:], 0)
    behind, clearly = dict.fromkeys(names[1:], 0), dict.fromkeys(names[1:], 0)
    n_cells = 0
    for title, read in sets:
        X, y, options = read()
        seeds = range(args.first, args.first + args.splits)
        runs = [frozen_errors(X, y, options, seed, args.shares) for seed in seeds]
        shown = []
        for name in names:
            means = [
                np.mean([[run[s][name][0], run[s][name][1].mean()] for run in runs], axis=0)
                for s in args.shares
            ]
            shown.append(", ".join(f"{a:.3f} / {b:.3f}" for a, b in means))
        print(f"| {title} | {' | '.join(shown)} |", flush=True)
        for share in args.shares:
            n_cells += 1
            loss = {name: np.mean([run[share][name][0] for run in runs]) for name in names}
            wrong = {name: np.concatenate([run[share][name][1] for run in runs]) for name in names}
            for name in names[1:]:
                more = wrong["pruner"].astype(float) - wrong[name]
                worse[name] += loss["pruner"] > loss[name] + 1e-12
                behind[name] += more.mean() > 1e-12
                clearly[name] += more.mean() > 2 * more.std() / np.sqrt(len(more)) + 1e-12
    for name in names[1:]:
        print(
            f"\nCells of {n_cells} in which the pruner is behind `{name}`: {worse[name]} by the "
            f"error of the trees, {behind[name]} by the vote on test rows, {clearly[name]} of them "
            "by more than two standard errors of the difference."
        )


def percent(shares):
    """Shares as one text."""
    return "/".join(f"{100 * share:g}" for share in shares)


# ------------------------------------------------------------------- one cell


class Split:
    """Rows to learn from and to test on, prices, and budgets.

    Parameters
    ----------
    X, y : ndarray
    options : dict
        Prices, as the estimators of the package take them.
    seed : int
    """

    def __init__(self, X, y, options, seed, shares=SHARES):
        self.options, self.shares = options, shares
        self.X, self.X_test, self.y, self.y_test = divided(X, y, 0.3, seed)
        self.parts = divided(self.X, self.y, 0.25, seed)
        self.prices = Prices.read(
            options["feature_costs"], options.get("groups"), options.get("group_costs"), X.shape[1]
        )
        self.budgets = [share * self.prices.of_set(np.arange(X.shape[1])) for share in shares]

    def majority(self):
        """What is left where nothing fits into the budget."""
        values, counts = np.unique(self.y, return_counts=True)
        return np.full(len(self.y_test), values[counts.argmax()])


def divided(X, y, share, seed):
    """Two parts of the rows with the same share of each class, unless one has a single row."""
    counts = np.unique(y, return_counts=True)[1]
    return train_test_split(
        X, y, test_size=share, random_state=seed, stratify=y if counts.min() > 1 else None
    )


# Each of these returns the answers on the test rows for all budgets.


def run_refit(split):
    pruner = FeatureBudgetPruner(
        RandomForestClassifier(100, random_state=0),
        budget=split.budgets[0],
        random_state=0,
        **split.options,
    ).fit(split.X, split.y)
    return [pruner.at(budget=budget).predict(split.X_test) for budget in split.budgets]


def run_frozen(split):
    fitted = RandomForestClassifier(100, random_state=0).fit(split.X, split.y)
    pruner = FeatureBudgetPruner(FrozenEstimator(fitted), **split.options).fit(split.X, split.y)
    return [pruner.at(budget=budget).predict(split.X_test) for budget in split.budgets]


def run_top_k(make, rank, split):
    A, V, a, v = split.parts
    answers = []
    for _, chosen, settings in top_k(make, rank, A, a, V, v, split.prices, split.budgets):
        if chosen is None:
            answers.append(split.majority())
            continue
        model = make(**settings).fit(split.X[:, chosen], split.y)
        answers.append(model.predict(split.X_test[:, chosen]))
    return answers


def run_penalised(kind, split):
    A, V, a, v = split.parts
    models = penalised(kind, A, a, V, v, split.X, split.y, split.prices, split.budgets)
    return [split.majority() if model is None else model.predict(split.X_test) for model in models]


def run_streed(split):
    A, V, a, v = split.parts
    answers = streed(A, a, V, v, split.X_test, split.prices, split.prices.resources, split.budgets)
    return [split.majority() if answer is None else answer for answer in answers]


METHODS = {
    "refit": run_refit,
    "frozen": run_frozen,
    "forest, top k": partial(run_top_k, forest, by_importance),
    "L1, forest": partial(run_top_k, forest, by_l1),
    "RFE, forest": partial(run_top_k, forest, by_elimination),
    "LightGBM, top k": partial(run_top_k, boosted, by_importance),
    "CEGB lazy": partial(run_penalised, "lazy"),
    "CEGB coupled": partial(run_penalised, "coupled"),
    "STreeD": run_streed,
}
#: Packages that peers need.
NEEDS = {
    "LightGBM, top k": "lightgbm",
    "CEGB lazy": "lightgbm",
    "CEGB coupled": "lightgbm",
    "STreeD": "pystreed",
}


class Cells:
    """Test errors by set, split and method, kept in a file so that a long run can be resumed.

    Parameters
    ----------
    path : str or None
        File of JSON lines; None: nothing is kept.
    """

    def __init__(self, path):
        self.path = None if path is None else Path(path)
        self.known = {}
        if self.path is not None and self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                *key, errors, seconds = json.loads(line)
                self.known[tuple(key)] = errors, seconds

    def measure(self, title, seed, name, split):
        """Errors at all budgets and seconds, measured unless they are known."""
        key = title, len(split.y), percent(split.shares), seed, name
        if key not in self.known:
            start = time.process_time()
            answers = METHODS[name](split)
            seconds = time.process_time() - start
            self.known[key] = [float(np.mean(p != split.y_test)) for p in answers], seconds
            if self.path is not None:
                with self.path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([*key, *self.known[key]]) + "\n")
        return self.known[key]


def table(results):
    """Print test errors, mean ranks, and how often each method is first or near it."""
    names = list(next(iter(results.values()))[0])
    print(f"| | {' | '.join(names)} |\n|---|{'---|' * len(names)}")
    cells = []
    for key, runs in results.items():
        errors = np.array([[run[name] for name in names] for run in runs])
        means = errors.mean(axis=0)
        shown = ["/".join(f"{e:.3f}".lstrip("0") for e in means[m]) for m in range(len(names))]
        print(f"| {key} | {' | '.join(shown)} |")
        cells += [errors[:, :, b] for b in range(errors.shape[2])]
    rivals = [m for m, name in enumerate(names) if name != "frozen"]
    ranks, near = [], []
    for cell in cells:
        means = cell[:, rivals].mean(axis=0)
        ranks.append(
            [
                1
                + np.mean(means < m - 1e-12) * len(means)
                + 0.5 * (np.sum(np.abs(means - m) < 1e-12) - 1)
                for m in means
            ]
        )
        first = int(means.argmin())
        runs = len(cell)
        error = cell[:, rivals[first]].std(ddof=1) / np.sqrt(runs) if runs > 1 else 0.0
        near.append(means <= means.min() + error + 1e-12)
    ranks, near = np.mean(ranks, axis=0), np.mean(near, axis=0)
    print(
        f"\nOver {len(cells)} cells (set x budget), without `frozen`: mean rank, and share of the "
        "cells in which a method is first or within one standard error of the first's mean.\n"
    )
    print(
        f"| | mean rank | first or near | error more than that of `{names[0]}`, points, and "
        "standard error over cells |\n|---|---|---|---|"
    )
    means = np.array([cell.mean(axis=0) for cell in cells])
    for m, rank, share in zip(rivals, ranks, near, strict=True):
        more = 100 * (means[:, m] - means[:, 0])
        spread = more.std(ddof=1) / np.sqrt(len(more)) if len(more) > 1 else 0.0
        shown = "" if m == 0 else f"{more.mean():+.2f} +- {spread:.2f}"
        print(f"| {names[m]} | {rank:.2f} | {100 * share:.0f} % | {shown} |")


def main():
    """Run the league."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="directory of the CSV files")
    parser.add_argument("--streed", help="checkout of AlgTUDelft/pystreed")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--first", type=int, default=100, help="random state of the first split")
    parser.add_argument("--sets", nargs="*", help="only these sets, or other files of --data")
    parser.add_argument("--rows", type=int, default=MAX_ROWS, help="rows of a set, at most")
    parser.add_argument("--shares", nargs="*", type=float, default=SHARES, help="budgets")
    parser.add_argument("--methods", nargs="*", default=list(METHODS), help="only these methods")
    parser.add_argument("--cells", help="file that keeps errors, to go on after an interruption")
    parser.add_argument("--frozen", action="store_true", help="prunings of the same forests only")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    names = [name for name in args.methods if name not in NEEDS or find_spec(NEEDS[name])]
    print(f"{environment('lightgbm', 'pystreed')}\n")
    sets = [
        (f"{name} (prices)", partial(priced_set, args.streed, name))
        for name in PRICED
        if args.streed and (not args.sets or name in args.sets)
    ]
    sets += [
        (name, partial(plain_set, args.data, name, args.rows))
        for name in args.sets or PLAIN
        if name == "digits" or (args.data and (Path(args.data) / f"{name}.csv").exists())
    ]
    if args.frozen:
        frozen_table(sets, args)
        return
    results, seconds, cells = {}, {}, Cells(args.cells)
    for seed in range(args.first, args.first + args.splits):
        for title, read in sets:
            split = Split(*read(), seed, args.shares)
            run = {name: cells.measure(title, seed, name, split) for name in names}
            results.setdefault(title, []).append({name: run[name][0] for name in names})
            seconds.setdefault(title, []).append(run[names[0]][1])
            print(seed, title, file=sys.stderr, flush=True)
    print(
        f"Test errors at {percent(args.shares)} % of the price of all features, mean of "
        f"{args.splits} splits.\n"
    )
    table(results)
    spent = ", ".join(f"{title} {np.mean(s):.0f}" for title, s in seconds.items())
    print(f"\nProcessor seconds of `{names[0]}`, one fit and all budgets: {spent}.")


if __name__ == "__main__":
    main()
