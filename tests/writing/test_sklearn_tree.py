"""Written trees are real scikit-learn trees, and nothing malformed gets written."""

import pickle
import re
from copy import deepcopy
from io import BytesIO

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.inspection import partial_dependence
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
    export_graphviz,
    export_text,
    plot_tree,
)
from sklearn.tree._tree import ccp_pruning_path

from ensemble_simplify.grid import tree_nodes
from ensemble_simplify.grid.tree_nodes import TreeNodes, preorder
from ensemble_simplify.writing import sklearn_tree as _sklearn_tree
from ensemble_simplify.writing.sklearn_tree import (
    apply_nodes,
    embedded_copy,
    node_counts,
    pruned_copy,
    read_nodes,
    write_classifier,
    write_regressor,
    write_tree,
)

FLOAT32_MAX = float(np.finfo(np.float32).max)


def grow(rng, n_leaves, n_features):
    """Return the arrays of a random tree, root 0, other nodes in random order."""
    n_nodes = 2 * n_leaves - 1
    left, right, feature = (np.full(n_nodes, -1) for _ in range(3))
    threshold = np.zeros(n_nodes)
    ids = iter([0, *(1 + rng.permutation(n_nodes - 1))])
    leaves = [next(ids)]
    for _ in range(n_leaves - 1):
        node = leaves.pop(rng.integers(len(leaves)))
        left[node], right[node] = next(ids), next(ids)
        feature[node] = rng.integers(n_features)
        threshold[node] = rng.normal()
        leaves += [left[node], right[node]]
    return left, right, feature, threshold


def chain(n_splits):
    """Return the arrays of a tree whose left children are all leaves."""
    left = np.full(2 * n_splits + 1, -1)
    inner = 2 * np.arange(n_splits)
    left[inner] = inner + 1
    right = np.where(left < 0, -1, left + 1)
    feature = np.where(left < 0, -1, 0)
    return left, right, feature, np.arange(left.size) / 2.0


def walk(left, right, feature, threshold, x):
    """Return the leaf of one row, the plain way."""
    node = 0
    while left[node] >= 0:
        goes_left = np.float32(x[feature[node]]) <= threshold[node]
        node = left[node] if goes_left else right[node]
    return node


def assert_consistent(tree):
    """Everything that scikit-learn's own trees satisfy."""
    t = tree.tree_
    inner = np.flatnonzero(t.children_left >= 0)
    left, right = t.children_left[inner], t.children_right[inner]
    np.testing.assert_array_equal(left, inner + 1)
    assert (right > left).all()
    assert (t.weighted_n_node_samples > 0).all()
    np.testing.assert_array_equal(
        t.n_node_samples[inner], t.n_node_samples[left] + t.n_node_samples[right]
    )
    w = t.weighted_n_node_samples
    np.testing.assert_allclose(w[inner], w[left] + w[right], rtol=1e-12)
    assert np.isfinite(t.impurity).all()
    assert (t.impurity >= 0).all()
    decrease = w[inner] * t.impurity[inner] - w[left] * t.impurity[left]
    decrease -= w[right] * t.impurity[right]
    assert (decrease >= -1e-9 * w[0] * (1 + t.impurity.max())).all()
    mean = w[left, None] * t.value[left, 0] + w[right, None] * t.value[right, 0]
    np.testing.assert_allclose(t.value[inner, 0], mean / w[inner, None], rtol=1e-9, atol=1e-12)
    importances = tree.feature_importances_
    assert np.isfinite(importances).all()
    assert importances.sum() == pytest.approx(1.0) or np.abs(importances).max() < 1e-9
    path = ccp_pruning_path(t)
    assert np.isfinite(path["ccp_alphas"]).all()
    assert tree.get_depth() == t.max_depth == t.compute_node_depths().max() - 1
    assert tree.get_n_leaves() == inner.size + 1


def assert_same_state(actual, expected):
    """Two compiled trees hold the same numbers."""
    actual, expected = actual.__getstate__(), expected.__getstate__()
    assert actual["max_depth"] == expected["max_depth"]
    assert actual["node_count"] == expected["node_count"]
    np.testing.assert_array_equal(actual["nodes"], expected["nodes"])
    np.testing.assert_array_equal(actual["values"], expected["values"])


# Nodes


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**32 - 1), st.integers(1, 25))
def test_preorder_and_apply(seed, n_leaves):
    rng = np.random.default_rng(seed)
    arrays = grow(rng, n_leaves, 3)
    nodes, order = preorder(*arrays)
    assert (nodes.n_nodes, nodes.n_leaves) == (2 * n_leaves - 1, n_leaves)
    np.testing.assert_array_equal(np.sort(order), np.arange(nodes.n_nodes))
    inner = np.flatnonzero(nodes.left >= 0)
    np.testing.assert_array_equal(nodes.left[inner], inner + 1)
    assert (nodes.right[inner] > inner).all()
    np.testing.assert_array_equal(nodes.feature, arrays[2][order])
    np.testing.assert_array_equal(nodes.threshold, arrays[3][order])
    np.testing.assert_array_equal(nodes.leaves, np.flatnonzero(arrays[0][order] < 0))
    assert all(a.dtype == np.intp for a in (nodes.left, nodes.right, nodes.feature, nodes.leaves))

    X = rng.normal(size=(40, 3))
    rows = np.flatnonzero(rng.random(40) < 0.5)
    X[rows, 0] = rng.choice(arrays[3], size=rows.size)
    leaf = apply_nodes(nodes, X)
    assert leaf.dtype == np.intp
    np.testing.assert_array_equal(order[leaf], [walk(*arrays, x) for x in X])
    again, same = preorder(nodes.left, nodes.right, nodes.feature, nodes.threshold)
    np.testing.assert_array_equal(same, np.arange(nodes.n_nodes))
    assert again.depth == nodes.depth


