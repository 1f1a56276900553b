"""How far apart numbers are: against the models' own answers in every cell."""

import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from strategies import CLASSIFIERS, REGRESSORS, rows_of_cells, small_data

from ensemble_simplify import Domain, verify
from ensemble_simplify.grid.axes import Axes
from ensemble_simplify.reading import model as model_module
from ensemble_simplify.reading.forest import read_forest, tree_estimators

MEANS = ["tree", "forest", "forest_even", "extra_trees", "bagging_subsets", "bagging_forests"]
MEANS += ["voting_soft", "voting_soft_weights", "voting_nested_soft"]


def common_cuts(*models):
    return Axes.of(*(read_forest(model) for model in models)).by_feature


def edge_rows(cuts):
    """Rows at the last float32 of every cell, and at the first."""
    last = rows_of_cells(cuts)
    first = [np.nextafter(axis.astype(np.float32), np.float32(np.inf)) for axis in cuts]
    return np.concatenate([last, rows_of_cells([axis.astype(np.float64) for axis in first])])


def numbers(model, rows):
    if hasattr(model, "classes_"):
        return model.predict_proba(rows)
    return model.predict(rows)[:, None]


def rounded(model, digits, rng=None):
    """A copy with rounded leaf values; with `rng`, some thresholds moved as well."""
    other = copy.deepcopy(model)
    for tree, _ in tree_estimators(other):
        value = tree.tree_.value
        value[...] = np.round(value, digits)
        if rng is not None:
            moved = (tree.tree_.feature >= 0) & (rng.random(tree.tree_.node_count) < 0.2)
            tree.tree_.threshold[moved] += 0.25
    return other


def check(a, b, **options):
    """Verify at tolerances around the largest difference, and compare with all cells."""
    rows = edge_rows(common_cuts(a, b))
    one, two = numbers(a, rows), numbers(b, rows)
    difference = np.abs(one - two)
    largest = float(difference.max())
    for atol in (0.0, 0.5 * largest, np.nextafter(largest, 0), largest, 1.5 * largest + 1e-9):
        for rtol in (0.0, 0.1):
            apart = (difference > atol + rtol * np.abs(two)).any()
            outcome = verify(a, b, atol=atol, rtol=rtol, **options)
            assert outcome.equal == (not apart)
            assert outcome.max_difference <= largest <= outcome.max_difference_bound
            assert outcome.tolerance == (atol, rtol)
            if rtol == 0:
                slack = 1e-9 * (1.0 + np.abs(one).max() + np.abs(two).max()) + 1e-5 * largest
                assert outcome.max_difference_bound <= largest + slack
            if outcome.equal:
                assert outcome.counterexample is None
                continue
            row = outcome.counterexample[None]
            np.testing.assert_array_equal(row, row.astype(np.float32))
            own = [numbers(model, row)[0] for model in (a, b)]
            for answered, given_ in zip(own, outcome.predictions, strict=True):
                np.testing.assert_array_equal(answered, given_)
            assert (np.abs(own[0] - own[1]) > atol + rtol * np.abs(own[1])).any()
    return largest


def regression_data(seed):
    X, _ = small_data(seed, n_classes=2)
    rng = np.random.default_rng(seed)
    return X, X[:, 0] * 3 + np.sin(5 * X[:, 1]) + rng.normal(size=len(X))


@pytest.mark.parametrize("kind", REGRESSORS)
def test_every_regressor_against_its_rounded_copy_and_another(kind):
    X, y = regression_data(1)
    model = REGRESSORS[kind](1).fit(X, y)
    assert check(model, rounded(model, 1)) > 0
    assert check(model, rounded(model, 2, np.random.default_rng(0))) > 0
    assert check(model, REGRESSORS["forest"](5).fit(X, y)) > 0


@given(st.sampled_from(sorted(REGRESSORS)), st.sampled_from(sorted(REGRESSORS)), st.integers(0, 99))
def test_any_two_regressors(first, second, seed):
    X, y = regression_data(seed)
    # targets far from zero, and on both sides of it
    y = y + 1000.0 * (seed % 2)
    check(REGRESSORS[first](seed).fit(X, y), REGRESSORS[second](seed + 1).fit(X, y))


