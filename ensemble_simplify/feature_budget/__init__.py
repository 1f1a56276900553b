"""Prune an ensemble so that its predictions cost less in features.

`_pruner` and `_display` are what users see; `model` and `_grow` grow trees with prices in mind.
`_prices`, `_loss` and `_problem` state the problem, in whole numbers (`_scaling`, `_model`).
`_path` solves it for all price levels by minimum cuts (`_closure`); `_lp_forms` and
`_dantzig_wolfe` solve it for one by linear programs. `_cost_complexity` chooses, `_writing` writes.
"""

from ensemble_simplify.feature_budget._display import BudgetPathDisplay
from ensemble_simplify.feature_budget._pruner import FeatureBudgetPruner
from ensemble_simplify.feature_budget.growing._forest import BudgetForestClassifier

__all__ = [
    "BudgetForestClassifier",
    "BudgetPathDisplay",
    "FeatureBudgetPruner",
]
