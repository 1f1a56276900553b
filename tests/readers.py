"""Small fitted models of every family that is read, copies with one leaf changed, and their cells.

What a model answers is always its own ``predict`` or ``predict_proba``. All that is used of the
package to look at a model stands in `Reading`.
"""

import copy
import json
import tempfile
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
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
    StackingClassifier,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ensemble_simplify import FaithfulPruner, OnnxModel, TreeliteModel
from ensemble_simplify.reading.forest import read_forest

MOST_CELLS = 6000
LABELS = np.array(["ant", "bee", "cat"])


class Reading:
    """A model as the package reads it."""

    def __init__(self, model):
        self._forest = read_forest(model)

    def cuts(self, feature):
        """Thresholds of a feature: the last float32 that goes left."""
        forest = self._forest
        return np.unique(forest.threshold[forest.feature == feature]).astype(np.float32)

    def answers(self, rows):
        """Labels of a classifier, values of a regressor."""
        found = self._forest.predict_index(rows)
        return found if self._forest.classes is None else self._forest.classes[found]

    @cached_property
    def _sums(self):
        return self._forest.sums

    @property
    def is_sum(self):
        """Whether classes are decided by sums of leaf vectors."""
        return self._sums is not None

    def leaders(self, rows):
        """Labels that sums of leaf vectors tell, and where these lead by more than the bounds.

        Returns
        -------
        labels : pair of arrays
            Added up in the order of the trees, and in the reversed order.
        clear : pair of bool arrays
        """
        leaves, labels, clear = self._forest.apply(rows), [], []
        for order, bound in ((1, self._sums.error_bound), (-1, self._sums.rounding)):
            total = np.zeros((len(rows), self._forest.n_classes))
            for column in leaves.T[::order]:
                total = total + self._sums.folded[column]
            least, most = np.partition(total, -2, axis=1)[:, -2:].T
            labels.append(self._forest.classes[total.argmax(axis=1)])
            clear.append(most - least > bound)
        return labels, clear


# ------------------------------------------------------------------- rows


def data(n_classes, missing=False, seed=0):
    """Rows of three features, the last of few levels; `n_classes` 0: with a number far from 0."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(1, 3, size=(90, 3))
    X[:, 2] = rng.integers(4, size=90) * 0.3 + 0.1
    X = X.astype(np.float32).astype(np.float64)
    score = X[:, 0] + 2 * (X[:, 1] > 2) * X[:, 2] + rng.normal(size=90) / 3
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    if not n_classes:
        return X, 40.0 + 10 * score
    cut = np.quantile(score, np.arange(1, n_classes) / n_classes)
    return X, LABELS[np.searchsorted(cut, score)]


def points(models, feature, missing):
    """A number in every cell of a feature."""
    cuts = np.unique(np.concatenate([Reading(model).cuts(feature) for model in models]))
    # all numbers on one side, missing ones on the other
    cuts = cuts[cuts < np.finfo(np.float32).max]
    last = np.nextafter(cuts[-1:], np.float32(np.inf)) if len(cuts) else np.ones(1, np.float32)
    return np.concatenate([cuts, last, [np.nan] * missing]).astype(np.float64)


def cells(*models, missing=False):
    """One row in every cell of the grid that the models have together: there are few."""
    axes = [points(models, feature, missing) for feature in range(3)]
    assert np.prod([len(axis) for axis in axes]) <= MOST_CELLS
    return np.array(list(product(*axes)))


def edges(*models, missing=False, n_rows=400):
    """Rows of thresholds and of their neighbours among float32, of any numbers, and missing."""
    rng = np.random.default_rng(0)
    columns = []
    for feature in range(3):
        cuts = points(models, feature, False).astype(np.float32)
        pool = [np.nextafter(cuts, np.float32(side)) for side in (-np.inf, np.inf)]
        pool += [cuts, rng.normal(size=len(cuts)), [-1e37, 0.0, 1e37], [np.nan] * (3 * missing)]
        columns.append(rng.choice(np.concatenate(pool).astype(np.float32), n_rows))
    return np.column_stack(columns).astype(np.float64)


def changed_once(rows, models, missing):
    """Rows, and these with every change of one feature."""
    found = [rows]
    for feature in range(3):
        for value in points(models, feature, missing):
            found.append(rows.copy())
            found[-1][:, feature] = value
    return np.concatenate(found)


def numbers(model, rows):
    """The model's own values or probabilities, of shape (n, n_outputs)."""
    if _has_classes(model):
        return np.asarray(model.predict_proba(rows), dtype=np.float64)
    return np.asarray(model.predict(rows), dtype=np.float64)[:, None]


