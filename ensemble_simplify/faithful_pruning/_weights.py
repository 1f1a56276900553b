"""Few trees, and weights for them, that keep a promise: cutting planes.

Where the whole ensemble answers a class at a point, weighted trees answer it, too, iff for every
other class the sum over trees of ``weight * (vote for the class - vote for the other)`` is above
zero. Such a sum is a *lead*, and that it is positive a *demand*, which is linear in the weights.
The promise is a demand at each of its points: too many to list. So a linear program is asked for
weights that meet those known so far, `promise.worst` looks for points that such weights break, and
the demands there are added (cutting planes). That ends, since there are finitely many points; and
weights that break nothing keep the promise. Three things make it longer than that:

- *Few trees are wanted, not a small sum of weights.* Programs are solved again with higher costs
  for small weights (reweighted l1, Candes, Wakin and Boyd), which empties the columns of most
  trees. Then trees are left out one at a time, with all others' weights sought anew.
- *Weights at a corner of the known demands break most of the others.* So trees alone are taken of
  the sparse program; the weights that are put to the promise are those that lead by most in the
  demand of least lead (`_central`), which is another program.
- *At ties no weights lead.* Where the ensemble's own classes tie and the answer wins ties, a lead
  of zero is enough, but it has to be zero exactly. Which demands are such ties is told by duality
  (`_must_tie`), and their weights are put on a grid, on which sums do not round (`on_grid`).

How few trees can be enough is proven by duality, too: a mixture of demands that leads in none of
some trees says that these cannot keep the promise, and that one of the trees in which it leads has
to be added (`_clause`). `TreeChoice.prove` covers all such clauses by the cheapest trees.
"""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from hashlib import blake2b
from itertools import count
from math import lcm

import numpy as np

from ensemble_simplify.base import product
from ensemble_simplify.faithful_pruning._choice import (
    LazyProgram,
    Outcome,
    Shares,
    Step,
    TreeChoice,
    descend,
    solved,
    without_specks,
)
from ensemble_simplify.faithful_pruning._fit import fit
from ensemble_simplify.faithful_pruning._promise import GRID, Demands
from ensemble_simplify.grid import LinearProgram, Stopped, limits, time_left

LEAD = 1.0  # What every demand must lead by; sums round at some 1e-13 of it.
# The same, of the largest vote of a tree, where a decision has a cut-off.
LEAST_LEAD = 1e-3
EVEN = 1.0, 0.75, 0.5, 0.25  # How near to equal weights are brought, as far as the promise allows.
BATCH = 300  # New demands a round, at most.
# After so many rounds of new demands for the same trees, and after twice as many and so on, it is
# tested whether known trees are the fewest already.
FIRST_LOOK = 8
# The first weights lead everywhere by at least this share of their sum, times the largest vote of a
# tree. Rounding is some 1e-13 of it.
LEAST_SHARE = 1e-7
LEAST_SHARE_OF_FEWER = 1e-5  # The same for weights of fewer trees.
TOTAL = 1e3  # What weights add up to where leads are made large: far more than HiGHS's tolerances.
SHARE = 1e-7  # Shares of a mixture of demands, of the largest, that are more than rounding.
# How far trees must fall back in a mixture of demands to be ruled out even where ties are enough.
RULED_OUT = 1e-6
# How far trees may lead in such a mixture, as a share of all weight, and still not lead clearly.
UNCLEAR = 1e-6
# Seconds that an entry of a program takes to be passed on and solved for the first time.
PASSING_SECONDS = 3e-7
LOOKED_AT = 2000  # Demands of each kind that a fit of fewer trees looks at, at most.
# Sweeps of such a fit over the weights at most; it ends when one gains less than this share.
SWEEPS, GAIN = 200, 1e-9
# Weights are multiples of this where ties must be exact; their mean over all trees is about one.
STEP = 2.0**-20
# Largest common denominator of the combinations that ties ask for; more would be too coarse.
MAX_DENOMINATOR = 1 << 12


