"""The smallest single tree with exactly the same function as an ensemble."""

from ensemble_simplify.born_again._estimate import Estimate, estimate
from ensemble_simplify.born_again._estimator import BornAgainClassifier

__all__ = [
    "BornAgainClassifier",
    "Estimate",
    "estimate",
]
