"""Saved outcomes: what stands in the file is true, and nothing else is written."""

import copy
import json

import numpy as np
import pandas as pd
import pytest
from second_checker import is_for_both, second_opinion
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from written_code import GCC

from ensemble_simplify import (
    BornAgainClassifier,
    Domain,
    FaithfulPruner,
    TimeLimitError,
    export_model,
    import_model,
    is_monotone,
    is_sensitive,
    nearest_flip,
    sufficient_box,
    verify,
)
from ensemble_simplify.evidence import NoEvidence, checker, document
from ensemble_simplify.grid import Stopped, limits

X, Y = load_iris(return_X_y=True)
FRAME, VALUE = load_diabetes(return_X_y=True, as_frame=True)


def saved(outcome, tmp_path, name="evidence.json"):
    """What is saved of an outcome, once the checker has passed it."""
    path = tmp_path / name
    outcome.save(path)
    checker.check(path)
    text = path.read_text()
    document = json.loads(text)
    if GCC and is_for_both(document):
        assert second_opinion(text)[0] == 0
    return document


def rounded(model, digits=2):
    model = copy.deepcopy(model)
    for tree in np.ravel(model.estimators_):
        tree.tree_.value[...] = tree.tree_.value.round(digits)
    return model


def boxes_of(document):
    """Lower and upper ends of the boxes of a proof, and their answers."""
    tree, n = document["proof"]["tree"], len(document["region"]["low"])
    found, stack = [], [(0, np.full(n, -np.inf), np.full(n, np.inf))]
    while stack:
        node, low, high = stack.pop()
        j, end = tree["column"][node], tree["end"][node]
        if j < 0:
            found.append((low, high, tree["answer"][node]))
            continue
        below, above = high.copy(), low.copy()
        below[j], above[j] = min(high[j], end), max(low[j], end)
        stack += [(tree["left"][node], low, below), (tree["right"][node], above, high)]
    return found


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(6, max_depth=3, random_state=0),
        RandomForestClassifier(5, random_state=1),  # of whole votes, which tie
        GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=0),
        make_pipeline(StandardScaler(), RandomForestClassifier(4, max_depth=2, random_state=0)),
        VotingClassifier(  # counts labels
            [
                ("forest", RandomForestClassifier(3, max_depth=2, random_state=0)),
                ("tree", DecisionTreeClassifier(max_depth=2, random_state=0)),
            ]
        ),
    ],
    ids=["forest", "whole votes", "boosting", "pipeline", "labels"],
)
def test_boxes_cover_the_space_with_the_answers_of_both_models(model, tmp_path):
    model = model.fit(X, Y)
    tree = BornAgainClassifier(FrozenEstimator(model), random_state=0).fit(X, Y)
    document = saved(tree.verify(), tmp_path)
    rng = np.random.default_rng(0)
    rows = rng.uniform(X.min(axis=0) - 1, X.max(axis=0) + 1, size=(2000, 4)).astype(np.float32)
    answers, hits = model.predict(rows), np.zeros(len(rows), dtype=int)
    for low, high, answer in boxes_of(document):
        inside = ((low < rows) & (rows <= high)).all(axis=1)
        hits += inside
        if answer is not None:
            assert (answers[inside] == document["models"][0]["classes"][answer]).all()
    assert (hits == 1).all()
    answered = [own for own in document["proof"]["tree"]["answer"] if own is not None]
    assert len(set(answered)) == 3


def test_the_sentence_names_both_models(tmp_path):
    model = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, Y)
    tree = BornAgainClassifier(FrozenEstimator(model), random_state=0).fit(X, Y)
    words = saved(tree.verify(), tmp_path)["words"]
    assert "RandomForestClassifier of 3 trees" in words
    assert "the same class" in words


def test_compressed_evidence_is_the_same(tmp_path):
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, Y)
    outcome = verify(model, model)
    plain = saved(outcome, tmp_path)
    outcome.save(tmp_path / "evidence.json.gz")
    assert checker.check(tmp_path / "evidence.json.gz") == plain["words"]
    outcome.save(tmp_path / "again.json.gz")
    first, second = (tmp_path / f"{name}.json.gz" for name in ("evidence", "again"))
    assert first.read_bytes() == second.read_bytes()


