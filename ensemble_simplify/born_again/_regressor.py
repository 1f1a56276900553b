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
    """The smallest decision tree whose value is near a regression ensemble's at every input.

    For every finite input, ``predict`` answers a number that differs by at most `atol_` from what
    ``estimator_.predict`` answers, and no decision tree of axis-parallel splits that does so is
    smaller in the chosen objective. (Of ensembles that compare numbers finer than float32: for
    every input that float32 represents.)

    It is for few shallow trees and wide tolerances: each leaf can only stand for answers that span
    twice the tolerance, so that a forest of deep trees takes thousands of leaves. For a small tree
    with measured agreement, use :class:`RepresenterTree`.

    The thresholds of the ensemble divide the feature space into cells on which its value is
    constant. Dynamic programming over all boxes of cells, as in [1]_, finds the smallest tree whose
    leaves are boxes in which the largest and the smallest value are near enough.

    Read more in the :ref:`User Guide <born_again_regressor>`.

    Parameters
    ----------
    estimator : estimator, FrozenEstimator or None, default=None
        The ensemble of regression trees. An unfitted one is cloned and fitted on the training data;
        a fitted one is used as it is when wrapped in :class:`~sklearn.frozen.FrozenEstimator`.
        None means ``RandomForestRegressor(n_estimators=5, max_depth=2)``. What is supported is said
        at :class:`BornAgainClassifier`.
    atol : float or str, default="10%"
        Largest difference of the tree's value from the ensemble's. A text such as ``"10%"`` is a
        share of the standard deviation of the ensemble's own answers to the training rows.
    objective : {"auto", "depth", "leaves", "depth_then_leaves"}, default="auto"
        What to minimise: the depth, the number of leaves, or the number of leaves among the
        trees of smallest depth. ``"auto"`` is ``"depth_then_leaves"``; with `max_changes` it is
        ``"leaves"``, the only objective that is possible there.
    method : {"auto", "exact", "heuristic"}, default="auto"
        ``"exact"`` proves the tree smallest, or raises an error if memory or time do not suffice.
        ``"heuristic"`` finds a tree within the tolerance that is not proven smallest; bounds tell
        how much smaller a tree could be. ``"auto"`` is exact where memory and time suffice,
        heuristic elsewhere, and refuses where far more than a million leaves are to be expected.
    max_changes : {0, 1} or None, default=None
        Where the tree is within the tolerance. None: at every finite input. 0: on the training
        rows. 1: also where a single feature of a training row takes any other value. At other
        points it may answer anything. 0 and 1 work for any ensemble, but a tree for single changes
        of a large one has hundreds to thousands of leaves. Rows of weight zero do not count.
    tolerance : float, default=0.0
        With `max_changes`: largest share of the weight of the promised points on which the tree
        may be further off than `atol_`. The tree with the fewest leaves within this share is taken,
        and its exceptions are counted.
    max_leaf_nodes : int or None, default=None
        With `max_changes`: largest number of leaves. If a tree without exceptions has more, the
        tree with the least weight of exceptions is taken; with `tolerance`, the smaller of the two.
        None: no limit.
    row_share : float, default=0.5
        With ``max_changes=1``: share of the training rows in the weight of all promised points,
        below 1; the other points share the rest equally. Among the rows, `sample_weight` counts.
    domain : Domain, dict or None, default=None
        Which inputs can occur: a :class:`Domain`, or a dict of its parameters. Inside the domain
        the tree is within the tolerance. Outside it may answer anything, and ``predict`` does not
        check; so the tree can be smaller. Training rows must be inside. None: every finite input.
    max_memory : float or None, default=None
        Memory the search may use, in bytes. None: half of what is free when ``fit`` starts.
        With `max_changes`, only what the points near the rows take is checked.
    time_limit : float or None, default=None
        Time in seconds; fitting the ensemble does not count, reading it and writing the tree do.
        When it is over, the best tree so far is returned with its bounds and a
        ``ConvergenceWarning``. None: no limit.
    random_state : int, RandomState instance or None, default=None
        Seeds the default ensemble, and the samples of cells by which the heuristic divides. An
        ensemble that is given keeps its own.
    verbose : int, default=0
        If positive, the size of the problem, the best tree so far and its bound are printed.

    Attributes
    ----------
    estimator_ : estimator
        The fitted ensemble.
    atol_ : float
        The number that `atol` stands for.
    decision_tree_ : DecisionTreeRegressor
        The tree, an ordinary fitted scikit-learn tree. Its node weights and impurities come
        from the training rows; a leaf's value is the weighted mean of the ensemble's answers to the
        training rows in it, moved as little as keeps it within the tolerance (the middle of what
        the tolerance leaves where there is no row).
    depth_ : int
        Depth of the tree.
    n_leaves_ : int
        Number of leaves of the tree.
    depth_lower_bound_ : int
        No tree within the tolerance is less deep. Equal to `depth_` where depth is minimised.
    n_leaves_lower_bound_ : int
        No tree within the tolerance, and of depth `depth_` if depth comes first, has fewer leaves.
        Equal to `n_leaves_` where leaves are minimised.
    status_ : {"optimal", "feasible"}
        ``"optimal"``: the objective is proven to be smallest; ``"feasible"``: the tree is within
        the tolerance, but a smaller one may exist.
    fidelity_ : float
        Share of the training rows on which the tree is within the tolerance: 1.0, unless there are
        `n_row_exceptions_`. With `max_changes`: the same share on a fifth of the training rows, of
        a tree of this size that was found without them.
    n_points_ : int, float or None
        With `max_changes` (else None, like `seen_share_`, `n_exceptions_`, `path_`), the promised
        points: distinct rows, and cells that differ from a row in at most so many features. A point
        near several rows counts for each. A training row that the ensemble answers otherwise than
        what float32 makes of it is one more point.
    seen_share_ : float or None
        The share of `n_points_` whose answers were looked at: 1 unless `time_limit` came first.
        Points outside `domain` are among those that were not.
    n_exceptions_ : int or None
        With `max_changes`, at how many of the `n_points_` the tree is not within the tolerance.
        Points that were not looked at count, too: there are no more exceptions than this.
    path_ : Bunch or None
        With `max_changes`, the trees from a single leaf to one without exceptions, as arrays:
        ``n_leaves``; ``n_exceptions`` and ``n_row_exceptions``; ``weighted_share``, what
        `tolerance` bounds; ``held_share``, the share of exceptions among points that are not rows,
        each counted by the training rows that hold its changed value; ``agreement``, as
        `fidelity_`, and ``r2`` of the ensemble's answers on the same held-out rows;
        ``max_difference``, the largest difference at any point that was looked at. See :meth:`at`.
    n_rows_ : int
        The training rows of positive weight.
    n_row_exceptions_ : int
        How many of the `n_rows_` training rows, as they were given, the ensemble itself answers
        further than `atol_` from the tree: rows that are finer than float32.
    n_cells_ : int or float
        Number of cells (infinity from about 1.8e308 on); cuts across which no value changes are not
        counted, unless there are too many cells to look at each.
    n_regions_ : int or float
        Number of boxes of these cells.
    {features_in}

    Raises
    ------
    TypeError
        If the ensemble is of a kind that cannot be read, or a classifier.
    ValueError
        If the search does not fit into `max_memory` (``method="exact"``), if a tree within the
        tolerance is expected to have far more than a million leaves (``method="auto"``), or a
        parameter is out of range.
    TimeLimitError
        If no tree within the tolerance was found within `time_limit`. With `max_changes` the best
        tree so far is returned instead, with its exceptions.

    See Also
    --------
    RepresenterTree : A tree of any size, with measured agreement.
    BornAgainClassifier : The same for classes.

    Notes
    -----
    Differences are those of doubles, ``abs(a - b) <= atol_`` for the numbers that both models
    answer, as :func:`verify` compares them.

    With `max_changes`, small trees are grown greedily on the lines of cells through the training
    rows, following the consequences of each split, and parts are searched again. A leaf with
    exceptions takes the window of numbers, of twice the tolerance, that holds the most weight. A
    tree of few leaves is proven smallest by exhaustion; for others the bound is a set of points of
    which no two can share a leaf.

    References
    ----------
    .. [1] T. Vidal, T. Pacheco, M. Schiffer (2020). Born-Again Tree Ensembles. ICML, PMLR 119,
       9743-9753. https://doi.org/10.48550/arXiv.2003.11132

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import GradientBoostingRegressor
    >>> from ensemble_simplify import BornAgainRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> boosting = GradientBoostingRegressor(n_estimators=8, max_depth=1, random_state=0)
    >>> tree = BornAgainRegressor(boosting, atol="20%").fit(X, y)
    >>> tree.status_
    'optimal'
    >>> difference = tree.predict(X) - tree.estimator_.predict(X)
    >>> bool(np.abs(difference).max() <= tree.atol_)
    True
    """

    _texts: ClassVar = {
        "y": """\
y : array-like of shape (n_samples,)
    Target values.""",
    }

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
        {training_X}
        {y}
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights, used in fitting the ensemble and for the values and node weights of the tree.

        {fitted}
        """
        return self._fit(X, y, sample_weight)

    def _check(self):
        super()._check()
        check_atol(self.atol)

    def _default(self, rng):
        return RandomForestRegressor(n_estimators=5, max_depth=2, random_state=rng)

    def _read_targets(self, y, forest):
        return np.asarray(y, dtype=np.float64)

    def _read_tolerance(self, model, rows, X, weight):
        if model.forest.classes is not None:
            raise TypeError(
                f"estimator={model.name}(...) is a classifier. Use BornAgainClassifier for it."
            )
        counted = weight > 0
        answers = model.ask_given(rows, X, fitted=True)[counted]
        self._deviation = absolute_tolerance("100%", answers, weight[counted])
        self.atol_ = absolute_tolerance(self.atol, answers, weight[counted])
        return Tolerance(self.atol_)

    def _write(self, problem, axes, tree, nodes, leaf_of_row, rows, targets, weight, rng, ends):
        answers = problem.forest.predict_index(rows)
        total = np.bincount(leaf_of_row, weights=weight, minlength=nodes.n_nodes)[nodes.leaves]
        wish = np.bincount(leaf_of_row, weights=weight * answers, minlength=nodes.n_nodes)
        wish = np.where(total > 0, wish[nodes.leaves] / np.where(total > 0, total, 1.0), np.nan)
        values = self._chosen(nodes, ends[:, 0], ends[:, 1], wish[:, None])
        self.decision_tree_ = write_regressor(
            nodes,
            values[:, 0],
            leaf_of_row,
            targets,
            n_features=self.n_features_in_,
            feature_names=getattr(self, "feature_names_in_", None),
            sample_weight=weight,
        )
