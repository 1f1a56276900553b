"""Which features, moved to a reference, change the answer to a row: alone, or only together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, combinations, islice
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ensemble_simplify.base import Interval, validate_params
from ensemble_simplify.evidence import Claim, HasEvidence, Use
from ensemble_simplify.grid import read_domain
from ensemble_simplify.proof import shown_entry
from ensemble_simplify.reading import Model, is_missing
from ensemble_simplify.writing import one_line, plain

# Rows that the model is asked about, at most, for one row of the user's, and at once.
_MOST_ROWS, _BATCH = 200_000, 20_000
# Reasons that are told.
_TOLD = 4


@dataclass(frozen=True)
class PrincipalReasons(HasEvidence):
    """Why a row does not get another answer; one of `principal_reasons`.

    `save` writes evidence of the sets, for models that can be read (:ref:`models`): at each row in
    which all of a set are moved, the model answers otherwise, and with only a part of them it does
    not. That no set was left out is not part of it.

    Attributes
    ----------
    reasons : list of tuple
        Irreducible sets of features, by name or else by index: moved to the reference, they change
        the answer, and no part of them does. Smaller ones come first, and of the same size that
        which leaves least probability to the row's answer.
    answers : list
        What the model answers once each of them is moved.
    prediction, reference_prediction : object
        What the model answers to the row and to the reference.
    moves : dict
        For each feature in which they differ, the entry of the row and that of the reference.
    complete_up_to : int
        All irreducible sets of at most so many features are in `reasons`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from ensemble_simplify import principal_reasons
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    >>> print(principal_reasons(tree, X.iloc[[100]], X.iloc[[50]])[0])
    2 for 1, because of petal width (cm) (2.5, not 1.4)
    """

    reasons: list
    answers: list
    prediction: Any
    reference_prediction: Any
    moves: dict
    complete_up_to: int
    # the model, the row and the reference, and the answer that was asked for
    _asked: tuple = field(default=(), repr=False, compare=False)

    @property
    def claim(self) -> Claim | None:
        """What `save` writes; None: there is no set. TypeError where the model cannot be read."""
        if not self.reasons:
            return None
        estimator, both, target = self._asked
        model = Model.of(estimator).with_names_in(both)
        rows = model.table.read(both, [np.float64, np.float32]).astype(np.float64)
        forest, names, n = model.finest, model.table.names, rows.shape[1]
        # of a frame, entries are known by their names
        places = range(n) if names is None else {name: j for j, name in enumerate(names.tolist())}
        sets = [sorted(places[name] for name in own) for own in self.reasons]
        if forest.is_finer:
            rows = rows.astype(np.float32).astype(np.float64)
        if forest.classes is None:
            low, high = (None if end is None or np.isinf(end) else float(end) for end in target)
            kind, data = "in_range", {"of": "value", "low": low, "high": high}
        else:
            label = self.prediction if target is None else target
            kind = "class_is_not" if target is None else "class_is"
            data = {"class": forest.classes.tolist().index(label)}
        inside = read_domain(None, n, missing=np.isnan(rows).any(axis=0))
        use = Use(0, np.arange(n))
        return Claim(kind, [model], [forest], [use], inside, data, moves=(*rows, sets))

    @property
    def alone(self) -> list:
        """Features that alone change the answer."""
        return [own[0] for own in self.reasons if len(own) == 1]

    def __str__(self):
        own = one_line(self.prediction)
        if not self.moves:
            return f"{own}: the row has the answer that is asked for, or is as the reference"
        told: list[str] = [
            " together with ".join(map(self._moved, own)) for own in self.reasons[:_TOLD]
        ]
        if not told:
            return (
                f"{own}: no set of at most {self.complete_up_to} features of the reference "
                "changes that"
            )
        more = len(self.reasons) - len(told)
        if more:
            told.append(f"one of {more:,} other sets")
        return f"{own} for {self._reached()}, because of {'; or of '.join(told)}"

    def _reached(self):
        """What the sets lead to, which may be other answers than that to the reference."""
        answers = sorted(set(self.answers), key=lambda own: (own != self.reference_prediction, own))
        if isinstance(self.prediction, float) and len(answers) > 2:
            return f"{min(answers):.6g} to {max(answers):.6g}"
        return " or ".join(map(one_line, answers))

    def _moved(self, name):
        before, after = map(shown_entry, self.moves[name])
        return f"{one_line(name)} ({before}, not {after})"


@validate_params({"max_size": [Interval(Integral, 1, None, closed="left")]})
def principal_reasons(
    model: Any, rows: ArrayLike, reference: ArrayLike, *, target: Any = None, max_size: int = 4
) -> list[PrincipalReasons]:
    """Find all sets of features that, moved to a reference, change the answer to a row.

    A list of features by importance can name some that change nothing: they only add up with
    others. Here the model itself is asked about every row in which at most `max_size` features
    have the entries of the reference, so that each reason that is told has been seen, and none of
    that size is left out.

    Read more in the :ref:`guide <audit_principal>`.

    Parameters
    ----------
    model : estimator
        Any fitted classifier or regressor. It is not changed.
    rows : array-like or pandas frame of shape (n_rows, n_features)
        Rows that are to be explained, as the model takes them.
    reference : array-like or pandas frame of shape (1, n_features)
        What they are compared with, such as a typical row with the answer that they did not get.
    target : label, tuple of two numbers, or None, default=None
        The answer that they did not get. None: any other class. For a regressor, needed: the range
        ``(low, high)`` of values; None leaves an end open.
    max_size : int, default=4
        Most features of a set.

    Returns
    -------
    list of PrincipalReasons
        One a row.

    Raises
    ------
    ValueError
        If rows and reference are of other forms, or `target` is no class or range.

    See Also
    --------
    nearest_flip : The smallest change that leads to another answer, without a reference.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from ensemble_simplify import principal_reasons
    >>> from ensemble_simplify.datasets import load_parkinsons
    >>> X, y = load_parkinsons(return_X_y=True)
    >>> forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    >>> healthy = X[forest.predict(X) != forest.predict(X.iloc[[0]])[0]].iloc[[0]]
    >>> found = principal_reasons(forest, X.iloc[[0]], healthy, max_size=2)[0]
    >>> found.complete_up_to
    2
    """
    asked = Model.unread(model)
    names, take, n_rows = _forms(rows, reference)
    reached = _reached(asked, target)
    return [_of_row(asked, i, names, take, reached, target, max_size) for i in range(n_rows)]


def _forms(rows: Any, reference: Any):
    """Names of the columns, what builds rows of entries of a row (0) and the reference (1), and how
    many rows there are.
    """
    if hasattr(rows, "iloc") != hasattr(reference, "iloc"):
        raise ValueError("rows and reference are an array and a frame. Give both in one form.")
    if len(reference) != 1:
        raise ValueError(f"reference has {len(reference)} rows. Give one, as X.iloc[[0]] or X[:1].")
    if hasattr(rows, "iloc"):
        import pandas as pd

        names = list(rows.columns)
        if list(reference.columns) != names:
            raise ValueError("reference has other columns than rows, or another order of them.")

        def take(i, is_moved):
            two = pd.concat([rows.iloc[[i]], reference])
            return pd.DataFrame(
                {
                    name: two[name].take(own).array
                    for name, own in zip(names, is_moved.T, strict=True)
                }
            )

        return names, take, len(rows)
    rows, reference = np.asarray(rows), np.asarray(reference)
    if rows.ndim != 2 or reference.shape[1:] != rows.shape[1:]:
        raise ValueError(
            f"rows have the shape {rows.shape}, the reference {reference.shape}. Give tables of "
            "the same columns."
        )
    names = list(range(rows.shape[1]))
    return names, lambda i, is_moved: np.where(is_moved, reference, rows[i]), len(rows)


def _reached(asked, target):
    """Which answers are those that a row did not get, beside its own."""
    if asked.is_classifier:
        if target is None:
            return lambda answers, own: answers != own
        if target not in asked.classes.tolist():
            raise ValueError(
                f"target={target!r} is no class. Give one of {asked.classes.tolist()}."
            )
        return lambda answers, own: answers == target
    if not isinstance(target, tuple) or len(target) != 2:
        raise ValueError(f"target={target!r}. Give the range (low, high) of values to be reached.")
    low, high = target
    low, high = -np.inf if low is None else low, np.inf if high is None else high
    return lambda answers, own: (low <= answers) & (answers <= high)


def _of_row(asked, i, names, take, reached, target, max_size):
    both = take(i, _moved([(), range(len(names))], len(names)))
    own, other = asked.ask(both)
    # a row that is where it should be needs no reasons
    differing = [] if reached(np.array([own]), own)[0] else _differing(both, len(names))

    def answers_to(sets, method="predict"):
        return asked.ask(take(i, _moved(sets, len(names))), method)

    found, complete = _found(answers_to, differing, lambda told: reached(told, own), max_size)
    sets = list(found)
    left = np.zeros(len(sets))
    if sets and asked.is_classifier and hasattr(asked.estimator, "predict_proba"):
        place = asked.estimator.classes_.tolist().index(plain(own))
        left = answers_to(sets, "predict_proba")[:, place].round(9)
    # smaller ones first, then those that leave least to the row's answer
    order = sorted(zip(map(len, sets), left.tolist(), sets, strict=True))
    entries = both.iloc if hasattr(both, "iloc") else both
    moves = {names[j]: tuple(plain(entries[k, j]) for k in (0, 1)) for j in differing}
    return PrincipalReasons(
        reasons=[tuple(names[j] for j in own) for _, _, own in order],
        answers=[found[own] for _, _, own in order],
        prediction=plain(own),
        reference_prediction=plain(other),
        moves=moves,
        complete_up_to=complete,
        _asked=(asked.estimator, both, target),
    )


def _moved(sets, n):
    """For each set of columns which of `n` columns are in it, as 1 and 0."""
    is_moved = np.zeros((len(sets), n), dtype=np.intp)
    rows = np.repeat(np.arange(len(sets)), [len(own) for own in sets])
    is_moved[rows, np.fromiter(chain.from_iterable(sets), dtype=np.intp)] = 1
    return is_moved


def _found(answers_to, differing, reached, max_size):
    """Irreducible sets with what is answered to them, and up to which size these are all."""
    found, n_asked = {}, 0
    for size in range(1, max_size + 1):
        left = _irreducible(differing, size, list(found))
        while sets := list(islice(left, _BATCH)):
            n_asked += len(sets)
            if n_asked > _MOST_ROWS:
                return found, size - 1
            told = answers_to(sets)
            found |= {sets[k]: plain(told[k]) for k in np.flatnonzero(reached(told)).tolist()}
    return found, max_size


def _differing(both, n):
    """Columns in which two rows differ; two gaps do not."""
    entries = both.iloc if hasattr(both, "iloc") else both
    pairs = [(entries[0, j], entries[1, j]) for j in range(n)]
    return [
        j for j, (a, b) in enumerate(pairs) if not (is_missing(a) and is_missing(b)) and not a == b
    ]


def _irreducible(columns, size, found) -> Iterator[tuple]:
    """Sets of columns that hold none that was found already, smaller ones being found first."""
    known = [set(own) for own in found]
    for own in combinations(columns, size):
        if not any(part <= set(own) for part in known):
            yield own
