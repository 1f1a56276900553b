"""The smallest single tree with exactly the same function as an ensemble, or all but the same.

`_estimator` (BornAgainClassifier for classes, BornAgainRegressor for numbers within a tolerance)
reads the ensemble, has a tree found, and writes it. The tree keeps one of two promises, which
`_promises` has found: about every input by `everywhere/`, near rows (``max_changes``) by `near/`.
`_estimate` (estimate) forecasts the search; `_display` draws the front and the path.
"""

from ensemble_simplify.born_again._display import DepthLeavesDisplay, ExceptionPathDisplay
from ensemble_simplify.born_again._estimate import Estimate, estimate
from ensemble_simplify.born_again._estimator import BornAgainClassifier, BornAgainRegressor

__all__ = [
    "BornAgainClassifier",
    "BornAgainRegressor",
    "DepthLeavesDisplay",
    "Estimate",
    "ExceptionPathDisplay",
    "estimate",
]
