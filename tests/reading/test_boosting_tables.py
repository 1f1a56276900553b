"""Boosting over tables with missing values and categories: read as they predict, row for row."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.frozen import FrozenEstimator
from strategies import edge_points
from threadpoolctl import threadpool_limits

from ensemble_simplify import BornAgainClassifier, Domain, verify
from ensemble_simplify.grid import Axes
from ensemble_simplify.reading import forest as _forest
from ensemble_simplify.reading.families.lightgbm import LightGBM
from ensemble_simplify.reading.families.xgboost import XGBoost
from ensemble_simplify.reading.family import family_of
from ensemble_simplify.reading.forest import assemble, read_forest

pytestmark = [
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),
    pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning"),
]

DATA = Path(__file__).parent.parent / "data" / "boosted"
N_ROWS = 100_000
# Columns: codes with gaps, numbers, few codes, numbers with few values, many codes.
CODES = {0: np.array([0, 1, 2, 4, 5, 7, 8, 11]), 2: np.arange(3), 4: np.arange(40)}


@pytest.fixture(autouse=True)
def _one_thread():
    with threadpool_limits(1):
        yield


def table(seed, n_classes=2, n_rows=600, rare=False):
    """Rows with missing values and codes of categories, and classes (or numbers) that need both."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [
            rng.choice(CODES[0], n_rows),
            rng.normal(size=n_rows),
            rng.choice(CODES[2], n_rows),
            rng.integers(-2, 3, n_rows),
            rng.choice(CODES[4], n_rows),
        ]
    ).astype(float)
    score = rng.normal(size=n_rows) + X[:, 1] + (X[:, 0] % 3 == 1) - (X[:, 4] % 7 > 3)
    score += np.where(X[:, 2] == 1, X[:, 3], -X[:, 3])
    X[rng.random(X.shape) < 0.1] = np.nan
    score += np.isnan(X[:, 1])
    if n_classes == 0:
        return X, score
    ends = np.quantile(score, [0.12] if rare else np.arange(1, n_classes) / n_classes)
    return X, np.searchsorted(ends, score)


def rows_for(forest, X, seed=0, n_rows=N_ROWS):
    """Codes, also unseen ones, missing values, cut points and their neighbours, drawn at random."""
    rng = np.random.default_rng(seed)
    columns = []
    for j in range(forest.n_features):
        pool = [np.unique(X[:, j]), [np.nan, np.nan]]
        if forest.categorical is not None and forest.categorical[j]:
            pool.append(np.arange(np.nanmax(X[:, j]) + 4))
            pool.append([255, 256, 300, 70_000])
        else:
            cuts = forest.threshold[forest.feature == j]
            pool.append(edge_points(cuts, 1, 300, seed=seed)[:, 0].astype(np.float32))
            pool.append([0.0, -1e-38, 1e-36, -1e-36, 1e30])
        columns.append(rng.choice(np.concatenate(pool), n_rows))
    return np.column_stack(columns).astype(np.float32).astype(np.float64)


def assert_same(model, X, predict=None, seed=0):
    forest = read_forest(model)
    rows = rows_for(forest, X, seed)
    found = forest.predict_index(rows)
    if forest.classes is not None:
        found = forest.classes[found]
    truth = (predict or model.predict)(rows)
    np.testing.assert_array_equal(found, truth)
    if forest.classes is not None:
        assert len(np.unique(truth)) == forest.n_classes
        linear = forest.sums
        sums = linear.folded[forest.apply(rows[:5000])].sum(axis=1)
        order = np.sort(sums, axis=1)
        clear = order[:, -1] - order[:, -2] > linear.error_bound
        assert clear.mean() > 0.5
        labels = forest.classes[sums.argmax(axis=1)]
        np.testing.assert_array_equal(labels[clear], truth[:5000][clear])
    return forest


CASES = [(2, False), (2, True), (3, False)]


@pytest.mark.parametrize(("n_classes", "rare"), CASES)
@pytest.mark.parametrize("categorical", [[], [0, 2, 4], [4]])
def test_hist_gradient_boosting(n_classes, rare, categorical):
    X, y = table(0, n_classes, rare=rare)
    model = HistGradientBoostingClassifier(
        max_iter=6, max_leaf_nodes=12, min_samples_leaf=3, categorical_features=categorical
    ).fit(X, y)
    forest = assert_same(model, X)
    expected = np.isin(np.arange(5), categorical) if categorical else None
    np.testing.assert_array_equal(forest.categorical, expected)


