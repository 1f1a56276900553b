"""Which rows a model was fitted on is told by the numbers of rows in its leaves."""

import numpy as np
import pandas as pd
import pytest
from readers import READERS, data
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import (
    AdaBoostRegressor,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from ensemble_simplify.reading import learned_from

lightgbm = pytest.importorskip("lightgbm")
xgboost = pytest.importorskip("xgboost")
catboost = pytest.importorskip("catboost")

# They keep no such numbers, or not those of all rows.
SILENT = ("treelite", "onnx", "calibrated, folds", "lightgbm forest", "xgboost forest",
          "xgboost, log", "one against one", "bagging of adaboost")  # fmt: skip


@pytest.mark.parametrize("name", READERS)
def test_every_family_knows_its_rows(name):
    reader = READERS[name]
    X, _ = data(reader.n_classes, reader.missing, 0)
    found = learned_from(reader.model(), X)
    if name.startswith(SILENT):
        assert found != "all"
        return
    assert found == "all"
    others = [
        X[1:],
        np.concatenate([X, X[:1]]),
        data(reader.n_classes, reader.missing, 1)[0],
    ]
    assert "all" not in [learned_from(reader.model(), rows) for rows in others]


def table(n=400, seed=0, n_classes=2):
    return make_classification(
        n, 8, n_informative=5, n_classes=n_classes, flip_y=0.2, random_state=seed
    )


MODELS = {
    "forest": RandomForestClassifier(10, random_state=0),
    "extra trees": ExtraTreesClassifier(10, random_state=0),
    "gradient": GradientBoostingClassifier(n_estimators=10, random_state=0),
    "histogram": HistGradientBoostingClassifier(max_iter=10, random_state=0),
    "bagging of forests": BaggingClassifier(RandomForestClassifier(5), 4, random_state=0),
    "lightgbm": lightgbm.LGBMClassifier(n_estimators=10, n_jobs=1, verbose=-1),
    "xgboost": xgboost.XGBClassifier(n_estimators=10, n_jobs=1),
    "catboost": catboost.CatBoostClassifier(iterations=10, thread_count=1, verbose=0),
    "catboost by depth": catboost.CatBoostClassifier(
        iterations=10, grow_policy="Depthwise", thread_count=1, verbose=0
    ),
    "search": GridSearchCV(RandomForestClassifier(5, random_state=0), {"max_depth": [3, 9]}, cv=2),
    "tuned threshold": TunedThresholdClassifierCV(
        RandomForestClassifier(10, random_state=0), cv=2, thresholds=9
    ),
}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_own_rows_alone_are_own_rows(name, n_classes):
    if name == "tuned threshold" and n_classes == 3:
        return
    X, y = table(n_classes=n_classes)
    model = clone(MODELS[name]).fit(X, y)
    assert learned_from(model, X) == "all"
    rng = np.random.default_rng(0)
    for i in rng.integers(len(X), size=5):
        assert learned_from(model, np.delete(X, i, axis=0)) != "all"
        assert learned_from(model, np.insert(X, i, X[i - 1], axis=0)) != "all"
    for seed in range(1, 4):
        assert learned_from(model, table(seed=seed, n_classes=n_classes)[0]) not in ("all", "part")
    # new rows of the very same kind
    X, y = table(3_000, n_classes=n_classes)
    model.fit(X[:400], y[:400])
    for begin in range(400, 2_800, 400):
        found = learned_from(model, X[begin : begin + 400])
        assert found in ("no", "unknown")


def test_of_rows_drawn_for_each_tree_a_part_cannot_be_told():
    X, y = table()
    model = RandomForestClassifier(20).fit(X, y)
    assert learned_from(model, X[:300]) == "unknown"


@pytest.mark.parametrize("name", ["extra trees", "gradient", "lightgbm", "xgboost", "catboost"])
def test_a_part_of_them_is_told_where_leaves_are_small(name):
    X, y = table(3_000)
    model = clone(MODELS[name]).fit(X[:1000], y[:1000])
    assert learned_from(model, X[:700]) in ("part", "unknown")
    found = [learned_from(model, X[begin : begin + 200]) for begin in range(1000, 3000, 200)]
    assert not {"all", "part", "more"} & set(found)
    if name == "extra trees":
        assert learned_from(model, X[:700]) == "part"


def test_rows_kept_aside_to_stop_early():
    X, y = table(12_000)
    for kind in (HistGradientBoostingClassifier, HistGradientBoostingRegressor):
        model = kind(max_iter=10, random_state=0).fit(X[:11_000], y[:11_000])
        assert learned_from(model, X[:11_000]) == "more"
        assert learned_from(model, X[1_000:]) == "no"


def test_weights():
    X, y = table()
    weights = np.random.default_rng(0).random(400)
    for name in ("forest", "extra trees", "gradient", "histogram", "lightgbm"):
        model = clone(MODELS[name]).fit(X, y, sample_weight=weights)
        assert learned_from(model, X) == "all"
        assert learned_from(model, X[1:]) != "all"
    for name in ("xgboost", "catboost"):  # they keep sums of weights
        model = clone(MODELS[name]).fit(X, y, sample_weight=weights)
        assert learned_from(model, X) == "unknown"
    for model in (
        RandomForestClassifier(10, class_weight="balanced_subsample"),
        lightgbm.LGBMClassifier(n_estimators=10, n_jobs=1, class_weight="balanced", verbose=-1),
        RandomForestClassifier(10, max_samples=0.5),
    ):
        assert learned_from(model.fit(X, y), X) == "all"


def test_samples_for_each_tree():
    X, y = table()
    for model in (
        GradientBoostingClassifier(n_estimators=10, subsample=0.5, random_state=0),
        lightgbm.LGBMClassifier(
            n_estimators=10, n_jobs=1, subsample=0.5, subsample_freq=1, verbose=-1
        ),
        xgboost.XGBClassifier(n_estimators=10, n_jobs=1, subsample=0.5),
    ):
        assert learned_from(model.fit(X, y), X) in ("more", "unknown")
    # the first rounds of these see all rows
    model = lightgbm.LGBMClassifier(
        n_estimators=20, n_jobs=1, data_sample_strategy="goss", verbose=-1
    ).fit(X, y)
    assert learned_from(model, X) == "all"


def test_tables_and_pipelines():
    X, y = table()
    frame = pd.DataFrame(X).add_prefix("c")
    frame["kind"] = pd.Categorical(np.where(X[:, 0] > 0, "left", "right"))
    frame.loc[::7, "c1"] = np.nan
    coded = frame.assign(kind=frame["kind"].cat.codes)
    for model, rows in (
        (lightgbm.LGBMClassifier(n_estimators=10, n_jobs=1, verbose=-1), frame),
        (xgboost.XGBClassifier(n_estimators=10, n_jobs=1, enable_categorical=True), frame),
        (HistGradientBoostingClassifier(max_iter=10, categorical_features="from_dtype"), frame),
        (
            catboost.CatBoostClassifier(
                iterations=20, cat_features=["kind"], one_hot_max_size=5, verbose=0
            ),
            frame.astype({"kind": str}),
        ),
        (make_pipeline(StandardScaler(), RandomForestClassifier(10)), coded),
        (make_pipeline(OneHotEncoder(), RandomForestClassifier(10)), coded[["kind"]]),
        (make_pipeline(OneHotEncoder(), ExtraTreesClassifier(10)), coded.round(1)),
    ):
        model.fit(rows, y)
        assert learned_from(model, rows) == "all", model
        assert learned_from(model, rows[1:]) != "all"


def test_regressors():
    X, y = make_regression(900, 6, noise=20.0, random_state=0)
    for model in (
        RandomForestRegressor(20),
        lightgbm.LGBMRegressor(n_estimators=10, n_jobs=1, verbose=-1),
        xgboost.XGBRegressor(n_estimators=10, n_jobs=1),
        catboost.CatBoostRegressor(iterations=10, thread_count=1, verbose=0),
        HistGradientBoostingRegressor(max_iter=10),
    ):
        model.fit(X[:400], y[:400])
        assert learned_from(model, X[:400]) == "all", model
        assert learned_from(model, X[400:800]) in ("no", "unknown")
        assert learned_from(model, X[1:400]) != "all"


def test_what_cannot_be_read_does_not_tell():
    X, y = table()
    for model in (
        LogisticRegression(),
        AdaBoostRegressor(n_estimators=5),
        StackingClassifier([("a", RandomForestClassifier(5))], passthrough=True),
    ):
        assert learned_from(model.fit(X, y), X) == "unknown"
