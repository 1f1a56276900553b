"""Two models whose tables have the same levels in another order, or not the same levels.

The truth is what both models themselves answer to every combination of levels, levels that nobody
knows, gaps and numbers between all thresholds.
"""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from ensemble_simplify import Domain, RepresenterTree, agreement, nearest_flip, verify
from ensemble_simplify.front._table_tree import TableTree
from ensemble_simplify.reading import Model, Table, common_table

COLORS, SHAPES = ["red", "green", "blue", "amber"], ["disk", "cube", "cone"]
NAMES = np.array(["color", "size", "shape"], dtype=object)


def table_of(rng, colors, shapes, n=60, gaps=False):
    X = pd.DataFrame(
        {
            "color": rng.choice(colors, n),
            "size": rng.integers(0, 4, n).astype(float),
            "shape": rng.choice(shapes, n),
        }
    ).astype({"color": object, "shape": object})
    if gaps:
        X.loc[rng.random(n) < 0.2, ["color", "shape"]] = np.nan
    y = ((X["color"] == "red") ^ (X["size"] > 1) | (X["shape"] == "cone")).to_numpy(dtype=int)
    return X, np.where(rng.random(n) < 0.7, y, rng.integers(0, 2, n))


def pipeline(encoder, X, y, seed, last=None):
    step = ColumnTransformer([("c", encoder, ["color", "shape"])], remainder="passthrough")
    last = RandomForestClassifier(3, max_depth=3, random_state=seed) if last is None else last
    return make_pipeline(step, last).fit(X, y)


def coded_tree(colors, shapes, unknown, X, y):
    """A tree on codes in some order of the levels."""
    levels = np.array(colors, dtype=object), None, np.array(shapes, dtype=object)
    table = Table.of_levels(NAMES, levels, (unknown, "refused", unknown))
    tree = DecisionTreeClassifier(random_state=0)
    tree.fit(np.asarray(table.encode(X), dtype=np.float32), y)
    tree._table = table
    tree.feature_names_in_ = NAMES
    return TableTree.of(tree)


def fitted(kind, rng, colors, shapes, gaps):
    X, y = table_of(rng, colors, shapes, gaps=gaps)
    seed = int(rng.integers(1000))
    if kind == "one_hot":
        return pipeline(OneHotEncoder(handle_unknown="ignore"), X, y, seed)
    if kind == "ordinal":
        options = {"handle_unknown": "use_encoded_value", "unknown_value": -1}
        return pipeline(OrdinalEncoder(**options), X, y, seed)
    for name, levels in (("color", colors), ("shape", shapes)):
        X[name] = pd.Categorical(X[name], categories=levels)
    return HistGradientBoostingClassifier(
        max_iter=3,
        max_leaf_nodes=5,
        min_samples_leaf=3,
        categorical_features="from_dtype",
        random_state=seed,
    ).fit(X, y)


def every_row(colors=(*COLORS, "zzz"), shapes=(*SHAPES, "yyy"), step=0.25, gap=(np.nan,)):
    sizes = np.arange(-1.0, 4.5, step)
    rows = itertools.product([*colors, *gap], [*sizes, *gap], [*shapes, *gap])
    return pd.DataFrame(list(rows), columns=list(NAMES)).astype({"color": object, "shape": object})


def rows_that_count(models, X, missing):
    """Rows that no model refuses, and, unless they are all told to be missing, may be missing."""
    table, _ = common_table([Model.of(model) for model in models])
    may = np.ones(3, dtype=bool) if missing else table.may_miss()
    counts = np.ones(len(X), dtype=bool)
    for j, name in enumerate(NAMES):
        is_known = X[name].isna().to_numpy()
        if not may[j]:
            counts &= ~is_known
        if table.levels[j] is not None and table.unknown[j] == "refused":
            counts &= is_known | X[name].isin(table.levels[j].tolist()).to_numpy()
    return X[counts]


