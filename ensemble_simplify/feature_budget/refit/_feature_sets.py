"""Sets of features at falling prices, by what each feature is worth for its price."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, lasso_path

from ensemble_simplify.feature_budget.pruning._choice import ROUNDING
from ensemble_simplify.grid import is_late

# Each set of features costs at most this share of the one before.
_SHRINK = 0.8

# Levels of an L1 penalty, and the last of them as a share of the one that lets nothing in.
_N_PENALTIES = 16
_LAST_PENALTY = 3e-3
# An L1 penalty as scikit-learn states it from release 1.8 on, and before.
_SAYS_L1_RATIO = getattr(LogisticRegression(), "penalty", "deprecated") == "deprecated"
_L1 = {"l1_ratio": 1.0} if _SAYS_L1_RATIO else {"penalty": "l1"}

# Share of the features after which the others are left out.
_ENOUGH = 0.7
# Columns whose spread is below this share of their mean are constant.
_ROUNDING = 1e-10

# By less than the step from one level to the next, penalties are interpolated.
_BETWEEN = 0.4


def feature_sets(prices, importance_on, budget=np.inf):
    """Smaller and smaller sets of features, the least gain for its price left out first.

    `importance_on` takes the features of a set, and returns what each is worth in it (None: time is
    up). If `budget` is within the price of all features, one of the sets fills it. The first set of
    the list are all features.
    """
    kept = np.arange(len(prices.resources))
    sets = []
    while True:
        sets.append(kept)
        worth = importance_on(kept)
        if worth is None or len(kept) == 1:
            return sets
        value = np.zeros(len(prices.resources))
        value[kept] = worth
        price = prices.of_set(kept)
        goal = _SHRINK * price
        if goal < budget < price * (1 - ROUNDING):
            goal = budget
        smaller = within_price(prices, kept, value, goal)
        if len(smaller) == len(kept):
            return sets
        kept = smaller


def within_price(prices, kept, value, goal):
    """What is left of a set when the least worth for its price is left out, filled up to a price.

    `value` says what each feature is worth.
    """
    goal = goal * (1 + ROUNDING)
    smaller = kept
    while prices.of_set(smaller) > goal:
        left = without_the_least(prices, smaller, value)
        if left is None:
            return smaller
        smaller = left
    return filled_up(prices, smaller, np.setdiff1d(kept, smaller), value, goal)


def sparse_worth(X, y, weight, *, classification):
    """The strongest penalty under which each feature has a coefficient; 0: none.

    Coefficients are those of a lasso, or for classes of a logistic regression of each class with
    an L1 penalty. Columns have unit variance, and missing values are their mean. The last few that
    would join are left at 0, which takes much of the time, and so are more where time is up.
    """
    X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
    worth = np.zeros(X.shape[1])
    if len(y) == 0 or np.ptp(y) == 0:
        return worth
    share = weight / weight.sum()
    known = np.isfinite(X)
    counted = np.maximum(share @ known, np.finfo(float).tiny)
    mean = share @ np.where(known, X, 0) / counted
    columns = np.where(known, X - mean, 0)
    spread = np.sqrt(share @ columns**2)
    # What is left of a constant is rounding.
    varies = spread > _ROUNDING * np.abs(mean)
    columns = np.where(varies, columns / np.where(varies, spread, 1), 0)
    sides = [np.asarray(y, dtype=np.float64)]
    if classification:
        classes = np.unique(y)
        sides = [y == c for c in classes[len(classes) == 2 :]]
    for side in sides:
        slope = np.abs((share * (side - share @ side)) @ columns).max()
        if slope == 0:
            continue
        penalties = slope * np.geomspace(1, _LAST_PENALTY, _N_PENALTIES)
        path = _logistic_path if classification else _linear_path
        for penalty, coefficients in zip(
            penalties, path(columns, side, share, penalties), strict=True
        ):
            # Those with the largest coefficients joined first since the level before.
            size = np.abs(coefficients)
            relative = size / max(size.max(), np.finfo(float).tiny)
            worth = np.maximum(
                worth, np.where(relative > 0, penalty * (1 + relative * _BETWEEN), 0)
            )
            if np.count_nonzero(relative) >= _ENOUGH * len(relative) or is_late():
                break
    return worth


def _linear_path(X, y, share, penalties):
    """Coefficients of a lasso at each of the penalties of the mean loss of the rows."""
    root = np.sqrt(share * len(X))
    target = root * (y - share @ y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return lasso_path(X * root[:, None], target, alphas=penalties, tol=1e-6)[1].T


def _logistic_path(X, y, share, penalties):
    """The same of a logistic regression, one after the other."""
    for penalty in penalties:
        strength = 1 / (penalty * len(X))
        model = LogisticRegression(solver="liblinear", C=strength, random_state=0, **_L1)
        with warnings.catch_warnings():
            # The order in which features join is sure long before the last digits are.
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y, sample_weight=share * len(X))
        yield model.coef_[0]


def without_the_least(prices, kept, value):
    """A set without the feature or group of least value for its price; None if nothing is left."""
    of_feature, group, group_price = _shared_prices(prices)
    group, gain = group[kept], value[kept]
    n_groups = len(group_price)
    # Singly, the last of a group saves the price of that, too.
    size = np.bincount(group, minlength=n_groups)
    saved = of_feature[kept] + np.where(size[group] == 1, group_price[group], 0)
    whole = np.bincount(group, weights=of_feature[kept], minlength=n_groups) + group_price
    whole[[0, *np.flatnonzero(size == 0)]] = 0  # no group, or none of it left
    saved = np.append(saved, whole)
    gain = np.append(gain, np.bincount(group, weights=gain, minlength=n_groups))
    saved[len(kept) :][size == len(kept)] = 0
    if len(kept) == 1 or not (saved > 0).any():
        return None
    ratio = np.full(len(saved), np.inf)
    np.divide(gain, saved, out=ratio, where=saved > 0)
    least = int(np.argmin(ratio))
    if least < len(kept):
        return np.delete(kept, least)
    return kept[group != least - len(kept)]


def filled_up(prices, kept, others, value, goal):
    """A set with more of other features while they fit, the most value for its price first."""
    of_feature, group, group_price = _shared_prices(prices)
    while len(others):
        bought = np.isin(group[others], group[kept])
        more = of_feature[others] + np.where(bought, 0, group_price[group[others]])
        fits = prices.of_set(kept) + more <= goal
        others, more = others[fits], more[fits]
        if len(others):
            # First of all what is free.
            ratio = np.full(len(others), np.inf)
            np.divide(value[others], more, out=ratio, where=more > 0)
            best = np.lexsort((-value[others], -ratio))[0]
            kept, others = np.sort(np.append(kept, others[best])), np.delete(others, best)
    return kept


def _shared_prices(prices):
    """Prices of the features alone, the group of each (0: none), and prices of the groups."""
    priced = np.append(prices.price, 0.0)
    groups, group = np.unique(np.append(-1, prices.resources[:, 1]), return_inverse=True)
    return priced[prices.resources[:, 0]], group[1:], priced[groups]
