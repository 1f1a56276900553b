"""What a fitted model means: its trees, its sums, its decision, its table.

`model` is the way in, `sklearn` and the other families know where an ensemble keeps its trees.
"""

from ensemble_simplify.reading.answering import (
    Answering,
    highest_codes,
    names_of,
    numeric_rows,
    on_common_table,
)
from ensemble_simplify.reading.decision import Vote
from ensemble_simplify.reading.model import Forest, LinearVotes, read_forest, tree_estimators
from ensemble_simplify.reading.onnx_treelite import OnnxModel, TreeliteModel
from ensemble_simplify.reading.pipelines import unwrap
from ensemble_simplify.reading.sklearn import (
    columns_of,
    keep_members,
    n_features_of,
    readable,
    widen_members,
)
from ensemble_simplify.reading.table import UNKNOWN, Columns, is_missing, is_plain
from ensemble_simplify.reading.trees import as_thresholds, name_of
from ensemble_simplify.reading.units import ExactRule, Unit
