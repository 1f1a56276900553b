"""Boosters that are written back: the library itself loads, asks and saves them again."""

import pickle
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from native_boosters import KINDS, own_answers, rows_beside, table, trained, two
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from ensemble_simplify.reading import Model, unwrap
from ensemble_simplify.writing import depth_of, reweighted

CLASSIFIERS = [kind for kind in KINDS if KINDS[kind][2]]
WEIGHTS = np.array([0.0, 0.1, 1.0, 4.0])


@pytest.fixture(autouse=True)
def _one_thread():
    with threadpool_limits(1):
        yield


def draw(n_trees, seed=0):
    weights = np.random.default_rng(seed).choice(WEIGHTS, n_trees)
    weights[0] = 0.7  # the first tree is not the last
    return weights


def assert_weighted(model, weights, written, rows):
    """The library answers the class with the largest weighted sum of the trees read before."""
    forest = Model.of(model).forest
    vote = forest.vote
    value = forest.value * np.repeat(weights, np.diff(forest.offsets))[:, None]
    leaves = forest.apply(rows)
    sums = vote.moved_by + sum(value[leaves[:, t], : vote.n_scores] for t in range(forest.n_trees))
    if vote.has_one_score:
        sums = np.column_stack([np.zeros(len(rows)), sums])
    first_two = np.sort(sums, axis=1)[:, -2:]
    clear = first_two[:, 1] - first_two[:, 0] > 1e-4
    assert clear.mean() > 0.9
    answers = Model.of(written).ask(rows)
    np.testing.assert_array_equal(answers[clear], forest.classes[sums.argmax(axis=1)[clear]])
    # and what is read of it is what it answers, ties and rounding of float32 leaves included
    own = Model.of(written).forest
    np.testing.assert_array_equal(answers, own.classes[own.predict_index(rows)])


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_native_boosters(kind):
    booster, _, _ = trained(kind, n_trees=8)
    forest = Model.of(booster).forest
    before = own_answers(booster, rows := rows_beside(forest, 4000))
    weights = draw(forest.n_trees)
    written = reweighted(booster, weights)
    assert type(written) is type(booster)
    assert_weighted(booster, weights, written, rows)
    assert (own_answers(written, rows) != before).any()
    # trees fill up where classes have kept different numbers; no iteration is without any
    n_scores = forest.vote.n_scores
    scores = forest.value[:, :n_scores] != 0
    score_of = np.array([scores[a:b].any(axis=0).argmax() for a, b in pairwise(forest.offsets)])
    most = max(np.sum(weights[score_of == k] > 0) for k in range(n_scores))
    assert Model.of(written).forest.n_trees == most * n_scores
    assert depth_of(booster) == _deepest(forest)
    np.testing.assert_array_equal(own_answers(booster, rows), before)


def _deepest(forest):
    depth, level = -1, forest.offsets[:-1]
    while level.size:
        depth += 1
        level = level[forest.left[level] >= 0]
        level = np.concatenate([forest.left[level], forest.right[level]])
    return depth


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_weights_of_one_change_nothing(kind):
    booster, _, _ = trained(kind)
    forest = Model.of(booster).forest
    rows = rows_beside(forest, 2000)
    written = reweighted(booster, np.ones(forest.n_trees))
    assert written is not booster
    np.testing.assert_array_equal(own_answers(written, rows), own_answers(booster, rows))


_IN_ANOTHER_PROCESS = """
import sys
import numpy as np
library, file, rows, answers = sys.argv[1:]
rows = np.load(rows)
if library == "xgboost":
    import xgboost
    booster = xgboost.Booster(model_file=file)
    found = booster.predict(xgboost.DMatrix(rows))
    booster.save_model(file)
    again = xgboost.Booster(model_file=file).predict(xgboost.DMatrix(rows))
else:
    import lightgbm
    booster = lightgbm.Booster(model_file=file)
    found = booster.predict(rows)
    booster.save_model(file)
    again = lightgbm.Booster(model_file=file).predict(rows)
np.testing.assert_array_equal(again, found)
np.save(answers, found)
"""


@pytest.mark.parametrize(
    "kind",
    [
        "xgboost probabilities",
        "xgboost dart",
        "xgboost parallel",
        "lightgbm multiclass",
        "lightgbm forest",
    ],
)
def test_reloaded_in_a_fresh_process(kind, tmp_path):
    booster, _, _ = trained(kind)
    forest = Model.of(booster).forest
    rows = rows_beside(forest, 2000)
    written = reweighted(booster, draw(forest.n_trees))
    library = KINDS[kind][0]
    endings = [".json", ".ubj"] if library == "xgboost" else [".txt"]
    np.save(tmp_path / "rows.npy", rows)
    for ending in endings:
        file, answers = tmp_path / f"model{ending}", tmp_path / "answers.npy"
        written.save_model(file)
        arguments = [library, file, tmp_path / "rows.npy", answers]
        subprocess.run([sys.executable, "-c", _IN_ANOTHER_PROCESS, *arguments], check=True)
        np.testing.assert_array_equal(np.load(answers), own_answers(written, rows))


def _xgb(**options):
    xgboost = pytest.importorskip("xgboost")
    return xgboost.XGBClassifier(n_estimators=8, max_depth=2, n_jobs=1, **options)


def _lgbm(**options):
    lightgbm = pytest.importorskip("lightgbm")
    options = {"num_leaves": 4, "n_jobs": 1, "verbose": -1, **options}
    return lightgbm.LGBMClassifier(n_estimators=8, **options)


