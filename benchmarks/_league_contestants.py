"""The contestants of the league: what each fits on a `Cell`, and how large it is.

A contestant yields fitted models by the number of leaves that was asked for; 0 stands for a size of
its own.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

SIZES = (8, 16, 32)
WHOLE = (0,)  # all sizes at once, or one of its own
OVERGROWN = 3  # times the leaves asked for
BORN_AGAIN_SECONDS = FAITHFUL_SECONDS = 4
LAMBDAS = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1)  # prices of a leaf, of SPLIT


class Fitted(NamedTuple):
    """Something that predicts, and its size in leaves (or rules), NaN if it has none."""

    predict: Callable
    leaves: float = np.nan
    trees: float = 1


def plain_tree(cell, size=None, **options):
    """A tree of scikit-learn for the answers of a cell, unfitted."""
    kind = DecisionTreeRegressor if cell.regression else DecisionTreeClassifier
    return kind(max_leaf_nodes=size, random_state=cell.split, **options)


def _fitted(tree):
    return Fitted(tree.predict, tree.get_n_leaves())


def _folds(cell):
    kind = KFold if cell.regression else StratifiedKFold
    return kind(5, shuffle=True, random_state=cell.split)


# ------------------------------------------------------------------- baselines


def on_answers(cell, size):
    return _fitted(plain_tree(cell, size).fit(cell.X, cell.answers))


def on_y(cell, size):
    return _fitted(plain_tree(cell, size).fit(cell.X, cell.y))


def on_oob(cell, size):
    rows = cell.voted
    return _fitted(plain_tree(cell, size).fit(cell.X[rows], cell.oob[rows]))


def tuned(cell, size):
    """Size and least rows of a leaf by five folds, at most so many leaves."""
    sizes = [n for n in (2, 4, 8, 16, 32) if n <= size]
    grid = {"max_leaf_nodes": sizes, "min_samples_leaf": [1, 5, 20]}
    search = GridSearchCV(plain_tree(cell), grid, cv=_folds(cell)).fit(cell.X, cell.y)
    return _fitted(search.best_estimator_)


def tuned_freely(cell):
    """Cost-complexity pruning by five folds."""
    if cell.regression:
        path = plain_tree(cell).cost_complexity_pruning_path(cell.X, cell.y)
        alphas = np.unique(np.quantile(np.maximum(path.ccp_alphas, 0), np.linspace(0, 1, 40)))
        search = GridSearchCV(plain_tree(cell), {"ccp_alpha": alphas}, cv=_folds(cell))
        return {0: _fitted(search.fit(cell.X, cell.y).best_estimator_)}
    from benchmarks.genesim_small_trees import TunedCart

    return {0: _fitted(TunedCart(cell.split).fit(cell.X, cell.y).decision_tree_)}


def pruned(cell, size):
    return _best_pruning(cell, size, cell.X, cell.answers)


def pruned_on_oob(cell, size):
    return _best_pruning(cell, size, cell.X[cell.voted], cell.oob[cell.voted])


def _best_pruning(cell, size, X, answers):
    """Of a plain tree three times as large, the best pruning of that size."""
    from ensemble_simplify.sampling import ExactPruning

    model = plain_tree(cell, OVERGROWN * size).fit(X, answers)
    tree = model.tree_
    mean = tree.value[:, 0, :] if not cell.regression else tree.value[:, :, 0]
    impurity = tree.weighted_n_node_samples * tree.impurity
    grown = SimpleNamespace(
        cost=impurity if cell.regression else tree.n_node_samples * (1 - mean.max(axis=1)),
        impurity=impurity,
        mean=mean,
        is_label=not cell.regression,
        is_leaf=tree.children_left < 0,
        children=lambda t: (tree.children_left[t], tree.children_right[t]),
    )
    is_split = ExactPruning(grown, size).best(size)
    end = np.arange(tree.node_count)
    for t in np.flatnonzero(tree.children_left >= 0):  # parents come first
        for child in grown.children(t):
            end[child] = child if is_split[t] else end[t]
    values = mean[:, 0] if cell.regression else model.classes_[mean.argmax(axis=1)]
    return Fitted(lambda X: values[end[model.apply(X)]], is_split.sum() + 1)


def linear(cell):
    """Logistic regression or ridge regression, of columns with the same spread."""
    last = RidgeCV(np.logspace(-3, 3, 13)) if cell.regression else LogisticRegression(max_iter=2000)
    return {0: Fitted(make_pipeline(StandardScaler(), last).fit(cell.X, cell.y).predict)}


def small_forest(cell):
    kind = RandomForestRegressor if cell.regression else RandomForestClassifier
    model = kind(10, n_jobs=1, random_state=cell.split).fit(cell.X, cell.y)
    return {0: Fitted(model.predict, sum(t.get_n_leaves() for t in model.estimators_), 10)}


def forest(cell):
    model = cell.forest
    return {0: Fitted(model.predict, sum(t.get_n_leaves() for t in model.estimators_), 100)}


# ------------------------------------------------------------------- peers, which learn from y


def hstree(cell, size):
    """Hierarchical shrinkage, its strength by its own folds."""
    from imodels import HSTreeClassifierCV, HSTreeRegressorCV

    kind = HSTreeRegressorCV if cell.regression else HSTreeClassifierCV
    model = kind(max_leaf_nodes=size, random_state=cell.split).fit(cell.X, cell.y)
    return Fitted(model.predict, model.estimator_.get_n_leaves())


def figs(cell, size):
    """As many splits as a tree of that size; for each class against the rest with three or more."""
    from imodels import FIGSClassifier, FIGSRegressor

    kind = FIGSRegressor if cell.regression else FIGSClassifier
    model = kind(max_rules=size - 1, random_state=cell.split)
    if not cell.regression and cell.y.max() > 1:
        model = OneVsRestClassifier(model)
    model.fit(cell.X, cell.y)
    parts = getattr(model, "estimators_", [model])
    trees = sum(len(part.trees_) for part in parts)
    return Fitted(model.predict, sum(part.complexity_ for part in parts) + trees, trees)


def streed(cell, size):
    """An optimal tree on five thresholds of a column, of depth 3, 4 or 5."""
    from pystreed import STreeDClassifier, STreeDRegressor

    settings = {
        "max_depth": _depth(size), "max_num_nodes": size - 1, "n_thresholds": 5,
        "time_limit": 600, "random_seed": cell.split,
    }  # fmt: skip
    if cell.regression:
        model = STreeDRegressor(**settings)
    else:
        model = STreeDClassifier("accuracy", **settings)
    model.fit(cell.X, cell.y)
    return Fitted(model.predict, model.get_n_leaves())


def _depth(size):
    return int(np.log2(size))


def contree(cell, size):
    """An optimal tree on all thresholds, of depth 3, 4 or 5."""
    from pycontree import ConTree

    model = ConTree(max_depth=_depth(size), time_limit=600).fit(cell.X, cell.y)
    return Fitted(model.predict, model.get_num_leaf_nodes())


def split(cell, size):
    """LicketySPLIT on guessed thresholds; the least price of a leaf that keeps to the size."""
    from licketysplit import (
        LicketySPLITClassifier,
        LicketySPLITRegressor,
        ThresholdGuessBinarizer,
    )

    guess = ThresholdGuessBinarizer(
        n_estimators=40, max_depth=1, random_state=cell.split, column_elimination=False
    )
    X = np.asarray(guess.fit_transform(cell.X, cell.y))
    kind = LicketySPLITRegressor if cell.regression else LicketySPLITClassifier
    price = np.var(cell.y) if cell.regression else 1.0
    for share in LAMBDAS:
        model = kind(lambda_leaf=share * price, depth_budget=_depth(size) + 1).fit(X, cell.y)
        leaves = len(model.leaf_paths())
        if leaves <= size:
            break
    return Fitted(lambda X: model.predict(np.asarray(guess.transform(X))), leaves)


def gosdt(cell, size):
    """Two classes: optimal on guessed thresholds; the least price of a leaf that keeps to it."""
    from benchmarks.genesim_peers import Gosdt

    prices = (0.05, 0.02, 0.01, 0.005, 0.0025)[: _depth(size)]
    model = Gosdt(cell.split, prices, most_leaves=size).fit(cell.X, cell.y)
    return Fitted(model.predict, model.n_leaves_)


def sirus(cell, size):
    """The so many most frequent rules of a thousand trees of depth 2."""
    from woodtapper.extract_rules import SirusClassifier

    model = SirusClassifier(n_estimators=1000, max_n_rules=size, p0=0.0, random_state=cell.split)
    model.fit(cell.X, cell.y)
    return Fitted(model.predict, len(model.rules_), np.nan)


def c50(cell):
    """C5.0 as it comes, and with the least rows of a leaf that keep it to a size."""
    from c50py import C5Classifier

    found, fewest = {}, 2
    for size in (0, *reversed(SIZES)):
        while size not in found:
            model = C5Classifier(random_state=cell.split, min_samples_leaf=fewest)
            model.fit(cell.X, cell.y)
            leaves = _leaves_of_c50(model.tree_)
            if size == 0 or leaves <= size or fewest > len(cell.X) // 2:
                found[size] = Fitted(model.predict, leaves)
            else:
                fewest *= 2
    return found


def _leaves_of_c50(node):
    return 1 if node.is_leaf else sum(_leaves_of_c50(child) for child in node.children.values())


def ebm(cell):
    """A sum of curves."""
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    kind = ExplainableBoostingRegressor if cell.regression else ExplainableBoostingClassifier
    model = kind(interactions=0, outer_bags=4, n_jobs=1, random_state=cell.split)
    return {0: Fitted(model.fit(cell.X, cell.y).predict)}


# ------------------------------------------------------------------- this package


def representer(cell, size):
    from ensemble_simplify import RepresenterTree

    model = RepresenterTree(
        FrozenEstimator(cell.forest), max_leaf_nodes=size, random_state=cell.split
    )
    return Fitted(model.fit(cell.X).predict, model.decision_tree_.get_n_leaves())


def simplified(cell, size):
    from ensemble_simplify import simplify

    found = simplify(
        cell.forest,
        cell.X,
        cell.y,
        max_leaf_nodes=size,
        random_state=cell.split,
    )
    return Fitted(found.best_model.predict, found.best_model.get_n_leaves())


def born_again(cell):
    from ensemble_simplify import BornAgainClassifier

    whole = BornAgainClassifier(
        FrozenEstimator(cell.forest),
        max_changes=1,
        time_limit=BORN_AGAIN_SECONDS,
        random_state=cell.split,
    ).fit(cell.X, cell.y)
    found = {size: whole.at(n_leaves=size) for size in SIZES} | {0: whole}
    return {size: Fitted(model.predict, model.n_leaves_) for size, model in found.items()}


def genesim(cell):
    from ensemble_simplify import GenesimClassifier

    whole = GenesimClassifier(n_jobs=1, random_state=cell.split).fit(cell.X, cell.y)
    least = int(whole.pareto_front_.n_leaves[0])
    found = {size: whole.at(n_leaves=max(size, least)) for size in SIZES} | {0: whole}
    return {size: Fitted(model.predict, model.n_leaves_) for size, model in found.items()}


def cultivated(cell, size):
    from ensemble_simplify import CultivatedForestClassifier

    model = CultivatedForestClassifier(
        max_leaf_nodes=size, max_options=5, random_state=cell.split
    ).fit(cell.X, cell.y)
    return Fitted(model.predict, model.n_leaves_)


def cultivated_whole(cell):
    from ensemble_simplify import CultivatedForestClassifier

    model = CultivatedForestClassifier(random_state=cell.split).fit(cell.X, cell.y)
    return {0: Fitted(model.predict, model.n_leaves_)}


def faithful(cell):
    from ensemble_simplify import FaithfulPruner

    model = FaithfulPruner(
        FrozenEstimator(cell.forest),
        max_changes=1,
        time_limit=FAITHFUL_SECONDS,
        random_state=cell.split,
    )
    model.fit(cell.X, cell.y)
    return {0: Fitted(model.predict, model.n_leaves_, model.n_trees_)}


def feature_budget(cell):
    from ensemble_simplify import FeatureBudgetPruner

    model = FeatureBudgetPruner(
        FrozenEstimator(cell.forest),
        feature_costs=np.ones(cell.X.shape[1]),
        budget="50%",
        random_state=cell.split,
    )
    trees = model.fit(cell.X, cell.y).pruned_estimator_.estimators_
    leaves = sum(tree.get_n_leaves() for tree in trees)
    return {0: Fitted(model.predict, leaves, len(model.voting_trees_))}


# ------------------------------------------------------------------- the list


class Contestant(NamedTuple):
    """How to fit one, and what it is for."""

    fit: Callable
    sizes: tuple = SIZES  # called with a cell and each of them; if WHOLE, with a cell alone
    tasks: str = "cr"  # classification, regression
    all_rows: bool = False  # also where the forest was fitted on 60 % of the rows
    needs: str = ""  # the package whose version tells of the result
    slow: bool = False  # a search that may not end; not tried again where it was out of time
    two_classes: bool = False
    ours: bool = False


OURS = {"needs": "ensemble_simplify", "ours": True}
CONTESTANTS = {
    "forest": Contestant(forest, sizes=WHOLE, all_rows=True),
    "plain tree on answers": Contestant(on_answers, all_rows=True),
    "plain tree on answers, pruned": Contestant(pruned, all_rows=True),
    "plain tree on out-of-bag answers": Contestant(on_oob),
    "plain tree on out-of-bag answers, pruned": Contestant(pruned_on_oob),
    "plain tree on y": Contestant(on_y),
    "plain tree on y, tuned": Contestant(tuned),
    "plain tree on y, tuned, any size": Contestant(tuned_freely, sizes=WHOLE),
    "linear model": Contestant(linear, sizes=WHOLE),
    "forest of 10 trees": Contestant(small_forest, sizes=WHOLE),
    "HSTree": Contestant(hstree, needs="imodels"),
    "FIGS": Contestant(figs, needs="imodels"),
    "C5.0": Contestant(c50, sizes=WHOLE, tasks="c", needs="c50py"),
    "SIRUS": Contestant(sirus, tasks="c", needs="woodtapper"),
    "EBM": Contestant(ebm, sizes=WHOLE, needs="interpret-core"),
    "SPLIT": Contestant(split, needs="licketysplit", slow=True),
    "STreeD": Contestant(streed, needs="pystreed", slow=True),
    "ConTree": Contestant(contree, tasks="c", needs="pycontree", slow=True),
    "GOSDT": Contestant(gosdt, tasks="c", needs="gosdt", slow=True, two_classes=True),
    "representer": Contestant(representer, all_rows=True, **OURS),
    "simplify": Contestant(simplified, sizes=SIZES[:1], all_rows=True, **OURS),
    "born-again": Contestant(born_again, sizes=WHOLE, tasks="c", **OURS),
    "GENESIM": Contestant(genesim, sizes=WHOLE, tasks="c", **OURS),
    "cultivated": Contestant(cultivated, tasks="c", **OURS),
    "cultivated, whole": Contestant(cultivated_whole, sizes=WHOLE, tasks="c", **OURS),
    "faithful pruning": Contestant(faithful, sizes=WHOLE, tasks="c", **OURS),
    "feature-budget pruning": Contestant(feature_budget, sizes=WHOLE, tasks="c", **OURS),
}
