"""Whether some features alone change an answer, against every cell of small models."""

import itertools

import numpy as np
import pandas as pd
import pytest
from every_cell import EveryCell
from passengers import passengers, pipeline_of
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier
from strategies import CLASSIFIERS, REGRESSORS, small_data

from ensemble_simplify import Domain, is_sensitive, sufficient_box
from ensemble_simplify.audit._pairs import Pairs
from ensemble_simplify.proof.numeric_rise import Rise


def histogram(seed, kind=HistGradientBoostingClassifier):
    return kind(max_iter=3, max_leaf_nodes=4, min_samples_leaf=4, random_state=seed)


def xgboost(seed):
    library = pytest.importorskip("xgboost")
    return library.XGBClassifier(n_estimators=3, max_depth=2, n_jobs=1, random_state=seed)


def lightgbm(seed):
    library = pytest.importorskip("lightgbm")
    options = dict(min_child_samples=3, min_data_in_bin=1, verbose=-1, n_jobs=1)
    return library.LGBMClassifier(n_estimators=3, num_leaves=4, random_state=seed, **options)


def catboost(seed):
    library = pytest.importorskip("catboost")
    options = dict(verbose=0, thread_count=1, allow_writing_files=False)
    return library.CatBoostClassifier(iterations=3, depth=2, random_seed=seed, **options)


VALUES = {**REGRESSORS, "histogram": lambda s: histogram(s, HistGradientBoostingRegressor)}
SHARES = {
    **{name: CLASSIFIERS[name] for name in ("tree", "forest", "bagging_subsets")},
    **{name: CLASSIFIERS[name] for name in ("voting_soft_weights", "boosting", "boosting_zero")},
    "adaboost": lambda s: AdaBoostClassifier(n_estimators=5, random_state=s),
    "histogram": histogram,
    "xgboost": xgboost,
    "lightgbm": lightgbm,
    "catboost": catboost,
}
SETS = ([0], [1, 2], [0, 1, 2])


@pytest.fixture(params=["climbs", "boxes"])
def stages(request, monkeypatch):
    """With the quick search for large moves, or without it."""
    if request.param == "boxes":
        monkeypatch.setattr(Rise, "climb", lambda *args: None)

        def none(self, _):
            return np.empty((0, len(self.axes.shape)), dtype=np.int32)

        monkeypatch.setattr(Pairs, "_random", none)


def fitted(make, seed, n_classes=None, **options):
    """A model, and the rows that it was fitted on; values are noisy numbers."""
    X, y = small_data(seed, n_classes=n_classes or 3, labels="plain", **options)
    if n_classes is None:
        rng = np.random.default_rng(seed)
        y = X[:, 0] + np.sin(9 * X[:, 1]) * X[:, 2] + rng.normal(0, 0.2, len(X))
    return make(seed).fit(X, y), X


def check(truth, outcome, features, gap, near=None, max_changes=0):
    """Check an outcome, and its rows, by all cells."""
    assert outcome.sensitive == (truth.move(features, near, max_changes) > gap)
    assert bool(outcome) == outcome.sensitive
    if not outcome.sensitive:
        assert outcome.counterexample is None
        assert outcome.bound is None or outcome.bound <= gap
        return
    rows = truth.numbers(outcome.counterexample)
    answers = truth.ask(rows)
    assert outcome.predictions == tuple(answers)
    if outcome.response == "class":
        assert answers[0] != answers[1]
    else:
        assert abs(answers[0] - answers[1]) > gap
        assert outcome.largest > gap
        assert outcome.bound >= outcome.largest
    same = (rows[0] == rows[1]) | (np.isnan(rows[0]) & np.isnan(rows[1]))
    assert set(np.flatnonzero(~same)) <= set(features)
    assert len(outcome.changes) == (~same).sum()
    assert truth.inside is None or truth.inside.contains(rows).all()
    if near is not None:
        n = np.array([np.delete(rows[0] != row, features).sum() for row in near])
        assert n.min() <= max_changes


def check_gaps(truth, sets=SETS, **options):
    """Check gaps of all sizes, also right at the largest move, and next to it."""
    for features in sets:
        move = truth.move(features)
        gaps = {0.0, move / 2, move, np.nextafter(move, np.inf), np.nextafter(move, 0.0)}
        for gap in sorted(gaps):
            outcome = is_sensitive(truth.model, features, gap=gap, **options)
            check(truth, outcome, features, gap)


