"""The smallest change of a row that flips its class.

All cells that differ from the row's in one feature stand on its lines (`near_rows`), and every one
of them is looked at. For changes of several features at once, the sets that could flip the class
(`_sets`) are looked at one after the other: a proof settles all values of a set together, and where
there are flips among them, boxes of values are halved until the nearest one is known.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count, product
from numbers import Integral, Real
from sys import maxsize
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ensemble_simplify.audit._audited import Audited
from ensemble_simplify.audit._sets import sets_of_axes
from ensemble_simplify.base import Interval, deadline_after, validate_params
from ensemble_simplify.grid import FREE, Axes, Domain, Stopped, next_after
from ensemble_simplify.proof import Lines, Space, certify, may_begin, points_in, shown_entry
from ensemble_simplify.writing import one_line, plain


@dataclass(frozen=True, eq=False, repr=False)
class NearestFlip:
    """Outcome of `nearest_flip`.

    It is true (in the sense of ``if``) where a change that flips the class was found.

    Parameters
    ----------
    row : ndarray of shape (n_features,), table of one row, or None
        The changed row, on which the model itself answers another class. None: none was found.
    changes : dict
        For each changed feature, its value before and after.
    predictions : tuple
        What the model itself answers to the row and, if there is one, to the changed row.
    distance : float
        Sum over the changed features of their distances; infinity without a flip.
    proven : bool
        With a flip: whether no other one has fewer changes or is nearer. Without: whether it is
        proven that no change of at most `max_changes` features flips the class.
    n_changes_lower_bound : int
        No flip has fewer changed features; proven, also where the time limit came first.
    max_changes : int
        Features that could be changed at once.
    seconds : float
        Time taken.
    domain : Domain, dict or None
        Which inputs counted.
    finer : bool
        Whether the model compares numbers finer than float32: only changes to numbers that float32
        represents counted.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from ensemble_simplify import nearest_flip
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    >>> flip = nearest_flip(tree, X[100])
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

    def __bool__(self):
        return self.row is not None

    def __repr__(self):
        n = f"{self.max_changes} feature{'s' if self.max_changes > 1 else ''}"
        if self.row is None and self.proven:
            to = " to numbers that float32 represents" if self.finer else ""
            text = f"proven: no change of at most {n}{to} flips {self.predictions[0]!r}"
        elif self.row is None:
            text = f"undecided at the limit: no change of at most {n} was found"
            text += f", and none of fewer than {self.n_changes_lower_bound} flips the class"
        else:
            parts = [
                f"{one_line(key)}: {shown_entry(a)} -> {shown_entry(b)}"
                for key, (a, b) in self.changes.items()
            ]
            first, second = self.predictions
            text = f"{first!r} becomes {second!r} by {', '.join(parts)}"
            text += f"; {'nearest' if self.proven else 'not proven nearest'}"
            text += f", distance {self.distance:.4g}"
        return f"NearestFlip({text}; {self.seconds:.3g} s)"