@pytest.mark.parametrize("unknown", ["missing", "code"])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("kind", ["one_hot", "ordinal", "boosting"])
@pytest.mark.parametrize("seed", range(2))
def test_levels_in_another_order(kind, unknown, missing, seed):
    rng = np.random.default_rng([seed, missing])
    model = fitted(kind, rng, rng.permutation(COLORS), SHAPES, gaps=True)
    domain = Domain(missing="all") if missing else None
    # a tree with the model's answers to all that there can be, on other codes, and one flipped
    known = every_row(step=1.0)
    answers = model.predict(known)
    flipped = answers.copy()
    flipped[rng.integers(len(known))] ^= 1
    for labels in (answers, flipped):
        order = rng.permutation(COLORS), rng.permutation(SHAPES)
        if rng.random() < 0.3:
            order = order[0][:3], order[1]
        tree = coded_tree(*order, unknown, known, labels)
        models = [model, tree] if rng.random() < 0.5 else [tree, model]
        X = rows_that_count(models, every_row(), missing)
        apart = models[0].predict(X) != models[1].predict(X)
        found = verify(*models, domain=domain)
        assert found.equal is (not apart.any())
        if not found:
            row = found.counterexample
            assert models[0].predict(row)[0] == found.predictions[0]
            assert models[1].predict(row)[0] == found.predictions[1]
            assert found.predictions[0] != found.predictions[1]
        assert agreement(*models, X, time_limit=0.01).n_different == apart.sum()
        assert verify(*models, X=X, max_changes=0).equal is (not apart.any())
        few = X[:2].astype({"color": "category", "shape": "category"})
        # all that there is differs in at most three features
        assert verify(*models, X=few, max_changes=3, domain=domain).equal is (not apart.any())


@pytest.mark.parametrize("seed", range(4))
def test_two_models_with_other_levels(seed):
    rng = np.random.default_rng(seed)
    kinds = rng.choice(["one_hot", "ordinal", "boosting"], 2)
    colors = [rng.permutation(COLORS)[: rng.integers(2, 5)] for _ in kinds]
    pair = zip(kinds, colors, strict=True)
    models = [fitted(kind, rng, own, rng.permutation(SHAPES), gaps=True) for kind, own in pair]
    X = rows_that_count(models, every_row(), False)
    apart = models[0].predict(X) != models[1].predict(X)
    found = verify(*models)
    assert found.equal is (not apart.any())
    assert agreement(*models, X, time_limit=0.01).n_different == apart.sum()


def test_a_level_that_one_model_refuses():
    rng = np.random.default_rng(0)
    X, y = table_of(rng, COLORS, SHAPES)
    few, labels = table_of(rng, COLORS[:3], SHAPES)
    first = pipeline(OneHotEncoder(), X, y, 0)
    second = pipeline(OneHotEncoder(), few, labels, 0)
    with pytest.raises(ValueError, match=r"'color' has the level 'amber', .* other one refuses"):
        verify(first, second)
    with pytest.raises(ValueError, match="'amber'"):
        agreement(first, second, X)


MONTHS = [2, 4, 5, 7]


def around(numbers):
    """Numbers, the float32 beside them, and some between and beyond."""
    single = np.array(numbers, dtype=np.float32)
    beside = [np.nextafter(single, np.float32(way)) for way in (-np.inf, np.inf)]
    return np.unique(np.concatenate([single, *beside, np.arange(0.0, 9.0, 0.25)])).astype(float)


