"""The law of manufactured rows: smeared, drawn from neighbours or from kernel densities.

A region of the feature space is a box of limits and sets of levels, together with the probability
that each training row's copies fall into it; rows are drawn from their exact distribution inside.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from ensemble_simplify._base import column_index
from ensemble_simplify.representer._smear import DECAYING, NEIGHBORS, SMEAR, Smearer, windows


@dataclass(frozen=True, eq=False)
class Columns:
    """Which columns are categorical, and which move together."""

    categorical: np.ndarray  # uint8 (n_columns,)
    coordinates: list  # of intp arrays of columns, groups first

    @classmethod
    def resolve(cls, categorical_features, feature_groups, n_columns, names):
        categorical = np.zeros(n_columns, dtype=np.uint8)
        if categorical_features is not None:
            categorical[
                _column_numbers("categorical_features", categorical_features, n_columns, names)
            ] = 1
        group_of = np.full(n_columns, -1, dtype=np.intp)
        coordinates = []
        for g, group in enumerate(feature_groups or ()):
            numbers = _column_numbers(f"feature_groups[{g}]", group, n_columns, names)
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


def _column_numbers(parameter, columns, n_columns, names):
    """Turn names, numbers or a mask of columns into distinct numbers."""
    columns = np.atleast_1d(np.asarray(columns))
    if columns.size == 0:
        return np.zeros(0, dtype=np.intp)
    if columns.ndim != 1:
        raise ValueError(f"{parameter} has shape {columns.shape}. Give a flat list of columns.")
    if columns.dtype.kind == "b":
        if columns.size != n_columns:
            raise ValueError(
                f"{parameter} is a mask of {columns.size} columns, but X has {n_columns}."
            )
        return np.flatnonzero(columns)
    numbers = [column_index(column, parameter, n_columns, names) for column in columns.tolist()]
    return np.unique(np.array(numbers, dtype=np.intp))


@dataclass(eq=False)
class Region:
    """A part of the feature space, and for every training row how likely its copies fall there."""

    limits: np.ndarray  # float64 (n_coordinates, 2): (low, high] of ordered coordinates
    allowed: np.ndarray  # uint8: one a level of every nominal coordinate
    q: np.ndarray  # float64 (n_rows,)


@dataclass(frozen=True, eq=False)
class Split:
    column: int
    threshold: float
    values: np.ndarray | None = None  # that go left, of a categorical column

    def goes_left(self, x):
        x = np.asarray(x, dtype=np.float32)
        return x <= self.threshold if self.values is None else np.isin(x, self.values)


class Law:
    """Manufactured rows by smearing or from neighbours."""

    def __init__(self, X, weight, columns, *, smearing, n_neighbors=None, decaying=False):
        n_rows, n_columns = X.shape
        coordinates = columns.coordinates
        n_coordinates = len(coordinates)
        X32 = X.astype(np.float32)
        self.X, self.weight = X, weight
        self.coordinate_of = np.empty(n_columns, dtype=np.intp)
        nominal = np.zeros(n_coordinates, dtype=np.uint8)
        laws = np.full(n_coordinates, SMEAR, dtype=np.uint8)
        level = np.empty((n_coordinates, n_rows), dtype=np.int32)
        row = np.empty((n_coordinates, n_rows), dtype=np.int32)
        mass = np.zeros((n_coordinates, n_rows + 1))
        patterns, first = [], []
        for i, members in enumerate(coordinates):
            self.coordinate_of[members] = i
            nominal[i] = members.size > 1 or columns.categorical[members[0]]
            if members.size == 1:
                values, level[i] = np.unique(X32[:, members[0]], return_inverse=True)
                values = values[:, None]
            else:
                values, inverse = np.unique(X32[:, members], axis=0, return_inverse=True)
                level[i] = inverse.ravel()
            patterns.append(values)
            row[i] = np.argsort(level[i], kind="stable")
            first.append(np.searchsorted(level[i][row[i]], np.arange(len(values))))
            np.cumsum(weight[row[i]], out=mass[i, 1:])
        if n_neighbors is not None:
            laws[nominal == 0] = DECAYING if decaying else NEIGHBORS
        width = 0 if n_neighbors is None else min(n_neighbors, n_rows)
        window = np.zeros((n_coordinates if width else 0, n_rows, 3), dtype=np.int32)
        moment = np.zeros((n_coordinates if width and decaying else 0, n_rows + 1))
        for i in np.flatnonzero(laws != SMEAR):
            order = row[i]
            places = np.empty((n_rows, 3), dtype=np.int32)
            windows(np.ascontiguousarray(X[order, coordinates[i][0]]), width, places)
            window[i, order] = places
            if decaying:
                np.cumsum(weight[order] * np.arange(n_rows), out=moment[i, 1:])

        self.nominal = nominal
        self.patterns = patterns
        self.allowed_start = _starts(
            len(values) if is_nominal else 0
            for values, is_nominal in zip(patterns, nominal, strict=True)
        )
        self.smearer = Smearer(
            X,
            weight,
            smearing,
            columns_start=_starts(members.size for members in coordinates),
            columns=np.concatenate(coordinates),
            law=laws,
            nominal=nominal,
            level=level,
            level_start=_starts(len(values) for values in patterns),
            level_value=np.concatenate([values[:, 0] for values in patterns]).astype(np.float64),
            first=np.concatenate(first).astype(np.intp),
            allowed_start=self.allowed_start,
            row=row,
            mass=mass,
            window=window,
            moment=moment,
        )

    def everywhere(self):
        """The whole space."""
        limits = np.empty((self.nominal.size, 2))
        limits[:, 0], limits[:, 1] = -np.inf, np.inf
        allowed = np.ones(self.allowed_start[-1], dtype=np.uint8)
        return Region(limits, allowed, np.ones(self.X.shape[0]))

    def probability(self, region):
        """Of a manufactured row to fall into a region."""
        return float(self.weight @ region.q / self.weight.sum())

    def part(self, region, split, left):
        """The left or right side of a split region."""
        i = self.coordinate_of[split.column]
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
        return Region(limits, allowed, self._narrowed(region, i, limits, allowed))

    def _narrowed(self, region, i, limits, allowed):
        q = np.empty_like(region.q)
        self.smearer.narrow(region.q, i, region.limits, region.allowed, limits, allowed, q)
        return q

    def draw(self, region, n, seed):
        """Manufacture `n` rows inside a region of positive probability."""
        X = np.empty((n, self.X.shape[1]))
        self.smearer.draw(region.q, region.limits, region.allowed, seed, X)
        return X


class KernelLaw(Law):
    """Manufactured rows of independent columns, numeric ones from Gaussian kernel densities."""

    def __init__(self, X, weight, columns):
        super().__init__(X, weight, columns, smearing=1.0)
        self.column_of = np.array([members[0] for members in columns.coordinates])
        self.bandwidth = np.zeros(self.nominal.size)
        for i in np.flatnonzero(self.nominal == 0):
            self.bandwidth[i] = bandwidth(X[:, self.column_of[i]], weight)

    def _masses(self, i, limits):
        """Share of each row's kernel in (low, high]."""
        z = (limits[i] - self.X[:, self.column_of[i], None]) / self.bandwidth[i]
        z = np.where((z[:, 0] > 0)[:, None], -z[:, ::-1], z)  # the lower tail is the precise one
        return np.maximum(ndtr(z[:, 1]) - ndtr(z[:, 0]), 0.0)

    def _narrowed(self, region, i, limits, allowed):
        if self.bandwidth[i] == 0.0:
            return super()._narrowed(region, i, limits, allowed)
        old = self.weight @ self._masses(i, region.limits)
        return region.q * ((self.weight @ self._masses(i, limits)) / old)

    def draw(self, region, n, seed):
        smooth = np.flatnonzero(self.bandwidth > 0.0)
        limits = region.limits.copy()
        limits[smooth] = -np.inf, np.inf
        X = super().draw(Region(limits, region.allowed, region.q), n, seed)
        random = np.random.default_rng(seed)
        for i in smooth:
            column, (low, high) = self.column_of[i], region.limits[i]
            share = np.cumsum(self.weight * self._masses(i, region.limits))
            centre = np.searchsorted(share, random.random(n) * share[-1], side="right")
            centre = self.X[np.minimum(centre, share.size - 1), column]
            x = centre + self.bandwidth[i] * _truncated_normal(
                (low - centre) / self.bandwidth[i], (high - centre) / self.bandwidth[i], random
            )
            X[:, column] = _clipped(x, low, high)
        return X


