"""CatBoost: read as it predicts, row for row and bit for bit, categories by their hashes."""

import pickle
from functools import partial

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from ensemble_simplify import (
    BornAgainClassifier,
    Domain,
    RepresenterTree,
    agreement,
    export_tree,
    nearest_flip,
    simplify,
    sufficient_box,
    verify,
)
from ensemble_simplify.reading import Model
from ensemble_simplify.reading.decision import scores_of
from ensemble_simplify.reading.level_hash import is_stand_in, level_hash, stand_in

catboost = pytest.importorskip("catboost")
pandas = pytest.importorskip("pandas")

N_ROWS = 100_000
COMMON = dict(verbose=0, allow_writing_files=False, thread_count=1)
Classifier = partial(catboost.CatBoostClassifier, **COMMON)
Regressor = partial(catboost.CatBoostRegressor, **COMMON)
LONG = "a level whose name goes on for more than sixty-four bytes: " + "é" * 40
COLUMNS = ["c", "k", "q", "t"]


def numbers(gaps=True, n_rows=400, seed=0):
    """Rows with gaps, and a score that needs them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    X[:, 3] = rng.integers(-2, 3, n_rows)
    score = X[:, 0] * X[:, 1] + (X[:, 3] > 0) + rng.normal(size=n_rows) / 3
    if gaps:
        X[rng.random(X.shape) < 0.1] = np.nan
        score += np.isnan(X[:, 0])
    return X, score


def table(n_rows=400, seed=0):
    """A frame with columns of text, whole numbers, a category and truth values, and labels."""
    rng = np.random.default_rng(seed)
    frame = pandas.DataFrame(
        {
            "a": np.where(rng.random(n_rows) < 0.1, np.nan, rng.normal(size=n_rows).round(2)),
            "c": rng.choice(np.array(["red", "grün", "", LONG, "5"], dtype=object), n_rows),
            "k": rng.integers(-3, 4, n_rows),
            "q": pandas.Categorical(rng.choice(list("uvw"), n_rows)),
            "b": rng.normal(size=n_rows).round(2),
            "t": rng.random(n_rows) < 0.5,
        }
    )
    chosen = (frame["c"] == "red") ^ (frame["k"] > 1) ^ (frame["b"] > 0) ^ frame["t"]
    return frame, np.where(chosen | (frame["q"] == "u"), "yes", "no")


def one_hot(make, frame=None, y=None, **options):
    """A model that is fitted on a table with a level in each split of categories."""
    if frame is None:
        frame, y = table()
    return make(cat_features=COLUMNS, one_hot_max_size=30, **options).fit(frame, y)


def rows_for(model, n_rows=N_ROWS, seed=0):
    """Cut points and their neighbours, gaps, all levels and unknown ones, drawn at random."""
    rng, forest = np.random.default_rng(seed), model.forest
    rows = np.empty((n_rows, forest.n_features))
    for j in range(forest.n_features):
        levels = model.table.levels[j]
        if levels is not None:
            rows[:, j] = rng.integers(len(levels) + 1, size=n_rows)
            continue
        cuts = forest.threshold[forest.feature == j].astype(np.float32)
        cuts = cuts[np.abs(cuts) < 1e38]
        sides = [np.nextafter(cuts, np.float32(side)) for side in (-np.inf, np.inf)]
        odd = np.array([0.0, -0.0, 1e-40, -1e-40, 1e38, -1e38, np.nan, np.nan], dtype=np.float32)
        numbers = rng.normal(size=20).astype(np.float32)
        rows[:, j] = rng.choice(np.concatenate([cuts, *sides, odd, numbers]), n_rows)
    return rows


def assert_same(fitted, rows=None):
    """Labels, or values, and raw sums are the model's own."""
    model = Model.of(fitted, rows=rows)
    drawn = rows_for(model)
    forest, given = model.forest, model.table.decode(drawn)
    leaves = forest.apply(drawn).T
    found = forest.decide_at(leaves)
    labels = found if forest.classes is None else forest.classes[found]
    np.testing.assert_array_equal(labels, np.asarray(fitted.predict(given)).ravel())
    raw = fitted.predict(given, prediction_type="RawFormulaVal")
    sums = scores_of(forest.vote, forest.sums_at(leaves))
    np.testing.assert_array_equal(sums, raw.reshape(sums.shape))
    return model


