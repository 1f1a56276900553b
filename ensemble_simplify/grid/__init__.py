"""Numbers: values and cells.

Thresholds become the cut points of axes, rows become cells, and trees become nodes over axes.
Kernels paint, restrict and overlay them. Nothing here knows scikit-learn.
"""

from ensemble_simplify.grid._cells import (
    FREE,
    Stopped,
    change_masks,
    changes_across,
    class_counts,
    paint,
    paint_lines,
)
from ensemble_simplify.grid._regions import (
    depths,
    leaf_boxes,
    leaves_of_cells,
    overlay,
    restrict,
    with_sizes,
)
from ensemble_simplify.grid.axes import Axes, CodedTrees, Splits, cell_shares, children, sized_nodes
from ensemble_simplify.grid.domain import Domain, in_boxes, read_domain, with_missing
from ensemble_simplify.grid.thresholds import (
    FLOAT32_MAX,
    float32_below,
    float32_floor,
    last_float32,
    merged_thresholds,
    rounding_boundary,
    shortest_decimal,
)
from ensemble_simplify.grid.tree_nodes import (
    NO_CHILD,
    TreeNodes,
    check_integers,
    check_preorder,
    preorder,
    walk,
)
