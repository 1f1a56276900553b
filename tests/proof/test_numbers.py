"""Numbers of models whose sums start, end or are rounded in ways of their own.

LightGBM's random forests divide their sums, treelite and ONNX add base scores at the end, XGBoost
adds up in float32. What `verify` says of them is compared with the models' own answers in every
cell of their common grid.
"""

import copy

import numpy as np
import pytest
from readers import READERS, cells, changed, data, numbers, to_onnx, to_treelite
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor
from threadpoolctl import threadpool_limits

from ensemble_simplify import (
    OnnxModel,
    export_model,
    import_model,
    is_monotone,
    is_sensitive,
    sufficient_box,
    verify,
)
from ensemble_simplify.reading import Model
from ensemble_simplify.reading import model as _model

lightgbm = pytest.importorskip("lightgbm")
pytest.importorskip("xgboost")


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    with threadpool_limits(1):
        yield


def saved_as(model, text):
    """A copy of a LightGBM model with another text."""
    other = copy.copy(model)
    other._Booster = lightgbm.Booster(model_str=text)
    return other


def total_of(model):
    """The same trees as a random forest of LightGBM, added up and not averaged."""
    text = model.booster_.model_to_string()
    assert "\naverage_output\n" in text
    return saved_as(model, text.replace("\naverage_output\n", "\n"))


def check_apart(a, b, atol, **options):
    """Both orders are told apart, at a row that the models themselves confirm."""
    for one, two in ((a, b), (b, a)):
        outcome = verify(one, two, atol=atol, **options)
        assert outcome.equal is False
        row = outcome.counterexample[None]
        off = np.abs(numbers(one, row) - numbers(two, row)).max()
        assert atol < off <= outcome.max_difference <= outcome.max_difference_bound


def check_close(a, b, atol, **options):
    """Both orders are proven, and the bound is between all differences and the tolerance."""
    rows = cells(a, b)
    largest = np.abs(numbers(a, rows) - numbers(b, rows)).max()
    assert largest <= atol
    for one, two in ((a, b), (b, a)):
        outcome = verify(one, two, atol=atol, **options)
        assert outcome.equal is True
        assert outcome.max_difference <= largest <= outcome.max_difference_bound <= atol


@pytest.mark.parametrize("family", ["lightgbm forest, value", "lightgbm forest"])
def test_a_mean_of_trees_is_not_their_sum(family):
    model = READERS[family].fitted()
    total = total_of(model)
    rows = cells(model, total)
    largest = np.abs(numbers(model, rows) - numbers(total, rows)).max()
    assert largest > (0.1 if hasattr(model, "classes_") else 100)
    for atol in (0.01 * largest, 0.5 * largest, 0.99 * largest):
        check_apart(model, total, atol)
        check_apart(model, total, atol, X=data(2)[0][:2], max_changes=3)
    check_close(model, total, 1.01 * largest)


def test_a_mean_far_from_the_sum_only_in_a_corner():
    """Random cells do not meet the one box in which mean and sum are far apart."""
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 2, size=(1200, 5))
    # half of the rows are out of the box on one axis, on either side
    out = np.arange(600)
    X[out, out % 5] += np.where(out % 2, 1.0, -1.0)
    y = np.where(np.arange(1200) < 600, 0.0, 1000.0)
    forest = lightgbm.LGBMRegressor(
        boosting_type="rf",
        n_estimators=4,
        num_leaves=11,
        bagging_freq=1,
        bagging_fraction=0.7,
        verbose=-1,
        n_jobs=1,
        random_state=0,
    ).fit(X, y)
    total = total_of(forest)
    off = np.abs(forest.predict(X) - total.predict(X))
    assert off.max() == pytest.approx(3000.0)
    for atol in (120.0, 2990.0):
        check_apart(forest, total, atol)
    outcome = verify(forest, total, atol=3010.0)
    assert outcome.equal is True
    assert off.max() <= outcome.max_difference_bound <= 3010.0


COPIES = {
    "xgboost": 1e-3,
    "xgboost forest": 1e-3,
    "xgboost dart": 1e-3,
    "xgboost, value": 1e-2,
    "xgboost forest, value": 1e-2,
    "xgboost dart, value": 1e-2,
    "lightgbm": 1e-9,
    "lightgbm, slope": 1e-9,
    "lightgbm, value": 1e-9,
    "lightgbm forest": 1e-9,
    "lightgbm forest, value": 1e-9,
    "gradient": 1e-9,
    "forest, value": 1e-9,
}


@pytest.mark.parametrize("family", COPIES)
def test_copies_in_treelite(family):
    model, atol = READERS[family].fitted(), COPIES[family]
    check_close(model, to_treelite(model), atol)
    check_close(model, to_treelite(model), atol, X=data(2)[0][:4], max_changes=1)
    check_apart(model, to_treelite(changed(model)), 20 * atol)
    check_apart(changed(model), to_treelite(model), 20 * atol)


