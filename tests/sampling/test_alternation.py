"""Trees that are grown and optimised on one sample, beside brute force and scikit-learn."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import Bunch

from ensemble_simplify import RepresenterTree
from ensemble_simplify.sampling import Alternation, ExactPrunings, alternation


def random_rows(seed, n_rows, n_values, *, labels, gaps=False):
    """A sample of a few rows: labels of three classes, or two values a row."""
    random = np.random.default_rng(seed)
    X = random.integers(n_values, size=(n_rows, 3)).astype(np.float64)
    if gaps:
        X[random.random(X.shape) < 0.2] = np.nan
        X[:, 2] = np.nan_to_num(X[:, 2])
    answers = random.normal(size=(n_rows, 2))
    if labels:
        answers = np.eye(3)[random.integers(3, size=n_rows)]
    return Bunch(
        X=X,
        answers=answers,
        weight=random.uniform(0.5, 2.0, size=n_rows),
        gaps=Bunch(seen=np.isnan(X).any(axis=0)) if gaps else None,
        n_real=0,
        is_complete=True,
    )


def loss_of(answer, rows, among, labels):
    """What some rows lose by one answer each."""
    truth = rows.answers[among]
    if labels:
        lost = truth.argmax(axis=1) != answer.argmax(axis=1)
    else:
        lost = np.square(truth - answer).sum(axis=1)
    return float((rows.weight[among] * lost).sum())


def least_loss(rows, among, labels):
    """What some rows lose by the one answer that is best for them."""
    if not among.any():
        return 0.0
    if labels:
        of_label = rows.weight[among] @ rows.answers[among]
        return float(of_label.sum() - of_label.max())
    mean = np.average(rows.answers[among], axis=0, weights=rows.weight[among])
    return loss_of(mean, rows, among, labels)


def all_divisions(X):
    """Every way in which a threshold on a column divides rows, gaps on either side."""
    for x in X.T:
        for value in np.unique(x[~np.isnan(x)]):
            for missing in (False, True):
                yield (x <= value) | (missing & np.isnan(x))


def loss_of_tree(tree, rows, labels):
    mean = tree.mean[tree.leaves(rows.X)]
    everything = np.ones(len(rows.X), dtype=bool)
    return loss_of(mean, rows, everything, labels) / rows.weight.sum()


def answers_below(tree, t, X):
    """The answers that all rows would get from the branch below a node."""
    splits = [tree.splits[i] if i >= t else None for i in range(len(tree.splits))]
    if splits[t] is None:
        return np.tile(tree.mean[t], (len(X), 1))
    left, right = tree.children(t)
    goes_left = splits[t].goes_left(X[:, splits[t].column])[:, None]
    return np.where(goes_left, answers_below(tree, left, X), answers_below(tree, right, X))


@pytest.mark.parametrize("labels", [True, False])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_no_other_split_costs_less_in_the_end(seed, gaps, labels, monkeypatch):
    """Brute force over columns, thresholds and sides of gaps, node by node."""
    monkeypatch.setattr(alternation, "_MOST_PASSES", 10_000)
    monkeypatch.setattr(alternation, "_ENOUGH", 0.0)
    rows = random_rows(seed, 30, 5, labels=labels, gaps=gaps)
    found = Alternation(rows, labels)
    tree = found.optimised(found.grown(12).prunings(5).pruned(5))
    total = rows.weight.sum()
    for t, places in tree._rows_of_nodes(rows.X):
        if tree.splits[t] is None:
            continue
        here = np.zeros(len(rows.X), dtype=bool)
        here[places] = True
        left, right = tree.children(t)
        of_left, of_right = (answers_below(tree, child, rows.X) for child in (left, right))
        goes_left = tree.splits[t].goes_left(rows.X[:, tree.splits[t].column])
        now = loss_of(np.where(goes_left[:, None], of_left, of_right)[here], rows, here, labels)
        for side in all_divisions(rows.X):
            for one, other in ((of_left, of_right), (of_right, of_left)):
                answer = np.where(side[:, None], one, other)
                assert now <= loss_of(answer[here], rows, here, labels) + 1e-9 * total
            if tree.splits[left] is None and tree.splits[right] is None:
                free = least_loss(rows, here & side, labels) + least_loss(
                    rows, here & ~side, labels
                )
                assert now <= free + 1e-9 * total


@pytest.mark.parametrize("labels", [True, False])
@pytest.mark.parametrize("seed", range(20))
def test_the_cost_never_rises(seed, labels, monkeypatch):
    monkeypatch.setattr(alternation, "_ENOUGH", 0.0)
    rows = random_rows(seed, 200, 12, labels=labels, gaps=seed % 2 == 1)
    found = Alternation(rows, labels, max_depth=5 if seed % 3 == 0 else None)
    start = found.grown(30).prunings(9).pruned(9)
    losses = [loss_of_tree(start, rows, labels)]
    for passes in range(1, 6):
        monkeypatch.setattr(alternation, "_MOST_PASSES", passes)
        tree = found.optimised(start)
        losses.append(loss_of_tree(tree, rows, labels))
        assert tree.loss == pytest.approx(losses[-1], abs=1e-12)
        assert tree.n_leaves <= 9
    assert (np.diff(losses) <= 1e-12).all()
    best = found.best([start.prunings(9)], 9)
    assert best.loss <= losses[-1] + 1e-12
    assert best.n_leaves <= 9


def test_optimising_lowers_the_cost_where_greedy_growth_fails():
    """Exclusive or with unequal parts: greedy growth begins with a wrong split."""
    random = np.random.default_rng(0)
    X = random.uniform(size=(400, 5))
    labels = (X[:, 0] > 0.4) != (X[:, 1] > 0.7)
    rows = Bunch(
        X=X,
        answers=np.eye(2)[labels.astype(int)],
        weight=np.ones(400),
        gaps=None,
        n_real=0,
        is_complete=True,
    )
    found = Alternation(rows, True)
    start = found.grown(12).prunings(4)
    best = found.best([start], 4)
    assert best.loss < start.pruned(4).loss


@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error"])
@pytest.mark.parametrize("seed", range(4))
def test_grown_is_scikit_learns_own_tree(seed, criterion):
    random = np.random.default_rng(seed)
    X = random.normal(size=(150, 4)).astype(np.float32).astype(np.float64)
    weight = random.uniform(0.5, 2.0, size=150)
    if criterion == "squared_error":
        kind, target = DecisionTreeRegressor, X @ random.normal(size=4) + random.normal(size=150)
        answers = target[:, None]
    else:
        kind, target = DecisionTreeClassifier, random.integers(3, size=150)
        answers = np.eye(3)[target]
    known = kind(max_leaf_nodes=12, criterion=criterion, max_depth=6, random_state=0)
    known = known.fit(X, target, sample_weight=weight)
    rows = Bunch(X=X, answers=answers, weight=weight, gaps=None, n_real=0, is_complete=True)
    found = Alternation(rows, criterion != "squared_error", max_depth=6)
    tree = found.grown(12, by_entropy=criterion == "entropy")
    tree.centre_thresholds(X)
    expected = known.tree_.value[known.apply(X)].reshape(150, -1)
    np.testing.assert_allclose(tree.mean[tree.leaves(X)], expected, atol=1e-9)
    # where a node has two rows, columns tie
    thresholds = {(split.column, split.threshold) for split in tree.splits if split is not None}
    own = zip(known.tree_.feature, known.tree_.threshold, strict=True)
    assert len(thresholds & {(int(j), float(t)) for j, t in own}) >= 10


@pytest.mark.parametrize("sampler", ["copula", "neighbors"])
def test_trees_of_all_sizes_are_optimised_without_asking_again(sampler):
    random = np.random.default_rng(1)
    X = random.normal(size=(150, 4))
    y = (X[:, 0] * X[:, 1] > 0).astype(int) + (X[:, 2] > 1)
    model = RandomForestClassifier(20, random_state=0).fit(X, y)
    representer = RepresenterTree(
        FrozenEstimator(model), max_leaf_nodes=16, sampler=sampler, n_samples=2000, random_state=0
    ).fit(X)
    asked = representer.n_queries_
    trees = [each.tree for each in representer._grown.trees]
    assert len(trees) == 4  # the large one, and those of 4, 8 and 16 leaves
    prunings, gains = ExactPrunings(trees, 16), []
    for n in range(2, 17):
        which, is_split = prunings.best(n)
        chosen = trees[which].collapsed(is_split)[0]
        gains.append(trees[0].prunings(n).pruned(n).loss - chosen.loss)
        smaller = representer.at(n)
        assert smaller.n_leaves_ == chosen.n_leaves <= n
        assert smaller.n_queries_ == asked
        np.testing.assert_array_equal(
            smaller.predict(X), model.classes_[chosen.mean[chosen.leaves(X)].argmax(axis=1)]
        )
    assert min(gains) >= -1e-12
    assert gains[-1] > 0.0


def test_large_trees_stay_as_they_are_grown():
    random = np.random.default_rng(1)
    X = random.normal(size=(200, 3))
    model = RandomForestClassifier(5, random_state=0).fit(X, random.integers(2, size=200))
    representer = RepresenterTree(
        FrozenEstimator(model),
        max_leaf_nodes=80,
        min_train_samples=0,
        sampling="one_shot",
        n_samples=2000,
    ).fit(X)
    assert len(representer._grown.trees) == 1 + 5  # up to 64
    assert replace(representer._grown.trees[0].tree).n_leaves == 240


@pytest.mark.parametrize("labels", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_leaves_have_enough_real_rows(seed, labels):
    """Counted by the splits; the sums in nodes are those of the rows that come to them."""
    rows = random_rows(seed, 300, 12, labels=labels, gaps=seed % 2 == 1)
    rows.n_real = 40
    for least in (1, 4):
        found = Alternation(rows, labels, least=least)
        trees = [found.grown(30)]
        trees.append(found.best([trees[0].prunings(8)], 8))
        free = Alternation(rows, labels).grown(60)
        trees.append(free.reached(rows, least))
        for tree in trees:
            counts = np.bincount(tree.leaves(rows.X[:40]), minlength=len(tree.nodes))
            assert counts[tree.is_leaf].min() >= least
            assert tree.loss == pytest.approx(loss_of_tree(tree, rows, labels), abs=1e-12)
        assert free.n_leaves > trees[2].n_leaves > 1


def test_no_split_that_is_allowed_costs_less():
    """The first split of a grown tree, by brute force over those that leave both sides rows."""
    for seed in range(8):
        rows = random_rows(seed, 60, 6, labels=True, gaps=False)
        rows.n_real = 12
        tree = Alternation(rows, True, least=3).grown(2)
        real = np.arange(60) < 12
        costs = [
            sum(gini_cost(rows, part) for part in (side, ~side))
            for side in all_divisions(rows.X)
            if min((side & real).sum(), (~side & real).sum()) >= 3 and side.any() and (~side).any()
        ]
        (impurity,) = [tree.impurity[tree.is_leaf].sum() * rows.weight.sum()]
        assert impurity == pytest.approx(min(costs), rel=1e-9)


def gini_cost(rows, part):
    sums = rows.weight[part] @ rows.answers[part]
    return sums.sum() - (sums**2).sum() / sums.sum()


def test_a_predictor_that_is_constant_up_to_rounding_gives_a_leaf():
    X = np.random.default_rng(0).normal(size=(60, 3))
    values = [1e6 / 3, np.nextafter(1e6 / 3, np.inf)]
    representer = RepresenterTree(
        lambda rows: np.where(rows[:, 0] > 0, *values),
        response="value",
        max_leaf_nodes=8,
        sampler="copula",
    ).fit(X)
    assert representer.n_leaves_ == 1


@pytest.mark.parametrize("labels", [True, False])
def test_gaps_alone_can_be_split_off(labels):
    X = np.where(np.arange(40) % 4 == 0, np.nan, 1.0)[:, None]
    answers = np.where(np.isnan(X), [0.0, 1.0], [1.0, 0.0])
    rows = Bunch(
        X=X,
        answers=answers,
        weight=np.ones(40),
        gaps=Bunch(seen=np.array([True])),
        n_real=0,
        is_complete=True,
    )
    found = Alternation(rows, labels)
    tree = found.grown(4)
    assert tree.n_leaves == 2
    np.testing.assert_array_equal(tree.mean[tree.leaves(X)], answers)
    same = found.optimised(tree)
    np.testing.assert_array_equal(same.mean[same.leaves(X)], answers)
