"""Synthetic rows from leaves that training rows share.

A forest of random trees is grown on the normal scores of all columns, such that rows that are alike
share a leaf. A row of the law is made from a base row and a random tree: each coordinate takes the
value of a row drawn from the base row's leaf, by weight and independently of the others. The law is
a mixture of products, one a leaf, so the probability of any region, and the draws inside it, are
exact. The predictor is not asked, and the idea is that of adversarial random forests (Watson,
Blesch, Kapar and Wright, 2023), without their rounds of real against synthetic rows.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.special import ndtri
from sklearn.tree import ExtraTreeRegressor

from ensemble_simplify.grid import in_threads
from ensemble_simplify.sampling.law import Law, first_above

# Trees, and the fewest rows of a leaf.
_TREES, _LEAST_ROWS = 30, 20

# Columns among which a split is chosen: half of them, but not more than so many, or their root.
_MOST_CANDIDATES = 8

# Columns whose scores a leaf is to make alike, at most: random ones of more.
_MOST_SCORED = 100


class LeafLaw(Law):
    """Each value from a training row that shares a leaf with the base row."""

    def __init__(self, X, weight, columns, *, keep_rows=0.0, seed=0, gaps=None, n_jobs=None):
        super().__init__(X, weight, columns, smearing=1.0, keep_rows=keep_rows, gaps=gaps)
        self.members = columns.coordinates
        trees = np.arange(_TREES)
        leaves = self._leaves(seed, n_jobs)
        order = np.argsort(leaves, axis=0, kind="stable")
        # places at which the rows of another leaf begin, tree by tree
        by_leaf = np.take_along_axis(leaves, order, axis=0)
        begins = np.ones(leaves.shape, dtype=bool)
        begins[1:] = by_leaf[1:] != by_leaf[:-1]
        # cells are the leaves of all trees; rows of a cell stand one after the other
        self.row = order.T.ravel()
        self.ends = np.append(np.flatnonzero(begins.T.ravel()), begins.size)
        self.cell_of = np.empty(leaves.shape, dtype=np.intp)
        self.cell_of[order, trees] = np.cumsum(begins.T.ravel()).reshape(leaves.T.shape).T - 1
        self.upto = self._cumulated(weight)

    def _leaves(self, seed, n_jobs):
        """The leaf of each row in each tree."""
        scores = _scores(self.X, self.weight)
        random = np.random.default_rng([seed, 11])
        n_columns = scores.shape[1]
        some = np.sort(random.permutation(n_columns)[:_MOST_SCORED])
        grown = partial(
            ExtraTreeRegressor,
            min_samples_leaf=_LEAST_ROWS,
            max_features=min((n_columns + 1) // 2, max(_MOST_CANDIDATES, int(n_columns**0.5))),
        )
        # the trees of scikit-learn's ExtraTreesRegressor, in threads that the other laws share
        most = np.iinfo(np.int32).max
        seeds = np.random.RandomState(int(random.integers(most))).randint(most, size=_TREES)
        rows = scores.astype(np.float32)

        def leaves(tree):
            return tree.fit(rows, scores[:, some]).apply(rows)

        trees = [grown(random_state=seed) for seed in seeds.tolist()]
        return np.column_stack(in_threads(n_jobs, [partial(leaves, tree) for tree in trees]))

    def _cumulated(self, of_rows) -> np.ndarray:
        """A number of each row, summed over the rows of all cells up to each place."""
        return np.concatenate([[0.0], np.cumsum(of_rows[self.row])])

    def _masses(self, cumulated):
        """The sum over the rows of each cell."""
        return np.diff(cumulated[self.ends])

    def _limits(self, limits, allowed):
        """For each coordinate, the weights of rows inside, cumulated; None: it is not limited."""
        for i in range(self.nominal.size):
            inside = None
            if self.nominal[i]:
                its_levels = allowed[self.allowed_start[i] : self.allowed_start[i + 1]]
                if not its_levels.all():
                    inside = its_levels[self.level[i]].astype(bool)
            elif np.isfinite(limits[i]).any():
                x = self.X[:, self.members[i][0]].astype(np.float32)
                inside = (x > limits[i, 0]) & (x <= limits[i, 1])
            yield None if inside is None else self._cumulated(self.weight * inside)

    def _shares(self, limits):
        """The part of each cell's draws that falls into a region."""
        shares = np.ones(self.ends.size - 1)
        whole = self._masses(self.upto)
        for upto in limits:
            if upto is not None:
                shares *= self._masses(upto) / whole
        return shares

    def _narrowed(self, region, i, limits, allowed):
        return self._shares(self._limits(limits, allowed))[self.cell_of].mean(axis=1)

    def manufacture(self, region, n, seed):
        random = np.random.default_rng(seed)
        limits = list(self._limits(region.limits, region.allowed))
        # by the leaf first: its base rows, times what of its draws falls inside
        of_base = self._masses(self._cumulated(self.weight * (region.q > 0.0)))
        chance = np.cumsum(self._shares(limits) * of_base)
        # sorted, they find their places in memory much faster
        cell = first_above(chance, np.sort(random.random(n)) * chance[-1])
        X = np.empty((n, self.X.shape[1]))
        for columns, upto in zip(self.members, limits, strict=True):
            upto = self.upto if upto is None else upto
            low, high = upto[self.ends[cell]], upto[self.ends[cell + 1]]
            drawn = low + random.random(n) * (high - low)
            # rounding must not lead to the next cell
            drawn = np.minimum(drawn, np.nextafter(high, -np.inf))
            source = self.row[first_above(upto[1:], drawn)]
            X[:, columns] = self.X[np.ix_(source, columns)]
        return X[random.permutation(n)]


def _scores(X, weight):
    """Normal scores of every column; equal values have equal ones."""
    scores = np.empty(X.shape)
    total = weight.sum()
    for j in range(X.shape[1]):
        level, place = np.unique(X[:, j].astype(np.float32), return_inverse=True)
        upto = np.cumsum(np.bincount(place, weight, level.size)) / total
        score = ndtri(np.clip(upto - 0.5 * np.diff(upto, prepend=0.0), 1e-9, 1.0 - 1e-9))[place]
        scores[:, j] = score / (score.std() or 1.0)
    return scores
