"""Nothing ends the call: odd tables, odd labels, odd models, and methods that fail."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from ensemble_simplify import differences, simplify
from ensemble_simplify.front import _methods
from ensemble_simplify.reading import Table

N = 60


class Answers(ClassifierMixin, BaseEstimator):
    """A classifier that answers by a function of the rows."""

    def __init__(self, function=None):
        self.function = function

    def fit(self, X, y):
        self.classes_, self.n_features_in_ = np.unique(y), X.shape[1]
        return self

    def predict(self, X):
        return self.function(np.asarray(X))


class Values(RegressorMixin, BaseEstimator):
    """A regressor that answers by a function of the rows."""

    def __init__(self, function=None):
        self.function = function

    def fit(self, X, y):
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return self.function(np.asarray(X))


def numbers(n=N, m=3, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, m))
    return X, (X[:, 0] > 0.1).astype(int)


def mixed(n=N):
    """A table of a number and of text, and labels."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"a": rng.normal(size=n), "t": rng.choice(list("uvw"), n)})
    return X, (X["a"] > 0).to_numpy()


def forest(X, y):
    return RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, y)


def values_forest(X, y):
    return RandomForestRegressor(3, max_depth=3, random_state=0).fit(X, y)


def pipeline(X, y, unknown="ignore"):
    text = [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]
    others = [name for name in X if name not in text]
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown=unknown), text),
        (SimpleImputer(keep_empty_features=True), others),
    )
    last = RandomForestClassifier(3, max_depth=3, random_state=0)
    return make_pipeline(encoder, last).fit(X, y)


def histogram(X, y):
    return HistGradientBoostingClassifier(max_iter=3).fit(X, y)


CASES = {}


def case(make):
    CASES[make.__name__] = make
    return make


@case
def one_column():
    X, y = numbers(m=1)
    return forest(X, y), X, y


@case
def wide():
    X, y = numbers(20, 60)
    return forest(X, y), X, y


@case
def eight_rows():
    X, _ = numbers(8)
    y = np.arange(8) % 2
    return forest(X, y), X, y


@case
def eight_classes_of_one_row():
    X, _ = numbers(8)
    return forest(X, np.arange(8)), X, np.arange(8)


@case
def ten_rows_of_values():
    X, _ = numbers(10)
    return values_forest(X, X[:, 0]), X, X[:, 0]


@case
def one_class():
    X, y = numbers()
    return forest(X, np.ones_like(y)), X, np.ones_like(y)


@case
def one_answer():
    X, y = numbers()
    return DummyClassifier().fit(X, y), X, y


@case
def one_value():
    X, _ = numbers()
    return DummyRegressor().fit(X, X[:, 0]), X, X[:, 0]


@case
def constant_columns():
    X, y = numbers()
    X[:, 1:] = 3
    return forest(X, y), X, y


@case
def equal_rows():
    X, y = numbers()
    X[:] = 1.0
    return forest(X, y), X, y


@case
def ids():
    X, y = mixed()
    X["id"] = [f"id {i}" for i in range(N)]
    return pipeline(X, y), X, y


@case
def many_levels():
    X, y = mixed(400)
    X["level"] = [f"l{i % 300}" for i in range(400)]
    return pipeline(X, y), X, y


@case
def nothing_but_gaps():
    X, y = mixed()
    X["n"] = np.nan
    return pipeline(X, y), X, y


@case
def text_with_none():
    X, y = mixed()
    X["n"] = np.array([None, "p"] * (N // 2), dtype=object)
    return pipeline(X, y), X, y


@case
def gaps_where_the_model_saw_none():
    X, y = mixed()
    model = pipeline(X, y)
    X.loc[:5, "a"] = np.nan
    X.loc[3:9, "t"] = None
    return model, X, y


@case
def level_that_the_model_never_saw():
    X, y = mixed()
    model = pipeline(X, y)
    X.loc[:5, "t"] = "new"
    return model, X, y


@case
def model_that_refuses_unknown_levels():
    X, y = mixed()
    return pipeline(X, y, unknown="error"), X, y


@case
def dates_that_the_model_does_not_read():
    X, y = mixed()
    X["d"] = pd.date_range("2020-01-01", periods=N)
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["t"]), ("passthrough", ["a"])
    )
    return make_pipeline(encoder, RandomForestClassifier(3, random_state=0)).fit(X, y), X, y


@case
def booleans():
    X, y = mixed()
    X["b"] = np.arange(N) % 3 == 0
    return pipeline(X, y), X, y


