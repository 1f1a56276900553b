"""The ensemble of an estimator, fitted, and what it takes: tables, missing values, domains."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import RegressorTags, get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from ensemble_simplify.base._scikit_learn import (
    HasMethods,
    _get_feature_names,
    _is_fitted,
    safe_indexing,
)
from ensemble_simplify.base.limits import warn
from ensemble_simplify.base.rows import (
    NOT_GIVEN,
    Rows,
    class_index,
    fitted_rows,
    misnamed,
    ordered_table,
    validated,
)
from ensemble_simplify.grid import read_domain, uncounted
from ensemble_simplify.reading import (
    TableCodes,
    is_booster,
    is_plain,
    library_of,
    n_features_of,
    on_codes,
    readable,
    says_it_takes_gaps,
    takes_numbers_alone,
    unwrap,
)


class Fittable(HasMethods):
    """The constraint of a parameter that is fitted, or comes fitted as a native booster does."""

    def __init__(self):
        super().__init__(["fit", "predict"])

    def is_satisfied_by(self, val) -> bool:
        return is_booster(val) or super().is_satisfied_by(val)


def comes_fitted(estimator) -> bool:
    """Whether an estimator is used as it is: a ``FrozenEstimator``, or a native booster."""
    return isinstance(estimator, FrozenEstimator) or is_booster(estimator)


def fit_or_unwrap(
    estimator,
    X,
    y,
    sample_weight=None,
    *,
    default=None,
    random=None,
    name="estimator",
    counted=False,
):
    """Return a fitted ensemble, leaving the user's object as it was.

    An ensemble is cloned and fitted, with a warning if it was fitted before; a ``FrozenEstimator``
    is unwrapped and used as it is, as is what stands for a native booster; ``None`` means
    `default`. An ensemble that takes numbers alone is fitted on the codes of a table, and stands
    behind the step that makes them (`on_codes`).

    Parameters
    ----------
    estimator : estimator, FrozenEstimator or None
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
    counted : bool
        Whether the limit of time counts the fit.

    Raises
    ------
    NotFittedError
        If a frozen estimator has not been fitted.
    ValueError
        If a frozen estimator was fitted on another number of features or on other names, or
        `sample_weight` is given and the ensemble cannot use it.
    """
    if comes_fitted(estimator):
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
            expected = fitted.n_features_in_ or X.shape[1]  # CatBoost's copies do not tell
        except (AttributeError, IndexError):  # not told, or no members: the reader says so
            expected = X.shape[1]
        if expected != X.shape[1]:
            raise ValueError(
                f"{name}=FrozenEstimator({type(fitted).__name__}(...)) was fitted on {expected} "
                f"features, but X has {X.shape[1]}. Pass the columns it was fitted on."
            )
        ours, theirs = _get_feature_names(X), getattr(fitted, "feature_names_in_", None)
        both = ours is not None and theirs is not None
        if both and (j := misnamed(fitted, ours)) is not None:
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
    fitted = _copied(default if estimator is None else estimator)
    codes = None
    if takes_numbers_alone(fitted) and not is_plain(X):
        complete = not says_it_takes_gaps(fitted)
        table = ordered_table(X, y, sample_weight, by_class=is_classifier(fitted))
        codes = TableCodes(table, complete)
        X = codes.transform(X)
    if random is not None:
        params = sorted(fitted.get_params().items())
        unset = [k for k, v in params if v is None and k.split("__")[-1] == "random_state"]
        fitted.set_params(**{k: random.randint(np.iinfo(np.int32).max) for k in unset})
    with nullcontext() if counted else uncounted():
        fitted = _fitted(fitted, X, y, sample_weight, name)
    return fitted if codes is None else on_codes(codes, fitted)


def _fitted(fitted, X, y, sample_weight, name):
    """An ensemble, fitted with weights if it takes such."""
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


def _copied(estimator):
    """An unfitted copy of an estimator.

    CatBoost copies the lists that it is given (cat_features), which ``clone`` takes for a fault.
    """
    if library_of(estimator) == "catboost":
        return type(estimator)(**estimator.get_params())
    return clone(estimator)


def check_readable(estimator) -> None:
    """Refuse (TypeError) a frozen pipeline that cannot be read before its rows are looked at.

    They may be text, which the first transformer would turn into numbers; an error about the rows
    would lead astray.
    """
    inner = readable(estimator) if comes_fitted(estimator) else None
    if isinstance(inner, Pipeline) and _is_fitted(inner):
        n_features_of(inner)


def checked_rows(
    estimator, X, y=NOT_GIVEN, *, dtype=(np.float64, np.float32), regression=False, reset=True
) -> tuple[Rows, Any]:
    """Rows for an ensemble that takes tables, and their labels, checked; see `validated`.

    Rows of numbers keep one of the `dtype`, or get the first; `encoded` makes numbers of others.
    """
    numbers = {"dtype": list(dtype) if isinstance(dtype, tuple) else dtype}
    numbers["ensure_all_finite"] = finiteness(estimator)
    checked, y = validated(estimator, X, y, regression=regression, reset=reset, **numbers)
    rows = Rows.checked(X, checked)
    if regression and rows.numbers is None and y is not NOT_GIVEN:
        y = y.astype(np.float64)
    return rows, y


def encoded(estimator, model, rows) -> Rows:
    """Training rows with their numbers, once the ensemble is read; ``_table`` keeps its table."""
    table, names = model.table, getattr(estimator, "feature_names_in_", None)
    if table.names is not None and names is not None:
        table = replace(table, names=names)  # LightGBM's have underscores for spaces
    table = table.scaled_like(rows.given).as_whole(rows.given)
    estimator._table = table
    # asked for at every prediction
    estimator._takes_missing = takes_missing(estimator.estimator_)
    if table.is_plain and rows.numbers is not None:
        return rows
    return replace(rows, numbers=table.read(rows.given, [np.float64, np.float32]))


def promised_domain(estimator, model, X) -> Any:
    """The domain of an estimator, as an `Inside` or None, with training rows of numbers inside.

    It is kept in ``_inside``, and what may be missing by default in ``_missing_by_default``.
    ValueError if the domain has the wrong form, a row is outside, or the ensemble does not take the
    missing values of the domain.
    """
    estimator._missing_by_default = model.table.may_miss(X)
    names = getattr(estimator, "feature_names_in_", None)
    inside = estimator._inside = read_domain(
        estimator.domain,
        estimator.n_features_in_,
        names,
        estimator._missing_by_default,
        model.forest.highest_code,
        model.table.highest_known,
    )
    model.table.check_bounds(inside)
    if inside is not None:
        inside.check_rows(X)
        check_missing(inside, model)
    return inside


def promised_rows(estimator, X, dtype="float32") -> tuple[np.ndarray, np.ndarray]:
    """Rows of some dtype, and which of them an estimator's promise is about, near rows or not.

    Those lie inside its domain, and come in the dtypes for which a pipeline was read.
    """
    is_promised = estimator._table.same_dtypes(X)
    X = fitted_rows(estimator, X, any_missing=True, dtype=dtype)
    domain = estimator._inside
    inside = ~np.isnan(X).any(axis=1) if domain is None else domain.contains(X)
    return X, inside & is_promised


def unmoved_by_rounding(estimator, axes, models, X, promised, *, probabilities=False) -> np.ndarray:
    """Which of the `promised` rows some models answer as they do once rounded to float32.

    With `probabilities`, these count as well. `X` are the rows as they were given. Only a number
    between a cut point of the `axes` and the next float32 can be told from the rounded one; models
    are asked about such rows.
    """
    numbers = fitted_rows(estimator, X, any_missing=True, dtype=np.float64)
    if estimator._inside is not None:
        # what is rounded into the domain is outside of it
        promised = promised & estimator._inside.contains(numbers)
    at = np.flatnonzero(promised & axes.between(numbers).any(axis=0))
    if not at.size:
        return promised
    numbers, promised = numbers[at], promised.copy()
    rows = safe_indexing(X, at) if hasattr(X, "shape") else numbers
    rounded = numbers.astype(np.float32).astype(np.float64)
    for model in models:
        promised[at] &= model.ask_given(rows, numbers) == model.labels(rounded)
        if probabilities:
            given = model.ask_given(rows, numbers, "predict_proba")
            promised[at] &= (given == model.answers(rounded, "predict_proba")).all(axis=1)
    return promised


def answers_to_finer_rows(
    model, rows, promised=None, *, probabilities=False
) -> tuple[np.ndarray, np.ndarray] | None:
    """What an ensemble answers to training rows as they were given, and rounded to float32.

    These are class indices, or numbers; with `probabilities`, class indices and the probabilities
    of all classes, in columns. None for an ensemble that rounds rows to float32 itself. A warning
    tells of those of the `promised` rows (bool array; None: all) that are answered otherwise.
    """
    forest, X = model.forest, rows.numbers
    if not forest.is_finer:
        return None
    rounded = forest.predict_index(X)
    given = model.ask_given(rows.given, X, fitted=True)
    if forest.classes is not None:
        given = class_index(given, forest.classes)
    apart = given != rounded
    if probabilities:
        given = np.column_stack(
            [given, model.ask_given(rows.given, X, "predict_proba", fitted=True)]
        )
        numbers = np.asarray(X).astype(np.float32).astype(np.float64)
        rounded = np.column_stack([rounded, model.answers(numbers, "predict_proba")])
        apart = (given != rounded).any(axis=1)
    n = int(apart.sum() if promised is None else apart[promised].sum())
    if n:
        warn(
            f"{model.name} compares numbers that are finer than float32, and answers {n} of "
            f"{len(X)} training rows otherwise than the same rows rounded to float32, as "
            "scikit-learn's trees round them. They are no part of the promise, which is about "
            "inputs that float32 represents, and are counted as exceptions. To have none, fit and "
            "predict on X.astype(numpy.float32).astype(numpy.float64), or on columns of fewer "
            "digits, such as seconds since the first row in place of seconds since 1970."
        )
    return given, rounded


def finiteness(estimator) -> Any:
    """What ``validate_data`` is told of missing values, by the ensemble of an estimator."""
    return "allow-nan" if takes_missing(estimator.estimator) else True


def takes_missing(ensemble) -> bool:
    """Whether an ensemble (None: a forest) takes missing values, as far as its tags tell."""
    if isinstance(ensemble, type):
        raise TypeError(
            f"estimator={ensemble.__name__} is a class. Give an instance, such as "
            f"{ensemble.__name__}()."
        )
    if ensemble is None:
        return True
    tags_of(ensemble)
    return says_it_takes_gaps(ensemble) is not False


def tags_of(estimator, name="estimator") -> Any:
    """The tags of an estimator, frozen or not; TypeError for models in other formats."""
    inner = unwrap(estimator)
    if not hasattr(inner, "__sklearn_tags__"):
        raise TypeError(
            f"{name}={type(inner).__name__}(...) is not an estimator of scikit-learn. Give the "
            "ensemble itself; models in other formats can be compared by verify and agreement."
        )
    tags = get_tags(inner)
    if tags.estimator_type in (None, "ranker") and library_of(inner) is not None:
        # what a ranker answers are scores
        tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
    return tags


def check_missing(inside, model) -> None:
    """Refuse (ValueError) a domain with missing values that an ensemble does not take.

    Its ``predict`` raises an error for a row that lacks what may be missing, or fills that in from
    other features.
    """
    if inside is None or not inside.missing.any():
        return
    filled = model.forest.filled
    if filled is not None and (filled & inside.missing).any():
        raise ValueError(
            f"The features {np.flatnonzero(filled & inside.missing).tolist()} may be "
            f"missing, but {model.name} fills them in from other features, which "
            "no tree on these columns can do. Fit on rows in which they are known, and leave them "
            "out of Domain(missing=...); or fill them in one by one (SimpleImputer)."
        )
    complete = [j for j in model.table.hashed if inside.missing[j]]
    if complete:
        raise ValueError(
            f"The features {complete} may be missing, but {model.name} does not take missing "
            "values in columns of categories. Leave them out of Domain(missing=...), and give "
            "what is missing a level of its own."
        )
    # any row of the domain will do: what a model takes does not hang on the numbers beside gaps
    row = np.where(inside.missing, np.nan, np.clip(0.0, inside.low, inside.high))[None]
    try:
        model.answers(row)
    except ValueError as error:
        raise ValueError(
            f"The features {np.flatnonzero(inside.missing).tolist()} may be missing, but "
            f"{model.name}.predict does not take missing values. Leave them out of "
            "Domain(missing=...) (nothing is missing: domain=Domain(missing=[])), fill them in, or "
            "use an ensemble that takes them."
        ) from error
