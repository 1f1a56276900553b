"""Equality of two models: proofs and counterexamples, against every cell of their common grid."""

import copy
import itertools
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import in_domain
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from strategies import CLASSIFIERS, fitted_classifiers, rows_of_cells, small_data

from ensemble_simplify import BornAgainClassifier, Verification, verify
from ensemble_simplify.grid import Stopped
from ensemble_simplify.grid.thresholds import cut_points
from ensemble_simplify.proof import compare
from ensemble_simplify.proof.changed_boxes import numbered
from ensemble_simplify.proof.forest_pair import Space
from ensemble_simplify.reading import forest as reading
from ensemble_simplify.reading.forest import read_forest, tree_estimators
from ensemble_simplify.writing.sklearn_tree import write_classifier


def common_rows(*models):
    """One row in every cell of the grid that the models share."""
    forests = [read_forest(model) for model in models]
    feature = np.concatenate([forest.feature for forest in forests])
    threshold = np.concatenate([forest.threshold for forest in forests])
    cuts = cut_points(feature, threshold, forests[0].n_features)
    return rows_of_cells(cuts)


def check(a, b, rows=None):
    """Verify and compare with every cell."""
    rows = common_rows(a, b) if rows is None else rows
    differ = a.predict(rows) != b.predict(rows)
    outcome = verify(a, b)
    assert outcome.equal == (not differ.any())
    assert bool(outcome) == outcome.equal
    if outcome.equal:
        assert outcome.counterexample is None
        assert outcome.predictions is None
    else:
        row = outcome.counterexample
        assert row.dtype == np.float64
        np.testing.assert_array_equal(row, row.astype(np.float32))
        assert np.isfinite(row).all()
        assert outcome.predictions == (a.predict([row])[0], b.predict([row])[0])
        assert outcome.predictions[0] != outcome.predictions[1]
    return outcome


def tree_of(forest):
    """Nodes of a tree that equals a forest everywhere, and the labels of its leaves."""
    space = Space([forest])
    nodes = space.certifier.grow(*space.whole)
    tree = space.axes.decode(nodes)
    return tree, nodes[tree.leaves, 1]


def written(nodes, labels, forest):
    leaf = np.array([nodes.leaves[0]])
    return write_classifier(
        nodes, labels, None, leaf, np.array([0]), forest.classes, n_features=forest.n_features
    )


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_every_kind_against_its_tree_and_that_tree_with_one_leaf_flipped(kind):
    for seed in range(2):
        X, y = small_data(seed, n_classes=2 + seed)
        model = CLASSIFIERS[kind](seed).fit(X, y)
        forest = read_forest(model)
        nodes, labels = tree_of(forest)
        rows = common_rows(model)
        assert check(model, written(nodes, labels, forest), rows)
        rng = np.random.default_rng(seed)
        for leaf in rng.choice(len(labels), size=min(3, len(labels)), replace=False):
            flipped = labels.copy()
            flipped[leaf] = (labels[leaf] + 1) % forest.n_classes
            assert not check(model, written(nodes, flipped, forest), rows)


@given(fitted_classifiers(), st.integers(0, 100), st.data())
def test_any_two_models(fitted, seed, data):
    model, X, y = fitted
    kind = data.draw(st.sampled_from(["tree", "forest", "voting_hard", "boosting", "bagging"]))
    # not all classes, and of them not the first
    known = y != np.unique(y)[0] if len(np.unique(y)) > 2 and seed % 2 else np.ones(len(y), bool)
    other = CLASSIFIERS[kind](seed).fit(X[known], y[known])
    check(model, other)


@pytest.mark.parametrize("kind", ["forest", "forest_even", "extra_trees", "boosting", "adaboost"])
def test_a_flipped_leaf_of_an_ensemble(kind):
    X, y = small_data(7, n_classes=2)
    model = CLASSIFIERS[kind](7).fit(X, y)
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(8):
        other = copy.deepcopy(model)
        trees = [tree for tree, _ in tree_estimators(other)]
        tree = trees[rng.integers(len(trees))].tree_
        leaf = rng.choice(np.flatnonzero(tree.children_left < 0))
        values = tree.value[leaf, 0]
        tree.value[leaf, 0] = values[::-1] if len(values) > 1 else -9 * values
        seen.add(check(model, other).equal)
    assert False in seen


