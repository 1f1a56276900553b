"""Random small models of every family that is read, on random tables, and rows to ask them about.

`draw` makes the case of a seed. Nothing here reads a model as the package does: what a model
answers is its own ``predict``, and its thresholds come from the structures of its library.
"""

import json
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.frozen import FrozenEstimator
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
)

from ensemble_simplify import (
    BornAgainClassifier,
    FaithfulPruner,
    FeatureBudgetPruner,
    OnnxModel,
    RepresenterTree,
    TreeliteModel,
    merge_trees,
)

FLOAT32_MAX = np.finfo(np.float32).max
# Numbers that are far out or next to zero.
ODD = np.array([-3e38, -1e37, -1.0, -1e-45, -0.0, 0.0, 1e-45, 1.0, 1e37, 3e38], dtype=np.float32)
NEW = "never seen"


# ------------------------------------------------------------------- tables


@dataclass
class Column:
    """One column of a table: float64 numbers, NaN where missing, or levels as objects.

    `levels` are those of text or of a category, `dtype` is that of a frame's column, `group` the
    number of the one-hot group that it belongs to.
    """

    values: np.ndarray
    dtype: str
    levels: list | None = None
    group: int | None = None

    @property
    def has_gaps(self):
        return bool(pd.isna(self.values).any())


def _numbers(rng, n):
    """A column of numbers of some kind."""
    kind = rng.choice(["coarse", "integer", "normal", "seconds", "tiny", "float32", "even"])
    if kind == "coarse":
        return Column(rng.integers(0, 6, n) * 0.1 + 0.3, "float64")
    if kind == "integer":
        return Column(rng.integers(-3, 40, n).astype(np.float64), "int64")
    if kind == "normal":
        return Column(rng.normal(size=n), "float64")
    if kind == "seconds":
        return Column(1.7e9 + rng.integers(0, 4000, n) / 4, "float64")
    if kind == "tiny":
        return Column(1.0 + rng.integers(0, 200, n) * 1e-8, "float64")
    if kind == "float32":
        return Column(rng.normal(size=n).astype(np.float32).astype(np.float64), "float32")
    return Column(np.round(rng.uniform(0, 100, n), 1), "float64")


def _levels(rng, n, dtype):
    names = ["a", "b", "c", "dd", "e e", "f'"][: rng.integers(2, 7)]
    if rng.random() < 0.15:
        names[0] = "é"
    return Column(np.array(names, dtype=object)[rng.integers(len(names), size=n)], dtype, names)


def _columns(rng, n, family):
    columns = []
    if family.table == "numbers" and rng.random() < 0.08:
        hot = rng.integers(3, size=n)
        columns = [Column((hot == i).astype(np.float64), "int64", group=0) for i in range(3)]
    least = 2 if not columns else 4
    while len(columns) < least or (len(columns) < 6 and rng.random() < 0.5):
        with_levels = family.table in ("category", "text", "codes") and (
            not columns or rng.random() < 0.5
        )
        if not with_levels:
            column = _numbers(rng, n)
        elif family.table == "codes":
            column = Column(rng.integers(0, 6, n).astype(np.float64), "float64", group=-1)
        else:
            column = _levels(rng, n, "category" if family.table == "category" else "object")
        if family.gaps and column.group is None and rng.random() < 0.3:
            gaps = rng.random(n) < 0.15
            if not gaps.all():
                column.values[gaps] = np.nan
        if column.dtype == "object":
            seen = column.values.tolist()
            column.levels = [level for level in column.levels if level in seen]
        columns.append(column)
    return columns


def _target(rng, columns, n_classes):
    n = len(columns[0].values)
    score = 0.4 * rng.normal(size=n)
    for column in columns[:3]:
        ranks = pd.Series(
            pd.factorize(column.values, sort=False)[0] if column.levels else column.values
        )
        ranks = ranks.rank(method="dense").fillna(0).to_numpy()
        score = score + rng.choice([-1, 1, 2]) * ranks / max(ranks.max(), 1)
    if not n_classes:
        y = 10 * score + rng.choice([0.0, 50.0, -1e4])
        return np.round(y, 1) if rng.random() < 0.3 else y
    cut = np.quantile(score, np.sort(rng.uniform(0.15, 0.85, n_classes - 1)))
    y = np.searchsorted(cut, score)
    y[:n_classes] = np.arange(n_classes)  # each class has a row
    return y


_LABELS = [
    np.arange(4),
    np.array([-3, 5, 10, 400]),
    np.array(["ant", "bee", "cat", "dog"]),
    np.array([False, True]),
]


# ------------------------------------------------------------------- families


