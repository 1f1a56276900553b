"""Which answers can share a leaf where a leaf may differ from each of them by a tolerance.

A leaf answers one number, or one vector of probabilities. It can stand for a region where some
double v has ``abs(v - answer) <= atol``, in doubles, for the answer of every cell. The doubles that
stand for one answer are an interval; a region is a leaf where those of its largest and of its
smallest answer meet. Of probabilities the intervals of every class have to meet, the whole has to
add up to one, and the class of all cells, which is one, has to be the most probable.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ensemble_simplify.grid import last_within

# How far a sum of probabilities may be from one: less than would be scaled when a tree is written.
SUM_MARGIN = 5e-13
# Of two classes that are as probable, scikit-learn answers the first: an earlier class than that of
# a leaf stays below it by this share, which float32 still tells.
TIE_MARGIN = 2.0**-20
# By what share of the tolerance a number keeps off the ends of what is allowed.
ROOM = 1e-6
# Numbers are certainly close, or far, if they are by this share of their size.
SLACK = 1e-12
BISECTIONS = 60  # Of an interval of doubles between 0 and 1.


@dataclass(frozen=True)
class Tolerance:
    """What a leaf may answer.

    Attributes
    ----------
    atol : float
        Largest difference of a leaf's number from the answer of each of its cells.
    labelled : bool
        Whether answers are a class index, which a leaf has in common with its cells, and the
        probabilities of all classes. If not, they are one number.
    """

    atol: float
    labelled: bool = False

    def ends(self, answers):
        """The first and the last double that stand for each answer, of shape (n, n_outputs)."""
        answers = np.asarray(answers, dtype=np.float64)
        numbers = answers[..., 1:] if self.labelled else answers
        lower, upper = -last_within(-numbers, self.atol), last_within(numbers, self.atol)
        if self.labelled:
            label = answers[..., :1]
            lower, upper = (np.concatenate([label, e], axis=-1) for e in (lower, upper))
        return lower, upper

    def meet(self, lower, upper):
        """Whether one leaf can stand for regions, by the intervals that their answers share.

        The arrays, of shape (n, n_outputs), hold the largest first and the smallest last double of
        all answers of each region.
        """
        found = (lower <= upper).all(axis=1)
        if self.labelled:
            at = np.flatnonzero(found)
            for label in np.unique(lower[at, 0]):
                here = at[lower[at, 0] == label]
                low, high = self._shares(lower[here, 1:], upper[here, 1:], int(label))
                found[here] = low <= high
        return found

    def spans(self, low, high):
        """Whether one leaf can stand for regions, by their smallest and largest answers."""
        found = ~self.apart(low, high)
        at = np.flatnonzero(found)
        if self.labelled or not self._are_close(low[at], high[at]).all():
            found[at] = self.meet(self.ends(high[at])[0], self.ends(low[at])[1])
        return found

    def apart(self, one, two):
        """Which answers certainly share no leaf; `one` and `two` are of shape (..., n_outputs)."""
        most = np.full(np.shape(one)[-1], 2.0 * self.atol)
        if self.labelled:
            most[0] = 0.0
        return (np.abs(one - two) > most + self._slack(most, one, two)).any(axis=-1)

    def _are_close(self, one, two):
        """Which numbers certainly share a leaf."""
        most = 2.0 * self.atol
        return (np.abs(one - two) <= most - self._slack(most, one, two)).all(axis=-1)

    @staticmethod
    def _slack(most, one, two):
        # halving and adding up round
        return SLACK * (most + np.maximum(np.abs(one), np.abs(two)))

    def chosen(self, lower, upper, wish):
        """What leaves answer: as near to a wish as their intervals allow.

        `wish` is NaN where nothing is wished: the middle is taken. Numbers keep off the ends by a
        little where there is room, so that no rounding matters to who compares them.
        """
        if not self.labelled:
            middle = np.clip(0.5 * lower + 0.5 * upper, lower, upper)
            room = np.minimum(ROOM * self.atol, 0.5 * (upper - lower))
            wish = np.where(np.isnan(wish), middle, np.clip(wish, lower + room, upper - room))
            return np.clip(wish, lower, upper)
        middle = 0.5 * (lower[:, 1:] + upper[:, 1:])
        wish = np.where(np.isnan(wish[:, 1:]), middle, wish[:, 1:])
        answers = lower.copy()
        for label in np.unique(lower[:, 0]):
            at = np.flatnonzero(lower[:, 0] == label)
            ends = lower[at, 1:], upper[at, 1:]
            answers[at, 1:] = self._nearest(*ends, wish[at], int(label))
        return answers

    # ------------------------------------------------------------------ probabilities

    def _caps(self, upper, share, label):
        """The most that other classes than the label may have where that has a share."""
        factor = np.where(np.arange(upper.shape[1]) < label, 1.0 - TIE_MARGIN, 1.0)
        caps = np.minimum(upper, share[:, None] * factor)
        caps[:, label] = 0.0
        return caps

    def _shares(self, lower, upper, label):
        """The least and the most that the class of some regions can have; least > most: none."""
        lower, upper = np.maximum(lower, 0.0), np.minimum(upper, 1.0)
        others = np.arange(lower.shape[1]) != label
        most = np.minimum(upper[:, label], 1.0 - (lower * others).sum(axis=1))
        factor = np.where(np.arange(lower.shape[1]) < label, 1.0 - TIE_MARGIN, 1.0)
        least = np.maximum(lower[:, label], (lower / factor * others).max(axis=1, initial=0.0))
        within = most >= least - SUM_MARGIN
        most = np.where(within, np.maximum(most, least), most)

        def fills(share):
            return self._caps(upper, share, label).sum(axis=1) + share >= 1.0 - SUM_MARGIN

        first, last = least.copy(), most.copy()
        fits = fills(last)
        already = fills(first)
        for _ in range(BISECTIONS):
            middle = 0.5 * (first + last)
            full = fills(middle)
            first, last = np.where(full, first, middle), np.where(full, middle, last)
        least = np.where(already, least, last)
        return np.where(fits & within, least, np.inf), most

    def _nearest(self, lower, upper, wish, label):
        """Probabilities between the ends that add up to one, the label's first of the largest."""
        least, most = self._shares(lower, upper, label)
        share = np.clip(wish[:, label], least, most)
        low, high = np.maximum(lower, 0.0), self._caps(np.minimum(upper, 1.0), share, label)
        low[:, label] = 0.0
        high = np.maximum(high, low)
        # the same is added to every wish, within its ends
        first, last = np.full((2, len(wish)), 1.0)
        first = -first
        for _ in range(BISECTIONS):
            middle = 0.5 * (first + last)
            total = np.clip(wish + middle[:, None], low, high).sum(axis=1) + share
            first, last = np.where(total < 1.0, middle, first), np.where(total < 1.0, last, middle)
        chosen = np.clip(wish + last[:, None], low, high)
        chosen[:, label] = share
        return chosen