def make_law(*, sampler, smearing, n_neighbors, decaying, **common):
    if sampler == "kernel":
        return KernelLaw(**common)
    if sampler == "neighbors":
        return Law(**common, smearing=smearing, n_neighbors=n_neighbors, decaying=decaying)
    return Law(**common, smearing=smearing)


def _starts(sizes):
    return np.concatenate([[0], np.cumsum(list(sizes))]).astype(np.intp)


def bandwidth(x, weight):
    """Silverman's rule of thumb, weighted."""
    mean = np.average(x, weights=weight)
    spread = np.sqrt(np.average((x - mean) ** 2, weights=weight))
    order = np.argsort(x)
    share = np.cumsum(weight[order]) / weight.sum()
    low, high = x[order[np.searchsorted(share, [0.25, 0.75])]]
    if high > low:
        spread = min(spread, (high - low) / 1.34)
    n_effective = weight.sum() ** 2 / np.square(weight).sum()
    return 0.9 * spread * n_effective**-0.2


def _truncated_normal(low, high, random):
    """Standard normal numbers in (low, high), by inversion in the tail that is precise."""
    flip = low > 0
    low, high = np.where(flip, -high, low), np.where(flip, -low, high)
    begin, end = ndtr(low), ndtr(high)
    z = ndtri(begin + random.random(low.size) * (end - begin))
    z = np.clip(z, low, high)
    return np.where(flip, -z, z)


def _clipped(x, low, high):
    """Bring what rounding carried over a limit back, as float32 compares."""
    x32 = x.astype(np.float32)
    if low > -np.inf:
        above = np.float32(low)
        if above <= low:
            above = np.nextafter(above, np.float32(np.inf))
        x = np.where(x32 <= low, above, x)
    if high < np.inf:
        below = np.float32(high)
        if below > high:
            below = np.nextafter(below, np.float32(-np.inf))
        x = np.where(x32 > high, below, x)
    return x