def test_preorder_from_another_root():
    left, right, feature = [-1, 3, -1, -1, 0], [-1, 2, -1, -1, 1], [-2, 5, -2, -2, 4]
    nodes, order = preorder(left, right, feature, [0, 0.5, 0, 0, 0.25], root=4)
    np.testing.assert_array_equal(order, [4, 0, 1, 3, 2])
    np.testing.assert_array_equal(nodes.feature, [4, -1, 5, -1, -1])
    assert nodes.depth == 2
    nodes, order = preorder(left, right, feature, np.zeros(5), root=1, drop_unreached=True)
    np.testing.assert_array_equal(order, [1, 3, 2])
    np.testing.assert_array_equal(nodes.right, [2, -1, -1])
    with pytest.raises(ValueError, match="node 0 is not reached from the root, node 1"):
        preorder(left, right, feature, np.zeros(5), root=1)
    with pytest.raises(ValueError, match="root=5 is not a node"):
        preorder(left, right, feature, np.zeros(5), root=5)


def test_several_trees_are_walked_one_after_the_other():
    rng = np.random.default_rng(0)
    trees = [grow(rng, n_leaves, 3) for n_leaves in (4, 1, 7)]
    roots = np.cumsum([0, *(len(tree[0]) for tree in trees)])[:-1]
    left, right = (
        np.concatenate(
            [
                np.where(t[side] < 0, -1, t[side] + root)
                for t, root in zip(trees, roots, strict=True)
            ]
        )
        for side in (0, 1)
    )
    one_by_one = [root + preorder(*t)[1] for t, root in zip(trees, roots, strict=True)]
    found = tree_nodes.walk(left, right, roots)
    np.testing.assert_array_equal(found, np.concatenate(one_by_one))
    with pytest.raises(ValueError, match="reached more than once"):
        tree_nodes.walk(left, right, [0, left[0]])


@pytest.mark.parametrize(
    ("left", "right", "message"),
    [
        ([], [], "left is empty"),
        ([1, -1, -1], [2, -1], "right has shape"),
        ([1.0, -1, -1], [2, -1, -1], "left has dtype float64"),
        ([1, -1, -1], [-1, -1, -1], "two children, or none"),
        ([1, -1, -1], [3, -1, -1], r"right\[0\]=3 is not a node"),
        ([1, -1, -1], [1, -1, -1], "node 1 is reached more than once"),
        ([0, -1, -1], [1, -1, -1], "node 0 is reached more than once"),
        ([1, 0, -1], [2, 2, -1], "reached more than once"),
        ([1, -1, -1, 4, 3], [2, -1, -1, 3, 4], "node 3 is not reached"),
        ([-1, 2, 1], [-1, -1, -1], "two children, or none"),
        ([-1, -1, -1], [-1, -1, -1], "node 1 is not reached"),
        ([1, -1, -1, 4, -1, 6, 3], [2, -1, -1, 5, -1, -1, -1], "two children, or none"),
        ([1, -1, -1, 4, -1, 3, -1], [2, -1, -1, 5, -1, 6, -1], "node 3 is not reached"),
    ],
)
def test_preorder_refuses_what_is_no_tree(left, right, message):
    feature = np.where(np.array(left) >= 0, 0, -1).astype(int)
    with pytest.raises(ValueError, match=message):
        preorder(left, right, feature, np.zeros(len(left)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"left": [2, -1, -1], "right": [1, -1, -1]}, "not in pre-order"),
        ({"left": [0, -1, -1]}, "not in pre-order"),
        ({"right": [1, -1, -1]}, "not in pre-order|more than once"),
        ({"left": [-1, -1, -1], "right": [-1, -1, -1], "feature": [-1] * 3}, "not reached"),
        (
            {
                "left": [1, 2, -1],
                "right": [2, 2, -1],
                "feature": [0, 0, -1],
                "threshold": np.zeros(3),
            },
            "more than once",
        ),
        ({"feature": [0, 0, -1]}, r"feature\[1\]=0, but node 1 is a leaf"),
        ({"feature": [-1, -1, -1]}, r"feature\[0\]=-1 in an inner node"),
        ({"feature": [0.0, -1, -1]}, "feature has dtype float64"),
        ({"threshold": [np.nan, 0, 0]}, r"threshold\[0\]=nan"),
        ({"threshold": [-np.inf, 0, 0]}, r"threshold\[0\]=-inf"),
        ({"threshold": [-1e39, 0, 0]}, r"threshold\[0\]=-1e\+39"),
        ({"threshold": [0, 0]}, "threshold has shape"),
    ],
)
def test_tree_nodes_refuse_what_is_no_tree(change, message):
    fields = {"left": [1, -1, -1], "right": [2, -1, -1], "feature": [0, -1, -1]}
    fields["threshold"] = [FLOAT32_MAX, np.nan, np.inf]
    assert TreeNodes(**fields).depth == 1
    with pytest.raises(ValueError, match=message):
        TreeNodes(**{**fields, **change})


