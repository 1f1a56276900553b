"""Columns of every kind that a frame has: read, written and kept as the model itself takes them."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler, TargetEncoder
from written_code import NODE, by_javascript

import ensemble_simplify
from ensemble_simplify import OnnxModel, export_model, import_model, scorecard
from ensemble_simplify.reading import Model

N_ROWS = 240
rng = np.random.default_rng(0)
FLAG, GAP = rng.random(N_ROWS) < 0.5, rng.random(N_ROWS) < 0.1
NUMBER = rng.normal(size=N_ROWS).round(2)
LABEL = np.where(FLAG ^ (NUMBER > 0.5), "yes", "no")
DAY = pd.to_datetime("2020-01-01") + pd.to_timedelta(np.where(FLAG, 45, 0), "D")
KINDS = {
    "booleans": FLAG,
    "nullable booleans": pd.array(FLAG, dtype="boolean"),
    "categories of booleans": pd.Categorical(FLAG),
    "the same with gaps": pd.Categorical(np.where(GAP, None, FLAG.astype(object))),
    "categories of integers": pd.Categorical(FLAG.astype(int)),
    "categories of halves": pd.Categorical(FLAG * 1.5),
    "ordered categories": pd.Categorical(
        np.where(FLAG, "up", "down"), ["up", "down"], ordered=True
    ),
    "dates": DAY,
    "dates with gaps": pd.Series(DAY).mask(GAP),
    "dates in a zone": DAY.tz_localize("Europe/Berlin"),
    "categories of dates": pd.Categorical(DAY),
    "days of Python": pd.Series(DAY.date, dtype=object),
    "spans of time": pd.to_timedelta(FLAG.astype(int), "D"),
    "months": DAY.to_period("M"),
}
ENCODERS = {
    "one-hot": OneHotEncoder(handle_unknown="ignore"),
    "strict": OneHotEncoder(),
    "ordinal": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    "target": TargetEncoder(),
}


def behind(encoder, X):
    """A forest of few trees behind an encoder of the first column."""
    steps = make_column_transformer((encoder, ["kind"]), remainder="passthrough")
    forest = RandomForestClassifier(4, max_depth=4, random_state=0)
    return make_pipeline(steps, forest).fit(X, LABEL)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("encoder", ENCODERS)
def test_encoded_columns_of_any_kind(kind, encoder):
    """Their trees, the model on decoded rows, and what is written answer as the model does."""
    if (encoder, kind) == ("strict", "dates with gaps"):
        pytest.skip("scikit-learn finds its own level NaT unknown")
    X = pd.DataFrame({"kind": KINDS[kind], "number": NUMBER})
    pipeline = behind(ENCODERS[encoder], X)
    own = pipeline.predict(X)
    assert 0.3 < (own == "yes").mean() < 0.7
    model = Model.of(pipeline, rows=X)
    rows = model.table.read(X)
    np.testing.assert_array_equal(model.classes[model.forest.predict_index(rows)], own)
    np.testing.assert_array_equal(model.answers(rows), own)
    space = {}
    exec(export_model(pipeline, "python", X=X), space)
    assert [space["predict"](row) for row in X.to_dict("records")] == own.tolist()
    again = import_model(export_model(pipeline, "json", X=X))
    np.testing.assert_array_equal(again.predict(X), own)


@pytest.mark.parametrize("kind", ["dates", "categories of dates", "spans of time"])
def test_dates_where_numbers_were_fitted_are_refused(kind):
    """scikit-learn's scalers take them for counts of some unit, which a date does not say."""
    X = pd.DataFrame({"kind": KINDS[kind], "number": NUMBER})
    pipeline = behind(StandardScaler(), X)
    with pytest.raises(ValueError, match=r"The column 'kind' of X holds .*make numbers of"):
        Model.of(pipeline, rows=X).table.read(X)
    bare = RandomForestClassifier(2, random_state=0).fit(X[["number"]].to_numpy(), LABEL)
    with pytest.raises(ValueError, match=r"The column 'kind' of X holds .*make numbers of"):
        Model.of(bare).table.read(X[["kind"]])


CATEGORIES = {
    "text": ["a", "b", "c"],
    "booleans": [False, True, False],
    "integers": [3, 1, 2],
    "bytes": [b"a", "é".encode(), b"c"],
    "mixed": ["1", b"x", 3],
}


@pytest.mark.parametrize("kind", CATEGORIES)
def test_categories_of_catboost_of_any_kind(kind):
    catboost = pytest.importorskip("catboost")
    levels = np.empty(3, dtype=object)
    levels[:] = CATEGORIES[kind]
    place = rng.integers(0, 3, N_ROWS)
    X = pd.DataFrame({"kind": levels[place], "number": NUMBER})
    model = catboost.CatBoostClassifier(
        iterations=6,
        depth=2,
        one_hot_max_size=9,
        cat_features=["kind"],
        allow_writing_files=False,
        verbose=0,
        random_state=0,
    ).fit(X, np.where((X["kind"] == levels[1]) ^ (NUMBER > 0.5), "yes", "no"))
    own = model.predict(X)
    read = Model.of(model, rows=X)
    rows = read.table.read(X)
    np.testing.assert_array_equal(read.classes[read.forest.predict_index(rows)], own)
    space = {}
    exec(export_model(model, "python", X=X), space)
    assert [space["predict"](row) for row in X.to_dict("records")] == own.tolist()
    again = import_model(export_model(model, "json", X=X))
    np.testing.assert_array_equal(again.predict(X), own)
    if NODE and not any(isinstance(level, bytes) for level in levels):  # JSON has none
        code = export_model(model, "javascript", X=X)
        assert list(by_javascript(code, X.to_dict("records"))) == own.tolist()


def test_bytes_that_are_no_text_are_refused():
    catboost = pytest.importorskip("catboost")
    X = pd.DataFrame({"kind": np.where(FLAG, b"\xff", b"a").astype(object), "number": NUMBER})
    model = catboost.CatBoostClassifier(
        iterations=2, one_hot_max_size=9, cat_features=[0], allow_writing_files=False, verbose=0
    ).fit(X, LABEL)
    with pytest.raises(ValueError, match=r"level b'\\xff', bytes that are no text.*decode"):
        Model.of(model, rows=X)


def imported(forest):
    return import_model(export_model(forest, "json"))


def as_onnx(forest):
    onnx = pytest.importorskip("skl2onnx")
    return OnnxModel(onnx.to_onnx(forest, NUMBER[:1, None].astype(np.float32)))


def as_card(forest):
    interpret = pytest.importorskip("interpret.glassbox")
    rows = np.column_stack([NUMBER, FLAG])
    return scorecard(interpret.ExplainableBoostingClassifier(interactions=0).fit(rows, LABEL))


@pytest.mark.parametrize("make", [imported, as_onnx, as_card])
def test_pickles_of_what_comes_fitted_carry_the_version(make, monkeypatch):
    model = make(RandomForestClassifier(2, max_depth=2, random_state=0).fit(NUMBER[:, None], LABEL))
    rows = np.column_stack([NUMBER, FLAG])[:, : model.n_features_in_]
    kept = pickle.dumps(model)
    np.testing.assert_array_equal(pickle.loads(kept).predict(rows), model.predict(rows))
    monkeypatch.setattr(ensemble_simplify, "__version__", "9.0.0")
    with pytest.raises(ValueError, match=f"{type(model).__name__} was pickled by version"):
        pickle.loads(kept)
