"""Which inputs can occur: bounds, integers, missing values, one-hot groups, implied indicators.

A domain acts on thresholds, before any cells are made: those that tell no two values in it
apart go, and those between the same two integers become one. Groups and implications, which
tie features together, become boxes of cells outside the domain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import combinations, pairwise
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse

from ensemble_simplify.grid.axes import Axes
from ensemble_simplify.grid.linear_programs import LinearProgram

# Below this number float32 represents n + 1/2 for every whole number n.
HALVES = float(1 << 22)
# Floats hold whole numbers where so many are known, and all are whole.
MANY = 20
# Clauses about single features that are handled at most.
MAX_CLAUSES = 20_000


@dataclass(frozen=True)
class Domain:
    """Which inputs can occur, for the parameter ``domain`` of estimators and functions.

    With a domain, trees become smaller and proofs faster, and counterexamples that nobody will ever
    meet are left out. Features are given by index, or by name if the data have names of columns.

    Parameters
    ----------
    bounds : mapping of a feature to (low, high)
        The lowest and the highest value. Both belong to the domain, and None leaves an end open.
        Where a model rounds numbers to float32, an end is rounded as well.
    integers : list of features or "all"
        Features that only take whole numbers.
    one_hot : list of lists of features
        Groups of 0/1 features of which exactly one is 1.
    at_most_one : list of lists of features
        Groups of 0/1 features of which one or none is 1.
    implies : list of tuples of features
        Chains of 0/1 features: if one is 1, the next is 1, too. ``("age<20", "age<25")`` says that
        everyone below 20 is also below 25.
    missing : list of features, "all" or None
        Features that may be missing (NaN). None: the features that are missing in some of the rows
        that come with the domain (the training rows of an estimator, or `X` of `verify`), and
        columns of levels in which the model takes unknown levels for missing values.
    known_levels : list of features or "all"
        Columns of levels that hold no level which the model has never seen. Without them, a model
        that takes such levels is asked about one more in each column.

    Examples
    --------
    A tree that must answer as a forest does, everywhere or for large flowers alone:

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.frozen import FrozenEstimator
    >>> from ensemble_simplify import BornAgainClassifier, Domain, verify
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> forest = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, y)
    >>> born = BornAgainClassifier(FrozenEstimator(forest), objective="leaves", random_state=0)
    >>> everywhere = born.fit(X, y).n_leaves_
    >>> domain = Domain(bounds={name: (X[name].quantile(0.4), X[name].max()) for name in X})
    >>> rows = X[(X >= X.quantile(0.4)).all(axis=1)]
    >>> tree = born.set_params(domain=domain).fit(rows, y[rows.index])
    >>> everywhere, tree.n_leaves_
    (30, 10)
    >>> verify(forest, tree, domain=domain)
    Verification(equal=True: proven for every input in the domain; ... in ... s)

    Whole numbers, one-hot groups and implications:

    >>> domain = Domain(
    ...     bounds={"age": (18, 120), "income": (0, None)},
    ...     integers=["age"],
    ...     one_hot=[["own", "rent", "other"]],
    ...     implies=[("age<20", "age<25")],
    ... )

    What a table holds: whole numbers, the ranges of its columns, and no gaps:

    >>> import pandas as pd
    >>> table = pd.DataFrame({"age": [31, 56, 42], "dose": [0.5, 0.25, 1.5]})
    >>> domain = Domain.from_rows(table)
    >>> domain.integers, domain.bounds, domain.missing
    (('age',), {'age': (31.0, 56.0), 'dose': (0.25, 1.5)}, ())
    """

    bounds: Mapping = field(default_factory=dict)
    integers: Sequence | str = ()
    one_hot: Sequence = ()
    at_most_one: Sequence = ()
    implies: Sequence = ()
    missing: Sequence | str | None = None
    known_levels: Sequence | str = ()

    @classmethod
    def from_rows(cls, X: Any, *, ranges: bool = True) -> Domain:
        """Inputs like the rows of a table.

        Columns of whole numbers take whole numbers, columns of booleans 0 and 1. Columns without a
        gap have none, and columns of levels hold those that the model knows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or data frame
            Rows. Columns of integers hold whole numbers. Columns of floats or objects hold them if
            at least 20 values are known and all are whole.
        ranges : bool, default=True
            Whether numbers stay between the lowest and the highest of their column. False: they may
            lie anywhere, as in rows that come later. A proof is then about more inputs.

        Returns
        -------
        Domain
            Its features are named as in the frame, or numbered.
        """
        if np.ndim(X) != 2:
            raise ValueError(
                f"X has {np.ndim(X)} dimensions. Give rows: an array of two, or a frame."
            )
        columns = columns_of(X)
        keys = list(getattr(X, "columns", ()))
        if len(set(keys)) < len(columns) or not all(isinstance(key, str) for key in keys):
            keys = range(len(columns))
        return domain_of_columns(columns, keys, ranges=ranges)


def domain_of_columns(columns, keys, *, ranges):
    """As `Domain.from_rows`, of columns that are called by `keys`."""
    integers, missing, bounds = [], [], {}
    for key, column in zip(keys, columns, strict=True):
        values, lacks, whole = _numbers_of(column)
        if lacks:
            missing.append(key)
        if whole:
            integers.append(key)
        if values is not None and len(values) and (ranges or whole == "flags"):
            ends = (0.0, 1.0) if whole == "flags" else (values.min(), values.max())
            bounds[key] = OfNumbers(map(float, ends))
    known = {"integers": tuple(integers), "missing": tuple(missing)}
    return Domain(bounds=bounds, known_levels="all", **known)


class OfNumbers(tuple):
    """Bounds of a column that hold where a model takes it for numbers, and not for levels."""

    __slots__ = ()

    def __repr__(self):
        return repr(tuple(self))


def columns_of(X):
    """The columns of some rows, one by one."""
    if hasattr(X, "iloc"):
        return [X.iloc[:, j] for j in range(X.shape[1])]
    if hasattr(X, "columns"):
        return [X[name] for name in X.columns]
    return list((X if hasattr(X, "shape") else np.asarray(X, dtype=object)).T)


def _numbers_of(column):
    """The known numbers of a column, whether it lacks any, and whether all are whole.

    None stands for what are no numbers, and whole numbers that are booleans are "flags".
    """
    entries, kind = np.asarray(column), getattr(column.dtype, "kind", "O")
    if entries.dtype.kind in "biuf":
        values = entries.astype(np.float64)
        lacks = np.isnan(values)
        kinds = {type(entries.dtype.type(0).item())}
        values = values[~lacks]
    else:
        known = [entry for entry in entries.tolist() if _is_known(entry)]
        lacks = np.array([len(known) < len(entries)])
        kinds = {type(entry) for entry in known}
        if not known or not all(issubclass(each, Real | np.bool_) for each in kinds):
            return None, lacks.any(), False
        values = np.array(known, dtype=np.float64)
    if kind == "b" or kinds <= {bool, np.bool_}:
        return values, lacks.any(), "flags"
    whole = kind in ("i", "u") or all(issubclass(each, Integral) for each in kinds)
    whole = whole or (len(values) >= MANY and bool((values == np.floor(values)).all()))
    return values, lacks.any(), whole


def _is_known(entry):
    """Whether an entry is no gap: None, NaN, NaT and pandas.NA are not what they are."""
    same = entry is not None and entry == entry
    return isinstance(same, bool | np.bool_) and bool(same)


def read_domain(domain, n_features, names=None, missing=None, categorical=None, known=None):
    """A domain in terms of feature numbers, as an `Inside`, or None for all finite inputs.

    Parameters
    ----------
    domain : Domain, mapping of its parameters, or None
    n_features : int
    names : sequence of str or None
    missing : bool array of shape (n_features,) or None
        Features that may be missing where the domain does not say. None: none may.
    categorical : float array of shape (n_features,) or None
        Highest codes of features that hold codes of categories, -1 for others: codes are whole
        numbers from 0, whatever the domain says.
    known : float array of shape (n_features,) or None
        Highest codes of the levels that the model knows. None: `categorical`.
    """
    if domain is None and categorical is None and (missing is None or not missing.any()):
        return None
    domain = _as_domain(domain)
    reader = _DomainReader(n_features, names)
    reader.read_integers(domain.integers, categorical)
    reader.read_levels(domain.known_levels, known)
    reader.read_missing(domain.missing, missing)
    reader.read_ties(domain)
    reader.read_bounds(domain.bounds, categorical)
    return reader.inside()


def _as_domain(domain):
    if isinstance(domain, Domain):
        return domain
    entries = {} if domain is None else domain
    names = {f.name for f in fields(Domain)}
    unknown = set(entries) - names
    if unknown:
        raise ValueError(
            f"domain has the entry {min(unknown, key=str)!r}. Its entries are {sorted(names)}."
        )
    return Domain(**entries)


class _DomainReader:
    """The entries of a domain, read one after the other; `inside` checks that they go together."""

    def __init__(self, n_features, names):
        self.n_features = n_features
        self.numbers = {} if names is None else {name: j for j, name in enumerate(names)}
        self.low, self.high = np.full(n_features, -np.inf), np.full(n_features, np.inf)
        self.binary, self.clauses = set(), set()

    def read_integers(self, entry, categorical):
        self.integer = self._mask("integers", entry)
        if categorical is not None:
            coded = categorical >= 0
            self.integer |= coded
            self.low[coded], self.high[coded] = 0.0, categorical[coded]

    def read_levels(self, entry, known):
        named = self._mask("known_levels", entry)
        if known is not None:
            named &= known >= 0
            self.high[named] = np.minimum(self.high[named], known[named])

    def read_missing(self, entry, otherwise):
        if entry is not None:
            self.missing = self._mask("missing", entry)
        elif otherwise is not None:
            self.missing = otherwise
        else:
            self.missing = np.zeros(self.n_features, dtype=bool)

    def read_ties(self, domain):
        for name in ("one_hot", "at_most_one"):
            for group in self._groups(name, domain):
                # of any two, one is not 1
                pairs = combinations(group, 2)
                self.clauses |= {frozenset({(a, False), (b, False)}) for a, b in pairs}
                if name == "one_hot":
                    self.clauses.add(frozenset((j, True) for j in group))
        for chain in self._groups("implies", domain):
            self.clauses |= {frozenset({(a, False), (b, True)}) for a, b in pairwise(chain)}

    def read_bounds(self, entry, categorical):
        for j in self.binary:
            self.integer[j], self.low[j], self.high[j] = True, 0.0, 1.0
            if self.missing[j]:
                raise ValueError(
                    f"domain has the feature {j} in a group or implication, but it may be missing. "
                    "Take it out of the group, or name in Domain(missing=...) the features that "
                    "can be missing without it."
                )
        for feature, ends in entry.items():
            j, (first, last) = self._number(feature), ends
            if isinstance(ends, OfNumbers) and categorical is not None and categorical[j] >= 0:
                continue
            self.low[j] = max(self.low[j], -np.inf if first is None else float(first))
            self.high[j] = min(self.high[j], np.inf if last is None else float(last))

    def inside(self):
        """What was read, as an `Inside`, if some input is in it."""
        low, high, integer = self.low, self.high, self.integer
        low[integer], high[integer] = np.ceil(low[integer]), np.floor(high[integer])
        empty = np.flatnonzero(~(low <= high))
        if empty.size:
            raise ValueError(f"domain leaves no value to feature {empty[0]}. Widen its bounds.")
        clauses = {c for c in self.clauses if not _is_tautology(c)}
        for j in sorted(self.binary):
            if low[j] == high[j]:
                clauses.add(frozenset({(j, bool(low[j]))}))
        if satisfying(clauses) is None:
            raise ValueError("domain is empty: its groups and implications contradict one another.")
        return Inside(low, high, integer, frozenset(clauses), self.missing)

    def _number(self, feature):
        n_features = self.n_features
        if isinstance(feature, Integral) and -n_features <= feature < n_features:
            return int(feature) % n_features
        # LightGBM keeps a name with underscores for spaces
        for name in (feature, feature.replace(" ", "_")) if isinstance(feature, str) else ():
            if name in self.numbers:
                return self.numbers[name]
        given = feature.item() if isinstance(feature, np.generic) else feature
        raise ValueError(
            f"domain names the feature {given!r}, but the data has {n_features} features"
            f"{' with other names' if self.numbers else ' without names'}. Give features by "
            "index, or by the names that X has."
        )

    def _mask(self, name, entry):
        """Of every feature, whether an entry of the domain names it."""
        chosen = np.zeros(self.n_features, dtype=bool)
        if isinstance(entry, str):
            if entry != "all":
                raise ValueError(f"{name}={entry!r} in domain must be a list or 'all'.")
            chosen[:] = True
        else:
            chosen[[self._number(feature) for feature in entry]] = True
        return chosen

    def _groups(self, name, domain):
        """The groups of an entry of the domain, whose features are then known to be 0 or 1."""
        for group in getattr(domain, name):
            if isinstance(group, str) or not np.iterable(group):
                raise ValueError(
                    f"{name} in domain holds {group!r}. It must be a list of lists of features."
                )
            numbers = [self._number(feature) for feature in group]
            self.binary.update(numbers)
            yield numbers


def with_missing(domain, missing):
    """A domain that says what may be missing: what it says itself, else the features of a mask."""
    if not missing.any():
        return domain
    domain = _as_domain(domain)
    if domain.missing is not None:
        return domain
    return replace(domain, missing=np.flatnonzero(missing).tolist())


@dataclass(frozen=True, eq=False)
class Inside:
    """A domain in terms of feature numbers: arrays of shape (n_features,), and ties of features.

    In every input, at least one feature of each of the `clauses`, frozensets of (feature, bool),
    has the value named there.
    """

    low: np.ndarray
    high: np.ndarray
    integer: np.ndarray
    clauses: frozenset
    missing: np.ndarray

    def check_rows(self, X, begin=0):
        """Raise ValueError if a row is outside; the first of them is called row `begin`."""
        wrong = ~self._in_range(X)
        if wrong.any():
            row, j = np.argwhere(wrong)[0]
            entry = f"X[{row + begin}, {j}]"
            if np.isnan(X[row, j]):
                raise ValueError(
                    f"{entry} is missing, which is outside the domain. Name the feature in "
                    "Domain(missing=...), or fill in a value."
                )
            kind = "a whole number " if self.integer[j] else ""
            raise ValueError(
                f"{entry} = {X[row, j]} is outside the domain: it must be {kind}in "
                f"[{self.low[j]:.9g}, {self.high[j]:.9g}]. Correct the row or the domain."
            )
        broken = []
        for clause in self.clauses:
            held = np.zeros(len(X), dtype=bool)
            for j, value in clause:
                held |= X[:, j] == value
            broken += [(row, sorted(j for j, _ in clause)) for row in np.flatnonzero(~held)[:1]]
        if broken:
            row, features = min(broken)
            raise ValueError(
                f"X[{row + begin}] is outside the domain: its groups or implications forbid the "
                f"values {[float(X[row, j]) for j in features]} of the features {features}. "
                "Correct the row or the domain."
            )

    @cached_property
    def exclusive(self):
        """Groups of features of which at most one is 1, and that share none with others."""
        rivals = {}
        for clause in self.clauses:
            if len(clause) == 2 and not any(value for _, value in clause):
                a, b = sorted(j for j, _ in clause)
                rivals.setdefault(a, {a}).add(b)
                rivals.setdefault(b, {b}).add(a)
        # all members of such a group exclude the very same features
        groups = {frozenset(own) for own in rivals.values()}
        return sorted(sorted(own) for own in groups if all(rivals[j] == own for j in own))

    def contains(self, X):
        """Which rows of an array of shape (n, n_features) are inside."""
        inside = self._in_range(X).all(axis=1)
        for clause in self.clauses:
            inside &= np.any([X[:, j] == value for j, value in clause], axis=0)
        return inside

    def held(self, j, *values):
        """The domain of those inputs that are inside with each of some values of a 0/1 feature."""
        clauses = {
            frozenset(clause - {(j, not value)})
            for value in values
            for clause in self.clauses
            if (j, bool(value)) not in clause
        }
        return replace(self, clauses=frozenset(clauses))

    def doubled(self, features):
        """The domain of pairs of inputs that differ in some features alone.

        The second input's values of these come after all of the first one's, in their order.
        """
        place = {j: len(self.low) + i for i, j in enumerate(features)}
        again = {frozenset((place.get(j, j), value) for j, value in c) for c in self.clauses}
        names = ("low", "high", "integer", "missing")
        both = {name: np.append(own := getattr(self, name), own[features]) for name in names}
        return Inside(clauses=self.clauses | again, **both)

    def _in_range(self, X):
        """Which entries are inside, each alone."""
        low, high = self.ends(X.dtype)
        inside = (X >= low) & (X <= high) & (~self.integer | (np.floor(X) == X))
        return inside | (np.isnan(X) & self.missing)

    def ends(self, dtype):
        """The lowest and highest values as rows of some type have them, in float64."""
        with np.errstate(over="ignore"):
            return (ends.astype(dtype).astype(np.float64) for ends in (self.low, self.high))

    def read(self, forest):
        """The forest with the thresholds that tell values in the domain apart, and no others."""
        j = np.maximum(forest.feature, 0)
        low, high = self.ends(forest.row_dtype)
        cut = forest.threshold
        halves = self.integer[j] & (np.abs(cut) < HALVES)
        cut = np.where(halves, np.floor(cut) + 0.5, cut)
        cut = np.where(cut < low[j], -np.inf, np.where(cut >= high[j], np.inf, cut))
        return replace(
            forest,
            threshold=np.where(forest.feature >= 0, cut, forest.threshold),
            missing=self.missing if self.missing.any() else None,
            **({} if forest.sets is None else {"sets": forest.sets.within(low[j], high[j])}),
        )

    def outside(self, axes):
        """Regions of cells outside the domain, over axes of forests from `read`.

        Returns
        -------
        pair of int32 arrays of shape (n_regions, n_axes), or None
            First and last cells; None if there are no such regions.
        """
        place = {j: a for a, j in enumerate(axes.features) if len(axes.cuts[a])}
        clauses = self.clauses
        for j in sorted({j for clause in clauses for j, _ in clause} - set(place)):
            clauses = _eliminated(clauses, j)
        if not clauses:
            return None
        first, last = axes.whole
        lo, hi = np.tile(first, (len(clauses), 1)), np.tile(last, (len(clauses), 1))
        for i, clause in enumerate(sorted(clauses, key=sorted)):
            for j, value in clause:
                # the clause is broken where each feature has the other value; cell 0 is the value 0
                lo[i, place[j]] = hi[i, place[j]] = not value
        return lo, hi

    def with_ties(self, axes):
        """Axes with one more for each feature without cut points that is tied to some that has any.

        Where changes of a row are counted, those that others bring along count as well, although no
        model looks at them.
        """
        by_feature = list(axes.by_feature)
        ties = [{j for j, _ in clause} for clause in self.clauses if len(clause) > 1]
        found = True
        while found:
            found = {
                j
                for tie in ties
                if any(len(by_feature[j]) for j in tie)
                for j in tie
                if not len(by_feature[j])
            }
            for j in found:
                by_feature[j] = np.array([0.5])
        return Axes(by_feature, axes.row_dtype)

    def points(self, axes, cells):
        """An input, as float64, in each of some cells inside the domain, of shape (n, n_axes)."""
        low, high = self.ends(axes.row_dtype)
        rows = np.tile(np.clip(0.0, low, high), (len(cells), 1))
        for a, (j, cuts) in enumerate(zip(axes.features, axes.cuts, strict=True)):
            absent = len(cuts) and np.isinf(cuts[-1])
            if absent:
                rows[cells[:, a] == len(cuts), j] = np.nan
                cuts = cuts[:-1]
            if not len(cuts):
                continue
            with np.errstate(over="ignore"):
                beyond = float(np.nextafter(np.float32(cuts[-1]), np.float32(np.inf)))
            beyond = max(np.floor(cuts[-1]) + 1.0, beyond)
            if np.isinf(beyond):
                beyond = np.nextafter(cuts[-1], np.inf)
            points = np.append(cuts, min(beyond, high[j]))
            if self.integer[j]:
                points = np.floor(points)
            points = np.clip(points, low[j], high[j])
            rows[:, j] = np.append(points, np.nan)[cells[:, a]]
        tied = {j for clause in self.clauses for j, _ in clause}
        given = [j for j in axes.features if j in tied and len(axes.by_feature[j])]
        for row in rows:
            values = satisfying(self.clauses | {frozenset({(j, bool(row[j]))}) for j in given})
            for j, value in values.items():
                row[j] = value
        return rows


# ------------------------------------------------------------------- clauses over 0/1 features


def in_boxes(cells, boxes):
    """Which cells, int of shape (n, n_axes), lie in one of some boxes: pairs of arrays, or None."""
    inside = np.zeros(len(cells), dtype=bool)
    for first, last in zip(*boxes or ((), ()), strict=True):
        inside |= ((first <= cells) & (cells <= last)).all(axis=1)
    return inside


def _is_tautology(clause):
    return any((j, not value) in clause for j, value in clause)


def _eliminated(clauses, j):
    """What the clauses say about the other features: a value of j exists that satisfies them."""
    yes = [c for c in clauses if (j, True) in c]
    no = [c for c in clauses if (j, False) in c]
    rest = {c for c in clauses if (j, True) not in c and (j, False) not in c}
    for one in yes:
        for two in no:
            both = (one - {(j, True)}) | (two - {(j, False)})
            if not _is_tautology(both):
                rest.add(both)
    if len(rest) > MAX_CLAUSES:
        raise ValueError(
            f"domain has too many ties between features: more than {MAX_CLAUSES} follow for those "
            "that the ensemble uses. Leave some groups or implications out."
        )
    short = [c for c in rest if len(c) <= 2]
    return frozenset(c for c in rest if not any(s < c for s in short))


def satisfying(clauses):
    """Values of the features that satisfy all clauses, as a dict; None if there are none."""
    values = _easy_assignment(clauses)
    if values is not None:
        return values
    features = sorted({j for clause in clauses for j, _ in clause})
    column = {j: i for i, j in enumerate(features)}
    literals = [(k, column[j], v) for k, clause in enumerate(clauses) for j, v in clause]
    row, col, value = np.array(literals, dtype=np.intp).T
    sign = np.where(value, 1.0, -1.0)
    # a clause holds iff its true literals and the complements of its false ones sum to 1 or more
    least = 1.0 - np.bincount(row, 1 - value, minlength=len(clauses))
    program = LinearProgram(
        np.ones(len(features)),
        sparse.csr_array((sign, (row, col)), shape=(len(clauses), len(features))),
        row_lower=least,
        upper=1.0,
        integer=True,
    )
    solution = program.solve()
    if solution.status != "optimal":
        return None
    return dict(zip(features, solution.x > 0.5, strict=True))


def _easy_assignment(clauses):
    """Values that satisfy clauses that only ask for a few ones, else None: groups mostly do."""
    values = {j: False for clause in clauses for j, _ in clause}
    for clause in sorted(clauses, key=lambda clause: len(clause)):
        if all(values[j] != value for j, value in clause):
            values[max(clause)[0]] = True
    held = all(any(values[j] == value for j, value in clause) for clause in clauses)
    return values if held else None