@pytest.mark.parametrize("kind", VALUES)
def test_values(kind, stages):
    check_gaps(EveryCell(fitted(VALUES[kind], 1)[0]))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", SHARES)
def test_probabilities(kind, n_classes, stages):
    model, _ = fitted(SHARES[kind], 3, n_classes)
    truth = EveryCell(model, column=n_classes - 1)
    positive = None if n_classes == 2 else model.classes_[-1]
    check_gaps(truth, response="probabilities", positive=positive)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_classes(kind, n_classes, stages):
    model, _ = fitted(CLASSIFIERS[kind], 4, n_classes)
    truth = EveryCell(model)
    for features in SETS[:2]:
        check(truth, is_sensitive(model, features), features, 0)


@pytest.mark.parametrize("max_changes", [0, 1, 2])
def test_near_rows(max_changes):
    seen = []
    kinds = [VALUES["boosting"], VALUES["forest"], SHARES["boosting"], SHARES["histogram"]]
    for make, features in itertools.product(kinds, ([1], [0, 3])):
        is_class = make in (SHARES["boosting"], SHARES["histogram"])
        n_classes = 3 if make is SHARES["histogram"] else 2
        model, X = fitted(make, 5, n_classes if is_class else None, n_features=4, levels=3)
        truth = EveryCell(model, column=1 if is_class else None)
        near = X[:2] + 0.01
        asked = dict(near=near, max_changes=max_changes)
        response = dict(response="probabilities", positive=1) if is_class else {}
        move = truth.move(features, near, max_changes)
        for gap in (0.0, move / 2, move):
            outcome = is_sensitive(model, features, gap=gap, **asked, **response)
            check(truth, outcome, features, gap, near, max_changes)
            seen.append(outcome.sensitive)
        if is_class:
            truth = EveryCell(model)
            outcome = is_sensitive(model, features, **asked)
            check(truth, outcome, features, 0, near, max_changes)
    assert {True, False} == set(seen)


def test_rows_of_a_cell_are_one():
    model, X = fitted(VALUES["boosting"], 0)
    outcome = is_sensitive(model, 0, near=np.repeat(X[:1], 500, axis=0))
    assert outcome.max_changes == 0
    assert outcome.n_boxes < 100


DOMAINS = {
    "one_hot": Domain(integers=[3], one_hot=[[0, 1, 2]], bounds={3: (0, 4)}),
    "implies": Domain(integers=[3], at_most_one=[[0, 1]], implies=[[1, 2]], bounds={3: (0, 4)}),
}


@pytest.mark.parametrize("name", DOMAINS)
@pytest.mark.parametrize("seed", range(2))
def test_domains(name, seed, stages):
    domain, rng = DOMAINS[name], np.random.default_rng(seed)
    X = np.column_stack([rng.integers(2, size=(60, 3)), rng.integers(5, size=60)]).astype(float)
    y = rng.integers(2, size=60)
    values = {**{j: (0.0, 1.0) for j in range(3)}, 3: range(5)}
    sets = ([0], [0, 1], [0, 1, 2], [3], [1, 3])
    # some features of the groups may not be used at all
    model = RandomForestClassifier(3, max_depth=2, random_state=seed).fit(X, y)
    classes = EveryCell(model, None, domain, values)
    for features in sets:
        check(classes, is_sensitive(model, features, domain=domain), features, 0)
    near = classes.rows[rng.choice(len(classes.rows), 2)]
    for features, k in itertools.product(sets, (0, 1)):
        outcome = is_sensitive(model, features, domain=domain, near=near, max_changes=k)
        found = False
        for row in near:
            other = np.delete(np.arange(4), features)
            n = (classes.rows[:, other] != row[other]).sum(axis=1)
            for group in classes.groups(features):
                found |= n[group[0]] <= k and len(set(classes.answers[group])) > 1
        assert outcome.sensitive == found
    check_gaps(EveryCell(model, 1, domain, values), sets, domain=domain, response="probabilities")


