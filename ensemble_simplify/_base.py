"""What the estimators share: getting a fitted ensemble, checking weights and labels, memory."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Mapping
from numbers import Integral, Real
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    has_fit_parameter,
    validate_data,
)


def fit_or_unwrap(estimator, X, y, sample_weight=None, *, default=None):
    """Return a fitted ensemble, leaving the user's object as it was.

    Parameters
    ----------
    estimator : estimator, FrozenEstimator or None
        An unfitted (or refittable) ensemble is cloned and fitted; a
        ``FrozenEstimator`` is unwrapped and used as it is; ``None`` means `default`.
    X, y : array-like
        Training rows, as the caller received them (so that names of columns reach the ensemble).
    sample_weight : array-like of shape (n_samples,) or None
    default : estimator
        Unfitted ensemble used for ``estimator=None``.

    Raises
    ------
    NotFittedError
        If a frozen estimator has not been fitted.
    ValueError
        If a frozen estimator was fitted on another number of features, or
        `sample_weight` is given and the ensemble cannot use it.
    """
    if isinstance(estimator, FrozenEstimator):
        fitted = estimator.estimator
        try:
            check_is_fitted(fitted)
        except NotFittedError as error:
            raise NotFittedError(
                f"estimator=FrozenEstimator({type(fitted).__name__}(...)) holds an ensemble that "
                "is not fitted. Fit it first, or pass it without FrozenEstimator to have it "
                "fitted here."
            ) from error
        try:
            expected = fitted.n_features_in_
        except (AttributeError, IndexError):  # not told, or no members: the reader says so
            expected = X.shape[1]
        if expected != X.shape[1]:
            raise ValueError(
                f"estimator=FrozenEstimator({type(fitted).__name__}(...)) was fitted on {expected} "
                f"features, but X has {X.shape[1]}. Pass the columns it was fitted on."
            )
        return fitted
    fitted = clone(default if estimator is None else estimator)
    if sample_weight is None:
        return fitted.fit(X, y)
    if not has_fit_parameter(fitted, "sample_weight"):
        raise ValueError(
            f"sample_weight was given, but estimator={type(fitted).__name__}(...) does not take "
            "sample weights. Leave sample_weight out or use an ensemble that supports it."
        )
    return fitted.fit(X, y, sample_weight=sample_weight)


def all_or_nothing(fit):
    """Decorate ``fit``: where it does not end (Ctrl-C, an error), the estimator is as before."""

    @functools.wraps(fit)
    def wrapper(self, *args, **kwargs):
        before = dict(vars(self))
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return wrapper


def check_weights(sample_weight, X):
    """Validated weights of rows, or None.

    Raises
    ------
    ValueError
        If a weight is negative or not finite, or all are zero.
    """
    if sample_weight is None:
        return None
    sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
    if sample_weight.min() < 0:
        raise ValueError(
            f"sample_weight has a negative entry, {sample_weight.min()}. Weights must be at "
            "least 0."
        )
    if not sample_weight.any():
        raise ValueError(
            "Sample weights must contain at least one non-zero number; sample_weight is all zero."
        )
    return sample_weight


def class_index(y, classes):
    """Position of each label in `classes`.

    Raises
    ------
    ValueError
        If a label is not among them: a frozen ensemble was fitted on other classes.
    """
    y = np.asarray(y)
    if (y.dtype.kind in "OSU") == (classes.dtype.kind in "OSU"):
        order = np.argsort(classes, kind="stable")
        place = np.searchsorted(classes, y, sorter=order)
        index = order[np.minimum(place, len(classes) - 1)]
        found = classes[index] == y
    else:
        found = np.zeros(len(y), dtype=bool)
    if not np.all(found):
        unknown = y[~found][0]
        raise ValueError(
            f"y holds the label {unknown!r}, which the ensemble has never seen. Its classes are "
            f"{list(classes)}. Pass rows of these classes."
        )
    return index


def available_memory():
    """Free memory of this machine, in bytes (4 GiB where the system does not tell)."""
    limits = []
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        match = re.search(r"MemAvailable:\s+(\d+) kB", meminfo.read_text())
        if match:
            limits.append(1024 * int(match[1]))
    elif "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {}):
        # half of what is installed, where the share in use is not known
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2)
    group, used = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")
    if group.exists() and used.exists() and group.read_text().strip().isdigit():
        limits.append(max(int(group.read_text()) - int(used.read_text()), 0))
    return min(limits, default=4 << 30)


def column_index(key, parameter, n_features, names=None):
    """Index of a column that a user gave by name or index.

    Parameters
    ----------
    key : str or int
    parameter : str
        Where it was given, for the error.
    n_features : int
    names : ndarray of shape (n_features,) or None
        Names of the columns of X.
    """
    if isinstance(key, str):
        if names is None:
            raise ValueError(
                f"{parameter} names the column {key!r}, but X has no column names. "
                "Pass a DataFrame, or use column indices."
            )
        found = np.flatnonzero(names == key)
        if not found.size:
            raise ValueError(
                f"{parameter} names the column {key!r}, which X does not have. Its columns "
                f"are {', '.join(map(str, names[:8]))}{', ...' if len(names) > 8 else ''}."
            )
        return int(found[0])
    if not isinstance(key, Integral) or not 0 <= key < n_features:
        raise ValueError(
            f"{parameter} has the column {key!r}. Columns are names, or indices from 0 to "
            f"{n_features - 1}."
        )
    return int(key)


def read_price(cost, name):
    """A price as a float; `name` is for the error."""
    if not isinstance(cost, Real) or not np.isfinite(cost) or cost < 0:
        raise ValueError(f"{name}={cost!r} is not a price. Give a finite number, zero or more.")
    return float(cost)


def read_feature_costs(costs, n_features, names=None):
    """Prices of all features from an array, a dict by column, or None (1 each).

    Parameters
    ----------
    costs : array-like of shape (n_features,), dict or None
        Columns that a dict does not name cost nothing.
    n_features : int
    names : ndarray of shape (n_features,) or None
        Names of the columns of X.

    Returns
    -------
    ndarray of float64, shape (n_features,)
    """
    if costs is None:
        return np.ones(n_features)
    if isinstance(costs, Mapping):
        prices = np.zeros(n_features)
        for key, cost in costs.items():
            k = column_index(key, "feature_costs", n_features, names)
            prices[k] = read_price(cost, f"feature_costs[{key!r}]")
        return prices
    prices = np.asarray(costs, dtype=np.float64)
    if prices.shape != (n_features,):
        raise ValueError(
            f"feature_costs has shape {prices.shape}, but X has {n_features} features. "
            "Give one price a feature."
        )
    for k, cost in enumerate(prices):
        read_price(cost, f"feature_costs[{k}]")
    return prices


def fitted_rows(estimator, X):
    """Rows to predict, as a scikit-learn tree takes them unchecked: finite float32, C order.

    Raises
    ------
    NotFittedError
        If the estimator has not been fitted.
    ValueError
        If the rows do not go with those it was fitted on.
    """
    check_is_fitted(estimator)
    return validate_data(estimator, X, reset=False, dtype=np.float32, order="C")
