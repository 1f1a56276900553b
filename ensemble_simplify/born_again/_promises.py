"""What a born-again tree promises, and how it is found, filled and measured.

`Reading` is what is read before a search. A promise is an object: about every input (`EveryInput`),
or near the training rows (`NearRows`), with its path of exceptions. It has a tree found, and writes
it, or an error says what to change. Probabilities in leaves are the ensemble's own, averaged. A
tree that was changed after the search has the class of the ensemble on some share of a box of the
feature space, which is counted or drawn."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from ensemble_simplify.base import TimeLimitError, report, warn, warn_out_of_time
from ensemble_simplify.born_again.everywhere._grid import (
    UNNAMED,
    Tied,
    TooLarge,
    TooManyAnswers,
    n_cells,
)
from ensemble_simplify.born_again.everywhere._planner import (
    MAX_LEAVES,
    OutOfTime,
    Problem,
    TooManyLeaves,
    find_front,
    find_tree,
)
from ensemble_simplify.born_again.everywhere._search import CellTree, n_regions, regions_forecast
from ensemble_simplify.born_again.near._line_search import (
    LineSearch,
    NoTreeInTime,
    TooManyPoints,
    leaves_near,
    lines_of,
)
from ensemble_simplify.born_again.near._path_trees import are_alike
from ensemble_simplify.grid import (
    FREE,
    Axes,
    at_least,
    distinct_rows,
    leaf_boxes,
    limits,
)
from ensemble_simplify.proof import within
from ensemble_simplify.reading import Forest, Model

# Leaves that no training row reaches get their probabilities from random points: at most so many
# in a leaf,
POINTS_PER_LEAF = 16
POINTS = 1 << 15  # and about so many in all leaves, at least one in each;
POINTS_AT_ONCE = 1 << 16  # the ensemble is asked about so many at a time.

# So many votes of trees are added up in less time than an ensemble takes to check its rows.
FEW_VOTES = 1 << 16

# Cells that are looked at one by one; where there are more, points are drawn.
EXACT_CELLS = 1 << 24
SAMPLE, BATCH = 100_000, 4096

# Of rows held aside, so many have to get the ensemble's answer, or a warning tells of it.
AGREES = 0.98


@dataclass(eq=False)
class Reading:
    """An ensemble and its training rows, read."""

    begin: float  # when reading began, by ``time.monotonic()``
    forest: Forest
    domain: Any  # what `promised_domain` answers
    whole: Problem  # the forest inside the domain
    problem: Problem  # the same with merged thresholds: what is searched
    rows: np.ndarray  # numbers
    targets: np.ndarray
    weight: np.ndarray
    cells: np.ndarray  # int32, a column for each axis of `problem`
    answers: Any  # what `answers_to_finer_rows` gives

    @property
    def counted(self) -> np.ndarray:
        """Rows of positive weight."""
        return self.weight > 0


@dataclass(eq=False)
class TreeOnRows:
    """A tree over axes, and the training rows that it is written with."""

    tree: CellTree
    axes: Axes
    nodes: Any  # the tree over features
    rows: np.ndarray
    targets: np.ndarray
    weight: np.ndarray
    leaf_of_row: np.ndarray
    ends: np.ndarray | None  # those of `Result`

    @classmethod
    def of(cls, tree, axes, read, ends=None) -> TreeOnRows:
        """A tree with the rows, targets, weight and cells of a `Reading` or `Training`."""
        nodes, leaf_of_row = axes.decode(tree.nodes), tree.apply(read.cells)
        return cls(tree, axes, nodes, read.rows, read.targets, read.weight, leaf_of_row, ends)

    @property
    def labels(self) -> np.ndarray:
        """Class of each leaf."""
        return self.tree.nodes[self.nodes.leaves, 1]


def as_int(number):
    """A count, as an int where it is exact."""
    return int(number) if number < 2**53 else number


def cells_as_int(shape):
    """Number of cells, as an int where 64 bits hold it."""
    return as_int(n_cells(shape))


def count_in_words(number) -> str:
    """A count for people: in full while it is short."""
    if number == np.inf:
        return "more than 1e308"
    return f"{int(number):,}" if number < 1e6 else f"{number:.2g}"


def name_of(born) -> str:
    """The ensemble of an estimator, for errors."""
    return f"estimator={type(born.estimator_).__name__}(...)"


def leaf_probabilities(estimator, problem, fitted, rng, table) -> np.ndarray | None:
    """Weighted mean of an ensemble's probabilities in every leaf; None without ``predict_proba``.

    The problem is the ensemble as it was read, over its own axes; `fitted` is a `TreeOnRows`. In
    leaves that no row of positive weight reaches, random points count. `table` is what the
    estimator takes.
    """
    if not hasattr(estimator, "predict_proba") or problem.forest.n_classes == 1:
        # boosting of one class answers probabilities of two
        return None
    asked, forest = Model(estimator, table), problem.forest
    # inside a domain, a forest was read as it answers there
    is_known = forest.tells_probabilities and problem.trees.outside is None

    def proba_of(X):
        if is_known and len(X) * forest.n_trees <= FEW_VOTES:
            return forest.probabilities(table.rounded(X))
        return asked.answers(table.rounded(X), "predict_proba")

    tree, axes, weight = fitted.tree, fitted.axes, fitted.weight
    position = np.searchsorted(np.flatnonzero(tree.is_leaf), fitted.leaf_of_row)
    count = np.bincount(position, weights=weight, minlength=tree.n_leaves)
    total = np.stack(
        [
            np.bincount(position, weights=weight * column, minlength=tree.n_leaves)
            for column in proba_of(fitted.rows).T
        ],
        axis=1,
    )
    empty = np.flatnonzero(count == 0)
    if len(empty):
        n_points = min(POINTS_PER_LEAF, max(1, POINTS // len(empty)))
        _, first, last = leaf_boxes(tree.nodes, *axes.whole)
        for part in np.array_split(empty, -(-n_points * len(empty) // POINTS_AT_ONCE)):
            points = axes.sample(
                np.repeat(first[part], n_points, 0), np.repeat(last[part], n_points, 0), rng
            )
            proba = proba_of(points)
            total[part] = proba.reshape(len(part), n_points, -1).sum(axis=1)
        count[empty] = n_points
    proba = total / count[:, None]
    return proba / proba.sum(axis=1, keepdims=True)


def fidelity(trees, tree, weights, rng, effort=1.0):
    """Share of points that a tree classifies as a forest does, and the standard error of the share.

    `weights` are probabilities of the cells of each axis, which are independent; what is outside
    the domain does not count. `effort` is a factor on the cells that are looked at one by one, and
    on the points that are drawn. The error is 0 if, and only if, all cells were looked at; both
    are NaN if points had to be drawn, and none was inside the domain.
    """
    parts = _leaf_parts(trees, tree, weights, effort * EXACT_CELLS)
    if parts is None:
        return _sampled(trees, tree, weights, rng, int(effort * SAMPLE))
    agree = total = 0.0
    for part, part_weights, label in parts:
        labels = part.labels()
        agree += _weight(labels == label, part_weights)
        total += _weight(labels != FREE, part_weights) if trees.outside is not None else 0.0
    if trees.outside is None:
        # the weights of an axis sum up to one
        total = 1.0
    return float(min(agree / total, 1.0)), 0.0


def _leaf_parts(trees, tree, weights, max_cells):
    """For each leaf, the forest restricted to it and weights; None if there are too many cells."""
    parts, total = [], 0.0
    for at, lo, hi in zip(*leaf_boxes(tree.nodes, *trees.whole), strict=True):
        part, axes, cuts = trees.restricted(lo, hi)
        total += n_cells(part.shape)
        if total > max_cells:
            return None
        merged = [weights[a][lo[a] : hi[a] + 1] for a in range(len(hi))]
        rest = np.prod([merged[a].sum() for a in range(len(hi)) if a not in axes])
        merged = [
            np.add.reduceat(merged[a], np.concatenate([[0], c - lo[a] + 1]))
            for a, c in zip(axes, cuts, strict=True)
        ]
        parts.append((part, [rest, *merged], tree.nodes[at, 1]))
    return parts


def _weight(cells, weights):
    """Weight of the cells that are True: a factor first, then the weights of each axis."""
    factor, *weights = weights
    total = cells.astype(np.float64)
    for axis_weights in reversed(weights):
        total = total @ axis_weights
    return factor * float(total)


def _sampled(trees, tree, weights, rng, size):
    agree = n = 0
    for _ in range(0, size, BATCH):
        cells = np.column_stack([rng.choice(len(w), size=BATCH, p=w) for w in weights])
        cells = cells.astype(np.int32)
        labels = trees.labels_of(cells)
        inside = labels != FREE
        n += int(inside.sum())
        agree += int((tree.numbers_of(cells) == labels)[inside].sum())
    if n == 0:
        return np.nan, np.nan
    share = agree / n
    # as if one more point agreed and one did not: the error of the estimate is never zero
    near = (agree + 1) / (n + 2)
    return share, float(np.sqrt(near * (1 - near) / (n + 2)))


# The share of volume is no promise here: this share of the usual effort measures it.
VOLUME_EFFORT = 0.125
# Forecast of the seconds to write a tree, for each tree of the ensemble: most are for the
# probabilities of leaves that no row reaches.
WRITING_SECONDS = 8e-3


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

    at: np.ndarray  # which of the rows of positive weight they are
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
        place = np.searchsorted(np.flatnonzero(read.counted), at)
        return cls(place, read.rows[at], read.cells[at], given[at], rounded[at], read.weight[at])

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
        if born.max_changes == 0 and born._tolerance is None and born.fidelity_ < AGREES:
            warn(
                "max_changes=0 keeps the answers to these rows alone. A tree of this size that was "
                f"grown without a fifth of them answers {100.0 * (1.0 - born.fidelity_):.1f} % of "
                "that fifth otherwise than the ensemble; rows that this has not learned can fare "
                "worse. Use max_changes=1, or RepresenterTree for a small tree for new rows."
            )
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
            read.problem,
            cells,
            read.weight[read.counted],
            born.max_changes,
            np.random.default_rng(rng.randint(1 << 31)),
            row_share=born.row_share,
            max_bytes=allowed,
            report=partial(report, born),
            finer=finer,
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


def check_has_path(model) -> None:
    """Refuse an estimator that is not fitted, or has no path of exceptions."""
    check_is_fitted(model)
    if model.max_changes not in (0, 1):
        raise ValueError(
            f"max_changes={model.max_changes}: there is a path of exceptions with max_changes=0 or "
            "1 only. Fit the estimator with one of them."
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


# An error that advises `max_changes` names the leaves of trees that are quickly found near the
# training rows. Under a time limit, each of them gets so many seconds.
ADVICE_SECONDS = 2.0


class EveryInput:
    """The promise about every input, or those inside the domain.

    Attributes
    ----------
    finer_rows : array of shape (n, n_features)
        Training rows, as numbers, of which the ensemble says another thing than of what float32
        makes of them.
    """

    finer_rows: np.ndarray

    @classmethod
    def fit(cls, born, read: Reading, rng) -> EveryInput:
        """Find the tree of an estimator, and write it."""
        promise = cls()
        for name in ("n_points_", "seen_share_", "n_exceptions_", "path_"):
            setattr(born, name, None)
        problem, counted = read.problem, read.counted
        seconds = born._seconds_left(read)
        result = promise._find(born, read, seconds, rng)
        tree = result.tree
        if born.post_prune:
            empty = tree.is_leaf
            empty[tree.apply(read.cells)[counted]] = False
            tree = tree.without(empty)
        born._set_tree_sizes(tree, result.tree)
        born.depth_lower_bound_ = result.depth_bound
        born.n_leaves_lower_bound_ = result.leaves_bound
        born.n_cells_, born.n_regions_ = cells_as_int(result.shape), n_regions(result.shape)
        born.status_ = "optimal" if result.optimal else "feasible"
        fitted = TreeOnRows.of(tree, problem.axes, read, result.ends)
        whole = read.whole
        merged = not np.array_equal(whole.forest.threshold, problem.forest.threshold)
        changed = tree.n_leaves < result.tree.n_leaves or merged
        born.fidelity_ = np.nan if changed else 1.0
        born._set_volume(changed, whole.forest, fitted, read.rows[counted], rng)
        if read.domain is not None:
            # leaves are filled with the ensemble's answers anywhere, the domain or not
            whole = Problem.of(replace(read.forest, missing=born._may_miss))
        born._write(whole, fitted, rng)
        promise.finer_rows = promise._count_exceptions(born, read, fitted)
        promise._tell(born, result)
        return promise

    def _find(self, born, read, seconds, rng):
        """A faithful tree, or an error that tells what to change."""
        problem, forest, name = read.problem, read.problem.forest, name_of(born)
        n_cells, wanted = count_in_words(cells_as_int(problem.trees.shape)), f"answers as {name}"
        if born._tolerance is not None:
            wanted = f"is within {born._tolerance.atol:.4g} of {name}"
        report(born, f"{forest.n_trees} trees, {n_cells} cells before merging")
        allowed = born._memory()
        try:
            with refusals(born, problem.trees.shape, allowed), limits(seconds):
                return find_tree(
                    problem,
                    "depth_then_leaves" if born.objective == "auto" else born.objective,
                    method=born.method,
                    max_bytes=allowed,
                    rng=np.random.default_rng(rng.randint(1 << 31)),
                    report=partial(report, born),
                    warn=partial(report, born) if born.verbose else warn,
                )
        except Tied as error:
            raise ValueError(
                f"atol={born.atol!r} stands for {born._tolerance.atol:.4g}, which is too little. "
                f"For some input, two classes of {name} are so nearly equally probable that no "
                "tree can keep the class and this tolerance. Use an atol of 1e-5 or more."
            ) from error
        except TooManyLeaves as error:
            raise ValueError(
                f"A tree that {wanted} at every input is expected to have about "
                f"{count_in_words(error.n_leaves)} leaves ({forest.n_trees} trees, "
                f"{problem.axes.n_cuts.sum():,} distinct thresholds). At most {MAX_LEAVES:,} are "
                f"written out. {self._advice(born, read, rng)} For a small tree with "
                "measured agreement, use RepresenterTree. A tree for every input needs a far "
                "smaller ensemble: about ten shallow trees, and features of few distinct values "
                "(for instance by KBinsDiscretizer)."
            ) from error
        except OutOfTime as error:
            forecast = ""
            if error.share > 0:
                forecast = (
                    f" It had {error.n_leaves:,} leaves on {error.share:.2g} of the cells: "
                    f"expect about {count_in_words(error.n_leaves / error.share)} leaves."
                )
            raise TimeLimitError(
                f"time_limit={born.time_limit} seconds were over before a tree was found that "
                f"{wanted} at every input ({n_cells} cells).{forecast} Set "
                "max_changes=1 or 0 for a tree that answers alike near the training rows; it is "
                "found for any ensemble. Or use fewer or shallower trees, or features of fewer "
                "distinct values (for instance by KBinsDiscretizer), or raise time_limit."
            ) from error

    def _advice(self, born, read, rng):
        """Advice for an error: values of `max_changes`, and the leaves of trees found with them."""
        ways = {
            1: "at every point that differs from a training row in a single feature",
            0: "on the training rows",
        }
        advice = []
        answer = "the same answer" if born._tolerance is None else "an answer within atol"
        seconds = None if born.time_limit is None else ADVICE_SECONDS
        for max_changes, where in ways.items():
            with at_least(seconds or 0.0), limits(seconds):
                n_leaves = leaves_near(read.problem, read.cells[read.counted], max_changes, rng)
            size = "a tree" if n_leaves is None else f"a tree of {n_leaves:,} leaves or fewer"
            advice.append(f"max_changes={max_changes} promises {answer} {where}, by {size}")
        return f"{'; '.join(advice)}."

    def _count_exceptions(self, born, read, fitted):
        """Set how many training rows the ensemble itself answers otherwise than the tree.

        Returns `finer_rows`.
        """
        born.n_row_exceptions_ = 0
        if read.answers is None:
            return read.rows[:0]
        given, rounded = (np.reshape(answer, (len(read.rows), -1)) for answer in read.answers)
        if born._tolerance is None:
            differs = given[:, 0] != fitted.tree.nodes[fitted.leaf_of_row, 1]
        else:
            ends = born._tolerance.ends(given)
            values = born._leaf_answers[fitted.leaf_of_row]
            differs = ((values < ends[0]) | (values > ends[1])).any(axis=1)
        born.n_row_exceptions_ = int(differs[read.counted].sum())
        if born.n_row_exceptions_ and born.fidelity_ == 1:
            born.fidelity_ = 1.0 - born.n_row_exceptions_ / born.n_rows_
        return read.rows[(given != rounded).any(axis=1) & read.counted]

    def _tell(self, born, result):
        """Print what was found, and warn if a limit ended the search."""
        depth, n_leaves = result.tree.depth, result.tree.n_leaves
        report(
            born,
            f"depth {depth} (at least {born.depth_lower_bound_}), "
            f"{n_leaves} leaves (at least {born.n_leaves_lower_bound_}), "
            f"{born.status_}" + f"; {born._told_exceptions()}" * bool(born.n_row_exceptions_),
        )
        if born.n_leaves_ < n_leaves:
            report(
                born,
                f"pruned to depth {born.depth_}, {born.n_leaves_} leaves; "
                f"volume fidelity {born.volume_fidelity_:.6g}",
            )
        if born.status_ == "feasible" and born.method != "heuristic":
            limit = "max_memory" if born.time_limit is None else "time_limit or max_memory"
            warn_out_of_time(
                f"{limit} ended the search. The tree that was found keeps the promise, but it may "
                f"not be the smallest. It has depth {depth} and {n_leaves} leaves. Every tree that "
                f"keeps the promise has at least depth {born.depth_lower_bound_} and "
                f"{born.n_leaves_lower_bound_} leaves."
            )

    def covers(self, X, inside) -> np.ndarray:
        """Which rows the promise reaches, of those inside the domain."""
        return inside

    def proofs(self, table) -> list[dict]:
        """Where a proof has to look, as keywords of `verify`: finer rows come beside all inputs."""
        if not len(self.finer_rows):
            return [{}]
        return [{"X": table.shown(self.finer_rows), "max_changes": 0}, {}]


@contextmanager
def refusals(born, shape, allowed) -> Generator[None]:
    """Say what to do where the exact search over a grid of some shape cannot be begun."""
    try:
        yield
    except TooManyAnswers as error:
        raise ValueError(
            f"{name_of(born)} has more different answers than the {UNNAMED:,} that the exact "
            "search tells apart. Use method='auto' or 'heuristic', or fewer or shallower trees."
        ) from error
    except TooLarge as error:
        raise ValueError(
            f"{name_of(born)} divides the feature space into "
            f"{count_in_words(cells_as_int(shape))} cells "
            f"({count_in_words(regions_forecast(shape))} regions). The exact search needs about "
            f"{count_in_words(float(error.n_bytes))} bytes, and max_memory allows "
            f"{count_in_words(float(allowed))}. Use method='auto' or 'heuristic', fewer or "
            "shallower trees, or features of fewer distinct values (for instance by "
            "KBinsDiscretizer), or raise max_memory."
        ) from error


def front_of(born, problem, time_limit) -> list[tuple[int, int]]:
    """The fewest leaves for every depth; see `BornAgain.front`."""
    allowed = born._memory()
    try:
        with refusals(born, problem.trees.shape, allowed):
            return find_front(problem, max_bytes=allowed)
    except OutOfTime as error:
        raise TimeLimitError(
            f"time_limit={time_limit} seconds were over before the front was complete. "
            "Raise time_limit, or use fewer or shallower trees."
        ) from error
