"""`max_changes`: the promise near training rows, checked through the ensemble's own ``predict``."""

import pickle
from itertools import combinations, product

import numpy as np
import pytest
from efforts import set_effort
from ensemble_simplify.grid._limits import counted_clock
from sklearn.base import clone
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_classification,
)
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier
from strategies import small_data

from ensemble_simplify import BornAgainClassifier, TimeLimitError, verify
from ensemble_simplify.born_again.near import _line_search
from ensemble_simplify.grid import Stopped, float32_floor
from ensemble_simplify.proof import Lines, near_rows


def trees_of(model):
    if isinstance(model, VotingClassifier):
        return [tree for member in model.estimators_ for tree in trees_of(member)]
    if hasattr(model, "estimators_"):
        return [t for member in np.ravel(model.estimators_) for t in trees_of(member)]
    return [model]


def values_to_try(model, X):
    """For every feature, numbers at, just above and between all thresholds of an ensemble."""
    found = [set(map(float, np.float32(X[:2, j]))) for j in range(X.shape[1])]
    for tree in trees_of(model):
        inner = tree.tree_.children_left >= 0
        for j, t in zip(tree.tree_.feature[inner], tree.tree_.threshold[inner], strict=True):
            at = np.float32(t)
            for value in (
                at,
                np.nextafter(at, np.float32(-np.inf)),
                np.nextafter(at, np.float32(np.inf)),
            ):
                found[j].add(float(value))
    for j, values in enumerate(found):
        values |= {min(values) - 10.0, max(values) + 10.0}
        found[j] = np.array(sorted(values), dtype=np.float32)
    return found


def points_near(X, values, max_changes):
    """Every row with every choice of values for so many features, in batches."""
    for row in X.astype(np.float32):
        for features in combinations(range(X.shape[1]), max_changes):
            changed = np.array(list(product(*(values[j] for j in features))), dtype=np.float32)
            points = np.repeat(row[None], max(1, len(changed)), axis=0)
            points[:, list(features)] = changed.reshape(len(points), len(features))
            yield points


def n_different(model, X, max_changes, answers=None):
    """Points near rows where a born-again tree and its ensemble differ, through ``predict``."""
    values = values_to_try(model.estimator_, X)
    points = np.concatenate(list(points_near(X, values, max_changes)))
    return int((model.predict(points) != model.estimator_.predict(points)).sum())


ENSEMBLES = {
    "forest": RandomForestClassifier(8, random_state=0),
    "shallow": RandomForestClassifier(9, max_depth=2, random_state=1),
    "extra": ExtraTreesClassifier(6, max_depth=4, random_state=0),
    "adaboost": AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=6),
    "boosting": GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=0),
    "hard": VotingClassifier(
        [("a", RandomForestClassifier(3, max_depth=3, random_state=0)),
         ("b", DecisionTreeClassifier(max_depth=3, random_state=0)),
         ("c", DecisionTreeClassifier(max_depth=2, max_features=1, random_state=1))]
    ),
}  # fmt: skip


@pytest.mark.parametrize("max_changes", [0, 1, 2, 3])
@pytest.mark.parametrize("name", sorted(ENSEMBLES))
def test_promise(name, max_changes):
    X, y = small_data(5, n_features=3, n_rows=25)
    model = BornAgainClassifier(ENSEMBLES[name], max_changes=max_changes, random_state=0)
    model.fit(X, y)
    assert n_different(model, X[:: 1 + 4 * (max_changes > 1)], max_changes) == 0
    assert model.verify()
    assert model.n_exceptions_ == model.n_row_exceptions_ == 0
    assert model.n_leaves_lower_bound_ <= model.n_leaves_ == model.decision_tree_.get_n_leaves()
    if max_changes == 3:
        # every point differs from a row in at most all features
        assert verify(model.estimator_, model)