@pytest.mark.parametrize("family", ["gradient", "gradient, value", "forest, value"])
def test_copies_in_onnx(family):
    model, atol = READERS[family].fitted(), 1e-3
    check_close(model, to_onnx(model), atol)
    check_apart(model, to_onnx(changed(model)), 20 * atol)


@pytest.mark.parametrize("name", ["XGBRegressor", "LGBMRegressor"])
def test_more_trees_than_cells_can_be_listed(name):
    """A base score, added at the end by the one and at the start by the other."""
    import xgboost

    X, y = data(0)
    options = dict(n_estimators=30, max_depth=3, n_jobs=1)
    if name == "XGBRegressor":
        model = xgboost.XGBRegressor(base_score=150.0, **options).fit(X, y)
    else:
        model = lightgbm.LGBMRegressor(verbose=-1, min_child_samples=3, **options).fit(X, y)
    outcome = verify(model, to_treelite(model), atol=1e-2, time_limit=20)
    assert outcome.equal is True
    rows = np.random.default_rng(0).uniform(0, 3, size=(500, 3)).astype(np.float32)
    largest = np.abs(numbers(model, rows) - numbers(to_treelite(model), rows)).max()
    assert largest <= outcome.max_difference_bound <= 1e-2
    check_apart(model, to_treelite(changed(model)), 1e-2, time_limit=20)


def test_the_slope_of_a_sigmoid_is_part_of_a_model():
    """The same trees with another slope are not a copy."""
    make = lightgbm.LGBMClassifier(
        n_estimators=3, num_leaves=4, min_child_samples=5, verbose=-1, n_jobs=1
    )
    model = make.fit(*data(2))
    text = model.booster_.model_to_string()
    assert "binary sigmoid:1" in text
    steep = saved_as(model, text.replace("binary sigmoid:1", "binary sigmoid:3"))
    for convert in (lambda model: model, to_treelite):
        check_apart(convert(model), convert(steep), 0.01)
        assert verify(convert(model), convert(steep)).equal is True


def test_probabilities_of_converted_forests():
    """Means of treelite's float64 are the same, those of float32 in ONNX close."""
    forest = READERS["extra trees"].fitted()
    rows = cells(forest)
    for copied in (to_treelite(forest), to_onnx(forest)):
        assert np.abs(numbers(forest, rows) - numbers(copied, rows)).max() < 1e-6
        check_close(forest, copied, 1e-5)
    check_apart(forest, to_onnx(READERS["extra trees"].changed()), 1e-5)


@pytest.mark.parametrize("base", [1e5, 1e6])
def test_a_base_score_that_rounds_what_leaves_add(base):
    """Sums of float32 from there, and to there, are furthest apart in a few cells."""
    import xgboost

    X, y = data(0)
    model = xgboost.XGBRegressor(n_estimators=10, max_depth=3, n_jobs=1, base_score=base)
    model.fit(X, base + y / 8)
    copied = to_treelite(model)
    rows = cells(model)
    off = np.abs(numbers(model, rows) - numbers(copied, rows))
    assert 0 < (off == off.max()).mean() < 0.01
    check_apart(model, copied, np.nextafter(off.max(), 0))
    check_close(model, copied, off.max())


def test_a_mean_to_which_a_base_value_is_added():
    """Divided first, then added to: ONNX's average with a base value."""
    onnx = pytest.importorskip("onnx")
    forest = READERS["forest, value"].fitted()
    graph = to_onnx(forest).model
    # its leaves were divided by the number of trees before
    node = next(node for node in graph.graph.node if node.op_type == "TreeEnsembleRegressor")
    for name, value in (("aggregate_function", "AVERAGE"), ("base_values", [100.0])):
        assert name not in [attribute.name for attribute in node.attribute]
        node.attribute.append(onnx.helper.make_attribute(name, value))
    same = copy.deepcopy(forest)
    for tree in same.estimators_:
        tree.tree_.value[...] = tree.tree_.value / len(same.estimators_) + 100.0
    # by bounds, not by asking the models in every cell
    check_close(OnnxModel(graph), same, 1e-2, max_boxes=30)
    check_apart(OnnxModel(graph), forest, 1e-2)


def test_an_answer_that_was_asked_refutes_a_proof():
    """Answers that are not what the trees say are found out where the sample misses them."""
    X, y = data(0)
    forest = RandomForestRegressor(3, max_depth=2, random_state=0).fit(X, y)
    doubled = copy.deepcopy(forest)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RandomForestRegressor, "predict", _doubled_if(doubled))
        with pytest.raises(TypeError, match="answers otherwise than its trees"):
            verify(forest, doubled, atol=1.0)
        patch.setattr(_model, "check_sample", lambda read: None)
        for options in ({}, {"X": X, "max_changes": 1}):
            outcome = verify(forest, doubled, atol=1.0, **options)
            assert outcome.equal is False
            row = outcome.counterexample[None]
            assert abs(forest.predict(row)[0] - doubled.predict(row)[0]) > 1.0


