"""Two votes over joined trees: proofs and counterexamples, against every cell."""

import copy

import numpy as np
import pytest
from ensemble_simplify.grid._regions import leaves_of_cells
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier
from strategies import CLASSIFIERS, fitted_classifiers, small_data

from ensemble_simplify import FaithfulPruner, verify
from ensemble_simplify.proof import stump_sums as _separable
from ensemble_simplify.proof import vote_pair
from ensemble_simplify.proof.forest_pair import Space
from ensemble_simplify.proof.joined_trees import JoinedTrees
from ensemble_simplify.proof.stump_sums import TooMany, both_lead, near_ties
from ensemble_simplify.proof.vote_pair import PairOfVotes
from ensemble_simplify.reading.forest import read_forest, tree_estimators

SUMS = ["forest", "forest_even", "forest_stumps", "bagging", "adaboost", "boosting", "voting_soft"]


def all_cells(axes):
    cells = np.indices(axes.shape, dtype=np.int32).reshape(len(axes.shape), -1).T
    return np.ascontiguousarray(cells)


def check(a, b):
    """What bounds on both say, and what every cell does."""
    space = Space([read_forest(a), read_forest(b)])
    cells = all_cells(space.axes)
    sums = [forest.sums for forest in space.forests]
    pair = PairOfVotes(sums, space.columns, space.trees, space.axes, None, space.differ)
    differ = space.differ(cells)
    equal, found = pair.refute()
    assert equal == (not differ.any())
    if not equal:
        assert space.differ(found).all()
    points = space.axes.points(cells)
    np.testing.assert_array_equal(differ, a.predict(points) != b.predict(points))
    return equal


