"""What is said of random models, held against the models' own ``predict``.

`CHECKS` are the questions. Each is given a `Case` and a generator, asks the package, and raises
`Broken` where what it says of rows is not so. The rows are made by the case, not by the package.
"""

import ctypes
import json
import pickle
import re
import shutil
import sqlite3
import subprocess
import tempfile
import traceback
import warnings
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from random_models import ask, draw
from readers import changed
from scipy.stats import binomtest
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import ensemble_simplify
from ensemble_simplify import (
    BornAgainClassifier,
    BornAgainRegressor,
    BudgetForestClassifier,
    C45Tree,
    CultivatedForestClassifier,
    Domain,
    FaithfulPruner,
    FeatureBudgetPruner,
    GenesimClassifier,
    GuideTree,
    InterpretableSingleModel,
    QuestTree,
    RepresenterTree,
    TimeLimitError,
    agreement,
    estimate,
    export_tree,
    import_tree,
    is_monotone,
    is_sensitive,
    merge_trees,
    nearest_flip,
    simplify,
    sufficient_box,
    verify,
)

PACKAGE = str(Path(ensemble_simplify.__file__).parent)
REFUSALS = (ValueError, TypeError, TimeLimitError, NotFittedError)
CHECKING = ("validation", "_param_validation", "multiclass")
# Cells of models that are asked about every input, and points near rows.
MOST_CELLS, MOST_POINTS = 4000, 40_000
N_ROWS = 250


class Broken(AssertionError):
    """What was said is not so."""


class Refused(Exception):
    """The package refused what it was given, with a sentence."""


class NotAsked(Exception):
    """There is nothing to ask here."""


def hold(condition, *what):
    if not condition:
        raise Broken(" ".join(map(str, what)))