@pytest.mark.parametrize("kind", MEANS)
def test_mean_probabilities(kind):
    for seed in range(2):
        X, y = small_data(seed, n_classes=2 + seed)
        model = CLASSIFIERS[kind](seed).fit(X, y)
        check(model, CLASSIFIERS["forest"](seed + 1).fit(X, y))


BOOSTED = {
    "boosting": lambda s: GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=s),
    "exponential": lambda s: GradientBoostingClassifier(
        n_estimators=6, max_depth=1, learning_rate=1.0, loss="exponential", random_state=s
    ),
    "adaboost": lambda s: AdaBoostClassifier(n_estimators=5, random_state=s),
    "deep adaboost": lambda s: AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=2), n_estimators=4, random_state=s
    ),
}


@pytest.mark.parametrize("first", BOOSTED)
def test_probabilities_of_two_boosted_classes(first):
    for seed, second in enumerate(BOOSTED):
        X, y = small_data(seed, n_classes=2)
        a, b = BOOSTED[first](seed).fit(X, y), BOOSTED[second](seed + 1).fit(X[::2], y[::2])
        rows = edge_rows(common_cuts(a, b))
        largest = float(np.abs(a.predict_proba(rows) - b.predict_proba(rows)).max())
        assert largest > 0
        for atol in (0.3 * largest, largest - 1e-9, largest + 1e-9, 1.5 * largest):
            outcome = verify(a, b, atol=atol)
            assert outcome.equal == (atol > largest)
            assert outcome.max_difference <= largest <= outcome.max_difference_bound
            assert outcome.max_difference_bound <= largest + 1e-4
            if outcome.equal is False:
                row = outcome.counterexample[None]
                assert np.abs(a.predict_proba(row) - b.predict_proba(row)).max() > atol
        near = verify(a, b, atol=largest - 1e-9, X=X[:5], max_changes=3)
        assert near.equal is False
        assert near.max_difference == pytest.approx(largest, abs=1e-12)


def test_probabilities_of_histogram_boosting_and_of_two_scales():
    pytest.importorskip("treelite")
    X, y = load_iris(return_X_y=True)
    X, y = X[50:].astype(np.float32), y[50:]
    models = [
        HistGradientBoostingClassifier(max_iter=5, max_depth=2, random_state=s, learning_rate=r)
        for s, r in enumerate((0.1, 0.2))
    ]
    a, b = (model.fit(X, y) for model in models)
    rows = edge_rows(common_cuts(a, b))
    largest = float(np.abs(a.predict_proba(rows) - b.predict_proba(rows)).max())
    assert verify(a, b, atol=largest + 1e-9)
    assert verify(a, b, atol=largest - 1e-9).equal is False


class Shifted(GradientBoostingClassifier):
    def predict_proba(self, X):
        return super().predict_proba(X) + 0.25


def test_probabilities_that_are_something_else_are_refused():
    X, y = small_data(0, n_classes=2)
    a = GradientBoostingClassifier(n_estimators=3).fit(X, y)
    shifted = Shifted(n_estimators=3).fit(X, y)
    with pytest.raises(TypeError, match=r"Shifted is not supported as it is.*predict_proba says"):
        verify(a, shifted, atol=0.1)
    # and where a sample does not show it
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model_module, "check_sample", lambda read: None)
        with pytest.raises(RuntimeError, match=r"What model_b answers is 0\.25 off"):
            verify(a, shifted, atol=0.1)


def test_classes_that_one_model_does_not_know_have_no_probability():
    X, y = small_data(0, n_classes=3)
    known = y != np.unique(y)[1]
    a = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, y)
    b = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X[known], y[known])
    rows = edge_rows(common_cuts(a, b))
    two = np.zeros((len(rows), 3))
    two[:, [0, 2]] = b.predict_proba(rows)
    largest = np.abs(a.predict_proba(rows) - two).max()
    assert verify(a, b, atol=largest)
    outcome = verify(a, b, atol=np.nextafter(largest, 0))
    assert outcome.equal is False
    assert outcome.max_difference == largest
    assert [len(own) for own in outcome.predictions] == [3, 2]


