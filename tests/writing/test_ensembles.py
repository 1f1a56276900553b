"""Ensembles in other languages answer as the ensemble: by running C, SQL and Python."""

import copy
import ctypes
import json
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from loans import each_kind, fitted, labels_of, many
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.tree import DecisionTreeClassifier
from written_code import by_c, by_python, by_sqlite, compiled, needs_gcc

from ensemble_simplify import (
    FaithfulPruner,
    export_model,
    export_tree,
    import_model,
    import_tree,
    verify,
)
from ensemble_simplify.grid import last_double
from ensemble_simplify.reading import Model
from ensemble_simplify.writing.named_tree import NamedEnsemble

OF_0_3_0 = json.loads((Path(__file__).parents[1] / "data" / "json_0_3_0.json").read_text("utf8"))
WINE, CANCER, DIABETES = load_wine, load_breast_cancer, load_diabetes


# ------------------------------------------------------------------- arrays of numbers


def hard_rows(forest, X, n, seed=0):
    """Rows on thresholds and one double beside them, others made of two rows each."""
    rng = np.random.default_rng(seed)
    one, two = (X[rng.integers(len(X), size=n)] for _ in range(2))
    rows = np.where(rng.random(one.shape) < 0.3, two, one).astype(float)
    splits = np.flatnonzero(forest.left >= 0)
    for row in rows:
        for node in rng.choice(splits, 2):
            end = forest.threshold[node]
            row[forest.feature[node]] = rng.choice(
                [end, np.nextafter(end, np.inf), np.nextafter(end, -np.inf)]
            )
    return rows


def xgboost(**options):
    return pytest.importorskip("xgboost").XGBClassifier(n_jobs=1, **options)


def lightgbm(**options):
    return pytest.importorskip("lightgbm").LGBMClassifier(n_jobs=1, verbose=-1, **options)


MODELS = {
    "forest": lambda: (RandomForestClassifier(20, random_state=0), WINE),
    "even_forest": lambda: (RandomForestClassifier(4, max_depth=2, random_state=0), CANCER),
    "boosting": lambda: (GradientBoostingClassifier(n_estimators=15, random_state=0), CANCER),
    "boosting_of_many": lambda: (GradientBoostingClassifier(n_estimators=8, random_state=0), WINE),
    "histogram": lambda: (HistGradientBoostingClassifier(max_iter=10), WINE),
    "ada": lambda: (AdaBoostClassifier(random_state=0), CANCER),
    "ada_of_many": lambda: (AdaBoostClassifier(random_state=0), WINE),
    "bagging": lambda: (
        BaggingClassifier(DecisionTreeClassifier(), 7, max_features=0.5, random_state=0),
        WINE,
    ),
    "xgboost": lambda: (xgboost(n_estimators=15), CANCER),
    "xgboost_of_many": lambda: (xgboost(n_estimators=10), WINE),
    "lightgbm": lambda: (lightgbm(n_estimators=10), CANCER),
    "lightgbm_of_many": lambda: (lightgbm(n_estimators=6), WINE),
    "soft_votes": lambda: (
        VotingClassifier(
            [
                ("a", DecisionTreeClassifier(max_depth=3, random_state=0)),
                ("b", RandomForestClassifier(5, random_state=0)),
            ],
            voting="soft",
            weights=[0.3, 1.7],
        ),
        WINE,
    ),
    "hard_votes": lambda: (
        VotingClassifier(
            [
                ("a", DecisionTreeClassifier(max_depth=3, random_state=0)),
                ("b", RandomForestClassifier(5, random_state=0)),
                ("c", GradientBoostingClassifier(n_estimators=3, random_state=0)),
            ]
        ),
        WINE,
    ),
    "pruned": lambda: (
        FaithfulPruner(RandomForestClassifier(20, random_state=0), max_changes=0, random_state=0),
        WINE,
    ),
    "regression": lambda: (RandomForestRegressor(10, max_depth=6, random_state=0), DIABETES),
    "boosted_numbers": lambda: (GradientBoostingRegressor(n_estimators=20), DIABETES),
    "histogram_of_numbers": lambda: (HistGradientBoostingRegressor(max_iter=10), DIABETES),
}
_fitted = {}


def model_of(name):
    """A fitted model, its training rows, and hard ones."""
    if name not in _fitted:
        model, load = MODELS[name]()
        X, y = load(return_X_y=True)
        model = model.fit(X, y)
        _fitted[name] = model, X, hard_rows(Model.of(model).finest, X, 1500)
    return _fitted[name]


