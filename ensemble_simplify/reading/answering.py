"""Asking fitted models: rows in the form that each takes, and its own answers to them."""

from __future__ import annotations

import copy
import warnings

import numpy as np
from joblib import effective_n_jobs
from sklearn.pipeline import Pipeline
from sklearn.utils import gen_even_slices
from sklearn.utils.parallel import Parallel, delayed

from ensemble_simplify.reading.sklearn import table_of
from ensemble_simplify.reading.table import Table

# Rows that are worth a thread.
_ROWS_PER_TASK = 4096


def on_common_table(models, forests=None, X=None):
    """Two models that can be asked about the same rows of numbers, and the table these stand for.

    Parameters
    ----------
    models : list of two fitted estimators
    forests : list of two Forest or None
        As they were read, if they were.
    X : frame or array-like or None
        Rows of the user's: the models are asked in their dtypes.

    Returns
    -------
    answering : list of Answering
    table : Table

    Raises
    ------
    ValueError
        If they take tables of different levels.
    """
    tables = [table_of(*pair) for pair in zip(models, forests or (None, None), strict=True)]
    table = Table.common(tables)
    if X is not None:
        tables = [own.like(X) for own in tables]
    return [Answering(*pair) for pair in zip(models, tables, strict=True)], table


class Answering:
    """A model, asked in the form in which it takes rows: the one place where models are asked.

    Its trees are added up in their order, whatever its ``n_jobs``: where that is set, the rows are
    shared out among the threads. What a model says of names of columns is not passed on.

    Parameters
    ----------
    model : fitted estimator or function
    table : Table or None
        What rows of numbers stand for: codes become levels, and arrays frames if it has names;
        None: the model takes the numbers as they are.
    """

    def __init__(self, model, table=None):
        self.estimator, self.name = model, type(model).__name__
        self.is_classifier = hasattr(model, "classes_")
        self.table = table
        self._model, self._n_jobs = _in_order(model)

    def answers(self, rows, method="predict"):
        """What a method of the model answers to rows of numbers."""
        return self.ask(rows if self.table is None else self.table.decode(rows), method)

    def ask(self, X, method="predict"):
        """What it answers to rows of a user's, as they are; ``__call__`` asks a function."""
        function = getattr(self._model, method)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X (does not|has).* feature names")
            n_tasks = 1
            if self._n_jobs not in (None, 1):
                n_tasks = min(effective_n_jobs(self._n_jobs), X.shape[0] // _ROWS_PER_TASK)
            if n_tasks <= 1:
                return np.asarray(function(X))
            return np.concatenate(
                Parallel(n_jobs=self._n_jobs, require="sharedmem")(
                    delayed(function)(X[part]) for part in gen_even_slices(X.shape[0], n_tasks)
                )
            )


def _in_order(model):
    """A model whose threads do not add up its trees in the order in which they end; its n_jobs."""
    if isinstance(model, Pipeline):
        last, n_jobs = _in_order(model.steps[-1][1])
        if n_jobs is not None:
            model = copy.copy(model)
            model.steps = [*model.steps[:-1], (model.steps[-1][0], last)]
        return model, n_jobs
    n_jobs = getattr(model, "n_jobs", None)
    # boosting adds up the trees of a row in one thread
    if n_jobs in (None, 1) or not hasattr(model, "estimators_"):
        return model, None
    model = copy.copy(model)
    model.n_jobs = None
    return model, n_jobs
