"""What a fitted model means: its trees, its sums, its decision, its table.

`model` is the way in: `Model.of` reads a model into a `forest`, through which `_routes` sends rows,
and asks the model itself; `sample` checks that both answer alike.
`sklearn` (single trees: `sklearn_trees`), `boosting`, `catboost` and `onnx_treelite` know where
ensembles keep their trees, `stands_for` says what is read in the place of an estimator,
`level_hash` by what CatBoost knows the levels of a column, `native` stands for boosters without a
wrapper, `steps` for models that are sums of step functions, `pipelines` knows what transformers do
before, and `cut_offs` what decision thresholds and calibrations do after. All answer with `trees`.
`level_order` puts levels in the order of a model's answers, or of its sets of them; `codes` is the
step of a pipeline that numbers the levels of a table for ensembles that take numbers alone.
`node_fields` has the fields of scikit-learn's nodes, by version. `imported` are estimators that
hold what is read of them, such as an ensemble that was written and read back.
`sums` is the linear form of the trees, `units` splits votes over votes into such sums, `decision`
turns sums into answers, and `table` turns a user's rows into numbers and back: `entries` knows the
levels and dtypes of a column, `gaps` what can stand for missing numbers. `out_of_bag` asks the
trees of a forest about the training rows that they did not see.
"""

from ensemble_simplify.reading.catboost import saved_catboost
from ensemble_simplify.reading.codes import TableCodes, behind_codes, on_codes
from ensemble_simplify.reading.cut_offs import insides
from ensemble_simplify.reading.decision import (
    Cut,
    Temperature,
    Vote,
    has_probabilities,
    labels_of_scores,
    link_margin,
    probabilities_of,
)
from ensemble_simplify.reading.forest import VOTE_SECONDS, Forest, end_trees, tree_estimators
from ensemble_simplify.reading.gaps import Gaps
from ensemble_simplify.reading.imported import ImportedEnsemble, imported
from ensemble_simplify.reading.level_order import level_orders
from ensemble_simplify.reading.model import Model, common_forests, common_table
from ensemble_simplify.reading.native import is_booster, library_of
from ensemble_simplify.reading.node_fields import (
    LEAF,
    OF_THRESHOLD,
    TREE_FIELDS,
    not_known,
    unknown_fields,
)
from ensemble_simplify.reading.onnx_treelite import OnnxModel, TreeliteModel
from ensemble_simplify.reading.out_of_bag import held_out, out_of_bag, out_of_sample
from ensemble_simplify.reading.pipelines import says_it_takes_gaps, unwrap
from ensemble_simplify.reading.sklearn import (
    keep_members,
    n_features_of,
    table_of,
    takes_numbers_alone,
    transformers_of,
    widen_members,
)
from ensemble_simplify.reading.stands_for import own_table, readable
from ensemble_simplify.reading.steps import tree_of_steps
from ensemble_simplify.reading.sums import Sums, tree_shares
from ensemble_simplify.reading.table import (
    UNKNOWN,
    Table,
    column_index,
    column_indices,
    is_plain,
)
from ensemble_simplify.reading.trees import Reading, Tree, name_of, set_of
from ensemble_simplify.reading.units import exact_rule, units_of
