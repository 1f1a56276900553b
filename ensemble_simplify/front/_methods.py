"""How each method is tried on a fitted model, and what its result promises, in words."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from sklearn.base import is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ensemble_simplify.base import safe_indexing
from ensemble_simplify.born_again import BornAgainClassifier, estimate
from ensemble_simplify.cultivated import CultivatedForestClassifier
from ensemble_simplify.faithful_pruning import FaithfulPruner
from ensemble_simplify.feature_budget import FeatureBudgetPruner
from ensemble_simplify.front._inputs import read_trees, size_of
from ensemble_simplify.front._tables import AnsweringCodes, TableCodes
from ensemble_simplify.genesim import GenesimClassifier
from ensemble_simplify.grid import Domain
from ensemble_simplify.reading import Table
from ensemble_simplify.representer import RepresenterTree
from ensemble_simplify.writing import percent

# Leaves beyond which a tree is no longer something to read.
READABLE = 100
# Seconds of the forecast of a born-again tree, at most.
FORECAST_SECONDS = 1.0
# Without a time limit, exact searches that are forecast to take longer are not begun.
EXACT_SECONDS = 5.0
# Share of the unpruned cost that feature-budget pruning may spend.
BUDGET = "50%"

# Training rows, at most, near which answers are promised: more take too long.
NEAR_ROWS = 2_000

MEASURED = "none: measured on held-out rows"


class NotTried(Exception):
    """A method does not go with the model, the data or the time; the text says why."""


class MethodResult(NamedTuple):
    """One result of a method."""

    name: str
    fitted: object
    size: tuple[int, int]  # leaves (of all trees) and trees
    promise: str = MEASURED
    is_proven: bool = False  # to be the model's answers, beyond the rows that were looked at
    note: str = ""  # what else should be known


@dataclass
class ModelAndRows:
    """A fitted model, and the rows to learn from."""

    model: object
    table: Table
    X: object  # array or data frame of shape (n_rows, n_features)
    y: np.ndarray | None
    answers: np.ndarray  # the model's
    max_leaves: int
    feature_costs: object
    seed: int

    def __post_init__(self):
        self.is_classifier = is_classifier(self.model)
        # None: its trees cannot be read, and the text says why
        self.forest, self.unreadable = read_trees(self.model)
        self.numbers = self.table.encode(self.X)

    @property
    def has_missing(self):
        """Whether a row to learn from, or one kept aside, lacks a number."""
        return bool(self.table.gaps.seen.any())

    @property
    def domain(self):
        """For which inputs promises are made: a row kept aside may lack what no other lacks."""
        missing = self.table.gaps.seen | self.forest.table.may_miss()
        return Domain(missing=np.flatnonzero(missing).tolist()) if missing.any() else None

    def near(self):
        """Rows near which answers are promised, the model's answers to them, and their name."""
        n_rows = len(self.answers)
        if n_rows <= NEAR_ROWS:
            return self.X, self.answers, "a training row"
        drawn = np.sort(np.random.RandomState(self.seed).permutation(n_rows)[:NEAR_ROWS])
        whose = f"one of {NEAR_ROWS:,} training rows"
        return safe_indexing(self.X, drawn), self.answers[drawn], whose

    def codes(self, *, fill=False):
        """What makes numbers of the table; None if it would change nothing."""
        fill = fill and self.has_missing
        return None if self.table.is_plain and not fill else TableCodes(self.table, fill)

    def on_table(self, fitted, *, fill=False):
        """What was fitted on numbers, behind the step that makes numbers of a table."""
        codes = self.codes(fill=fill)
        return fitted if codes is None else make_pipeline(codes, fitted)


@dataclass(frozen=True)
class Method:
    """A way to simplify."""

    title: str  # its name for readers
    share: float  # its part of the time, to be compared with those of the others
    # given a case and seconds (None: no limit), it returns a list of results or raises an error
    attempt: Callable
    # names from `NEEDS`; the first that is lacking is the reason not to try it
    needs: str = ""

    def lacks(self, case):
        """Why it does not go with a case; empty if it does."""
        lacking = (NEEDS[need][0] for need in self.needs.split() if not NEEDS[need][1](case))
        return next(lacking, "")


