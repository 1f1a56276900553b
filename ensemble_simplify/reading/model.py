"""What a fitted model means: `Model.of` is the way in."""

from __future__ import annotations

import copy
import warnings

import numpy as np
from joblib import effective_n_jobs
from sklearn.pipeline import Pipeline
from sklearn.utils import gen_even_slices
from sklearn.utils.parallel import Parallel, delayed

from ensemble_simplify.reading.forest import read_forest
from ensemble_simplify.reading.pipelines import unwrap
from ensemble_simplify.reading.sample import check_sample
from ensemble_simplify.reading.sklearn import table_of
from ensemble_simplify.reading.table import Table

# Rows that are worth a thread.
_ROWS_PER_TASK = 4096


class Model:
    """A fitted model: what its trees add up to, how it decides, its table, and its own answers.

    `Model.of` reads one. It is the one place where models are asked: their trees are added up in
    their order, whatever ``n_jobs`` says (where it is set, the rows are shared out among threads),
    and what a model says of names of columns is not passed on.

    Parameters
    ----------
    estimator : fitted estimator or function
    table : Table or None
        What rows of numbers stand for: codes become levels, and arrays frames if it has names;
        None: the model takes the numbers as they are.
    forest : Forest or None
        Its trees, and the vote over them; None: they were not read, and it can only be asked.
    """

    def __init__(self, estimator, table=None, forest=None):
        self.estimator, self.name = estimator, type(estimator).__name__
        self.is_classifier = hasattr(estimator, "classes_")
        self.table, self.forest = table, forest
        self._asked, self._n_jobs = _in_order(estimator)

    @classmethod
    def of(cls, fitted, *, voting="estimator", classifier=False, sample=True):
        """Read a fitted model; see `read_forest`. With `classifier`, regressors raise TypeError.

        With `sample`, a model that answers otherwise than its trees raises TypeError, too: see
        `check_sample`. What was checked before, or was made by this package, needs no sample.
        """
        estimator = unwrap(fitted)
        forest = read_forest(estimator, voting=voting)
        if classifier and forest.classes is None:
            raise TypeError(
                f"estimator={type(estimator).__name__}(...) is a regressor. Give an ensemble of "
                "classification trees."
            )
        model = cls(estimator, table_of(estimator, forest), forest)
        if sample and voting == "estimator":
            check_sample(model)
        return model

    @classmethod
    def unread(cls, fitted):
        """A model that can only be asked, with the table that it takes."""
        estimator = unwrap(fitted)
        return cls(estimator, table_of(estimator))

    @property
    def decision(self):
        """The vote that turns sums into a class or a number."""
        return self.forest.vote

    @property
    def sums(self):
        """The sums whose largest column is the class; None where there are none."""
        return self.forest.sums

    def answers(self, rows, method="predict"):
        """What a method of the model answers to rows of numbers."""
        return self.ask(rows if self.table is None else self.table.decode(rows), method)

    def ask(self, X, method="predict"):
        """What it answers to rows of a user's, as they are; ``__call__`` asks a function."""
        function = getattr(self._asked, method)
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


def common_table(models, X=None):
    """The table whose rows of numbers two models are put; each is asked in its own words.

    With rows `X` of the user's, the models are asked in their dtypes. ValueError if the models take
    other numbers of columns, or tables of different levels.
    """
    widths = [len(model.table) for model in models]
    if widths[0] != widths[1]:
        raise ValueError(
            f"model_a was fitted on {widths[0]} features, but model_b on {widths[1]}. Compare "
            "models of the same columns."
        )
    table = Table.common([model.table for model in models])
    if X is not None:
        for model in models:
            model.table = model.table.like(X)
    return table


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
