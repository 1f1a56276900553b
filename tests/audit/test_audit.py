"""Audit questions against every cell of small models: own predict on all rows that can occur."""

import itertools
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from passengers import passengers, pipeline_of
from scipy.sparse import csr_array
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier
from strategies import CLASSIFIERS, fitted_classifiers, small_data

from ensemble_simplify import (
    BornAgainClassifier,
    Domain,
    agreement,
    is_monotone,
    nearest_flip,
    sufficient_box,
    verify,
)
from ensemble_simplify.audit import _box, _sets
from ensemble_simplify.audit._flip_search import FlipSearch
from ensemble_simplify.audit._monotone import _PairSearch
from ensemble_simplify.grid import Stopped
from ensemble_simplify.grid.domain import read_domain
from ensemble_simplify.grid.thresholds import FLOAT32_MAX, cut_points
from ensemble_simplify.proof import forest_pair
from ensemble_simplify.reading import forest as forests
from ensemble_simplify.reading.forest import read_forest


class Truth:
    """A model on one row in every cell: its own answers.

    Parameters
    ----------
    model : fitted classifier
    domain : Domain or None
    values : dict of int to list
        Values of some features in place of their cut points, all that the domain leaves.
    missing : sequence of int
        Features that may be missing.
    group : set of int
        Features of which exactly one is 1: they change together.
    """

    def __init__(self, model, domain=None, values=(), missing=(), group=()):
        self.group = set(group)
        self.model, self.forest = model, read_forest(model)
        n_features = self.forest.n_features
        cuts = cut_points(self.forest.feature, self.forest.threshold, n_features)
        self.cuts = cuts
        # the largest number of a cell; of the last one, any
        self.values = [[*own, np.floor(own[-1]) + 1.0 if len(own) else 0.0] for own in cuts]
        for j, own in dict(values).items():
            self.values[j] = list(own)
        with_nan = [[*own, np.nan] if j in missing else own for j, own in enumerate(self.values)]
        self.missing = missing
        rows = np.array(list(itertools.product(*with_nan)), dtype=np.float64)
        if domain is not None:
            rows = rows[read_domain(domain, n_features).contains(rows.astype(np.float32))]
        self.rows = rows
        self.table = None if self.forest.table.is_plain else self.forest.table
        self.labels = self.predict(rows)

    def shown(self, rows):
        return rows if self.table is None else self.table.decode(rows)

    def differences(self, row, rows):
        """How many changes lead from a row to others, those of a group being one."""
        of_group = np.isin(np.arange(len(row)), list(self.group))
        apart = rows != row
        return apart[:, ~of_group].sum(axis=1) + apart[:, of_group].any(axis=1)

    def predict(self, rows):
        return self.model.predict(self.shown(rows))

    def is_monotone(self, j, rank):
        """Whether, of rows that differ in feature j alone, none with a higher value is lower."""
        groups = {}
        for row, label in zip(self.rows, self.labels, strict=True):
            if not np.isnan(row[j]):
                others = tuple(np.nan_to_num(np.delete(row, j), nan=1e30))
                groups.setdefault(others, []).append((row[j], rank[label]))
        return all(
            all(a[1] <= b[1] for a, b in itertools.pairwise(sorted(group)))
            for group in groups.values()
        )

    def check_monotone(self, j, rank, outcome):
        """Check an outcome of `is_monotone`."""
        wanted = {label: r if outcome.increasing else -r for label, r in rank.items()}
        assert outcome.monotone == self.is_monotone(j, wanted)
        assert bool(outcome) == outcome.monotone
        if outcome.monotone:
            assert outcome.counterexample is None
            assert outcome.n_proven == outcome.n_cuts
            return
        rows = outcome.counterexample
        first, second = self.model.predict(rows)
        assert outcome.predictions == (first, second)
        assert wanted[first] > wanted[second]
        numbers = rows if self.table is None else np.asarray(self.table.encode(rows), dtype=float)
        same = (numbers[0] == numbers[1]) | (np.isnan(numbers[0]) & np.isnan(numbers[1]))
        assert np.flatnonzero(~same).tolist() == [j]
        assert outcome.values == (numbers[0, j], numbers[1, j])
        assert numbers[0, j] < numbers[1, j]

    def check_box(self, row, box):
        """Check that a box has one class, and that each side has another one beyond it."""
        assert box.contains(row if self.table is not None else [row]).all()
        inside = box.contains(self.shown(self.rows))
        assert set(self.labels[inside]) <= {box.label}
        assert box.maximal
        n_sides = 0
        for j, own in enumerate(self.values):
            low, high, missing = (part.copy() for part in (box.low, box.high, box.missing))
            if box.low[j] > -np.inf:
                n_sides += 1
                low[j] = np.nextafter(max(v for v in own if v <= box.low[j]), -np.inf)
                self.check_beyond(box, inside, replace(box, low=low))
            above = [v for v in own if v > box.high[j]]
            if above:
                n_sides += 1
                high[j] = min(above)
                self.check_beyond(box, inside, replace(box, high=high))
            elif j in self.missing and not box.missing[j]:
                n_sides += 1
                missing[j] = True
                self.check_beyond(box, inside, replace(box, missing=missing))
        assert bool(n_sides) == bool(box.features)

    def check_beyond(self, box, inside, grown):
        more = grown.contains(self.shown(self.rows)) & ~inside
        assert (self.labels[more] != box.label).any()

    def check_flip(self, row, flip, distance):
        """Check a flip; `distance` gives numbers of changes and distances of cells' rows."""
        own = self.predict(row[None])[0]
        assert flip.predictions[0] == own
        assert flip.proven
        n, far = distance(self.rows)
        wrong = (self.labels != own) & (n <= flip.max_changes)
        assert bool(flip) == wrong.any()
        if not flip:
            return
        changed = set(flip.changes)
        assert len(changed - self.group) + bool(changed & self.group) == n[wrong].min()
        np.testing.assert_allclose(flip.distance, far[wrong & (n == n[wrong].min())].min())
        changed = flip.row if self.table is not None else flip.row[None]
        assert self.model.predict(changed)[0] == flip.predictions[1] != own


