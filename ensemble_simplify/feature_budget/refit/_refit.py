"""Ensembles fitted with prices in mind: candidates for the best classifier within a budget.

Sets of features at falling prices are chosen by what each feature is worth for its price. On
smaller and smaller sets ensembles are grown, and pruned along their whole path. Every pruning is
judged on rows that it has not seen."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, lasso_path
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.tree import (
    BaseDecisionTree,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)
from sklearn.utils import Bunch

from ensemble_simplify.base import class_index, report, safe_indexing
from ensemble_simplify.feature_budget._case import (
    PruningCase,
    has_held_out_rows,
    held_out_rows,
    is_grown_on,
    routed,
    voting_trees,
)
from ensemble_simplify.feature_budget._entry import Entry
from ensemble_simplify.feature_budget.growing._budget_forest import BudgetForestClassifier
from ensemble_simplify.feature_budget.pruning._choice import ROUNDING
from ensemble_simplify.grid import is_late, time_left
from ensemble_simplify.reading import VOTE_SECONDS, TableCodes, family_of, on_codes, tree_estimators

# Each set of features costs at most this share of the one before.
_SHRINK = 0.8

# Levels of an L1 penalty, and the last of them as a share of the one that lets nothing in.
_N_PENALTIES = 16
_LAST_PENALTY = 3e-3
# An L1 penalty as scikit-learn states it from release 1.8 on, and before.
_SAYS_L1_RATIO = getattr(LogisticRegression(), "penalty", "deprecated") == "deprecated"
_L1 = {"l1_ratio": 1.0} if _SAYS_L1_RATIO else {"penalty": "l1"}

# Share of the features after which the others are left out.
_ENOUGH_FEATURES = 0.7
# Columns whose spread is below this share of their mean are constant.
_ROUNDING = 1e-10

# By less than the step from one level to the next, penalties are interpolated.
_BETWEEN = 0.4


def feature_sets(prices, importance_on, budget=np.inf):
    """Smaller and smaller sets of features, the least gain for its price left out first.

    `importance_on` takes the features of a set, and returns what each is worth in it (None: time is
    up). If `budget` is within the price of all features, one of the sets fills it. The first set of
    the list are all features.
    """
    kept = np.arange(len(prices.resources))
    sets = []
    while True:
        sets.append(kept)
        worth = importance_on(kept)
        if worth is None or len(kept) == 1:
            return sets
        value = np.zeros(len(prices.resources))
        value[kept] = worth
        price = prices.of_set(kept)
        goal = _SHRINK * price
        if goal < budget < price * (1 - ROUNDING):
            goal = budget
        smaller = within_price(prices, kept, value, goal)
        if len(smaller) == len(kept):
            return sets
        kept = smaller


def within_price(prices, kept, value, goal):
    """What is left of a set when the least worth for its price is left out, filled up to a price.

    `value` says what each feature is worth.
    """
    goal = goal * (1 + ROUNDING)
    smaller = kept
    while prices.of_set(smaller) > goal:
        left = without_the_least(prices, smaller, value)
        if left is None:
            return smaller
        smaller = left
    return filled_up(prices, smaller, np.setdiff1d(kept, smaller), value, goal)


def sparse_worth(X, y, weight, *, classification):
    """The strongest penalty under which each feature has a coefficient; 0: none.

    Coefficients are those of a lasso, or for classes of a logistic regression of each class with
    an L1 penalty. Columns have unit variance, and missing values are their mean. The last few that
    would join are left at 0, which takes much of the time, and so are more where time is up.
    """
    X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
    worth = np.zeros(X.shape[1])
    if len(y) == 0 or np.ptp(y) == 0:
        return worth
    share = weight / weight.sum()
    known = np.isfinite(X)
    counted = np.maximum(share @ known, np.finfo(float).tiny)
    mean = share @ np.where(known, X, 0) / counted
    columns = np.where(known, X - mean, 0)
    spread = np.sqrt(share @ columns**2)
    # What is left of a constant is rounding.
    varies = spread > _ROUNDING * np.abs(mean)
    columns = np.where(varies, columns / np.where(varies, spread, 1), 0)
    sides = [np.asarray(y, dtype=np.float64)]
    if classification:
        classes = np.unique(y)
        sides = [y == c for c in classes[len(classes) == 2 :]]
    for side in sides:
        slope = np.abs((share * (side - share @ side)) @ columns).max()
        if slope == 0:
            continue
        penalties = slope * np.geomspace(1, _LAST_PENALTY, _N_PENALTIES)
        path = _logistic_path if classification else _linear_path
        for penalty, coefficients in zip(
            penalties, path(columns, side, share, penalties), strict=True
        ):
            # Those with the largest coefficients joined first since the level before.
            size = np.abs(coefficients)
            relative = size / max(size.max(), np.finfo(float).tiny)
            worth = np.maximum(
                worth, np.where(relative > 0, penalty * (1 + relative * _BETWEEN), 0)
            )
            if np.count_nonzero(relative) >= _ENOUGH_FEATURES * len(relative) or is_late():
                break
    return worth


def _linear_path(X, y, share, penalties):
    """Coefficients of a lasso at each of the penalties of the mean loss of the rows."""
    root = np.sqrt(share * len(X))
    target = root * (y - share @ y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return lasso_path(X * root[:, None], target, alphas=penalties, tol=1e-6)[1].T


def _logistic_path(X, y, share, penalties):
    """The same of a logistic regression, one after the other."""
    for penalty in penalties:
        strength = 1 / (penalty * len(X))
        model = LogisticRegression(solver="liblinear", C=strength, random_state=0, **_L1)
        with warnings.catch_warnings():
            # The order in which features join is sure long before the last digits are.
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y, sample_weight=share * len(X))
        yield model.coef_[0]


def without_the_least(prices, kept, value):
    """A set without the feature or group of least value for its price; None if nothing is left."""
    of_feature, group, group_price = _shared_prices(prices)
    group, gain = group[kept], value[kept]
    n_groups = len(group_price)
    # Singly, the last of a group saves the price of that, too.
    size = np.bincount(group, minlength=n_groups)
    saved = of_feature[kept] + np.where(size[group] == 1, group_price[group], 0)
    whole = np.bincount(group, weights=of_feature[kept], minlength=n_groups) + group_price
    whole[[0, *np.flatnonzero(size == 0)]] = 0  # no group, or none of it left
    saved = np.append(saved, whole)
    gain = np.append(gain, np.bincount(group, weights=gain, minlength=n_groups))
    saved[len(kept) :][size == len(kept)] = 0
    if len(kept) == 1 or not (saved > 0).any():
        return None
    ratio = np.full(len(saved), np.inf)
    np.divide(gain, saved, out=ratio, where=saved > 0)
    least = int(np.argmin(ratio))
    if least < len(kept):
        return np.delete(kept, least)
    return kept[group != least - len(kept)]


def filled_up(prices, kept, others, value, goal):
    """A set with more of other features while they fit, the most value for its price first."""
    of_feature, group, group_price = _shared_prices(prices)
    while len(others):
        bought = np.isin(group[others], group[kept])
        more = of_feature[others] + np.where(bought, 0, group_price[group[others]])
        fits = prices.of_set(kept) + more <= goal
        others, more = others[fits], more[fits]
        if len(others):
            # First of all what is free.
            ratio = np.full(len(others), np.inf)
            np.divide(value[others], more, out=ratio, where=more > 0)
            best = np.lexsort((-value[others], -ratio))[0]
            kept, others = np.sort(np.append(kept, others[best])), np.delete(others, best)
    return kept


def _shared_prices(prices):
    """Prices of the features alone, the group of each (0: none), and prices of the groups."""
    priced = np.append(prices.price, 0.0)
    groups, group = np.unique(np.append(-1, prices.resources[:, 1]), return_inverse=True)
    return priced[prices.resources[:, 0]], group[1:], priced[groups]


@dataclass(frozen=True)
class Effort:
    """How many ensembles and prunings are tried and judged."""

    # From so many rows times trees on, candidates have trees of the given kind only.
    many: float = 1e6
    # Trees of a candidate, unless the estimator says how many.
    n_trees: int = 100
    # Each ensemble is first tried with this share of its trees,
    trial_share: float = 0.25
    # but with at least so many.
    trial_trees: int = 25
    # For each of so many budgets,
    n_budgets: int = 10
    # so many of the best trials are grown in full.
    n_kept: int = 2
    # Prunings of a path that are judged, at most.
    max_judged: int = 24
    # Folds in which an ensemble without bootstrapping is judged.
    n_folds: int = 5
    # Rows, at most, whose scores are kept one by one for each pruning.
    max_sampled: int = 2000


EFFORT = Effort()

# Penalties of forests with shared purchases, by the kind of purchase.
_PENALTIES = {"rows": (0.1, 0.3, 1.0, 2.0), "forest": (0.05, 0.1, 0.2, 0.3, 0.5)}

_FORESTS = (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)


@dataclass(eq=False)
class JudgedEnsemble:
    """An ensemble, its prunings, and how they do on rows that they have not seen."""

    name: str
    estimator: object  # fitted; None where other candidates are better for every budget
    features: np.ndarray  # those that it may ask for
    index: np.ndarray  # prunings on the path of the ensemble; -1: not pruned
    costs: np.ndarray  # mean cost of the rows of the fit
    errors: np.ndarray  # of the vote on rows not grown on
    scores: np.ndarray  # what the choice goes by
    of_rows: np.ndarray  # what some rows add to the scores; NaN: no tree votes on them


# ------------------------------------------------------------------- ensembles on them


def families(estimator, n_trees):
    """Unfitted ensembles of bootstrapped trees, by name: the user's kind, and others."""
    regression = is_regressor(estimator)
    plain = DecisionTreeRegressor if regression else DecisionTreeClassifier
    random = ExtraTreeRegressor if regression else ExtraTreeClassifier
    some = 1 / 3 if regression else "sqrt"
    members = {
        "forest": plain(max_features=some),
        "bagging": plain(min_samples_leaf=3),
        "extra trees": random(max_features=some),
    }
    member = _member_of(estimator)
    if member is not None and all(repr(member) != repr(other) for other in members.values()):
        members = {"own": member, **members}
    bag = BaggingRegressor if regression else BaggingClassifier
    return {name: bag(member, n_estimators=n_trees) for name, member in members.items()}


