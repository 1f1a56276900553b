"""The law of synthetic rows: smeared, from neighbours, kernel densities or a copula.

A row of the law is a training row itself with probability `keep_rows`, else a manufactured one.
A region of the feature space is a box of limits and sets of levels, together with the training
rows inside and the probability that each row's copies fall into it; rows are drawn from their
exact distribution inside. The compiled part is `_smear.pyx`, the copula `copula.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr, ndtri

from ensemble_simplify.base import product
from ensemble_simplify.grid import float32_floor
from ensemble_simplify.reading import column_indices
from ensemble_simplify.sampling._smear import NEIGHBORS, SMEAR, Smearer, windows

# Normal numbers beyond this have no probability in float64.
_FARTHEST = 38.0


@dataclass(frozen=True, eq=False)
class Coordinates:
    """What moves together: groups of columns, and single ones."""

    categorical: np.ndarray  # uint8 (n_columns,)
    coordinates: list  # of intp arrays of columns, groups first
    # bool (n_columns,): of values between which there are none, such as codes of levels; and of
    # levels without an order, so that no level is next to another; None: no such columns
    discrete: np.ndarray | None = None
    unordered: np.ndarray | None = None

    @classmethod
    def resolve(cls, categorical_features, feature_groups, n_columns, names):
        categorical = np.zeros(n_columns, dtype=np.uint8)
        if categorical_features is not None:
            categorical[
                column_indices(categorical_features, "categorical_features", n_columns, names)
            ] = 1
        group_of = np.full(n_columns, -1, dtype=np.intp)
        coordinates = []
        for g, group in enumerate(feature_groups or ()):
            numbers = column_indices(group, f"feature_groups[{g}]", n_columns, names)
            if (twice := numbers[group_of[numbers] >= 0]).size:
                column = twice[0] if names is None else repr(names[twice[0]])
                raise ValueError(
                    f"feature_groups[{g}] and feature_groups[{group_of[twice[0]]}] both hold "
                    f"column {column}. A column belongs to one group at most: join the groups."
                )
            group_of[numbers] = g
            coordinates.append(np.sort(numbers))
        coordinates += [np.array([j], dtype=np.intp) for j in np.flatnonzero(group_of < 0)]
        return cls(categorical, coordinates)

    @property
    def nominal(self) -> np.ndarray:
        """Which coordinates have values without an order, as a bool array."""
        by_column = self.categorical.astype(bool)
        if self.unordered is not None:
            by_column = by_column | self.unordered
        return np.array([m.size > 1 or by_column[m[0]] for m in self.coordinates], dtype=bool)

    def levels(self, X) -> dict:
        """The codes of every categorical column, ascending, as float32."""
        levels = {
            int(j): np.unique(X[:, j].astype(np.float32)) for j in np.flatnonzero(self.categorical)
        }
        # gaps are no level: they go to a side of their own
        return {j: codes[~np.isnan(codes)] for j, codes in levels.items()}


@dataclass(frozen=True, eq=False)
class Places:
    """What the kernel knows of the coordinates: their levels, and the rows sorted by level.

    What is of different size for each coordinate stands end to end; then the entries of coordinate
    i are ``[start[i] : start[i + 1]]``.
    """

    columns_start: np.ndarray  # intp (n_coordinates + 1,)
    columns: np.ndarray  # intp (n_columns,)
    law: np.ndarray  # uint8 (n_coordinates,): SMEAR or NEIGHBORS
    nominal: np.ndarray  # uint8 (n_coordinates,): of values without an order
    level: np.ndarray  # int32 (n_coordinates, n_rows): of each row
    level_start: np.ndarray  # intp (n_coordinates + 1,)
    level_value: np.ndarray  # float64 (n_levels,): float32 values, ascending if ordered
    first: np.ndarray  # intp (n_levels,): the first place of a level
    allowed_start: np.ndarray  # intp (n_coordinates + 1,): of the levels of nominal ones alone
    row: np.ndarray  # int32 (n_coordinates, n_rows): in each place
    mass: np.ndarray  # float64 (n_coordinates, n_rows + 1): weight of the places before
    # int32 (n_coordinates, n_rows, 2): of each row the first place of its window, and the place
    # after the last; none without a law of neighbours
    window: np.ndarray


@dataclass(eq=False)
class Region:
    """A part of the feature space, and for every training row how likely its copies fall there."""

    limits: np.ndarray  # float64 (n_coordinates, 2): (low, high] of ordered coordinates
    allowed: np.ndarray  # uint8: one a level of every nominal coordinate
    q: np.ndarray  # float64 (n_rows,)
    inside: np.ndarray  # bool (n_rows,): the training rows in it


@dataclass(frozen=True, eq=False)
class ColumnSplit:
    column: int
    threshold: float
    values: np.ndarray | None = None  # that go left, of a categorical column
    missing_left: bool = False

    def goes_left(self, x) -> np.ndarray:
        x = np.asarray(x, dtype=np.float32)
        left = x <= self.threshold if self.values is None else np.isin(x, self.values)
        return left | np.isnan(x) if self.missing_left else left


class Law:
    """Synthetic rows by smearing or from neighbours, mixed with training rows.

    A number below all others stands for a gap in its rows, and in what is drawn: a value of its
    own, with no number near it. `with_gaps` puts the gaps back.
    """

    def __init__(
        self,
        X,
        weight,
        columns,
        *,
        smearing,
        keep_rows=0.0,
        n_neighbors=None,
        gaps=None,  # a `Gaps`; None: there are none
    ):
        self.X, self.weight, self.keep_rows, self.gaps = X, weight, keep_rows, gaps
        self.coordinate_of = np.empty(X.shape[1], dtype=np.intp)
        for i, members in enumerate(columns.coordinates):
            self.coordinate_of[members] = i
        law = np.full(len(columns.coordinates), SMEAR, dtype=np.uint8)
        if n_neighbors is not None:
            # values without an order have no neighbours
            law[~columns.nominal] = NEIGHBORS
        places, self.patterns = _placed(X, weight, columns, law)
        if n_neighbors is not None:
            window = self._windows(places.row, columns.coordinates, n_neighbors, law != SMEAR)
            places = replace(places, window=window)
        self.nominal, self.level, self.row_at = places.nominal, places.level, places.row
        self.allowed_start = places.allowed_start
        self.smearer = Smearer(X, weight, smearing, places)

    def everywhere(self) -> Region:
        """The whole space."""
        limits = np.empty((self.nominal.size, 2))
        limits[:, 0], limits[:, 1] = -np.inf, np.inf
        allowed = np.ones(self.allowed_start[-1], dtype=np.uint8)
        n_rows = self.X.shape[0]
        return Region(limits, allowed, np.ones(n_rows), np.ones(n_rows, dtype=bool))

    def _lacks(self, column):
        """Which training rows lack a column."""
        if self.gaps is None or not self.gaps.seen[column]:
            return np.zeros(len(self.X), dtype=bool)
        return self.X[:, column] <= self.gaps.stand_in[column]

    def _windows(self, row, coordinates, width, has_windows):
        """Each row's places of the nearest values, in the coordinates that have windows.

        Rows that lack a column come first, and are near one another only.
        """
        window = np.zeros((*row.shape, 2), dtype=np.int32)
        for i in np.flatnonzero(has_windows):
            column, n_rows = coordinates[i][0], row.shape[1]
            n_lacking = np.count_nonzero(self._lacks(column))
            places = np.empty((n_rows, 2), dtype=np.int32)
            places[:n_lacking] = 0, n_lacking
            values = np.ascontiguousarray(self.X[row[i], column][n_lacking:])
            windows(values, min(width, values.size), places[n_lacking:])
            places[n_lacking:] += n_lacking
            window[i, row[i]] = places
        return window

    def with_gaps(self, X) -> np.ndarray:
        """Drawn rows as the predictor is asked about them: NaN for what stands for a gap."""
        return X if self.gaps is None else self.gaps.restore(X)

    def chances(self, region):
        """P(a row of the law in the region | base row n), for every n."""
        if self.keep_rows == 0.0:
            return region.q
        return self.keep_rows * region.inside + (1.0 - self.keep_rows) * region.q

    def probability(self, region) -> float:
        """Probability that a synthetic row falls into a region."""
        return float(product(self.weight, self.chances(region)) / self.weight.sum())

    def parts(self, region, split) -> tuple[Region, ...]:
        """The left and the right side of a split region."""
        i = self.coordinate_of[split.column]
        goes_left = split.goes_left(self.X[:, split.column])
        sides = [self._limited(region, i, split, left) for left in (True, False)]
        return tuple(
            Region(*side, q, region.inside & (goes_left == left))
            for side, q, left in zip(
                sides, self._divided(region, i, sides), (True, False), strict=True
            )
        )

    def _limited(self, region, i, split, left):
        """Limits and levels of one side."""
        limits, allowed = region.limits, region.allowed
        if self.nominal[i]:
            allowed = allowed.copy()
            levels = slice(self.allowed_start[i], self.allowed_start[i + 1])
            member = np.searchsorted(np.flatnonzero(self.coordinate_of == i), split.column)
            allowed[levels] &= split.goes_left(self.patterns[i][:, member]) == left
        else:
            limits = limits.copy()
            if left:
                limits[i, 1] = min(limits[i, 1], split.threshold)
            else:
                limits[i, 0] = max(limits[i, 0], split.threshold)
        return limits, allowed

    def _divided(self, region, i, sides):
        """The `q` of both sides."""
        return [self._narrowed(region, i, limits, allowed) for limits, allowed in sides]

    def _narrowed(self, region, i, limits, allowed):
        q = np.empty_like(region.q)
        self.smearer.narrow(region.q, i, region.limits, region.allowed, limits, allowed, q)
        return q

    def draw(self, region, n, seed) -> tuple[np.ndarray, np.ndarray]:
        """Rows inside a region of positive probability, and which training rows they are.

        The number of the row is -1 where it is a manufactured one.
        """
        source = np.full(n, -1, dtype=np.intp)
        if self.keep_rows == 0.0:
            return self.manufacture(region, n, seed), source
        random = np.random.default_rng([seed, 1])
        of_rows = np.cumsum(self.weight * region.inside)
        kept = self.keep_rows * of_rows[-1]
        made = (1.0 - self.keep_rows) * (self.weight @ region.q)
        # inside a region, kept rows have their part of what falls into it, not `keep_rows` itself
        is_kept = random.random(n) * (kept + made) < kept
        n_kept = np.count_nonzero(is_kept)
        source[is_kept] = first_above(of_rows, random.random(n_kept) * of_rows[-1])
        X = self.X[source]
        if n_kept < n:
            X[~is_kept] = self.manufacture(region, n - n_kept, seed)
        return X, source

    def manufacture(self, region, n, seed):
        """Draw `n` rows inside a region, none of them kept, from base rows of positive `q`."""
        X = np.empty((n, self.X.shape[1]))
        self.smearer.draw(region.q, region.limits, region.allowed, seed, X)
        return X


class KernelLaw(Law):
    """Synthetic rows of independent columns, numeric ones from Gaussian kernel densities.

    The kernel of a row that lacks a column is a gap.
    """

    def __init__(self, X, weight, columns, *, keep_rows=0.0, gaps=None):
        super().__init__(X, weight, columns, smearing=1.0, keep_rows=keep_rows, gaps=gaps)
        self.column_of = np.array([members[0] for members in columns.coordinates])
        self.bandwidth = np.zeros(self.nominal.size)
        smooth = self.nominal == 0
        if columns.discrete is not None:
            smooth &= ~columns.discrete[self.column_of]
        self.lacking = {}  # the rows that lack a column, of smooth columns with gaps
        for i in np.flatnonzero(smooth):
            x, lacking = X[:, self.column_of[i]], self._lacks(self.column_of[i])
            if lacking.all():
                continue
            self.bandwidth[i] = bandwidth(x[~lacking], weight[~lacking])
            if lacking.any():
                self.lacking[i] = lacking

    def _masses(self, i, limits):
        """Share of each row's kernel in (low, high]."""
        x, (low, high) = self.X[:, self.column_of[i]], limits[i]
        lacking = self.lacking.get(i)
        if lacking is None:
            z = (limits[i] - x[:, None]) / self.bandwidth[i]
            return normal_mass(z[:, 0], z[:, 1])
        # numbers stay above what stands for a gap
        gap = self.gaps.stand_in[self.column_of[i]]
        ends = np.maximum([gap, low, high], gap)
        z = (ends - x[:, None]) / self.bandwidth[i]
        share = normal_mass(z[:, 1], z[:, 2]) / normal_mass(z[:, 0], np.inf)
        return np.where(lacking, low < gap <= high, share)

    def _narrowed(self, region, i, limits, allowed):
        if self.bandwidth[i] == 0.0:
            return super()._narrowed(region, i, limits, allowed)
        old = self.weight @ self._masses(i, region.limits)
        return region.q * ((self.weight @ self._masses(i, limits)) / old)

    def manufacture(self, region, n, seed):
        smooth = np.flatnonzero(self.bandwidth > 0.0)
        limits = region.limits.copy()
        # the numbers of these columns are drawn anew below, from their kernels
        limits[smooth] = -np.inf, np.inf
        X = super().manufacture(Region(limits, region.allowed, region.q, region.inside), n, seed)
        random = np.random.default_rng(seed)
        for i in smooth:
            column, (low, high) = self.column_of[i], region.limits[i]
            share = np.cumsum(self.weight * self._masses(i, region.limits))
            source = first_above(share, random.random(n) * share[-1])
            centre, lacking = self.X[source, column], self.lacking.get(i)
            gap = -np.inf if lacking is None else self.gaps.stand_in[column]
            low, high = max(low, gap), max(high, gap)
            x = centre + self.bandwidth[i] * truncated_normal(
                (low - centre) / self.bandwidth[i], (high - centre) / self.bandwidth[i], random
            )
            x = _clipped(x, low, high)
            X[:, column] = x if lacking is None else np.where(lacking[source], gap, x)
        return X


