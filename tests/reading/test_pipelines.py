"""Pipelines are read as their last step, its thresholds folded through the transformers exactly."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectFromModel, SelectKBest, VarianceThreshold
from sklearn.frozen import FrozenEstimator
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier
from strategies import CLASSIFIERS, edge_points, small_data

from ensemble_simplify import (
    BornAgainClassifier,
    FaithfulPruner,
    GenesimClassifier,
    InterpretableSingleModel,
    agreement,
    export_model,
    import_model,
    is_sensitive,
    merge_trees,
    nearest_flip,
    sufficient_box,
    verify,
)
from ensemble_simplify.grid.thresholds import FLOAT32_MAX
from ensemble_simplify.reading.forest import read_forest, tree_estimators
from ensemble_simplify.reading.pipelines import Transformers

pytestmark = [
    # scikit-learn looks for NaN by adding up all entries: rows of the largest numbers overflow.
    pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning"),
    pytest.mark.filterwarnings("ignore:overflow encountered in nextafter:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:Skipping features without any observed values"),
    pytest.mark.filterwarnings("ignore:budget=.* lies between two optimal prunings:UserWarning"),
]

FOREST = RandomForestClassifier(4, max_depth=3, random_state=0)
TRANSFORMERS = {
    "binarizer": Binarizer(threshold=0.2),
    "bins": KBinsDiscretizer(5, encode="ordinal", strategy="uniform"),
    "frozen": FrozenEstimator(StandardScaler().fit(np.arange(12.0).reshape(4, 3) ** 2)),
    "function": FunctionTransformer(),
    "function that falls": FunctionTransformer(np.negative),
    "function that rises": make_pipeline(StandardScaler(), FunctionTransformer(np.arcsinh)),
    "imputer": SimpleImputer(),
    "knn": KNNImputer(),
    "max_abs": MaxAbsScaler(),
    "min_max": MinMaxScaler(feature_range=(-3, 0.1)),
    "min_max_clip": MinMaxScaler(clip=True),
    "nested": make_pipeline(RobustScaler(), "passthrough", MaxAbsScaler()),
    "passthrough": "passthrough",
    "robust": RobustScaler(unit_variance=True),
    "select": SelectKBest(k=2),
    "select_model": SelectFromModel(DecisionTreeClassifier(random_state=0), max_features=2),
    "standard": StandardScaler(),
    "standard_in_place": StandardScaler(copy=False),
    "variance": VarianceThreshold(),
}


def piped(*steps):
    """A pipeline of copies, unfitted but for what is frozen."""
    return make_pipeline(*[step if isinstance(step, str) else clone(step) for step in steps])


def rows_for(pipeline, forest, largest=FLOAT32_MAX):
    """Rows of float64 that float32 holds, on folded thresholds and one ulp beside them.

    Those that scale to more than float32 holds are left out: the last step refuses them.
    """
    rows = edge_points(forest.threshold[forest.feature >= 0], forest.n_features, n_rows=1500)
    rows = np.clip(rows, -largest, largest).astype(np.float32).astype(np.float64)
    if isinstance(pipeline, Pipeline):
        scaled = np.asarray(pipeline[:-1].transform(rows.copy()), dtype=np.float64)
        rows = rows[(np.abs(scaled) <= FLOAT32_MAX).all(axis=1)]
    return rows


def assert_read(pipeline, **options):
    forest = read_forest(pipeline)
    rows = rows_for(pipeline, forest, **options)
    assert len(rows) > 100
    np.testing.assert_array_equal(
        forest.classes[forest.predict_index(rows)], pipeline.predict(rows.copy())
    )
    if forest.input_dtype == "float32":
        # the steps leave numbers as they are: float32 tells what the trees tell
        finer = rows * (1.0 + np.random.default_rng(0).uniform(-1e-7, 1e-7, size=rows.shape))
        finer = np.clip(finer, -FLOAT32_MAX, FLOAT32_MAX)
        answers = forest.classes[forest.predict_index(finer)]
        np.testing.assert_array_equal(answers, pipeline.predict(finer))
    return forest


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_every_transformer(name):
    for seed in range(3):
        X, y = small_data(seed, n_rows=60)
        X = X + np.random.default_rng(seed).normal(size=X.shape)
        assert_read(piped(TRANSFORMERS[name], FOREST).fit(X, y))


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_every_last_step(kind):
    X, y = small_data(1, n_features=4, n_rows=60)
    X = X + np.random.default_rng(1).normal(size=X.shape)
    pipeline = piped(StandardScaler(), SelectKBest(k=3), MinMaxScaler(), CLASSIFIERS[kind](1))
    assert_read(pipeline.fit(X, y))


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_real_data(load):
    X, y = load(return_X_y=True)
    assert_read(piped(StandardScaler(), RandomForestClassifier(20, random_state=0)).fit(X, y))


SCALERS = ["max_abs", "min_max", "min_max_clip", "robust", "standard"]


@st.composite
def pipelines(draw):
    """A fitted pipeline of scalers, on columns of any size and place."""
    steps = draw(st.lists(st.sampled_from(SCALERS), min_size=1, max_size=3))
    size = draw(st.sampled_from([1e-20, 1e-3, 1.0, 7.3, 1e9]))
    place = draw(st.sampled_from([0.0, -1.0, 1e4, 1e-7]))
    seed = draw(st.integers(0, 1000))
    X, y = small_data(seed)
    X = (X + np.random.default_rng(seed).normal(size=X.shape) + place) * size
    last = CLASSIFIERS[draw(st.sampled_from(["tree", "forest", "bagging_subsets", "boosting"]))]
    return piped(*[TRANSFORMERS[step] for step in steps], last(seed)).fit(X, y)


@given(pipelines())
def test_any_scalers(pipeline):
    assert_read(pipeline)


def test_thresholds_are_the_last_numbers_that_go_left():
    X, y = load_wine(return_X_y=True)
    pipeline = piped(StandardScaler(), DecisionTreeClassifier(random_state=0)).fit(X, y)
    forest, tree = read_forest(pipeline), pipeline[-1].tree_
    for node in np.flatnonzero(forest.feature >= 0):
        x = np.float32(forest.threshold[node])
        row = np.zeros((3, X.shape[1]))
        row[:, forest.feature[node]] = x, np.nextafter(x, np.float32(np.inf)), 0
        scaled = pipeline[0].transform(row)[:, tree.feature[node]].astype(np.float32)
        assert scaled[0] <= tree.threshold[node] < scaled[1]


def test_float32_between_the_steps():
    """A step that answers float32 makes the next one round to it."""
    X, y = small_data(0)
    bins = KBinsDiscretizer(5, encode="ordinal", strategy="uniform", dtype=np.float32)
    pipeline = piped(bins, StandardScaler(), FOREST).fit(X, y)
    assert pipeline[:-1].transform(X).dtype == np.float32
    assert_read(pipeline)
    pipeline = piped(StandardScaler(), bins, FOREST).fit(X, y)
    with pytest.raises(TypeError, match=r"'kbinsdiscretizer',.* does not take every finite row"):
        read_forest(pipeline)


def test_falling_scalers_turn_the_tests_round():
    X, y = load_iris(return_X_y=True)
    scaler = StandardScaler().fit(X)
    scaler.scale_[[0, 2]] *= -1
    pipeline = piped(FrozenEstimator(scaler), FOREST).fit(X, y)
    forest = assert_read(pipeline)
    assert (forest.left[forest.feature == 2] > forest.right[forest.feature == 2]).all()
    assert (forest.left[forest.feature == 3] < forest.right[forest.feature == 3]).all()


def test_functions_that_round_are_read_in_float64_alone():
    X, y = small_data(0)
    pipeline = piped(FunctionTransformer(np.cbrt), FOREST).fit(X.astype(np.float32), y)
    assert verify(pipeline, pipeline, X=X.astype(np.float64), max_changes=1).equal
    with pytest.raises(TypeError, match="columns of float32, for which"):
        verify(pipeline, pipeline, X=X.astype(np.float32), max_changes=1)


def test_columns_that_are_left_out():
    X, y = load_iris(return_X_y=True)
    X = np.column_stack([X[:, 0], np.full(len(X), np.nan), X[:, 1:]])
    for imputer in (SimpleImputer(), KNNImputer()):
        pipeline = piped(imputer, StandardScaler(), SelectKBest(k=2), FOREST).fit(X, y)
        forest = assert_read(pipeline)
        assert forest.n_features == 5
        assert set(forest.feature[forest.feature >= 0]) == {3, 4}
    # an imputer that keeps the empty column fills it with zeros, or leaves it as it is
    pipeline = piped(SimpleImputer(keep_empty_features=True), FOREST).fit(X, y)
    assert_read(pipeline)
    pipeline = piped(KNNImputer(keep_empty_features=True), FOREST).fit(X, y)
    with pytest.raises(TypeError, match=r"'knnimputer', .* changes rows that miss nothing"):
        read_forest(pipeline)


@pytest.fixture(scope="module")
def with_text_left_out():
    """A model that looks at one of four columns; the others hold text, dates and names of rows."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.integers(9, size=80), "b": rng.choice(["red", "blue"], 80)})
    X["c"] = pd.date_range("2020-01-01", periods=80)
    X["d"] = [None if i % 7 == 0 else f"row {i}" for i in range(80)]
    y = np.where(X["a"] > 4, "high", "low")
    forest = RandomForestClassifier(5, max_depth=3, random_state=0)
    model = make_pipeline(ColumnTransformer([("scale", StandardScaler(), ["a"])]), forest)
    return model.fit(X, y), X, y