NO_PROBABILITIES = {"hard_votes", "regression", "boosted_numbers", "histogram_of_numbers"}
each_model = pytest.mark.parametrize("name", MODELS)


@needs_gcc
@each_model
def test_c(name, tmp_path):
    model, _, rows = model_of(name)
    is_number = not hasattr(model, "classes_")
    found = by_c(export_model(model, "c"), rows, tmp_path, real=is_number)
    found = found if is_number else model.classes_[found]
    np.testing.assert_array_equal(found, model.predict(rows))


@each_model
def test_python(name):
    model, _, rows = model_of(name)
    rows = rows[:300]
    code = export_model(model, "python")
    assert not re.search(r";$", code, re.MULTILINE)
    found = by_python(code, rows.tolist())
    np.testing.assert_array_equal(found, model.predict(rows))


@pytest.mark.parametrize("form", ["nested", "tables"])
@each_model
def test_sql(name, form):
    model, X, rows = model_of(name)
    rows = rows[: 1500 if form == "nested" else 500]
    frame = pd.DataFrame(rows, columns=[f"x{j}" for j in range(X.shape[1])])
    query = export_model(model, "sql", table="rows", keys=["id"], name="answer", form=form)
    assert ("WITH RECURSIVE" in query) == (form == "tables")
    np.testing.assert_array_equal(by_sqlite(query, frame)["answer"], model.predict(rows))


@needs_gcc
@pytest.mark.parametrize(
    "name",
    [name for name in MODELS if "numbers" not in name and name not in ("regression", "hard_votes")],
)
def test_probabilities(name, tmp_path):
    model, X, rows = model_of(name)
    rows = rows[:200]
    expected = model.predict_proba(rows)
    tolerance = 1e-6 if "xgboost" in name else 1e-14
    text = export_model(model, "c", output="probabilities")
    found = by_c(text, rows, tmp_path, n_proba=expected.shape[1])
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)
    answers = by_python(export_model(model, "python", output="probabilities"), rows.tolist())
    assert [list(own) for own in answers] == [model.classes_.tolist()] * len(rows)
    found = [list(own.values()) for own in answers]
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)
    frame = pd.DataFrame(rows, columns=[f"x{j}" for j in range(X.shape[1])])
    query = export_model(model, "sql", table="rows", keys=["id"], output="probabilities")
    found = by_sqlite(query, frame)
    assert list(found) == [f"prediction_{label}" for label in model.classes_]
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)
    query = export_model(
        model, "sql", table="rows", keys=["id"], output="probabilities", form="tables"
    )
    np.testing.assert_array_equal(by_sqlite(query, frame), found)


@pytest.mark.parametrize("method", ["sigmoid", "temperature"])
@pytest.mark.parametrize("name", ["even_forest", "boosting", "ada", "histogram"])
def test_probabilities_of_calibrations(name, method):
    inner, load = MODELS[name]()
    X, y = load(return_X_y=True)
    model = CalibratedClassifierCV(inner, method=method, ensemble=False, cv=2).fit(X, y == 1)
    again = import_model(export_model(model, "json"))
    if name == "even_forest" and method == "temperature":  # which takes logarithms of means
        assert not hasattr(again, "predict_proba")
        return
    expected = model.predict_proba(X)
    np.testing.assert_allclose(again.predict_proba(X), expected, rtol=0, atol=1e-14)
    answers = by_python(export_model(model, "python", output="probabilities"), X[:30].tolist())
    found = [list(own.values()) for own in answers]
    np.testing.assert_allclose(found, expected[:30], rtol=0, atol=1e-14)


# ------------------------------------------------------------------- text, gaps, unknown levels


@pytest.mark.parametrize(("form", "n"), [("nested", 4_000), ("tables", 300)])
@each_kind
def test_labels_of_a_table_in_sql(kind, form, n):
    model, X = fitted(kind)
    read = Model.of(model, rows=X)
    rows = many(kind, X, read.forest, n)
    query = export_model(model, "sql", table="rows", keys=["id"], X=X, form=form)
    found = by_sqlite(query, rows)["prediction"]
    np.testing.assert_array_equal(found, labels_of(kind, model, rows))


@each_kind
def test_labels_of_a_table_in_python(kind):
    model, X = fitted(kind)
    read = Model.of(model, rows=X)
    rows = many(kind, X, read.forest, 1_000)
    found = by_python(export_model(model, "python", X=X), rows.astype(object).to_dict("records"))
    np.testing.assert_array_equal(found, labels_of(kind, model, rows))


