"""One tree grown on synthetic rows that any predictor labels.

`_estimator` is the public class. `_grower` grows the tree, with its kernel `_best_split`;
`_alternation`, with its kernel `_alternating`, optimises small trees split by split; `_grown_tree`
prunes trees and writes them down; `_folds` grows trees without a fold of the rows and chooses a law
by them. `_fidelity` says how a tree agrees with the predictor, and how stable it is; `_display`
draws the pruning path.
"""

from ensemble_simplify.representer._display import PruningPathDisplay
from ensemble_simplify.representer._estimator import RepresenterTree

__all__ = [
    "PruningPathDisplay",
    "RepresenterTree",
]
