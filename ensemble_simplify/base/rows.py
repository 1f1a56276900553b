"""Rows, weights, labels and names of columns as users give them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from ensemble_simplify.base._scikit_learn import (
    _check_feature_names,
    _check_sample_weight,
    _check_y,
    _get_feature_names,
    safe_indexing,
)
from ensemble_simplify.grid import check_time, preorder
from ensemble_simplify.reading import Gaps, Table, family_of, is_plain, level_orders

# Rows that a model is asked about at once.
BATCH = 1 << 17
# In the place of labels that nobody gave; None are labels that are lacking.
NOT_GIVEN = "no_validation"


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows as a user gave them, and the numbers that were made of them.

    Cells can be of numbers that float32 represents. A model that compares finer numbers, or that
    scales rows in the dtype in which they come, can answer a row otherwise than its cell; what is
    said of rows is therefore asked, of rows as they were given.

    Attributes
    ----------
    given : array or data frame of shape (n_rows, n_features)
        As models take them: a table or a frame as it came, else the checked array.
    numbers : ndarray of shape (n_rows, n_features) or None
        Float64, or float32 if they came so. None: they are levels that a model has yet to number.
    """

    given: Any
    numbers: Any

    @classmethod
    def of(cls, table, X, name="X") -> Self:
        """Rows of a table; errors call them by `name`."""
        numbers = table.read(X, [np.float64, np.float32], name)
        return cls(X if hasattr(X, "shape") else numbers, numbers)

    @classmethod
    def checked(cls, X, checked) -> Self:
        """Rows that were checked, as an array of numbers or a table that stays as it is."""
        return cls(named_rows(X, checked), checked if is_plain(checked) else None)

    def rounded(self, dtype) -> np.ndarray:
        """The numbers of some dtype that they are rounded to, as float64."""
        return self.numbers.astype(dtype).astype(np.float64)

    def answers(self, models, method="predict", to_end=False) -> Iterator[tuple[int, list]]:
        """Batches: the number of their first row, and what each model answers to them.

        Raises `Stopped` between batches when the time is over, unless they are to go on to the end.
        """
        for begin in range(0, len(self.numbers), BATCH):
            if begin and not to_end:
                check_time()
            batch = slice(begin, begin + BATCH)
            X = self.given if len(self.numbers) <= BATCH else safe_indexing(self.given, batch)
            yield begin, [model.ask_given(X, self.numbers[batch], method) for model in models]


def named_rows(X, checked) -> Any:
    """The rows as models take them: a table, or what has names, as it came, else checked."""
    return checked if _get_feature_names(X) is None and is_plain(X) else X


def validated(estimator, X, y: Any = NOT_GIVEN, *, regression=False, reset=True, **numbers):
    """Rows and labels, checked, in the order in which scikit-learn checks them.

    Rows that are not all numbers stay as they are; `numbers` says what arrays of others are like.
    With `reset` they are training rows, else such as these were.
    """
    has_labels = y is not NOT_GIVEN and y is not None
    if is_plain(X):
        labels = {"y_numeric": regression} if has_labels else {}
        checked = validate_data(estimator, X, y, reset=reset, **labels, **numbers)
        return checked if has_labels else (checked, y)
    validate_data(estimator, X, y, reset=reset, skip_check_array=True)
    if len(X.shape) != 2:
        raise ValueError(f"X has {len(X.shape)} dimensions instead of 2. Give rows.")
    if has_labels:
        # `validate_data` of labels alone would forget the names of the columns
        y = _check_y(y, y_numeric=regression, estimator=estimator)
        check_consistent_length(X, y)
    return X, y


def rows_and_targets(estimator, X, y, *, is_value) -> tuple[Rows, Any]:
    """Rows, and values or labels, checked; without `y`, rows alone."""
    if not (hasattr(X, "dtype") or hasattr(X, "columns")):
        # lists of rows are of objects, if some entries are text
        numbers = np.asarray(X)
        X = np.asarray(X, dtype=object) if numbers.dtype.kind in "OSU" else numbers
    numbers = {"dtype": np.float64, "ensure_all_finite": "allow-nan"}
    targets = NOT_GIVEN if y is None else y
    checked, targets = validated(estimator, X, targets, regression=is_value, **numbers)
    if y is not None:
        y = targets.astype(np.float64) if is_value else targets
        if not is_value:
            check_classification_targets(y)
    return Rows.checked(X, checked), y


