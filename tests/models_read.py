"""What works with which kind of model: every kind is asked everything.

``python tests/models_read.py`` writes the table of the reference, ``doc/reference/models.rst.inc``.
"""

import re
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ensemble_simplify import (
    AnomalyScore,
    BornAgainClassifier,
    BornAgainRegressor,
    FaithfulPruner,
    FeatureBudgetPruner,
    GenesimClassifier,
    OneOutput,
    OnnxModel,
    RepresenterTree,
    ScorecardClassifier,
    TreeliteModel,
    agreement,
    export_model,
    export_tree,
    is_monotone,
    nearest_flip,
    scorecard,
    simplify,
    sufficient_box,
    verify,
)
from ensemble_simplify.reading import Model, units_of, unwrap

TABLE = Path(__file__).parents[1] / "doc" / "reference" / "models.rst.inc"


# ------------------------------------------------------------------- rows


def numbers(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, size=(n, 3)).astype(np.float64)
    return X, (X[:, 0] + X[:, 1] * (X[:, 2] > 2) + rng.normal(size=n) > 5).astype(int)


def words(n=80, seed=0):
    """A table with text and gaps."""
    X, y = numbers(n, seed)
    table = pd.DataFrame(X, columns=["age", "years", "debt"])
    table["job"] = np.array(["cook", "judge", "nurse"])[(X[:, 2] % 3).astype(int)]
    table = table.drop(columns="debt")
    table.loc[::9, "age"] = np.nan
    table.loc[4::11, "job"] = None
    return table, y


def categories(n=80, seed=0):
    """A table of numbers and of categories, on which most hangs."""
    X, y = numbers(n, seed)
    table = pd.DataFrame(X[:, :2], columns=["age", "years"])
    jobs = np.array(["cook", "judge", "nurse", "pilot", "smith", "tutor"])
    table["job"] = pd.Categorical(jobs[X[:, 2].astype(int)])
    return table, np.where(table["job"].isin(["judge", "smith", "tutor"]), 1, y)


# ------------------------------------------------------------------- kinds of models

_FOREST = RandomForestClassifier(3, max_depth=2, random_state=0)
_TREE = DecisionTreeClassifier(max_depth=2, random_state=0)


def _own(package, name, **options):
    return lambda: getattr(pytest.importorskip(package), name)(**options)


def _treelite(X, y):
    treelite = pytest.importorskip("treelite.sklearn")
    model = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, y)
    return TreeliteModel(treelite.import_model(model), classes=model.classes_)


def _onnx(X, y):
    skl2onnx = pytest.importorskip("skl2onnx")
    pytest.importorskip("onnxruntime")
    model = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, y)
    return OnnxModel(skl2onnx.to_onnx(model, X[:1].astype(np.float32)))


def _booster(X, y):
    lightgbm = pytest.importorskip("lightgbm")
    return lightgbm.train(
        {"objective": "binary", "num_leaves": 4, "min_data_in_leaf": 5, "verbose": -1},
        lightgbm.Dataset(X, y),
        3,
    )


def _ranker(X, y):
    lightgbm = pytest.importorskip("lightgbm")
    return lightgbm.LGBMRanker(**_LGBM).fit(X, y, group=[20, 20, 20])


def _survival(X, y):
    package = pytest.importorskip("sksurv.ensemble")
    times = np.array(list(zip(y > -1, X[:, 0] + 1, strict=True)), dtype=[("e", bool), ("t", float)])
    return package.RandomSurvivalForest(3, max_depth=2, random_state=0).fit(X, times)


def _one_output(X, y):
    forest = RandomForestRegressor(3, max_depth=2, random_state=0)
    return OneOutput(forest.fit(X, np.column_stack([y, X[:, 0]])), 1)


def _anomaly_score(X, y):
    return AnomalyScore(_ODD.fit(X))


def _card(X, y):
    model = GradientBoostingClassifier(n_estimators=3, max_depth=1, random_state=0)
    return scorecard(model.fit(X, y))


