"""One small, accurate tree bred out of several ensembles."""

from ensemble_simplify.genesim._display import GenesimDisplay
from ensemble_simplify.genesim._estimator import GenesimClassifier
from ensemble_simplify.genesim._ism import InterpretableSingleModel
from ensemble_simplify.genesim._merge_trees import merge_trees

__all__ = [
    "GenesimClassifier",
    "GenesimDisplay",
    "InterpretableSingleModel",
    "merge_trees",
]
