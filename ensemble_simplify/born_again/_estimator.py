"""The smallest single tree with exactly the same function as an ensemble."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier

from ensemble_simplify.base import (
    HoldsClassifierTree,
    Interval,
    StrOptions,
    absolute_tolerance,
    all_or_nothing,
    check_atol,
    class_index,
    fit_context,
)
from ensemble_simplify.born_again._box_fidelity import fidelity
from ensemble_simplify.born_again._probabilities import leaf_probabilities
from ensemble_simplify.born_again._shared import BornAgain
from ensemble_simplify.born_again.everywhere._grid import CellTrees
from ensemble_simplify.born_again.everywhere._search import CellTree
from ensemble_simplify.born_again.everywhere._tolerance import Tolerance
from ensemble_simplify.grid import Axes, Domain, Splits, cell_shares
from ensemble_simplify.writing import write_classifier


class BornAgainClassifier(BornAgain, HoldsClassifierTree, ClassifierMixin, BaseEstimator):
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
    atol : float, str or None, default=None
        Largest difference of the tree's probabilities from the ensemble's, for every class and at
        every input; the class is the ensemble's, too. A text such as ``"10%"`` is a share of the
        standard deviation of the ensemble's probabilities on the training rows, of the class where
        that is largest. Only for ensembles whose probabilities are means of what their trees say
        (trees, forests, bagging, soft votes of these). None: the class alone counts.
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
    atol_ : float or None
        The number that `atol` stands for.
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
        return self._fit(X, y, sample_weight)

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

    def _read_tolerance(self, model, rows, X, weight):
        self.atol_ = None
        if self.atol is None:
            return None
        if not model.forest.tells_probabilities:
            raise TypeError(
                f"atol={self.atol!r} keeps probabilities that are means of what trees say, those "
                f"of trees, forests and bagging. {model.name}(...) has no such, or a decision "
                "threshold after them. Use atol=None for its classes."
            )
        if self.max_changes is not None and model.forest.n_classes > 2:
            raise ValueError(
                f"atol={self.atol!r} with max_changes={self.max_changes} keeps probabilities of "
                f"two classes, and {model.name}(...) has {model.forest.n_classes}. Use "
                "max_changes=None, or atol=None."
            )
        counted = weight > 0
        answers = model.ask_given(rows, X, "predict_proba", fitted=True)
        self._deviation = absolute_tolerance("100%", answers[counted], weight[counted])
        self.atol_ = absolute_tolerance(self.atol, answers[counted], weight[counted])
        return Tolerance(self.atol_, labelled=True)

    def _set_tree_sizes(self, tree, unpruned):
        super()._set_tree_sizes(tree, unpruned)
        self.depth_unpruned_, self.n_leaves_unpruned_ = unpruned.depth, unpruned.n_leaves

    def _set_fidelity(
        self, changed, forest, domain, tree, nodes, X, rng, measured=np.nan, effort=1.0
    ):
        agreement = forest, domain, tree, nodes, X, rng, measured, effort
        super()._set_fidelity(changed, *agreement)
        self.volume_fidelity_, self.volume_fidelity_error_ = 1.0, 0.0
        if not changed:
            return
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

    def _write(self, problem, axes, tree, nodes, leaf_of_row, rows, targets, weight, rng, ends):
        probabilities = leaf_probabilities(
            self.estimator_, problem, tree, axes, leaf_of_row, rows, weight, rng, self._table
        )
        labels = tree.nodes[nodes.leaves, 1]
        if self._tolerance is not None:
            lower, upper = ends[:, 0], ends[:, 1]
            answers = self._chosen(nodes, lower, upper, np.hstack([lower[:, :1], probabilities]))
            labels, probabilities = answers[:, 0].astype(np.intp), answers[:, 1:]
        self.decision_tree_ = write_classifier(
            nodes,
            labels,
            probabilities,
            leaf_of_row,
            targets,
            self.classes_,
            n_features=self.n_features_in_,
            feature_names=getattr(self, "feature_names_in_", None),
            sample_weight=weight,
        )
