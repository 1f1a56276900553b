"""Boxes in which a value or a probability stays in a range, against the model on every cell."""

import itertools

import numpy as np
import pytest
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeRegressor

from ensemble_simplify import sufficient_box

MODELS = {
    "boosting": GradientBoostingRegressor(n_estimators=5, max_depth=2, random_state=0),
    "forest": RandomForestRegressor(4, max_depth=3, random_state=0),
    "extra": ExtraTreesRegressor(3, max_depth=3, random_state=0),
    "tree": DecisionTreeRegressor(max_depth=4, random_state=0),
    "boosted classes": GradientBoostingClassifier(n_estimators=5, max_depth=2, random_state=0),
    "forest of classes": RandomForestClassifier(4, max_depth=3, random_state=0),
}


def fitted(kind, seed, n_classes=2):
    """A model, some rows, what it answers, and the cut points of its trees by feature."""
    rng = np.random.default_rng(seed)
    X = rng.integers(5, size=(90, 3)) + rng.integers(2, size=(90, 3)) * 0.5
    y = X @ [1.0, -0.8, 0.6] + X[:, 0] * X[:, 1] / 3 + rng.normal(0, 0.3, 90)
    if "classes" in kind:
        y = np.array(["a", "b", "c"])[np.digitize(y, np.quantile(y, [0.4, 0.7][: n_classes - 1]))]
    model = MODELS[kind].fit(X, y)
    trees = getattr(model, "estimators_", [model])
    cuts = [set() for _ in range(3)]
    for tree in trees.ravel() if hasattr(trees, "ravel") else trees:
        for j, threshold in zip(tree.tree_.feature, tree.tree_.threshold, strict=True):
            if j >= 0:
                cuts[j].add(float(threshold))
    return model, X, [np.array(sorted(own)) for own in cuts]


def cells_of(cuts):
    """A row of float32 numbers in every cell, the largest of each."""
    values = []
    for own in cuts:
        last = own.astype(np.float32)
        last = np.where(last > own, np.nextafter(last, np.float32(-np.inf)), last)
        values.append(np.append(last.astype(float), 99.0))
    return values, np.array(list(itertools.product(*values)))


def check(box, row, values, cells, answers):
    """Check that all cells of a box are answered in its range, and some beyond each side not."""
    low, high = box.within
    within = (answers >= low) & (answers <= high)
    inside = box.contains(cells)
    assert box.contains(row[None]).all()
    assert inside.any()
    assert within[inside].all()
    assert box.maximal
    n_sides = 0
    for j, own in enumerate(values):
        of_others = np.delete((box.low < cells) & (cells <= box.high), j, axis=1).all(axis=1)
        here = (own > box.low[j]) & (own <= box.high[j])
        for beyond in (np.flatnonzero(here)[0] - 1, np.flatnonzero(here)[-1] + 1):
            if 0 <= beyond < len(own):
                n_sides += 1
                slab = of_others & (cells[:, j] == own[beyond])
                assert not within[slab].all()
    assert bool(n_sides) == bool(box.features)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", [kind for kind in MODELS if "classes" not in kind])
def test_values(kind, seed):
    model, X, cuts = fitted(kind, seed)
    values, cells = cells_of(cuts)
    answers, rng = model.predict(cells), np.random.default_rng(seed)
    for row in X[:5]:
        own = model.predict(row[None])[0]
        distance = float(rng.choice(np.abs(answers - own)))
        box = sufficient_box(model, row, within=distance, random_state=seed or None)
        check(box, row, values, cells, answers)
        # the range is that of all doubles that are not further away
        assert (np.abs(answers - own) <= distance).tolist() == (
            (answers >= box.within[0]) & (answers <= box.within[1])
        ).tolist()
        assert box.label == own
        above = float(rng.choice(answers[answers >= own]))
        below = None if seed == 1 else float(rng.choice(answers[answers <= own]))
        box = sufficient_box(model, row, within=(below, above))
        assert box.within == (-np.inf if below is None else below, above)
        check(box, row, values, cells, answers)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    ("kind", "n_classes"),
    [("boosted classes", 2), ("forest of classes", 2), ("forest of classes", 3)],
)
def test_probabilities(kind, n_classes, seed):
    model, X, cuts = fitted(kind, seed, n_classes)
    values, cells = cells_of(cuts)
    shares, rng = model.predict_proba(cells), np.random.default_rng(seed)
    for row in X[:5]:
        column = int(rng.integers(len(model.classes_)))
        name = model.classes_[column]
        own = model.predict_proba(row[None])[0, column]
        high = float(rng.choice(shares[shares[:, column] >= own, column]))
        low = float(rng.choice(shares[shares[:, column] <= own, column]))
        for within in ((low, high), (low, None), 0.1):
            box = sufficient_box(model, row, within=within, response="probabilities", positive=name)
            check(box, row, values, cells, shares[:, column])
            assert box.label == own
            assert f"probability of {str(name)!r}" in repr(box)


def test_the_upper_of_two_classes_is_meant():
    model, X, _ = fitted("boosted classes", 0)
    assert len(model.classes_) == 2
    upper = sufficient_box(model, X[0], within=0.05, response="probabilities")
    assert upper.label == model.predict_proba(X[:1])[0, 1]


def test_ranges_without_an_end_in_the_range_of_answers_need_no_condition():
    model, X, _ = fitted("boosting", 0)
    box = sufficient_box(model, X[0], within=(None, 1e9))
    assert box.features == []
    assert box.maximal
    assert "value <= 1e+09 wherever every input" in repr(box)


def test_a_box_of_one_value_holds_that_value():
    model, X, cuts = fitted("tree", 0)
    box = sufficient_box(model, X[0], within=0)
    values, cells = cells_of(cuts)
    check(box, X[0], values, cells, model.predict(cells))
    assert box.within == (box.label, box.label)


def test_bad_parameters():
    value, X, _ = fitted("boosting", 0)
    model, _, _ = fitted("forest of classes", 0, 3)
    boosted = GradientBoostingClassifier(n_estimators=2).fit(X, np.arange(90) % 3)
    assert len(model.classes_) == 3
    for text, kind, options in [
        ("within=None, but a number is asked about", value, {}),
        ("the class is asked about. Set response='probabilities'", model, {"within": 0.1}),
        ("the class is asked about. Set response='probabilities'", model, {"positive": "a"}),
        (
            "Name the one whose probability counts",
            model,
            {"response": "probabilities", "within": 0.1},
        ),
        (
            "positive='q' is not one of the classes",
            model,
            {"response": "probabilities", "within": 0.1, "positive": "q"},
        ),
        ("is no range", value, {"within": (2, 1)}),
        ("Give a range that holds it", value, {"within": (1e6, None)}),
        ("The 'within' parameter", value, {"within": -1.0}),
    ]:
        with pytest.raises(ValueError, match=text):
            sufficient_box(kind, X[0], **options)
    with pytest.raises(TypeError, match="is a regressor"):
        sufficient_box(value, X[0], response="class")
    with pytest.raises(TypeError, match="is a classifier"):
        sufficient_box(model, X[0], response="value", within=1)
    with pytest.raises(TypeError, match="no function of one sum"):
        sufficient_box(boosted, X[0], response="probabilities", positive=1, within=0.1)
