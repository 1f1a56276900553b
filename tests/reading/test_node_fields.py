"""Nodes of other versions of scikit-learn: fields are carried or refused, never misread."""

import importlib
import tomllib
from pathlib import Path

import numpy as np
import pytest
import sklearn
from sklearn.datasets import load_iris
from sklearn.ensemble import (
    HistGradientBoostingRegressor,
)
from sklearn.tree import DecisionTreeClassifier

from ensemble_simplify.reading import Model
from ensemble_simplify.reading.families import forests as node_fields
from ensemble_simplify.reading.forest import read_forest
from ensemble_simplify.reading.sample import is_known_by_its_trees


class KeptTree:
    """Stands for the compiled tree of another version: its nodes, by name, and their values."""

    def __init__(self, nodes, value):
        self.nodes, self.value = nodes, value

    def __getstate__(self):
        return {"nodes": self.nodes, "values": self.value}


class OtherWay(KeptTree):
    """A tree that answers the next class."""

    def __init__(self, tree):
        super().__init__(tree.__getstate__()["nodes"], tree.value)
        self.tree = tree

    def predict(self, X):
        return np.roll(self.tree.predict(X), 1, axis=1)


def widened(nodes, **further):
    """Nodes with further fields, an array each."""
    layout = [(name, nodes.dtype[name]) for name in nodes.dtype.names]
    layout += [(name, np.asarray(column).dtype) for name, column in further.items()]
    wide = np.zeros(len(nodes), dtype=np.dtype(layout, align=True))
    for name in nodes.dtype.names:
        wide[name] = nodes[name]
    for name, column in further.items():
        wide[name] = column
    return wide


def with_nodes(model, change):
    """A fitted tree that keeps its nodes as `change` makes them."""
    tree = model.tree_
    model.tree_ = KeptTree(change(tree.__getstate__()["nodes"]), tree.value)
    return model


def plain_tree():
    X, y = load_iris(return_X_y=True)
    return DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y), X


@pytest.mark.parametrize("content", [0, 1])
def test_further_fields_of_a_tree(content):
    model, X = plain_tree()
    labels = model.predict(X)
    n_nodes = model.tree_.node_count
    with_nodes(
        model, lambda nodes: widened(nodes, gain=np.zeros(n_nodes), side=[content] * n_nodes)
    )
    if content == 0:
        forest = read_forest(model)
        np.testing.assert_array_equal(forest.classes[forest.predict_index(X)], labels)
        return
    version = sklearn.__version__.replace(".", r"\.")
    message = rf"fields that are not known: side \(scikit-learn {version} is .*<1\.10"
    with pytest.raises(ValueError, match=message):
        read_forest(model)


@pytest.mark.parametrize("content", [0, 1])
def test_further_fields_of_boosting(monkeypatch, content):
    X, y = load_iris(return_X_y=True)
    model = HistGradientBoostingRegressor(max_iter=2).fit(X, y)
    answers = model.predict(X)
    for [predictor] in model._predictors:
        nodes = predictor.nodes
        monkeypatch.setattr(predictor, "nodes", widened(nodes, side=[content] * len(nodes)))
    if content == 0:
        np.testing.assert_array_equal(read_forest(model).predict_index(X), answers)
        return
    with pytest.raises(ValueError, match=r"a layout that is not known .*<1\.10"):
        read_forest(model)


@pytest.mark.parametrize(
    ("version", "untested"),
    [("1.6.0", 0), ("1.9.1", 0), ("1.9.99", 0), ("1.10.dev0", 1), ("1.10.0rc1", 1), ("2.0", 1)],
)
def test_newer_versions(monkeypatch, recwarn, version, untested):
    """A newer version is warned of once, and models are asked what they answer."""
    model, _ = plain_tree()
    monkeypatch.setattr(sklearn, "__version__", version)
    importlib.reload(node_fields)
    texts = [str(warning.message) for warning in recwarn if warning.category is UserWarning]
    assert len(texts) == untested
    assert node_fields.is_untested() == bool(untested)
    assert is_known_by_its_trees(model) == (not untested)
    if untested:
        assert f"(scikit-learn {version} is installed)" in texts[0]
        assert "install scikit-learn>=1.6,<1.10" in texts[0]
    # nodes whose fields say what they always did, and rows that go elsewhere
    model.tree_ = OtherWay(model.tree_)
    if untested:
        with pytest.raises(TypeError, match="answers otherwise than its trees"):
            Model.of(model)
    else:
        assert Model.of(model)


def test_bounds_of_scikit_learn():
    """The package metadata says the same as the texts."""
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    bounds = f"scikit-learn>={node_fields.OLDEST},<{node_fields.FIRST_UNTESTED}"
    assert bounds in tomllib.loads(text)["project"]["dependencies"]
    assert bounds in node_fields.not_known("")