# ------------------------------------------------------------------- one leaf changed


def changed(model):
    """A copy with one leaf, that some rows reach, changed."""
    other = copy.deepcopy(model)
    if hasattr(other, "get_booster"):
        _change_xgboost(other)
    elif hasattr(other, "booster_"):
        booster = other.booster_
        booster.set_leaf_output(0, 0, booster.get_leaf_output(0, 0) + _step(other))
    elif hasattr(other, "get_borders"):
        other = _changed_catboost(other)
    elif hasattr(other, "_predictors"):
        nodes = other._predictors[0][0].nodes
        nodes["value"][np.flatnonzero(nodes["is_leaf"])[0]] += _step(other)
    else:
        tree = _a_tree(other).tree_
        value = tree.value[np.flatnonzero(tree.children_left < 0)[-1], 0]
        value[...] = value[::-1].copy() if len(value) > 1 else value + 1.0
    return other


def _has_classes(model):
    # CatBoost's regressors have none of them
    return hasattr(model, "classes_") and len(model.classes_) > 0


def _step(model):
    return 0.7 if _has_classes(model) else 3.0


def _a_tree(model):
    while not hasattr(model, "tree_"):
        inner = getattr(model, "pruned_estimator_", None) or getattr(model, "regressor_", None)
        if hasattr(model, "response_method"):
            inner = model.estimator_
        if hasattr(model, "calibrated_classifiers_"):
            inner = model.calibrated_classifiers_[0].estimator
        if inner is None and hasattr(model, "steps"):
            inner = model.steps[-1][1]
        while inner is None or isinstance(inner, np.ndarray):
            inner = (model.estimators_ if inner is None else inner)[0]
        model = inner
    return model


def _change_xgboost(model):
    saved = json.loads(bytes(model.get_booster().save_raw("json")))
    booster = saved["learner"]["gradient_booster"]
    tree = booster.get("gbtree", booster)["model"]["trees"][0]
    leaf = tree["left_children"].index(-1)
    tree["split_conditions"][leaf] += _step(model)
    tree["base_weights"][leaf] += _step(model)
    model.get_booster().load_model(bytearray(json.dumps(saved), "utf8"))


def _changed_catboost(model):
    saved = catboost_json(model)
    if "oblivious_trees" in saved:
        saved["oblivious_trees"][0]["leaf_values"][0] += _step(model)
    else:
        node = saved["trees"][0]
        while "left" in node:
            node = node["left"]
        node["value"] += _step(model)
    return catboost_of(model, saved)


def catboost_json(model):
    """What CatBoost saves of a model."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        return json.loads(path.read_text())


def catboost_of(model, saved):
    """A model of the same type of what was saved."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        path.write_text(json.dumps(saved))
        return type(model)().load_model(str(path), format="json")


# ------------------------------------------------------------------- all families


def _catboost(name, **options):
    def make(seed):
        catboost = pytest.importorskip("catboost")
        common = dict(depth=2, verbose=0, thread_count=1, allow_writing_files=False)
        return getattr(catboost, name)(**common | options, random_seed=seed)

    return make


def _xgboost(name, **options):
    def make(seed):
        xgboost = pytest.importorskip("xgboost")
        return Coded(getattr(xgboost, name)(max_depth=2, n_jobs=1, random_state=seed, **options))

    return make


def _lightgbm(name, **options):
    def make(seed):
        lightgbm = pytest.importorskip("lightgbm")
        common = dict(num_leaves=4, min_child_samples=5, verbose=-1, n_jobs=1, random_state=seed)
        return getattr(lightgbm, name)(**common, **options)

    return make


