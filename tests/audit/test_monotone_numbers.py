"""Whether values and probabilities are monotone, against every cell of small models."""

import itertools

import numpy as np
import pytest
from every_cell import EveryCell
from passengers import passengers, pipeline_of
from sklearn.datasets import load_diabetes
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeRegressor
from strategies import CLASSIFIERS, REGRESSORS, small_data

from ensemble_simplify import Domain, is_monotone
from ensemble_simplify.audit import _monotone
from ensemble_simplify.audit._monotone import _NumberSearch

KINDS = ("tree", "forest", "forest_even", "bagging_subsets", "voting_soft_weights", "boosting")
SHARES = {
    **{name: CLASSIFIERS[name] for name in KINDS},
    "adaboost": lambda s: AdaBoostClassifier(n_estimators=5, random_state=s),
    "histogram": lambda s: HistGradientBoostingClassifier(
        max_iter=3, max_leaf_nodes=4, min_samples_leaf=4, random_state=s
    ),
}


@pytest.fixture(params=["trees", "boxes"])
def stages(request, monkeypatch):
    """The search without random lines, with and without a look at single trees first."""
    monkeypatch.setattr(_NumberSearch, "_probed", lambda _: None)
    if request.param == "boxes":
        monkeypatch.setattr(_NumberSearch, "_falls", lambda search: search.pending)


def rising_data(seed):
    """Values that rise with the first feature, and rows."""
    X, _ = small_data(seed)
    rng = np.random.default_rng(seed)
    return X, 2 * X[:, 0] + np.sin(9 * X[:, 1]) * X[:, 2] + rng.normal(0, 0.1, len(X))


def check(truth, outcome, j):
    """Check an outcome, and its rows, by all cells."""
    sign = 1.0 if outcome.increasing else -1.0
    assert outcome.monotone == truth.is_monotone(j, sign)
    assert bool(outcome) == outcome.monotone
    if outcome.monotone:
        assert outcome.counterexample is None
        assert outcome.n_proven == outcome.n_cuts
        return
    rows = truth.numbers(outcome.counterexample)
    first, second = truth.ask(rows)
    assert outcome.predictions == (first, second)
    assert sign * first > sign * second
    same = (rows[0] == rows[1]) | (np.isnan(rows[0]) & np.isnan(rows[1]))
    assert np.flatnonzero(~same).tolist() == [j]
    assert outcome.values == (rows[0, j], rows[1, j])
    assert rows[0, j] < rows[1, j]
    assert truth.inside is None or truth.inside.contains(rows).all()


def check_features(truth, features=range(3), **options):
    seen = set()
    for j, increasing in itertools.product(features, (True, False)):
        outcome = is_monotone(truth.model, j, increasing=increasing, **options)
        check(truth, outcome, j)
        seen.add(outcome.monotone)
    return seen


@pytest.mark.parametrize("kind", REGRESSORS)
def test_values(kind, stages):
    X, y = rising_data(1)
    check_features(EveryCell(REGRESSORS[kind](1).fit(X, y)))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", SHARES)
def test_probabilities(kind, n_classes, stages):
    X, y = small_data(3, n_classes=n_classes, labels="plain")
    model = SHARES[kind](3).fit(X, y)
    column = n_classes - 1
    positive = None if n_classes == 2 else model.classes_[column]
    check_features(EveryCell(model, column), response="probabilities", positive=positive)


@pytest.mark.parametrize("column", [0, 1])
def test_either_of_two_probabilities(column):
    X, y = small_data(6, n_classes=2)
    model = SHARES["histogram"](6).fit(X, y)
    outcome = check_features(
        EveryCell(model, column), response="probabilities", positive=model.classes_[column]
    )
    assert False in outcome