def test_apply_nodes_checks_rows():
    nodes, _ = preorder(*grow(np.random.default_rng(0), 8, 3))
    assert apply_nodes(nodes, np.empty((0, 3))).shape == (0,)
    with pytest.raises(ValueError, match="out of range: n_features=1"):
        apply_nodes(nodes, np.zeros((2, 1)))
    with pytest.raises(ValueError, match="infinity"):
        apply_nodes(nodes, np.full((2, 3), np.inf))
    last = nodes.leaves[-1]
    assert (apply_nodes(nodes, np.full((2, 3), np.nan)) == last).all()


def test_node_counts():
    nodes, _ = preorder([1, -1, 3, -1, -1], [2, -1, 4, -1, -1], [0, -1, 1, -1, -1], np.zeros(5))
    rows, weights = node_counts(nodes, [1, 3, 3, 3], [0, 1, 1, 0], 2, [1.0, 2.0, 0.0, 4.0])
    np.testing.assert_array_equal(rows, [3, 1, 2, 2, 0])
    np.testing.assert_array_equal(weights, [[5, 2], [1, 0], [4, 2], [4, 2], [0, 0]])
    rows, weights = node_counts(nodes, [4], [2], 3)
    np.testing.assert_array_equal(rows, [1, 0, 1, 0, 1])
    np.testing.assert_array_equal(weights[:, 2], rows)
    rows, weights = node_counts(nodes, [], [], 3)
    assert rows.sum() == weights.sum() == 0


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (([0], [0], 2), r"leaf_of_row\[0\]=0 is not a leaf"),
        (([1, 5], [0, 0], 2), r"leaf_of_row\[1\]=5 is not a leaf"),
        (([1, -1], [0, 0], 2), r"leaf_of_row\[1\]=-1 is not a leaf"),
        (([[1]], [0], 2), "leaf_of_row has shape"),
        (([1.0], [0], 2), "leaf_of_row has dtype float64"),
        (([1], [2], 2), r"y_index\[0\]=2 is not a class index"),
        (([1], [0, 1], 2), "y_index has shape"),
        (([1], [0], 2, [-1.0]), r"sample_weight\[0\]=-1.0"),
        (([1], [0], 2, [np.nan]), r"sample_weight\[0\]=nan is not finite"),
        (([1], [0], 2, [1.0, 1.0]), "sample_weight has shape"),
    ],
)
def test_node_counts_check_rows(args, message):
    nodes = TreeNodes([1, -1, -1], [2, -1, -1], [0, -1, -1], np.zeros(3))
    with pytest.raises(ValueError, match=message):
        node_counts(nodes, *args)


# Classifiers


@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("params", [{}, {"max_leaf_nodes": 5}, {"max_depth": 2}, {"max_depth": 1}])
def test_rewriting_a_fitted_classifier(load, weighted, params):
    X, y = load(return_X_y=True)
    y = np.array(["c", "a", "b"])[y]
    rng = np.random.default_rng(0)
    sample_weight = rng.exponential(size=y.size) * (rng.random(y.size) < 0.8) if weighted else None
    reference = DecisionTreeClassifier(random_state=0, **params)
    reference.fit(X, y, sample_weight=sample_weight)
    contents = read_nodes(reference)
    nodes, order = contents.nodes, contents.order
    leaf_of_row = apply_nodes(nodes, X)
    np.testing.assert_array_equal(order[leaf_of_row], reference.apply(X))
    classes, y_index = np.unique(y, return_inverse=True)
    label = contents.value.argmax(axis=1)
    rows = leaf_of_row, y_index
    options = {"n_features": X.shape[1], "sample_weight": sample_weight}
    tree = write_classifier(nodes, label, contents.value, *rows, classes, **options)
    assert type(tree) is DecisionTreeClassifier
    assert set(vars(tree)) == set(vars(reference))
    np.testing.assert_array_equal(tree.predict_proba(X), reference.predict_proba(X))
    np.testing.assert_array_equal(tree.predict(X), reference.predict(X))
    ours, theirs = tree.tree_, reference.tree_
    np.testing.assert_array_equal(ours.n_node_samples, theirs.n_node_samples[order])
    for field in ("weighted_n_node_samples", "impurity", "value"):
        np.testing.assert_allclose(
            getattr(ours, field), getattr(theirs, field)[order], rtol=1e-12, atol=1e-14
        )
    np.testing.assert_allclose(
        tree.feature_importances_, reference.feature_importances_, atol=1e-12
    )
    assert_consistent(tree)
    # The same from the leaves alone, and from the rows alone.
    at_leaves = contents.value[nodes.leaves]
    again = write_classifier(nodes, label[nodes.leaves], at_leaves, *rows, classes, **options)
    assert_same_state(again.tree_, tree.tree_)
    own = write_classifier(nodes, label, None, *rows, classes, **options)
    np.testing.assert_allclose(own.tree_.value, tree.tree_.value, rtol=1e-12, atol=1e-14)
    # Reading what was written gives back the same arrays.
    back = read_nodes(tree)
    written = write_tree(
        back.nodes,
        back.value,
        back.n_node_samples,
        back.weighted_n_node_samples,
        back.impurity,
        n_features=X.shape[1],
        classes=classes,
    )
    assert_same_state(written.tree_, tree.tree_)


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_leaves=st.integers(1, 20),
    n_classes=st.integers(1, 5),
    n_rows=st.sampled_from([0, 1, 5, 200]),
    scale=st.sampled_from([1.0, 1e-200, 1e200]),
)
def test_any_classifier_is_consistent(seed, n_leaves, n_classes, n_rows, scale):
    rng = np.random.default_rng(seed)
    nodes, _ = preorder(*grow(rng, n_leaves, 3))
    X = rng.normal(size=(n_rows, 3))
    y_index = rng.integers(n_classes, size=n_rows)
    label = rng.integers(n_classes, size=n_leaves)
    proba = rng.dirichlet(np.ones(n_classes), size=n_leaves)
    proba[rng.random(n_leaves) < 0.3] = 1 / n_classes
    weight = rng.integers(0, 3, size=n_rows) * scale
    tree = write_classifier(
        nodes,
        label,
        proba,
        apply_nodes(nodes, X),
        y_index,
        np.arange(n_classes) * 10,
        n_features=3,
        sample_weight=weight,
    )
    assert_consistent(tree)
    t = tree.tree_
    probe = rng.normal(size=(50, 3))
    leaf = apply_nodes(nodes, probe)
    np.testing.assert_array_equal(tree.apply(probe), leaf)
    label_of_node = np.full(nodes.n_nodes, -1)
    label_of_node[nodes.leaves] = label
    np.testing.assert_array_equal(tree.predict(probe), 10 * label_of_node[leaf])
    np.testing.assert_allclose(tree.predict_proba(probe).sum(axis=1), 1.0, rtol=1e-12)
    for dtype in (np.float64, np.float32):
        values = t.value[nodes.leaves, 0].astype(dtype)
        np.testing.assert_array_equal(values.argmax(axis=1), label)
    # Nodes without rows weigh next to nothing, and only they are made up.
    rows, counts = node_counts(nodes, apply_nodes(nodes, X), y_index, n_classes, weight)
    np.testing.assert_array_equal(t.n_node_samples, rows)
    if weight.sum() > 0:
        total = weight.sum()
        np.testing.assert_allclose(
            t.weighted_n_node_samples, counts.sum(axis=1), atol=1.1e-3 * total, rtol=1e-12
        )
        filled = nodes.leaves[rows[nodes.leaves] > 0]
        np.testing.assert_array_equal(t.weighted_n_node_samples[filled], counts[filled].sum(axis=1))


