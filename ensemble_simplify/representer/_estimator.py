"""RepresenterTree: one tree for any model, grown on synthetic rows."""

from __future__ import annotations

import time
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import Bunch
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from ensemble_simplify.base import (
    Fittable,
    HoldsClassifierTree,
    HoldsTree,
    Interval,
    Scored,
    StrOptions,
    check_weights,
    fit_context,
    fitted_rows,
    report,
    warn_out_of_time,
)
from ensemble_simplify.grid import in_threads, limited, limits, time_left
from ensemble_simplify.representer._fidelity import node_figures, prunings, selected, stability
from ensemble_simplify.representer._grower import (
    Grower,
    grow_trees,
    pruned_trees,
    sizes,
    trial_sizes,
    worth_its_leaves,
)
from ensemble_simplify.representer._options import (
    check_folds,
    check_options,
    least_cost,
    least_rows,
    sampling_of,
)
from ensemble_simplify.representer._written_tree import WrittenTree
from ensemble_simplify.sampling import (
    ExactPrunings,
    GrownTree,
    LearnsFromPredictor,
    Sample,
    UnseenAnswers,
    agreement,
    agreement_by_class,
    share_of_time,
    unseen_agreement,
    warn_of_lost_classes,
)
from ensemble_simplify.writing import (
    CHANCE,
    CHANCE_BY_MODEL,
    OF_ANSWERS,
    SHRINKAGE,
    with_chances,
)

# Rows a node, at most.
_MOST_PER_NODE = 2_000

# Synthetic rows that trees are measured on, at most.
_MOST_MEASURED = 10_000

# Rows that the branch above counts for, in the rates of labels that the model knows by heart: the
# tree answers as the model does, and so too often has these labels in its leaves, the more the
# harder the labels are. So many rows, and so many times the share that the tree has wrong. Beside
# one number, the least log loss on new rows of ten tables; it was then judged on six others.
_BY_HEART, _A_WRONG = 5.0, 100.0

# Without `max_leaf_nodes`: fresh rows for each manufactured row of the one sample,
# and the training rows and fresh rows by which a leaf must lower the cost.
_FRESH_SHARE, _LEAST_GAIN, _LEAST_FRESH = 0.5, 0.1, 1.0

# With a time limit: the share of it for growing, and the shares of what is left for new rows to
# choose a size, and again to measure it.
_GROWING_SHARE, _NEW_SHARE = 0.6, 0.4


@dataclass(eq=False)
class _Grown:
    """The trees that smaller ones are pruned from."""

    trees: list[WrittenTree]
    figures: list[np.ndarray]  # of the nodes of each, see `node_figures`
    most: int  # leaves that can be asked for


@dataclass(eq=False)
class _Measured:
    """Rows that trees of all sizes are measured on."""

    leaves: list[np.ndarray]  # where they end in each tree
    decisions: np.ndarray  # of the predictor
    weight: np.ndarray | None = None
    answers: np.ndarray | None = None  # of the predictor, where trees are written with them
    labelled_size: float = 0.0  # rows of equal weight that tell as much


@dataclass(eq=False)
class _Evidence:
    """What the probabilities in leaves are made of."""

    leaves: list[np.ndarray]  # where the rows end in each tree
    chances: np.ndarray  # what is known of the class of each row, see `with_chances`
    weight: np.ndarray
    name: str  # of what probabilities are, see `CHANCE`
    is_by_heart: bool = False  # whether these are labels that the model knows

    def strength(self, answers) -> float:
        """The rows that the branch above counts for, where a tree answers the rows by classes."""
        if not self.is_by_heart:
            return SHRINKAGE
        right = self.chances[np.arange(len(answers)), answers]
        return _BY_HEART + _A_WRONG * (1.0 - np.average(right, weights=self.weight))


