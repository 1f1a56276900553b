"""Values of leaves, refitted to all rows that end in them in part."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.parallel import Parallel, delayed

from ensemble_simplify.grid import carried, is_late

MOST_ROWS = 200_000  # of more, so many are drawn
ROWS_PER_PART = 65_536  # rows whose leaves are added up together
PRIOR_ROWS = 1.0  # rows that every leaf is taken to have seen besides, with its class shares
MAX_STEPS = 2000
TOLERANCE = 1e-9


def shares_of_leaves(router, X, leaves):
    """The fraction of each row in each leaf, as a sparse array."""
    row, node, fraction = router.leaves(X)
    shape = len(X), len(leaves)
    return csr_array((fraction, (row, np.searchsorted(leaves, node))), shape=shape)


def refit_leaves(tree, router, X, y, weight, n_jobs) -> tuple[np.ndarray | None, bool]:
    """Values of the leaves of a tree, by rows that `router` divides; None if time was out before.

    Besides, whether time was out before they had settled.
    """
    if len(X) > MOST_ROWS:
        drawn = np.random.default_rng(0).choice(len(X), MOST_ROWS, replace=False)
        drawn.sort()
        X, y, weight = X[drawn], y[drawn], weight[drawn]
    X, leaves = np.ascontiguousarray(X), tree.leaves

    def sums_of(start):
        if is_late():
            return None
        rows = slice(start, start + ROWS_PER_PART)
        member = shares_of_leaves(router, X[rows], leaves)
        labels = np.zeros((member.shape[0], tree.value.shape[1]))
        labels[np.arange(len(labels)), y[rows]] = weight[rows]
        # what least squares needs of the rows: products of fractions, and fractions of each class
        weighted = member.multiply(weight[rows, None]).tocsr()
        return weighted.T @ member, member.T @ labels

    # Slices of one size whatever n_jobs is, added in their order: the sums are then the same.
    all_sums = Parallel(n_jobs=n_jobs, require="sharedmem", return_as="generator")(
        delayed(carried(sums_of))(start) for start in range(0, len(X), ROWS_PER_PART)
    )
    gram, target = 0, 0
    for sums in all_sums:
        if sums is None:
            return None, True
        gram, target = sums[0] + gram, sums[1] + target
    return least_squares(gram, target, tree.value[leaves])


def least_squares(gram, target, shares) -> tuple[np.ndarray, bool]:
    """Least squares over values of leaves that are probabilities, drawn to the class shares.

    Minimises ``trace(V' G V) - 2 trace(V' T) + PRIOR_ROWS * |V - S|^2`` over matrices `V` whose
    rows lie in the simplex. Fractions of a row sum to one, so that `G` has no negative entries
    and the masses of the leaves as its row sums: the diagonal matrix of these masses less `G` is
    positive semidefinite, and a step of the projected gradient scaled by it, row by row, never
    overshoots. Steps are accelerated as in FISTA and start afresh where they point uphill.

    `gram`, sparse of shape (n_leaves, n_leaves), holds the weighted products of the fractions of
    the rows in two leaves, summed; `target`, of shape (n_leaves, n_classes), the weighted fractions
    of the rows of each class. Returns the values, and whether time was out
    before they had settled.

    References
    ----------
    A. Beck and M. Teboulle, "A fast iterative shrinkage-thresholding algorithm for linear inverse
    problems", SIAM Journal on Imaging Sciences 2, 2009. https://doi.org/10.1137/080716542
    """
    scale = np.asarray(gram.sum(axis=1)).reshape(-1, 1) + PRIOR_ROWS
    target = target + PRIOR_ROWS * shares
    values = ahead = shares
    momentum = 1.0
    for _ in range(MAX_STEPS):
        if is_late():
            return values, True
        step = target - gram @ ahead - PRIOR_ROWS * ahead
        new = onto_simplex(ahead + step / scale)
        change = new - values
        if np.abs(new - ahead).max() <= TOLERANCE:
            return new, False
        # The step points uphill: momentum starts afresh.
        if np.sum(scale * (ahead - new) * change) > 0:
            momentum = 1.0
        following = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
        ahead = new + (momentum - 1) / following * change
        values, momentum = new, following
    return values, False


def onto_simplex(V) -> np.ndarray:
    """The nearest vectors of probabilities to the rows of a matrix."""
    # The largest entries less one excess, chosen so that they sum to one; the others are zero.
    ranked = -np.sort(-V, axis=1)
    excess = (np.cumsum(ranked, axis=1) - 1) / np.arange(1, V.shape[1] + 1)
    last = np.count_nonzero(ranked > excess, axis=1) - 1
    new = np.maximum(V - excess[np.arange(len(V)), last][:, None], 0.0)
    # sums are one but for rounding
    return new / new.sum(axis=1, keepdims=True)
