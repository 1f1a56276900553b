"""The smallest single tree with exactly the same function as an ensemble."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from time import monotonic
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ensemble_simplify.base import (
    Fittable,
    HoldsClassifierTree,
    Interval,
    StrOptions,
    TakesWhatItsEstimatorTakes,
    TimeLimitError,
    all_or_nothing,
    answers_to_finer_rows,
    available_memory,
    check_readable,
    check_weights,
    checked_table,
    class_index,
    encoded,
    fit_context,
    fit_or_unwrap,
    named_rows,
    promised_domain,
    promised_rows,
    report,
    unmoved_by_rounding,
    warn,
    warn_out_of_time,
)
from ensemble_simplify.born_again._box_fidelity import fidelity
from ensemble_simplify.born_again._probabilities import leaf_probabilities
from ensemble_simplify.born_again.everywhere._grid import CellTrees, n_cells
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
    TooLarge,
    n_regions,
    regions_forecast,
)
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
from ensemble_simplify.grid import Axes, Domain, Splits, cell_shares, with_missing
from ensemble_simplify.proof import Lines, Verification, n_near, verify
from ensemble_simplify.reading import Model
from ensemble_simplify.writing import write_classifier

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
# Forecast of the seconds to set the probabilities of leaves, for each row and tree.
VOTE_SECONDS = 3e-8


class BornAgainClassifier(
    TakesWhatItsEstimatorTakes, HoldsClassifierTree, ClassifierMixin, BaseEstimator
):
    """The smallest decision tree that gives the same class as a tree ensemble everywhere.

    For every finite input, ``predict`` answers what ``estimator_.predict`` answers, and no
    decision tree of axis-parallel splits that does so is smaller in the chosen objective. (Of
    ensembles that compare numbers finer than float32: for every input that float32 represents.)

    For a large forest that tree is too large to write out. Set `max_changes` then: the tree gives
    the same answer at every point that differs from some training row in at most that many
    features.

    The thresholds of the ensemble divide the feature space into cells on which its prediction is
    constant. Dynamic programming over all boxes of cells finds the smallest tree that tells the
    classes of all cells [1]_. Unlike the paper's algorithm, ``"depth_then_leaves"`` is solved to
    its true optimum.

    Read more in the :ref:`User Guide <born_again>`.

    Parameters
    ----------
    estimator : estimator, FrozenEstimator or None, default=None
        The ensemble of decision trees. An unfitted one is cloned and fitted on the training data;
        a fitted one is used as it is when wrapped in :class:`~sklearn.frozen.FrozenEstimator`.
        None means ``RandomForestClassifier(n_estimators=5, max_depth=2)``. Supported are
        decision trees, random forests, extra trees, bagged trees, AdaBoost, gradient boosting and
        voting over them; histogram gradient boosting, XGBoost, LightGBM and CatBoost, also a native
        ``Booster``, which is taken as it is; decision thresholds and calibration around these; a
        ``Pipeline`` of scalers, encoders, imputers or selectors of columns that ends in one of
        these; and the fitted estimators of this package that hold a tree or an ensemble.
    objective : {"auto", "depth", "leaves", "depth_then_leaves"}, default="auto"
        What to minimise: the depth, the number of leaves, or the number of leaves among the
        trees of smallest depth. ``"auto"`` is ``"depth_then_leaves"``; with `max_changes` it is
        ``"leaves"``, the only objective that is possible there.
    method : {"auto", "exact", "heuristic"}, default="auto"
        ``"exact"`` proves the tree smallest, or raises an error if memory or time do not suffice.
        ``"heuristic"`` finds a tree with the same answers that is not proven smallest; bounds tell
        how much smaller a tree could be. ``"auto"`` is exact where memory and time suffice,
        heuristic elsewhere, and refuses where far more than a million leaves are to be expected.
    max_changes : int or None, default=None
        Where the tree answers as the ensemble. None: at every finite input. 0: on the training
        rows. 1: also where a single feature of a training row takes any other value; 2: two
        features, and so on. At other points the tree may answer anything. 0 and 1 work for any
        forest; from 2 on, the time grows as the product of the numbers of thresholds. Rows
        of weight zero do not count. See :meth:`covers`. 0 gives a certificate for the rows, and no
        model for new ones, on which a plain tree of as many leaves agrees more often. Of 1, the
        trees of 8 to 32 leaves of :meth:`at` are for reading; the whole one can have thousands.
    tolerance : float, default=0.0
        With ``max_changes=0`` or 1: largest share of the weight of the promised points on which
        the tree may differ. The tree with the fewest leaves within this share is taken, and its
        exceptions are counted.
    max_leaf_nodes : int or None, default=None
        With ``max_changes=0`` or 1: largest number of leaves. If a tree without exceptions has
        more, the tree with the least weight of exceptions is taken; with `tolerance`, the
        smaller of the two. None: no limit.
    row_share : float, default=0.5
        With ``max_changes=1``: share of the training rows in the weight of all promised points,
        below 1; the other points share the rest equally. Among the rows, `sample_weight` counts.
    voting : {"estimator", "hard"}, default="estimator"
        Whose function the tree has: ``"estimator"``, what the ensemble's own ``predict``
        answers (with ``n_jobs=None``, where its sums do not depend on the timing of threads);
        ``"hard"``, the majority of the trees' labels, ties to the first class, as in [1]_.
    post_prune : bool, default=False
        Whether to replace every split that has training rows on one side only by that side, and
        splits between two leaves of one class by a leaf, as in [1]_. The tree is then smaller. It
        answers like the ensemble on every training row (of positive weight), but not everywhere:
        see `volume_fidelity_`.
    domain : Domain, dict or None, default=None
        Which inputs can occur: a :class:`Domain`, or a dict of its parameters. Inside the domain
        the tree answers as the ensemble. Outside it may answer anything, and ``predict`` does not
        check; so the tree can be smaller. Training rows must be inside. None: every finite input.
    merge_thresholds : bool, default=False
        Whether to merge the ensemble's thresholds, before the search, into as few as possible such
        that every training row keeps its path in every tree [2]_. The tree then answers as the
        ensemble with merged thresholds: as the given one on the training rows (of positive
        weight), but not everywhere: see `volume_fidelity_`.
    max_memory : float or None, default=None
        Memory the search may use, in bytes. None: half of what is free when ``fit`` starts.
        With `max_changes`, only what the points near the rows take is checked.
    time_limit : float or None, default=None
        Time in seconds; fitting the ensemble does not count, reading it and writing the tree do.
        When it is over, the best tree so far is returned with its bounds and a
        ``ConvergenceWarning``. More time does not give a larger tree. None: no limit. Before an
        exact search that is expected to take more than ten seconds, a ``UserWarning`` tells how
        long, and which tree and bound are known by then (it is printed if `verbose`).
    random_state : int, RandomState instance or None, default=None
        Seeds the default ensemble, the samples of cells by which the heuristic divides, and which
        points are looked at for the probabilities of leaves that no training row reaches. An
        ensemble that is given keeps its own.
    verbose : int, default=0
        If positive, the size of the problem, the best tree so far and its bound are printed.

    Attributes
    ----------
    estimator_ : estimator
        The fitted ensemble.
    decision_tree_ : DecisionTreeClassifier
        The tree, an ordinary fitted scikit-learn tree. Its node weights and impurities come
        from the training rows; a leaf's probabilities are the weighted mean of the ensemble's
        over the training rows in it (over random points where there is none), changed as little
        as makes the leaf's class the most probable one.
    depth_ : int
        Depth of the tree.
    n_leaves_ : int
        Number of leaves of the tree.
    depth_unpruned_, n_leaves_unpruned_ : int
        The same before ``post_prune``; equal without it.
    depth_lower_bound_ : int
        No tree with the same function (before ``post_prune``) is less deep. Equal to
        `depth_unpruned_` where depth is minimised.
    n_leaves_lower_bound_ : int
        No tree with the same function (before ``post_prune``), and of depth `depth_unpruned_` if
        depth comes first, has fewer leaves. Equal to `n_leaves_unpruned_` where leaves are
        minimised. With `max_changes`, no tree that keeps the promise, within `tolerance` if
        there is one.
    status_ : {"optimal", "feasible"}
        ``"optimal"``: the objective is proven to be smallest; ``"feasible"``: the tree has the
        ensemble's function (inside `domain`, with merged thresholds if `merge_thresholds`), but a
        smaller one may exist. It is about the search: what `post_prune` took away afterwards is
        the difference to `n_leaves_unpruned_`.
    fidelity_ : float
        1.0 where the tree is proven equal to the ensemble (inside `domain`), unless there are
        `n_row_exceptions_`: then the share of the training rows without them. NaN where
        `post_prune` or `merge_thresholds` changed its function, as no rows are held out to
        measure that: see `volume_fidelity_`, and :func:`verify`. With ``max_changes=0`` or 1:
        agreement on a fifth of the training rows, of a tree of this size that was found without
        them.
    n_points_ : int, float or None
        With `max_changes` (else None, like `seen_share_`, `n_exceptions_`, `path_`), the promised
        points: distinct rows, and cells that differ from a row in at most so many features. A point
        near several rows counts for each. A training row that the ensemble answers otherwise than
        what float32 makes of it is one more point.
    seen_share_ : float or None
        The share of `n_points_` whose answers were looked at: 1 unless `time_limit` came first.
        Points outside `domain` are among those that were not.
    n_rows_ : int
        The training rows of positive weight.
    n_exceptions_ : int or None
        With `max_changes`, how many of the `n_points_` the tree answers otherwise. Without
        `tolerance` and `max_leaf_nodes`, these are training rows that are finer than float32: see
        Notes. Where `time_limit` ended the search of a tree for ``max_changes=0`` or 1 (with a
        ``ConvergenceWarning``), there can be others, and points that were not looked at by then
        count, too: there are no more exceptions than this.
    n_row_exceptions_ : int
        How many of the `n_rows_` training rows, as they were given, the tree answers otherwise than
        the ensemble itself.
    path_ : Bunch or None
        With ``max_changes=0`` or 1, the trees from a single leaf to one without exceptions, as
        arrays: ``n_leaves``; ``n_exceptions`` and ``n_row_exceptions``, as above;
        ``weighted_share``, what `tolerance` bounds; ``held_share``, the share of exceptions among
        points that are not rows, each counted by the training rows that hold its changed value;
        ``agreement``, as `fidelity_`. See :meth:`at`.
    volume_fidelity_ : float
        Share of points, drawn uniformly from the bounding box of the training rows and rounded to
        float32, to which the tree gives the ensemble's class: 1 where the tree is proven equal.
        With a `domain`, only points inside count, integer features are drawn as integers, and what
        groups and implications say about features that the ensemble does not use is put in terms of
        those it uses. Computed from all cells; where there are too many, estimated from those of
        100,000 points (of 12,500 with `max_changes`) that are in the domain (NaN if none is).
    volume_fidelity_error_ : float
        Standard error of `volume_fidelity_`; 0 where it is exact.
    n_cells_ : int or float
        Number of cells (infinity from about 1.8e308 on); cuts across which no prediction changes
        are not counted, unless there are too many cells to look at each.
    n_regions_ : int or float
        Number of boxes of these cells.
    {classes_}
    {features_in}

    Raises
    ------
    TypeError
        If the ensemble is of a kind that cannot be read.
    ValueError
        If the search does not fit into `max_memory` (``method="exact"``), if a tree with the
        ensemble's function is expected to have far more than a million leaves
        (``method="auto"``), if with `max_changes` no tree was proven smallest
        (``method="exact"``) or there are too many points, or a parameter is out of range.
    TimeLimitError
        If no tree with the ensemble's function was found within `time_limit`. With
        ``max_changes=0`` or 1 the best tree so far is returned instead, with its exceptions.

    See Also
    --------
    sklearn.tree.DecisionTreeClassifier : A tree grown on the training data.

    Notes
    -----
    With h_j cuts on feature j there are ``prod(h_j + 1)`` cells and
    ``prod((h_j + 1) (h_j + 2) / 2)`` regions; time and memory grow with the number of regions
    that differ in function, which is often a twentieth of that. Features with many values
    give many cuts: limit ``max_depth``, the number of trees, or bin the features.

    Thresholds are read as scikit-learn applies them, to rows rounded to float32. Some ensembles
    compare numbers that are finer: HistGradientBoosting, LightGBM, pipelines with scalers. The tree
    answers as they do at every input that float32 represents. A finer number can be answered
    otherwise if it lies between a threshold and the next float32. `covers` leaves such rows out,
    and such training rows are counted in `n_row_exceptions_`, with a warning.

    With `max_changes`, there are finitely many answers to look at: rows times thresholds for one
    change. They are found along lines of cells. Small trees are grown greedily, following the
    consequences of each split, and parts are searched again. A tree of few leaves is proven
    smallest by exhaustion; for others the bound is a set of points of which no two can share a
    leaf.

    Where values may be missing, or columns hold levels, the tree is smallest among those with two
    kinds of splits: values up to a threshold (levels up to a code) go left and missing values
    right, or missing values are told from all others. Splits that send missing values left with
    small ones, or any set of levels, could at times save leaves and are not considered.

    With a `domain`, no tree with splits at the ensemble's thresholds is smaller. A split on a
    feature that the ensemble does not use, but that a group or implication ties to others, could
    at times save leaves and is not considered.

    References
    ----------
    .. [1] T. Vidal, T. Pacheco, M. Schiffer (2020). Born-Again Tree Ensembles. ICML, PMLR 119,
       9743-9753. https://doi.org/10.48550/arXiv.2003.11132
    .. [2] A. Nakamura, K. Sakurada (2019). An Algorithm for Reducing the Number of Distinct
       Branching Conditions in a Decision Forest. ECML PKDD, 578-589.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from ensemble_simplify import BornAgainClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(n_estimators=7, max_depth=3, random_state=0)
    >>> tree = BornAgainClassifier(forest).fit(X, y)
    >>> tree.status_
    'optimal'
    >>> bool((tree.predict(X) == tree.estimator_.predict(X)).all())
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [Fittable(), None],
        "objective": [StrOptions({"auto", "depth", "leaves", "depth_then_leaves"})],
        "method": [StrOptions({"auto", "exact", "heuristic"})],
        "max_changes": [Interval(Integral, 0, None, closed="left"), None],
        "tolerance": [Interval(Real, 0, 1, closed="left")],
        "max_leaf_nodes": [Interval(Integral, 1, None, closed="left"), None],
        "row_share": [Interval(Real, 0, 1, closed="left")],
        "voting": [StrOptions({"estimator", "hard"})],
        "post_prune": ["boolean"],
        "domain": [Domain, dict, None],
        "merge_thresholds": ["boolean"],
        "max_memory": [Interval(Real, 0, None, closed="neither"), None],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        objective: str = "auto",
        method: str = "auto",
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

    @fit_context(prefer_skip_nested_validation=False)
    @all_or_nothing
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the ensemble, unless it is frozen, and find the smallest tree equal to it.

        Parameters
        ----------
        {training_X}
        {y}
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights, used in fitting the ensemble and for the node weights of the tree.

        {fitted}
        """
        check_readable(self.estimator)
        check_promise(self)
        given = X
        X, y = checked_table(self, X, y)
        weight = check_weights(sample_weight, X)
        rng = check_random_state(self.random_state)
        rows = named_rows(given, X)
        self.estimator_ = fit_or_unwrap(
            self.estimator,
            rows,
            y,
            None if sample_weight is None else weight,
            default=RandomForestClassifier(n_estimators=5, max_depth=2, random_state=rng),
        )
        begin = monotonic()
        model = Model.of(self.estimator_, voting=self.voting, classifier=True, rows=rows)
        forest = model.forest
        X = encoded(self, model, rows, X)
        self.classes_ = forest.classes
        y_index = class_index(y, self.classes_)
        domain = promised_domain(self, model, X)
        self._may_miss = None if domain is None or not domain.missing.any() else domain.missing
        counted = weight > 0
        answers = answers_to_finer_rows(model, rows, X, counted)

        whole = problem = read_problem(forest, domain)
        if self.merge_thresholds:
            until = np.inf if self.time_limit is None else begin + self.time_limit
            problem = read_problem(forest, domain, X[counted], until)
            before, after = (_count(_cells(p.trees.shape)) for p in (whole, problem))
            report(self, f"merged thresholds: {after} of {before} cells left")
        self._threshold = problem.forest.threshold
        cells = np.ascontiguousarray(problem.axes.encode_rows(X.astype(np.float32)).T)
        finer = Finer.of(X, cells, answers, weight)
        # where only the ensemble itself tells rows apart, nothing is promised
        self._finer_axes = whole.axes if forest.is_finer else None
        self.n_rows_ = int(counted.sum())
        if self.max_changes is not None:
            training = Training.of(X.astype(np.float32), y_index, weight, cells)
            seconds = self._seconds_left(begin, forest, len(X), WRITING_SECONDS)
            kept = cells[counted], weight[counted], finer
            self._fit_near(problem, training, *kept, seconds, rng)
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
        changed = self.n_leaves_ < self.n_leaves_unpruned_ or not np.array_equal(
            whole.forest.threshold, problem.forest.threshold
        )
        self._set_fidelity(changed, whole.forest, domain, tree, nodes, X[counted], rng)
        self._finer_rows = finer.rows
        self._count_exceptions(tree.nodes[leaf_of_row, 1], answers, counted)
        read = whole if domain is None else Problem.of(replace(forest, missing=self._may_miss))
        self._write(read, problem.axes, tree, nodes, leaf_of_row, X, y_index, weight, rng)
        self._tell()
        return self

    def _fit_near(self, problem, training, cells, weight, finer, seconds, rng):
        """Find and write a tree that keeps the promise near the training rows, and its path."""
        search = self._search_near(problem, cells, weight, finer, seconds, rng)
        self.n_points_ = _whole(search.n_points) + len(finer.rows)
        self.seen_share_ = 1.0 - search.n_unseen / self.n_points_
        self.n_cells_, self.n_regions_ = _cells(problem.trees.shape), n_regions(problem.axes.shape)
        steps = search.path()
        self.path_ = path_bunch(steps, finer)
        trees = [step.nodes for step in steps]
        self._promise = Promise(self.max_changes, problem.axes, training, finer, trees)
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
            f"{self.n_leaves_} leaves, {self.n_exceptions_:,} of {self.n_points_:,} points "
            f"otherwise or not looked at ({self.n_row_exceptions_} training rows)",
        )

    def _tell_of_exceptions(self, n_unseen):
        """Warn that a limit left exceptions, or points that were not looked at."""
        counted = (
            f"Of the {self.n_points_:,} promised points, the tree of leaves={self.n_leaves_} "
            f"answers {self.n_exceptions_ - n_unseen:,} otherwise"
        )
        if n_unseen:
            # rounded down: not all were looked at
            share = np.floor(1000.0 * self.seen_share_) / 10.0
            counted += f", and {n_unseen:,} more were not looked at (seen: {share:.1f} %)"
        warn_out_of_time(
            f"time_limit={self.time_limit} seconds ended the search before a tree was found that "
            f"keeps the promise of max_changes={self.max_changes}. {counted}. All of these count "
            "in n_exceptions_. Raise time_limit, or use fewer rows or max_changes=0."
        )

    def _search_near(self, problem, cells, weight, finer, seconds, rng):
        """The search for a tree near the training rows, ended; or an error that says what to do."""
        name = f"estimator={type(self.estimator_).__name__}(...)"
        try:
            search = LineSearch(
                Lines(problem.forest, problem.axes, problem.trees.outside),
                problem.axes.shape,
                cells,
                weight,
                self.max_changes,
                row_share=self.row_share,
                seconds=seconds,
                max_bytes=self._memory(),
                rng=np.random.default_rng(rng.randint(1 << 31)),
                report=partial(report, self),
                finer=finer,
            )
            search.find()
            if self.max_changes <= 1:
                search.explore()
        except TooManyPoints as error:
            raise ValueError(
                f"max_changes={self.max_changes} means {_count(error.n_points)} points near the "
                f"training rows of {name}: more than can be compared without a time_limit. Use "
                "max_changes=1, or set time_limit."
            ) from error
        except TooLarge as error:
            raise ValueError(
                f"The points near {len(cells):,} rows take about {_count(float(error.n_bytes))} "
                f"bytes, and max_memory allows {_count(float(self._memory()))}. Use fewer rows or "
                "max_changes=0, or raise max_memory."
            ) from error
        except NoTreeInTime as error:
            raise TimeLimitError(
                f"time_limit={self.time_limit} seconds were over before a tree was found that "
                f"answers as {name} within max_changes={self.max_changes}. Raise time_limit, or "
                "use a smaller max_changes."
            ) from error
        search.bound(prove=self.method != "heuristic")
        return search

    def _set_step(self, place, problem):
        """Become the tree at a place on the path."""
        path, promise = self.path_, self._promise
        training, tree = promise.training, CellTree(promise.trees[place])
        self.n_exceptions_ = int(path.n_exceptions[place])
        self.n_row_exceptions_ = int(path.n_row_exceptions[place])
        self.fidelity_ = float(path.agreement[place])
        self.depth_ = self.depth_unpruned_ = tree.depth
        self.n_leaves_ = self.n_leaves_unpruned_ = tree.n_leaves
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
        labels = training.y_index, training.weight
        self._write(problem, problem.axes, tree, nodes, leaf_of_row, rows, *labels, rng)

    def _write(self, problem, axes, tree, nodes, leaf_of_row, rows, y_index, weight, rng):
        """Set the scikit-learn tree of a tree over `axes`, with `nodes` over features.

        Its leaves hold the probabilities of the ensemble as `problem` has it.
        """
        self.decision_tree_ = write_classifier(
            nodes,
            tree.nodes[nodes.leaves, 1],
            leaf_probabilities(
                self.estimator_, problem, tree, axes, leaf_of_row, rows, weight, rng, self._table
            ),
            leaf_of_row,
            y_index,
            self.classes_,
            n_features=self.n_features_in_,
            feature_names=getattr(self, "feature_names_in_", None),
            sample_weight=weight,
        )

    def _set_fidelity(
        self, changed, forest, domain, tree, nodes, X, rng, measured=np.nan, effort=1.0
    ):
        """Set what is known of the agreement of the tree, its nodes over features, and forest."""
        self.fidelity_ = self.volume_fidelity_ = 1.0
        self.volume_fidelity_error_ = 0.0
        if not changed:
            return
        self.fidelity_ = measured
        splits = Splits.of_tree(nodes, forest.n_features)
        axes = Axes.of(forest, splits)
        coded = axes.encode_forest(splits).nodes
        leaves = coded[:, 0] < 0
        coded[leaves, 1] = tree.nodes[coded[leaves, 1], 1]
        outside = None if domain is None else domain.outside(axes)
        weights = []
        for j, cuts in zip(axes.features, axes.cuts, strict=True):
            integer = domain is not None and domain.integer[j]
            present = X[~np.isnan(X[:, j]), j] if np.isnan(X[:, j]).any() else X[:, j]
            low, high = (present.min(), present.max()) if present.size else (0.0, 0.0)
            weights.append(cell_shares(cuts, low, high, integer))
        self.volume_fidelity_, self.volume_fidelity_error_ = fidelity(
            CellTrees.of(forest, axes, outside),
            CellTree(coded),
            weights,
            np.random.default_rng(rng.randint(1 << 31)),
            effort,
        )

    def _count_exceptions(self, labels, answers, counted):
        """Set how many training rows the ensemble itself answers otherwise than the tree."""
        self.n_row_exceptions_ = 0
        if answers is None:
            return
        self.n_row_exceptions_ = int((labels != answers[0])[counted].sum())
        if self.n_row_exceptions_ and self.fidelity_ == 1:
            self.fidelity_ = 1.0 - self.n_row_exceptions_ / self.n_rows_

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
        report(self, f"{forest.n_trees} trees, {_count(_cells(shape))} cells before merging")
        try:
            return find_tree(
                problem,
                "depth_then_leaves" if self.objective == "auto" else self.objective,
                method=self.method,
                max_bytes=allowed,
                seconds=seconds,
                rng=np.random.default_rng(rng.randint(1 << 31)),
                report=partial(report, self),
                warn=partial(report, self) if self.verbose else warn,
            )
        except TooLarge as error:
            raise ValueError(self._too_large(shape, error.n_bytes, allowed)) from error
        except TooManyLeaves as error:
            raise ValueError(
                f"A tree that answers as {name} at every input is expected to have about "
                f"{_count(error.n_leaves)} leaves ({forest.n_trees} trees, "
                f"{problem.axes.n_cuts.sum():,} distinct thresholds); more than {MAX_LEAVES:,} are "
                f"not written out. {self._advice(problem, cells, rng)} For a small tree with "
                "measured agreement, use RepresenterTree. A tree for every input needs a far "
                "smaller ensemble: about ten shallow trees, and features of few distinct values "
                "(for instance by KBinsDiscretizer)."
            ) from error
        except OutOfTime as error:
            forecast = ""
            if error.share > 0:
                forecast = (
                    f" It had {error.n_leaves:,} leaves on {error.share:.2g} of the cells: "
                    f"expect about {_count(error.n_leaves / error.share)} leaves."
                )
            raise TimeLimitError(
                f"time_limit={self.time_limit} seconds were over before a tree was found that "
                f"answers as {name} at every input ({_count(_cells(shape))} cells).{forecast} Set "
                "max_changes=1 or 0: the tree then answers alike near the training rows, and is "
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
        limited, shape = self.time_limit is not None, problem.axes.shape
        most = ADVICE_POINTS / problem.forest.n_trees
        for max_changes, where in ways.items():
            n_leaves, seed = None, rng.randint(1 << 31)
            if limited or n_near(len(cells), shape, max_changes) <= most:
                n_leaves = forecast_near(
                    Lines(problem.forest, problem.axes, problem.trees.outside),
                    shape,
                    cells,
                    max_changes,
                    seconds=ADVICE_SECONDS if limited else np.inf,
                    rng=np.random.default_rng(seed),
                )
            size = "a tree" if n_leaves is None else f"a tree of {n_leaves:,} leaves or fewer"
            advice.append(f"max_changes={max_changes} promises the same answer {where}, by {size}")
        return f"{'; '.join(advice)}."

    def _memory(self):
        return available_memory() * MEMORY_SHARE if self.max_memory is None else self.max_memory

    def _too_large(self, shape, n_bytes, allowed):
        return (
            f"estimator={type(self.estimator_).__name__}(...) divides the feature space into "
            f"{_count(_cells(shape))} cells ({_count(regions_forecast(shape))} regions); the exact "
            f"search needs about {_count(float(n_bytes))} bytes, and max_memory allows "
            f"{_count(float(allowed))}. Use method='auto' or 'heuristic', fewer or shallower "
            "trees, or features of fewer distinct values (for instance by KBinsDiscretizer), or "
            "raise max_memory."
        )

    def _set_sizes(self, found, tree):
        self.depth_, self.n_leaves_ = tree.depth, tree.n_leaves
        self.depth_unpruned_, self.n_leaves_unpruned_ = found.tree.depth, found.tree.n_leaves
        self.depth_lower_bound_ = found.depth_bound
        self.n_leaves_lower_bound_ = found.leaves_bound
        self.n_cells_ = _cells(found.shape)
        self.n_regions_ = n_regions(found.shape)
        self.status_ = "optimal" if found.optimal else "feasible"

    def _tell(self):
        """Print what was found, and warn if a limit ended the search."""
        report(
            self,
            f"depth {self.depth_unpruned_} (at least {self.depth_lower_bound_}), "
            f"{self.n_leaves_unpruned_} leaves (at least {self.n_leaves_lower_bound_}), "
            f"{self.status_}",
        )
        if self.n_leaves_ < self.n_leaves_unpruned_:
            report(
                self,
                f"pruned to depth {self.depth_}, {self.n_leaves_} leaves; "
                f"volume fidelity {self.volume_fidelity_:.6g}",
            )
        if self.status_ == "feasible" and self.method != "heuristic":
            limit = "max_memory" if self.time_limit is None else "time_limit or max_memory"
            warn_out_of_time(
                f"{limit} ended the search. The tree that was found answers as it should, but it "
                f"may not be the smallest: it has depth {self.depth_unpruned_} and "
                f"{self.n_leaves_unpruned_} leaves, and every such tree has at least depth "
                f"{self.depth_lower_bound_} and {self.n_leaves_lower_bound_} leaves."
            )

    def verify(self, *, time_limit: float | None = None) -> Verification:
        """Prove that the tree and the ensemble agree on every finite input, or in the domain.

        The proof does not use the search. It bounds the votes of the ensemble on the box of
        each leaf, and divides the box where the bounds do not decide.

        Parameters
        ----------
        {time_limit}

        Returns
        -------
        Verification
            True in a condition if they are proven equal; otherwise False, with a row on which
            they differ if one was found. See :func:`verify`. Training rows that are finer than
            float32 are asked about, too (see `n_row_exceptions_`). After `post_prune` or
            `merge_thresholds` there often is such a row.
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
        if self.max_changes is not None:
            rows = self._table.shown(self._promise.rows)
            return prove(X=rows, max_changes=self.max_changes)
        if len(self._finer_rows):
            of_rows = prove(X=self._table.shown(self._finer_rows), max_changes=0)
            if not of_rows:
                return of_rows
        return prove()

    def covers(self, X: ArrayLike) -> np.ndarray:
        """Which rows the promise reaches.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; cast to float32. A row is not covered if it lacks a feature that may not be
            missing, nor if the ensemble compares numbers finer than float32 and answers the row
            otherwise once it is cast, nor if it is a pipeline that answers rows of float32 and of
            float64 by other thresholds, and `X` has another of these dtypes than the rows in
            ``fit``.

        Returns
        -------
        ndarray of bool, shape (n_samples,)
            Where the tree is promised to answer as the ensemble. Without `max_changes`: on all
            rows inside `domain`. With it: on the rows that no split of the ensemble tells from a
            point that differs from some training row in at most that many features. If
            `tolerance`, `max_leaf_nodes` or `time_limit` left exceptions, these are among the rows
            covered.
        """
        given = X
        X, inside = promised_rows(self, X)
        if self.max_changes is not None:
            inside &= self._promise.covers(X)
        if self._finer_axes is not None:
            asked = Model.of(self.estimator_, voting=self.voting, rows=self._table, check=False)
            inside = unmoved_by_rounding(self, self._finer_axes, [asked], given, inside)
        return inside

    def at(self, *, n_leaves: int | None = None, tolerance: float | None = None) -> Self:
        """Take another tree of the path of exceptions, without a new search.

        Parameters
        ----------
        n_leaves : int or None, default=None
            Largest number of leaves. Of the trees within it, the one with the fewest exceptions
            is taken.
        tolerance : float or None, default=None
            As the parameter. None, if `n_leaves` is given: 0.

        Returns
        -------
        BornAgainClassifier
            A fitted copy; its tree is one of `path_`.
        """
        check_is_fitted(self)
        if self.max_changes not in (0, 1):
            raise ValueError(
                f"max_changes={self.max_changes}: there is a path of exceptions with max_changes=0 "
                "or 1 only. Fit the estimator with one of them."
            )
        if n_leaves is None and tolerance is None:
            raise ValueError("n_leaves and tolerance are both None. Give one of them.")
        if n_leaves is not None and not (isinstance(n_leaves, Integral) and n_leaves >= 1):
            raise ValueError(f"n_leaves={n_leaves!r} must be an integer of at least 1.")
        other = copy(self)
        other.set_params(tolerance=tolerance or 0.0, max_leaf_nodes=n_leaves)
        forest = Model.of(self.estimator_, voting=self.voting, rows=self._table, check=False).forest
        problem = read_problem(forest, self._inside)
        other._set_step(chosen_step(self.path_, tolerance or 0.0, n_leaves), problem)
        return other

    def front(self, *, time_limit: float | None = None) -> list[tuple[int, int]]:
        """Find the fewest leaves for every depth: what a shallower tree costs.

        Parameters
        ----------
        {time_limit}

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
        forest = Model.of(self.estimator_, voting=self.voting, rows=self._table, check=False).forest
        whole = read_problem(forest, self._inside).forest
        problem = Problem.of(replace(whole, threshold=self._threshold), self._inside)
        allowed = self._memory()
        seconds = np.inf if time_limit is None else time_limit
        try:
            return find_front(problem, max_bytes=allowed, seconds=seconds)
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


def _count(number):
    """A count for a message: plain while it is short."""
    if number == np.inf:
        return "more than 1e308"
    return f"{int(number):,}" if number < 1e6 else f"{number:.2g}"
