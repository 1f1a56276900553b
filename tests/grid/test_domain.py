"""Faithful inside a domain and free outside; pruned and merged trees, honestly told."""

import copy
import pickle
from itertools import product

import numpy as np
import pandas as pd
import pytest
from cell_grids import random_grid
from coded_trees import leaf_of
from efforts import set_effort
from ensemble_simplify.grid._gaps import gaps_of_splits
from hypothesis import given
from hypothesis import strategies as st
from oracles import (
    FREE,
    completions,
    in_domain,
    min_depth,
    min_leaves,
    min_leaves_at_min_depth,
    pareto_front,
)
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from strategies import fitted_classifiers

from ensemble_simplify import BornAgainClassifier, Domain, check, estimate, nearest_flip, verify
from ensemble_simplify.born_again import _promises as fidelity_module
from ensemble_simplify.born_again.everywhere import _fooling as fooling_module
from ensemble_simplify.born_again.everywhere import _heuristic as heuristic_module
from ensemble_simplify.born_again.everywhere import _planner as planner_module
from ensemble_simplify.born_again.everywhere._grid import Grid
from ensemble_simplify.born_again.everywhere._planner import _bound_on, _starts_anywhere
from ensemble_simplify.born_again.everywhere._search import CellTree, solve
from ensemble_simplify.grid import Stopped, limits
from ensemble_simplify.grid.axes import Axes, cell_shares
from ensemble_simplify.grid.domain import read_domain
from ensemble_simplify.grid.thresholds import cut_points, merged_thresholds
from ensemble_simplify.reading.forest import read_forest

OBJECTIVES = ["depth", "leaves", "depth_then_leaves"]


# ----------------------------------------------------------------------------------- free cells


def free_grid(seed, max_regions=300):
    """A small grid some of whose cells are free: single ones, or boxes."""
    rng = np.random.default_rng(seed)
    labels = random_grid(seed, max_regions=max_regions).astype(np.uint16)
    free = rng.random(labels.shape) < rng.choice([0.05, 0.2, 0.5, 0.8])
    if seed % 2:
        free[:] = False
        for _ in range(rng.integers(1, 4)):
            ends = [sorted(rng.choice(n + 1, 2, replace=False)) for n in labels.shape]
            free[tuple(slice(a, b) for a, b in ends)] = True
    free.flat[rng.integers(free.size)] = False
    labels[free] = FREE
    return labels


def simplified(labels):
    cuts = [np.arange(n - 1) for n in labels.shape]
    return Grid(np.arange(labels.ndim), cuts, labels).simplified()


def class_of_cell(tree, cell):
    return tree.nodes[leaf_of(tree.nodes, cell), 1]


def assert_faithful(tree, labels):
    for cell in np.ndindex(*labels.shape):
        assert labels[cell] == FREE or class_of_cell(tree, cell) == labels[cell]
    assert FREE not in tree.nodes[tree.is_leaf, 1]


@pytest.mark.parametrize("seed", range(120))
def test_free_cells_are_used_to_the_full(seed):
    labels = free_grid(seed)
    grid = simplified(labels)
    trees = {o: solve(grid, o, max_bytes=1e9).tree.on_grid(grid) for o in OBJECTIVES}
    for tree in trees.values():
        assert_faithful(tree, labels)
    assert trees["depth"].depth == min_depth(labels)
    assert trees["leaves"].n_leaves == min_leaves(labels)
    both = trees["depth_then_leaves"]
    assert (both.depth, both.n_leaves) == (min_depth(labels), min_leaves_at_min_depth(labels))


@pytest.mark.parametrize("seed", range(40))
def test_dropped_cuts_matter_to_no_smallest_tree(seed):
    labels = free_grid(seed, max_regions=200)
    part = simplified(labels).labels
    assert min_leaves(part) == min_leaves(labels)
    assert min_depth(part) == min_depth(labels)
    assert pareto_front(part) == pareto_front(labels)


