"""Bounds, fronts, limits and large grids: the parts of born-again search around the exact one."""

from __future__ import annotations

import signal
import threading
import warnings

import numpy as np
import pytest
from cell_grids import labelled, random_grid
from efforts import set_effort
from oracles import FREE, min_depth, min_leaves, pareto_front
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier

from ensemble_simplify import (
    BornAgainClassifier,
    BornAgainRegressor,
    DepthLeavesDisplay,
    Estimate,
    estimate,
    verify,
)
from ensemble_simplify.base.limits import TimeLimitError
from ensemble_simplify.born_again.everywhere import _heuristic as refinement
from ensemble_simplify.born_again.everywhere import _planner as planner
from ensemble_simplify.born_again.everywhere._grid import Tolerance
from ensemble_simplify.born_again.everywhere._planner import (
    _bound_on,
    _starts_anywhere,
    read_problem,
)
from ensemble_simplify.born_again.everywhere._search import CellTree, solve
from ensemble_simplify.born_again.everywhere._search import pareto_front as solved_front
from ensemble_simplify.grid import limits
from ensemble_simplify.grid.domain import read_domain
from ensemble_simplify.proof.forest_pair import Space
from ensemble_simplify.reading.forest import read_forest
from ensemble_simplify.reading.model import Model


@pytest.mark.parametrize("seed", range(150))
def test_lower_bound_and_front(seed):
    labels = random_grid(seed, max_axes=3).astype(np.uint16)
    grid = labelled(labels).simplified()
    labels = grid.labels
    if labels.size == 1:
        assert solved_front(grid, max_bytes=1) == [(0, 1)]
        return
    bound = bound_on(grid)
    assert sum(labels.shape) - labels.ndim + 1 <= bound <= min_leaves(labels)
    front = solved_front(grid, max_bytes=1e8)
    assert front == [tuple(point) for point in pareto_front(labels)]
    assert front[0][0] == min_depth(labels)


def bound_on(grid):
    rng = np.random.default_rng(0)
    return _bound_on(grid, _starts_anywhere(grid, rng), 0.2, rng)


@pytest.mark.parametrize("seed", range(20))
def test_lower_bound_with_free_cells(seed):
    rng = np.random.default_rng(seed)
    labels = random_grid(seed, max_axes=3).astype(np.uint16)
    labels[rng.random(labels.shape) < 0.4] = FREE
    grid = labelled(labels).simplified()
    assert bound_on(grid) <= min_leaves(grid.labels)


def frozen(loader, n_estimators, **options):
    X, y = loader(return_X_y=True)
    forest = RandomForestClassifier(n_estimators, max_depth=3, random_state=0, **options)
    return FrozenEstimator(forest.fit(X, y)), X, y


@pytest.mark.parametrize("objective", ["depth", "leaves", "depth_then_leaves"])
def test_heuristic_is_faithful_and_bounded(objective, monkeypatch):
    set_effort(monkeypatch, planner, refine_work=2e7, bound_seconds=0.3)
    monkeypatch.setattr(refinement, "FIRST_WORK", 2e3)
    monkeypatch.setattr(refinement, "CELL_WORK", 0.0)
    monkeypatch.setattr(refinement, "VOTE_WORK", 0.0)
    forest, X, y = frozen(load_iris, 10)
    exact = BornAgainClassifier(forest, objective=objective).fit(X, y)
    rough = BornAgainClassifier(forest, objective=objective, method="heuristic").fit(X, y)
    assert rough.verify()
    front = exact.front()
    least = {"depth": front[0][0], "leaves": front[-1][1], "depth_then_leaves": front[0]}
    found = {
        "depth": exact.depth_,
        "leaves": exact.n_leaves_,
        "depth_then_leaves": (exact.depth_, exact.n_leaves_),
    }
    assert found[objective] == least[objective]
    assert rough.depth_lower_bound_ <= front[0][0] <= rough.depth_
    assert front[-1][1] <= rough.n_leaves_
    # the bound of the second aim is one of trees that are best in the first
    fewest = front[0 if objective == "depth_then_leaves" else -1][1]
    assert rough.n_leaves_lower_bound_ <= fewest