def test_small_weights_stay_below_those_of_rows():
    nodes, _ = preorder(*chain(5000))
    leaf_of_row = np.repeat(nodes.leaves[:2], 5)
    label = np.arange(nodes.n_leaves) % 2
    tree = write_classifier(
        nodes, label, None, leaf_of_row, [0] * 5 + [1] * 5, [0, 1], n_features=1
    )
    weight = tree.tree_.weighted_n_node_samples
    assert weight[0] == pytest.approx(10, rel=1.1e-3)
    assert weight.min() > 0
    assert tree.tree_.impurity[0] == pytest.approx(0.5, abs=1e-3)


@pytest.fixture(scope="module")
def iris_tree():
    """A written tree with names, and leaves that no row reaches."""
    data = load_iris(as_frame=True)
    X, y = data.data, data.target.to_numpy()
    left, right, feature, threshold = grow(np.random.default_rng(3), 12, 4)
    threshold = 4 + 2 * threshold
    nodes, _ = preorder(left, right, feature, threshold)
    rng = np.random.default_rng(0)
    tree = write_classifier(
        nodes,
        rng.integers(3, size=12),
        rng.dirichlet(np.ones(3), size=12),
        apply_nodes(nodes, X),
        y,
        data.target_names,
        n_features=4,
        feature_names=X.columns,
    )
    assert (tree.tree_.n_node_samples[nodes.leaves] == 0).any()
    return tree, X, nodes


def test_drawing_and_printing(iris_tree):
    tree, X, nodes = iris_tree
    figure = Figure()
    FigureCanvasAgg(figure)
    assert len(plot_tree(tree, ax=figure.add_subplot(), filled=True)) >= nodes.n_nodes
    text = export_text(tree, feature_names=list(X.columns), show_weights=True, decimals=9)
    assert text.count("class:") == nodes.n_leaves
    dot = export_graphviz(tree, filled=True, class_names=list(tree.classes_))
    shown = re.findall(r"class = (\w+)", dot)
    largest = tree.classes_[tree.tree_.value[:, 0].argmax(axis=1)]
    assert shown == list(largest)
    assert re.findall(r"class: (\w+)", text) == list(largest[nodes.leaves])
    assert repr(tree) == "DecisionTreeClassifier()"


def test_pickle_joblib_clone(iris_tree):
    tree, X, _ = iris_tree
    assert joblib.hash(tree) == joblib.hash(pickle.loads(pickle.dumps(tree)))
    buffer = BytesIO()
    joblib.dump(tree, buffer)
    restored = joblib.load(BytesIO(buffer.getvalue()))
    assert_same_state(restored.tree_, tree.tree_)
    np.testing.assert_array_equal(restored.predict(X), tree.predict(X))
    refitted = clone(tree)
    with pytest.raises(NotFittedError):
        refitted.predict(X)
    assert refitted.fit(X, load_iris().target).score(X, load_iris().target) == 1.0