@pytest.mark.parametrize("seed", range(30))
def test_oracle_is_the_best_completion(seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(2, size=rng.integers(2, 4, size=2)).astype(np.uint16)
    labels.flat[rng.choice(labels.size, size=min(3, labels.size - 1), replace=False)] = FREE
    assert min_leaves(labels) == min(map(min_leaves, completions(labels, 2)))
    assert min_depth(labels) == min(map(min_depth, completions(labels, 2)))


@pytest.mark.parametrize("seed", range(100))
def test_bound_ignores_free_cells(seed):
    grid, rng = simplified(free_grid(seed)), np.random.default_rng(0)
    if grid.n_cells > 1:
        assert _bound_on(grid, _starts_anywhere(grid, rng), 1.0, rng) <= min_leaves(grid.labels)


def test_layers_run_out_of_memory_with_free_cells():
    labels = free_grid(17, max_regions=700)
    grid = simplified(labels)
    need = 8 * grid.labels.size + 4 * np.prod([n * (n + 1) // 2 for n in grid.labels.shape])
    tree = solve(grid, "depth_then_leaves", max_bytes=need).tree.on_grid(grid)
    assert_faithful(tree, labels)
    assert tree.n_leaves == min_leaves_at_min_depth(labels)


def test_leaves_can_be_taken_away():
    tree = CellTree.joined(
        0,
        1,
        CellTree.joined(1, 0, CellTree.leaf(2), CellTree.leaf(0)),
        CellTree.joined(1, 0, CellTree.leaf(0), CellTree.leaf(1)),
    )
    gone = np.zeros(7, dtype=bool)
    np.testing.assert_array_equal(tree.without(gone).nodes, tree.nodes)
    gone[[2, 6]] = True
    assert tree.without(gone).nodes.tolist() == [[-1, 0, 1]]
    gone[6] = False
    expected = [[0, 1, 5], [-1, 0, 1], [1, 0, 3], [-1, 0, 1], [-1, 1, 1]]
    assert tree.without(gone).nodes.tolist() == expected
    gone[tree.is_leaf] = True
    assert tree.without(gone).n_leaves == 1


# -------------------------------------------------------------------------------------- domains


STATEMENTS = {
    "one_hot": dict(one_hot=[[0, 1, 2]]),
    "one_hot_pair": dict(one_hot=[[0, 1], [3, 4]]),
    "at_most_one": dict(at_most_one=[[0, 1, 2, 3]]),
    "chain": dict(implies=[(0, 1, 2, 3)]),
    "all": dict(one_hot=[[0, 1, 2]], at_most_one=[[3, 4]], implies=[(0, 3), (5, 4)]),
    "fixed": dict(implies=[(0, 1)], bounds={0: (1, 1)}),
}


def rows_in_domain(statement, n_features=6):
    rows = np.array(list(product([0.0, 1.0], repeat=n_features)))
    return rows[[in_domain(row, **statement) for row in rows]]


def binary_data(statement, seed, n=80):
    rng = np.random.default_rng(seed)
    rows = rows_in_domain(statement)
    X = rows[rng.integers(len(rows), size=n)]
    y = (X @ rng.integers(-2, 3, size=X.shape[1]) + rng.random(n) > 0.5).astype(int)
    y[:2] = 0, 1
    return X, y, rows


def grid_inside(forest, statement, n_features=6):
    """Labels of all 0/1 rows; free outside. Axes are features, of length 1 if unused.

    Splits on features that the ensemble does not use are not considered: a class is that of any
    input with the same used features.
    """
    labels = np.full((2,) * n_features, FREE, dtype=np.uint16)
    for row in rows_in_domain(statement, n_features):
        labels[tuple(row.astype(int))] = forest.predict(row[None])[0]
    unused = set(range(n_features)) - set(read_forest(forest).feature.tolist())
    return labels.min(axis=tuple(unused), keepdims=True)


@pytest.mark.parametrize("name", STATEMENTS)
@pytest.mark.parametrize("seed", range(3))
def test_smallest_inside_groups_and_implications(name, seed):
    statement = STATEMENTS[name]
    X, y, rows = binary_data(statement, seed)
    forest = RandomForestClassifier(7, max_depth=3, random_state=seed).fit(X, y)
    labels = grid_inside(forest, statement)
    sizes = {"depth": min_depth(labels), "leaves": min_leaves(labels)}
    for objective, size in sizes.items():
        model = BornAgainClassifier(FrozenEstimator(forest), objective=objective, domain=statement)
        model.fit(X, y)
        assert model.status_ == "optimal"
        assert {"depth": model.depth_, "leaves": model.n_leaves_}[objective] == size
        np.testing.assert_array_equal(model.predict(rows), forest.predict(rows))
        assert model.verify().equal is True
        assert model.fidelity_ == 1
    heuristic = BornAgainClassifier(FrozenEstimator(forest), domain=statement, method="heuristic")
    heuristic.fit(X, y)
    np.testing.assert_array_equal(heuristic.predict(rows), forest.predict(rows))
    assert heuristic.n_leaves_lower_bound_ <= heuristic.n_leaves_


def test_front_is_that_inside_the_domain():
    statement = STATEMENTS["chain"]
    X, y, _ = binary_data(statement, 1)
    forest = RandomForestClassifier(9, max_depth=4, max_features=None, random_state=1).fit(X, y)
    model = BornAgainClassifier(FrozenEstimator(forest), domain=statement).fit(X, y)
    labels = grid_inside(forest, statement)
    assert model.front() == pareto_front(labels)


@pytest.mark.parametrize("seed", range(4))
def test_bounds_and_integers_merge_cuts(seed):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 6, 60), rng.integers(-3, 3, 60), rng.random(60)])
    y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=60) > 2).astype(int)
    forest = ExtraTreesClassifier(4, max_depth=3, random_state=seed).fit(X, y)
    domain = Domain(bounds={0: (0, 5), 1: (None, 2), 2: (0, 1)}, integers=[0, 1])
    model = BornAgainClassifier(FrozenEstimator(forest), domain=domain).fit(X, y)
    plain = BornAgainClassifier(FrozenEstimator(forest)).fit(X, y)
    assert model.n_leaves_ <= plain.n_leaves_
    assert model.n_cells_ <= plain.n_cells_
    fine = np.unique(np.append(np.linspace(0, 1, 57), read_forest(forest).threshold.clip(0, 1)))
    rows = np.array(list(product(range(6), range(-30, 3), fine)), dtype=float)
    np.testing.assert_array_equal(model.predict(rows), forest.predict(rows))
    # the reference: every pair of integers, and the cells of the third feature
    cuts = cut_points(read_forest(forest).feature, read_forest(forest).threshold, 3)
    points = [np.arange(6), np.arange(-5, 3), [*cuts[2][(cuts[2] > 0) & (cuts[2] < 1)], 1.0]]
    rows = np.array(list(product(*points)), dtype=float)
    labels = forest.predict(rows).reshape([len(p) for p in points])
    best = BornAgainClassifier(FrozenEstimator(forest), domain=domain, objective="depth")
    assert best.fit(X, y).depth_ == min_depth(labels)
    assert model.verify().equal is True
    splits = model.decision_tree_.tree_
    whole = splits.threshold[(splits.feature == 0) | (splits.feature == 1)]
    np.testing.assert_array_equal(whole % 1, 0.5)