def test_grid_too_large_to_look_at():
    """2e8 cells: a tree grown from a proof, refined in parts."""
    forest, X, y = frozen(load_wine, 6)
    with pytest.warns(ConvergenceWarning, match="keeps the promise has at least"):
        model = BornAgainClassifier(forest, objective="leaves", time_limit=2).fit(X, y)
    assert model.status_ == "feasible"
    assert 1 < model.n_leaves_lower_bound_ < model.n_leaves_
    assert model.depth_lower_bound_ < model.depth_
    assert verify(forest, model)


def no_direct_search(patch):
    set_effort(patch, planner, direct_regions=0)


def test_exact_search_beside_a_tree(monkeypatch):
    """With a time limit there is a tree first; then the whole is solved, if that can end."""
    no_direct_search(monkeypatch)
    monkeypatch.setattr(refinement, "FIRST_WORK", 1e3)
    monkeypatch.setattr(refinement, "WORK_RISE", 1.5)
    forest, X, y = frozen(load_iris, 10)
    for objective in ("leaves", "depth", "depth_then_leaves"):
        best = BornAgainClassifier(forest, objective=objective).fit(X, y)
        model = BornAgainClassifier(forest, objective=objective, time_limit=60).fit(X, y)
        assert model.status_ == best.status_ == "optimal"
        assert model.depth_ == best.depth_ or objective == "leaves"
        assert model.n_leaves_ == best.n_leaves_ or objective == "depth"


def test_hopeless_exact_search_is_not_begun(monkeypatch):
    """Its time goes into the tree at hand; ``method="exact"`` tries all the same."""
    forest, X, y = frozen(load_iris, 10)
    best = BornAgainClassifier(forest, objective="leaves").fit(X, y)
    no_direct_search(monkeypatch)
    set_effort(monkeypatch, planner, plan_seconds=1e9)
    monkeypatch.setattr(refinement, "FIRST_WORK", 1e4)
    monkeypatch.setattr(refinement, "WORK_RISE", 1.0)
    begun = []
    monkeypatch.setattr(
        planner, "solve", lambda *args, **options: begun.append(1) or solve(*args, **options)
    )
    monkeypatch.setattr(
        refinement.Refinement, "solve_whole", lambda *args, **options: begun.append(1)
    )
    options = {"objective": "leaves", "time_limit": 1, "random_state": 0}
    with pytest.warns(ConvergenceWarning):
        model = BornAgainClassifier(forest, **options).fit(X, y)
    assert not begun
    assert model.verify()
    assert model.n_leaves_lower_bound_ <= best.n_leaves_ <= model.n_leaves_
    model = BornAgainClassifier(forest, method="exact", **options).fit(X, y)
    assert begun
    assert model.n_leaves_ == best.n_leaves_


def test_upper_splits(monkeypatch):
    """Chosen by what is grown below: never a larger tree, and of the same function."""
    monkeypatch.setattr(refinement, "SMALL_PART", 4)
    for loader, seed in ((load_iris, 0), (load_wine, 1)):
        X, y = loader(return_X_y=True)
        forest = RandomForestClassifier(6, max_depth=3, random_state=seed).fit(X, y)
        problem = read_problem(read_forest(forest))
        first = CellTree(problem.space.grow(10**6))
        rng = np.random.default_rng(0)
        cells = rng.integers(0, problem.trees.shape, (5000, len(problem.trees.shape)), np.int32)
        labels = problem.trees.labels_of(cells)
        for objective in ("leaves", "depth"):
            chosen = refinement.choose_upper_splits(
                problem.space, problem.trees, first, objective, rng, 1e5
            )
            if objective == "depth":
                assert chosen.depth <= first.depth
            else:
                assert chosen.n_leaves < first.n_leaves
            np.testing.assert_array_equal(chosen.nodes[chosen.apply(cells), 1], labels)
            with limits(0.0):
                same = refinement.choose_upper_splits(
                    problem.space, problem.trees, first, objective, rng, 1e5
                )
            assert same.n_leaves == first.n_leaves