def assert_sums_bounded(model):
    """Where the sums lead by more than their bound, in any order, they tell the label."""
    forest, rows = model.forest, rows_for(model, 2000, seed=1)
    leaves, sums = forest.apply(rows), forest.sums
    total = sums.folded[leaves[:, ::-1]].sum(axis=1)
    order = np.sort(total, axis=1)
    clear = order[:, -1] - order[:, -2] > sums.rounding
    assert clear.mean() > 0.5
    np.testing.assert_array_equal(total.argmax(axis=1)[clear], forest.predict_index(rows)[clear])


# ------------------------------------------------------------------- numbers

CLASSES = {
    "plain": dict(iterations=30, depth=6),
    "one tree": dict(iterations=1, depth=3),
    "deep": dict(iterations=4, depth=11),
    "gaps above": dict(iterations=20, depth=4, nan_mode="Max"),
    "by leaves": dict(iterations=20, grow_policy="Lossguide", max_leaves=9),
    "by leaves, gaps above": dict(iterations=20, grow_policy="Lossguide", nan_mode="Max"),
    "by levels": dict(iterations=10, depth=4, grow_policy="Depthwise"),
    "weights": dict(iterations=20, depth=4, auto_class_weights="Balanced"),
    "ordered": dict(iterations=20, depth=4, boosting_type="Ordered"),
    "cross-entropy": dict(iterations=20, depth=4, loss_function="CrossEntropy"),
    "few borders": dict(iterations=20, depth=6, border_count=2),
}


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("gaps", [False, True])
def test_two_classes(name, gaps):
    X, score = numbers(gaps)
    model = assert_same(Classifier(**CLASSES[name]).fit(X, (score > 0.3).astype(int)))
    assert_sums_bounded(model)


@pytest.mark.parametrize("loss", ["MultiClass", "MultiClassOneVsAll"])
@pytest.mark.parametrize("policy", ["SymmetricTree", "Lossguide"])
def test_many_classes(loss, policy):
    X, score = numbers()
    y = np.array(["ant", "bee", "cat"])[np.digitize(score, [-0.2, 0.7])]
    model = Classifier(iterations=15, loss_function=loss, grow_policy=policy).fit(X, y)
    assert_sums_bounded(assert_same(model))


@pytest.mark.parametrize("classes", [[False, True], ["no", "yes"], [7, 400], [0.5, 2.5]])
def test_kinds_of_classes(classes):
    X, score = numbers()
    y = np.array(classes)[(score > 0).astype(int)]
    model = assert_same(Classifier(iterations=5, depth=3).fit(X, y))
    np.testing.assert_array_equal(model.forest.classes, classes)


def test_classes_in_another_order():
    X, score = numbers()
    y = np.array(["no", "yes"])[(score > 0).astype(int)]
    model = Classifier(iterations=5, depth=3, class_names=["yes", "no"]).fit(X, y)
    assert list(assert_same(model).forest.classes) == ["yes", "no"]
    tree = BornAgainClassifier(FrozenEstimator(model)).fit(X, y)
    assert verify(model, tree)


@pytest.mark.parametrize(
    "loss",
    ["RMSE", "MAE", "Quantile:alpha=0.3", "MAPE", "Lq:q=3", "Huber:delta=1", "Expectile:alpha=0.3"],
)
def test_values(loss):
    X, score = numbers()
    model = Regressor(iterations=20, depth=5, loss_function=loss).fit(X, score)
    found = assert_same(model)
    assert found.forest.classes is None
    assert not found.is_classifier


def test_early_stop():
    X, score = numbers()
    other, truth = numbers(seed=1)
    model = Regressor(iterations=300, learning_rate=0.3, use_best_model=True)
    model.fit(X, score, eval_set=(other, truth))
    assert model.tree_count_ < 300
    assert assert_same(model).forest.n_trees == model.tree_count_


@pytest.mark.parametrize("share", [0.02, 0.3, 0.5, 0.97])
def test_probability_threshold(share):
    """A cut of the sum, at which the first class wins."""
    X, score = numbers()
    model = Classifier(iterations=12, depth=3).fit(X, (score > 0).astype(int))
    model.set_probability_threshold(share)
    read = assert_same(model)
    cut = read.forest.vote.above
    for bias in (np.nextafter(cut, -np.inf), cut, np.nextafter(cut, np.inf)):
        # one number everywhere
        tied = pickle.loads(pickle.dumps(model))
        tied.set_scale_and_bias(0.0, float(bias))
        assert (tied.predict(X) == int(bias > cut)).all()
    tree = BornAgainClassifier(FrozenEstimator(model), domain=Domain(missing=[0, 1, 2, 3]))
    tree.fit(X, (score > 0).astype(int))
    assert verify(model, tree)
    np.testing.assert_array_equal(tree.predict(X), model.predict(X))


