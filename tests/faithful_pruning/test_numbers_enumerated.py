"""Pruned ensembles within a tolerance, against all choices of trees and the models' own answers."""

import numpy as np
import pytest
from sklearn.base import is_classifier, is_regressor
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeRegressor
from tolerance_truth import (
    all_rows,
    axis_values,
    fewest_columns,
    inside,
    near_rows,
    numbers_of,
)

from ensemble_simplify import FaithfulPruner


def xgboost_values(seed):
    xgboost = pytest.importorskip("xgboost")
    return xgboost.XGBRegressor(n_estimators=5, max_depth=1, n_jobs=1, random_state=seed)


def lightgbm_values(seed):
    lightgbm = pytest.importorskip("lightgbm")
    options = dict(min_child_samples=3, min_data_in_bin=1, verbose=-1, n_jobs=1)
    return lightgbm.LGBMRegressor(n_estimators=5, num_leaves=2, random_state=seed, **options)


VALUES = {
    "stumps": lambda s: GradientBoostingRegressor(
        n_estimators=6, max_depth=1, learning_rate=0.5, random_state=s
    ),
    "boosting": lambda s: GradientBoostingRegressor(n_estimators=4, max_depth=2, random_state=s),
    "forest": lambda s: RandomForestRegressor(5, max_depth=2, random_state=s),
    "extra trees": lambda s: ExtraTreesRegressor(5, max_depth=1, random_state=s),
    "bagging": lambda s: BaggingRegressor(DecisionTreeRegressor(max_depth=1), 5, random_state=s),
    "histogram": lambda s: HistGradientBoostingRegressor(
        max_iter=4, max_leaf_nodes=2, min_samples_leaf=4, random_state=s
    ),
    "xgboost": xgboost_values,
    "lightgbm": lightgbm_values,
}
CLASSES = {
    "stumps": lambda s: GradientBoostingClassifier(n_estimators=6, max_depth=1, random_state=s),
    "forest": lambda s: RandomForestClassifier(5, max_depth=2, random_state=s),
    "histogram": lambda s: HistGradientBoostingClassifier(
        max_iter=4, max_leaf_nodes=2, min_samples_leaf=4, random_state=s
    ),
    "adaboost": lambda s: AdaBoostClassifier(n_estimators=5, random_state=s),
}


def rows_and_values(seed, n_rows=40):
    rng = np.random.default_rng(seed)
    X = rng.integers(4, size=(n_rows, 3)) / 4
    return X, 2 * X[:, 0] + np.sin(4 * X[:, 1]) * (1 + X[:, 2]) + rng.normal(0, 0.2, n_rows)


def columns_of(model, rows):
    """What each tree of scikit-learn says of rows, each a column."""
    if isinstance(model, BaggingRegressor):
        pairs = zip(model.estimators_, model.estimators_features_, strict=True)
        return np.column_stack([tree.predict(rows[:, own]) for tree, own in pairs])
    return np.column_stack([tree.predict(rows) for tree in np.ravel(model.estimators_)])


def check(model, X, y, promised, rows, *, atol, **options):
    pruner = FaithfulPruner(FrozenEstimator(model), atol=atol, random_state=0, **options)
    pruner.fit(X, y)
    assert is_classifier(pruner) == is_classifier(model)
    assert is_regressor(pruner) == is_regressor(model)
    apart = np.abs(numbers_of(pruner, rows[promised]) - numbers_of(model, rows[promised]))
    assert apart.max() <= atol
    pruned = pruner.pruned_estimator_
    np.testing.assert_array_equal(numbers_of(pruner, rows), numbers_of(pruned, rows))
    assert pruner.n_trees_lower_bound_ <= pruner.n_trees_
    assert pruner.n_trees_ == np.count_nonzero(pruner.weights_)
    assert pruner.verify().equal is True
    return pruner