def test_missing_values():
    X, y = small_data(2, n_classes=2, labels="plain")
    X[np.random.default_rng(2).random(X.shape) < 0.2] = np.nan
    model = RandomForestClassifier(4, max_depth=2, random_state=2).fit(X, y)
    truth = EveryCell(model, 1, missing=(0, 2))
    check_gaps(truth, domain=Domain(missing=[0, 2]), response="probabilities")
    # rows that lack something say that it may be missing
    near = np.array([[np.nan, 0.1, 0.2]])
    truth = EveryCell(model, 1, missing=(0,))
    move = truth.move([0])
    for gap in (move, np.nextafter(move, 0.0)):
        outcome = is_sensitive(
            model, 0, gap=gap, response="probabilities", near=near, max_changes=2
        )
        check(truth, outcome, [0], gap)


@pytest.mark.parametrize("name", ["one_hot", "ordinal"])
def test_tables(name):
    table, y = passengers(1, n=100)
    model = pipeline_of(name, RandomForestClassifier(3, max_depth=2, random_state=2))
    model.fit(table, y)
    outcome = is_sensitive(model, ["sex", "age"], near=table, max_changes=1)
    assert outcome
    assert set(outcome.changes) <= {"sex", "age"}
    pair = outcome.counterexample
    assert isinstance(pair, pd.DataFrame)
    assert tuple(model.predict(pair)) == outcome.predictions
    assert len(set(outcome.predictions)) == 2
    kept = table.columns.drop(["sex", "age"])
    first, second = (pair[kept].iloc[[i]].reset_index(drop=True) for i in (0, 1))
    pd.testing.assert_frame_equal(first, second)
    same = (table[kept] == first.iloc[0]) | (table[kept].isna() & first.iloc[0].isna())
    assert (~same).sum(axis=1).min() <= 1
    for key, (before, after) in outcome.changes.items():
        assert [before, after] == pair[key].tolist() or pd.isna([before, after]).any()


def test_columns_that_the_model_does_not_look_at():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    unused = [name for name, own in zip(X, model.feature_importances_, strict=True) if own == 0]
    outcome = is_sensitive(model, unused)
    assert outcome.sensitive is False
    assert outcome.features == unused
    assert outcome.n_boxes == 0
    assert not is_sensitive(FrozenEstimator(model), unused, gap=0, response="probabilities", near=X)


def test_large_models_are_proven_or_refuted():
    X, y = load_breast_cancer(return_X_y=True)
    model = GradientBoostingClassifier(n_estimators=60, random_state=0).fit(X, y)
    least, most = np.argsort(model.feature_importances_)[[3, -1]]
    outcome = is_sensitive(
        model, int(least), gap=0.5, response="probabilities", near=X, max_changes=1
    )
    assert outcome.sensitive is False
    outcome = is_sensitive(model, [int(most)], gap=0.5, response="probabilities", near=X)
    assert outcome
    first, second = model.predict_proba(outcome.counterexample)[:, 1]
    assert abs(first - second) > 0.5
    assert (X == outcome.counterexample[0]).sum(axis=1).max() >= X.shape[1] - 1


def test_limits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 12))
    y = X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] + rng.normal(size=200)
    model = RandomForestRegressor(30, random_state=0).fit(X, y)
    far = is_sensitive(model, [0, 2], gap=0).largest
    # ends at the first look at the clock
    outcome = is_sensitive(model, [0, 2], gap=1.02 * far, time_limit=1e-9)
    assert outcome.sensitive is None
    assert not outcome
    assert outcome.reason == "time"
    assert outcome.largest <= 1.02 * far < outcome.bound
    assert "undecided at the limit, no move is larger than " in repr(outcome)
    # more boxes near the rows than could be held, or looked at
    outcome = is_sensitive(model, [0], gap=0.99 * far, near=X, max_changes=5, time_limit=1e-9)
    assert outcome.sensitive is None
    assert outcome.reason == "time"
    outcome = is_sensitive(model, [0], gap=100 * far)
    assert outcome.sensitive is False
    assert "every input moves no further" in repr(outcome)


def test_what_is_said():
    X, y = small_data(0, n_classes=2)
    model = CLASSIFIERS["forest"](0).fit(X, y)
    outcome = is_sensitive(model, [0, 1, 2])
    assert repr(outcome).startswith("Sensitivity(class by 0, 1, 2: 'ant' becomes 'bee' by ") or (
        repr(outcome).startswith("Sensitivity(class by 0, 1, 2: 'bee' becomes 'ant' by ")
    )
    outcome = is_sensitive(model, 0, gap=1, response="probabilities", near=X, max_changes=1)
    assert "probability of 'bee' by 0, beyond 1: proven, every input near the rows " in repr(
        outcome
    )
    assert "(1 other feature changed) moves no further" in repr(outcome)


