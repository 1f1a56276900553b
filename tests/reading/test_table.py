"""Tables of text, categories and missing values, through pipelines, in the user's own columns."""

import itertools

import numpy as np
import pandas as pd
import pytest
from passengers import FOREST, PREPARED, TEXT, passengers, pipeline_of
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
    OneHotEncoder,
)
from sklearn.tree import DecisionTreeClassifier

from ensemble_simplify import (
    BornAgainClassifier,
    Domain,
    FaithfulPruner,
    agreement,
    estimate,
    nearest_flip,
    sufficient_box,
    verify,
)
from ensemble_simplify.grid.thresholds import FLOAT32_MAX
from ensemble_simplify.reading import UNKNOWN, Table, is_plain
from ensemble_simplify.reading.family import Family
from ensemble_simplify.reading.forest import read_forest
from ensemble_simplify.reading.model import Model


def rows_of(forest, n=4000, seed=0, missing=("age", "port")):
    """Rows of levels, also unknown ones, of cut points and their neighbours, and missing values."""
    rng = np.random.RandomState(seed)
    table = forest.table
    columns = []
    for j, name in enumerate(table.names):
        if table.levels[j] is not None:
            values = np.arange(table.highest[j] + 1)
        else:
            cuts = forest.threshold[(forest.feature == j) & (np.abs(forest.threshold) < 1e30)]
            cuts = np.unique(cuts).astype(np.float32)
            around = [np.nextafter(cuts, np.float32(s)) for s in (-np.inf, np.inf)]
            values = np.concatenate([cuts, *around, [-7.0, 0.0, 1e4]]).astype(float)
        if name in missing:
            values = np.append(values, np.nan)
        columns.append(rng.choice(values, n))
    return np.column_stack(columns)


@pytest.mark.parametrize("name", PREPARED)
@pytest.mark.parametrize("seed", range(2))
def test_pipelines_of_tables_are_read(name, seed):
    table, y = passengers(seed, n=300)
    model = pipeline_of(name).fit(table, y)
    forest = read_forest(model)
    assert forest.table.names.tolist() == list(table.columns)
    rows = rows_of(forest, seed=seed)
    np.testing.assert_array_equal(
        forest.classes[forest.predict_index(rows)], model.predict(forest.table.decode(rows))
    )
    again = np.asarray(forest.table.encode(forest.table.decode(rows)), dtype=float)
    np.testing.assert_array_equal(again, rows)


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(random_state=0),
        ExtraTreesClassifier(5, random_state=0),
        GradientBoostingClassifier(n_estimators=10, random_state=0),
    ],
    ids=lambda m: type(m).__name__,
)
def test_last_steps(model):
    table, y = passengers(3, n=200)
    fitted = pipeline_of("one_hot", model).fit(table, y)
    forest = read_forest(fitted)
    rows = rows_of(forest)
    np.testing.assert_array_equal(
        forest.classes[forest.predict_index(rows)], fitted.predict(forest.table.decode(rows))
    )


@pytest.mark.parametrize("name", ["one_hot", "ordinal", "target"])
def test_born_again_in_the_users_columns(name):
    table, y = passengers(1)
    model = pipeline_of(name, RandomForestClassifier(3, max_depth=2, random_state=0))
    model.fit(table, y)
    tree = BornAgainClassifier(FrozenEstimator(model), random_state=0).fit(table, y)
    forest = read_forest(model)
    rows = rows_of(forest)
    decoded = forest.table.decode(rows)
    np.testing.assert_array_equal(tree.predict(decoded), model.predict(decoded))
    np.testing.assert_array_equal(
        tree.decision_tree_.predict(rows.astype(np.float32)), model.predict(decoded)
    )
    assert tree.verify()
    assert tree.covers(decoded).all()
    assert tree.decision_tree_.feature_names_in_.tolist() == list(table.columns)
    assert tree.predict_proba(table).shape == (len(table), 2)


@pytest.mark.parametrize("kind", [BornAgainClassifier, FaithfulPruner])
def test_near_the_rows(kind):
    table, y = passengers(2, n=40)
    model = pipeline_of("filled", RandomForestClassifier(5, random_state=0)).fit(table, y)
    simple = kind(FrozenEstimator(model), max_changes=1, random_state=0)
    simple.fit(table, y)
    forest = read_forest(model)
    rows = rows_of(forest, 1000)
    codes = np.asarray(forest.table.encode(table), dtype=float)
    # one column of a row changed
    rng = np.random.RandomState(0)
    near = codes[rng.randint(len(codes), size=len(rows))]
    j = rng.randint(codes.shape[1], size=len(rows))
    near[np.arange(len(rows)), j] = rows[np.arange(len(rows)), j]
    near = forest.table.decode(near)
    assert simple.covers(near).all()
    np.testing.assert_array_equal(simple.predict(near), model.predict(near))
    assert simple.verify()
    assert verify(model, simple, X=table, max_changes=1)


