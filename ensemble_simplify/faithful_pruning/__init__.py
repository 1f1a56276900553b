"""Fewer trees of an ensemble, with new weights, that answer as all of them do.

`_estimator` (FaithfulPruner) reads the ensemble and writes the pruned one. `_pruning` has weights
found and proves them in the ensemble's own arithmetic. `_promise` finds points
that are still answered otherwise, near rows and in all of a domain. `_choice` finds trees by linear
programs, and how few can be enough: `_weights` for classes (with ties, which are exact on a grid),
`_closest` for numbers within a tolerance, whose points are in `_numbers`; it also finds the fewest
stumps for every input. Both give up exceptions for fewer trees, with weights by the kernel `_fit`,
which also bounds the shares of trees; `_display` (FaithfulPathDisplay) draws that.
"""

from ensemble_simplify.faithful_pruning._display import FaithfulPathDisplay
from ensemble_simplify.faithful_pruning._estimator import FaithfulPruner

__all__ = ["FaithfulPathDisplay", "FaithfulPruner"]
