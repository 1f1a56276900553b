"""Choosing one pruning: at a price level, or within a budget, with what is proven about it.

No price level leads to a budget that lies between two prunings of the path, and the best one is a
knapsack. Several families of prunings are cheap to search, each by the same parametric cut on a
part of the nodes:

- *shares*: every tree pays a share of its prices by itself;
- *features*: whole features are left out, the one that loses least for its price first;
- *trees*: whole trees are left out.

What a user would do by hand is among them: the first trees, and the features that gain most, or
that the ensemble itself ranks highest, as many as the budget allows. The best is filled up with
what its rows have paid for, and with what the rest of the budget buys.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ensemble_simplify.base import report
from ensemble_simplify.feature_budget.pruning._budget_path import nested_optima
from ensemble_simplify.feature_budget.pruning._closure_problem import (
    best_subtrees,
    gains_of_one_more,
)
from ensemble_simplify.feature_budget.pruning._programs import (
    solve_dantzig_wolfe,
    solve_lp,
    solve_within_budget,
)
from ensemble_simplify.grid import is_late

# Parts of a feature's price that every tree pays by itself, while the trees share the rest. They
# are tried in this order, each only if the one before helped.
_SOLO_SHARES = (0.05, 0.2, 0.01)
# Chosen once: a search asks for it in every trial.
_best_of_integers = best_subtrees["int64_t"]

# In problems with more arcs than this, wide steps are filled without shares, whose cuts would take
# longer than all else together, and small ones by shares alone.
_MANY_ARCS = 1e7

# The search ends where all that could still be gained is below this share of the step's gain, and
# the budget counts as spent where less than this share of it is left.
_ENOUGH = 0.03

# Only some features, or trees, fit into the budget unpruned. More of them are taken, and pruned
# until they fit: so many times the number of features,
_MORE_FEATURES = 1.3
# and so many times the number of trees.
_MORE_TREES = 2.0

# Exchanges of features: sets of features that are tried at most,
_MAX_TRIALS = 300
# the arcs of all their problems together,
_MAX_ARCS = 3e8
# and how many features are tried in the place of one.
_MAX_ADDED = 6

# Less than the sum of any gains.
_NEVER = -(1 << 60)

# Rounds in which what is left of the budget is spent, at most.
_MAX_FILLS = 3


def fill_step(problem, low, high, budget, rankings=()) -> list[np.ndarray]:
    """The best pruning found between two neighbours of the path, within a budget.

    `low` and `high`, bool of shape (n_contracted,), are the pruning within the budget and the next
    dearer one. `rankings` are orders in which features are taken while the budget allows, besides
    that of their gain. Returns the pruning of lowest error, then the best of each family.
    """
    search = _Filling(problem, low, high, budget)
    if not problem.has_costs:
        # What there is no time to state cannot be cut.
        search.try_top_features(search.by_gain(), "top features")
        search.try_first_trees()
        return [search.best]
    search.try_first_trees()
    for k, ranking in enumerate(rankings):
        search.try_top_features(ranking, f"ranking {k}")
    # A small step is filled soonest by cuts on its own nodes.
    is_small = 2 * np.count_nonzero(high & ~low) < np.count_nonzero(problem.closure.active)
    is_large = len(problem.closure.items) > _MANY_ARCS
    if is_small:
        search.try_shares(low, high)
    if not (is_small and is_large):
        search.try_features()
        search.try_trees()
    if not (is_small or is_large):
        search.try_shares(low, high)
    search.fill_up()
    return [search.best, *(chosen for _, chosen in search.families.values())]


def usable_nodes(parent, gain, feature, allowed, within):
    """The smallest set of largest gain that tests allowed features only, as a mask.

    Also what each of its nodes gains with what is below it. Parents come before their children.
    """
    # What is not allowed is worth less than anything below it could make up for.
    worth = np.where(within & allowed.take(feature), gain, _NEVER)
    chosen, value = np.empty(len(gain), dtype=np.uint8), np.empty_like(worth)
    _best_of_integers(parent, worth, chosen, value)
    return chosen.view(bool), value


class _Filling:
    """The best pruning found so far, and ways to find better ones; parameters as `fill_step`."""

    def __init__(self, problem, low, high, budget):
        self.problem = problem
        self.closure = problem.closure
        self.tested = self.closure.parent, self.closure.gain, problem.top_feature
        self.within = self.closure.active
        self.active = self.within.astype(bool)
        self.budget = budget * (1 + 1e-12)
        self.room = self.budget / problem.cost_unit
        self.best = low.copy()
        self.families = {}
        self.best_gain = int(self.closure.gain[low].sum())
        # No pruning within the budget gains more than the line between the two.
        cheap, dear = self.cost(low), self.cost(high)
        step = int(self.closure.gain[high].sum()) - self.best_gain
        way = (self.room - cheap) / (dear - cheap) if dear > cheap else 0.0
        little = max(_ENOUGH * step, _ENOUGH**2 * float(self.closure.gain[self.active].sum()))
        self.enough = self.best_gain + way * step - little

    def cost(self, chosen):
        """What a set of nodes pays, in units of the closure."""
        if self.problem.has_costs:
            return self.closure.cost(chosen)
        return self.problem.cost(self.problem.expand(chosen)) / self.problem.cost_unit

    @property
    def is_done(self) -> bool:
        """Whether little is left to gain, or no time."""
        return self.best_gain >= self.enough or is_late()

    def offer(self, chosen, family=None) -> None:
        """Take a set of nodes that the budget allows, if it is better."""
        if self.problem.cost_error and self.problem.cost_of(chosen) > self.budget:
            return
        gain = int(self.closure.gain[chosen].sum())
        if family is not None and gain > self.families.get(family, (0, None))[0]:
            self.families[family] = gain, chosen.copy()
        if gain > self.best_gain:
            self.best, self.best_gain = chosen.copy(), gain

    def prune(self, nodes, base=None, share=0.0, family=None) -> None:
        """Prune some nodes to the budget by a parametric cut, and offer what that leaves.

        `nodes` (bool) holds each with its parent, unless that is in `base`, which is kept anyway.
        Every tree pays `share` of its price by itself. `family` says whose best it may be.
        """
        if self.is_done or not nodes.any():
            return
        closure, room = self.closure, self.room
        paid = None
        if base is not None:
            # What the base has bought is free for all that is added.
            paid = closure.paid(base)
            room -= self.cost(base)
        some, _ = closure.part(nodes, paid)
        priced = some.partly_shared(share) if share else some
        last, edges, _ = nested_optima(priced, room=room, pays=some)
        costs = some.nested_costs(last, len(edges) + 1)
        fits = np.flatnonzero(costs <= room)
        chosen = np.zeros(closure.n_nodes, dtype=bool) if base is None else base.copy()
        chosen[np.flatnonzero(nodes)[last >= fits[0]]] = True
        self.offer(chosen, family)

    # Families of prunings.

    def try_shares(self, low, high) -> None:
        """Between the neighbours on the path, trees pay a share of their prices alone."""
        for share in _SOLO_SHARES:
            before = self.best_gain
            self.prune(high & ~low, low, share)
            if self.best_gain == before:
                break

    def try_features(self) -> None:
        """Leave out whole features."""
        problem = self.problem
        kept = np.ones(len(problem.resources), dtype=bool)
        sequence = [kept.copy()]
        while True:
            lost = self._lost(kept)
            dear = np.flatnonzero(kept & (lost > 0) & (problem.marginal_prices(kept) > 0))
            kept &= lost > 0
            if not dear.size or self.is_done:
                break
            ratio = lost[dear] / problem.marginal_prices(kept)[dear]
            # Some at once: each set of features is a walk through all nodes.
            n_out = max(1, len(dear) // 16)
            kept[dear[np.argsort(ratio, kind="stable")[:n_out]]] = False
            sequence.append(kept.copy())
        below = self._first_that_fits(sequence)
        self.try_top_features(self.by_gain(), "top features")
        kept = self._exchanged(sequence[below])
        # The best splits of a larger set can do better than a small set in full.
        wanted = _MORE_FEATURES * max(1, np.count_nonzero(kept))
        larger = [s for s in sequence[:below] if np.count_nonzero(s) >= wanted]
        if larger:
            self.prune(self._usable(larger[-1]))

    def _first_that_fits(self, sequence):
        """The first of smaller and smaller sets of features that the budget allows."""
        # Each set is a part of the one before, and so costs no more: halving finds it.
        below, above = len(sequence) - 1, -1
        while below - above > 1:
            middle = (below + above) // 2
            if self.cost(self._usable(sequence[middle])) <= self.room:
                below = middle
            else:
                above = middle
        return below

    def by_gain(self) -> np.ndarray:
        """Features by what they gain in all trees together, the most first."""
        gain = np.bincount(
            self.problem.top_feature[self.active],
            weights=self.closure.gain[self.active],
            minlength=len(self.problem.resources),
        )
        return np.argsort(-gain, kind="stable")

    def try_top_features(self, ranking, family) -> None:
        """The first features of a ranking, as many as the budget allows, and all that are free."""
        kept = self.problem.marginal_prices(np.zeros(len(ranking), dtype=bool)) == 0
        sequence = [kept]
        for k in ranking:
            sequence.append(sequence[-1].copy())
            sequence[-1][k] = True
        chosen = self._usable(sequence[::-1][self._first_that_fits(sequence[::-1])])
        if self.cost(chosen) <= self.room:
            self.offer(chosen, family)

    def _exchanged(self, kept):
        """Add features that fit into the budget, and exchange some for better ones."""
        chosen = self._usable(kept)
        if self.cost(chosen) > self.room:
            return kept
        self.trials = int(np.clip(_MAX_ARCS / max(1, len(self.closure.items)), 20, _MAX_TRIALS))
        kept, chosen = self._with_more(kept, chosen)
        gain = int(self.closure.gain[chosen].sum())
        self.offer(chosen)
        improved = True
        while improved and self.trials > 0 and not self.is_done:
            improved = False
            lost = self._lost(kept)
            marginal = self.problem.marginal_prices(kept)
            dear = np.flatnonzero(kept & (lost > 0) & (marginal > 0))
            for k in dear[np.argsort(lost[dear] / marginal[dear], kind="stable")]:
                trial = kept.copy()
                trial[k] = False
                trial, chosen = self._with_more(trial, self._usable(trial), but=k)
                its_gain = int(self.closure.gain[chosen].sum())
                if its_gain > gain:
                    kept, gain, improved = trial, its_gain, True
                    self.offer(chosen)
                    break
                if self.trials <= 0 or self.is_done:
                    break
        return kept

    def _with_more(self, kept, chosen, but=None):
        """Features added while the budget allows any, the one that gains most first."""
        won = np.empty(len(kept), dtype=np.int64)
        fits = True
        while fits and self.trials > 0:
            gains_of_one_more(*self.tested, kept.view(np.uint8), self.within, won)
            if but is not None:
                won[but] = 0
            fits = False
            able = np.flatnonzero(won > 0)
            for k in able[np.argsort(-won[able], kind="stable")][:_MAX_ADDED]:
                more = kept.copy()
                more[k] = True
                its_nodes = self._usable(more)
                self.trials -= 1
                fits = self.cost(its_nodes) <= self.room
                if fits:
                    kept, chosen = more, its_nodes
                    break
        return kept, chosen

    def _usable(self, kept):
        """Nodes that test these features only."""
        return usable_nodes(*self.tested, kept, self.active)[0]

    def _lost(self, kept):
        """What each of these features gains in the nodes that test no others."""
        chosen, value = usable_nodes(*self.tested, kept, self.active)
        feature = self.problem.top_feature[chosen]
        return np.bincount(feature, value[chosen], minlength=len(kept))

    def try_trees(self) -> None:
        """Leave out whole trees, those that gain least for what they pay first."""
        closure, active = self.closure, self.active
        tree = self.problem.top_tree
        n_trees = self.problem.n_trees
        gain = np.bincount(tree[active], weights=closure.gain[active], minlength=n_trees)
        paid = np.bincount(tree[active], weights=closure.solo[active], minlength=n_trees)
        order = np.argsort(-gain / np.maximum(paid, 1), kind="stable")
        below, place = self._try_order(order, "trees")
        n = int(np.ceil(_MORE_TREES * max(1, below)))
        if n < n_trees:
            self.prune(active & (place[tree] < n), family="pruned trees")

    def try_first_trees(self) -> None:
        """The first trees, as many as the budget allows."""
        self._try_order(np.arange(self.problem.n_trees), "first trees")

    def _try_order(self, order, family):
        """As many trees of an order as the budget allows; how many, and the place of each tree."""
        tree, n_trees = self.problem.top_tree, len(order)
        place = np.empty(n_trees, dtype=np.intp)
        place[order] = np.arange(n_trees)
        # More trees cost no less: halving finds the last that fits.
        below, above = 0, n_trees + 1
        while above - below > 1:
            middle = (below + above) // 2
            if self.cost(self.active & (place[tree] < middle)) <= self.room:
                below = middle
            else:
                above = middle
        self.offer(self.active & (place[tree] < below), family)
        return below, place

    def fill_up(self) -> None:
        """Spend what is left of the budget."""
        for _ in range(_MAX_FILLS):
            before = self.best_gain
            if self.cost(self.best) >= (1 - _ENOUGH) * self.room:
                break
            self.prune(self.active & ~self.best, self.best)
            if self.best_gain == before:
                break


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

    Parameters of the `FeatureBudgetPruner` count. `choose` takes prunings that fill a step and
    returns the number of the one to use; `rankings` are functions that answer those of `fill_step`.
    """

    is_complete: bool
    supports: Any
    _optimum: Callable
    _around: Callable

    def __init__(self, pruner, case, choose=None, rankings=()):
        self.problem, self.path = case.problem, case.path
        self.choose, self.rankings = choose, rankings
        self.shared, self.ties, self.fill = pruner.sharing == "ensemble", pruner.ties, pruner.fill
        self.solver, self.n_jobs = pruner.solver, pruner.n_jobs
        self.progress = partial(report, pruner)

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

    def __init__(self, *given):
        super().__init__(*given)
        self.supports = self.path.supports
        self.is_complete = bool(self.path.proven.all())

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

    def __init__(self, *given):
        super().__init__(*given)
        self.is_complete = True
        self.free = self._with_ties(self.problem.closure.active.astype(bool))
        self.supports = [(0.0, self._loss(self.free))]

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
