"""Ensembles fitted with prices in mind: candidates for the best classifier within a budget.

Features are left out one after the other, or a group at once, those that gain least for what they
cost first. On each of these sets of features ensembles are grown, and pruned along their whole
path. Every pruning is judged on rows that it has not seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

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
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.tree import (
    BaseDecisionTree,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from ensemble_simplify._base import class_index, safe_indexing
from ensemble_simplify._forest import tree_estimators, widen_members
from ensemble_simplify.feature_budget._case import has_held_out_rows, held_out_rows
from ensemble_simplify.feature_budget._forest import BudgetForestClassifier
from ensemble_simplify.feature_budget._writing import voting_trees

# Each set of features costs at most this share of the one before.
_SHRINK = 0.8

# From so many rows times trees on, candidates have trees of the given kind only.
_MANY = 1e6

# Trees of a candidate, unless the estimator says how many.
_N_TREES = 100

# Each ensemble is first tried with this share of its trees, but not with fewer than so many.
_TRIAL_SHARE = 0.25
_TRIAL_TREES = 25

# Of the trials, so many are grown in full for each of so many budgets.
_N_KEPT = 2
_N_BUDGETS = 10

# Where unpruned ensembles are the best, they are grown with so many times the trees, too.
_LARGER = 2

# Penalties of forests with shared purchases.
_PENALTIES = {"rows": (0.1, 0.3, 1.0, 2.0), "forest": (0.05, 0.1, 0.2, 0.3, 0.5)}

# Prunings of a path that are judged.
_MAX_JUDGED = 24

_N_FOLDS = 5

_FORESTS = (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)


@dataclass(eq=False)
class Candidate:
    """An ensemble, its prunings, and how they do on rows that they have not seen.

    Attributes
    ----------
    name : str
    estimator : fitted ensemble or None
        None where other candidates are better for every budget.
    features : ndarray of intp
        Those that it may ask for.
    index : ndarray of intp, shape (n_judged,)
        Prunings on the path of the ensemble; -1: not pruned.
    costs, errors, scores : ndarray of shape (n_judged,)
        Mean cost of the rows of the fit; error of the vote on rows not grown on; what the choice
        goes by.
    """

    name: str
    estimator: object
    features: np.ndarray
    index: np.ndarray
    costs: np.ndarray
    errors: np.ndarray
    scores: np.ndarray


# ------------------------------------------------------------------- sets of features


def feature_sets(prices, importance_on):
    """Smaller and smaller sets of features, the least gain for its price left out first.

    Parameters
    ----------
    prices : Prices
    importance_on : callable
        Takes the features of a set, and returns what each is worth in it (None: time is up).

    Returns
    -------
    list of ndarray of intp
        From all features on.
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
        goal = _SHRINK * prices.of_set(kept)
        smaller = kept
        while prices.of_set(smaller) > goal:
            left = _without_the_least(prices, smaller, value)
            if left is None:
                break
            smaller = left
        if len(smaller) == len(kept):
            return sets
        kept = smaller


def _without_the_least(prices, kept, value):
    """A set without the feature or group of least value for its price; None if nothing is left."""
    whole = prices.of_set(kept)
    group = prices.resources[kept, 1]
    moves = [np.array([k]) for k in kept]
    moves += [kept[group == g] for g in np.unique(group[group >= 0])]
    best = None
    for move in moves:
        rest = np.setdiff1d(kept, move)
        saved = whole - prices.of_set(rest)
        if not len(rest) or saved <= 0:
            continue
        ratio = value[move].sum() / saved
        if best is None or ratio < best[0]:
            best = ratio, rest
    return None if best is None else best[1]


# ------------------------------------------------------------------- ensembles on them


