"""Audits of values and probabilities, against going through all rows that can be told apart."""

import numpy as np
import pytest
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
from tolerance_truth import (
    all_rows,
    axis_values,
    inside,
    is_monotone_in,
    largest_move,
    n_changes,
    near_rows,
    numbers_of,
    plans,
)

from ensemble_simplify import is_monotone, is_sensitive, nearest_flip, sufficient_box


def xgboost_classes(seed):
    xgboost = pytest.importorskip("xgboost")
    return xgboost.XGBClassifier(n_estimators=3, max_depth=2, n_jobs=1, random_state=seed)


def lightgbm_values(seed):
    lightgbm = pytest.importorskip("lightgbm")
    options = dict(min_child_samples=3, min_data_in_bin=1, verbose=-1, n_jobs=1)
    return lightgbm.LGBMRegressor(n_estimators=3, num_leaves=3, random_state=seed, **options)


VALUES = {
    "boosting": lambda s: GradientBoostingRegressor(n_estimators=4, max_depth=2, random_state=s),
    "forest": lambda s: RandomForestRegressor(4, max_depth=2, random_state=s),
    "extra trees": lambda s: ExtraTreesRegressor(3, max_depth=2, random_state=s),
    "histogram": lambda s: HistGradientBoostingRegressor(
        max_iter=3, max_leaf_nodes=4, min_samples_leaf=4, random_state=s
    ),
    "rising": lambda s: HistGradientBoostingRegressor(
        max_iter=4, max_leaf_nodes=4, min_samples_leaf=4, monotonic_cst=[1, 0, 0], random_state=s
    ),
    "lightgbm": lightgbm_values,
}
CLASSES = {
    "boosting": lambda s: GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=s),
    "forest": lambda s: RandomForestClassifier(4, max_depth=2, random_state=s),
    "adaboost": lambda s: AdaBoostClassifier(n_estimators=5, random_state=s),
    "histogram": lambda s: HistGradientBoostingClassifier(
        max_iter=3, max_leaf_nodes=4, min_samples_leaf=4, random_state=s
    ),
    "xgboost": xgboost_classes,
}
ALL = [*[("value", name) for name in VALUES], *[("probabilities", name) for name in CLASSES]]
N_FEATURES = 3
# What compares float64 numbers.
FINER = ("histogram", "rising", "lightgbm")


class Case:
    """A fitted model, all rows that it tells apart, and what it answers to them."""

    def __init__(self, kind, name, seed, *, n_classes=2, gaps=(), domain=None, X=None):
        rng = np.random.default_rng(seed)
        self.X = rng.integers(4, size=(40, N_FEATURES)) / 4 if X is None else X
        X = self.X
        y = 2 * X[:, 0] + np.sin(4 * X[:, 1]) * (1 + X[:, 2]) + rng.normal(0, 0.3, len(X))
        if gaps:
            X[np.ix_(rng.random(len(X)) < 0.3, gaps)] = np.nan
        if kind == "value":
            self.model = VALUES[name](seed).fit(X, y)
        else:
            y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
            self.model = CLASSES[name](seed).fit(X, y)
        self.kind, self.domain = kind, domain
        finer = name in FINER
        self.values = axis_values([self.model], rows=X, domain=domain, gaps=gaps, finer=finer)
        rows = all_rows(self.values)
        self.rows = rows[inside(rows, domain)]
        self.numbers = self.response(self.rows)

    def response(self, rows, column=-1):
        return numbers_of(self.model, np.atleast_2d(rows))[:, column]

    @property
    def options(self):
        return dict(response=self.kind, domain=self.domain)

    def hold_pair(self, outcome, features, gap):
        """A counterexample: two rows that differ in some features alone, and far in the number."""
        pair = np.asarray(outcome.counterexample, dtype=float)
        hold = n_changes(pair[:1], pair[1], besides=features)
        assert hold == 0
        assert inside(pair, self.domain).all()
        first, second = self.response(pair)
        assert abs(first - second) > gap
        return pair


