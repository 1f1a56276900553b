"""BudgetForestClassifier: trees grown greedily on impurity per cost of a feature."""

from __future__ import annotations

from numbers import Integral, Real
from typing import ClassVar, Self

import joblib
import numpy as np
from numpy.typing import ArrayLike
from sklearn.ensemble import BaggingClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted, validate_data

from ensemble_simplify.base import (
    Interval,
    LearnsFromTables,
    RealNotInt,
    StrOptions,
    check_weights,
    fit_context,
    learned_rows,
    report,
    with_gaps,
)
from ensemble_simplify.feature_budget._prices import Prices, read_feature_costs
from ensemble_simplify.feature_budget.growing._grow import POWERS, THRESHOLD_PAIRS, Ledger, grow
from ensemble_simplify.grid import TreeNodes
from ensemble_simplify.reading import is_plain
from ensemble_simplify.writing import (
    apply_nodes,
    node_counts,
    read_nodes,
    write_classifier,
    write_tree,
)

_KINDS = {"threshold_pairs": THRESHOLD_PAIRS, "powers": POWERS}

# Free features are taken whenever they lower the impurity: as if they cost this share of the mean.
_NEARLY_FREE = 1e-6


class _BudgetTree(DecisionTreeClassifier):
    """One tree of a `BudgetForestClassifier`; parameters as there, `costs` an array.

    With a ledger, splits are judged by what the rows have not bought yet; it is changed by `fit`.
    """

    def __init__(
        self,
        *,
        costs=None,
        impurity="threshold_pairs",
        alpha=0.0,
        power=2.0,
        max_depth=None,
        min_samples_leaf=1,
        ledger=None,
        random_state=None,
    ):
        super().__init__(
            max_depth=max_depth, min_samples_leaf=min_samples_leaf, random_state=random_state
        )
        self.costs = costs
        self.impurity = impurity
        self.alpha = alpha
        self.power = power
        self.ledger = ledger

    def fit(self, X, y, sample_weight=None, check_input=True):
        """Grow the tree on complete rows."""
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
            self.ledger,
            left,
            right,
            feature,
            threshold,
        )
        nodes = TreeNodes(left[:n_nodes], right[:n_nodes], feature[:n_nodes], threshold[:n_nodes])
        if self.ledger is not None:
            # The rows that the tree was not grown on pay as well.
            self.ledger.walk(X, nodes.left, nodes.right, nodes.feature, nodes.threshold)
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

    def take_gaps(self, gaps) -> None:
        """Take rows with gaps from now on; it was grown on rows with numbers in their place."""
        grown = read_nodes(self)
        nodes, order, missing_left = with_gaps(grown.nodes, gaps, grown.n_node_samples)
        written = write_tree(
            nodes,
            grown.value[order],
            grown.n_node_samples[order],
            grown.weighted_n_node_samples[order],
            grown.impurity[order],
            n_features=self.n_features_in_,
            classes=self.classes_,
            missing_go_to_left=missing_left,
        )
        self.tree_ = written.tree_


