"""Models of several outputs, odd rows, rankers, and names of columns as the user has them.

The truth is what the library itself answers in every cell of the grid of a small model.
"""

import copy
import sqlite3

import numpy as np
import pandas as pd
import pytest
from readers import Reading, cells, edges
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    AdaBoostRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingRegressor,
    VotingRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, QuantileTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from written_code import by_duckdb, by_sqlite

from ensemble_simplify import (
    AnomalyScore,
    BornAgainRegressor,
    Domain,
    OneOutput,
    check,
    export_model,
    import_model,
    is_monotone,
    nearest_flip,
    simplify,
    verify,
)

_RNG = np.random.default_rng(0)
X = _RNG.uniform(0, 3, size=(80, 3)).round(1)
Y = np.column_stack([X[:, 0] + 0.1 * _RNG.normal(size=80), X[:, 1] * X[:, 2]])
LABELS = np.column_stack([np.array(["a", "b"])[(Y[:, 0] > 1.5) * 1], Y[:, 1].astype(int) % 3])


def _xgboost(**options):
    xgboost = pytest.importorskip("xgboost")
    return xgboost.XGBRegressor(n_estimators=2, max_depth=2, n_jobs=1, **options)


def _catboost():
    return pytest.importorskip("catboost").CatBoostRegressor(
        loss_function="MultiRMSE", iterations=2, depth=2, verbose=0, allow_writing_files=False
    )


SEVERAL = {
    "forest": lambda: RandomForestRegressor(2, max_depth=2, random_state=0).fit(X, Y),
    "forest of classes": lambda: RandomForestClassifier(2, max_depth=2).fit(X, LABELS),
    "tree": lambda: DecisionTreeClassifier(max_depth=2).fit(X, LABELS),
    "a model each": lambda: MultiOutputRegressor(
        GradientBoostingRegressor(n_estimators=2, max_depth=1)
    ).fit(X, Y),
    "a classifier each": lambda: MultiOutputClassifier(DecisionTreeClassifier(max_depth=2)).fit(
        X, LABELS
    ),
    "xgboost": lambda: _xgboost().fit(X, Y),
    "vectors in leaves": lambda: _xgboost(multi_strategy="multi_output_tree").fit(X, Y),
    "quantiles": lambda: _xgboost(
        objective="reg:quantileerror", quantile_alpha=np.array([0.2, 0.8])
    ).fit(X, Y[:, 0]),
    "catboost": lambda: _catboost().fit(X, Y),
}


@pytest.mark.parametrize("kind", SEVERAL)
def test_each_output_is_a_model(kind):
    model = SEVERAL[kind]()
    first, second = OneOutput(model, 0), OneOutput(model, 1)
    for k, one in enumerate((first, second)):
        for rows in (cells(one), edges(one)):
            own = np.asarray(model.predict(rows))[:, k]
            np.testing.assert_array_equal(Reading(one).answers(rows), own)
        again = verify(one, OneOutput(copy.deepcopy(model), k))
        assert again.equal is True
    rows = cells(first, second)
    answers = np.asarray(model.predict(rows))
    if hasattr(first, "classes_"):
        return
    furthest = np.abs(answers[:, 0].astype(float) - answers[:, 1]).max()
    assert verify(first, second, atol=furthest * 1.001).equal is True
    assert verify(first, second, atol=furthest * 0.999).equal is False
    for output in (2, -1):
        with pytest.raises(ValueError, match="none of the outputs"):
            verify(OneOutput(model, output), first, atol=1.0)
    with pytest.raises((TypeError, ValueError), match=r"OneOutput\(model, 0\)"):
        verify(model, model, atol=1.0)


@pytest.mark.parametrize("contamination", ["auto", 0.2])
def test_odd_rows_are_a_class(contamination):
    model = IsolationForest(
        n_estimators=3, max_samples=8, contamination=contamination, random_state=0, max_features=2
    ).fit(X)
    rows = cells(model)
    own = model.predict(rows)
    np.testing.assert_array_equal(Reading(model).answers(rows), own)
    np.testing.assert_array_equal(Reading(model).answers(edges(model)), model.predict(edges(model)))
    assert verify(model, copy.deepcopy(model)).equal is True
    other = copy.deepcopy(model)
    other.offset_ -= 0.03
    moved = other.predict(rows)
    assert verify(model, other).equal is bool((own == moved).all())
    odd = rows[own == -1][:1]
    flip = nearest_flip(model, odd, max_changes=3)
    assert list(flip.predictions) == [-1, 1]
    assert simplify(model, X, methods=["plain_tree"], random_state=0).results


