"""Trying methods: on all rows, and without each fold, to see what they say of rows left out."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from sklearn.utils import Bunch

from ensemble_simplify.base import safe_indexing
from ensemble_simplify.front._choice import choose_size
from ensemble_simplify.front._inputs import short
from ensemble_simplify.front._judged import FIGURES, Candidate, agreement_of, figures
from ensemble_simplify.front._methods import (
    ALWAYS,
    METHODS,
    MORE_BINS,
    MethodResult,
    NotTried,
    card_result,
    method_of,
    of_tree,
)
from ensemble_simplify.front._rules import size_in_words
from ensemble_simplify.grid import doing, held_back, in_threads, waiting
from ensemble_simplify.representer import RepresenterTree

# A method that would get fewer seconds is not begun.
LEAST_SECONDS = 0.05
# Parts of the labelled rows in which the plain tree on labels learns, where there is but one fold.
ON_Y = 5
# Its sizes are looked at, and it is recommended unless another tree is better.
FAVOURITE = "representer"


@dataclass(eq=False)
class Trial:
    """What came of a method: a result that was measured, or the reason why there is none."""

    name: str
    result: MethodResult | None = None
    candidate: Candidate | None = None
    seconds: float = 0.0
    note: str = ""
    was_tried: bool = True


def try_method(name, task, seconds, attempt=None) -> list[Trial]:
    """Trials of one method, one for each result; one without a result if it found none.

    Whatever it raises is told by a line: the other methods go on. `attempt` stands for `judged`.
    """
    begin = time.monotonic()
    if name not in ALWAYS and seconds is not None and seconds < LEAST_SECONDS:
        return [Trial(name, note="time_limit was used up", was_tried=False)]
    try:
        # other packages' warnings are not about the result; filters do not hold back our own
        with warnings.catch_warnings(), held_back() as told:
            warnings.simplefilter("ignore")
            found = (attempt or judged)(name, task, seconds)
    except NotTried as reason:
        return [Trial(name, seconds=time.monotonic() - begin, note=str(reason), was_tried=False)]
    except Exception as error:  # a method must not end the call, whatever a model makes it raise
        what = f"{type(error).__name__}: {short(error)}"
        return [Trial(name, seconds=time.monotonic() - begin, note=what)]
    seconds = time.monotonic() - begin
    said = [text for _, (text, category) in told if issubclass(category, UserWarning)]
    note = short(said[0]) if said else ""
    return [
        Trial(result.name, result, candidate, seconds, result.note or note)
        for result, candidate in found
    ]


def judged(name, task, seconds):
    """Results of a method on all rows, with what they say of rows that they have not seen."""
    method = METHODS[name]
    if method.judged == "never":
        rows = np.flatnonzero(task.fold_of >= 0)
        found = method.attempt(task, seconds)
        said = [_said(task, rows, result) for result in found]
        return [
            (result, _made(task, result, task.max_leaf_nodes, task.carried(own)))
            for result, own in zip(found, said, strict=True)
        ]
    if method.judged == "once":
        rows = np.flatnonzero(task.fold_of == 0)
        share = seconds / 2 if seconds is not None and task.copies else seconds
        measured = found = method.attempt(task.without(0), share)
        if task.copies:  # what a copy became is no result for the model
            found = method.attempt(task, share)
        own = {result.name: [(rows, result)] for result in measured}
        return [(result, _candidate(task, result, own.get(result.name, []))) for result in found]
    if name == "plain_tree_on_y" and (task.fold_of[: len(task.y)] >= 0).all() and task.n_folds < 2:
        # all rows with labels judge at once: it is the one that learns from labels, in parts
        parts = np.random.RandomState(task.seed).permutation(len(task.y)) % ON_Y
        task = replace(task, fold_of=np.append(parts, task.fold_of[len(task.y) :]), copies=None)
    result, parts = _on_all_and_folds(method, task, seconds)
    return [(result, _candidate(task, result, parts))]


def _on_all_and_folds(method, task, seconds):
    """What a method makes of all rows; and for each fold its rows, and what is made without it."""
    share = None if seconds is None else seconds / (task.n_folds + 1)
    whole = [partial(method.attempt, task, share)]
    found = []
    if task.copies and method is METHODS[FAVOURITE]:  # it tells how those of copies draw rows
        found = [whole.pop()()]
        task = task.like(found[0][0].fitted)
    # only labels are asked of what learns without a fold, and rates do not change these
    parts = [task.without(fold, is_rated=False) for fold in range(task.n_folds)]
    calls = [*whole, *(partial(method.attempt, part, share) for part in parts)]
    (result,), *found = found + in_threads(task.n_jobs, calls)
    rows = [np.flatnonzero(task.fold_of == fold) for fold in range(task.n_folds)]
    return result, [(part, each) for part, (each,) in zip(rows, found, strict=True)]


def of_sizes(sizes) -> Callable:
    """A stand-in for `judged` that gives results of several sizes from one fit, the largest."""

    def attempt(name, task, seconds):
        if name == FAVOURITE and not task.copies:
            return _representers(sizes, task, seconds)
        largest, parts = _on_all_and_folds(METHODS[name], task, seconds)
        found = []
        for size in sizes:
            task = task.of_size(size)
            unrated = replace(task, is_rated=False)
            own = [(rows, _smaller(unrated, each)) for rows, each in parts]
            result = _smaller(task, largest)
            found.append((result, _candidate(task, result, own)))
        return found

    return attempt


def _smaller(task, largest):
    """A result of the task's size, of a tree or card that holds it."""
    if METHODS[largest.name].kind == "scorecard":
        return card_result(largest.fitted.at(n_bins=task.max_leaf_nodes + MORE_BINS))
    smaller = largest.fitted.at(n_leaves=task.max_leaf_nodes)
    # a representer tree keeps the rates that its leaves were given, and plain ones do not
    is_rated = task.is_rated and not isinstance(smaller, RepresenterTree)
    return of_tree(replace(task, is_rated=is_rated), largest.name, smaller)


