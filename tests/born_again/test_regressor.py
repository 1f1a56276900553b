"""Trees whose numbers are within a tolerance of an ensemble's, against plain recursion."""

import pickle
from functools import cache
from itertools import product

import numpy as np
import pytest
from cell_grids import labelled
from efforts import set_effort
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.ensemble import (
    BaggingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ensemble_simplify import BornAgainClassifier, BornAgainRegressor, TimeLimitError, verify
from ensemble_simplify.born_again.everywhere import _heuristic as heuristic
from ensemble_simplify.born_again.everywhere import _heuristic as refinement
from ensemble_simplify.born_again.everywhere import _planner as planner
from ensemble_simplify.born_again.everywhere._grid import (
    FREE,
    UNNAMED,
    Grid,
    Kinds,
    Tolerance,
    TooLarge,
)
from ensemble_simplify.born_again.everywhere._planner import _bound_on, _starts_anywhere
from ensemble_simplify.born_again.everywhere._search import pareto_front, solve
from ensemble_simplify.grid import Axes
from ensemble_simplify.reading import Model

LARGEST = np.finfo(np.float64).max


# ------------------------------------------------------------------- numbers that share a leaf


@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e5, 1e-310, 1e300])
@pytest.mark.parametrize("atol", [0.0, 0.1, 1e-17, 3.3, 1e-300, 1e308, 5e-324])
def test_ends_are_the_outermost_doubles_within_the_tolerance(scale, atol):
    numbers = np.random.default_rng(0).standard_normal(60) * scale
    numbers[:4] = 0.0, atol, -atol, np.nextafter(-atol, -np.inf)
    lower, upper = Tolerance(atol).ends(numbers[:, None])
    with np.errstate(over="ignore"):
        for ends, way in ((lower[:, 0], -np.inf), (upper[:, 0], np.inf)):
            assert (np.abs(ends - numbers) <= atol).all()
            beyond = np.nextafter(ends, way)
            assert ((np.abs(beyond - numbers) > atol) | ~np.isfinite(beyond)).all()


def leaf_of_numbers(answers, atol):
    """A number within the tolerance of all, tried among the doubles where there could be one."""
    low, high = min(answers), max(answers)
    tries = [low, high, high - atol, low + atol, 0.5 * low + 0.5 * high]
    tries += [np.nextafter(t, way) for t in tries[2:] for way in (-np.inf, np.inf)]
    return any(all(abs(t - a) <= atol for a in answers) for t in tries)


def test_numbers_on_the_edge_of_the_tolerance_share_a_leaf_as_doubles_say():
    rng = np.random.default_rng(1)
    shared = 0
    for _ in range(2000):
        low, atol = rng.standard_normal() * 10.0 ** rng.integers(-3, 4), rng.random()
        high = low + 2 * atol
        for _ in range(rng.integers(3)):
            high = np.nextafter(high, rng.choice([-np.inf, np.inf]))
        found = Tolerance(atol).spans(np.array([[low]]), np.array([[high]]))[0]
        assert found == leaf_of_numbers([low, high], atol)
        shared += found
    assert 500 < shared < 2000


def leaf_of_probabilities(answers, atol, slack):
    """Whether one vector of probabilities, the class on top, is near all: a linear programme."""
    answers = np.asarray(answers)
    label, shares = answers[0, 0], answers[:, 1:]
    if (answers[:, 0] != label).any():
        return False
    n = shares.shape[1]
    order = np.zeros((n, n))
    order[:, int(label)] = -1.0
    order += np.eye(n)
    bounds = [
        (max(0.0, shares[:, k].max() - atol - slack), min(1.0, shares[:, k].min() + atol + slack))
        for k in range(n)
    ]
    if any(low > high for low, high in bounds):
        return False
    options = dict(A_eq=np.ones((1, n)), b_eq=[1.0], bounds=bounds)
    return linprog(np.zeros(n), order, np.zeros(n), **options).status == 0


