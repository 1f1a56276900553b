"""A box around a row in which one answer is proven, that no side can be moved out of.

The answer is a class, or a number within a range: then the forest is one of the classes "below",
"within" and "above".
The cell of the row grows side by side. What a longer side adds is a slab of cells; it is proven to
have one class (`proof.certify`), or a cell of it has another one. That cell stays in the way
however far the other sides move later, so each side is settled once.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from sys import maxsize
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array, check_random_state

from ensemble_simplify.audit._audited import Audited, kept_in_words
from ensemble_simplify.audit._response import (
    CLASS,
    RESPONSES,
    WITHIN,
    Question,
    Response,
    range_around,
    range_of,
)
from ensemble_simplify.base import (
    Interval,
    StrOptions,
    check_column_names,
    validate_params,
)
from ensemble_simplify.evidence import HasEvidence
from ensemble_simplify.grid import (
    Domain,
    Stopped,
    float32_floor,
    is_late,
    limited,
    next_after,
    time_left,
    unlimited,
)
from ensemble_simplify.proof import Space, certify, may_begin
from ensemble_simplify.reading import MOST_WRITTEN
from ensemble_simplify.writing import (
    level_in_list,
    number,
    one_line,
    percent,
    plain,
    set_in_words,
)

# Boxes that each proof may take, in rounds; then without limit. A first round of too few leaves
# many sides open: where the others have moved by then, their proofs take far longer.
ROUNDS = (2_000, 20_000, maxsize)
# Nodes of trees that all proofs may look at, without a time limit: so many, and for each node of
# the model so many more. 100 trees of 250 leaves have 50,000 nodes.
VISITS, VISITS_A_NODE = 6e7, 300
# Where the first round leaves a proof open, all sides are moved at once: by this share of their way
# first, with proofs of so many boxes.
LEAST_SHARE, WIDE_BOXES = 2.0**-14, 5_000


@dataclass(frozen=True, eq=False, repr=False)
class SufficientBox(HasEvidence):
    """Outcome of `sufficient_box`.

    A row is in the box if each of its values x has ``low < x <= high``, or is missing and
    ``missing`` allows it. Most trees compare numbers rounded to float32, and so does `contains` for
    them.

    Attributes
    ----------
    label : label or float
        The class that the model answers everywhere in the box. With ``within``: the number that it
        answers to the row.
    low, high : ndarray of shape (n_features,)
        The ends of the box in each feature, -infinity and infinity where it is open. For
        categories, these are codes: see `levels`. Both are infinity if the value is missing
        everywhere in the box.
    missing : ndarray of bool, shape (n_features,)
        Features whose missing values belong to the box.
    features : list of str or int
        The features that the box constrains. None of them can be left out.
    levels : dict
        For constrained features of categories, the levels that belong to the box.
    maximal : bool
        True: it is proven that no side can be moved outwards by a cell, because there is another
        class beyond it. False: the effort or the time ended first. That the box holds one class is
        proven all the same.
    maximal_share : float
        Share of the model's features in which that is proven for both sides. 1 if the box is
        maximal.
    n_boxes : int
        Boxes of the feature space that were looked at.
    seconds : float
        Time taken.
    domain : Domain, dict or None
        Which inputs count. None: all.
    audited : Audited
        The model as it was read. `contains` and `conditions` use it.
    within : tuple of two floats or None
        The range, both ends included, in which the number lies everywhere in the box.
    claim : Claim or None
        What `save` writes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from ensemble_simplify import sufficient_box
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    >>> box = sufficient_box(tree, X[0])
    >>> box
    SufficientBox(0 wherever x3 <= 0.800000012; maximal; 1 box in ... s)
    >>> print(box.contains(X).sum(), "rows are inside")
    50 rows are inside
    """

    label: object
    low: np.ndarray
    high: np.ndarray
    missing: np.ndarray
    features: list
    levels: dict
    maximal: bool
    maximal_share: float
    n_boxes: int
    seconds: float
    domain: Domain | dict | None
    audited: Any
    within: tuple[float, float] | None = None
    claim: Any = None

    def contains(self, X: ArrayLike) -> np.ndarray:
        """Which rows are in the box, and in the domain.

        A row is left out if rounding to float32 could take it across a threshold of the model.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Rows as the model takes them.

        Returns
        -------
        ndarray of bool, shape (n_samples,)
            True for rows that get the box's answer for certain.
        """
        audited = self.audited
        check_column_names([audited.model.estimator], X)
        X = audited.table.encode(X)
        X = check_array(X, dtype=np.float64, ensure_all_finite="allow-nan")
        if X.shape[1] != len(self.low):
            raise ValueError(
                f"X has {X.shape[1]} features, but the box has {len(self.low)}. Pass the columns "
                "the model was fitted on."
            )
        absent = np.isnan(X)
        rounded = X.astype(audited.forest.row_dtype)
        below = above = rounded.astype(np.float64)
        if audited.finer:
            known = np.where(absent, 0.0, X)
            below, above = float32_floor(known), -float32_floor(-known)
        inside = np.where(absent, self.missing, (self.low < below) & (above <= self.high))
        found: Any = inside.all(axis=1)
        if audited.finer:
            found &= ~audited.axes.between(X).any(axis=0)
        if audited.inside is not None:
            found &= audited.inside.contains(rounded)
        return found

    @property
    def conditions(self) -> list[str]:
        """The sides of the box in words, one line for each constrained feature."""
        audited, lines = self.audited, []
        for key in self.features:
            j, parts = audited.index(key, "features"), []
            name = f"x{j}" if audited.table.names is None else one_line(key)
            if key in self.levels:
                if self.levels[key]:
                    parts = [f"in {set_in_words(map(level_in_list, self.levels[key]))}"]
            elif not self.low[j] == np.inf:
                low = f"> {number(self.low[j])}" if self.low[j] > -np.inf else ""
                high = f"<= {number(self.high[j])}" if self.high[j] < np.inf else ""
                if audited.finer:
                    # true of every double, in full
                    low = f">= {_in_full(next_after(self.low[j]))}" if low else ""
                    high = f"<= {_in_full(self.high[j])}" if high else ""
                parts = [" and ".join(filter(None, (low, high))) or "known"]
            if self.missing[j]:
                parts.append("missing")
            lines.append(f"{name} {' or '.join(parts)}")
        return lines

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        rule = "; ".join(self.conditions) or "every input"
        end = "maximal"
        if not self.maximal:
            end = f"proven maximal in {percent(self.maximal_share)} of the features"
        answer = repr(self.label)
        if self.within is not None:
            low, high = self.within
            low = "" if low == -np.inf else f"{number(low)} <= "
            high = "" if high == np.inf else f" <= {number(high)}"
            asked, answer = self.audited.question.response, "value"
            if asked.kind == "probabilities":
                name = plain(self.audited.model.forest.classes[asked.column])
                answer = f"probability of {name!r}"
            answer = f"{low}{answer}{high}"
        end += kept_in_words(self.audited.keeping)
        return f"{answer} wherever {rule}; {end}"


@limited
@validate_params(
    {
        "within": [Interval(Real, 0, None, closed="left"), tuple, list, None],
        "response": [StrOptions(set(RESPONSES))],
        "domain": [Domain, dict, None],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
    }
)
def sufficient_box(
    model: Any,
    row: ArrayLike,
    *,
    within: float | tuple[float | None, float | None] | None = None,
    response: str = "auto",
    positive: Any = None,
    domain: Domain | dict | None = None,
    time_limit: float | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> SufficientBox:
    """Find feature values that are enough for a model's answer to a row, whatever the others are.

    The result is a box around the row in which the model provably answers one class, or a number
    within a range. No condition of the box can be dropped or made wider, if ``maximal`` is True.

    Read more in the :ref:`guide <audit_box>`.

    Parameters
    ----------
    model : estimator
        A fitted tree ensemble, a decision tree, a pipeline that ends in one, or an estimator of
        this package. It is not changed.
    row : array-like of shape (n_features,), frame of one row or series
        The row, as the model takes it.
    within : float, tuple of two numbers, or None, default=None
        For a value or a probability: how far it may be from the answer to the row, or the range
        ``(low, high)`` in which it has to stay. Both ends are included, and None leaves one open.
        None: the class has to stay.
    response : {"auto", "class", "probabilities", "value"}, default="auto"
        What has to stay: the class, a probability of a classifier, or the value of a regressor.
        "auto": the class of a classifier, the value of a regressor.
    positive : label or None, default=None
        The class whose probability is meant. None: the upper one of two classes.
    domain : Domain, dict or None, default=None
        Which inputs can occur. Only these must have the same answer. See :class:`Domain`. None,
        with a frame: inputs like its row, as for :func:`nearest_flip`: whole numbers stay whole,
        levels are known ones, and only what the row lacks may be missing. None, with an array:
        every finite input. The features that `row` lacks may then be missing, and so may those in
        which the model takes unknown levels for missing values. ``Domain()`` asks for the same with
        a frame.
    time_limit : float or None, default=None
        Seconds after which the search ends. Sides that are not settled then stay where they are.
        None: an effort that is counted in nodes of trees and grows with the model, about a second
        for 100 trees of 250 leaves. Set a limit to search longer.
    random_state : int, RandomState instance or None, default=None
        An integer draws the order in which the features are tried. Another order can give another
        box. None: a fixed order, features with the fewest splits first.

    Returns
    -------
    box : SufficientBox
        It has the ``conditions`` in words, the ``features`` in them, the bounds ``low`` and
        ``high``, ``missing`` and ``levels``. If ``maximal`` is True, no side can be moved outwards.

    Raises
    ------
    TypeError
        If the model cannot be read, or its probabilities are asked about and do not come from one
        sum of trees (boosting of more than two classes, hard votes).
    ValueError
        If the row has the wrong form or is outside the domain, no row that float32 represents can
        stand for it, or another parameter does not fit the model.

    See Also
    --------
    nearest_flip : The smallest change of a row that flips its class.
    is_monotone : Whether the class can fall where a feature rises.

    Notes
    -----
    The values of the constrained features are enough for the answer, and no feature can be dropped:
    an abductive explanation [1]_. There can be other maximal boxes, with a larger volume or fewer
    features.

    *Cells* lie between neighbouring thresholds of the model. A side that moves outwards moves by at
    least one cell. Levels of a category are taken in the order of their codes, so the box holds
    levels that follow one another. Missing values come after the largest values, so the box can
    hold them beside numbers only if it is open above.

    *Pipelines* are followed on the inputs that float32 represents. The sides of the box leave out
    the numbers between a threshold and the next float32 number. If `row` has such numbers, the
    nearest numbers that float32 represents stand for them, provided that the model gives the same
    answer to them. If there are none, that is an error.

    References
    ----------
    .. [1] A. Ignatiev, N. Narodytska, J. Marques-Silva (2019). Abduction-Based Explanations for
       Machine Learning Models. Proceedings of the AAAI Conference on Artificial Intelligence 33,
       1511-1519. https://doi.org/10.1609/aaai.v33i01.33011511

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from ensemble_simplify import sufficient_box
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> forest = RandomForestClassifier(20, max_depth=4, random_state=0).fit(X, y)
    >>> box = sufficient_box(forest, X.iloc[0])
    >>> box.conditions
    ['petal width (cm) <= 0.699999988']
    >>> int(box.label), set(forest.predict(X[box.contains(X)]).tolist())
    (0, {0})

    Values that keep a prediction within 25 of what it is:

    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import GradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GradientBoostingRegressor(n_estimators=20, random_state=0).fit(X, y)
    >>> box = sufficient_box(model, X[0], within=25)
    >>> print(f"{box.label:.0f} stays from {box.within[0]:.0f} to {box.within[1]:.0f}")
    186 stays from 161 to 211
    >>> box.conditions[0]
    'x2 > 0.0557682365 and <= 0.0687019825'
    """
    begin = monotonic()
    audited = Audited(model, domain, row, layout="never")
    # The question comes first: a range of a number is a class of its own, with other thresholds.
    question = _question(audited, within, response, positive)
    audited = audited.on(0, question)
    growth = _Growth(audited)
    audited.check(growth.label)
    _check_inside(audited, within)
    growth.run(_order(audited, random_state))
    settled = growth.settled()
    low, high, missing = _ends(audited, growth.lo, growth.hi)
    constrained = audited.axes.features[(growth.lo > 0) | (growth.hi < growth.last)]
    return SufficientBox(
        label=plain(audited.answer),
        low=low,
        high=high,
        missing=missing,
        features=[audited.key(j) for j in constrained],
        levels={
            audited.key(j): audited.levels(j, low[j], high[j]) if low[j] < np.inf else []
            for j in constrained
            if audited.table.categorical[j]
        },
        maximal=bool(settled.all()),
        maximal_share=float(settled.mean()),
        n_boxes=growth.n_boxes,
        seconds=monotonic() - begin,
        domain=audited.domain,
        audited=audited,
        within=question.range,
        claim=audited.claim((low, high, missing)),
    )


def _question(audited, within, response, positive):
    """What has to stay as it is in the box."""
    asked = Response.of(audited, response, positive, rising=False)
    if asked.kind == "class":
        if within is not None or positive is not None:
            raise ValueError(
                f"within={within!r} and positive={plain(positive)!r} are about numbers, but the "
                "class is asked about. Set response='probabilities', or leave both out."
            )
        return CLASS
    if within is None:
        raise ValueError(
            "within=None, but a number is asked about. Give the range (low, high) in which it has "
            "to stay, or how far it may move."
        )
    if isinstance(within, Real):
        own = audited.answers_to_rows(Question(asked))[0]
        return Question.about(asked, *range_around(float(own), float(within)))
    return Question.about(asked, *range_of(within, "within"))


def _check_inside(audited, within) -> None:
    """Raise the error for a row whose own number lies outside of the range."""
    if audited.question.range is None:
        return
    if audited.question.labels(audited.answer) != WITHIN:
        raise ValueError(
            f"within={within!r}, but {audited.model.name}(...) answers {audited.answer:.6g} to the "
            "row. Give a range that holds it."
        )


def _in_full(number):
    """A number in words that are exact, and as short as the usual nine digits where these are."""
    short = f"{number:.9g}"
    return short if float(short) == number else repr(float(number))


def _order(audited, random_state):
    """The axes in the order in which they are freed."""
    n_axes = len(audited.axes.shape)
    if random_state is not None:
        return check_random_state(random_state).permutation(n_axes)
    n_splits = np.bincount(
        audited.forest.feature[audited.forest.feature >= 0], minlength=audited.forest.n_features
    )
    return np.argsort(n_splits[audited.axes.features], kind="stable")


def _ends(audited, lo, hi):
    """Lower and upper end of every feature, and whether its missing values are inside."""
    n_features = audited.forest.n_features
    low, high = np.full(n_features, -np.inf), np.full(n_features, np.inf)
    missing = np.zeros(n_features, dtype=bool)
    if audited.inside is not None:
        missing = audited.inside.missing.copy()
    for a, (j, cuts) in enumerate(zip(audited.axes.features, audited.axes.cuts, strict=True)):
        if lo[a] > 0:
            low[j] = cuts[lo[a] - 1]
        if hi[a] < len(cuts):
            high[j] = cuts[hi[a]]
            missing[j] = False
    return low, high, missing


class _Growth:
    """The box of proven cells ``lo, ..., hi`` around a row, as it grows."""

    def __init__(self, audited):
        forest = audited.forest
        with unlimited():
            index = int(forest.predict_index(audited.axes.points(audited.cell))[0])
        self.label = forest.classes[index]
        self.audited, self.index, self.space = audited, index, None
        self.may_begin, self.n_visited, self.max_visited = may_begin([forest]), 0, maxsize
        if np.isinf(time_left()):
            self.max_visited = int(VISITS + VISITS_A_NODE * forest.n_nodes)
        if self.may_begin:
            written = forest
            if forest.sets is not None:
                written = self._written(*audited.axes.whole)
            if written is not None:
                self.space = self._space_of(written)
        self.lo, self.hi = audited.cell[0].copy(), audited.cell[0].copy()
        _, self.last = audited.axes.whole
        # cells of other classes, which are in the way
        self.others = np.empty((0, len(self.last)), dtype=np.int32)
        self.n_boxes, self.gave_up = 0, False

    def run(self, order) -> None:
        """Free whole features in an order, then move single sides, until none can be."""
        # Short proofs for all sides before a long one for any: effort ends.
        for limit in ROUNDS:
            self.limit = limit
            for a in order:
                self._free(a)
            if self.gave_up and limit == ROUNDS[0]:
                self._widen()
            for a in order:
                for side in (0, 1):
                    self._extend(a, side)
            if self.is_over or self.settled().all():
                return

    @property
    def is_over(self) -> bool:
        """Whether no effort is left: time, or nodes that may be looked at."""
        return not self.may_begin or is_late() or self.n_visited >= self.max_visited

    def _written(self, lo, hi):
        """The forest, its sets written as thresholds for a box; None if that is too much."""
        forest = self.audited.forest
        return forest.within_window(self.audited.axes.codes_of(lo, hi), MOST_WRITTEN)

    def _space_of(self, forest):
        """The grid for proofs that a forest has the class of the row."""
        return Space([forest, forest.constant(self.index)], self.audited.axes, self.audited.inside)

    def settled(self) -> np.ndarray:
        """Of each axis, whether no side can be moved: it ends, or another class is next."""
        axes = range(len(self.last))
        return np.array([self._reach(a, 0) == 0 == self._reach(a, 1) for a in axes])

    def _free(self, a) -> None:
        """Open a feature on both sides, or leave it."""
        # Only what lies beyond the box is to be proven: it is proven itself.
        slabs = [self._slab(a, side, self._room(a, side)) for side in (0, 1)]
        slabs = [slab for slab in slabs if slab is not None]
        if not any(self._blocked(*slab) for slab in slabs):
            if all(map(self._holds, slabs)):
                self.lo[a], self.hi[a] = 0, self.last[a]

    def _widen(self) -> None:
        """Move all sides at once, each by the same share of its way, as far as a proof is quick.

        Where proofs are so long that single sides take too much time, this is a fair box.
        """
        axes = range(len(self.last))
        below, above = (np.array([self._reach(a, side) for a in axes]) for side in (0, 1))
        # Of the box as it is, from which all sides set out.
        own_lo, own_hi = self.lo, self.hi
        share, step, is_rising = 0.0, LEAST_SHARE, True
        while step >= max(LEAST_SHARE, share / 8) and share < 1.0:
            wider = min(1.0, share + step)
            slab = (
                own_lo - (below * wider).astype(np.int32),
                own_hi + (above * wider).astype(np.int32),
            )
            held = not self._blocked(*slab) and self._holds(slab, WIDE_BOXES)
            if held:
                (self.lo, self.hi), share = slab, wider
            is_rising = is_rising and held
            # twice as far each time; from the first failure on, by halves of the last step
            step = share if is_rising else step / 2

    def _extend(self, a, side) -> None:
        """Move a side outwards as far as it goes."""
        proven, most = 0, self._reach(a, side)
        step, stride = most, None
        while proven < most and not self.is_over:
            held = self._holds(self._slab(a, side, step, proven))
            if held:
                proven = step
                stride = stride and 2 * stride
            elif held is None:
                # such a proof costs most of all: from here on, steps begin small
                most, stride = step - 1, 1
            else:
                most = min(step - 1, self._reach(a, side))
            step = (proven + most + 1) // 2
            if stride:
                step = min(step, proven + stride)
        if side:
            self.hi[a] += proven
        else:
            self.lo[a] -= proven

    def _room(self, a, side) -> int:
        """Cells beyond a side."""
        return int(self.last[a] - self.hi[a] if side else self.lo[a])

    def _slab(self, a, side, step, proven=0):
        """The cells beyond a side from `proven` steps to `step`; None if there are none."""
        if step <= proven:
            return None
        lo, hi = self.lo.copy(), self.hi.copy()
        if side:
            lo[a], hi[a] = self.hi[a] + proven + 1, self.hi[a] + step
        else:
            lo[a], hi[a] = self.lo[a] - step, self.lo[a] - proven - 1
        return lo, hi

    def _blocked(self, lo, hi) -> bool:
        """Whether a known cell of another class is in a box."""
        return bool(((lo <= self.others) & (self.others <= hi)).all(axis=1).any())

    def _reach(self, a, side):
        """Steps beyond a side before the nearest known cell of another class, or the end."""
        room = self._room(a, side)
        slab = self._slab(a, side, room)
        if slab is None:
            return 0
        at = self.others[((slab[0] <= self.others) & (self.others <= slab[1])).all(axis=1), a]
        if not at.size:
            return room
        return int((at - self.hi[a] if side else self.lo[a] - at).min()) - 1

    def _holds(self, slab, limit=None) -> bool | None:
        """Whether the cells of a slab have one class: proven, refuted by a cell, or None."""
        if self.is_over:
            return None
        space = self.space
        if space is None:
            written = self._written(*slab)
            if written is None:
                self.gave_up = True
                return None
            space = self._space_of(written)
        certifier = space.certifier
        before = certifier.n_visited
        certifier.max_visited = before + max(self.max_visited - self.n_visited, 0)
        try:
            held, cells, n_boxes = certify(space, *slab, limit or self.limit)
        except Stopped:
            return None
        self.n_visited += certifier.n_visited - before
        if self.space is None:
            # trees that are laid out for one proof are looked at, too
            self.n_visited += len(space.trees[0].nodes)
        self.n_boxes += n_boxes
        self.gave_up = self.gave_up or held is None
        if held is False:
            self.others = np.concatenate([self.others, cells])
        return held
