"""Whole points: what they keep, and what is said of what they change, by enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from random_cards import a_card, every_combination, fitted
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from ensemble_simplify import Domain, verify
from ensemble_simplify.reading import Model
from ensemble_simplify.scorecards import Card, Term
from ensemble_simplify.scorecards._chances import score_table
from ensemble_simplify.scorecards._points import RANGES, changed_everywhere, rounded


def rows_of(seed, n=3000, n_columns=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_columns))
    X[rng.random(X.shape) < 0.05] = np.nan
    return X


@pytest.mark.parametrize("link", ["logistic", "softmax"])
@pytest.mark.parametrize("max_changed", [0.0, 0.01])
@pytest.mark.parametrize("seed", range(3))
def test_no_more_rows_change_than_promised(seed, max_changed, link):
    card, X = a_card(seed, link, n_pairs=seed % 2), rows_of(seed)
    weight = np.random.default_rng(seed).random(len(X))
    found = rounded(card, X, weight, max_changed=max_changed)
    for term in found.card.terms:
        assert np.array_equal(term.points, np.rint(term.points))
    assert np.array_equal(found.card.base, np.rint(found.card.base))
    apart = card.index_of(card.scores(X)) != found.card.index_of(found.card.scores(X))
    assert found.n_changed == apart.sum()
    assert found.share_changed == pytest.approx(weight[apart].sum() / weight.sum())
    assert found.share_changed <= max_changed


@pytest.mark.parametrize("seed", range(5))
def test_order_of_points_stays(seed):
    card = a_card(seed)
    found = rounded(card, rows_of(seed), max_changed=0.02)
    for one, two in zip(card.terms, found.card.terms, strict=True):
        order = np.argsort(one.points.ravel(), kind="stable")
        assert (np.diff(two.points.ravel()[order]) >= 0).all()
        same = one.points.ravel()[order][1:] == one.points.ravel()[order][:-1]
        assert (np.diff(two.points.ravel()[order])[same] == 0).all()


def test_a_looser_promise_needs_no_larger_points():
    card, X = a_card(3), rows_of(3)

    def largest(share):
        points = [term.points for term in rounded(card, X, max_changed=share).card.terms]
        return max(np.ptp(own) for own in points)

    assert largest(0.05) <= largest(0.005) <= largest(0.0)
    assert largest(0.05) <= RANGES[4]


@pytest.mark.parametrize("link", ["logistic", "softmax"])
@pytest.mark.parametrize("seed", range(4))
def test_changes_are_counted_over_all_combinations(seed, link):
    card, X = a_card(seed, link, n_pairs=seed % 2), rows_of(seed)
    found = rounded(card, X, max_changed=0.02)
    cells = every_combination(card)
    apart = card.index_of(card.scores(cells)) != found.card.index_of(found.card.scores(cells))
    assert (found.everywhere.n_cells, found.everywhere.n_changed) == (len(cells), apart.sum())
    gaps = Domain(missing=range(4))
    outcome = verify(fitted(card), fitted(found.card), domain=gaps)
    assert outcome.equal == (not apart.any())
    if link == "logistic":
        scores, totals = card.scores(cells)[:, 0] / found.unit - 0.5, found.card.scores(cells)[:, 0]
        moved = np.abs(totals - scores).max()
        assert moved <= found.score_change + 1e-9
        slope, shift = found.card.slope, found.card.shift
        apart = expit(slope * totals + shift) - expit(slope * scores + shift)
        assert np.abs(apart).max() <= found.probability_change + 1e-9
        # the bound is met where no two terms share a column
        if not seed % 2:
            assert found.score_change == pytest.approx(moved)
    else:
        apart = found.card.scores(cells) - card.scores(cells) / found.unit
        moved = (apart[:, :, None] - apart[:, None]).max()
        assert moved <= found.score_change + 1e-9


def test_share_everywhere_is_that_of_independent_columns():
    card, X = a_card(2, n_pairs=0), rows_of(2, 400)
    whole = rounded(card, X, max_changed=0.05).card
    weight = np.random.default_rng(0).random(len(X))
    expected = 0.0
    cells = every_combination(card)
    shares = []
    for term in card.terms:
        (own,) = term.bins(X)
        shares.append(np.bincount(own, weights=weight, minlength=len(term.points)) / weight.sum())
    apart = card.index_of(card.scores(cells)) != whole.index_of(whole.scores(cells))
    for cell in cells[apart]:
        expected += np.prod(
            [s[t.bins(cell[None])[0][0]] for s, t in zip(shares, card.terms, strict=True)]
        )
    assert changed_everywhere(card, whole, X, weight).share == pytest.approx(expected)


def test_too_many_combinations_are_not_counted():
    rng = np.random.default_rng(0)
    terms = [
        Term((j,), (np.sort(rng.normal(size=8)),), rng.normal(size=(10, 1))) for j in range(12)
    ]
    card = Card(terms, np.zeros(1), "logistic")
    assert changed_everywhere(card, card, rng.normal(size=(50, 12))) is None
    few = Card(terms[:8], np.zeros(1), "logistic")
    whole = few.with_points([np.rint(term.points) for term in few.terms], few.base)
    found = changed_everywhere(few, whole, rng.normal(size=(50, 12)))
    assert found.n_cells == 10**8
    assert 0 < found.n_changed < 10**8


def test_ties_of_whole_sums_are_proven():
    card = a_card(4, whole=True)
    cells = every_combination(card)
    scores = card.scores(cells)[:, 0]
    assert (scores == 0).any()
    assert Model.of(fitted(card)).forest.sums.is_exact
    other = Card(card.terms, card.base, "logistic", tie_upper=True)
    outcome = verify(fitted(card), fitted(other))
    assert outcome.equal is False
    assert card.scores(outcome.counterexample[None])[0, 0] == 0.0
    shifted = Card(card.terms, card.base - 0.5, "logistic", tie_upper=True)
    assert verify(fitted(card), fitted(shifted)).equal is True


def test_probabilities_are_fitted_and_rise():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 4))
    card = a_card(6)
    # the model parts classes elsewhere than at an even chance
    target = (rng.random(len(X)) < expit(2.0 * card.scores(X)[:, 0] - 1.5)).astype(float)
    found = rounded(card, X, max_changed=0.01, rates=target)
    own = LogisticRegression(C=np.inf).fit(found.card.scores(X), target)
    assert found.card.slope == pytest.approx(own.coef_[0, 0], rel=0.01)
    assert found.card.shift == pytest.approx(own.intercept_[0], abs=0.02)
    target[:100] = np.nan
    table = score_table(found.card, X, is_event=target)
    assert (np.diff(table["probability"]) > 0).all()
    assert (np.diff(table["total"]) > 0).all()
    assert table["share"].sum() == pytest.approx(1.0)
    totals = found.card.scores(X)[100:, 0]
    for total, rate in zip(table["total"], table["observed"], strict=True):
        assert rate == pytest.approx(target[100:][totals == total].mean(), nan_ok=True)


@pytest.mark.parametrize("seed", range(3))
def test_numbers_are_multiples_of_a_unit(seed):
    card, X = a_card(seed, "identity"), rows_of(seed)
    found = rounded(card, X, max_changed=0.02)
    moved = found.card.scores(X)[:, 0] - card.scores(X)[:, 0]
    assert np.sqrt(np.mean(moved**2)) <= 0.02 * card.scores(X).std()
    assert np.abs(moved).max() <= found.score_change
    for term in found.card.terms:
        times = term.points / found.unit
        assert np.allclose(times, np.rint(times))
        assert all(len(f"{own:.12g}".partition(".")[2]) <= 3 for own in term.points.ravel())


def test_card_of_one_answer_is_rounded():
    card = Card([], np.array([-0.3]), "logistic")
    found = rounded(card, np.zeros((5, 1)))
    assert (found.n_changed, found.card.base.tolist()) == (0, [-1.0])
    flat = Term((0,), (np.zeros(1),), np.full((3, 1), 0.2))
    assert rounded(Card([flat], np.array([0.3]), "identity"), np.zeros((5, 1))).n_changed == 0
