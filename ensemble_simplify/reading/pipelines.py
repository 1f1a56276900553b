"""Pipelines: tests of transformed rows become tests of the rows that the pipeline is given.

Each column that comes out is made of one that goes in. Scalers are non-decreasing, also after
rounding: "the transformed value is at most t" is the same test as "the value is at most b", where b
is the largest float32 whose transformed value is at most t; bisection over all float32 numbers
finds it with nothing but the transformers' own ``transform``. Encoders answer for a code what they
answer for its level; each level is transformed once, and so is a missing value of each column.
Scalers round in the dtype of their rows: tests are folded in the dtypes in which rows come, float64
where nothing is known of them.
"""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass, replace
from numbers import Integral

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)

from ensemble_simplify.grid import FLOAT32_MAX, float32_floor, last_float32
from ensemble_simplify.reading.columns import Column, LeftOut, Levels, is_missing, plain_levels
from ensemble_simplify.reading.family import owner_of, unwrap
from ensemble_simplify.reading.table import Table

# Each column is transformed alone, by a function that never decreases (or never increases).
_MONOTONE = (
    Binarizer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    RobustScaler,
    StandardScaler,
)
# Functions of NumPy that rise, or fall, everywhere: some exactly, and some by more than they round
# between neighbours of float32, as long as they are taken in float64. Others (exp, tanh) are flat
# somewhere, where a rounding can fall.
_EXACT = {np.ceil, np.floor, np.negative, np.rint, np.sign, np.trunc}
_RISING = _EXACT | {np.arcsinh, np.cbrt, np.sinh}
_IMPUTERS = (SimpleImputer, KNNImputer)
_ENCODERS = (OneHotEncoder, OrdinalEncoder, TargetEncoder)
_KNOWN = (ColumnTransformer, FunctionTransformer, SelectorMixin, *_IMPUTERS, *_ENCODERS, *_MONOTONE)

# What the steps have done to a column: nothing, rescaled its numbers, or encoded its levels.
_PLAIN, _SCALED, _ENCODED = range(3)

# Numbers that are transformed at once, about.
_BATCH = 1 << 20


