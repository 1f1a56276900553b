"""Boxes of a proof against every cell of a small space."""

from itertools import product

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
from sklearn.frozen import FrozenEstimator

from ensemble_simplify import BornAgainClassifier, Domain, is_sensitive, verify
from ensemble_simplify.evidence import partition


def drawn(seed, n_classes=2, n_features=3):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, size=(60, n_features)).astype(float)
    return X, rng.integers(0, n_classes, size=60)


def at(boxes, point):
    """The node of the box that a point lies in."""
    node = 0
    while boxes.column[node] >= 0:
        goes_left = point[boxes.column[node]] <= boxes.end[node]
        node = boxes.left[node] if goes_left else boxes.right[node]
    return node


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_every_cell_lies_in_a_box_with_its_answer(seed, n_classes):
    X, y = drawn(seed, n_classes)
    forest = RandomForestClassifier(4, max_depth=3, random_state=seed).fit(X, y)
    tree = BornAgainClassifier(FrozenEstimator(forest), random_state=0).fit(X, y)
    boxes = partition(verify(forest, tree).claim)
    points = np.array(list(product(range(5), repeat=3)), dtype=float)
    for point, label in zip(points, forest.predict(points), strict=True):
        answer = boxes.answer[at(boxes, point)]
        assert answer in (-1, label)
    assert boxes.n_boxes == ((boxes.column < 0) & (boxes.answer > -2)).sum()
    assert (boxes.answer[boxes.column < 0] >= 0).any()


def test_leads_are_no_larger_than_those_of_any_point():
    X, y = drawn(0)
    forest = RandomForestClassifier(5, max_depth=2, random_state=0).fit(X, y)
    tree = BornAgainClassifier(FrozenEstimator(forest), random_state=0).fit(X, y)
    boxes = partition(verify(forest, tree).claim)
    points = np.array(list(product(range(5), repeat=3)), dtype=float)
    shares = np.sort(forest.predict_proba(points), axis=1)
    leads = shares[:, -1] - shares[:, -2]
    told = [boxes.bound[at(boxes, point)] for point in points]
    stated = ~np.isnan(told)
    assert stated.any()
    assert (np.array(told)[stated] <= leads[stated] + 1e-12).all()


def test_what_is_outside_the_domain_does_not_count():
    rng = np.random.default_rng(0)
    group = np.eye(3)[rng.integers(0, 3, size=60)]
    X = np.column_stack([group, rng.integers(0, 4, size=60)]).astype(float)
    y = rng.integers(0, 2, size=60)
    domain = Domain(one_hot=[[0, 1, 2]], bounds={3: (0, 3)}, integers=[3])
    forest = RandomForestClassifier(4, max_depth=3, random_state=0).fit(X, y)
    tree = BornAgainClassifier(FrozenEstimator(forest), domain=domain, random_state=0).fit(X, y)
    boxes = partition(verify(forest, tree, domain=domain).claim)
    leaf = boxes.column < 0
    assert (boxes.answer[leaf] == -2).any()
    for j, value in product(range(3), range(4)):
        point = np.append(np.eye(3)[j], value)
        assert boxes.answer[at(boxes, point)] in (-1, forest.predict(point[None])[0])


def test_domains_are_saved(tmp_path):
    X, y = drawn(1)
    domain = Domain(bounds={0: (0, 4), 1: (None, 4.5)}, integers=[0], missing=[])
    forest = RandomForestClassifier(4, max_depth=3, random_state=0).fit(X, y)
    tree = BornAgainClassifier(FrozenEstimator(forest), domain=domain, random_state=0).fit(X, y)
    verify(forest, tree, domain=domain).save(tmp_path / "evidence.json")


def test_equal_models_take_one_box():
    X, y = drawn(2)
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    from_arrays = verify(forest, forest).claim
    assert partition(from_arrays).n_boxes > 0
    assert partition(from_arrays, alike=True).n_boxes == 1


def test_features_of_no_weight_take_few_boxes():
    X, _ = drawn(3)
    y = X[:, 0] + 0.01 * X[:, 1]
    model = GradientBoostingRegressor(n_estimators=30, max_depth=2, random_state=0).fit(X, y)
    outcome = is_sensitive(model, [1], gap=1.0)
    assert outcome.sensitive is False
    assert partition(outcome.claim).n_boxes < 20
