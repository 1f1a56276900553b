"""Fewer trees of an ensemble, with new weights, that answer as all of them do.

`_estimator` (FaithfulPruner) reads the ensemble and writes the pruned one. `_pruning` has weights
found and proves them in the ensemble's own arithmetic. `_promise` and `_everywhere` find points
that are still answered otherwise, near rows and in all of a domain; `_weights` finds weights for
them by linear programs, or takes trees by their votes. How few trees can be enough is told by pairs
of points (`_pairs`), by `_programs`, and by trees of which some must be kept (`_choice`). `_ties`
puts weights on a grid where ties have to be exact; `_path` gives up exceptions for fewer trees,
with weights by the kernel `_fit`; `_display` (FaithfulPathDisplay) draws that. Numbers within a
tolerance have their points in `_numbers`, their search in `_closest` and its proof in `_within`;
`_stumps` finds the fewest stumps for every input.
"""

from ensemble_simplify.faithful_pruning._display import FaithfulPathDisplay
from ensemble_simplify.faithful_pruning._estimator import FaithfulPruner

__all__ = ["FaithfulPathDisplay", "FaithfulPruner"]
