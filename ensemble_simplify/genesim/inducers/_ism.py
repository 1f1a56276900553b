"""ISM: one tree grown top-down from what an ensemble predicts."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier

from ensemble_simplify.base import (
    Fittable,
    HoldsClassifierTree,
    Interval,
    TakesWhatItsEstimatorTakes,
    all_or_nothing,
    check_readable,
    check_weights,
    fit_context,
    fit_or_unwrap,
    learned_rows,
    report,
    warn_out_of_time,
)
from ensemble_simplify.genesim._merge_trees import GapColumns, forest_on
from ensemble_simplify.genesim.inducers._ism_growth import grow
from ensemble_simplify.grid import limited, unlimited, with_sizes
from ensemble_simplify.reading import Model, is_plain
from ensemble_simplify.writing import CHANCE_BY_MODEL, weakest_links, write_counted


class InterpretableSingleModel(
    HoldsClassifierTree, TakesWhatItsEstimatorTakes, ClassifierMixin, BaseEstimator
):
    """One decision tree grown from the splits and the predictions of an ensemble (ISM).

    The tree is grown top-down like any other, with two differences. Only splits that occur in the
    ensemble are candidates. The class distributions in the information gain come from the
    ensemble's predictions, not from the labels. Rows may be tables with text, categories and
    missing values; levels that `fit` did not see count as missing.

    Read more in the :ref:`guide <genesim_ism>`.

    Parameters
    ----------
    estimator : estimator, FrozenEstimator or None, default=None
        Ensemble of trees: fitted here, or used as it is if wrapped in
        :class:`sklearn.frozen.FrozenEstimator`. None: a random forest of 100 trees.
    max_depth : int or None, default=None
        Largest depth of the tree.
    min_samples_leaf : int, default=1
        Training rows that a leaf has at least.
    ccp_alpha : float, default=0.0
        Cost of a leaf in minimal cost-complexity pruning, in units of Gini impurity, as in
        scikit-learn's trees; 0 prunes nothing.
    time_limit : float or None, default=None
        Seconds after which the tree is grown no further. An ensemble that is being fitted here is
        not interrupted.
    random_state : int, RandomState instance or None, default=None
        Controls the default ensemble.

    Attributes
    ----------
    decision_tree_ : DecisionTreeClassifier
        The result; the value of a node is the ensemble's estimate of the class distribution,
        after `shrinkage`.
    n_leaves_ : int
        Leaves of `decision_tree_`.
    n_nodes_ : int
        Nodes of `decision_tree_`.
    train_fidelity_ : float
        Share of the training rows for which the tree predicts what the ensemble does.
    fidelity_ : float
        Not a number: no rows are kept aside to measure the agreement with the ensemble on.
    estimator_ : estimator
        The fitted ensemble.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen in `fit`; defined only if all are strings.

    Other Parameters
    ----------------
    min_samples_split : int, default=5
        A node with fewer training rows is not split.
    shrinkage : float, default=10
        How many rows the ancestors of a leaf count for in its class probabilities (hierarchical
        shrinkage); no probability is zero then. 0: the estimate of the Notes as it is. What
        `predict` answers does not depend on it.
    verbose : int, default=0
        If positive, progress is printed.

    See Also
    --------
    GenesimClassifier : A tree bred from those of an ensemble; usually smaller and more accurate.

    Notes
    -----
    Let B be the splits on the path to a node. The class distribution there is estimated as ::

        P(c | B) = 1/T * sum over trees k, leaves l of k: P_k(c | l) * P(l | B),

    where P_k(c | l) is what tree k says in leaf l and P(l | B) is the fraction of the training
    rows satisfying B that end in l. This is the mean of what the ensemble predicts for these rows.
    A split t has the information gain ::

        H(C | B) - P(t | B) * H(C | B, t) - P(not t | B) * H(C | B, not t).

    A node becomes a leaf where the ensemble predicts one class for all its rows, and siblings
    with the same prediction are joined.

    References
    ----------
    .. [1] A. Van Assche and H. Blockeel, "Seeing the forest through the trees: learning a
       comprehensible model from a first order ensemble", ILP 2007.
       https://doi.org/10.1007/978-3-540-78469-2_26

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensemble_simplify import InterpretableSingleModel
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = InterpretableSingleModel(ccp_alpha=0.02, random_state=0).fit(X, y)
    >>> print(f"agrees with the forest on {model.train_fidelity_:.1%} of the rows")
    agrees with the forest on 97.3% of the rows
    >>> print(model.export_text())
    |--- petal length (cm) <= 2.45
    |   |--- class: 0 (chance 95.7 % by the model, 50 training rows)
    |--- petal length (cm) > 2.45
    |   |--- petal width (cm) <= 1.75
    |   |   |--- petal length (cm) <= 4.95
    |   |   |   |--- class: 1 (chance 91.6 % by the model, 48 training rows)
    |   |   |--- petal length (cm) > 4.95
    |   |   |   |--- class: 2 (chance 58 % by the model, 6 training rows)
    |   |--- petal width (cm) > 1.75
    |   |   |--- class: 2 (chance 92.1 % by the model, 46 training rows)
    <BLANKLINE>
    """

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [Fittable(), None],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_split": [Interval(Integral, 2, None, closed="left")],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "ccp_alpha": [Interval(Real, 0, None, closed="left")],
        "shrinkage": [Interval(Real, 0, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        max_depth: int | None = None,
        min_samples_split: int = 5,
        min_samples_leaf: int = 1,
        ccp_alpha: float | str = 0.0,
        shrinkage: float = 10,
        time_limit: float | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.estimator = estimator
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.ccp_alpha = ccp_alpha
        self.shrinkage = shrinkage
        self.time_limit = time_limit
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=False)
    @all_or_nothing
    @limited
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the ensemble if need be, and grow the tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows: numbers, which are cast to float32, or a table that has columns of text
            and categories, too. Any entry may be missing (NaN, None).
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Non-negative weights of the rows.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        check_readable(self.estimator)
        rows, y = learned_rows(self, X, y, sample_weight)
        X = rows.numbers
        weight = check_weights(sample_weight, X)
        self.estimator_ = fit_or_unwrap(
            self.estimator,
            rows.given,
            y,
            None if sample_weight is None else weight,
            default=RandomForestClassifier(random_state=self.random_state),
            counted=True,
        )
        model = Model.of(self.estimator_, classifier=True, rows=rows.given)
        forest = forest_on(model, self._table)
        self.classes_ = forest.classes
        report(self, f"ensemble of {forest.n_trees} trees is ready")
        # rows of weight 0 were there for the model, and do not count for the tree
        used = weight > 0
        votes = self._votes(rows)[used]
        weight = weight[used]
        columns = GapColumns(self._table.gaps)
        axes, _ = columns.axes([forest])
        # without codes there is nothing to grow: the limit is for the growth
        with unlimited():
            codes = axes.encode_rows(columns.rows(X[used]))
        nodes, votes_of_node, n_rows, stopped = grow(
            codes,
            np.ascontiguousarray(votes * weight[:, None]),
            max_depth=-1 if self.max_depth is None else self.max_depth,
            min_samples_split=self.min_samples_split,
            min_samples_leaf=self.min_samples_leaf,
        )
        report(self, f"grown to {(len(nodes) + 1) // 2} leaves")
        if stopped:
            warn_out_of_time(
                f"time_limit={self.time_limit} seconds stopped the growth of the tree. Raise "
                "time_limit, or set max_depth or min_samples_leaf."
            )
        nodes, kept = _pruned(nodes, votes_of_node, self.ccp_alpha)
        written, order, missing_left = columns.written(axes.decode(nodes), n_rows[kept])
        self.decision_tree_ = write_counted(
            written,
            n_rows[kept][order],
            votes_of_node[kept][order],
            n_features=self.n_features_in_,
            classes=self.classes_,
            feature_names=getattr(self, "feature_names_in_", None),
            shrinkage=self.shrinkage,
            missing_go_to_left=missing_left,
        )
        self.n_nodes_ = len(nodes)
        self.n_leaves_ = (len(nodes) + 1) // 2
        self._shares_of = CHANCE_BY_MODEL if self.shrinkage > 0 else ""
        answers = self.decision_tree_.predict(X[used], check_input=False)
        agrees = answers == self.classes_.take(votes.argmax(axis=1))
        self.train_fidelity_ = float(np.average(agrees, weights=weight))
        self.fidelity_ = np.nan
        report(self, f"{self.n_leaves_} leaves, train fidelity {self.train_fidelity_:.4f}")
        return self

    def _votes(self, rows) -> np.ndarray:
        """The ensemble's class distribution for every row; its label where it has none."""
        knows_names = hasattr(self.estimator_, "feature_names_in_")
        X = rows.given if knows_names or not is_plain(rows.given) else rows.numbers
        asked = Model(self.estimator_)
        if hasattr(self.estimator_, "predict_proba"):
            return asked.ask(X, "predict_proba")
        return (asked.ask(X)[:, None] == self.classes_).astype(np.float64)


