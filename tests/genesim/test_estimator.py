"""GenesimClassifier: promises, determinism, bad input."""

import contextlib
import io
import os
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
from alternatives import plain_tree
from ensemble_simplify.grid._limits import counted_clock
from sklearn import metrics
from sklearn.base import clone
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_classification,
)
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, export_text, plot_tree

from ensemble_simplify import GenesimClassifier
from ensemble_simplify.genesim._first_trees import _fit_some
from ensemble_simplify.grid import limits

SMALL = {
    "n_bootstraps": 4,
    "population_size": 30,
    "tournament_size": 4,
    "n_iter": 4,
    "n_crossovers": 4,
    "random_state": 0,
}
pytestmark = pytest.mark.usefixtures("few_votes")


# ---------------------------------------------------------------- promises of the estimator


def same_trees(a, b):
    left, right = a.tree_.__getstate__(), b.tree_.__getstate__()
    return all(np.array_equal(left[key], right[key]) for key in ("nodes", "values"))


@pytest.mark.parametrize("prune", ["ccp", "reduced_error", None])
@pytest.mark.parametrize("fitness", ["holdout", "oob"])
def test_history_front_and_result_agree(prune, fitness):
    X, y = load_wine(return_X_y=True)
    options = {"prune": prune, "fitness": fitness, "selection": "best"}
    model = GenesimClassifier(**SMALL, **options).fit(X, y)
    assert np.all(np.diff(model.history_.best_score) >= 0)
    assert len(model.history_.best_score) == model.n_iter_ + 1 == 5
    front = model.pareto_front_
    assert front.fitness[-1] == model.history_.best_score[-1]
    assert np.all(np.diff(front.n_leaves) > 0)
    assert np.all(np.diff(front.fitness) > 0)
    assert np.all((front.fitness > front.score) & (front.fitness <= front.score + 0.3))
    assert np.isnan(front.merit).all()
    assert front.trees[-1] is model.decision_tree_
    assert [tree.get_n_leaves() for tree in front.trees] == front.n_leaves.tolist()
    assert model.n_nodes_ == model.decision_tree_.tree_.node_count == 2 * model.n_leaves_ - 1
    assert 0 < model.ensemble_score_ <= 1
    for size in range(front.n_leaves[0], front.n_leaves[-1] + 3):
        smaller = model.at(n_leaves=size)
        assert type(smaller) is GenesimClassifier
        assert smaller.get_n_leaves() == smaller.n_leaves_ <= size
        assert smaller.n_nodes_ == smaller.decision_tree_.tree_.node_count
        assert smaller.validation_score_ == front.score[front.n_leaves <= size][-1]
        np.testing.assert_array_equal(smaller.predict(X), smaller.decision_tree_.predict(X))
    assert model.decision_tree_ is front.trees[-1]
    for tree in front.trees:
        assert tree.tree_.n_node_samples[0] == len(X)
        leaf = tree.tree_.children_left < 0
        assert tree.tree_.n_node_samples[leaf].min() >= 3
        reached = np.unique(tree.apply(X))
        np.testing.assert_array_equal(reached, np.flatnonzero(leaf))


@pytest.mark.parametrize(
    "options", [{"selection": "forest"}, {"selection": "best"}, {"fitness": "oob"}]
)
def test_values_are_shrunk_labels_and_votes(options):
    """The formula, node by node: labels and the forest's votes, as far as there are some."""
    X, y = load_wine(return_X_y=True)
    X = X.astype(np.float32)
    weight = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    model = GenesimClassifier(**SMALL, **options).fit(X, y, sample_weight=weight)
    rows = model._divide(X, y.astype(np.int32), weight, np.random.RandomState(0))
    model._ask_forest(rows)
    evidence = weight[:, None] * np.eye(3)[y]
    if rows.votes is not None:
        evidence[rows.kept] += weight[rows.kept, None] * np.nan_to_num(rows.votes)
    for fitted in model.pareto_front_.trees:
        tree = fitted.tree_
        sums = fitted.decision_path(X).T @ evidence
        sums[0] += 1 / 3
        fraction = sums / sums.sum(axis=1, keepdims=True)
        want, stack = {0: fraction[0]}, [0]
        while stack:
            node = stack.pop()
            n = sums[node].sum() - (node == 0)
            for child in (tree.children_left[node], tree.children_right[node]):
                if child >= 0:
                    want[child] = want[node] + (fraction[child] - fraction[node]) / (1 + 10 / n)
                    stack.append(child)
        want = np.array([want[node] for node in range(tree.node_count)])
        counts = fitted.decision_path(X).T @ (weight[:, None] * np.eye(3)[y])
        label = counts.argmax(axis=1)
        same = want.argmax(axis=1) == label
        assert same.mean() > 0.5
        np.testing.assert_allclose(tree.value[same, 0], want[same], atol=1e-12)
        np.testing.assert_array_equal(tree.value[:, 0].argmax(axis=1), label)