@case
def nullable():
    X, y = mixed()
    X["a"] = X["a"].astype("Float64").mask(X["a"] > 1)
    X["i"] = pd.array([1, 2, None] * (N // 3), dtype="Int64")
    X["b"] = pd.array([True, None] * (N // 2), dtype="boolean")
    X["t"] = X["t"].astype("category")
    return histogram(X, y), X, y


@case
def ordered_categories():
    X, _ = mixed()
    X["t"] = pd.Categorical(X["t"], categories=["w", "u", "v", "x"], ordered=True)
    y = (X["t"] >= "u").to_numpy()
    return histogram(X, y), X, y


@case
def categories_of_numbers():
    X, _ = mixed()
    X["t"] = pd.Categorical(np.arange(N) % 5)
    y = np.arange(N) % 5 > 2
    return histogram(X, y), X, y


@case
def objects():
    X, y = mixed()
    model = make_pipeline(
        make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), [1]), ("passthrough", [0])
        ),
        RandomForestClassifier(3, random_state=0),
    )
    rows = X.to_numpy(dtype=object)
    return model.fit(rows, y), rows, y


@case
def names_of_numbers():
    X, y = numbers()
    X = pd.DataFrame(X)
    return forest(X, y), X, y


@case
def names_of_pairs():
    X, y = numbers()
    X = pd.DataFrame(X, columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)]))
    return forest(X, y), X, y


@case
def hostile_names():
    X, y = numbers()
    names = ['"; DROP TABLE x;--', "<script>alert(1)</script>", "a\n*/ b \u202e\x07"]
    X = pd.DataFrame(X, columns=names)
    return forest(X, y), X, y


@case
def infinite():
    X, y = numbers()
    X[3, 1], X[4, 1] = np.inf, -np.inf
    return histogram(X, y), X, y


@case
def beyond_float32():
    X, y = numbers()
    X[:, 1] *= 1e300
    return histogram(X, y), X, y


@case
def labels_of_booleans():
    X, y = numbers()
    return forest(X, y.astype(bool)), X, y.astype(bool)


@case
def labels_of_categories_in_another_order():
    X, y = numbers()
    X = pd.DataFrame(X, columns=list("abc"), index=np.arange(N)[::-1])
    y = pd.Series(np.array(["no", "yes"])[y], dtype="category", index=[f"r{i}" for i in range(N)])
    return forest(X, y), X, y


@case
def labels_in_a_frame():
    X, y = numbers()
    return forest(X, y), X, pd.DataFrame({"y": y}, index=np.arange(N) + 7)


@case
def two_rows_of_a_class():
    X, y = numbers(200)
    y[:] = 0
    y[:2] = 1
    return forest(X, y), X, y


@case
def answers_that_are_no_labels():
    X, y = numbers()
    return Answers(lambda X: np.full(len(X), np.nan)).fit(X, y), X, y


@case
def answers_in_a_list():
    X, y = numbers()
    return Answers(lambda X: (X[:, 0] > 0).astype(int).tolist()).fit(X, y), X, y


@case
def answers_in_a_column():
    X, _ = numbers()
    return LinearRegression().fit(X, X[:, :1]), X, X[:, :1]


@case
def other_answers_each_time():
    X, y = numbers()
    rng = np.random.default_rng(0)
    return Answers(lambda X: rng.integers(0, 2, len(X))).fit(X, y), X, y


@case
def model_that_knows_these_rows_only():
    X, y = numbers()
    known = {tuple(row) for row in X}

    def answer(rows):
        assert all(tuple(row) in known for row in rows)
        return (rows[:, 0] > 0).astype(int)

    return Answers(answer).fit(X, y), X, y


@case
def large_values():
    X, _ = numbers()
    return values_forest(X, X[:, 0] * 1e200), X, X[:, 0] * 1e200


@case
def values_that_hardly_differ():
    X, _ = numbers()
    y = X[:, 0] * 1e-6 + 1e9
    return values_forest(X, y), X, y


# In which no method can learn: floats of a tree are those of float32, and NaN is no label.
WITHOUT_A_TREE = ("infinite", "beyond_float32", "answers_that_are_no_labels")
# What a model or a method refuses leaves methods without a result: one line each.
FEWER = {
    "dates_that_the_model_does_not_read",  # a born-again tree takes no dates
    "large_values",
    "model_that_knows_these_rows_only",
    *WITHOUT_A_TREE,
}


