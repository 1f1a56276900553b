"""IsolationForest: a row is odd where the trees come to their leaves early."""

from __future__ import annotations

from typing import Any

import numpy as np

from ensemble_simplify.reading.cut_offs import cut_of
from ensemble_simplify.reading.families.forests import sklearn_tree
from ensemble_simplify.reading.families.held import StandsFor
from ensemble_simplify.reading.family import PACKAGE, Family
from ensemble_simplify.reading.program import Link, boosted
from ensemble_simplify.reading.trees import Reading


class OddOrNot(StandsFor):
    """An ``IsolationForest`` as a classifier: -1 is odd, 1 is not."""

    classes_ = np.array([-1, 1])


class IsolationForest(Family):
    """Classes are -1, odd, and 1: from a sum of depths on, a row is ordinary.

    The score is a power of two of the sum, so what scikit-learn answers to a sum of depths changes
    once. Bisection finds where, in its own roundings.
    """

    kinds = (f"{PACKAGE}.OddOrNot",)
    stand_ins = (("sklearn.IsolationForest", OddOrNot),)
    title = "IsolationForest"
    methods = ("predict",)

    def trees(self, rows: Any = None) -> Reading:
        estimator, trees = self.estimator.model, []
        depths, lengths = estimator._decision_path_lengths, estimator._average_path_length_per_tree
        seen = map(np.asarray, estimator.estimators_features_)
        for i, (member, columns) in enumerate(zip(estimator.estimators_, seen, strict=True)):
            tree = sklearn_tree(member, len(columns))
            tree.value, tree.columns = (depths[i] + lengths[i] - 1.0)[:, None], columns
            trees.append(tree)
        classes = self.estimator.classes_
        vote = boosted(len(trees), 1, init=np.zeros(1), link=Link("unknown"))
        reading = Reading(trees, vote, classes, on_numbers=OfDepths(estimator))
        reading.vote = vote.chosen_by(cut_of(estimator, reading))
        return reading


class OfDepths:
    """What an isolation forest answers to sums of depths, in its own roundings."""

    def __init__(self, estimator):
        n = float(estimator._max_samples)
        # the average path in a tree of so many rows, as scikit-learn has it
        most = 2.0 * (np.log(n - 1.0) + np.euler_gamma) - 2.0 * (n - 1.0) / n if n > 2 else n - 1.0
        self.divisor, self.offset = len(estimator.estimators_) * max(most, 0.0), estimator.offset_

    def predict(self, sums):
        """The classes: odd is a row whose score is below the offset."""
        shares = sums[:, 0] / self.divisor if self.divisor else np.ones(len(sums))
        return np.where(-(2**-shares) - self.offset < 0, -1, 1)
