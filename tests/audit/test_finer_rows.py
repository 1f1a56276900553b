"""Rows with numbers between a threshold and the next float32, which only doubles tell apart."""

import numpy as np
import pandas as pd
import pytest
from oracles import seconds, with_later_thresholds
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

from ensemble_simplify import is_monotone, nearest_flip, sufficient_box
from ensemble_simplify.audit._audited import Audited

X, Y = seconds()


def boosted(rows=X, **options):
    """A pipeline, which is followed on what float32 represents, that compares float64 numbers."""
    options = {"max_iter": 10, "max_leaf_nodes": 8, "random_state": 0, **options}
    return make_pipeline(FunctionTransformer(), HistGradientBoostingClassifier(**options)).fit(
        rows, Y
    )


def finer_rows(model):
    """Rows that the model answers otherwise once they are rounded."""
    found = np.flatnonzero(model.predict(X) != model.predict(X.astype(np.float32)))
    assert found.size
    return X[found]


@pytest.mark.parametrize("frame", [False, True])
def test_a_box_has_the_class_of_the_row(frame):
    rows = pd.DataFrame(X, columns=["second", "other"]) if frame else X
    model = boosted(rows)
    rng = np.random.RandomState(0)
    some = np.tile(X, (20, 1)) + np.column_stack(
        [rng.uniform(-200, 200, 20 * len(X)), np.zeros(20 * len(X))]
    )
    for row in finer_rows(model):
        own = model.predict(row[None])[0]
        box = sufficient_box(model, pd.DataFrame([row], columns=rows.columns) if frame else row)
        assert box.label == own
        assert (model.predict(some)[box.contains(some)] == own).all()
        # and so says the rule, of doubles
        if 0 in box.features or "second" in box.features:
            low = float(np.nextafter(np.float32(box.low[0]), np.float32(np.inf)))
            ends = [box.high[0]] if np.isfinite(box.high[0]) else []
            ends += [low] if np.isfinite(box.low[0]) else []
            for end in ends:
                assert str(int(end)) in str(box) or f"{end:.9g}" in str(box)
                at = np.array([[end, row[1]]])
                assert model.predict(at)[0] == own


@pytest.mark.parametrize("frame", [False, True])
def test_a_flip_changes_the_row_as_it_was_given(frame):
    rows = pd.DataFrame(X, columns=["second", "other"]) if frame else X
    model = boosted(rows)
    for row in finer_rows(model):
        flip = nearest_flip(model, pd.DataFrame([row], columns=rows.columns) if frame else row)
        before, after = flip.predictions
        assert before == model.predict(row[None])[0]
        changed = np.asarray(flip.row)
        assert after == model.predict(changed[None])[0] != before
        differ = np.flatnonzero(changed != row)
        names = ["second", "other"] if frame else [0, 1]
        assert list(flip.changes) == [names[j] for j in differ]
        for j in differ:
            assert flip.changes[names[j]] == (row[j], changed[j])


def test_a_row_that_no_rounded_one_stands_for_is_refused():
    """Two thresholds between the same two float32 numbers, and a class of its own between them."""
    second = 1_700_000_000 + 128.0 * np.arange(64)
    y = (np.arange(64) >= 32).astype(int)
    model = HistGradientBoostingClassifier(max_iter=1, max_leaf_nodes=2, min_samples_leaf=1)
    whole = make_pipeline(FunctionTransformer(), model).fit(second[:, None], y)
    one, two = whole[-1], with_later_thresholds(whole)[-1]
    # the first tree puts the change early, the second, turned round, late
    flipped = two._predictors[0][0].nodes
    leaf = flipped["is_leaf"] == 1
    flipped["value"][leaf] *= -1.0
    one._predictors.append(two._predictors[0])
    one._baseline_prediction = one._baseline_prediction * 0.0 + np.array([[-1e-9]])
    threshold = one._predictors[0][0].nodes["num_threshold"][0]
    row = np.array([threshold + 1.0])
    rounded = row.astype(np.float32)
    assert one.predict(row[None])[0] != one.predict(rounded[None])[0]
    for ask in (sufficient_box, nearest_flip):
        with pytest.raises(ValueError, match="lie between a threshold and the next float32"):
            ask(whole, row)
        assert ask(whole, rounded.astype(float)) is not None
        # without the pipeline, all doubles are told apart
        assert ask(one, row) is not None


def test_what_is_proven_is_said():
    model = boosted()
    flat = DecisionTreeClassifier(max_depth=1).fit(X[:, 1:], Y)
    assert "proven for every input;" in repr(is_monotone(flat, 0, increasing=False))
    constant = boosted(max_iter=3, monotonic_cst=[0, 1])
    outcome = is_monotone(constant, 1)
    assert outcome
    assert "proven for every input that float32 represents;" in repr(outcome)
    assert "proven for every input;" in repr(is_monotone(constant[-1], 1))
    for kind, finer in ((model, True), (DecisionTreeClassifier(max_depth=3).fit(X, Y), False)):
        flips = [nearest_flip(kind, row, features=[1]) for row in X[:20]]
        none = next(flip for flip in flips if not flip and flip.proven)
        assert ("to numbers that float32 represents flips" in repr(none)) == finer


def test_a_monotonicity_is_refuted_by_rows_as_returned():
    model = boosted()
    outcome = is_monotone(model, 0)
    assert outcome.monotone is False
    assert tuple(model.predict(outcome.counterexample)) == outcome.predictions


def test_rows_of_models_that_round_are_kept():
    forest = RandomForestClassifier(5, random_state=0).fit(X, Y)
    row = X[3] + np.array([0.3, 1e-12])
    audited = Audited(forest, None, row).on(0)
    np.testing.assert_array_equal(audited.row, row)
    assert audited.answer == forest.predict(row[None])[0]
