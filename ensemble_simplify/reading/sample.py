"""A sample of rows is put to a model, and its answers are compared with what was read of it.

Settings that no reader knows of, parameters set after ``fit`` and methods replaced by hand make a
model answer otherwise than its trees. What rounding can explain is no difference: sums near a tie
may be added up in another order, by threads of a member or on another processor.
"""

from __future__ import annotations

import reprlib
import warnings
from contextlib import suppress

import numpy as np
from scipy.special import expit, softmax
from sklearn.pipeline import Pipeline

from ensemble_simplify.grid import FLOAT32_MAX
from ensemble_simplify.reading.decision import scores_of
from ensemble_simplify.reading.families.forests import is_untested
from ensemble_simplify.reading.family import (
    PACKAGE,
    WRAPPED,
    family_of,
    is_ours,
    libraries,
    owner_of,
    says_it_takes_gaps,
    unwrap,
)
from ensemble_simplify.reading.program import link_margin
from ensemble_simplify.reading.sums import leaves_of

# The methods of a model that readers know the arithmetic of.
_ANSWERING = frozenset(("predict", "predict_proba", "decision_function", "transform"))
# Rows that are put to a model; the last of them lack something, if the model takes that.
N_ROWS, N_LACKING = 32, 8
# Tests that the rows are drawn from, at most.
N_TESTS = 4096
_LINKS = ("sigmoid", "softmax")
# Roundings that are allowed for beside one for each tree: of means, links and products.
_ROUNDINGS = 64.0


def check_sample(model):
    """Refuse (TypeError) a model that answers otherwise than its trees on rows beside their tests.

    The rows depend on the trees alone. A model with scikit-learn's own methods, whose answers
    depend on nothing but what was read, is not asked: that would take longer than to read it.
    """
    is_own = has_own_methods(model.estimator)
    if is_own and is_known_by_its_trees(model.estimator):
        return
    forest = model.forest
    vote = forest.vote
    has_odds = forest.classes is not None and vote.is_boosted_sum and vote.link_kind in _LINKS
    has_odds &= hasattr(model.estimator, "predict_proba")
    method = "predict_proba" if is_own and has_odds and vote.cut is None else "predict"
    rows = _rows(forest, model.table)
    if np.float16 in (model.table.dtypes or ()):
        most = np.finfo(np.float16).max
        rows = np.clip(rows, -most, most).astype(np.float16).astype(np.float64)
    rows, answers = _asked(model, rows, method)
    leaves = forest.apply(rows).T
    if method == "predict":
        found = forest.decide_at(leaves)
        labels = found if forest.classes is None else forest.classes[found]
        # of other shapes, all answers are other ones
        wrong = np.broadcast_to(answers.shape != labels.shape or answers != labels, len(rows))
        wrong = wrong.astype(bool)
        if wrong.any() and answers.shape == labels.shape:
            wrong[wrong] = ~_is_rounding(forest, leaves[:, wrong], answers[wrong])
        _refuse(model, method, rows, answers, labels, wrong)
    if has_odds:
        # they tell more than labels
        if method == "predict":
            answers = model.answers(rows.copy(), "predict_proba")
        found, error = _probabilities(forest, leaves)
        wrong = np.ones(len(rows), dtype=bool)
        if answers.shape == found.shape:
            wrong = ~(np.abs(answers - found) <= error).all(axis=1)
        _refuse(model, "predict_proba", rows, answers, found, wrong)


def _rows(forest, table):
    """Rows of a table beside tests of the trees, in float32 numbers, some of them with gaps."""
    rng = np.random.default_rng(0)
    threshold = forest.threshold
    if forest.sets is not None:
        threshold = np.where(forest.sets.is_set, forest.sets.drawn_borders(rng), threshold)
    # all numbers are on one side of an infinite threshold
    tests = np.flatnonzero((forest.feature >= 0) & (np.abs(threshold) < FLOAT32_MAX))
    if len(tests) > N_TESTS:
        tests = tests[rng.integers(len(tests), size=N_TESTS)]
    tests = tests[np.argsort(forest.feature[tests], kind="stable")]
    used, first, count = np.unique(forest.feature[tests], return_index=True, return_counts=True)
    chosen = first + (rng.random((N_ROWS, len(used))) * count).astype(np.intp)
    cut, is_above = threshold[tests][chosen], rng.random(chosen.shape) < 0.5
    after = np.nextafter(cut.astype(np.float32), np.float32(np.inf)).astype(np.float64)
    rows = np.zeros((N_ROWS, forest.n_features))
    rows[:, used] = np.where(is_above, after, cut)
    highest = table.highest_code
    if highest is not None:
        code = np.clip(np.floor(cut) + is_above, 0.0, highest[used])
        rows[:, used] = np.where(highest[used] >= 0, code, rows[:, used])
    lacking = rng.random((N_LACKING, forest.n_features)) < 0.25
    if forest.filled is not None:
        lacking &= ~forest.filled
    lacking[:, list(table.hashed)] = False
    rows[-N_LACKING:][lacking] = np.nan
    return rows


