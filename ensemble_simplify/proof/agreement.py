"""How often, where, and how closely two models agree: intervals from rows, bounds in a box."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from numbers import Real
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from joblib import hash as hash_of
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ensemble_simplify.base import (
    Interval,
    Rows,
    Stream,
    absolute_tolerance,
    binomial_interval,
    check_atol,
    check_column_names,
    differ,
    quantile_interval,
    r2,
    validate_params,
)
from ensemble_simplify.grid import Domain, Stopped, limited, limits, read_domain, time_left
from ensemble_simplify.proof.compare import closeness_of, places_of, side_by_side
from ensemble_simplify.proof.forest_pair import Space, may_begin
from ensemble_simplify.proof.volume import Effort, box_of, drawn, settled_volume
from ensemble_simplify.reading import Model, common_forests, common_table, is_plain
from ensemble_simplify.writing import percent

# Boxes inside of a box that its proof may look at before the box is halved.
BOXES_OF_ONE = 200
# Where the proven bounds on a volume are closer than this, no estimate is drawn.
SHARP = 0.02
# Rows shown on which the models differ.
SHOWN = 10
# Points predicted at once; and those that are drawn first, or where the time is up before.
BATCH, FIRST_BATCH = 10_000, 1_000
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
            told["r2"] = _r2_of(told["_squares"])
        order = order[:SHOWN]
        return replace(
            self,
            share=1.0 - n_different / n_rows if n_rows else np.nan,
            interval=_interval(n_rows - n_different, n_rows, self.confidence),
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

        names = feature_names
        if self.table is not None:
            rows = self.table.decode(self.counterexamples)
            names = list(getattr(rows, "columns", names or range(rows.shape[1])))
            frame = pd.DataFrame(rows, columns=names)
            return self._with_answers(frame)
        if names is None:
            names = [f"x{j}" for j in range(self.counterexamples.shape[1])]
        return self._with_answers(pd.DataFrame(self.counterexamples, columns=list(names)))

    def _with_answers(self, frame):
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


def _range(ends):
    low, high = (percent(end) for end in ends)
    return low if low == high else f"{low} to {high}"


@limited
@validate_params(
    {
        "X": "no_validation",
        "atol": [Interval(Real, 0, None, closed="left"), str, None],
        "domain": [Domain, dict, None],
        "volume": ["boolean", None],
        "confidence": [Interval(Real, 0, 1, closed="neither")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
    }
)
def agreement(
    model_a: Any,
    model_b: Any,
    X: ArrayLike | None = None,
    *,
    atol: float | str | None = None,
    domain: Domain | dict | None = None,
    volume: bool | None = None,
    confidence: float = 0.95,
    time_limit: float | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> Agreement:
    """Measure how often, where, and how closely two models agree.

    The agreement is measured on the rows `X`, and on the volume of a box of possible inputs. Two
    classifiers agree on a row if they answer the same label or, with `atol`, if their probabilities
    are that close. Two regressors agree if their values are that close.

    Read more in the :ref:`guide <agreement>`.

    Parameters
    ----------
    model_a, model_b : estimator
        Two fitted classifiers, or two fitted regressors, on the same features, of any kind. If both
        are tree models that can be read (see :func:`verify`), the bounds on the volume are proven.
        Otherwise they are estimated from random points.
    X : array-like of shape (n_samples, n_features), stream of such rows, or None, default=None
        Rows like those that the models will meet, on which neither model was fitted. Without them,
        `domain` must bound every feature. Rows that do not lie in memory are compared batch by
        batch: the path of Parquet files, an iterator of frames, a lazy frame of polars, a pyarrow
        dataset or table, a Dask frame, a relation of DuckDB, or anything else with an Arrow stream.
        The outcome is that of all rows at once.
    atol : float, str or None, default=None
        Answers a and b of the two models agree if ``abs(a - b) <= atol``. A text such as "10%"
        means that share of the standard deviation of the first model's answers to the rows `X`. For
        classifiers, the answers are the probabilities of all classes (0 for a class that a model
        does not know). None: classifiers are compared by label, and regressors agree only if they
        give the very same number.
    domain : Domain, dict or None, default=None
        The box in which the volume is measured. Its bounds replace the range of the rows; features
        that it calls integers are counted in whole numbers. Groups and implications are not
        supported here. None: the range of the rows.
    volume : bool or None, default=None
        Whether the volume of the box is measured too. False: rows alone are compared, which takes
        about as long as to predict them. True: with the effort that `time_limit` names. None: as
        with True where there are no rows, and not at all where `X` is a stream. For other rows, the
        effort is in proportion to their number, and ends where the bounds hardly move: see Notes.
    confidence : float in (0, 1), default=0.95
        Confidence of the intervals.
    time_limit : float or None, default=None
        Seconds for random points and proofs together. None: with ``volume=True``, 100,000 points,
        and at most 20,000 boxes each for the volume and for the largest difference. If 1,000 boxes
        settle less than 1 % of the volume, no more are tried (for numbers of large forests, fewer).
    random_state : int, RandomState instance or None, default=None
        Seeds the random points.

    Returns
    -------
    agreement : Agreement
        Its attribute ``share`` is the share of the rows with the same answer, ``interval`` a
        confidence interval of the probability of the same answer, and ``volume`` bounds the share
        of the box with the same answer. ``counterexamples`` are some rows with different answers.
        If numbers are compared, there are also the ``differences`` on the rows, ``r2``,
        ``quantile(share)`` of the differences, ``max_difference`` and ``max_difference_bound``.

    Raises
    ------
    TypeError
        If `atol` is given, and one model is a classifier and the other is not, or has no
        probabilities.
    ValueError
        If neither rows nor the domain bound a feature, a row is outside the domain, the models
        have different features, or `atol` is a text that is no share, or given without rows or
        for a stream. If there is neither a row nor a volume to measure, or `volume` is asked of a
        stream.

    See Also
    --------
    verify : Whether two models agree everywhere.
    differences : Where two models differ, in short rules.

    Notes
    -----
    *Rows.* The interval of Clopper and Pearson [1]_ covers the true probability at least as often
    as `confidence` says, if the rows are drawn independently. The intervals of quantiles hold for
    any distribution.

    *Volume.* The bounds are certain if both models can be read. A box is settled if both models
    provably give the same answer in it, or one class each. If numbers are compared, it is settled
    if all answers in it are provably within the tolerance, or none are. All other boxes are halved,
    the largest first, until the time or the number of boxes is used up. The largest difference is
    bounded as by :func:`verify`, within the box. Probabilities that :func:`verify` does not compare
    are estimated from random points.

    *Effort.* With rows and without `volume`, there are as many points as rows (1,000 at least), but
    no more once their interval is at most 2 % wide. Boxes load at most three nodes for each row and
    tree. After 16 boxes, then 32, 64 and so on, the search ends if the last of them settled less
    than 10 % of the volume that was open. All of this is counted, so it does not depend on the
    processor.

    *Rounding.* Most models round numbers to float32 before they compare them, and the bounds count
    how many numbers are rounded to which side of a threshold. Two models that compare float64
    numbers (HistGradientBoosting, LightGBM) are compared on all of these. For pipelines, and for
    one model of each kind, numbers between a threshold and the next float32 number remain open.
    That matters in columns that span few float32 numbers, such as seconds since 1970.

    References
    ----------
    .. [1] C. J. Clopper, E. S. Pearson (1934). The Use of Confidence or Fiducial Limits
       Illustrated in the Case of the Binomial. Biometrika 26, 404-413.
       https://doi.org/10.1093/biomet/26.4.404

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from ensemble_simplify import agreement
    >>> X, y = load_iris(return_X_y=True)
    >>> deep = DecisionTreeClassifier(random_state=0).fit(X[::2], y[::2])
    >>> flat = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[::2], y[::2])
    >>> outcome = agreement(deep, flat, X[1::2], random_state=0)
    >>> print(f"{outcome.share:.1%} of {outcome.n_rows} rows")
    98.7% of 75 rows
    >>> print("{:.1%} to {:.1%} of the volume".format(*outcome.volume))
    75.5% to 75.5% of the volume
    """
    if X is None and volume is False:
        raise ValueError("volume=False compares rows alone. Give rows X, or leave volume out.")
    check_atol(atol, X is not None)
    fitted, stream = (model_a, model_b), Stream.of(X)
    options = {"domain": domain, "confidence": confidence, "random_state": random_state}
    models = _asked_for_numbers(fitted, X) if volume is False else None
    models = models or _read_both(*fitted)
    is_rows = volume is False and hasattr(X, "shape") and not isinstance(atol, str)
    if is_rows and stream is None:
        stream = Stream.of_slices(X)
    if stream is None:
        volume = True if X is None else volume
        outcome = _agreement(models, X, atol, volume=volume, **options)
        return replace(outcome, _models=fitted)
    if volume or isinstance(atol, str):
        name, value = ("volume", volume) if volume else ("atol", atol)
        raise ValueError(
            f"{name}={value!r} needs all rows at once, but X is a stream of rows. Give numbers for "
            "atol, and measure the volume by a call without X, with a domain."
        )
    parts = [_agreement(models, rows, atol, volume=False, **options) for rows in stream]
    if not parts:
        raise ValueError("X is a stream without rows. Give one that was not read before.")
    # all at once, so that no difference is copied twice
    return replace(parts[0].merge(*parts[1:]), _models=fitted)


def _agreement(models, X, atol, *, domain, volume, confidence, random_state):
    """The agreement of two models that were read, on rows that lie in memory."""
    begin, limit = monotonic(), time_left()
    rng = check_random_state(random_state)
    check_column_names([model.estimator for model in models], X)
    table, models = common_table(models, X)
    compared = _compared(models, atol)
    forests = None
    is_measured = volume is not False
    if is_measured and all(model.forest is not None for model in models):
        forests = common_forests(models)
    given = None if X is None else Rows.of(table, X)
    rows = np.empty((0, len(table))) if given is None else given.numbers
    # gaps and bounds of rows alone are of no use
    missing = table.may_miss(rows) if is_measured or domain is not None else None
    codes = table.highest_code
    inside = read_domain(domain, len(table), table.names, missing, codes, table.highest_known)
    table.check_bounds(inside)
    if inside is not None and inside.clauses:
        raise ValueError(
            "domain has groups or implications, which agreement does not support. Leave them out, "
            "or give their features integers and bounds."
        )
    answers, different = None, np.zeros(0, dtype=bool)
    if X is not None:
        if inside is not None:
            inside.check_rows(rows)
        table = table.like(X)
        batches = [answered for _, answered in given.answers(models, compared.method, to_end=True)]
        answers = [np.concatenate(own) for own in zip(*batches, strict=True)]
        if compared.method == "predict" and any(own.ndim != 1 for own in answers):
            raise ValueError("A model has several outputs. Compare models of one output each.")
        different = compared.of_rows(answers)
    effort = Effort() if volume else Effort.of_rows(len(rows), forests)
    box = box_of(rows, inside)
    # what is drawn need not be finer than what all models look at
    rounds = forests is not None and all(model.forest.input_dtype == "float32" for model in models)
    first = compared.furthest(np.flatnonzero(different))[:SHOWN]
    shown, told = [rows[first]], [] if answers is None else _pairs(answers, first)
    n_drawn, n_apart = 0, 0
    # half of the time is for the proof, if there can be one
    kept = 0.0 if forests is None or limit == np.inf else limit / 2
    volume_interval = 0.0, 1.0
    while is_measured and n_drawn < effort.points and (time_left() > kept or not n_drawn):
        if volume_interval[1] - volume_interval[0] <= effort.width:
            break
        # twice as many each time, where it can end early
        n_points = max(n_drawn, FIRST_BATCH) if effort.width else BATCH
        n_points = min(n_points, BATCH, effort.points - n_drawn)
        n_points = n_points if time_left() > kept else min(n_points, FIRST_BATCH)
        points = drawn(*box, rounds, n_points, rng).astype(rows.dtype)
        found = [model.answers(points, compared.method) for model in models]
        apart = compared.apart(found)
        n_drawn, n_apart = n_drawn + len(points), n_apart + int(apart.sum())
        first = np.flatnonzero(apart)[: SHOWN - sum(map(len, shown))]
        shown.append(points[first])
        told += _pairs(found, first)
        volume_interval = _interval(n_drawn - n_apart, n_drawn, confidence)
    n_rows, n_different = len(rows), int(different.sum())
    interval = _interval(n_rows - n_different, n_rows, confidence)
    bounds = None
    if forests is not None:
        try:
            bounds = compared.volume(forests, inside, missing, box, effort)
        except Stopped:
            bounds = 0.0, 1.0
    return Agreement(
        share=1.0 - n_different / n_rows if n_rows else np.nan,
        interval=interval,
        n_rows=n_rows,
        n_different=n_different,
        volume=volume_interval if bounds is None else bounds,
        volume_estimate=1.0 - n_apart / n_drawn if n_drawn else np.nan,
        volume_interval=volume_interval,
        box=box[:2],
        counterexamples=np.concatenate(shown),
        predictions=told,
        confidence=confidence,
        is_read=bounds is not None,
        seconds=monotonic() - begin,
        table=table,
        finer=forests is not None and _are_finer(forests),
        **compared.told,
    )


def _read_both(*fitted):
    """Two models; they can only be asked, if one cannot be read."""
    try:
        return [Model.of(model) for model in fitted]
    except (TypeError, ImportError):
        models = [Model.unread(model) for model in fitted]
        for model in models:
            check_is_fitted(model.estimator)
        return models


def _asked_for_numbers(fitted, X):
    """Two models that need not be read: plain rows are asked about; None where they must be.

    Models with levels, or of whom too little is known, must be read before they can be compared.
    """
    if not is_plain(X):
        return None
    models = [Model.unread(model) for model in fitted]
    width = getattr(X, "shape", (0, 0))[-1]
    for model in models:
        if not model.table.is_plain or model.table.categorical.any() or len(model.table) != width:
            return None
        check_is_fitted(model.estimator)
    return models


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


def _compared(models, atol):
    """What is compared of two models: labels, or numbers within a tolerance."""
    n_classifiers = sum(model.is_classifier for model in models)
    if n_classifiers and atol is None:
        return _Labels()
    if n_classifiers == 1:
        names = [model.name for model in models]
        at = [model.is_classifier for model in models].index(True)
        raise TypeError(
            f"{names[at]}(...) is a classifier, but {names[1 - at]}(...) is not, so atol={atol!r} "
            "cannot compare them. Give two classifiers or two regressors."
        )
    for model in models:
        if n_classifiers and not hasattr(model.estimator, "predict_proba"):
            raise TypeError(
                f"atol={atol!r} compares probabilities, but {model.name}(...) has no "
                "predict_proba. Leave atol out to compare labels."
            )
    return _Numbers(models, 0.0 if atol is None else atol)


class _Labels:
    """Labels of two models, which are the same or not."""

    method = "predict"
    told: ClassVar = {}

    def of_rows(self, answers):
        """On which of the rows of a user's two models differ."""
        return differ(*answers)

    apart = of_rows

    def furthest(self, rows):
        """Some rows on which models differ, those that matter most first."""
        return rows

    def volume(self, forests, inside, missing, box, effort):
        """Bounds on the share of the box on which two forests answer alike."""
        if not may_begin(forests):
            return 0.0, 1.0
        space = Space(forests, domain=inside, in_time=True)
        alone = [Space([forest], space.axes, inside).certifier for forest in forests]

        def settle(lo, hi):
            equal, _, _ = space.certifier.prove(lo, hi, BOXES_OF_ONE)
            if equal is False and all(model.prove(lo, hi, BOXES_OF_ONE)[0] for model in alone):
                # one class each, and not the same
                return False
            return equal or None

        return settled_volume(settle, space.axes, box, _are_finer(forests), effort, effort.first)


