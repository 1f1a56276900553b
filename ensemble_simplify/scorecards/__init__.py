"""Scorecards: points a bin, from any predictor or from an additive model.

`_card` is what a scorecard computes: a sum of terms, each of which one column decides, or a pair.
`_estimator` has the public estimators, which learn a card from a predictor. `_bins` finds cards of
every size for labelled rows. `_points` makes whole numbers of its points, says what that changes,
and makes short numbers of the ends of its bins. `_chances` says how often an event happens at each
total. `_edited` makes bins that a user gives. `_additive` writes additive models as cards.

What people see of it is shown by `_shown`, for all that hold a card: in the words of `_text`, as a
picture by `_display`, as a page by `_page`, in tables of rows, of two sets of rows and of two
tariffs by `_tables`, and with the reasons for answers by `_reasons`.
"""

from ensemble_simplify.scorecards._additive import AdditiveScorecard, scorecard
from ensemble_simplify.scorecards._card import Card, Term
from ensemble_simplify.scorecards._display import ScorecardDisplay
from ensemble_simplify.scorecards._estimator import ScorecardClassifier, ScorecardRegressor
from ensemble_simplify.scorecards._page import CARD_STYLE, card_content, card_fragment
from ensemble_simplify.scorecards._reasons import Reason
from ensemble_simplify.scorecards._shown import ShowsCard
from ensemble_simplify.scorecards._tables import dislocation
from ensemble_simplify.scorecards._text import NamedCard

__all__ = [
    "CARD_STYLE",
    "AdditiveScorecard",
    "Card",
    "NamedCard",
    "Reason",
    "ScorecardClassifier",
    "ScorecardDisplay",
    "ScorecardRegressor",
    "ShowsCard",
    "Term",
    "card_content",
    "card_fragment",
    "dislocation",
    "scorecard",
]
