"""Turn fitted tree ensembles into something simpler, with a stated guarantee."""

from ensemble_simplify._born_again import BornAgainClassifier
from ensemble_simplify._estimate import Estimate, estimate
from ensemble_simplify._verify import Verification, verify

__all__ = ["BornAgainClassifier", "Estimate", "Verification", "estimate", "verify"]
__version__ = "0.1.0.dev0"