def first_above(cumulated, numbers) -> np.ndarray:
    """Place of the first cumulated mass above each number; the last where rounding leaves none."""
    return np.minimum(np.searchsorted(cumulated, numbers, side="right"), cumulated.size - 1)


def normal_mass(low, high) -> np.ndarray:
    """Probability of a standard normal number in (low, high]."""
    flip = low > 0  # the lower tail is the precise one
    low, high = np.where(flip, -high, low), np.where(flip, -low, high)
    return np.maximum(ndtr(high) - ndtr(low), 0.0)


def _placed(X, weight, columns, law) -> tuple[Places, list]:
    """The places of rows, without windows, and the distinct values of each coordinate."""
    coordinates, nominal, n_rows = columns.coordinates, columns.nominal, X.shape[0]
    patterns, first = [], []
    level = np.empty((len(coordinates), n_rows), dtype=np.int32)
    row = np.empty_like(level)
    # splits compare in float32, so what is one number there is one level
    by_column = np.ascontiguousarray(X.T, dtype=np.float32)
    for i, members in enumerate(coordinates):
        if members.size == 1:
            values = by_column[members[0]]
            row[i] = _ascending(values)
            values = values[row[i]]
            is_new = np.append(True, values[1:] != values[:-1])
            level[i, row[i]] = np.cumsum(is_new) - 1
            first.append(np.flatnonzero(is_new))
            patterns.append(values[is_new][:, None])
        else:
            values, inverse, counts = np.unique(
                by_column[members].T, axis=0, return_inverse=True, return_counts=True
            )
            level[i] = inverse.ravel()
            row[i] = _ascending(level[i])
            first.append(np.cumsum(counts) - counts)
            patterns.append(values)
    n_allowed = [
        len(values) if has_set else 0 for values, has_set in zip(patterns, nominal, strict=True)
    ]
    places = Places(
        columns_start=_starts(members.size for members in coordinates),
        columns=np.concatenate(coordinates),
        law=law,
        nominal=nominal.astype(np.uint8),
        level=level,
        level_start=_starts(len(values) for values in patterns),
        level_value=np.concatenate([values[:, 0] for values in patterns]).astype(np.float64),
        first=np.concatenate(first).astype(np.intp),
        allowed_start=_starts(n_allowed),
        row=row,
        mass=np.pad(np.cumsum(weight[row], axis=1), ((0, 0), (1, 0))),
        window=np.zeros((0, n_rows, 2), dtype=np.int32),
    )
    return places, patterns


