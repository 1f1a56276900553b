"""What rows say of the bins and totals of cards: counts, rates, evidence, and how they moved."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import mean_tweedie_deviance, roc_auc_score, roc_curve
from sklearn.utils import Bunch

from ensemble_simplify.reading import column_index
from ensemble_simplify.scorecards._text import between_in_words
from ensemble_simplify.writing import number

# Rows of each kind that a bin without events, or without others, is taken to have more.
_EMPTY = 0.5
# Bands of totals, or of the numbers of a column, with as many rows in each.
_BANDS = 10


def _by_line(named, X, heads, tell):
    """A data frame of the bins of a card that are told or hold rows.

    For each part, `tell` is given a function that counts rows, or adds up weights, in its lines,
    and says what stands in some further columns.
    """
    import pandas as pd

    lines, is_one = [], named.card.n_scores == 1
    for part in named.parts():
        which, count = part.line_of()[part.term.bins(X)], len(part.lines)

        def per_line(weight=None, which=which, count=count):
            return np.bincount(which, weight, count)

        for line, n, *own in zip(part.lines, per_line(), *tell(per_line), strict=True):
            if n or line.is_told:
                points = map(named.shown_as, line.points[: int(is_one)])
                lines.append((part.name, line.text, *points, *own))
    return pd.DataFrame(lines, columns=["feature", "bin", *named.heads[: int(is_one)], *heads])


def _evidence(counts):
    """Weights of evidence and information values of bins, by counts of events and of others."""
    counts = np.asarray(counts, dtype=np.float64)
    totals = counts.sum(axis=1, keepdims=True)
    # a logarithm of nothing is no number
    shares = (counts + np.where((counts == 0).any(axis=0), _EMPTY, 0.0)) / totals
    has_rows = counts.any(axis=0)
    evidence = np.where(has_rows, np.log(shares[0] / shares[1]), 0.0)
    return evidence, np.where(has_rows, (shares[0] - shares[1]) * evidence, 0.0)


def binning_table(named, X, is_event) -> Bunch:
    """The bins of a card with what rows say of them; see `ScorecardClassifier.binning_table`.

    Parameters
    ----------
    named : NamedCard
        Of a card for two classes.
    X : float64 array of shape (n_rows, n_columns)
    is_event : bool array of shape (n_rows,)
        Both kinds of rows are there.
    """

    def tell(per_line):
        rows, events = per_line(), per_line(is_event).astype(np.intp)
        with np.errstate(invalid="ignore"):
            rate = events / rows
        return (rows, rows / len(X), events, rate, *_evidence([events, rows - events]))

    bins = _by_line(named, X, ["rows", "share", "events", "rate", "woe", "iv"], tell)
    features = bins.groupby("feature", sort=False)[["iv"]].sum().reset_index()
    features["span"] = [part.span for part in named.parts()]
    totals = named.card.scores(X)[:, 0]
    false, true, _ = roc_curve(is_event, totals)
    return Bunch(
        bins=bins,
        features=features,
        ks=float(np.max(true - false)),
        gini=float(2.0 * roc_auc_score(is_event, totals) - 1.0),
    )


def rating_table(named, X, y, units, model, power) -> Bunch:
    """The bins of a card of values with what rows say; see `ScorecardRegressor.binning_table`.

    Parameters
    ----------
    named : NamedCard
    X : float64 array of shape (n_rows, n_columns)
    y, model : float64 arrays of shape (n_rows,)
        Targets for one unit of exposure, and what the model answers.
    units : float64 array of shape (n_rows,)
        Exposures.
    power : float
        Of the variance, in the deviance.
    """
    card = named.card.index_of(named.card.scores(X))

    def tell(per_line):
        share = per_line(units)
        with np.errstate(invalid="ignore"):
            means = [per_line(units * own) / share for own in (y, card, model)]
        return (per_line(), share, share / units.sum(), *means)

    heads = ["rows", "exposure", "share", "observed", "card", "model"]
    found = Bunch(bins=_by_line(named, X, heads, tell))
    for name, answers in (("", card), ("model_", model)):
        found[f"{name}deviance"] = float(
            mean_tweedie_deviance(y, answers, sample_weight=units, power=power)
        )
        found[f"{name}gini"] = _lorenz(y * units, answers, units)
    return found


def _lorenz(amounts, answers, units):
    """The Gini index of the Lorenz curve of amounts over units, in the order of some answers."""
    # rows with the same answer are one step
    place = np.unique(answers, return_inverse=True)[1].ravel()
    x, y = (np.r_[0.0, np.cumsum(np.bincount(place, own))] for own in (units, amounts))
    return float(1.0 - 2.0 * np.trapezoid(y / y[-1], x / x[-1])) if y[-1] else np.nan


def stability(named, old, new) -> Bunch:
    """How far rows have moved between the bins of a card; see `ScorecardClassifier.psi`."""
    is_new = np.r_[np.zeros(len(old)), np.ones(len(new))]

    def tell(per_line):
        before, now = per_line(1.0 - is_new), per_line(is_new)
        return before / len(old), now / len(new), _evidence([before, now])[1]

    bins = _by_line(named, np.vstack([old, new]), ["share_old", "share_new", "psi"], tell)
    totals = [named.card.scores(rows) for rows in (old, new)]
    ends = np.quantile(totals[0], np.arange(1, _BANDS) / _BANDS, axis=0)
    total = 0.0
    for k, own in enumerate(ends.T):
        own = np.unique(own)
        bands = [np.searchsorted(own, rows[:, k]) for rows in totals]
        counts = [np.bincount(band, minlength=len(own) + 1) for band in bands]
        total = max(total, float(_evidence(counts)[1].sum()))
    features = bins.groupby("feature", sort=False)[["psi"]].sum().reset_index()
    return Bunch(bins=bins, features=features, total=total)


def dislocation(
    old: Any, new: Any, X: ArrayLike, *, exposure: ArrayLike | None = None, by: Any = None
) -> Bunch:
    """How premiums change from one tariff to another, in all and by segments.

    Parameters
    ----------
    old, new : fitted regressor
        Whose ``predict`` answers premiums, or rates, that are positive: cards, models, tariffs.
    X : array-like or frame of shape (n_samples, n_features)
        The portfolio.
    exposure : array-like of shape (n_samples,) or None, default=None
        Units of each row, by which it counts. None: one each.
    by : str, int, list of them, or None, default=None
        Columns, by name or place, whose levels are segments, or ten bands of their numbers. None:
        all columns.

    Returns
    -------
    report : Bunch
        ``change`` is that of all premiums together, as a share of the old ones. ``rows`` has the
        change of each row. ``bands`` is a data frame with the share of the exposure whose premium
        changes by so much, and ``segments`` one with ``feature``, ``segment``, ``exposure``, the
        mean premiums ``old`` and ``new``, the ``change`` of their sum, and the share of the
        exposure that pays over a tenth more (``up``) or less (``down``).

    See Also
    --------
    differences : Boxes in which two models differ most, as rules.
    verify : With ``rtol``, a proof that premiums never differ by more.

    Examples
    --------
    >>> from sklearn.base import clone
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> from ensemble_simplify import dislocation
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = HistGradientBoostingRegressor(loss="poisson", max_iter=20)
    >>> old, new = model.fit(X, y), clone(model).set_params(max_depth=1).fit(X, y)
    >>> report = dislocation(old, new, X, by=["sex"])
    >>> print(report.segments.round(3).to_string(index=False))
    feature segment  exposure    old     new  change    up  down
        sex     1.0     235.0 146.44 146.999   0.004 0.336 0.204
        sex     2.0     207.0 159.02 158.248  -0.005 0.367 0.222
    """
    import pandas as pd

    frame = X if hasattr(X, "columns") else pd.DataFrame(np.asarray(X)).add_prefix("x")
    frame = pd.DataFrame({name: np.asarray(frame[name]) for name in frame.columns})
    columns = range(frame.shape[1]) if by is None else [by] if isinstance(by, str | int) else by
    names = np.array(frame.columns)
    columns = [names[column_index(own, "by", len(names), names)] for own in columns]
    premiums = [np.asarray(model.predict(X), dtype=np.float64) for model in (old, new)]
    units = np.ones(len(frame)) if exposure is None else np.asarray(exposure, np.float64)
    if units.shape != (len(frame),):
        raise ValueError(
            f"exposure has the shape {units.shape}, but X has {len(frame)} rows. Give one number "
            "for each row."
        )
    if not min(own.min() for own in premiums) > 0.0 or not (units > 0.0).all():
        raise ValueError(
            "A premium of old or new, or an exposure, is not positive, so that changes are no "
            "shares. Leave such rows out."
        )
    rows = premiums[1] / premiums[0] - 1.0

    def told(which):
        paid = [float(own[which] @ units[which]) for own in premiums]
        size = float(units[which].sum())
        moved = [units[which & is_so].sum() / size for is_so in (rows > 0.1, rows < -0.1)]
        return (size, paid[0] / size, paid[1] / size, paid[1] / paid[0] - 1.0, *map(float, moved))

    lines = []
    for name in columns:
        values = frame[name]
        names = {own: str(own) for own in sorted(values.dropna().unique())}
        if pd.api.types.is_numeric_dtype(values) and len(names) > _BANDS:
            ends = np.unique(values.quantile(np.arange(1, _BANDS) / _BANDS)).tolist()
            values = values.where(values.isna(), np.searchsorted(ends, values))
            ends = [None, *map(number, ends), None]
            names = {k: between_in_words(*ends[k : k + 2]) for k in range(len(ends) - 1)}
        for segment, words in [*names.items(), (None, "missing")]:
            which = np.asarray(values.isna() if segment is None else values == segment)
            if which.any():
                lines.append((name, words, *told(which)))
    heads = ["feature", "segment", "exposure", "old", "new", "change", "up", "down"]
    ends = np.array([-np.inf, -0.2, -0.1, -0.05, 0.0, 0.05, 0.1, 0.2, np.inf])
    share = np.histogram(rows, ends, weights=units)[0] / units.sum()
    bands = {"from": ends[:-1], "to": ends[1:], "exposure": share}
    return Bunch(
        change=told(np.ones(len(rows), dtype=bool))[3],
        rows=rows,
        bands=pd.DataFrame(bands),
        segments=pd.DataFrame(lines, columns=heads),
    )
