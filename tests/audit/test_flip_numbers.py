"""Flips to classes, probabilities and values, against every change that there is.

The numbers that matter are those at which some tree decides otherwise, and the ones right above
them: all rows of such numbers are put to the model itself.
"""

import itertools
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_backend
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import ensemble_simplify
from ensemble_simplify import Domain, OnnxModel, is_sensitive, nearest_flip, sufficient_box
from ensemble_simplify.audit._audited import Audited
from ensemble_simplify.reading import Model

N_FEATURES = 4
REGRESSORS = {
    "boosting": GradientBoostingRegressor(n_estimators=5, max_depth=2, random_state=0),
    "forest": RandomForestRegressor(4, max_depth=3, random_state=0),
    "extra": ExtraTreesRegressor(3, max_depth=3, random_state=0),
    "tree": DecisionTreeRegressor(max_depth=4, random_state=0),
}
CLASSIFIERS = {
    "boosting": GradientBoostingClassifier(n_estimators=5, max_depth=2, random_state=0),
    "forest": RandomForestClassifier(5, max_depth=3, random_state=0),
    "ada": AdaBoostClassifier(n_estimators=5, random_state=0),
    "cut": FixedThresholdClassifier(
        RandomForestClassifier(4, max_depth=3, random_state=0), threshold=0.3
    ),
    "calibrated": CalibratedClassifierCV(
        GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=0),
        ensemble=False,
        cv=2,
    ),
}


def sample(seed, n_classes=None):
    """Rows of float32 numbers on a coarse grid, and targets that depend on all of them."""
    rng = np.random.default_rng(seed)
    X = rng.integers(5, size=(90, N_FEATURES)) + rng.integers(2, size=(90, N_FEATURES)) * 0.5
    score = X @ [1.0, -0.8, 0.6, 0.5] + X[:, 0] * X[:, 1] / 3 + rng.normal(0, 0.3, 90)
    if n_classes is None:
        return X, score
    return X, np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))


def cuts_of(model):
    """The thresholds of scikit-learn's own trees, by feature."""
    if isinstance(model, FixedThresholdClassifier):
        model = model.estimator_
    for pair in getattr(model, "calibrated_classifiers_", ()):
        model = pair.estimator
    trees = [model]
    if not hasattr(model, "tree_"):
        trees = model.estimators_
        trees = trees.ravel() if hasattr(trees, "ravel") else trees
    cuts = [set() for _ in range(N_FEATURES)]
    for tree in trees:
        for j, threshold in zip(tree.tree_.feature, tree.tree_.threshold, strict=True):
            if j >= 0:
                cuts[j].add(float(threshold))
    return cuts


class Changes:
    """All changes of a row that can matter, and what they cost."""

    def __init__(self, model, row, *, scale=None, frozen=(), direction=None, metric="l1"):
        values = []
        for j, cuts in enumerate(cuts_of(model)):
            low = np.array(sorted(cuts)).astype(np.float32)
            low = np.where(low > sorted(cuts), np.nextafter(low, np.float32(-np.inf)), low)
            own = np.concatenate([[row[j]], low, np.nextafter(low, np.float32(np.inf))])
            side = (direction or {}).get(j)
            own = own[own >= row[j]] if side == "up" else own
            own = own[own <= row[j]] if side == "down" else own
            values.append([row[j]] if j in frozen else np.unique(own.astype(float)).tolist())
        self.rows = np.array(list(itertools.product(*values)))
        self.apart = self.rows != row
        self.n = self.apart.sum(axis=1)
        scale = np.ones(N_FEATURES) if scale is None else scale
        parts = np.abs(self.rows - row) / scale
        order = {"l1": 1, "l2": 2, "linf": np.inf}[metric]
        self.distance = np.linalg.norm(parts, order, axis=1)

    def plans(self, reached, max_changes):
        """The nearest flip of each set of features, but for sets that hold smaller ones."""
        found, sets = [], []
        for n in range(1, max_changes + 1):
            smaller, level = list(sets), []
            for chosen in itertools.combinations(range(N_FEATURES), n):
                if any(own <= set(chosen) for own in smaller):
                    continue
                mask = np.isin(np.arange(N_FEATURES), chosen)
                here = reached & (self.apart == mask).all(axis=1)
                if here.any():
                    level.append((self.distance[here].min(), chosen))
                    sets.append(set(chosen))
            found += sorted(level)
        return found


