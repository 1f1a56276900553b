"""FeatureBudgetPruner: prune an ensemble so that predictions buy fewer features."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils import Bunch, check_random_state, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from ensemble_simplify.base import (
    Fittable,
    Interval,
    Options,
    PrunesItsEstimator,
    StrOptions,
    check_weights,
    checked_rows,
    class_index,
    comes_fitted,
    fit_context,
    fit_or_unwrap,
    report,
    share_in_words,
    warn,
    warn_out_of_time,
)
from ensemble_simplify.feature_budget._case import (
    PruningCase,
    decide_among,
    fetch_along_paths,
    has_held_out_rows,
    importance_ranking,
    state_case,
    voting_trees,
    write_pruned,
)
from ensemble_simplify.feature_budget._entry import Entry, check_prunable, last_step
from ensemble_simplify.feature_budget._prices import Prices
from ensemble_simplify.feature_budget.pruning._budget_path import find_path
from ensemble_simplify.feature_budget.pruning._choice import (
    ROUNDING,
    PathSearch,
    ProgramSearch,
    Pruning,
)
from ensemble_simplify.feature_budget.pruning._problem import in_units
from ensemble_simplify.feature_budget.refit._refit import (
    CandidateSearch,
    Contest,
    best_vote,
    judge,
)
from ensemble_simplify.grid import limited, limits, unlimited
from ensemble_simplify.reading import family_of, unwrap

# A budget inside a step of the path this large (share of the unpruned cost) is worth a warning.
_WIDE_STEP = 0.1


class FeatureBudgetPruner(PrunesItsEstimator, BaseEstimator):
    """Prune a forest so that its rows need fewer features, within a budget.

    A row pays for a feature once, when the first split of any tree asks for it. You say with
    `budget` what a row may cost on average. If the ensemble may be fitted, forests on fewer
    features are fitted as well, and the best one is taken on rows that its trees have not seen. If
    it is frozen, some of its splits are turned into leaves.

    See the :ref:`guide <feature_budget>`.

    Parameters
    ----------
    estimator : estimator, FrozenEstimator or None, default=None
        A decision tree, random forest, extra trees or bagging of trees, or a pipeline of scalers,
        encoders and imputers that ends in one. An unfitted one is fitted on the same rows. Pass a
        fitted one as ``FrozenEstimator(fitted)``. None: 40 bagged trees
        (``RandomForestClassifier(40, max_features=None)``), which share features and can
        therefore be pruned far. Without a pipeline, text and categories are given to it as numbers:
        ordered categories in their order, others in that of the mean label of their rows.
    feature_costs : array-like of shape (n_features,), dict or None, default=None
        Price of each column of `X`, whatever a pipeline makes of it. A dict maps column names (or
        indices) to prices, and columns that it does not name cost nothing. None: 1 each.
    groups : dict or None, default=None
        Maps the name of a group to the columns (names or indices) that share a price, as the
        tests of one blood sample do. A row pays the shared price with the first member that it
        uses, besides the feature's own price. A column may be in one group at most.
    group_costs : float, dict or None, default=None
        Price of each group, or one price for all. Needed with `groups`.
    lam : float or None, default=None
        Error that one unit of cost is worth. Not together with `budget`. With neither, only splits
        are pruned that bring no accuracy on the given rows.
    budget : float, str or None, default=None
        Highest mean cost of a row: a number in units of the prices (0.4 is not a share), or a
        share of the unpruned cost, as "60%".
    refit : {"auto", False}, default="auto"
        "auto": if a `budget` is given and the ensemble is not frozen, 30 to 130 other ensembles on
        fewer and fewer features are fitted, and the best one is taken (see Notes). False: only the
        ensemble as given is pruned. The same holds with other solvers than "min_cut", and with
        ``sharing="tree"``.
    time_limit : float or None, default=None
        Seconds for the search. When they are over, the best pruning so far is returned, with its
        bound.
    n_jobs : int or None, default=None
        Number of trees to grow in parallel for `refit`, and to solve in parallel with
        "dantzig_wolfe", as in joblib.
    random_state : int, RandomState instance or None, default=None
        For the ensemble of ``estimator=None``, and for `refit` (None: as the ensemble).

    Attributes
    ----------
    pruned_estimator_ : estimator
        The result: a scikit-learn ensemble of the same type (with `refit`, often a
        ``BaggingClassifier`` on some of the features). For tables it is a pipeline that ends in
        such an ensemble, and takes the same tables. It can be stored alone.
    estimator_ : estimator
        The fitted ensemble before pruning; with `refit`, the one that was chosen.
    cost_ : float
        Mean cost of the given rows in the pruned ensemble.
    unpruned_cost_ : float
        Mean cost of the given rows in the ensemble as it was given.
    feature_usage_ : ndarray of shape (n_features,)
        Share of the given rows that use each feature after pruning.
    forest_error_ : float
        Error of the pruned ensemble on the given rows: share of wrong labels, or mean squared
        error.
    error_ : float
        Mean error of the single pruned trees on the given rows, which is what pruning minimises.
    unpruned_error_ : float
        The same for the ensemble as it was given.
    error_bound_ : float
        Lower bound for `error_`: every pruning of `estimator_` within `budget` (with `lam`: of at
        most the cost `cost_`) has a mean error of the trees of at least this much.
    is_budget_optimal_ : bool
        Whether `error_` equals that bound.
    status_ : {"optimal", "feasible"}
        "optimal": no pruning within the budget has a lower `error_` or, with `lam`, no pruning has
        a lower ``error + lam * cost``. "feasible": this is not proven, because the budget lies
        between two prunings of the path, or because `time_limit` ended the search.
    budget_ : float or None
        `budget` as a mean cost of a row.
    lam_ : float
        Price level from which on the pruning is optimal. Between two prunings of the path, the
        slope between them.
    voting_trees_ : ndarray of int
        The trees of `estimator_` that are in `pruned_estimator_`; see `drop_trees`.
    path_ : Bunch
        All optimal prunings: `lams`, `costs`, `errors`, `n_splits` and `n_features`.
        Not with other solvers than "min_cut", which follow the path only as far as needed.
    candidates_ : Bunch or None
        With `refit`: ``names`` of the ensembles (the first is the given one) and the ``features``
        of each. For each ensemble there is an array over its prunings of ``costs`` of the rows,
        and of ``errors`` of the vote on rows that its trees were neither grown nor pruned on.
        ``envelope`` holds the lowest errors for their cost: ``costs``, ``errors``, ``candidates``.
    candidate_ : int or None
        With `refit`: which of the candidates was chosen.
    classes_ : ndarray of shape (n_classes,)
        Class labels, for classifiers.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen in `fit`; defined only if all are strings.

    Other Parameters
    ----------------
    sharing : {"ensemble", "tree"}, default="ensemble"
        "ensemble": what a row has bought is free for all trees. "tree": each tree is pruned as if
        it were alone, for comparison.
    solver : {"min_cut", "highs", "highs_printed", "dantzig_wolfe"}, default="min_cut"
        "min_cut" finds all prunings at once, by parametric minimum cut. The others solve linear
        programs by HiGHS, one for each price level, and give the same answer; use them to check or
        to learn. "highs": the difference constraints p_child <= p_parent, p <= w;
        "highs_printed": (IP3) of the paper as printed; "dantzig_wolfe": its decomposition by
        trees, in parallel through joblib.
    loss : {"auto", "error", "gini", "log_loss", "squared_error"}, default="auto"
        Error of a leaf. "error": wrong labels; "gini": Brier score of its probabilities;
        "log_loss"; "squared_error" for regression. "auto": "error" or "squared_error".
    labels : {"tree", "sample"}, default="tree"
        "tree": nodes keep the values the ensemble gave them. "sample": values are those of the
        rows given to `fit`, as in the paper, and `pruned_estimator_` has these values.
    errors : {"given", "oob"}, default="given"
        "given": each tree is judged on all rows of `fit`. "oob": on the rows that it was not grown
        on; then pass `fit` the rows that the ensemble was fitted on.
    drop_trees : bool, default=True
        Whether trees that have lost all their splits are left out of the vote, unless all have:
        they would answer the same for every row. In `error_` they count as constants.
    ties : {"keep", "prune"}, default="keep"
        What to do with splits that change neither error nor cost: keep them for their finer
        probabilities, or prune them for smaller trees. Splits that no row reaches are among them.
    fill : {"vertex", "theta", "mip"}, default="theta"
        What to do with a `budget` that lies between two prunings of the path.

        - "vertex": take the next cheaper pruning on the path.
        - "theta": look for better ones, by interpolating prices between shared and separate, and
          by leaving out whole features or trees. The first trees, and the most important features,
          as many as fit, are among what it finds. It takes the pruning that votes best, if there
          are rows that the trees have not seen, else the one of lowest `error_`.
        - "mip": from the lowest error, continue with integer programming (HiGHS) until optimal or
          out of time.

        With ``sharing="tree"`` the path is taken as it is, and "mip" is refused.
    verbose : int, default=0
        If positive, progress is printed.

    See Also
    --------
    BudgetForestClassifier : Grows trees with feature costs in mind.
    BudgetPathDisplay : Draws error against cost.

    Notes
    -----
    For one `lam`, a pruning is found that exactly minimises ::

        mean error of the trees + lam * mean cost of a row

    With a `budget`, the best pruning that is found within it is taken, with a bound on the error of
    all others.

    *Refit.* Forests, bagged trees, extra trees and trees of the kind that the ensemble holds are
    fitted on smaller and smaller sets of features, and :class:`BudgetForestClassifier` with shared
    purchases. Features with the least gain for their price are left out first, groups at once. At
    the same prices, L1 penalties choose further sets. One set fills the budget. All ensembles are
    bootstrapped, tried with a quarter of their trees (at least 25), grown in full if they are among
    the best for some budget, and pruned along their whole path by out-of-bag errors. (An ensemble
    without bootstrapping is judged by cross-validation.) Of the prunings within the budget whose
    out-of-bag votes are less than a standard error behind the best, the one that costs most is
    taken: the features were chosen on the same rows, which flatters small sets. With more than a
    million rows times trees, 5 to 40 ensembles are tried, of trees of the given kind.

    *Memory.* So that :meth:`at` need not fit again, the fitted pruner keeps four bytes for each row
    of `fit` in each tree, and up to four more for each feature that the row uses there (40 trees,
    20,000 rows: 30 MB). With `refit` the rows themselves and the candidate ensembles are kept as
    well.

    References
    ----------
    .. [1] F. Nan, J. Wang and V. Saligrama, "Optimally pruning decision tree ensembles with
       feature cost", 2016. https://doi.org/10.48550/arXiv.1601.00955

    Examples
    --------
    A forest that asks an average row for 2 of 30 features:

    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from ensemble_simplify import FeatureBudgetPruner
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X, X_new, y, y_new = X[::2], X[1::2], y[::2], y[1::2]
    >>> pruner = FeatureBudgetPruner(RandomForestClassifier(10, random_state=0), budget=2.0)
    >>> pruner = pruner.fit(X, y)
    >>> print(f"{pruner.feature_cost(X_new).mean():.1f} features, {pruner.score(X_new, y_new):.3f}")
    2.0 features, 0.923

    A forest that must stay as it is, pruned to 40 % of its cost:

    >>> from sklearn.frozen import FrozenEstimator
    >>> forest = RandomForestClassifier(10, max_features=None, random_state=0).fit(X, y)
    >>> given = FeatureBudgetPruner(FrozenEstimator(forest), budget="40%").fit(X, y)
    >>> print(f"{given.unpruned_cost_:.1f} -> {given.cost_:.1f} features per row")
    11.0 -> 3.4 features per row
    """

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [Fittable(), None],
        "feature_costs": ["array-like", dict, None],
        "groups": [dict, None],
        "group_costs": [Interval(Real, 0, None, closed="left"), dict, None],
        "lam": [Interval(Real, 0, None, closed="left"), None],
        "budget": [Interval(Real, 0, None, closed="left"), str, None],
        "sharing": [StrOptions({"ensemble", "tree"})],
        "solver": [StrOptions({"min_cut", "highs", "highs_printed", "dantzig_wolfe"})],
        "loss": [StrOptions({"auto", "error", "gini", "log_loss", "squared_error"})],
        "labels": [StrOptions({"tree", "sample"})],
        "errors": [StrOptions({"given", "oob"})],
        "drop_trees": ["boolean"],
        "ties": [StrOptions({"keep", "prune"})],
        "fill": [StrOptions({"vertex", "theta", "mip"})],
        "refit": [StrOptions({"auto"}), Options(bool, {False})],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        feature_costs: ArrayLike | dict | None = None,
        groups: dict | None = None,
        group_costs: float | dict | None = None,
        lam: float | None = None,
        budget: float | str | None = None,
        sharing: str = "ensemble",
        solver: str = "min_cut",
        loss: str = "auto",
        labels: str = "tree",
        errors: str = "given",
        drop_trees: bool = True,
        ties: str = "keep",
        fill: str = "theta",
        refit: str | bool = "auto",
        time_limit: float | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.estimator = estimator
        self.feature_costs = feature_costs
        self.groups = groups
        self.group_costs = group_costs
        self.lam = lam
        self.budget = budget
        self.sharing = sharing
        self.solver = solver
        self.loss = loss
        self.labels = labels
        self.errors = errors
        self.drop_trees = drop_trees
        self.ties = ties
        self.fill = fill
        self.refit = refit
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    # Fitting.

    @fit_context(prefer_skip_nested_validation=False)
    @limited
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the ensemble if it is not frozen, and prune it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows on which errors and costs are counted: an array, or a data frame, in which columns
            may hold text or categories and entries may be missing. The ensemble is fitted on them,
            too, unless it is frozen.
        y : array-like of shape (n_samples,)
            Labels, or target values.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the rows in errors and costs, and in fitting the ensemble.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        self._check_options()
        regression = self._is_of_values
        rows, y = checked_rows(self, X, y, dtype=np.float64, regression=regression)
        X = rows.given
        if not regression:
            check_classification_targets(y)
        # In units of their own, weights as small as 1e-300 count as any others.
        _, weight = in_units(check_weights(sample_weight, X))
        names = getattr(self, "feature_names_in_", None)
        self._prices = Prices.read(
            self.feature_costs, self.groups, self.group_costs, X.shape[1], names
        )
        default = RandomForestClassifier(40, max_features=None, random_state=self.random_state)
        # An estimator of this package is pruned as the ensemble that it wraps.
        fitted = fit_or_unwrap(self.estimator, X, y, sample_weight, default=default)
        entry = Entry.of(fitted, X)
        numbers = entry.numbers(rows)
        known = y, weight, self.errors
        self._take(self._state(entry.ensemble, numbers, *known, source=entry.source), entry)
        self._describe()
        self._contest = self.candidates_ = self.candidate_ = None
        if self._may_refit():
            X = X if rows.numbers is None else rows.numbers
            self._fit_candidates(numbers, X, y, sample_weight, weight)
        self._prune()
        return self

    def _may_refit(self) -> bool:
        """Whether other ensembles than that of the user are fitted."""
        return (
            self.refit == "auto"
            and self.budget is not None
            and not comes_fitted(last_step(self.estimator))
            and not family_of(last_step(self.estimator)).inside
            and self.solver == "min_cut"
            and self.sharing == "ensemble"
        )

    def _fit_candidates(self, numbers, X, y, sample_weight, weight) -> None:
        """Fit ensembles with the prices in mind, and judge all their prunings.

        `numbers` are the rows X as the trees of the given ensemble split them, `weight` is
        `sample_weight` as errors and costs count it.
        """
        case, entry = self._case, self._entry
        complete = not get_tags(case.estimator).input_tags.allow_nan
        codes = entry.codes_for(X, y, sample_weight, complete=complete)
        X = X if codes is None else codes.transform(X)
        self._contest = Contest(case, entry, codes, X, y, weight)
        unfitted = case.estimator if self.estimator is None else last_step(self.estimator)
        random = self.random_state
        if random is None:
            random = getattr(unfitted, "random_state", None)
        # Bagging draws as many rows as the weights add up to.
        for_fits = None if sample_weight is None else weight / weight.mean()
        seed = check_random_state(random).randint(np.iinfo(np.int32).max)
        search = CandidateSearch(self, self._contest, for_fits, seed)
        self._contest.judged = search.run(unfitted, numbers)
        if not search.is_complete:
            warn_out_of_time(
                f"time_limit={self.time_limit} seconds were over after "
                f"{len(self._contest.judged)} ensembles had been fitted. Raise time_limit to have "
                "all of them fitted, or set refit=False."
            )
        self.candidates_ = self._contest.described()

    def _state(self, estimator, X, y, weight, errors, **known) -> PruningCase:
        """State the pruning of an ensemble on some rows."""
        return state_case(self, estimator, X, y, weight, errors, **known)

    def _take(self, case, entry) -> None:
        """Prune this ensemble from now on."""
        self._case, self._entry = case, entry
        self.estimator_ = entry.whole
        self._forest, self._problem, self._path = case.forest, case.problem, case.path
        if case.forest.classes is not None:
            self.classes_ = case.forest.classes
        self.__dict__.pop("path_", None)  # of another ensemble
        if case.path is not None:
            self.path_ = case.described_path(self.ties)

    def _describe(self) -> None:
        """Cost and error of the ensemble as it was, which budgets are shares of."""
        everything = self._problem.split
        self.unpruned_cost_ = self._problem.unpruned_cost
        self.unpruned_error_ = self._problem.loss(everything)
        report(
            self,
            f"{self._forest.n_trees} trees with {np.count_nonzero(everything)} splits read: cost "
            f"{self.unpruned_cost_:.6g} a row, error {self.unpruned_error_:.6g}",
        )
        if self._path is not None:
            report(self, f"path of {len(self.path_.lams)} prunings")

    def _check_options(self) -> None:
        """Refuse what contradicts itself, before anything is fitted."""
        if self.lam is not None and self.budget is not None:
            raise ValueError(
                f"lam={self.lam} and budget={self.budget} were both given. Give one of them."
            )
        if self.fill == "mip" and self.sharing == "tree":
            raise ValueError(
                "fill='mip' needs trees that share what they buy, but sharing='tree' was given. "
                "Use sharing='ensemble', or another fill."
            )
        if isinstance(self.budget, str):
            self._read_share()
        check_prunable(self.estimator)

    def _read_share(self) -> float:
        """`budget`, given as a percentage, as a share of the unpruned cost."""
        share = share_in_words(self.budget)
        if share is None:
            raise ValueError(
                f"budget={self.budget!r} is not a budget. Give a number, or a share of the "
                "unpruned cost such as '60%'."
            )
        return share

    # Choosing a pruning.

    def _prune(self) -> None:
        """Choose a pruning for `lam` or `budget`, and set all that depends on it."""
        budget = self.budget_ = self._budget_in_cost()
        if budget is None:
            pruning = self._search().at_price(0.0 if self.lam is None else float(self.lam))
        elif self._contest is None:
            pruning = self._search().within(budget)
        else:
            pruning = self._best_candidate(budget)
        self._set_pruning(pruning)
        report(
            self,
            f"cost {self.cost_:.6g} a row, error {self.error_:.6g} (no lower than "
            f"{self.error_bound_:.6g}), {self.status_}",
        )
        if not pruning.is_complete:
            warn_out_of_time(
                f"time_limit={self.time_limit} seconds were over before the search was complete. "
                f"error_={self.error_:.6g} is at most {self.error_ - self.error_bound_:.3g} above "
                "that of the best pruning. Raise time_limit to close the gap."
            )
        self._warn_of_step(pruning, budget)

    def _best_candidate(self, budget) -> Pruning:
        """The pruning within a budget that does best on rows that its trees were not grown on."""
        contest = self._contest
        # A budget inside a wide step of the given ensemble's path may allow a better pruning than
        # those on the path. The paths of the other ensembles are not filled in this way.
        filled = self._filled(budget)
        i, k, lowest = contest.winner(budget)
        is_better = filled is not None and filled[1] < lowest
        if is_better:
            i = 0
        winner = contest.judged[i]
        if winner.estimator is not self._case.estimator:
            # Its path is needed whole: `k` is a number on it.
            with unlimited():
                self._take(*contest.entrant(i, self._state))
        self.candidate_ = i
        report(self, f"{winner.name} on {len(winner.features)} features")
        return filled[0] if is_better else self._search().on_path(k, budget)

    def _filled(self, budget) -> tuple[Pruning, float] | None:
        """The pruning of the given ensemble within a budget, and its out-of-bag score."""
        case = self._contest.own
        # Out-of-bag errors judge only what was not pruned by them.
        judges = self.errors == "given" and has_held_out_rows(case.estimator)
        if self.fill == "vertex" or not judges:
            return None
        pruning = self._search(case).within(budget)
        judged = judge(case, [pruning.keep], self._contest.weight, drop=self.drop_trees)
        return pruning, judged.scores[0]

    def _search(self, case=None) -> PathSearch | ProgramSearch:
        case = self._case if case is None else case
        choose = partial(best_vote, case, drop=self.drop_trees)
        search = ProgramSearch if case.path is None else PathSearch
        return search(self, case, choose, [partial(importance_ranking, case)])

    def _budget_in_cost(self) -> Any:
        """`budget` in units of cost; None without one."""
        if isinstance(self.budget, str):
            return self._read_share() * self.unpruned_cost_
        if self.budget is not None and 0 < self.budget < 1 <= self.unpruned_cost_:
            warn(
                f"budget={self.budget} is a mean cost of {self.budget} units a row, and the "
                f"unpruned ensemble costs {self.unpruned_cost_:.6g}. For a share of that, write "
                f"budget='{100 * self.budget:g}%'."
            )
        return self.budget

    def _warn_of_step(self, pruning, budget) -> None:
        if pruning.step is None or pruning.is_budget_optimal:
            return
        high, low = pruning.step
        if high - low > _WIDE_STEP * self.unpruned_cost_:
            warn(
                f"budget={budget:.6g} lies between two optimal prunings, of cost {high:.6g} and "
                f"{low:.6g}. The best pruning found for it costs {pruning.cost:.6g} a row, with a "
                f"mean error of the trees of {pruning.error:.6g}; within the budget this error "
                f"cannot be below {pruning.error_bound:.6g}. To come closer, use trees that choose "
                "from all features (bagging, max_features=None), or fill='mip'."
            )

    def _set_pruning(self, pruning) -> None:
        self._pruning = pruning
        self.lam_ = pruning.lam
        self.cost_ = pruning.cost
        self.error_ = pruning.error
        self.error_bound_ = pruning.error_bound
        self.is_budget_optimal_ = pruning.is_budget_optimal
        self.status_ = "optimal" if pruning.is_optimal else "feasible"
        problem, weight = self._problem, self._problem.weight
        leaf = problem.leaf
        stop = problem.stops(pruning.keep)
        self.voting_trees_ = voting_trees(self._forest, pruning.keep, drop=self.drop_trees)
        loss = self._case.row_losses(
            pruning.keep, stop[leaf], self._case.target, drop=self.drop_trees
        )
        self.forest_error_ = float(np.average(loss, weights=weight))
        self.feature_usage_ = problem.usage(pruning.keep)
        pruned = write_pruned(
            self._case.estimator,
            self._forest,
            pruning.keep,
            self.voting_trees_,
            own_values=self.labels == "tree",
        )
        self.pruned_estimator_ = self._entry.around(pruned)

    # After fitting.

    @limited
    def at(self, *, lam: float | None = None, budget: float | str | None = None) -> Self:
        """Take the pruning for another budget or price level, without fitting anything again.

        Parameters
        ----------
        lam : float or None
            Error that one unit of cost is worth.
        budget : float, str or None
            Highest mean cost of a row, or a share of the unpruned cost, as "60%".

        Returns
        -------
        FeatureBudgetPruner
            A fitted copy.
        """
        check_is_fitted(self, "pruned_estimator_")
        other = copy(self)
        other.set_params(lam=lam, budget=budget)
        other._validate_params()
        other._check_options()
        other._prune()
        return other

    def pruning_path(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Bunch:
        """Compute all optimal prunings of an ensemble, from lowest error to no cost.

        Fits a clone of this estimator; `lam` and `budget` are not used.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels, or target values.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Non-negative weights of the rows.

        Returns
        -------
        path : Bunch
            ``lams``, ``costs``, ``errors``, ``n_splits`` and ``n_features``: arrays with one
            entry per pruning. Pruning `k` is optimal for `lam` from ``lams[k]`` to
            ``lams[k + 1]``.
        """
        pruner = clone(self).set_params(lam=None, budget=None, solver="min_cut")
        return pruner.fit(X, y, sample_weight).path_

    def path_scores(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        sharing: str | None = None,
    ) -> Bunch:
        """Measure error and cost on other rows for every pruning on the path.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels, or target values.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Non-negative weights of the rows.
        sharing : {"ensemble", "tree"} or None, default=None
            Which path to follow; None: that of this estimator. Costs are always those of a row
            that pays once for all trees.

        Returns
        -------
        scores : Bunch
            ``lams``; ``errors`` of the pruned ensembles (shares of wrong labels, or mean squared
            errors) and their ``standard_errors``; ``costs``, mean costs of a row;
            ``costs_by_name``, the part of them that goes to each feature and each group that has
            a price; ``unpruned_error`` and ``unpruned_cost``.
        """
        check_is_fitted(self, "pruned_estimator_")
        problem, path = self._problem, self._path
        shared = (self.sharing if sharing is None else sharing) == "ensemble"
        if path is None or shared != path.shared:
            with limits(self.time_limit):
                path = find_path(problem, shared=shared)
        rows, y = self._checked(X, y)
        weight = check_weights(sample_weight, rows.given)
        target = y if self._forest.classes is None else class_index(y, self.classes_)
        leaf = self._forest.apply(self._entry.numbers(rows))
        case = replace(self._case, path=path)
        return case.path_scores(
            leaf, target, weight, self._prices, ties=self.ties, drop=self.drop_trees
        )

    def select(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        max_loss: float = 0.01,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Take the cheapest pruning that loses at most `max_loss` on validation rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows that the ensemble was not fitted on.
        y : array-like of shape (n_samples,)
            Labels, or target values.
        max_loss : float, default=0.01
            Highest rise of the ensemble's error that is tolerated. It is counted from the pruning
            at ``lam -> 0`` or from the unpruned ensemble, whichever has the lower error.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Non-negative weights of the rows.

        Returns
        -------
        FeatureBudgetPruner
            A fitted copy at that pruning.
        """
        scores = self.path_scores(X, y, sample_weight)
        allowed = min(scores.unpruned_error, scores.errors[0]) + max_loss
        # Errors are sums of floats: equal ones may differ in the last bits.
        slack = ROUNDING * scores.errors.max()
        good = np.flatnonzero(scores.errors <= allowed + slack)
        return self.at(lam=float(scores.lams[good[np.argmin(scores.costs[good])]]))

    def acquired_features(self, X: ArrayLike) -> np.ndarray:
        """Tell which features the pruned ensemble uses for each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of bool, shape (n_samples, n_features)
            True where the row uses the feature.
        """
        check_is_fitted(self, "pruned_estimator_")
        leaf = self._forest.apply(self._entry.numbers(self._checked(X)[0]))
        return self._problem.acquired(leaf, self._pruning.keep)

    def feature_cost(self, X: ArrayLike) -> np.ndarray:
        """Compute what the pruned ensemble pays for each row, groups included.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of float64, shape (n_samples,)
            Cost of each row.
        """
        return self._prices.paid(self.acquired_features(X))

    def predict_lazy(self, fetch: Callable, n_samples: int = 1) -> Bunch:
        """Predict rows whose features are fetched only when a split asks for them.

        Parameters
        ----------
        fetch : callable
            ``fetch(feature, rows)`` returns the values of one feature (its name if the pruner was
            fitted on a DataFrame, else its index) for the rows with these indices: numbers, levels
            where the column holds such, or NaN or None where a value is missing, which is paid for
            all the same. It is called at most once for each row and feature.
        n_samples : int, default=1
            Number of rows.

        Returns
        -------
        result : Bunch
            ``prediction`` of shape (n_samples,), the same as `predict`; ``acquired``, bool of
            shape (n_samples, n_features); ``cost`` of shape (n_samples,).
        """
        check_is_fitted(self, "pruned_estimator_")
        names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
        node, known = fetch_along_paths(
            self._forest, self._pruning.keep, fetch, names, n_samples, self._entry
        )
        answer = decide_among(self._forest, self.voting_trees_, node)
        if self._forest.classes is not None:
            answer = self.classes_[answer]
        return Bunch(prediction=answer, acquired=known, cost=self._prices.paid(known))

    @property
    def _has_proba(self):
        estimator = getattr(self, "pruned_estimator_", None)
        if estimator is None:
            estimator = unwrap(self.estimator)
        return estimator is None or hasattr(estimator, "predict_proba")

    def _rows(self, X) -> Any:
        return self._checked(X)[0].given

    def _checked(self, X, *y) -> tuple:
        """Rows like those of the fit, and with labels, both; tables stay as they are."""
        regression = self._forest.classes is None
        return checked_rows(self, X, *y, dtype=np.float64, regression=regression, reset=False)