def test_what_a_column_that_is_left_out_holds_does_not_matter(with_text_left_out):
    model, X, y = with_text_left_out
    other = make_pipeline(ColumnTransformer([("own", "passthrough", ["a"])]), clone(model[-1]))
    other.fit(X, np.where(X["a"] > 5, "high", "low"))
    assert verify(model, model)
    found = verify(model, other, X=X, max_changes=0)
    assert not found
    assert (model.predict(X) == other.predict(X)).mean() == agreement(model, other, X).share
    for method in (BornAgainClassifier, FaithfulPruner):
        fitted = method(FrozenEstimator(model), max_changes=0).fit(X, y)
        assert (fitted.predict(X) == model.predict(X)).all()
        assert fitted.verify()
    flip = nearest_flip(model, X[1:2])
    assert flip.changes.keys() == {"a"}
    # what the model does not look at is shown as it was given
    others = ["b", "c", "d"]
    assert flip.row.loc[0, others].tolist() == X.loc[1, others].tolist()
    assert model.predict(flip.row)[0] == flip.predictions[1] != flip.predictions[0]
    assert not is_sensitive(model, others).sensitive
    assert sufficient_box(model, X[:1]).features == ["a"]


def test_what_is_left_out_in_json(with_text_left_out):
    model, X, _ = with_text_left_out
    again = import_model(export_model(model, "json"))
    assert again.predict(X).tolist() == model.predict(X).tolist()
    assert (
        import_model(export_model(again, "json")).predict(X).tolist() == again.predict(X).tolist()
    )


