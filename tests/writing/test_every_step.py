"""Every family of models in every language, and every step from leaves to an answer.

Rows stand on thresholds and one number beside them. For the steps, a tree has a leaf for each of
many numbers right around the one at which the model's answer changes, one float apart: what stands
there is what rounds. The answers to compare with are always those of the library itself.
"""

import copy
import json
import warnings
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from readers import READERS, catboost_json, catboost_of, edges, to_onnx, to_treelite
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from written_code import (
    by_c,
    by_duckdb,
    by_javascript,
    by_python,
    by_sqlite,
    needs_gcc,
    needs_node,
)

from ensemble_simplify import export_model, import_model, scorecard
from ensemble_simplify.reading import Model, OfTrees, has_probabilities
from ensemble_simplify.writing import code_of
from ensemble_simplify.writing.in_json import _vote_in_json

N = 64
ROWS = np.arange(N, dtype=np.float64)[:, None]
# from far below to far above, and one float after the other in between
FAR = np.array([-30.0, -3.0, -0.7, 0.7, 3.0, 30.0])


def around(number, dtype=np.float64, step=None):
    """`N` numbers in no order: this one, floats around it, or multiples of a step, and far ones."""
    places = np.arange(N - len(FAR)) - (N - len(FAR)) // 2
    if step is None:
        with np.errstate(invalid="ignore"):
            near = dtype(number) + places * np.spacing(dtype(abs(number) or 1e-300))
    else:
        near = number + places * step
    return np.random.default_rng(0).permutation(np.concatenate([near, FAR])).astype(dtype)


# ------------------------------------------------------------------- leaves by hand


def _fitted(model, n_classes=2):
    """A model whose first tree has a leaf for each row."""
    y = np.arange(N) * 7 % 11 % n_classes if n_classes else np.arange(N) * 7 % 64 * 1.0
    return model.fit(ROWS, y)


def _set(tree, values):
    """Give the leaves of a tree of scikit-learn values, by the rows that end there."""
    leaf = tree.apply(ROWS.astype(np.float32))
    assert len(np.unique(leaf)) == N
    tree.tree_.value[leaf, 0] = np.reshape(values, (N, -1))
    return tree


def _full(**options):
    """A tree with a leaf for each of the rows."""
    return _fitted(DecisionTreeRegressor(random_state=0, **options), 0)


def _stages(model, values):
    """Trees of gradient boosting with a leaf for each row, one for each column of values."""
    trees = [_set(_full(), column / model.learning_rate) for column in values.T]
    model.estimators_ = np.array(trees, dtype=object).reshape(1, -1)
    model.n_estimators_ = 1
    return model


def _gradient(n_classes=2, **options):
    return _fitted(
        GradientBoostingClassifier(n_estimators=1, learning_rate=0.5, **options), n_classes
    )


def gradient(dtype=np.float64, **options):
    model = _gradient(**options)
    start = model._raw_predict_init(ROWS[:1].astype(np.float32))[0, 0]
    assert start != 0
    return _stages(model, around(-start, dtype)[:, None].astype(np.float64))


def gradient_of_three():
    model = _gradient(3)
    start = model._raw_predict_init(ROWS[:1].astype(np.float32))[0]
    two = around(0.25)
    return _stages(model, np.column_stack([0.25 + 0 * two, two, two[::-1]]) - start)


def gradient_of_numbers():
    model = _fitted(GradientBoostingRegressor(n_estimators=1, learning_rate=0.5), 0)
    return _stages(model, around(0.1)[:, None])


def histogram(start=0.3):
    options = dict(max_iter=1, min_samples_leaf=1, max_leaf_nodes=None, learning_rate=1.0)
    model = _fitted(HistGradientBoostingClassifier(**options))
    model._baseline_prediction[...] = start
    nodes = model._predictors[0][0].nodes
    leaves = np.flatnonzero(nodes["is_leaf"])
    nodes["value"][leaves] = around(-start)[: len(leaves)]
    return model


def adaboost(n_classes, weights):
    """Each tree says whether a bit of the number is set: all sums of weights come about."""
    model = AdaBoostClassifier(_bit(0), n_estimators=1)
    _fitted(model, n_classes)
    model.estimators_ = [_bit(k, n_classes) for k in range(len(weights))]
    model.estimator_weights_ = np.array(weights)
    return model


def _bit(k, n_classes=2):
    y = (np.arange(N) >> k) % 2 * (1 + k % (n_classes - 1))
    y = np.append(y, np.arange(n_classes))  # of all classes, whatever it says
    return DecisionTreeClassifier(random_state=0).fit(np.append(ROWS, [[99.0]] * n_classes, 0), y)


