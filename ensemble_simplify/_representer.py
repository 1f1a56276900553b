"""RepresenterTree: one tree for any predictor, grown on manufactured data."""

from __future__ import annotations

import heapq
import time
import warnings
from dataclasses import dataclass, field
from numbers import Integral, Real

import numpy as np
from scipy.special import ndtr, ndtri
from sklearn.base import BaseEstimator, _fit_context, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import Bunch, ClassifierTags, RegressorTags, check_random_state, get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from ensemble_simplify._base import all_or_nothing, check_weights, column_index, fit_or_unwrap
from ensemble_simplify._sklearn_tree import (
    apply_nodes,
    preorder,
    write_classifier,
    write_regressor,
)
from ensemble_simplify._smear import DECAYING, NEIGHBORS, SMEAR, Smearer, best_split, windows

# Manufactured numbers held at once: rows go to the predictor in batches of about this size.
_BATCH_NUMBERS = 2**22

# Rows of one big sample, as a multiple of the training rows.
_ONE_SHOT = 20

# A node whose answers vary less than this, relative to the root, is pure.
_PURE = 1e-12


class RepresenterTree(BaseEstimator):
    """One decision tree that represents any predictor.

    The tree is grown on manufactured rows: training rows in which every value is, with
    probability `smearing`, replaced by the same column's value of another training row. In every
    node as many fresh rows as asked for are drawn from their exact distribution inside the node,
    labelled by the predictor and used to split it, so that the tree never runs out of data, however
    deep it is. Weakest-link pruning follows.

    It is a classifier or a regressor as `estimator` is one.

    Read more in the :ref:`User Guide <representer>`.

    Parameters
    ----------
    estimator : estimator, FrozenEstimator, callable or None, default=None
        The predictor to represent. An estimator is cloned and fitted; one inside a
        ``FrozenEstimator`` is used as it is; a callable is given rows and returns labels,
        probabilities or values (say which with `target`). None: a random forest classifier.
    target : {"auto", "label", "proba", "value"}, default="auto"
        What the tree represents: a classifier's labels or its probabilities, or a regressor's
        values. "auto" is "label" for a classifier, "value" for a regressor, and an error for a
        callable.
    sampler : {"smear", "kernel", "neighbors"}, default="smear"
        How a column's value is manufactured: "smear" keeps the base row's value, or with
        probability `smearing` takes any training row's. "kernel" draws every numeric column from a
        Gaussian kernel estimate of its own density, independently of the others. "neighbors"
        draws from the `n_neighbors` nearest values of the column in the training rows. Categorical
        columns and groups are smeared in any case, with probability 1 under "kernel".
    smearing : float in [0, 1], default=0.5
        0: manufactured rows are training rows; 1: columns are independent of each other.
    n_neighbors : int, default=20
        For ``sampler="neighbors"``; the base row's own value is one of them.
    neighbor_weights : {"uniform", "decaying"}, default="uniform"
        For ``sampler="neighbors"``: whether farther values are less likely.
    sampling : {"per_node", "one_shot"}, default="per_node"
        "one_shot" draws one big sample and grows scikit-learn's own tree on it: as good or better
        for small trees, see the user guide. `min_train_samples`, `min_cost`, `reuse`, `time_limit`
        and splits into sets of levels are of "per_node" only.
    n_samples : int or None, default=None
        Manufactured rows in each node, or in all for "one_shot". None: the number of training rows,
        or 20 times that for "one_shot".
    reuse : bool, default=False
        Hand a node's rows down to its children and draw only what is missing: half the
        questions to the predictor, costs that are a little too optimistic.
    select : {"train", "smeared"} or None, default="train"
        How the pruned tree is chosen: the least error on the training rows (of `y`, or of the
        predictor's answers if there is no `y`), or on a manufactured sample, where the predictor
        is right; the smallest tree on ties. None: no pruning.
    max_depth : int or None, default=None
        Largest depth of the tree; None: no limit.
    max_leaf_nodes : int or None, default=None
        Largest number of leaves; None: no limit. With a limit the tree is grown best first, by
        the decrease of impurity.
    min_train_samples : int or None, default=None
        A split must leave at least so many training rows in either child, otherwise the node is a
        leaf. None: 1 for classification, 2 for regression.
    min_cost : float, default=0.0
        A node is a leaf if its cost, the probability of a row falling there and being wrong, is
        at most ``min_cost / n_rows``, for instance 1 to 5. For values and probabilities the
        cost is a squared error, and `min_cost` counts in units of the root's variance.
    categorical_features : array-like of int, str or bool, or None, default=None
        Columns with integer codes for levels without order. They are split into two sets of
        levels, which `decision_tree_` spells as thresholds on the codes (a set that is
        not one run of codes takes several, and repeats the branch below).
    feature_groups : list of array-like of int or str, or None, default=None
        Columns that are manufactured together, for instance those of one one-hot encoding.
    validation_fraction : float in [0, 1), default=0.1
        Part of the rows set aside, from the estimator if it is fitted here and from the tree, to
        measure ``fidelity_["held_out"]``. 0: none.
    random_state : int, RandomState instance or None, default=None
        An int fixes the manufactured rows and every ``random_state=None`` of `estimator`.
    verbose : int, default=0
        Print progress.
    time_limit : float or None, default=None
        Seconds for growing; None: no limit. What is grown by then is the tree, and a
        ``ConvergenceWarning`` tells. Looked at between two batches of questions.

    Attributes
    ----------
    estimator_ : object
        The fitted predictor.
    decision_tree_ : DecisionTreeClassifier or DecisionTreeRegressor
        The tree, as scikit-learn's own.
    classes_ : ndarray of shape (n_classes,)
        Class labels, for a classifier.
    n_leaves_ : int
        Leaves of the tree, a split into two sets of levels counted as one split.
    path_ : Bunch
        The sequence of pruned trees from the largest: ``n_leaves``, ``costs``, ``errors`` (on the
        rows that `select` names), ``held_out_errors`` (nan without such rows), ``alphas`` (the
        price of a leaf from which on the tree is the best; -inf for a grown tree that pruning
        improves at no price), and ``selected``, the index of the chosen one.
    fidelity_ : dict
        How well the tree agrees with the predictor on ``"held_out"`` rows (nan if there are none),
        on ``"smeared"`` rows made for this purpose, and on the ``"train"`` rows:
        see :meth:`fidelity`.
    n_queries_ : int
        Rows that the predictor was asked about for growing, pruning and measuring the tree.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if all are strings.

    Notes
    -----
    The training rows are kept, for :meth:`sample`.

    References
    ----------
    .. [1] L. Breiman and N. Shang, "Born again trees", technical report, University of
       California, Berkeley, 1996.
    .. [2] M. Craven and J. Shavlik, "Extracting tree-structured representations of trained
       networks", Advances in Neural Information Processing Systems 8, 1996.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensemble_simplify import RepresenterTree
    >>> X, y = load_iris(return_X_y=True)
    >>> representer = RepresenterTree(max_leaf_nodes=4, random_state=0).fit(X, y)
    >>> representer.n_leaves_ <= 4
    True
    """

    _parameter_constraints: dict = {  # noqa: RUF012
        "estimator": [HasMethods(["fit", "predict"]), callable, None],
        "target": [StrOptions({"auto", "label", "proba", "value"})],
        "sampler": [StrOptions({"smear", "kernel", "neighbors"})],
        "smearing": [Interval(Real, 0, 1, closed="both")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "neighbor_weights": [StrOptions({"uniform", "decaying"})],
        "sampling": [StrOptions({"per_node", "one_shot"})],
        "n_samples": [Interval(Integral, 1, None, closed="left"), None],
        "reuse": ["boolean"],
        "select": [StrOptions({"train", "smeared"}), None],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
        "min_train_samples": [Interval(Integral, 0, None, closed="left"), None],
        "min_cost": [Interval(Real, 0, None, closed="left")],
        "categorical_features": ["array-like", None],
        "feature_groups": [list, tuple, None],
        "validation_fraction": [Interval(Real, 0, 1, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
    }

    def __init__(
        self,
        estimator=None,
        *,
        target="auto",
        sampler="smear",
        smearing=0.5,
        n_neighbors=20,
        neighbor_weights="uniform",
        sampling="per_node",
        n_samples=None,
        reuse=False,
        select="train",
        max_depth=None,
        max_leaf_nodes=None,
        min_train_samples=None,
        min_cost=0.0,
        categorical_features=None,
        feature_groups=None,
        validation_fraction=0.1,
        random_state=None,
        verbose=0,
        time_limit=None,
    ):
        self.estimator = estimator
        self.target = target
        self.sampler = sampler
        self.smearing = smearing
        self.n_neighbors = n_neighbors
        self.neighbor_weights = neighbor_weights
        self.sampling = sampling
        self.n_samples = n_samples
        self.reuse = reuse
        self.select = select
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_train_samples = min_train_samples
        self.min_cost = min_cost
        self.categorical_features = categorical_features
        self.feature_groups = feature_groups
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.verbose = verbose
        self.time_limit = time_limit

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
        return get_tags(self.estimator).estimator_type

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type = self._type()
        if tags.estimator_type == "classifier":
            tags.classifier_tags = ClassifierTags()
        if tags.estimator_type == "regressor":
            tags.regressor_tags = RegressorTags()
        tags.target_tags.required = not self._is_fitted_before()
        return tags

    def _is_fitted_before(self):
        return self._is_function() or isinstance(self.estimator, FrozenEstimator)

    def _resolved_target(self):
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

    @_fit_context(prefer_skip_nested_validation=False)
    @all_or_nothing
    def fit(self, X, y=None, sample_weight=None):
        """Fit the predictor, unless it is fitted, and grow the tree that represents it.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Training rows, which the manufactured rows are made of. Numbers; finite in float32.
        y : array-like of shape (n_rows,) or None
            Targets. Needed unless the predictor is a callable or frozen.
        sample_weight : array-like of shape (n_rows,) or None
            Weights of the training rows, for the estimator if it is fitted here, and for picking
            rows and values to manufacture from.

        Returns
        -------
        self : RepresenterTree
            The fitted tree.
        """
        target = self._resolved_target()
        given = X
        X, y = self._check_rows(X, y, target)
        weight = check_weights(sample_weight, X)
        columns = _Columns.resolve(
            self.categorical_features,
            self.feature_groups,
            X.shape[1],
            getattr(self, "feature_names_in_", None),
        )
        random = check_random_state(self.random_state)
        seeds = random.randint(np.iinfo(np.int32).max, size=4)

        held_out = self._held_out(X, y, weight, target, random)
        kept = ~held_out & (weight > 0)
        wrap = type(given) if hasattr(self, "feature_names_in_") else None
        model = self._fit_predictor(
            X, y, None if sample_weight is None else weight, ~held_out, wrap, random
        )
        takes_names = self._is_function() or hasattr(model, "feature_names_in_")
        predictor = _Predictor(
            model,
            target,
            name=_name_of(self.estimator if self._is_function() else model),
            wrap=wrap if takes_names else None,
            names=getattr(self, "feature_names_in_", None),
        )
        answers = predictor.find_out(X[kept], y)

        self.estimator_ = model
        self._predictor = predictor
        self._law_arguments = {
            "X": X[kept],
            "weight": weight[kept],
            "columns": columns,
            "sampler": self.sampler,
            "smearing": self.smearing,
            "n_neighbors": self.n_neighbors,
            "decaying": self.neighbor_weights == "decaying",
        }
        law = _make_law(**self._law_arguments)
        if predictor.classes is not None:
            self.classes_ = predictor.classes
        truth = answers if y is None else predictor.encode(y[kept])
        tree = self._grow(law, predictor, columns, seeds)
        path_errors = self._path_errors(tree, law, predictor, truth, seeds)
        if held_out.any():
            new = predictor.answers(X[held_out]) if y is None else predictor.encode(y[held_out])
            path_errors[:, 1] = tree.errors(X[held_out], new, weight[held_out], predictor.target)
        self._prune_and_write(tree, path_errors, law, predictor, columns, answers)
        self._measure(law, predictor, X[held_out], answers, seeds)
        self.n_queries_ = predictor.n_queries
        return self

    def _check_rows(self, X, y, target):
        if y is None and not self._is_fitted_before():
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. Only a "
                "fitted predictor, FrozenEstimator(...) or a function, can do without."
            )
        if y is None:
            X = validate_data(self, X, dtype=np.float64)
        elif target == "value":
            X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
            y = y.astype(np.float64)
        else:
            X, y = validate_data(self, X, y, dtype=np.float64)
            y = column_or_1d(y, warn=True)
            check_classification_targets(y)
        with np.errstate(over="ignore"):
            if not np.isfinite(X.astype(np.float32)).all():
                raise ValueError(
                    "X contains a value too large for dtype('float32'), in which a decision tree "
                    "compares. Scale that column."
                )
        return np.ascontiguousarray(X), y

    def _held_out(self, X, y, weight, target, random):
        """Choose the rows that neither the estimator nor the tree sees; every class stays seen."""
        held_out = np.zeros(X.shape[0], dtype=bool)
        candidates = random.permutation(np.flatnonzero(weight > 0))
        n_held_out = int(self.validation_fraction * candidates.size)
        if y is not None and target != "value":
            first = np.unique(y[candidates], return_index=True)[1]
            candidates = np.delete(candidates, first)
        held_out[candidates[:n_held_out]] = True
        return held_out

    def _fit_predictor(self, X, y, sample_weight, seen, wrap, random):
        if self._is_function():
            return self.estimator
        estimator = self.estimator
        if estimator is None:
            estimator = RandomForestClassifier()
        if not isinstance(estimator, FrozenEstimator):
            estimator = clone(estimator)
            if self.random_state is not None:
                for name, value in sorted(estimator.get_params().items()):
                    if value is None and name.split("__")[-1] == "random_state":
                        seed = random.randint(np.iinfo(np.int32).max)
                        estimator.set_params(**{name: seed})
        rows = X[seen]
        if wrap is not None:
            rows = wrap(dict(zip(self.feature_names_in_, rows.T, strict=True)))
        return fit_or_unwrap(
            estimator,
            rows,
            None if y is None else y[seen],
            None if sample_weight is None else sample_weight[seen],
        )

    def _grow(self, law, predictor, columns, seeds):
        n_rows = law.X.shape[0]
        if self.sampling == "one_shot":
            n_samples = _ONE_SHOT * n_rows if self.n_samples is None else self.n_samples
            return _grow_one_shot(
                law, predictor, n_samples, self.max_depth, self.max_leaf_nodes, seeds
            )
        min_train_samples = self.min_train_samples
        if min_train_samples is None:
            min_train_samples = 2 if predictor.target == "value" else 1
        if min_train_samples == 0 and not (self.max_depth or self.max_leaf_nodes or self.min_cost):
            raise ValueError(
                "min_train_samples=0 lets the tree grow without end. Set max_depth, "
                "max_leaf_nodes or min_cost too."
            )
        grower = _Grower(
            law=law,
            predictor=predictor,
            categorical=columns.categorical,
            n_samples=n_rows if self.n_samples is None else self.n_samples,
            reuse=self.reuse,
            max_depth=np.inf if self.max_depth is None else self.max_depth,
            max_leaf_nodes=np.inf if self.max_leaf_nodes is None else self.max_leaf_nodes,
            min_train_samples=min_train_samples,
            min_cost=self.min_cost / n_rows,
            seed=int(seeds[0]),
            deadline=np.inf if self.time_limit is None else time.monotonic() + self.time_limit,
            verbose=self.verbose,
        )
        tree = grower.grow()
        if grower.out_of_time:
            warnings.warn(
                f"time_limit={self.time_limit} stopped the growing of the tree at "
                f"{(tree.left.size + 1) // 2} leaves. Raise it, or set max_leaf_nodes or min_cost.",
                ConvergenceWarning,
                stacklevel=5,
            )
        return tree

    def _path_errors(self, tree, law, predictor, truth, seeds):
        """Errors of every node on the rows that `select` names; room for held-out rows."""
        X, weight = law.X, law.weight
        if self.select == "smeared":
            X = law.draw(law.everywhere(), X.shape[0], int(seeds[1]))
            truth = predictor.answers(X)
            weight = np.ones(X.shape[0])
        errors = tree.errors(X, truth, weight, predictor.target)
        return np.column_stack([errors, np.full(errors.size, np.nan)])

    def _prune_and_write(self, tree, errors, law, predictor, columns, answers):
        """Choose a pruned tree and write it down as scikit-learn's."""
        cut_at, self.path_ = _weakest_links(tree, errors)
        self.path_.errors, self.path_.held_out_errors = self.path_.errors.T.copy()
        least = self.path_.errors.min()
        slack = 1e-12 * max(abs(least), 1.0)
        selected = 0
        if self.select is not None:
            selected = int(np.flatnonzero(self.path_.errors <= least + slack)[-1])
        self.path_.selected = selected
        self.n_leaves_ = int(self.path_.n_leaves[selected])

        nodes, source = _spell(tree, cut_at > selected, columns.categorical, law.X)
        value = tree.mean[source[nodes.leaves]]
        leaf_of_row = apply_nodes(nodes, law.X)
        names = getattr(self, "feature_names_in_", None)
        common = {
            "n_features": law.X.shape[1],
            "feature_names": names,
            "sample_weight": law.weight,
        }
        if predictor.target == "value":
            self.decision_tree_ = write_regressor(
                nodes, value[:, 0], leaf_of_row, answers[:, 0], **common
            )
        else:
            self.decision_tree_ = write_classifier(
                nodes,
                value.argmax(axis=1),
                value / value.sum(axis=1, keepdims=True),
                leaf_of_row,
                answers.argmax(axis=1),
                predictor.classes,
                **common,
            )

    def _measure(self, law, predictor, held_out, answers, seeds):
        smeared = law.draw(law.everywhere(), max(law.X.shape[0], 1000), int(seeds[2]))
        decisions = None if predictor.target == "proba" else predictor.decode(answers)
        self.fidelity_ = {
            "held_out": self._agreement(held_out) if len(held_out) else np.nan,
            "smeared": self._agreement(smeared),
            "train": self._agreement(law.X, law.weight, decisions),
        }

    def _agreement(self, X, sample_weight=None, model=None):
        if model is None:
            model = self._predictor.decisions(X)
        tree = self.decision_tree_.predict(X.astype(np.float32), check_input=False)
        if self._predictor.target == "value":
            if np.ptp(model) == 0.0:  # r2_score has no answer where the predictor is constant
                return float(np.allclose(tree, model))
            return float(r2_score(model, tree, sample_weight=sample_weight))
        return float(accuracy_score(model, tree, sample_weight=sample_weight))

    # ------------------------------------------------------------------ use

    def fidelity(self, X, sample_weight=None):
        """How well the tree agrees with the predictor.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows, best ones that were not used in fitting.
        sample_weight : array-like of shape (n_rows,) or None
            Weights of the rows.

        Returns
        -------
        fidelity : float
            Share of the rows to which both give the same label; for a regressor the part of the
            variance of the predictor's values that the tree explains.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        if sample_weight is not None:
            sample_weight = check_weights(sample_weight, X)
        return self._agreement(X, sample_weight)

    def sample(self, n, random_state=None):
        """Manufacture rows.

        Parameters
        ----------
        n : int
            Number of rows.
        random_state : int, RandomState instance or None, default=None
            An int makes the rows reproducible.

        Returns
        -------
        X : ndarray or data frame of shape (n, n_features)
            A data frame if the tree was fitted on one.
        """
        check_is_fitted(self)
        if not isinstance(n, Integral) or n < 1:
            raise ValueError(f"n={n!r} is not a number of rows. Use a positive integer.")
        law = _make_law(**self._law_arguments)
        seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
        return self._predictor.wrapped(law.draw(law.everywhere(), n, int(seed)))

    def predict(self, X):
        """Predict with the tree.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_rows,)
            Labels or values.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float32)
        return self.decision_tree_.predict(X, check_input=False)

    @available_if(lambda self: self._type() == "classifier")
    def predict_proba(self, X):
        """Class probabilities: the predictor's answers to manufactured rows in the same leaf.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        proba : ndarray of shape (n_rows, n_classes)
            Share of the labels, or the mean probabilities for ``target="proba"``.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float32)
        return self.decision_tree_.predict_proba(X, check_input=False)

    def score(self, X, y, sample_weight=None):
        """Accuracy of the tree for a classifier, coefficient of determination for a regressor.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows.
        y : array-like of shape (n_rows,)
            True targets.
        sample_weight : array-like of shape (n_rows,) or None
            Weights of the rows.

        Returns
        -------
        score : float
            Of the tree, not of the predictor.
        """
        metric = r2_score if self._type() == "regressor" else accuracy_score
        return metric(y, self.predict(X), sample_weight=sample_weight)


# ---------------------------------------------------------------------- columns


@dataclass(frozen=True, eq=False)
class _Columns:
    """Which columns are categorical, and which move together."""

    categorical: np.ndarray  # uint8 (n_columns,)
    coordinates: list  # of intp arrays of columns, groups first

    @classmethod
    def resolve(cls, categorical_features, feature_groups, n_columns, names):
        categorical = np.zeros(n_columns, dtype=np.uint8)
        if categorical_features is not None:
            categorical[
                _column_numbers("categorical_features", categorical_features, n_columns, names)
            ] = 1
        group_of = np.full(n_columns, -1, dtype=np.intp)
        coordinates = []
        for g, group in enumerate(feature_groups or ()):
            numbers = _column_numbers(f"feature_groups[{g}]", group, n_columns, names)
            if (twice := numbers[group_of[numbers] >= 0]).size:
                column = twice[0] if names is None else repr(names[twice[0]])
                raise ValueError(
                    f"feature_groups[{g}] and feature_groups[{group_of[twice[0]]}] both hold "
                    f"column {column}. A column belongs to one group at most: join the groups."
                )
            group_of[numbers] = g
            coordinates.append(np.sort(numbers))
        coordinates += [np.array([j], dtype=np.intp) for j in np.flatnonzero(group_of < 0)]
        return cls(categorical, coordinates)


def _column_numbers(parameter, columns, n_columns, names):
    """Turn names, numbers or a mask of columns into distinct numbers."""
    columns = np.atleast_1d(np.asarray(columns))
    if columns.size == 0:
        return np.zeros(0, dtype=np.intp)
    if columns.ndim != 1:
        raise ValueError(f"{parameter} has shape {columns.shape}. Give a flat list of columns.")
    if columns.dtype.kind == "b":
        if columns.size != n_columns:
            raise ValueError(
                f"{parameter} is a mask of {columns.size} columns, but X has {n_columns}."
            )
        return np.flatnonzero(columns)
    numbers = [column_index(column, parameter, n_columns, names) for column in columns.tolist()]
    return np.unique(np.array(numbers, dtype=np.intp))


def _name_of(estimator):
    if estimator is None:
        return "RandomForestClassifier"
    name = getattr(estimator, "__name__", None)
    return type(estimator).__name__ if name is None else name


# ---------------------------------------------------------------------- the predictor


@dataclass(eq=False)
class _Predictor:
    """Ask the predictor about rows, and check what it says."""

    model: object
    target: str
    name: str
    wrap: type | None  # makes a data frame of a dict of columns
    names: np.ndarray | None
    classes: np.ndarray | None = None
    n_queries: int = field(default=0)

    def wrapped(self, X):
        if self.wrap is None:
            return X
        return self.wrap(dict(zip(self.names, X.T, strict=True)))

    def find_out(self, X, y):
        """Answers for the training rows; learns the class labels from them."""
        if self.target == "value":
            return self.answers(X)
        labels = getattr(self.model, "classes_", None)
        if self.target == "proba":
            raw = self._ask(X)
            if labels is None:
                labels = np.arange(raw.shape[1]) if y is None else np.unique(y)
            self.classes = np.asarray(labels)
            return self._checked_proba(raw)
        raw = self._ask(X)
        if labels is None:
            labels = np.unique(raw) if y is None else np.union1d(raw, y)
        self.classes = np.asarray(labels)
        return self.encode(raw, strict=True)

    def answers(self, X):
        """Answers as a matrix: one-hot labels, probabilities, or one column of values."""
        raw = self._ask(X)
        if self.target == "label":
            return self.encode(raw, strict=True)
        if self.target == "proba":
            return self._checked_proba(raw)
        return raw[:, None]

    def decisions(self, X):
        """Labels or values, as the predictor decides."""
        if self.target == "proba":
            if hasattr(self.model, "predict"):
                return self._checked(self._call(self.model.predict, X), X.shape[0], 1)
            return self.classes[self._ask(X).argmax(axis=1)]
        return self._ask(X)

    def decode(self, answers):
        """Labels or values of answers."""
        if self.target == "value":
            return answers[:, 0]
        return self.classes[answers.argmax(axis=1)]

    def encode(self, y, strict=False):
        """One column a class (or the values as they are); zeros for a label that is no class."""
        if self.target == "value":
            return np.asarray(y, dtype=np.float64)[:, None]
        position = np.searchsorted(self.classes, y)
        position = np.minimum(position, self.classes.size - 1)
        known = self.classes[position] == y
        if strict and not known.all():
            raise ValueError(
                f"{self.name} returned the label {y[~known][0]!r}, which is none of the classes "
                f"{self.classes.tolist()}. Pass a y that holds every class."
            )
        one_hot = np.zeros((len(y), self.classes.size))
        one_hot[np.flatnonzero(known), position[known]] = 1.0
        return one_hot

    def _ask(self, X):
        if not hasattr(self.model, "predict"):
            function = self.model
        else:
            function = self.model.predict_proba if self.target == "proba" else self.model.predict
        ndim = 2 if self.target == "proba" else 1
        return self._checked(self._call(function, X), X.shape[0], ndim)

    def _call(self, function, X):
        self.n_queries += X.shape[0]
        try:
            return function(self.wrapped(X))
        except Exception as error:
            raise RuntimeError(
                f"the predictor {self.name} failed on {X.shape[0]} rows with {X.shape[1]} columns: "
                f"{type(error).__name__}: {error}"
            ) from error

    def _checked(self, raw, n_rows, ndim):
        raw = np.asarray(raw)
        if ndim == 1 and raw.shape == (n_rows, 1):
            raw = raw[:, 0]
        if raw.ndim != ndim or raw.shape[0] != n_rows:
            wanted = f"({n_rows},)" if ndim == 1 else f"({n_rows}, n_classes)"
            raise ValueError(
                f"the predictor {self.name} returned an array of shape {raw.shape} for {n_rows} "
                f"rows, but target={self.target!r} needs {wanted}."
            )
        if self.target != "label" and ndim == (2 if self.target == "proba" else 1):
            raw = raw.astype(np.float64)
            if not np.isfinite(raw).all():
                raise ValueError(f"the predictor {self.name} returned a value that is not finite.")
        return raw

    def _checked_proba(self, raw):
        if raw.shape[1] != self.classes.size:
            raise ValueError(
                f"the predictor {self.name} returned probabilities of {raw.shape[1]} classes, but "
                f"there are {self.classes.size}: {self.classes.tolist()}."
            )
        if raw.min() < 0.0 or np.abs(raw.sum(axis=1) - 1.0).max() > 1e-3:
            raise ValueError(
                f"the predictor {self.name} returned rows that are not probabilities: they must "
                "not be negative and must sum to 1. Use target='label' for scores."
            )
        return raw


# ---------------------------------------------------------------------- the law


@dataclass(eq=False)
class _Region:
    """A part of the feature space, and for every training row how likely its copies fall there."""

    limits: np.ndarray  # float64 (n_coordinates, 2): (low, high] of ordered coordinates
    allowed: np.ndarray  # uint8: one a level of every nominal coordinate
    q: np.ndarray  # float64 (n_rows,)


@dataclass(frozen=True, eq=False)
class _Split:
    column: int
    threshold: float
    values: np.ndarray | None = None  # that go left, of a categorical column

    def goes_left(self, x):
        x = np.asarray(x, dtype=np.float32)
        return x <= self.threshold if self.values is None else np.isin(x, self.values)


class _Law:
    """Manufactured rows by smearing or from neighbours."""

    def __init__(self, X, weight, columns, *, smearing, n_neighbors=None, decaying=False):
        n_rows, n_columns = X.shape
        coordinates = columns.coordinates
        n_coordinates = len(coordinates)
        X32 = X.astype(np.float32)
        self.X, self.weight = X, weight
        self.coordinate_of = np.empty(n_columns, dtype=np.intp)
        nominal = np.zeros(n_coordinates, dtype=np.uint8)
        laws = np.full(n_coordinates, SMEAR, dtype=np.uint8)
        level = np.empty((n_coordinates, n_rows), dtype=np.int32)
        row = np.empty((n_coordinates, n_rows), dtype=np.int32)
        mass = np.zeros((n_coordinates, n_rows + 1))
        patterns, first = [], []
        for i, members in enumerate(coordinates):
            self.coordinate_of[members] = i
            nominal[i] = members.size > 1 or columns.categorical[members[0]]
            if members.size == 1:
                values, level[i] = np.unique(X32[:, members[0]], return_inverse=True)
                values = values[:, None]
            else:
                values, inverse = np.unique(X32[:, members], axis=0, return_inverse=True)
                level[i] = inverse.ravel()
            patterns.append(values)
            row[i] = np.argsort(level[i], kind="stable")
            first.append(np.searchsorted(level[i][row[i]], np.arange(len(values))))
            np.cumsum(weight[row[i]], out=mass[i, 1:])
        if n_neighbors is not None:
            laws[nominal == 0] = DECAYING if decaying else NEIGHBORS
        width = 0 if n_neighbors is None else min(n_neighbors, n_rows)
        window = np.zeros((n_coordinates if width else 0, n_rows, 3), dtype=np.int32)
        moment = np.zeros((n_coordinates if width and decaying else 0, n_rows + 1))
        for i in np.flatnonzero(laws != SMEAR):
            order = row[i]
            places = np.empty((n_rows, 3), dtype=np.int32)
            windows(np.ascontiguousarray(X[order, coordinates[i][0]]), width, places)
            window[i, order] = places
            if decaying:
                np.cumsum(weight[order] * np.arange(n_rows), out=moment[i, 1:])

        self.nominal = nominal
        self.patterns = patterns
        self.allowed_start = _starts(
            len(values) if is_nominal else 0
            for values, is_nominal in zip(patterns, nominal, strict=True)
        )
        self.smearer = Smearer(
            X,
            weight,
            smearing,
            columns_start=_starts(members.size for members in coordinates),
            columns=np.concatenate(coordinates),
            law=laws,
            nominal=nominal,
            level=level,
            level_start=_starts(len(values) for values in patterns),
            level_value=np.concatenate([values[:, 0] for values in patterns]).astype(np.float64),
            first=np.concatenate(first).astype(np.intp),
            allowed_start=self.allowed_start,
            row=row,
            mass=mass,
            window=window,
            moment=moment,
        )

    def everywhere(self):
        """The whole space."""
        limits = np.empty((self.nominal.size, 2))
        limits[:, 0], limits[:, 1] = -np.inf, np.inf
        allowed = np.ones(self.allowed_start[-1], dtype=np.uint8)
        return _Region(limits, allowed, np.ones(self.X.shape[0]))

    def probability(self, region):
        """Of a manufactured row to fall into a region."""
        return float(self.weight @ region.q / self.weight.sum())

    def part(self, region, split, left):
        """The left or right side of a split region."""
        i = self.coordinate_of[split.column]
        limits, allowed = region.limits, region.allowed
        if self.nominal[i]:
            allowed = allowed.copy()
            levels = slice(self.allowed_start[i], self.allowed_start[i + 1])
            member = np.searchsorted(np.flatnonzero(self.coordinate_of == i), split.column)
            allowed[levels] &= split.goes_left(self.patterns[i][:, member]) == left
        else:
            limits = limits.copy()
            if left:
                limits[i, 1] = min(limits[i, 1], split.threshold)
            else:
                limits[i, 0] = max(limits[i, 0], split.threshold)
        return _Region(limits, allowed, self._narrowed(region, i, limits, allowed))

    def _narrowed(self, region, i, limits, allowed):
        q = np.empty_like(region.q)
        self.smearer.narrow(region.q, i, region.limits, region.allowed, limits, allowed, q)
        return q

    def draw(self, region, n, seed):
        """Manufacture `n` rows inside a region of positive probability."""
        X = np.empty((n, self.X.shape[1]))
        self.smearer.draw(region.q, region.limits, region.allowed, seed, X)
        return X


class _KernelLaw(_Law):
    """Manufactured rows of independent columns, numeric ones from Gaussian kernel densities."""

    def __init__(self, X, weight, columns):
        super().__init__(X, weight, columns, smearing=1.0)
        self.column_of = np.array([members[0] for members in columns.coordinates])
        self.bandwidth = np.zeros(self.nominal.size)
        for i in np.flatnonzero(self.nominal == 0):
            self.bandwidth[i] = _bandwidth(X[:, self.column_of[i]], weight)

    def _masses(self, i, limits):
        """Share of each row's kernel in (low, high]."""
        z = (limits[i] - self.X[:, self.column_of[i], None]) / self.bandwidth[i]
        z = np.where((z[:, 0] > 0)[:, None], -z[:, ::-1], z)  # the lower tail is the precise one
        return np.maximum(ndtr(z[:, 1]) - ndtr(z[:, 0]), 0.0)

    def _narrowed(self, region, i, limits, allowed):
        if self.bandwidth[i] == 0.0:
            return super()._narrowed(region, i, limits, allowed)
        old = self.weight @ self._masses(i, region.limits)
        return region.q * ((self.weight @ self._masses(i, limits)) / old)

    def draw(self, region, n, seed):
        smooth = np.flatnonzero(self.bandwidth > 0.0)
        limits = region.limits.copy()
        limits[smooth] = -np.inf, np.inf
        X = super().draw(_Region(limits, region.allowed, region.q), n, seed)
        random = np.random.default_rng(seed)
        for i in smooth:
            column, (low, high) = self.column_of[i], region.limits[i]
            share = np.cumsum(self.weight * self._masses(i, region.limits))
            centre = np.searchsorted(share, random.random(n) * share[-1], side="right")
            centre = self.X[np.minimum(centre, share.size - 1), column]
            x = centre + self.bandwidth[i] * _truncated_normal(
                (low - centre) / self.bandwidth[i], (high - centre) / self.bandwidth[i], random
            )
            X[:, column] = _clipped(x, low, high)
        return X


