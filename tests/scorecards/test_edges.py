"""Edges of few digits part rows as the edges before did."""

from __future__ import annotations

import numpy as np
import pytest
from random_cards import a_card, rows_at_edges

from ensemble_simplify.scorecards import Card, Term
from ensemble_simplify.scorecards._points import with_short_edges

NUMBERS = np.ones(4, dtype=bool)


def of_one_edge(edge):
    term = Term((0,), (np.array([edge]),), np.array([1.0, 2.0, 3.0])[:, None])
    return Card([term], np.zeros(1), "identity")


@pytest.mark.parametrize("seed", range(5))
def test_rows_stay_in_their_bins(seed):
    card, X = a_card(seed), rows_at_edges(a_card(seed), seed, 200)
    short = with_short_edges(card, X, NUMBERS)
    assert np.array_equal(short.scores(X), card.scores(X))
    X = np.random.default_rng(seed).normal(size=(60, 4))
    few = with_short_edges(card, X, NUMBERS)
    assert np.array_equal(few.scores(X), card.scores(X))
    digits = [
        sum(len(repr(float(edge))) for term in each.terms for own in term.edges for edge in own)
        for each in (card, few)
    ]
    assert digits[1] < 0.7 * digits[0]


@pytest.mark.parametrize(
    ("values", "edge", "short"),
    [
        ([44.2, 47.3], 44.731, 45.0),
        ([30.0, 31.0], 30.4999, 30.0),
        ([-0.3, 0.2], 0.0871, 0.0),
        ([-44.2, -41.9], -43.1, -44.0),
        ([1017.0, 1050.0], 1033.5, 1020.0),
        ([0.1234, 0.1239], 0.1237, 0.1234),
        # beyond the rows, nothing is known
        ([1.0, 2.0], 2.718, 2.718),
        ([3.0, 4.0], 2.718, 2.718),
    ],
)
def test_edge_is_the_shortest_between_its_neighbours(values, edge, short):
    X = np.array([[value, 0.0, 0.0, 0.0] for value in values])
    found = with_short_edges(of_one_edge(edge), X, NUMBERS)
    assert found.terms[0].edges[0].tolist() == [short]


def test_codes_and_bins_without_rows_stay():
    X = np.array([[1.0, 0, 0, 0], [2.0, 0, 0, 0], [np.nan, 0, 0, 0]])
    card = of_one_edge(1.5)
    assert with_short_edges(card, X, ~NUMBERS).terms[0].edges[0].tolist() == [1.5]
    term = Term((0,), (np.array([1.3, 1.7]),), np.arange(4.0)[:, None])
    card = Card([term], np.zeros(1), "identity")
    assert with_short_edges(card, X, NUMBERS).terms[0].edges[0].tolist() == [1.3, 1.7]