@pytest.mark.parametrize(("scale", "bias"), [(1.0, 0.3), (2.0, 0.1), (-0.25, 1e-3)])
def test_scale_and_bias(scale, bias):
    X, score = numbers()
    model = Classifier(iterations=12, depth=3).fit(X, (score > 0).astype(int))
    model.set_scale_and_bias(scale, bias)
    assert_same(model)


# ------------------------------------------------------------------- copies and kinds of models


def loaded(model, folder):
    model.save_model(str(folder / "model.cbm"))
    return type(model)().load_model(str(folder / "model.cbm"))


@pytest.mark.parametrize("make", [Classifier, Regressor])
def test_copies(make, tmp_path):
    """A copy, or a model from a file, does not tell the number of its features."""
    frame, y = table()
    y = y if make is Classifier else frame["b"].to_numpy()
    model = one_hot(make, frame, y, iterations=5, depth=3)
    for other in (pickle.loads(pickle.dumps(model)), loaded(model, tmp_path)):
        assert other.n_features_in_ == 0
        assert_same(other, frame)
        assert verify(model, other)


def test_plain_models():
    X, score = numbers()
    options = dict(iterations=5, depth=3, **COMMON)
    plain = catboost.CatBoost(dict(loss_function="RMSE", **options)).fit(X, score)
    assert_same(plain)
    both = catboost.sum_models([plain, Regressor(iterations=7).fit(X, score)], [0.3, 0.7])
    assert_same(both)
    binary = catboost.CatBoost(dict(loss_function="Logloss", **options)).fit(X, score > 0)
    with pytest.raises(ValueError, match="to_classifier"):
        Model.of(binary)
    assert_same(catboost.to_classifier(binary))


def test_members_and_steps():
    X, score = numbers(gaps=False)
    y = (score > 0).astype(int)
    search = GridSearchCV(Classifier(iterations=3), {"depth": [2, 3]}, cv=2).fit(X, y)
    assert_same(search.best_estimator_)
    assert verify(search, search.best_estimator_)
    pipeline = make_pipeline(StandardScaler(), Classifier(iterations=4, depth=3)).fit(X, y)
    tree = BornAgainClassifier(FrozenEstimator(pipeline))
    tree.fit(X.astype(np.float32).astype(float), y)
    assert verify(pipeline, tree)


# ------------------------------------------------------------------- categories


def test_hash():
    """The hash of any text is the model's."""
    rng = np.random.default_rng(0)
    for size in [*range(20), 31, 32, 33, 40, 63, 64, 65, 128, 129, 300]:
        text = "".join(rng.choice(list("abcxyz019_é 漢"), size))
        pair = [text, f"another text of its own {size}"]
        frame = pandas.DataFrame({"c": np.array(pair * 10, dtype=object)})
        model = Classifier(iterations=1, depth=1, cat_features=[0]).fit(frame, [0, 1] * 10)
        table = Model.of(model).table
        (level,) = table.levels[0]
        assert is_stand_in(level)
        assert level_hash(level) in map(level_hash, pair)
        assert table.named_by(frame).levels[0][0] in pair


@pytest.mark.parametrize("number", [0, -1, 1, 2**31 - 1, -(2**31), 253272131])
def test_stand_in(number):
    text = stand_in(number)
    assert is_stand_in(text)
    assert not is_stand_in("red")
    assert level_hash(text) == number


@pytest.mark.parametrize(
    ("entry", "text"),
    [(5, "5"), (-3, "-3"), (np.int8(7), "7"), (True, "1"), (False, "0"), (2.0, "2"), (b"ab", "ab")],
)
def test_texts_of_entries(entry, text):
    assert level_hash(entry) == level_hash(text)


@pytest.mark.parametrize(
    "options", [dict(depth=5), dict(grow_policy="Lossguide"), dict(grow_policy="Depthwise")]
)
def test_categories(options):
    """With the names of levels, and without."""
    frame, _ = table()
    model = one_hot(Classifier, iterations=25, **options)
    named, unnamed = assert_same(model, frame), assert_same(model)
    for j in (1, 2, 3, 5):
        assert any(map(is_stand_in, unnamed.table.levels[j]))
        assert not any(map(is_stand_in, named.table.levels[j]))
    assert set(named.table.levels[1]) == set(frame["c"])
    assert set(named.table.levels[2]) == set(frame["k"].astype(str))
    assert set(named.table.levels[5]) == {"0", "1"}
    for read in (named, unnamed):
        for given in (frame, frame.astype({"k": str}), frame.astype({"k": float})):
            rows = read.table.read(given)
            found = read.forest.classes[read.forest.predict_index(rows)]
            np.testing.assert_array_equal(found, model.predict(frame))


