"""What the estimators share.

Getting a fitted ensemble, rows, weights and labels in order; what every estimator with a tree does
with it; the one rule for running out of time. Private helpers of scikit-learn that are used at all
are imported here and nowhere else.
"""

from __future__ import annotations

import functools
import os
import re
import sys
import time
import warnings
from numbers import Integral
from pathlib import Path

import numpy as np
from scipy.stats import beta
from sklearn.base import _fit_context as fit_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils import get_tags
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    Options,
    RealNotInt,
    StrOptions,
    validate_params,
)
from sklearn.utils.validation import (
    _check_sample_weight,
    _get_feature_names,
    _is_fitted,
    check_array,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    has_fit_parameter,
    validate_data,
)

from ensemble_simplify._columns import is_plain
from ensemble_simplify._domain import read_domain
from ensemble_simplify._forest import columns_of, read_forest, readable, unwrap
from ensemble_simplify._named_tree import NamedTree
from ensemble_simplify._readers import n_features_of

__all__ = [
    "HasMethods",
    "HoldsClassifierTree",
    "HoldsTree",
    "Interval",
    "Options",
    "RealNotInt",
    "StrOptions",
    "TakesWhatItsEstimatorTakes",
    "TimeLimitError",
    "all_or_nothing",
    "available_memory",
    "binomial_interval",
    "check_column_names",
    "check_missing",
    "check_readable",
    "check_weights",
    "checked_table",
    "class_index",
    "column_index",
    "columns_of",
    "deadline_after",
    "encoded",
    "finiteness",
    "fit_context",
    "fit_or_unwrap",
    "fitted_rows",
    "leaves_axis",
    "named_rows",
    "promised_domain",
    "pyplot",
    "read_classifier",
    "report",
    "safe_indexing",
    "same_names",
    "shares_axis",
    "unwrap",
    "validate_params",
    "warn",
    "warn_of_rounding",
    "warn_out_of_time",
]

# Frames of these packages are not the user's: warnings point beyond them.
_NOT_THE_USER = ("ensemble_simplify", "sklearn", "joblib")


# ------------------------------------------------------------------- a fitted ensemble


def fit_or_unwrap(
    estimator, X, y, sample_weight=None, *, default=None, random=None, name="estimator"
):
    """Return a fitted ensemble, leaving the user's object as it was.

    Parameters
    ----------
    estimator : estimator, FrozenEstimator or None
        An ensemble is cloned and fitted, with a warning if it was fitted before; a
        ``FrozenEstimator`` is unwrapped and used as it is; ``None`` means `default`.
    X : array or data frame of shape (n_samples, n_features)
        Training rows, as the caller received them (so that names of columns reach the ensemble).
    y : array-like of shape (n_samples,)
    sample_weight : array-like of shape (n_samples,) or None
    default : estimator
        Unfitted ensemble used for ``estimator=None``.
    random : RandomState or None
        Where every ``random_state=None`` of the copy to be fitted is drawn from, if given.
    name : str
        What errors call the estimator.

    Raises
    ------
    NotFittedError
        If a frozen estimator has not been fitted.
    ValueError
        If a frozen estimator was fitted on another number of features or on other names, or
        `sample_weight` is given and the ensemble cannot use it.
    """
    if isinstance(estimator, FrozenEstimator):
        fitted = unwrap(estimator)
        try:
            check_is_fitted(fitted)
        except NotFittedError as error:
            raise NotFittedError(
                f"{name}=FrozenEstimator({type(fitted).__name__}(...)) holds an ensemble that "
                "is not fitted. Fit it first, or pass it without FrozenEstimator to have it "
                "fitted here."
            ) from error
        try:
            expected = fitted.n_features_in_
        except (AttributeError, IndexError):  # not told, or no members: the reader says so
            expected = X.shape[1]
        if expected != X.shape[1]:
            raise ValueError(
                f"{name}=FrozenEstimator({type(fitted).__name__}(...)) was fitted on {expected} "
                f"features, but X has {X.shape[1]}. Pass the columns it was fitted on."
            )
        ours, theirs = _get_feature_names(X), getattr(fitted, "feature_names_in_", None)
        if ours is not None and theirs is not None and not same_names(fitted, ours):
            j = np.flatnonzero(_names_kept(fitted, ours) != theirs)[0]
            raise ValueError(
                f"{name}=FrozenEstimator({type(fitted).__name__}(...)) was fitted on "
                f"{theirs[j]!r} where X has the column {ours[j]!r}. Pass the columns it was fitted "
                "on, in their order."
            )
        return fitted
    if estimator is not None and _is_fitted(estimator):
        warn(
            f"{name}={type(estimator).__name__}(...) is fitted already, but a copy of it is fitted "
            "anew on the rows given to fit. To use it as it is, wrap it in "
            "sklearn.frozen.FrozenEstimator; if it is to be fitted anew, pass it through "
            "sklearn.base.clone first."
        )
    fitted = clone(default if estimator is None else estimator)
    if random is not None:
        params = sorted(fitted.get_params().items())
        unset = [k for k, v in params if v is None and k.split("__")[-1] == "random_state"]
        fitted.set_params(**{k: random.randint(np.iinfo(np.int32).max) for k in unset})
    if sample_weight is None:
        return unwrap(fitted.fit(X, y))
    if isinstance(fitted, Pipeline):
        last = fitted.steps[-1][0]
        raise ValueError(
            f"sample_weight was given, but {name}=Pipeline(...) does not say which of its steps "
            f"take it. Fit the pipeline first, pipeline.fit(X, y, {last}__sample_weight=...), and "
            f"pass {name}=FrozenEstimator(pipeline)."
        )
    if not has_fit_parameter(fitted, "sample_weight"):
        raise ValueError(
            f"sample_weight was given, but {name}={type(fitted).__name__}(...) does not take "
            "sample weights. Leave sample_weight out or use an ensemble that supports it."
        )
    return fitted.fit(X, y, sample_weight=sample_weight)