_ODD = IsolationForest(n_estimators=3, max_samples=8, random_state=0)
_EBM, _SMALL = "ExplainableBoostingClassifier", dict(outer_bags=1, max_rounds=5, n_jobs=1)
_XGB = dict(n_estimators=3, max_depth=2, n_jobs=1)
_LGBM = dict(n_estimators=3, num_leaves=4, min_child_samples=5, verbose=-1, n_jobs=1)
_CATBOOST = dict(iterations=3, depth=2, verbose=0, thread_count=1, allow_writing_files=False)

# Name, what is fitted, and the rows that it is fitted on.
KINDS = {
    "``DecisionTreeClassifier``": (_TREE, numbers),
    "``RandomForestClassifier``, ``ExtraTreesClassifier``": (_FOREST, numbers),
    "``BaggingClassifier``": (BaggingClassifier(_TREE, 3, random_state=0), numbers),
    "``AdaBoostClassifier``": (AdaBoostClassifier(_TREE, n_estimators=3, random_state=0), numbers),
    "``GradientBoostingClassifier``": (
        GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=0),
        numbers,
    ),
    "``HistGradientBoostingClassifier``": (
        HistGradientBoostingClassifier(max_iter=3, max_leaf_nodes=4, min_samples_leaf=5),
        numbers,
    ),
    "``HistGradientBoostingClassifier`` with categories": (
        HistGradientBoostingClassifier(
            max_iter=3, max_leaf_nodes=4, min_samples_leaf=5, categorical_features="from_dtype"
        ),
        categories,
    ),
    "``VotingClassifier``, of trees": (
        VotingClassifier([("a", _TREE), ("b", _FOREST)], voting="soft"),
        numbers,
    ),
    "``XGBClassifier``": (_own("xgboost", "XGBClassifier", **_XGB), numbers),
    "``XGBClassifier`` with categories": (
        _own("xgboost", "XGBClassifier", enable_categorical=True, **_XGB),
        categories,
    ),
    "``LGBMClassifier``": (_own("lightgbm", "LGBMClassifier", **_LGBM), numbers),
    "``LGBMClassifier`` with categories": (
        _own("lightgbm", "LGBMClassifier", **_LGBM),
        categories,
    ),
    "``CatBoostClassifier`` of numbers": (
        _own("catboost", "CatBoostClassifier", **_CATBOOST),
        numbers,
    ),
    "``CatBoostClassifier`` with ``cat_features``": (
        _own("catboost", "CatBoostClassifier", cat_features=["job"], **_CATBOOST),
        categories,
    ),
    "``CatBoostClassifier`` with ``cat_features`` and ``one_hot_max_size``": (
        _own(
            "catboost",
            "CatBoostClassifier",
            cat_features=["job"],
            one_hot_max_size=10,
            **_CATBOOST,
        ),
        categories,
    ),
    "``xgboost.Booster``, ``lightgbm.Booster``": (_booster, numbers),
    "``GridSearchCV`` over one of these": (
        GridSearchCV(_FOREST, {"max_depth": [1, 2]}, cv=2),
        numbers,
    ),
    "``FixedThresholdClassifier``, ``TunedThresholdClassifierCV``, over one of these": (
        TunedThresholdClassifierCV(_FOREST, cv=2, random_state=0),
        numbers,
    ),
    "``CalibratedClassifierCV`` with one model behind it": (
        CalibratedClassifierCV(_FOREST, method="isotonic", ensemble=False, cv=2),
        numbers,
    ),
    "``CalibratedClassifierCV`` with a model for each fold": (
        CalibratedClassifierCV(_FOREST, cv=2),
        numbers,
    ),
    "a pipeline of scalers and encoders before one of these": (
        make_pipeline(
            make_column_transformer(
                (OneHotEncoder(handle_unknown="ignore"), ["job"]),
                (SimpleImputer(), ["age", "years"]),
            ),
            _FOREST,
        ),
        words,
    ),
    "``RandomForestRegressor``, ``ExtraTreesRegressor``": (
        RandomForestRegressor(3, max_depth=2, random_state=0),
        numbers,
    ),
    "``GradientBoostingRegressor``, other boosted regressors": (
        GradientBoostingRegressor(n_estimators=3, max_depth=2, random_state=0),
        numbers,
    ),
    "boosted regressors of Poisson, gamma and Tweedie losses": (
        HistGradientBoostingRegressor(
            loss="poisson", max_iter=3, max_leaf_nodes=4, min_samples_leaf=5
        ),
        numbers,
    ),
    "boosted regressors of shares (``reg:logistic``, ``cross_entropy``)": (
        _own("xgboost", "XGBRegressor", objective="reg:logistic", **_XGB),
        numbers,
    ),
    "``TransformedTargetRegressor`` by ``log`` or ``log1p``": (
        TransformedTargetRegressor(
            RandomForestRegressor(3, max_depth=2, random_state=0),
            func=np.log1p,
            inverse_func=np.expm1,
        ),
        numbers,
    ),
    "``TransformedTargetRegressor`` by other functions that rise": (
        TransformedTargetRegressor(
            RandomForestRegressor(3, max_depth=2, random_state=0), transformer=StandardScaler()
        ),
        numbers,
    ),
    "``VotingRegressor``, ``BaggingRegressor`` of boosting": (
        VotingRegressor(
            [
                ("a", RandomForestRegressor(3, max_depth=2, random_state=0)),
                ("b", GradientBoostingRegressor(n_estimators=3, max_depth=2, random_state=0)),
            ]
        ),
        numbers,
    ),
    "rankers of LightGBM, XGBoost and CatBoost": (_ranker, numbers),
    ":class:`OneOutput` of a model of several": (_one_output, numbers),
    "``IsolationForest``": (_ODD, numbers),
    ":class:`AnomalyScore` of an ``IsolationForest``": (_anomaly_score, numbers),
    "forests and boosted trees of scikit-survival": (_survival, numbers),
    "``HSTreeClassifier``, ``FIGSClassifier`` of imodels": (
        _own("imodels", "FIGSClassifier", max_rules=3),
        numbers,
    ),
    "``RandomForestQuantileRegressor`` of quantile-forest": (
        _own("quantile_forest", "RandomForestQuantileRegressor", n_estimators=3, max_depth=2),
        numbers,
    ),
    "``BalancedRandomForestClassifier``, ``BalancedBaggingClassifier`` of imblearn": (
        _own("imblearn.ensemble", "BalancedBaggingClassifier", estimator=_TREE, n_estimators=3),
        numbers,
    ),
    "``VotingClassifier(voting='soft')``, ``BaggingClassifier`` of boosting": (
        VotingClassifier(
            [("a", GradientBoostingClassifier(n_estimators=3, random_state=0)), ("b", _FOREST)],
            voting="soft",
        ),
        numbers,
    ),
    "``OneVsRestClassifier`` of forests or boosting": (
        OneVsRestClassifier(_FOREST),
        lambda: (numbers()[0], numbers()[0][:, 0].astype(int) // 2),
    ),
    "``OneVsOneClassifier``": (
        OneVsOneClassifier(_TREE),
        lambda: (numbers()[0], numbers()[0][:, 0].astype(int) // 2),
    ),
    "``StackingClassifier``": (StackingClassifier([("a", _FOREST)], cv=2), numbers),
    "``StackingRegressor`` with a linear last model": (
        StackingRegressor([("a", RandomForestRegressor(3, max_depth=2, random_state=0))], cv=2),
        numbers,
    ),
    "``AdaBoostRegressor``": (
        AdaBoostRegressor(DecisionTreeRegressor(max_depth=2), n_estimators=3, random_state=0),
        numbers,
    ),
    ":class:`BornAgainClassifier`, :class:`GenesimClassifier` and other trees made here": (
        GenesimClassifier(n_iter=1, random_state=0),
        numbers,
    ),
    ":class:`BornAgainRegressor` and other regression trees made here": (
        BornAgainRegressor(
            GradientBoostingRegressor(n_estimators=3, max_depth=2, random_state=0), random_state=0
        ),
        numbers,
    ),
    ":class:`FaithfulPruner`": (FaithfulPruner(_FOREST, max_changes=0), numbers),
    ":class:`ScorecardClassifier`": (
        ScorecardClassifier(_FOREST, max_bins=6, n_samples=200, random_state=0),
        numbers,
    ),
    ":class:`AdditiveScorecard`": (_card, numbers),
    "``ExplainableBoostingClassifier``": (_own("interpret.glassbox", _EBM, **_SMALL), numbers),
    ":class:`TreeliteModel`": (_treelite, numbers),
    ":class:`OnnxModel`": (_onnx, numbers),
    "any other model": (make_pipeline(StandardScaler(), LogisticRegression()), numbers),
}


@cache
def fitted(kind):
    """A fitted model of a kind, rows and labels."""
    made, rows = KINDS[kind]
    X, y = rows()
    if made in (_treelite, _onnx, _booster, _card, _ranker, _one_output, _survival, _anomaly_score):
        return made(X, y), X, y
    model = made() if callable(made) else made
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y), X, y


