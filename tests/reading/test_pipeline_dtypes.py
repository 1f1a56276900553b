"""Pipelines round in the dtype of their rows: they are read for the dtypes in which rows come."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

from ensemble_simplify import (
    BornAgainClassifier,
    Domain,
    FaithfulPruner,
    RepresenterTree,
    agreement,
    estimate,
    export_tree,
    is_monotone,
    nearest_flip,
    simplify,
    sufficient_box,
    verify,
)
from ensemble_simplify.reading.forest import read_forest

FOREST = RandomForestClassifier(3, max_depth=4, random_state=0)
STEPS = {
    "standard": StandardScaler(),
    "min_max": MinMaxScaler((0.1, 0.7)),
    "robust": RobustScaler(),
    "max_abs": MaxAbsScaler(),
    "binarizer": Binarizer(threshold=30.1),
    "bins": KBinsDiscretizer(7, encode="ordinal", strategy="uniform"),
    "imputer": make_pipeline(SimpleImputer(), StandardScaler()),
    "knn": make_pipeline(KNNImputer(), RobustScaler()),
    "twice": make_pipeline(StandardScaler(), MinMaxScaler()),
}
DTYPES = [np.float32, np.float64]


def whole_numbers(seed=0, n_rows=150):
    """Rows of whole numbers, some of which lie on the cut points of a forest, and labels."""
    X = np.random.default_rng(seed).integers(0, 100, (n_rows, 2)).astype(np.float64)
    # few decimals, which float32 rounds
    X = X.astype(np.float32).astype(np.float64)
    y = ((X[:, 0] + X[:, 1]) // 3 % 2).astype(int)
    return X, y


def rows_at(threshold, dtype, seed=0):
    """Whole numbers, and rows at cut points and one float32 beside them, in a dtype."""
    rng = np.random.default_rng(seed)
    cuts = threshold[np.isfinite(threshold) & (np.abs(threshold) < 1e30)].astype(np.float32)
    beside = [np.nextafter(cuts, np.float32(end)) for end in (-np.inf, np.inf)]
    values = np.concatenate([cuts, *beside, np.float32([30.1, -1e6, 1e6])])
    whole = rng.integers(0, 100, (1000, 2)).astype(np.float32)
    return np.concatenate([rng.choice(values, (1000, 2)), whole]).astype(dtype)


def fitted(step, last=FOREST, dtype=np.float32):
    X, y = whole_numbers()
    return make_pipeline(clone(step), clone(last)).fit(X.astype(dtype), y), X.astype(dtype), y


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", STEPS)
def test_rows_are_read_in_their_dtype(name, dtype):
    for last in (FOREST, HistGradientBoostingClassifier(max_iter=3)):
        pipeline, X, _ = fitted(STEPS[name], last)
        forest = read_forest(pipeline, rows=X.astype(dtype))
        rows = rows_at(forest.threshold[forest.left >= 0], dtype)
        np.testing.assert_array_equal(
            forest.classes[forest.predict_index(rows)], pipeline.predict(rows)
        )


@pytest.mark.parametrize("name", ["standard", "robust", "binarizer", "imputer", "knn", "twice"])
def test_a_dtype_that_matters_is_noticed(name):
    pipeline, X, _ = fitted(STEPS[name])
    double, single = read_forest(pipeline), read_forest(pipeline, rows=X)
    assert (double.threshold != single.threshold).any()
    assert double.table.by_dtype
    assert single.table.by_dtype
    # a model without a pipeline has one set of answers
    assert not read_forest(pipeline[-1], rows=X).table.by_dtype


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_promised_of_training_rows_is_true_of_them(dtype):
    pipeline, X, y = fitted(StandardScaler())
    X, other = X.astype(dtype), np.float64 if dtype == np.float32 else np.float32
    for promise in (
        BornAgainClassifier(FrozenEstimator(pipeline), method="heuristic", random_state=0),
        BornAgainClassifier(FrozenEstimator(pipeline), max_changes=1, random_state=0),
        FaithfulPruner(FrozenEstimator(pipeline), max_changes=1, method="heuristic"),
        FaithfulPruner(FrozenEstimator(pipeline), method="heuristic"),
    ):
        promise.fit(X, y)
        np.testing.assert_array_equal(promise.predict(X), pipeline.predict(X))
        assert promise.verify().equal
        assert promise.verify().row_dtype == np.dtype(dtype).name
        assert promise.covers(X).all()
        assert not promise.covers(X.astype(other)).any()
        assert verify(pipeline, promise, X=X, max_changes=0).equal
    tree = BornAgainClassifier(FrozenEstimator(pipeline), method="heuristic", random_state=0)
    tree.fit(X, y)
    cuts = tree.decision_tree_.tree_.threshold[tree.decision_tree_.tree_.feature >= 0]
    rows = rows_at(cuts, dtype)
    np.testing.assert_array_equal(tree.predict(rows), pipeline.predict(rows))
    # without rows, those that the tree was fitted on say which dtype is meant
    outcome = verify(pipeline, tree)
    assert outcome.equal
    words = f"every input that float32 represents, given as {np.dtype(dtype).name}"
    assert f"proven for {words};" in repr(outcome)
    short = DecisionTreeClassifier(max_depth=1).fit(X, y)
    row = verify(pipeline, BornAgainClassifier(FrozenEstimator(short)).fit(X, y)).counterexample
    assert pipeline.predict(row[None]) != short.predict(row[None])
    assert agreement(pipeline, tree, rows, random_state=0, time_limit=0.5).share == 1.0
    found = verify(pipeline, tree, X=X.astype(other), max_changes=1)
    assert found.equal is False
    row = found.counterexample[None]
    assert row.dtype == other
    assert pipeline.predict(row) != tree.predict(row)


def test_the_training_rows_of_another_dtype():
    """89 of 10,000 whole numbers, and one training row, were answered otherwise."""
    pipeline, X, y = fitted(StandardScaler())
    tree = BornAgainClassifier(FrozenEstimator(pipeline), method="heuristic", random_state=0)
    tree.fit(X, y)
    rows = np.random.default_rng(1).integers(0, 100, (10_000, 2)).astype(np.float32)
    assert (tree.predict(rows) == pipeline.predict(rows)).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_pipelines_inside_ensembles(dtype):
    X, y = whole_numbers()
    X = X.astype(dtype)
    inner = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=5, random_state=0))
    for model in (
        BaggingClassifier(inner, 3, max_features=0.5, random_state=0),
        VotingClassifier([("a", inner), ("b", FOREST)], voting="soft"),
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=3, random_state=0),
        make_pipeline(RobustScaler(), inner),
    ):
        model.fit(X, y)
        forest = read_forest(model, rows=X)
        rows = rows_at(forest.threshold[forest.left >= 0], dtype)
        np.testing.assert_array_equal(
            forest.classes[forest.predict_index(rows)], model.predict(rows)
        )


FRAMES = {
    "float32": {"a": "float32", "b": "float32"},
    "float32 and float64": {"a": "float32", "b": "float64"},
    "float32 and int16": {"a": "float32", "b": "int16"},
    "float32 and int64": {"a": "float32", "b": "int64"},
    "float32 and uint8": {"a": "float32", "b": "uint8"},
    "nullable": {"a": "Float32", "b": "Float32"},
    "float32 and nullable": {"a": "float32", "b": "Float32"},
    "integers": {"a": "int8", "b": "int16"},
}


@pytest.mark.parametrize("kinds", FRAMES)
@pytest.mark.parametrize("by_column", [False, True])
def test_frames_of_several_dtypes(kinds, by_column):
    X, y = whole_numbers()
    frame = pd.DataFrame(X, columns=["a", "b"]).astype(FRAMES[kinds])
    step = StandardScaler()
    if by_column:
        step = ColumnTransformer([("one", step, ["a", "b"])])
    pipeline = make_pipeline(step, FOREST).fit(frame, y)
    forest = read_forest(pipeline, rows=frame)
    rows = rows_at(forest.threshold[forest.left >= 0], np.float64)
    integers = [name for name, kind in FRAMES[kinds].items() if "int" in kind]
    table = pd.DataFrame(rows, columns=["a", "b"])
    table[integers] = table[integers].round().clip(0, 99)
    answers = pipeline.predict(table.astype(FRAMES[kinds]))
    numbers = table.astype(np.float64).to_numpy()
    np.testing.assert_array_equal(forest.classes[forest.predict_index(numbers)], answers)
    tree = BornAgainClassifier(FrozenEstimator(pipeline), method="heuristic", random_state=0)
    tree.fit(frame, y)
    np.testing.assert_array_equal(tree.predict(frame), pipeline.predict(frame))
    assert tree.verify().equal
    assert tree.set_params(max_changes=1).fit(frame, y).verify().equal
    flip = nearest_flip(pipeline, frame.iloc[[0]], max_changes=2).row
    if not hasattr(flip, "columns"):
        flip = pd.DataFrame(flip[None], columns=["a", "b"])
    assert pipeline.predict(flip) != pipeline.predict(frame.iloc[[0]])


def test_both_dtypes_are_other_ones_to_a_frame_of_both():
    X, y = whole_numbers()
    frame = pd.DataFrame(X, columns=["a", "b"])
    pipeline = make_pipeline(StandardScaler(), FOREST).fit(frame, y)
    tree = BornAgainClassifier(FrozenEstimator(pipeline), method="heuristic", random_state=0)
    tree.fit(frame.astype({"a": "float32"}), y)
    assert tree.covers(frame.astype({"a": "float32"})).all()
    assert not tree.covers(frame.astype("float32")).any()


def test_dtypes_that_cannot_be_followed_are_refused():
    X, y = whole_numbers()
    frame = pd.DataFrame(X, columns=["a", "b"])
    parts = ColumnTransformer([("a", StandardScaler(), ["a"]), ("b", StandardScaler(), ["b"])])
    pipeline = make_pipeline(parts, FOREST).fit(frame, y)
    text = r"columns of .*Give X.astype\(numpy.float64\), or numpy.float32, in fit and in predict"
    for kinds in ({"a": "float32", "b": "int8"}, {"a": "float16", "b": "float64"}):
        rows = frame.astype(kinds)
        for promise in (BornAgainClassifier, FaithfulPruner):
            with pytest.raises(TypeError, match=text):
                promise(FrozenEstimator(pipeline), max_changes=0).fit(rows, y)
        with pytest.raises(TypeError, match=text):
            verify(pipeline, pipeline, X=rows, max_changes=0)
    # the advice works
    assert verify(pipeline, pipeline, X=rows.astype(np.float32), max_changes=0).equal


def test_rows_that_overflow_between_the_steps():
    """The pipeline refuses them; others are read."""
    X, y = whole_numbers()
    X = (X * 1e-6).astype(np.float32)
    pipeline = make_pipeline(StandardScaler(), RobustScaler(), FOREST).fit(X, y)
    with pytest.raises(ValueError, match="infinity"):
        pipeline.predict(np.full((1, 2), 3e38, dtype=np.float32))
    forest = read_forest(pipeline, rows=X)
    np.testing.assert_array_equal(forest.classes[forest.predict_index(X)], pipeline.predict(X))


@pytest.mark.parametrize("dtype", DTYPES)
def test_audits_are_of_the_dtype_of_the_row(dtype):
    pipeline, X, _ = fitted(StandardScaler())
    forest = read_forest(pipeline, rows=X.astype(dtype))
    for row in rows_at(forest.threshold[forest.left >= 0], dtype)[:15]:
        found = nearest_flip(pipeline, row, max_changes=1)
        assert found.predictions[0] == pipeline.predict(row[None])[0]
        if found.row is not None:
            assert found.row.dtype == dtype
            assert pipeline.predict(found.row[None])[0] == found.predictions[1]
        assert sufficient_box(pipeline, row).contains(row[None]).all()


# ------------------------------------------------------------- columns of numbers that have names

KINDS = {"int": "int64", "float64": "float64", "float32": "float32"}


def named(kind, last):
    """A pipeline that scales some columns of a table, by name; the table, and labels."""
    rng = np.random.default_rng(0)
    whole = rng.integers(0, 30, 100)
    columns = {"a": whole, "b": 3 * rng.normal(size=100), "c": rng.normal(size=100)}
    X = pd.DataFrame(columns).astype({"a": KINDS[kind]})
    if kind == "float32":
        X = X.astype(np.float32)
    y = (((X["a"] - 15) / 10 + X["b"] * X["c"]) > 0).astype(int).to_numpy()
    scaled = ColumnTransformer(
        [("num", StandardScaler(), ["a", "b"]), ("rest", "passthrough", ["c"])]
    )
    return Pipeline([("columns", scaled), ("last", last)]).fit(X, y), X, y


@pytest.mark.parametrize("kind", KINDS)
def test_named_columns_in_every_function(kind):
    one, X, y = named(kind, RandomForestClassifier(3, max_depth=3, random_state=0))
    two, _, _ = named(kind, RandomForestClassifier(3, max_depth=3, random_state=5))
    for given in ({}, {"X": X, "max_changes": 1}):
        found = verify(one, two, **given)
        assert found.equal is False
        row = pd.DataFrame(found.counterexample[None], columns=X.columns)
        assert (one.predict(row)[0], two.predict(row)[0]) == found.predictions
        assert verify(one, one, **given).equal
        found = verify(one, two, atol=0.01, **given)
        assert found.equal is False
        row = pd.DataFrame(found.counterexample[None], columns=X.columns)
        np.testing.assert_array_equal(one.predict_proba(row)[0], found.predictions[0])
    assert verify(one, two, X=X.to_numpy(), max_changes=0).equal is False
    assert verify(one, two, voting="hard").equal is False
    box = Domain(bounds={name: (0, 10) for name in X.columns})
    for rows, domain in ((X, None), (X.to_numpy(), None), (None, box)):
        found = agreement(one, two, rows, domain=domain, random_state=0, time_limit=0.1)
        shown = found.to_frame()
        # as the rows come; without rows, in float64
        numbers = shown[list(X.columns)].astype(X.dtypes if rows is X else np.float64)
        np.testing.assert_array_equal(one.predict(numbers), shown["model_a"])
    found = is_monotone(one, "a")
    assert found.monotone is False
    rows = pd.DataFrame(found.counterexample, columns=X.columns)
    assert tuple(one.predict(rows)) == found.predictions
    for row in (X.iloc[[0]], X.iloc[0], X.to_numpy()[0]):
        assert sufficient_box(one, row).contains(X).any()
        assert nearest_flip(one, row, max_changes=2).row is not None
    assert estimate(one, X, random_state=0).n_leaves >= 2
    if kind == "float32":
        assert simplify(one, X, y, methods=["born_again_0"], random_state=0).best


@pytest.mark.parametrize("kind", KINDS)
def test_named_columns_in_every_estimator(kind):
    pipeline, X, y = named(kind, RandomForestClassifier(3, max_depth=3, random_state=0))
    frozen = FrozenEstimator(pipeline)
    for promise in (
        BornAgainClassifier(frozen, random_state=0),
        BornAgainClassifier(frozen, max_changes=1, random_state=0),
        FaithfulPruner(frozen, random_state=0),
        FaithfulPruner(frozen, max_changes=1, random_state=0),
    ):
        promise.fit(X, y)
        np.testing.assert_array_equal(promise.predict(X), pipeline.predict(X))
        assert promise.covers(X).all()
        assert promise.verify().equal
        assert promise.predict_proba(X).shape == (len(X), 2)
    tree = RepresenterTree(frozen, random_state=0).fit(X, y)
    assert tree.fidelity(X) > 0.8
    for own in (tree, BornAgainClassifier(frozen, random_state=0).fit(X, y)):
        for language in ("rules", "sql", "c", "python", "json"):
            assert export_tree(own, language)
        assert "a <=" in own.export_text()


def test_named_columns_of_regressors():
    one, X, y = named("float32", RandomForestRegressor(3, max_depth=3, random_state=0))
    two, _, _ = named("float32", RandomForestRegressor(3, max_depth=3, random_state=5))
    found = verify(one, two, X=X, max_changes=0, atol=1e-6)
    row = pd.DataFrame(found.counterexample[None], columns=X.columns)
    assert found.equal is False
    assert (one.predict(row)[0], two.predict(row)[0]) == found.predictions
    assert RepresenterTree(FrozenEstimator(one), random_state=0).fit(X, y).get_n_leaves() > 1


# ------------------------------------------------------------------- what can only be asked


def test_pipelines_that_are_asked_alone():
    X, y = whole_numbers()
    mixed = make_pipeline(StandardScaler(), PCA(2), FOREST).fit(X, y)
    tree = DecisionTreeClassifier(random_state=0).fit(X, mixed.predict(X))
    found = agreement(mixed, tree, X, random_state=0, time_limit=0.5)
    assert found.share == 1.0
    assert not found.is_read


def test_what_simplify_finds_on_tables_can_be_asked():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"t": rng.choice(["a", "b", "c"], 200), "u": rng.normal(size=200)})
    X.loc[::7, "u"] = np.nan
    X.loc[::11, "t"] = None
    y = np.where((X["u"].fillna(0) > 0) ^ (X["t"] == "a"), "yes", "no")
    text = make_pipeline(SimpleImputer(strategy="constant", fill_value="?"), OneHotEncoder())
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    codes = ColumnTransformer([("t", text, ["t"]), ("u", numbers, ["u"])])
    pipeline = make_pipeline(codes, FOREST).fit(X, y)
    found = simplify(pipeline, X, y, methods=["plain_tree", "representer"], random_state=0)
    for name in ("plain_tree", "representer"):
        tree = found[name]
        for models in ((pipeline, tree), (tree, pipeline)):
            outcome = agreement(*models, X, random_state=0, time_limit=0.5)
            assert outcome.share == np.mean(pipeline.predict(X) == tree.predict(X))