def test_constrained_models_are_proven(monkeypatch):
    # no single tree falls: no box is looked at
    monkeypatch.setattr(_monotone, "ROUNDS", ())
    X, y = rising_data(0)
    options = dict(max_iter=20, min_samples_leaf=4, monotonic_cst=[1, 0, -1], random_state=0)
    values = HistGradientBoostingRegressor(**options).fit(X, y)
    assert is_monotone(values, 0)
    assert is_monotone(values, [0, 2], increasing=[True, False]).increasing == [True, False]
    assert not is_monotone(values, 1)
    for n_classes in (2, 3):
        classes = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
        forest = RandomForestClassifier(
            8, max_depth=3, random_state=0, monotonic_cst=[1, 0, 0] if n_classes == 2 else None
        ).fit(X, classes)
        if n_classes == 2:
            assert is_monotone(forest, 0, response="probabilities")
            assert is_monotone(
                HistGradientBoostingClassifier(**options).fit(X, classes),
                0,
                response="probabilities",
            )
        assert not is_monotone(forest, 1, response="probabilities", positive=0)


def test_trees_that_fall_can_add_up_to_rise(stages):
    X, y = rising_data(2)
    model = GradientBoostingRegressor(
        n_estimators=6, max_depth=1, learning_rate=1.0, random_state=0
    )
    model.fit(X, y)
    truth = EveryCell(model)
    # a step down that the others make up for
    step = next(t for t in model.estimators_.ravel() if t.tree_.feature[0] == 0).tree_
    other = next(t for t in model.estimators_.ravel() if t.tree_.feature[0] != 0).tree_
    value = step.value.ravel()
    low, high = sorted(value[1:3])
    other.feature[0], other.threshold[0] = 0, step.threshold[0]
    step.value[1:3, 0, 0], other.value[1:3, 0, 0] = (
        (low, high),
        (low / 2, low / 2 - (high - low) / 4),
    )
    truth = EveryCell(model)
    assert truth.is_monotone(0, 1.0)
    outcome = is_monotone(model, 0)
    check(truth, outcome, 0)
    check_features(truth)


def test_equal_but_for_rounding():
    # the sums are the same in real numbers, and fall by a digit in doubles
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    model = RandomForestRegressor(3, max_depth=1, bootstrap=False, random_state=0)
    model.fit(X, [0.0, 0.0, 1.0, 1.0])
    for tree, values in zip(model.estimators_, [(0.1, 0.3), (0.2, 0.2), (0.3, 0.1)], strict=True):
        tree.tree_.value[1:3, 0, 0] = values
    low, high = model.predict([[0.0], [3.0]])
    assert low != high
    assert abs(low - high) < 1e-15
    for increasing in (True, False):
        outcome = is_monotone(model, 0, increasing=increasing)
        assert outcome.monotone == ((low <= high) if increasing else (low >= high))


@pytest.mark.parametrize("kind", ["forest", "boosting"])
def test_random_lines_find_what_falls(kind):
    X, y = rising_data(3)
    assert False in check_features(EveryCell(REGRESSORS[kind](3).fit(X, y)))


def test_several_features():
    X, y = rising_data(4)
    model = REGRESSORS["boosting"](4).fit(X, y)
    single = {
        (j, way): bool(is_monotone(model, j, increasing=way))
        for j in range(3)
        for way in (True, False)
    }
    assert set(single.values()) == {True, False}
    for features in ([0], [0, 1], [2, 0], [0, 1, 2]):
        for ways in (True, False, [True, False, True][: len(features)]):
            each = [ways] * len(features) if isinstance(ways, bool) else ways
            outcome = is_monotone(model, features, increasing=ways)
            holds = [single[pair] for pair in zip(features, each, strict=True)]
            assert outcome.monotone == all(holds)
            if all(holds):
                assert outcome.feature == features
                assert outcome.increasing == each
            else:
                at = features.index(outcome.feature)
                assert not holds[at]
                assert outcome.increasing == each[at]
                assert outcome.counterexample[0, outcome.feature] == outcome.values[0]


def test_several_features_of_classes():
    X, y = small_data(3, n_classes=2)
    model = CLASSIFIERS["forest"](0).fit(X, y)
    single = [bool(is_monotone(model, j)) for j in range(3)]
    outcome = is_monotone(model, [0, 1, 2])
    assert outcome.monotone == all(single)
    assert outcome.response == "class"


DOMAINS = {
    "one_hot": Domain(integers=[3], one_hot=[[0, 1, 2]], bounds={3: (0, 4)}),
    "implies": Domain(integers=[3], at_most_one=[[0, 1]], implies=[[1, 2]], bounds={3: (0, 4)}),
}