def check_readable(estimator):
    """Refuse a frozen pipeline that cannot be read before its rows are looked at.

    They may be text, which the first transformer would turn into numbers; an error about the
    rows would lead astray.

    Parameters
    ----------
    estimator : estimator, FrozenEstimator or None

    Raises
    ------
    TypeError
        If a transformer of the pipeline is not supported.
    """
    inner = readable(estimator) if isinstance(estimator, FrozenEstimator) else None
    if isinstance(inner, Pipeline) and _is_fitted(inner):
        n_features_of(inner)


def read_classifier(estimator, *, voting="estimator"):
    """Read a fitted ensemble, and refuse regressors.

    Parameters
    ----------
    estimator : fitted ensemble
    voting : {"estimator", "hard"}, default="estimator"

    Returns
    -------
    Forest

    Raises
    ------
    TypeError
        If the ensemble is a regressor, or of a kind that cannot be read.
    """
    forest = read_forest(estimator, voting=voting)
    if forest.classes is None:
        raise TypeError(
            f"estimator={type(estimator).__name__}(...) is a regressor. Give an ensemble of "
            "classification trees."
        )
    return forest


def same_names(estimator, names):
    """Whether an estimator with names of columns was fitted on these ones."""
    return np.array_equal(_names_kept(estimator, names), estimator.feature_names_in_)


def check_column_names(models, X=None, parameter="X"):
    """Refuse columns in another order than a model was fitted on, as ``predict`` would.

    Parameters
    ----------
    models : list of fitted estimators
        Those without names of columns take any.
    X : array, data frame or None
        Rows for the models; those without names of columns go with any.
    parameter : str
        What errors call the rows.

    Raises
    ------
    ValueError
        If the rows have the wrong names, or two models know the same names in another order.
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
                f"model_a was fitted on the columns {', '.join(ours[:8])}, but model_b on "
                f"{', '.join(theirs[:8])}. Fit both on the columns in the same order."
            )


def _names_kept(estimator, names):
    """Names of columns as an estimator keeps them: LightGBM's have underscores for spaces."""
    modules = {base.__module__.partition(".")[0] for base in type(estimator).__mro__}
    names = np.asarray(names, dtype=object)
    if "lightgbm" not in modules:
        return names
    return np.array([name.replace(" ", "_") for name in names], dtype=object)


# ------------------------------------------------------------------- rows, weights, labels


def named_rows(given, X):
    """The rows as the ensemble should see them: a frame as it came, else the checked array."""
    return given if _get_feature_names(given) is not None else X