def test_shrinkage_changes_no_label_and_leaves_no_class_without_a_chance():
    X, y = make_classification(400, 6, n_informative=4, n_classes=3, flip_y=0.3, random_state=0)
    weight = np.random.default_rng(0).exponential(size=400)
    plain = GenesimClassifier(**SMALL, shrinkage=0).fit(X, y, sample_weight=weight)
    shrunk = GenesimClassifier(**SMALL).fit(X, y, sample_weight=weight)
    assert plain.n_leaves_ == shrunk.n_leaves_
    assert plain.validation_score_ == shrunk.validation_score_
    new = np.random.default_rng(1).normal(size=(2000, 6))
    for before, after in zip(plain.pareto_front_.trees, shrunk.pareto_front_.trees, strict=True):
        np.testing.assert_array_equal(before.predict(new), after.predict(new))
        np.testing.assert_array_equal(before.apply(new), after.apply(new))
        proba = after.predict_proba(new)
        assert proba.min() > 0
        np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    # as rows of plain counts: fractions of the labels
    plain = GenesimClassifier(**SMALL, selection="best", shrinkage=0).fit(X, y, weight)
    leaf = plain.decision_tree_.apply(X)
    held = np.zeros((plain.n_nodes_, 3))
    np.add.at(held, (leaf, y), weight)
    reached = np.unique(leaf)
    want = held[reached] / held[reached].sum(axis=1, keepdims=True)
    value = plain.decision_tree_.tree_.value[reached, 0]
    np.testing.assert_allclose(value, want, atol=1e-12)


def test_shrinkage_lowers_log_loss_on_new_rows():
    X, y = load_breast_cancer(return_X_y=True)
    train, new = np.arange(0, len(y), 2), np.arange(1, len(y), 2)
    losses = []
    for shrinkage in (0, 10):
        model = GenesimClassifier(**SMALL, shrinkage=shrinkage).fit(X[train], y[train])
        losses.append(metrics.log_loss(y[new], model.predict_proba(X[new])))
    assert losses[1] < losses[0] - 0.05


def test_shares_in_words_are_of_rows_expected():
    X, y = load_wine(return_X_y=True)
    shrunk, plain = (GenesimClassifier(**SMALL, shrinkage=s).fit(X, y) for s in (10, 0))
    assert "(chance " in shrunk.export_text()
    assert "(chance " not in plain.export_text()
    assert any("share = [" in note.get_text() for note in shrunk.plot())
    assert any("value = [" in note.get_text() for note in plain.plot())


def test_result_is_not_worse_than_the_best_first_tree_on_validation_rows():
    """Counting the validation rows in at the end cannot lower their accuracy."""
    X, y = load_breast_cancer(return_X_y=True)
    for seed in range(4):
        options = {"training_weight": 0, "selection": "best", "random_state": seed}
        model = GenesimClassifier(**{**SMALL, **options}).fit(X, y)
        np.testing.assert_array_equal(model.pareto_front_.fitness, model.pareto_front_.score)
        assert model.validation_score_ == model.history_.best_score[-1]
        rows = model._divide(X, y, np.ones(len(X)), np.random.RandomState(seed))
        on_validation = model.score(X[rows.val], y[rows.val])
        assert on_validation >= model.validation_score_ - 1e-9
        assert on_validation >= model.history_.best_score[0] - 1e-9


@pytest.mark.parametrize("scoring", ["accuracy", "balanced_accuracy", "neg_log_loss"])
def test_ensemble_and_tree_scores_are_those_of_scikit_learn(scoring):
    """Scores made in the kernel are those of the same scorer called for every tree."""
    X, y = make_classification(
        300, 6, n_informative=4, n_classes=3, weights=[0.6, 0.3], random_state=0
    )
    weight = np.random.default_rng(0).integers(1, 4, 300).astype(float)
    # Without pruning and with one iteration, both ways meet the same trees.
    options = {**SMALL, "prune": None, "n_iter": 0, "population_size": 1000}
    fast = GenesimClassifier("paper", **options, scoring=scoring).fit(X, y, sample_weight=weight)
    slow = GenesimClassifier("paper", **options, scoring=metrics.get_scorer(scoring))
    slow.fit(X, y, sample_weight=weight)
    for name in fast.history_:
        np.testing.assert_allclose(fast.history_[name], slow.history_[name], atol=1e-11)
    assert fast.ensemble_score_ == pytest.approx(slow.ensemble_score_)