def check_monotone(case, j, increasing):
    sign = 1.0 if increasing else -1.0
    outcome = is_monotone(case.model, j, increasing=increasing, **case.options)
    assert outcome.monotone == is_monotone_in(case.rows, sign * case.numbers, j)
    assert bool(outcome) == outcome.monotone
    assert repr(outcome)
    if outcome.monotone:
        assert outcome.counterexample is None
        return outcome
    pair = case.hold_pair(outcome, [j], 0.0)
    first, second = sign * case.response(pair)
    assert pair[0, j] < pair[1, j]
    assert first > second
    return outcome


@pytest.mark.parametrize(("kind", "name"), ALL)
def test_monotone_numbers(kind, name):
    found = []
    for seed in range(2):
        case = Case(kind, name, seed)
        for j in range(N_FEATURES):
            found += [bool(check_monotone(case, j, way)) for way in (True, False)]
    assert not all(found)
    if name == "rising":
        assert found[0]
        assert found[6]


@pytest.mark.parametrize("column", [0, 1, 2])
def test_monotone_probabilities_of_three_classes(column):
    case = Case("probabilities", "forest", 1, n_classes=3)
    numbers = case.response(case.rows, column)
    for j in range(N_FEATURES):
        outcome = is_monotone(case.model, j, response="probabilities", positive=column)
        assert outcome.monotone == is_monotone_in(case.rows, numbers, j)


@pytest.mark.parametrize("name", ["rising", "forest"])
def test_monotone_in_several_features(name):
    case = Case("value", name, 0)
    single = {
        (j, way): bool(is_monotone(case.model, j, increasing=way))
        for j in range(N_FEATURES)
        for way in (True, False)
    }
    for features, ways in [([0, 1], True), ([0, 2], [True, False]), ([0], [True])]:
        each = [ways] * len(features) if isinstance(ways, bool) else ways
        outcome = is_monotone(case.model, features, increasing=ways)
        assert outcome.monotone == all(map(single.get, zip(features, each, strict=True)))
        if not outcome.monotone:
            assert outcome.feature in features


def check_sensitive(case, features, gap, near=None, max_changes=None):
    kept = None
    if near is not None:
        kept = near_rows(case.rows, near, max_changes, besides=features)
    classes = case.kind == "class"
    response = case.model.predict(case.rows) if classes else case.numbers
    move = largest_move(case.rows, response, features, kept)
    outcome = is_sensitive(
        case.model, features, gap=gap, near=near, max_changes=max_changes, **case.options
    )
    assert outcome.sensitive == (move > gap)
    assert bool(outcome) == outcome.sensitive
    assert repr(outcome)
    if not outcome.sensitive:
        assert outcome.counterexample is None
        return outcome
    if classes:
        pair = np.asarray(outcome.counterexample, dtype=float)
        assert n_changes(pair[:1], pair[1], besides=features) == 0
        assert inside(pair, case.domain).all()
        assert np.unique(case.model.predict(pair)).size == 2
    else:
        pair = case.hold_pair(outcome, features, gap)
    if near is not None:
        assert near_rows(pair, near, max_changes, besides=features).any()
    return outcome


@pytest.mark.parametrize(("kind", "name"), ALL)
def test_sensitive_numbers(kind, name):
    case = Case(kind, name, 2)
    for features in ([0], [1, 2], [0, 1, 2]):
        move = largest_move(case.rows, case.numbers, features)
        gaps = {0.0, 0.5 * move, move, np.nextafter(move, 0), np.nextafter(move, 9)}
        for gap in sorted(g for g in gaps if g >= 0):
            check_sensitive(case, features, gap)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", ["boosting", "forest", "histogram"])
def test_sensitive_classes(name, n_classes):
    case = Case("probabilities", name, 3, n_classes=n_classes)
    case.kind = "class"
    for features in ([0], [1], [2], [0, 2]):
        check_sensitive(case, features, 0)
        for k in (0, 1):
            check_sensitive(case, features, 0, case.X[:2], k)


@pytest.mark.parametrize("max_changes", [0, 1, 2])
@pytest.mark.parametrize(("kind", "name"), ALL[::2])
def test_sensitive_near_rows(kind, name, max_changes):
    case = Case(kind, name, 4)
    near = case.X[:2]
    for features in ([1], [0, 2]):
        kept = near_rows(case.rows, near, max_changes, besides=features)
        move = largest_move(case.rows, case.numbers, features, kept)
        for gap in (0.0, 0.7 * move, move):
            check_sensitive(case, features, gap, near, max_changes)