class Transformers:
    """The fitted transformers of a pipeline, and which input column each output column is made of.

    Parameters
    ----------
    steps : list of (str, transformer)
        All steps but the last.
    n_features : int
        Number of output columns.
    names : ndarray of str or None
        Names of the input columns.
    rows : array or frame, or None
        Some rows as they come; None: all columns of numbers are float64.

    Attributes
    ----------
    n_features : int
        Number of input columns.
    source : ndarray of intp, shape (number of output columns,)
        The input column that each output column is made of.
    rescaled : ndarray of bool, shape (number of output columns,)
        Output columns of other numbers than the input's.
    table : Table or None
        The input columns, if some of them have levels, or are left out.
    given : Table
        The same, with or without levels, in the dtypes and the kind of frame that the steps take.
    filled : ndarray of bool, shape (n_features,)
        Columns of which missing values are filled in from other columns.

    Raises
    ------
    TypeError
        If a transformer mixes columns, or is not known to be monotone in a column of numbers; or
        columns come in dtypes of which the steps make another one.
    """

    def __init__(self, steps, n_features, names=None, rows=None):
        self._steps = list(_flat(steps))
        widths = [s.n_features_in_ for _, s in self._steps if hasattr(s, "n_features_in_")]
        self.n_features = int(widths[0] if widths else n_features)
        self._levels = [None] * self.n_features
        self._refuses = np.zeros(self.n_features, dtype=bool)
        self.filled = np.zeros(self.n_features, dtype=bool)
        self._as_none, self._as_nan = set(), set()
        made = np.arange(self.n_features), np.full(self.n_features, _PLAIN)
        for name, step in self._steps:
            made = self._made(name, step, *made)
        self.source, state = made
        self.rescaled, self._same = state == _SCALED, state == _PLAIN
        self.table = None
        chosen = any(isinstance(step, ColumnTransformer) for _, step in self._steps)
        self._left_out = set(range(self.n_features)) - set(self.source.tolist()) if chosen else ()
        # a column that is used without an encoder has no code for unknown levels: refuse these
        self._refuses[self.source[state != _ENCODED]] = True
        if self._steps and isinstance(self._steps[0][1], TableCodes):
            self.table = self._steps[0][1].table
        elif self._left_out or any(levels is not None for levels in self._levels):
            self.table = Table(tuple(map(self._column, range(self.n_features))), names)
        self.given = self.table or Table.of_numbers(self.n_features, names)
        if rows is not None:
            self.given = self.given.like(rows)
        if self.table is None and not chosen:
            # without names of columns: a transformer that knows them warns of arrays
            self._steps = [(name, _without_names(step)) for name, step in self._steps]
            self.given = replace(self.given, names=None)
        if rows is not None:
            self._check_dtypes(rows)

    def _column(self, j) -> Column:
        """The input column j, as its encoder knows it."""
        unknown = "refused" if self._refuses[j] else "code"
        if j in self._left_out:
            return LeftOut(unknown=unknown)
        if self._levels[j] is None:
            return Column(unknown=unknown)
        lacks_none, knows_nan = j in self._as_none, j in self._as_nan
        return Levels(
            levels=self._levels[j], unknown=unknown, lacks_none=lacks_none, knows_nan=knows_nan
        )

    # ------------------------------------------------------------------ which column is whose

    def _made(self, name, step, source, state):
        """The columns that a step answers: the input column each is made of, and its state.

        `source` and `state` say the same of the columns that the step is given. States are
        `_PLAIN`, `_SCALED` and `_ENCODED`.
        """
        step = unwrap(step)
        if isinstance(step, Pipeline):
            for inner_name, inner in step.steps:
                source, state = self._made(inner_name, inner, source, state)
            return source, state
        if _is_identity(step):
            return source, state
        if isinstance(step, TableCodes):
            if self._steps[0][1] is not step:
                raise refused(name, step, "is not the first one")
            return source, np.where(step.table.coded, _ENCODED, state)
        kind = next((kind for kind in _KNOWN if isinstance(step, kind)), None)
        if kind is None:
            raise refused(name, step, "is not known to look at one column at a time, in order")
        if owner_of(type(step), "transform") is not owner_of(kind, "transform"):
            raise refused(name, step, f"replaces the method transform of {kind.__name__}")
        if kind is ColumnTransformer:
            return self._parts(name, step, source, state)
        if kind is FunctionTransformer and (step.func not in _RISING or step.kw_args):
            raise refused(
                name,
                step,
                "is not known to rise everywhere (func may be one of NumPy's "
                f"{', '.join(sorted(own.__name__ for own in _RISING))})",
            )
        if kind is SelectorMixin:
            kept = step.get_support(indices=True)
            return source[kept], state[kept]
        if kind in _IMPUTERS:
            return self._imputed(name, step, source, state)
        if kind in _ENCODERS:
            return self._encoded(name, step, source, state)
        if kind is KBinsDiscretizer and step.encode != "ordinal":
            raise refused(name, step, f"makes new columns (encode={step.encode!r})")
        return source, np.maximum(state, _SCALED)

    def _parts(self, name, step, source, state):
        """The columns of a ColumnTransformer, part by part."""
        made = [(source[:0], state[:0])]
        for label, inner, chosen in step.transformers_:
            places = _places(name, step, chosen, len(source))
            if not len(places) or (isinstance(inner, str) and inner == "drop"):
                continue
            made.append(self._made(label, inner, source[places], state[places]))
        return tuple(np.concatenate(columns).astype(np.intp) for columns in zip(*made, strict=True))

    def _imputed(self, name, step, source, state):
        if not is_missing(step.missing_values):
            raise refused(name, step, f"replaces the number {step.missing_values!r}")
        if not isinstance(step, SimpleImputer):
            self.filled[source] = True
            kept = _columns_of_imputer(name, step, len(source))
            return source[kept], state[kept]
        spelled = self._as_none if step.missing_values is None else self._as_nan
        spelled |= set(source.tolist())
        answers = _answers(step, len(source))
        column = np.array([int(answer.rpartition("c")[2]) for answer in answers], dtype=np.intp)
        is_flag = np.array([not answer.startswith("c") for answer in answers], dtype=bool)
        return source[column], np.where(is_flag, _ENCODED, state[column])

    def _encoded(self, name, step, source, state):
        if (state != _PLAIN).any():
            raise refused(name, step, "encodes what another step made of a column")
        if isinstance(step, TargetEncoder) and step.target_type_ == "multiclass":
            raise refused(name, step, "makes new columns (a target of several classes)")
        for j, levels in zip(source, step.categories_, strict=True):
            levels, has_none, has_nan = plain_levels(levels)
            self._as_none |= {int(j)} if has_none else set()
            self._as_nan |= {int(j)} if has_nan else set()
            known = self._levels[j]
            if known is not None:
                seen = set(known.tolist())
                more = [level for level in levels.tolist() if level not in seen]
                levels = np.array([*known.tolist(), *more], dtype=object) if more else known
            self._levels[j] = levels
            if j in self._as_none and j in self._as_nan:
                raise refused(
                    name,
                    step,
                    "knows None and NaN as two levels of a column; write both as NaN, with "
                    "X.fillna(numpy.nan), and fit the pipeline again",
                )
            self._refuses[j] |= getattr(step, "handle_unknown", None) == "error"
        column = np.arange(len(source))
        if isinstance(step, OneHotEncoder):
            plain = copy.copy(step)
            plain.feature_name_combiner = lambda column, _: str(column)
            column = [int(answer[1:]) for answer in _answers(plain, len(source))]
        return source[column], np.full(len(column), _ENCODED)

    # ------------------------------------------------------------------ tests

    def transform(self, X, finite=True) -> np.ndarray:
        """Transform rows of numbers: float64, codes in columns with levels.

        If they are `finite`, what comes out of each step has to be a number.
        """
        rows = self.given.decode(X)
        return self._through(rows.copy() if rows is X else rows, finite)

    def of_rows(self, X) -> np.ndarray:
        """What the steps make of rows as a user gives them, as float64; errors are theirs."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X has feature names, but")
            for _, step in self._steps:
                X = step.transform(X)
        return _numbers(X)

    def of_column(self, j, numbers) -> np.ndarray:
        """What the steps make of numbers of one input column, of shape (n_rows, n_outputs)."""
        rows = np.zeros((len(numbers), self.n_features))
        rows[:, j] = numbers
        return self.transform(rows, finite=False)[:, self.source == j]

    def _through(self, X, finite):
        """What the steps make of rows as they come, as float64."""
        for name, step in self._steps:
            try:
                with np.errstate(all="ignore"), warnings.catch_warnings():
                    warnings.filterwarnings("ignore", message="Found unknown categories")
                    warnings.filterwarnings("ignore", message="X has feature names, but")
                    X = step.transform(X)
            except ValueError as error:
                raise refused(name, step, f"does not take every finite row ({error})") from error
            if isinstance(X, np.ndarray) and X.dtype == np.float32:
                # the next step refuses rows with more, which the pipeline then never answers
                # bounds of float64 would make float64 of it, in NumPy 1
                X = np.clip(X, np.float32(-FLOAT32_MAX), np.float32(FLOAT32_MAX))
            if finite and not self.given.coded.any() and np.isnan(_numbers(X)).any():
                raise refused(name, step, "answers NaN to finite rows")
        return _numbers(X)

    def _check_dtypes(self, rows):
        """Refuse dtypes in which the steps answer otherwise than in those of `transform`."""
        kinds = self.given.dtypes or ()
        if not any(kind in (np.float16, np.float32) for kind in kinds):
            return
        is_rounded = any(getattr(step, "func", None) in _RISING - _EXACT for _, step in self._steps)
        if np.float16 not in kinds and not is_rounded:
            if not hasattr(rows, "columns"):
                return
            try:
                same = np.array_equal(
                    self._through(copy.deepcopy(rows), False),
                    self.transform(self.given.read(rows), False),
                    equal_nan=True,
                )
            except (TypeError, ValueError):  # the pipeline takes no such rows
                return
            if same:
                return
        kinds = dict.fromkeys(map(str, rows.dtypes if hasattr(rows, "columns") else [rows.dtype]))
        raise TypeError(
            f"The rows have columns of {', '.join(kinds)}, for which a Pipeline's steps round in a "
            "way that is not read. Give X.astype(numpy.float64), or numpy.float32, in fit and "
            "in predict."
        )

    def fold(self, feature, threshold, single) -> Folded:
        """Find the tests of the rows that go in which decide as tests of those that come out.

        `feature` is the column of each test among those that come out; values that are at most its
        `threshold` pass, once they are rounded to float32 where `single`. The `Folded` tests are in
        terms of the columns ``source[feature]``. Tests that are the same are looked at once.
        """
        order = np.lexsort((single, threshold, feature))
        sorted_tests = np.stack([feature, threshold, single])[:, order]
        begins = np.ones(len(order), dtype=bool)
        begins[1:] = (sorted_tests[:, 1:] != sorted_tests[:, :-1]).any(axis=0)
        place = np.empty(len(order), dtype=np.intp)
        place[order] = np.cumsum(begins) - 1
        distinct = order[begins]
        return self._folded(feature[distinct], threshold[distinct], single[distinct]).at(place)

    def _folded(self, feature, threshold, single):
        """The `Folded` tests of `fold`, of distinct ones."""
        n_tests, source = len(feature), self.source[feature]
        numbers = np.ones(n_tests, dtype=bool)
        if self.table is not None:
            numbers = ~self.table.categorical[source]
        coded = np.flatnonzero(~numbers)
        sets, set_of = self._sets(coded, feature, threshold, single), np.full(n_tests, -1)
        set_of[coded] = np.arange(len(coded))
        # which way each column goes is told by its ends
        ends = np.outer([-FLOAT32_MAX, FLOAT32_MAX], np.ones(self.n_features))
        if self.table is not None:
            ends[:, self.table.categorical] = 0.0
        ends = self.transform(ends)
        falls = (ends[0] > ends[1])[feature] & numbers
        tests, others = (feature, threshold, single), self._in_other_dtypes()
        missing = self._at_missing(*tests)
        by_dtype = any(
            not all(map(np.array_equal, missing, other._at_missing(*tests))) for other in others
        )
        folded = np.full(n_tests, np.inf)
        # where finite numbers come out as they went in, a test is the same, of float32 numbers
        same = numbers & self._same[feature]
        folded[same] = float32_floor(threshold[same])
        numbers &= ~same
        # one row holds a test of each column, so that the steps transform few rows
        order = np.flatnonzero(numbers)
        order = order[np.argsort(source[order], kind="stable")]
        first = np.searchsorted(source[order], np.arange(self.n_features))
        row = np.zeros(n_tests, dtype=np.intp)
        row[order] = np.arange(len(order)) - first[source[order]]
        step = max(1, _BATCH // max(1, self.n_features))
        for begin in range(0, row.max(initial=-1) + 1, step):
            batch = np.flatnonzero(numbers & (begin <= row) & (row < begin + step))
            if batch.size:
                tests = (row[batch] - begin, feature[batch]), threshold[batch], single[batch]
                last = last_float32(self._below(*tests, falls[batch]), len(batch))
                by_dtype = by_dtype or not all(
                    _ends_at(last, other._below(*tests, falls[batch])) for other in others
                )
                folded[batch] = last
        return Folded(folded, falls, sets, set_of, *missing, by_dtype)

    def _in_other_dtypes(self):
        """The same for rows of float64 alone and of float32 alone, but for what it is itself."""
        others = []
        for dtype in (None, np.float32):
            columns = tuple(
                replace(column, dtype=dtype) if column.levels is None else column
                for column in self.given.columns
            )
            pairs = zip(columns, self.given.columns, strict=True)
            if any(column.dtype != given.dtype for column, given in pairs):
                other = copy.copy(self)
                other.given = replace(self.given, columns=columns)
                others.append(other)
        return others

    def _sets(self, tests, feature, threshold, single):
        """For some tests of columns with levels: which codes pass, which come out as NaN."""
        values = {}
        for j in np.unique(self.source[feature[tests]]):
            rows = np.zeros((int(self.table.highest[j]) + 1, self.n_features))
            rows[:, j] = np.arange(len(rows))
            values[j] = self.transform(rows)
        sets = []
        for i in tests.tolist():
            value = values[self.source[feature[i]]][:, feature[i]]
            sets.append((_passes(value, threshold[i], single[i]), np.isnan(value)))
        return sets

    def _at_missing(self, feature, threshold, single):
        """Which tests a missing value passes, and which tests see it as missing."""
        passes, stays = np.zeros(len(feature), dtype=bool), np.zeros(len(feature), dtype=bool)
        source = self.source[feature]
        for j, value in self._lacking(np.unique(source[~self.filled[source]])):
            mine = np.flatnonzero(source == j)
            answers = value[feature[mine]]
            stays[mine] = np.isnan(answers)
            passes[mine] = _passes(answers, threshold[mine], single[mine])
        return passes, stays

    def _lacking(self, columns):
        """Pairs of a column and the transformed row that lacks it; without those refused."""
        rows = np.zeros((len(columns), self.n_features))
        rows[np.arange(len(columns)), columns] = np.nan
        try:
            return list(zip(columns, self.transform(rows, finite=False), strict=True))
        except TypeError:  # a transformer refuses some, and the pipeline too
            if len(columns) < 2:
                return []
        return [pair for j in columns for pair in self._lacking(np.array([j]))]

    def _below(self, at, threshold, single, falls):
        """Function of a number a test: whether it passes, or, if `falls`, does not."""
        rows = np.zeros((at[0].max() + 1, self.n_features))

        def below(x):
            rows[at[0], self.source[at[1]]] = x
            return _passes(self.transform(rows)[at], threshold, single) != falls

        return below


@dataclass(frozen=True, eq=False)
class Folded:
    """Tests of the rows that go into a pipeline; arrays of shape (n_tests,).

    Attributes
    ----------
    threshold : ndarray of float64
        Float32, or ``-inf``; infinity for tests of codes.
    falls : ndarray of bool
        Whether the transformed value falls where the value rises: then values above the threshold
        pass.
    sets : list of pairs of bool arrays
        Of tests of columns with levels, which codes pass, and which come out as missing.
    set_of : ndarray of intp
        The place of each test's in `sets`; -1: it is of a column of numbers.
    missing_passes, missing_stays : ndarrays of bool
        Whether a missing value passes, or comes out as one and is for the tree to send.
    by_dtype : bool
        Whether some test is another one for rows of float32 than for rows of float64.
    """

    threshold: np.ndarray
    falls: np.ndarray
    sets: list
    set_of: np.ndarray
    missing_passes: np.ndarray
    missing_stays: np.ndarray
    by_dtype: bool

    def at(self, places) -> Folded:
        """The tests at some places."""
        names = ("threshold", "falls", "set_of", "missing_passes", "missing_stays")
        return replace(self, **{name: getattr(self, name)[places] for name in names})


def _ends_at(last, below):
    """Whether `below` holds up to the float32 numbers `last`, -inf for none, and not above them."""
    with np.errstate(over="ignore"):
        after = np.nextafter(last.astype(np.float32), np.float32(np.inf)).astype(np.float64)
    holds = below(np.maximum(last, -FLOAT32_MAX)), below(np.minimum(after, FLOAT32_MAX))
    ends = last >= -FLOAT32_MAX, last >= FLOAT32_MAX
    return all(map(np.array_equal, holds, ends))


def _passes(value, threshold, single):
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(single, value.astype(np.float32), value) <= threshold


def _numbers(X):
    X = X.toarray() if sparse.issparse(X) else np.asarray(X)
    return X.astype(np.float64, copy=False)


def _is_identity(step):
    if step is None or isinstance(step, str):
        return True
    return isinstance(step, FunctionTransformer) and step.func is None


def _places(name, step, chosen, n):
    """Positions of the columns that a transformer of a ColumnTransformer gets."""
    names = list(getattr(step, "feature_names_in_", ()))
    if isinstance(chosen, slice):
        ends = [chosen.start, chosen.stop]
        if any(isinstance(end, str) for end in ends):
            first, last = (None if end is None else names.index(end) for end in ends)
            return np.arange(n)[first : None if last is None else last + 1]
        return np.arange(n)[chosen]
    if callable(chosen):
        raise refused(name, step, "holds a function where it should hold columns")
    with warnings.catch_warnings():
        # scikit-learn 1.6 announces that the remainder's columns will have names
        warnings.simplefilter("ignore", FutureWarning)
        chosen = [chosen] if isinstance(chosen, (str, Integral)) else list(chosen)
    if chosen and isinstance(chosen[0], str):
        return np.array([names.index(column) for column in chosen], dtype=np.intp)
    if chosen and isinstance(chosen[0], (bool, np.bool_)):
        return np.flatnonzero(chosen)
    return np.arange(n)[np.array(chosen, dtype=np.intp)]


def _without_names(step):
    plain = copy.copy(step)
    vars(plain).pop("feature_names_in_", None)
    return plain


def _answers(step, n):
    """Names of the output columns if the input columns are called c0, c1, ..."""
    return _without_names(step).get_feature_names_out([f"c{j}" for j in range(n)]).tolist()


def _flat(steps):
    """The transformers that do something, those of pipelines among them one by one."""
    for name, step in steps:
        step = unwrap(step)
        if isinstance(step, Pipeline):
            yield from _flat(step.steps)
        elif step is not None and not isinstance(step, str):
            yield name, step


def _columns_of_imputer(name, step, width):
    """The columns that an imputer of numbers lets through: it leaves finite rows as they are."""
    if step.add_indicator:
        raise refused(name, step, "makes new columns (add_indicator=True)")
    probe = np.arange(1.0, width + 1)
    kept = np.asarray(_without_names(step).transform(probe[None]), dtype=np.float64)[0]
    if not np.isin(kept, probe).all():
        raise refused(name, step, "changes rows that miss nothing (a column was empty in fit)")
    return kept.astype(np.intp) - 1


def refused(name, step, why) -> TypeError:
    """The error for a pipeline with a transformer that cannot be folded into thresholds."""
    return TypeError(
        f"A Pipeline with the step {name!r}, {type(step).__name__}(...), is not supported: the "
        f"step {why}. Pass the last step, FrozenEstimator(pipeline[-1]), and transformed rows, "
        "pipeline[:-1].transform(X). Steps that are supported: StandardScaler, MinMaxScaler, "
        "MaxAbsScaler, RobustScaler, Binarizer, KBinsDiscretizer(encode='ordinal'), OneHotEncoder, "
        "OrdinalEncoder, TargetEncoder, SimpleImputer, KNNImputer, FunctionTransformer of what "
        "rises, selectors of columns, ColumnTransformer of these and 'passthrough'."
    )


# ------------------------------------------------------------------------------------ codes


class TableCodes(TransformerMixin, BaseEstimator):
    """Number the levels of columns of text; what is missing stays so, or gets a number.

    Parameters
    ----------
    table : Table
        The columns.
    complete : bool, default=False
        Whether a number below all others of its column stands for whatever is missing.
    """

    def __init__(self, table=None, complete=False):
        self.table = table
        self.complete = complete

    def __sklearn_is_fitted__(self):
        return True

    @property
    def n_features_in_(self) -> int:
        """Number of columns."""
        return len(self.table)

    def __getattr__(self, name):
        # arrays have no names, and then there is no such attribute
        if name == "feature_names_in_" and getattr(self.table, "names", None) is not None:
            return np.asarray(self.table.names, dtype=object)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def fit(self, X, y=None):
        """Do nothing: the levels are known."""
        return self

    def transform(self, X) -> np.ndarray:
        """Numbers for rows of the table, as an array of float64."""
        rows = self.table.read(X)
        return self.table.gaps.fill(rows) if self.complete else rows


def on_codes(codes, estimator) -> Pipeline:
    """A fitted estimator of numbers behind the step that makes them of a table.

    It is given arrays: names of columns that it knows are left out of a copy.
    """
    if "feature_names_in_" in vars(estimator):
        estimator = copy.copy(estimator)
        del estimator.feature_names_in_
    return Pipeline([("codes", codes), ("model", estimator)])


def behind_codes(estimator):
    """The step that makes numbers of a table, and what `on_codes` put behind it.

    None, and the estimator itself, where there is no such step.
    """
    if isinstance(estimator, Pipeline) and len(estimator.steps) == 2:
        codes, inner = (step for _, step in estimator.steps)
        if isinstance(codes, TableCodes) and isinstance(codes.table, Table):
            return codes, inner
    return None, estimator
