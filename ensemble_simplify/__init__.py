"""Turn fitted tree ensembles into something simpler, with a stated guarantee."""

from ensemble_simplify._born_again import BornAgainClassifier
from ensemble_simplify._representer import RepresenterTree

__all__ = ["BornAgainClassifier", "RepresenterTree"]
__version__ = "0.1.0.dev0"