def shared_purchases(prices, n_trees):
    """Unfitted forests in which rows, or all of them together, pay for a feature once."""
    return [
        BudgetForestClassifier(
            n_estimators=n_trees, purchases=purchases, penalty=penalty, **prices.as_parameters()
        )
        for purchases, penalties in _PENALTIES.items()
        for penalty in penalties
    ]


def _member_of(estimator):
    """A tree grown as those of an ensemble; None if that cannot be told."""
    if isinstance(estimator, _FORESTS):
        member = clone(estimator.estimator)
        options = {name: getattr(estimator, name) for name in estimator.estimator_params}
        return member.set_params(**options | {"random_state": None})
    if isinstance(estimator, BudgetForestClassifier) or not isinstance(
        estimator, (BaggingClassifier, BaggingRegressor)
    ):
        return None
    member = estimator.estimator
    if not isinstance(member, BaseDecisionTree):
        return None
    return clone(member).set_params(random_state=None)


def fit_on(ensemble, features, X, y, sample_weight, seed, n_jobs, names=None):
    """A bagging ensemble on some features, which takes rows of all of them."""
    model = clone(ensemble).set_params(random_state=seed, n_jobs=n_jobs)
    columns = np.ascontiguousarray(X[:, features])
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    model.fit(columns, y, **weights)
    bagged: Any = family_of(model)  # forests and bagging alone can widen their members
    bagged.widen_members(features, X.shape[1], names)
    return model


