"""Rows, weights, labels and names of columns as users give them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import (
    check_is_fitted,
    validate_data,
)

from ensemble_simplify.base._scikit_learn import (
    _check_feature_names,
    _check_sample_weight,
    _get_feature_names,
)
from ensemble_simplify.reading import is_plain, library_of


def same_names(estimator, names):
    """Whether an estimator with names of columns was fitted on these ones."""
    return np.array_equal(_names_kept(estimator, names), estimator.feature_names_in_)


def check_column_names(models, X=None, parameter="X"):
    """Refuse columns in another order than a model was fitted on, as ``predict`` would.

    ValueError if the rows, which errors call by `parameter`, have the wrong names, or two models
    know the same names in another order. Models, and rows, without names of columns go with any.
    """
    named = [model for model in models if hasattr(model, "feature_names_in_")]
    names = None if X is None else _get_feature_names(X)
    for model in named:
        theirs = model.feature_names_in_
        if names is None or len(names) != len(theirs) or same_names(model, names):
            continue
        j = np.flatnonzero(_names_kept(model, names) != theirs)[0]
        raise ValueError(
            f"{parameter} has the column {names[j]!r} where {type(model).__name__}(...) was fitted "
            f"on {theirs[j]!r}. Pass the columns it was fitted on, in their order."
        )
    for other in named[1:]:
        ours, theirs = list(named[0].feature_names_in_), list(other.feature_names_in_)
        if ours != theirs and sorted(ours) == sorted(theirs):
            raise ValueError(
                f"model_a was fitted on the columns {', '.join(map(repr, ours[:8]))}, but model_b "
                f"on {', '.join(map(repr, theirs[:8]))}. Fit both on the columns in the same order."
            )


def _names_kept(estimator, names):
    """Names of columns as an estimator keeps them: LightGBM's have underscores for spaces."""
    names = np.asarray(names, dtype=object)
    if library_of(estimator) != "lightgbm":
        return names
    return np.array([name.replace(" ", "_") for name in names], dtype=object)


def named_rows(given, X):
    """The rows as the ensemble should see them: a table as it came, else the checked array."""
    return X if _get_feature_names(given) is None and is_plain(given) else given


def check_weights(sample_weight, X, *, mean_one=False):
    """Weights of the rows, checked: float64 of shape (n_samples,), ones for None.

    `mean_one` scales weights of an average below one up so that the rows with a positive weight
    weigh one on average: for methods whose limits count rows. ValueError if a weight is negative or
    not finite, or all are zero.
    """
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
    if weight.min() < 0:
        raise ValueError(
            f"sample_weight has the negative entry {weight.min()}. Weights must be 0 or more."
        )
    if not weight.any():  # newer versions of scikit-learn say so themselves
        raise ValueError(
            "sample_weight is zero for every row. Give at least one row a positive weight."
        )
    if mean_one:
        positive = weight[weight > 0]
        # of equal weights exactly one: their mean can round
        average = positive[0] if positive.min() == positive.max() else positive.mean()
        if average < 1.0:
            weight = weight / average
    return weight


def class_index(y, classes):
    """Position of each label in `classes`.

    ValueError if a label is not among them: a frozen ensemble was fitted on other classes.
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
        unknown = y[~found].tolist()[0]
        raise ValueError(
            f"y holds the label {unknown!r}, which the ensemble has never seen. Its classes are "
            f"{classes.tolist()}. Pass rows of these classes."
        )
    return index


def fitted_rows(estimator, X, *, any_missing=False, dtype="float32"):
    """Rows to predict, as a scikit-learn tree takes them unchecked: of float32, C order.

    They are finite, but for features in ``estimator._may_miss`` (None: none) or, if `any_missing`,
    all features. ValueError if they do not go with those that the estimator was fitted on.
    """
    check_is_fitted(estimator)
    known: Any = getattr(estimator, "_may_miss", None)
    table = getattr(estimator, "_table", None)
    _check_names(estimator, X)
    X = X if table is None else table.encode(X)
    # an ensemble that takes missing values could have promised what it says of them
    could = known is not None or getattr(estimator, "_takes_missing", False)
    allowed = "allow-nan" if any_missing or could else True
    X = validate_data(
        estimator, X, reset=False, dtype=np.dtype(dtype), order="C", ensure_all_finite=allowed
    )
    if allowed == "allow-nan" and not any_missing:
        unpromised = np.isnan(X) if known is None else np.isnan(X) & ~known
        if unpromised.any():
            row, j = np.argwhere(unpromised)[0]
            raise ValueError(_not_promised(estimator, known, row, j))
    return X


def _check_names(estimator, X):
    """Refuse columns of other names, or in another order, in scikit-learn's words and by name.

    It is done before levels are looked up in columns that are others.
    """
    fitted: Any = getattr(estimator, "feature_names_in_", None)
    names: Any = None if fitted is None else _get_feature_names(X)
    if names is None or np.array_equal(names, fitted):
        return
    try:
        _check_feature_names(estimator, X, reset=False)
    except ValueError as error:
        told = ""
        if len(names) == len(fitted):
            j = np.flatnonzero(names != fitted)[0]
            told = f"X has the column {names[j]!r} where {fitted[j]!r} stood in fit. "
        raise ValueError(f"{error}\n{told}Pass the columns of fit, in their order.") from error


def _not_promised(estimator, known, row, j):
    """The text for a row that lacks a feature which may not be missing; `known`: which may."""
    if not hasattr(estimator, "domain"):
        names = getattr(estimator, "feature_names_in_", None)
        return (
            f"X[{row}, {j}] is missing, but the model takes no row that lacks the column "
            f"{j if names is None else names[j]!r}. Fill in a value."
        )
    names, table = getattr(estimator, "feature_names_in_", None), getattr(estimator, "_table", None)
    may = [*([] if known is None else np.flatnonzero(known)), j]
    keys = [int(k) if names is None else str(names[k]) for k in may]
    lost = "is missing,"
    if table is not None and table.levels[j] is not None and table.unknown[j] == "missing":
        lost = "is missing, or of a level that was not there in fit,"
    return (
        f"X[{row}, {j}] {lost} but the column {keys[-1]!r} may not be missing: no row lacked it in "
        "fit, or the domain leaves it out, and what the ensemble says there was not looked at. "
        f"Fill in a value, or fit again with domain=Domain(missing={keys!r})."
    )