def changed_copy(model, rng, n_changes):
    """A copy with other thresholds and other leaves here and there."""
    other = copy.deepcopy(model)
    trees = [tree for tree, _ in tree_estimators(other)]
    for _ in range(n_changes):
        tree = trees[rng.integers(len(trees))].tree_
        node = rng.integers(tree.node_count)
        if tree.children_left[node] < 0:
            tree.value[node, 0] = rng.permutation(tree.value[node, 0]) + rng.choice([0, 1e-3])
        else:
            tree.threshold[node] += rng.choice([0.0, 0.25, -0.25])
    return other


@pytest.mark.parametrize("kind", ["forest", "forest_even", "extra_trees", "boosting"])
def test_models_are_equal_outside_the_changed_boxes(kind):
    """On every cell; and the outcome, reached in the boxes, is that of all cells."""
    X, y = small_data(5, n_classes=3)
    model = CLASSIFIERS[kind](5).fit(X, y)
    rng = np.random.default_rng(1)
    seen = set()
    for n_changes in (1, 1, 1, 2, 2, 3):
        other = changed_copy(model, rng, n_changes)
        space = Space([read_forest(model), read_forest(other)])
        outcome = check(model, other)
        if space.changed is None:
            continue
        seen.add(outcome.equal)
        cells = np.indices(space.axes.shape, dtype=np.int32).reshape(len(space.axes.shape), -1).T
        cells = np.ascontiguousarray(cells)
        inside = np.zeros(len(cells), dtype=bool)
        for lo, hi in space.changed:
            inside |= ((lo <= cells) & (cells <= hi)).all(axis=1)
        assert inside.any()
        outside = cells[~inside]
        np.testing.assert_array_equal(space.judge(0, outside), space.judge(1, outside))
    assert seen


def test_changed_models_in_a_domain():
    """A difference outside the domain is none; one inside is found, there."""
    X, y = load_iris(return_X_y=True)
    X = (X > X.mean(axis=0)).astype(float)
    model = RandomForestClassifier(9, max_depth=3, random_state=0).fit(X, y)
    rng, seen = np.random.default_rng(0), set()
    corners = np.array(list(np.ndindex(2, 2, 2, 2)), dtype=float)
    domain = {"at_most_one": [[0, 1]]}
    for _ in range(20):
        other = copy.deepcopy(model)
        tree = other.estimators_[rng.integers(9)].tree_
        leaf = rng.choice(np.flatnonzero(tree.children_left < 0))
        tree.value[leaf, 0] = np.roll(tree.value[leaf, 0], 1)
        differ = model.predict(corners) != other.predict(corners)
        possible = corners[:, 0] + corners[:, 1] <= 1
        outcome = verify(model, other, domain=domain)
        assert outcome.equal == (not differ[possible].any())
        if outcome.equal is False:
            assert outcome.counterexample[0] + outcome.counterexample[1] <= 1
        seen.add((outcome.equal, bool(differ.any())))
    assert {(False, True), (True, True)} <= seen


def test_a_flipped_leaf_of_many_deep_trees():
    """Bounds leave everything open there: it is found by the search for ties."""
    X, y = load_breast_cancer(return_X_y=True)
    model = RandomForestClassifier(80, random_state=0).fit(X, y)
    rng = np.random.default_rng(0)
    for _ in range(3):
        other = copy.deepcopy(model)
        tree = other.estimators_[rng.integers(80)].tree_
        leaf = rng.choice(np.flatnonzero(tree.children_left < 0))
        tree.value[leaf] = tree.value[leaf][:, ::-1]
        outcome = verify(model, other)
        assert outcome.equal is False
        row = outcome.counterexample.reshape(1, -1)
        assert model.predict(row) != other.predict(row)


def test_numbers_of_rows():
    rng = np.random.default_rng(0)
    columns = rng.integers(4, size=(3, 200)).astype(float) / 3
    number = numbered(columns)
    equal = (columns[:, :, None] == columns[:, None]).all(axis=0)
    np.testing.assert_array_equal(number[:, None] == number, equal)


