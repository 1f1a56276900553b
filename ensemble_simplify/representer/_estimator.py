"""RepresenterTree: one tree for any predictor, grown on manufactured data."""

from __future__ import annotations

import time
import warnings
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags, check_random_state, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from ensemble_simplify._base import (
    HasMethods,
    Interval,
    StrOptions,
    all_or_nothing,
    check_weights,
    fit_context,
    fit_or_unwrap,
)
from ensemble_simplify._sklearn_tree import apply_nodes, write_classifier, write_regressor
from ensemble_simplify.representer._grower import Grower, grow_one_shot, spell, weakest_links
from ensemble_simplify.representer._law import Columns, make_law
from ensemble_simplify.representer._predictor import Predictor

# Rows of one big sample, as a multiple of the training rows.
_ONE_SHOT = 20


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
    time_limit : float or None, default=None
        Seconds for growing; None: no limit. What is grown by then is the tree, and a
        ``ConvergenceWarning`` tells. Looked at between two batches of questions.
    random_state : int, RandomState instance or None, default=None
        An int fixes the manufactured rows and every ``random_state=None`` of `estimator`.
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

    _parameter_constraints: ClassVar[dict] = {
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
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
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
        time_limit=None,
        random_state=None,
        verbose=0,
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
        self.time_limit = time_limit
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

    @fit_context(prefer_skip_nested_validation=False)
    @all_or_nothing
    def fit(self, X, y=None, sample_weight=None):
        """Fit the predictor, unless it is fitted, and grow the tree that represents it.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Training rows, which the manufactured rows are made of. Numbers; finite in float32.
        y : array-like of shape (n_rows,) or None, default=None
            Targets. Needed unless the predictor is a callable or frozen.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            Weights of the training rows, for the estimator if it is fitted here, and for picking
            rows and values to manufacture from.

        Returns
        -------
        self : RepresenterTree
            The fitted estimator.
        """
        target = self._resolved_target()
        given = X
        X, y = self._check_rows(X, y, target)
        weight = check_weights(sample_weight, X)
        columns = Columns.resolve(
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
        predictor = Predictor(
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
        law = make_law(**self._law_arguments)
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
            return grow_one_shot(
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
        grower = Grower(
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
        cut_at, self.path_ = weakest_links(tree, errors)
        self.path_.errors, self.path_.held_out_errors = self.path_.errors.T.copy()
        least = self.path_.errors.min()
        slack = 1e-12 * max(abs(least), 1.0)
        selected = 0
        if self.select is not None:
            selected = int(np.flatnonzero(self.path_.errors <= least + slack)[-1])
        self.path_.selected = selected
        self.n_leaves_ = int(self.path_.n_leaves[selected])

        nodes, source = spell(tree, cut_at > selected, columns.categorical, law.X)
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
        sample_weight : array-like of shape (n_rows,) or None, default=None
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
        law = make_law(**self._law_arguments)
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
        sample_weight : array-like of shape (n_rows,) or None, default=None
            Weights of the rows.

        Returns
        -------
        score : float
            Of the tree, not of the predictor.
        """
        metric = r2_score if self._type() == "regressor" else accuracy_score
        return metric(y, self.predict(X), sample_weight=sample_weight)


def _name_of(estimator):
    if estimator is None:
        return "RandomForestClassifier"
    name = getattr(estimator, "__name__", None)
    return type(estimator).__name__ if name is None else name