@pytest.mark.parametrize("max_changes", [2, 3])
def test_promise_where_the_grid_is_too_large_to_solve(max_changes, monkeypatch):
    set_effort(monkeypatch, _line_search, grid_cells=0, max_added=3)
    X, y = small_data(5, n_features=3, n_rows=25)
    asked = BornAgainClassifier(ENSEMBLES["forest"], max_changes=max_changes, random_state=0)
    model, near = asked.fit(X, y), clone(asked).set_params(max_changes=1).fit(X, y)
    assert n_different(model, X[::5], max_changes) == 0
    # the promise of fewer changes is kept by other trees: points beyond them count
    assert n_different(near, X[::5], max_changes) > 0


def test_fewer_changes_need_fewer_leaves():
    X, y = load_iris(return_X_y=True)
    forest = FrozenEstimator(RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, y))
    leaves = [
        BornAgainClassifier(forest, max_changes=k, random_state=0).fit(X, y).n_leaves_
        for k in (0, 1, 2)
    ]
    everywhere = BornAgainClassifier(forest, objective="leaves").fit(X, y)
    assert everywhere.status_ == "optimal"
    assert leaves == sorted(leaves)
    assert leaves[-1] <= everywhere.n_leaves_


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_forest_of_full_trees(load):
    X, y = load(return_X_y=True)
    forest = RandomForestClassifier(40, random_state=0)
    with counted_clock(300.0):
        model = BornAgainClassifier(forest, max_changes=1, time_limit=1e5, random_state=0)
        model.fit(X, y)
    assert n_different(model, X[::9], 1) == 0
    assert model.verify()
    assert (model.predict(X) == model.estimator_.predict(X)).all()
    rows = BornAgainClassifier(forest, max_changes=0, random_state=0).fit(X, y)
    assert rows.status_ == "optimal"
    assert rows.n_leaves_ < model.n_leaves_
    assert n_different(rows, X[::9], 1) > 0
    # a row of the training data is shown with the change that makes the difference
    outcome = verify(rows.estimator_, rows, X=X, max_changes=1)
    assert outcome.equal is False
    assert (outcome.counterexample != X[outcome.row].astype(np.float32)).sum() == 1
    assert rows.estimator_.predict([outcome.counterexample]) == outcome.predictions[0]
    assert rows.predict([outcome.counterexample]) == outcome.predictions[1]


def test_path_of_exceptions():
    X, y = load_iris(return_X_y=True)
    forest = FrozenEstimator(RandomForestClassifier(10, max_depth=4, random_state=0).fit(X, y))
    model = BornAgainClassifier(forest, max_changes=1, random_state=0).fit(X, y)
    path = model.path_
    assert path.n_leaves[0] == 1
    assert path.n_leaves[-1] == model.n_leaves_
    assert path.n_exceptions[-1] == path.n_row_exceptions[-1] == path.weighted_share[-1] == 0
    assert (np.diff(path.n_leaves) > 0).all()
    assert (np.diff(path.weighted_share) < 0).all()
    cells = np.unique(model._promise.training.cells, axis=0)
    axes = model._promise.axes
    assert model.n_points_ == len(cells) * (1 + sum(n - 1 for n in axes.shape))
    # one point in every cell near a row, and what the ensemble answers there
    near = []
    for cell in cells:
        for a, n in enumerate(axes.shape):
            changed = np.repeat(cell[None], n, axis=0)
            changed[:, a] = np.arange(n)
            near.append(changed)
    ends = np.cumsum([len(changed) for changed in near])[:-1]
    points, own = axes.points(np.concatenate(near)), axes.points(cells)
    wanted, wanted_own = model.estimator_.predict(points), model.estimator_.predict(own)
    rows_of = np.ascontiguousarray(axes.encode_rows(X.astype(np.float32)).T)
    for place in range(0, len(path.n_leaves), 3):
        tree = model.at(n_leaves=path.n_leaves[place])
        assert tree.n_leaves_ == tree.decision_tree_.get_n_leaves() == path.n_leaves[place]
        differs = tree.predict(X) != tree.estimator_.predict(X)
        assert differs.sum() == path.n_row_exceptions[place] == tree.n_row_exceptions_
        wrong, held, weight = (tree.predict(own) != wanted_own).sum(), 0.0, 0.0
        differs = iter(np.split(tree.predict(points) != wanted, ends))
        for cell in cells:
            for a, n in enumerate(axes.shape):
                differ = next(differs)
                counts = np.bincount(rows_of[:, a], minlength=n).astype(float)
                counts[cell[a]] = 0.0
                wrong += differ.sum() - differ[cell[a]]
                held += (differ * counts).sum()
                weight += counts.sum()
        assert wrong == path.n_exceptions[place] == tree.n_exceptions_
        assert path.held_share[place] == pytest.approx(held / weight)
    assert model.at(tolerance=0.02).n_leaves_ == path.n_leaves[path.weighted_share <= 0.02][0]
    assert model.at(n_leaves=1).predict(X[:1]).shape == (1,)
    small = BornAgainClassifier(
        forest, max_changes=1, tolerance=0.02, max_leaf_nodes=4, random_state=0
    ).fit(X, y)
    assert small.n_leaves_ <= 4
    np.testing.assert_array_equal(small.path_.n_exceptions, path.n_exceptions)
    again = pickle.loads(pickle.dumps(small))
    np.testing.assert_array_equal(again.at(n_leaves=3).predict(X), small.at(n_leaves=3).predict(X))
    assert again.covers(X).all()