def importances(model, features):
    """Mean decrease of impurity by each of the features of an ensemble made by `fit_on`."""
    total = np.zeros(len(features))
    for tree, _ in tree_estimators(model):
        total += tree.feature_importances_
    return total


# ------------------------------------------------------------------- judging


def judged_prunings(case) -> np.ndarray:
    """Some prunings of a path, evenly by cost, and -1 for the unpruned ensemble.

    That may cost no more than the first of the path, whose single trees err less, but it can vote
    better.
    """
    path = case.path
    wanted = np.linspace(0, path.costs[0], EFFORT.max_judged)
    nearest = np.unique(np.searchsorted(-path.costs, -wanted).clip(0, len(path.costs) - 1))
    return np.append(-1, nearest)


def judge(case, keeps, weight, *, drop, held_out=None, every_row=False):
    """Errors and scores of prunings by the votes on each row of trees that were not grown on it.

    `keeps` are masks over nodes, `held_out` (uint8, rows by trees) says which rows each tree was
    not grown on (None: those out of its bag). With `every_row`, a row without a vote counts as
    answered by the mean of the roots; else it is left out. Prunings of few trees would else be
    judged on few rows. With `drop`, trees without splits do not vote.
    """
    if held_out is None:
        held_out = held_out_rows(case.estimator, case.problem.n_rows)
    leaf = case.problem.leaf
    judged = Judged(case, weight)
    for keep in keeps:
        votes, counts = held_out_votes(case, leaf, keep, held_out, drop=drop)
        if every_row:
            votes[counts == 0] = case.forest.value[case.forest.offsets[:-1]].mean(axis=0)
            counts[counts == 0] = 1
        judged.add(votes, counts)
    return judged


