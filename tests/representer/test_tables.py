"""RepresenterTree on tables: text, categories, booleans and missing values."""

import pickle

import numpy as np
import pandas as pd
import pytest
from passengers import FOREST, passengers, pipeline_of
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from ensemble_simplify import RepresenterTree, export_tree, verify
from ensemble_simplify.reading import Model
from ensemble_simplify.writing import NamedTree

LANGUAGES = ("rules", "sql", "c", "python", "json")
SAMPLINGS = ("one_shot", "per_node")
SAMPLERS = ("auto", "leaves", "copula", "neighbors", "smear", "kernel")


def strange_rows(tree, table, n=600, seed=0):
    """Rows of thresholds and their neighbours, gaps in every column, and unknown levels."""
    rng = np.random.default_rng(seed)
    fitted, columns = tree.decision_tree_.tree_, {}
    for j, name in enumerate(table.columns):
        values = table[name].astype(object).where(table[name].notna(), None).tolist()
        if any(isinstance(value, str) for value in values):
            values += ["never seen", None]
        else:
            cuts = fitted.threshold[(fitted.feature == j) & np.isfinite(fitted.threshold)]
            cuts = cuts.astype(np.float32)
            ends = [np.nextafter(cuts, np.float32(end)) for end in (-np.inf, np.inf)]
            near = np.concatenate([cuts, *ends]).astype(float).tolist()
            values = [value for value in values if value is not None] + [*near * 5, np.nan, -1e9]
        columns[name] = [values[k] for k in rng.integers(len(values), size=n)]
    return pd.DataFrame(columns)


def walked(tree, table):
    """What scikit-learn's tree says of each row, node by node, in Python."""
    fitted, own = tree.decision_tree_.tree_, tree._table
    found = []
    for row in table.itertuples(index=False):
        node = 0
        while fitted.children_left[node] >= 0:
            j = fitted.feature[node]
            value, levels = row[j], own.levels[j]
            if levels is not None:
                value = dict(zip(levels.tolist(), range(len(levels)), strict=True)).get(value)
            missing = value is None or value != value
            left = bool(fitted.missing_go_to_left[node]) if missing else None
            if left is None:
                left = np.float32(value) <= fitted.threshold[node]
            node = fitted.children_left[node] if left else fitted.children_right[node]
        found.append(fitted.value[node, 0])
    found = np.array(found)
    return tree.classes_[found.argmax(axis=1)] if hasattr(tree, "classes_") else found[:, 0]


def exported(tree, table):
    names = {}
    exec(export_tree(tree, "python"), names)
    records = table.astype(object).where(table.notna(), None).to_dict("records")
    return np.array([names["predict"](record) for record in records])


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("name", ["one_hot", "ordinal_missing", "target", "filled"])
def test_the_tree_walked_by_hand_and_exported(name, sampling):
    table, y = passengers(0, n=300)
    model = pipeline_of(name).fit(table, y)
    tree = RepresenterTree(
        FrozenEstimator(model), max_leaf_nodes=16, sampling=sampling, random_state=0
    ).fit(table)
    rows = strange_rows(tree, table)
    predicted = tree.predict(rows)
    assert set(predicted) == {"died", "lived"}
    np.testing.assert_array_equal(predicted, walked(tree, rows))
    np.testing.assert_array_equal(predicted, exported(tree, rows))
    asked = model.predict(tree._table.decode(np.asarray(tree._table.encode(rows), dtype=float)))
    assert np.mean(predicted == asked) > 0.75
    given = model.predict(rows)
    assert tree.fidelity(rows) == pytest.approx(np.mean(predicted == given))


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_values_walked_by_hand_and_exported(sampling):
    table, y = passengers(1, n=300)
    value = (y == "lived") * 2.0 + table["port"].map({"S": 1.0, "C": 3.0}).fillna(0.0)
    model = pipeline_of("one_hot", RandomForestRegressor(10, random_state=0)).fit(table, value)
    tree = RepresenterTree(
        FrozenEstimator(model), max_leaf_nodes=12, sampling=sampling, random_state=0
    ).fit(table)
    rows = strange_rows(tree, table)
    np.testing.assert_array_equal(tree.predict(rows), walked(tree, rows))
    np.testing.assert_allclose(exported(tree, rows), tree.predict(rows), rtol=1e-15)
    assert tree.fidelity(table) > 0.8