def test_categories_of_values():
    frame, _ = table()
    model = one_hot(Regressor, frame, frame["b"] + (frame["c"] == "red"), iterations=20, depth=4)
    assert_same(model, frame)
    assert verify(model, pickle.loads(pickle.dumps(model)))


@pytest.mark.parametrize("as_objects", [False, True])
def test_arrays_with_categories(as_objects):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 4, 300), rng.integers(0, 9, 300)])
    X = X.astype(object) if as_objects else X
    y = (X[:, 0].astype(int) > 1) ^ (X[:, 1].astype(int) > 4)
    model = Classifier(iterations=8, depth=3, cat_features=[0], one_hot_max_size=9).fit(X, y)
    read = assert_same(model, X)
    assert set(read.table.levels[0]) == {"0", "1", "2", "3"}
    tree = BornAgainClassifier(FrozenEstimator(model)).fit(X, y)
    assert verify(model, tree)
    np.testing.assert_array_equal(tree.predict(X), model.predict(X))


def small():
    """A small table, its labels, and a model of few cells."""
    rng = np.random.default_rng(2)
    frame = pandas.DataFrame(
        {
            "c": rng.choice(["red", "green", "blue"], 120),
            "k": rng.integers(0, 3, 120),
            "b": rng.normal(size=120).round(1),
        }
    )
    frame.loc[::9, "b"] = np.nan
    y = np.where((frame["c"] == "red") ^ (frame["k"] > 1) ^ (frame["b"] > 0), "yes", "no")
    options = dict(iterations=6, depth=3, cat_features=["c", "k"], one_hot_max_size=9)
    return frame, y, Classifier(**options).fit(frame, y)


def every_cell(model):
    """One row of each cell of a model on a table."""
    forest, axes = model.forest, []
    for j, levels in enumerate(model.table.levels):
        if levels is not None:
            axes.append(np.arange(len(levels) + 1.0))
            continue
        cuts = np.unique(forest.threshold[forest.feature == j])
        axes.append(np.concatenate([cuts, [cuts[-1] + 1.0, np.nan]]))
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))


@pytest.mark.parametrize("fitted_here", [False, True])
def test_born_again(fitted_here):
    """The tree is the model's in every cell, unknown levels and gaps among them."""
    frame, y, model = small()
    estimator = model.copy() if fitted_here else FrozenEstimator(model)
    if fitted_here:
        estimator = Classifier(**model.get_params() | COMMON)
    tree = BornAgainClassifier(estimator).fit(frame, y)
    read = Model.of(model, rows=frame)
    cells = read.table.decode(every_cell(read))
    np.testing.assert_array_equal(tree.predict(cells), model.predict(cells))
    assert verify(tree, model)
    assert agreement(tree, model, frame).share == 1.0
    rules = export_tree(tree)
    assert '"red"' in rules
    space = {}
    exec(export_tree(tree, "python"), space)
    answers = [space["predict"](row) for row in frame.to_dict("records")]
    np.testing.assert_array_equal(answers, model.predict(frame))


def test_verify_finds_what_differs():
    """Of a copy whose one level goes another way."""
    frame, y, model = small()
    other = frame.assign(c=frame["c"].replace({"red": "green", "green": "red"}))
    changed = Classifier(**model.get_params() | COMMON).fit(other, y)
    found = verify(model, changed)
    read = Model.of(model, rows=frame)
    cells = read.table.decode(every_cell(read))
    assert not (model.predict(cells) == changed.predict(cells)).all()
    assert found.equal is False
    assert "no-name" in str(found)


def test_levels_without_names():
    """A level that no row has keeps its meaning; code that names levels is not written."""
    frame, y, model = small()
    kept = (frame["c"] != "red").to_numpy()
    tree = BornAgainClassifier(FrozenEstimator(model)).fit(frame[kept], y[kept])
    np.testing.assert_array_equal(tree.predict(frame), model.predict(frame))
    assert verify(tree, model)
    with pytest.raises(ValueError, match="'c' has levels whose names are not known"):
        export_tree(tree, "python")