def best_vote(case, keeps, *, drop) -> int:
    """Which of some prunings within a budget votes best, as far as the rows tell.

    The first has the lowest error of the trees. Rows that the trees were grown on tell by the
    trees that have not seen them; if every tree has seen every row, they do not. Where there is no
    time to ask the rows, it is the first.
    """
    asked = len(keeps) * case.problem.leaf.size
    if not has_held_out_rows(case.estimator) or asked * VOTE_SECONDS > time_left():
        return 0
    held_out = None
    if not is_grown_on(case):
        held_out = np.ones((case.problem.n_rows, case.forest.n_trees), dtype=np.uint8)
    weight = case.problem.weight
    judged = judge(case, keeps, weight, drop=drop, held_out=held_out, every_row=True)
    return int(np.argmin(judged.scores))


def held_out_votes(case, leaf, keep, held_out, *, drop):
    """Votes on each row of the trees that were not grown on it, and how many voted.

    Of shape (n_rows, n_scores) and (n_rows,); `held_out` and `leaf` have a column for each tree.
    """
    forest, problem = case.forest, case.problem
    stop = problem.stops(keep)
    votes = np.zeros((problem.n_rows, forest.n_scores))
    counts = np.zeros(problem.n_rows)
    for t in voting_trees(forest, keep, drop=drop):
        out = np.flatnonzero(held_out[:, t])
        votes[out] += forest.value[stop[leaf[out, t]]]
        counts[out] += 1
    return votes, counts


def losses_of_votes(forest, votes, counts, target):
    """What each row adds to the error of the vote, and to the score that the choice goes by.

    The score of a classifier is its error plus half its Brier score: on few rows that says more
    than the error alone. `votes` are sums over `counts` trees; rows without a vote get NaN.
    """
    mean = np.full(votes.shape, np.nan)
    np.divide(votes, counts[:, None], out=mean, where=counts[:, None] > 0)
    if forest.classes is None:
        error = (mean[:, 0] - target) ** 2
        return error, error
    error = np.where(counts > 0, mean.argmax(axis=1) != target, np.nan)
    truth = target[:, None] == np.arange(forest.n_classes)
    return error, error + _BRIER * ((mean - truth) ** 2).sum(axis=1)


