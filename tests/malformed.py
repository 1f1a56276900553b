"""Ensembles and node arrays with something broken, and what has to become of them.

`CHECKS` are functions of a seed; each answers which functions of the package refused what they
were given, and fails for a wrong answer or an error that is none of the package's own.
"""

import copy
import traceback
import warnings
from pathlib import Path

import numpy as np
from oracles import trees_of
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.tree._tree import ccp_pruning_path
from strategies import CLASSIFIERS, REGRESSORS, edge_points, small_data

import ensemble_simplify
from ensemble_simplify import (
    BornAgainClassifier,
    FeatureBudgetPruner,
    estimate,
    merge_trees,
    verify,
)
from ensemble_simplify._forest import read_forest
from ensemble_simplify._sklearn_tree import (
    TreeNodes,
    apply_nodes,
    preorder,
    pruned_copy,
    read_nodes,
    write_classifier,
    write_regressor,
)

PACKAGE = str(Path(ensemble_simplify.__file__).parent)
REFUSALS = (ValueError, TypeError, NotFittedError)

FLOAT32_MAX = float(np.finfo(np.float32).max)
NUMBERS = [
    np.nan,
    np.inf,
    -np.inf,
    0.0,
    -0.0,
    5e-324,
    -5e-324,
    1e-45,
    -1e-45,
    FLOAT32_MAX,
    -FLOAT32_MAX,
    FLOAT32_MAX * (1 + 2.0**-26),
    -FLOAT32_MAX * (1 + 2.0**-26),
    1.7e308,
    -1.7e308,
    0.1,
    float(np.float32(0.1)),
    1 + 2.0**-40,
]
INDICES = [-(2**62), -(2**31), -7, -3, -2, -1, 0, 1, 2, 3, 2**31 - 1, 2**31, 2**32, 2**62]


