"""Turn fitted tree ensembles into something simpler, with a stated guarantee."""

from ensemble_simplify._cultivated import CultivatedForestClassifier
from ensemble_simplify._display import AbstentionDisplay, ModuleTreeDisplay

__all__ = ["AbstentionDisplay", "CultivatedForestClassifier", "ModuleTreeDisplay"]

__version__ = "0.1.0.dev0"