def _pruned(nodes, weights, ccp_alpha) -> tuple[np.ndarray, np.ndarray]:
    """Prune the weakest links and join siblings of one label; the tree and the nodes kept."""
    total = weights.sum(axis=1)
    label = weights.argmax(axis=1)
    is_leaf = nodes[:, 0] < 0
    if ccp_alpha > 0:
        impurity = (total - np.square(weights).sum(axis=1) / total) / total[0]
        # in scikit-learn's units: impurity as a share of the root's weight
        pruned_at, price, _, _ = weakest_links(nodes, impurity)
        is_leaf = pruned_at < np.searchsorted(price, ccp_alpha, side="right")
    # backwards, so that children are decided before their parents
    for i in np.flatnonzero(~is_leaf)[::-1]:
        right = i + 1 + nodes[i + 1, 2]
        is_leaf[i] = is_leaf[i + 1] and is_leaf[right] and label[i + 1] == label[right]
    # in pre-order, what is below a new leaf is skipped by its size
    kept, i = [], 0
    while i < len(nodes):
        kept.append(i)
        i += nodes[i, 2] if is_leaf[i] else 1
    pruned = nodes[kept].copy()
    leaves = is_leaf[kept]
    pruned[leaves, 0] = -1
    pruned[leaves, 1] = label[kept][leaves]
    return with_sizes(pruned), np.array(kept)
