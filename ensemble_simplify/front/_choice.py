"""Which size is recommended, and which method's result: pure functions on answers to rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.utils import check_random_state

from ensemble_simplify.front._judged import Candidate, Judged, agreement_of
from ensemble_simplify.front._rules import leaves

# What twice as many leaves must bring, at least: a point of agreement, or this much of the way
# from the best constant answer to the model's, in a coefficient of determination or another score.
POINT = 0.01
PART = 0.02
# Standard errors by which another tree must lead the favourite: in trials, one was too few to tell
# the better tree from the lucky one.
CLEARLY = 1.5
# So many times that are given away for a smaller size, at most, where the rows cannot tell.
IN_DOUBT = 2
# Rows that are added to those of a class before their weight is taken.
FEW = 10
# Bootstrap samples for the correction.
N_SAMPLES = 150
# Parts of the rows that are left out in turn, for the standard error of a score.
_N_PARTS = 16


# ------------------------------------------------------------------- comparisons


@dataclass(frozen=True)
class _Lead:
    """How much more one result agrees than another, with standard errors; by class, too."""

    all: float
    error: float
    mixed: float
    mixed_error: float
    by_class: np.ndarray
    class_error: np.ndarray
    doubt: float  # the standard error if one more row was unlike

    @property
    def is_better(self) -> bool:
        """Whether it leads by rows or by classes, and does not fall behind in the other."""
        by_rows = self.all > CLEARLY * self.error and self.mixed >= 0
        by_classes = self.mixed > CLEARLY * self.mixed_error and self.all >= -self.error
        return bool(by_rows or by_classes)

    def is_as_good(self, least) -> bool:
        """Whether it leads or is equal everywhere, and the rows are enough to tell."""
        everywhere = self.all >= 0 and (self.by_class >= 0).all()
        return bool(everywhere and self.doubt <= least)

    def may_be_equal(self, least) -> bool:
        """Whether the lead is within one standard error, and the rows are enough to tell."""
        alike = self.all <= self.error and (self.by_class <= self.class_error).all()
        return bool(alike and self.doubt <= IN_DOUBT * least)


class Comparison:
    """Candidates side by side, on rows of which some may count several times or never.

    What is compared is the mean of a value of each row: whether the answer is the model's, or
    1 less the squared error in units of the variance, so that the mean is the R2. Rows alike in
    all that are one unit, and are counted.

    Parameters
    ----------
    candidates : list of Candidate
        All that are compared.
    judged : Judged
        The rows.
    """

    def __init__(self, candidates, judged):
        self.candidates, self.judged = list(candidates), judged
        self.measured = np.array([c.rows for c in self.candidates])
        self.weights = self.mixed = np.ones(1)
        self._pairs = {}
        self._set_units(len(judged.answers))

    def _set_units(self, n_rows):
        judged = self.judged
        if judged.is_classifier:
            # rows with one answer of the model, to which the same candidates agree, are one unit:
            # there are a few dozen in place of thousands of rows, and every draw of the bootstrap
            # goes over all
            alike = np.array([c.predicted == judged.answers for c in self.candidates])
            firsts, self.unit_of = _patterns([judged.places, *(alike + 2 * self.measured)])
            self.values, self.measured = alike[:, firsts] * 1.0, self.measured[:, firsts]
            self.places = judged.places[firsts]
            self.weights = self.mixed = judged.weights
            if judged.class_weight is None and len(judged.labels) > 1:
                # a class counts by about the root of its share: between all rows alike and all
                # classes alike, without a share from which it is rare
                self.mixed = 1.0 / np.sqrt(judged.shares + FEW / n_rows)
        else:
            self.unit_of, self.places = np.arange(n_rows), np.zeros(n_rows, dtype=np.intp)
            spread = np.var(judged.answers) or 1.0
            errors = [np.where(c.rows, c.predicted - judged.answers, 0) for c in self.candidates]
            self.values = 1.0 - np.square(errors) / spread
        self.counts = np.bincount(self.unit_of).astype(np.float64)

    def draw(self, rng):
        """How often units are drawn when as many rows are, and which rows are not."""
        n_rows = len(self.unit_of)
        times = np.bincount(rng.randint(n_rows, size=n_rows), minlength=n_rows)
        return np.bincount(self.unit_of, weights=times), times == 0

    def _pair(self, i, j):
        """Units that both were measured on, and the differences of their values."""
        units = np.flatnonzero(self.measured[i] & self.measured[j])
        return units, self.values[i, units] - self.values[j, units]

    def lead(self, i, j, counts=None) -> _Lead:
        """How much more the candidate at place i agrees than the one at place j."""
        # every draw asks for the same pairs
        if (i, j) not in self._pairs:
            self._pairs[i, j] = self._pair(i, j)
        units, lead = self._pairs[i, j]
        counts = self.counts[units] if counts is None else counts[units]
        n_rows, more, square = (
            self._sums(units, part) for part in (counts, counts * lead, counts * lead**2)
        )
        means = []
        for weights in (self.weights, self.mixed):
            total = weights @ n_rows
            # of no rows nothing is known
            means += [0.0, np.inf]
            if total > 0:
                means[-2:] = weights @ more / total, np.sqrt(weights**2 @ square) / total
        # a class without rows has no lead, and no doubt about it
        n_rows = np.maximum(n_rows, 1e-300)
        doubt = np.hypot(means[1], self._least_error(i, j))
        return _Lead(*means, more / n_rows, np.sqrt(square) / n_rows, doubt)

    def _least_error(self, i, j):
        """The part that one row is of those that both were measured on."""
        both = self.candidates[i].rows & self.candidates[j].rows
        return 1.0 / max(both.sum(), 1)

    def _sums(self, units, part):
        """Sums of a value of units, by class."""
        if len(self.weights) == 1:
            return part.sum(keepdims=True)
        return np.bincount(self.places[units], weights=part, minlength=len(self.weights))

    def agreement(self, i, counts) -> float:
        """Agreement of a candidate on rows that count as told; nan on none."""
        counts = counts * self.measured[i] * self.weights[self.places]
        return float(counts @ self.values[i] / counts.sum()) if counts.any() else np.nan


class _ScoreComparison(Comparison):
    """The same by a score, which need not be a mean over rows.

    Units are parts of the rows, alike in answers. The value of a part is the jackknife's: what the
    score has by it.
    """

    def _set_units(self, n_rows):
        n_parts = min(_N_PARTS, n_rows)
        # a fixed seed: which rows are together must depend on nothing but their number
        mixed = np.random.RandomState(0).permutation(n_rows)
        keys = self.judged.places if self.judged.is_classifier else self.judged.answers
        self.unit_of = np.empty(n_rows, dtype=np.intp)
        self.unit_of[mixed[np.argsort(keys[mixed], kind="stable")]] = np.arange(n_rows) % n_parts
        self.places, self.counts = np.zeros(n_parts, dtype=np.intp), np.ones(n_parts)
        self._known = {}

    def draw(self, rng):
        n_parts = len(self.counts)
        times = np.bincount(rng.randint(n_parts, size=n_parts), minlength=n_parts)
        return times, times[self.unit_of] == 0

    def _pair(self, i, j):
        both = self.measured[i] & self.measured[j]
        units = np.unique(self.unit_of[both])
        return units, self._values(i, both, units) - self._values(j, both, units)

    def _values(self, i, rows, units):
        key = i, rows.tobytes()
        if key not in self._known:
            answers, predicted = self.judged.answers, self.candidates[i].predicted

            def score(kept):
                return self.judged.score(answers[kept], predicted[kept])

            whole = score(rows) if rows.any() else 0.0
            values = np.full(len(units), whole)
            if len(units) > 1:
                parts = [score(rows & (self.unit_of != unit)) for unit in units]
                # the jackknife: what a part is worth is how far the score falls without it
                values += (len(units) - 1) * (whole - np.array(parts))
            # their mean is the score, so that means of differences are differences of scores
            self._known[key] = values + (whole - values.mean())
        return self._known[key]


def compared(candidates, judged) -> Comparison:
    """Candidates side by side, by what decides."""
    return (Comparison if judged.score is None else _ScoreComparison)(candidates, judged)


def _patterns(columns):
    """First row of each pattern of columns, and the pattern of each row."""
    code = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:  # made small again and again, so that none is too large
        code = code * (int(column.max()) + 1) + column
        _, firsts, code = np.unique(code, return_index=True, return_inverse=True)
    return firsts, code


# ------------------------------------------------------------------- the rules


@dataclass(frozen=True)
class Choice:
    """Which candidate is recommended.

    Parameters
    ----------
    best : str or None
        Its name; None if there is none.
    better : str or None
        Name of the larger tree that it is as good as, if there is one.
    reason : str
        Why, in a sentence.
    """

    best: str | None
    better: str | None
    reason: str


def choose_size(curve, judged) -> Candidate | None:
    """The tree of a curve over sizes that is worth its leaves.

    It is the smallest one to which no larger one is clearly better: by more than a point of
    agreement (in regression, 0.02 of R2) for each doubling, and by more than one standard error of
    the difference or two points, whichever is less. Since rows of rare answers count more (see
    :func:`choose`), a size that loses an answer which a larger one keeps is passed over.

    Parameters
    ----------
    curve : list of Candidate
        Trees of one method.
    judged : Judged
        The rows.

    Returns
    -------
    Candidate or None
        One of them; None if there are none.
    """
    curve = _by_size(curve)
    if not curve:
        return None
    comparison = compared(curve, judged)
    return curve[_knee(comparison, range(len(curve)), comparison.counts, step(judged))]


def choose(
    candidates, judged, favourite="representer", max_leaf_nodes=None, kinds=("tree",)
) -> Choice:
    """The recommended tree, or scorecard, among those that may win.

    If answers are proven to be the model's at every input, it is the smallest such tree. Otherwise
    it is the favourite, unless another one is better. Two shares of rows are compared, in which
    both answer like the model: all rows count alike in the one, and in the other each class counts
    by about the square root of its share, so that a rare one is not lost in a large one, however
    rare it is. The other tree is better if it leads in one of them by more than 1.5 standard errors
    of the difference, and does not fall behind in the other: at all if the lead is in the first,
    and by more than one standard error if it is in the second. Then a smaller tree is taken if it
    agrees on at least as many rows, of all and of each class, and the rows are enough to tell (a
    standard error of one point). Leaves of trees and bins of scorecards are not compared.

    Parameters
    ----------
    candidates : list of Candidate
        All results.
    judged : Judged
        The rows.
    favourite : str, default="representer"
        The method that is recommended unless another one is better.
    max_leaf_nodes : int or None, default=None
        Leaves that the recommended tree may have. None: any number.
    kinds : tuple of str, default=("tree",)
        What was asked for, which is said if there is none.

    Returns
    -------
    Choice
        With the reason.
    """
    limit = np.inf if max_leaf_nodes is None else max_leaf_nodes
    size = "" if max_leaf_nodes is None else f" of at most {max_leaf_nodes} leaves"
    trees = _eligible(candidates, limit)
    if not trees:
        return Choice(None, None, nothing_found(kinds, max_leaf_nodes))
    others = "tree or scorecard" if any(c.is_card for c in trees) else f"tree{size}"
    others = others if len(trees) > 1 else None
    comparison = compared(trees, judged)
    counts, least = comparison.counts, step(judged)
    best, better, first = _decide(comparison, range(len(trees)), counts, favourite, least)
    return Choice(
        trees[best].name,
        None if better == best else trees[better].name,
        _reason(trees[best], trees[better], trees[first], judged, others),
    )


def nothing_found(kinds, max_leaf_nodes=None) -> str:
    """The sentence that says so."""
    size = "" if max_leaf_nodes is None else f" of at most {leaves(max_leaf_nodes)}"
    words = {"tree": f"a tree{size}", "scorecard": "a scorecard"}
    return f"No method found {' or '.join(words[kind] for kind in kinds if kind in words)}."


def corrected_agreement(
    candidates, judged, curve=(), favourite="representer", max_leaf_nodes=None, random_state=None
):
    """Agreement of the recommended tree, corrected for its being the one that was chosen.

    The rows are drawn with replacement, the choice (of the size, too, if there is a curve) is made
    on those drawn, and what it chose is measured on the others; the mean over draws has no part of
    the luck that a choice makes use of [1]_.

    Parameters
    ----------
    candidates : list of Candidate
        All results, as for :func:`choose`.
    judged : Judged
        The rows.
    curve : list of Candidate, default=()
        Trees of the favourite method of all sizes, if the size was chosen by
        :func:`choose_size`.
    favourite : str, default="representer"
        As for :func:`choose`.
    max_leaf_nodes : int or None, default=None
        As for :func:`choose`.
    random_state : int, RandomState instance or None, default=None
        Which rows are drawn.

    Returns
    -------
    float
        The corrected agreement; nan if there is no tree.

    References
    ----------
    .. [1] I. Tsamardinos, E. Greasidou, G. Borboudakis (2018). Bootstrapping the out-of-sample
       predictions for efficient and accurate cross-validation. Machine Learning 107, 1895-1922.
       https://doi.org/10.1007/s10994-018-5714-4
    """
    trees = _eligible(candidates, np.inf if max_leaf_nodes is None else max_leaf_nodes)
    if not trees:
        return np.nan
    curve = _by_size(curve)
    every = [*trees, *curve]
    comparison, least = compared(every, judged), step(judged)
    # what is taken from the rows that were not drawn is the agreement, whatever decides
    agreements = comparison
    if judged.score is not None:
        agreements = Comparison(every, Judged(judged.answers, None, judged.is_classifier))
    at, steps = range(len(trees)), range(len(trees), len(every))
    knee = _knee(comparison, steps, comparison.counts, least) if curve else None
    best = _decide(comparison, at, comparison.counts, favourite, least)[0]
    rng, differences = check_random_state(random_state), []
    for _ in range(N_SAMPLES):
        counts, is_out = comparison.draw(rng)
        chosen = _knee(comparison, steps, counts, least) if curve else None
        # another size is another tree; methods are compared at the size that was chosen
        if chosen == knee:
            chosen = _decide(comparison, at, counts, favourite, least)[0]
        if chosen == best:
            differences.append(0.0)
            continue
        out = np.bincount(agreements.unit_of[is_out], minlength=len(agreements.counts))
        differences.append(agreements.agreement(chosen, out) - agreements.agreement(best, out))
    # The mean of what the tree itself has on rows that were not drawn is its agreement. Luck is
    # never below nothing: where the draws choose larger trees, this is no merit of the smaller one.
    return agreement_of(every[best], judged) + min(float(np.nanmean(differences)), 0.0)


def _by_size(curve):
    return sorted((c for c in curve if c.rows.any()), key=lambda c: (_size(c), c.n_leaves))


def _size(candidate):
    return candidate.size or candidate.n_leaves


def _eligible(candidates, max_leaf_nodes):
    return [
        c
        for c in candidates
        if c.may_win
        and c.rows.any()
        and (c.is_card or (c.is_tree and c.n_leaves <= max_leaf_nodes))
    ]


def step(judged) -> float:
    """What twice as many leaves must bring."""
    if judged.score is None:
        return POINT if judged.is_classifier else PART
    constant = (
        judged.labels[np.argmax(judged.shares)] if judged.is_classifier else (judged.answers.mean())
    )
    floor = judged.score(judged.answers, np.full(len(judged.answers), constant))
    way = judged.score(judged.answers, judged.answers) - floor
    return PART * way if np.isfinite(way) else 0.0


def _knee(comparison, places, counts, least):
    """Place of the tree of a curve that is worth its leaves; places are in the order of sizes."""
    places, trees = list(places), comparison.candidates

    def is_worth_it(i, j):
        lead = comparison.lead(j, i, counts)
        # by doublings, since to a reader 8 leaves in place of 4 are as much more as 32 in place of
        # 16
        doublings = np.log2(_size(trees[j]) / _size(trees[i]))
        return lead.mixed > max(min(lead.mixed_error, IN_DOUBT * least), doublings * least)

    for at, i in enumerate(places):
        if not any(is_worth_it(i, j) for j in places[at + 1 :]):
            return i
    raise AssertionError("the last has no larger one")


def _decide(comparison, places, counts, favourite, least):
    """Places of the recommended tree, of the one that it is as good as, and of the favourite."""
    places, trees = list(places), comparison.candidates
    proven = [i for i in places if trees[i].is_proven]
    first = _favourite(places, trees, favourite)
    if proven:
        best = min(proven, key=lambda i: trees[i].n_leaves)
        return best, best, first
    leads = {i: comparison.lead(i, first, counts) for i in places if i != first}
    # of several that are better, the one that leads most surely
    better = max(
        (i for i in leads if leads[i].is_better),
        key=lambda i: leads[i].mixed - leads[i].mixed_error,
        default=first,
    )
    smaller = [
        i
        for i in places
        if trees[i].is_card == trees[better].is_card
        and trees[i].n_leaves < trees[better].n_leaves
        and comparison.lead(i, better, counts).is_as_good(least)
    ]
    best = min([*smaller, better], key=lambda i: trees[i].n_leaves)
    return best, better, first


def _favourite(places, trees, favourite):
    # where the favourite failed, what anyone would try without this package
    for name in (favourite, "plain_tree"):
        found = [i for i in places if trees[i].name == name]
        if found:
            return found[0]
    return places[0]


def _reason(best, better, first, judged, others):
    if best.is_proven:
        return (
            f"{best.name} has {best.in_size} and is proven to give the model's answer at "
            "every input."
        )
    rows, where = best.rows, ""
    by_what = "agrees clearly better with the model"
    if judged.score is not None:
        score = judged.score(judged.answers[rows], best.predicted[rows])
        by_what = f"has a clearly better {judged.score_name} than its {score:.3g}"
    elif judged.is_classifier:
        where = ", on all rows and on those of each answer"
    made = "" if best.is_card else f"This {best.noun} was made by the method {best.name}. "
    this = f"{made}It" if made else f"This {best.noun}"
    if best is not better:
        as_good = f"does at least as well as {better.name}{where}"
        return f"{this} is the smallest {best.noun} that {as_good}."
    if best is not first:
        return f"{this} is better than {first.name}, by more than {CLEARLY} standard errors."
    if others is None:
        return f"{this} is the only result of the kind that was asked for."
    others += " that can be recommended"  # what is no ordinary tree is told of in a note
    return f"{made}No other {others} {by_what} (by more than {CLEARLY} standard errors)."
