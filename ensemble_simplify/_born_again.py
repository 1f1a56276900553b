"""The smallest single tree with exactly the same function as an ensemble."""

from __future__ import annotations

from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ensemble_simplify._base import (
    available_memory,
    check_weights,
    class_index,
    fit_or_unwrap,
)
from ensemble_simplify._forest import read_forest
from ensemble_simplify._grid import grid_bytes, label_grid
from ensemble_simplify._search import TooLarge, n_regions, solve
from ensemble_simplify._sklearn_tree import TreeNodes, apply_nodes, write_classifier
from ensemble_simplify._thresholds import cut_points, shortest_decimal

# Share of the memory free at the start of fit that the search may use.
MEMORY_SHARE = 0.5
# Cells looked at for the probabilities of a leaf that no training row reaches.
CELLS_PER_LEAF = 16


class BornAgainClassifier(ClassifierMixin, BaseEstimator):
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
        voting over them, and, with the extra ``ensemble-simplify[boosting]``, histogram gradient
        boosting, XGBoost and LightGBM.
    objective : {"depth", "leaves", "depth_then_leaves"}, default="depth_then_leaves"
        What is smallest: the depth, the number of leaves, or the number of leaves among
        the trees of smallest depth.
    voting : {"estimator", "hard"}, default="estimator"
        Whose function the tree has: ``"estimator"``, what the ensemble's own ``predict``
        answers (with ``n_jobs=None``, where its sums do not depend on the timing of threads);
        ``"hard"``, the majority of the trees' labels, ties to the first class, as in [1]_.
    max_memory : float or None, default=None
        Memory the search may use, in bytes. None: half of what is free when ``fit`` starts.
    random_state : int, RandomState instance or None, default=None
        Seeds the default ensemble, and which cells are looked at for the probabilities of leaves
        that no training row reaches. An ensemble that is given keeps its own.
    verbose : int, default=0
        If positive, the sizes of the problem and of the tree are printed.

    Attributes
    ----------
    estimator_ : estimator
        The fitted ensemble.
    decision_tree_ : DecisionTreeClassifier
        The tree, an ordinary fitted scikit-learn tree. Its node weights and impurities come
        from the training rows; a leaf's probabilities are the mean of the ensemble's over the
        training rows in it (over some of its cells where there is none), changed as little as
        makes the leaf's class the most probable one.
    depth_ : int
        Depth of the tree.
    n_leaves_ : int
        Number of leaves of the tree.
    depth_lower_bound_ : int
        No tree with the same function is less deep. Equal to `depth_` where depth is minimised.
    n_leaves_lower_bound_ : int
        No tree with the same function, and of depth `depth_` if depth comes first, has fewer
        leaves. Equal to `n_leaves_` where leaves are minimised.
    status_ : {"optimal"}
        ``"optimal"``: the objective is proven to be smallest.
    n_cells_ : int
        Number of cells, after cuts across which no prediction changes were removed.
    n_regions_ : int
        Number of boxes of these cells.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of features seen during ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if ``fit`` saw any.

    Raises
    ------
    TypeError
        If the ensemble is of a kind that cannot be read.
    ValueError
        If the search does not fit into `max_memory`, or a parameter is out of range.

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

    References
    ----------
    .. [1] T. Vidal, T. Pacheco, M. Schiffer (2020). Born-Again Tree Ensembles. ICML, PMLR 119,
       9743-9753. :doi:`10.48550/arXiv.2003.11132`

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

    _parameter_constraints: dict = {  # noqa: RUF012
        "estimator": [HasMethods(["fit", "predict"]), None],
        "objective": [StrOptions({"depth", "leaves", "depth_then_leaves"})],
        "voting": [StrOptions({"estimator", "hard"})],
        "max_memory": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }
    _doc_link_module = "ensemble_simplify"
    _doc_link_template = ""

    def __init__(
        self,
        estimator=None,
        *,
        objective="depth_then_leaves",
        voting="estimator",
        max_memory=None,
        random_state=None,
        verbose=0,
    ):
        self.estimator = estimator
        self.objective = objective
        self.voting = voting
        self.max_memory = max_memory
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=False)
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
        """
        given = X
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(y)
        sample_weight = check_weights(sample_weight, X)
        rng = check_random_state(self.random_state)
        default = RandomForestClassifier(n_estimators=5, max_depth=2, random_state=rng)
        rows = given if hasattr(given, "columns") else X
        self.estimator_ = fit_or_unwrap(self.estimator, rows, y, sample_weight, default=default)
        forest = read_forest(self.estimator_, voting=self.voting)
        if forest.classes is None:
            raise TypeError(
                f"estimator={type(self.estimator_).__name__}(...) is a regressor. "
                "BornAgainClassifier needs an ensemble of classification trees."
            )
        self.classes_ = forest.classes
        y_index = class_index(y, self.classes_)

        grid, solution = self._search(forest)
        self.status_ = "optimal"
        tree = solution.tree
        nodes = _over_features(tree, grid)
        leaf_of_row = apply_nodes(nodes, X)
        leaf_label = tree.label[nodes.leaves]
        self.decision_tree_ = write_classifier(
            nodes,
            leaf_label,
            self._leaf_probabilities(rows, tree, nodes, leaf_of_row, leaf_label, grid, rng),
            leaf_of_row,
            y_index,
            self.classes_,
            n_features=self.n_features_in_,
            feature_names=getattr(self, "feature_names_in_", None),
            sample_weight=sample_weight,
        )
        self._set_sizes(tree)
        return self

    def _search(self, forest):
        """The grid of the forest's cells, and its smallest tree."""
        allowed = available_memory() * MEMORY_SHARE if self.max_memory is None else self.max_memory
        cuts = cut_points(forest.feature, forest.threshold, forest.n_features)
        shape = [len(c) + 1 for c in cuts if len(c)]
        needed = grid_bytes(shape, forest.n_classes)
        try:
            if needed > allowed:
                raise TooLarge(needed)
            grid = label_grid(forest, cuts).simplified()
            shape = grid.labels.shape
            self.n_cells_, self.n_regions_ = grid.n_cells, n_regions(shape)
            if self.verbose:
                print(
                    f"[BornAgainClassifier] {forest.n_trees} trees, {grid.n_cells} cells, "
                    f"{self.n_regions_:.3g} regions"
                )
            solution = solve(grid.labels, self.objective, max_bytes=allowed - needed)
        except TooLarge as error:
            raise ValueError(
                f"estimator={type(self.estimator_).__name__}(...) divides the feature space into "
                f"{_count(np.prod(shape, dtype=float))} cells ({_count(float(n_regions(shape)))} "
                f"regions); the search needs about {_count(float(error.n_bytes))} bytes, and "
                f"max_memory allows {_count(float(allowed))}. Use fewer or shallower trees, or "
                "features of fewer distinct values (for instance by KBinsDiscretizer), or raise "
                "max_memory."
            ) from error
        return grid, solution

    def _leaf_probabilities(self, rows, tree, nodes, leaf_of_row, leaf_label, grid, rng):
        """Mean probabilities of the ensemble in every leaf, or None if it gives none."""
        if not hasattr(self.estimator_, "predict_proba"):
            return None
        position = np.searchsorted(nodes.leaves, leaf_of_row)
        total = np.zeros((nodes.n_leaves, len(self.classes_)))
        np.add.at(total, position, self.estimator_.predict_proba(rows))
        count = np.bincount(position, minlength=nodes.n_leaves)
        empty = np.flatnonzero(count == 0)
        if len(empty):
            cells = _some_cells(tree, grid.labels.shape, nodes.leaves[empty], rng)
            points = np.zeros((len(cells), self.n_features_in_))
            for a, j in enumerate(grid.features):
                points[:, j] = _inside(grid.cuts[a])[cells[:, a]]
            if hasattr(rows, "iloc"):
                points = type(rows)(points, columns=rows.columns)
            proba = self.estimator_.predict_proba(points)
            total[empty] = proba.reshape(len(empty), CELLS_PER_LEAF, -1).sum(axis=1)
            count[empty] = CELLS_PER_LEAF
        proba = total / count[:, None]
        return proba / proba.sum(axis=1, keepdims=True)

    def _set_sizes(self, tree):
        self.depth_, self.n_leaves_ = tree.depth, tree.n_leaves
        self.depth_lower_bound_ = self.depth_
        self.n_leaves_lower_bound_ = self.n_leaves_
        if self.objective == "leaves":
            # a tree of n leaves is at least log2(n) deep
            self.depth_lower_bound_ = int(np.ceil(np.log2(self.n_leaves_)))
        elif self.objective == "depth":
            self.n_leaves_lower_bound_ = self.depth_ + 1
        if self.verbose:
            print(f"[BornAgainClassifier] depth {self.depth_}, {self.n_leaves_} leaves, optimal")

    def predict(self, X):
        """Predict classes: those that the ensemble would predict.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self.decision_tree_.predict(self._rows(X), check_input=False)

    def predict_proba(self, X):
        """Predict probabilities: the ensemble's, averaged over the leaf of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        return self.decision_tree_.predict_proba(self._rows(X), check_input=False)

    def _rows(self, X):
        check_is_fitted(self)
        return validate_data(self, X, reset=False, dtype=np.float32, order="C")

    def get_depth(self):
        """Depth of the tree.

        Returns
        -------
        int
        """
        check_is_fitted(self)
        return self.depth_

    def get_n_leaves(self):
        """Number of leaves of the tree.

        Returns
        -------
        int
        """
        check_is_fitted(self)
        return self.n_leaves_