def forest(n_classes=2, n_trees=3):
    """Probabilities that add up to a half, or nearly so: tenths, which no double is."""
    model = _fitted(RandomForestClassifier(n_trees, random_state=0), n_classes)
    rng = np.random.default_rng(n_trees)
    every = DecisionTreeClassifier(random_state=0).fit(ROWS, np.arange(N) % n_classes)
    for k in range(n_trees):
        share = rng.integers(11, size=N) / 10
        rest = [0 * share] * (n_classes - 2)
        model.estimators_[k] = _set(
            copy.deepcopy(every), np.column_stack([share, 1 - share, *rest])
        )
    return model


def votes(voting, weights=None):
    members = [(f"bit {k}", _bit(k)) for k in range(4)] + [("forest", forest())]
    model = VotingClassifier(members, voting=voting, weights=weights)
    return _keeping(model, n_classes=2)


def _keeping(model, n_classes=2):
    """A vote fitted around models that stay as they are."""
    members = [(name, FrozenEstimator(member)) for name, member in model.estimators]
    return _fitted(model.set_params(**dict(members)), n_classes)


def bagging_without_a_class():
    """Two of the members have learned two of the three classes, and know these as 0 and 1."""
    model = _fitted(BaggingClassifier(_bit(0, 3), 3, random_state=0), 3)
    model.estimators_ = [forest(3), forest(2, 2), forest(2, 5)]
    for member, classes in zip(model.estimators_[1:], ([0, 2], [1, 2]), strict=True):
        member.classes_ = np.array(classes)
    return model


def bagging_of_labels():
    """Members that answer labels alone, one of which has learned two of the three classes."""
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    vote = VotingClassifier([("one", tree), ("two", _bit(0, 3))])
    model = _fitted(BaggingClassifier(vote, 2, max_samples=0.3, random_state=0), 3)
    own = np.arange(N) % 3 != 1
    model.estimators_[1] = clone(vote).fit(ROWS[own], np.arange(N)[own] % 3)
    return model


def bagging_of_forests():
    model = _fitted(BaggingClassifier(forest(), 3, random_state=0))
    model.estimators_ = [forest(), forest(2, 2), forest(2, 5)]
    return model


def threshold(model, at, method="predict_proba"):
    options = dict(threshold=at, response_method=method, pos_label=1)
    return FixedThresholdClassifier(FrozenEstimator(model), **options).fit(ROWS, np.arange(N) % 2)


def calibrated(model, method, n_classes=2):
    frozen = FrozenEstimator(model)
    rows = np.repeat(ROWS, 2, axis=0)
    y = np.random.default_rng(1).permutation(np.arange(2 * N) % n_classes)
    # with no relation of y to the answers, the scale would be next to nothing
    y = np.where(np.arange(2 * N) % 3 > 0, model.predict(rows), y)
    return CalibratedClassifierCV(frozen, method=method).fit(rows, y)


def falling():
    """A map whose class changes three times, as a rounding can make it."""
    model = calibrated(forest(), "isotonic")
    (calibrator,) = model.calibrated_classifiers_[0].calibrators
    calibrator.f_ = _three_changes
    calibrator.X_thresholds_ = np.array([0.0, 0.5, 0.75, 1.0])
    return model


def _three_changes(x):
    return np.where(np.abs(x - 0.5) < 1e-9, 0.6, np.where(x < 0.75, 0.4, 0.9))


def xgboost(start=0.2, **options):
    library = pytest.importorskip("xgboost")
    common = dict(n_estimators=1, max_depth=0, max_leaves=N, grow_policy="lossguide")
    common |= dict(min_child_weight=0, reg_lambda=0, tree_method="hist", n_jobs=1)
    model = library.XGBClassifier(**common, base_score=start, **options)
    y = np.random.default_rng(0).integers(2, size=N)
    model.fit(ROWS, y)
    saved = json.loads(bytes(model.get_booster().save_raw("json")))
    (tree,) = saved["learner"]["gradient_booster"]["model"]["trees"]
    leaves = np.flatnonzero(np.array(tree["left_children"]) == -1)
    margin = np.float32(np.log(start / (1 - start)))
    # the sigmoid in float32 rounds to one half beside 0
    values = around(-margin, np.float32)[: len(leaves)]
    assert len(leaves) > 20
    for leaf, value in zip(leaves, values, strict=True):
        tree["split_conditions"][leaf] = tree["base_weights"][leaf] = float(value)
    model.get_booster().load_model(bytearray(json.dumps(saved), "utf8"))
    return model