class BudgetForestClassifier(LearnsFromTables, BaggingClassifier):
    """Bagged trees that look at the prices of features while they grow.

    A row pays for a feature with the first split that asks for it, in any tree, and later trees
    prefer what has been paid for. Each tree is grown on a bootstrap sample of the rows, and all
    features compete for every split. Rows may be a table with text, categories and missing values.
    Use the forest by itself, or as the input of :class:`FeatureBudgetPruner`.

    Parameters
    ----------
    n_estimators : int, default=40
        Number of trees.
    feature_costs : array-like of shape (n_features,), dict or None, default=None
        Price of each feature. A dict maps column names (or indices) to prices; columns that it
        does not name cost nothing. None: 1 each. Free features are used wherever they help at all.
    groups : dict or None, default=None
        Features that share a price besides their own: ``{group: list of columns}``. A row pays it
        once. With ``purchases="split"`` it is added to the price of each member.
    group_costs : float, dict or None, default=None
        Price of every group, or of each of them by name. Needed with `groups`.
    penalty : float, default=0.3
        How much prices count, for "rows" and "forest": a split that makes a row pay for a tenth of
        the price of all features must lower its Gini impurity by a tenth of this. 0: prices do not
        matter. A tree lowers the impurity of a row by less than 1, so with ``penalty=4`` the rows
        of its bootstrap sample pay, with this tree, for less than a quarter of all features.
    max_depth : int or None, default=None
        Largest number of splits on a path; None: no limit.
    n_jobs : int or None, default=None
        Number of trees to grow in parallel, for ``purchases="split"``. Otherwise trees grow one
        after the other.
    random_state : int, RandomState instance or None, default=None
        For the bootstrap samples.

    Attributes
    ----------
    cost_ : float
        What a row of `fit` pays on average for all features that some tree asks it for.
    estimators_ : list of fitted trees
        Subclass of ``DecisionTreeClassifier``.
    feature_costs_ : ndarray of shape (n_features,)
        The prices, without those of groups.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_classes_ : int
        Number of classes.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen in `fit`; defined only if all are strings.

    Other Parameters
    ----------------
    purchases : {"split", "rows", "forest"}, default="rows"
        Which rows pay for a split. "rows": those that have not bought the feature before.
        "forest": the first split of all on a feature pays for all rows, and later ones are free, so
        the forest agrees on a set of features. "split": all of its rows, also those that bought
        the feature further up (BudgetRF).
    impurity : {"threshold_pairs", "powers"}, default="threshold_pairs"
        For ``purchases="split"``: ``F`` of the Notes as a function of the class counts ``n_i``.
        "threshold_pairs": the sum over pairs of different classes of
        ``[[n_i - alpha]+ [n_j - alpha]+ - alpha^2]+``, the paper's choice; "powers":
        ``(sum n_i)^power - sum n_i^power``.
    alpha : float, default=0.0
        Threshold of "threshold_pairs": classes with no more rows than this count as noise, which
        stops growing early. With 0, nodes are split until pure.
    power : float, default=2.0
        Exponent of "powers", above 1.
    min_samples_leaf : int, default=1
        Rows that each side of a split must have.
    max_samples : int or float, default=1.0
        Rows drawn, with replacement, for each tree: a number or a share.
    verbose : int, default=0
        Print lines on the progress if above 0; joblib adds its own.

    See Also
    --------
    FeatureBudgetPruner : Prunes the trees optimally for a price or a budget.

    Notes
    -----
    With ``purchases="rows"``, trees are grown one after the other [2]_ [3]_. A split of the rows
    ``S`` is judged by the drop of the Gini impurity, summed over ``S``, less `penalty` times what
    these rows have yet to pay, as a share of the price of all features. It is made only if that is
    above zero.

    With ``purchases="split"`` (BudgetRF), a split of the rows ``S`` by feature ``k`` into ``S_1``
    and ``S_2`` is judged by its worst outcome, ``(F(S) - max(F(S_1), F(S_2))) / cost[k]``, where
    ``F`` is an *admissible* impurity [1]_. Entropy and Gini impurity are not admissible: they are
    not supermodular.

    References
    ----------
    .. [1] F. Nan, J. Wang and V. Saligrama, "Feature-budgeted random forest", ICML 2015.
       https://doi.org/10.48550/arXiv.1502.05925

    .. [2] Z. Xu, K. Weinberger and O. Chapelle, "The greedy miser: learning under test-time
       budgets", ICML 2012. https://doi.org/10.48550/arXiv.1206.6451

    .. [3] S. Peter, F. Diego, F. A. Hamprecht and B. Nadler, "Cost efficient gradient boosting",
       NeurIPS 2017.
       https://proceedings.neurips.cc/paper/2017/hash/4fac9ba115140ac4f1c22da82aa0bc7f-Abstract.html

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ensemble_simplify import BudgetForestClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> for penalty in (0, 0.3, 1):
    ...     forest = BudgetForestClassifier(n_estimators=10, penalty=penalty, random_state=0)
    ...     forest = forest.fit(X[::2], y[::2])
    ...     print(f"{forest.cost_:.1f} features per row, {forest.score(X[1::2], y[1::2]):.3f}")
    12.3 features per row, 0.898
    4.3 features per row, 0.930
    2.8 features per row, 0.930
    """

    _parameter_constraints: ClassVar[dict] = {
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "feature_costs": ["array-like", dict, None],
        "groups": [dict, None],
        "group_costs": [Interval(Real, 0, None, closed="left"), dict, None],
        "purchases": [StrOptions({"split", "rows", "forest"})],
        "penalty": [Interval(Real, 0, None, closed="left")],
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
        n_estimators: int = 40,
        feature_costs: ArrayLike | dict | None = None,
        groups: dict | None = None,
        group_costs: float | dict | None = None,
        purchases: str = "rows",
        penalty: float = 0.3,
        impurity: str = "threshold_pairs",
        alpha: float = 0.0,
        power: float = 2.0,
        max_depth: int | None = None,
        min_samples_leaf: int = 1,
        max_samples: int | float = 1.0,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ):
        super().__init__(
            n_estimators=n_estimators,
            max_samples=max_samples,
            n_jobs=n_jobs,
            verbose=verbose,
            random_state=random_state,
        )
        self.feature_costs = feature_costs
        self.groups = groups
        self.group_costs = group_costs
        self.purchases = purchases
        self.penalty = penalty
        self.impurity = impurity
        self.alpha = alpha
        self.power = power
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf

    def _get_estimator(self):
        # Bagging asks for the tree to clone once the prices are known.
        return _BudgetTree(
            costs=getattr(self, "_alone", None),
            impurity=self.impurity,
            alpha=self.alpha,
            power=self.power,
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            ledger=getattr(self, "_ledger", None),
        )

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows: an array, or a data frame, in which columns may hold text or categories and any
            entry may be missing. In `predict`, a level that `fit` has not seen is a missing value.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Non-negative weights of the rows.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        self._check_purchases()
        rows, y = learned_rows(self, X, y, sample_weight)
        # The trees grow on complete rows.
        checked = np.ascontiguousarray(self._table.gaps.fill(rows.numbers), dtype=np.float32)
        names = getattr(self, "feature_names_in_", None)
        self.feature_costs_ = read_feature_costs(self.feature_costs, checked.shape[1], names)
        prices = Prices.read(
            self.feature_costs, self.groups, self.group_costs, checked.shape[1], names
        )
        self._alone = prices.alone()
        if sample_weight is not None:
            # `alpha` counts rows.
            sample_weight = check_weights(sample_weight, checked, mean_one=True)
        report(self, f"growing {self.n_estimators} trees on {len(checked)} rows")
        if self.purchases == "split":
            super().fit(checked, y, sample_weight=sample_weight)
        else:
            self._ledger = _open_ledger(
                prices,
                self.penalty / prices.of_set(np.arange(checked.shape[1])),
                len(checked) if self.purchases == "rows" else 1,
            )
            # A tree needs to know what those before it have bought.
            with joblib.parallel_config("sequential"):
                super().fit(checked, y, sample_weight=sample_weight)
            del self._ledger
            for tree in (self.estimator_, *self.estimators_):
                tree.ledger = None
        del self._alone
        if names is not None:  # bagging was given an array
            self.feature_names_in_ = names
        self.cost_ = _mean_cost(self.estimators_, checked, prices)
        # Grown on rows with numbers in the place of gaps, which they are given back here.
        for tree in self.estimators_:
            tree.take_gaps(self._table.gaps)
        n_leaves = sum(tree.get_n_leaves() for tree in self.estimators_)
        report(
            self,
            f"{len(self.estimators_)} trees with {n_leaves} leaves: cost {self.cost_:.6g} a row",
        )
        return self

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict classes, by the mean probabilities of the trees.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows: an array, or a data frame, in which columns may hold text or categories and any
            entry may be missing. In `predict`, a level that `fit` has not seen is a missing value.

        Returns
        -------
        ndarray of shape (n_samples,)
            Class labels, or values in regression.
        """
        return super().predict(X)  # which asks `predict_proba`

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Predict class probabilities, as means of those of the trees.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows: an array, or a data frame, in which columns may hold text or categories and any
            entry may be missing. In `predict`, a level that `fit` has not seen is a missing value.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            One column per class, in the order of `classes_`.
        """
        return super().predict_proba(self._encoded(X))

    def predict_log_proba(self, X: ArrayLike) -> np.ndarray:
        """Predict logarithms of class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows: an array, or a data frame, in which columns may hold text or categories and any
            entry may be missing. In `predict`, a level that `fit` has not seen is a missing value.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            One column per class, in the order of `classes_`.
        """
        return super().predict_log_proba(self._encoded(X))

    def _encoded(self, X):
        """Numbers for a table, as bagging takes them: a frame stays a frame."""
        check_is_fitted(self)
        if not is_plain(X):  # its columns are compared before levels are looked up in them
            validate_data(self, X, reset=False, skip_check_array=True)
        return self._table.encode(X)

    def _check_purchases(self) -> None:
        if self.purchases == "split":
            return
        for name, default in (("impurity", "threshold_pairs"), ("alpha", 0.0), ("power", 2.0)):
            if (value := getattr(self, name)) != default:
                raise ValueError(
                    f"{name}={value!r} has no effect with purchases={self.purchases!r}, which "
                    "uses the Gini impurity. Set purchases='split', or leave it out."
                )


def _open_ledger(prices, unit, n_rows):
    """A ledger in which nothing has been bought; `unit` is what a price of one is worth."""
    words = np.zeros((n_rows, -(-len(prices.price) // 64)), dtype=np.uint64)
    return Ledger(prices.price * unit, prices.resources, words, n_rows > 1)


def _mean_cost(trees, X, prices) -> float:
    """What each row pays on average for what any of the trees asks for."""
    ledger = _open_ledger(prices, 1.0, len(X))
    for tree in trees:
        names = ("children_left", "children_right", "feature", "threshold")
        ledger.walk(X, *(np.ascontiguousarray(getattr(tree.tree_, name)) for name in names))
    bits = np.unpackbits(ledger.bits.view(np.uint8), axis=1, bitorder="little")
    return float(bits[:, : len(prices.price)].mean(axis=0) @ prices.price)
