"""The order in which the levels of a table's columns get their codes."""

from __future__ import annotations

import numpy as np

# Levels with fewer rows tell nothing: their own answers would decide where they stand.
_LEAST_ROWS = 3
# Differences between levels below this part of the largest one are rounding.
_ROUNDING = 1e-9


def level_orders(table, rows, answers, weight):
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
    for j, own in enumerate(table.levels):
        order = None if own is None else table.natural_order(j)
        if own is not None and order is None:
            known = ~np.isnan(rows[:, j])
            codes = rows[known, j].astype(np.intp)
            order = _by_answers(codes, len(own), answers[known], weight[known])
        orders.append(order)
    return orders


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
    direction = np.linalg.eigh(shares * size[told] @ shares.T)[1][:, -1]
    # the sign is arbitrary: that of the first large entry
    large = np.abs(direction) > np.abs(direction).max() / 2.0
    return answers @ (direction * np.sign(direction[large.argmax()]))
