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
from ensemble_simplify.feature_budget.growing._budget_forest import _BudgetTree

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


@pytest.mark.parametrize("purchases", ["split", "rows", "forest"])
def test_dear_features_are_avoided(purchases):
    X, y = load_breast_cancer(return_X_y=True)
    cost = np.ones(30)
    cost[::2] = 50.0
    options = {"n_estimators": 10, "purchases": purchases, "random_state": 0}
    cheap = BudgetForestClassifier(feature_costs=cost, **options).fit(X, y)
    plain = BudgetForestClassifier(**options).fit(X, y)
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


@pytest.mark.parametrize("purchases", ["split", "rows", "forest"])
def test_same_seed_same_forest_and_any_number_of_jobs(purchases):
    X, y = load_iris(return_X_y=True)
    options = {"n_estimators": 4, "purchases": purchases, "random_state": 1}
    with joblib.parallel_config("threading"):
        a, b = (BudgetForestClassifier(**options, n_jobs=jobs).fit(X, y) for jobs in (None, 2))
    assert np.array_equal(a.predict_proba(X), b.set_params(n_jobs=None).predict_proba(X))
    names = np.array(["one", "two", "three"])[y]
    assert set(BudgetForestClassifier(n_estimators=2).fit(X, names).predict(X)) <= set(names)


# ------------------------------------------------------------------- shared purchases


def paid(trees, X, prices):
    """What each row pays, looked up on its path through each tree; once a feature and a group."""
    total = np.zeros(len(X))
    for i, row in enumerate(X):
        bought = set()
        for tree in trees:
            t, node = tree.tree_, 0
            while t.children_left[node] >= 0:
                bought.add(("feature", t.feature[node]))
                for g, part in prices["groups"].items():
                    if t.feature[node] in part:
                        bought.add(("group", g))
                goes_left = np.float32(row[t.feature[node]]) <= t.threshold[node]
                node = (t.children_left if goes_left else t.children_right)[node]
        for kind, name in bought:
            total[i] += prices["feature_costs" if kind == "feature" else "group_costs"][name]
    return total


def some_prices(rng):
    """Six features, two groups, one feature in none of them, one for nothing."""
    costs = rng.uniform(0.5, 3.0, 6)
    costs[5] = 0.0
    groups = {"a": [0, 1], "b": [2, 3, 5]}
    return {
        "feature_costs": costs,
        "groups": groups,
        "group_costs": {"a": float(rng.uniform(0.5, 3)), "b": float(rng.uniform(0.5, 3))},
    }


def some_rows(rng):
    n = int(rng.integers(6, 40))
    X = rng.integers(0, 4, (n, 6)).astype(float)
    y = (X[:, 0] + X[:, 2] + rng.integers(0, 2, n) > 3).astype(int) + (X[:, 4] > 2)
    y[:2] = 0, 1
    return X, y


def price_of_everything(prices):
    return prices["feature_costs"].sum() + sum(prices["group_costs"].values())


@pytest.mark.parametrize("purchases", ["split", "rows", "forest"])
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.05, 0.3, 1.0, 3.0]))
def test_cost_is_what_the_rows_pay_on_their_paths(purchases, seed, penalty):
    rng = np.random.default_rng(seed)
    (X, y), prices = some_rows(rng), some_prices(rng)
    options = {"n_estimators": 4, "penalty": penalty, "random_state": seed}
    forest = BudgetForestClassifier(purchases=purchases, **prices, **options).fit(X, y)
    together = paid(forest.estimators_, X, prices)
    assert forest.cost_ == pytest.approx(together.mean())
    # Paying once is never dearer than each tree by itself.
    alone = sum(paid([tree], X, prices) for tree in forest.estimators_)
    assert (together <= alone + 1e-9).all()


def summed_gini(labels, weight):
    n = np.array([weight[labels == c].sum() for c in np.unique(labels)])
    return n.sum() - (n**2).sum() / n.sum() if n.sum() else 0.0