def test_prediction_methods(iris_tree):
    tree, X, nodes = iris_tree
    path = tree.decision_path(X)
    assert path.shape == (len(X), nodes.n_nodes)
    np.testing.assert_array_equal(np.asarray(path.sum(axis=0)).ravel(), tree.tree_.n_node_samples)
    np.testing.assert_allclose(np.exp(tree.predict_log_proba(X)), tree.predict_proba(X))
    by_proba = tree.classes_[tree.predict_proba(X).argmax(axis=1)]
    np.testing.assert_array_equal(tree.predict(X), by_proba)
    assert 0 <= tree.score(X, tree.predict(X)) == 1
    plain = write_tree_without_names(tree, nodes)
    np.testing.assert_array_equal(plain.predict(csr_matrix(X.to_numpy())), tree.predict(X))


def write_tree_without_names(tree, nodes):
    t = tree.tree_
    statistics = t.n_node_samples, t.weighted_n_node_samples, t.impurity
    return write_tree(nodes, t.value[:, 0], *statistics, n_features=4, classes=tree.classes_)


def test_feature_names(iris_tree):
    tree, X, nodes = iris_tree
    assert list(tree.feature_names_in_) == list(X.columns)
    assert tree.feature_names_in_.dtype == object
    with pytest.raises(ValueError, match="feature names"):
        tree.predict(X.rename(columns={X.columns[0]: "other"}))
    with pytest.raises(ValueError, match="expecting 4 features"):
        write_tree_without_names(tree, nodes).predict(X.to_numpy()[:, :3])
    for names in (["a", "b"], [0, 1, 2, 3], "abcd"):
        with pytest.raises(ValueError, match="is not a list of 4 strings"):
            write_tree(
                nodes,
                tree.tree_.value[:, 0],
                tree.tree_.n_node_samples,
                tree.tree_.weighted_n_node_samples,
                tree.tree_.impurity,
                n_features=4,
                classes=tree.classes_,
                feature_names=names,
            )


def test_pruning_a_written_tree_by_cost_complexity(iris_tree):
    tree, _, _ = iris_tree
    alphas = ccp_pruning_path(tree.tree_)["ccp_alphas"]
    assert (alphas >= 0).all()
    assert alphas.size > 1
    pruned = pickle.loads(pickle.dumps(tree)).set_params(ccp_alpha=alphas[-1] * 2)
    pruned._prune_tree()
    assert pruned.get_n_leaves() == 1
    np.testing.assert_array_equal(pruned.tree_.value[0], tree.tree_.value[0])


def test_single_leaf():
    nodes = TreeNodes([-1], [-1], [-1], [0.0])
    assert (nodes.n_leaves, nodes.depth) == (1, 0)
    tree = write_classifier(nodes, [1], [[0.5, 0.5]], [0, 0], [0, 1], ["no", "yes"], n_features=2)
    assert_consistent(tree)
    np.testing.assert_array_equal(tree.feature_importances_, [0, 0])
    assert list(tree.predict(np.zeros((2, 2)))) == ["yes", "yes"]
    assert tree.get_depth() == 0
    lonely = write_classifier(nodes, [0], [[1.0]], [], [], [7], n_features=1)
    assert_consistent(lonely)
    assert list(lonely.predict([[1.0]])) == [7]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"leaf_label": [0, 2]}, r"leaf_label\[1\]=2 is not a class index"),
        ({"leaf_label": [0, -1]}, r"leaf_label\[1\]=-1 is not a class index"),
        ({"leaf_label": [0.0, 1.0]}, "leaf_label has dtype float64"),
        ({"leaf_label": [0, 1, 1, 1]}, "leaf_label has shape"),
        ({"leaf_label": 0}, "leaf_label has shape"),
        ({"leaf_proba": [[0.5, 0.4], [0, 1]]}, r"leaf_proba\[0\] sums to 0.9"),
        ({"leaf_proba": [[1.5, -0.5], [0, 1]]}, r"leaf_proba\[0, 1\]=-0.5"),
        ({"leaf_proba": [[np.nan, 1], [0, 1]]}, r"leaf_proba\[0, 0\]=nan is not finite"),
        ({"leaf_proba": [[1.0], [1.0]]}, "leaf_proba has shape"),
        ({"leaf_proba": [[1.0, 0.0]]}, "leaf_proba has shape"),
        ({"classes": []}, "classes has shape"),
        ({"classes": [["a", "b"]]}, "classes has shape"),
        ({"n_features": 1}, "out of range: n_features=1"),
        ({"n_features": 0}, "n_features=0"),
        ({"leaf_of_row": [0, 1]}, "is not a leaf"),
        ({"y_index": [0, 2]}, "is not a class index"),
    ],
)
def test_write_classifier_checks(change, message):
    arguments = {
        "nodes": TreeNodes([1, -1, -1], [2, -1, -1], [1, -1, -1], np.zeros(3)),
        "leaf_label": [0, 1],
        "leaf_proba": [[1.0, 0.0], [0.0, 1.0]],
        "leaf_of_row": [1, 2],
        "y_index": [0, 1],
        "classes": ["a", "b"],
        "n_features": 2,
    }
    write_classifier(**arguments)
    with pytest.raises(ValueError, match=message):
        write_classifier(**{**arguments, **change})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"value": [[0.5, 0.5], [1, 0]]}, "value has shape"),
        ({"value": [[0.5, 0.5], [1, 0], [1, 1]]}, r"value\[2\] sums to 2"),
        ({"n_node_samples": [3, 1, 1]}, r"n_node_samples\[0\]=3 is not the sum"),
        ({"n_node_samples": [0, 1, -1]}, r"n_node_samples\[2\]=-1"),
        ({"n_node_samples": [2.0, 1.0, 1.0]}, "n_node_samples has dtype float64"),
        ({"weighted_n_node_samples": [2, 2, 0]}, r"weighted_n_node_samples\[2\]=0"),
        (
            {"weighted_n_node_samples": [2, 2, 1]},
            r"weighted_n_node_samples\[0\]=2.0 is not the sum",
        ),
        ({"weighted_n_node_samples": [np.inf] * 3}, "is not finite"),
        ({"impurity": [0.5, 0, -0.1]}, r"impurity\[2\]=-0.1"),
        ({"impurity": [0.1, 0.2, 0.3]}, r"impurity\[0\]=0.1 is below"),
        ({"impurity": [np.nan, 0, 0]}, "is not finite"),
    ],
)
def test_write_tree_checks(change, message):
    arguments = {
        "nodes": TreeNodes([1, -1, -1], [2, -1, -1], [0, -1, -1], np.zeros(3)),
        "value": [[0.5, 0.5], [1, 0], [0, 1]],
        "n_node_samples": [2, 1, 1],
        "weighted_n_node_samples": [2.0, 1.0, 1.0],
        "impurity": [0.5, 0.0, 0.0],
        "n_features": 1,
        "classes": [0, 1],
    }
    write_tree(**arguments)
    with pytest.raises(ValueError, match=message):
        write_tree(**{**arguments, **change})