@pytest.mark.parametrize("seed", range(40))
def test_probabilities_share_a_leaf_as_a_linear_programme_says(seed):
    rng = np.random.default_rng(seed)
    n, atol = rng.integers(2, 5), rng.choice([0.03, 0.1, 0.2])
    shares = rng.dirichlet(np.full(n, 2.0), size=rng.integers(1, 4)).round(2)
    shares[:, 0] += 1.0 - shares.sum(axis=1)
    label = shares[0].argmax() if rng.random() < 0.5 else rng.integers(n)
    answers = np.column_stack([np.full(len(shares), float(label)), shares])
    tolerance = Tolerance(atol, labelled=True)
    lower, upper = tolerance.ends(answers)
    lower, upper = lower.max(axis=0, keepdims=True), upper.min(axis=0, keepdims=True)
    found = tolerance.meet(lower, upper)[0]
    wide = leaf_of_probabilities(answers, atol, 3e-6)
    if leaf_of_probabilities(answers, atol, -3e-6) == wide:
        assert found == wide
    if found:
        wish = np.column_stack([[label], rng.dirichlet(np.ones(n))[None]])
        chosen = tolerance.chosen(lower, upper, wish)[0]
        assert (np.abs(chosen[1:] - shares) <= atol).all()
        assert abs(chosen[1:].sum() - 1) < 1e-12
        assert chosen[1:].argmax() == label == chosen[0]


# ------------------------------------------------------------------------ smallest trees of grids


def number_grid(seed, *, free=0.0, labels=0, max_cells=40):
    """A random grid of answers: of numbers on a few levels, or of classes and probabilities."""
    rng = np.random.default_rng(seed)
    shape = (60,)
    while np.prod(shape) > max_cells or len(shape) > 3:
        shape = tuple(rng.integers(1, 6, size=rng.integers(1, 4)))
    if labels:
        steps = rng.multinomial(8, np.full(labels, 1 / labels), size=int(np.prod(shape))) / 8
        answers = np.column_stack([steps.argmax(axis=1), steps])
    else:
        slopes = [rng.standard_normal(n).cumsum() for n in shape]
        answers = sum(np.ix_(*slopes)).ravel()[:, None] if shape else np.zeros((1, 1))
        if rng.random() < 0.5:
            answers = answers.round(1)
    known = rng.random(len(answers)) >= free
    known[rng.integers(len(answers))] = True
    return answers.reshape(*shape, -1), known.reshape(shape)


def grid_of(answers, known, tolerance):
    """The simplified grid, as the search gets it."""
    flat, shape = answers.reshape(-1, answers.shape[-1]), answers.shape[:-1]
    kinds, place = np.unique(flat, axis=0, return_inverse=True)
    labels = np.where(known, place.reshape(shape), FREE).astype(np.uint16)
    plain = labelled(labels)
    return Grid(plain.features, plain.cuts, labels, Kinds(tolerance, kinds)).simplified()


class Truth:
    """Smallest trees by recursion over boxes, each box's cells looked at one by one."""

    def __init__(self, answers, known, tolerance):
        self.answers, self.known, self.tolerance = answers, known, tolerance
        self.whole = tuple((0, n - 1) for n in known.shape)
        self.leaf, self.depth = cache(self._leaf), cache(self._depth)
        self.leaves = cache(self._leaves)

    def _leaf(self, box):
        part = tuple(slice(a, b + 1) for a, b in box)
        inside = self.answers[part][self.known[part]]
        if not len(inside):
            return True
        if self.tolerance.labelled:
            return leaf_of_probabilities(inside, self.tolerance.atol, 1e-9)
        return leaf_of_numbers(inside[:, 0].tolist(), self.tolerance.atol)

    def sides(self, box):
        for a, (first, last) in enumerate(box):
            for k in range(first, last):
                yield (
                    (*box[:a], (first, k), *box[a + 1 :]),
                    (*box[:a], (k + 1, last), *box[a + 1 :]),
                )

    def _depth(self, box):
        if self.leaf(box):
            return 0
        return min(1 + max(map(self.depth, sides)) for sides in self.sides(box))

    def _leaves(self, box, depth=99):
        if self.leaf(box):
            return 1
        if depth == 0:
            return np.inf
        left = depth - 1 if depth < 99 else 99
        return min(sum(self.leaves(side, left) for side in sides) for sides in self.sides(box))


def boxes_of(tree, shape):
    """The leaves of a tree over cells as (number, box), read off its nodes."""

    def walk(node, box):
        axis, cut, _ = tree.nodes[node].tolist()
        if axis < 0:
            yield cut, box
            return
        first, last = box[axis]
        yield from walk(node + 1, (*box[:axis], (first, cut), *box[axis + 1 :]))
        right = node + 1 + int(tree.nodes[node + 1, 2])
        yield from walk(right, (*box[:axis], (cut + 1, last), *box[axis + 1 :]))

    return list(walk(0, tuple((0, n - 1) for n in shape)))