@validate_params(
    {
        "max_changes": [Interval(Integral, 1, None, closed="left")],
        "features": ["array-like", None],
        "scale": [Mapping, "array-like", None],
        "domain": [Domain, dict, None],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
    },
    prefer_skip_nested_validation=False,
)
def nearest_flip(
    model: Any,
    row: ArrayLike,
    *,
    max_changes: int = 1,
    features: ArrayLike | None = None,
    scale: ArrayLike | Mapping | None = None,
    domain: Domain | dict | None = None,
    time_limit: float | None = None,
) -> NearestFlip:
    """Find the smallest change of one feature, or of a few, that changes the class of a row.

    Read more in the :ref:`User Guide <audit>`.

    Parameters
    ----------
    model : estimator
        A fitted classifier: a tree ensemble, a decision tree, a pipeline that ends in one, or an
        estimator of this package. It is not changed.
    row : array-like of shape (n_features,), frame of one row or series
        As the model takes it.
    max_changes : int, default=1
        How many features may change at once. Sets of features that cannot move the scores far
        enough are left out; of the others, the time can grow as the number of such sets.
    features : array-like of str or int, or None, default=None
        The features that may change, by name or index. None: all.
    scale : mapping, array-like of shape (n_features,) or None, default=None
        How large a change of each feature counts 1: a mapping from some features, by name or
        index, or one positive number each. None, and features without an entry: the range of the
        feature's cut points (1 if there is only one).
    domain : Domain, dict or None, default=None
        Which inputs can occur. The changed row is one of them. See :class:`Domain`. None: every
        finite input, and missing values in the features that `row` lacks, or where the model takes
        unknown levels for them.
    time_limit : float or None, default=None
        Seconds after which the search ends with what it has found.

    Returns
    -------
    flip : NearestFlip
        The changed ``row``, its ``changes``, both ``predictions`` and the ``distance``. If no such
        change was found, ``row`` is None, and ``proven`` says whether it is certain that there is
        none.

    Raises
    ------
    TypeError
        If the model cannot be read, or is a regressor.
    ValueError
        If the row has the wrong form or is outside the domain, or `features` or `scale` do not fit
        the model.

    See Also
    --------
    sufficient_box : What can change without a flip.

    Notes
    -----
    The flip with the fewest changed features is taken, and among these the nearest one. The
    distance of a number is the absolute change divided by its scale; another category, or a value
    that becomes missing or known, counts 1. The new value of a number is the nearest one that
    float32 represents on the other side of a cut point; for models that compare float64 numbers
    (HistGradientBoosting, LightGBM), the nearest of float64. Pipelines are followed on the numbers
    that float32 represents. Where `row` has a number between a cut point and the next float32, the
    nearest ones stand for it that float32 represents and to which the model answers as to `row`
    itself (if there are none, that is an error). They are among the ``changes`` only if the flip
    needs them.

    That an ensemble has no flip near a row is decided by looking at finitely many cells [1]_.

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
    >>> flip = nearest_flip(forest, X.iloc[0])
    >>> bool(flip), flip.proven  # no change of a single feature
    (False, True)
    >>> borderline = abs(forest.predict_proba(X)[:, 0] - 0.5).argmin()
    >>> flip = nearest_flip(forest, X.iloc[borderline])
    >>> len(flip.changes), flip.predictions[0] != flip.predictions[1]
    (1, True)
    """
    begin, deadline = monotonic(), deadline_after(time_limit)
    audited = Audited(model, domain, row, with_ties=True)
    inside = audited.inside
    lines = Lines(
        audited.forest,
        audited.axes,
        None if inside is None else inside.outside(audited.axes),
    )
    classes = audited.forest.classes
    own = int(lines.classes_of(audited.cell)[0])
    before = audited.answer
    audited.check(classes[own])
    chosen = None if features is None else {audited.index(key, "features") for key in features}
    distances, values = _steps(audited, chosen, _scales(audited, scale))
    most = min(int(max_changes), len(audited.axes.shape))
    search = _Search(lines, audited, own, distances, deadline)
    proven = search.run(most)
    cell = search.cell
    changed, changes, predictions = None, {}, (plain(before),)
    if cell is not None:
        label = classes[int(lines.classes_of(cell[None])[0])]
        # the row as it was given, but for the change; what float32 makes of it, if only that flips
        for row in (audited.given, audited.row):
            both = np.stack([audited.given, row])
            for a in np.flatnonzero(cell != audited.cell[0]):
                both[1, audited.axes.features[a]] = values[a][cell[a]]
            after = audited.model.answers(both[1:])[0]
            if after == label:
                break
        if after != label or after == before:
            raise audited.disagrees(both)
        shown = audited.table.shown(both)
        changes = _changes(audited, both, shown)
        if len(changes) > max_changes:
            # numbers that only doubles tell apart would have to change, too
            cell, changes = None, {}
        else:
            predictions += (plain(after),)
            changed = shown[1] if audited.table.is_uniform else audited.table.shown(both[1:])
    # what was searched is the neighbourhood of the row that stands for the one given
    proven = proven and not audited.moved
    fewest = search.fewest if cell is not None or not proven else max_changes + 1
    return NearestFlip(
        row=changed,
        changes=changes,
        predictions=predictions,
        distance=np.inf if cell is None else float(search.distance),
        proven=proven,
        n_changes_lower_bound=min(fewest, 1) if audited.moved else fewest,
        max_changes=int(max_changes),
        seconds=monotonic() - begin,
        domain=domain,
        finer=audited.finer,
    )


