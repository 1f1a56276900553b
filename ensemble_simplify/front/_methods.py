"""How each method is tried on a fitted model, and what its result promises, in words."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from sklearn.base import is_classifier
from sklearn.frozen import FrozenEstimator

from ensemble_simplify.base import safe_indexing
from ensemble_simplify.born_again import BornAgainClassifier, BornAgainRegressor, estimate
from ensemble_simplify.cultivated import CultivatedForestClassifier
from ensemble_simplify.faithful_pruning import FaithfulPruner
from ensemble_simplify.feature_budget import FeatureBudgetPruner
from ensemble_simplify.front._inputs import read_trees, size_of
from ensemble_simplify.front._table_tree import TableTree
from ensemble_simplify.genesim import GenesimClassifier
from ensemble_simplify.grid import Domain
from ensemble_simplify.reading import Model, Table
from ensemble_simplify.representer import RepresenterTree
from ensemble_simplify.scorecards import ScorecardClassifier, ScorecardRegressor
from ensemble_simplify.selective import SelectiveTreeClassifier, SelectiveTreeRegressor
from ensemble_simplify.writing import percent

# Leaves beyond which a tree is no longer something to read.
READABLE = 100
# Leaves of all trees, and cells of their thresholds, beyond which a born-again tree that can be
# read is not to be expected, and its forecast not worth the time.
MANY_LEAVES, MANY_CELLS = 1_000, 1e8
# Seconds of the forecast of a born-again tree, at most.
FORECAST_SECONDS = 1.0
# Without a time limit, exact searches that are forecast to take longer are not begun.
EXACT_SECONDS = 5.0
# Bins of a scorecard beyond the leaves of the tree beside it: in trials, as many agreed alike.
MORE_BINS = 8
# Share of the unpruned cost that feature-budget pruning may spend.
BUDGET = "50%"

# Training rows, at most, near which answers are promised: more take too long.
NEAR_ROWS = 2_000
# More trees of one split than these are pruned at every input only if that is asked for: many
# classes have a tree each in a round, and the search takes minutes.
MANY_STUMPS = 1_000


class NotTried(Exception):
    """A method does not go with the model, the data or the time; the text says why."""


class MethodResult(NamedTuple):
    """One result of a method."""

    name: str
    fitted: object
    size: tuple[int, int]  # leaves (of all trees) and trees; of a scorecard, bins and 0
    promise: str = ""
    is_proven: bool = False  # to be the model's answers, beyond the rows that were looked at
    note: str = ""  # what else should be known


@dataclass(eq=False)
class Task:
    """A fitted model, and the rows to learn from."""

    model: object
    X: object  # array or data frame of shape (n_rows, n_features)
    y: np.ndarray | None  # labels of the first rows
    answers: np.ndarray  # the model's
    fold_of: np.ndarray  # the fold in which each row is left out; -1: in none
    max_leaf_nodes: int
    feature_costs: object
    seed: int
    atol: float = 0.0  # within which values are promised, in regression
    own: np.ndarray | None = None  # the model's own answers; None: those above
    # for each fold a copy of the model that was fitted without it, and its answers to all rows
    copies: list | None = None
    min_samples_leaf: int | None = None  # rows in each leaf; None: as each method has it
    n_jobs: int | None = None
    time_limit: float | None = None  # seconds that all methods share
    law: dict = field(default_factory=dict)  # how representer trees draw rows; empty: they choose
    is_rated: bool = True  # whether leaves get rates of y

    def __post_init__(self):
        self.is_classifier = is_classifier(self.model)

    @property
    def promised(self) -> str:
        """What a promise is of, in words."""
        if self.is_classifier:
            return "the model's answer"
        return f"a value within {self.atol:.6g} of the model's"

    @property
    def tolerance(self) -> dict:
        """The parameter of those that promise values."""
        return {} if self.is_classifier else {"atol": self.atol}

    @cached_property
    def table(self) -> Table:
        """What the columns hold."""
        return Table.of_rows(self.X)

    @cached_property
    def _trees(self):
        return read_trees(self.model)

    @property
    def forest(self):
        """The trees of the model, or of the last step of a pipeline; None: they cannot be read."""
        return self._trees[0]

    @property
    def unreadable(self) -> str:
        """Why the trees cannot be read."""
        return self._trees[1]

    @property
    def knows_rates(self) -> bool:
        """Whether there are labels of which leaves can hold rates."""
        return self.is_classifier and self.y is not None and len(self.y) > 0

    @property
    def n_folds(self) -> int:
        """How often rows are left out."""
        return int(self.fold_of.max()) + 1

    def without(self, fold, is_rated=True) -> Task:
        """The task without the rows of a fold."""
        rows = np.flatnonzero(self.fold_of != fold)
        y = None if self.y is None else self.y[rows[rows < len(self.y)]]
        model, answers = (self.model, self.answers) if not self.copies else self.copies[fold]
        part = replace(
            self,
            model=model,
            X=safe_indexing(self.X, rows),
            y=y,
            answers=answers[rows],
            fold_of=np.full(len(rows), -1, dtype=np.intp),
            own=None,
            copies=None,
            n_jobs=None,  # folds are what threads share
            is_rated=is_rated,
        )
        # the same trees, and reading them can take seconds
        if "_trees" in vars(self) and not self.copies:
            part._trees = self._trees
        return part

    def like(self, fitted) -> Task:
        """The task for copies of the model, whose trees draw rows as one of the model itself did.

        To choose how would take most of the time that a small tree takes.
        """
        if not self.copies or not isinstance(fitted, RepresenterTree):
            return self
        law = {"sampler": fitted.sampler_.removeprefix("heavy_"), "keep_rows": fitted.keep_rows_}
        if law["sampler"] == "copula":
            law["smearing"] = fitted.smearing_
        return replace(self, law=law)

    @property
    def judging(self) -> np.ndarray:
        """The answers that results are compared with, to rows that are left out in some fold."""
        rows = np.flatnonzero(self.fold_of >= 0)
        if not self.copies:
            return self.answers[rows]
        folds, found = self.fold_of[rows], [answers[rows] for _, answers in self.copies]
        kind = np.result_type(*found)
        judging = np.empty(len(rows), dtype=kind)
        for fold, own in enumerate(found):
            judging[folds == fold] = own[folds == fold]
        return judging

    def carried(self, predicted) -> np.ndarray:
        """What a result that was made of the model itself says beside the answers that judge.

        Where it answers as the model does, it is said to answer as they do.
        """
        own = (self.answers if self.own is None else self.own)[self.fold_of >= 0]
        judging = self.judging
        if not self.is_classifier:
            return judging + (predicted - own)
        return np.where(predicted == own, judging, predicted)

    def of_size(self, max_leaf_nodes) -> Task:
        """The task with another number of leaves."""
        other = replace(self, max_leaf_nodes=int(max_leaf_nodes))
        vars(other).update({k: v for k, v in vars(self).items() if k in self._KEPT})
        return other

    # what was read of the model and the table, whatever the size
    _KEPT = ("table", "_trees")

    @property
    def domain(self) -> Domain | None:
        """For which inputs promises are made: where a table has gaps, any column may have some."""
        asked = Model.unread(self.model)
        missing = self.table.gaps.seen | asked.table.may_miss()
        if missing.any() and not missing.all():
            missing |= asked.takes_gaps(asked.table.read(safe_indexing(self.X, [0])))
        return Domain(missing=np.flatnonzero(missing).tolist()) if missing.any() else None

    @property
    def may_be_small(self) -> bool:
        """Whether a tree with all of the model's answers may be small enough to read.

        Its trees have few leaves, or the cells that their thresholds make are few.
        """
        forest, inner = self.forest, self.forest.left >= 0
        if np.count_nonzero(~inner) <= MANY_LEAVES:
            return True
        # sets of codes can tell all codes apart
        is_set = inner & False if forest.sets is None else forest.sets.is_set
        cuts = np.column_stack([forest.feature, forest.threshold])[inner & ~is_set]
        _, n_cuts = np.unique(np.unique(cuts, axis=0)[:, 0], return_counts=True)
        if is_set.any():
            n_cuts = np.append(n_cuts, forest.highest_code[np.unique(forest.feature[is_set])])
        return bool(np.log(n_cuts + 1.0).sum() <= np.log(MANY_CELLS))

    @property
    def is_of_stumps(self) -> bool:
        """Whether each tree has at most one split, and the trees are not too many for a proof."""
        sizes = np.diff(self.forest.offsets)
        return sizes.max(initial=0) <= 3 and len(sizes) <= MANY_STUMPS

    def near(self):
        """Rows near which answers are promised, the model's answers to them, and their name."""
        n_rows = len(self.answers)
        if n_rows <= NEAR_ROWS:
            return self.X, self.answers, "a training row"
        drawn = np.sort(np.random.RandomState(self.seed).permutation(n_rows)[:NEAR_ROWS])
        whose = f"one of {NEAR_ROWS:,} training rows"
        return safe_indexing(self.X, drawn), self.answers[drawn], whose