def _make_law(*, sampler, smearing, n_neighbors, decaying, **common):
    if sampler == "kernel":
        return _KernelLaw(**common)
    if sampler == "neighbors":
        return _Law(**common, smearing=smearing, n_neighbors=n_neighbors, decaying=decaying)
    return _Law(**common, smearing=smearing)


def _starts(sizes):
    return np.concatenate([[0], np.cumsum(list(sizes))]).astype(np.intp)


def _bandwidth(x, weight):
    """Silverman's rule of thumb, weighted."""
    mean = np.average(x, weights=weight)
    spread = np.sqrt(np.average((x - mean) ** 2, weights=weight))
    order = np.argsort(x)
    share = np.cumsum(weight[order]) / weight.sum()
    low, high = x[order[np.searchsorted(share, [0.25, 0.75])]]
    if high > low:
        spread = min(spread, (high - low) / 1.34)
    n_effective = weight.sum() ** 2 / np.square(weight).sum()
    return 0.9 * spread * n_effective**-0.2


def _truncated_normal(low, high, random):
    """Standard normal numbers in (low, high), by inversion in the tail that is precise."""
    flip = low > 0
    low, high = np.where(flip, -high, low), np.where(flip, -low, high)
    begin, end = ndtr(low), ndtr(high)
    z = ndtri(begin + random.random(low.size) * (end - begin))
    z = np.clip(z, low, high)
    return np.where(flip, -z, z)