def test_unfitted_pipelines_are_fitted_on_the_table():
    table, y = passengers(1)
    tree = BornAgainClassifier(pipeline_of("ordinal"), max_changes=0).fit(table, y)
    np.testing.assert_array_equal(tree.predict(table), tree.estimator_.predict(table))
    whole = table[["class", "fare"]]
    model = make_pipeline(
        make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["class"])),
        clone(FOREST),
    )
    tree = BornAgainClassifier(model).fit(whole, y)
    np.testing.assert_array_equal(tree.predict(whole), tree.estimator_.predict(whole))


def test_none_and_nan_are_two_levels_to_an_encoder():
    table, y = passengers(0)
    text = table[["port", "sex"]].astype(object)
    text = text.where(text.notna(), None)
    text.loc[::9, "port"] = np.nan
    for part in (text, text[text["port"].notna() | text["port"].isnull() & (text.index % 9 > 0)]):
        mine = y[part.index]
        model = make_pipeline(
            make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["port", "sex"])),
            RandomForestClassifier(5, random_state=0),
        ).fit(part, mine)
        if part is text:
            with pytest.raises(TypeError, match="None and NaN as two levels"):
                read_forest(model)
            continue
        tree = BornAgainClassifier(FrozenEstimator(model)).fit(part, mine)
        np.testing.assert_array_equal(tree.predict(text), model.predict(text))


def test_differences_are_shown_as_rows_of_the_table():
    table, y = passengers(0)
    models = [
        pipeline_of("one_hot", RandomForestClassifier(3, max_depth=k, random_state=0))
        for k in (1, 3)
    ]
    for model in models:
        model.fit(table, y)
    outcome = verify(*models)
    row = outcome.counterexample
    assert list(row.columns) == list(table.columns)
    assert models[0].predict(row)[0] == outcome.predictions[0]
    assert models[1].predict(row)[0] == outcome.predictions[1]
    assert "sex='" in repr(outcome)
    other = pipeline_of("one_hot_rare").fit(table, y)
    # one has levels where the other has numbers
    found = verify(models[0], other)
    row = found.counterexample
    assert models[0].predict(row)[0] == found.predictions[0] != other.predict(row)[0]


def test_agreement_of_tables():
    table, y = passengers(0)
    models = [
        pipeline_of("one_hot", RandomForestClassifier(3, max_depth=k, random_state=0)).fit(table, y)
        for k in (1, 3)
    ]
    new, _ = passengers(7)
    found = agreement(*models, new, random_state=0)
    assert found.n_different == (models[0].predict(new) != models[1].predict(new)).sum()
    shown = found.to_frame()
    assert set(shown["sex"]) <= {"male", "female", UNKNOWN}
    for name, model in zip(("model_a", "model_b"), models, strict=True):
        np.testing.assert_array_equal(model.predict(shown[list(table.columns)]), shown[name])


def test_arrays_of_objects():
    table, y = passengers(4)
    X = table[["sex", "age"]].to_numpy(dtype=object)
    encoder = ColumnTransformer(
        [("text", OneHotEncoder(handle_unknown="ignore"), [0]), ("rest", SimpleImputer(), [1])]
    )
    model = make_pipeline(encoder, FOREST).fit(X, y)
    tree = BornAgainClassifier(FrozenEstimator(model)).fit(X, y)
    np.testing.assert_array_equal(tree.predict(X), model.predict(X))
    assert tree.verify()


def test_levels_that_are_refused():
    table, y = passengers(0, missing=False)
    encoder = make_column_transformer((OneHotEncoder(), TEXT), remainder="passthrough")
    model = make_pipeline(encoder, FOREST).fit(table, y)
    tree = BornAgainClassifier(FrozenEstimator(model)).fit(table, y)
    assert read_forest(model).table.unknown[0] == "refused"
    strange = table.head(3).copy()
    strange.loc[1, "port"] = "X"
    with pytest.raises(ValueError, match=r"X\[1\] has 'X' in the column 'port'"):
        tree.predict(strange)
    with pytest.raises(ValueError, match="now missing:\n- age"):
        tree.predict(table.drop(columns="age"))
    with pytest.raises(ValueError, match="'age' of X holds"):
        tree.predict(table.assign(age="old"))