class WeightSearch(TreeChoice):
    """Search for few trees that keep a promise.

    The promise has its demands ``at_rows`` to begin with, ``worst(weights, n, rng)``, and sets of
    ``telling_trees()``; ``guides`` are demands beside it. `price` is what each tree costs.
    `weights` are of the cheapest trees so far that keep it (at first all, with weight one), and no
    trees that keep it cost less than `bound`. Methods raise `Stopped` when the time is up; `tell`
    takes a line about the progress.
    """

    def __init__(self, promise, price, rng, tell=lambda line: None):
        self.promise = promise
        n_trees = len(price)
        # trees that vote alike are one column: programs with equal columns would share the weight
        self.same, usable = promise.votes.merged(price)
        super().__init__(price, usable, np.ones(n_trees), rng, tell)
        self.demands = Demands.none(n_trees)
        # digests of the demands: points alike ask for the same, which programs need once
        self.seen = set()
        # which demands are ties that no weights break
        self.tied = np.empty(0, dtype=bool)
        # whether no weights lead at every point
        self.needs_ties = False
        # whether weights were found that lead at every point that is no such tie, and whether that
        # search came to its end
        self.is_found, self.is_done = False, False
        self.has_start, self.largest = False, 0.0
        self._build()

    def _build(self):
        """The programs, with the demands found so far."""
        n_trees = len(self.price)
        # at least one tree, whatever is demanded
        self.program = LazyProgram(self.price, np.ones((1, n_trees)), row_lower=1e-3)
        # weights, the scale of what is there without trees, and the least lead of all
        cost = np.append(np.zeros(n_trees + 1), -1.0)
        one = np.append(np.ones(n_trees + 1), 0.0)[None]
        self.centre = LazyProgram(cost, one, row_upper=TOTAL)
        if len(self.demands):
            self._ask(self.demands.leads, self.tied)

    def _ask(self, leads, tied):
        """Add leads, or ties, to the programs."""
        lead = LEAD
        if self.promise.votes.has_cut:
            # larger weights would not lead by more: the cut-off is there without trees
            lead = min(LEAD, LEAST_LEAD * self.promise.votes.largest.max())
        least = np.where(tied, 0.0, lead - leads[:, -1])
        self.program.add_rows(leads[:, :-1], lower=least, upper=np.where(tied, 0.0, np.inf))
        rows = np.column_stack([leads, np.where(tied, 0.0, -1.0)])
        self.centre.add_rows(rows, lower=0.0, upper=np.where(tied, 0.0, np.inf))

    @property
    def ties_may_do(self):
        """Whether weights that lead nowhere clearly count, for all that is known."""
        return self.needs_ties or not self.is_found

    def add(self, demands):
        """Ask for more, as far as it is new."""
        new = []
        for i, (leads, may_tie) in enumerate(zip(demands.leads, demands.may_tie, strict=True)):
            # the demands themselves would be held once more
            known = (blake2b(leads.tobytes(), digest_size=16).digest(), bool(may_tie))
            if known not in self.seen:
                self.seen.add(known)
                new.append(i)
        demands = demands[new]
        if not len(demands):
            return
        self.demands = self.demands.joined_with(demands)
        self.largest = max(self.largest, float(np.abs(demands.leads).max()))
        self.has_start |= bool(demands.leads[:, -1].any())
        # what is new is asked to lead, until `_must_tie` tells that it cannot
        tied = np.zeros(len(demands), dtype=bool)
        self.tied = np.concatenate([self.tied, tied])
        self._ask(demands.leads, tied)

    # ------------------------------------------------------------------ weights for some trees

    # `_keep` repeats three steps until it has an `Outcome`:
    # 1. Few trees: by linear programs, weights of few trees that meet the demands found so far
    #    (`_solve`, `_sparse`). If there are none, step 3.
    # 2. Central weights: of the weights of these trees, those that lead by most in the demand of
    #    least lead are put to the promise. Points that break it become demands, and the weights are
    #    sought again (`_try`). This ends with weights that break nothing: KEPT. Or these trees turn
    #    out not to keep the promise: step 1 with the new demands, or step 3 if it finds no others.
    # 3. Ties: where no weights lead in all demands, some demands may be ties that no weights break
    #    (`_must_tie`). They are asked to tie exactly, and all begins again; if there are none such,
    #    UNKEPT.
    # Step 2 can also find that known trees are the fewest: ENOUGH.

    def _keep(self, cost, allowed=None):
        """Outcome, and weights of few trees, at some cost of each, that keep the whole promise."""
        allowed = self.usable if allowed is None else allowed
        tied = self.tied
        outcome, weights = self._keep_few(cost, allowed)
        while outcome is Outcome.UNKEPT and self._must_tie(allowed):
            outcome, weights = self._keep_few(cost, allowed)
        if outcome is Outcome.UNKEPT:
            # these trees need ties that others may not: forget them, but not the demands
            self._tie(np.append(tied, np.zeros(len(self.tied) - len(tied), dtype=bool)))
        return outcome, weights

    def _costs(self, price):
        return price

    def _upper(self, allowed):
        return np.where(allowed, np.inf, 0.0)

    def _influence(self, weights):
        return weights * np.abs(self.promise.at_rows.leads[:, :-1]).mean(axis=0)

    def _weights(self, x):
        return without_specks(np.maximum(x, 0.0))

    def _try(self, allowed):
        """Put the most central weights of some trees to the promise until they keep it."""
        for n_rounds in count():
            # at powers of two, so that looks stay few among the rounds
            looks = n_rounds >= FIRST_LOOK and n_rounds & (n_rounds - 1) == 0
            if looks and self._is_enough(allowed):
                return Outcome.ENOUGH, None
            weights, lead = self._central(allowed)
            if weights is None:
                return Outcome.UNKEPT, None
            n_demands = len(self.demands)
            broken, n_broken = self.promise.worst(weights, BATCH, self.rng)
            if not n_broken:
                return Outcome.KEPT, weights
            self.add(broken)
            if len(self.demands) == n_demands:
                # nothing new: rounding breaks what these weights meet
                return Outcome.UNKEPT, None
            self.tell(
                f"{np.count_nonzero(weights)} trees for {len(self.demands)} demands, lead "
                f"{lead / TOTAL:.2g}; {n_broken} points were broken"
            )

    def _central(self, allowed):
        """Weights of some trees that lead by most, and by how much; None if they hardly lead.

        Of the weights that meet the demands so far, they are the likeliest to meet the others.
        """
        least = LEAST_SHARE_OF_FEWER if self.is_found else LEAST_SHARE
        # leads are compared with what one tree could lead by if it had all the weight
        least = max(least, self.promise.least_share(np.count_nonzero(allowed)))
        solution, lead = self._most_central(allowed)
        if solution.status != "optimal" or lead <= least * TOTAL * self.largest:
            return None, lead
        weights = solution.x[:-2] * (LEAD / lead)
        if self.has_start:
            # a scale of nothing is raised by so much that half of the lead stays
            start = np.abs(self.demands.leads[:, -1]).max()
            weights = solution.x[:-2] / max(solution.x[-2], 0.5 * lead / start)
            weights = self._some(weights, allowed)
        weights = without_specks(weights)
        if self.tied.any():
            weights = on_grid(weights, self.demands.leads[self.tied, :-1])
        return weights, lead

    def _some(self, weights, allowed):
        """Weights of at least one tree, for an ensemble has one; they move no sum by half a lead.

        Where what is there without trees leads everywhere, nothing else is asked for.
        """
        if weights.any():
            return weights
        t = self._cheapest(allowed)
        least = self.demands.leads[:, -1].min()
        largest = self.promise.votes.largest[t]
        weights[t] = least / (4.0 * largest) if largest > 0.0 else 1.0
        return weights

    def _most_central(self, allowed):
        """Weights of some trees that lead by most, as HiGHS has them, and by how much."""
        self.centre.set_upper(np.append(np.where(allowed, np.inf, 0.0), [np.inf, np.inf]))
        solution = self.centre.solve()
        return solution, solution.x[-1]

    def _is_enough(self, allowed):
        """Whether trees that were merely merged are known to keep the promise, and all needed.

        Clear leads, which take long to find where the least are tiny, are not needed then.
        """
        if self.is_found or self.cost > self.cost_of(allowed):
            return False
        self._largest_shares()
        return self.is_optimal

    def _must_tie(self, allowed):
        """Ask for ties where no weights of some trees lead; whether there are new ones.

        If the least lead of all demands is at most zero for all weights, some mixture of demands,
        by duality, leads in no tree. Weights for which none of its demands falls below zero have
        a mixture of leads that is at most zero, too: so each lead in it is zero. These demands
        are ties then, for all parts of these trees, and the others are looked at again.
        """
        if self.is_found and not self.needs_ties:
            return False
        tied = self.tied
        # one mixture tells some ties; with these asked for, the next one tells others
        while True:
            solution, lead = self._most_central(allowed)
            if solution.status != "optimal":
                break
            if lead > LEAST_SHARE * TOTAL * self.largest:
                n_new = np.count_nonzero(self.tied) - np.count_nonzero(tied)
                if n_new and not self.is_found:
                    self.tell(f"{n_new} ties that no weights break")
                    self.needs_ties = True
                return n_new > 0
            share = np.abs(self.centre.multipliers(solution))
            in_mixture = (share > SHARE * share.max()) & ~self.tied
            # some demand that has to tie may not: then these trees cannot keep the promise
            if not in_mixture.any() or not self.demands.may_tie[in_mixture].all():
                break
            tie = self.tied | in_mixture
            leads = self.demands.leads[:, :-1]
            # what ties add up to ties as well
            self._tie(tie | (self.demands.may_tie & spanned(leads, tie, allowed)))
        self._tie(tied)
        return False

    def _tie(self, tied):
        """Ask for ties in some demands, and for leads in all others."""
        if (tied != self.tied).any():
            self.tied = tied
            self._build()

    # ------------------------------------------------------------------ few trees

    def run(self):
        """Search once, and leave trees out until none can go."""
        if self.promise.votes.forest.n_classes == 1:
            # whatever is left answers the only class
            self._better(np.eye(len(self.price))[self._cheapest(self.usable)])
            return
        self._find_telling()
        if self.is_optimal:
            return
        self.add(self.promise.at_rows)
        self.add(self.promise.guides)
        if self.usable.sum() < len(self.price) and self.promise.is_same(self.same):
            self._better(self.same)
            if self.is_optimal:
                return
        outcome, weights = self._keep(self.price)
        if outcome is Outcome.KEPT:
            self.is_found = True
            self._fewer(weights)
            self.is_done = True
        elif outcome is Outcome.UNKEPT:
            # ties that cannot be kept exactly, or next to it: begin with what is known to keep them
            self.tell("no weights lead clearly at every point")
            self.needs_ties = True
            self._fewer(self.weights)

    def again(self, n_starts):
        if n_starts and not self.is_optimal:
            self._find_needed()
        super().again(n_starts)

    def _keep_at(self, cost):
        # other trees may lead where the last ones had to tie
        self._tie(np.zeros(len(self.demands), dtype=bool))
        return self._keep(cost)

    def _rank(self, weights):
        """Weights, for their price, of the same trees in a program that wants few of them."""
        least = self._solve(self._reweighted(weights), weights > 0)
        return ((weights if least is None else least) + 1e-9 * weights) / self.price

    def _without(self, allowed):
        return self._keep(self.price, allowed) if self.ties_may_do else self._try(allowed)

    def follow(self):
        """Take trees by their votes, and weights as near to equal ones as the promise allows.

        These are no more trees than were found, if they can keep the promise, whatever guides ask.
        The fewest trees, by weights that just meet what was asked, follow the ensemble less at
        other points.
        """
        if self.has_start or self.tied.any() or self.cost == self.cost_of(self.usable):
            return
        alone = WeightSearch(self.promise, self.price, self.rng)
        alone.add(self.promise.at_rows)
        kept, central = self.weights > 0, self.weights
        order = nearest_first(self.promise.said, self.usable)
        near = np.zeros(len(kept), dtype=bool)
        near[order[np.cumsum(self.price[order]) <= self.cost]] = True
        if near.any():
            outcome, others = alone._try(near)
            if outcome is Outcome.KEPT:
                kept, central = near, others
        # of mean one, as equal weights are, to be mixed with these
        central = central * (np.count_nonzero(kept) / central.sum())
        for share in EVEN:
            weights = share * kept + (1.0 - share) * central
            lead = self.promise.least_lead(weights)
            if lead > LEAST_SHARE_OF_FEWER * weights.sum() * self.largest:
                self.weights = weights
                return

    def mend(self, demands):
        """Find weights for the same trees that meet further demands as well, or give them up."""
        allowed = self.weights > 0
        # all trees keep any promise: these are the weights if others are not found in time
        self.weights = np.ones(len(self.price))
        self.add(demands)
        self._try_again(allowed)

    # ------------------------------------------------------------------ how few can be enough

    def _more_clauses(self):
        # no tree can have more than some share of all weight; chosen trees must be able to have all
        return [self._largest_shares()]

    def _largest_shares(self):
        """How large a part of all weight each tree can have; raises `bound`."""
        shares = Shares(self.demands.leads, self.usable)
        # the other half of the time is for covering
        with suppress(Stopped), limits(0.5 * time_left()):
            shares.tighten()
            fewest = shares.fewest(self.price)
            # prices are whole numbers
            self.bound = max(self.bound, float(np.ceil(fewest - 1e-6)))
            self.tell(f"no less than {self.bound:g} by the largest shares of trees")
        return shares.largest

    def _enough_of(self, chosen):
        """Which of some trees are enough for the demands found so far; None if all are not."""
        used = np.append(chosen, self.has_start)
        if self.ties_may_do:
            leads = self._mixture(chosen, -RULED_OUT)
            is_ruled_out = leads is not None and (leads[used] <= 0.0).all()
            return None if is_ruled_out else chosen
        # multipliers of the largest least lead are such a mixture, if there is any
        solution, lead = self._most_central(chosen)
        shares = np.maximum(self.centre.multipliers(solution), 0.0)
        if solution.status != "optimal" or not shares.any():
            return chosen
        leads = product(shares, self.demands.leads) / (shares.sum() * (self.largest or 1.0))
        if (leads[used] <= UNCLEAR).all():
            return None
        # those that lead clearly by themselves
        return solution.x[:-2] > 0 if lead > UNCLEAR * TOTAL * self.largest else chosen

    def _clause(self, chosen):
        """Trees of which one must be added to some that cannot keep the promise; else None.

        Whatever their weights: as the mixture of their leads is negative, one of the leads is. If
        there is no such mixture, one in which they do not lead: then they do not lead clearly.
        """
        for most in (-RULED_OUT,) if self.ties_may_do else (-RULED_OUT, 0.0):
            leads = self._mixture(chosen, most)
            if leads is None:
                continue
            limit = 0.0 if most < 0 else UNCLEAR
            if (leads[np.append(chosen, self.has_start)] > limit).any():
                continue
            clause = (leads[:-1] > limit) & self.usable
            return clause.astype(float) if clause.any() else None
        return None

    def _mixture(self, chosen, most):
        """Leads of all trees in a mixture of demands in which some lead by no more than `most`.

        The others lead as little as can be in all; None if there is no such mixture.
        """
        others = np.flatnonzero(self.usable & ~chosen)
        # demands that never were in the way of any central weights are in no mixture that is needed
        self._most_central(chosen)
        demands = self.demands.leads[self.centre.passed] / (self.largest or 1.0)
        n_demands = len(demands)
        used = np.append(chosen, self.has_start)
        n_used = np.count_nonzero(used)
        shape = 1 + n_used + len(others), n_demands + len(others)
        if PASSING_SECONDS * shape[0] * shape[1] > time_left():
            raise Stopped
        # columns: the share of each demand, and what each other tree leads by beyond zero
        A = np.zeros(shape)
        A[0, :n_demands] = 1.0  # shares add up to one
        A[1 : 1 + n_used, :n_demands] = demands[:, used].T  # at most `most`
        A[1 + n_used :, :n_demands] = demands[:, others].T  # less the excess: at most `most`
        A[1 + n_used + np.arange(len(others)), n_demands + np.arange(len(others))] = -1.0
        upper = np.full(len(A), most)
        lower = np.full(len(A), -np.inf)
        upper[0] = lower[0] = 1.0
        cost = np.concatenate([np.zeros(n_demands), np.ones(len(others))])
        solution = solved(LinearProgram(cost, A, row_lower=lower, row_upper=upper))
        if solution.status != "optimal":
            return None
        return product(np.maximum(solution.x[:n_demands], 0.0), demands)

    # ------------------------------------------------------------------ fewer still

    def path(self):
        """`descend` from the weights found, which keep the promise, as a list of `Step`.

        A tree of little influence goes, the others' weights are fitted anew to demands that were
        broken before, and all exceptions are counted.
        """
        rng, promise = self.rng, self.promise
        hard = _chosen(self.demands.leads, rng)
        at_rows = _chosen(promise.at_rows.leads, rng)
        broken = hard[:0]

        def tries(weights, n_trees):
            nonlocal broken
            allowed = self._most_influential(weights, n_trees)
            n = None
            while n != 0:
                fitted = _fitted(np.concatenate([at_rows, hard, broken]), weights, allowed)
                _row, cells, n = promise.sample(fitted, rng)
                if n:
                    # what this fit breaks is asked for in the next one
                    broken = _chosen(promise.demands(_chosen(cells, rng))[0].leads, rng)
                yield n, fitted

        path = descend(lambda: (0, self.weights), tries, len(self.weights))
        return [Step(weights, n) for n, weights in path]


