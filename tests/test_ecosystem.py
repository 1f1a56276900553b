"""Tools of others take the estimators and the trees they write; see doc/how_to/ecosystem.rst.

A tree counts as understood when the tool's own answers are the tree's.
"""

import warnings

import numpy as np
import pandas as pd
import pytest
from estimators import ESTIMATORS, FOREST
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from random_models import FAMILIES
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor, VotingClassifier
from sklearn.feature_selection import SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import (
    DecisionBoundaryDisplay,
    PartialDependenceDisplay,
    partial_dependence,
    permutation_importance,
)
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler
from sklearn.tree import export_graphviz, export_text, plot_tree
from strategies import edge_points
from what_is_said import look

from ensemble_simplify import BornAgainClassifier, RepresenterTree, merge_trees

TREES = [
    "BornAgainClassifier",
    "GenesimClassifier",
    "InterpretableSingleModel",
    "RepresenterTree",
    "merged",
    "pruned",
]
pytestmark = pytest.mark.usefixtures("few_votes")
each_tree = pytest.mark.parametrize("name", TREES)
CLASSIFIERS = {name: model for name, model in ESTIMATORS.items() if is_classifier(model)}
each_classifier = pytest.mark.parametrize("name", sorted(CLASSIFIERS))


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True, as_frame=True)
    X.columns = [column.split(" (")[0].replace(" ", "_") for column in X.columns]
    return X, pd.Series(np.array(["setosa", "versicolor", "virginica"])[y], name="species")


@pytest.fixture(scope="module")
def fitted(iris):
    return {name: clone(estimator).fit(*iris) for name, estimator in CLASSIFIERS.items()}


@pytest.fixture(scope="module")
def trees(fitted, iris):
    """Every kind of tree that the package writes, fitted on columns with names."""
    found = {name: fitted[name].decision_tree_ for name in TREES if name in fitted}
    forest = fitted["FeatureBudgetPruner"].estimator_
    # Members of a forest know their classes by number only.
    found["pruned"] = fitted["FeatureBudgetPruner"].pruned_estimator_.estimators_[0]
    found["merged"] = merge_trees([forest])
    return found


def rows_at_thresholds(tree, n_rows=4000):
    """Rows of float32 on the thresholds of a tree and one ulp beside them."""
    thresholds = tree.tree_.threshold[tree.tree_.children_left >= 0]
    return edge_points(thresholds, tree.n_features_in_, n_rows=n_rows).astype(np.float32)


def predictions(tree, X):
    """What a tree says of an array: without names, so that scikit-learn does not ask for them."""
    return tree.classes_[tree.tree_.predict(X).argmax(axis=1)]


# scikit-learn


@each_tree
def test_drawing_and_printing(name, trees):
    tree = trees[name]
    figure = Figure()
    FigureCanvasAgg(figure)
    assert len(plot_tree(tree, ax=figure.add_subplot(), filled=True)) >= tree.tree_.node_count
    text = export_text(tree)
    assert text.count("class:") == tree.get_n_leaves()
    assert export_graphviz(tree, filled=True).count("->") >= tree.tree_.node_count - 1


@each_tree
def test_importances_and_selection(name, trees, iris):
    tree = trees[name]
    importances = tree.feature_importances_
    assert importances.sum() == pytest.approx(1.0)
    used = np.unique(tree.tree_.feature[tree.tree_.feature >= 0])
    assert set(np.flatnonzero(importances)) <= set(used)
    chosen = SelectFromModel(FrozenEstimator(tree), prefit=True, threshold=1e-12)
    X = iris[0] if hasattr(tree, "feature_names_in_") else iris[0].to_numpy()
    assert chosen.transform(X).shape[1] == np.count_nonzero(importances)


@each_classifier
def test_partial_dependence(name, fitted, iris):
    X, _ = iris
    estimator = fitted[name]
    found = partial_dependence(
        estimator, X, ["petal_width"], grid_resolution=7, response_method="predict_proba"
    )
    grid = found["grid_values"][0]
    for k in (0, len(grid) - 1):
        moved = X.assign(petal_width=grid[k])
        mean = estimator.predict_proba(moved).mean(axis=0)
        np.testing.assert_allclose(found["average"][:, k], mean, atol=1e-12)
    display = PartialDependenceDisplay.from_estimator(
        estimator, X, [("petal_width", "petal_length")], target="virginica", grid_resolution=4
    )
    assert display.figure_ is not None
    display.figure_.clear()