def test_ensemble_score_is_that_of_the_mean_of_the_first_trees():
    X, y = load_wine(return_X_y=True)
    trees = [
        DecisionTreeClassifier(max_depth=d, random_state=d).fit(X[::2], y[::2]) for d in (1, 2)
    ]
    options = {"n_iter": 0, "prune": None, "min_samples_leaf": 1, "random_state": 0}
    scores = []
    for part in (trees[:1], trees):
        model = GenesimClassifier([FrozenEstimator(tree) for tree in part], **options).fit(X, y)
        rows = model._divide(X, y, np.ones(len(X)), np.random.RandomState(0))
        proba = 0
        for tree in part:
            leaf = tree.apply(X)
            held = np.zeros((leaf.max() + 1, 3))
            np.add.at(held, (leaf[rows.train], y[rows.train]), 1)
            proba = proba + (held / np.maximum(held.sum(axis=1, keepdims=True), 1))[leaf[rows.val]]
        scores.append(np.mean(proba.argmax(axis=1) == y[rows.val]))
        assert model.ensemble_score_ == pytest.approx(scores[-1])
    assert scores[0] != scores[1]


def test_callable_accuracy_finds_the_same_tree():
    X, y = load_wine(return_X_y=True)
    fast = GenesimClassifier(**SMALL, selection="best").fit(X, y)
    slow = GenesimClassifier(**SMALL, scoring=metrics.make_scorer(metrics.accuracy_score))
    slow.fit(X, y)
    np.testing.assert_allclose(fast.history_.best_score, slow.history_.best_score, atol=1e-11)
    assert same_trees(fast.decision_tree_, slow.decision_tree_)


def test_log_loss_and_probability_scorers():
    X, y = load_breast_cancer(return_X_y=True)
    model = GenesimClassifier(**SMALL, scoring="neg_log_loss").fit(X, y)
    assert model.validation_score_ < 0
    assert model.ensemble_score_ < 0
    model = GenesimClassifier(**SMALL, scoring="roc_auc", selection="one_se").fit(X, y)
    stump = plain_tree(model, X, y, n_leaves=2)
    assert metrics.roc_auc_score(y, stump.predict_proba(X)[:, 1]) < model.validation_score_ <= 1
    assert model.score(X, y) > stump.score(X, y)


def test_one_standard_error_gives_the_smallest_tree_within_it():
    X, y = load_breast_cancer(return_X_y=True)
    best = GenesimClassifier(**SMALL, selection="best").fit(X, y)
    small = GenesimClassifier(**SMALL, selection="one_se").fit(X, y)
    front = best.pareto_front_
    np.testing.assert_array_equal(front.fitness, small.pareto_front_.fitness)
    score = best.validation_score_
    se = np.sqrt(score * (1 - score) / 284)
    within = front.fitness >= front.fitness[-1] - se
    assert small.n_leaves_ == front.n_leaves[within][0] <= best.n_leaves_


@pytest.mark.parametrize(("fitness", "weighted"), [("holdout", False), ("oob", True)])
def test_forest_chooses_by_its_votes_the_rows_and_the_leaves(fitness, weighted, all_votes):
    """The front is that of any selection; merits are those of a forest fitted here."""
    X, y = make_classification(
        200, 6, n_informative=4, n_classes=3, n_clusters_per_class=1, flip_y=0.2, random_state=2
    )
    y = np.array(["b", "c", "a"])[y]
    weight = np.random.default_rng(0).integers(0, 3, 200) if weighted else np.ones(200, dtype=int)
    given = weight if weighted else None
    options = {**SMALL, "fitness": fitness}
    model = GenesimClassifier(**options, selection="forest").fit(X, y, sample_weight=given)
    best = GenesimClassifier(**options, selection="best").fit(X, y, sample_weight=given)
    front = model.pareto_front_
    np.testing.assert_array_equal(front.fitness, best.pareto_front_.fitness)

    kept = weight > 0
    seed = np.random.RandomState(0).randint(np.iinfo(np.int32).max)
    forest = RandomForestClassifier(200, min_samples_leaf=2, oob_score=True, random_state=seed)
    forest.fit(X[kept].astype(np.float32), y[kept], sample_weight=weight[kept])
    n = weight.sum()
    merits = []
    for tree in front.trees:
        voted = right = 0
        answers = tree.predict(X[kept])
        for row, answer in enumerate(answers):
            voted += (
                weight[kept][row]
                * forest.oob_decision_function_[row][list(forest.classes_).index(answer)]
            )
            right += weight[kept][row] * (answer == y[kept][row])
        merits.append(0.5 * voted / n + 0.5 * right / n - 0.5 * tree.get_n_leaves() / n)
    np.testing.assert_allclose(front.merit, merits, atol=1e-12)
    assert len(merits) > 2
    assert model.decision_tree_ is front.trees[int(np.argmax(merits))]
    assert model.validation_score_ == front.score[int(np.argmax(merits))]


