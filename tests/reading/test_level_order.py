"""The order of levels by a model's answers."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from ensemble_simplify.reading import Model
from ensemble_simplify.reading.level_order import level_orders
from ensemble_simplify.reading.table import Table


def orders(column, answers, weight=None):
    """The levels of a column of text in their new order."""
    frame = pd.DataFrame({"x": column})
    table = Table.of_rows(frame, unknown="missing")
    rows = table.read(frame)
    weight = np.ones(len(rows)) if weight is None else weight
    found = level_orders(table, rows, answers, weight)
    new = table.reordered(found)
    # the same rows in other codes
    np.testing.assert_array_equal(new.read(frame), table.recoded(rows, found))
    pd.testing.assert_frame_equal(new.decode(new.read(frame)), frame)
    return new.levels[0].tolist()


def letters(rng, n, missing=True):
    return rng.choice(np.array(["a", "b", "c", "d", *[None] * missing], dtype=object), n)


@pytest.mark.parametrize("seed", range(5))
def test_two_classes_and_values_by_their_means(seed):
    rng = np.random.default_rng(seed)
    column = letters(rng, 400)
    mean = dict(zip([*"abcd", None], rng.permutation(5), strict=True))
    value = np.array([mean[x] for x in column]) + rng.normal(size=400) * 0.1
    expected = sorted("abcd", key=mean.get)
    assert orders(column, value[:, None]) == expected
    second = value > np.median(value)
    shares = pd.Series(second).groupby(column).mean()
    found = orders(column, np.column_stack([~second, second]).astype(float))
    assert shares[found].is_monotonic_increasing


def test_weights_count():
    column = np.array(["a", "b"] * 20, dtype=object)
    value = np.tile([0.0, 1.0, 4.0, 0.0], 10)[:, None]
    assert orders(column, value) == ["b", "a"]
    assert orders(column, value, np.tile([1.0, 1.0, 0.01, 1.0], 10)) == ["a", "b"]


def test_many_classes_on_their_first_component():
    rng = np.random.default_rng(0)
    column = letters(rng, 2000, missing=False)
    place = {"a": 0.1, "c": 0.35, "d": 0.6, "b": 0.9}  # from class 0 to class 2
    second = rng.random(2000) < np.array([place[x] for x in column])
    labels = np.where(rng.random(2000) < 0.2, 1, np.where(second, 2, 0))
    found = orders(column, np.eye(3)[labels])
    assert found in (list("acdb"), list("bdca"))


def test_levels_without_effect_and_rare_ones_do_not_repeat_the_answers():
    rng = np.random.default_rng(0)
    ids = np.array([f"{k:03}" for k in range(300)], dtype=object)
    noise = rng.normal(size=(300, 1))
    assert orders(ids, noise) == ids.tolist()
    # a rare level stands in the middle, whatever its few answers are
    column = np.array(["low"] * 50 + ["high"] * 50 + ["rare"] * 2, dtype=object)
    value = np.concatenate([rng.normal(0, 1, 50), rng.normal(5, 1, 50), [99.0, 99.0]])
    assert orders(column, value[:, None]) == ["low", "rare", "high"]


def test_levels_that_tests_single_out_come_in_the_order_that_takes_few_nodes():
    """Against all orders of the levels of one column, written out."""
    rng = np.random.default_rng(0)
    n = 800
    level = rng.choice(4, n, p=[0.1, 0.2, 0.3, 0.4])
    x = rng.random((n, 2))
    y = ((level == 2) & (x[:, 0] > 0.5)) | ((level == 0) & (x[:, 1] > 0.3)) | (x.sum(axis=1) > 1.6)
    frame = pd.DataFrame({"kind": np.array(list("abcd"), dtype=object)[level]})
    frame[["one", "two"]] = x
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["kind"]), remainder="passthrough"
    )
    model = make_pipeline(encoder, RandomForestClassifier(10, max_depth=6, random_state=0))
    model.fit(frame, y)
    found = Model.of(model).forest.on_thresholds
    n_nodes = []
    for order in permutations(range(4)):
        own = np.array(list("abcd"), dtype=object)[list(order)]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                "ensemble_simplify.reading.trees.order_of_sides",
                lambda *given, order=order: np.array(order),
            )
            other = Model.of(model)
        assert other.table.levels[0].tolist() == own.tolist()
        n_nodes.append(other.forest.on_thresholds.n_nodes)
    assert found.n_nodes <= np.quantile(n_nodes, 0.1)
    assert found.n_nodes < 0.95 * max(n_nodes)
