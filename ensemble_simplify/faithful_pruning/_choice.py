"""Which trees are kept: the cheapest found so far, and how cheap any others can be.

What a promise asks of the trees' weights is not known here. Two searches build on this: one for
classes (`_weights`), one for numbers (`_closest`). Both state what is asked so far as a linear
program of least weighted sum, and put weights of few trees to the promise, which asks for more.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress
from enum import Enum
from typing import Any

import numpy as np

from ensemble_simplify.faithful_pruning._pairs import least_price
from ensemble_simplify.faithful_pruning._programs import LazyProgram
from ensemble_simplify.grid import LinearProgram, Stopped, time_left

NO_WEIGHT = 1e-7  # Below this share of the largest weight, a weight counts as none.
SOFT = 1e-2  # Softening of the reweighting, as a share of the largest weight.


class Outcome(Enum):
    """How a search for weights ended, other than by the time limit, which raises `Stopped`."""

    KEPT = "there are weights that keep the whole promise"
    UNKEPT = "no weights of these trees keep it"
    ENOUGH = "known trees keep it, and no cheaper ones can"


class TreeChoice(ABC):
    """Trees that keep a promise at a low price. Methods raise `Stopped` where time is over.

    Attributes
    ----------
    price : float array of shape (n_trees,)
        Whole numbers.
    usable : bool array of shape (n_trees,)
        Trees that may be chosen.
    weights : float array
        One for each tree first; those of the cheapest trees so far that keep the promise.
    bound : float
        No trees that keep it cost less.
    sets : bool array of shape (n_sets, n_trees)
        Of each of these sets of trees, one must be kept.
    """

    promise: Any
    # what is asked so far, of weights of least cost
    program: LazyProgram

    def __init__(self, price, usable, weights, rng, tell):
        self.price, self.usable, self.weights = price, usable, weights
        self.rng, self.tell = rng, tell
        self.bound = float(price[usable].min())
        self.sets = np.empty((0, len(price)), dtype=bool)

    @abstractmethod
    def _costs(self, price):
        """Costs of the columns of `program`, for those of the trees."""

    @abstractmethod
    def _upper(self, allowed):
        """Upper limits of these columns, where only some trees are allowed."""

    @abstractmethod
    def _weights(self, x):
        """Weights, for a solution of `program`."""

    @abstractmethod
    def _sparse(self, weights, allowed):
        """Weights of fewer allowed trees that meet what is asked so far; None: there are none."""

    @abstractmethod
    def _try(self, allowed):
        """Outcome of a search among some trees, and weights for them."""

    @abstractmethod
    def _is_ruled_out(self, chosen):
        """Whether some trees are known not to keep the promise."""

    @abstractmethod
    def _clause(self, chosen):
        """Trees of which one must be added to some that cannot keep the promise, as 0 and 1.

        None where these are not known to fail.
        """

    @property
    def cost(self):
        """Price of the trees found so far."""
        return self.cost_of(self.weights)

    @property
    def is_optimal(self):
        """Whether no cheaper trees keep the promise."""
        return self.cost <= self.bound

    def kept(self, weights):
        """The trees that have a weight, as a bool array."""
        return weights[: len(self.price)] != 0

    def cost_of(self, weights):
        """Price of the trees that have a weight."""
        return float(self.price[self.kept(weights)].sum())

    def _better(self, weights):
        if self.cost_of(weights) < self.cost:
            self.weights = weights
            self.tell(f"{np.count_nonzero(self.kept(weights))} trees keep the promise")

    # ------------------------------------------------------------------ weights for some trees

    def _solve(self, cost, allowed):
        """Weights of least cost that meet what is asked so far, or None."""
        self.program.set_upper(self._upper(allowed))
        self.program.set_cost(self._costs(cost))
        solution = self.program.solve()
        return self._weights(solution.x) if solution.status == "optimal" else None

    def _reweighted(self, weights):
        """Costs that make small weights dear, so that the next program has fewer."""
        size = np.abs(weights[: len(self.price)])
        return self.price / (size / (size.max() or 1.0) + SOFT)

    def _keep_few(self, cost, allowed):
        """Outcome, and weights of few trees, at some cost of each, that keep the whole promise."""
        failed = np.zeros(len(self.price), dtype=bool)
        weights = self._solve(cost, allowed)
        while weights is not None:
            weights = self._sparse(weights, allowed)
            chosen = failed if weights is None else self._chosen(weights)
            if not (chosen & ~failed).any():
                # no weights, or those of trees that are known not to do
                break
            outcome, kept = self._try(chosen)
            if outcome is not Outcome.UNKEPT:
                return outcome, kept
            failed = chosen
            weights = self._solve(self._reweighted(weights), allowed)
        return Outcome.UNKEPT, None

    def _chosen(self, weights):
        """The trees that are put to the promise where a program answers these weights."""
        return self.kept(weights)

    def _cheapest(self, allowed):
        return np.flatnonzero(allowed)[np.argmin(self.price[allowed])]

    def _try_again(self, allowed):
        """Take weights of some trees if they keep the promise, which was found to ask for more."""
        with suppress(Stopped):
            outcome, weights = self._try(allowed)
            if outcome is Outcome.KEPT:
                self.weights = weights

    # ------------------------------------------------------------------ how few can be enough

    def prove(self, max_rounds):
        """Raise `bound`, and find the cheapest trees, by covering; at most so many trees are tried.

        Trees that cannot keep the promise, whatever their weights, say so by a mixture of demands;
        one of the trees that change it must be there. The cheapest trees that satisfy all these
        clauses are a lower bound, and tried next.
        """
        clauses = [self.usable.astype(float)]
        if max_rounds and not self.is_optimal:
            self._find_needed()
        clauses += list(self.sets.astype(float))
        if max_rounds and not self.is_optimal:
            clauses += self._more_clauses()
        for _ in range(max_rounds):
            if self.is_optimal:
                return
            cover = LinearProgram(
                self.price,
                np.array([*clauses, self.price]),
                row_lower=np.append(np.full(len(clauses), 1.0 - 1e-6), self.bound),
                upper=self.usable.astype(float),
                integer=True,
            )
            solution = cover.solve(time_left())
            if solution.status != "optimal":
                raise Stopped
            # prices are whole numbers
            self.bound = max(self.bound, float(np.ceil(solution.bound - 1e-6)))
            chosen = solution.x > 0.5
            clause = self._clause(chosen)
            if clause is None:
                # weights for them meet all demands so far: try them on the promise
                outcome, weights = self._try(chosen)
                if outcome is Outcome.KEPT:
                    self._better(weights)
                    continue
                clause = self._clause(chosen)
            if clause is None:
                return
            clauses.append(clause)

    def _more_clauses(self):
        """Further rows for the trees that are kept: sums of their entries of at least one."""
        return []

    def _find_telling(self):
        """Trees that tell two points of the promise apart, of which one must be kept, join `sets`.

        Only usable ones: trees that are the same but for rounding can differ where that decides.
        """
        sets = self.promise.telling_trees() & self.usable
        self._add_sets(sets[sets.any(axis=1)])
        self.tell(f"no less than {self.bound:g} by points that few trees tell apart")

    def _find_needed(self):
        """Trees of the present choice without which all others cannot do become `sets`."""
        alone = self.sets[self.sets.sum(axis=1) == 1].any(axis=0)
        for t in np.flatnonzero(self.kept(self.weights) & ~alone):
            others = self.usable.copy()
            others[t] = False
            if self._is_ruled_out(others):
                self._add_sets((~others & self.usable)[None])

    def _add_sets(self, sets):
        """Trees of which one must be kept, whatever the weights."""
        self.sets = np.concatenate([self.sets, sets])
        self.bound = max(self.bound, least_price(self.sets, self.price))


def without_specks(weights):
    """Weights with zeros for those that are next to nothing."""
    size = np.abs(weights)
    return np.where(size < NO_WEIGHT * size.max(), 0.0, weights)