def test_equal_copies_need_one_box():
    X, y = load_breast_cancer(return_X_y=True)
    model = ExtraTreesClassifier(50, max_depth=8, random_state=0).fit(X, y)
    outcome = verify(model, copy.deepcopy(model))
    assert outcome
    assert outcome.n_boxes == 1
    shuffled = copy.deepcopy(model)
    shuffled.estimators_ = shuffled.estimators_[::-1]
    assert verify(model, shuffled, time_limit=0.1).equal is None


@given(fitted_classifiers(), st.integers(0, 100))
def test_copies_and_other_orders(fitted, seed):
    """The same trees give the same answers in their order, or in any, if sums are exact."""
    model, X, _ = fitted
    rows = common_rows(model)
    assert check(model, copy.deepcopy(model), rows).n_boxes == 1
    assert verify(model, copy.deepcopy(model), X=X, max_changes=1)
    if not isinstance(model, TURNED):
        return
    turned = with_trees(model, lambda trees: trees[::-1])
    forests = [read_forest(model), read_forest(turned)]
    space = Space(forests)
    assert space.same is not None
    differ = (model.predict(rows) != turned.predict(rows)).any()
    outcome = verify(model, turned, max_boxes=1)
    if space.same == "in order" or forests[0].sums.is_exact:
        assert not differ
        assert outcome
    else:
        assert outcome.equal is None or outcome.equal != differ
        assert outcome.equal is not None or outcome.reason == "rounding"
    changed = changed_copy(model, np.random.default_rng(seed), 1)
    if (model.predict_proba(rows) != changed.predict_proba(rows)).any():
        assert Space([forests[0], read_forest(changed)]).same is None


TURNED = (RandomForestClassifier, ExtraTreesClassifier, GradientBoostingClassifier)


def with_trees(model, change):
    """A copy with other trees, or with these in another order."""
    other = copy.deepcopy(model)
    other.estimators_ = change(other.estimators_)
    other.set_params(n_estimators=len(other.estimators_))
    return other


def test_what_is_not_among_the_trees_counts():
    """Other classes, weights, starts and sides of missing values make other models."""
    X, y = small_data(0, n_classes=2)
    labels = np.unique(y)
    forest = RandomForestClassifier(3, random_state=0).fit(X, y)
    turned = copy.deepcopy(forest)
    turned.classes_ = labels[::-1]
    votes = [CLASSIFIERS["voting_soft_weights"](0).fit(X, y) for _ in range(2)]
    votes[1].weights = [5, 0.1, 0.1, 0.1]
    boosted = [CLASSIFIERS["boosting"](0).fit(X, y) for _ in range(2)]
    boosted[1].init_.class_prior_ = np.array([0.99, 0.01])
    twice = with_trees(forest, lambda trees: [trees[0], trees[0], trees[1]])
    once = with_trees(forest, lambda trees: [trees[0], trees[1], trees[1]])
    for a, b in ((forest, turned), votes, boosted, (twice, once)):
        assert Space([read_forest(a), read_forest(b)]).same is None
        assert (
            verify(a, b).equal
            == (a.predict(common_rows(a, b)) == b.predict(common_rows(a, b))).all()
        )
    X[::3, 0] = np.nan
    gaps = [HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=2).fit(X, y) for _ in "ab"]
    for stage in gaps[1]._predictors:
        for tree in stage:
            tree.nodes["missing_go_to_left"] ^= 1
    assert verify(*gaps)
    assert not verify(*gaps, domain={"missing": [0]})


def test_many_trees_in_another_order():
    """Settled by comparing trees: no box is divided, however many there are."""
    X, y = load_breast_cancer(return_X_y=True)
    full = RandomForestClassifier(60, random_state=0).fit(X, y)
    assert read_forest(full).sums.is_exact
    turned = with_trees(full, lambda trees: trees[::-1])
    for model in (full, turned):
        outcome = verify(full, model, max_boxes=1)
        assert outcome
        assert outcome.n_boxes == 1
        assert verify(full, model, X=X, max_changes=2)
        outcome = verify(full, model, atol=0, max_boxes=1)
        assert outcome
        assert outcome.max_difference_bound == 0
    shares = RandomForestClassifier(60, max_depth=5, random_state=0).fit(X, y)
    turned = with_trees(shares, lambda trees: trees[::-1])
    outcome = verify(shares, turned, atol=1e-9, max_boxes=1)
    assert outcome
    assert 0 < outcome.max_difference_bound < 1e-9
    outcome = verify(shares, turned, max_boxes=20)
    assert outcome.equal is None
    assert outcome.reason == "rounding"
    assert "tied up to rounding" in repr(outcome)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compare, "TIE_BOXES", 30)
        assert verify(shares, turned).n_boxes == 30