def check(model, row, reached, changes, flip, max_changes):
    """Check a flip, and its plans, against all changes."""
    plans = changes.plans(reached, max_changes)
    assert flip.proven
    assert bool(flip) == bool(plans)
    n_lower = len(plans[0][1]) if plans else max_changes + 1
    assert flip.n_changes_lower_bound == n_lower
    for found, (distance, chosen) in zip(flip.plans, plans, strict=False):
        np.testing.assert_allclose(found.distance, distance)
        assert len(found.changes) == len(chosen)
        changed = np.flatnonzero(found.row != row)
        assert sorted(found.changes) == changed.tolist()
    return plans


def options_of(rng):
    """Some of the parameters, drawn."""
    frozen = [int(rng.integers(N_FEATURES))] if rng.random() < 0.4 else []
    sides = {
        int(j): str(rng.choice(["up", "down"])) for j in range(N_FEATURES) if rng.random() < 0.3
    }
    return {
        "scale": rng.uniform(0.5, 2.0, N_FEATURES),
        "frozen": frozen,
        "direction": sides,
        "metric": str(rng.choice(["l1", "l2", "linf"])),
    }


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", REGRESSORS)
def test_values_in_a_range(kind, seed):
    X, y = sample(seed)
    model, rng = REGRESSORS[kind].fit(X, y), np.random.default_rng(seed)
    for row in X[:4]:
        options, k = options_of(rng), int(rng.integers(1, 4))
        changes = Changes(model, row, **options)
        answers = model.predict(changes.rows)
        # ends that are answers themselves: they belong to the range
        low, high = np.sort(rng.choice(answers, 2))
        if seed == 1:
            low, high = (None, low) if rng.random() < 0.5 else (high, None)
        flip = nearest_flip(model, row, target=(low, high), max_changes=k, n_plans=3, **options)
        reached = np.ones(len(answers), dtype=bool)
        if low is not None:
            reached &= answers >= low
        if high is not None:
            reached &= answers <= high
        own = model.predict(row[None])[0]
        if reached[changes.n == 0][0]:
            assert flip
            assert (flip.distance, flip.changes, flip.n_changes_lower_bound) == (0.0, {}, 0)
            assert flip.predictions == (own, own)
            continue
        plans = check(model, row, reached, changes, flip, k)
        assert len(flip.plans) == min(len(plans), 3)
        for plan in flip.plans:
            assert plan.predictions == (own, model.predict(plan.row[None])[0])
            assert low is None or plan.predictions[1] >= low
            assert high is None or plan.predictions[1] <= high


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_probabilities(kind, seed):
    X, y = sample(seed, n_classes=2)
    model, rng = CLASSIFIERS[kind].fit(X, np.array(["no", "yes"])[y]), np.random.default_rng(seed)
    for row in X[:4]:
        options, k = options_of(rng), int(rng.integers(1, 4))
        changes = Changes(model, row, **options)
        own = model.predict(row[None])[0]
        target = None if rng.random() < 0.5 else str(rng.choice(["no", "yes"]))
        aim = target or ({"no", "yes"} - {own}).pop()
        column = list(model.classes_).index(aim)
        share = model.predict_proba(changes.rows)[:, column]
        least = float(rng.choice(share[share >= np.median(share)]))
        flip = nearest_flip(
            model, row, target=target, min_proba=least, max_changes=k, n_plans=2, **options
        )
        before = model.predict_proba(row[None])[0, column]
        assert flip.probabilities[0] == before
        assert flip.predictions[0] == own
        if before >= least:
            assert flip.changes == {}
            assert flip
            continue
        plans = check(model, row, share >= least, changes, flip, k)
        assert len(flip.plans) == min(len(plans), 2)
        for plan in flip.plans:
            after = model.predict_proba(plan.row[None])[0, column]
            assert plan.probabilities == (before, after)
            assert after >= least
            assert plan.predictions[1] == model.predict(plan.row[None])[0]


