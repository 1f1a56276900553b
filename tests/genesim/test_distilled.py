"""The tree that GenesimClassifier grows on what a forest says, against what is asked of it."""

import warnings
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from alternatives import plain_tree
from sklearn.datasets import load_wine, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import Bunch, check_random_state

from ensemble_simplify import GenesimClassifier
from ensemble_simplify.genesim import _distilled
from ensemble_simplify.sampling import Alternation

pytestmark = pytest.mark.usefixtures("few_votes")


@pytest.mark.parametrize("weighted", [False, True])
def test_leaves_are_labelled_by_labels_and_votes(weighted, all_votes):
    X, y = make_classification(160, 6, n_informative=4, n_classes=3, flip_y=0.5, random_state=0)
    X = X.astype(np.float32)
    weight = np.random.default_rng(0).integers(0, 4, 160) if weighted else np.ones(160, dtype=int)
    model = GenesimClassifier(min_samples_leaf=4, max_leaf_nodes=23, random_state=3)
    model.fit(X, y, sample_weight=weight if weighted else None)
    kept = weight > 0
    seed = check_random_state(3).randint(np.iinfo(np.int32).max)
    forest = RandomForestClassifier(200, min_samples_leaf=2, oob_score=True, random_state=seed)
    forest.fit(X[kept], y[kept], sample_weight=weight[kept])
    evidence = weight[kept, None] * (np.eye(3)[y[kept]] + forest.oob_decision_function_)
    front = model.pareto_front_
    assert np.all(np.diff(front.n_leaves) > 0)
    assert front.n_leaves[0] == 1 < front.n_leaves[-1] <= 23
    others = 0
    for tree, size in zip(front.trees, front.n_leaves, strict=True):
        assert tree.get_n_leaves() == size
        leaf = tree.apply(X[kept])
        for node in np.unique(leaf):
            inside = leaf == node
            assert inside.sum() == tree.tree_.n_node_samples[node] >= 4
            label = evidence[inside].sum(axis=0).argmax()
            assert (tree.predict(X[kept][inside]) == label).all()
            others += label != np.bincount(y[kept][inside], weight[kept][inside]).argmax()
    assert others  # so that the votes have a say here
    right = forest.oob_decision_function_.argmax(axis=1) == y[kept]
    assert model.ensemble_score_ == pytest.approx(np.average(right, weights=weight[kept]))
    chosen = int(np.argmax(front.merit))
    assert model.decision_tree_ is front.trees[chosen]
    assert model.validation_score_ == front.score[chosen]
    assert (model.n_iter_, len(model.history_.best_score)) == (0, 1)


