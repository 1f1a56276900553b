"""InterpretableSingleModel against a direct reading of its formula."""

import warnings

import numpy as np
import pytest
from ensemble_simplify.genesim.inducers._ism_growth import grow
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier

from ensemble_simplify import InterpretableSingleModel
from ensemble_simplify.genesim.inducers._inducers import _pruned_back


def entropy(distribution):
    return stats.entropy(distribution, base=2)


def test_root_test_has_the_largest_gain_of_the_formula():
    X, y = load_wine(return_X_y=True)
    X = X.astype(np.float32)
    forest = RandomForestClassifier(8, max_depth=3, random_state=0).fit(X, y)

    def mean_distribution(rows):
        """P(c | B): over all leaves of all trees, P(c | leaf) times P(leaf | B)."""
        total = np.zeros(3)
        for tree in forest.estimators_:
            leaves, n = np.unique(tree.apply(X[rows]), return_counts=True)
            total += (n / rows.sum()) @ tree.tree_.value[leaves, 0, :]
        return total / len(forest.estimators_)

    everything = np.ones(len(X), bool)
    best = -np.inf
    for tree in forest.estimators_:
        inner = tree.tree_.feature >= 0
        for f, t in zip(tree.tree_.feature[inner], tree.tree_.threshold[inner], strict=True):
            left = X[:, f] <= t
            if not 0 < left.sum() < len(X):
                continue
            gain = (
                entropy(mean_distribution(everything))
                - left.mean() * entropy(mean_distribution(left))
                - (~left).mean() * entropy(mean_distribution(~left))
            )
            best = max(best, gain)
    model = InterpretableSingleModel(FrozenEstimator(forest), max_depth=1, shrinkage=0).fit(X, y)
    tree = model.decision_tree_.tree_
    left = X[:, tree.feature[0]] <= tree.threshold[0]
    value = tree.value[:, 0, :]
    share = left.mean()
    got = entropy(value[0]) - share * entropy(value[1]) - (1 - share) * entropy(value[2])
    assert got == pytest.approx(best)
    np.testing.assert_allclose(value[1], mean_distribution(left), atol=1e-12)


def test_tests_come_from_the_ensemble():
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(20, max_depth=3, random_state=0).fit(X, y)
    tree = InterpretableSingleModel(FrozenEstimator(forest)).fit(X, y).decision_tree_.tree_
    known = {
        (f, np.float32(t))
        for member in forest.estimators_
        for f, t in zip(member.tree_.feature, member.tree_.threshold, strict=True)
    }
    floor = {
        (f, t if np.float64(t) <= float(t) else np.nextafter(t, np.float32(-np.inf)))
        for f, t in known
    }
    neighbours = {(f, np.nextafter(t, np.float32(s * np.inf))) for f, t in known for s in (-1, 1)}
    inner = tree.feature >= 0
    for f, t in zip(tree.feature[inner], tree.threshold[inner].astype(np.float32), strict=True):
        assert (f, t) in known | floor | neighbours


