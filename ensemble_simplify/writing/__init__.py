"""Trees and ensembles written as scikit-learn objects, in words and in other languages.

`sklearn_tree` writes node arrays as trees of scikit-learn, and alone knows how those are stored;
`leaf_values` is what their nodes answer. `reweighted` writes an ensemble with some of its trees,
under other weights, as its family in `reading` says.
`named_columns` says columns in their user's words, and `named_tree` a tree. `languages` writes
trees, `in_sql`, `in_c`, `in_python` and `in_json` in one language each, with the `literals` that
all share. Of an ensemble, `named_ensemble` is what `named_tree` is of a tree, `program` says what
it computes step by step, and `ensemble_in_sql`, `ensemble_in_c`, `ensemble_in_python` and
`ensemble_in_json` write that, also of one rounded to `int16`; `caveats` counts the rows to which
the code may answer otherwise than the model. `words` shows names and numbers. The kernel
`_cost_complexity` prunes a tree at its weakest links.
"""

from ensemble_simplify.writing._cost_complexity import sums_on_path, weakest_links
from ensemble_simplify.writing.languages import (
    LANGUAGES,
    export_model,
    export_tree,
    import_model,
    import_tree,
)
from ensemble_simplify.writing.leaf_values import shrunken, weight_of_a_row, with_labels
from ensemble_simplify.writing.named_columns import ALL, NamedColumns, Span
from ensemble_simplify.writing.named_tree import NamedTree, checked_names
from ensemble_simplify.writing.program import (
    Above,
    Chosen,
    Constant,
    Largest,
    Operation,
    Probability,
    TreeSum,
    program_of,
)
from ensemble_simplify.writing.reweighted import depth_of, reweighted, weights_can_be_written
from ensemble_simplify.writing.sklearn_tree import (
    apply_nodes,
    gini,
    missing_directions,
    node_counts,
    pruned_copy,
    read_nodes,
    write_classifier,
    write_counted,
    write_regressor,
    write_tree,
)
from ensemble_simplify.writing.words import (
    counted,
    end_of_interval,
    in_drawing,
    level_in_words,
    number,
    one_line,
    percent,
    plain,
    set_in_words,
    wrapped,
)
