"""Turn fitted tree ensembles into something simpler, with a stated guarantee."""

from ensemble_simplify._born_again import BornAgainClassifier
from ensemble_simplify._domain import Domain
from ensemble_simplify._estimate import Estimate, estimate
from ensemble_simplify._representer import RepresenterTree
from ensemble_simplify._verify import Verification, verify

__all__ = [
    "BornAgainClassifier",
    "Domain",
    "Estimate",
    "RepresenterTree",
    "Verification",
    "estimate",
    "verify",
]
__version__ = "0.1.0.dev0"