def stripped(model):
    """A copy of an ensemble without the second half of its trees."""
    other = copy.deepcopy(model)
    other.estimators_ = other.estimators_[: len(other.estimators_) // 2]
    if not isinstance(other, AdaBoostClassifier):
        other.set_params(n_estimators=len(other.estimators_))
    return other


def shuffled(model, rng):
    """A copy whose trees stand in another order."""
    other = copy.deepcopy(model)
    order = rng.permutation(len(other.estimators_))
    other.estimators_ = [other.estimators_[i] for i in order]
    if isinstance(other, AdaBoostClassifier):
        other.estimator_weights_ = other.estimator_weights_[order]
    return other


@given(fitted_classifiers(SUMS), st.integers(0, 100), st.sampled_from(SUMS))
def test_any_two_sums(fitted, seed, kind):
    model, X, y = fitted
    # not all classes, and of them not the first
    known = y != np.unique(y)[0] if len(np.unique(y)) > 2 and seed % 2 else np.ones(len(y), bool)
    check(model, CLASSIFIERS[kind](seed).fit(X[known], y[known]))


@given(fitted_classifiers(SUMS), st.integers(0, 10**6), st.sampled_from(SUMS))
def test_in_a_box_without_regions(fitted, seed, kind):
    model, X, y = fitted
    rng = np.random.default_rng(seed)
    space = Space([read_forest(model), read_forest(CLASSIFIERS[kind](seed % 99).fit(X, y))])
    cells, shape = all_cells(space.axes), np.array(space.axes.shape)
    first = rng.integers(shape, size=(3, len(shape))).astype(np.int32)
    last = np.minimum(first + rng.integers(0, 4, size=first.shape), shape - 1).astype(np.int32)
    counts = np.ones(len(cells), dtype=bool)
    for lo, hi in zip(first, last, strict=True):
        counts &= ~((lo <= cells) & (cells <= hi)).all(axis=1)
    lo = rng.integers(shape).astype(np.int32)
    box = lo, np.maximum(lo, rng.integers(shape)).astype(np.int32)
    sums = [forest.sums for forest in space.forests]
    pair = PairOfVotes(sums, space.columns, space.trees, space.axes, (first, last), space.differ)
    differ = space.differ(cells)
    for where in (None, box):
        inside = counts.copy()
        if where is not None:
            inside &= ((where[0] <= cells) & (cells <= where[1])).all(axis=1)
        equal, found = pair.refute(where)
        assert equal == (not (differ & inside).any())
        if not equal:
            assert space.differ(found).all()
            assert inside[(cells == found[0]).all(axis=1)].all()


@pytest.mark.parametrize("kind", ["forest", "forest_even", "forest_stumps", "adaboost"])
def test_another_order_of_trees(kind):
    """Ties and sums within rounding of ties are the models' own, in their order."""
    rng = np.random.default_rng(0)
    for seed in range(6):
        X, y = small_data(seed, n_classes=2 + seed % 2)
        model = CLASSIFIERS[kind](seed).fit(X, y)
        check(model, shuffled(model, rng))


@pytest.mark.parametrize("kind", ["forest_even", "extra_trees", "adaboost", "boosting"])
def test_one_changed_leaf(kind):
    rng = np.random.default_rng(1)
    seen = set()
    for seed in range(10):
        X, y = small_data(seed, n_classes=2 + seed % 2)
        model = CLASSIFIERS[kind](seed).fit(X, y)
        other = copy.deepcopy(model)
        trees = [tree for tree, _ in tree_estimators(other)]
        tree = trees[rng.integers(len(trees))].tree_
        leaf = rng.choice(np.flatnonzero(tree.children_left < 0))
        values = tree.value[leaf, 0]
        tree.value[leaf, 0] = values[::-1] if len(values) > 1 else -9 * values
        seen.add(check(model, other))
    assert False in seen


@pytest.mark.parametrize("n_classes", [2, 3])
def test_tables_decide_as_boxes_do(n_classes, monkeypatch):
    """Stumps, with next to no boxes before the tables of each feature."""
    monkeypatch.setattr(vote_pair, "ROUNDS", (1, vote_pair.ROUNDS[-1]))
    rng, seen = np.random.default_rng(2), set()
    for seed in range(25):
        X, y = small_data(seed, n_classes=n_classes)
        model = AdaBoostClassifier(n_estimators=5, random_state=seed).fit(X, y)
        # another order of weights that differ in their last bits, or by more
        other = shuffled(model, rng)
        weights = other.estimator_weights_
        if seed % 3:
            weights = weights * (3.7 if seed % 3 == 1 else rng.uniform(0.7, 1.3, len(weights)))
        other.estimator_weights_ = weights
        seen.add((seed % 3, check(model, other)))
    assert {(0, True), (1, True), (2, False)} <= seen


def test_weights_that_are_multiples_and_repeated_trees():
    X, y = small_data(3, n_classes=2)
    model = AdaBoostClassifier(n_estimators=8, random_state=0).fit(X, y)
    scaled = copy.deepcopy(model)
    scaled.estimator_weights_ = scaled.estimator_weights_ * 3.7
    assert check(model, scaled)
    trees = [DecisionTreeClassifier(max_depth=2, random_state=s).fit(X, y) for s in range(3)]

    def vote(members, weights):
        names = [(f"t{i}", FrozenEstimator(tree)) for i, tree in enumerate(members)]
        return VotingClassifier(names, voting="soft", weights=weights).fit(X, y)

    once = vote(trees, [2, 1, 3])
    assert check(once, vote([*trees, *trees], [1, 0.5, 2, 1, 0.5, 1]))
    assert check(once, vote(trees, [1, 0.5, 1.5]))


def test_ties_of_exact_votes_go_to_the_class_of_each():
    """As many votes for each class in very many cells: settled by whose tie it is."""
    X, y = load_breast_cancer(return_X_y=True)
    forest = ExtraTreesClassifier(12, max_features=1, random_state=0).fit(X[::4], y[::4])
    order = np.random.default_rng(0).permutation(12)
    other = copy.deepcopy(forest)
    other.estimators_ = [forest.estimators_[i] for i in order]
    outcome = verify(forest, other)
    assert outcome
    assert outcome.n_boxes < 10_000
    X, y = small_data(1, n_classes=2)
    # the other order of classes decides ties the other way
    even = ExtraTreesClassifier(2, random_state=0).fit(X, y)
    turned = copy.deepcopy(even)
    turned.classes_ = even.classes_[::-1]
    for tree in turned.estimators_:
        tree.tree_.value[...] = tree.tree_.value[:, :, ::-1].copy()
    check(even, turned)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_votes_in_whole_numbers(n_classes):
    """Trees grown to the end vote 0 or 1: about half of all cells are ties of two trees."""
    rng = np.random.default_rng(0)
    seen = set()
    for seed in range(40):
        X, y = rng.normal(size=(9, 2)), rng.integers(n_classes, size=9)
        y[:n_classes] = np.arange(n_classes)
        a = ExtraTreesClassifier(2, random_state=seed).fit(X, y)
        b = ExtraTreesClassifier(2, random_state=seed).fit(X, y)
        assert read_forest(a).sums.is_exact
        # one cell's vote turned, where the other tree says the same or not
        tree = b.estimators_[seed % 2].tree_
        leaf = rng.choice(np.flatnonzero(tree.children_left < 0))
        tree.value[leaf, 0] = np.roll(tree.value[leaf, 0], 1)
        seen.add(check(a, b))
        assert check(a, shuffled(a, rng))
    assert seen == {True, False}


@pytest.mark.parametrize(
    "ensemble",
    [
        AdaBoostClassifier(n_estimators=30, random_state=0),
        GradientBoostingClassifier(n_estimators=10, max_depth=1, random_state=0),
        RandomForestClassifier(8, max_depth=2, random_state=0),
    ],
)
def test_pruned_ensembles_and_those_with_a_tree_less(ensemble):
    X, y = load_iris(return_X_y=True)
    pruner = FaithfulPruner(ensemble, method="heuristic", random_state=0).fit(X, y)
    assert check(pruner.estimator_, pruner.pruned_estimator_)
    assert verify(pruner.estimator_, pruner)
    if not isinstance(ensemble, GradientBoostingClassifier):
        assert not check(pruner.estimator_, stripped(pruner.estimator_))


def test_many_stumps_and_their_pruned_ones():
    """Leads that are the same but for a factor, and others, in seconds."""
    X, y = load_breast_cancer(return_X_y=True)
    model = AdaBoostClassifier(n_estimators=30, random_state=1).fit(X, y)
    pruner = FaithfulPruner(FrozenEstimator(model), method="heuristic", random_state=0).fit(X, y)
    assert pruner.n_trees_ < 30
    assert verify(model, pruner, time_limit=60)
    other = copy.deepcopy(pruner.pruned_estimator_)
    other.estimator_weights_ = other.estimator_weights_ * np.linspace(1, 1.3, pruner.n_trees_)
    outcome = verify(model, other, time_limit=60)
    assert outcome.equal is False
    assert model.predict([outcome.counterexample]) != other.predict([outcome.counterexample])


@pytest.mark.parametrize("kind", ["forest_stumps", "adaboost", "extra_trees"])
def test_joined_trees_add_up_the_same(kind):
    X, y = small_data(2, n_classes=2)
    forest = read_forest(CLASSIFIERS[kind](1).fit(X, y))
    space = Space([forest])
    joined = JoinedTrees(space.axes, space.trees)
    cells = all_cells(space.axes)

    def sums(trees, offsets, value):
        leaves = np.empty((len(offsets) - 1, len(cells)), dtype=np.intp)
        leaves_of_cells(trees, offsets, cells, leaves)
        return value[leaves].sum(axis=0)

    value = np.random.default_rng(0).integers(-9, 10, size=forest.value.shape).astype(float)
    leaves = joined.leaf_sums(value)
    expected = sums(space.trees[0].nodes, space.trees[0].offsets, value)
    np.testing.assert_array_equal(sums(joined.nodes, joined.offsets, leaves), expected)
    centred, constant = joined.centred(leaves)
    np.testing.assert_allclose(
        sums(joined.nodes, joined.offsets, centred) + constant, expected, atol=1e-12
    )
    assert (joined.most(leaves) >= expected.max(axis=0)).all()
    assert (joined.axis_of is not None) == (kind != "extra_trees")
    if joined.axis_of is not None:
        tables = joined.tables(leaves[:, 0])
        added = sum(table[cells[:, a]] for a, table in enumerate(tables))
        np.testing.assert_array_equal(added, expected[:, 0])
        # a sum that is the largest in every axis is the largest
        assert joined.most(leaves)[0] == expected[:, 0].max()


@given(st.integers(0, 10**6))
def test_sums_of_functions_of_one_feature(seed):
    rng = np.random.default_rng(seed)
    shape = rng.integers(1, 5, size=rng.integers(1, 6))
    one, two = ([rng.integers(-3, 4, size=n).astype(float) for n in shape] for _ in range(2))
    cells = np.indices(shape).reshape(len(shape), -1).T
    f, g = (sum(part[cells[:, a]] for a, part in enumerate(parts)) for parts in (one, two))
    start = rng.integers(-2, 3, size=2).astype(float)
    slack = rng.integers(-1, 2, size=2) / 2
    found = both_lead(one, two, start, slack)
    kept = (f + start[0] >= -slack[0]) & (g + start[1] >= -slack[1])
    assert len(found) == 0 or kept.any()
    best = {(f[i], g[i]) for i in np.flatnonzero(kept)}
    best = {p for p in best if not any(q != p and q[0] >= p[0] and q[1] >= p[1] for q in best)}
    assert best == {
        tuple(sum(part[cell[a]] for a, part in enumerate(parts)) for parts in (one, two))
        for cell in found
    }
    expected = cells[np.abs(f + start[0]) <= 1.0]
    for few in (0, _separable.FEW):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_separable, "FEW", few)
            ties = near_ties(one, start[0], 1.0)
        assert sorted(map(tuple, ties.tolist())) == sorted(map(tuple, expected.tolist()))


def test_too_many_sums_are_said():
    parts = [np.arange(3.0) + 0.1 * a for a in range(40)]
    with pytest.raises(TooMany):
        near_ties(parts, 0.0, 1.0)