def was_refused(act):
    """Run `act`: (its result, None), or (None, the error) for an error that this package raised.

    Any other error goes on.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", UserWarning)
            return act(), None
    except REFUSALS as error:
        last = traceback.extract_tb(error.__traceback__)[-1].filename
        ours = last.startswith(PACKAGE) or "/sklearn/utils/" in last
        if not ours or len(str(error)) < 20:
            raise
        return None, error


# Ensembles


def break_node(tree, rng):
    """Change some entries of a compiled tree, in place; say which."""
    n = tree.node_count
    done = []
    for _ in range(rng.integers(1, 4)):
        i = int(rng.integers(n))
        field = str(rng.choice(["left", "right", "feature", "threshold", "value", "weight"]))
        near = [i, int(rng.integers(n)), n - 1, n, n + 1]
        if field in ("left", "right"):
            array = tree.children_left if field == "left" else tree.children_right
            array[i] = rng.choice(near + INDICES)
            new = array[i]
        elif field == "feature":
            k = tree.n_features
            tree.feature[i] = rng.choice([*range(-3, k + 3), *INDICES])
            new = tree.feature[i]
        elif field == "threshold":
            tree.threshold[i] = rng.choice(NUMBERS)
            new = tree.threshold[i]
        elif field == "value":
            tree.value[i, 0, rng.integers(tree.value.shape[2])] = rng.choice(NUMBERS)
            new = tree.value[i, 0]
        else:
            tree.weighted_n_node_samples[i] = rng.choice(NUMBERS)
            tree.n_node_samples[i] = rng.choice([0, -1, 2**40])
            new = tree.weighted_n_node_samples[i]
        done.append(f"{field}[{i}]={new}")
    return done


def cut_to_root(tree):
    """Make the root of a compiled tree a leaf, in place."""
    tree.children_left[0] = tree.children_right[0] = -1
    return ["cut to its root"]


def break_attribute(estimator, rng):
    """Change a fitted attribute of an ensemble; say which."""
    changes = {
        "n_features_in_": lambda v: v + int(rng.choice([-v, -1, 1])),
        "n_outputs_": lambda v: 2,
        "estimators_": lambda v: v[: rng.integers(len(v))],
        "classes_": lambda v: v[::-1] if rng.random() < 0.5 else np.append(v, v[-1:]),
        "estimators_features_": lambda v: [
            [f + 1, -f - 1, f[:-1], f * 0, f + 0.5][rng.integers(5)] for f in map(np.asarray, v)
        ],
        "estimator_weights_": lambda v: v * rng.choice([np.nan, np.inf, 0.0, -1.0, 1e-320]),
        "learning_rate": lambda v: rng.choice([np.nan, np.inf, 0.0, -1.0, 1e300]),
        "weights": lambda v: v if v is None else [np.nan, *v[1:]],
    }
    if hasattr(estimator, "voting"):
        del changes["n_features_in_"]  # a property
    present = [name for name in changes if hasattr(estimator, name)]
    name = str(rng.choice(present))
    new = changes[name](getattr(estimator, name))
    setattr(estimator, name, new)
    return [f"{name}={new!r}"]


def broken_ensemble(seed):
    """A fitted ensemble with up to three things changed: (ensemble, X, y, changes)."""
    rng = np.random.default_rng(seed)
    regression = rng.random() < 0.2
    zoo = REGRESSORS if regression else CLASSIFIERS
    kind = str(rng.choice(sorted(zoo)))
    data_seed = int(rng.integers(50))
    X, y = small_data(data_seed, n_features=int(rng.integers(2, 4)), levels=4)
    if regression:
        y = X[:, 0] + np.arange(len(X)) % 3
    estimator = zoo[kind](data_seed).fit(X, y)
    changes = [kind]
    trees = [tree.tree_ for tree in trees_of(estimator)]
    if rng.random() < 0.25:
        changes += break_attribute(estimator, rng)
    else:
        tree = trees[rng.integers(len(trees))]
        changes += cut_to_root(tree) if rng.random() < 0.1 else break_node(tree, rng)
    return estimator, X, y, changes


def check_ensemble(seed):
    """A broken ensemble is refused, or answered for exactly; return whether it was refused."""
    estimator, X, y, changes = broken_ensemble(seed)
    forest, _ = was_refused(lambda: read_forest(estimator))
    stored = [tree.tree_.threshold for tree in trees_of(estimator)]
    rows = edge_points(np.concatenate([*stored, [0.0]]), X.shape[1], n_rows=150, seed=seed)
    if forest is not None:
        # The reader calls it a forest, so that scikit-learn must be able to walk through it.
        rows = rows[:, np.arange(forest.n_features) % rows.shape[1]]
        with np.errstate(all="ignore"):
            truth = estimator.predict(rows)
            found = forest.predict_index(rows)
        if forest.classes is not None:
            found = forest.classes[found]
            np.testing.assert_array_equal(found, truth, str(changes))
        else:
            np.testing.assert_allclose(found, truth, rtol=1e-12, err_msg=str(changes))
    refused = {"read_forest"} if forest is None else set()
    if seed % 4 == 0:
        refused |= check_public(estimator, X, y, rows, forest, changes)
    return refused


def check_public(estimator, X, y, rows, forest, changes):
    """What the public functions make of an ensemble that may be broken."""
    frozen = FrozenEstimator(estimator)
    refused = set()

    def attempt(name, act):
        result, error = was_refused(act)
        if error is not None:
            refused.add(name)
        elif forest is None:
            raise AssertionError(f"{name} took what the reader refuses: {changes}")
        return result

    tree = attempt(
        "born_again",
        lambda: BornAgainClassifier(frozen, random_state=0, time_limit=600).fit(X, y),
    )
    if tree is not None:
        np.testing.assert_array_equal(tree.predict(rows), estimator.predict(rows), str(changes))
        assert tree.verify().equal
    attempt("estimate", lambda: estimate(frozen))
    attempt("verify", lambda: verify(estimator, estimator))
    merged = attempt("merge_trees", lambda: merge_trees([estimator, estimator]))
    if merged is not None:
        np.testing.assert_allclose(
            merged.predict_proba(rows)[:, np.searchsorted(merged.classes_, forest.classes)],
            estimator.predict_proba(rows),
            atol=1e-9,
        )
    pruner = attempt("pruner", lambda: FeatureBudgetPruner(frozen).fit(X, y))
    if pruner is not None:
        assert np.isfinite(pruner.error_), str(changes)
    return refused


# Node arrays


def random_arrays(rng, n_features):
    """Node arrays of a random tree, in random order."""
    left, right, feature, threshold = [-1], [-1], [-1], [0.0]
    leaves = [0]
    for _ in range(rng.integers(8)):
        node = leaves.pop(rng.integers(len(leaves)))
        left[node], right[node] = len(left), len(left) + 1
        feature[node] = int(rng.integers(n_features))
        threshold[node] = float(rng.choice([rng.normal(), 0.0, 1e30, -1e-40, FLOAT32_MAX]))
        for array, empty in ((left, -1), (right, -1), (feature, -1), (threshold, 0.0)):
            array += [empty, empty]
        leaves += [left[node], right[node]]
    arrays = [np.array(a) for a in (left, right, feature)]
    return [*arrays, np.array(threshold, dtype=np.float64)]


def walk(left, right, feature, threshold, row):
    """The leaf of a row, and None for a walk that breaks off or does not end."""
    node = 0
    for _ in range(len(left) + 1):
        if left[node] < 0:
            return node
        goes_left = np.float32(row[feature[node]]) <= threshold[node]
        node = left[node] if goes_left else right[node]
    return None


def check_writer(seed):
    """Node arrays, perhaps broken, are refused or written as the tree they are."""
    rng = np.random.default_rng(seed)
    n_features = int(rng.integers(1, 4))
    arrays = random_arrays(rng, n_features)
    n, values = len(arrays[0]), arrays[3]
    for _ in range(rng.integers(3)):
        which = int(rng.integers(5))
        if which == 4:
            arrays[rng.integers(4)] = rng.choice(
                np.array([None, arrays[0][:-1], arrays[0][None], arrays[0] + 0.5], dtype=object)
            )
            break
        i = int(rng.integers(n))
        arrays[which][i] = rng.choice(
            NUMBERS if which == 3 else [i, n - 1, n, int(rng.integers(n)), *INDICES]
        )
    made, _ = was_refused(lambda: preorder(*arrays, drop_unreached=bool(rng.integers(2))))
    _, error_as_they_are = was_refused(lambda: TreeNodes(*arrays))
    if made is None:
        assert error_as_they_are is not None
        return {"preorder"}
    nodes, order = made
    refused = set()
    X = rng.choice([*NUMBERS, *values], (20, n_features))
    X = np.where(np.abs(X) <= FLOAT32_MAX, X, 0.0)
    leaf, _ = was_refused(lambda: apply_nodes(nodes, X))
    if leaf is None:
        assert nodes.feature.max() >= n_features
        return {"apply_nodes"}
    assert order[leaf].tolist() == [walk(*arrays, row) for row in X]

    n_classes = int(rng.integers(1, 5))
    labels = rng.integers(n_classes, size=nodes.n_leaves)
    y = rng.integers(n_classes, size=len(X))
    proba = rng.dirichlet(np.ones(n_classes), size=nodes.n_leaves)
    weight = rng.choice([0.0, 1e-300, 1e-9, 1.0, 1e9, 1e300], size=len(X))
    broken = int(rng.integers(8))
    if broken == 0:
        labels[rng.integers(len(labels))] = rng.choice(INDICES)
    elif broken == 1:
        proba[rng.integers(len(proba)), 0] = rng.choice(NUMBERS)
    elif broken == 2:
        weight[rng.integers(len(weight))] = rng.choice(NUMBERS)
    elif broken == 3:
        leaf = leaf.copy()
        leaf[rng.integers(len(leaf))] = rng.choice([*INDICES, nodes.n_nodes])
    elif broken == 4:
        y[rng.integers(len(y))] = rng.choice(INDICES)
    proba = None if rng.random() < 0.3 else proba
    written, _ = was_refused(
        lambda: write_classifier(
            nodes,
            labels,
            proba,
            leaf,
            y,
            np.arange(n_classes) * 2,
            n_features=n_features,
            sample_weight=weight,
        )
    )
    if written is None:
        refused.add("write_classifier")
    else:
        where = apply_nodes(nodes, X)
        position = np.searchsorted(nodes.leaves, where)
        np.testing.assert_array_equal(written.predict(X), labels[position] * 2)
        sane(written, X)
        again = read_nodes(written)
        np.testing.assert_array_equal(again.nodes.threshold, nodes.threshold * (nodes.left >= 0))
        keep = rng.random(nodes.n_nodes) < 0.5
        pruned = pruned_copy(written, keep)
        sane(pruned, X)
    target = rng.choice([0.0, 1e-300, 1.0, -3.5, 1e9, 1e150, 1e200, 1e308], size=len(X))
    value = rng.choice([*NUMBERS, 1.0, 2.0, 3.0] if broken == 5 else [1.0, -2.0], nodes.n_leaves)
    written, _ = was_refused(
        lambda: write_regressor(
            nodes, value, leaf, target, n_features=n_features, sample_weight=weight
        )
    )
    if written is None:
        refused.add("write_regressor")
    else:
        position = np.searchsorted(nodes.leaves, apply_nodes(nodes, X))
        np.testing.assert_array_equal(written.predict(X), value[position])
        sane(written, X)
    return refused


def sane(tree, X):
    """Whatever scikit-learn does with a fitted tree works on a written one."""
    assert np.isfinite(tree.feature_importances_).all()
    assert np.isfinite(ccp_pruning_path(tree.tree_)["ccp_alphas"]).all()
    assert np.isfinite(tree.tree_.impurity).all()
    assert (tree.tree_.weighted_n_node_samples > 0).all()
    assert tree.decision_path(X).shape == (len(X), tree.tree_.node_count)
    assert copy.deepcopy(tree).get_depth() == tree.get_depth()


CHECKS = {"ensemble": check_ensemble, "writer": check_writer}
