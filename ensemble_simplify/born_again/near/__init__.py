"""The same class, or nearly the same numbers, near rows: trees grown on lines of cells.

`_line_search` plans, `_line_counts` counts the points in a region and rates its splits.
`_line_trees` grows and improves trees of classes on that, and `_number_trees` those of numbers;
`_leaf_answers` says what their leaves answer. `_line_bounds` bounds trees from below, and
`_path_trees` makes the path of smaller trees.
"""
