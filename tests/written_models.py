"""Models of all kinds whose code is run, with rows at their thresholds."""

import numpy as np
import pandas as pd
import pytest
from loans import credit
from sklearn.datasets import load_diabetes, load_wine
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ensemble_simplify import ScorecardClassifier, SelectiveTreeClassifier
from ensemble_simplify.reading import Model, Table

# Of each model.
N_ROWS = 500
NAMES = ["petal width (cm)", "it's; DROP TABLE x--", "SELECT"]
ODD = [
    "",
    "a",
    "A",
    "a ",
    " a",
    "it's",
    "\u00e9",
    "E\u0301",
    "back\\slash",
    "\\'",
    "new\nline",
    "%s {}",
]


def around(ends, rng, n):
    """Numbers on some ends, one double and one float32 beside them."""
    single = np.float32(ends)
    beside = [np.nextafter(ends, way) for way in (np.inf, -np.inf)]
    beside += [np.nextafter(single, np.float32(way)) for way in (np.inf, -np.inf)]
    return rng.choice(np.concatenate([ends, single, *beside]).astype(float), n)


def hard_rows(model, names, gaps=True):
    """Rows at thresholds, as doubles and (every other column) as float32 numbers, with gaps."""
    rng, forest, n = np.random.default_rng(0), Model.of(model).finest, N_ROWS
    ends = forest.ends(Model.of(model).table)
    frame = {}
    for j, name in enumerate(names):
        own = np.unique(ends[(forest.left >= 0) & (forest.feature == j) & np.isfinite(ends)])
        column = around(own if len(own) else np.zeros(1), rng, n)
        column[rng.random(n) < 0.1 * gaps] = np.nan
        frame[name] = column.astype(np.float32 if j % 2 else float)
    return pd.DataFrame(frame)


def as_array(frame):
    return frame.to_numpy(dtype=float)


def _xy(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).round(3) * 10.0 ** np.array([0, 5, -30])
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0) * (X[:, 2] > 0)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def tree_of_numbers(**params):
    X, y = _xy(400)
    tree = DecisionTreeClassifier(random_state=0, **params)
    tree.fit(X, np.array(["it's", 'a "b"', "c\\d\u00e9\n"])[y])
    rows = hard_rows(tree, NAMES)
    return tree, rows, tree.predict(as_array(rows)), {"feature_names": NAMES}


def tree_of_values():
    X, y = _xy(300)
    tree = DecisionTreeRegressor(random_state=0).fit(X, y * np.pi)
    rows = hard_rows(tree, NAMES)
    return tree, rows, tree.predict(as_array(rows)), {"feature_names": NAMES}


def tree_of_levels(unknown, dialect=None):
    levels = [own for own in ODD if own or dialect != "oracle"]
    rng = np.random.default_rng(1)
    table = Table.of_levels(
        np.array(["l", "n"], dtype=object), (np.array(levels, object), None), (unknown, "refused")
    )
    codes = np.column_stack([rng.integers(0, len(levels), 600), rng.normal(size=600)])
    codes[rng.random(codes.shape) < 0.1] = np.nan
    tree = DecisionTreeClassifier(max_leaf_nodes=40, random_state=0)
    tree.fit(codes, (codes[:, 0] % 2 == 1) ^ (codes[:, 1] > 0.3))
    tree._table = table
    entries = [*levels, None]
    entries += (
        [] if unknown == "refused" else ["aa", "a  ", "IT'S", "e\u0301", "\u00c9", "backslash"]
    )
    rows = pd.DataFrame(
        {"l": rng.choice(np.array(entries, object), 400), "n": rng.normal(size=400)}
    )
    rows["l"] = rows["l"].astype(object)
    expected = tree.predict(np.asarray(table.encode(rows.to_numpy(object)), float))
    return tree, rows, expected, {}


