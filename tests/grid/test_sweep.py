"""The sweep over a sorted column, in every kernel that uses it, against trying all cuts."""

from itertools import pairwise

import numpy as np
import pytest
from ensemble_simplify.genesim.inducers._ism_growth import grow as grow_ism
from ensemble_simplify.genesim.inducers._statistics import best_cuts, quartile_groups
from ensemble_simplify.representer._best_split import best_split

from ensemble_simplify.feature_budget.growing import _grow as budget

N_CLASSES = 3
# Seeds from here on give mirrored columns.
N_PLAIN = 12
# Longer columns are sorted byte by byte.
SIZES = [2, 3, 5, 9, 260]
# Both zeros, neighbours among float32 numbers, the largest and the least.
SPECIAL = np.array(
    [-0.0, 0.0, 1.0, np.nextafter(np.float32(1), 2, dtype=np.float32), -2.5, 3e38, -3e38, 1e-45],
    dtype=np.float32,
)


def gini(masses):
    total = masses.sum()
    return total - (masses**2).sum() / total if total > 0 else 0.0


def entropy(masses):
    share = masses[masses > 0] / masses.sum()
    return -masses.sum() * (share * np.log2(share)).sum()


def pairs(masses):
    """Sum over pairs of different classes of the products of their masses."""
    return masses.sum() ** 2 - (masses**2).sum()


def mirrored(array):
    """The first half, and then back: every cut has a twin of the same gain, but for rounding."""
    half = len(array) // 2
    return np.concatenate([array[: len(array) - half], array[:half][::-1]])


def drawn(seed, size):
    """A column with ties, classes, and weights whose sums are exact; or a mirrored one."""
    rng = np.random.default_rng([seed, size])
    if seed >= N_PLAIN:
        y, weight = rng.integers(0, N_CLASSES, size), rng.random(size) + 0.01
        return np.arange(size, dtype=np.float32), mirrored(y).astype(np.intp), mirrored(weight)
    x = rng.choice(SPECIAL, size) if seed % 3 == 0 else rng.integers(-3, 4, size) / 2
    if seed % 3 == 1:
        x = rng.normal(size=size)
    y = rng.integers(0, N_CLASSES, size)
    weight = rng.integers(1, 8, size) / 4 if seed % 2 else np.ones(size)
    return x.astype(np.float32), y.astype(np.intp), weight


def first_best(x, masses, gain, n_least):
    """The lowest of the best cuts, as ``(gain, low, high)``; None if no cut is allowed.

    `masses` has a line a row, and `gain` takes the sums of all lines, and of those on both sides.
    """
    values = np.unique(x + np.float32(0))
    tried = []
    for low, high in pairwise(values):
        left = x <= low
        if min(left.sum(), (~left).sum()) >= n_least:
            sides = masses[left].sum(axis=0), masses[~left].sum(axis=0)
            tried.append((gain(masses.sum(axis=0), *sides), low, high))
    best = max((g for g, *_ in tried), default=None)
    # gains that are equal in exact arithmetic differ by some roundings
    return next((cut for cut in tried if cut[0] >= best - 1e-11 * (1 + abs(best))), None)


def one_hot(y, weight):
    return np.eye(N_CLASSES)[y] * weight[:, None]


def middle(low, high):
    return (float(low) + float(high)) / 2


CASES = [(seed, size) for seed in range(N_PLAIN + 6) for size in SIZES]


@pytest.mark.parametrize("criterion", [gini, entropy])
@pytest.mark.parametrize(("seed", "size"), CASES)
def test_best_cuts_of_classes(seed, size, criterion):
    x, y, weight = drawn(seed, size)
    gain, _, cut, n_cuts = best_cuts(
        x[:, None],
        y,
        np.arange(size),
        weight,
        np.array([0, size]),
        np.zeros((1, 1), dtype=np.intp),
        np.array([1e-6]),
        N_CLASSES,
        entropy=criterion is entropy,
    )
    wanted = first_best(
        x,
        one_hot(y, weight),
        lambda both, low, high: (criterion(both) - criterion(low) - criterion(high)) / both.sum(),
        1,
    )
    assert n_cuts[0, 0] == len(np.unique(x)) - 1
    if wanted is None:
        assert gain[0, 0] == -np.inf
        return
    assert gain[0, 0] == pytest.approx(wanted[0], abs=1e-12)
    assert wanted[1] <= cut[0, 0] < wanted[2]
    assert middle(*wanted[1:]) - cut[0, 0] < np.spacing(np.float32(abs(cut[0, 0])))
    assert cut[0, 0] == np.float32(cut[0, 0]) <= middle(*wanted[1:])


