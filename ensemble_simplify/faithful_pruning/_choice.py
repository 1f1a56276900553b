"""Which trees are kept: the cheapest found so far, and how cheap any others can be.

What a promise asks of the trees' weights is not known here. Two searches build on this: one for
classes (`_weights`), one for numbers (`_closest`).
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from enum import Enum
from typing import Any

import numpy as np

from ensemble_simplify.faithful_pruning._pairs import least_price
from ensemble_simplify.grid import LinearProgram, Stopped


class Outcome(Enum):
    """How a search for weights ended, other than by the time limit, which raises `Stopped`."""

    KEPT = "there are weights that keep the whole promise"
    UNKEPT = "no weights of these trees keep it"
    ENOUGH = "known trees keep it, and no cheaper ones can"


class TreeChoice(ABC):
    """Trees that keep a promise at a low price.

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

    def __init__(self, price, usable, weights, rng, deadline, tell):
        self.price, self.usable, self.weights = price, usable, weights
        self.rng, self.deadline, self.tell = rng, deadline, tell
        self.bound = float(price[usable].min())
        self.sets = np.empty((0, len(price)), dtype=bool)

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
            solution = cover.solve(self.deadline - time.monotonic())
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
        sets = self.promise.telling_trees(self.deadline) & self.usable
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
