"""What the born-again estimators share: how a tree is found, proven and told."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from time import monotonic
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ensemble_simplify.base import (
    Fittable,
    Interval,
    StrOptions,
    TakesWhatItsEstimatorTakes,
    TimeLimitError,
    answers_to_finer_rows,
    available_memory,
    check_atol,
    check_readable,
    check_weights,
    checked_rows,
    encoded,
    fit_or_unwrap,
    promised_domain,
    promised_rows,
    report,
    share_in_words,
    unmoved_by_rounding,
    warn,
    warn_out_of_time,
)
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
    read_problem,
)
from ensemble_simplify.born_again.everywhere._search import (
    CellTree,
    n_regions,
    regions_forecast,
)
from ensemble_simplify.born_again.everywhere._tolerance import Tolerance
from ensemble_simplify.born_again.near._leaf_answers import last_alike
from ensemble_simplify.born_again.near._line_search import (
    LineSearch,
    NoTreeInTime,
    TooManyPoints,
    forecast_near,
)
from ensemble_simplify.born_again.near._near_promise import (
    Finer,
    Promise,
    Training,
    check_promise,
    chosen_step,
    path_bunch,
)
from ensemble_simplify.grid import Domain, limited, limits, time_left, with_missing
from ensemble_simplify.proof import Lines, NumberLines, Verification, n_near, verify
from ensemble_simplify.reading import VOTE_SECONDS, Model

MEMORY_SHARE = 0.5  # Share of the memory free at the start of fit that the search may use.
# An error that advises `max_changes` names the leaves of trees that are quickly found near the
# training rows. Under a time limit, each of them gets so many seconds.
ADVICE_SECONDS = 2.0
# Without a time limit, trees are only searched for this advice with fewer points times trees.
ADVICE_POINTS = 1e9
# With `max_changes`, the share of volume is no promise: this share of the usual effort measures it.
NEAR_EFFORT = 0.125
# Forecast of the seconds to write a tree near training rows, for each tree of the ensemble: most
# are for the probabilities of leaves that no row reaches.
WRITING_SECONDS = 8e-3
WRITING_SHARE = 0.3  # Share of a time limit that may be reserved for writing.


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


def leaves_near(problem, cells, max_changes, rng):
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


class BornAgain(TakesWhatItsEstimatorTakes):
    """Base of the estimators whose tree answers as an ensemble."""

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [Fittable(), None],
        "objective": [StrOptions({"auto", "depth", "leaves", "depth_then_leaves"})],
        "method": [StrOptions({"auto", "exact", "heuristic"})],
        "max_changes": [Interval(Integral, 0, None, closed="left"), None],
        "tolerance": [Interval(Real, 0, 1, closed="left")],
        "max_leaf_nodes": [Interval(Integral, 1, None, closed="left"), None],
        "row_share": [Interval(Real, 0, 1, closed="left")],
        "domain": [Domain, dict, None],
        "max_memory": [Interval(Real, 0, None, closed="neither"), None],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    # parameters
    estimator: Any
    atol: Any
    objective: str
    method: str
    max_changes: Any
    tolerance: float
    max_leaf_nodes: Any
    row_share: float
    domain: Any
    max_memory: float | None
    time_limit: float | None
    random_state: Any
    verbose: int
    set_params: Any
    # what `fit` keeps
    atol_: Any
    volume_fidelity_: float
    _inside: Any
    _table: Any
    _missing_by_default: Any
    _deviation: Any
    _bounds: Any
    # what only the classifier can choose
    voting = "estimator"
    post_prune = merge_thresholds = False
    # how far the answers of the tree may be from those of the ensemble, as `Tolerance` has it;
    # None: they are the same classes
    _tolerance: Tolerance | None = None

    @property
    def _is_labelled(self):
        """Whether answers are a class and its probabilities."""
        return self._tolerance is not None and self._tolerance.labelled

    # ------------------------------------------------------------ what each estimator says itself

    def _check(self):
        """Refuse parameters that do not go with one another, before any work is done."""
        check_promise(self)

    def _default(self, rng):
        """The ensemble that stands for None."""
        raise NotImplementedError

    def _read_targets(self, y, forest):
        """Targets as the tree is written with them."""
        raise NotImplementedError

    def _read_tolerance(self, model, rows, weight):
        """What leaves may answer; None: the class of the ensemble."""
        raise NotImplementedError

    def _write(self, problem, axes, tree, nodes, leaf_of_row, rows, targets, weight, rng, ends):
        """Set the scikit-learn tree of a tree over `axes`, with `nodes` over features.

        Its leaves answer as the ensemble does as `problem` has it. `ends` are those of `Result`.
        """
        raise NotImplementedError

    def _chosen(self, nodes, lower, upper, wish):
        """What leaves answer within a tolerance, as near to a wish as it allows; kept by node."""
        answers = self._tolerance.chosen(lower, upper, wish)
        self._leaf_answers = np.full((nodes.n_nodes, answers.shape[1]), np.nan)
        self._leaf_answers[nodes.leaves] = answers
        return answers

    # ------------------------------------------------------------------------------------ fit

    def _fit(self, X, y, sample_weight):
        """`fit`, but for its text."""
        is_regressor = isinstance(self, RegressorMixin)
        check_readable(self.estimator)
        self._check()
        rows, y = checked_rows(self, X, y, regression=is_regressor)
        weight = check_weights(sample_weight, rows.given)
        rng = check_random_state(self.random_state)
        self.estimator_ = fit_or_unwrap(
            self.estimator,
            rows.given,
            y,
            None if sample_weight is None else weight,
            default=self._default(rng),
        )
        begin = monotonic()
        model = Model.of(
            self.estimator_, voting=self.voting, classifier=not is_regressor, rows=rows.given
        )
        forest = model.forest
        rows = encoded(self, model, rows)
        X = rows.numbers
        targets = self._read_targets(y, forest)
        domain = promised_domain(self, model, X)
        self._may_miss = None if domain is None or not domain.missing.any() else domain.missing
        counted = weight > 0
        self._tolerance = tolerance = self._read_tolerance(model, rows, weight)
        answers = answers_to_finer_rows(model, rows, counted, probabilities=self._is_labelled)

        whole = problem = read_problem(forest, domain, tolerance=tolerance)
        if self.merge_thresholds:
            elapsed = monotonic() - begin
            with limits(None if self.time_limit is None else self.time_limit - elapsed):
                problem = read_problem(forest, domain, X[counted])
            before, after = (count_in_words(_cells(p.trees.shape)) for p in (whole, problem))
            report(self, f"merged thresholds: {after} of {before} cells left")
        self._threshold = problem.forest.threshold
        cells = np.ascontiguousarray(problem.axes.encode_rows(X.astype(np.float32)).T)
        # where only the ensemble itself tells rows apart, nothing is promised
        self._finer_axes = whole.axes if forest.is_finer else None
        self.n_rows_ = int(counted.sum())
        if self.max_changes is not None:
            finer = Finer.of(X, cells, answers, weight)
            training = Training.of(X.astype(np.float32), targets, weight, cells)
            seconds = self._seconds_left(begin, forest, len(X), WRITING_SECONDS)
            kept = cells[counted], weight[counted], finer
            with limits(seconds):
                search = self._search_near(problem, *kept, rng)
                steps = search.path()
            self._set_path(search, steps, problem, training, finer, rng)
            return self
        for name in ("n_points_", "seen_share_", "n_exceptions_", "path_"):
            setattr(self, name, None)
        seconds = self._seconds_left(begin, forest, len(X))
        found = self._search(problem, cells[counted], rng, seconds)
        tree, nodes = found.tree, problem.axes.decode(found.tree.nodes)
        leaf_of_row = tree.apply(cells)
        if self.post_prune:
            empty = tree.is_leaf
            empty[leaf_of_row[counted]] = False
            tree = tree.without(empty)
            nodes = problem.axes.decode(tree.nodes)
            leaf_of_row = tree.apply(cells)
        self._set_sizes(found, tree)
        changed = self.n_leaves_ < found.tree.n_leaves or not np.array_equal(
            whole.forest.threshold, problem.forest.threshold
        )
        self._set_fidelity(changed, whole.forest, domain, tree, nodes, X[counted], rng)
        read = whole if domain is None else Problem.of(replace(forest, missing=self._may_miss))
        arrays = nodes, leaf_of_row, X, targets, weight, rng, found.ends
        self._write(read, problem.axes, tree, *arrays)
        self._finer_rows = self._count_exceptions(tree, leaf_of_row, X, answers, counted)
        self._tell(found)
        return self

    def _set_path(self, search, steps, problem, training, finer, rng):
        """Write a tree that keeps the promise near the training rows, and its path."""
        self.n_points_ = _whole(search.n_points) + len(finer.rows)
        self.seen_share_ = 1.0 - search.n_unseen / self.n_points_
        self.n_cells_, self.n_regions_ = _cells(problem.trees.shape), n_regions(problem.axes.shape)
        self.path_ = path_bunch(steps, finer, self._tolerance)
        self._promise = Promise(self.max_changes, problem.axes, training, finer, steps)
        self._bounds = search.leaves_bound, search.least_leaves(self.tolerance)
        self._seed = rng.randint(1 << 31)
        place = chosen_step(self.path_, self.tolerance, self.max_leaf_nodes)
        self._set_step(place, problem)
        if self.method == "exact" and self.status_ != "optimal":
            raise ValueError(
                f"method='exact', but the tree that was found is not proven smallest: it has "
                f"{self.n_leaves_} leaves, and {self.n_leaves_lower_bound_} leaves are needed at "
                "least. Use method='auto', or raise time_limit."
            )
        if self.path_.weighted_share[-1]:
            self._tell_of_exceptions(search.n_unseen)
        report(
            self,
            f"{self.n_leaves_} leaves; exceptions, or not looked at: {self.n_exceptions_:,} of "
            f"{self.n_points_:,} points ({self.n_row_exceptions_} training rows)",
        )

    def _tell_of_exceptions(self, n_unseen):
        """Warn that a limit left exceptions, or points that were not looked at."""
        counted = (
            f"The tree has leaves={self.n_leaves_}. Of the {self.n_points_:,} promised points, "
            f"{self.n_exceptions_ - n_unseen:,} get another answer than from the ensemble"
        )
        if n_unseen:
            # rounded down: not all were looked at
            share = np.floor(1000.0 * self.seen_share_) / 10.0
            counted += f", and {n_unseen:,} more were not looked at (seen: {share:.1f} %)"
        warn_out_of_time(
            f"time_limit={self.time_limit} seconds ended the search before a tree was found that "
            f"keeps the promise of max_changes={self.max_changes}. {counted}. All of these count "
            "as n_exceptions_. Raise time_limit, or use fewer rows or max_changes=0."
        )

    def _search_near(self, problem, cells, weight, finer, rng):
        """The search for a tree near the training rows, ended; or an error that says what to do."""
        name = f"estimator={type(self.estimator_).__name__}(...)"
        try:
            search = LineSearch(
                lines_of(problem),
                problem.axes.shape,
                cells,
                weight,
                self.max_changes,
                row_share=self.row_share,
                max_bytes=self._memory(),
                rng=np.random.default_rng(rng.randint(1 << 31)),
                report=partial(report, self),
                finer=finer,
                closeness=self._tolerance,
            )
            search.find()
            if self.max_changes <= 1:
                search.explore()
        except TooManyPoints as error:
            raise ValueError(
                f"max_changes={self.max_changes} promises answers at "
                f"{count_in_words(error.n_points)} points near the training rows of {name}. These "
                "are too many to compare without a time_limit. Use max_changes=1, or set "
                "time_limit."
            ) from error
        except TooLarge as error:
            raise ValueError(
                f"The points near {len(cells):,} rows take about "
                f"{count_in_words(float(error.n_bytes))} bytes, and max_memory allows "
                f"{count_in_words(float(self._memory()))}. Use fewer rows or max_changes=0, or "
                "raise max_memory."
            ) from error
        except NoTreeInTime as error:
            raise TimeLimitError(
                f"time_limit={self.time_limit} seconds were over before a tree was found that "
                f"answers as {name} near its training rows (max_changes={self.max_changes}). "
                "Raise time_limit, or use a smaller max_changes."
            ) from error
        search.bound(prove=self.method != "heuristic")
        return search

    def _set_step(self, place, problem):
        """Become the tree at a place on the path."""
        path, promise = self.path_, self._promise
        training, step = promise.training, promise.trees[place]
        tree = CellTree(step.nodes)
        self.n_exceptions_ = int(path.n_exceptions[place])
        self.n_row_exceptions_ = int(path.n_row_exceptions[place])
        self.fidelity_ = float(path.agreement[place])
        self._set_tree_sizes(tree, tree)
        bound = self._bounds[0] if path.weighted_share[place] == 0 else self._bounds[1]
        self.n_leaves_lower_bound_ = min(bound, self.n_leaves_)
        self.depth_lower_bound_ = (self.n_leaves_lower_bound_ - 1).bit_length()
        # a limit can end the search before there is a tree with the promise
        is_kept = path.weighted_share[-1] == 0
        optimal = is_kept and self.n_leaves_ == self.n_leaves_lower_bound_
        self.status_ = "optimal" if optimal else "feasible"
        nodes, rng = problem.axes.decode(tree.nodes), np.random.RandomState(self._seed)
        rows = training.rows.astype(np.float64)
        measured = self.fidelity_, NEAR_EFFORT
        self._set_fidelity(True, problem.forest, self._inside, tree, nodes, rows, rng, *measured)
        leaf_of_row = tree.apply(training.cells)
        labels = training.targets, training.weight
        ends = step.ends(nodes.leaves)
        self._write(problem, problem.axes, tree, nodes, leaf_of_row, rows, *labels, rng, ends)

    def _set_fidelity(
        self, changed, forest, domain, tree, nodes, X, rng, measured=np.nan, effort=1.0
    ):
        """Set what is known of the agreement of the tree, its nodes over features, and forest."""
        self.fidelity_ = measured if changed else 1.0

    def _count_exceptions(self, tree, leaf_of_row, X, answers, counted):
        """Set how many training rows the ensemble itself answers otherwise than the tree.

        Returns the rows, as numbers, of which it says another thing than of what float32 makes
        of them.
        """
        self.n_row_exceptions_ = 0
        if answers is None:
            return X[:0]
        given, rounded = (np.reshape(answer, (len(X), -1)) for answer in answers)
        if self._tolerance is None:
            differs = given[:, 0] != tree.nodes[leaf_of_row, 1]
        else:
            ends = self._tolerance.ends(given)
            values = self._leaf_answers[leaf_of_row]
            differs = ((values < ends[0]) | (values > ends[1])).any(axis=1)
        self.n_row_exceptions_ = int(differs[counted].sum())
        if self.n_row_exceptions_ and self.fidelity_ == 1:
            self.fidelity_ = 1.0 - self.n_row_exceptions_ / self.n_rows_
        return X[(given != rounded).any(axis=1) & counted]

    def _seconds_left(self, begin, forest, n_rows, a_tree=0.0):
        """Time for the search: without what went by, and what leaf probabilities will take.

        `a_tree` is what else is needed for each tree, as far as the limit can spare it.
        """
        if self.time_limit is None:
            return np.inf
        writing = VOTE_SECONDS * n_rows * forest.n_trees
        writing += min(a_tree * forest.n_trees, WRITING_SHARE * self.time_limit)
        return self.time_limit - (monotonic() - begin) - writing

    def _search(self, problem, cells, rng, seconds):
        """A faithful tree, or an error that tells what to change; `cells` are the rows'."""
        allowed = self._memory()
        shape, forest = problem.trees.shape, problem.forest
        name = f"estimator={type(self.estimator_).__name__}(...)"
        wanted = f"answers as {name}"
        if self._tolerance is not None:
            wanted = f"is within {self._tolerance.atol:.4g} of {name}"
        report(
            self, f"{forest.n_trees} trees, {count_in_words(_cells(shape))} cells before merging"
        )
        try:
            with limits(seconds):
                return find_tree(
                    problem,
                    "depth_then_leaves" if self.objective == "auto" else self.objective,
                    method=self.method,
                    max_bytes=allowed,
                    rng=np.random.default_rng(rng.randint(1 << 31)),
                    report=partial(report, self),
                    warn=partial(report, self) if self.verbose else warn,
                )
        except Tied as error:
            raise ValueError(
                f"atol={self.atol!r} stands for {self._tolerance.atol:.4g}, which is too little. "
                f"For some input, two classes of {name} are so nearly equally probable that no "
                "tree can keep the class and this tolerance. Use an atol of 1e-5 or more."
            ) from error
        except TooManyAnswers as error:
            raise ValueError(self._too_many_answers()) from error
        except TooLarge as error:
            raise ValueError(self._too_large(shape, error.n_bytes, allowed)) from error
        except TooManyLeaves as error:
            raise ValueError(
                f"A tree that {wanted} at every input is expected to have about "
                f"{count_in_words(error.n_leaves)} leaves ({forest.n_trees} trees, "
                f"{problem.axes.n_cuts.sum():,} distinct thresholds). At most {MAX_LEAVES:,} are "
                f"written out. {self._advice(problem, cells, rng)} For a small tree with "
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
                f"time_limit={self.time_limit} seconds were over before a tree was found that "
                f"{wanted} at every input ({count_in_words(_cells(shape))} cells).{forecast} Set "
                "max_changes=1 or 0 for a tree that answers alike near the training rows; it is "
                "found for any ensemble. Or use fewer or shallower trees, or features of fewer "
                "distinct values (for instance by KBinsDiscretizer), or raise time_limit."
            ) from error

    def _advice(self, problem, cells, rng):
        """Advice for an error: values of `max_changes`, and the leaves of trees found with them."""
        ways = {
            1: "at every point that differs from a training row in a single feature",
            0: "on the training rows",
        }
        advice = []
        answer = "the same answer" if self._tolerance is None else "an answer within atol"
        seconds = np.inf if self.time_limit is None else ADVICE_SECONDS
        for max_changes, where in ways.items():
            with limits(seconds):
                n_leaves = leaves_near(problem, cells, max_changes, rng)
            size = "a tree" if n_leaves is None else f"a tree of {n_leaves:,} leaves or fewer"
            advice.append(f"max_changes={max_changes} promises {answer} {where}, by {size}")
        return f"{'; '.join(advice)}."

    def _asked(self):
        """The ensemble, as it was read."""
        return Model.of(self.estimator_, voting=self.voting, rows=self._table, check=False)

    def _memory(self):
        return available_memory() * MEMORY_SHARE if self.max_memory is None else self.max_memory

    def _too_many_answers(self):
        return (
            f"estimator={type(self.estimator_).__name__}(...) has more different answers than the "
            f"{UNNAMED:,} that the exact search tells apart. Use method='auto' or 'heuristic', or "
            "fewer or shallower trees."
        )

    def _too_large(self, shape, n_bytes, allowed):
        return (
            f"estimator={type(self.estimator_).__name__}(...) divides the feature space into "
            f"{count_in_words(_cells(shape))} cells ({count_in_words(regions_forecast(shape))} "
            f"regions). The exact search needs about {count_in_words(float(n_bytes))} bytes, and "
            f"max_memory allows {count_in_words(float(allowed))}. Use method='auto' or "
            "'heuristic', fewer or shallower trees, or features of fewer distinct values (for "
            "instance by KBinsDiscretizer), or raise max_memory."
        )

    def _set_tree_sizes(self, tree, unpruned):
        """Set the size of the tree; `unpruned` is the one that was found."""
        self.depth_, self.n_leaves_ = tree.depth, tree.n_leaves

    def _set_sizes(self, found, tree):
        self._set_tree_sizes(tree, found.tree)
        self.depth_lower_bound_ = found.depth_bound
        self.n_leaves_lower_bound_ = found.leaves_bound
        self.n_cells_ = _cells(found.shape)
        self.n_regions_ = n_regions(found.shape)
        self.status_ = "optimal" if found.optimal else "feasible"

    def _tell(self, found):
        """Print what was found, and warn if a limit ended the search."""
        depth, n_leaves = found.tree.depth, found.tree.n_leaves
        report(
            self,
            f"depth {depth} (at least {self.depth_lower_bound_}), "
            f"{n_leaves} leaves (at least {self.n_leaves_lower_bound_}), "
            f"{self.status_}",
        )
        if self.n_leaves_ < n_leaves:
            report(
                self,
                f"pruned to depth {self.depth_}, {self.n_leaves_} leaves; "
                f"volume fidelity {self.volume_fidelity_:.6g}",
            )
        if self.status_ == "feasible" and self.method != "heuristic":
            limit = "max_memory" if self.time_limit is None else "time_limit or max_memory"
            warn_out_of_time(
                f"{limit} ended the search. The tree that was found keeps the promise, but it may "
                f"not be the smallest. It has depth {depth} and {n_leaves} leaves. Every tree that "
                f"keeps the promise has at least depth {self.depth_lower_bound_} and "
                f"{self.n_leaves_lower_bound_} leaves."
            )

    @limited
    def verify(self, *, time_limit: float | None = None) -> Verification:
        """Prove that the tree keeps its promise, or find a row on which it does not.

        The promise is about every finite input, or those in `domain`; with `max_changes`, about
        the points near the training rows. With `atol`, values or probabilities are compared. The
        proof does not use the search. It bounds the votes of the ensemble on the box of each leaf,
        and divides the box where the bounds do not decide.

        Parameters
        ----------
        time_limit : float or None, default=None
            Seconds; None: no limit.

        Returns
        -------
        Verification
            True in a condition if the promise is proven. Otherwise False, with a row on which the
            two differ if one was found: see :func:`verify`. Training rows with numbers finer than
            float32 are compared, too (see `n_row_exceptions_`). After `post_prune` or
            `merge_thresholds`, or with exceptions, there often is a row that differs.
        """
        check_is_fitted(self)
        prove = partial(
            verify,
            self.estimator_,
            self,
            voting=self.voting,
            domain=with_missing(self.domain, self._missing_by_default),
            time_limit=time_limit,
        )
        places: list[dict] = [{}]
        if self.max_changes is not None:
            rows = self._table.shown(self._promise.rows)
            places = [{"X": rows, "max_changes": self.max_changes}]
        elif len(self._finer_rows):
            places.insert(0, {"X": self._table.shown(self._finer_rows), "max_changes": 0})
        # with a tolerance, classes have to be the same as well
        tolerances = [] if self._tolerance is None else [self._tolerance.atol]
        if self._tolerance is None or self._is_labelled:
            tolerances = [None, *tolerances]
        for place in places:
            for atol in tolerances:
                outcome = prove(atol=atol, **place)
                if not outcome:
                    return outcome
        return outcome

    def covers(self, X: ArrayLike) -> np.ndarray:
        """Which rows the promise reaches.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows. They are rounded to float32.

        Returns
        -------
        ndarray of bool, shape (n_samples,)
            Where the tree is promised to answer as the ensemble. Without `max_changes`, these are
            all rows inside `domain`. With it, these are the rows in the cell of a promised point:
            a point that differs from some training row in at most so many features. If
            `tolerance`, `max_leaf_nodes` or `time_limit` left exceptions, these are among the rows
            covered.

        Notes
        -----
        Three kinds of rows are never covered: rows that lack a value which may not be missing; rows
        that get another answer from the ensemble once they are rounded to float32; and, for a
        pipeline that answers float32 and float64 rows differently, rows of another type than those
        in ``fit``.
        """
        given = X
        X, inside = promised_rows(self, X)
        if self.max_changes is not None:
            inside &= self._promise.covers(X)
        if self._finer_axes is not None:
            inside = unmoved_by_rounding(
                self,
                self._finer_axes,
                [self._asked()],
                given,
                inside,
                probabilities=self._is_labelled,
            )
        return inside

    def at(
        self,
        *,
        n_leaves: int | None = None,
        tolerance: float | None = None,
        atol: float | str | None = None,
    ) -> Self:
        """Take a smaller tree with counted exceptions, without a new search.

        The trees are those of `path_`, which ``fit`` found with ``max_changes=0`` or 1.

        Parameters
        ----------
        n_leaves : int or None, default=None
            Largest number of leaves. Of the trees within it, the one with the fewest exceptions
            is taken.
        tolerance : float or None, default=None
            Largest share of the weight of the promised points that may be exceptions. The tree
            with the fewest leaves within it is taken. None, if `n_leaves` is given: 0.
        atol : float, str or None, default=None
            A wider tolerance than `atol_`, not together with the other two. The trees of the path
            are cut back as far as every promised point stays within this tolerance, and the
            smallest of them is taken. (A new search with this tolerance can find a smaller one.)

        Returns
        -------
        BornAgainClassifier or BornAgainRegressor
            A fitted copy. Its tree is one of `path_`. With `atol`, `path_` has this tree alone, and
            its agreement with held-out rows is not known (NaN).
        """
        check_is_fitted(self)
        if self.max_changes not in (0, 1):
            raise ValueError(
                f"max_changes={self.max_changes}: there is a path of exceptions with max_changes=0 "
                "or 1 only. Fit the estimator with one of them."
            )
        if atol is not None:
            return self._within(atol, n_leaves, tolerance)
        if n_leaves is None and tolerance is None:
            raise ValueError("n_leaves, tolerance and atol are all None. Give one of them.")
        if n_leaves is not None and not (isinstance(n_leaves, Integral) and n_leaves >= 1):
            raise ValueError(f"n_leaves={n_leaves!r} must be an integer of at least 1.")
        other = copy(self)
        other.set_params(tolerance=tolerance or 0.0, max_leaf_nodes=n_leaves)
        problem = read_problem(self._asked().forest, self._inside, tolerance=self._tolerance)
        other._set_step(chosen_step(self.path_, tolerance or 0.0, n_leaves), problem)
        return other

    def _within(self, atol, n_leaves, tolerance):
        """`at` for a wider tolerance."""
        check_atol(atol)
        if self._tolerance is None:
            raise ValueError(
                f"atol={atol!r} asks for a tolerance, but only classes were promised. Fit the "
                "estimator with atol."
            )
        if n_leaves is not None or tolerance is not None:
            raise ValueError(
                f"atol={atol!r} does not go with n_leaves={n_leaves!r}, tolerance={tolerance!r}: "
                "a tree within atol has no exceptions. Give atol alone."
            )
        if self.seen_share_ < 1.0:
            raise ValueError(
                f"atol={atol!r}: time_limit={self.time_limit} ended fit before all promised points "
                "were looked at. Fit the estimator again with this atol and more time."
            )
        share = share_in_words(atol) if isinstance(atol, str) else None
        number = float(atol) if share is None else share * self._deviation
        if number < self.atol_:
            raise ValueError(
                f"atol={atol!r} is {number:.6g}, less than atol_={self.atol_:.6g}, for which the "
                "trees were found. Fit the estimator with the smaller tolerance."
            )
        promise = self._promise
        problem = read_problem(self._asked().forest, self._inside, tolerance=self._tolerance)
        cells = promise.training.cells
        rows = cells, lines_of(problem).answers_of(cells, to_end=True), promise.training.weight
        other, closeness = copy(self), replace(self._tolerance, atol=number)
        other.set_params(atol=atol, tolerance=0.0, max_leaf_nodes=None)
        other._tolerance, other.atol_ = closeness, number
        steps = [step.within(closeness, *rows) for step in promise.trees]
        step = min((step for step in steps if step is not None), key=lambda step: step.n_leaves)
        other.path_ = path_bunch([step], promise.finer, closeness)
        other._promise = replace(promise, trees=[step])
        other._bounds = (min(2, step.n_leaves),) * 2
        other._set_step(0, problem)
        return other

    @limited
    def front(self, *, time_limit: float | None = None) -> list[tuple[int, int]]:
        """Find the fewest leaves for every depth, to see what a shallower tree costs.

        Parameters
        ----------
        time_limit : float or None, default=None
            Seconds; None: no limit.

        Returns
        -------
        list of (int, int)
            Pairs (depth, leaves), from the least depth to the fewest leaves. Each has the fewest
            leaves of all trees of at most this depth that answer as the ensemble: inside
            `domain`, with merged thresholds if `merge_thresholds`, and before `post_prune`.

        Raises
        ------
        ValueError
            If the exact search does not fit into `max_memory`.
        TimeLimitError
            If the time is over first.
        """
        check_is_fitted(self)
        whole = read_problem(self._asked().forest, self._inside).forest
        whole = replace(whole, threshold=self._threshold)
        problem = Problem.of(whole, self._inside, self._tolerance)
        allowed = self._memory()
        try:
            return find_front(problem, max_bytes=allowed)
        except TooManyAnswers as error:
            raise ValueError(self._too_many_answers()) from error
        except TooLarge as error:
            shape = problem.trees.shape
            raise ValueError(self._too_large(shape, error.n_bytes, allowed)) from error
        except OutOfTime as error:
            raise TimeLimitError(
                f"time_limit={time_limit} seconds were over before the front was complete. "
                "Raise time_limit, or use fewer or shallower trees."
            ) from error


def _whole(number):
    """A count, as an int where it is exact."""
    return int(number) if number < 2**53 else number


def _cells(shape):
    """Number of cells, as an int where 64 bits hold it."""
    return _whole(n_cells(shape))


def count_in_words(number):
    """A count for people: in full while it is short."""
    if number == np.inf:
        return "more than 1e308"
    return f"{int(number):,}" if number < 1e6 else f"{number:.2g}"