def ranks(labels):
    return {label: r for r, label in enumerate(labels)}


def check_all(model, X, seed):
    """All three questions, on a model whose cells are few."""
    truth, rng = Truth(model), np.random.default_rng(seed)
    order = rng.permutation(model.classes_).tolist()
    j = int(rng.integers(X.shape[1]))
    increasing = bool(rng.integers(2))
    outcome = is_monotone(model, j, increasing=increasing, class_order=order)
    truth.check_monotone(j, ranks(order), outcome)
    outcome = is_monotone(model, j, positive=order[0])
    truth.check_monotone(j, {label: int(label == order[0]) for label in order}, outcome)
    row = rng.uniform(-0.5, 1.0, X.shape[1])
    truth.check_box(row, sufficient_box(model, row, random_state=seed % 2 or None))
    scale = rng.uniform(0.5, 2.0, X.shape[1])
    flip = nearest_flip(model, row, max_changes=int(rng.integers(1, 4)), scale=scale)
    truth.check_flip(row, flip, lambda rows: changes(truth, row, rows, scale))


def next_float32(numbers):
    return np.nextafter(numbers.astype(np.float32), np.float32(np.inf)).astype(np.float64)


def changes(truth, row, rows, scale):
    """Changes from a row to the cells of some rows, and their distances."""
    n, far = np.zeros(len(rows), dtype=int), np.zeros(len(rows))
    single = row.astype(np.float32)
    for j, cuts in enumerate(truth.cuts):
        edges = np.append(cuts, np.inf)
        own, cell = np.searchsorted(cuts, single[j]), np.searchsorted(cuts, rows[:, j])
        n += own != cell
        after = next_float32(edges)[cell - 1]
        far += np.where(cell > own, after - row[j], 0.0) / scale[j]
        far += np.where(cell < own, row[j] - edges[cell], 0.0) / scale[j]
    return n, far


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_every_kind(kind):
    for seed in range(2):
        X, y = small_data(seed + 5, n_classes=2 + seed)
        check_all(CLASSIFIERS[kind](seed).fit(X, y), X, seed)


@given(fitted_classifiers(), st.integers(0, 1000))
def test_any_model(fitted, seed):
    model, X, _ = fitted
    check_all(model, X, seed)


@pytest.mark.parametrize("without", [["_probed"], ["_probed", "_falls"]], ids=["trees", "bounds"])
@pytest.mark.parametrize(
    "kind", ["tree", "forest", "adaboost", "boosting", "bagging_hard", "voting_boosted"]
)
def test_every_stage_of_the_search_alone(kind, without, monkeypatch):
    for name in without:
        value = (lambda _: None) if name == "_probed" else lambda search: list(range(search.n_cuts))
        monkeypatch.setattr(_PairSearch, name, value)
    seen = set()
    for seed in range(4):
        X, y = small_data(seed + 20, n_classes=2 + (seed == 3))
        model = CLASSIFIERS[kind](seed).fit(X, y)
        truth, order = Truth(model), model.classes_.tolist()
        for j, increasing in itertools.product(range(3), (True, False)):
            outcome = is_monotone(model, j, increasing=increasing, class_order=order)
            truth.check_monotone(j, ranks(order), outcome)
            seen.add(outcome.monotone)
    assert seen == {True, False}


