"""The smallest change of a row that flips its class, or brings a number into a range.

All cells that differ from the row's in one feature stand on its lines (`near_rows`), and every one
of them is looked at. For changes of several features at once, the sets that could flip the class
(`_sets`) are looked at one after the other: a proof settles all values of a set together, and where
there are flips among them, boxes of values are halved until the nearest one is known. What a row
does not decide (trees, lines, proofs, the values on the other side of cut points) is shared by all
rows.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import count, product
from numbers import Integral, Real
from sys import maxsize
from time import monotonic
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from sklearn.utils import gen_even_slices
from sklearn.utils.parallel import Parallel, delayed

from ensemble_simplify.audit._audited import Audited
from ensemble_simplify.audit._response import (
    CLASS,
    WITHIN,
    Question,
    Response,
    class_of,
    range_of,
)
from ensemble_simplify.audit._sets import sets_of_axes
from ensemble_simplify.base import Interval, StrOptions, deadline_after, validate_params
from ensemble_simplify.evidence import HasEvidence, Near
from ensemble_simplify.grid import Axes, Domain, Stopped, next_after
from ensemble_simplify.proof import Lines, Space, certify, may_begin, points_in, shown_entry
from ensemble_simplify.writing import counted, one_line, plain

# What the distances of the changed features add up to.
METRICS = {
    "l1": sum,
    "l2": lambda parts: float(np.sqrt(sum(part * part for part in parts))),
    "linf": lambda parts: max(parts, default=0.0),
}


@dataclass(frozen=True, eq=False, repr=False)
class NearestFlip(HasEvidence):
    """Outcome of `nearest_flip`.

    It is true (in the sense of ``if``) if a change was found that does what was asked for: the row
    gets another class, or reaches the `target`.

    Attributes
    ----------
    row : ndarray of shape (n_features,), table of one row, or None
        The changed row, to which the model itself gives another answer. None: no flip was found.
    changes : dict
        For each changed feature, its value before and after. It is also empty if the row itself
        reaches the target.
    predictions : tuple
        What the model itself answers to the row and, if there is one, to the changed row.
    distance : float
        The distance of the changed row, in the `metric`. Infinity without a flip.
    proven : bool
        If a flip was found: whether it is proven that no other flip has fewer changes or is nearer,
        and that no plans are nearer than the `plans`. If none was found: whether it is proven that
        there is none with at most `max_changes` changes.
    n_changes_lower_bound : int
        It is proven that no flip has fewer changed features, also if the time limit came first.
    max_changes : int
        How many features could change at once.
    seconds : float
        Time taken.
    domain : Domain, dict or None
        Which inputs counted. None: all.
    finer : bool
        True: only changes to numbers that float32 represents counted, because the model compares
        finer numbers.
    target : label, tuple of two numbers, or None
        What had to be reached, if that was given.
    probabilities : tuple
        With `min_proba`, the model's probabilities of the target class for the row and for the
        changed row. Otherwise empty.
    others : tuple of NearestFlip
        With `n_plans`, the plans after this one.
    claim : Claim or None
        What `save` writes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from ensemble_simplify import nearest_flip
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    >>> flip = nearest_flip(tree, X[100])
    >>> flip
    NearestFlip(2 becomes 1 by 3: 2.5 -> 1.75; nearest, distance 0.7895; ... s)
    >>> flip.changes
    {3: (2.5, 1.75)}
    """

    row: np.ndarray | None
    changes: dict
    predictions: tuple
    distance: float
    proven: bool
    n_changes_lower_bound: int
    max_changes: int
    seconds: float
    domain: Domain | dict | None = None
    finer: bool = False
    target: Any = None
    probabilities: tuple = ()
    others: tuple = ()
    claim: Any = None

    def __bool__(self):
        return self.row is not None

    @property
    def plans(self) -> list[NearestFlip]:
        """This flip and the `others`, with the fewest changes first, then the nearest first.

        A plan is left out if it changes all the features of an earlier plan, and more.
        """
        return [self, *self.others] if self else []

    def __repr__(self):
        n = counted(self.max_changes, "feature")
        if self.row is None and self.proven:
            to = " to numbers that float32 represents" if self.finer else ""
            text = f"proven: no change of at most {n}{to} flips {self.predictions[0]!r}"
            if self.probabilities or self.target is not None:
                text = f"proven: no change of at most {n}{to} takes {self._answer(0)} to the target"
            text += self._shares()
        elif self.row is None:
            text = f"undecided at the limit: no change of at most {n} was found"
            text += f", and none of fewer than {self.n_changes_lower_bound} flips the class"
        else:
            parts = [
                f"{one_line(key)}: {shown_entry(a)} -> {shown_entry(b)}"
                for key, (a, b) in self.changes.items()
            ]
            verb = "stays" if self.predictions[0] == self.predictions[1] else "becomes"
            text = f"{self._answer(0)} {verb} {self._answer(1)}{self._shares()} by "
            text += ", ".join(parts)
            if not parts:
                text = f"{self._answer(0)} meets the target{self._shares()}; no change is needed"
            text += f"; {'nearest' if self.proven else 'not proven nearest'}"
            text += f", distance {self.distance:.4g}"
            if self.others:
                text += f", and {counted(len(self.others), 'other plan')}"
        return f"NearestFlip({text}; {self.seconds:.3g} s)"

    def _answer(self, i):
        """What the model answers, before or after the change, in words."""
        answer = self.predictions[i]
        return f"{answer:.6g}" if isinstance(self.target, tuple) else repr(answer)

    def _shares(self):
        """The probabilities of the target in words, where they were asked about."""
        shares = dict.fromkeys(f"{share:.4g}" for share in self.probabilities)
        return f" (probability {' -> '.join(shares)})" if shares else ""


@validate_params(
    {
        "max_changes": [Interval(Integral, 1, None, closed="left")],
        "features": ["array-like", None],
        "frozen": ["array-like", None],
        "direction": [Mapping, None],
        "min_proba": [Interval(Real, 0, 1, closed="both"), None],
        "metric": [StrOptions(set(METRICS))],
        "n_plans": [Interval(Integral, 1, None, closed="left")],
        "scale": [Mapping, "array-like", None],
        "domain": [Domain, dict, None],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "n_jobs": [Integral, None],
    },
    prefer_skip_nested_validation=False,
)
def nearest_flip(
    model: Any,
    rows: ArrayLike,
    *,
    max_changes: int = 1,
    features: ArrayLike | None = None,
    frozen: ArrayLike | None = None,
    direction: Mapping | None = None,
    target: Any = None,
    min_proba: float | None = None,
    metric: str = "l1",
    n_plans: int = 1,
    scale: ArrayLike | Mapping | None = None,
    domain: Domain | dict | None = None,
    time_limit: float | None = None,
    n_jobs: int | None = None,
) -> NearestFlip | list[NearestFlip]:
    """Find the smallest change of one feature, or of a few, that changes what a model answers.

    What has to change is the class, or it has to become the `target`, or its probability has to
    reach `min_proba`. For a regressor, the value has to come into a range.

    Read more in the :ref:`User Guide <audit_flip>`.

    Parameters
    ----------
    model : estimator
        A fitted tree ensemble, a decision tree, a pipeline that ends in one, or an estimator of
        this package. It is not changed.
    rows : array-like of shape (n_features,) or (n_rows, n_features), frame or series
        One row or several, as the model takes them.
    max_changes : int, default=1
        How many features may change at once. The time can grow with the number of sets of so many
        features. A one-hot group of the `domain` counts as one feature: its columns move together.
    features : array-like of str or int, or None, default=None
        The features that may change, by name or index. None: all.
    frozen : array-like of str or int, or None, default=None
        Features that stay as they are.
    direction : mapping of str or int to {"up", "down"}, or None, default=None
        Features whose numbers may only rise, or only fall. A missing value stays.
    target : label, tuple of two numbers, or None, default=None
        The class to be reached. None: any other class. For a regressor, the range ``(low, high)``
        to be reached. Both ends belong to it, and None leaves one open.
    min_proba : float or None, default=None
        The least probability of the target class, as ``predict_proba`` answers it, that has to be
        reached. The class itself does not count then. With more than two classes, `target` has to
        be named.
    n_plans : int, default=1
        How many flips are looked for, each with other features. The attribute ``plans`` holds them.
    domain : Domain, dict or None, default=None
        Which inputs can occur. The changed row is one of them. See :class:`Domain`. None: every
        finite input. The features that a row lacks may then be missing, and so may those in which
        the model takes unknown levels for missing values.
    time_limit : float or None, default=None
        Seconds after which the search ends with what it has found, for all rows together.

    Returns
    -------
    flip : NearestFlip, or list of NearestFlip
        The changed ``row``, its ``changes``, both ``predictions`` and the ``distance``. If no flip
        was found, ``row`` is None, and ``proven`` says whether it is certain that there is none.
        For several rows, a list in their order.

    Other Parameters
    ----------------
    metric : {"l1", "l2", "linf"}, default="l1"
        How the distances of the changed features become one distance: their sum, the root of the
        sum of their squares, or the largest.
    scale : mapping, array-like of shape (n_features,) or None, default=None
        How large a change of each feature counts as 1: one positive number for each feature, or a
        mapping from some features, by name or index. None, and for features without an entry: the
        range of the feature's thresholds (1 if there is only one).
    n_jobs : int or None, default=None
        Processes among which the rows are shared out. None: 1, unless inside a
        ``joblib.parallel_backend``. -1: all processors.

    Raises
    ------
    TypeError
        If the model cannot be read, or `min_proba` is given and its probabilities do not come from
        one sum of trees (boosting of more than two classes, hard votes).
    ValueError
        If a row has the wrong form or is outside the domain, or another parameter does not fit
        the model.

    See Also
    --------
    sufficient_box : What can change without a flip.

    Notes
    -----
    *Order.* The flip with the fewest changed features is taken, and among these the nearest one.
    Plans after the first one come in the same order. A plan is left out if it changes all the
    features of an earlier plan, and more: the additional changes would be for nothing.

    *Distance.* For a number, it is the absolute change divided by its scale. Another category,
    another member of a one-hot group, or a value that becomes missing or known counts as 1. The new
    value of a number is the nearest float32 number on the other side of a threshold. For models
    that compare float64 numbers (HistGradientBoosting, LightGBM), it is the nearest float64 number.

    *Pipelines* are followed on the numbers that float32 represents. If a row has a number between a
    threshold and the next float32 number, the nearest numbers that float32 represents stand for it,
    provided that the model gives the same answer to them. If there are none, that is an error. They
    are among the ``changes`` only if the flip needs them.

    *Proof.* Finitely many cells differ from the cell of the row in so many features. That none of
    them has another class is proven by bounds on many cells at once [1]_.

    References
    ----------
    .. [1] A. Kantchelian, J. D. Tygar, A. D. Joseph (2016). Evasion and Hardening of Tree Ensemble
       Classifiers. Proceedings of Machine Learning Research 48, 2387-2396.
       https://proceedings.mlr.press/v48/kantchelian16.html

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from ensemble_simplify import nearest_flip
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> forest = RandomForestClassifier(50, random_state=0).fit(X, y)
    >>> nearest_flip(forest, X.iloc[0])
    NearestFlip(proven: no change of at most 1 feature flips 0; ... s)
    >>> borderline = abs(forest.predict_proba(X)[:, 0] - 0.5).argmin()
    >>> nearest_flip(forest, X.iloc[borderline])
    NearestFlip(... becomes ... by ...: ... -> ...; nearest, distance ...; ... s)

    How many changes do three patients need to reach a value of at most 150?

    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import GradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = GradientBoostingRegressor(n_estimators=20, random_state=0).fit(X, y)
    >>> flips = nearest_flip(
    ...     model, X[:3], target=(None, 150), frozen=["age", "sex"], max_changes=2
    ... )
    >>> [len(flip.changes) for flip in flips]
    [1, 0, 1]
    """
    begin, deadline = monotonic(), deadline_after(time_limit)
    audited = Audited(model, domain, rows, name="rows", classifier=False, with_ties=True)
    what = _What.of(audited, target, min_proba)
    may, sides = _may_change(audited, features, frozen, direction)
    asked = _Asked(
        audited, what, may, sides, _own_scales(audited, scale), metric, n_plans, max_changes
    )
    n_rows = len(audited.numbers)
    if n_rows == 1:
        flip = asked.with_claims(asked.flips([0], deadline))[0]
        return replace(flip, seconds=monotonic() - begin)
    n_tasks = min(effective_n_jobs(n_jobs), n_rows)
    if n_tasks == 1:
        return asked.with_claims(asked.flips(range(n_rows), deadline))
    parts = Parallel(n_jobs=n_jobs)(
        delayed(replace(asked, audited=audited.alone()).flips)(range(n_rows)[part], deadline)
        for part in gen_even_slices(n_rows, n_tasks)
    )
    return asked.with_claims([flip for part in parts for flip in part])


@dataclass(frozen=True)
class _What:
    """What has to be reached: a class (None: another one), a probability of it, or a range.

    `target` is as the user gave it, `label` the place of the class.
    """

    target: Any = None
    label: int | None = None
    min_proba: float | None = None

    @classmethod
    def of(cls, audited, target, min_proba):
        forest, name = audited.model.forest, f"{audited.model.name}(...)"
        if forest.classes is None:
            if min_proba is not None:
                raise ValueError(
                    f"min_proba={min_proba!r}, but {name} is a regressor. Give target=(low, high)."
                )
            if not isinstance(target, tuple | list):
                raise ValueError(
                    f"target={target!r}, but {name} is a regressor. Give the range to be reached, "
                    "target=(low, high), where None leaves an end open."
                )
            return cls(range_of(target, "target"))
        classes = forest.classes.tolist()
        label = None if target is None else class_of(classes, target, "target")
        if min_proba is not None and label is None and len(forest.classes) != 2:
            raise ValueError(
                f"min_proba={min_proba!r} is about one of the {len(forest.classes)} classes of "
                f"{name}. Name it as target."
            )
        what = cls(target, label, min_proba)
        if min_proba is not None:
            # a model without such probabilities is refused before any work
            forest.in_range(*what.question(0).range, 0)
        return what

    def question(self, own):
        """The question about a row that has a class, and the classes that it may become."""
        if isinstance(self.target, tuple) and self.label is None:
            return Question.about(Response("value"), *self.target)
        if self.min_proba is None:
            return CLASS
        aim = 1 - own if self.label is None else self.label
        return Question.about(Response("proba", aim), self.min_proba, np.inf)

    def wanted(self, question, forest, own):
        """The classes of a forest that are to be reached by a row of class `own`, as a mask."""
        if question.range is not None:
            return forest.classes == WITHIN
        if self.label is None:
            return np.arange(forest.n_classes) != own
        return np.arange(forest.n_classes) == self.label


def _may_change(audited, features, frozen, direction):
    """Which features may change, as a mask, and to which side each: 1, -1, or 0 for both."""
    n_features = audited.model.forest.n_features
    may, sides = np.ones(n_features, dtype=bool), np.zeros(n_features, dtype=np.intp)
    if features is not None:
        may[:] = False
        may[[audited.index(key, "features") for key in features]] = True
    for key in () if frozen is None else frozen:
        j = audited.index(key, "frozen")
        if features is not None and may[j]:
            raise ValueError(
                f"The feature {audited.key(j)!r} is in features and in frozen. Leave it out of one."
            )
        may[j] = False
    for key, side in (direction or {}).items():
        j = audited.index(key, "direction")
        if side not in ("up", "down"):
            raise ValueError(
                f"direction is {side!r} for the feature {audited.key(j)!r}. It must be 'up' or "
                "'down'. Features that stay belong in frozen."
            )
        if audited.table.categorical[j]:
            raise ValueError(
                f"direction names the feature {audited.key(j)!r}, which holds categories. These "
                "have no order: name it in frozen, or leave it out."
            )
        sides[j] = 1 if side == "up" else -1
    return may, sides


def _own_scales(audited, scale):
    """What counts 1 in each feature, where the user says it; NaN where not."""
    n_features = audited.model.forest.n_features
    scales = np.full(n_features, np.nan)
    if scale is None:
        return scales
    if isinstance(scale, Mapping):
        given = {audited.index(key, "scale"): value for key, value in scale.items()}
    else:
        given = np.asarray(scale, dtype=np.float64)
        if given.shape != (n_features,):
            raise ValueError(
                f"scale has the shape {given.shape}, but the model was fitted on "
                f"{n_features} features. Give a number for each, or a mapping."
            )
        given = dict(enumerate(given.tolist()))
    for j, value in given.items():
        if not (value > 0 and np.isfinite(value)):
            raise ValueError(
                f"scale is {value} for the feature {audited.key(j)!r}. It must be a positive "
                "number. To say what may change, use features."
            )
        scales[j] = value
    return scales


@dataclass
class _Asked:
    """The rows, and what is asked about each of them."""

    audited: Audited
    what: _What
    may: np.ndarray
    sides: np.ndarray
    scales: np.ndarray
    metric: str
    n_plans: int
    max_changes: int

    def flips(self, rows, deadline):
        """The flips of some rows, by number."""
        return [self._flip(i, deadline) for i in rows]

    def with_claims(self, flips):
        """The flips of all rows, with what they say as evidence says it."""
        # a row's class, where any other one counts and every feature may change either way
        if self.what != _What() or self.sides.any():
            return flips
        return [replace(flip, claim=self._claim(i, flip)) for i, flip in enumerate(flips)]

    def _claim(self, i, flip):
        if self.audited.model.forest.classes is None or not (flip or flip.proven):
            return None
        audited = self.audited.on(i)
        if flip:
            point = audited.model.table.read(
                flip.row if hasattr(flip.row, "columns") else flip.row[None]
            )
            return audited.claim(point=point[0].astype(np.float64))
        groups = [] if audited.inside is None else audited.inside.one_hot
        several = {j for group in groups for j in group}
        vary = [list(group) for group in groups if self.may[group].all()]
        vary += [[j] for j in np.flatnonzero(self.may).tolist() if j not in several]
        return audited.claim(near=Near(audited.row[None], self.max_changes, sorted(vary)))

    def _flip(self, i, deadline):
        begin = monotonic()
        audited, own = self.audited, None
        if self.what.min_proba is not None:
            classes = audited.model.forest.classes.tolist()
            own = class_of(classes, audited.answers_to_rows(CLASS)[i], "rows")
        question = self.what.question(own)
        audited = audited.on(i, question)
        field = audited.kept.get("field")
        if field is None:
            field = _Field(audited, self.may, self.sides, self.scales)
            audited.kept["field"] = field
        own = int(field.lines.classes_of(audited.cell)[0])
        classes = audited.forest.classes
        audited.check(classes[own])
        wanted = self.what.wanted(question, audited.forest, own)
        common = {
            "max_changes": int(self.max_changes),
            "domain": audited.domain,
            "finer": audited.finer,
            "target": self.what.target,
        }
        if wanted[own]:
            # nothing is needed
            plan = self._shown(audited, audited.given, audited.answer, common)
            return replace(plan, seconds=monotonic() - begin)
        search = _Search(field, audited, own, wanted, METRICS[self.metric], self.n_plans, deadline)
        proven = search.run(min(int(self.max_changes), len(field.units)))
        plans = [self._plan(audited, field, *found, common) for found in search.plans]
        plans = [plan for plan in plans if plan is not None]
        # what was searched is the neighbourhood of the row that stands for the one given
        proven = proven and not audited.moved
        fewest = search.fewest if plans or not proven else int(self.max_changes) + 1
        plans = plans or [self._none(audited, common)]
        known = {
            "proven": proven,
            "n_changes_lower_bound": min(fewest, 1) if audited.moved else fewest,
            "seconds": monotonic() - begin,
        }
        plans = [replace(plan, **known) for plan in plans]
        return replace(plans[0], others=tuple(plans[1:]))

    def _plan(self, audited, field, distance, cell, common):
        """A flip as the user sees it; None if numbers that only doubles tell apart are changed."""
        label = audited.forest.classes[int(field.lines.classes_of(cell[None])[0])]
        axes = np.flatnonzero(cell != audited.cell[0])
        values = field.values(audited)[field.lines.first[axes] + cell[axes]]
        # the row as it was given, but for the change; what float32 makes of it, if only that flips
        for row in (audited.given, audited.row):
            both = np.stack([audited.given, row])
            both[1, audited.axes.features[axes]] = values
            answer = audited.answers(both[1:])[0]
            after = audited.question.labels(answer)
            if after == label:
                break
        if after != label or after == audited.question.labels(audited.answer):
            raise audited.disagrees(both)
        same = (both[0] == both[1]) | np.isnan(both).all(axis=0)
        if len(set(field.unit_of[~same].tolist())) > self.max_changes:
            return None
        return replace(self._shown(audited, both[1], answer, common), distance=float(distance))

    def _shown(self, audited, row, answer, common):
        """The outcome for a changed row, and what the model answers to it."""
        both = np.stack([audited.given, row])
        shown = audited.table.shown(both)
        changes = changes_between(audited, both, shown)
        before, probabilities = self._before(audited)
        if probabilities:
            probabilities += (float(answer),)
            answer = audited.model.answers(both[1:])[0] if changes else before
        return NearestFlip(
            row=shown[1] if audited.table.is_uniform else audited.table.shown(both[1:]),
            changes=changes,
            predictions=(before, plain(answer)),
            distance=0.0,
            proven=True,
            n_changes_lower_bound=0,
            seconds=0.0,
            probabilities=probabilities,
            **common,
        )

    def _none(self, audited, common):
        """The outcome where no flip was found."""
        before, probabilities = self._before(audited)
        return NearestFlip(
            row=None,
            changes={},
            predictions=(before,),
            distance=np.inf,
            proven=False,
            n_changes_lower_bound=1,
            seconds=0.0,
            probabilities=probabilities,
            **common,
        )

    def _before(self, audited):
        """What the model answers to a row, and its probability of the class to be reached."""
        if audited.question.response.kind != "proba":
            return plain(audited.answer), ()
        labels = audited.answers_to_rows(CLASS)
        return plain(labels[audited.place]), (float(audited.answer),)


def changes_between(audited, both, shown):
    """The changed features with their values before and after, as the user has them."""
    found = {}
    same = (both[0] == both[1]) | np.isnan(both).all(axis=0)
    for j in np.flatnonzero(~same).tolist():
        column = shown.iloc[:, j] if hasattr(shown, "iloc") else shown[:, j]
        found[audited.key(j)] = tuple(plain(value) for value in column)
    return found


def _of_feature(inside, j):
    """The domain of one feature alone; None: everything is inside."""
    if inside is None:
        return None
    names = ("low", "high", "integer", "missing")
    own = {name: getattr(inside, name)[[j]] for name in names}
    # groups and implications exclude cells, but do not change the values inside of a cell
    return replace(inside, clauses=frozenset(), **own)


class _Field:
    """Where changes can lead on the axes of a model, whatever the row is.

    What it knows of the cells of all axes stands one axis after the other, as on `lines`.

    Attributes
    ----------
    lines : Lines
    axis, place : intp arrays of shape (n_positions,)
        The axis of each cell, and its place on it.
    units : list of intp arrays
        Axes that change together: mostly one.
    unit_of : intp array of shape (n_features,)
        Which features count as one.
    """

    def __init__(self, audited, may, sides, scales):
        inside, axes = audited.inside, audited.axes
        self.forest, self.axes, self.inside = audited.forest, axes, inside
        outside = None if inside is None else inside.outside(axes)
        self.lines = Lines(audited.forest, axes, outside)
        n_cells = np.array(axes.shape, dtype=np.intp)
        self.axis = np.repeat(np.arange(len(n_cells)), n_cells)
        self.place = np.arange(len(self.axis)) - self.lines.first[self.axis]
        features = np.asarray(axes.features, dtype=np.intp)
        self.features = features[self.axis]
        parts = [_values(audited, a) for a in range(len(n_cells))]
        none = np.zeros(0)
        self.anywhere, self.from_above, self.from_below = (
            np.concatenate([none, *own]) for own in zip(*parts, strict=True) or (none, none, none)
        )
        scales = scales.copy()
        for j, cuts in zip(features, axes.cuts, strict=True):
            cuts = cuts[np.isfinite(cuts)]
            if np.isnan(scales[j]):
                scales[j] = cuts[-1] - cuts[0] if len(cuts) > 1 else 1.0
        self.scale = scales[self.features]
        self.is_coded = audited.table.categorical[self.features]
        self.may, self.side = may[features], sides[features]
        # the last cell of numbers on each axis
        self.last = n_cells - 1
        self.last_number = np.array([np.isfinite(cuts).sum() for cuts in axes.cuts], dtype=np.intp)
        self._count(features)
        self._spaces = {}

    def _count(self, features):
        """Find out which axes change together."""
        self.unit_of = np.arange(self.forest.n_features, dtype=np.intp)
        self.units = [np.array([a]) for a in range(len(features))]
        groups = [] if self.inside is None else self.inside.one_hot
        place = {int(j): a for a, j in enumerate(features)}
        for group in groups:
            self.unit_of[group] = group[0]
            on = np.array([place[j] for j in group if j in place], dtype=np.intp)
            if len(on):
                self.units = [unit for unit in self.units if unit[0] not in on] + [on]

    def values(self, audited):
        """The value of each cell that is nearest to a row's."""
        own = audited.cell[0][self.axis]
        x = audited.row[self.features]
        known = ~np.isnan(x)
        value = np.where(known & (self.place < own), self.from_above, self.anywhere)
        above = known & (self.place > own) & (self.place <= self.last_number[self.axis])
        value = np.where(above, self.from_below, value)
        return np.where(known & (self.place == own), x, value)

    def distances(self, audited):
        """The distance of each cell from a row, as far as its axis goes."""
        own, x = audited.cell[0], audited.row[self.features]
        value = self.values(audited)
        distance = np.abs(value - x) / self.scale
        distance[self.is_coded | np.isnan(value) | np.isnan(x)] = 1.0
        for unit in self.units:
            if len(unit) > 1:
                # another member of a group: what it takes is told by the one that goes
                for a in unit:
                    distance[self.lines.first[a] : self.lines.first[a + 1]] = own[a]
        distance[self.place == own[self.axis]] = 0.0
        return distance

    def ends(self, audited):
        """First and last cell of each axis that the row may go to."""
        own = audited.cell[0]
        low, high = np.zeros_like(own), self.last.astype(own.dtype)
        lacks = own > self.last_number
        stays = ~self.may | (lacks & (self.side != 0))
        low = np.where(stays | (self.side > 0), own, low)
        high = np.where(stays | (self.side < 0), own, high)
        rises = ~stays & (self.side > 0)
        return low, np.where(rises, self.last_number, high).astype(own.dtype)

    def space(self, own, wanted, deadline):
        """The forest beside one that answers a class: what is wanted there is wrong."""
        key = own, wanted.tobytes()
        if key not in self._spaces:
            if not may_begin([self.forest], deadline):
                raise Stopped
            pair = [self.forest, self.forest.constant(own)]
            aims = set(self.forest.classes[wanted].tolist())
            start = self.forest.classes[own]

            def wrong(labels):
                is_aim = np.array([label in aims for label in labels])
                return is_aim[:, None] & np.array([label == start for label in labels])

            self._spaces[key] = Space(pair, self.axes, self.inside, wrong)
        return self._spaces[key]