@pytest.mark.parametrize(("seed", "size"), CASES)
def test_weighted_quartiles(seed, size):
    x, _, weight = drawn(seed, size)
    groups = quartile_groups(x[:, None], np.arange(size), weight, np.array([0, size]))
    order = np.argsort(x, kind="stable")
    running = weight[order].cumsum()
    quartiles = [x[order][running >= part * weight.sum() - 1e-9][0] for part in (0.25, 0.5, 0.75)]
    np.testing.assert_array_equal(groups[:, 0], sum((x > q).astype(int) for q in quartiles))


@pytest.mark.parametrize("n_least", [0, 2])
@pytest.mark.parametrize(("seed", "size"), CASES)
def test_best_split_of_answers(seed, size, n_least):
    x, y, weight = drawn(seed, size)
    answers = one_hot(y, weight)
    base, members = x[:, None].astype(np.float64), np.arange(size)
    column, n_values, threshold, decrease = best_split(
        base,
        answers,
        np.zeros(1, np.uint8),
        base,
        members,
        n_least,
        np.empty(size),
        np.empty((0, 2)),
    )
    centred = np.column_stack([answers - answers.mean(axis=0), np.ones(size)])

    def drop(_, low, high):
        return sum((side[:-1] ** 2).sum() / side[-1] for side in (low, high)) / size

    wanted = first_best(x, centred, drop, n_least)
    if wanted is None or wanted[0] < 1e-12:
        assert column == -1 or decrease < 1e-12
        return
    assert (column, n_values) == (0, 0)
    # here no tolerance: between cuts of one gain, the last bit of a sum may choose
    left = x <= threshold
    assert decrease == pytest.approx(wanted[0], rel=1e-9)
    assert decrease == pytest.approx(
        drop(None, centred[left].sum(0), centred[~left].sum(0)), rel=1e-9
    )
    assert threshold == middle(x[left].max(), x[~left].min())


def grown(x, y, weight, kind, n_least, ledger):
    """Whether the budget's tree splits its root, and where."""
    size = len(x)
    left, right, feature = (np.empty(2 * size - 1, dtype=np.intp) for _ in range(3))
    threshold = np.empty(2 * size - 1)
    budget.grow(
        x[:, None],
        y,
        weight,
        N_CLASSES,
        np.ones(1),
        kind,
        0.0 if kind == budget.THRESHOLD_PAIRS else 2.0,
        1,
        n_least,
        ledger,
        left,
        right,
        feature,
        threshold,
    )
    return threshold[0] if feature[0] == 0 else None


@pytest.mark.parametrize("n_least", [1, 2])
@pytest.mark.parametrize("kind", ["THRESHOLD_PAIRS", "POWERS", "shared"])
@pytest.mark.parametrize(("seed", "size"), CASES)
def test_split_for_a_budget(seed, size, kind, n_least):
    x, y, weight = drawn(seed, size)
    if kind == "shared":
        free = np.array([[0, -1]], dtype=np.int32)
        ledger = budget.Ledger(np.zeros(1), free, np.zeros((size, 1), dtype=np.uint64), True)
        kind = "POWERS"

        def drop(both, low, high):
            return gini(both) - gini(low) - gini(high)

    else:
        ledger = None

        def drop(both, low, high):
            return pairs(both) - max(pairs(low), pairs(high))

    wanted = first_best(x, one_hot(y, weight), drop, n_least)
    threshold = grown(x, y, weight, getattr(budget, kind), n_least, ledger)
    if size < 2 * n_least or wanted is None or wanted[0] < 1e-9:
        assert threshold is None
    else:
        assert threshold == middle(*wanted[1:])


@pytest.mark.parametrize("n_least", [1, 2])
@pytest.mark.parametrize(("seed", "size"), CASES)
def test_test_of_soft_votes(seed, size, n_least):
    x, _, weight = drawn(seed, size)
    votes = np.random.default_rng(seed).dirichlet(np.ones(N_CLASSES), size) * weight[:, None]
    if seed >= N_PLAIN:
        votes = mirrored(votes)
    codes = 3 * np.unique(x, return_inverse=True)[1].astype(np.int32)
    nodes, *_ = grow_ism(
        codes[None], votes, max_depth=1, min_samples_split=2, min_samples_leaf=n_least
    )
    wanted = first_best(
        codes.astype(np.float32),
        votes,
        lambda both, low, high: entropy(both) - entropy(low) - entropy(high),
        n_least,
    )
    if wanted is None or len(np.unique(votes.argmax(axis=1))) == 1 or size < 2 * n_least:
        assert nodes[0, 0] == -1
    else:
        assert nodes[0, 0] == 0
        assert nodes[0, 1] == int(wanted[1]) + (int(wanted[2]) - int(wanted[1])) // 2
