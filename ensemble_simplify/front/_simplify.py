"""Try every method on a fitted model, and compare them on held-out rows."""

from __future__ import annotations

import time
import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.utils import Bunch, check_random_state

from ensemble_simplify.base import (
    HasMethods,
    Interval,
    StrOptions,
    TimeLimitError,
    safe_indexing,
    validate_params,
)
from ensemble_simplify.front._inputs import checked_rows, short, size_of
from ensemble_simplify.front._methods import ALWAYS, METHODS, ModelAndRows, NotTried, title_of
from ensemble_simplify.front._progress import Progress
from ensemble_simplify.front._result import Simplification
from ensemble_simplify.front._rules import tree_of
from ensemble_simplify.front._scores import SCORES, choose, score
from ensemble_simplify.reading import Table, unwrap

# Errors that methods raise by their documentation, or a predictor when it is given synthetic rows.
EXPECTED = (ValueError, ImportError, TimeLimitError, MemoryError, RuntimeError)
# A method that would get fewer seconds is not begun.
LEAST_SECONDS = 0.05
# Part of the time limit that is left for measuring results.
RESERVE = 0.05


@validate_params(
    {
        "model": [HasMethods(["predict"])],
        "X": ["array-like"],
        "y": ["array-like", None],
        "max_leaves": [Interval(Integral, 2, None, closed="left")],
        "methods": [StrOptions({"auto"}), list, tuple],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "feature_costs": ["array-like", dict, None],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    },
    prefer_skip_nested_validation=False,
)
def simplify(
    model: Any,
    X: ArrayLike,
    y: ArrayLike | None = None,
    *,
    max_leaves: int = 8,
    methods: str | list[str] = "auto",
    time_limit: float | None = None,
    feature_costs: ArrayLike | dict | None = None,
    validation_fraction: float = 0.25,
    random_state: int | np.random.RandomState | None = None,
    verbose: int = 0,
) -> Simplification:
    """Try what a fitted model can become, and compare the results.

    The model is asked for its answers to `X`, and never fitted again or changed. Every method that
    goes with it learns these answers from three quarters of the rows, and is compared with the
    model on the others. A plain decision tree is always among them.

    Read more in the :ref:`User Guide <simplify>`.

    Parameters
    ----------
    model : estimator
        Any fitted classifier or regressor, or pipeline that ends in one, with or without
        :class:`~sklearn.frozen.FrozenEstimator`. Methods that read trees need an ensemble as
        described for :class:`BornAgainClassifier`; for others they are listed as not tried.
    X : array-like or data frame of shape (n_rows, n_features)
        Rows as the model takes them; text, categories and missing values are welcome if the model
        takes them. Best are rows on which the model was not fitted: on others it agrees with
        its labels more than it will later. Of more than 50,000 rows or 4 million entries, a
        part is drawn.
    y : array-like of shape (n_rows,) or None, default=None
        True labels or values. None: there is no accuracy, and no tree fitted to them.
    max_leaves : int, default=8
        Leaves that the tree which is recommended may have, and limit of the methods
        that are told one.
    methods : "auto" or list of str, default="auto"
        Methods to try besides the plain trees: "representer", "born_again", "born_again_1",
        "born_again_0", "faithful", "cultivated", "feature_budget" and "genesim". "auto": all that
        go with the model.
    time_limit : float or None, default=None
        Seconds in all. None: every method ends by itself, after an effort that is counted in
        operations, so that the result depends neither on the speed of the machine nor on its
        load; a large model can take minutes. With a limit, methods get a share of what is left,
        one after the other; those that get no turn are listed as not tried. Asking the model and
        fitting plain trees is not limited, and a method may need a second or two to stop.
    feature_costs : array-like of shape (n_features,), dict or None, default=None
        Price of each feature, as for :class:`FeatureBudgetPruner`, which is tried if they are
        given, with half of what the model's features cost.
    validation_fraction : float in (0, 1), default=0.25
        Part of the rows that is held out to measure accuracy and agreement.
    random_state : int, RandomState instance or None, default=None
        Which rows are kept aside, and the methods' own randomness.
    verbose : bool or int, default=0
        If true, progress is shown: as a bar if ``tqdm`` is installed, else as a line on stderr for
        every method that ends.

    Returns
    -------
    simplification : Simplification
        Its ``repr`` and ``report()`` are a table with a recommendation.

    Raises
    ------
    TypeError
        If the model is neither a classifier nor a regressor.
    ValueError
        If there are fewer than eight rows, labels are none that the model gives, or a method is
        not known.

    See Also
    --------
    verify : A proof that two models agree, or a row on which they do not.
    agreement : How often two models agree.

    Notes
    -----
    `best` is a single, ordinary tree of at most `max_leaves` leaves (a cultivated forest, whose
    splits are soft, is none). If the answers of one are proven to be the model's at every input, or
    at least wherever a single feature of a row changes, it is this one. Otherwise, in this order:

    1. It is the representer tree (in regression: the plain tree on the model's answers), because
       its agreement on new rows was the highest on average.
    2. If some tree agrees more than this one by more than one standard error of the difference, it
       is the tree that agrees most. The error is that of the rows on which one of the two alone
       agrees.
    3. If a smaller tree agrees on at least as many rows, of all and of each class, it is that one.
       Since each class counts, a tree that never gives a rare class does not pass for a good one.

    Where a class is rare, with less than 40 % of an even share, the mean of the agreement over
    classes counts in the second step. In regression, agreement is the coefficient of determination,
    and errors and intervals are those of bootstrap samples of the held-out rows. Other intervals
    are those of Clopper and Pearson [1]_.

    If the best tree was chosen for its agreement on the held-out rows, that figure is a little
    too high. It learned from the other rows only: :meth:`Simplification.refit` fits its method to
    all of them.

    References
    ----------
    .. [1] C. J. Clopper, E. S. Pearson (1934). The Use of Confidence or Fiducial Limits
       Illustrated in the Case of the Binomial. Biometrika 26, 404-413.
       https://doi.org/10.1093/biomet/26.4.404

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from ensemble_simplify import simplify
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RandomForestClassifier(n_estimators=10, max_depth=3, random_state=0).fit(X, y)
    >>> outcome = simplify(model, X, y, methods=["representer"], random_state=0)
    >>> outcome.best in ("plain_tree", "plain_tree_on_y", "representer")
    True
    >>> outcome[outcome.best].predict(X[:2])
    array([0, 0])
    """
    begin = time.monotonic()
    model = unwrap(model)
    chosen = _checked_methods(methods)
    X, y, answers, notes = checked_rows(model, X, y, random_state)
    rng = check_random_state(random_state)
    learn, aside = _divided(answers, y, is_classifier(model), validation_fraction, rng)
    table = Table.of_rows(X)
    case = ModelAndRows(
        model=model,
        table=table,
        X=safe_indexing(X, learn),
        y=None if y is None else y[learn],
        answers=answers[learn],
        max_leaves=int(max_leaves),
        feature_costs=feature_costs,
        seed=int(rng.randint(1 << 31)),
    )
    held = Bunch(
        X=safe_indexing(X, aside), y=None if y is None else y[aside], answers=answers[aside]
    )
    rows = [_model_row(case, held)]
    fitted = {"model": model}
    deadline = None if time_limit is None else begin + (1.0 - RESERVE) * time_limit
    lacking = {name: METHODS[name].lacks(case) for name in chosen}
    left = sum(METHODS[name].share for name in chosen if not lacking[name])
    with Progress(verbose, len(chosen)) as progress:
        for name in chosen:
            progress.begin(title_of(name))
            if lacking[name]:
                new, results = [_empty_row(name, f"not tried: {lacking[name]}")], {}
            else:
                share, seconds = METHODS[name].share, None
                if deadline is not None:
                    seconds = max(deadline - time.monotonic(), 0.0) * share / max(left, 1.0)
                    seconds = float(f"{seconds:.3g}")
                new, results = _tried(name, case, held, seconds)
                left -= share
            rows += new
            fitted.update(results)
            progress.end([f"{row.title}: {_line(row)}" for row in new])
    best, reason, more = choose(rows, case.max_leaves, case.is_classifier)
    if y is not None and rows[0].accuracy == 1.0:
        notes.append(
            "The model makes no error on the held-out rows. If it was fitted on them, accuracies "
            "and agreements will be lower on new rows: give rows that it has not seen."
        )
    return Simplification(
        table=rows,
        best=best,
        reason=reason,
        notes=more + notes,
        fitted=fitted,
        max_leaves=case.max_leaves,
        is_classifier=case.is_classifier,
        n_rows=len(learn),
        n_rows_aside=len(aside),
        feature_names=_names(table, model),
        feature_costs=feature_costs,
        seed=case.seed,
        table_of_rows=table,
        seconds=time.monotonic() - begin,
    )


