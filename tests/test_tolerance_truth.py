"""What the tests of tolerances take for the truth agrees with itself and with examples by hand."""

import numpy as np
import pytest
from oracles import in_domain, min_depth, min_leaves, min_leaves_at_min_depth
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from tolerance_truth import (
    Numbers,
    all_rows,
    axis_values,
    fewest_columns,
    grid_of,
    inside,
    is_monotone_in,
    largest_move,
    last_within,
    least_error,
    n_changes,
    near_rows,
    one_number_serves,
    plans,
    smallest_on_a_line,
)


def sums(n, seed=0, stumps=3):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (40, n)) / 4
    y = X @ np.arange(1, n + 1) + rng.normal(0, 0.3, 40)
    return GradientBoostingRegressor(n_estimators=stumps, max_depth=1, random_state=0).fit(X, y), X


@pytest.mark.parametrize("number", [0.0, -1.0, 3.7, 1e300, -1e-310, 0.1])
@pytest.mark.parametrize("atol", [0.0, 0.1, 1.0, 1e-320])
def test_last_number_within_a_tolerance(number, atol):
    last = last_within(number, atol)
    assert last - number <= atol
    assert np.nextafter(last, np.inf) - number > atol


def test_one_number_serves_in_doubles():
    # 0.1 + 0.2 is one unit in the last place above 0.3
    assert one_number_serves([0.3, 0.1 + 0.2], 1e-16)
    assert not one_number_serves([0.3, 0.1 + 0.2], 0.0)
    assert one_number_serves([-1.0, 0.0, 1.0], 1.0)
    assert not one_number_serves([-1.0, 0.0, 1.0], np.nextafter(1.0, 0.0))
    rng = np.random.default_rng(0)
    for _ in range(200):
        low, atol = rng.normal(), abs(rng.normal())
        high = low + 2 * atol + rng.integers(-3, 4) * 2e-16
        near = low + atol + np.arange(-40, 41) * 2.0**-54
        some = ((np.abs(near - low) <= atol) & (np.abs(high - near) <= atol)).any()
        assert one_number_serves([low, high], atol) == some


@pytest.mark.parametrize("seed", range(6))
def test_trees_of_no_tolerance_are_those_of_labels(seed):
    labels = np.random.default_rng(seed).integers(0, 2, (3, 2, 3))
    numbers = Numbers(labels[..., None].astype(float), np.ones(labels.shape, bool), 0.0)
    for smallest in (min_depth, min_leaves, min_leaves_at_min_depth):
        assert smallest(numbers) == smallest(labels)
    numbers.atol = 0.5
    assert min_leaves(numbers) == 1
    numbers.labels = labels
    assert min_leaves(numbers) == min_leaves(labels)
    numbers.promised = np.zeros(labels.shape, bool)
    assert min_depth(numbers) == 0


@pytest.mark.parametrize("seed", range(6))
def test_trees_on_a_line_are_its_pieces(seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=9).round(1)
    for atol in (0.0, 0.05, 0.3, 0.8, 3.0):
        numbers = Numbers(values[:, None], np.ones(9, bool), atol)
        assert min_leaves(numbers) == smallest_on_a_line(values, atol)
        assert min_depth(numbers) == int(np.ceil(np.log2(smallest_on_a_line(values, atol))))


def test_cells_are_those_of_the_model():
    model, _ = sums(2)
    grid = grid_of(model, axis_values([model]), 0.0)
    cuts = {(t.tree_.feature[0], t.tree_.threshold[0]) for t in model.estimators_.ravel()}
    assert sorted(grid.shape) == sorted(1 + sum(j == k for k, _ in cuts) for j in range(2))
    # stumps: a cell more for each cut, however many of them share the features
    assert min_leaves(grid) == np.prod(grid.shape)
    near = near_rows(all_rows(axis_values([model])), [[0.0, 0.0]], 0)
    assert not near.any()  # no cut at 0
    values = axis_values([model], rows=[[0.0, 0.0]])
    near = near_rows(all_rows(values), [[0.0, 0.0]], 1)
    assert near.sum() == sum(map(len, values)) - 1
    assert min_leaves(grid_of(model, values, 0.0, promised=near)) == sum(grid.shape) - 1


