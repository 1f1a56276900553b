"""The forest that is read decides exactly as the ensemble does."""

import math

import joblib
import numpy as np
import pytest
from hypothesis import given
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import PCA
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    BaggingClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from strategies import (
    CLASSIFIERS,
    REGRESSORS,
    cell_points,
    edge_points,
    fitted_classifiers,
    small_data,
)

from ensemble_simplify import BornAgainClassifier
from ensemble_simplify.grid import Stopped, limits
from ensemble_simplify.reading.forest import read_forest, tree_estimators

# scikit-learn looks for NaN by adding up all entries: rows of the largest numbers overflow.
pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")


def points(model, forest, seed=0):
    """Rows where a reader could go wrong."""
    stored = [tree.tree_.threshold for tree, _ in tree_estimators(model)]
    edges = edge_points(np.concatenate(stored), forest.n_features, seed=seed)
    return np.concatenate([cell_points(forest, seed=seed), edges])


def assert_same_labels(model, X):
    forest = read_forest(model)
    X = points(model, forest)
    np.testing.assert_array_equal(forest.classes[forest.predict_index(X)], model.predict(X))


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_every_classifier(kind, n_classes):
    for seed in range(3):
        X, y = small_data(seed, n_classes=n_classes)
        assert_same_labels(CLASSIFIERS[kind](seed).fit(X, y), X)


@given(fitted_classifiers())
def test_any_classifier(fitted):
    model, X, _ = fitted
    assert_same_labels(model, X)


@pytest.mark.parametrize("kind", REGRESSORS)
def test_every_regressor(kind):
    for seed in range(3):
        X, y = small_data(seed, labels="plain")
        model = REGRESSORS[kind](seed).fit(X, y + np.sin(X[:, 1]))
        forest = read_forest(model)
        X = points(model, forest)
        np.testing.assert_array_equal(forest.predict_index(X), model.predict(X))


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_one_class(kind):
    X, _ = small_data(0)
    try:
        model = CLASSIFIERS[kind](0).fit(X, np.full(len(X), "only"))
    except ValueError:
        pytest.skip("this ensemble needs two classes")
    assert_same_labels(model, X)


@pytest.mark.parametrize("kind", ["forest", "adaboost", "boosting", "voting_soft_weights"])
def test_rows_decide_alone_as_in_a_batch(kind):
    X, y = small_data(1)
    model = CLASSIFIERS[kind](1).fit(X, y)
    forest = read_forest(model)
    X = points(model, forest)[:200]
    alone = [forest.predict_index(row[None])[0] for row in X]
    np.testing.assert_array_equal(alone, forest.predict_index(X))


def test_frozen_and_sub_frozen_ensembles():
    X, y = small_data(2, labels="plain")
    model = CLASSIFIERS["forest"](2).fit(X, y)
    voting = VotingClassifier([("a", FrozenEstimator(model)), ("b", CLASSIFIERS["tree"](0))])
    assert_same_labels(voting.fit(X, y), X)
    np.testing.assert_array_equal(
        read_forest(FrozenEstimator(model)).value, read_forest(model).value
    )


def test_reading_changes_nothing():
    X, y = small_data(3)
    for kind, make in CLASSIFIERS.items():
        model = make(3).fit(X, y)
        before = joblib.hash([vars(tree) for tree, _ in tree_estimators(model)])
        proba = model.predict(X)
        forest = read_forest(model, voting="estimator")
        assert joblib.hash([vars(tree) for tree, _ in tree_estimators(model)]) == before, kind
        for part in (forest.left, forest.threshold, forest.value):
            part[...] = 0
        np.testing.assert_array_equal(model.predict(X), proba)


def test_the_limit_is_looked_at_on_the_way():
    X, y = small_data(4)
    forest = read_forest(RandomForestClassifier(3, random_state=0).fit(X, y))
    with limits(0.0):
        assert forest.apply(X).shape == (len(X), 3)
        with pytest.raises(Stopped):
            forest.apply(np.resize(X, (400_000, X.shape[1])))