def families(estimator, n_trees):
    """Unfitted ensembles of bootstrapped trees, by name: the user's kind, and others.

    Parameters
    ----------
    estimator : unfitted ensemble
    n_trees : int

    Returns
    -------
    dict
    """
    regression = is_regressor(estimator)
    plain = DecisionTreeRegressor if regression else DecisionTreeClassifier
    random = ExtraTreeRegressor if regression else ExtraTreeClassifier
    some = 1 / 3 if regression else "sqrt"
    members = {
        "forest": plain(max_features=some),
        "bagging": plain(min_samples_leaf=3),
        "extra trees": random(max_features=some),
    }
    own = _member_of(estimator)
    if own is not None and all(repr(own) != repr(other) for other in members.values()):
        members = {"own": own, **members}
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
    part = np.ascontiguousarray(X[:, features])
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    model.fit(part, y, **weights)
    widen_members(model, features, X.shape[1], names)
    return model


def importances(model, features):
    """Mean decrease of impurity by each of the features of an ensemble made by `fit_on`."""
    total = np.zeros(len(features))
    for tree, _ in tree_estimators(model):
        total += tree.feature_importances_
    return total


# ------------------------------------------------------------------- judging


def judged_prunings(case):
    """Some prunings of a path, evenly by cost, and -1 for the unpruned ensemble.

    That may cost no more than the first of the path, whose single trees err less, but it can vote
    better.
    """
    path = case.path
    wanted = np.linspace(0, path.costs[0], _MAX_JUDGED)
    nearest = np.unique(np.searchsorted(-path.costs, -wanted).clip(0, len(path.costs) - 1))
    return np.append(-1, nearest)


def judge(case, keeps, weight, *, drop, held_out=None, every_row=False):
    """Errors and scores of prunings by the votes on each row of trees that were not grown on it.

    Parameters
    ----------
    case : Case
        Of an ensemble of bootstrapped trees, on the rows that it was fitted on, or of another one.
    keeps : list of ndarray of uint8, shape (n_nodes,)
    weight : ndarray of shape (n_rows,)
    drop : bool
        Whether trees without splits are left out of the vote.
    held_out : ndarray of uint8, shape (n_rows, n_trees), or None
        Which rows each tree was not grown on; None: those out of its bag.
    every_row : bool, default=False
        Whether a row without a vote counts as answered by the mean of the roots; else it is left
        out. Prunings of few trees would else be judged on few rows.

    Returns
    -------
    errors, scores : ndarray of shape (n_keeps,)
    """
    if held_out is None:
        held_out = held_out_rows(case.estimator, case.problem.n_rows, case.forest.n_trees)
    leaf = case.problem.leaf_of_rows()
    points = []
    for keep in keeps:
        votes, counts = held_out_votes(case, leaf, keep, held_out, drop=drop)
        if every_row:
            votes[counts == 0] = case.forest.value[case.forest.offsets[:-1]].mean(axis=0)
            counts[counts == 0] = 1
        points.append(errors_of_votes(case.forest, votes, counts, case.target, weight))
    return np.array(points).T


def judge_crosswise(case, halves, is_first, index, weight, held_out, *, ties, drop):
    """As `judge`, for trees pruned by their out-of-bag errors on the very same rows.

    Each half of the rows is judged by prunings that were found on the other half, of about the
    same cost.

    Parameters
    ----------
    case : Case
    halves : tuple of Case
        The same with weights on the first half of the rows, and on the second.
    is_first : ndarray of bool, shape (n_rows,)
    index : ndarray of intp
        Prunings on the path of `case`; -1: not pruned.
    weight : ndarray of shape (n_rows,)
    held_out : ndarray of uint8, shape (n_rows, n_trees)
        Which rows each tree was not grown on.
    ties : {"keep", "prune"}
    drop : bool

    Returns
    -------
    errors, scores : ndarray of shape (n_prunings,)
    """
    leaf = case.problem.leaf_of_rows()
    votes = np.zeros((len(index), case.problem.n_rows, case.forest.n_scores))
    counts = np.zeros((len(index), case.problem.n_rows))
    for half, others in zip(halves, (~is_first, is_first), strict=True):
        unseen = held_out * others[:, None]
        for i, k in enumerate(index):
            if k >= 0:
                k = int(np.argmin(np.abs(half.path.costs - case.path.costs[k])))
            found = held_out_votes(case, leaf, half.kept(k, ties), unseen, drop=drop)
            votes[i] += found[0]
            counts[i] += found[1]
    return np.array(
        [
            errors_of_votes(case.forest, *found, case.target, weight)
            for found in zip(votes, counts, strict=True)
        ]
    ).T