class Judged:
    """Errors and scores of prunings by votes on held-out rows: means over those with a vote.

    `of_rows` holds the scores of the rows in `sample`, float32, for every pruning.
    """

    def __init__(self, case, weight):
        self.case, self.weight = case, weight
        self.errors, self.scores, self.of_rows = [], [], []
        self.sample = sampled_rows(len(weight))

    def add(self, votes, counts) -> None:
        """Judge the votes of one pruning."""
        losses = losses_of_votes(self.case.forest, votes, counts, self.case.target)
        seen = (counts > 0) & (self.weight > 0)
        for means, loss in zip((self.errors, self.scores), losses, strict=True):
            mean = np.average(loss[seen], weights=self.weight[seen]) if seen.any() else np.inf
            means.append(float(mean))
        self.of_rows.append(losses[1][self.sample].astype(np.float32))


def sampled_rows(n_rows):
    """Rows whose scores are compared one by one: all, unless there are many."""
    if n_rows <= EFFORT.max_sampled:
        return np.arange(n_rows)
    return np.random.default_rng(0).choice(n_rows, EFFORT.max_sampled, replace=False)


# Weight of the Brier score in the choice among candidates.
_BRIER = 0.5


def folds_of(y, classification, seed):
    """Folds for an ensemble whose trees were all grown on all rows."""
    smallest = np.bincount(y).min() if classification else 0
    kind = StratifiedKFold if classification and smallest >= EFFORT.n_folds else KFold
    n_folds = min(EFFORT.n_folds, len(y))
    return list(kind(n_folds, shuffle=True, random_state=seed).split(np.zeros(len(y)), y))


# ------------------------------------------------------------------- all together


