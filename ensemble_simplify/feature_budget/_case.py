"""An ensemble, read and stated as a pruning problem on some rows, with its path.

A pruning is written as an ensemble of scikit-learn, or walked feature by feature.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np
from sklearn.utils import Bunch

from ensemble_simplify.base import TimeLimitError, class_index
from ensemble_simplify.feature_budget.pruning._budget_path import BudgetPath, find_path
from ensemble_simplify.feature_budget.pruning._problem import (
    PruningProblem,
    node_losses,
    parents_and_order,
)
from ensemble_simplify.grid import Stopped
from ensemble_simplify.reading import Forest, Model, family_of, out_of_sample, tree_estimators
from ensemble_simplify.writing import pruned_copy


def voting_trees(forest, keep, *, drop):
    """Numbers of the trees that vote when the splits `keep` (uint8, by node) are left.

    With `drop`, trees without a split are left out, unless none has any.
    """
    grown = np.flatnonzero(keep[forest.offsets[:-1]])
    return grown if drop and grown.size else np.arange(forest.n_trees)


def decide_among(forest, trees, nodes):
    """Classes, or values for regression, of rows by the vote of some trees.

    `nodes`, of shape (n_rows, n_trees), says where the rows end in all trees.
    """
    if len(trees) == forest.n_trees:
        return forest.decide_at(nodes.T)
    numbers = replace(forest.vote.numbers, stop=len(trees), divisor=len(trees))
    vote = replace(forest.vote, numbers=numbers)
    return replace(forest, vote=vote).decide_at(nodes.T[trees])


def write_pruned(estimator, forest, keep, trees, *, own_values):
    """A deep copy of an ensemble with pruned trees in it; the ensemble is not changed.

    `keep` is 1 for each split that stays a split, `trees` are those that stay in the ensemble.
    Nodes have the values that the ensemble gave them (`own_values`), or those of `forest`.
    """
    pruned = {}
    for t, (tree, _) in enumerate(tree_estimators(estimator)):
        nodes = slice(forest.offsets[t], forest.offsets[t + 1])
        value = None if own_values else _values_for(tree, t, forest.value[nodes])
        pruned[id(tree)] = pruned_copy(tree, keep[nodes].astype(bool), value)
    # Whatever holds a tree holds the pruned one in the copy.
    ensemble = deepcopy(estimator, pruned)
    if len(trees) < forest.n_trees:
        family_of(ensemble).keep_members(trees)
    return ensemble


def _values_for(tree, t, value):
    """Class probabilities in the order of the classes that the tree knows."""
    classes = getattr(tree, "classes_", None)
    if classes is None or len(classes) == value.shape[1]:
        return value
    # Members of an ensemble that know fewer classes hold class indices.
    known = np.asarray(classes, dtype=np.intp)
    if (np.delete(value, known, axis=1) > 0).any():
        raise ValueError(
            f"labels='sample' cannot write the classes of the given rows into tree {t}, which was "
            "grown without some of them. Use labels='tree'."
        )
    return value[:, known]


def fetch_along_paths(forest, keep, fetch, names, n_samples, entry):
    """Send rows through pruned trees, and fetch a feature of a row when a split asks for it.

    ``fetch(name, rows)`` returns the values of a feature for some rows, of which `entry` makes the
    columns that the trees split.

    Returns
    -------
    node : ndarray of intp, shape (n_samples, n_trees)
        Where the rows end.
    known : ndarray of bool, shape (n_samples, n_features)
        What was fetched.
    """
    known = np.zeros((n_samples, len(names)), dtype=bool)
    values = np.zeros((n_samples, forest.n_features), dtype=np.float32)
    node = np.tile(forest.offsets[:-1], (n_samples, 1))
    for t in range(forest.n_trees):
        active = np.flatnonzero(keep[node[:, t]])
        while active.size:
            wanted = forest.feature[node[active, t]]
            asked = entry.source[wanted]
            # One question for all rows that lack a feature: it may be a laboratory that answers.
            for k in np.unique(asked[~known[active, asked]]):
                rows = active[asked == k]
                rows = rows[~known[rows, k]]
                made = np.flatnonzero(entry.source == k)
                values[rows[:, None], made] = _fetched(fetch, k, names[k], rows, entry)
                known[rows, k] = True
            here = node[active, t]
            value = values[active, wanted]
            goes_left = value <= forest.threshold[here]
            if forest.missing_left is not None:
                goes_left |= np.isnan(value) & forest.missing_left[here]
            node[active, t] = np.where(goes_left, forest.left[here], forest.right[here])
            active = active[keep[node[active, t]] != 0]
    return node, known


def _fetched(fetch, k, name, rows, entry):
    # text and a gap would else become text
    dtype = object if entry.table.coded[k] else None
    fetched = np.asarray(fetch(name, rows), dtype=dtype).reshape(-1)
    if fetched.shape == rows.shape:
        numbers = entry.table.columns[k].numbers(fetched, name)
        if not np.isinf(numbers).any():
            return entry.of_column(k, numbers)
    raise ValueError(
        f"fetch({name!r}, rows) returned {fetched!r} for {len(rows)} rows. Return one finite "
        "number, or NaN if it is missing, for each; or one level where the column holds such."
    )


@dataclass(frozen=True, eq=False)
class PruningCase:
    """An ensemble and all its prunings."""

    estimator: object  # what holds the trees, without steps before it
    forest: Forest  # what was read of it, with the node values of the pruned trees
    read: Forest  # the same with its own values
    problem: PruningProblem  # knows the user's columns alone
    target: np.ndarray  # class indices, or values for regression
    path: BudgetPath | None  # None: it is only followed as far as needed
    source: np.ndarray  # the user's column that each column of `forest` is made of

    def kept(self, k, ties):
        """Splits kept by pruning `k` of the path; -1: all."""
        if k < 0:
            return self.problem.split
        return self.problem.expand(self.path.chosen(k, ties), ties)

    def row_losses(self, keep, stopped, target, *, drop):
        """Loss of each row in a pruned ensemble, from the nodes where the rows stop.

        With `drop`, trees that have lost all their splits do not vote.
        """
        answer = decide_among(self.forest, voting_trees(self.forest, keep, drop=drop), stopped)
        if self.forest.classes is None:
            return (answer - target) ** 2
        return (answer != target).astype(np.float64)

    def described_path(self, ties):
        """The path as users see it: price levels, costs, errors, numbers of splits and features."""
        kept = [self.kept(k, ties) > 0 for k in range(len(self.path.lams))]
        feature = self.problem.feature
        return Bunch(
            lams=self.path.lams,
            costs=self.path.costs,
            errors=self.path.losses,
            n_splits=np.array([np.count_nonzero(keep) for keep in kept]),
            n_features=np.array([np.count_nonzero(np.bincount(feature[keep])) for keep in kept]),
        )

    def path_scores(self, leaf, target, weight, prices, *, ties, drop):
        """Errors and costs of all prunings on the path, on rows that end in the nodes `leaf`."""
        problem = self.problem

        def measure(keep):
            loss = self.row_losses(keep, problem.stops(keep)[leaf], target, drop=drop)
            error = float(np.average(loss, weights=weight))
            spread = float(np.sqrt(np.sum((weight * (loss - error)) ** 2))) / weight.sum()
            bought = prices.bought(problem.acquired(leaf, keep))
            return error, spread, weight @ bought / weight.sum() * prices.price

        points = [measure(self.kept(k, ties)) for k in range(len(self.path.lams))]
        error, _, paid = measure(problem.split)
        spent = np.array([one[2] for one in points])
        return Bunch(
            lams=self.path.lams,
            errors=np.array([one[0] for one in points]),
            standard_errors=np.array([one[1] for one in points]),
            costs=spent.sum(axis=1),
            costs_by_name=dict(zip(prices.names, spent.T, strict=True)),
            unpruned_error=error,
            unpruned_cost=float(paid.sum()),
        )


def state_case(pruner, estimator, X, y, weight, errors, *, like=None, held_out=None, source=None):
    """Read an ensemble and state its pruning on some rows, as a `PruningCase`.

    Parameters of the `FeatureBudgetPruner` count, but for `errors`. `like` is a case of the same
    ensemble and rows with other weights, whose nodes need not be read again; `held_out` a mask of
    the rows on which each tree was not grown, if it is at hand; `source` the user's column that
    each column of `X` is made of.
    """
    forest = Model.of(estimator).forest if like is None else like.read
    if not forest.vote.is_mean_of_trees:
        raise TypeError(
            f"estimator={type(estimator).__name__}(...) does not average single trees, "
            "so their mean error says nothing about it. Use a forest, or bagging of trees."
        )
    if source is None:
        source = np.arange(forest.n_features)
    target = y if forest.classes is None else class_index(y, forest.classes)
    leaf = routed(forest, X) if like is None else like.problem.leaf
    counted = np.empty((0, 0), dtype=np.uint8)  # all rows
    if errors == "oob":
        counted = held_out
        if counted is None:
            counted = held_out_rows(estimator, len(X))
    how = {"loss": _loss_of(forest, pruner.loss), "labels": pruner.labels}
    nodes = parents_and_order(forest.offsets, forest.left, forest.right)
    losses, unit, value = node_losses(forest, nodes, leaf, target, weight, counted, **how)
    problem = PruningProblem(forest, nodes, source, leaf, weight, losses, unit, pruner._prices)
    path = None
    if pruner.solver == "min_cut" or not problem.has_costs:
        path = find_path(problem, shared=pruner.sharing == "ensemble")
    pruned = replace(forest, value=value)
    return PruningCase(estimator, pruned, forest, problem, target, path, source)


def routed(forest, X) -> np.ndarray:
    """The leaf of each row in each tree; without them there is nothing to return in time."""
    try:
        return forest.apply(X)
    except Stopped as error:
        raise TimeLimitError(
            f"time_limit was over before {len(X):,} rows had been sent through "
            f"{forest.n_trees} trees. Raise time_limit, or fit on fewer rows."
        ) from error


def has_held_out_rows(estimator) -> bool:
    """Whether the trees of an ensemble were each grown on a sample of the rows."""
    # Asked of the class: the property draws all samples again.
    return bool(getattr(estimator, "bootstrap", False)) and hasattr(
        type(estimator), "estimators_samples_"
    )


def held_out_rows(estimator, n_rows):
    """Mask of the rows on which each tree was not grown, of shape (n_rows, n_trees)."""
    remedy = "Use errors='given', or an ensemble with bootstrap=True fitted on these rows."
    if not has_held_out_rows(estimator):
        raise ValueError(
            "errors='oob' needs trees that were each grown on a bootstrap sample, but "
            f"{type(estimator).__name__}(...) has none. {remedy}"
        )
    try:
        out = out_of_sample(estimator, n_rows)
    except ValueError as error:
        raise ValueError(
            f"errors='oob' needs the rows of the ensemble. {error} {remedy}"
        ) from error
    return np.ascontiguousarray(out.T).view(np.uint8)


def is_grown_on(case) -> bool:
    """Whether the trees of a case were each grown on a sample of its rows.

    The leaves of the first tree count the rows that it was grown on.
    """
    if not has_held_out_rows(case.estimator):
        return False
    rows = np.unique(case.estimator.estimators_samples_[0])
    if rows.max() >= case.problem.n_rows:
        return False
    rows = rows[case.problem.weight[rows] > 0]
    nodes = tree_estimators(case.estimator)[0][0].tree_
    counts = np.bincount(case.problem.leaf[rows, 0], minlength=nodes.node_count)
    at_leaves = np.flatnonzero(nodes.children_left < 0)
    return bool((counts[at_leaves] == nodes.n_node_samples[at_leaves]).all())


def importance_ranking(case) -> np.ndarray:
    """Features by their mean decrease of impurity in an ensemble, the most important first."""
    total = np.zeros(case.forest.n_features)
    for tree, columns in tree_estimators(case.estimator):
        total[slice(None) if columns is None else columns] += tree.feature_importances_
    total = np.bincount(case.source, total, minlength=len(case.problem.resources))
    return np.argsort(-total, kind="stable")


def _loss_of(forest, loss):
    """The loss that a parameter stands for."""
    regression = forest.classes is None
    if loss == "auto":
        return "squared_error" if regression else "error"
    if (loss == "squared_error") != regression:
        raise ValueError(
            f"loss={loss!r} does not fit a {'regressor' if regression else 'classifier'}. "
            + ("Use 'squared_error'." if regression else "Use 'error', 'gini' or 'log_loss'.")
        )
    return loss