@needs_gcc
@each_kind
def test_labels_of_a_table_in_c(kind, tmp_path):
    model, X = fitted(kind)
    read = Model.of(model, rows=X)
    rows = many(kind, X, read.forest, 4_000)
    text = export_model(model, "c", X=X)
    library = compiled(text, tmp_path)
    codes = np.empty(rows.shape)
    for j, name in enumerate(rows):
        if f"predict_code_{j}(" not in text:
            codes[:, j] = pd.to_numeric(rows[name], errors="coerce")
            continue
        function = library[f"predict_code_{j}"]
        function.restype, function.argtypes = ctypes.c_double, [ctypes.c_char_p]
        known = {level: function(str(level).encode()) for level in rows[name].dropna().unique()}
        column = rows[name].astype(object)
        codes[:, j] = [function(None) if pd.isna(v) else known[v] for v in column]
    found = read.forest.classes[by_c(text, codes, tmp_path, library=library)]
    np.testing.assert_array_equal(found, labels_of(kind, model, rows))


@pytest.mark.parametrize("form", ["nested", "tables"])
def test_splits_of_gaps_alone_in_sql(form):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(300, 3)).astype(float)
    X[rng.random(X.shape) < 0.3] = np.nan
    y = np.isnan(X[:, 0]) ^ (np.nan_to_num(X[:, 1], nan=2.0) > 1)
    model = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5).fit(X, y)
    assert np.isinf(NamedEnsemble.of(model).end).any()
    frame = pd.DataFrame(X, columns=["x0", "x1", "x2"])
    query = export_model(model, "sql", table="rows", keys=["id"], form=form)
    np.testing.assert_array_equal(by_sqlite(query, frame)["prediction"], model.predict(X))


@pytest.mark.parametrize("form", ["nested", "tables"])
def test_trees_without_splits_in_sql(form):
    X, y = np.zeros((9, 2)), np.repeat([3, 4, 4], 3)
    model = RandomForestClassifier(4, random_state=0).fit(X, y)
    frame = pd.DataFrame(X, columns=["x0", "x1"])
    query = export_model(model, "sql", table="rows", keys=["id"], form=form)
    np.testing.assert_array_equal(by_sqlite(query, frame)["prediction"], model.predict(X))


def test_the_forms_of_sql_agree_in_duckdb():
    duckdb = pytest.importorskip("duckdb")
    model, X, rows = model_of("xgboost_of_many")
    rows = rows[:300]
    frame = pd.DataFrame(rows, columns=[f"x{j}" for j in range(X.shape[1])])
    frame["id"] = np.arange(len(frame))
    with duckdb.connect() as connection:
        connection.register("rows", frame)
        for form in ("nested", "tables"):
            query = export_model(model, "sql", table="rows", keys=["id"], form=form)
            found = dict(connection.execute(query).fetchall())
            assert [found[i] for i in range(len(rows))] == model.predict(rows).tolist()


def test_too_many_sums_for_tables_are_refused():
    stumps = [(f"s{i}", DecisionTreeClassifier(max_depth=1, random_state=i)) for i in range(70)]
    model = VotingClassifier(stumps).fit(*load_iris(return_X_y=True))
    with pytest.raises(ValueError, match=r"VotingClassifier takes 210 sums.* Use form='nested'"):
        export_model(model, "sql", table="rows", form="tables")


# ------------------------------------------------------------------- JSON, and back


@each_model
def test_json(name):
    model, _, rows = model_of(name)
    text = export_model(model, "json")
    again = import_model(text)
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    assert again.n_features_in_ == rows.shape[1]
    if name not in NO_PROBABILITIES:
        tolerance = 1e-7 if "xgboost" in name else 1e-15
        found = again.predict_proba(rows)
        np.testing.assert_allclose(found, model.predict_proba(rows), rtol=0, atol=tolerance)
    # it is written, and read, as the model is
    assert export_model(again, "json") == text


@pytest.mark.parametrize("name", OF_0_3_0)
def test_files_of_0_3_0_are_read(name):
    """They answer what the model that was written did, as 0.3.0 noted down beside them."""
    entry = OF_0_3_0[name]
    read = import_tree if entry["text"]["format"].endswith("tree") else import_model
    model, rows = read(json.dumps(entry["text"])), np.array(entry["rows"], dtype=float)
    assert model.predict(rows).tolist() == entry["answers"]