def _isolation(seed, **options):
    options = {"n_estimators": 3, "max_samples": 8} | options
    return IsolationForest(random_state=seed, **options).fit(X)


@pytest.mark.parametrize(
    "model",
    [
        _isolation(0),
        _isolation(0, max_features=2),
        _isolation(0, max_samples=2),
        # whose trees are one leaf each
        _isolation(0, max_samples=1),
        make_pipeline(StandardScaler(), _isolation(0)).fit(X),
        FrozenEstimator(_isolation(1)),
    ],
)
def test_how_odd_rows_are_is_a_number(model):
    score = AnomalyScore(model)
    for rows in (cells(score), edges(score)):
        np.testing.assert_array_equal(Reading(score).answers(rows), -model.score_samples(rows))
        np.testing.assert_array_equal(Reading(model).answers(rows), model.predict(rows))
    again = import_model(export_model(score, "json"))
    np.testing.assert_array_equal(again.predict(edges(score)), score.predict(edges(score)))


def test_scores_are_compared_and_checked(tmp_path):
    one, other = AnomalyScore(_isolation(0)), AnomalyScore(_isolation(1))
    assert verify(one, AnomalyScore(copy.deepcopy(one.model)), atol=0.0).equal is True
    rows = cells(one, other)
    a, b = one.predict(rows), other.predict(rows)
    for kind, apart in (("atol", np.abs(a - b)), ("rtol", np.abs(a - b) / b)):
        tolerance = {"atol": 0.0} | {kind: apart.max() * 1.001}
        proof = verify(one, other, **tolerance)
        assert proof.equal is True
        proof.save(tmp_path / "proof.json")
        assert check(tmp_path / "proof.json", one, other)
        assert verify(one, other, **tolerance | {kind: apart.max() * 0.999}).equal is False
    tree = BornAgainRegressor(FrozenEstimator(one), atol=0.02, random_state=0).fit(X, a[:80])
    assert np.abs(tree.predict(rows) - a).max() <= 0.02
    assert is_monotone(one, 0).monotone is False
    with pytest.raises(TypeError, match="takes a fitted IsolationForest, not RandomForest"):
        verify(AnomalyScore(RandomForestRegressor(1).fit(X, Y[:, 0])), one, atol=0.1)


def test_what_would_make_an_odd_row_ordinary():
    score = AnomalyScore(_isolation(0))
    rows = cells(score)
    own = score.predict(rows)
    odd, ordinary = rows[own.argmax()], own <= 0.45
    flip = nearest_flip(score, odd[None], target=(None, 0.45), max_changes=3)
    assert flip.predictions[1] <= 0.45 < flip.predictions[0]
    changes = (rows[ordinary] != odd).sum(axis=1)
    assert len(flip.changes) == changes.min()
    label = nearest_flip(score.model, odd[None], max_changes=3)
    assert list(label.predictions) == [-1, 1]


@pytest.mark.parametrize("run", [by_sqlite, by_duckdb])
def test_scores_in_sql(run):
    score, rows = AnomalyScore(_isolation(0)), edges(AnomalyScore(_isolation(0)))
    text = export_model(score, "sql", table="rows", keys=["id"])
    found = run(text, pd.DataFrame(rows, columns=["x0", "x1", "x2"])).to_numpy()[:, 0]
    np.testing.assert_allclose(found, score.predict(rows), rtol=1e-14)


@pytest.mark.parametrize("model", [_isolation(0), AnomalyScore(_isolation(0))])
def test_one_tree_says_what_is_odd(model):
    found = simplify(model, X, random_state=0, methods=["plain_tree", "representer"])
    assert set(found.results) == {"plain_tree", "representer"}


@pytest.mark.parametrize("name", ["LGBMRanker", "XGBRanker", "CatBoostRanker"])
def test_rankers_are_read_by_their_scores(name):
    library = {"L": "lightgbm", "X": "xgboost", "C": "catboost"}[name[0]]
    options = {
        "lightgbm": dict(n_estimators=2, num_leaves=4, min_child_samples=5, verbose=-1),
        "xgboost": dict(n_estimators=2, max_depth=2),
        "catboost": dict(iterations=2, depth=2, verbose=0, allow_writing_files=False),
    }[library]
    model = getattr(pytest.importorskip(library), name)(**options)
    groups = {"group_id": np.repeat(range(8), 10)} if library == "catboost" else {"group": [10] * 8}
    model.fit(X, np.clip(Y[:, 0], 0, 3).astype(int), **groups)
    for rows in (cells(model), edges(model)):
        np.testing.assert_array_equal(Reading(model).answers(rows), model.predict(rows))
    assert verify(model, copy.deepcopy(model), atol=0.0).equal is True
    assert simplify(model, X, methods=["plain_tree"], random_state=0).results