@dataclass(frozen=True)
class Family:
    """A kind of models.

    Attributes
    ----------
    make : callable
        An unfitted model of a generator and the columns.
    n_classes : tuple of int
        Numbers of classes that it may be given; 0: a regression.
    table : {"numbers", "codes", "category", "text"}
        What columns may hold.
    gaps : bool
        Whether numbers may be missing.
    finer : bool
        Whether it compares, or scales, float64 numbers.
    coded : bool
        Whether its classes are 0, 1, ...
    convert : callable or None
        What the fitted model is copied by.
    frame : bool or None
        Whether it is given frames; None: both.
    """

    make: object
    n_classes: tuple = (2, 3, 4)
    table: str = "numbers"
    gaps: bool = False
    finer: bool = False
    coded: bool = False
    convert: object = None
    frame: bool | None = None


def _n(rng):
    return int(rng.integers(1, 9))


def _size(rng):
    """Limits of a tree of scikit-learn."""
    size = dict(max_depth=int(rng.integers(1, 5)), random_state=int(rng.integers(1 << 30)))
    if rng.random() < 0.2:
        size["min_samples_leaf"] = int(rng.integers(1, 6))
    if rng.random() < 0.2:
        size["max_features"] = 1
    return size


def _tree(rng, columns=None):
    options = _size(rng)
    options["criterion"] = str(rng.choice(["gini", "entropy"]))
    if rng.random() < 0.2:
        options["class_weight"] = "balanced"
    if rng.random() < 0.2:
        options["splitter"] = "random"
    return DecisionTreeClassifier(**options)


def _extra_tree(rng, columns):
    return ExtraTreeClassifier(**_size(rng))


def _tree_value(rng, columns=None):
    criterion = str(rng.choice(["squared_error", "absolute_error", "friedman_mse"][:2]))
    return DecisionTreeRegressor(criterion=criterion, **_size(rng))


def _forest(rng, columns=None):
    options = _size(rng)
    if rng.random() < 0.2:
        options["class_weight"] = str(rng.choice(["balanced", "balanced_subsample"]))
    return RandomForestClassifier(_n(rng), bootstrap=rng.random() < 0.8, **options)


def _of(kind, **more):
    return lambda rng, columns=None: kind(_n(rng), **_size(rng), **more)


def _bagging(rng, columns):
    return BaggingClassifier(
        _tree(rng),
        _n(rng),
        max_features=float(rng.choice([1.0, 0.5])),
        bootstrap_features=bool(rng.random() < 0.2),
        random_state=int(rng.integers(1 << 30)),
    )


def _bagging_of_forests(rng, columns):
    return BaggingClassifier(
        _of(RandomForestClassifier)(rng).set_params(n_estimators=2),
        2,
        max_features=float(rng.choice([1.0, 0.6])),
        random_state=0,
    )


def _bagging_value(rng, columns):
    return BaggingRegressor(
        _tree_value(rng), _n(rng), max_features=float(rng.choice([1.0, 0.5])), random_state=0
    )


def _adaboost(rng, columns):
    return AdaBoostClassifier(
        DecisionTreeClassifier(**_size(rng)),
        n_estimators=_n(rng),
        learning_rate=float(rng.choice([1.0, 0.3])),
        random_state=0,
    )


def _adaboost_of_forests(rng, columns):
    forest = _of(RandomForestClassifier)(rng).set_params(n_estimators=2)
    return AdaBoostClassifier(forest, n_estimators=3, random_state=0)


def _gradient(rng, columns=None):
    return GradientBoostingClassifier(
        n_estimators=_n(rng),
        learning_rate=float(rng.choice([0.1, 0.5, 1.0])),
        subsample=float(rng.choice([1.0, 0.7])),
        init="zero" if rng.random() < 0.2 else None,
        **_size(rng),
    )


def _gradient_exponential(rng, columns):
    return _gradient(rng).set_params(loss="exponential")


def _gradient_value(rng, columns=None):
    return GradientBoostingRegressor(
        n_estimators=_n(rng),
        learning_rate=float(rng.choice([0.1, 0.5, 1.0])),
        loss=str(rng.choice(["squared_error", "absolute_error", "huber", "quantile"])),
        init="zero" if rng.random() < 0.2 else None,
        **_size(rng),
    )


def _hist_options(rng, columns):
    options = dict(
        max_iter=_n(rng),
        max_leaf_nodes=int(rng.integers(2, 9)),
        min_samples_leaf=int(rng.integers(1, 8)),
        learning_rate=float(rng.choice([0.1, 0.5, 1.0])),
        random_state=0,
    )
    numbers = all(column.levels is None and column.group != -1 for column in columns)
    if numbers and rng.random() < 0.2:
        options["max_bins"] = int(rng.integers(2, 12))
    if rng.random() < 0.1:
        options.update(early_stopping=True, n_iter_no_change=2)
    if numbers and rng.random() < 0.15:
        options["monotonic_cst"] = [int(rng.integers(-1, 2)) for _ in columns]
    codes = [j for j, column in enumerate(columns) if column.group == -1]
    if codes:
        options["categorical_features"] = codes
    return options


