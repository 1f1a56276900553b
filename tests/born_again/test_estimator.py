"""The born-again tree is the ensemble, and no equal tree is smaller."""

import copy
import pickle
import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
from ba_trees import FOLDER, majority, published, read_random_forest, read_trees
from hypothesis import given
from hypothesis import strategies as st
from oracles import (
    adversarial_rows,
    columns_of,
    labels_by_predict,
    min_depth,
    min_leaves,
    min_leaves_at_min_depth,
    thresholds_of,
    trees_of,
)
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer
from sklearn.tree import DecisionTreeClassifier, export_text, plot_tree
from strategies import CLASSIFIERS, LABELS, fitted_classifiers, rows_of_cells, small_data
from threadpoolctl import threadpool_limits

from ensemble_simplify import BornAgainClassifier, estimate

# scikit-learn looks for NaN by adding up all entries: rows of the largest numbers overflow.
pytestmark = [
    pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning"),
]

OBJECTIVES = ["depth", "leaves", "depth_then_leaves"]
BOOSTED = {"adaboost", "adaboost_slow", "adaboost_forests", "boosting", "boosting_zero"}
BOOSTED |= {"voting_boosted"}


# ------------------------------------------------------------------- truth, by predict alone


def cuts_of(thresholds):
    """The largest float32 at or below each threshold."""
    cuts = []
    for values in thresholds:
        single = values.astype(np.float32)
        single = np.where(single > values, np.nextafter(single, np.float32(-np.inf)), single)
        cuts.append(np.unique(single.astype(np.float64)))
    return cuts


class HardVote:
    """The majority of the labels that an ensemble's trees answer, ties to the first class."""

    def __init__(self, model):
        self.trees = list(zip(trees_of(model), columns_of(model), strict=True))
        self.classes_ = model.classes_

    def predict(self, X):
        # trees inside forests answer with class numbers as floats, free-standing ones with labels
        counts = np.zeros((len(X), len(self.classes_)))
        for tree, columns in self.trees:
            best = tree.predict_proba(X[:, columns]).argmax(axis=1)
            own = tree.classes_
            if own.dtype.kind != self.classes_.dtype.kind or not np.isin(own, self.classes_).all():
                own = self.classes_[own.astype(int)]
            counts[np.arange(len(X)), np.searchsorted(self.classes_, own[best])] += 1
        return self.classes_[counts.argmax(axis=1)]


def without_idle_cuts(labels):
    """The grid without cuts that separate equal slabs."""
    for axis in range(labels.ndim):
        equal = [
            (labels.take(k, axis) == labels.take(k + 1, axis)).all()
            for k in range(labels.shape[axis] - 1)
        ]
        labels = np.delete(labels, np.flatnonzero(equal), axis)
    return labels


def hard_rows(thresholds, cuts, seed):
    """Rows on cells' representatives, and on and beside thresholds in float32 and float64."""
    rng = np.random.default_rng(seed)
    return np.concatenate(
        [
            rows_of_cells(cuts, 3000, seed),
            adversarial_rows(cuts, rng, 150),
            adversarial_rows(thresholds, rng, 150),
        ]
    )


def assert_reborn(model, X, y, voting="estimator", seed=0):
    """All three objectives against exhaustive search over a grid labelled by predict alone."""
    truth = HardVote(model) if voting == "hard" else model
    thresholds = thresholds_of(model)
    cuts = cuts_of(thresholds)
    labels = labels_by_predict(truth, cuts)
    n_cells = without_idle_cuts(labels).size
    if labels.size > 60:
        labels = without_idle_cuts(labels)
    depth, leaves = min_depth(labels), min_leaves(labels)
    optimum = {
        "depth": (depth, None),
        "leaves": (None, leaves),
        "depth_then_leaves": (depth, min_leaves_at_min_depth(labels)),
    }
    rows = hard_rows(thresholds, cuts, seed)
    answer = truth.predict(rows)
    for objective in OBJECTIVES:
        reborn = BornAgainClassifier(
            FrozenEstimator(model), objective=objective, voting=voting, random_state=seed
        ).fit(X, y)
        tree = reborn.decision_tree_
        assert reborn.depth_ == reborn.get_depth() == tree.get_depth()
        assert reborn.n_leaves_ == reborn.get_n_leaves() == tree.get_n_leaves()
        assert reborn.status_ == "optimal"
        assert reborn.n_cells_ == n_cells
        best_depth, best_leaves = optimum[objective]
        if best_depth is None:
            assert reborn.depth_lower_bound_ <= depth
        else:
            assert reborn.depth_ == reborn.depth_lower_bound_ == best_depth
        if best_leaves is None:
            assert reborn.n_leaves_lower_bound_ <= leaves
        else:
            assert reborn.n_leaves_ == reborn.n_leaves_lower_bound_ == best_leaves
        np.testing.assert_array_equal(reborn.predict(rows), answer)
        np.testing.assert_array_equal(tree.predict(rows), answer)
        proba = reborn.predict_proba(rows)
        np.testing.assert_allclose(proba.sum(axis=1), 1)
        np.testing.assert_array_equal(reborn.classes_[proba.argmax(axis=1)], answer)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_brute_force(kind):
    """With the next test 196 ensembles: soft votes, AdaBoost, boosting, voting over them."""
    for seed in range(6):
        X, y = small_data(seed, n_classes=2 + seed % 3, n_rows=12 + 4 * seed, levels=3)
        model = CLASSIFIERS[kind](seed).fit(X, y)
        # scikit-learn 1.6 may grow a member of a member on rows of no weight: nan in its leaves
        if all(np.isfinite(tree.tree_.value).all() for tree in trees_of(model)):
            assert_reborn(model, X, y, seed=seed)


