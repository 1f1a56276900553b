"""Which leaves of a tree answer, and a test of that on rows that nothing was learned from.

Candidates are prunings of one large tree, each the best for some price of a wrong answer. They are
made, ordered and started from by rows that the tree has learned and by synthetic rows. Calibration
rows come in only when they test one candidate after the other until one fails: a fixed sequence,
which holds its full level whatever the order is. (A second sequence that shares the level helped
on some tables and cost on others.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

from ensemble_simplify.base import binomial_interval

# Prices of a wrong answer, in units of one over the limit.
_PRICES = np.geomspace(0.05, 20.0, 30)
# A rate of synthetic rows counts as much as so many rows that the tree has learned.
_PRIOR_ROWS = 10.0


@dataclass(frozen=True, eq=False)
class Counts:
    """What is known of each node of the large tree.

    Attributes
    ----------
    share, rate : ndarrays of shape (n_nodes,)
        Share of the rows, and of wrong answers among them, as far as learned rows and synthetic
        ones tell.
    n, wrong : ndarrays of shape (n_groups, n_nodes)
        Calibration rows, and those answered wrongly, of each group.
    occurs : ndarray of bool, shape (n_groups, n_nodes)
        Whether rows of a group may be at a node, also where no calibration row is.
    proven : ndarray of bool, shape (n_nodes,)
        Nodes at which no answer is wrong: they answer in any case.
    """

    share: np.ndarray
    rate: np.ndarray
    n: np.ndarray
    wrong: np.ndarray
    occurs: np.ndarray
    proven: np.ndarray


def expected(n_learned, wrong_learned, n_drawn, wrong_drawn):
    """Share and rate of each node from learned and synthetic rows, the latter as a prior.

    Of a large tree, nearly all leaves are pure on rows that were learned: their rates are too low
    by far, and only the order of the nodes comes from them.
    """
    prior = (wrong_drawn + wrong_drawn[0] / n_drawn[0]) / (n_drawn + 1.0)
    rate = (wrong_learned + _PRIOR_ROWS * prior) / (n_learned + _PRIOR_ROWS)
    share = (n_learned + 0.5 * n_drawn / n_drawn[0]) / (n_learned[0] + 0.5)
    return share, rate


def upper_bound(wrong, n, confidence):
    """Clopper and Pearson's one-sided bound of a rate; 1 where nothing is known."""
    return binomial_interval(wrong, n, 2.0 * confidence - 1.0)[1]


def certified(left, right, counts, most, limit, confidence):
    """The leaves of a pruning of the large tree, and which of them answer.

    Parameters
    ----------
    left, right : arrays of shape (n_nodes,)
        Children of each node, in pre-order; -1 at leaves.
    counts : Counts
    most : int
        Leaves of the pruning, at most.
    limit, confidence : float

    Returns
    -------
    leaves : ndarray of intp
        Nodes of the large tree that are leaves of the pruning, in their order.
    answers : ndarray of bool
        Which of them answer.
    n_tried : int
        Candidates that there were.
    """
    found = _candidates(left, right, counts, most, limit)
    chosen, most_rows = None, 0.0
    level = 1.0 - confidence
    for leaves, answers in found[_start(found, counts, limit, level) :]:
        answering = leaves[answers]
        if _p_value(counts, answering, limit) > level:
            break
        n_rows = counts.n[:, answering].sum()
        if n_rows > most_rows:
            chosen, most_rows = (leaves, answers), n_rows
    if chosen is None:
        # what would have been tested is shown, and nothing answers
        leaves = found[0][0] if found else np.zeros(1, dtype=np.intp)
        chosen = leaves, np.zeros(len(leaves), dtype=bool)
    leaves, answers = chosen
    # rows that are never answered wrongly can only lower a share of wrong answers
    return leaves, answers | counts.proven[leaves], len(found)


def _p_value(counts, nodes, limit):
    """The largest over the groups: all of them have to pass."""
    asked = counts.occurs[:, nodes].any(axis=1)
    n = counts.n[:, nodes].sum(axis=1)[asked]
    wrong = counts.wrong[:, nodes].sum(axis=1)[asked]
    # nothing is known of a group without a row
    return float(binom.cdf(wrong, n, limit).max()) if n.size and (n > 0).all() else 1.0


def _candidates(left, right, counts, most, limit):
    """Prunings, each best at some price, from those that answer fewest rows."""
    found = {}
    for price in _PRICES / limit:
        gain = np.maximum(counts.share * (1.0 + price * (limit - counts.rate)), 0.0)
        leaves = _best_pruning(left, right, gain, most)
        answers = gain[leaves] > 0
        if answers.any():
            found.setdefault(tuple(leaves[answers]), (leaves, answers))
    return sorted(found.values(), key=lambda own: round(counts.share[own[0][own[1]]].sum(), 12))


def _start(found, counts, limit, level):
    """The candidate with the largest share times the chance to pass, as far as is expected."""
    n_rows, best, start = counts.n[:, 0].sum(), 0.0, 0
    for k, (leaves, answers) in enumerate(found):
        nodes = leaves[answers]
        share = counts.share[nodes].sum()
        rate = min(float(counts.share[nodes] @ counts.rate[nodes] / share), 1.0)
        n = round(min(share, 1.0) * n_rows)
        # as many wrong answers as may be
        allowed = int(binom.ppf(level, n, limit)) if n else -1
        while allowed >= 0 and binom.cdf(allowed, n, limit) > level:
            allowed -= 1
        worth = share * binom.cdf(allowed, n, rate) if allowed >= 0 else 0.0
        if worth > best + 1e-9:
            best, start = worth, k
    return start


def _best_pruning(left, right, gain, most):
    """Leaves of the pruning of at most so many leaves whose gains sum to the most."""
    best = [None] * len(left)  # of each node: sums by number of leaves, and leaves of the left side
    for node in range(len(left) - 1, -1, -1):
        if left[node] < 0:
            best[node] = np.array([gain[node]]), np.zeros(1, dtype=np.intp)
            continue
        one, other = best[left[node]][0], best[right[node]][0]
        size = min(most, len(one) + len(other))
        sums, of_left = np.full(size, -np.inf), np.zeros(size, dtype=np.intp)
        sums[0] = gain[node]
        for i in range(min(len(one), size - 1)):
            n = min(len(other), size - 1 - i)
            both, part = one[i] + other[:n], slice(i + 1, i + 1 + n)
            better = both > sums[part] + 1e-12
            sums[part] = np.where(better, both, sums[part])
            of_left[part] = np.where(better, i + 1, of_left[part])
        best[node] = sums, of_left
    sums = best[0][0]
    leaves, stack = [], [(0, int(np.argmax(sums >= sums.max() - 1e-12)) + 1)]
    while stack:
        node, n = stack.pop()
        if n == 1:
            leaves.append(node)
            continue
        n_left = int(best[node][1][n - 1])
        stack += [(int(right[node]), n - n_left), (int(left[node]), n_left)]
    return np.array(leaves, dtype=np.intp)
