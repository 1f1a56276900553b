"""Trees that stay within a tolerance near rows, against enumeration and plain recursion."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest
from cell_grids import random_shape, tree_grid
from efforts import set_effort
from ensemble_simplify.born_again.near._line_trees import LineTrees
from ensemble_simplify.grid._limits import counted_clock
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import splits, whole_box
from sklearn.base import clone
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator

from ensemble_simplify import BornAgainClassifier, BornAgainRegressor
from ensemble_simplify.born_again.everywhere._grid import Tolerance
from ensemble_simplify.born_again.near import _line_search
from ensemble_simplify.born_again.near._line_search import leaves_beside_cuts, row_weights
from ensemble_simplify.born_again.near._path_trees import (
    Prunings,
    Windows,
    in_windows,
    last_alike,
    n_windows,
)
from ensemble_simplify.grid import Stopped
from ensemble_simplify.grid.axes import children
from ensemble_simplify.proof import near_rows
from ensemble_simplify.proof.near_rows import Neighbourhood, NumberLines

TINY = 1e-7


class GridNumbers(NumberLines):
    """Lines of a table of numbers."""

    def __init__(self, grid, atol):
        self.grid, self._places = grid, {}
        self.first = np.concatenate([[0], np.cumsum(grid.shape)]).astype(np.intp)
        self.outside = (np.empty((0, grid.ndim), dtype=np.int32),) * 2
        self.last_alike = lambda kinds: last_alike(kinds, Tolerance(atol))

    def labels(self, cells, from_axis=None):
        parts = []
        for a in range(self.grid.ndim):
            walked = np.repeat(cells[:, None], self.grid.shape[a], axis=1)
            walked[:, :, a] = np.arange(self.grid.shape[a])
            flat = self.classes_of(walked.reshape(-1, self.grid.ndim))
            parts.append(flat.reshape(len(cells), -1))
        return np.concatenate(parts, axis=1)

    def answers_of(self, cells, to_end=False):
        return self.grid[tuple(cells.T)][:, None]


def problem(seed, max_changes, atol, max_regions=400):
    """A neighbourhood on a small grid of numbers, and the grid with NaN where nothing is known."""
    rng = np.random.default_rng(seed)
    shape = random_shape(rng, max_regions)
    # whole numbers and halves: all differences are exact
    grid = sum(tree_grid(shape, rng, 2, 4) for _ in range(3)).astype(float) / 2.0
    n = int(rng.integers(1, 1 + min(10, grid.size)))
    cells = np.column_stack(np.unravel_index(rng.integers(grid.size, size=n), shape))
    near = Neighbourhood.of(GridNumbers(grid, atol), cells.astype(np.int32), max_changes)
    known = np.full(shape, np.nan)
    for cell in near.cells:
        for a in range(grid.ndim) if max_changes else ():
            index = (*cell[:a], slice(None), *cell[a + 1 :])
            known[index] = grid[index]
        known[tuple(cell)] = grid[tuple(cell)]
    return grid, near, known


def kernel(grid, near, atol, share=0.5, seed=0):
    numbers = in_windows(near.kinds[:, 0], atol)
    return LineTrees(
        np.array(grid.shape, dtype=np.intp), len(numbers), near.cells, near.labels,
        row_weights(near, share), near.own_first, near.own_last, near.own_joined, near.runs, seed,
        near.alike, numbers,
    )  # fmt: skip


def fewest_leaves(known, atol):
    """Fewest leaves of a tree within the tolerance, by recursion over all boxes."""

    @cache
    def fewest(box):
        inside = known[tuple(slice(first, last + 1) for first, last in box)]
        inside = inside[~np.isnan(inside)]
        if inside.size == 0 or np.ptp(inside) <= 2 * atol:
            return 1
        return min(fewest(one) + fewest(two) for _, _, one, two in splits(box))

    return fewest(whole_box(known))


def leaf_of(nodes, shape):
    """Number of the leaf of every cell of a grid, by walking down."""
    found = np.empty(shape, dtype=int)
    _, right = children(nodes)
    for cell in np.ndindex(*shape):
        at = 0
        while nodes[at, 0] >= 0:
            at = at + 1 if cell[nodes[at, 0]] <= nodes[at, 1] else right[at]
        found[cell] = at
    return found


def told(nodes, trees, near, grid, atol):
    """What a tree answers in every cell, and its windows."""
    closeness = Tolerance(atol)
    windows = Windows.of(trees, nodes, near.kinds, closeness)
    rows = near.cells, near.kinds[near.labels], near.weights
    answers = windows.answers(nodes, *rows, closeness)
    return answers[leaf_of(nodes, grid.shape), 0], windows, answers


def points_of(near, grid):
    """All promised points: cells, the axis that is changed (-1: none) and the row."""
    for i, cell in enumerate(near.cells):
        yield tuple(cell), -1, i
        for a in range(grid.ndim) if near.max_changes else ():
            for value in range(grid.shape[a]):
                if value != cell[a]:
                    yield (*cell[:a], value, *cell[a + 1 :]), a, i


TOLERANCES = st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0])


@given(st.integers(0, 10**6), st.integers(0, 1), TOLERANCES)
@settings(max_examples=120)
def test_trees_bounds_and_proofs(seed, max_changes, atol):
    grid, near, known = problem(seed, max_changes, atol)
    trees = kernel(grid, near, atol, seed=seed)
    best = fewest_leaves(known, atol)
    promised = ~np.isnan(known)
    for width in (0, 3):
        cost, nodes = trees.find(TINY, width, 2, criterion=seed % 2)
        answer, _, _ = told(nodes, trees, near, grid, atol)
        assert np.abs(answer - grid)[promised].max() <= atol
        assert cost == pytest.approx(TINY * (len(nodes) + 1) / 2)
        assert (len(nodes) + 1) // 2 >= best
    better = trees.improve(nodes, TINY, 6, 2, 1e6)
    assert best <= (len(better) + 1) // 2 <= (len(nodes) + 1) // 2
    answer, _, _ = told(better, trees, near, grid, atol)
    assert np.abs(answer - grid)[promised].max() <= atol
    # lower bounds
    forced = trees.forced_cuts()
    places = set()
    first = np.cumsum([0, *grid.shape[:-1]])
    for cell in near.cells if max_changes else ():
        for a in range(grid.ndim):
            line = grid[(*cell[:a], slice(None), *cell[a + 1 :])]
            apart = np.flatnonzero(np.abs(np.diff(line)) > 2 * atol)
            places |= {int(first[a]) + 1 + int(k) for k in apart}
    np.testing.assert_array_equal(np.flatnonzero(forced), sorted(places))
    assert forced.sum() + 1 <= best
    assert n_windows(near.alike) <= best
    points = trees.fooling_points(seed, 1e5)
    assert len(points) <= leaves_beside_cuts(points, np.cumsum(forced), first) <= best
    for one, two in combinations(points, 2):
        ends = zip(one[:-1], two[:-1], strict=True)
        inside = known[tuple(slice(min(a, b), max(a, b) + 1) for a, b in ends)]
        assert np.nanmax(inside) - np.nanmin(inside) > 2 * atol
    for point in points:
        assert known[tuple(point[:-1])] == near.kinds[point[-1], 0]
    # the proof by exhaustion
    if best <= 8:
        for n in range(1, best):
            assert trees.prove(n, np.inf) == (False, None)
        fits, nodes = trees.prove(best, np.inf)
        assert fits
        assert len(nodes) == 2 * best - 1
        answer, _, _ = told(nodes, trees, near, grid, atol)
        assert np.abs(answer - grid)[promised].max() <= atol


@given(st.integers(0, 10**6), st.integers(0, 1), TOLERANCES, st.sampled_from([0.5, 2.5, 7.0]))
@settings(max_examples=60)
def test_exceptions_are_counted(seed, max_changes, atol, price):
    grid, near, _ = problem(seed, max_changes, atol, max_regions=2000)
    trees, weight = kernel(grid, near, atol), row_weights(near, 0.5)
    cost, nodes = trees.find(price, 4, 2)
    leaf, least = leaf_of(nodes, grid.shape), nodes[:, 1]
    # what a leaf is right for, by the number from which on its window goes
    numbers = near.kinds[:, 0]
    wrong = [
        (a, i, cell)
        for cell, a, i in points_of(near, grid)
        if not 0 <= grid[cell] - numbers[least[leaf[cell]]] <= 2 * atol
    ]
    error = sum(weight[i] if a < 0 else 1.0 for a, i, _ in wrong)
    assert cost == pytest.approx(error + price * (len(nodes) + 1) / 2)
    assert trees.cost(nodes) == error
    held = [np.arange(n) + 1.0 for n in grid.shape]
    before = np.concatenate([np.concatenate([[0.0], np.cumsum(h)]) for h in held])
    counts = near.weights.astype(np.intp)
    found = trees.wrong(nodes, counts, before)
    assert found[0] == len(wrong)
    assert found[1] == sum(counts[i] for a, i, _ in wrong if a < 0)
    assert found[2] == pytest.approx(sum(held[a][cell[a]] for a, _, cell in wrong if a >= 0))
    # every leaf has the heaviest window of its points, and answers are as far as is told
    answer, windows, answers = told(nodes, trees, near, grid, atol)
    for at in np.flatnonzero(nodes[:, 0] < 0):
        inside = [(cell, a, i) for cell, a, i in points_of(near, grid) if leaf[cell] == at]
        heavy = [weight[i] if a < 0 else 1.0 for _, a, i in inside]
        number = np.array([grid[cell] for cell, _, _ in inside])
        windowed = [
            np.dot(heavy, (number >= start) & (number <= start + 2 * atol)) for start in number
        ]
        own = (number >= numbers[least[at]]) & (number <= numbers[least[at]] + 2 * atol)
        assert np.dot(heavy, own) == max(windowed)
        assert (windows.least[at], windows.most[at]) == (number.min(), number.max())
        assert (np.abs(answers[at] - number[own]) <= atol).all()
    apart = [abs(answer[cell] - grid[cell]) for cell, _, _ in points_of(near, grid)]
    assert windows.largest_difference(answers) == max(apart)
    better = trees.improve(nodes, price, 4, 2, 1e6)
    leaves = [(len(n) + 1) / 2 for n in (better, nodes)]
    assert trees.cost(better) + price * leaves[0] <= error + price * leaves[1] + 1e-6
    # prunings have the errors that are told, and so does a single leaf
    prunings = Prunings(nodes, *trees.leaf_errors(nodes))
    for m in range(1, min(6, len(prunings.errors) + 1)):
        assert trees.cost(prunings.tree(m)) == prunings.errors[m - 1]
    assert trees.few_leaves() == (prunings.errors[0], 0.0)


@given(st.integers(0, 10**6), st.integers(0, 1), TOLERANCES, st.sampled_from([0.0, 0.5, 1.0, 3.0]))
@settings(max_examples=60)
def test_prunings_by_another_tolerance(seed, max_changes, atol, more):
    grid, near, known = problem(seed, max_changes, atol, max_regions=2000)
    trees = kernel(grid, near, atol)
    _, nodes = trees.find(TINY)
    _, windows, _ = told(nodes, trees, near, grid, atol)
    wider = Tolerance(atol + more)
    pruned, held = windows.pruned(nodes, wider)
    rows = near.cells, near.kinds[near.labels], near.weights
    answers = held.answers(pruned, *rows, wider)
    leaf, promised = leaf_of(pruned, grid.shape), ~np.isnan(known)
    apart = np.abs(answers[leaf, 0] - grid)[promised].max()
    assert apart <= wider.atol
    assert held.largest_difference(answers) == apart
    # no split has leaves on both sides that could be one
    _, right = children(pruned)
    for at in np.flatnonzero(pruned[:, 0] >= 0):
        below = np.isin(leaf, [at + 1, right[at]])
        if pruned[at + 1, 0] < 0 and pruned[right[at], 0] < 0:
            assert np.ptp(known[below & promised]) > 2 * wider.atol
    if atol:
        narrower = windows.pruned(nodes, Tolerance(0.0))
        purest = all(
            np.ptp(known[(leaf_of(nodes, grid.shape) == at) & promised]) == 0
            for at in np.flatnonzero(nodes[:, 0] < 0)
        )
        assert (narrower is not None) == purest


def test_work_ends_a_search():
    rng = np.random.default_rng(0)
    grid = rng.integers(8, size=(30, 30)) / 2.0
    cells = np.column_stack(np.unravel_index(np.arange(0, 900, 3), grid.shape)).astype(np.int32)
    near = Neighbourhood.of(GridNumbers(grid, 0.5), cells, 1)
    for width in (0, 3):
        for work in (10.0, 3e5, 1e6):
            trees = kernel(grid, near, 0.5)
            cost, nodes = trees.find(TINY, width, 2, work=work)
            assert cost == pytest.approx(trees.cost(nodes) + TINY * (len(nodes) + 1) / 2, rel=1e-12)
            # as far as it went, it is better than no split at all
            assert (cost < trees.leaf_errors(nodes)[0][0]) == (len(nodes) > 1)
            assert (len(nodes) > 1) == (work > 10.0)
    trees = kernel(grid, near, 0.5)
    _, nodes = trees.find(TINY)
    np.testing.assert_array_equal(trees.improve(nodes, TINY, 5, 2, 0.0), nodes)
    assert trees.prove(20, 0.0) in [(None, None), (False, None)]


@given(st.integers(0, 10**6), st.floats(0.0, 3.0))
@settings(max_examples=60)
def test_windows_of_doubles(seed, atol):
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.integers(-3, 16)
    kinds = np.unique(rng.normal(size=20).round(1) * scale)[:, None]
    for closeness in (Tolerance(atol), Tolerance(atol * scale), Tolerance(np.spacing(scale))):
        last = last_alike(kinds, closeness)
        assert (np.diff(last) >= 0).all()
        for i, end in enumerate(last):
            lower, upper = closeness.ends(kinds[i : end + 1])
            answer = closeness.chosen(lower.max(0)[None], upper.min(0)[None], np.array([[np.nan]]))
            assert (np.abs(answer - kinds[i : end + 1]) <= closeness.atol).all()
            if end + 1 < len(kinds):
                one, two = kinds[[i, end + 1], 0]
                middle = one / 2 + two / 2
                near_middle = middle + np.spacing(middle) * np.arange(-3, 4)
                both = np.maximum(np.abs(near_middle - one), np.abs(near_middle - two))
                assert (both > closeness.atol).all()


def test_windows_of_probabilities():
    # a class, and the probabilities of both: no window holds two classes
    upper = np.array([0.0, 0.1, 0.2, 0.45, 0.55, 0.6, 0.9])
    kinds = np.column_stack([upper > 0.5, 1 - upper, upper]).astype(float)
    last = last_alike(kinds, Tolerance(0.075, labelled=True))
    np.testing.assert_array_equal(last, [1, 2, 2, 3, 5, 5, 6])
    last = last_alike(kinds, Tolerance(1.0, labelled=True))
    np.testing.assert_array_equal(last, [3, 3, 3, 3, 6, 6, 6])


def small_table(seed, n_rows=24, n_features=3):
    """Rows of a few features, a number and a class for each."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)).round(1)
    number = np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0) + rng.normal(scale=0.1, size=n_rows)
    return X, number, (number > np.median(number)).astype(int)


