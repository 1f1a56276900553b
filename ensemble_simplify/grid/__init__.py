"""Numbers: values, the cells between cut points, and trees over them. Knows no scikit-learn.

`thresholds` makes thresholds float32-exact, and `tree_nodes` holds one tree as arrays. `axes` turns
values into codes and back, `code_sets` writes tests of sets of codes as thresholds, and `domain`
says which inputs can occur. `linear_programs` alone knows HiGHS. Kernels: `_preorder` lists the
nodes of a tree, `_category_splits` divides runs of codes, `_regions` restricts and overlays trees
over axes, `_cells` says what a forest answers on cells, `_gaps` where splits lie among rows,
`_boxes` bounds what trees can add inside a box, `_joint` searches boxes for points of large sums or
covers a space with boxes that have none, `_sweep` searches a sorted column for the best split, and
`_code_columns` puts columns into bins and sums over these. `_limits` holds the limits of time,
`threads` shares out work, and `waiting` tells people who wait.
"""

from ensemble_simplify.grid._cells import (
    FREE,
    change_masks,
    changes_across,
    class_counts,
    paint,
    paint_lines,
)
from ensemble_simplify.grid._code_columns import code_columns, sums_of_bins, sums_of_pairs
from ensemble_simplify.grid._joint import JointSearch
from ensemble_simplify.grid._limits import (
    Stopped,
    at_least,
    carried,
    check_time,
    is_late,
    limited,
    limits,
    time_left,
    uncounted,
    unlimited,
    until,
)
from ensemble_simplify.grid._regions import (
    depths,
    leaf_boxes,
    leaves_of_cells,
    overlay,
    restrict,
    with_sizes,
)
from ensemble_simplify.grid.axes import (
    Axes,
    CodedTrees,
    Splits,
    cell_shares,
    children,
    distinct_rows,
    sized_nodes,
)
from ensemble_simplify.grid.code_sets import CodeSets, SetTree, as_thresholds, within_window
from ensemble_simplify.grid.domain import (
    MANY,
    Domain,
    columns_of,
    domain_of_columns,
    in_boxes,
    read_domain,
    satisfying,
    with_missing,
)
from ensemble_simplify.grid.linear_programs import LinearProgram
from ensemble_simplify.grid.threads import held_back, in_threads, later
from ensemble_simplify.grid.thresholds import (
    FLOAT32_MAX,
    float32_below,
    float32_floor,
    last_double,
    last_float32,
    last_number,
    last_within,
    merged_thresholds,
    next_after,
    number_at,
    place_of,
    rounding_boundary,
    shortest_decimal,
)
from ensemble_simplify.grid.tree_nodes import (
    NO_CHILD,
    TreeNodes,
    check_integers,
    check_preorder,
    preorder,
    refuse_any,
    walk,
)
from ensemble_simplify.grid.waiting import doing, waiting