def test_features_by_name_and_as_dict():
    statement = STATEMENTS["chain"]
    X, y, _ = binary_data(statement, 0)
    names = list("abcdef")
    frame = pd.DataFrame(X, columns=names)
    forest = RandomForestClassifier(5, max_depth=3, random_state=0).fit(frame, y)
    by_name = dict(implies=[("a", "b", "c", "d")])
    trees = [
        BornAgainClassifier(FrozenEstimator(forest), domain=domain).fit(frame, y)
        for domain in (by_name, Domain(**by_name), statement)
    ]
    assert len({tree.n_leaves_ for tree in trees}) == 1
    assert all(tree.verify() for tree in trees)
    assert "domain" in repr(trees[0].verify())
    assert verify(forest, trees[0], domain=by_name).equal is True


def test_estimator_with_a_domain_is_cloned_and_pickled():
    statement = STATEMENTS["one_hot"]
    X, y, rows = binary_data(statement, 0)
    model = clone(BornAgainClassifier(domain=Domain(**statement), random_state=0)).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.predict(rows), again.predict(rows))
    assert copy.deepcopy(model).verify().equal is True


@pytest.mark.parametrize(
    ("domain", "message"),
    [
        (dict(limits={}), "limits"),
        (dict(bounds={7: (0, 1)}), "feature 7"),
        (dict(bounds={"a": (0, 1)}), "'a'"),
        (dict(bounds={0: (2, 1)}), "no value to feature 0"),
        (dict(integers="some"), "integers='some'"),
        (dict(one_hot=["ab"]), "one_hot"),
        (dict(one_hot=[[0, 1]], implies=[(0, 1), (1, 0)]), "contradict"),
        (dict(one_hot=[[0, 1]]), r"X\[0"),
        (dict(bounds={2: (0, 0.25)}), r"X\[\d+, 2\]"),
        (dict(integers=[2]), "whole number"),
    ],
)
def test_bad_domains_are_told(domain, message):
    X = np.array([[0.0, 0, 0], [1, 0, 0.5], [1, 1, 0.25], [0, 1, 0]])
    with pytest.raises(ValueError, match=message):
        BornAgainClassifier(domain=domain).fit(X, [0, 1, 0, 1])


@pytest.mark.parametrize("name", STATEMENTS)
def test_outside_boxes_are_the_impossible_cells(name):
    """Also where the ensemble uses some of the features only."""
    statement = STATEMENTS[name]
    inside = read_domain(statement, 6)
    rows = rows_in_domain(statement)
    for used in ([0, 1, 2, 3, 4, 5], [0, 3], [1, 2, 4], [5], [0, 1, 4, 5]):
        used = [j for j in used if inside.low[j] < inside.high[j]]
        cuts = [np.array([0.5] if j in used else []) for j in range(6)]
        possible = np.zeros((2,) * len(used), dtype=bool)
        possible[tuple(rows[:, used].astype(int).T)] = True
        axes = Axes(cuts)
        boxes = inside.outside(axes)
        found = np.ones_like(possible)
        for first, last in zip(*(boxes or ((), ())), strict=True):
            found[tuple(slice(a, b + 1) for a, b in zip(first, last, strict=True))] = False
        np.testing.assert_array_equal(found, possible)
        cells = np.argwhere(possible)
        points = inside.points(axes, cells)
        assert all(in_domain(point, **statement) for point in points)
        np.testing.assert_array_equal(points[:, used] > 0.5, cells)