def test_a_monotone_model_is_proven():
    rng = np.random.default_rng(0)
    X = rng.integers(6, size=(200, 3)).astype(float)
    y = (X[:, 0] + X[:, 1] + rng.normal(0, 2, 200) > 5).astype(int)
    model = HistGradientBoostingClassifier(
        max_iter=12, max_leaf_nodes=5, monotonic_cst=[1, 0, 0], min_samples_leaf=5
    ).fit(X, y)
    truth = Truth(model)
    seen = set()
    for j, increasing in itertools.product(range(3), (True, False)):
        outcome = is_monotone(model, j, increasing=increasing)
        truth.check_monotone(j, {0: 0, 1: 1}, outcome)
        seen.add(outcome.monotone)
    assert is_monotone(model, 0)
    assert seen == {True, False}


GROUPS = Domain(integers=[3], one_hot=[[0, 1, 2]], bounds={3: (0, 4)})
PERMITTED = Domain(
    integers=[3, 4], at_most_one=[[0, 1]], implies=[[1, 2]], bounds={3: (0, 3), 4: (0, 1)}
)


@pytest.mark.parametrize("seed", range(12))
def test_a_flip_may_change_tied_features_that_the_model_does_not_look_at(seed):
    rng = np.random.default_rng(seed)
    domain = Domain(one_hot=[[0, 1, 2]], implies=[[3, 4]])
    rows = np.array(list(itertools.product([0.0, 1.0], repeat=5)))
    seen = rng.permutation(5)[: rng.integers(1, 4)]
    X = np.where(np.isin(np.arange(5), seen), rows, 0.0)
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, rng.integers(2, size=32))
    truth = Truth(model, domain, {j: (0.0, 1.0) for j in range(5)}, group=range(3))
    for row in truth.rows[rng.choice(len(truth.rows), 4)]:
        flip = nearest_flip(model, row, max_changes=3, domain=domain)
        truth.check_flip(row, flip, lambda rows, row=row: (truth.differences(row, rows),) * 2)
        if flip:
            assert (truth.rows == flip.row).all(axis=1).any()
            assert sorted(flip.changes) == np.flatnonzero(flip.row != row).tolist()


@pytest.mark.parametrize("domain", [GROUPS, PERMITTED], ids=["one_hot", "implies"])
@pytest.mark.parametrize("seed", range(4))
def test_domains(domain, seed):
    rng = np.random.default_rng(seed)
    binary = {j: (0.0, 1.0) for j in (0, 1, 2, 4)}
    X = np.column_stack([rng.integers(2, size=(80, 3)), rng.integers(5, size=80)])
    X = np.column_stack([X, rng.integers(2, size=80)]).astype(float)
    y = rng.integers(2, size=80)
    # some features of the groups may not be used at all
    model = RandomForestClassifier(3, max_depth=2 + seed % 2, random_state=seed).fit(X, y)
    if domain is GROUPS:
        domain = replace(domain, integers=[3, 4], bounds={3: (0, 4), 4: (0, 1)})
    group = range(3) if domain.one_hot else ()
    truth = Truth(model, domain, {**binary, 3: range(5)}, group=group)
    for j in range(5):
        truth.check_monotone(j, {0: 0, 1: 1}, is_monotone(model, j, domain=domain))
    for row in truth.rows[rng.choice(len(truth.rows), 4)]:
        truth.check_box(row, sufficient_box(model, row, domain=domain))
        flip = nearest_flip(model, row, max_changes=2, domain=domain, scale=np.ones(5))

        def distance(rows, row=row):
            twice = np.abs(rows - row)[:, :3].sum(axis=1) / 2 if domain.one_hot else 0.0
            return truth.differences(row, rows), np.abs(rows - row).sum(axis=1) - twice

        # changes of features that the model does not look at are changes, too
        truth.check_flip(row, flip, distance)
        if flip:
            assert (truth.rows == flip.row).all(axis=1).any()