def _ascending(values) -> np.ndarray:
    """The order of numbers; of equal ones, the first comes first."""
    order = np.argsort(values)
    ranked = values[order]
    # a stable sort takes several times as long, and without ties it is the same
    is_tied = (ranked[1:] == ranked[:-1]).any()
    return np.argsort(values, kind="stable") if is_tied else order


def _starts(sizes) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(list(sizes))]).astype(np.intp)


def bandwidth(x, weight) -> float:
    """Silverman's rule of thumb, weighted."""
    mean = np.average(x, weights=weight)
    spread = np.sqrt(np.average((x - mean) ** 2, weights=weight))
    order = np.argsort(x)
    share = np.cumsum(weight[order]) / weight.sum()
    low, high = x[order[np.searchsorted(share, [0.25, 0.75])]]
    if high > low:
        spread = min(spread, (high - low) / 1.34)
    # so many rows of equal weight would tell as much (Kish)
    n_effective = weight.sum() ** 2 / np.square(weight).sum()
    return 0.9 * spread * n_effective**-0.2


def truncated_normal(low, high, random) -> np.ndarray:
    """Standard normal numbers in (low, high), by inversion in the tail that is precise."""
    flip = low > 0
    low, high = np.where(flip, -high, low), np.where(flip, -low, high)
    begin, end = ndtr(low), ndtr(high)
    z = ndtri(begin + random.random(low.size) * (end - begin))
    z = np.clip(np.maximum(z, -_FARTHEST), low, high)
    return np.where(flip, -z, z)


def _clipped(x, low, high) -> np.ndarray:
    """Bring what rounding carried over a limit back, as float32 compares."""
    x32 = x.astype(np.float32)
    above = np.nextafter(float32_floor(low).astype(np.float32), np.float32(np.inf))
    x = np.where(x32 <= low, above, x)
    return np.where(x32 > high, float32_floor(high), x)
