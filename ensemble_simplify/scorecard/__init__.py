"""Scorecards: points a bin, from any predictor or from an additive model.

`_card` is what a scorecard computes: a sum of terms, each of which one column decides, or a pair.
"""

from ensemble_simplify.scorecard._card import Card, Term

__all__ = ["Card", "Term"]
