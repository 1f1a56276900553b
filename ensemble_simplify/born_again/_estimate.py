"""How large will the born-again tree be, and what will it take? Before any work."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ensemble_simplify.base import (
    Interval,
    StrOptions,
    absolute_tolerance,
    available_memory,
    check_atol,
    check_column_names,
    validate_params,
)
from ensemble_simplify.born_again._promises import count_in_words, leaves_near
from ensemble_simplify.born_again.everywhere._grid import Tolerance
from ensemble_simplify.born_again.everywhere._planner import (
    MAX_LEAVES,
    REFUSED_LEAVES,
    duration,
    forecast,
    read_problem,
)
from ensemble_simplify.grid import (
    Domain,
    Stopped,
    at_least,
    distinct_rows,
    is_late,
    limited,
    limits,
    time_left,
)
from ensemble_simplify.reading import Model, unwrap

LEAST_SECONDS = 0.05  # That a forecast gets if the time limit came before it.
NEAR = (1, 0)  # Numbers of changes for which trees near rows are forecast.
NEAR_SHARE = 0.25  # Share of the time left that each of them gets.
OUT_OF_REACH = 1e8  # Seconds of a search, three years, beyond which no figure helps.
READABLE = 100  # Leaves beyond which a tree is no longer something to read.


@dataclass(frozen=True, eq=False)
class Estimate:
    """Forecast of a born-again tree, as :func:`estimate` returns it.

    Attributes
    ----------
    n_trees : int
        Trees of the ensemble.
    n_cells : float
        Cells on which the ensemble is constant. Cells with the answer of a neighbour are not
        counted, if there was time to look at all of them. Infinity from about 1.8e308 on.
    n_regions : float
        Boxes of these cells; likewise.
    n_bytes : float
        Memory of the exact search.
    seconds : float
        Time of the exact search on a processor of the 2020s.
    n_leaves : float
        Estimated leaves of a tree that answers as the ensemble at every input, or within `atol`.
    n_leaves_lower_bound : int
        No such tree has fewer.
    n_occupied : int or None
        Cells that hold rows of `X`; None without rows, or if the time limit came first.
    exact : bool
        Whether the exact search fits into memory and an hour.
    advice : list of str
        What ``fit`` will do, and what would help.
    atol : float or None
        How far from the ensemble's numbers the tree may be; None: the tree keeps classes.
    n_leaves_near : dict or None
        For ``max_changes`` of 1 and of 0, the leaves of a tree that was found quickly for the rows
        `X`, or None where that would take too long. ``fit`` finds smaller trees. None without
        rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from ensemble_simplify import estimate
    >>> forest = RandomForestClassifier(n_estimators=5, max_depth=2, random_state=0)
    >>> forecast = estimate(forest.fit(*load_iris(return_X_y=True)))
    >>> forecast.exact, forecast.n_leaves_lower_bound
    (True, 17)
    """

    n_trees: int
    n_cells: float
    n_regions: float
    n_bytes: float
    seconds: float
    n_leaves: float
    n_leaves_lower_bound: int
    n_occupied: int | None
    exact: bool
    advice: list
    atol: float | None = None
    n_leaves_near: dict | None = None

    def __repr__(self):
        within = "" if self.atol is None else f" within {self.atol:.4g}"
        cells, regions = count_in_words(self.n_cells), count_in_words(self.n_regions)
        lines = [
            f"{self.n_trees} trees, {cells} cells, {regions} regions",
            f"exact search: {_effort(self.n_bytes, self.seconds)}",
            f"leaves{within}: about {count_in_words(self.n_leaves)}, at least "
            f"{self.n_leaves_lower_bound:,}",
        ]
        if self.n_occupied is not None:
            lines.append(f"cells with rows of X: {self.n_occupied:,}")
        for max_changes, n_leaves in (self.n_leaves_near or {}).items():
            if n_leaves is not None:
                lines.append(f"leaves with max_changes={max_changes}: {n_leaves:,} or fewer")
        return "\n".join([*lines, *self.advice])


@validate_params(
    {
        "X": ["array-like", None],
        "atol": [Interval(Real, 0, None, closed="left"), str, None],
        "objective": [StrOptions({"depth", "leaves", "depth_then_leaves"})],
        "voting": [StrOptions({"estimator", "hard"})],
        "domain": [Domain, dict, None],
        "merge_thresholds": ["boolean"],
        "max_memory": [Interval(Real, 0, None, closed="neither"), None],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
    }
)
@limited
def estimate(
    estimator: Any,
    X: ArrayLike | None = None,
    *,
    atol: float | str | None = None,
    objective: str = "depth_then_leaves",
    voting: str = "estimator",
    domain: Domain | dict | None = None,
    merge_thresholds: bool = False,
    max_memory: float | None = None,
    time_limit: float | None = None,
    random_state: int | np.random.RandomState | None = 0,
) -> Estimate:
    """Forecast how large the born-again tree of an ensemble is, and what it costs to find it.

    Ask this before :class:`BornAgainClassifier` or :class:`BornAgainRegressor` if the ensemble is
    large.

    Parameters
    ----------
    estimator : fitted ensemble
        As for :class:`BornAgainClassifier` or :class:`BornAgainRegressor`, fitted, with or without
        ``FrozenEstimator``.
    X : array-like of shape (n_samples, n_features) or None, default=None
        Rows. With them, the forecast includes the leaves of trees near these rows (`max_changes`).
        Needed for `merge_thresholds`, and where `atol` is a share.
    atol : float, str or None, default=None
        As for :class:`BornAgainRegressor`, where it is a share of the standard deviation of the
        answers to the rows `X`, and for :class:`BornAgainClassifier`. None: "10%" for regressors,
        and only the class for classifiers.
    domain : Domain, dict or None, default=None
        As for :class:`BornAgainClassifier`: which inputs can occur.
    time_limit : float or None, default=None
        About how many seconds the forecast may take. None: an effort of about a second, and of
        some more for trees near rows. It is counted in operations, so the result does not depend
        on the speed of the machine.

    Returns
    -------
    Estimate
        Prints as a short report with advice.

    Other Parameters
    ----------------
    objective : {"depth", "leaves", "depth_then_leaves"}, default="depth_then_leaves"
        What is to be smallest.
    voting : {"estimator", "hard"}, default="estimator"
        As for :class:`BornAgainClassifier`.
    merge_thresholds : bool, default=False
        As for :class:`BornAgainClassifier`: whether thresholds are merged as far as the rows `X`
        allow it.
    max_memory : float or None, default=None
        Bytes that the search may use. None: half of what is free.
    random_state : int, RandomState instance or None, default=0
        Seeds the samples.

    Raises
    ------
    ValueError
        If `merge_thresholds` or a share as `atol` needs rows, and there are none.

    See Also
    --------
    BornAgainClassifier : Finds the tree.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from ensemble_simplify import estimate
    >>> X, y = load_wine(return_X_y=True)
    >>> forest = RandomForestClassifier(n_estimators=3, max_depth=2, random_state=0).fit(X, y)
    >>> print(estimate(forest, X))
    3 trees, 144 cells, 2,916 regions
    exact search: about 0.1 MB and 0.01 s
    leaves: about 20, at least 18
    cells with rows of X: 41
    leaves with max_changes=1: 18 or fewer
    leaves with max_changes=0: 9 or fewer
    method='auto' will prove the smallest tree.
    """
    fitted = unwrap(estimator)
    check_is_fitted(fitted)
    model = Model.of(fitted, voting=voting, rows=X)
    forest, table = model.forest, model.table
    given = X
    if X is not None:
        check_column_names([fitted], X)
        X = table.read(X, [np.float64, np.float32])
    tolerance = _tolerance_of(model, atol, given, X)
    if merge_thresholds and forest.classes is None:
        raise ValueError(
            "merge_thresholds=True, but BornAgainRegressor merges no thresholds. Leave it out."
        )
    inside = table.inside(domain, table.may_miss(X))
    if X is not None:
        table.check_inside(inside, X, given)
    elif merge_thresholds:
        raise ValueError(
            "merge_thresholds=True merges thresholds as far as training rows allow it. Give the "
            "rows X, or merge_thresholds=False."
        )
    allowed = available_memory() / 2 if max_memory is None else max_memory
    problem = read_problem(forest, inside, X if merge_thresholds else None, tolerance)
    rng, n_occupied, n_near = check_random_state(random_state), None, None
    seed = rng.randint(1 << 31)
    if X is not None:
        n_near = dict.fromkeys(NEAR)
        with suppress(Stopped):
            cells = problem.axes.encode_rows(X.astype(np.float32)).T
            cells = np.ascontiguousarray(cells[distinct_rows(cells)[0]])
            n_occupied = len(cells)
            for max_changes in NEAR:
                if not is_late():
                    with limits(NEAR_SHARE * time_left()):
                        n_near[max_changes] = leaves_near(problem, cells, max_changes, rng)
    with at_least(LEAST_SECONDS):
        rng = np.random.default_rng(seed)
        seen = forecast(problem, objective, max_bytes=allowed, rng=rng)
    exact = bool(seen["n_bytes"] <= allowed and seen["seconds"] <= 3600)
    return Estimate(
        n_trees=forest.n_trees,
        **seen,
        n_occupied=n_occupied,
        exact=exact,
        advice=_advice(exact, seen["n_leaves"], seen["n_bytes"] > allowed, tolerance),
        atol=None if tolerance is None else tolerance.atol,
        n_leaves_near=n_near,
    )


def _effort(n_bytes, seconds):
    """Memory and time in words, of which nobody needs the digits where they are out of reach."""
    if seconds > OUT_OF_REACH:
        return "out of reach"
    size, unit = (1e9, "GB") if n_bytes >= 1e9 else (1e6, "MB")
    return f"about {max(n_bytes / size, 0.1):,.1f} {unit} and {duration(seconds)}"


def _tolerance_of(model, atol, given, rows):
    """What leaves may answer, given rows as they came and as numbers; None: classes."""
    is_classifier = model.forest.classes is not None
    if atol is None and is_classifier:
        return None
    atol = "10%" if atol is None else atol
    check_atol(atol, given is not None)
    answers = None
    if isinstance(atol, str):
        method = "predict_proba" if is_classifier else "predict"
        answers = model.ask_given(given, rows, method)
    return Tolerance(absolute_tolerance(atol, answers), labelled=is_classifier)


def _advice(exact, n_leaves, is_large, tolerance):
    promise, fewer = "the same answers", "Fewer"
    if tolerance is not None:
        promise, fewer = "answers within the tolerance", "A wider tolerance, fewer"
    advice = []
    if exact:
        advice.append("method='auto' will prove the smallest tree.")
    elif n_leaves > REFUSED_LEAVES:
        advice.append("A tree for every input is out of reach: method='auto' will refuse.")
    else:
        reason = "memory" if is_large else "time"
        advice.append(
            f"The exact search takes too much {reason}. method='auto' will give a tree with "
            f"{promise} that is not proven smallest, with lower bounds. Set time_limit."
        )
        if n_leaves > MAX_LEAVES:
            advice.append(
                f"Trees of more than {MAX_LEAVES:,} leaves are not written out: method='auto' will "
                "probably refuse."
            )
    if not n_leaves <= READABLE:
        advice.append(
            f"The tree will be too large to read. max_changes=1 asks for {promise} near the "
            f"training rows only, and takes far fewer leaves. {fewer} or shallower trees, "
            "or binned features (KBinsDiscretizer), make it smaller, too."
        )
    return advice