def test_numbers_within_a_tolerance(tmp_path):
    model = GradientBoostingRegressor(n_estimators=10, random_state=0).fit(FRAME, VALUE)
    document = saved(verify(model, rounded(model), atol=0.01), tmp_path)
    assert document["claim"] == {"kind": "within", "uses": [0, 1], "atol": 0.01, "rtol": 0.0}
    bounds = [own for own in document["proof"]["tree"]["bound"] if own is not None]
    apart = np.abs(model.predict(FRAME) - rounded(model).predict(FRAME)).max()
    assert apart <= max(bounds) <= 0.01


def test_probabilities_within_a_tolerance(tmp_path):
    of_means = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, Y)
    saved(verify(of_means, rounded(of_means), atol=0.01), tmp_path)
    of_odds = GradientBoostingClassifier(n_estimators=5, random_state=0).fit(X, Y > 0)
    saved(verify(of_odds, rounded(of_odds), atol=0.01), tmp_path)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, Y)
    saved(verify(tree, tree, rtol=0.1), tmp_path)


def test_a_pruned_ensemble_and_all_of_it(tmp_path):
    model = GradientBoostingClassifier(n_estimators=12, max_depth=1, random_state=0)
    model.fit(X[:, :2], Y > 0)
    pruner = FaithfulPruner(FrozenEstimator(model)).fit(X[:, :2], Y > 0)
    assert pruner.n_trees_ < 12
    saved(verify(model, pruner), tmp_path)
    near = FaithfulPruner(FrozenEstimator(model), max_changes=1).fit(X[:, :2], Y > 0)
    document = saved(near.verify(), tmp_path)
    assert document["proof"]["kind"] == "points"
    assert document["proof"]["max_changes"] == 1


def test_missing_values_and_levels(tmp_path):
    frame = pd.DataFrame(X[:, 2:].copy(), columns=["length", "width"])
    frame.loc[::7, "width"] = np.nan
    frame["kind"] = pd.Categorical(np.where(X[:, 0] > 5.8, "large", "small"))
    model = HistGradientBoostingClassifier(
        max_iter=4, max_leaf_nodes=4, categorical_features="from_dtype", random_state=0
    ).fit(frame, Y)
    document = saved(verify(model, model), tmp_path)
    assert document["models"][0]["columns"][2]["levels"] == ["large", "small"]
    document = saved(sufficient_box(model, frame.iloc[[0]]), tmp_path)
    assert document["claim"]["kind"] == "class_is"


@pytest.mark.parametrize("kind", ["histogram", "lightgbm"])
def test_categories_of_a_model_s_own_and_its_copy_in_json(kind, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"number": rng.normal(size=300)})
    for name, levels in (("many", "abcdefgh"), ("few", "uvwxyz")):
        frame[name] = pd.Categorical(rng.choice(list(levels), 300))
    y = frame["many"].isin([*"aceg"]) ^ (frame["number"] > 0) ^ frame["few"].isin(["u", "x"])
    if kind == "lightgbm":
        lightgbm = pytest.importorskip("lightgbm")
        options = {"min_data_per_group": 1, "cat_smooth": 1, "max_cat_to_onehot": 1}
        model = lightgbm.LGBMClassifier(
            n_estimators=10, num_leaves=7, min_child_samples=5, verbose=-1, **options
        )
    else:
        model = HistGradientBoostingClassifier(
            max_iter=5, max_leaf_nodes=7, categorical_features="from_dtype", random_state=0
        )
    model.fit(frame, y.astype(int))
    copied = import_model(export_model(model, "json", X=frame))
    document = saved(verify(model, copied, domain=Domain(missing="all")), tmp_path)
    one, two = document["models"]
    assert one["nodes"] == two["nodes"]


def test_a_counterexample_is_a_witness(tmp_path):
    first = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, Y)
    second = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, Y)
    outcome = verify(first, second)
    document = saved(outcome, tmp_path)
    assert document["claim"]["kind"] == "not"
    classes = [own["classes"] for own in document["models"]]
    told = [own[answer] for own, answer in zip(classes, document["proof"]["answers"], strict=True)]
    assert told == list(outcome.predictions)
    values = [DecisionTreeRegressor(max_depth=k, random_state=0).fit(FRAME, VALUE) for k in (1, 2)]
    saved(verify(*values), tmp_path)


