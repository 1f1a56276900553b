"""The smallest single tree with exactly the same function as an ensemble."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from numbers import Real
from time import monotonic
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ensemble_simplify._axes import Axes, Splits
from ensemble_simplify._base import (
    HasMethods,
    HoldsClassifierTree,
    Interval,
    StrOptions,
    TimeLimitError,
    all_or_nothing,
    available_memory,
    check_readable,
    check_weights,
    class_index,
    fit_context,
    fit_or_unwrap,
    named_rows,
    read_classifier,
    report,
    warn,
    warn_out_of_time,
)
from ensemble_simplify._domain import Domain, read_domain
from ensemble_simplify._sklearn_tree import write_classifier
from ensemble_simplify._verify import verify
from ensemble_simplify.born_again._fidelity import edge_weights, fidelity
from ensemble_simplify.born_again._grid import CellTrees, n_cells
from ensemble_simplify.born_again._planner import (
    MAX_LEAVES,
    OutOfTime,
    Problem,
    TooManyLeaves,
    find_front,
    find_tree,
    read_problem,
)
from ensemble_simplify.born_again._probabilities import leaf_probabilities
from ensemble_simplify.born_again._search import CellTree, TooLarge, n_regions

# Share of the memory free at the start of fit that the search may use.
MEMORY_SHARE = 0.5
# Seconds that a row and tree take when the probabilities of leaves are set.
VOTE_SECONDS = 3e-8


class BornAgainClassifier(HoldsClassifierTree, ClassifierMixin, BaseEstimator):
    """The smallest decision tree with exactly the same function as a tree ensemble.

    For every finite input, ``predict`` answers what ``estimator_.predict`` answers, and no
    decision tree of axis-parallel splits that does so is smaller in the chosen objective.

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
        voting over them; with the extra ``ensemble-simplify[boosting]``, histogram gradient
        boosting, XGBoost and LightGBM; a ``Pipeline`` of scalers, imputers or selectors of columns
        that ends in one of these; and the fitted estimators of this package that hold a tree or
        an ensemble.
    objective : {"depth", "leaves", "depth_then_leaves"}, default="depth_then_leaves"
        What is smallest: the depth, the number of leaves, or the number of leaves among
        the trees of smallest depth.
    method : {"auto", "exact", "heuristic"}, default="auto"
        ``"exact"`` proves the tree smallest, or raises an error if memory or time do not suffice.
        ``"heuristic"`` grows a tree with exactly the same function, chooses its upper splits by
        looking ahead, and solves parts exactly, larger and larger ones while time remains; bounds
        tell how much smaller a tree could be. ``"auto"`` is exact where memory and time suffice,
        heuristic elsewhere.
    voting : {"estimator", "hard"}, default="estimator"
        Whose function the tree has: ``"estimator"``, what the ensemble's own ``predict``
        answers (with ``n_jobs=None``, where its sums do not depend on the timing of threads);
        ``"hard"``, the majority of the trees' labels, ties to the first class, as in [1]_.
    post_prune : bool, default=False
        Whether to replace, from the bottom up, every split that has training rows on one side only
        by that side, and splits between two leaves of one class by a leaf, as in [1]_. The tree
        is then smaller and answers like the ensemble on every training row (of positive weight),
        but not everywhere: see `volume_fidelity_`.
    domain : Domain, dict or None, default=None
        Which inputs can occur: a :class:`Domain`, or a dict of its parameters. The tree has the
        ensemble's function inside the domain and any class outside, where ``predict`` answers
        without a check; so it can be smaller. Training rows must be inside. None: every finite
        input.
    merge_thresholds : bool, default=False
        Whether to merge thresholds of the ensemble, before the search, to the fewest that leave
        every training row on its path in every tree [2]_. The tree then has the function of the
        ensemble with merged thresholds, which is the ensemble's own on the training rows (of
        positive weight), but not everywhere: see `volume_fidelity_`.
    max_memory : float or None, default=None
        Memory the search may use, in bytes. None: half of what is free when ``fit`` starts.
    time_limit : float or None, default=None
        Time in seconds, without the fitting of the ensemble; reading it and writing the tree
        count. When it is over, the best tree so far is returned with its bounds and a
        ``ConvergenceWarning``. More time does not give a larger tree. None: no limit; before an
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
        minimised.
    status_ : {"optimal", "feasible"}
        ``"optimal"``: the objective is proven to be smallest; ``"feasible"``: the tree has the
        ensemble's function (inside `domain`, with merged thresholds if `merge_thresholds`), but a
        smaller one may exist. It is about the search: what `post_prune` took away afterwards is
        the difference to `n_leaves_unpruned_`.
    fidelity_ : float
        1.0 where the tree is proven to be the ensemble (inside `domain`); NaN where `post_prune`
        or `merge_thresholds` changed its function, for no rows are kept aside to measure that:
        see `volume_fidelity_`, and :func:`verify`.
    volume_fidelity_ : float
        Share of points, drawn uniformly from the bounding box of the training rows, to which
        the tree gives the ensemble's class: 1 where `fidelity_` is. With a `domain`, only points
        inside count, integer features are drawn as integers, and what groups and implications say
        about features that the ensemble does not use is put in terms of those it uses. Computed
        from all cells; where there are too many, estimated from those of 100,000 points that are
        in the domain (NaN if none is).
    volume_fidelity_error_ : float
        Standard error of `volume_fidelity_`; 0 where it is exact.
    n_cells_ : int or float
        Number of cells; cuts across which no prediction changes are not counted, unless there are
        too many cells to look at each.
    n_regions_ : int or float
        Number of boxes of these cells.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of features seen during ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if ``fit`` saw any.

    Raises
    ------
    TypeError
        If the ensemble is of a kind that cannot be read.
    ValueError
        If the search does not fit into `max_memory` (``method="exact"``), if a tree with the
        ensemble's function is expected to have far more than a million leaves
        (``method="auto"``), or a parameter is out of range.
    TimeLimitError
        If no tree with the ensemble's function was found within `time_limit`.

    See Also
    --------
    sklearn.tree.DecisionTreeClassifier : A tree grown on the training data.

    Notes
    -----
    With h_j cuts on feature j there are ``prod(h_j + 1)`` cells and
    ``prod((h_j + 1) (h_j + 2) / 2)`` regions; time and memory grow with the number of regions
    that differ in function, which is often a twentieth of that. Features with many values
    give many cuts: limit ``max_depth``, the number of trees, or bin the features.

    Thresholds are read as scikit-learn applies them, to rows rounded to float32.

    With a `domain`, no tree with splits at cuts of the ensemble is smaller; a split on a feature
    that the ensemble does not use, but that a group or implication ties to others, could at times
    save leaves and is not considered.

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
        "estimator": [HasMethods(["fit", "predict"]), None],
        "objective": [StrOptions({"depth", "leaves", "depth_then_leaves"})],
        "method": [StrOptions({"auto", "exact", "heuristic"})],
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
        estimator=None,
        *,
        objective="depth_then_leaves",
        method="auto",
        voting="estimator",
        post_prune=False,
        domain=None,
        merge_thresholds=False,
        max_memory=None,
        time_limit=None,
        random_state=None,
        verbose=0,
    ):
        self.estimator = estimator
        self.objective = objective
        self.method = method
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
    def fit(self, X, y, sample_weight=None):
        """Fit the ensemble, unless it is frozen, and find the smallest equal tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights, used in fitting the ensemble and for the node weights of the tree.

        Returns
        -------
        self : BornAgainClassifier
            The fitted estimator.
        """
        check_readable(self.estimator)
        given = X
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
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
        forest = read_classifier(self.estimator_, voting=self.voting)
        self.classes_ = forest.classes
        y_index = class_index(y, self.classes_)
        domain = self._domain()
        if domain is not None:
            domain.check_rows(X)
        counted = weight > 0

        whole = problem = read_problem(forest, domain)
        if self.merge_thresholds:
            problem = read_problem(forest, domain, merge_rows=X[counted])
            self._report_merging(whole, problem)
        self._threshold = problem.forest.threshold
        found = self._search(problem, rng, seconds=self._seconds_left(begin, forest, len(X)))
        tree, nodes = found.tree, problem.axes.decode(found.tree.nodes)
        cells = np.ascontiguousarray(problem.axes.encode_rows(X.astype(np.float32)).T)
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
        self.decision_tree_ = write_classifier(
            nodes,
            tree.nodes[nodes.leaves, 1],
            leaf_probabilities(
                self.estimator_,
                whole if whole.forest is forest else Problem.of(forest),
                tree,
                problem.axes,
                leaf_of_row,
                rows,
                weight,
                rng,
            ),
            leaf_of_row,
            y_index,
            self.classes_,
            n_features=self.n_features_in_,
            feature_names=getattr(self, "feature_names_in_", None),
            sample_weight=weight,
        )
        self._tell()
        return self

    def _domain(self):
        """The domain in terms of feature numbers."""
        names = getattr(self, "feature_names_in_", None)
        return read_domain(self.domain, self.n_features_in_, names)

    def _report_merging(self, whole, merged):
        before, after = (_count(_cells(problem.trees.shape)) for problem in (whole, merged))
        report(self, f"merged thresholds: {after} of {before} cells left")

    def _set_fidelity(self, changed, forest, domain, tree, nodes, X, rng):
        """Set what is known of the agreement of the tree, its nodes over features, and forest."""
        self.fidelity_ = self.volume_fidelity_ = 1.0
        self.volume_fidelity_error_ = 0.0
        if not changed:
            return
        self.fidelity_ = np.nan
        splits = Splits.of_tree(nodes, forest.n_features)
        axes = Axes.of(forest, splits)
        coded = axes.encode_forest(splits).nodes
        leaves = coded[:, 0] < 0
        coded[leaves, 1] = tree.nodes[coded[leaves, 1], 1]
        outside = None if domain is None else domain.outside(axes)
        weights = []
        for j, cuts in zip(axes.features, axes.cuts, strict=True):
            integer = domain is not None and domain.integer[j]
            weights.append(edge_weights(cuts, X[:, j].min(), X[:, j].max(), integer))
        self.volume_fidelity_, self.volume_fidelity_error_ = fidelity(
            CellTrees.of(forest, axes, outside),
            CellTree(coded),
            weights,
            np.random.default_rng(rng.randint(1 << 31)),
        )

    def _seconds_left(self, begin, forest, n_rows):
        """Time for the search: without what went by, and what leaf probabilities will take."""
        if self.time_limit is None:
            return np.inf
        return self.time_limit - (monotonic() - begin) - VOTE_SECONDS * n_rows * forest.n_trees

    def _search(self, problem, rng, seconds):
        """A faithful tree, or an error that tells what to change."""
        allowed = self._memory()
        shape, forest = problem.trees.shape, problem.forest
        name = f"estimator={type(self.estimator_).__name__}(...)"
        report(self, f"{forest.n_trees} trees, {_count(_cells(shape))} cells before merging")
        try:
            return find_tree(
                problem,
                self.objective,
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
            n_thresholds = problem.axes.n_cuts.sum()
            raise ValueError(
                f"A tree with the function of {name} is expected to have {_count(error.n_leaves)} "
                f"leaves or so ({forest.n_trees} trees, {n_thresholds:,} distinct thresholds); "
                f"more than {MAX_LEAVES:,} are not written out. Use fewer or shallower trees, or "
                "features of fewer distinct values (for instance by KBinsDiscretizer); or take a "
                "small tree that only comes close, by RepresenterTree or GenesimClassifier. "
                "method='heuristic' with a time_limit searches all the same."
            ) from error
        except OutOfTime as error:
            forecast = ""
            if error.share > 0:
                forecast = (
                    f" It had {error.n_leaves:,} leaves on {error.share:.2g} of the cells: "
                    f"expect {_count(error.n_leaves / error.share)} leaves or so."
                )
            raise TimeLimitError(
                f"time_limit={self.time_limit} seconds were over before a tree with the function "
                f"of {name} was found, on {_count(_cells(shape))} cells.{forecast} Use fewer or "
                "shallower trees, or features of fewer distinct values (for instance by "
                "KBinsDiscretizer), or raise time_limit."
            ) from error

    def _memory(self):
        return available_memory() * MEMORY_SHARE if self.max_memory is None else self.max_memory

    def _too_large(self, shape, n_bytes, allowed):
        return (
            f"estimator={type(self.estimator_).__name__}(...) divides the feature space into "
            f"{_count(_cells(shape))} cells ({_count(float(n_regions(shape)))} regions); the exact "
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
                f"{limit} ended the search: a tree of the function sought was found, of depth "
                f"{self.depth_unpruned_} and with {self.n_leaves_unpruned_} leaves; every such "
                f"tree has at least depth {self.depth_lower_bound_} and "
                f"{self.n_leaves_lower_bound_} leaves."
            )

    def verify(self, *, time_limit=None):
        """Prove that the tree and the ensemble agree on every finite input, or in the domain.

        The proof does not use the search: it bounds the votes of the ensemble on the box of
        each leaf, and divides the box where the bounds do not tell.

        Parameters
        ----------
        time_limit : float or None, default=None
            Seconds; None: no limit.

        Returns
        -------
        Verification
            True in a condition iff they are proven equal; otherwise with a row on which they
            differ, if one was found. See :func:`verify`. After `post_prune` or
            `merge_thresholds` there often is such a row.
        """
        check_is_fitted(self)
        return verify(
            self.estimator_,
            self.decision_tree_,
            voting=self.voting,
            domain=self.domain,
            time_limit=time_limit,
        )

    def front(self, *, time_limit=None):
        """Fewest leaves for every depth: what a shallower tree costs.

        Parameters
        ----------
        time_limit : float or None, default=None
            Seconds; None: no limit.

        Returns
        -------
        list of (int, int)
            Pairs (depth, leaves) of the trees with the ensemble's function that no other such
            tree beats in both, from the least depth to the fewest leaves. As in ``fit``, the
            function is that inside `domain`, with merged thresholds if `merge_thresholds`, and
            before `post_prune`.

        Raises
        ------
        ValueError
            If the exact search does not fit into `max_memory`.
        TimeLimitError
            If the time is over first.
        """
        check_is_fitted(self)
        forest = read_classifier(self.estimator_, voting=self.voting)
        problem = Problem.of(replace(forest, threshold=self._threshold), self._domain())
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


def _cells(shape):
    """Number of cells, as an int where 64 bits hold it."""
    number = n_cells(shape)
    return int(number) if number < 2**53 else number


def _count(number):
    """A count for a message: plain while it is short."""
    return f"{int(number):,}" if number < 1e6 else f"{number:.2g}"