@pytest.mark.parametrize("seed", range(4))
def test_missing_values(seed):
    X, y = small_data(seed, n_classes=2, labels="plain")
    X[np.random.default_rng(seed).random(X.shape) < 0.2] = np.nan
    model = RandomForestClassifier(4, max_depth=3, random_state=seed).fit(X, y)
    domain = Domain(missing=[0, 2])
    truth = Truth(model, missing=(0, 2))
    for j in range(3):
        truth.check_monotone(j, {0: 0, 1: 1}, is_monotone(model, j, domain=domain))
    for row in (np.array([np.nan, 0.1, 0.2]), np.array([0.1, -0.2, np.nan]), np.zeros(3)):
        truth.check_box(row, sufficient_box(model, row, domain=domain))
        flip = nearest_flip(model, row, domain=domain)

        def distance(rows, row=row):
            n, far = np.zeros(len(rows), dtype=int), np.zeros(len(rows))
            for j, cuts in enumerate(truth.cuts):
                span = cuts[-1] - cuts[0] if len(cuts) > 1 else 1.0
                at = np.where(np.isnan(rows[:, j]), 0.0, rows[:, j])
                own, cell = np.searchsorted(cuts, np.float32(row[j])), np.searchsorted(cuts, at)
                edges = np.append(cuts, np.inf)
                after = next_float32(edges)[cell - 1]
                step = np.where(cell > own, after - row[j], 0.0)
                step = np.where(cell < own, row[j] - edges[cell], step) / span
                absent = np.isnan(rows[:, j])
                step[absent != np.isnan(row[j])] = 1.0
                step[absent & np.isnan(row[j])] = 0.0
                n += step > 0
                far += step
            return n, far

        truth.check_flip(row, flip, distance)
    # only the row says what may be missing
    box = sufficient_box(model, [np.nan, 0.1, 0.2])
    assert box.missing.tolist() == [box.missing[0], False, False]
    assert nearest_flip(model, [np.nan, 0.1, 0.2]).proven


@pytest.mark.parametrize("name", ["one_hot", "ordinal"])
def test_tables(name):
    table, y = passengers(1, n=100)
    model = pipeline_of(name, RandomForestClassifier(3, max_depth=2, random_state=2))
    model.fit(table, y)
    columns = read_forest(model).table
    codes = {j: range(int(columns.highest[j]) + 1) for j in (0, 2)}
    domain = Domain(missing=["age", "port"])
    truth = Truth(model, values=codes, missing=(1, 2))
    for j in (1, 3, 4):
        outcome = is_monotone(model, table.columns[j], domain=domain)
        truth.check_monotone(j, {"died": 0, "lived": 1}, outcome)
        assert outcome.feature == table.columns[j]
    with pytest.raises(ValueError, match="holds categories"):
        is_monotone(model, "sex")
    for i in (0, 7):
        row = table.iloc[[i]]
        box = sufficient_box(model, row, domain=domain)
        truth.check_box(row, box)
        again = sufficient_box(model, table.iloc[i], domain=domain)
        np.testing.assert_array_equal(box.low, again.low)
        assert set(box.features) <= set(table.columns)
        for key, levels in box.levels.items():
            value = row[key].iloc[0]
            assert value in levels or (pd.isna(value) and box.missing[2])
        flip = nearest_flip(model, row, domain=domain)
        assert flip.predictions[0] == model.predict(row)[0]
        # one column changed, to every cell of it
        numbers = np.asarray(columns.encode(row), dtype=float)[0]
        same = (truth.rows == numbers) | (np.isnan(truth.rows) & np.isnan(numbers))
        cell = [
            np.searchsorted(truth.cuts[j], truth.rows[:, j])
            == np.searchsorted(truth.cuts[j], np.float32(numbers[j]))
            for j in (1, 3, 4)
        ]
        for j, inside in zip((1, 3, 4), cell, strict=True):
            same[:, j] |= inside & ~np.isnan(truth.rows[:, j]) & ~np.isnan(numbers[j])
        near = (~same).sum(axis=1) <= 1
        assert bool(flip) == (truth.labels[near] != flip.predictions[0]).any()
        if flip:
            assert model.predict(flip.row)[0] == flip.predictions[1] != flip.predictions[0]
            (key,) = flip.changes
            kept = row.columns.drop(key)
            pd.testing.assert_frame_equal(
                flip.row[kept], row[kept].reset_index(drop=True), check_dtype=False, rtol=0, atol=0
            )