@pytest.mark.parametrize(
    "estimator",
    [
        None,
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=10, random_state=0),
        GradientBoostingClassifier(n_estimators=10, random_state=0),
        VotingClassifier(
            [("a", DecisionTreeClassifier(max_depth=3)), ("b", DecisionTreeClassifier(max_depth=4))]
        ),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_faithful_to_ensembles_of_every_kind(estimator):
    X, y = load_breast_cancer(return_X_y=True)
    names = np.array(["malignant", "benign"])[y]
    model = InterpretableSingleModel(estimator, random_state=0).fit(X, names)
    assert model.train_fidelity_ > 0.95
    agreement = np.mean(model.predict(X) == model.estimator_.predict(X))
    assert agreement == pytest.approx(model.train_fidelity_, abs=0.01)
    assert np.isnan(model.fidelity_)
    assert model.n_nodes_ == model.decision_tree_.tree_.node_count == 2 * model.n_leaves_ - 1
    tree = model.decision_tree_.tree_
    label = tree.value[:, 0, :].argmax(axis=1)
    for i in np.flatnonzero(tree.feature >= 0):
        left, right = tree.children_left[i], tree.children_right[i]
        assert tree.feature[left] >= 0 or tree.feature[right] >= 0 or label[left] != label[right]


def test_shrinkage_keeps_labels_and_gives_every_class_a_chance():
    X, y = make_classification(300, 6, n_informative=4, n_classes=3, flip_y=0.3, random_state=0)
    weight = np.random.default_rng(0).exponential(size=300)
    forest = FrozenEstimator(RandomForestClassifier(10, random_state=0).fit(X, y))
    plain, shrunk = (
        InterpretableSingleModel(forest, shrinkage=s).fit(X, y, sample_weight=weight).decision_tree_
        for s in (0, 10)
    )
    new = np.random.default_rng(1).normal(size=(2000, 6))
    np.testing.assert_array_equal(plain.apply(new), shrunk.apply(new))
    np.testing.assert_array_equal(plain.predict(new), shrunk.predict(new))
    assert shrunk.predict_proba(new).min() > 0
    # a leaf lies between its own estimate and the mean of all rows
    counts = plain.tree_.value[:, 0] * plain.tree_.weighted_n_node_samples[:, None]
    spread = np.abs(shrunk.tree_.value[:, 0] - counts[0] / counts[0].sum()).max(axis=1)
    most = np.abs(plain.tree_.value[:, 0] - counts[0] / counts[0].sum()).max(axis=1)
    assert np.mean(spread < most) > 0.9


def test_pruning_is_that_of_scikit_learn():
    X, y = make_classification(400, 8, n_informative=5, n_classes=3, random_state=0)
    tree = DecisionTreeClassifier(random_state=0, min_samples_leaf=3).fit(X, y)
    t = tree.tree_
    size = np.ones(t.node_count, dtype=np.int32)
    for i in range(t.node_count - 1, -1, -1):
        if t.feature[i] >= 0:
            size[i] = 1 + size[t.children_left[i]] + size[t.children_right[i]]
    label = t.value[:, 0, :].argmax(axis=1)
    nodes = np.column_stack(
        [np.where(t.feature >= 0, t.feature, -1), np.where(t.feature >= 0, 0, label), size]
    ).astype(np.int32)
    counts = t.value[:, 0, :] * t.weighted_n_node_samples[:, None]
    path = tree.cost_complexity_pruning_path(X, y)
    gaps = np.diff(path.ccp_alphas)
    # scikit-learn does not join what rounding sets apart
    for alpha in (path.ccp_alphas[:-1] + gaps / 2)[gaps > 1e-12]:
        pruned = DecisionTreeClassifier(random_state=0, min_samples_leaf=3, ccp_alpha=alpha)
        pruned.fit(X, y)
        got, kept = _pruned_back(nodes, counts, alpha)
        # Ours also joins siblings of one label: never larger, and the same answers.
        assert len(got) <= pruned.tree_.node_count
        reached = np.isin(tree.decision_path(X).indices, kept)
        assert reached.any()
        in_leaf = {int(k): int(g[1]) for k, g in zip(kept, got, strict=True) if g[0] < 0}
        paths = tree.decision_path(X).toarray().astype(bool)
        answers = [next(in_leaf[i] for i in np.flatnonzero(row) if i in in_leaf) for row in paths]
        np.testing.assert_array_equal(answers, pruned.predict(X))


def grown(codes, votes, **options):
    limits = {"max_depth": -1, "min_samples_split": 2, "min_samples_leaf": 1, **options}
    return grow(np.array(codes, dtype=np.int32), np.array(votes, dtype=float), **limits)


def test_best_test_respects_the_least_number_of_rows():
    codes = [[0, 0, 0, 1, 1, 2]]
    votes = np.eye(2)[[0, 0, 0, 0, 0, 1]]
    for least, root in ((1, [0, 1]), (2, [0, 0]), (4, [-1, 0])):
        nodes = grown(codes, votes, max_depth=1, min_samples_leaf=least)[0]
        assert nodes[0, :2].tolist() == root


def grown_by_enumeration(codes, votes, n_cuts, max_depth, split, least, rows=None, depth=0):
    """The tree of the formula, by all tests of all nodes: (axis, cut, total, n_rows) in order."""
    rows = np.arange(len(votes)) if rows is None else rows
    label = votes.argmax(axis=1)
    total = votes[rows].sum(axis=0)
    best, test = 1e-9, None
    if len(rows) >= split and depth != max_depth and np.any(label[rows] != label[rows[0]]):
        for axis in range(len(codes)):
            gains = []
            for cut in range(n_cuts[axis]):
                left = codes[axis, rows] <= cut
                n = (left.sum(), (~left).sum())
                gain = -np.inf
                if min(n) >= max(least, 1):
                    parts = [votes[rows[left]].sum(axis=0), votes[rows[~left]].sum(axis=0)]
                    gain = total.sum() * entropy(total)
                    gain -= sum(part.sum() * entropy(part) for part in parts)
                gains.append((gain, n[0]))
            top = max(gain for gain, _ in gains)
            if top > best + 1e-9:
                n_left = next(n for gain, n in gains if gain > top - 1e-9)
                alike = [cut for cut, (_, n) in enumerate(gains) if n == n_left]
                best, test = top, (axis, alike[len(alike) // 2])
    if test is None:
        return [(-1, int(total.argmax()), total, len(rows))]
    left = codes[test[0], rows] <= test[1]
    sides = [
        grown_by_enumeration(codes, votes, n_cuts, max_depth, split, least, side, depth + 1)
        for side in (rows[left], rows[~left])
    ]
    return [(*test, total, len(rows)), *sides[0], *sides[1]]


@settings(max_examples=40)
@given(
    st.integers(0, 2**31),
    st.sampled_from([-1, 1, 3]),
    st.integers(2, 8),
    st.integers(1, 4),
    st.integers(2, 4),
)
def test_tree_is_that_of_all_tests_looked_at(seed, max_depth, split, least, n_classes):
    rng = np.random.default_rng(seed)
    n_cuts = np.array([7, 3, 12])
    codes = np.array([rng.integers(0, n + 1, 60) for n in n_cuts])
    votes = rng.dirichlet(np.full(n_classes, 0.3), 60) * rng.integers(1, 4, (60, 1))
    options = dict(max_depth=max_depth, min_samples_split=split, min_samples_leaf=least)
    nodes, weights, n_rows, stopped = grown(codes, votes, **options)
    assert not stopped
    wanted = grown_by_enumeration(codes, votes, n_cuts, max_depth, max(split, 2 * least), least)
    assert nodes[:, :2].tolist() == [list(node[:2]) for node in wanted]
    np.testing.assert_allclose(weights, [node[2] for node in wanted])
    assert n_rows.tolist() == [node[3] for node in wanted]


def test_time_limit_gives_the_tree_so_far():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 20)).astype(np.float32)
    y = rng.integers(0, 3, 3000)
    forest = FrozenEstimator(RandomForestClassifier(10, random_state=0).fit(X, y))
    full = InterpretableSingleModel(forest).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="time_limit=1e-09"):
        cut_short = InterpretableSingleModel(forest, time_limit=1e-9).fit(X, y)
    assert 1 <= cut_short.get_n_leaves() < full.get_n_leaves()
    assert cut_short.predict(X).shape == (3000,)


