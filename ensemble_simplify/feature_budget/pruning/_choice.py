"""Choosing one pruning: at a price level, or within a budget, with what is proven about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ensemble_simplify.feature_budget.pruning._dantzig_wolfe import solve_dantzig_wolfe
from ensemble_simplify.feature_budget.pruning._fill import fill_step
from ensemble_simplify.feature_budget.pruning._lp_forms import solve_lp, solve_within_budget

# Differences below this share of a budget, or of all errors, are rounding: in sums of floats, and
# in what HiGHS answers.
ROUNDING = 1e-9
_SOLVER_ROUNDING = 1e-7


@dataclass(frozen=True, eq=False)
class Pruning:
    """One pruning of an ensemble."""

    keep: np.ndarray  # uint8, by node: 1 for each split that stays a split
    lam: float  # price level from which on it is optimal; within a step of the path its slope
    cost: float  # what rows pay on average when trees share
    error: float  # the mean error of the trees
    error_bound: float  # none within the budget (at a price level: of this cost) has a lower error
    is_budget_optimal: bool  # whether the error equals that bound
    is_optimal: bool  # whether none is better at the price level, or within the budget
    is_complete: bool  # False where time ran out
    step: tuple | None = None  # costs of the neighbours on the path, if a budget lies between them


class _PruningSearch:
    """What choosing on the path and by linear programs have in common.

    `shared`, `ties` and `fill` are as `sharing`, `ties` and `fill` of `FeatureBudgetPruner`,
    `rankings` are functions that answer those of
    `fill_step`. `progress` takes a line of text, `choose` takes prunings that fill a step and
    returns the number of the one to use.
    """

    is_complete: bool
    supports: Any
    _optimum: Callable
    _around: Callable

    def __init__(self, problem, *, shared, ties, fill, progress, choose=None, rankings=()):
        self.problem = problem
        self.shared = shared
        self.ties = ties
        self.fill = fill
        self.progress = progress
        self.choose = choose
        self.rankings = rankings

    def at_price(self, lam):
        """The pruning of lowest ``error + lam * cost``."""
        keep = self._optimum(lam)
        return self._judged(keep, lam, proven=self.is_complete)

    def within(self, budget):
        """The pruning of lowest error found within a budget."""
        low, high, lam, step = self._around(budget * (1 + ROUNDING))
        if high is None or step[1] >= budget * (1 - ROUNDING) or not self.shared:
            return self._judged(self._expanded(low), lam, budget=budget)
        bound, is_complete = -np.inf, True
        if self.fill != "vertex":
            self.progress(f"budget {budget:.6g} lies between two prunings: looking for others")
            rankings = [ranking() for ranking in self.rankings]
            low, *others = fill_step(self.problem, low, high, budget, rankings)
            if others and self.fill == "theta" and self.choose is not None:
                fillings = [low, *others]
                low = fillings[self.choose([self._expanded(chosen) for chosen in fillings])]
        if self.fill == "mip" and self.problem.has_costs:
            self.progress("integer programming")
            low, bound = solve_within_budget(self.problem, budget, low)
        keep = self._expanded(low)
        if self.fill == "mip":
            gap = self.problem.loss(keep) - bound
            is_complete = gap <= _SOLVER_ROUNDING * self.problem.error_scale
        return self._judged(
            keep,
            lam,
            budget=budget,
            bound=bound,
            proven=self.fill == "mip",
            step=step,
            is_complete=is_complete,
        )

    def _judged(
        self, keep, lam, *, budget=None, bound=-np.inf, proven=False, step=None, is_complete=True
    ):
        problem = self.problem
        cost, error = problem.cost(keep), problem.loss(keep)
        supports = np.asarray(self.supports)
        if self.shared:
            at = (cost if budget is None else budget) + problem.cost_error
            bound = max(bound, np.max(supports[:, 1] - supports[:, 0] * at))
        else:
            # The path is optimal for costs that no row pays: only its lowest error is a bound.
            bound = supports[0, 1]
        is_complete &= self.is_complete
        # The bound is a difference of sums: equal up to rounding.
        is_budget_optimal = bool(error - bound <= ROUNDING * problem.error_scale)
        return Pruning(
            keep=keep,
            lam=float(lam),
            cost=cost,
            error=error,
            error_bound=error if is_budget_optimal else float(min(bound, error)),
            is_budget_optimal=is_budget_optimal,
            is_optimal=is_complete and (proven or is_budget_optimal),
            is_complete=is_complete,
            step=step,
        )

    def _expanded(self, chosen):
        return self.problem.expand(chosen, self.ties)


class PathSearch(_PruningSearch):
    """Chooses on a `BudgetPath`."""

    def __init__(self, problem, path, **options):
        super().__init__(problem, **options)
        self.path = path
        self.supports = path.supports
        self.is_complete = bool(path.proven.all())

    def _optimum(self, lam):
        k = int(np.searchsorted(self.path.lams, lam, side="right")) - 1
        return self._expanded(self.path.chosen(k, self.ties))

    def on_path(self, k, budget):
        """Pruning `k` of the path, which is within the budget; -1: nothing is pruned."""
        if k < 0:
            return self._judged(self.problem.split.copy(), 0.0, budget=budget)
        keep = self._expanded(self.path.chosen(k, self.ties))
        return self._judged(keep, self.path.lams[k], budget=budget)

    def _around(self, budget):
        """The dearest pruning within the budget, the next dearer one, the lam between them.

        Last the costs of the dearer and of the cheaper one, None if all splits are affordable.
        """
        path = self.path
        k = int(np.argmax(path.costs <= budget))
        if k == 0:
            return path.chosen(0, self.ties), None, path.lams[0], None
        step = float(path.costs[k - 1]), float(path.costs[k])
        return path.chosen(k, self.ties), path.chosen(k - 1, self.ties), path.lams[k], step


class ProgramSearch(_PruningSearch):
    """Follows the path by linear programs, one a price level, only as far as needed."""

    def __init__(self, problem, solver, n_jobs, **options):
        super().__init__(problem, **options)
        self.solver = solver
        self.n_jobs = n_jobs
        self.is_complete = True
        self.free = self._with_ties(problem.closure.active.astype(bool))
        self.supports = [(0.0, problem.loss(problem.expand(self.free)))]

    def _optimum(self, lam):
        chosen = self.free if lam == 0 else self._solve(lam)
        if chosen is None:
            # Pruned to the roots: allowed at any price, and all that is known.
            return np.zeros_like(self.problem.split)
        return self._expanded(chosen)

    def _around(self, budget):
        """As for `PathSearch`: cuts at the slopes of chords close in on the budget."""
        problem = self.problem
        if self._is_within(self.free, budget):
            return self.free, None, 0.0, None
        high, low = self.free, self._with_ties(np.zeros(problem.closure.n_nodes, dtype=bool))
        while True:
            # At the slope of the chord, a pruning below it is optimal, or none is.
            lam = (self._loss(low) - self._loss(high)) / (self._cost(high) - self._cost(low))
            chosen = self._solve(lam)
            if chosen is None:
                break
            gained = self._loss(high) + lam * self._cost(high)
            gained -= self._loss(chosen) + lam * self._cost(chosen)
            if gained <= ROUNDING * problem.error_scale:
                break
            if self._is_within(chosen, budget):
                low = chosen
            else:
                high = chosen
        step = tuple(problem.cost(self._expanded(side)) for side in (high, low))
        return low, high, lam, step

    def _solve(self, lam):
        """Contracted nodes of the optimal pruning; None if time ran out before there was one."""
        self.progress(f"linear program at lam = {lam:.6g}")
        if self.solver == "dantzig_wolfe":
            options = {"shared": self.shared, "n_jobs": self.n_jobs, "progress": self.progress}
            keep, objective, bound, _ = solve_dantzig_wolfe(self.problem, lam, **options)
        else:
            form = "printed" if self.solver == "highs_printed" else "difference"
            keep, solution = solve_lp(self.problem, lam, form, shared=self.shared)
            objective, bound = solution.objective, solution.bound
        if keep is None:
            self.is_complete = False
            return None
        if objective - bound > _SOLVER_ROUNDING * self.problem.error_scale:
            self.is_complete = False
        self.supports.append((lam, bound))
        return self._with_ties(self.problem.chosen(keep))

    def _with_ties(self, chosen):
        """With splits that change neither error nor cost, if ties are kept."""
        if self.ties == "prune":
            return chosen
        closure = self.problem.closure if self.shared else self.problem.closure.unshared()
        return closure.extended(chosen.astype(np.int32) - 1) >= 0

    def _loss(self, chosen):
        return self.problem.loss(self.problem.expand(chosen))

    def _is_within(self, chosen, budget):
        return self.problem.cost(self.problem.expand(chosen)) <= budget

    def _cost(self, chosen):
        return self.problem.cost(self.problem.expand(chosen), shared=self.shared)