def test_a_copy_is_equal_and_another_order_of_trees_is_not_quite():
    X, y = load_diabetes(return_X_y=True)
    model = RandomForestRegressor(30, max_depth=6, random_state=0).fit(X, y)
    outcome = verify(model, copy.deepcopy(model))
    assert outcome
    assert outcome.max_difference_bound == 0.0
    assert "proven for every finite input; largest difference 0;" in repr(outcome)
    assert verify(model, copy.deepcopy(model), X=X, max_changes=2).max_difference_bound == 0.0
    other = copy.deepcopy(model)
    other.estimators_ = model.estimators_[::-1]
    assert verify(model, other, atol=1e-9)
    outcome = verify(model, other)
    row = outcome.counterexample[None]
    assert model.predict(row) != other.predict(row)
    assert abs(model.predict(row) - other.predict(row)) < 1e-9
    limited = verify(model, other, atol=1e-10, X=X, max_changes=3, time_limit=0.3)
    assert limited.equal is None
    assert limited.reason == "time"
    assert limited.seconds < 5
    # no difference but of rounding, if any
    trees = [DecisionTreeRegressor(max_depth=8, random_state=s).fit(X, y) for s in range(2)]
    half = RandomForestRegressor(20, max_depth=8, random_state=0).fit(X, y)
    half.estimators_ = trees * 10
    same = copy.deepcopy(half)
    same.estimators_ = [trees[0]] * 10 + [trees[1]] * 10
    outcome = verify(half, same)
    assert outcome.max_difference_bound < 1e-9


def test_the_largest_difference_is_within_rounding_of_the_tolerance():
    """Everywhere off by a tolerance that rounding of sums can hide: neither is claimed."""
    X, y = load_diabetes(return_X_y=True)
    y = np.round(y)
    model = RandomForestRegressor(64, max_depth=4, random_state=0).fit(X, y)
    other = copy.deepcopy(model)
    for tree in other.estimators_:
        tree.tree_.value[...] += 0.1
    exceeding = verify(model, other, atol=0.1 - 1e-9)
    assert exceeding.equal is False
    assert verify(model, other, atol=0.1 + 1e-9)
    row = exceeding.counterexample[None]
    assert abs(model.predict(row) - other.predict(row)) > 0.1 - 1e-9
    # more than any difference that is there, less than can be told apart from 0.1
    outcome = verify(model, other, atol=np.nextafter(exceeding.max_difference, 1) + 1e-12)
    assert outcome.equal is None
    assert outcome.reason == "rounding"
    assert "within rounding of the tolerance" in repr(outcome)
    assert 0.1 < outcome.max_difference_bound < 0.1 + 1e-8


@pytest.mark.parametrize(
    ("max_changes", "n_jobs"), [(0, None), (1, None), (1, 3), (2, None), (2, 2)]
)
def test_near_rows(max_changes, n_jobs):
    X, y = regression_data(3)
    a = GradientBoostingRegressor(n_estimators=5, max_depth=2, random_state=0).fit(X, y)
    b = ExtraTreesRegressor(3, max_depth=3, random_state=0).fit(X, y)
    few = X[:4]
    axes = Axes.of(read_forest(a), read_forest(b))
    cells = np.indices(axes.shape).reshape(len(axes.shape), -1).T
    own = axes.encode_rows(few.astype(np.float32)).T
    changes = (cells[:, None] != own[None]).sum(axis=2).min(axis=1)
    rows = axes.points(cells[changes <= max_changes])
    difference = np.abs(a.predict(rows) - b.predict(rows))
    largest = float(difference.max())
    options = dict(X=few, max_changes=max_changes, n_jobs=n_jobs)
    outcome = verify(a, b, atol=largest, **options)
    assert outcome
    assert outcome.max_difference == largest
    assert largest <= outcome.max_difference_bound <= largest + 1e-9
    outcome = verify(a, b, atol=np.nextafter(largest, 0), **options)
    assert outcome.equal is False
    assert outcome.max_difference_bound >= largest
    changed = np.flatnonzero(
        outcome.counterexample.astype(np.float32) != few[outcome.row].astype(np.float32)
    )
    assert len(changed) <= max_changes
    first, second = outcome.predictions
    assert abs(first - second) == largest
    assert first == a.predict(outcome.counterexample[None])[0]
    relative = (difference / np.abs(b.predict(rows))).max()
    assert verify(a, b, rtol=relative * (1 + 1e-12), **options)
    assert verify(a, b, rtol=relative * (1 - 1e-12), **options).equal is False


