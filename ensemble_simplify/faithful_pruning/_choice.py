"""Which trees are kept: the cheapest found so far, and how cheap any others can be.

What a promise asks of the trees' weights is not known here. Two searches build on this: one for
classes (`_weights`), one for numbers (`_closest`). Both state what is asked so far as a linear
program of least weighted sum, and put weights of few trees to the promise, which asks for more.

Simplex steps cost by the number of rows. Of some thousand demands on a hundred weights, a few
hundred are ever tight, so `LazyProgram` gives HiGHS only those that its solutions break.
`Shares` tells how few trees can be enough. Weights that keep a promise can be divided by their sum:
shares. A linear program says how large the share of a tree can be, whatever the others are; trees
that can have a tenth of all weight at most are at least ten. The least sum of each share divided by
its largest value is a sharper bound, for a tree counts as one where this quotient is at most one.
Nothing depends on how exactly programs are solved: bounds are found anew from the multipliers of
the demands, and any will do.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from typing import Any

import numpy as np

from ensemble_simplify.base import product
from ensemble_simplify.faithful_pruning._fit import least_lead
from ensemble_simplify.faithful_pruning._promise import least_price
from ensemble_simplify.grid import LinearProgram, Stopped, check_time, time_left

NO_WEIGHT = 1e-7  # Below this share of the largest weight, a weight counts as none.
SOFT = 1e-2  # Softening of the reweighting, as a share of the largest weight.
REWEIGHTINGS = 6  # Rounds of reweighting on the same demands, at most.
FIRST = 50  # Rows that HiGHS gets at first.
MORE = 30  # Broken rows that it gets at a time, at most.
STEPS = 2000  # Simplex steps for the largest share of a tree, at most: any number is a bound.
BROKEN = 1e-8  # A row that HiGHS does not have counts as broken from here on.
ROUNDING = 1e-9  # Leads of shares that are zero but for rounding.
# Up to so many trees, each number has its ensemble; above, numbers fall by this factor.
EACH, FALL = 24, 0.9
# Programs that are solved from the last basis, for each tree or each that is kept, if they are at
# most so many for every choice of trees that is tried for the lower bound: it takes about as long.
PROGRAMS = 10
FITS = 2  # Fits for each number of trees, each followed by a count of all exceptions.


def solved(program):
    """The solution of a program, or `Stopped` where time is over first."""
    solution = program.solve(time_left())
    if solution.status == "time_limit":
        raise Stopped
    return solution


class LazyProgram:
    """Minimise a cost over columns that are not negative; rows are passed on when they are broken.

    The arguments are those of the `LinearProgram` to begin with, whose rows are always in it.
    """

    def __init__(self, cost, A, **bounds):
        self.program = LinearProgram(cost, A, **bounds)
        n_columns = self.program.n_columns
        self.n_always = self.program.n_rows
        self.rows = np.empty((0, n_columns))
        self.lower, self.upper = np.empty(0), np.empty(0)
        self.is_passed = np.empty(0, dtype=bool)
        # numbers of the rows that were passed on, in the order of the program
        self.passed = np.empty(0, dtype=np.intp)
        self.set_cost, self.set_upper = self.program.set_cost, self.program.set_upper

    def add_rows(self, rows, *, lower, upper=np.inf):
        """Add rows; equalities, and some others if there are none yet, are passed on at once."""
        begin = len(self.rows)
        self.rows = np.concatenate([self.rows, rows])
        self.lower = np.append(self.lower, np.broadcast_to(lower, len(rows)))
        self.upper = np.append(self.upper, np.broadcast_to(upper, len(rows)))
        self.is_passed = np.append(self.is_passed, np.zeros(len(rows), dtype=bool))
        at_once = self.lower[begin:] == self.upper[begin:]
        if not begin:
            at_once[np.argsort(rows.sum(axis=1), kind="stable")[:FIRST]] = True
        self._pass_on(begin + np.flatnonzero(at_once))

    def _pass_on(self, new):
        if len(new):
            self.program.add_rows(self.rows[new], lower=self.lower[new], upper=self.upper[new])
            self.is_passed[new] = True
            self.passed = np.append(self.passed, new)

    def solve(self):
        """Solve with all rows, or raise `Stopped`. Its `row_dual` is of rows passed on."""
        while True:
            solution = solved(self.program)
            if solution.status != "optimal":
                return solution
            value = product(self.rows, solution.x)
            short = np.maximum(self.lower - value, value - self.upper)
            broken = np.flatnonzero((short > BROKEN) & ~self.is_passed)
            if not broken.size:
                return solution
            # as near as rounding are equal
            self._pass_on(broken[np.argsort(-np.round(short[broken], 9), kind="stable")[:MORE]])

    def multipliers(self, solution):
        """Multipliers of all rows that were added; zero for those that HiGHS never got."""
        of_rows = np.zeros(len(self.rows))
        of_rows[self.passed] = solution.row_dual[self.n_always :]
        return of_rows


class Shares:
    """Shares of trees in all weight that fall behind in none of some demands.

    The last column of `leads` is what is there without trees, whose factor is not negative. Trees
    that are not usable have no share; no tree's is above its `largest`. Methods raise `Stopped`.
    """

    def __init__(self, leads, usable):
        # where all answer one class, nothing leads
        self.leads = leads / (np.abs(leads).max(initial=0.0) or 1.0)
        self.usable = usable
        self.largest = usable.astype(float)

    def tighten(self):
        """Find the largest share of every tree.

        A mixture of demands in which no tree leads by over 1, and one tree by ``lead < 0``, limits
        its share to ``1 / (1 - lead)``: the others' leads must make up for it.
        """
        used = np.append(np.flatnonzero(self.usable), len(self.usable))
        # what is there without trees has no limit to its factor, so it may not lead at all
        limits = np.append(np.ones(len(used) - 1), 0.0)
        leads = self.leads[:, used]
        passed = np.argsort(leads.sum(axis=1), kind="stable")[:FIRST]
        for t in range(len(used) - 1):
            check_time()
            broken = passed
            while broken.size:
                table = np.column_stack([leads[passed].T, limits])
                mixture, shares = least_lead(np.ascontiguousarray(table), t, STEPS)
                value = product(leads, shares)
                broken = np.setdiff1d(np.flatnonzero(value < -BROKEN * shares.sum()), passed)
                broken = broken[np.argsort(np.round(value[broken], 9), kind="stable")[:MORE]]
                passed = np.append(passed, broken)
            self._limit(product(mixture, self.leads[passed]))

    def _limit(self, lead):
        """Limit the shares of all trees that fall back in a mixture of demands."""
        most = max(float(lead[:-1][self.usable].max()), 0.0)
        if lead[-1] <= ROUNDING:
            back = self.usable & (lead[:-1] < -ROUNDING)
            most_of = most / (most - lead[:-1][back])
            self.largest[back] = np.minimum(self.largest[back], most_of)

    def fewest(self, price):
        """A lower bound on the price of all trees with a share."""
        can = self.largest > 0
        cost = np.divide(price, self.largest, out=np.zeros(len(price)), where=can)
        one = np.append(np.ones(len(price)), 0.0)[None]
        program = LazyProgram(
            np.append(cost, 0.0),
            one,
            row_lower=1.0,
            row_upper=1.0,
            upper=np.append(self.largest, np.inf),
        )
        program.add_rows(self.leads, lower=0.0)
        solution = program.solve()
        if solution.status != "optimal":
            return -np.inf
        multipliers = np.maximum(program.multipliers(solution), 0.0)
        # Leads are not negative, so cost - multipliers @ leads bounds the cost from below. That
        # bound is least where the cheapest trees have their largest shares.
        mixture = product(multipliers, self.leads)
        if mixture[-1] > ROUNDING:
            # the votes without trees lower this bound, and their factor has no upper limit
            return -np.inf
        cost -= mixture[:-1]
        order = np.flatnonzero(self.usable & can)
        order = order[np.argsort(cost[order], kind="stable")]
        before = np.cumsum(self.largest[order]) - self.largest[order]
        share = np.clip(1.0 - before, 0.0, self.largest[order])
        return float(product(cost[order], share))


class Outcome(Enum):
    """How a search for weights ended, other than by the time limit, which raises `Stopped`."""

    KEPT = "there are weights that keep the whole promise"
    UNKEPT = "no weights of these trees keep it"
    ENOUGH = "known trees keep it, and no cheaper ones can"


class TreeChoice:
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
    # the share of trees that are left out at once, at first; 0: one
    first_out = 0.0
    # single trees that are needed, one after the other, before none is tried any more: a share of
    # those that are kept, of which so many at least; infinite: all are tried
    patience, least_patience = 0.25, 16
    # what is asked so far, of weights of least cost
    program: LazyProgram
    # costs of its columns for those of the trees, their upper limits where only some trees are
    # allowed, and weights for a solution
    _costs: Callable
    _upper: Callable
    _weights: Callable
    # whether the first search came to its end
    is_done: bool
    # outcome of a search among some trees, and weights for them
    _try: Callable
    # which of some trees are enough for what is asked so far, or None if even all of them are not;
    # and trees of which one must be added to these then, as 0 and 1, or None
    _enough_of: Callable
    _clause: Callable
    # by how much each tree with some weight moves what is answered
    _influence: Callable

    def __init__(self, price, usable, weights, rng, tell):
        self.price, self.usable, self.weights = price, usable, weights
        self.rng, self.tell = rng, tell
        self.bound = float(price[usable].min())
        self.sets = np.empty((0, len(price)), dtype=bool)

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
            chosen = self._chosen(weights)
            if not (chosen & ~failed).any():
                # those of trees that are known not to do
                break
            outcome, kept = self._try(chosen)
            if outcome is not Outcome.UNKEPT:
                return outcome, kept
            failed = chosen
            weights = self._solve(self._reweighted(weights), allowed)
        return Outcome.UNKEPT, None

    def _sparse(self, weights, allowed):
        """Reweight until no more trees go, on the demands found so far."""
        for _ in range(REWEIGHTINGS):
            sparser = self._solve(self._reweighted(weights), allowed)
            if sparser is None or self.cost_of(sparser) >= self.cost_of(weights):
                break
            weights = sparser
        return weights

    def again(self, n_starts):
        """Search from other costs of trees."""
        for _ in range(n_starts):
            if self.is_optimal or not self.is_done:
                break
            outcome, weights = self._keep_at(
                self.price * self.rng.exponential(size=len(self.price))
            )
            if outcome is not Outcome.KEPT:
                break
            self._fewer(weights)

    def _keep_at(self, cost):
        """Outcome, and weights of few trees, at some cost of each."""
        return self._keep_few(cost, self.usable)

    def _chosen(self, weights):
        """The trees that are put to the promise where a program answers these weights."""
        return self.kept(weights)

    def _most_influential(self, weights, n_trees):
        """Which of the trees that have a weight are the first so many by their influence."""
        allowed = np.zeros(len(self.price), dtype=bool)
        allowed[np.argsort(-self._influence(weights), kind="stable")[:n_trees]] = True
        return allowed & self.kept(weights)

    def _fewer(self, weights):
        """Leave trees out, those of the lowest rank first, and return weights of the others.

        A share of them, `first_out`, is tried at once; of those that cannot go together, half, and
        in the end one at a time, which says that a tree is needed.
        """
        self._better(weights)
        tried, rank = np.zeros(len(self.price), dtype=bool), self._rank(weights)
        n_out = max(int(self.first_out * np.count_nonzero(self.kept(weights))), 1)
        n_needed = 0
        while not self.is_optimal:
            allowed = self.kept(weights)
            # by rank, each tree is likelier to be needed than the ones before
            if n_needed >= max(self.patience * np.count_nonzero(allowed), self.least_patience):
                break
            candidates = np.flatnonzero(allowed & ~tried)
            n_out = min(n_out, len(candidates), np.count_nonzero(allowed) - 1)
            if n_out < 1:
                break
            out = candidates[np.argsort(rank[candidates], kind="stable")[:n_out]]
            allowed[out] = False
            outcome, fewer = Outcome.UNKEPT, None
            # without any of a set of telling trees, two points could not be told apart
            if self.sets[:, allowed].any(axis=1).all():
                outcome, fewer = self._without(allowed)
            if outcome is Outcome.KEPT:
                weights, rank = fewer, self._rank(fewer)
                self._better(weights)
                n_needed = 0
            elif n_out == 1:
                tried[out] = True
                n_needed += 1
            else:
                n_out //= 2
        return weights

    def _rank(self, weights):
        """Which trees that have a weight are left out first: those of the lowest numbers."""
        return self._influence(weights) / self.price

    def _without(self, allowed):
        """Outcome, and weights, of the trees that are left."""
        return self._try(allowed)

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
        clauses are a lower bound, and tried next. Where a clause rules out so few choices of as
        many trees that the rounds left cannot rule out all, the bound has nothing more to gain.
        """
        n_programs, clauses = PROGRAMS * max_rounds, [self.usable.astype(float)]
        if np.count_nonzero(self.kept(self.weights)) <= n_programs and not self.is_optimal:
            self._find_needed()
        clauses += list(self.sets.astype(float))
        if np.count_nonzero(self.usable) <= n_programs and not self.is_optimal:
            clauses += self._more_clauses()
        for n_left in range(max_rounds, 0, -1):
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
            # the share of all choices of so many trees that the clause rules out
            if clause is None or n_left * self._ruled_out(clause, chosen) < 1.0:
                return
            clauses.append(clause)

    def _ruled_out(self, clause, chosen):
        return (1.0 - clause.sum() / self.usable.sum()) ** chosen.sum()

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
        unknown, n_out = self.kept(self.weights) & ~alone, 1
        while unknown.any():
            # a program for each tree takes long: many are left out at once, as long as none of
            # them is needed
            out = np.flatnonzero(unknown)[:n_out]
            others = self.usable.copy()
            others[out] = False
            enough = self._enough_of(others)
            if enough is not None:
                unknown &= enough & others
                n_out = 2 * n_out
            elif len(out) > 1:
                n_out = len(out) // 2
            else:
                self._add_sets((~others & self.usable)[None])
                unknown[out] = False

    def _add_sets(self, sets):
        """Trees of which one must be kept, whatever the weights."""
        self.sets = np.concatenate([self.sets, sets])
        self.bound = max(self.bound, least_price(self.sets, self.price))