def _over_features(tree, grid):
    """The tree's splits as features and thresholds: the shortest decimals that split alike."""
    inner = np.flatnonzero(tree.left >= 0)
    feature = np.full(len(tree.left), -1, dtype=np.intp)
    threshold = np.zeros(len(tree.left))
    for a in range(len(grid.cuts)):
        here = inner[tree.axis[inner] == a]
        feature[here] = grid.features[a]
        shortest = np.array([shortest_decimal(c) for c in grid.cuts[a]])
        threshold[here] = shortest[tree.cut[here]]
    return TreeNodes(tree.left, tree.right, feature, threshold)


def _some_cells(tree, shape, leaves, rng):
    """CELLS_PER_LEAF random cells of each leaf, one after the other."""
    lo = np.zeros((len(tree.left), len(shape)), dtype=np.intp)
    hi = np.empty_like(lo)
    hi[0] = np.array(shape, dtype=np.intp) - 1
    for node in np.flatnonzero(tree.left >= 0):
        left, right, a = tree.left[node], tree.right[node], tree.axis[node]
        lo[left] = lo[right] = lo[node]
        hi[left] = hi[right] = hi[node]
        hi[left, a] = tree.cut[node]
        lo[right, a] = tree.cut[node] + 1
    first = np.repeat(lo[leaves], CELLS_PER_LEAF, axis=0)
    last = np.repeat(hi[leaves], CELLS_PER_LEAF, axis=0)
    return rng.randint(first, last + 1)


def _inside(cuts):
    """A value in every cell of an axis, near its cuts."""
    return np.append(cuts, np.nextafter(np.float32(cuts[-1]), np.float32(np.inf)))


def _count(number):
    """A count for a message: plain while it is short."""
    return f"{int(number):,}" if number < 1e6 else f"{number:.2g}"
