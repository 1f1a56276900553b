"""The pruning path as a picture."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import NotFittedError

from ensemble_simplify import PruningPathDisplay, RepresenterTree

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def curves(display):
    return {line.get_label(): line.get_xydata() for line in display.ax_.lines}


def test_curves_are_the_path():
    X, y = load_iris(return_X_y=True)
    tree = RepresenterTree(RandomForestClassifier(5), select="train", random_state=0).fit(X, y)
    display = PruningPathDisplay.from_estimator(tree)
    path, drawn = tree.path_, curves(display)
    assert display.figure_ is display.ax_.figure
    for name, errors in (
        ("rows grown on", path.costs),
        ("training rows", path.errors),
        ("held-out rows", path.held_out_errors),
    ):
        np.testing.assert_array_equal(drawn[name], np.column_stack([path.n_leaves, errors]))
    assert drawn[f"selected: {tree.n_leaves_} leaves"][0, 0] == tree.n_leaves_
    assert display.ax_.get_ylabel() == "error rate"
    assert display.ax_.get_xlabel() == "leaves"


def test_fidelity_with_its_interval():
    X, y = load_iris(return_X_y=True)
    tree = RepresenterTree(RandomForestClassifier(5), random_state=0).fit(X, y)
    display = PruningPathDisplay.from_estimator(tree)
    path, name = tree.path_, "disagreement, held-out rows"
    np.testing.assert_array_equal(curves(display)[name][:, 1], 1.0 - path.fidelity)
    low, high = display.bands[name]
    np.testing.assert_array_equal(low, 1.0 - path.fidelity_high)
    np.testing.assert_array_equal(high, 1.0 - path.fidelity_low)
    assert len(display.ax_.collections) == 1
    tree = RepresenterTree(RandomForestClassifier(5), validation_fraction=0, random_state=0)
    display = PruningPathDisplay.from_estimator(tree.fit(X, y))
    assert list(curves(display))[:-1] == ["rows grown on", "training rows"]


def test_what_is_named_and_left_out():
    X, y = load_diabetes(return_X_y=True)
    tree = RepresenterTree(
        RandomForestRegressor(5, max_depth=3),
        select="smeared",
        validation_fraction=0,
        max_leaf_nodes=6,
        random_state=0,
    ).fit(X[:100], y[:100])
    _, ax = plt.subplots()
    display = PruningPathDisplay.from_estimator(tree, ax=ax)
    assert display.ax_ is ax
    assert list(curves(display))[:-1] == ["rows grown on", "smeared rows"]
    assert ax.get_ylabel() == "mean squared error"
    other = display.plot()
    assert other is display
    assert other.ax_ is not ax


def test_an_estimator_that_is_not_fitted():
    with pytest.raises(NotFittedError):
        PruningPathDisplay.from_estimator(RepresenterTree())
