"""What `agreement` returns: shares and intervals, which merge, and what is said of them."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import hash as hash_of

from ensemble_simplify.base import binomial_interval, quantile_interval
from ensemble_simplify.reading import Model
from ensemble_simplify.writing import percent

# Where the proven bounds on a volume are closer than this, no estimate is drawn.
SHARP = 0.02
# Rows shown on which the models differ.
SHOWN = 10
# Quantiles of differences that are told.
TOLD = (0.5, 0.9)

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, eq=False, repr=False)
class Agreement:
    """Outcome of `agreement`.

    Attributes
    ----------
    share : float
        Share of the rows of `X` to which the models give the same answer: the same label, or
        numbers that are at most `atol` apart. nan without rows.
    interval : pair of float
        Confidence interval of the probability of the same answer, for rows like those of `X`
        (Clopper and Pearson). (0, 1) without rows.
    n_rows, n_different : int
        Rows of `X`, and how many of them get different answers.
    volume : pair of float
        Bounds on the share of the volume of the box on which the answers are the same. They are
        proven if both models can be read (see `is_read`). Otherwise they are `volume_interval`. The
        volume is that of all real numbers in the box, in the arithmetic of doubles. If a model
        compares numbers that are finer than float32 (HistGradientBoosting, LightGBM, pipelines),
        the numbers between a threshold and the next float32 number count as not settled.
    volume_estimate : float
        The same share, estimated from points drawn from the box.
    volume_interval : pair of float
        Confidence interval of this share, from the same points. It does not use the proof.
    box : pair of ndarray of shape (n_features,)
        Lower and upper ends of the box: the range of the rows, or the bounds of the domain.
    counterexamples : ndarray of shape (n, n_features)
        Some rows with different answers, those of `X` first. If numbers were compared, these are
        the rows of `X` with the largest differences.
    predictions : list of pairs
        What the models answer to these rows: labels, values, or the probabilities of each one's
        classes.
    confidence : float
        Confidence of the intervals.
    is_read : bool
        Whether both models could be read, so that the bounds on the volume are proven.
    seconds : float
        Time taken.
    table : Table
        What the numbers of `counterexamples` stand for, if the models take tables of text or
        categories. `to_frame` uses it.
    atol : float or None
        The tolerance, as a number. None: labels were compared.
    differences : ndarray of shape (n_rows,) or None
        The absolute difference of the two answers to each row of `X`. For probabilities, the
        largest one over the classes. None: labels were compared.
    r2 : float or None
        Coefficient of determination of the second model's values, with the values of the first as
        the truth. nan without rows. None: values were not compared.
    max_difference : float or None
        The largest difference that was seen, in a row of `X` or anywhere in the box. None: labels
        were compared.
    max_difference_bound : float or None
        It is proven that no difference is larger, in a row of `X` or anywhere in the box (see
        `finer`). Infinite if nothing is proven. None: labels were compared.
    finer : bool
        True: between the rows of `X`, the `max_difference_bound` holds only for inputs that float32
        represents. The reason is a model that compares finer numbers: a pipeline, or
        HistGradientBoosting or LightGBM beside a model that rounds. False: it holds for every
        finite input in the box.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from ensemble_simplify import agreement
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(5, random_state=0).fit(X[::2], y[::2])
    >>> tree = DecisionTreeClassifier(random_state=0).fit(X[::2], y[::2])
    >>> outcome = agreement(forest, tree, X[1::2], random_state=0)
    >>> print(f"{outcome.n_different} of {outcome.n_rows} rows get different answers")
    1 of 75 rows get different answers
    >>> print("probability of the same answer: {:.3f} to {:.3f}".format(*outcome.interval))
    probability of the same answer: 0.928 to 1.000
    """

    share: float
    interval: tuple
    n_rows: int
    n_different: int
    volume: tuple
    volume_estimate: float
    volume_interval: tuple
    box: tuple
    counterexamples: np.ndarray
    predictions: list
    confidence: float
    is_read: bool
    seconds: float
    table: Any = None
    atol: float | None = None
    differences: np.ndarray | None = None
    r2: float | None = None
    max_difference: float | None = None
    max_difference_bound: float | None = None
    finer: bool = False
    # of the first model's values: how many, their mean, and the sums of squares that R2 is made of
    _squares: tuple | None = None
    # the two models, or what tells them from others
    _models: tuple = ()

    def __getstate__(self):
        # outcomes travel between machines without their models
        return {**self.__dict__, "_models": _marks(self._models)}

    def merge(self, *others: Agreement) -> Agreement:
        """The outcome on the rows of several outcomes together.

        Parts of a table can be compared one by one, on one machine or on many. Intervals, quantiles
        and R2 are those of all rows at once.

        Parameters
        ----------
        *others : Agreement
            What the same two models answer to other rows. To join many, give all of them at once.

        Returns
        -------
        merged : Agreement
            Its ``box`` holds all boxes. Volumes of these tell nothing about that box, so its
            ``volume`` is (0, 1), and no bound on the largest difference is kept.

        Raises
        ------
        ValueError
            If the outcomes have different tolerances or confidences, or are about other columns or
            other models. Models that cannot be read are told apart by their types and classes.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> from ensemble_simplify import agreement
        >>> X, y = load_iris(return_X_y=True)
        >>> deep = DecisionTreeClassifier(random_state=0).fit(X[::2], y[::2])
        >>> flat = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[::2], y[::2])
        >>> parts = [agreement(deep, flat, rows, volume=False) for rows in (X[1:60:2], X[61::2])]
        >>> parts[0].merge(parts[1]).n_rows
        75
        """
        for other in others:
            self._check_alike(other)
        parts = [self, *others]
        n_rows = sum(own.n_rows for own in parts)
        n_different = sum(own.n_different for own in parts)
        # those that were drawn from a box are no rows of X
        shown = [own.counterexamples[: own.n_different] for own in parts]
        predictions = [pair for own in parts for pair in own.predictions[: own.n_different]]
        told: dict[str, Any] = {}
        order = np.arange(sum(map(len, shown)))
        differences = [own.differences for own in parts if own.differences is not None]
        if differences:
            told["differences"] = np.concatenate(differences)
            # each outcome shows its largest differences, the largest first
            worst = [np.sort(own)[::-1] for own in differences]
            worst = [own[: len(rows)] for own, rows in zip(worst, shown, strict=True)]
            order = np.argsort(-np.concatenate(worst), kind="stable")
            told["max_difference"] = max(own.max_difference or 0.0 for own in parts)
            told["max_difference_bound"] = np.inf
        squares = [own._squares for own in parts if own._squares is not None]
        if squares:
            told["_squares"] = reduce(_merged_squares, squares)
            told["r2"] = r2_of(told["_squares"])
        order = order[:SHOWN]
        return replace(
            self,
            share=1.0 - n_different / n_rows if n_rows else np.nan,
            interval=interval_of(n_rows - n_different, n_rows, self.confidence),
            n_rows=n_rows,
            n_different=n_different,
            volume=(0.0, 1.0),
            volume_estimate=np.nan,
            volume_interval=(0.0, 1.0),
            box=(
                np.min([own.box[0] for own in parts], axis=0),
                np.max([own.box[1] for own in parts], axis=0),
            ),
            counterexamples=np.concatenate(shown)[order],
            predictions=[predictions[i] for i in order],
            is_read=False,
            seconds=sum(own.seconds for own in parts),
            **told,
        )

    def _check_alike(self, other):
        """Refuse an outcome of other models, other columns or other tolerances."""
        if (self.atol, self.confidence) != (other.atol, other.confidence):
            raise ValueError(
                f"Outcomes with atol={self.atol}, confidence={self.confidence} and with "
                f"atol={other.atol}, confidence={other.confidence} cannot be merged. Give both "
                "calls of agreement the same numbers."
            )
        one, two = (_columns_of(own) for own in (self, other))
        if one != two:
            raise ValueError(
                f"Outcomes on rows with {_shown(one)} and with {_shown(two)} cannot be merged. "
                "Merge outcomes on parts of one table."
            )
        same = all(map(operator.is_, self._models, other._models))
        if not same and _marks(self._models) != _marks(other._models):
            raise ValueError(
                "Outcomes of different models cannot be merged. Compare the same model_a and "
                "model_b, in this order, on all parts of the rows."
            )

    def quantile(self, share: float) -> tuple[float, float, float]:
        """The difference that a given share of rows like those of `X` does not exceed.

        Parameters
        ----------
        share : float in (0, 1)
            0.5 asks for the median difference. 0.9 asks for the difference that one row in ten
            exceeds.

        Returns
        -------
        value, low, high : float
            The quantile of `differences`, and the ends of its confidence interval. Each end is one
            of the differences. With too few rows, the ends are 0 and infinity.

        Raises
        ------
        ValueError
            If labels were compared, there are no rows, or `share` is not between 0 and 1.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn.ensemble import RandomForestRegressor
        >>> from sklearn.tree import DecisionTreeRegressor
        >>> from ensemble_simplify import agreement
        >>> X, y = load_diabetes(return_X_y=True)
        >>> forest = RandomForestRegressor(5, random_state=0).fit(X[::2], y[::2])
        >>> tree = DecisionTreeRegressor(max_depth=3).fit(X[::2], forest.predict(X[::2]))
        >>> outcome = agreement(forest, tree, X[1::2], atol="50%", time_limit=1, random_state=0)
        >>> print("half of the differences are at most {:.0f}".format(*outcome.quantile(0.5)))
        half of the differences are at most 20
        """
        if self.differences is None or not self.n_rows:
            raise ValueError(
                "There are no differences of numbers to take quantiles of. Compare two regressors, "
                "or two classifiers with atol, and give rows X."
            )
        if not 0 < share < 1:
            raise ValueError(f"share={share!r} must be a number between 0 and 1.")
        low, high = quantile_interval(self.differences, share, self.confidence)
        return float(np.quantile(self.differences, share)), max(low, 0.0), high

    def to_frame(self, feature_names: Sequence[str] | None = None) -> pandas.DataFrame:
        """The counterexamples as a data frame, with what the models answer.

        Parameters
        ----------
        feature_names : sequence of str or None, default=None
            Names of the features. None: ``x0``, ``x1``, ...

        Returns
        -------
        pandas.DataFrame
            One row for each counterexample: its features, and the answers of both models in the
            columns ``model_a`` and ``model_b``.
        """
        import pandas as pd

        rows = self.table.decode(self.counterexamples)
        names = getattr(rows, "columns", feature_names)
        names = [f"x{j}" for j in range(rows.shape[1])] if names is None else list(names)
        frame = pd.DataFrame(rows, columns=names)
        frame["model_a"] = [first for first, _ in self.predictions]
        frame["model_b"] = [second for _, second in self.predictions]
        return frame

    def __repr__(self):
        parts, alike = [], "the same answer"
        if self.atol:
            alike = f"within {self.atol:.4g}"
        if self.n_rows:
            parts.append(
                f"{alike} on {percent(self.share)} of {self.n_rows} rows "
                f"(probability {_range(self.interval)} at confidence {self.confidence:g})"
            )
            if self.r2 is not None:
                parts.append(f"R2 {self.r2:.3f}")
            if self.differences is not None:
                parts.append(" and ".join(map(self._at_most, TOLD)))
        if self.max_difference is not None:
            parts.append(self._largest())
        if np.isnan(self.volume_estimate):
            return f"Agreement({', '.join(parts)}, volume not measured, {self.seconds:.3g} s)"
        drawn_, volume = _range(self.volume_interval), _range(self.volume)
        if not self.is_read:
            volume = f"{volume} of the volume (at confidence {self.confidence:g})"
        elif self.volume[1] - self.volume[0] < SHARP:
            # single rows, as those at an end of the box, have no volume
            rows = ", but for single rows" if self.n_different and self.volume[0] == 1 else ""
            volume = f"{volume} of the volume (proven{rows})"
        else:
            proven = "nothing proven" if self.volume == (0.0, 1.0) else f"proven: {volume}"
            volume = f"{drawn_} of the volume (at confidence {self.confidence:g}; {proven})"
        parts.append(f"{alike} on {volume}")
        return f"Agreement({', '.join(parts)}, {self.seconds:.3g} s)"

    def _at_most(self, share):
        """A quantile of the differences, in words."""
        value, low, high = self.quantile(share)
        ends = f"{low:.4g} or more" if high == np.inf else f"{low:.4g} to {high:.4g}"
        return f"{100 * share:g} % of differences at most {value:.4g} ({ends})"

    def _largest(self):
        """The largest difference, in words."""
        seen = f"the largest seen {self.max_difference:.4g}"
        if self.max_difference_bound == np.inf:
            return seen
        points = "input in the box" + " that float32 represents" * self.finer
        return f"{seen}, none above {self.max_difference_bound:.4g} (proven for every {points})"


def _columns_of(outcome):
    """How many columns an outcome is about, and their names."""
    names = getattr(outcome.table, "names", None)
    return len(outcome.box[0]), None if names is None else list(names)


def _shown(columns):
    n, names = columns
    return f"{n} columns" + (f" ({', '.join(map(str, names[:8]))})" if names else "")


def _marks(models):
    """For each of some models, what tells it from others, and is the same in another process."""
    return tuple(own if isinstance(own, str) else _mark(own) for own in models)


def _mark(fitted):
    try:
        forest = Model.of(fitted, check=False).forest
    except (TypeError, ValueError, ImportError):
        return f"{type(fitted).__name__} {getattr(fitted, 'classes_', None)}"
    parts = (forest.feature, forest.threshold, forest.value, forest.left, forest.offsets)
    return f"{type(fitted).__name__} {forest.classes} {hash_of(parts)}"


def _merged_squares(first, second):
    """Number, mean, and sums of squares about the mean and of errors, of two parts together."""
    (n, mean, spread, error), (m, others_mean, others_spread, others_error) = first, second
    apart = others_mean - mean
    spread += others_spread + apart**2 * n * m / (n + m)
    return n + m, mean + apart * m / (n + m), spread, error + others_error


def r2_of(squares):
    _, _, spread, error = squares
    return float(1 - error / spread) if spread else float(error == 0)


def interval_of(n_alike, n, confidence):
    """Ends, as plain numbers, of the interval of a probability."""
    low, high = binomial_interval(n_alike, n, confidence)
    return float(low), float(high)


def _range(ends):
    low, high = (percent(end) for end in ends)
    return low if low == high else f"{low} to {high}"