@pytest.mark.parametrize("seed", range(4))
def test_a_class_among_several(seed):
    X, y = sample(seed, n_classes=3)
    kind = GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=0)
    forest = RandomForestClassifier(4, max_depth=3, random_state=0).fit(X, y)
    rng = np.random.default_rng(seed)
    for model, row in itertools.product((kind.fit(X, y), forest), X[:3]):
        options, target = options_of(rng), int(rng.integers(3))
        changes = Changes(model, row, **options)
        labels = model.predict(changes.rows)
        for aim in (None, target):
            flip = nearest_flip(model, row, target=aim, max_changes=2, n_plans=9, **options)
            own = model.predict(row[None])[0]
            if own == aim:
                assert flip.changes == {}
                continue
            reached = labels != own if aim is None else labels == aim
            plans = check(model, row, reached, changes, flip, 2)
            assert len(flip.plans) == min(len(plans), 9)
            for plan in flip.plans:
                after = model.predict(plan.row[None])[0]
                assert plan.predictions == (own, after)
                assert after != own if aim is None else after == aim
    # probabilities that are means are one number each, also of three classes
    share = forest.predict_proba(changes.rows)[:, target]
    least = float(np.quantile(share, 0.9))
    flip = nearest_flip(forest, row, target=target, min_proba=least, max_changes=3, **options)
    if forest.predict_proba(row[None])[0, target] < least:
        check(forest, row, share >= least, changes, flip, 3)


def test_plans_leave_out_what_is_not_needed():
    # either of two features is enough, or two others together
    X = np.array(list(itertools.product([0.0, 1.0], repeat=4)))
    y = (X[:, 0] == 1) | (X[:, 1] == 1) | ((X[:, 2] == 1) & (X[:, 3] == 1))
    tree = DecisionTreeRegressor(random_state=0).fit(X, y.astype(float))
    flip = nearest_flip(tree, np.zeros(4), target=(0.5, None), max_changes=3, n_plans=5)
    assert [sorted(plan.changes) for plan in flip.plans] == [[0], [1], [2, 3]]
    assert "2 other plans" in repr(flip)
    assert flip.others[0].others == ()


@pytest.mark.parametrize("group", ["one_hot", "at_most_one"])
@pytest.mark.parametrize("seed", range(6))
def test_a_group_is_one_change(seed, group):
    rng = np.random.default_rng(seed)
    every = np.eye(3) if group == "one_hot" else np.eye(4, 3)
    domain = Domain(**{group: [[0, 1, 2]]}, integers=[3], bounds={3: (0, 5)})
    kinds = every[rng.integers(len(every), size=120)]
    X = np.column_stack([kinds, rng.integers(6, size=120), rng.normal(size=120).round(1)])
    X = X.astype(np.float32).astype(float)
    y = X @ [0.0, 1.5, 3.0, 0.7, 1.0] + rng.normal(0, 0.2, 120)
    model = GradientBoostingRegressor(n_estimators=6, max_depth=2, random_state=0).fit(X, y)
    cuts = np.unique(
        [
            t
            for tree in model.estimators_.ravel()
            for j, t in zip(tree.tree_.feature, tree.tree_.threshold, strict=True)
            if j == 4
        ]
    )
    low = cuts.astype(np.float32)
    low = np.where(low > cuts, np.nextafter(low, np.float32(-np.inf)), low)
    frozen, options = [], {"max_changes": 3, "scale": np.ones(5), "domain": domain}
    if seed % 3 == 1:
        frozen = [int(rng.integers(3))]
    for row in X[:4]:
        numbers = np.concatenate([[row[4]], low, np.nextafter(low, np.float32(np.inf))])
        rows = np.array(
            [
                [*kind, a, b]
                for kind in every
                for a in range(6)
                for b in numbers.astype(float).tolist()
            ]
        )
        if frozen:
            rows = rows[rows[:, frozen[0]] == row[frozen[0]]]
        of_group = (rows[:, :3] != row[:3]).any(axis=1)
        n = of_group + (rows[:, 3:] != row[3:]).sum(axis=1)
        distance = of_group + np.abs(rows[:, 3:] - row[3:]).sum(axis=1)
        answers = model.predict(rows)
        target = float(np.quantile(answers, 0.9)), None
        flip = nearest_flip(model, row, target=target, frozen=frozen, **options)
        assert flip.proven
        reached = answers >= target[0]
        if reached[n == 0][0]:
            assert flip.changes == {}
            continue
        assert bool(flip) == reached.any()
        if reached.any():
            fewest = n[reached].min()
            np.testing.assert_allclose(flip.distance, distance[reached & (n == fewest)].min())
            assert flip.n_changes_lower_bound == fewest
            assert flip.row[:3].tolist() in every.tolist()
            assert model.predict(flip.row[None])[0] >= target[0]


