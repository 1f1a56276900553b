"""Turn fitted tree ensembles into something simpler, with a stated guarantee."""

from ensemble_simplify._born_again import BornAgainClassifier

__all__ = ["BornAgainClassifier"]
__version__ = "0.1.0.dev0"
