"""Turn fitted tree ensembles into something simpler, with a stated guarantee."""

from ensemble_simplify._born_again import BornAgainClassifier
from ensemble_simplify._budget_forest import BudgetForestClassifier
from ensemble_simplify._display import BudgetPathDisplay
from ensemble_simplify._feature_budget import FeatureBudgetPruner

__all__ = [
    "BornAgainClassifier",
    "BudgetForestClassifier",
    "BudgetPathDisplay",
    "FeatureBudgetPruner",
]

__version__ = "0.1.0.dev0"
