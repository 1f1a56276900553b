"""A made table of text, categories and missing values, and pipelines that take it."""

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler, TargetEncoder

FOREST = RandomForestClassifier(5, max_depth=3, random_state=0)


def passengers(seed=0, n=150, missing=True):
    """People on a ship: text, whole numbers, numbers, some of them missing."""
    rng = np.random.RandomState(seed)
    table = pd.DataFrame(
        {
            "sex": rng.choice(["male", "female"], n).astype(object),
            "age": rng.normal(35, 12, n).round(1),
            "port": rng.choice(["S", "C", "Q", "B"], n, p=[0.5, 0.25, 0.15, 0.1]).astype(object),
            "class": rng.choice([1, 2, 3], n),
            "fare": np.exp(rng.normal(3, 1, n)).round(2),
        }
    )
    lucky = (table["sex"] == "female") & (table["class"] < 3) | (table["age"] < 20)
    lucky |= (table["port"] == "Q") & (rng.random_sample(n) < 0.7)
    y = np.where(lucky ^ (rng.random_sample(n) < 0.1), "lived", "died")
    if missing:
        table.loc[rng.random_sample(n) < 0.2, "age"] = np.nan
        table.loc[rng.random_sample(n) < 0.1, "port"] = np.nan
    return table, y


def in_cabins(seed=0, n=300):
    """Passengers, in classes of cabins that have an order of their own."""
    X, y = passengers(seed, n)
    names = np.array(["first", "second", "third"])[X["class"] - 1]
    # the order is not that of the alphabet, nor that of the labels
    order = ["third", "first", "second"]
    return X.assign(**{"class": pd.Categorical(names, categories=order, ordered=True)}), y


def later(n=300):
    """Rows of `in_cabins` with gaps in every column, and levels that nobody had before."""
    X, _ = in_cabins(seed=7, n=n)
    rng = np.random.default_rng(0)
    X = X.astype({"class": object})
    for name in X:
        X.loc[rng.random(n) < 0.2, name] = np.nan
    for name in ("sex", "port", "class"):
        X.loc[rng.random(n) < 0.1, name] = "never seen"
    return X


def coded(X, levels):
    """Codes of levels by hand; NaN for whatever is none of them."""
    found = np.empty(X.shape)
    for j, name in enumerate(X):
        if levels[j] is None:
            found[:, j] = X[name].astype(float)
        else:
            own = list(levels[j])
            found[:, j] = [own.index(level) if level in own else np.nan for level in X[name]]
    return found


TEXT = ["sex", "port"]
PREPARED = {
    "one_hot": (OneHotEncoder(handle_unknown="ignore"), TEXT),
    "one_hot_dense": (OneHotEncoder(sparse_output=False, drop="if_binary"), TEXT),
    "one_hot_rare": (
        OneHotEncoder(min_frequency=20, handle_unknown="infrequent_if_exist"),
        [*TEXT, "class"],
    ),
    "ordinal": (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), TEXT),
    "ordinal_missing": (
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan),
        [*TEXT, "class"],
    ),
    "target": (TargetEncoder(), [*TEXT, "class"]),
    "filled": (
        make_pipeline(
            SimpleImputer(strategy="most_frequent"),
            OneHotEncoder(handle_unknown="ignore"),
            StandardScaler(with_mean=False),
        ),
        TEXT,
    ),
    "constant": (
        make_pipeline(
            SimpleImputer(strategy="constant", fill_value="none"),
            OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=9),
        ),
        TEXT,
    ),
}


def pipeline_of(name, model=None):
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    rest = ["age", "fare"]
    encoder, columns = PREPARED[name]
    others = "drop" if len(columns) == 3 else "passthrough"
    transformer = make_column_transformer((encoder, columns), (numbers, rest), remainder=others)
    return make_pipeline(clone(transformer), clone(FOREST if model is None else model))
