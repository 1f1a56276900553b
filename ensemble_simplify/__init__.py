"""Turn fitted tree ensembles into something simpler, with a stated guarantee."""

from ensemble_simplify._born_again import BornAgainClassifier
from ensemble_simplify._cultivated import CultivatedForestClassifier
from ensemble_simplify._display import AbstentionDisplay, ModuleTreeDisplay

__all__ = [
    "AbstentionDisplay",
    "BornAgainClassifier",
    "CultivatedForestClassifier",
    "ModuleTreeDisplay",
]
__version__ = "0.1.0.dev0"