# --------------------------------------------------------------------------------------- verify


def test_verify_looks_inside_the_domain_only():
    # right of 0.5 on both: impossible under "at most one"
    rows = np.array([[0.0, 0.0], [0, 1], [1, 0], [1, 1]])
    one = DecisionTreeClassifier().fit(rows, [0, 1, 1, 0])
    two = DecisionTreeClassifier().fit(rows, [0, 1, 1, 1])
    assert verify(one, two).equal is False
    assert verify(one, two, domain=dict(at_most_one=[[0, 1]])).equal is True
    assert verify(one, two, domain=dict(bounds={0: (None, 0.25)})).equal is True
    outcome = verify(one, two, domain=dict(implies=[(0, 1)]))
    assert outcome.equal is False
    np.testing.assert_array_equal(outcome.counterexample, [1, 1])


@given(st.integers(0, 10_000), st.sampled_from(sorted(STATEMENTS)))
def test_verify_agrees_with_enumeration(seed, name):
    statement = STATEMENTS[name]
    X, y, rows = binary_data(statement, seed)
    rng = np.random.default_rng(seed)
    model = RandomForestClassifier(3, max_depth=3, random_state=seed).fit(X, y)
    free = rows_in_domain({})
    flip = model.predict(free)
    flip[rng.integers(len(free))] ^= 1
    other = DecisionTreeClassifier(random_state=0).fit(free, flip)
    differ = model.predict(rows) != other.predict(rows)
    outcome = verify(model, other, domain=statement)
    assert outcome.equal is (not differ.any())
    if differ.any():
        row = outcome.counterexample
        assert in_domain(row, **statement)
        assert model.predict(row[None]) != other.predict(row[None])


def test_counterexample_lies_within_bounds_and_integers():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 9, 50), rng.random(50)])
    y = rng.integers(2, size=50)
    one = RandomForestClassifier(3, random_state=0).fit(X, y)
    two = RandomForestClassifier(3, random_state=1).fit(X, y)
    domain = dict(bounds={0: (2, 7.5), 1: (0.1, 0.7)}, integers=[0])
    row = verify(one, two, domain=domain).counterexample
    assert in_domain(row, **domain)
    assert one.predict(row[None]) != two.predict(row[None])


# --------------------------------------------------------------------------- grids without a table


@pytest.fixture
def no_tables(monkeypatch):
    """Every grid counts as too large to be looked at as a whole."""
    set_effort(monkeypatch, planner_module, table_cells=8)
    monkeypatch.setattr(heuristic_module, "TABLE_CELLS", 8)
    set_effort(monkeypatch, fooling_module, all_cells=8)
    set_effort(monkeypatch, planner_module, bound_seconds=0.1)


@pytest.mark.parametrize("name", STATEMENTS)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("max_leaves", [1000, 1])
def test_heuristic_without_tables_respects_the_domain(
    name, seed, max_leaves, no_tables, monkeypatch
):
    # with one leaf at most there is no tree from a proof, and the space is divided from scratch
    monkeypatch.setattr(planner_module, "MAX_LEAVES", max_leaves)
    statement = STATEMENTS[name]
    X, y, rows = binary_data(statement, seed)
    forest = RandomForestClassifier(9, max_depth=4, random_state=seed).fit(X, y)
    model = BornAgainClassifier(FrozenEstimator(forest), domain=statement, random_state=0)
    model.set_params(objective="leaves", method="heuristic").fit(X, y)
    np.testing.assert_array_equal(model.predict(rows), forest.predict(rows))
    assert model.verify().equal is True
    exact = BornAgainClassifier(FrozenEstimator(forest), domain=statement, objective="leaves")
    exact.set_params(method="exact").fit(X, y)
    assert model.n_leaves_lower_bound_ <= exact.n_leaves_ <= model.n_leaves_


# --------------------------------------------------------------------------------- pruned, merged


def box_fidelity(tree, forest, cuts, X, inside=lambda row: True):
    """Share of the box of the rows on which two models agree, cell by cell."""
    axes = []
    for j, c in enumerate(cuts):
        low, high = X[:, j].min(), X[:, j].max()
        edges = np.unique(np.clip(np.concatenate([[low], c, [high]]), low, high))
        middle = (edges[:-1] + edges[1:]) / 2 if len(edges) > 1 else edges
        axes.append(list(zip(middle, np.diff(edges) if len(edges) > 1 else [1.0], strict=True)))
    cells = list(product(*axes))
    rows = np.array([[point for point, _ in cell] for cell in cells])
    weight = np.array([np.prod([w for _, w in cell]) for cell in cells])
    weight *= [inside(row) for row in rows]
    return weight[tree.predict(rows) == forest.predict(rows)].sum() / weight.sum()


