"""Few trees, and weights for them, that keep a promise: cutting planes.

The weights of trees meet all demands found so far by a linear program of least weighted sum;
weighing small ones more the next time (reweighted l1, Candes, Wakin and Boyd) empties the
columns of most trees. Points of the promise at which the trees left answer otherwise become new
demands, until there are none. Then trees are left out one at a time, with all others' weights
found anew. `cover_bound` proves how few trees can be enough.
"""

from __future__ import annotations

import time

import numpy as np

from ensemble_simplify._cells import Stopped
from ensemble_simplify._lp import LinearProgram

# What every demand must lead by; sums round at some 1e-13 of it.
LEAD = 1.0
# Below this share of the largest weight, a weight counts as none.
NO_WEIGHT = 1e-7
# Softening of the reweighting, as a share of the largest weight.
SOFT = 1e-2
# Rounds of reweighting on the same demands.
REWEIGHTINGS = 6
# New demands a round.
BATCH = 300
# A lower bound is about weights that lead everywhere by at least this share of their sum, times
# the largest vote of a tree.
LEAST_SHARE = 1e-6


class Unkept(Exception):
    """No weights meet all demands."""


class Search:
    """Search for few trees that keep a promise.

    Parameters
    ----------
    promise : object
        With ``own`` demands to begin with, and ``worst(weights, n, rng, deadline)``.
    price : float64 array of shape (n_trees,)
        What each tree costs.
    rng : Generator
    deadline : float
        On the clock of ``time.monotonic()``.
    tell : callable
        Takes a line about the progress.

    Attributes
    ----------
    weights : float64 array of shape (n_trees,)
        The cheapest trees so far that keep the promise; at first all, with weight one.
    bound : float
        No trees that keep the promise cost less.
    """

    def __init__(self, promise, price, rng, deadline=np.inf, tell=lambda line: None):
        self.promise = promise
        self.price = price
        self.rng = rng
        self.deadline = deadline
        self.tell = tell
        n_trees = len(price)
        self.weights = np.ones(n_trees)
        self.bound = float(price.min())
        self.demands = np.empty((0, n_trees + 1))
        # at least one tree, whatever is demanded
        self.program = LinearProgram(price, np.ones((1, n_trees)), row_lower=1e-3)

    @property
    def cost(self):
        """Price of the trees found so far."""
        return self.cost_of(self.weights)

    @property
    def is_optimal(self):
        """Whether no cheaper trees keep the promise."""
        return self.cost <= self.bound

    def cost_of(self, weights):
        """Price of the trees with a positive weight."""
        return float(self.price[weights > 0].sum())

    def add(self, demands):
        """Ask for more."""
        if not len(demands):
            return
        self.demands = np.concatenate([self.demands, demands])
        self.program.add_rows(demands[:, :-1], lower=LEAD - demands[:, -1])

    # ------------------------------------------------------------------ weights for some trees

    def _solve(self, cost, allowed=None):
        """Weights of least cost that meet the demands found so far."""
        seconds = self._seconds()
        self.program.set_upper(np.inf if allowed is None else np.where(allowed, np.inf, 0.0))
        self.program.set_cost(cost)
        solution = self.program.solve(seconds)
        if solution.status == "time_limit":
            raise Stopped
        if solution.status != "optimal":
            raise Unkept
        weights = solution.x.copy()
        weights[weights < NO_WEIGHT * weights.max()] = 0.0
        return weights

    def _seconds(self):
        if not np.isfinite(self.deadline):
            return None
        seconds = self.deadline - time.monotonic()
        if seconds <= 0:
            raise Stopped
        return seconds

    def _sparse(self, weights, allowed=None):
        """Reweight until no more trees go, on the demands found so far."""
        cost = self.cost_of(weights)
        for _ in range(REWEIGHTINGS):
            found = self._solve(self.price / (weights / weights.max() + SOFT), allowed)
            if self.cost_of(found) >= cost:
                return found if self.cost_of(found) == cost else weights
            weights, cost = found, self.cost_of(found)
        return weights

    def _broken(self, weights):
        """Demands that weights do not meet, now asked for; how many points were broken."""
        demands, n_broken = self.promise.worst(weights, BATCH, self.rng, self.deadline)
        self.add(demands)
        return n_broken

    def _kept(self, weights, allowed=None, *, sparse=True):
        """Weights of trees, few if `sparse`, that keep the whole promise."""
        if sparse:
            weights = self._sparse(weights, allowed)
        while n_broken := self._broken(weights):
            found = self._solve(self.price / (weights / weights.max() + SOFT), allowed)
            weights = self._sparse(found, allowed) if sparse else found
            self.tell(
                f"{np.count_nonzero(weights)} trees for {len(self.demands)} demands; "
                f"{n_broken} points were broken"
            )
        return weights

    # ------------------------------------------------------------------ few trees

    def run(self, n_starts):
        """Search until nothing more is found.

        Parameters
        ----------
        n_starts : int
            How often to begin anew from other costs of trees.

        Raises
        ------
        Stopped
            When the time is up; `weights` are the best so far.
        """
        self.add(self.promise.own)
        try:
            weights = self._kept(self._solve(self.price))
        except Unkept:
            # ties that no weights tell apart: only the ensemble itself is known to keep them
            self.tell("no weights lead clearly at every point; the ensemble stays as it is")
            return
        self._better(self._fewer(weights))
        for _ in range(n_starts):
            if self.is_optimal:
                break
            cost = self.price * self.rng.exponential(size=len(self.price))
            self._better(self._fewer(self._kept(self._solve(cost))))

    def _better(self, weights):
        if self.cost_of(weights) < self.cost:
            self.weights = weights
            self.tell(f"{np.count_nonzero(weights)} trees keep the promise")

    def _fewer(self, weights):
        """Leave trees out one at a time, those of least weight for their price first."""
        self._better(weights)
        tried = np.zeros(len(weights), dtype=bool)
        while True:
            candidates = np.flatnonzero((weights > 0) & ~tried)
            if not candidates.size or len(np.flatnonzero(weights)) == 1:
                return weights
            t = candidates[np.argmin(weights[candidates] / self.price[candidates])]
            tried[t] = True
            allowed = weights > 0
            allowed[t] = False
            try:
                found = self._kept(self._solve(self.price, allowed), allowed, sparse=False)
                found = self._kept(found, found > 0)
            except Unkept:
                continue
            weights = found
            self._better(weights)

    def mend(self, demands):
        """Weights for the same trees that meet further demands as well; whether there are any."""
        self.add(demands)
        allowed = self.weights > 0
        try:
            self.weights = self._kept(self._solve(self.price, allowed), allowed, sparse=False)
        except Unkept:
            self.weights = np.ones(len(self.price))
            return False
        return True

    # ------------------------------------------------------------------ how few can be enough

    def prove(self, max_rounds):
        """Raise `bound`, and find the cheapest trees, by covering.

        Trees that cannot keep the promise, whatever their weights, say so by a mixture of
        demands in which none of them leads; one of the trees that do must be there. The cheapest
        trees that satisfy all these clauses are a lower bound, and tried next.

        Parameters
        ----------
        max_rounds : int
            Trees tried at most.

        Raises
        ------
        Stopped
            When the time is up.
        """
        n_trees = len(self.price)
        clauses = [np.ones(n_trees)]
        for _ in range(max_rounds):
            if self.is_optimal:
                return
            cover = LinearProgram(
                self.price,
                np.array(clauses),
                row_lower=1.0,
                upper=1.0,
                integer=True,
            )
            solution = cover.solve(self._seconds())
            if solution.status != "optimal":
                raise Stopped
            # prices are whole numbers
            self.bound = max(self.bound, float(np.ceil(solution.bound - 1e-6)))
            chosen = solution.x > 0.5
            clause = self._clause(chosen)
            while clause is None:
                # weights for them meet all demands so far: try them on the promise
                try:
                    weights = self._solve(self.price, chosen)
                    if not self._broken(weights):
                        self._better(weights)
                        break
                except Unkept:
                    break
                clause = self._clause(chosen)
            if clause is None:
                return
            clauses.append(clause)

    def _clause(self, chosen):
        """Trees of which one must be added to some that cannot keep the promise; else None."""
        columns = np.append(~chosen, False)
        n_demands = len(self.demands)
        others = np.flatnonzero(columns)
        # a mixture of demands: no chosen tree leads in it, others lead as little as can be
        A = np.zeros((len(self.price) + 2, n_demands + len(others)))
        demands = self.demands / np.abs(self.demands).max()
        A[:-1, :n_demands] = demands.T
        A[others, n_demands + np.arange(len(others))] = -1.0
        A[-1, :n_demands] = 1.0
        upper = np.zeros(len(A))
        lower = np.full(len(A), -np.inf)
        upper[-1] = lower[-1] = 1.0
        cost = np.concatenate([np.zeros(n_demands), np.ones(len(others))])
        program = LinearProgram(cost, A, row_lower=lower, row_upper=upper)
        solution = program.solve(self._seconds())
        if solution.status == "time_limit":
            raise Stopped
        if solution.status != "optimal":
            return None
        mixture = np.maximum(solution.x[:n_demands], 0.0)
        leads = mixture @ demands / mixture.sum()
        if (leads[~columns] > LEAST_SHARE).any():
            return None
        return (leads[:-1] > LEAST_SHARE).astype(float)