def values_to_try(model, X):
    """For every feature, float32 numbers at, just above and below the thresholds of trees."""
    found = [set(X[:3, j].astype(np.float32).tolist()) for j in range(X.shape[1])]
    for tree in np.ravel(model.estimators_):
        inner = tree.tree_.children_left >= 0
        for j, t in zip(tree.tree_.feature[inner], tree.tree_.threshold[inner], strict=True):
            at = np.float32(t)
            sides = (np.nextafter(at, np.float32(side)) for side in (-np.inf, np.inf))
            found[j] |= {float(at), *map(float, sides)}
    return [np.array([*values, -1e9, 1e9], dtype=np.float32) for values in found]


def points_near(model, X, max_changes):
    """Each row, and if a change is allowed, with every choice of a value of one feature."""
    parts = [X.astype(np.float32)]
    for j, values in enumerate(values_to_try(model, X)) if max_changes else ():
        changed = np.repeat(parts[0], len(values), axis=0)
        changed[:, j] = np.tile(values, len(X))
        parts.append(changed)
    return np.concatenate(parts)


REGRESSORS = {
    "stumps": GradientBoostingRegressor(n_estimators=8, max_depth=1, random_state=0),
    "boosting": GradientBoostingRegressor(n_estimators=5, max_depth=2, random_state=0),
    "forest": RandomForestRegressor(6, max_depth=4, random_state=0),
}