@pytest.mark.parametrize(
    "transformer",
    [
        QuantileTransformer(n_quantiles=20),
        FunctionTransformer(np.sqrt, np.square, check_inverse=False),
    ],
)
def test_functions_of_sums_enter_ranges_where_bisection_says(transformer):
    forest = RandomForestRegressor(3, max_depth=2, random_state=0)
    model = TransformedTargetRegressor(forest, transformer=transformer).fit(X, Y[:, 0] + 1)
    rows = cells(model)
    own = model.predict(rows)
    np.testing.assert_array_equal(Reading(model).answers(rows), own)
    low = float(np.median(own))
    flip = nearest_flip(model, rows[own.argmin()][None], max_changes=3, target=(low, None))
    assert flip.predictions[1] >= low
    rises = all(
        (np.diff(own.reshape([len(np.unique(rows[:, j])) for j in range(3)]), axis=0) >= 0).ravel()
    )
    assert is_monotone(model, 0).monotone is rises
    with pytest.raises(TypeError, match="regressor_"):
        verify(model, model, atol=0.1)


@pytest.mark.parametrize("library", ["lightgbm", "xgboost", "catboost"])
def test_exposure_multiplies_what_is_read(library):
    """The page of models says how answers with an offset come of those without one."""
    package = pytest.importorskip(library)
    exposure = np.random.default_rng(0).uniform(0.1, 1.0, len(X))
    y, offset = np.random.default_rng(0).poisson(exposure * (1 + X[:, 0])), np.log(exposure)
    if library == "lightgbm":
        model = package.LGBMRegressor(objective="poisson", n_estimators=3, num_leaves=4, verbose=-1)
        model.fit(X, y, init_score=offset)
        with_offset = np.exp(model.predict(X, raw_score=True) + offset)
    elif library == "xgboost":
        model = package.XGBRegressor(
            objective="count:poisson", n_estimators=3, max_depth=2, base_score=1.0
        )
        model.fit(X, y, base_margin=offset)
        with_offset = model.predict(X, base_margin=offset)
    else:
        model = package.CatBoostRegressor(
            loss_function="Poisson", iterations=3, depth=2, verbose=0, allow_writing_files=False
        )
        rows = package.Pool(X, y, baseline=offset)
        with_offset = np.exp(model.fit(rows).predict(rows, prediction_type="RawFormulaVal"))
    np.testing.assert_allclose(exposure * Reading(model).answers(X), with_offset, rtol=1e-5)


def test_functions_that_fall_are_refused():
    model = TransformedTargetRegressor(
        RandomForestRegressor(2, max_depth=2), func=np.negative, inverse_func=np.negative
    ).fit(X, Y[:, 0])
    with pytest.raises(TypeError, match="falls somewhere"):
        is_monotone(model, 0)


def test_averages_of_exponentials_are_answered_but_no_sums():
    pytest.importorskip("lightgbm")
    from lightgbm import LGBMRegressor

    log = LGBMRegressor(objective="poisson", n_estimators=2, num_leaves=4, verbose=-1)
    model = VotingRegressor([("a", log), ("b", GradientBoostingRegressor(n_estimators=2))])
    model.fit(X, Y[:, 0] + 1)
    rows = cells(model)
    np.testing.assert_array_equal(Reading(model).answers(rows), model.predict(rows))
    with pytest.raises(TypeError, match="compare rows with agreement"):
        verify(model, model, atol=1.0)


@pytest.mark.parametrize("inside", [False, True])
def test_stacking_by_a_linear_model_is_a_sum_up_to_roundings(inside):
    # which are NumPy's, and depend on how many rows are asked at once
    forest = RandomForestRegressor(2, max_depth=2, random_state=0)
    members = [("a", forest), ("b", GradientBoostingRegressor(n_estimators=2, max_depth=1))]
    model = StackingRegressor(members, cv=2)
    model = VotingRegressor([("s", model), ("f", forest)]) if inside else model
    model.fit(X, Y[:, 1])
    rows = cells(model)
    own = model.predict(rows)
    np.testing.assert_allclose(Reading(model).answers(rows), own, rtol=1e-14)
    other = copy.deepcopy(model)
    stacked = other.estimators_[0] if inside else other
    stacked.estimators_[0].estimators_[0].tree_.value[-1] += 0.5
    furthest = np.abs(other.predict(rows) - own).max()
    assert furthest > 0
    assert verify(model, other, atol=furthest * 1.001).equal is True
    assert verify(model, other, atol=furthest * 0.999).equal is False
    for low in (np.median(own), own.max() - 1e-9):
        flip = nearest_flip(model, rows[[own.argmin()]], max_changes=3, target=(low, None))
        assert flip.predictions[1] >= low
    between = (float(np.quantile(own, 0.4)), float(np.quantile(own, 0.6)))
    assert nearest_flip(model, rows[[own.argmin()]], max_changes=3, target=between)