class Coded:
    """An estimator that is fitted on numbers of classes."""

    def __init__(self, estimator):
        self.estimator = estimator

    def fit(self, X, y):
        return self.estimator.fit(X, y if y.dtype.kind == "f" else np.searchsorted(LABELS, y))


def _pruned(seed):
    class Pruned:
        def fit(self, X, y):
            forest = RandomForestClassifier(6, max_depth=2, random_state=seed).fit(X, y)
            return FaithfulPruner(FrozenEstimator(forest)).fit(X, y).pruned_estimator_

    return Pruned()


def to_treelite(model):
    """A copy in treelite's format."""
    treelite = pytest.importorskip("treelite")
    if hasattr(model, "get_booster"):
        read = treelite.frontend.from_xgboost(model.get_booster())
    elif hasattr(model, "booster_"):
        read = treelite.frontend.from_lightgbm(model.booster_)
    else:
        read = pytest.importorskip("treelite.sklearn").import_model(model)
    return TreeliteModel(read, classes=getattr(model, "classes_", None))


def to_onnx(model, n_features=3):
    """A copy in ONNX's format."""
    skl2onnx = pytest.importorskip("skl2onnx")
    pytest.importorskip("onnxruntime")
    return OnnxModel(skl2onnx.to_onnx(model, np.zeros((1, n_features), dtype=np.float32)))


@dataclass(frozen=True)
class Reader:
    """A family of models.

    Attributes
    ----------
    make : callable
        An unfitted model of a seed.
    n_classes : int
        0: a regressor.
    probability : {"mean", "odds", None}
        How probabilities come about, if they can be compared.
    missing : bool
        Whether some numbers are missing.
    convert : callable or None
        What the fitted model is copied by.
    is_sum : bool
        Whether the class is told by sums of leaf vectors.
    between : tuple of float or None
        What a regressor takes is in this range; None: it takes any values.
    """

    make: object
    n_classes: int
    probability: str | None = None
    missing: bool = False
    convert: object = None
    is_sum: bool = True
    between: tuple | None = None

    def fitted(self, seed=0):
        """The original, fitted."""
        return _fitted(self, seed)

    def model(self, seed=0):
        """The fitted model, in its format."""
        return self._converted(self.fitted(seed))

    def changed(self):
        """A copy with one leaf changed."""
        return self._converted(changed(self.fitted()))

    def pairs(self):
        """The model with a changed copy, and with one fitted on other rows."""
        model = self.model()
        return [(model, self.changed()), (model, self.model(1))]

    def _converted(self, model):
        return model if self.convert is None else self.convert(model)


@cache
def _fitted(reader, seed):
    X, y = data(reader.n_classes, reader.missing, seed)
    if reader.between is not None:
        y = np.interp(y, (y.min(), y.max()), reader.between)
    return reader.make(seed).fit(X, y)


_Tree = partial(DecisionTreeClassifier, max_depth=2)
_Forest = partial(RandomForestClassifier, 3, max_depth=2)


def _voting(voting, weights=None):
    def make(seed):
        members = [("a", _Tree(random_state=seed)), ("b", _Forest(random_state=seed))]
        members.append(("c", ExtraTreesClassifier(2, max_depth=1, random_state=seed)))
        return VotingClassifier(members, voting=voting, weights=weights)

    return make


def _of_members(kind, **options):
    return lambda seed: kind(
        [("a", _Tree(random_state=seed)), ("b", _GRADIENT(seed).set_params(n_estimators=2))],
        **options,
    )


def _average(seed):
    members = [("a", _FOREST_VALUE(seed)), ("b", _GRADIENT_VALUE(seed)), ("c", _HIST_VALUE(seed))]
    return VotingRegressor(members, weights=[1, 0.3, 2])


def _of(kind, *args, **options):
    return lambda seed: kind(*args, random_state=seed, **options)


def _scaled(make):
    return lambda seed: make_pipeline(StandardScaler(), make(seed))


def _threshold(make, threshold, pos="bee"):
    return lambda seed: FixedThresholdClassifier(make(seed), threshold=threshold, pos_label=pos)


