"""CultivatedForestClassifier on tables with text, categories and gaps."""

import json
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from ensemble_simplify import CultivatedForestClassifier, ModuleTreeDisplay, simplify

SIZES = ["small", "mid", "large"]


def table(n=400, seed=0, gaps=0.1):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.normal(40, 12, n).round(1),
            "job": rng.choice(["clerk", "cook", "judge", "nurse", "pilot"], n),
            "size": pd.Categorical(rng.choice(SIZES, n), categories=SIZES, ordered=True),
        }
    )
    y = np.where(X["job"].isin(["cook", "pilot"]) ^ (X["size"] > "small"), "no", "yes")
    y[rng.random(n) < 0.1] = "no"
    X.loc[rng.random(n) < gaps, "age"] = np.nan
    X.loc[rng.random(n) < gaps, "job"] = None
    X.loc[rng.random(n) < gaps, "size"] = np.nan
    return X, y


def same_trees(one, other):
    for name, array in vars(one.modules_).items():
        np.testing.assert_array_equal(array, getattr(other.modules_, name), err_msg=name)


@pytest.mark.parametrize("parameters", [{}, {"max_leaf_nodes": 8, "max_options": 2}])
def test_it_is_the_tree_of_the_codes(parameters):
    X, y = table()
    clf = CultivatedForestClassifier(**parameters).fit(X, y)
    share = pd.Series(y == "yes").groupby(X["job"]).mean().sort_values()
    orders = {"job": share.index.tolist(), "size": SIZES}
    codes = X.copy()
    for name, order in orders.items():
        codes[name] = [order.index(v) if isinstance(v, str) else np.nan for v in X[name]]
    on_codes = CultivatedForestClassifier(**parameters).fit(codes.astype(float), y)
    same_trees(clf, on_codes)
    np.testing.assert_array_equal(clf.predict_proba(X), on_codes.predict_proba(codes.astype(float)))
    np.testing.assert_array_equal(clf.feature_names_in_, X.columns)


def test_levels_that_are_new_are_gaps():
    X, y = table(gaps=0.0)
    clf = CultivatedForestClassifier().fit(X, y)
    new, lacking = X[:50].astype({"size": object}), X[:50].astype({"size": object})
    new["job"], new["size"] = "baker", "huge"
    lacking["job"], lacking["size"] = None, np.nan
    np.testing.assert_array_equal(clf.predict_proba(new), clf.predict_proba(lacking))
    assert (clf.predict_proba(new) != clf.predict_proba(X[:50])).any()
    again = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(again.predict_spread(new), clf.predict_spread(new))
    with pytest.raises(ValueError, match="'job' where 'age' stood in fit"):
        clf.predict(X[["job", "age", "size"]])


def test_arrays_of_objects_and_folds():
    X, y = table()
    clf = CultivatedForestClassifier(ccp_alpha="cv", random_state=0)
    entries = X.astype(object).to_numpy()
    same_trees(
        clf.fit(X.astype({"size": object}), y),
        CultivatedForestClassifier(ccp_alpha="cv", random_state=0).fit(entries, y),
    )
    assert cross_val_score(clf, X, y).mean() > 0.75
    weight = np.arange(len(X)) % 3
    repeated = np.repeat(np.arange(len(X)), weight)
    one = CultivatedForestClassifier(leaf_values="shares", ccp_alpha=0.01).fit(X, y, weight)
    other = CultivatedForestClassifier(leaf_values="shares", ccp_alpha=0.01).fit(
        X.iloc[repeated], y[repeated]
    )
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-12)


def test_rules_say_the_levels_that_go_there():
    X, y = table(gaps=0.0)
    clf = CultivatedForestClassifier(option_modules=False, robust_splits=False, max_depth=4)
    clf.fit(X, y)
    weights = clf.predict_set(X).weights.toarray()
    levels_told = 0
    for column, leaf in enumerate(clf.modules_.leaves):
        holds = np.ones(len(X), dtype=bool)
        for part in clf.leaf_rule(leaf, decimals=12).split(" and "):
            name, sign, rest = re.fullmatch(r"(\w+) (<=|>|in) (.*)", part).groups()
            if sign == "in":
                levels_told += 1
                holds &= X[name].isin(json.loads(f"[{rest[1:-1]}]")).to_numpy()
            else:
                above = (X[name] > float(rest) + 1e-9).to_numpy()
                holds &= above if sign == ">" else ~above
        np.testing.assert_array_equal(holds, weights[:, column] == 1)
    assert levels_told > 4


def test_words_of_soft_modules():
    X, y = table()
    clf = CultivatedForestClassifier(max_leaf_nodes=4, max_options=2).fit(X, y)
    order = clf._table.levels[1].tolist()
    left, right = (
        clf.describe_module(0, ranges=True),
        clf.describe_module(0, left=False, ranges=True),
    )
    for told in (left, right):
        (text,) = (text for text in told if text.startswith("job in about {"))
        about, least, most = (json.loads(f"[{part}]") for part in re.findall(r"\{(.*?)\}", text))
        assert set(least) <= set(about) <= set(most)
        assert len(least) < len(most)
        assert about in (order[: len(about)], order[-len(about) :])
    text = clf.export_text()
    assert text.count('"cook"') > 0
    assert "job <=" not in text
    assert "size <=" not in text
    (first, *_), *_ = clf.explain(X[:1])
    assert first.rule == clf.leaf_rule(first.leaf)
    assert clf.export_text(feature_names=["a", "b", "c"]).replace("b in", "job in") != text


def test_drawings_wrap_long_sets():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    rng = np.random.default_rng(0)
    code = rng.integers(0, 40, 800)
    X = pd.DataFrame({"$place": [f"a place with the number {i}" for i in code]})
    clf = CultivatedForestClassifier(max_leaf_nodes=2).fit(X, code > 20)
    label = ModuleTreeDisplay.from_estimator(clf).labels[0]
    assert label.startswith(r"\$place in about")
    assert all(len(line) < 40 for line in label.split("\n"))
    assert len(label.split("\n")) <= 4
    assert label.endswith("…")
    pyplot.close("all")


def test_simplify_fits_it_on_the_table():
    X, y = table(160, gaps=0.0)
    numbers = make_pipeline(OrdinalEncoder(), RandomForestClassifier(5, random_state=0)).fit(X, y)
    found = simplify(FrozenEstimator(numbers), X, methods=["cultivated"], max_leaf_nodes=4)
    clf = found["cultivated"].fitted
    assert isinstance(clf, CultivatedForestClassifier)
    assert clf._table.levels[2].tolist() == SIZES
    assert "job in " in clf.export_text()