@each_classifier
def test_permutation_importance(name, fitted, iris):
    X, y = iris
    found = permutation_importance(fitted[name], X, y, n_repeats=3, random_state=0)
    assert found.importances_mean[2:].max() > 0.1


@each_classifier
def test_pipelines_searches_and_data_frames(name, iris):
    X, y = iris
    pipeline = make_pipeline(StandardScaler(), clone(ESTIMATORS[name]))
    pipeline.set_output(transform="pandas")
    pipeline.fit(X, y)
    assert list(pipeline[-1].feature_names_in_) == list(X.columns)
    assert pipeline.score(X, y) > 0.8
    probabilities = cross_val_predict(pipeline, X, y, cv=2, method="predict_proba")
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    search = GridSearchCV(
        pipeline,
        {"standardscaler": [StandardScaler(), KBinsDiscretizer(4, encode="ordinal")]},
        cv=2,
        error_score="raise",
    )
    with warnings.catch_warnings():
        # KBinsDiscretizer announces another default.
        warnings.filterwarnings("ignore", category=FutureWarning, module="sklearn")
        search.fit(X.to_numpy(), y)
    assert search.best_score_ > 0.8


@each_classifier
def test_calibration_and_voting(name, iris):
    X, y = iris
    fitted = clone(ESTIMATORS[name]).fit(X, y)
    calibrated = CalibratedClassifierCV(FrozenEstimator(fitted)).fit(X, y)
    np.testing.assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1)
    assert calibrated.score(X, y) > 0.8
    vote = VotingClassifier(
        [("one", clone(ESTIMATORS[name])), ("two", clone(ESTIMATORS["InterpretableSingleModel"]))],
        voting="soft",
    )
    assert vote.fit(X, y).score(X, y) > 0.8


def test_decision_boundaries(fitted, iris):
    X, y = iris
    model = BornAgainClassifier(FOREST).fit(X[["petal_length", "petal_width"]], y)
    figure = Figure()
    FigureCanvasAgg(figure)
    display = DecisionBoundaryDisplay.from_estimator(
        model,
        X[["petal_length", "petal_width"]],
        response_method="predict",
        grid_resolution=20,
        ax=figure.add_subplot(),
    )
    assert display.response.shape == (20, 20)


# Pictures and explanations


