"""What a user gives, checked and read: rows, labels, and the model's answers and trees."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted

from ensemble_simplify.base import (
    Stream,
    check_column_names,
    labelled,
    safe_indexing,
    stacked,
    tags_of,
    warn,
)
from ensemble_simplify.reading import Model, is_missing, learned_from, n_features_of, out_of_bag
from ensemble_simplify.writing import one_line, plain

# Most entries of the table, and most rows, that are looked at.
MOST_ENTRIES, MOST_ROWS = 4_000_000, 25_000
# Rows up to which all of them are judged, in folds; of more, one part is held out.
MOST_IN_FOLDS = 2_000


@dataclass(eq=False)
class Given:
    """What a user gave: rows to judge by, then rows to learn from only."""

    X: object  # array or data frame of shape (n_rows, n_features)
    y: np.ndarray | None  # of the rows to judge by
    answers: np.ndarray  # the model's, out-of-bag where it is a forest that has learned the rows
    own: np.ndarray  # what it answers itself
    n_judged: int  # rows to judge by
    learned: str  # whether the model has learned from the rows to judge by: `reading.learned_from`
    is_out_of_bag: bool  # whether the answers to these are
    is_whole: bool  # whether these are all that were given
    notes: list  # of str


class LearnedRows:
    """Rows that a result has learned from, as far as it takes to know them again."""

    def __init__(self, table, X):
        self.table, self._X = table, X

    def __getstate__(self):
        # a file holds none of the rows
        return {"table": self.table, "known": self.known}

    @cached_property
    def known(self) -> frozenset:
        """Digests of the rows."""
        return frozenset(self._digests(self._X))

    def _digests(self, X):
        try:
            rows = self.table.read(X)
        except (TypeError, ValueError):  # whoever is asked about them says what is wrong with them
            return []
        # no number stands for a gap, and minus zero is zero
        rows = np.nan_to_num(rows, nan=np.inf) + 0.0
        return [blake2b(row.tobytes(), digest_size=8).digest() for row in rows]

    def tell(self, X, name, what, instead) -> None:
        """Warn that some of the rows in X are among them."""
        asked = self._digests(X)
        if n_learned := sum(each in self.known for each in asked):
            warn(
                f"{n_learned:,} of {len(asked):,} rows of X are rows that {name!r} has learned "
                f"from. On new rows, it usually {what}. Give rows that simplify was not given, or "
                f"see {instead}."
            )


def checked_rows(model, X, y, X_more, random_state, n_jobs=None) -> Given:
    """Rows, labels and the model's answers; fewer rows if there are very many."""
    if hasattr(model, "fit"):
        check_is_fitted(model)
    kinds = ("classifier", "regressor")
    if not hasattr(model, "fit") or tags_of(model).estimator_type not in kinds:
        raise TypeError(
            f"model={type(model).__name__}(...) is neither a classifier nor a regressor. Give a "
            "fitted scikit-learn estimator, a pipeline that ends in one, or a Booster of LightGBM "
            "or XGBoost."
        )
    X, y, X_more, drawn = _in_memory(X, y, X_more, random_state)
    X = _table(X, "X")
    own = Model.unread(model).table
    if own is not None:
        X, X_more = own.as_taken(X), own.as_taken(X_more)
    if len(X) < 8:
        raise ValueError(f"X has {len(X)} rows. Give at least 8.")
    _check_columns(model, X)
    if y is not None:
        y = _labels(y, X)
    learned, n_given = learned_from(model, X), X.shape[0]
    X, answers, own, kept, notes = _answered(model, X, "X", random_state, n_jobs, learned)
    notes += drawn
    n_judged = len(answers)
    if y is not None:
        y = y[kept]
        if is_classifier(model):
            _check_labels(model, y, answers)
    is_out_of_bag = own is not answers
    if X_more is not None:
        X_more = _table(X_more, "X_more")
        _check_alike(X, X_more)
        if len(X_more):
            more, *theirs, _, told = _answered(model, X_more, "X_more", random_state, n_jobs)
            X = stacked(X, more)
            answers, own = map(np.concatenate, zip((answers, own), theirs, strict=True))
            notes += told
    is_whole = n_judged == n_given
    return Given(X, y, answers, own, n_judged, learned, is_out_of_bag, is_whole, notes)


