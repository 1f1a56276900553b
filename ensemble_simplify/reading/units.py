"""A vote as sums over trees: the *units* that a proof bounds, and the exact rule at the end.

A unit adds up what its trees give each label, and a weight on the label that each unit below it
answers. Its own label is the one with the largest sum, and goes to the unit above.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Unit:
    """A sum over trees and other units, whose label goes to the unit above.

    Attributes
    ----------
    model : {0, 1}
        The model that the unit belongs to.
    rank : list of int
        One for each label: ties go to the smaller rank; -1: the label is never answered.
    tolerance : float
        Leads up to this may be rounding, and are left to the model; 0: the sums are exact.
    opaque : bool
        Whether no bounds hold, so that any label of the unit is possible.
    parent : int
        The unit above, a later one; -1 for the last unit of a model.
    weight : float
        What the unit's label counts in the unit above.
    """

    model: int
    rank: list
    tolerance: float
    opaque: bool = False
    parent: int = -1
    weight: float = 0.0


@dataclass(frozen=True)
class ExactRule:
    """How the label of one point follows from the scores of its leaves, in the model's arithmetic.

    Attributes
    ----------
    rule : {"ask", "first_largest", "second_above", "above_zero", "not_below_zero"}
        Which label the scores give; "ask": only the model itself knows.
    scale : float
        The sums of the scores are divided by this.
    start : list of float
        Where the sum of each score begins.
    labels : list of int
        The label of each class index.
    """

    rule: str
    scale: float
    start: list
    labels: list