def learned_rows(
    estimator, X, y, sample_weight=None, *, dtype: Any = np.float32
) -> tuple[Rows, Any]:
    """Training rows, with numbers of some dtype, NaN where they lack one; and labels, checked.

    Text and categories become codes, in the order of the mean label. What the columns hold is kept
    in ``_table``, for `fitted_rows`; new rows may lack anything (``_may_miss``), also what no row
    lacked here, and a level that is new to a column is a gap. See `Gaps` for numbers in their
    place, and `with_gaps` for trees that were grown on such.
    """
    numbers = {"dtype": dtype, "order": "C", "ensure_all_finite": "allow-nan"}
    given = X
    X, y = validated(estimator, X, y, **numbers)
    check_classification_targets(y)
    if is_plain(X):
        table = Table.of_numbers(X.shape[1], getattr(estimator, "feature_names_in_", None))
        table = table.like(given).as_whole(given)
        table = replace(table, gaps=Gaps.of(X.astype(np.float64)))
    else:
        table = ordered_table(X, y, sample_weight, by_class=True).as_whole(given)
        X = check_array(table.read(X), estimator=estimator, **numbers)
    estimator._table = table
    estimator._may_miss = np.ones(X.shape[1], dtype=bool)
    estimator._takes_missing = True
    return Rows(named_rows(given, X), X), y


def misnamed(estimator, names) -> int | None:
    """The first of these columns that an estimator was fitted on by another name; None: none is.

    The names of more or fewer columns are not compared.
    """
    theirs, names = estimator.feature_names_in_, np.asarray(names, dtype=object)
    if len(names) != len(theirs):
        return None
    kept = family_of(estimator).names_kept(names)
    # what an estimator of this package wraps may change names that it keeps itself
    others = np.flatnonzero((kept != theirs) & (names != theirs))
    return int(others[0]) if others.size else None


def check_column_names(models, X=None, parameter="X") -> None:
    """Refuse columns in another order than a model was fitted on, as ``predict`` would.

    ValueError if the rows, which errors call by `parameter`, have the wrong names, or two models
    know the same names in another order. Models, and rows, without names of columns go with any.
    """
    named = [model for model in models if hasattr(model, "feature_names_in_")]
    names = None if X is None else _get_feature_names(X)
    for model in named:
        if names is not None and (j := misnamed(model, names)) is not None:
            raise ValueError(
                f"{parameter} has the column {names[j]!r} where {type(model).__name__}(...) was "
                f"fitted on {str(model.feature_names_in_[j])!r}. Pass the columns it was fitted "
                "on, in their order."
            )
    for other in named[1:]:
        ours, theirs = list(named[0].feature_names_in_), list(other.feature_names_in_)
        if ours != theirs and sorted(ours) == sorted(theirs):
            raise ValueError(
                f"model_a was fitted on the columns {', '.join(map(repr, ours[:8]))}, but model_b "
                f"on {', '.join(map(repr, theirs[:8]))}. Fit both on the columns in the same order."
            )


def check_weights(sample_weight, X, *, mean_one=False) -> np.ndarray:
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


def class_index(y, classes) -> np.ndarray:
    """Position of each label in `classes`.

    ValueError if a label is not among them: a frozen ensemble was fitted on other classes.
    """
    y = np.asarray(y)
    if (y.dtype.kind in "OSU") == (classes.dtype.kind in "OSU"):
        order = np.argsort(classes, kind="stable")
        place = np.searchsorted(classes, y, sorter=order)
        index = order[np.minimum(place, len(classes) - 1)]
        is_known = classes[index] == y
    else:
        is_known = np.zeros(len(y), dtype=bool)
    if not np.all(is_known):
        unknown = y[~is_known].tolist()[0]
        raise ValueError(
            f"y holds the label {unknown!r}, which the ensemble has never seen. Its classes are "
            f"{classes.tolist()}. Pass rows of these classes."
        )
    return index


def fitted_rows(estimator, X, *, any_missing=False, dtype="float32") -> np.ndarray:
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


def _check_names(estimator, X) -> None:
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


def _not_promised(estimator, known, row, j) -> str:
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


def differ(a, b) -> np.ndarray:
    """Which labels of two models are not the same, also where they are of two types."""
    if (a.dtype.kind in "OSU") != (b.dtype.kind in "OSU"):
        a, b = a.astype(object), b.astype(object)
    return a != b


# ------------------------------------------------------------------ text and gaps, by labels


def ordered_table(X, y, sample_weight=None, *, by_class) -> Table:
    """What rows hold, the codes of levels in the order of the mean label; new levels are gaps.

    Rows of weight 0 have no say in the order.
    """
    table = Table.of_rows(X, unknown="missing")
    if not table.coded.any():
        return table
    rows = table.read(X)
    weight = check_weights(sample_weight, rows)
    # a row without weight could tell its label by the code of its level
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
