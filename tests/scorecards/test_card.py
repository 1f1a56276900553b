"""What a card adds up, and that it is read as it adds up."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from random_cards import CLASSES, a_card, fitted, rows_at_edges, scores_by_loops
from scipy.special import expit, softmax

from ensemble_simplify import export_model, import_model, verify
from ensemble_simplify.reading import Model
from ensemble_simplify.scorecards import Card, Term

LINKS = ["logistic", "softmax", "identity"]


def term(points, edges=(), column=0):
    return Term((column,), (np.array(edges, dtype=float),), np.array(points, dtype=float)[:, None])


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("seed", range(4))
def test_scores_are_sums_of_the_points_of_bins(seed, link):
    card = a_card(seed, link, n_pairs=seed % 3)
    X = rows_at_edges(card, seed, 60)
    assert np.array_equal(card.scores(X), scores_by_loops(card, X))


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("seed", range(4))
def test_card_is_read_as_it_adds_up(seed, link):
    card = a_card(seed, link, n_pairs=seed % 3)
    X, model = rows_at_edges(card, seed), fitted(card)
    forest = Model.of(model).finest
    assert forest.n_trees == len(card.terms)
    sums = forest.sums_at(forest.apply(X).T)(0, forest.n_trees, forest.vote.init)
    assert np.array_equal(sums, card.scores(X))
    found = card.index_of(card.scores(X))
    answers = found if card.link == "identity" else CLASSES[link][found]
    assert np.array_equal(answers, model.predict(X))
    if link != "identity":
        assert np.array_equal(card.probabilities(card.scores(X)), model.predict_proba(X))


def test_slope_goes_into_probabilities_alone():
    X = rows_at_edges(a_card(1), 1, 50)
    card, steep = a_card(1), Card(a_card(1).terms, a_card(1).base, "logistic", slope=0.25)
    scores = steep.scores(X)
    assert np.array_equal(steep.index_of(scores), card.index_of(scores))
    assert np.array_equal(steep.probabilities(scores)[:, 1], expit(0.25 * scores[:, 0]))
    several = Card(a_card(1, "softmax").terms, np.zeros(3), "softmax", slope=0.25)
    scores = several.scores(X)
    assert np.array_equal(several.probabilities(scores), softmax(0.25 * scores, axis=1))
    forest = Model.of(fitted(several)).finest
    odds = forest.lead_sums(0)
    own = forest.sums_at(forest.apply(X).T)(0, forest.n_trees, None)
    leads = 0.25 * (own[:, :1] - own[:, 1:])
    found = np.array([odds.value[leaves].sum(axis=0) for leaves in forest.apply(X)])
    assert np.allclose(found, leads)


@pytest.mark.parametrize(("tie_upper", "label"), [(False, 0), (True, 1)])
def test_score_of_zero_goes_to_the_class_that_is_told(tie_upper, label):
    card = Card([term([-1.0, 1.0, 0.0], [0.5])], np.zeros(1), "logistic", tie_upper=tie_upper)
    X = np.array([[0.5], [0.6], [np.nan]])
    assert card.index_of(card.scores(X)).tolist() == [0, 1, label]
    assert fitted(card, 1).predict(X).tolist() == ["no", "yes", CLASSES["logistic"][label]]


def test_tree_of_a_term_has_a_leaf_for_each_bin():
    tree = term([1.0, 2.0, 2.0, 3.0, 7.0], [0.0, 1.0, 2.0]).tree(1)
    assert sorted(tree.value[tree.left < 0, 0].tolist()) == [1.0, 2.0, 3.0, 7.0]
    # gaps alone go right at the root, as no bin has their points
    assert tree.threshold[0] == np.inf
    assert not tree.missing_left.any()
    same = term([1.0, 2.0, 3.0, 1.0], [0.0, 1.0]).tree(1)
    assert sorted(same.value[same.left < 0, 0].tolist()) == [1.0, 2.0, 3.0]
    one = term([4.0, 4.0, 4.0], [0.0]).tree(1)
    assert one.left.tolist() == [-1]
    pair = Term((1, 0), (np.array([0.0]), np.array([5.0])), np.zeros((3, 3, 1)))
    pair.points[0, 1] = 1.0
    grown = pair.tree(2)
    assert grown.feature.tolist() == [1, 0, -1, -1, -1]
    assert grown.value[:, 0].tolist() == [0.0, 0.0, 0.0, 1.0, 0.0]


def test_gaps_are_told_from_the_least_number_in_every_language():
    card = Card([term([1.0, -1.0, 2.0], [0.0])], np.zeros(1), "logistic")
    X = np.array([[-np.finfo(np.float64).max], [np.finfo(np.float64).max], [np.nan]])
    again = import_model(export_model(fitted(card, 1), "json"))
    assert again.predict(X).tolist() == fitted(card, 1).predict(X).tolist() == ["yes", "no", "yes"]


def test_bins_that_differ_are_counted():
    terms = [term([1.0, 1.0, 1.0], [0.0]), term([1.0, 2.0, 2.0, 2.0], [0.0, 1.0], column=2)]
    card = Card(terms, np.zeros(1), "identity")
    assert (card.n_bins, card.features) == (2, [2])
    own_gap = Card([term([1.0, 2.0, 3.0], [0.0])], np.zeros(1), "identity")
    assert own_gap.n_bins == 3


def test_card_without_terms_answers_its_base():
    card = Card([], np.array([-1.0]), "logistic")
    X = np.array([[0.0], [np.nan]])
    assert card.scores(X).tolist() == [[-1.0], [-1.0]]
    assert fitted(card, 1).predict(X).tolist() == ["no", "no"]


@pytest.mark.parametrize("link", LINKS)
def test_verify_proves_that_two_forms_of_a_card_are_equal(link):
    card = a_card(5, link, whole=True)
    merged = Card(card.terms[::-1], card.base, link)
    assert verify(fitted(card), fitted(merged)).equal
    points = [own.points.copy() for own in card.terms]
    points[0][0] += [4.0, 0.0, 0.0] if link == "softmax" else 4.0
    found = verify(fitted(card), fitted(card.with_points(points, card.base)))
    assert not found.equal
    row = np.asarray(found.counterexample).reshape(1, -1)
    assert fitted(card).predict(row) != fitted(card.with_points(points, card.base)).predict(row)


def test_card_is_pickled():
    card = a_card(2)
    again = pickle.loads(pickle.dumps(card))
    X = rows_at_edges(card, 2, 50)
    assert again.n_bins == card.n_bins
    assert np.array_equal(again.scores(X), card.scores(X))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: term([1.0, 2.0, 3.0, 4.0], [1.0, 0.0]), "do not rise"),
        (lambda: term([1.0, 2.0, 3.0], [np.inf]), "not finite"),
        (lambda: term([1.0, 2.0], [0.0]), "make \\(3,\\) bins"),
        (lambda: Card([], np.zeros(1), "probit"), "link='probit'"),
        (lambda: Card([], np.zeros(2), "logistic"), "2 scores"),
        (lambda: Card([term([1.0, 2.0, 3.0], [0.0])], np.zeros(2), "softmax"), "\\(0,\\)"),
    ],
)
def test_card_that_is_none_is_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()