def _clipped(x, low, high):
    """Bring what rounding carried over a limit back, as float32 compares."""
    x32 = x.astype(np.float32)
    if low > -np.inf:
        above = np.float32(low)
        if above <= low:
            above = np.nextafter(above, np.float32(np.inf))
        x = np.where(x32 <= low, above, x)
    if high < np.inf:
        below = np.float32(high)
        if below > high:
            below = np.nextafter(below, np.float32(-np.inf))
        x = np.where(x32 > high, below, x)
    return x


# ---------------------------------------------------------------------- growing


@dataclass(eq=False)
class _Grown:
    """A grown tree in pre-order."""

    left: np.ndarray  # intp (n_nodes,), -1 in leaves
    right: np.ndarray
    splits: list  # of _Split, None in leaves
    mean: np.ndarray  # float64 (n_nodes, n_outputs): of the predictor's answers
    cost: np.ndarray  # float64 (n_nodes,): probability times impurity
    probability: np.ndarray  # float64 (n_nodes,)

    def errors(self, X, truth, weight, target):
        """Loss of the rows in each node, were it a leaf, as a part of all."""
        rows_of = [None] * self.left.size
        rows_of[0] = np.arange(X.shape[0])
        errors = np.zeros(self.left.size)
        for t, rows in enumerate(rows_of):
            if target == "label":
                loss = 1.0 - truth[rows, self.mean[t].argmax()]
            else:
                loss = np.square(truth[rows] - self.mean[t]).sum(axis=1)
            errors[t] = weight[rows] @ loss
            if self.splits[t] is not None:
                goes_left = self.splits[t].goes_left(X[rows, self.splits[t].column])
                rows_of[self.left[t]] = rows[goes_left]
                rows_of[self.right[t]] = rows[~goes_left]
            rows_of[t] = None
        return errors / weight.sum()


