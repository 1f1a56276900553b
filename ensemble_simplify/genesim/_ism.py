"""ISM: one tree grown top-down from what an ensemble predicts."""

from __future__ import annotations

from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from ensemble_simplify._axes import Axes
from ensemble_simplify._base import (
    HasMethods,
    Interval,
    all_or_nothing,
    check_weights,
    fit_context,
    fit_or_unwrap,
    fitted_rows,
    read_classifier,
)
from ensemble_simplify._regions import with_sizes
from ensemble_simplify._sklearn_tree import write_tree


class InterpretableSingleModel(ClassifierMixin, BaseEstimator):
    """One decision tree grown from the tests and the predictions of an ensemble (ISM).

    The tree is grown top-down like any other, with two differences: only tests that occur in
    the ensemble are candidates, and the class distributions in the information gain come from
    the ensemble instead of the labels.

    Read more in the :ref:`User Guide <genesim_ism>`.

    Parameters
    ----------
    estimator : estimator, FrozenEstimator or None, default=None
        Ensemble of trees: fitted here, or used as it is if wrapped in
        :class:`sklearn.frozen.FrozenEstimator`. None: a random forest of 100 trees.
    max_depth : int or None, default=None
        Largest depth of the tree.
    min_samples_split : int, default=5
        Training rows from which on a node may be split.
    min_samples_leaf : int, default=1
        Training rows that a leaf has at least.
    ccp_alpha : float, default=0.0
        Cost of a leaf in minimal cost-complexity pruning, in units of Gini impurity, as in
        scikit-learn's trees; 0 prunes nothing.
    random_state : int, RandomState instance or None, default=None
        Controls the default ensemble.

    Attributes
    ----------
    estimator_ : estimator
        The fitted ensemble.
    decision_tree_ : DecisionTreeClassifier
        The result; the value of a node is the ensemble's estimate of the class distribution.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_leaves_ : int
        Leaves of `decision_tree_`.
    n_nodes_ : int
        Nodes of `decision_tree_`.
    fidelity_ : float
        Share of the training rows for which the tree predicts what the ensemble does.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen in `fit`; defined only if all are strings.

    See Also
    --------
    GenesimClassifier : A tree bred from those of an ensemble; usually smaller and more accurate.

    Notes
    -----
    Let B be the tests on the path to a node. The class distribution there is estimated as ::

        P(c | B) = 1/T * sum over trees k, leaves l of k: P_k(c | l) * P(l | B),

    where P_k(c | l) is what tree k says in leaf l and P(l | B) is the fraction of the training
    rows satisfying B that end in l: the mean of what the ensemble predicts for these rows. A test
    t has the information gain ::

        H(C | B) - P(t | B) * H(C | B, t) - P(not t | B) * H(C | B, not t).

    A node becomes a leaf where the ensemble predicts one class for all its rows, and siblings
    with the same prediction are joined.

    References
    ----------
    A. Van Assche and H. Blockeel, "Seeing the forest through the trees: learning a
    comprehensible model from a first order ensemble", ILP 2007.
    https://doi.org/10.1007/978-3-540-78469-2_26

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensemble_simplify import InterpretableSingleModel
    >>> X, y = load_iris(return_X_y=True)
    >>> model = InterpretableSingleModel(random_state=0).fit(X, y)
    >>> bool(model.fidelity_ > 0.9)
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_split": [Interval(Integral, 2, None, closed="left")],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "ccp_alpha": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator=None,
        *,
        max_depth=None,
        min_samples_split=5,
        min_samples_leaf=1,
        ccp_alpha=0.0,
        random_state=None,
    ):
        self.estimator = estimator
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.ccp_alpha = ccp_alpha
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    @all_or_nothing
    def fit(self, X, y, sample_weight=None):
        """Fit the ensemble if need be, and grow the tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows. Values are cast to float32, as scikit-learn's trees do.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Non-negative weights of the rows.

        Returns
        -------
        self : InterpretableSingleModel
            The fitted estimator.
        """
        original = X
        X, y = validate_data(self, X, y, dtype=np.float32, order="C")
        check_classification_targets(y)
        weight = check_weights(sample_weight, X)
        default = RandomForestClassifier(random_state=self.random_state)
        source = original if hasattr(original, "shape") else X
        self.estimator_ = fit_or_unwrap(
            self.estimator,
            source,
            y,
            None if sample_weight is None else weight,
            default=default,
        )
        forest = read_classifier(self.estimator_)
        self.classes_ = forest.classes
        used = weight > 0
        votes = self._votes(source)[used]
        axes = Axes.of(forest)
        codes = axes.encode_rows(X[used])
        nodes, counts, n_rows = self._grow(codes, votes * weight[used, None], axes.n_cuts)
        nodes, kept = _cut_back(nodes, counts, self.ccp_alpha)
        counts, n_rows = counts[kept], n_rows[kept]

        node_weight = counts.sum(axis=1)
        value = counts / node_weight[:, None]
        self.decision_tree_ = write_tree(
            axes.decode(nodes),
            value=value,
            n_node_samples=n_rows,
            weighted_n_node_samples=node_weight,
            impurity=np.maximum(1.0 - np.square(value).sum(axis=1), 0.0),
            n_features=X.shape[1],
            classes=self.classes_,
            feature_names=getattr(self, "feature_names_in_", None),
        )
        self.n_nodes_ = len(nodes)
        self.n_leaves_ = (len(nodes) + 1) // 2
        agrees = self.decision_tree_.predict(X[used], check_input=False) == self.classes_.take(
            votes.argmax(axis=1)
        )
        self.fidelity_ = float(np.average(agrees, weights=weight[used]))
        return self

    def predict(self, X):
        """Predict classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Class labels.
        """
        X = fitted_rows(self, X)
        return self.decision_tree_.predict(X, check_input=False)

    def predict_proba(self, X):
        """Predict class probabilities: the ensemble's mean over the training rows of a leaf.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        X = fitted_rows(self, X)
        return self.decision_tree_.predict_proba(X, check_input=False)

    def _votes(self, X):
        """The ensemble's class distribution for every row; its label where it has none."""
        if not hasattr(self.estimator_, "feature_names_in_"):
            X = np.asarray(X)
        if hasattr(self.estimator_, "predict_proba"):
            return self.estimator_.predict_proba(X)
        return (self.estimator_.predict(X)[:, None] == self.classes_).astype(np.float64)

    def _grow(self, codes, votes, n_codes):
        """Grow a tree on rows with weighted class distributions; nodes in the kernel's form."""
        feature, code, size, counts, n_rows = [], [], [], [], []
        label = votes.argmax(axis=1)
        stack = [(np.arange(votes.shape[0]), 0)]
        while stack:
            rows, depth = stack.pop()
            total = votes[rows].sum(axis=0)
            split = None
            if (
                len(rows) >= max(self.min_samples_split, 2 * self.min_samples_leaf)
                and depth != self.max_depth
                and np.any(label[rows] != label[rows[0]])
            ):
                split = _best_test(codes[:, rows], votes[rows], n_codes, self.min_samples_leaf)
            feature.append(-1 if split is None else split[0])
            code.append(total.argmax() if split is None else split[1])
            size.append(1)
            counts.append(total)
            n_rows.append(len(rows))
            if split is not None:
                goes_left = codes[split[0], rows] <= split[1]
                stack.append((rows[~goes_left], depth + 1))
                stack.append((rows[goes_left], depth + 1))
        nodes = np.array([feature, code, size], dtype=np.int32).T.copy()
        return with_sizes(nodes), np.array(counts), np.array(n_rows, dtype=np.intp)