@pytest.mark.parametrize("max_changes", [0, 1])
@pytest.mark.parametrize("atol", [0, 0.1, "40%"])
@pytest.mark.parametrize("name", sorted(REGRESSORS))
def test_regressors(name, atol, max_changes):
    X, y, _ = small_table(3)
    model = BornAgainRegressor(REGRESSORS[name], atol=atol, max_changes=max_changes, random_state=0)
    model.fit(X, y)
    points = points_near(model.estimator_, X, max_changes)
    apart = np.abs(model.predict(points) - model.estimator_.predict(points))
    assert apart.max() <= model.atol_
    assert model.path_.max_difference[-1] == apart.max()
    assert model.n_exceptions_ == model.n_row_exceptions_ == 0
    assert model.n_leaves_lower_bound_ <= model.n_leaves_ == model.decision_tree_.get_n_leaves()
    assert model.covers(points).all()
    outcome = model.verify()
    assert outcome
    if atol == "40%":
        assert model.atol_ == pytest.approx(0.4 * model.estimator_.predict(X).std())


def exceptions_of(model, X):
    """Cells near rows in which a tree is further off than its tolerance, and the largest distance.

    One point in every cell is asked, of the rows and of the others; each counts for every row.
    """
    axes = model._promise.axes
    cells = np.unique(model._promise.training.cells, axis=0)
    near = [tuple(cell) for cell in cells]
    for cell in cells if model.max_changes else ():
        for a, n in enumerate(axes.shape):
            near += [(*cell[:a], p, *cell[a + 1 :]) for p in range(n) if p != cell[a]]
    points = axes.points(np.array(near, dtype=np.int32))
    apart = np.abs(model.predict(points) - model.estimator_.predict(points))
    return int((apart > model.atol_).sum()), float(apart.max())


