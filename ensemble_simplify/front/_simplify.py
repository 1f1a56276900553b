"""Try every method on a fitted model, and compare them on rows left out."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
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
    absolute_tolerance,
    check_atol,
    validate_params,
)
from ensemble_simplify.front._choice import choose, corrected_agreement
from ensemble_simplify.front._copies import fitted_copies
from ensemble_simplify.front._inputs import LearnedRows, checked_rows, folds, size_of
from ensemble_simplify.front._judged import Candidate, Judged, figures
from ensemble_simplify.front._methods import (
    ALWAYS,
    KINDS,
    METHODS,
    SMALL,
    Task,
    method_of,
    of_row,
    selective_tree,
)
from ensemble_simplify.front._result import Simplification, simplified
from ensemble_simplify.front._statement import BY_COPIES, ON_LEARNED, ON_ROWS, OUT_OF_BAG
from ensemble_simplify.front._trials import FAVOURITE, Progress, Search, Trial, try_method
from ensemble_simplify.front._verdict import judge, notes, with_selective
from ensemble_simplify.reading import unwrap

# Sizes that are looked at where none is asked for.
SIZES = (4, 8, 16, 32)
# Part of the time limit that is left for the choice.
RESERVE = 0.05
# What is measured of a result in numbers.
FIGURES = ("accuracy", "balanced_accuracy", "agreement", "agreement_low", "agreement_high")


@validate_params(
    {
        "model": [HasMethods(["predict"])],
        "X": "no_validation",
        "y": ["array-like", str, None],
        "X_more": "no_validation",
        "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
        "min_samples_leaf": [Interval(Integral, 0, None, closed="left"), None],
        "methods": [str, list, tuple],
        "kinds": [str, list, tuple],
        "scoring": [str, callable, None],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "atol": [Interval(Real, 0, None, closed="left"), str],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "feature_costs": ["array-like", dict, None],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "refit": ["boolean"],
        "n_stability": [Interval(Integral, 2, None, closed="left"), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    },
    renamed={"max_leaves": "max_leaf_nodes"},
)
def simplify(
    model: Any,
    X: ArrayLike,
    y: ArrayLike | str | None = None,
    *,
    X_more: ArrayLike | None = None,
    max_leaf_nodes: int | None = None,
    min_samples_leaf: int | None = None,
    methods: str | list[str] = "auto",
    kinds: str | Sequence[str] = ("tree",),
    scoring: str | Callable | None = None,
    class_weight: dict | str | None = None,
    atol: float | str = "10%",
    time_limit: float | None = None,
    feature_costs: ArrayLike | dict | None = None,
    validation_fraction: float = 0.2,
    refit: bool = True,
    n_stability: int | None = None,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
    verbose: int = 0,
) -> Simplification:
    """Try what a fitted model can become, compare the results, and recommend a small one.

    The model is asked for its answers to the rows. It is not fitted again or changed. Each method
    learns these answers, and is then compared with the model on rows that it did not learn from.

    Read more in the :ref:`guide <simplify>`.

    Parameters
    ----------
    model : estimator
        Any fitted classifier or regressor, a pipeline that ends in one, or a ``Booster`` of
        LightGBM or XGBoost. :class:`~sklearn.frozen.FrozenEstimator` around it changes nothing.
        Methods that read trees need an ensemble as described for :class:`BornAgainClassifier`. For
        other models, these methods are listed as not tried.
    X : array-like or data frame of shape (n_rows, n_features)
        Rows as the model takes them, also with text, categories and missing values. Give rows that
        the model was not trained on. On its training rows the figures mislead. If these are exactly
        the rows that a forest was fitted on, its out-of-bag answers are used. Of more than 25,000
        rows or 4 million entries, a part is drawn. Rows beyond memory are given as a stream, as for
        :func:`agreement`; that a model was fitted on them is only known if none was left out.
    y : array-like of shape (n_rows,), str or None, default=None
        True labels or values, or the name of the column of X that holds them. Without them, no
        accuracy is measured, and no tree is fitted to them.
    X_more : array-like or data frame of shape (n_more, n_features) or None, default=None
        More rows to learn from, such as those that the model was fitted on. They are never used to
        measure anything. The more there are, the better the tree becomes.
    max_leaf_nodes : int or None, default=None
        The most leaves that the recommended tree may have. None: trees of 4, 8, 16 and 32 leaves
        are compared, and the smallest is taken beyond which more leaves gain little. Sizes below
        the number of the model's classes are left out.
    min_samples_leaf : int or None, default=None
        Rows that each leaf of the recommended tree must have, at least. None: one, and two in
        regression; a tree that is proven equal to the model may have leaves without any. 0: leaves
        without rows are allowed.
    methods : "auto", "all", str or list of str, default="auto"
        Methods to try besides the plain trees: "representer", "cultivated", "born_again",
        "faithful", "feature_budget", "genesim", "born_again_1" and "born_again_0". "auto" tries
        those that are quick, or usually good, for the model. "all" tries all that work with it.
    kinds : str or sequence of str, default=("tree",)
        What can be recommended: "tree", "scorecard", or both. With "scorecard", a
        :class:`ScorecardClassifier` or :class:`ScorecardRegressor` is tried, too. It may have eight
        bins more than a tree has leaves, and takes some seconds. Without "tree", only the plain
        trees are tried, for comparison. With "selective", a :class:`SelectiveTreeClassifier` or
        :class:`SelectiveTreeRegressor` is fitted beside it, which is never recommended: it answers
        a part of the rows and leaves the others to the model. Give `X_more`, so that all rows of
        `X` can calibrate it.
    time_limit : float or None, default=None
        Seconds in all. None: every method ends by itself, after an effort that is counted in
        operations. So the result does not depend on the speed of the machine. With a limit,
        each method gets a share of the time that is left, and methods that get none are listed as
        not tried. Asking the model and fitting plain trees is not limited, and a method may take a
        second or two to stop.
    random_state : int, RandomState instance or None, default=None
        Decides which rows are left out, and what the methods draw at random.

    Returns
    -------
    simplification : Simplification
        Prints as a report with a verdict and the recommended tree. It predicts with that tree,
        writes it and saves it.

    Other Parameters
    ----------------
    scoring : str, callable or None, default=None
        The score that decides instead of the agreement: the name of a metric such as
        "balanced_accuracy", "recall" or "f1", or a function of the model's answers and the tree's.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes in the agreement that decides. "balanced": all classes count alike,
        however rare.
    atol : float or str, default="10%"
        In regression, how far a result may be from the model's value if it promises to be near
        ("born_again", "faithful" and others). A number, or a share of the standard deviation of
        the model's answers. Classifiers keep the class instead.
    feature_costs : array-like of shape (n_features,), dict or None, default=None
        Price of each feature, as for :class:`FeatureBudgetPruner`. If given, this method is tried,
        with half of what the model's features cost.
    validation_fraction : float in (0, 1), default=0.2
        Part of the rows that is left out at a time. Up to 2,000 rows, each row is left out once.
        Of more rows, only one such part is left out, or all if `X_more` has as many, or 2,000.
    refit : bool, default=True
        Learn the recommended tree again from all rows, if `time_limit` leaves the time. The figures
        remain those of trees that had not seen the rows they were measured on.
    n_stability : int or None, default=None
        Times that the recommended method is fitted to rows drawn with replacement, so that the
        report says how far such results agree; see :meth:`Simplification.stability`. None: never.
    n_jobs : int or None, default=None
        Threads, which learn without one part of the rows each, and fit one copy of the model each.
        None: 1 unless in a ``joblib.parallel_config`` context. -1: all processors. Without
        `time_limit`, the result does not depend on it.
    verbose : bool or int, default=0
        If true, progress is shown on stderr.

    Raises
    ------
    TypeError
        If the model is neither a classifier nor a regressor.
    ValueError
        If there are fewer than eight rows, the model gives none of the labels in `y`, or a method
        is not known.

    See Also
    --------
    verify : A proof that two models agree, or a row on which they do not.
    agreement : How often two models agree.
    differences : Where two models differ.

    Notes
    -----
    What is recommended is a single, ordinary tree, or with ``kinds=("tree", "scorecard")`` perhaps
    a scorecard. A tree that is proven to give the model's answer at every input comes first. Then
    comes the representer tree, since it agreed best with the model on new rows on average. Another
    result takes its place only if it agrees better by more than 1.5 standard errors. A smaller tree
    takes its place if it agrees as well. The plain tree on the true labels is shown for comparison,
    and never recommended. :ref:`recommendation_concept` has the rules in full.

    The verdict corrects the agreement of the chosen tree for the choice, since the best of several
    measured values is a little too high [1]_. In regression, agreement is the coefficient of
    determination. Intervals are of 95 %: those of Clopper and Pearson for shares, and those of
    bootstrap samples in regression.

    References
    ----------
    .. [1] I. Tsamardinos, E. Greasidou, G. Borboudakis (2018). Bootstrapping the out-of-sample
       predictions for efficient and accurate cross-validation. Machine Learning 107, 1895-1922.
       https://doi.org/10.1007/s10994-018-5714-4

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from ensemble_simplify import simplify
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = RandomForestClassifier(random_state=0).fit(X[::2], y[::2])
    >>> outcome = simplify(
    ...     model, X[1::2], y[1::2], X_more=X[::2], max_leaf_nodes=3, random_state=0
    ... )
    >>> print(outcome.verdict.text)
    The tree of 3 leaves shows what the model goes by. ...
    >>> print(outcome.export_text(decimals=2))
    |--- petal length (cm) <= 2.45
    |   |--- class: 0 (chance 92.2 %, 50 training rows)
    |--- petal length (cm) > 2.45
    |   |--- petal width (cm) <= 1.65
    |   |   |--- class: 1 (chance 80.4 %, 52 training rows)
    |   |--- petal width (cm) > 1.65
    |   |   |--- class: 2 (chance 86.1 %, 48 training rows)
    >>> outcome.predict(X[:2])
    array([0, 0])
    """
    begin = time.monotonic()
    check_atol(atol)
    model = unwrap(model)
    kinds = _checked_kinds(kinds)
    names = _checked_methods(methods, kinds)
    given = checked_rows(model, X, y, X_more, random_state, n_jobs)
    rng = check_random_state(random_state)
    by_class = is_classifier(model)
    has_learned = given.learned in LEARNED
    fold_of = folds(
        given.answers, given.n_judged, validation_fraction, by_class, rng, not has_learned
    )
    task = Task(
        model=model,
        X=given.X,
        y=given.y,
        answers=given.answers,
        fold_of=fold_of,
        max_leaf_nodes=SIZES[-1] if max_leaf_nodes is None else int(max_leaf_nodes),
        feature_costs=feature_costs,
        seed=int(rng.randint(1 << 31)),
        atol=0.0 if by_class else _tolerance(atol, given.answers),
        own=given.own,
        min_samples_leaf=min_samples_leaf,
        n_jobs=n_jobs,
        time_limit=time_limit,
    )
    if has_learned and given.y is not None and given.is_whole:
        task.copies = fitted_copies(
            model, given.X, given.y, fold_of, task.forest, time_limit, task.seed, n_jobs
        )
    how = ON_LEARNED if has_learned else ON_ROWS
    how = OUT_OF_BAG if given.is_out_of_bag else how
    how = BY_COPIES if task.copies else how
    # What learned the model's answers to its own rows has learned their labels, too, out-of-bag
    # answers or not. It has no accuracy that could be told there.
    tells = given.y is not None and (task.copies or not has_learned)
    truth = given.y[np.flatnonzero(fold_of >= 0)] if tells else None
    judged = Judged(task.judging, truth, by_class, scoring, class_weight, given.learned, how)
    sizes = _sizes(max_leaf_nodes, given.answers, by_class)
    # asking the model is part of the time that methods share, though nothing ends it
    left = None if time_limit is None else begin - time.monotonic() + (1.0 - RESERVE) * time_limit
    search = Search(task, judged, names, kinds, methods == "auto", left)
    with Progress(verbose, len(names)) as progress:
        curve = search.over_sizes(sizes, progress)
        curve = curve if "tree" in kinds else []
        trials = search.others(progress)
    found = _summed_up(search, trials, curve, given, refit, begin)
    if n_stability is None or found.best is None:
        return found
    stability = found.stability(n_fits=n_stability)
    return replace(found, _stability=stability, seconds=time.monotonic() - begin)


# ------------------------------------------------------------------- checks


def _checked_kinds(kinds):
    """What can be recommended, as a tuple."""
    kinds = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown or not kinds:
        given = f"has {unknown[0]!r}" if unknown else "is empty"
        raise ValueError(f"kinds {given}. Choose from {', '.join(map(repr, KINDS))}.")
    if kinds == ("selective",):
        raise ValueError(
            "kinds='selective' leaves nothing to recommend. Add 'tree' or 'scorecard', or use "
            "SelectiveTreeClassifier or SelectiveTreeRegressor by itself."
        )
    return kinds


def _checked_methods(methods, kinds):
    """Names of the methods in the order of their turns."""
    if isinstance(methods, str):
        methods = list(METHODS) if methods in ("auto", "all") else [methods]
    if "scorecard" in methods and "scorecard" not in kinds and methods != list(METHODS):
        raise ValueError(
            f"methods has 'scorecard', but kinds={kinds!r} asks for none. Give "
            "kinds=('tree', 'scorecard')."
        )
    unknown = [name for name in methods if name not in METHODS]
    if unknown:
        raise ValueError(
            f"methods has {unknown[0]!r}, which is not a method. Choose from 'auto', 'all' and "
            f"{', '.join(METHODS)}."
        )
    asked = [kind for kind in kinds if kind not in methods and kind in METHODS]
    return [
        name
        for name, method in METHODS.items()
        if name in ALWAYS or (name in (*methods, *asked) and method.kind in kinds)
    ]


def _tolerance(atol, answers):
    """Within which values are promised: a share comes to a number of few digits."""
    number = absolute_tolerance(atol, answers)
    return float(f"{number:.3g}") if isinstance(atol, str) else number


def _sizes(max_leaf_nodes, answers, by_class):
    """Numbers of leaves to look at: one at least for each class, where none is asked for."""
    if max_leaf_nodes is not None:
        return [int(max_leaf_nodes)]
    n_classes = len(np.unique(answers)) if by_class else 2
    return [size for size in SIZES if size >= n_classes] or [n_classes]


# ------------------------------------------------------------------- the result


def _summed_up(search, trials, curve, given, refit, begin):
    task, judged = search.task, search.judged
    candidates = [trial.candidate for trial in trials if trial.result is not None]
    told = {"favourite": FAVOURITE, "max_leaf_nodes": task.max_leaf_nodes}
    choice = choose(candidates, judged, **told, kinds=search.kinds)
    best = next((each for each in candidates if each.name == choice.best), None)
    over_sizes = [trial.candidate for trial in search.by_size.values()]
    corrected = corrected_agreement(candidates, judged, over_sizes, **told, random_state=task.seed)
    # the verdict is on the largest size that was looked at, and the notes know all sizes
    largest = max((each.size for each in over_sizes), default=task.max_leaf_nodes)
    every = [*candidates, *(each for each in over_sizes if each not in candidates)]
    verdict = judge(best, judged, corrected, largest, search.kinds, every)
    selective = None
    if "selective" in search.kinds:
        size = task.max_leaf_nodes if best is None or best.is_card else best.n_leaves
        selective = selective_tree(task, given.n_judged, size, search.seconds_left())
        # what follows the model everywhere need not leave anything to it
        if verdict.level != "follows":
            verdict = with_selective(verdict, selective, judged)
    if task.forest is not None:  # what is as large as the model is not worth a note
        own = size_of(task.model, task.forest)[0]
        every = [each for each in every if each.is_card or each.n_leaves < own]
    rows = _rows(task, trials, judged, given.y)
    by_name = {row.name: row for row in rows}
    results = {trial.name: trial for trial in trials if trial.result is not None}
    if best is not None:
        _learn_again(results, best.name, search, refit)
    learned = LearnedRows(task.table, task.X)
    return Simplification(
        table=rows,
        best=choice.best,
        reason=choice.reason,
        verdict=verdict,
        curve=curve,
        notes=_notes(given, judged, notes(every, judged, best)),
        not_tried={**search.left_out, **{t.name: t.note for t in trials if not t.was_tried}},
        results={
            name: simplified(trial.result, task.model, learned, by_name[name])
            for name, trial in results.items()
        },
        _by_size={
            size: simplified(trial.result, task.model, learned, _row(trial, judged))
            for size, trial in search.by_size.items()
        },
        max_leaf_nodes=task.max_leaf_nodes,
        is_classifier=task.is_classifier,
        n_rows=len(task.answers),
        n_judged=len(judged.answers),
        n_folds=task.n_folds,
        feature_names=_names(task),
        seconds=time.monotonic() - begin,
        selective=selective,
        _task=task,
        _judged=judged,
        _candidates={each.name: each for each in candidates},
        _over_sizes=over_sizes,
    )


def _notes(given, judged, others):
    """Two sentences at most: first what was done to the rows."""
    told = list(given.notes)
    if given.learned in LEARNED:
        told.append(f"{LEARNED[given.learned]} {_COMPARED[judged.how]}")
    elif given.y is not None and judged.is_classifier and np.all(judged.y == judged.answers):
        told.append(
            "The model makes no error on these rows, so that it has probably learned from them. On "
            "new rows, accuracy is lower. Give rows that the model has not seen."
        )
    return [*told, *others][:2]


# What is said of rows that the model has learned from, and of what was done about it.
LEARNED = {
    "all": "The model was fitted on these rows.",
    "part": "The model was probably fitted on these rows, among others.",
    "more": "The rows that the model was fitted on are probably among these.",
}
_COMPARED = {
    BY_COPIES: "So copies of it were fitted without a part of the rows each. What learned from a "
    "copy was compared with that copy on that part.",
    OUT_OF_BAG: "So its out-of-bag answers are compared: for each row, those of its trees that "
    "have not seen the row. To measure the accuracy of the results too, give rows that the model "
    "has not seen.",
    ON_LEARNED: "Nothing tells what the result does on new rows. Give rows that the model has not "
    "seen, or y, if copies of the model can be fitted soon.",
}


def _learn_again(results, best, search, refit):
    """Put in place of the recommended result one that has learned from all rows, or from part.

    If there is no time for it, or it fails, the first one stays.
    """
    trial, task = results[best], search.task
    method = method_of(best)
    # trials in folds end with a fit on all rows, as `refit` wants it; the others leave a part out,
    # unless copies of the model are asked about that part
    if method.judged == "never" or refit == (method.judged == "folds") or task.copies:
        return
    rows = task if refit else task.without(0)
    again = try_method(best.removesuffix(SMALL), rows, search.seconds_left(), _fits)
    found = (each.result for each in again if each.result is not None)
    if (result := of_row(best, found)) is not None:
        trial.result = result


def _fits(name, task, seconds):
    return [(result, None) for result in METHODS[name].attempt(task, seconds)]


def _rows(task, trials, judged, y):
    """The rows of the table. The labels count for what has learned nothing from the model."""
    if y is not None:
        y = y[np.flatnonzero(task.fold_of >= 0)]
    # neither out-of-bag answers nor a tree that is fitted to labels in folds have seen these labels
    by_itself = replace(judged, y=y)
    rows = [_model_row(task, by_itself), _majority_row(by_itself)]
    return rows + [
        _row(trial, by_itself if trial.name == "plain_tree_on_y" else judged)
        for trial in trials
        if trial.was_tried
    ]


def _row(trial, judged):
    row = Bunch(
        name=trial.name,
        leaves=None,
        trees=None,
        bins=None,
        **dict.fromkeys(FIGURES, np.nan),
        class_agreement={},
        statements=(),
        promise="",
        is_proven=False,
        is_tree=False,
        is_card=False,
        is_measured=trial.result is not None,
        seconds=trial.seconds,
        note=trial.note,
    )
    if trial.result is not None:
        row.is_card = trial.candidate.is_card
        if row.is_card:
            row.bins = trial.result.size[0]
        else:
            row.leaves, row.trees = trial.result.size
        row.is_tree, row.is_proven = trial.candidate.is_tree, trial.result.is_proven
        row.promise = trial.result.promise
        row.update(figures(trial.candidate, judged))
    return row


def _yardstick(trial, predicted, leaves, trees, judged):
    """A row of what is no result: to compare with."""
    row = _row(trial, judged)
    shown = Candidate(trial.name, leaves or 0, predicted, is_tree=False, may_win=False)
    row.update(figures(shown, judged))
    row.leaves, row.trees, row.is_measured = leaves, trees, True
    return row


def _model_row(task, judged):
    leaves, trees = (None, None) if task.forest is None else size_of(task.model, task.forest)
    trial = Trial("model", note=task.unreadable)
    return _yardstick(trial, judged.answers, leaves, trees, judged)


def _majority_row(judged):
    if judged.is_classifier:
        answer = judged.labels[judged.shares.argmax()]
    else:
        answer = judged.answers.mean()
    predicted = np.full(len(judged.answers), answer, dtype=judged.answers.dtype)
    return _yardstick(Trial("majority"), predicted, 1, 1, judged)


def _names(task):
    names = getattr(task.model, "feature_names_in_", ())
    names = names if task.table.names is None else task.table.names
    if len(names) != len(task.table):
        return [f"x{j}" for j in range(len(task.table))]
    return [str(name) for name in names]
