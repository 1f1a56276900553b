"""What `verify` returns."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from ensemble_simplify.evidence import HasEvidence
from ensemble_simplify.grid import Domain, limited
from ensemble_simplify.writing import counted, number, one_line, plain


@dataclass(frozen=True, eq=False, repr=False)
class Verification(HasEvidence):
    """Outcome of `verify`.

    It is true (in the sense of ``if``) only where equality, or closeness, is proven.

    Attributes
    ----------
    equal : bool or None
        True: proven. False: there is a counterexample. None: undecided, see `reason`.
    counterexample : ndarray of shape (n_features,) or None
        A row on which the models differ, in the dtype of `X`. It is a row of `X` as it was given,
        or a row of numbers that float32 represents exactly (if both models compare float64 numbers:
        of any numbers). If the models take tables of text or categories, or a frame has columns of
        several kinds of floats, it is a table of one row.
    predictions : tuple or None
        What the two models answer to this row: labels, values of regressors, or the probabilities
        of each one's classes.
    n_boxes : int
        Boxes of the feature space that were looked at.
    seconds : float
        Time taken.
    domain : Domain, dict or None
        Where the models were compared. None: on every input.
    max_changes : int or None
        How many features could differ from a row of `X`. None: all inputs were compared.
    row : int or None
        With `max_changes`, the number of the row of `X` that is the counterexample, or from which
        the counterexample differs.
    tolerance : pair of float or None
        ``(atol, rtol)``, if numbers were compared. None: labels were compared.
    max_difference : float or None
        The largest absolute difference of the models' own answers that was seen. None: labels were
        compared.
    max_difference_bound : float or None
        It is proven that no absolute difference is larger, at any point that was compared. None:
        labels were compared.
    reason : {None, "time", "boxes", "rounding"}
        Why it is undecided: `time_limit`, `max_boxes`, or rounding. If numbers were compared,
        "rounding" means that the largest difference lies within rounding of the tolerance, at too
        many points to look at each. If labels were compared, it means that the models have the same
        trees in another order: they can differ only where classes are tied up to rounding.
    finer : bool
        True: only inputs that float32 represents were compared, and the rows of `X` themselves. The
        reason is a model that compares finer numbers: a pipeline, or HistGradientBoosting or
        LightGBM beside a model that rounds. False: every finite input was compared.
    row_dtype : str or None
        The type of the rows that were compared, for pipelines that answer rows of float32 otherwise
        than the same numbers of float64. None: rows of any type get the same answers.
    claim, smallest_claim : Claim or None
        What `save` writes, and what it writes with ``smallest=True``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from ensemble_simplify import verify
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    >>> verify(tree, tree)
    Verification(equal=True: proven for every finite input; ...)
    >>> stump = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y)
    >>> outcome = verify(tree, stump)
    >>> outcome.equal, outcome.predictions
    (False, (2, 1))
    """

    equal: bool | None
    counterexample: np.ndarray | None = None
    predictions: tuple | None = None
    n_boxes: int = 0
    seconds: float = 0.0
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
    smallest_claim: Any = None

    _more = (
        "smallest_claim",
        "smallest=True is about a tree that is proven to answer the same class as an ensemble "
        "everywhere: save the outcome of BornAgainClassifier.verify, fitted with atol=None and "
        "max_changes=None, or leave smallest out.",
    )

    def __bool__(self):
        return self.equal is True

    @limited
    def save(  # ty: ignore[incompatible-attribute-override]
        self,
        path: str | PathLike,
        *,
        smallest: bool = False,
        max_boxes: int = 1_000_000,
        time_limit: float | None = None,
    ) -> None:
        """Write the outcome and its proof to a file that another program can check.

        Read more in the :ref:`guide <evidence>`.

        Parameters
        ----------
        path : str or path-like
            The file, in JSON. It is compressed if its name ends in ``.gz``.
        smallest : bool, default=False
            False: the file shows that the models answer alike, or a row on which they do not. True,
            for the outcome of :meth:`BornAgainClassifier.verify`: it shows that no tree that
            answers as the ensemble is of less depth, or has fewer leaves. Where the grid that shows
            this is too large, the file shows it of a smaller size, and a warning says so.
        max_boxes : int, default=1_000_000
            The most boxes that the proof of equality may take.
        time_limit : float or None, default=None
            Seconds after which :class:`TimeLimitError` is raised.

        Raises
        ------
        TimeLimitError
            If the time is over. No file is written.
        ValueError
            If there is nothing to save, with what would help.
        """
        self._save(path, max_boxes, more=smallest)

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        more = "" if self.tolerance is None else f"; {self._range()}"
        if self.equal:
            return f"equal=True: proven for {self._where()}{more}"
        if self.equal is None:
            why = "at the limit"
            if self.reason == "rounding":
                why = "within rounding of the tolerance"
                if self.tolerance is None:
                    why = "only where classes are tied up to rounding"
            return f"equal=None: undecided {why}{more}"
        first, second = self.predictions
        return (
            f"equal=False: {plain(first)!r} against {plain(second)!r} at "
            f"{shown_row(self.counterexample)}{more}"
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
        near = f"that differs from a row of X in at most {counted(self.max_changes, 'feature')}"
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
