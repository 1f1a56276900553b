"""Is the answer monotone in a feature: the class, the probability of one, or the value?

If it is not, it falls at some cut point of the feature. For each of these, the model below it and
the model above it are two forests without the feature, alike but for the trees that split there;
bounds on both at once tell whether one ever answers more than the other: `proof.prove` of classes,
for any kind of vote, and `proof.Rise` of numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass, replace
from numbers import Integral, Real
from sys import maxsize
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ensemble_simplify.audit._audited import Audited, every_input
from ensemble_simplify.audit._response import RESPONSES, Response, shown_answers
from ensemble_simplify.base import Interval, StrOptions, validate_params
from ensemble_simplify.evidence import Claim, HasEvidence, Use
from ensemble_simplify.grid import (
    FREE,
    Axes,
    Domain,
    Stopped,
    check_time,
    in_boxes,
    is_late,
    limited,
)
from ensemble_simplify.proof import Lines, Rise, Space, points_in, prove, rising_sums
from ensemble_simplify.writing import counted, number, plain

# Each cut point may take so many boxes in the first round, so many in the second; then no limit.
ROUNDS = (4_000, 100_000, maxsize)
# Pairs of nodes of single trees that are compared first.
MAX_STEPS = 500_000
# Random lines looked at first: cells at most, and cells times trees.
PROBED, PROBED_LEAVES = 1 << 14, 1 << 23
# The same where the model itself is asked.
ASKED = 1 << 11


@dataclass(frozen=True, eq=False, repr=False)
class Monotonicity(HasEvidence):
    """Outcome of `is_monotone`.

    It is true (in the sense of ``if``) only where monotonicity is proven.

    Attributes
    ----------
    monotone : bool or None
        True: proven. False: there is a counterexample. None: undecided, see `reason`.
    feature : str, int or list
        The feature, by name if the model knows names. If several were asked about: the feature in
        which the answer is not monotone, or not known to be. If there is none, the list of all.
    increasing : bool or list of bool
        True: the answer was to rise with the feature. False: it was to fall. A list if `feature`
        is a list.
    counterexample : ndarray of shape (2, n_features), table of two rows, or None
        Two rows that differ in the feature alone, the row with the lower value first. A table if
        the model takes tables of text or categories.
    values : pair of float or None
        The values of the feature in these two rows.
    predictions : tuple or None
        What the model itself answers to these two rows: classes, probabilities or values.
    n_cuts, n_proven : int
        Number of the features' thresholds inside the domain, and at how many of them monotonicity
        is proven.
    n_boxes : int
        Boxes of the feature space that were looked at.
    seconds : float
        Time taken.
    domain : Domain, dict or None
        Which inputs counted. None: all.
    finer : bool
        True: only inputs that float32 represents counted, because the model compares finer numbers.
    response : {"class", "probabilities", "value"}
        What was asked about.
    positive : label or None
        The class that counted as high, or the class whose probability was asked about.
    reason : {None, "time", "rounding"}
        Why it is undecided: `time_limit`, or too many points at which numbers are equal up to
        rounding.
    claim : Claim or None
        What `save` writes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from ensemble_simplify import is_monotone
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    >>> is_monotone(tree, 3, class_order=[0, 1, 2])
    Monotonicity(3, increasing: proven for every input; 2 boxes in ... s)
    """

    monotone: bool | None
    feature: str | int | list
    increasing: bool | list
    counterexample: np.ndarray | None
    values: tuple | None
    predictions: tuple | None
    n_cuts: int
    n_proven: int
    n_boxes: int
    seconds: float
    domain: Domain | dict | None = None
    finer: bool = False
    response: str = "class"
    positive: Any = None
    reason: str | None = None
    claim: Any = None

    def __bool__(self):
        return self.monotone is True

    def _what(self):
        """What was asked, in words."""
        pairs = [(self.feature, self.increasing)]
        if isinstance(self.feature, list) and isinstance(self.increasing, list):
            pairs = list(zip(self.feature, self.increasing, strict=True))
        what = "; ".join(f"{key!r}, {'in' if rises else 'de'}creasing" for key, rises in pairs)
        if self.response == "probabilities":
            return f"probability of {self.positive!r} in {what}"
        return f"value in {what}" if self.response == "value" else what

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        what = self._what()
        if self.monotone:
            return f"{what}: proven for {every_input(self)}"
        if self.monotone is None:
            done = f"proven at {self.n_proven} of {counted(self.n_cuts, 'threshold')}"
            why = "at the limit" if self.reason == "time" else "within rounding"
            return f"{what}: undecided {why}, {done}"
        low, high = self.values
        first, second = shown_answers(self.predictions)
        return f"{what}: refuted, from {number(low)} to {number(high)} {first} becomes {second}"


@limited
@validate_params(
    {
        "feature": [str, Integral, list, tuple, np.ndarray],
        "response": [StrOptions(set(RESPONSES))],
        "increasing": ["boolean", "array-like"],
        "class_order": ["array-like", None],
        "domain": [Domain, dict, None],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
    }
)
def is_monotone(
    model: Any,
    feature: Any,
    *,
    response: str = "auto",
    increasing: bool | ArrayLike = True,
    class_order: ArrayLike | None = None,
    positive: Any = None,
    domain: Domain | dict | None = None,
    time_limit: float | None = None,
) -> Monotonicity:
    """Prove that a higher value of a feature never lowers the answer, or find a counterexample.

    The answer is a class, the probability of a class, or the value of a regressor.

    Read more in the :ref:`guide <audit_monotone>`.

    Parameters
    ----------
    model : estimator
        A fitted classifier or regressor: a tree ensemble, a decision tree, a pipeline that ends in
        one, or an estimator of this package. It is not changed.
    feature : str, int or list of these
        The feature, by index, or by name if the model knows the names of its columns. If there are
        several, the answer must be monotone in each of them.
    response : {"auto", "class", "probabilities", "value"}, default="auto"
        What is asked about: the class, the probability of one class, or the value of a regressor.
        ``"auto"``: the class of a classifier, the value of a regressor.
    increasing : bool or list of bool, default=True
        True: a higher value must never lower the answer. False: it must never raise the answer. A
        list has one entry for each feature.
    class_order : array-like of shape (n_classes,) or None, default=None
        All classes from the lowest to the highest. None: with two classes, the order of
        ``classes_``. With more classes, give this or `positive`. It is for ``response="class"``
        alone.
    positive : label or None, default=None
        If the class is asked about: the one class that counts as high, while all others count as
        equally low. A higher value of the feature must then never turn this class into another one
        (with ``increasing=False``: never another class into this one). If a probability is asked
        about: the class that it belongs to. None: of two classes, the second of ``classes_``.
    domain : Domain, dict or None, default=None
        Which inputs can occur. Only these count. See :class:`Domain`. None: every finite input.
        ``Domain.from_rows(X)`` leaves out what no row of a table can be, such as half a year.
    time_limit : float or None, default=None
        Seconds after which the attempt ends undecided.

    Returns
    -------
    outcome : Monotonicity
        Its attribute ``monotone`` is True (proven), False (see ``counterexample``: two rows on
        which the model's own ``predict`` or ``predict_proba`` was called) or None (undecided).

    Raises
    ------
    TypeError
        If the model cannot be read, or has no such response.
    ValueError
        If a feature is unknown or holds categories, which have no order, or the classes do not
        fit the model.

    See Also
    --------
    is_sensitive : Whether changes of some features alone change the answer.
    sufficient_box : A box around a row in which the class is the same.
    verify : Whether two models answer alike.

    Notes
    -----
    *What is compared.* Pairs of rows that differ in one feature alone. A missing value is neither
    high nor low, so pairs with a missing value of this feature do not count. Other features can be
    missing if the domain allows it. Pipelines are judged on the rows that float32 represents.

    *Numbers* are the doubles that the model itself answers, so a fall by the last digit is a fall.
    A sigmoid or softmax counts as rising with the sum that it is given.

    *Time.* If no single tree falls, as under monotonic constraints, the sum does not fall either,
    and nothing else is needed (for classes, if there are two). Otherwise the model below a
    threshold of the feature is compared with the model above it, and trees that do not split there
    cancel [1]_. The time can grow exponentially with the number of features. A single tree takes
    about as many steps as it has leaves, for each threshold.

    References
    ----------
    .. [1] A. Kantchelian, J. D. Tygar, A. D. Joseph (2016). Evasion and Hardening of Tree Ensemble
       Classifiers. Proceedings of Machine Learning Research 48, 2387-2396.
       https://proceedings.mlr.press/v48/kantchelian16.html

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from ensemble_simplify import is_monotone
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> forest = RandomForestClassifier(10, max_depth=3, random_state=0).fit(X, y)
    >>> is_monotone(forest, "mean texture", increasing=False)
    Monotonicity('mean texture', decreasing: proven for every input; ... s)
    >>> outcome = is_monotone(forest, "worst area", increasing=False)
    >>> outcome
    Monotonicity('worst area', decreasing: refuted, from ... to ... 0 becomes 1; ...)
    >>> lower, higher = outcome.counterexample
    >>> X.columns[lower != higher].tolist()
    ['worst area']
    """
    begin = monotonic()
    audited = Audited(model, domain)
    # of classes, it says which of them is high
    is_class = response in ("auto", "class") and audited.forest.classes is not None
    asked = Response.of(audited, response, None if is_class else positive)
    features = audited.indices(feature, "feature")
    for j in features:
        if audited.table.categorical[j]:
            raise ValueError(
                f"feature={audited.key(j)!r} holds categories, which have no order. Ask about a "
                "feature of numbers."
            )
    directions = _directions(increasing, features)
    if asked.kind != "class":
        positive = audited.forest.classes[asked.column] if asked.kind == "probabilities" else None
        if class_order is not None:
            raise ValueError(
                f"class_order={class_order!r} is for classes, but a number is asked about. Leave "
                "class_order out."
            )
    # A search for each feature: its rows differ in that one alone.
    searches: list[_PairSearch] = []
    for j, rises in zip(features, directions, strict=True):
        given = audited, j, rises
        if asked.kind == "class":
            searches.append(_ClassSearch(*given, class_order, positive))
        else:
            searches.append(_NumberSearch(*given, asked))
    rows, search = _refuted(searches)
    monotone, values, predictions, pair = rows is None, None, None, None
    if rows is not None:
        values = float(rows[0, search.j]), float(rows[1, search.j])
        predictions = tuple(asked.numbers(audited.model, rows).tolist())
        # What was found in cells is said of the model itself, which is asked.
        if not search.falls(*predictions):
            raise audited.disagrees(rows)
        pair, rows = rows, audited.table.shown(rows)
    elif search is not None:
        monotone = None
    told = [search] if search is not None else searches
    keys, rising = [audited.key(one.j) for one in told], [one.increasing for one in told]
    if search is not None or isinstance(feature, str | Integral):
        keys, rising = keys[0], rising[0]
    return Monotonicity(
        monotone=monotone,
        feature=keys,
        increasing=rising,
        counterexample=rows,
        values=values,
        predictions=predictions,
        n_cuts=sum(one.n_cuts for one in searches),
        n_proven=sum(one.n_proven for one in searches),
        n_boxes=sum(one.n_boxes for one in searches),
        seconds=monotonic() - begin,
        domain=domain,
        finer=audited.finer,
        response=asked.kind,
        positive=plain(positive),
        reason=None if monotone is not None else search.reason,
        claim=_claim(told, asked, pair),
    )


def _claim(searches, asked, pair):
    """What was found of all features at once, as evidence says it; None if it is undecided."""
    if pair is None and any(search.pending for search in searches):
        return None
    search, audited = searches[0], searches[0].audited
    inside, n, features = audited.inside, audited.forest.n_features, [one.j for one in searches]
    own, moved, order = np.arange(n), np.arange(n), []
    for d, one in enumerate(searches, n):
        moved[one.j] = d
        # the feature is lower in the first use; where answers must fall, in the second
        order.append([one.j, d] if one.increasing else [d, one.j])
    if inside is not None:
        inside = inside.doubled(features)
        tied = [*features, *range(n, n + len(features))]
        inside = replace(
            inside, missing=inside.missing & ~np.isin(np.arange(len(inside.low)), tied)
        )
    point = None
    if pair is not None:
        low, high = pair if search.increasing else pair[::-1]
        point = np.append(low, high[features])
    data = {"of": asked.in_evidence, "order": None, "column": asked.column}
    if asked.kind == "class":
        rank = search.rank if search.increasing else -search.rank
        data["order"] = (rank - rank.min()).tolist()
    return Claim(
        "rises",
        [audited.model],
        [audited.model.finest],
        [Use(0, own), Use(0, moved)],
        inside,
        data,
        order=order,
        point=point,
    )


def _directions(increasing, features):
    """Of each feature, whether the answer has to rise with it."""
    given = np.asarray(increasing)
    if given.dtype != bool or given.shape not in ((), (len(features),)):
        raise ValueError(
            f"increasing={increasing!r} must be True or False, or a list of {len(features)} of "
            "these, one for each feature."
        )
    return np.broadcast_to(given, len(features)).tolist()


def _refuted(searches) -> tuple[np.ndarray | None, _PairSearch | None]:
    """Two rows and the search that found them; or None and a search that is undecided, if any."""
    # A counterexample ends the question: what is quick to look at comes before any long proof.
    for search in searches:
        if (rows := search.begin()) is not None:
            return rows, search
    for limit in ROUNDS:
        left = [search for search in searches if search.pending]
        for search in left:
            if (rows := search.look(limit)) is not None:
                return rows, search
    left = [search for search in searches if search.pending]
    return None, left[0] if left else None


def _ranks(classes, class_order, positive):
    """How high each class is."""
    positive = plain(positive)
    if class_order is not None and positive is not None:
        raise ValueError(
            f"class_order={class_order!r} and positive={positive!r} were both given. Give one."
        )
    if positive is not None:
        if positive not in classes:
            raise ValueError(f"positive={positive!r} is not one of the classes {classes}.")
        return np.array([label == positive for label in classes], dtype=np.intp)
    if class_order is None:
        if len(classes) > 2:
            raise ValueError(
                f"The model has the classes {classes}, whose order is not known. Give them from "
                "the lowest to the highest as class_order, or name one as positive."
            )
        return np.arange(len(classes))
    given = [plain(label) for label in class_order]
    if len(given) != len(classes) or any(label not in given for label in classes):
        raise ValueError(
            f"class_order={given} does not hold each of the classes {classes} once. Name them all."
        )
    return np.array([given.index(label) for label in classes], dtype=np.intp)


def _tree_falls(nodes, axis, k, score):
    """Whether a tree's score falls from cell k of an axis to the next; and the steps taken.

    The tree is a list of (axis, cut, size), and the numbers of its leaves are rows of `score`.
    """

    def descend(node, cell, box):
        while (at := nodes[node])[0] >= 0:
            if at[0] == axis:
                first = last = cell
            elif at[0] in box:
                first, last = box[at[0]]
            else:
                return node
            if last <= at[1]:
                node += 1
            elif first > at[1]:
                node += 1 + nodes[node + 1][2]
            else:
                return node
        return node

    stack, steps = [(0, 0, {})], 0
    while stack:
        steps += 1
        a, b, box = stack.pop()
        a, b = descend(a, k, box), descend(b, k + 1, box)
        split = a if nodes[a][0] >= 0 else b
        on, cut, _ = nodes[split]
        if on < 0:
            if a != b and (score[nodes[a][1]] > score[nodes[b][1]]).any():
                return True, steps
            continue
        first, last = box.get(on, (0, np.inf))
        stack.append((a, b, {**box, on: (first, min(last, cut))}))
        stack.append((a, b, {**box, on: (max(first, cut + 1), last)}))
    return False, steps


class _PairSearch(ABC):
    """The search for two rows that differ in feature j, the first of a lower value and too high.

    Attributes
    ----------
    pending : list of int
        Cut points of the feature at which it is not known whether the answer falls.
    """

    # cells looked at first
    probed = PROBED

    def __init__(self, audited, j, increasing):
        self.audited, self.j, self.increasing = audited, j, increasing
        self.forest = audited.forest.on_thresholds
        self.axes, self.inside = audited.axes, audited.inside
        cuts = self.axes.by_feature[j]
        self.cuts = cuts[np.isfinite(cuts)]
        self.n_cuts = len(self.cuts)
        if self.inside is not None:
            # both rows must be inside the domain: what the other features then fulfil
            tied = any(j == i for clause in self.inside.clauses for i, _ in clause)
            self.inside = self.inside.held(j, False, True) if tied else self.inside
        self.outside = None if self.inside is None else self.inside.outside(self.axes)
        self.is_other = np.arange(self.forest.n_features) != j
        by_feature = list(self.axes.by_feature)
        by_feature[j] = np.empty(0)
        self.others = Axes(by_feature, self.axes.row_dtype)
        self.n_boxes, self.reason = 0, "time"
        self.pending = list(range(self.n_cuts))

    @abstractmethod
    def falls(self, first, second):
        """Whether the first of two answers is higher than the second."""

    @abstractmethod
    def _rising_scores(self):
        """Leaf values with whose sum the answer rises; None where the vote is no such sum."""

    @abstractmethod
    def _at(self, k, limit):
        """Whether the answer never falls at a cut point: (proven, a cell that refutes, reason)."""

    @abstractmethod
    def _wrong_on(self, cells, length):
        """At which cut points of lines of cells the answer falls: bools of (n_lines, n_cuts)."""

    @property
    def n_proven(self):
        """At how many cut points the answer is known not to fall."""
        return self.n_cuts - len(self.pending)

    def begin(self):
        """Look for two rows where that is quick, and for cut points at which no tree falls."""
        if not self.n_cuts:
            return None
        with suppress(Stopped):  # out of time, nothing is known of any cut point
            if (rows := self._probed()) is not None:
                return rows
            self.pending = self._falls()
        return None

    def look(self, limit):
        """Search so many boxes at each pending cut point: two rows, or None."""
        for k in tuple(self.pending):
            try:
                check_time()
                proven, cell, self.reason = self._at(k, limit)
            except Stopped:
                self.reason = "time"
                return None
            if proven is False:
                rows = self._rows(cell[None], k)
                return np.concatenate(rows)
            if proven:
                self.pending.remove(k)
        return None

    def _falls(self):
        """The cut points at which some tree falls: elsewhere, no sum of trees does.

        Where each term of a sum is at least as large, so is the sum, rounded term by term.
        """
        score = self._rising_scores()
        if score is None:
            return self.pending
        trees = self.axes.encode_forest(self.forest)
        falls, steps = set(), 0
        for t in range(len(trees)):
            nodes = trees[t].tolist()
            for k in {cut for axis, cut, _ in nodes if axis == self._axis} - falls:
                if k >= self.n_cuts:
                    continue
                if steps > MAX_STEPS or is_late():
                    return self.pending
                fell, n = _tree_falls(nodes, self._axis, k, score)
                steps += n
                if fell:
                    falls.add(k)
        return sorted(falls)

    def _restricted(self, k):
        """The forest where the feature is in its cell k: without the splits on it."""
        forest = self.forest
        point = np.append(self.cuts, self.axes.largest)[k]
        target = np.arange(forest.n_nodes)
        # Splits on the feature are passed by, and may follow on one another.
        splits = forest.feature == self.j
        below = np.where(forest.threshold >= point, forest.left, forest.right)
        while (at := np.flatnonzero(splits[target])).size:
            target[at] = below[target[at]]
        return replace(
            forest,
            left=forest.left[target],
            right=forest.right[target],
            feature=forest.feature[target],
            threshold=forest.threshold[target],
            value=forest.value[target],
            missing_left=None if forest.missing_left is None else forest.missing_left[target],
            missing=None if forest.missing is None else forest.missing & self.is_other,
        )

    def _rows(self, cells, k):
        """The rows below and above cut point k, in cells over the other features."""
        if len(self.axes.shape) > 1:
            cells = np.insert(cells, self._axis, 0, axis=1)
        points = []
        for cell in (k, k + 1):
            cells[:, self._axis] = cell
            points.append(points_in(self.axes, self.inside, cells))
        # Points of two cells may differ elsewhere: only this feature is to.
        points[1][:, self.is_other] = points[0][:, self.is_other]
        return points

    @property
    def _axis(self) -> int:
        return int(np.flatnonzero(self.axes.features == self.j)[0])

    def _probed(self):
        """Two rows found on random lines along the feature, or None."""
        length = self.n_cuts + 1
        n = max(1, min(self.probed, PROBED_LEAVES // self.forest.n_trees) // length)
        rng = np.random.default_rng(0)
        first, last = self.axes.whole
        cells = rng.integers(first, last + 1, size=(n, len(first)), dtype=np.int32)
        cells = np.repeat(cells, length, axis=0)
        cells[:, self._axis] = np.tile(np.arange(length, dtype=np.int32), n)
        at = np.argwhere(self._wrong_on(cells, length))
        if not at.size:
            return None
        line, k = at[0]
        cell = cells[line * length : line * length + 1]
        if len(self.axes.shape) > 1:
            cell = np.delete(cell, self._axis, axis=1)
        return np.concatenate(self._rows(cell, int(k)))


class _ClassSearch(_PairSearch):
    """The search for a class that is too high; `is_monotone` says what the last two mean."""

    def __init__(self, audited, j, increasing, class_order, positive):
        super().__init__(audited, j, increasing)
        classes = audited.forest.classes.tolist()
        rank = _ranks(classes, class_order, positive)
        self.rank = rank if increasing else -rank
        self.place = {label: i for i, label in enumerate(classes)}
        self.wrong = self.rank[:, None] > self.rank

    def falls(self, first, second):
        return self.wrong[self.place[first], self.place[second]]

    def _rising_scores(self):
        # the lead of the higher one of two classes
        if self.forest.sums is None or len(self.rank) != 2:
            return None
        sign = np.sign(self.rank[1] - self.rank[0])
        return self.forest.sums.value * np.array([-sign, sign])

    def _at(self, k, limit):
        space = Space(
            [self._restricted(k), self._restricted(k + 1)],
            axes=self.others,
            domain=self.inside,
            wrong=lambda _: self.wrong,
        )
        proven, cells, n_boxes = prove(space, limit, near_ties=limit != ROUNDS[0])
        self.n_boxes += n_boxes
        return proven, None if cells is None else cells[0], "time"

    def _wrong_on(self, cells, length):
        labels = Lines(self.forest, self.axes, self.outside).classes_of(cells)
        labels = labels.reshape(-1, length)
        free = labels == FREE
        labels = np.where(free, 0, labels)
        return self.wrong[labels[:, :-1], labels[:, 1:]] & ~free[:, :-1] & ~free[:, 1:]


class _NumberSearch(_PairSearch):
    """The search for a number that is too high."""

    # the model itself is asked about them
    probed = ASKED

    def __init__(self, audited, j, increasing, asked):
        super().__init__(audited, j, increasing)
        self.asked = asked

    def falls(self, first, second):
        return first > second if self.increasing else first < second

    def _rising_scores(self):
        terms = rising_sums(self.forest, self.asked.column)[0].terms
        return terms if self.increasing else -terms

    def _at(self, k, limit):
        forests = [self._restricted(k), self._restricted(k + 1)]
        order = slice(None) if self.increasing else slice(None, None, -1)

        def answers(cells):
            rows = self._rows(cells, k)[order]
            return [self.asked.numbers(self.audited.model, own)[:, None] for own in rows]

        search = Rise(forests[order], self.asked.column, self.others, self.inside, answers, 0.0)
        found = search.decide(None, limit)
        self.n_boxes += search.n_boxes
        return found.outcome, found.cell, found.reason

    def _wrong_on(self, cells, length):
        free = in_boxes(cells, self.outside)
        rows = points_in(self.axes, self.inside, cells[~free])
        numbers = np.full(len(cells), np.nan)
        if len(rows):
            numbers[~free] = self.asked.numbers(self.audited.model, rows)
        numbers = numbers.reshape(-1, length) * (1.0 if self.increasing else -1.0)
        return numbers[:, :-1] > numbers[:, 1:]
