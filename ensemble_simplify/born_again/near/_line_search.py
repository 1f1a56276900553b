"""Trees that answer as a forest near some rows: the search, its bounds and its path.

The rows and their single changes are finitely many points (`Neighbourhood`), on which the kernel
``_line_trees`` finds small trees. Of two changes or more there are too many points to hold: the
tree is found for some of them, compared with the forest on all, and found again with the cells
where they differ, until they do not.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ensemble_simplify.born_again.everywhere._grid import (
    UNNAMED,
    Grid,
    Kinds,
    TooLarge,
    TooManyAnswers,
    n_cells,
)
from ensemble_simplify.born_again.everywhere._search import solve
from ensemble_simplify.born_again.near._line_trees import LineTrees
from ensemble_simplify.born_again.near._path_trees import (
    Front,
    PathTree,
    Prunings,
    Windows,
    answers_at,
    are_alike,
    in_windows,
    last_alike,
    n_leaves,
    n_windows,
)
from ensemble_simplify.grid import FREE, Stopped, distinct_rows, is_late, limits, time_left, until
from ensemble_simplify.proof import (
    Lines,
    Neighbourhood,
    NumberLines,
    TreeLines,
    n_near,
    points_apart,
    walks,
)

# What a leaf costs where no point may be wrong: all leaves together cost less than one point.
NO_ERRORS = 1e-7
POINT_BYTES = 64  # Bytes that a row takes on each axis.
# Without a time limit, leaves are only forecast with fewer points times trees.
ADVICE_POINTS = 1e9
ASIDE = 0.2  # Share of the rows that is held out to measure agreement.


@dataclass(frozen=True)
class NearEffort:
    """How much is tried: in units of work without a time limit, in shares of the time with one."""

    width: int = 12  # Splits that are followed at every node,
    an_axis: int = 3  # and those of one axis among them.
    first_width: int = 3  # Splits that are followed at every node for the first tree.
    # Units of work, a nanosecond or two each, for looking ahead for the first tree.
    first_work: float = 3e8
    # Without a time limit: units of work for looking ahead for a small tree, and for searching its
    # parts again. That ends where so many times the work of looking ahead gains no leaf.
    look_work: float = 1e9
    improve_work: float = 3e9
    patience: float = 8.0
    # The same for each price on the path of exceptions.
    path_work: float = 2e8
    path_improve: float = 3e8
    path_patience: float = 2.0
    least_patience: tuple = (1e8, 2e7)  # But so many units are tried again at least, for each.
    # Without a time limit: units of work for the proofs that no tree is smaller.
    proof_work: float = 5e8
    bound_looks: float = 1e8  # Points that are looked at for the lower bound,
    few_points: int = 200  # which is sought beside forced cuts if so few points need a leaf each.
    of_numbers: float = 0.15  # Share of this work for numbers, of which trees are larger.
    n_prices: int = 12  # Number of prices of a leaf on the path of exceptions.
    # The first and the last price, as shares of the weight of all points.
    prices: tuple = (1 / 8, 1 / 30_000)
    # Share of a time limit for the classes of points of one change.
    label_share: float = 0.4
    # Share of a time limit for the tree: half for looking ahead, half for searching again.
    tree_share: float = 0.5
    path_share: float = 0.25  # Share of a time limit for the path of exceptions,
    # and for its last tree without the rows that are held out. The rest is for bounds,
    aside_share: float = 0.05
    count_share: float = 0.1  # and for counting exceptions on the path.
    # Grids of at most so many cells are solved exactly by dynamic programming,
    grid_cells: int = 1 << 16
    grid_points: float = 1e8  # if at most so many points are promised,
    # and, without a time limit, one pass takes at most so many nanoseconds by forecast.
    grid_work: float = 1e9
    many_leaves: int = 64  # From so many leaves on, numbers of leaves on the path grow
    path_step: float = 1.2  # by this factor at least.
    max_added: int = 2000  # Cells added at a time where the tree is wrong two changes away or more.
    max_tries: int = 4  # Trees that are compared on all points once there is one that is right.
    max_points: float = 2e11  # Without a time limit, promises about more points are refused.


EFFORT = NearEffort()


class TooManyPoints(Exception):
    """The promise is about more points than can be looked at."""

    def __init__(self, n_points):
        super().__init__(f"{n_points:.2g} points")
        self.n_points = n_points


class NoTreeInTime(Exception):
    """The time was up before there was a tree with the promise."""


class LineSearch:
    """The search for a tree that keeps a promise near some rows.

    The `problem` is an ensemble over its axes; `cells` is an int32 array of shape (n_rows, n_axes),
    with the positive `weights` of its rows; `row_share`, from 0 to 1, is the share that rows have
    in the weight of all points. `max_bytes` is for what the points take. The limit of time in force
    when it is made holds for all it does.

    `near` holds the points of at most one change, and whatever cells were added; `nodes` the
    smallest tree so far that keeps the promise, of which none has fewer leaves than
    `leaves_bound`; `counts` the rows in each distinct cell; `fronts` trees with exceptions, for all
    rows and for those that are not kept aside, or None. With at most one change, a limit can leave
    points that were not looked at, `n_unseen` of them, and a tree with exceptions. `finer` are rows
    that the ensemble answers otherwise than their cells, which count for the agreement.
    """

    def __init__(
        self,
        problem,
        cells,
        weights,
        max_changes,
        rng,
        *,
        row_share=0.5,
        max_bytes=np.inf,
        report=lambda message: None,
        finer=None,
    ):
        self.lines = lines = lines_of(problem)
        self.shape = shape = problem.axes.shape
        self.n_classes, self.closeness = lines.n_classes, problem.trees.tolerance
        self.max_changes, self.row_share = max_changes, row_share
        self.max_bytes, self.seconds = max_bytes, time_left()
        self.limited = np.isfinite(self.seconds)
        self.rng, self.report = rng, report
        self.nodes: Any = None
        self.leaves_bound = 1
        self.fronts = None
        if self.seconds <= 0:
            # what was found would have to be written, too
            raise NoTreeInTime
        first, place = distinct_rows(cells)
        self.counts = np.bincount(place)
        # rows that are finer, and the distinct rows in whose cells they are
        self.finer, self.finer_at = finer, [] if finer is None else place[finer.at]
        self.n_points = n_near(len(first), shape, max_changes)
        self.check_memory(cells[first])
        if self.n_points > EFFORT.max_points and not self.limited:
            raise TooManyPoints(self.n_points)
        partly = max_changes == 1 and self.limited
        try:
            with self.until(EFFORT.label_share if partly else 1.0):
                self.near = Neighbourhood.of(
                    lines, cells, min(max_changes, 1), weights, rng if partly else None
                )
        except Stopped:
            raise NoTreeInTime from None
        # what was not looked at: cells that differ from a row on one axis, outside the domain, too
        self.n_unseen = int((~self.near.seen).sum() * (sum(shape) - len(shape)))
        if max_changes <= 1:
            self.n_points = self.near.n_points + self.n_unseen
        self.rows = self.near.cells
        self.report(
            f"{len(self.rows)} distinct rows, {self.n_points:,.0f} points within "
            f"max_changes={max_changes}"
        )

    def check_memory(self, cells):
        """Raise TooLarge if the points near some cells take too much memory."""
        if cells.size * POINT_BYTES > self.max_bytes:
            raise TooLarge(cells.size * POINT_BYTES)

    def until(self, share):
        """A limit that ends when a share of the whole time is over."""
        return until(share, self.seconds)

    def trees(self, near=None, *, counted=True):
        """The kernel for the points of a neighbourhood.

        Where what is wrong need not be `counted`, rows of numbers weigh as much as other points:
        splits are then chosen by where the points are.
        """
        near = self.near if near is None else near
        weight = row_weights(near, self.row_share if counted or near.kinds is None else 0.0)
        points = near.cells, near.labels, weight, near.own_first, near.own_last
        points += near.own_joined, near.runs, int(self.rng.integers(1 << 63))
        shape = np.array(self.shape, dtype=np.intp)
        numbers = None
        if near.kinds is not None:
            numbers = in_windows(near.kinds[:, -1], self.closeness.atol)
        return LineTrees(shape, self.n_classes, *points, near.alike, numbers)

    def find(self):
        """Find a small tree that keeps the promise."""
        small = n_cells(self.shape) <= EFFORT.grid_cells and self.n_points <= EFFORT.grid_points
        if small and not self.n_unseen:
            self.solve_on_grid()
        if self.nodes is None and self.max_changes <= 1:
            self.nodes = self.first_tree()
            # without a limit, it gets all of them right
            if not self.limited or self.wrong_weight(self.nodes) < 1.0:
                self.nodes = self.improved_tree(self.nodes)
        elif self.nodes is None:
            self.find_beyond()
        self.report(f"{n_leaves(self.nodes)} leaves")

    def solve_on_grid(self):
        """Find the smallest tree by dynamic programming, on grids that are small enough.

        Cells that are not promised are free. Where that takes too long, nothing is found.
        """
        numbers = [np.arange(n - 1) for n in self.shape]
        try:
            kinds = None if self.closeness is None else Kinds(self.closeness, self.near.kinds)
            if kinds is not None and len(kinds.answers) >= UNNAMED:
                raise TooManyAnswers(0)
            with self.until(EFFORT.tree_share):
                labels = self.labelled_grid()
                grid = Grid(np.arange(len(self.shape)), numbers, labels, kinds).simplified()
                solution = solve(
                    grid,
                    "leaves",
                    max_bytes=self.max_bytes,
                    max_work=np.inf if self.limited else EFFORT.grid_work,
                )
        except (TooLarge, Stopped):
            return
        self.nodes = solution.tree.on_grid(grid).nodes
        if kinds is not None:
            leaf, labels = self.nodes[:, 0] < 0, self.trees().leaf_errors(self.nodes)[1]
            self.nodes[leaf, 1] = labels[leaf]
        self.leaves_bound = n_leaves(self.nodes)

    def labelled_grid(self):
        """A table of all cells: classes, or kinds of answers, of promised points, others free."""
        strides = np.append(np.cumprod(self.shape[:0:-1], dtype=np.intp)[::-1], 1)
        labels = np.full(np.prod(self.shape), FREE, dtype=np.uint16)
        known = self.lines.classes_of(self.rows, to_end=True)
        labels[self.rows @ strides] = self.lines.in_order(known)
        first = self.lines.first
        if self.max_changes == 0:
            return labels.reshape(self.shape)
        for _, cells, from_axis in walks(self.rows, self.shape, self.max_changes):
            for part, found in self.lines.batches(cells, from_axis):
                own = cells[part].astype(np.intp)
                for a in range(len(self.shape)):
                    walked = from_axis[part] <= a
                    place = (own[walked] @ strides - own[walked, a] * strides[a])[:, None]
                    place = place + np.arange(self.shape[a]) * strides[a]
                    on_axis = found[walked, first[a] : first[a + 1]]
                    labels[place] = self.lines.in_order(on_axis)
        return labels.reshape(self.shape)

    def wrong_weight(self, nodes):
        """Weight of the points at hand that a tree gets wrong."""
        return self.trees().cost(nodes)

    def first_tree(self):
        """A tree that gets all points at hand right, at once.

        Where the time does not suffice, and exceptions can be counted, it gets some wrong.
        """
        trees, counted = self.trees(counted=False), self.max_changes <= 1
        with self.until(EFFORT.tree_share if counted else 1.0):
            cost, nodes = trees.find(NO_ERRORS)
        if cost >= 1.0 and counted:
            return nodes
        if cost >= 1.0:
            raise NoTreeInTime
        with self.until(EFFORT.tree_share / 5):
            better, wider = trees.find(NO_ERRORS, EFFORT.first_width, 1, work=EFFORT.first_work)
        return wider if better < cost else nodes

    def improved_tree(self, nodes):
        """A tree no larger that gets all points at hand right."""
        self.report(f"first tree: {n_leaves(nodes)} leaves")
        trees = self.trees(counted=False)
        with self.until(EFFORT.tree_share):
            with limits(0.5 * time_left()):
                splits = EFFORT.width, EFFORT.an_axis
                _, other = self.ahead(trees, NO_ERRORS, *splits, EFFORT.look_work)
            if n_leaves(other) < n_leaves(nodes) and trees.cost(other) < 1.0:
                nodes = other
            patience = max(EFFORT.patience * trees.work_done, EFFORT.least_patience[0])
            return self.improved(trees, nodes, NO_ERRORS, EFFORT.improve_work, patience)

    def ahead(self, trees, price, width, an_axis, work):
        """Cost and tree by looking ahead with so much `work`; a greedy one if that tells nothing.

        With less than what it takes to follow the splits of the root, no choice is made.
        """
        before = trees.work_done
        greedy = trees.find(price)
        if self.limited:
            work = np.inf
        elif 2 * width * (trees.work_done - before) > work:
            return greedy
        return trees.find(price, width, an_axis, work=work)

    def improved(self, trees, nodes, price, work, patience):
        """A tree that costs no more: parts are searched again while that gains something.

        Without a limit of time it ends after so much `work`, or where `patience` gained nothing.
        """
        splits = EFFORT.width, EFFORT.an_axis
        if self.limited:
            return trees.improve(nodes, price, *splits, np.inf)
        patience = min(patience, work / 4)
        end, cost, before = trees.work_done + work, trees.cost(nodes, price), np.inf
        while cost < before and trees.work_done < end:
            before, nodes = cost, trees.improve(nodes, price, *splits, patience)
            cost = trees.cost(nodes, price)
        return nodes

    def find_beyond(self):
        """`find` for two changes or more: cells on which the tree is wrong are added.

        The first tree that is right on all points is small by looking ahead a little; others
        are sought with more effort while they turn out right, or time remains.
        """
        nodes, tries = self.first_tree(), 0
        try:
            while True:
                wrong = self.wrong_cells(nodes)
                if len(wrong) == 0 and (self.nodes is None or len(nodes) < len(self.nodes)):
                    self.nodes = nodes
                if self.nodes is not None:
                    done = tries > 0 and len(wrong) == 0
                    tries += 1
                    with self.until(EFFORT.tree_share):
                        if done or tries > EFFORT.max_tries or is_late():
                            return
                if len(wrong):
                    self.check_memory(np.concatenate([self.near.cells, wrong]))
                    self.near = self.near.joined_with(
                        Neighbourhood.of(self.lines, wrong, 1, np.zeros(len(wrong)))
                    )
                    self.report(f"{n_leaves(nodes)} leaves, wrong near {len(wrong)} cells or more")
                nodes = self.first_tree()
                if self.nodes is not None:
                    nodes = self.improved_tree(nodes)
        except Stopped:
            if self.nodes is None:
                raise NoTreeInTime from None

    def wrong_cells(self, nodes):
        """Cells, within one change less than promised, on whose lines a tree is wrong.

        Raises Stopped when the time is up.
        """
        numbers = np.arange(self.n_classes)
        models = (self.lines, numbers), (TreeLines(nodes, self.n_classes, self.lines), numbers)
        rows = self.rows[self.rng.permutation(len(self.rows))]
        found = {}
        for row, cells in points_apart(*models, rows, self.shape, self.max_changes):
            for cell, start in zip(cells, rows[row], strict=True):
                # without one of its changes, the cell has the wrong point on a line
                changed = np.flatnonzero(cell != start)
                back = cell.copy()
                axis = changed[self.rng.integers(len(changed))]
                back[axis] = start[axis]
                found[back.tobytes()] = back
                if len(found) >= EFFORT.max_added:
                    return np.array(list(found.values()))
        return np.array(list(found.values())).reshape(-1, len(self.shape))

    # ------------------------------------------------------------- bounds

    def bound(self, prove=True):
        """Raise the lower bound on leaves, up to a proof that the tree is smallest.

        Unless `prove`, only by sets of points that need a leaf each.
        """
        if n_leaves(self.nodes) <= self.leaves_bound:
            return
        with self.until(1.0 if self.fronts is None else 1.0 - EFFORT.count_share):
            self._bound(prove)
        self.report(f"at least {self.leaves_bound} leaves")

    def _bound(self, prove):
        near, found = self.near, n_leaves(self.nodes)
        trees = self.trees(counted=False)
        if near.kinds is None:
            classes = len(np.unique(near.labels[near.labels >= 0]))
        else:
            classes = n_windows(near.alike)
        before = np.cumsum(trees.forced_cuts())
        self.leaves_bound = max(classes, int(before[-1]) + 1)
        if self.leaves_bound < found:
            with limits(0.5 * time_left()):
                looks = np.inf if self.limited and not prove else EFFORT.bound_looks
                points = trees.fooling_points(int(self.rng.integers(1 << 63)), looks)
            self.leaves_bound = max(self.leaves_bound, len(points))
            if 0 < len(points) <= EFFORT.few_points:
                beside = leaves_beside_cuts(points, before, np.cumsum([0, *self.shape[:-1]]))
                self.leaves_bound = max(self.leaves_bound, beside)
        budget = trees.work_done + EFFORT.proof_work
        while prove and self.leaves_bound < found:
            # the last step is the proof; without a limit of time, of work
            work = np.inf if self.limited else budget - trees.work_done
            fits, nodes = trees.prove(self.leaves_bound, work)
            if fits is None:
                break
            if fits:
                if self.max_changes <= 1:
                    self.nodes = nodes
                break
            self.leaves_bound += 1

    # ------------------------------------------------------------- exceptions

    def explore(self):
        """Find trees with exceptions, for one change or none; maybe a smaller one without."""
        share = EFFORT.tree_share + EFFORT.path_share
        self.split_rows()
        near = self.near_kept = self.near.of_rows(self.kept)
        found = self.trees_of_prices(self.near, self.tree_of_price, share)
        with self.until(share + EFFORT.aside_share):
            # agreement is judged by trees that were found quickly without the rows held aside
            aside = self.trees_of_prices(near, lambda trees, price, _: trees.find(price)[1], 1.0)
            trees = self.trees(near, counted=False)
            _, nodes = self.ahead(trees, NO_ERRORS, EFFORT.width // 2, 2, EFFORT.path_work)
        self.fronts = self.front(self.near, [self.nodes, *found]), self.front(near, [nodes, *aside])
        front = self.fronts[0]
        fewest = int(front.sizes()[-1])
        if front.errors[-1] == 0.0 and fewest < n_leaves(self.nodes):
            self.nodes = front.tree(fewest)

    def path(self):
        """Trees of growing size with fewer and fewer exceptions, the last without any."""
        if self.fronts is None:
            n = n_leaves(self.nodes)
            return [PathTree(self.nodes, n, 0, 0, 0.0, 0.0, np.nan)]
        front = self.fronts[0]
        # what a proof may have found meanwhile
        front.add(Prunings(self.nodes, *self.trees().leaf_errors(self.nodes)))
        total = total_weight(self.near, self.row_share)
        trees, trees_kept, steps = self.trees(), self.trees(self.near_kept), []
        before, held = self.held(trees)
        for m in spread(front.sizes()):
            nodes = front.tree(m)
            n_wrong, rows_wrong, weight = trees.wrong(nodes, self.counts, before)
            told = self.told(nodes, trees, self.near)
            wrong = float(front.errors[min(m, len(front.errors)) - 1])
            agreement, r2 = self.judged_aside(self.fronts[1].tree(m), trees_kept)
            steps.append(
                PathTree(
                    nodes,
                    n_leaves(nodes),
                    # points that were not looked at count as exceptions
                    n_wrong + self.n_unseen,
                    rows_wrong,
                    (wrong + self.n_unseen) / (total + self.n_unseen),
                    weight / held if held else 0.0,
                    agreement,
                    r2,
                    *told,
                )
            )
        self.report(f"{len(steps)} trees on the path of exceptions")
        return steps

    def told(self, nodes, trees, near):
        """Largest difference, `Windows` and answers of a tree, by the points of its kernel.

        None of classes.
        Where answers are labelled, its leaves get their classes as numbers.
        """
        if near.kinds is None:
            return np.nan, None, None
        windows = Windows.of(trees, nodes, near.kinds, self.closeness)
        known = near.labels >= 0
        rows = near.cells[known], near.kinds[near.labels[known]], near.weights[known]
        answers = windows.answers(nodes, *rows, self.closeness)
        if self.closeness.labelled:
            leaf = nodes[:, 0] < 0
            nodes[leaf, 1] = answers[leaf, 0]
        return windows.largest_difference(answers), windows, answers

    def front(self, near, found):
        """The cheapest prunings of some trees, for every number of leaves."""
        trees, front = self.trees(near), Front()
        for nodes in found:
            front.add(Prunings(nodes, *trees.leaf_errors(nodes)))
        return front

    def trees_of_prices(self, near, find, share):
        """Trees of low cost for points near rows, at falling prices of a leaf.

        `find` takes the kernel, a price, and the share of the usual work that it may do.
        """
        trees, total = self.trees(near), total_weight(near, self.row_share)
        part = 1.0 if near.kinds is None else EFFORT.of_numbers
        prices, found = total * np.geomspace(*EFFORT.prices, EFFORT.n_prices), []
        with self.until(share):
            seconds = time_left()
            for k, price in enumerate(prices[prices >= 0.5]):
                if is_late():
                    break
                # of what time is left, each price has an equal part
                with until((k + 1) / EFFORT.n_prices, seconds):
                    found.append(find(trees, price, part))
        return found

    def tree_of_price(self, trees, price, share):
        """A tree of low cost, at a price of each leaf; a share of the usual work is done for it."""
        before = trees.work_done
        with limits(0.5 * time_left()):
            splits = EFFORT.width, EFFORT.an_axis
            _, nodes = self.ahead(trees, price, *splits, share * EFFORT.path_work)
        patience = max(EFFORT.path_patience * (trees.work_done - before), EFFORT.least_patience[1])
        return self.improved(trees, nodes, price, share * EFFORT.path_improve, share * patience)

    def split_rows(self):
        """Choose which distinct rows are kept aside: numbers, in `aside` and `kept`."""
        order = self.rng.permutation(len(self.rows))
        n_aside = int(ASIDE * len(order))
        self.aside, self.kept = np.sort(order[:n_aside]), np.sort(order[n_aside:])

    def judged_aside(self, nodes, trees):
        """Agreement and R2, on held-out rows, of a tree that was found without them."""
        if not len(self.aside):
            return np.nan, np.nan
        near, weights = self.near, self.near.weights[self.aside]
        cells, truth = near.cells[self.aside], near.labels[self.aside]
        answers = self.told(nodes, trees, self.near_kept)[-1]
        told, r2 = answers_at(nodes, answers, cells), np.nan
        if near.kinds is not None:
            truth = near.kinds[truth]
            off, spread = (
                (weights * (truth[:, -1] - number) ** 2).sum()
                for number in (told[:, -1], np.average(truth[:, -1], weights=weights))
            )
            r2 = 1.0 - off / spread if spread > 0 else np.nan
        right = weights * are_alike(told, truth, self.closeness)
        if len(self.finer_at):
            at = np.searchsorted(self.aside, self.finer_at).clip(max=len(self.aside) - 1)
            held, told = self.aside[at] == self.finer_at, told[at]
            more = are_alike(told, self.finer.answers, self.closeness).astype(float)
            more -= are_alike(told, self.finer.rounded, self.closeness)
            np.add.at(right, at[held], (more * self.finer.weights)[held])
        return float(right.sum() / weights.sum()), float(r2)

    def least_leaves(self, tolerance):
        """Leaves that are needed to stay within a tolerance, as far as that is known: 1 to 3."""
        trees, total = self.trees(), total_weight(self.near, self.row_share)
        one, two = trees.few_leaves()
        if one <= tolerance * total:
            return 1
        return 2 if two <= tolerance * total else 3

    def held(self, trees):
        """For each axis the rows in its cells, added up from 0, and such weights of all points."""
        near = self.near
        rows = [np.bincount(near.cells[:, a], self.counts, n) for a, n in enumerate(self.shape)]
        before = np.concatenate([np.append(0.0, np.cumsum(row)) for row in rows])
        # a leaf of a number beyond all labels is wrong everywhere
        nothing = np.array([[-1, np.iinfo(np.int32).max, 1]], dtype=np.int32)
        return before, trees.wrong(nothing, self.counts, before)[2]


def lines_of(problem):
    """The ensemble on the lines of rows: its classes, or with a tolerance its numbers."""
    forest, trees = problem.forest, problem.trees
    if trees.tolerance is None:
        return Lines(forest, problem.axes, trees.outside)
    return NumberLines(
        forest,
        problem.axes,
        trees.outside,
        lambda nodes: trees.decide(forest.sums_at(nodes)),
        partial(last_alike, closeness=trees.tolerance),
    )


def leaves_near(problem, cells, max_changes, rng) -> int | None:
    """Leaves of a tree that is quickly found near rows; None: none in time, or too many points.

    `rng` is a RandomState.
    """
    seed, most = rng.randint(1 << 31), ADVICE_POINTS / problem.forest.n_trees
    if np.isinf(time_left()) and n_near(len(cells), problem.axes.shape, max_changes) > most:
        return None
    random = np.random.default_rng(seed)
    with suppress(NoTreeInTime):
        search = LineSearch(problem, cells, np.ones(len(cells)), max_changes, random)
        nodes = search.first_tree()
        if not search.n_unseen and search.wrong_weight(nodes) < 1.0:
            return n_leaves(nodes)
    return None


def leaves_beside_cuts(points, before, first):
    """Leaves that every tree has, by points of which every two need two, and by forced cuts.

    A tree splits at every forced cut, one between neighbours of different classes. Where all points
    lie on one side, that split parts none of them, so it comes beside the splits that do. Points at
    an end of an axis are left out while more forced cuts than points then lie beside the others.

    The points are those of ``LineTrees.fooling_points``; `before` counts the forced cuts up to each
    place of the axes, which begin at `first`.
    """
    counted = before[points[:, :-1] + first]
    least, shrinks = len(counted) - int(np.ptp(counted, axis=0).sum()), True
    while shrinks:
        shrinks, all_points = False, counted
        for column in all_points.T:
            for value in np.unique(column)[:-1]:
                for side in (column <= value, column > value):
                    some = np.count_nonzero(side) - int(np.ptp(all_points[side], axis=0).sum())
                    if some > least:
                        least, counted, shrinks = some, all_points[side], True
    return int(before[-1] + least)


def row_weights(near, share):
    """Weights of rows, whole numbers from 1 on, that come to a share of the weight of all points.

    Every other point weighs 1.
    """
    others = near.n_points - len(near.cells)
    if share >= 1.0 or others == 0:
        return np.maximum(np.rint(near.weights), 1.0)
    a_row = others / near.weights.sum() * share / (1.0 - share)
    return np.maximum(np.rint(near.weights * a_row), 1.0)


def total_weight(near, share):
    """Weight of all points."""
    return float(row_weights(near, share).sum() + near.n_points - len(near.cells))


def spread(sizes):
    """Some of the numbers of leaves, each a good step from the one before, and the last."""
    kept = []
    for m in sizes:
        if not kept or m <= EFFORT.many_leaves or m >= EFFORT.path_step * kept[-1]:
            kept.append(int(m))
    if kept[-1] != sizes[-1]:
        kept.append(int(sizes[-1]))
    return kept