# ------------------------------------------------------------------- checks


def _checked_methods(methods):
    """Names of the methods in the order of their turns."""
    if isinstance(methods, str):
        return list(METHODS)
    unknown = [name for name in methods if name not in METHODS]
    if unknown:
        raise ValueError(
            f"methods has {unknown[0]!r}, which is none. Choose from {', '.join(METHODS)}."
        )
    return [name for name in METHODS if name in ALWAYS or name in methods]


def _divided(answers, y, by_class, fraction, rng):
    """Numbers of the rows to learn from and of those kept aside, alike in classes and answers."""
    order, offset = rng.permutation(len(answers)), rng.random_sample() / fraction
    if by_class:
        keys = [np.unique(answers[order], return_inverse=True)[1]]
        if y is not None:
            keys.append(np.unique(y[order].astype(str), return_inverse=True)[1])
        order = order[np.lexsort(keys)]
    # rows at even distances in the order of the classes
    is_aside = np.diff(np.floor((np.arange(len(order) + 1) + offset) * fraction)) > 0
    if not is_aside.any() or is_aside.all():
        is_aside[0] = not is_aside[0]
    return np.sort(order[~is_aside]), np.sort(order[is_aside])


def _names(table, model):
    names = getattr(model, "feature_names_in_", ()) if table.names is None else table.names
    if len(names) != len(table):
        return [f"x{j}" for j in range(len(table))]
    return [str(name) for name in names]