@pytest.mark.parametrize("kind", [RandomForestRegressor, GradientBoostingRegressor])
def test_regressors_of_each_class_are_a_sum_and_of_two_classes_refused(kind):
    model = OneVsRestClassifier(kind(n_estimators=2, max_depth=1, random_state=0))
    model.fit(X, LABELS[:, 1])
    rows = cells(model)
    np.testing.assert_array_equal(Reading(model).answers(rows), model.predict(rows))
    with pytest.raises(TypeError, match="over the regressor"):
        verify(model.fit(X, LABELS[:, 0]), model)


def test_a_weighted_median_enters_ranges_where_enumeration_says():
    model = AdaBoostRegressor(
        DecisionTreeRegressor(max_depth=2), n_estimators=4, random_state=0
    ).fit(X, Y[:, 0].round())
    rows = cells(model)
    own = model.predict(rows)
    np.testing.assert_array_equal(Reading(model).answers(rows), own)
    for low in np.unique(own):
        found = nearest_flip(model, rows[[own.argmin()]], max_changes=1, target=(low, None))
        near = ((rows != rows[own.argmin()]).sum(axis=1) == 1) & (own >= low)
        assert bool(found) == bool(near.any()) or own.min() >= low
    with pytest.raises(TypeError, match="compare rows with agreement"):
        verify(model, model, atol=1.0)
    with pytest.raises(TypeError, match="estimators_"):
        export_model(model, "sql", table="rows", X=X)


def _survival(name, **options):
    def make():
        package = pytest.importorskip("sksurv.ensemble")
        times = zip(np.arange(len(X)) % 3 > 0, np.ceil(3 * Y[:, 0] + 1), strict=True)
        times = np.array(list(times), dtype=[("event", bool), ("time", float)])
        return getattr(package, name)(n_estimators=2, max_depth=2, **options).fit(X, times)

    return make


def _imodels(name, *given, y, **options):
    def make():
        package = pytest.importorskip("imodels")
        return getattr(package, name)(*(copy.deepcopy(each) for each in given), **options).fit(X, y)

    return make


PACKAGES = {
    "survival forest": _survival("RandomSurvivalForest"),
    "survival forest, low memory": _survival("RandomSurvivalForest", low_memory=True),
    "boosted hazards": _survival("GradientBoostingSurvivalAnalysis"),
    "boosted times": _survival("GradientBoostingSurvivalAnalysis", loss="ipcwls"),
    "shrunk": _imodels("HSTreeClassifier", DecisionTreeClassifier(max_depth=3), y=LABELS[:, 0]),
    "shrunk, value": _imodels("HSTreeRegressor", DecisionTreeRegressor(max_depth=3), y=Y[:, 1]),
    "few sums": _imodels("FIGSClassifier", max_rules=4, y=LABELS[:, 0]),
    "few sums, value": _imodels("FIGSRegressor", max_rules=4, y=Y[:, 1]),
}


def _leaf_changed(model):
    """A copy with another value in a leaf."""
    other = copy.deepcopy(model)
    tree = other.estimator_ if hasattr(other, "reg_param") else other
    if hasattr(other, "trees_"):
        node = other.trees_[0]
        while node.left is not None:
            node = node.left
        node.value = node.value[::-1].copy() if len(node.value) > 1 else node.value + 0.7
        return other
    while not hasattr(tree, "tree_"):
        tree = np.ravel(tree.estimators_)[0]
    value = tree.tree_.value
    value[-1] = value[-1, :, ::-1].copy() if hasattr(model, "classes_") else value[-1] + 0.7
    return other


@pytest.mark.parametrize("kind", PACKAGES)
def test_models_of_other_packages(kind):
    model = PACKAGES[kind]()
    rows = cells(model)
    own = model.predict(rows)
    for asked in (rows, edges(model)):
        np.testing.assert_array_equal(Reading(model).answers(asked), model.predict(asked))
    other = _leaf_changed(model)
    if hasattr(model, "classes_"):
        assert verify(model, other).equal is bool((other.predict(rows) == own).all())
        assert verify(model, model).equal is True
    else:
        furthest = np.abs(other.predict(rows) - own).max()
        assert furthest > 0
        assert verify(model, other, atol=furthest * 1.001).equal is True
        assert verify(model, other, atol=furthest * 0.999).equal is False
    query = export_model(model, "sql", table="rows", X=X)
    database = sqlite3.connect(":memory:")
    pd.DataFrame(rows, columns=["x0", "x1", "x2"]).to_sql("rows", database, index=False)
    found = [row[-1] for row in database.execute(query)]
    if hasattr(model, "classes_"):
        assert found == own.tolist()
    else:
        np.testing.assert_allclose(found, own, rtol=1e-15)


