"""Trees that tell two promised points apart: against HiGHS by SciPy, and all choices of trees."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator

from ensemble_simplify import FaithfulPruner
from ensemble_simplify.faithful_pruning._promise import (
    Everywhere,
    NearRows,
    Votes,
    least_price,
    telling_trees,
)
from ensemble_simplify.faithful_pruning._weights import WeightSearch
from ensemble_simplify.grid import limits
from ensemble_simplify.grid.axes import Axes, CodedTrees
from ensemble_simplify.grid.domain import read_domain
from ensemble_simplify.reading.forest import read_forest

KINDS = {
    "forest": RandomForestClassifier(8, max_depth=4),
    "extra": ExtraTreesClassifier(8, max_depth=4),
    "adaboost": AdaBoostClassifier(n_estimators=10),
    "boosting": GradientBoostingClassifier(n_estimators=3, max_depth=2),
    "histograms": HistGradientBoostingClassifier(max_iter=3, max_leaf_nodes=4),
}


def promised(kind, seed, max_changes, missing):
    """A promise on three features and three classes, and all of its cells."""
    X, y = make_classification(
        50,
        3,
        n_informative=3,
        n_redundant=0,
        n_classes=3,
        n_clusters_per_class=1,
        random_state=seed,
    )
    X = X.astype(np.float32)
    if missing:
        X[::7, 0] = np.nan
    forest = read_forest(KINDS[kind].set_params(random_state=seed).fit(X, y))
    axes = Axes.of(forest)
    rows = axes.encode_rows(X).T
    where = Votes(forest), axes, None, rows
    promise = Everywhere(*where) if max_changes is None else NearRows(*where, max_changes)
    cells = np.array(list(product(*map(range, axes.shape))), dtype=np.int32)
    if max_changes is not None:
        changes = (cells[:, None] != rows[None]).sum(axis=2).min(axis=1)
        cells = cells[changes <= max_changes]
    return promise, cells


def can_lead(demands):
    """Whether weights lead in every demand, by a linear program of SciPy."""
    n = demands.shape[1] - 1
    result = linprog(
        np.append(np.zeros(n), -1.0),
        A_ub=np.column_stack([-demands[:, :-1], np.ones(len(demands))]),
        b_ub=demands[:, -1],
        A_eq=[np.append(np.ones(n), 0.0)],
        b_eq=[1.0],
        bounds=[(0, None)] * n + [(None, None)],
    )
    return result.success and -result.fun > 1e-7


@pytest.mark.parametrize("max_changes", [1, 2, None])
@pytest.mark.parametrize("kind", KINDS)
def test_no_weights_lead_without_one_tree_of_each_set(kind, max_changes):
    promise, cells = promised(kind, 0, max_changes, missing=kind == "histograms")
    sets = promise.telling_trees()
    leads = promise.demands(cells)[0].leads
    assert len(sets)
    for some in sets:
        assert some.any()
        left = np.where(np.append(some, False), 0.0, leads)
        assert not can_lead(left)


@pytest.mark.parametrize("kind", KINDS)
def test_pairs_are_near_rows_and_inside_the_domain(kind, monkeypatch):
    domain = read_domain({"bounds": {0: (-0.5, 9)}}, 3)
    X, y = make_classification(80, 3, n_informative=3, n_redundant=0, random_state=0)
    X = X[X[:, 0] >= -0.5].astype(np.float32)
    forest = domain.read(read_forest(KINDS[kind].fit(X, y[: len(X)])))
    axes = Axes.of(forest)
    rows = axes.encode_rows(X).T
    promise = NearRows(Votes(forest), axes, domain.outside(axes), rows, 1)
    lines, asked, leaves = promise.whole, [], CodedTrees.leaves

    def noted(trees, cells):
        asked.append(cells)
        return leaves(trees, cells)

    monkeypatch.setattr(CodedTrees, "leaves", noted)
    sets = promise.telling_trees()
    before, after = asked
    assert len(sets)
    assert ((before != after).sum(axis=1) == 1).all()
    for cells in asked:
        assert ((cells[:, None] != rows[None]).sum(axis=2).min(axis=1) <= 1).all()
        assert (lines.classes_of(cells) < forest.n_classes).all()
    assert (lines.classes_of(before) != lines.classes_of(after)).all()


@pytest.mark.parametrize("seed", range(6))
def test_least_price_is_below_that_of_all_choices(seed):
    rng = np.random.default_rng(seed)
    sets = rng.random((6, 7)) < 0.3
    sets = sets[sets.any(axis=1)]
    price = rng.integers(1, 6, 7).astype(float)
    choices = [list(some) for n in range(1, 8) for some in combinations(range(7), n)]
    enough = [price[some].sum() for some in choices if sets[:, some].any(axis=1).all()]
    assert 0 < least_price(sets, price) <= min(enough)
    alone = np.eye(7, dtype=bool)[:4]
    assert least_price(np.concatenate([alone, sets]), price) >= price[:4].sum()


def test_all_trees_of_a_default_forest_are_needed_without_a_search(monkeypatch):
    X, y = load_breast_cancer(return_X_y=True)
    forest = RandomForestClassifier(random_state=0).fit(X, y)

    def search(self, *_):
        raise AssertionError("no weights need to be sought")

    monkeypatch.setattr(WeightSearch, "_keep", search)
    pruner = FaithfulPruner(FrozenEstimator(forest), random_state=0).fit(X, y)
    assert (pruner.n_trees_, pruner.n_trees_lower_bound_, pruner.status_) == (100, 100, "optimal")


def test_trees_that_are_needed_are_not_left_out_in_turn(monkeypatch):
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(30, random_state=0).fit(X, y)
    tried, keep = [], WeightSearch._keep

    def noted(self, cost, allowed=None):
        if allowed is not None:
            tried.append(allowed)
            assert self.sets[:, allowed].any(axis=1).all()
        return keep(self, cost, allowed)

    monkeypatch.setattr(WeightSearch, "_keep", noted)
    pruner = FaithfulPruner(FrozenEstimator(forest), max_changes=1, random_state=0).fit(X, y)
    assert tried
    assert 1 < pruner.n_trees_lower_bound_ <= pruner.n_trees_ < 30


def test_no_time_means_no_sets():
    X, y = load_iris(return_X_y=True)
    forest = read_forest(RandomForestClassifier(20, random_state=0).fit(X, y))
    axes = Axes.of(forest)
    promise = NearRows(Votes(forest), axes, None, axes.encode_rows(X.astype(np.float32)).T, 1)
    with limits(0.0):
        assert len(promise.telling_trees()) == 0
    assert len(promise.telling_trees()) > 0
    assert len(telling_trees(promise.votes, promise.whole, promise.cells, 0)) == 0
