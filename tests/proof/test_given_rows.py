"""What is said of rows is what the models answer to them as they are given."""

import copy

import numpy as np
import pandas as pd
import pytest
from oracles import seconds, with_later_thresholds
from sklearn.datasets import load_iris
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ensemble_simplify import Domain, agreement, verify
from ensemble_simplify.base import rows as base_rows
from ensemble_simplify.reading.sample import N_ROWS


def boosted(kind=HistGradientBoostingClassifier, frame=False):
    """Rows, and two pipelines that answer alike where float32 represents the row."""
    X, y = seconds()
    if frame:
        X = pd.DataFrame(X, columns=["second", "other"])
    model = make_pipeline(
        FunctionTransformer(), kind(max_iter=10, max_leaf_nodes=8, random_state=0)
    ).fit(X, y)
    return X, model, with_later_thresholds(model)


@pytest.mark.parametrize("max_changes", [0, 1, 2])
@pytest.mark.parametrize("frame", [False, True])
def test_a_row_that_only_doubles_tell_is_found(max_changes, frame):
    X, a, b = boosted(frame=frame)
    assert (a.predict(X) != b.predict(X)).any()
    single = X.astype(np.float32)
    assert (a.predict(single) == b.predict(single)).all()
    outcome = verify(a, b, X=X, max_changes=max_changes)
    assert outcome.equal is False
    first = np.flatnonzero(a.predict(X) != b.predict(X))[0]
    assert outcome.row == first
    np.testing.assert_array_equal(outcome.counterexample, np.asarray(X)[first])
    row = np.asarray(X)[first : first + 1]
    assert outcome.predictions == (a.predict(row)[0], b.predict(row)[0])
    assert f"[{int(row[0, 0])}, " in repr(outcome)
    # where no row tells, only what float32 represents is claimed near rows
    alike = X[a.predict(X) == b.predict(X)]
    outcome = verify(a, b, X=alike, max_changes=max_changes)
    assert outcome
    said = "proven for every row of X"
    if max_changes:
        said += ", and every input that float32 represents that differs from a row of X in at most"
    assert said in repr(outcome)
    assert "every finite input" not in repr(outcome)


def test_numbers_of_rows_count():
    X, a, b = boosted(HistGradientBoostingRegressor)
    apart = np.abs(a.predict(X) - b.predict(X))
    for max_changes in (0, 1):
        outcome = verify(a, b, X=X, max_changes=max_changes, atol=apart.max())
        assert outcome
        assert outcome.max_difference == apart.max() <= outcome.max_difference_bound
        outcome = verify(a, b, X=X, max_changes=max_changes, atol=np.nextafter(apart.max(), 0))
        assert outcome.equal is False
        np.testing.assert_array_equal(outcome.counterexample, X[apart.argmax()])
        assert abs(outcome.predictions[0] - outcome.predictions[1]) == apart.max()
        assert outcome.max_difference == apart.max() <= outcome.max_difference_bound


def test_probabilities_of_rows_count():
    X, a, b = boosted()
    apart = np.abs(a.predict_proba(X) - b.predict_proba(X)).max(axis=1)
    for max_changes in (0, 1):
        outcome = verify(a, b, X=X, max_changes=max_changes, atol=apart.max() / 2)
        assert outcome.equal is False
        assert outcome.row == np.flatnonzero(apart > apart.max() / 2)[0]
        np.testing.assert_array_equal(outcome.counterexample, X[outcome.row])
        assert outcome.max_difference == apart.max()


def test_what_is_proven_everywhere_is_said():
    X, a, b = boosted()
    y = a.predict(X)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    outcome = verify(a, b)
    assert outcome.finer
    assert "proven for every input that float32 represents;" in repr(outcome)
    domain = {"bounds": {0: (0, 1e10)}}
    text = repr(verify(a, b, domain=domain))
    assert "proven for every input that float32 represents, in the domain;" in text
    # these compare all doubles, or round to float32 themselves
    assert verify(a[-1], b[-1]).equal is False
    outcome = verify(a[-1], a[-1])
    assert not outcome.finer
    assert "proven for every finite input;" in repr(outcome)
    outcome = verify(tree, tree)
    assert not outcome.finer
    assert "proven for every finite input;" in repr(outcome)
    assert "every row of X;" in repr(verify(tree, tree, X=X, max_changes=0))


