"""Turn fitted tree ensembles into something simpler, with a stated guarantee."""

from ensemble_simplify._cultivated import CultivatedForestClassifier

__all__ = ["CultivatedForestClassifier"]

__version__ = "0.1.0.dev0"
