"""Native boosters of every kind, and what they answer themselves."""

import numpy as np
import pytest
from strategies import edge_points

N_ROWS = 100_000


def table(n_classes=2, n_rows=300, n_features=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)).round(1)
    score = X[:, 0] + 0.5 * X[:, 1] * X[:, -1] + 0.3 * rng.normal(size=n_rows)
    X[rng.random(X.shape) < 0.05] = np.nan
    if n_classes == 0:
        return X, score
    return X, np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)


def train_xgboost(X, y, objective, n_trees=6, **options):
    xgboost = pytest.importorskip("xgboost")
    options = {"objective": objective, "max_depth": 2, "eta": 0.5, "nthread": 1, **options}
    return xgboost.train(options, xgboost.DMatrix(X, y, enable_categorical=True), n_trees)


def train_lightgbm(X, y, objective, n_trees=6, **options):
    lightgbm = pytest.importorskip("lightgbm")
    options = {"objective": objective, "num_leaves": 4, "num_threads": 1, "verbose": -1, **options}
    return lightgbm.train(options, lightgbm.Dataset(X, y), n_trees)


def own_answers(booster, X, **options):
    """What a booster itself answers to rows."""
    if type(booster).__module__.startswith("xgboost"):
        import xgboost

        X = xgboost.DMatrix(X, enable_categorical=True)
    return booster.predict(X, **options)


def two(answers):
    return (answers > 0.5).astype(int)


def margins(answers):
    return (answers > 0).astype(int)


def most(answers):
    return answers.argmax(axis=1)


def whole(answers):
    return answers.astype(int)


# library, objective, number of classes (0: numbers), options, classes by what the booster answers
KINDS = {
    "xgboost logistic": ("xgboost", "binary:logistic", 2, {}, two),
    "xgboost margins": ("xgboost", "binary:logitraw", 2, {}, margins),
    "xgboost hinge": ("xgboost", "binary:hinge", 2, {}, whole),
    "xgboost classes": ("xgboost", "multi:softmax", 3, {"num_class": 3}, whole),
    "xgboost probabilities": ("xgboost", "multi:softprob", 3, {"num_class": 3}, most),
    "xgboost two scores": ("xgboost", "multi:softprob", 2, {"num_class": 2}, most),
    "xgboost numbers": ("xgboost", "reg:squarederror", 0, {}, None),
    "xgboost dart": ("xgboost", "binary:logistic", 2, {"booster": "dart", "rate_drop": 0.5}, two),
    "xgboost dart of three": (
        "xgboost",
        "multi:softprob",
        3,
        {"num_class": 3, "booster": "dart", "rate_drop": 0.5},
        most,
    ),
    "xgboost parallel": ("xgboost", "binary:logistic", 2, {"num_parallel_tree": 3}, two),
    "xgboost start": ("xgboost", "binary:logistic", 2, {"base_score": 0.2}, two),
    "lightgbm binary": ("lightgbm", "binary", 2, {}, two),
    "lightgbm slope": ("lightgbm", "binary", 2, {"sigmoid": 0.7}, two),
    "lightgbm multiclass": ("lightgbm", "multiclass", 3, {"num_class": 3}, most),
    "lightgbm two scores": ("lightgbm", "multiclass", 2, {"num_class": 2}, most),
    "lightgbm numbers": ("lightgbm", "regression", 0, {}, None),
    "lightgbm dart": ("lightgbm", "binary", 2, {"boosting": "dart", "drop_rate": 0.5}, two),
    "lightgbm forest": (
        "lightgbm",
        "binary",
        2,
        {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5},
        two,
    ),
}


def trained(kind, **more):
    library, objective, n_classes, options, _ = KINDS[kind]
    X, y = table(n_classes)
    train = {"xgboost": train_xgboost, "lightgbm": train_lightgbm}[library]
    return train(X, y, objective, **options, **more), X, y


def rows_beside(forest, n_rows=N_ROWS):
    """Rows at thresholds and their neighbours, some of them with gaps."""
    cuts = forest.threshold[forest.feature >= 0]
    rows = edge_points(cuts, forest.n_features, n_rows).astype(np.float32).astype(np.float64)
    rows[np.random.default_rng(0).random(rows.shape) < 0.1] = np.nan
    return rows
