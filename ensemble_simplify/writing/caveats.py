"""Where written code may answer otherwise than the model: in words, and on how many rows.

Code that follows the model step by step gives its labels. What it cannot follow are sums that the
model itself adds in any order (by threads), exponentials of another library, a type that a language
lacks, and numbers that were rounded to 16 bits by request.
"""

from __future__ import annotations

import warnings

import numpy as np

from ensemble_simplify.writing.code import Best
from ensemble_simplify.writing.dialects import COMMON
from ensemble_simplify.writing.in_json import ensemble_in_json, read_json
from ensemble_simplify.writing.int16 import Int16
from ensemble_simplify.writing.words import number_up

# Links of regressors that no two libraries round alike.
_OF_EXPONENTIALS = ("exp", "expm1", "exp2", "sigmoid", "softplus")


def caveats(ensemble, dialect, X):
    """Lines for a comment on what is written of a `NamedEnsemble`; none where nothing can differ.

    `dialect` is that of SQL, None in other languages. Rows `X` (None: there are none) that are near
    enough to a tie are counted, and so are those to which the model itself answers otherwise, as a
    pipeline can that scales in other floats; a UserWarning tells of them.
    """
    lines = _next_to_ties(ensemble, dialect, X)
    if X is None:
        return lines
    model, rows = ensemble.model, _numbers(ensemble, X)
    forest = model.finest
    found, own = forest.decide_at(forest.apply(rows).T), model.ask_given(X, rows)
    if forest.classes is None:
        what, differs = "number", ~np.isclose(found, own, rtol=1e-6, atol=0.0, equal_nan=True)
    else:
        what, differs = "class", model.classes[found] != own
    n = int(differs.sum())
    if not n:
        return lines
    warnings.warn(
        f"{n:,} of {len(rows):,} rows of X get another {what} than the model's.",
        UserWarning,
        stacklevel=3,
    )
    return [*lines, _counted(n, len(rows), f"got another {what} than the model's")]


def _next_to_ties(ensemble, dialect, X):
    """Lines on sums that can be rounded otherwise."""
    forest, found = ensemble.model.finest, _reasons(ensemble, dialect)
    if not found:
        return []
    if forest.classes is None:
        sums = None if forest.vote.link is not None else forest.number_sums
        if sums is not None and sums.is_exact:
            return []
        apart = "" if sums is None else f" by at most {number_up(2.0 * sums.rounding)}"
        return [f"Numbers can differ from the model's{apart}: {'; '.join(found)}."]
    sums = forest.sums
    if sums is not None and sums.is_exact and not ensemble.code.margin:
        return []
    if sums is None:
        return [f"Next to ties, classes can differ from the model's: {'; '.join(found)}."]
    lines = [
        "Where the sums of the two classes in front are no more than "
        f"{number_up(2.0 * sums.rounding)} apart, the class can differ from the model's: "
        f"{'; '.join(found)}."
    ]
    if X is None:
        return lines
    rows = _numbers(ensemble, X)
    totals = np.tile(sums.start, (len(rows), 1))
    for leaves in forest.apply(rows).T:
        totals += sums.value[leaves]
    first_two = np.partition(totals, -2, axis=1)[:, -2:]
    n_close = int((first_two[:, 1] - first_two[:, 0] <= 2.0 * sums.rounding).sum())
    if n_close:
        warnings.warn(
            f"{n_close:,} of {len(rows):,} rows of X are so close to a tie that their class can "
            f"differ from the model's: {'; '.join(found)}.",
            UserWarning,
            stacklevel=4,
        )
    return [*lines, _counted(n_close, len(rows), "came so close")]


def _reasons(ensemble, dialect):
    """Why code that follows the steps of a program can answer otherwise."""
    program, vote, found = ensemble.code, ensemble.forest.vote, []
    if ensemble.model.takes_threads:
        found.append("threads of the model (n_jobs) add its trees up in any order")
    if dialect is not None and vote.coarsest > np.finfo(np.float64).eps:
        if dialect is COMMON:
            found.append("the model adds in float32, which SQLite lacks")
        elif dialect.single is None:
            found.append(f"the model adds in float32, the query for {dialect.title} in doubles")
    if ensemble.forest.classes is None and vote.link_kind in _OF_EXPONENTIALS:
        found.append("its values come of exponentials, which libraries round in their own ways")
    labels = [*program.labels, program.result]
    if program.margin or any(isinstance(own, Best) and own.softmax for own in labels):
        found.append("the model compares exponentials, which libraries round in their own ways")
    return found


def _numbers(ensemble, X):
    return ensemble.model.table.read(X, [np.float64, np.float32])


def _counted(n, n_rows, what):
    return f"Of {n_rows:,} rows that were tried, {f'{n:,}' if n else 'none'} {what}."


def caveats_of_int16(ensemble, X):
    """A `NamedEnsemble` in 16 bits, and lines about it: with `X`, classes that change are counted.

    What is asked is the ensemble in 16 bits as it is read back from JSON.
    """
    rows, model = None if X is None else _numbers(ensemble, X), ensemble.model
    int16 = Int16.of(ensemble, rows)
    lines = int16.told
    if rows is None:
        return int16, lines
    again = read_json(ensemble_in_json(int16.ensemble), "model")._forest
    leaves = again.apply(rows)
    n_moved = int((leaves != model.finest.apply(rows)).any(axis=1).sum())
    lines = [*lines, _counted(n_moved, len(rows), "ended in other leaves than the model's")]
    found, own = again.decide_at(leaves.T), model.ask_given(X, rows)
    if again.classes is None:
        largest = float(np.abs(found - own).max(initial=0.0))
        return int16, [*lines, f"The largest change on them is {number_up(largest)}."]
    n_changed = int((model.classes[found] != own).sum())
    if n_changed:
        warnings.warn(
            f"In 16 bits, {n_changed:,} of {len(rows):,} rows of X get another class.",
            UserWarning,
            stacklevel=3,
        )
    return int16, [*lines, _counted(n_changed, len(rows), "got another class than the model's")]
