"""Prune an ensemble so that its predictions cost less in features.

`_estimator` and `_display` are what users see; `_prices` reads what features cost; `_entry` says
what can be pruned, and how a user's table reaches the trees; `_case` states an ensemble and some
rows as a pruning problem, and writes a pruning. `pruning/` solves that problem, `growing/` grows
forests with prices in mind, and `refit/` looks for ensembles on fewer features.
"""

from ensemble_simplify.feature_budget._display import BudgetPathDisplay
from ensemble_simplify.feature_budget._estimator import FeatureBudgetPruner
from ensemble_simplify.feature_budget.growing._budget_forest import BudgetForestClassifier

__all__ = [
    "BudgetForestClassifier",
    "BudgetPathDisplay",
    "FeatureBudgetPruner",
]