def test_beside_another_model():
    """Levels of an encoder are those of the model, whose names it does not know."""
    frame, y, _ = small()
    frame = frame.fillna(0.0)
    encoder = OneHotEncoder(handle_unknown="ignore")
    forest = RandomForestClassifier(3, max_depth=3, random_state=0)
    other = make_pipeline(encoder, forest).fit(frame[["c"]], y)
    same = Classifier(iterations=6, depth=2, cat_features=["c"], one_hot_max_size=9)
    same.fit(frame[["c"]], other.predict(frame[["c"]]))
    words = pandas.DataFrame({"c": ["red", "green", "blue", "no such level"]})
    alike = (same.predict(words) == other.predict(words)).all()
    assert bool(verify(other, same)) == alike
    assert bool(verify(same, other)) == alike
    assert agreement(same, other, frame[["c"]]).share == 1.0


def test_audit():
    """The levels of the row have names."""
    frame, _, model = small()
    row = frame.iloc[:1]
    box = sufficient_box(model, row)
    assert "no-name" not in str(box.label)
    flip = nearest_flip(model, row)
    changed = flip.row if hasattr(flip, "row") else flip.changed
    assert model.predict(changed)[0] != model.predict(row)[0]


def test_other_estimators():
    frame, y, model = small()
    tree = RepresenterTree(FrozenEstimator(model), random_state=0).fit(frame)
    assert (tree.predict(frame) == model.predict(frame)).mean() > 0.9
    found = simplify(model, frame, y)
    assert found.verdict.agreement > 0.9
    # without cat_features it takes numbers alone, which the levels become
    plain = BornAgainClassifier(Classifier(iterations=3, depth=2)).fit(frame, y)
    np.testing.assert_array_equal(plain.predict(frame), plain.estimator_.predict(frame))


# ------------------------------------------------------------------- what is refused


def test_target_statistics():
    """They are refused by the columns; what needs no trees works all the same."""
    frame, y, _ = small()
    model = Classifier(iterations=3, depth=2, cat_features=["c", "k"]).fit(frame, y)
    with pytest.raises(TypeError, match=r"target statistics.*'[ck]'.*one_hot_max_size"):
        Model.of(model)
    with pytest.raises(TypeError, match="one_hot_max_size"):
        BornAgainClassifier(FrozenEstimator(model)).fit(frame, y)
    tree = RepresenterTree(FrozenEstimator(model), random_state=0).fit(frame)
    assert (tree.predict(frame) == model.predict(frame)).mean() > 0.7
    found = agreement(model, tree, frame)
    assert found.share == (tree.predict(frame) == model.predict(frame)).mean()


def test_text_features():
    frame = pandas.DataFrame({"t": ["a b", "c d", "e f g", "a"] * 30, "x": np.arange(120.0)})
    model = Classifier(iterations=2, text_features=["t"]).fit(frame, np.arange(120) % 2)
    with pytest.raises(TypeError, match=r"text features \('t'\)"):
        Model.of(model)


@pytest.mark.parametrize("loss", ["RMSEWithUncertainty", "MultiRMSE"])
def test_losses_that_are_no_sums(loss):
    X, score = numbers()
    y = np.column_stack([score, score]) if loss == "MultiRMSE" else np.abs(score) + 1
    model = Regressor(iterations=3, loss_function=loss).fit(X, y)
    with pytest.raises(ValueError, match=f"loss_function='{loss.partition(':')[0]}'"):
        Model.of(model)


def test_scales_and_thresholds_that_round():
    X, score = numbers()
    model = Classifier(iterations=3).fit(X, (score > 0).astype(int))
    model.set_scale_and_bias(0.3, 0.0)
    with pytest.raises(ValueError, match=r"scale 0.3.*set_scale_and_bias"):
        Model.of(model)
    model.set_scale_and_bias(1.0, 0.0)
    model.set_probability_threshold(1.0)
    with pytest.raises(ValueError, match=r"probability threshold 1\.0"):
        Model.of(model)


def test_classes_without_rows():
    X, score = numbers()
    options = dict(classes_count=4, loss_function="MultiClass")
    model = Classifier(iterations=3, **options).fit(X, (score > 0).astype(int))
    with pytest.raises(ValueError, match="4 classes, but was fitted on rows of 2"):
        Model.of(model)


def test_gaps_in_categories():
    frame, y, model = small()
    tree = BornAgainClassifier(FrozenEstimator(model), domain=Domain(missing=["c", "b"]))
    with pytest.raises(ValueError, match=r"features \[0\].*categories"):
        tree.fit(frame, y)


def test_methods_that_were_replaced():
    X, score = numbers()
    model = Classifier(iterations=3).fit(X, (score > 0).astype(int))
    model.predict = lambda rows: np.zeros(len(rows))
    with pytest.raises(TypeError, match="replaces the method predict"):
        Model.of(model)


def test_not_fitted():
    with pytest.raises(ValueError, match="not fitted"):
        Model.of(Classifier())
