"""BudgetForestClassifier against greedy search by hand."""

import pickle
import signal
import threading
from itertools import product

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.tree import export_text

from ensemble_simplify import BudgetForestClassifier, FeatureBudgetPruner
from ensemble_simplify.feature_budget._forest import _BudgetTree

SHAPES = {"threshold_pairs": (0.0, 1.0, 2.5), "powers": (2.0, 3.0)}
CASES = [(name, shape) for name, shapes in SHAPES.items() for shape in shapes]


def impurity(counts, name, shape):
    """The impurity written out as its definition reads."""
    n = np.asarray(counts, dtype=float)
    if name == "threshold_pairs":
        pairs = [(a, b) for i, a in enumerate(n) for j, b in enumerate(n) if i != j]
        return sum(max(0, max(0, a - shape) * max(0, b - shape) - shape**2) for a, b in pairs)
    return n.sum() ** shape - (n**shape).sum()


def options_of(name, shape):
    return {"impurity": name, "power" if name == "powers" else "alpha": shape}


@pytest.mark.parametrize(("name", "shape"), CASES)
@given(st.integers(0, 10**6))
def test_impurities_decide_at_which_price_the_split_changes(name, shape, seed):
    """Two binary features: the dearer one is taken up to the ratio of what they save."""
    rng = np.random.default_rng(seed)
    n, n_classes = int(rng.integers(4, 30)), int(rng.integers(2, 5))
    X, y = rng.integers(0, 2, (n, 2)), rng.integers(0, n_classes, n)
    weight = rng.integers(1, 4, n).astype(float)

    def drop(k):
        sides = [
            np.bincount(y[s], weight[s], minlength=n_classes) for s in (X[:, k] == 0, X[:, k] == 1)
        ]
        everything = impurity(sides[0] + sides[1], name, shape)
        return everything - max(impurity(side, name, shape) for side in sides)

    first, second = drop(0), drop(1)
    if min(first, second) <= 1e-6 * max(first, second):
        return
    for factor, taken in ((1 - 1e-7, 1), (1 + 1e-7, 0)):
        cost = [1.0, factor * second / first]
        tree = _BudgetTree(costs=cost, max_depth=1, **options_of(name, shape)).fit(X, y, weight)
        assert tree.tree_.feature[0] == taken


counts = st.lists(st.integers(0, 6), min_size=2, max_size=4)


@pytest.mark.parametrize(("name", "shape"), CASES)
@given(counts, st.data())
def test_impurity_is_admissible(name, shape, n, data):
    """The definitions are, as the paper asks: zero on pure sets, monotone, supermodular."""

    def f(m):
        return impurity(m, name, shape)

    assert f(n) >= 0
    assert f([n[0]] + [0] * (len(n) - 1)) == 0
    smaller = [data.draw(st.integers(0, m)) for m in n]
    assert f(smaller) <= f(n) + 1e-9
    one = data.draw(st.integers(0, len(n) - 1))
    grow = np.eye(len(n))[one]
    assert f(n + grow) - f(n) >= f(smaller + grow) - f(smaller) - 1e-9


def best_split(X, y, cost, name, shape, n_classes):
    """The best score of all splits, and the splits that reach it."""
    total = impurity(np.bincount(y, minlength=n_classes), name, shape)
    scores = {}
    for k, column in enumerate(X.T):
        values = np.unique(column)
        for t in (values[:-1] + values[1:]) / 2:
            sides = [np.bincount(y[s], minlength=n_classes) for s in (column <= t, column > t)]
            worst = max(impurity(side, name, shape) for side in sides)
            scores[k, t] = (total - worst) / cost[k]
    best = max(scores.values(), default=0.0)
    return best, [split for split, score in scores.items() if score >= best - 1e-9], total


@pytest.mark.parametrize(("name", "shape"), CASES)
@given(st.integers(0, 10**6))
def test_every_split_is_greedy(name, shape, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 60))
    X = rng.choice([-1e30, -2.0, -1e-40, 0.0, 1.0, 2.5, 3.0, 1e30], (n, 3)).astype(np.float32)
    y = ((X[:, 0] > 0) + (X[:, 1] > 0) * rng.integers(2, size=n)) % 3
    cost = rng.uniform(0.5, 3.0, 3)
    tree = _BudgetTree(costs=cost, **options_of(name, shape)).fit(X, y)
    paths = tree.decision_path(X).toarray() > 0
    structure = tree.tree_
    y = np.unique(y, return_inverse=True)[1]
    for node in range(structure.node_count):
        rows = paths[:, node]
        best, splits, total = best_split(X[rows], y[rows], cost, name, shape, 3)
        if structure.feature[node] < 0:
            assert total <= 1e-9 or best <= 1e-9
        else:
            # Any threshold between the same values is the same split.
            column = X[rows, structure.feature[node]]
            left = column <= structure.threshold[node]
            assert any(
                structure.feature[node] == k and np.array_equal(left, column <= t)
                for k, t in splits
            )