@pytest.mark.parametrize("objective", ["depth", "leaves", "depth_then_leaves"])
def test_every_sweep_keeps_the_function_and_the_size(objective, monkeypatch):
    """A sweep never makes the tree worse in the objective; the last one solves it as a whole."""
    monkeypatch.setattr(refinement, "FIRST_WORK", 2e3)
    monkeypatch.setattr(refinement, "CELL_WORK", 0.0)
    monkeypatch.setattr(refinement, "VOTE_WORK", 0.0)
    monkeypatch.setattr(refinement, "WORK_RISE", 2.0)
    X, y = load_iris(return_X_y=True)
    model = RandomForestClassifier(8, max_depth=3, random_state=2).fit(X, y)
    problem = read_problem(read_forest(model))
    table = problem.trees.labels()
    cells = np.indices(table.shape, dtype=np.int32).reshape(table.ndim, -1).T.copy()
    steps = refinement.Refinement(
        problem.trees,
        CellTree(problem.space.grow(10**6)),
        objective,
        max_bytes=1e9,
        max_work=np.inf,
        report=lambda message: None,
    )

    def size(tree):
        return {
            "depth": (tree.depth,),
            "leaves": (tree.n_leaves,),
            "depth_then_leaves": (tree.depth, tree.n_leaves),
        }[objective]

    sizes = [size(steps.tree)]
    while not steps.is_over:
        steps.step()
        tree = steps.tree.merged()
        assert tree.n_leaves <= steps.tree.n_leaves
        assert tree.depth <= steps.tree.depth
        np.testing.assert_array_equal(tree.nodes[tree.apply(cells), 1], table.ravel())
        sizes.append(size(steps.tree))
    assert steps.is_optimal
    assert len(sizes) > 4
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < sizes[0]
    best = BornAgainClassifier(FrozenEstimator(model), objective=objective).fit(X, y)
    assert sizes[-1] == size(CellTree(steps.tree.nodes))
    assert sizes[-1][0] == (best.n_leaves_ if objective == "leaves" else best.depth_)
    assert steps.depth_bound <= best.depth_ or objective == "leaves"
    assert steps.leaves_bound <= best.n_leaves_ or objective == "depth"


# with these seeds the excluded part is solved by itself, without its surroundings
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_parts_outside_the_domain(seed, monkeypatch):
    """A part that two statements together exclude has no class: nor has a leaf of the tree."""
    monkeypatch.setattr(refinement, "CELL_WORK", 0.0)
    monkeypatch.setattr(refinement, "VOTE_WORK", 0.0)
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, size=(200, 5)).astype(float)
    X[:, :3].sort(axis=1)
    y = rng.integers(3, size=200)
    forest = RandomForestClassifier(7, max_depth=4, random_state=seed).fit(X, y)
    problem = read_problem(read_forest(forest), read_domain({"implies": [[0, 1, 2]]}, 5, None))
    assert problem.trees.shape == (2,) * 5
    table = problem.trees.labels()
    cells = np.indices(table.shape, dtype=np.int32).reshape(5, -1).T.copy()
    inside = table.ravel() != FREE
    # the first column is 1 and the third 0: either step of the chain is broken
    lower, upper = (
        CellTree(problem.space.certifier.grow(np.array(lo, np.int32), np.array(hi, np.int32)))
        for lo, hi in (((0,) * 5, (0, 1, 1, 1, 1)), ((1, 0, 1, 0, 0), (1,) * 5))
    )
    excluded = CellTree.joined(1, 0, CellTree.leaf(0), CellTree.leaf(1))
    tree = CellTree.joined(0, 0, lower, CellTree.joined(2, 0, excluded, upper))
    steps = refinement.Refinement(
        problem.trees,
        tree,
        "leaves",
        max_bytes=1e9,
        max_work=np.inf,
        report=lambda message: None,
    )
    # too little for the whole
    steps.limit = 1.0
    steps.sweep()
    assert not steps.is_optimal
    assert (steps.tree.nodes[steps.tree.is_leaf, 1] == FREE).any()
    tree = steps.tree.merged()
    assert (tree.nodes[tree.is_leaf, 1] != FREE).all()
    answers = tree.nodes[tree.apply(cells), 1]
    np.testing.assert_array_equal(answers[inside], table.ravel()[inside])


