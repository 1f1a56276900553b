"""Points of large sums: the search, against every cell."""

from itertools import pairwise

import numpy as np
import pytest
from coded_trees import all_cells, leaf_of, random_trees
from hypothesis import given
from hypothesis import strategies as st

from ensemble_simplify.grid import JointSearch, limits


def random_case(seed, n_forms=2):
    """Trees whose leaves are numbered over all of them, forms, and the forms' sums in each cell."""
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(1, 5, size=rng.integers(1, 5)))
    trees = random_trees(seed, int(rng.integers(1, 6)), [n - 1 for n in shape])
    offsets = np.concatenate([[0], np.cumsum([len(tree) for tree in trees])]).astype(np.intp)
    nodes = np.concatenate(trees)
    leaf = nodes[:, 0] < 0
    nodes[leaf, 1] = np.arange(leaf.sum())
    # few values: many sums are as large as what is needed, exactly
    forms = rng.integers(-2, 3, size=(leaf.sum(), n_forms)).astype(float)
    start = rng.integers(-1, 2, size=n_forms).astype(float)
    cells = np.array(all_cells([0] * len(shape), [n - 1 for n in shape]), dtype=np.int32)
    leaves = np.array(
        [
            [nodes[begin + leaf_of(nodes[begin:end], cell), 1] for cell in cells]
            for begin, end in pairwise(offsets)
        ]
    )
    return (
        rng,
        shape,
        nodes,
        offsets,
        forms,
        start,
        cells,
        leaves,
        start + forms[leaves].sum(axis=0),
    )


def inside_box(cells, lo, hi):
    return ((lo <= cells) & (cells <= hi)).all(axis=1)


class Judge:
    """Lets one cell count, or none, and notes what it was asked."""

    def __init__(self, cell=None):
        self.cell, self.seen = cell, []

    def __call__(self, cells):
        self.seen += map(tuple, cells.tolist())
        if self.cell is None:
            return np.zeros(len(cells), dtype=bool)
        return (cells == self.cell).all(axis=1)


@given(st.integers(0, 10**6), st.integers(1, 3))
def test_found_cells_are_those_of_enumeration(seed, n_forms):
    rng, shape, nodes, offsets, forms, start, cells, leaves, sums = random_case(seed, n_forms)
    search = JointSearch(shape, nodes, offsets)
    for _ in range(2):
        need = rng.integers(-2, 4, size=n_forms).astype(float)
        lo = np.array([rng.integers(n) for n in shape], dtype=np.int32)
        hi = np.array([rng.integers(a, n) for a, n in zip(lo, shape, strict=True)], dtype=np.int32)
        out_lo = np.array([[rng.integers(n) for n in shape] for _ in range(2)], dtype=np.int32)
        out_hi = np.minimum(out_lo + 1, np.array(shape, dtype=np.int32) - 1)
        counts = inside_box(cells, lo, hi)
        for first, last in zip(out_lo, out_hi, strict=True):
            counts &= ~inside_box(cells, first, last)
        wanted = counts & (sums >= need).all(axis=1)
        options = dict(box=(lo, hi), outside=(out_lo, out_hi))
        found = search.find(forms, start, need, n_points=10**6, **options)
        assert search.stopped is None
        place = {tuple(cell): i for i, cell in enumerate(cells.tolist())}
        at = [place[tuple(cell)] for cell in found.tolist()]
        assert wanted[at].all()
        # a cell stands for all that end in its leaves
        known = {leaves[:, i].tobytes() for i in at}
        assert all(leaves[:, i].tobytes() in known for i in np.flatnonzero(wanted))
        # what was closed falls short by no less than is said
        short = (sums - need).min(axis=1)[counts & ~wanted]
        if short.size:
            assert short.max() <= search.highest < 0
        # a judge that refuses all sees all
        nobody = Judge()
        assert not len(search.find(forms, start, need, judge=nobody, **options))
        assert sorted(nobody.seen) == sorted(map(tuple, found.tolist()))
        if len(found):
            last = search.find(forms, start, need, judge=Judge(found[-1]), **options)
            np.testing.assert_array_equal(last, found[-1:])
            first = search.find(forms, start, need, box=(lo, hi), outside=(out_lo, out_hi))
            assert len(first) == 1
            assert wanted[place[tuple(first[0].tolist())]]


def test_limits_and_what_a_judge_raises():
    rng = np.random.default_rng(0)
    n = 18
    # any half of the axes: too many boxes to look at all
    nodes = np.tile(np.array([[0, 0, 3], [-1, 0, 1], [-1, 0, 1]], dtype=np.int32), (n, 1))
    nodes[::3, 0] = np.arange(n)
    nodes[nodes[:, 0] < 0, 1] = np.arange(2 * n)
    offsets = np.arange(0, 3 * n + 1, 3, dtype=np.intp)
    forms = np.ascontiguousarray(np.tile([[1.0, -1.0], [-1.0, 1.0]], (n, 1)))
    forms += 1e-3 * rng.random(forms.shape)
    search = JointSearch([2] * n, nodes, offsets)
    tight = np.zeros(2), np.zeros(2)
    assert not len(search.find(forms, np.full(2, -0.5), tight[1], max_boxes=100))
    assert search.stopped == "boxes"
    assert search.n_boxes == 100
    with limits(-1):
        search.find(forms, np.full(2, -0.5), tight[1])
    assert search.stopped == "time"

    def broken(cells):
        raise RuntimeError("the judge is out")

    with pytest.raises(RuntimeError, match="the judge is out"):
        search.find(forms, *tight, judge=broken)
    with pytest.raises(ValueError, match="2 forms"):
        search.find(forms, np.zeros(1), np.zeros(2))


@pytest.mark.parametrize("n_others", [1, 2, 3])
@given(seed=st.integers(0, 10**6))
def test_log_odds_of_two_points(n_others, seed):
    """Each cell stands for two points: a probability at the one, and at the other."""
    _, shape, nodes, offsets, numbers, start, cells, leaves, sums = random_case(seed, 2 * n_others)
    one, two = numbers[:, :n_others], numbers[:, n_others:]
    first, second = start[:n_others], start[n_others:]
    forms = np.ascontiguousarray(np.hstack([one, -two, one - two]))
    rises = 1 / (1 + np.exp(-sums[:, :n_others]).sum(axis=1))
    rises -= 1 / (1 + np.exp(-sums[:, n_others:]).sum(axis=1))
    search = JointSearch(shape, nodes, offsets)
    asked = forms, np.concatenate([first, -second, first - second])
    for bar in (0.0, 0.1, 0.5, rises.max() - 1e-9, rises.max() + 1e-9):
        need = np.full(forms.shape[1], bar)
        found = search.find(*asked, need, are_odds=True)
        assert len(found) == (rises >= bar).any()
        if not len(found):
            # what was left out falls short by at least that
            assert rises.max() <= bar + search.highest + 1e-12
        judge = Judge()
        search.find(*asked, need, are_odds=True, judge=judge)
        seen = {tuple(leaves[:, (cells == cell).all(axis=1)].ravel()) for cell in judge.seen}
        assert seen >= {tuple(own) for own in leaves[:, rises >= bar].T}
    # log-odds beyond all exponentials
    huge = search.find(1e4 * forms, 1e4 * asked[1], np.full(forms.shape[1], 0.9), are_odds=True)
    limits = [np.where(part.min(axis=1) > 0, 1.0, 0.0) for part in np.split(sums, 2, axis=1)]
    unclear = (sums == 0).any(axis=1)
    assert len(huge) >= (limits[0] - limits[1] > 0.9)[~unclear].any()