def _most_rows(n_features):
    """Rows that are looked at."""
    return max(1_000, min(MOST_ROWS, MOST_ENTRIES // max(n_features, 1)))


def _in_memory(X, y, X_more, random_state):
    """Rows and labels of which streams are drawn from, and a note on each of these.

    Labels can be a column of the rows, which then has its name.
    """
    found, notes, column = [], [], y
    for name, rows in (("X", X), ("X_more", X_more)):
        stream = Stream.of(rows)
        if stream is not None:
            rows, places, n_rows = stream.drawn(_most_rows, random_state)
            if n_rows > len(rows):
                notes.append(
                    f"{len(rows):,} of the {n_rows:,} rows of {name} were drawn at random."
                )
            if name == "X" and not (y is None or isinstance(y, str)):
                y = np.asarray(y)[places]
        if isinstance(column, str) and name == "X":
            y, rows = labelled(rows, column)
        elif isinstance(column, str) and column in getattr(rows, "columns", ()):
            rows = labelled(rows, column)[1]
        found.append(rows)
    return found[0], y, found[1], notes


def _table(X, name):
    """Rows as they can be indexed: a frame, or an array of two dimensions."""
    if not hasattr(X, "columns"):
        X = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
        if X.ndim != 2:
            raise ValueError(
                f"{name} has {X.ndim} dimensions instead of 2. Give a table of rows and columns."
            )
    elif len(set(X.columns)) < len(X.columns):
        names = list(X.columns)
        twice = next(column for column in names if names.count(column) > 1)
        raise ValueError(f"{name} has two columns {plain(twice)!r}. Give each its own name.")
    return X


def _check_columns(model, X):
    """Refuse, by name, columns that are not those that the model was fitted on."""
    known = getattr(model, "feature_names_in_", None)
    if known is not None and hasattr(X, "columns") and len(X.columns) != len(known):
        remedy = "Pass X[list(model.feature_names_in_)]."
        for name in known:
            if name not in X.columns:
                raise ValueError(f"X lacks the column {name!r} of the model. {remedy}")
        odd = next(name for name in X.columns if name not in set(known))
        raise ValueError(
            f"X has the column {plain(odd)!r}, on which the model was not fitted. {remedy}"
        )
    check_column_names([model], X)


def _labels(y, X):
    y = np.asarray(y)
    check_consistent_length(X, y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise ValueError(f"y has {y.ndim} dimensions; only one output is supported.")
    if gaps := sum(map(is_missing, y.tolist())):
        raise ValueError(f"y has {gaps:,} gaps. Leave these rows out of X and y.")
    return y


def _answered(model, X, name, random_state, n_jobs, learned="all"):
    """Rows, the model's answers to learn from, its own (the same?), the rows' numbers, notes."""
    n_rows, n_features = X.shape
    most = _most_rows(n_features)
    kept, notes, known = np.arange(n_rows), [], None
    if n_rows > most:
        kept = np.sort(check_random_state(random_state).permutation(n_rows)[:most])
        X = safe_indexing(X, kept)
        notes.append(f"{most:,} of the {n_rows:,} rows of {name} were used, drawn at random.")
    elif learned == "all":
        # on its own training rows a forest is right by heart: what its trees answer to rows that
        # they have not seen is compared instead
        known = out_of_bag(model, X)
    own = _one_output(model, Model(model).in_threads(n_jobs).ask(X))
    answers = own if known is None else _one_output(model, known[0])
    return X, answers, own, kept, notes


def _one_output(model, answers):
    if answers.ndim == 2 and answers.shape[1] == 1:
        answers = answers[:, 0]
    name = f"model={type(model).__name__}(...)"
    if answers.ndim != 1:
        raise ValueError(
            f"{name} gives {answers.shape[1]} outputs a row; only one output is supported."
        )
    if not is_classifier(model) and not np.isfinite(answers.astype(np.float64)).all():
        raise ValueError(f"{name} answers some rows of X with NaN or infinity. Leave them out.")
    return answers


def _check_alike(X, X_more):
    """Refuse further rows that are no rows of the same table."""
    if hasattr(X, "columns") != hasattr(X_more, "columns"):
        raise ValueError(
            f"X is a {type(X).__name__} and X_more a {type(X_more).__name__}. Give both alike."
        )
    if hasattr(X, "columns") and list(X.columns) != list(X_more.columns):
        odd = [name for name in X_more.columns if name not in set(X.columns)]
        lacking = [name for name in X.columns if name not in set(X_more.columns)]
        what = "has the columns of X in another order"
        if lacking:
            what = f"lacks the column {plain(lacking[0])!r}"
        elif odd:
            what = f"has the column {plain(odd[0])!r}, which X does not have"
        raise ValueError(f"X_more {what}. Give it the columns of X, X_more[list(X.columns)].")
    if X.shape[1] != X_more.shape[1]:
        raise ValueError(
            f"X_more has {X_more.shape[1]} columns, but X has {X.shape[1]}. Give the same columns."
        )


def folds(answers, n_judged, fraction, by_class, rng, may_leave_all=True) -> np.ndarray:
    """The fold in which each row is left out, alike in answers; -1: in none.

    Of few rows, every row to judge by is in a fold. Of many, all are left out at once if as many
    others are there to learn from, or more than a few, and `may_leave_all`; else a part of them is.
    """
    fold_of = np.full(len(answers), -1, dtype=np.intp)
    n_folds = round(1 / fraction)
    # mixed, then sorted by classes: every fold gets rows from all of them
    order, offset = rng.permutation(n_judged), rng.random_sample() / fraction
    if by_class:
        codes = np.unique(answers[order], return_inverse=True)[1]
        order = order[np.argsort(codes, kind="stable")]
    if n_folds > 1 and n_judged <= MOST_IN_FOLDS:
        fold_of[order] = np.arange(n_judged) % n_folds
        return fold_of
    if may_leave_all and len(answers) - n_judged >= min(n_judged, MOST_IN_FOLDS):
        fold_of[:n_judged] = 0
        return fold_of
    # rows at even distances in the order of the classes
    is_aside = np.diff(np.floor((np.arange(n_judged + 1) + offset) * fraction)) > 0
    if not is_aside.any() or is_aside.all():
        is_aside[0] = not is_aside[0]
    fold_of[order[is_aside]] = 0
    return fold_of


def _check_labels(model, y, answers):
    known = set(np.asarray(getattr(model, "classes_", answers)).tolist())
    given = set(y.tolist())
    if not known & given:
        raise ValueError(
            f"y holds labels like {y.tolist()[0]!r}, but the model gives labels like "
            f"{answers.tolist()[0]!r}. Pass y as the model was fitted on it."
        )


def read_trees(model):
    """The model's trees, or None and why they cannot be read.

    Those of a pipeline are those of its last step: over the columns of the table, where a split can
    become several, large ones take long to read.
    """
    by_class = is_classifier(model)
    try:
        if isinstance(model, Pipeline):
            n_features_of(model)  # a TypeError if a step cannot be read
            model = model[-1]
        forest = Model.of(model, classifier=by_class).forest
    except (TypeError, ValueError, ImportError) as error:
        return None, f"its trees cannot be read: {short(error)}"
    return forest, ""


def size_of(model, forest=None) -> tuple[int, int]:
    """Numbers of leaves and of trees of an ensemble; `forest`: what was read of it, or None."""
    model = model[-1] if isinstance(model, Pipeline) else model
    forest = Model.of(model, check=False).forest if forest is None else forest
    return int((forest.left < 0).sum()), forest.n_trees


def short(text, width=240) -> str:
    """A message in one line, cut between words."""
    text = one_line(text)
    return text if len(text) <= width else text[: width - 4].rsplit(" ", 1)[0] + " ..."
