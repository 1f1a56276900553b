"""How often, where, and how closely two models agree: intervals from rows, bounds in a box."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from numbers import Real
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ensemble_simplify.base import (
    Interval,
    Rows,
    Stream,
    check_atol,
    check_column_names,
    validate_params,
)
from ensemble_simplify.grid import Domain, Stopped, limited, time_left
from ensemble_simplify.proof.agreed import SHOWN, Agreement, interval_of
from ensemble_simplify.proof.apart import are_finer, compared_of
from ensemble_simplify.proof.in_database import agreement_inside
from ensemble_simplify.proof.volume import Effort, box_of, drawn
from ensemble_simplify.reading import Model, common_forests, common_table, is_plain

# Points predicted at once; and those that are drawn first, or where the time is up before.
BATCH, FIRST_BATCH = 10_000, 1_000


@limited
@validate_params(
    {
        "X": "no_validation",
        "atol": [Interval(Real, 0, None, closed="left"), str, None],
        "domain": [Domain, dict, None],
        "volume": ["boolean", None],
        "in_database": ["boolean"],
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
    in_database: bool = False,
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
        Rows like those that the models will meet, on which neither model was fitted: a result of
        :func:`simplify` warns of rows that it has learned from. Without them,
        `domain` must bound every feature. Rows that do not lie in memory are compared batch by
        batch: the path of Parquet files, an iterator of frames, a lazy frame of polars, a pyarrow
        dataset or table, a relation of DuckDB, or anything else with an Arrow stream. Frames of
        Dask and Spark are compared by the workers that hold their parts. The outcome is that of all
        rows at once.
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
    in_database : bool, default=False
        Whether a database compares the labels itself, where `X` is a relation of DuckDB, or a pair
        of a connection to PostgreSQL and a query: one query of both models, and no more than ten
        rows and the ends of the columns leave the database. The outcome is that of the rows in
        memory. Models have to be written exactly by :func:`export_model`, of fewer than some 50,000
        nodes; others are refused.
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
        stream. If `in_database` is asked of other than labels in a database.

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
    for model in fitted:
        # a result knows which rows it has learned from: the interval is not about these
        if X is not None and hasattr(model, "_tell_learned"):
            model._tell_learned(X)
    options = {"domain": domain, "confidence": confidence, "random_state": random_state}
    if in_database:
        if volume or atol is not None or domain is not None:
            raise ValueError(
                "in_database=True compares labels of rows alone. Leave volume, atol and domain out."
            )
        begin, read = monotonic(), [Model.of(model) for model in fitted]
        ask = partial(_agreement, read, atol=None, volume=False, **options)
        outcome = agreement_inside(read, X, ask, confidence)
        return replace(outcome, seconds=monotonic() - begin, _models=fitted)
    models = _asked_for_numbers(fitted, X) if volume is False and stream is None else None
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
    parts = stream.answers(partial(_agreement, models, atol=atol, volume=False, **options))
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
    compared = compared_of(models, atol)
    forests = None
    is_measured = volume is not False
    if is_measured and all(model.forest is not None for model in models):
        forests = common_forests(models)
    given = None if X is None else Rows.of(table, X)
    rows = np.empty((0, len(table))) if given is None else given.numbers
    # gaps and bounds of rows alone are of no use
    missing = table.may_miss(rows) if is_measured or domain is not None else None
    inside = table.inside(domain, missing)
    if inside is not None and inside.clauses:
        raise ValueError(
            "domain has groups or implications, which agreement does not support. Leave them out, "
            "or give their features integers and bounds."
        )
    answers, different = None, np.zeros(0, dtype=bool)
    if X is not None:
        if domain is not None:
            table.check_inside(inside, rows, X)
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
        volume_interval = interval_of(n_drawn - n_apart, n_drawn, confidence)
    n_rows, n_different = len(rows), int(different.sum())
    interval = interval_of(n_rows - n_different, n_rows, confidence)
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
        finer=forests is not None and are_finer(forests),
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


def _pairs(answers, rows):
    return [tuple(answer[i] for answer in answers) for i in rows]