def _hist(rng, columns):
    options = _hist_options(rng, columns)
    if rng.random() < 0.1:
        options["class_weight"] = "balanced"
    return HistGradientBoostingClassifier(**options)


def _hist_binary(rng, columns):
    return HistGradientBoostingClassifier(**_hist_options(rng, columns))


def _hist_many(rng, columns):
    options = {**_hist_options(rng, columns), "monotonic_cst": None}
    return HistGradientBoostingClassifier(**options)


def _hist_value(rng, columns):
    loss = str(rng.choice(["squared_error", "absolute_error", "quantile"]))
    options = dict(loss=loss, quantile=0.7) if loss == "quantile" else dict(loss=loss)
    return HistGradientBoostingRegressor(**options, **_hist_options(rng, columns))


def _xgb(name, objectives=(), **more):
    def make(rng, columns):
        import xgboost

        options = dict(
            n_estimators=_n(rng),
            max_depth=int(rng.integers(1, 5)),
            learning_rate=float(rng.choice([0.3, 1.0])),
            n_jobs=1,
            random_state=0,
        )
        if "RF" in name:
            del options["learning_rate"]
        if objectives:
            options["objective"] = str(rng.choice(objectives))
        if rng.random() < 0.2:
            options["base_score"] = 0.3
        if rng.random() < 0.2:
            options["max_bin"] = int(rng.integers(4, 20))
        if rng.random() < 0.03:
            options["missing"] = 0.0
        if rng.random() < 0.2:
            options["tree_method"] = "exact" if not more.get("enable_categorical") else "hist"
        return getattr(xgboost, name)(**{**options, **more})

    return make


def _lgbm(name, objectives=(), **more):
    def make(rng, columns):
        import lightgbm

        options = dict(
            n_estimators=_n(rng),
            num_leaves=int(rng.integers(2, 9)),
            min_child_samples=int(rng.integers(1, 8)),
            learning_rate=float(rng.choice([0.1, 0.5])),
            min_data_in_bin=int(rng.choice([1, 3])),
            verbose=-1,
            n_jobs=1,
            random_state=0,
        )
        if objectives:
            options["objective"] = str(rng.choice(objectives))
        if rng.random() < 0.1:
            options["zero_as_missing"] = True
        if rng.random() < 0.1:
            options["use_missing"] = False
        if rng.random() < 0.1:
            options["max_bin"] = int(rng.integers(3, 12))
        elif rng.random() < 0.05:
            options["linear_tree"] = True
        if rng.random() < 0.1:
            options["boost_from_average"] = False
        return getattr(lightgbm, name)(**{**options, **more})

    return make


def _catboost(name, losses=(), **more):
    def make(rng, columns):
        import catboost

        options = dict(
            iterations=_n(rng),
            depth=int(rng.integers(1, 5)),
            learning_rate=float(rng.choice([0.1, 0.5])),
            nan_mode=str(rng.choice(["Min", "Max"])),
            grow_policy=str(rng.choice(["SymmetricTree", "SymmetricTree", "Lossguide"])),
            verbose=0,
            thread_count=1,
            allow_writing_files=False,
        )
        if losses:
            options["loss_function"] = str(rng.choice(losses))
        if rng.random() < 0.2:
            options["border_count"] = int(rng.integers(1, 8))
        with_levels = [j for j, column in enumerate(columns) if column.levels is not None]
        if with_levels:
            options.update(cat_features=with_levels, one_hot_max_size=255)
        return getattr(catboost, name)(**{**options, **more})

    return make


_LGBM_RF = dict(boosting_type="rf", bagging_freq=1, bagging_fraction=0.7)


def _votes(rng, columns):
    kinds = [_tree, _forest, _of(ExtraTreesClassifier)]
    members = [(f"m{i}", kinds[rng.integers(3)](rng)) for i in range(rng.integers(1, 4))]
    weights = [float(rng.choice([1, 0.3, 2, 0.1])) for _ in members]
    return VotingClassifier(
        members,
        voting=str(rng.choice(["soft", "hard"])),
        weights=weights if rng.random() < 0.5 else None,
    )


_SCALERS = (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler)


def _last(rng, columns, value):
    """The ensemble at the end of a pipeline; its own columns are numbers."""
    plain = [Column(np.zeros(1), "float64")] * len(columns)
    if value:
        makes = [_tree_value, _of(RandomForestRegressor), _gradient_value, _hist_value]
    else:
        makes = [_tree, _forest, _gradient, _hist_many, _of(ExtraTreesClassifier)]
    made = makes[rng.integers(len(makes))](rng, plain)
    if "monotonic_cst" in made.get_params() and made.get_params()["monotonic_cst"] is not None:
        made.set_params(monotonic_cst=None)
    return made


def _scaled(value):
    def make(rng, columns):
        steps = [_SCALERS[rng.integers(4)]() for _ in range(rng.integers(1, 3))]
        if rng.random() < 0.15:
            steps.append(VarianceThreshold())
        if rng.random() < 0.15 and not value:
            steps.append(SelectKBest(k=max(1, len(columns) - 1)))
        return make_pipeline(*steps, _last(rng, columns, value))

    return make


