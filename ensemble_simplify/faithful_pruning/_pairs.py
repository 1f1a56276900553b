"""Trees without which two promised points cannot be told apart.

Take two points that the ensemble answers otherwise, and the trees whose votes are not the same at
both. Without these trees all sums of votes are the same at the two points, so one of them must be
kept, whatever the weights. Neighbouring cells on the line of a row mostly differ by one threshold,
that is by one tree: it is needed then. This takes one walk along the lines, and no linear program.
"""

from __future__ import annotations

import numpy as np

from ensemble_simplify.grid import FREE, Stopped

LABELS = 1 << 24  # Cells that one round looks at, at most.
PAIRS = 1 << 13  # Pairs of cells whose trees are compared in one round, at most.
COMPARED = 1 << 21  # Leaves that are compared at once.
ROUNDS = 3  # Rounds at most: each begins at the pairs of the one before.


def telling_trees(votes, lines, cells, n_rounds):
    """Sets of trees of which one must be kept each, none inside another.

    Lines of cells are walked, then those of the pairs found, `n_rounds` times in all: a pair of the
    n-th round differs from one of `cells` in at most n features.

    Returns
    -------
    bool array of shape (n_sets, n_trees)
        Those found in time.
    """
    n_trees = len(lines.trees)
    sets = np.empty((0, n_trees), dtype=bool)
    known = cells
    try:
        for _ in range(min(n_rounds, ROUNDS)):
            before, after = _pairs(lines, known)
            telling = differing(votes.forest.sums.value, lines.trees, before, after)
            n_needed = np.count_nonzero(sets.sum(axis=1) == 1)
            sets = minimal(np.concatenate([sets, telling]))
            # further rounds are for trees that are needed by themselves, which raise bounds most
            if not n_needed < np.count_nonzero(sets.sum(axis=1) == 1) < n_trees:
                break
            known = np.unique(before, axis=0)
    except Stopped:
        pass
    return sets


def least_price(sets, price):
    """A lower bound on the price of trees that meet all sets: those of sets that share no tree."""
    bound, met = 0.0, np.zeros(len(price), dtype=bool)
    for some in sets[np.argsort(sets.sum(axis=1), kind="stable")]:
        # a tree in two sets would meet both at one price
        if not met[some].any():
            bound += price[some].min()
            met |= some
    return float(bound)


def _pairs(lines, cells):
    """Neighbouring cells on the lines of some cells with other answers, spread over all cuts."""
    step = -(-len(cells) * lines.n_positions // LABELS)
    cells = np.ascontiguousarray(cells[:: max(step, 1)])
    row, position = [], []
    for batch, labels in lines.batches(cells):
        differ = (labels[:, 1:] != labels[:, :-1]) & (labels[:, 1:] != FREE)
        differ &= labels[:, :-1] != FREE
        # the last cell of a line and the first of the next
        differ[:, lines.first[1:-1] - 1] = False
        of_batch, at = np.nonzero(differ)
        row.append(of_batch + batch.start)
        position.append(at)
    row, position = np.concatenate(row), np.concatenate(position)
    # of each cut one pair first, then a second one, and so on
    order = np.argsort(position, kind="stable")
    begin = np.searchsorted(position[order], position[order], side="left")
    turn = np.arange(len(order)) - begin
    chosen = order[np.argsort(turn, kind="stable")[:PAIRS]]
    row, position = cells[row[chosen]], position[chosen]
    return lines.cells_at(row, position), lines.cells_at(row, position + 1)


def differing(value, trees, before, after):
    """Which trees vote otherwise at the second cell of each pair."""
    n_trees = len(trees)
    votes_differ = np.empty((len(before), n_trees), dtype=bool)
    step = max(1, COMPARED // n_trees)
    for i in range(0, len(before), step):
        one, other = (value[trees.leaves(cells[i : i + step])] for cells in (before, after))
        votes_differ[i : i + step] = (one != other).any(axis=2).T
    return votes_differ


def minimal(sets):
    """The sets that hold no other."""
    sets = np.unique(sets, axis=0)
    sets = sets[np.argsort(sets.sum(axis=1), kind="stable")]
    kept = sets[:0]
    while len(sets):
        kept = np.concatenate([kept, sets[:1]])
        sets = sets[~sets[:, sets[0]].all(axis=1)]
    return kept