@dataclass(frozen=True, eq=False)
class Kinds:
    """The different answers on a grid, whose cells name them by their number.

    Regions are told by codes, numbers of 16 bits of which the largest in the region counts: two for
    each output, one that rises with the answer and one that falls. Code 0 is that of cells outside
    the domain.
    """

    tolerance: Tolerance
    answers: np.ndarray  # float64 of shape (n_kinds, n_outputs)

    @property
    def n_outputs(self):
        """Numbers in an answer."""
        return self.answers.shape[1]

    def of_labels(self, labels):
        """The answers that some labels name; NaN for those of no kind."""
        known = labels < len(self.answers)
        answers = self.answers[np.where(known, labels, 0)]
        answers[~known] = np.nan
        return answers

    @cached_property
    def _sorted(self):
        """For each output, its different numbers in order, and each kind's place among them."""
        return [np.unique(column, return_inverse=True) for column in self.answers.T]

    @cached_property
    def _ends(self):
        """For each output, the ends that belong to each code: of codes that rise, of others."""
        found = []
        for k, (numbers, _) in enumerate(self._sorted):
            # a column of its own: of labelled answers, the first one is the class
            if self.tolerance.labelled and k == 0:
                lower = upper = numbers
            else:
                lower, upper = Tolerance(self.tolerance.atol).ends(numbers)
            found.append((np.append(-np.inf, lower), np.append(np.inf, upper[::-1])))
        return found

    @property
    def n_codes(self):
        """Codes of each kind."""
        return 2 * self.n_outputs

    def codes(self, n_labels):
        """Codes of every label, uint16 of shape (n_codes, n_labels); 0 for labels of no kind."""
        codes = np.zeros((self.n_codes, n_labels), dtype=np.uint16)
        for k, (numbers, place) in enumerate(self._sorted):
            codes[2 * k, : len(place)] = place + 1
            codes[2 * k + 1, : len(place)] = len(numbers) - place
        return codes

    def meet(self, codes):
        """Whether regions can be leaves, by their codes, uint16 of shape (n_codes, n)."""
        ends = [
            (lower[codes[2 * k]], upper[codes[2 * k + 1]])
            for k, (lower, upper) in enumerate(self._ends)
        ]
        lower, upper = (np.column_stack(part) for part in zip(*ends, strict=True))
        free = codes[0] == 0
        return free | self._meet_known(lower, upper, free)

    def _meet_known(self, lower, upper, free):
        if not free.any():
            return self.tolerance.meet(lower, upper)
        found = np.zeros(len(free), dtype=bool)
        found[~free] = self.tolerance.meet(lower[~free], upper[~free])
        return found

    def share_a_leaf(self, labels):
        """Whether all cells of these labels, whose kinds are known, can share one leaf."""
        answers = self.answers[np.unique(labels)]
        return bool(self.tolerance.spans(answers.min(axis=0)[None], answers.max(axis=0)[None])[0])

    def apart(self, one, two):
        """Which cells of two arrays of labels certainly share no leaf."""
        return self.tolerance.apart(self.answers[one], self.answers[two])

    @property
    def alone(self):
        """Which kinds can have a leaf of their own, as a bool array."""
        return self.tolerance.meet(*self.tolerance.ends(self.answers))
