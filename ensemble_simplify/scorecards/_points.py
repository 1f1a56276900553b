"""Short numbers for a card: whole points, few and small, that keep the classes, and short edges.

`rounded` tries scales from small to large. At each, points are rounded, the cut-off is chosen
anew, and single points are moved by one where that mends classes, until no more rows than promised
change their class. The order of the points within a term stays: of two bins, the one with more
points never has fewer afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from ensemble_simplify.grid import shortest_decimal
from ensemble_simplify.scorecards._card import Card, Term, singles
from ensemble_simplify.scorecards._chances import with_chances

# Largest differences of the points within a term that are tried, one after the other.
RANGES = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20, 25, 30, 35, 40, 50, 60, 80, 100)
MORE_RANGES = (150, 200, 300, 500, 1000, 3000, 10_000, 100_000, 1_000_000)
# Points are moved one by one up to this range, in so many rounds, over so many kinds of rows.
MOVED, ROUNDS, KINDS = 100, 4, 20_000
# Sums of points that are listed for each half of the columns.
LISTED = 1 << 16
# Rows of independent columns may change so many times as often as the rows may: then no more of new
# rows change than promised; without this, twice as many, and on few rows more.
_SPARE = 2.0
# Numbers are rounded to 1, 2 or 5 times a power of ten.
_NICE = (5.0, 2.0, 1.0)


@dataclass(frozen=True, eq=False)
class Everywhere:
    """How often two cards answer another class, over all combinations of bins.

    Attributes
    ----------
    n_cells, n_changed : int
        Combinations of bins, and those whose class differs.
    share : float
        Share of rows that differ if columns that no term ties together were independent, each
        with its bins as frequent as in the rows.
    """

    n_cells: int
    n_changed: int
    share: float


@dataclass(frozen=True, eq=False)
class Rounded:
    """A card of whole points beside the one that it was rounded from.

    Attributes
    ----------
    card : Card
        Points and base are whole numbers (of a regression, multiples of `unit`).
    unit : float
        What one point stands for in the scores of the other card.
    n_changed : int
        Rows whose class differs; of a regression, 0.
    share_changed : float
        Their share, with weights.
    score_change : float
        No total differs by more points from the score that it was rounded from, whatever the row.
    probability_change : float
        No probability differs by more from that of this score, under the same slope. Of a
        regression, both are the largest change of a number.
    everywhere : Everywhere or None
        None: there are too many combinations, or more than two classes with too many of them.
    """

    card: Card
    unit: float
    n_changed: int
    share_changed: float
    score_change: float
    probability_change: float
    everywhere: Everywhere | None = None


def rounded(card, X, weight=None, *, max_changed=0.0, rates=None, is_scaled=False) -> Rounded:
    """Whole numbers for the points of a card, as small as a promise on some rows allows.

    Parameters
    ----------
    card : Card
    X : float64 array of shape (n_rows, n_columns)
    weight : array of shape (n_rows,) or None
    max_changed : float
        Share of the rows whose class may change. Unless it is zero, the share `Everywhere`, where
        it can be counted, may be twice as large at most: a few rows let almost any points pass,
        and then those of new rows change more often than promised. For a regression, the root mean
        square change of its numbers, as a share of their standard deviation.
    rates : float64 array of shape (n_rows,) or (n_rows, n_classes), default=None
        What chances are fitted to: see `with_chances`. None: the probabilities of the card itself.
    is_scaled : bool, default=False
        Whether a point and the link of a card for two classes stay what they are: see `Scale`.
        The promise may then be broken.

    Returns
    -------
    Rounded
        With the fewest changes that were found if all scales break the promise.
    """
    X = np.asarray(X, dtype=np.float64)
    weight = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=np.float64)
    if card.link in ("identity", "log"):
        return _rounded_numbers(card, X, weight, max_changed)
    kinds = _Kinds.of(card, X, weight)
    if is_scaled:
        _, _, points, base = _at_scale(card, kinds, 1.0, max_changed)
        whole = replace(card.with_points(points, base), tie_upper=True, at=0.0)
        # the totals that part classes at zero move to where they are right on average
        apart = (card.scores(X) - whole.scores(X))[:, 0]
        by = float(np.rint(np.average(apart, weights=weight)))
        return _compared(card, replace(whole, base=base + by, at=by), 1.0, X, weight)
    largest = max((np.ptp(v) for own in kinds.values for v in own), default=0.0)
    best, least = None, np.inf
    for most in (*RANGES, *MORE_RANGES):
        changed, unit, points, base = _at_scale(card, kinds, largest / most or 1.0, max_changed)
        # larger points have to bring something
        if changed > max(least, max_changed):
            continue
        whole = replace(card.with_points(points, base), tie_upper=card.link == "logistic")
        best, least = (whole, unit), changed
        if changed <= max_changed and _holds_everywhere(card, whole, X, weight, max_changed):
            break
    whole, unit = best
    if rates is None:
        rates = card.probabilities(card.scores(X))
        rates = rates if card.link == "softmax" else rates[:, 1]
    whole = with_chances(whole, X, weight, rates)
    # where totals of zero are in the upper class, that is a score of half a point
    return _compared(card, whole, unit, X, weight, 0.5 if whole.tie_upper else 0.0)


def _holds_everywhere(card, whole, X, weight, max_changed):
    """Whether rows of independent columns change at most twice as often as others may."""
    if max_changed == 0.0:
        return True
    found = changed_everywhere(card, whole, X, weight)
    return found is None or found.share <= _SPARE * max_changed


# ------------------------------------------------------------------- one scale


@dataclass(frozen=True, eq=False)
class _Kinds:
    """Rows that have all bins in common, as one: their bins, class and weight.

    `values` holds the distinct points of each term in each score, ascending, and `places` says
    which of them each bin has; `which` says it for each kind of rows: int array of shape (n_terms,
    n_scores, n_kinds).
    """

    values: list
    places: list
    which: np.ndarray
    label: np.ndarray
    weight: np.ndarray
    usual: list

    @classmethod
    def of(cls, card, X, weight):
        bins = [np.ravel_multi_index(term.bins(X), term.points.shape[:-1]) for term in card.terms]
        # the zeros are for a card without terms, which has one kind
        codes = np.column_stack([*bins, np.zeros(len(X), dtype=np.intp)])
        _, first, kind = np.unique(codes, axis=0, return_index=True, return_inverse=True)
        total = np.bincount(kind.ravel(), weights=weight) / weight.sum()
        values, places, usual = [], [], []
        which = np.zeros((len(card.terms), card.n_scores, len(first)), dtype=np.intp)
        for t, term in enumerate(card.terms):
            flat = term.points.reshape(-1, card.n_scores)
            share = np.bincount(bins[t][first], weights=total, minlength=len(flat))
            usual.append(flat[share.argmax()])
            values.append([])
            places.append([])
            for k in range(card.n_scores):
                distinct, place = np.unique(flat[:, k], return_inverse=True)
                values[t].append(distinct)
                places[t].append(place.ravel())
                which[t, k] = place.ravel()[bins[t][first]]
        label = card.index_of(card.scores(X[first]))
        return cls(values, places, which, label, total, usual)


class _Search:
    """Whole points at one scale, their sums, and what they change."""

    def __init__(self, kinds, points, base):
        self.kinds, self.points, self.base = kinds, points, base
        which = kinds.which
        self.sums = np.zeros((which.shape[2], which.shape[1]), dtype=np.int64)
        for t in range(which.shape[0]):
            for k in range(which.shape[1]):
                self.sums[:, k] += points[t][k][which[t, k]]
        self.changed, self.base = self.judge(self.sums, base)

    def judge(self, sums, base):
        """Share of rows that change their class, and the base at which it is least."""
        kinds = self.kinds
        if sums.shape[1] > 1:
            wrong = (sums + base).argmax(axis=1) != kinds.label
            return float(kinds.weight[wrong].sum()), base
        sums = sums[:, 0]
        low, high = int(sums.min()), int(sums.max())
        places = sums - low
        # all cut-offs at once: moving one up by a sum changes the rows of this sum alone
        lead = np.where(kinds.label == 1, -kinds.weight, kinds.weight)
        # with the cut-off at a sum, those from it on are in the upper class
        gain = np.bincount(places, weights=lead, minlength=high - low + 1)
        wrong = np.concatenate([np.cumsum(gain[::-1])[::-1], [0.0]])
        wrong = np.maximum(wrong + kinds.weight[kinds.label == 1].sum(), 0.0)
        near = wrong <= wrong.min() + 1e-12
        # of equally good ones, the one next to where it was
        cuts = np.flatnonzero(near) + low
        cut = cuts[np.abs(cuts + int(base[0])).argmin()]
        return float(wrong[cut - low]), np.array([-cut])

    def mend(self, enough) -> None:
        """Move single points by one, as long as that changes fewer classes."""
        for _ in range(ROUNDS):
            before = self.changed
            for move in self._moves():
                if self.changed <= enough:
                    return
                self._try(*move)
            if self.changed >= before:
                return

    def _moves(self):
        """Steps by one: of a point of a term (None: of the base) in a score, and which way."""
        for t, own in enumerate(self.points):
            for k, values in enumerate(own):
                for u, step in product(range(len(values)), (1, -1)):
                    beside = u + step
                    # the order of the points stays
                    if not (0 <= beside < len(values) and values[beside] == values[u]):
                        yield t, k, u, step
        if self.sums.shape[1] > 1:
            yield from ((None, k, 0, step) for k in range(len(self.base)) for step in (1, -1))

    def _try(self, t, k, u, step):
        sums, base = self.sums.copy(), self.base.copy()
        if t is None:
            base[k] += step
        else:
            sums[self.kinds.which[t, k] == u, k] += step
        changed, base = self.judge(sums, base)
        if changed < self.changed:
            self.changed, self.base, self.sums = changed, base, sums
            if t is not None:
                self.points[t][k][u] += step


def _at_scale(card, kinds, unit, enough):
    """The best points found of which one stands for `unit`, with their cut-off at zero: share
    changed, the unit, points and base.
    """
    found = None
    for from_usual in (True, False):
        # the bin that most rows are in has no points, or the points have no fractions left out
        shifts = [usual if from_usual else np.zeros_like(usual) for usual in kinds.usual]
        points = [
            [np.rint((v - at) / unit).astype(np.int64) for v, at in zip(own, shift, strict=True)]
            for own, shift in zip(kinds.values, shifts, strict=True)
        ]
        base = card.base - card.at + np.sum([np.zeros(card.n_scores), *shifts], axis=0)
        search = _Search(kinds, points, np.rint(base / unit).astype(np.int64))
        if found is None or search.changed < found.changed:
            found = search
    most = max((np.ptp(own) for each in found.points for own in each), default=0)
    if found.changed > enough and most <= MOVED and len(kinds.label) <= KINDS:
        found.mend(enough)
    points = []
    for t, term in enumerate(card.terms):
        columns = [own[place] for own, place in zip(found.points[t], kinds.places[t], strict=True)]
        points.append(np.column_stack(columns).reshape(term.points.shape).astype(np.float64))
    return found.changed, unit, points, found.base.astype(np.float64)


# ------------------------------------------------------------------- what it changes


def _compared(card, whole, unit, X, weight, half=0.0):
    """The two cards side by side: on rows, and over all combinations of bins."""
    apart = card.index_of(card.scores(X)) != whole.index_of(whole.scores(X))
    change = _largest_change(card, whole, unit, half)
    return Rounded(
        whole,
        unit,
        int(apart.sum()),
        float(weight[apart].sum() / weight.sum()),
        change,
        float(np.tanh(whole.slope * change / 4.0)),
        changed_everywhere(card, whole, X, weight),
    )


def _largest_change(card, whole, unit, half=0.0):
    """The most points by which a total and `half` are beside its score, over all rows.

    Of several scores,
    it is the most by which two of them can be moved against each other.
    """
    apart = [(whole.base + half - card.base / unit)[None]]
    for one, two in zip(card.terms, whole.terms, strict=True):
        apart.append((two.points - one.points / unit).reshape(-1, card.n_scores))
    if card.n_scores > 1:
        apart = [(own[:, :, None] - own[:, None, :]).reshape(len(own), -1) for own in apart]
    low, high = (np.sum([end(own, axis=0) for own in apart], axis=0) for end in (np.min, np.max))
    return float(max(-low.min(), high.max()))


def changed_everywhere(one, two, X, weight=None) -> Everywhere | None:
    """Over all combinations of bins, those with another class in one card than in the other.

    Both have the same bins. None where there are too many combinations.
    """
    weight = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=np.float64)
    parts = _independent_parts(one, two, np.asarray(X, dtype=np.float64), weight)
    if parts is None:
        return None
    sizes = [len(part[2]) for part in parts]
    # combinations are listed for two halves of about equal size and then joined: twice the root of
    # their number, where all at once would be too many
    halves, products = ([], []), [1.0, 1.0]
    for i in sorted(range(len(parts)), key=lambda i: -sizes[i]):
        less = int(products[1] < products[0])
        halves[less].append(parts[i])
        products[less] *= sizes[i]
    if max(products) > LISTED or (one.n_scores > 1 and products[0] * products[1] > LISTED):
        return None
    first, second = (_all_sums(half, one.n_scores) for half in halves)
    n_cells = len(first[2]) * len(second[2])
    if one.n_scores > 1:
        sums = [
            (a[:, None] + b[None] + card.base).reshape(-1, one.n_scores)
            for card, a, b in zip((one, two), first, second, strict=False)
        ]
        apart = one.index_of(sums[0]) != two.index_of(sums[1])
        share = np.outer(first[2], second[2]).ravel()[apart].sum()
        return Everywhere(n_cells, int(apart.sum()), float(share))
    n_changed, share = _crossed(one, two, first, second)
    return Everywhere(n_cells, n_changed, share)


def _independent_parts(one, two, X, weight):
    """For each set of columns that terms tie together: both cards' points, and share of rows."""
    # columns of a pair are not independent: their bins are counted together
    sets = []
    for t, term in enumerate(one.terms):
        joined, rest = ({t}, set(term.columns)), []
        for terms, columns in sets:
            if columns & joined[1]:
                joined = joined[0] | terms, joined[1] | columns
            else:
                rest.append((terms, columns))
        sets = [*rest, joined]
    parts = []
    for terms, columns in sets:
        columns = sorted(columns)
        edges = tuple(map(one.edges_of, columns))
        shape = [len(own) + 2 for own in edges]
        if np.prod(shape, dtype=float) > LISTED:
            return None
        # a row for each combination of bins, and one for gaps
        values = [np.concatenate([own, [np.inf, np.nan]]) for own in edges]
        grid = np.stack(np.meshgrid(*values, indexing="ij"), axis=-1).reshape(-1, len(columns))
        rows = np.zeros((len(grid), X.shape[1]))
        rows[:, columns] = grid
        points = [
            np.sum([card.terms[t].parts(rows) for t in sorted(terms)], axis=0)
            for card in (one, two)
        ]
        cells = Term(tuple(columns), edges, np.zeros((*shape, 1)))
        share = cells.counts(X, weight).ravel() / weight.sum()
        parts.append((*points, share))
    return parts