def test_node_arrays():
    X, y = small_data(4)
    model = CLASSIFIERS["bagging_subsets"](4).fit(X, y)
    forest = read_forest(model)
    assert forest.n_trees == 5
    assert forest.n_scores == forest.n_classes == 3
    for array in (forest.offsets, forest.left, forest.right, forest.feature):
        assert array.dtype == np.intp
    assert forest.value.flags.c_contiguous
    assert forest.threshold.dtype == forest.value.dtype == np.float64
    leaves = forest.apply(X)
    assert leaves.dtype == np.int32
    assert leaves.flags.f_contiguous
    for t, (tree, features) in enumerate(tree_estimators(model)):
        np.testing.assert_array_equal(leaves[:, t], tree.apply(X[:, features]) + forest.offsets[t])


def test_trees_trained_with_missing_values():
    X, y = small_data(5, n_rows=80)
    X[::3, 0] = np.nan
    X[1::4, 1] = np.nan
    models = [CLASSIFIERS[kind](5) for kind in ("tree", "forest", "bagging")]
    models.append(RandomForestClassifier(20, random_state=0))
    for model in models:
        assert_same_labels(model.fit(X, y), X)
    assert np.isposinf(read_forest(models[-1]).threshold).any()


def test_cut_back_by_hand():
    X, y = small_data(6)
    model = RandomForestClassifier(3, random_state=0).fit(X, y)
    for tree, _ in tree_estimators(model):
        tree.tree_.children_left[1] = tree.tree_.children_right[1] = -1
    assert_same_labels(model, X)


@given(fitted_classifiers())
def test_hard_voting_is_the_majority_of_labels(fitted):
    model, X, _ = fitted
    if "Boost" in repr(model):
        with pytest.raises(ValueError, match="voting='hard' is not defined for boosting"):
            read_forest(model, voting="hard")
        return
    forest = read_forest(model, voting="hard")
    X = points(model, forest)
    counts = np.zeros((len(X), forest.n_classes), dtype=int)
    for vote, (tree, features) in zip(
        forest.value[forest.apply(X).T], tree_estimators(model), strict=True
    ):
        columns = slice(None) if features is None else features
        own = tree.predict(X[:, columns])
        assert set(np.unique(vote)) <= {0.0, 1.0}
        assert (vote.sum(axis=1) == 1).all()
        # Within a tree, equal labels are equal votes.
        assert len({(a, b) for a, b in zip(own, vote.argmax(axis=1), strict=True)}) == len(set(own))
        counts += vote.astype(int)
    np.testing.assert_array_equal(forest.predict_index(X), counts.argmax(axis=1))


def test_hard_voting_by_hand():
    X, y = small_data(7, n_classes=4)
    model = CLASSIFIERS["forest_even"](7).fit(X, y)
    forest = read_forest(model, voting="hard")
    P = points(model, forest)
    labels = np.array([t.predict(P).astype(int) for t in model.estimators_])
    counts = np.array([np.bincount(column, minlength=4) for column in labels.T])
    assert (np.sort(counts, axis=1)[:, -1] == np.sort(counts, axis=1)[:, -2]).any()
    np.testing.assert_array_equal(forest.predict_index(P), counts.argmax(axis=1))


NOT_LINEAR = {"voting_hard", "voting_hard_weights", "voting_nested_hard", "voting_boosted"}
NOT_LINEAR |= {"bagging_hard", "adaboost_forests"}


def assert_linear(forest, X):
    linear = forest.sums
    label = forest.predict_index(X)
    sums = np.array(
        [[math.fsum(column) for column in row.T] for row in linear.folded[forest.apply(X)]]
    )
    order = np.sort(sums, axis=1)
    clear = order[:, -1] - order[:, -2] > linear.error_bound
    if linear.error_bound == 0:
        clear[:] = True
    assert clear.mean() > 0.2
    best = sums.argmax(axis=1)
    if linear.tie_upper:
        best = sums.shape[1] - 1 - sums[:, ::-1].argmax(axis=1)
    np.testing.assert_array_equal(best[clear], label[clear])
    return linear


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_linear_votes(kind, n_classes):
    X, y = small_data(8, n_classes=n_classes)
    model = CLASSIFIERS[kind](8).fit(X, y)
    forest = read_forest(model)
    if kind in NOT_LINEAR:
        assert forest.sums is None
        return
    assert_linear(forest, points(model, forest)[:600])


