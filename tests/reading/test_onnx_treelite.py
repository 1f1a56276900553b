"""Models in exchange formats: read as their runtime answers, and compared with their originals."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier
from strategies import edge_points
from threadpoolctl import threadpool_limits

from ensemble_simplify import (
    BornAgainClassifier,
    Domain,
    FaithfulPruner,
    GenesimClassifier,
    OnnxModel,
    RepresenterTree,
    TreeliteModel,
    agreement,
    merge_trees,
    verify,
)
from ensemble_simplify.reading.forest import read_forest

pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")


@pytest.fixture(autouse=True)
def _one_thread():
    with threadpool_limits(1):
        yield


def data(n_classes=2):
    if n_classes == 3:
        return load_iris(return_X_y=True)
    X, y = load_breast_cancer(return_X_y=True)
    return X[::3, :5], y[::3]


def rows_for(forest, n_rows=100_000, missing=True, seed=0):
    """Cut points, their neighbours and missing values, drawn column by column."""
    rng = np.random.default_rng(seed)
    columns = []
    for j in range(forest.n_features):
        pool = edge_points(forest.threshold[forest.feature == j], 1, 400, seed=j)[:, 0]
        if forest.categorical is not None and forest.categorical[j]:
            pool = np.arange(14.0)
        pool = np.append(pool[np.isfinite(pool)], [np.nan] if missing else [])
        columns.append(rng.choice(pool.astype(np.float32), n_rows))
    return np.column_stack(columns).astype(np.float64)


def assert_read(model, missing=True):
    """The reading answers what the runtime does, bit for bit."""
    forest = read_forest(model)
    rows = rows_for(forest, missing=missing)
    found = forest.predict_index(rows)
    truth = model.predict(rows)
    if forest.classes is None:
        assert found.dtype == truth.dtype
    else:
        found = forest.classes[found]
        assert len(np.unique(truth)) > 1
    np.testing.assert_array_equal(found, truth)
    return forest


MODELS = {
    "tree": DecisionTreeClassifier(max_depth=4, random_state=0),
    "forest": RandomForestClassifier(6, max_depth=4, random_state=0),
    "extra": ExtraTreesClassifier(7, max_depth=4, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=6, max_depth=2, random_state=0),
    "hist": HistGradientBoostingClassifier(max_iter=5, max_leaf_nodes=5),
}


class TestTreelite:
    @pytest.fixture(autouse=True)
    def _package(self):
        self.treelite = pytest.importorskip("treelite")
        self.sklearn = pytest.importorskip("treelite.sklearn")

    @pytest.mark.parametrize("n_classes", [2, 3])
    @pytest.mark.parametrize("kind", MODELS)
    def test_scikit_learn(self, kind, n_classes):
        if kind == "tree":
            pytest.skip("treelite has no reader of single trees")
        X, y = data(n_classes)
        original = MODELS[kind].fit(X, y)
        model = TreeliteModel(self.sklearn.import_model(original))
        assert_read(model)
        assert model.predict_proba(X[:7]).shape == (7, n_classes)
        outcome = verify(original, model, time_limit=20)
        assert outcome.equal is not None
        if outcome.equal:
            np.testing.assert_array_equal(original.predict(X), model.predict(X))
        else:
            row = outcome.counterexample[None]
            assert original.predict(row)[0] != model.predict(row)[0]

    def test_regressor(self):
        X, y = data(3)
        original = RandomForestRegressor(5, max_depth=3, random_state=0).fit(X, y)
        forest = assert_read(TreeliteModel(self.sklearn.import_model(original)))
        assert forest.classes is None

    def test_classes(self):
        X, y = data(3)
        names = np.array(["x", "a", "k"])
        original = MODELS["forest"].fit(X, names[y])
        converted = self.sklearn.import_model(original)
        assert verify(original, TreeliteModel(converted, classes=original.classes_))
        with pytest.raises(ValueError, match="the model has 3 classes"):
            TreeliteModel(converted, classes=["a", "b"])

    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_xgboost(self, n_classes):
        xgboost = pytest.importorskip("xgboost")
        X, y = data(n_classes)
        X = np.column_stack([X, np.random.default_rng(0).integers(0, 9, len(X))])
        original = xgboost.XGBClassifier(
            n_estimators=5,
            max_depth=3,
            n_jobs=1,
            enable_categorical=True,
            feature_types=["q"] * (X.shape[1] - 1) + ["c"],
        ).fit(X, y)
        forest = assert_read(
            TreeliteModel(self.treelite.frontend.from_xgboost(original.get_booster()))
        )
        assert forest.input_dtype == "float32"

    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_lightgbm(self, n_classes):
        lightgbm = pytest.importorskip("lightgbm")
        X, y = data(n_classes)
        X = np.column_stack([X, np.random.default_rng(0).integers(0, 9, len(X))])
        original = lightgbm.LGBMClassifier(n_estimators=4, num_leaves=6, verbose=-1, n_jobs=1)
        original.fit(X, y, categorical_feature=[X.shape[1] - 1])
        assert_read(TreeliteModel(self.treelite.frontend.from_lightgbm(original.booster_)))


class TestOnnx:
    @pytest.fixture(autouse=True)
    def _package(self):
        self.onnx = pytest.importorskip("onnx")
        pytest.importorskip("onnxruntime")

    @pytest.mark.parametrize("n_classes", [2, 3])
    @pytest.mark.parametrize("kind", ["tree", "forest", "extra", "boosting"])
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_scikit_learn(self, kind, n_classes, dtype):
        skl2onnx = pytest.importorskip("skl2onnx")
        X, y = data(n_classes)
        labels = np.array(["no", "yes", "perhaps"])[y] if kind == "tree" else y * 3 - 1
        original = MODELS[kind].fit(X, labels)
        model = OnnxModel(skl2onnx.to_onnx(original, X[:1].astype(dtype)))
        if dtype == "float64" and kind != "forest":
            with pytest.raises(ValueError, match="onnxruntime does not take this model"):
                model.predict(X)
            return
        assert_read(model)
        assert sorted(model.classes_.tolist()) == sorted(original.classes_.tolist())
        outcome = verify(original, model, time_limit=20)
        assert outcome.equal is not None
        if not outcome.equal:
            row = outcome.counterexample[None]
            assert original.predict(row)[0] != model.predict(row)[0]
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        assert model.predict_proba(X[:7]).shape == (7, n_classes)

    @pytest.mark.parametrize("kind", ["tree", "forest", "extra"])
    def test_missing_values(self, kind):
        """Where a converter loses the sides of missing values, there is a row that shows it."""
        skl2onnx = pytest.importorskip("skl2onnx")
        X, y = data(3)
        X = np.where(np.random.default_rng(0).random(X.shape) < 0.15, np.nan, X)
        original = MODELS[kind].fit(X, y)
        model = OnnxModel(skl2onnx.to_onnx(original, X[:1].astype(np.float32)))
        forest = assert_read(model)
        outcome = verify(original, model, domain=Domain(missing="all"), time_limit=20)
        assert outcome.equal is not None
        rows = rows_for(forest, 20_000)
        if outcome.equal:
            np.testing.assert_array_equal(original.predict(rows), model.predict(rows))
        else:
            row = outcome.counterexample[None]
            assert original.predict(row)[0] != model.predict(row)[0]

    @pytest.mark.parametrize("kind", [RandomForestRegressor, GradientBoostingRegressor])
    def test_regressor(self, kind):
        skl2onnx = pytest.importorskip("skl2onnx")
        X, y = data(3)
        original = kind(n_estimators=5, max_depth=3, random_state=0).fit(X, y + X[:, 0])
        model = OnnxModel(skl2onnx.to_onnx(original, X[:1].astype(np.float32)))
        assert assert_read(model).classes is None


def random_graph(onnx, seed, *, n_classes=2, ids=(0,), base=0, signed=True, dtype="float32"):
    """A classifier in ONNX over three columns, whose trees ask in every way that is read."""
    rng = np.random.default_rng(seed)
    modes = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GT", "BRANCH_GTE", "BRANCH_EQ"]
    nodes = {name: [] for name in ("tree", "node", "feature", "mode", "value", "yes", "no", "lost")}
    leaves = {name: [] for name in ("tree", "node", "id", "weight")}
    for tree in range(5):
        size = 15
        for node in range(size):
            inner = node < 7
            mode = str(rng.choice(modes)) if inner else "LEAF"
            equal = mode == "BRANCH_EQ"
            nodes["tree"].append(tree)
            nodes["node"].append(node)
            nodes["mode"].append(mode)
            nodes["feature"].append(2 if equal else int(rng.integers(2)) if inner else 0)
            nodes["value"].append(float(rng.integers(5)) if equal else float(rng.normal()))
            nodes["yes"].append(2 * node + 1 if inner else 0)
            nodes["no"].append(2 * node + 2 if inner else 0)
            nodes["lost"].append(int(rng.integers(2)))
            for own in ids if not inner else ():
                leaves["tree"].append(tree)
                leaves["node"].append(node)
                leaves["id"].append(own)
                leaves["weight"].append(float(rng.normal() if signed else rng.random() / 5))
    attributes = {
        "nodes_treeids": nodes["tree"],
        "nodes_nodeids": nodes["node"],
        "nodes_featureids": nodes["feature"],
        "nodes_modes": nodes["mode"],
        "nodes_truenodeids": nodes["yes"],
        "nodes_falsenodeids": nodes["no"],
        "nodes_missing_value_tracks_true": nodes["lost"],
        "class_treeids": leaves["tree"],
        "class_nodeids": leaves["node"],
        "class_ids": leaves["id"],
        "classlabels_int64s": [7, 3, 5][:n_classes],
        "post_transform": "NONE",
    }
    numbers = {"nodes_values": nodes["value"], "class_weights": leaves["weight"]}
    if base:
        numbers["base_values"] = (rng.normal(size=base) / (5 if signed else 40)).tolist()
    if dtype == "float32":
        attributes |= numbers
    else:
        for name, values in numbers.items():
            array = np.array(values, dtype=np.float64)
            attributes[f"{name}_as_tensor"] = onnx.numpy_helper.from_array(array, name)
    helper, number = onnx.helper, onnx.TensorProto.FLOAT
    node = helper.make_node(
        "TreeEnsembleClassifier", ["X"], ["label", "scores"], domain="ai.onnx.ml", **attributes
    )
    kind = number if dtype == "float32" else onnx.TensorProto.DOUBLE
    graph = helper.make_graph(
        [node],
        "trees",
        [helper.make_tensor_value_info("X", kind, [None, 3])],
        [
            helper.make_tensor_value_info("label", onnx.TensorProto.INT64, [None]),
            helper.make_tensor_value_info("scores", number, [None, n_classes]),
        ],
    )
    opset = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=opset, ir_version=8)


class TestOnnxArithmetic:
    """Graphs made by hand: every kind of test, base values, one score or several, two types."""

    @pytest.fixture(autouse=True)
    def _package(self):
        self.onnx = pytest.importorskip("onnx")
        pytest.importorskip("onnxruntime")

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"base": 1},
            {"base": 2},
            {"signed": False},
            {"signed": False, "base": 1},
            {"ids": (1,)},
            {"ids": (1,), "signed": False},
            {"n_classes": 3, "ids": (0, 1, 2)},
            {"n_classes": 3, "ids": (0, 1, 2), "base": 3},
            {"n_classes": 3, "ids": (2, 0), "base": 3},
        ],
        ids=str,
    )
    def test_labels(self, options, dtype):
        for seed in range(4):
            model = OnnxModel(random_graph(self.onnx, seed, dtype=dtype, **options))
            forest = assert_read(model)
            assert forest.categorical.tolist() == [False, False, True]
            assert forest.classes.tolist() == [7, 3, 5][: forest.n_classes]
            linear = forest.sums
            rows = rows_for(forest, 3000)
            sums = linear.folded[forest.apply(rows)].sum(axis=1)
            order = np.sort(sums, axis=1)
            clear = order[:, -1] - order[:, -2] > linear.error_bound
            assert clear.mean() > 0.9
            found = forest.predict_index(rows)
            np.testing.assert_array_equal(sums.argmax(axis=1)[clear], found[clear])

    def test_verify(self):
        """Against itself, and against the same graph with one weight changed."""
        for options in ({"signed": False}, {"n_classes": 3, "ids": (0, 1, 2), "base": 3}):
            first = random_graph(self.onnx, 0, **options)
            second = random_graph(self.onnx, 0, **options)
            assert verify(OnnxModel(first), OnnxModel(second.SerializeToString()))
            weights = next(a for a in second.graph.node[0].attribute if a.name == "class_weights")
            for i in range(6):
                weights.floats[i] += 1.0 - i
            outcome = verify(OnnxModel(first), OnnxModel(second))
            assert outcome.equal is False
            row = outcome.counterexample[None]
            assert OnnxModel(first).predict(row)[0] != OnnxModel(second).predict(row)[0]
            assert agreement(OnnxModel(first), OnnxModel(second), X=np.zeros((4, 3)) + np.arange(3))

    def test_path(self, tmp_path):
        graph = random_graph(self.onnx, 0)
        self.onnx.save(graph, tmp_path / "trees.onnx")
        X = np.arange(9.0).reshape(3, 3)
        model = OnnxModel(str(tmp_path / "trees.onnx"))
        np.testing.assert_array_equal(model.predict(X), OnnxModel(graph).predict(X))
        with pytest.raises(ValueError, match="takes rows of 3 features"):
            model.predict(X[:, :2])

    def test_refused(self):
        both = random_graph(self.onnx, 0, ids=(0, 1))
        with pytest.raises(ValueError, match="two classes and weights for both"):
            read_forest(OnnxModel(both))
        with pytest.raises(ValueError, match="no tree has a weight for class 1"):
            read_forest(OnnxModel(random_graph(self.onnx, 0, n_classes=3, ids=(0, 2))))
        with pytest.raises(ValueError, match="for another class than its weights"):
            read_forest(OnnxModel(random_graph(self.onnx, 0, ids=(1,), base=1)))
        scaled = random_graph(self.onnx, 0)
        scaled.graph.node[0].input[0] = "Z"
        scaler = self.onnx.helper.make_node(
            "Scaler", ["X"], ["Z"], domain="ai.onnx.ml", offset=[0.0] * 3, scale=[1.0] * 3
        )
        scaled.graph.node.insert(0, scaler)
        with pytest.raises(ValueError, match="its trees see what Scaler answers"):
            OnnxModel(scaled)
        del scaled.graph.node[1]
        with pytest.raises(ValueError, match="its graph has 0 nodes TreeEnsembleClassifier or"):
            OnnxModel(scaled)


def test_thresholds_rounded_the_wrong_way():
    """Converters that take the nearest float32 of a threshold: verify shows a row."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    skl2onnx = pytest.importorskip("skl2onnx")
    X, y = data()
    original = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    graph = skl2onnx.to_onnx(original, X[:1].astype(np.float32))
    assert verify(original, OnnxModel(graph))
    values = next(a for a in graph.graph.node[0].attribute if a.name == "nodes_values")
    inner = original.tree_.children_left >= 0
    nearest = original.tree_.threshold.astype(np.float32)
    assert (nearest[inner] > original.tree_.threshold[inner]).any()
    values.floats[:] = np.where(inner, nearest, 0.0)
    rounded = OnnxModel(graph)
    outcome = verify(original, rounded)
    assert outcome.equal is False
    row = outcome.counterexample[None]
    assert original.predict(row)[0] != rounded.predict(row)[0]
    assert onnx.checker.check_model(graph) is None


def test_a_model_in_another_format_is_no_ensemble_to_simplify():
    pytest.importorskip("treelite")
    import treelite.sklearn

    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, y)
    model = FrozenEstimator(TreeliteModel(treelite.sklearn.import_model(forest)))
    for estimator in (
        BornAgainClassifier(model),
        FaithfulPruner(model),
        RepresenterTree(model),
        GenesimClassifier([model]),
    ):
        with pytest.raises(TypeError, match="Give the ensemble itself"):
            estimator.fit(X, y)
    with pytest.raises(TypeError, match="does not answer the mean of its trees'"):
        merge_trees([model])