@pytest.mark.parametrize("kind", sorted(set(CLASSIFIERS) - BOOSTED))
def test_brute_force_hard_vote(kind):
    for seed in range(4):
        X, y = small_data(50 + seed, n_classes=2 + seed % 3, levels=3)
        assert_reborn(CLASSIFIERS[kind](seed).fit(X, y), X, y, voting="hard", seed=seed)


@pytest.fixture
def _one_thread():
    with threadpool_limits(1):
        yield


@pytest.mark.usefixtures("_one_thread")
def test_brute_force_histogram_boosting():
    """Rows that float32 holds, as promised for ensembles that compare in float64."""
    pytest.importorskip("treelite")
    for seed in range(4):
        X, y = small_data(seed, n_classes=2 + seed % 2, levels=3)
        X = X.astype(np.float32).astype(float)
        model = HistGradientBoostingClassifier(
            max_iter=3, max_leaf_nodes=3, min_samples_leaf=3, random_state=0
        ).fit(X, y)
        values = [np.unique(column) for column in X.T]
        rows = np.array(list(product(*values)))
        # thresholds lie between values of the training rows
        labels = np.searchsorted(model.classes_, model.predict(rows))
        labels = without_idle_cuts(labels.reshape([len(v) for v in values]))
        reborn = BornAgainClassifier(FrozenEstimator(model)).fit(X, y)
        assert reborn.depth_ == min_depth(labels)
        assert reborn.n_leaves_ == min_leaves_at_min_depth(labels)
        np.testing.assert_array_equal(reborn.predict(rows), model.predict(rows))


@given(fitted_classifiers(), st.sampled_from(OBJECTIVES))
def test_same_function_as_any_ensemble(fitted, objective):
    model, X, y = fitted
    reborn = BornAgainClassifier(FrozenEstimator(model), objective=objective).fit(X, y)
    thresholds = thresholds_of(model)
    rows = hard_rows(thresholds, cuts_of(thresholds), 0)
    np.testing.assert_array_equal(reborn.predict(rows), model.predict(rows))
    rows = rows.astype(np.float32)
    np.testing.assert_array_equal(reborn.predict(rows), model.predict(rows))


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_heuristic(kind):
    """The same function, and bounds that hold, whatever is reached."""
    for seed in range(2):
        X, y = small_data(seed, n_classes=2 + seed, levels=3)
        model = CLASSIFIERS[kind](seed).fit(X, y)
        thresholds = thresholds_of(model)
        cuts = cuts_of(thresholds)
        labels = without_idle_cuts(labels_by_predict(model, cuts))
        depth, leaves = min_depth(labels), min_leaves(labels)
        both = min_leaves_at_min_depth(labels)
        rows = hard_rows(thresholds, cuts, seed)
        for objective in OBJECTIVES:
            reborn = BornAgainClassifier(
                FrozenEstimator(model), objective=objective, method="heuristic", random_state=0
            ).fit(X, y)
            np.testing.assert_array_equal(reborn.predict(rows), model.predict(rows))
            assert reborn.depth_lower_bound_ <= depth <= reborn.depth_
            assert leaves <= reborn.n_leaves_
            deep = objective == "depth_then_leaves" and reborn.depth_ == depth
            assert reborn.n_leaves_lower_bound_ <= (both if deep else leaves)
            if reborn.status_ == "optimal":
                if objective != "leaves":
                    assert reborn.depth_ == depth
                if objective != "depth":
                    assert reborn.n_leaves_ == (both if deep else leaves)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_little_memory_ends_in_a_larger_tree(objective):
    X, y = load_iris(return_X_y=True)
    model = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, y)
    best = BornAgainClassifier(FrozenEstimator(model), objective=objective).fit(X, y)
    options = {"objective": objective, "max_memory": 2000.0, "random_state": 0}
    with pytest.warns(ConvergenceWarning, match="max_memory"):
        reborn = BornAgainClassifier(FrozenEstimator(model), **options).fit(X, y)
    thresholds = thresholds_of(model)
    rows = hard_rows(thresholds, cuts_of(thresholds), 0)
    np.testing.assert_array_equal(reborn.predict(rows), model.predict(rows))
    assert reborn.status_ == "feasible"
    assert reborn.depth_lower_bound_ <= best.depth_ or objective == "leaves"
    assert reborn.n_leaves_lower_bound_ <= best.n_leaves_
    if objective != "leaves":
        assert reborn.depth_ >= best.depth_
    if objective == "leaves":
        assert reborn.n_leaves_ >= best.n_leaves_