def test_a_tree_of_ours_and_time_limits():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    forest = RandomForestClassifier(100, random_state=0).fit(X, y)
    outcome = is_monotone(forest, "mean texture", increasing=True, time_limit=0.001)
    assert outcome.monotone is not True
    box = sufficient_box(forest, X.iloc[0], time_limit=0.2)
    assert set(forest.predict(X[box.contains(X)])) == {box.label}
    assert box.contains(X)[0]
    flip = nearest_flip(forest, X.iloc[0], max_changes=3, time_limit=1e-9)
    assert not flip.proven
    assert flip.n_changes_lower_bound == 1
    small = X[["worst area", "mean texture"]]
    forest = RandomForestClassifier(3, max_depth=3, random_state=0).fit(small, y)
    tree = BornAgainClassifier(FrozenEstimator(forest), random_state=0).fit(small, y)
    for key in small:
        wanted = is_monotone(forest, key, increasing=False).monotone
        assert is_monotone(tree, key, increasing=False).monotone == wanted


def changes_alike(truth, row, rows):
    """As `changes`, where all features count alike."""
    return changes(truth, row, rows, np.ones(len(row)))


def with_far_rows(seed, n_classes=2):
    """A forest on seven features whose cells are few, and rows that take several changes."""
    rng = np.random.default_rng(seed)
    X = rng.integers(3, size=(150, 7)).astype(float)
    y = np.digitize(X[:, :5].sum(axis=1), np.linspace(3, 7, n_classes + 1)[1:-1])
    y = np.where(rng.random(150) < 0.05, rng.integers(n_classes, size=150), y)
    model = RandomForestClassifier(9, max_depth=4, max_features=2, random_state=seed).fit(X, y)
    order = np.argsort(model.predict_proba(X).max(axis=1))
    return model, X[order[[-1, -2, -3, 0]]] + rng.uniform(-0.4, 0.4, (4, 7))


@pytest.mark.parametrize("n_classes", [2, 4])
def test_sets_of_features_that_are_left_out_flip_nothing(n_classes):
    found = []
    for seed in range(4):
        model, rows = with_far_rows(seed, n_classes)
        truth = Truth(model)
        for row in rows:
            flip = nearest_flip(model, row, max_changes=4, scale=np.ones(7))
            truth.check_flip(row, flip, partial(changes_alike, truth, row))
            assert flip.n_changes_lower_bound == (len(flip.changes) if flip else 5)
            found.append(len(flip.changes))
    assert set(found) >= {1, 2, 3}


def test_sets_of_features_that_cannot_flip_are_not_looked_at(monkeypatch):
    X, y = load_breast_cancer(return_X_y=True)
    forest = RandomForestClassifier(30, random_state=0).fit(X, y)
    looked, look = [], FlipSearch._look_at
    monkeypatch.setattr(FlipSearch, "_look_at", lambda *given: looked.append(given) or look(*given))
    row = X[forest.predict_proba(X)[:, 0].argmax()]
    flip = nearest_flip(forest, row, max_changes=2)
    assert not flip
    assert flip.proven
    assert flip.n_changes_lower_bound == 3
    assert len(looked) < 10  # of 435 pairs
    assert len(nearest_flip(forest, row, max_changes=3).changes) == 3
    assert len(looked) < 200  # of 4,060 triples


def test_what_is_known_of_flips_when_the_time_is_up(monkeypatch):
    model, rows = with_far_rows(2)
    assert len(nearest_flip(model, rows[0], max_changes=3).changes) == 3

    # the clock stands still until changes of two features are looked at
    def stopped():
        raise Stopped

    monkeypatch.setattr(_sets, "check_time", stopped)
    flip = nearest_flip(model, rows[0], max_changes=3, time_limit=1e6)
    assert not flip.proven
    assert flip.row is None
    assert flip.n_changes_lower_bound == 2
    assert "none of fewer than 2 flips" in repr(flip)


def true_share(truth, box):
    """Share of the features with cut points, of which no side can be moved: by brute force."""
    inside, settled = box.contains(truth.rows), []
    for j, cuts in enumerate(truth.cuts):
        if not len(cuts):
            continue
        own, sides = np.array(truth.values[j]), []
        for low, high in ((True, False), (False, True)):
            grown = replace(box, low=box.low.copy(), high=box.high.copy())
            further = own[own <= box.low[j]] if low else own[own > box.high[j]]
            if low and further.size:
                grown.low[j] = np.nextafter(further.max(), -np.inf)
            if high and further.size:
                grown.high[j] = further.min()
            more = grown.contains(truth.rows) & ~inside
            sides.append(not further.size or (truth.labels[more] != box.label).any())
        settled.append(all(sides))
    return np.mean(settled)