class RepresenterTree(Scored, HoldsTree, LearnsFromPredictor, BaseEstimator):
    """One small decision tree that answers nearly all rows as a model does.

    The model can be anything with `predict`, or a function. The tree is grown on training rows and
    on synthetic rows, all labelled by the model. As many synthetic rows are drawn as are needed, so
    the tree does not run out of rows as a plain tree does. The agreement with the model is
    measured, not guaranteed: see `fidelity_`.

    The tree is a classifier if `estimator` is one, and a regressor if `estimator` is one.

    Read more in the :ref:`guide <representer>`. How synthetic rows are drawn is explained in
    :ref:`representer_concept`.

    Parameters
    ----------
    estimator : estimator, FrozenEstimator, callable or None, default=None
        The model to represent. An estimator is cloned and fitted. One inside a
        ``FrozenEstimator``, or a ``Booster`` of LightGBM or XGBoost, is used as it is. A callable
        is given rows and returns labels, probabilities or values (say which with `response`). None:
        a random forest classifier.
    response : {"auto", "class", "probabilities", "value"}, default="auto"
        What the tree represents: a classifier's labels or its probabilities, or a regressor's
        values. "auto" is "class" for a classifier, "value" for a regressor, and an error for a
        callable.

        .. deprecated:: 0.4
           Its old name, `target`, and "label" and "proba" in place of "class" and "probabilities".
    max_depth : int or None, default=None
        Largest depth of the tree. None: no limit.
    max_leaf_nodes : int or None, default=None
        Number of leaves. The tree has fewer if no further split would change an answer and leave
        both sides `min_train_samples`. :meth:`at` gives smaller trees. None: the size that agrees
        best with the model on the rows set aside, which can be hundreds of leaves and takes long.
    min_train_samples : int or None, default=None
        Training rows that each leaf must have, at least. None: 1 for classification, 2 for
        regression, so that no leaf stands for synthetic rows alone. 0 allows such leaves, which on
        average follow the model no better. Larger numbers make leaves that more is known of, and
        trees of fewer leaves. With ``keep_rows=0`` and one sample, there are none to count.
    categorical_features : array-like of int, str or bool, or None, default=None
        Columns with integer codes for levels without order. A split divides the levels into two
        sets. `decision_tree_` holds them as thresholds on the codes. A set that is not one run of
        codes takes several thresholds, and repeats the branch below.
    feature_groups : list of array-like of int or str, or None, default=None
        Columns that are drawn together, for instance the one-hot columns of one feature.
    validation_fraction : float in [0, 1), default=0.1
        Part of the rows that is set aside to measure `fidelity_` and to choose the size. The tree
        does not see them, nor does the estimator if it is fitted here. 0: none.
    n_folds : int, default=0
        Number of folds. For each fold, trees of several sizes are grown without its rows and asked
        about them: see `folds_`. They grow on other synthetic rows than the tree itself, made of
        the other folds alone, and fewer: those of all folds are half as many, or 2,000 a fold. It
        needs `max_leaf_nodes`. 0: no folds, but for the five by which ``sampler="auto"`` chooses.
    time_limit : float or None, default=None
        Seconds for growing. None: no limit. It is looked at between two batches of questions to the
        model. The result is the tree that is grown by then (for "one_shot" the tree of the rows
        labelled by then), with a ``ConvergenceWarning``.
    n_jobs : int or None, default=None
        Threads, which learn without one fold or optimise a tree of one size each; or, for
        "per_node", draw rows and look for splits, one node each. None: 1 unless in a
        ``joblib.parallel_config`` context. -1: all processors. The model is asked by one thread at
        a time, unless it is a forest; give a slow one its own `n_jobs`. The tree does not depend on
        it.
    random_state : int, RandomState instance or None, default=None
        An int fixes the synthetic rows and every ``random_state=None`` of `estimator`.
    verbose : int, default=0
        If positive, progress is printed.

    Attributes
    ----------
    estimator_ : object
        The fitted model.
    decision_tree_ : DecisionTreeClassifier or DecisionTreeRegressor
        The tree, as scikit-learn's own.
    classes_ : ndarray of shape (n_classes,)
        Class labels, for a classifier.
    n_leaves_ : int
        Leaves of the tree. A split into two sets of levels counts as one split here, while
        :meth:`get_n_leaves` counts the leaves of `decision_tree_`.
    fidelity_ : float
        Agreement of the tree with the model on the rows set aside; nan if there are none. For
        labels, the share of rows to which both give the same one. For values, the part of the
        variance of the model's values that the tree explains. If these rows also chose the size,
        it is a little too high. See :meth:`fidelity`.
    train_fidelity_ : float
        The same on the training rows.
    smeared_fidelity_ : float
        The same on synthetic rows that the tree was not grown on.
    class_fidelity_ : ndarray of shape (n_classes,)
        For a classifier, for each class: of the rows set aside to which the model gives the
        class, the share to which the tree gives it, too; nan if there are no such rows.
    train_class_fidelity_ : ndarray of shape (n_classes,)
        The same on the training rows.
    path_ : Bunch
        The sequence of pruned trees from the largest:

        - ``n_leaves`` and ``costs``;
        - ``errors`` (on synthetic rows for ``select="smeared"``, else on the training rows) and
          ``held_out_errors`` (on the rows set aside);
        - ``fidelity``, the agreement with the model on the rows set aside, and ``fidelity_low`` and
          ``fidelity_high``, its binomial interval of 95 % by Clopper and Pearson, for each tree
          alone (nan for values);
        - ``alphas``, the price of a leaf from which on the tree is the best (-inf for a grown tree
          that pruning improves at no price);
        - ``selected``, the index of the chosen tree.

        What needs rows set aside is nan without any.
    folds_ : Bunch or None
        Answers of trees to rows that they were not grown on, with `n_folds` or `fold_of`, or where
        the way to draw rows was chosen:

        - ``fold_of``: the fold of each row, -1 for none;
        - ``n_leaves``: sizes of trees, which are 4, 8, 16, ... and the largest, and not below the
          number of classes that the model gives;
        - ``answers`` of shape (n_sizes, n_rows): the answer to each row of the tree of that size
          that was grown without the row's fold, on synthetic rows that are made of other folds, or
          of the tree itself for a row of no fold;
        - ``agreement`` of shape (n_sizes,): of these answers with the model's, as `fidelity_` is
          measured, on the training rows in folds (with those given as `answers`, or with out-of-bag
          answers where the model is a forest that was fitted on the training rows);
        - ``law``: which is `sampler_`;
        - ``laws``: the agreement of smaller trials, for each way to draw rows that was tried, by
          name; None where none was chosen.

        Without `n_folds` and `fold_of`, all of it is of the trial of the chosen one: of
        trees of at most 32 leaves (16 without `max_leaf_nodes`), grown on fewer rows. All folds
        then share one law, and trees agree a little too well with rows that it was made of.
    synthetic_shares_ : ndarray of shape (n_nodes, n_classes)
        For a classifier, for the nodes of `decision_tree_`: the shares of the model's answers among
        all rows that the tree was grown on, which are synthetic ones for the most part. They say
        which label a node has, but are no probabilities of it.
    stability_ : Bunch or None
        With `n_stability`: ``root``, the share of the other trees with the same first split
        (same column, and 95 % of the training rows sent the same way), ``second``, the same for
        the two splits below where the first is the same, ``root_column`` and ``second_column``,
        where the column alone is compared, and ``n_trees``.
    sampling_ : {"per_node", "one_shot"}
        Whether rows were drawn for each node or once.
    sampler_ : {"leaves", "copula", "heavy_copula", "smear", "kernel", "neighbors"}
        How rows were drawn. ``"heavy_copula"`` is "copula" with more noise, chosen by "auto".
    smearing_ : float
        The `smearing` that was used.
    keep_rows_ : float
        The share of training rows.
    n_queries_ : int
        Rows that the model was asked about for growing, pruning and measuring the tree, and to
        learn whether it takes missing values.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen in `fit`; defined only if all are strings.

    Other Parameters
    ----------------
    sampler : {"auto", "leaves", "copula", "smear", "kernel", "neighbors"}, default="auto"
        How synthetic rows are drawn.

        - "auto": "leaves", "copula", and "copula" with more noise (``smearing=0.5``) are tried on
          folds of the rows. The one is taken whose small trees agree most with the model on rows
          that they were not grown on; in doubt "leaves", or "copula" where some answer is rare. See
          `sampler_` and `folds_`. If the rows are those that a forest was fitted on, its
          out-of-bag answers judge. Nothing is tried for tables of more than 200 columns, which
          take "copula", or with ``keep_rows=1``.
        - "leaves": each column takes the value of a training row that shares a leaf of a random
          tree with a training row. The trees are grown such that the rows of a leaf are alike.
        - "copula": a training row is moved. The ranks of its values, as normal scores, are shrunk
          and given normal noise that is correlated as the columns are.
        - "smear": each value of a training row is kept, or with probability `smearing` replaced by
          that of another training row in that column.
        - "kernel": every numeric column is drawn from a Gaussian kernel estimate of its density,
          independently of the others [2]_.
        - "neighbors": each value is one of the `n_neighbors` nearest values of the column in the
          training rows.

        Columns with codes, levels without an order, and groups are smeared in all but "leaves"
        (under "kernel" with probability 1). A missing value is a value of its own, with no number
        near it.
    smearing : float in [0, 1] or "auto", default="auto"
        How far synthetic rows lie from training rows. For "copula", the share of the noise in
        the variance of the scores; 1 is the Gaussian copula of the columns alone. For "smear", 0
        leaves the training rows as they are, and 1 makes columns independent of each other. For
        "neighbors" it applies to categories and groups only. It has no meaning for "leaves" and
        "kernel". "auto": 0.25, or what ``sampler="auto"`` chooses. A number is kept in every law
        that "auto" tries.
    keep_rows : float in [0, 1] or "auto", default="auto"
        Share of training rows among the rows that the tree is grown on; the others are
        drawn. With 1 the tree is grown on the training rows alone. "auto": 0.3 where
        ``sampler="auto"`` chooses, else 0.5.
    n_neighbors : int, default=20
        For ``sampler="neighbors"`` only: how many nearest values. The row's own value is one of
        them.
    sampling : {"auto", "per_node", "one_shot"}, default="auto"
        - "one_shot": one big sample is drawn, and a tree of three times the leaves asked for is
          grown on it and pruned. Trees of at most 64 leaves are then optimised, one split after the
          other. Without `max_leaf_nodes`, the tree is grown to the end, and half as many fresh
          rows prune it: a leaf must lower the cost on them by a tenth of a training row, and by
          one fresh row.
        - "per_node": fresh rows are drawn in every node.
        - "auto": one sample, but "per_node" if `reuse`, `forbidden_splits`, `split_confidence`,
          `min_cost` or `categorical_features` is given. These work with "per_node" only, and are
          an error with "one_shot".
    n_samples : int or None, default=None
        Rows in each node, or synthetic rows in all for "one_shot". None: as many as training
        rows, but at most 2000; for "one_shot" 40 times as many, but at most 40,000, and fewer for
        more than 200 columns.
    batch_size : int, default=65536
        Rows in one question to the model, at most.
    reuse : bool, default=False
        Whether the rows of a node are handed down to its children, so that only what is missing is
        drawn. This halves the questions to the model. Costs are then a little too optimistic.
    select : {"fidelity", "train", "smeared"} or None, default="fidelity"
        How the pruned tree is chosen. The smallest tree wins ties.

        - "fidelity": the size asked for, where `max_leaf_nodes` is given. Otherwise the best
          agreement with the model on the rows set aside, and on synthetic rows where that ties or
          no rows are set aside. Where some answer of the model is rare, all answers count alike,
          on both kinds of rows together.
        - "train": the least error on the training rows (of `y`, or of the model's answers if there
          is no `y`).
        - "smeared": the least disagreement with the model on synthetic rows.
        - None: no pruning.
    forbidden_splits : {"next_best", "stop"}, default="next_best"
        What to do if the best split of a node leaves too few training rows on one side: take the
        best split that leaves enough, or make the node a leaf.
    split_confidence : float in (0.5, 1) or None, default=None
        With a number, a node is given more rows, up to ten times `n_samples`, until its best split
        lowers the impurity more than the best split on any other ordered column, by a one-sided
        z-test at this confidence on the node's rows [3]_. The tree gets more stable, and the model
        is asked more often.
    min_cost : float or None, default=None
        A node is a leaf if its cost, the probability of a row falling there and being wrong, is
        at most ``min_cost / n_rows``. For values and probabilities the cost is a squared error,
        and `min_cost` counts in units of the root's variance. None: 0 if `max_leaf_nodes` is
        given, else 0.25.
    n_stability : int, default=0
        Number of further trees that are grown on other synthetic rows to compare their first
        splits: see `stability_`. Each takes as long as the tree itself.

    See Also
    --------
    BornAgainClassifier : One tree with the same answers as the ensemble, proven.
    PruningPathDisplay : Draws `path_`.
    agreement : An interval for the agreement, and rows on which tree and model differ.

    Notes
    -----
    Tables of text, categories, booleans and missing values are taken if the model takes them.
    Levels get codes in the order of the model's mean answers to the training rows. Numbers,
    dates and ordered categories keep their own order. Splits of one sample learn whether missing
    values go left or right; with rows drawn per node they go with the lowest values. Where a column
    lacked nothing in `fit`, missing values go to the side of more training rows. Levels that `fit`
    did not see are treated as missing.

    A warning is given if the tree never predicts a class that the model gives to training rows.
    With one sample, more rows are drawn from training rows with rare answers, and they weigh
    less.

    The training rows (at most 10,000 of them for "leaves" and "copula") are kept, for
    :meth:`sample`.

    The method of Breiman and Shang [1]_ is ``sampler="smear", smearing=0.5, keep_rows=0,
    sampling="per_node", forbidden_splits="stop", min_cost=0, select="train"``, with
    ``n_samples=len(X)`` for more than 2000 rows.

    References
    ----------
    .. [1] L. Breiman and N. Shang, "Born again trees", technical report, University of
       California, Berkeley, 1996.
    .. [2] M. Craven and J. Shavlik, "Extracting tree-structured representations of trained
       networks", Advances in Neural Information Processing Systems 8, 1996.
    .. [3] Y. Zhou, Z. Zhou and G. Hooker, "Approximation trees: statistical reproducibility in
       model distillation", Data Mining and Knowledge Discovery, 2023,
       https://doi.org/10.1007/s10618-022-00907-3

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.frozen import FrozenEstimator
    >>> from ensemble_simplify import RepresenterTree
    >>> iris = load_iris(as_frame=True)
    >>> X, y = iris.data, iris.target_names[iris.target]
    >>> forest = RandomForestClassifier(random_state=0).fit(X, y)
    >>> tree = RepresenterTree(FrozenEstimator(forest), max_leaf_nodes=4, random_state=0)
    >>> tree = tree.fit(X, y)
    >>> print(tree.export_text(decimals=2), end="")
    |--- petal length (cm) <= 2.45
    |   |--- class: setosa (chance 96.6 %, 45 training rows)
    |--- petal length (cm) > 2.45
    |   |--- petal length (cm) <= 5.05
    |   |   |--- petal width (cm) <= 1.75
    |   |   |   |--- class: versicolor (chance 91.2 %, 47 training rows)
    |   |   |--- petal width (cm) > 1.75
    |   |   |   |--- class: virginica (chance 76.7 %, 6 training rows)
    |   |--- petal length (cm) > 5.05
    |   |   |--- class: virginica (chance 95.4 %, 37 training rows)
    >>> print(f"Same label as the forest: {tree.fidelity(X):.1%} of the rows")
    Same label as the forest: 97.3% of the rows
    >>> tree.at(3).n_leaves_
    3
    """

    # None: a parameter that has gone
    _renamed: ClassVar[dict] = {"target": "response", "neighbor_weights": None}
    _parameter_constraints: ClassVar[dict] = {
        "estimator": [Fittable(), callable, None],
        "response": [StrOptions({"auto", "class", "probabilities", "value", "label", "proba"})],
        "sampler": [StrOptions({"auto", "leaves", "copula", "smear", "kernel", "neighbors"})],
        "smearing": [Interval(Real, 0, 1, closed="both"), StrOptions({"auto"})],
        "keep_rows": [Interval(Real, 0, 1, closed="both"), StrOptions({"auto"})],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "sampling": [StrOptions({"auto", "per_node", "one_shot"})],
        "n_samples": [Interval(Integral, 1, None, closed="left"), None],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "reuse": ["boolean"],
        "select": [StrOptions({"fidelity", "train", "smeared"}), None],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
        "min_train_samples": [Interval(Integral, 0, None, closed="left"), None],
        "forbidden_splits": [StrOptions({"next_best", "stop"})],
        "split_confidence": [Interval(Real, 0.5, 1, closed="neither"), None],
        "min_cost": [Interval(Real, 0, None, closed="left"), None],
        "categorical_features": ["array-like", None],
        "feature_groups": [list, tuple, None],
        "validation_fraction": [Interval(Real, 0, 1, closed="left")],
        "n_folds": [Interval(Integral, 0, None, closed="left")],
        "n_stability": [Interval(Integral, 0, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        response: str = "auto",
        sampler: str = "auto",
        smearing: float | str = "auto",
        keep_rows: float | str = "auto",
        n_neighbors: int = 20,
        sampling: str = "auto",
        n_samples: int | None = None,
        batch_size: int = 2**16,
        reuse: bool = False,
        select: str | None = "fidelity",
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_train_samples: int | None = None,
        forbidden_splits: str = "next_best",
        split_confidence: float | None = None,
        min_cost: float | None = None,
        categorical_features: ArrayLike | None = None,
        feature_groups: list | None = None,
        validation_fraction: float = 0.1,
        n_folds: int = 0,
        n_stability: int = 0,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.estimator = estimator
        self.response = response
        self.sampler = sampler
        self.smearing = smearing
        self.keep_rows = keep_rows
        self.n_neighbors = n_neighbors
        self.sampling = sampling
        self.n_samples = n_samples
        self.batch_size = batch_size
        self.reuse = reuse
        self.select = select
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_train_samples = min_train_samples
        self.forbidden_splits = forbidden_splits
        self.split_confidence = split_confidence
        self.min_cost = min_cost
        self.categorical_features = categorical_features
        self.feature_groups = feature_groups
        self.validation_fraction = validation_fraction
        self.n_folds = n_folds
        self.n_stability = n_stability
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # ------------------------------------------------------------------ what it is

    @property
    def _shares_of(self):
        """How the probabilities in leaves are told."""
        return "" if self._evidence is None else self._evidence.name

    # ------------------------------------------------------------------ fit

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        fold_of: ArrayLike | None = None,
        answers: ArrayLike | None = None,
    ) -> Self:
        """Fit the model, unless it is frozen, and grow the tree that represents it.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Training rows, from which synthetic rows are drawn: numbers that are finite in float32,
            and whatever else the model takes, such as text, categories, dates and missing values.
            A forest or another ensemble that takes numbers alone is fitted on codes of these.
        y : array-like of shape (n_rows,) or None, default=None
            Labels or values. Needed unless the model is a callable or frozen.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            Weights of the training rows, for the estimator if it is fitted here, and for picking
            rows and values to draw from.
        fold_of : array-like of shape (n_rows,) of int, or None, default=None
            The fold of each row, in place of `n_folds` random ones. Negative: in no fold; such
            rows are used by the trees of every fold.
        answers : array-like of shape (n_rows,), or None, default=None
            Labels or values by which trees are judged on folds, in place of the model's own
            answers. They do not change what the trees are grown on. None: the out-of-bag answers of
            a forest that was fitted on just these rows, since it knows them by heart; otherwise the
            model's own.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        return self._fit(X, y, sample_weight, fold_of=fold_of, answers=answers)

    @fit_context(prefer_skip_nested_validation=False)
    @limited
    def _fit(
        self, X, y=None, sample_weight=None, *, fold_of=None, answers=None, known=None, rates=True
    ):
        """`fit`, where the model's own answers may be `known` already.

        Without `rates`, leaves get none by what the model says: who calls gives them others.
        """
        target = self._resolve_target()
        check_options(self)
        self.sampling_ = sampling_of(self)
        check_folds(self, fold_of)
        self._are_folds_asked = fold_of is not None or self.n_folds > 0
        material = self._material(X, y, sample_weight, target, fold_of, answers, known)
        arguments = self._law_arguments
        self.smearing_, self.keep_rows_ = arguments["smearing"], arguments["keep_rows"]
        unseen = self._unseen(material) if self._are_folds_asked else None
        calls = [partial(self._grow_in_time, material)]
        if unseen is not None and time_left() == np.inf:
            # threads grow the tree beside those of the folds; a limit is the tree's first of all
            calls += unseen.calls()
        (trees, most_new), *_ = in_threads(self.n_jobs, calls)
        aside = material.aside(self._predictor)
        which, is_split = self._choose_size(trees, material, aside, most_new)
        self._measured = self._gather(material, aside, most_new)
        self._evidence = None
        if rates and target != "value":
            y = None if material.y is None else material.y[material.kept]
            training = material.training
            # what the model has learned matters for labels alone, and asking can take seconds
            learned = y is not None and (not self._is_fitted_before() or self._has_learned(X))
            self._evidence = self._evidence_of(training.X, y, training.weight, learned)
        on_rows = self._set_size(which, is_split)
        if target != "value":
            warn_of_lost_classes(
                self._measured["training"].decisions,
                on_rows,
                self.classes_,
                "tree",
                "Allow more leaves (max_leaf_nodes, max_depth), or set select=None to keep the "
                "tree as it is grown.",
            )
        self.folds_ = self._ask_folds(material, unseen)
        self.stability_ = self._ask_stability(material) if self.n_stability else None
        self.n_queries_ = self._predictor.n_queries
        return self

    def _trial(self, training, seed):
        n_leaves = trial_sizes(self.max_leaf_nodes, self._n_classes(training))
        how = self._growing(seed) | {"target": self._predictor.target, "n_leaves": n_leaves}
        return n_leaves, partial(pruned_trees, **how)

    def _growing(self, seed) -> dict:
        """How trees grow on one sample."""
        least = least_rows(self, self._predictor.target)
        return {"max_depth": self.max_depth, "seed": seed, "least": least}

    def _grow_in_time(self, material) -> tuple[list[GrownTree], Callable]:
        """What `_grow` returns, and a function that says for how many new rows there is time."""
        begin, n_before = time.monotonic(), self._predictor.n_queries
        with limits(_GROWING_SHARE * time_left()):
            trees = self._grow(material, material.seeds)
        if self._takes_missing:
            # Where nothing was missing, nothing was learned: gaps go to the side of more rows.
            for tree in trees:
                tree.send_gaps(material.training.X, ~material.gaps.seen)
        # What a new row took in growing tells how many there is time for.
        a_row = (time.monotonic() - begin) / max(self._predictor.n_queries - n_before, 1)
        return trees, partial(share_of_time, share=_NEW_SHARE, each=a_row)

    def _choose_size(self, trees, material, aside, most_new) -> tuple[int, np.ndarray]:
        """Which of the trees answers, and its splits that stay; sets `path_`.

        Kept is what trees of other sizes are pruned from: `_grown`.
        """
        training, law = material.training, material.law
        if self.select == "smeared":
            judging = self._new_rows(law, most_new(len(training.X)), material.seeds[1])
        else:
            truth = training.answers
            if material.y is not None:
                truth = self._predictor.encode(material.y[material.kept])
            judging = training.X, truth, training.weight
        figures = self._figures(trees, material, judging, aside, most_new)
        which, is_split = self._sized(trees)
        tree, nodes = trees[which].collapsed(is_split)
        self.path_, pruned_at, to_judge = prunings(tree, figures[which][nodes], aside.labelled_size)
        # A tree of a size that was asked for is not pruned by its fidelity.
        if self.select != "fidelity" or self.max_leaf_nodes is None:
            self.path_.selected = selected(self.path_, to_judge, self.select)
        is_split = np.zeros_like(is_split)
        is_split[nodes] = pruned_at > self.path_.selected
        if self.max_leaf_nodes is None:
            # Nobody asks for more leaves than this: `at` starts from here.
            tree, kept_nodes = trees[0].collapsed(is_split)
            trees, figures, is_split = [tree], [figures[0][kept_nodes]], ~tree.is_leaf
        levels = material.columns.levels(training.X)
        self._grown = _Grown(
            trees=[WrittenTree.of(tree, levels, self._takes_missing) for tree in trees],
            figures=figures,
            most=trees[0].n_leaves if self.max_leaf_nodes is None else self.max_leaf_nodes,
        )
        return which, is_split

    def _grow(self, material, seeds) -> list[GrownTree]:
        """Trees, a large one first."""
        law, training = material.law, material.training
        n_rows = law.X.shape[0]
        if self.sampling_ == "one_shot":
            is_free = self.max_leaf_nodes is None and law.keep_rows < 1.0
            is_free &= self.select is not None
            with limits(time_left() / (1.0 + _FRESH_SHARE) if is_free else None):
                sample = self._draw(material, seeds[0])
            report(self, f"{self._predictor.n_queries} rows labelled")
            trees = grow_trees(
                sample.rows(),
                self._predictor.target,
                **self._growing(seeds[3]),
                max_leaf_nodes=self.max_leaf_nodes,
                sizes=[] if self.max_leaf_nodes is None else self._fold_sizes(training),
                n_jobs=self.n_jobs,
            )
            if is_free:
                trees[0] = self._worth_its_leaves(trees[0], material, seeds[0])
        else:
            tree = Grower(
                law=law,
                predictor=self._predictor,
                report=partial(report, self),
                answers=material.base.answers,
                categorical=material.columns.categorical,
                n_samples=(
                    min(n_rows, _MOST_PER_NODE) if self.n_samples is None else self.n_samples
                ),
                reuse=self.reuse,
                max_depth=np.inf if self.max_depth is None else self.max_depth,
                max_leaf_nodes=np.inf if self.max_leaf_nodes is None else self.max_leaf_nodes,
                min_train_samples=least_rows(self, self._predictor.target),
                allowed_splits_only=self.forbidden_splits == "next_best",
                split_confidence=self.split_confidence,
                min_cost=least_cost(self) / n_rows,
                seed=seeds[0],
                n_jobs=self.n_jobs,
            ).grow()
            trees = [tree]
        if not trees[0].is_complete:
            warn_out_of_time(
                f"time_limit={self.time_limit} was over when the tree had "
                f"{trees[0].n_leaves} leaves. Raise time_limit, or lower max_leaf_nodes or "
                "n_samples."
            )
        return trees

    def _worth_its_leaves(self, tree, material, seed) -> GrownTree:
        """A tree that grew without limit, pruned by rows that it was not grown on."""
        law, base = material.law, material.base
        n_samples = max(int(self._n_drawn(law) * _FRESH_SHARE), 1)
        # Numbers of their own: what the tree was grown on must not come again.
        fresh_seed = int(np.random.SeedSequence([seed, 1]).generate_state(1)[0])
        rows = Sample(law, self._predictor, base, base, n_samples, fresh_seed).made
        price = max(_LEAST_GAIN / law.X.shape[0], _LEAST_FRESH / len(rows.X))
        return worth_its_leaves(tree, rows, price, self._class_weight(material.training))

    def _sized(self, trees) -> tuple[int, np.ndarray]:
        """Which of the trees has the size that is asked for, and with which of its splits."""
        if self.max_leaf_nodes is None:
            return 0, ~trees[0].is_leaf
        return ExactPrunings(trees, self.max_leaf_nodes).best(self.max_leaf_nodes)

    # ------------------------------------------------------------------ folds

    def _fold_sizes(self, training):
        return sizes(self.max_leaf_nodes, self._n_classes(training))

    def _unseen(self, material) -> UnseenAnswers:
        """What trees of some sizes are to be asked that are grown without a fold each."""
        n_leaves = self._fold_sizes(material.training)
        how = {**self._growing(material.seeds[3]), "sizes": n_leaves}
        return UnseenAnswers(
            partial(self._rows_without, material, material.seeds[0]),
            material.X,
            material.fold_of,
            (len(n_leaves), material.training.answers.shape[1]),
            partial(pruned_trees, n_leaves=n_leaves, target=self._predictor.target, **how),
        )

    def _ask_folds(self, material, unseen) -> Bunch | None:
        """The answers of trees of some sizes to rows that they were not grown on.

        Where folds are asked for, each has rows of its own; else those of the trial tell.
        """
        predictor, trial, fold_of = self._predictor, material.trial, material.fold_of
        X, kept, training = material.X, material.kept, material.training
        if (fold_of < 0).all() or (trial.answers is None and not self._are_folds_asked):
            return None
        if self._are_folds_asked:
            if time_left() < np.inf:
                in_threads(self.n_jobs, unseen.calls())
            n_leaves, told = self._fold_sizes(training), unseen.answers
            agreement = unseen_agreement(told[:, kept], training, predictor)
        else:
            n_leaves, agreement = trial.sizes, trial.agreement
            tried = np.flatnonzero(kept)[trial.places]
            fold_of = np.where(np.isin(np.arange(len(X)), tried), fold_of, -1)
            told = np.zeros((len(n_leaves), len(X), trial.answers.shape[2]))
            told[:, tried] = trial.answers
        outside = np.flatnonzero(fold_of < 0)
        trees = self._grown.trees
        prunings = ExactPrunings([each.tree for each in trees], int(max(n_leaves)))
        for k, n in enumerate(n_leaves):
            which, is_split = prunings.best(n)
            tree = trees[which]
            told[k, outside] = tree.answers(is_split, tree.leaves(X[outside]))
        return Bunch(
            fold_of=fold_of,
            n_leaves=n_leaves,
            answers=np.array([predictor.decode(answers) for answers in told]),
            agreement=agreement,
            law=self.sampler_,
            laws=trial.laws,
        )

    def _ask_stability(self, material) -> Bunch:
        """How far trees that are grown from other random numbers have the same first splits."""
        others = [[each.tree for each in self._grown.trees]]
        for k, other in enumerate(np.random.SeedSequence(material.seeds).spawn(self.n_stability)):
            with limits(time_left() / (self.n_stability - k)):
                others.append(self._grow(material, other.generate_state(4).tolist()))
        sized = [(trees, *self._sized(trees)) for trees in others]
        return stability(
            [trees[which].collapsed(is_split)[0] for trees, which, is_split in sized],
            material.training.X,
        )

    def _figures(self, trees, material, judging, aside, most_new) -> list[np.ndarray]:
        """What the pruning path sums up over the leaves, for every node of each tree."""
        training, new = material.training, None
        class_weight = self._class_weight(training)
        if self.select == "fidelity" and self.max_leaf_nodes is None:
            n = most_new(min(len(training.X), _MOST_MEASURED))
            new = self._new_rows(material.law, n, self._law_arguments["seed"], class_weight)
        target = self._predictor.target
        return [node_figures(tree, target, judging, aside, class_weight, new) for tree in trees]

    def _gather(self, material, aside, most_new) -> dict[str, _Measured]:
        """What is known of rows that the tree, of whatever size, is measured on."""
        predictor, law, training = self._predictor, material.law, material.training
        n_new = most_new(min(max(len(training.X), 1000), _MOST_MEASURED))
        smeared = law.with_gaps(law.manufacture(law.everywhere(), n_new, material.seeds[2]))
        decisions = predictor.decode(training.answers)
        if predictor.target == "probabilities":
            decisions = predictor.decisions(training.X)

        def leaves(X):
            return [tree.leaves(X) for tree in self._grown.trees]

        return {
            "training": _Measured(leaves(training.X), decisions, training.weight, training.answers),
            "smeared": _Measured(leaves(smeared), predictor.decisions(smeared)),
            "aside": _Measured(
                leaves(aside.X), aside.decisions, aside.weight, labelled_size=aside.labelled_size
            ),
        }

    def _evidence_of(self, X, y, weight, is_known) -> _Evidence:
        """What rows, known to the model or not, tell of the classes: by `y`, or by the model."""
        predictor = self._predictor
        leaves = [tree.leaves(X) for tree in self._grown.trees]
        if y is not None:
            return _Evidence(leaves, predictor.encode(y), weight, CHANCE, is_known)
        chances, name = predictor.chances(X), CHANCE_BY_MODEL
        if chances is None:
            chances, name = predictor.answers(X), OF_ANSWERS
        return _Evidence(leaves, chances, weight, name)

    def _set_size(self, which, is_split) -> np.ndarray:
        """Make it the tree with some of the splits of one that was grown, and measure it.

        Returns its answers to the training rows.
        """
        training, aside = self._measured["training"], self._measured["aside"]
        predictor, tree = self._predictor, self._grown.trees[which]
        self.n_leaves_ = int(np.count_nonzero(is_split)) + 1
        self._is_split = which, is_split
        grown = tree.write(
            is_split,
            training.leaves[which],
            training.answers,
            n_features=self.n_features_in_,
            classes=predictor.classes,
            names=getattr(self, "feature_names_in_", None),
            weight=training.weight,
        )
        self.decision_tree_ = grown
        if (known := self._evidence) is not None:
            self.synthetic_shares_ = grown.tree_.value[:, 0].copy()
            ends = tree.numbered(is_split)[2][known.leaves[which]]
            strength = known.strength(self.synthetic_shares_[ends].argmax(axis=1))
            self.decision_tree_ = with_chances(grown, ends, known.chances, known.weight, strength)
        answers = {
            name: predictor.decode(tree.answers(is_split, rows.leaves[which]))
            for name, rows in self._measured.items()
        }
        agreements = {
            name: agreement(rows.decisions, answers[name], predictor.target, rows.weight)
            if rows.leaves[which].size
            else np.nan
            for name, rows in self._measured.items()
        }
        self.fidelity_, self.smeared_fidelity_ = agreements["aside"], agreements["smeared"]
        self.train_fidelity_ = agreements["training"]
        if predictor.target == "value":
            return answers["training"]
        self.train_class_fidelity_ = agreement_by_class(
            training.decisions, answers["training"], self.classes_, training.weight
        )
        self.class_fidelity_ = np.full(self.classes_.size, np.nan)
        if aside.leaves[which].size:
            self.class_fidelity_ = agreement_by_class(
                aside.decisions, answers["aside"], self.classes_, aside.weight
            )
        return answers["training"]

    def _answers_to(self, X):
        return self.decision_tree_.predict(X.astype(np.float32), check_input=False)

    # ------------------------------------------------------------------ use

    def at(self, n_leaves: int) -> Self:
        """A copy with a tree of another size.

        The tree is the cheapest pruning of the trees that were grown: the large one, and those that
        were optimised at 4, 8, 16, ... leaves. The model is not asked again.

        Parameters
        ----------
        n_leaves : int
            Leaves of its tree, at least 2. At most `max_leaf_nodes`, or the leaves of the fitted
            tree where no size was given. The tree has fewer if more would change no answer.

        Returns
        -------
        representer : RepresenterTree
            Fitted. Its `max_leaf_nodes` is `n_leaves`, and its `path_` begins at that size.
        """
        check_is_fitted(self)
        most = self._grown.most
        if not isinstance(n_leaves, Integral) or not 2 <= n_leaves <= most:
            raise ValueError(
                f"n_leaves={n_leaves!r}, but this tree can be pruned to 2 to {most} leaves. Use "
                "such an integer, or fit with a larger max_leaf_nodes."
            )
        smaller = copy(self)
        smaller.max_leaf_nodes = int(n_leaves)
        trees = [each.tree for each in self._grown.trees]
        which, is_split = smaller._sized(trees)
        tree, nodes = trees[which].collapsed(is_split)
        figures = self._grown.figures[which][nodes]
        smaller.path_ = prunings(tree, figures, self._measured["aside"].labelled_size)[0]
        smaller._set_size(which, is_split)
        return smaller

    def sample(
        self, n_samples: int, random_state: int | np.random.RandomState | None = None
    ) -> Any:
        """Draw rows like those that the tree is grown on.

        Parameters
        ----------
        n_samples : int
            Number of rows.
        random_state : int, RandomState instance or None, default=None
            An int makes the rows reproducible.

        Returns
        -------
        X : ndarray or data frame of shape (n_samples, n_features)
            A data frame if the tree was fitted on one, with columns of its dtypes. Integers stay
            integers unless ``sampler="kernel"`` drew numbers between them.
        """
        return self._sampled(n_samples, random_state)

    @available_if(lambda self: self._type() == "classifier")
    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Class probabilities: the rate of each label among training rows in the same leaf.

        Without `y`, they are the model's mean probabilities there; of a model without
        probabilities, the shares of its answers. What a leaf says is drawn towards the branches
        above it, as if these were ten rows more in it. Where the model was fitted on the rows, and
        knows their labels, these are five rows, and one more for each per cent of the rows that the
        tree has wrong. Its label is never less probable than another one. :meth:`calibrated` takes
        the rates of other rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            One column per class, in the order of `classes_`.
        """
        return HoldsClassifierTree.predict_proba(self, X)

    @available_if(lambda self: self._type() == "classifier")
    def calibrated(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """A copy of the same tree, whose leaves hold the rates of the labels of other rows.

        Take rows that the model was not fitted on where there are some: of those it knows the
        labels by heart.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their true labels. Rows with a label that is none of `classes_` are left out.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Non-negative weights of the rows.

        Returns
        -------
        representer : RepresenterTree
            Fitted. It predicts the same labels, with other probabilities.
        """
        rows, y = fitted_rows(self, X, dtype="float64"), column_or_1d(y)
        check_consistent_length(rows, y)
        other = copy(self)
        weight = check_weights(sample_weight, rows)
        other._evidence = self._evidence_of(rows, y, weight, self._has_learned(X))
        other._set_size(*self._is_split)
        return other