def test_columns_filled_from_others():
    table, y = passengers(0)
    table = table[["age", "fare", "sex"]]
    encoder = make_column_transformer((OneHotEncoder(), ["sex"]), (KNNImputer(), ["age", "fare"]))
    model = make_pipeline(encoder, FOREST).fit(table, y)
    with pytest.raises(ValueError, match="fills them in from other features"):
        BornAgainClassifier(FrozenEstimator(model)).fit(table, y)
    whole = table["age"].notna()
    tree = BornAgainClassifier(FrozenEstimator(model)).fit(table[whole], y[whole])
    np.testing.assert_array_equal(tree.predict(table[whole]), model.predict(table[whole]))


def test_text_that_is_encoded_after_another_step_is_refused():
    table, y = passengers(0)
    scaled = make_pipeline(MinMaxScaler(), OneHotEncoder(handle_unknown="ignore"), clone(FOREST))
    numbers = table[["class", "fare"]]
    with pytest.raises(TypeError, match="encodes what another step made"):
        BornAgainClassifier(scaled).fit(numbers, y)


def test_columns():
    levels = (np.array(["a", "b"], dtype=object), None, np.array([2, 5]))
    columns = Table.of_levels(np.array(["x", "y", "z"]), levels, ("code", "refused", "missing"))
    table = pd.DataFrame({"x": ["b", "q", None], "y": [1, pd.NA, 3], "z": [5, 4, 2]})
    codes = np.asarray(columns.encode(table), dtype=float)
    np.testing.assert_array_equal(codes, [[1, 1, 1], [2, np.nan, np.nan], [np.nan, 3, 0]])
    back = columns.decode(codes)
    assert back["x"].tolist()[:2] == ["b", UNKNOWN]
    assert np.isnan(back["x"][2])
    np.testing.assert_array_equal(back["z"].to_numpy(), [5, np.nan, 2])
    np.testing.assert_array_equal(columns.highest, [2, np.inf, 1])
    pl = pytest.importorskip("polars")
    same = columns.encode(pl.DataFrame({"x": ["b"], "y": [1.5], "z": [5]}))
    assert isinstance(same, pl.DataFrame)
    assert same.row(0) == (1.0, 1.5, 1.0)
    assert is_plain(table[["z"]])
    assert not is_plain(table)
    assert not is_plain(pl.DataFrame({"x": ["b"]}))
    assert is_plain(np.zeros(3))
    assert not is_plain(np.array([["a"]], dtype=object))


def test_every_row_of_a_small_table():
    """All combinations of levels, missing values and thresholds."""
    table, y = passengers(5)
    table = table[["sex", "age", "port"]]
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), TEXT), (SimpleImputer(), ["age"])
    )
    model = make_pipeline(encoder, RandomForestClassifier(4, max_depth=3, random_state=1))
    model.fit(table, y)
    tree = BornAgainClassifier(FrozenEstimator(model), objective="leaves").fit(table, y)
    forest = read_forest(model)
    cuts = np.unique(forest.threshold[(forest.feature == 1) & (forest.threshold < FLOAT32_MAX)])
    ages = np.concatenate([cuts, np.nextafter(cuts.astype(np.float32), np.inf), [np.nan]])
    rows = pd.DataFrame(
        list(itertools.product(["male", "female", "else"], ages, ["S", "C", "Q", "B", "X", None])),
        columns=table.columns,
    )
    np.testing.assert_array_equal(tree.predict(rows), model.predict(rows))


def boosted(kind):
    if kind == "hist":
        return HistGradientBoostingClassifier(max_iter=8, max_leaf_nodes=6, min_samples_leaf=5)
    if kind == "lightgbm":
        lightgbm = pytest.importorskip("lightgbm")
        return lightgbm.LGBMClassifier(
            n_estimators=8, num_leaves=6, min_child_samples=5, cat_smooth=1, verbose=-1
        )
    xgboost = pytest.importorskip("xgboost")
    return xgboost.XGBClassifier(n_estimators=8, max_depth=3, enable_categorical=True)