def test_auto_asks_the_forest_for_accuracy_only():
    X, y = load_iris(return_X_y=True)
    for scoring in ("accuracy", "balanced_accuracy"):
        merit = GenesimClassifier("paper", **SMALL, scoring=scoring).fit(X, y).pareto_front_.merit
        assert np.isnan(merit).all() == (scoring != "accuracy")


def test_limits_are_kept():
    X, y = make_classification(600, 10, n_informative=6, n_classes=3, random_state=1)
    model = GenesimClassifier(**SMALL, max_leaf_nodes=5, min_samples_leaf=20).fit(X, y)
    assert model.pareto_front_.n_leaves.max() <= 5
    tree = model.decision_tree_.tree_
    assert tree.n_node_samples[tree.children_left < 0].min() >= 20
    with pytest.raises(ValueError, match="n_leaves=0"):
        model.at(n_leaves=0)


def test_early_stop():
    X, y = load_iris(return_X_y=True)
    options = {**SMALL, "n_iter": 200, "n_iter_no_change": 3, "selection": "forest"}
    model = GenesimClassifier(**options).fit(X, y)
    assert model.n_iter_ < 200
    assert np.all(model.history_.best_score[-4:] == model.history_.best_score[-1])


def test_time_limit_stops_with_a_warning():
    X, y = make_classification(4000, 20, n_informative=10, flip_y=0.2, random_state=0)
    model = GenesimClassifier(
        "paper", n_iter=100_000, n_bootstraps=5, time_limit=1e4, random_state=0
    )
    # each look at the clock takes so many seconds: the limit cuts off the same on every machine
    warned = pytest.warns(ConvergenceWarning, match=r"time_limit=10000.0 seconds")
    with counted_clock(100.0), warned:
        model.fit(X, y)
    assert model.n_iter_ < 100_000
    assert model.score(X, y) > plain_tree(model, X, y, n_leaves=4).score(X, y)
    assert 0 < model.ensemble_score_ <= 1
    # Even a limit that allows nothing gives a tree.
    with pytest.warns(ConvergenceWarning):
        model = GenesimClassifier("paper", time_limit=1e-9, random_state=0).fit(X, y)
    assert model.n_leaves_ >= 1


@pytest.mark.parametrize("estimators", ["auto", "paper"])
def test_same_result_for_any_number_of_jobs(estimators, monkeypatch):
    monkeypatch.setattr("ensemble_simplify.genesim._estimator._WORK_FOR_THREADS", 0)
    X, y = make_classification(400, 8, n_informative=5, n_classes=3, random_state=3)
    fits = [GenesimClassifier(estimators, **SMALL, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2, 4)]
    for other in fits[1:]:
        assert len(other.pareto_front_.trees) == len(fits[0].pareto_front_.trees)
        for a, b in zip(fits[0].pareto_front_.trees, other.pareto_front_.trees, strict=True):
            assert same_trees(a, b)
        for column in fits[0].history_:
            np.testing.assert_array_equal(fits[0].history_[column], other.history_[column])


IN_A_FRESH_PROCESS = """
import joblib
from sklearn.datasets import load_wine
from ensemble_simplify import GenesimClassifier
X, y = load_wine(return_X_y=True)
model = GenesimClassifier(n_bootstraps=3, n_iter=3, random_state=5).fit(X, y)
tree = model.decision_tree_.tree_.__getstate__()
print(joblib.hash([tree["nodes"].tobytes(), tree["values"]]))
"""


