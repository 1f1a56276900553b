"""Turn fitted tree ensembles into something simpler, with a stated guarantee."""

from ensemble_simplify._born_again import BornAgainClassifier
from ensemble_simplify._verify import Verification, verify

__all__ = ["BornAgainClassifier", "Verification", "verify"]
__version__ = "0.1.0.dev0"
