"""GENESIM: one small, accurate tree made of many.

By default it is grown on what a random forest says, and its size chosen in folds (`_distilled`).
The trees of ensembles (`_first_trees`, with trees grown by `inducers/` among them) are the first
population of a genetic algorithm (`population/`), which merges, mutates and prunes trees over rows
in compiled code. `_estimator` is what users see of it, `_display` its picture. Beside it stands the
exact average of trees as one tree (`_merge_trees`, which also puts models and gaps on the columns
of one table).
"""

from ensemble_simplify.genesim._display import ParetoFrontDisplay
from ensemble_simplify.genesim._estimator import GenesimClassifier
from ensemble_simplify.genesim._merge_trees import merge_trees
from ensemble_simplify.genesim.inducers._inducers import (
    C45Tree,
    GuideTree,
    InterpretableSingleModel,
    QuestTree,
)

__all__ = [
    "C45Tree",
    "GenesimClassifier",
    "GuideTree",
    "InterpretableSingleModel",
    "ParetoFrontDisplay",
    "QuestTree",
    "merge_trees",
]
