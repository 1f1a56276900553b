"""BudgetForestClassifier: trees grown greedily on impurity per cost of a feature."""

from __future__ import annotations

from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.ensemble import BaggingClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import validate_data

from ensemble_simplify._base import (
    Interval,
    RealNotInt,
    StrOptions,
    all_or_nothing,
    check_weights,
    fit_context,
    report,
)
from ensemble_simplify._sklearn_tree import TreeNodes, apply_nodes, node_counts, write_classifier
from ensemble_simplify.feature_budget._grow import POWERS, THRESHOLD_PAIRS, grow
from ensemble_simplify.feature_budget._prices import read_feature_costs

_KINDS = {"threshold_pairs": THRESHOLD_PAIRS, "powers": POWERS}

# Free features are taken whenever they lower the impurity: as if they cost this share of the mean.
_NEARLY_FREE = 1e-6


class _BudgetTree(DecisionTreeClassifier):
    """One tree of a `BudgetForestClassifier`; parameters as there, `costs` an array."""

    def __init__(
        self,
        *,
        costs=None,
        impurity="threshold_pairs",
        alpha=0.0,
        power=2.0,
        max_depth=None,
        min_samples_leaf=1,
        random_state=None,
    ):
        super().__init__(
            max_depth=max_depth, min_samples_leaf=min_samples_leaf, random_state=random_state
        )
        self.costs = costs
        self.impurity = impurity
        self.alpha = alpha
        self.power = power

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        return tags

    def fit(self, X, y, sample_weight=None, check_input=True):
        """Grow the tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the rows.
        check_input : bool, default=True
            Whether to check the rows again.

        Returns
        -------
        self : _BudgetTree
            The fitted estimator.
        """
        if check_input:
            X, y = validate_data(self, X, y, dtype=np.float32, order="C")
        X = np.ascontiguousarray(X, dtype=np.float32)
        weight = check_weights(sample_weight, X)
        classes, y = np.unique(y, return_inverse=True)
        costs = np.ones(X.shape[1]) if self.costs is None else np.asarray(self.costs, np.float64)
        room = max(1, 2 * X.shape[0] - 1)
        left, right, feature = (np.empty(room, dtype=np.intp) for _ in range(3))
        threshold = np.empty(room)
        shape = self.power if self.impurity == "powers" else self.alpha
        n_nodes = grow(
            X,
            y.astype(np.intp),
            weight,
            len(classes),
            np.maximum(costs, _NEARLY_FREE * costs.mean()),
            _KINDS[self.impurity],
            float(shape),
            np.iinfo(np.intp).max if self.max_depth is None else self.max_depth,
            self.min_samples_leaf,
            left,
            right,
            feature,
            threshold,
        )
        nodes = TreeNodes(left[:n_nodes], right[:n_nodes], feature[:n_nodes], threshold[:n_nodes])
        leaf = apply_nodes(nodes, X)
        _, counts = node_counts(nodes, leaf, y, len(classes), weight)
        written = write_classifier(
            nodes,
            counts.argmax(axis=1),
            None,
            leaf,
            y,
            classes,
            n_features=X.shape[1],
            sample_weight=weight,
        )
        for name in ("tree_", "classes_", "n_classes_", "n_outputs_", "max_features_"):
            setattr(self, name, getattr(written, name))
        self.n_features_in_ = X.shape[1]
        return self


