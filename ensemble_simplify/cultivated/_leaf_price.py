"""The price of a leaf in pruning: from the number of rows, or by cross-validation."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.model_selection import StratifiedKFold

CV_FOLDS = 5
CV_PRICES = 50  # most values that are compared
# Of a leaf, for equally large classes: divided by the square root of the rows.
PRICE = 0.005


def price_of_a_leaf(y, weight):
    """The price that is taken for ``ccp_alpha="auto"``, in units of Gini impurity.

    Where a class is rare, there is less impurity that a leaf could save.
    """
    share = np.bincount(y, weight) / weight.sum()
    n_classes = np.count_nonzero(share)
    if n_classes < 2:
        return 0.0
    impurity = (1.0 - np.square(share).sum()) / (1.0 - 1.0 / n_classes)
    return float(PRICE / weight.sum() ** 0.5 * impurity**2)


def best_price(tree, grower, X, y, weight, random) -> float:
    """The price with the best accuracy on held-out folds; 0 if there is no time.

    Those of the whole `tree` are tried on trees that `grower` grows on the other folds.
    """
    prices = np.unique(tree.pruning_path()[1])
    # For each tree of the path a price at which it is best; the last one leaves only the root.
    prices = np.append(np.sqrt(prices[:-1] * prices[1:]), prices[-1])
    if len(prices) > CV_PRICES:
        prices = prices[np.linspace(0, len(prices) - 1, CV_PRICES).astype(int)]
    n_folds = min(CV_FOLDS, int(np.bincount(y).max()))
    if n_folds < 2:
        return 0.0
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=random)
    right = np.zeros(len(prices))
    with warnings.catch_warnings():
        # rare classes may be missing in a fold
        warnings.filterwarnings("ignore", message="The least populated class")
        parts = list(folds.split(X, y))
    for train, test in parts:
        part, timed_out = grower.tree(X[train], y[train], weight[train])
        if timed_out:
            return 0.0
        rows = np.ascontiguousarray(X[test])
        for i, price in enumerate(prices):
            proba = np.zeros((len(test), grower.n_classes))
            part.pruned(price).router(grower.rules["min_fraction"]).mean(rows, proba)
            right[i] += weight[test] @ (proba.argmax(axis=1) == y[test])
    # sums of weights that differ by rounding alone are equal
    return float(prices[np.flatnonzero(right >= right.max() * (1 - 1e-12))[-1]])