def _all_sums(parts, n_scores):
    """Both cards' sums, and the share, for all combinations of the bins of some parts."""
    one = two = np.zeros((1, n_scores))
    share = np.ones(1)
    for first, second, own in parts:
        one = (one[:, None] + first[None]).reshape(-1, n_scores)
        two = (two[:, None] + second[None]).reshape(-1, n_scores)
        share = np.multiply.outer(share, own).ravel()
    return one, two, share


def _crossed(one, two, first, second):
    """Pairs of a sum of each half that lead to other classes: how many, and their share.

    The second card has whole sums, few of which differ: for each of those in the first half, the
    pairs are counted by bisection in the other half.
    """
    (a, b, share), (c, d, other) = first, second
    a, b = a[:, 0] + one.base[0] - one.at, b[:, 0] + two.base[0] - two.at
    c, d = c[:, 0], d[:, 0]
    order = np.argsort(c, kind="stable")
    c, d, other = c[order], d[order], other[order]
    n_changed, changed = 0, 0.0
    for total in np.unique(b):
        rows = np.flatnonzero(b == total)
        upper = d >= -total if two.tie_upper else d > -total
        # the first place in the other half from which on the first card answers the upper class
        at = np.searchsorted(c, -a[rows], side="left" if one.tie_upper else "right")
        n_below = np.concatenate([[0], np.cumsum(upper)])
        n_above = np.concatenate([[0], np.cumsum(~upper)])
        n_changed += int((n_below[at] + n_above[-1] - n_above[at]).sum())
        below = np.concatenate([[0.0], np.cumsum(other * upper)])
        above = np.concatenate([[0.0], np.cumsum(other * ~upper)])
        changed += float(share[rows] @ (below[at] + above[-1] - above[at]))
    return n_changed, changed