def test_proofs_over_codes():
    """Born-again trees and proofs take whole numbers, unknown ones too, and missing values."""
    X, y = table(9)
    options = {"max_iter": 3, "max_leaf_nodes": 5, "categorical_features": [0, 2, 4]}
    model = HistGradientBoostingClassifier(**options).fit(X, y)
    tree = BornAgainClassifier(FrozenEstimator(model), method="heuristic", random_state=0)
    tree.fit(X.astype(np.float32).astype(np.float64), y)
    assert tree.verify()
    rows = rows_for(read_forest(model), X, n_rows=20_000)
    np.testing.assert_array_equal(tree.predict(rows), model.predict(rows))
    other = HistGradientBoostingClassifier(**{**options, "max_iter": 4}).fit(X, y)
    outcome = verify(model, other, domain=Domain(missing="all"))
    assert outcome.equal is False
    row = outcome.counterexample[None]
    assert model.predict(row)[0] != other.predict(row)[0]
    codes = row[0, [0, 2, 4]]
    assert (np.isnan(codes) | ((codes >= 0) & (codes == np.floor(codes)))).all()


def test_hist_gradient_boosting_regressor():
    X, y = table(1, 0)
    model = HistGradientBoostingRegressor(max_iter=6, categorical_features=[0, 4]).fit(X, y)
    assert_same(model, X)
    model = HistGradientBoostingRegressor(max_iter=3, loss="poisson").fit(X, np.exp(y))
    assert_same(model, X)


class TestXGBoost:
    @pytest.fixture(autouse=True)
    def _package(self):
        self.xgboost = pytest.importorskip("xgboost")
        self.options = {
            "n_jobs": 1,
            "enable_categorical": True,
            "feature_types": ["c", "q", "c", "q", "c"],
            "n_estimators": 8,
            "max_depth": 4,
        }

    @pytest.mark.parametrize(("n_classes", "rare"), CASES)
    @pytest.mark.parametrize("max_cat_to_onehot", [2, 100])
    @pytest.mark.parametrize("booster", ["gbtree", "dart"])
    def test_classifier(self, n_classes, rare, max_cat_to_onehot, booster):
        X, y = table(2, n_classes, rare=rare)
        model = self.xgboost.XGBClassifier(
            **self.options,
            booster=booster,
            max_cat_to_onehot=max_cat_to_onehot,
            **({"rate_drop": 0.5} if booster == "dart" else {}),
        ).fit(X, y)
        forest = assert_same(model, X)
        np.testing.assert_array_equal(forest.categorical, [True, False, True, False, True])

    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_dropout(self, n_classes):
        """From XGBoost 3.4 on, "dart" is a name of trees with dropout; before, none drop out."""
        X, y = table(5, n_classes)
        model = self.xgboost.XGBClassifier(**self.options, rate_drop=0.5, one_drop=1)
        assert_same(model.fit(X, y), X)

    def test_random_forest(self):
        X, y = table(3)
        assert_same(self.xgboost.XGBRFClassifier(**self.options).fit(X, y), X)

    @pytest.mark.parametrize("booster", ["gbtree", "dart"])
    def test_regressor(self, booster):
        X, y = table(3, 0)
        options = {**self.options, **({"rate_drop": 0.3} if booster == "dart" else {})}
        model = self.xgboost.XGBRegressor(**options, booster=booster)
        assert_same(model.fit(X, y), X)
        model = self.xgboost.XGBRFRegressor(**self.options)
        assert_same(model.fit(X, y), X)

    @pytest.mark.parametrize(("n_classes", "rare"), CASES)
    def test_dart_margins(self, n_classes, rare):
        """Bit for bit: what is added up, and in which type, is XGBoost's."""
        X, y = table(4, n_classes, rare=rare)
        options = {**self.options, "n_estimators": 14, "max_depth": 3}
        model = self.xgboost.XGBClassifier(**options, booster="dart", rate_drop=0.4).fit(X, y)
        forest = read_forest(model)
        rows = rows_for(forest, X)
        total = np.tile(forest.vote.init.astype(np.float32), (len(rows), 1))
        for leaf in forest.apply(rows).T:
            total += forest.value[leaf].astype(np.float32)
        truth = model.predict(rows, output_margin=True)
        np.testing.assert_array_equal(total.reshape(truth.shape), truth)