def test_written_classes_do_not_share_memory():
    nodes = TreeNodes([-1], [-1], [-1], [0.0])
    classes = np.array([1, 2])
    tree = write_classifier(nodes, [0], None, [], [], classes, n_features=1)
    classes[0] = 5
    assert list(tree.classes_) == [1, 2]


# Deep and wide trees


def test_long_chain():
    nodes, _ = preorder(*chain(10_000))
    assert (nodes.depth, nodes.n_leaves) == (10_000, 10_001)
    X = np.linspace(-1, 9_999.5, 500)[:, None]
    leaf = apply_nodes(nodes, X)
    label = np.arange(nodes.n_leaves) % 3
    tree = write_classifier(
        nodes, label, None, leaf, np.arange(500) % 3, np.arange(3), n_features=1
    )
    assert tree.get_depth() == 10_000
    np.testing.assert_array_equal(tree.apply(X), leaf)
    assert_same_state(pickle.loads(pickle.dumps(tree)).tree_, tree.tree_)
    keep = np.arange(nodes.n_nodes) < 100
    assert pruned_copy(tree, keep).get_depth() == 50
    regressor = write_regressor(nodes, label.astype(float), leaf, X[:, 0], n_features=1)
    assert np.isfinite(regressor.tree_.impurity).all()


def test_wide_tree():
    n_leaves = 100_000
    nodes, _ = preorder(*grow(np.random.default_rng(0), n_leaves, 5))
    rng = np.random.default_rng(1)
    leaf = rng.choice(nodes.leaves, size=1000)
    label = rng.integers(2, size=n_leaves)
    tree = write_classifier(nodes, label, None, leaf, leaf % 2, [0, 1], n_features=5)
    assert tree.get_n_leaves() == n_leaves
    assert tree.feature_importances_.sum() == pytest.approx(1.0)


# Regressors


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("params", [{}, {"max_leaf_nodes": 7}, {"max_depth": 3}])
def test_rewriting_a_fitted_regressor(weighted, params):
    X, y = load_diabetes(return_X_y=True)
    rng = np.random.default_rng(0)
    sample_weight = rng.exponential(size=y.size) * (rng.random(y.size) < 0.8) if weighted else None
    reference = DecisionTreeRegressor(random_state=0, **params)
    reference.fit(X, y, sample_weight=sample_weight)
    contents = read_nodes(reference)
    leaf = apply_nodes(contents.nodes, X)
    tree = write_regressor(
        contents.nodes, contents.value[:, 0], leaf, y, n_features=10, sample_weight=sample_weight
    )
    assert type(tree) is DecisionTreeRegressor
    assert set(vars(tree)) == set(vars(reference))
    np.testing.assert_array_equal(tree.predict(X), reference.predict(X))
    order = contents.order
    for field in ("n_node_samples", "weighted_n_node_samples", "impurity", "value"):
        np.testing.assert_allclose(
            getattr(tree.tree_, field), getattr(reference.tree_, field)[order], atol=1e-8
        )
    np.testing.assert_allclose(
        tree.feature_importances_, reference.feature_importances_, atol=1e-12
    )
    assert_consistent(tree)


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_leaves=st.integers(1, 20),
    n_rows=st.sampled_from([0, 1, 100]),
    offset=st.sampled_from([0.0, 1e8]),
)
def test_any_regressor_is_consistent(seed, n_leaves, n_rows, offset):
    rng = np.random.default_rng(seed)
    nodes, _ = preorder(*grow(rng, n_leaves, 3))
    X = rng.normal(size=(n_rows, 3))
    y = offset + rng.normal(size=n_rows)
    weight = rng.integers(0, 3, size=n_rows).astype(float)
    value = offset + rng.normal(size=n_leaves)
    leaf = apply_nodes(nodes, X)
    tree = write_regressor(nodes, value, leaf, y, n_features=3, sample_weight=weight)
    assert_consistent(tree)
    value_of_node = np.empty(nodes.n_nodes)
    value_of_node[nodes.leaves] = value
    np.testing.assert_array_equal(tree.predict(X) if n_rows else [], value_of_node[leaf])
    if weight.sum() > 0 and (tree.tree_.n_node_samples > 0).all():
        mean = np.average(y, weights=weight)
        variance = np.average((y - mean) ** 2, weights=weight)
        assert tree.tree_.impurity[0] == pytest.approx(variance, rel=1e-6)


