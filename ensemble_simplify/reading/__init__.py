"""What a fitted model means: its trees, its sums, its decision, its table.

`model` is the way in: `Model.of` reads a model into a `forest`, through which `_routes` sends rows,
and asks the model itself; `sample` checks that both answer alike.
`family` says what a model is, and `families/` knows where each family keeps its trees; `level_hash`
is by what CatBoost knows the levels of a column. `pipelines` knows what transformers do before, and
`cut_offs` what decision thresholds and calibrations do after. All answer with `trees`.
`level_order` puts levels in the order of a model's answers, or of its sets of them.
`program` says what a model makes of its leaves, in typed steps: `decision` evaluates them, `sums`
is their linear form, `units` splits votes over votes into such sums. `table` turns a user's rows
into numbers and back: `columns` knows the entries, levels and dtypes of each column. `out_of_bag`
asks the trees of a forest about the training rows that they did not see, and whether a model has
learned from some rows at all.
"""

from ensemble_simplify.reading import program as steps
from ensemble_simplify.reading.columns import (
    UNKNOWN,
    Column,
    Hashed,
    LeftOut,
    Levels,
    is_missing,
    plain,
)
from ensemble_simplify.reading.decision import (
    has_probabilities,
    labels_of_scores,
    probabilities_of,
    values_of,
)
from ensemble_simplify.reading.families.additive import tree_of_steps
from ensemble_simplify.reading.families.forests import (
    TREE_FIELDS,
    not_known,
    unknown_fields,
)
from ensemble_simplify.reading.families.held import ImportedEnsemble, KeepsVersion, imported
from ensemble_simplify.reading.families.isolation import AnomalyScore
from ensemble_simplify.reading.families.onnx import OnnxModel
from ensemble_simplify.reading.families.outputs import OneOutput
from ensemble_simplify.reading.families.pipeline import transformers_of
from ensemble_simplify.reading.families.treelite import TreeliteModel
from ensemble_simplify.reading.family import (
    Family,
    family_of,
    is_booster,
    library_of,
    n_features_of,
    readable,
    says_it_takes_gaps,
    takes_numbers_alone,
    unwrap,
)
from ensemble_simplify.reading.forest import (
    MOST_WRITTEN,
    VOTE_SECONDS,
    Forest,
    end_trees,
    tree_estimators,
)
from ensemble_simplify.reading.level_order import level_orders
from ensemble_simplify.reading.model import Model, common_forests, common_table
from ensemble_simplify.reading.out_of_bag import held_out, learned_from, out_of_bag, out_of_sample
from ensemble_simplify.reading.pipelines import TableCodes, behind_codes, on_codes
from ensemble_simplify.reading.program import (
    Above,
    Cut,
    Largest,
    Link,
    OfTrees,
    Program,
    Temperature,
    TreeCount,
    TreeSum,
    TreeVotes,
    are_equal,
    boosted,
    link_margin,
)
from ensemble_simplify.reading.sample import has_own_methods
from ensemble_simplify.reading.sums import Sums, tree_shares
from ensemble_simplify.reading.table import Gaps, Table, column_index, column_indices, is_plain
from ensemble_simplify.reading.trees import Reading, Tree, name_of, set_of
from ensemble_simplify.reading.units import exact_rule, units_of