@dataclass(frozen=True)
class Method:
    """A way to simplify."""

    share: float  # its part of the time, to be compared with those of the others
    # given a task and seconds (None: no limit), it returns a list of results or raises an error
    attempt: Callable
    # names from `NEEDS`; the first that is lacking is the reason not to try it
    needs: str = ""
    # "folds": learned again without each fold; "once": without the first one, as it costs much;
    # "never": it does not learn from rows
    judged: str = "folds"
    # a reason from `NEEDS` too: without it, it is tried only if it is asked for
    by_default: str = ""
    # what comes of it, where that can be recommended
    kind: str = "tree"

    def lacks(self, task, *, asked_for=True) -> str:
        """Why it does not go with a task; empty if it does."""
        needs = self.needs if asked_for else f"{self.needs} {self.by_default}"
        lacking = (NEEDS[need][0] for need in needs.split() if not NEEDS[need][1](task))
        return next(lacking, "")


# What a method can need: why it is not tried without it, and a test whether it is there.
NEEDS = {
    "y": ("y was not given", lambda task: task.y is not None),
    "classes": ("for classification only", lambda task: task.is_classifier),
    "costs": ("feature_costs was not given", lambda task: task.feature_costs is not None),
    "trees": ("the model's trees cannot be read", lambda task: task.forest is not None),
    "many": ("the model is a single tree", lambda task: task.forest.n_trees > 1),
    "answers": (
        "the model gives the same answer to all rows",
        lambda task: len(np.unique(task.answers)) > 1,
    ),
    "small": (
        "the model is too large for one readable tree with the same answers",
        lambda task: task.may_be_small,
    ),
    "stumps": ("tried only with methods='all' or by name", lambda task: task.is_of_stumps),
    "all": ("tried only with methods='all' or by name", lambda task: False),
}