def test_categories_that_the_model_takes_for_numbers():
    table, y = passengers(0, n=200)
    model = pipeline_of("one_hot").fit(table, y)
    rows = table.assign(**{"class": table["class"].astype("category")})
    tree = RepresenterTree(FrozenEstimator(model), max_leaf_nodes=8, random_state=0).fit(rows)
    assert [own is None for own in tree._table.levels] == [False, True, False, True, True]
    np.testing.assert_array_equal(tree.predict(rows), tree.predict(table))
    assert not verify(model, tree)


def test_everything_else_works_on_it():
    table, y = passengers(0, n=300)
    tree = RepresenterTree(
        pipeline_of("one_hot"), max_leaf_nodes=8, n_stability=2, random_state=0
    ).fit(table, y)
    for language in LANGUAGES:
        assert export_tree(tree, language)
    assert 'sex = "male"' in tree.export_text() or "sex in {" in tree.export_text()
    assert verify(tree, tree)
    np.testing.assert_array_equal(Model.of(tree).ask(table), tree.predict(table))
    assert NamedTree.of(tree).levels(0) == tree._table.levels[0].tolist()
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(tree)).predict(table), tree.predict(table)
    )
    assert not hasattr(clone(tree), "decision_tree_")
    assert 0.0 <= tree.stability_.root <= 1.0
    agrees = tree.predict(table) == tree.estimator_.predict(table)
    assert tree.fidelity(table) == pytest.approx(agrees.mean())
    assert tree.train_fidelity_ == pytest.approx(agrees.mean(), abs=0.05)
    assert tree.predict_proba(table).shape == (300, 2)


class Recorder(ClassifierMixin, BaseEstimator):
    """A classifier of tables that keeps what it is asked, and answers by a function."""

    def __init__(self, function=None):
        self.function = function

    def fit(self, X, y=None):
        self.classes_, self.feature_names_in_ = np.array([0, 1]), np.array(X.columns, dtype=object)
        self.n_features_in_, self.seen_ = X.shape[1], []
        return self

    def predict(self, X):
        self.seen_.append(X.copy())
        return np.asarray(self.function(X)).astype(int)


@pytest.mark.parametrize("sampler", ["copula", "smear", "kernel", "neighbors"])
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_the_predictor_sees_gaps_and_levels_as_they_were(sampler, sampling):
    table, _ = passengers(0, n=200)
    model = Recorder(lambda X: X["age"].isna() | (X["port"] == "C")).fit(table)
    tree = RepresenterTree(
        FrozenEstimator(model), sampler=sampler, sampling=sampling, max_leaf_nodes=6, random_state=0
    ).fit(table)
    seen = pd.concat([rows for rows in model.seen_ if len(rows) > 1])
    for name in ("sex", "port", "age"):
        known = set(table[name].dropna())
        # a kernel smooths numbers, with gaps or without
        assert (set(seen[name].dropna()) <= known) == ((sampler, name) != ("kernel", "age"))
        assert seen[name].isna().any() == table[name].isna().any()
    assert abs(seen["age"].isna().mean() - table["age"].isna().mean()) < 0.15
    np.testing.assert_array_equal(tree.predict(table), model.predict(table))
    sample = tree.sample(300, random_state=0)
    assert set(sample["port"].dropna()) == set(table["port"].dropna())
    assert sample["age"].isna().any()


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_splits_between_gaps_and_all_numbers(sampling):
    table, _ = passengers(0, n=200)
    model = Recorder(lambda X: X["age"].isna()).fit(table)
    tree = RepresenterTree(
        FrozenEstimator(model), sampling=sampling, max_leaf_nodes=2, random_state=0
    ).fit(table)
    assert tree.decision_tree_.tree_.threshold[0] == np.inf
    assert not tree.decision_tree_.tree_.missing_go_to_left[0]
    assert "age is missing" in tree.export_text()
    assert '"age" IS NOT NULL' in export_tree(tree, "sql")
    rows = table.assign(age=[-1e30, np.nan, 1e30, 5.0] * 50)
    np.testing.assert_array_equal(tree.predict(rows), [0, 1, 0, 0] * 50)
    np.testing.assert_array_equal(exported(tree, rows), [0, 1, 0, 0] * 50)


