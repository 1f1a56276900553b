"""The smallest single tree with exactly the same function as an ensemble.

`_estimator` (BornAgainClassifier) reads the ensemble, has a tree found, and writes it; `_planner`
chooses the search: `_search` solves a labelled grid exactly (by the kernel ``_dp``) and draws the
front of depth and leaves; for larger ones `_refinement` makes a faithful tree smaller, `_heuristic`
divides where there is none to begin with, and `_fooling` proves how small a tree cannot be (by the
kernel ``_bounds``). `_fidelity` measures where a changed tree differs, `_probabilities` fills the
leaves, `_estimate` (estimate) forecasts all this, `_display` draws the front and the path.

With ``max_changes`` the tree answers alike near training rows only: `_promise` checks what is asked
and keeps what is needed later, `_line_search` directs the search, `_line_trees` finds trees for
rows and lines of cells, `_line_bounds` bounds them, `_prunings` makes them smaller.
"""

from ensemble_simplify.born_again._display import DepthLeavesDisplay, ExceptionPathDisplay
from ensemble_simplify.born_again._estimate import Estimate, estimate
from ensemble_simplify.born_again._estimator import BornAgainClassifier

__all__ = [
    "BornAgainClassifier",
    "DepthLeavesDisplay",
    "Estimate",
    "ExceptionPathDisplay",
    "estimate",
]
