"""Missing values: a cell of its own on the axis of a feature that may be missing."""

import itertools

import numpy as np
import pytest
from ensemble_simplify.grid._regions import leaves_of_cells
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier

from ensemble_simplify import BornAgainClassifier, Domain, FaithfulPruner, agreement, verify
from ensemble_simplify.grid.axes import Axes
from ensemble_simplify.grid.domain import read_domain
from ensemble_simplify.proof.near_rows import Lines
from ensemble_simplify.reading.forest import read_forest


def table(seed, n=80, n_features=3, n_classes=2, share=0.25, columns=(0, 1)):
    """Rows of few values, of which some lack values in some columns."""
    rng = np.random.RandomState(seed)
    X = rng.randint(0, 6, (n, n_features)).astype(float)
    y = (X[:, 0] + X[:, 1] > rng.randint(3, 8, n)).astype(int)
    if n_classes == 3:
        y += X[:, 2] > 3
    for j in columns:
        lost = rng.random_sample(n) < share
        X[lost, j] = np.nan
        y[lost] = np.where(rng.random_sample(lost.sum()) < 0.8, j % 2, y[lost])
    return X, y


def every_point(models, n_features, missing):
    """All combinations of values at the thresholds, just above them, and missing ones."""
    values = []
    for j in range(n_features):
        points = {-9.0, 99.0}
        for model in models:
            for tree, columns in trees_of(model):
                own = j if columns is None else np.flatnonzero(columns == j)
                cuts = tree.tree_.threshold[np.isin(tree.tree_.feature, own)]
                cuts = cuts[np.isfinite(cuts)].astype(np.float32)
                points |= set(cuts.tolist())
                points |= set(np.nextafter(cuts, np.float32(np.inf)).tolist())
        values.append(sorted(points) + [np.nan] * bool(missing[j]))
    return np.array(list(itertools.product(*values)))


def trees_of(model):
    if hasattr(model, "tree_"):
        return [(model, None)]
    columns = getattr(model, "estimators_features_", [None] * len(model.estimators_))
    return [
        (tree, own)
        for member, features in zip(model.estimators_, columns, strict=True)
        for tree, own in trees_of(member)
        for own in [features if own is None else own]
    ]


MODELS = [
    RandomForestClassifier(4, max_depth=3, random_state=0),
    ExtraTreesClassifier(4, max_depth=3, random_state=0),
    DecisionTreeClassifier(random_state=0),
    BaggingClassifier(
        DecisionTreeClassifier(max_depth=3),
        4,
        max_features=2,
        bootstrap_features=False,
        random_state=0,
    ),
    VotingClassifier(
        [("a", DecisionTreeClassifier(max_depth=2)), ("b", DecisionTreeClassifier(max_depth=4))],
        voting="soft",
    ),
]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_cells_say_what_the_ensemble_says(model, seed):
    X, y = table(seed, n_classes=3)
    model.fit(X, y)
    missing = np.array([True, True, False])
    forest = read_domain(None, 3, missing=missing).read(read_forest(model))
    points = every_point([model], 3, missing)
    np.testing.assert_array_equal(
        forest.classes[forest.predict_index(points)], model.predict(points)
    )
    axes = Axes.of(forest)
    coded = axes.encode_forest(forest)
    cells = np.ascontiguousarray(axes.encode_rows(points.astype(np.float32)).T)
    leaves = np.empty((len(coded), len(cells)), dtype=np.intp)
    leaves_of_cells(coded.nodes, coded.offsets, cells, leaves)
    np.testing.assert_array_equal(leaves.T, forest.apply(points))
    back = axes.encode_rows(axes.points(cells).astype(np.float32)).T
    np.testing.assert_array_equal(back, cells)
    rows = axes.sample(cells, cells, np.random.RandomState(0)).astype(np.float32)
    np.testing.assert_array_equal(axes.encode_rows(rows).T, cells)


@pytest.mark.parametrize("method", ["exact", "heuristic"])
@pytest.mark.parametrize("seed", range(3))
def test_born_again_everywhere(seed, method):
    X, y = table(seed)
    model = RandomForestClassifier(3, max_depth=3, random_state=seed).fit(X, y)
    tree = BornAgainClassifier(
        FrozenEstimator(model), objective="leaves", method=method, random_state=0
    ).fit(X, y)
    points = every_point([model], 3, [True, True, False])
    np.testing.assert_array_equal(tree.predict(points), model.predict(points))
    assert tree.verify()
    assert tree.fidelity_ == 1.0
    assert tree.covers(points).all()
    lacking = np.array([[0.0, 0.0, np.nan]])
    assert not tree.covers(lacking).any()
    with pytest.raises(ValueError, match=r"column \d+ may not be missing: .*Domain\(missing"):
        tree.predict(lacking)


@pytest.mark.parametrize("seed", range(3))
def test_missing_cells_are_the_least_that_is_needed(seed):
    """Fewest leaves by search over all trees of splits "at most t" and "missing"."""
    X, y = table(seed, n=25, n_features=2)
    model = RandomForestClassifier(2, max_depth=2, random_state=seed).fit(X, y)
    tree = BornAgainClassifier(FrozenEstimator(model), objective="leaves").fit(X, y)
    points = every_point([model], 2, [True, True])
    label = model.predict(points)
    order = np.where(np.isnan(points), np.inf, points)
    known = {}

    def fewest(rows):
        if len(set(label[list(rows)])) == 1:
            return 1
        if rows not in known:
            at = np.array(rows)
            best = len(rows)
            for j in range(2):
                for cut in np.unique(order[at, j])[:-1]:
                    left = order[at, j] <= cut
                    best = min(best, fewest(tuple(at[left])) + fewest(tuple(at[~left])))
            known[rows] = best
        return known[rows]

    assert tree.status_ == "optimal"
    assert tree.n_leaves_ == fewest(tuple(range(len(points))))


