"""One tree of soft splits, with a reliability for each prediction.

Each node pools all features and thresholds that split about equally well; a row on which they
disagree goes both ways in part. `_estimator.py` is what users call, `_display.py` draws,
`_module_tree.py` holds the tree as arrays and writes it in words. `_growth.py` turns values into
ranks, grows a tree on these, and says how far it is pruned; `_leaf_refit.py` refits its leaves. The
kernels: `_scan.pxd` looks for the best cuts of a feature in
a node, `_grow.pyx` divides nodes, `_route.pyx` sends rows through the tree, and `_fractions.pxd` is
the rule by which both divide a row.
"""

from ensemble_simplify.cultivated._display import AbstentionDisplay, ModuleTreeDisplay
from ensemble_simplify.cultivated._estimator import CultivatedForestClassifier

__all__ = [
    "AbstentionDisplay",
    "CultivatedForestClassifier",
    "ModuleTreeDisplay",
]