def test_trees_that_cancel():
    """What two models share needs no box: only the rest does."""
    X, y = load_breast_cancer(return_X_y=True)
    model = RandomForestRegressor(40, max_depth=6, random_state=0).fit(X, y)
    other = copy.deepcopy(model)
    for tree in other.estimators_[3:5]:
        tree.tree_.value[...] += 0.25
    other.estimators_ = other.estimators_[::-1]
    outcome = verify(model, other, atol=0.02, max_boxes=1)
    assert outcome
    assert outcome.max_difference_bound == pytest.approx(2 * 0.25 / 40)


def test_a_flipped_leaf_of_a_large_ensemble():
    X, y = load_breast_cancer(return_X_y=True)
    model = ExtraTreesClassifier(50, max_depth=8, random_state=0).fit(X, y)
    other = copy.deepcopy(model)
    tree = other.estimators_[3].tree_
    leaf = np.flatnonzero(tree.children_left < 0)[0]
    tree.value[leaf] = tree.value[leaf][:, ::-1]
    outcome = verify(model, other, max_boxes=1000)
    assert outcome.equal is False
    row = outcome.counterexample.reshape(1, -1)
    assert model.predict(row) != other.predict(row)


def test_born_again():
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(6, max_depth=2, random_state=0)
    born_again = BornAgainClassifier(forest).fit(X, y)
    assert verify(born_again.estimator_, born_again)
    assert verify(born_again, born_again.decision_tree_)
    outcome = verify(born_again, DecisionTreeClassifier(max_depth=1).fit(X, y))
    assert outcome.equal is False


def test_hard_voting():
    X, y = small_data(3, n_classes=2)
    model = CLASSIFIERS["forest"](3).fit(X, y)
    hard = read_forest(model, voting="hard")
    tree = written(*tree_of(hard), hard)
    assert verify(model, tree, voting="hard")
    rows = common_rows(model)
    equal = bool((model.predict(rows) == tree.predict(rows)).all())
    assert verify(model, tree).equal == equal
    other = CLASSIFIERS["forest"](4).fit(X, y)
    outcome = verify(model, other, voting="hard")
    row = outcome.counterexample[None]
    second = read_forest(other, voting="hard")
    assert outcome.predictions == tuple(f.classes[f.predict_index(row)[0]] for f in (hard, second))


def test_labels_count_not_their_order():
    X, y = small_data(2, n_classes=3)
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    turned = copy.deepcopy(tree)
    turned.classes_ = tree.classes_[::-1]
    assert check(tree, turned).equal is False
    value = turned.tree_.value
    value[...] = value[:, :, ::-1].copy()
    rows = common_rows(tree)
    if (np.sort(tree.tree_.value[:, 0])[:, -1] > np.sort(tree.tree_.value[:, 0])[:, -2]).all():
        assert check(tree, turned, rows)
    text = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y.astype(object))
    assert check(tree, text)


def test_models_are_left_alone():
    X, y = small_data(1)
    model = FrozenEstimator(CLASSIFIERS["voting_hard"](1).fit(X, y))
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    before = pickle.dumps(model), pickle.dumps(tree)
    verify(model, tree)
    assert (pickle.dumps(model), pickle.dumps(tree)) == before


def test_data_frames_and_threads_make_no_difference():
    X, y = small_data(1)
    X = pd.DataFrame(X, columns=list("abc"))
    model = RandomForestClassifier(5, max_depth=2, n_jobs=2, random_state=0).fit(X, y)
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert verify(model, tree).equal is False
    assert model.n_jobs == 2