class TestWrappers:
    @pytest.mark.parametrize(
        ("make", "n_classes", "options"),
        [
            (_xgb, 2, {}),
            (_xgb, 3, {}),
            (_xgb, 3, {"objective": "multi:softmax"}),
            (_xgb, 2, {"booster": "dart", "rate_drop": 0.5}),
            (_xgb, 3, {"num_parallel_tree": 2}),
            (_lgbm, 2, {}),
            (_lgbm, 3, {}),
            (_lgbm, 2, {"boosting_type": "dart", "drop_rate": 0.5}),
            (_lgbm, 3, {"boosting_type": "rf", "subsample": 0.5, "subsample_freq": 1}),
        ],
    )
    def test_stay_what_they_are(self, make, n_classes, options):
        X, y = table(n_classes)
        labels = np.array(["a", "b", "c"])[y] if make is _lgbm else y
        model = make(**options).fit(X, labels)
        forest = Model.of(model).forest
        rows = rows_beside(forest, 4000)
        before = model.predict_proba(rows)
        weights = draw(forest.n_trees)
        written = reweighted(model, weights)
        assert type(written) is type(model)
        assert_weighted(model, weights, written, rows)
        np.testing.assert_array_equal(model.predict_proba(rows), before)
        np.testing.assert_array_equal(written.classes_, model.classes_)
        n_iterations = Model.of(written).forest.n_trees // forest.vote.n_scores
        assert written.n_estimators == n_iterations
        again = pickle.loads(pickle.dumps(written))
        np.testing.assert_array_equal(again.predict_proba(rows), written.predict_proba(rows))
        # what libraries tell of their trees goes with those that are there
        assert written.feature_importances_.shape == (3,)

    @pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")
    def test_stopped_early(self):
        X, y = table()
        lightgbm, xgboost = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
        stop = lightgbm.early_stopping(2, verbose=False)
        learners = [
            _lgbm(learning_rate=0.7).set_params(n_estimators=80),
            xgboost.XGBClassifier(n_estimators=80, n_jobs=1, early_stopping_rounds=2),
        ]
        for model, more in zip(learners, ({"callbacks": [stop]}, {"verbose": 0}), strict=True):
            model.fit(X[::2], y[::2], eval_set=[(X[1::2], y[1::2])], **more)
            forest = Model.of(model).forest
            assert forest.n_trees < 80
            rows = rows_beside(forest, 4000)
            same = reweighted(model, np.ones(forest.n_trees))
            np.testing.assert_array_equal(same.predict_proba(rows), model.predict_proba(rows))
            weights = draw(forest.n_trees)
            assert_weighted(model, weights, reweighted(model, weights), rows)

    def test_native_stopped_early(self):
        lightgbm = pytest.importorskip("lightgbm")
        booster, _, _ = trained("lightgbm binary")
        booster.best_iteration = 3
        rows = rows_beside(Model.of(booster).forest, 2000)
        same = reweighted(booster, np.ones(3))
        assert isinstance(same, lightgbm.Booster)
        np.testing.assert_array_equal(own_answers(same, rows), own_answers(booster, rows))

    def test_levels(self):
        pandas = pytest.importorskip("pandas")
        X, y = table(n_rows=400)
        rng = np.random.default_rng(1)
        colours = rng.choice(["red", "blue", "green", "grey"], len(X))
        frame = pandas.DataFrame({"size": X[:, 0], "colour": pandas.Categorical(colours)})
        frame.loc[::9, "colour"] = np.nan
        y = (np.nan_to_num(X[:, 0]) + 2 * np.isin(colours, ["red", "grey"]) > 1).astype(int)
        for model in (_xgb(enable_categorical=True), _lgbm(min_data_per_group=5, cat_smooth=1)):
            model.fit(frame, y)
            read = Model.of(model)
            weights = draw(read.forest.n_trees)
            written = reweighted(model, weights)
            other = Model.of(written)
            assert other.table.levels[1].tolist() == read.table.levels[1].tolist()
            found = other.forest.predict_index(other.table.read(frame))
            np.testing.assert_array_equal(found, written.predict(frame))
            value = read.forest.value * np.repeat(weights, np.diff(read.forest.offsets))[:, None]
            leaves = read.forest.apply(read.table.read(frame))
            sums = read.forest.vote.moved_by[0] + value[leaves, 0].sum(axis=1)
            clear = np.abs(sums) > 1e-4
            np.testing.assert_array_equal(found[clear], sums[clear] > 0)

    def test_at_the_end_of_a_pipeline(self):
        X, y = table()
        X = np.nan_to_num(X)
        model = make_pipeline(StandardScaler(), _lgbm()).fit(X, y)
        weights = draw(8)
        written = reweighted(model, weights)
        alone = reweighted(model[-1], weights)
        np.testing.assert_array_equal(written.predict(X), alone.predict(model[0].transform(X)))


def test_stand_ins_are_written_as_boosters():
    booster, _, _ = trained("lightgbm binary")
    written = reweighted(unwrap(booster), np.full(6, 2.0))
    assert type(written) is type(booster)
    rows = rows_beside(Model.of(booster).forest, 100)
    raw = booster.predict(rows, raw_score=True)
    np.testing.assert_allclose(written.predict(rows, raw_score=True), 2.0 * raw)
    np.testing.assert_array_equal(two(own_answers(written, rows)), two(own_answers(booster, rows)))
