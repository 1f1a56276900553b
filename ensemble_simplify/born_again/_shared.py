"""What the born-again estimators share: validate, read, have a tree found and written.

Which promise it keeps is an object: about every input (`_every_input`) or near the training rows
(`_near_rows`). It finds the tree, knows what it covers, and says where a proof has to look.
"""

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
)
from ensemble_simplify.born_again._every_input import EveryInput, front_of
from ensemble_simplify.born_again._near_rows import NearRows, check_promise, chosen_step
from ensemble_simplify.born_again._written_tree import Reading, cells_as_int, count_in_words
from ensemble_simplify.born_again.everywhere._planner import Problem, read_problem
from ensemble_simplify.born_again.everywhere._tolerance import Tolerance
from ensemble_simplify.grid import Domain, limited, limits, with_missing
from ensemble_simplify.proof import Verification, verify
from ensemble_simplify.reading import VOTE_SECONDS, Model
from ensemble_simplify.writing import counted

MEMORY_SHARE = 0.5  # Share of the memory free at the start of fit that the search may use.
WRITING_SHARE = 0.3  # Share of a time limit that may be reserved for writing.


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
    path_: Any
    seen_share_: float
    status_: str
    n_rows_: int
    n_row_exceptions_: int
    volume_fidelity_: float
    _inside: Any
    _table: Any
    _missing_by_default: Any
    _promise: Any
    _deviation: Any
    _leaf_answers: Any
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

    def _write(self, problem, fitted, rng):
        """Set the scikit-learn tree of a `TreeOnRows`.

        Its leaves answer as the ensemble does as `problem` has it.
        """
        raise NotImplementedError

    def _set_tree_sizes(self, tree, unpruned):
        """Set the size of the tree; `unpruned` is the one that was found."""
        self.depth_, self.n_leaves_ = tree.depth, tree.n_leaves

    def _set_volume(self, changed, forest, fitted, rows, rng, effort=1.0):
        """Set on what share of the volume of some rows a changed `TreeOnRows` answers alike."""

    def _chosen(self, fitted, wish) -> np.ndarray:
        """What leaves answer within a tolerance, as near to a wish as it allows; kept by node."""
        nodes = fitted.nodes
        answers = self._tolerance.chosen(fitted.ends[:, 0], fitted.ends[:, 1], wish)
        self._leaf_answers = np.full((nodes.n_nodes, answers.shape[1]), np.nan)
        self._leaf_answers[nodes.leaves] = answers
        return answers

    def __repr__(self, N_CHAR_MAX=700):
        """The parameters; once fitted, how many training rows are answered otherwise, if any."""
        text = super().__repr__(N_CHAR_MAX)  # ty: ignore[too-many-positional-arguments]
        if not vars(self).get("n_row_exceptions_"):
            return text
        about = "" if self._finer_axes is None else ", among trees for numbers of float32"
        return f"{text}\n# {self.status_}{about}; {self._told_exceptions()}"

    def _told_exceptions(self):
        """How many training rows the tree answers otherwise, in words."""
        rows = f"{self.n_row_exceptions_:,} of {counted(self.n_rows_, 'training row')}"
        return f"{rows} answered otherwise than by the ensemble"

    # ------------------------------------------------------------------------------------ fit

    def _fit(self, X, y, sample_weight) -> Self:
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
        read = self._read(rows, y, weight)
        promise = EveryInput if self.max_changes is None else NearRows
        self._promise = promise.fit(self, read, rng)
        return self

    def _read(self, rows, y, weight) -> Reading:
        """Read the fitted ensemble, and its rows: as they were given, and as numbers."""
        begin = monotonic()
        is_regressor = isinstance(self, RegressorMixin)
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
        self._tolerance = self._read_tolerance(model, rows, weight)
        answers = answers_to_finer_rows(model, rows, counted, probabilities=self._is_labelled)
        whole = problem = read_problem(forest, domain, tolerance=self._tolerance)
        if self.merge_thresholds:
            with limits(None if self.time_limit is None else begin + self.time_limit - monotonic()):
                problem = read_problem(forest, domain, X[counted])
            before, after = (count_in_words(cells_as_int(p.trees.shape)) for p in (whole, problem))
            report(self, f"merged thresholds: {after} of {before} cells left")
        self._threshold = problem.forest.threshold
        # where only the ensemble itself tells rows apart, nothing is promised
        self._finer_axes = whole.axes if forest.is_finer else None
        self.n_rows_ = int(counted.sum())
        cells = np.ascontiguousarray(problem.axes.encode_rows(X.astype(np.float32)).T)
        return Reading(begin, forest, domain, whole, problem, X, targets, weight, cells, answers)

    def _seconds_left(self, read, a_tree=0.0) -> float | None:
        """Time for the search: without what went by, and what leaf probabilities will take.

        `a_tree` is what else is needed for each tree, as far as the limit can spare it.
        """
        if self.time_limit is None:
            return None
        n_trees = read.forest.n_trees
        writing = VOTE_SECONDS * len(read.rows) * n_trees
        writing += min(a_tree * n_trees, WRITING_SHARE * self.time_limit)
        return self.time_limit - (monotonic() - read.begin) - writing

    def _asked(self):
        """The ensemble, as it was read."""
        return Model.of(self.estimator_, voting=self.voting, rows=self._table, check=False)

    def _memory(self) -> float:
        return available_memory() * MEMORY_SHARE if self.max_memory is None else self.max_memory

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
        # with a tolerance, classes have to be the same as well
        tolerances = [] if self._tolerance is None else [self._tolerance.atol]
        if self._tolerance is None or self._is_labelled:
            tolerances = [None, *tolerances]
        for place in self._promise.proofs(self._table):
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
        inside = self._promise.covers(X, inside)
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
        other._promise.take(other, chosen_step(self.path_, tolerance or 0.0, n_leaves), problem)
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
        problem = read_problem(self._asked().forest, self._inside, tolerance=self._tolerance)
        other, closeness = copy(self), replace(self._tolerance, atol=number)
        other.set_params(atol=atol, tolerance=0.0, max_leaf_nodes=None)
        other._tolerance, other.atol_ = closeness, number
        other._promise = self._promise.widened(other, closeness, problem)
        other._promise.take(other, 0, problem)
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
        return front_of(self, problem, time_limit)