# What a method can need: why it is not tried without it, and a test whether it is there.
NEEDS = {
    "y": ("y was not given", lambda case: case.y is not None),
    "classes": ("it is for classification only", lambda case: case.is_classifier),
    "costs": ("feature_costs was not given", lambda case: case.feature_costs is not None),
    "trees": ("the model's trees cannot be read", lambda case: case.forest is not None),
    "many": ("the model is a single tree", lambda case: case.forest.n_trees > 1),
    "answers": (
        "the model gives the same answer to all rows",
        lambda case: len(np.unique(case.answers)) > 1,
    ),
    "numbers": (
        "it takes numbers only, and X has columns of text or categories",
        lambda case: case.table.is_plain,
    ),
    "complete": (
        "it takes no missing values, and X has some",
        lambda case: not case.has_missing,
    ),
}


# ------------------------------------------------------------------- plain trees


def _plain(case, labels, name):
    kind = DecisionTreeClassifier if case.is_classifier else DecisionTreeRegressor
    tree = kind(max_leaf_nodes=case.max_leaves, random_state=case.seed)
    tree.fit(case.numbers, labels)
    return [MethodResult(name, case.on_table(tree), (int(tree.get_n_leaves()), 1))]


def plain_tree(case, seconds):
    """scikit-learn's own tree, fitted to the model's answers."""
    return _plain(case, case.answers, "plain_tree")


def plain_tree_on_y(case, seconds):
    """scikit-learn's own tree, fitted to the labels, without the model."""
    return _plain(case, case.y, "plain_tree_on_y")


# ------------------------------------------------------------------- single trees of the package


def representer(case, seconds):
    """A tree grown on synthetic rows, too."""
    model, rows = case.model, case.X
    codes = case.codes(fill=True)
    if codes is not None:
        model, rows = AnsweringCodes(case.model, codes), codes.transform(case.X)
    fitted = RepresenterTree(
        FrozenEstimator(model),
        max_leaf_nodes=case.max_leaves,
        validation_fraction=0.0,
        time_limit=seconds,
        random_state=case.seed,
    ).fit(rows)
    size = (int(fitted.get_n_leaves()), 1)
    return [MethodResult("representer", case.on_table(fitted, fill=True), size)]


def born_again(case, seconds):
    """The tree with the model's function at every input, where one can be read."""
    begin = time.monotonic()
    limit = None if seconds is None else min(FORECAST_SECONDS, seconds / 4)
    forecast = estimate(case.model, domain=case.domain, time_limit=limit, random_state=case.seed)
    if forecast.n_leaves_lower_bound > READABLE or not forecast.n_leaves <= 2 * READABLE:
        raise NotTried(
            f"a tree that answers alike at every input is expected to have {_many(forecast)} "
            "leaves, too many to read"
        )
    fitted = BornAgainClassifier(
        FrozenEstimator(case.model),
        domain=case.domain,
        method="heuristic" if seconds is None and forecast.seconds > EXACT_SECONDS else "auto",
        time_limit=_left(begin, seconds),
        random_state=case.seed,
    ).fit(case.X, case.answers)
    promise = "the model's answer at every input, proven"
    if fitted.status_ == "optimal":
        promise += "; no tree of its depth has fewer leaves, and none is less deep"
    size = (int(fitted.n_leaves_), 1)
    return [MethodResult("born_again", fitted, size, promise, is_proven=True)]


def _left(begin, seconds):
    return None if seconds is None else max(seconds - (time.monotonic() - begin), 1e-3)


def _many(forecast):
    leaves = forecast.n_leaves
    if not np.isfinite(leaves):
        return "too many to count"
    return f"about {leaves:,.0f}" if leaves < 1e6 else f"about {leaves:.1g}"


def born_again_1(case, seconds):
    """A tree that answers alike wherever one feature of a row changes, and a small one."""
    X, answers, whose = case.near()
    where = f"where one feature of {whose} is changed at will"
    return _near(case, X, answers, seconds, 1, where)


def born_again_0(case, seconds):
    """A tree that answers alike on the training rows, and a small one."""
    return _near(case, case.X, case.answers, seconds, 0, "on the training rows")


def _near(case, X, answers, seconds, max_changes, where):
    fitted = BornAgainClassifier(
        FrozenEstimator(case.model),
        max_changes=max_changes,
        domain=case.domain,
        time_limit=seconds,
        random_state=case.seed,
    ).fit(X, answers)
    name = f"born_again_{max_changes}"
    found = [
        MethodResult(
            name,
            fitted,
            (int(fitted.n_leaves_), 1),
            f"the model's answer {where} ({fitted.n_points_:,} points), proven",
            is_proven=max_changes > 0,
        )
    ]
    if fitted.n_leaves_ > case.max_leaves:
        small = fitted.at(n_leaves=case.max_leaves)
        share = percent(1 - small.n_exceptions_ / small.n_points_)
        promise = (
            f"the model's answer at {share} of the {small.n_points_:,} points {where}, counted"
        )
        if max_changes == 0:
            promise = f"the model's answer on {share} of the training rows, counted"
        found.append(MethodResult(f"{name}_small", small, (int(small.n_leaves_), 1), promise))
    return found


