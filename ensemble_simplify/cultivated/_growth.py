"""From rows to a tree: codes, the table of `k`, the kernel, the price of a leaf, refitted leaves.

Codes are ranks among the distinct values of a feature, or bins. They mean what they mean on
`grid.Axes` whose cut points are all observed values: ``x`` is at most the value numbered ``c`` if
and only if its code is at most ``c``. They are not computed there for three reasons. Here the axis
itself has to be found, and the sort that finds it yields the codes, while searching every value
again takes three times as long. Missing values need a code. And thresholds stay observed float64
values, without the float32 rounding that faithfulness to scikit-learn's trees asks of cut points.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import gen_even_slices

from ensemble_simplify.cultivated._module_tree import ModuleTree
from ensemble_simplify.cultivated._modules import grow
from ensemble_simplify.grid import is_late

MISSING_BIN = 65535
MAX_BINS = 65535  # codes 0..65534
VALUES_PER_PART = 2_000_000

# A tree of few leaves, grown best first, is looked for in ever larger trees: how much larger than
# asked for the first one is, and each further one.
FIRST, FINER = 2.0, 8.0
FINEST = 1e-5  # after this it is grown whole
MIN_WORK = 1_000_000  # rows times features; below this the whole tree is grown at once

CV_FOLDS = 5
CV_PRICES = 50  # most values that are compared
# Of a leaf, for equally large classes: divided by the square root of the rows.
PRICE = 0.005


class CodedRows(NamedTuple):
    """A training set in codes."""

    # (n_features, n_samples) int32, -1 where the value is missing; for bins uint16, `MISSING_BIN`
    codes: np.ndarray
    n_codes: np.ndarray  # intp (n_features,)
    values: np.ndarray  # (sum(n_codes),): distinct values of each feature, or the largest in a bin

    def decode(self, feature, code):
        """Values that codes of some features stand for."""
        first = np.concatenate([[0], np.cumsum(self.n_codes)])
        return self.values[first[feature] + code]


def encode(X, weight, max_bins):
    """Rank every value among the distinct values of its feature, as `CodedRows`.

    A feature with more than `max_bins` distinct values (None: no bins) is cut into that many bins
    of equal mass.
    """
    # Some columns at a time: many small ones are cheap together, large ones need memory.
    n_parts = min(X.shape[1], max(1, X.size // VALUES_PER_PART))
    coded = [
        _encode(np.ascontiguousarray(X[:, columns].T), weight, max_bins)
        for columns in gen_even_slices(X.shape[1], n_parts)
    ]
    return CodedRows(*(np.concatenate(arrays) for arrays in zip(*coded, strict=True)))


def _encode(columns, weight, max_bins):
    """`encode` for a few features, which are the rows of `columns`."""
    dtype, missing = (np.int32, -1) if max_bins is None else (np.uint16, MISSING_BIN)
    order = np.argsort(columns, axis=1)  # missing values last
    ranked = np.take_along_axis(columns, order, axis=1)
    first = np.empty(columns.shape, dtype=bool)  # of equal values
    first[:, 0] = ~np.isnan(ranked[:, 0])
    first[:, 1:] = ranked[:, 1:] > ranked[:, :-1]
    n_codes = np.count_nonzero(first, axis=1)
    values = np.split(ranked[first], np.cumsum(n_codes)[:-1])
    codes = np.empty(columns.shape, dtype=dtype)
    np.put_along_axis(codes, order, (np.cumsum(first, axis=1) - 1).astype(dtype), axis=1)
    for j in np.flatnonzero(n_codes > (np.inf if max_bins is None else max_bins)):
        values[j] = _bin_ends(ranked[j], weight[order[j]], max_bins)
        n_codes[j] = len(values[j])
        # the values are sorted already: bins are runs of them
        n_known = np.count_nonzero(~np.isnan(ranked[j]))
        last = np.searchsorted(ranked[j, :n_known], values[j], side="right")
        runs = np.repeat(np.arange(n_codes[j], dtype=dtype), np.diff(last, prepend=0))
        codes[j, order[j, :n_known]] = runs
    codes[np.isnan(columns)] = missing
    return codes, n_codes, np.concatenate(values)


def _bin_ends(ranked, weight, max_bins) -> np.ndarray:
    """Largest values of bins of about equal mass, for sorted values and their weights."""
    mass = np.cumsum(weight)[: np.count_nonzero(~np.isnan(ranked))]
    ends = np.searchsorted(mass, mass[-1] * np.arange(1, max_bins + 1) / max_bins)
    return np.unique(ranked[np.minimum(ends, len(mass) - 1)])


# -------------------------------------------------- growing


@dataclass(frozen=True, eq=False)
class Grower:
    """Grows trees by the parameters of `CultivatedForestClassifier`.

    `rules` are those that the kernel takes as they are; `k` is "sqrt", a number or a function.
    """

    n_classes: int
    k: str | float | Callable
    max_leaf_nodes: int | None
    histogram: bool
    max_bins: int | None
    rules: dict

    def tree(self, X, y, weight, least_price=0.0) -> tuple[ModuleTree, bool]:
        """The tree before pruning, and whether time was out before it was grown.

        Branches that do not pay where a leaf costs `least_price` may be missing.
        """
        max_bins = self.max_bins or int(min(max(8 * len(X) ** 0.5, 4096), MAX_BINS))
        codes = encode(X, weight, max_bins if self.histogram else None)
        k_mass, k_value = tabulate_k(self.k, weight.sum())

        def grown(least_impurity):
            tree = grow(
                None if self.histogram else codes.codes,
                codes.codes if self.histogram else None,
                codes.n_codes,
                y,
                weight,
                self.n_classes,
                k_mass=k_mass,
                k_value=k_value,
                # A branch saves no more than the impurity of its root. A little less, for rounding.
                min_impurity=least_impurity * weight.sum() * (1 - 1e-9),
                # a sorted list is quicker than a histogram of mostly empty bins
                list_below=max(2, int(codes.n_codes.mean()) // 2),
                **self.rules,
            )
            timed_out = tree.pop("timed_out")
            return ModuleTree.from_codes(tree, codes), timed_out

        if self.max_leaf_nodes is None:
            return grown(least_price)
        # Where nodes of little impurity stay leaves, the tree is found much sooner, and it is the
        # same if each of its modules saves more than such a node could.
        least = 1 / (FIRST * self.max_leaf_nodes) if X.size > MIN_WORK else 0.0
        while True:
            tree, timed_out = grown(least)
            tree = tree.best_first(self.max_leaf_nodes)
            is_same = tree.n_leaves == self.max_leaf_nodes and tree.least_decrease > least
            if is_same or timed_out or least == 0:
                return tree, timed_out
            # what is left to find saves at least as much as the last module that was taken
            is_full = tree.n_leaves == self.max_leaf_nodes and tree.least_decrease > FINEST
            finer = least / FINER if least > FINEST else 0.0
            least = tree.least_decrease * (1 - 1e-9) if is_full else finer


def tabulate_k(k, mass):
    """Table of k against the mass of a node; empty for the square root."""
    if isinstance(k, str):
        return np.empty(0), np.empty(0)
    if not callable(k):
        return np.array([mass]), np.array([float(k)])
    # A function of the user's cannot be called in the kernel: a table of it can.
    grid = np.union1d(np.linspace(0, mass, 2049)[1:], np.geomspace(1e-6 * mass, mass, 2049))
    table = np.array([float(k(m)) for m in grid])
    allowed = np.isfinite(table) & (table >= 0)
    if not allowed.all():
        bad = grid[~allowed][0]
        raise ValueError(
            f"k={k!r} gives {k(bad)} for a node of mass {bad:g}; it must give a "
            "finite number of observations, 0 or more."
        )
    return grid, table


def quarter_of_sqrt(mass):
    """The neighbourhoods of trees with few leaves."""
    return 0.25 * mass**0.5


# -------------------------------------------------- pruning


def price_of_a_leaf(y, weight):
    """The price that is taken for ``ccp_alpha="auto"``, in units of Gini impurity.

    Where a class is rare, there is less impurity that a leaf could save.
    """
    share = np.bincount(y, weight) / weight.sum()
    n_classes = np.count_nonzero(share)
    if n_classes < 2:
        return 0.0
    impurity = (1.0 - np.square(share).sum()) / (1.0 - 1.0 / n_classes)
    return float(PRICE / weight.sum() ** 0.5 * impurity**2)


def best_price(tree, grower, X, y, weight, random) -> float:
    """The price with the best accuracy on held-out folds; 0 if there is no time.

    Those of the whole `tree` are tried on trees that `grower` grows on the other folds.
    """
    prices = np.unique(tree.pruning_path()[1])
    # For each tree of the path a price at which it is best; the last one leaves only the root.
    prices = np.append(np.sqrt(prices[:-1] * prices[1:]), prices[-1])
    if len(prices) > CV_PRICES:
        prices = prices[np.linspace(0, len(prices) - 1, CV_PRICES).astype(int)]
    n_folds = min(CV_FOLDS, int(np.bincount(y).max()))
    if n_folds < 2:
        return 0.0
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=random)
    right = np.zeros(len(prices))
    with warnings.catch_warnings():
        # rare classes may be missing in a fold
        warnings.filterwarnings("ignore", message="The least populated class")
        splits = list(folds.split(X, y))
    for train, test in splits:
        of_fold, timed_out = grower.tree(X[train], y[train], weight[train])
        if timed_out or is_late():
            return 0.0
        rows = np.ascontiguousarray(X[test])
        for i, price in enumerate(prices):
            proba = np.zeros((len(test), grower.n_classes))
            of_fold.pruned(price).router(grower.rules["min_fraction"]).mean(rows, proba)
            right[i] += weight[test] @ (proba.argmax(axis=1) == y[test])
    # sums of weights that differ by rounding alone are equal
    return float(prices[np.flatnonzero(right >= right.max() * (1 - 1e-12))[-1]])


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


def refit_leaves(tree, router, X, y, weight) -> tuple[np.ndarray | None, bool]:
    """Values of the leaves of a tree, by rows that `router` divides; None if time was out before.

    Besides, whether time was out before they had settled.
    """
    if len(X) > MOST_ROWS:
        drawn = np.random.default_rng(0).choice(len(X), MOST_ROWS, replace=False)
        drawn.sort()
        X, y, weight = X[drawn], y[drawn], weight[drawn]
    X, leaves = np.ascontiguousarray(X), tree.leaves

    # What least squares needs of the rows: products of fractions, and fractions of each class.
    gram, target = 0, 0
    for start in range(0, len(X), ROWS_PER_PART):
        if is_late():
            return None, True
        rows = slice(start, start + ROWS_PER_PART)
        member = shares_of_leaves(router, X[rows], leaves)
        labels = np.zeros((member.shape[0], tree.value.shape[1]))
        labels[np.arange(len(labels)), y[rows]] = weight[rows]
        gram = member.multiply(weight[rows, None]).tocsr().T @ member + gram
        target = member.T @ labels + target
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
