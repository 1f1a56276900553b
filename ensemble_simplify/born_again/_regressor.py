"""The smallest single tree whose value is within a tolerance of a regression ensemble's."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import RandomForestRegressor

from ensemble_simplify.base import (
    HoldsTree,
    Interval,
    absolute_tolerance,
    all_or_nothing,
    check_atol,
    fit_context,
)
from ensemble_simplify.born_again._shared import BornAgain
from ensemble_simplify.born_again.everywhere._tolerance import Tolerance
from ensemble_simplify.grid import Domain
from ensemble_simplify.writing import write_regressor


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

    @fit_context(prefer_skip_nested_validation=False)
    @all_or_nothing
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the ensemble, unless it is frozen, and find the smallest tree near it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows. Values are cast to float32, as scikit-learn's trees do.
        y : array-like of shape (n_samples,)
            Target values.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights, used in fitting the ensemble and for the values and node weights of the tree.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        return self._fit(X, y, sample_weight)

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