def _changes(audited, both, shown):
    """The changed features with their values before and after, as the user has them."""
    found = {}
    same = (both[0] == both[1]) | np.isnan(both).all(axis=0)
    for j in np.flatnonzero(~same).tolist():
        column = shown.iloc[:, j] if hasattr(shown, "iloc") else shown[:, j]
        found[audited.key(j)] = tuple(plain(value) for value in column)
    return found


def _scales(audited, scale):
    """What counts 1 in each feature."""
    scales = np.ones(audited.forest.n_features)
    for j, cuts in zip(audited.axes.features, audited.axes.cuts, strict=True):
        cuts = cuts[np.isfinite(cuts)]
        if len(cuts) > 1:
            scales[j] = cuts[-1] - cuts[0]
    if scale is None:
        return scales
    if isinstance(scale, Mapping):
        for key, value in scale.items():
            scales[audited.index(key, "scale")] = value
    else:
        scales = np.asarray(scale, dtype=np.float64)
        if scales.shape != (audited.forest.n_features,):
            raise ValueError(
                f"scale has the shape {scales.shape}, but the model was fitted on "
                f"{audited.forest.n_features} features. Give a number for each, or a mapping."
            )
    wrong = np.flatnonzero(~((scales > 0) & np.isfinite(scales)))
    if wrong.size:
        raise ValueError(
            f"scale is {scales[wrong[0]]} for the feature {audited.key(wrong[0])!r}. It must be a "
            "positive number; name in features what may change."
        )
    return scales


def _of_feature(inside, j):
    """The domain of one feature alone; None: everything is inside."""
    if inside is None:
        return None
    names = ("low", "high", "integer", "missing")
    own = {name: getattr(inside, name)[[j]] for name in names}
    # groups and implications exclude cells, but do not change the values inside of a cell
    return replace(inside, clauses=frozenset(), **own)


def _steps(audited, chosen, scales):
    """For every axis, the distance of each cell from the row, and the nearest value in it.

    Features that are not among the `chosen` (None: all are) may not change.
    """
    distances, values = [], []
    inside = audited.inside
    for a, (j, cuts) in enumerate(zip(audited.axes.features, audited.axes.cuts, strict=True)):
        own, x = int(audited.cell[0, a]), audited.row[j]
        finite = cuts[np.isfinite(cuts)]
        cells = np.arange(audited.axes.shape[a])[:, None]
        value = points_in(Axes([cuts], audited.axes.row_dtype), _of_feature(inside, j), cells)[:, 0]
        if not np.isnan(x):
            whole = inside is not None and inside.integer[j]
            value[:own] = np.floor(finite[:own]) if whole else finite[:own]
            beyond = finite[own:]
            dtype = "float32" if audited.table.narrow[j] else audited.axes.row_dtype
            value[own + 1 : len(finite) + 1] = (
                np.floor(beyond) + 1.0 if whole else next_after(beyond, dtype)
            )
            if inside is not None:
                value = np.clip(value, inside.low[j], inside.high[j])
            value[own] = x
        distance = np.abs(value - x) / scales[j]
        if audited.table.categorical[j]:
            distance[:] = 1.0
        distance[np.isnan(value) | np.isnan(x)] = 1.0
        if chosen is not None and j not in chosen:
            distance[:] = np.inf
        distance[own] = 0.0
        distances.append(distance)
        values.append(value)
    return distances, values


