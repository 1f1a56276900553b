"""The parametric cut against enumeration of every closed set, and linear programs."""

from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from ensemble_simplify.feature_budget.pruning._closure import solve_path
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

from ensemble_simplify.grid import limits


class Problem:
    """A small closure problem; ``parent`` < child."""

    def __init__(self, parent, gain, own, needs, price):
        self.parent = np.asarray(parent, dtype=np.int32)
        self.gain = np.asarray(gain, dtype=np.int64)
        self.own = np.asarray(own, dtype=np.int64)
        self.start = np.cumsum([0, *map(len, needs)]).astype(np.int64)
        self.items = np.array([w for need in needs for w in need], dtype=np.int32)
        self.price = np.asarray(price, dtype=np.int64)
        self.needs = needs
        self.n = len(parent)

    @property
    def arrays(self):
        return self.parent, self.gain, self.own, self.start, self.items, self.price

    def closed_sets(self):
        for bits in product((False, True), repeat=self.n):
            if all(q < 0 or bits[q] or not bits[v] for v, q in enumerate(self.parent)):
                yield np.array(bits, dtype=bool)

    def gain_cost(self, keep):
        """Exact gain and cost of a set, as Python integers."""
        items = {w for v in np.flatnonzero(keep) for w in self.needs[v]}
        gain = sum(int(self.gain[v]) for v in np.flatnonzero(keep))
        cost = sum(int(self.own[v]) for v in np.flatnonzero(keep))
        return gain, cost + sum(int(self.price[w]) for w in items)

    def cheapest_of_largest_gain(self):
        """The smallest set of largest gain: the optimum for lam -> 0+."""
        worth = self.gain.copy()
        for v in range(self.n - 1, -1, -1):
            if self.parent[v] >= 0:
                worth[self.parent[v]] += max(0, worth[v])
        keep = np.zeros(self.n, dtype=bool)
        for v in range(self.n):
            q = self.parent[v]
            keep[v] = worth[v] > 0 and (q < 0 or keep[q])
        return keep

    def path(self):
        active = self.cheapest_of_largest_gain()
        k = int(active.sum())
        edge = np.full(self.n, 7, dtype=np.int32)
        edges = np.zeros((k + 1, 3), dtype=np.int64)
        cuts = np.zeros((2 * k + 1, 4), dtype=np.int64)
        n_edges, n_cuts = solve_path(*self.arrays, active.astype(np.uint8), edge, edges, cuts)
        return edge, edges[:n_edges], cuts[:n_cuts]

    def best_value(self, lam):
        """The largest ``gain - lam * cost`` of a closed set, by linear programming."""
        has = np.flatnonzero(self.parent >= 0)
        node = np.repeat(np.arange(self.n), np.diff(self.start))
        smaller = np.concatenate([has, node])
        larger = np.concatenate([self.parent[has], self.n + self.items])
        row, ones = np.arange(len(smaller)), np.ones(len(smaller))
        A = sparse.csr_array(
            (np.concatenate([ones, -ones]), (np.tile(row, 2), np.concatenate([smaller, larger]))),
            shape=(len(smaller), self.n + len(self.price)),
        )
        cost = np.concatenate([lam * self.own - self.gain, lam * self.price])
        found = linprog(cost, A_ub=A, b_ub=np.zeros(len(smaller)), bounds=(0, 1))
        assert found.status == 0
        return -found.fun


def lower_hull(points):
    """Vertices of the upper-left hull of (cost, gain), from largest gain to cost 0, exactly."""
    best = {}
    for gain, cost in points:
        best[cost] = max(best.get(cost, gain), gain)
    hull = []
    for cost in sorted(best):
        gain = best[cost]
        if hull and gain <= hull[-1][1]:
            continue
        while len(hull) > 1:
            (c0, g0), (c1, g1) = hull[-2:]
            if Fraction(g1 - g0, c1 - c0) <= Fraction(gain - g0, cost - c0):
                hull.pop()
            else:
                break
        hull.append((cost, gain))
    return hull[::-1]