@pytest.mark.parametrize("purchases", ["rows", "forest"])
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.05, 0.3, 1.0, 3.0]))
def test_every_shared_purchase_is_the_best_at_its_time(purchases, seed, penalty):
    """All splits of all trees in the order in which they were made, beside all others."""
    rng = np.random.default_rng(seed)
    (X, y), prices = some_rows(rng), some_prices(rng)
    options = {"n_estimators": 3, "penalty": penalty, "random_state": seed}
    forest = BudgetForestClassifier(purchases=purchases, **prices, **options).fit(X, y)
    rate = penalty / price_of_everything(prices)
    names = [("feature", k) for k in range(6)] + [("group", g) for g in prices["groups"]]
    price = np.append(prices["feature_costs"], list(prices["group_costs"].values()))
    bought = np.zeros((len(X), len(names)), dtype=bool)
    for tree, sample in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        weight = np.bincount(sample, minlength=len(X)).astype(float)
        paths = tree.decision_path(X.astype(np.float32)).toarray() > 0
        t = tree.tree_
        gain = spent = 0.0
        for node in range(t.node_count):
            here = paths[:, node]
            inside = here & (weight > 0)
            worth = {}
            for k in range(6):
                asked = [k] + [
                    6 + j for j, part in enumerate(prices["groups"].values()) if k in part
                ]
                if purchases == "rows":
                    due = sum(price[r] * weight[inside & ~bought[:, r]].sum() for r in asked)
                else:
                    due = sum(price[r] * weight.sum() for r in asked if not bought[0, r])
                for cut in np.unique(X[inside, k])[:-1]:
                    low = inside & (X[:, k] <= cut)
                    drop = summed_gini(y[inside], weight[inside])
                    drop -= summed_gini(y[low], weight[low])
                    drop -= summed_gini(y[inside & ~low], weight[inside & ~low])
                    if drop > 1e-9:
                        worth[k, cut] = drop - rate * due, drop, rate * due, asked
            best = max((value[0] for value in worth.values()), default=0.0)
            if t.children_left[node] < 0:
                assert best <= 1e-6
                continue
            k = t.feature[node]
            cut = X[inside & (X[:, k] <= t.threshold[node]), k].max()
            value, drop, due, asked = worth[k, cut]
            assert value >= best - 1e-6
            assert value > -1e-6
            gain, spent = gain + drop, spent + due
            rows = here if purchases == "rows" else slice(None)
            for r in asked:
                bought[rows, r] = True
        # What a tree buys anew has paid for itself.
        assert spent <= gain + 1e-6
        assert gain <= summed_gini(y, weight) + 1e-6


@pytest.mark.parametrize("purchases", ["rows", "forest"])
def test_extreme_penalties(purchases):
    X, y = load_iris(return_X_y=True)
    options = {"n_estimators": 5, "purchases": purchases, "random_state": 0}
    nothing = BudgetForestClassifier(penalty=1e6, **options).fit(X, y)
    assert nothing.cost_ == 0
    free = BudgetForestClassifier(penalty=0.0, **options).fit(X, y)
    other = BudgetForestClassifier(penalty=0.0, feature_costs=[1, 50, 3, 9], **options).fit(X, y)
    np.testing.assert_array_equal(free.predict_proba(X), other.predict_proba(X))
    for tree, sample in zip(free.estimators_, free.estimators_samples_, strict=True):
        assert tree.score(X[sample], y[sample]) == 1.0


def test_trees_use_again_what_was_bought_and_the_first_pays_for_itself():
    X, y = load_breast_cancer(return_X_y=True)
    for penalty in (0.1, 0.3, 1.0):
        options = {"penalty": penalty, "random_state": 0}
        forest = BudgetForestClassifier(n_estimators=6, **options).fit(X, y)
        total = paid(forest.estimators_, X, {"feature_costs": np.ones(30), "groups": {}})
        alone = [
            paid([tree], X, {"feature_costs": np.ones(30), "groups": {}})
            for tree in forest.estimators_
        ]
        assert total.mean() < 0.8 * np.sum(alone, axis=0).mean()
        first = forest.estimators_samples_[0]
        share = alone[0][first].mean() / 30
        assert share <= summed_gini(y[first], np.ones(len(first))) / len(first) / penalty


def test_more_than_64_resources_and_pickling():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 150))
    y = (X[:, 70] + X[:, 140] > 0).astype(int)
    forest = BudgetForestClassifier(n_estimators=3, random_state=0).fit(X, y)
    no_groups = {"feature_costs": np.ones(150), "groups": {}}
    assert forest.cost_ == pytest.approx(paid(forest.estimators_, X, no_groups).mean())
    again = pickle.loads(pickle.dumps(forest))
    np.testing.assert_array_equal(again.predict_proba(X), forest.predict_proba(X))
    # What was bought while growing is not kept, nor is it known to the next fit.
    assert all(tree.ledger is None for tree in again.estimators_)
    np.testing.assert_array_equal(again.fit(X, y).predict_proba(X), forest.predict_proba(X))


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
        ({"purchases": "tree"}, "purchases"),
        ({"penalty": -1.0}, "penalty"),
        ({"penalty": np.inf}, "penalty"),
        ({"alpha": 1.0}, r"alpha=1.0 has no effect .* purchases='split'"),
        ({"purchases": "forest", "impurity": "powers"}, "impurity='powers' has no effect"),
        ({"power": 3.0}, "power=3.0 has no effect"),
        ({"groups": {"g": ["a"]}}, "have no prices"),
        ({"groups": {"g": ["e"]}, "group_costs": 1.0}, "e"),
        ({"group_costs": 1.0}, "needs groups"),
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
