"""Saved outcomes: what stands in the file is true, and nothing else is written."""

import copy
import json

import numpy as np
import pandas as pd
import pytest
from ba_trees import FOLDER, published, read_random_forest
from second_checker import is_for_both, second_opinion
from sklearn.compose import TransformedTargetRegressor
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
    check,
    export_model,
    import_model,
    is_monotone,
    is_sensitive,
    nearest_flip,
    sufficient_box,
    verify,
)
from ensemble_simplify.evidence import Claim, NoEvidence, Use, checker, document
from ensemble_simplify.grid import Stopped, limits
from ensemble_simplify.reading import Model

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
    """Lower and upper ends of the boxes of a proof."""
    proof, n = document["proof"], len(document["region"]["low"])
    stack, found = [(np.full(n, -np.inf), np.full(n, np.inf))], []
    for j, end in zip(proof["column"], proof["end"], strict=True):
        low, high = stack.pop()
        if j < 0:
            found.append((low, high))
            continue
        below, above = high.copy(), low.copy()
        below[j], above[j] = min(high[j], end), max(low[j], end)
        stack += [(above, high), (low, below)]
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
    boxes = boxes_of(document)
    for low, high in boxes:
        inside = ((low < rows) & (rows <= high)).all(axis=1)
        hits += inside
    assert (hits == 1).all()
    # as small as they need to be, and no smaller
    assert len(set(answers)) == 3
    assert len(boxes) <= 4 * tree.get_n_leaves()


def test_equal_models_take_one_box(tmp_path):
    model = RandomForestClassifier(20, random_state=0).fit(X, Y)
    assert len(boxes_of(saved(verify(model, copy.deepcopy(model)), tmp_path))) == 1


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
    claim = {"kind": "within", "uses": [0, 1], "of": "each", "atol": 0.01, "rtol": 0.0}
    assert document["claim"] == claim


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


def test_pruned_stumps_take_one_box(tmp_path):
    ada = AdaBoostClassifier(n_estimators=12, random_state=0).fit(X, Y > 1)
    outcome = FaithfulPruner(FrozenEstimator(ada)).fit(X, Y > 1).verify()
    outcome.save(tmp_path / "evidence.json")
    claim = json.loads((tmp_path / "evidence.json").read_text())
    assert claim["proof"]["column"] == [-1]
    # votes that are moved more than a lead can be
    values = claim["models"][1]["nodes"]["value"]
    for k, sign in ((0, 1.0), (1, -1.0)):
        values[k][1] += sign
    claim["models"][1]["sha256"] = checker.digest(claim["models"][1], "sha256")
    claim |= {"digest": checker.digest(claim, "digest")}
    with pytest.raises(checker.Unproven, match="not proven in a box"):
        checker.check_text(json.dumps(claim))


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
    assert document["proof"]["point"] == outcome.counterexample.tolist()
    values = [DecisionTreeRegressor(max_depth=k, random_state=0).fit(FRAME, VALUE) for k in (1, 2)]
    saved(verify(*values), tmp_path)