def test_best_trees_of_one_and_two_leaves_are_proven():
    X, y = load_iris(return_X_y=True)
    forest = FrozenEstimator(RandomForestClassifier(10, random_state=0).fit(X, y))
    model = BornAgainClassifier(forest, max_changes=1, tolerance=0.4, random_state=0).fit(X, y)
    assert (model.n_leaves_, model.status_) == (2, "optimal")
    model = BornAgainClassifier(forest, max_changes=1, tolerance=0.01, random_state=0).fit(X, y)
    assert model.status_ == "feasible"
    assert model.n_leaves_lower_bound_ == 3


def test_covers():
    X, y = small_data(1, n_features=4, n_rows=30, levels=9)
    for max_changes in (0, 1, 2):
        model = BornAgainClassifier(
            RandomForestClassifier(3, max_depth=3, random_state=0),
            max_changes=max_changes,
            random_state=0,
        ).fit(X, y)
        assert model.covers(X).all()
        new = np.random.default_rng(0).uniform(-1, 3, size=(200, 4))
        # the cell of a row: how many thresholds lie below it
        thresholds = [
            np.unique([t.tree_.threshold[i] for t in model.estimator_.estimators_
                       for i in range(t.tree_.node_count) if t.tree_.feature[i] == j])
            for j in range(4)
        ]  # fmt: skip

        def code(rows, thresholds=thresholds):
            rows = rows.astype(np.float32).astype(float)
            return np.column_stack(
                [(rows[:, [j]] > t).sum(axis=1) for j, t in enumerate(thresholds)]
            )

        changes = (code(new)[:, None] != code(X)[None]).sum(axis=2).min(axis=1)
        np.testing.assert_array_equal(model.covers(new), changes <= max_changes)
        covered = model.covers(new)
        assert (model.predict(new) == model.estimator_.predict(new))[covered].all()