@pytest.mark.parametrize("max_changes", [None, 0, 1])
@pytest.mark.parametrize("name", VALUES)
def test_values(name, max_changes):
    X, y = rows_and_values(1)
    model = VALUES[name](1).fit(X, y)
    few = X[:6]
    rows = all_rows(axis_values([model], rows=few))
    promised = np.ones(len(rows), dtype=bool)
    if max_changes is not None:
        promised = near_rows(rows, few, max_changes)
    target = numbers_of(model, rows[promised])[:, 0]
    errors = None
    if name in ("stumps", "boosting", "forest", "extra trees", "bagging"):
        columns = columns_of(model, rows[promised])
        errors = fewest_columns(columns, target, offset=True, signs=True)
    for share in (0.0, 0.02, 0.2, 0.4):
        atol = share * np.ptp(target)
        pruner = check(model, few, y[:6], promised, rows, atol=atol, max_changes=max_changes)
        if errors is None or np.abs(errors - atol).min() < 1e-6:
            continue
        fewest = max(1, int(np.argmax(errors <= atol)))
        assert pruner.n_trees_lower_bound_ <= fewest <= pruner.n_trees_
        if pruner.status_ == "optimal":
            assert pruner.n_trees_ == fewest


@pytest.mark.parametrize("seed", range(4))
def test_fewest_stumps(seed):
    X, y = rows_and_values(seed)
    model = VALUES["stumps"](seed).fit(X, y)
    rows = all_rows(axis_values([model]))
    target = model.predict(rows)
    errors = fewest_columns(columns_of(model, rows), target, offset=True, signs=True)
    found = set()
    for share in (0.01, 0.1, 0.3):
        atol = share * np.ptp(target)
        if np.abs(errors - atol).min() < 1e-6:
            continue
        pruner = check(model, X, y, np.ones(len(rows), bool), rows, atol=atol, method="exact")
        assert pruner.status_ == "optimal"
        assert pruner.n_trees_ == max(1, int(np.argmax(errors <= atol)))
        found.add(pruner.n_trees_)
    assert len(found) > 1


@pytest.mark.parametrize("max_changes", [None, 0, 1])
@pytest.mark.parametrize("name", CLASSES)
def test_probabilities(name, max_changes):
    X, y = rows_and_values(2)
    model = CLASSES[name](2).fit(X, (y > np.median(y)).astype(int))
    few = X[:6]
    rows = all_rows(axis_values([model], rows=few))
    promised = np.ones(len(rows), dtype=bool)
    if max_changes is not None:
        promised = near_rows(rows, few, max_changes)
    for atol in (0.0, 0.05, 0.2):
        labels = (y > np.median(y)).astype(int)[: len(few)]
        check(model, few, labels, promised, rows, atol=atol, max_changes=max_changes)


def test_shares_of_the_deviation():
    X, y = rows_and_values(0)
    model = VALUES["stumps"](0).fit(X, y)
    pruner = FaithfulPruner(FrozenEstimator(model), atol="20%", random_state=0).fit(X, y)
    assert pruner.atol_ == pytest.approx(0.2 * model.predict(X).std())
    rows = all_rows(axis_values([model]))
    assert np.abs(pruner.predict(rows) - model.predict(rows)).max() <= pruner.atol_


@pytest.mark.parametrize("seed", range(2))
def test_one_hot_domains(seed):
    rng = np.random.default_rng(seed)
    hot = rng.integers(3, size=60)
    X = np.column_stack([np.eye(3)[hot], rng.integers(5, size=60)])
    model = VALUES["boosting"](seed).fit(X, hot * X[:, 3] + rng.normal(0, 0.1, 60))
    domain = dict(one_hot=[(0, 1, 2)], integers=(3,), bounds={3: (0, 4)})
    rows = all_rows(axis_values([model], domain=domain))
    promised = inside(rows, domain)
    target = model.predict(rows[promised])
    errors = fewest_columns(columns_of(model, rows[promised]), target, offset=True, signs=True)
    for atol in (0.05 * np.ptp(target), 0.3 * np.ptp(target)):
        pruner = check(model, X, X[:, 3], promised, rows, atol=atol, domain=domain)
        fewest = max(1, int(np.argmax(errors <= atol)))
        assert pruner.n_trees_lower_bound_ <= fewest <= pruner.n_trees_