# ------------------------------------------------------------------- questions

# A refusal says what to do instead.
REMEDY = re.compile(r"\b(supported|use|give|pass|fit|make|write)\b", re.IGNORECASE)


def _answers(model, X):
    """Labels, or numbers: a native booster has probabilities."""
    return np.asarray(unwrap(model).predict(X))


def _same(estimator, model, X):
    """What an estimator answers is what the model does."""
    np.testing.assert_array_equal(estimator.predict(X), _answers(model, X))


def _close(estimator, model, X):
    """What an estimator answers is within its tolerance of what the model does."""
    assert np.abs(estimator.predict(X) - _answers(model, X)).max() <= estimator.atol_


def _is_regressor(model):
    return not hasattr(unwrap(model), "classes_")


def ask_verify(model, X, y):
    options = {"atol": 1e-6} if _is_regressor(model) else {}
    outcome = verify(model, model, X=X, max_changes=1, **options)
    assert outcome.equal is True


def ask_agreement(model, X, y):
    assert agreement(model, model, X).share == 1.0
    if not hasattr(model, "predict_proba"):
        return
    assert agreement(model, model, X, atol=0.1).max_difference == 0.0


def ask_audit(model, X, y):
    row = X.iloc[:1] if hasattr(X, "columns") else X[:1]
    several = {} if _is_regressor(model) or len(set(y)) < 3 else {"class_order": sorted(set(y))}
    assert is_monotone(model, 0, **several).monotone in (True, False)
    box, target = {}, None
    if _is_regressor(model):
        own = _answers(model, X)
        box, target = {"within": 0.1}, (float(own[0] + own.std() / 2), None)
    assert sufficient_box(model, row, **box).contains(row).all()
    found = nearest_flip(model, row, max_changes=3, target=target)
    if found:
        assert found.predictions[0] != found.predictions[1]


