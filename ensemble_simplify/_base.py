"""What the estimators share: getting a fitted ensemble, checking weights and labels, memory."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, has_fit_parameter


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
        expected = getattr(fitted, "n_features_in_", X.shape[1])
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
            f"sample_weight has a negative entry, {sample_weight.min()}. Weights must be at least 0."
        )
    if not sample_weight.any():
        raise ValueError(
            "Sample weights must contain at least one non-zero number; sample_weight is all zero."
        )
    return sample_weight


def class_index(y, classes):
    """Position of each label in `classes` (sorted).

    Raises
    ------
    ValueError
        If a label is not among them: a frozen ensemble was fitted on other classes.
    """
    index = np.searchsorted(classes, y)
    found = classes[np.minimum(index, len(classes) - 1)] == y
    if not np.all(found):
        unknown = np.asarray(y)[~found][0]
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