@pytest.mark.parametrize("name", ["even_forest", "boosting", "histogram_of_numbers"])
def test_what_was_read_back_is_proven_equal(name):
    model = model_of(name)[0]
    again = import_model(export_model(model, "json"))
    found = verify(model, again, atol=1e-12) if name == "histogram_of_numbers" else None
    assert found or verify(model, again)


def test_columns_in_another_order_are_refused():
    X, y = WINE(return_X_y=True, as_frame=True)
    model = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, y)
    again = import_model(export_model(model, "json"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    with pytest.raises(ValueError, match="Give these, in this order"):
        again.predict(X[X.columns[::-1]])


@each_kind
def test_tables_in_json(kind):
    model, X = fitted(kind)
    read = Model.of(model, rows=X)
    rows = many(kind, X, read.forest, 5_000)
    again = import_model(export_model(model, "json", X=X))
    np.testing.assert_array_equal(again.predict(rows), labels_of(kind, model, rows))


# ------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"language": "cobol"}, "language='cobol'. Choose one of sql, c, python, json"),
        ({"language": "sql"}, "Name the table to select from"),
        ({"language": "c", "table": "rows"}, "table='rows' goes with language='sql' alone"),
        ({"language": "c", "keys": ["id"]}, "goes with language='sql' alone"),
        ({"language": "sql", "table": "rows", "keys": "id"}, "is one name. Give a list"),
        ({"language": "python", "name": "for"}, "means something else in python"),
        ({"language": "json", "name": "f"}, "means nothing in json"),
        ({"language": "python", "form": "tables"}, "goes with language='c' or 'sql' alone"),
        ({"language": "sql", "table": "t", "form": "joined"}, "Choose tables or nested"),
        ({"language": "c", "output": "proba"}, "Choose label, probabilities, or points"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        export_model(model_of("even_forest")[0], **options)


def test_probabilities_of_a_regressor_are_refused():
    with pytest.raises(ValueError, match="or it is a regressor"):
        export_model(model_of("regression")[0], "c", output="probabilities")


def test_each_form_is_read_by_its_own_function():
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(*WINE(return_X_y=True))
    with pytest.raises(ValueError, match="Use import_tree"):
        import_model(export_tree(tree, "json"))
    text = export_model(tree, "json")
    with pytest.raises(ValueError, match="Use import_model"):
        import_tree(text)
    with pytest.raises(ValueError, match="is not a whole model"):
        import_model(text.replace('"vote"', '"votes"'))
    with pytest.raises(ValueError, match="reads version 1"):
        import_model(text.replace('"version": 1', '"version": 2'))


# ------------------------------------------------------------------- forms of C, and 16 bits


def in_16_bits(model, X):
    """A model in 16 bits, read back."""
    return import_model(export_model(model, "json", precision="int16", X=X))


@needs_gcc
@pytest.mark.parametrize("name", ["even_forest", "ada_of_many", "xgboost", "soft_votes"])
def test_nested_c(name, tmp_path):
    model, _, rows = model_of(name)
    text = export_model(model, "c", form="nested")
    assert "_nodes" not in text
    found = model.classes_[by_c(text, rows, tmp_path)]
    np.testing.assert_array_equal(found, model.predict(rows))


@needs_gcc
@pytest.mark.parametrize("form", ["tables", "nested"])
@pytest.mark.parametrize("name", ["even_forest", "xgboost", "lightgbm_of_many", "boosted_numbers"])
def test_c_in_16_bits_is_what_is_read_back(name, form, tmp_path):
    model, X, rows = model_of(name)
    text, is_number = export_model(model, "c", precision="int16", form=form, X=X), "num" in name
    found = by_c(text, rows, tmp_path, real=is_number)
    found = found if is_number else model.classes_[found]
    np.testing.assert_array_equal(found, in_16_bits(model, X).predict(rows))


@needs_gcc
@pytest.mark.parametrize("form", ["tables", "nested"])
def test_gaps_in_16_bits_and_nested(form, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)).round(1)
    X[rng.random(X.shape) < 0.2] = np.nan
    y = np.nansum(X, axis=1) + 2 * np.isnan(X[:, 0]) > 0.3
    model = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5).fit(X, y)
    text = export_model(model, "c", precision="int16", form=form, X=X)
    np.testing.assert_array_equal(by_c(text, X, tmp_path), model.predict(X))
    text = export_model(model, "c", form=form)
    np.testing.assert_array_equal(by_c(text, X, tmp_path), model.predict(X))


@pytest.mark.parametrize("name", ["forest", "histogram", "xgboost_of_many", "regression"])
def test_what_is_promised_of_16_bits(name):
    model, X, rows = model_of(name)
    rows = np.concatenate([rows, X])
    text = export_model(model, "c", precision="int16", X=X)
    own, other = Model.of(model).finest, Model.of(in_16_bits(model, X)).finest
    one, two = own.apply(rows), other.apply(rows)
    end = np.where(own.row_dtype == "float32", last_double(own.threshold), own.threshold)
    splits = np.flatnonzero(own.left >= 0)
    low, high = np.sort([end[splits], other.threshold[splits]], axis=0)
    at = rows[:, own.feature[splits]]
    between = ((at > low) & (at <= high)).any(axis=1)
    assert between.any()
    assert not between.all()
    # beyond the rows between thresholds, leaves are the same, and sums differ by what is said
    np.testing.assert_array_equal(one[~between], two[~between])
    said = float(re.search(r"in real numbers, by at most ([^ ]+)\.\n", text)[1])
    sums = [f.value[leaves[~between]].sum(axis=1) for f, leaves in ((own, one), (other, two))]
    assert np.abs(sums[0] - sums[1]).max() <= said + 1e-12
    widest = [float(w) for w in re.findall(r"thresholds moved, by at most ([^ ]+)\n", text)]
    assert (high - low).max() <= max(widest)
    assert f"Of {len(X)} rows that were tried, none ended in other leaves" in text


def test_classes_that_change_in_16_bits_are_counted():
    # thresholds between neighbouring floats, which no grid of equal steps keeps apart
    X = np.array([[0.0], [1.0], [1.0 + 2**-22], [1.0 + 2**-21], [2000.0]])
    model = DecisionTreeClassifier(random_state=0).fit(X, [0, 1, 0, 1, 0])
    with pytest.warns(UserWarning, match="In 16 bits, 2 of 5 rows of X get another class"):
        text = export_model(model, "c", precision="int16", X=X)
    assert "Of 5 rows that were tried, 2 got another class" in text
    with pytest.warns(UserWarning, match="2 of 5"):
        assert (in_16_bits(model, X).predict(X) != model.predict(X)).sum() == 2


def test_what_16_bits_hold_is_proven_equal():
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, y)
    assert verify(forest, in_16_bits(forest, X), X=X, max_changes=0)
    # the one threshold of a column keeps its place
    model = GradientBoostingClassifier(n_estimators=3, max_depth=1, random_state=0)
    model.fit(X[:100], y[:100])
    assert verify(model, in_16_bits(model, None))