# ------------------------------------------------------------------- plain trees


def _plain(task, X, labels, name):
    tree = TableTree(
        task.is_classifier,
        max_leaf_nodes=task.max_leaf_nodes,
        min_samples_leaf=task.min_samples_leaf or 1,
        random_state=task.seed,
    ).fit(X, labels)
    return [of_tree(task, name, tree)]


def of_tree(task, name, fitted, *promised):
    """A tree as a result. Its leaves hold rates of `y`, where that is known."""
    if task.is_rated and task.knows_rates:
        rated = getattr(fitted, "calibrated", fitted._with_rates)
        # these rows alone have labels
        fitted = rated(safe_indexing(task.X, np.arange(len(task.y))), task.y)
    return MethodResult(name, fitted, (int(fitted.get_n_leaves()), 1), *promised)


def plain_tree(task, seconds) -> list[MethodResult]:
    """scikit-learn's own tree, fitted to the model's answers."""
    return _plain(task, task.X, task.answers, "plain_tree")


def plain_tree_on_y(task, seconds) -> list[MethodResult]:
    """scikit-learn's own tree, fitted to the labels, without the model."""
    return _plain(task, safe_indexing(task.X, np.arange(len(task.y))), task.y, "plain_tree_on_y")


# ------------------------------------------------------------------- single trees of the package


def representer(task, seconds) -> list[MethodResult]:
    """A tree grown on synthetic rows, too."""
    fitted = RepresenterTree(
        FrozenEstimator(task.model),
        max_leaf_nodes=task.max_leaf_nodes,
        min_train_samples=task.min_samples_leaf,
        sampling="one_shot",
        validation_fraction=0.0,
        time_limit=seconds,
        n_jobs=task.n_jobs,
        random_state=task.seed,
        **task.law,
    )
    # with copies of the model, each fold has another one to learn
    fold_of = task.fold_of if task.n_folds and not task.copies else None
    # the model need not be asked for rates where `of_tree` gives leaves those of labels
    rates = task.is_rated and not task.knows_rates
    fitted._fit(task.X, answers=task.answers, fold_of=fold_of, known=task.own, rates=rates)
    return [of_tree(task, "representer", fitted)]


def born_again(task, seconds) -> list[MethodResult]:
    """The tree with the model's function at every input, where one can be read."""
    begin = time.monotonic()
    # forecast first: a tree that nobody can read is not worth the minutes that it takes
    limit = None if seconds is None else min(FORECAST_SECONDS, seconds / 4)
    forecast = estimate(
        task.model, domain=task.domain, time_limit=limit, random_state=task.seed, **task.tolerance
    )
    if forecast.n_leaves_lower_bound > READABLE or not forecast.n_leaves <= 2 * READABLE:
        raise NotTried(
            f"a tree that gives {task.promised} at every input is expected to have "
            f"{_many(forecast)} leaves, too many to read"
        )
    fitted = _born_again_tree(
        task,
        domain=task.domain,
        method="heuristic" if seconds is None and forecast.seconds > EXACT_SECONDS else "auto",
        time_limit=_left(begin, seconds),
        random_state=task.seed,
    ).fit(task.X, task.answers)
    promise = f"{task.promised} at every input, proven"
    if fitted.status_ == "optimal":
        promise += ". No other tree that does this is less deep, or as deep with fewer leaves"
    return [of_tree(task, "born_again", fitted, promise, True)]