@pytest.mark.parametrize(("name", "increasing"), [("bmi", True), ("s3", False)])
def test_monotone_models(name, increasing, tmp_path):
    signs = [(own == name) * (1 if increasing else -1) for own in FRAME.columns]
    settings = {"max_iter": 8, "max_leaf_nodes": 5, "monotonic_cst": signs, "random_state": 0}
    model = HistGradientBoostingRegressor(**settings).fit(FRAME, VALUE)
    document = saved(is_monotone(model, name, increasing=increasing), tmp_path)
    assert document["proof"]["steps"] == document["region"]["order"]
    outcome = is_monotone(model, name, increasing=not increasing)
    assert outcome.monotone is False
    assert saved(outcome, tmp_path)["proof"]["kind"] == "witness"
    model = HistGradientBoostingClassifier(**settings).fit(FRAME, VALUE > 150)
    for response in ("class", "proba"):
        outcome = is_monotone(model, name, increasing=increasing, response=response)
        assert outcome
        saved(outcome, tmp_path)


def test_sensitivity(tmp_path):
    model = GradientBoostingRegressor(n_estimators=10, random_state=0).fit(FRAME, VALUE)
    outcome = is_sensitive(model, ["sex", "age"], gap=60)
    assert outcome.sensitive is False
    document = saved(outcome, tmp_path)
    assert document["uses"][1]["columns"] == [11, 10, *range(2, 10)]
    assert "alike but for sex, age" in document["words"] or "age, sex" in document["words"]
    outcome = is_sensitive(model, "bmi", gap=1)
    assert outcome
    assert saved(outcome, tmp_path)["claim"]["kind"] == "not"


def test_boxes_and_flips(tmp_path):
    model = RandomForestClassifier(10, max_depth=4, random_state=0).fit(X, Y)
    box = sufficient_box(model, X[0])
    region = saved(box, tmp_path)["region"]
    low = np.array([-np.inf if own is None else own for own in region["low"]])
    closed = np.isfinite(box.low)
    assert (closed == np.isfinite(low)).all()
    assert (low[closed].astype(np.float32) > box.low[closed]).all()
    flip = nearest_flip(model, X[0])
    document = saved(flip, tmp_path)
    assert document["claim"]["kind"] == ("not" if flip else "class_is")
    flips = nearest_flip(model, X[[0, 60, 120]], max_changes=2)
    for own in flips:
        assert saved(own, tmp_path)["models"] == document["models"]
    values = GradientBoostingRegressor(n_estimators=5, random_state=0).fit(FRAME, VALUE)
    document = saved(sufficient_box(values, FRAME.iloc[0], within=30), tmp_path)
    assert document["claim"]["kind"] == "in_range"


TREE = {"max_depth": 2, "random_state": 0}
ASKED = [
    (RandomForestClassifier(4, **TREE), {}),
    (GradientBoostingClassifier(n_estimators=3, **TREE), {"target": 2}),
    (RandomForestClassifier(3, **TREE), {"target": 1, "min_proba": 0.5}),
    (RandomForestClassifier(4, **TREE), {"direction": {2: "up", 3: "down"}, "metric": "l2"}),
    (RandomForestRegressor(3, **TREE), {"target": (1.2, None), "frozen": [2]}),
    (HistGradientBoostingRegressor(max_iter=4, max_leaf_nodes=4), {"target": (0.7, 1.1)}),
]


@pytest.mark.parametrize("place", range(len(ASKED)))
def test_that_a_flip_is_the_nearest_one(place, tmp_path):
    model, asked = ASKED[place]
    model = copy.deepcopy(model).fit(X, Y)
    rng, n_nearest = np.random.default_rng(0), 0
    for flip in nearest_flip(model, X[::25] + 0.01, **asked):
        if flip and not flip.changes:
            continue
        kind = saved(flip, tmp_path)["claim"]["kind"]
        assert (kind == "not") == bool(flip)
        if not flip:
            with pytest.raises(NoEvidence, match="max_changes lowered by one"):
                flip.save(tmp_path / "evidence.json", nearest=True)
            continue
        flip.save(tmp_path / "nearest.json", nearest=True)
        document, n_nearest = json.loads((tmp_path / "nearest.json").read_text()), n_nearest + 1
        assert checker.check(tmp_path / "nearest.json").startswith("For every input")
        # the limits of each feature are as far away as the flip, which is on the way to one
        ((j, (before, after)),) = flip.changes.items()
        row = np.array(document["proof"]["rows"][0])
        region = document["region"]
        side = "high" if after > before else "low"
        assert abs(region[side][j] - after) < 1e-6 * max(1.0, abs(after))
        point = np.where(np.arange(4) == j, after, row)
        for _ in range(50):
            # nearer rows are not flipped; one with the flip among them cannot be proven
            other, k = row.copy(), rng.integers(4)
            low, high = (region[end][k] for end in ("low", "high"))
            if [k] not in document["proof"]["vary"]:
                continue
            other[k] = rng.uniform(row[k] - 9 if low is None else low, 9 if high is None else high)
            both = model.predict([other, row])
            if "min_proba" in asked:
                both = model.predict_proba([other, row])[:, asked["target"]] >= asked["min_proba"]
            elif isinstance(asked.get("target"), tuple):
                least, most = (end or np.inf for end in asked["target"])
                both = (least <= both) & (both <= most)
            elif "target" in asked:
                both = both == asked["target"]
            assert both[0] == both[1]
        region[side][j] = float(point[j])
        region["point"] = row.tolist()
        document["words"] = checker.words(document)
        document["digest"] = checker.digest(document, "digest")
        with pytest.raises(checker.Unproven):
            checker.check_text(json.dumps(document))
    assert n_nearest