@given(fitted_classifiers(kinds=["forest", "extra_trees", "bagging", "boosting"]))
def test_pruned_tree_keeps_training_rows_and_tells_its_fidelity(case):
    forest, X, y = case
    model = BornAgainClassifier(FrozenEstimator(forest), post_prune=True).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), forest.predict(X))
    assert model.n_leaves_ == model.decision_tree_.get_n_leaves() <= model.n_leaves_unpruned_
    assert model.depth_ == model.decision_tree_.get_depth() <= model.depth_unpruned_
    assert (model.decision_tree_.tree_.n_node_samples > 0).all()
    assert model.status_ == "optimal"
    pruned = model.n_leaves_ < model.n_leaves_unpruned_
    assert np.isnan(model.fidelity_) if pruned else model.fidelity_ == 1
    read = read_forest(forest)
    cuts = cut_points(read.feature, read.threshold, read.n_features)
    truth = box_fidelity(model, forest, cuts, X)
    assert model.volume_fidelity_ == pytest.approx(truth, abs=1e-6)
    assert model.volume_fidelity_error_ == 0
    outcome = model.verify()
    if truth < 1 - 1e-9:
        assert outcome.equal is False
    if outcome.equal is False:
        row = outcome.counterexample[None]
        assert model.predict(row) != forest.predict(row)


def test_pruning_takes_the_side_with_rows():
    X = np.array([[0.0, 0], [0, 1], [1, 1], [1, 1]])
    forest = DecisionTreeClassifier().fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])
    model = BornAgainClassifier(FrozenEstimator(forest), post_prune=True).fit(X, [0, 0, 1, 1])
    assert model.n_leaves_unpruned_ == 3
    assert model.n_leaves_ == 2
    # 0.5 is not quite half of what is rounded to float32
    assert model.volume_fidelity_ == pytest.approx(0.75, abs=1e-12)
    assert model.n_leaves_lower_bound_ <= 3


def test_fidelity_counts_integers_and_the_domain():
    statement = STATEMENTS["all"]
    X, y, rows = binary_data(statement, 3)
    X = np.vstack([X, rows])
    y = np.append(y, np.zeros(len(rows), dtype=int))
    forest = RandomForestClassifier(9, max_depth=4, max_features=None, random_state=1).fit(X, y)
    model = BornAgainClassifier(FrozenEstimator(forest), domain=statement, post_prune=True)
    model.fit(X, y)
    # every input of the domain is a training row
    assert model.volume_fidelity_ == 1
    few = X[:4]
    assert (few.min(axis=0) < few.max(axis=0)).sum() > 2
    model.fit(few, y[:4])
    used = set(np.unique(read_forest(forest).feature)) - {-1}
    assert used == set(range(6))
    box = rows[((rows >= few.min(axis=0)) & (rows <= few.max(axis=0))).all(axis=1)]
    assert model.volume_fidelity_ == pytest.approx(
        (model.predict(box) == forest.predict(box)).mean()
    )


def test_weights_of_cells():
    cuts = np.array([1.0, 2.5, 9.0])
    np.testing.assert_allclose(cell_shares(cuts, 0.0, 4.0, False), [0.25, 0.375, 0.375, 0])
    np.testing.assert_allclose(cell_shares(cuts, 0.0, 4.0, True), [0.4, 0.2, 0.4, 0])
    np.testing.assert_allclose(cell_shares(cuts, 2.0, 2.0, True), [0, 1, 0, 0])
    np.testing.assert_allclose(cell_shares(cuts, 9.0, 9.0, False), [0, 0, 1, 0])
    np.testing.assert_allclose(cell_shares(cuts, 10.0, 11.0, False), [0, 0, 0, 1])


@pytest.mark.parametrize("value", [0.1, 0.7, 1.0, 1.3, 2.1, -0.3])
@pytest.mark.parametrize("cuts", [[], [1.0], [0.2, 1.1, 2.0]])
@pytest.mark.parametrize("row_dtype", ["float32", "float64"])
def test_one_number_is_in_the_cell_that_it_is_rounded_to(value, cuts, row_dtype):
    cuts = np.array(cuts)
    expected = np.zeros(len(cuts) + 1)
    expected[np.searchsorted(cuts, np.dtype(row_dtype).type(value))] = 1
    np.testing.assert_array_equal(cell_shares(cuts, value, value, False, row_dtype), expected)


