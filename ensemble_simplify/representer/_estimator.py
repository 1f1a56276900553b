"""RepresenterTree: one tree for any predictor, grown on synthetic data."""

from __future__ import annotations

import time
from copy import copy
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import Bunch, ClassifierTags, RegressorTags, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from ensemble_simplify.base import (
    Fittable,
    HoldsClassifierTree,
    HoldsTree,
    Interval,
    StrOptions,
    all_or_nothing,
    binomial_interval,
    check_weights,
    comes_fitted,
    deadline_after,
    fit_context,
    fit_or_unwrap,
    fitted_rows,
    named_rows,
    report,
    safe_indexing,
    tags_of,
    takes_missing,
    warn_out_of_time,
)
from ensemble_simplify.reading import (
    Gaps,
    Model,
    Table,
    is_plain,
    level_orders,
    out_of_bag,
    table_of,
)
from ensemble_simplify.representer._fidelity import (
    RowsAside,
    agreement,
    agreement_by_class,
    stability,
    warn_of_lost_classes,
)
from ensemble_simplify.representer._folds import (
    KEEP_ROWS,
    N_FOLDS,
    SMEARING,
    choose_law,
    draw_folds,
    laws_to_try,
    sizes,
    trial_sizes,
    unseen_agreement,
    unseen_answers,
)
from ensemble_simplify.representer._grower import Grower, grow_trees, worth_its_leaves
from ensemble_simplify.representer._grown_tree import ExactPrunings, WrittenTree
from ensemble_simplify.sampling import (
    LEAST_SHARE,
    Coordinates,
    Predictor,
    Sample,
    make_law,
    one_hot,
    some_rows,
)

# One sample for the whole tree has so many times the training rows,
_ONE_SHOT = 40
# but at most so many manufactured and so many training rows.
_MOST_ONE_SHOT = 40_000
# Of tables with more columns than `_WIDE`, a sample has so many entries, but so many rows at least,
# and no law is chosen.
_WIDE, _MOST_ENTRIES, _LEAST_SAMPLE = 200, 8_000_000, 2_000

# Rows a node, at most.
_MOST_PER_NODE = 2_000

# Synthetic rows that trees are measured on, at most.
_MOST_MEASURED = 10_000

# Training rows that a copula is fitted to, at most.
_MOST_BASE_ROWS = 20_000

# Without `max_leaf_nodes`, a node whose cost in rows is at most this is not split.
_LEAST_COST = 0.25

# Training rows that a law is chosen by, at most.
_MOST_CHOOSING = 10_000

# Without `max_leaf_nodes`: fresh rows for each manufactured row of the one sample,
# and the training rows and fresh rows by which a leaf must lower the cost.
_FRESH_SHARE, _LEAST_GAIN, _LEAST_FRESH = 0.5, 0.1, 1.0

# With a time limit: the share of it for growing; the shares of what is left for new rows to choose
# a size, and again to measure it, with so many in any case; the share for the copula, and the
# seconds that it takes for a number.
_GROWING_SHARE, _NEW_SHARE, _LEAST_NEW = 0.6, 0.4, 200
_LAW_SHARE, _LAW_SECONDS = 0.25, 5e-7

# Parameters that have no meaning under another one's value.
_PER_NODE_ONLY = (
    "reuse",
    "min_train_samples",
    "min_cost",
    "categorical_features",
    "forbidden_splits",
    "split_confidence",
)
_MEANINGLESS = {
    ("sampling", "one_shot"): _PER_NODE_ONLY,
    ("sampler", "copula"): ("n_neighbors", "neighbor_weights"),
    ("sampler", "smear"): ("n_neighbors", "neighbor_weights"),
    ("sampler", "auto"): ("n_neighbors", "neighbor_weights"),
    ("sampler", "leaves"): ("smearing", "n_neighbors", "neighbor_weights"),
    ("sampler", "kernel"): ("smearing", "n_neighbors", "neighbor_weights"),
}