class BudgetForestClassifier(BaggingClassifier):
    """Bagged trees that weigh impurity against the cost of features (BudgetRF).

    Each tree is grown on a bootstrap sample of the rows. A split of the rows ``S`` by feature
    ``k`` into ``S_1`` and ``S_2`` is judged by its worst outcome,
    ``(F(S) - max(F(S_1), F(S_2))) / cost[k]``, where ``F`` is an *admissible* impurity [1]_; all
    features compete for every split. A price counts at every split, also where the feature was
    bought further up. Meant as the input of :class:`FeatureBudgetPruner`.

    Parameters
    ----------
    n_estimators : int, default=40
        Number of trees.
    feature_costs : array-like of shape (n_features,), dict or None, default=None
        Price of each feature. A dict goes by column name (or index); columns it does not name
        cost nothing. None: 1 each. Free features are used wherever they help at all.
    impurity : {"threshold_pairs", "powers"}, default="threshold_pairs"
        ``F`` as a function of the class counts ``n_i``. "threshold_pairs": the sum over pairs of
        different classes of ``[[n_i - alpha]+ [n_j - alpha]+ - alpha^2]+``, the paper's choice;
        "powers": ``(sum n_i)^power - sum n_i^power``. (Entropy and Gini impurity are not
        admissible: they are not supermodular.)
    alpha : float, default=0.0
        Threshold of "threshold_pairs": classes with no more rows than this count as noise, which
        stops growing early. With 0, nodes are split until pure.
    power : float, default=2.0
        Exponent of "powers", above 1.
    max_depth : int or None, default=None
        Largest number of splits on a path; None: no limit.
    min_samples_leaf : int, default=1
        Rows that each side of a split must have.
    max_samples : int or float, default=1.0
        Rows drawn, with replacement, for each tree: a number or a share.
    n_jobs : int or None, default=None
        Trees grown in parallel.
    verbose : int, default=0
        Print lines on the progress if above 0; joblib adds its own.
    random_state : int, RandomState instance or None, default=None
        For the bootstrap samples.

    Attributes
    ----------
    estimators_ : list of fitted trees
        Subclass of ``DecisionTreeClassifier``.
    feature_costs_ : ndarray of shape (n_features,)
        The prices.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_classes_ : int
        Number of classes.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if all are strings.

    See Also
    --------
    FeatureBudgetPruner : Prunes the trees optimally for a price or a budget.

    References
    ----------
    .. [1] F. Nan, J. Wang and V. Saligrama, "Feature-budgeted random forest", ICML 2015.
       https://doi.org/10.48550/arXiv.1502.05925

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ensemble_simplify import BudgetForestClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = BudgetForestClassifier(n_estimators=10, random_state=0).fit(X, y)
    >>> forest.score(X, y) > 0.95
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "feature_costs": ["array-like", dict, None],
        "impurity": [StrOptions(set(_KINDS))],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "power": [Interval(Real, 1, None, closed="neither")],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "max_samples": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="right"),
        ],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        n_estimators=40,
        feature_costs=None,
        impurity="threshold_pairs",
        alpha=0.0,
        power=2.0,
        max_depth=None,
        min_samples_leaf=1,
        max_samples=1.0,
        n_jobs=None,
        verbose=0,
        random_state=None,
    ):
        super().__init__(
            n_estimators=n_estimators,
            max_samples=max_samples,
            n_jobs=n_jobs,
            verbose=verbose,
            random_state=random_state,
        )
        self.feature_costs = feature_costs
        self.impurity = impurity
        self.alpha = alpha
        self.power = power
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        tags.input_tags.sparse = False
        return tags

    def _get_estimator(self):
        # Bagging asks for the tree to clone once the prices are known.
        return _BudgetTree(
            costs=getattr(self, "feature_costs_", None),
            impurity=self.impurity,
            alpha=self.alpha,
            power=self.power,
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
        )

    @fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def fit(self, X, y, sample_weight=None):
        """Grow the trees.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the rows.

        Returns
        -------
        self : BudgetForestClassifier
            The fitted estimator.
        """
        # Finite, dense rows; bagging itself would let anything through to the trees.
        checked, _ = validate_data(self, X, y, dtype=np.float32)
        names = getattr(self, "feature_names_in_", None)
        self.feature_costs_ = read_feature_costs(self.feature_costs, checked.shape[1], names)
        if not self.feature_costs_.any():
            raise ValueError(
                "feature_costs are all zero. Give at least one feature a positive price, or use "
                "a random forest."
            )
        if sample_weight is not None:
            # `alpha` counts rows.
            sample_weight = check_weights(sample_weight, checked, mean_one=True)
        report(self, f"growing {self.n_estimators} trees on {len(checked)} rows")
        super().fit(X, y, sample_weight=sample_weight)
        n_leaves = sum(tree.get_n_leaves() for tree in self.estimators_)
        report(self, f"{len(self.estimators_)} trees with {n_leaves} leaves")
        return self
