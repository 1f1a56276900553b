"""Scorecards drawn at random, rows at their edges, and what they answer, by loops."""

from __future__ import annotations

from itertools import product

import numpy as np

from ensemble_simplify.reading import Model, Table, imported
from ensemble_simplify.scorecards import Card, Term

CLASSES = {"logistic": np.array(["no", "yes"]), "softmax": np.array([3, 5, 8]), "identity": None}


def a_card(seed, link="logistic", *, n_columns=4, n_pairs=1, whole=False):
    """A card with a term for each column, a few bins of which are alike, and for some pairs."""
    rng = np.random.default_rng(seed)
    n_scores = 3 if link == "softmax" else 1
    pairs = [tuple(rng.permutation(n_columns)[:2].tolist()) for _ in range(n_pairs)]
    terms = []
    for columns in [(j,) for j in range(n_columns)] + pairs:
        edges = tuple(np.unique(rng.normal(size=rng.integers(0, 5))) for _ in columns)
        points = rng.normal(size=(*(len(own) + 2 for own in edges), n_scores))
        points[rng.random(points.shape[:-1]) < 0.3] = 0.25
        terms.append(Term(columns, edges, np.rint(4 * points) if whole else points))
    base = rng.normal(size=n_scores)
    return Card(terms, np.rint(base) if whole else base, link)


def rows_at_edges(card, seed, n_rows=500, n_columns=4):
    """Rows at the edges of a card, right beside them, and with gaps."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    for term in card.terms:
        for j, edges in zip(term.columns, term.edges, strict=True):
            if len(edges):
                at = rng.choice(edges, size=n_rows)
                beside = np.array([at, np.nextafter(at, -9), np.nextafter(at, 9), X[:, j]])
                X[:, j] = beside[rng.integers(4, size=n_rows), np.arange(n_rows)]
    X[rng.random(X.shape) < 0.15] = np.nan
    return X


def every_combination(card, n_columns=4, *, gaps=True):
    """A row for each combination of the bins of all columns that the card looks at."""
    values = []
    for j in range(n_columns):
        own = [e for t in card.terms for c, e in zip(t.columns, t.edges, strict=True) if c == j]
        edges = np.unique(np.concatenate([[], *own]))
        last = (edges[-1] if len(edges) else 0.0) + 1.0
        values.append([*edges, last, np.nan] if gaps else [*edges, last])
    return np.array(list(product(*values)))


def scores_by_loops(card, X):
    """The sums, one row and one term at a time."""
    found = []
    for row in X:
        total = card.base.copy()
        for term in card.terms:
            place = tuple(
                len(edges) + 1 if np.isnan(row[j]) else sum(row[j] > edge for edge in edges)
                for j, edges in zip(term.columns, term.edges, strict=True)
            )
            total = total + term.points[place]
        found.append(total)
    return np.array(found)


def fitted(card, n_columns=4, names=None):
    """An estimator that holds the reading of a card."""
    table = Table.of_numbers(n_columns, names)
    found = imported(card.reading(CLASSES[card.link], table), n_columns)
    found._forest = Model.of(found, check=False).finest
    return found