def test_a_long_search_is_announced(monkeypatch):
    """Without a time limit, and with what is known by then; printed instead if verbose."""
    set_effort(monkeypatch, planner, patience=0.0, tell_seconds=0.1)
    forest, X, y = frozen(load_iris, 10)
    with pytest.warns(
        UserWarning, match=r"expected to take .* leaves .* is known, and none has fewer"
    ):
        model = BornAgainClassifier(forest).fit(X, y)
    assert model.status_ == "optimal"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BornAgainClassifier(forest, time_limit=60).fit(X, y)


def test_a_long_search_is_announced_in_print(monkeypatch, capsys):
    set_effort(monkeypatch, planner, patience=0.0)
    forest, X, y = frozen(load_iris, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BornAgainClassifier(forest, verbose=1).fit(X, y)
    assert "expected to take" in capsys.readouterr().out


def test_nothing_in_time():
    forest, X, y = frozen(load_breast_cancer, 40)
    with pytest.raises(TimeLimitError, match=r"time_limit=0\.5.*max_changes=1 or 0"):
        BornAgainClassifier(forest, method="heuristic", time_limit=0.5).fit(X, y)
    with pytest.raises(ValueError, match="max_memory allows"):
        BornAgainClassifier(forest, method="exact", max_memory=1e6).fit(X, y)


@pytest.mark.parametrize("time_limit", [None, 600])
def test_a_tree_too_large_to_use_is_refused_at_once(time_limit, monkeypatch):
    """By its forecast: nothing is grown."""
    monkeypatch.setattr(Space, "grow", None)
    X, y = load_breast_cancer(return_X_y=True)
    forest = RandomForestClassifier(100, random_state=0)
    with pytest.raises(ValueError, match=r"expected to have .*e\+\d\d leaves.*RepresenterTree"):
        BornAgainClassifier(forest, time_limit=time_limit).fit(X, y)


def test_a_tree_that_turns_out_too_large_is_refused(monkeypatch):
    """The forecast is not hopeless, the tree all the same too large."""
    forest, X, y = frozen(load_iris, 5)
    set_effort(monkeypatch, planner, table_cells=1)
    assert BornAgainClassifier(forest).fit(X, y).n_leaves_ > 5
    monkeypatch.setattr(planner, "MAX_LEAVES", 5)
    monkeypatch.setattr(planner, "REFUSED_LEAVES", np.inf)
    with pytest.raises(ValueError, match="expected to have"):
        BornAgainClassifier(forest).fit(X, y)


def test_front_out_of_time_or_memory():
    forest, X, y = frozen(load_iris, 5)
    model = BornAgainClassifier(forest).fit(X, y)
    with pytest.raises(TimeLimitError, match="time_limit"):
        model.front(time_limit=1e-9)
    model.set_params(max_memory=10)
    with pytest.raises(ValueError, match="max_memory"):
        model.front()


def test_ctrl_c_leaves_no_broken_state():
    forest, X, y = frozen(load_wine, 8)
    model = BornAgainClassifier(forest, objective="leaves", time_limit=600)
    main = threading.main_thread().ident
    timer = threading.Timer(1.0, lambda: signal.pthread_kill(main, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not hasattr(model, "decision_tree_")
    small, X, y = frozen(load_iris, 3)
    assert model.set_params(estimator=small).fit(X, y).verify()


def test_estimate():
    forest, X, y = frozen(load_iris, 10)
    report = estimate(forest, X)
    model = BornAgainClassifier(forest).fit(X, y)
    assert isinstance(report, Estimate)
    assert report.exact
    assert report.n_cells == model.n_cells_
    assert report.n_regions == model.n_regions_
    assert report.n_leaves_lower_bound <= model.n_leaves_ <= report.n_leaves
    assert 1 < report.n_occupied <= len(X)
    assert "will prove" in repr(report)
    near = {k: BornAgainClassifier(forest, max_changes=k).fit(X, y).n_leaves_ for k in (1, 0)}
    assert all(1 < near[k] <= report.n_leaves_near[k] for k in near)
    assert f"max_changes=1: {report.n_leaves_near[1]} or fewer" in repr(report)
    assert estimate(forest).n_leaves_near is None

    forest, X, _ = frozen(load_breast_cancer, 20)
    report = estimate(forest, time_limit=0.2)
    assert not report.exact
    assert report.n_cells > 1e12
    assert "binned" in repr(report)
    assert report.n_leaves > 1e8
    assert "refuse" in repr(report)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objective": "size"}, "'objective' parameter of estimate must be"),
        ({"voting": "soft"}, "'voting' parameter of estimate must be"),
        ({"max_memory": 0}, "'max_memory' parameter of estimate must be"),
        ({"time_limit": 0}, "'time_limit' parameter of estimate must be"),
        ({"X": np.zeros((5, 2))}, "X has 2 features, but the ensemble was fitted on 4"),
    ],
)
def test_estimate_refuses(options, message):
    forest, _, _ = frozen(load_iris, 2)
    with pytest.raises(ValueError, match=message):
        estimate(forest, **options)


@pytest.mark.parametrize("time_limit", [1e-6, 1e-4])
def test_estimate_is_never_below_its_own_bound(time_limit):
    """No time to look at more than a few cells: the forecast is a guess, the bound is not."""
    X, y = np.arange(2001.0)[:, None], np.arange(2001) % 2
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    for domain in (None, {"integers": "all"}):
        for seed in range(4):
            report = estimate(tree, time_limit=time_limit, random_state=seed, domain=domain)
            assert report.n_leaves >= report.n_leaves_lower_bound


def test_estimate_sees_domain_and_merged_thresholds():
    """What `fit` would search: fewer cells than without, and its leaves are bounded."""
    X, y = load_iris(return_X_y=True)
    forest = FrozenEstimator(RandomForestClassifier(6, max_depth=3, random_state=0).fit(X, y))
    plain = estimate(forest)
    some = X[(X[:, 3] >= 1) & (X[:, 3] <= 2)]
    domain = {"bounds": {3: (1, 2)}}
    for rows, options in (
        (some, {"domain": domain}),
        (X, {"merge_thresholds": True}),
        (some, {"domain": domain, "merge_thresholds": True}),
    ):
        report = estimate(forest, rows, **options)
        model = BornAgainClassifier(forest, **options).fit(rows, forest.predict(rows))
        assert report.n_cells == model.n_cells_ < plain.n_cells
        assert report.n_leaves_lower_bound <= model.n_leaves_ <= report.n_leaves
    with pytest.raises(ValueError, match=r"merge_thresholds=True.*Give the rows X"):
        estimate(forest, merge_thresholds=True)
    with pytest.raises(ValueError, match="outside the domain"):
        estimate(forest, X, domain=domain)


def test_estimate_takes_a_random_state():
    forest, _, _ = frozen(load_iris, 4)
    seeds = (3, np.random.RandomState(3), None)
    reports = [estimate(forest, random_state=seed) for seed in seeds]
    assert reports[0].n_leaves == reports[1].n_leaves
    with pytest.raises(ValueError, match="'random_state' parameter of estimate must be"):
        estimate(forest, random_state="seed")


def test_sixteen_thousand_leaves():
    """As many splits as 16 bits cannot count, at a depth at which a count could still fit."""
    labels = (np.indices((2,) * 14).sum(axis=0) % 2).astype(np.uint16)
    tree = solve(labelled(labels), "depth_then_leaves", max_bytes=4e9).tree
    assert (tree.depth, tree.n_leaves) == (14, 1 << 14)


def test_single_class_has_no_cells():
    grid = labelled(np.zeros((), dtype=np.uint16))
    assert solve(grid, "leaves", max_bytes=1).tree.n_leaves == 1
    assert solved_front(grid, max_bytes=1) == [(0, 1)]


def test_display_of_the_front():
    plt = pytest.importorskip("matplotlib.pyplot")
    forest, X, y = frozen(load_iris, 10)
    model = BornAgainClassifier(forest, objective="leaves").fit(X, y)
    display = DepthLeavesDisplay.from_estimator(model)
    assert list(zip(display.depth, display.n_leaves, strict=True)) == model.front()
    assert list(display.points.values()) == [(model.depth_, model.n_leaves_)]
    line = display.ax_.lines[0]
    np.testing.assert_array_equal(line.get_xdata(), display.depth)
    np.testing.assert_array_equal(line.get_ydata(), display.n_leaves)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("depth", "leaves")
    assert display.figure_ is display.ax_.figure

    model.set_params(post_prune=True).fit(X[:20], y[:20])
    _, ax = plt.subplots()
    display = DepthLeavesDisplay.from_estimator(model, time_limit=60, ax=ax)
    assert display.ax_ is ax
    assert display.points["after pruning"] == (model.depth_, model.n_leaves_)
    plt.close("all")
    with pytest.raises(TimeLimitError):
        DepthLeavesDisplay.from_estimator(model, time_limit=1e-9)
    with pytest.raises(NotFittedError):
        DepthLeavesDisplay.from_estimator(BornAgainClassifier())


def test_grids_of_more_cells_than_floats_hold():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 300))
    y = X[:, :8].sum(axis=1) > 0
    forest = ExtraTreesClassifier(100, random_state=0).fit(X, y)
    assert estimate(forest, X).n_regions == np.inf
    with pytest.raises(
        ValueError, match=r"divides the feature space into .* cells \(more than 1e308 regions\)"
    ):
        BornAgainClassifier(FrozenEstimator(forest), method="exact").fit(X, y)


