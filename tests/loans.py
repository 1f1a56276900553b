"""A credit table with text and gaps, and seven kinds of models of it."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.model_selection import TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

WORDS = ["purpose", "housing", "savings"]


def credit(n=400, seed=0):
    """Loans: what for, who asks, what was paid back; some entries are not known."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "amount": rng.lognormal(8, 0.8, n).round(-1),
            "months": rng.choice([6, 12, 18, 24, 36, 48], n),
            "age": rng.integers(19, 75, n),
            "purpose": rng.choice(["car", "furniture", "repairs", "study", "travel"], n),
            "housing": rng.choice(["owns", "rents", "free"], n, p=[0.6, 0.3, 0.1]),
            "savings": rng.choice(["none", "some", "much"], n),
            "years_employed": rng.exponential(5, n).round(1),
        }
    )
    risk = (
        X["amount"] / 4000
        + X["months"] / 20
        + X["purpose"].map({"car": 0, "furniture": 0.5, "repairs": 1, "study": 1.5, "travel": 2})
        - X["savings"].map({"none": 0, "some": 1, "much": 2})
        - 0.1 * X["years_employed"].clip(upper=10)
    )
    y = np.where(risk + rng.normal(0, 0.7, n) > risk.median() + 0.5, "lost", "paid")
    X["years_employed"] = X["years_employed"].where(rng.random(n) > 0.15)
    X["amount"] = X["amount"].where(rng.random(n) > 0.05)
    X["savings"] = X["savings"].where(rng.random(n) > 0.3)
    return X, y


def strange(X):
    """Levels that nobody knows, and gaps in other columns."""
    X = X.head(40).copy()
    kind = X["purpose"].dtype
    X["purpose"] = X["purpose"].astype(object)
    X.loc[X.index[::3], "purpose"] = "boat"
    X["purpose"] = X["purpose"].astype("category" if hasattr(kind, "categories") else kind)
    X["age"] = X["age"].astype(float)
    X.loc[X.index[1::3], "age"] = np.nan
    return X


def _pipeline(X, y):
    return make_pipeline(
        make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), WORDS),
            (SimpleImputer(), ["amount", "months", "age", "years_employed"]),
        ),
        RandomForestClassifier(30, min_samples_leaf=5, random_state=0),
    ).fit(X, y)


def forest(X, y):
    return _pipeline(X, y), X


def forest_with_a_cut_off(X, y):
    model = TunedThresholdClassifierCV(
        _pipeline(X, y), scoring="balanced_accuracy", cv=3, random_state=0
    )
    return model.fit(X, y), X


def calibrated_forest(X, y):
    half = len(X) // 2
    model = _pipeline(X[:half], y[:half])
    return CalibratedClassifierCV(FrozenEstimator(model)).fit(X[half:], y[half:]), X


def histogram(X, y):
    X = X.astype(dict.fromkeys(WORDS, "category"))
    return HistGradientBoostingClassifier(max_iter=30, random_state=0).fit(X, y), X


def lightgbm_booster(X, y):
    lightgbm = pytest.importorskip("lightgbm")
    X = X.astype(dict.fromkeys(WORDS, "category"))
    options = {"objective": "binary", "verbose": -1, "num_leaves": 8, "num_threads": 1}
    return lightgbm.train(options, lightgbm.Dataset(X, y == "paid"), 30), X


def xgboost_classifier(X, y):
    xgboost = pytest.importorskip("xgboost")
    X = X.astype(dict.fromkeys(WORDS, "category"))
    return xgboost.XGBClassifier(
        n_estimators=30, max_depth=3, n_jobs=1, enable_categorical=True
    ).fit(X, y == "paid"), X


def catboost_classifier(X, y):
    catboost = pytest.importorskip("catboost")
    X = X.fillna(dict.fromkeys(WORDS, "unknown"))  # it takes no gaps in text
    model = catboost.CatBoostClassifier(
        iterations=30,
        depth=4,
        one_hot_max_size=10,
        cat_features=WORDS,
        verbose=0,
        thread_count=1,
        allow_writing_files=False,
    )
    return model.fit(X, y), X


each_kind = pytest.mark.parametrize(
    "kind",
    [
        forest,
        forest_with_a_cut_off,
        calibrated_forest,
        histogram,
        lightgbm_booster,
        xgboost_classifier,
        catboost_classifier,
    ],
)


@cache
def fitted(kind):
    """A model of a kind, and the rows as it takes them."""
    return kind(*credit())


def labels_of(kind, model, X):
    """What a model answers itself, as classes."""
    own = np.asarray(model.predict(X))
    # a native booster answers probabilities
    return (own > 0.5).astype(int) if kind is lightgbm_booster else own


def many(kind, X, forest, n=100_000):
    """Rows beside the thresholds, with gaps and levels that nobody knows, as far as they go."""
    rng = np.random.default_rng(1)
    rows = X.iloc[rng.integers(0, len(X), n)].reset_index(drop=True)
    for j, name in enumerate(X.columns):
        if name not in WORDS:
            cuts = np.unique(forest.threshold[forest.feature == j]).astype(np.float32)
            beside = [np.nextafter(cuts, np.float32(side)) for side in (-np.inf, np.inf)]
            pool = np.concatenate([cuts, *beside, X[name].dropna().to_numpy(np.float32), [np.nan]])
            rows[name] = rng.choice([*pool[np.abs(pool) < 1e30].tolist(), np.nan], n)
            continue
        levels = X[name].astype(object).dropna().unique().tolist()
        if kind is not xgboost_classifier:
            levels.append("nobody knows this one")
        if kind is not catboost_classifier:  # which takes no gaps in text
            levels.append(None)
        known = pd.Series(rng.choice(np.array(levels, dtype=object), n))
        if hasattr(X[name].dtype, "categories"):
            own = X[name].dtype.categories
            more = [level for level in ("nobody knows this one",) if level in levels]
            known = known.astype(pd.CategoricalDtype([*own, *more]))
        rows[name] = known
    return rows
