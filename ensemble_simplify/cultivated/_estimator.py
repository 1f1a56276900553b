"""Cultivated random forest: one tree of soft decisions that knows when it is unsure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from math import ceil, inf
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.validation import check_is_fitted

from ensemble_simplify.base import (
    Interval,
    LearnsFromTables,
    PrintsWhatItHolds,
    StrOptions,
    check_weights,
    fit_context,
    fitted_rows,
    learned_rows,
    old_name,
    report,
    warn_out_of_time,
)
from ensemble_simplify.cultivated._display import ModuleTreeDisplay
from ensemble_simplify.cultivated._growth import (
    MAX_BINS,
    Grower,
    best_price,
    price_of_a_leaf,
    quarter_of_sqrt,
    refit_leaves,
    shares_of_leaves,
)
from ensemble_simplify.cultivated._module_tree import ModuleTree, TreeText
from ensemble_simplify.cultivated._modules import Router
from ensemble_simplify.grid import is_late, limited
from ensemble_simplify.writing import one_line, plain

EXACT_ROWS = 50_000  # splitter="auto" takes histograms from here on

# Versions that the paper compares.
PRESETS = {
    "full": {"robust_splits": True, "option_modules": True, "max_depth": 14},
    "split": {"robust_splits": True, "option_modules": False, "max_depth": 14},
    "option": {"robust_splits": False, "option_modules": True, "max_depth": 14},
    "shallow": {"robust_splits": True, "option_modules": True, "max_depth": 6},
}


class LeafSet(NamedTuple):
    """The leaves that rows end in."""

    weights: csr_array
    values: np.ndarray
    nodes: np.ndarray


class LeafShare(NamedTuple):
    """One leaf in the explanation of a row."""

    leaf: int
    fraction: float
    probabilities: np.ndarray
    rule: str

    proba = old_name("proba", "probabilities")


class CultivatedForestClassifier(
    PrintsWhatItHolds, LearnsFromTables, ClassifierMixin, BaseEstimator
):
    """One decision tree whose nodes pool all reasonable decisions, and that can say it is unsure.

    Every inner node is a module. It holds all features that split about equally well (options) and,
    for each of them, all thresholds near the best one. Where these decisions disagree about a row,
    fractions of the row go both ways, and its prediction is an average over leaves.

    By default the tree has some hundred leaves. ``max_leaf_nodes=15, max_options=5`` make it small
    enough to read.

    Read more in the :ref:`guide <cultivated>`.

    Parameters
    ----------
    max_options : int or None, default=None
        Keep at most this many options in a module, the best ones. 5 costs no accuracy on
        average and makes the tree far easier to read.
    max_depth : int or None, default=14
        Most modules on a path. Without a limit (None), fractions are divided until
        `min_samples_split` stops them; then do not make that small.
    max_leaf_nodes : int or None, default=None
        Grow the tree best first to at most this many leaves: the module that lowers the impurity of
        its mass most comes first.
    ccp_alpha : float, "auto" or "cv", default="auto"
        Cost of a leaf in minimal cost-complexity pruning, in units of Gini impurity, as in
        scikit-learn's trees; 0 prunes nothing, as in the paper. "auto" is ``0.005 /
        sqrt(n_samples)``, less where a class is rare, or 0 if `max_leaf_nodes` is given (see
        Notes). "cv" takes the value with the best accuracy in five shuffled, stratified folds, of
        equal ones the largest.
    time_limit : float or None, default=None
        Seconds after which nodes are no longer divided; None: no limit. A ``ConvergenceWarning``
        is given then.
    random_state : int, RandomState instance or None, default=None
        Controls the folds of ``ccp_alpha="cv"``; nothing else depends on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_leaves_ : int
        Number of leaves.
    n_modules_ : int
        Number of inner nodes.
    depth_ : int
        Most modules on a path from the root.
    feature_importances_ : ndarray of shape (n_features,)
        Decrease of impurity owed to each feature, summing to one.
    modules_ : ModuleTree
        The tree as arrays.
    ccp_alpha_ : float
        The value of `ccp_alpha` that was used.
    splitter_ : {"exact", "histogram"}
        What `splitter` was taken for "auto".
    calibration_scores_ : ndarray of shape (n_calibration_samples,) or None
        Set in the copy that :meth:`calibrate` returns; None before.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen in `fit`; defined only if all are strings.

    Other Parameters
    ----------------
    option_threshold : float, default=0.3
        How much worse than the best (in Gini impurity) a feature may split to be an option in
        the root; ``option_threshold / (depth + 1) ** 3`` at greater depth.
    option_modules : bool, default=True
        False: only the best feature in each node.
    robust_splits : bool, default=True
        False: only the best threshold of each feature.
    k : {"auto", "sqrt"}, float or callable, default="auto"
        Observations taken into the neighbourhood on either side of the best threshold: the square
        root of the node's mass (the sum of the fractions of rows in it), a fixed number, or a
        function of the mass (tabulated on some thousands of masses and interpolated). "auto" is the
        square root, as in the paper, and a quarter of it if `max_leaf_nodes` is given, because a
        tree of few leaves needs sharper modules.
    leaf_values : {"auto", "shares", "refit"}, default="auto"
        What a leaf answers: the shares of the classes in its mass, as in the paper, or
        probabilities whose averages over the leaves of each training row come nearest to its label
        (see Notes). "auto" is "refit" unless the tree is the whole one (``ccp_alpha=0`` without
        `max_leaf_nodes`).
    min_samples_split : float, default=6
        Nodes with less mass (sum of fractions times sample weights) are leaves.
    min_fraction : float, default=0.01
        A fraction of a row smaller than this goes the way of the larger one, in fitting and
        predicting; equal parts stay divided. 0 divides rows without limit, as in the paper, and
        is slower.
    trivial_threshold : bool, default=True
        Whether a neighbourhood may include the largest value, a threshold that sends all rows
        left, as in the paper. False helps with features of few distinct values, such as categories.
    align : float, default=0.5
        With three or more classes a feature is an option only if the cosine between its
        effect on the class shares and the best feature's is at least this in absolute value.
        Without effect for two classes.
    splitter : {"auto", "exact", "histogram"}, default="auto"
        "exact" looks at every distinct value. "histogram" first gathers the values of each
        feature in bins of equal mass, which needs less memory for many rows. "auto" is
        "exact" up to 50 000 rows.
    max_bins : int or None, default=None
        Most bins of a feature for histograms, at most 65535. None means ``8 * sqrt(n_samples)``,
        but at least 4096: bins must be finer than the neighbourhoods.
    verbose : int, default=0
        If positive, the size of the grown tree is printed.

    See Also
    --------
    ModuleTreeDisplay : Draws the tree.
    AbstentionDisplay : Draws what abstaining does to the accuracy.
    sklearn.ensemble.RandomForestClassifier : Many independent trees.
    sklearn.tree.DecisionTreeClassifier : One tree of sharp decisions.

    Notes
    -----
    The tree stands for the average over all trees that can be put together from the decisions in
    its modules. The spread of the leaves that a row ends in says how much those trees disagree
    about it.

    *Price of a leaf.* With ``ccp_alpha="auto"`` the price of a leaf, counted in rows, grows with
    their number, so that many rows give a smaller part of the whole tree. It is multiplied by the
    square of the impurity of all rows, as a share of that of equally large classes.

    *Refit.* Class shares make predictions too cautious: a row that goes to several leaves counts in
    each of them as if that leaf answered for it alone. ``leaf_values="refit"`` minimises the
    sum over the training rows of ``w_i ||y_i - sum_l f_il v_l||^2``, with `w` their weights, `f`
    their fractions and `y` their classes as unit vectors, plus ``||v_l - s_l||^2`` for every
    leaf. Here `s` are the shares: it is as if one more row had been seen there. Every ``v_l``
    remains a vector of probabilities. Of more than 200 000 rows, the sum is over 200 000 of them,
    drawn in a way that is always the same.

    *Missing values.* In fitting they are left out of a feature's impurities (its gain
    counts only for the mass that is known), and a row whose value is missing is divided as the
    rest of the node is, as in C4.5.

    References
    ----------
    .. [1] M. Nalenz and T. Augustin, "Cultivated Random Forests: Robust Decision Tree Learning
       through Tree Structured Ensembles", Technical Report 240, Department of Statistics,
       University of Munich, 2021. https://epub.ub.uni-muenchen.de/77861/

    Examples
    --------
    A tree of three leaves, in which two features vote in each node:

    >>> from sklearn.datasets import load_breast_cancer
    >>> from ensemble_simplify import CultivatedForestClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> X, X_new, y, y_new = X[::2], X[1::2], y[::2], y[1::2]
    >>> small = CultivatedForestClassifier(max_leaf_nodes=3, max_options=2).fit(X, y)
    >>> print(small.export_text())
    |--- vote of 2: worst perimeter > about 112, worst radius > about 16.8
    |   |--- class: 0 (0.98 of mass 90.9)
    |--- vote of 2: worst perimeter <= about 112, worst radius <= about 16.8
    |   |--- vote of 2: worst concave points > about 0.160, worst perimeter > about 102
    |   |   |--- class: 0 (0.71 of mass 18.2)
    |   |--- vote of 2: worst concave points <= about 0.160, worst perimeter <= about 102
    |   |   |--- class: 1 (1.00 of mass 175.9)
    <BLANKLINE>

    Rows that the tree is unsure about get the label -1:

    >>> clf = CultivatedForestClassifier(max_leaf_nodes=15, max_options=5).fit(X, y)
    >>> answers = clf.predict_with_abstention(X_new)
    >>> sure = answers != -1
    >>> print(f"all rows: accuracy {clf.score(X_new, y_new):.3f}")
    all rows: accuracy 0.944
    >>> print(f"{sure.mean():.0%} of the rows: accuracy {(answers == y_new)[sure].mean():.3f}")
    90% of the rows: accuracy 0.973
    """

    # Parameters that have gone.
    _renamed: ClassVar[dict] = {"n_jobs": None}

    _parameter_constraints: ClassVar[dict] = {
        "option_threshold": [Interval(Real, 0, None, closed="left")],
        "option_modules": ["boolean"],
        "robust_splits": ["boolean"],
        "max_options": [Interval(Integral, 1, None, closed="left"), None],
        "k": [StrOptions({"auto", "sqrt"}), Interval(Real, 0, None, closed="neither"), callable],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
        "ccp_alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"auto", "cv"})],
        "leaf_values": [StrOptions({"auto", "shares", "refit"})],
        "min_samples_split": [Interval(Real, 0, None, closed="neither")],
        "min_fraction": [Interval(Real, 0, 0.5, closed="left")],
        "trivial_threshold": ["boolean"],
        "align": [Interval(Real, 0, 1, closed="both")],
        "splitter": [StrOptions({"auto", "exact", "histogram"})],
        "max_bins": [Interval(Integral, 2, MAX_BINS, closed="both"), None],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        option_threshold: float = 0.3,
        option_modules: bool = True,
        robust_splits: bool = True,
        max_options: int | None = None,
        k: str | float | Callable = "auto",
        max_depth: int | None = 14,
        max_leaf_nodes: int | None = None,
        ccp_alpha: float | str = "auto",
        leaf_values: str = "auto",
        min_samples_split: float = 6,
        min_fraction: float = 0.01,
        trivial_threshold: bool = True,
        align: float = 0.5,
        splitter: str = "auto",
        max_bins: int | None = None,
        time_limit: float | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.option_threshold = option_threshold
        self.option_modules = option_modules
        self.robust_splits = robust_splits
        self.max_options = max_options
        self.k = k
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.ccp_alpha = ccp_alpha
        self.leaf_values = leaf_values
        self.min_samples_split = min_samples_split
        self.min_fraction = min_fraction
        self.trivial_threshold = trivial_threshold
        self.align = align
        self.splitter = splitter
        self.max_bins = max_bins
        self.time_limit = time_limit
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def preset(cls, name: str, **parameters: Any) -> Self:
        """Return one of the four versions that the paper compares.

        Parameters
        ----------
        name : {"full", "split", "option", "shallow"}
            "full": both kinds of modules; "split": robust splits only; "option": options only,
            these three at most 14 deep; "shallow": both kinds, at most 6 deep. Rows are divided
            without limit (``min_fraction=0``), and nothing is pruned (``ccp_alpha=0``).
        **parameters
            Other parameters, or values that override the version's.

        Returns
        -------
        CultivatedForestClassifier
            Unfitted.
        """
        if name not in PRESETS:
            raise ValueError(
                f"name={name!r} is not one of the paper's versions; choose from {list(PRESETS)}."
            )
        options: dict[str, Any] = {"min_fraction": 0.0, "ccp_alpha": 0.0}
        options |= PRESETS[name] | parameters
        return cls(**options)

    @fit_context(prefer_skip_nested_validation=True)
    @limited
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Training rows: numbers, text or categories; NaN and None mean missing.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the rows: weight 2 is the same as the row twice, weight 0 as no row. Weights
            above 0 that average below one are scaled up to an average of one, because the limits
            (`min_samples_split`, `k`) count rows. So weights that sum to one give the same tree as
            weights that sum to the number of rows.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        X, y, weight = self._check_training_rows(X, y, sample_weight)
        # sorting all values of all nodes takes too long on many rows
        chosen = "exact" if len(X) <= EXACT_ROWS else "histogram"
        self.splitter_ = chosen if self.splitter == "auto" else self.splitter
        self._min_fraction = float(self.min_fraction)
        tree, is_whole = self._grown_and_pruned(X, y, weight)
        # pruned leaves hold rows of several classes, whose values are worth refitting
        is_small = self.max_leaf_nodes is not None or self.ccp_alpha != 0
        refits = is_small if self.leaf_values == "auto" else self.leaf_values == "refit"
        if refits:
            router = tree.router(self._min_fraction)
            values, late = refit_leaves(tree, router, X, y, weight)
            tree = tree if values is None else tree.answering(values)
            is_whole &= not late
        self.modules_ = tree
        self.calibration_scores_ = None
        self.n_leaves_ = tree.n_leaves
        self.n_modules_ = tree.n_modules
        self.depth_ = int(tree.depth.max())
        if not is_whole:
            warn_out_of_time(
                f"time_limit={self.time_limit} seconds passed before the tree was fully grown"
                f"{', pruned' if self.ccp_alpha == 'cv' else ''}"
                f"{' and its leaves refitted' if refits else ''}. What was not split by "
                "then became leaves. Raise time_limit, or lower max_depth."
            )
        report(
            self,
            f"{self.n_modules_} modules, {self.n_leaves_} leaves, depth {self.depth_} "
            f"({self.splitter_})",
        )
        return self

    def _grown_and_pruned(self, X, y, weight) -> tuple[ModuleTree, bool]:
        """The tree before its leaves are refitted, and whether time was enough for it."""
        self.ccp_alpha_ = self.ccp_alpha
        if self.ccp_alpha == "auto":
            self.ccp_alpha_ = 0.0 if self.max_leaf_nodes else price_of_a_leaf(y, weight)
        # Cross-validation tries all prices: no branch may be missing.
        least_price = 0.0 if self.ccp_alpha == "cv" else self.ccp_alpha_
        grower = self._grower()
        tree, late = grower.tree(X, y, weight, least_price)
        if self.ccp_alpha == "cv":
            random = check_random_state(self.random_state)
            self.ccp_alpha_ = best_price(tree, grower, X, y, weight, random)
            late |= is_late()
        return tree.pruned(self.ccp_alpha_), not late

    def _check_training_rows(self, X, y, sample_weight) -> tuple:
        """Rows of positive weight, the positions of their labels in `classes_`, and weights."""
        rows, y = learned_rows(self, X, y, sample_weight, dtype=np.float64)
        X = rows.numbers
        self.classes_, y = np.unique(y, return_inverse=True)
        weight = check_weights(sample_weight, X, mean_one=True)
        # a row of weight 0 is as no row, also where quantiles of values are taken
        used = weight > 0
        if not used.all():
            X, y, weight = X[used], y[used], weight[used]
        return X, y.astype(np.intp), weight

    def _grower(self) -> Grower:
        """The parameters, for growing a tree."""
        k = self.k
        if k == "auto":
            k = "sqrt" if self.max_leaf_nodes is None else quarter_of_sqrt
        return Grower(
            n_classes=len(self.classes_),
            k=k,
            max_leaf_nodes=self.max_leaf_nodes,
            histogram=self.splitter_ == "histogram",
            max_bins=self.max_bins,
            rules={
                "option_threshold": self.option_threshold,
                "option_modules": self.option_modules,
                "robust_splits": self.robust_splits,
                "max_options": 0 if self.max_options is None else self.max_options,
                "max_depth": np.iinfo(np.intp).max if self.max_depth is None else self.max_depth,
                "min_mass": self.min_samples_split,
                "min_fraction": self.min_fraction,
                "trivial_threshold": self.trivial_threshold,
                "align": self.align,
            },
        )

    def cost_complexity_pruning_path(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Bunch:
        """The trees of minimal cost-complexity pruning of the tree that would be grown.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Training rows: numbers, text or categories; NaN and None mean missing.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            As in `fit`.

        Returns
        -------
        path : Bunch
            ``ccp_alphas``: the values of `ccp_alpha` from which on each tree is the result, rising
            from 0; ``impurities``: mean Gini impurity of its leaves, weighted with their masses;
            ``n_leaves``: number of its leaves. The last tree is a single leaf.
        """
        whole = clone(self).set_params(ccp_alpha=0.0).fit(X, y, sample_weight)
        _, alphas, n_leaves, impurities = whole.modules_.pruning_path()
        return Bunch(ccp_alphas=alphas, impurities=impurities, n_leaves=n_leaves)

    # -- prediction ---------------------------------------------------------------------------

    def _check_X(self, X) -> np.ndarray:
        return fitted_rows(self, X, any_missing=True, dtype=np.float64)

    def _router(self) -> Router:
        return self.modules_.router(self._min_fraction)

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Class probabilities: mean of the leaf values, weighted with the row's fractions.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows; NaN and None mean missing, and so do levels that no training row had.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            One column per class, in the order of `classes_`.
        """
        X = self._check_X(X)
        proba = np.zeros((len(X), len(self.classes_)))
        self._router().mean(X, proba)
        return np.minimum(proba, 1.0, out=proba)  # a sum of fractions can be one bit too large

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Most probable class of each row.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows; NaN and None mean missing, and so do levels that no training row had.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Ties go to the first class.
        """
        proba = self.predict_proba(X)
        return self.classes_[np.argmax(proba, axis=1)]

    def predict_spread(self, X: ArrayLike) -> np.ndarray:
        """How much the leaves that a row ends in disagree.

        It is 0 for a row that ends in one leaf, and at most 0.5 for two classes. For two classes it
        is the standard deviation of a class's probability over the leaves, weighted with the row's
        fractions. Then ``p * (1 - p) = sum_l w_l * v_l * (1 - v_l) + spread ** 2``. For more
        classes it is the square root of half the sum of the classes' variances, which is the same
        for two.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows; NaN and None mean missing, and so do levels that no training row had.

        Returns
        -------
        spread : ndarray of shape (n_samples,)
            0 where all leaves of the row agree.
        """
        X = self._check_X(X)
        mean = np.zeros((len(X), len(self.classes_)))
        variance = np.zeros_like(mean)
        self._router().moments(X, mean, variance)
        return np.sqrt(0.5 * np.maximum(variance, 0.0).sum(axis=1))

    def predict_set(self, X: ArrayLike) -> LeafSet:
        """The set of leaves that each row ends in.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows; NaN and None mean missing, and so do levels that no training row had.

        Returns
        -------
        leaf_set : LeafSet
            A named tuple. ``weights @ values`` is `predict_proba`.

            - ``weights``, sparse array of shape (n_samples, n_leaves): the fraction of each row in
              each leaf. The fractions of a row sum to one.
            - ``values``, ndarray of shape (n_leaves, n_classes): what the leaves answer.
            - ``nodes``, ndarray of shape (n_leaves,): their numbers in `modules_`.

        See Also
        --------
        leaf_rule : The rule of a leaf.
        """
        X = self._check_X(X)
        leaves = self.modules_.leaves
        weights = shares_of_leaves(self._router(), X, leaves)
        return LeafSet(weights, self.modules_.response[leaves], leaves)

    def predict_margin(self, X: ArrayLike) -> np.ndarray:
        """How far the most probable class of each row is ahead of the second.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows; NaN and None mean missing, and so do levels that no training row had.

        Returns
        -------
        margin : ndarray of shape (n_samples,)
            Between 0 and 1; 1 with a single class.
        """
        return _margin(self.predict_proba(X))

    def predict_with_abstention(
        self,
        X: ArrayLike,
        *,
        min_margin: float = 0.5,
        max_spread: float | None = None,
        abstain_label: Any = None,
    ) -> np.ndarray:
        """Predict only rows that the tree is sure about.

        The margin ranks errors better than the spread does, and no combination of the two that was
        tried ranks them better than the margin alone.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows; NaN and None mean missing, and so do levels that no training row had.
        min_margin : float, default=0.5
            Rows with a smaller `predict_margin` get the abstain label; 0 keeps all.
        max_spread : float or None, default=None
            Rows with a larger `predict_spread` get it, too; None keeps all.
        abstain_label : label, default=None
            None means ``"abstain"`` for string classes and -1 for others.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Of dtype object if no other holds both the classes and the abstain label.

        Raises
        ------
        ValueError
            If the abstain label is one of the classes.
        """
        check_is_fitted(self)
        texts = _are_texts(self.classes_)
        if abstain_label is None:
            abstain_label = "abstain" if texts else -1
        if any(label == abstain_label for label in self.classes_.tolist()):
            raise ValueError(
                f"abstain_label={plain(abstain_label)!r} is one of the classes "
                f"{self.classes_.tolist()}. Pass a label that is none of them."
            )
        proba = self.predict_proba(X)
        labels = self.classes_[np.argmax(proba, axis=1)]
        # numbers and texts in one array would all become texts
        if texts == isinstance(abstain_label, str):
            labels = labels.astype(np.result_type(labels, np.asarray(abstain_label)))
        else:
            labels = labels.astype(object)
        unsure = _margin(proba) < min_margin
        if max_spread is not None:
            unsure |= self.predict_spread(X) > max_spread
        labels[unsure] = abstain_label
        return labels

    def calibrate(self, X: ArrayLike, y: ArrayLike) -> Self:
        """A copy of the classifier that is ready for :meth:`predict_label_set`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows that the tree was not fitted on.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        CultivatedForestClassifier
            A fitted copy with `calibration_scores_`: for every row one minus the probability of its
            true class, ascending.
        """
        proba = self.predict_proba(X)
        y = np.asarray(y)
        if y.shape != proba.shape[:1]:
            raise ValueError(
                f"y has the shape {y.shape}, but X has {len(proba)} rows. Give a label for each."
            )
        unknown = ~np.isin(y, self.classes_)
        if unknown.any():
            raise ValueError(
                f"y has the label {y[unknown].tolist()[0]!r}, but the tree was fitted on the "
                f"classes {self.classes_.tolist()}. Calibrate on rows of these classes."
            )
        other = copy(self)
        # The less probable the true class was, the more unlike the others the row is.
        of_row = np.searchsorted(self.classes_, y)
        other.calibration_scores_ = np.sort(1.0 - proba[np.arange(len(y)), of_row])
        return other

    def predict_label_set(self, X: ArrayLike, *, confidence: float = 0.9) -> np.ndarray:
        """Sets of classes that hold the true one with a stated probability.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows; NaN and None mean missing, and so do levels that no training row had.
        confidence : float, default=0.9
            Least probability that the set of a row holds its class, between 0 and 1.

        Returns
        -------
        member : ndarray of bool, shape (n_samples, n_classes)
            Whether the set holds each of `classes_`. A row unlike all others may get an empty set.

        Notes
        -----
        This is split conformal prediction [1]_. If the calibration rows and a new row are drawn
        alike and were unseen in `fit`, the set holds the true class with at least this probability,
        on average over calibration sets and rows. This need not hold for every class or region by
        itself.

        With n calibration rows, a class belongs to the set if one minus its probability is at most
        the ``ceil((n + 1) * confidence)``-th smallest of the calibration scores. If there are fewer
        scores, all classes belong to it.

        References
        ----------
        .. [1] M. Sadinle, J. Lei and L. Wasserman, "Least ambiguous set-valued classifiers with
           bounded error levels", Journal of the American Statistical Association 114, 2019.
           https://doi.org/10.1080/01621459.2017.1395341
        """
        check_is_fitted(self)
        if self.calibration_scores_ is None:
            raise ValueError(
                "The tree is not calibrated. Call calibrate(X, y) with rows that the tree was not "
                "fitted on, and predict_label_set of the copy that it returns."
            )
        if not isinstance(confidence, Real) or not 0 < confidence < 1:
            raise ValueError(
                f"confidence={confidence!r} is not a number between 0 and 1. Give one."
            )
        proba = self.predict_proba(X)
        scores = self.calibration_scores_
        # the product may be too large by its rounding
        place = ceil((len(scores) + 1) * confidence - 1e-9)
        if place > len(scores):
            return np.ones(proba.shape, dtype=bool)
        return 1.0 - proba <= scores[place - 1]

    # -- reading the tree ---------------------------------------------------------------------

    def get_depth(self) -> int:
        """Depth of the tree: modules on the longest way from the root to a leaf.

        Returns
        -------
        int
            Same as `depth_`; 0 for a single leaf.
        """
        check_is_fitted(self)
        return self.depth_

    def get_n_leaves(self) -> int:
        """Number of leaves of the tree.

        Returns
        -------
        int
            Same as `n_leaves_`; at least 1.
        """
        check_is_fitted(self)
        return self.n_leaves_

    @property
    def feature_importances_(self) -> np.ndarray:
        check_is_fitted(self)
        return self.modules_.importances(self.n_features_in_)

    def _text(self, feature_names, **how) -> TreeText:
        """What writes the tree with these names."""
        check_is_fitted(self)
        if feature_names is None:
            feature_names = getattr(
                self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)]
            )
        if len(feature_names) != self.n_features_in_:
            raise ValueError(
                f"feature_names has {len(feature_names)} names, but the tree was fitted on "
                f"{self.n_features_in_} features. Give one for each."
            )
        names = list(map(one_line, feature_names))
        return TreeText(self.modules_, self.classes_, names, self._table.levels, **how)

    def describe_module(
        self,
        node: int,
        *,
        left: bool = True,
        feature_names: Sequence[str] | None = None,
        decimals: int | None = None,
        max_options: int | None = 5,
        ranges: bool = False,
    ) -> list[str]:
        """Decisions of a module, each read as "x_j <= about t".

        Parameters
        ----------
        node : int
            Number of the module in `modules_`.
        left : bool, default=True
            What leads to its left child, or to its right one.
        feature_names : sequence of str, default=None
            None: the names seen in `fit`, or x0, x1, ...
        decimals : int or None, default=None
            Digits after the point; None: as many as three significant digits need.
        max_options : int or None, default=5
            Write at most this many options, the best ones.
        ranges : bool, default=False
            Add the least and the largest of an option's thresholds.

        Returns
        -------
        decisions : list of str
            A last entry "and 3 more" stands for options not written.
        """
        text = self._text(feature_names, decimals=decimals, max_options=max_options, ranges=ranges)
        if not 0 <= node < self.modules_.n_nodes or self.modules_.left[node] < 0:
            raise ValueError(
                f"node={node} is not a module. Modules are the nodes with modules_.left >= 0."
            )
        return text.decisions(node, left=left)

    def leaf_rule(
        self,
        node: int,
        *,
        feature_names: Sequence[str] | None = None,
        decimals: int | None = None,
        max_options: int | None = 3,
    ) -> str:
        """The decisions that lead to a leaf (or any node), as one line.

        Parameters
        ----------
        node : int
            Number of the node in `modules_`.
        feature_names : sequence of str, default=None
            None: the names seen in `fit`, or x0, x1, ...
        decimals : int or None, default=None
            Digits after the point; None: as many as three significant digits need.
        max_options : int or None, default=3
            Write at most this many options of a module, the best ones.

        Returns
        -------
        rule : str
            Modules joined with "and"; the options of a module, which vote, stand in brackets.
        """
        text = self._text(feature_names, decimals=decimals, max_options=max_options)
        if not 0 <= node < self.modules_.n_nodes:
            raise ValueError(
                f"node={node} is not a node. Give a number from 0 to {self.modules_.n_nodes - 1}."
            )
        return text.rule(node)

    def explain(
        self,
        X: ArrayLike,
        *,
        n_leaves: int = 3,
        feature_names: Sequence[str] | None = None,
        decimals: int | None = None,
        max_options: int | None = 3,
    ) -> list[list[LeafShare]]:
        """The leaves with the largest fractions of each row, and their rules.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows; NaN and None mean missing, and so do levels that no training row had.
        n_leaves : int, default=3
            Most leaves of a row.
        feature_names : sequence of str, default=None
            None: the names seen in `fit`, or x0, x1, ...
        decimals : int or None, default=None
            Digits after the point; None: as many as three significant digits need.
        max_options : int or None, default=3
            Write at most this many options of a module, the best ones.

        Returns
        -------
        explanations : list of list of LeafShare
            For each row, largest fraction first: ``leaf`` (number in `modules_`), ``fraction``,
            ``probabilities`` (what the leaf answers) and ``rule``.
        """
        text = self._text(feature_names, decimals=decimals, max_options=max_options)
        # a leaf's rule is written once, however many rows end there
        weights, values, nodes = self.predict_set(X)
        rules = {}
        explanations = []
        for start, stop in zip(weights.indptr[:-1], weights.indptr[1:], strict=True):
            largest = np.argsort(-weights.data[start:stop], kind="stable")[:n_leaves]
            explanations.append([])
            for place in start + largest:
                column = weights.indices[place]
                node = int(nodes[column])
                if node not in rules:
                    rules[node] = text.rule(node)
                fraction = float(weights.data[place])
                explanations[-1].append(LeafShare(node, fraction, values[column], rules[node]))
        return explanations

    def export_text(
        self,
        *,
        feature_names: Sequence[str] | None = None,
        decimals: int | None = None,
        max_depth: int = 10,
        max_options: int | None = 5,
        ranges: bool = False,
    ) -> str:
        """The tree as text.

        Parameters
        ----------
        feature_names : sequence of str, default=None
            None: the names seen in `fit`, or x0, x1, ...
        decimals : int or None, default=None
            Digits after the point; None: as many as three significant digits need.
        max_depth : int or None, default=10
            Modules deeper than this are cut short.
        max_options : int or None, default=5
            Write at most this many options of a module, the best ones.
        ranges : bool, default=False
            Add the least and the largest of an option's thresholds.

        Returns
        -------
        report : str
            The options of a module vote: the mean of their (soft) decisions is the fraction of a
            row that takes the branch.
        """
        text = self._text(feature_names, decimals=decimals, max_options=max_options, ranges=ranges)
        return text.whole(inf if max_depth is None else max_depth)

    def plot(self, *, ax: Any = None, **kwargs: Any) -> ModuleTreeDisplay:
        """Draw the tree.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None draws into a new figure that is large enough.
        **kwargs
            Other parameters of `ModuleTreeDisplay.from_estimator`.

        Returns
        -------
        display : ModuleTreeDisplay
            With `ax_` and `figure_`.
        """
        return ModuleTreeDisplay.from_estimator(self, ax=ax, **kwargs)


def _margin(proba) -> np.ndarray:
    """Largest less second largest probability of every row."""
    if proba.shape[1] < 2:
        return np.ones(len(proba))
    # no sort: the two largest are enough
    best_two = np.partition(proba, -2, axis=1)[:, -2:]
    return best_two[:, 1] - best_two[:, 0]


def _are_texts(classes) -> bool:
    """Whether the labels are strings."""
    return classes.dtype.kind in "UST" or (classes.dtype == object and isinstance(classes[0], str))