@pytest.mark.parametrize("seed", range(4))
def test_a_box_that_is_not_maximal_says_in_which_share_of_the_features(seed, monkeypatch):
    model, rows = with_far_rows(seed)
    truth, shares = Truth(model), []
    # proofs are given up at once, and sides moved together
    monkeypatch.setattr(_box, "ROUNDS", (2,))
    monkeypatch.setattr(_box, "LEAST_SHARE", 0.3)
    for wide in (1, 1000):
        monkeypatch.setattr(_box, "WIDE_BOXES", wide)
        for row in rows:
            box = sufficient_box(model, row)
            inside = box.contains(truth.rows)
            assert set(truth.labels[inside]) == {box.label}
            assert box.contains([row]).all()
            assert 0.0 <= box.maximal_share <= true_share(truth, box)
            assert box.maximal == (box.maximal_share == 1.0)
            assert box.maximal or "proven maximal in" in repr(box)
            shares.append(box.maximal_share)
    assert min(shares) < 1.0
    # the same where the nodes that may be visited are the limit, and nobody reads the clock
    monkeypatch.setattr(_box, "ROUNDS", (2, 10**9))
    for visits in [30, 300, 1_000, 3_000, 10**9]:
        monkeypatch.setattr(_box, "VISITS", visits)
        monkeypatch.setattr(_box, "VISITS_A_NODE", 0)
        box = sufficient_box(model, rows[0])
        assert set(truth.labels[box.contains(truth.rows)]) == {box.label}
        assert box.contains([rows[0]]).all()
        assert box.maximal_share <= true_share(truth, box)
    assert box.maximal
    monkeypatch.undo()
    monkeypatch.setattr(_box, "ROUNDS", (2, 10**9))
    for row in rows:
        box = sufficient_box(model, row)
        truth.check_box(row, box)
        assert box.maximal_share == 1.0


def test_sides_are_proven_before_others_make_their_proofs_long():
    X, y = load_breast_cancer(return_X_y=True)
    forest = RandomForestClassifier(50, max_depth=6, random_state=0).fit(X, y)
    box = sufficient_box(forest, X[0], random_state=0, time_limit=60)
    assert box.maximal
    # more than a million where the first proofs end at 500 boxes
    assert box.n_boxes < 400_000


def of_levels(kind):
    """A model of four columns with four levels each, its rows, and all rows that there can be."""
    rng = np.random.default_rng(3)
    codes = rng.integers(4, size=(200, 4))
    y = (rng.normal(size=(4, 4))[np.arange(4), codes].sum(axis=1) > 0).astype(int)
    levels = np.array(["a", "b", "c", "d"])
    if kind == "one-hot":
        X = levels.astype(object)[codes]
        forest = RandomForestClassifier(7, max_depth=5, random_state=0)
        model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), forest).fit(X, y)
        every = levels.astype(object)[list(itertools.product(range(4), repeat=4))]
    else:
        X = pd.DataFrame(levels[codes]).astype("category")
        X.columns = list("stuv")
        model = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=2).fit(X, y)
        every = pd.DataFrame(list(itertools.product(levels, repeat=4)), columns=X.columns)
        every = every.astype(pd.CategoricalDtype(list(levels)))
    return model, X, every


@pytest.mark.parametrize("kind", ["one-hot", "categories"])
def test_a_flip_of_levels_is_as_near_where_the_sets_are_not_laid_out(kind, monkeypatch):
    model, X, every = of_levels(kind)
    answers = model.predict(every)
    for i in range(12):
        row = X.iloc[[i]] if kind == "categories" else X[[i]]
        whole = nearest_flip(model, row)
        monkeypatch.setattr(forests, "MOST_WRITTEN", 1)
        asked = nearest_flip(model, row)
        monkeypatch.undo()
        assert asked.proven
        assert whole.proven
        assert asked.distance == whole.distance
        n_changes = (np.asarray(every) != np.asarray(row)).sum(axis=1)
        can_flip = (answers[n_changes == 1] != model.predict(row)[0]).any()
        # a level that nobody knows can be a flip, too, where an array does not say what can occur
        assert bool(asked) == can_flip or (asked and kind == "one-hot")
        if asked:
            changed = asked.row if kind == "categories" else np.reshape(asked.row, (1, -1))
            assert model.predict(changed)[0] == asked.predictions[1] != asked.predictions[0]
            assert len(asked.changes) == 1