# -------------------------------------------------------------------------- published forests


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_published_forests(path):
    name, fold = path.stem.split(".RF")
    forest = read_random_forest(path)
    n_features, n_classes, trees = read_trees(path)
    X = np.random.default_rng(0).integers(0, 11, size=(400, n_features)).astype(float)
    y = majority(trees, X, n_classes)
    # thresholds are halves: beside them too
    X_more = X[:100] + np.random.default_rng(1).choice([-0.5, 0.5, 0.50001], (100, n_features))
    for objective in OBJECTIVES:
        depth, leaves = published()[name, int(fold), objective]
        for voting in ("hard", "estimator"):
            reborn = BornAgainClassifier(
                FrozenEstimator(forest), objective=objective, voting=voting
            ).fit(X, y)
            np.testing.assert_array_equal(reborn.predict(X), y)
            np.testing.assert_array_equal(
                reborn.predict(X_more), majority(trees, X_more, n_classes)
            )
            if objective != "leaves":
                assert reborn.depth_ == depth
            if objective == "leaves":
                assert reborn.n_leaves_ == leaves
            else:
                assert reborn.n_leaves_ <= leaves


@pytest.mark.parametrize("stem", ["Seeds.RF3", "Pima-Diabetes.RF2", "Pima-Diabetes.RF5"])
def test_fewer_leaves_than_the_published_algorithm(stem):
    name, fold = stem.split(".RF")
    forest = read_random_forest(FOLDER / f"{stem}.txt")
    X = np.zeros((1, forest.n_features_in_))
    reborn = BornAgainClassifier(FrozenEstimator(forest)).fit(X, forest.predict(X))
    assert reborn.n_leaves_ < published()[name, int(fold), "depth_then_leaves"][1]


# --------------------------------------------------------------------- ways to give an ensemble


@pytest.fixture
def data():
    return small_data(3, n_classes=3, levels=3)


def small_forest(**options):
    return RandomForestClassifier(4, max_depth=2, random_state=0, **options)


def test_unfitted_ensemble_is_cloned_and_fitted(data):
    X, y = data
    forest = small_forest()
    reborn = BornAgainClassifier(forest).fit(X, y)
    assert reborn.estimator is forest
    assert not hasattr(forest, "estimators_")
    expected = clone(forest).fit(X, y)
    np.testing.assert_array_equal(reborn.estimator_.predict_proba(X), expected.predict_proba(X))


def test_fitted_ensemble_without_frozen_is_fitted_anew(data):
    X, y = data
    forest = small_forest().fit(X[:20], y[:20])
    before = pickle.dumps(forest)
    with pytest.warns(UserWarning, match="is fitted already"):
        reborn = BornAgainClassifier(forest).fit(X, y)
    assert pickle.dumps(forest) == before
    assert reborn.estimator_ is not forest


@pytest.mark.parametrize("kind", ["forest", "bagging_subsets", "adaboost", "boosting"])
def test_frozen_ensemble_is_used_and_left_as_it_was(kind, data):
    X, y = data
    model = CLASSIFIERS[kind](0).fit(X, y)
    before = pickle.dumps(model)
    frozen = FrozenEstimator(model)
    # other rows than it was fitted on
    reborn = BornAgainClassifier(frozen).fit(X[:7], y[:7])
    assert reborn.estimator_ is model
    assert reborn.estimator is frozen
    reborn.predict(X)
    assert pickle.dumps(model) == before


def test_default_ensemble(data):
    X, y = data
    reborn = BornAgainClassifier(random_state=4).fit(X, y)
    assert isinstance(reborn.estimator_, RandomForestClassifier)
    assert (reborn.estimator_.n_estimators, reborn.estimator_.max_depth) == (5, 2)
    again = BornAgainClassifier(random_state=4).fit(X, y)
    assert export_text(reborn.decision_tree_) == export_text(again.decision_tree_)
    np.testing.assert_array_equal(reborn.predict_proba(X), again.predict_proba(X))