class TestLightGBM:
    @pytest.fixture(autouse=True)
    def _package(self):
        self.lightgbm = pytest.importorskip("lightgbm")
        self.options = {
            "n_jobs": 1,
            "verbose": -1,
            "n_estimators": 8,
            "num_leaves": 12,
            "min_child_samples": 4,
            "min_data_per_group": 2,
            "cat_smooth": 1.0,
        }

    @pytest.mark.parametrize(("n_classes", "rare"), CASES)
    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"max_cat_to_onehot": 100},
            {"use_missing": False},
            {"boosting_type": "dart", "drop_rate": 0.2, "learning_rate": 0.5},
            {"boosting_type": "rf", "subsample": 0.6, "subsample_freq": 1},
        ],
        ids=lambda options: next(iter(options.values()), "gbdt"),
    )
    @pytest.mark.parametrize("categorical", [[], [0, 2, 4]], ids=["numbers", "codes"])
    def test_classifier(self, n_classes, rare, options, categorical):
        X, y = table(5, n_classes, rare=rare)
        model = self.lightgbm.LGBMClassifier(**self.options, **options)
        model.fit(X, y, categorical_feature=categorical)
        forest = assert_same(model, X)
        expected = np.isin(np.arange(5), categorical) if categorical else None
        np.testing.assert_array_equal(forest.categorical, expected)

    def test_no_missing_values_in_training(self):
        """Then a missing value is a zero."""
        X, y = table(6)
        X = np.nan_to_num(X, nan=1.0)
        model = self.lightgbm.LGBMClassifier(**self.options).fit(X, y, categorical_feature=[0])
        assert_same(model, X)

    @pytest.mark.parametrize("boosting_type", ["gbdt", "rf"])
    def test_regressor(self, boosting_type):
        X, y = table(7, 0)
        options = {"boosting_type": boosting_type, "subsample": 0.6, "subsample_freq": 1}
        model = self.lightgbm.LGBMRegressor(**self.options, **options)
        assert_same(model.fit(X, y, categorical_feature=[0, 4]), X)
        model = self.lightgbm.LGBMRegressor(**self.options, objective="poisson")
        assert_same(model.fit(X, np.exp(y), categorical_feature=[0, 4]), X)
        model = self.lightgbm.LGBMRegressor(**self.options, objective="cross_entropy")
        assert_same(model.fit(X, 1 / (1 + np.exp(y)), categorical_feature=[0, 4]), X)


def test_codes_that_are_no_codes():
    X, y = table(8)
    X[X[:, 0] == 0, 0] = 1 << 22
    model = HistGradientBoostingClassifier(max_iter=2, categorical_features=[0]).fit(X, y)
    columns = family_of(model).read().table
    assert columns.levels[0].max() == 1 << 22


def test_limit(monkeypatch):
    X, y = table(8)
    model = HistGradientBoostingClassifier(max_iter=4, categorical_features=[0, 4]).fit(X, y)
    n_nodes = read_forest(model).on_thresholds.n_nodes
    monkeypatch.setattr(_forest, "MAX_NODES", n_nodes - 1)
    forest = read_forest(model)
    assert forest.n_nodes < n_nodes
    with pytest.raises(ValueError, match=r"take more than .* nodes .* Use fewer or shallower"):
        Axes.of(forest)


# ------------------------------------------------------------------- frames with categories


def frame(seed, n_classes=2):
    """A frame of categories (text, numbers with gaps) and numbers, and classes."""
    pandas = pytest.importorskip("pandas")
    X, y = table(seed, n_classes)
    names = np.array(["oak", "elm", "ash", "fir", "yew", "pine", "lime", "palm", "teak"])
    first = np.array([None if np.isnan(v) else names[int(v) % 9] for v in X[:, 0]], dtype=object)
    data = pandas.DataFrame(
        {
            "size": X[:, 1].astype(np.float32).astype(float),
            "tree": pandas.Categorical(first),
            "rank": X[:, 3],
            "kind": pandas.Categorical(X[:, 2] * 2.5 - 1),
        }
    )
    return data, y


def assert_same_frame(model, X, categorical=(1, 3)):
    reading = family_of(model).read()
    forest, columns = read_forest(model), reading.table
    np.testing.assert_array_equal(columns.categorical, np.isin(np.arange(4), categorical))
    assert columns.names.tolist() == list(X.columns)
    rng = np.random.default_rng(0)
    pools = []
    for j in range(4):
        if columns.levels[j] is not None:
            pools.append([*range(len(columns.levels[j])), np.nan])
        else:
            cuts = forest.threshold[forest.feature == j]
            pools.append([*edge_points(cuts, 1, 200)[:, 0].astype(np.float32), np.nan])
    rows = np.column_stack([rng.choice(pool, 20_000) for pool in pools])
    found = forest.classes[forest.predict_index(rows)]
    np.testing.assert_array_equal(found, model.predict(columns.decode(rows)))
    np.testing.assert_array_equal(columns.encode(X)["tree"].isna(), X["tree"].isna())
    encoded = np.asarray(columns.encode(X))
    np.testing.assert_array_equal(
        forest.classes[forest.predict_index(encoded)], model.predict(columns.decode(encoded))
    )
    return columns