def test_same_result_in_another_process_whatever_the_hash_seed(all_votes):
    code = IN_A_FRESH_PROCESS + "print(hash('x'))\n"
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={
            **os.environ,
            "PYTHONHASHSEED": str(hash("x") % 2**32),
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    here = io.StringIO()
    with contextlib.redirect_stdout(here):
        exec(code, {})
    (there, seeded), (own, own_seeded) = run.stdout.split(), here.getvalue().split()
    assert there == own
    assert seeded != own_seeded


def test_global_random_state_and_working_directory_stay_as_they_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = load_iris(return_X_y=True)
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    GenesimClassifier(**SMALL).fit(X, y)
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------- where trees come from


def test_fitted_and_unfitted_models_of_every_kind():
    X, y = make_classification(300, 6, n_informative=4, random_state=0)
    forest = RandomForestClassifier(10, max_depth=4, random_state=0).fit(X[:150], y[:150])
    before = pickle.dumps(forest)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    models = [
        FrozenEstimator(forest),
        tree,
        AdaBoostClassifier(tree, n_estimators=5, random_state=0),
        GradientBoostingClassifier(n_estimators=5, random_state=0),
        BaggingClassifier(tree, 4, max_features=0.5, random_state=0),
    ]
    model = GenesimClassifier(models, n_iter=3, random_state=0).fit(X, y)
    assert model.score(X, y) > plain_tree(model, X, y, n_leaves=4).score(X, y)
    assert pickle.dumps(forest) == before
    assert not hasattr(tree, "tree_")
    assert clone(model).estimators[0].estimator is forest


def test_stump_that_splits_nothing_of_the_rows():
    X, y = load_iris(return_X_y=True)
    far = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X + 1000.0, y)
    model = GenesimClassifier([FrozenEstimator(far)], n_iter=2, random_state=0).fit(X, y)
    assert model.n_leaves_ == 1


def test_string_labels_missing_class_and_weights():
    X, y = load_iris(return_X_y=True)
    names = np.array(["c", "a", "b"])[y]
    weight = np.ones(150)
    weight[y == 1] = 0.0
    model = GenesimClassifier(**SMALL).fit(X, names, sample_weight=weight)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert set(model.predict(X)) == {"b", "c"}
    tree = model.decision_tree_.tree_
    assert tree.n_node_samples[0] == 100
    heavy = GenesimClassifier(**SMALL).fit(X, names, sample_weight=np.full(150, 2.0))
    light = GenesimClassifier(**SMALL).fit(X, names)
    assert export_text(heavy.decision_tree_) == export_text(light.decision_tree_)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_tiny_data(n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    y = np.arange(n) % 2
    for fitness in ("holdout", "oob"):
        model = GenesimClassifier(**SMALL, fitness=fitness).fit(X, y)
        assert model.predict(X).shape == (n,)
    model = GenesimClassifier(**SMALL).fit(X, np.zeros(n))
    assert model.n_leaves_ == 1
    assert np.all(model.predict(X) == 0)


def test_result_is_a_real_tree_with_the_same_answers(tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    X, y = load_wine(return_X_y=True, as_frame=True)
    model = GenesimClassifier(**SMALL).fit(X, y)
    rng = np.random.default_rng(0)
    points = rng.uniform(X.min(), X.max(), size=(100_000, X.shape[1]))
    labels = model.predict(X.__class__(points, columns=X.columns))
    np.testing.assert_array_equal(
        labels, model.decision_tree_.predict(X.__class__(points, columns=X.columns))
    )
    assert type(model.decision_tree_) is DecisionTreeClassifier
    plot_tree(model.decision_tree_)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


# ---------------------------------------------------------------- bad input


def test_clear_errors():
    X, y = load_iris(return_X_y=True)

    def fit(estimators="auto", **options):
        GenesimClassifier(estimators, **options).fit(X, y)

    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="estimators is empty"):
        fit([])
    with pytest.raises(NotFittedError, match="not fitted"):
        fit([FrozenEstimator(DecisionTreeClassifier())])
    narrow = FrozenEstimator(DecisionTreeClassifier().fit(X[:, :2], y))
    with pytest.raises(ValueError, match=r"estimators\[1\].* fitted on 2 features"):
        fit([tree, narrow])
    with pytest.raises(TypeError, match=r"estimators\[0\]: .*Pipeline"):
        fit([make_pipeline(PCA(), DecisionTreeClassifier())])
    with pytest.raises(ValueError, match=r"scoring=.* gave nan"):
        fit(scoring=lambda model, X, y: np.nan)
    with pytest.raises(ValueError, match="n_leaves='a'"):
        GenesimClassifier(**SMALL).fit(X, y).at(n_leaves="a")
    with pytest.raises(TypeError, match=r"estimators\[0\]=RandomForestRegressor"):
        fit([RandomForestRegressor()])
    with pytest.raises(TypeError, match=r"estimators\[1\]=DecisionTreeRegressor"):
        fit([tree, FrozenEstimator(DecisionTreeRegressor().fit(X, y))])
    with pytest.raises(TypeError, match="LogisticRegression"):
        fit([LogisticRegression(max_iter=1000)])
    with pytest.raises(TypeError, match="is not an estimator"):
        fit([DecisionTreeClassifier])
    with pytest.raises(ValueError, match=r"validation_fraction=0.001 leaves class 0 \(50 rows"):
        fit("paper", validation_fraction=0.001)
    with pytest.raises(ValueError, match=r"without training rows"):
        fit("paper", validation_fraction=0.999)
    with pytest.raises(ValueError, match=r"population_size=5 is below tournament_size=10"):
        fit(population_size=5)
    with pytest.raises(ValueError, match="zero"):
        GenesimClassifier().fit(X, y, sample_weight=np.zeros(150))


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(random_state=0),
        DecisionTreeClassifier(min_samples_leaf=5, random_state=0),
        RandomForestClassifier(20, random_state=0),
        ExtraTreesClassifier(20, random_state=0),
        BaggingClassifier(
            DecisionTreeClassifier(), 5, bootstrap=False, max_features=0.5, random_state=0
        ),
    ],
    ids=str,
)
def test_frozen_model_that_has_seen_the_rows_is_noticed(model):
    X, y = (part[::3] for part in load_digits(return_X_y=True))
    X = X[:, 10:40]
    options = {"n_iter": 0, "random_state": 0}
    model.fit(X, y)
    with pytest.warns(UserWarning, match=r"estimators\[0\]=.* seems to have been fitted on the"):
        GenesimClassifier([FrozenEstimator(model)], **options).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # No rows are held out, or the model is fitted again on what is not.
        GenesimClassifier([FrozenEstimator(model)], fitness="oob", **options).fit(X, y)
        GenesimClassifier([clone(model)], **options).fit(X, y)
        for first in (150, 450):
            model.fit(X[:first], y[:first])
            GenesimClassifier([FrozenEstimator(model)], **options).fit(X[first:], y[first:])