def _binned(rng, columns):
    bins = KBinsDiscretizer(
        int(rng.integers(2, 6)),
        encode="ordinal",
        strategy=str(rng.choice(["uniform", "quantile"])),
    )
    step = bins if rng.random() < 0.8 else Binarizer(threshold=0.3)
    return make_pipeline(step, _last(rng, columns, False))


def _imputed(rng, columns):
    imputers = [
        SimpleImputer(strategy=str(rng.choice(["mean", "median", "most_frequent"]))),
        SimpleImputer(add_indicator=True),
        SimpleImputer(strategy="constant", fill_value=-1.0),
        KNNImputer(n_neighbors=2),
    ]
    steps = [imputers[rng.integers(4)]]
    if rng.random() < 0.4:
        steps.append(_SCALERS[rng.integers(4)]())
    return make_pipeline(*steps, _last(rng, columns, False))


def _encoder(rng, n_classes):
    choice = rng.integers(4)
    if choice == 0:
        return OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    if choice == 1:
        return OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    if choice == 2:
        return OrdinalEncoder()
    return (
        TargetEncoder(random_state=0, cv=2)
        if n_classes == 2
        else OneHotEncoder(sparse_output=False)
    )


def _encoded(value):
    def make(rng, columns):
        with_levels = [f"c{j}" for j, c in enumerate(columns) if c.levels is not None]
        numbers = [f"c{j}" for j, c in enumerate(columns) if c.levels is None]
        parts = [("levels", _encoder(rng, 0), with_levels)]
        if numbers:
            step = "passthrough"
            if any(c.has_gaps for c in columns if c.levels is None) or rng.random() < 0.3:
                step = SimpleImputer(add_indicator=bool(rng.random() < 0.5))
            elif rng.random() < 0.4:
                step = StandardScaler()
            parts.append(("numbers", step, numbers))
        return make_pipeline(
            ColumnTransformer(parts, remainder=str(rng.choice(["drop", "passthrough"]))),
            _last(rng, columns, value),
        )

    return make


def _chosen_columns(rng, columns):
    names = [f"c{j}" for j in range(len(columns))]
    cut = int(rng.integers(1, len(names) + 1))
    parts = [("first", _SCALERS[rng.integers(4)](), names[:cut])]
    if rng.random() < 0.5 and names[cut:]:
        parts.append(("second", "passthrough", names[cut:]))
    step = ColumnTransformer(parts, remainder=str(rng.choice(["drop", "passthrough"])))
    return make_pipeline(step, _last(rng, columns, False))


def _search(rng, columns):
    return GridSearchCV(_forest(rng), {"max_depth": [1, int(rng.integers(2, 5))]}, cv=2)


class _Made:
    """An estimator of the package, fitted on a frozen model of its own."""

    def __init__(self, make, model):
        self.make, self.model = make, model

    def fit(self, X, y):
        self.model.fit(X, y)
        return self.make(FrozenEstimator(self.model)).fit(X, y)


def _ours(rng, columns):
    model = _forest(rng).set_params(n_estimators=4, max_depth=2)
    makes = [
        lambda frozen: BornAgainClassifier(frozen, max_changes=1, random_state=0),
        lambda frozen: FaithfulPruner(frozen, max_changes=1, method="heuristic", random_state=0),
        lambda frozen: RepresenterTree(frozen, max_leaf_nodes=5, n_samples=500, random_state=0),
        lambda frozen: FeatureBudgetPruner(frozen, budget="60%"),
    ]
    return _Made(makes[rng.integers(4)], model)


class _Merged:
    def __init__(self, model):
        self.model = model

    def fit(self, X, y):
        return merge_trees([self.model.fit(X, y)], allow_nan=True)


def _merged(rng, columns):
    return _Merged(_forest(rng).set_params(n_estimators=3, max_depth=2))


def to_treelite(model, n_features):
    """A copy in treelite's format."""
    import treelite

    if hasattr(model, "get_booster"):
        read = treelite.frontend.from_xgboost(model.get_booster())
    elif hasattr(model, "booster_"):
        read = treelite.frontend.from_lightgbm(model.booster_)
    else:
        import treelite.sklearn

        read = treelite.sklearn.import_model(model)
    return TreeliteModel(read, classes=getattr(model, "classes_", None))


def to_onnx(model, n_features):
    """A copy in ONNX's format, for float32 rows."""
    import skl2onnx

    return OnnxModel(skl2onnx.to_onnx(model, np.zeros((1, n_features), dtype=np.float32)))