def test_near_rows_threads_find_what_one_finds():
    X, y = regression_data(3)
    model = GradientBoostingRegressor(n_estimators=5, max_depth=2, random_state=0).fit(X, y)
    other = GradientBoostingRegressor(n_estimators=5, max_depth=2, random_state=1).fit(X, y + 0.1)
    for atol in (0.0, 0.1, 0.3, 1e3):
        one, many = (verify(model, other, X=X, max_changes=1, atol=atol, n_jobs=n) for n in (1, 4))
        assert (one.equal, one.row, one.predictions) == (many.equal, many.row, many.predictions)
        np.testing.assert_array_equal(one.counterexample, many.counterexample)
        assert one.max_difference == many.max_difference
        assert one.max_difference_bound == many.max_difference_bound


def test_in_a_domain():
    X, y = load_iris(return_X_y=True)
    X = (X > X.mean(axis=0)).astype(float)
    corners = np.array(list(np.ndindex(2, 2, 2, 2)), dtype=float)
    possible = corners[:, 0] + corners[:, 1] <= 1
    seen = set()
    for seed in range(8):
        a = RandomForestRegressor(4, max_depth=3, random_state=seed).fit(X, y)
        b = RandomForestRegressor(4, max_depth=3, random_state=seed + 50).fit(X, y)
        difference = np.abs(a.predict(corners) - b.predict(corners))
        largest = float(difference[possible].max())
        seen.add(largest < difference.max())
        for options in ({}, dict(X=corners[possible][:2], max_changes=4)):
            domain = Domain(at_most_one=[[0, 1]], integers="all", bounds={2: (0, 1), 3: (0, 1)})
            outcome = verify(a, b, atol=largest, domain=domain, **options)
            assert outcome
            assert outcome.max_difference_bound >= largest
            outcome = verify(a, b, atol=np.nextafter(largest, 0), domain=domain, **options)
            assert outcome.equal is False
            row = outcome.counterexample
            assert row[0] + row[1] <= 1
            assert abs(a.predict([row]) - b.predict([row])) == largest
    assert seen == {True, False}


def test_pipelines_and_limits():
    X, y = load_diabetes(return_X_y=True)
    X = X.astype(np.float32).astype(np.float64)
    boosting = GradientBoostingRegressor(n_estimators=30, random_state=0)
    a = make_pipeline(StandardScaler(), boosting).fit(X, y)
    b = copy.deepcopy(a)
    for tree in b[-1].estimators_.ravel():
        tree.tree_.value[...] = np.round(tree.tree_.value, 2)
    assert verify(a, b, atol=0.1 * 30 * 0.005)
    other = GradientBoostingRegressor(n_estimators=200, max_depth=6, subsample=0.5, random_state=1)
    other.fit(X, y)
    outcome = verify(a, other, atol=500, time_limit=0.5)
    assert outcome.equal in (True, None)
    if outcome.equal is None:
        assert outcome.reason == "time"
    limited = verify(a, other, atol=0.99 * outcome.max_difference_bound, max_boxes=5)
    assert limited.equal is None
    assert limited.reason == "boxes"
    assert limited.n_boxes == 5
    assert "undecided at the limit" in repr(limited)
    assert limited.max_difference <= limited.max_difference_bound


def test_what_cannot_be_compared_is_named():
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, y)
    regressor = RandomForestRegressor(3, max_depth=2, random_state=0).fit(X, y)
    with pytest.raises(
        TypeError, match=r"RandomForestRegressor\(...\) is a regressor, RandomForest"
    ):
        verify(forest, regressor)
    hard = VotingClassifier([("a", DecisionTreeClassifier())]).fit(X, y)
    bagged = BaggingClassifier(hard, 2).fit(X, y)
    for model in (
        AdaBoostClassifier(n_estimators=2).fit(X, y),
        GradientBoostingClassifier(n_estimators=2).fit(X, y),
        hard,
        bagged,
    ):
        with pytest.raises(TypeError, match=f"those of {type(model).__name__}"):
            verify(forest, model, atol=0.1)
    with pytest.raises(ValueError, match="voting='hard' goes with labels"):
        verify(forest, forest, voting="hard", atol=0.1)
    for name in ("atol", "rtol"):
        with pytest.raises(ValueError, match=f"The '{name}' parameter of verify must be"):
            verify(regressor, regressor, **{name: -1})