# ------------------------------------------------------------------- trying


def _tried(name, case, held, seconds):
    """Rows of the table for one method, and what it found by name."""
    begin = time.monotonic()
    if name not in ALWAYS and seconds is not None and seconds < LEAST_SECONDS:
        return [_empty_row(name, "not tried: time_limit was used up")], {}
    row = _empty_row(name)
    rows, results, told = [], {}, []
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = METHODS[name].attempt(case, seconds)
            for result in found:
                rows.append(_measured(result, case, held, time.monotonic() - begin))
                results[result.name] = result.fitted
    except NotTried as reason:
        row.note = f"not tried: {reason}"
    except TypeError as error:  # the model is of a kind that the method does not take
        row.note = f"not tried: {short(error)}"
    except EXPECTED as error:
        row.note = f"failed: {short(error)}"
    if len(rows) == 0:
        row.seconds = time.monotonic() - begin
        return [row], {}
    said = [str(w.message) for w in told if issubclass(w.category, UserWarning)]
    for measured in rows:
        measured.note = measured.note or (short(said[0]) if said else "")
    return rows, results


def _empty_row(name, note=""):
    return Bunch(
        name=name,
        title=title_of(name),
        leaves=None,
        trees=None,
        **dict.fromkeys(SCORES, np.nan),
        class_agreement={},
        class_rows={},
        promise="",
        is_proven=False,
        is_tree=False,
        is_measured=False,
        seconds=0.0,
        note=note,
    )


def _measured(result, case, held, seconds):
    """The row of a result, with what it says on the held-out rows."""
    row = _empty_row(result.name)
    row.leaves, row.trees = result.size
    row.is_tree = row.trees == 1 and tree_of(result.fitted) is not None
    row.promise, row.is_proven, row.note = result.promise, result.is_proven, result.note
    row.seconds = seconds
    row.update(score(result.fitted.predict(held.X), held.answers, held.y, case.is_classifier))
    row.is_measured = True
    return row


def _model_row(case, held):
    row = _empty_row("model")
    if case.forest is not None:
        row.leaves, row.trees = size_of(case.model, case.forest)
    row.update(score(held.answers, held.answers, held.y, case.is_classifier))
    labels, counts = np.unique(held.answers, return_counts=True)
    if case.is_classifier:
        row.class_rows = dict(zip(labels.tolist(), counts.tolist(), strict=True))
    row.is_measured, row.note = True, case.unreadable
    return row


def _line(row):
    if not row.is_measured:
        return row.note
    size = f"{row.leaves} leaves" if row.trees == 1 else f"{row.trees} trees"
    return f"{size}, agreement {row.agreement:.3f}, {row.seconds:.1f} s"