_VALUE = (0,)
_TREELITE = dict(convert=to_treelite, frame=False)
_TREELITE_64 = dict(_TREELITE, finer=True)
_ONNX = dict(convert=to_onnx, frame=False)
_XGB_VALUES = ("reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror")
_LGBM_VALUES = ("regression", "regression_l1", "huber", "quantile", "fair")
_CATBOOST_VALUES = ("RMSE", "MAE", "Quantile:alpha=0.4", "Huber:delta=1.5")
FAMILIES = {
    "tree": Family(_tree, gaps=True),
    "extra tree": Family(_extra_tree),
    "tree, value": Family(_tree_value, _VALUE),
    "forest": Family(_forest, gaps=True),
    "forest, value": Family(_of(RandomForestRegressor), _VALUE, gaps=True),
    "extra trees": Family(_of(ExtraTreesClassifier), gaps=True),
    "extra trees, value": Family(_of(ExtraTreesRegressor), _VALUE),
    "bagging": Family(_bagging, gaps=True),
    "bagging of forests": Family(_bagging_of_forests),
    "bagging, value": Family(_bagging_value, _VALUE),
    "adaboost": Family(_adaboost),
    "adaboost of forests": Family(_adaboost_of_forests),
    "gradient": Family(_gradient),
    "gradient, exponential": Family(_gradient_exponential, (2,)),
    "gradient, value": Family(_gradient_value, _VALUE),
    "histogram": Family(_hist, (2,), gaps=True, finer=True),
    "histogram, many": Family(_hist_many, (3, 4), gaps=True, finer=True),
    "histogram, value": Family(_hist_value, _VALUE, gaps=True, finer=True),
    "histogram, codes": Family(
        _hist_binary, (2,), table="codes", gaps=True, finer=True, frame=False
    ),
    "histogram, categories": Family(
        _hist_binary, (2,), table="category", gaps=True, finer=True, frame=True
    ),
    "xgboost": Family(_xgb("XGBClassifier"), gaps=True, coded=True),
    "xgboost, value": Family(_xgb("XGBRegressor", _XGB_VALUES), _VALUE, gaps=True),
    "xgboost forest": Family(_xgb("XGBRFClassifier"), gaps=True, coded=True),
    "xgboost forest, value": Family(_xgb("XGBRFRegressor"), _VALUE, gaps=True),
    "xgboost dart": Family(
        _xgb("XGBClassifier", booster="dart", rate_drop=0.5), gaps=True, coded=True
    ),
    "xgboost dart, value": Family(_xgb("XGBRegressor", booster="dart", rate_drop=0.5), _VALUE),
    "xgboost, categories": Family(
        _xgb("XGBClassifier", enable_categorical=True, missing=np.nan),
        (2, 3),
        table="category",
        gaps=True,
        coded=True,
        frame=True,
    ),
    "lightgbm": Family(_lgbm("LGBMClassifier"), gaps=True, finer=True),
    "lightgbm, ova": Family(
        _lgbm("LGBMClassifier", objective="multiclassova"), (3, 4), gaps=True, finer=True
    ),
    "lightgbm, slope": Family(_lgbm("LGBMClassifier", sigmoid=2.0), (2,), gaps=True, finer=True),
    "lightgbm, value": Family(_lgbm("LGBMRegressor", _LGBM_VALUES), _VALUE, gaps=True, finer=True),
    "lightgbm forest": Family(_lgbm("LGBMClassifier", **_LGBM_RF), gaps=True, finer=True),
    "lightgbm forest, value": Family(_lgbm("LGBMRegressor", **_LGBM_RF), _VALUE, finer=True),
    "lightgbm dart": Family(_lgbm("LGBMClassifier", boosting_type="dart"), (2,), finer=True),
    "lightgbm, categories": Family(
        _lgbm("LGBMClassifier", min_data_per_group=2, cat_smooth=1.0),
        (2, 3),
        table="category",
        gaps=True,
        finer=True,
        frame=True,
    ),
    "catboost": Family(_catboost("CatBoostClassifier"), gaps=True),
    "catboost, value": Family(_catboost("CatBoostRegressor", _CATBOOST_VALUES), _VALUE, gaps=True),
    "catboost, categories": Family(
        _catboost("CatBoostClassifier"), (2, 3), table="category", frame=True
    ),
    "catboost, text, value": Family(
        _catboost("CatBoostRegressor"), _VALUE, table="text", frame=True
    ),
    "votes": Family(_votes),
    "pipeline": Family(_scaled(False), finer=True),
    "pipeline, value": Family(_scaled(True), _VALUE, finer=True),
    "pipeline of bins": Family(_binned, finer=True),
    "pipeline of imputers": Family(_imputed, gaps=True, finer=True),
    "pipeline of encoders": Family(
        _encoded(False), (2, 3), table="text", gaps=True, finer=True, frame=True
    ),
    "pipeline of encoders, value": Family(
        _encoded(True), _VALUE, table="text", gaps=True, finer=True, frame=True
    ),
    "pipeline of columns": Family(_chosen_columns, finer=True, frame=True),
    "search": Family(_search),
    "ours": Family(_ours),
    "merged": Family(_merged),
    "treelite of a forest": Family(_forest, **_TREELITE_64),
    "treelite of a forest, value": Family(_of(RandomForestRegressor), _VALUE, **_TREELITE_64),
    "treelite of extra trees": Family(_of(ExtraTreesClassifier), **_TREELITE_64),
    "treelite of gradient": Family(_gradient, (2,), **_TREELITE_64),
    "treelite of gradient, value": Family(_gradient_value, _VALUE, **_TREELITE_64),
    "treelite of histogram": Family(_hist_binary, (2,), gaps=True, **_TREELITE_64),
    "treelite of xgboost": Family(_xgb("XGBClassifier"), coded=True, gaps=True, **_TREELITE),
    "treelite of xgboost, value": Family(
        _xgb("XGBRegressor", _XGB_VALUES[:2]), _VALUE, gaps=True, **_TREELITE
    ),
    "treelite of lightgbm": Family(_lgbm("LGBMClassifier"), gaps=True, coded=True, **_TREELITE_64),
    "treelite of lightgbm, value": Family(
        _lgbm("LGBMRegressor", _LGBM_VALUES), _VALUE, **_TREELITE_64
    ),
    "treelite of a lightgbm forest": Family(
        _lgbm("LGBMClassifier", **_LGBM_RF), coded=True, **_TREELITE_64
    ),
    "onnx of a tree": Family(_tree, **_ONNX),
    "onnx of a forest": Family(_forest, **_ONNX),
    "onnx of a forest, value": Family(_of(RandomForestRegressor), _VALUE, **_ONNX),
    "onnx of gradient": Family(_gradient, **_ONNX),
    "onnx of gradient, value": Family(_gradient_value, _VALUE, **_ONNX),
}