def test_nothing_is_written_without_a_proof(tmp_path):
    path = tmp_path / "evidence.json"
    model = RandomForestClassifier(10, max_depth=4, random_state=0).fit(X, Y)
    tree = BornAgainClassifier(FrozenEstimator(model), random_state=0).fit(X, Y)
    outcome = tree.verify()
    with pytest.raises(NoEvidence, match="max_boxes=10"):
        outcome.save(path, max_boxes=10)
    with pytest.raises(TimeLimitError, match="time_limit"):
        outcome.save(path, time_limit=1e-9)
    undecided = verify(model, tree, max_boxes=3)
    assert undecided.equal is None
    with pytest.raises(NoEvidence, match="undecided"):
        undecided.save(path)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("seed", range(8))
def test_a_proof_that_models_have_a_branch_in_common_is_saved(seed, tmp_path):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(80, 4)).round(1), rng.integers(3, size=80)
    models = [
        DecisionTreeClassifier(max_depth=4, random_state=0),
        RandomForestClassifier(3, max_depth=3, random_state=0),
        GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=seed),
    ]
    for model in models:
        other = copy.deepcopy(model.fit(x, y))
        if isinstance(model, RandomForestClassifier):
            parts = [tree.tree_ for tree in other.estimators_[:1]]
        else:
            parts = [tree.tree_ for tree in getattr(other, "estimators_", np.array([other])).flat]
        for tree in parts:
            # what the right half says, a little weaker: ties and near ties are elsewhere
            right = slice(tree.children_right[0], None)
            tree.value[right] *= 1.0 - 2.0**-20
        outcome = verify(model, other)
        if outcome.equal:
            outcome.save(tmp_path / "evidence.json")
        assert outcome.equal is not None


FAMILIES = {
    "tree": lambda seed: DecisionTreeClassifier(max_depth=4, random_state=seed),
    "forest": lambda seed: RandomForestClassifier(4, max_depth=3, random_state=seed),
    "extra trees": lambda seed: ExtraTreesClassifier(4, max_depth=3, random_state=seed),
    "boosting": lambda seed: GradientBoostingClassifier(
        n_estimators=4, max_depth=2, random_state=seed
    ),
    "histogram": lambda seed: HistGradientBoostingClassifier(
        max_iter=4, max_leaf_nodes=4, min_samples_leaf=5, random_state=seed
    ),
    "lightgbm": lambda seed: pytest.importorskip("lightgbm").LGBMClassifier(
        n_estimators=4, num_leaves=4, min_child_samples=5, verbose=-1, random_state=seed
    ),
    "adaboost": lambda seed: AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=2), n_estimators=4, random_state=seed
    ),
    "hard votes": lambda seed: VotingClassifier(
        [
            ("forest", RandomForestClassifier(3, max_depth=2, random_state=seed)),
            ("tree", DecisionTreeClassifier(max_depth=3, random_state=seed)),
            ("others", ExtraTreesClassifier(3, max_depth=2, random_state=seed)),
        ]
    ),
}