# ------------------------------------------------------------------- regression


def _rounded_numbers(card, X, weight, max_changed):
    """Points of a regression, or relativities, as multiples of 1, 2 or 5 times a power of ten."""
    scores, is_log = card.scores(X)[:, 0], card.link == "log"
    mean = np.average(scores, weights=weight)
    spread = float(np.sqrt(np.average((scores - mean) ** 2, weights=weight)))
    usual = [0.0 if is_log else term.points.reshape(-1, 1).mean() for term in card.terms]
    power = int(np.ceil(np.log10(spread))) if spread > 0 and not is_log else 0
    # from coarse to fine: the first unit that moves values by little enough
    for own in range(power, power - 12, -1):
        for nice in _NICE:
            unit = float(f"{nice:g}e{own}")
            shifted = [term.points - at for term, at in zip(card.terms, usual, strict=True)]
            points = [
                _relativities(own, unit) if is_log else _multiples(own, unit) for own in shifted
            ]
            base = card.base + sum(usual)
            # a base rate has figures of its own
            base = np.log([float(f"{np.exp(base[0]):.4g}")]) if is_log else _multiples(base, unit)
            whole = card.with_points(points, base)
            moved = whole.scores(X)[:, 0] - scores
            if np.sqrt(np.average(moved**2, weights=weight)) <= max_changed * spread:
                change = _largest_change(card, whole, 1.0)
                return Rounded(whole, unit, 0, 0.0, change, change)
    return Rounded(card, 0.0, 0, 0.0, 0.0, 0.0)