@dataclass(eq=False)
class CandidateSearch:
    """Fits candidates on some rows, and judges their prunings."""

    pruner: Any  # a `FeatureBudgetPruner`, whose parameters and prices count
    contest: Contest
    sample_weight: np.ndarray | None  # for fitting; the contest has those for counting
    seed: int

    def __post_init__(self) -> None:
        contest, pruner = self.contest, self.pruner
        self.X, self.y, self.weight = contest.X, contest.y, contest.weight
        self.state, self.prices, self.ties = pruner._state, pruner._prices, pruner.ties
        # whether trees without splits are left out of the vote
        self.drop = pruner.drop_trees
        self.found, self.trials = [], []
        self.is_complete = True
        # Prunings found on one half of the rows are judged on the other.
        self.is_first = np.random.default_rng(self.seed).permutation(len(self.X)) % 2 == 0

    def run(self, unfitted, rows):
        """All candidates, as a list of `JudgedEnsemble`.

        `unfitted` is the user's ensemble, and `rows` are as its trees split them.
        """
        own, every = self.contest.own, np.arange(self.X.shape[1])
        if has_held_out_rows(own.estimator):
            index = judged_prunings(own)
            keeps = [own.kept(k, self.ties) for k in index]
            judged = judge(own, keeps, self.weight, drop=self.drop)
            self._keep(self._candidate("as given", own, every, index, judged))
        else:
            self._cross_judge("as given", own, unfitted, rows)
        n_trees = getattr(unfitted, "n_estimators", EFFORT.n_trees)
        ensembles = families(unfitted, n_trees)
        # On many rows every ensemble takes long: the user's own kind is tried alone.
        if len(self.X) * n_trees > EFFORT.many:
            kind = next(iter(ensembles))
            ensembles = {kind: ensembles[kind]}
        elif own.forest.classes is not None:
            for model in shared_purchases(self.prices, n_trees):
                if is_late():
                    self.is_complete = False
                    break
                self._try("grown with prices", model, every)
        grow, budget = partial(self._grow_all, ensembles), self.pruner._budget_in_cost()
        sets = feature_sets(self.prices, grow, budget)
        self._grow_sparse(ensembles, own, sets)
        self._grow_the_best()
        return self.found

    def _grow_sparse(self, ensembles, own, sets) -> None:
        """Trials on the features that L1 penalties choose, at the prices of other sets."""
        if not self.is_complete:
            return
        rows, is_classifier = sampled_rows(len(self.X)), own.forest.classes is not None
        given = self.X[rows], own.target[rows], self.weight[rows]
        value = sparse_worth(*given, classification=is_classifier)
        known = {tuple(features) for features in sets}
        for features in sets[1:]:
            chosen = within_price(self.prices, sets[0], value, self.prices.of_set(features))
            if tuple(chosen) not in known:
                known.add(tuple(chosen))
                self._grow_all(ensembles, chosen)

    def _grow_all(self, ensembles, features):
        """Trials of every kind on some features; what these are worth to the first kind."""
        worth = None
        for k, (name, ensemble) in enumerate(ensembles.items()):
            # The first leads the way; the others go along where there is time.
            if is_late():
                self.is_complete = False
                return None
            model = self._try(name, ensemble, features)
            if k == 0:
                worth = importances(model, features)
        return worth

    def _try(self, name, ensemble, features):
        """Judge an ensemble by some of its trees; all, if it has few."""
        n_trees = ensemble.n_estimators
        few = min(n_trees, max(EFFORT.trial_trees, round(EFFORT.trial_share * n_trees)))
        trial = ensemble if few == n_trees else clone(ensemble).set_params(n_estimators=few)
        model, candidate = self._add(name, trial, features)
        if candidate is not None:
            if few == n_trees:
                self._keep(candidate)
            else:
                self.trials.append((candidate, ensemble))
        return model

    def _grow_the_best(self) -> None:
        """Grow those in full whose trials were among the best within some budget.

        Besides the best by their scores, the one that would be chosen for its larger set.
        """
        if not self.trials:
            return
        points = PruningChoices([one for one, _ in self.trials], self.weight)
        order = []
        for budget in np.linspace(0, points.costs.max(), EFFORT.n_budgets + 1)[:0:-1]:
            lowest = [
                one.scores[one.costs <= budget * (1 + 1e-9)].min(initial=np.inf)
                for one, _ in self.trials
            ]
            order += np.argsort(lowest, kind="stable")[: EFFORT.n_kept].tolist()
            order.append(int(points.of[points.choice(budget, unpruned=True)]))
        for i in dict.fromkeys(order):
            trial, ensemble = self.trials[i]
            candidate = None
            if not is_late():
                _, candidate = self._add(trial.name, ensemble, trial.features)
            if candidate is None:
                # Out of time: the few trees are there.
                self.is_complete = False
                candidate = trial
            self._keep(candidate)

    def _add(self, name, ensemble, features):
        """Grow an ensemble, and judge it if there is time."""
        # what stands behind codes is given arrays
        known = self.contest.codes is None
        names = getattr(self.pruner, "feature_names_in_", None) if known else None
        rows, options = (self.X, self.y, self.sample_weight), (self.seed, self.pruner.n_jobs, names)
        model = fit_on(ensemble, features, *rows, *options)
        held_out = held_out_rows(model, len(self.X))
        case = self.state(model, self.X, self.y, self.weight, "oob", held_out=held_out)
        index = judged_prunings(case)
        halves = self._halves(case, held_out)
        if is_late():
            # A path may have been cut short.
            self.is_complete = False
            return model, None
        if halves is None:
            keeps = [case.kept(k, self.ties) for k in index]
            judged = judge(case, keeps, self.weight, drop=self.drop, held_out=held_out)
        else:
            judged = self._judge_crosswise(case, halves, index, held_out)
        return model, self._candidate(name, case, features, index, judged)

    def _halves(self, case, held_out):
        """The pruning of an ensemble on either half of the rows; None if they are too few."""
        weights = [self.weight * half for half in (self.is_first, ~self.is_first)]
        if any((weight @ held_out <= 0).any() for weight in weights):
            return None
        return tuple(
            self.state(case.estimator, self.X, self.y, weight, "oob", like=case, held_out=held_out)
            for weight in weights
        )

    def _judge_crosswise(self, case, halves, index, held_out):
        """As `judge`, for trees pruned by their out-of-bag errors on the very same rows.

        Each half of the rows is judged by prunings that were found on the other half, of about the
        same cost. `index` are prunings on the path of `case`; -1: not pruned.
        """
        leaf = case.problem.leaf
        votes = np.zeros((len(index), case.problem.n_rows, case.forest.n_scores))
        counts = np.zeros((len(index), case.problem.n_rows))
        for half, others in zip(halves, (~self.is_first, self.is_first), strict=True):
            unseen = held_out * others[:, None]
            for i, k in enumerate(index):
                if k >= 0:
                    k = int(np.argmin(np.abs(half.path.costs - case.path.costs[k])))
                keep = half.kept(k, self.ties)
                of_half = held_out_votes(case, leaf, keep, unseen, drop=self.drop)
                votes[i] += of_half[0]
                counts[i] += of_half[1]
        judged = Judged(case, self.weight)
        for of_half in zip(votes, counts, strict=True):
            judged.add(*of_half)
        return judged

    def _cross_judge(self, name, case, unfitted, rows) -> None:
        """Judge an ensemble whose trees were grown on all rows by cross-validation."""
        forest = case.forest
        index = judged_prunings(case)
        lams = case.path.lams[np.maximum(index, 0)]
        votes = np.zeros((len(index), len(self.X), forest.n_scores))
        for train, test in folds_of(case.target, forest.classes is not None, self.seed):
            weight = None
            if self.sample_weight is not None:
                weight = {"sample_weight": safe_indexing(self.sample_weight, train)}
            model = clone(unfitted).fit(rows[train], self.y[train], **(weight or {}))
            known = self.y[train], self.weight[train]
            fold = self.state(model, rows[train], *known, "given", source=case.source)
            leaf = routed(fold.forest, rows[test])
            # A fold may lack classes: its answers go to the columns of those it knows.
            columns = np.zeros(1, dtype=np.intp)
            if forest.classes is not None:
                columns = class_index(fold.forest.classes, forest.classes)
            on_path = np.searchsorted(fold.path.lams, lams, side="right") - 1
            for i, k in enumerate(np.where(index < 0, -1, on_path)):
                keep = fold.kept(k, self.ties)
                stop = fold.problem.stops(keep)[leaf]
                for t in voting_trees(fold.forest, keep, drop=self.drop):
                    votes[i][np.ix_(test, columns)] += fold.forest.value[stop[:, t]]
        judged = Judged(case, self.weight)
        for vote in votes:
            # Means of probabilities add up to one whatever number of trees voted.
            counts = vote.sum(axis=1) if forest.classes is not None else np.ones(len(vote))
            judged.add(vote, counts)
        every = np.arange(self.X.shape[1])
        self._keep(self._candidate(name, case, every, index, judged))

    def _candidate(self, name, case, features, index, judged):
        costs = np.where(index < 0, case.problem.unpruned_cost, case.path.costs[index])
        errors, scores = np.array(judged.errors), np.array(judged.scores)
        report(
            self.pruner,
            f"{name} on {len(features)} features, {case.forest.n_trees} trees: cost "
            f"{costs.max():.6g} a row, error on rows not grown on {errors.min():.4f}",
        )
        of_rows = np.array(judged.of_rows)
        return JudgedEnsemble(name, case.estimator, features, index, costs, errors, scores, of_rows)

    def _keep(self, candidate) -> None:
        self.found.append(candidate)
        # What no budget is spent on is remembered by its figures alone.
        points = PruningChoices(self.found, self.weight)
        wanted = {int(points.of[points.choice(cost)]) for cost in np.unique(points.costs)}
        for i, one in enumerate(self.found[1:], start=1):
            if i not in wanted:
                one.estimator, one.of_rows = None, one.of_rows[:0]