@pytest.mark.parametrize("most", [0, 300, 1 << 21])
@pytest.mark.parametrize("kind", ["one-hot", "categories"])
def test_a_box_of_levels_holds_one_class_however_the_sets_are_laid_out(kind, most, monkeypatch):
    monkeypatch.setattr(_box, "MOST_WRITTEN", most)
    model, X, every = of_levels(kind)
    answers = model.predict(every)
    for i in range(4):
        row = X.iloc[[i]] if kind == "categories" else X[i]
        box = sufficient_box(model, row, random_state=i)
        inside = box.contains(every)
        assert inside.any()
        assert set(answers[inside]) == {box.label}
        if most == 0:
            # no slab can be laid out: nothing is proven but the row itself
            assert box.n_boxes == 0
            assert not box.maximal
            continue
        monkeypatch.setattr(_box, "MOST_WRITTEN", 1 << 21)
        whole = sufficient_box(model, row, random_state=i)
        monkeypatch.setattr(_box, "MOST_WRITTEN", most)
        np.testing.assert_array_equal(box.low, whole.low)
        np.testing.assert_array_equal(box.high, whole.high)
        assert box.maximal
        assert whole.maximal


def test_levels_that_could_be_read_otherwise_are_quoted_in_the_words_of_a_box():
    levels = ["", "a, b", "c"]
    X = pd.DataFrame({"s": levels * 20})
    y = (X["s"] == "c").astype(int)
    model = make_pipeline(OneHotEncoder(), DecisionTreeClassifier(random_state=0)).fit(X, y)
    box = sufficient_box(model, X.iloc[[0]])
    assert box.levels == {"s": ["", "a, b"]}
    assert box.conditions == ['s in {"", "a, b"}']


def test_a_box_when_the_time_is_up(monkeypatch):
    model, rows = with_far_rows(0)
    truth = Truth(model)
    monkeypatch.setattr(_box, "is_late", lambda: True)
    box = sufficient_box(model, rows[0], time_limit=1e6)
    assert not box.maximal
    assert box.maximal_share == 0.0
    assert set(truth.labels[box.contains(truth.rows)]) == {box.label}


def test_what_cannot_begin_in_time_is_said(monkeypatch):
    model, rows = with_far_rows(2)
    monkeypatch.setattr(forest_pair, "NODE_SECONDS", 1e6)
    with pytest.warns(ConvergenceWarning, match="before a proof can begin"):
        box = sufficient_box(model, rows[0], time_limit=10.0)
    assert not box.maximal
    assert box.contains([rows[0]]).all()
    with pytest.warns(ConvergenceWarning, match="before a proof can begin"):
        flip = nearest_flip(model, rows[0], max_changes=3, time_limit=10.0)
    assert not flip.proven
    assert flip.n_changes_lower_bound == 2
    assert len(nearest_flip(model, rows[0], max_changes=3).changes) == 3


@pytest.mark.parametrize("unknown", [-1, np.nan])
def test_a_level_that_the_model_does_not_know_keeps_its_name(unknown):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"town": rng.choice(["Bath", "York", "Ely"], 300), "age": rng.random(300)})
    y = (X["town"] == "Bath") | (X["age"] > 0.5)
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=unknown)
    columns = make_column_transformer((encoder, ["town"]), remainder="passthrough")
    model = make_pipeline(columns, RandomForestClassifier(10, random_state=0)).fit(X, y)
    rows = pd.DataFrame({"town": ["Bath", "Hull"], "age": [0.4, 0.9]})
    flip = nearest_flip(model, rows, frozen=["town"], max_changes=1, domain=Domain())[1]
    if flip:
        assert flip.row["town"].tolist() == ["Hull"]
        assert model.predict(flip.row)[0] == flip.predictions[1]
    for flip in nearest_flip(model, rows, frozen=["age"], domain=Domain()):
        for before, after in flip.changes.values():
            assert before in rows["town"].tolist()
            assert after != "Hull"
    domain = Domain.from_rows(rows)
    for ask in (
        lambda: nearest_flip(model, rows, domain=domain),
        lambda: sufficient_box(model, rows[1:], domain=domain),
        lambda: verify(model, model, X=rows, max_changes=1, domain=domain),
        lambda: agreement(model, model, rows, domain=domain),
    ):
        with pytest.raises(ValueError, match="'Hull' in the column 'town', a level"):
            ask()


def test_which_features_may_change():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    flip = nearest_flip(tree, X.iloc[3])
    (key,) = flip.changes
    other = nearest_flip(tree, X.iloc[3], features=X.columns.drop(key))
    assert not other or key not in other.changes
    assert other.proven
    far = nearest_flip(tree, X.iloc[3], scale={key: 1e-6})
    assert far.distance >= flip.distance
    assert not nearest_flip(tree, X.iloc[3], features=[])