def test_a_flip_within_a_group_can_be_saved(tmp_path):
    X = np.vstack([np.eye(4, 3)] * 10)
    tree = DecisionTreeClassifier().fit(X, X[:, 1] + X[:, 2] > 0)
    domain = Domain(at_most_one=[[0, 1, 2]])
    flip = nearest_flip(tree, X[0], domain=domain)
    assert sorted(flip.changes) in ([0, 1], [0, 2])
    assert (flip.distance, flip.n_changes_lower_bound) == (1.0, 1)
    stays = nearest_flip(tree, X[0], domain=domain, frozen=[0])
    assert stays.row is None
    assert stays.proven
    for name, outcome in {"flip": flip, "none": stays}.items():
        outcome.save(tmp_path / f"{name}.json")
        assert ensemble_simplify.check(tmp_path / f"{name}.json", tree)


def test_the_scale_is_that_of_the_model_whatever_the_domain():
    X = np.arange(11.0)[:, None]
    tree = DecisionTreeRegressor().fit(X, X[:, 0])
    row, options = np.array([2.0]), {"target": (3, None)}
    free = nearest_flip(tree, row, **options)
    assert free.distance == pytest.approx(0.5 / 9, rel=1e-6)  # thresholds from 0.5 to 9.5
    for domain in (Domain(bounds={0: (1, 4)}), Domain(bounds={0: (2, 3)})):
        assert nearest_flip(tree, row, domain=domain, **options).distance == free.distance
    whole = nearest_flip(tree, row, domain=Domain(integers="all"), **options)
    assert whole.distance == pytest.approx(1 / 9)


def test_a_group_that_shares_features_with_another_is_not_linked():
    X = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]] * 10)
    tree = DecisionTreeRegressor().fit(X, X[:, 1])
    domain = Domain(one_hot=[[0, 1], [1, 2]])
    flip = nearest_flip(tree, X[0], target=(1, None), max_changes=3, domain=domain)
    assert len(flip.changes) == flip.n_changes_lower_bound == 3


def without_seconds(flip):
    # claims hold models, whose pickles tell more than what they are
    same = {"seconds": 0.0, "claim": None, "nearest_claim": None}
    flip = replace(flip, others=tuple(map(without_seconds, flip.others)), **same)
    return pickle.dumps({**flip.__dict__, "row": np.asarray(flip.row)})


