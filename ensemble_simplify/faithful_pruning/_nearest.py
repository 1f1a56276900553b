"""Trees whose votes together are the nearest to those of all trees: greedy forward choice.

Trees that keep a promise by as few as can be are chosen by the points at which that is hard, and
follow the ensemble less elsewhere than trees chosen by their votes.
"""

from __future__ import annotations

import numpy as np

from ensemble_simplify.base import product


def nearest_first(votes, usable):
    """Trees in the order in which their mean votes come nearest to the mean of all.

    Parameters
    ----------
    votes : float array of shape (n_trees, n)
        What every tree says, at some points.
    usable : bool array of shape (n_trees,)
        Trees that may be chosen.

    Returns
    -------
    intp array of the usable trees
    """
    n_trees = len(votes)
    between = np.array([product(votes, one) for one in votes])
    target = between.mean(axis=1)
    own = np.diag(between)
    # products of the sum of those chosen with each tree, with itself, and with the mean of all
    with_each, square, with_target = np.zeros(n_trees), 0.0, 0.0
    left = usable.copy()
    order = []
    for n in range(1, np.count_nonzero(usable) + 1):
        far = (square + 2.0 * with_each + own) / n**2 - 2.0 * (with_target + target) / n
        scale = np.abs(far[left]).max() or 1.0
        # as near as rounding are equal
        far = np.where(left, np.round(far / scale, 9), np.inf)
        t = int(np.argmin(far))
        order.append(t)
        left[t] = False
        square += 2.0 * with_each[t] + own[t]
        with_target += target[t]
        with_each += between[t]
    return np.array(order, dtype=np.intp)