def test_bad_input():
    X, y = small_data(0)
    model = CLASSIFIERS["forest"](0).fit(X, y)
    with pytest.raises(ValueError, match="order is not known"):
        is_monotone(model, 0)
    with pytest.raises(ValueError, match="both given"):
        is_monotone(model, 0, class_order=model.classes_, positive=model.classes_[0])
    with pytest.raises(ValueError, match="not one of the classes"):
        is_monotone(model, 0, positive="none")
    with pytest.raises(ValueError, match="each of the classes"):
        is_monotone(model, 0, class_order=model.classes_[:2])
    with pytest.raises(ValueError, match="indices from 0 to 2"):
        is_monotone(model, 3, positive=model.classes_[0])
    with pytest.raises(TypeError, match="regressor"):
        is_monotone(RandomForestRegressor(2).fit(X, X[:, 0]), 0, response="class")
    with pytest.raises(ValueError, match="holds 2 rows"):
        sufficient_box(model, X[:2])
    with pytest.raises(ValueError, match="rows has 2 features"):
        nearest_flip(model, X[0, :2])
    with pytest.raises(ValueError, match="outside the domain"):
        nearest_flip(model, X[0], domain=Domain(bounds={0: (5, 6)}))
    with pytest.raises(ValueError, match="positive number"):
        nearest_flip(model, X[0], scale={0: 0.0})
    with pytest.raises(ValueError, match="has the shape"):
        nearest_flip(model, X[0], scale=[1.0])
    with pytest.raises(ValueError, match="does not take missing values"):
        sufficient_box(CLASSIFIERS["boosting"](0).fit(X, y), [np.nan, 0.0, 0.0])


def test_a_model_of_one_answer():
    X = np.arange(6.0).reshape(3, 2)
    model = DecisionTreeClassifier().fit(X, ["yes"] * 3)
    assert is_monotone(model, 0)
    box = sufficient_box(model, X[0])
    assert box.features == []
    assert box.maximal
    assert box.contains([[FLOAT32_MAX, -FLOAT32_MAX]]).all()
    flip = nearest_flip(model, X[0], max_changes=2)
    assert flip.row is None
    assert flip.proven


@pytest.mark.parametrize("labels", [[0, 1], ["a", "b"], [False, True], [0.0, 1.0]])
def test_labels_are_shown_plainly(labels):
    X, y = small_data(0, n_classes=2, labels="plain")
    model = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, np.array(labels)[y])
    answers = [
        sufficient_box(model, X[0]),
        nearest_flip(model, X[0]),
        is_monotone(model, 0, class_order=labels),
    ]
    assert type(answers[0].label) in (int, str, bool, float)
    for answer in answers:
        assert "np." not in repr(answer)


def test_names_are_shown_in_one_line():
    X, y = small_data(0, n_classes=2, labels="plain")
    names = [f"\u202e\n\x1b[31m{j}" for j in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names)
    model = DecisionTreeClassifier(random_state=0).fit(frame, y)
    for answer in (sufficient_box(model, frame.iloc[:1]), nearest_flip(model, frame.iloc[:1])):
        assert "\\u202e" in repr(answer)
        assert repr(answer).isprintable()


@pytest.mark.parametrize("ask", [sufficient_box, nearest_flip])
def test_sparse_rows_are_refused(ask):
    X, y = small_data(0)
    model = DecisionTreeClassifier().fit(X, y)
    with pytest.raises(TypeError, match=r"rows? is sparse"):
        ask(model, csr_array(X[:1]))


def test_what_was_given_is_named_plainly_in_errors():
    X, y = small_data(0, n_classes=2, labels="plain")
    model = DecisionTreeClassifier(random_state=0).fit(X, np.array(["a", "b"])[y])
    for options, text in [
        ({"positive": np.str_("q")}, "positive='q' is not"),
        ({"class_order": np.array(["q", "a"])}, r"class_order=\['q', 'a'\] does not"),
    ]:
        with pytest.raises(ValueError, match=text):
            is_monotone(model, 0, **options)
    with pytest.raises(ValueError, match=r"has the column 99\. Columns are"):
        is_monotone(model, np.int64(99), positive="a")
    with pytest.raises(ValueError, match="names the feature 99, but"):
        sufficient_box(model, X[0], domain=Domain({np.int64(99): (0, 1)}))