@dataclass(eq=False)
class _Node:
    region: _Region | None
    rows: np.ndarray  # training rows inside
    path: tuple  # 0 for left, 1 for right, from the root
    draws: np.ndarray | None = None
    answers: np.ndarray | None = None
    probability: float = np.nan
    mean: np.ndarray | None = None
    cost: float = np.nan
    split: _Split | None = None
    priority: tuple = ()  # the smaller, the earlier it is split
    candidates: tuple | None = None  # children that may join the tree
    children: tuple | None = None  # children that have

    def __lt__(self, other):
        return self.priority < other.priority


@dataclass(eq=False)
class _Grower:
    """Grow a tree on fresh rows in every node, asking the predictor in batches."""

    law: _Law
    predictor: _Predictor
    categorical: np.ndarray
    n_samples: int
    reuse: bool
    max_depth: float
    max_leaf_nodes: float
    min_train_samples: int
    min_cost: float
    seed: int
    deadline: float
    verbose: int
    out_of_time: bool = False
    root_variance: float | None = None

    def grow(self):
        root = _Node(self.law.everywhere(), np.arange(self.law.X.shape[0]), ())
        self._evaluate([root])
        open_nodes = [root] if root.split is not None else []
        n_leaves = 1
        while open_nodes and n_leaves < self.max_leaf_nodes:
            if open_nodes[0].candidates is None:
                if self.out_of_time:
                    break
                self._look_ahead(open_nodes, self.max_leaf_nodes - n_leaves)
                if self.verbose:
                    print(
                        f"[RepresenterTree] {n_leaves} leaves, {len(open_nodes)} nodes to split, "
                        f"{self.predictor.n_queries} rows labelled"
                    )
                if open_nodes[0].candidates is None:
                    break
            node = heapq.heappop(open_nodes)
            node.children, node.candidates = node.candidates, None
            n_leaves += 1
            for child in node.children:
                if child.split is not None:
                    heapq.heappush(open_nodes, child)
        return _number(root)

    def _look_ahead(self, open_nodes, n_wanted):
        """Make and evaluate the children of the nodes that are likely to be split next.

        Growing breadth first, that is all of them; best first, as many as may still be split.
        Nodes have random numbers of their own, so the tree does not depend on the batches.
        """
        if n_wanted < np.inf:
            open_nodes = heapq.nsmallest(int(n_wanted), open_nodes)
        parents = [node for node in open_nodes if node.candidates is None]
        per_batch = max(1, _BATCH_NUMBERS // (2 * self.n_samples * self.law.X.shape[1]))
        for begin in range(0, len(parents), per_batch):
            if time.monotonic() >= self.deadline:
                self.out_of_time = True
                return
            batch = parents[begin : begin + per_batch]
            pairs = [self._make_children(parent) for parent in batch]
            self._evaluate([child for pair in pairs for child in pair])
            for parent, pair in zip(batch, pairs, strict=True):
                parent.candidates = pair
                parent.region = parent.draws = parent.answers = None

    def _make_children(self, parent):
        split = parent.split
        children = []
        of_rows = split.goes_left(self.law.X[parent.rows, split.column])
        of_draws = split.goes_left(parent.draws[:, split.column]) if self.reuse else None
        for side, left in enumerate((True, False)):
            child = _Node(
                self.law.part(parent.region, split, left),
                parent.rows[of_rows == left],
                (*parent.path, side),
            )
            if self.reuse:
                child.draws = parent.draws[of_draws == left]
                child.answers = parent.answers[of_draws == left]
            children.append(child)
        return tuple(children)

    def _evaluate(self, nodes):
        """Draw rows in each node, have all labelled at once, and find the best splits."""
        new = []
        for node in nodes:
            missing = self.n_samples - (0 if node.draws is None else node.draws.shape[0])
            sequence = np.random.SeedSequence(self.seed, spawn_key=node.path)
            seed = int(sequence.generate_state(1, np.uint64)[0])
            new.append(self.law.draw(node.region, missing, seed))
        answers = self.predictor.answers(np.concatenate(new))
        begin = 0
        for node, X in zip(nodes, new, strict=True):
            fresh = answers[begin : begin + X.shape[0]]
            begin += X.shape[0]
            inherited = node.draws is not None
            node.draws = np.concatenate([node.draws, X]) if inherited else X
            node.answers = np.concatenate([node.answers, fresh]) if inherited else fresh
            self._assess(node)

    def _assess(self, node):
        """Cost and split of a node whose rows are labelled; leaves keep no rows."""
        node.probability = self.law.probability(node.region)
        node.mean = node.answers.mean(axis=0)
        variance = float(np.square(node.answers - node.mean).mean(axis=0).sum())
        if self.root_variance is None:
            self.root_variance = variance
        label = self.predictor.target == "label"
        node.cost = node.probability * (1.0 - node.mean.max() if label else variance)
        unit = 1.0 if label else self.root_variance
        if (
            variance > _PURE * self.root_variance
            and len(node.path) < self.max_depth
            and (self.min_cost == 0.0 or node.cost > self.min_cost * unit)
        ):
            node.split, decrease = self._best_split(node)
            best_first = self.max_leaf_nodes < np.inf
            rank = -node.probability * decrease if best_first else len(node.path)
            node.priority = (rank, node.path)
        if node.split is None:
            node.region = node.draws = node.answers = None

    def _best_split(self, node):
        values = np.empty(node.draws.shape[0])
        column, n_values, threshold, decrease = best_split(
            node.draws, node.answers, self.categorical, values
        )
        if column < 0:
            return None, 0.0
        split = _Split(column, threshold)
        if n_values:
            split = self._with_all_levels(node, column, values[:n_values].astype(np.float32))
        n_left = np.count_nonzero(split.goes_left(self.law.X[node.rows, column]))
        if min(n_left, node.rows.size - n_left) < self.min_train_samples:
            return None, 0.0
        return split, decrease

    def _with_all_levels(self, node, column, left):
        """Send the levels that no draw has to the side with more draws."""
        drawn = node.draws[:, column].astype(np.float32)
        if 2 * np.count_nonzero(np.isin(drawn, left)) > drawn.size:
            right = np.setdiff1d(drawn, left)
            left = np.setdiff1d(self.law.X[:, column].astype(np.float32), right)
        return _Split(column, np.nan, np.sort(left))


def _number(root):
    """Arrays of a tree of nodes, in pre-order."""
    order, number, stack = [], {}, [root]
    while stack:
        node = stack.pop()
        number[id(node)] = len(order)
        order.append(node)
        if node.children is not None:
            stack += node.children[::-1]
    pairs = [(None, None) if node.children is None else node.children for node in order]
    return _Grown(
        left=np.array([number.get(id(a), -1) for a, _ in pairs], dtype=np.intp),
        right=np.array([number.get(id(b), -1) for _, b in pairs], dtype=np.intp),
        splits=[None if node.children is None else node.split for node in order],
        mean=np.array([node.mean for node in order]),
        cost=np.array([node.cost for node in order]),
        probability=np.array([node.probability for node in order]),
    )


def _grow_one_shot(law, predictor, n_samples, max_depth, max_leaf_nodes, seeds):
    """Scikit-learn's own tree on one big manufactured sample."""
    X = law.draw(law.everywhere(), n_samples, int(seeds[0]))
    answers = predictor.answers(X)
    options = {
        "max_depth": max_depth,
        "max_leaf_nodes": max_leaf_nodes,
        "random_state": int(seeds[3]),
    }
    label = predictor.target == "label"
    if label:
        tree = DecisionTreeClassifier(**options).fit(X, answers.argmax(axis=1))
    else:
        tree = DecisionTreeRegressor(**options).fit(X, answers)
    nodes, order = preorder(
        tree.tree_.children_left,
        tree.tree_.children_right,
        tree.tree_.feature,
        tree.tree_.threshold,
    )
    n_nodes = nodes.n_nodes
    mean = np.zeros((n_nodes, answers.shape[1]))
    value = tree.tree_.value[order]
    if label:
        mean[:, tree.classes_] = value[:, 0] / value[:, 0].sum(axis=1, keepdims=True)
        impurity = 1.0 - mean.max(axis=1)
    else:
        mean[:] = value[:, :, 0]
        impurity = tree.tree_.impurity[order] * answers.shape[1]
    probability = tree.tree_.n_node_samples[order] / n_samples
    return _Grown(
        left=nodes.left,
        right=nodes.right,
        splits=[
            _Split(int(j), float(t)) if j >= 0 else None
            for j, t in zip(nodes.feature, nodes.threshold, strict=True)
        ],
        mean=mean,
        cost=probability * impurity,
        probability=probability,
    )


# ---------------------------------------------------------------------- pruning and spelling


def _weakest_links(tree, errors):
    """The sequence of trees of weakest-link pruning, and their `errors` in one or more columns.

    Every node's cost is an estimate of its own, so a branch may cost more than its root alone:
    such links, and those that gain nothing, are cut first.

    Returns
    -------
    cut_at : ndarray of shape (n_nodes,)
        Node t is split in tree k of the sequence iff ``cut_at[t] > k`` and it is inner.
    path : Bunch
    """
    left, right, cost = tree.left, tree.right, tree.cost
    n_nodes = left.size
    parent = np.full(n_nodes, -1, dtype=np.intp)
    inner = np.flatnonzero(left >= 0)
    parent[left[inner]] = parent[right[inner]] = inner
    size = np.ones(n_nodes, dtype=np.intp)  # of the branch, in nodes: a run in pre-order
    leaves = np.ones(n_nodes, dtype=np.intp)
    branch_cost, branch_error = cost.copy(), errors.copy()
    for t in inner[::-1]:
        a, b = left[t], right[t]
        size[t] = 1 + size[a] + size[b]
        leaves[t] = leaves[a] + leaves[b]
        branch_cost[t] = branch_cost[a] + branch_cost[b]
        branch_error[t] = branch_error[a] + branch_error[b]
    never = np.iinfo(np.intp).max
    cut_at = np.where(left >= 0, never, 0)
    link = np.full(n_nodes, np.inf)
    link[inner] = (cost[inner] - branch_cost[inner]) / (leaves[inner] - 1)
    slack = 1e-13 * max(abs(cost[0]), np.finfo(float).tiny)

    def cut(t, step):
        branch = slice(t, t + size[t])
        cut_at[branch] = np.minimum(cut_at[branch], step)
        link[branch] = np.inf
        lost = leaves[t] - 1, cost[t] - branch_cost[t], errors[t] - branch_error[t]
        while t >= 0:
            leaves[t] -= lost[0]
            branch_cost[t] += lost[1]
            branch_error[t] += lost[2]
            if leaves[t] > 1:
                link[t] = (cost[t] - branch_cost[t]) / (leaves[t] - 1)
            t = parent[t]

    sequence = [(-np.inf, leaves[0], branch_cost[0], branch_error[0].copy())]
    if link.min() > slack:
        sequence[0] = (0.0, *sequence[0][1:])
    else:
        while (t := int(link.argmin())) >= 0 and link[t] <= slack:
            cut(t, 1)
        sequence.append((0.0, leaves[0], branch_cost[0], branch_error[0].copy()))
    while leaves[0] > 1:
        alpha = link.min()
        step = len(sequence)
        while link[t := int(link.argmin())] <= alpha + slack:
            cut(t, step)
        sequence.append((alpha, leaves[0], branch_cost[0], branch_error[0].copy()))
    alphas, n_leaves, costs, sequence_errors = zip(*sequence, strict=True)
    return cut_at, Bunch(
        alphas=np.array(alphas),
        n_leaves=np.array(n_leaves, dtype=np.intp),
        costs=np.array(costs),
        errors=np.array(sequence_errors),
    )


def _spell(tree, is_split, categorical, X):
    """Write splits into sets of levels as thresholds on the codes.

    A set of codes is a number of runs in the order of the codes; a balanced tree of thresholds
    halfway between neighbouring runs finds the run, and each run of a side gets a copy of that
    side's branch, in which only the run's codes are left to be told apart.

    Returns
    -------
    nodes : TreeNodes
    source : ndarray of shape (nodes.n_nodes,)
        Node of `tree` that each node stems from.
    """
    left, right, feature, threshold, source = [], [], [], [], []

    def add(t, column=-1, limit=0.0):
        left.append(-1)
        right.append(-1)
        feature.append(column)
        threshold.append(limit)
        source.append(t)
        return len(left) - 1

    def branch(t, codes):
        """Write the branch of node t, where `codes` holds the codes left of some columns."""
        split = tree.splits[t]
        if split is None or not is_split[t]:
            return add(t)
        if split.values is None:
            node = add(t, split.column, split.threshold)
            left[node] = branch(tree.left[t], codes)
            right[node] = branch(tree.right[t], codes)
            return node
        here = codes[split.column]
        goes_left = np.isin(here, split.values)
        begins = np.concatenate([[0], np.flatnonzero(np.diff(goes_left)) + 1, [here.size]])
        return runs(t, codes, here, goes_left, begins, 0, len(begins) - 1)

    def runs(t, codes, here, goes_left, begins, first, last):
        """Write the thresholds that tell runs first .. last - 1 apart."""
        column = tree.splits[t].column
        if last - first == 1:
            child = tree.left[t] if goes_left[begins[first]] else tree.right[t]
            return branch(child, {**codes, column: here[begins[first] : begins[last]]})
        middle = (first + last) // 2
        below, above = here[begins[middle] - 1], here[begins[middle]]
        node = add(t, column, float(below) / 2.0 + float(above) / 2.0)
        left[node] = runs(t, codes, here, goes_left, begins, first, middle)
        right[node] = runs(t, codes, here, goes_left, begins, middle, last)
        return node

    codes = {int(j): np.unique(X[:, j].astype(np.float32)) for j in np.flatnonzero(categorical)}
    branch(0, codes)
    nodes, order = preorder(left, right, feature, threshold)
    return nodes, np.array(source, dtype=np.intp)[order]