def _calibrated(make, method, **options):
    options = {"ensemble": False, **options}
    return lambda seed: CalibratedClassifierCV(make(seed), method=method, cv=3, **options)


_GRADIENT = _of(GradientBoostingClassifier, n_estimators=3, max_depth=2)
_HIST = _of(HistGradientBoostingClassifier, max_iter=3, max_leaf_nodes=4, min_samples_leaf=5)
_HIST_VALUE = _of(HistGradientBoostingRegressor, max_iter=3, max_leaf_nodes=4, min_samples_leaf=5)
_HIST_LOG = _of(
    HistGradientBoostingRegressor, max_iter=3, max_leaf_nodes=4, min_samples_leaf=5, loss="gamma"
)
_FOREST_VALUE = _of(RandomForestRegressor, 4, max_depth=2)
_GRADIENT_VALUE = _of(GradientBoostingRegressor, n_estimators=3, max_depth=2)
_XGB = _xgboost("XGBClassifier", n_estimators=3)
_XGB_VALUE = _xgboost("XGBRegressor", n_estimators=4)
_LGBM = _lightgbm("LGBMClassifier", n_estimators=3)
_LGBM_VALUE = _lightgbm("LGBMRegressor", n_estimators=4)
_RF = dict(boosting_type="rf", n_estimators=3, bagging_freq=1, bagging_fraction=0.7)
_LGBM_RF = _lightgbm("LGBMClassifier", **_RF)
_LGBM_RF_VALUE = _lightgbm("LGBMRegressor", **_RF)
_CAT = _catboost("CatBoostClassifier", iterations=4)
_CAT_VALUE = _catboost("CatBoostRegressor", iterations=4)
_DART = dict(booster="dart", rate_drop=0.5, n_estimators=3)