def test_missing_values_are_cells_and_domains_leave_some_out():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (60, 2)).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    y = np.isnan(X[:, 0]) | (X[:, 1] > 1)
    model = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=3).fit(X, y)
    grid = grid_of(model, axis_values([model], gaps=(0, 1)), 0.5)
    assert grid.labels is not None
    assert grid.shape[0] > grid_of(model, axis_values([model], gaps=(1,)), 0.5).shape[0]
    domain = dict(one_hot=[(0, 1)], integers=(2,), bounds={2: (0, 3)})
    X = np.column_stack([np.eye(2)[rng.integers(2, size=60)], rng.integers(4, size=60)])
    model = RandomForestClassifier(9, max_depth=2, max_features=1, random_state=0)
    model.fit(X, X[:, 2] > X[:, 0])
    values = axis_values([model], domain=domain)
    rows = all_rows(values)
    kept = inside(rows, domain)
    assert kept.tolist() == [in_domain(row, **domain) for row in rows]
    assert set(rows[kept, 0] + rows[kept, 1]) == {1.0}
    grid = grid_of(model, values, 0.0, promised=kept)
    assert not grid.promised.all()


def test_fewest_columns_by_hand():
    columns = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 1.0]])
    target = 2.0 * columns[:, 0] + 3.0
    assert least_error(columns[:, :1], target, offset=True, signs=False) == pytest.approx(0)
    assert least_error(columns[:, :1], target, offset=False, signs=True) == pytest.approx(3)
    errors = fewest_columns(columns, target, offset=False, signs=True)
    np.testing.assert_allclose(errors, [5, 1, 0, 0], atol=1e-9)
    errors = fewest_columns(columns, -target, offset=False, signs=False)
    np.testing.assert_allclose(errors, 5)


def test_audits_by_hand():
    rows = all_rows([[0.0, 1.0, 2.0], [0.0, 1.0, np.nan]])
    rises = rows[:, 0] + np.nan_to_num(rows[:, 1], nan=-9)
    assert is_monotone_in(rows, rises, 0)
    assert is_monotone_in(rows, rises, 1)  # missing is neither higher nor lower
    assert not is_monotone_in(rows, -rises, 0)
    assert largest_move(rows, rises, [0]) == 2
    assert largest_move(rows, rises, [1]) == 10
    assert largest_move(rows, rises, [0, 1]) == 12
    assert largest_move(rows, np.where(rows[:, 0] > 1, "a", "b"), [1]) == 0
    assert largest_move(rows, np.where(rows[:, 0] > 1, "a", "b"), [0, 1]) == 1
    corner = (rows[:, 0] == 2) & (rows[:, 1] == 1)
    kept = near_rows(rows, [[0.0, 0.0]], 0, besides=[0])
    assert largest_move(rows, corner * 1.0, [0], kept) == 0
    assert largest_move(rows, corner * 1.0, [0]) == 1
    kept = near_rows(rows, [[0.0, 0.0]], 1, besides=[0])
    assert largest_move(rows, corner * 1.0, [0], kept) == 1


def test_plans_by_hand():
    values = [[0.0, 1.0, 3.0], [0.0, 1.0, 4.0]]

    def accepts(rows):
        return rows.sum(axis=1) >= 3

    options = dict(max_changes=2, scale=np.ones(2))
    found = plans([0.0, 0.0], values, accepts, **options)
    assert found == {frozenset({0}): 3.0, frozenset({1}): 4.0, frozenset({0, 1}): 4.0}
    found = plans([0.0, 0.0], values, accepts, metric="linf", **options)
    assert found[frozenset({0, 1})] == 3.0
    found = plans([0.0, 0.0], values, accepts, metric="l2", frozen=[0], **options)
    assert found == {frozenset({1}): 4.0}
    assert plans([1.0, 1.0], values, accepts, direction={0: "down"}, **options) == {
        frozenset({1}): 3.0,
        frozenset({0, 1}): 4.0,
    }
    found = plans(
        [1.0, 0.0], [[0.0, 1.0]] * 2, lambda rows: rows[:, 1] == 1,
        domain=dict(one_hot=[(0, 1)]), **options,
    )  # fmt: skip
    assert found == {frozenset({(0, 1)}): 1.0}


def test_changes_are_counted():
    rows = all_rows([[0.0, 1.0], [0.5, np.nan]])
    assert n_changes(rows, [0.0, np.nan]).tolist() == [1, 0, 2, 1]
    assert n_changes(rows, [0.0, np.nan], besides=[1]).tolist() == [0, 0, 1, 1]
