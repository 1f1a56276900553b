"""The smallest change of a row that flips its class, or brings a number into a range.

Here is what is asked, and what is told. What is found is `_flip_search`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Integral, Real
from os import PathLike
from time import monotonic
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from sklearn.utils import gen_even_slices
from sklearn.utils.parallel import Parallel, delayed

from ensemble_simplify.audit._audited import Audited, kept_in_words
from ensemble_simplify.audit._flip_search import METRICS, Field, FlipSearch, scales_of
from ensemble_simplify.audit._response import (
    CLASS,
    WITHIN,
    Question,
    Response,
    class_of,
    range_of,
)
from ensemble_simplify.base import Interval, Stream, StrOptions, validate_params
from ensemble_simplify.evidence import HasEvidence, Near
from ensemble_simplify.grid import Domain, carried, limited
from ensemble_simplify.proof import shown_entry
from ensemble_simplify.writing import counted, one_line, plain


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
    keeping : tuple of str
        What the rows of a frame restricted, where no domain was given: "whole numbers", "known
        levels", or both. The printed form names it.
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
        What `save` writes: the flip, or that there is none.
    nearest_claim : Claim or None
        What ``save(nearest=True)`` writes, of a flip of one feature.

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
    keeping: tuple = ()
    finer: bool = False
    target: Any = None
    probabilities: tuple = ()
    others: tuple = ()
    claim: Any = None
    nearest_claim: Any = None

    _more = (
        "nearest_claim",
        "nearest=True is about a flip that is proven to be the nearest one of the fewest changes. "
        "Leave it out, or ask without time_limit.",
    )

    def __bool__(self):
        return self.row is not None

    @limited
    def save(  # ty: ignore[incompatible-attribute-override]
        self,
        path: str | PathLike,
        *,
        nearest: bool = False,
        max_boxes: int = 1_000_000,
        time_limit: float | None = None,
    ) -> None:
        """Write the outcome and its proof to a file that another program can check.

        Read more in the :ref:`guide <evidence>`.

        Parameters
        ----------
        path : str or path-like
            The file, in JSON. It is compressed if its name ends in ``.gz``.
        nearest : bool, default=False
            False: the file shows the changed row, or that there is none. True: it shows that no row
            of fewer changes has the answer that was asked for, and none of as many that is nearer.
        max_boxes : int, default=1_000_000
            The most boxes that the proof may take.
        time_limit : float or None, default=None
            Seconds after which :class:`TimeLimitError` is raised.

        Raises
        ------
        TimeLimitError
            If the time is over. No file is written.
        ValueError
            If there is nothing to save, with what would help.
        """
        self._save(path, max_boxes, more=nearest)

    @property
    def plans(self) -> list[NearestFlip]:
        """This flip and the `others`, with the fewest changes first, then the nearest first.

        A plan is left out if it changes all the features of an earlier plan, and more.
        """
        return [self, *self.others] if self else []

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        n = counted(self.max_changes, "feature")
        if self.row is None and self.proven:
            to = " to numbers that float32 represents" if self.finer else ""
            text = f"proven: no change of at most {n}{to} flips {self.predictions[0]!r}"
            if self.probabilities or self.target is not None:
                text = f"proven: no change of at most {n}{to} takes {self._answer(0)} to the target"
            text += self._shares() + kept_in_words(self.keeping)
        elif self.row is None:
            text = f"undecided at the limit: no change of at most {n} was found"
            text += f", and none of fewer than {self.n_changes_lower_bound} flips the class"
            text += kept_in_words(self.keeping)
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
            text += kept_in_words(self.keeping) + f", distance {self.distance:.4g}"
            if self.others:
                text += f", and {counted(len(self.others), 'other plan')}"
        return text

    def _answer(self, i):
        """What the model answers, before or after the change, in words."""
        answer = self.predictions[i]
        return f"{answer:.6g}" if isinstance(self.target, tuple) else repr(answer)

    def _shares(self):
        """The probabilities of the target in words, where they were asked about."""
        shares = dict.fromkeys(f"{share:.4g}" for share in self.probabilities)
        return f" (probability {' -> '.join(shares)})" if shares else ""


@limited
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
    }
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

    Read more in the :ref:`guide <audit_flip>`.

    Parameters
    ----------
    model : estimator
        A fitted tree ensemble, a decision tree, a pipeline that ends in one, or an estimator of
        this package. It is not changed.
    rows : array-like of shape (n_features,) or (n_rows, n_features), frame, series or stream
        One row or several, as the model takes them. A stream, as for :func:`agreement`, of frames
        needs a `domain`. The columns of a frame also say what can occur
        (see `domain`), those of a series only where it holds objects: ``X.iloc[[0]]`` says more
        than ``X.iloc[0]``.
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
        Which inputs can occur. The changed row is one of them. See :class:`Domain`. None, with a
        frame: inputs like its rows, as of ``Domain.from_rows(rows, ranges=False)``. Whole numbers
        stay whole (also where floats are whole in the rows, and the model splits them as such),
        booleans 0 or 1, levels are known ones, and only what a row lacks may be missing. None, with
        an array: every finite input. The features that a row lacks may then be
        missing, and so may those in which the model takes unknown levels for missing values.
        ``Domain()`` asks for the same with a frame.
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
        range of the feature's thresholds in the model, whatever the `domain` (1 if there is only
        one).
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
    another member of a group, or a value that becomes missing or known counts as 1. The new
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
    options = {key: own for key, own in locals().items() if key not in ("model", "rows")}
    begin, stream = monotonic(), Stream.of(rows)
    if stream is not None:
        flips = (_of_batch(model, batch, options) for batch in stream)
        return [flip for found in flips for flip in found]
    # of single changes, the model can be asked at every cell
    layout = "if small" if max_changes == 1 else "whole"
    audited = Audited(model, domain, rows, name="rows", with_ties=True, layout=layout)
    what = _What.of(audited, target, min_proba)
    may, sides = _may_change(audited, features, frozen, direction)
    asked = _Asked(
        audited, what, may, sides, _own_scales(audited, scale), metric, n_plans, max_changes
    )
    n_rows = len(audited.numbers)
    if n_rows == 1:
        flip = asked.with_claims(asked.flips([0]))[0]
        return replace(flip, seconds=monotonic() - begin)
    n_tasks = min(effective_n_jobs(n_jobs), n_rows)
    if n_tasks == 1:
        return asked.with_claims(asked.flips(range(n_rows)))
    parts = Parallel(n_jobs=n_jobs)(
        delayed(carried(replace(asked, audited=audited.alone()).flips))(range(n_rows)[part])
        for part in gen_even_slices(n_rows, n_tasks)
    )
    return asked.with_claims([flip for part in parts for flip in part])


def _of_batch(model, rows, options):
    """The flips of a batch of a stream."""
    if options["domain"] is None and hasattr(rows, "columns"):
        raise ValueError(
            "rows is a stream of frames, whose batches need not tell alike which inputs can occur. "
            "Say it: domain=Domain.from_rows(...) of some rows, or Domain() for every input."
        )
    found = nearest_flip(model, rows, **options)
    return found if isinstance(found, list) else [found]


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
        return Question.about(Response("probabilities", aim), self.min_proba, np.inf)

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

    def flips(self, rows) -> list[NearestFlip]:
        """The flips of some rows, by number."""
        return [self._flip(i) for i in rows]

    def with_claims(self, flips):
        """The flips of all rows, with what they say as evidence says it."""
        return [self._with_claims(i, flip) for i, flip in enumerate(flips)]

    def _with_claims(self, i, flip):
        what, question = self.what, self._question(i)
        # without a change, the answer itself is what was asked for
        if not (flip or flip.proven) or (flip and not flip.changes):
            return flip
        audited, avoided = self.audited.on(i, question), what.label
        if question.range is not None:
            avoided = True
        if not flip:
            near = self._near(audited, self.max_changes)
            return replace(flip, claim=audited.claim(*near, avoided=avoided))
        row = flip.row if hasattr(flip.row, "columns") else flip.row[None]
        point = audited.model.table.read(row)[0].astype(np.float64)
        claim, nearest = audited.claim(point=point, avoided=avoided), None
        if flip.proven:
            keys = [audited.index(key, "features") for key in flip.changes]
            near = self._near(audited, len(keys), keys, flip.distance)
            nearest = replace(
                audited.claim(*near, avoided=avoided), of_float32=self._single(audited)
            )
        return replace(flip, claim=claim, nearest_claim=nearest)

    def _near(self, audited, max_changes, changed=(), distance=None):
        """A box, and the rows near this one in it, as evidence says it.

        With a distance, as many changes as those of the features that are `changed` are nearer than
        that, by a billionth, as it is rounded.
        """
        row, sides = audited.row, self.sides
        groups = [] if audited.inside is None else audited.inside.exclusive
        grouped = {j for group in groups for j in group}
        may = self.may & ~(np.isnan(row) & (sides != 0))
        vary = [[j] for j in np.flatnonzero(may).tolist() if j not in grouped]
        vary += [list(group) for group in groups if may[group].all()]
        nearer = None
        if distance is not None:
            # what changes together is one change
            max_changes = sum(not {*unit}.isdisjoint(changed) for unit in vary)
            scale = scales_of(audited, self.scales)
            scale[[*grouped]], scale[audited.table.categorical] = np.nan, np.nan
            given = row
            if self._single(audited):
                row = row.astype(np.float32).astype(np.float64)
            # from the row as it is rounded, changes can be nearer by that
            moved = np.nansum(np.abs(given - row) / scale)
            limit = (distance - moved) * (1.0 - 1e-9)
            scales = [None if np.isnan(own) else own for own in scale.tolist()]
            nearer = {"metric": self.metric, "distance": float(limit), "scales": scales}
        kind = np.dtype(audited.model.finest.row_dtype).type
        # the lower end of a box does not belong to it
        below = np.nextafter(row.astype(kind), kind(-np.inf)).astype(np.float64)
        low = np.where((sides > 0) & may, below, -np.inf)
        high = np.where((sides < 0) & may, row, np.inf)
        near = Near(row[None], max_changes, sorted(vary), nearer=nearer)
        return (low, high, (sides == 0) | np.isnan(row)), near

    @staticmethod
    def _single(audited):
        """Whether distances are told between numbers that float32 represents."""
        return audited.model.finest.row_dtype == "float32" or audited.model.finest.is_finer

    def _question(self, i):
        """What is asked of a row."""
        own = None
        if self.what.min_proba is not None:
            classes = self.audited.model.forest.classes.tolist()
            own = class_of(classes, self.audited.answers_to_rows(CLASS)[i], "rows")
        return self.what.question(own)

    def _flip(self, i) -> NearestFlip:
        begin, question = monotonic(), self._question(i)
        audited = self.audited.on(i, question)
        field = audited.kept.get("field")
        if field is None:
            field = Field(audited, self.may, self.sides, self.scales)
            audited.kept["field"] = field
        own = int(field.lines.classes_of(audited.cell)[0])
        classes = audited.forest.classes
        audited.check(classes[own])
        wanted = self.what.wanted(question, audited.forest, own)
        common = {
            "max_changes": int(self.max_changes),
            "domain": audited.domain,
            "keeping": audited.keeping,
            "finer": audited.finer,
            "target": self.what.target,
        }
        if wanted[own]:
            # nothing is needed
            plan = self._shown(audited, common, audited.given, audited.answer)
            return replace(plan, seconds=monotonic() - begin)
        search = FlipSearch(field, audited, own, wanted, METRICS[self.metric], self.n_plans)
        proven = search.run(min(int(self.max_changes), len(field.units)))
        plans = [self._plan(audited, field, *found, common) for found in search.plans]
        plans = [plan for plan in plans if plan is not None]
        # what was searched is the neighbourhood of the row that stands for the one given
        proven = proven and not audited.moved
        fewest = search.fewest if plans or not proven else int(self.max_changes) + 1
        plans = plans or [self._shown(audited, common)]
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
        return replace(self._shown(audited, common, both[1], answer), distance=float(distance))

    def _shown(self, audited, common, row=None, answer: Any = None):
        """The outcome for a changed row, and what the model answers to it; None: without a flip."""
        before, probabilities = self._before(audited)
        changes, predictions = {}, (before,)
        if row is not None:
            both = np.stack([audited.given, row])
            table = audited.table.showing(audited.given, audited.rows, audited.place)
            shown = table.shown(both)
            changes = changes_between(audited, both, shown)
            row = table.shown(both[1:]) if hasattr(shown, "columns") else shown[1]
            if probabilities:
                probabilities += (float(answer),)
                answer = audited.model.answers(both[1:])[0] if changes else before
            predictions = before, plain(answer)
        is_found = row is not None
        return NearestFlip(
            row=row,
            changes=changes,
            predictions=predictions,
            distance=0.0 if is_found else np.inf,
            proven=is_found,
            n_changes_lower_bound=0 if is_found else 1,
            seconds=0.0,
            probabilities=probabilities,
            **common,
        )

    def _before(self, audited):
        """What the model answers to a row, and its probability of the class to be reached."""
        if audited.question.response.kind != "probabilities":
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