class _Search:
    """The search for the flip of the fewest changes and, of these, of the least distance.

    Attributes
    ----------
    cell : int32 array of shape (n_axes,) or None
        The flip.
    distance : float
    fewest : int
        No flip has fewer changes.
    """

    def __init__(self, lines, audited, own, distances, deadline):
        self.lines, self.audited, self.own = lines, audited, own
        self.distances, self.deadline = distances, deadline
        self.row = audited.cell[0]
        self.cell, self.distance, self.fewest = None, np.inf, 1

    def run(self, max_changes):
        """Look for flips of at most so many changes; False if the time was up first."""
        # those of features that may change
        axes = np.flatnonzero([np.isfinite(own).sum() > 1 for own in self.distances])
        try:
            for n in range(1, max_changes + 1):
                if n == 1:
                    self._walk_lines()
                else:
                    limits = n, self.deadline
                    for chosen in sets_of_axes(self.lines, self.row, self.own, axes, *limits):
                        self._look_at(chosen)
                if self.cell is not None:
                    return True
                self.fewest = n + 1
        except Stopped:
            return False
        return True

    @cached_property
    def _space(self):
        """The forest, beside one that answers the class of the row everywhere."""
        forest = self.audited.forest
        if not may_begin([forest], self.deadline):
            raise Stopped
        pair = [forest, forest.constant(self.own)]
        return Space(pair, self.audited.axes, self.audited.inside)

    def _walk_lines(self):
        """Look at all changes of one feature."""
        labels = self.lines.labels(self.audited.cell, self.deadline)[0]
        total = np.concatenate(self.distances)
        total[(labels == self.own) | (labels == FREE)] = np.inf
        at = int(total.argmin())
        if total[at] < np.inf:
            self.distance = total[at]
            self.cell = self.lines.cells_at(self.audited.cell, np.array([at]))[0]

    def _look_at(self, chosen):
        """Look at all changes of some axes together."""
        lo, hi = self.row.copy(), self.row.copy()
        for a in chosen:
            lo[a], hi[a] = 0, len(self.distances[a]) - 1
        boxes, number = [], count()
        if self._flips(lo, hi):
            # every axis changes: fewer changes flip nothing
            for below in product((False, True), repeat=len(chosen)):
                part_lo, part_hi = lo.copy(), hi.copy()
                for a, is_below in zip(chosen, below, strict=True):
                    if is_below:
                        part_hi[a] = self.row[a] - 1
                    else:
                        part_lo[a] = self.row[a] + 1
                self._push(boxes, number, chosen, part_lo, part_hi)
        while boxes:
            least, _, lo, hi = heapq.heappop(boxes)
            if least >= self.distance:
                return
            if not self._flips(lo, hi):
                continue
            a = max(chosen, key=lambda a: hi[a] - lo[a])
            middle = (lo[a] + hi[a]) // 2
            for first, last in ((lo[a], middle), (middle + 1, hi[a])):
                part_lo, part_hi = lo.copy(), hi.copy()
                part_lo[a], part_hi[a] = first, last
                self._push(boxes, number, chosen, part_lo, part_hi)

    def _push(self, boxes, number, chosen, lo, hi):
        """Note a box by the least distance in it, unless it is empty or that is too large."""
        if (lo > hi).any():
            return
        least = sum(self.distances[a][lo[a] : hi[a] + 1].min() for a in chosen)
        if least < self.distance:
            heapq.heappush(boxes, (least, next(number), lo, hi))

    def _flips(self, lo, hi):
        """Whether a box has a cell of another class; one that is nearer than any yet is kept."""
        held, cells, _ = certify(self._space, lo, hi, self.deadline, maxsize)
        if held is None:
            raise Stopped
        if held:
            return False
        distance = sum(self.distances[a][cells[0, a]] for a in np.flatnonzero(cells[0] != self.row))
        if distance < self.distance:
            self.distance, self.cell = distance, cells[0]
        return True