def test_same_answer_twice_and_for_clones(data):
    X, y = data
    reborn = BornAgainClassifier(small_forest(), objective="leaves", random_state=0)
    one, two = clone(reborn).fit(X, y), clone(reborn).fit(X, y)
    assert one.get_params()["objective"] == "leaves"
    for name in ("threshold", "feature", "children_left", "value", "impurity"):
        np.testing.assert_array_equal(
            getattr(one.decision_tree_.tree_, name), getattr(two.decision_tree_.tree_, name)
        )


def test_fit_again_replaces_everything(data):
    X, y = data
    reborn = BornAgainClassifier(small_forest()).fit(X, y)
    X_2, y_2 = small_data(9, n_classes=2, n_features=2, labels="plain")
    reborn.fit(X_2, y_2)
    fresh = BornAgainClassifier(small_forest()).fit(X_2, y_2)
    np.testing.assert_array_equal(reborn.predict(X_2), fresh.predict(X_2))
    assert reborn.n_features_in_ == 2
    np.testing.assert_array_equal(reborn.classes_, [0, 1])


# ------------------------------------------------------------------------ rows, weights, labels


@pytest.mark.parametrize("labels", [LABELS[:3], [5, -2, 10**12], [-1.0, 2.0, 9.0], [True, False]])
def test_labels_of_every_kind(labels):
    labels = np.array(labels)
    X, y = small_data(1, n_classes=len(labels), labels="plain")
    reborn = BornAgainClassifier(small_forest()).fit(X, labels[y])
    assert reborn.predict(X).dtype.kind == labels.dtype.kind
    np.testing.assert_array_equal(reborn.classes_, np.unique(labels))
    np.testing.assert_array_equal(reborn.predict(X), reborn.estimator_.predict(X))
    np.testing.assert_array_equal(reborn.decision_tree_.predict(X), reborn.predict(X))


def test_object_labels(data):
    X, y = data
    reborn = BornAgainClassifier(small_forest()).fit(X, y.astype(object))
    np.testing.assert_array_equal(reborn.predict(X), reborn.estimator_.predict(X))


def test_sample_weight(data):
    X, y = data
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    reborn = BornAgainClassifier(small_forest()).fit(X, y, sample_weight=weight)
    forest = small_forest().fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(reborn.estimator_.predict_proba(X), forest.predict_proba(X))
    tree = reborn.decision_tree_.tree_
    assert tree.weighted_n_node_samples[0] == pytest.approx(weight.sum(), rel=1e-6)
    assert (tree.weighted_n_node_samples > 0).all()