def ask_born_again(model, X, y):
    if _is_regressor(model):
        tree = BornAgainRegressor(FrozenEstimator(model), atol="20%", max_changes=1)
        _close(tree.fit(X, _answers(model, X)), model, X)
    else:
        tree = BornAgainClassifier(FrozenEstimator(model), max_changes=1).fit(X, _answers(model, X))
        _same(tree, model, X)
    assert tree.verify()
    assert export_tree(tree, "sql")


def ask_faithful(model, X, y):
    atol = "20%" if _is_regressor(model) else None
    pruner = FaithfulPruner(FrozenEstimator(model), max_changes=0, atol=atol)
    pruner.fit(X, _answers(model, X))
    (_same if atol is None else _close)(pruner, model, X)
    assert pruner.n_trees_ >= 1


def ask_budget(model, X, y):
    pruner = FeatureBudgetPruner(FrozenEstimator(model), lam=0.0).fit(X, y)
    assert pruner.cost_ <= pruner.unpruned_cost_
    assert len(pruner.predict(X)) == len(X)


def ask_genesim(model, X, y):
    tree = GenesimClassifier([FrozenEstimator(model)], n_iter=1, random_state=0).fit(X, y)
    assert set(tree.predict(X)) <= set(y)


def ask_representer(model, X, y):
    tree = RepresenterTree(
        FrozenEstimator(model), max_leaf_nodes=4, n_samples=200, sampler="smear", random_state=0
    ).fit(X)
    assert tree.get_n_leaves() <= 4
    assert len(tree.predict(X)) == len(X)


def ask_simplify(model, X, y):
    found = simplify(model, X, methods=["plain_tree"], random_state=0)
    assert found.results


