"""Cards of every size for labelled rows, beside brute force and scikit-learn."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from ensemble_simplify.scorecards import _bins
from ensemble_simplify.scorecards._bins import card_path


def two_classes(seed, n_rows=400, n_columns=3, n_values=6):
    random = np.random.default_rng(seed)
    X = random.integers(n_values, size=(n_rows, n_columns)).astype(np.float64)
    score = (X[:, 0] > 2) * 1.5 - (X[:, 1] > 3) * 2.0 + 0.3 * X[:, -1] - 0.5
    y = (random.random(n_rows) < 1 / (1 + np.exp(-score))).astype(np.float64)
    return X, random.uniform(0.5, 1.5, size=n_rows), y


def steps_of(X, cuts):
    """Whether rows are above each of some cuts (column, threshold)."""
    return np.column_stack([X[:, j] > edge for j, edge in cuts]).astype(np.float64)


def refitted(X, y, weight, cuts):
    """The mean log loss that scikit-learn reaches with some cuts, shrunk alike."""
    weight = weight / weight.mean()
    Z = steps_of(X, cuts)
    model = LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000)
    model.fit(Z, y, sample_weight=weight)
    chance = model.predict_proba(Z)[:, 1]
    loss = -np.log(np.where(y == 1, chance, 1 - chance))
    return weight @ loss, weight @ loss + 0.5 * (model.coef_**2).sum(), model


def cuts_of(card):
    return [
        (term.columns[0], float(edge)) for term in card.terms for edge in term.edges[0].tolist()
    ]


@pytest.fixture
def log_loss(monkeypatch):
    """The log loss, as scikit-learn has it."""
    monkeypatch.setattr(_bins, "_BOUND", 1e-9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.usefixtures("log_loss")
def test_points_are_those_of_a_logistic_regression_on_the_bins(seed):
    X, weight, y = two_classes(seed)
    for step in card_path(X, weight, y[:, None], link="logistic", max_bins=10)[:-1]:
        loss, _, model = refitted(X, y, weight, cuts_of(step.card))
        np.testing.assert_allclose(step.loss, loss / len(X), rtol=1e-6)
        expected = model.decision_function(steps_of(X, cuts_of(step.card)))
        np.testing.assert_allclose(step.card.scores(X)[:, 0], expected, atol=1e-3)


def test_points_have_the_least_bounded_loss():
    X, weight, y = two_classes(6)
    weight = weight / weight.mean()
    step = card_path(X, weight, y[:, None], link="logistic", max_bins=8)[0]
    Z = np.column_stack([np.ones(len(X)), steps_of(X, cuts_of(step.card))])

    def cost(points):
        chance = np.where(y == 1, expit(Z @ points), expit(-(Z @ points)))
        return weight @ (1 - np.sqrt(chance)) / 0.5 + 0.5 * (points[1:] ** 2).sum()

    scores = step.card.scores(X)[:, 0]
    points = np.linalg.lstsq(Z, scores, rcond=None)[0]
    np.testing.assert_allclose(Z @ points, scores, atol=1e-9)
    best = minimize(cost, points, tol=1e-12)
    assert cost(points) <= best.fun * (1 + 1e-6)
    loss = cost(points) - 0.5 * (points[1:] ** 2).sum()
    np.testing.assert_allclose(step.loss, loss / len(X), rtol=1e-9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.usefixtures("log_loss")
def test_small_cards_have_the_best_bins_of_all(seed):
    X, weight, y = two_classes(seed, n_rows=150, n_columns=2, n_values=4)
    every = [(j, edge + 0.5) for j in range(2) for edge in range(3)]
    best = {}
    for n_cuts in range(1, 4):
        for cuts in combinations(every, n_cuts):
            n_bins = n_cuts + len({j for j, _ in cuts})
            _, loss, _ = refitted(X, y, weight, cuts)
            best[n_bins] = min(loss, best.get(n_bins, np.inf))
    path = card_path(X, weight, y[:, None], link="logistic", max_bins=8)
    found = {step.n_bins: refitted(X, y, weight, cuts_of(step.card))[1] for step in path[:-1]}
    for n_bins in found.keys() & best.keys() - {5}:
        np.testing.assert_allclose(found[n_bins], best[n_bins], rtol=1e-4)
    assert found.keys() & best.keys() >= {2, 3, 4}


def test_a_path_gets_smaller_and_worse():
    X, weight, y = two_classes(0)
    path = card_path(X, weight, y[:, None], link="logistic", max_bins=12)
    sizes = [step.n_bins for step in path]
    assert sizes == sorted(set(sizes), reverse=True)
    assert sizes[0] <= 12
    assert sizes[-1] == 0
    assert [step.loss for step in path] == sorted(step.loss for step in path)
    for step in path:
        assert step.n_bins == step.card.n_bins
        assert step.features == step.card.features


def test_softmax_of_two_classes_is_logistic(monkeypatch):
    X, weight, y = two_classes(1)
    # two scores are shrunk half as strongly as one
    monkeypatch.setattr(_bins, "_RIDGE", 1e-6)
    path = card_path(X, weight, np.column_stack([1 - y, y]), link="softmax", max_bins=6)
    one = card_path(X, weight, y[:, None], link="logistic", max_bins=6)
    for step, other in zip(path, one, strict=True):
        assert cuts_of(step.card) == cuts_of(other.card)
        scores = step.card.scores(X)
        apart = scores[:, 1] - scores[:, 0]
        np.testing.assert_allclose(apart, other.card.scores(X)[:, 0], atol=0.02)
        np.testing.assert_allclose(scores.sum(axis=1), 0.0, atol=1e-9)


def test_three_classes():
    random = np.random.default_rng(0)
    X = random.normal(size=(600, 4))
    y = (X[:, 1] > 0).astype(int) + ((X[:, 1] > 0) & (X[:, 2] > 0.5))
    path = card_path(X, np.ones(600), np.eye(3)[y], link="softmax", max_bins=4)
    assert path[0].features == [1, 2]
    assert (path[0].card.scores(X).argmax(axis=1) == y).mean() > 0.95


def test_numbers_of_any_scale():
    random = np.random.default_rng(0)
    X = random.normal(size=(500, 3))
    y = 3.0 * (X[:, 0] > 0.5) - 2.0 * (X[:, 2] > -0.3) + random.normal(scale=0.1, size=500)
    path = card_path(X, np.ones(500), y[:, None], link="identity", max_bins=4)
    large = card_path(X, np.ones(500), 1e6 + 1e4 * y[:, None], link="identity", max_bins=4)
    assert path[0].features == [0, 2]
    assert np.mean((path[0].card.scores(X)[:, 0] - y) ** 2) < 0.1
    assert cuts_of(path[0].card) == cuts_of(large[0].card)
    expected = 1e6 + 1e4 * path[0].card.scores(X)
    np.testing.assert_allclose(large[0].card.scores(X), expected, rtol=1e-9)
    assert large[0].loss == pytest.approx(1e8 * path[0].loss)


def test_gaps_have_a_bin_of_their_own():
    X, weight, y = two_classes(2)
    is_missing = np.random.default_rng(1).random(len(X)) < 0.2
    X[is_missing, 0] = np.nan
    y[is_missing] = 1.0
    path = card_path(X, weight, y[:, None], link="logistic", max_bins=9)
    term = next(term for term in path[0].card.terms if term.columns == (0,))
    assert term.points[-1] > term.points[:-1].max()
    for step in path:
        assert step.n_bins == step.card.n_bins
    # in a column that never lacks a value, gaps are in the largest bin
    other = next(term for term in path[0].card.terms if term.columns == (1,))
    place = np.searchsorted(other.edges[0], X[:, 1])
    assert other.points[-1] == other.points[np.bincount(place, weight).argmax()]


def test_scores_rise_where_they_must():
    X, weight, y = two_classes(3)
    for sign in (1, -1):
        path = card_path(
            X, weight, y[:, None], link="logistic", max_bins=12, shapes=[sign, 0, sign]
        )
        for step in path:
            for term in step.card.terms:
                if term.columns[0] != 1:
                    assert (np.diff(term.points[:-1, 0]) * sign >= 0).all()
    assert any(len(term.edges[0]) > 0 for term in path[0].card.terms)


def test_bins_hold_enough_real_rows():
    X, weight, y = two_classes(4)
    real = (np.arange(len(X)) < 120).astype(np.float64)
    for least in (30, 61):
        path = card_path(
            X, weight, y[:, None], link="logistic", real=real, max_bins=16, min_samples_bin=least
        )
        for term in (term for step in path for term in step.card.terms):
            place = np.searchsorted(term.edges[0], X[:, term.columns[0]])
            assert np.bincount(place, real).min() >= least
    assert len(path) == 1


def test_few_features():
    X, weight, y = two_classes(5)
    path = card_path(X, weight, y[:, None], link="logistic", max_bins=12, max_features=1)
    assert all(len(step.features) <= 1 for step in path)
    assert path[0].n_bins > 3


def test_one_class_has_a_card_without_bins():
    X = np.arange(10.0)[:, None]
    path = card_path(X, np.ones(10), np.ones((10, 1)), link="logistic")
    assert [step.n_bins for step in path] == [0]
    assert path[0].card.scores(X).min() > 0


def exclusive_or(seed, n_rows=600):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 4))
    y = ((X[:, 1] > 0) != (X[:, 3] > 0)).astype(np.float64)
    return X, y


def test_a_pair_of_columns_tells_what_no_single_one_does():
    X, y = exclusive_or(0)
    alone = card_path(X, np.ones(600), y[:, None], link="logistic", max_bins=8)
    path = card_path(X, np.ones(600), y[:, None], link="logistic", max_bins=8, interactions=1)
    assert path[0].loss < 0.5 * alone[0].loss
    (step,) = [step for step in path if step.n_bins == 4]
    assert [term.columns for term in step.card.terms] == [(1, 3)]
    assert (np.abs([edges[0] for edges in step.card.terms[0].edges]) < 0.2).all()
    for step in path:
        assert step.features == step.card.features
        assert sum(len(term.columns) == 2 for term in step.card.terms) <= 1
        if step.card.terms:
            scores = step.card.scores(X)[:, 0]
            chance = np.where(y == 1, expit(scores), expit(-scores))
            np.testing.assert_allclose(step.loss, np.mean(1 - np.sqrt(chance)) / 0.5, rtol=1e-9)


def test_pairs_keep_to_what_is_asked():
    X, y = exclusive_or(1)
    X[:50, 1] = np.nan
    options = {"link": "logistic", "max_bins": 10, "interactions": 2}
    path = card_path(X, np.ones(600), y[:, None], max_features=2, min_samples_bin=60, **options)
    pairs = {term.columns for step in path for term in step.card.terms if len(term.columns) == 2}
    assert pairs == {(1, 3)}
    for step in path:
        assert len(step.features) <= 2
        for term in step.card.terms:
            if len(term.columns) == 2:
                cell = [
                    np.searchsorted(edges, np.nan_to_num(X[:, j], nan=-9.0))
                    for j, edges in zip(term.columns, term.edges, strict=True)
                ]
                assert np.bincount(2 * cell[0] + cell[1]).min() >= 60
    path = card_path(X, np.ones(600), y[:, None], shapes=[0, 1, 0, 0], **options)
    assert all(1 not in term.columns for term in path[0].card.terms if len(term.columns) == 2)
