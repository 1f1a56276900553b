"""Scorecards: points a bin, from any predictor or from an additive model.

`_card` is what a scorecard computes: a sum of terms, each of which one column decides, or a pair.
`_bins` finds cards of every size for labelled rows, with a kernel `_sums` that adds up rows.
`_points` makes whole numbers of its points and says what that changes. `_additive` writes additive
models as cards.
"""

from ensemble_simplify.scorecard._additive import AdditiveScorecard, scorecard
from ensemble_simplify.scorecard._card import Card, Term

__all__ = ["AdditiveScorecard", "Card", "Term", "scorecard"]
