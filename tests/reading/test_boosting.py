"""HistGradientBoosting, XGBoost and LightGBM: the forest decides as their predict does."""

import re

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from strategies import CLASSIFIERS, cell_points, edge_points, small_data
from threadpoolctl import threadpool_limits

from ensemble_simplify import BornAgainClassifier, verify
from ensemble_simplify.reading.decision import labels_of
from ensemble_simplify.reading.forest import read_forest, tree_estimators

# scikit-learn looks for NaN by adding up all entries: rows of the largest numbers overflow.
pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")

DATA = {
    "two": lambda: load_breast_cancer(return_X_y=True),
    "three": lambda: load_wine(return_X_y=True),
    "four": lambda: small_data(0, n_classes=4, n_rows=90, labels="plain"),
}


@pytest.fixture(autouse=True)
def _one_thread():
    with threadpool_limits(1):
        yield


def points(forest):
    """Float32 rows: cells, and thresholds with their neighbours."""
    edges = edge_points(forest.threshold[forest.feature >= 0], forest.n_features, 1500)
    return np.concatenate([cell_points(forest, limit=1500), edges]).astype(np.float32)


def raw_scores(forest, X):
    """Sums of leaf votes, as `decide` sees them."""
    vote, leaves = forest.vote, forest.apply(X)
    total = np.tile(vote.init.astype(vote.dtype), (len(X), 1))
    for tree in range(forest.n_trees):
        total += forest.value[leaves[:, tree]].astype(vote.dtype)
    return total


def assert_same(model, truth):
    forest = read_forest(model)
    X = points(forest)
    np.testing.assert_array_equal(forest.classes[forest.predict_index(X)], model.predict(X))
    raw = raw_scores(forest, X)
    np.testing.assert_array_equal(raw, truth(X).reshape(raw.shape))
    return forest


def assert_linear(forest):
    X = points(forest)
    linear = forest.sums
    sums = linear.folded[forest.apply(X)].sum(axis=1)
    order = np.sort(sums, axis=1)
    clear = order[:, -1] - order[:, -2] > linear.error_bound
    assert clear.mean() > 0.2
    np.testing.assert_array_equal(sums.argmax(axis=1)[clear], forest.predict_index(X)[clear])


def assert_link(forest, sums, truth):
    """Labels of given sums of leaf votes, near ties."""

    def all_trees(start, stop, init):
        return sums if start == 0 else np.zeros_like(sums)

    np.testing.assert_array_equal(labels_of(forest.vote, all_trees), truth)


def near_ties(n_columns, spread, seed=0):
    """Rows of scores that differ by a few roundings at most."""
    rng = np.random.default_rng(seed)
    level = rng.normal(size=(20_000, 1)) * (n_columns > 1)
    sums = level + rng.normal(size=(20_000, n_columns)) * spread
    sums[rng.random(sums.shape) < 0.1] -= 1.0
    return sums


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize(
    "options", [{}, {"max_leaf_nodes": 3, "max_iter": 2}, {"min_samples_leaf": 1}]
)
def test_hist_gradient_boosting(data, options):
    X, y = DATA[data]()
    model = HistGradientBoostingClassifier(**{"max_iter": 12, **options}).fit(X, y)
    forest = assert_same(model, model.decision_function)
    assert_linear(forest)
    assert forest.input_dtype == "float64"
    assert forest.vote.link.kind == ("sigmoid" if data == "two" else "softmax")
    assert not forest.vote.by_probability


def test_hist_gradient_boosting_with_missing_values():
    X, y = DATA["three"]()
    X = X.copy()
    X[::3, 0] = np.nan
    model = HistGradientBoostingClassifier(max_iter=5).fit(X, y)
    assert_same(model, model.decision_function)


def fine_data(seed, n_rows=200):
    """Seconds since 1970, which float32 does not tell apart, and three classes."""
    rng = np.random.RandomState(seed)
    X = 1.7e9 + rng.randint(0, 4000, (n_rows, 3)) * 0.37
    late = X > 1.7e9 + rng.randint(300, 1100, 3)
    y = late[:, 0] + (late[:, 1] & (rng.random_sample(n_rows) < 0.9))
    return X, y