@pytest.mark.parametrize("max_changes", [0, 1, 2])
@pytest.mark.parametrize("seed", range(2))
def test_born_again_near_rows(seed, max_changes):
    X, y = table(seed)
    model = RandomForestClassifier(7, random_state=seed).fit(X, y)
    tree = BornAgainClassifier(FrozenEstimator(model), max_changes=max_changes, random_state=0).fit(
        X, y
    )
    points = every_point([model], 3, [True, True, False])
    alike = [(points == row) | (np.isnan(points) & np.isnan(row)) for row in X]
    near = np.array([(~same).sum(axis=1) <= max_changes for same in alike]).any(axis=0)
    near &= ~np.isnan(points[:, 2])
    assert near.any()
    np.testing.assert_array_equal(tree.predict(points[near]), model.predict(points[near]))
    assert tree.covers(points[near]).all()
    assert tree.verify()


@pytest.mark.parametrize("max_changes", [None, 0, 1])
def test_faithful_pruner(max_changes):
    X, y = table(1)
    model = RandomForestClassifier(12, max_depth=3, random_state=1).fit(X, y)
    pruner = FaithfulPruner(FrozenEstimator(model), max_changes=max_changes, random_state=0)
    pruner.fit(X, y)
    points = every_point([model], 3, [True, True, False])
    points = points[pruner.covers(points)]
    assert len(points) >= len(np.unique(X, axis=0))
    np.testing.assert_array_equal(pruner.predict(points), model.predict(points))
    assert pruner.verify()


def test_verify_finds_a_difference_that_only_missing_values_make():
    X, y = table(0)
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    finite = BornAgainClassifier(FrozenEstimator(model), domain=Domain(missing=[]))
    rows = ~np.isnan(X).any(axis=1)
    finite.fit(X[rows], y[rows])
    assert verify(model, finite.decision_tree_)
    outcome = verify(model, finite.decision_tree_, domain=Domain(missing=[0, 1]))
    if outcome.equal:
        pytest.skip("this tree sends missing values where the other does")
    row = outcome.counterexample[None]
    assert np.isnan(row).any()
    assert not np.isnan(row[:, 2]).any()
    assert model.predict(row)[0] != finite.decision_tree_.predict(row)[0]
    near = verify(model, finite.decision_tree_, X=X, max_changes=0)
    answers = model.predict(X) == finite.decision_tree_.predict(X)
    assert bool(near) == answers.all()


def test_agreement_counts_rows_that_lack_values():
    X, y = table(2)
    models = [DecisionTreeClassifier(max_depth=k, random_state=0).fit(X, y) for k in (1, 4)]
    found = agreement(*models, X, random_state=0)
    assert found.n_different == (models[0].predict(X) != models[1].predict(X)).sum()


def test_ensembles_that_do_not_take_missing_values_are_refused():
    X, y = table(0)
    whole = np.nan_to_num(X)
    model = AdaBoostClassifier(n_estimators=3).fit(whole, y)
    with pytest.raises(ValueError, match="NaN"):
        BornAgainClassifier(FrozenEstimator(model)).fit(X, y)
    with pytest.raises(ValueError, match="does not take missing values"):
        BornAgainClassifier(FrozenEstimator(model), domain=Domain(missing="all")).fit(whole, y)


def test_domain_with_missing_values():
    X, y = table(0)
    X[:, 2] = X[:, 2] > 2
    model = RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, y)
    domain = Domain(bounds={0: (0, 5), 1: (0, 5)}, integers=[0, 1, 2], missing=[0])
    lacking = np.isnan(X[:, 1])
    with pytest.raises(ValueError, match=r"missing, which is outside the domain"):
        BornAgainClassifier(FrozenEstimator(model), domain=domain).fit(X, y)
    tree = BornAgainClassifier(FrozenEstimator(model), domain=domain)
    tree.fit(X[~lacking], y[~lacking])
    points = np.array(list(itertools.product([*range(6), np.nan], range(6), range(2))))
    np.testing.assert_array_equal(tree.predict(points), model.predict(points))
    assert tree.verify()
    with pytest.raises(ValueError, match="group or implication"):
        read_domain(Domain(one_hot=[[0, 1]], missing=[0]), 3)
    with pytest.raises(ValueError, match="missing='some'"):
        read_domain(Domain(missing="some"), 3)


@pytest.mark.parametrize("seed", range(5))
def test_splits_that_the_domain_decides_leave_missing_values_of_others_alone(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(5, size=(60, 3)).astype(float)
    X[rng.random(60) < 0.3, 0] = np.nan
    model = RandomForestClassifier(3, max_depth=3, random_state=seed)
    model.fit(X, rng.integers(2, size=60))
    # below all cut points of a feature, or above them
    for low in (-10.0, 10.0):
        forest = read_domain(Domain(bounds={1: (low, low + 5)}, missing=[0]), 3).read(
            read_forest(model)
        )
        axes = Axes.of(forest)
        first = rng.choice([np.nan, 0, 1, 2, 3, 4], 200)
        rows = np.column_stack([first, np.full(200, low + 1), rng.integers(5, size=200)])
        cells = np.ascontiguousarray(axes.encode_rows(rows.astype(np.float32)).T)
        labels = Lines(forest, axes).classes_of(cells)
        np.testing.assert_array_equal(model.classes_[labels], model.predict(rows))
