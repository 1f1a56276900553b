"""Synthetic rows from a Gaussian copula around the training rows.

Every ordered column is turned into *normal scores*: the normal quantiles of its ranks, ties in a
random order that is fixed with the law. From base row n with scores z[n], the law draws

    z = sqrt(1 - smearing) z[n] + sqrt(smearing) e,    e normal with the correlations of the scores,

and reads every column's value at the rank of z. Columns keep their distributions, pairs of columns
about their rank correlation; `smearing=1` is the Gaussian copula itself, with a base row for
nominal columns only. Those, categories and groups, are smeared.

Inside a region some ordered columns are limited to intervals of scores. A base row and the
tightest column are drawn exactly; the other limited columns follow one after the other, each
from its truncated normal given those before, and a draw is accepted with the probability of
these truncations: exact. Where fewer than one draw in `_PATIENCE` is accepted, rows are resampled
from the proposals in proportion to that probability, which is only approximate. Columns without
limits are drawn given the limited ones. The probability of a region is estimated as the mean of
what its proposals would be accepted with; it is exact where one column is limited.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri

from ensemble_simplify.representer._law import (
    Law,
    first_above,
    normal_mass,
    truncated_normal,
)

# Proposals a wanted row before resampling takes the place of rejection.
_PATIENCE = 200

# Proposals for the probability of a region.
_PROPOSALS = 2048

# Share of the noise that is independent in every column: it keeps correlations regular.
_OWN = 1e-3

# Numbers that are drawn at once.
_AT_ONCE = 2**20


class CopulaLaw(Law):
    """Synthetic rows from a Gaussian copula around training rows."""

    def __init__(self, X, weight, columns, *, smearing, keep_rows=0.0, seed=0):
        super().__init__(X, weight, columns, smearing=smearing, keep_rows=keep_rows)
        self.members = columns.coordinates
        self.ordered = np.flatnonzero(self.nominal == 0)
        self.column_of = np.array([self.members[i][0] for i in self.ordered], dtype=np.intp)
        self.shift, self.scale = np.sqrt(1.0 - smearing), np.sqrt(smearing)
        self.seed = seed
        self._score(np.random.default_rng([seed, 2]))

    def _score(self, random):
        """Normal scores, their correlation, and the sorted columns with their cumulated shares."""
        n_rows, n_ordered = self.X.shape[0], self.ordered.size
        total = self.weight.sum()
        self.scores = np.empty((n_rows, n_ordered))
        self.share = np.zeros((n_ordered, n_rows + 1))  # of the rows before each place
        self.sorted = np.empty((n_ordered, n_rows))  # as float32 compares
        self.row = np.empty((n_ordered, n_rows), dtype=np.intp)
        for k, column in enumerate(self.column_of):
            x = self.X[:, column].astype(np.float32)
            order = np.lexsort((random.random(n_rows), x))
            weight = self.weight[order] / total
            share = np.minimum(np.cumsum(weight), 1.0)
            self.scores[order, k] = ndtri(share - 0.5 * weight)
            self.row[k], self.share[k, 1:], self.sorted[k] = order, share, x[order]
        self.share[:, -1] = 1.0
        centred = self.scores - self.weight @ self.scores / total
        deviation = np.sqrt(self.weight @ np.square(centred) / total)
        deviation[deviation == 0.0] = 1.0
        # factor.T @ factor is the correlation, which would be large where columns are many
        self.factor = np.sqrt(self.weight / total)[:, None] * (centred / deviation)
        if n_rows > n_ordered > 0:
            self.factor = np.asarray(np.linalg.qr(self.factor, mode="r"))

    def correlation(self, some, others):
        """Correlation of the noise of some ordered coordinates with that of others."""
        product = self.factor[:, some].T @ self.factor[:, others]
        return (1.0 - _OWN) * product + _OWN * (some[:, None] == others)

    def _noise(self, n, random):
        noise = random.standard_normal((n, self.factor.shape[0])) @ self.factor
        own = random.standard_normal((n, self.ordered.size))
        return np.sqrt(1.0 - _OWN) * noise + np.sqrt(_OWN) * own

    def places(self, limits):
        """First place inside, and the place after the last, of every ordered coordinate."""
        places = np.empty((self.ordered.size, 2), dtype=np.intp)
        places[:] = 0, self.X.shape[0]
        for k, i in enumerate(self.ordered):
            if limits[i, 0] > -np.inf or limits[i, 1] < np.inf:
                places[k] = np.searchsorted(self.sorted[k], limits[i], side="right")
        return places

    # ------------------------------------------------------------------ probabilities

    def _narrowed(self, region, i, limits, allowed):
        """Every row's `q`, made smaller by what the part is estimated to have of the region.

        The two sides of a split are estimated in the same way and made to add up. Rows do not
        have estimates of their own: draws do not need them.
        """
        rest_limits, rest_allowed = limits.copy(), allowed
        if self.nominal[i]:
            rest_allowed = allowed.copy()
            levels = slice(self.allowed_start[i], self.allowed_start[i + 1])
            rest_allowed[levels] = region.allowed[levels] & ~allowed[levels] & 1
        else:
            (low, high), (new_low, new_high) = region.limits[i], limits[i]
            rest_limits[i] = (
                (max(new_high, low), high) if new_high < high else (low, min(new_low, high))
            )
        mine = self._mass(limits, allowed)
        total = mine + self._mass(rest_limits, rest_allowed)
        return region.q * (mine / total if total > 0.0 else 0.5)

    def _mass(self, limits, allowed):
        """Estimated mass of the base rows' copies in a region; exact for one limited column."""
        path = _Path(self, limits)
        if (path.places[:, 0] >= path.places[:, 1]).any():
            return 0.0
        of_base = self._base_masses(path, allowed)
        total = of_base.sum()
        if path.size < 2 or total == 0.0:
            return total
        random = np.random.default_rng([self.seed, 3])
        # one draw in each of equal parts of the mass
        steps = (np.arange(_PROPOSALS) + random.random(_PROPOSALS)) / _PROPOSALS
        base = first_above(np.cumsum(of_base), steps * total)
        return total * path.weights(base, random)[1].mean()

    def _base_masses(self, path, allowed):
        """Weight times the chance to fall into the region, of each base row's copies.

        Only the nominal coordinates and the tightest ordered one are counted.
        """
        whole = self.everywhere()
        q = whole.q
        for i in np.flatnonzero(self.nominal):
            out = np.empty_like(q)
            self.smearer.narrow(q, i, whole.limits, whole.allowed, whole.limits, allowed, out)
            q = out
        masses = self.weight * q
        if path.size:
            low, high = path.limits(np.empty((q.size, 0)), 0, np.arange(q.size))
            masses *= normal_mass(low, high)
        return masses

    # ------------------------------------------------------------------ draws

    def manufacture(self, region, n, seed):
        random = np.random.default_rng(seed)
        path = _Path(self, region.limits)
        of_base = self._base_masses(path, region.allowed) * (region.q > 0.0)
        X = np.empty((n, self.X.shape[1]))
        base, noise = path.draw(n, np.cumsum(of_base), random)
        for i in np.flatnonzero(self.nominal):
            columns = self.members[i]
            X[:, columns] = self.X[np.ix_(self._smeared(i, base, region, random), columns)]
        at_once = max(_AT_ONCE // X.shape[1], 1)
        for begin in range(0, n, at_once):
            rows = slice(begin, begin + at_once)
            X[rows, self.column_of] = self._values(base[rows], noise[rows], path, random)
        return X

    def _values(self, base, limited, path, random):
        """Values of all ordered columns, given the standard noise of the limited ones."""
        noise = self._noise(base.size, random)
        if path.size:
            gap = limited @ path.root.T - noise[:, path.order]
            cross = self.correlation(path.order, np.arange(self.ordered.size))
            noise += np.linalg.solve(path.correlation, gap.T).T @ cross
        share = ndtr(self.shift * self.scores[base] + self.scale * noise)
        values = np.empty_like(share)
        for k, column in enumerate(self.column_of):
            place = first_above(self.share[k, 1:], share[:, k])
            place = np.clip(place, path.places[k, 0], path.places[k, 1] - 1)
            values[:, k] = self.X[self.row[k, place], column]
        return values

    def _smeared(self, i, base, region, random):
        """Training row that each draw has a nominal coordinate from."""
        allowed = region.allowed[self.allowed_start[i] : self.allowed_start[i + 1]]
        inside = allowed[self.level[i]].astype(bool)
        cumulated = np.cumsum(self.weight * inside)
        p = self.smearer.smearing
        keep = (1.0 - p) * inside[base]
        anew = p * cumulated[-1] / self.weight.sum()
        source = first_above(cumulated, random.random(base.size) * cumulated[-1])
        return np.where(random.random(base.size) * (keep + anew) < keep, base, source)


class _Path:
    """The limited columns of a region, the tightest first, drawn one after the other."""

    def __init__(self, law, limits):
        self.law = law
        self.places = law.places(limits)
        ends = ndtri(np.take_along_axis(law.share, self.places, axis=1))
        limited = np.flatnonzero((self.places[:, 0] > 0) | (self.places[:, 1] < law.X.shape[0]))
        self.order = limited[np.argsort(normal_mass(*ends[limited].T), kind="stable")]
        self.ends = ends[self.order]
        self.correlation = law.correlation(self.order, self.order)
        self.root = np.linalg.cholesky(self.correlation)

    @property
    def size(self):
        return self.order.size

    def limits(self, noise, k, base):
        """Limits of the standard noise of column k, given the noise of those before."""
        law = self.law
        mean = law.shift * law.scores[base, self.order[k]]
        mean += law.scale * (noise[:, :k] @ self.root[k, :k])
        low, high = (self.ends[k][:, None] - mean) / (law.scale * self.root[k, k])
        return low, high

    def draw(self, n, of_base, random):
        """Base rows, and the standard noise of the limited columns, of `n` rows inside.

        `of_base` are cumulated masses of the base rows, the first column's among them.
        """
        found, n_found, n_proposed = [], 0, 0
        n_next = n
        while n_found < n:
            if n_proposed >= _PATIENCE * n:
                found.append(self._resampled(n - n_found, of_base, random))
                break
            base, noise = self._accepted(n_next, of_base, random)
            found.append((base, noise))
            n_found += base.size
            n_proposed += n_next
            rate = (n_found + 1) / n_proposed
            n_next = int(min((n - n_found) / rate + 16, 2**17))
        base = np.concatenate([pair[0] for pair in found])[:n]
        return base, np.concatenate([pair[1] for pair in found])[:n]

    def _accepted(self, n, of_base, random):
        # sorted numbers are found much faster
        base = first_above(of_base, np.sort(random.random(n)) * of_base[-1])
        noise = np.empty((n, self.size))
        for k in range(self.size):
            low, high = self.limits(noise, k, base)
            if k:
                kept = random.random(base.size) < normal_mass(low, high)
                base, noise, low, high = base[kept], noise[kept], low[kept], high[kept]
            noise[:, k] = truncated_normal(low, high, random)
        order = random.permutation(base.size)  # some may be left over
        return base[order], noise[order]

    def weights(self, base, random):
        """Noise of the limited columns inside, and the probability that it would be accepted."""
        noise = np.empty((base.size, self.size))
        weight = np.ones(base.size)
        for k in range(self.size):
            low, high = self.limits(noise, k, base)
            if k:
                weight *= normal_mass(low, high)
            noise[:, k] = truncated_normal(low, high, random)
        return noise, weight

    def _resampled(self, n, of_base, random):
        base = first_above(of_base, random.random(20 * n) * of_base[-1])
        noise, weight = self.weights(base, random)
        if not weight.any():  # too small for a float: any is as good
            weight[:] = 1.0
        cumulated = np.cumsum(weight)
        chosen = first_above(cumulated, random.random(n) * cumulated[-1])
        return base[chosen], noise[chosen]
