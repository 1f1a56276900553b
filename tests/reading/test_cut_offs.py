"""Decision thresholds and calibrations: labels are those of the model itself, beside every cut."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
import sklearn
from readers import READERS, cells, data, edges
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    BaggingClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.tree import DecisionTreeClassifier

from ensemble_simplify import (
    BornAgainClassifier,
    FaithfulPruner,
    FeatureBudgetPruner,
    is_monotone,
    merge_trees,
    nearest_flip,
    sufficient_box,
    verify,
)
from ensemble_simplify.grid import Axes
from ensemble_simplify.proof import Space, certify
from ensemble_simplify.reading import Model
from ensemble_simplify.reading.program import Cut

X, Y = data(2)
INNER = [
    "forest, missing",
    "extra trees",
    "bagging of forests",
    "soft votes, weights",
    "adaboost of stumps",
    "gradient",
    "gradient, exponential",
    "histogram",
    "xgboost",
    "lightgbm",
    "pipeline, boosting",
    "pruned forest",
]
# scikit-learn scales by a temperature from 1.8 on
HAS_TEMPERATURE = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 8)
METHODS = ["sigmoid", "isotonic", *["temperature"] * HAS_TEMPERATURE]


def inner(name):
    model = FrozenEstimator(READERS[name].model())
    target = Y if model.classes_.dtype.kind == "U" else np.searchsorted(model.classes_, Y == "bee")
    return model, target


def responses(model, rows):
    """Methods, classes, and what the model answers of each class by each method."""
    for method in ("predict_proba", "decision_function"):
        if not hasattr(model, method):
            continue
        found = getattr(model, method)(rows)
        for k, label in enumerate(model.classes_):
            own = found[:, k] if found.ndim == 2 else found if k else -1 * found
            yield method, label, np.unique(own)


def assert_same(model, rows):
    """What is read says what the model says, also where sums of leaves decide."""
    read = Model.of(model)
    forest = read.forest
    found = forest.classes[forest.predict_index(rows)]
    np.testing.assert_array_equal(found, read.ask(rows))
    sums = forest.sums
    if sums is None:
        return forest
    total = sums.folded[forest.apply(rows)].sum(axis=1)
    lead = total[:, 1] - total[:, 0]
    clear = np.abs(lead) > sums.error_bound
    upper = np.where(lead == 0, sums.tie_upper, lead > 0)
    np.testing.assert_array_equal(forest.classes[upper.astype(int)][clear], found[clear])
    assert clear.all() or sums.error_bound > 0
    return forest


def wrapped(model, target, threshold, label, method="auto"):
    return FixedThresholdClassifier(
        model, threshold=threshold, pos_label=label, response_method=method
    ).fit(X, target)


@pytest.mark.parametrize("name", INNER)
def test_thresholds_at_attained_answers_and_one_ulp_beside(name):
    model, target = inner(name)
    rows = edges(model)
    for method, label, attained in responses(model, rows):
        middle = attained[len(attained) // 2]
        beside = [np.nextafter(middle, middle.dtype.type(end)) for end in (-9, 9)]
        for threshold in (middle, float(middle), *beside, 0.3, -1e9, 1e9, "auto"):
            assert_same(wrapped(model, target, threshold, label, method), rows)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", INNER)
def test_calibration_of_one_model_and_thresholds_on_it(name, method):
    model, target = inner(name)
    rows = edges(model)
    model = CalibratedClassifierCV(model, method=method).fit(X, target)
    assert_same(model, rows)
    for _, label, attained in responses(model, rows):
        middle = attained[len(attained) // 2]
        for threshold in (middle, np.nextafter(middle, 0.0), np.nextafter(middle, 1.0), 0.9):
            assert_same(wrapped(FrozenEstimator(model), target, threshold, label), rows)
    again = CalibratedClassifierCV(FrozenEstimator(model), method="isotonic").fit(X, target)
    assert_same(again, rows)


def test_an_isotonic_map_that_falls_by_a_rounding():
    """The class changes three times where a knot comes out one ulp above the step behind it."""
    model = CalibratedClassifierCV(
        FrozenEstimator(READERS["extra trees"].model()), method="isotonic"
    ).fit(X, Y)
    pair = model.calibrated_classifiers_[0]
    pair.calibrators[0].f_ = lambda x: np.where(x == 0.5, 0.6, np.where(x < 0.75, 0.4, 0.9))
    pair.calibrators[0].X_thresholds_ = np.array([0.0, 0.5, 0.75, 1.0])
    cut = Model.of(model, check=False).forest.vote.cut
    assert cut == Cut((0.5, np.nextafter(0.5, 1.0), 0.75), 0)
    assert cut.last == 1


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("method", METHODS)
def test_many_classes_and_folds(method, n_classes):
    """What is no sum is asked; scaling by a temperature keeps sums."""
    rows, target = data(n_classes)
    for make in (READERS["forest"].make, READERS["gradient"].make, READERS["histogram"].make):
        for options in ({"ensemble": False}, {"ensemble": True}):
            model = CalibratedClassifierCV(make(0), method=method, cv=2, **options)
            model.fit(rows, target)
            at = edges(*[pair.estimator for pair in model.calibrated_classifiers_])
            forest = Model.of(model).forest
            np.testing.assert_array_equal(
                forest.classes[forest.predict_index(at)], model.predict(at)
            )
            is_sum = not options["ensemble"] and (n_classes == 2 or method == "temperature")
            assert (forest.sums is not None) == is_sum


def test_tuned_nested_searched_and_unfitted():
    forest = RandomForestClassifier(5, max_depth=2, random_state=0, n_jobs=2).fit(X, Y)
    target = (Y == "bee").astype(int)
    tuned = TunedThresholdClassifierCV(
        RandomForestClassifier(5, max_depth=2, random_state=0), cv=2, thresholds=9
    ).fit(X, target)
    search = GridSearchCV(tuned, {"estimator__max_depth": [1, 2]}, cv=2).fit(X, target)
    once = FixedThresholdClassifier(RandomForestClassifier(3, max_depth=2), threshold=0.2)
    twice = FixedThresholdClassifier(once, threshold=0.6, pos_label=0)
    members = [("a", twice), ("b", DecisionTreeClassifier(max_depth=2)), ("c", once)]
    votes = [VotingClassifier(members, voting=voting) for voting in ("hard", "soft")]
    bagged = BaggingClassifier(twice, 3, random_state=0)
    for model in (tuned, search, *(m.fit(X, target) for m in (twice, *votes, bagged))):
        forest_of = Model.of(model).forest
        rows = edges(model)
        found = forest_of.classes[forest_of.predict_index(rows)]
        np.testing.assert_array_equal(found, Model.of(model, check=False).ask(rows))
    unfitted = FixedThresholdClassifier(forest, threshold=0.3, pos_label="bee")
    rows = edges(forest)
    found = Model.of(unfitted).forest
    np.testing.assert_array_equal(found.classes[found.predict_index(rows)], unfitted.predict(rows))


def test_probabilities_do_not_see_the_cut():
    forest = READERS["extra trees"].model()
    model = wrapped(FrozenEstimator(forest), Y, 0.2, "bee")
    assert verify(model, forest, atol=0.0).equal
    assert not verify(model, forest).equal
    calibrated = CalibratedClassifierCV(FrozenEstimator(forest)).fit(X, Y)
    other = wrapped(FrozenEstimator(calibrated), Y, 0.2, "bee")
    assert verify(calibrated, other, atol=1e-9).equal
    assert not verify(calibrated, READERS["calibrated"].model(), atol=1e-3).equal
    steps = CalibratedClassifierCV(FrozenEstimator(forest), method="isotonic").fit(X, Y)
    with pytest.raises(TypeError, match="atol and rtol compare probabilities"):
        verify(steps, steps, atol=1e-3)


CUT = ["threshold", "threshold, pure leaves", "threshold, boosting", "threshold, stumps"]
CUT += ["calibrated", "calibrated, isotonic", "calibrated, boosting"]


@pytest.mark.parametrize("name", CUT)
def test_a_cut_moved_past_an_attained_answer_is_found(name):
    model = READERS[name].model()
    if not name.startswith("threshold"):
        model = wrapped(FrozenEstimator(model), Y, 0.4, "bee")
    rows = cells(model)
    label = model.pos_label
    attained = np.unique(model.predict_proba(rows)[:, model.classes_.tolist().index(label)])
    above = attained[attained >= model.threshold]
    here, moved = copy.deepcopy(model), copy.deepcopy(model)
    here.threshold, moved.threshold = above[0], np.nextafter(above[0], 2.0)
    assert verify(model, here).equal
    found = verify(model, moved)
    assert not found.equal
    row = np.asarray(found.counterexample)[None]
    assert model.predict(row) != moved.predict(row)


@pytest.mark.parametrize("name", CUT)
def test_born_again_trees_answer_after_the_cut(name):
    model = READERS[name].model()
    rows = cells(model)
    for options in ({}, {"method": "heuristic"}, {"max_changes": 1}, {"max_changes": 0}):
        tree = BornAgainClassifier(FrozenEstimator(model), **options).fit(X, Y)
        at = X if options.get("max_changes") is not None else rows
        np.testing.assert_array_equal(tree.decision_tree_.predict(at), model.predict(at))
        assert tree.verify().equal


@pytest.mark.parametrize("name", [*CUT, "threshold, pipeline"])
def test_pruned_ensembles_keep_the_cut(name):
    model = READERS[name].model()
    rows = cells(model)
    for max_changes in (None, 0, 1):
        pruner = FaithfulPruner(FrozenEstimator(model), max_changes=max_changes).fit(X, Y)
        written = pickle.loads(pickle.dumps(pruner.pruned_estimator_))
        assert type(written) is type(model)
        at = rows if max_changes is None else X
        np.testing.assert_array_equal(written.predict(at), model.predict(at))
        assert pruner.n_trees_ <= Model.of(model).forest.n_trees


def test_weights_hold_under_a_cut():
    """Two trees of three decide under the threshold, with weights that keep its ties."""
    trees = RandomForestClassifier(9, max_depth=1, random_state=3).fit(X, Y)
    model = wrapped(FrozenEstimator(trees), Y, 0.45, "bee")
    pruner = FaithfulPruner(FrozenEstimator(model)).fit(X, Y)
    assert pruner.n_trees_ < 9
    assert isinstance(pruner.pruned_estimator_.estimator_.estimator, VotingClassifier)
    rows = cells(model)
    np.testing.assert_array_equal(pruner.predict(rows), model.predict(rows))


@pytest.mark.parametrize("name", CUT)
def test_audits_of_all_cells(name):
    model = READERS[name].model()
    rows = cells(model)
    label = model.predict(rows)
    for feature in range(3):
        others = np.delete(rows, feature, axis=1)
        order = np.lexsort([rows[:, feature], *others.T])
        same = (others[order][1:] == others[order][:-1]).all(axis=1)
        falls = same & (label[order][1:] == "ant") & (label[order][:-1] == "bee")
        assert is_monotone(model, feature, positive="bee").monotone == (not falls.any())
    row = X[0]
    own = model.predict(row[None])[0]
    flip = nearest_flip(model, row, max_changes=1)
    lines = np.concatenate([np.tile(row, (len(rows), 1)) for _ in range(3)])
    for feature in range(3):
        part = slice(feature * len(rows), (feature + 1) * len(rows))
        lines[part, feature] = rows[:, feature]
    assert (flip.row is None) == (model.predict(lines) == own).all()
    if flip.row is not None:
        assert model.predict(np.asarray(flip.row)[None])[0] != own
    box = sufficient_box(model, row)
    assert box.maximal
    assert box.contains(row[None])
    assert (label[box.contains(rows)] == own).all()


def test_feature_budgets_keep_the_cut():
    model = READERS["threshold"].model()
    pruner = FeatureBudgetPruner(FrozenEstimator(model), lam=0.02).fit(X, Y)
    written = pruner.pruned_estimator_
    assert type(written) is type(model)
    assert written.threshold == model.threshold
    np.testing.assert_array_equal(pruner.predict(X), written.predict(X))


def test_what_is_refused():
    forest = READERS["extra trees"].model()
    model = wrapped(FrozenEstimator(forest), Y, 0.2, "bee")
    with pytest.raises(TypeError, match="does not answer the mean"):
        merge_trees([model, model])
    with pytest.raises(ValueError, match="voting='hard' is not defined"):
        Model.of(model, voting="hard")
    folds = READERS["calibrated, folds"]
    with pytest.raises(TypeError, match="add up votes of trees"):
        FaithfulPruner(FrozenEstimator(folds.model())).fit(*data(3))
    two = CalibratedClassifierCV(DecisionTreeClassifier(max_depth=2), cv=2).fit(X, Y)
    with pytest.raises(TypeError, match="ensemble=False"):
        Model.of(wrapped(FrozenEstimator(two), Y, 0.2, "bee"))


def test_a_replaced_method_inside_is_found():
    model = copy.deepcopy(READERS["threshold"].model())
    model.estimator_.predict_proba = lambda X: np.tile([0.9, 0.1], (len(X), 1))
    with pytest.raises(TypeError, match=r"answers otherwise|replaces"):
        Model.of(model)


def test_boosting_under_a_cut_off_loses_trees_near_rows():
    """Leads have no size of their own beside a cut-off: a fixed one kept all trees."""
    for threshold in (0.2, 0.3, 0.6):
        model = GradientBoostingClassifier(n_estimators=8, max_depth=2, random_state=0).fit(X, Y)
        model = wrapped(FrozenEstimator(model), Y, threshold, "bee")
        pruner = FaithfulPruner(FrozenEstimator(model), max_changes=0).fit(X, Y)
        assert pruner.n_trees_ < 8
        np.testing.assert_array_equal(pruner.predict(X), model.predict(X))


# ------------------------------------------------------------------- ranges of numbers


def assert_ranges(model, rows, column=None):
    """What is below, in and above a range is what the model's own number says, at all ends."""
    read = Model.of(model)
    forest = read.finest if read.forest.in_doubles() is not None else read.forest
    own = read.ask(rows) if column is None else read.ask(rows, "predict_proba")[:, column]
    own = np.asarray(own, dtype=np.float64)
    attained = np.unique(own)
    low, high = attained[len(attained) // 3], attained[2 * len(attained) // 3]
    beside = (np.nextafter(low, np.inf), np.nextafter(high, -np.inf))
    ranges = [(low, high), beside, (low, low), (-np.inf, low), (high, np.inf), (beside[1], high)]
    for low, high in ranges:
        if low > high:
            continue
        asked = forest.in_range(low, high, column)
        wanted = np.where(own < low, 0, np.where(own > high, 2, 1))
        np.testing.assert_array_equal(asked.classes[asked.predict_index(rows)], wanted)
        sums = asked.sums
        if sums is None:
            continue
        total = sums.folded[asked.apply(rows)].sum(axis=1)
        first_two = np.partition(total, -2, axis=1)[:, -2:]
        clear = first_two[:, 1] - first_two[:, 0] > sums.rounding
        np.testing.assert_array_equal(asked.classes[total.argmax(axis=1)][clear], wanted[clear])
        # only what is an end itself, up to rounding, is left to the model
        near = np.minimum(np.abs(own - low), np.abs(own - high)) <= 1e-4 * np.abs(own).max()
        assert (clear | near).all()


@pytest.mark.parametrize("name", ["forest, missing", "adaboost of stumps", "gradient", "xgboost"])
def test_ranges_of_probabilities(name):
    model, target = inner(name)
    rows = edges(model)
    for column in (0, 1):
        assert_ranges(model, rows, column)
    assert_ranges(wrapped(model, target, 0.3, model.classes_[0]), rows, 1)
    calibrated = CalibratedClassifierCV(model, method="sigmoid").fit(X, target)
    assert_ranges(calibrated, rows, 0)


@pytest.mark.parametrize("method", METHODS)
def test_ranges_of_calibrated_probabilities(method):
    model, target = inner("extra trees")
    assert_ranges(CalibratedClassifierCV(model, method=method).fit(X, target), edges(model), 1)


@pytest.mark.parametrize("name", [name for name in READERS if name.endswith("value")])
def test_ranges_of_values(name):
    model = READERS[name].model()
    assert_ranges(model, edges(model))


def test_a_probability_that_is_no_function_of_one_sum_is_refused():
    rows, labels = data(3)
    boosted = GradientBoostingClassifier(n_estimators=2).fit(rows, labels)
    with pytest.raises(TypeError, match="no function of one sum"):
        Model.of(boosted).forest.in_range(0.5, 1.0, 0)
    votes = VotingClassifier([("a", DecisionTreeClassifier())]).fit(rows, labels)
    with pytest.raises(TypeError, match="no function of one sum"):
        Model.of(votes).forest.in_range(0.5, 1.0, 0)


def test_a_class_at_both_ends_of_a_number_is_no_proof_of_one_class():
    """Two changes of the class leave no sum that leads: each cell is asked."""
    model, _ = inner("extra trees")
    forest = Model.of(model).forest
    values = np.unique(model.predict_proba(edges(model))[:, 1])
    cut = Cut((values[len(values) // 2], values[-1]), 0)
    turned = replace(forest, vote=replace(forest.vote, choice=cut))
    assert turned.sums is None
    space = Space([turned, turned.constant(0)], Axes.of(turned))
    held, found, _ = certify(space, *space.whole, 10**6)
    assert held is False
    assert space.judge(0, found)[0] == 1