@st.composite
def problems(draw, max_nodes=9, big=False):
    n = draw(st.integers(1, max_nodes))
    m = draw(st.integers(0, 6))
    parent = [draw(st.integers(-1, v - 1)) for v in range(n)]
    size = 2**46 if big else 6
    gain = draw(st.lists(st.integers(-size // 2, size), min_size=n, max_size=n))
    own = draw(st.lists(st.integers(0, size // 3), min_size=n, max_size=n))
    price = draw(st.lists(st.integers(0 if not big else 1, size), min_size=m, max_size=m))
    needs = [
        draw(st.lists(st.integers(0, m - 1), unique=True, max_size=4)) if m else []
        for _ in range(n)
    ]
    return Problem(parent, gain, own, needs, price)


def check_path(problem, exact=True):
    edge, edges, cuts = problem.path()
    active = problem.cheapest_of_largest_gain()
    assert np.array_equal(edge >= 0, active)
    assert np.all(edges[:, 2] == 1)
    keep = active.copy()
    reached = [problem.gain_cost(keep)[::-1]]
    for k, (d_gain, d_cost, _) in enumerate(edges):
        keep &= edge != k
        gain, cost = problem.gain_cost(keep)
        assert reached[-1] == (cost + d_cost, gain + d_gain)
        if d_cost == 0:
            assert k == len(edges) - 1
        else:
            reached.append((cost, gain))
        for v in np.flatnonzero(keep):
            assert problem.parent[v] < 0 or keep[problem.parent[v]]
    slopes = [Fraction(int(g), int(c)) for g, c, _ in edges if c > 0]
    assert all(a < b for a, b in pairwise(slopes))
    assert len(cuts) <= 2 * max(1, len(edges))
    points = [problem.gain_cost(s) for s in problem.closed_sets()]
    if exact:
        assert reached == lower_hull(points)
    for d_gain, d_cost, gain, cost in cuts.tolist():
        assert gain * d_cost - cost * d_gain == max(g * d_cost - c * d_gain for g, c in points)


@settings(max_examples=300, deadline=None)
@given(problems())
def test_path_is_the_hull_of_all_closed_sets(problem):
    check_path(problem)


@settings(max_examples=60, deadline=None)
@given(problems(max_nodes=7, big=True))
def test_products_beyond_64_bits(problem):
    """Capacities are rounded here, but no edge may be wrong: slopes compare exactly."""
    edge, edges, _ = problem.path()
    keep = problem.cheapest_of_largest_gain()
    points = [problem.gain_cost(s) for s in problem.closed_sets()]
    hull = [gain for _, gain in lower_hull(points)]
    for k, (d_gain, d_cost, _) in enumerate(edges):
        if d_cost == 0:
            break
        gain, cost = problem.gain_cost(keep)
        lam = Fraction(int(d_gain), int(d_cost))
        best = max(g - lam * c for g, c in points)
        assert gain - lam * cost >= best - 2**-40 * (abs(best) + max(hull) + 1)
        keep &= edge != k


def random_problem(rng, n, m, need):
    parent = [int(rng.integers(-1, v)) if v % 7 else -1 for v in range(n)]
    needs = [rng.choice(m, size=int(rng.integers(0, need)), replace=False) for _ in range(n)]
    gain = rng.integers(0, 30, n)
    price = rng.integers(0, 12, m)
    return Problem(parent, gain, rng.integers(1, 5, n), needs, price)


@pytest.mark.parametrize("seed", range(5))
def test_path_equals_linear_programs_at_random_prices(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, 400, 900, 12)
    edge, edges, cuts = problem.path()
    assert len(edges) > 5
    assert len(cuts) <= 2 * len(edges)
    slopes = edges[:, 0] / edges[:, 1]
    assert np.all(np.diff(slopes) > 0)
    gains = problem.gain[edge >= 0].sum() - np.concatenate(([0], np.cumsum(edges[:, 0])))
    costs = edges[:, 1].sum() - np.concatenate(([0], np.cumsum(edges[:, 1])))
    for lam in rng.uniform(0, 1.2 * slopes[-1], 20):
        assert problem.best_value(lam) == pytest.approx(np.max(gains - lam * costs), rel=1e-9)


def test_out_of_time_leaves_an_unproven_chord():
    rng = np.random.default_rng(0)
    problem = random_problem(rng, 400, 900, 12)
    with limits(0.0):
        edge, edges, cuts = problem.path()
    _, full, _ = problem.path()
    assert 1 <= len(edges) < len(full)
    assert len(cuts) <= 1
    assert np.any(edges[:, 2] == 0)
    assert edges[:, 0].sum() == full[:, 0].sum()
    assert edges[:, 1].sum() == full[:, 1].sum()
    assert edge.max() == len(edges) - 1


def test_nothing_worth_keeping():
    edge, edges, cuts = Problem([-1, 0], [-1, -1], [0, 0], [[0], []], [3]).path()
    assert edge.tolist() == [-1, -1]
    assert len(edges) == len(cuts) == 0