@each_tree
def test_dtreeviz(name, trees, iris):
    dtreeviz = pytest.importorskip("dtreeviz")
    X, y = iris
    tree = trees[name]
    labels, numbers = np.unique(y, return_inverse=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        view = dtreeviz.model(
            tree,
            X_train=X.to_numpy(),
            y_train=numbers if name == "pruned" else y.to_numpy(),
            feature_names=list(X.columns),
            target_name="species",
            class_names=list(labels),
        )
    shadow = view.shadow_tree
    assert shadow.nnodes() == tree.tree_.node_count
    assert len(shadow.leaves) == tree.get_n_leaves()
    row = X.to_numpy()[60]
    assert shadow.predict(row) == tree.tree_.predict(row[None].astype(np.float32)).argmax()
    assert view.explain_prediction_path(row)


@each_tree
def test_shap(name, trees):
    shap = pytest.importorskip("shap")
    tree = trees[name]
    X = rows_at_thresholds(tree, 200)
    explainer = shap.TreeExplainer(tree)
    values = explainer.shap_values(X, check_additivity=True)
    assert values.shape == (200, 4, 3)
    total = values.sum(axis=1) + explainer.expected_value
    np.testing.assert_allclose(total, tree.tree_.predict(X), atol=1e-6)


def test_shap_of_a_regression_tree(iris):
    shap = pytest.importorskip("shap")
    X, target = iris[0].to_numpy()[:, :3], iris[0].to_numpy()[:, 3]
    regressor = RepresenterTree(
        RandomForestRegressor(5, max_depth=3, random_state=0), n_samples=300, random_state=0
    ).fit(X, target)
    explainer = shap.TreeExplainer(regressor.decision_tree_)
    total = explainer.shap_values(X).sum(axis=1) + explainer.expected_value
    np.testing.assert_allclose(total, regressor.predict(X), atol=1e-6)


# Other runtimes


@each_tree
def test_onnx(name, trees):
    """Equal on float32 rows, also on thresholds and one ulp beside them."""
    skl2onnx = pytest.importorskip("skl2onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    tree = trees[name]
    X = rows_at_thresholds(tree)
    model = skl2onnx.to_onnx(tree, X[:1], options={"zipmap": False})
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    labels, probabilities = session.run(None, {"X": X})
    np.testing.assert_array_equal(labels, predictions(tree, X))
    np.testing.assert_allclose(probabilities, tree.tree_.predict(X), atol=1e-6)


def test_onnx_of_a_pruned_forest(fitted, iris):
    skl2onnx = pytest.importorskip("skl2onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    forest = fitted["FeatureBudgetPruner"].pruned_estimator_
    thresholds = np.concatenate([tree.tree_.threshold for tree in forest.estimators_])
    X = edge_points(thresholds, 4, n_rows=4000).astype(np.float32)
    model = skl2onnx.to_onnx(forest, X[:1], options={"zipmap": False})
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    labels, probabilities = session.run(None, {"X": X})
    frame = pd.DataFrame(X, columns=iris[0].columns)
    np.testing.assert_allclose(probabilities, forest.predict_proba(frame), atol=1e-6)
    # The mean of the trees is taken in float32: a tie may fall the other way.
    first_two = np.sort(forest.predict_proba(frame), axis=1)[:, -2:]
    clear = first_two[:, 1] - first_two[:, 0] > 1e-6
    np.testing.assert_array_equal(labels[clear], forest.predict(frame)[clear])


@each_tree
def test_treelite(name, trees):
    """A tree travels as a forest of one: treelite has no reader for single trees."""
    treelite = pytest.importorskip("treelite.sklearn")
    gtil = pytest.importorskip("treelite.gtil")
    tree = trees[name]
    forest = RandomForestClassifier(n_estimators=1)
    forest.estimators_ = [tree]
    forest.classes_ = tree.classes_
    forest.n_classes_ = len(tree.classes_)
    forest.n_outputs_, forest.n_features_in_ = 1, tree.n_features_in_
    X = rows_at_thresholds(tree)
    answers = gtil.predict(treelite.import_model(forest), X).reshape(len(X), -1)
    np.testing.assert_allclose(answers, tree.tree_.predict(X), atol=1e-15)
    np.testing.assert_array_equal(tree.classes_[answers.argmax(axis=1)], predictions(tree, X))


@each_classifier
def test_skops(name, fitted, iris):
    """Files without pickle; only types of the package and of those it builds on need trust."""
    io = pytest.importorskip("skops.io")
    estimator = fitted[name]
    file = io.dumps(estimator)
    needed = io.get_untrusted_types(data=file)
    assert {kind.split(".")[0] for kind in needed} <= {"ensemble_simplify", "pandas", "sklearn"}
    again = io.loads(file, trusted=needed)
    np.testing.assert_array_equal(again.predict(iris[0]), estimator.predict(iris[0]))
    if hasattr(estimator, "decision_tree_"):
        file = io.dumps(estimator.decision_tree_)
        assert io.get_untrusted_types(data=file) in ([], ["sklearn.tree._tree.Tree"])


def test_cost_complexity_of_a_written_tree():
    X, y = load_breast_cancer(return_X_y=True)
    model = BornAgainClassifier(FOREST).fit(X[:, :5], y)
    path = clone(model.decision_tree_).cost_complexity_pruning_path(X[:, :5], y)
    assert (np.diff(path.impurities) >= -1e-12).all()


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("family", [name for name in FAMILIES if name.startswith("onnx")])
def test_what_is_said_of_models_in_onnx(family, seed):
    pytest.importorskip("skl2onnx")
    outcomes = look(seed, family=family)
    assert [outcome for outcome in outcomes if outcome.state == "failed"] == []
    assert any(outcome.state == "answered" for outcome in outcomes)