def test_verbose_tells_what_is_done(capsys):
    X, y = load_iris(return_X_y=True)
    InterpretableSingleModel(RandomForestClassifier(3), verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "[InterpretableSingleModel] ensemble of 3 trees is ready"
    assert "leaves" in lines[-1]


def test_frame_of_polars_keeps_its_names():
    polars = pytest.importorskip("polars")
    X, y = load_iris(return_X_y=True, as_frame=True)
    frame = polars.DataFrame({name: X[name].to_numpy() for name in X})
    model = InterpretableSingleModel(RandomForestClassifier(5, random_state=0)).fit(frame, y)
    assert model.feature_names_in_.tolist() == list(X.columns)
    assert model.estimator_.feature_names_in_.tolist() == list(X.columns)
    assert model.decision_tree_.feature_names_in_.tolist() == list(X.columns)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(frame)


def test_parameters_limit_the_tree():
    X, y = make_classification(500, 10, n_informative=6, n_classes=3, random_state=0)
    forest = FrozenEstimator(RandomForestClassifier(20, random_state=0).fit(X, y))
    full = InterpretableSingleModel(forest).fit(X, y)
    shallow = InterpretableSingleModel(forest, max_depth=2).fit(X, y)
    assert shallow.decision_tree_.get_depth() == 2
    wide = InterpretableSingleModel(forest, min_samples_leaf=15).fit(X, y).decision_tree_.tree_
    assert wide.n_node_samples[wide.feature < 0].min() >= 15
    pruned = InterpretableSingleModel(forest, ccp_alpha=0.01).fit(X, y)
    assert pruned.n_leaves_ < full.n_leaves_


def test_clear_errors():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(TypeError, match="is a regressor"):
        InterpretableSingleModel(RandomForestRegressor(5)).fit(X, y)
    with pytest.raises(ValueError, match="zero"):
        InterpretableSingleModel().fit(X, y, sample_weight=np.zeros(150))