def test_fidelity_is_estimated_where_cells_are_many(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.random((60, 4))
    y = (X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=60) > 1).astype(int)
    forest = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, y)
    model = BornAgainClassifier(FrozenEstimator(forest), post_prune=True, random_state=0)
    exact = model.fit(X, y).volume_fidelity_
    monkeypatch.setattr(fidelity_module, "EXACT_CELLS", 10)
    model.fit(X, y)
    assert exact < 1
    assert 0 < model.volume_fidelity_error_ < 0.01
    assert abs(model.volume_fidelity_ - exact) < 5 * model.volume_fidelity_error_


@given(fitted_classifiers(kinds=["forest", "extra_trees", "bagging_subsets", "boosting"]))
def test_merged_thresholds_keep_every_path(case):
    model, X, _ = case
    forest = read_forest(model)
    merged = copy.copy(forest)
    object.__setattr__(merged, "threshold", merged_thresholds(forest, X))
    np.testing.assert_array_equal(merged.apply(X), forest.apply(X))
    before, after = (cut_points(f.feature, f.threshold, f.n_features) for f in (forest, merged))
    assert all(len(b) <= len(a) for a, b in zip(before, after, strict=True))


@given(fitted_classifiers(kinds=["forest", "boosting"]))
def test_gaps_hold_the_rows_of_their_side(case):
    model, X, _ = case
    forest = read_forest(model)
    rows = X.astype(np.float32)
    to_left = np.zeros(forest.n_nodes, dtype=np.uint8)
    arrays = forest.left, forest.right, forest.feature, forest.threshold, to_left
    low, high, n_done = gaps_of_splits(forest.offsets, *arrays, rows)
    assert n_done == forest.n_trees
    for tree, root in enumerate(forest.offsets[:-1]):
        reached = {int(root): rows}
        for node in range(root, forest.offsets[tree + 1]):
            here = reached[node]
            if forest.left[node] < 0:
                continue
            x, cut = here[:, forest.feature[node]], forest.threshold[node]
            assert low[node] == max(x[x <= cut], default=-np.inf)
            assert high[node] == min(x[x > cut], default=np.inf)
            reached[int(forest.left[node])] = here[x <= cut]
            reached[int(forest.right[node])] = here[x > cut]


def test_trees_that_the_limit_leaves_out_keep_their_thresholds():
    X, y = load_iris(return_X_y=True)
    forest = read_forest(RandomForestClassifier(5, random_state=0).fit(X, y))
    assert (merged_thresholds(forest, X) != forest.threshold).any()
    with limits(0.0):
        np.testing.assert_array_equal(merged_thresholds(forest, X), forest.threshold)


def test_what_an_estimate_leaves_out_where_the_time_is_up():
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(10, max_depth=4, random_state=0).fit(X, y)
    axes = Axes.of(read_forest(forest))
    with limits(0.0), pytest.raises(Stopped):
        axes.encode_rows(X.astype(np.float32))
    assert estimate(forest, X, time_limit=1e-9).n_occupied is None
    trees, rng = planner_module.Problem.of(read_forest(forest)).trees, np.random.default_rng(0)
    effort = 1e9, rng
    assert _bound_on(trees, _starts_anywhere(trees, rng), *effort) > 1
    with limits(0.0):
        assert _bound_on(trees, _starts_anywhere(trees, rng), *effort) == 1
    assert estimate(forest, X).n_occupied == len(
        np.unique(axes.encode_rows(X.astype(np.float32)), axis=1).T
    )


def test_fewest_thresholds():
    """Three stumps, of which any two can share a threshold, but not all three."""
    X = np.array([[0.0], [2], [4], [6]])
    forest = RandomForestClassifier(3, max_depth=1, bootstrap=False).fit(X, [0, 0, 1, 1])
    for tree, threshold in zip(forest.estimators_, [2.1, 3.9, 4.5], strict=True):
        tree.tree_.threshold[0] = threshold
    merged = merged_thresholds(read_forest(forest), X)
    inner = read_forest(forest).left >= 0
    assert len(np.unique(merged[inner])) == 2
    assert merged[inner][0] == merged[inner][1]


def test_merged_tree_is_that_of_the_merged_ensemble():
    rng = np.random.default_rng(0)
    X = rng.random((50, 3))
    y = (X[:, 0] + X[:, 1] ** 2 > 0.8).astype(int)
    forest = ExtraTreesClassifier(6, max_depth=3, random_state=0).fit(X, y)
    plain = BornAgainClassifier(FrozenEstimator(forest)).fit(X, y)
    model = BornAgainClassifier(FrozenEstimator(forest), merge_thresholds=True).fit(X, y)
    assert model.n_cells_ < plain.n_cells_
    assert model.n_leaves_ < plain.n_leaves_
    np.testing.assert_array_equal(model.predict(X), forest.predict(X))
    read = read_forest(forest)
    nodes = model.decision_tree_.tree_
    inner = nodes.feature >= 0
    cuts = cut_points(
        np.concatenate([read.feature, nodes.feature[inner]]),
        np.concatenate([read.threshold, nodes.threshold[inner]]),
        3,
    )
    assert model.volume_fidelity_ == pytest.approx(box_fidelity(model, forest, cuts, X), abs=1e-6)
    assert model.volume_fidelity_ < 1
    assert model.verify().equal is False
    assert model.status_ == "optimal"
    assert model.front()[0] == (model.depth_, model.n_leaves_)