@pytest.mark.parametrize(("name", "increasing"), [("bmi", True), ("s3", False)])
def test_monotone_models(name, increasing, tmp_path):
    signs = [(own == name) * (1 if increasing else -1) for own in FRAME.columns]
    settings = {"max_iter": 8, "max_leaf_nodes": 5, "monotonic_cst": signs, "random_state": 0}
    model = HistGradientBoostingRegressor(**settings).fit(FRAME, VALUE)
    document = saved(is_monotone(model, name, increasing=increasing), tmp_path)
    # tree by tree, without any cut
    assert document["proof"]["column"] == [-1]
    several = is_monotone(model, [name, "age"], increasing=[increasing, True])
    assert len(saved(several, tmp_path)["uses"][1]["columns"]) == 10
    outcome = is_monotone(model, name, increasing=not increasing)
    assert outcome.monotone is False
    assert saved(outcome, tmp_path)["proof"]["kind"] == "witness"
    model = HistGradientBoostingClassifier(**settings).fit(FRAME, VALUE > 150)
    for response in ("class", "probabilities"):
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
    model, n_nearest = copy.deepcopy(model).fit(X, Y), 0
    for flip in nearest_flip(model, X[::25] + 0.01, **asked):
        if flip and not flip.changes:
            continue
        kind = saved(flip, tmp_path)["claim"]["kind"]
        assert (kind == "not") == bool(flip)
        if not flip:
            with pytest.raises(NoEvidence, match="proven to be the nearest"):
                flip.save(tmp_path / "evidence.json", nearest=True)
            continue
        flip.save(tmp_path / "nearest.json", nearest=True)
        document, n_nearest = json.loads((tmp_path / "nearest.json").read_text()), n_nearest + 1
        words = checker.check(tmp_path / "nearest.json")
        assert f"in fewer than {len(flip.changes)} of" in words
        nearer = document["proof"]["nearer"]
        assert nearer["distance"] == pytest.approx(flip.distance, rel=1e-4)
        # what is not quite as near as the flip is not all without one
        nearer["distance"] = flip.distance * 1.001
        document["words"] = checker.words(document)
        document["digest"] = checker.digest(document, "digest")
        with pytest.raises(checker.Unproven):
            checker.check_text(json.dumps(document))
    assert n_nearest


def test_the_nearest_flip_of_a_group_is_one_change(tmp_path):
    rng = np.random.default_rng(0)
    kinds = np.eye(3)[rng.integers(3, size=120)]
    rows = np.hstack([rng.normal(size=(120, 2)).round(1), kinds])
    model = GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=0)
    model.fit(rows, (rows[:, 0] > 0) ^ (kinds[:, 0] > 0))
    flips = nearest_flip(model, rows[:6], domain=Domain(one_hot=[[2, 3, 4]]))
    assert any(len(flip.changes) == 2 for flip in flips)
    for flip in flips:
        flip.save(tmp_path / "flip.json", nearest=True)
        assert "in fewer than 1 of" in checker.check(tmp_path / "flip.json")
        assert check(tmp_path / "flip.json", model)


def test_a_flip_of_rows_that_are_rounded_is_saved(tmp_path):
    model = make_pipeline(StandardScaler(), RandomForestClassifier(4, max_depth=3, random_state=0))
    for flip in nearest_flip(model.fit(X, Y), X[::40] + 1 / 3):
        assert saved(flip, tmp_path)["proof"]["kind"] == "witness"
        assert check(tmp_path / "evidence.json", model)


@pytest.mark.parametrize("objective", ["auto", "depth", "leaves"])
def test_that_no_tree_is_smaller(objective, tmp_path):
    forest = RandomForestClassifier(4, max_depth=2, random_state=0).fit(X, Y)
    inside = Domain.from_rows(X)
    born = BornAgainClassifier(FrozenEstimator(forest), objective=objective, domain=inside)
    outcome = born.fit(X, Y).verify()
    outcome.save(tmp_path / "smallest.json", smallest=True)
    checked = check(tmp_path / "smallest.json", forest)
    assert checked
    sizes = [f"a depth below {born.depth_},", f"fewer than {born.n_leaves_} leaves"]
    sizes = sizes if objective == "auto" else sizes[objective == "leaves" :][:1]
    assert all(own in checked.claim for own in sizes), checked.claim
    # the bound is no smaller, and no larger
    claim = json.loads((tmp_path / "smallest.json").read_text())
    for key in ("depth", "leaves"):
        if claim["claim"][key] is not None:
            other = copy.deepcopy(claim)
            other["claim"][key] += 1
            other["words"] = checker.words(other)
            other |= {"digest": checker.digest(other, "digest")}
            with pytest.raises(checker.Unproven, match="allows a tree"):
                checker.check_text(json.dumps(other))