def ask_export(model, X, y):
    assert export_model(model, "sql", table="rows", X=X)


# What is asked, and what a model that is taken is said to be.
QUESTIONS = {
    ":ref:`verify <verify>`": (ask_verify, "proven"),
    ":ref:`agreement <agreement>`": (ask_agreement, "asked"),
    ":ref:`audit <audit>`": (ask_audit, "proven"),
    ":ref:`export <export_ensembles>`": (ask_export, "written"),
    ":ref:`born-again <born_again>`": (ask_born_again, "proven"),
    ":ref:`faithful <faithful_pruning>`": (ask_faithful, "proven"),
    ":ref:`budget <feature_budget>`": (ask_budget, "proven"),
    ":ref:`GENESIM <genesim>`": (ask_genesim, "merged"),
    ":ref:`representer <representer>`": (ask_representer, "asked"),
    ":ref:`simplify <simplify>`": (ask_simplify, "asked"),
}


def refusal(kind, question):
    """Why a function does not take a kind of model; None if it does."""
    model, X, y = fitted(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            QUESTIONS[question][0](model, X, y)
        except (TypeError, ValueError) as error:
            return str(error)
    return None


def answer(kind, question):
    """What the table says, and the reason of a refusal; None if there is none."""
    why, said = refusal(kind, question), QUESTIONS[question][1]
    if why is not None:
        return "no", _reason(why)
    if said == "proven" and not _is_regressor(fitted(kind)[0]):
        said = "proven" if _has_bounds(kind) else "by cells"
    return said, None


def _has_bounds(kind):
    """Whether the class of a kind of models is told by sums, which have bounds in every box."""
    units = Model.of(fitted(kind)[0]).forest
    return not any(unit.opaque for unit in units_of(units, np.arange(units.n_classes), 3).units)


def _reason(why):
    """A refusal without the names of the models that it is about."""
    why = re.sub(r"(Supported: .*scorecard\.|^estimators\[0\]: ) ?", "", why)
    why = re.sub(r"\w*(\[0\])?=?\b\w+\(\.\.\.\)", "it", why)
    why = re.sub(r"model_a and model_b are it and it: | of type LogisticRegression", "", why)
    why = re.sub(r"^[A-Z][a-z]+[A-Z]\w+ ", "it ", why)
    # stars and underscores that end a word are marks of reStructuredText
    return re.sub(r"\*|_(?!\w)", r"\\\g<0>", why[0].upper() + why[1:])


# ------------------------------------------------------------------- the table


def written():
    """The table as the documentation has it; rows of libraries that are not here stay."""
    reasons, before = {}, read_table()
    lines = [
        ".. Written by python tests/models_read.py: do not edit.",
        "",
        ".. list-table::",
        "   :header-rows: 1",
        "   :class: models",
        "",
        "   * - Model",
        *(f"     - {question}" for question in QUESTIONS),
    ]
    for kind in KINDS:
        lines.append(f"   * - {kind}")
        for question in QUESTIONS:
            try:
                said, why = answer(kind, question)
            except pytest.skip.Exception:
                said, why = before[kind][question]
            place = "" if why is None else f" {reasons.setdefault(why, len(reasons) + 1)}"
            lines.append(f"     - {said}{place}")
    lines += ["", "Why not:", "", *(f"{place}. {why}" for why, place in reasons.items())]
    return "\n".join(lines) + "\n"


def read_table():
    """What the documentation says: for each kind of model, what works with it, and why not."""
    found, kind, reasons = {}, None, {}
    for line in TABLE.read_text(encoding="utf8").splitlines():
        if line.startswith("   * - "):
            kind = line.removeprefix("   * - ")
            found[kind] = []
        elif line.startswith("     - "):
            found[kind].append(line.removeprefix("     - "))
        elif line[:1].isdigit():
            place, _, why = line.partition(". ")
            reasons[f"no {place}"] = "no", why
    heads = found.pop("Model")
    found = {kind: [reasons.get(cell, (cell, None)) for cell in own] for kind, own in found.items()}
    return {kind: dict(zip(heads, cells, strict=True)) for kind, cells in found.items()}


if __name__ == "__main__":
    TABLE.write_text(written(), encoding="utf8")
