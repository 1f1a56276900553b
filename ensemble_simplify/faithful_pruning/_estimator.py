"""Fewer trees with new weights that answer as the whole ensemble does, proven."""

from __future__ import annotations

import copy
from functools import partial
from numbers import Integral, Real
from time import monotonic
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ensemble_simplify.base import (
    Fittable,
    Interval,
    PrunesItsEstimator,
    Rows,
    StrOptions,
    absolute_tolerance,
    check_atol,
    check_column_names,
    check_readable,
    check_weights,
    checked_rows,
    class_index,
    encoded,
    fit_context,
    fit_or_unwrap,
    promised_domain,
    promised_rows,
    report,
    safe_indexing,
    unmoved_by_rounding,
    warn_out_of_time,
)
from ensemble_simplify.faithful_pruning._promise import leaf_counts
from ensemble_simplify.faithful_pruning._pruning import Pruning
from ensemble_simplify.grid import (
    Axes,
    Domain,
    distinct_rows,
    limited,
    limits,
    time_left,
    with_missing,
)
from ensemble_simplify.proof import Verification, verify, within
from ensemble_simplify.reading import Model, held_out
from ensemble_simplify.writing import depth_of, reweighted, weights_can_be_written

# Share of the time left for finding out which trees were grown without a row, and the seconds that
# one row takes in one tree.
OWN_SHARE, OWN_SECONDS = 0.1, 4e-7
# Synthetic rows of a promise on rows alone: so many, of which each takes up to a share of its
# values from other rows. Chosen on six tables with LightGBM.
DRAWN, MIXED = 3000, 0.6