# ------------------------------------------------------------------- cases


def ask(model, table, method="predict"):
    """What a model answers to a table, without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = np.asarray(getattr(model, method)(table))
    # CatBoost answers three classes and more in a column
    return found.ravel() if method == "predict" else found


@dataclass
class Case:
    """A fitted model, the rows that it was fitted on, and how rows are written.

    Attributes
    ----------
    frame : bool
        Whether tables are frames, with columns called c0, c1, ...
    dtype : type
        That of arrays.
    source : estimator
        The model before it was converted.
    """

    seed: int
    name: str
    family: Family
    columns: list
    y: np.ndarray
    frame: bool
    dtype: type
    source: object = None
    model: object = None
    weight: np.ndarray | None = None
    _takes: dict = field(default_factory=dict)

    @property
    def is_classifier(self):
        # CatBoost's regressors have none of them
        return hasattr(self.model, "classes_") and len(self.model.classes_) > 0

    @property
    def is_plain(self):
        """Whether all columns are numbers."""
        return all(column.levels is None for column in self.columns)

    @cached_property
    def X(self):
        return self.table([column.values for column in self.columns])

    @property
    def n_rows(self):
        return len(self.y)

    def table(self, values, dtype=None):
        """A table of columns of values, in the form in which the model was given its rows.

        `dtype` is another type for the numbers of arrays, and of columns of float64.
        """
        if not self.frame:
            return np.column_stack(values).astype(self.dtype if dtype is None else dtype)
        columns = {}
        for j, (column, own) in enumerate(zip(self.columns, values, strict=True)):
            if column.levels is None:
                kind = column.dtype
                if kind == "int64" and not np.array_equal(own, np.trunc(own)):
                    kind = "float64"
                if kind == "int64" and np.abs(own).max(initial=0) > 1e15:
                    kind = "float64"
                if kind == "float32" and (own != own.astype(np.float32)).any() and dtype is None:
                    own = own.astype(np.float32)
                columns[f"c{j}"] = own.astype(kind if dtype is None else dtype)
            elif column.dtype == "category":
                known = [*column.levels, NEW] if NEW in own.tolist() else column.levels
                columns[f"c{j}"] = pd.Categorical(own, categories=known)
            else:
                columns[f"c{j}"] = pd.Series(own, dtype=object)
        return pd.DataFrame(columns)

    def answered(self, values, method="predict", dtype=None):
        """The rows that the model answers, and its answers.

        Scalers can take numbers that are far out beyond what trees take; these rows are left out.
        """
        table = self.table(values, dtype)
        try:
            return values, table, ask(self.model, table, method)
        except ValueError:
            far = [np.abs(own) > 1e25 for own in values if own.dtype != object]
            near = ~np.any(far, axis=0)
            if near.all():
                raise
            return self.answered([own[near] for own in values], method, dtype)

    def takes(self, kind):
        """Whether the model answers rows with gaps in all columns, or levels that it never saw."""
        if kind not in self._takes:
            values = [column.values[:2].copy() for column in self.columns]
            for column, own in zip(self.columns, values, strict=True):
                if kind == "gaps":
                    own[0] = np.nan
                elif column.levels is not None:
                    own[0] = NEW
            try:
                ask(self.model, self.table(values))
                self._takes[kind] = True
            except Exception:  # any word of the library's: it does not take them
                self._takes[kind] = False
        return self._takes[kind]

    @property
    def rounds(self):
        """Whether the model itself rounds numbers to float32."""
        return not self.family.finer

    @property
    def doubles(self):
        """Whether proofs about the model alone are about all numbers, not only those of float32."""
        return self.rounds or not hasattr(self.model, "steps")

    @cached_property
    def cuts(self):
        """For each column of numbers, the thresholds of the model."""
        return stored_thresholds(self.source, len(self.columns))

    @cached_property
    def n_cells(self):
        """Number of cells between thresholds, about."""
        sizes = [
            len(column.levels) + 2 if column.levels is not None else len(own) + 1
            for column, own in zip(self.columns, self.cuts, strict=True)
        ]
        return float(np.prod(np.array(sizes, dtype=np.float64)))

    def pool(self, j, fine=False):
        """Numbers of a column that a threshold could part: float32, and finer with `fine`."""
        cuts = self.cuts[j]
        with np.errstate(over="ignore"):
            near = cuts.astype(np.float32)
            sides = [np.nextafter(near, np.float32(side)) for side in (-np.inf, np.inf)]
        known = self.columns[j].values
        known = np.unique(known[~np.isnan(known)])
        numbers = [near, *sides, ODD, known.astype(np.float32)]
        numbers = [part.astype(np.float64) for part in numbers]
        if fine:
            numbers += [cuts, np.nextafter(cuts, -np.inf), np.nextafter(cuts, np.inf), known]
        joined = np.concatenate(numbers)
        return joined[np.abs(joined) <= FLOAT32_MAX]

    def entries(self, rng, j, n, gaps, unseen, fine=False):
        """Random entries of a column: numbers next to thresholds, levels, gaps."""
        column = self.columns[j]
        if column.levels is not None:
            own = rng.choice(np.array([*column.levels, *[NEW] * unseen], dtype=object), n)
        elif column.group == -1:
            own = rng.choice(np.arange(6.0), n)
        else:
            own = rng.choice(self.pool(j, fine), n)
        if gaps[j]:
            own[rng.random(n) < 0.15] = np.nan
        return own

    def rows(self, rng, n, gaps, unseen, fine=False):
        """Random rows: a third of the columns of a row are as in a row of the training data."""
        base = rng.integers(self.n_rows, size=n)
        kept = rng.random((len(self.columns), n)) < rng.choice([0.1, 0.4, 0.8], n)
        values = []
        for j in range(len(self.columns)):
            own, known = self.entries(rng, j, n, gaps, unseen, fine), self.rounded(j, fine)
            values.append(np.where(kept[j], known[base], own))
        return self._tied(rng, values)

    def near(self, rng, n, k, gaps, unseen, rows=None, fine=False):
        """Rows that differ from a row of the training data in at most k columns."""
        rows = np.arange(self.n_rows) if rows is None else rows
        base = rng.choice(rows, n)
        values = [self.rounded(j, fine)[base] for j in range(len(self.columns))]
        for _ in range(k):
            which = rng.integers(len(values), size=n)
            for j, own in enumerate(values):
                here = which == j
                own[here] = self.entries(rng, j, int(here.sum()), gaps, unseen, fine)
        return values

    def rounded(self, j, fine=False):
        """The training values of a column, as float32 represents them where that is promised."""
        column = self.columns[j]
        if column.levels is not None or fine or not self.family.finer:
            return column.values.copy()
        return column.values.astype(np.float32).astype(np.float64)

    def _tied(self, rng, values):
        """Rows of which some fulfil the one-hot group."""
        group = [j for j, column in enumerate(self.columns) if column.group == 0]
        if group:
            n = len(values[0])
            hot, some = rng.integers(len(group), size=n), rng.random(n) < 0.7
            for i, j in enumerate(group):
                values[j] = np.where(some, (hot == i).astype(np.float64), values[j])
        return values


def stored_thresholds(model, n_features):
    """For each feature, the thresholds that the structures of a model's library hold."""
    found = [[] for _ in range(n_features)]
    _collect(model, found)
    return [np.unique(np.array(own, dtype=np.float64)) for own in found]