@pytest.mark.parametrize("kind", ["forest", "bagging_subsets", "adaboost", "voting_soft"])
@pytest.mark.parametrize(
    "options", [{}, {"post_prune": True}, {"merge_thresholds": True}, {"voting": "hard"}]
)
def test_integer_weights_are_repeated_rows(kind, options):
    X, y = small_data(5, n_classes=3, n_rows=60)
    model = CLASSIFIERS[kind](0).fit(X, y)
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    if options.get("voting") == "hard" and kind in BOOSTED:
        pytest.skip("the trees of boosting have no labels")
    reborn = BornAgainClassifier(FrozenEstimator(model), random_state=0, **options)
    weighted = clone(reborn).fit(X, y, sample_weight=weight)
    repeated = clone(reborn).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert weighted.n_leaves_ == repeated.n_leaves_
    rows = hard_rows(thresholds_of(model), cuts_of(thresholds_of(model)), 0)
    np.testing.assert_array_equal(weighted.predict(rows), repeated.predict(rows))
    # leaves without rows weigh a little: that differs, and only inner nodes see it
    np.testing.assert_allclose(weighted.predict_proba(rows), repeated.predict_proba(rows))
    assert weighted.volume_fidelity_ == pytest.approx(repeated.volume_fidelity_)


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_frames_reach_ensembles_that_must_be_asked(package):
    """AdaBoost's probabilities, also at points in leaves without rows, without a warning."""
    frames = pytest.importorskip(package)
    X, y = small_data(3, n_classes=2)
    frame = frames.DataFrame(dict(zip("abc", X.T, strict=True)))
    model = CLASSIFIERS["adaboost"](0).fit(frame, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reborn = BornAgainClassifier(FrozenEstimator(model), random_state=0).fit(frame[:3], y[:3])
        proba = reborn.predict_proba(frame)
    plain = CLASSIFIERS["adaboost"](0).fit(X, y)
    same = BornAgainClassifier(FrozenEstimator(plain), random_state=0).fit(X[:3], y[:3])
    np.testing.assert_array_equal(proba, same.predict_proba(X))


def test_status_is_about_the_search_and_fidelity_about_proof(data):
    X, y = data
    model = RandomForestClassifier(6, max_depth=4, random_state=0).fit(X, y)
    plain = BornAgainClassifier(FrozenEstimator(model)).fit(X, y)
    assert (plain.status_, plain.fidelity_, plain.volume_fidelity_) == ("optimal", 1.0, 1.0)
    pruned = BornAgainClassifier(FrozenEstimator(model), post_prune=True).fit(X, y)
    assert pruned.n_leaves_ < pruned.n_leaves_unpruned_ == plain.n_leaves_
    assert pruned.status_ == "optimal"
    assert np.isnan(pruned.fidelity_)
    assert 0 < pruned.volume_fidelity_ < 1
    # nothing to prune, nothing to merge: still proven
    stump = DecisionTreeClassifier(max_depth=1).fit(X, y)
    for options in ({"post_prune": True}, {"merge_thresholds": True}):
        same = BornAgainClassifier(FrozenEstimator(stump), **options).fit(X, y)
        assert (same.n_leaves_, same.fidelity_, same.volume_fidelity_error_) == (2, 1.0, 0.0)


def test_data_frame_names_reach_ensemble_and_tree(data):
    X, y = data
    names = ["length", "width", "weight"]
    X = pd.DataFrame(X, columns=names)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reborn = BornAgainClassifier(small_forest()).fit(X, y)
        reborn.predict(X)
        reborn.predict_proba(X)
    for fitted in (reborn, reborn.estimator_, reborn.decision_tree_):
        assert list(fitted.feature_names_in_) == names
    text = export_text(reborn.decision_tree_, feature_names=names)
    assert "length" in text
    plt = pytest.importorskip("matplotlib.pyplot")
    figure = plt.figure()
    drawn = plot_tree(reborn.decision_tree_, feature_names=names, ax=figure.gca())
    assert any(name in box.get_text() for box in drawn for name in names)
    plt.close(figure)
    with pytest.raises(ValueError, match="feature names"):
        reborn.predict(X[names[::-1]])


def test_columns_of_integers_and_booleans():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.integers(0, 4, 60), "b": rng.random(60) < 0.5, "c": rng.random(60)})
    y = np.where(X["b"], X["a"] > 1, X["c"] > 0.6).astype(int)
    reborn = BornAgainClassifier(small_forest()).fit(X, y)
    np.testing.assert_array_equal(reborn.predict(X), reborn.estimator_.predict(X))


def test_one_class():
    X, _ = small_data(0)
    reborn = BornAgainClassifier(small_forest()).fit(X, np.full(len(X), "only"))
    assert (reborn.depth_, reborn.n_leaves_, reborn.n_cells_, reborn.n_regions_) == (0, 1, 1, 1)
    assert (reborn.depth_lower_bound_, reborn.n_leaves_lower_bound_) == (0, 1)
    assert set(reborn.predict(X)) == {"only"}
    np.testing.assert_array_equal(reborn.predict_proba(X), np.ones((len(X), 1)))
    plain = DecisionTreeClassifier().fit(X, np.full(len(X), "only"))
    assert export_text(reborn.decision_tree_) == export_text(plain)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_one_row(objective):
    reborn = BornAgainClassifier(small_forest(), objective=objective).fit([[1.0, 2.0]], ["a"])
    assert reborn.predict([[5.0, -1.0]]).tolist() == ["a"]
    assert reborn.n_leaves_ == 1


def test_constant_function_of_several_classes():
    """Two classes, but stumps that never answer the rarer one."""
    X, _ = small_data(0)
    y = np.zeros(len(X), dtype=int)
    y[0] = 1
    model = RandomForestClassifier(3, max_depth=1, min_samples_leaf=10, random_state=0).fit(X, y)
    reborn = BornAgainClassifier(FrozenEstimator(model)).fit(X, y)
    assert reborn.n_leaves_ == 1
    np.testing.assert_array_equal(reborn.predict(X), model.predict(X))
    np.testing.assert_allclose(reborn.predict_proba(X)[0], model.predict_proba(X).mean(axis=0))


def test_frozen_ensemble_with_a_row_of_one_of_its_classes(data):
    X, y = data
    model = small_forest().fit(X, y)
    reborn = BornAgainClassifier(FrozenEstimator(model)).fit(X[:1], y[:1])
    np.testing.assert_array_equal(reborn.classes_, model.classes_)
    np.testing.assert_array_equal(reborn.predict(X), model.predict(X))


