"""Which inputs can occur: bounds, integers, one-hot groups and implied indicators.

A domain acts on thresholds, before any cells are made: those that tell no two values in it
apart go, and those between the same two integers become one. Groups and implications, which
tie features together, become boxes of cells outside the domain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import combinations, pairwise
from numbers import Integral

import numpy as np

# Up to here float32 holds all numbers n + 1/2.
HALVES = float(1 << 22)
# Clauses about single features that are handled at most.
MAX_CLAUSES = 20_000


@dataclass(frozen=True)
class Domain:
    """Which inputs can occur, for the parameter ``domain`` of `BornAgainClassifier` and `verify`.

    Features are named by index, or by name where the data has names.

    Parameters
    ----------
    bounds : mapping of a feature to (low, high)
        Both ends belong to the domain; None leaves an end open.
    integers : list of features or "all"
        Features that are whole numbers.
    one_hot : list of lists of features
        Groups of 0/1 features of which exactly one is 1.
    at_most_one : list of lists of features
        Groups of 0/1 features of which one or none is 1.
    implies : list of tuples of features
        Chains of 0/1 features: where one is 1, so is the next. ``("age<20", "age<25")`` says that
        who is below 20 is below 25.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensemble_simplify import BornAgainClassifier, Domain
    >>> X, y = load_iris(return_X_y=True)
    >>> domain = Domain(bounds={j: (0, 8) for j in range(4)})
    >>> tree = BornAgainClassifier(domain=domain, random_state=0).fit(X, y)
    >>> bool(tree.verify())
    True
    """

    bounds: Mapping = field(default_factory=dict)
    integers: list | str = ()
    one_hot: list = ()
    at_most_one: list = ()
    implies: list = ()


def read_domain(domain, n_features, names=None):
    """A domain in terms of feature numbers, or None for None.

    Parameters
    ----------
    domain : Domain, mapping of its parameters, or None
    n_features : int
    names : sequence of str or None

    Raises
    ------
    ValueError
        If a feature is unknown, an entry has the wrong form, or no input is in the domain.
    """
    if domain is None:
        return None
    if not isinstance(domain, Domain):
        known = {f.name for f in fields(Domain)}
        unknown = set(domain) - known
        if unknown:
            raise ValueError(
                f"domain has the entry {min(unknown, key=str)!r}. Its entries are {sorted(known)}."
            )
        domain = Domain(**domain)
    places = {} if names is None else {name: j for j, name in enumerate(names)}

    def number(feature):
        if isinstance(feature, Integral) and -n_features <= feature < n_features:
            return int(feature) % n_features
        if isinstance(feature, str) and feature in places:
            return places[feature]
        raise ValueError(
            f"domain names the feature {feature!r}, but the data has {n_features} features"
            f"{', named otherwise' if places else ' without names'}. Name features by index, or "
            "by name where X has names."
        )

    low, high = np.full(n_features, -np.inf), np.full(n_features, np.inf)
    integer = np.zeros(n_features, dtype=bool)
    if isinstance(domain.integers, str):
        if domain.integers != "all":
            raise ValueError(f"integers={domain.integers!r} in domain must be a list or 'all'.")
        integer[:] = True
    else:
        integer[[number(feature) for feature in domain.integers]] = True
    clauses = set()
    binary = set()
    for name in ("one_hot", "at_most_one", "implies"):
        for entry in getattr(domain, name):
            if isinstance(entry, str) or not np.iterable(entry):
                raise ValueError(
                    f"{name} in domain holds {entry!r}. It must be a list of lists of features."
                )
            group = [number(feature) for feature in entry]
            binary.update(group)
            if name == "implies":
                clauses |= {frozenset({(a, False), (b, True)}) for a, b in pairwise(group)}
                continue
            clauses |= {frozenset({(a, False), (b, False)}) for a, b in combinations(group, 2)}
            if name == "one_hot":
                clauses.add(frozenset((a, True) for a in group))
    for j in binary:
        integer[j], low[j], high[j] = True, 0.0, 1.0
    for feature, ends in domain.bounds.items():
        j = number(feature)
        first, last = ends
        low[j] = max(low[j], -np.inf if first is None else float(first))
        high[j] = min(high[j], np.inf if last is None else float(last))
    low[integer], high[integer] = np.ceil(low[integer]), np.floor(high[integer])
    empty = np.flatnonzero(~(low <= high))
    if empty.size:
        raise ValueError(f"domain leaves no value to feature {empty[0]}. Widen its bounds.")
    clauses = {c for c in clauses if not _is_tautology(c)}
    for j in sorted(binary):
        if low[j] == high[j]:
            clauses.add(frozenset({(j, bool(low[j]))}))
    if _assignment(clauses) is None:
        raise ValueError("domain is empty: its groups and implications contradict one another.")
    return Inside(low, high, integer, frozenset(clauses))


@dataclass(frozen=True, eq=False)
class Inside:
    """A domain in terms of feature numbers.

    Attributes
    ----------
    low, high : float64 arrays of shape (n_features,)
    integer : bool array of shape (n_features,)
    clauses : frozenset of frozensets of (feature, bool)
        In every input, at least one feature of each has the value named.
    """

    low: np.ndarray
    high: np.ndarray
    integer: np.ndarray
    clauses: frozenset

    def check_rows(self, X):
        """Raise ValueError if a row is outside."""
        low, high = self.low.astype(X.dtype), self.high.astype(X.dtype)
        wrong = (X < low) | (X > high) | (self.integer & (X != np.floor(X)))
        if wrong.any():
            row, j = np.argwhere(wrong)[0]
            kind = "a whole number " if self.integer[j] else ""
            raise ValueError(
                f"X[{row}, {j}] = {X[row, j]} is outside the domain: it must be {kind}in "
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
                f"X[{row}] is outside the domain: its groups or implications forbid the values "
                f"{[float(X[row, j]) for j in features]} of the features {features}. Correct the "
                "row or the domain."
            )

    def read(self, forest):
        """The forest with the thresholds that tell values in the domain apart, and no others."""
        j = np.maximum(forest.feature, 0)
        with np.errstate(over="ignore"):
            low, high = (
                ends.astype(np.float32).astype(np.float64) for ends in (self.low, self.high)
            )
        cut = forest.threshold
        halves = self.integer[j] & (np.abs(cut) < HALVES)
        cut = np.where(halves, np.floor(cut) + 0.5, cut)
        cut = np.where(cut < low[j], -np.inf, np.where(cut >= high[j], np.inf, cut))
        return replace(forest, threshold=np.where(forest.feature >= 0, cut, forest.threshold))

    def outside(self, cuts):
        """Boxes of cells outside the domain, as `CellTrees` takes them; None if there are none.

        Parameters
        ----------
        cuts : list of arrays
            Cut points of every feature, of forests from `read`.
        """
        axes = [j for j, c in enumerate(cuts) if len(c)]
        clauses = self.clauses
        for j in sorted({j for clause in clauses for j, _ in clause} - set(axes)):
            clauses = _eliminated(clauses, j)
        if not clauses:
            return None
        place = {j: a for a, j in enumerate(axes)}
        lo = np.zeros((len(clauses), len(axes)), dtype=np.intp)
        hi = lo + [len(cuts[j]) for j in axes]
        for i, clause in enumerate(sorted(clauses, key=sorted)):
            for j, value in clause:
                # no literal holds: 0/1 features have one cut
                lo[i, place[j]] = hi[i, place[j]] = not value
        return lo, hi

    def point(self, cuts, cells):
        """An input in each of some cells.

        Parameters
        ----------
        cuts : list of arrays
            Of every feature.
        cells : intp array of shape (n, n_axes)
            Inside the domain; the axes are the features with cuts.
        """
        axes = [j for j, c in enumerate(cuts) if len(c)]
        rows = np.tile(np.clip(0.0, self.low, self.high), (len(cells), 1))
        for a, j in enumerate(axes):
            c = cuts[j]
            last = c[-1]
            with np.errstate(over="ignore"):
                beyond = float(np.nextafter(np.float32(last), np.float32(np.inf)))
            beyond = max(np.floor(last) + 1.0, beyond)
            points = np.append(c, min(beyond, self.high[j]))
            if self.integer[j]:
                points = np.floor(points)
            rows[:, j] = np.clip(points, self.low[j], self.high[j])[cells[:, a]]
        tied = {j for clause in self.clauses for j, _ in clause}
        for row in rows:
            given = {frozenset({(j, bool(row[j]))}) for j in tied.intersection(axes)}
            values = _assignment(self.clauses | given)
            for j in tied:
                row[j] = values.get(j, row[j])
        return rows


# ------------------------------------------------------------------- clauses over 0/1 features


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


def _assignment(clauses):
    """Values of the features that satisfy all clauses, as a dict; None if there are none."""
    values = {}
    stack = [(clauses, values)]
    while stack:
        clauses, values = stack.pop()
        open_clauses = []
        changed = True
        while changed:
            changed = False
            open_clauses = []
            for clause in clauses:
                if any(values.get(j) == value for j, value in clause):
                    continue
                left = [(j, value) for j, value in clause if j not in values]
                if len(left) == 1:
                    values[left[0][0]] = left[0][1]
                    changed = True
                open_clauses.append(left)
            if any(not left for left in open_clauses):
                break
            clauses = open_clauses
        if any(not left for left in open_clauses):
            continue
        if not open_clauses:
            return values
        j, value = open_clauses[0][0]
        stack.append((open_clauses, {**values, j: not value}))
        stack.append((open_clauses, {**values, j: value}))
    return None
