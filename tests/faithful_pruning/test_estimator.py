"""FaithfulPruner: the promise by probing and brute force, the fewest trees by trying all."""

from __future__ import annotations

import pickle
import warnings
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from ensemble_simplify import Domain, FaithfulPathDisplay, FaithfulPruner, verify
from ensemble_simplify.faithful_pruning import _promise
from ensemble_simplify.faithful_pruning._promise import Votes
from ensemble_simplify.faithful_pruning._weights import STEP, on_grid
from ensemble_simplify.grid.axes import Axes
from ensemble_simplify.reading import forest as forests
from ensemble_simplify.reading.forest import read_forest

STUMP = DecisionTreeClassifier(max_depth=1)
ENSEMBLES = {
    "forest": RandomForestClassifier(20, random_state=0),
    "extra": ExtraTreesClassifier(15, max_depth=4, random_state=0),
    "bagging": BaggingClassifier(DecisionTreeClassifier(), 12, random_state=0),
    "subspaces": BaggingClassifier(
        DecisionTreeClassifier(), 12, max_features=0.5, max_samples=12, random_state=1
    ),
    "forests in a bag": BaggingClassifier(
        RandomForestClassifier(3, max_depth=3, random_state=0), 4, random_state=0
    ),
    "adaboost": AdaBoostClassifier(n_estimators=20, random_state=0),
    "deep adaboost": AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=2), n_estimators=10, random_state=0
    ),
    "gradient boosting": GradientBoostingClassifier(n_estimators=8, max_depth=2, random_state=0),
    "histograms": HistGradientBoostingClassifier(
        max_iter=10, max_leaf_nodes=4, early_stopping=False, random_state=0
    ),
    "soft vote": VotingClassifier(
        [
            ("forest", RandomForestClassifier(6, max_depth=3, random_state=0)),
            ("tree", DecisionTreeClassifier(random_state=0)),
        ],
        voting="soft",
        weights=[2, 1],
    ),
    "hard vote": VotingClassifier(
        [(f"tree{i}", ExtraTreesClassifier(1, max_depth=3, random_state=i)) for i in range(7)],
        weights=[1, 2, 1, 1, 3, 1, 1],
    ),
    "pipeline": make_pipeline(StandardScaler(), RandomForestClassifier(10, random_state=0)),
}


def probes(forest, X, max_changes, n, rng):
    """Rows with values next to cut points in at most so many features."""
    cuts = Axes.of(forest).by_feature
    split = [j for j, values in enumerate(cuts) if len(values)]
    rows = X[rng.integers(len(X), size=n)].astype(np.float32)
    for _ in range(max_changes):
        column = rng.choice(split, n)
        for j in split:
            at = np.flatnonzero(column == j)
            value = rng.choice(np.asarray(cuts[j], dtype=np.float32), len(at))
            ends = np.stack([np.full_like(value, -np.inf), value, np.full_like(value, np.inf)])
            end = ends[rng.integers(3, size=len(at)), np.arange(len(at))]
            rows[at, j] = np.nextafter(value, end)
    return rows.astype(np.float64)


@pytest.mark.parametrize("max_changes", [0, 1, 2])
@pytest.mark.parametrize("name", ENSEMBLES)
def test_the_promise_is_kept_next_to_cut_points(name, max_changes):
    X, y = load_iris(return_X_y=True)
    X, y = X[::3], np.array(["a", "b", "c"])[y[::3]]
    pruner = FaithfulPruner(
        ENSEMBLES[name], max_changes=max_changes, method="heuristic", random_state=0
    ).fit(X, y)
    forest = read_forest(pruner.estimator_)
    rows = probes(forest, X, max_changes, 3000, np.random.default_rng(0))
    assert pruner.covers(rows).all()
    np.testing.assert_array_equal(
        pruner.pruned_estimator_.predict(rows), pruner.estimator_.predict(rows)
    )
    assert pruner.verify()
    assert verify(pruner.estimator_, pruner, X=X, max_changes=max_changes)
    assert pruner.n_trees_ == np.count_nonzero(pruner.weights_) <= forest.n_trees
    assert pruner.n_exceptions_ == 0
    assert 1 <= pruner.n_trees_lower_bound_ <= pruner.n_trees_


