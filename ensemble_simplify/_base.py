"""What the estimators share: getting a fitted ensemble out of ``estimator=``."""

from __future__ import annotations

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted, has_fit_parameter


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
