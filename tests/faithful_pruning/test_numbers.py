"""FaithfulPruner with a tolerance: promises by enumeration, the fewest trees by trying all."""

from __future__ import annotations

import pickle
from itertools import combinations, product

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.special import logit
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from ensemble_simplify import Domain, FaithfulPathDisplay, FaithfulPruner, verify
from ensemble_simplify.faithful_pruning._closest import best_of_each_number
from ensemble_simplify.faithful_pruning._pruning import Pruning

REGRESSORS = {
    "gradient boosting": GradientBoostingRegressor(n_estimators=9, max_depth=2, random_state=0),
    "histograms": HistGradientBoostingRegressor(max_iter=9, max_leaf_nodes=4, random_state=0),
    "forest": RandomForestRegressor(9, max_depth=4, random_state=0),
    "extra": ExtraTreesRegressor(9, max_depth=4, random_state=0),
    "bagging": BaggingRegressor(
        DecisionTreeRegressor(max_depth=4), 9, max_features=0.5, random_state=0
    ),
    "forests in a bag": BaggingRegressor(
        RandomForestRegressor(3, max_depth=3), 3, max_features=0.7, random_state=0
    ),
    "pipeline": make_pipeline(
        StandardScaler(), GradientBoostingRegressor(n_estimators=9, max_depth=2, random_state=0)
    ),
}
CLASSIFIERS = {
    "forest": RandomForestClassifier(9, max_depth=3, random_state=0),
    "bagging": BaggingClassifier(n_estimators=9, max_features=0.5, random_state=0),
    "adaboost": AdaBoostClassifier(n_estimators=9, random_state=0),
    "gradient boosting": GradientBoostingClassifier(n_estimators=9, max_depth=2, random_state=0),
    "histograms": HistGradientBoostingClassifier(max_iter=9, max_leaf_nodes=4, random_state=0),
}


def _booster(package, name, **options):
    def make():
        return getattr(pytest.importorskip(package), name)(n_estimators=9, **options)

    return make