def alike(name, model, x, y, seed):
    """Models that answer as one does, or nearly so, and what `verify` is told of the two."""
    yield import_model(export_model(model, "json", X=x)), {}
    frozen = FrozenEstimator(model)
    if not np.isnan(x).any():
        yield BornAgainClassifier(frozen, random_state=0).fit(x, y), {}
        if name in ("tree", "forest", "extra trees"):
            hard = BornAgainClassifier(frozen, voting="hard", random_state=0)
            yield hard.fit(x, y), {"voting": "hard"}
    if name not in ("tree", "hard votes"):
        yield FaithfulPruner(frozen).fit(x, y).pruned_estimator_, {}
    if name in ("tree", "forest", "extra trees", "boosting"):
        # a branch of some trees says a little less than before
        other = copy.deepcopy(model)
        trees = np.ravel(getattr(other, "estimators_", [other]))
        for tree in trees[: 1 + seed % 2 * 9]:
            own = tree.tree_
            own.value[own.children_right[0] % own.node_count :] *= 1 - 2.0**-20
        yield other, {}
        if name in ("forest", "extra trees"):
            other = copy.deepcopy(model)
            other.estimators_ = other.estimators_[::-1]
            yield other, {}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", FAMILIES)
def test_what_is_proven_is_saved(name, n_classes, tmp_path):
    # in these cases, bounds here settled boxes in which those of the checker leave a wrong answer
    seeds = [*range(3), *{"tree": (22, 30, 34, 36), "forest": (23, 29)}.get(name, ())]
    n_saved = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=(80, 4)).round(1), rng.integers(n_classes, size=80)
        planned = (x[:, 0] > 0) + (x[:, 1] > 0.3) * (n_classes - 2)
        y = np.where(rng.random(80) < 0.6, planned, y)
        where = {}
        if seed % 3 == 2 and name in ("tree", "forest", "histogram", "lightgbm"):
            x[rng.random(x.shape) < 0.1] = np.nan
            where = {"domain": Domain(missing="all")}
        elif seed % 3 == 1:
            where = {"domain": Domain(bounds={0: (-1, 1), 2: (-0.5, 3)}, integers=[1])}
        model = FAMILIES[name](seed).fit(x, y)
        for other, given in alike(name, model, x, y, seed):
            near = {"X": x[:4], "max_changes": 1}
            for asked in ({**given, **where}, {**given, **near}):
                outcome = verify(model, other, **asked)
                assert outcome.equal is not None
                saved(outcome, tmp_path)
                n_saved += outcome.equal
    assert n_saved >= 4


def test_a_step_that_files_cannot_hold_is_refused_by_name(tmp_path):
    model = HistGradientBoostingRegressor(loss="poisson", max_iter=2).fit(FRAME, np.abs(VALUE))
    with pytest.raises(NoEvidence, match="a step, Exponential"):
        verify(model, copy.deepcopy(model), rtol=0.01).save(tmp_path / "evidence.json")
    assert not any(tmp_path.iterdir())


def test_a_limit_of_time_holds_for_all_that_save_does(tmp_path, monkeypatch):
    path = tmp_path / "evidence.json"
    model = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, Y)
    other = RandomForestClassifier(5, max_depth=3, random_state=1).fit(X, Y)
    everywhere, near = verify(model, model), verify(model, model, X=X[:5], max_changes=1)
    refuted = verify(model, other)
    # a limit that is over ends it before anything is written down, whatever the proof is of
    written = document.model_in_json
    monkeypatch.setattr(document, "model_in_json", lambda *_: pytest.fail("went on"))
    for outcome in (everywhere, near, refuted):
        with limits(-1), pytest.raises(TimeLimitError, match="time_limit"):
            outcome.save(path, time_limit=10.0)
    # and so does one that ends in the course of it, the check of the file included
    monkeypatch.setattr(document, "model_in_json", written)
    for outcome in (everywhere, near, refuted):
        n_asked = []
        monkeypatch.setattr(document, "check_time", lambda n=n_asked: n.append(0))
        outcome.save(path)
        path.unlink()
        assert len(n_asked) > 12, "asked at the start, by each model, entry and block of boxes"
        for last in range(1, len(n_asked)):
            moments = iter([None] * last)

            def over(moments=moments):
                if next(moments, True):
                    raise Stopped

            monkeypatch.setattr(document, "check_time", over)
            with pytest.raises(TimeLimitError, match="time_limit"):
                outcome.save(path)
            assert not any(tmp_path.iterdir())


def test_a_claim_that_the_arrays_do_not_have_is_not_written(tmp_path):
    model = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, Y)
    other = RandomForestClassifier(5, max_depth=3, random_state=1).fit(X, Y)
    outcome = verify(model, model)
    claim = copy.copy(outcome.claim)
    object.__setattr__(claim, "forests", [claim.forests[0], verify(other, other).claim.forests[0]])
    object.__setattr__(outcome, "claim", claim)
    with pytest.raises(NoEvidence, match="do not show the claim there"):
        outcome.save(tmp_path / "evidence.json")
    assert not any(tmp_path.iterdir())