def test_regressor_in_the_tools():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    reference = DecisionTreeRegressor(random_state=0, max_depth=3).fit(X, y)
    contents = read_nodes(reference)
    tree = write_regressor(
        contents.nodes,
        contents.value[:, 0],
        apply_nodes(contents.nodes, X),
        y,
        n_features=10,
        feature_names=list(X.columns),
    )
    assert export_text(tree) == export_text(reference)
    for method in ("recursion", "brute"):
        ours = partial_dependence(tree, X, ["bmi"], method=method)["average"]
        theirs = partial_dependence(reference, X, ["bmi"], method=method)["average"]
        np.testing.assert_allclose(ours, theirs)
    assert isinstance(X, pd.DataFrame)
    with pytest.raises(ValueError, match=r"leaf_value\[0\]=nan is not finite"):
        write_regressor(contents.nodes, [np.nan] * contents.nodes.n_nodes, [], [], n_features=10)


# Pruned copies


def kept_splits(full, pruned):
    """Tell which splits of a tree another tree, cut out of it, still has."""
    keep = np.zeros(full.node_count, dtype=bool)
    stack = [(0, 0)]
    while stack:
        i, j = stack.pop()
        if pruned.children_left[j] >= 0:
            keep[i] = True
            stack.append((full.children_left[i], pruned.children_left[j]))
            stack.append((full.children_right[i], pruned.children_right[j]))
    return keep