DOMAIN = dict(one_hot=[(0, 1)], integers=(2,), bounds={2: (0, 4)})


def with_domain(kind, name, seed):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.eye(2)[rng.integers(2, size=40)], rng.integers(5, size=40)])
    return Case(kind, name, seed, domain=DOMAIN, X=X.astype(float))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("kind", "name"), [("value", "boosting"), ("probabilities", "forest")])
def test_domains(kind, name, seed):
    case = with_domain(kind, name, seed)
    for j in range(N_FEATURES):
        check_monotone(case, j, True)
    for features in ([0], [0, 1], [2], [0, 1, 2]):
        move = largest_move(case.rows, case.numbers, features)
        for gap in (0.0, 0.5 * move, move):
            check_sensitive(case, features, gap)


@pytest.mark.parametrize("kind", ["value", "probabilities"])
@pytest.mark.parametrize("name", ["forest", "histogram"])
def test_missing_values(kind, name):
    case = Case(kind, name, 1, gaps=(0,))
    case.domain = None
    domain = dict(missing=[0])
    for j in range(N_FEATURES):
        outcome = is_monotone(case.model, j, response=kind, domain=domain)
        assert outcome.monotone == is_monotone_in(case.rows, case.numbers, j)
    for features in ([0], [1], [0, 2]):
        move = largest_move(case.rows, case.numbers, features)
        for gap in (0.0, 0.9 * move, move):
            outcome = is_sensitive(case.model, features, gap=gap, response=kind, domain=domain)
            assert outcome.sensitive == (move > gap)


# Flips


def reaches(case, low=-np.inf, high=np.inf, column=-1):
    """Which rows have a number between two ends."""
    return lambda rows: (case.response(rows, column) >= low) & (case.response(rows, column) <= high)


def classified(case, label):
    return lambda rows: case.model.predict(rows) == label


def check_flip(case, row, accepts, *, truth=(), **asked):
    """A flip against the nearest plan of fewest changes."""
    options = dict(max_changes=2, scale=np.ones(N_FEATURES), domain=case.domain)
    found = plans(row, case.values, accepts, **{**options, **dict(truth)})
    flip = nearest_flip(case.model, row, **{**options, **asked})
    assert flip.proven
    assert bool(flip) == bool(found)
    assert repr(flip)
    if not found:
        assert flip.row is None
        return flip, found
    n = min(map(len, found))
    assert len(flip.changes) == n if case.domain is None else True
    np.testing.assert_allclose(flip.distance, min(d for s, d in found.items() if len(s) == n))
    assert accepts(flip.row[None])[0]
    return flip, found


@pytest.mark.parametrize("metric", ["l1", "l2", "linf"])
@pytest.mark.parametrize("name", VALUES)
def test_values_to_reach(name, metric):
    case = Case("value", name, 5)
    low, high = np.quantile(case.numbers, [0.2, 0.8])
    seen = set()
    for row in case.X[:3]:
        for target in ((None, low), (high, None), (high, np.inf), (low, high)):
            ends = [-np.inf if target[0] is None else target[0]]
            ends.append(np.inf if target[1] is None else target[1])
            own = case.response(row)[0]
            if ends[0] <= own <= ends[1]:
                continue
            accepts = reaches(case, *ends)
            same = dict(metric=metric)
            flip, _ = check_flip(case, row, accepts, truth=same, target=target, **same)
            seen.add(len(flip.changes) if flip else 0)
    assert seen & {1, 2}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", CLASSES)
def test_classes_and_probabilities_to_reach(name, n_classes):
    case = Case("probabilities", name, 6, n_classes=n_classes)
    for row in case.X[:2]:
        own = case.model.predict([row])[0]
        for label in case.model.classes_[case.model.classes_ != own]:
            check_flip(case, row, classified(case, label), target=label)
            if name == "adaboost" or (n_classes == 3 and name != "forest"):
                continue
            for least in (0.4, 0.7):
                if case.response(row, label)[0] < least:
                    accepts = reaches(case, low=least, column=label)
                    check_flip(case, row, accepts, target=label, min_proba=least)