class PruningChoices:
    """Prunings of several candidates, and the choice among them.

    Candidates without an estimator are left out.
    """

    def __init__(self, candidates, weight):
        kept = [i for i, one in enumerate(candidates) if one.estimator is not None]
        parts = [candidates[i] for i in kept]
        self.of = np.repeat(kept, [len(one.costs) for one in parts])
        self.index = np.concatenate([one.index for one in parts])
        self.costs = np.concatenate([one.costs for one in parts])
        self.scores = np.concatenate([one.scores for one in parts])
        self.of_rows = np.concatenate([one.of_rows for one in parts])
        self.weight = weight[sampled_rows(len(weight))]
        # A sample spreads as all rows do; their mean is the surer, the more there are.
        self.shrink = np.sqrt(len(self.weight) / len(weight))
        self.tied = {}

    def lowest(self, budget):
        """The lowest score within a budget."""
        return self.scores[self.costs <= budget * (1 + ROUNDING)].min()

    def choice(self, budget, *, unpruned=False) -> int:
        """The dearest within a budget of those that do as well as the best, as far as rows tell.

        The features were chosen, and the trees pruned, on the same rows on which a candidate is
        judged: the lowest of many scores is too good to be true, the more so the smaller the set of
        features. Scores that are less than a standard error of their difference apart are taken as
        equal, and more features bought as the better guess. With `unpruned`, only ensembles that
        are not pruned count, if any of them is within the budget.
        """
        fits = self.costs <= budget * (1 + ROUNDING)
        if unpruned and (fits & (self.index < 0)).any():
            fits &= self.index < 0
        within = np.flatnonzero(fits)
        best = within[np.lexsort((self.costs[within], self.scores[within]))[0]]
        equal = within[self._ties(best)[within]]
        return int(equal[np.lexsort((self.scores[equal], -self.costs[equal]))[0]])

    def _ties(self, best):
        """Mask of the points whose scores are no further off than the rows tell."""
        if best not in self.tied:
            difference = self.of_rows - self.of_rows[best]
            seen = np.isfinite(difference)
            difference[~seen] = 0
            weight = np.where(seen, self.weight, 0)
            total = np.maximum(weight.sum(axis=1), np.finfo(np.float32).tiny)
            mean = (weight * difference).sum(axis=1) / total
            spread = (weight * (difference - mean[:, None])) ** 2
            error = self.shrink * np.sqrt(spread.sum(axis=1)) / total
            self.tied[best] = self.scores <= self.scores[best] + _TIE * error
        return self.tied[best]