def held_out_votes(case, leaf, keep, held_out, *, drop):
    """Votes on each row of the trees that were not grown on it.

    Parameters
    ----------
    case : Case
    leaf : ndarray of intp, shape (n_rows, n_trees)
    keep : ndarray of uint8, shape (n_nodes,)
    held_out : ndarray of uint8, shape (n_rows, n_trees)
    drop : bool

    Returns
    -------
    votes : ndarray of shape (n_rows, n_scores)
    counts : ndarray of shape (n_rows,)
        How many voted.
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


def errors_of_votes(forest, votes, counts, target, weight):
    """Error of the vote, and the score that the choice goes by; rows without a vote are left out.

    The score of a classifier is its error plus half its Brier score: on few rows that says more
    than the error alone.
    """
    seen = counts > 0
    mean, target, weight = votes[seen] / counts[seen, None], target[seen], weight[seen]
    if not weight.any():
        return np.inf, np.inf
    if forest.classes is None:
        error = float(np.average((mean[:, 0] - target) ** 2, weights=weight))
        return error, error
    error = float(np.average(mean.argmax(axis=1) != target, weights=weight))
    truth = target[:, None] == np.arange(forest.n_classes)
    brier = float(np.average(((mean - truth) ** 2).sum(axis=1), weights=weight))
    return error, error + _BRIER * brier


# Weight of the Brier score in the choice among candidates.
_BRIER = 0.5


def folds_of(y, classification, seed):
    """Folds for an ensemble whose trees were all grown on all rows."""
    smallest = np.bincount(y).min() if classification else 0
    kind = StratifiedKFold if classification and smallest >= _N_FOLDS else KFold
    n_folds = min(_N_FOLDS, len(y))
    return list(kind(n_folds, shuffle=True, random_state=seed).split(np.zeros(len(y)), y))


# ------------------------------------------------------------------- all together


class CandidateSearch:
    """Fits candidates on some rows, and judges their prunings.

    Parameters
    ----------
    state : callable
        ``state(estimator, X, y, weight, errors)`` returns a `Case`.
    prices : Prices
    X, y : ndarray
    sample_weight : array-like of shape (n_rows,) or None
        For fitting.
    weight : ndarray of shape (n_rows,)
        For counting.
    names : ndarray or None
        Names of the columns.
    ties : {"keep", "prune"}
    drop : bool
        Whether trees without splits are left out of the vote.
    seed : int
    n_jobs : int or None
    deadline : float
    progress : callable
    """

    def __init__(
        self,
        state,
        prices,
        X,
        y,
        sample_weight,
        weight,
        *,
        names,
        ties,
        drop,
        seed,
        n_jobs,
        deadline,
        progress,
    ):
        self.state = state
        self.prices = prices
        self.X, self.y = X, y
        self.sample_weight, self.weight = sample_weight, weight
        self.names = names
        self.ties, self.drop = ties, drop
        self.seed, self.n_jobs = seed, n_jobs
        self.deadline, self.progress = deadline, progress
        self.found, self.trials = [], []
        self.is_complete = True
        self.is_first = np.random.default_rng(seed).permutation(len(X)) % 2 == 0

    def run(self, own, unfitted):
        """All candidates.

        Parameters
        ----------
        own : Case
            The user's ensemble, fitted on all features.
        unfitted : ensemble

        Returns
        -------
        list of Candidate
        """
        every = np.arange(self.X.shape[1])
        if has_held_out_rows(own.estimator):
            self._judge("as given", own, every)
        else:
            self._cross_judge("as given", own, unfitted)
        n_trees = getattr(unfitted, "n_estimators", _N_TREES)
        ensembles = families(unfitted, n_trees)
        if len(self.X) * n_trees > _MANY:
            kind = next(iter(ensembles))
            ensembles = {kind: ensembles[kind]}
        elif own.forest.classes is not None:
            for model in shared_purchases(self.prices, n_trees):
                self._try("grown with prices", model, every)
        feature_sets(self.prices, lambda features: self._grow_all(ensembles, features))
        self._grow_larger(self._grow_the_best())
        return self.found

    def _grow_all(self, ensembles, features):
        """Trials of every kind on some features; what these are worth to the first kind."""
        worth = None
        for k, (name, ensemble) in enumerate(ensembles.items()):
            # The first leads the way; the others go along where there is time.
            if monotonic() >= self.deadline:
                self.is_complete = False
                return None
            model = self._try(name, ensemble, features)
            if k == 0:
                worth = importances(model, features)
        return worth

    def _try(self, name, ensemble, features):
        """Judge an ensemble by some of its trees; all, if it has few."""
        n_trees = ensemble.n_estimators
        few = min(n_trees, max(_TRIAL_TREES, round(_TRIAL_SHARE * n_trees)))
        part = ensemble if few == n_trees else clone(ensemble).set_params(n_estimators=few)
        model, candidate = self._add(name, part, features)
        if candidate is not None:
            if few == n_trees:
                self._keep(candidate)
            else:
                self.trials.append((candidate, ensemble))
        return model

    def _grow_the_best(self):
        """Grow those in full whose trials were among the best within some budget.

        Returns
        -------
        list of (Candidate, unfitted ensemble)
        """
        order, grown = [], []
        highest = max([one.costs.max() for one, _ in self.trials], default=0.0)
        for budget in np.linspace(0, highest, _N_BUDGETS + 1)[:0:-1]:
            lowest = [
                one.scores[one.costs <= budget * (1 + 1e-9)].min(initial=np.inf)
                for one, _ in self.trials
            ]
            order += np.argsort(lowest, kind="stable")[:_N_KEPT].tolist()
        for i in dict.fromkeys(order):
            trial, ensemble = self.trials[i]
            found = None
            if monotonic() < self.deadline:
                _, found = self._add(trial.name, ensemble, trial.features)
            if found is None:
                # Out of time: the few trees are there.
                self.is_complete = False
                found = trial
            self._keep(found)
            grown.append((found, ensemble))
        return grown

    def _grow_larger(self, grown):
        """Those that are best within some budget as they are vote better with more trees."""
        costs = np.concatenate([one.costs for one in self.found])
        scores = np.concatenate([one.scores for one in self.found])
        of = np.repeat(np.arange(len(self.found)), [len(one.costs) for one in self.found])
        unpruned = np.concatenate([one.index for one in self.found]) < 0
        best = lower_envelope(costs, scores)
        best = {int(of[i]) for i in best if unpruned[i]}
        for candidate, ensemble in grown:
            if not any(candidate is self.found[i] for i in best):
                continue
            if monotonic() >= self.deadline:
                self.is_complete = False
                return
            larger = clone(ensemble).set_params(n_estimators=_LARGER * ensemble.n_estimators)
            _, found = self._add(candidate.name, larger, candidate.features)
            if found is not None:
                self._keep(found)

    def _add(self, name, ensemble, features):
        """Grow an ensemble, and judge it if there is time."""
        model = fit_on(
            ensemble,
            features,
            self.X,
            self.y,
            self.sample_weight,
            self.seed,
            self.n_jobs,
            self.names,
        )
        held_out = held_out_rows(model, len(self.X), model.n_estimators)
        case = self.state(model, self.X, self.y, self.weight, "oob", held_out=held_out)
        index = judged_prunings(case)
        halves = self._halves(case, held_out)
        if monotonic() >= self.deadline:
            # A path may have been cut short.
            self.is_complete = False
            return model, None
        if halves is None:
            keeps = [case.kept(k, self.ties) for k in index]
            points = judge(case, keeps, self.weight, drop=self.drop, held_out=held_out)
        else:
            points = judge_crosswise(
                case,
                halves,
                self.is_first,
                index,
                self.weight,
                held_out,
                ties=self.ties,
                drop=self.drop,
            )
        return model, self._candidate(name, case, features, index, points)

    def _halves(self, case, held_out):
        """The pruning of an ensemble on either half of the rows; None if they are too few."""
        weights = [self.weight * half for half in (self.is_first, ~self.is_first)]
        if any((weight @ held_out <= 0).any() for weight in weights):
            return None
        return tuple(
            self.state(case.estimator, self.X, self.y, weight, "oob", like=case, held_out=held_out)
            for weight in weights
        )

    def _judge(self, name, case, features):
        """Judge an ensemble of bootstrapped trees by their out-of-bag votes."""
        index = judged_prunings(case)
        keeps = [case.kept(k, self.ties) for k in index]
        points = judge(case, keeps, self.weight, drop=self.drop)
        self._keep(self._candidate(name, case, features, index, points))

    def _cross_judge(self, name, case, unfitted):
        """Judge an ensemble whose trees were grown on all rows by cross-validation."""
        forest = case.forest
        index = judged_prunings(case)
        lams = case.path.lams[np.maximum(index, 0)]
        votes = np.zeros((len(index), len(self.X), forest.n_scores))
        for train, test in folds_of(case.target, forest.classes is not None, self.seed):
            weight = None
            if self.sample_weight is not None:
                weight = {"sample_weight": safe_indexing(self.sample_weight, train)}
            model = clone(unfitted).fit(self.X[train], self.y[train], **(weight or {}))
            fold = self.state(model, self.X[train], self.y[train], self.weight[train], "given")
            leaf = fold.forest.apply(self.X[test])
            columns = np.zeros(1, dtype=np.intp)
            if forest.classes is not None:
                columns = class_index(fold.forest.classes, forest.classes)
            on_path = np.searchsorted(fold.path.lams, lams, side="right") - 1
            for i, k in enumerate(np.where(index < 0, -1, on_path)):
                keep = fold.kept(k, self.ties)
                stop = fold.problem.stops(keep)[leaf]
                for t in voting_trees(fold.forest, keep, drop=self.drop):
                    votes[i][np.ix_(test, columns)] += fold.forest.value[stop[:, t]]
        points = []
        for vote in votes:
            # Means of probabilities add up to one whatever number of trees voted.
            counts = vote.sum(axis=1) if forest.classes is not None else np.ones(len(vote))
            points.append(errors_of_votes(forest, vote, counts, case.target, self.weight))
        every = np.arange(self.X.shape[1])
        self._keep(self._candidate(name, case, every, index, np.array(points).T))

    def _candidate(self, name, case, features, index, points):
        costs = np.where(index < 0, case.problem.cost_scale, case.path.costs[index])
        errors, scores = points
        self.progress(
            f"{name} on {len(features)} features, {case.forest.n_trees} trees: cost "
            f"{costs.max():.6g} a row, error on rows not grown on {errors.min():.4f}"
        )
        return Candidate(name, case.estimator, features, index, costs, errors, scores)

    def _keep(self, candidate):
        self.found.append(candidate)
        # What is not the best for any budget is remembered by its figures alone.
        best = best_candidates(self.found)
        for candidate in self.found[1:]:
            if candidate not in best:
                candidate.estimator = None


def best_candidates(candidates):
    """Those that have the best score within some budget."""
    costs = np.concatenate([one.costs for one in candidates])
    scores = np.concatenate([one.scores for one in candidates])
    of = np.repeat(np.arange(len(candidates)), [len(one.costs) for one in candidates])
    return [candidates[i] for i in np.unique(of[lower_envelope(costs, scores)])]


def lower_envelope(costs, errors):
    """Which points have no cheaper one of the same or a lower error, by rising cost."""
    order = np.lexsort((errors, costs))
    best = np.minimum.accumulate(errors[order])
    first = np.concatenate(([True], best[1:] < best[:-1]))
    return order[first]
