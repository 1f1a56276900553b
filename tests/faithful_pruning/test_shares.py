"""Largest shares of trees: against SciPy's linear programs, and the fewest trees of all choices."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import linprog

from ensemble_simplify.faithful_pruning._choice import Shares


def demands(seed, has_start):
    """Leads of seven trees, of which those of some weights are not negative."""
    rng = np.random.default_rng(seed)
    leads = rng.choice([-1.0, 0.0, 1.0], (90, 8))
    leads[:, -1] *= has_start
    keep = leads @ np.append(rng.uniform(0.5, 2.0, 7), 1.0) > 0
    return leads[keep], rng.integers(1, 5, 7).astype(float)


def feasible(leads, cost, chosen):
    """Least cost of the shares of chosen trees; nan if they cannot keep up."""
    columns = [*chosen, 7]
    result = linprog(
        np.append(cost[chosen], 0.0),
        A_ub=-leads[:, columns],
        b_ub=np.zeros(len(leads)),
        A_eq=[np.append(np.ones(len(chosen)), 0.0)],
        b_eq=[1.0],
    )
    return result.fun if result.success else np.nan


@pytest.mark.parametrize("has_start", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_bounds_are_those_of_programs_and_below_the_fewest(seed, has_start):
    leads, price = demands(seed, has_start)
    shares = Shares(leads, np.ones(7, dtype=bool))
    shares.tighten()
    everything = list(range(7))
    for t in everything:
        most = -feasible(leads, -np.eye(7)[t], everything)
        assert shares.largest[t] == pytest.approx(most, abs=1e-6)
    bound = shares.fewest(price)
    sizes = [
        price[list(chosen)].sum()
        for size in everything
        for chosen in combinations(everything, size + 1)
        if not np.isnan(feasible(leads, price, list(chosen)))
    ]
    assert price[shares.largest > 0].min() - 1e-6 <= bound <= min(sizes) + 1e-6


@pytest.mark.parametrize("seed", range(3))
def test_many_demands_are_looked_at_as_they_are_broken(seed):
    rng = np.random.default_rng(seed)
    leads = rng.normal(size=(600, 20))
    weights = rng.uniform(0.5, 2.0, 20)
    weights[1:3] = 0.0
    # no tree makes up for what the second one lacks in the last demand
    leads = np.vstack([leads[leads @ weights > 0.0], -np.eye(20)[1]])
    usable = np.arange(20) != 2
    shares = Shares(np.column_stack([leads, np.zeros(len(leads))]), usable)
    shares.tighten()
    assert shares.largest[1] == shares.largest[2] == 0.0
    for t in np.flatnonzero(usable):
        most = linprog(
            -np.eye(20)[t],
            A_ub=-leads,
            b_ub=np.zeros(len(leads)),
            A_eq=np.ones((1, 20)),
            b_eq=[1.0],
            bounds=[(0.0, float(one)) for one in usable],
        )
        assert shares.largest[t] == pytest.approx(-most.fun, abs=1e-6)
