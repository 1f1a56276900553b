"""Is the class monotone in a feature?

If it is not, it falls at some cut point of the feature. For each of these, the model below it and
the model above it are two forests without the feature, alike but for the trees that split there;
bounds on both at once (`proof.prove`) tell whether one ever answers a higher class than the
other, and any kind of vote is covered.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral, Real
from sys import maxsize
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ensemble_simplify.audit._audited import Audited
from ensemble_simplify.base import Interval, deadline_after, validate_params
from ensemble_simplify.grid import FREE, Axes, Domain
from ensemble_simplify.proof import Lines, Space, points_in, prove
from ensemble_simplify.writing import number

# Each cut point may take so many boxes in the first round, so many in the second; then no limit.
ROUNDS = (4_000, 100_000, maxsize)
# Pairs of nodes of single trees that are compared first.
MAX_STEPS = 500_000
# Random lines looked at first: cells at most, and cells times trees.
PROBED, PROBED_LEAVES = 1 << 14, 1 << 23


@dataclass(frozen=True, eq=False, repr=False)
class Monotonicity:
    """Outcome of `is_monotone`.

    It is true (in the sense of ``if``) only where monotonicity is proven.

    Parameters
    ----------
    monotone : bool or None
        True: proven; False: there is a counterexample; None: the time limit came first.
    feature : str or int
        The feature, by name if the model knows names.
    increasing : bool
        Whether the class was to rise with the feature; else to fall.
    counterexample : ndarray of shape (2, n_features), table of two rows, or None
        Two rows that differ in the feature alone, the one with the lower value first. Of models
        that take tables of text or categories, a table.
    values : pair of float or None
        The feature in these rows.
    predictions : tuple or None
        What the model itself answers to them.
    n_cuts, n_proven : int
        Cut points of the feature that count in the domain, and at how many of them monotonicity
        is proven.
    n_boxes : int
        Boxes of the feature space that were looked at.
    seconds : float
        Time taken.
    domain : Domain, dict or None
        Which inputs counted.
    finer : bool
        Whether the model compares numbers finer than float32: only inputs that float32 represents
        counted.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from ensemble_simplify import is_monotone
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    >>> outcome = is_monotone(tree, 3, class_order=[0, 1, 2])
    >>> outcome.monotone, outcome.n_cuts
    (True, 2)
    """

    monotone: bool | None
    feature: str | int
    increasing: bool
    counterexample: np.ndarray | None
    values: tuple | None
    predictions: tuple | None
    n_cuts: int
    n_proven: int
    n_boxes: int
    seconds: float
    domain: Domain | dict | None = None
    finer: bool = False

    def __bool__(self):
        return self.monotone is True

    def __repr__(self):
        effort = f"{self.n_boxes} boxes in {self.seconds:.3g} s"
        what = f"{self.feature!r}, {'in' if self.increasing else 'de'}creasing"
        if self.monotone:
            where = "every input that float32 represents" if self.finer else "every input"
            where += "" if self.domain is None else " in the domain"
            return f"Monotonicity({what}: proven for {where}; {effort})"
        if self.monotone is None:
            done = f"proven at {self.n_proven} of {self.n_cuts} cut points"
            return f"Monotonicity({what}: undecided at the limit, {done}; {effort})"
        low, high = self.values
        first, second = self.predictions
        return (
            f"Monotonicity({what}: refuted, from {number(low)} to {number(high)} {first!r} becomes "
            f"{second!r}; {effort})"
        )


@validate_params(
    {
        "feature": [str, Integral],
        "increasing": ["boolean"],
        "class_order": ["array-like", None],
        "domain": [Domain, dict, None],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
    },
    prefer_skip_nested_validation=False,
)
def is_monotone(
    model: Any,
    feature: str | int,
    *,
    increasing: bool = True,
    class_order: ArrayLike | None = None,
    positive: Any = None,
    domain: Domain | dict | None = None,
    time_limit: float | None = None,
) -> Monotonicity:
    """Prove that a higher value of a feature never lowers the class, or find a counterexample.

    Read more in the :ref:`User Guide <audit>`.

    Parameters
    ----------
    model : estimator
        A fitted classifier: a tree ensemble, a decision tree, a pipeline that ends in one, or an
        estimator of this package. It is not changed.
    feature : str or int
        The feature, by index, or by name if the model knows the names of its columns.
    increasing : bool, default=True
        True: a higher value must never lower the class. False: it must never raise the class.
    class_order : array-like of shape (n_classes,) or None, default=None
        All classes from the lowest to the highest. None: with two classes, ``classes_`` of the
        model. With more classes, give this or `positive`.
    positive : label or None, default=None
        The one class that counts as high; all others count as equally low. A higher value of the
        feature must then never turn this class into another one (with ``increasing=False``: never
        another one into this class).
    domain : Domain, dict or None, default=None
        Which inputs can occur. Only these count. See :class:`Domain`. None: every finite input.
    time_limit : float or None, default=None
        Seconds after which the attempt ends undecided.

    Returns
    -------
    outcome : Monotonicity
        Its attribute ``monotone`` is True (proven), False (see ``counterexample``: two rows on
        which the model's own ``predict`` was called) or None (the time limit came first).

    Raises
    ------
    TypeError
        If the model cannot be read, or is a regressor.
    ValueError
        If the feature is unknown or holds categories, which have no order, or the classes do not
        fit the model.

    See Also
    --------
    sufficient_box : A box around a row in which the class is the same.
    verify : Whether two models answer alike.

    Notes
    -----
    Only rows that differ in this feature alone are compared, and a missing value is neither high
    nor low: it counts in other features, where the domain allows it, and not in this one. Pipelines
    are judged on the rows that float32 represents.

    Where no single tree of two classes falls, as under monotonic constraints, that alone is a
    proof. A single tree takes about as many steps as it has leaves, for each cut point of the
    feature. Of ensembles, time can grow exponentially with the number of features. Bounds on the
    model below and above one cut point at once are close, as all trees cancel that do not split
    there [1]_.

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
    >>> bool(is_monotone(forest, "mean texture", increasing=False))
    True
    >>> outcome = is_monotone(forest, "worst area", increasing=False)
    >>> outcome.monotone, outcome.counterexample.shape, *map(int, outcome.predictions)
    (False, (2, 30), 0, 1)
    """
    begin, deadline = monotonic(), deadline_after(time_limit)
    audited = Audited(model, domain)
    j = audited.index(feature, "feature")
    if audited.table.categorical[j]:
        raise ValueError(
            f"feature={feature!r} holds categories, which have no order. Ask about a feature of "
            "numbers."
        )
    rank = _ranks(audited.forest.classes.tolist(), class_order, positive)
    rank = rank if increasing else -rank
    search = _PairSearch(audited, j, rank, deadline)
    rows = search.run()
    values = predictions = None
    if rows is not None:
        values = float(rows[0, j]), float(rows[1, j])
        predictions = tuple(audited.model.answers(rows).tolist())
        order = dict(zip(audited.forest.classes.tolist(), rank.tolist(), strict=True))
        if not order[predictions[0]] > order[predictions[1]]:
            raise audited.disagrees(rows)
        rows = audited.table.shown(rows)
    return Monotonicity(
        monotone=search.outcome,
        feature=audited.key(j),
        increasing=bool(increasing),
        counterexample=rows,
        values=values,
        predictions=predictions,
        n_cuts=search.n_cuts,
        n_proven=search.n_proven,
        n_boxes=search.n_boxes,
        seconds=monotonic() - begin,
        domain=domain,
        finer=audited.finer,
    )


def _ranks(classes, class_order, positive):
    """How high each class is."""
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
    given = list(class_order)
    if len(given) != len(classes) or any(label not in given for label in classes):
        raise ValueError(
            f"class_order={given} does not hold each of the classes {classes} once. Name them all."
        )
    return np.array([given.index(label) for label in classes], dtype=np.intp)


def _rising_scores(forest, rank):
    """Leaf values whose sum grows with the lead of the higher one of two classes.

    None where the vote is no such sum.
    """
    if forest.sums is None or len(rank) != 2:
        return None
    sign = np.sign(rank[1] - rank[0])
    return forest.sums.value * np.array([-sign, sign])


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


class _PairSearch:
    """The search for two rows that differ in feature j, the lower one of a higher class."""

    def __init__(self, audited, j, rank, deadline):
        self.audited, self.j, self.deadline = audited, j, deadline
        self.forest, self.axes, self.inside = audited.forest, audited.axes, audited.inside
        cuts = self.axes.by_feature[j]
        self.cuts = cuts[np.isfinite(cuts)]
        self.n_cuts = len(self.cuts)
        if self.inside is not None:
            # both rows must be inside the domain: what the other features then fulfil
            tied = any(j == i for clause in self.inside.clauses for i, _ in clause)
            self.inside = self.inside.held(j, False, True) if tied else self.inside
        self.rank, self.wrong = rank, rank[:, None] > rank
        self.is_other = np.arange(self.forest.n_features) != j
        by_feature = list(self.axes.by_feature)
        by_feature[j] = np.empty(0)
        self.others = Axes(by_feature, self.axes.row_dtype)
        self.n_proven = self.n_boxes = 0
        self.outcome = None

    def run(self):
        """Two rows, or None; `outcome` says what that means."""
        if not self.n_cuts:
            self.outcome = True
            return None
        if (found := self._probed()) is not None:
            self.outcome = False
            return found
        pending = self._falls()
        self.n_proven = self.n_cuts - len(pending)
        for limit in ROUNDS:
            left = []
            for k in pending:
                if monotonic() >= self.deadline:
                    return None
                proven, cells = self._at(k, limit)
                if proven is False:
                    self.outcome = False
                    # a cell of this feature among those of the others; without others, the only one
                    cell = np.insert(cells[0], self._axis, 0)[: len(self.axes.shape)]
                    return self._rows(cell, k)
                self.n_proven += proven is True
                left += [k] if proven is None else []
            pending = left
            if not pending:
                self.outcome = True
                return None
        return None

    def _falls(self):
        """The cut points at which some tree falls: elsewhere, no sum of trees does.

        Where each term of a sum is at least as large, so is the sum, rounded term by term.
        """
        score = _rising_scores(self.forest, self.rank)
        if score is None:
            return list(range(self.n_cuts))
        trees = self.axes.encode_forest(self.forest)
        falls, steps = set(), 0
        for t in range(len(trees)):
            nodes = trees[t].tolist()
            for k in {cut for axis, cut, _ in nodes if axis == self._axis} - falls:
                if k >= self.n_cuts:
                    continue
                if steps > MAX_STEPS or monotonic() >= self.deadline:
                    return list(range(self.n_cuts))
                fell, n = _tree_falls(nodes, self._axis, k, score)
                steps += n
                if fell:
                    falls.add(k)
        return sorted(falls)

    def _at(self, k, limit):
        """Whether the class never falls at a cut point: (proven, cells that refute)."""
        space = Space(
            [self._restricted(k), self._restricted(k + 1)],
            axes=self.others,
            domain=self.inside,
            wrong=lambda _: self.wrong,
        )
        proven, cells, n_boxes = prove(space, self.deadline, limit, near_ties=limit != ROUNDS[0])
        self.n_boxes += n_boxes
        return proven, cells

    def _restricted(self, k):
        """The forest where the feature is in its cell k: without the splits on it."""
        forest = self.forest
        point = np.append(self.cuts, self.axes.largest)[k]
        target = np.arange(forest.n_nodes)
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

    def _rows(self, cell, k):
        """The rows below and above cut point k, at a cell over all features."""
        cells = np.tile(cell, (2, 1))
        cells[:, self._axis] = k, k + 1
        rows = points_in(self.axes, self.inside, cells)
        rows[1, self.is_other] = rows[0, self.is_other]
        return rows

    @property
    def _axis(self):
        return int(np.flatnonzero(self.axes.features == self.j)[0])

    def _probed(self):
        """Two rows found on random lines along the feature, or None."""
        outside = None if self.inside is None else self.inside.outside(self.axes)
        lines = Lines(self.forest, self.axes, outside)
        length = self.n_cuts + 1
        n = max(1, min(PROBED, PROBED_LEAVES // self.forest.n_trees) // length)
        rng = np.random.default_rng(0)
        first, last = self.axes.whole
        cells = rng.integers(first, last + 1, size=(n, len(first)), dtype=np.int32)
        cells = np.repeat(cells, length, axis=0)
        cells[:, self._axis] = np.tile(np.arange(length, dtype=np.int32), n)
        labels = lines.classes_of(cells).reshape(n, length)
        free = labels == FREE
        labels = np.where(free, 0, labels)
        wrong = self.wrong[labels[:, :-1], labels[:, 1:]] & ~free[:, :-1] & ~free[:, 1:]
        at = np.argwhere(wrong)
        if not at.size:
            return None
        line, k = at[0]
        return self._rows(cells[line * length], int(k))