def test_extreme_values():
    rng = np.random.default_rng(0)
    X = rng.choice([-3e38, -1.0, 0.0, 1e-40, 1e-38, 3e38], size=(60, 2))
    y = rng.integers(0, 2, 60)
    model = ExtraTreesClassifier(5, max_depth=2, random_state=0).fit(X, y)
    reborn = BornAgainClassifier(FrozenEstimator(model)).fit(X, y)
    thresholds = thresholds_of(model)
    rows = hard_rows(thresholds, cuts_of(thresholds), 0)
    np.testing.assert_array_equal(reborn.predict(rows), model.predict(rows))


def test_votes_and_soft_means_differ_and_both_are_told():
    """An ensemble whose hard and soft votes disagree somewhere."""
    for seed in range(20):
        X, y = small_data(seed, n_classes=2, labels="plain")
        model = RandomForestClassifier(3, max_depth=2, random_state=seed).fit(X, y)
        hard = HardVote(model).predict(X)
        if (hard == model.predict(X)).all():
            continue
        for voting, truth in (("hard", hard), ("estimator", model.predict(X))):
            reborn = BornAgainClassifier(FrozenEstimator(model), voting=voting).fit(X, y)
            np.testing.assert_array_equal(reborn.predict(X), truth)
        return
    raise AssertionError("no such ensemble among 20")


# ----------------------------------------------------------------------------- the written tree


@pytest.mark.parametrize("kind", sorted(set(CLASSIFIERS) - {"voting_hard", "voting_hard_weights"}))
def test_probabilities(kind):
    """Leaves with rows hold the mean of the ensemble there, unless it contradicts the class."""
    X, y = small_data(2, n_classes=3, levels=3)
    model = CLASSIFIERS[kind](2).fit(X, y)
    reborn = BornAgainClassifier(FrozenEstimator(model)).fit(X, y)
    proba = reborn.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(reborn.classes_[proba.argmax(axis=1)], model.predict(X))
    if not hasattr(model, "predict_proba"):
        return
    leaf = reborn.decision_tree_.apply(X)
    labels = model.predict(X)
    checked = 0
    for node in np.unique(leaf):
        mean = model.predict_proba(X[leaf == node]).mean(axis=0)
        top = np.sort(mean)[-2:]
        if top[1] - top[0] > 1e-9 and model.classes_[mean.argmax()] == labels[leaf == node][0]:
            np.testing.assert_allclose(proba[leaf == node][0], mean, atol=1e-7)
            checked += 1
    assert checked


def test_tree_is_an_ordinary_one(data):
    X, y = data
    reborn = BornAgainClassifier(small_forest()).fit(X, y)
    tree = reborn.decision_tree_
    assert type(tree) is DecisionTreeClassifier
    np.testing.assert_array_equal(tree.classes_, reborn.classes_)
    assert tree.feature_importances_.sum() == pytest.approx(1)
    assert tree.decision_path(X).shape == (len(X), tree.tree_.node_count)
    counts = np.bincount(tree.apply(X), minlength=tree.tree_.node_count)
    leaves = tree.tree_.children_left < 0
    np.testing.assert_array_equal(tree.tree_.n_node_samples[leaves], counts[leaves])
    assert tree.tree_.n_node_samples[0] == len(X)
    assert export_text(tree).count("class:") == reborn.n_leaves_
    assert reborn.score(X, y) == tree.score(X, y)


def test_thresholds_are_short(data):
    X, y = data
    tree = BornAgainClassifier(small_forest()).fit(X, y).decision_tree_.tree_
    inner = tree.children_left >= 0
    # nine digits tell all float32 numbers apart
    assert all(len(repr(float(t)).lstrip("-0.")) <= 9 for t in tree.threshold[inner])


def test_verbose_prints_sizes(data, capsys):
    X, y = data
    reborn = BornAgainClassifier(small_forest(), verbose=1).fit(X, y)
    text = capsys.readouterr().out
    assert f"{reborn.n_cells_} cells" in text
    assert f"{reborn.n_leaves_} leaves" in text
    BornAgainClassifier(small_forest()).fit(X, y)
    assert capsys.readouterr().out == ""


# -------------------------------------------------------------------------- among scikit-learn's


def test_pickle_and_copy(data):
    X, y = data
    reborn = BornAgainClassifier(small_forest()).fit(X, y)
    for twin in (pickle.loads(pickle.dumps(reborn)), copy.deepcopy(reborn)):
        np.testing.assert_array_equal(twin.predict_proba(X), reborn.predict_proba(X))
        assert twin.n_leaves_ == reborn.n_leaves_