# ------------------------------------------------------------------- names and types of columns

_N = 60
_LEVEL = np.random.default_rng(1).integers(0, 4, _N)
_WORDS = np.array(["ant", "bee", "cat", "dog"])[_LEVEL]
COLUMNS = {
    "float64": _LEVEL * 0.5,
    "float32": (_LEVEL * 0.5).astype(np.float32),
    "int8": _LEVEL.astype(np.int8),
    "int64": _LEVEL,
    "bool": _LEVEL > 1,
    "Int64": pd.array(np.where(_LEVEL == 3, None, _LEVEL), dtype="Int64"),
    "Float64": pd.array(_LEVEL * 0.5, dtype="Float64"),
    "boolean": pd.array(np.where(_LEVEL == 3, None, _LEVEL > 1), dtype="boolean"),
    "object of numbers": _LEVEL.astype(object),
    "object of booleans": np.where(_LEVEL == 3, None, (_LEVEL > 1).astype(object)),
    "object of text": _WORDS.astype(object),
    "str": pd.array(_WORDS, dtype="str"),
    "string": pd.array(_WORDS, dtype="string"),
    "category of text": pd.Categorical(_WORDS),
    "category in order": pd.Categorical(_WORDS, ["cat", "dog", "ant", "bee"], ordered=True),
    "category of integers": pd.Categorical(_LEVEL),
    "category of floats": pd.Categorical(_LEVEL * 0.5),
    "category of booleans": pd.Categorical(_LEVEL > 1),
    "category with gaps": pd.Categorical(np.where(_LEVEL == 3, None, _WORDS)),
}


def _lightgbm():
    return pytest.importorskip("lightgbm").LGBMClassifier(
        n_estimators=2,
        num_leaves=4,
        min_child_samples=3,
        min_data_per_group=1,
        n_jobs=1,
        verbose=-1,
    )


def _catboost_classifier():
    return pytest.importorskip("catboost").CatBoostClassifier(
        iterations=2, depth=2, verbose=0, allow_writing_files=False
    )


FAMILIES = {
    "tree": lambda: DecisionTreeClassifier(max_depth=3),
    "histogram": lambda: HistGradientBoostingClassifier(
        max_iter=2, max_leaf_nodes=4, min_samples_leaf=3, categorical_features="from_dtype"
    ),
    "xgboost": lambda: pytest.importorskip("xgboost").XGBClassifier(
        n_estimators=2, max_depth=2, enable_categorical=True
    ),
    "lightgbm": _lightgbm,
    "catboost": _catboost_classifier,
}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind", COLUMNS)
def test_columns_of_every_kind_in_every_family(kind, family):
    table = pd.DataFrame({"width (cm)": np.random.default_rng(2).normal(size=_N).round(1)})
    table["kind of pet"] = COLUMNS[kind]
    y = (_LEVEL + table["width (cm)"] > 1.5).to_numpy().astype(int)
    model = FAMILIES[family]()
    try:
        model.fit(table, y)
    except (TypeError, ValueError) as error:  # libraries take some kinds, and refuse others
        pytest.skip(f"{type(model).__name__} refuses it itself: {str(error)[:60]}")
    except Exception as error:
        if type(error).__name__ != "CatBoostError":
            raise
        pytest.skip(f"CatBoost refuses it itself: {str(error)[:60]}")
    own = np.ravel(model.predict(table)).astype(int)
    if (family, kind) == ("lightgbm", "category in order"):
        with pytest.raises(ValueError, match="categories without an order"):
            export_model(model, "sql", table="pets", X=table)
        return
    query = export_model(model, "sql", table="pets", X=table)
    database = sqlite3.connect(":memory:")
    plain = table.astype({name: object for name in table if str(table[name].dtype) == "category"})
    plain.to_sql("pets", database, index=False)
    assert [row[-1] for row in database.execute(query)] == own.tolist()
    assert verify(model, model, X=table, max_changes=1).equal is True
    # names as the frame has them, also where the library has made others of them
    assert is_monotone(model, "width (cm)").monotone in (True, False)
    assert verify(model, model, domain=Domain(bounds={"width (cm)": (-1, 1)})).equal is True