def test_gaps_where_none_were_go_to_the_side_of_more_rows():
    table, y = passengers(0, n=300, missing=False)
    model = make_pipeline(
        make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), ["sex", "port"]),
            (SimpleImputer(), ["age", "fare", "class"]),
        ),
        FOREST,
    ).fit(table, y)
    for sampling in SAMPLINGS:
        tree = RepresenterTree(
            FrozenEstimator(model), sampling=sampling, max_leaf_nodes=8, random_state=0
        ).fit(table)
        fitted = tree.decision_tree_.tree_
        splits = np.flatnonzero(fitted.children_left >= 0)
        rows = fitted.n_node_samples
        more = rows[fitted.children_left[splits]] > rows[fitted.children_right[splits]]
        np.testing.assert_array_equal(fitted.missing_go_to_left[splits].astype(bool), more)
        lost = table.astype(object)
        lost.loc[:, :] = None
        assert set(tree.predict(lost)) <= {"died", "lived"}
        assert "missing" not in tree.export_text().replace("missing, unknown", "")


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_numbers_with_gaps_alone(sampling):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = (X[:, 0] > 0) ^ (X[:, 1] > 1)
    X[rng.random(X.shape) < 0.15] = np.nan
    X[:, 3] = np.abs(rng.normal(size=400))
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    tree = RepresenterTree(
        FrozenEstimator(forest), sampling=sampling, max_leaf_nodes=12, random_state=0
    ).fit(X)
    assert tree.__sklearn_tags__().input_tags.allow_nan
    rows = X.copy()
    rows[::2, 3] = np.nan
    np.testing.assert_array_equal(tree.predict(rows), walked(tree, pd.DataFrame(rows)))
    assert tree.fidelity(X) > 0.85
    assert np.isnan(tree.sample(500)).any(axis=0).tolist() == [True, True, True, False]


def test_gaps_are_taken_where_the_predictor_takes_them():
    table, y = passengers(0, n=200, missing=False)
    numbers, lost = table[["age", "fare", "class"]].to_numpy(float), np.full((1, 3), np.nan)
    taking = make_pipeline(SimpleImputer(), StandardScaler(), MLPClassifier((5,), max_iter=20))
    refusing = LogisticRegression()
    for model, takes in ((taking, True), (refusing, False), (clone(FOREST), True)):
        frozen = FrozenEstimator(model.fit(numbers, y))
        tree = RepresenterTree(frozen, max_leaf_nodes=4, random_state=0).fit(numbers)
        assert tree.__sklearn_tags__().input_tags.allow_nan is takes
        if takes:
            assert tree.predict(lost)[0] in ("died", "lived")
        else:
            with pytest.raises(ValueError, match="NaN"):
                tree.predict(lost)
            with pytest.raises(ValueError, match=r"lack something in the columns \[1\]"):
                tree.fit(np.where(np.arange(3) == 1, np.nan, numbers))
    encoded = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["sex", "port"]), remainder="passthrough"
    )
    model = make_pipeline(encoded, LogisticRegression(max_iter=1000)).fit(table, y)
    tree = RepresenterTree(FrozenEstimator(model), max_leaf_nodes=4, random_state=0).fit(table)
    tree.predict(table.assign(port=None, sex="never seen"))
    with pytest.raises(ValueError, match="takes no row that lacks the column 'fare'"):
        tree.predict(table.assign(fare=np.nan))