class _Numbers:
    """Values of two models, or their probabilities, which are within a tolerance or not.

    Parameters
    ----------
    models : pair of Model
    atol : float or str
        See `absolute_tolerance`.
    """

    def __init__(self, models, atol):
        self.models = models
        self.method = "predict_proba" if models[0].is_classifier else "predict"
        self.places = places_of(models)
        self.told = {"atol": atol, "max_difference": 0.0, "max_difference_bound": np.inf}
        self.told["differences"] = np.zeros(0)
        if not models[0].is_classifier:
            self.told["r2"] = np.nan

    def of_rows(self, answers):
        """On which of the rows of a user's two models differ; what is known of them is noted."""
        told = self.told
        told["atol"] = absolute_tolerance(told["atol"], answers[0])
        apart = self.apart(answers)
        told["differences"] = self._difference(answers)
        if "r2" in told:
            a, b = (own.astype(np.float64) for own in answers)
            told["r2"] = r2(a, b)
            spread, error = np.sum((a - a.mean()) ** 2), np.sum((a - b) ** 2)
            told["_squares"] = a.size, a.mean(), spread, error
        return apart

    def apart(self, answers):
        """Where answers are further apart than the tolerance; the furthest is noted."""
        difference = self._difference(answers)
        self.told["max_difference"] = max(self.told["max_difference"], float(difference.max()))
        return difference > self.told["atol"]

    def _difference(self, answers):
        answers = [own if own.ndim == 2 else own[:, None] for own in answers]
        a, b = side_by_side(answers, *self.places)
        return np.abs(a - b).max(axis=1)

    def furthest(self, rows):
        """Some rows on which models differ, those furthest apart first."""
        return rows[np.argsort(-self.told["differences"][rows], kind="stable")]

    def volume(self, forests, inside, missing, box, effort):
        """Bounds on the share of the box on which two models are within the tolerance.

        The largest difference is bounded first. None where the numbers are no sums.
        """
        told, finer = self.told, _are_finer(forests)
        if not may_begin(forests):
            return 0.0, 1.0
        closeness = closeness_of(self.models, _domain_of(box, inside, missing), (told["atol"], 0.0))
        if closeness is None:
            return None
        is_copy = closeness.proves_copy()
        found = closeness.found
        if not is_copy:
            with limits(time_left() / 2):
                found = closeness.everywhere(np.random.default_rng(0), effort.boxes)
        told["max_difference"] = max(told["max_difference"], found.largest)
        told["max_difference_bound"] = max(told["max_difference"], found.bound)
        if found.outcome and not finer:
            return 1.0, 1.0

        def settle(lo, hi):
            return closeness.settle((lo, hi), BOXES_OF_ONE)

        first = effort.first_of(forests)
        return settled_volume(settle, closeness.axes, box, finer, effort, first)


def _domain_of(box, inside, missing):
    """The domain that a box is, with what may be missing in it."""
    low, high, integer = box
    entries = {
        "bounds": dict(enumerate(zip(low.tolist(), high.tolist(), strict=True))),
        "integers": np.flatnonzero(integer).tolist(),
        "missing": np.flatnonzero(missing if inside is None else inside.missing).tolist(),
    }
    return read_domain(entries, len(low))


def _merged_squares(first, second):
    """Number, mean, and sums of squares about the mean and of errors, of two parts together."""
    (n, mean, spread, error), (m, others_mean, others_spread, others_error) = first, second
    apart = others_mean - mean
    spread += others_spread + apart**2 * n * m / (n + m)
    return n + m, mean + apart * m / (n + m), spread, error + others_error


def _r2_of(squares):
    _, _, spread, error = squares
    return float(1 - error / spread) if spread else float(error == 0)


def _are_finer(forests):
    return any(forest.is_finer for forest in forests)


def _pairs(answers, rows):
    return [tuple(answer[i] for answer in answers) for i in rows]


def _interval(n_alike, n, confidence):
    """Ends, as plain numbers, of the interval of a probability."""
    low, high = binomial_interval(n_alike, n, confidence)
    return float(low), float(high)