def check_weights(sample_weight, X, *, mean_one=False):
    """Weights of the rows, checked.

    Parameters
    ----------
    sample_weight : array-like of shape (n_samples,), float or None
    X : ndarray of shape (n_samples, n_features)
    mean_one : bool, default=False
        Whether to scale weights of an average below one up so that the rows with a positive
        weight weigh one on average: for methods whose limits count rows.

    Returns
    -------
    ndarray of float64, shape (n_samples,)
        Ones for None.

    Raises
    ------
    ValueError
        If a weight is negative or not finite, or all are zero.
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


def checked_table(estimator, X, y):
    """Training rows and labels, checked; rows that are not all numbers stay as they are.

    These are for an ensemble that takes such tables; `encoded` makes numbers of them.
    """
    if is_plain(X) or estimator.estimator is None:
        return validate_data(
            estimator,
            X,
            y,
            dtype=[np.float64, np.float32],
            ensure_all_finite=finiteness(estimator),
        )
    validate_data(estimator, X, y, skip_check_array=True)
    y = column_or_1d(y, warn=True)
    check_consistent_length(X, y)
    return X, y


def encoded(estimator, forest, rows, X):
    """Numbers for training rows, once the ensemble is read; its table is kept in ``_table``.

    Parameters
    ----------
    estimator : estimator
        With a fitted ``estimator_``.
    forest : Forest
        As that was read.
    rows : array or data frame
        As the ensemble was fitted on them.
    X : ndarray or data frame
        As `checked_table` answered.
    """
    table = estimator._table = columns_of(estimator.estimator_, forest)
    # asked for at every prediction
    estimator._takes_missing = takes_missing(estimator.estimator)
    if table is not None:
        X = table.encode(rows)
    elif is_plain(X):
        return X
    return check_array(X, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan")


def promised_domain(estimator, forest, X):
    """The domain of an estimator in terms of feature numbers, with training rows inside.

    It is kept in ``_inside``, and which features the rows lack in ``_seen_missing``.

    Parameters
    ----------
    estimator : estimator
        With a fitted ``estimator_``.
    forest : Forest
        As that was read.
    X : ndarray of shape (n_rows, n_features)
        Training rows as numbers.

    Returns
    -------
    Inside or None

    Raises
    ------
    ValueError
        If the domain has the wrong form, a row is outside, or the ensemble does not take the
        missing values of the domain.
    """
    estimator._seen_missing = np.isnan(X).any(axis=0)
    names = getattr(estimator, "feature_names_in_", None)
    inside = estimator._inside = read_domain(
        estimator.domain,
        estimator.n_features_in_,
        names,
        estimator._seen_missing,
        forest.highest_code,
    )
    if inside is not None:
        inside.check_rows(X)
        check_missing(inside, estimator.estimator_, forest)
    return inside


def warn_of_rounding(estimator, forest, rows, X):
    """Say so if rounding training rows to float32, as trees do, changes what the ensemble answers.

    Parameters
    ----------
    estimator : fitted ensemble
    forest : Forest
        As it was read.
    rows : array or data frame
        Training rows for the ensemble.
    X : ndarray of shape (n_rows, n_features)
        The same as numbers.
    """
    if forest.input_dtype == "float32":
        return
    rounded = forest.classes[forest.predict_index(X)]
    n = int((np.asarray(estimator.predict(rows)) != rounded).sum())
    if n:
        warn(
            f"{type(estimator).__name__} compares float64 numbers, and {n} of {len(X)} training "
            "rows are answered otherwise when they are rounded to float32, as scikit-learn's trees "
            "round them. What is promised holds for rows that float32 represents. Fit and predict "
            "on X.astype(numpy.float32), or on columns rounded to a few digits of float32."
        )


def finiteness(estimator):
    """What ``validate_data`` is told of missing values, by the ensemble of an estimator."""
    return "allow-nan" if takes_missing(estimator.estimator) else True


def takes_missing(ensemble):
    """Whether an ensemble (None: a forest) takes missing values, as far as its tags tell."""
    if isinstance(ensemble, type):
        raise TypeError(
            f"estimator={ensemble.__name__} is a class. Give an instance, such as "
            f"{ensemble.__name__}()."
        )
    inner = None if ensemble is None else unwrap(ensemble)
    # what a pipeline takes, its steps say when they see it
    return inner is None or isinstance(inner, Pipeline) or get_tags(inner).input_tags.allow_nan


def check_missing(inside, estimator, forest):
    """Refuse a domain with missing values for an ensemble that does not take them.

    Parameters
    ----------
    inside : Inside or None
    estimator : fitted ensemble
    forest : Forest
        As it was read.

    Raises
    ------
    ValueError
        If ``predict`` raises one for a row that lacks what may be missing, or if that is filled in
        from other features.
    """
    if inside is None or not inside.missing.any():
        return
    if forest.filled is not None and (forest.filled & inside.missing).any():
        raise ValueError(
            f"The features {np.flatnonzero(forest.filled & inside.missing).tolist()} may be "
            f"missing, but {type(estimator).__name__} fills them in from other features, which "
            "no tree on these columns can do. Fit on rows in which they are known, and leave them "
            "out of Domain(missing=...); or fill them in one by one (SimpleImputer)."
        )
    row = np.where(inside.missing, np.nan, np.clip(0.0, inside.low, inside.high))[None]
    table = columns_of(estimator, forest)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            estimator.predict(row if table is None else table.decode(row))
    except ValueError as error:
        raise ValueError(
            f"The features {np.flatnonzero(inside.missing).tolist()} may be missing, but "
            f"{type(estimator).__name__}.predict does not take missing values. Leave them out of "
            "Domain(missing=...), fill them in, or use an ensemble that takes them."
        ) from error


def fitted_rows(estimator, X, *, any_missing=False):
    """Rows to predict, as a scikit-learn tree takes them unchecked: float32, C order.

    They are finite, but for features in ``estimator._may_miss`` (None: none) or, if `any_missing`,
    all features.

    Raises
    ------
    NotFittedError
        If the estimator has not been fitted.
    ValueError
        If the rows do not go with those it was fitted on.
    """
    check_is_fitted(estimator)
    known, table = getattr(estimator, "_may_miss", None), getattr(estimator, "_table", None)
    if table is not None:
        X = table.encode(X)
    allowed = "allow-nan" if any_missing or known is not None else True
    X = validate_data(
        estimator, X, reset=False, dtype=np.float32, order="C", ensure_all_finite=allowed
    )
    if allowed == "allow-nan" and not any_missing:
        unknown = np.isnan(X) & ~known
        if unknown.any():
            row, j = np.argwhere(unknown)[0]
            raise ValueError(
                f"X[{row}, {j}] is missing, but feature {j} never was in fit, so what the "
                "ensemble says there is not known. Fill in a value, or fit again with the feature "
                "in Domain(missing=...)."
            )
    return X


# ------------------------------------------------------------------- estimators that hold a tree


class TakesWhatItsEstimatorTakes:
    """Missing values are taken iff the ensemble takes them."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        known = vars(self).get("_takes_missing")
        tags.input_tags.allow_nan = takes_missing(self.estimator) if known is None else known
        return tags


