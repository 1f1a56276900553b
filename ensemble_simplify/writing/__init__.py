"""Trees and ensembles written as scikit-learn objects, in words and in other languages.

`sklearn_tree` writes node arrays as trees of scikit-learn, alone knows how those are stored, and
says what their nodes answer. `reweighted` writes an ensemble with some of its trees, under other
weights, as its family in `reading` says. `named_columns` says columns in their user's words, and
`named_tree` a tree or an ensemble. `languages` writes them: `in_sql` in one of the `dialects`,
`in_json` in one language, `in_braces` in JavaScript, Java, Go and C#, and `in_c` and `in_python`,
which are much like these.
`code` lists what an ensemble computes as operations on single numbers, which all languages but JSON
write, also of one rounded to `int16`; `caveats` counts the rows to which the code may answer
otherwise than the model, and `given_rows` finds shorter thresholds. `words` shows names and
numbers, and has the literals that languages share. `files` writes files as a whole. The kernel
`_cost_complexity` prunes a tree at its weakest links.
"""

from ensemble_simplify.writing._cost_complexity import sums_on_path, weakest_links
from ensemble_simplify.writing.caveats import caveats
from ensemble_simplify.writing.code import (
    Best,
    Beyond,
    Chosen,
    Constant,
    LeafSum,
    Operation,
    Probability,
    code_of,
)
from ensemble_simplify.writing.dialects import DIALECTS, dialect_of
from ensemble_simplify.writing.files import check_place, replacing, write_text
from ensemble_simplify.writing.in_sql import ensemble_in_sql, tree_in_sql
from ensemble_simplify.writing.languages import (
    LANGUAGES,
    export_model,
    export_tree,
    import_model,
    import_tree,
)
from ensemble_simplify.writing.named_columns import ALL, NamedColumns, Span
from ensemble_simplify.writing.named_tree import (
    CHANCE,
    CHANCE_BY_MODEL,
    OF_ANSWERS,
    NamedEnsemble,
    NamedTree,
    level_in_list,
)
from ensemble_simplify.writing.reweighted import depth_of, reweighted, weights_can_be_written
from ensemble_simplify.writing.sklearn_tree import (
    SHRINKAGE,
    apply_nodes,
    gini,
    missing_directions,
    node_counts,
    pruned_copy,
    read_nodes,
    shrunken,
    weight_of_a_row,
    with_chances,
    with_labels,
    write_classifier,
    write_counted,
    write_regressor,
    write_tree,
)
from ensemble_simplify.writing.words import (
    aligned,
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