@pytest.mark.parametrize(
    "name", ["forest", "adaboost", "deep adaboost", "gradient boosting", "pipeline", "hard vote"]
)
def test_results_are_native_and_survive_a_pickle(name):
    X, y = load_iris(return_X_y=True, as_frame=True)
    # a pipeline is read for numbers that float32 represents
    X = X.astype(np.float32).astype(np.float64)
    options = {"max_changes": 0, "n_samples": 0, "random_state": 0}
    pruner = FaithfulPruner(ENSEMBLES[name], **options).fit(X, y)
    pruned, whole = pruner.pruned_estimator_, pruner.estimator_
    assert type(pruned).__module__.startswith("sklearn.")
    if name in ("adaboost", "deep adaboost", "gradient boosting", "pipeline"):
        assert type(pruned) is type(whole)
    assert pruner.n_trees_ < len(pruner.weights_)
    assert list(pruner.feature_names_in_) == list(X.columns)
    if name != "pipeline":
        assert list(pruned.feature_names_in_) == list(X.columns)
    again = pickle.loads(pickle.dumps(pruner))
    np.testing.assert_array_equal(again.predict(X), whole.predict(X))
    np.testing.assert_array_equal(pruned.predict(X), whole.predict(X))
    assert clone(pruner).get_params()["max_changes"] == 0
    # leaves that were kept are those of the trees in the object
    assert pruner.get_n_leaves() == pruner.n_leaves_ > pruner.get_depth() > 0


def all_cells(axes):
    return np.array(list(product(*(range(n) for n in axes.shape))), dtype=np.int32)


def leads(estimator, points):
    """Lead of the answer over each other class, tree by tree, from the trees' own answers."""
    answers = np.searchsorted(estimator.classes_, estimator.predict(points))
    if isinstance(estimator, AdaBoostClassifier):
        votes = [
            np.where(
                np.arange(len(estimator.classes_)) == tree.predict(points).astype(int)[:, None],
                weight,
                -weight / (len(estimator.classes_) - 1),
            )
            for tree, weight in zip(
                estimator.estimators_, estimator.estimator_weights_, strict=False
            )
        ]
    else:
        votes = [tree.predict_proba(points) for tree in estimator.estimators_]
    votes = np.array(votes)
    found = []
    for k in range(votes.shape[2]):
        other = answers != k
        own = votes[:, np.arange(len(points)), answers]
        found.append((own - votes[:, :, k])[:, other].T)
    return np.unique(np.concatenate(found), axis=0)


def can_lead(demands):
    """Whether some weights lead in every demand, by a linear program."""
    n = demands.shape[1]
    result = linprog(
        np.append(np.zeros(n), -1.0),
        A_ub=np.column_stack([-demands, np.ones(len(demands))]),
        b_ub=np.zeros(len(demands)),
        A_eq=[np.append(np.ones(n), 0.0)],
        b_eq=[1.0],
        bounds=[(0, None)] * n + [(None, None)],
    )
    return -result.fun > 1e-7


def fewest_by_trying_all(n, price, can_keep):
    """Least price of trees that can keep a promise; None if not even all can.

    Whatever trees can do, more of them can, too: so only parts of those that can are tried.
    """
    able = {frozenset(range(n))} if can_keep(list(range(n))) else set()
    best = None
    while able:
        least = min(price[list(chosen)].sum() for chosen in able)
        best = least if best is None else min(best, least)
        fewer = {chosen - {t} for chosen in able for t in chosen if len(chosen) > 1}
        able = {chosen for chosen in fewer if can_keep(sorted(chosen))}
    return best