def lightgbm(slope=1.0, n_classes=2, **options):
    library = pytest.importorskip("lightgbm")
    common = dict(n_estimators=1, num_leaves=N, min_child_samples=1, min_data_in_bin=1, n_jobs=1)
    common |= dict(min_child_weight=0, verbose=-1, sigmoid=slope)
    model = library.LGBMClassifier(**common | options)
    model.fit(ROWS, np.random.default_rng(0).integers(n_classes, size=N))
    booster = model.booster_
    for tree, info in enumerate(booster.dump_model()["tree_info"]):
        values = around(0.0, step=2.0**-54 if n_classes == 2 else 2.0**-57)
        values = np.random.default_rng(tree).permutation(values) if n_classes > 2 else values
        for leaf in range(info["num_leaves"]):
            booster.set_leaf_output(tree, leaf, values[leaf])
    return model


def catboost(at=None, scale=1.0, bias=0.0):
    library = pytest.importorskip("catboost")
    common = dict(iterations=1, verbose=0, thread_count=1, allow_writing_files=False)
    grown = dict(grow_policy="Lossguide", max_leaves=N, depth=16, min_data_in_leaf=1)
    model = library.CatBoostClassifier(**common, **grown, l2_leaf_reg=0)
    model.fit(ROWS, np.random.default_rng(0).integers(2, size=N))
    saved = catboost_json(model)
    edge = 0.0 if at is None else np.log(at / (1 - at))
    values, nodes = iter(around((edge - bias) / scale).tolist()), [saved["trees"][0]]
    while nodes:
        node = nodes.pop()
        nodes += [node[side] for side in ("left", "right") if side in node]
        if "value" in node:
            node["value"] = next(values)
    saved["scale_and_bias"] = [scale, [bias]]
    model = catboost_of(model, saved)
    if at is not None:
        model.set_probability_threshold(at)
    return model


# ------------------------------------------------------------------- models

_RF = dict(boosting_type="rf", bagging_freq=1, bagging_fraction=0.9)
STEPS = {
    "start, ties to the upper class": gradient,
    "start, ties of three": gradient_of_three,
    "start of numbers": gradient_of_numbers,
    "exponential loss: slope 2": lambda: gradient(loss="exponential"),
    "histogram: start": histogram,
    "adaboost: divisor": lambda: adaboost(2, [0.1, 0.2, 0.3, 0.6]),
    "adaboost: ties to the lower class": lambda: adaboost(2, [1.0, 1.0, 2.0, 4.0]),
    "adaboost of three": lambda: adaboost(3, [0.1, 0.2, 0.3, 0.6]),
    "forest: ties": forest,
    "forest of three: ties": lambda: forest(3, 5),
    "bagging: mean of means": bagging_of_forests,
    "bagging: members without a class": bagging_without_a_class,
    "bagging: labels of members without a class": bagging_of_labels,
    "soft votes": lambda: votes("soft"),
    "soft votes: weights": lambda: votes("soft", [0.1, 0.2, 0.3, 0.6, 1.2]),
    "hard votes": lambda: votes("hard"),
    "hard votes: weights": lambda: votes("hard", [0.1, 0.2, 0.3, 0.6, 0.1]),
    "threshold of a forest": lambda: threshold(forest(), 0.3),
    "threshold: start": lambda: threshold(gradient(), 0.5),
    "threshold: exponential": lambda: threshold(gradient(loss="exponential"), 0.6),
    "threshold: adaboost": lambda: threshold(
        adaboost(2, [0.1, 0.2, 0.3, 0.6]), 0.1, "decision_function"
    ),
    "sigmoid: slope and shift": lambda: calibrated(gradient(), "sigmoid"),
    "sigmoid of a forest": lambda: calibrated(forest(), "sigmoid"),
    "sigmoid of adaboost": lambda: calibrated(adaboost(2, [0.1, 0.2, 0.3, 0.6]), "sigmoid"),
    "isotonic": lambda: calibrated(forest(), "isotonic"),
    "isotonic of adaboost": lambda: calibrated(adaboost(2, [1.0, 1.0, 2.0, 4.0]), "isotonic"),
    "temperature of adaboost, 3": lambda: calibrated(
        adaboost(3, [0.1, 0.2, 0.3, 0.6]), "temperature", 3
    ),
    "isotonic: several changes": falling,
    "temperature": lambda: calibrated(gradient(), "temperature"),
    "temperature of three": lambda: calibrated(gradient_of_three(), "temperature", 3),
    "xgboost: start, float32": xgboost,
    "lightgbm: by probability": lightgbm,
    "lightgbm: slope": lambda: lightgbm(3.0),
    "lightgbm of three: by softmax": lambda: lightgbm(n_classes=3),
    "lightgbm: divisor": lambda: lightgbm(**_RF, n_estimators=5),
    "catboost: ties": catboost,
    "catboost: probability threshold": lambda: catboost(0.3),
    "catboost: probability threshold, scale, bias": lambda: catboost(0.8, 0.5, 0.2),
    "treelite: start": lambda: to_treelite(gradient()),
    "treelite: slope": lambda: to_treelite(lightgbm(3.0)),
    "treelite: divisor": lambda: to_treelite(lightgbm(**_RF, n_estimators=5)),
    "onnx: start, float32": lambda: to_onnx(gradient(np.float32), 1),
    "scorecard": lambda: scorecard(gradient()),
    "scorecard: slope and shift": lambda: scorecard(calibrated(gradient(), "sigmoid")),
}
REFUSED = {
    "calibrated, folds": "averages calibrations",
    "one against one": "estimators_",
    "stacking": "estimators_",
}


