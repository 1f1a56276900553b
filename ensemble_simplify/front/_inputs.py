"""What a user gives, checked and read: rows, labels, and the model's answers and trees."""

from __future__ import annotations

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted

from ensemble_simplify.base import safe_indexing
from ensemble_simplify.reading import Model
from ensemble_simplify.writing import one_line

# Most entries of the table, and most rows, that are looked at.
MOST_ENTRIES, MOST_ROWS = 4_000_000, 50_000


def checked_rows(model, X, y, random_state):
    """Rows, labels, the model's answers and notes; fewer rows if there are very many."""
    check_is_fitted(model)
    if not (is_classifier(model) or is_regressor(model)):
        raise TypeError(
            f"model={type(model).__name__}(...) is neither a classifier nor a regressor. Give a "
            "fitted scikit-learn estimator, or a pipeline that ends in one."
        )
    if not hasattr(X, "columns"):
        X = np.asarray(X)
        if X.ndim != 2:
            raise ValueError(f"X has {X.ndim} dimensions instead of 2. Give rows.")
    n_rows, n_features = X.shape
    if n_rows < 8:
        raise ValueError(f"X has {n_rows} rows. Give at least 8.")
    if y is not None:
        y = np.asarray(y)
        check_consistent_length(X, y)
        if y.ndim == 2 and y.shape[1] == 1:
            y = y[:, 0]
        if y.ndim != 1:
            raise ValueError(f"y has {y.ndim} dimensions; only one output is supported.")
    notes = []
    most = max(1_000, min(MOST_ROWS, MOST_ENTRIES // max(n_features, 1)))
    if n_rows > most:
        part = check_random_state(random_state).permutation(n_rows)[:most]
        X, y = safe_indexing(X, np.sort(part)), None if y is None else y[np.sort(part)]
        notes.append(f"Of the {n_rows:,} rows, {most:,} were drawn at random and used.")
    answers = Model(model).ask(X)
    if answers.ndim == 2 and answers.shape[1] == 1:
        answers = answers[:, 0]
    if answers.ndim != 1:
        raise ValueError(
            f"model={type(model).__name__}(...) gives {answers.shape[1]} outputs a row; only one "
            "output is supported."
        )
    if y is not None and is_classifier(model):
        _check_labels(model, y, answers)
    return X, y, answers, notes


def _check_labels(model, y, answers):
    known = set(np.asarray(getattr(model, "classes_", answers)).tolist())
    given = set(y.tolist())
    if not known & given:
        raise ValueError(
            f"y holds labels like {y.tolist()[0]!r}, but the model gives labels like "
            f"{answers.tolist()[0]!r}. Pass y as the model was fitted on it."
        )


def read_trees(model):
    """The model's trees, or None and why they cannot be read."""
    try:
        forest = Model.of(model, classifier=is_classifier(model)).forest
    except (TypeError, ValueError, ImportError) as error:
        return None, f"its trees cannot be read: {short(error)}"
    return forest, ""


def size_of(model, forest=None):
    """Numbers of leaves and of trees of an ensemble; `forest`: what was read of it, or None.

    A pipeline's trees are read over the columns of the table, where a split can become several.
    """
    if isinstance(model, Pipeline):
        model, forest = model[-1], None
    forest = Model.of(model, check=False).forest if forest is None else forest
    return int((forest.left < 0).sum()), forest.n_trees


def short(text, width=240):
    """A message in one line, cut between words."""
    text = one_line(text)
    return text if len(text) <= width else text[: width - 4].rsplit(" ", 1)[0] + " ..."
