"""What a fitted model means: `Model.of` is the way in."""

from __future__ import annotations

import copy
import warnings
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.pipeline import Pipeline
from sklearn.utils import gen_even_slices

from ensemble_simplify.grid import in_threads
from ensemble_simplify.reading.cut_offs import around, insides
from ensemble_simplify.reading.family import family_of, says_it_takes_gaps, unwrap
from ensemble_simplify.reading.forest import Forest, read_forest
from ensemble_simplify.reading.pipelines import _numbers
from ensemble_simplify.reading.sample import check_sample
from ensemble_simplify.reading.table import Table, is_plain
from ensemble_simplify.reading.trees import classes_of

# Rows that are worth a thread.
_ROWS_PER_TASK = 4096
# Models whose trees can be asked in threads: they do nothing but read them.
_FORESTS = (
    RandomForestClassifier,
    RandomForestRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
)
# Rows that tell how all of them come.
_SAMPLE = 50


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
    voting : {"estimator", "hard"}
        The vote that was read.
    """

    def __init__(self, estimator, table=None, forest=None, voting="estimator"):
        self.estimator, self.name = estimator, type(estimator).__name__
        self._voting = voting
        self.is_classifier = classes_of(estimator) is not None
        self.table: Any = table
        self.forest: Any = forest
        self._own_codes = {}
        self._asked, self._n_jobs = _in_order(estimator)

    @classmethod
    def of(cls, fitted, *, voting="estimator", classifier=False, rows=None, check=True) -> Model:
        """Read a fitted model; see `read_forest`. With `classifier`, regressors raise TypeError.

        It is read for the dtypes in which some `rows`, or the columns of a table, come, and in the
        codes of the table. None: for those that an estimator of this package was fitted on, or
        float64. With `check`, a model that answers otherwise than its trees raises TypeError, too:
        see `check_sample`. What was checked before, or was made by this package, needs no check.
        """
        family = family_of(fitted)
        estimator, known = family.outer, family.own_table()
        rows = known if rows is None else rows
        like = rows if isinstance(rows, Table) else known
        forest = read_forest(family, voting=voting, rows=_sample(rows), like=like)
        if classifier and forest.classes is None:
            raise TypeError(
                f"estimator={type(estimator).__name__}(...) is a regressor. Give an ensemble of "
                "classification trees."
            )
        table = forest.table if known is None else known
        if rows is not None and forest.table.by_dtype:
            table = table.like(rows)
        model = cls(estimator, table, forest, voting)
        if rows is not None:
            model = model.with_names_in(rows)
        if isinstance(rows, Table) and model.table.hashed:
            model = model.on_codes_of(rows)
        if check and voting == "estimator":
            check_sample(model)
        return model

    @classmethod
    def unread(cls, fitted) -> Model:
        """A model that can only be asked, with the table that it takes."""
        family = family_of(fitted)
        return cls(family.outer, family.table())

    @property
    def finest(self):
        """Its forest for all rows of float64, where it is given and compares such, else float32."""
        if self.forest.double_threshold is None:
            return self.forest
        narrow = self.table.narrow
        if narrow.any() and narrow[~self.table.coded].all():
            return self.forest
        return self.forest.in_doubles(narrow)

    @property
    def classes(self) -> np.ndarray | None:
        """Labels of the classes, in the order of its probabilities; None of a regressor."""
        return classes_of(self.estimator) if self.forest is None else self.forest.classes

    def in_threads(self, n_jobs) -> Model:
        """The model asked in so many threads, if it is a forest that says nothing of threads."""
        if self._n_jobs is not None or not isinstance(self.estimator, _FORESTS):
            return self
        other = copy.copy(self)
        other._n_jobs = n_jobs
        return other

    @property
    def takes_threads(self) -> bool:
        """Whether several threads may ask it at once; its own add trees up as they end."""
        return self._n_jobs is not None

    @property
    def decision(self):
        """The vote that turns sums into a class or a number."""
        return self.forest.vote

    def _with(self, table, **changed) -> Model:
        """The same model with another table, and whatever else is changed."""
        other = copy.copy(self)
        vars(other).update(changed, table=table)
        return other

    def in_dtypes_of(self, rows) -> Model:
        """The model asked, and read, in the dtypes of some rows, or of the columns of a table."""
        if not isinstance(rows, Table) and not hasattr(rows, "shape"):
            rows = np.asarray(rows)
        table, forest = self.table.like(rows), self.forest
        if forest is not None and not forest.table.same_dtypes(rows):
            forest = self._read_again(rows, table)
        return self._with(table, forest=forest)

    def _read_again(self, rows, like) -> Forest:
        """The trees in the dtypes of some rows, and in the order of the levels of a table."""
        forest = read_forest(self.estimator, voting=self._voting, rows=_sample(rows), like=like)
        return replace(forest, table=like) if like.hashed else forest

    def with_names_in(self, rows) -> Model:
        """The model under the names in some rows: of columns, and of levels it keeps hashes of."""
        table = self.table
        names = rows.names if isinstance(rows, Table) else getattr(rows, "columns", None)
        if names is not None and table.names is not None and len(names) == len(table):
            names = np.asarray(names, dtype=object)
            same = np.array_equal(family_of(self.estimator).names_kept(names), table.names)
            if same and not np.array_equal(names, table.names):
                table = replace(table, names=names)
        if table.hashed:
            table = table.named_by(rows)
        if table is self.table:
            return self
        forest = None if self.forest is None else replace(self.forest, table=table)
        return self._with(table, forest=forest)

    def on_codes_of(self, other) -> Model:
        """The model that takes rows of numbers in the codes of another table of the same columns.

        A level that the model lacks is unknown to it.
        """
        table, forest = self.table, self.forest
        codes = table.codes_of(other)
        if forest is not None and (codes or forest.sets is not None):
            of_trees = dict(codes)
            for j, (code_of, ends) in codes.items():
                levels = table.levels[j]
                if levels is not None and table.unknown[j] == "missing":
                    of_trees[j] = np.where(code_of == len(levels), np.nan, code_of), ends
            forest = forest.in_codes(of_trees, other)
        return self._with(table, forest=forest, _own_codes=codes)

    def answers(self, rows, method="predict") -> np.ndarray:
        """What a method of the model answers to rows of numbers."""
        return self.ask(self._form(rows), method)

    def ask_given(self, X, rows, method="predict", *, fitted=False) -> np.ndarray:
        """What it answers to rows as a user gave them; `rows` are the same as numbers.

        Rows in a form that it does not take (text where it takes codes, arrays where it wants
        names) are put to it in its own form, number for number, unless it was `fitted` on such
        rows. With ``voting="hard"``, what the majority of its trees answers.
        """
        X = X if fitted or self._takes(X) else self._form(rows)
        return self._majority(X, rows) if self._voting == "hard" else self.ask(X, method)

    def _form(self, rows):
        """Rows of numbers as the model takes them."""
        if self._own_codes:
            rows = np.array(rows)
            for j, codes in self._own_codes.items():
                known = np.flatnonzero(~np.isnan(rows[:, j]))
                rows[known, j] = self.table.columns[j].translated(rows[known, j], *codes)
        return rows if self.table is None else self.table.decode(rows)

    def takes_gaps(self, rows, ask=None) -> np.ndarray:
        """Columns in which the model takes gaps, as a bool array.

        It takes what some of the `rows` lack, which are rows of numbers that it answers. Of the
        others it is asked, columns of numbers and those with levels apart, unless it says that it
        takes gaps anywhere. A function of numbers alone is not asked: it could compute anything.
        `ask` is a function that puts a row to it, and raises an error where it does not take the
        row; None: `answers`.
        """
        taken, ask = np.isnan(rows).any(axis=0), ask or self.answers
        if says_it_takes_gaps(self.estimator):
            return np.ones_like(taken)
        coded = np.zeros_like(taken) if self.table is None else self.table.coded
        if not hasattr(self.estimator, "predict") and not (taken | coded).any():
            return taken
        for columns in (np.ones_like(taken), ~coded, coded):
            if not (columns & ~taken).any():
                continue
            row = rows[:1].copy()
            row[:, columns] = np.nan
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    ask(row)
            except Exception:  # it refuses gaps in its own way
                continue
            taken |= columns
        return taken

    def labels(self, rows) -> np.ndarray:
        """The classes that `ask_given` answers to rows of numbers."""
        if self._voting == "hard":
            return self.classes[self.finest.predict_index(rows)]
        return self.answers(rows)

    def _takes(self, X):
        """Whether rows come in the form in which the model takes them, all of them numbers."""
        if self.table is None:
            return True
        if not self.table.is_plain or not is_plain(X):
            return False
        if not hasattr(X, "columns"):
            return hasattr(X, "shape") and self.table.names is None
        return self.table.names is not None and list(X.columns) == list(self.table.names)

    def _majority(self, X, rows):
        """What most trees answer to rows: those of a pipeline, once it has transformed them."""
        forest, estimator = self.finest, self.estimator
        if isinstance(estimator, Pipeline) and len(estimator.steps) > 1:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="X (does not|has).* feature names")
                rows = _numbers(estimator[:-1].transform(X))
            forest = read_forest(estimator[-1], voting="hard")
            forest = forest.in_doubles() or forest
        return forest.classes[forest.predict_index(rows)]

    def ask(self, X, method="predict") -> np.ndarray:
        """What it answers to rows of a user's, as they are; ``__call__`` asks a function."""
        function = getattr(self._asked, method)
        X = X if self.table is None else self.table.as_taken(X)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X (does not|has).* feature names")
            n_tasks = 1
            if self._n_jobs not in (None, 1):
                n_tasks = min(effective_n_jobs(self._n_jobs), X.shape[0] // _ROWS_PER_TASK)
            if n_tasks <= 1:
                answers = np.asarray(function(X))
            else:
                slices = gen_even_slices(X.shape[0], n_tasks)
                calls = [partial(function, X[rows]) for rows in slices]
                answers = np.concatenate(in_threads(self._n_jobs, calls))
        # some models that were fitted on a column of targets answer with a column
        is_column = method == "predict" and answers.ndim == 2 and answers.shape[1] == 1
        return answers[:, 0] if is_column else answers


def common_table(models, X=None) -> tuple[Table, list[Model]]:
    """The table whose rows of numbers two models are put, and the models that take these rows.

    The table has the levels that either model knows; each is asked in its own words. The models are
    asked, and read, in the dtypes of the rows `X` of the user's. Without them, in those that one of
    them, an estimator of this package, was fitted on. ValueError if the models take other numbers
    of columns, or one refuses levels that the other knows.
    """
    widths = [len(model.table) for model in models]
    if widths[0] != widths[1]:
        raise ValueError(
            f"model_a was fitted on {widths[0]} features, but model_b on {widths[1]}. Compare "
            "models of the same columns."
        )
    models = [model if X is None else model.with_names_in(X) for model in models]
    asked = any(model.forest is None for model in models)
    # the larger forest stays as it is
    order = int(not asked and models[1].forest.n_nodes > models[0].forest.n_nodes)
    on_codes = [_is_on_codes(*pair) for pair in (models, models[::-1])]
    tables = [model.table for model in models]
    table = Table.common(tables, order=order, any_levels=asked, on_codes=on_codes)
    if asked:
        for i, model in enumerate(models):
            model = model.with_names_in(table) if model.forest is None else model
            # what only can be asked takes the words of the other, where it has none itself
            if on_codes[i] or not model.table.knows_kinds_of(table):
                model, on_codes[i] = model._with(table), False
            models[i] = model
    if X is None:
        X = next((model.table for model in models if model.table.dtypes), None)
    if X is not None:
        models = [model.in_dtypes_of(X) for model in models]
    if any(model.forest is not None and model.forest.table.by_dtype for model in models):
        table = replace(table if X is None else table.like(X), by_dtype=True)
    pairs = zip(models, on_codes, strict=True)
    return table, [model if coded else model.on_codes_of(table) for model, coded in pairs]


def _is_on_codes(model, other) -> bool:
    """Whether a model of numbers alone is put the codes of the levels that another one knows.

    It is if some of these are no numbers, or if it says what its codes stand for.
    """
    if not model.table.is_plain or other.table.is_plain:
        return False
    says_levels = getattr(model.estimator, "__dict__", {}).get("_table") is not None
    if says_levels and family_of(model.estimator).own_table() is None:
        return True
    return not model.table.knows_kinds_of(other.table)


def common_forests(models):
    """The forests of two models for the same rows: all of float64, if both compare such."""
    finest = [model.finest for model in models]
    if len({forest.row_dtype for forest in finest}) == 1:
        return finest
    return [model.forest for model in models]


def _sample(rows):
    """Some rows as they come, or as the columns of a table do; None where nothing is known."""
    if isinstance(rows, Table):
        return rows.decode(np.zeros((1, len(rows)))) if rows.dtypes else None
    return rows if rows is None or not hasattr(rows, "shape") else rows[:_SAMPLE]


def _in_order(model):
    """A model whose threads do not add up its trees in the order in which they end; its n_jobs."""
    if isinstance(model, Pipeline):
        last, n_jobs = _in_order(model.steps[-1][1])
        if n_jobs is not None:
            model = copy.copy(model)
            model.steps = [*model.steps[:-1], (model.steps[-1][0], last)]
        return model, n_jobs
    if inner := insides(model):
        models, n_jobs = zip(*map(_in_order, map(unwrap, inner)), strict=True)
        n_jobs = next((n for n in n_jobs if n is not None), None)
        return (model if n_jobs is None else around(model, models)), n_jobs
    n_jobs = getattr(model, "n_jobs", None)
    # boosting adds up the trees of a row in one thread
    if n_jobs in (None, 1) or not hasattr(model, "estimators_"):
        return model, None
    model = copy.copy(model)
    model.n_jobs = None
    return model, n_jobs