def test_columns_in_another_order_or_lacking_are_named():
    table, y = passengers(0)
    model = pipeline_of("one_hot").fit(table, y)
    tree = RepresenterTree(FrozenEstimator(model), max_leaf_nodes=4, random_state=0).fit(table)
    for method in (tree.predict, tree.predict_proba, tree.fidelity):
        with pytest.raises(ValueError, match="X has the column 'age' where 'sex' stood in fit"):
            method(table[["age", "sex", "port", "class", "fare"]])
        with pytest.raises(ValueError, match="now missing:\n- port"):
            method(table.drop(columns="port"))
    with pytest.raises(ValueError, match="where X has the column 'fare'"):
        tree.fit(table[table.columns[::-1]])


KINDS = {
    "text": lambda r, n: r.choice(["a", "b", "c"], n).astype(object),
    "text_with_none": lambda r, n: r.choice(["a", "b", None], n),
    "string": lambda r, n: pd.array(r.choice(["a", "b"], n), dtype="string"),
    "category": lambda r, n: pd.Categorical(r.choice(["a", "b", None], n), ["c", "b", "a"]),
    "ordered": lambda r, n: pd.Categorical(
        r.choice(["low", "mid", "high"], n), categories=["low", "mid", "high"], ordered=True
    ),
    "numbers_as_category": lambda r, n: pd.Categorical(r.integers(0, 4, n)),
    "bool": lambda r, n: r.random(n) < 0.5,
    "boolean": lambda r, n: pd.array(r.choice([True, False, None], n), dtype="boolean"),
    "bool_objects": lambda r, n: r.choice([True, False, None], n),
    "Int64": lambda r, n: pd.array(r.choice([1, 2, 3, None], n), dtype="Int64"),
    "number_objects": lambda r, n: r.choice(np.array([1, 2.5, pd.NA], dtype=object), n),
    "int": lambda r, n: r.integers(0, 9, n),
    "float32": lambda r, n: r.normal(size=n).astype(np.float32),
}


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_columns(kind, sampling):
    rng = np.random.default_rng(0)
    n = 200
    table = pd.DataFrame({"x": KINDS[kind](rng, n), "size": rng.normal(size=n)})
    first = next(entry for entry in table["x"] if not pd.isna(entry))

    def function(X):
        return (X["x"] == first).fillna(False).to_numpy(bool) ^ (X["size"].to_numpy(float) > 1.0)

    if kind == "float32":

        def function(X):
            return (X["x"].to_numpy(float) > 0.0) ^ (X["size"].to_numpy(float) > 1.0)

    model = Recorder(function).fit(table)
    tree = RepresenterTree(
        FrozenEstimator(model), sampling=sampling, max_leaf_nodes=8, random_state=0
    ).fit(table)
    assert tree.fidelity(table) > 0.9
    rows = table.astype({"x": object})
    rows.loc[::4, "x"] = None
    assert tree.predict(rows).shape == (n,)
    assert list(tree.sample(5).columns) == ["x", "size"]
    for language in LANGUAGES:
        export_tree(tree, language)


def test_arrays_of_objects_and_lists():
    table, y = passengers(0)
    rows = table.to_numpy(dtype=object)
    model = make_pipeline(
        make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), [0, 2]), (SimpleImputer(), [1, 3, 4])
        ),
        FOREST,
    ).fit(rows, y)
    tree = RepresenterTree(FrozenEstimator(model), max_leaf_nodes=8, random_state=0).fit(rows)
    assert np.mean(tree.predict(rows) == model.predict(rows)) > 0.9
    assert tree.sample(3).dtype == object
    again = RepresenterTree(FrozenEstimator(model), max_leaf_nodes=8, random_state=0)
    again.fit(rows.tolist())
    np.testing.assert_array_equal(again.predict(rows.tolist()), tree.predict(rows))


