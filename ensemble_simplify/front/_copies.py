"""Copies of the model, each fitted without a part of the rows.

What a model answers to rows that it has learned from, and what a tree makes of these answers, says
little of new rows. A copy of it has not seen the part that it was fitted without. So trees learn
from the copies' answers, and are compared with the copies' answers to those parts.
"""

from __future__ import annotations

import time
import warnings
from functools import partial

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from ensemble_simplify.base import safe_indexing
from ensemble_simplify.grid import in_threads
from ensemble_simplify.reading import Model, library_of, out_of_bag

# Rows times trees, of all copies together, up to which they are fitted.
MOST_EFFORT = 4_000_000
# Trees that a model counts as where they are not read: as many as most have.
_UNREAD = 100
# Part of the time limit that they may take.
SHARE = 0.25
# What silences a library whose fits talk, and the parameters by which users do it themselves.
_SILENT = {
    "catboost": ({"verbose": False}, ("verbose", "logging_level", "silent", "verbose_eval")),
    "lightgbm": ({"verbosity": -1}, ("verbose", "verbosity")),
}

# What libraries call the threads of a fit.
_THREADS = ("n_jobs", "thread_count")


def fitted_copies(model, X, y, fold_of, forest, seconds=None, seed=0, n_jobs=None) -> list | None:
    """A copy of the model for each fold, with its answers; None where there can be none.

    Parameters
    ----------
    model : fitted estimator
    X : array or frame, shape (n_rows, n_features)
        Rows, of which those that have a label come first.
    y : ndarray, shape (n_labelled,)
    fold_of : ndarray, shape (n_rows,)
        The fold that each row is left out in; -1: in none.
    forest : Forest or None
        Of the model; None: its trees are not read.
    seconds : float or None, default=None
        The limit of time, of which they get a part. None: there is none.
    seed : int, default=0
        For copies of a model that has no seed of its own.
    n_jobs : int or None, default=None
        Threads, one copy each. Where there are fewer copies, those of scikit-learn share them, as
        their trees are fitted one by one. Others have no more: threads that wait for each other
        after each of many small steps can take longer than the steps.

    Returns
    -------
    list of (estimator, ndarray of shape (n_rows,)) or None
        Answers to rows that a copy has learned from are out-of-bag where it is a forest.
    """
    n_folds = int(fold_of.max()) + 1
    n_own = max(effective_n_jobs(n_jobs) // n_folds, 1)
    n_trees = _UNREAD if forest is None else forest.n_trees
    if len(y) * n_trees * n_folds > MOST_EFFORT:
        return None
    begin = time.monotonic()
    end = np.inf if seconds is None else begin + SHARE * seconds

    def fitted(fold):
        rows = np.flatnonzero(fold_of[: len(y)] != fold)
        # the first one tells what all take
        if fold and time.monotonic() + (time.monotonic() - begin) * (n_folds / fold - 1) > end:
            return None
        own, part = _unfitted(model, seed, n_own), safe_indexing(X, rows)
        if own is None or not len(rows):
            return None
        try:
            own.fit(part, y[rows])
            answers = Model(own).ask(X)
            known = out_of_bag(own, part)
        except Exception:  # whatever a model needs for its fit beside rows and labels
            return None
        if known is not None:
            answers = answers.astype(np.result_type(answers, known[0]))
            answers[rows] = known[0]
        return own, answers

    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        copies = in_threads(n_jobs, [partial(fitted, fold) for fold in range(n_folds)])
    return None if any(each is None for each in copies) else copies


def _unfitted(model, seed, n_threads):
    """The model as it was before its fit, with a seed; None if it cannot be had."""
    try:
        own = clone(model)
    except (TypeError, RuntimeError):
        return None
    if own is model:  # it came fitted
        return None
    given = own.get_params()
    lacking = {
        name: seed
        for name, value in given.items()
        if name.rpartition("__")[2] == "random_state" and value is None
    }
    library = library_of(own)
    options, names = _SILENT.get(library, ({}, ()))
    if all(given.get(name) is None for name in names):
        lacking |= options
    lacking |= {name: 1 for name in given if name.rpartition("__")[2] in _THREADS}
    if "n_jobs" in given and library is None:
        lacking["n_jobs"] = n_threads
    return own.set_params(**lacking)