def test_gaps_are_taken_by_what_holds_a_pipeline(with_text_left_out):
    """Tags of scikit-learn's wrappers say that a pipeline takes none, though its imputer does."""
    _, X, y = with_text_left_out
    X = X.assign(a=X["a"].where(X["a"] != 3))
    steps = make_column_transformer((SimpleImputer(), ["a"]))
    forest = RandomForestClassifier(5, max_depth=3, random_state=0)
    model = FixedThresholdClassifier(make_pipeline(steps, forest), threshold=0.4).fit(X, y)
    pruner = FaithfulPruner(FrozenEstimator(model), max_changes=0).fit(X, y)
    assert pruner.predict(X).tolist() == model.predict(X).tolist()


def test_a_model_that_looks_at_what_another_one_leaves_out(with_text_left_out):
    model, X, y = with_text_left_out
    encoder = ColumnTransformer([("b", OneHotEncoder(), ["b"])], remainder="drop")
    other = make_pipeline(encoder, clone(model[-1])).fit(X, y)
    assert not verify(model, other)
    shown = agreement(model, other, X)
    assert shown.share == (model.predict(X) == other.predict(X)).mean()
    # it takes numbers where the first one is given text
    numbers = X.assign(b=np.arange(80), c=0, d=0)
    other = make_pipeline(ColumnTransformer([("b", "passthrough", ["b"])]), clone(model[-1]))
    other.fit(numbers, y)
    assert not verify(model, other)
    for pair in ((model, other), (other, model)):
        with pytest.raises(ValueError, match="The column 'b' of X holds"):
            verify(*pair, X=X, max_changes=0)


def test_constant_columns():
    X, y = small_data(0)
    X[:, 1] = 7.0
    for scaler in ("standard", "min_max", "robust", "max_abs"):
        assert_read(piped(TRANSFORMERS[scaler], FOREST).fit(X, y))