@pytest.mark.parametrize("weights", [(3.0, 1.0, 1.0), (0.7, 0.2, 0.3), (0.0, 1.0, 2.0)])
def test_weights_count_in_linear_votes_of_labels(weights):
    """Where the trees do not agree, the first one decides alone, or counts for nothing."""
    X, y = small_data(8, n_classes=3)
    trees = [(str(i), CLASSIFIERS["tree"](i).set_params(max_features=1)) for i in range(3)]
    model = VotingClassifier(trees, weights=weights).fit(X, y)
    plain = model.predict(X) != VotingClassifier(trees).fit(X, y).predict(X)
    assert plain.any()
    assert_linear(read_forest(model), X)


def test_linear_votes_are_exact_where_they_can_be():
    X, y = small_data(9)
    grown = RandomForestClassifier(6, random_state=0).fit(np.arange(len(X))[:, None], y)
    trees = [("a", CLASSIFIERS["tree"](0)), ("b", CLASSIFIERS["tree"](1))]
    models = [grown, CLASSIFIERS["tree"](0).fit(X, y), VotingClassifier(trees).fit(X, y)]
    for model in models:
        forest = read_forest(model)
        assert assert_linear(forest, points(model, forest)[:400]).error_bound == 0
    forest = read_forest(CLASSIFIERS["forest"](0).fit(X, y), voting="hard")
    assert forest.sums.error_bound == 0
    regressor = REGRESSORS["forest"](0).fit(X, np.arange(len(X)))
    assert read_forest(regressor).sums is None


def test_weights_of_a_soft_vote_may_not_be_negative():
    X, y = small_data(10)
    trees = [(str(i), CLASSIFIERS["tree"](i).set_params(max_features=1)) for i in range(4)]
    model = VotingClassifier(trees, voting="soft", weights=[2.0, -0.5, 1.0, 1.0]).fit(X, y)
    assert model.predict_proba(X).min() < 0
    with pytest.raises(ValueError, match="weights of 0 or more, or voting='hard'"):
        read_forest(model)
    with pytest.raises(ValueError, match="weights of 0 or more, or voting='hard'"):
        BornAgainClassifier(FrozenEstimator(model)).fit(X, y)


def test_weights_of_a_hard_vote_may_be_negative():
    X, y = small_data(10)
    trees = [(str(i), CLASSIFIERS["tree"](i).set_params(max_features=1)) for i in range(4)]
    model = VotingClassifier(trees, weights=[-1.0, 0.5, -0.2, -0.4]).fit(X, y)
    assert_same_labels(model, X)
    assert read_forest(model).sums is None


# Damaged and unsupported ensembles.


@pytest.mark.parametrize(
    ("field", "node", "value", "message"),
    [
        ("children_left", 0, 10**6, "no valid left child"),
        ("children_right", 0, -7, "no valid right child"),
        ("children_left", 0, -2, "no valid left child"),
        ("children_right", 0, 0, "two parents"),
        ("children_right", 0, 1, "two parents"),
        ("feature", 0, 3, "unknown feature"),
        ("feature", 0, -2, "unknown feature"),
        ("threshold", 0, np.nan, "threshold that is not a number"),
        ("value", None, np.nan, "value that is not finite"),
        ("value", None, np.inf, "value that is not finite"),
    ],
)
@pytest.mark.parametrize("kind", ["tree", "forest", "bagging_subsets", "voting_soft"])
def test_damaged_trees(kind, field, node, value, message):
    X, y = small_data(11, n_rows=60)
    model = CLASSIFIERS[kind](11).fit(X, y)
    tree = next(tree for tree, _ in tree_estimators(model) if tree.get_depth() > 1).tree_
    getattr(tree, field)[slice(None) if node is None else node] = value
    with pytest.raises(ValueError, match=message):
        read_forest(model)


class Overriding(RandomForestClassifier):
    def predict(self, X):
        return super().predict(X)[::-1]