@pytest.mark.parametrize("name", CASES)
def test_call_ends_with_a_tree_that_predicts(name):
    model, X, y = CASES[name]()
    outcome = simplify(model, X, y, max_leaf_nodes=8, random_state=0)
    failed = [row for row in outcome.table if not row.is_measured]
    assert all(row.note and "\n" not in row.note for row in failed)
    assert name in FEWER or not failed
    assert outcome.verdict.text
    assert repr(outcome)
    assert "<" in outcome._repr_html_()
    if name in WITHOUT_A_TREE:
        assert outcome.best is None
        return
    best = outcome.best_model
    answers = best.predict(X)
    assert len(answers) == len(X)
    if hasattr(best, "classes_"):
        assert set(answers.tolist()) <= set(best.classes_.tolist())
    assert best.export("json").endswith("\n")
    assert len(outcome.refit(X).predict(X)) == len(X)


@pytest.mark.parametrize("error", [KeyError("a\nb"), AssertionError(), RecursionError("deep")])
@pytest.mark.parametrize("name", ["representer", "plain_tree", "cultivated", "born_again"])
def test_a_method_that_raises_is_a_row_with_one_line(monkeypatch, name, error):
    def raises(task, seconds):
        raise error

    method = _methods.METHODS[name]
    monkeypatch.setitem(_methods.METHODS, name, type(method)(**{**vars(method), "attempt": raises}))
    X, y = numbers()
    outcome = simplify(forest(X, y), X, y, max_leaf_nodes=4, random_state=0)
    (row,) = [row for row in outcome.table if row.name == name]
    assert not row.is_measured
    assert row.note.startswith(type(error).__name__)
    assert "\n" not in row.note
    assert outcome.best not in (None, name)
    assert type(error).__name__ in outcome.report()


def test_a_model_whose_values_are_not_finite_is_refused_by_name():
    X, y = numbers()
    model = Values(lambda X: np.where(X[:, 0] > 0, np.nan, 1.0)).fit(X, y)
    with pytest.raises(ValueError, match=r"Values.* NaN or infinity"):
        simplify(model, X)


def test_entries_that_are_no_levels_are_refused_with_a_remedy():
    X, _ = mixed()
    X["c"] = 1j * np.arange(N)
    with pytest.raises(TypeError, match=r"neither numbers, nor text.*astype"):
        Table.of_rows(X)


def test_no_forecast_where_the_trees_are_far_too_large(monkeypatch):
    asked = []
    monkeypatch.setattr(_methods, "estimate", lambda *rows, **params: asked.append(1))
    monkeypatch.setattr(_methods, "MANY_LEAVES", 100)
    X, y = numbers(300, 8)
    y ^= np.random.default_rng(2).random(300) < 0.3
    model = RandomForestClassifier(5, random_state=0).fit(X, y)
    outcome = simplify(model, X, max_leaf_nodes=4, random_state=0)
    assert "too large for one readable tree" in outcome.not_tried["born_again"]
    assert not asked
    outcome = simplify(model, X, max_leaf_nodes=4, methods="born_again", random_state=0)
    assert "born_again" not in outcome.not_tried
    assert asked


def test_text_for_a_model_of_categories(tmp_path):
    """A file gives text where LightGBM was fitted on pandas' categories, and wants these."""
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    text = pd.DataFrame({"town": rng.choice(["a", "b", "c"], 200), "age": rng.normal(size=200)})
    y = (text["town"] == "b") ^ (text["age"] > 0.5)
    rows = text.astype({"town": "category"})
    model = lightgbm.LGBMClassifier(n_estimators=5, verbose=-1, n_jobs=1).fit(rows[:100], y[:100])
    found = [
        simplify(model, own[100:], y[100:], max_leaf_nodes=4, random_state=0)
        for own in (rows, text)
    ]
    assert found[0].export_text() == found[1].export_text()
    assert found[0].verdict == found[1].verdict
    told = [found[0].explain(own[:20], flip=True) for own in (rows, text)]
    assert list(map(str, told[0])) == list(map(str, told[1]))
    assert [own.model_answer for own in told[1]] == model.predict(rows[:20]).tolist()
    told = [differences(model, found[0].best_model, own) for own in (rows, text)]
    assert str(told[0]) == str(told[1])
    for own, name in zip(found, ("one.md", "two.md"), strict=True):
        own.document(tmp_path / name, sections=["performance", "implementation"])
    assert (tmp_path / "one.md").read_bytes() == (tmp_path / "two.md").read_bytes()
    # a level that the model does not know is a gap to it, whatever the rows are made of
    new = text[:5].assign(town="d")
    unknown = rows[:5].assign(town=pd.Categorical([None] * 5, rows["town"].cat.categories))
    answers = [own.model_answer for own in found[0].explain(new)]
    assert answers == model.predict(unknown).tolist()