def _entropy(counts):
    """Entropy times weight, over the last axis."""
    total = counts.sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = counts * np.log2(counts / total)
    return -np.where(counts > 0, terms, 0.0).sum(axis=-1)


def _best_test(codes, votes, n_codes, least):
    """Axis and code of the test with the largest information gain, or None."""
    whole = votes.sum(axis=0)
    before = _entropy(whole)
    best, split = 1e-12 * (1.0 + before), None
    for axis in range(len(codes)):
        low, high = codes[axis].min(), codes[axis].max()
        if low == high:
            continue
        width = high - low + 1
        bins = codes[axis] - low
        at = np.column_stack([np.bincount(bins, column, minlength=width) for column in votes.T])
        rows = np.cumsum(np.bincount(bins, minlength=width))[:-1]
        left = np.cumsum(at, axis=0)[:-1]
        gain = before - _entropy(left) - _entropy(np.maximum(whole - left, 0.0))
        gain[(rows < least) | (len(bins) - rows < least)] = -np.inf
        # Between two neighbouring rows, the middle one of the ensemble's tests.
        top = gain.max()
        if top > best:
            same = np.flatnonzero(rows == rows[gain.argmax()])
            best, split = top, (axis, int(low + same[len(same) // 2]))
    return split


def _cut_back(nodes, counts, ccp_alpha):
    """Join siblings of one label and prune weakest links; the tree and the nodes kept."""
    n = len(nodes)
    weight = counts.sum(axis=1)
    impurity = (weight - np.square(counts).sum(axis=1) / weight) / weight[0]
    label = counts.argmax(axis=1)
    leaf = nodes[:, 0] < 0

    def refresh():
        below, leaves, cost = impurity.copy(), np.ones(n, dtype=np.intp), np.full(n, np.inf)
        for i in range(n - 1, -1, -1):
            if leaf[i]:
                continue
            right = i + 1 + nodes[i + 1, 2]
            below[i] = below[i + 1] + below[right]
            leaves[i] = leaves[i + 1] + leaves[right]
            cost[i] = (impurity[i] - below[i]) / (leaves[i] - 1)
        reached, i = [], 0
        while i < n:
            reached.append(i)
            i += nodes[i, 2] if leaf[i] else 1
        return np.array(reached), cost

    while ccp_alpha > 0:
        reached, cost = refresh()
        weakest = reached[cost[reached].argmin()]
        if not cost[weakest] <= ccp_alpha:
            break
        leaf[weakest] = True
    for i in range(n - 1, -1, -1):
        if not leaf[i]:
            right = i + 1 + nodes[i + 1, 2]
            leaf[i] = leaf[i + 1] and leaf[right] and label[i + 1] == label[right]
    kept, _ = refresh()
    pruned = nodes[kept].copy()
    pruned[leaf[kept], 0] = -1
    pruned[leaf[kept], 1] = label[kept][leaf[kept]]
    return with_sizes(pruned), kept