def _representers(sizes, task, seconds):
    """Representer trees of several sizes, which look at all folds at once."""
    (largest,) = METHODS[FAVOURITE].attempt(task, seconds)
    folds, rows = largest.fitted.folds_, np.flatnonzero(task.fold_of >= 0)
    found = []
    # it looks at no size below the number of classes that it knows
    for size in [size for size in sizes if size in folds.n_leaves]:
        result = _smaller(task.of_size(size), largest)
        (place,) = np.flatnonzero(folds.n_leaves == size)
        answers = folds.answers[place, rows]
        found.append((result, _made(task, result, size, answers)))
    return found


def _candidate(task, result, parts):
    """What results say of rows that they have not seen, each of its own part of the rows."""
    rows, judging = np.flatnonzero(task.fold_of >= 0), task.judging
    seen = np.concatenate([np.zeros(0, dtype=np.intp), *(part for part, _ in parts)])
    others = np.setdiff1d(rows, seen)
    # a type for the labels of all, whatever comes first
    said = [_said(task, part, each) for part, each in parts]
    predicted = np.concatenate([*said, judging[np.isin(rows, others)]])
    predicted = predicted[np.argsort(np.concatenate([seen, others]), kind="stable")]
    return _made(task, result, task.max_leaf_nodes, predicted, np.isin(rows, seen))


def _said(task, rows, result):
    """What a result answers to some rows."""
    return np.asarray(result.fitted.predict(safe_indexing(task.X, rows))).reshape(len(rows))


def _made(task, result, size, predicted, measured=None):
    n_leaves, n_trees = result.size
    is_tree = n_trees == 1 and hasattr(result.fitted, "decision_tree_")
    may_win = is_tree and result.name != "plain_tree_on_y"
    if may_win and task.min_samples_leaf:
        nodes = result.fitted.decision_tree_.tree_
        may_win = nodes.n_node_samples[nodes.children_left < 0].min() >= task.min_samples_leaf
    is_card = method_of(result.name).kind == "scorecard"
    # a promise near some rows is none at every input
    everywhere = result.is_proven and result.name == "born_again"
    return Candidate(
        name=result.name,
        n_leaves=n_leaves,
        size=size,
        is_tree=is_tree,
        is_card=is_card,
        may_win=bool(may_win or is_card),
        is_proven=everywhere and task.is_classifier,
        within=task.atol if everywhere and not task.is_classifier else None,
        predicted=predicted,
        measured=measured,
    )