class HoldsTree:
    """What an estimator does with the scikit-learn tree in its ``decision_tree_``."""

    def predict(self, X):
        """Predict with the tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite rows, missing values only where there were some in ``fit``; cast to float32,
            as scikit-learn's trees do.

        Returns
        -------
        ndarray of shape (n_samples,)
            Class labels, or values in regression.
        """
        X = fitted_rows(self, X)
        return self.decision_tree_.predict(X, check_input=False)

    def get_depth(self):
        """Depth of the tree: splits on the longest way from the root to a leaf.

        Returns
        -------
        int
            0 for a single leaf.
        """
        check_is_fitted(self)
        return int(self.decision_tree_.get_depth())

    def get_n_leaves(self):
        """Number of leaves of the tree.

        Returns
        -------
        int
            At least 1.
        """
        check_is_fitted(self)
        return int(self.decision_tree_.get_n_leaves())

    def export_text(self, *, feature_names=None, class_names=None, decimals=None, max_depth=None):
        """The tree as indented text, in the columns and levels that were fitted on.

        Parameters
        ----------
        feature_names : sequence of str, default=None
            None: the names seen in ``fit``, or x0, x1, ...
        class_names : sequence, default=None
            What stands for ``classes_``, in their order.
        decimals : int or None, default=None
            Digits after the point; None: as few as split float32 numbers alike.
        max_depth : int or None, default=None
            Splits deeper than this are cut short. None: none are.

        Returns
        -------
        text : str
            With the class of each leaf, its share and the number of training rows there. Missing
            values are mentioned where the tree has met them in ``fit``.

        See Also
        --------
        export_tree : The tree as rules, SQL, C, Python or JSON.
        """
        tree = NamedTree.of(
            self, feature_names=feature_names, class_names=class_names, name="estimator"
        )
        return tree.text(decimals, max_depth)

    def plot(self, *, ax=None, feature_names=None, class_names=None, **kwargs):
        """Draw the tree as `sklearn.tree.plot_tree` does, in the columns and levels fitted on.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None: the current one.
        feature_names : sequence of str, default=None
            None: the names seen in ``fit``, or x0, x1, ...
        class_names : sequence, default=None
            What stands for ``classes_``, in their order.
        **kwargs
            Other parameters of `sklearn.tree.plot_tree`. Here ``filled=True``, ``rounded=True`` and
            ``impurity=False`` unless told otherwise, and thresholds have as many digits as they
            need unless ``precision`` is given.

        Returns
        -------
        annotations : list of matplotlib Annotation
            As ``plot_tree`` returns them. A row goes to the left child where what is written in
            the box is true of it.
        """
        tree = NamedTree.of(
            self, feature_names=feature_names, class_names=class_names, name="estimator"
        )
        pyplot(self)
        return tree.draw(ax, **kwargs)