def _chosen(demands, rng):
    if len(demands) <= LOOKED_AT:
        return demands
    return demands[rng.choice(len(demands), LOOKED_AT, replace=False)]


def _fitted(demands, weights, allowed):
    """Weights of the allowed trees of least squared shortfall of the demands' leads from one."""
    kept = np.flatnonzero(allowed)
    leads = np.ascontiguousarray(demands[:, kept].T)
    best = weights[kept]
    short = 1.0 - demands[:, -1] - product(best, leads)
    fit(leads, short, best, SWEEPS, GAIN)
    fitted = np.zeros(len(weights))
    fitted[kept] = best if best.any() else weights[kept]
    return without_specks(fitted)


def nearest_first(votes, usable):
    """Trees in the order in which their mean votes come nearest to the mean of all.

    Parameters
    ----------
    votes : float array of shape (n_trees, n)
        What every tree says, at some points.
    usable : bool array of shape (n_trees,)
        Trees that may be chosen.

    Returns
    -------
    intp array of the usable trees
    """
    n_trees = len(votes)
    between = np.array([product(votes, one) for one in votes])
    target = between.mean(axis=1)
    square_of_each = np.diag(between)
    # products of the sum of those chosen with each tree, with itself, and with the mean of all
    with_each, square, with_target = np.zeros(n_trees), 0.0, 0.0
    left = usable.copy()
    order = []
    for n in range(1, np.count_nonzero(usable) + 1):
        far = (square + 2.0 * with_each + square_of_each) / n**2 - 2.0 * (with_target + target) / n
        scale = np.abs(far[left]).max() or 1.0
        # as near as rounding are equal
        far = np.where(left, np.round(far / scale, 9), np.inf)
        t = int(np.argmin(far))
        order.append(t)
        left[t] = False
        square += 2.0 * with_each[t] + square_of_each[t]
        with_target += target[t]
        with_each += between[t]
    return np.array(order, dtype=np.intp)