def test_histogram_boosting():
    pytest.importorskip("treelite")
    X, y = load_iris(return_X_y=True)
    model = HistGradientBoostingClassifier(max_iter=2, max_depth=2, random_state=0).fit(X, y)
    forest = read_forest(model)
    nodes, labels = tree_of(forest)
    assert verify(model, written(nodes, labels, forest))
    labels[0] = (labels[0] + 1) % 3
    assert verify(model, written(nodes, labels, forest)).equal is False


TIES = [
    {"one_hot": [[0, 1, 2]], "implies": [[3, 4]]},
    {"at_most_one": [[0, 1, 2]], "implies": [[0, 3, 4]]},
]


@pytest.mark.parametrize("ties", TIES, ids=["one_hot", "at_most_one"])
@pytest.mark.parametrize("kind", [DecisionTreeClassifier, DecisionTreeRegressor])
@pytest.mark.parametrize("seed", range(12))
def test_changes_of_tied_features_count_whether_models_look_at_them_or_not(ties, kind, seed):
    rng = np.random.default_rng(seed)
    everything = np.array(list(itertools.product([0.0, 1.0], repeat=5)))
    inside = everything[[in_domain(row, **ties) for row in everything]]
    seen = rng.permutation(5)[: rng.integers(1, 4)]
    y = rng.integers(2, size=(2, 32)) + (kind is DecisionTreeRegressor) * rng.random((2, 32))
    X = np.where(np.isin(np.arange(5), seen), everything, 0.0)
    a, b = (kind(max_depth=2, random_state=0).fit(X, own) for own in y)
    rows, atol = (
        inside[rng.permutation(len(inside))[:2]],
        0.7 if kind is DecisionTreeRegressor else None,
    )
    for max_changes in range(4):
        changes = (inside[:, None] != rows).sum(axis=2)
        near = inside[(changes <= max_changes).any(axis=1)]
        differ = np.abs(a.predict(near) - b.predict(near)) > (atol or 0.0)
        outcome = verify(a, b, domain=ties, X=rows, max_changes=max_changes, atol=atol)
        assert outcome.equal == (not differ.any())
        if not outcome:
            assert (inside == outcome.counterexample).all(axis=1).any()
            assert (outcome.counterexample != rows[outcome.row]).sum() <= max_changes


def test_limits():
    X, y = load_breast_cancer(return_X_y=True)
    a, b = (ExtraTreesClassifier(40, max_depth=7, random_state=0).fit(X, y) for _ in range(2))
    b.estimators_ = b.estimators_[::-1]
    outcome = verify(a, b, time_limit=0.3)
    assert outcome.equal is None
    assert not outcome
    assert "undecided" in repr(outcome)
    outcome = verify(a, b, max_boxes=300)
    assert outcome.equal is None
    assert outcome.n_boxes == 300


def test_the_limit_of_time_holds_while_sets_of_levels_are_laid_out(monkeypatch):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({name: rng.choice(list("abcdefgh"), 200) for name in ("one", "two")})
    y = X["one"].isin(list("aceg")) ^ X["two"].isin(list("bdf"))
    a, b = (
        make_pipeline(OneHotEncoder(), RandomForestClassifier(5, max_depth=4, random_state=seed))
        for seed in range(2)
    )
    a.fit(X, y), b.fit(X, y)
    alike = X[a.predict(X) == b.predict(X)][:5]
    for asked_of in ({}, {"atol": 0.1}, {"X": alike, "max_changes": 1}):
        asked = []
        monkeypatch.setattr(reading, "check_time", lambda own=asked: own.append(0))
        verify(a, b, **asked_of)
        assert len(asked) == 10, "once a tree"
        # the clock runs out in the third tree
        moments = iter([None] * 2)

        def over(moments=moments):
            if next(moments, True):
                raise Stopped

        monkeypatch.setattr(reading, "check_time", over)
        with monkeypatch.context() as late:
            late.setattr(compare, "is_late", lambda: True)
            outcome = verify(a, b, **asked_of)
        assert (outcome.equal, outcome.reason) == (None, "time")