def double_edges(forest, X, rng):
    """Rows whose entry at a test is its threshold, or the double before or after it."""
    at = np.flatnonzero(forest.feature >= 0)
    rows = [X]
    for direction in (-np.inf, None, np.inf):
        rows.append(X[rng.randint(len(X), size=len(at))])
        entry = forest.threshold[at]
        entry = entry if direction is None else np.nextafter(entry, direction)
        rows[-1][np.arange(len(at)), forest.feature[at]] = entry
    return np.concatenate(rows)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["hist", "lightgbm", "of both types"])
def test_models_that_compare_doubles_are_read_for_all_doubles(kind, seed):
    X, y = fine_data(seed)
    hist = HistGradientBoostingClassifier(max_iter=5, random_state=0)
    if kind == "hist":
        model = hist
    elif kind == "lightgbm":
        lightgbm = pytest.importorskip("lightgbm")
        model = lightgbm.LGBMClassifier(n_estimators=5, n_jobs=1, verbose=-1)
    else:
        trees = RandomForestClassifier(3, random_state=0)
        model = VotingClassifier([("hist", hist), ("trees", trees)])
    model.fit(X, y)
    forest = read_forest(model).in_doubles()
    rows = double_edges(forest, X, np.random.RandomState(seed))
    answers = model.predict(rows)
    np.testing.assert_array_equal(forest.classes[forest.predict_index(rows)], answers)
    coarse = read_forest(model)
    assert (coarse.classes[coarse.predict_index(rows)] != answers).any()


def test_models_that_round_to_float32_have_no_other_reading():
    X, y = DATA["three"]()
    forest = read_forest(RandomForestClassifier(2, random_state=0).fit(X, y))
    assert forest.in_doubles() is None


def test_hist_gradient_boosting_tie_goes_down():
    X = np.repeat([[0.0], [1.0]], 40, axis=0)
    model = HistGradientBoostingClassifier(max_iter=2).fit(X, np.tile([0, 1], 40))
    np.testing.assert_array_equal(read_forest(model).predict_index(X), 0)
    np.testing.assert_array_equal(model.predict(X), 0)


def test_refused_hist_gradient_boosting(monkeypatch):
    X, y = DATA["four"]()
    model = HistGradientBoostingClassifier(max_iter=2).fit(X, y)
    with pytest.raises(ValueError, match="not defined for boosting"):
        read_forest(model, voting="hard")
    with pytest.raises(TypeError, match="does not hold scikit-learn trees"):
        tree_estimators(model)
    for stage in model._predictors:
        for predictor in stage:
            nodes = predictor.nodes
            names = [name for name in nodes.dtype.names if name != "is_leaf"]
            monkeypatch.setattr(predictor, "nodes", nodes[names])
    with pytest.raises(ValueError, match=r"a layout that is not known .*scikit-learn from 1\.6"):
        read_forest(model)


def test_boosting_in_a_hard_vote():
    X, y = DATA["four"]()
    members = [("a", HistGradientBoostingClassifier(max_iter=2)), ("b", CLASSIFIERS["forest"](0))]
    members.append(("c", CLASSIFIERS["boosting"](0)))
    model = VotingClassifier(members, weights=[0.3, 0.3, 0.5]).fit(X, y)
    forest = read_forest(model)
    P = points(forest)
    np.testing.assert_array_equal(forest.predict_index(P), model.predict(P))