def test_limits():
    X, y = load_breast_cancer(return_X_y=True)
    tree = _BudgetTree(max_depth=3, min_samples_leaf=7).fit(X, y)
    assert tree.get_depth() <= 3
    leaves = tree.apply(X)
    assert np.unique(leaves, return_counts=True)[1].min() >= 7
    assert _BudgetTree().fit(X, y).score(X, y) == 1.0


def test_integer_weights_equal_repeated_rows():
    X, y = load_iris(return_X_y=True)
    weight = np.random.default_rng(0).integers(0, 3, len(X))
    a = _BudgetTree().fit(X, y, weight)
    b = _BudgetTree().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert export_text(a) == export_text(b)


def test_dear_features_are_avoided():
    X, y = load_breast_cancer(return_X_y=True)
    cost = np.ones(30)
    cost[::2] = 50.0
    cheap = BudgetForestClassifier(n_estimators=10, feature_costs=cost, random_state=0).fit(X, y)
    plain = BudgetForestClassifier(n_estimators=10, random_state=0).fit(X, y)
    assert cheap.score(X, y) > 0.95

    def mean_cost(forest):
        used = np.zeros(X.shape, dtype=bool)
        for tree in forest.estimators_:
            paths = tree.decision_path(X).toarray() > 0
            for node, k in enumerate(tree.tree_.feature):
                if k >= 0:
                    used[paths[:, node], k] = True
        return (used @ cost).mean()

    assert mean_cost(cheap) < 0.5 * mean_cost(plain)


def test_is_an_input_of_the_pruner():
    frame = load_breast_cancer(as_frame=True)
    costs = {name: 1.0 + i for i, name in enumerate(frame.data.columns)}
    forest = BudgetForestClassifier(n_estimators=8, feature_costs=costs, random_state=0)
    pruner = FeatureBudgetPruner(forest, feature_costs=costs, lam=0.0005)
    pruner.fit(frame.data, frame.target)
    assert isinstance(pruner.pruned_estimator_, BudgetForestClassifier)
    assert pruner.cost_ < pruner.unpruned_cost_
    assert pruner.estimator_.feature_costs_.tolist() == list(costs.values())
    again = pickle.loads(pickle.dumps(pruner))
    assert np.array_equal(again.predict(frame.data), pruner.predict(frame.data))
    oob = clone(pruner).set_params(errors="oob").fit(frame.data, frame.target)
    assert oob.unpruned_error_ > 0.02


def test_same_seed_same_forest_and_any_number_of_jobs():
    X, y = load_iris(return_X_y=True)
    with joblib.parallel_config("threading"):
        a, b = (
            BudgetForestClassifier(n_estimators=4, random_state=1, n_jobs=jobs).fit(X, y)
            for jobs in (None, 2)
        )
    assert np.array_equal(a.predict_proba(X), b.set_params(n_jobs=None).predict_proba(X))
    names = np.array(["one", "two", "three"])[y]
    assert set(BudgetForestClassifier(n_estimators=2).fit(X, names).predict(X)) <= set(names)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"feature_costs": [1, 2]}, "shape"),
        ({"feature_costs": [0, 0, 0, 0]}, "all zero"),
        ({"feature_costs": [1, 1, -1, 1]}, r"feature_costs\[2\]"),
        ({"feature_costs": {"petal": 1.0}}, "petal"),
        ({"power": 1.0}, "power"),
        ({"alpha": -1.0}, "alpha"),
        ({"impurity": "pairs"}, "impurity"),
    ],
    ids=str,
)
def test_bad_parameters(options, message):
    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame(X, columns=list("abcd"))
    with pytest.raises(ValueError, match=message):
        BudgetForestClassifier(n_estimators=2, **options).fit(frame, y)


def test_all_small_tables_of_two_binary_features():
    """Every labelling of the four corners is learned."""
    X = np.array(list(product((0.0, 1.0), repeat=2)))
    for y in product((0, 1), repeat=4):
        if len(set(y)) == 2 and y not in ((0, 1, 1, 0), (1, 0, 0, 1)):
            assert _BudgetTree(impurity="powers").fit(X, y).score(X, np.array(y)) == 1.0


def test_ctrl_c_ends_growing():
    rng = np.random.default_rng(0)
    X, y = rng.random((100_000, 50)), rng.integers(0, 2, 100_000)
    main = threading.main_thread().ident
    timer = threading.Timer(1.0, lambda: signal.pthread_kill(main, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        _BudgetTree().fit(X, y)
    timer.join()
