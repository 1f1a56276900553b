"""Bins that a user gives: special codes of columns, and cuts and groups of levels of his own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ensemble_simplify.base import warn
from ensemble_simplify.reading import column_index
from ensemble_simplify.scorecards._card import Card, Term, places, with_codes
from ensemble_simplify.writing import plain


def read_codes(given, X, is_number, names) -> dict[int, list[float]]:
    """The special codes of each column that has some, by its place.

    Parameters
    ----------
    given : float, list of float, dict or None
        See `ScorecardClassifier`.
    X : float64 array of shape (n_rows, n_columns)
    is_number : bool array of shape (n_columns,)
    names : ndarray of str or None
    """
    if given is None:
        return {}
    if not isinstance(given, dict):
        codes = _numbers("special_codes", given)
        found = {j: [code for code in codes if (X[:, j] == code).any()] for j in range(X.shape[1])}
        return {j: own for j, own in found.items() if own and is_number[j]}
    found = {}
    for key, own in given.items():
        j = column_index(key, "special_codes", X.shape[1], names)
        if not is_number[j]:
            raise ValueError(
                f"special_codes[{key!r}]: the column has levels, each with points of its own. "
                "Leave it out."
            )
        found[j] = _numbers(f"special_codes[{key!r}]", own)
    return found


def _numbers(what, given):
    try:
        numbers = np.unique(np.asarray(given, dtype=np.float64))
    except (TypeError, ValueError):
        numbers = np.zeros(0)
    if not numbers.size or not np.isfinite(numbers).all():
        raise ValueError(
            f"{what}={given!r} holds what is no finite number. Give numbers, as [-999]."
        )
    return numbers.tolist()


def edited(card, bins, X, table, names, codes, least) -> Card:
    """A card with other bins in some columns; their points say only which are to be the same.

    Parameters
    ----------
    card : Card
    bins : dict
        See `ScorecardClassifier.with_bins`.
    X : float64 array of shape (n_rows, n_columns)
        Training rows.
    table : Table
    names : ndarray of str or None
    codes : dict of list of float
        Special codes of columns, by their places.
    least : int
        Rows that a bin should hold.
    """
    if not isinstance(bins, dict) or not bins:
        raise ValueError(f"bins={bins!r} is no dict of columns. Give one, such as {{0: [1.5]}}.")
    for key, own in bins.items():
        j = column_index(key, "bins", X.shape[1], names)
        terms = [term for term in card.terms if term.columns != (j,)]
        if own is not None:
            what, levels = f"bins[{key!r}]", table.levels[j]
            if levels is None:
                term = _of_numbers(what, j, own, X, card.n_scores, codes.get(j, []), least)
            else:
                term = _of_levels(what, j, own, X, card.n_scores, levels)
            terms.append(term)
        card = replace(card, terms=terms)
    return card


def _of_numbers(what, j, cuts, X, n_scores, codes, least):
    try:
        cuts = np.atleast_1d(np.asarray(cuts, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{what}={cuts!r}, but the column holds numbers. Give cuts between them, such as [1.5]."
        ) from error
    if cuts.ndim != 1 or not np.isfinite(cuts).all() or not (np.diff(cuts) > 0).all():
        raise ValueError(f"{what}={cuts.tolist()} are no finite cuts that ascend. Sort them.")
    values = X[~np.isin(X[:, j], codes), j]
    rows = np.bincount(places(cuts, values), minlength=len(cuts) + 2)[:-1]
    for k, n in enumerate(rows.tolist()):
        if n < least:
            low, high = ([None, *cuts.tolist(), None][k + i] for i in (0, 1))
            told = f"{what}: the bin above {low} up to {high} holds {n} training rows"
            if not n:
                raise ValueError(f"{told}. Leave out one of its ends.")
            warn(f"{told}, fewer than min_samples_bin={least}: its points are little known.")
    term = _numbered((j,), cuts, np.arange(len(cuts) + 1), rows, np.isnan(X[:, j]).any(), n_scores)
    # each code apart from gaps, too
    return with_codes(term, {code: -len(cuts) - 3.0 - k for k, code in enumerate(codes)})


def _of_levels(what, j, groups, X, n_scores, levels):
    known = [plain(level) for level in levels.tolist()]
    # levels in no group are one more
    group_of = np.full(len(known), len(groups))
    for k, group in enumerate(groups):
        for level in [group] if isinstance(group, str) else group:
            if level not in known:
                raise ValueError(f"{what} has the level {level!r}, which is none of {known}.")
            if group_of[place := known.index(level)] < len(groups):
                raise ValueError(f"{what} has the level {level!r} in two groups.")
            group_of[place] = k
    edges, seen = np.arange(len(known) - 1) + 0.5, ~np.isnan(X[:, j])
    # a level that is not known has a code of its own in some tables, beside the last
    rows = np.bincount(places(edges, X[seen, j]), minlength=len(known))
    return _numbered((j,), edges, group_of, rows, not seen.all(), n_scores)


def _numbered(columns, edges, group_of, rows, has_gap, n_scores):
    """A term whose points number its groups; gaps that no row had are in that of the most rows."""
    n_rows = np.bincount(group_of, rows)
    numbers = np.append(group_of, len(n_rows) if has_gap else n_rows.argmax())
    points = np.repeat(numbers[:, None].astype(np.float64), n_scores, axis=1)
    return Term(columns, (edges,), points)