def test_sizes_are_measured_on_rows_that_were_left_out():
    """Labels drawn at random are not told better than by guessing, though trees fit them."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)), rng.integers(2, size=300)
    front = GenesimClassifier(random_state=0).fit(X, y).pareto_front_
    assert front.trees[-1].score(X.astype(np.float32), y) > 0.75
    assert front.score.max() < 0.6
    assert np.argmax(front.merit) < 3


def error_and_impurity(leaf, target):
    """What a partition costs: wrong labels, and twice the Gini impurity."""
    cost = 0.0
    for one in np.unique(leaf):
        sums = target[leaf == one].sum(axis=0)
        cost += 2 * (sums.sum() - np.square(sums).sum() / sums.sum()) + sums.sum() - sums.max()
    return cost / target.sum()


@pytest.mark.parametrize("seed", [1, 3])
def test_small_trees_have_splits_that_greed_does_not_find(seed):
    """Two columns answer together, and no first split gains: a tree of few leaves tells it all."""
    rng = np.random.default_rng(seed)
    X, new = rng.random((400, 4)), rng.random((2000, 4))
    y, truth = ((rows[:, 0] > 0.5) ^ (rows[:, 1] > 0.5) for rows in (X, new))
    model = GenesimClassifier(random_state=0).fit(X, y)
    assert model.at(n_leaves=8).score(new, truth) > 0.97
    greedy = DecisionTreeClassifier(max_leaf_nodes=8, random_state=0).fit(X, y)
    assert greedy.score(new, truth) < 0.7


def test_prunings_cost_least_of_all_that_a_greedy_tree_has():
    """No tree of a size costs more than any pruning of the greedy tree, listed one by one."""
    rng = np.random.default_rng(2)
    X = rng.integers(6, size=(90, 3)).astype(float)
    target = rng.dirichlet(np.ones(3), 90)
    model = SimpleNamespace(
        max_leaf_nodes=8,
        min_samples_leaf=2,
        n_jobs=None,
        _table=SimpleNamespace(gaps=SimpleNamespace(seen=np.zeros(3, dtype=bool))),
    )
    found = _distilled._prunings(model, X, target, 60)
    greedy = Alternation(
        Bunch(X=X, answers=target, weight=np.ones(90), n_real=60, gaps=None, is_complete=True),
        False,
        least=2,
    ).grown(9)
    least = {}
    splits = np.flatnonzero(~greedy.is_leaf)
    for kept in product((False, True), repeat=len(splits)):
        is_split = np.zeros(len(greedy.nodes), dtype=bool)
        is_split[splits] = kept
        leaf = greedy.ends(is_split)[greedy.leaves(X)]
        size, cost = len(np.unique(leaf)), error_and_impurity(leaf, target)
        least[size] = min(cost, least.get(size, np.inf))
    assert [tree.n_leaves for tree in found] == [1, 2, 3, 4, 6, 8]
    for tree in found:
        leaf = tree.leaves(X)
        assert np.bincount(leaf[:60])[np.unique(leaf)].min() >= 2
        costs = error_and_impurity(leaf, target)
        assert costs <= min(least[size] for size in least if size <= tree.n_leaves) + 1e-9


def test_tree_says_what_the_forest_says_better_than_a_plain_one():
    X, y = make_classification(1500, 8, n_informative=6, flip_y=0.2, random_state=1)
    learned, new = slice(300), slice(300, None)
    model = GenesimClassifier(random_state=0).fit(X[learned], y[learned])
    plain = plain_tree(model, X[learned], y[learned])
    forest = RandomForestClassifier(200, min_samples_leaf=2, random_state=0)
    answers = forest.fit(X[learned], y[learned]).predict(X[new])
    told = [np.mean(tree.predict(X[new]) == answers) for tree in (model, plain)]
    assert told[0] > told[1] + 0.01
    assert abs(model.validation_score_ - model.score(X[new], y[new])) < 0.08


def test_of_many_rows_some_grow_the_trees_and_all_count(monkeypatch):
    monkeypatch.setattr(_distilled, "_MOST_ROWS", 200)
    monkeypatch.setattr(_distilled, "_ONE_FOLD", 150)
    grown = []
    fit = RandomForestClassifier.fit

    def counting(self, X, *args, **kwargs):
        grown.append(len(X))
        return fit(self, X, *args, **kwargs)

    monkeypatch.setattr(RandomForestClassifier, "fit", counting)
    X, y = make_classification(700, 5, random_state=0)
    model = GenesimClassifier(random_state=0).fit(X, y)
    assert set(grown) == {200, 133}  # one of three folds is left out
    assert model.decision_tree_.tree_.n_node_samples[0] == 700


def test_time_limit_gives_a_tree_and_a_warning():
    X, y = load_wine(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="before trees of all sizes had been measured"):
        model = GenesimClassifier(time_limit=1e-9, random_state=0).fit(X, y)
    assert np.isnan(model.pareto_front_.merit).all()
    assert model.at(n_leaves=1).n_leaves_ == 1 <= model.n_leaves_ <= 16
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        timely = GenesimClassifier(time_limit=1e6, random_state=0).fit(X, y)
    whole = GenesimClassifier(random_state=0).fit(X, y)
    np.testing.assert_array_equal(timely.pareto_front_.merit, whole.pareto_front_.merit)