def _classes(model):
    return Model.of(model).forest.classes


@cache
def asked(name):
    """A model, rows, and what the model answers to them."""
    if name in READERS:
        reader = READERS[name]
        model = reader.model()
        rows = beside(model, edges(model, missing=reader.missing, n_rows=150))
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model, rows = STEPS[name](), ROWS
    proba = None
    if _classes(model) is not None and hasattr(model, "predict_proba"):
        proba = model.predict_proba(rows)
    return model, rows, np.ravel(model.predict(rows)), proba


def beside(model, rows):
    """Rows, and some with a threshold or a float64 beside one, where the model compares such."""
    forest = Model.of(model).finest
    if forest.row_dtype == "float32":
        return rows
    rng, more = np.random.default_rng(1), rows.copy()
    splits = np.flatnonzero(forest.left >= 0)
    for row in more:
        node = rng.choice(splits)
        end = forest.threshold[node]
        row[forest.feature[node]] = rng.choice([end, *np.nextafter(end, [-np.inf, np.inf])])
    return np.concatenate([rows, more])


# ------------------------------------------------------------------- languages


# Each runs what was written in a language: the labels, or numbers, or `n_proba` probabilities.


def run_c(text, rows, folder, n_proba, classes):
    found = by_c(text, rows, folder, n_proba=n_proba, real=classes is None)
    return found if n_proba or classes is None else classes[found]


def run_sql(run):
    def answers(text, rows, folder, n_proba, classes):
        found = run(text, pd.DataFrame(rows, columns=_names(rows))).to_numpy()
        return found if n_proba else found[:, 0]

    return answers


def run_python(text, rows, folder, n_proba, classes):
    found = by_python(text, [dict(zip(_names(rows), row, strict=True)) for row in rows.tolist()])
    return np.array([list(own.values()) for own in found]) if n_proba else np.array(found)


def run_javascript(text, rows, folder, n_proba, classes):
    given = [dict(zip(_names(rows), row, strict=True)) for row in rows.tolist()]
    return np.array(by_javascript(text, given))


def run_json(text, rows, folder, n_proba, classes):
    again = import_model(text)
    return again.predict_proba(rows) if n_proba else again.predict(rows)


def _names(rows):
    return [f"x{j}" for j in range(rows.shape[1])]


_SQL = dict(language="sql", table="rows", keys=["id"])
LANGUAGES = {
    "C, tables": (dict(language="c", form="tables"), run_c),
    "C, nested": (dict(language="c", form="nested"), run_c),
    "SQLite, nested": (dict(_SQL, form="nested"), run_sql(by_sqlite)),
    "SQLite, tables": (dict(_SQL, form="tables"), run_sql(by_sqlite)),
    # SQLite is given what it lacks of PostgreSQL: floats of 32 bits
    "PostgreSQL, nested": (dict(_SQL, form="nested", dialect="postgresql"), run_sql(by_sqlite)),
    "DuckDB, nested": (dict(_SQL, form="nested"), run_sql(by_duckdb)),
    "Python": (dict(language="python"), run_python),
    "JavaScript": (dict(language="javascript"), run_javascript),
    "JSON": (dict(language="json"), run_json),
}


_MARKS = {"C,": [needs_gcc], "Ja": [needs_node]}