@pytest.mark.parametrize("objective", ["trees", "leaves"])
@pytest.mark.parametrize("max_changes", [None, 0, 1])
@pytest.mark.parametrize("seed", range(2))
def test_fewest_trees_are_those_that_trying_all_finds(seed, max_changes, objective):
    kind = [
        RandomForestClassifier(7, max_depth=2, random_state=seed),
        AdaBoostClassifier(n_estimators=8, random_state=seed),
    ][seed % 2]
    X, y = make_classification(
        60, 3, n_informative=3, n_redundant=0, n_classes=2, random_state=seed
    )
    pruner = FaithfulPruner(
        FrozenEstimator(kind.fit(X, y)),
        max_changes=max_changes,
        objective=objective,
        method="exact",
        n_samples=0 if max_changes == 0 else "auto",
        random_state=0,
    )
    # in another order, so that no out-of-bag answers are followed
    pruner.fit(X[::-1], y[::-1])
    axes = Axes.of(read_forest(pruner.estimator_))
    cells = all_cells(axes)
    if max_changes is not None:
        own = axes.encode_rows(X.astype(np.float32)).T
        changes = (cells[:, None] != own[None]).sum(axis=2).min(axis=1)
        cells = cells[changes <= max_changes]
    points = axes.points(cells)
    np.testing.assert_array_equal(pruner.predict(points), pruner.estimator_.predict(points))
    leaves = np.array([tree.get_n_leaves() for tree in pruner.estimator_.estimators_])
    price = leaves if objective == "leaves" else np.ones(len(leaves))
    demands = leads(pruner.estimator_, points)
    fewest = fewest_by_trying_all(len(leaves), price, lambda chosen: can_lead(demands[:, chosen]))
    assert fewest is not None
    found = pruner.n_leaves_ if objective == "leaves" else pruner.n_trees_
    assert pruner.status_ == "optimal"
    assert found == fewest
    assert pruner.n_trees_lower_bound_ <= pruner.n_trees_
    assert pruner.n_leaves_lower_bound_ <= pruner.n_leaves_


@pytest.mark.parametrize("seed", range(12))
def test_ties_are_kept_and_bounds_hold_among_small_whole_weights(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 3, (40, 2)).astype(float), rng.integers(0, 2, 40)
    # trees grown to the end on noise: many a point has as many votes for each class
    forest = ExtraTreesClassifier(4, bootstrap=True, random_state=seed).fit(X, y)
    pruner = FaithfulPruner(FrozenEstimator(forest), max_changes=1, method="exact", random_state=0)
    pruner.fit(X, y)
    axes = Axes.of(read_forest(forest))
    own = axes.encode_rows(X.astype(np.float32)).T
    cells = all_cells(axes)
    near = (cells[:, None] != own[None]).sum(axis=2).min(axis=1) <= 1
    points = axes.points(cells[near])
    whole = forest.predict(points)
    np.testing.assert_array_equal(pruner.predict(points), whole)
    votes = np.array([tree.predict_proba(points) for tree in forest.estimators_])
    enough = [
        np.count_nonzero(weights)
        for weights in product(range(4), repeat=4)
        if any(weights)
        and (np.average(votes, axis=0, weights=weights).argmax(axis=1) == whole).all()
    ]
    if not can_lead(leads(forest, points)):
        assert pruner.n_trees_lower_bound_ <= min(enough)
    assert pruner.n_trees_ >= pruner.n_trees_lower_bound_


@pytest.mark.parametrize("seed", [158, 194])
def test_ties_that_contradict_one_another_are_kept_by_the_fewest_trees(seed):
    rng = np.random.default_rng(seed)
    # distinct rows, so that trees grown to the end vote in whole numbers
    X, y = rng.integers(0, 12, (24, 2)).astype(float), rng.integers(0, 2, 24)
    X = np.unique(X, axis=0)
    y = y[: len(X)]
    forest = RandomForestClassifier(8, random_state=seed).fit(X, y)
    pruner = FaithfulPruner(FrozenEstimator(forest), max_changes=1, random_state=0).fit(X, y)
    axes = Axes.of(read_forest(forest))
    cells = all_cells(axes)
    changes = (cells[:, None] != axes.encode_rows(X.astype(np.float32)).T[None]).sum(axis=2)
    points = axes.points(cells[changes.min(axis=1) <= 1])
    whole = forest.predict(points)
    assert not can_lead(leads(forest, points))
    np.testing.assert_array_equal(pruner.predict(points), whole)
    votes = np.array([tree.predict_proba(points)[:, 1] for tree in forest.estimators_]).T
    # class 0 wins ties
    demands, upper = np.where(whole[:, None] == 1, 2 * votes - 1, 1 - 2 * votes), whole == 1

    # and some weight there must be
    demands, upper = np.vstack([demands, np.ones(8)]), np.append(upper, True)

    def can_keep(chosen):
        return linprog(np.ones(len(chosen)), A_ub=-demands[:, chosen], b_ub=-1.0 * upper).success

    fewest = fewest_by_trying_all(8, np.ones(8), can_keep)
    assert pruner.n_trees_lower_bound_ <= fewest == pruner.n_trees_ < 8