def test_several_rows_are_as_one_at_a_time(monkeypatch):
    X, y = sample(0)
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = HistGradientBoostingRegressor(max_iter=5, max_leaf_nodes=5, min_samples_leaf=5)
    model.fit(frame, y)
    options = {"target": (float(np.median(y)), None), "max_changes": 2, "n_plans": 2}
    options |= {"frozen": ["a"], "direction": {"b": "up"}}
    rows = frame.iloc[:12]
    one_by_one = [nearest_flip(model, rows.iloc[[i]], **options) for i in range(12)]
    read, of = [], Model.of
    monkeypatch.setattr(Model, "of", lambda *given, **more: read.append(1) or of(*given, **more))
    together = nearest_flip(model, rows, **options)
    assert len(read) == 1
    assert isinstance(together, list)
    assert list(map(without_seconds, together)) == list(map(without_seconds, one_by_one))
    assert {len(flip.changes) for flip in together} >= {0, 2}
    for flip, row in zip(together, rows["b"], strict=True):
        before, after = flip.changes.get("b", (row, row))
        assert after >= before or np.isnan(after)
    with parallel_backend("threading"):
        shared = nearest_flip(model, rows, n_jobs=2, **options)
    assert list(map(without_seconds, shared)) == list(map(without_seconds, together))


def test_what_is_sent_to_processes_answers_the_same():
    X, y = sample(0)
    model = REGRESSORS["boosting"].fit(X, y)
    audited = Audited(model, None, X[:2], name="rows")
    audited.on(0)
    sent = pickle.loads(pickle.dumps(audited.alone()))
    assert sent.on(1).answer == audited.on(1).answer == model.predict(X[1:2])[0]


def test_classes_of_several_rows():
    X, y = sample(1, n_classes=2)
    model = make_pipeline(
        StandardScaler(), GradientBoostingClassifier(n_estimators=5, random_state=0)
    )
    model.fit(X, y)
    together = nearest_flip(model, X[:9], max_changes=2, min_proba=0.7)
    one_by_one = [nearest_flip(model, row, max_changes=2, min_proba=0.7) for row in X[:9]]
    assert list(map(without_seconds, together)) == list(map(without_seconds, one_by_one))
    assert [flip.predictions[0] for flip in together] == model.predict(X[:9]).tolist()


def test_a_missing_value_with_a_direction_stays():
    X = np.array([[0.0], [1.0], [np.nan]] * 10)
    model = HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=2).fit(X, X[:, 0] == 1)
    missing, zero, one = model.predict([[np.nan], [0.0], [1.0]])
    assert missing < one
    row, target = np.array([[np.nan]]), (one, None)
    assert nearest_flip(model, row, target=target).changes
    assert not nearest_flip(model, row, target=target, direction={0: "up"})
    # nor does a number become missing
    domain, target = Domain(missing=[0], bounds={0: (1, 3)}), (None, missing)
    assert zero <= missing
    assert np.isnan(nearest_flip(model, [[1.0]], target=target, domain=domain).row[0])
    stays = nearest_flip(model, [[1.0]], target=target, direction={0: "up"}, domain=domain)
    assert not stays
    assert stays.proven


def test_rows_when_the_time_is_up():
    X, y = sample(0)
    model = REGRESSORS["boosting"].fit(X, y)
    flips = nearest_flip(model, X[:3], target=(y.max() * 9, None), time_limit=1e-9, max_changes=3)
    for flip in flips:
        assert not flip
        assert not flip.proven


def test_bad_parameters():
    X, y = sample(0)
    value = REGRESSORS["boosting"].fit(X, y)
    labels = sample(0, n_classes=3)[1]
    model = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, labels)
    boosted = GradientBoostingClassifier(n_estimators=2, random_state=0).fit(X, labels)
    for text, kind, options in [
        ("is a regressor. Give the range to be reached", value, {}),
        ("is a regressor. Give target", value, {"target": (0, 1), "min_proba": 0.5}),
        ("is no range", value, {"target": (2, 1)}),
        ("is no range", value, {"target": (None, None)}),
        ("target=7 is not one of the classes", model, {"target": 7}),
        ("Name it as target", model, {"min_proba": 0.5}),
        ("in features and in frozen", model, {"features": [0, 1], "frozen": [1]}),
        ("frozen has the column 9", model, {"frozen": [9]}),
        ("must be 'up' or 'down'", model, {"direction": {0: "increase"}}),
        ("The 'metric' parameter", model, {"metric": "cosine"}),
        ("The 'n_plans' parameter", model, {"n_plans": 0}),
    ]:
        with pytest.raises(ValueError, match=text):
            nearest_flip(kind, X[0], **options)
    with pytest.raises(TypeError, match="no function of one sum"):
        nearest_flip(boosted, X[0], target=1, min_proba=0.5)
    frame = pd.DataFrame({"kind": pd.Categorical(list("ab") * 20), "x": np.arange(40.0)})
    tabled = HistGradientBoostingRegressor(categorical_features="from_dtype").fit(frame, frame["x"])
    with pytest.raises(ValueError, match="holds categories"):
        nearest_flip(tabled, frame.iloc[[0]], target=(1, None), direction={"kind": "up"})


