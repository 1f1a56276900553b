"""The smallest single tree that gives the same class as an ensemble."""

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
from ensemble_simplify.born_again._shared import BornAgain
from ensemble_simplify.born_again._written_tree import fidelity, leaf_probabilities
from ensemble_simplify.born_again.everywhere._grid import CellTrees
from ensemble_simplify.born_again.everywhere._search import CellTree
from ensemble_simplify.born_again.everywhere._tolerance import Tolerance
from ensemble_simplify.grid import Axes, Domain, Splits, cell_shares
from ensemble_simplify.writing import write_classifier


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

    @fit_context(prefer_skip_nested_validation=False)
    @all_or_nothing
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the ensemble, unless it is frozen, and find the smallest tree equal to it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows. Values are cast to float32, as scikit-learn's trees do.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights, used in fitting the ensemble and for the node weights of the tree.

        Returns
        -------
        self : estimator
            The fitted estimator.
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
