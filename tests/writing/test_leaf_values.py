"""What nodes answer: the formula of hierarchical shrinkage, and labels that stay."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ensemble_simplify.grid.tree_nodes import TreeNodes
from ensemble_simplify.writing.sklearn_tree import (
    shrunken,
    weight_of_a_row,
    with_labels,
    write_counted,
)


def random_nodes(rng, n_leaves):
    """A random tree in pre-order."""
    left, right, stack = [], [], [(n_leaves, None, None)]
    while stack:
        n, parent, side = stack.pop()
        if parent is not None:
            side[parent] = len(left)
        left.append(-1)
        right.append(-1)
        if n > 1:
            n_left = int(rng.integers(1, n))
            i = len(left) - 1
            stack += [(n - n_left, i, right), (n_left, i, left)]
    feature = np.where(np.array(left) < 0, -1, 0)
    return TreeNodes(np.array(left), np.array(right), feature, rng.normal(size=len(left)))


def test_shrinkage_by_hand():
    """A root of 9 and 3 rows, its children of 8, 0 and 1, 3, this one split into 1, 0 and 0, 3."""
    nodes = TreeNodes([1, -1, 3, -1, -1], [2, -1, 4, -1, -1], [0, -1, 1, -1, -1], [0.5] * 5)
    counts = np.array([[9, 3], [8, 0], [1, 3], [1, 0], [0, 3]], dtype=float)
    root = 9.5 / 13
    inner = root + (1 / 4 - root) * 12 / 18
    first = [
        root,
        root + (1 - root) * 12 / 18,
        inner,
        inner + (1 - 1 / 4) * 4 / 10,
        inner + (0 - 1 / 4) * 4 / 10,
    ]
    found = shrunken(nodes, counts, 6)
    np.testing.assert_allclose(found, np.column_stack([first, np.subtract(1, first)]), rtol=1e-14)


def test_a_node_without_rows_answers_as_its_parent():
    nodes = TreeNodes([1, -1, 3, -1, -1], [2, -1, 4, -1, -1], [0, -1, 1, -1, -1], [0.5] * 5)
    counts = np.array([[2, 2], [2, 2], [0, 0], [0, 0], [0, 0]], dtype=float)
    np.testing.assert_allclose(shrunken(nodes, counts, 3), 0.5)


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 2**32 - 1))
def test_shrunken_values_are_probabilities_and_keep_the_labels(seed):
    rng = np.random.default_rng(seed)
    n_classes = int(rng.integers(1, 5))
    nodes = random_nodes(rng, int(rng.integers(1, 20)))
    # of few values, so that classes tie
    rows = rng.integers(0, 4, size=(nodes.n_leaves, n_classes))
    rows[np.arange(nodes.n_leaves), rng.integers(n_classes, size=nodes.n_leaves)] += 1
    unit = rng.choice([1.0, 1e-6, 7.0, rng.uniform(0.1, 3)])
    counts, n_rows = nodes._sum_up(unit * rows), nodes._sum_up(rows.sum(axis=1))
    votes = rng.dirichlet(np.ones(n_classes), nodes.n_leaves) * rng.uniform(0, 50)
    options = {"n_features": 1, "classes": np.arange(n_classes)}
    plain = write_counted(nodes, n_rows, counts, **options).tree_
    np.testing.assert_array_equal(plain.value[:, 0], counts / counts.sum(axis=1, keepdims=True))
    for more in (None, votes):
        strength = rng.choice([0.1, 10.0, 1e6])
        tree = write_counted(nodes, n_rows, counts, shrinkage=strength, votes=more, **options).tree_
        value = tree.value[:, 0]
        np.testing.assert_array_equal(value.argmax(axis=1), plain.value[:, 0].argmax(axis=1))
        np.testing.assert_allclose(value.sum(axis=1), 1.0, rtol=0, atol=1e-12)
        assert (value > 0).all()
        for field in ("impurity", "n_node_samples", "weighted_n_node_samples"):
            np.testing.assert_array_equal(getattr(tree, field), getattr(plain, field))


def test_much_evidence_is_hardly_shrunk_and_little_is():
    nodes = TreeNodes([1, -1, -1], [2, -1, -1], [0, -1, -1], [0.5] * 3)
    counts = np.array([[6.0, 4.0], [5.0, 0.0], [1.0, 4.0]])
    np.testing.assert_allclose(shrunken(nodes, 1e9 * counts, 10)[1:, 0], [1, 0.2], atol=1e-6)
    np.testing.assert_allclose(shrunken(nodes, counts, 1e9)[:, 0], 6.5 / 11, atol=1e-6)


def test_weights_of_rows():
    """Weights that average below one are scaled up; larger ones are numbers of rows."""
    assert weight_of_a_row([10, 4, 6], np.array([0.1, 0.04, 0.06])) == 0.01
    assert weight_of_a_row([10, 4, 6], np.array([30.0, 10.0, 20.0])) == 1.0
    nodes = TreeNodes([1, -1, -1], [2, -1, -1], [0, -1, -1], [0.5] * 3)
    counts = np.array([[6.0, 4.0], [5.0, 0.0], [1.0, 4.0]])
    options = {"n_features": 1, "classes": ["no", "yes"], "shrinkage": 10}
    whole, light, heavy = (
        write_counted(nodes, [10, 5, 5], unit * counts, **options).tree_.value
        for unit in (1.0, 1e-3, 100.0)
    )
    np.testing.assert_allclose(light, whole, rtol=1e-12)
    assert heavy[1, 0, 0] > whole[1, 0, 0] + 0.1


@settings(deadline=None, max_examples=200)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6))
def test_probabilities_are_corrected_minimally(seed, n_classes):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.full(n_classes, rng.choice([0.1, 1.0, 10.0])), size=4)
    proba[1] = 1 / n_classes
    proba[2] = np.eye(n_classes)[rng.integers(n_classes)]
    label = rng.integers(n_classes, size=4)
    if rng.random() < 0.5:  # nearly tied with an earlier class
        label[3] = n_classes - 1
        top = proba[3].max()
        proba[3, [0, -1]] = top, np.nextafter(top, 1)
        proba[3] /= proba[3].sum()
    corrected = with_labels(proba, label)
    assert (corrected >= 0).all()
    np.testing.assert_allclose(corrected.sum(axis=1), 1.0, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(corrected.argmax(axis=1), label)
    np.testing.assert_array_equal(corrected.astype(np.float32).argmax(axis=1), label)
    right = proba.astype(np.float32).argmax(axis=1) == label
    right &= proba.argmax(axis=1) == label
    np.testing.assert_array_equal(corrected[right], proba[right])
    # No probabilities with that label are closer, but for the margin.
    distance = np.linalg.norm(corrected - proba, axis=1)
    for row in range(4):
        others = rng.dirichlet(np.ones(n_classes), size=300)
        others = np.concatenate([others, np.linspace(corrected[row], others[0], 50)])
        others = others[others.argmax(axis=1) == label[row]]
        assert np.linalg.norm(others - proba[row], axis=1).min() >= distance[row] - 1e-5


def test_corrections_by_hand():
    proba = [[0.5, 0.3, 0.2], [0.5, 0.3, 0.2], [0.4, 0.4, 0.2], [0.0, 1.0, 0.0], [0.4, 0.4, 0.2]]
    corrected = with_labels(np.array(proba), np.array([1, 2, 1, 0, 0]))
    expected = [
        [0.4, 0.4, 0.2],
        [0.35, 0.3, 0.35],
        [0.4, 0.4, 0.2],
        [0.5, 0.5, 0.0],
        [0.4, 0.4, 0.2],
    ]
    np.testing.assert_allclose(corrected, expected, rtol=0, atol=2e-6)
    np.testing.assert_array_equal(corrected.argmax(axis=1), [1, 2, 1, 0, 0])
    np.testing.assert_array_equal(corrected[4], proba[4])