def test_pipeline(data):
    X, y = data
    bins = KBinsDiscretizer(3, encode="ordinal", strategy="uniform")
    pipeline = make_pipeline(bins, BornAgainClassifier(small_forest())).fit(X, y)
    reborn = pipeline[-1]
    np.testing.assert_array_equal(
        pipeline.predict(X), reborn.estimator_.predict(pipeline[0].transform(X))
    )


def test_grid_search(data):
    X, y = data
    search = GridSearchCV(
        BornAgainClassifier(small_forest()),
        {"estimator__max_depth": [1, 2], "objective": ["depth", "leaves"]},
        cv=2,
        error_score="raise",
    ).fit(X, y)
    scores = search.cv_results_["mean_test_score"].reshape(2, 2)
    # the objective does not change the function
    np.testing.assert_array_equal(scores[:, 0], scores[:, 1])
    plain = GridSearchCV(small_forest(), {"max_depth": [1, 2]}, cv=2).fit(X, y)
    np.testing.assert_array_equal(scores[:, 0], plain.cv_results_["mean_test_score"])


def test_inside_another_ensemble(data):
    X, y = data
    bagging = BaggingClassifier(BornAgainClassifier(small_forest()), 2, random_state=0).fit(X, y)
    assert bagging.predict(X).shape == y.shape


# ---------------------------------------------------------------------------------- bad input


def refused(error, match, estimator=None, X=None, y=None, **options):
    fit_options = {k: options.pop(k) for k in ("sample_weight",) if k in options}
    X_0, y_0 = small_data(0)
    with pytest.raises(error, match=match) as caught:
        BornAgainClassifier(estimator, **options).fit(
            X_0 if X is None else X, y_0 if y is None else y, **fit_options
        )
    return str(caught.value)


def test_unfitted_frozen_ensemble():
    message = refused(NotFittedError, "not fitted", FrozenEstimator(small_forest()))
    assert "estimator=FrozenEstimator(RandomForestClassifier" in message
    assert "Fit it first" in message


def test_emptied_ensemble():
    X, y = small_data(0)
    model = small_forest().fit(X, y)
    model.estimators_ = []
    assert "RandomForestClassifier" in refused(ValueError, "[Ff]it it", FrozenEstimator(model))


def test_other_number_of_features():
    X, y = small_data(0)
    model = small_forest().fit(X, y)
    message = refused(ValueError, "3 features", FrozenEstimator(model), X=X[:, :2])
    assert "X has 2" in message
    reborn = BornAgainClassifier(FrozenEstimator(model)).fit(X, y)
    with pytest.raises(ValueError, match="2 features"):
        reborn.predict(X[:, :2])


@pytest.mark.parametrize(("bad", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (1e39, "")])
def test_numbers_that_are_not_finite(bad, word):
    X, y = small_data(0)
    X_bad = X.copy()
    X_bad[3, 1] = bad
    if word == "NaN":
        # forests take missing values; boosting does not
        boosting = GradientBoostingClassifier(n_estimators=2)
        assert word in refused(ValueError, "X contains", boosting, X=X_bad)
    elif word:
        assert word in refused(ValueError, "X contains", small_forest(), X=X_bad)
    else:
        refused(ValueError, "too large|infinity", small_forest(), X=X_bad)
    reborn = BornAgainClassifier(small_forest()).fit(X, y)
    for method in (reborn.predict, reborn.predict_proba):
        with pytest.raises(ValueError, match=r"is missing|infinity|too large"):
            method(X_bad)


def test_trees_that_saw_missing_values():
    """Their function on finite rows is told; missing ones stay refused."""
    for seed in range(5):
        X, y = small_data(seed)
        X_nan = X.copy()
        X_nan[::4, 0] = np.nan
        model = small_forest().fit(X_nan, y)
        reborn = BornAgainClassifier(FrozenEstimator(model)).fit(X, y)
        thresholds = thresholds_of(model)
        finite = [values[np.isfinite(values)] for values in thresholds]
        rows = hard_rows(finite, cuts_of(finite), seed)
        np.testing.assert_array_equal(reborn.predict(rows), model.predict(rows))
        with pytest.raises(ValueError, match="the column 0 may not be missing"):
            reborn.predict(X_nan)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("objective", "small"),
        ("objective", None),
        ("voting", "soft"),
        ("method", "fast"),
        ("time_limit", 0),
        ("max_memory", 0),
        ("max_memory", "1GB"),
        ("max_memory", -1.0),
        ("random_state", "seed"),
        ("verbose", "loud"),
    ],
)
def test_unknown_options(name, value):
    message = refused(ValueError, name, small_forest(), **{name: value})
    assert repr(value) in message


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        KNeighborsClassifier(),
        BaggingClassifier(KNeighborsClassifier(), 2),
        VotingClassifier([("a", LogisticRegression()), ("b", DecisionTreeClassifier())]),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_ensembles_that_cannot_be_read(estimator):
    message = refused(TypeError, "not supported", estimator)
    assert "RandomForest" in message  # what is supported