def said(act, *arguments, **options):
    """What a call of the package answers; `Refused` for an error that it raised in a sentence."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", module=r"(?!ensemble_simplify)")
        warnings.filterwarnings("error", category=RuntimeWarning, module="ensemble_simplify")
        try:
            return act(*arguments, **options)
        except REFUSALS as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            frames = traceback.extract_tb(error.__traceback__)
            # scikit-learn's own checks of rows and parameters are the package's, too
            names = tuple(f"/sklearn/utils/{name}.py" for name in CHECKING)
            checked = any(frame.filename.endswith(names) for frame in frames[-4:])
            ours = last.filename.startswith(PACKAGE) and "raise" in (last.line or "")
            if not (ours or checked) or len(str(error)) < 20:
                raise
            raise Refused(f"{type(error).__name__}: {error}") from error


def unlike(first, second):
    """Where answers differ: labels, or numbers that are not the very same."""
    first, second = np.asarray(first), np.asarray(second)
    if first.dtype.kind in "fiub" and second.dtype.kind in "fiub":
        return first != second
    return np.array([a != b for a, b in zip(first.tolist(), second.tolist(), strict=True)])


def told(table, i):
    """A row in words."""
    row = table.iloc[i] if hasattr(table, "iloc") else table[i]
    return [getattr(value, "item", lambda value=value: value)() for value in list(row)]


def hold_alike(first, second, table, what):
    apart = np.flatnonzero(unlike(first, second))
    if apart.size:
        i = apart[0]
        raise Broken(
            f"{what}: {apart.size} of {len(first)} rows, {first[i]!r} against {second[i]!r} at "
            f"{told(table, i)}"
        )


# ------------------------------------------------------------------- domains


@dataclass
class Inputs:
    """Which inputs count: a domain as it is given, and what it means."""

    domain: object
    gaps: np.ndarray  # of columns
    low: np.ndarray
    high: np.ndarray
    whole: np.ndarray
    group: list
    unseen: np.ndarray  # of columns: whether a gap is as good as a level that was never seen

    def inside(self, values, ends=np.float64):
        """Which rows count; bounds count as numbers of the type of `ends`."""
        n = len(values[0])
        found = np.ones(n, dtype=bool)
        for j, own in enumerate(values):
            low, high = ends(self.low[j]), ends(self.high[j])
            absent = pd.isna(own)
            found &= ~absent | self.gaps[j] | self.unseen[j]
            if own.dtype != object:
                known = np.where(absent, low if np.isfinite(low) else 0.0, own)
                found &= absent | ((known >= low) & (known <= high))
                if self.whole[j]:
                    found &= absent | (known == np.trunc(known))
        if self.group:
            hot = np.array([values[j] for j in self.group])
            found &= ((hot == 1).sum(axis=0) == 1) & ((hot == 0).sum(axis=0) == len(hot) - 1)
        return found


def inputs(case, rng, near=False, plain=0.5):
    """A random domain; `near`: gaps of the training rows count where it does not say."""
    n = len(case.columns)
    gaps = np.array([c.has_gaps for c in case.columns]) if near else np.zeros(n, dtype=bool)
    low, high, whole = np.full(n, -np.inf), np.full(n, np.inf), np.zeros(n, dtype=bool)
    group, entries = [], {}
    levels = np.array([column.dtype == "category" for column in case.columns])
    unseen = levels & (levels.any() and case.takes("levels"))
    if rng.random() < plain:
        return Inputs(None, gaps, low, high, whole, group, unseen)
    if rng.random() < 0.4 and case.takes("gaps"):
        gaps, entries["missing"] = np.ones(n, dtype=bool), "all"
    hot = [j for j, c in enumerate(case.columns) if c.group == 0]
    names = [f"c{j}" if case.frame else j for j in range(n)]
    if hot and rng.random() < 0.7:
        group, entries["one_hot"] = hot, [[names[j] for j in hot]]
        gaps = gaps & ~np.isin(np.arange(n), hot)
        if entries.get("missing") == "all":
            entries["missing"] = [names[j] for j in np.flatnonzero(gaps)]
    bounds, integers = {}, []
    for j, column in enumerate(case.columns):
        if column.levels is not None or column.group is not None:
            continue
        known = column.values[~np.isnan(column.values)]
        if rng.random() < 0.3:
            low[j], high[j] = known.min(), known.max()
            bounds[names[j]] = (low[j], high[j])
            if rng.random() < 0.3:
                low[j], bounds[names[j]] = -np.inf, (None, high[j])
        if column.dtype == "int64" and rng.random() < 0.5:
            whole[j] = True
            integers.append(names[j])
    entries.update(bounds=bounds, integers=integers)
    domain = Domain(**entries) if rng.random() < 0.7 else entries
    return Inputs(domain, gaps, low, high, whole, group, unseen)


def chosen(values, kept):
    return [own[kept] for own in values]


def everywhere(case, rng, which, fine, n=N_ROWS):
    """Rows of all kinds that count, and what the model answers; with `fine` any doubles."""
    unseen = not case.is_plain and case.takes("levels")
    parts = [case.rows(rng, n, which.gaps, unseen, fine)]
    parts.append([case.rounded(j, fine) for j in range(len(case.columns))])
    values = [np.concatenate(own) for own in zip(*parts, strict=True)]
    return case.answered(chosen(values, which.inside(values)))


def nearby(case, rng, which, k, fine, rows=None, n=N_ROWS):
    """Rows that differ from a training row in at most k columns, and what the model answers."""
    unseen = not case.is_plain and case.takes("levels")
    values = case.near(rng, n, k, which.gaps, unseen, rows, fine)
    return case.answered(chosen(values, which.inside(values)))


def reach(case, rng):
    """How many changes are promised: None, 0, 1 or 2; what is small enough to ask."""
    sizes = np.sort([len(own) + 1 for own in case.cuts])[::-1].astype(float)
    n = case.n_rows
    fits = [None] * 2 if case.n_cells <= MOST_CELLS else []
    fits += [0, 1] if n * sizes.sum() <= MOST_POINTS else [0]
    if n * sizes.sum() ** 2 <= MOST_POINTS:
        fits.append(2)
    return fits[rng.integers(len(fits))]


# ------------------------------------------------------------------- pairs of models


def partner(case, rng):
    """Another model to compare with."""
    kind = rng.integers(5)
    if kind == 0:
        return _copy(case)
    if kind <= 2:
        try:
            return _converted(case, changed(case.source))
        except Exception:  # no leaf of such a model is changed
            kind = 3
    if kind == 4 and case.is_plain and not any(c.has_gaps for c in case.columns):
        tree = DecisionTreeClassifier if case.is_classifier else DecisionTreeRegressor
        return tree(max_depth=3, random_state=0).fit(case.X, ask(case.model, case.X))
    y = case.y.copy()
    some = rng.random(len(y)) < 0.1
    y[some] = rng.permutation(y[some])
    again = case.family.make(np.random.default_rng(case.seed), case.columns)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _converted(case, again.fit(case.X, y))
        except Exception:  # of the library, as in `draw`
            return _copy(case)


def _copy(case):
    return deepcopy(case.model) if case.family.convert is None else case.source


def _converted(case, model):
    convert = case.family.convert
    return model if convert is None else convert(model, len(case.columns))


def _tolerated(first, second, tolerance):
    """Whether numbers are within a tolerance, as `verify` says it; and how far they are apart."""
    distance = np.abs(first - second)
    distance[first == second] = 0.0
    return distance <= tolerance[0] + tolerance[1] * np.abs(second), distance


def _answers(model, table, method, classes):
    """Labels, values, or the probabilities of classes, 0 for one that the model does not know."""
    found = ask(model, table, method)
    if classes is None:
        return found
    own = model.classes_.tolist()
    columns = [
        found[:, own.index(label)] if label in own else np.zeros(len(found)) for label in classes
    ]
    return np.column_stack(columns)


def _of_table(case, row):
    """A counterexample in the form in which models are asked."""
    if hasattr(row, "columns") or row.ndim == 2:
        return row
    return case.table([row[j : j + 1] for j in range(len(row))], dtype=row.dtype)


def check_verify(case, rng):
    other = partner(case, rng)
    k = reach(case, rng) if rng.random() < 0.6 else None
    which = inputs(case, rng, near=k is not None)
    options = dict(domain=which.domain, max_boxes=300)
    rows = np.arange(case.n_rows)
    if k is not None:
        options.update(X=case.X, max_changes=k)
    method, tolerance = "predict", None
    if not case.is_classifier or rng.random() < 0.3:
        if rng.random() < 0.75:
            atol = float(rng.choice([0.0, 1e-9, 1e-3, 0.2, 5.0]))
            rtol = float(rng.choice([0.0, 0.0, 1e-6])) if not case.is_classifier else 0.0
            options.update(atol=atol, rtol=rtol)
            tolerance = (atol, rtol)
        if case.is_classifier and tolerance is not None:
            method = "predict_proba"
    if k is not None:
        values = [case.rounded(j) for j in range(len(case.columns))]
        hold_in = which.inside(values)
        if not hold_in.all():
            options["X"] = case.table(chosen([c.values for c in case.columns], hold_in))
            rows = np.flatnonzero(hold_in)
    if not len(rows):
        raise NotAsked("no rows inside the domain")
    outcome = said(verify, case.model, other, **options)
    repr(outcome)
    classes = None
    if method == "predict_proba":
        classes = list(dict.fromkeys([*case.model.classes_.tolist(), *other.classes_.tolist()]))
    if outcome.equal is False:
        row = _of_table(case, outcome.counterexample)
        answers = [_answers(model, row, method, classes) for model in (case.model, other)]
        if tolerance is not None:
            hold(not _tolerated(*answers, tolerance)[0].all(), "no counterexample:", told(row, 0))
        else:
            hold(unlike(*answers).any(), "no counterexample:", told(row, 0), answers)
        values = _columns_of(row)
        within = which.inside(values) | which.inside(values, np.float32)
        hold(within.all(), "counterexample outside of the domain", told(row, 0))
        if k is not None:
            _hold_near(case, rng, values, rows[outcome.row], k)
    if k is None:
        values, table, first = everywhere(case, rng, which, not outcome.finer)
    else:
        # with k = 0, the rows themselves are compared and nothing else
        values, table, first = nearby(case, rng, which, k, not outcome.finer or not k, rows)
    if method != "predict":
        first = _answers(case.model, table, method, classes)
    try:
        second = _answers(other, table, method, classes)
    except ValueError:
        return  # the other one does not take these rows
    if tolerance is not None:
        close, distance = _tolerated(first, second, tolerance)
        if outcome.equal:
            hold(close.all(), "not within the tolerance:", distance.max())
        most = distance.max(initial=0.0)
        hold(
            most <= outcome.max_difference_bound,
            f"a difference of {most!r} above the bound {outcome.max_difference_bound!r}",
        )
        hold(outcome.max_difference <= outcome.max_difference_bound, "seen above the bound")
    elif outcome.equal:
        hold_alike(first, second, table, "verify says equal")
    if outcome.equal and k is not None:
        table = options["X"]
        answers = [_answers(model, table, method, classes) for model in (case.model, other)]
        if tolerance is None:
            hold_alike(*answers, table, "verify says equal on the rows of X as given")
        else:
            hold(_tolerated(*answers, tolerance)[0].all(), "not within the tolerance on X as given")


def _columns_of(table):
    if hasattr(table, "columns"):
        found = [table[name] for name in table.columns]
        return [
            own.to_numpy(dtype=np.float64)
            if own.dtype.kind in "fiub"
            else own.astype(object).to_numpy(dtype=object)
            for own in found
        ]
    return [np.asarray(own, dtype=np.float64) for own in np.asarray(table).T]


def _hold_near(case, rng, values, i, k):
    n = 0
    for j, own in enumerate(values):
        known, given = case.columns[j].values[i], own[0]
        if pd.isna(known) or pd.isna(given):
            n += not (pd.isna(known) and pd.isna(given))
        elif isinstance(known, str) or isinstance(given, str):
            n += known != given
        else:
            n += known != given and np.float32(known) != np.float32(given)
    hold(n <= k, f"counterexample differs from row {i} in {n} columns")


def check_agreement(case, rng):
    other = partner(case, rng)
    keep = rng.random(case.n_rows) < 0.8
    keep[:1] = True
    X = case.table(chosen([c.values for c in case.columns], keep))
    outcome = said(agreement, case.model, other, X, random_state=0)
    answers = [ask(model, X) for model in (case.model, other)]
    n = int(unlike(*answers).sum())
    hold(outcome.n_different == n, f"n_different={outcome.n_different}, but {n} rows differ")
    hold(outcome.share == 1 - n / keep.sum(), "share", outcome.share, n, keep.sum())
    repr(outcome)
    shown = outcome.to_frame()
    if len(shown):
        table = shown.iloc[:, : len(case.columns)]
        if case.frame:
            table.columns = [f"c{j}" for j in range(len(case.columns))]
        else:
            table = table.to_numpy(dtype=case.dtype)
        first, second = ask(case.model, table), ask(other, table)
        hold(unlike(first, second).all(), "a counterexample is none", told(table, 0))
        hold_alike(first, np.array([a for a, _ in outcome.predictions]), table, "predictions")
    low, high = outcome.volume
    hold(0 <= low <= outcome.volume_estimate <= high or low <= high, "volume", outcome.volume)
    if not case.is_plain or not outcome.is_read:
        return
    points = rng.uniform(outcome.box[0], outcome.box[1], (2000, len(case.columns)))
    for j, column in enumerate(case.columns):
        if column.group == -1:
            points[:, j] = np.floor(rng.uniform(outcome.box[0][j], outcome.box[1][j] + 1, 2000))
    table = case.table(list(points.T), dtype=np.float64)
    alike = int((~unlike(ask(case.model, table), ask(other, table))).sum())
    for end, side in ((low, "greater"), (high, "less")):
        hold(
            binomtest(alike, 2000, min(max(end, 0.0), 1.0), _OPPOSITE[side]).pvalue > 1e-9,
            f"{alike} of 2000 points of the box are answered alike, volume {outcome.volume}",
        )


_OPPOSITE = {"greater": "less", "less": "greater"}


# ------------------------------------------------------------------- audit


def _asked_row(case, rng):
    i = int(rng.integers(case.n_rows))
    values = [column.values[i : i + 1] for column in case.columns]
    table = case.table(values)
    return values, table, (table if case.frame or rng.random() < 0.5 else table[0])


def _other_numbers(case):
    """A generator of what was asked later, so that seeds draw the same of what was asked before."""
    return np.random.default_rng([case.seed, 3])


def _response(case):
    """What of the answers is asked about: options of the question, and the numbers of a table.

    None for classes.
    """
    rng = _other_numbers(case)
    if not case.is_classifier:
        return {}, lambda table: ask(case.model, table).astype(np.float64)
    if rng.random() < 0.7 or not hasattr(case.model, "predict_proba"):
        return {}, None
    column = int(rng.integers(len(case.model.classes_)))
    options = dict(response="probabilities", positive=case.model.classes_[column])
    return options, lambda table: ask(case.model, table, "predict_proba")[:, column].astype(float)


def check_monotone(case, rng):
    numbers = [j for j, c in enumerate(case.columns) if c.levels is None and c.group != -1]
    if not numbers:
        raise NotAsked("no column of numbers")
    j = int(rng.choice(numbers))
    increasing = bool(rng.random() < 0.5)
    options, height = _response(case)
    options["increasing"] = increasing
    classes = case.model.classes_.tolist() if case.is_classifier else []
    rank = {label: i for i, label in enumerate(classes)}
    if height is None and (len(classes) > 2 or rng.random() < 0.3):
        if rng.random() < 0.5:
            order = [classes[i] for i in rng.permutation(len(classes))]
            options["class_order"] = order
            rank = {label: i for i, label in enumerate(order)}
        else:
            options["positive"] = classes[rng.integers(len(classes))]
            rank = {label: int(label == options["positive"]) for label in classes}
    if height is None:

        def height(table):
            return np.array([rank[label] for label in ask(case.model, table).tolist()])

    which = inputs(case, rng)
    feature = f"c{j}" if case.frame else j
    outcome = said(is_monotone, case.model, feature, domain=which.domain, **options)
    repr(outcome)
    sign = 1 if increasing else -1
    if outcome.monotone is False:
        rows = outcome.counterexample
        rows = rows if hasattr(rows, "columns") or case.frame is False else _frame_of(case, rows)
        values = _hold_pair(case, which, rows, [j])
        hold(values[j][0] < values[j][1], "witness does not rise")
        low, high = sign * height(rows)
        hold(low > high, f"no witness: {low!r} then {high!r}")
        return
    pool = np.unique(case.pool(j, fine=case.doubles))
    if len(pool) > 60:
        pool = np.sort(rng.choice(pool, 60, replace=False))
    unseen = not case.is_plain and case.takes("levels")
    base = case.rows(rng, 30, which.gaps, unseen, fine=case.doubles)
    values = [np.repeat(own, len(pool)) for own in base]
    values[j] = np.tile(pool, len(base[0]))
    line = np.repeat(np.arange(len(base[0])), len(pool))
    kept = which.inside(values)
    values = chosen([*values, line], kept)
    values, line = values[:-1], values[-1]
    try:
        heights = sign * height(case.table(values))
    except ValueError:
        return  # numbers too far out for a scaler
    falls = (np.diff(heights) < 0) & (np.diff(line) == 0)
    hold(not falls.any(), "is_monotone says proven, but the answer falls in column", j)


def _hold_pair(case, which, rows, features):
    """Two rows of the domain that differ in some columns alone; their values."""
    values = _columns_of(rows)
    hold(which.inside(values).all(), "witness outside of the domain", told(rows, 0), told(rows, 1))
    for i, own in enumerate(values):
        same = own[0] == own[1] or (pd.isna(own[0]) and pd.isna(own[1]))
        hold(same or i in features, f"witness differs in column {i}")
    return values


def check_sensitive(case, rng):
    features = sorted(rng.choice(len(case.columns), int(rng.integers(1, 3)), replace=False))
    options, height = _response(case)
    gap = 0.0
    if height is not None:
        spread = float(np.ptp(height(case.X)))
        gap = float(rng.choice([0.0, 0.1, 0.5, 1.0, 1.5])) * spread
    k = int(rng.integers(0, 2)) if rng.random() < 0.4 else None
    which = inputs(case, rng, near=k is not None)
    known = [case.rounded(j) for j in range(len(case.columns))]
    if k is not None:
        if not which.inside(known).all():
            raise NotAsked("a row is outside of the domain")
        options.update(near=case.X, max_changes=k)
    names = [f"c{j}" if case.frame else int(j) for j in features]
    outcome = said(is_sensitive, case.model, names, gap=gap, domain=which.domain, **options)
    repr(outcome)

    def far(table, line):
        """Whether rows of a line answer otherwise, or further apart than the gap."""
        found = ask(case.model, table) if height is None else height(table)
        for number in np.unique(line):
            own = found[line == number]
            if len(np.unique(own)) > 1 and (height is None or own.max() - own.min() > gap):
                return True
        return False

    if outcome.sensitive:
        rows = outcome.counterexample
        rows = rows if hasattr(rows, "columns") or case.frame is False else _frame_of(case, rows)
        values = _hold_pair(case, which, rows, features)
        hold(far(rows, np.zeros(2)), "no witness", told(rows, 0), told(rows, 1))
        if k is not None:
            besides = [own[:1] for own in values]
            _hold_near_some(case, besides, k, features)
        return
    if outcome.sensitive is None:
        return
    unseen = not case.is_plain and case.takes("levels")
    gaps = which.gaps
    if k is None:
        base = case.rows(rng, 40, gaps, unseen, fine=case.doubles)
    else:
        base = case.near(rng, 40, k, gaps, unseen, fine=case.doubles and not case.family.finer)
    values = [np.repeat(own, 12) for own in base]
    for j in features:
        values[j] = case.entries(rng, j, len(values[j]), gaps, unseen, case.doubles)
    line = np.repeat(np.arange(40), 12)
    kept = which.inside(values)
    values = chosen([*values, line], kept)
    try:
        hold(not far(case.table(values[:-1]), values[-1]), "is_sensitive says no, but it is")
    except ValueError:
        return  # numbers too far out for a scaler


def _hold_near_some(case, values, k, besides):
    """One row that differs from some training row in at most k columns, but for some of them."""
    n = np.zeros(case.n_rows, dtype=int)
    for j, own in enumerate(values):
        if j not in besides:
            known, given = case.rounded(j), own[0]
            if known.dtype == object:
                same = [a == given or (pd.isna(a) and pd.isna(given)) for a in known]
            else:
                with np.errstate(invalid="ignore"):
                    same = np.float32(known) == np.float32(given)
                same |= np.isnan(known) & pd.isna(given)
            n += ~np.asarray(same)
    hold(n.min() <= k, f"the witness differs from every row in {n.min()} columns")


def _frame_of(case, rows):
    return case.table(list(rows.T), dtype=rows.dtype)


def check_box(case, rng):
    _, table, row = _asked_row(case, rng)
    i_values = _columns_of(table)
    which = inputs(case, rng, plain=0.7)
    if which.domain is None or "missing" not in _entries(which.domain):
        which.gaps = np.array([pd.isna(own[0]) for own in i_values])
    if not which.inside([np.asarray(v) for v in i_values]).all():
        raise NotAsked("the row is outside of the domain")
    options = {}
    if not case.is_classifier:
        _, _, other = everywhere(case, rng, which, fine=False, n=50)
        options["within"] = float(rng.choice(np.abs(other - other[0])))
    outcome = said(sufficient_box, case.model, row, domain=which.domain, **options)
    repr(outcome)
    own = ask(case.model, table)[0]
    if case.doubles:
        hold(bool(outcome.label == own), f"label {outcome.label!r}, but the model answers {own!r}")
        hold(outcome.contains(table).all(), "the row is not in the box")
    # rows of which some columns are those of the row, so that many are in the box
    values = case.rows(
        rng,
        600,
        which.gaps,
        not case.is_plain and case.takes("levels"),
        fine=True,
    )
    for j, known in enumerate(i_values):
        rounded = known
        if known.dtype != object and not case.doubles:
            rounded = known.astype(np.float32).astype(np.float64)
        stay = rng.random(600) < (0.9 if _key(case, j) in outcome.features else 0.2)
        values[j] = np.where(stay, rounded, values[j])
    values = chosen(values, which.inside(values))
    values, table, answers = case.answered(values)
    inside = said(outcome.contains, table)
    label = np.full(int(inside.sum()), outcome.label, dtype=answers.dtype)
    if outcome.within is not None:
        low, high = outcome.within
        label = np.clip(answers[inside], low, high)
    hold_alike(answers[inside], label, _taken(table, inside), "inside of the box")
    values = _columns_of(table)
    for j in [j for j, own in enumerate(values) if own.dtype != object]:
        known = values[j][inside & ~np.isnan(values[j])]
        single = known.astype(np.float32)
        in_sides = (single > outcome.low[j]) & (single <= outcome.high[j])
        if not case.rounds:  # pipelines that rescale nothing round after all
            in_sides |= (known > outcome.low[j]) & (known <= outcome.high[j])
        hold(in_sides.all(), "contains and sides")


def _entries(domain):
    if isinstance(domain, dict):
        return domain
    return {name: 0 for name in ["missing"] if getattr(domain, name) is not None}


def _key(case, j):
    return f"c{j}" if case.frame else j


def _taken(table, rows):
    return table[rows]


def check_flip(case, rng):
    values, table, row = _asked_row(case, rng)
    k = int(rng.integers(1, 3))
    if case.n_cells > MOST_CELLS:
        k = 1
    which = inputs(case, rng, plain=0.7)
    if which.domain is None or "missing" not in _entries(which.domain):
        which.gaps = np.array([pd.isna(own[0]) for own in values])
    if not which.inside(values).all():
        raise NotAsked("the row is outside of the domain")
    others = _other_numbers(case)
    options, reached = _goal(case, others, table)
    free = np.ones(len(case.columns), dtype=bool)
    if others.random() < 0.3:
        free = others.random(len(free)) < 0.6
        options["frozen"] = [_key(case, j) for j in np.flatnonzero(~free)]
    numbers = [_key(case, j) for j, c in enumerate(case.columns) if c.levels is None]
    sides = {key: str(others.choice(["up", "down"])) for key in numbers if others.random() < 0.15}
    options["direction"] = sides
    outcome = said(nearest_flip, case.model, row, max_changes=k, domain=which.domain, **options)
    repr(outcome)
    own = ask(case.model, table)[0]
    found = outcome.max_changes
    if outcome:
        flipped = outcome.row
        flipped = _of_table(case, flipped)
        new = _columns_of(flipped)
        answer = ask(case.model, flipped)[0]
        hold(reached(flipped)[0], f"the flip does not flip {own!r}", told(flipped, 0))
        hold(not set(options.get("frozen", ())) & set(outcome.changes), "frozen", outcome.changes)
        for key in set(sides) & set(outcome.changes):
            before, after = outcome.changes[key]
            hold((after > before) == (sides[key] == "up"), "direction", outcome.changes)
        hold(bool(answer == outcome.predictions[1]), "predictions", outcome.predictions)
        hold(which.inside(new).all(), "the flip is outside of the domain", told(flipped, 0))
        differing = {
            _key(case, j)
            for j, (a, b) in enumerate(zip(values, new, strict=True))
            if not (
                (pd.isna(a[0]) and pd.isna(b[0]))
                or (a[0] == b[0])
                or (a.dtype != object and np.float32(a[0]) == np.float32(b[0]))
            )
        }
        hold(differing <= set(outcome.changes), "changes", differing, outcome.changes)
        stays = set(options.get("frozen", ()))
        hold(not differing & stays, "a frozen column changes", differing, stays)
        # the members of a group change together
        of_group = {_key(case, j) for j in which.group} & set(outcome.changes)
        n_changes = len(set(outcome.changes) - of_group) + bool(of_group)
        hold(n_changes <= k, "too many changes", outcome.changes)
        found = n_changes - 1
    if not outcome.proven or found < 1:
        return
    unseen = not case.is_plain and case.takes("levels")
    trial = [
        np.repeat(
            v if case.doubles or v.dtype == object else v.astype(np.float32).astype(np.float64),
            400,
        )
        for v in values
    ]
    if not free.any():
        return
    for _ in range(found):
        at = rng.integers(len(trial), size=400)
        at = at if free.all() else rng.choice(np.flatnonzero(free), size=400)
        for j, column in enumerate(trial):
            entries = case.entries(rng, j, int((at == j).sum()), which.gaps, unseen, case.doubles)
            if _key(case, j) in sides:
                further = np.greater if sides[_key(case, j)] == "up" else np.less
                entries = np.where(further(entries, column[at == j]), entries, column[at == j])
            column[at == j] = entries
    trial = chosen(trial, which.inside(trial))
    _, table, _ = case.answered(trial)
    there = np.flatnonzero(reached(table))
    if there.size:
        raise Broken(f"no flip of {found} changes, but {told(table, there[0])}")


def _goal(case, rng, table):
    """What a flip has to reach: options of the question, and which rows of a table are there."""
    own = ask(case.model, table)[0]
    if not case.is_classifier:
        answers = np.sort(ask(case.model, case.X).astype(np.float64))
        low, high = answers[rng.integers(len(answers))], np.inf
        if own >= low:
            low, high = -np.inf, np.nextafter(float(own), -np.inf)

        def within(table):
            found = ask(case.model, table).astype(np.float64)
            return (found >= low) & (found <= high)

        target = tuple(None if np.isinf(end) else end for end in (low, high))
        return dict(target=target), within
    others = case.model.classes_[
        unlike(case.model.classes_, np.full_like(case.model.classes_, own))
    ]
    if rng.random() < 0.7 or not len(others):
        return {}, lambda table: unlike(ask(case.model, table), np.array([own] * len(table)))
    label = others[rng.integers(len(others))]

    def is_label(table):
        return ~unlike(ask(case.model, table), np.array([label] * len(table)))

    return dict(target=label), is_label


# ------------------------------------------------------------------- estimators


def _weights(case, rng):
    if rng.random() < 0.8:
        return None
    weight = rng.choice([0.0, 1.0, 1.0, 2.5], case.n_rows)
    weight[: len(np.unique(case.y))] = 1.0
    return weight


def _stored(fitted, rng):
    """A fitted object, or a copy that was saved and loaded."""
    if rng.random() < 0.8:
        return fitted
    return pickle.loads(pickle.dumps(fitted))


def _hold_probabilities(fitted, table, answers=None):
    shares = said(fitted.predict_proba, table)
    hold(np.isfinite(shares).all() and (shares >= 0).all(), "probabilities", shares.min())
    hold(np.abs(shares.sum(axis=1) - 1).max(initial=0) < 1e-9, "probabilities do not add up to 1")
    if answers is not None:
        best = fitted.classes_[shares.argmax(axis=1)]
        hold_alike(best, answers, table, "predict is not the most probable class")


def _tolerance(case):
    """A tolerance in numbers; None for classes alone."""
    rng = _other_numbers(case)
    if case.is_classifier and (rng.random() < 0.75 or not hasattr(case.model, "predict_proba")):
        return None
    spread = float(np.std(ask(case.model, case.X))) if not case.is_classifier else 0.3
    return [0.0, "10%", "60%", 0.3 * spread, 1.5 * spread][rng.integers(5)]


def _otherwise(case, fitted, table, expected, atol, labels=True):
    """Which rows are answered otherwise than `expected`, or by numbers off by more than `atol`.

    With a tolerance, the `labels` of classifiers are promised too, or not.
    """
    apart = np.zeros(len(expected), dtype=bool)
    if atol is None or (case.is_classifier and labels):
        apart |= unlike(said(fitted.predict, table), expected)
    if atol is not None:
        method = "predict_proba" if case.is_classifier else "predict"
        first = np.asarray(said(getattr(fitted, method), table), dtype=np.float64)
        second = np.asarray(ask(case.model, table, method), dtype=np.float64)
        far = np.abs(first - second) > atol
        apart |= far if far.ndim == 1 else far.any(axis=1)
    return apart


def _hold_answers(case, fitted, table, expected, atol, what, labels=True):
    apart = np.flatnonzero(_otherwise(case, fitted, table, expected, atol, labels))
    if apart.size:
        i = int(apart[0])
        found = said(fitted.predict, table)[i]
        raise Broken(
            f"{what}, atol={atol}: {apart.size} of {len(expected)} rows, {found!r} against "
            f"{expected[i]!r} at {told(table, i)}"
        )


def _hold_promise(case, rng, fitted, which, k, weight, fine, atol=None, labels=True):
    """Rows that a promise reaches are answered alike; with `fine`, it is about all doubles."""
    rows = np.arange(case.n_rows) if weight is None else np.flatnonzero(weight > 0)
    if k is None:
        _, table, expected = everywhere(case, rng, which, fine)
    else:
        _, table, expected = nearby(case, rng, which, k, fine, rows)
    _hold_answers(case, fitted, table, expected, atol, f"max_changes={k}", labels)
    inside = said(fitted.covers, table)
    hold(inside.all(), "covers() leaves out a promised row", told(table, int(inside.argmin())))
    # other rows: refused, or answered; those that are covered alike
    any_gaps = np.full(len(case.columns), case.takes("gaps") and rng.random() < 0.5)
    values = case.rows(rng, 100, any_gaps, False, fine=True)
    values, table, expected = case.answered(values)
    covered = said(fitted.covers, table)
    table = _taken(table, covered)
    if covered.any():
        what = "covers() says that it is promised"
        _hold_answers(case, fitted, table, expected[covered], atol, what, labels)


def check_born_again(case, rng):
    k = reach(case, rng)
    which = inputs(case, rng, near=True)
    values = [column.values for column in case.columns]
    if not which.inside([case.rounded(j) for j in range(len(values))]).all():
        which = inputs(case, rng, near=True, plain=1.0)
    weight = _weights(case, rng)
    atol = _tolerance(case)
    options = dict(max_changes=k, domain=which.domain, random_state=0)
    options["method"] = str(rng.choice(["auto", "auto", "heuristic"]))
    if k is None:
        options["objective"] = str(rng.choice(["auto", "depth", "leaves", "depth_then_leaves"]))
        if rng.random() < 0.15 and case.is_classifier:
            options["post_prune"] = True
    elif k <= 1 and rng.random() < 0.4:
        options["tolerance"] = float(rng.choice([0.02, 0.2]))
        if rng.random() < 0.3:
            options["max_leaf_nodes"] = 3
    if rng.random() < 0.1 and case.is_classifier:
        options["merge_thresholds"] = True
    voting = "hard" if rng.random() < 0.1 and case.is_classifier else "estimator"
    if atol is not None:
        options["atol"] = atol
    if case.is_classifier:
        options["voting"] = voting
    kind = BornAgainClassifier if case.is_classifier else BornAgainRegressor
    estimator = kind(FrozenEstimator(case.model), **options)
    fitted = said(estimator.fit, case.X, case.y, weight)
    fitted = _stored(fitted, rng)
    repr(fitted)
    rows = case.X if weight is None else _taken(case.X, weight > 0)
    answers = said(fitted.predict, rows)
    if case.is_classifier:
        _hold_probabilities(fitted, rows, answers)
    if atol is not None:
        hold(isinstance(atol, str) or fitted.atol_ == atol, "atol_", fitted.atol_, atol)
        atol = fitted.atol_
    leaves, depth = fitted.n_leaves_, fitted.depth_
    if case.is_classifier:
        leaves, depth = fitted.n_leaves_unpruned_, fitted.depth_unpruned_
    hold(fitted.n_leaves_lower_bound_ <= leaves, "leaves below their bound")
    hold(fitted.depth_lower_bound_ <= depth, "depth below its bound")
    hold(fitted.get_n_leaves() == fitted.n_leaves_, "n_leaves_")
    if voting == "hard":
        return
    expected = ask(case.model, rows)
    n, told_n = int(_otherwise(case, fitted, rows, expected, atol).sum()), fitted.n_row_exceptions_
    hold(told_n == n, f"n_row_exceptions_={told_n}, not {n}")
    hold(k is None or fitted.n_exceptions_ >= (n > 0), "n_exceptions_ below those of rows")
    if not options.get("tolerance") and not options.get("max_leaf_nodes"):
        hold(not n or not case.rounds, f"{n} training rows are answered otherwise")
    if options.get("post_prune") or options.get("merge_thresholds"):
        return
    if k is None and atol is None:
        hold(fitted.fidelity_ == 1 - n / fitted.n_rows_, "fidelity_", fitted.fidelity_, n)
    if not options.get("tolerance"):
        _hold_promise(case, rng, fitted, which, k, weight, case.rounds, atol)
        if not n and rng.random() < 0.5:
            outcome = said(fitted.verify)
            hold(outcome.equal is True, "its own verify says", outcome)
    if k in (0, 1) and rng.random() < 0.3:
        small = said(fitted.at, n_leaves=int(rng.integers(1, 6)))
        n = int(_otherwise(case, small, rows, expected, atol).sum())
        told_n = small.n_row_exceptions_
        hold(told_n == n, f"at(): n_row_exceptions_={told_n}, not {n}")
    if k == 0 and weight is None and case.rounds:
        _hold_path(fitted)


def _hold_path(fitted):
    path = fitted.path_
    hold((np.diff(path.n_leaves) > 0).all(), "n_leaves of the path")
    hold((np.diff(path.weighted_share) <= 1e-12).all(), "weighted_share of the path")
    hold(path.n_exceptions[-1] == 0, "the path does not end without exceptions")


def check_faithful(case, rng):
    k = reach(case, rng)
    which = inputs(case, rng, near=True)
    if not which.inside([case.rounded(j) for j in range(len(case.columns))]).all():
        which = inputs(case, rng, near=True, plain=1.0)
    weight = _weights(case, rng)
    options = dict(max_changes=k, domain=which.domain, random_state=0)
    options["method"] = str(rng.choice(["auto", "heuristic"]))
    options["objective"] = str(rng.choice(["trees", "leaves"]))
    if k is not None and rng.random() < 0.3:
        options["tolerance"] = 0.1
    atol = _tolerance(case)
    if atol is not None:
        options["atol"] = atol
    fitted = said(
        FaithfulPruner(FrozenEstimator(case.model), **options).fit, case.X, case.y, weight
    )
    fitted = _stored(fitted, rng)
    hold(fitted.n_trees_ >= fitted.n_trees_lower_bound_, "n_trees_ below its bound")
    hold(fitted.n_trees_ == np.count_nonzero(fitted.weights_), "n_trees_ and weights_")
    rows = case.X
    atol = None if atol is None else fitted.atol_
    if hasattr(fitted.pruned_estimator_, "predict_proba"):
        _hold_probabilities(fitted, rows)
    hold_alike(
        said(fitted.predict, rows), ask(fitted.pruned_estimator_, rows), rows, "pruned_estimator_"
    )
    if not fitted.n_exceptions_:
        _hold_promise(case, rng, fitted, which, k, weight, case.doubles, atol, labels=False)
        given = rows if weight is None else _taken(rows, weight > 0)
        what = "training rows as given, without an exception"
        _hold_answers(case, fitted, given, ask(case.model, given), atol, what, labels=False)
        if rng.random() < 0.5 and (k is not None or case.n_cells < 500):
            outcome = said(fitted.verify)
            hold(outcome.equal is True, "its own verify says", outcome)
    n = fitted.path_.n_trees
    hold((np.diff(n) >= 0).all(), "n_trees of the path", n)
    small = said(fitted.at, n_trees=int(n[0]))
    hold(small.n_trees_ == n[0], "at()")
    said(small.predict, rows)


def check_budget(case, rng):
    options = {}
    if rng.random() < 0.5:
        options["budget"] = str(rng.choice(["80%", "50%", "20%"]))
    elif rng.random() < 0.7:
        options["lam"] = float(rng.choice([0.0, 0.001, 0.05]))
    costs = np.ones(len(case.columns))
    if rng.random() < 0.4:
        costs = np.round(rng.uniform(0.1, 3, len(case.columns)), 1)
        options["feature_costs"] = costs
    options["labels"] = str(rng.choice(["tree", "tree", "sample"]))
    options["sharing"] = str(rng.choice(["ensemble", "ensemble", "tree"]))
    fitted = said(FeatureBudgetPruner(FrozenEstimator(case.model), **options).fit, case.X, case.y)
    fitted = _stored(fitted, rng)
    X, pruned = case.X, fitted.pruned_estimator_
    answers = said(fitted.predict, X)
    hold_alike(answers, ask(pruned, X), X, "pruned_estimator_")
    paid = said(fitted.feature_cost, X)
    bought = said(fitted.acquired_features, X)
    hold(np.allclose(bought @ costs, paid, rtol=1e-12), "feature_cost and acquired_features")
    if options["sharing"] == "ensemble":
        hold(abs(paid.mean() - fitted.cost_) <= 1e-9 * max(1, paid.mean()), "cost_", fitted.cost_)
    hold(fitted.cost_ <= fitted.unpruned_cost_ * (1 + 1e-12), "cost_ above unpruned_cost_")
    if fitted.budget_ is not None:
        hold(paid.mean() <= fitted.budget_ * (1 + 1e-9), "cost above the budget", paid.mean())
    hold(fitted.error_bound_ <= fitted.error_ * (1 + 1e-9) + 1e-12, "error_ below error_bound_")
    if case.is_classifier:
        wrong = unlike(answers, case.y).mean()
    else:
        wrong = ((answers - case.y) ** 2).mean()
    hold(np.isclose(wrong, fitted.forest_error_, rtol=1e-9, atol=1e-12), "forest_error_", wrong)
    if case.is_classifier:
        _hold_probabilities(fitted, X, answers)
    # what is not bought does not matter
    columns = [column.values.copy() for column in case.columns]
    for j, own in enumerate(columns):
        if own.dtype != object:
            free = ~bought[:, j]
            own[free] = case.entries(rng, j, int(free.sum()), [False] * len(columns), False)
    table = case.table(columns)
    hold_alike(said(fitted.predict, table), answers, table, "a feature that was not bought matters")
    path = fitted.path_
    hold((np.diff(path.costs) <= 1e-12).all(), "costs of the path")
    hold((np.diff(path.errors) >= -1e-12).all(), "errors of the path")


def check_budget_forest(case, rng):
    model = BudgetForestClassifier(n_estimators=4, max_depth=3, random_state=0)
    fitted = _stored(said(model.fit, case.X, case.y), rng)
    _hold_probabilities(fitted, case.X, said(fitted.predict, case.X))
    outcome = said(verify, fitted, deepcopy(fitted), max_boxes=200)
    hold(outcome.equal is not False, "a copy answers otherwise", outcome)


def check_representer(case, rng):
    options = dict(random_state=0, n_samples=300, batch_size=512)
    options["max_leaf_nodes"] = int(rng.integers(2, 9))
    options["sampler"] = str(rng.choice(["copula", "smear", "kernel", "neighbors"]))
    if case.is_classifier and rng.random() < 0.3:
        options["response"] = "probabilities"
    fitted = said(RepresenterTree(FrozenEstimator(case.model), **options).fit, case.X, case.y)
    fitted = _stored(fitted, rng)
    hold(fitted.get_n_leaves() <= options["max_leaf_nodes"], "max_leaf_nodes")
    answers = said(fitted.predict, case.X)
    if case.is_classifier:
        _hold_probabilities(fitted, case.X)
        if "response" not in options:
            share = 1 - unlike(answers, ask(case.model, case.X)).mean()
            found = said(fitted.fidelity, case.X)
            hold(abs(found - share) < 1e-12, f"fidelity() says {found}, it is {share}")
    hold(len(said(fitted.sample, 5, random_state=0)) == 5, "sample()")
    _hold_exports(case, rng, fitted)


def check_plain_trees(case, rng):
    kinds = [C45Tree, GuideTree, QuestTree]
    fitted = said(kinds[rng.integers(3)]().fit, case.X, case.y)
    answers = said(fitted.predict, case.X)
    _hold_probabilities(fitted, case.X, answers)
    _hold_exports(case, rng, fitted)


def check_single_model(case, rng):
    fitted = said(InterpretableSingleModel(FrozenEstimator(case.model)).fit, case.X, case.y)
    _hold_probabilities(fitted, case.X, said(fitted.predict, case.X))
    _hold_exports(case, rng, fitted)


def check_genesim(case, rng):
    model = GenesimClassifier(
        n_bootstraps=2,
        boosting=False,
        population_size=6,
        n_iter=2,
        n_crossovers=4,
        tournament_size=2,
        random_state=0,
        estimators=[FrozenEstimator(case.model)] if rng.random() < 0.5 else "auto",
    )
    fitted = _stored(said(model.fit, case.X, case.y), rng)
    answers = said(fitted.predict, case.X)
    _hold_probabilities(fitted, case.X, answers)
    small = said(fitted.at, n_leaves=int(fitted.pareto_front_.n_leaves.min()))
    said(small.predict, case.X)


def check_merge(case, rng):
    gaps = [column.has_gaps for column in case.columns]
    merged = said(merge_trees, [case.model], max_leaf_nodes=20_000, allow_nan=any(gaps))
    which = inputs(case, rng, near=any(gaps), plain=1.0)
    _, table, _ = everywhere(case, rng, which, True)
    shares, expected = (ask(model, table, "predict_proba") for model in (merged, case.model))
    hold(np.abs(shares - expected).max() < 1e-12, "not the mean:", np.abs(shares - expected).max())


def check_cultivated(case, rng):
    options = dict(max_depth=int(rng.integers(1, 6)), option_modules=bool(rng.random() < 0.7))
    if rng.random() < 0.5:
        options.update(max_leaf_nodes=int(rng.integers(2, 12)), max_options=3)
    fitted = _stored(said(CultivatedForestClassifier(**options).fit, case.X, case.y), rng)
    answers = said(fitted.predict, case.X)
    _hold_probabilities(fitted, case.X, answers)
    leaves = said(fitted.predict_set, case.X)
    hold(np.allclose(leaves.weights.sum(axis=1), 1, atol=1e-9), "fractions do not add up to 1")
    spread = said(fitted.predict_spread, case.X)
    hold(np.isfinite(spread).all() and (spread >= 0).all(), "spread", spread)


def check_estimate(case, rng):
    which = inputs(case, rng, near=True)
    if not which.inside([case.rounded(j) for j in range(len(case.columns))]).all():
        which = inputs(case, rng, near=True, plain=1.0)
    outcome = said(estimate, case.model, case.X, domain=which.domain)
    repr(outcome)
    hold(outcome.n_leaves >= outcome.n_leaves_lower_bound >= 1, "leaves below their bound")
    if case.n_cells > 500:
        return
    model = BornAgainClassifier(FrozenEstimator(case.model), domain=which.domain, random_state=0)
    fitted = said(model.fit, case.X, case.y)
    hold(fitted.n_leaves_ >= outcome.n_leaves_lower_bound, "a smaller tree than the bound")


def check_simplify(case, rng):
    y = None if rng.random() < 0.3 else case.y
    outcome = said(simplify, case.model, case.X, y, max_leaf_nodes=5, random_state=0)
    repr(outcome)
    outcome.to_frame()
    for row in outcome.table:
        hold(row.is_measured, row.name, row.note)
    for name, fitted in outcome.results.items():
        answers = said(fitted.predict, case.X)
        hold(len(answers) == case.n_rows, name)
    hold(outcome.best is None or outcome.best in outcome.results, "best", outcome.best)


# ------------------------------------------------------------------- exports


def check_export(case, rng):
    """A tree of scikit-learn, or one of the package, in other languages."""
    if case.name in ("tree", "extra tree", "tree, value", "merged"):
        _hold_exports(case, rng, case.model)
        return
    if not case.is_classifier:
        raise NotAsked("no tree")
    tree = BornAgainClassifier(
        FrozenEstimator(case.model), max_changes=0, method="heuristic", random_state=0
    )
    _hold_exports(case, rng, said(tree.fit, case.X, case.y))


def _hold_exports(case, rng, fitted):
    gaps = [column.has_gaps for column in case.columns]
    values = case.rows(rng, 120, gaps, False, fine=True)
    rows = [column.values for column in case.columns]
    values = [np.concatenate(own) for own in zip(values, rows, strict=True)]
    table = case.table(values, dtype=None)
    expected = said(fitted.predict, table)
    # what the table holds in its dtypes, in plain numbers
    values = _columns_of(table)
    languages = ["python", "sql", "json"]
    if rng.random() < 0.1 and shutil.which("gcc") and case.is_plain:
        languages = ["c"]
    language = str(rng.choice(languages))
    text = said(export_tree, fitted, language)
    said(export_tree, fitted)
    found = _RUN[language](case, text, values, fitted)
    hold_alike(found, expected, table, f"export as {language}")


def _names(case, values):
    return [f"c{j}" if case.frame else f"x{j}" for j in range(len(values))]


def _plain(value):
    if pd.isna(value):
        return None
    return value if isinstance(value, str) else float(value)


def _run_python(case, text, values, fitted):
    space = {}
    exec(text, space)  # what the user is told to do with it
    keys = _names(case, values) if case.frame else range(len(values))
    rows = zip(*[own.tolist() for own in values], strict=True)
    return np.array([space["predict"](dict(zip(keys, row, strict=True))) for row in rows])


def _run_sql(case, text, values, fitted):
    names = _names(case, values)
    base = sqlite3.connect(":memory:")
    base.execute(f"CREATE TABLE t ({', '.join(names)})")
    rows = [tuple(map(_plain, row)) for row in zip(*[v.tolist() for v in values], strict=True)]
    base.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(names))})", rows)
    found = [answer for (answer,) in base.execute(f"SELECT {text} FROM t ORDER BY rowid")]
    base.close()
    kind = getattr(fitted, "classes_", np.zeros(1)).dtype
    return np.array(found, dtype=object if None in found else kind)


def _run_json(case, text, values, fitted):
    tree = said(import_tree, text)
    table = case.table(values)
    return said(tree.predict, table)


def _run_c(case, text, values, fitted):
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder, "tree.c"), Path(folder, "tree.so")
        source.write_text(text)
        subprocess.run(
            ["gcc", "-std=c99", "-O1", "-shared", "-fPIC", "-o", made, source],
            check=True,
            capture_output=True,
        )
        function = ctypes.CDLL(str(made)).predict
        is_classifier = hasattr(fitted, "classes_") and len(fitted.classes_) > 0
        function.restype = ctypes.c_int if is_classifier else ctypes.c_double
        rows = np.ascontiguousarray(np.column_stack(values), dtype=np.float64)
        kind = ctypes.POINTER(ctypes.c_double)
        found = np.array([function(row.ctypes.data_as(kind)) for row in rows])
    return fitted.classes_[found] if is_classifier else found


_RUN = {"python": _run_python, "sql": _run_sql, "json": _run_json, "c": _run_c}


# ------------------------------------------------------------------- all


#: Questions, and how often each is drawn.
CHECKS = {
    "verify": (check_verify, 6),
    "born_again": (check_born_again, 6),
    "faithful": (check_faithful, 5),
    "agreement": (check_agreement, 0.7),
    "is_monotone": (check_monotone, 3),
    "sufficient_box": (check_box, 3),
    "nearest_flip": (check_flip, 3),
    "budget": (check_budget, 2),
    "budget_forest": (check_budget_forest, 0.3),
    "representer": (check_representer, 1),
    "inducers": (check_plain_trees, 0.3),
    "single_model": (check_single_model, 0.5),
    "genesim": (check_genesim, 0.4),
    "merge_trees": (check_merge, 1),
    "cultivated": (check_cultivated, 0.3),
    "estimate": (check_estimate, 0.3),
    "export_tree": (check_export, 1.5),
    "simplify": (check_simplify, 0.1),
    "is_sensitive": (check_sensitive, 3),
}
# Questions that take regressors, too; that take no text; no missing values either.
_OF_VALUES = (
    "verify", "born_again", "faithful", "is_monotone", "is_sensitive", "nearest_flip",
    "sufficient_box", "budget", "representer", "export_tree", "simplify",
)  # fmt: skip
_OF_NUMBERS = ("budget", "cultivated", "merge_trees")
_OF_KNOWN_NUMBERS = ("budget_forest", "representer", "inducers", "single_model", "genesim")
_EXCHANGE = ("treelite", "onnx")
_BAGS = ("tree", "extra tree", "forest", "extra trees", "bagging", "search", "ours", "merged")
_TREES = ("tree", "tree, value", "extra tree", "merged")
_ADDED = (*_BAGS, "adaboost", "gradient", "histogram", "catboost", "votes", "pipeline")


def goes_with(case, name):
    """Whether the package says that it answers a question about such a model."""
    kind = case.name.partition(",")[0]
    plain = case.is_plain and not any(column.has_gaps for column in case.columns)
    if kind.startswith(_EXCHANGE):
        asked = "verify agreement is_monotone is_sensitive sufficient_box nearest_flip".split()
        return name in asked and (case.is_classifier or name in _OF_VALUES)
    if not case.is_classifier and name not in _OF_VALUES:
        return False
    if (name in _OF_NUMBERS and not case.is_plain) or (name in _OF_KNOWN_NUMBERS and not plain):
        return False
    if name == "budget" or name == "merge_trees":
        return kind.startswith(_BAGS)
    if name == "export_tree" and not case.is_classifier:
        return case.name in _TREES
    return name != "faithful" or kind.startswith(_ADDED)


# The refusals that the pages document, for questions that otherwise go with a model. Any other one
# is a failure: a package that refuses what it read wrongly must not pass for a careful one.
_OF_MODELS = (
    "is not supported",
    "it treats a number as missing",
    "levels have letters beyond ASCII",
    "fills them in from other features",
    "does not take missing values",
)
_DOCUMENTED = {
    "verify": ("compare probabilities, but those of",),
    "born_again": (
        "voting='hard' is not defined for boosting",
        r"max_changes=\d does not go with atol",
        "keeps probabilities",
        "merge_thresholds=True does not go with",
        "post_prune=True does not go with",
        # bounds are numbers of the table, and rows of float32 can round beyond them
        "is outside the domain",
    ),
    "is_sensitive": ("is outside the domain", "response='probabilities' asks about numbers"),
    "is_monotone": ("response='probabilities' asks about numbers",),
    "nearest_flip": ("holds categories. These have no order", "is outside the domain"),
    "sufficient_box": ("is outside the domain",),
    "faithful": (
        "keeps probabilities",
        "does not add up votes of trees",
        "atol cannot be promised for the probabilities",
        "is outside the domain",
    ),
    "representer": ("has no predict_proba",),
    "budget": ("does not average single trees",),
}


def is_documented(case, question, detail):
    """Whether this may be refused: what the package does not take, or what its pages say."""
    if "answers otherwise than its trees" in detail:
        return False  # no model of a family is: it was read wrongly
    patterns = (*_OF_MODELS, *_DOCUMENTED.get(question, ()))
    return not goes_with(case, question) or any(re.search(own, detail) for own in patterns)


@dataclass(frozen=True)
class Outcome:
    """What became of one question: answered, refused, failed, or not asked."""

    family: str
    question: str
    state: str
    detail: str = ""


def look(seed, questions=None, family=None):
    """Ask about the model of a seed, of a family if it is given; what became of each question.

    A few are drawn, unless `questions` are given.
    """
    case = draw(seed, family)
    if isinstance(case, str):
        return [Outcome(case.partition(":")[0], "", "no model", case)]
    rng = np.random.default_rng([seed, 1])
    names = [name for name in CHECKS if goes_with(case, name) or rng.random() < 0.05]
    share = np.array([CHECKS[name][1] for name in names])
    n = min(int(rng.integers(3, 5)), len(names))
    drawn = rng.choice(len(names), n, replace=False, p=share / share.sum())
    found = []
    for name in questions or [names[i] for i in drawn]:
        # each question has numbers of its own, so that one alone can be asked again
        own = np.random.default_rng([seed, 2, list(CHECKS).index(name)])
        found.append(Outcome(case.name, name, *asked(name, case, own)))
    return found


def asked(name, case, rng):
    """What became of one question, and why."""
    try:
        CHECKS[name][0](case, rng)
    except NotAsked:
        return "not asked", ""
    except Refused as refusal:
        known = is_documented(case, name, str(refusal))
        return ("refused" if known else "failed"), str(refusal)
    except Broken as broken:
        return "failed", f"Broken: {broken}"
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)[-3:]
        where = " < ".join(f"{Path(f.filename).name}:{f.lineno}" for f in reversed(frames))
        return "failed", f"{type(error).__name__}: {error} ({where})"
    return "answered", ""


# ------------------------------------------------------- conditions in words


def members(text):
    """The members of "a, b or c", and of "a nor b"; texts in quotes are one."""
    parts = re.findall(r'((?:any but )?"(?:[^"\\]|\\.)*"|.+?)(?:, | or | nor |$)', text)
    return [json.loads(p) if p.startswith('"') else p for p in parts], parts


def condition_holds(rest, value, levels, order=()):
    """Whether a condition after a column's name is true of a value, by its words alone."""
    state = "missing" if pd.isna(value) else "known" if value in levels else "unknown"
    own = {"missing", "unknown"}
    if found := re.fullmatch(r"([≤>]) (\S+)((?: or missing)?(?: or unknown)?)", rest):
        if state != "known":
            return state in found[3]
        if value not in order:
            return bool(np.float32(value) <= np.float32(float(found[2])))
        is_up_to = order.index(value) <= order.index(found[2])
        return is_up_to if found[1] == "≤" else not is_up_to
    if rest == "is known":
        return state == "known"
    if rest.startswith("is not "):
        listed, _ = members(rest.removeprefix("is not "))
        assert state == "known", rest
        return value not in listed
    if rest.startswith("is neither "):
        listed, raw = members(rest.removeprefix("is neither "))
        words = {w for w, r in zip(listed, raw, strict=True) if r in own}
        return state not in words and not any(
            value == w for w, r in zip(listed, raw, strict=True) if r not in own
        )
    listed, raw = members(rest.removeprefix("is "))
    words = {w for w, r in zip(listed, raw, strict=True) if r in own}
    if state != "known":
        return state in words
    (but,) = [r for r in raw if r.startswith("any but ")] or [None]
    if but is not None:
        no = but.removeprefix("any but ")
        return value != (json.loads(no) if no.startswith('"') else no)
    return any(value == w for w, r in zip(listed, raw, strict=True) if r not in own)
