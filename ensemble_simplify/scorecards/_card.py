"""What a scorecard computes: a sum of terms, each decided by one column or by a pair of columns.

A `Card` is read as an ensemble of one tree a term, so that whatever proves, audits, explains or
writes ensembles does so with cards. It adds up its points in the same order and doubles.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ensemble_simplify.reading import (
    Above,
    Cut,
    Largest,
    Link,
    Program,
    Reading,
    boosted,
    labels_of_scores,
    probabilities_of,
    tree_of_steps,
    values_of,
)

LINKS = ("logistic", "softmax", "identity", "log")


@dataclass(frozen=True, eq=False)
class Term:
    """A part of the sum, which the bins of one column decide, or those of a pair.

    Attributes
    ----------
    columns : tuple of int
        One column, or two.
    edges : tuple of float64 arrays
        For each column ascending thresholds on its numbers, or codes: bin ``b`` holds
        ``edges[b - 1] < x <= edges[b]``, compared as doubles. None at all: one bin.
    points : float64 array of shape (n_bins + 1, n_scores) or (n_bins + 1, n_bins_2 + 1, n_scores)
        The last entry along each axis of bins is for gaps (NaN), as which levels count that nobody
        knows.
    """

    columns: tuple[int, ...]
    edges: tuple[np.ndarray, ...]
    points: np.ndarray

    def __post_init__(self):
        for edges in self.edges:
            if not (np.isfinite(edges).all() and (np.diff(edges) > 0).all()):
                raise ValueError(f"edges={edges} do not rise, or are not finite.")
        shape = tuple(len(edges) + 2 for edges in self.edges)
        if len(self.columns) != len(self.edges) or self.points.shape[:-1] != shape:
            raise ValueError(
                f"points have shape {self.points.shape}, but the edges of the columns "
                f"{self.columns} make {shape} bins, each with one for gaps."
            )

    def bins(self, X) -> tuple[np.ndarray, ...]:
        """The bin of each row along each axis, as a tuple that indexes `points`."""
        return tuple(
            places(edges, X[:, j]) for j, edges in zip(self.columns, self.edges, strict=True)
        )

    def parts(self, X) -> np.ndarray:
        """What the term adds for each row: (n_rows, n_scores)."""
        return self.points[self.bins(X)]

    def counts(self, X, weight=None) -> np.ndarray:
        """The weight of some rows in each bin, in the shape of the points without scores."""
        shape = self.points.shape[:-1]
        place = np.ravel_multi_index(self.bins(X), shape)
        return np.bincount(place, weight, int(np.prod(shape))).reshape(shape).astype(np.float64)

    def tree(self, n_features):
        """The term as a tree with a leaf for each bin; neighbours with the same points share one.

        Gaps go where bins with their points are, and otherwise to a leaf right below a test that
        sends nothing but gaps to the right.
        """
        return tree_of_steps(self.columns, self.edges, self.points, n_features)

    @cached_property
    def n_bins(self) -> int:
        """Number of bins that differ from their neighbours; 0 where all have the same points."""
        n_leaves = int((self.tree(max(self.columns) + 1).left < 0).sum())
        return n_leaves if n_leaves > 1 else 0


@dataclass(frozen=True, eq=False)
class Card:
    """A scorecard.

    Attributes
    ----------
    terms : list of Term
    base : float64 array of shape (n_scores,)
        Where the sums start.
    link : {"logistic", "softmax", "identity", "log"}
        What the sums are: one that is above `at` in the `event`, one for each class, of which the
        largest wins (the first of equals), a number, or its logarithm.
    slope, shift : float
        What scores are multiplied by before the sigmoid or softmax makes chances of them, and what
        is added then.
    tie_upper : bool
        Whether a score of `at` is for the event.
    event : {0, 1}
        Which of two classes the score speaks for.
    at : float
        The score that parts two classes.
    """

    terms: list[Term]
    base: np.ndarray
    link: str
    slope: float = 1.0
    shift: float = 0.0
    tie_upper: bool = False
    event: int = 1
    at: float = 0.0

    def __post_init__(self):
        if self.link not in LINKS:
            raise ValueError(f"link={self.link!r}. Choose one of {', '.join(LINKS)}.")
        wrong = [term.columns for term in self.terms if term.points.shape[-1] != self.n_scores]
        if wrong or (self.link != "softmax" and self.n_scores != 1):
            raise ValueError(
                f"base has {self.n_scores} scores, which do not go with link={self.link!r}, or "
                f"with the points of the columns {wrong}."
            )

    @property
    def n_scores(self) -> int:
        """Number of sums: one, or one for each class."""
        return len(self.base)

    @cached_property
    def n_bins(self):
        """Number of bins that differ, in all terms; gaps count where they have their own points."""
        return sum(term.n_bins for term in self.terms)

    @cached_property
    def features(self) -> list[int]:
        """Columns that some term tells apart, ascending."""
        return sorted({j for term in self.terms if term.n_bins for j in term.columns})

    def edges_of(self, j) -> np.ndarray:
        """The edges of a column in all terms, ascending."""
        pairs = (pair for term in self.terms for pair in zip(term.columns, term.edges, strict=True))
        return np.unique(np.concatenate([[], *(edges for column, edges in pairs if column == j)]))

    def scores(self, X) -> np.ndarray:
        """The sums for rows of numbers, NaN where they lack one: (n_rows, n_scores).

        Terms are added in their order, as the trees of the `reading` are.
        """
        X = np.asarray(X, dtype=np.float64)
        total = np.zeros((len(X), self.n_scores))
        total += self.base
        for term in self.terms:
            total += term.parts(X)
        return total

    def index_of(self, scores) -> np.ndarray:
        """Place of the class for each row of scores; the values themselves without classes."""
        if self.link in ("identity", "log"):
            return values_of(self.vote, scores)
        return labels_of_scores(self.vote, scores)

    def chances(self, totals) -> np.ndarray:
        """The chance of the event at some totals of a card for two classes."""
        totals = np.asarray(totals, dtype=np.float64)
        return self.probabilities(totals[:, None])[:, self.event]

    def probabilities(self, scores) -> np.ndarray:
        """Probabilities of the classes for each row of scores: (n_rows, n_classes)."""
        return probabilities_of(self.vote, scores)

    @cached_property
    def vote(self) -> Program:
        """What makes classes and probabilities of the sums."""
        link, choice = None, Largest(last=self.tie_upper)
        sign = 1.0 if self.event else -1.0
        if self.link != "identity":
            kind = {"logistic": "sigmoid", "log": "exp"}.get(self.link, self.link)
            link = Link(kind, sign * self.slope, sign * self.shift)
        if self.n_scores == 1:
            choice = Above(self.at, inclusive=self.tie_upper)
            if not self.event:
                # from the number on that is the first of the event
                choice = Cut(
                    (self.at if self.tie_upper else float(np.nextafter(self.at, np.inf)),), 1
                )
        n_trees = max(1, len(self.terms))
        return boosted(n_trees, self.n_scores, init=self.base, link=link, choice=choice)

    def reading(self, classes, table, terms=None) -> Reading:
        """The card as an ensemble of one tree a term, over the columns of a table.

        `classes` are its labels; None where it answers numbers. Other `terms` have the same points,
        and further numbers after them.
        """
        none = Term((0,), (np.zeros(0),), np.zeros((2, self.n_scores)))
        trees = [term.tree(len(table)) for term in terms or self.terms or [none]]
        return Reading(trees, self.vote, classes, table)

    def with_points(self, points, base) -> Card:
        """The same bins with other points, a list of arrays, and another base."""
        terms = [replace(term, points=own) for term, own in zip(self.terms, points, strict=True)]
        return replace(self, terms=terms, base=base)


def singles(edges) -> np.ndarray:
    """Which bins between some edges, with the one below and the one above, hold one number."""
    edges = np.asarray(edges, dtype=np.float64)
    inside = np.nextafter(edges[:-1], np.inf) == edges[1:]
    return np.concatenate([[False], inside, [False] * min(len(edges), 1)]).astype(bool)


def with_codes(term, steps) -> Term:
    """A term of one column with bins for some numbers, by what each has more than gaps have."""
    (edges,), codes = term.edges, np.array(list(steps), dtype=np.float64)
    ends = np.unique(np.concatenate([edges, codes, np.nextafter(codes, -np.inf)]))
    points = term.points[np.r_[np.searchsorted(edges, ends), len(edges), len(edges) + 1]]
    for code, step in steps.items():
        points[np.searchsorted(ends, code)] = term.points[-1] + step
    return Term(term.columns, (ends,), points)


def places(edges, values) -> np.ndarray:
    """Place of the bin of each value among the points of a column; that of gaps is the last."""
    found = np.searchsorted(edges, values, side="left")
    found[np.isnan(values)] = len(edges) + 1
    return found