def _collect(model, found, features=None):
    """Add the thresholds of a model to those of each column; what has none, or others, has none."""
    if hasattr(model, "tree_"):
        tree = model.tree_
        _add(found, features, tree.feature, tree.threshold, tree.children_left >= 0)
    elif hasattr(model, "_predictors"):
        for predictor in chain.from_iterable(model._predictors):
            nodes = predictor.nodes
            inner = (nodes["is_leaf"] == 0) & (nodes["is_categorical"] == 0)
            _add(found, features, nodes["feature_idx"], nodes["num_threshold"], inner)
    elif hasattr(model, "get_booster"):
        saved = json.loads(bytes(model.get_booster().save_raw("json")))
        booster = saved["learner"]["gradient_booster"]
        for tree in booster.get("gbtree", booster)["model"]["trees"]:
            inner = (np.array(tree["left_children"]) >= 0) & (np.array(tree["split_type"]) == 0)
            _add(found, features, tree["split_indices"], tree["split_conditions"], inner)
    elif hasattr(model, "booster_"):
        for tree in model.booster_.dump_model()["tree_info"]:
            _collect_lightgbm(tree["tree_structure"], found)
    elif hasattr(model, "get_borders"):
        for j, cuts in model.get_borders().items():
            found[j] += cuts
    elif hasattr(model, "steps"):
        _collect_pipeline(model, found)
    else:
        for name in ("best_estimator_", "decision_tree_", "pruned_estimator_"):
            if hasattr(model, name):
                _collect(getattr(model, name), found, features)
                if hasattr(model, "estimator_"):  # of the ensemble that it stands for, too
                    _collect(model.estimator_, found, features)
                return
        subsets = getattr(model, "estimators_features_", None)
        members = model.estimators_
        for i, member in enumerate(members.ravel() if hasattr(members, "ravel") else members):
            _collect(member, found, features if subsets is None else subsets[i])