@given(
    hnp.arrays(np.int64, (3, 9), elements=st.integers(-2, 2)),
    hnp.arrays(np.int64, 9, elements=st.integers(1, 50)),
)
def test_weights_on_a_grid_hold_ties_exactly(ties, whole):
    # the last column makes weights of which the given ones are a multiple hold them
    ties = np.column_stack([ties * 7, -(ties @ whole)])
    weights = np.append(whole, 7) / 3
    found = on_grid(weights, ties.astype(float))
    assert found is not None
    steps = found / STEP
    assert (steps == np.rint(steps)).all()
    assert (ties.astype(object) @ np.array([int(step) for step in steps], dtype=object) == 0).all()
    np.testing.assert_allclose(found / found.sum(), weights / weights.sum(), atol=0.01)


@pytest.mark.parametrize(
    "ensemble",
    [
        AdaBoostClassifier(n_estimators=20, random_state=0),
        GradientBoostingClassifier(n_estimators=15, max_depth=1, random_state=0),
        RandomForestClassifier(6, max_depth=3, random_state=0),
    ],
)
@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
def test_everywhere_means_everywhere(ensemble, load):
    X, y = load(return_X_y=True)
    X = X[:, :6]
    pruner = FaithfulPruner(ensemble, method="heuristic", random_state=0).fit(X, y)
    rng = np.random.default_rng(0)
    rows = probes(read_forest(pruner.estimator_), X, 6, 5000, rng)
    np.testing.assert_array_equal(pruner.predict(rows), pruner.estimator_.predict(rows))
    assert pruner.verify(time_limit=60)


def test_exceptions_are_those_that_counting_finds():
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(15, max_depth=3, random_state=0).fit(X, y)
    pruner = FaithfulPruner(
        FrozenEstimator(forest), max_changes=1, method="heuristic", random_state=0
    ).fit(X, y)
    axes = Axes.of(read_forest(forest))
    own = np.unique(axes.encode_rows(X.astype(np.float32)).T, axis=0)
    near = [own]
    for a, n in enumerate(axes.shape):
        changed = np.repeat(own, n, axis=0)
        changed[:, a] = np.tile(np.arange(n), len(own))
        near.append(changed[changed[:, a] != np.repeat(own[:, a], n)])
    points = axes.points(np.concatenate(near))
    assert pruner.n_points_ == len(points)
    path = pruner.path_
    assert (np.diff(path.n_trees) > 0).all()
    assert (np.diff(path.n_exceptions) < 0).all()
    assert path.n_exceptions[-1] == 0
    assert len(path.n_trees) > 2
    whole = forest.predict(points)
    for n_trees, n_exceptions in zip(path.n_trees, path.n_exceptions, strict=True):
        step = pruner.at(n_trees=n_trees)
        assert step.n_trees_ == n_trees
        assert step.n_exceptions_ == n_exceptions == np.sum(step.predict(points) != whole)
    assert pruner.at(n_trees=path.n_trees[1] + 0).n_trees_ == path.n_trees[1]
    with pytest.raises(ValueError, match="n_trees=0"):
        pruner.at(n_trees=0)
    tolerance = path.n_exceptions[1] / len(points)
    tolerant = clone(pruner).set_params(tolerance=tolerance).fit(X, y)
    assert tolerant.n_exceptions_ <= tolerance * len(points)
    assert tolerant.n_trees_ <= path.n_trees[1] + 1


def test_rows_set_aside_measure_agreement():
    X, y = load_wine(return_X_y=True)
    pruner = FaithfulPruner(
        ENSEMBLES["forest"], max_changes=0, validation_fraction=0.3, random_state=0
    ).fit(X, y)
    same = pruner.predict(X) == pruner.estimator_.predict(X)
    aside = ~pruner.covers(X)
    # rows in the cell of a promised one are covered, though they were set aside
    n_aside = int(0.3 * len(X))
    assert 0 < aside.sum() <= n_aside
    assert pruner.fidelity_ == 1.0 - np.sum(~same) / n_aside
    assert pruner.path_.agreement[-1] == pruner.fidelity_