class Search:
    """All trials for one model: first over sizes, then of the other methods at the best size.

    Parameters
    ----------
    task : Task
        With the largest size.
    judged : Judged
        The answers to the rows that are left out.
    names : list of str
        Methods in the order of their turns.
    kinds : tuple of str
        What can be recommended.
    is_auto : bool
        Whether methods that cost much may be left out.
    seconds : float or None
        What all methods may take together. None: no limit.
    """

    # Each method gets its share as a `time_limit` of its own, and no limit is in force around it:
    # a result that came in time is measured, however late that has become.

    def __init__(self, task, judged, names, kinds, is_auto, seconds):
        self.task, self.judged, self.kinds = task, judged, kinds
        self._end = None if seconds is None else time.monotonic() + seconds
        self.left_out = {}
        for name in names:
            if lacking := METHODS[name].lacks(task, asked_for=not is_auto):
                self.left_out[name] = lacking
        self._names = [name for name in names if name not in self.left_out]
        self._left = sum(METHODS[name].share for name in self._names)
        self.by_size = {}  # trials of the favourite
        self._plain = {}  # trials of the plain tree

    def over_sizes(self, sizes, progress) -> list[Bunch]:
        """The curve of agreement over sizes; the task gets the size that is best."""
        self.sizes, task = sizes, self.task.of_size(sizes[-1])
        trials = try_method("plain_tree", task, None, of_sizes(sizes))
        # where it failed, one trial says why
        self._plain = dict(zip(sizes, trials * (len(sizes) // len(trials)), strict=True))
        progress.end(["plain_tree"])
        found = {size: trial for size, trial in self._plain.items() if trial.result is not None}
        if FAVOURITE in self._names:
            progress.begin(FAVOURITE)
            trials = try_method(FAVOURITE, task, self._seconds(FAVOURITE), of_sizes(sizes))
            if trials[0].result is None:
                self._failed = trials[0]
            else:
                self.by_size = {trial.candidate.size: trial for trial in trials}
                found = self.by_size
            progress.end([self._line(trial) for trial in trials])
        best = sizes[0]
        if found:
            best = choose_size([trial.candidate for trial in found.values()], self.judged).size
        self.task = self.task.of_size(best)
        points = [self._point(size, size == best) for size in sizes if size in found]
        # a larger size gives the same tree where no further split would change an answer
        return list({point.leaves: point for point in points[::-1]}.values())[::-1]

    def _point(self, size, is_best):
        """What is known of a size."""
        trial = self.by_size.get(size, self._plain[size])
        point, plain = figures(trial.candidate, self.judged), self._plain[size].candidate
        return Bunch(
            n_leaves=size,
            leaves=trial.candidate.n_leaves,
            plain_agreement=np.nan if plain is None else agreement_of(plain, self.judged),
            is_best=is_best,
            statements=point["statements"],
            **{name: point[name] for name in FIGURES},
        )

    def others(self, progress) -> list[Trial]:
        """Trials of all methods at the size of the task."""
        trials = []
        for name in self._names:
            if name == "plain_tree":
                found = [self._plain[self.task.max_leaf_nodes]]
            elif name == FAVOURITE:
                found = [self.by_size.get(self.task.max_leaf_nodes) or self._failed]
            else:
                progress.begin(name)
                found = self._tried(name)
                progress.end([self._line(trial) for trial in found])
            for trial in found:
                # other kinds are shown for comparison
                if trial.candidate is not None and METHODS[name].kind not in self.kinds:
                    trial.candidate = replace(trial.candidate, may_win=False)
            trials += found
        return trials

    def _tried(self, name):
        """Trials of a method; of scorecards, which cost one fit, that of the size that is best."""
        if METHODS[name].kind != "scorecard":
            return try_method(name, self.task, self._seconds(name))
        # one card has all smaller ones in it, so the largest is fitted alone
        task = self.task.of_size(self.sizes[-1])
        found = try_method(name, task, self._seconds(name), of_sizes(self.sizes))
        if found[0].result is None:
            return found
        best = choose_size([trial.candidate for trial in found], self.judged)
        return [trial for trial in found if trial.candidate is best]

    def _seconds(self, name):
        """What a method may take of the time that is left; None: no limit."""
        share = METHODS[name].share
        # a share of what is left: who ends early leaves time to those after
        left, self._left = self._left, self._left - share
        seconds = self.seconds_left()
        if seconds is None or not share:
            return None
        return float(f"{seconds * share / max(left, 1.0):.3g}")

    def seconds_left(self) -> float | None:
        """What is left of the time for all methods; None: no limit."""
        return None if self._end is None else max(self._end - time.monotonic(), 0.0)

    def _line(self, trial):
        if trial.result is None:
            return f"{trial.name}: {trial.note}"
        leaves, trees = trial.result.size
        size = f"{trees} trees" if trees > 1 else size_in_words(leaves, trial.candidate.is_card)
        agreement = agreement_of(trial.candidate, self.judged)
        return f"{trial.name}: {size}, agreement {agreement:.3f}, {trial.seconds:.1f} s"


# ------------------------------------------------------------------- how far it has come


class Progress:
    """Tell which method is tried and what came of it, if `verbose`; a context manager.

    The bar needs tqdm and a terminal. Notebooks get lines: they show stderr, and a bar of widgets
    needs packages that many do not have.
    """

    def __init__(self, verbose, n_methods):
        self.verbose = bool(verbose)
        self._bar = _bar(n_methods) if self.verbose else None
        self._line = waiting("" if self.verbose else "simplify")

    def __enter__(self):
        self._line.__enter__()
        return self

    def __exit__(self, *error):
        self._line.__exit__(*error)
        if self._bar is not None:
            self._bar.close()

    def begin(self, title) -> None:
        """A method is tried now."""
        doing(title)
        if self._bar is not None:
            self._bar.set_description(title)

    def end(self, lines) -> None:
        """A method has ended, with these lines about its results."""
        if not self.verbose:
            return
        for line in lines:
            text = f"[simplify] {line}"
            if self._bar is not None:
                self._bar.write(text, file=sys.stderr)  # above the bar
            else:
                print(text, file=sys.stderr, flush=True)
        if self._bar is not None:
            self._bar.update(1)


def _bar(n_methods):
    """A bar on a terminal; None where there is none, or no tqdm."""
    if not sys.stderr.isatty():
        return None
    try:
        from tqdm import tqdm
    except ImportError:
        return None
    return tqdm(total=n_methods, desc="simplify", unit="method", leave=False, file=sys.stderr)