def _values(audited, a):
    """Values in the cells of an axis: any, the nearest from above, and the nearest from below."""
    inside, j, cuts = audited.inside, audited.axes.features[a], audited.axes.cuts[a]
    finite = cuts[np.isfinite(cuts)]
    cells = np.arange(audited.axes.shape[a])[:, None]
    anywhere = points_in(Axes([cuts], audited.axes.row_dtype), _of_feature(inside, j), cells)[:, 0]
    whole = inside is not None and inside.integer[j]
    dtype = "float32" if audited.table.narrow[j] else audited.axes.row_dtype
    ends = np.floor(finite) if whole else finite
    after = np.floor(finite) + 1.0 if whole else next_after(finite, dtype)
    from_above, from_below = anywhere.copy(), anywhere.copy()
    from_above[: len(finite)], from_below[1 : len(finite) + 1] = ends, after
    if inside is not None:
        from_above, from_below = (
            np.clip(own, inside.low[j], inside.high[j]) for own in (from_above, from_below)
        )
    return anywhere, from_above, from_below


class _Search:
    """The search for the flips of the fewest changes and, of these, of the least distance.

    Attributes
    ----------
    plans : list of pairs of float and int32 array of shape (n_axes,)
        The distances and cells of the flips, the best first.
    fewest : int
        No flip has fewer changes.
    """

    def __init__(self, field, audited, own, wanted, metric, n_plans, deadline):
        self.field, self.lines, self.metric = field, field.lines, metric
        self.own, self.wanted, self.deadline = own, wanted, deadline
        self.row = audited.cell[0]
        self.distances = np.split(field.distances(audited), self.lines.first[1:-1])
        self.low, self.high = field.ends(audited)
        self.n_plans, self.plans, self.fewest = n_plans, [], 1
        # of each number of changes: the flips of sets of units
        self.level = {}

    def run(self, max_changes):
        """Look for flips of at most so many changes; False if the time was up first."""
        moves = self.low < self.high
        units = [unit for unit in self.field.units if moves[unit].any()]
        smaller = []
        try:
            for n in range(1, max_changes + 1):
                if n == 1:
                    self._walk_lines(units)
                else:
                    for chosen in self._sets(units, n):
                        if not any(own <= set(chosen) for own in smaller):
                            self._look_at(chosen)
                found = list(self.level)
                self._keep()
                if len(self.plans) == self.n_plans:
                    return True
                if not self.plans:
                    self.fewest = n + 1
                # all changes of a flip are needed
                smaller += [set(chosen) for chosen in found]
                units = [unit for unit in units if (int(unit[0]),) not in found]
        except Stopped:
            self._keep()
            return False
        return True

    def _sets(self, units, n):
        """Sets of units, by their first axes, that could flip the class together."""
        limits = self.low, self.high
        wanted = np.flatnonzero(self.wanted)
        yield from sets_of_axes(
            self.lines, self.row, self.own, wanted, units, limits, n, self.deadline
        )

    def _keep(self):
        """Take the best flips of the level among the plans."""
        room = self.n_plans - len(self.plans)
        self.plans += sorted(self.level.values(), key=lambda found: found[0])[:room]
        self.level = {}

    def _bound(self, chosen):
        """Flips of a set of units that are no nearer than this are not looked for."""
        room, others = self.n_plans - len(self.plans), dict(self.level)
        best = others.pop(chosen, (np.inf, None))[0]
        if len(others) < room:
            return best
        return min(best, sorted(distance for distance, _ in others.values())[room - 1])

    def _note(self, chosen, distance, cell):
        """Keep a flip of a set of units if it is the nearest one."""
        if distance < self._bound(chosen):
            self.level[chosen] = distance, cell

    def _walk_lines(self, units):
        """Look at all changes of one unit."""
        labels = self.lines.labels(self.row[None], self.deadline)[0]
        flips = np.append(self.wanted, False)[np.minimum(labels, len(self.wanted))]
        first = self.lines.first
        for unit in units:
            if len(unit) > 1:
                self._walk_group(unit)
                continue
            (a,) = unit.tolist()
            cells = slice(self.low[a], self.high[a] + 1)
            total = np.where(flips[first[a] : first[a + 1]], self.distances[a], np.inf)[cells]
            at = int(total.argmin())
            if total[at] < np.inf:
                cell = self.row.copy()
                cell[a] += at - (self.row[a] - self.low[a])
                self._note((a,), total[at], cell)

    def _walk_group(self, unit):
        """Look at all moves inside of a group."""
        goes = unit[(self.row[unit] == 1) & (self.low[unit] == 0)]
        comes = unit[(self.row[unit] == 0) & (self.high[unit] == 1)]
        if not len(goes) or not len(comes):
            return
        cells = np.tile(self.row, (len(comes), 1))
        cells[:, goes] = 0
        cells[np.arange(len(comes)), comes] = 1
        labels = self.lines.classes_of(cells)
        flips = np.append(self.wanted, False)[np.minimum(labels, len(self.wanted))]
        if flips.any():
            self._note((int(unit[0]),), self.metric([1.0]), cells[flips.argmax()])

    def _look_at(self, chosen):
        """Look at all changes of some units together."""
        units = [unit for unit in self.field.units if int(unit[0]) in chosen]
        axes = np.concatenate(units)
        lo, hi = self.row.copy(), self.row.copy()
        lo[axes], hi[axes] = self.low[axes], self.high[axes]
        boxes, number = [], count()
        if self._flips(chosen, units, lo, hi):
            # every unit changes: fewer changes flip nothing
            for sides in product(*(self._sides(unit) for unit in units)):
                part_lo, part_hi = lo.copy(), hi.copy()
                for a, first, last in sides:
                    part_lo[a], part_hi[a] = first, last
                self._push(boxes, number, chosen, units, part_lo, part_hi)
        while boxes:
            least, _, lo, hi = heapq.heappop(boxes)
            if least >= self._bound(chosen):
                return
            if not self._flips(chosen, units, lo, hi):
                continue
            a = max(axes, key=lambda a: hi[a] - lo[a])
            middle = (lo[a] + hi[a]) // 2
            for first, last in ((lo[a], middle), (middle + 1, hi[a])):
                part_lo, part_hi = lo.copy(), hi.copy()
                part_lo[a], part_hi[a] = first, last
                self._push(boxes, number, chosen, units, part_lo, part_hi)

    def _sides(self, unit):
        """The ranges of cells, as triples with an axis, that are a change of a unit."""
        if len(unit) > 1:
            return [(a, 0, 0) for a in unit if self.row[a] == 1]
        (a,) = unit
        return [(a, self.low[a], self.row[a] - 1), (a, self.row[a] + 1, self.high[a])]

    def _push(self, boxes, number, chosen, units, lo, hi):
        """Note a box by the least distance in it, unless it is empty or that is too large."""
        if (lo > hi).any():
            return
        least = self.metric(
            [sum(self.distances[a][lo[a] : hi[a] + 1].min() for a in unit) for unit in units]
        )
        if least < self._bound(chosen):
            heapq.heappush(boxes, (least, next(number), lo, hi))

    def _flips(self, chosen, units, lo, hi):
        """Whether a box has a cell that is wanted; one that is nearer than any yet is kept."""
        space = self.field.space(self.own, self.wanted, self.deadline)
        held, cells, _ = certify(space, lo, hi, self.deadline, maxsize)
        if held is None:
            raise Stopped
        if held:
            return False
        cell = cells[0]
        distance = self.metric([sum(self.distances[a][cell[a]] for a in unit) for unit in units])
        self._note(chosen, distance, cell)
        return True
