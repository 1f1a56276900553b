"""Turn fitted tree ensembles into something simpler, with a stated guarantee."""

from ensemble_simplify.audit import (
    Monotonicity,
    NearestFlip,
    Sensitivity,
    SufficientBox,
    is_monotone,
    is_sensitive,
    nearest_flip,
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
    "estimate",
    "export_model",
    "export_tree",
    "import_model",
    "import_tree",
    "is_monotone",
    "is_sensitive",
    "merge_trees",
    "nearest_flip",
    "scorecard",
    "simplify",
    "sufficient_box",
    "verify",
]
__version__ = "0.4.0.dev0"