def _relativities(logs, unit):
    """Logarithms of multiples of a unit, which are not zero."""
    return np.log(np.maximum(_multiples(np.exp(logs), unit), unit))


def _multiples(numbers, unit):
    """The multiples of a unit that are nearest to some numbers, with no more digits than it."""
    whole = np.rint(np.asarray(numbers) / unit)
    # 3 * 0.1 is not the number that is written 0.3
    digits = max(0, -int(np.floor(np.log10(unit))))
    return np.round(whole * unit, digits) + 0.0


# ------------------------------------------------------------------- edges


def with_short_edges(card, X, is_number) -> Card:
    """The card with edges of as few digits as part some rows as before.

    Parameters
    ----------
    card : Card
    X : float64 array of shape (n_rows, n_columns)
        Rows whose bins stay.
    is_number : bool array of shape (n_columns,)
        Columns of which edges are shortened; those of codes stay.
    """
    known = {}

    def shortened(j, edges):
        # the two ends of a code are its own
        if not is_number[j] or not len(edges) or singles(edges).any():
            return edges
        if j not in known:
            values = np.unique(X[:, j])
            known[j] = values[np.isfinite(values)]
        short = np.array([short_between(known[j], edge) for edge in edges.tolist()])
        # bins without a row between them could become one
        return short if (np.diff(short) > 0).all() else edges

    terms = [
        replace(term, edges=tuple(map(shortened, term.columns, term.edges))) for term in card.terms
    ]
    return replace(card, terms=terms)


def short_between(values, edge) -> float:
    """The number of the fewest digits from the last value up to an edge to before the next one."""
    place = int(np.searchsorted(values, edge, side="right"))
    if place in (0, len(values)):
        return edge
    low, after = float(values[place - 1]), float(values[place])
    return shortest_decimal(low, after)