class HoldsClassifierTree(HoldsTree):
    """`HoldsTree` for classifiers."""

    def predict_proba(self, X):
        """Predict class probabilities with the tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite rows, missing values only where there were some in ``fit``; cast to float32,
            as scikit-learn's trees do.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        X = fitted_rows(self, X)
        return self.decision_tree_.predict_proba(X, check_input=False)


# ------------------------------------------------------------------- intervals


def binomial_interval(hits, n, confidence=0.95):
    """Clopper and Pearson's interval of a probability.

    Parameters
    ----------
    hits : ndarray of shape (n_probabilities,) or float
        Successes; need not be whole, if `n` is an effective number.
    n : float
        Trials; of none nothing is known.
    confidence : float, default=0.95

    Returns
    -------
    low, high : ndarrays of the shape of `hits`
    """
    tail = (1.0 - confidence) / 2.0
    hits = np.asarray(hits, dtype=np.float64)
    misses = n - hits
    some, not_all = hits > 1e-9, misses > 1e-9
    low = beta.ppf(tail, np.where(some, hits, 1.0), misses + 1.0)
    high = beta.ppf(1.0 - tail, hits + 1.0, np.where(not_all, misses, 1.0))
    return np.where(some, low, 0.0), np.where(not_all, high, 1.0)


# ------------------------------------------------------------------- time, memory, messages


class TimeLimitError(TimeoutError):
    """The time limit was reached before there was any result to return.

    Raised by every estimator and function of this package that takes a ``time_limit``. Where there
    is a result, it is returned with a ``ConvergenceWarning`` instead.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from ensemble_simplify import TimeLimitError, merge_trees
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = RandomForestClassifier(random_state=0).fit(X, y)
    >>> try:
    ...     merge_trees([forest], max_leaf_nodes=10**9, time_limit=0.01)
    ... except TimeLimitError:
    ...     print("no tree in this time")
    no tree in this time
    """


def deadline_after(time_limit):
    """The moment, by ``time.monotonic()``, at which `time_limit` seconds (None: never) are over."""
    return np.inf if time_limit is None else time.monotonic() + time_limit


def warn(message, category=UserWarning):
    """Warn at the line, outside this package and scikit-learn, from which all this was called."""
    frame, level = sys._getframe(1), 2
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] in _NOT_THE_USER:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def warn_out_of_time(message):
    """Say that a limit ended the search, and that what is returned is the best so far."""
    warn(message, ConvergenceWarning)


def report(estimator, message):
    """Print a line about the progress of an estimator, if it is verbose."""
    if estimator.verbose:
        print(f"[{type(estimator).__name__}] {message}", flush=True)


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


def pyplot(display):
    """Matplotlib's pyplot, or an error that tells what to install."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{type(display).__name__} draws with matplotlib, which is not installed. "
            "Install ensemble-simplify[plot]."
        ) from error
    return plt


def leaves_axis(ax):
    """Give a plot an x-axis of numbers of leaves: powers of two, in plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.set_xscale("log", base=2)
    ax.set_xlabel("leaves")
    ax.xaxis.set_major_locator(LogLocator(base=2))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())


def shares_axis(ax, shares):
    """Give a plot a y-axis of shares in per cent: a log scale with a place for zero below it.

    Parameters
    ----------
    ax : matplotlib Axes
    shares : ndarray
        All that is drawn; NaN is not.
    """
    from matplotlib.ticker import FuncFormatter

    positive = shares[shares > 0]
    least = 10.0 ** np.floor(np.log10(positive.min() if positive.size else 1e-3))
    ax.set_yscale("symlog", linthresh=least, linscale=0.5)
    # room for the marks at zero
    ax.set_ylim(bottom=-0.15 * least)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.3g} %"))
