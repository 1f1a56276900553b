"""ScorecardClassifier and ScorecardRegressor: a scorecard for any predictor."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.utils import Bunch
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from ensemble_simplify.base import (
    Fittable,
    Interval,
    KeepsBoosters,
    StrOptions,
    binomial_interval,
    fit_context,
    report,
    warn,
    warn_out_of_time,
)
from ensemble_simplify.grid import is_late, limited, limits, time_left
from ensemble_simplify.reading import column_index
from ensemble_simplify.sampling import LearnsFromPredictor, agreement, warn_of_lost_classes
from ensemble_simplify.scorecards._bins import SHAPES, Step, card_path
from ensemble_simplify.scorecards._card import Card
from ensemble_simplify.scorecards._chances import (
    Scale,
    against,
    as_decided,
    based,
    by_others,
    refitted,
    score_table,
    with_chances,
)
from ensemble_simplify.scorecards._edited import edited, read_codes
from ensemble_simplify.scorecards._points import rounded, short_between, with_short_edges
from ensemble_simplify.scorecards._shown import ShowsCard
from ensemble_simplify.scorecards._tables import binning_table, rating_table, stability
from ensemble_simplify.scorecards._text import quoted
from ensemble_simplify.writing import plain

# With a time limit: the share of it for labelling rows.
_LABELLING_SHARE = 0.4


class _Scorecard(ShowsCard, KeepsBoosters, LearnsFromPredictor):
    """What both scorecards do."""

    card_: Card
    n_features_in_: int
    event_: Any
    _kind: ClassVar[str]
    target: ClassVar[str]
    _scale: Scale | None = None
    _link: Callable
    _wanted: Callable
    _labels: Callable
    _aims: Callable

    max_bins: int
    max_features: int | None
    interactions: int
    monotone: Any
    special_codes: Any
    points: str
    max_changed: float
    min_samples_bin: int
    verbose: int
    # Of eight tables, cards agreed most with forests so, and no less than by a choice on folds.
    keep_rows = 0.5

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [Fittable(), callable, None],
        "max_bins": [Interval(Integral, 2, None, closed="left")],
        "max_features": [Interval(Integral, 1, None, closed="left"), None],
        "interactions": [Interval(Integral, 0, None, closed="left")],
        "monotone": [dict, "array-like", None],
        "special_codes": [dict, "array-like", Real, None],
        "points": [StrOptions({"integer", "real"})],
        "max_changed": [Interval(Real, 0, 1, closed="left")],
        "min_samples_bin": [Interval(Integral, 1, None, closed="left")],
        "sampler": [StrOptions({"auto", "leaves", "copula", "smear", "kernel", "neighbors"})],
        "n_samples": [Interval(Integral, 1, None, closed="left"), None],
        "validation_fraction": [Interval(Real, 0, 1, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    # ------------------------------------------------------------------ what it is

    def _type(self):
        return self._kind

    def _resolve_target(self):
        kind = super()._type()
        if kind != self._kind:
            other = "ScorecardRegressor" if kind == "regressor" else "a function of its answers"
            told = f"a {kind}" if kind else "neither a classifier nor a regressor"
            raise ValueError(
                f"estimator={self._name_of(self.estimator)} is {told}, but {type(self).__name__} "
                f"is for a {self._kind}. Use {other}."
            )
        return self.target

    # ------------------------------------------------------------------ fit

    @fit_context(prefer_skip_nested_validation=False)
    @limited
    def fit(
        self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit the predictor, unless it is fitted, and make a card that answers as it does.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows: numbers that are finite in float32, and whatever else the predictor
            takes, such as text, categories, dates and missing values. An ensemble that takes
            numbers alone is fitted on codes of these.
        y : array-like of shape (n_samples,) or None, default=None
            Targets. Needed unless the predictor is a callable or frozen.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the training rows, for the estimator if it is fitted here, and for the card.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        found = self._material(X, y, sample_weight, self._resolve_target())
        self._counted = "rows" if sample_weight is None else "weight"
        with limits(_LABELLING_SHARE * time_left()):
            sample = self._draw(found, found.seeds[0])
        report(self, f"{self._predictor.n_queries} rows labelled")
        self._refuse_directions(found.columns)
        codes, X = self.special_codes, found.training.X
        self._codes = read_codes(codes, X, self._is_number, self._names)
        self._steps = self._learn(sample.rows())
        if not sample.is_complete or is_late():
            warn_out_of_time(
                f"time_limit={self.time_limit} ended the search for bins. Raise it, or ask for "
                "less: a smaller max_bins or n_samples."
            )
        # 45 in place of 44.73: on the training rows nothing changes, and the card can be read
        self._steps = [
            replace(step, card=with_short_edges(step.card, X, self._is_number))
            for step in self._steps
        ]
        self._known = self._gather(found)
        self._steps = [replace(step, card=self._told(step.card)) for step in self._steps]
        self._warn_of_directions()
        self.path_ = [self._measured(step) for step in self._steps]
        self._set_card(self._steps[0])
        self.n_queries_ = self._predictor.n_queries
        if self.target == "label":
            training = self._known.training
            warn_of_lost_classes(
                training.decisions,
                self._answers_to(training.X),
                self.classes_,
                "card",
                "Allow more bins (max_bins), or let bins hold fewer rows (min_samples_bin).",
            )
            only = np.unique(training.decisions)
            if not self.card_.terms and only.size == 1 < len(self.classes_):
                warn(
                    f"the card has no bins: the model answers {plain(only[0])!r} to every "
                    "training row. If another class is rare, give a model that was fitted with "
                    "class_weight='balanced', or make a ScorecardRegressor of its chances, lambda "
                    "rows: model.predict_proba(rows)[:, 1]."
                )
        return self

    def _check_rows(self, X, y, target):
        checked = super()._check_rows(X, y, target)
        self._directions = _directions(self.monotone, self.n_features_in_, self._names)
        return checked

    @property
    def _is_number(self):
        return ~self._table.categorical

    @property
    def _names(self):
        return getattr(self, "feature_names_in_", None)

    def _name(self, j):
        return j if self._names is None else str(self._names[j])

    def _refuse_directions(self, columns):
        """Raise an error where points are to rise or fall along a column without an order."""
        if (wrong := np.flatnonzero((self._directions != 0) & columns.unordered)).size:
            raise ValueError(
                f"monotone says how points change along the column {self._name(int(wrong[0]))!r}, "
                "but its levels have no order. Leave it out, or make it an ordered categorical "
                "column."
            )

    def _warn_of_directions(self):
        """Warn of columns along which the rows go against what is asked of the points."""
        training = self._known.training
        rates = self._rates(training)
        wanted = training.decisions if rates is None else rates
        what, source = "the mean of the model's answers", getattr(self, "chance_source_", None)
        if rates is not None:
            # only classifiers have rates
            head = "rate" if source == "y" else "model's mean probability"
            head = "share of the model's answers" if source == "answers" else head
            what = f"the {head} of {quoted(plain(self.event_))}"
        for j in np.flatnonzero(np.abs(self._directions) == 1).tolist():
            found = against(training.X[:, j], wanted, training.weight, self._directions[j])
            if found is None:
                continue
            low, high = found
            rises, does = ("rise", "falls") if self._directions[j] > 0 else ("fall", "rises")
            other = "" if rates is None else ", or name the other class in positive"
            warn(
                f"monotone[{self._name(j)!r}]={self._directions[j]} lets points only {rises} with "
                f"the column, but {what} {does} from {low:.3g} in its lowest fifth of the training "
                f"rows to {high:.3g} in its highest. If that is no mistake of the data, give "
                f"{-self._directions[j]}{other}."
            )

    def _learn(self, rows):
        """The path of cards for rows with answers, the largest first."""
        # synthetic rows cost nothing, so only real ones say whether a bin is large enough
        real = np.zeros(len(rows.X))
        real[: rows.n_real] = 1.0
        return card_path(
            rows.X,
            rows.weight,
            self._wanted(rows.answers),
            link=self._link(rows.answers.shape[1]),
            real=real,
            max_bins=self.max_bins,
            max_features=self.max_features,
            interactions=self.interactions,
            shapes=self._directions,
            specials=self._codes,
            min_samples_bin=self.min_samples_bin if rows.n_real else 0,
        )

    def _gather(self, found):
        """The rows that cards of any size are measured on, and rounded by."""
        predictor, training = self._predictor, found.training
        y = None if found.y is None else found.y[found.kept]
        aside = found.aside(predictor)
        return Bunch(
            training=Bunch(
                X=training.X,
                weight=training.weight,
                decisions=predictor.decode(training.answers),
                truth=None if y is None else predictor.encode(y),
            ),
            aside=Bunch(
                X=aside.X,
                weight=aside.weight,
                decisions=aside.decisions,
                truth=None if found.y is None else found.y[found.held_out],
                size=aside.effective_size,
            ),
        )

    def _measured(self, step):
        """A line of `path_`."""
        aside, target = self._known.aside, self.target
        line = Bunch(n_bins=step.n_bins, n_features=len(step.features))
        line.fidelity = line.fidelity_low = line.fidelity_high = np.nan
        if aside.truth is not None:
            line.score = np.nan
        if len(aside.X):
            answers = self._labels(step.card, aside.X)
            line.fidelity = agreement(aside.decisions, answers, target, aside.weight)
            if aside.truth is not None:
                line.score = agreement(aside.truth, answers, target, aside.weight)
            if target == "label":
                line.fidelity_low, line.fidelity_high = (
                    float(end) for end in binomial_interval(line.fidelity * aside.size, aside.size)
                )
        return line

    def _set_card(self, step):
        """Make it the card of a step of the path, with the points that are asked for."""
        training, aside = self._known.training, self._known.aside
        card, self.rounded_ = step.card, None
        rates, is_scaled = self._rates_of(card), self._scale is not None
        if is_scaled or (self.points == "real" and rates is not None):
            card = with_chances(card, training.X, training.weight, rates)
        if self._scale is not None:
            card = self._scale.of(card)
            totals = np.unique(card.scores(training.X))
            card = replace(card, at=short_between(totals, card.at))
        if self.points == "integer":
            self.rounded_ = rounded(
                card,
                training.X,
                training.weight,
                max_changed=self.max_changed,
                rates=rates,
                is_scaled=is_scaled,
            )
            card = self.rounded_.card
            if is_scaled and self.rounded_.share_changed > self.max_changed:
                warn(
                    f"pdo={self._scale.pdo:g} makes points so coarse that rounding them to whole "
                    f"numbers changes the class of {self.rounded_.share_changed:.2%} of the "
                    f"training rows, more than max_changed={self.max_changed}. Give a larger pdo, "
                    "or points='real'."
                )
        self.card_ = card = self._finished(card)
        self._card_rows = [term.counts(training.X, training.weight) for term in card.terms]
        self._reading = card.reading(getattr(self, "classes_", None), self._table)
        self.train_fidelity_, self.fidelity_ = (
            agreement(rows.decisions, self._answers_to(rows.X), self.target, rows.weight)
            if len(rows.X)
            else np.nan
            for rows in (training, aside)
        )

    def _told(self, card):
        """A card of the path with the points that it is to have."""
        return card

    def _rates(self, training):
        """What chances are of; None where there are none."""

    def _rates_of(self, card):
        """What the chances of a card are fitted to."""
        return self._rates(self._known.training)

    def _finished(self, card):
        """The card as it is handed out."""
        return card

    def _answers_to(self, X):
        return self._labels(self.card_, X)

    # ------------------------------------------------------------------ use

    def at(self, n_bins: int) -> Self:
        """A copy with a smaller card, of the path that was found.

        Parameters
        ----------
        n_bins : int
            Bins of its card, at most; from 2 to `max_bins`.

        Returns
        -------
        scorecard : estimator
            Fitted; its `max_bins` is `n_bins`, and its `path_` begins at that size.
        """
        check_is_fitted(self)
        if not isinstance(n_bins, Integral) or not 2 <= n_bins <= self.max_bins:
            raise ValueError(
                f"n_bins={n_bins!r} is not a size on the path. Use an integer from 2 to "
                f"{self.max_bins}, or fit with a larger max_bins."
            )
        # the predictor and the rows are shared; only the card is another one
        smaller = copy(self)
        smaller.max_bins = int(n_bins)
        step = _at(self._steps, n_bins)
        place = self._steps.index(step)
        smaller._steps, smaller.path_ = self._steps[place:], self.path_[place:]
        smaller._set_card(step)
        return smaller

    def with_bins(self, bins: dict) -> Self:
        """A copy whose card has other bins in some columns, with all points fitted anew.

        Parameters
        ----------
        bins : dict
            From names, or places, of columns: of a column of numbers the cuts, ascending, each the
            last number of its bin; of one of levels a list of groups of levels, each a list, where
            those in no group are one more; None takes the column out of the card.

        Returns
        -------
        scorecard : estimator
            Fitted; its `path_` has this card alone. Special codes and missing values keep bins of
            their own. Points go as `monotone` says.

        Raises
        ------
        ValueError
            If cuts do not ascend, a bin of numbers would hold no training row, or a level is
            unknown or in two groups.

        Warns
        -----
        UserWarning
            If a bin holds fewer training rows than `min_samples_bin`.
        """
        check_is_fitted(self)
        X, table, least = self._known.training.X, self._table, self.min_samples_bin
        card = edited(self._steps[0].card, bins, X, table, self._names, self._codes, least)
        other, card = copy(self), self._refitted(card)
        step = Step(card, card.n_bins, card.features, np.nan)
        other._steps, other.path_ = [step], [self._measured(step)]
        other._set_card(step)
        return other

    def _refitted(self, card):
        """A card with the points that suit the training rows best."""
        training, shapes = self._known.training, self._directions
        wanted = self._aims(training)
        return refitted(card, training.X, training.weight, wanted, shapes, self._is_number)

    def psi(self, X_old: ArrayLike, X_new: ArrayLike) -> Bunch:
        """How far rows have moved between bins, and between totals (population stability).

        Parameters
        ----------
        X_old, X_new : array-like of shape (n_samples, n_features)
            Rows of before, such as the training rows, and of now.

        Returns
        -------
        table : Bunch
            ``bins`` is a data frame with ``feature``, ``bin``, points, the ``share_old`` and
            ``share_new`` of the rows in it, and its part of the index ``psi``: the difference of
            the shares times that of their logarithms. ``features`` has the index of each feature.
            ``total`` is that of the totals, or values, in ten bands with as many old rows in each.
            Lenders mostly look closer from 0.1 on, and refit from 0.25 on. Half a row is added
            to both sides of a bin that lacks one.
        """
        return stability(self._named_card(), *map(self._numbers_of, (X_old, X_new)))

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict with the card.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Class labels, or values in regression.
        """
        return self._answers_to(self._numbers_of(X))

    def total_points(self, X: ArrayLike) -> np.ndarray:
        """The sums of the points of rows, as a reader of the card adds them up.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        points : ndarray of shape (n_samples,) or (n_samples, n_classes)
            One sum, or one for each of several classes.
        """
        X = self._numbers_of(X)
        scores = self.card_.scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores


