"""Turn fitted tree ensembles into something simpler, with a stated guarantee."""

from ensemble_simplify._born_again import BornAgainClassifier
from ensemble_simplify._budget_forest import BudgetForestClassifier
from ensemble_simplify._display import BudgetPathDisplay
from ensemble_simplify._estimate import Estimate, estimate
from ensemble_simplify._feature_budget import FeatureBudgetPruner
from ensemble_simplify._representer import RepresenterTree
from ensemble_simplify._verify import Verification, verify

__all__ = [
    "BornAgainClassifier",
    "BudgetForestClassifier",
    "BudgetPathDisplay",
    "Estimate",
    "FeatureBudgetPruner",
    "RepresenterTree",
    "Verification",
    "estimate",
    "verify",
]

__version__ = "0.1.0.dev0"