def _doubled_if(model):
    plain = RandomForestRegressor.predict
    trees = set(map(id, model.estimators_))

    def predict(self, X):
        own = trees == set(map(id, self.estimators_))
        return plain(self, X) * (2.0 if own else 1.0)

    return predict


# ------------------------------------------------------------------- exponentials of sums


def _on_grid(seed):
    """Two regressors of counts on a grid, what both answer at all its cells, and these."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (150, 3)).astype(np.float64)
    y = rng.poisson(np.exp(0.5 * X[:, 0] - 0.2 * X[:, 1])) + 0.5
    options = dict(max_iter=4, max_leaf_nodes=4, min_samples_leaf=5, monotonic_cst=[seed % 2, 0, 0])
    first = HistGradientBoostingRegressor(loss="poisson", learning_rate=0.3, **options).fit(X, y)
    options["learning_rate"] = 0.4
    second = HistGradientBoostingRegressor(loss="gamma", **options).fit(X[:120], y[:120])
    # thresholds are halves, and doubles beside them are no float32 of a cell of its own
    ends = np.unique(np.concatenate([Model.of(m).finest.threshold for m in (first, second)]))
    axis = np.unique(np.concatenate([ends, np.nextafter(ends, np.inf), [-1.0, 9.0]]))
    cells = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), -1).reshape(-1, 3)
    return (first, second), [model.predict(cells) for model in (first, second)], len(axis)


@pytest.mark.parametrize("seed", range(6))
def test_values_behind_an_exponential(seed):
    (one, two), (a, b), _ = _on_grid(seed)
    apart = np.abs(a - b)
    most, half = apart.max(), 0.3 * apart.max()
    share = (np.clip(apart - half, 0, None) / b).max()
    for atol, rtol, within in (
        (1.001 * most, 0, True),
        (0.999 * most, 0, False),
        (0, 1.001 * (apart / b).max(), True),
        (0, 0.999 * (apart / b).max(), False),
        (half, 1.001 * share, True),
        (half, 0.999 * share, False),
    ):
        found = verify(one, two, atol=atol, rtol=rtol)
        assert found.equal is within
        assert found.max_difference_bound >= (1 - 1e-12) * (most if within else 0)
        if within and rtol == 0:
            assert found.max_difference_bound <= 1.001 * most


@pytest.mark.parametrize("seed", range(6))
def test_rises_behind_an_exponential(seed):
    (model, _), (answers, _), n = _on_grid(seed)
    cube = answers.reshape(n, n, n)
    for feature in range(3):
        rises = (np.diff(cube, axis=feature) >= 0).all()
        assert bool(is_monotone(model, feature, response="value")) is bool(rises)
        spread = float(np.ptp(cube, axis=feature).max())
        for gap in (0.95 * spread, 1.05 * spread + 1e-6):
            found = is_sensitive(model, [feature], response="value", gap=gap)
            assert bool(found) is (spread > gap)


def test_a_tree_of_values_stands_beside_an_exponential():
    (model, _), _, _ = _on_grid(0)
    X = np.random.default_rng(3).integers(0, 4, (400, 3)).astype(np.float64)
    tree = DecisionTreeRegressor(max_depth=2).fit(X, model.predict(X))
    apart = np.abs(tree.predict(X) - model.predict(X)).max()
    found = verify(model, tree, rtol=0.001, atol=2 * apart)
    assert found.equal is True
    assert apart <= found.max_difference_bound < 2 * apart
    assert verify(model, tree, atol=0.9 * apart).equal is False
    # below zero there are no logarithms
    below = DecisionTreeRegressor(max_depth=2).fit(X, -model.predict(X))
    with pytest.raises(TypeError, match="a single tree of positive values"):
        verify(model, below, atol=1.0)


def test_a_copy_with_other_exponentials_is_no_copy():
    catboost = pytest.importorskip("catboost")
    X = np.random.default_rng(0).integers(0, 4, (150, 3)).astype(np.float64)
    options = dict(loss_function="Poisson", iterations=4, depth=2, verbose=0)
    model = catboost.CatBoostRegressor(**options, allow_writing_files=False).fit(X, X.sum(axis=1))
    copied = import_model(export_model(model, "json"))
    found = verify(model, copied, atol=1e-9)
    assert found.equal is True
    assert 0 < found.max_difference_bound <= 1e-9
    with pytest.raises(TypeError, match="which it rounds in its own way"):
        sufficient_box(model, X[0], within=0.5)
    box = sufficient_box(copied, X[0], within=0.5)
    assert "value" in str(box)
