"""The smallest single tree with exactly the same function as an ensemble, or all but the same.

`_estimator` (BornAgainClassifier) is for classes, `_regressor` (BornAgainRegressor) for numbers
within a tolerance. `_shared`, their base, reads the ensemble, has a tree found, and writes it. The
tree keeps one of two promises, each an object: `_every_input` has it found by `everywhere/`,
`_near_rows` (``max_changes``) by `near/`. `_written_tree` holds what is read, fills the leaves, and
measures where a changed tree differs; `_estimate` (estimate) forecasts the search; `_display` draws
the front and the path.
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
