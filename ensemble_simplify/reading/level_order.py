"""The order in which the levels of a table's columns get their codes: by answers, or by tests."""

from __future__ import annotations

import numpy as np

# Levels with fewer rows tell nothing: their own answers would decide where they stand.
_LEAST_ROWS = 3
# Differences between levels below this part of the largest one are rounding.
_ROUNDING = 1e-9
# Levels that tests tell apart beyond which they stay in the order in which they are.
_MOST_LEVELS = 4096


def level_orders(table, rows, answers, weight) -> list:
    """For each column the order of its levels, for `Table.reordered`; None where there are none.

    Numbers, and ordered categories, keep the order that they have of themselves. Other levels are
    put in the order of a model's mean answers, so that one threshold makes a good set of levels.

    Parameters
    ----------
    table : Table
    rows : ndarray of shape (n_rows, n_columns)
        Codes, NaN where they lack one.
    answers : ndarray of shape (n_rows, n_outputs)
        Of the model to the rows: shares of classes, or one column of values.
    weight : ndarray of shape (n_rows,)
    """
    orders = []
    for j, levels in enumerate(table.levels):
        order = None if levels is None else table.natural_order(j)
        if levels is not None and order is None:
            known = ~np.isnan(rows[:, j])
            codes = rows[known, j].astype(np.intp)
            order = _by_answers(codes, len(levels), answers[known], weight[known])
        orders.append(order)
    return orders


def order_of_sides(sides, n_levels, count=None, below=None) -> np.ndarray | None:
    """The order of a column's levels in which sets of them have few ends; None: as it is.

    Levels that many tests send the same way become neighbours: a short path through all levels, by
    insertion, where the distance of two is the number of tests that tell them apart. Where each
    test is about one level, as after a one-hot encoder, all paths are alike. A level in the middle
    has other codes on both sides, and nodes for these are written twice. So levels come first where
    such nodes are many. All numbers are whole, so that every machine finds the same order.

    Parameters
    ----------
    sides : bool array of shape (n_sets, n_codes)
        Where each code goes. A code after the levels, of those that nobody knows, stays the last.
    n_levels : int
    count : int array of shape (n_sets,) or None
        How many tests there are of each set; None: one.
    below : int array of shape (n_sets, 2) or None
        How many nodes are on the right, and on the left, of these tests; None: it is not known.
    """
    alike, group = np.unique(sides.T, axis=0, return_inverse=True)
    n, group = len(alike), group.ravel()
    if n < 2:
        return None
    are_few = 2 * sides.sum(axis=1) < sides.shape[1]
    alone = sides == are_few[:, None]
    if below is not None and (alone.sum(axis=1) <= 1).all():
        twice = np.where(are_few, below[:, 0], below[:, 1])
        return np.argsort(-(twice @ alone)[:n_levels], kind="stable")
    if n > _MOST_LEVELS:
        return None
    side = alike.astype(np.float64)
    apart = (side if count is None else side * count) @ (1.0 - side).T
    apart += apart.T
    last = None if sides.shape[1] == n_levels else int(group[-1])
    path = _short_path(apart, last)
    if apart[path[:-1], path[1:]].sum() >= apart[group[:-1], group[1:]].sum():
        return None
    place = np.empty(n, dtype=np.intp)
    place[path] = np.arange(n)
    return np.argsort(place[group[:n_levels]], kind="stable")


def _short_path(apart, last=None):
    """A short path through all points, which ends in the last one, by farthest insertion."""
    begin, end = divmod(int(apart.argmax()), len(apart))
    if last is not None:
        begin, end = int(apart[last].argmax()), last
    path, nearest = np.array([begin, end]), np.minimum(apart[begin], apart[end])
    nearest[path] = -1.0
    while len(path) < len(apart):
        point = int(nearest.argmax())
        way = apart[point, path]
        longer = np.concatenate([way[:1], way[:-1] + way[1:] - apart[path[:-1], path[1:]]])
        if last is None:
            longer = np.append(longer, way[-1])
        path = np.insert(path, int(longer.argmin()), point)
        nearest = np.minimum(nearest, apart[point])
        nearest[point] = -1.0
    return path


def _by_answers(codes, n_levels, answers, weight):
    """Levels by their mean answers, shrunk to the mean of all where rows are few.

    How much they are shrunk follows from the variance within levels and between them: levels that
    make no difference stay in the order in which they are.
    """
    n_rows = np.bincount(codes, minlength=n_levels)
    told = n_rows >= _LEAST_ROWS
    if np.count_nonzero(told) < 2:
        return np.arange(n_levels)
    counted = told[codes]
    codes, answers, weight = codes[counted], answers[counted], weight[counted]
    size = np.bincount(codes, weights=weight, minlength=n_levels)
    score = _line(codes, size, answers, weight)
    mean = np.bincount(codes, weights=weight * score, minlength=n_levels)
    mean = np.divide(mean, size, out=np.zeros(n_levels), where=told)
    centre = weight @ score / weight.sum()
    # sizes as numbers of rows
    size *= codes.size / weight.sum()
    squares = weight @ np.square(score - mean[codes]) * (codes.size / weight.sum())
    degrees = np.count_nonzero(told) - 1
    within = squares / (codes.size - degrees - 1)
    between = size[told] @ np.square(mean[told] - centre) - degrees * within
    # what divides a component of variance where levels are of unequal sizes
    between /= codes.size - np.square(size).sum() / codes.size
    if between <= 0.0:
        return np.arange(n_levels)
    place = np.where(told, size / (size + within / between) * (mean - centre), 0.0)
    return np.argsort(np.rint(place / (np.abs(place).max() * _ROUNDING)), kind="stable")


def _line(codes, size, answers, weight):
    """One number for each answer: of many classes, their first principal component by level."""
    if answers.shape[1] <= 2:
        return answers[:, -1]
    shares = np.array([np.bincount(codes, weight * column, len(size)) for column in answers.T])
    told = size > 0.0
    shares = shares[:, told] / size[told]
    shares = shares - (shares @ size[told] / size[told].sum())[:, None]
    # the columns of eigenvectors come in ascending order of their eigenvalues
    direction = np.linalg.eigh(shares * size[told] @ shares.T)[1][:, -1]
    # the sign is arbitrary: that of the first large entry
    large = np.abs(direction) > np.abs(direction).max() / 2.0
    return answers @ (direction * np.sign(direction[large.argmax()]))