def _add(found, features, feature, threshold, inner):
    for j, cut in zip(np.asarray(feature)[inner], np.asarray(threshold)[inner], strict=True):
        found[int(j) if features is None else int(features[int(j)])].append(float(cut))


def _collect_lightgbm(node, found):
    if "split_feature" not in node:
        return
    if node["decision_type"] == "<=":
        found[node["split_feature"]].append(float(node["threshold"]))
    for side in ("left_child", "right_child"):
        _collect_lightgbm(node[side], found)


def _collect_pipeline(model, found):
    """Numbers that a pipeline sends across a threshold, by bisection on its own ``transform``.

    Only where each column that comes out is made of the one in its place.
    """
    steps = [step for _, step in model.steps[:-1]]
    if not all(
        isinstance(step, (*_SCALERS, KBinsDiscretizer, Binarizer, SimpleImputer))
        and not getattr(step, "add_indicator", False)
        for step in steps
    ):
        return
    inner = [[] for _ in found]
    _collect(model.steps[-1][1], inner)
    longest = max(map(len, inner))
    if not longest:
        return
    goals = np.full((longest, len(found)), np.nan)
    for j, cuts in enumerate(inner):
        goals[: len(cuts), j] = cuts
    last = np.float32(FLOAT32_MAX).view(np.int32)
    low = np.full(goals.shape, -int(last), dtype=np.int64)
    high = np.full(goals.shape, int(last), dtype=np.int64)
    while (high - low > 1).any():
        middle = (low + high) // 2
        rows = number_of(middle)
        for step in steps:
            rows = ask(step, rows, "transform")
        if rows.shape != goals.shape:
            return
        left = rows <= goals
        low, high = np.where(left, middle, low), np.where(left, high, middle)
    edges = number_of(low)
    for j, cuts in enumerate(inner):
        found[j] += edges[: len(cuts), j].tolist()


def number_of(place):
    """The float32 numbers of places in their order, as float64."""
    bits = np.where(place < 0, -place | (1 << 31), place).astype(np.uint32)
    return bits.view(np.float32).astype(np.float64)


def draw(seed, name=None):
    """The case of a seed, of a family if `name` is given.

    A sentence if its library does not fit, convert or run the model.
    """
    rng = np.random.default_rng(seed)
    names = list(FAMILIES)
    drawn = names[rng.integers(len(names))]
    name = drawn if name is None else name
    family = FAMILIES[name]
    n = int(rng.choice([10, 20, 40, 80, 200], p=[0.15, 0.25, 0.3, 0.2, 0.1]))
    n_classes = int(rng.choice(family.n_classes))
    columns = _columns(rng, n, family)
    y = _target(rng, columns, n_classes)
    if n_classes and not family.coded:
        fits = [labels for labels in _LABELS if len(labels) >= n_classes]
        y = fits[rng.integers(len(fits))][y]
    frame = family.frame if family.frame is not None else rng.random() < 0.4
    dtype = np.float32 if rng.random() < 0.25 else np.float64
    case = Case(seed, name, family, columns, y, bool(frame), dtype)
    if dtype is np.float32 and not frame:
        for column in columns:
            column.values = column.values.astype(np.float32).astype(np.float64)
    for column in columns:
        if column.dtype == "int64" and column.has_gaps:
            column.dtype = "float64"
    made = family.make(rng, columns)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            case.source = case.model = made.fit(case.X, y)
            if family.convert is not None:
                case.model = family.convert(case.source, len(columns))
            ask(case.model, case.X)
        except Exception as error:  # of the library: there is no such model
            return f"{name}: {type(error).__name__}: {error}"
    return case