def test_merging_is_reported(capsys):
    rng = np.random.default_rng(0)
    X = rng.random((30, 2))
    BornAgainClassifier(
        ExtraTreesClassifier(3, max_depth=2, random_state=0), merge_thresholds=True, verbose=1
    ).fit(X, X[:, 0] > 0.5)
    assert "merged thresholds" in capsys.readouterr().out


def test_models_without_splits_differ_at_a_row_inside_the_domain():
    rows = np.array([[1.0, 0.0], [1.0, 1.0]])
    one, two = (DecisionTreeClassifier().fit(rows, [label, label]) for label in (0, 1))
    outcome = verify(one, two, domain=dict(one_hot=[[0]]))
    assert outcome.equal is False
    assert outcome.counterexample[0] == 1


@pytest.mark.parametrize("features", [[1], [0, 3], [4, 2, 0]])
def test_pairs_of_inputs_are_inputs_that_share_the_other_features(features):
    statement = Domain(
        one_hot=[[0, 1]], implies=[[2, 3]], integers=[4], bounds={4: (0, 2)}, missing=[4]
    )
    inside = read_domain(statement, 5)
    both = inside.doubled(features)
    values = [[0.0, 1.0, 0.5]] * 4 + [[0.0, 2.0, 3.0, np.nan]]
    rows = np.array(list(product(*values)))
    rng = np.random.default_rng(0)
    first, second = rows[rng.integers(len(rows), size=(2, 4000))]
    kept = np.setdiff1d(np.arange(5), features)
    second[:, kept] = first[:, kept]
    pairs = np.hstack([first, second[:, features]])
    expected = inside.contains(first) & inside.contains(second)
    np.testing.assert_array_equal(both.contains(pairs), expected)
    assert expected.any()


# ------------------------------------------------------------------- ends that float32 rounds

ENDS = {
    "two of doubles": (True, lambda seed: of_histograms(seed, max_leaf_nodes=3)),
    "doubles and a forest": (
        False,
        lambda seed: RandomForestClassifier(3, max_depth=3, random_state=seed),
    ),
    "doubles and a tree": (False, lambda seed: DecisionTreeClassifier(max_depth=4)),
    "doubles and a pipeline": (
        False,
        lambda seed: make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=4)),
    ),
}


def of_histograms(seed, max_leaf_nodes=5):
    return HistGradientBoostingClassifier(
        max_iter=3,
        learning_rate=1.0,
        max_leaf_nodes=max_leaf_nodes,
        min_samples_leaf=2,
        random_state=seed,
    )


def every_number(domain, finer):
    """All rows of numbers around every tenth, inside a domain, of doubles or of float32 alone."""
    values = []
    for low, high in (domain.bounds[0], domain.bounds[1]):
        tenths = np.arange(0.0, 2.05, 0.05)
        tenths = np.append(tenths, [low, high])
        near = np.concatenate([tenths, *(np.nextafter(tenths, side) for side in (-1, 9))])
        if not finer:
            single = near.astype(np.float32)
            both = [np.nextafter(single, np.float32(side)) for side in (-1, 9)]
            near = np.concatenate([single, *both]).astype(np.float64)
            low, high = np.float64(np.float32(low)), np.float64(np.float32(high))
        values.append(np.unique(near[(low <= near) & (near <= high)]))
    return np.array(list(product(*values)))


@pytest.mark.parametrize("kind", ENDS)
def test_ends_that_float32_rounds(kind):
    finer, other = ENDS[kind]
    differing = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 11, (60, 2)) * 0.1
        y = ((X[:, 0] + X[:, 1] > 1) ^ (X[:, 1] > 0.5)).astype(int)
        models = [of_histograms(seed).fit(X, y), other(seed).fit(X, y)]
        # ends at what may be a threshold, right beside it, or anywhere
        ends = rng.integers(0, 20, (2, 2)) * 0.05
        beside = rng.integers(-1, 2, (2, 2))
        ends = np.where(beside == 0, ends, np.nextafter(ends, 9.0 * beside))
        ends = np.sort(np.where(rng.random((2, 2)) < 0.2, rng.random((2, 2)), ends), axis=1)
        ends[:, 1] = np.maximum(ends[:, 1], ends[:, 0])
        domain = Domain(bounds=dict(enumerate(map(tuple, ends.tolist()))))
        outcome = verify(*models, domain=domain)
        rows = every_number(domain, finer)
        apart = models[0].predict(rows) != models[1].predict(rows)
        differing += apart.any()
        assert outcome.equal == (not apart.any())
        if not outcome.equal:
            row = outcome.counterexample[None]
            assert models[0].predict(row) != models[1].predict(row)
            low, high = ends.T if finer else np.float64(np.float32(ends.T))
            assert (low <= row).all()
            assert (row <= high).all()
        for model, own in zip(models, (True, finer), strict=True):
            rows = every_number(domain, own)
            within = rows[((ends[:, 0] <= rows) & (rows <= ends[:, 1])).all(axis=1)]
            if not len(within):
                continue
            start = within[rng.integers(len(within))]
            flip = nearest_flip(model, start, domain=domain, max_changes=2)
            assert flip.proven
            assert bool(flip) == (model.predict(rows) != model.predict(start[None])).any()
    assert 5 < differing < 40