def genesim(case, seconds):
    """A tree bred from the model's own trees, to give its answers."""
    fitted = GenesimClassifier(
        [FrozenEstimator(case.model)],
        max_leaf_nodes=case.max_leaves,
        time_limit=seconds,
        random_state=case.seed,
    ).fit(case.X, case.answers)
    return [MethodResult("genesim", fitted, (int(fitted.n_leaves_), 1))]


def cultivated(case, seconds):
    """One tree whose nodes hold several splits, fitted to the model's answers."""
    fitted = CultivatedForestClassifier(
        max_leaf_nodes=case.max_leaves,
        max_options=5,
        time_limit=seconds,
        random_state=case.seed,
    ).fit(case.numbers, case.answers)
    return [MethodResult("cultivated", case.on_table(fitted), (int(fitted.n_leaves_), 1))]


# ------------------------------------------------------------------- smaller ensembles


def faithful(case, seconds):
    """Fewer of the model's trees, with new weights."""
    # sums of functions of one feature each are the only ones whose proof everywhere is fast
    stumps = case.forest.n_nodes == 3 * case.forest.n_trees
    X, answers, whose = (case.X, case.answers, "") if stumps else case.near()
    fitted = FaithfulPruner(
        FrozenEstimator(case.model),
        max_changes=None if stumps else 1,
        domain=case.domain,
        method="heuristic" if seconds is None else "auto",
        time_limit=seconds,
        random_state=case.seed,
    ).fit(X, answers)
    where = "at every input"
    if not stumps:
        where = f"where one feature of {whose} is changed at will ({_points(fitted)} points)"
    promise = f"the model's answer {where}, proven"
    if fitted.n_trees_lower_bound_ > 1:
        promise += f"; at least {fitted.n_trees_lower_bound_} of its trees are needed"
    size = (size_of(fitted.pruned_estimator_)[0], int(fitted.n_trees_))
    note = ""
    if fitted.n_trees_ == case.forest.n_trees:
        short = fitted.status_ != "optimal"
        note = f"no tree could be dropped{' in this time' if short else ''}"
    return [MethodResult("faithful", fitted, size, promise, is_proven=True, note=note)]


def _points(fitted):
    return f"{fitted.n_points_:,}" if np.isfinite(fitted.n_points_) else "uncounted"


def feature_budget(case, seconds):
    """The model's trees pruned such that rows pay for fewer features."""
    fitted = FeatureBudgetPruner(
        FrozenEstimator(case.model),
        feature_costs=case.feature_costs,
        budget=BUDGET,
        time_limit=seconds,
        random_state=case.seed,
    ).fit(case.X, case.answers)
    promise = (
        f"features cost {fitted.cost_:.3g} a row on average, where they cost "
        f"{fitted.unpruned_cost_:.3g}"
    )
    if fitted.is_budget_optimal_:
        promise += "; no pruning of its trees within that price has a lower error on the rows used"
    size = size_of(fitted.pruned_estimator_)
    return [MethodResult("feature_budget", fitted, size, promise)]


# In the order of their turns.
METHODS = {
    "plain_tree": Method("plain tree on the model's answers", 0.0, plain_tree),
    "plain_tree_on_y": Method("plain tree on y", 0.0, plain_tree_on_y, "y"),
    "representer": Method("representer tree", 3.0, representer),
    "cultivated": Method("cultivated forest", 1.0, cultivated, "classes answers"),
    "born_again": Method("born-again tree", 4.0, born_again, "classes trees"),
    "born_again_1": Method("born-again tree (one change)", 4.0, born_again_1, "classes trees"),
    "born_again_0": Method("born-again tree (training rows)", 2.0, born_again_0, "classes trees"),
    "faithful": Method("faithful pruning", 4.0, faithful, "classes trees many"),
    "feature_budget": Method(
        "feature-budget pruning", 3.0, feature_budget, "costs trees numbers complete"
    ),
    "genesim": Method("GENESIM", 3.0, genesim, "classes trees answers numbers complete"),
}
ALWAYS = ("plain_tree", "plain_tree_on_y")
SMALL = "_small"


def title_of(name):
    """The name of a row of the table for readers."""
    if name == "model":
        return "the model"
    method = METHODS[name.removesuffix(SMALL)].title
    return f"small {method}" if name.endswith(SMALL) else method
