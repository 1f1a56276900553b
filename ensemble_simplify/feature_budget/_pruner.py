"""FeatureBudgetPruner: prune an ensemble so that predictions buy fewer features."""

from __future__ import annotations

import warnings
from copy import copy, deepcopy
from dataclasses import replace
from numbers import Integral, Real
from time import monotonic
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone, is_regressor
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.tree import BaseDecisionTree
from sklearn.utils import Bunch, ClassifierTags, RegressorTags, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ensemble_simplify._base import (
    HasMethods,
    Interval,
    StrOptions,
    all_or_nothing,
    check_weights,
    class_index,
    fit_context,
    fit_or_unwrap,
)
from ensemble_simplify._forest import read_forest, tree_estimators
from ensemble_simplify._sklearn_tree import pruned_copy, read_nodes, write_tree
from ensemble_simplify.feature_budget._loss import node_losses
from ensemble_simplify.feature_budget._prices import Prices
from ensemble_simplify.feature_budget._problem import PruningProblem

_AVERAGING = (
    BaseDecisionTree,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

# A budget inside a step of the path this large (share of the unpruned cost) is worth a warning.
_WIDE_STEP = 0.1


def _has_proba(self):
    estimator = getattr(self, "pruned_estimator_", None)
    if estimator is None:
        estimator = self.estimator
        if isinstance(estimator, FrozenEstimator):
            estimator = estimator.estimator
    return estimator is None or hasattr(estimator, "predict_proba")


class FeatureBudgetPruner(BaseEstimator):
    """Prune a tree ensemble for the best trade of error against the cost of features.

    A row pays for a feature once, when the first split of any tree asks for it. Among all
    prunings of the given trees (split nodes made leaves), this finds one that minimises::

        mean error of the trees + lam * mean cost of a row

    exactly, for one `lam` or within a `budget`. See the :ref:`User Guide <feature_budget>`.

    Parameters
    ----------
    estimator : estimator, FrozenEstimator or None, default=None
        A decision tree, random forest, extra trees or bagging of trees; unfitted (then fitted
        on the same rows) or ``FrozenEstimator(fitted)``. None: 40 bagged trees
        (``RandomForestClassifier(40, max_features=None)``), which share features and can
        therefore be pruned far.
    feature_costs : array-like of shape (n_features,), dict or None, default=None
        Price of each feature. A dict goes by column name (or index); columns it does not name
        cost nothing. None: 1 each.
    groups : dict or None, default=None
        Name of a group -> columns (names or indices) that share a price, as the tests of one
        blood draw do. A row pays it with the first member it uses, besides the feature's own
        price. A column may be in one group at most.
    group_costs : float, dict or None, default=None
        Price of each group, or one price for all. Needed with `groups`.
    lam : float or None, default=None
        Error that one unit of cost is worth.
    budget : float, str or None, default=None
        Highest mean cost of a row: a number, or a share of the unpruned cost, as "60%". Not
        together with `lam`. With neither, `lam` tends to zero: what goes costs no accuracy on
        the given rows.
    sharing : {"ensemble", "tree"}, default="ensemble"
        "ensemble": trees share what a row has bought. "tree": each tree is pruned as if it were
        alone (to compare; its prunings are contained in those of "ensemble" at the same `lam`).
    solver : {"min_cut", "highs", "highs_printed", "dantzig_wolfe"}, default="min_cut"
        "min_cut": parametric minimum cut, all prunings at once. The others solve linear
        programs by HiGHS, one for each price level, and are here to check and to teach:
        "highs" the difference constraints p_child <= p_parent, p <= w; "highs_printed"
        (IP3) of the paper as printed; "dantzig_wolfe" its decomposition by trees,
        in parallel through joblib. All give the same answer.
    loss : {"auto", "error", "gini", "log_loss", "squared_error"}, default="auto"
        Error of a leaf. "error": wrong labels; "gini": Brier score of its probabilities;
        "log_loss"; "squared_error" for regression. "auto": "error" or "squared_error".
    labels : {"tree", "sample"}, default="tree"
        "tree": nodes keep the values the ensemble gave them. "sample": values are those of the
        rows given to `fit`, as in the paper; `pruned_estimator_` is rewritten accordingly.
    errors : {"given", "oob"}, default="given"
        "given": each tree is judged on all rows of `fit`. "oob": on those that it was not grown
        on; `fit` must then get the rows that the ensemble was fitted on.
    ties : {"keep", "prune"}, default="keep"
        Splits that change neither error nor cost: kept for their finer probabilities, or
        pruned for smaller trees. Splits that no row reaches are among them.
    fill : {"vertex", "theta", "mip"}, default="theta"
        What to do with a `budget` that lies inside a step of the path. "vertex": take the next
        cheaper pruning on the path. "theta": look for better ones by interpolating prices
        between shared and separate. "mip": then go on with integer programming (HiGHS) until
        optimal or out of time.
    time_limit : float or None, default=None
        Seconds for the search; what is found until then is returned with what is proven.
    n_jobs : int or None, default=None
        Parallel trees of "dantzig_wolfe", as in joblib.
    random_state : int, RandomState instance or None, default=None
        For the ensemble of ``estimator=None``.

    Attributes
    ----------
    estimator_ : estimator
        The fitted ensemble, as it was.
    pruned_estimator_ : estimator
        A pruned copy: a native scikit-learn ensemble of the same type.
    lam_ : float
        Price level from which on the pruning is optimal (within a step of the path: its slope).
    cost_ : float
        Mean cost of the given rows in the pruned ensemble.
    error_ : float
        Mean error of the pruned trees, the objective, on the given rows.
    forest_error_ : float
        Error of the pruned ensemble itself on the given rows: share of wrong labels, or mean
        squared error.
    error_bound_ : float
        No pruning of cost at most `budget` (with `lam`: at most `cost_`) has a lower mean error.
    is_budget_optimal_ : bool
        Whether `error_` equals that bound.
    unpruned_cost_, unpruned_error_ : float
        The same of the ensemble as it was.
    path_ : Bunch
        All optimal prunings: `lams`, `costs`, `errors`, `n_splits` and `n_features`.
        Not with other solvers than "min_cut", which follow the path only as far as needed.
    feature_usage_ : ndarray of shape (n_features,)
        Share of the given rows that use each feature after pruning.
    status_ : {"optimal", "time_limit"}
        Whether the search was complete, or `time_limit` ended it.
    classes_ : ndarray of shape (n_classes,)
        Class labels, for classifiers.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if all are strings.

    See Also
    --------
    BudgetForestClassifier : Grows trees with feature costs in mind.

    References
    ----------
    .. [1] F. Nan, J. Wang and V. Saligrama, "Optimally pruning decision tree ensembles with
       feature cost", 2016. https://doi.org/10.48550/arXiv.1601.00955

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ensemble_simplify import FeatureBudgetPruner
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> pruner = FeatureBudgetPruner(budget="40%", random_state=0).fit(X, y)
    >>> bool(pruner.cost_ <= 0.4 * pruner.unpruned_cost_)
    True
    >>> pruner.score(X, y) > 0.9
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "feature_costs": ["array-like", dict, None],
        "groups": [dict, None],
        "group_costs": [Interval(Real, 0, None, closed="left"), dict, None],
        "lam": [Interval(Real, 0, None, closed="left"), None],
        "budget": [Interval(Real, 0, None, closed="left"), str, None],
        "sharing": [StrOptions({"ensemble", "tree"})],
        "solver": [StrOptions({"min_cut", "highs", "highs_printed", "dantzig_wolfe"})],
        "loss": [StrOptions({"auto", "error", "gini", "log_loss", "squared_error"})],
        "labels": [StrOptions({"tree", "sample"})],
        "errors": [StrOptions({"given", "oob"})],
        "ties": [StrOptions({"keep", "prune"})],
        "fill": [StrOptions({"vertex", "theta", "mip"})],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator=None,
        *,
        feature_costs=None,
        groups=None,
        group_costs=None,
        lam=None,
        budget=None,
        sharing="ensemble",
        solver="min_cut",
        loss="auto",
        labels="tree",
        errors="given",
        ties="keep",
        fill="theta",
        time_limit=None,
        n_jobs=None,
        random_state=None,
    ):
        self.estimator = estimator
        self.feature_costs = feature_costs
        self.groups = groups
        self.group_costs = group_costs
        self.lam = lam
        self.budget = budget
        self.sharing = sharing
        self.solver = solver
        self.loss = loss
        self.labels = labels
        self.errors = errors
        self.ties = ties
        self.fill = fill
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        if self.estimator is not None and is_regressor(self.estimator):
            tags.estimator_type = "regressor"
            tags.regressor_tags = RegressorTags()
        else:
            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags()
            if self.estimator is not None:
                multi_class = get_tags(self.estimator).classifier_tags
                tags.classifier_tags.multi_class = multi_class is None or multi_class.multi_class
        return tags

    # Fitting.

    @fit_context(prefer_skip_nested_validation=False)
    @all_or_nothing
    def fit(self, X, y, sample_weight=None):
        """Fit the ensemble if it is not frozen, and prune it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows on which errors and costs are counted (and the ensemble is fitted, unless it is
            frozen).
        y : array-like of shape (n_samples,)
            Labels, or target values.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the rows in errors and costs, and in fitting the ensemble.

        Returns
        -------
        self : FeatureBudgetPruner
            The fitted estimator.
        """
        if self.lam is not None and self.budget is not None:
            raise ValueError(
                f"lam={self.lam} and budget={self.budget} were both given. Leave one of them out."
            )
        share = self._check_budget()
        self._check_type()
        regression = self.estimator is not None and is_regressor(self.estimator)
        given = X
        X, y = validate_data(
            self, X, y, dtype=np.float64, ensure_min_samples=1, y_numeric=regression
        )
        if not regression:
            check_classification_targets(y)
        weight = check_weights(sample_weight, X)
        prices = Prices.read(
            self.feature_costs,
            self.groups,
            self.group_costs,
            X.shape[1],
            getattr(self, "feature_names_in_", None),
        )

        default = RandomForestClassifier(40, max_features=None, random_state=self.random_state)
        rows = given if hasattr(given, "columns") else X
        self.estimator_ = fit_or_unwrap(self.estimator, rows, y, sample_weight, default=default)
        forest = read_forest(self.estimator_)
        self._check_vote(forest)
        if forest.classes is None:
            target = y
        else:
            self.classes_ = forest.classes
            target = class_index(y, self.classes_)
        leaf = forest.apply(X)
        counted = self._counted_rows(len(X), forest.n_trees)
        loss_of_node, unit, value = node_losses(
            forest, leaf, target, weight, counted, loss=self._loss(forest), labels=self.labels
        )
        self._forest = replace(forest, value=value)
        self._prices = prices
        self._problem = PruningProblem(
            offsets=forest.offsets,
            left=forest.left,
            right=forest.right,
            feature=forest.feature,
            leaf=leaf,
            weight=weight,
            loss_of_node=loss_of_node,
            unit=unit,
            prices=prices.price,
            resources=prices.resources,
            shared=self.sharing == "ensemble",
        )
        self._fit_rows = leaf, target, weight
        everything = self._problem.split
        self.unpruned_cost_ = self._problem.cost(everything)
        self.unpruned_error_ = self._problem.loss(everything)
        deadline = np.inf if self.time_limit is None else monotonic() + self.time_limit
        if self.solver == "min_cut":
            self._path = self._problem.path(self.time_limit)
        else:
            self._path = None
        self._choose(share, deadline, stacklevel=5)
        return self

    def _check_budget(self):
        """Split `budget` into a number, and whether it is a share of the unpruned cost."""
        if not isinstance(self.budget, str):
            return self.budget, False
        text = self.budget.strip()
        try:
            number = float(text.removesuffix("%"))
        except ValueError:
            number = np.nan
        if not text.endswith("%") or not 0 <= number < np.inf:
            raise ValueError(
                f"budget={self.budget!r} is not understood. Give a number, or a share of the "
                "unpruned cost such as '60%'."
            )
        return number / 100.0, True

    def _check_type(self):
        estimator = self.estimator
        if isinstance(estimator, FrozenEstimator):
            estimator = estimator.estimator
        if estimator is None or isinstance(estimator, _AVERAGING):
            return
        name = type(estimator).__name__
        raise TypeError(
            f"estimator={name}(...) cannot be pruned by feature cost: the error of the ensemble "
            "must be a mean of errors of single trees. Trees of a boosted ensemble correct one "
            "another and have no error of their own, and isolation forests have no labels. "
            "Supported: DecisionTree*, RandomForest*, ExtraTrees* and Bagging* of trees."
        )

    def _check_vote(self, forest):
        if forest.vote.rule != "mean" or forest.vote.members:
            raise TypeError(
                f"estimator={type(self.estimator_).__name__}(...) does not average single trees, "
                "so their mean error says nothing about it. Use a forest, or bagging of trees."
            )

    def _counted_rows(self, n_rows, n_trees):
        """Mask of the rows on which each tree is judged; empty: all of them."""
        if self.errors == "given":
            return np.empty((0, 0), dtype=np.uint8)
        remedy = "Use errors='given', or an ensemble with bootstrap=True fitted on these rows."
        samples = getattr(self.estimator_, "estimators_samples_", None)
        if samples is None or not getattr(self.estimator_, "bootstrap", False):
            raise ValueError(
                "errors='oob' needs trees that were each grown on a bootstrap sample, but "
                f"{type(self.estimator_).__name__}(...) has none. {remedy}"
            )
        counted = np.ones((n_rows, n_trees), dtype=np.uint8)
        for t, rows in enumerate(samples):
            if rows.max() >= n_rows:
                raise ValueError(
                    f"errors='oob' needs the rows the ensemble was fitted on, but X has {n_rows} "
                    f"rows and tree {t} was grown on row {rows.max()}. {remedy}"
                )
            counted[rows, t] = 0
        return counted

    def _loss(self, forest):
        """The loss that `loss` stands for."""
        regression = forest.classes is None
        if self.loss == "auto":
            return "squared_error" if regression else "error"
        if (self.loss == "squared_error") != regression:
            raise ValueError(
                f"loss={self.loss!r} does not fit a {'regressor' if regression else 'classifier'}. "
                + ("Use 'squared_error'." if regression else "Use 'error', 'gini' or 'log_loss'.")
            )
        return self.loss

    # Choosing a pruning.

    def _choose(self, share, deadline, stacklevel):
        """Set everything that depends on `lam` and `budget`; warn at the level of the caller."""
        number, is_share = share
        budget = number * self.unpruned_cost_ if is_share else number
        self.status_ = "optimal"
        if self._path is None:
            keep = self._solve_elsewhere(budget, deadline)
        else:
            keep = self._solve_on_path(budget, deadline, stacklevel + 1)
        self._set_pruning(keep)
        if self.sharing == "tree":
            # The path is optimal for costs that no row pays.
            self.error_bound_ = min(self._supports[0, 1], self.error_)
        else:
            at = self.cost_ if budget is None else budget
            lines = self._supports[:, 1] - self._supports[:, 0] * at
            self.error_bound_ = float(min(max(lines.max(), self._mip_bound), self.error_))
        # The bound is a difference of sums: equal up to rounding.
        close = 1e-9 * max(1.0, abs(self.unpruned_error_), abs(self.error_))
        self.is_budget_optimal_ = bool(self.error_ - self.error_bound_ <= close)
        if self.is_budget_optimal_:
            self.error_bound_ = self.error_
        if self.status_ == "time_limit":
            warnings.warn(
                f"time_limit={self.time_limit} was reached before the search was complete. "
                f"error_={self.error_:.6g} is within {self.error_ - self.error_bound_:.3g} of the "
                "best. Raise time_limit to close the gap.",
                ConvergenceWarning,
                stacklevel=stacklevel,
            )

    def _solve_on_path(self, budget, deadline, stacklevel):
        path = self._path
        self._supports = path.supports
        self._mip_bound = -np.inf
        if not path.proven.all():
            self.status_ = "time_limit"
        self.path_ = self._path_bunch(path)
        if budget is None:
            lam = 0.0 if self.lam is None else self.lam
            k = int(np.searchsorted(path.lams, lam, side="right")) - 1
            self.lam_ = float(lam)
            return self._problem.at_vertex(path, k, self.ties)
        slack = 1e-9 * max(1.0, self.unpruned_cost_)
        k = int(np.argmax(path.costs <= budget + slack))
        self.lam_ = float(path.lams[k])
        keep = self._problem.at_vertex(path, k, self.ties)
        if k == 0 or path.costs[k] >= budget - slack or self.sharing == "tree":
            return keep
        step = path.costs[k - 1] - path.costs[k]
        if self.fill != "vertex":
            left = None if deadline == np.inf else max(0.0, deadline - monotonic())
            keep = self._problem.fill(path, k - 1, budget, self.ties, left)
        if self.fill == "mip":
            left = None if deadline == np.inf else max(0.0, deadline - monotonic())
            better, self._mip_bound = self._problem.solve_budget_mip(budget, keep, left)
            if better is not None and self._problem.loss(better) < self._problem.loss(keep):
                keep = better
            if self._problem.loss(keep) - self._mip_bound > 1e-6:
                self.status_ = "time_limit"
        if step > _WIDE_STEP * self.unpruned_cost_:
            error, cost = self._problem.loss(keep), self._problem.cost(keep)
            bound = max(path.bound(budget), self._mip_bound)
            if error - bound > 1e-9:
                warnings.warn(
                    f"budget={budget:.6g} lies in a step of the path from cost "
                    f"{path.costs[k - 1]:.6g} down to {path.costs[k]:.6g}: in between no pruning "
                    f"is optimal for any lam. The best one found costs {cost:.6g} with error "
                    f"{error:.6g}; none within the budget can have less than {bound:.6g}. "
                    "Trees that choose from all features (bagging, max_features=None) have "
                    "smaller steps; fill='mip' searches harder.",
                    UserWarning,
                    stacklevel=stacklevel,
                )
        return keep

    def _solve_elsewhere(self, budget, deadline):
        """Follow the path by one linear program a price level, only as far as needed."""
        problem = self._problem
        supports = []
        self._mip_bound = -np.inf

        def solve(lam):
            left = None if deadline == np.inf else max(0.0, deadline - monotonic())
            if self.solver == "dantzig_wolfe":
                keep, objective, bound, _ = problem.solve_dantzig_wolfe(lam, self.n_jobs, left)
                proven = keep is not None and objective - bound <= 1e-7 * max(1.0, abs(objective))
            else:
                form = "printed" if self.solver == "highs_printed" else "difference"
                keep, solution = problem.solve_lp(lam, form, time_limit=left)
                proven, bound = keep is not None, solution.bound
            if not proven:
                self.status_ = "time_limit"
            if keep is not None:
                supports.append((lam, bound))
            return keep

        free = problem.expand(problem.c_active, "prune")
        supports.append((0.0, problem.loss(free)))
        if budget is None:
            lam = 0.0 if self.lam is None else float(self.lam)
            keep = free if lam == 0 else solve(lam)
            self.lam_ = lam
        else:
            keep, self.lam_ = self._follow(free, budget, solve)
        self._supports = np.array(supports)
        if keep is None:
            # Pruned to the roots: allowed at any price, and all that is known.
            keep = np.zeros_like(problem.split)
        return keep

    def _follow(self, free, budget, solve):
        """The cheapest-error pruning of the path within a budget, by cuts at chord slopes."""
        problem = self._problem

        def cost(keep):
            return problem.cost(keep, shared=problem.shared)

        if problem.cost(free) <= budget:
            return free, 0.0
        high, low = free, problem.expand(np.zeros(problem.n_contracted, dtype=np.uint8), "prune")
        lam = 0.0
        while True:
            saved, lost = cost(high) - cost(low), problem.loss(low) - problem.loss(high)
            lam = lost / saved
            keep = solve(lam)
            if keep is None:
                return low, lam
            gained = problem.loss(high) + lam * cost(high) - problem.loss(keep) - lam * cost(keep)
            if gained <= 1e-9 * max(1.0, abs(problem.loss(high))):
                return low, lam
            if problem.cost(keep) <= budget:
                low = keep
            else:
                high = keep

    def _path_bunch(self, path):
        n_splits, n_features = [], []
        for k in range(len(path.lams)):
            keep = self._problem.at_vertex(path, k, self.ties) > 0
            n_splits.append(np.count_nonzero(keep))
            n_features.append(len(np.unique(self._problem.feature[keep])))
        return Bunch(
            lams=path.lams,
            costs=path.costs,
            errors=path.losses,
            n_splits=np.array(n_splits),
            n_features=np.array(n_features),
        )

    def _set_pruning(self, keep):
        problem = self._problem
        leaf, target, weight = self._fit_rows
        self._keep = keep
        self._stop = problem.stops(keep)
        self.cost_ = problem.cost(keep)
        self.error_ = problem.loss(keep)
        self.forest_error_ = self._forest_error(self._stop[leaf], target, weight)
        acquired = problem.acquired(leaf, keep)
        self.feature_usage_ = weight @ acquired / weight.sum()
        self.pruned_estimator_ = self._write()

    def _forest_error(self, stopped, target, weight):
        answer = self._forest.decide_at(stopped.T)
        if self._forest.classes is None:
            return float(np.average((answer - target) ** 2, weights=weight))
        return float(np.average(answer != target, weights=weight))

    def _write(self):
        """A deep copy of the ensemble with pruned trees in it."""
        ensemble = deepcopy(self.estimator_)
        trees = tree_estimators(ensemble)
        offsets = self._forest.offsets
        for t, (tree, _) in enumerate(trees):
            part = slice(offsets[t], offsets[t + 1])
            pruned = pruned_copy(tree, self._keep[part].astype(bool))
            if self.labels == "sample":
                own = np.arange(offsets[t], offsets[t + 1])
                reached = np.zeros(self._forest.n_nodes, dtype=bool)
                reached[part] = (self._stop[part] == own) & (
                    (self._problem.parent[part] >= 0) | (own == offsets[t])
                )
                order = self._problem.order
                nodes = order[reached[order]]
                pruned = self._with_values(pruned, self._forest.value[nodes], t)
            # In place: whatever holds the tree holds the pruned one now.
            vars(tree).update(vars(pruned))
        return ensemble

    def _with_values(self, tree, value, t):
        contents = read_nodes(tree)
        names = getattr(tree, "feature_names_in_", None)
        if self._forest.classes is None:
            classes, value = None, value[:, 0]
        else:
            classes = tree.classes_
            if len(classes) != value.shape[1]:
                own = np.asarray(classes, dtype=np.intp)
                if (np.delete(value, own, axis=1) > 0).any():
                    raise ValueError(
                        f"labels='sample' cannot write the classes of the given rows into tree "
                        f"{t}, which was grown without some of them. Use labels='tree'."
                    )
                value = value[:, own]
        written = write_tree(
            contents.nodes,
            value,
            contents.n_node_samples,
            contents.weighted_n_node_samples,
            contents.impurity,
            n_features=tree.n_features_in_,
            classes=classes,
            feature_names=names,
        )
        tree.tree_ = written.tree_
        return tree

    # After fitting.

    def at(self, *, lam=None, budget=None):
        """The same pruner at another price level or budget, without fitting anything again.

        Parameters
        ----------
        lam : float or None
            Error that one unit of cost is worth.
        budget : float, str or None
            Highest mean cost of a row, or a share of the unpruned cost, as "60%".

        Returns
        -------
        FeatureBudgetPruner
            A fitted copy.
        """
        check_is_fitted(self, "pruned_estimator_")
        if lam is not None and budget is not None:
            raise ValueError(f"lam={lam} and budget={budget} were both given. Leave one out.")
        other = copy(self)
        other.set_params(lam=lam, budget=budget)
        other._validate_params()
        deadline = np.inf if self.time_limit is None else monotonic() + self.time_limit
        other._choose(other._check_budget(), deadline, stacklevel=3)
        return other

    def pruning_path(self, X, y, sample_weight=None):
        """Compute all optimal prunings of an ensemble, from lowest error to no cost.

        Fits a clone of this estimator; `lam` and `budget` are not used.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels, or target values.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the rows.

        Returns
        -------
        path : Bunch
            ``lams``, ``costs``, ``errors``, ``n_splits`` and ``n_features``, arrays of one entry
            a pruning. Pruning `k` is optimal for `lam` from ``lams[k]`` to ``lams[k + 1]``.
        """
        pruner = clone(self).set_params(lam=None, budget=None, solver="min_cut")
        return pruner.fit(X, y, sample_weight).path_

    def path_scores(self, X, y, sample_weight=None, *, sharing=None):
        """Error and cost of other rows for every pruning on the path.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels, or target values.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the rows.
        sharing : {"ensemble", "tree"} or None, default=None
            Whose path; None: the one of this estimator. Costs are always what a row pays when
            trees share what they buy.

        Returns
        -------
        scores : Bunch
            ``lams``; ``errors``, of the pruned ensembles: shares of wrong labels, or mean squared
            errors; ``costs``, mean costs of a row; ``unpruned_error`` and ``unpruned_cost``.
        """
        check_is_fitted(self, "pruned_estimator_")
        problem, path = self._problem, self._path
        shared = (self.sharing if sharing is None else sharing) == "ensemble"
        if path is None or shared != problem.shared:
            problem = copy(problem)
            problem.shared = shared
            path = problem.path(self.time_limit)
        X, y = self._validate(X, y)
        weight = check_weights(sample_weight, X)
        target = y if self._forest.classes is None else class_index(y, self.classes_)
        leaf = self._forest.apply(X)

        def measure(keep):
            error = self._forest_error(problem.stops(keep)[leaf], target, weight)
            paid = self._prices.paid(problem.acquired(leaf, keep))
            return error, float(np.average(paid, weights=weight))

        points = [measure(problem.at_vertex(path, k, self.ties)) for k in range(len(path.lams))]
        errors, costs = np.array(points).T
        error, cost = measure(problem.split)
        return Bunch(
            lams=path.lams, errors=errors, costs=costs, unpruned_error=error, unpruned_cost=cost
        )

    def select(self, X, y, *, max_loss=0.01, sample_weight=None):
        """The cheapest pruning that loses at most `max_loss` on validation rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows that the ensemble was not fitted on.
        y : array-like of shape (n_samples,)
            Labels, or target values.
        max_loss : float, default=0.01
            Tolerated rise of the ensemble's error over the pruning at ``lam -> 0``, or over the
            unpruned ensemble where that has the lower error.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the rows.

        Returns
        -------
        FeatureBudgetPruner
            A fitted copy at that pruning.
        """
        scores = self.path_scores(X, y, sample_weight)
        allowed = min(scores.unpruned_error, scores.errors[0]) + max_loss
        good = np.flatnonzero(scores.errors <= allowed + 1e-12)
        return self.at(lam=float(scores.lams[good[np.argmin(scores.costs[good])]]))

    def predict(self, X):
        """Predict with the pruned ensemble.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels, or values in regression.
        """
        check_is_fitted(self, "pruned_estimator_")
        self._validate(X)
        return self.pruned_estimator_.predict(X)

    @available_if(_has_proba)
    def predict_proba(self, X):
        """Predict class probabilities with the pruned ensemble.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            One column a class, as in `classes_`.
        """
        check_is_fitted(self, "pruned_estimator_")
        self._validate(X)
        return self.pruned_estimator_.predict_proba(X)

    def score(self, X, y, sample_weight=None):
        """Accuracy of the pruned ensemble; for regression, R^2.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels, or target values.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the rows.

        Returns
        -------
        float
            The score.
        """
        measure = r2_score if is_regressor(self) else accuracy_score
        return measure(y, self.predict(X), sample_weight=sample_weight)

    def acquired_features(self, X):
        """Which features the pruned ensemble uses for each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of bool, shape (n_samples, n_features)
            True where the row uses the feature.
        """
        check_is_fitted(self, "pruned_estimator_")
        return self._problem.acquired(self._forest.apply(self._validate(X)), self._keep)

    def feature_cost(self, X):
        """What the pruned ensemble pays for each row, groups included.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of float64, shape (n_samples,)
            Cost of each row.
        """
        return self._prices.paid(self.acquired_features(X))

    def predict_lazy(self, fetch, n_samples=1):
        """Predict rows whose features are fetched only when a split asks for them.

        Parameters
        ----------
        fetch : callable
            ``fetch(feature, rows)`` returns the values of one feature (its name if the pruner was
            fitted on a DataFrame, else its index) for the rows with these indices. It is called
            once at most for each row and feature.
        n_samples : int, default=1
            Number of rows.

        Returns
        -------
        result : Bunch
            ``prediction`` of shape (n_samples,), the same as `predict`; ``acquired``, bool of
            shape (n_samples, n_features); ``cost`` of shape (n_samples,).
        """
        check_is_fitted(self, "pruned_estimator_")
        forest = self._forest
        known = np.zeros((n_samples, self.n_features_in_), dtype=bool)
        values = np.zeros((n_samples, self.n_features_in_), dtype=np.float32)
        names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
        node = np.tile(forest.offsets[:-1], (n_samples, 1))
        for t in range(forest.n_trees):
            active = np.flatnonzero(self._keep[node[:, t]])
            while active.size:
                wanted = forest.feature[node[active, t]]
                for k in np.unique(wanted[~known[active, wanted]]):
                    rows = active[wanted == k]
                    rows = rows[~known[rows, k]]
                    values[rows, k] = _fetched(fetch(names[k], rows), names[k], len(rows))
                    known[rows, k] = True
                here = node[active, t]
                goes_left = values[active, wanted] <= forest.threshold[here]
                node[active, t] = np.where(goes_left, forest.left[here], forest.right[here])
                active = active[self._keep[node[active, t]] != 0]
        answer = forest.decide_at(node.T)
        if forest.classes is not None:
            answer = self.classes_[answer]
        return Bunch(prediction=answer, acquired=known, cost=self._prices.paid(known))

    def _validate(self, X, y=None):
        if y is None:
            return validate_data(self, X, reset=False, dtype=np.float64)
        regression = self._forest.classes is None
        return validate_data(self, X, y, reset=False, dtype=np.float64, y_numeric=regression)


def _fetched(values, name, n_rows):
    values = np.asarray(values, dtype=np.float64).reshape(-1)
    if values.shape != (n_rows,) or not np.isfinite(values).all():
        raise ValueError(
            f"fetch({name!r}, rows) returned {values!r} for {n_rows} rows. Return one finite "
            "number for each."
        )
    return values
