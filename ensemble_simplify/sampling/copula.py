"""Synthetic rows from a Gaussian copula around the training rows.

Every ordered column is turned into *normal scores*: the normal quantiles of its ranks, ties in a
random order that is fixed with the law. From base row n with scores z[n], the law draws

    z = sqrt(1 - smearing) z[n] + sqrt(smearing) e,    e normal with the correlations of the scores,

and reads every column's value at the rank of z. Columns keep their distributions, pairs of columns
about their rank correlation; `smearing=1` is the Gaussian copula itself, with a base row for
nominal columns only. Those, categories and groups, are smeared.

Inside a region some ordered columns are limited to intervals of scores. A base row and its tightest
column are drawn exactly; the other limited columns follow one after the other, given those before,
and a row is thrown away where one falls outside: exact. Where fewer than one row in `_PATIENCE` is
kept, rows are drawn inside their limits and resampled in proportion to the probability that they
would be kept, which is only approximate. Columns without limits are drawn given the limited ones.
The probability of a region is estimated as the mean of these probabilities; it is exact where one
column is limited.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from ensemble_simplify.sampling._copula_draws import Box, read_values
from ensemble_simplify.sampling.law import Law, first_above, normal_mass

# Proposals a wanted row before resampling takes the place of rejection.
_PATIENCE = 200

# Proposals for the probability of a region.
_PROPOSALS = 2048

# Share of the noise that is independent in every column: it keeps correlations regular.
_OWN = 1e-3

# Limited columns among which each base row has its tightest, at most.
_MOST_FIRST = 16

# Numbers that are drawn at once.
_AT_ONCE = 2**20


class CopulaLaw(Law):
    """Synthetic rows from a Gaussian copula around training rows."""

    def __init__(self, X, weight, columns, *, smearing, keep_rows=0.0, seed=0, gaps=None):
        super().__init__(X, weight, columns, smearing=smearing, keep_rows=keep_rows, gaps=gaps)
        self.members = columns.coordinates
        self.ordered = np.flatnonzero(self.nominal == 0)
        self.column_of = np.array([self.members[i][0] for i in self.ordered], dtype=np.intp)
        self.shift, self.scale = np.sqrt(1.0 - smearing), np.sqrt(smearing)
        self.seed = seed
        self._score(np.random.default_rng([seed, 2]))

    def _score(self, random) -> None:
        """Normal scores, their correlation, and the sorted columns with their cumulated shares."""
        n_rows, n_ordered = self.X.shape[0], self.ordered.size
        total = self.weight.sum()
        self.scores = np.empty((n_rows, n_ordered))
        self.share = np.zeros((n_ordered, n_rows + 1))  # of the rows before each place
        self.sorted = np.empty((n_ordered, n_rows))  # as float32 compares
        self.value = np.empty((n_ordered, n_rows))  # as they were given
        row = np.empty((n_ordered, n_rows), dtype=np.intp)
        for k, i in enumerate(self.ordered):
            tie_breaker, order, level = random.random(n_rows), self.row_at[i], self.level[i]
            # the law has sorted the rows already, but equal values by their rows
            if len(self.patterns[i]) < n_rows:
                order = np.lexsort((tie_breaker, level))
            row[k], self.sorted[k] = order, self.patterns[i][level[order], 0]
            self.value[k] = self.X[order, self.column_of[k]]
        weight = self.weight[row] / total
        self.share[:, 1:] = np.minimum(np.cumsum(weight, axis=1), 1.0)
        z = ndtri(self.share[:, 1:] - 0.5 * weight)
        np.put_along_axis(self.scores, row.T, z.T, axis=0)
        self.share[:, -1] = 1.0
        self.is_even = bool((self.weight == self.weight[0]).all())
        centred = self.scores - self.weight @ self.scores / total
        deviation = np.sqrt(self.weight @ np.square(centred) / total)
        deviation[deviation == 0.0] = 1.0
        # factor.T @ factor is the correlation, which would be large where columns are many
        self.factor = np.sqrt(self.weight / total)[:, None] * (centred / deviation)
        # A factor of as many rows as columns draws the same noise from fewer numbers.
        if n_rows > n_ordered > 0:
            self.factor = np.asarray(np.linalg.qr(self.factor, mode="r"))

    def correlation(self, some, others):
        """Correlation of the noise of some ordered coordinates with that of others."""
        product = self.factor[:, some].T @ self.factor[:, others]
        return (1.0 - _OWN) * product + _OWN * (some[:, None] == others)

    def _noise(self, n, random):
        noise = random.standard_normal((n, self.factor.shape[0])) @ self.factor
        of_columns = random.standard_normal((n, self.ordered.size))
        return np.sqrt(1.0 - _OWN) * noise + np.sqrt(_OWN) * of_columns

    def places(self, limits):
        """First place inside, and the place after the last, of every ordered coordinate."""
        places = np.empty((self.ordered.size, 2), dtype=np.intp)
        places[:] = 0, self.X.shape[0]
        for k, i in enumerate(self.ordered):
            if limits[i, 0] > -np.inf or limits[i, 1] < np.inf:
                places[k] = np.searchsorted(self.sorted[k], limits[i], side="right")
        return places

    # ------------------------------------------------------------------ probabilities

    def _divided(self, region, i, sides):
        """Every row's `q`, made smaller by what each side is estimated to have of the region.

        Both sides are estimated in the same way and made to add up. Rows do not have estimates of
        their own: draws do not need them.
        """
        masses = [self._mass(limits, allowed) for limits, allowed in sides]
        total = sum(masses)
        return [region.q * (mass / total if total > 0.0 else 0.5) for mass in masses]

    def _mass(self, limits, allowed):
        """Estimated mass of the base rows' copies in a region; exact for one limited column."""
        limited = _Limited(self, limits)
        if limited.is_empty:
            return 0.0
        masses = self._bounds(limited, allowed)
        total = masses.sum()
        if limited.size < 2 or total == 0.0:
            return total
        return total * limited.weigh(_PROPOSALS, masses, self.seed)[2].mean()

    def _bounds(self, limited, allowed):
        """Weight times the chance to fall into the region, of each base row's copies, or more.

        Only the nominal coordinates and the ordered one that is tightest for the row are counted.
        """
        whole = self.everywhere()
        q = whole.q
        for i in np.flatnonzero(self.nominal):
            out = np.empty_like(q)
            self.smearer.narrow(q, i, whole.limits, whole.allowed, whole.limits, allowed, out)
            q = out
        masses = self.weight * q
        if limited.size:
            limited.box.bound(masses)
        return masses

    # ------------------------------------------------------------------ draws

    def manufacture(self, region, n, seed):
        random = np.random.default_rng(seed)
        limited = _Limited(self, region.limits)
        X = np.empty((n, self.X.shape[1]))
        masses = self._bounds(limited, region.allowed) * region.q
        base, noise = limited.draw(n, masses, random)
        for i in np.flatnonzero(self.nominal):
            columns = self.members[i]
            X[:, columns] = self.X[np.ix_(self._smeared(i, base, region, random), columns)]
        at_once = max(_AT_ONCE // X.shape[1], 1)
        for begin in range(0, n, at_once):
            rows = slice(begin, begin + at_once)
            self._read(base[rows], noise[rows], limited, random, X[rows])
        return X

    def _read(self, base, inside, limited, random, X) -> None:
        """Write the values of all ordered columns, given the noise of the limited ones, to X."""
        noise = self._noise(base.size, random)
        if limited.size:
            gap = inside - noise[:, limited.columns]
            cross = self.correlation(limited.columns, np.arange(self.ordered.size))
            noise += np.linalg.solve(limited.correlation, gap.T).T @ cross
        read_values(
            noise,
            base,
            self.scores,
            self.shift,
            self.scale,
            self.share,
            self.is_even,
            limited.places,
            self.value,
            self.column_of,
            X,
        )

    def _smeared(self, i, base, region, random) -> np.ndarray:
        """Training row that each draw has a nominal coordinate from."""
        allowed = region.allowed[self.allowed_start[i] : self.allowed_start[i + 1]]
        inside = allowed[self.level[i]].astype(bool)
        cumulated = np.cumsum(self.weight * inside)
        p = self.smearer.smearing
        keep = (1.0 - p) * inside[base]
        anew = p * cumulated[-1] / self.weight.sum()
        source = first_above(cumulated, random.random(base.size) * cumulated[-1])
        return np.where(random.random(base.size) * (keep + anew) < keep, base, source)


class _Limited:
    """The limited columns of a region, the tightest first."""

    def __init__(self, law, limits):
        self.places = law.places(limits)
        self.is_empty = bool((self.places[:, 0] >= self.places[:, 1]).any())
        ends = ndtri(np.take_along_axis(law.share, self.places, axis=1))
        columns = np.flatnonzero((self.places[:, 0] > 0) | (self.places[:, 1] < law.X.shape[0]))
        self.columns = columns[np.argsort(normal_mass(*ends[columns].T), kind="stable")]
        self.correlation = law.correlation(self.columns, self.columns)
        # any of the tightest in front of the others
        first = np.arange(min(self.size, _MOST_FIRST))
        others = np.tile(np.arange(self.size), (first.size, 1))
        order = np.argsort(others != first[:, None], axis=1, kind="stable")
        self.box = Box(
            law.scores.take(self.columns, axis=1),
            ends[self.columns],
            order,
            np.linalg.cholesky(self.correlation[order[:, :, None], order[:, None, :]]),
            law.shift,
            law.scale,
        )

    @property
    def size(self):
        return self.columns.size

    def draw(self, n, masses, random):
        """Base rows, and the noise of the limited columns, of `n` rows inside.

        `masses` are bounds of those of the base rows.
        """
        if self.size == 0:
            cumulated = np.cumsum(masses)
            # sorted numbers are found much faster
            base = first_above(cumulated, np.sort(random.random(n)) * cumulated[-1])
            return base[random.permutation(n)], np.empty((n, 0))
        base, noise = np.empty(n, dtype=np.intp), np.empty((n, self.size))
        seeds = random.integers(2**63, size=2).tolist()
        n_found = self.box.draw(masses, seeds[0], _PATIENCE * n, base, noise)
        if n_found < n:
            among, noises, weights = self.weigh(20 * (n - n_found), masses, seeds[1])
            if not weights.any():  # too small for a float: any is as good
                weights[:] = 1.0
            cumulated = np.cumsum(weights)
            chosen = first_above(cumulated, random.random(n - n_found) * cumulated[-1])
            base[n_found:], noise[n_found:] = among[chosen], noises[chosen]
        return base, noise

    def weigh(self, n, masses, seed):
        """Base rows, noise inside, and the probability that `draw` would keep each row."""
        base, noise, weights = np.empty(n, dtype=np.intp), np.empty((n, self.size)), np.empty(n)
        self.box.weigh(masses, seed, weights, base, noise)
        return base, noise, weights