def test_frozen_models_that_do_not_agree_on_column_names():
    pandas = pytest.importorskip("pandas")
    X, y = load_iris(return_X_y=True)
    frames = [pandas.DataFrame(X, columns=list(names)) for names in ("abcd", "bacd")]
    models = [FrozenEstimator(DecisionTreeClassifier().fit(frame, y)) for frame in frames]
    with pytest.raises(ValueError, match=r"estimators\[1\] was fitted on the features"):
        GenesimClassifier(models).fit(X, y)


def test_frozen_model_with_other_column_names():
    pandas = pytest.importorskip("pandas")
    X, y = load_iris(return_X_y=True, as_frame=True)
    other = DecisionTreeClassifier().fit(pandas.DataFrame(X.values, columns=list("abcd")), y)
    with pytest.raises(ValueError, match=r"estimators\[0\] was fitted on the features"):
        GenesimClassifier([FrozenEstimator(other)]).fit(X, y)


# ---------------------------------------------------------------- display


def test_display_of_the_front():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from ensemble_simplify import ParetoFrontDisplay

    X, y = load_wine(return_X_y=True)
    model = GenesimClassifier(**SMALL, selection="one_se").fit(X[::2], y[::2])
    display = ParetoFrontDisplay.from_estimator(model)
    np.testing.assert_array_equal(display.n_leaves, model.pareto_front_.n_leaves)
    assert display.n_leaves[display.chosen] == model.n_leaves_
    assert display.lines == {"first population, voting": model.ensemble_score_}
    others = {
        "CART": DecisionTreeClassifier(random_state=0).fit(X[::2], y[::2]),
        "forest": RandomForestClassifier(5, random_state=0).fit(X[::2], y[::2]),
    }
    ax = matplotlib.pyplot.figure().subplots()
    display = ParetoFrontDisplay.from_estimator(model, X[1::2], y[1::2], others=others, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert display.score[display.chosen] == model.score(X[1::2], y[1::2])
    assert display.points["CART"][0] == others["CART"].get_n_leaves()
    assert display.lines == {"forest": others["forest"].score(X[1::2], y[1::2])}
    matplotlib.pyplot.close("all")
    with pytest.raises(ValueError, match="given together"):
        ParetoFrontDisplay.from_estimator(model, X)
    with pytest.raises(ValueError, match=r"others=\['CART'\]"):
        ParetoFrontDisplay.from_estimator(model, others={"CART": others["CART"]})


# ---------------------------------------------------------------- what is told, and when


def test_one_estimator_is_a_list_of_one():
    X, y = load_wine(return_X_y=True)
    forest = RandomForestClassifier(10, max_depth=3, random_state=0)
    options = {"n_iter": 2, "random_state": 0}
    for estimator in (forest, FrozenEstimator(clone(forest).fit(X[::2], y[::2]))):
        alone = GenesimClassifier(estimator, **options).fit(X, y)
        listed = GenesimClassifier([estimator], **options).fit(X, y)
        assert same_trees(alone.decision_tree_, listed.decision_tree_)
    with pytest.raises(TypeError, match=r"estimators\[0\]=RandomForestRegressor"):
        GenesimClassifier(RandomForestRegressor()).fit(X, y)


@pytest.mark.parametrize("estimators", ["auto", "paper"])
def test_weights_that_sum_to_one_are_not_numbers_of_rows(estimators):
    X, y = load_wine(return_X_y=True)
    options = {**SMALL, "n_iter": 1, "boosting": False}
    equal = GenesimClassifier(estimators, **options).fit(X, y)
    shares = GenesimClassifier(estimators, **options)
    shares.fit(X, y, sample_weight=np.full(len(X), 2.0**-8))
    assert export_text(shares.decision_tree_) == export_text(equal.decision_tree_)
    assert shares.ensemble_score_ == equal.ensemble_score_


@pytest.mark.parametrize("fitness", ["holdout", "oob"])
def test_first_population_is_told_of(fitness, capsys):
    X, y = load_iris(return_X_y=True)
    options = {**SMALL, "fitness": fitness, "selection": "best"}
    loud = GenesimClassifier(**options, verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith("[GenesimClassifier] ") for line in lines)
    first = next(i for i, line in enumerate(lines) if "iteration 0" in line)
    assert sum("first population" in line for line in lines[:first]) > 5
    assert any("first population: 1 of" in line for line in lines[:first])  # the first tree
    assert any("out-of-bag" in line for line in lines[:first]) == (fitness == "oob")
    assert len(lines) - first == loud.n_iter_ + 1
    quiet = GenesimClassifier(**options).fit(X, y)
    assert not capsys.readouterr().out
    assert same_trees(loud.decision_tree_, quiet.decision_tree_)


def test_time_limit_that_is_not_reached_changes_nothing():
    X, y = load_wine(return_X_y=True)
    for fitness in ("holdout", "oob"):
        options = {**SMALL, "fitness": fitness}
        fits = [GenesimClassifier(**options, time_limit=t).fit(X, y) for t in (None, 1e6)]
        assert same_trees(*(fit.decision_tree_ for fit in fits))


def test_forest_of_oob_looks_at_the_clock(monkeypatch):
    grown = []
    fit = RandomForestClassifier.fit

    def counting_fit(self, *args, **kwargs):
        result = fit(self, *args, **kwargs)
        grown.append(len(self.estimators_))
        return result

    monkeypatch.setattr(RandomForestClassifier, "fit", counting_fit)
    X, y = load_iris(return_X_y=True)
    with pytest.warns(ConvergenceWarning):
        GenesimClassifier(**SMALL, fitness="oob", time_limit=1e-9).fit(X, y)
    assert max(grown) == 1


def test_first_trees_of_many_rows_grow_on_some_of_them(monkeypatch):
    sizes = []
    fit = DecisionTreeClassifier.fit

    def counting_fit(self, X, *args, **kwargs):
        sizes.append(len(X))
        return fit(self, X, *args, **kwargs)

    monkeypatch.setattr(DecisionTreeClassifier, "fit", counting_fit)
    monkeypatch.setattr("ensemble_simplify.genesim._first_trees._MOST_ROWS", 300)
    X, y = make_classification(2000, 5, flip_y=0.2, random_state=0)
    model = GenesimClassifier("paper", n_bootstraps=3, n_iter=2, random_state=0).fit(X, y)
    # CART on the rows that stand for all, 3 bags of it, and 3 boosted trees
    assert sizes.count(300) == 1 + 3
    assert sum(200 < size < 300 for size in sizes) == 3
    assert len(sizes) == 7
    assert model.decision_tree_.tree_.n_node_samples[0] == 2000
    guess = np.bincount(y).max() / len(y)
    assert model.score(X, y) - guess > 0.9 * (plain_tree(model, X, y).score(X, y) - guess)
    sizes.clear()
    with counted_clock(100.0), pytest.warns(ConvergenceWarning):
        GenesimClassifier("paper", n_bootstraps=3, n_iter=10**6, time_limit=1e4).fit(X, y)
    assert max(sizes) <= 300


def test_front_keeps_the_fittest_if_time_is_out(monkeypatch):
    X, y = load_wine(return_X_y=True)
    options = {**SMALL, "selection": "forest"}
    whole = GenesimClassifier(**options).fit(X, y)
    original = GenesimClassifier._set_front

    def late(self, *args):
        with limits(0.0):
            original(self, *args)

    monkeypatch.setattr(GenesimClassifier, "_set_front", late)
    short = GenesimClassifier(**options).fit(X, y)
    assert len(whole.pareto_front_.trees) > 1
    assert len(short.pareto_front_.trees) == len(short.pareto_front_.merit) == 1
    for name in ("fitness", "score", "merit", "n_leaves"):
        assert short.pareto_front_[name][0] == whole.pareto_front_[name][-1]
    assert same_trees(short.decision_tree_, whole.pareto_front_.trees[-1])


def test_no_tree_is_begun_that_would_end_too_late():
    X, y = make_classification(200, 5, random_state=0)
    y = y.astype(np.float64)
    task = (DecisionTreeClassifier(random_state=0), [np.ones(200)])
    X = X.astype(np.float32)
    with limits(5.0):
        assert _fit_some(task, X, y, [100.0]) == []
        assert len(_fit_some(task, X, y, [100.0], always=True)) == 1
    longest = [0.0]
    with limits(105.0):
        assert len(_fit_some(task, X, y, longest)) == 1
    assert 0 < longest[0] < 100


def test_models_are_not_fitted_after_the_time_limit():
    X, y = load_iris(return_X_y=True)
    fitted = []

    class Slow(DecisionTreeClassifier):
        def fit(self, *args, **kwargs):
            fitted.append(self)
            return super().fit(*args, **kwargs)

    frozen = FrozenEstimator(DecisionTreeClassifier(max_depth=1).fit(X[::2], y[::2]))
    with pytest.warns(ConvergenceWarning):
        GenesimClassifier([Slow(), Slow(), frozen], time_limit=1e-9, random_state=0).fit(X, y)
    assert len(fitted) == 1


def test_frame_of_polars_keeps_its_names():
    polars = pytest.importorskip("polars")
    X, y = load_iris(return_X_y=True, as_frame=True)
    frame = polars.DataFrame({name: X[name].to_numpy() for name in X})
    forest = RandomForestClassifier(5, max_depth=3, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        models = [forest, FrozenEstimator(clone(forest).fit(frame[::2], y[::2]))]
        model = GenesimClassifier(models, n_iter=2, random_state=0).fit(frame, y)
        model.predict_proba(frame)
    assert model.feature_names_in_.tolist() == list(X.columns)
    assert model.decision_tree_.feature_names_in_.tolist() == list(X.columns)
    same = GenesimClassifier(models, n_iter=2, random_state=0).fit(X, y)
    assert same_trees(model.decision_tree_, same.decision_tree_)


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine, load_iris])
@pytest.mark.parametrize(
    "forest",
    [
        RandomForestClassifier(20, random_state=0),
        RandomForestClassifier(20, min_samples_leaf=3, max_samples=0.5, random_state=0),
        BaggingClassifier(DecisionTreeClassifier(), 20, max_features=0.5, random_state=0),
    ],
    ids=["forest", "half", "bagging"],
)
def test_forest_of_bootstrap_samples_that_has_seen_the_rows_is_noticed(load, forest):
    X, y = load(return_X_y=True)
    options = {"n_iter": 0, "random_state": 0}
    with pytest.warns(UserWarning, match="seems to have been fitted on"):
        GenesimClassifier(FrozenEstimator(forest.fit(X, y)), **options).fit(X, y)
    rows = np.random.default_rng(0).permutation(len(X))
    half = len(X) // 2
    forest.fit(X[rows[:half]], y[rows[:half]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GenesimClassifier(FrozenEstimator(forest), **options).fit(X[rows[half:]], y[rows[half:]])