def test_the_majority_of_trees_is_counted_on_rows_as_given():
    X, y = seconds()
    forest = make_pipeline(MinMaxScaler(), RandomForestClassifier(5, random_state=0)).fit(X, y)
    rng = np.random.RandomState(0)
    X = X + np.column_stack([rng.uniform(0, 1, len(X)), np.zeros(len(X))])
    other = DecisionTreeClassifier(random_state=0).fit(X, y)
    scaled = forest[0].transform(X)
    votes = np.mean([tree.predict(scaled) for tree in forest[-1].estimators_], axis=0)
    apart = np.flatnonzero((votes > 0.5) != other.predict(X))
    outcome = verify(forest, other, voting="hard", X=X, max_changes=0)
    assert outcome.row == apart[0]
    same = np.setdiff1d(np.arange(len(X)), apart)
    assert verify(forest, other, voting="hard", X=X[same], max_changes=0)


def test_each_model_is_asked_once(monkeypatch):
    X, a, b = boosted()
    asked = []
    predict = HistGradientBoostingClassifier.predict

    def counted(self, rows):
        asked.append((self is a[-1], len(rows)))
        return predict(self, rows)

    monkeypatch.setattr(base_rows, "BATCH", 100)
    alike = X[a.predict(X) == b.predict(X)]
    monkeypatch.setattr(HistGradientBoostingClassifier, "predict", counted)
    assert verify(a, b, X=alike, max_changes=0)
    for first in (True, False):
        # and about the sample of a model whose predict was replaced
        asked_of = sum(n for is_first, n in asked if is_first == first)
        assert len(alike) <= asked_of <= len(alike) + N_ROWS
    assert max(n for _, n in asked) == 100


def test_time_is_up_between_batches(monkeypatch):
    X, a, b = boosted()
    alike = X[a.predict(X) == b.predict(X)]
    monkeypatch.setattr(base_rows, "BATCH", 1)
    for atol in (None, 1.0):
        for max_changes in (0, 1):
            outcome = verify(a, b, X=alike, max_changes=max_changes, atol=atol, time_limit=1e-9)
            assert outcome.equal is None
            assert outcome.reason == "time"


def test_a_row_on_the_rim_of_the_domain_is_inside():
    X, y = load_iris(return_X_y=True)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    row = X[:1].copy()
    row[0, 0] = 0.1
    # float32 rounds it up
    assert float(np.float32(0.1)) > 0.1
    for max_changes in (0, 1):
        assert verify(tree, tree, X=row, max_changes=max_changes, domain={"bounds": {0: (0, 0.1)}})


def test_volume_leaves_open_what_float32_does_not_tell():
    X, a, b = boosted()
    outcome = agreement(a, b, X, volume=True, random_state=0)
    assert outcome.n_different == (a.predict(X) != b.predict(X)).sum() > 0
    np.testing.assert_array_equal(outcome.counterexamples[0], X[a.predict(X) != b.predict(X)][0])
    low, high = outcome.volume
    points = np.random.RandomState(1).uniform(*outcome.box, size=(100_000, 2))
    truth = (a.predict(points) == b.predict(points)).mean()
    assert low <= truth < high
    assert low < 1
    # one threshold takes at most one gap of 128 seconds
    thresholds = {float(np.float32(t)) for t in np.unique(thresholds_of(a, 0))}
    assert low >= 1 - len(thresholds) * 128 / (outcome.box[1][0] - outcome.box[0][0]) - 1e-3
    assert "100 % of the volume (proven)" not in repr(outcome)
    assert abs(outcome.volume_estimate - truth) < 0.01