def test_natural_orders_are_kept_and_others_follow_the_answers():
    rng = np.random.default_rng(0)
    n = 600
    share = {"a": 0.9, "b": 0.1, "c": 0.5, "d": 0.7}
    table = pd.DataFrame(
        {
            "kind": rng.choice(list(share), n).astype(object),
            "grade": pd.Categorical(
                rng.choice(["low", "mid", "high"], n), ["low", "mid", "high"], ordered=True
            ),
            "room": pd.Categorical(rng.choice([10, 2, 30], n)),
            "id": np.array([f"{k:04}" for k in range(n)], dtype=object),
        }
    )
    model = Recorder(lambda X: rng.random(len(X)) < X["kind"].map(share).to_numpy(float)).fit(table)
    tree = RepresenterTree(FrozenEstimator(model), max_leaf_nodes=8, random_state=0).fit(table)
    levels = tree._table.levels
    assert levels[0].tolist() == ["b", "c", "d", "a"]
    assert levels[1].tolist() == ["low", "mid", "high"]
    assert levels[2].tolist() == [2, 10, 30]
    # one answer a level would only repeat the training rows
    assert levels[3].tolist() == sorted(table["id"])


def test_a_model_with_categories_is_asked_in_its_own():
    table, y = passengers(0, n=300)
    for name in ("sex", "port"):
        table[name] = table[name].astype("category")
    model = HistGradientBoostingClassifier(max_iter=10, random_state=0).fit(table, y)
    tree = RepresenterTree(FrozenEstimator(model), max_leaf_nodes=16, random_state=0).fit(table)
    assert np.mean(tree.predict(table) == model.predict(table)) > 0.9
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMClassifier(n_estimators=10, verbose=-1, n_jobs=1, min_child_samples=5)
    model.fit(table, y)
    tree = RepresenterTree(FrozenEstimator(model), max_leaf_nodes=16, random_state=0).fit(table)
    numbers = np.asarray(tree._table.encode(table), dtype=float)
    np.testing.assert_array_equal(
        tree._predictor.decisions(numbers), model.predict(table)
    )  # whatever the order of the codes
    rows = strange_rows(tree, table.astype({"sex": object, "port": object}))
    np.testing.assert_array_equal(tree.predict(rows), walked(tree, rows))


def test_not_below_a_tree_of_filled_codes():
    gained = []
    for seed in range(4):
        table, y = passengers(seed, n=400)
        new, _ = passengers(seed + 100, n=2000)
        model = pipeline_of("one_hot", RandomForestClassifier(20, random_state=0)).fit(table, y)
        options = {"max_leaf_nodes": 8, "random_state": 0, "validation_fraction": 0.0}
        tree = RepresenterTree(FrozenEstimator(model), **options).fit(table)
        codes = {name: sorted(table[name].dropna().unique()) for name in ("sex", "port")}

        def filled(rows, codes=codes):
            own = {
                name: rows[name].map({v: k for k, v in enumerate(codes[name])}) for name in codes
            }
            return rows.assign(**own).astype(float).fillna(-1.0).to_numpy()

        def ask(X, columns=table.columns, codes=codes, model=model):
            rows = pd.DataFrame(X, columns=columns)
            rows = rows.mask(rows < 0.0)
            for name, levels in codes.items():
                rows[name] = rows[name].map(dict(enumerate(levels))).astype(object)
            return model.predict(rows)

        of_codes = RepresenterTree(ask, response="class", **options).fit(filled(table), y)
        truth = model.predict(new)
        gained.append(
            np.mean(tree.predict(new) == truth) - np.mean(of_codes.predict(filled(new)) == truth)
        )
    assert np.mean(gained) >= 0.0