# ------------------------------------------------------------------ weights on a grid

# Votes and weights are whole multiples of powers of two, so small that their products and sums
# never round: two classes tie in floating point iff they tie. Trees' weights that hold some ties
# are the solutions of linear equations with whole coefficients. With the equations reduced in
# exact fractions, some trees' weights are free, and the others' are combinations of theirs; free
# weights rounded to multiples of the common denominator make all of them whole.


def on_grid(weights, ties):
    """Weights next to some, multiples of `STEP`, that hold ties exactly; None if there are none.

    `weights`, one for each tree, hold the ties but for rounding; those found are positive for the
    same trees. `ties`, of shape (n_ties, n_trees), are leads of the trees, multiples of `GRID`,
    that must add up to zero.
    """
    kept = np.flatnonzero(weights)
    n = len(kept)
    whole = np.unique((ties[:, kept] / GRID).astype(np.int64), axis=0)
    # the trees of small weight are left free where there is a choice: rounding hits them least
    order = np.argsort(-weights[kept], kind="stable")
    pivots, rows = _reduced(whole[:, order])
    # free weights that are multiples of this make all others whole
    denominator = lcm(*(entry.denominator for row in rows for entry in row))
    if denominator > MAX_DENOMINATOR:
        return None
    free = np.setdiff1d(np.arange(n), pivots)
    scale = len(weights) / (weights.sum() * STEP * denominator)
    chosen = np.rint(weights[kept[order[free]]] * scale).astype(np.int64)
    numbers = np.zeros(n, dtype=np.int64)
    numbers[free] = denominator * chosen
    if len(pivots):
        combined = np.array(
            [[int(row[j] * denominator) for j in free] for row in rows], dtype=np.int64
        )
        numbers[pivots] = -(combined.reshape(len(pivots), len(free)) @ chosen)
    placed = np.zeros(n, dtype=np.int64)
    placed[order] = numbers
    # rounding can turn a small weight, break a tie, or make weights too large for the grid
    if (placed <= 0).any() or (whole @ placed).any() or placed.sum() * STEP > 2 * len(weights):
        return None
    exact = np.zeros(len(weights))
    exact[kept] = placed * STEP
    return exact


