"""Scorecards: points a bin, from any predictor or from an additive model.

`_card` is what a scorecard computes: a sum of terms, each of which one column decides, or a pair.

What people see of it is shown by `_shown`, for all that hold a card: in the words of `_text`, as a
picture by `_display`, as a page by `_page`, and with the reasons for answers by `_reasons`.
"""

from ensemble_simplify.scorecard._card import Card, Term
from ensemble_simplify.scorecard._display import ScorecardDisplay
from ensemble_simplify.scorecard._page import card_fragment
from ensemble_simplify.scorecard._reasons import Reason

__all__ = ["Card", "Reason", "ScorecardDisplay", "Term", "card_fragment"]
