"""Proofs on boxes of cells, against every cell and against integer programming."""

import _thread
import threading
from dataclasses import replace

import numpy as np
import pytest
from cell_grids import columns_of
from coded_trees import check_form
from ensemble_simplify.proof._certify import bound_entries
from hypothesis import given
from hypothesis import strategies as st
from oracles import labels_by_predict, largest_lead
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, VotingClassifier
from sklearn.tree import DecisionTreeClassifier
from strategies import CLASSIFIERS, fitted_classifiers, small_data

from ensemble_simplify.grid import limits
from ensemble_simplify.grid.axes import Axes, children
from ensemble_simplify.grid.thresholds import cut_points
from ensemble_simplify.proof.forest_pair import Space
from ensemble_simplify.reading.forest import Forest, read_forest
from ensemble_simplify.reading.program import (
    Above,
    Link,
    boosted,
    count_of_trees,
    mean_of_trees,
)


def cuts_of(forest):
    return cut_points(forest.feature, forest.threshold, forest.n_features)


def all_labels(model, forest):
    """Class index of every cell; one dimension an axis."""
    cuts = cuts_of(forest)
    return labels_by_predict(model, cuts).reshape(Axes(cuts).shape)


def random_boxes(shape, rng, n):
    for _ in range(n):
        corners = rng.integers(shape, size=(2, len(shape)), dtype=np.int32)
        yield corners.min(axis=0), corners.max(axis=0)
    yield np.zeros(len(shape), dtype=np.int32), np.array(shape, dtype=np.int32) - 1


def inside(labels, lo, hi):
    return labels[tuple(slice(a, b + 1) for a, b in zip(lo, hi, strict=True))]


def check_boxes(space, labels, rng, n=15):
    certifier = space.certifier
    for lo, hi in random_boxes(labels.shape, rng, n):
        part = inside(labels, lo, hi)
        equal, found, cells = certifier.prove(lo, hi)
        assert equal == (part.min() == part.max())
        if equal:
            assert found == (part.flat[0],)
            assert len(cells) == 0
        else:
            assert found[0] != found[1]
            assert found == tuple(labels[tuple(cell)] for cell in cells)
            assert ((cells >= lo) & (cells <= hi)).all()


def grown_labels(tree, shape, lo, hi):
    """What a grown tree answers in every cell of a box; -1 elsewhere."""
    left, right, axis, cut, label = columns_of(tree)
    out = np.full(shape, -1)

    def paint(node, lo, hi):
        if left[node] < 0:
            inside(out, lo, hi)[...] = label[node]
            return
        a = axis[node]
        assert lo[a] <= cut[node] < hi[a]
        assert left[node] == node + 1
        below, above = hi.copy(), lo.copy()
        below[a], above[a] = cut[node], cut[node] + 1
        paint(left[node], lo, below)
        paint(right[node], above, hi)

    paint(0, lo, hi)
    return out


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_every_kind_against_every_cell(kind):
    for seed in range(3):
        X, y = small_data(seed, n_classes=2 + seed)
        model = CLASSIFIERS[kind](seed).fit(X, y)
        forest = read_forest(model)
        check_boxes(Space([forest]), all_labels(model, forest), np.random.default_rng(seed))


@given(fitted_classifiers(), st.integers(0, 1000))
def test_any_ensemble(fitted, seed):
    model, _, _ = fitted
    forest = read_forest(model)
    labels = all_labels(model, forest)
    rng = np.random.default_rng(seed)
    space = Space([forest])
    check_boxes(space, labels, rng, 5)
    for lo, hi in random_boxes(labels.shape, rng, 3):
        tree = space.certifier.grow(lo, hi)
        check_form(tree)
        found = inside(grown_labels(tree, labels.shape, lo, hi), lo, hi)
        np.testing.assert_array_equal(found, inside(labels, lo, hi))


@pytest.mark.parametrize("n_classes", [8, 9, 13])
@pytest.mark.parametrize("kind", ["forest", "voting_hard_weights", "bagging_hard", "adaboost"])
def test_many_classes(kind, n_classes):
    X, _ = small_data(1, n_rows=120, levels=6)
    y = np.arange(120) % n_classes
    model = CLASSIFIERS[kind](3).fit(X, y)
    forest = read_forest(model)
    check_boxes(Space([forest]), all_labels(model, forest), np.random.default_rng(0))


def test_bound_entries():
    value = np.array([[1.0, 3.0, 7.0]])
    assert bound_entries(value).tolist() == [[-2, -6, 2, -4, 6, 4]]
    wide = np.arange(9.0)[None]
    assert bound_entries(wide).tolist() == [[*range(9), *(-k for k in range(9))]]