_XGB = {"n_jobs": 1, "max_depth": 2}
_LGBM = {"n_jobs": 1, "num_leaves": 4, "min_child_samples": 5, "verbose": -1}
_CAT = {"depth": 2, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
_BAGGED = {"boosting_type": "rf", "subsample": 0.5, "subsample_freq": 1}
BOOSTERS = {
    "xgboost": _booster("xgboost", "XGBRegressor", **_XGB),
    "dart": _booster("xgboost", "XGBRegressor", booster="dart", rate_drop=0.5, **_XGB),
    "xgboost forest": _booster("xgboost", "XGBRFRegressor", **_XGB),
    "xgboost classes": _booster("xgboost", "XGBClassifier", **_XGB),
    "lightgbm": _booster("lightgbm", "LGBMRegressor", **_LGBM),
    "lightgbm forest": _booster("lightgbm", "LGBMRegressor", **_LGBM, **_BAGGED),
    "lightgbm classes": _booster("lightgbm", "LGBMClassifier", **_LGBM),
    "catboost": _booster("catboost", "CatBoostRegressor", **_CAT),
    "catboost classes": _booster("catboost", "CatBoostClassifier", **_CAT),
}


def diabetes(n=60, columns=(2, 3, 8)):
    """Rows that float32 represents."""
    X, y = load_diabetes(return_X_y=True)
    return X[:n][:, columns].astype(np.float32).astype(np.float64), y[:n]


def cancer(n=60):
    X, y = load_breast_cancer(return_X_y=True)
    return X[:n, :3].astype(np.float32).astype(np.float64), y[:n]


def ends(thresholds):
    """The numbers on both sides of each threshold, next to it, and two far out."""
    cut = np.unique(thresholds).astype(np.float32)
    beside = np.concatenate([cut, np.nextafter(cut, np.inf), np.nextafter(cut, -np.inf)])
    return np.unique(np.concatenate([beside, [-1e30, 1e30]])).astype(np.float64)


def splits(model, n_features):
    """Thresholds of scikit-learn's trees, by feature."""
    trees = [tree.tree_ for tree in np.ravel(model.estimators_)]
    feature = np.concatenate([tree.feature for tree in trees])
    threshold = np.concatenate([tree.threshold for tree in trees])
    return [threshold[feature == j] for j in range(n_features)]


def one_change(X, by_feature):
    """Each row with each number in each feature."""
    found = [X]
    for j, numbers in enumerate(by_feature):
        rows = np.repeat(X, len(numbers), axis=0)
        rows[:, j] = np.tile(numbers, len(X))
        found.append(rows)
    return np.concatenate(found)


def beside_cuts(model, X):
    """Numbers next to the places where a model's answers change along each feature's line."""
    grid = [ends(np.linspace(x.min(), x.max(), 60)) for x in X.T]
    if hasattr(model, "estimators_") and all(
        hasattr(tree, "tree_") for tree in np.ravel(model.estimators_)
    ):
        if not hasattr(model, "estimators_features_"):
            grid = [ends(np.append(own, 0.0)) for own in splits(model, X.shape[1])]
    return grid


def differences(pruner, rows):
    method = "predict" if is_regressor(pruner) else "predict_proba"
    own = getattr(pruner.pruned_estimator_, method)(rows)
    whole = getattr(pruner.estimator_, method)(rows)
    return np.abs(own - whole).reshape(len(rows), -1).max(axis=1)


# ------------------------------------------------------------------- promises


def check_promise(pruner, X, max_changes):
    rows = X if max_changes == 0 else one_change(X, beside_cuts(pruner.estimator_, X))
    apart = differences(pruner, rows).max()
    assert apart <= pruner.max_difference_ <= pruner.atol_
    assert pruner.n_exceptions_ == 0
    assert pruner.covers(rows).all()
    assert pruner.n_trees_ == np.count_nonzero(pruner.weights_)
    assert 1 <= pruner.n_trees_lower_bound_ <= pruner.n_trees_
    assert pruner.verify()
    proof = verify(
        pruner.estimator_, pruner.pruned_estimator_, X=X, max_changes=max_changes, atol=pruner.atol_
    )
    assert proof
    assert proof.max_difference <= pruner.max_difference_
    path = pruner.path_
    assert (np.diff(path.n_trees) > 0).all()
    assert (np.diff(path.max_difference) < 0).all()
    for n, bound in zip(path.n_trees, path.max_difference, strict=True):
        assert differences(pruner.at(n_trees=n), rows).max() <= bound


def test_functions_of_one_feature_each_are_kept_everywhere():
    X, y = diabetes()
    model = HistGradientBoostingRegressor(
        max_iter=20,
        max_leaf_nodes=4,
        min_samples_leaf=4,
        interaction_cst=[[0], [1], [2]],
        random_state=0,
    )
    pruner = FaithfulPruner(model, atol="30%", random_state=0).fit(X, y)
    assert 1 < pruner.n_trees_ < 20
    # what the features move the difference by adds up, so the lines of one row tell its ends
    low = high = start = (pruner.predict(X[:1]) - pruner.estimator_.predict(X[:1]))[0]
    for j, numbers in enumerate(beside_cuts(pruner.estimator_, X)):
        rows = np.repeat(X[:1], len(numbers), axis=0)
        rows[:, j] = numbers
        moved = pruner.predict(rows) - pruner.estimator_.predict(rows) - start
        low, high = low + moved.min(), high + moved.max()
    assert 0.5 * pruner.atol_ < max(-low, high) <= pruner.atol_


@pytest.mark.parametrize("max_changes", [0, 1])
def test_weights_are_sought_again_where_rounding_takes_more(max_changes, monkeypatch):
    """For the same trees where their weights can keep off the tolerance what it takes."""
    X, y = diabetes()
    asked = FaithfulPruner(
        REGRESSORS["gradient boosting"], max_changes=max_changes, atol="50%", random_state=0
    )
    first, rounding = clone(asked).fit(X, y), Pruning._rounding
    for share, n_trees in ((1e-3, first.n_trees_), (0.2, 9)):
        looks = []

        def larger(self, weights, share=share, looks=looks):
            looks.append(0.0 if looks else share * self.numbers.atol)
            return max(rounding(self, weights), looks[-1])

        monkeypatch.setattr(Pruning, "_rounding", larger)
        again = clone(asked).fit(X, y)
        assert looks
        assert again.n_trees_ == n_trees
        check_promise(again, X, max_changes)
    assert first.n_trees_ < 9


@pytest.mark.parametrize("max_changes", [0, 1])
@pytest.mark.parametrize("name", REGRESSORS)
def test_values_stay_within_the_tolerance(name, max_changes):
    X, y = diabetes()
    pruner = FaithfulPruner(
        REGRESSORS[name], max_changes=max_changes, atol="30%", method="heuristic", random_state=0
    ).fit(X, y)
    assert type(pruner.pruned_estimator_) is type(pruner.estimator_)
    assert pruner.atol_ == pytest.approx(0.3 * pruner.estimator_.predict(X).std())
    check_promise(pruner, X, max_changes)


@pytest.mark.parametrize("max_changes", [0, 1])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_probabilities_stay_within_the_tolerance(name, max_changes):
    X, y = cancer()
    pruner = FaithfulPruner(
        CLASSIFIERS[name], max_changes=max_changes, atol=0.15, method="heuristic", random_state=0
    ).fit(X, y)
    check_promise(pruner, X, max_changes)
    assert pruner.n_trees_ < 9


def test_probabilities_of_three_classes():
    X, y = load_iris(return_X_y=True)
    X = X[::2].astype(np.float32).astype(np.float64)
    forest = RandomForestClassifier(15, random_state=0)
    pruner = FaithfulPruner(forest, max_changes=1, atol=0.2, method="heuristic", random_state=0)
    pruner.fit(X, np.array(["a", "b", "c"])[y[::2]])
    check_promise(pruner, X, 1)
    np.testing.assert_allclose(pruner.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("name", BOOSTERS)
def test_boosters_stay_within_the_tolerance(name):
    model = BOOSTERS[name]()
    X, y = cancer() if name.endswith("classes") else diabetes()
    pruner = FaithfulPruner(
        model, max_changes=1, atol=0.1 if name.endswith("classes") else "30%", random_state=0
    ).fit(X, y)
    assert type(pruner.pruned_estimator_) is type(pruner.estimator_)
    check_promise(pruner, X, 1)
    again = pickle.loads(pickle.dumps(pruner.pruned_estimator_))
    np.testing.assert_array_equal(again.predict(X), pruner.predict(X))


@pytest.mark.parametrize("depth", [1, 2])
def test_every_input_by_enumeration(depth):
    X, y = diabetes()
    model = GradientBoostingRegressor(n_estimators=8, max_depth=depth, random_state=0).fit(X, y)
    pruner = FaithfulPruner(FrozenEstimator(model), atol="40%", random_state=0).fit(X, y)
    rows = np.array(list(product(*[ends(own) for own in splits(model, 3)])))
    assert differences(pruner, rows).max() <= pruner.max_difference_ <= pruner.atol_
    assert pruner.n_trees_ < 8
    assert pruner.verify()


@pytest.mark.parametrize("name", ["adaboost", "gradient boosting"])
def test_probabilities_at_every_input_by_enumeration(name):
    X, y = cancer()
    pruner = FaithfulPruner(CLASSIFIERS[name], atol=0.15, random_state=0).fit(X, y)
    rows = np.array(list(product(*[ends(own) for own in splits(pruner.estimator_, 3)])))
    assert differences(pruner, rows).max() <= pruner.max_difference_ <= pruner.atol_
    assert pruner.n_trees_ < 9
    assert pruner.verify()


def test_two_changes():
    X, y = diabetes(20)
    model = GradientBoostingRegressor(n_estimators=8, max_depth=2, random_state=0).fit(X, y)
    pruner = FaithfulPruner(FrozenEstimator(model), max_changes=2, atol="40%", random_state=0)
    pruner.fit(X, y)
    grid = [ends(own) for own in splits(model, 3)]
    rows = one_change(one_change(X, grid), grid)
    assert differences(pruner, rows).max() <= pruner.atol_
    assert pruner.verify()


def test_inside_a_domain():
    X, y = diabetes()
    X = np.column_stack([X, X[:, 0] > 0, X[:, 0] <= 0]).astype(np.float64)
    model = GradientBoostingRegressor(n_estimators=8, max_depth=2, random_state=0).fit(X, y)
    domain = Domain(one_hot=[[3, 4]])
    pruner = FaithfulPruner(
        FrozenEstimator(model), max_changes=1, atol="30%", domain=domain, random_state=0
    ).fit(X, y)
    assert pruner.verify()
    everywhere = clone(pruner).set_params(max_changes=None).fit(X, y)
    assert everywhere.verify()
    grid = [ends(own) for own in splits(model, 5)[:3]]
    rows = np.array([[*row, *on] for row in product(*grid) for on in ((1.0, 0.0), (0.0, 1.0))])
    assert differences(everywhere, rows).max() <= everywhere.atol_


def test_missing_values():
    X, y = diabetes()
    X[::5, 1] = np.nan
    model = HistGradientBoostingRegressor(max_iter=9, max_leaf_nodes=3, random_state=0)
    for max_changes in (0, 1):
        pruner = FaithfulPruner(model, max_changes=max_changes, atol="30%", random_state=0)
        pruner.fit(X, y)
        assert differences(pruner, X).max() <= pruner.atol_
        assert pruner.verify()


def test_rows_that_are_finer_than_cells_are_asked():
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:60, :3] / 3, y[:60]
    model = REGRESSORS["pipeline"]
    pruner = FaithfulPruner(model, max_changes=0, atol="20%", random_state=0).fit(X, y)
    apart = differences(pruner, X)
    assert pruner.n_exceptions_ == np.count_nonzero(apart > pruner.atol_)
    assert apart.max() <= pruner.max_difference_


# ------------------------------------------------------------------- the fewest trees


def least_distance(said, chosen, target, mass=None):
    """The least largest distance from a target of weighted sums of some columns, and an offset."""
    columns = said[:, list(chosen)]
    n = len(target)
    columns = np.column_stack([columns, np.ones(n)]) if mass is None else columns
    ones = np.ones((n, 1))
    A = np.vstack([np.hstack([columns, -ones]), np.hstack([-columns, -ones])])
    b = np.concatenate([target, -target])
    cost = np.append(np.zeros(columns.shape[1]), 1.0)
    more, bounds = {}, [(None, None)] * columns.shape[1]
    if mass is not None:
        more = {"A_eq": np.append(mass[list(chosen)], 0.0)[None], "b_eq": [mass.sum()]}
        bounds = [(0, None)] * columns.shape[1]
    found = linprog(cost, A, b, bounds=[*bounds, (0, None)], method="highs", **more)
    return found.x[-1] if found.status == 0 else np.inf


def least_of_each_number(said, target, mass=None):
    """The same for the best choice of each number of columns, from one on."""
    n_trees = said.shape[1]
    return np.array(
        [
            min(
                least_distance(said, some, target, mass) for some in combinations(range(n_trees), k)
            )
            for k in range(1, n_trees + 1)
        ]
    )


def said_by_stages(model, rows):
    """What each tree of gradient boosting adds."""
    trees = [stage[0] for stage in model.estimators_]
    return model.learning_rate * np.column_stack([tree.predict(rows) for tree in trees])


@pytest.mark.parametrize("seed", range(4))
def test_fewest_stumps_for_every_input(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, size=(40, 2)).astype(float)
    y = X[:, 0] + np.sin(2 * X[:, 1]) + rng.normal(size=40)
    model = GradientBoostingRegressor(
        n_estimators=7, max_depth=1, learning_rate=0.6, random_state=0
    ).fit(X, y)
    rows = np.array(list(product(*[ends(np.append(own, 0.0)) for own in splits(model, 2)])))
    said = said_by_stages(model, rows)
    least = least_of_each_number(said, said.sum(axis=1))
    reach = np.ptp(model.predict(rows))
    for share in (1e-6, 0.02, 0.1, 0.3, 0.6):
        fewest = 1 + int(np.argmax(least <= share * reach))
        pruner = FaithfulPruner(FrozenEstimator(model), atol=share * reach, random_state=0)
        pruner.fit(X, y)
        assert (pruner.n_trees_, pruner.status_) == (fewest, "optimal")
        assert differences(pruner, rows).max() <= share * reach
        assert pruner.verify()
        path = pruner.path_
        np.testing.assert_allclose(
            path.max_difference[:-1], least[path.n_trees[:-1] - 1], rtol=1e-5, atol=1e-9
        )
    whole = FaithfulPruner(FrozenEstimator(model), atol=0, random_state=0).fit(X, y)
    assert whole.n_trees_ == 7
    assert differences(whole, rows).max() == 0


@pytest.mark.parametrize("objective", ["trees", "leaves"])
def test_exact_finds_the_fewest_trees_near_rows(objective):
    X, y = diabetes(25)
    model = GradientBoostingRegressor(n_estimators=6, max_depth=2, random_state=0).fit(X, y)
    rows = one_change(X, [ends(own) for own in splits(model, 3)])
    said = said_by_stages(model, rows)
    n_leaves = np.array([tree.get_n_leaves() for tree in model.estimators_[:, 0]])
    price = n_leaves if objective == "leaves" else np.ones(6, dtype=int)
    atol = 0.4 * model.predict(X).std()
    fewest = min(
        price[list(some)].sum()
        for k in range(1, 7)
        for some in combinations(range(6), k)
        if least_distance(said, some, said.sum(axis=1)) <= atol
    )
    pruner = FaithfulPruner(
        FrozenEstimator(model),
        max_changes=1,
        atol=atol,
        objective=objective,
        method="exact",
        random_state=0,
    ).fit(X, y)
    assert pruner.status_ == "optimal"
    assert getattr(pruner, f"n_{objective}_") == fewest


def test_exact_finds_the_fewest_votes_near_rows():
    X, y = cancer(20)
    model = RandomForestClassifier(7, max_depth=2, random_state=0).fit(X, y)
    rows = one_change(X, [ends(own) for own in splits(model, 3)])
    said = np.column_stack([tree.predict_proba(rows)[:, 1] for tree in model.estimators_]) / 7
    least = least_of_each_number(said, said.sum(axis=1), np.ones(7))
    for atol in (0.1, 0.3):
        pruner = FaithfulPruner(
            FrozenEstimator(model), max_changes=1, atol=atol, method="exact", random_state=0
        ).fit(X, y)
        assert (pruner.n_trees_, pruner.status_) == (1 + np.argmax(least <= atol), "optimal")
        assert differences(pruner, rows).max() <= atol


def test_exact_finds_the_fewest_trees_for_probabilities_with_one_limit():
    X, y = cancer(25)
    model = GradientBoostingClassifier(n_estimators=6, max_depth=2, random_state=0).fit(X, y)
    rows = one_change(X, [ends(own) for own in splits(model, 3)])
    said = said_by_stages(model, rows)
    p = model.predict_proba(rows)[:, 1]
    start = model.decision_function(rows) - said.sum(axis=1)

    def can(chosen, atol):
        columns = np.column_stack([said[:, list(chosen)], np.ones(len(rows))])
        above, below = p + atol < 1.0, p - atol > 0.0
        A = np.vstack([columns[above], -columns[below]])
        b = np.append((logit(p + atol) - start)[above], -(logit(p - atol) - start)[below])
        free = [(None, None)] * columns.shape[1]
        return linprog(np.zeros(columns.shape[1]), A, b, bounds=free, method="highs").status == 0

    assert p.min() < 0.1 < 0.5 < p.max()
    with np.errstate(invalid="ignore"):
        for atol in (0.1, 0.3):
            fewest = next(
                k for k in range(1, 7) if any(can(c, atol) for c in combinations(range(6), k))
            )
            pruner = FaithfulPruner(
                FrozenEstimator(model), max_changes=1, atol=atol, method="exact", random_state=0
            ).fit(X, y)
            assert (pruner.n_trees_, pruner.status_) == (fewest, "optimal")
            assert differences(pruner, rows).max() <= atol


def test_stumps_of_one_feature_are_cut_into_runs_of_least_width():
    class Numbers:
        value = np.array([[0], [1.0], [5.0], [0], [-2.0], [2.0], [0], [0.0], [0.5]])

    class Trees:
        offsets = np.arange(0, 10, 3)

        def __len__(self):
            return 3

        def __getitem__(self, t):
            cut = (4, 1, 7)[t]
            return np.array([[0, cut, 3], [-1, 3 * t + 1, 1], [-1, 3 * t + 2, 1]])

    class Axes:
        shape = (10,)

    # steps from -1 by 4 to 3, by 4 to 7, by one half to 7.5
    found = best_of_each_number(Numbers, Trees(), Axes)
    assert [error for error, _ in found] == pytest.approx([2.0, 0.25, 0.0])
    assert np.count_nonzero(found[1][1][:-1]) == 2


# ------------------------------------------------------------------- the estimator


def test_type_follows_the_ensemble():
    X, y = diabetes()
    pruner = FaithfulPruner(REGRESSORS["forest"], max_changes=0, atol="30%", random_state=0)
    assert is_regressor(pruner)
    assert not is_classifier(pruner)
    pruner.fit(X, y)
    assert pruner.score(X, y) == r2_score(y, pruner.predict(X))
    assert not hasattr(pruner, "predict_proba")
    assert not hasattr(pruner, "classes_")
    classes = FaithfulPruner(RandomForestClassifier(), atol=0.1)
    assert is_classifier(classes)
    assert not is_regressor(classes)


def test_held_out_rows_and_exceptions():
    X, y = diabetes(120)
    pruner = FaithfulPruner(
        RandomForestRegressor(15, max_depth=5, random_state=0),
        max_changes=1,
        atol="20%",
        tolerance=0.05,
        validation_fraction=0.3,
        method="heuristic",
        random_state=0,
    ).fit(X, y)
    assert 0 < pruner.n_exceptions_ <= 0.05 * pruner.n_points_
    assert 0 <= pruner.fidelity_ <= 1
    smallest = pruner.at(n_trees=1)
    assert smallest.n_trees_ == 1
    assert smallest.max_difference_ > smallest.atol_
    assert smallest.n_exceptions_ > pruner.n_exceptions_


def test_display_shows_differences():
    X, y = diabetes()
    pruner = FaithfulPruner(REGRESSORS["forest"], max_changes=0, atol="30%", random_state=0)
    display = FaithfulPathDisplay.from_estimator(pruner.fit(X, y), X)
    np.testing.assert_array_equal(display.exceptions, pruner.path_.max_difference)
    assert (display.disagreement <= display.exceptions).all()
    assert display.ax_.get_ylabel() == "largest difference"


def test_refusals():
    X, y = diabetes()
    with pytest.raises(ValueError, match="atol=None is for classes"):
        FaithfulPruner(REGRESSORS["forest"]).fit(X, y)
    with pytest.raises(ValueError, match="atol='a lot' is not a tolerance"):
        FaithfulPruner(REGRESSORS["forest"], atol="a lot").fit(X, y)
    with pytest.raises(TypeError, match="AdaBoostRegressor"):
        FaithfulPruner(AdaBoostRegressor(n_estimators=3), atol="10%").fit(X, y)
    X, y = load_iris(return_X_y=True)
    with pytest.raises(TypeError, match="more than two classes"):
        FaithfulPruner(GradientBoostingClassifier(n_estimators=2), atol=0.1).fit(X, y)


def test_time_limit_keeps_the_promise():
    X, y = diabetes()
    pruner = FaithfulPruner(REGRESSORS["forest"], max_changes=1, atol="30%", time_limit=1e-9)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        pruner.fit(X, y)
    assert differences(pruner, X).max() == 0


def test_the_same_seed_finds_the_same():
    X, y = diabetes()
    pruner = FaithfulPruner(REGRESSORS["forest"], max_changes=0, atol="30%", random_state=3)
    one, two = clone(pruner).fit(X, y), clone(pruner).fit(X, y)
    np.testing.assert_array_equal(one.weights_, two.weights_)
    assert one.offset_ == two.offset_
