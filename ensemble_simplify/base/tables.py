"""Tables with text and gaps, for estimators that learn from the labels of rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_consistent_length, validate_data

from ensemble_simplify.base.rows import check_weights
from ensemble_simplify.grid import preorder
from ensemble_simplify.reading import Gaps, Table, is_plain, level_orders


def learned_rows(estimator, X, y, sample_weight=None, *, dtype=np.float32, regression=False):
    """Training rows as numbers, NaN where they lack one, and their labels, checked.

    Text and categories become codes, in the order of the mean label. What the columns hold is kept
    in ``_table``, for `fitted_rows`; new rows may lack anything (``_may_miss``), also what no row
    lacked here, and a level that is new to a column is a gap. See `Gaps` for numbers in their
    place, and `with_gaps` for trees that were grown on such.
    """
    numbers = {"dtype": dtype, "order": "C", "ensure_all_finite": "allow-nan"}
    if is_plain(X):
        given = X
        X, y = validate_data(estimator, X, y, y_numeric=regression, **numbers)
        table = Table.of_numbers(X.shape[1], getattr(estimator, "feature_names_in_", None))
        table = replace(table.like(given), gaps=Gaps.of(X.astype(np.float64)))
    else:
        y = validate_data(estimator, y=y, y_numeric=regression)
        if not regression:
            check_classification_targets(y)
        validate_data(estimator, X, skip_check_array=True)
        check_consistent_length(X, y)
        if len(X.shape) != 2:
            raise ValueError(f"X has {len(X.shape)} dimensions instead of 2. Give rows.")
        table = ordered_table(X, y, sample_weight, by_class=not regression)
        X = check_array(table.read(X), estimator=estimator, **numbers)
    estimator._table = table
    estimator._may_miss = np.ones(X.shape[1], dtype=bool)
    estimator._takes_missing = True
    return X, y


def ordered_table(X, y, sample_weight=None, *, by_class):
    """What rows hold, the codes of levels in the order of the mean label; new levels are gaps.

    Rows of weight 0 have no say in the order.
    """
    table = Table.of_rows(X, unknown="missing")
    if not table.coded.any():
        return table
    rows = table.read(X)
    weight = check_weights(sample_weight, rows)
    used = weight > 0
    rows, labels, weight = rows[used], np.asarray(y)[used], weight[used]
    if by_class:
        labels = np.unique(labels, return_inverse=True)[1]
        labels = labels[:, None] == np.arange(labels.max() + 1)
    else:
        labels = labels[:, None]
    orders = level_orders(table, rows, labels.astype(np.float64), weight)
    return table.reordered(orders)


def with_gaps(nodes, gaps, n_rows, below=None):
    """A tree that was grown on rows with numbers for their gaps, for rows with these gaps.

    Parameters
    ----------
    nodes : TreeNodes
    gaps : Gaps
        By which the rows were filled.
    n_rows : array-like of shape (n_nodes,)
        Rows, or their weight. What no row lacked goes to the side of more.
    below : bool array of shape (n_nodes,) or None
        Splits for which the gaps of their column are below all its numbers; for others, they are
        above. None: the gaps were filled by `gaps`.

    Returns
    -------
    nodes : TreeNodes
    order : intp array of shape (n_nodes,)
        The number, among the nodes given, of each node.
    missing_left : bool array of shape (n_nodes,)
        Splits that send missing values left.
    """
    left, right, threshold = (a.copy() for a in (nodes.left, nodes.right, nodes.threshold))
    inner, column = left >= 0, np.maximum(nodes.feature, 0)
    seen = inner & gaps.seen[column]
    below = seen & (threshold >= gaps.stand_in[column] if below is None else below)
    # these tell gaps from numbers: an infinite threshold does, with the gaps on its right
    apart = below & (threshold < gaps.low[column])
    left[apart], right[apart] = right[apart], left[apart]
    threshold[apart] = np.inf
    n_rows = np.asarray(n_rows)
    missing_left = inner & (n_rows[left] > n_rows[right])
    missing_left[seen] = (below & ~apart)[seen]
    nodes, order = preorder(left, right, nodes.feature, threshold)
    return nodes, order, missing_left[order]