def _left(begin, seconds):
    return None if seconds is None else max(seconds - (time.monotonic() - begin), 1e-3)


def _born_again_tree(task, **options):
    kind = BornAgainClassifier if task.is_classifier else BornAgainRegressor
    return kind(FrozenEstimator(task.model), **task.tolerance, **options)


def _many(forecast):
    leaves = forecast.n_leaves
    if not np.isfinite(leaves):
        return "too many to count"
    if leaves < 1e6:
        return f"about {leaves:,.0f}"
    return f"about {leaves / 1e6:,.0f} million" if leaves < 1e9 else "more than a billion"


def born_again_1(task, seconds) -> list[MethodResult]:
    """A tree that answers alike wherever one feature of a row changes, and a small one."""
    X, answers, whose = task.near()
    return _near(task, X, answers, seconds, 1, f"points {_one_change(whose)}")


def born_again_0(task, seconds) -> list[MethodResult]:
    """A tree that answers alike on the training rows, and a small one."""
    return _near(task, task.X, task.answers, seconds, 0, "different points of the training rows")


def _one_change(whose):
    return f"that differ from {whose} in at most one feature"


def _near(task, X, answers, seconds, max_changes, points):
    fitted = _born_again_tree(
        task,
        max_changes=max_changes,
        domain=task.domain,
        time_limit=seconds,
        random_state=task.seed,
    ).fit(X, answers)
    name = f"born_again_{max_changes}"
    found = [
        of_tree(
            task,
            name,
            fitted,
            f"{task.promised} at all {fitted.n_points_:,} {points}, proven",
            # on the rows alone, the answers were counted, which says nothing of other inputs
            max_changes > 0,
        )
    ]
    # what keeps all answers is often too large: a smaller one of the same path keeps most
    if fitted.n_leaves_ > task.max_leaf_nodes:
        small = fitted.at(n_leaves=task.max_leaf_nodes)
        share = percent(1 - small.n_exceptions_ / small.n_points_)
        promise = f"{task.promised} at {share} of the {small.n_points_:,} {points}, counted"
        found.append(of_tree(task, f"{name}_small", small, promise))
    return found


def genesim(task, seconds) -> list[MethodResult]:
    """A tree bred from the model's own trees, to give its answers."""
    fitted = GenesimClassifier(
        [FrozenEstimator(task.model)],
        max_leaf_nodes=task.max_leaf_nodes,
        time_limit=seconds,
        random_state=task.seed,
    ).fit(task.X, task.answers)
    return [of_tree(task, "genesim", fitted)]


def cultivated(task, seconds) -> list[MethodResult]:
    """One tree whose nodes hold several splits, fitted to the model's answers."""
    fitted = CultivatedForestClassifier(
        max_leaf_nodes=task.max_leaf_nodes,
        max_options=5,
        time_limit=seconds,
        random_state=task.seed,
    ).fit(task.X, task.answers)
    return [MethodResult("cultivated", fitted, (int(fitted.n_leaves_), 1))]


# ------------------------------------------------------------------- scorecards


def scorecard(task, seconds) -> list[MethodResult]:
    """A sum of points, learned from synthetic rows, too."""
    kind = ScorecardClassifier if task.is_classifier else ScorecardRegressor
    fitted = kind(
        FrozenEstimator(task.model),
        max_bins=task.max_leaf_nodes + MORE_BINS,
        validation_fraction=0.0,
        time_limit=seconds,
        random_state=task.seed,
    )
    # chances are rates of y, where all of the rows have labels; values need none
    is_labelled = task.is_classifier and task.y is not None and len(task.y) == len(task.answers)
    fitted.fit(task.X, task.y if is_labelled else None)
    return [card_result(fitted)]


def card_result(fitted) -> MethodResult:
    """A fitted scorecard as a result."""
    return MethodResult("scorecard", fitted, (fitted.card_.n_bins, 0))


# ------------------------------------------------------------------- smaller ensembles