def of_all_kinds(n=240, seed=0, gaps=True):
    """A frame with columns of every kind, most of them with gaps, and labels."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "text": rng.choice(["a", "b", "c", "d"], n).astype(object),
            "category": pd.Categorical(rng.choice(["u", "v", "w"], n)),
            "grade": pd.Categorical(
                rng.choice(["low", "mid", "high"], n), ["low", "mid", "high"], ordered=True
            ),
            "flag": rng.random(n) < 0.4,
            "date": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 9, n), unit="D"),
            "count": rng.integers(0, 9, n),
            "short": rng.integers(0, 200, n).astype(np.uint8),
            "x": rng.normal(size=n),
            "narrow": rng.normal(size=n).astype(np.float32),
            "string": pd.array(rng.choice(["p", "q"], n), dtype="string"),
            "boolean": pd.array(rng.choice([True, False], n), dtype="boolean"),
            "Int64": pd.array(rng.integers(-3, 3, n), dtype="Int64"),
        }
    )
    y = (table["text"] == "a") | (table["x"] > 0.5) | table["flag"] & (table["count"] > 4)
    y = np.where(y.to_numpy(bool), "yes", "no")
    if gaps:
        for name in ("text", "category", "grade", "x", "date", "string", "boolean", "Int64"):
            table.loc[rng.random(n) < 0.15, name] = None
    return table, y


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("gaps", [False, True])
def test_a_sample_comes_in_the_dtypes_of_the_table(sampler, gaps):
    table, y = of_all_kinds(gaps=gaps)
    tree = RepresenterTree(
        clone(FOREST), sampler=sampler, n_samples=300, max_leaf_nodes=6, random_state=0
    ).fit(table, y)
    sample = tree.sample(400, random_state=0)
    given, drawn = table.dtypes.to_dict(), sample.dtypes.to_dict()
    if sampler == "kernel":  # whose numbers are smooth
        for name in ("count", "short", "Int64"):
            assert given.pop(name) != drawn.pop(name)
    assert drawn == given
    for name in table.columns.difference(["x", "narrow", "count", "short", "Int64"]):
        assert set(sample[name].dropna()) == set(table[name].dropna())
        assert sample[name].isna().any() == table[name].isna().any()
    assert tree.predict(sample).shape == (400,)
    assert tree.fidelity(table) > 0.7


@pytest.mark.parametrize("target", ["class", "probabilities", "value"])
def test_a_function_of_frames_gets_integers_and_booleans(target):
    table, _ = of_all_kinds()
    names = np.array(list("abcdefghi"))

    def function(X):
        assert X["flag"].dtype == bool
        late = (X["date"] > "2020-01-04").to_numpy(bool)
        hit = (~X["flag"]).to_numpy() & (names[X["count"]] > "d") | late
        hit |= X["grade"].isin(["high"]).to_numpy()
        if target == "probabilities":
            return np.column_stack([1.0 - 0.8 * hit, 0.8 * hit])
        return hit * 2.5 if target == "value" else np.where(hit, "yes", "no")

    tree = RepresenterTree(function, response=target, max_leaf_nodes=12, random_state=0).fit(table)
    assert tree.fidelity(table) > 0.95
    unknown = table.assign(text="never seen", grade="never seen")
    np.testing.assert_array_equal(tree.predict(unknown), walked(tree, unknown))


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_rates_of_levels_and_gaps_are_those_of_the_rows(sampler):
    """And columns lack values together as often as the law says, within binomial error."""
    rng = np.random.default_rng(1)
    n, drawn = 500, 5_000
    table, y = passengers(2, n=n)
    lost = rng.random(n) < 0.25
    table.loc[lost, "age"] = np.nan
    table.loc[lost & (rng.random(n) < 0.8), "fare"] = np.nan
    options = {} if sampler in ("auto", "leaves", "kernel") else {"smearing": 0.3}
    tree = RepresenterTree(
        clone(FOREST),
        sampler=sampler,
        max_leaf_nodes=4,
        validation_fraction=0.0,
        random_state=0,
        **options,
    ).fit(table, y)
    sample = tree.sample(drawn, random_state=3)

    def is_near(found, rate):
        return abs(found - rate) < 4.0 * np.sqrt(max(rate * (1.0 - rate), 1.0 / drawn) / drawn)

    for name in table:
        assert is_near(sample[name].isna().mean(), table[name].isna().mean())
    for name in ("sex", "port"):
        for level in table[name].dropna().unique():
            assert is_near((sample[name] == level).mean(), (table[name] == level).mean())
    both = (table["age"].isna() & table["fare"].isna()).mean()
    apart = table["age"].isna().mean() * table["fare"].isna().mean()
    stays = {"smear": 0.7**2, "neighbors": 1.0, "kernel": 0.0}.get(sampler)
    found = (sample["age"].isna() & sample["fare"].isna()).mean()
    if stays is None:
        assert apart < found < both
    else:
        assert is_near(found, stays * both + (1.0 - stays) * apart)


def test_levels_without_an_order_are_not_next_to_each_other():
    table, y = of_all_kinds(n=300)
    tree = RepresenterTree(
        clone(FOREST),
        sampler="neighbors",
        n_neighbors=2,
        smearing=0.0,
        max_leaf_nodes=4,
        validation_fraction=0.0,
        random_state=0,
    ).fit(table, y)
    law = tree._law_arguments["columns"]
    nominal = {"text", "category", "string"}
    assert set(table.columns[law.nominal]) == nominal
    # not smeared, a row keeps its levels, and its gaps, together
    seen = {tuple(row) for row in table[[*nominal]].astype(str).to_numpy().tolist()}
    sample = tree.sample(500, random_state=0)
    assert {tuple(row) for row in sample[[*nominal]].astype(str).to_numpy().tolist()} <= seen


def test_dates_keep_their_order():
    table, _ = of_all_kinds(n=400)
    model = Recorder(lambda X: X["date"].dt.day.isin([2, 5, 6]).to_numpy()).fit(table)
    tree = RepresenterTree(FrozenEstimator(model), max_leaf_nodes=8, random_state=0).fit(table)
    levels = tree._table.levels[table.columns.get_loc("date")].tolist()
    assert levels == sorted(table["date"].dropna().unique())
    assert tree.fidelity(table) == 1.0


def test_ordered_categories_of_xgboost_keep_their_order():
    xgboost = pytest.importorskip("xgboost")
    table, _ = of_all_kinds(n=300)
    table = table[["category", "grade", "x", "flag"]]
    y = table["grade"].isin(["mid"]).to_numpy(int)
    model = xgboost.XGBClassifier(n_estimators=5, enable_categorical=True, n_jobs=1)
    tree = RepresenterTree(model, max_leaf_nodes=4, random_state=0).fit(table, y)
    assert tree._table.levels[1].tolist() == ["low", "mid", "high"]
    assert tree.sample(50).dtypes.to_dict() == table.dtypes.to_dict()


def test_frames_of_polars():
    polars = pytest.importorskip("polars")
    rng = np.random.default_rng(0)
    n = 200
    table = polars.DataFrame(
        {
            "text": rng.choice(["a", "b", None], n).tolist(),
            "grade": polars.Series(rng.choice(["low", "mid", "high"], n).tolist()).cast(
                polars.Enum(["low", "mid", "high"])
            ),
            "kind": polars.Series(rng.choice(["u", "v"], n).tolist()).cast(polars.Categorical),
            "flag": (rng.random(n) < 0.5).tolist(),
            "count": [None if k == 7 else k for k in rng.integers(0, 9, n).tolist()],
            "x": rng.normal(size=n),
        }
    )

    def function(X):
        assert isinstance(X, polars.DataFrame)
        assert X.schema == table.schema
        late = (X["grade"] == "mid") | (X["text"] == "a").fill_null(False)
        return (late ^ X["flag"]).to_numpy()

    tree = RepresenterTree(function, response="class", max_leaf_nodes=16, random_state=0).fit(table)
    assert tree.fidelity(table) > 0.95
    assert tree._table.levels[1].tolist() == ["low", "mid", "high"]
    assert tree.sample(30, random_state=0).schema == table.schema
    assert tree.predict(table.with_columns(text=polars.lit("never"))).shape == (n,)
    forest = RepresenterTree(clone(FOREST), max_leaf_nodes=6, random_state=0)
    forest.fit(table, function(table))
    assert forest.sample(30, random_state=0).schema == table.schema