READERS = {
    "tree": Reader(_of(_Tree), 3, "mean"),
    "tree, value": Reader(_of(DecisionTreeRegressor, max_depth=3), 0),
    "forest": Reader(_of(_Forest), 3, "mean"),
    "forest, missing": Reader(_of(_Forest), 2, "mean", missing=True),
    "forest, value": Reader(_FOREST_VALUE, 0),
    "extra trees": Reader(_of(ExtraTreesClassifier, 4, max_depth=2), 2, "mean"),
    "extra trees, value": Reader(_of(ExtraTreesRegressor, 4, max_depth=2), 0),
    "bagging": Reader(_of(BaggingClassifier, _Tree(), 3), 3, "mean"),
    "bagging, some features": Reader(_of(BaggingClassifier, _Tree(), 4, max_features=2), 3, "mean"),
    "bagging of forests": Reader(_of(BaggingClassifier, _Forest(), 2, max_features=2), 2, "mean"),
    "bagging, value": Reader(
        _of(BaggingRegressor, DecisionTreeRegressor(max_depth=2), 4, max_features=2), 0
    ),
    "adaboost of stumps": Reader(
        _of(AdaBoostClassifier, _Tree(max_depth=1), n_estimators=4), 2, "odds"
    ),
    "adaboost, 3": Reader(_of(AdaBoostClassifier, _Tree(), n_estimators=3), 3),
    "adaboost of forests": Reader(
        _of(AdaBoostClassifier, _Forest(), n_estimators=2), 2, is_sum=False
    ),
    "gradient": Reader(_GRADIENT, 2, "odds"),
    "gradient, exponential": Reader(
        _of(GradientBoostingClassifier, n_estimators=3, max_depth=2, loss="exponential"), 2, "odds"
    ),
    "gradient, 3": Reader(_GRADIENT, 3),
    "gradient, value": Reader(_GRADIENT_VALUE, 0),
    "histogram": Reader(_HIST, 2, "odds"),
    "histogram, 3": Reader(_of(HistGradientBoostingClassifier, max_iter=2, max_leaf_nodes=3), 3),
    "histogram, missing": Reader(_HIST, 2, "odds", missing=True),
    "histogram, value": Reader(_HIST_VALUE, 0),
    "histogram, value, missing": Reader(_HIST_VALUE, 0, missing=True),
    "histogram, log": Reader(_HIST_LOG, 0, between=(1, 5)),
    "xgboost": Reader(_XGB, 2, "odds"),
    "xgboost, 3": Reader(_xgboost("XGBClassifier", n_estimators=2), 3),
    "xgboost, missing": Reader(_XGB, 2, "odds", missing=True),
    "xgboost, value": Reader(_XGB_VALUE, 0),
    "xgboost, log": Reader(
        _xgboost("XGBRegressor", n_estimators=3, objective="count:poisson"), 0, between=(1, 5)
    ),
    "xgboost forest": Reader(_xgboost("XGBRFClassifier", n_estimators=3), 2, "odds"),
    "xgboost forest, value": Reader(_xgboost("XGBRFRegressor", n_estimators=3), 0),
    "xgboost dart": Reader(_xgboost("XGBClassifier", **_DART), 2, "odds"),
    "xgboost dart, value": Reader(_xgboost("XGBRegressor", **_DART), 0),
    "lightgbm": Reader(_LGBM, 2, "odds"),
    "lightgbm, slope": Reader(_lightgbm("LGBMClassifier", n_estimators=3, sigmoid=2.0), 2, "odds"),
    "lightgbm, 3": Reader(_lightgbm("LGBMClassifier", n_estimators=2), 3),
    "lightgbm, missing": Reader(_LGBM, 2, "odds", missing=True),
    "lightgbm, value": Reader(_LGBM_VALUE, 0),
    "lightgbm, log": Reader(
        _lightgbm("LGBMRegressor", n_estimators=3, objective="tweedie"), 0, between=(1, 5)
    ),
    "lightgbm, share": Reader(
        _lightgbm("LGBMRegressor", n_estimators=3, objective="cross_entropy"), 0, between=(0, 1)
    ),
    "xgboost, share": Reader(
        _xgboost("XGBRegressor", n_estimators=3, objective="reg:logistic"), 0, between=(0, 1)
    ),
    "xgboost, quantile": Reader(
        _xgboost("XGBRegressor", n_estimators=3, objective="reg:quantileerror", quantile_alpha=0.7),
        0,
    ),
    "average, value": Reader(_average, 0),
    "bagging of boosting, value": Reader(_of(BaggingRegressor, _GRADIENT_VALUE(0), 2), 0),
    "targets, log": Reader(
        lambda s: TransformedTargetRegressor(
            _FOREST_VALUE(s), func=np.log1p, inverse_func=np.expm1
        ),
        0,
        between=(0, 3),
    ),
    "lightgbm forest": Reader(_LGBM_RF, 2, "odds"),
    "lightgbm forest, 3": Reader(_lightgbm("LGBMClassifier", **{**_RF, "n_estimators": 2}), 3),
    "lightgbm forest, value": Reader(_LGBM_RF_VALUE, 0),
    "catboost": Reader(_CAT, 2, "odds"),
    "catboost, 3": Reader(_catboost("CatBoostClassifier", iterations=3), 3),
    "catboost, missing": Reader(_CAT, 2, "odds", missing=True),
    "catboost by leaves": Reader(
        _catboost("CatBoostClassifier", iterations=3, grow_policy="Lossguide", max_leaves=4),
        2,
        "odds",
    ),
    "catboost, value": Reader(_CAT_VALUE, 0),
    "catboost, log": Reader(
        _catboost("CatBoostRegressor", iterations=3, loss_function="Poisson"), 0, between=(1, 5)
    ),
    "soft votes": Reader(_voting("soft"), 3, "mean"),
    "soft votes, weights": Reader(_voting("soft", [1, 0.3, 2]), 2, "mean"),
    "hard votes": Reader(_voting("hard", None), 3, is_sum=False),
    "hard votes, weights": Reader(_voting("hard", [1, 0.3, 2]), 2, is_sum=False),
    "soft votes of boosting": Reader(_of_members(VotingClassifier, voting="soft"), 2, is_sum=False),
    "bagging of adaboost": Reader(
        _of(BaggingClassifier, AdaBoostClassifier(_Tree(max_depth=1), n_estimators=2), 2),
        2,
        is_sum=False,
    ),
    "one against the rest": Reader(lambda s: OneVsRestClassifier(_Forest(random_state=s)), 3),
    "one against the rest, boosting": Reader(
        lambda s: OneVsRestClassifier(_GRADIENT(s).set_params(n_estimators=2)), 3
    ),
    "one against one": Reader(lambda s: OneVsOneClassifier(_Tree(random_state=s)), 3, is_sum=False),
    "stacking": Reader(_of_members(StackingClassifier, cv=2), 3, is_sum=False),
    "pipeline": Reader(
        lambda s: make_pipeline(StandardScaler(), _Forest(random_state=s)), 2, "mean"
    ),
    "pipeline, boosting": Reader(
        lambda s: make_pipeline(StandardScaler(), _GRADIENT(s)), 2, "odds"
    ),
    "pipeline, value": Reader(lambda s: make_pipeline(StandardScaler(), _FOREST_VALUE(s)), 0),
    "threshold": Reader(_threshold(_of(_Forest), 0.3), 2, "mean"),
    "threshold, pure leaves": Reader(
        _threshold(_of(RandomForestClassifier, 3, max_features=1, max_samples=12), 1 / 3, "ant"),
        2,
        "mean",
    ),
    "threshold, boosting": Reader(_threshold(_GRADIENT, 0.4), 2, "odds"),
    "threshold, stumps": Reader(
        _threshold(_of(AdaBoostClassifier, _Tree(max_depth=1), n_estimators=4), 0.55), 2, "odds"
    ),
    "threshold, pipeline": Reader(_scaled(_threshold(_of(_Forest), 0.7)), 2, "mean"),
    "calibrated": Reader(_calibrated(_of(_Forest), "sigmoid"), 2, "odds"),
    "calibrated, isotonic": Reader(_calibrated(_of(_Forest), "isotonic"), 2),
    "calibrated, boosting": Reader(_calibrated(_GRADIENT, "sigmoid"), 2, "odds"),
    "calibrated, folds": Reader(_calibrated(_of(_Tree), "sigmoid", ensemble=True), 3, is_sum=False),
    "pruned forest": Reader(_pruned, 2, "mean"),
    "treelite of a forest": Reader(_of(_Forest), 3, "mean", convert=to_treelite),
    "treelite of a forest, value": Reader(_FOREST_VALUE, 0, convert=to_treelite),
    "treelite of gradient": Reader(_GRADIENT, 2, "odds", convert=to_treelite),
    "treelite of xgboost": Reader(_XGB, 2, "odds", convert=to_treelite),
    "treelite of xgboost, 3": Reader(
        _xgboost("XGBClassifier", n_estimators=2), 3, convert=to_treelite
    ),
    "treelite of xgboost, value": Reader(_XGB_VALUE, 0, convert=to_treelite),
    "treelite of lightgbm": Reader(_LGBM, 2, "odds", convert=to_treelite),
    "treelite of lightgbm, slope": Reader(
        _lightgbm("LGBMClassifier", n_estimators=3, sigmoid=2.0), 2, "odds", convert=to_treelite
    ),
    "treelite of lightgbm, value": Reader(_LGBM_VALUE, 0, convert=to_treelite),
    "treelite of a lightgbm forest": Reader(_LGBM_RF, 2, "odds", convert=to_treelite),
    "treelite of a lightgbm forest, value": Reader(_LGBM_RF_VALUE, 0, convert=to_treelite),
    "onnx of a tree": Reader(_of(_Tree), 3, "mean", convert=to_onnx),
    "onnx of a forest": Reader(_of(_Forest), 2, "mean", convert=to_onnx),
    "onnx of a forest, value": Reader(_FOREST_VALUE, 0, convert=to_onnx),
    "onnx of gradient": Reader(_GRADIENT, 2, "odds", convert=to_onnx),
    "onnx of gradient, 3": Reader(_GRADIENT, 3, convert=to_onnx),
    "onnx of gradient, value": Reader(_GRADIENT_VALUE, 0, convert=to_onnx),
}