def tree_of_flags():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"flag": rng.random(300) < 0.5, "other": rng.random(300) < 0.5, "x": rng.normal(size=300)}
    )
    y = X["flag"] ^ (X["x"] > 0.2) | X["other"] & (X["x"] > 1)
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    return tree, X, tree.predict(X), {"X": X}


def forest_of_flags():
    _, X, expected, options = tree_of_flags()
    forest = RandomForestClassifier(7, random_state=0).fit(X, expected)
    return forest, X, forest.predict(X), options


def forest_of_three():
    X, y = load_wine(return_X_y=True)
    model = RandomForestClassifier(12, random_state=0).fit(X, y)
    names = [f"c {j}" for j in range(X.shape[1])]
    rows = hard_rows(model, names)
    return model, rows, model.predict(as_array(rows)), {"feature_names": names}


def deep_forest():
    X, y = _xy(3000)
    model = RandomForestRegressor(3, random_state=0).fit(X, y + np.nan_to_num(X[:, 0]) ** 2)
    rows = hard_rows(model, NAMES)
    return model, rows, model.predict(as_array(rows)), {"feature_names": NAMES}


def boosting():
    X, y = _xy(400)
    model = GradientBoostingClassifier(n_estimators=10, random_state=0).fit(np.nan_to_num(X), y)
    rows = hard_rows(model, NAMES, gaps=False)
    return model, rows, model.predict(as_array(rows)), {"feature_names": NAMES}


def histogram_of_levels():
    X, y = credit(400)
    words = X.select_dtypes(["object", "str"]).columns
    X[words] = X[words].astype("category")
    model = HistGradientBoostingClassifier(max_iter=12, random_state=0).fit(X, y)
    rows = X.copy()
    rows[words] = rows[words].astype(object)
    upper = rows["purpose"].str.upper() + " "
    rows["purpose"] = rows["purpose"].where(np.arange(len(X)) % 5 > 0, upper)
    asked = rows.copy()
    for name in words:
        known = X[name].cat.categories
        asked[name] = pd.Categorical(rows[name].where(rows[name].isin(known)), known)
    return model, rows, model.predict(asked), {}


def xgboost():
    booster = pytest.importorskip("xgboost").XGBClassifier(n_estimators=12, n_jobs=1)
    X, y = _xy(600)
    model = booster.fit(X, y > 0)
    rows = hard_rows(model, NAMES)
    return model, rows, model.predict(as_array(rows)), {"feature_names": NAMES}


def xgboost_of_values():
    booster = pytest.importorskip("xgboost").XGBRegressor(n_estimators=12, n_jobs=1)
    X, y = _xy(600)
    model = booster.fit(X, y + np.nan_to_num(X[:, 0]))
    rows = hard_rows(model, NAMES)
    return model, rows, model.predict(as_array(rows)), {"feature_names": NAMES}


def card():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    X, y = X.iloc[:, :4], y > 140
    model = ScorecardClassifier(random_state=0).fit(X, y)
    return model, X, model.predict(X), {}


def selective():
    X, y = _xy(1500, 3)
    X = np.nan_to_num(X)
    forest = RandomForestClassifier(8, random_state=0).fit(X[:200], y[:200])
    model = SelectiveTreeClassifier(FrozenEstimator(forest), random_state=0).fit(X[200:])
    frame = pd.DataFrame(X, columns=["x0", "x1", "x2"])
    assert 0 < model.defers(X).mean() < 1
    return model, frame, model.predict(X), {"otherwise": "model"}


CASES = {
    own.__name__: own
    for own in (
        tree_of_numbers, tree_of_values, tree_of_flags, forest_of_flags, forest_of_three,
        deep_forest, boosting, histogram_of_levels, xgboost, xgboost_of_values, card, selective,
    )
}  # fmt: skip
TREES_OF_LEVELS = ["code", "missing", "refused"]
_made = {}


def made(case, dialect):
    """A model, rows, what it answers, and options."""
    if case in TREES_OF_LEVELS:
        return tree_of_levels(case, dialect)
    if case not in _made:
        _made[case] = CASES[case]()
    return _made[case]