@pytest.mark.parametrize(
    ("Tree", "load"),
    [
        (DecisionTreeClassifier, load_wine),
        (ExtraTreeClassifier, load_wine),
        (DecisionTreeRegressor, load_diabetes),
        (ExtraTreeRegressor, load_diabetes),
    ],
)
@pytest.mark.parametrize("params", [{}, {"max_leaf_nodes": 9}])
def test_pruned_copy_is_what_scikit_learn_prunes(Tree, load, params):
    X, y = load(return_X_y=True)
    full = Tree(random_state=0, **params).fit(X, y)
    alphas = ccp_pruning_path(full.tree_)["ccp_alphas"]
    for alpha in (0.0, alphas[len(alphas) // 2], alphas[-1]):
        pruned = Tree(random_state=0, ccp_alpha=alpha, **params).fit(X, y)
        before = pickle.dumps(full)
        ours = pruned_copy(full, kept_splits(full.tree_, pruned.tree_))
        assert pickle.dumps(full) == before
        assert type(ours) is Tree
        assert ours.get_params() == full.get_params()
        assert set(vars(ours)) == set(vars(full))
        np.testing.assert_array_equal(ours.predict(X), pruned.predict(X))
        np.testing.assert_array_equal(ours.feature_importances_, pruned.feature_importances_)
        if alpha > 0:  # scikit-learn's own pruning numbers nodes in pre-order, as we do
            assert_same_state(ours.tree_, pruned.tree_)
        if alpha == 0 and not params:
            assert pickle.dumps(ours.tree_) == pickle.dumps(full.tree_)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_pruned_copy_keeps_what_is_asked(seed):
    X, y = load_wine(return_X_y=True)
    full = RandomForestClassifier(1, random_state=seed % 5).fit(X, y).estimators_[0]
    t = full.tree_
    keep = np.random.default_rng(seed).random(t.node_count) < 0.8
    pruned = pruned_copy(full, keep)
    p = pruned.tree_
    for x in X[::7].astype(np.float32):
        node = 0
        while keep[node] and t.children_left[node] >= 0:
            goes_left = x[t.feature[node]] <= t.threshold[node]
            node = t.children_left[node] if goes_left else t.children_right[node]
        leaf = p.apply(x[None])[0]
        for field in ("value", "impurity", "n_node_samples", "weighted_n_node_samples"):
            np.testing.assert_array_equal(getattr(p, field)[leaf], getattr(t, field)[node])
        assert p.children_left[leaf] == p.children_right[leaf] == -1
        assert p.feature[leaf] == p.threshold[leaf] == -2
    assert p.max_depth == p.compute_node_depths().max() - 1


def test_pruned_copy_writes_other_values():
    X, y = load_wine(return_X_y=True)
    classifier = DecisionTreeClassifier(random_state=0).fit(X, y)
    regressor = DecisionTreeRegressor(random_state=0).fit(X, X[:, 0])
    for full, width in ((classifier, 3), (regressor, 1)):
        t = full.tree_
        keep = np.ones(t.node_count, dtype=bool)
        keep[t.children_left[0]] = False
        value = np.random.default_rng(0).dirichlet(np.ones(3), t.node_count)[:, :width]
        pruned = pruned_copy(full, keep, value)
        ends = t.decision_path(X.astype(np.float32)).toarray()[:, t.children_left[0]] > 0
        end = np.where(ends, t.children_left[0], full.apply(X))
        answer = pruned.predict_proba(X) if width == 3 else pruned.predict(X)[:, None]
        np.testing.assert_array_equal(answer, value[end])
        with pytest.raises(ValueError, match="shape"):
            pruned_copy(full, keep, value[1:])
        with pytest.raises(ValueError, match="finite"):
            pruned_copy(full, keep, value * np.nan)
    with pytest.raises(ValueError, match="sum to 1"):
        pruned_copy(
            classifier,
            np.ones(classifier.tree_.node_count, dtype=bool),
            value=np.full((classifier.tree_.node_count, 3), 0.5),
        )


def test_pruned_copy_keeps_multiple_outputs_and_random_state():
    X, y = load_iris(return_X_y=True)
    random_state = np.random.RandomState(0)
    full = DecisionTreeClassifier(random_state=random_state).fit(X, np.c_[y, y % 2])
    keep = np.zeros(full.tree_.node_count, dtype=bool)
    keep[0] = True
    pruned = pruned_copy(full, keep)
    assert pruned.get_n_leaves() == 2
    assert pruned.tree_.value.shape == (3, 2, 3)
    assert pruned.predict(X).shape == (150, 2)
    assert pruned.random_state is not random_state
    assert pruned.classes_[0] is not full.classes_[0]
    with pytest.raises(ValueError, match="has 2 outputs"):
        read_nodes(full)


def test_trees_grown_on_missing_values():
    X, y = load_wine(return_X_y=True)
    X[np.random.default_rng(0).random(X.shape) < 0.3] = np.nan
    full = DecisionTreeClassifier(random_state=0).fit(X, y)
    keep = np.ones(full.tree_.node_count, dtype=bool)
    same = pruned_copy(full, keep)
    assert_same_state(same.tree_, full.tree_)
    np.testing.assert_array_equal(same.predict(X), full.predict(X))
    contents = read_nodes(full)
    finite = np.random.default_rng(1).normal(size=(50, 13)) * np.nanmax(X, axis=0)
    leaf = apply_nodes(contents.nodes, finite)
    np.testing.assert_array_equal(contents.order[leaf], full.apply(finite))


def test_pruned_copy_of_a_boosting_stage():
    X, y = load_iris(return_X_y=True)
    boosting = GradientBoostingClassifier(n_estimators=2, random_state=0).fit(X, y)
    stage = boosting.estimators_[1, 0]
    keep = np.ones(stage.tree_.node_count, dtype=bool)
    assert_same_state(pruned_copy(stage, keep).tree_, stage.tree_)


def test_pruned_copy_checks():
    X, y = load_iris(return_X_y=True)
    tree = DecisionTreeClassifier().fit(X, y)
    with pytest.raises(ValueError, match="keep_split has shape"):
        pruned_copy(tree, [True])
    with pytest.raises(ValueError, match="dtype int64"):
        pruned_copy(tree, np.ones(tree.tree_.node_count, dtype=np.int64))
    with pytest.raises(TypeError, match="tree_estimator is a RandomForestClassifier"):
        pruned_copy(RandomForestClassifier(), [True])
    with pytest.raises(NotFittedError):
        read_nodes(DecisionTreeClassifier())


# Layouts of scikit-learn


def test_unknown_node_layout(monkeypatch):
    """Fields that are not known are copied where they hold nothing, and never made up."""
    layout = _sklearn_tree.NODE_DTYPE
    fields = [*((name, layout[name]) for name in layout.names), ("side", np.uint8)]
    X, y = load_iris(return_X_y=True)
    tree = DecisionTreeClassifier().fit(X, y)
    contents, keep = read_nodes(tree), np.ones(tree.tree_.node_count, dtype=bool)
    monkeypatch.setattr(_sklearn_tree, "NODE_DTYPE", np.dtype(fields, align=True))
    message = r"fields that are not known: side \(scikit-learn .*scikit-learn>=1\.6,<1\.10"
    with pytest.raises(NotImplementedError, match=message):
        apply_nodes(contents.nodes, X)
    with pytest.raises(NotImplementedError, match=message):
        write_classifier(
            contents.nodes, [0] * contents.nodes.n_leaves, None, [], [], [0], n_features=4
        )
    later = deepcopy(tree)
    later.tree_ = LaterTree(tree.tree_, dtype=_sklearn_tree.NODE_DTYPE)
    monkeypatch.setattr(_sklearn_tree, "Tree", LaterTree)
    copied = pruned_copy(later, keep).tree_
    np.testing.assert_array_equal(copied.state["nodes"], later.tree_.state["nodes"])
    later.tree_.state["nodes"]["side"][3] = 1
    with pytest.raises(NotImplementedError, match=message):
        pruned_copy(later, keep)
    with pytest.raises(NotImplementedError, match=message):
        embedded_copy(later, n_features=5, n_classes=3)


class LaterTree:
    """Stands for the compiled tree of a later version: it takes other records."""

    def __init__(self, *arguments, dtype=None):
        self.arguments = arguments
        if dtype is not None:
            [self.old] = arguments
            state = self.old.__getstate__()
            nodes = np.zeros(self.old.node_count, dtype=dtype)
            for name in state["nodes"].dtype.names:
                nodes[name] = state["nodes"][name]
            self.state = {**state, "nodes": nodes}

    def __getattr__(self, name):
        return getattr(self.__dict__["old"], name)

    def __getstate__(self):
        return self.state

    def __setstate__(self, state):
        self.state = state