class TestXGBoost:
    @pytest.fixture(autouse=True)
    def _package(self):
        self.xgboost = pytest.importorskip("xgboost")

    def classifier(self, **options):
        return self.xgboost.XGBClassifier(**{"n_jobs": 1, **options})

    @pytest.mark.parametrize("data", DATA)
    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"base_score": 0.3, "max_depth": 1},
            {"num_parallel_tree": 3, "subsample": 0.5},
            {"n_estimators": 60, "learning_rate": 0.7},
        ],
    )
    def test_classifier(self, data, options):
        X, y = DATA[data]()
        if data != "two":
            options = {k: v for k, v in options.items() if k != "base_score"}
        model = self.classifier(**{"n_estimators": 15, "max_depth": 3, **options})
        rows = np.random.default_rng(0).choice(len(X), 80)
        rows[:20] = [np.flatnonzero(y == k % (y.max() + 1))[k // 4] for k in range(20)]
        model.fit(X[rows], y[rows])
        forest = assert_same(model, lambda P: model.predict(P, output_margin=True))
        assert_linear(forest)
        assert forest.input_dtype == "float32"

    @pytest.mark.parametrize("share", [1, -1, 7, 40, 400])
    def test_nearly_balanced_classes(self, share):
        """The start of the sums is a small number: its neighbours are many and close."""
        rng = np.random.default_rng(0)
        n_rows = 1000
        for n_trees, options in ((3, {}), (2, {"num_parallel_tree": 3, "subsample": 0.7})):
            X = rng.normal(size=(n_rows, 3))
            y = rng.permutation(np.arange(n_rows) < n_rows // 2 + share).astype(int)
            model = self.classifier(n_estimators=n_trees, max_depth=3, **options).fit(X, y)
            assert_same(model, lambda P, model=model: model.predict(P, output_margin=True))

    @pytest.mark.parametrize("base_score", [1e-6, 0.5, 0.5 + 2**-20, 1 - 2**-20])
    def test_any_base_score(self, base_score):
        X, y = DATA["two"]()
        model = self.classifier(n_estimators=3, max_depth=2, base_score=base_score).fit(X, y)
        assert_same(model, lambda P: model.predict(P, output_margin=True))

    def test_random_forest(self):
        X, y = DATA["two"]()
        model = self.xgboost.XGBRFClassifier(n_estimators=7, max_depth=2).fit(X, y)
        assert_same(model, lambda P: model.predict(P, output_margin=True))

    def test_float64_rows_are_cast(self):
        X, y = DATA["two"]()
        model = self.classifier(n_estimators=3).fit(X, y)
        forest = read_forest(model)
        P = edge_points(forest.threshold[forest.feature >= 0], forest.n_features, 1500)
        np.testing.assert_array_equal(forest.predict_index(P), model.predict(P))

    def test_early_stopping(self):
        X, y = DATA["three"]()
        model = self.classifier(n_estimators=40, early_stopping_rounds=2)
        model.fit(X[::2], y[::2], eval_set=[(X[1::2] + 0.5, y[1::2])], verbose=False)
        assert model.get_booster().num_boosted_rounds() > model.best_iteration + 1
        forest = assert_same(model, lambda P: model.predict(P, output_margin=True))
        assert forest.n_trees == 3 * (model.best_iteration + 1)

    def test_missing_values_and_single_leaves(self):
        X, y = DATA["three"]()
        X = X.copy()
        X[::3, 0] = np.nan
        for options in ({}, {"min_child_weight": 1e6}):
            model = self.classifier(n_estimators=5, **options).fit(X, y)
            assert_same(model, lambda P, model=model: model.predict(P, output_margin=True))

    @pytest.mark.parametrize("data", ["two", "three"])
    def test_link(self, data):
        X, y = DATA[data]()
        model = self.classifier(n_estimators=1, max_depth=1, learning_rate=0.0)
        forest = read_forest(model.fit(X, y))
        sums = near_ties(forest.n_scores, 3e-7).astype(np.float32)
        blank = np.zeros((len(sums), X.shape[1]), dtype=np.float32)
        base = sums[:, 0] if forest.n_scores == 1 else sums
        truth = model.predict(blank, base_margin=base)
        assert 0.1 < (truth == 0).mean() < 0.9
        assert (truth != (sums[:, 0] > 0 if forest.n_scores == 1 else sums.argmax(axis=1))).any()
        vote = forest.vote
        vote.init[:] = 0
        assert_link(forest, sums.astype(np.float64), truth)

    def test_refused_and_vectors_in_leaves(self):
        X, y = DATA["two"]()
        classifier = self.classifier
        for options, message in (
            ({"booster": "gblinear"}, "booster='gblinear'"),
            ({"missing": 0.0}, "missing=0.0"),
            ({"objective": "binary:hinge"}, "not supported"),
            ({"objective": "binary:logitraw"}, "not supported"),
        ):
            model = classifier(n_estimators=2, **options).fit(X, y)
            with pytest.raises(ValueError, match=message):
                read_forest(model)
        X, y = DATA["three"]()
        model = classifier(n_estimators=2, multi_strategy="multi_output_tree").fit(X, y)
        assert_same(model, lambda P: model.predict(P, output_margin=True))


class TestLightGBM:
    @pytest.fixture(autouse=True)
    def _package(self):
        self.lightgbm = pytest.importorskip("lightgbm")

    def classifier(self, **options):
        return self.lightgbm.LGBMClassifier(
            **{"n_estimators": 12, "min_child_samples": 5, "verbose": -1, "n_jobs": 1, **options}
        )

    @pytest.mark.parametrize("data", DATA)
    @pytest.mark.parametrize(
        "options",
        [{}, {"boosting_type": "dart"}, {"boost_from_average": False, "num_leaves": 3}],
    )
    def test_classifier(self, data, options):
        X, y = DATA[data]()
        labels = np.array(["ant", "bee", "cat", "dog"])
        model = self.classifier(**options).fit(X, labels[y])
        forest = assert_same(model, lambda P: model.predict(P, raw_score=True))
        assert_linear(forest)
        assert forest.input_dtype == "float64"

    def test_missing_values_and_single_leaves(self):
        X, y = DATA["three"]()
        X = X.copy()
        X[::3, 0] = np.nan
        for options in ({}, {"min_child_samples": 1000}):
            model = self.classifier(**options).fit(X, y)
            assert_same(model, lambda P, model=model: model.predict(P, raw_score=True))

    def test_early_stopping(self):
        X, y = DATA["three"]()
        stop = self.lightgbm.early_stopping(2, verbose=False)
        model = self.classifier(n_estimators=100).fit(
            X[::2], y[::2], eval_X=X[1::2] + 0.5, eval_y=y[1::2], callbacks=[stop]
        )
        forest = assert_same(model, lambda P: model.predict(P, raw_score=True))
        assert forest.n_trees == 3 * model.best_iteration_

    @pytest.mark.parametrize("data", ["two", "three"])
    def test_link(self, data):
        X, y = DATA[data]()
        model = self.classifier(n_estimators=1, sigmoid=1.3, min_child_samples=1000).fit(X, y)
        forest = read_forest(model)
        assert forest.vote.slope == (1.3 if data == "two" else 1.0)
        text = model.booster_.model_to_string()
        sums = near_ties(forest.n_scores, 2e-16)[:150]
        truth = []
        for row in sums:
            values = iter(row)
            changed = re.sub(
                "leaf_value=.*", lambda _, v=values: f"leaf_value={float(next(v))!r}", text
            )
            # The sizes of the trees have changed: without them, they are read one by one.
            changed = re.sub("tree_sizes=.*\n", "", changed)
            booster = self.lightgbm.Booster(model_str=changed)
            model._Booster = booster
            truth.append(model.predict(X[:1])[0])
        assert_link(forest, sums, truth)
        assert len(set(truth)) > 1

    def test_spaces_in_names_of_columns(self):
        """LightGBM keeps such names with underscores."""
        X, y = load_wine(return_X_y=True, as_frame=True)
        X = X.iloc[:, :4].set_axis(["a b", "c  d", "e_f", "g"], axis=1)
        model = self.classifier(n_estimators=2, num_leaves=3).fit(X, y)
        assert_same(model, lambda P: model.predict(P, raw_score=True))
        again = BornAgainClassifier(FrozenEstimator(model)).fit(X, y)
        np.testing.assert_array_equal(again.predict(X.astype(np.float32)), model.predict(X))
        assert list(again.feature_names_in_) == ["a b", "c  d", "e_f", "g"]
        assert BornAgainClassifier(self.classifier(n_estimators=2)).fit(X, y).verify().equal
        for names in (["a b", "c d", "e_f", "g"], ["c  d", "a b", "e_f", "g"]):
            other = X.set_axis(names, axis=1)
            with pytest.raises(ValueError, match="Pass the columns it was fitted on"):
                BornAgainClassifier(FrozenEstimator(model)).fit(other, y)

    def test_refused(self):
        X, y = DATA["two"]()
        for options, message in (
            ({"zero_as_missing": True}, "zero_as_missing=True"),
            ({"linear_tree": True}, "linear_tree=True"),
            ({"linear_trees": True}, "linear_tree=True"),
            ({"pred_early_stop": True}, "pred_early_stop=True"),
        ):
            rows = X * (np.arange(len(X)) % 3 > 0)[:, None]
            with pytest.raises(ValueError, match=message):
                read_forest(self.classifier(**options).fit(rows, y))
        X, y = DATA["three"]()
        with pytest.raises(ValueError, match="multiclass_ova"):
            read_forest(self.classifier(objective="multiclassova").fit(X, y))


def one_class_boosting():
    yield HistGradientBoostingClassifier(max_iter=2), "only"
    try:
        lightgbm = __import__("lightgbm")
        yield lightgbm.LGBMClassifier(n_estimators=2, verbose=-1, n_jobs=1), "only"
        xgboost = __import__("xgboost")
        yield xgboost.XGBClassifier(n_estimators=2, n_jobs=1), 0
    except ImportError:
        return


@pytest.mark.parametrize(("model", "label"), list(one_class_boosting()))
def test_boosting_of_one_class(model, label):
    X = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
    model = model.fit(X, np.full(60, label))
    forest = read_forest(model)
    assert (forest.classes[forest.predict_index(X)] == model.predict(X)).all()
    assert verify(model, model)
    tree = BornAgainClassifier(FrozenEstimator(model)).fit(X, np.full(60, label))
    assert (tree.predict(X) == label).all()
    assert tree.predict_proba(X).shape == (60, 1)
    assert tree.verify()
    with pytest.raises(TypeError, match="not means over its trees"):
        verify(model, model, atol=0.1)


def test_more_classes_than_are_told_are_refused():
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = HistGradientBoostingClassifier(max_iter=2).fit(X, X[:, 0] > 0)
    model.classes_ = model.classes_[:1]
    with pytest.raises(ValueError, match="has 1 classes_, but its trees vote for 2"):
        read_forest(model)


class TestNoTrees:
    @pytest.fixture(autouse=True)
    def _package(self):
        self.xgboost = pytest.importorskip("xgboost")

    @pytest.mark.parametrize("n_classes", [2, 3])
    @pytest.mark.parametrize("base_score", [None, 0.3])
    def test_classifier(self, n_classes, base_score):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(60, 3)).astype(np.float32), np.arange(60) % n_classes
        options = {} if n_classes > 2 else {"base_score": base_score}
        model = self.xgboost.XGBClassifier(n_estimators=0, n_jobs=1, **options).fit(X, y)
        forest = read_forest(model)
        assert (forest.classes[forest.predict_index(X)] == model.predict(X)).all()
        assert verify(model, model)
        tree = BornAgainClassifier(FrozenEstimator(model)).fit(X, y)
        assert (tree.predict(X) == model.predict(X)).all()
        if n_classes == 2:
            assert verify(model, model, atol=0.0)

    def test_regressor(self):
        X = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
        model = self.xgboost.XGBRegressor(n_estimators=0, n_jobs=1).fit(X, X[:, 0] + 7)
        assert (read_forest(model).predict_index(X) == model.predict(X)).all()
        assert verify(model, model, atol=0.0)

    def test_dart_is_refused(self):
        X = np.random.default_rng(0).normal(size=(60, 3))
        model = self.xgboost.XGBClassifier(n_estimators=0, n_jobs=1, booster="dart")
        with pytest.raises(ValueError, match="n_estimators=1 or more"):
            read_forest(model.fit(X, X[:, 0] > 0))