@pytest.mark.parametrize("kind", ["hist", "lightgbm", "xgboost"])
def test_boosting_on_a_frame_of_categories(kind):
    table, y = passengers(2, n=200)
    for name in ("sex", "port"):
        table[name] = table[name].astype("category")
    y = (y == "lived").astype(int)
    model = boosted(kind).fit(table, y)
    forest = read_forest(model)
    rows = rows_of(forest, 2000)
    unknown = np.array([u == "code" for u in forest.table.unknown])
    assert not unknown.any()
    decoded = forest.table.decode(rows)
    np.testing.assert_array_equal(
        forest.classes[forest.predict_index(rows)], model.predict(decoded)
    )
    tree = BornAgainClassifier(FrozenEstimator(model), max_changes=1, random_state=0)
    tree.fit(table, y)
    np.testing.assert_array_equal(tree.predict(table), model.predict(table))
    assert tree.verify()
    assert verify(model, tree, X=table, max_changes=1)


def test_forecast_of_tables():
    table, y = passengers(0)
    model = pipeline_of("one_hot", RandomForestClassifier(3, max_depth=2, random_state=0))
    model.fit(table, y)
    seen = estimate(model, table)
    tree = BornAgainClassifier(FrozenEstimator(model)).fit(table, y)
    assert seen.n_leaves_lower_bound <= tree.n_leaves_
    assert 1 < seen.n_occupied <= len(table)


def test_a_model_is_read_once(monkeypatch):
    table, y = passengers(2)
    for name in TEXT:
        table[name] = table[name].astype("category")
    model = boosted("hist").fit(table, y)
    readings = []

    def noted(family, *args, **kwargs):
        readings.append(family.estimator)
        return known(family, *args, **kwargs)

    known = Family.read
    monkeypatch.setattr(Family, "read", noted)
    estimate(model, table, time_limit=0.1)
    assert readings == [model]
    verify(model, model, X=table, max_changes=0)
    assert readings == [model] * 3
    BornAgainClassifier(FrozenEstimator(model), max_changes=0, random_state=0).fit(table, y)
    assert readings == [model] * 4
    agreement(model, model, table, time_limit=0.1, random_state=0)
    assert readings == [model] * 6


def test_rows_keep_their_dtypes():
    X = pd.DataFrame(
        {
            "kind": pd.Categorical(["b", "a", "b", None], categories=["b", "a"]),
            "size": np.array([1.5, np.nan, 3.0, 0.1], dtype=np.float32),
            "n": [3, 1, 2, 7],
        }
    )
    table = Table.of_rows(X)
    numbers = np.asarray(table.encode(X), dtype=float)
    np.testing.assert_array_equal(numbers[:, 0], [0, 1, 0, np.nan])
    back = table.decode(numbers)
    assert back.dtypes.tolist()[:2] == X.dtypes.tolist()[:2]
    pd.testing.assert_frame_equal(back, X, check_dtype=False)
    single = X[["size", "size"]].to_numpy()
    assert Table.of_rows(single).decode(numbers[:, 1:]).dtype == np.float32
    named = Table.of_numbers(2, ["x", "y"]).like(X[["size", "n"]])
    assert named.decode(numbers[:, 1:]).dtypes.tolist() == [np.float32, np.float64]


def test_frames_of_polars_stay_such():
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"kind": ["b", "a", None], "size": np.ones(3, dtype=np.float32)})
    table = Table.of_rows(frame)
    assert table.decode(np.asarray(table.encode(frame))).equals(frame)


def test_objects_that_are_all_numbers():
    X = pd.DataFrame({"a": np.array([1, pd.NA, 3], dtype=object), "b": [1.0, 2.0, 3.0]})
    table = Table.of_rows(X)
    assert not table.is_plain
    assert table.levels == (None, None)
    np.testing.assert_array_equal(table.encode(X)["a"], [1, np.nan, 3])
    assert table.gaps.seen.tolist() == [True, False]


def test_gaps_are_filled_below_and_found_again():
    rows = np.array([[1.0, 5.0], [np.nan, -2e6], [3.0, 7.0]])
    gaps = Table.of_rows(rows).gaps
    filled = gaps.fill(rows)
    assert filled[1, 0] < 1.0
    np.testing.assert_array_equal(gaps.restore(filled), rows)
    # a column that had no gaps may have one later; below its numbers is no gap for the model
    later = gaps.fill(np.array([[np.nan, np.nan]]))
    assert np.isfinite(later).all()
    assert (later < [1.0, -2e6]).all()
    assert np.isnan(gaps.restore(later)).tolist() == [[True, False]]
    huge = Table.of_rows(np.array([[FLOAT32_MAX], [-FLOAT32_MAX]])).gaps
    assert np.isfinite(huge.stand_in).all()