# ------------------------------------------------------------------- where classes are ambiguous


def test_ties_that_threads_decide_are_counted():
    X, y = load_iris(return_X_y=True)
    model = RandomForestClassifier(6, max_depth=2, random_state=0, n_jobs=2).fit(X, y)
    text = export_model(model, "python")
    assert "\n# Where the sums of the two classes in front are no more than " in text
    text = export_model(model, "sql", table="t", X=X)
    assert text.split("\n")[1] == "-- Of 150 rows that were tried, none came so close."
    # the same tree twice over, with the classes swapped: a tie at every row, in real numbers
    model.estimators_ = model.estimators_[:1] * 3
    swapped = copy.deepcopy(model.estimators_[0])
    swapped.tree_.value[...] = swapped.tree_.value[:, :, ::-1]
    model.estimators_ += [swapped] * 3
    forest = Model.of(model).finest
    exact = [[Fraction(v) for v in row] for row in forest.value.tolist()]
    close = 0
    for leaves in forest.apply(X):
        totals = sorted(sum(own) for own in zip(*(exact[leaf] for leaf in leaves), strict=True))
        close += totals[-1] - totals[-2] < Fraction(1, 10**12)
    assert 0 < close < 150
    with pytest.warns(UserWarning, match=f"{close} of 150 rows of X are so close to a tie"):
        text = export_model(model, "c", X=X)
    assert f"Of 150 rows that were tried, {close} came so close" in text


def test_sums_that_cannot_round_need_no_warning():
    X, y = load_iris(return_X_y=True)
    model = RandomForestClassifier(8, random_state=0, n_jobs=2).fit(X, y)
    assert "can differ" not in export_model(model, "python")