class FaithfulPruner(PrunesItsEstimator, BaseEstimator):
    """Drop trees of an ensemble, and weight the others so that its answers stay.

    The predicted class stays the same at every promised point. With `atol`, the value of a
    regressor or the probability of every class stays within a tolerance. The promised points are
    every finite input, the inputs of a domain, or all points that differ from a training row in at
    most `max_changes` features. The promise is proven before ``fit`` returns, in the arithmetic of
    the pruned ensemble's own ``predict``.

    It drops many boosted stumps (trees of depth 1). Of a default random forest it drops few trees
    or none.

    The weights solve a linear program. Points that still get another answer are added to it, until
    there are none [1]_. The program is solved again with higher costs for small weights, so that
    few trees keep a weight [2]_.

    Read more in the :ref:`guide <faithful_pruning>`.

    Parameters
    ----------
    estimator : estimator, FrozenEstimator or None, default=None
        The ensemble of decision trees. Wrap a fitted one in
        :class:`~sklearn.frozen.FrozenEstimator`: it is used as it is. An unfitted one is cloned and
        fitted on the training data. None means ``RandomForestClassifier(n_estimators=10,
        max_depth=2)``. Supported are random forests, extra trees, bagged trees, AdaBoost over
        trees, gradient boosting (also by histograms), voting over them, XGBoost, LightGBM,
        CatBoost, a native ``Booster``, and a ``Pipeline`` that ends in one of these. With `atol`
        also regressors of these kinds, except voting, and except ``AdaBoostRegressor``, which
        answers a weighted median.
    max_changes : int or None, default=None
        The points at which the answers stay the same. None: every input. 0: the training rows and
        synthetic ones (see `n_samples`, and Notes on a forest's own rows). 1: also every point that
        differs from some training row in one feature, whatever value it takes. 2: in two features,
        and so on. The time grows with the number of thresholds to this power. For every input
        (None) the proof can take exponentially long; use it for boosted stumps. Default forests
        need most or all of their trees for 1, and mostly all for 2 and None.
    atol : float, str or None, default=None
        By how much values of a regressor, or probabilities of a classifier, may differ at the
        promised points: a number, or a share such as ``"10%"`` of the standard deviation of the
        ensemble's answers to the training rows (for the class where that is largest). None: a
        classifier keeps its classes. Regressors need a tolerance. Probabilities are supported where
        they are means over trees, and for boosting of two classes.
    domain : Domain, dict or None, default=None
        Which inputs can occur. The promise is about these inputs only. Training rows must be
        inside. See :class:`Domain`.
    method : {"auto", "exact", "heuristic"}, default="auto"
        ``"heuristic"`` is the quickest: it makes little effort for a lower bound. ``"auto"``
        searches longer, and makes a limited effort for a lower bound, the less the more trees and
        rows there are. ``"exact"`` goes on until no better choice of trees is possible, or
        `time_limit` is over. With more than a few tens of trees, set a `time_limit`.
    time_limit : float or None, default=None
        Time for the search in seconds. Fitting the ensemble does not count. When it is over, the
        best ensemble proven so far (at worst the whole one) is returned with its bound and a
        ``ConvergenceWarning``. None: no limit.
    random_state : int, RandomState instance or None, default=None
        Seeds the default ensemble, the choice of held-out rows, synthetic rows, and the starting
        points of the search.

    Attributes
    ----------
    estimator_ : estimator
        The fitted ensemble.
    pruned_estimator_ : estimator
        The pruned ensemble, an ordinary fitted object of its library. AdaBoost, gradient boosting
        and native boosters keep their type. A forest or bagged trees of classes become a
        ``VotingClassifier(voting="soft")`` of their trees, which has a place for weights. Those of
        values keep their type, with scaled leaves. If no tree can go, it is a copy of the ensemble.
    n_trees_ : int
        Number of trees kept.
    n_leaves_ : int
        Number of leaves of the trees kept.
    status_ : {"optimal", "feasible"}
        ``"optimal"``: the objective is proven smallest. ``"feasible"``: the promise is kept, but
        fewer trees may keep it, too.
    n_trees_lower_bound_, n_leaves_lower_bound_ : int
        At least so many trees, or leaves, are needed to keep the promise, whatever the weights (see
        Notes). With a `tolerance`, nothing is known: 1, or the leaves of the smallest tree.
    max_difference_ : float
        With `atol`: no value or probability at a promised point differs by more. Else NaN.
    n_points_ : int or float
        Number of promised points; ``inf`` without `max_changes`. A point is a cell between the
        ensemble's thresholds. It counts once for every row that it is near, and rows in the same
        cell are one. Training rows that are finer than cells (see Notes) are points of their own.
        Synthetic rows count like training rows.
    n_exceptions_ : int
        Number of promised points where the pruned ensemble gives another class, or is further off
        than `atol` (those within rounding of it are counted). Unless `tolerance` is positive, these
        are training rows that are finer than cells. -1: there are some, uncounted.
    path_ : Bunch
        Ensembles from the fewest trees to the one without exceptions, as arrays: ``n_trees``,
        ``n_leaves``, ``n_exceptions`` (exact), ``agreement`` (on held-out rows; NaN if there are
        none) and ``weights``. With `atol` also ``offset``, and ``max_difference``, the largest
        difference of each. There is only one entry without `max_changes` (except for stumps with
        `atol`), and if there are too many promised points to count the exceptions of each ensemble.
        See :meth:`at`.
    fidelity_ : float
        Share of the held-out rows that both ensembles answer alike, or within `atol`; NaN without
        `validation_fraction`.
    atol_ : float or None
        The number that `atol` stands for.
    weights_ : ndarray of shape (n_trees of the ensemble,)
        Factor of each tree's vote; 0: the tree is dropped. If only their ratios matter, the mean
        is 1, or close to 1 where ties are kept. With `atol`, weights may be negative where leaves
        are scaled.
    offset_ : float
        What is added to the weighted sum. It stands in the leaves of the first tree kept. 0 without
        `atol`, and where probabilities are means of votes.
    classes_ : ndarray of shape (n_classes,)
        Class labels; only of classifiers.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen in `fit`; defined only if all are strings.

    Other Parameters
    ----------------
    tolerance : float in [0, 1), default=0.0
        With `max_changes`: share of the promised points that may get another class, or be further
        off than `atol`. If it is positive, the ensemble of fewest trees on `path_` with no more
        exceptions is taken.
    objective : {"trees", "leaves"}, default="trees"
        What to minimise: the number of trees, or the number of leaves of all trees.
    n_samples : int or "auto", default="auto"
        With ``max_changes=0``: synthetic rows that the promise covers like training rows. Each is a
        training row of which some values, three in ten on average, are those of other rows.
        ``"auto"``: 3,000 where classes are promised, there are no out-of-bag rows and no `X_more`,
        as of boosting; else 0.
    validation_fraction : float in [0, 1), default=0.0
        Share of the rows to hold out from the promise and, if the ensemble is fitted here, from
        its fit. `fidelity_` and the agreement along `path_` are measured on them.
    verbose : int, default=0
        If positive, progress is printed.

    Raises
    ------
    TypeError
        If the ensemble is of a kind that cannot be read or written, or that does not add up votes
        of trees; or if `atol` is given and its probabilities are of a kind that is not supported.
    ValueError
        If a parameter is out of range or does not go with the others, or a row is outside the
        domain.

    See Also
    --------
    BornAgainClassifier : One tree with the same answers as the ensemble.
    verify : The proof, for any two models.
    agreement : How often two models agree.

    Notes
    -----
    *What is promised.* The promise is about ``predict`` with ``n_jobs=None``. Without `atol`, only
    the class is promised, and probabilities change. With it, only values or probabilities are
    promised: the class can differ where two classes are less than twice `atol` apart.

    *The lower bound* does not count weights with which two classes tie at a promised point, or
    with which the right class leads there by less than a millionth of the sum of the weights (times
    the largest vote of a tree). It counts them if no weights lead everywhere. With `atol`, it does
    not count weights beyond 100.

    *Ties.* At points where the ensemble's classes are tied, the pruned one leads clearly with the
    class that the ensemble answers. Ties can contradict one another, so that no weights lead at all
    of them. Then they are kept as ties: the weights are multiples of a power of two under which
    sums of whole votes do not round, and ``predict`` answers the first of the tied classes, as the
    ensemble does. If the votes are no such numbers, or no such weights are found, the ensemble is
    returned as it is.

    *A forest's own rows.* A forest knows its training rows by heart: very few of its trees answer
    these as all do, and this says little about new rows. So with ``max_changes=0`` on exactly the
    rows that a forest with bootstrap was fitted on, in their order, more trees are kept: as many as
    could keep the forest's out-of-bag answers, too. They are chosen by their votes, with weights as
    equal as the promise allows. Boosting knows its rows even better, and has no out-of-bag rows:
    there the promise covers synthetic rows, too (`n_samples`). Fresh rows as `X_more` serve, too.
    With `atol`, extra trees that were grown in full are repeated by one of them on their own rows:
    use ``max_changes=1``, or fresh rows.

    *Numbers finer than float32.* Trees round rows to float32, so a promise about rows that float32
    represents is one about all rows. HistGradientBoosting compares float64 numbers, and is followed
    on all of these. With a pipeline, the promise is about inputs that float32 represents, of the
    same type as the rows in ``fit``. A training row with a number between a threshold and the next
    float32 is finer than cells. It is put to both ensembles as it was given, and counted in
    `n_exceptions_` if they answer differently. `covers` leaves such rows out.

    References
    ----------
    .. [1] Y. Emine, A. Forel, I. Malek, T. Vidal (2025). Free Lunch in the Forest:
       Functionally-Identical Pruning of Boosted Tree Ensembles. AAAI 39(16), 16488-16495.
       https://doi.org/10.1609/aaai.v39i16.33811
    .. [2] E. J. Candes, M. B. Wakin, S. P. Boyd (2008). Enhancing Sparsity by Reweighted l1
       Minimization. Journal of Fourier Analysis and Applications 14, 877-905.
       https://doi.org/10.1007/s00041-008-9045-x

    Examples
    --------
    AdaBoost over stumps. 27 of 100 trees give the same class for every input, and no fewer do:

    >>> from sklearn.datasets import load_diabetes, load_wine
    >>> from sklearn.ensemble import AdaBoostClassifier, GradientBoostingRegressor
    >>> from ensemble_simplify import FaithfulPruner
    >>> X, y = load_wine(return_X_y=True)
    >>> ensemble = AdaBoostClassifier(n_estimators=100, random_state=0)
    >>> pruner = FaithfulPruner(ensemble, random_state=0).fit(X, y)
    >>> pruner.n_trees_, pruner.n_trees_lower_bound_, pruner.status_
    (27, 27, 'optimal')
    >>> bool(pruner.verify())
    True
    >>> pruner.pruned_estimator_.n_classes_, len(pruner.pruned_estimator_.estimators_)
    (3, 27)

    Boosted stumps that answer values. No input changes by more than a tenth of the standard
    deviation, and no fewer of these stumps can do that:

    >>> X, y = load_diabetes(return_X_y=True)
    >>> stumps = GradientBoostingRegressor(max_depth=1, random_state=0)
    >>> pruner = FaithfulPruner(stumps, atol="10%", random_state=0).fit(X, y)
    >>> pruner.n_trees_, pruner.n_trees_lower_bound_
    (31, 31)
    >>> bool(pruner.max_difference_ <= pruner.atol_)
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [Fittable(), None],
        "max_changes": [Interval(Integral, 0, None, closed="left"), None],
        "atol": [Interval(Real, 0, None, closed="left"), str, None],
        "domain": [Domain, dict, None],
        "tolerance": [Interval(Real, 0, 1, closed="left")],
        "objective": [StrOptions({"trees", "leaves"})],
        "method": [StrOptions({"auto", "exact", "heuristic"})],
        "n_samples": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "validation_fraction": [Interval(Real, 0, 1, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        max_changes: int | None = None,
        atol: float | str | None = None,
        domain: Domain | dict | None = None,
        tolerance: float = 0.0,
        objective: str = "trees",
        method: str = "auto",
        n_samples: int | str = "auto",
        validation_fraction: float = 0.0,
        time_limit: float | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.estimator = estimator
        self.max_changes = max_changes
        self.atol = atol
        self.domain = domain
        self.tolerance = tolerance
        self.objective = objective
        self.method = method
        self.n_samples = n_samples
        self.validation_fraction = validation_fraction
        self.time_limit = time_limit
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        X_more: ArrayLike | None = None,
    ) -> Self:
        """Fit the ensemble, unless it is frozen, and prune it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows. With `max_changes`, the promise is about points near them.
        y : array-like of shape (n_samples,)
            Class labels, or target values.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights, used in fitting the ensemble. Nothing is promised near rows of weight zero.
        X_more : array-like of shape (n_more, n_features) or None, default=None
            Further rows, of the same columns, that the promise covers like training rows. They need
            no labels, and no ensemble is fitted on them. Give rows that a fitted ensemble has not
            seen: with ``max_changes=0``, agreement on new rows rises with their number.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        self._check()
        regression = self._is_of_values
        rows, y = checked_rows(self, X, y, regression=regression)
        weight = check_weights(sample_weight, rows.given)
        rng = check_random_state(self.random_state)
        used, aside = self._set_aside(weight, rng)
        fitted_on = rows.given if not aside.size else safe_indexing(rows.given, used)
        self.estimator_ = fit_or_unwrap(
            self.estimator,
            fitted_on,
            y[used],
            None if sample_weight is None else weight[used],
            default=RandomForestClassifier(n_estimators=10, max_depth=2, random_state=rng),
        )
        begin = monotonic()
        model = Model.of(self.estimator_, classifier=not regression, rows=rows.given)
        rows = encoded(self, model, rows)
        self._take_answers(model, y)
        weights_can_be_written(self.estimator_)
        more = self._further(X_more, model)
        domain = promised_domain(self, model, np.concatenate([rows.numbers, more.numbers]))
        forest = model.finest if domain is None else domain.read(model.finest)
        # at the rows alone, classes can be asked for where trees are too large to be laid out
        lays_out = self.max_changes != 0 or self.atol is not None or forest.is_small
        self._axes = Axes.of(forest) if lays_out else Axes.of_tests(forest)
        self._leaves_of_tree = leaf_counts(forest)

        # what is promised: each cell that a row of positive weight is in, once
        counted = used[weight[used] > 0]
        promised = np.concatenate([rows.numbers[counted], more.numbers])
        cells = self._axes.encode_rows(promised).T
        # rows that are finer than cells are asked about as they were given
        finer = np.flatnonzero(self._is_finer(forest, promised))
        n = np.searchsorted(finer, len(counted))
        as_given = [
            safe_indexing(rows.given, counted[finer[:n]]),
            safe_indexing(more.given, finer[n:] - len(counted)),
        ]
        rng = np.random.default_rng(rng.randint(1 << 31))
        price = self._leaves_of_tree if self.objective == "leaves" else np.ones(forest.n_trees)
        self.atol_ = None
        if self.atol is not None:
            answers = model.ask(safe_indexing(rows.given, counted), self._asks)
            self.atol_ = absolute_tolerance(self.atol, answers, weight[counted])
        # reading counts, but is not interrupted
        with limits(self._time_from(begin)):
            of_rows = cells[: len(counted)], weight[used]
            out_of_bag = self._out_of_bag(forest, fitted_on, *of_rows)
        drawn = self._drawn(promised, out_of_bag is None and X_more is None, domain, rng)
        cells = np.concatenate([cells, self._axes.encode_rows(drawn).T])
        self._cells = cells[distinct_rows(cells)[0]]
        pruning = Pruning(self, model, forest, domain, price.astype(float), rng)
        with limits(self._time_from(begin)):
            if self.atol is None:
                steps = pruning.for_classes(out_of_bag, partial(self._apart, model, as_given))
            else:
                steps = pruning.for_numbers(self.atol_)
        self._set_path(steps, model, as_given, safe_indexing(rows.given, aside), promised[finer])
        self._bound = pruning.bound
        self.n_points_ = pruning.n_points + len(finer)
        self._choose(self._within_tolerance())
        self._tell(pruning)
        return self

    def _check(self) -> None:
        """Refuse parameters that do not go with one another, before any work is done."""
        check_readable(self.estimator)
        if self.tolerance > 0 and self.max_changes is None:
            raise ValueError(
                f"tolerance={self.tolerance} needs max_changes: exceptions are counted among the "
                "points near training rows. Set max_changes=1, or tolerance=0."
            )
        check_atol(self.atol)
        if self._is_of_values and self.atol is None:
            raise ValueError(
                f"atol=None is for classes, but estimator={type(self.estimator).__name__}(...) is "
                "a regressor. Say by how much its values may change, such as atol='10%' (of their "
                "standard deviation)."
            )
        if self.n_samples not in ("auto", 0) and self.max_changes != 0:
            raise ValueError(
                f"n_samples={self.n_samples} is for a promise on rows alone, but max_changes="
                f"{self.max_changes}. Set max_changes=0, or leave n_samples='auto'."
            )

    def _time_from(self, begin) -> float | None:
        """What is left of the time limit."""
        return None if self.time_limit is None else self.time_limit - (monotonic() - begin)

    def _out_of_bag(self, forest, fitted_on, cells, weight) -> tuple | None:
        """Cells of rows of positive weight, and which trees were grown without each; or None.

        Only a promise about the training rows alone needs these, and only if there is time.
        """
        seconds = OWN_SECONDS * len(weight) * forest.n_trees
        if self.max_changes != 0 or self.atol is not None or seconds >= OWN_SHARE * time_left():
            return None
        without = held_out(self.estimator_, fitted_on)
        return None if without is None else (cells, without[:, weight > 0])

    def _drawn(self, X, is_alone, domain, rng) -> np.ndarray:
        """Synthetic rows for the promise: rows with some values of others in their place."""
        n = self.n_samples
        if n == "auto":
            n = DRAWN if is_alone and self.max_changes == 0 and self.atol is None else 0
        source, other = rng.integers(len(X), size=n), rng.integers(len(X), size=(n, X.shape[1]))
        is_mixed = rng.random(other.shape) < MIXED * rng.random((n, 1))
        drawn = np.where(is_mixed, X[other, np.arange(X.shape[1])], X[source])
        return drawn if domain is None else drawn[domain.contains(drawn)]

    def _tell(self, pruning) -> None:
        """Warn if time was over, and print what was found."""
        if not pruning.is_complete:
            warn_out_of_time(
                f"time_limit={self.time_limit} seconds were over before the search was complete. "
                "The pruned ensemble keeps the promise, but fewer trees may keep it, too. Raise "
                "time_limit, or use method='heuristic'."
            )
        report(
            self,
            f"{self.n_trees_} of {pruning.forest.n_trees} trees (at least "
            f"{self.n_trees_lower_bound_}), {self.n_exceptions_} exceptions, {self.status_}",
        )

    def _take_answers(self, model, y) -> None:
        """Know what the ensemble answers, classes or values, and how it is asked."""
        self._asks = "predict"
        if model.forest.classes is None:
            return
        self.classes_ = model.forest.classes
        class_index(y, self.classes_)
        if self.atol is None:
            return
        self._asks = "predict_proba"
        if not hasattr(self.estimator_, "predict_proba"):
            raise TypeError(
                f"atol={self.atol!r} is about probabilities, but {model.name}(...) has no "
                "predict_proba. Leave atol out to keep its classes."
            )

    def _set_aside(self, weight, rng) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the rows that are used and of those set aside."""
        candidates = np.flatnonzero(weight > 0)
        n_aside = int(self.validation_fraction * len(candidates))
        is_aside = np.zeros(len(weight), dtype=bool)
        is_aside[rng.permutation(candidates)[:n_aside]] = True
        return np.flatnonzero(~is_aside), np.flatnonzero(is_aside)

    def _further(self, X_more, model) -> Rows:
        """Further rows of the promise."""
        if X_more is None:
            return Rows(*[np.empty((0, self.n_features_in_))] * 2)
        check_column_names([self], X_more, "X_more")
        if not self._table.same_dtypes(X_more):
            raise ValueError(
                "X_more has columns of other types than X (float32 or float64), and the pipeline "
                "answers these differently. Give both in the same types: X_more.astype(X.dtype)."
            )
        more = self._table.read(X_more, [np.float64, np.float32], "X_more")
        if np.isnan(more).any() and not self._takes_missing:
            raise ValueError(
                "X_more has missing values, but the ensemble takes none. Leave such rows out."
            )
        return Rows.checked(X_more, more)

    def _is_finer(self, forest, X) -> np.ndarray:
        """Which of the promised training rows ensembles can answer otherwise than their cells."""
        self._finer_axes = self._axes if forest.is_finer else None
        if not forest.is_finer:
            return np.zeros(len(X), dtype=bool)
        return self._axes.between(X).any(axis=0)

    # ------------------------------------------------------------------ the path

    def _set_path(self, steps, model, finer, aside, numbers) -> None:
        """Set the path; ensembles are asked about finer rows, and rows set aside, as given.

        `finer` are tables that follow one another; `numbers` are the same rows as numbers.
        """
        weights = np.array([step.weights for step in steps])
        kept = weights != 0
        agreement = np.full(len(steps), np.nan)
        largest = np.array([step.largest for step in steps])
        differs = np.zeros((len(steps), len(numbers)), dtype=bool)
        for i, step in enumerate(steps):
            gaps = self._gaps(model, finer, step.weights, step.offset)
            differs[i] = gaps > (self.atol_ or 0.0)
            largest[i] = max(largest[i], gaps.max(initial=0.0))
            if len(aside):
                gaps = self._gaps(model, [aside], step.weights, step.offset)
                agreement[i] = np.mean(gaps <= (self.atol_ or 0.0))
        # what `tolerance` bounds, and rows for a proof
        self._n_promised = np.array([step.n_exceptions for step in steps])
        self._finer_rows = numbers[differs.any(axis=0)]
        self.path_ = Bunch(
            n_trees=kept.sum(axis=1),
            n_leaves=kept @ self._leaves_of_tree,
            n_exceptions=self._n_promised + differs.sum(axis=1),
            agreement=agreement,
            weights=weights,
        )
        if self.atol is not None:
            self.path_.offset = np.array([step.offset for step in steps])
            self.path_.max_difference = largest

    def _apart(self, model, tables, weights) -> np.ndarray:
        """Which rows of some tables, as they were given, are answered otherwise by some weights."""
        return self._gaps(model, tables, weights) > 0

    def _gaps(self, model, tables, weights, offset=0.0) -> np.ndarray:
        """By how much rows of some tables are answered otherwise; by one where classes differ."""
        # X and X_more can be of two kinds, an array and a frame, so they are not joined
        tables = [X for X in tables if len(X)]
        if not tables:
            return np.zeros(0)
        pruned = Model.of(reweighted(self.estimator_, weights, offset), check=False)
        both = [[asked.ask(X, self._asks) for asked in (model, pruned)] for X in tables]
        if self.atol is None:
            return np.concatenate([a != b for a, b in both]).astype(float)
        return np.concatenate([np.abs(a - b).reshape(len(a), -1).max(axis=1) for a, b in both])

    def _within_tolerance(self) -> int:
        """The first entry of the path with no more exceptions than allowed."""
        if self.tolerance == 0:
            return len(self.path_.n_trees) - 1
        return int(np.flatnonzero(self._n_promised <= self.tolerance * self.n_points_)[0])

    def _choose(self, i) -> None:
        """Take an entry of the path."""
        path = self.path_
        self.weights_ = path.weights[i]
        self.offset_ = float(path.offset[i]) if self.atol is not None else 0.0
        self.max_difference_ = float(path.max_difference[i]) if self.atol is not None else np.nan
        self.pruned_estimator_ = reweighted(self.estimator_, self.weights_, self.offset_)
        self.n_trees_ = int(path.n_trees[i])
        self.n_leaves_ = int(path.n_leaves[i])
        self.n_exceptions_ = int(path.n_exceptions[i])
        self.fidelity_ = float(path.agreement[i])
        # the bound is for ensembles without exceptions, which the last one of the path alone is
        faithful = i == len(path.n_trees) - 1
        bound = self._bound if faithful and self.tolerance == 0 else 0
        smallest = np.sort(self._leaves_of_tree)
        if self.objective == "leaves":
            self.n_leaves_lower_bound_ = max(int(bound), int(smallest[0]))
            # so many leaves are at least so many trees, if the largest trees have them
            sums = np.cumsum(smallest[::-1])
            self.n_trees_lower_bound_ = 1 + int(np.count_nonzero(sums < bound))
        else:
            self.n_trees_lower_bound_ = max(int(bound), 1)
            self.n_leaves_lower_bound_ = int(smallest[: self.n_trees_lower_bound_].sum())
        kind = self.objective
        optimal = getattr(self, f"n_{kind}_") <= getattr(self, f"n_{kind}_lower_bound_")
        self.status_ = "optimal" if optimal else "feasible"

    def at(self, *, n_trees: int) -> Self:
        """Take an ensemble of `path_` with at most `n_trees` trees, without a new search.

        Parameters
        ----------
        n_trees : int
            Largest number of trees; at least the fewest on the path.

        Returns
        -------
        FaithfulPruner
            A fitted copy: the ensemble with the most trees within `n_trees`, with its weights,
            exceptions and agreement.
        """
        check_is_fitted(self)
        fits = np.flatnonzero(self.path_.n_trees <= n_trees)
        if not fits.size:
            raise ValueError(
                f"n_trees={n_trees} is less than the {self.path_.n_trees[0]} trees of the smallest "
                "ensemble on path_. Ask for that many or more."
            )
        other = copy.copy(self)
        other._choose(int(fits[-1]))
        return other

    # ------------------------------------------------------------------ use

    def _rows(self, X) -> Any:
        checked = validate_data(
            self,
            self._table.encode(X),
            reset=False,
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan" if self._takes_missing else True,
        )
        return Rows.checked(X, checked).given if self._table.is_plain else X

    def get_depth(self) -> int:
        """Depth of the deepest tree kept.

        Returns
        -------
        int
            0 if it has a single leaf.
        """
        check_is_fitted(self)
        return depth_of(self.pruned_estimator_)

    def get_n_leaves(self) -> int:
        """Number of leaves of the trees kept.

        Returns
        -------
        int
            All trees together.
        """
        check_is_fitted(self)
        return self.n_leaves_

    def covers(self, X: ArrayLike) -> np.ndarray:
        """Which rows the promise reaches.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of bool, shape (n_samples,)
            Whether the answer to a row is promised: the row is inside the domain and, with
            `max_changes`, in a cell that differs from that of a training row in at most so many
            features. Values between the same thresholds of the ensemble count as equal.

        Notes
        -----
        Two kinds of rows are never covered: rows that get another answer once they are rounded to
        float32 (see the Notes of the class); and, for a pipeline that answers float32 and float64
        rows differently, rows of another type than those in ``fit``.
        """
        given = X
        X, covered = promised_rows(self, X, self._axes.row_dtype)
        if self.max_changes is not None:
            covered &= within(self._axes.encode_rows(X).T, self._cells, self.max_changes)
        if self._finer_axes is not None:
            both = self.estimator_, self.pruned_estimator_
            asked = [Model.of(model, rows=self._table, check=False) for model in both]
            covered = unmoved_by_rounding(self, self._finer_axes, asked, given, covered)
        return covered

    @limited
    def verify(
        self, X: ArrayLike | None = None, *, time_limit: float | None = None
    ) -> Verification:
        """Prove that the pruned ensemble keeps the promise.

        The proof is that of :func:`verify`. It does not use what the search found. It reads both
        ensembles again, and asks their own ``predict`` wherever rounding could decide. Search and
        proof share the code that reads ensembles, walks along lines and bounds votes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or None, default=None
            Rows near which the promise is checked. None: the promised training rows, or one
            row in each of their cells; without `max_changes`, every input.
        time_limit : float or None, default=None
            Seconds; None: no limit.

        Returns
        -------
        Verification
            True in a condition if proven; otherwise False, with a row on which the two differ if
            one was found.
        """
        check_is_fitted(self)
        prove = partial(
            verify,
            self.estimator_,
            self,
            domain=with_missing(self.domain, self._missing_by_default),
            atol=self.atol_,
            time_limit=time_limit,
        )
        if X is not None and self.max_changes is not None:
            return prove(X=X, max_changes=self.max_changes)
        finer = self._finer_rows
        if self.max_changes is None:
            if len(finer):
                # the proof is about cells, which these rows are finer than: they are asked first
                of_rows = prove(X=self._table.shown(finer), max_changes=0)
                if not of_rows:
                    return of_rows
            return prove()
        axes, domain = self._axes, self._inside
        rows = axes.points(self._cells) if domain is None else domain.points(axes, self._cells)
        # in their own type, in which an end of the domain is rounded as they are
        rows = rows.astype(axes.row_dtype)
        if self._finer_axes is not None:
            rows = np.concatenate([rows.astype(finer.dtype), finer])
        return prove(X=self._table.shown(rows), max_changes=self.max_changes)