def test_regression():
    X, y = load_iris(return_X_y=True)
    pipeline = piped(StandardScaler(), RandomForestRegressor(5, max_depth=3)).fit(X, y)
    forest = read_forest(pipeline)
    rows = rows_for(pipeline, forest)
    np.testing.assert_array_equal(forest.predict_index(rows), pipeline.predict(rows))


def test_trees_that_compare_float64():
    pytest.importorskip("treelite")
    X, y = load_wine(return_X_y=True)
    last = HistGradientBoostingClassifier(max_iter=8)
    assert_read(piped(StandardScaler(), last).fit(X, y))
    mixed = VotingClassifier([("a", last), ("b", FOREST), ("c", CLASSIFIERS["tree"](0))])
    assert_read(piped(MinMaxScaler((0.1, 0.7)), mixed).fit(X, y))


@pytest.mark.parametrize("package", ["xgboost.XGBClassifier", "lightgbm.LGBMClassifier"])
@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
def test_boosters_of_others(package, load):
    name, kind = package.split(".")
    module = pytest.importorskip(name)
    pytest.importorskip("treelite")
    last = getattr(module, kind)(n_estimators=8, n_jobs=1, **{"verbosity": 0})
    X, y = load(return_X_y=True)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        assert_read(piped(StandardScaler(), last).fit(X, y))


def test_trees_fitted_with_missing_values():
    X, y = small_data(5, n_rows=80)
    X[::3, 0] = np.nan
    pipeline = piped(StandardScaler(), RandomForestClassifier(20, random_state=0))
    forest = assert_read(pipeline.fit(X, y))
    assert (forest.threshold == np.finfo(np.float32).max).any()


def test_names_of_columns_and_output_as_frames():
    X, y = load_iris(return_X_y=True, as_frame=True)
    pipeline = piped(StandardScaler(), SimpleImputer(), SelectKBest(k=3), FOREST)
    pipeline.set_output(transform="pandas").fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        forest = read_forest(pipeline)
    rows = rows_for(pipeline, forest)
    answers = pipeline.predict(pd.DataFrame(rows, columns=X.columns))
    np.testing.assert_array_equal(forest.predict_index(rows), answers)
    assert hasattr(pipeline[0], "feature_names_in_")


def test_pipelines_inside_ensembles():
    X, y = load_wine(return_X_y=True)
    pipeline = piped(StandardScaler(), CLASSIFIERS["tree"](0))
    models = [
        BaggingClassifier(pipeline, 4, max_features=5, bootstrap_features=True, random_state=0),
        VotingClassifier([("a", pipeline), ("b", FOREST)], voting="soft"),
        piped("passthrough", piped(RobustScaler(), pipeline)),
    ]
    for model in models:
        assert_read(model.fit(X, y), largest=1e30)
    twice = piped(MinMaxScaler(), models[0]).fit(X, y)
    with pytest.raises(TypeError, match="ends in an ensemble that holds pipelines"):
        read_forest(twice)


def test_labels_need_no_order():
    X, y = load_iris(return_X_y=True)
    pipeline = piped(StandardScaler(), FOREST).fit(X, np.array(["c", "a", "b"])[y])
    assert_read(pipeline)
    pipeline[-1].classes_ = np.array(["c", "a", "b"])
    assert_read(pipeline)


def test_damaged_trees_are_found():
    X, y = small_data(0)
    for field, value, message in (
        ("threshold", np.nan, "not a number"),
        ("feature", 9, "unknown feature"),
        ("children_left", 0, "two parents"),
    ):
        pipeline = piped(StandardScaler(), CLASSIFIERS["forest"](0)).fit(X, y)
        getattr(pipeline[-1].estimators_[1].tree_, field)[0] = value
        with pytest.raises(ValueError, match=message):
            read_forest(pipeline)


class Shifted(StandardScaler):
    def transform(self, X):
        return super().transform(X) + 1


