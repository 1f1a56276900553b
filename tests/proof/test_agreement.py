"""agreement: intervals that hold at the stated rate, volumes against counting all cells."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from ensemble_simplify.grid._limits import counted_clock
from scipy.stats import binom
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from ensemble_simplify import Domain, agreement, verify
from ensemble_simplify.base.shares import binomial_interval
from ensemble_simplify.grid.axes import Axes
from ensemble_simplify.proof import forest_pair, volume
from ensemble_simplify.reading.forest import read_forest

X, Y = load_iris(return_X_y=True)


def models():
    forest = RandomForestClassifier(7, max_depth=4, random_state=0).fit(X[::2], Y[::2])
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[::2], Y[::2])
    return forest, tree


@pytest.mark.parametrize("n", [1, 7, 40])
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_interval_covers_the_truth_as_often_as_it_says(n, confidence):
    intervals = np.array([binomial_interval(k, n, confidence) for k in range(n + 1)])
    assert (intervals[:, 0] <= np.arange(n + 1) / n).all()
    assert (intervals[:, 1] >= np.arange(n + 1) / n).all()
    for p in np.linspace(0.01, 0.99, 60):
        covers = (intervals[:, 0] <= p) & (p <= intervals[:, 1])
        assert binom.pmf(np.arange(n + 1), n, p)[covers].sum() >= confidence - 1e-9


def volume_by_counting(one, two, low, high, integer):
    """Share of the box by the prediction of a point in every cell."""
    axes = Axes.of(read_forest(one), read_forest(two))
    middles, widths = [], []
    for j in range(len(low)):
        # trees round to float32: up to halfway to the next one, numbers are below a cut point
        cuts = axes.by_feature[j]
        after = np.nextafter(cuts.astype(np.float32), np.float32(np.inf)).astype(float)
        cuts = (cuts + after) / 2
        if integer[j]:
            values = np.arange(low[j], high[j] + 1)
            middles.append(values)
            widths.append(np.full(len(values), 1 / len(values)))
            continue
        ends = np.unique(
            np.concatenate([[low[j], high[j]], cuts[(low[j] < cuts) & (cuts < high[j])]])
        )
        middles.append((ends[1:] + ends[:-1]) / 2)
        widths.append(np.diff(ends) / (high[j] - low[j]))
    points = np.stack(np.meshgrid(*middles, indexing="ij"), axis=-1).reshape(-1, len(low))
    volume = widths[0]
    for width in widths[1:]:
        volume = np.multiply.outer(volume, width)
    return volume.ravel()[one.predict(points) == two.predict(points)].sum()


def test_volume_is_what_counting_all_cells_finds():
    one, two = models()
    rows = X[1::2]
    outcome = agreement(one, two, rows, volume=True, random_state=0)
    low, high = outcome.box
    np.testing.assert_array_equal(low, rows.min(axis=0))
    np.testing.assert_array_equal(high, rows.max(axis=0))
    truth = volume_by_counting(one, two, low, high, np.zeros(4, bool))
    assert outcome.is_read
    assert outcome.volume[0] - 1e-9 <= truth <= outcome.volume[1] + 1e-9
    assert outcome.volume[1] - outcome.volume[0] < 1e-9
    assert abs(outcome.volume_estimate - truth) < 0.01
    same = one.predict(rows) == two.predict(rows)
    assert outcome.share == same.mean()
    assert outcome.n_different == (~same).sum()


def test_a_column_of_one_number_takes_no_volume_away():
    X, y = load_iris(return_X_y=True)
    models = [
        RandomForestClassifier(3, max_depth=3, random_state=seed).fit(X[::2], y[::2])
        for seed in (0, 1)
    ]
    rows = X.copy()
    rows[:, :3] = 0.1, 3.3, 5.1  # float32 has none of these
    outcome = agreement(*models, rows, volume=True, random_state=0)
    points = np.tile(rows[:1], (100_000, 1))
    points[:, 3] = np.random.default_rng(0).uniform(rows[:, 3].min(), rows[:, 3].max(), 100_000)
    share = np.mean(models[0].predict(points) == models[1].predict(points))
    assert outcome.volume[0] == outcome.volume[1] == pytest.approx(share, abs=0.01)
    assert 0 < share < 1
    # the box of one row is that row
    for row in rows[[0, 60, 100]]:
        same = models[0].predict(row[None]) == models[1].predict(row[None])
        assert agreement(*models, row[None], volume=True).volume == (same[0], same[0])


def test_domain_bounds_and_integers():
    one, two = models()
    domain = Domain(bounds={0: (4, 8), 1: (2, 5), 2: (1, 7), 3: (0, 3)}, integers=[1, 3])
    outcome = agreement(one, two, domain=domain, random_state=0)
    low, high = np.array([4.0, 2, 1, 0]), np.array([8.0, 5, 7, 3])
    truth = volume_by_counting(one, two, low, high, np.array([False, True, False, True]))
    np.testing.assert_allclose(outcome.volume, truth, atol=1e-9)
    assert abs(outcome.volume_estimate - truth) < 0.01
    assert np.isnan(outcome.share)
    assert outcome.interval == (0.0, 1.0)


def test_bounds_hold_before_they_meet():
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(300, 6)), rng.integers(0, 2, 300)
    one = RandomForestClassifier(10, max_depth=5, random_state=0).fit(A, b)
    two = RandomForestClassifier(10, max_depth=5, random_state=1).fit(A, b)
    with counted_clock(100.0):
        outcome = agreement(one, two, A, time_limit=1e4, random_state=0)
    assert 0 <= outcome.volume[0] <= outcome.volume_estimate <= outcome.volume[1] <= 1


def test_the_effort_goes_with_the_rows(monkeypatch):
    one, two = models()
    asked = []
    count = np.random.default_rng(0).permutation(np.tile(X, (20, 1)))
    monkeypatch.setattr(volume, "LEAST_ROWS", 1)
    for rows in (count[:50], count[:400]):
        outcome = agreement(one, two, rows, random_state=0)
        full = agreement(one, two, rows, volume=True, random_state=0)
        # less was looked at: the bounds are wider, and hold the exact share
        assert outcome.box[0].tolist() == full.box[0].tolist()
        low, high = outcome.volume
        assert low - 1e-12 <= full.volume[0] == full.volume[1] <= high + 1e-12
        low, high = outcome.volume_interval
        asked.append((outcome.volume[1] - outcome.volume[0], high - low))
    assert asked[0][0] > asked[1][0]
    assert asked[0][1] > 2 * asked[1][1]
    # between the two ends there is no proof, and the text says so
    assert "at confidence 0.95; " in repr(agreement(one, two, count[:50], random_state=0))


def test_counterexamples_are_some():
    one, two = models()
    outcome = agreement(one, two, X[1::2], volume=True, random_state=0)
    assert len(outcome.counterexamples) == len(outcome.predictions) == 10
    for row, (first, second) in zip(outcome.counterexamples, outcome.predictions, strict=True):
        assert one.predict([row])[0] == first != second == two.predict([row])[0]
    frame = outcome.to_frame()
    assert list(frame["model_a"]) == [first for first, _ in outcome.predictions]


def test_repr_tells_shares_in_per_cent():
    one, two = models()
    outcome = agreement(one, two, X[1::2], volume=True, random_state=0)
    assert f"the same answer on {100 * outcome.share:.1f} % of {len(X[1::2])} rows" in repr(outcome)
    assert "of the volume (proven)" in repr(outcome)
    same = agreement(one, one, X[1::2], volume=True, random_state=0)
    assert "the same answer on 100 % of the volume (proven)" in repr(same)
    # what is not all, or not none, is not rounded to it
    nearly = replace(outcome, share=1.0 - 1e-9, volume=(1e-9, 1.0 - 1e-9))
    assert "on more than 99.9 % of" in repr(nearly)
    assert "; proven: less than 0.1 % to more than 99.9 %)" in repr(nearly)
    assert "rows" not in repr(replace(outcome, n_rows=0))


def test_any_predictor_is_sampled():
    linear = LogisticRegression(max_iter=1000).fit(X, Y)
    outcome = agreement(linear, models()[0], X[1::2], random_state=0)
    assert not outcome.is_read
    assert outcome.volume == outcome.volume_interval
    assert outcome.volume[0] < outcome.volume_estimate < outcome.volume[1]


def test_what_is_not_bounded_is_refused():
    one, two = models()
    with pytest.raises(ValueError, match="Nothing bounds feature 0"):
        agreement(one, two)
    with pytest.raises(ValueError, match="groups or implications"):
        agreement(one, two, domain=Domain(one_hot=[[0, 1]]))
    other = DecisionTreeClassifier().fit(X[:, :2], Y)
    with pytest.raises(ValueError, match="fitted on 4 features, but model_b on 2"):
        agreement(one, other, X)


def test_a_proof_that_cannot_begin_in_time_is_not_begun(monkeypatch):
    one, two = models()
    monkeypatch.setattr(forest_pair, "NODE_SECONDS", 1e6)
    with pytest.warns(ConvergenceWarning, match="before a proof can begin"):
        outcome = agreement(one, two, X[1::2], time_limit=1e3, volume=True, random_state=0)
    assert outcome.volume == (0.0, 1.0)
    assert outcome.share == (one.predict(X[1::2]) == two.predict(X[1::2])).mean()
    with pytest.warns(ConvergenceWarning, match="before a proof can begin"):
        proof = verify(one, two, time_limit=1e3)
    assert proof.equal is None
    assert proof.reason == "time"
    # without a limit there is nothing to be late for
    assert verify(one, two).equal is False
    assert agreement(one, two, X[1::2], volume=True, random_state=0).volume != (0.0, 1.0)


def test_few_points_are_drawn_where_the_time_is_up():
    one, two = models()
    outcome = agreement(one, two, X[1::2], time_limit=1e-9, random_state=0)
    assert outcome.n_rows == len(X[1::2])
    low, high = outcome.volume_interval
    assert 0.01 < high - low < 0.1  # of a thousand