def each(languages):
    return pytest.mark.parametrize(
        ("name", "language"),
        [
            pytest.param(name, language, marks=_MARKS.get(language[:2], []))
            for language in languages
            for name in [*READERS, *STEPS]
        ],
    )


def written(name, language, folder, n_proba=0):
    """What the code of a model in a language answers, and whether it says that it can differ."""
    options, run = LANGUAGES[language]
    model, rows, _, _ = asked(name)
    output = "probabilities" if n_proba else "label"
    text = export_model(model, output=output, feature_names=_names(rows), **options)
    return run(text, rows, folder, n_proba, _classes(model)), "can differ" in text


@each(LANGUAGES)
def test_answers(name, language, tmp_path):
    _, _, expected, proba = asked(name)
    if name in REFUSED:
        with pytest.raises(TypeError, match=REFUSED[name]):
            written(name, language, tmp_path)
        return
    found, can_differ = written(name, language, tmp_path)
    if can_differ and proba is None:
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        return
    if name.endswith((", log", ", share")):
        # NumPy, the C library, CatBoost and engines of JavaScript have exponentials of their own
        np.testing.assert_allclose(found, expected, rtol=1e-15)
        return
    clear = np.ones(len(found), dtype=bool)
    if can_differ:
        first_two = np.sort(proba, axis=1)[:, -2:]
        clear = first_two[:, 1] - first_two[:, 0] > (1e-6 if proba.itemsize == 4 else 1e-12)
        assert clear.any()
        if name.endswith("by softmax"):
            # few exponentials are rounded otherwise, and few of these change which one is largest
            assert (found == expected)[~clear].mean() > 0.8
    np.testing.assert_array_equal(found[clear], expected[clear])


@each(["C, tables", "SQLite, nested", "Python", "JavaScript", "JSON"])
def test_probabilities(name, language, tmp_path):
    model, _, _, expected = asked(name)
    if expected is None or name in REFUSED:
        return
    if not has_probabilities(Model.of(model).decision):
        with pytest.raises(ValueError, match="is not known"):
            written(name, language, tmp_path, expected.shape[1])
        return
    found, _ = written(name, language, tmp_path, expected.shape[1])
    is_single = expected.dtype == np.float32 or Model.of(model).decision.dtype == "float32"
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 if is_single else 1e-14)


@dataclass(frozen=True)
class Median:
    """A choice that nobody knows."""


class TreeMedian(OfTrees):
    """Numbers that nobody knows."""


def test_a_step_that_is_not_known_is_refused_by_name():
    forest = Model.of(asked("forest")[0]).forest
    vote, leaves = forest.vote, forest.apply(asked("forest")[1]).T
    numbers = TreeMedian(vote.start, vote.stop, vote.n_scores)
    for name, own in (
        ("Median", replace(vote, choice=Median())),
        ("TreeMedian", replace(vote, numbers=numbers)),
    ):
        other = replace(forest, vote=own)
        for visit in (
            lambda other=other: other.decide_at(leaves),
            lambda other=other: other.sums,
            lambda other=other: code_of(other, None),
            lambda own=own: _vote_in_json(own),
        ):
            with pytest.raises(TypeError, match=f"does not know the step {name}"):
                visit()


@needs_node
@pytest.mark.parametrize(
    ("hour", "zone"), [(0, None), (9.5, None), (9.5, "UTC"), (0, "Asia/Kolkata")]
)
def test_dates_are_levels_in_every_spelling_of_json(hour, zone):
    rng = np.random.default_rng(0)
    day = pd.Timestamp("2020-01-06", tz=zone) + pd.to_timedelta(
        rng.integers(5, size=60) * 7, unit="D"
    )
    X = pd.DataFrame({"day": day + pd.Timedelta(hours=hour), "more": rng.normal(size=60)})
    y = (X["more"] + (X["day"] > pd.Timestamp("2020-01-15", tz=zone)) > 0.5).to_numpy().astype(int)
    model = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["day"]), remainder="passthrough"),
        RandomForestClassifier(2, max_depth=3, random_state=0),
    ).fit(X, y)
    text = export_model(model, "javascript", X=X)
    days = X["day"] if zone is None else X["day"].dt.tz_convert("UTC")
    spelled = [
        days.dt.strftime(form)
        for form in ("%Y-%m-%dT%H:%M:%S.000", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d %H:%M:%S")
    ]
    for texts in (*spelled, X["day"].astype(str), X["day"].map(pd.Timestamp.isoformat)):
        rows = zip(texts, X["more"], strict=True)
        rows = [dict(zip(X, row, strict=True)) for row in rows]
        assert by_javascript(text, rows) == model.predict(X).tolist()