def check_grid(seed, tolerance, **options):
    answers, known = number_grid(seed, **options)
    truth = Truth(answers, known, tolerance)
    grid = grid_of(answers, known, tolerance)
    if not grid.kinds.alone.all():
        return
    depth = truth.depth(truth.whole)
    leaves = truth.leaves(truth.whole)
    both = truth.leaves(truth.whole, depth)
    for objective, expected in (
        ("depth", (depth, None)),
        ("leaves", (None, leaves)),
        ("depth_then_leaves", (depth, both)),
    ):
        tree = solve(grid, objective, max_bytes=1e8).tree.on_grid(grid)
        found = boxes_of(tree, known.shape)
        assert all(truth.leaf(box) and number == UNNAMED for number, box in found)
        size = tree.depth, len(found)
        assert all(e is None or e == s for e, s in zip(expected, size, strict=True))
    front = pareto_front(grid, max_bytes=1e8)
    assert front[0] == (depth, both)
    assert front[-1][1] == leaves
    assert all(truth.leaves(truth.whole, d) == n for d, n in front)
    rng = np.random.default_rng(0)
    assert _bound_on(grid, _starts_anywhere(grid, rng), 1e7, rng) <= leaves


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("atol", [0.0, 0.3, 1.0, 50.0])
def test_smallest_trees_of_numbers(seed, atol):
    check_grid(seed, Tolerance(atol))


@pytest.mark.parametrize("seed", range(40))
def test_smallest_trees_of_numbers_inside_a_domain(seed):
    check_grid(seed, Tolerance(0.5), free=0.4)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("n_classes", [2, 3])
def test_smallest_trees_of_probabilities(seed, n_classes):
    check_grid(seed, Tolerance(0.13, labelled=True), labels=n_classes, max_cells=12)


def test_memory_of_the_codes_of_numbers_counts():
    answers, known = number_grid(5, max_cells=40)
    grid = grid_of(answers, known, Tolerance(0.1))
    n_states = solve(grid, "leaves", max_bytes=1e8).n_states
    with pytest.raises(TooLarge):
        solve(grid, "leaves", max_bytes=4 * n_states)


# ----------------------------------------------------------------------------------- estimators

SHALLOW = {
    "stumps": GradientBoostingRegressor(n_estimators=8, max_depth=1, random_state=0),
    "boosting": GradientBoostingRegressor(
        n_estimators=4, max_depth=2, learning_rate=0.4, random_state=0
    ),
    "forest": RandomForestRegressor(4, max_depth=2, random_state=0),
    "bagging": BaggingRegressor(DecisionTreeRegressor(max_depth=2), 3, random_state=0),
    "histogram": HistGradientBoostingRegressor(max_iter=3, max_leaf_nodes=4, random_state=0),
}


def rows_of_cells(model):
    """A row for each cell of a model, and the same one float32 number below and above."""
    axes = Axes.of(Model.of(model).forest)
    n_features = model.n_features_in_
    ends = [np.append(cuts, np.float32(3e38)) for cuts in axes.cuts]
    rows = np.zeros((int(np.prod([len(e) for e in ends])), n_features), dtype=np.float32)
    for j, column in zip(axes.features, zip(*product(*ends), strict=True), strict=True):
        rows[:, j] = column
    shape = tuple(len(e) for e in ends)
    moved = [np.nextafter(rows, np.float32(way)) for way in (-np.inf, np.inf)]
    return rows, shape, moved


