"""One tree grown on synthetic rows that any predictor labels.

`_estimator` is the public class, `_options` says which of its parameters go together. `_grower`
grows the tree, with its kernel `_best_split`, and smaller ones without a fold of the rows;
`_written_tree` has the pruning path of trees and writes them down. `_fidelity` says where a tree
disagrees with the predictor, which pruning that selects, and how stable it is; `_display` draws the
pruning path.
"""

from ensemble_simplify.representer._display import PruningPathDisplay
from ensemble_simplify.representer._estimator import RepresenterTree

__all__ = [
    "PruningPathDisplay",
    "RepresenterTree",
]
