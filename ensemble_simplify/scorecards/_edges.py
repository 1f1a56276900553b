"""Edges of bins in few digits: a reader's 45 in place of 44.73106, with the same rows beside it."""

from __future__ import annotations

from dataclasses import replace
from decimal import ROUND_CEILING, Context, Decimal

import numpy as np

# Digits that tell all doubles apart.
_ALL = 17


def with_short_edges(card, X, is_number):
    """The card with edges of as few digits as part some rows as before.

    Parameters
    ----------
    card : Card
    X : float64 array of shape (n_rows, n_columns)
        Rows whose bins stay.
    is_number : bool array of shape (n_columns,)
        Columns of which edges are shortened; those of codes stay.
    """
    known = {}

    def shortened(j, edges):
        if not is_number[j] or not len(edges):
            return edges
        if j not in known:
            values = np.unique(X[:, j])
            known[j] = values[np.isfinite(values)]
        short = np.array([_between(known[j], edge) for edge in edges.tolist()])
        # bins without a row between them could become one
        return short if (np.diff(short) > 0).all() else edges

    terms = [
        replace(term, edges=tuple(map(shortened, term.columns, term.edges))) for term in card.terms
    ]
    return replace(card, terms=terms)


def _between(values, edge):
    """The number of the fewest digits from the last value up to an edge to before the next one."""
    place = int(np.searchsorted(values, edge, side="right"))
    if place in (0, len(values)):
        return edge
    low, after = float(values[place - 1]), float(values[place])
    if low <= 0.0 < after:
        return 0.0
    exact = Decimal(low)
    shorter = (
        float(Context(prec=n, rounding=ROUND_CEILING).plus(exact)) for n in range(1, _ALL + 1)
    )
    return next((short for short in shorter if low <= short < after), edge)