@pytest.mark.parametrize("max_changes", [0, 1])
def test_path_of_exceptions(max_changes):
    X, y, _ = small_table(4, n_rows=40)
    forest = FrozenEstimator(clone(REGRESSORS["forest"]).fit(X, y))
    model = BornAgainRegressor(forest, atol="30%", max_changes=max_changes, random_state=0)
    model.fit(X, y)
    path = model.path_
    assert path.n_leaves[0] == 1
    assert path.n_leaves[-1] == model.n_leaves_
    assert (np.diff(path.n_leaves) > 0).all()
    assert (np.diff(path.weighted_share) < 0).all()
    assert path.weighted_share[-1] == path.n_exceptions[-1] == path.n_row_exceptions[-1] == 0
    for i in [0, 1, len(path.n_leaves) // 2, len(path.n_leaves) - 1]:
        other = model.at(n_leaves=int(path.n_leaves[i]))
        assert other.n_leaves_ == path.n_leaves[i] == other.decision_tree_.get_n_leaves()
        wrong, apart = exceptions_of(other, X)
        assert wrong == path.n_exceptions[i] == other.n_exceptions_
        assert apart == path.max_difference[i]
        rows = np.abs(other.predict(X) - other.estimator_.predict(X)) > other.atol_
        assert rows.sum() == path.n_row_exceptions[i] == other.n_row_exceptions_
        assert other.n_leaves_lower_bound_ <= other.n_leaves_
        assert 0 <= path.agreement[i] <= 1
        assert path.r2[i] <= 1
    some = model.at(tolerance=0.2)
    place = int(np.flatnonzero(path.weighted_share <= 0.2)[0])
    assert some.n_leaves_ == path.n_leaves[place]
    few = BornAgainRegressor(
        forest, atol="30%", max_changes=max_changes, max_leaf_nodes=6, random_state=0
    ).fit(X, y)
    assert few.n_leaves_ == model.at(n_leaves=6).n_leaves_ <= 6


def test_a_wider_tolerance():
    X, y, _ = small_table(5, n_rows=30)
    forest = FrozenEstimator(clone(REGRESSORS["boosting"]).fit(X, y))
    model = BornAgainRegressor(forest, atol="10%", max_changes=1, random_state=0).fit(X, y)
    points, leaves = points_near(forest, X, 1), []
    for atol in ("10%", "20%", "40%", float(np.ptp(forest.predict(points)))):
        other = model.at(atol=atol)
        apart = np.abs(other.predict(points) - forest.predict(points)).max()
        assert apart <= other.atol_
        assert other.path_.max_difference == [apart]
        assert other.verify()
        assert other.atol == atol
        assert other.n_leaves_ == other.decision_tree_.get_n_leaves() == other.path_.n_leaves[0]
        assert other.n_leaves_lower_bound_ <= other.n_leaves_
        leaves.append(other.n_leaves_)
        again = BornAgainRegressor(forest, atol=atol, max_changes=1, random_state=0).fit(X, y)
        assert again.atol_ == other.atol_
    assert leaves[0] <= model.n_leaves_
    assert leaves == sorted(leaves, reverse=True)
    assert leaves[-1] == 1
    # the given model is as it was
    assert model.atol == "10%"
    assert model.verify()
    with pytest.raises(ValueError, match="less than atol_="):
        model.at(atol="5%")
    with pytest.raises(ValueError, match="Give atol alone"):
        model.at(atol="20%", n_leaves=3)
    with pytest.raises(ValueError, match="not a tolerance"):
        model.at(atol="wide")


@pytest.mark.parametrize("seed", range(6))
def test_smallest_on_small_grids(seed):
    X, y, _ = small_table(seed, n_rows=9, n_features=3)
    model = BornAgainRegressor(
        GradientBoostingRegressor(n_estimators=3, max_depth=2, random_state=seed),
        atol=[0, "20%", "60%"][seed % 3],
        max_changes=1,
        random_state=0,
    )
    model.fit(X[:, : 2 + seed % 2], y)
    axes, cells = model._promise.axes, model._promise.training.cells
    known = np.full(axes.shape, np.nan)
    for cell in cells:
        for a, n in enumerate(axes.shape):
            line = np.repeat(cell[None], n, axis=0)
            line[:, a] = np.arange(n)
            known[tuple(line.T)] = model.estimator_.predict(axes.points(line))
    # a little more, for the rounding of the middle
    assert fewest_leaves(known, model.atol_ * (1 + 1e-12)) == model.n_leaves_
    assert model.status_ == "optimal"


def test_probabilities():
    X, _, y = small_table(6, n_rows=40)
    forest = RandomForestClassifier(5, max_depth=3, random_state=0)
    model = BornAgainClassifier(forest, atol=0.15, max_changes=1, random_state=0).fit(X, y)
    points = points_near(model.estimator_, X, 1)
    for atol, other in ((0.15, model), (0.3, model.at(atol=0.3))):
        apart = np.abs(other.predict_proba(points) - other.estimator_.predict_proba(points))
        assert apart.max() <= atol
        np.testing.assert_array_equal(other.predict(points), other.estimator_.predict(points))
        assert other.verify()
        assert other.n_exceptions_ == 0
    assert other.n_leaves_ < model.n_leaves_
    classes = BornAgainClassifier(FrozenEstimator(model.estimator_), max_changes=1, random_state=0)
    assert classes.fit(X, y).n_leaves_ < model.n_leaves_
    with pytest.raises(ValueError, match="only classes were promised"):
        classes.at(atol=0.2)
    # exceptions: another class, or a probability too far away
    few = model.at(n_leaves=4)
    cells = np.unique(few._promise.training.cells, axis=0)
    near = [tuple(cell) for cell in cells]
    for cell in cells:
        for a, n in enumerate(few._promise.axes.shape):
            near += [(*cell[:a], p, *cell[a + 1 :]) for p in range(n) if p != cell[a]]
    points = few._promise.axes.points(np.array(near, dtype=np.int32))
    apart = np.abs(few.predict_proba(points) - few.estimator_.predict_proba(points)).max(axis=1)
    wrong = (apart > 0.15) | (few.predict(points) != few.estimator_.predict(points))
    # an answer can be near a point beside the window, of which the count knows nothing
    assert wrong.sum() <= few.n_exceptions_
    assert not {"r2", "max_difference"} & set(few.path_)


def test_what_is_refused():
    X, y, label = small_table(7)
    with pytest.raises(ValueError, match=r"max_changes=2 does not go with atol"):
        BornAgainRegressor(max_changes=2).fit(X, y)
    with pytest.raises(ValueError, match=r"max_changes=2 does not go with atol"):
        BornAgainClassifier(atol=0.1, max_changes=2).fit(X, label)
    three = label + (y > np.quantile(y, 0.8))
    with pytest.raises(ValueError, match="two classes"):
        BornAgainClassifier(atol=0.1, max_changes=1).fit(X, three)
    with pytest.raises(ValueError, match="objective='depth' does not go with max_changes=1"):
        BornAgainRegressor(max_changes=1, objective="depth").fit(X, y)
    model = BornAgainRegressor(REGRESSORS["stumps"], atol="60%", objective="leaves").fit(X, y)
    with pytest.raises(ValueError, match="there is a path of exceptions"):
        model.at(n_leaves=3)


def test_numbers_finer_than_float32():
    rng = np.random.default_rng(0)
    seconds = 1.7e9 + np.sort(rng.integers(0, 3000, 150)).astype(float)
    X, y = seconds[:, None], np.sin((seconds - 1.7e9) / 200.0)
    boosting = HistGradientBoostingRegressor(max_iter=10, min_samples_leaf=5, random_state=0)
    model = BornAgainRegressor(boosting, atol=0.05, max_changes=0, random_state=0)
    with pytest.warns(UserWarning, match="float32"):
        model.fit(X, y)
    apart = np.abs(model.predict(X) - model.estimator_.predict(X))
    assert model.n_row_exceptions_ == (apart > 0.05).sum() > 0
    assert not model.covers(X)[apart > 0.05].any()
    assert apart[model.covers(X)].max() <= 0.05


def test_points_that_were_not_looked_at_count_as_exceptions(monkeypatch):
    X, y, _ = small_table(8, n_rows=40)
    done, plain = [], NumberLines.labels

    def labels(self, cells, *args):
        done.append(len(cells))
        if len(done) > 2:
            raise Stopped
        return plain(self, cells, *args)

    monkeypatch.setattr(NumberLines, "labels", labels)
    monkeypatch.setattr(near_rows, "BATCH_CELLS", 400)
    model = BornAgainRegressor(REGRESSORS["forest"], atol="30%", max_changes=1, time_limit=1e5)
    with counted_clock(300.0), pytest.warns(ConvergenceWarning, match="not looked at"):
        model.fit(X, y)
    n_unseen = round((1 - model.seen_share_) * model.n_points_)
    assert 0 < n_unseen <= model.n_exceptions_
    for n_leaves in model.path_.n_leaves:
        other = model.at(n_leaves=int(n_leaves))
        assert max(exceptions_of(other, X)[0], n_unseen) <= other.n_exceptions_
    with pytest.raises(ValueError, match="before all promised points"):
        model.at(atol="50%")


def test_a_tree_that_was_not_finished(monkeypatch):
    X, y, _ = small_table(9, n_rows=40)
    # all the time for the answers to points, and none for trees
    set_effort(monkeypatch, _line_search, label_share=1e6, tree_share=-1e6)
    model = BornAgainRegressor(REGRESSORS["forest"], atol="30%", max_changes=1, time_limit=1e5)
    with counted_clock(300.0), pytest.warns(ConvergenceWarning, match="ended the search"):
        model.fit(X, y)
    assert model.seen_share_ == 1
    assert model.n_exceptions_ == exceptions_of(model, X)[0] > 0
    assert model.status_ == "feasible"