def test_bad_input():
    X, y = small_data(0)
    model = CLASSIFIERS["forest"](0).fit(X, y)
    values = REGRESSORS["forest"](0).fit(X, X[:, 0])
    for wrong, message in [
        (dict(gap=0.1), "gap=0.1 is for numbers"),
        (dict(positive="ant"), "but the class is asked about"),
        (dict(max_changes=1), "needs rows, but near=None"),
        (dict(response="probabilities"), "Name the one whose probability"),
        (dict(response="probabilities", positive="none"), "not one of the classes"),
        (dict(near=X[:, :2]), "features"),
        (dict(near=X, domain=Domain(bounds={0: (0, 0.1)})), "outside the domain"),
    ]:
        with pytest.raises(ValueError, match=message):
            is_sensitive(model, 0, **wrong)
    with pytest.raises(ValueError, match="indices from 0 to 2"):
        is_sensitive(model, [0, 3])
    with pytest.raises(ValueError, match="a feature twice"):
        is_sensitive(model, [0, 0])
    with pytest.raises(ValueError, match="no feature"):
        is_sensitive(model, [])
    with pytest.raises(ValueError, match="names a class"):
        is_sensitive(values, 0, positive=1)
    for asked, response in ((model, "value"), (values, "probabilities"), (values, "class")):
        with pytest.raises(TypeError, match="Use response="):
            is_sensitive(asked, 0, response=response)
    hard = CLASSIFIERS["voting_hard"](0).fit(X, y)
    with pytest.raises(TypeError, match="Ask about the class"):
        is_sensitive(hard, 0, response="probabilities", positive="ant")


def test_rows_of_a_frame_say_what_can_be():
    # between 1.2 and 1.7 there is no whole number of years, and no gap in the rows
    X = np.array([[0.0], [1.1], [1.3], [1.6], [1.8], [3.0]] * 2)
    model = DecisionTreeClassifier(random_state=0).fit(X, np.array([0, 0, 1, 1, 0, 0] * 2))
    near = pd.DataFrame([[1], [3]])
    whole = is_sensitive(model, 0, near=near)
    assert whole.sensitive is False
    assert (whole.keeping, whole.domain.integers) == (("whole numbers",), [0])
    assert "every input near the rows (0 other features changed), keeping whole numbers has" in (
        repr(whole)
    )
    box = sufficient_box(model, near.iloc[[0]])
    assert "0 wherever every input; maximal, keeping whole numbers" in repr(box)
    # every finite input: as given, or where the rows are no frame
    for asked, domain in ((near, Domain()), (near.to_numpy(), None)):
        pair = is_sensitive(model, 0, near=asked, domain=domain)
        assert (pair.sensitive, pair.keeping) == (True, ())
        low, high = pair.changes[0]
        assert 1.2 < low <= 1.7 or 1.2 < high <= 1.7
        assert sufficient_box(model, asked[:1], domain=domain).features == [0]


@pytest.mark.parametrize("seed", range(3))
def test_pairs_near_rows_of_a_frame_are_of_whole_numbers(seed):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.integers(0, 4, (40, 3)), columns=["a", "b", "c"])
    noise = rng.normal(size=table.shape) * 0.2
    y = (table.a + table.b + rng.integers(0, 3, 40) > 4).astype(int)
    # splits lie anywhere: it has learned other numbers than those that are asked about
    model = RandomForestClassifier(3, max_depth=4, random_state=seed).fit(table + noise, y)
    near = table.iloc[:4]
    every = np.arange(-1, 6)
    alone = np.repeat(near.to_numpy(), len(every), axis=0)
    alone[:, 1] = np.tile(every, len(near))
    answers = model.predict(pd.DataFrame(alone, columns=table.columns)).reshape(len(near), -1)
    truth = bool((answers != answers[:, :1]).any())
    found = is_sensitive(model, "b", near=near)
    assert found.sensitive is truth
    if truth:
        assert (found.counterexample == np.floor(found.counterexample)).all(axis=None)