def test_domain():
    rng = np.random.default_rng(0)
    group = np.eye(3)[rng.integers(3, size=80)]
    X = np.column_stack([group, rng.integers(6, size=80)])
    y = (group[:, 0] > 0) ^ (X[:, 3] > 2) ^ (rng.random(80) < 0.1)
    domain = dict(one_hot=[[0, 1, 2]], bounds={3: (0, 5)}, integers=[3])
    for max_changes in (0, 1, 2):
        model = BornAgainClassifier(
            RandomForestClassifier(6, random_state=0),
            max_changes=max_changes,
            domain=domain,
            random_state=0,
        ).fit(X, y)
        assert model.verify()
        for points in points_near(X, [np.arange(2.0)] * 3 + [np.arange(6.0)], max_changes):
            inside = points[points[:, :3].sum(axis=1) == 1]
            if not len(inside):
                continue
            assert (model.predict(inside) == model.estimator_.predict(inside)).all()
            assert model.covers(inside).all()
            assert not model.covers(points)[points[:, :3].sum(axis=1) != 1].any()


def test_rows_of_weight_zero_do_not_count():
    X, y = load_iris(return_X_y=True)
    forest = FrozenEstimator(RandomForestClassifier(10, random_state=0).fit(X, y))
    weight = (np.arange(len(X)) % 2).astype(float)
    some = BornAgainClassifier(forest, max_changes=1, random_state=0).fit(X, y, weight)
    half = BornAgainClassifier(forest, max_changes=1, random_state=0).fit(X[1::2], y[1::2])
    assert some.n_points_ == half.n_points_
    np.testing.assert_array_equal(some.predict(X), half.predict(X))
    np.testing.assert_allclose(some.predict_proba(X), half.predict_proba(X))


@pytest.mark.parametrize(
    ("load", "n_rows"), [(load_wine, 45), (load_breast_cancer, 50), (load_digits, 24)]
)
def test_advice_of_the_refusal_works(load, n_rows):
    """As many leaves as it says are enough, without a limit that reads the clock."""
    X, y = (part[::4][:n_rows] for part in load(return_X_y=True))
    forest = FrozenEstimator(RandomForestClassifier(24, random_state=0).fit(X, y))
    with pytest.raises(ValueError, match=r"max_changes=1 promises .* by a tree of") as refusal:
        BornAgainClassifier(forest).fit(X, y)
    told = str(refusal.value)
    for max_changes in (0, 1):
        leaves = told.partition(f"max_changes={max_changes} ")[2].partition("a tree of ")[2]
        model = BornAgainClassifier(forest, max_changes=max_changes, random_state=0).fit(X, y)
        assert model.verify()
        assert model.n_leaves_ <= int(leaves.split()[0].replace(",", ""))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (dict(tolerance=0.1), "Set max_changes=0 or 1"),
        (dict(max_leaf_nodes=4), "Set max_changes=0 or 1"),
        (dict(max_changes=1, objective="depth"), "objective='auto' or 'leaves'"),
        (dict(max_changes=0, post_prune=True), "post_prune=False"),
        (dict(max_changes=1, merge_thresholds=True), "merge_thresholds=False"),
        (dict(max_changes=2, tolerance=0.1), "max_changes=0 or 1"),
        (dict(max_changes=2, max_leaf_nodes=9), "max_changes=0 or 1"),
        (dict(max_changes=1, max_memory=100), "max_memory allows 100"),
        (dict(max_changes=-1), "max_changes"),
        (dict(max_changes=1, tolerance=1.0), "tolerance"),
    ],
)
def test_refused(options, text):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=text):
        BornAgainClassifier(random_state=0, **options).fit(X, y)


def test_exact_or_an_error():
    X, y = load_iris(return_X_y=True)
    forest = FrozenEstimator(RandomForestClassifier(random_state=0).fit(X, y))
    exact = BornAgainClassifier(forest, max_changes=0, method="exact", random_state=0).fit(X, y)
    assert exact.status_ == "optimal"
    with counted_clock(30.0), pytest.raises(ValueError, match="leaves are needed"):
        BornAgainClassifier(
            forest, max_changes=1, method="exact", time_limit=1e4, random_state=0
        ).fit(X, y)


