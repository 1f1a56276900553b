"""Turn fitted tree ensembles into something simpler, with a stated guarantee."""

from ensemble_simplify._born_again import BornAgainClassifier
from ensemble_simplify._budget_forest import BudgetForestClassifier
from ensemble_simplify._cultivated import CultivatedForestClassifier
from ensemble_simplify._display import (
    AbstentionDisplay,
    BudgetPathDisplay,
    GenesimDisplay,
    ModuleTreeDisplay,
)
from ensemble_simplify._domain import Domain
from ensemble_simplify._estimate import Estimate, estimate
from ensemble_simplify._feature_budget import FeatureBudgetPruner
from ensemble_simplify._genesim import GenesimClassifier, merge_trees
from ensemble_simplify._ism import InterpretableSingleModel
from ensemble_simplify._representer import RepresenterTree
from ensemble_simplify._verify import Verification, verify

__all__ = [
    "AbstentionDisplay",
    "BornAgainClassifier",
    "BudgetForestClassifier",
    "BudgetPathDisplay",
    "CultivatedForestClassifier",
    "Domain",
    "Estimate",
    "FeatureBudgetPruner",
    "GenesimClassifier",
    "GenesimDisplay",
    "InterpretableSingleModel",
    "ModuleTreeDisplay",
    "RepresenterTree",
    "Verification",
    "estimate",
    "merge_trees",
    "verify",
]
__version__ = "0.1.0"