class RepresenterTree(HoldsTree, BaseEstimator):
    """One decision tree that answers as any predictor does.

    The tree is grown on training rows and on synthetic rows, all labelled by the predictor. As
    many rows can be drawn as are needed, so the tree does not run out of data. The training rows
    choose how they are drawn: such that small trees agree most with the predictor on rows that
    they were not grown on. The tree is grown on one big sample; it can draw fresh rows in every
    node, too. The method of Breiman and Shang [1]_ is a choice of parameters; see Notes.

    It is a classifier if `estimator` is one, and a regressor if `estimator` is one.

    The agreement with the predictor is measured, not guaranteed: see `fidelity_`.

    Read more in the :ref:`User Guide <representer>`.

    Parameters
    ----------
    estimator : estimator, FrozenEstimator, callable or None, default=None
        The predictor to represent. An estimator is cloned and fitted; one inside a
        ``FrozenEstimator``, or a ``Booster`` of LightGBM or XGBoost, is used as it is; a callable
        is given rows and returns labels, probabilities or values (say which with `target`). None:
        a random forest classifier.
    target : {"auto", "label", "proba", "value"}, default="auto"
        What the tree represents: a classifier's labels or its probabilities, or a regressor's
        values. "auto" is "label" for a classifier, "value" for a regressor, and an error for a
        callable.
    sampler : {"auto", "leaves", "copula", "smear", "kernel", "neighbors"}, default="auto"
        How rows are drawn. "leaves" gives each column the value of a training row that shares a
        leaf of a random tree with a training row; trees are grown such that rows in a leaf are
        alike. "copula" moves a training row: the ranks of its values, as normal scores, are shrunk
        and given normal noise that is correlated as the columns are. "smear" keeps each value of a
        training row, or with probability `smearing` takes the value of another training row in that
        column. "kernel" draws every numeric column from a Gaussian kernel estimate of its density,
        independently of the others. "neighbors" draws from the `n_neighbors` nearest values of the
        column in the training rows. Categorical columns, levels of text and categories without an
        order, and groups are always smeared, with probability 1 under "kernel", but for "leaves",
        which draws them like others. A missing value is a value of its own, with no number near it.
        "auto" tries
        "leaves", "copula", and "copula" with more noise (``smearing=0.5``) on folds of the rows. It
        takes the one whose small trees agree most with the predictor on rows that they were not
        grown on; in doubt "leaves", or "copula" where some answer is rare; see `sampler_` and
        `folds_`. A forest that was fitted on these rows knows them by heart, so its out-of-bag
        answers are used to judge. Nothing is tried for tables of more than 200 columns, which take
        "copula", or with ``keep_rows=1``.
    smearing : float in [0, 1] or "auto", default="auto"
        How far synthetic rows lie from training rows. For "copula", the share of the noise in
        the variance of the scores; 1 is the Gaussian copula of the columns alone. For "smear", 0
        leaves the training rows as they are, and 1 makes columns independent of each other. It has
        no meaning for "leaves" and "kernel". For "neighbors" it applies to categories and groups
        only. "auto": 0.25, or what ``sampler="auto"`` chooses. A number is kept in every law that
        it tries.
    keep_rows : float in [0, 1] or "auto", default="auto"
        Share of training rows among the rows that the tree is grown on; the others are
        drawn. With 1 the tree is grown on the training rows alone. "auto": 0.3 in the laws that
        ``sampler="auto"`` tries, else 0.5.
    n_neighbors : int, default=20
        For ``sampler="neighbors"`` only; the base row's own value is one of them.
    neighbor_weights : {"uniform", "decaying"}, default="uniform"
        For ``sampler="neighbors"`` only: whether farther values are less likely.
    sampling : {"auto", "per_node", "one_shot"}, default="auto"
        "one_shot" draws one big sample, grows a tree of three times the leaves asked for, and
        prunes it to the least costly tree of at most so many leaves. Two leaves below one split
        never answer alike there: a leaf is spent where it changes answers, and the tree is grown on
        if too few such leaves are found. Trees of at most 64 leaves are then optimised: in turn,
        every split gets the column and the threshold that cost the sample least, with all others
        fixed. They start from a tree that was grown by the Gini impurity and from one by entropy;
        the cheapest is taken. Without `max_leaf_nodes` the tree is grown to the end, and half as
        many fresh rows prune it: a leaf must lower the cost on them by a tenth of a training row,
        and by one fresh row. "per_node" draws fresh rows in every node. "auto" takes one sample,
        but "per_node" if `reuse`, `min_train_samples`, `forbidden_splits`, `split_confidence`,
        `min_cost` or `categorical_features` is given. These work with "per_node" only, and are an
        error with "one_shot".
    n_samples : int or None, default=None
        Rows in each node, or synthetic rows in all for "one_shot". None: as many as training
        rows, but at most 2000; for "one_shot" 40 times as many, but at most 40,000, and of more
        than 200 columns fewer.
    batch_size : int, default=65536
        Rows in one question to the predictor, at most.
    reuse : bool, default=False
        Hand a node's rows down to its children and draw only what is missing. This halves the
        questions to the predictor; costs are then a little too optimistic.
    select : {"fidelity", "train", "smeared"} or None, default="fidelity"
        How the pruned tree is chosen. "fidelity": the size asked for, where `max_leaf_nodes` is
        given; otherwise the best agreement with the predictor on the held-out rows, on
        synthetic rows where that ties (or where no rows are set aside). Where some answer of
        the predictor is rare, all answers count alike in this choice, on both kinds of rows
        together. "train": the least error on the training rows (of `y`, or of the predictor's
        answers if there is no `y`), or "smeared" on a synthetic sample, where the predictor is
        right. The smallest tree wins ties. None: no pruning.
    max_depth : int or None, default=None
        Largest depth of the tree; None: no limit.
    max_leaf_nodes : int or None, default=None
        Number of leaves; None: no limit. With a number the tree is grown best first, by the
        decrease of impurity. It has that many leaves if there is enough to split. :meth:`at` gives
        smaller trees.
    min_train_samples : int or None, default=None
        Training rows that a split must leave on either side. None: 1 for classification, 2 for
        regression.
    forbidden_splits : {"next_best", "stop"}, default="next_best"
        What to do in a node whose best split leaves too few training rows on one side: take the
        best split that leaves enough, or make the node a leaf.
    split_confidence : float in (0.5, 1) or None, default=None
        With a number, a node is given more rows, up to ten times `n_samples`, until its best split
        lowers the impurity more than the best split on any other ordered column, by a one-sided
        z-test at this confidence on the node's rows. The tree gets more stable and asks the
        predictor more often.
    min_cost : float or None, default=None
        A node is a leaf if its cost, the probability of a row falling there and being wrong, is
        at most ``min_cost / n_rows``. For values and probabilities the cost is a squared error,
        and `min_cost` counts in units of the root's variance. None: 0 if `max_leaf_nodes` is
        given, else 0.25.
    categorical_features : array-like of int, str or bool, or None, default=None
        Columns with integer codes for levels without order. A split divides the levels into two
        sets. `decision_tree_` holds them as thresholds on the codes: a set that is not one run of
        codes takes several thresholds, and repeats the branch below.
    feature_groups : list of array-like of int or str, or None, default=None
        Columns that are drawn together, for instance those of one one-hot encoding.
    validation_fraction : float in [0, 1), default=0.1
        Part of the rows that is set aside to measure `fidelity_` and to choose the size. The tree
        does not see them, nor does the estimator if it is fitted here. 0: none.
    n_folds : int, default=0
        With a number, trees of several sizes are grown without each fold of the rows and asked
        about it, all from the one sample that the tree is grown on: see `folds_`. It needs one
        sample and `max_leaf_nodes`. 0: none, but for the five on which ``sampler="auto"`` chooses.
    n_stability : int, default=0
        Further trees that are grown on other synthetic rows to compare their first splits: see
        `stability_`. Each takes as long as the tree itself.
    time_limit : float or None, default=None
        Seconds for growing; None: no limit. The result is the tree that is grown by then (for
        "one_shot" the tree of the rows labelled by then), with a ``ConvergenceWarning``. It is
        looked at between two batches of questions.
    n_jobs : int or None, default=None
        Threads that draw rows and look for splits, a node each; None: 1 unless in a
        ``joblib.parallel_config`` context, -1: all processors. It helps for "per_node" if the
        predictor answers fast. The predictor is asked by one thread; give a slow one its own
        `n_jobs`. The tree does not depend on it.
    random_state : int, RandomState instance or None, default=None
        An int fixes the synthetic rows and every ``random_state=None`` of `estimator`.
    verbose : int, default=0
        If positive, progress is printed.

    Attributes
    ----------
    estimator_ : object
        The fitted predictor.
    decision_tree_ : DecisionTreeClassifier or DecisionTreeRegressor
        The tree, as scikit-learn's own.
    classes_ : ndarray of shape (n_classes,)
        Class labels, for a classifier.
    n_leaves_ : int
        Leaves of the tree, a split into two sets of levels counted as one split;
        :meth:`get_n_leaves` counts the leaves of `decision_tree_`.
    path_ : Bunch
        The sequence of pruned trees from the largest: ``n_leaves``, ``costs``, ``errors`` (on
        synthetic rows for ``select="smeared"``, else on the training rows),
        ``held_out_errors``, ``fidelity`` (agreement with the predictor on the held-out rows),
        ``fidelity_low`` and ``fidelity_high`` (its binomial interval of 95 %, by Clopper and
        Pearson, for each tree alone; nan for values), ``alphas`` (the price of a leaf from which
        on the tree is the best; -inf for a grown tree that pruning improves at no price), and
        ``selected``, the index of the chosen one. What needs held-out rows is nan without any.
    fidelity_ : float
        How well the tree agrees with the predictor on the held-out rows; nan if there are none.
        If they also chose the size, it is a little too high. See :meth:`fidelity`.
    smeared_fidelity_ : float
        The same on synthetic rows that the tree was not grown on.
    train_fidelity_ : float
        The same on the training rows.
    class_fidelity_ : ndarray of shape (n_classes,)
        For a classifier, for each class: of the held-out rows to which the predictor gives the
        class, the share to which the tree gives it, too; nan if there are no such rows.
    train_class_fidelity_ : ndarray of shape (n_classes,)
        The same on the training rows.
    stability_ : Bunch or None
        With `n_stability`: ``root``, the share of the other trees with the same first split
        (same column, and 95 % of the training rows sent the same way), ``second``, the same for
        the two splits below where the first is the same, ``root_column`` and ``second_column``,
        where the column alone is compared, and ``n_trees``.
    sampling_ : {"per_node", "one_shot"}
        How rows were drawn.
    sampler_ : {"leaves", "copula", "heavy_copula", "smear", "kernel", "neighbors"}
        How rows were drawn; ``"heavy_copula"`` is "copula" with more noise, chosen by "auto".
    smearing_ : float
        The `smearing` of it.
    keep_rows_ : float
        The share of training rows.
    folds_ : Bunch or None
        With `n_folds`, `fold_of`, or where a law was chosen: ``fold_of``, the fold of each row, -1
        for none; ``n_leaves``, sizes of trees (4, 8, 16, ... and the largest, not below the number
        of classes that the predictor gives); ``answers`` of shape (n_sizes, n_rows), the answer to
        each row of the tree of that size that was grown without the row's fold and without the
        synthetic rows made from it, or of the tree itself for a row of no fold; ``agreement`` of
        shape (n_sizes,), of these answers with the predictor's, on the training rows in folds, as
        `fidelity_` is measured (with those given as `answers`, or out-of-bag answers where the
        predictor is a forest that was fitted on the training rows); ``law``, which is `sampler_`;
        ``laws``, where one was chosen, the agreement of smaller trials of each law, by name, else
        None. Without `n_folds` and `fold_of`, all of it is of the trial of the law chosen: of
        trees of at most 32 leaves (16 without `max_leaf_nodes`), grown on fewer rows.
    n_queries_ : int
        Rows that the predictor was asked about for growing, pruning and measuring the tree, and to
        learn whether it takes missing values.
    {features_in}

    See Also
    --------
    PruningPathDisplay : Draws `path_`.

    Notes
    -----
    The method of 1996 is ``sampler="smear", smearing=0.5, keep_rows=0, sampling="per_node",
    forbidden_splits="stop", min_cost=0, select="train"``, with ``n_samples=len(X)`` for more than
    2000 rows.

    Tables of text, categories, booleans and missing values are taken if the predictor takes them.
    Levels become codes in the order of the predictor's mean answers to the training rows; numbers,
    dates and ordered categories keep their own order. Splits of one sample learn whether missing
    values go left or right; with rows drawn per node they go with the lowest values. Where a column
    lacked nothing in `fit`, missing values go to the side of more training rows. Levels that `fit`
    did not see are treated as missing.

    A warning is given if the tree never predicts a class that the predictor gives to training rows.
    With one sample, more rows are drawn from training rows with rare answers, and they weigh
    less.

    The training rows (at most 20,000 of them for "leaves" and "copula") are kept, for
    :meth:`sample`.

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
    >>> from ensemble_simplify import RepresenterTree
    >>> X, y = load_iris(return_X_y=True)
    >>> representer = RepresenterTree(max_leaf_nodes=4, random_state=0).fit(X, y)
    >>> representer.n_leaves_
    4
    >>> representer.train_fidelity_ > 0.95
    True
    >>> representer.at(3).n_leaves_
    3
    """

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [Fittable(), callable, None],
        "target": [StrOptions({"auto", "label", "proba", "value"})],
        "sampler": [StrOptions({"auto", "leaves", "copula", "smear", "kernel", "neighbors"})],
        "smearing": [Interval(Real, 0, 1, closed="both"), StrOptions({"auto"})],
        "keep_rows": [Interval(Real, 0, 1, closed="both"), StrOptions({"auto"})],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "neighbor_weights": [StrOptions({"uniform", "decaying"})],
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
        target: str = "auto",
        sampler: str = "auto",
        smearing: float | str = "auto",
        keep_rows: float | str = "auto",
        n_neighbors: int = 20,
        neighbor_weights: str = "uniform",
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
        self.target = target
        self.sampler = sampler
        self.smearing = smearing
        self.keep_rows = keep_rows
        self.n_neighbors = n_neighbors
        self.neighbor_weights = neighbor_weights
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

    def _is_function(self):
        return callable(self.estimator) and not hasattr(self.estimator, "predict")

    def _type(self):
        """Return "classifier", "regressor", or None for a predictor that does not say."""
        if self.estimator is None:
            return "classifier"
        if self._is_function():
            types = {"label": "classifier", "proba": "classifier", "value": "regressor"}
            return types.get(self.target)
        return tags_of(self.estimator).estimator_type

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type = self._type()
        if tags.estimator_type == "classifier":
            tags.classifier_tags = ClassifierTags()
        if tags.estimator_type == "regressor":
            tags.regressor_tags = RegressorTags()
        tags.target_tags.required = not self._is_fitted_before()
        known = vars(self).get("_takes_missing")
        if known is None:
            known = not self._is_function() and takes_missing(self.estimator)
        tags.input_tags.allow_nan = known
        return tags

    @property
    def _shares_of(self):
        """The rows that the shares in leaves are of, where they are not the training rows."""
        drawn = self._predictor.target == "label" and self._law_arguments["keep_rows"] < 1.0
        return "synthetic rows" if drawn else ""

    def _is_fitted_before(self):
        return self._is_function() or comes_fitted(self.estimator)

    def _resolve_target(self):
        kind = self._type()
        name = _name_of(self.estimator)
        if kind is None and self._is_function():
            raise ValueError(
                f"target='auto' does not tell what the function estimator={name} returns. Set "
                "target='label', 'proba' or 'value'."
            )
        if kind not in ("classifier", "regressor"):
            raise ValueError(
                f"estimator={name} is neither a classifier nor a regressor. Wrap its predictions "
                "in a function and set target='label', 'proba' or 'value'."
            )
        if self.target == "auto":
            return "label" if kind == "classifier" else "value"
        if (self.target == "value") != (kind == "regressor"):
            allowed = "'label' or 'proba'" if kind == "classifier" else "'value'"
            raise ValueError(
                f"target={self.target!r} does not go with the {kind} estimator={name}. "
                f"Use {allowed}."
            )
        if (
            self.target == "proba"
            and self.estimator is not None
            and not self._is_function()
            and not hasattr(self.estimator, "predict_proba")
        ):
            raise ValueError(
                f"target='proba', but estimator={name} has no predict_proba. Use target='label'."
            )
        return self.target

    # ------------------------------------------------------------------ fit

    @fit_context(prefer_skip_nested_validation=False)
    @all_or_nothing
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        fold_of: ArrayLike | None = None,
        answers: ArrayLike | None = None,
    ) -> Self:
        """Fit the predictor, unless it is fitted, and grow the tree that represents it.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Training rows, from which rows are drawn: numbers that are finite in float32, and
            whatever else the predictor takes, such as text, categories, dates and missing values.
            A forest or another ensemble that takes numbers alone is fitted on codes of these.
        y : array-like of shape (n_rows,) or None, default=None
            Targets. Needed unless the predictor is a callable or frozen.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            Weights of the training rows, for the estimator if it is fitted here, and for picking
            rows and values to draw from.
        fold_of : array-like of shape (n_rows,) of int, or None, default=None
            The fold of each row, in place of `n_folds` random ones; negative: in no fold. Rows of
            no fold are grown on in every fold.
        answers : array-like of shape (n_rows,), or None, default=None
            Labels or values by which trees are judged on folds, in place of the predictor's own.
            None: the out-of-bag answers of a forest that was fitted on just these rows, since it
            knows them by heart; otherwise the predictor's own. Trees are grown on the predictor's
            own answers all the same.

        {fitted}
        """
        target = self._resolve_target()
        self._refuse_meaningless_options()
        self.sampling_ = self._resolve_sampling()
        self._refuse_folds(fold_of)
        given = X
        X, y, is_table = self._check_rows(X, y, target)
        weight = check_weights(sample_weight, X)
        names = getattr(self, "feature_names_in_", None)
        columns = Coordinates.resolve(
            self.categorical_features, self.feature_groups, X.shape[1], names
        )
        random = check_random_state(self.random_state)
        seeds = random.randint(np.iinfo(np.int32).max, size=4).tolist()
        # drawn apart, so that the others are what they were before there was a fifth
        law_seed = int(np.random.SeedSequence(seeds).generate_state(1)[0])
        held_out = self._set_aside(y, weight, target, random)
        kept = ~held_out & (weight > 0)
        told = None if answers is None else _of_rows("answers", answers, X)

        rows = X if is_table else named_rows(given, X)
        self.estimator_ = self._fit_estimator(
            rows, y, None if sample_weight is None else weight, ~held_out, random
        )
        deadline = deadline_after(self.time_limit)
        X = self._read_rows(given, X, is_table)
        self._predictor = predictor = self._make_predictor(target)
        answers = predictor.first_answers(X[kept], y)
        X = self._order_levels(X, kept, answers, weight)
        self._may_miss = self._columns_to_lack(X[kept])
        self._takes_missing = self._may_miss is not None
        gaps = Gaps.of(X[kept])
        columns = self._table_columns(columns)
        if predictor.classes is not None:
            self.classes_ = predictor.classes

        if told is None:
            told = self._out_of_bag(rows, ~held_out)
        told = answers if told is None else predictor.told(told[kept])
        self._are_folds_asked = fold_of is not None or self.n_folds > 0
        fold_of = self._resolve_folds(fold_of, kept, told, law_seed)
        training = Bunch(
            X=X[kept], weight=weight[kept], answers=answers, told=told, fold=fold_of[kept]
        )
        trial = self._choose_law(training, columns, gaps, law_seed, deadline)
        self.sampler_ = trial.law
        made = trial.made
        if made is None:
            made = self._make_law(trial.options, training, columns, gaps, law_seed, deadline)
        law, base, self._law_arguments = made
        self.smearing_, self.keep_rows_ = (
            self._law_arguments[name] for name in ("smearing", "keep_rows")
        )
        begin, n_before = time.monotonic(), predictor.n_queries
        growing = deadline
        if self.time_limit is not None:
            growing = begin + _GROWING_SHARE * max(deadline - begin, 0.0)
        trees, sample = self._grow(law, columns, training, base, seeds, growing)
        if self._takes_missing:
            for tree in trees:
                tree.send_gaps(training.X, ~gaps.seen)
        # what a new row took in growing tells how many there is time for
        a_row = (time.monotonic() - begin) / max(predictor.n_queries - n_before, 1)
        self._most_new = partial(_share_of_time, share=_NEW_SHARE, deadline=deadline, each=a_row)

        if self.select == "smeared":
            judging = self._new_rows(law, self._most_new(len(training.X)), seeds[1])
        else:
            truth = answers if y is None else predictor.encode(y[kept])
            judging = training.X, truth, training.weight
        new = None if y is None else y[held_out]
        aside = RowsAside.of(predictor, X[held_out], new, weight[held_out])
        figures = [
            self._node_values(tree, law, training, tree.errors(*judging, target), aside)
            for tree in trees
        ]
        which, is_split = self._sized(trees)
        is_split, self.path_ = self._prune(*trees[which].collapsed(is_split), figures[which], aside)
        if self.max_leaf_nodes is None:
            tree, kept_nodes = trees[0].collapsed(is_split)
            trees, figures, is_split = [tree], [figures[0][kept_nodes]], ~tree.is_leaf
        levels = columns.levels(training.X)
        self._grown = Bunch(
            trees=[WrittenTree.of(tree, levels, self._takes_missing) for tree in trees],
            figures=figures,
            most=trees[0].n_leaves if self.max_leaf_nodes is None else self.max_leaf_nodes,
        )
        self._known = self._gather(law, training, aside, seeds[2])
        on_rows = self._set_size(which, is_split)
        if target != "value":
            warn_of_lost_classes(self._known["training"].decisions, on_rows, self.classes_)
        self.folds_ = self._ask_folds(sample, training, fold_of, X, kept, trial, seeds)
        self.stability_ = None
        if self.n_stability:
            others = [trees]
            for k, other in enumerate(np.random.SeedSequence(seeds).spawn(self.n_stability)):
                now, own = time.monotonic(), other.generate_state(4).tolist()
                end = now + max(deadline - now, 0.0) / (self.n_stability - k)
                others.append(self._grow(law, columns, training, base, own, end)[0])
            sized = [(each, *self._sized(each)) for each in others]
            self.stability_ = stability(
                [each[which].collapsed(is_split)[0] for each, which, is_split in sized], training.X
            )
        self.n_queries_ = predictor.n_queries
        del self._most_new
        return self

    def _refuse_meaningless_options(self):
        """Raise an error for an option that is set but cannot be honoured."""
        for (parameter, value), others in _MEANINGLESS.items():
            if getattr(self, parameter) != value:
                continue
            for other, is_set in zip(others, self._is_set(*others), strict=True):
                if is_set:
                    default = type(self)().get_params(deep=False)[other]
                    raise ValueError(
                        f"{other}={getattr(self, other)!r} has no meaning with "
                        f"{parameter}={value!r}. Leave it at its default, {default!r}, or change "
                        f"{parameter}."
                    )
        if self.sampler in ("auto", "copula") and self.smearing == 0.0:
            raise ValueError(
                f"smearing=0.0 leaves sampler={self.sampler!r} a copula with nothing to draw. Use "
                "keep_rows=1.0 for training rows only, or sampler='smear'."
            )

    def _resolve_sampling(self):
        """How rows are drawn, where that is not said: in one sample, if all options allow it."""
        if self.sampling != "auto":
            return self.sampling
        return "per_node" if any(self._is_set(*_PER_NODE_ONLY)) else "one_shot"

    def _is_set(self, *names):
        """Whether each of some parameters has another value than its default."""
        defaults = type(self)().get_params(deep=False)
        for name in names:
            given, default = getattr(self, name), defaults[name]
            yield given is not default and not (np.isscalar(given) and given == default)

    def _check_rows(self, X, y, target):
        if y is None and not self._is_fitted_before():
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. Only a "
                "fitted predictor, FrozenEstimator(...) or a function, can do without."
            )
        numbers: dict[str, Any] = {"dtype": np.float64, "ensure_all_finite": "allow-nan"}
        if not (hasattr(X, "dtype") or hasattr(X, "columns")):
            X = _as_table(X)
        is_table = not is_plain(X)
        if is_table:
            if y is not None:
                y = validate_data(self, y=y, y_numeric=target == "value")
                check_consistent_length(X, y)
            validate_data(self, X, skip_check_array=True)
            if len(X.shape) != 2:
                raise ValueError(f"X has {len(X.shape)} dimensions instead of 2. Give rows.")
        elif y is None:
            X = validate_data(self, X, **numbers)
        else:
            X, y = validate_data(self, X, y, **numbers, y_numeric=target == "value")
        if y is not None and target == "value":
            y = y.astype(np.float64)
        elif y is not None:
            y = column_or_1d(y, warn=True)
            check_classification_targets(y)
        return X, y, is_table

    def _read_rows(self, given, X, is_table):
        """Numbers for the training rows, and the table that makes them."""
        if is_table:
            known = None if self._is_function() else _known_table(self.estimator_, X.shape[1])
            self._table = Table.of_rows(X, known, unknown="missing")
            X = self._table.read(X)
        else:
            names = getattr(self, "feature_names_in_", None)
            self._table = Table.of_numbers(X.shape[1], names).like(given)
            self._table = replace(self._table, gaps=Gaps.of(X))
        self._table = self._table.as_whole(given)
        with np.errstate(over="ignore"):
            if np.isinf(X.astype(np.float32)).any():
                raise ValueError(
                    "X contains a value too large for dtype('float32'), in which a decision tree "
                    "compares. Scale that column."
                )
        return np.ascontiguousarray(X)

    def _order_levels(self, X, kept, answers, weight):
        """Rows of codes in the order of the answers, which the table takes, too."""
        if not self._table.coded.any():
            return X
        orders = level_orders(self._table, X[kept], answers, weight[kept])
        X = self._table.recoded(X, orders)
        self._table = self._table.reordered(orders)
        self._predictor.asked.table = self._table
        return X

    def _table_columns(self, columns):
        """What is known of the columns, with what the table says of levels."""
        table = self._table
        unordered = [
            own is not None and table.natural_order(j) is None for j, own in enumerate(table.levels)
        ]
        kinds = table.whole or (None,) * len(table)
        boolean = [str(kind).lower().startswith("bool") for kind in kinds]
        return replace(
            columns,
            discrete=table.coded | np.array(boolean, dtype=bool),
            unordered=np.array(unordered, dtype=bool),
        )

    def _columns_to_lack(self, X):
        """Columns in which the tree takes gaps, as a bool array; None if there are none.

        These are the columns in which the predictor takes them. A level that nobody knows counts as
        a gap, so columns with levels have some in any case.
        """
        predictor = self._predictor
        may_lack = predictor.asked.takes_gaps(X, predictor.answers) | self._table.coded
        return may_lack if may_lack.any() else None

    def _set_aside(self, y, weight, target, random):
        """Choose the rows that neither the estimator nor the tree sees; every class stays seen."""
        held_out = np.zeros(weight.size, dtype=bool)
        candidates = random.permutation(np.flatnonzero(weight > 0))
        n_held_out = int(self.validation_fraction * candidates.size)
        if y is not None and target != "value":
            first = np.unique(y[candidates], return_index=True)[1]
            candidates = np.delete(candidates, first)
        held_out[candidates[:n_held_out]] = True
        return held_out

    def _fit_estimator(self, X, y, sample_weight, seen, random):
        if self._is_function():
            return self.estimator
        seen = np.flatnonzero(seen)
        return fit_or_unwrap(
            self.estimator,
            safe_indexing(X, seen),
            None if y is None else y[seen],
            None if sample_weight is None else sample_weight[seen],
            default=RandomForestClassifier(),
            random=None if self.random_state is None else random,
        )

    def _out_of_bag(self, rows, seen):
        """The out-of-bag answers of a forest that was fitted on just these rows; None of others."""
        if self._is_function():
            return None
        frozen = comes_fitted(self.estimator)
        seen = np.ones(seen.size, dtype=bool) if frozen else seen
        known = out_of_bag(self.estimator_, safe_indexing(rows, np.flatnonzero(seen)))
        if known is None:
            return None
        answers = np.zeros(seen.size, dtype=known[0].dtype)
        answers[seen] = known[0]
        return answers

    def _make_predictor(self, target):
        model = self.estimator_
        # a model that was fitted elsewhere, on rows of numbers without names, is asked so
        without_names = (
            comes_fitted(self.estimator)
            and not hasattr(model, "feature_names_in_")
            and self._table.is_plain
        )
        table = replace(self._table, names=None) if without_names else self._table
        return Predictor(
            Model(model, table), target, name=_name_of(model), batch_size=self.batch_size
        )

    def _make_law(self, options, training, columns, gaps, seed, deadline):
        """The law of some options, the rows that it is made of, and what makes it anew."""
        most = np.inf
        if options["sampler"] in ("copula", "leaves"):
            a_row = _LAW_SECONDS * training.X.shape[1]
            most = _share_of_time(_MOST_BASE_ROWS, _LAW_SHARE, deadline, a_row)
        base = _taken(training, some_rows(len(training.X), most, [seed, 5]))
        arguments = {
            **options,
            "X": gaps.fill(base.X) if gaps.seen.any() else base.X,
            "gaps": gaps if gaps.seen.any() else None,
            "weight": base.weight,
            "columns": columns,
            "n_neighbors": self.n_neighbors,
            "decaying": self.neighbor_weights == "decaying",
            "seed": seed,
        }
        return make_law(**arguments), base, arguments

    def _grow(self, law, columns, training, base, seeds, deadline):
        """Trees, a large one first, and the one sample that they are grown on, if it is one."""
        n_rows, sample = law.X.shape[0], None
        if self.sampling_ == "one_shot":
            n_samples = self.n_samples
            if n_samples is None:
                most = max(_MOST_ENTRIES // law.X.shape[1], _LEAST_SAMPLE)
                n_samples = min(_ONE_SHOT * n_rows, _MOST_ONE_SHOT, most)
            is_free = self.max_leaf_nodes is None and law.keep_rows < 1.0
            is_free &= self.select is not None
            sample_deadline = deadline
            if is_free and deadline < np.inf:
                now = time.monotonic()
                sample_deadline = now + max(deadline - now, 0.0) / (1.0 + _FRESH_SHARE)
            sample = Sample(
                law,
                self._predictor,
                _taken(
                    training,
                    some_rows(len(training.X), _MOST_ONE_SHOT, [self._law_arguments["seed"], 6]),
                ),
                base,
                n_samples,
                seeds[0],
                sample_deadline,
            )
            report(self, f"{self._predictor.n_queries} rows labelled")
            trees = grow_trees(
                sample.rows(),
                self._predictor.target,
                max_depth=self.max_depth,
                max_leaf_nodes=self.max_leaf_nodes,
                seed=seeds[3],
                sizes=[] if self.max_leaf_nodes is None else self._fold_sizes(training),
            )
            if is_free:
                trees[0] = self._worth_its_leaves(
                    trees[0], law, training, base, n_samples, seeds[0], deadline
                )
        else:
            tree = Grower(
                law=law,
                predictor=self._predictor,
                deadline=deadline,
                report=partial(report, self),
                answers=base.answers,
                categorical=columns.categorical,
                n_samples=(
                    min(n_rows, _MOST_PER_NODE) if self.n_samples is None else self.n_samples
                ),
                reuse=self.reuse,
                max_depth=np.inf if self.max_depth is None else self.max_depth,
                max_leaf_nodes=np.inf if self.max_leaf_nodes is None else self.max_leaf_nodes,
                min_train_samples=self._least_rows(),
                allowed_splits_only=self.forbidden_splits == "next_best",
                split_confidence=self.split_confidence,
                min_cost=self._least_cost() / n_rows,
                seed=seeds[0],
                n_jobs=self.n_jobs,
            ).grow()
            trees = [tree]
        if not trees[0].is_complete:
            warn_out_of_time(
                f"time_limit={self.time_limit} stopped the growing of the tree at "
                f"{trees[0].n_leaves} leaves. Raise it, or ask for less: a smaller max_leaf_nodes "
                "or n_samples."
            )
        return trees, sample

    def _worth_its_leaves(self, tree, law, training, base, n_samples, seed, deadline):
        """A tree that grew without limit, pruned by rows that it was not grown on."""
        n_samples = max(int(n_samples * _FRESH_SHARE), 1)
        own = int(np.random.SeedSequence([seed, 1]).generate_state(1)[0])
        rows = Sample(law, self._predictor, base, base, n_samples, own, deadline).made
        price = max(_LEAST_GAIN / law.X.shape[0], _LEAST_FRESH / len(rows.X))
        return worth_its_leaves(tree, rows, price, self._class_weight(training))

    def _sized(self, trees):
        """Which of the trees has the size that is asked for, and with which of its splits."""
        if self.max_leaf_nodes is None:
            return 0, ~trees[0].is_leaf
        return ExactPrunings(trees, self.max_leaf_nodes).best(self.max_leaf_nodes)

    # ------------------------------------------------------------------ folds

    def _refuse_folds(self, fold_of):
        """Raise an error where folds are asked for and there can be none."""
        asked = {f"n_folds={self.n_folds}": self.n_folds, "fold_of": fold_of is not None}
        for name in (name for name, is_set in asked.items() if is_set):
            if self.sampling_ != "one_shot":
                raise ValueError(
                    f"{name} needs one sample for the whole tree, but rows are drawn per node "
                    "here. Set sampling='one_shot'."
                )
            if self.max_leaf_nodes is None:
                raise ValueError(
                    f"{name} needs a largest size of trees. Set max_leaf_nodes, for instance to 32."
                )
        if self.n_folds == 1:
            raise ValueError(
                "n_folds=1 leaves no rows to grow a tree on. Use at least 2, or 0 for no folds."
            )

    def _resolve_folds(self, fold_of, kept, answers, seed):
        """The fold of every row given; -1 for none."""
        if fold_of is not None:
            fold_of = np.maximum(_check_folds(_of_rows("fold_of", fold_of, kept)), -1)
            of_kept = fold_of[kept]
            if (of_kept == of_kept[0]).all() and of_kept[0] >= 0:
                raise ValueError(
                    "fold_of puts all rows into one fold, which leaves none to grow a tree on. "
                    "Use at least two folds, or -1 for rows to grow on only."
                )
            return fold_of
        fold_of = np.full(kept.size, -1)
        n_folds = self.n_folds
        if self.sampler == "auto" and not n_folds and len(answers) > 1:
            n_folds = min(N_FOLDS, len(answers))
        if n_folds:
            if n_folds > len(answers):
                raise ValueError(
                    f"n_folds={n_folds}, but there are {len(answers)} rows to grow on. Use fewer "
                    "folds."
                )
            fold_of[kept] = draw_folds(answers, n_folds, np.random.default_rng([seed, 8]))
        return fold_of

    def _choose_law(self, training, columns, gaps, seed, deadline):
        """The law, its options, and what its trial told; the first one where there is none."""
        laws = {self.sampler: {"sampler": self.sampler}}
        if self.sampler == "auto":
            laws = laws_to_try(self.smearing)
            if training.X.shape[1] > _WIDE:
                laws = {"copula": laws["copula"]}
            elif self._class_weight(training) is not None:
                # rows with rare answers can be too few to fill leaves of their own
                laws = {"copula": laws["copula"], **laws}

        given = {"smearing": self.smearing, "keep_rows": self.keep_rows}
        given = {name: value for name, value in given.items() if value != "auto"}
        usual = {"smearing": SMEARING, "keep_rows": KEEP_ROWS}
        options = {name: usual | law | given for name, law in laws.items()}
        if len(laws) == 1 or self.keep_rows == 1.0 or (training.fold < 0).all():
            name = next(iter(laws))
            return Bunch(law=name, options=options[name], made=None)
        places = some_rows(len(training.X), _MOST_CHOOSING, [seed, 9])
        rows = _taken(training, places)
        made = {
            name: self._make_law(own, rows, columns, gaps, seed, deadline)
            for name, own in options.items()
        }
        trial = choose_law(
            {name: (law, base) for name, (law, base, _) in made.items()},
            rows,
            self._predictor,
            trial_sizes(self.max_leaf_nodes, self._n_classes(training)),
            seed=seed,
            deadline=deadline,
            max_depth=self.max_depth,
        )
        return Bunch(
            **trial,
            options=options[trial.law],
            places=places,
            made=made[trial.law] if len(places) == len(training.X) else None,
        )

    def _n_classes(self, training):
        if self._predictor.target == "value":
            return 0
        return np.unique(training.answers.argmax(axis=1)).size

    def _fold_sizes(self, training):
        return sizes(self.max_leaf_nodes, self._n_classes(training))

    def _ask_folds(self, sample, training, fold_of, X, kept, trial, seeds):
        """The answers of trees of some sizes to rows that they were not grown on.

        They are grown on the sample where folds are asked for; else those of the trial tell.
        """
        predictor, own = self._predictor, trial.get("answers")
        if (fold_of < 0).all() or (own is None and not self._are_folds_asked):
            return None
        if self._are_folds_asked:
            n_leaves = self._fold_sizes(training)
            how = {"max_depth": self.max_depth, "seed": seeds[3], "sizes": n_leaves}
            found = unseen_answers(sample, X, fold_of, n_leaves, predictor.target, **how)
            agreement = unseen_agreement(found[:, kept], training, predictor)
        else:
            n_leaves, agreement = trial.n_leaves, trial.agreement
            tried = np.flatnonzero(kept)[trial.places]
            fold_of = np.where(np.isin(np.arange(len(X)), tried), fold_of, -1)
            found = np.zeros((len(n_leaves), len(X), own.shape[2]))
            found[:, tried] = own
        outside = np.flatnonzero(fold_of < 0)
        trees = self._grown.trees
        prunings = ExactPrunings([each.tree for each in trees], int(max(n_leaves)))
        for k, n in enumerate(n_leaves):
            which, is_split = prunings.best(n)
            tree = trees[which]
            found[k, outside] = tree.answers(is_split, tree.leaves(X[outside]))
        return Bunch(
            fold_of=fold_of,
            n_leaves=n_leaves,
            answers=np.array([predictor.decode(answers) for answers in found]),
            agreement=agreement,
            law=self.sampler_,
            laws=trial.get("laws"),
        )

    def _least_cost(self):
        """Cost in rows up to which a node is a leaf."""
        if self.min_cost is None:
            return _LEAST_COST if self.max_leaf_nodes is None else 0.0
        return self.min_cost

    def _least_rows(self):
        """Training rows that each child must hold."""
        if self.min_train_samples is None:
            return 2 if self._predictor.target == "value" else 1
        if self.min_train_samples == 0 and not (
            self.max_depth or self.max_leaf_nodes or self._least_cost()
        ):
            raise ValueError(
                "min_train_samples=0 lets the tree grow without end. Set max_depth, "
                "max_leaf_nodes or min_cost too."
            )
        return self.min_train_samples

    def _new_rows(self, law, n, seed, class_weight=None):
        """Synthetic rows, the answers to them, and their weights."""
        X = law.with_gaps(law.manufacture(law.everywhere(), n, seed))
        truth = self._predictor.answers(X)
        weight = np.ones(len(X)) if class_weight is None else class_weight[truth.argmax(axis=1)]
        return X, truth, weight

    def _node_values(self, tree, law, training, errors, aside):
        """For every node as a leaf, what the figures of the pruning path are sums of.

        Columns: errors; errors, infidelity and infidelity by class on the rows set aside, and
        errors on new rows. By fidelity, trees are compared on the rows set aside; then, as few
        rows leave many ties, on synthetic rows. Where some answer of the predictor is rare, all
        answers count alike, and the errors on both kinds of rows are added.
        """
        class_weight = self._class_weight(training)
        values = np.full((errors.size, 5), np.nan)
        values[:, 0] = errors
        if aside.n_rows:
            values[:, 1] = tree.errors(aside.X, aside.truth, aside.weight, aside.target)
            values[:, 2] = aside.infidelity(tree)
            if class_weight is not None:
                values[:, 3] = aside.infidelity(tree, class_weight)
        if self.select == "fidelity" and self.max_leaf_nodes is None:
            seed = self._law_arguments["seed"]
            n = self._most_new(min(len(training.X), _MOST_MEASURED))
            new = self._new_rows(law, n, seed, class_weight)
            values[:, 4] = tree.errors(*new, self._predictor.target)
        return values

    def _path(self, tree, values, effective_size):
        """The tree of the pruning path in which each node is no longer split, and the path."""
        pruned_at, path, sums = tree.pruning_path(values)
        path.errors, path.held_out_errors, infidelity, by_class, on_new_rows = sums.T.copy()
        path.fidelity = 1.0 - infidelity
        path.fidelity_low, path.fidelity_high = np.full((2, path.fidelity.size), np.nan)
        if effective_size and self._predictor.target != "value":
            n = effective_size
            path.fidelity_low, path.fidelity_high = binomial_interval(
                np.clip(path.fidelity, 0.0, 1.0) * n, n
            )
        path.selected = 0
        return pruned_at, path, (infidelity, by_class, on_new_rows)

    def _prune(self, tree, nodes, values, aside):
        """The nodes of the grown tree that the selected one splits, and the path of `tree`.

        `nodes` are those of `tree` in the grown one, which `values` are of.
        """
        size = aside.effective_size if aside.n_rows else 0.0
        pruned_at, path, (infidelity, by_class, on_new_rows) = self._path(tree, values[nodes], size)
        best = np.arange(on_new_rows.size)
        if self.select == "fidelity" and self.max_leaf_nodes is None:
            if aside.n_rows and np.isnan(by_class).any():
                best = _least(infidelity, best)
            elif aside.n_rows:  # too few rows of the rare classes to go by them alone
                on_new_rows = on_new_rows + by_class
            path.selected = int(_least(on_new_rows, best)[-1])
        elif self.select in ("train", "smeared"):
            path.selected = int(_least(path.errors, best)[-1])
        is_split = np.zeros(len(values), dtype=bool)
        is_split[nodes] = pruned_at > path.selected
        return is_split, path

    def _class_weight(self, training):
        """What a row of each class counts in the choice of a size: 1, unless a class is rare."""
        if self._predictor.target == "value":
            return None
        share = training.weight @ one_hot(training.answers) / training.weight.sum()
        present = share > 0.0
        if share[present].min() >= LEAST_SHARE / np.count_nonzero(present):
            return None
        # the predictor may give a class to new rows only
        return np.where(present, 1.0 / np.where(present, share, 1.0), 1.0 / share[present].max())

    def _gather(self, law, training, aside, seed):
        """What is known of rows that the tree, of whatever size, is measured on."""
        predictor, trees = self._predictor, self._grown.trees
        n_new = self._most_new(min(max(len(training.X), 1000), _MOST_MEASURED))
        smeared = law.with_gaps(law.manufacture(law.everywhere(), n_new, seed))
        decisions = predictor.decode(training.answers)
        if predictor.target == "proba":
            decisions = predictor.decisions(training.X)
        return {
            "training": Bunch(
                leaves=[tree.leaves(training.X) for tree in trees],
                decisions=decisions,
                weight=training.weight,
                answers=training.answers,
            ),
            "smeared": Bunch(
                leaves=[tree.leaves(smeared) for tree in trees],
                decisions=predictor.decisions(smeared),
                weight=None,
            ),
            "aside": Bunch(
                leaves=[tree.leaves(aside.X) for tree in trees],
                decisions=aside.decisions,
                weight=aside.weight,
            ),
        }

    def _set_size(self, which, is_split):
        """Make it the tree with some of the splits of one that was grown, and measure it.

        Returns its answers to the training rows.
        """
        training, aside = self._known["training"], self._known["aside"]
        predictor, tree = self._predictor, self._grown.trees[which]
        self.n_leaves_ = int(np.count_nonzero(is_split)) + 1
        self.decision_tree_ = tree.write(
            is_split,
            training.leaves[which],
            training.answers,
            n_features=self.n_features_in_,
            classes=predictor.classes,
            names=getattr(self, "feature_names_in_", None),
            weight=training.weight,
        )
        answers = {
            name: predictor.decode(tree.answers(is_split, rows.leaves[which]))
            for name, rows in self._known.items()
        }
        found = {
            name: agreement(rows.decisions, answers[name], predictor.target, rows.weight)
            if rows.leaves[which].size
            else np.nan
            for name, rows in self._known.items()
        }
        self.fidelity_, self.smeared_fidelity_ = found["aside"], found["smeared"]
        self.train_fidelity_ = found["training"]
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

    def _tree_answers(self, X):
        return self.decision_tree_.predict(X.astype(np.float32), check_input=False)

    def _agreement(self, X, sample_weight=None, decisions=None, given=None):
        if decisions is None:
            decisions = self._predictor.decisions(X, given)
        return agreement(decisions, self._tree_answers(X), self._predictor.target, sample_weight)

    # ------------------------------------------------------------------ use

    def at(self, n_leaves: int) -> Self:
        """A copy whose tree has another size.

        It is the cheapest pruning of the trees that were grown, of the large one and of those that
        were optimised at 4, 8, 16, ... leaves. The predictor is not asked again.

        Parameters
        ----------
        n_leaves : int
            Leaves of its tree, at least 2; at most `max_leaf_nodes`, or, where no size was given,
            the leaves of the fitted tree. There are fewer where more would change no answer.

        Returns
        -------
        representer : RepresenterTree
            Fitted; its `max_leaf_nodes` is `n_leaves`, its `path_` begins at that size.
        """
        check_is_fitted(self)
        most = self._grown.most
        if not isinstance(n_leaves, Integral) or not 2 <= n_leaves <= most:
            raise ValueError(
                f"n_leaves={n_leaves!r} is not a size that can be pruned to. Use an integer from 2 "
                f"to {most}, or fit with a larger max_leaf_nodes."
            )
        smaller = copy(self)
        smaller.max_leaf_nodes = int(n_leaves)
        trees = [each.tree for each in self._grown.trees]
        which, is_split = ExactPrunings(trees, int(n_leaves)).best(int(n_leaves))
        tree, nodes = trees[which].collapsed(is_split)
        weight = self._known["aside"].weight
        size = weight.sum() ** 2 / np.square(weight).sum() if weight.size else 0.0
        smaller.path_ = self._path(tree, self._grown.figures[which][nodes], size)[1]
        smaller._set_size(which, is_split)
        return smaller

    def fidelity(self, X: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """How well the tree agrees with the predictor.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; take rows that were not used in fitting.
        {sample_weight}

        Returns
        -------
        fidelity : float
            Share of the rows to which both give the same label; for a regressor the part of the
            variance of the predictor's values that the tree explains.
        """
        rows = fitted_rows(self, X, dtype="float64")
        if sample_weight is not None:
            sample_weight = check_weights(sample_weight, rows)
        # levels that the table does not know are the predictor's to judge
        as_given = self._table.coded.any() and hasattr(X, "columns")
        return self._agreement(rows, sample_weight, given=X if as_given else None)

    def sample(
        self, n_samples: int, random_state: int | np.random.RandomState | None = None
    ) -> Any:
        """Manufacture rows like those that the tree is grown on.

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
            such unless ``sampler="kernel"`` drew numbers between them.
        """
        check_is_fitted(self)
        if not isinstance(n_samples, Integral) or n_samples < 1:
            raise ValueError(
                f"n_samples={n_samples!r} is not a number of rows. Use a positive integer."
            )
        law = make_law(**self._law_arguments)
        seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
        X = law.with_gaps(law.manufacture(law.everywhere(), n_samples, int(seed)))
        return self._table.decode(X)

    @available_if(lambda self: self._type() == "classifier")
    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Class probabilities: the predictor's answers to synthetic rows in the same leaf.

        Drawn rows are the training rows and synthetic ones, in the shares that the tree was grown
        with.

        Parameters
        ----------
        {X}

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Share of the labels, or the mean probabilities for ``target="proba"``.
        """
        return HoldsClassifierTree.predict_proba(self, X)

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Accuracy of the tree for a classifier, coefficient of determination for a regressor.

        Parameters
        ----------
        {X}
        y : array-like of shape (n_samples,)
            True targets.
        {sample_weight}

        Returns
        -------
        score : float
            Of the tree, not of the predictor.
        """
        metric = r2_score if self._type() == "regressor" else accuracy_score
        return metric(y, self.predict(X), sample_weight=sample_weight)


def _share_of_time(n, share, deadline, each):
    """So many, or as many as a share of the time left is enough for; a few in any case."""
    return int(min(n, max(share * (deadline - time.monotonic()) / max(each, 1e-12), _LEAST_NEW)))


def _taken(rows, places):
    """Some of the rows."""
    return Bunch(**{name: values[places] for name, values in rows.items()})


def _of_rows(name, given, X):
    """What is given for each row, as an array."""
    given = np.asarray(given)
    if given.ndim == 2 and given.shape[1] == 1:
        given = given[:, 0]
    if given.ndim < 1 or given.shape[0] != len(X):
        raise ValueError(f"{name} has shape {given.shape}. Give one for each of the {len(X)} rows.")
    return given


def _check_folds(fold_of):
    if fold_of.ndim != 1 or fold_of.dtype.kind not in "iu":
        raise ValueError(
            f"fold_of has shape {fold_of.shape} and dtype {fold_of.dtype}. Give one integer for "
            "each row, -1 for a row of no fold."
        )
    return fold_of.astype(np.intp)


def _least(values, among):
    """The positions in `among` whose values are least, up to rounding."""
    values = values[among]
    least = values.min()
    return among[values <= least + 1e-12 * max(abs(least), 1.0)]


def _as_table(rows):
    """Lists of rows as an array: of objects, if some entries are text."""
    X = np.asarray(rows)
    return np.asarray(rows, dtype=object) if X.dtype.kind in "OSU" else X


def _known_table(model, n_columns):
    """The table that a model says it takes; None where it says nothing, or cannot be read."""
    try:
        table = table_of(model)
    except (TypeError, ValueError, ImportError):
        return None
    return table if len(table) == n_columns else None


def _name_of(estimator):
    if estimator is None:
        return "RandomForestClassifier"
    name = getattr(estimator, "__name__", None)
    return type(estimator).__name__ if name is None else name