def test_no_tree_in_time():
    X, y = load_digits(return_X_y=True)
    forest = FrozenEstimator(RandomForestClassifier(20, random_state=0).fit(X, y))
    model = BornAgainClassifier(forest, max_changes=2, time_limit=1e-3)
    with pytest.raises(TimeLimitError, match="smaller max_changes"):
        model.fit(X, y)
    assert not hasattr(model, "decision_tree_")


def cells_near(forest, X):
    """A point in every cell that differs from the cell of a row on at most one axis."""
    trees = [tree.tree_ for tree in forest.estimators_]
    feature = np.concatenate([tree.feature for tree in trees])
    threshold = float32_floor(np.concatenate([tree.threshold for tree in trees])).astype(np.float32)
    X, points = X.astype(np.float32), []
    cuts = [np.unique(threshold[feature == j]) for j in range(X.shape[1])]
    codes = [np.searchsorted(own, X[:, j]) for j, own in enumerate(cuts)]
    for row in X[np.unique(np.column_stack(codes), axis=0, return_index=True)[1]]:
        points.append(row[None])
        for j, own in enumerate(cuts):
            values = np.append(own, np.nextafter(own[-1:], np.float32(np.inf)))
            line = np.repeat(row[None], len(values), axis=0)
            line[:, j] = values
            points.append(np.delete(line, np.searchsorted(own, row[j]), axis=0))
    return np.concatenate(points)


@pytest.mark.parametrize("n_batches", [0, 1, 7])
def test_points_that_were_not_looked_at_count_as_exceptions(n_batches, monkeypatch):
    """The best tree so far, and no exception that is not counted."""
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    points, done, plain = cells_near(forest, X), [], Lines.labels

    def labels(self, cells, *args):
        done.append(len(cells))
        if len(done) > n_batches:
            raise Stopped
        return plain(self, cells, *args)

    monkeypatch.setattr(Lines, "labels", labels)
    monkeypatch.setattr(near_rows, "BATCH_CELLS", 400)
    model = BornAgainClassifier(FrozenEstimator(forest), max_changes=1, time_limit=1e5)
    with counted_clock(300.0), pytest.warns(ConvergenceWarning, match="not looked at"):
        model.fit(X, y)
    n_seen = sum(done[:n_batches])
    assert model.n_points_ == len(points)
    n_rows = len(np.unique(model._promise.training.cells, axis=0))
    assert model.seen_share_ == pytest.approx(
        (n_rows + n_seen * (len(points) / n_rows - 1)) / len(points)
    )
    wrong = model.predict(points) != forest.predict(points)
    n_unseen = round((1 - model.seen_share_) * len(points))
    assert max(wrong.sum(), n_unseen) <= model.n_exceptions_
    assert model.n_row_exceptions_ == (model.predict(X) != forest.predict(X)).sum() == 0
    assert model.status_ == "feasible"
    assert model.path_.n_exceptions[0] >= model.path_.n_exceptions[-1] == model.n_exceptions_
    for i, n_leaves in enumerate(model.path_.n_leaves):
        other = model.at(n_leaves=int(n_leaves))
        wrong = other.predict(points) != forest.predict(points)
        assert n_unseen <= other.n_exceptions_ == model.path_.n_exceptions[i]
        assert wrong.sum() <= other.n_exceptions_


def test_all_points_were_looked_at():
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    model = BornAgainClassifier(FrozenEstimator(forest), max_changes=1, random_state=0).fit(X, y)
    assert model.n_points_ == len(cells_near(forest, X))
    assert model.seen_share_ == 1
    assert model.n_exceptions_ == 0


def test_a_tree_that_was_not_finished(monkeypatch):
    """Where the first tree does not come to an end, its exceptions are counted."""
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    points = cells_near(forest, X)
    # all the time for the classes of points, and none for trees
    set_effort(monkeypatch, _line_search, label_share=1e6, tree_share=-1e6)
    model = BornAgainClassifier(FrozenEstimator(forest), max_changes=1, time_limit=1e5)
    with counted_clock(300.0), pytest.warns(ConvergenceWarning, match="ended the search"):
        model.fit(X, y)
    assert model.seen_share_ == 1
    assert model.n_exceptions_ == (model.predict(points) != forest.predict(points)).sum() > 0
    assert model.status_ == "feasible"


