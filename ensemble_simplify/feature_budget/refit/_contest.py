"""Ensembles that compete for a budget: the given one, and others fitted with the prices in mind."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from sklearn.utils import Bunch

from ensemble_simplify.feature_budget._case import PruningCase
from ensemble_simplify.feature_budget._entry import Entry
from ensemble_simplify.feature_budget.refit._refit import JudgedEnsemble, PruningChoices
from ensemble_simplify.reading import TableCodes, on_codes


@dataclass(eq=False)
class Contest:
    """The ensembles, and the rows on which they are judged.

    Attributes
    ----------
    own : PruningCase
        Of the given ensemble.
    entry : Entry
        Of the given ensemble.
    codes : TableCodes or None
        The step before the others that makes numbers of the rows; None: they are numbers.
    X, y, weight : ndarray
        The rows as the others take them.
    judged : list of JudgedEnsemble
        The given ensemble is the first.
    """

    own: PruningCase
    entry: Entry
    codes: TableCodes | None
    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    judged: list[JudgedEnsemble] = field(default_factory=list)

    def winner(self, budget):
        """The ensemble and its pruning that do best within a budget, and the lowest score there.

        They are told by their numbers: of the ensemble, and of the pruning on its path.
        """
        points = PruningChoices(self.judged, self.weight)
        chosen = points.choice(budget)
        return int(points.of[chosen]), points.index[chosen], points.lowest(budget)

    def entrant(self, i, state):
        """The case and the entry of an ensemble, as ``state(estimator, ...)`` states it again."""
        if i == 0:
            return self.own, self.entry
        ensemble = self.judged[i].estimator
        case = state(ensemble, self.X, self.y, self.weight, "oob")
        return case, Entry.of(ensemble if self.codes is None else on_codes(self.codes, ensemble))

    def described(self):
        """What users see: names, features, costs and errors, and the best of all prunings."""
        found = Bunch(
            names=[one.name for one in self.judged],
            features=[one.features for one in self.judged],
            costs=[one.costs for one in self.judged],
            errors=[one.errors for one in self.judged],
        )
        costs, errors = np.concatenate(found.costs), np.concatenate(found.errors)
        of = np.repeat(np.arange(len(found.costs)), [len(part) for part in found.costs])
        lowest = lower_envelope(costs, errors)
        found.envelope = Bunch(costs=costs[lowest], errors=errors[lowest], candidates=of[lowest])
        return found


def lower_envelope(costs, errors):
    """Which points have no cheaper one of the same or a lower error, by rising cost."""
    order = np.lexsort((errors, costs))
    best = np.minimum.accumulate(errors[order])
    first = np.concatenate(([True], best[1:] < best[:-1]))
    return order[first]
