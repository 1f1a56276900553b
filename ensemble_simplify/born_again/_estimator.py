"""The smallest single tree that gives the same class as an ensemble, or nearly the same numbers.

What both estimators share is `BornAgain`: validate, read, have a tree found and written. Which
promise the tree keeps is an object of `_promises`. It finds the tree, knows what it covers, and
says where a proof has to look."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ensemble_simplify.base import (
    Fittable,
    HoldsClassifierTree,
    HoldsTree,
    Interval,
    StrOptions,
    TakesWhatItsEstimatorTakes,
    absolute_tolerance,
    answers_to_finer_rows,
    available_memory,
    check_atol,
    check_readable,
    check_weights,
    checked_rows,
    class_index,
    encoded,
    fit_context,
    fit_or_unwrap,
    promised_domain,
    promised_rows,
    report,
    share_in_words,
    unmoved_by_rounding,
)
from ensemble_simplify.born_again._promises import (
    EveryInput,
    NearRows,
    Reading,
    cells_as_int,
    check_has_path,
    check_promise,
    chosen_step,
    count_in_words,
    fidelity,
    front_of,
    leaf_probabilities,
)
from ensemble_simplify.born_again.everywhere._grid import CellTrees, Tolerance
from ensemble_simplify.born_again.everywhere._planner import Problem, read_problem
from ensemble_simplify.born_again.everywhere._search import CellTree
from ensemble_simplify.grid import Axes, Domain, Splits, cell_shares, limited, limits, with_missing
from ensemble_simplify.proof import Verification, verify
from ensemble_simplify.reading import VOTE_SECONDS, Model
from ensemble_simplify.writing import counted, write_classifier, write_regressor

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

    if TYPE_CHECKING:
        # parameters, and what `fit` keeps
        atol_: Any

        def __getattr__(self, name: str) -> Any: ...

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

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the ensemble, unless it is frozen, and find the smallest tree that answers like it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows. Values are cast to float32, as scikit-learn's trees do.
        y : array-like of shape (n_samples,)
            Class labels, or target values.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights, used in fitting the ensemble and for the values and node weights of the tree.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
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

        Notes
        -----
        ``verify().save(path, smallest=True)`` writes the other half of the promise: a proof that no
        tree that answers as the ensemble is of less depth, or has fewer leaves (as `objective`
        says). The checker finds the smallest tree for the points of a grid again.
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
        claim, objective = outcome.claim, self.objective
        if self._tolerance is not None or claim.near is not None:
            return outcome
        size = {
            "depth": None if objective == "leaves" else self.depth_,
            "leaves": None if objective == "depth" else self.n_leaves_,
            "within": None if objective in ("depth", "leaves") else self.depth_,
        }
        alone = {"models": claim.models[:1], "forests": claim.forests[:1], "uses": claim.uses[:1]}
        smallest = replace(claim, kind="smallest", data=size, **alone)
        return replace(outcome, smallest_claim=smallest)

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
        check_has_path(self)
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


class BornAgainClassifier(BornAgain, HoldsClassifierTree, ClassifierMixin, BaseEstimator):
    """The smallest decision tree that gives the same class as a tree ensemble.

    For every finite input, ``predict`` gives the class that ``estimator_.predict`` gives, and no
    smaller decision tree does. This is for small ensembles: about ten shallow trees, or few
    features. For a large forest, set `max_changes`: the tree then gives the same class on the
    training rows and near them.

    The thresholds of the ensemble divide the feature space into cells, and its prediction is
    constant in each of them. Dynamic programming over all boxes of cells finds the smallest
    tree [1]_.

    Read more in the :ref:`guide <born_again>`.

    Parameters
    ----------
    estimator : estimator, FrozenEstimator or None, default=None
        The ensemble of decision trees. Wrap a fitted one in
        :class:`~sklearn.frozen.FrozenEstimator`: it is used as it is. An unfitted one is cloned and
        fitted on the training data. None means ``RandomForestClassifier(n_estimators=5,
        max_depth=2)``. Supported are decision trees, random forests, extra trees, bagged trees,
        AdaBoost, gradient boosting (also by histograms), XGBoost, LightGBM, CatBoost, a native
        ``Booster``, and voting over these. Decision thresholds and calibration around them are
        followed, as are a ``Pipeline`` that ends in one of them, and the fitted estimators of this
        package that hold a tree or an ensemble.
    objective : {"auto", "depth", "leaves", "depth_then_leaves"}, default="auto"
        What to minimise: the depth, the number of leaves, or the number of leaves among the
        trees of smallest depth. ``"auto"`` is ``"depth_then_leaves"``. With `max_changes` it is
        ``"leaves"``, the only objective that is possible there.
    method : {"auto", "exact", "heuristic"}, default="auto"
        ``"exact"`` proves the tree smallest, or raises an error if memory or time do not suffice.
        ``"heuristic"`` finds a tree with the same answers that is not proven smallest. Bounds tell
        how much smaller a tree could be. ``"auto"`` is exact where memory and time suffice, and
        heuristic elsewhere. It refuses where far more than a million leaves are to be expected.
    max_changes : int or None, default=None
        Where the tree gives the class of the ensemble. None: at every finite input. 0: on the
        training rows. 1: also where a single feature of a training row takes any other value. 2:
        also where two features do, and so on. Elsewhere the tree may answer anything. 0 and 1 work
        for any forest. From 2 on, the time grows with the number of thresholds to this power. Of 1,
        take a tree of 8 to 32 leaves to read, with :meth:`at`; the whole tree can have
        thousands. 0 gives a certificate for the training rows, and no model for new ones.
    max_leaf_nodes : int or None, default=None
        With ``max_changes=0`` or 1: largest number of leaves. If a tree without exceptions has
        more, the tree with the least weight of exceptions is taken, and its exceptions are counted.
        None: no limit.
    domain : Domain, dict or None, default=None
        Which inputs can occur: a :class:`Domain`, or a dict of its parameters. The tree gives the
        class of the ensemble inside the domain only, so it can be smaller. Outside it may answer
        anything, and ``predict`` does not check. Training rows must be inside. None: every finite
        input can occur.
    time_limit : float or None, default=None
        Time in seconds for reading the ensemble, the search, and writing the tree. Fitting the
        ensemble does not count. When the time is over, the best tree so far is returned with its
        bounds and a ``ConvergenceWarning``. More time does not give a larger tree. None: no limit,
        and a ``UserWarning`` before an exact search that is expected to take more than ten seconds
        (it is printed if `verbose`).
    random_state : int, RandomState instance or None, default=None
        Seeds the default ensemble, the samples of cells by which the heuristic divides, and which
        points are looked at for the probabilities of leaves that no training row reaches. An
        ensemble that is given keeps its own.

    Attributes
    ----------
    estimator_ : estimator
        The fitted ensemble.
    decision_tree_ : DecisionTreeClassifier
        The tree, an ordinary fitted scikit-learn tree. Its node weights and impurities come
        from the training rows. The probabilities of a leaf are the weighted mean of the ensemble's
        over the training rows in it (over random points where there is none), changed as little
        as makes the leaf's class the most probable one.
    n_leaves_ : int
        Number of leaves of the tree.
    depth_ : int
        Depth of the tree.
    status_ : {"optimal", "feasible"}
        ``"optimal"``: the tree is proven smallest in the objective. ``"feasible"``: the tree keeps
        the promise, but a smaller one may exist. This is about the search, before `post_prune`, and
        about what is promised: training rows that it does not reach are `n_row_exceptions_`.
    n_leaves_lower_bound_ : int
        Every tree that keeps the promise has at least so many leaves. If depth is minimised first,
        this is about trees of depth `depth_unpruned_`. With `tolerance`, it is about trees
        within it. Before `post_prune`.
    depth_lower_bound_ : int
        Every tree that keeps the promise has at least this depth. Before `post_prune`.
    depth_unpruned_, n_leaves_unpruned_ : int
        Depth and leaves before `post_prune`. Without it, they equal `depth_` and `n_leaves_`.
    fidelity_ : float
        Agreement with the ensemble. It is 1.0 where the tree is proven equal (inside `domain`). If
        there are `n_row_exceptions_`, it is the share of the training rows without them. With
        ``max_changes=0`` or 1 it is measured: on a fifth of the training rows, for a tree of this
        size that was found without them. NaN after `post_prune` or `merge_thresholds`, as no rows
        are held out then; see `volume_fidelity_`.
    atol_ : float or None
        The number that `atol` stands for.
    n_points_ : int, float or None
        With `max_changes`, the number of promised points; else None. Points are distinct rows, and
        cells that differ from a row in at most `max_changes` features. A point near several rows
        counts for each. A training row that gets another answer once it is rounded to float32 is
        one more point.
    n_exceptions_ : int or None
        With `max_changes`, how many of the `n_points_` get another class than from the ensemble;
        else None. Without `tolerance`, `max_leaf_nodes` and `time_limit`, these are only training
        rows with numbers finer than float32 (see Notes). Points that were not looked at within
        `time_limit` count as exceptions, so there are no more than this.
    n_row_exceptions_ : int
        How many of the `n_rows_` training rows, as they were given, get another class than from the
        ensemble. If there are any, the fitted estimator is printed with their number.
    n_rows_ : int
        The training rows of positive weight.
    seen_share_ : float or None
        With `max_changes`, the share of `n_points_` that were looked at; else None. It is 1 unless
        `time_limit` came first. Points outside `domain` are among those that were not.
    path_ : Bunch or None
        With ``max_changes=0`` or 1, the trees from a single leaf to one without exceptions, as
        arrays; else None. ``n_leaves``, ``n_exceptions`` and ``n_row_exceptions`` are as above.
        ``weighted_share`` is what `tolerance` bounds. ``held_share`` is the share of exceptions
        among points that are not rows, where each counts by the training rows that hold its changed
        value. ``agreement`` is as `fidelity_`. See :meth:`at`.
    volume_fidelity_ : float
        Share of the inputs on which the tree gives the class of the ensemble. Inputs are drawn
        evenly between the smallest and largest values of the training rows, and rounded to float32.
        It is 1 where the tree is proven equal. With a `domain`, only points inside count, and
        integer features are drawn as integers. It is computed from all cells, or estimated from
        100,000 points where there are too many cells (12,500 with `max_changes`). NaN if none of
        these points is in the domain.
    volume_fidelity_error_ : float
        Standard error of `volume_fidelity_`; 0 where it is exact.
    n_cells_ : int or float
        Number of cells (infinity from about 1.8e308 on). Thresholds across which no prediction
        changes are not counted, unless there are too many cells to look at each.
    n_regions_ : int or float
        Number of boxes of these cells.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen in `fit`; defined only if all are strings.

    Other Parameters
    ----------------
    atol : float, str or None, default=None
        Also keep the probabilities: at every promised point, the probability of each class differs
        from the ensemble's by at most this, and the class is the ensemble's. A text such as
        ``"10%"`` is a share of the standard deviation of the ensemble's probabilities on the
        training rows, for the class where that is largest. Only for ensembles whose probabilities
        are means over trees: trees, forests, bagging, soft votes of these. None: only the class is
        kept.
    tolerance : float, default=0.0
        With ``max_changes=0`` or 1: largest share of the weight of the promised points that may be
        exceptions. The tree with the fewest leaves within this share is taken. With
        `max_leaf_nodes`, the smaller of the two trees is taken.
    row_share : float, default=0.5
        With ``max_changes=1``: share of the training rows in the weight of all promised points,
        below 1. The other points share the rest equally. Among the rows, `sample_weight` counts.
    voting : {"estimator", "hard"}, default="estimator"
        Which answers the tree gives. ``"estimator"``: those of the ensemble's own ``predict`` with
        ``n_jobs=None``. ``"hard"``: the majority of the trees' labels, and the first class of a
        tie, as in [1]_.
    post_prune : bool, default=False
        Whether to remove, after the search, every split that has training rows on one side only,
        and every split between two leaves of one class, as in [1]_. The tree is smaller, and gives
        the ensemble's class on the training rows (of positive weight), but not everywhere: see
        `volume_fidelity_`.
    merge_thresholds : bool, default=False
        Whether to merge the ensemble's thresholds, before the search, into as few as possible such
        that every training row keeps its path in every tree [2]_. The tree gives the ensemble's
        class on the training rows (of positive weight), but not everywhere: see `volume_fidelity_`.
    max_memory : float or None, default=None
        Memory that the search may use, in bytes. None: half of what is free when ``fit`` starts.
        With `max_changes`, only the memory for the points near the rows is checked.
    verbose : int, default=0
        If positive, the size of the problem, the best tree so far and its bound are printed.

    Raises
    ------
    TypeError
        If the ensemble is of a kind that cannot be read.
    ValueError
        If the search does not fit into `max_memory` (``method="exact"``). If a tree for every input
        is expected to have far more than a million leaves (``method="auto"``). If no tree was
        proven smallest near the rows (``method="exact"`` with `max_changes`), or there are too many
        points. If a parameter is out of range.
    TimeLimitError
        If no tree that keeps the promise was found within `time_limit`. With ``max_changes=0`` or 1
        the best tree so far is returned instead, with its exceptions.

    See Also
    --------
    BornAgainRegressor : The same for numbers, within a tolerance.
    RepresenterTree : A small tree that comes close to any model.
    FaithfulPruner : Fewer trees of the ensemble, with the same answers.
    estimate : How large the tree will be, before any work.
    verify : The proof, for any two models.

    Notes
    -----
    *Size of the problem.* With h_j thresholds on feature j there are ``prod(h_j + 1)`` cells and
    ``prod((h_j + 1) (h_j + 2) / 2)`` boxes of cells. Time and memory grow with the number of boxes
    on which the ensemble has different functions, which is often a twentieth of that. Features with
    many values give many thresholds: limit ``max_depth``, use fewer trees, or bin the features.

    *Numbers finer than float32.* Trees of scikit-learn round rows to float32. HistGradientBoosting,
    LightGBM and pipelines with scalers do not. The tree gives their class at every input that
    float32 represents. A finer number can get another class if it lies between a threshold and the
    next float32. `covers` leaves such rows out, and such training rows are counted in
    `n_row_exceptions_`, with a warning.

    *Missing values and levels.* Where values may be missing, or columns hold levels, the tree is
    smallest among those with two kinds of splits. Either values up to a threshold (levels up to a
    code) go left and missing values right, or missing values are told from all others. Other splits
    could at times save leaves and are not considered.

    *Domain.* Only splits at the ensemble's thresholds are considered. A split on a feature that the
    ensemble does not use, but that a group or implication ties to others, could at times save
    leaves.

    *Difference from the paper.* ``"depth_then_leaves"`` is solved to its true optimum. The
    recursion of the paper can miss it.

    References
    ----------
    .. [1] T. Vidal, T. Pacheco, M. Schiffer (2020). Born-Again Tree Ensembles. ICML, PMLR 119,
       9743-9753. https://doi.org/10.48550/arXiv.2003.11132
    .. [2] A. Nakamura, K. Sakurada (2019). An Algorithm for Reducing the Number of Distinct
       Branching Conditions in a Decision Forest. ECML PKDD, 578-589.
       https://doi.org/10.1007/978-3-030-46150-8_34

    Examples
    --------
    A small forest, and one tree with the same answers for every input:

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.frozen import FrozenEstimator
    >>> from ensemble_simplify import BornAgainClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> X = X.iloc[:, 2:]
    >>> forest = RandomForestClassifier(n_estimators=5, max_depth=2, random_state=1).fit(X, y)
    >>> tree = BornAgainClassifier(FrozenEstimator(forest), random_state=0).fit(X, y)
    >>> tree.status_, tree.depth_, tree.n_leaves_
    ('optimal', 4, 8)
    >>> bool(tree.verify())
    True
    >>> print(tree.export_text(decimals=2, max_depth=1))
    |--- petal length (cm) <= 2.80
    |   |--- petal width (cm) <= 0.80
    |   |   |--- (3 leaves)
    |   |--- petal width (cm) > 0.80
    |   |   |--- (3 leaves)
    |--- petal length (cm) > 2.80
    |   |--- petal width (cm) <= 1.70
    |   |   |--- class: 1 (92.3 %, 52 rows)
    |   |--- petal width (cm) > 1.70
    |   |   |--- class: 2 (96.3 %, 48 rows)
    <BLANKLINE>

    A default forest, followed on its training rows and wherever one of their features changes. A
    smaller tree has exceptions, which are counted:

    >>> forest = RandomForestClassifier(random_state=0).fit(X[::3], y[::3])
    >>> near = BornAgainClassifier(FrozenEstimator(forest), max_changes=1, random_state=0)
    >>> near = near.fit(X[::3], y[::3])
    >>> small = near.at(n_leaves=6)
    >>> print(near.n_leaves_, "leaves,", near.n_exceptions_, "exceptions")
    12 leaves, 0 exceptions
    >>> print(small.n_leaves_, "leaves,", small.n_exceptions_, "of", small.n_points_, "points")
    6 leaves, 19 of 216 points
    """

    _parameter_constraints: ClassVar[dict] = {
        **BornAgain._parameter_constraints,
        "atol": [Interval(Real, 0, None, closed="left"), str, None],
        "voting": [StrOptions({"estimator", "hard"})],
        "post_prune": ["boolean"],
        "merge_thresholds": ["boolean"],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        objective: str = "auto",
        method: str = "auto",
        atol: float | str | None = None,
        max_changes: int | None = None,
        tolerance: float = 0.0,
        max_leaf_nodes: int | None = None,
        row_share: float = 0.5,
        voting: str = "estimator",
        post_prune: bool = False,
        domain: Domain | dict | None = None,
        merge_thresholds: bool = False,
        max_memory: float | None = None,
        time_limit: float | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.estimator = estimator
        self.objective = objective
        self.method = method
        self.atol = atol
        self.max_changes = max_changes
        self.tolerance = tolerance
        self.max_leaf_nodes = max_leaf_nodes
        self.row_share = row_share
        self.voting = voting
        self.post_prune = post_prune
        self.domain = domain
        self.merge_thresholds = merge_thresholds
        self.max_memory = max_memory
        self.time_limit = time_limit
        self.random_state = random_state
        self.verbose = verbose

    def _check(self):
        super()._check()
        check_atol(self.atol)
        if self.atol is None:
            return
        for name, plain in (
            ("voting", "estimator"),
            ("post_prune", False),
            ("merge_thresholds", False),
        ):
            if getattr(self, name) != plain:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} does not go with atol={self.atol!r}, which "
                    f"keeps probabilities as they are. Use {name}={plain!r}, or atol=None."
                )

    def _default(self, rng):
        return RandomForestClassifier(n_estimators=5, max_depth=2, random_state=rng)

    def _read_targets(self, y, forest):
        self.classes_ = forest.classes
        return class_index(y, self.classes_)

    def _read_tolerance(self, model, rows, weight) -> Tolerance | None:
        self.atol_ = None
        if self.atol is None:
            return None
        if not model.forest.tells_probabilities:
            raise TypeError(
                f"atol={self.atol!r} keeps probabilities that are means over trees, as those of "
                f"trees, forests and bagging are. Those of {model.name}(...) are not, or a "
                "decision threshold follows them. Use atol=None to keep its classes."
            )
        if self.max_changes is not None and model.forest.n_classes > 2:
            raise ValueError(
                f"atol={self.atol!r} with max_changes={self.max_changes} keeps probabilities of "
                f"two classes, and {model.name}(...) has {model.forest.n_classes}. Use "
                "max_changes=None, or atol=None."
            )
        counted = weight > 0
        answers = model.ask_given(rows.given, rows.numbers, "predict_proba", fitted=True)
        self._deviation = absolute_tolerance("100%", answers[counted], weight[counted])
        self.atol_ = absolute_tolerance(self.atol, answers[counted], weight[counted])
        return Tolerance(self.atol_, labelled=True)

    def _set_tree_sizes(self, tree, unpruned):
        super()._set_tree_sizes(tree, unpruned)
        self.depth_unpruned_, self.n_leaves_unpruned_ = unpruned.depth, unpruned.n_leaves

    def _set_volume(self, changed, forest, fitted, rows, rng, effort=1.0):
        self.volume_fidelity_, self.volume_fidelity_error_ = 1.0, 0.0
        if not changed:
            return
        domain, tree = self._inside, fitted.tree
        splits = Splits.of_tree(fitted.nodes, forest.n_features)
        axes = Axes.of(forest, splits)
        coded = axes.encode_forest(splits).nodes
        leaves = coded[:, 0] < 0
        coded[leaves, 1] = tree.nodes[coded[leaves, 1], 1]
        outside = None if domain is None else domain.outside(axes)
        weights = []
        for j, cuts in zip(axes.features, axes.cuts, strict=True):
            integer = domain is not None and domain.integer[j]
            present = rows[~np.isnan(rows[:, j]), j]
            low, high = (present.min(), present.max()) if present.size else (0.0, 0.0)
            weights.append(cell_shares(cuts, low, high, integer))
        self.volume_fidelity_, self.volume_fidelity_error_ = fidelity(
            CellTrees.of(forest, axes, outside),
            CellTree(coded),
            weights,
            np.random.default_rng(rng.randint(1 << 31)),
            effort,
        )

    def _write(self, problem, fitted, rng):
        probabilities: Any = leaf_probabilities(self.estimator_, problem, fitted, rng, self._table)
        labels = fitted.labels
        if self._tolerance is not None:
            wish = np.hstack([fitted.ends[:, 0, :1], probabilities])
            answers = self._chosen(fitted, wish)
            labels, probabilities = answers[:, 0].astype(np.intp), answers[:, 1:]
        self.decision_tree_ = write_classifier(
            fitted.nodes,
            labels,
            probabilities,
            fitted.leaf_of_row,
            fitted.targets,
            self.classes_,
            n_features=self.n_features_in_,
            feature_names=getattr(self, "feature_names_in_", None),
            sample_weight=fitted.weight,
        )


class BornAgainRegressor(BornAgain, HoldsTree, RegressorMixin, BaseEstimator):
    """The smallest decision tree whose value is within a tolerance of a regression ensemble's.

    For every finite input, ``predict`` gives a number that differs by at most `atol_` from what
    ``estimator_.predict`` gives, and no smaller decision tree does so.

    This is for few shallow trees and wide tolerances. One leaf can only stand for answers that span
    twice the tolerance, so a forest of deep trees needs thousands of leaves. For a small tree that
    comes close on average, use :class:`RepresenterTree`.

    The thresholds of the ensemble divide the feature space into cells, and its value is constant in
    each of them. Dynamic programming over all boxes of cells, as in [1]_, finds the smallest tree
    whose leaves are boxes in which the largest and the smallest value are near enough.

    Read more in the :ref:`guide <born_again_regressor>`.

    Parameters
    ----------
    estimator : estimator, FrozenEstimator or None, default=None
        The ensemble of regression trees. Wrap a fitted one in
        :class:`~sklearn.frozen.FrozenEstimator`: it is used as it is. An unfitted one is cloned and
        fitted on the training data. None means ``RandomForestRegressor(n_estimators=5,
        max_depth=2)``. The kinds of :class:`BornAgainClassifier` are supported, if their value is
        a sum or a mean of trees.
    atol : float or str, default="10%"
        Largest difference of the tree's value from the ensemble's. A text such as ``"10%"`` is a
        share of the standard deviation of the ensemble's own answers to the training rows.
    objective : {"auto", "depth", "leaves", "depth_then_leaves"}, default="auto"
        What to minimise: the depth, the number of leaves, or the number of leaves among the
        trees of smallest depth. ``"auto"`` is ``"depth_then_leaves"``. With `max_changes` it is
        ``"leaves"``, the only objective that is possible there.
    method : {"auto", "exact", "heuristic"}, default="auto"
        ``"exact"`` proves the tree smallest, or raises an error if memory or time do not suffice.
        ``"heuristic"`` finds a tree within the tolerance that is not proven smallest. Bounds tell
        how much smaller a tree could be. ``"auto"`` is exact where memory and time suffice, and
        heuristic elsewhere. It refuses where far more than a million leaves are to be expected.
    max_changes : {0, 1} or None, default=None
        Where the tree is within the tolerance. None: at every finite input. 0: on the training
        rows. 1: also where a single feature of a training row takes any other value. Elsewhere it
        may answer anything. 0 and 1 work for any ensemble, but for a large one the tree for
        single changes has hundreds to thousands of leaves.
    max_leaf_nodes : int or None, default=None
        With `max_changes`: largest number of leaves. If a tree without exceptions has more, the
        tree with the least weight of exceptions is taken, and its exceptions are counted. None: no
        limit.
    domain : Domain, dict or None, default=None
        Which inputs can occur: a :class:`Domain`, or a dict of its parameters. The tree is within
        the tolerance inside the domain only, so it can be smaller. Outside it may answer anything,
        and ``predict`` does not check. Training rows must be inside. None: every finite input can
        occur.
    time_limit : float or None, default=None
        Time in seconds for reading the ensemble, the search, and writing the tree. Fitting the
        ensemble does not count. When the time is over, the best tree so far is returned with its
        bounds and a ``ConvergenceWarning``. None: no limit.
    random_state : int, RandomState instance or None, default=None
        Seeds the default ensemble, and the samples of cells by which the heuristic divides. An
        ensemble that is given keeps its own.

    Attributes
    ----------
    estimator_ : estimator
        The fitted ensemble.
    decision_tree_ : DecisionTreeRegressor
        The tree, an ordinary fitted scikit-learn tree. Its node weights and impurities come
        from the training rows. The value of a leaf is the weighted mean of the ensemble's answers
        to the training rows in it, moved as little as keeps it within the tolerance. Where there is
        no row, it is the middle of what the tolerance allows.
    atol_ : float
        The number that `atol` stands for.
    n_leaves_ : int
        Number of leaves of the tree.
    depth_ : int
        Depth of the tree.
    status_ : {"optimal", "feasible"}
        ``"optimal"``: the tree is proven smallest in the objective. ``"feasible"``: the tree is
        within the tolerance, but a smaller one may exist. This is about what is promised: training
        rows that it does not reach are `n_row_exceptions_`.
    n_leaves_lower_bound_ : int
        Every tree within the tolerance has at least so many leaves. If depth is minimised first,
        this is about trees of depth `depth_`.
    depth_lower_bound_ : int
        Every tree within the tolerance has at least this depth.
    fidelity_ : float
        Share of the training rows on which the tree is within the tolerance: 1.0, unless there are
        `n_row_exceptions_`. With `max_changes` it is measured: on a fifth of the training rows, for
        a tree of this size that was found without them.
    n_points_ : int, float or None
        With `max_changes`, the number of promised points; else None. Points are distinct rows, and
        cells that differ from a row in at most `max_changes` features. A point near several rows
        counts for each. A training row that gets another answer once it is rounded to float32 is
        one more point.
    n_exceptions_ : int or None
        With `max_changes`, at how many of the `n_points_` the tree is not within the tolerance;
        else None. Points that were not looked at count, too, so there are no more than this.
    n_row_exceptions_ : int
        How many of the `n_rows_` training rows, as they were given, the tree answers further than
        `atol_` from the ensemble. Without exceptions allowed, these are only rows with numbers
        finer than float32. If there are any, the fitted estimator is printed with their number.
    n_rows_ : int
        The training rows of positive weight.
    seen_share_ : float or None
        With `max_changes`, the share of `n_points_` that were looked at; else None. It is 1 unless
        `time_limit` came first. Points outside `domain` are among those that were not.
    path_ : Bunch or None
        With `max_changes`, the trees from a single leaf to one without exceptions, as arrays; else
        None. ``n_leaves``, ``n_exceptions`` and ``n_row_exceptions`` are as above.
        ``weighted_share`` is what `tolerance` bounds. ``held_share`` is the share of exceptions
        among points that are not rows, where each counts by the training rows that hold its changed
        value. ``agreement`` is as `fidelity_`, and ``r2`` is that of the ensemble's answers on the
        same held-out rows. ``max_difference`` is the largest difference at any point that was
        looked at. See :meth:`at`.
    n_cells_ : int or float
        Number of cells (infinity from about 1.8e308 on). Thresholds across which no value changes
        are not counted, unless there are too many cells to look at each.
    n_regions_ : int or float
        Number of boxes of these cells.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen in `fit`; defined only if all are strings.

    Other Parameters
    ----------------
    tolerance : float, default=0.0
        With `max_changes`: largest share of the weight of the promised points that may be
        exceptions, where the tree is further off than `atol_`. The tree with the fewest leaves
        within this share is taken. With `max_leaf_nodes`, the smaller of the two trees is taken.
    row_share : float, default=0.5
        With ``max_changes=1``: share of the training rows in the weight of all promised points,
        below 1. The other points share the rest equally. Among the rows, `sample_weight` counts.
    max_memory : float or None, default=None
        Memory that the search may use, in bytes. None: half of what is free when ``fit`` starts.
        With `max_changes`, only the memory for the points near the rows is checked.
    verbose : int, default=0
        If positive, the size of the problem, the best tree so far and its bound are printed.

    Raises
    ------
    TypeError
        If the ensemble is of a kind that cannot be read, or a classifier.
    ValueError
        If the search does not fit into `max_memory` (``method="exact"``). If a tree within the
        tolerance is expected to have far more than a million leaves (``method="auto"``). If a
        parameter is out of range.
    TimeLimitError
        If no tree within the tolerance was found within `time_limit`. With `max_changes` the best
        tree so far is returned instead, with its exceptions.

    See Also
    --------
    RepresenterTree : A tree of any size, with measured agreement.
    BornAgainClassifier : The same for classes.
    FaithfulPruner : Fewer trees of the ensemble, within a tolerance.
    estimate : How large the tree will be, before any work.

    Notes
    -----
    Differences are those of float64 numbers: ``abs(a - b) <= atol_`` for the numbers that both
    models answer, as :func:`verify` compares them. Of ensembles that compare numbers finer than
    float32, the promise holds at every input that float32 represents.

    References
    ----------
    .. [1] T. Vidal, T. Pacheco, M. Schiffer (2020). Born-Again Tree Ensembles. ICML, PMLR 119,
       9743-9753. https://doi.org/10.48550/arXiv.2003.11132

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import GradientBoostingRegressor
    >>> from sklearn.frozen import FrozenEstimator
    >>> from ensemble_simplify import BornAgainRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> boosting = GradientBoostingRegressor(n_estimators=8, max_depth=1, random_state=0).fit(X, y)
    >>> tree = BornAgainRegressor(FrozenEstimator(boosting), atol="20%").fit(X, y)
    >>> tree.status_, tree.n_leaves_, round(tree.atol_, 2)
    ('optimal', 8, 4.22)

    No input is answered further off than the tolerance:

    >>> bool(tree.verify())
    True
    >>> print(tree.export_text(decimals=3, max_depth=1))
    |--- bmi <= 0.009
    |   |--- s5 <= -0.001
    |   |   |--- (2 leaves)
    |   |--- s5 > -0.001
    |   |   |--- (2 leaves)
    |--- bmi > 0.009
    |   |--- s5 <= -0.001
    |   |   |--- (2 leaves)
    |   |--- s5 > -0.001
    |   |   |--- (2 leaves)
    <BLANKLINE>
    """

    _parameter_constraints: ClassVar[dict] = {
        **BornAgain._parameter_constraints,
        "atol": [Interval(Real, 0, None, closed="left"), str],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        atol: float | str = "10%",
        objective: str = "auto",
        method: str = "auto",
        max_changes: int | None = None,
        tolerance: float = 0.0,
        max_leaf_nodes: int | None = None,
        row_share: float = 0.5,
        domain: Domain | dict | None = None,
        max_memory: float | None = None,
        time_limit: float | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.estimator = estimator
        self.atol = atol
        self.objective = objective
        self.method = method
        self.max_changes = max_changes
        self.tolerance = tolerance
        self.max_leaf_nodes = max_leaf_nodes
        self.row_share = row_share
        self.domain = domain
        self.max_memory = max_memory
        self.time_limit = time_limit
        self.random_state = random_state
        self.verbose = verbose

    def _check(self):
        super()._check()
        check_atol(self.atol)

    def _default(self, rng):
        return RandomForestRegressor(n_estimators=5, max_depth=2, random_state=rng)

    def _read_targets(self, y, forest):
        return np.asarray(y, dtype=np.float64)

    def _read_tolerance(self, model, rows, weight) -> Tolerance | None:
        if model.forest.classes is not None:
            raise TypeError(
                f"estimator={model.name}(...) is a classifier. Use BornAgainClassifier for it."
            )
        counted = weight > 0
        answers = model.ask_given(rows.given, rows.numbers, fitted=True)[counted]
        self._deviation = absolute_tolerance("100%", answers, weight[counted])
        self.atol_ = absolute_tolerance(self.atol, answers, weight[counted])
        return Tolerance(self.atol_)

    def _write(self, problem, fitted, rng):
        answers = problem.forest.predict_index(fitted.rows)
        leaf_of_row, nodes, weight = fitted.leaf_of_row, fitted.nodes, fitted.weight
        total = np.bincount(leaf_of_row, weights=weight, minlength=nodes.n_nodes)[nodes.leaves]
        wish = np.bincount(leaf_of_row, weights=weight * answers, minlength=nodes.n_nodes)
        wish = np.where(total > 0, wish[nodes.leaves] / np.where(total > 0, total, 1.0), np.nan)
        self.decision_tree_ = write_regressor(
            nodes,
            self._chosen(fitted, wish[:, None])[:, 0],
            leaf_of_row,
            fitted.targets,
            n_features=self.n_features_in_,
            feature_names=getattr(self, "feature_names_in_", None),
            sample_weight=weight,
        )
