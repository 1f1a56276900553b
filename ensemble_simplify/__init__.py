"""Turn fitted tree ensembles into something simpler, with a stated guarantee."""

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # under names of their own, so that type checkers take them as public
    from ensemble_simplify.audit import Monotonicity as Monotonicity
    from ensemble_simplify.audit import NearestFlip as NearestFlip
    from ensemble_simplify.audit import PrincipalReasons as PrincipalReasons
    from ensemble_simplify.audit import Sensitivity as Sensitivity
    from ensemble_simplify.audit import SufficientBox as SufficientBox
    from ensemble_simplify.audit import is_monotone as is_monotone
    from ensemble_simplify.audit import is_sensitive as is_sensitive
    from ensemble_simplify.audit import nearest_flip as nearest_flip
    from ensemble_simplify.audit import principal_reasons as principal_reasons
    from ensemble_simplify.audit import sufficient_box as sufficient_box
    from ensemble_simplify.base import Explanation as Explanation
    from ensemble_simplify.base import TimeLimitError as TimeLimitError
    from ensemble_simplify.born_again import BornAgainClassifier as BornAgainClassifier
    from ensemble_simplify.born_again import BornAgainRegressor as BornAgainRegressor
    from ensemble_simplify.born_again import DepthLeavesDisplay as DepthLeavesDisplay
    from ensemble_simplify.born_again import Estimate as Estimate
    from ensemble_simplify.born_again import ExceptionPathDisplay as ExceptionPathDisplay
    from ensemble_simplify.born_again import estimate as estimate
    from ensemble_simplify.cultivated import AbstentionDisplay as AbstentionDisplay
    from ensemble_simplify.cultivated import (
        CultivatedForestClassifier as CultivatedForestClassifier,
    )
    from ensemble_simplify.cultivated import ModuleTreeDisplay as ModuleTreeDisplay
    from ensemble_simplify.evidence import CheckedEvidence as CheckedEvidence
    from ensemble_simplify.evidence import check as check
    from ensemble_simplify.faithful_pruning import FaithfulPathDisplay as FaithfulPathDisplay
    from ensemble_simplify.faithful_pruning import FaithfulPruner as FaithfulPruner
    from ensemble_simplify.feature_budget import BudgetForestClassifier as BudgetForestClassifier
    from ensemble_simplify.feature_budget import BudgetPathDisplay as BudgetPathDisplay
    from ensemble_simplify.feature_budget import FeatureBudgetPruner as FeatureBudgetPruner
    from ensemble_simplify.front import Simplification as Simplification
    from ensemble_simplify.front import SimplificationDisplay as SimplificationDisplay
    from ensemble_simplify.front import SimplifiedModel as SimplifiedModel
    from ensemble_simplify.front import save_mlflow as save_mlflow
    from ensemble_simplify.front import simplify as simplify
    from ensemble_simplify.front import trusted_types as trusted_types
    from ensemble_simplify.genesim import C45Tree as C45Tree
    from ensemble_simplify.genesim import GenesimClassifier as GenesimClassifier
    from ensemble_simplify.genesim import GuideTree as GuideTree
    from ensemble_simplify.genesim import InterpretableSingleModel as InterpretableSingleModel
    from ensemble_simplify.genesim import ParetoFrontDisplay as ParetoFrontDisplay
    from ensemble_simplify.genesim import QuestTree as QuestTree
    from ensemble_simplify.genesim import merge_trees as merge_trees
    from ensemble_simplify.grid import Domain as Domain
    from ensemble_simplify.proof import Agreement as Agreement
    from ensemble_simplify.proof import Difference as Difference
    from ensemble_simplify.proof import Differences as Differences
    from ensemble_simplify.proof import Verification as Verification
    from ensemble_simplify.proof import agreement as agreement
    from ensemble_simplify.proof import differences as differences
    from ensemble_simplify.proof import verify as verify
    from ensemble_simplify.reading import AnomalyScore as AnomalyScore
    from ensemble_simplify.reading import ImportedEnsemble as ImportedEnsemble
    from ensemble_simplify.reading import OneOutput as OneOutput
    from ensemble_simplify.reading import OnnxModel as OnnxModel
    from ensemble_simplify.reading import TreeliteModel as TreeliteModel
    from ensemble_simplify.representer import PruningPathDisplay as PruningPathDisplay
    from ensemble_simplify.representer import RepresenterTree as RepresenterTree
    from ensemble_simplify.scorecards import AdditiveScorecard as AdditiveScorecard
    from ensemble_simplify.scorecards import Reason as Reason
    from ensemble_simplify.scorecards import ScorecardClassifier as ScorecardClassifier
    from ensemble_simplify.scorecards import ScorecardDisplay as ScorecardDisplay
    from ensemble_simplify.scorecards import ScorecardRegressor as ScorecardRegressor
    from ensemble_simplify.scorecards import dislocation as dislocation
    from ensemble_simplify.scorecards import scorecard as scorecard
    from ensemble_simplify.selective import SelectiveAnswer as SelectiveAnswer
    from ensemble_simplify.selective import SelectiveTreeClassifier as SelectiveTreeClassifier
    from ensemble_simplify.selective import SelectiveTreeRegressor as SelectiveTreeRegressor
    from ensemble_simplify.writing import export_model as export_model
    from ensemble_simplify.writing import export_tree as export_tree
    from ensemble_simplify.writing import import_model as import_model
    from ensemble_simplify.writing import import_tree as import_tree