def test_pipelines_that_name_columns_of_numbers():
    table, y = passengers(0, missing=False)
    X = table[["fare", "age", "class"]]
    models = [
        make_pipeline(
            make_column_transformer(
                (MinMaxScaler(), ["age", "fare"]),
                remainder="passthrough",
                verbose_feature_names_out=False,
            ),
            RandomForestClassifier(3, max_depth=depth, random_state=0),
        ).fit(X, y)
        for depth in (1, 3)
    ]
    outcome = verify(*models)
    assert not outcome
    row = pd.DataFrame(outcome.counterexample[None], columns=X.columns)
    assert outcome.predictions == tuple(model.predict(row)[0] for model in models)
    found = agreement(*models, X, random_state=0)
    assert found.n_different == (models[0].predict(X) != models[1].predict(X)).sum()
    assert verify(models[0], models[0], X=X, max_changes=1)
    tree = BornAgainClassifier(FrozenEstimator(models[0])).fit(X, y)
    np.testing.assert_array_equal(tree.predict(X), models[0].predict(X))


@pytest.mark.parametrize("in_pipeline", [False, True])
def test_trees_are_added_up_in_order_whatever_n_jobs(in_pipeline):
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(20_000, 3)).astype(np.float32), rng.randint(3, size=20_000)
    forest = RandomForestClassifier(12, max_depth=6, n_jobs=2, random_state=0)
    model = make_pipeline(MinMaxScaler(), forest) if in_pipeline else forest
    model.fit(X, y)
    asked = Model(model)
    found = asked.ask(X, "predict_proba")
    assert forest.n_jobs == 2
    forest.n_jobs = None
    np.testing.assert_array_equal(found, model.predict_proba(X))
    np.testing.assert_array_equal(asked.ask(pd.DataFrame(X))[:9], model.predict(X[:9]))


# ------------------------------------------------------------------- levels and gaps of new rows


def categories(seed=0, n=200):
    """A frame of two columns of levels and one of numbers, no gaps, and classes."""
    table, y = passengers(seed, n=n)
    table = table[["sex", "port", "age"]].copy()
    for name in ("sex", "port"):
        known = table[name].dropna()
        table[name] = table[name].fillna(known.iloc[0]).astype("category")
    table["age"] = table["age"].fillna(30.0).astype(np.float32).astype(float)
    return table, (y == "lived").astype(int)


def with_new_levels(table):
    """The rows with levels that were not there in one of the columns, and in both."""
    found = []
    for names in (["sex"], ["port"], ["sex", "port"]):
        new = table.copy()
        for name in names:
            new[name] = pd.Categorical(["elsewhere"] * len(table))
        found.append(new)
    return found


@pytest.mark.parametrize("max_changes", [None, 1, 2])
@pytest.mark.parametrize("kind", ["hist", "lightgbm"])
def test_new_levels_are_promised(kind, max_changes):
    """Where a level that was not there is a missing value, the promise covers it by default."""
    table, y = categories()
    model = boosted(kind).fit(table, y)
    options = dict(max_changes=max_changes, random_state=0)
    if max_changes == 2:
        options["method"] = "heuristic"
    simple = [BornAgainClassifier(FrozenEstimator(model), **options)] if max_changes != 2 else []
    if kind == "hist":
        simple.append(FaithfulPruner(FrozenEstimator(model), **options, time_limit=60))
    for estimator in simple:
        estimator.fit(table, y)
        for n_changed, new in zip([1, 1, 2], with_new_levels(table), strict=True):
            covered = estimator.covers(new)
            assert covered.all() or n_changed > (max_changes or 2)
            truth = model.predict(new)
            np.testing.assert_array_equal(estimator.predict(new)[covered], truth[covered])
        assert estimator.verify()


def test_new_levels_are_compared():
    """Models that only a new level tells apart are not equal, and the row says so."""
    table, y = categories()
    model = HistGradientBoostingClassifier(max_iter=1, max_leaf_nodes=2, min_samples_leaf=5)
    model.fit(table, y)
    other = clone(model).fit(table, y)
    nodes = other._predictors[0][0].nodes
    assert nodes["is_categorical"][0]
    nodes["missing_go_to_left"][0] = 1 - nodes["missing_go_to_left"][0]
    np.testing.assert_array_equal(model.predict(table), other.predict(table))
    for given in ({}, dict(X=table, max_changes=1)):
        outcome = verify(model, other, **given)
        assert outcome.equal is False
        row = outcome.counterexample
        assert model.predict(row)[0] != other.predict(row)[0]
        assert verify(model, other, domain={"missing": []}, **given)
    outcome = verify(model, other, X=table, max_changes=0)
    assert outcome