@pytest.mark.parametrize("voting", ["estimator", "hard"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_integer_programme_agrees(voting, n_classes):
    for seed in range(4):
        X, y = small_data(seed, n_classes=n_classes, n_features=4, levels=5)
        model = RandomForestClassifier(6, max_depth=3, random_state=seed).fit(X, y)
        forest = read_forest(model, voting=voting)
        value = forest.sums.folded
        cuts = cuts_of(forest)
        axes = Axes(cuts)
        trees = axes.encode_forest(forest)
        axis, cut, _ = trees.nodes.T
        votes = value[np.where(axis < 0, cut, 0)]
        nodes = *children(trees.nodes), axis, cut, trees.offsets[:-1], votes
        shape = axes.shape
        space = Space([forest])
        rng = np.random.default_rng(seed)
        for lo, hi in random_boxes(shape, rng, 4):
            label = space.judge(0, lo[None])[0]
            leads = {
                rival: largest_lead(*nodes, shape, lo, hi, rival, label)
                for rival in range(n_classes)
                if rival != label
            }
            # near-ties are the business of the estimator's own arithmetic
            if any(abs(lead) < 1e-6 for lead, _ in leads.values()) and voting == "estimator":
                continue
            beaten = all(
                lead < -1e-6 or (abs(lead) < 1e-6 and label < rival)
                for rival, (lead, _) in leads.items()
            )
            assert space.certifier.prove(lo, hi)[0] == beaten


def stumps(leaves, cuts, make=count_of_trees, **options):
    """A forest of stumps on one feature: `leaves` are pairs of score vectors."""
    n, value = len(leaves), []
    for low, high in leaves:
        value += [np.zeros_like(low), low, high]
    base = 3 * np.arange(n)
    threshold = np.full(3 * n, -2.0)
    threshold[base] = cuts
    left, right, feature = np.full((3, 3 * n), -1)
    left[base], right[base], feature[base] = base + 1, base + 2, 0
    value = np.array(value, dtype=np.float64)
    n_classes = max(2, value.shape[1])
    return Forest(
        n_features=1,
        classes=np.arange(n_classes),
        offsets=np.append(base, 3 * n),
        left=left,
        right=right,
        feature=feature,
        threshold=threshold,
        value=value,
        vote=make(n, value.shape[1], **options),
    )


ONE, TWO = [1.0, 0.0], [0.0, 1.0]


def test_ties_of_a_majority_go_to_the_first_class():
    forest = stumps([(ONE, TWO), (TWO, ONE)], [0.5, 0.5])
    space = Space([forest])
    assert space.certifier.prove(*space.whole)[:2] == (True, (0,))
    # the last cell of three is no tie
    forest = stumps([(ONE, TWO), (TWO, ONE), (ONE, TWO), (TWO, TWO)], [0.5, 0.5, 1.5, 0.5])
    space = Space([forest])
    equal, labels, cells = space.certifier.prove(*space.whole)
    assert (equal, labels) == (False, (0, 1))
    assert cells.tolist() == [[0], [2]]


@pytest.mark.parametrize("tie_upper", [False, True])
def test_ties_of_boosting(tie_upper):
    leaves = [([0.1], [0.2]), ([0.2], [0.1]), ([-0.3], [-0.3])]
    forest = stumps(
        leaves, [0.5, 0.5, 0.5], boosted, init=np.zeros(1), choice=Above(0.0, tie_upper)
    )
    space = Space([forest])
    # 0.1 + 0.2 - 0.3 is above zero in float64, in both orders
    assert space.certifier.prove(*space.whole)[:2] == (True, (1,))
    leaves = [([0.25], [0.5]), ([0.5], [0.25]), ([-0.75], [-0.75])]
    forest = stumps(
        leaves, [0.5, 0.5, 0.5], boosted, init=np.zeros(1), choice=Above(0.0, tie_upper)
    )
    space = Space([forest])
    assert space.certifier.prove(*space.whole)[:2] == (True, (int(tie_upper),))


def test_near_ties_follow_the_order_of_addition():
    # the sums of the two classes are equal numbers, added in another order
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(40):
        p = rng.random(5)
        leaves = [([a, b], [b, a]) for a, b in zip(p, rng.permutation(p), strict=True)]
        forest = stumps(leaves, [0.5] * 5, mean_of_trees, divisor=5.0)
        space = Space([forest])
        own = forest.predict_index(np.array([[0.0], [1.0]]))
        equal, labels, _ = space.certifier.prove(*space.whole)
        assert equal == (own[0] == own[1])
        assert labels == ((own[0],) if equal else tuple(own))
        seen.add(equal)
    assert seen == {True, False}


def test_unknown_arithmetic_is_asked_for():
    rng = np.random.default_rng(1)
    for _ in range(20):
        p = rng.random(5)
        leaves = [([a, b], [b, a]) for a, b in zip(p, rng.permutation(p), strict=True)]
        forest = stumps(leaves, [0.5] * 5, boosted, init=np.zeros(2), link=Link("softmax"))
        space = Space([forest])
        own = forest.predict_index(np.array([[0.0], [1.0]]))
        assert space.certifier.prove(*space.whole)[0] == (own[0] == own[1])
        tree = space.certifier.grow(*space.whole)
        np.testing.assert_array_equal(tree[tree[:, 0] < 0, 1], own if own[0] != own[1] else own[:1])


def test_negative_weights_are_never_bounded():
    X, y = small_data(5)
    model = VotingClassifier(
        [(str(s), CLASSIFIERS["forest"](s)) for s in range(3)], voting="hard", weights=[2, -1, 1.5]
    ).fit(X, y)
    forest = read_forest(model)
    check_boxes(Space([forest]), all_labels(model, forest), np.random.default_rng(0))


def test_no_cuts_at_all():
    X, y = small_data(0)
    forest = read_forest(DecisionTreeClassifier().fit(X, np.full(len(y), "ant")))
    space = Space([forest])
    assert space.certifier.prove(*space.whole)[:2] == (True, (0,))
    assert space.certifier.grow(*space.whole).tolist() == [[-1, 0, 1]]


def test_boxes_outside_the_grid_are_refused():
    X, y = small_data(0)
    space = Space([read_forest(CLASSIFIERS["forest"](0).fit(X, y))])
    lo, hi = space.whole
    with pytest.raises(ValueError, match="not on axis 0"):
        space.certifier.prove(lo, hi + 1)
    with pytest.raises(ValueError, match="entries"):
        space.certifier.prove(lo[1:], hi[1:])


@pytest.fixture(scope="module")
def endless():
    """A comparison that takes hours, and a model whose tree has millions of leaves."""
    X, y = load_breast_cancer(return_X_y=True)
    model = ExtraTreesClassifier(60, max_depth=6, random_state=0).fit(X, y)
    forest = read_forest(model)
    # the same function, but not recognised as such
    other = replace(
        forest,
        vote=replace(
            forest.vote, numbers=replace(forest.vote.numbers, divisor=2 * forest.vote.divisor)
        ),
    )
    return Space([forest, other]), Space([forest])


def test_time_limit(endless):
    both, one = endless
    with limits(-1):
        assert both.certifier.prove(*both.whole)[0] is None
        assert one.certifier.grow(*one.whole) is None


def test_box_limit(endless):
    both, one = endless
    assert both.certifier.prove(*both.whole, max_boxes=1000)[0] is None
    assert both.certifier.n_boxes == 1000
    assert one.certifier.grow(*one.whole, max_leaves=500) is None


def test_a_proof_needs_few_boxes_where_cells_are_countless(endless):
    _, one = endless
    assert np.prod(one.axes.shape, dtype=float) > 1e30
    lo, hi = one.whole
    cell = lo + (hi - lo) // 2
    equal, labels, _ = one.certifier.prove(cell, cell)
    assert equal
    assert labels[0] == one.judge(0, cell[None])[0]


def test_interrupt_leaves_a_working_certifier(endless):
    both, _ = endless
    timer = threading.Timer(0.2, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        both.certifier.prove(*both.whole)
    timer.join()
    lo, _ = both.whole
    equal, _, cells = both.certifier.prove(lo, lo)
    assert equal
    assert len(cells) == 0


@pytest.mark.parametrize("seed", range(5))
def test_sampled_depths_forecast_the_number_of_leaves(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(60, 3)), rng.integers(3, size=60)
    forest = RandomForestClassifier(4, max_depth=4, random_state=seed).fit(X, y)
    space = Space([read_forest(forest)])
    assert space.grow(None) is not None
    n_leaves = (space.certifier.n_boxes + 1) // 2
    sizes = np.exp2(space.certifier.sample_depths(*space.whole, 20_000, seed))
    error = sizes.std() / np.sqrt(len(sizes))
    assert error < 0.2 * n_leaves
    assert abs(sizes.mean() - n_leaves) < 4 * error
    again = np.exp2(space.certifier.sample_depths(*space.whole, 20_000, seed))
    np.testing.assert_array_equal(sizes, again)


def test_a_sample_ends_in_time_and_leaves_the_certifier_as_it_was(endless):
    _, space = endless
    with limits(0.2):
        depths = space.certifier.sample_depths(*space.whole, 10**6, 0)
    assert 0 < len(depths) < 10**6
    small = Space(
        [read_forest(DecisionTreeClassifier(max_depth=2).fit([[0], [1], [2]], [0, 1, 0]))]
    )
    before = small.grow(None)
    small.certifier.sample_depths(*small.whole, 10, 0)
    np.testing.assert_array_equal(before, small.grow(None))