def faithful(task, seconds) -> list[MethodResult]:
    """Fewer of the model's trees, with new weights."""
    # at every input where that can be proven soon; deeper trees would take too long, and are kept
    # near the rows
    stumps = task.is_of_stumps
    X, answers, whose = (task.X, task.answers, "") if stumps else task.near()
    fitted = FaithfulPruner(
        FrozenEstimator(task.model),
        **task.tolerance,
        max_changes=None if stumps else 1,
        domain=task.domain,
        method="heuristic" if seconds is None else "auto",
        time_limit=seconds,
        random_state=task.seed,
    ).fit(X, answers)
    where = "at every input"
    if not stumps:
        where = f"at all {_points(fitted)} {_one_change(whose)}"
    promise = f"{task.promised} {where}, proven"
    if fitted.n_trees_lower_bound_ > 1:
        promise += f". This takes at least {fitted.n_trees_lower_bound_} of the model's trees"
    size = (size_of(fitted.pruned_estimator_)[0], int(fitted.n_trees_))
    note = ""
    if fitted.n_trees_ == task.forest.n_trees:
        short = fitted.status_ != "optimal"
        note = f"no tree could be dropped{' with this effort' if short else ''}"
    return [MethodResult("faithful", fitted, size, promise, is_proven=True, note=note)]


def _points(fitted):
    return f"{fitted.n_points_:,} points" if np.isfinite(fitted.n_points_) else "points"


def feature_budget(task, seconds) -> list[MethodResult]:
    """The model's trees pruned such that rows pay for fewer features."""
    fitted = FeatureBudgetPruner(
        FrozenEstimator(task.model),
        feature_costs=task.feature_costs,
        budget=BUDGET,
        time_limit=seconds,
        random_state=task.seed,
    ).fit(task.X, task.answers)
    promise = (
        f"the features that a row needs cost {fitted.cost_:.3g} on average, instead of "
        f"{fitted.unpruned_cost_:.3g}"
    )
    if fitted.is_budget_optimal_:
        promise += ". No pruning of the model's trees at that price has a lower error on these rows"
    size = size_of(fitted.pruned_estimator_)
    return [MethodResult("feature_budget", fitted, size, promise)]


# In the order of their turns: what costs most comes last.
def selective_tree(task, n_judged, max_leaf_nodes, seconds):
    """A tree that answers where it may; the rows to judge by calibrate, the others are learned."""
    kind = SelectiveTreeClassifier if task.is_classifier else SelectiveTreeRegressor
    tree = kind(
        FrozenEstimator(task.model),
        max_leaf_nodes=max_leaf_nodes,
        time_limit=None if seconds is None else max(seconds, 0.01),
        random_state=task.seed,
        **task.tolerance,
    )
    rows = np.arange(len(task.answers))
    more = None if n_judged == len(rows) else safe_indexing(task.X, rows[n_judged:])
    return tree.fit(safe_indexing(task.X, rows[:n_judged]), X_more=more)


METHODS = {
    "plain_tree": Method(0.0, plain_tree),
    "plain_tree_on_y": Method(0.0, plain_tree_on_y, "y"),
    "representer": Method(3.0, representer),
    "scorecard": Method(3.0, scorecard, kind="scorecard"),
    "cultivated": Method(1.0, cultivated, "classes answers"),
    "born_again": Method(4.0, born_again, "trees", judged="never", by_default="small"),
    "faithful": Method(4.0, faithful, "trees many", judged="once", by_default="stumps"),
    "feature_budget": Method(3.0, feature_budget, "costs trees", judged="once"),
    "genesim": Method(3.0, genesim, "classes trees answers", judged="once", by_default="all"),
    "born_again_1": Method(4.0, born_again_1, "trees", judged="once", by_default="all"),
    "born_again_0": Method(2.0, born_again_0, "trees", judged="once", by_default="all"),
}
KINDS = ("tree", "scorecard", "selective")
# They are cheap: no call, and no limit of time, leaves them out.
ALWAYS = ("plain_tree", "plain_tree_on_y")
SMALL = "_small"


def method_of(name) -> Method:
    """The method behind a row of the table."""
    return METHODS[name.removesuffix(SMALL)]


def of_row(name, results) -> MethodResult | None:
    """Which results of a method belong into a row of the table; None: none does."""
    found = {result.name: result for result in results}
    # where the whole tree is small enough there is no smaller one
    return found.get(name, found.get(name.removesuffix(SMALL)))


def made_again(name, task, seconds=None) -> MethodResult | None:
    """What the method behind a row of the table makes of another task."""
    return of_row(name, method_of(name).attempt(task, seconds))