def without_specks(weights):
    """Weights with zeros for those that are next to nothing."""
    size = np.abs(weights)
    return np.where(size < NO_WEIGHT * size.max(), 0.0, weights)


@dataclass(frozen=True, eq=False)
class Step:
    """Weights of some trees, and at how many promised points they answer otherwise.

    Of numbers, these are points that are too far off; beside it, what is added to the weighted sum,
    and the largest difference anywhere.
    """

    weights: np.ndarray
    n_exceptions: int
    offset: float = 0.0
    largest: float = np.nan


def descend(first, tries, n_all):
    """Ensembles of fewer and fewer of `n_all` trees, from the fewest to one that keeps the promise.

    Each is a tuple: how bad it is, its weights, and what else is known of it.

    Parameters
    ----------
    first : callable
        Answers the one that keeps the promise.
    tries : callable
        ``tries(weights, n_trees)`` yields ensembles of so many trees at most, fitted after weights
        of more. Of each number of trees, the best of the first few is taken.
    n_all : int

    Returns
    -------
    list of tuples
        None has as few trees as another that is no worse. Where time is over, the smallest are
        missing, or all.
    """
    steps, useful = [], []
    with suppress(Stopped):
        steps.append(first())
        while (n_trees := np.count_nonzero(steps[-1][1][:n_all])) > 1:
            n_trees = n_trees - 1 if n_trees <= EACH else int(FALL * n_trees)
            tried = islice(tries(steps[-1][1], n_trees), FITS)
            steps.append(min(tried, key=lambda step: step[0]))
    for step in reversed(steps):
        if not useful or step[0] < useful[-1][0]:
            useful.append(step)
    return useful
