"""The promise near training rows: parameters that go with it, and its path of exceptions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from sklearn.utils import Bunch

from ensemble_simplify.base import TimeLimitError, report, warn_out_of_time
from ensemble_simplify.born_again._written_tree import (
    Reading,
    TreeOnRows,
    as_int,
    cells_as_int,
    count_in_words,
    name_of,
)
from ensemble_simplify.born_again.everywhere._grid import TooLarge
from ensemble_simplify.born_again.everywhere._search import CellTree, n_regions
from ensemble_simplify.born_again.near._leaf_answers import are_alike, last_alike
from ensemble_simplify.born_again.near._line_search import (
    LineSearch,
    NoTreeInTime,
    TooManyPoints,
    forecast_near,
)
from ensemble_simplify.grid import Axes, distinct_rows, limits, time_left
from ensemble_simplify.proof import Lines, NumberLines, n_near, within

# Without a time limit, leaves are only forecast with fewer points times trees.
ADVICE_POINTS = 1e9
# The share of volume is no promise here: this share of the usual effort measures it.
VOLUME_EFFORT = 0.125
# Forecast of the seconds to write a tree, for each tree of the ensemble: most are for the
# probabilities of leaves that no row reaches.
WRITING_SECONDS = 8e-3


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
    shape, seed = problem.axes.shape, rng.randint(1 << 31)
    most = ADVICE_POINTS / problem.forest.n_trees
    if np.isinf(time_left()) and n_near(len(cells), shape, max_changes) > most:
        return None
    return forecast_near(
        lines_of(problem),
        shape,
        cells,
        max_changes,
        rng=np.random.default_rng(seed),
        closeness=problem.trees.tolerance,
    )


@dataclass(frozen=True, eq=False)
class Training:
    """Training rows of positive weight; those of one cell and target are one."""

    rows: np.ndarray  # float32
    targets: np.ndarray  # class indices, or numbers
    weight: np.ndarray
    cells: np.ndarray  # int32, a column for each axis

    @classmethod
    def of(cls, read) -> Training:
        """The rows of a `Reading`."""
        arrays = read.rows.astype(np.float32), read.targets, read.weight, read.cells
        rows, targets, weight, cells = (array[read.counted] for array in arrays)
        number = np.unique(targets, return_inverse=True)[1]
        first, place = distinct_rows(np.column_stack([cells, number]))
        return cls(rows[first], targets[first], np.bincount(place, weight), cells[first])


@dataclass(frozen=True, eq=False)
class Finer:
    """Training rows that an ensemble answers otherwise than what float32 makes of them."""

    rows: np.ndarray  # as they were given, as numbers
    cells: np.ndarray  # int32, a column for each axis
    answers: np.ndarray  # what the ensemble itself answers: class indices, or rows of numbers
    rounded: np.ndarray  # and the answers of the cells
    weights: np.ndarray

    @classmethod
    def of(cls, read) -> Finer:
        """Those of a `Reading`, of positive weight; none where the ensemble rounds rows itself."""
        given, rounded = read.answers or (np.zeros(0, dtype=np.intp),) * 2
        apart = given != rounded
        at = np.flatnonzero(apart if apart.ndim == 1 else apart.any(axis=1))
        at = at[read.weight[at] > 0]
        return cls(read.rows[at], read.cells[at], given[at], rounded[at], read.weight[at])

    def wrong(self, told, closeness) -> np.ndarray:
        """How many a tree that was asked answers otherwise, as given, and by their cells."""
        given, rounded = (
            ~are_alike(told, truth, closeness) for truth in (self.answers, self.rounded)
        )
        return np.array([given.sum(), rounded.sum()])


@dataclass(frozen=True, eq=False)
class NearRows:
    """The promise near training rows, and the trees on its path of exceptions."""

    max_changes: int
    axes: Axes  # of the ensemble, inside the domain
    training: Training
    finer: Finer
    trees: list  # of `PathTree`
    bounds: tuple[int, int]  # leaves that are needed without exceptions, and with those allowed
    seed: int  # of what is drawn to write one of the trees

    @classmethod
    def fit(cls, born, read: Reading, rng) -> NearRows:
        """Find the trees of an estimator, and let it become the one that is asked for."""
        finer, axes = Finer.of(read), read.problem.axes
        seconds = born._seconds_left(read, WRITING_SECONDS)
        with limits(seconds):
            search = _search(born, read, finer, rng)
            steps = search.path()
        born.n_points_ = as_int(search.n_points) + len(finer.rows)
        born.seen_share_ = 1.0 - search.n_unseen / born.n_points_
        born.n_cells_ = cells_as_int(read.problem.trees.shape)
        born.n_regions_ = n_regions(axes.shape)
        born.path_ = path_bunch(steps, finer, born._tolerance)
        bounds = search.leaves_bound, search.least_leaves(born.tolerance)
        seed = rng.randint(1 << 31)
        promise = cls(born.max_changes, axes, Training.of(read), finer, steps, bounds, seed)
        place = chosen_step(born.path_, born.tolerance, born.max_leaf_nodes)
        promise.take(born, place, read.problem)
        if born.method == "exact" and born.status_ != "optimal":
            raise ValueError(
                f"method='exact', but the tree that was found is not proven smallest: it has "
                f"{born.n_leaves_} leaves, and {born.n_leaves_lower_bound_} leaves are needed at "
                "least. Use method='auto', or raise time_limit."
            )
        if born.path_.weighted_share[-1]:
            _tell_of_exceptions(born, search.n_unseen)
        report(
            born,
            f"{born.n_leaves_} leaves; exceptions, or not looked at: {born.n_exceptions_:,} of "
            f"{born.n_points_:,} points ({born.n_row_exceptions_} training rows)",
        )
        return promise

    def take(self, born, place, problem) -> None:
        """Let an estimator become the tree at a place on the path."""
        path, step = born.path_, self.trees[place]
        tree = CellTree(step.nodes)
        born.n_exceptions_ = int(path.n_exceptions[place])
        born.n_row_exceptions_ = int(path.n_row_exceptions[place])
        born.fidelity_ = float(path.agreement[place])
        born._set_tree_sizes(tree, tree)
        bound = self.bounds[0] if path.weighted_share[place] == 0 else self.bounds[1]
        born.n_leaves_lower_bound_ = min(bound, born.n_leaves_)
        born.depth_lower_bound_ = (born.n_leaves_lower_bound_ - 1).bit_length()
        # a limit can end the search before there is a tree with the promise
        is_kept = path.weighted_share[-1] == 0
        optimal = is_kept and born.n_leaves_ == born.n_leaves_lower_bound_
        born.status_ = "optimal" if optimal else "feasible"
        fitted = TreeOnRows.of(tree, problem.axes, self.training)
        fitted.rows = fitted.rows.astype(np.float64)
        fitted.ends = step.ends(fitted.nodes.leaves)
        rng = np.random.RandomState(self.seed)
        born._set_volume(True, problem.forest, fitted, fitted.rows, rng, VOLUME_EFFORT)
        born._write(problem, fitted, rng)

    def widened(self, born, closeness, problem) -> NearRows:
        """The promise with a wider tolerance: the smallest of its trees, cut back, that keeps it.

        The estimator gets its path.
        """
        training = self.training
        known = lines_of(problem).answers_of(training.cells, to_end=True)
        cut = [
            step.within(closeness, training.cells, known, training.weight) for step in self.trees
        ]
        step = min((step for step in cut if step is not None), key=lambda step: step.n_leaves)
        born.path_ = path_bunch([step], self.finer, closeness)
        return replace(self, trees=[step], bounds=(min(2, step.n_leaves),) * 2)

    def covers(self, X, inside) -> np.ndarray:
        """Which rows, inside the domain, lie in a cell near enough to that of a training row."""
        known = self.training.cells[distinct_rows(self.training.cells)[0]]
        return inside & within(self.axes.encode_rows(X).T, known, self.max_changes)

    def proofs(self, table) -> list[dict]:
        """Where a proof has to look, as keywords of `verify`.

        A training row of each cell and class stands for the others; finer rows are as given.
        """
        known = self.training.rows.astype(self.finer.rows.dtype)
        rows = table.shown(np.concatenate([known, self.finer.rows]))
        return [{"X": rows, "max_changes": self.max_changes}]


def _search(born, read, finer, rng):
    """The search for a tree near the training rows, ended; or an error that says what to do."""
    name, allowed, cells = name_of(born), born._memory(), read.cells[read.counted]
    try:
        search = LineSearch(
            lines_of(read.problem),
            read.problem.axes.shape,
            cells,
            read.weight[read.counted],
            born.max_changes,
            row_share=born.row_share,
            max_bytes=allowed,
            rng=np.random.default_rng(rng.randint(1 << 31)),
            report=partial(report, born),
            finer=finer,
            closeness=born._tolerance,
        )
        search.find()
        if born.max_changes <= 1:
            search.explore()
    except TooManyPoints as error:
        raise ValueError(
            f"max_changes={born.max_changes} promises answers at "
            f"{count_in_words(error.n_points)} points near the training rows of {name}. These "
            "are too many to compare without a time_limit. Use max_changes=1, or set "
            "time_limit."
        ) from error
    except TooLarge as error:
        raise ValueError(
            f"The points near {len(cells):,} rows take about "
            f"{count_in_words(float(error.n_bytes))} bytes, and max_memory allows "
            f"{count_in_words(float(allowed))}. Use fewer rows or max_changes=0, or "
            "raise max_memory."
        ) from error
    except NoTreeInTime as error:
        raise TimeLimitError(
            f"time_limit={born.time_limit} seconds were over before a tree was found that "
            f"answers as {name} near its training rows (max_changes={born.max_changes}). "
            "Raise time_limit, or use a smaller max_changes."
        ) from error
    search.bound(prove=born.method != "heuristic")
    return search


def _tell_of_exceptions(born, n_unseen):
    """Warn that a limit left exceptions, or points that were not looked at."""
    counted = (
        f"The tree has leaves={born.n_leaves_}. Of the {born.n_points_:,} promised points, "
        f"{born.n_exceptions_ - n_unseen:,} get another answer than from the ensemble"
    )
    if n_unseen:
        # rounded down: not all were looked at
        share = np.floor(1000.0 * born.seen_share_) / 10.0
        counted += f", and {n_unseen:,} more were not looked at (seen: {share:.1f} %)"
    warn_out_of_time(
        f"time_limit={born.time_limit} seconds ended the search before a tree was found that "
        f"keeps the promise of max_changes={born.max_changes}. {counted}. All of these count "
        "as n_exceptions_. Raise time_limit, or use fewer rows or max_changes=0."
    )


def check_promise(model) -> None:
    """Refuse parameters that do not go with one another, before any work is done."""
    if model.max_changes is None:
        for name, value in (("tolerance", 0), ("max_leaf_nodes", None)):
            if getattr(model, name) != value:
                raise ValueError(
                    f"{name}={getattr(model, name)!r} needs max_changes: exceptions are counted "
                    "among points near training rows. Set max_changes=0 or 1, or leave it out."
                )
        return
    if model.objective in ("depth", "depth_then_leaves"):
        raise ValueError(
            f"objective={model.objective!r} does not go with max_changes={model.max_changes}: near "
            "training rows only the number of leaves is minimised. Use objective='auto' or "
            "'leaves'."
        )
    for name in ("post_prune", "merge_thresholds"):
        if getattr(model, name):
            raise ValueError(
                f"{name}=True does not go with max_changes={model.max_changes}: after it, the "
                "answers are kept on the training rows only. Use max_changes=0 for that, or "
                f"{name}=False."
            )
    if model.max_changes > 1 and model.atol is not None:
        raise ValueError(
            f"max_changes={model.max_changes} does not go with atol={model.atol!r}: with so many "
            "changes there are too many points to list. Use max_changes=None, 0 or 1."
        )
    if model.max_changes > 1 and (model.tolerance or model.max_leaf_nodes is not None):
        name = "tolerance" if model.tolerance else "max_leaf_nodes"
        raise ValueError(
            f"{name}={getattr(model, name)!r} does not go with max_changes={model.max_changes}: "
            "exceptions are counted among points that are listed, and with so many changes there "
            "are too many. Use max_changes=0 or 1."
        )


def path_bunch(steps, finer, closeness) -> Bunch:
    """The path of exceptions as a Bunch of arrays; each finer row is a point of its own."""
    names = [
        "n_leaves", "n_exceptions", "n_row_exceptions", "weighted_share", "held_share", "agreement",
    ]  # fmt: skip
    if closeness is not None and not closeness.labelled:
        names += ["r2", "max_difference"]
    path = Bunch(**{name: np.array([getattr(step, name) for step in steps]) for name in names})
    wrong = [finer.wrong(step.answers_at(finer.cells), closeness) for step in steps]
    given, rounded = np.array(wrong).T
    path.n_exceptions += given
    path.n_row_exceptions += given - rounded
    return path


def chosen_step(path, tolerance=0.0, n_leaves=None) -> int:
    """Place on a path of the first tree within the tolerance, or the last of so many leaves."""
    within = np.flatnonzero(path.weighted_share <= tolerance)
    place = int(within[0]) if within.size else len(path.n_leaves) - 1
    if n_leaves is not None:
        place = min(place, int(np.searchsorted(path.n_leaves, n_leaves, side="right")) - 1)
    return place
