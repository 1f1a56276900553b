"""Turn fitted tree ensembles into something simpler, with a stated guarantee."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ensemble_simplify.audit import (
        Monotonicity,
        NearestFlip,
        PrincipalReasons,
        Sensitivity,
        SufficientBox,
        is_monotone,
        is_sensitive,
        nearest_flip,
        principal_reasons,
        sufficient_box,
    )
    from ensemble_simplify.base import Explanation, TimeLimitError
    from ensemble_simplify.born_again import (
        BornAgainClassifier,
        BornAgainRegressor,
        DepthLeavesDisplay,
        Estimate,
        ExceptionPathDisplay,
        estimate,
    )
    from ensemble_simplify.cultivated import (
        AbstentionDisplay,
        CultivatedForestClassifier,
        ModuleTreeDisplay,
    )
    from ensemble_simplify.evidence import CheckedEvidence, check
    from ensemble_simplify.faithful_pruning import FaithfulPathDisplay, FaithfulPruner
    from ensemble_simplify.feature_budget import (
        BudgetForestClassifier,
        BudgetPathDisplay,
        FeatureBudgetPruner,
    )
    from ensemble_simplify.front import (
        Simplification,
        SimplificationDisplay,
        SimplifiedModel,
        simplify,
    )
    from ensemble_simplify.genesim import (
        C45Tree,
        GenesimClassifier,
        GuideTree,
        InterpretableSingleModel,
        ParetoFrontDisplay,
        QuestTree,
        merge_trees,
    )
    from ensemble_simplify.grid import Domain
    from ensemble_simplify.proof import (
        Agreement,
        Difference,
        Differences,
        Verification,
        agreement,
        differences,
        verify,
    )
    from ensemble_simplify.reading import ImportedEnsemble, OneOutput, OnnxModel, TreeliteModel
    from ensemble_simplify.representer import PruningPathDisplay, RepresenterTree
    from ensemble_simplify.scorecards import (
        AdditiveScorecard,
        Reason,
        ScorecardClassifier,
        ScorecardDisplay,
        ScorecardRegressor,
        dislocation,
        scorecard,
    )
    from ensemble_simplify.selective import (
        SelectiveAnswer,
        SelectiveTreeClassifier,
        SelectiveTreeRegressor,
    )
    from ensemble_simplify.writing import export_model, export_tree, import_model, import_tree

__all__ = [
    "AbstentionDisplay",
    "AdditiveScorecard",
    "Agreement",
    "BornAgainClassifier",
    "BornAgainRegressor",
    "BudgetForestClassifier",
    "BudgetPathDisplay",
    "C45Tree",
    "CheckedEvidence",
    "CultivatedForestClassifier",
    "DepthLeavesDisplay",
    "Difference",
    "Differences",
    "Domain",
    "Estimate",
    "ExceptionPathDisplay",
    "Explanation",
    "FaithfulPathDisplay",
    "FaithfulPruner",
    "FeatureBudgetPruner",
    "GenesimClassifier",
    "GuideTree",
    "ImportedEnsemble",
    "InterpretableSingleModel",
    "ModuleTreeDisplay",
    "Monotonicity",
    "NearestFlip",
    "OneOutput",
    "OnnxModel",
    "ParetoFrontDisplay",
    "PrincipalReasons",
    "PruningPathDisplay",
    "QuestTree",
    "Reason",
    "RepresenterTree",
    "ScorecardClassifier",
    "ScorecardDisplay",
    "ScorecardRegressor",
    "SelectiveAnswer",
    "SelectiveTreeClassifier",
    "SelectiveTreeRegressor",
    "Sensitivity",
    "Simplification",
    "SimplificationDisplay",
    "SimplifiedModel",
    "SufficientBox",
    "TimeLimitError",
    "TreeliteModel",
    "Verification",
    "agreement",
    "check",
    "differences",
    "dislocation",
    "estimate",
    "export_model",
    "export_tree",
    "import_model",
    "import_tree",
    "is_monotone",
    "is_sensitive",
    "merge_trees",
    "nearest_flip",
    "principal_reasons",
    "scorecard",
    "simplify",
    "sufficient_box",
    "verify",
]
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
    "front": "Simplification SimplificationDisplay SimplifiedModel simplify",
    "genesim": (
        "C45Tree GenesimClassifier GuideTree InterpretableSingleModel ParetoFrontDisplay "
        "QuestTree merge_trees"
    ),
    "grid": "Domain",
    "proof": "Agreement Difference Differences Verification agreement differences verify",
    "reading": "ImportedEnsemble OneOutput OnnxModel TreeliteModel",
    "representer": "PruningPathDisplay RepresenterTree",
    "scorecards": (
        "AdditiveScorecard Reason ScorecardClassifier ScorecardDisplay ScorecardRegressor "
        "dislocation scorecard"
    ),
    "selective": "SelectiveAnswer SelectiveTreeClassifier SelectiveTreeRegressor",
    "writing": "export_model export_tree import_model import_tree",
}
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name in _ROOMS:
        return import_module(f"ensemble_simplify.{name}")
    if name not in _ROOM_OF:
        raise AttributeError(f"module 'ensemble_simplify' has no attribute {name!r}")
    found = getattr(import_module(f"ensemble_simplify.{_ROOM_OF[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*__all__, *_ROOMS, "__all__", "__version__", "__doc__", "__file__", "__path__"})
