"""One tree grown on manufactured rows that any predictor labels."""

from ensemble_simplify.representer._estimator import RepresenterTree

__all__ = [
    "RepresenterTree",
]
