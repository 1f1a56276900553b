"""Nodes of other versions of scikit-learn: fields are carried or refused, never misread."""

import importlib
import json
import tomllib
from pathlib import Path

import numpy as np
import pytest
import sklearn
from sklearn.datasets import load_iris
from sklearn.ensemble import (
    BaggingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from ensemble_simplify.reading import Model, family_of
from ensemble_simplify.reading.families import forests as node_fields
from ensemble_simplify.reading.forest import read_forest, tree_estimators
from ensemble_simplify.reading.sample import is_known_by_its_trees

# A tree with native categories that scikit-learn 1.10 (development) was fitted to, and its answers.
RECORDED = Path(__file__).parent.parent / "data" / "categorical_tree.json"
FIELDS = {
    "left_child": np.int64,
    "right_child": np.int64,
    "feature": np.int64,
    "threshold": np.float64,
    "left_cat_bitset": (np.uint32, 8),
    "impurity": np.float64,
    "n_node_samples": np.int64,
    "weighted_n_node_samples": np.float64,
    "missing_go_to_left": np.uint8,
}


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


@pytest.fixture
def recorded():
    """The recorded tree, rows, and the leaf and label that its own version says of each."""
    kept = json.loads(RECORDED.read_text(encoding="utf-8"))
    nodes = np.zeros(
        len(kept["value"]), dtype=np.dtype([(name, *_pair(kind)) for name, kind in FIELDS.items()])
    )
    for name, column in kept["nodes"].items():
        if name == "threshold":  # of splits of categories: not finite
            column = [-np.inf if number is None else number for number in column]
        nodes[name] = column
    categories = [np.array(_with_nan(own), dtype=object) for own in kept["categories"]]
    encoder = OrdinalEncoder()
    encoder.categories_ = [
        own if isinstance(own[0], str) else own.astype(np.float64) for own in categories
    ]
    rows = np.array([_with_nan(row) for row in kept["rows"]], dtype=object)
    model, _ = plain_tree()
    model.classes_, model.n_classes_ = np.array([0, 1]), np.intp(2)
    model.n_features_in_, model.is_categorical_ = 3, np.array(kept["is_categorical"])
    model._categorical_encoder = encoder
    model.tree_ = KeptTree(nodes, np.array(kept["value"])[:, None, :])
    return model, rows, np.array(kept["leaves"]), np.array(kept["labels"])


def _pair(kind):
    return kind if isinstance(kind, tuple) else (kind,)


def _with_nan(values):
    return [np.nan if value is None else value for value in values]


def kinds_of(model):
    """What `split_kind` holds for the recorded tree: -1 in leaves, 1 for sets, else 0."""
    nodes = model.tree_.nodes
    leaf, of_set = nodes["left_child"] < 0, np.isinf(nodes["threshold"])
    return np.where(leaf, -1, of_set.astype(int)).astype(np.int8)


def assert_answers(model, rows, leaves, labels):
    forest = read_forest(model)
    coded = forest.table.encode(rows)
    np.testing.assert_array_equal(forest.classes[forest.predict_index(coded)], labels)
    found = forest.value[forest.apply(coded)[:, 0]]
    np.testing.assert_array_equal(found, model.tree_.value[leaves, 0])
    return forest


@pytest.mark.parametrize("has_kind", [False, True])
def test_recorded_categories(recorded, has_kind):
    """Text with 40 levels, numbers, and few codes; unknown levels and gaps among the rows."""
    model, rows, leaves, labels = recorded
    if has_kind:
        kinds = kinds_of(model)
        assert np.unique(kinds).tolist() == [-1, 0, 1]
        model.tree_.nodes = widened(model.tree_.nodes, split_kind=kinds)
    forest = assert_answers(model, rows, leaves, labels)
    assert len(np.unique(leaves)) > 8
    assert [None if own is None else len(own) for own in forest.table.levels] == [40, None, 6]
    table = family_of(model).table()
    np.testing.assert_array_equal(table.levels[0], forest.table.levels[0])


def mixed(x):
    """The published function "lowbias32", in plain Python."""
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        x = ((x ^ (x >> shift)) * factor) % 2**32
    return x ^ (x >> 16)


def test_recorded_hash(recorded):
    """A hash of its place sends each category left or right; missing ones have their side."""
    model, rows, _, _ = recorded
    kinds = kinds_of(model)
    hashed = np.flatnonzero((kinds == 1) & (model.tree_.nodes["feature"] == 0))[::2]
    assert hashed.size > 1
    kinds[hashed] = 2
    nodes = model.tree_.nodes = widened(model.tree_.nodes, split_kind=kinds)
    nodes["left_cat_bitset"][hashed] = 0
    nodes["left_cat_bitset"][hashed, 0] = 0xDEADBEEF + hashed
    places = [
        {level: i for i, level in enumerate(own.tolist()) if level == level}
        for own in model._categorical_encoder.categories_
    ]
    leaves = []
    for row in rows:
        place = [places[0].get(row[0], np.nan), row[1], places[1].get(row[2], np.nan)]
        node = 0
        while nodes["left_child"][node] >= 0:
            value, bits = place[nodes["feature"][node]], nodes["left_cat_bitset"][node]
            if value != value:
                left = nodes["missing_go_to_left"][node]
            elif kinds[node] == 0:
                left = np.float32(value) <= nodes["threshold"][node]
            elif kinds[node] == 1:
                left = int(bits[value // 32]) >> value % 32 & 1
            else:
                left = mixed(int(bits[0]) ^ value) & 1
            node = nodes["left_child" if left else "right_child"][node]
        leaves.append(node)
    labels = model.tree_.value[leaves, 0].argmax(axis=1)
    assert_answers(model, rows, leaves, labels)


def test_recorded_checks(recorded):
    model, *_ = recorded
    nodes, kinds = model.tree_.nodes, kinds_of(model)
    split = np.flatnonzero(kinds == 1)[0]
    for wrong in (0, 3):
        changed = kinds.copy()
        changed[split] = wrong
        model.tree_.nodes = widened(nodes, split_kind=changed)
        with pytest.raises(ValueError, match=r"kinds of splits .*\(scikit-learn .*<1\.10"):
            read_forest(model)
    model.tree_.nodes = nodes
    with pytest.raises(TypeError, match="does not hold scikit-learn trees"):
        tree_estimators(model)
    model._categorical_encoder.categories_[0][3] = None
    with pytest.raises(ValueError, match="knows None as a category"):
        read_forest(model)


def test_categories_of_members(recorded):
    """Ensembles give all members the same codes; a member with its own is refused."""
    member = recorded[0]
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(2, random_state=0).fit(X[:, :3], np.minimum(y, 1))
    forest.estimators_[1] = member
    with pytest.raises(ValueError, match="DecisionTreeClassifier has categorical splits"):
        read_forest(forest)
    bagging = BaggingClassifier(n_estimators=2, random_state=0).fit(X[:, :3], np.minimum(y, 1))
    bagging.estimators_[1] = member
    with pytest.raises(TypeError, match="members with categories of their own"):
        read_forest(bagging)
    pipeline = make_pipeline(StandardScaler(), DecisionTreeClassifier()).fit(X[:, :3], y)
    pipeline.steps[-1] = ("tree", member)
    with pytest.raises(TypeError, match="categorical splits of transformed columns"):
        read_forest(pipeline)


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