# Standard errors that scores must be apart to count as different.
_TIE = 1.0


# ------------------------------------------------------------------- who wins


@dataclass(eq=False)
class Contest:
    """Ensembles that compete for a budget, and the rows on which they are judged."""

    own: PruningCase  # of the given ensemble
    entry: Entry  # of the given ensemble
    codes: TableCodes | None  # the step before the others that makes numbers of the rows, if any
    X: np.ndarray  # the rows as the others take them
    y: np.ndarray
    weight: np.ndarray
    judged: list[JudgedEnsemble] = field(default_factory=list)  # the given one is the first

    def winner(self, budget):
        """The ensemble and its pruning that do best within a budget, and the lowest score there.

        They are told by their numbers: of the ensemble, and of the pruning on its path.
        """
        points = PruningChoices(self.judged, self.weight)
        chosen = points.choice(budget)
        return int(points.of[chosen]), points.index[chosen], points.lowest(budget)

    def entrant(self, i, state):
        """The case and the entry of an ensemble, as ``state(estimator, ...)`` states it again."""
        if i == 0:
            return self.own, self.entry
        ensemble = self.judged[i].estimator
        case = state(ensemble, self.X, self.y, self.weight, "oob")
        return case, Entry.of(ensemble if self.codes is None else on_codes(self.codes, ensemble))

    def described(self):
        """What users see: names, features, costs and errors, and the best of all prunings."""
        described = Bunch(
            names=[one.name for one in self.judged],
            features=[one.features for one in self.judged],
            costs=[one.costs for one in self.judged],
            errors=[one.errors for one in self.judged],
        )
        costs, errors = np.concatenate(described.costs), np.concatenate(described.errors)
        of = np.repeat(np.arange(len(described.costs)), [len(of_one) for of_one in described.costs])
        lowest = lower_envelope(costs, errors)
        described.envelope = Bunch(
            costs=costs[lowest], errors=errors[lowest], candidates=of[lowest]
        )
        return described


def lower_envelope(costs, errors):
    """Which points have no cheaper one of the same or a lower error, by rising cost."""
    order = np.lexsort((errors, costs))
    best = np.minimum.accumulate(errors[order])
    first = np.concatenate(([True], best[1:] < best[:-1]))
    return order[first]