class ScorecardClassifier(ClassifierMixin, _Scorecard, BaseEstimator):
    """A scorecard that answers as any classifier does.

    A scorecard is a table of points: each feature is cut into a few bins, each bin has points, and
    the sum of the points of a row decides its class [1]_. It is learned as an additive model [2]_
    from training rows and synthetic rows, all labelled by the classifier.

    The agreement with the classifier is measured, not guaranteed: see `fidelity_`.

    Read more in the :ref:`guide <scorecard>`.

    Parameters
    ----------
    estimator : estimator, FrozenEstimator, callable or None, default=None
        The classifier to represent. An estimator is cloned and fitted. One inside a
        ``FrozenEstimator``, or a ``Booster`` of LightGBM or XGBoost, is used as it is. A callable
        is given rows and returns labels. None: a random forest.
    max_bins : int, default=24
        The most bins that the card may have, over all of its features. A bin for missing values
        counts. :meth:`at` gives smaller cards.
    max_features : int or None, default=None
        The most features that the card may use. None: as many as are worth their bins.
    monotone : dict, array-like of int, or None, default=None
        How points may change along features: a dict from names (or places) of columns, or an entry
        for each column. 1 or "rising": they may not fall; -1 or "falling": they may not rise;
        "peak": they may fall once they have risen; "valley": the other way round; 0: they are free.
        For two classes only: points are for `positive`. A warning says where the training rows go
        the other way.
    positive : label, default=None
        Which of two classes is the event: the one that points, their rising, chances and reasons
        are about. None: the second of `classes_`.
    pdo : float or None, default=None
        Points to double the odds, of two classes: totals are
        ``base_points + pdo * log2(odds / base_odds)``, where ``odds`` are those of the event, its
        chance over one less its chance. None: points are as small as `max_changed` allows.
    base_points, base_odds : float, default=600, 1.0
        The total at which the event has these odds, if there is a `pdo`.
    time_limit : float or None, default=None
        Seconds for learning the card, once the estimator is fitted. None: no limit. When the time
        is up, the best card so far is kept, with a ``ConvergenceWarning``.
    random_state : int, RandomState instance or None, default=None
        An int fixes the synthetic rows and every ``random_state=None`` of `estimator`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    card_ : Card
        Bins and points.
    estimator_ : object
        The fitted predictor.
    path_ : list of Bunch
        The cards that were found, the largest first: ``n_bins``, ``n_features``, ``fidelity`` on
        the rows set aside, and its 95 % interval from ``fidelity_low`` to ``fidelity_high`` (by
        Clopper and Pearson; nan for values). With a `y`, also the ``score`` on these rows: the
        accuracy, or the coefficient of determination. All are measured before points are rounded.
    fidelity_ : float
        How well the card agrees with the predictor on the rows set aside; nan if there are none.
        See :meth:`fidelity`.
    train_fidelity_ : float
        The same on the training rows.
    rounded_ : Rounded or None
        What rounding the points has changed: rows, scores and probabilities; None for real points.
    sampler_ : {"leaves", "copula", "smear", "kernel", "neighbors"}
        How rows were drawn.
    n_queries_ : int
        Rows that the predictor was asked about.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen in `fit`; defined only if all are strings.
    event_ : label or None
        The class that points are for; None of more than two classes.
    chance_source_ : {"y", "model", "answers"}
        What chances were fitted to: the labels `y` of the training rows; without them, the model's
        probabilities, or else how often it gives each answer.
    score_table_ : dict of ndarray or None
        For two classes, what each total means: ``"total"``, ``"probability"`` of the event,
        ``"share"`` of the training rows that have it, and ``"observed"``, the share of these with
        the event, if there is a `y`. None for more classes.

    Other Parameters
    ----------------
    interactions : int, default=0
        The most pairs of features that may have points together, each in two by two bins.
    points : {"integer", "real"}, default="integer"
        "integer": points are rounded to whole numbers, as small as `max_changed` allows. "real":
        they are not rounded.
    max_changed : float in [0, 1), default=0.01
        Share of the training rows whose class may change when points are rounded. With `pdo`,
        which sets how fine points are, a warning says where more do.
    min_samples_bin : int, default=10
        The fewest training rows in a bin.
    sampler : {"auto", "leaves", "copula", "smear", "kernel", "neighbors"}, default="auto"
        How synthetic rows are drawn: see :class:`RepresenterTree`. "auto" is "leaves", or "copula"
        if an answer is rare or there are more than 200 columns. Training rows and synthetic rows
        have the same weight in all.
    n_samples : int or None, default=None
        Number of synthetic rows. None: 40 for each training row, but at most 40,000.
    validation_fraction : float in [0, 1), default=0.1
        Part of the rows that is set aside to measure `fidelity_` and the sizes in `path_`. The card
        does not learn from it, nor does the estimator if it is fitted here. 0: no rows.
    special_codes : float, list of float, or dict, default=None
        Numbers that are no quantities, such as -999 for "not asked": bins of their own. Those of
        all columns of numbers in which training rows have them, or a dict from names (or places) of
        columns. Along `monotone` they count as missing values do: their points are free.
    verbose : int, default=0
        If positive, progress is printed.

    See Also
    --------
    RepresenterTree : A tree in place of a card; better where features interact.

    Notes
    -----
    Missing values have points of their own in the features in which training rows lack something.
    In other features they get those of the largest bin. Levels of text are put in the order of the
    predictor's mean answers, and a bin holds neighbours in this order. Levels that `fit` did not
    see count as missing.

    With `pdo`, whole points cost accuracy: those of each bin are rounded by up to half a point, or
    a point more where that keeps classes. A total is up to ``rounded_.score_change`` points beside
    that of ``points="real"``, and a chance up to ``rounded_.probability_change``. The larger `pdo`
    is, the less that matters: a point changes the odds by a factor of ``2 ** (1 / pdo)``, 3.5 % at
    20. The total that parts the classes is a whole number, where the fewest training rows change
    their class.

    References
    ----------
    .. [1] B. Ustun and C. Rudin, "Learning optimized risk scores", Journal of Machine Learning
       Research 20, 2019.
    .. [2] Y. Lou, R. Caruana and J. Gehrke, "Intelligible models for classification and
       regression", KDD 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ensemble_simplify import ScorecardClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> scorecard = ScorecardClassifier(max_bins=6, random_state=0).fit(X, y)
    >>> print(scorecard.export_text())
    Scorecard: points for 1
    =======================
                                              points   rows
    start                                          2
    worst perimeter <= 101                         0   56 %
    101 < worst perimeter <= 120.3                -1   17 %
    worst perimeter > 120.3                       -3   27 %
    worst concave points <= 0.1045                 0   53 %
    0.1045 < worst concave points <= 0.1457       -1   15 %
    worst concave points > 0.1457                 -2   31 %
    ...
    >>> print(scorecard.reasons(X[:1], n=1)[0][0])
    worst perimeter > 120.3: 3 points for 0, 3 more than worst perimeter <= 101
    """

    _kind, target, response = "classifier", "label", "class"

    _parameter_constraints: ClassVar[dict] = {
        **_Scorecard._parameter_constraints,
        "positive": "no_validation",
        "pdo": [Interval(Real, 0, None, closed="neither"), None],
        "base_points": [Interval(Real, None, None, closed="neither")],
        "base_odds": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        max_bins: int = 24,
        max_features: int | None = None,
        interactions: int = 0,
        monotone: dict | ArrayLike | None = None,
        points: str = "integer",
        max_changed: float = 0.01,
        min_samples_bin: int = 10,
        sampler: str = "auto",
        n_samples: int | None = None,
        validation_fraction: float = 0.1,
        special_codes: Any = None,
        positive: Any = None,
        pdo: float | None = None,
        base_points: float = 600,
        base_odds: float = 1.0,
        time_limit: float | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        _keep(self, locals())

    def _link(self, n_outputs):
        return "logistic" if n_outputs == 2 else "softmax"

    def _check_rows(self, X, y, target):
        checked = super()._check_rows(X, y, target)
        known = getattr(self.estimator, "classes_", None if y is None else np.unique(checked[1]))
        if known is not None:
            self._place_of_event(known)
        return checked

    def _place_of_event(self, classes):
        """Place of the class that points are for, among two."""
        if self.pdo is not None and len(classes) > 2:
            raise ValueError(
                f"pdo={self.pdo} scales the points of a card for two classes, but there are "
                f"{len(classes)}. Leave it out."
            )
        if self.positive is None:
            return len(classes) - 1
        found = np.flatnonzero(np.asarray(classes) == self.positive)
        if found.size != 1 or len(classes) != 2:
            raise ValueError(
                f"positive={self.positive!r}, but the classes are {np.asarray(classes).tolist()}. "
                "Name one of two classes; for more classes, leave it out."
            )
        return int(found[0])

    def _material(self, *args, **kwargs):
        found = super()._material(*args, **kwargs)
        self._event = self._place_of_event(self.classes_)
        self.event_ = self.classes_[self._event] if self.classes_.size == 2 else None
        self._scale = None
        if self.pdo is not None:
            self._scale = Scale(float(self.pdo), float(self.base_points), float(self.base_odds))
        return found

    def _wanted(self, answers):
        return answers[:, [self._event]] if answers.shape[1] == 2 else answers

    def _labels(self, card, X):
        # the path has cards before they are finished
        if self.classes_.size == 2:
            card = replace(card, event=self._event)
        return self.classes_[card.index_of(card.scores(X))]

    def _gather(self, found):
        known, predictor = super()._gather(found), self._predictor
        training, self.chance_source_ = known.training, "y"
        rates = training.truth
        if rates is None or not rates.any():
            self.chance_source_, rates = "model", predictor.chances(training.X)
        if rates is None:
            self.chance_source_, rates = "answers", predictor.encode(training.decisions)
        # of a label that the model does not know, nothing is known
        training.rates = np.where(rates.any(axis=1, keepdims=True), rates, np.nan)
        training.chances = None
        if self.chance_source_ == "y" and rates.shape[1] == 2:
            training.chances = predictor.chances(training.X)
        return known

    def _told(self, card):
        training = self._known.training
        if training.chances is None:
            return card
        return self._refitted(card)

    def _aims(self, training):
        """What points are refitted to: labels and the model's probabilities, half and half."""
        aims = training.rates
        if training.chances is not None:
            aims = (aims + training.chances) / 2.0
        return self._wanted(aims)

    def _refitted(self, card):
        card, training = super()._refitted(card), self._known.training
        if card.link != "logistic":
            return card
        is_event = training.decisions == self.event_
        return as_decided(card, training.X, training.weight, is_event)

    def _rates(self, training):
        rates = training.rates
        return rates[:, self._event] if rates.shape[1] == 2 else rates

    def _rates_of(self, card):
        training, rates = self._known.training, super()._rates_of(card)
        if card.link != "logistic" or self.chance_source_ != "y":
            return rates
        shapes, is_number = self._directions, self._is_number
        return by_others(card, training.X, training.weight, rates, shapes, is_number)

    def _finished(self, card):
        return replace(card, event=self._event) if self.classes_.size == 2 else card

    def _refuse_directions(self, columns):
        if self._directions.any() and self.classes_.size > 2:
            raise ValueError(
                f"monotone is for two classes, but there are {self.classes_.size}. Leave it out."
            )
        super()._refuse_directions(columns)

    def _set_card(self, step):
        super()._set_card(step)
        training = self._known.training
        self.score_table_ = None
        if self.card_.link == "logistic":
            seen = self._rates(training) if self.chance_source_ == "y" else None
            self.score_table_ = score_table(self.card_, training.X, training.weight, seen)

    def binning_table(self, X: ArrayLike, y: ArrayLike) -> Bunch:
        """What labelled rows say of the bins and the totals of a card for two classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; better such as neither the model nor the card has learned from.
        y : array-like of shape (n_samples,)
            Their labels: of both classes, and no others.

        Returns
        -------
        table : Bunch
            ``bins`` is a data frame with a row for each bin: ``feature``, ``bin``, ``points``,
            ``rows`` and their ``share``, ``events``, their ``rate``, the weight of evidence
            ``woe``, and the information value ``iv``. The weight is the logarithm of the share of
            all events that are in the bin over the share of all other rows, so it rises with the
            rate of the event; half a row of each kind is added to bins that lack one.
            ``features`` has the ``iv`` of each feature, and by how many points it parts rows
            (``span``). ``ks`` is the largest distance between the distributions of totals with and
            without the event (Kolmogorov and Smirnov), and ``gini`` is twice the area under the
            curve less one.

        Raises
        ------
        ValueError
            If the card is not for two classes, or `y` has other labels, or one alone.
        """
        check_is_fitted(self)
        if self.classes_.size != 2:
            raise ValueError(
                f"binning_table is for two classes, but there are {self.classes_.size}."
            )
        rows, y = self._numbers_of(X), column_or_1d(y)
        check_consistent_length(rows, y)
        if set(np.unique(y).tolist()) != set(self.classes_.tolist()):
            raise ValueError(
                f"y has the labels {np.unique(y).tolist()}, but the classes are "
                f"{self.classes_.tolist()}. Give rows of both, and of no others."
            )
        return binning_table(self._named_card(), rows, np.asarray(y == self.event_))

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """How far totals speak for the second class, or what the softmax makes chances of.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        decision : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Of two classes above 0, or at 0 if the event is the second, for the second one: the
            points by which a total is beyond the one that parts them, times the log-odds of a
            point.
        """
        totals, card = self.total_points(X), self.card_
        if card.link == "softmax":
            return card.slope * totals
        apart = totals - card.at + (0.5 if self.points == "integer" else 0.0)
        return card.slope * apart * (1.0 if card.event else -1.0)

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Class probabilities for the totals of rows: how often `y` was each class.

        Without `y`, they are the model's mean probabilities at a total; of a model without
        probabilities, how often it gives each answer. They rise with the total, by a slope and a
        shift that are fitted to the training rows; of labels of two classes, to what points of the
        same bins say of each fifth of the rows that were fitted to the others, since points tell
        the rows better that they were fitted to. Where the model parts classes at another
        chance than one half, as one with weights for classes does, the label need not be the more
        probable class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            One column per class, in the order of `classes_`.
        """
        X = self._numbers_of(X)
        return self.card_.probabilities(self.card_.scores(X))


class ScorecardRegressor(RegressorMixin, _Scorecard, BaseEstimator):
    """A scorecard that answers as any regressor does: the sum of the points is the value.

    It is a table of points [1]_, learned as an additive model [2]_ from training rows and synthetic
    rows, all labelled by the regressor. The agreement is measured, not guaranteed: see `fidelity_`.

    Read more in the :ref:`guide <scorecard>`.

    Parameters
    ----------
    estimator : estimator, FrozenEstimator, callable or None, default=None
        The regressor to represent. An estimator is cloned and fitted. One inside a
        ``FrozenEstimator``, or a ``Booster`` of LightGBM or XGBoost, is used as it is. A callable
        is given rows and returns values. None: a random forest.
    max_bins : int, default=24
        The most bins that the card may have, over all of its features. A bin for missing values
        counts. :meth:`at` gives smaller cards.
    max_features : int or None, default=None
        The most features that the card may use. None: as many as are worth their bins.
    monotone : dict, array-like of int, or None, default=None
        How points may change along features: a dict from names (or places) of columns, or an entry
        for each column. 1 or "rising": they may not fall; -1 or "falling": they may not rise;
        "peak": they may fall once they have risen; "valley": the other way round; 0: they are free.
    link : {"identity", "log"}, default="identity"
        "identity": the value is the sum of points. "log": it is a product, as in tariffs: a base
        rate times a relativity for each feature, which is 1 in the bin with the most weight, or
        exposure. For models whose answers are positive.
    time_limit : float or None, default=None
        Seconds for learning the card, once the estimator is fitted. None: no limit. When the time
        is up, the best card so far is kept, with a ``ConvergenceWarning``.
    random_state : int, RandomState instance or None, default=None
        An int fixes the synthetic rows and every ``random_state=None`` of `estimator`.

    Attributes
    ----------
    card_ : Card
        Bins and points.
    estimator_ : object
        The fitted predictor.
    path_ : list of Bunch
        The cards that were found, the largest first: ``n_bins``, ``n_features``, ``fidelity`` on
        the rows set aside, and its 95 % interval from ``fidelity_low`` to ``fidelity_high`` (by
        Clopper and Pearson; nan for values). With a `y`, also the ``score`` on these rows: the
        accuracy, or the coefficient of determination. All are measured before points are rounded.
    fidelity_ : float
        How well the card agrees with the predictor on the rows set aside; nan if there are none.
        See :meth:`fidelity`.
    train_fidelity_ : float
        The same on the training rows.
    rounded_ : Rounded or None
        What rounding the points has changed: rows, scores and probabilities; None for real points.
    sampler_ : {"leaves", "copula", "smear", "kernel", "neighbors"}
        How rows were drawn.
    n_queries_ : int
        Rows that the predictor was asked about.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen in `fit`; defined only if all are strings.

    Other Parameters
    ----------------
    interactions : int, default=0
        The most pairs of features that may have points together, each in two by two bins.
    points : {"integer", "real"}, default="integer"
        "integer": points are multiples of 1, 2 or 5 times a power of ten, as large as `max_changed`
        allows. "real": points are not rounded.
    max_changed : float in [0, 1), default=0.01
        How far rounded points may move the values: the root mean square, as a share of the standard
        deviation of the card's values on the training rows.
    min_samples_bin : int, default=10
        The fewest training rows in a bin.
    sampler : {"auto", "leaves", "copula", "smear", "kernel", "neighbors"}, default="auto"
        How synthetic rows are drawn: see :class:`RepresenterTree`. "auto" is "leaves", or "copula"
        if an answer is rare or there are more than 200 columns. Training rows and synthetic rows
        have the same weight in all.
    n_samples : int or None, default=None
        Number of synthetic rows. None: 40 for each training row, but at most 40,000.
    validation_fraction : float in [0, 1), default=0.1
        Part of the rows that is set aside to measure `fidelity_` and the sizes in `path_`. The card
        does not learn from it, nor does the estimator if it is fitted here. 0: no rows.
    special_codes : float, list of float, or dict, default=None
        Numbers that are no quantities, such as -999 for "not asked": bins of their own. Those of
        all columns of numbers in which training rows have them, or a dict from names (or places) of
        columns. Along `monotone` they count as missing values do: their points are free.
    verbose : int, default=0
        If positive, progress is printed.

    See Also
    --------
    RepresenterTree : A tree in place of a card; better where features interact.

    Notes
    -----
    Missing values and levels have points as in :class:`ScorecardClassifier`.

    References
    ----------
    .. [1] B. Ustun and C. Rudin, "Learning optimized risk scores", Journal of Machine Learning
       Research 20, 2019.
    .. [2] Y. Lou, R. Caruana and J. Gehrke, "Intelligible models for classification and
       regression", KDD 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from ensemble_simplify import ScorecardRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> scorecard = ScorecardRegressor(max_bins=6, random_state=0).fit(X, y)
    >>> print(scorecard.export_text())
    Scorecard for a number
    ======================
                        points   rows
    start                160.5
    bmi <= 26.81         -35.5   61 %
    26.81 < bmi <= 33      9.5   32 %
    bmi > 33              61.0    7 %
    s5 <= 4.53           -27.0   46 %
    4.53 < s5 <= 4.88     11.5   20 %
    s5 > 4.88             42.5   34 %
    ...
    """

    _kind, target, response = "regressor", "value", "value"

    _parameter_constraints: ClassVar[dict] = {
        **_Scorecard._parameter_constraints,
        "link": [StrOptions({"identity", "log"})],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        max_bins: int = 24,
        max_features: int | None = None,
        interactions: int = 0,
        monotone: dict | ArrayLike | None = None,
        points: str = "integer",
        max_changed: float = 0.01,
        min_samples_bin: int = 10,
        sampler: str = "auto",
        n_samples: int | None = None,
        validation_fraction: float = 0.1,
        special_codes: Any = None,
        link: str = "identity",
        time_limit: float | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        _keep(self, locals())

    def _link(self, n_outputs):
        return "identity"

    @property
    def _default(self):
        return _poisson if self.link == "log" else RandomForestRegressor

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        exposure: ArrayLike | None = None,
    ) -> Self:
        """Fit the predictor, unless it is fitted, and make a card that answers as it does.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows: see :meth:`ScorecardClassifier.fit`.
        y : array-like of shape (n_samples,) or None, default=None
            Targets. Needed unless the predictor is a callable or frozen.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the training rows, for the estimator if it is fitted here, and for the card.
        exposure : array-like of shape (n_samples,) or None, default=None
            How long each row was at risk, or other units in which `y` was counted: claims, or
            their amounts. The predictor is fitted to ``y / exposure`` with the exposure as weight,
            and predictions are for one unit. None: one each.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        if exposure is not None:
            exposure, y = _per_unit(X, y, exposure)
            sample_weight = exposure if sample_weight is None else exposure * sample_weight
        super().fit(X, y, sample_weight)
        if exposure is not None:
            self._counted = "exposure"
        return self

    def _wanted(self, answers):
        if self.link == "identity":
            return answers
        if (least := answers.min()) <= 0.0:
            raise ValueError(
                f"link='log', but the model answers {least:.3g}, which has no logarithm. Give a "
                "model of a Poisson, gamma or Tweedie loss, or link='identity'."
            )
        return np.log(answers)

    def _aims(self, training):
        """What points are refitted to: the model's values, for targets of tariffs are noise.

        On eight tables of simulated claims, half and half had the higher deviance on all, and no
        higher Gini index on any.
        """
        return training.decisions.astype(np.float64)[:, None]

    def _told(self, card):
        if self.link == "identity":
            return card
        return self._refitted(replace(card, link="log"))

    def _refitted(self, card):
        card, training = super()._refitted(card), self._known.training
        if card.link == "identity":
            return card
        return based(card, training.X, training.weight)

    def _labels(self, card, X):
        return card.index_of(card.scores(X))

    def binning_table(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        exposure: ArrayLike | None = None,
        power: float | None = None,
    ) -> Bunch:
        """What rows with targets say of the bins, and how well the card tells them apart.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; better such as neither the model nor the card has learned from.
        y : array-like of shape (n_samples,)
            Their targets: such as claims, or their amounts.
        exposure : array-like of shape (n_samples,) or None, default=None
            As in :meth:`fit`.
        power : float or None, default=None
            The power of the variance in the deviance: 0 (squares), 1 (Poisson), 2 (gamma), or
            between (Tweedie). None: 1 with ``link="log"``, else 0.

        Returns
        -------
        table : Bunch
            ``bins`` is a data frame with a row for each bin: ``feature``, ``bin``, ``points`` or
            ``relativity``, ``rows``, ``exposure``, its ``share``, and, for one unit of exposure,
            the mean of `y` (``observed``), of the ``card`` and of the ``model``. ``deviance`` and
            ``gini`` are those of the card, ``model_deviance`` and ``model_gini`` those of the
            model. The Gini index is that of the ordered Lorenz curve: rows are put in the order of
            their predictions, and the share of `y` is drawn over that of the exposure.
        """
        check_is_fitted(self)
        rows = self._numbers_of(X)
        units = np.ones(len(rows))
        y = column_or_1d(y).astype(np.float64)
        if exposure is not None:
            units, y = _per_unit(X, y, exposure)
        check_consistent_length(rows, y)
        power = float(self.link == "log") if power is None else power
        model = self._predictor.answers(rows)[:, 0]
        return rating_table(self._named_card(), rows, y, units, model, power)


def _poisson():
    """The model of a tariff without an `estimator`."""
    return HistGradientBoostingRegressor(loss="poisson")


def _per_unit(X, y, exposure):
    """Exposures, checked, and targets for one unit of each."""
    exposure = column_or_1d(exposure).astype(np.float64)
    check_consistent_length(X, exposure, y)
    if not (np.isfinite(exposure) & (exposure > 0)).all():
        raise ValueError("exposure holds a number that is not positive and finite. Drop such rows.")
    return exposure, None if y is None else column_or_1d(y) / exposure


def _keep(estimator, given):
    """Store the parameters of an estimator, as its ``__init__`` was given them."""
    hidden = ("self", "__class__")
    vars(estimator).update({name: own for name, own in given.items() if name not in hidden})


def _at(steps, n_bins):
    """The largest step of at most so many bins."""
    return next((step for step in steps if step.n_bins <= n_bins), steps[-1])


def _directions(monotone, n_features, names):
    """For each column how points may change along it, as in `SHAPES`; 0: freely."""
    directions = np.zeros(n_features, dtype=np.intp)
    if monotone is None:
        return directions
    if isinstance(monotone, dict):
        given = monotone.items()
    else:
        given = enumerate(np.asarray(monotone, dtype=object).tolist())
        if np.shape(monotone) != (n_features,):
            raise ValueError(
                f"monotone has shape {np.shape(monotone)}, but there are {n_features} columns. "
                "Give one number for each, or a dict."
            )
    for key, value in given:
        if value not in (-1, 0, 1, *SHAPES):
            raise ValueError(
                f"monotone[{key!r}]={value!r} is none of -1 (falls), 0 (any), 1 (rises), 'falling',"
                " 'rising', 'peak' and 'valley'."
            )
        directions[column_index(key, "monotone", n_features, names)] = SHAPES.get(value, value)
    return directions