@pytest.mark.parametrize("handle", ["ignore", "error"])
@pytest.mark.parametrize("with_text", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_levels_of_one_model_that_are_numbers_to_the_other(handle, with_text, seed):
    rng = np.random.default_rng(seed)
    months = rng.permutation(MONTHS)
    known = pd.DataFrame(
        itertools.product(MONTHS, [0.0, 1.0, 2.0], ["a", "b"]), columns=["month", "size", "kind"]
    )
    y = (known["month"].isin(months[:2]) ^ (known["size"] > 1)).astype(int)
    columns = ["month", "kind"] if with_text else ["month"]
    known = known if with_text else known[["month", "size"]]
    encoder = OneHotEncoder(handle_unknown=handle)
    model = make_pipeline(
        ColumnTransformer([("c", encoder, columns)], remainder="passthrough"),
        RandomForestClassifier(3, max_depth=3, random_state=seed),
    ).fit(known, y ^ (rng.random(len(y)) < 0.2))
    numbers = MONTHS if handle == "error" else around(MONTHS)
    texts = ["a", "b", "never"] if handle == "ignore" else ["a", "b"]
    every = itertools.product(numbers, np.arange(-0.25, 3.0, 0.25), texts)
    every = pd.DataFrame(every, columns=["month", "size", "kind"])[list(known.columns)]
    every = every.drop_duplicates(ignore_index=True)
    answers = model.predict(every)
    flipped = answers.copy()
    flipped[rng.integers(len(answers))] ^= 1
    for labels in (answers, flipped):
        tree = TableTree(random_state=0).fit(every, labels)
        assert tree._table.levels[0] is None
        # between the sizes that were tried, the tree's thresholds are others than the model's
        X = every[every["size"].isin([0.0, 1.0, 2.0, 3.0])]
        apart = model.predict(every) != tree.predict(every)
        models = [model, tree] if rng.random() < 0.5 else [tree, model]
        found = verify(*models, X=X, max_changes=0)
        assert found.equal is (not (model.predict(X) != tree.predict(X)).any())
        found = verify(*models)
        if apart.any():
            assert found.equal is False
        if found.equal is False:
            row = found.counterexample
            row = row if row.ndim == 2 else pd.DataFrame([row], columns=known.columns)
            assert models[0].predict(row)[0] == found.predictions[0]
            assert models[1].predict(row)[0] == found.predictions[1]
            assert found.predictions[0] != found.predictions[1]
        assert agreement(*models, every, time_limit=0.01).n_different == apart.sum()
        read = [Model.of(one) for one in models]
        table, read = common_table(read)
        rows = np.asarray(table.encode(every), dtype=float)
        for one in read:
            labels_read = one.forest.classes[one.forest.predict_index(rows)]
            np.testing.assert_array_equal(labels_read, one.estimator.predict(every))
            np.testing.assert_array_equal(one.answers(rows), one.estimator.predict(every))


def test_a_plain_tree_is_put_the_numbers_that_are_levels_to_a_pipeline():
    X = pd.DataFrame({"month": [2, 4, 5, 7] * 5, "size": np.arange(20) % 3})
    y = np.where(X["month"] > 4, "late", "early")
    step = ColumnTransformer([("c", OneHotEncoder(), ["month"])], remainder="passthrough")
    model = make_pipeline(step, DecisionTreeClassifier(random_state=0)).fit(X, y)
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    assert verify(model, tree)
    assert verify(tree, model, X=X, max_changes=1)
    wrong = DecisionTreeClassifier(random_state=0).fit(X, np.where(X["month"] > 2, "late", "early"))
    found = verify(model, wrong)
    row = pd.DataFrame(found.counterexample)
    assert model.predict(row)[0] == found.predictions[0]
    assert wrong.predict(row)[0] == found.predictions[1] != found.predictions[0]


def test_models_that_are_only_asked():
    rng = np.random.default_rng(0)
    X, y = table_of(rng, COLORS, SHAPES)
    asked = pipeline(
        OneHotEncoder(handle_unknown="ignore"), X, y, 0, MLPClassifier(max_iter=5, random_state=0)
    )
    known = every_row(step=1.0, gap=())
    tree = coded_tree(["blue", "red"], SHAPES[::-1], "missing", known, asked.predict(known))
    for models in ((asked, tree), (tree, asked)):
        found = agreement(*models, known, time_limit=0.01)
        assert found.n_different == (asked.predict(known) != tree.predict(known)).sum() > 0


@pytest.mark.parametrize("family", ["lightgbm", "histograms"])
def test_categories_of_booleans_are_levels(family):
    """As numbers, LightGBM takes them for gaps."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"flag": pd.Categorical(rng.random(200) < 0.5), "size": rng.normal(size=200)})
    y = (X.flag.astype(bool) ^ (X["size"] > 0)).astype(int)
    if family == "lightgbm":
        package = pytest.importorskip("lightgbm")
        model = package.LGBMClassifier(n_estimators=5, verbose=-1)
    else:
        model = HistGradientBoostingClassifier(max_iter=9, categorical_features="from_dtype")
    model.fit(X, y)
    assert verify(model, model).equal
    tree = RepresenterTree(FrozenEstimator(model), max_leaf_nodes=6, random_state=0).fit(X)
    assert (tree.predict(X) == model.predict(X)).mean() > 0.95
    flip = nearest_flip(model, X.iloc[[0]], max_changes=2)
    assert flip.predictions[0] == model.predict(X.iloc[[0]])[0] != flip.predictions[1]