class Inheriting(RandomForestClassifier):
    pass


def test_unsupported_types():
    X, y = small_data(12)
    with pytest.raises(TypeError, match=r"LogisticRegression is not supported\. Supported"):
        read_forest(LogisticRegression().fit(X, y))
    with pytest.raises(TypeError, match="type str is not supported"):
        read_forest("forest")
    with pytest.raises(TypeError, match="replaces the method predict"):
        read_forest(Overriding(2).fit(X, y))
    assert_same_labels(Inheriting(2).fit(X, y), X)
    mixed = make_pipeline(PCA(), CLASSIFIERS["tree"](0))
    with pytest.raises(TypeError, match=r"Pipeline with the step 'pca', .* is not supported"):
        read_forest(BaggingClassifier(mixed, 2).fit(X, y))
    calibrated = CalibratedClassifierCV(CLASSIFIERS["boosting"](0), ensemble=False, cv=2)
    for model in (
        VotingClassifier([("a", calibrated)], voting="soft"),
        BaggingClassifier(calibrated, 2),
    ):
        with pytest.raises(TypeError, match="or voting='hard'"):
            read_forest(model.fit(X, y))


def test_unsupported_settings():
    X, y = small_data(13)
    with pytest.raises(NotFittedError):
        read_forest(RandomForestClassifier())
    with pytest.raises(NotFittedError):
        read_forest(FrozenEstimator(CLASSIFIERS["voting_soft"](0)))
    several = np.column_stack([y, y[::-1]])
    for model in (RandomForestClassifier(2), CLASSIFIERS["tree"](0)):
        with pytest.raises(ValueError, match="2 outputs"):
            read_forest(model.fit(X, several))
    with pytest.raises(ValueError, match="2 outputs"):
        read_forest(REGRESSORS["bagging"](0).fit(X, np.arange(2.0 * len(X)).reshape(-1, 2)))
    with pytest.raises(ValueError, match=r"voting='soft' is not one of"):
        read_forest(RandomForestClassifier(2).fit(X, y), voting="soft")
    with pytest.raises(ValueError, match="is a regressor"):
        read_forest(REGRESSORS["forest"](0).fit(X, np.arange(len(X))), voting="hard")
    custom = GradientBoostingClassifier(init=CLASSIFIERS["tree"](0), n_estimators=2).fit(X, y)
    random = GradientBoostingClassifier(init=DummyClassifier(strategy="stratified"), n_estimators=2)
    for model in (custom, random.fit(X, y)):
        with pytest.raises(ValueError, match="not constant"):
            read_forest(model)
    empty = RandomForestClassifier(2).fit(X, y)
    empty.estimators_ = []
    with pytest.raises(ValueError, match="empty estimators_"):
        read_forest(empty)
    longer = BaggingClassifier(n_estimators=2).fit(X, y).set_params(n_estimators=3)
    with pytest.raises(ValueError, match="n_estimators=3, but holds 2"):
        read_forest(longer)


def test_rows_that_do_not_fit():
    X, y = small_data(14)
    forest = read_forest(CLASSIFIERS["forest"](0).fit(X, y))
    with pytest.raises(ValueError, match="X has 2 features"):
        forest.apply(X[:, :2])
    with pytest.raises(ValueError, match="infinity"):
        forest.apply(np.full((1, 3), 1e39))


def test_constant_starts_of_boosting():
    X, y = small_data(15, n_classes=2)
    for strategy in ("prior", "most_frequent", "uniform"):
        model = GradientBoostingClassifier(
            n_estimators=3, init=DummyClassifier(strategy=strategy), loss="exponential"
        )
        assert_same_labels(model.fit(X, y), X)


def test_ties_of_boosting_go_up():
    X = np.array([[0.0], [0.0], [1.0], [1.0]])
    model = GradientBoostingClassifier(n_estimators=2, init="zero").fit(X, [0, 1, 0, 1])
    forest = read_forest(model)
    np.testing.assert_array_equal(model.decision_function(X), 0)
    np.testing.assert_array_equal(forest.predict_index(X), [1, 1, 1, 1])
    assert forest.sums.tie_upper