def test_domain_is_what_is_promised():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, (200, 3)), rng.normal(size=(200, 1))])
    X[:, 1] = np.where(X[:, 0] == 1, 0, X[:, 1])
    y = (X[:, 0] + X[:, 2] * (X[:, 3] > 0) > 0.5).astype(int)
    domain = Domain(at_most_one=[[0, 1]], bounds={3: (-4, 4)}, integers=[2])
    for max_changes in (None, 1):
        pruner = FaithfulPruner(
            RandomForestClassifier(8, max_depth=3, random_state=0),
            domain=domain,
            max_changes=max_changes,
            random_state=0,
        ).fit(X, y)
        assert pruner.verify()
    inside = pruner.covers(X)
    assert inside.all()
    outside = X[:5].copy()
    outside[:, :2] = 1
    assert not pruner.covers(outside).any()


def test_time_limit_leaves_the_ensemble():
    X, y = make_classification(400, 20, random_state=0)
    forest = GradientBoostingClassifier(n_estimators=60, random_state=0)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        pruner = FaithfulPruner(forest, time_limit=0.01, random_state=0).fit(X, y)
    np.testing.assert_array_equal(pruner.predict(X), pruner.estimator_.predict(X))
    assert pruner.status_ == "feasible"


def test_one_class_and_one_tree():
    X, _ = load_iris(return_X_y=True)
    y = np.ones(len(X))
    pruner = FaithfulPruner(RandomForestClassifier(5), max_changes=1, random_state=0).fit(X, y)
    assert pruner.n_trees_ == 1
    assert pruner.status_ == "optimal"
    tree = FaithfulPruner(DecisionTreeClassifier(), max_changes=1).fit(*load_iris(return_X_y=True))
    assert tree.n_trees_ == 1
    assert tree.status_ == "optimal"


@pytest.mark.parametrize(
    ("ensemble", "error", "match"),
    [
        (
            VotingClassifier([("a", RandomForestClassifier(2)), ("b", RandomForestClassifier(2))]),
            TypeError,
            "does not add up votes",
        ),
        (AdaBoostClassifier(RandomForestClassifier(2), n_estimators=2), TypeError, "add up votes"),
    ],
)
def test_votes_that_do_not_add_up_are_refused(ensemble, error, match):
    with pytest.raises(error, match=match):
        FaithfulPruner(ensemble, max_changes=0).fit(*load_iris(return_X_y=True))


def test_tolerance_needs_points_to_count():
    with pytest.raises(ValueError, match="needs max_changes"):
        FaithfulPruner(tolerance=0.1).fit(*load_iris(return_X_y=True))


def test_display_draws_both_shares():
    pytest.importorskip("matplotlib")
    X, y = load_wine(return_X_y=True)
    forest = RandomForestClassifier(20, random_state=0).fit(X[::2], y[::2])
    pruner = FaithfulPruner(FrozenEstimator(forest), max_changes=1, method="heuristic")
    pruner.fit(X[::2], y[::2])
    display = FaithfulPathDisplay.from_estimator(pruner, X[1::2])
    shares = display.lines_[0].get_ydata()
    np.testing.assert_allclose(shares, pruner.path_.n_exceptions / pruner.n_points_)
    last = np.mean(pruner.predict(X[1::2]) != forest.predict(X[1::2]))
    assert display.lines_[1].get_ydata()[-1] == last


@pytest.mark.parametrize("max_changes", [None, 0, 1])
@pytest.mark.parametrize(
    "model",
    [
        GradientBoostingClassifier(n_estimators=3, learning_rate=0.01, random_state=0),
        HistGradientBoostingClassifier(max_iter=2, learning_rate=0.01, min_samples_leaf=2),
        RandomForestClassifier(3, random_state=0),
        HistGradientBoostingClassifier(max_iter=2),
    ],
)
def test_one_class_everywhere(model, max_changes):
    X = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
    y = np.zeros(60, dtype=int)
    if getattr(model, "learning_rate", 1.0) == 0.01:
        y[:3] = 1  # a rare class, which so few rounds never answer
    model = clone(model).fit(X, y)
    assert (model.predict(X) == 0).all()
    pruner = FaithfulPruner(FrozenEstimator(model), max_changes=max_changes, random_state=0)
    pruner.fit(X, y)
    assert (pruner.n_trees_, pruner.n_exceptions_, pruner.status_) == (1, 0, "optimal")
    assert (pruner.predict(X) == 0).all()
    assert pruner.verify()