def values(kind, share):
    """A regressor, its rows, and the problem of a tree within a share of its deviation."""
    X, y = load_diabetes(return_X_y=True)
    options = {"stumps": (10, 1), "boosting": (15, 2), "deep": (30, 3)}
    if kind == "forest":
        model = RandomForestRegressor(15, random_state=0).fit(X, y)
    else:
        n, depth = options[kind]
        model = GradientBoostingRegressor(n_estimators=n, max_depth=depth, random_state=0)
        model.fit(X, y)
    tolerance = Tolerance(share * model.predict(X).std())
    return model, X, read_problem(Model.of(model).forest, tolerance=tolerance)


def test_estimate_of_values():
    model, X, problem = values("stumps", 0.2)
    report = estimate(model, X, atol="20%")
    tree = BornAgainRegressor(FrozenEstimator(model), atol="20%").fit(X, model.predict(X))
    assert report.atol == tree.atol_ == problem.trees.tolerance.atol
    assert report.exact
    assert (report.n_cells, report.n_regions) == (tree.n_cells_, tree.n_regions_)
    assert report.n_leaves_lower_bound <= tree.n_leaves_ <= report.n_leaves
    assert f"leaves within {report.atol:.4g}: about" in repr(report)
    near = BornAgainRegressor(FrozenEstimator(model), atol="20%", max_changes=1, random_state=0)
    assert 1 < near.fit(X, model.predict(X)).n_leaves_ <= report.n_leaves_near[1]
    assert estimate(model, X).atol == pytest.approx(report.atol / 2)
    assert estimate(model, atol=2).atol == 2
    with pytest.raises(ValueError, match="Give rows X, or atol as a number"):
        estimate(model)
    with pytest.raises(ValueError, match="merges no thresholds"):
        estimate(model, X, merge_thresholds=True)


def test_values_of_large_ensembles_are_forecast_and_refused():
    model, X, _ = values("deep", 0.1)
    narrow, wide = (estimate(model, X, atol=atol) for atol in ("10%", "100%"))
    assert narrow.n_leaves > 1e5 > 1e4 > wide.n_leaves
    assert wide.n_leaves_lower_bound <= wide.n_leaves
    assert "A wider tolerance" in repr(narrow)
    model, X, _ = values("forest", 0.1)
    report = estimate(model, X, atol="10%")
    assert report.n_leaves > 1e9
    assert "will refuse" in repr(report)
    tree = BornAgainRegressor(FrozenEstimator(model), atol="10%", random_state=0)
    with pytest.raises(ValueError, match="is expected to have about"):
        tree.fit(X[:20], model.predict(X[:20]))


def test_probabilities_are_forecast():
    forest, X, _ = frozen(load_iris, 3)
    report = estimate(forest, X, atol=0.1)
    assert report.n_leaves >= estimate(forest, X).n_leaves_lower_bound
    assert report.atol == 0.1
    assert "leaves within 0.1" in repr(report)