def test_too_many_points_need_a_time_limit():
    X, y = load_digits(return_X_y=True)
    forest = FrozenEstimator(RandomForestClassifier(100, random_state=0).fit(X, y))
    with pytest.raises(ValueError, match="set time_limit"):
        BornAgainClassifier(forest, max_changes=4).fit(X, y)


def test_at_needs_a_path():
    X, y = load_iris(return_X_y=True)
    model = BornAgainClassifier(random_state=0).fit(X, y)
    assert model.covers(X).all()
    with pytest.raises(ValueError, match="max_changes=0 or 1 only"):
        model.at(n_leaves=4)
    near = clone(model).set_params(max_changes=0).fit(X, y)
    with pytest.raises(ValueError, match="Give one"):
        near.at()
    with pytest.raises(ValueError, match="integer"):
        near.at(n_leaves=2.5)
    with pytest.raises(ValueError, match="integer"):
        near.at(n_leaves=0)


def test_verify_wants_rows():
    X, y = load_iris(return_X_y=True)
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="no rows X were given"):
        verify(tree, tree, max_changes=1)
    with pytest.raises(ValueError, match="but rows X were given"):
        verify(tree, tree, X=X)
    with pytest.raises(ValueError, match="X has 3 features"):
        verify(tree, tree, X=X[:, :3], max_changes=1)
    assert verify(tree, tree, X=X, max_changes=4)
    assert "at most 1 feature;" in repr(verify(tree, tree, X=X, max_changes=1))
    other = DecisionTreeClassifier(max_depth=1).fit(X, y)
    assert verify(tree, other, X=X, max_changes=2, time_limit=1e-9).equal in (None, False)


def test_data_frames():
    pandas = pytest.importorskip("pandas")
    X, y = load_iris(return_X_y=True, as_frame=True)
    for ensemble in (
        RandomForestClassifier(5, random_state=0),
        AdaBoostClassifier(n_estimators=5, random_state=0),
    ):
        model = BornAgainClassifier(ensemble, max_changes=1, random_state=0).fit(X, y)
        assert isinstance(X, pandas.DataFrame)
        assert model.at(n_leaves=4).predict(X).shape == (150,)
        assert model.verify()
        assert list(model.decision_tree_.feature_names_in_) == list(X.columns)


def test_status_without_a_warning(recwarn):
    X, y = load_iris(return_X_y=True)
    BornAgainClassifier(max_changes=1, random_state=0).fit(X, y)
    assert not [w for w in recwarn if issubclass(w.category, ConvergenceWarning)]


def test_a_promise_on_rows_alone_tells_what_it_is_worth_on_others(recwarn):
    X, y = make_classification(200, 8, n_informative=4, flip_y=0.2, random_state=0)
    model = FrozenEstimator(RandomForestClassifier(20, random_state=0).fit(X, y))
    tree = BornAgainClassifier(model, max_changes=0, random_state=0).fit(X, y)
    told = [str(own.message) for own in recwarn if "these rows alone" in str(own.message)]
    assert len(told) == 1
    assert f"{100 * (1 - tree.fidelity_):.1f} % of that fifth" in told[0]
    recwarn.clear()
    # one column decides, so that others are answered alike
    forest = RandomForestClassifier(5, max_features=None, bootstrap=False, random_state=0)
    easy = FrozenEstimator(forest.fit(X, X[:, 0] > 0))
    tree = BornAgainClassifier(easy, max_changes=0, random_state=0).fit(X, X[:, 0] > 0)
    assert not tree.fidelity_ < 0.98  # nan where the smallest tree is at hand
    assert not [own for own in recwarn if "these rows alone" in str(own.message)]