def test_repr():
    row = np.array([0.5, -1.0])
    found = Verification(False, row, ("a", "b"), 12, 0.0123)
    assert repr(found) == (
        "Verification(equal=False: 'a' against 'b' at [0.5, -1]; 12 boxes in 0.0123 s)"
    )
    assert "proven" in repr(Verification(True, None, None, 1, 0.0))
    with pytest.raises(AttributeError):
        found.equal = True


def test_what_cannot_be_compared_is_named():
    X, y = small_data(0)
    tree = DecisionTreeClassifier().fit(X, y)
    with pytest.raises(ValueError, match=r"3 features, but model_b on 2"):
        verify(tree, DecisionTreeClassifier().fit(X[:, :2], y))
    with pytest.raises(TypeError, match="LogisticRegression"):
        verify(tree, LogisticRegression().fit(X, y))
    with pytest.raises(TypeError, match=r"RandomForestRegressor\(...\) is a regressor"):
        verify(tree, RandomForestRegressor(2).fit(X, X[:, 0]))
    with pytest.raises(NotFittedError):
        verify(tree, DecisionTreeClassifier())
    for name, value in {
        "time_limit": 0,
        "max_boxes": 0,
        "domain": 3,
        "voting": "soft",
    }.items():
        with pytest.raises(ValueError, match=f"The '{name}' parameter of verify must be"):
            verify(tree, tree, **{name: value})


@pytest.mark.parametrize("kind", ["forest", "forest_even", "bagging_hard", "voting_boosted"])
def test_a_copy_with_nodes_made_leaves(kind):
    seen = set()
    for seed in range(15):
        X, y = small_data(seed, n_classes=2 + seed % 2)
        model = CLASSIFIERS[kind](seed).fit(X, y)
        other = copy.deepcopy(model)
        trees = [tree.tree_ for tree, _ in tree_estimators(other)]
        rng = np.random.default_rng(seed)
        for tree in rng.choice(np.array(trees, dtype=object), 2):
            inner = np.flatnonzero(tree.children_left >= 0)
            if inner.size:
                state = tree.__getstate__()
                node = rng.choice(inner)
                state["nodes"]["left_child"][node] = -1
                state["nodes"]["right_child"][node] = -1
                state["nodes"]["feature"][node] = -2
                tree.__setstate__(state)
        seen.add(check(model, other).equal)
    assert False in seen


def with_one_threshold_moved(model):
    """A copy with one threshold a double further: another answer for one double, no float32."""
    other = copy.deepcopy(model)
    for stage in other._predictors:
        for predictor in stage:
            nodes = predictor.nodes
            inner = np.flatnonzero(~nodes["is_leaf"].astype(bool))
            if inner.size:
                old = nodes["num_threshold"][inner[0]]
                nodes["num_threshold"][inner[0]] = np.nextafter(old, np.inf)
                return other, int(nodes["feature_idx"][inner[0]]), np.nextafter(old, np.inf)
    raise AssertionError("the model has no split")


@pytest.mark.parametrize("options", [{}, {"atol": 1e-12}, {"max_changes": 1}])
@pytest.mark.parametrize("seed", range(3))
def test_models_that_compare_doubles_are_compared_on_all_doubles(seed, options):
    X = 1.7e9 + np.random.RandomState(seed).random_sample((80, 3))
    y = X[:, 0] > np.median(X[:, 0])
    model = HistGradientBoostingClassifier(
        max_iter=1, max_leaf_nodes=2, min_samples_leaf=5, learning_rate=1.0
    ).fit(X, y)
    other, j, between = with_one_threshold_moved(model)
    if "max_changes" in options:
        options = {**options, "X": X}
    assert verify(model, copy.deepcopy(model), **options).equal
    outcome = verify(model, other, **options)
    assert outcome.equal is False
    assert outcome.counterexample[j] == between
    row = outcome.counterexample[None]
    assert (model.predict_proba(row) != other.predict_proba(row)).any()
    if "atol" not in options:
        assert outcome.predictions == (model.predict(row)[0], other.predict(row)[0])
    # a tree of scikit-learn's rounds rows itself: the pair is compared on what float32 represents
    tree = DecisionTreeClassifier(max_depth=1).fit(X, model.predict(X))
    assert verify(model, tree).equal is verify(other, tree).equal
