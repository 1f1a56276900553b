"""Models in exchange formats: read as their runtime answers, and compared with their originals."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier
from strategies import edge_points
from threadpoolctl import threadpool_limits

from ensemble_simplify import OnnxModel, TreeliteModel, verify
from ensemble_simplify._forest import read_forest

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

    def test_regressor(self):
        skl2onnx = pytest.importorskip("skl2onnx")
        X, y = data(3)
        original = RandomForestRegressor(5, max_depth=3, random_state=0).fit(X, y + X[:, 0])
        model = OnnxModel(skl2onnx.to_onnx(original, X[:1].astype(np.float32)))
        assert assert_read(model).classes is None
