"""Turn fitted tree ensembles into something simpler, with a stated guarantee."""

from ensemble_simplify._feature_budget import FeatureBudgetPruner

__version__ = "0.1.0.dev0"

__all__ = ["FeatureBudgetPruner"]