@pytest.mark.parametrize("n_classes", [2, 3])
def test_frame_hist_gradient_boosting(n_classes):
    X, y = frame(0, n_classes)
    model = HistGradientBoostingClassifier(max_iter=5, categorical_features="from_dtype")
    columns = assert_same_frame(model.fit(X, y), X)
    assert columns.unknown[1] == "missing"
    odd = X.assign(tree=np.where(np.arange(len(X)) % 3, "birch", X["tree"].astype(object)))
    rows = np.asarray(columns.encode(odd))
    forest = read_forest(model)
    np.testing.assert_array_equal(forest.classes[forest.predict_index(rows)], model.predict(odd))


def test_frame_hist_gradient_boosting_with_none():
    """Its encoder takes None for a category, and NaN alone for what is missing."""
    X, y = frame(0)
    X["tree"] = X["tree"].astype(object).where(X["tree"].notna(), None)
    model = HistGradientBoostingClassifier(max_iter=2, categorical_features=["tree", "kind"])
    with pytest.raises(ValueError, match="knows None as a category"):
        read_forest(model.fit(X, y))
    X["tree"] = X["tree"].fillna(np.nan)
    assert_same_frame(model.fit(X, y), X)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_frame_lightgbm(n_classes):
    lightgbm = pytest.importorskip("lightgbm")
    X, y = frame(1, n_classes)
    options = {"verbose": -1, "n_jobs": 1, "min_data_per_group": 2, "cat_smooth": 1.0}
    model = lightgbm.LGBMClassifier(n_estimators=5, num_leaves=10, **options).fit(X, y)
    columns = assert_same_frame(model, X)
    assert columns.unknown[1] == "missing"
    X["rank"] = X["rank"].astype("category").cat.as_ordered()
    model = lightgbm.LGBMClassifier(n_estimators=5, num_leaves=10, **options).fit(X, y)
    with pytest.raises(ValueError, match="a frame with 3 columns of categories"):
        read_forest(model)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_frame_xgboost(n_classes):
    xgboost = pytest.importorskip("xgboost", minversion="3.1")
    X, y = frame(2, n_classes)
    X["kind"] = X["kind"].cat.rename_categories([-7, 0, 9])  # no fractions, says XGBoost
    model = xgboost.XGBClassifier(n_estimators=5, max_depth=4, enable_categorical=True, n_jobs=1)
    columns = assert_same_frame(model.fit(X, y), X)
    assert columns.unknown[1] == "refused"


def test_levels_that_xgboost_cuts_short_are_refused():
    xgboost = pytest.importorskip("xgboost", minversion="3.1")
    X, y = frame(2, 2)
    X["kind"] = X["kind"].cat.rename_categories(["été", "é", "hiver"])
    model = xgboost.XGBClassifier(n_estimators=3, max_depth=4, enable_categorical=True, n_jobs=1)
    with pytest.raises(ValueError, match=r"letters beyond ASCII.*Rename the levels"):
        read_forest(model.fit(X, y))


# ------------------------------------------------------------------- saved models


class Saved:
    """A classifier as far as it is read: what it was saved as, without the package that made it."""

    booster, missing = "gbtree", np.nan

    def __init__(self, saved):
        self.text = saved["model"]
        self.classes_ = np.array(saved["classes"])
        self.n_features_in_ = 5

    @property
    def booster_(self):
        return self

    def get_booster(self):
        return self

    def get_params(self):
        return {}

    def model_to_string(self):
        return self.text

    def save_raw(self, raw_format):
        assert raw_format == "json"
        return self.text.encode()


@pytest.mark.parametrize("name", ["lightgbm_2", "lightgbm_3", "xgboost_3"])
def test_saved_models(name):
    """Models with categories and missing values, and what the packages answered for some rows."""
    saved = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
    family = LightGBM if name.startswith("light") else XGBoost
    model = Saved(saved)
    reading = family(model).trees()
    reading.put_in_order(reading.table)  # rows are in the codes of the model
    np.testing.assert_array_equal(reading.table.categorical, [True, False, True, False, True])
    forest = assemble(reading, 5, model)
    rows = np.array(saved["rows"], dtype=float)
    assert np.isnan(rows).any()
    assert len(set(saved["labels"])) == len(saved["classes"])
    np.testing.assert_array_equal(forest.classes[forest.predict_index(rows)], saved["labels"])