def _asked(model, rows, method):
    """Rows that the model takes, and what a method answers to them."""
    with warnings.catch_warnings():
        # encoders warn of levels that they never saw, which are put to them on purpose
        warnings.simplefilter("ignore")
        if says_it_takes_gaps(model.estimator) is not False:
            # a step of a pipeline, or a tree of this package, refuses gaps
            with suppress(ValueError):
                return rows, model.answers(rows.copy(), method)
        rows = rows[:-N_LACKING]
        return rows, model.answers(rows.copy(), method)


def _largest_error(forest):
    """How far roundings can move a sum of leaves, for sums of all trees."""
    vote, most = forest.vote, leaves_of(forest, forest.vote, forest.value)[1]
    error = vote.coarsest * (forest.n_trees + _ROUNDINGS) * (most + vote.largest_start)
    return error + link_margin(vote) if vote.by_probability else error


def _is_rounding(forest, leaves, answers):
    """Which answers could come of other roundings of the sums that lead to them."""
    error, sums = _largest_error(forest), forest.sums_at(leaves)
    found = []
    for column in range(forest.n_scores):
        for step in (-error, error):

            def moved(start, stop, init, column=column, step=step):
                total = sums(start, stop, init)
                total[:, column] += step * (stop - start) / forest.n_trees
                return total

            found.append(forest.decide(moved))
    if forest.classes is None:
        numbers = answers.astype(np.float64)
        return (np.min(found, axis=0) <= numbers) & (numbers <= np.max(found, axis=0))
    return (forest.classes[np.array(found)] == answers).any(axis=0)


def _probabilities(forest, leaves):
    """Probabilities of a boosted classifier, and how far roundings can move them."""
    vote = forest.vote
    scores = scores_of(vote, forest.sums_at(leaves)).astype(np.float64)
    scores = vote.slope * scores + vote.shift
    # treelite has its softmax in float32, whatever the sums are in
    error = abs(vote.slope) * _largest_error(forest) + _ROUNDINGS * np.finfo(np.float32).eps
    if vote.link_kind == "sigmoid":
        upper = expit(scores)
        return np.hstack([1.0 - upper, upper]), error
    return softmax(scores, axis=1), error


def _refuse(model, method, rows, answers, found, wrong):
    """Raise the error for a row on which the model answers otherwise than its trees, if any."""
    if not wrong.any():
        return
    i = int(wrong.argmax())
    row = reprlib.repr(np.asarray(model.table.shown(rows[i : i + 1]))[0].tolist())
    own = answers[i] if len(answers) == len(rows) else answers
    raise TypeError(
        f"{model.name} is not supported as it is, because it answers otherwise than its trees: for "
        f"the row {row}, {method} says {_plain(own)}, the trees say {_plain(found[i])}. The cause "
        "is a parameter that was set after fit, a setting of predict, or a method that was "
        "replaced. Undo that, or fit the model again. Methods that need no more of a model than "
        "predict: RepresenterTree, agreement, simplify."
    )


def _plain(answer):
    """An answer, as it is shown."""
    return reprlib.repr(np.asarray(answer).tolist())


# ------------------------------------------------------------------- whom there is no need to ask


def has_own_methods(estimator) -> bool:
    """Whether a model and its members predict with the methods of the libraries they come from.

    None of them was overridden, or replaced by hand in an object or in its class.
    """
    kinds, todo = set(), [estimator]
    while todo:
        one = unwrap(todo.pop())
        if not _ANSWERING.isdisjoint(getattr(one, "__dict__", ())):
            return False
        kinds.add(type(one))
        wrapped = [getattr(one, name) for name in WRAPPED if hasattr(one, name)]
        todo += wrapped if is_ours(one) and wrapped else family_of(one).parts
    known = {PACKAGE, *libraries()}
    return all(_is_own(kind, method, known) for kind in kinds for method in _ANSWERING)


def _is_own(kind, method, known):
    """Whether a class, if it has a method, has it as one of the `known` libraries wrote it."""
    if not hasattr(kind, method):
        return True
    owner = owner_of(kind, method)
    if owner.__module__.partition(".")[0] not in known:
        return False
    return getattr(vars(owner)[method], "__module__", None) == owner.__module__


def is_known_by_its_trees(estimator) -> bool:
    """Whether no setting but those that are read can change what a model answers.

    So it is with scikit-learn's ensembles, behind transformers, too: readers read what they do.
    Of versions that came later, that is not known, but of trees that this package wrote.
    """
    family = family_of(estimator)
    if is_untested() and not is_ours(family.outer):
        return False
    while isinstance(family.estimator, Pipeline):
        family = family_of(family.last)
    if type(family.estimator).__module__.partition(".")[0] != "sklearn":
        return False
    parts = {type(part): part for part in family.parts}
    return all(map(is_known_by_its_trees, parts.values()))