def test_audit_of_new_levels():
    """A box that is said to suffice does so for new levels; these can flip a row."""
    table, y = categories()
    model = boosted("hist").fit(table, y)
    for i in range(6):
        box = sufficient_box(model, table.iloc[[i]])
        own = model.predict(table.iloc[[i]])[0]
        for new in [table, *with_new_levels(table)]:
            inside = box.contains(new)
            assert (model.predict(new)[inside] == own).all()
        flips = [
            (model.predict(new.iloc[[i]])[0] != own)
            for new, changed in zip(with_new_levels(table), [1, 1, 2], strict=True)
            if changed == 1
        ]
        if any(flips):
            assert nearest_flip(model, table.iloc[[i]]).distance <= 1


def test_levels_that_xgboost_refuses():
    table, y = categories()
    model = boosted("xgboost").fit(table, y)
    tree = BornAgainClassifier(FrozenEstimator(model), random_state=0).fit(table, y)
    assert tree.verify()
    for new in with_new_levels(table):
        with pytest.raises(ValueError, match="a level that the ensemble has never seen"):
            tree.predict(new)


@pytest.mark.parametrize("order", [1, -1])
def test_new_levels_of_two_kinds_of_models(order):
    """A code of its own to the one, a missing value to the other: both are asked about it."""
    table, y = categories()
    boosting = HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=3).fit(table, y)
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", categories=boosting_levels(boosting)), [0, 1]),
        remainder="passthrough",
    )
    forest = make_pipeline(encoder, RandomForestClassifier(2, max_depth=2, random_state=0))
    models = [boosting, forest.fit(table, y)][::order]
    common = Table.common([Model.of(model).table for model in models])
    assert common.unknown[:2] == ("code", "code")
    outcome = verify(*models)
    row = outcome.counterexample
    assert models[0].predict(row)[0] != models[1].predict(row)[0]
    strict = clone(forest).set_params(columntransformer__onehotencoder__handle_unknown="error")
    models = [boosting, strict.fit(table, y)][::order]
    common = Table.common([Model.of(model).table for model in models])
    assert common.unknown[:2] == ("refused", "refused")
    assert not common.may_miss().any()
    row = verify(*models).counterexample
    assert models[0].predict(row)[0] != models[1].predict(row)[0]


def boosting_levels(model):
    return [levels for levels in Model.of(model).table.levels if levels is not None]


@pytest.mark.parametrize("max_changes", [None, 1, 0])
@pytest.mark.parametrize("named", [True, False])
def test_gaps_in_new_rows_alone(max_changes, named):
    """They are refused with the column and the remedy; with the remedy, they are answered."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3)).astype(np.float32).astype(float)
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    X[::9, 2] = np.nan
    rows = pd.DataFrame(X, columns=["a", "b", "c"]) if named else X
    model = RandomForestClassifier(4, max_depth=2, random_state=0).fit(rows, y)
    options = dict(max_changes=max_changes, random_state=0)
    tree = BornAgainClassifier(FrozenEstimator(model), **options).fit(rows, y)
    new = rows.copy()
    if named:
        new.loc[:, "b"] = np.nan
    else:
        new[:, 1] = np.nan
    assert not tree.covers(new).any()
    key, both = ("'b'", "['c', 'b']") if named else ("1", "[2, 1]")
    with pytest.raises(ValueError, match="may not be missing") as refused:
        tree.predict(new)
    text = str(refused.value)
    assert text.startswith("X[0, 1] is missing, but the column " + key)
    assert text.endswith(f"fit again with domain=Domain(missing={both}).")
    domain = Domain(missing=["c", "b"] if named else [2, 1])
    tree = BornAgainClassifier(FrozenEstimator(model), **options, domain=domain).fit(rows, y)
    covered = tree.covers(new)
    assert covered.all() if max_changes != 0 else True
    np.testing.assert_array_equal(tree.predict(new)[covered], model.predict(new)[covered])
    tree.predict(new)


def test_new_levels_that_the_domain_leaves_out():
    table, y = categories()
    model = boosted("hist").fit(table, y)
    tree = BornAgainClassifier(FrozenEstimator(model), domain=Domain(missing=[])).fit(table, y)
    np.testing.assert_array_equal(tree.predict(table), model.predict(table))
    with pytest.raises(ValueError, match="or of a level that was not there in fit"):
        tree.predict(with_new_levels(table)[0])
