"""One tree of soft splits, with a reliability for each prediction."""

from ensemble_simplify.cultivated._display import AbstentionDisplay, ModuleTreeDisplay
from ensemble_simplify.cultivated._estimator import CultivatedForestClassifier

__all__ = [
    "AbstentionDisplay",
    "CultivatedForestClassifier",
    "ModuleTreeDisplay",
]