__version__ = "0.4.0.dev0"

# Where each name is found: it is imported when it is first asked for, with what it needs alone.
_ROOMS = {
    "audit": (
        "Monotonicity NearestFlip PrincipalReasons Sensitivity SufficientBox is_monotone "
        "is_sensitive nearest_flip principal_reasons sufficient_box"
    ),
    "base": "Explanation TimeLimitError",
    "born_again": (
        "BornAgainClassifier BornAgainRegressor DepthLeavesDisplay Estimate "
        "ExceptionPathDisplay estimate"
    ),
    "cultivated": "AbstentionDisplay CultivatedForestClassifier ModuleTreeDisplay",
    "evidence": "CheckedEvidence check",
    "faithful_pruning": "FaithfulPathDisplay FaithfulPruner",
    "feature_budget": "BudgetForestClassifier BudgetPathDisplay FeatureBudgetPruner",
    "front": (
        "Simplification SimplificationDisplay SimplifiedModel save_mlflow simplify trusted_types"
    ),
    "genesim": (
        "C45Tree GenesimClassifier GuideTree InterpretableSingleModel ParetoFrontDisplay "
        "QuestTree merge_trees"
    ),
    "grid": "Domain",
    "proof": "Agreement Difference Differences Verification agreement differences verify",
    "reading": "AnomalyScore ImportedEnsemble OneOutput OnnxModel TreeliteModel",
    "representer": "PruningPathDisplay RepresenterTree",
    "scorecards": (
        "AdditiveScorecard Reason ScorecardClassifier ScorecardDisplay ScorecardRegressor "
        "dislocation scorecard"
    ),
    "selective": "SelectiveAnswer SelectiveTreeClassifier SelectiveTreeRegressor",
    "writing": "export_model export_tree import_model import_tree",
}
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names.split()}
__all__ = sorted(_ROOM_OF)


def __getattr__(name: str) -> object:
    if name in _ROOMS:
        return import_module(f"ensemble_simplify.{name}")
    if name not in _ROOM_OF:
        raise AttributeError(f"module 'ensemble_simplify' has no attribute {name!r}")
    found = getattr(import_module(f"ensemble_simplify.{_ROOM_OF[name]}"), name)
    globals()[name] = found
    return found


class _OtherVersions:
    """Tells of modules that are not there, for which pickles of other versions ask."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        # an import hands on the path of the package itself, tools that look for files their own
        package = sys.modules.get(name.rpartition(".")[0])
        if name.startswith(f"{__name__}.") and path is getattr(package, "__path__", None):
            raise ModuleNotFoundError(
                f"{__name__} {__version__} has no module {name}. Where a pickle asks for it, "
                "another version wrote it: fit again, or read it with that version. Trees and "
                "ensembles that are to be kept are written by export_tree or export_model as "
                '"json", which later versions read.',
                name=name,
            )


sys.meta_path.append(_OtherVersions)


def __dir__() -> list[str]:
    return sorted({*__all__, *_ROOMS, "__all__", "__version__", "__doc__", "__file__", "__path__"})
