"""Pipelines: tests of transformed rows become tests of the rows that the pipeline is given.

Scalers are non-decreasing, also after rounding, and look at one column alone. So "the transformed
value is at most t" is the same test as "the value is at most b", where b is the largest float32
whose transformed value is at most t; bisection over all float32 numbers finds it with nothing but
the transformer's own ``transform``. Rows count as float64 here: a scaler rounds float32 rows
differently.
"""

from __future__ import annotations

import copy

import numpy as np
from sklearn.feature_selection import SelectorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    RobustScaler,
    StandardScaler,
)

from ensemble_simplify._thresholds import FLOAT32_MAX, last_float32

# Each column is transformed alone, by a function that never decreases (or never increases).
_MONOTONE = (
    Binarizer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    RobustScaler,
    StandardScaler,
)
_IMPUTERS = (SimpleImputer, KNNImputer)

# Numbers that are transformed at once, about.
_BATCH = 1 << 20


class Transformers:
    """The fitted transformers of a pipeline, as far as they keep columns apart and in order.

    Parameters
    ----------
    steps : list of (str, transformer)
        All steps but the last.
    n_features : int
        Number of columns that come out of them.

    Attributes
    ----------
    n_features : int
        Number of columns of the rows that go in.
    source : ndarray of intp, shape (number of columns that come out,)
        The column that goes in for each that comes out.

    Raises
    ------
    TypeError
        If a transformer mixes columns, makes new ones or is not known to be monotone.
    """

    def __init__(self, steps, n_features):
        self._steps = []
        steps = list(_flat(steps))
        widths = [step.n_features_in_ for _, step in steps if hasattr(step, "n_features_in_")]
        self.n_features = int(widths[0] if widths else n_features)
        self.source = np.arange(self.n_features)
        for name, step in steps:
            kept = self._kept_columns(name, step)
            if kept is None:  # a function of each column
                # Without names of columns: a transformer that knows them warns of arrays.
                plain = copy.copy(step)
                vars(plain).pop("feature_names_in_", None)
                self._steps.append((name, plain))
            else:
                self._steps.append((name, kept))
                self.source = self.source[kept]

    def _kept_columns(self, name, step):
        """The columns that a transformer keeps as they are; None if it is monotone in each."""
        width = len(self.source)
        if isinstance(step, FunctionTransformer) and step.func is None:
            return np.arange(width)
        for kind in (SelectorMixin, *_IMPUTERS, *_MONOTONE):
            if isinstance(step, kind):
                break
        else:
            raise refused(name, step, "is not known to keep columns one to one and in order")
        if owner_of(type(step), "transform") is not owner_of(kind, "transform"):
            raise refused(name, step, f"replaces the method transform of {kind.__name__}")
        if kind is SelectorMixin:
            return step.get_support(indices=True)
        if kind in _IMPUTERS:
            return _columns_of_imputer(name, step, width)
        if kind is KBinsDiscretizer and step.encode != "ordinal":
            raise refused(name, step, f"makes new columns (encode={step.encode!r})")
        return None

    def transform(self, X):
        """Transform rows of float64."""
        X = X.copy()  # some transformers work in place
        for name, step in self._steps:
            if isinstance(step, np.ndarray):
                X = X[:, step]
                continue
            try:
                with np.errstate(all="ignore"):
                    X = np.asarray(step.transform(X))
            except ValueError as error:
                raise refused(name, step, f"does not take every finite row ({error})") from error
            if np.isnan(X).any():
                raise refused(name, step, "answers NaN to finite rows")
        return X.astype(np.float64, copy=False)

    def fold(self, feature, threshold, single):
        """Find the tests of the rows that go in which decide as tests of those that come out.

        Parameters
        ----------
        feature : ndarray of intp, shape (n_tests,)
            Column of each test, among those that come out.
        threshold : ndarray of float64, shape (n_tests,)
            Values that are at most this pass.
        single : ndarray of bool, shape (n_tests,)
            Whether the value is rounded to float32 before it is compared.

        Returns
        -------
        threshold : ndarray of float64, shape (n_tests,)
            For tests of the column ``source[feature]``; float32, or ``-inf``.
        falls : ndarray of bool, shape (n_tests,)
            Whether the transformed value falls where the value rises: then values above the new
            threshold pass.
        """
        ends = self.transform(np.outer([-FLOAT32_MAX, FLOAT32_MAX], np.ones(self.n_features)))
        falls = (ends[0] > ends[1])[feature]
        folded = np.empty(len(feature))
        order = np.argsort(feature, kind="stable")
        first = np.searchsorted(feature[order], np.arange(len(self.source)))
        row = np.empty_like(order)
        row[order] = np.arange(len(order)) - first[feature[order]]
        step = max(1, _BATCH // max(1, self.n_features))
        for begin in range(0, row.max(initial=-1) + 1, step):
            part = np.flatnonzero((begin <= row) & (row < begin + step))
            at = row[part] - begin, feature[part]
            folded[part] = self._bisect(at, threshold[part], single[part], falls[part])
        return folded, falls

    def _bisect(self, at, threshold, single, falls):
        """The largest float32 that passes each test, or, if `falls`, that does not."""
        rows = np.zeros((at[0].max() + 1, self.n_features))

        def below(x):
            rows[at[0], self.source[at[1]]] = x
            value = self.transform(rows)[at]
            with np.errstate(over="ignore"):
                value = np.where(single, value.astype(np.float32), value)
            return (value <= threshold) != falls

        return last_float32(below, len(threshold))


def _flat(steps):
    """The transformers that do something, those of pipelines among them one by one."""
    for name, step in steps:
        step = unwrap(step)
        if isinstance(step, Pipeline):
            yield from _flat(step.steps)
        elif step is not None and step != "passthrough":
            yield name, step


def _columns_of_imputer(name, step, width):
    """The columns that an imputer lets through: it leaves finite rows as they are."""
    if not (isinstance(step.missing_values, float) and np.isnan(step.missing_values)):
        raise refused(name, step, f"replaces the number {step.missing_values!r}")
    if step.add_indicator:
        raise refused(name, step, "makes new columns (add_indicator=True)")
    plain = copy.copy(step)
    vars(plain).pop("feature_names_in_", None)
    probe = np.arange(1.0, width + 1)
    kept = np.asarray(plain.transform(probe[None]), dtype=np.float64)[0]
    if not np.isin(kept, probe).all():
        raise refused(name, step, "changes rows that miss nothing (a column was empty in fit)")
    return kept.astype(np.intp) - 1


def unwrap(estimator):
    """What stands inside ``FrozenEstimator``, however often it was wrapped."""
    while isinstance(estimator, FrozenEstimator):
        estimator = estimator.estimator
    return estimator


def owner_of(kind, method):
    """The class from which `kind` has its method."""
    return next(base for base in kind.__mro__ if method in vars(base))


def refused(name, step, why):
    """The error for a pipeline with a transformer that cannot be folded into thresholds."""
    return TypeError(
        f"A Pipeline with the step {name!r}, {type(step).__name__}(...), is not supported: the "
        f"step {why}. Pass the last step, FrozenEstimator(pipeline[-1]), and transformed rows, "
        "pipeline[:-1].transform(X). Steps that are supported: StandardScaler, MinMaxScaler, "
        "MaxAbsScaler, RobustScaler, Binarizer, KBinsDiscretizer(encode='ordinal'), "
        "SimpleImputer, KNNImputer, selectors of columns and 'passthrough'."
    )