def test_what_is_said_of_numbers():
    X, y = sample(0)
    model = REGRESSORS["boosting"].fit(X, y)
    far = nearest_flip(model, X[0], target=(y.max() * 9, None))
    assert "to the target" in repr(far)
    assert far.target == (y.max() * 9, np.inf)
    near = nearest_flip(model, X[0], target=(None, model.predict(X[:1])[0]))
    assert "no change is needed" in repr(near)


def test_probabilities_that_onnxruntime_rounds_are_refused():
    pytest.importorskip("onnxruntime")
    skl2onnx = pytest.importorskip("skl2onnx")
    rng = np.random.default_rng(0)
    X = rng.random((60, 3)).astype(np.float32)
    model = GradientBoostingClassifier(n_estimators=3, random_state=0).fit(X, X[:, 0] > 0.5)
    written = skl2onnx.to_onnx(model, X[:1], options={"zipmap": False})
    converted = OnnxModel(written)
    assert nearest_flip(converted, X[0])
    with pytest.raises(TypeError, match="rounded by onnxruntime in its own way"):
        nearest_flip(converted, X[0], min_proba=0.7)


def prices_and_words(seed=0, n=200):
    """A frame of whole prices, seasons and words without gaps, and two classes."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "season": rng.integers(1, 5, n),
            "price": rng.integers(100, 150, n),
            "word": pd.Categorical(rng.choice(["a", "b", "c"], n)),
        }
    )
    y = (table.price + 9 * table.season + 20 * (table.word == "b") > 150).astype(int)
    return table, y


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["native", "one_hot", "floats"])
def test_a_flip_of_a_row_of_a_frame_is_a_row_that_can_be(kind, seed):
    table, y = prices_and_words(seed)
    if kind == "floats":
        # as pandas has whole numbers where a column has gaps: what a few rows hold tells little,
        # but the model splits half way between whole numbers
        table = table.astype({"season": float, "price": float})
    if kind == "native":
        # doubles are compared, and levels that were never seen count as missing
        model = HistGradientBoostingClassifier(max_iter=20, random_state=seed)
    else:
        coder = make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), ["word"]), remainder="passthrough"
        )
        forest = RandomForestClassifier(9, max_depth=4, random_state=seed)
        model = make_pipeline(coder, forest)
    model.fit(table, y)
    every = pd.DataFrame(
        itertools.product(range(-5, 12), range(60, 200), "abc"), columns=table.columns
    )
    every["word"] = pd.Categorical(every["word"], table.word.cat.categories)
    answers = model.predict(every)
    chosen = table.iloc[np.argsort(np.abs(model.predict_proba(table)[:, 0] - 0.5))[:6]]
    scale = {"season": 1.0, "price": 7.0}
    flips = nearest_flip(model, chosen, scale=scale)
    for i, flip in enumerate(flips):
        row = chosen.iloc[i]
        apart = np.column_stack(
            [
                abs(every.season - row.season),
                abs(every.price - row.price) / 7,
                every.word != row.word,
            ]
        )
        wanted = (answers != model.predict(chosen.iloc[[i]])[0]) & ((apart > 0).sum(axis=1) == 1)
        assert flip.proven
        assert flip.keeping == ("whole numbers", "known levels")
        assert "keeping whole numbers and known levels" in repr(flip)
        assert bool(flip) == wanted.any()
        if flip:
            np.testing.assert_allclose(flip.distance, apart[wanted].sum(axis=1).min())
            assert ((every.astype(object) == flip.row.iloc[0]).all(axis=1)).any()
    # one row alone is answered as among others, and an array as before
    assert without_seconds(nearest_flip(model, chosen.iloc[[2]], scale=scale)) == without_seconds(
        flips[2]
    )
    free = nearest_flip(model, chosen.iloc[[2]], scale=scale, domain=Domain())
    assert free.keeping == ()
    assert free.distance <= flips[2].distance


def test_rows_of_a_frame_that_say_nothing():
    X, y = sample(0, n_classes=2)
    model = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, y)
    flip = nearest_flip(model, X[0])
    assert flip.keeping == ()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the model was fitted without names
        same = nearest_flip(model, pd.DataFrame(X[:1] + 0.0))
        whole = nearest_flip(model, pd.DataFrame(X).iloc[[0]].astype(int))
    assert (same.keeping, same.changes, same.domain) == ((), flip.changes, None)
    assert whole.keeping == ("whole numbers",)
    assert all(after == int(after) for _, after in whole.changes.values())


def test_floats_that_the_model_does_not_split_as_whole_numbers_may_be_any():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"dose": rng.uniform(0, 9, 200).round(2), "time": 1e9 + rng.random(200) * 1e6})
    model = RandomForestClassifier(20, random_state=0).fit(X, (X.dose > 4) ^ (X.time > 1e9 + 5e5))
    assert nearest_flip(model, pd.DataFrame({"dose": [4.0], "time": [1e9]})).keeping == ()


def test_whole_numbers_beyond_those_of_float32():
    # scaled rows are followed on float32, whose numbers here are 128 apart
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"seconds": 1_700_000_000 + rng.integers(0, 100_000, 300)})
    y = X.seconds % 30_000 > 12_000
    model = make_pipeline(StandardScaler(), HistGradientBoostingClassifier(max_iter=10)).fit(X, y)
    for flip in nearest_flip(model, X.iloc[:20]):
        assert flip.keeping == ("whole numbers",)
        assert model.predict(flip.row[None]) != flip.predictions[0]


def test_a_flip_of_a_row_with_a_gap():
    table, y = prices_and_words()
    table.loc[table.index[:40], "word"] = np.nan
    model = HistGradientBoostingClassifier(max_iter=20, random_state=0).fit(table, y)
    lacks, has = nearest_flip(model, table.iloc[[0, 50]], max_changes=3)
    for flip in nearest_flip(model, table.iloc[40:], max_changes=2):
        assert not any(pd.isna(after) for _, after in flip.changes.values())
    assert lacks.domain.missing is None
    assert has.proven


def test_rows_with_levels_that_the_model_never_saw():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"season": rng.integers(1, 6, 80), "word": rng.choice(["a", "b"], 80)})
    y = (table["season"] > 3) ^ (table["word"] == "a")
    coder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["word"]), remainder="passthrough"
    )
    model = make_pipeline(coder, RandomForestClassifier(5, random_state=0)).fit(table, y)
    rows = pd.DataFrame({"season": [2, 2, 5, 4], "word": ["new", "a", "new", "b"]})
    for i, flip in enumerate(nearest_flip(model, rows, scale={"season": 1.0})):
        row = rows.iloc[[i]]
        # its own level, or one that the model knows
        every = [(n, row.word.item()) for n in range(-5, 12)]
        every += [(row.season.item(), word) for word in "ab"]
        every = pd.DataFrame(every, columns=rows.columns)
        apart = (every.season - row.season.item()).abs() + (every.word != row.word.item())
        others = apart[model.predict(every) != model.predict(row)]
        assert flip.proven
        assert flip.distance == pytest.approx(others.min())
        # every season with the level of the row
        seasons = every[:17]
        alike = model.predict(seasons) == model.predict(row)
        assert bool(is_sensitive(model, "season", near=row)) == (not alike.all())
        assert alike[sufficient_box(model, row).contains(seasons)].all()