def test_a_counterexample_at_an_end_can_be_saved(tmp_path):
    tree, other = (DecisionTreeClassifier().fit([[0.0], [1.0]], y) for y in ([0, 1], [1, 1]))
    for low in (0.1, 0.2, 0.4):
        outcome = verify(tree, other, domain=Domain(bounds={0: (low, 0.45)}))
        outcome.save(tmp_path / "difference.json")
        assert check(tmp_path / "difference.json", tree, other)


# -------------------------------------------------------------------------- what a table holds


def table_of_many_kinds():
    rng = np.random.default_rng(0)
    n = 40
    return pd.DataFrame(
        {
            "whole": rng.integers(18, 60, n),
            "single": rng.normal(size=n).astype(np.float32),
            "counts": np.append(rng.integers(0, 9, n - 1), np.nan),
            "flag": rng.random(n) < 0.5,
            "nullable": pd.array([None, *rng.integers(0, 3, n - 1)], dtype="Int64"),
            "word": rng.choice(["a", "b"], n),
            "kind": pd.Categorical(rng.choice(["x", "y"], n)),
            "mixed": [None, *rng.choice([1, 2.5], n - 1).tolist()],
        }
    )


def test_a_domain_is_read_from_rows():
    table = table_of_many_kinds()
    domain = Domain.from_rows(table)
    assert set(domain.integers) == {"whole", "counts", "flag", "nullable"}
    assert set(domain.missing) == {"counts", "nullable", "mixed"}
    assert domain.bounds["whole"] == (table.whole.min(), table.whole.max())
    assert domain.bounds["mixed"] == (1, 2.5)
    assert domain.bounds["flag"] == (0, 1)
    assert set(domain.bounds) == set(table) - {"word", "kind"}
    free = Domain.from_rows(table, ranges=False)
    assert dict(free.bounds) == {"flag": (0, 1)}
    assert (free.integers, free.missing) == (domain.integers, domain.missing)
    # a few floats say nothing, and an array has no names
    assert Domain.from_rows(table[["counts"]].iloc[:10]).integers == ()
    numbers = Domain.from_rows(table[["whole", "single"]].to_numpy())
    assert (numbers.integers, list(numbers.bounds)) == ((0,), [0, 1])
    twice = table[["whole", "single", "whole"]]
    assert Domain.from_rows(twice).integers == (0, 2)
    again = pickle.loads(pickle.dumps(domain))
    assert again == domain
    with pytest.raises(ValueError, match="1 dimensions"):
        Domain.from_rows([1.0, 2.0])


@pytest.mark.parametrize("seed", range(5))
def test_counterexamples_are_rows_that_can_be(seed):
    """Every row of whole numbers and known levels in a small table is put to both models."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(0, 6, 80),
            "year": rng.choice([1990, 1995, 2000], 80),
            "word": rng.choice(["a", "b", "c"], 80),
        }
    )
    y = (X.age + 2 * (X.word == "b") + (X.year == 1995) > 4).astype(int)
    coder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["year", "word"]), remainder="passthrough"
    )
    models = [
        make_pipeline(coder, RandomForestClassifier(3, max_depth=depth, random_state=seed)).fit(
            X, y
        )
        for depth in (3, 4)
    ]
    domain = Domain.from_rows(X)
    rows = pd.DataFrame(
        product(range(X.age.min(), X.age.max() + 1), (1990, 1995, 2000), "abc"), columns=X.columns
    )
    apart = (models[0].predict(rows) != models[1].predict(rows)).sum()
    outcome = verify(*models, domain=domain)
    assert outcome.equal == (apart == 0)
    if not outcome.equal:
        found = outcome.counterexample.iloc[0]
        assert ((rows == found).all(axis=1)).any()
    # the levels of a column of numbers are no bounds of it
    everywhere = verify(*models)
    assert everywhere.equal is not True or outcome.equal
