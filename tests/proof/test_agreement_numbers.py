"""agreement of numbers: every row of a small domain is put to both models, and counted."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.datasets import load_diabetes
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import r2_score
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeRegressor

from ensemble_simplify import Domain, agreement, verify
from ensemble_simplify.base.shares import quantile_interval

WHOLE = Domain(bounds={j: (0, 5) for j in range(3)}, integers="all")
EVERY = np.array(list(itertools.product(range(6), repeat=3)), dtype=np.float64)


def data(n=80, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, size=(n, 3)).astype(np.float64)
    return X, X[:, 0] + X[:, 1] * (X[:, 2] > 2) + rng.normal(size=n)


def regressors(kind, seed=0):
    X, y = data(seed=seed)
    if kind == "stumps":
        model = GradientBoostingRegressor(max_depth=1, n_estimators=12, random_state=seed)
    elif kind == "boosting":
        model = GradientBoostingRegressor(max_depth=2, n_estimators=8, random_state=seed)
    else:
        model = RandomForestRegressor(5, max_depth=3, random_state=seed)
    tree = DecisionTreeRegressor(max_leaf_nodes=6, random_state=seed)
    return model.fit(X, y), tree.fit(X, y), X


def labels(y):
    return np.digitize(y, np.quantile(y, [0.3, 0.7]))


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("kind", ["stumps", "boosting", "forest"])
@pytest.mark.parametrize("atol", [0.0, 0.3, 1.0, 20.0])
def test_values_are_counted_as_all_rows_of_the_domain_tell(kind, atol, seed):
    one, two, X = regressors(kind, seed)
    outcome = agreement(one, two, X, atol=atol, domain=WHOLE, volume=True, random_state=0)
    every = np.abs(one.predict(EVERY) - two.predict(EVERY))
    assert outcome.is_read
    low, high = outcome.volume
    assert low == high == pytest.approx((every <= atol).mean(), abs=1e-12)
    assert outcome.max_difference == every.max()
    assert every.max() <= outcome.max_difference_bound <= every.max() * (1 + 1e-5) + 1e-9
    apart = np.abs(one.predict(X) - two.predict(X))
    np.testing.assert_array_equal(outcome.differences, apart)
    assert outcome.share == pytest.approx((apart <= atol).mean())
    assert outcome.n_different == (apart > atol).sum()
    assert outcome.r2 == pytest.approx(r2_score(one.predict(X), two.predict(X)))


def test_bounds_hold_between_all_numbers_of_the_box():
    one, two, X = regressors("boosting")
    outcome = agreement(one, two, X, atol=0.5, volume=True, random_state=0)
    ends = []
    for j in range(3):
        cuts = [tree.tree_ for tree in (*one.estimators_.ravel(), two)]
        cuts = np.unique(np.concatenate([t.threshold[t.feature == j] for t in cuts]))
        beside = np.nextafter(cuts.astype(np.float32), np.float32(np.inf)).astype(np.float64)
        ends.append(np.unique([0.0, 5.0, *cuts, *beside]))
    points = np.array(list(itertools.product(*ends)))
    apart = np.abs(one.predict(points) - two.predict(points))
    assert outcome.max_difference == apart.max() <= outcome.max_difference_bound
    # thresholds are half-way between whole numbers: each cell is as wide as its ends say
    volume = np.ones(1)
    middles = []
    for own in ends:
        cuts = np.unique([0.0, 5.0, *own[np.isclose(own % 1, 0.5) & (own % 1 <= 0.5)]])
        middles.append((cuts[1:] + cuts[:-1]) / 2)
        volume = np.multiply.outer(volume, np.diff(cuts) / 5).ravel()
    points = np.array(list(itertools.product(*middles)))
    alike = np.abs(one.predict(points) - two.predict(points)) <= 0.5
    assert outcome.volume[0] - 1e-6 <= volume[alike].sum() <= outcome.volume[1] + 1e-6
    assert outcome.volume[1] - outcome.volume[0] < 1e-6
    assert abs(outcome.volume_estimate - volume[alike].sum()) < 0.01


def test_bounds_that_do_not_meet_hold():
    X, y = load_diabetes(return_X_y=True)
    forest = RandomForestRegressor(10, max_depth=4, random_state=0).fit(X[::2], y[::2])
    tree = DecisionTreeRegressor(max_leaf_nodes=8, random_state=0)
    tree.fit(X[::2], forest.predict(X[::2]))
    outcome = agreement(forest, tree, X[1::2], atol="50%", volume=True, random_state=0)
    assert outcome.atol == 0.5 * forest.predict(X[1::2]).std()
    low, high = outcome.volume
    assert 0 < low < outcome.volume_interval[0]
    assert outcome.volume_interval[1] < high <= 1
    box = dict(enumerate(zip(*outcome.box, strict=True)))
    assert verify(forest, tree, atol=outcome.max_difference_bound, domain=Domain(bounds=box))
    # those furthest apart come first
    apart = np.sort(outcome.differences)[::-1]
    shown = [abs(a - b) for a, b in outcome.predictions]
    np.testing.assert_array_equal(shown, apart[:10])
    frame = outcome.to_frame()
    np.testing.assert_array_equal(np.abs(frame["model_a"] - frame["model_b"]), apart[:10])


@pytest.mark.parametrize("atol", [0.05, 0.2])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_counted_as_all_rows_of_the_domain_tell(n_classes, atol):
    X, y = data()
    y = np.minimum(labels(y), n_classes - 1)
    one = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, y)
    two = RandomForestClassifier(5, max_depth=2, random_state=1).fit(X, y)
    outcome = agreement(one, two, X, atol=atol, domain=WHOLE, volume=True, random_state=0)
    every = np.abs(one.predict_proba(EVERY) - two.predict_proba(EVERY)).max(axis=1)
    low, high = outcome.volume
    assert low == high == pytest.approx((every <= atol).mean(), abs=1e-12)
    assert outcome.max_difference == pytest.approx(every.max(), abs=1e-15)
    assert every.max() <= outcome.max_difference_bound <= every.max() + 1e-6
    assert outcome.r2 is None
    # labels are compared as before
    told = agreement(one, two, X, domain=WHOLE, volume=True, random_state=0)
    assert told.volume[0] == pytest.approx((one.predict(EVERY) == two.predict(EVERY)).mean())
    assert told.atol is told.differences is told.max_difference is None


def test_probabilities_of_boosting_are_bounded_from_below():
    X, y = data()
    y = labels(y) > 0
    one = GradientBoostingClassifier(n_estimators=8, max_depth=2, random_state=0).fit(X, y)
    two = GradientBoostingClassifier(n_estimators=6, max_depth=2, random_state=0).fit(X, y)
    outcome = agreement(one, two, X, atol=0.04, domain=WHOLE, volume=True, random_state=0)
    every = np.abs(one.predict_proba(EVERY) - two.predict_proba(EVERY)).max(axis=1)
    assert 0 < (every <= 0.04).mean() < 1
    assert outcome.volume[0] == pytest.approx((every <= 0.04).mean(), abs=1e-12)
    assert every.max() <= outcome.max_difference_bound <= every.max() + 1e-4


def test_classes_that_one_model_does_not_know_have_no_probability():
    X, y = data()
    y = labels(y)
    one = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, y)
    two = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X[y != 1], y[y != 1])
    outcome = agreement(one, two, X, atol=0.1, domain=WHOLE, volume=True, random_state=0)
    a, b = one.predict_proba(X), np.zeros((len(X), 3))
    b[:, [0, 2]] = two.predict_proba(X)
    np.testing.assert_array_equal(outcome.differences, np.abs(a - b).max(axis=1))


def test_what_cannot_be_read_is_asked():
    X, y = data()
    forest = RandomForestRegressor(3, max_depth=3, random_state=0).fit(X, y)
    line = LinearRegression().fit(X, y)
    outcome = agreement(forest, line, X, atol=1, volume=True, random_state=0)
    assert not outcome.is_read
    assert outcome.volume == outcome.volume_interval
    assert outcome.max_difference_bound == np.inf
    assert outcome.max_difference >= outcome.differences.max()
    # neither are the probabilities of boosting over three classes sums
    y = labels(y)
    boosting = GradientBoostingClassifier(n_estimators=3, random_state=0).fit(X, y)
    outcome = agreement(boosting, LogisticRegression().fit(X, y), X, atol=0.5, random_state=0)
    assert not outcome.is_read
    outcome = agreement(boosting, boosting, X, atol=0.5, volume=True, random_state=0)
    assert not outcome.is_read
    assert outcome.share == 1


def test_models_that_compare_finer_numbers_and_gaps():
    X, y = data()
    X[::7, 0] = np.nan
    one = HistGradientBoostingRegressor(max_iter=5, max_leaf_nodes=4, min_samples_leaf=5)
    two = DecisionTreeRegressor(max_leaf_nodes=5, random_state=0).fit(X, one.fit(X, y).predict(X))
    outcome = agreement(one, two, X, atol=0.5, volume=True, random_state=0)
    apart = np.abs(one.predict(X) - two.predict(X))
    np.testing.assert_array_equal(outcome.differences, apart)
    assert outcome.is_read
    assert apart.max() <= outcome.max_difference_bound
    assert outcome.volume[0] <= outcome.volume_estimate <= outcome.volume[1]
    gaps = np.where(np.arange(6 * 36).reshape(-1, 1) % 6 == [5, 9, 9], np.nan, EVERY)
    assert np.abs(one.predict(gaps) - two.predict(gaps)).max() <= outcome.max_difference_bound


def test_a_copy_is_known_as_one():
    one, _, X = regressors("forest")
    outcome = agreement(one, one, X, volume=True, random_state=0)
    assert outcome.volume == (1.0, 1.0)
    assert outcome.share == outcome.r2 == 1.0
    assert outcome.max_difference == outcome.max_difference_bound == 0.0


@pytest.mark.parametrize("n", [1, 4, 60])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_intervals_of_quantiles_cover_them_as_often_as_they_say(n, share):
    ranks = np.arange(1.0, n + 1.0)
    for confidence in (0.8, 0.95):
        low, high = quantile_interval(ranks[::-1], share, confidence)
        # of n draws, the number below the quantile decides which of them are on its two sides
        below = np.arange(n + 1)
        covers = (low <= below) & (below < high)
        assert binom.pmf(below, n, share)[covers].sum() >= confidence - 1e-12
        # the next draw inside would miss it too often
        tail = (1 - confidence) / 2
        assert binom.cdf(max(low, 0), n, share) > tail
        assert high == np.inf or binom.sf(high - 2, n, share) > tail


def test_quantiles_of_the_differences():
    one, two, X = regressors("stumps")
    outcome = agreement(one, two, X, atol=0.5, volume=True, random_state=0)
    value, low, high = outcome.quantile(0.5)
    assert value == np.median(outcome.differences)
    assert (low, high) == quantile_interval(outcome.differences, 0.5)
    few = agreement(one, two, X[:3], atol=0.5, volume=True, random_state=0)
    assert few.quantile(0.5)[1:] == (0.0, np.inf)
    with pytest.raises(ValueError, match="share=1 must be a number between 0 and 1"):
        outcome.quantile(1)
    with pytest.raises(ValueError, match="give rows X"):
        agreement(one, two, atol=0.5, domain=WHOLE, random_state=0).quantile(0.5)


def test_repr_tells_how_far_numbers_are_apart():
    one, two, X = regressors("stumps")
    outcome = agreement(one, two, X, atol=0.5, volume=True, random_state=0)
    told = repr(outcome)
    assert f"within 0.5 on {100 * outcome.share:.1f} % of {len(X)} rows" in told
    assert (
        f"R2 {outcome.r2:.3f}, 50 % of differences at most {outcome.quantile(0.5)[0]:.4g}" in told
    )
    assert f"the largest seen {outcome.max_difference:.4g}, none above" in told
    assert "within 0.5 on" in told.split("every input in the box), ")[1]
    few = repr(agreement(one, LinearRegression().fit(X, X[:, 0]), X[:3], atol=0.5, random_state=0))
    assert "(0 or more)" in few
    assert "none above" not in few
    assert "the same answer on" in repr(agreement(one, two, X, volume=True, random_state=0))


def test_what_cannot_be_compared_is_refused():
    one, _, X = regressors("stumps")
    y = X[:, 0] > 2
    forest = RandomForestClassifier(3, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="atol='much' is not a tolerance"):
        agreement(one, one, X, atol="much")
    with pytest.raises(ValueError, match="Give rows X, or atol as a number"):
        agreement(one, one, atol="10%", domain=WHOLE)
    with pytest.raises(TypeError, match="Give two classifiers or two regressors"):
        agreement(one, forest, X, atol=1)
    with pytest.raises(TypeError, match=r"LinearSVC\(\.\.\.\) has no predict_proba"):
        agreement(forest, LinearSVC().fit(X, y), X, atol=0.1)


def test_a_proof_ends_in_time():
    X, y = load_diabetes(return_X_y=True)
    forest = RandomForestRegressor(10, random_state=0).fit(X, y)
    other = RandomForestRegressor(10, random_state=1).fit(X, y)
    outcome = agreement(forest, other, X, atol=10, time_limit=1e-9, volume=True, random_state=0)
    assert outcome.n_rows == len(X)
    assert outcome.max_difference <= outcome.max_difference_bound < np.inf


def test_a_bound_names_the_inputs_that_it_holds_for():
    """A model of doubles beside one that rounds: only what float32 represents is bounded."""
    start = 2.0**24  # from here on, float32 represents every second whole number
    X = start + np.arange(3.0).repeat(20)[:, None]
    fine = HistGradientBoostingRegressor(min_samples_leaf=5).fit(X, 100.0 * (X[:, 0] == start + 1))
    flat = DecisionTreeRegressor().fit(X, np.zeros(60))
    domain = Domain(bounds={0: (start, start + 2)}, integers="all")
    odd, even = (abs(fine.predict(X[X % 2 == rest][:, None])).max() for rest in (1, 0))
    assert odd > even + 50
    outcome = agreement(fine, flat, atol=1.0, domain=domain, random_state=0)
    assert outcome.finer
    assert outcome.max_difference >= odd
    assert "(proven for every input in the box that float32 represents)" in str(outcome)
    # rows of a user are asked as they are
    asked = agreement(fine, flat, X, atol=1.0)
    assert (asked.n_different, asked.max_difference) == (20, odd)
    alike = agreement(fine, fine, X, atol=1.0)
    assert not alike.finer
    assert "none above 0 (proven for every input in the box)" in str(alike)