def _reduced(equations):
    """Equations in reduced row echelon form, in exact fractions: pivot columns, and the rows."""
    rows = [[Fraction(int(entry)) for entry in row] for row in equations]
    pivots, done = [], 0
    for column in range(equations.shape[1]):
        other = next((i for i in range(done, len(rows)) if rows[i][column]), None)
        if other is None:
            continue
        rows[done], rows[other] = rows[other], rows[done]
        pivot = rows[done][column]
        rows[done] = [entry / pivot for entry in rows[done]]
        for i, row in enumerate(rows):
            factor = row[column]
            if i != done and factor:
                rows[i] = [a - factor * b for a, b in zip(row, rows[done], strict=True)]
        pivots.append(column)
        done += 1
        if done == len(rows):
            break
    return np.array(pivots, dtype=np.intp), rows[:done]


def spanned(leads, chosen, usable):
    """Which rows of leads are combinations of chosen ones, over the usable columns."""
    # of each row, what is left outside the span of the chosen ones
    _, size, directions = np.linalg.svd(leads[chosen][:, usable], full_matrices=False)
    directions = directions[size > 1e-9 * size[0]]
    rest = leads[:, usable]
    rest = rest - (rest @ directions.T) @ directions
    return np.abs(rest).max(axis=1) < 1e-9 * np.abs(leads).max()
