"""Trees within a tolerance, against exhaustive search over tiny grids and the models' answers."""

import itertools

import numpy as np
import pytest
from oracles import min_depth, min_leaves, min_leaves_at_min_depth
from sklearn.ensemble import (
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeRegressor
from tolerance_truth import (
    all_rows,
    axis_values,
    grid_of,
    inside,
    near_rows,
    numbers_of,
    smallest_on_a_line,
)

from ensemble_simplify import BornAgainClassifier, BornAgainRegressor, verify


def xgboost_values(seed):
    xgboost = pytest.importorskip("xgboost")
    return xgboost.XGBRegressor(n_estimators=3, max_depth=2, n_jobs=1, random_state=seed)


def lightgbm_values(seed):
    lightgbm = pytest.importorskip("lightgbm")
    options = dict(min_child_samples=3, min_data_in_bin=1, verbose=-1, n_jobs=1)
    return lightgbm.LGBMRegressor(n_estimators=3, num_leaves=3, random_state=seed, **options)


REGRESSORS = {
    "tree": lambda s: DecisionTreeRegressor(max_depth=3, random_state=s),
    "stumps": lambda s: GradientBoostingRegressor(n_estimators=6, max_depth=1, random_state=s),
    "boosting": lambda s: GradientBoostingRegressor(
        n_estimators=3, max_depth=2, learning_rate=0.7, random_state=s
    ),
    "forest": lambda s: RandomForestRegressor(3, max_depth=2, random_state=s),
    "extra trees": lambda s: ExtraTreesRegressor(2, max_depth=2, random_state=s),
    "bagging": lambda s: BaggingRegressor(DecisionTreeRegressor(max_depth=2), 3, random_state=s),
    "histogram": lambda s: HistGradientBoostingRegressor(
        max_iter=3, max_leaf_nodes=3, min_samples_leaf=4, random_state=s
    ),
    "xgboost": xgboost_values,
    "lightgbm": lightgbm_values,
}
PROMISES = [None, 0, 1]
SMALLEST = {
    "depth": min_depth,
    "leaves": min_leaves,
    "depth_then_leaves": min_leaves_at_min_depth,
}


def rows_and_values(seed, n_rows=40, levels=4, n_features=3):
    rng = np.random.default_rng(seed)
    X = rng.integers(levels, size=(n_rows, n_features)) / 4 - 0.25
    return X, 2 * X[:, 0] + np.sin(4 * X[:, 1]) * (1 + X[:, -1]) + rng.normal(0, 0.2, n_rows)


def fitted(name, seed, **data):
    X, y = rows_and_values(seed, **data)
    return REGRESSORS[name](seed).fit(X, y), X, y


def tolerances(answers):
    """None, just below and at what joins the two closest numbers, some, much and all."""
    known = np.unique(answers)
    if known.size == 1:
        return [0.0, 1.0]
    span = np.ptp(known)
    closest = np.diff(known).min() / 2
    return [0.0, closest * (1 - 1e-6), closest * (1 + 1e-6), 0.1 * span, 0.3 * span, 0.6 * span]


def hold_within(tree, model, rows, atol):
    apart = np.abs(numbers_of(tree, rows) - numbers_of(model, rows))
    assert apart.max() <= atol
    return apart.max()


@pytest.mark.parametrize("name", REGRESSORS)
def test_smallest_everywhere(name):
    model, X, y = fitted(name, 3, levels=3)
    values = axis_values([model])
    rows = all_rows(values)
    for i, atol in enumerate(tolerances(model.predict(rows))):
        truth = grid_of(model, values, atol)
        objectives = list(SMALLEST) if i == 3 else [list(SMALLEST)[i % 3]]
        for objective in objectives:
            tree = BornAgainRegressor(
                FrozenEstimator(model), atol=atol, objective=objective, random_state=0
            ).fit(X, y)
            assert tree.atol_ == atol
            assert tree.status_ == "optimal"
            found = tree.depth_ if objective == "depth" else tree.n_leaves_
            assert found == SMALLEST[objective](truth)
            if objective == "depth_then_leaves":
                assert tree.depth_ == min_depth(truth)
            hold_within(tree, model, rows, atol)
            assert tree.verify().equal is True
            assert verify(model, tree, atol=atol)


@pytest.mark.parametrize("seed", range(6))
def test_bounds_and_heuristics_everywhere(seed):
    name = ["stumps", "boosting", "forest"][seed % 3]
    model, X, y = fitted(name, seed, levels=4)
    values = axis_values([model])
    rows = all_rows(values)
    for atol in tolerances(model.predict(rows))[::2]:
        truth = grid_of(model, values, atol)
        fewest, shallowest = min_leaves(truth), min_depth(truth)
        tree = BornAgainRegressor(
            FrozenEstimator(model), atol=atol, method="heuristic", random_state=seed
        ).fit(X, y)
        assert tree.n_leaves_lower_bound_ <= fewest <= tree.n_leaves_
        assert tree.depth_lower_bound_ <= shallowest <= tree.depth_
        hold_within(tree, model, rows, atol)
        assert tree.verify().equal is True


def test_tolerances_at_the_last_bit():
    """Half of a difference of doubles joins two numbers, or it does not: as doubles have it."""
    for seed in range(2):
        model, X, y = fitted("tree", seed)
        rows = all_rows(axis_values([model]))
        known = np.unique(model.predict(rows))
        for first, second in itertools.pairwise(known):
            for atol in np.nextafter((second - first) / 2, [-np.inf, 0.0, np.inf])[[0, 2]]:
                truth = grid_of(model, axis_values([model]), atol)
                tree = BornAgainRegressor(FrozenEstimator(model), atol=atol, objective="leaves")
                tree.fit(X, y)
                hold_within(tree, model, rows, atol)
                assert tree.n_leaves_ >= min_leaves(truth)


@pytest.mark.parametrize("max_changes", [0, 1])
@pytest.mark.parametrize("name", ["stumps", "boosting", "forest", "histogram", "lightgbm"])
def test_promises_near_rows(name, max_changes):
    model, X, y = fitted(name, 5, n_rows=30, levels=3)
    few = X[:4]
    values = axis_values([model], rows=few)
    rows = all_rows(values)
    near = near_rows(rows, few, max_changes)
    for atol in tolerances(model.predict(rows))[::3]:
        tree = BornAgainRegressor(
            FrozenEstimator(model), atol=atol, max_changes=max_changes, random_state=0
        ).fit(few, y[:4])
        fewest = min_leaves(grid_of(model, values, atol, promised=near))
        assert tree.n_leaves_lower_bound_ <= fewest <= tree.n_leaves_
        assert tree.n_exceptions_ == tree.n_row_exceptions_ == 0
        hold_within(tree, model, rows[near], atol)
        assert tree.verify().equal is True


@pytest.mark.parametrize("max_changes", [0, 1])
def test_exceptions_are_counted(max_changes):
    model, X, y = fitted("boosting", 2)
    atol = 0.1 * np.ptp(model.predict(X))
    values = axis_values([model], rows=X)
    near = near_rows(rows := all_rows(values), X, max_changes)
    full = BornAgainRegressor(
        FrozenEstimator(model), atol=atol, max_changes=max_changes, random_state=0
    ).fit(X, y)
    hold_within(full, model, rows[near], atol)
    path = full.path_
    assert (np.diff(path.n_leaves) > 0).all()
    for n_leaves in (1, 2, 3, full.n_leaves_):
        tree = full.at(n_leaves=n_leaves)
        assert tree.n_leaves_ <= n_leaves
        apart = np.abs(tree.predict(rows[near]) - model.predict(rows[near]))
        assert (tree.n_exceptions_ == 0) == (apart.max() <= atol)
        own = np.abs(tree.predict(X) - model.predict(X)) > atol
        assert tree.n_row_exceptions_ == own.sum()
    for wider in (2 * atol, 5 * atol):
        tree = full.at(atol=wider)
        assert tree.n_leaves_ <= full.n_leaves_
        hold_within(tree, model, rows[near], wider)


def test_one_feature_near_rows_is_a_line():
    rng = np.random.default_rng(0)
    X = rng.random((40, 1)).astype(np.float32).astype(float)
    model = GradientBoostingRegressor(n_estimators=8, max_depth=2, random_state=0)
    model.fit(X, np.sin(9 * X[:, 0]))
    answers = model.predict(np.sort(all_rows(axis_values([model], rows=X)), axis=0))
    own = model.predict(np.sort(X, axis=0))
    for atol in (0.0, 0.05, 0.2, 0.5):
        for k, line in ((None, answers), (1, answers), (0, own)):
            tree = BornAgainRegressor(
                FrozenEstimator(model), atol=atol, max_changes=k, objective="leaves"
            ).fit(X, X[:, 0])
            assert tree.n_leaves_ == smallest_on_a_line(line, atol)
            assert tree.n_leaves_lower_bound_ == tree.n_leaves_


DOMAIN = dict(one_hot=[(0, 1, 2)], integers=(3,), bounds={3: (0, 4)})


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("max_changes", PROMISES)
def test_one_hot_domains(seed, max_changes):
    rng = np.random.default_rng(seed)
    hot = rng.integers(3, size=60)
    X = np.column_stack([np.eye(3)[hot], rng.integers(5, size=60)])
    y = hot * X[:, 3] + rng.normal(0, 0.1, 60)
    model = GradientBoostingRegressor(n_estimators=4, max_depth=2, random_state=seed).fit(X, y)
    values = axis_values([model], rows=X, domain=DOMAIN)
    rows = all_rows(values)
    promised = inside(rows, DOMAIN)
    if max_changes is not None:
        promised &= near_rows(rows, X, max_changes)
    atol = 0.1 * np.ptp(model.predict(X))
    tree = BornAgainRegressor(
        FrozenEstimator(model), atol=atol, objective="leaves", domain=DOMAIN,
        max_changes=max_changes, random_state=0,
    ).fit(X, y)  # fmt: skip
    fewest = min_leaves(grid_of(model, values, atol, promised=promised))
    assert tree.n_leaves_lower_bound_ <= fewest <= tree.n_leaves_
    if max_changes is None:
        assert tree.n_leaves_ == fewest
    hold_within(tree, model, rows[promised], atol)
    assert tree.verify().equal is True


@pytest.mark.parametrize("max_changes", PROMISES)
@pytest.mark.parametrize("name", ["forest", "histogram", "lightgbm", "xgboost"])
def test_missing_values(name, max_changes):
    X, y = rows_and_values(1, n_features=2)
    X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    model = REGRESSORS[name](1).fit(X, y)
    gaps = tuple(np.flatnonzero(np.isnan(X).any(axis=0)))
    values = axis_values([model], rows=X, gaps=gaps)
    rows = all_rows(values)
    promised = np.ones(len(rows), dtype=bool)
    if max_changes is not None:
        promised = near_rows(rows, X, max_changes)
    for atol in tolerances(numbers_of(model, rows))[::3]:
        tree = BornAgainRegressor(
            FrozenEstimator(model), atol=atol, objective="leaves", max_changes=max_changes
        ).fit(X, y)
        fewest = min_leaves(grid_of(model, values, atol, promised=promised))
        assert tree.n_leaves_lower_bound_ <= fewest <= tree.n_leaves_
        assert max_changes is not None or tree.n_leaves_ == fewest
        hold_within(tree, model, rows[promised], atol)
        assert tree.verify().equal is True


def test_a_share_of_the_deviation_and_weights():
    model, X, y = fitted("boosting", 0)
    weight = np.where(np.arange(len(X)) % 3 == 0, 0.0, np.arange(len(X)) + 1.0)
    known = weight > 0
    answers = model.predict(X)
    for given in (None, weight):
        deviation = (
            np.sqrt(np.cov(answers[known], aweights=given[known], ddof=0))
            if given is not None
            else answers.std()
        )
        tree = BornAgainRegressor(FrozenEstimator(model), atol="20%").fit(X, y, given)
        assert tree.atol_ == pytest.approx(0.2 * deviation)
        rows = all_rows(axis_values([model]))
        hold_within(tree, model, rows, tree.atol_)
        # a leaf answers the mean of its rows' answers, or what of it is left
        leaf = tree.decision_tree_.apply(X.astype(np.float32))
        cells = tree.decision_tree_.apply(rows.astype(np.float32))
        own = np.ones(len(X)) if given is None else given
        for number in np.unique(leaf[own > 0]):
            here = leaf == number
            mean = np.average(answers[here], weights=own[here])
            near = model.predict(rows[cells == number])
            low, high = near.max() - tree.atol_, near.min() + tree.atol_
            told = tree.predict(X[here])[0]
            assert told == pytest.approx(np.clip(mean, low, high), abs=1e-9)


CLASSIFIERS = {
    "forest": lambda s: RandomForestClassifier(3, max_depth=2, random_state=s),
    "extra trees": lambda s: ExtraTreesClassifier(3, max_depth=2, random_state=s),
}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("max_changes", [None])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classes_and_probabilities(name, max_changes, n_classes):
    X, y = rows_and_values(7, levels=3)
    y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    model = CLASSIFIERS[name](0).fit(X, y)
    few = X if max_changes is None else X[:5]
    values = axis_values([model], rows=few)
    rows = all_rows(values)
    promised = np.ones(len(rows), dtype=bool)
    if max_changes is not None:
        promised = near_rows(rows, few, max_changes)
    for atol in (0.0, 0.05, 0.6):
        tree = BornAgainClassifier(
            FrozenEstimator(model), atol=atol, objective="leaves", max_changes=max_changes,
            random_state=0,
        ).fit(few, y[: len(few)])  # fmt: skip
        truth = grid_of(model, values, atol, promised=promised)
        fewest = min_leaves(truth)
        assert tree.n_leaves_lower_bound_ <= tree.n_leaves_
        assert fewest <= tree.n_leaves_
        if n_classes == 2:
            # one number of a class serves: so does its counterpart of the other
            assert tree.n_leaves_lower_bound_ <= fewest
            assert max_changes is not None or tree.n_leaves_ == fewest
        np.testing.assert_array_equal(tree.predict(rows[promised]), model.predict(rows[promised]))
        hold_within(tree, model, rows[promised], atol)
        assert tree.verify().equal is True


@pytest.mark.parametrize("seed", [4, 8, 16])
def test_probabilities_of_rows_leave_no_exceptions(seed):
    rng = np.random.default_rng(seed)
    X = rng.random((80, 3)).round(2)
    y = X[:, 0] * 3 + np.sin(7 * X[:, 1]) + rng.normal(0, 0.2, 80) > 2
    model = RandomForestClassifier(3, max_depth=4, random_state=seed).fit(X, y)
    for atol in (0.05, 0.1):
        tree = BornAgainClassifier(
            FrozenEstimator(model), atol=atol, max_changes=0, random_state=0
        ).fit(X, y)
        assert tree.n_exceptions_ == tree.n_row_exceptions_ == 0
        np.testing.assert_array_equal(tree.predict(X), model.predict(X))
        hold_within(tree, model, X, atol)
