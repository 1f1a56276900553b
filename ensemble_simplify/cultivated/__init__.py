"""One tree of soft splits, with a reliability for each prediction.

Each node pools all features and thresholds that split about equally well; a row on which they
disagree goes both ways in part. `_estimator.py` is what users call, `_display.py` draws,
`_module_tree.py` holds the tree as arrays and writes it in words. `_growth.py` turns values into
ranks, grows a tree on these, says how far it is pruned, and refits its leaves. The kernel
`_modules.pyx` looks for the best cuts of a feature in a node, divides nodes, and sends rows through
the tree.
"""

from ensemble_simplify.cultivated._display import AbstentionDisplay, ModuleTreeDisplay
from ensemble_simplify.cultivated._estimator import CultivatedForestClassifier

__all__ = [
    "AbstentionDisplay",
    "CultivatedForestClassifier",
    "ModuleTreeDisplay",
]