def test_features_that_stay_or_move_one_way():
    found = 0
    for seed in range(2):
        case = Case("probabilities", "boosting", seed)
        for row in case.X[:4]:
            own = case.model.predict([row])[0]
            accepts = classified(case, 1 - own)
            for frozen in ([], [0], [1, 2]):
                same = dict(frozen=frozen)
                flip, _ = check_flip(case, row, accepts, truth=same, **same)
                assert not flip or not set(frozen) & set(flip.changes)
                same = dict(direction={0: "up", 1: "down"}, frozen=frozen)
                flip, _ = check_flip(case, row, accepts, truth=same, **same)
                if flip:
                    found += 1
                    assert flip.row[0] >= row[0]
                    assert flip.row[1] <= row[1]
    assert found


@pytest.mark.parametrize("seed", range(3))
def test_linked_features_are_one_change(seed):
    case = with_domain("probabilities", "forest", seed)
    for row in case.X[:8]:
        accepts = classified(case, 1 - case.model.predict([row])[0])
        for k in (1, 2):
            check_flip(case, row, accepts, truth=dict(max_changes=k), max_changes=k)


@pytest.mark.parametrize("n_plans", [1, 3, 10])
def test_the_nearest_plans(n_plans):
    case = Case("probabilities", "forest", 8)
    for row in case.X[:6]:
        accepts = classified(case, 1 - case.model.predict([row])[0])
        flip, found = check_flip(case, row, accepts, n_plans=n_plans)
        if not flip:
            continue
        # a set of features of which fewer do is no plan
        minimal = {s: d for s, d in found.items() if not any(other < s for other in found)}
        ranked = sorted((len(some), distance) for some, distance in minimal.items())
        told = [(len(plan.changes), plan.distance) for plan in flip.plans]
        np.testing.assert_allclose(told, ranked[:n_plans])
        assert len({frozenset(plan.changes) for plan in flip.plans}) == len(told)
        for plan in flip.plans:
            assert accepts(plan.row[None])[0]
            np.testing.assert_allclose(plan.distance, minimal[frozenset(plan.changes)])


def test_several_rows_are_answered_as_one_by_one():
    case = Case("probabilities", "boosting", 3)
    together = nearest_flip(case.model, case.X[:5], max_changes=2)
    for row, flip in zip(case.X[:5], together, strict=True):
        alone = nearest_flip(case.model, row, max_changes=2)
        assert (alone.distance, alone.changes) == (flip.distance, flip.changes)


# Boxes


@pytest.mark.parametrize(("kind", "name"), ALL)
def test_boxes_of_a_range_of_numbers(kind, name):
    case = Case(kind, name, 9)
    span = np.ptp(case.numbers)
    for row in case.X[:2]:
        own = case.response(row)[0]
        for within in (0.2 * span, (own - 0.1 * span, own + 0.5 * span)):
            low, high = (own - within, own + within) if np.isscalar(within) else within
            box = sufficient_box(case.model, row, within=within, response=kind)
            here = box.contains(case.rows)
            assert box.contains(row[None]).all()
            assert ((case.numbers[here] >= low) & (case.numbers[here] <= high)).all()
            assert box.maximal
            for j, known in enumerate(case.values):
                check_sides(case, box, here, j, known, (low, high))


def check_sides(case, box, here, j, known, ends):
    """Beyond each side of the box some row has a number that is out of its range."""
    others = np.delete(np.arange(N_FEATURES), j)
    single = case.rows.astype(np.float32)
    in_others = np.all(
        [(single[:, i] > box.low[i]) & (single[:, i] <= box.high[i]) for i in others], axis=0
    )
    own = case.rows[:, j]
    for beyond in (
        known[known <= box.low[j]].max(initial=-np.inf),
        known[known > box.high[j]].min(initial=np.inf),
    ):
        more = in_others & (own == beyond)
        if np.isfinite(beyond):
            numbers = case.numbers[more]
            assert ((numbers < ends[0]) | (numbers > ends[1])).any()