@pytest.mark.parametrize(("name", "fold"), [("HTRU2", 1), ("Pima-Diabetes", 2)])
def test_no_tree_is_smaller_than_those_that_are_published(name, fold):
    model = Model.of(read_random_forest(FOLDER / f"{name}.RF{fold}.txt"))
    use = Use(0, np.arange(model.forest.n_features))
    for objective, key, k in (("depth", "depth", 0), ("leaves", "leaves", 1)):
        size = {"depth": None, "leaves": None, "within": None, key: 10_000}
        claim = Claim("smallest", [model], [model.forest], [use], data=size)
        shown = document.evidence(claim)
        checker.check_text(json.dumps(shown))
        assert shown["claim"][key] == published()[name, fold, objective][k]


def test_a_grid_that_is_too_large_shows_a_smaller_bound(tmp_path, monkeypatch):
    forest = RandomForestClassifier(4, max_depth=3, random_state=0).fit(X, Y)
    born = BornAgainClassifier(FrozenEstimator(forest), objective="leaves").fit(X, Y)
    monkeypatch.setattr(checker, "MOST_REGIONS", 2_000)
    with pytest.warns(UserWarning, match="shows less"):
        born.verify().save(tmp_path / "smallest.json", smallest=True)
    claim = json.loads((tmp_path / "smallest.json").read_text())["claim"]
    assert 4 < claim["leaves"] < born.n_leaves_
    near = BornAgainClassifier(FrozenEstimator(forest), max_changes=0).fit(X, Y)
    with pytest.raises(NoEvidence, match="smallest=True is about"):
        near.verify().save(tmp_path / "smallest.json", smallest=True)


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
    n_saved = 0
    for seed in (n_classes - 1, 4 - n_classes):
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
        ranks = {"class_order": [*range(n_classes)]}
        outcomes = [
            is_monotone(model, [0, 3], response="class", **ranks),
            is_sensitive(model, 3, near=x[:3], max_changes=1),
            sufficient_box(model, x[0]),
            *nearest_flip(model, x[:2], max_changes=2),
        ]
        if name != "hard votes":
            outcomes += [
                is_monotone(model, 0, response="probabilities", positive=1),
                is_sensitive(model, 3, response="probabilities", positive=1, gap=0.4),
            ]
        for outcome in outcomes:
            saved(outcome, tmp_path)
            if getattr(outcome, "changes", None) and getattr(outcome, "proven", False):
                outcome.save(tmp_path / "nearest.json", nearest=True)
    assert n_saved >= 4


LINKED = {
    "poisson": HistGradientBoostingRegressor(loss="poisson", max_iter=3, max_leaf_nodes=4),
    "log1p": TransformedTargetRegressor(
        GradientBoostingRegressor(n_estimators=3, max_depth=2), func=np.log1p, inverse_func=np.expm1
    ),
    "arcsinh": TransformedTargetRegressor(
        GradientBoostingRegressor(n_estimators=3, max_depth=2),
        func=np.sinh,
        inverse_func=np.arcsinh,
    ),
}


@pytest.mark.parametrize("name", LINKED)
def test_models_behind_links_reduce_to_their_sums(name, tmp_path):
    model = copy.deepcopy(LINKED[name]).fit(X, 1.0 + X[:, 0])
    for feature in ([0], [1, 3]):
        document = saved(is_monotone(model, feature), tmp_path)
        kind = document["models"][0]["steps"][-1][0]
        assert kind == ("link" if name == "arcsinh" else "exp")
        assert check(tmp_path / "evidence.json", model)
    if name != "arcsinh":
        document = saved(verify(model, copy.deepcopy(model)), tmp_path)
        assert "(granted that exp never falls with its argument)" in document["words"]
    if name == "poisson":
        other = copy.deepcopy(LINKED[name]).set_params(max_iter=4).fit(X, 1.0 + X[:, 0])
        saved(verify(model, other, rtol=0.5), tmp_path)
        saved(is_sensitive(model, 1, gap=3.0), tmp_path)
        saved(sufficient_box(model, X[0], within=1.0), tmp_path)


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
    with pytest.raises(NoEvidence, match="not proven in a box"):
        outcome.save(tmp_path / "evidence.json")
    assert not any(tmp_path.iterdir())