def test_regressors():
    X, _ = small_data(0)
    y = np.arange(len(X)) % 3
    message = refused(TypeError, "regressor", RandomForestRegressor(3), X=X, y=y)
    assert "RandomForestRegressor" in message
    model = RandomForestRegressor(3).fit(X, y)
    refused(TypeError, "regressor", FrozenEstimator(model), X=X, y=y)


def test_things_that_are_no_estimators():
    refused(ValueError, "estimator", "forest")
    refused((TypeError, ValueError), "estimator", RandomForestClassifier)


def test_continuous_targets():
    X, _ = small_data(0)
    refused(ValueError, "[Uu]nknown label type", small_forest(), y=X[:, 0] + 0.1234)


def test_several_targets():
    X, y = small_data(0, labels="plain")
    refused(ValueError, "y", small_forest(), y=np.column_stack([y, y]))
    model = small_forest().fit(X, np.column_stack([y, y]))
    refused((TypeError, ValueError), "output", FrozenEstimator(model))


def test_labels_a_frozen_ensemble_has_not_seen():
    X, y = small_data(0)
    model = small_forest().fit(X, y)
    other = y.copy()
    other[0] = "yak"
    message = refused(ValueError, "yak", FrozenEstimator(model), y=other)
    assert "ant" in message
    refused(ValueError, "never seen", FrozenEstimator(model), y=np.arange(len(y)) % 2)


@pytest.mark.parametrize("allowed", [1, 100, 2000])
def test_too_little_memory(allowed):
    X, y = load_iris(return_X_y=True)
    model = RandomForestClassifier(10, max_depth=3, random_state=0).fit(X, y)
    frozen = FrozenEstimator(model)
    message = refused(
        ValueError, "max_memory", frozen, X=X, y=y, max_memory=allowed, method="exact"
    )
    for word in ("cells", "regions", "bytes", "RandomForestClassifier", "raise max_memory"):
        assert word in message


def test_grid_beyond_every_memory():
    rng = np.random.default_rng(0)
    X = rng.random((300, 30))
    y = (X.sum(axis=1) > 15).astype(int)
    model = RandomForestClassifier(100, random_state=0).fit(X, y)
    message = refused(ValueError, "cells", FrozenEstimator(model), X=X, y=y, method="exact")
    assert "max_memory" in message


@pytest.mark.parametrize(
    ("weight", "word"),
    [(0.0, "zero"), (-1.0, "negative"), (np.nan, "NaN"), (np.inf, "infinity")],
)
def test_weights_that_make_no_sense(weight, word):
    X, _ = small_data(0)
    weights = np.full(len(X), 0.0 if weight == 0 else 1.0)
    weights[0] = weight
    assert word in refused(ValueError, "[Ww]eight", small_forest(), sample_weight=weights)
    refused(ValueError, "sample_weight", small_forest(), sample_weight=weights[:-1])


def test_weights_for_an_ensemble_that_takes_none():
    class Unweighted(RandomForestClassifier):
        def fit(self, X, y):
            return super().fit(X, y)

    message = refused(ValueError, "sample_weight", Unweighted(2), sample_weight=np.ones(40))
    assert "Unweighted" in message


def test_predicting_before_fitting():
    reborn = BornAgainClassifier()
    for method in (reborn.predict, reborn.predict_proba):
        with pytest.raises(NotFittedError):
            method([[0.0]])
    for method in (reborn.get_depth, reborn.get_n_leaves):
        with pytest.raises(NotFittedError):
            method()


def test_no_rows():
    refused(ValueError, "0 sample", small_forest(), X=np.empty((0, 3)), y=np.empty(0))
    refused(ValueError, "0 feature", small_forest(), X=np.empty((40, 0)))


@pytest.mark.parametrize(("n_columns", "n_trees"), [(60, 20), (1000, 50)])
def test_many_columns(n_columns, n_trees):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, n_columns)).astype(np.float32)
    y = (X[:, :5].sum(axis=1) > 0).astype(int) + (X[:, 7] > 0.5)
    forest = ExtraTreesClassifier(n_trees, random_state=0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        told = estimate(forest)
        assert told.n_cells == np.inf if n_columns == 1000 else 1e50 < told.n_cells < 1e100
        for method in ("auto", "exact"):
            tree = BornAgainClassifier(FrozenEstimator(forest), method=method, random_state=0)
            with pytest.raises(ValueError, match=r"max_changes=1|method='auto' or") as refused:
                tree.fit(X, y)
            assert "inf" not in str(refused.value)