def test_volume_of_models_that_compare_doubles_is_exact():
    X, a, b = boosted()
    a, b = a[-1], b[-1]
    outcome = agreement(a, b, X, volume=True, random_state=0)
    low, high = outcome.volume
    points = np.random.RandomState(1).uniform(*outcome.box, size=(100_000, 2))
    truth = (a.predict(points) == b.predict(points)).mean()
    assert low == high < 1
    assert low == pytest.approx(truth, abs=2e-3)


def thresholds_of(model, feature):
    nodes = np.concatenate([tree.nodes for trees in model[-1]._predictors for tree in trees])
    return nodes["num_threshold"][(nodes["is_leaf"] == 0) & (nodes["feature_idx"] == feature)]


def test_volume_counts_what_is_rounded_where_float32_is_coarse():
    X, y = seconds()
    one = RandomForestClassifier(5, max_depth=4, random_state=0).fit(X, y)
    two = RandomForestClassifier(5, max_depth=4, random_state=1).fit(X, y)
    outcome = agreement(one, two, X, volume=True, random_state=0)
    assert outcome.volume[0] == outcome.volume[1] < 1
    # every second is rounded the same way as its neighbours: count them all
    low, high = outcome.box
    second = np.linspace(low[0], high[0], 4001)
    middle = (second[1:] + second[:-1]) / 2
    cuts = {
        t
        for forest in (one, two)
        for tree in forest
        for t in tree.tree_.threshold[tree.tree_.feature == 1]
    }
    ends = np.array([low[1], *sorted(t for t in cuts if low[1] < t < high[1]), high[1]])
    other = (ends[1:] + ends[:-1]) / 2
    rows = np.stack(np.meshgrid(middle, other, indexing="ij"), axis=-1).reshape(-1, 2)
    alike = (one.predict(rows) == two.predict(rows)).reshape(len(middle), len(other))
    truth = (alike @ np.diff(ends)).sum() / len(middle) / (high[1] - low[1])
    assert outcome.volume[0] == pytest.approx(truth, abs=2e-3)


def test_whole_numbers_are_counted_as_they_are_rounded():
    X, y = seconds()
    one = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X[:, :1], y)
    two = DecisionTreeClassifier(max_depth=3, random_state=1).fit(X[:300, :1], y[:300])
    domain = {"bounds": {0: (1_700_000_000, 1_700_040_000)}, "integers": [0]}
    outcome = agreement(one, two, domain=domain, random_state=0)
    every = np.arange(1_700_000_000, 1_700_040_001)[:, None].astype(float)
    truth = (one.predict(every) == two.predict(every)).mean()
    assert outcome.volume == pytest.approx((truth, truth), abs=1e-12)


@pytest.mark.parametrize("kind", [int, float])
def test_a_counterexample_of_a_frame_is_a_row_that_can_be_if_there_is_one(kind):
    """A difference between two whole numbers is none of a table of whole numbers."""
    X = pd.DataFrame({"price": np.arange(100, 140), "other": np.arange(40) % 5}).astype(kind)
    one = DecisionTreeRegressor(max_leaf_nodes=2).fit(X, X.price > 119)
    between, beside = copy.deepcopy(one), copy.deepcopy(one)
    between.tree_.threshold[0] += 0.2  # from 119.5 to 119.7
    outcome = verify(one, between, X=X, max_changes=1)
    assert outcome.equal is False
    assert 119.5 < np.ravel(outcome.counterexample)[0] <= 119.75
    assert verify(one, between, X=X, max_changes=1, domain=Domain.from_rows(X))
    beside.tree_.threshold[0] += 3.2
    far = X.iloc[:20]
    outcome = verify(one, beside, X=far, max_changes=1)
    assert np.ravel(outcome.counterexample)[0] in (120, 121, 122)
    # an array says nothing of the kind
    outcome = verify(one, beside, X=far.to_numpy(float), max_changes=1)
    assert outcome.equal is False