class OwnPipeline(Pipeline):
    def predict(self, X):
        return super().predict(-X)


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (PCA(2), "not known to look at one column at a time"),
        (PowerTransformer(), "not known to look at one column at a time"),
        (QuantileTransformer(n_quantiles=5), "not known to look at one column at a time"),
        (OneHotEncoder(handle_unknown="ignore"), "encodes what another step made of a column"),
        (ColumnTransformer([("a", PCA(1), [0])]), "not known to look at one column at a time"),
        (FunctionTransformer(np.tanh), "not known to rise everywhere"),
        (KBinsDiscretizer(2, strategy="uniform"), "encode='onehot'"),
        (SimpleImputer(missing_values=0), "replaces the number 0"),
        (KNNImputer(add_indicator=True), "add_indicator=True"),
        (Shifted(), "replaces the method transform of StandardScaler"),
        (piped(StandardScaler(), PCA(2)), "not known to look at one column at a time"),
    ],
)
def test_refused_transformers(step, why):
    X, y = small_data(0)
    pipeline = piped(StandardScaler(), step, FOREST).fit(X, y)
    text = rf"{why}.* Pass the last step, FrozenEstimator\(pipeline\[-1\]\), and transformed rows"
    with pytest.raises(TypeError, match=text):
        read_forest(pipeline)
    with pytest.raises(TypeError, match=text):
        BornAgainClassifier(FrozenEstimator(pipeline)).fit(X, y)
    # the advice works
    last, rows = FrozenEstimator(pipeline[-1]), pipeline[:-1].transform(X)
    if not hasattr(rows, "toarray"):
        assert BornAgainClassifier(last).fit(rows, y).verify().equal


def test_rows_of_text_are_not_blamed():
    X = pd.DataFrame({"colour": list("rgbrgbrgb"), "size": np.arange(9.0)})
    encoder = ColumnTransformer([("a", OneHotEncoder(), ["colour"])], remainder=PCA(1))
    pipeline = piped(encoder, FOREST).fit(X, list("abcabcabc"))
    for kind in (BornAgainClassifier, GenesimClassifier, InterpretableSingleModel):
        with pytest.raises(TypeError, match=r"step 'remainder', PCA\(...\), is not supported"):
            kind(FrozenEstimator(pipeline)).fit(X, list("abcabcabc"))
    unfitted = FrozenEstimator(piped(encoder, FOREST))
    with pytest.raises(NotFittedError, match="holds an ensemble that is not fitted"):
        BornAgainClassifier(unfitted).fit(np.eye(9), list("abcabcabc"))


def test_refused_pipelines():
    X, y = small_data(0)
    with pytest.raises(NotFittedError):
        read_forest(piped(StandardScaler(), FOREST))
    own = OwnPipeline([("a", StandardScaler()), ("b", FOREST)]).fit(X, y)
    with pytest.raises(TypeError, match=r"OwnPipeline is not .* replaces the method predict"):
        read_forest(own)
    scaler = StandardScaler().fit(X)
    scaler.scale_[:] = 1e-300
    step = piped(FrozenEstimator(scaler), FrozenEstimator(scaler)).fit(X)
    with pytest.raises(TypeError, match="does not take every finite row"):
        Transformers(step.steps, 3).fold(np.array([0]), np.array([0.0]), np.array([True]))


def test_estimators_take_pipelines():
    X, y = load_iris(return_X_y=True, as_frame=True)
    last = GradientBoostingClassifier(n_estimators=2, max_depth=2, random_state=0)
    for rows in (X, X.to_numpy()):
        for model in (FOREST, last):
            pipeline = piped(StandardScaler(), model).fit(rows, y)
            again = BornAgainClassifier(FrozenEstimator(pipeline)).fit(rows, y)
            assert again.estimator_ is pipeline
            assert again.verify().equal
            assert verify(pipeline, again).equal
            points = rows_for(pipeline, read_forest(pipeline))
            if rows is X:
                points = pd.DataFrame(points, columns=X.columns)
            np.testing.assert_array_equal(again.predict(points), pipeline.predict(points))
    fitted_here = BornAgainClassifier(piped(StandardScaler(), FOREST)).fit(X, y)
    assert fitted_here.verify().equal


@pytest.mark.parametrize("last", [FOREST, DecisionTreeClassifier(max_depth=2)])
def test_whoever_asks_for_the_trees_themselves(last):
    """Their thresholds are those of transformed columns."""
    X, y = load_iris(return_X_y=True)
    pipeline = piped(StandardScaler(), last).fit(X, y)
    with pytest.raises(TypeError, match=r"Pipeline.* Pass the last step"):
        tree_estimators(pipeline)
    # what needs their functions alone puts them on the columns of the pipeline
    np.testing.assert_array_equal(merge_trees([pipeline]).predict(X), pipeline.predict(X))