@pytest.mark.parametrize("name", DOMAINS)
@pytest.mark.parametrize("seed", range(2))
def test_domains(name, seed, stages):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(2, size=(60, 3)), rng.integers(5, size=60)]).astype(float)
    model = RandomForestRegressor(3, max_depth=2, random_state=seed).fit(X, rng.normal(size=60))
    values = {**{j: (0.0, 1.0) for j in range(3)}, 3: range(5)}
    truth = EveryCell(model, None, DOMAINS[name], values)
    seen = check_features(truth, range(4), domain=DOMAINS[name])
    assert False in seen


def test_missing_values():
    X, y = small_data(2, n_classes=2, labels="plain")
    X[np.random.default_rng(2).random(X.shape) < 0.2] = np.nan
    model = RandomForestClassifier(4, max_depth=2, random_state=2).fit(X, y)
    check_features(
        EveryCell(model, 1, missing=(0, 2)), domain=Domain(missing=[0, 2]), response="probabilities"
    )


def test_tables():
    table, y = passengers(1, n=100)
    model = pipeline_of("one_hot", RandomForestClassifier(3, max_depth=2, random_state=2))
    model.fit(table, y)
    outcome = is_monotone(model, ["fare", "age"], response="probabilities", increasing=False)
    assert outcome.positive == "lived"
    if outcome.monotone is False:
        first, second = model.predict_proba(outcome.counterexample)[:, 1]
        assert outcome.predictions == (first, second)
        assert first < second
    with pytest.raises(ValueError, match="feature='sex' holds categories"):
        is_monotone(model, ["fare", "sex"], response="probabilities")


def test_large_models_and_limits(monkeypatch):
    X, y = load_diabetes(return_X_y=True)
    model = GradientBoostingRegressor(n_estimators=40, random_state=0).fit(X, y)
    outcome = is_monotone(model, 2)
    assert outcome.monotone is not None
    if not outcome:
        first, second = model.predict(outcome.counterexample)
        assert first > second
    model = RandomForestRegressor(40, random_state=0).fit(X, y)
    monkeypatch.setattr(_NumberSearch, "_probed", lambda _: None)
    outcome = is_monotone(model, 2, time_limit=1e-9)
    assert outcome.monotone is None
    assert outcome.reason == "time"
    assert "undecided at the limit" in repr(outcome)


def test_what_is_said():
    X, y = rising_data(0)
    tree = DecisionTreeRegressor(max_depth=1, random_state=0).fit(X, y)
    assert repr(is_monotone(tree, [0, 1])).startswith(
        "Monotonicity(value in 0, increasing; 1, increasing: proven for every input; "
    )
    outcome = is_monotone(tree, 0, increasing=False)
    assert repr(outcome).startswith("Monotonicity(value in 0, decreasing: refuted, from ")
    X, y = small_data(6, n_classes=2)
    outcome = is_monotone(SHARES["histogram"](6).fit(X, y), 0, response="probabilities")
    assert repr(outcome).startswith("Monotonicity(probability of 'bee' in 0, increasing: ")


def test_bad_input():
    X, y = small_data(0)
    model = CLASSIFIERS["forest"](0).fit(X, y)
    values = REGRESSORS["forest"](0).fit(X, X[:, 0])
    for wrong, message in [
        (dict(response="probabilities"), "Name the one whose probability"),
        (
            dict(response="probabilities", positive="ant", class_order=["ant", "bee", "cat"]),
            "Leave class_order out",
        ),
        (dict(positive="ant", increasing=[True, False]), "a list of 1 of these"),
        (dict(positive="ant", increasing=[1]), "must be True or False"),
    ]:
        with pytest.raises(ValueError, match=message):
            is_monotone(model, 0, **wrong)
    for response in ("auto", "value"):
        with pytest.raises(ValueError, match="names a class"):
            is_monotone(values, 0, positive=1, response=response)
    with pytest.raises(TypeError, match="which is a regressor"):
        is_monotone(values, 0, response="probabilities")
    with pytest.raises(TypeError, match="is a regressor"):
        is_monotone(values, 0, response="class")
    with pytest.raises(TypeError, match="which is a classifier"):
        is_monotone(model, 0, response="value")
