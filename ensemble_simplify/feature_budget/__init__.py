"""Prune an ensemble so that its predictions cost less in features."""

from ensemble_simplify.feature_budget._display import BudgetPathDisplay
from ensemble_simplify.feature_budget._forest import BudgetForestClassifier
from ensemble_simplify.feature_budget._pruner import FeatureBudgetPruner

__all__ = [
    "BudgetForestClassifier",
    "BudgetPathDisplay",
    "FeatureBudgetPruner",
]