def huge(model, X, y, factor):
    """A boosted model whose leaves are multiplied."""
    model = clone(model).fit(X, y)
    if isinstance(model, GradientBoostingClassifier):
        model.learning_rate *= factor
        return model
    for stage in model._predictors:
        for tree in stage:
            tree.nodes["value"] *= factor
    return model


@pytest.mark.parametrize("max_changes", [None, 1])
@pytest.mark.parametrize("factor", [5e14, 1e300])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "model",
    [
        GradientBoostingClassifier(n_estimators=5, max_depth=2, random_state=0),
        HistGradientBoostingClassifier(max_iter=5),
    ],
)
def test_huge_leaves(model, n_classes, factor, max_changes):
    X = np.random.default_rng(0).normal(size=(120, 3)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] ** 2 > 0.5).astype(int) + (X[:, 2] > 0.7) * (n_classes - 2)
    model = huge(model, X, y, factor)
    pruner = FaithfulPruner(FrozenEstimator(model), max_changes=max_changes, random_state=0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Fewer trees need weights")
        pruner.fit(X, y)
    assert (pruner.predict(X) == model.predict(X)).all()
    assert pruner.verify()


def test_weights_beyond_the_range_of_doubles_are_not_used():
    X = np.random.default_rng(0).normal(size=(120, 3)).astype(np.float32)
    model = huge(HistGradientBoostingClassifier(max_iter=2), X, X[:, 0] > 0, 1e300)
    votes = Votes(read_forest(model))
    assert votes.can_be_written(np.array([1.0, 1.0]))
    assert not votes.can_be_written(np.array([1e9, 0.0]))
    small = Votes(read_forest(RandomForestClassifier(2, random_state=0).fit(X, X[:, 0] > 0)))
    assert small.scale == 1.0


def test_no_time_for_the_demands_of_all_rows(monkeypatch):
    """The search begins with one row; the others are asked for where they are broken."""
    X, y = load_breast_cancer(return_X_y=True)
    forest = RandomForestClassifier(8, max_depth=3, random_state=0).fit(X, y)
    monkeypatch.setattr(_promise, "DEMAND_SECONDS", 1e9)
    options = {"max_changes": 0, "method": "heuristic", "random_state": 0, "time_limit": 1e6}
    options["n_samples"] = 0
    # in another order, so that no out-of-bag answers are followed
    pruner = FaithfulPruner(FrozenEstimator(forest), **options).fit(X[::-1], y[::-1])
    np.testing.assert_array_equal(pruner.predict(X), forest.predict(X))
    assert pruner.n_trees_ < 8


@pytest.mark.parametrize("voting", [True, False])
def test_rows_of_levels_where_the_trees_are_too_large_to_be_laid_out(voting, monkeypatch):
    """Sets stay as they are, and the trees are asked about the rows; the result is the same."""
    rng = np.random.default_rng(3)
    X = np.array(list("abcdef"), dtype=object)[rng.integers(6, size=(150, 4))]
    y = (X == "a").sum(axis=1) + (X[:, 0] == X[:, 1]) > rng.random(150) * 2
    forest = RandomForestClassifier(12, random_state=0)
    end = VotingClassifier([("a", forest), ("b", clone(forest))], voting="soft")
    model = make_pipeline(OneHotEncoder(), end if voting else forest).fit(X, y)
    found = []
    for most in (forests.MOST_WRITTEN, 1):
        monkeypatch.setattr(forests, "MOST_WRITTEN", most)
        pruner = FaithfulPruner(FrozenEstimator(model), max_changes=0, random_state=0, n_samples=0)
        pruner.fit(X, y)
        np.testing.assert_array_equal(pruner.predict(X), model.predict(X))
        assert pruner.verify()
        found.append((pruner.n_trees_, pruner.n_trees_lower_bound_, pruner.n_points_))
    assert found[0] == found[1]