def data(n_features=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((120, n_features)).round(2)
    y = 3 * np.sin(4 * X[:, 0]) + 2 * X[:, 1] * X[:, -1] + 0.1 * rng.standard_normal(120)
    return X, y


@pytest.mark.parametrize("atol", [0, 0.05, "20%", 50.0])
@pytest.mark.parametrize("kind", SHALLOW)
def test_smallest_trees_of_ensembles(kind, atol):
    X, y = data()
    model = FrozenEstimator(clone(SHALLOW[kind]).fit(X, y))
    rows, shape, moved = rows_of_cells(model.estimator)
    answers = model.predict(rows)
    tree = BornAgainRegressor(model, atol=atol).fit(X, y)
    if isinstance(atol, str):
        assert tree.atol_ == pytest.approx(0.2 * model.predict(X).std())
    assert tree.status_ == "optimal"
    for at in (rows, *moved):
        assert np.abs(tree.predict(at) - model.predict(at)).max() <= tree.atol_
    assert tree.verify()
    # as many as the recursion finds, on the cells across which some answer changes
    grid = answers.reshape(shape)
    for a in range(grid.ndim):
        changes = (np.diff(grid, axis=a) != 0).any(axis=tuple(set(range(grid.ndim)) - {a}))
        grid = grid.compress(np.append(True, changes), axis=a)
    truth = Truth(grid[..., None], np.ones(grid.shape, dtype=bool), Tolerance(tree.atol_))
    depth = truth.depth(truth.whole)
    assert (tree.depth_, tree.n_leaves_) == (depth, truth.leaves(truth.whole, depth))
    leaves = BornAgainRegressor(model, atol=atol, objective="leaves").fit(X, y)
    assert leaves.n_leaves_ == truth.leaves(truth.whole) == leaves.n_leaves_lower_bound_
    assert tree.front()[-1][1] == leaves.n_leaves_


def test_leaves_answer_the_mean_of_the_ensemble_where_they_may():
    X, y = data()
    model = FrozenEstimator(clone(SHALLOW["stumps"]).fit(X, y))
    weight = np.random.default_rng(0).integers(0, 4, len(X)).astype(float)
    tree = BornAgainRegressor(model, atol=1e3).fit(X, y, sample_weight=weight)
    assert tree.n_leaves_ == 1
    mean = np.average(model.predict(X), weights=weight)
    np.testing.assert_allclose(tree.predict(X), mean)
    tree = BornAgainRegressor(model, atol="30%").fit(X, y, sample_weight=weight)
    answers, leaf = model.predict(X), tree.decision_tree_.apply(X)
    rows, _, _ = rows_of_cells(model.estimator)
    everywhere, of_cells = model.predict(rows), tree.decision_tree_.apply(rows)
    met = 0
    for node in np.unique(leaf):
        at = (leaf == node) & (weight > 0)
        inside = everywhere[of_cells == node]
        ends = inside.max() - tree.atol_, inside.min() + tree.atol_
        value = tree.decision_tree_.tree_.value[node, 0, 0]
        expected = np.mean(ends)
        if at.any():
            met += 1
            expected = np.clip(np.average(answers[at], weights=weight[at]), *ends)
        np.testing.assert_allclose(value, expected, atol=1e-5 * tree.atol_)
    assert met > 1


@pytest.mark.parametrize("kind", ["stumps", "boosting", "forest"])
@pytest.mark.parametrize("objective", ["depth", "leaves", "depth_then_leaves"])
def test_heuristic_is_within_the_tolerance_and_bounded(kind, objective, monkeypatch):
    X, y = data(4)
    model = FrozenEstimator(clone(SHALLOW[kind]).set_params(n_estimators=7).fit(X, y))
    options = dict(atol="10%", objective=objective, random_state=0)
    exact = BornAgainRegressor(model, **options).fit(X, y)
    assert exact.status_ == "optimal"
    monkeypatch.setattr(heuristic, "NUMBER_CELLS", 40)
    monkeypatch.setattr(heuristic, "TAIL_REGIONS", 100)
    monkeypatch.setattr(refinement, "FIRST_WORK", 1.0)
    set_effort(monkeypatch, planner, refine_work=3e5, bound_seconds=0.02)
    found = BornAgainRegressor(model, method="heuristic", **options).fit(X, y)
    assert found.verify()
    rows, _, _ = rows_of_cells(model.estimator)
    assert np.abs(found.predict(rows) - model.predict(rows)).max() <= found.atol_
    assert found.depth_lower_bound_ <= exact.depth_ <= found.depth_
    if objective != "depth":
        assert found.n_leaves_lower_bound_ <= exact.n_leaves_
    if objective == "leaves":
        assert exact.n_leaves_ <= found.n_leaves_


def test_domain_makes_the_tree_smaller():
    X, y = data()
    model = FrozenEstimator(clone(SHALLOW["stumps"]).fit(X, y))
    whole = BornAgainRegressor(model, atol="10%", objective="leaves").fit(X, y)
    inner = X[:, 0] <= 0.5
    domain = {"bounds": {0: (0.0, 0.5)}}
    tree = BornAgainRegressor(model, atol="10%", objective="leaves", domain=domain)
    tree.fit(X[inner], y[inner])
    assert tree.verify()
    assert tree.n_leaves_ < whole.n_leaves_
    assert tree.covers(X).tolist() == inner.tolist()
    with pytest.raises(ValueError, match="outside the domain"):
        clone(tree).fit(X, y)


def table(rng, n=150):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(
        {
            "color": pandas.Categorical(rng.choice(["red", "green", "blue"], n)),
            "size": rng.random(n).round(2),
        }
    )
    y = X["size"] * 2 + (X["color"] == "red") + 0.1 * rng.standard_normal(n)
    X.loc[rng.choice(n, 20, replace=False), "size"] = np.nan
    return X, y.to_numpy()


def test_tables_with_levels_and_gaps():
    X, y = table(np.random.default_rng(0))
    model = HistGradientBoostingRegressor(
        max_iter=4, max_leaf_nodes=4, min_samples_leaf=5, categorical_features="from_dtype"
    )
    tree = BornAgainRegressor(model, atol="15%").fit(X, y)
    assert tree.verify()
    assert np.abs(tree.predict(X) - tree.estimator_.predict(X)).max() <= tree.atol_
    assert tree.status_ == "optimal"
    assert tree.covers(X).all()
    assert "color" in tree.export_text()


@pytest.mark.parametrize("library", ["xgboost", "lightgbm", "catboost"])
def test_libraries_of_boosting(library):
    module = pytest.importorskip(library)
    X, y = data()
    model = {
        "xgboost": lambda: module.XGBRegressor(n_estimators=6, max_depth=2, learning_rate=0.4),
        "lightgbm": lambda: module.LGBMRegressor(
            n_estimators=6, max_depth=2, learning_rate=0.4, verbose=-1
        ),
        "catboost": lambda: module.CatBoostRegressor(
            iterations=4, depth=2, verbose=0, allow_writing_files=False
        ),
    }[library]()
    model = FrozenEstimator(model.fit(X, y))
    for atol in ("10%", "40%"):
        tree = BornAgainRegressor(model, atol=atol).fit(X, y)
        assert tree.status_ == "optimal"
        assert tree.verify()
        rows, _, moved = rows_of_cells(model.estimator)
        for at in (rows, *moved):
            answers = np.asarray(model.predict(at), dtype=float)
            assert np.abs(tree.predict(at) - answers).max() <= tree.atol_


def test_rows_finer_than_float32_are_counted():
    rng = np.random.default_rng(0)
    base = np.float32(0.7)
    gap = (np.float64(np.nextafter(base, np.float32(1))) - base) / 4
    X = np.column_stack([base + gap * rng.integers(-2, 3, 200), rng.random(200)])
    y = (X[:, 0] > base) * 1.0 + X[:, 1]
    model = HistGradientBoostingRegressor(max_iter=3, max_leaf_nodes=3, min_samples_leaf=5)
    with pytest.warns(UserWarning, match="finer than float32"):
        tree = BornAgainRegressor(model, atol=1e-3).fit(X, y)
    apart = np.abs(tree.predict(X) - tree.estimator_.predict(X)) > tree.atol_
    assert tree.n_row_exceptions_ == apart.sum() > 0
    assert tree.fidelity_ == 1 - apart.mean()
    assert not tree.verify()
    assert not tree.covers(X)[apart].any()


@pytest.mark.parametrize("atol", [0.02, 0.1, "40%"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_of_classes(atol, n_classes):
    X, target = data()
    y = np.digitize(target, np.quantile(target, np.arange(1, n_classes) / n_classes))
    model = FrozenEstimator(RandomForestClassifier(4, max_depth=2, random_state=0).fit(X, y))
    plain = BornAgainClassifier(model, objective="leaves").fit(X, y)
    tree = BornAgainClassifier(model, objective="leaves", atol=atol).fit(X, y)
    assert tree.status_ == "optimal"
    assert tree.n_leaves_ >= plain.n_leaves_
    assert plain.atol_ is None
    rows, shape, moved = rows_of_cells(model.estimator)
    for at in (rows, *moved):
        np.testing.assert_array_equal(tree.predict(at), model.predict(at))
        apart = np.abs(tree.predict_proba(at) - model.predict_proba(at)).max()
        assert apart <= tree.atol_
    assert tree.verify()
    assert verify(tree, model, atol=tree.atol_)
    answers = np.column_stack([model.predict(rows), model.predict_proba(rows)])
    grid = answers.reshape(*shape, -1)
    for a in range(len(shape)):
        others = tuple(set(range(grid.ndim)) - {a})
        changes = (np.diff(grid, axis=a) != 0).any(axis=others)
        grid = grid.compress(np.append(True, changes), axis=a)
    truth = Truth(grid, np.ones(grid.shape[:-1], dtype=bool), tree._tolerance)
    if truth.known.size <= 60:
        assert truth.leaves(truth.whole) == tree.n_leaves_


def test_what_does_not_go_is_refused():
    X, y = data()
    labels = (y > y.mean()).astype(int)
    with pytest.raises(ValueError, match="atol='wide' is not a tolerance"):
        BornAgainRegressor(atol="wide").fit(X, y)
    with pytest.raises(TypeError, match="is a classifier"):
        BornAgainRegressor(RandomForestClassifier(2, max_depth=2)).fit(X, labels)
    with pytest.raises(TypeError, match="means over trees"):
        BornAgainClassifier(GradientBoostingClassifier(n_estimators=2), atol=0.1).fit(X, labels)
    with pytest.raises(ValueError, match=r"post_prune=True does not go with atol=0\.1"):
        BornAgainClassifier(atol=0.1, post_prune=True).fit(X, labels)
    forest = RandomForestRegressor(10, max_depth=5, random_state=0)
    with pytest.raises(ValueError, match="exact search needs about"):
        BornAgainRegressor(forest, method="exact", max_memory=1e5).fit(X, y)


def test_large_ensembles_are_refused_with_advice(monkeypatch):
    X, y = data(4)
    model = FrozenEstimator(clone(SHALLOW["boosting"]).set_params(n_estimators=10).fit(X, y))
    set_effort(monkeypatch, planner, table_cells=10)
    monkeypatch.setattr(planner, "MAX_LEAVES", 20)
    with pytest.raises(ValueError, match=r"within 0\.0\d+ of .*to have about \d+ leaves") as caught:
        BornAgainRegressor(model, atol="5%", random_state=0).fit(X, y)
    assert "max_changes=1 promises an answer within atol" in str(caught.value)
    monkeypatch.undo()
    set_effort(monkeypatch, planner, table_cells=10, patience=1e-3)
    with pytest.warns(UserWarning, match="is expected to take about .*Set time_limit"):
        tree = BornAgainRegressor(model, atol="20%", random_state=0).fit(X, y)
    assert tree.verify()


@pytest.mark.parametrize("kind", ["stumps", "boosting"])
def test_forecast_of_leaves_is_of_their_size(kind, monkeypatch):
    X, y = data(4)
    model = clone(SHALLOW[kind]).set_params(n_estimators=10).fit(X, y)
    monkeypatch.setattr(heuristic, "WAY_CELLS", 20)
    monkeypatch.setattr(heuristic, "NUMBER_CELLS", 20)
    problem = planner.read_problem(Model.of(model).forest, tolerance=Tolerance(0.1))
    found = heuristic.forecast_leaves(problem.trees, np.random.default_rng(0), 1e9)
    draft = heuristic.Draft(problem.trees, "leaves", max_bytes=1e9, rng=np.random.default_rng(0))
    draft.build()
    assert 0.5 * draft.n_leaves < found < 2 * draft.n_leaves


def test_classes_that_are_all_but_tied_need_some_tolerance():
    X, y = np.arange(4.0)[:, None], np.array([0, 1, 1, 1])
    weight = np.array([1.0, 1.0 + 1e-9, 1.0, 1.0])
    tree = DecisionTreeClassifier(max_leaf_nodes=2, random_state=0, min_samples_leaf=2)
    model = FrozenEstimator(tree.fit(X, y, sample_weight=weight))
    assert model.predict([[0.0]]) == 1
    with pytest.raises(ValueError, match="so nearly equally probable"):
        BornAgainClassifier(model, atol=0.0).fit(X, y)
    found = BornAgainClassifier(model, atol=1e-5).fit(X, y)
    assert found.verify()
    assert found.n_leaves_ == 2


def test_a_limit_of_time_ends_with_a_tree_or_an_error():
    X, y = data(5)
    model = GradientBoostingRegressor(n_estimators=20, max_depth=3, random_state=0)
    with pytest.raises(TimeLimitError, match="aise time_limit"):
        BornAgainRegressor(model, atol="1%", time_limit=1e-3).fit(X, y)


def test_a_fitted_tree_is_kept_by_pickle_and_grows_again_the_same():
    X, y = data()
    one, two = (BornAgainRegressor(random_state=3).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    kept = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(kept.predict(X), one.predict(X))
    assert kept.verify()
    assert kept.score(X, y) == pytest.approx(one.score(X, y))
