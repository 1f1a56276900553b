"""What `verify` returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ensemble_simplify.evidence import HasEvidence
from ensemble_simplify.grid import Domain
from ensemble_simplify.writing import number, one_line, plain


@dataclass(frozen=True, eq=False, repr=False)
class Verification(HasEvidence):
    """Outcome of `verify`.

    It is true (in the sense of ``if``) only where equality, or closeness, is proven.

    Attributes
    ----------
    equal : bool or None
        True: proven; False: there is a counterexample; None: a limit came first.
    counterexample : ndarray of shape (n_features,) or None
        A row on which the models differ, in the dtype of `X`: a row of `X` as it was given, or
        numbers that float32 represents exactly, unless both models compare float64 numbers. Of
        models that take tables of text or categories, and of a frame with columns of several kinds
        of floats, a table of one row.
    predictions : tuple or None
        What the two models answer to it: labels, values of regressors, or the probabilities of
        each one's classes.
    n_boxes : int
        Boxes of the feature space that were looked at.
    seconds : float
        Time taken.
    domain : Domain, dict or None
        Where the models were compared; None: on every input.
    max_changes : int or None
        Compared were the rows as they were given, and the points that differ from some row in at
        most so many features; None: all.
    row : int or None
        With `max_changes`, the row of `X` that is the counterexample, or from which it differs.
    tolerance : pair of float or None
        Of numbers that were compared: ``(atol, rtol)``; None: labels were.
    max_difference : float or None
        Of numbers: the largest absolute difference that was seen, of the models' own answers.
    max_difference_bound : float or None
        Of numbers: no absolute difference is larger, at any point that counts.
    reason : {None, "time", "boxes", "rounding"}
        Why it is undecided: `time_limit`, `max_boxes`, or rounding. Of numbers, the largest
        difference lies within rounding of the tolerance at too many points to look at each. Of
        labels, the models have the same trees in another order: they differ nowhere but where
        classes are tied up to rounding, if such points exist.
    finer : bool
        Whether a model compares numbers that are finer than float32, and they were not followed
        on such (pipelines; HistGradientBoosting and LightGBM beside a model that rounds). Then
        only the rows of `X` themselves, which the models were asked about, and inputs that
        float32 represents were compared. Otherwise, every finite input was.
    row_dtype : str or None
        Of pipelines that answer rows of float32 otherwise than the same numbers of float64: the
        type of the rows that were compared. None: rows of any type are answered alike.
    claim : Claim or None
        What `save` writes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from ensemble_simplify import verify
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    >>> outcome = verify(tree, tree)
    >>> outcome.equal, outcome.counterexample
    (True, None)
    """

    equal: bool | None
    counterexample: np.ndarray | None
    predictions: tuple | None
    n_boxes: int
    seconds: float
    domain: Domain | dict | None = None
    max_changes: int | None = None
    row: int | None = None
    tolerance: tuple | None = None
    max_difference: float | None = None
    max_difference_bound: float | None = None
    reason: str | None = None
    finer: bool = False
    row_dtype: str | None = None
    claim: Any = None

    def __bool__(self):
        return self.equal is True

    def __repr__(self):
        boxes = "box" if self.n_boxes == 1 else "boxes"
        effort = f"{self.n_boxes} {boxes} in {self.seconds:.3g} s"
        if self.max_changes is not None:
            effort = f"{self.seconds:.3g} s"
        if self.tolerance is not None:
            effort = f"{self._range()}; {effort}"
        if self.equal:
            return f"Verification(equal=True: proven for {self._where()}; {effort})"
        if self.equal is None:
            why = "at the limit"
            if self.reason == "rounding":
                why = "within rounding of the tolerance"
                if self.tolerance is None:
                    why = "only where classes are tied up to rounding"
            return f"Verification(equal=None: undecided {why}; {effort})"
        first, second = self.predictions
        return (
            f"Verification(equal=False: {plain(first)!r} against {plain(second)!r} at "
            f"{shown_row(self.counterexample)}; {effort})"
        )

    def _where(self):
        """What was compared, in words."""
        if self.max_changes == 0:
            return "every row of X"
        where = "every finite input" if self.domain is None else "every input in the domain"
        if self.finer:
            where = "every input that float32 represents"
            where += "" if self.row_dtype is None else f", given as {self.row_dtype}"
            where += "" if self.domain is None else ", in the domain,"
        if self.max_changes is None:
            return where.rstrip(",")
        near = (
            f"that differs from a row of X in at most {self.max_changes} "
            f"feature{'s' if self.max_changes > 1 else ''}"
        )
        # finer rows themselves are answered alike, too, but not what is near them
        return f"every row of X, and {where} {near}" if self.finer else f"{where} {near}"

    def _range(self):
        """The largest difference, in words."""
        low, high = f"{self.max_difference:.6g}", f"{self.max_difference_bound:.6g}"
        return f"largest difference {low}" if low == high else f"largest difference {low} to {high}"


def shown_row(row):
    if hasattr(row, "columns"):
        values = [(name, row[name].tolist()[0]) for name in row.columns[:8]]
        pairs = [f"{one_line(name)}={shown_entry(value)}" for name, value in values]
        return ", ".join(pairs) + (", ..." if row.shape[1] > 8 else "")
    if row.dtype == object:
        return str([plain(entry) for entry in row.ravel()])
    entries = [number(float(entry)) for entry in row[:8]]
    return "[" + ", ".join(entries) + (", ..." if len(row) > 8 else "") + "]"


def shown_entry(value):
    return number(value) if isinstance(value, float) else repr(plain(value))
