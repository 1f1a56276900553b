"""The same class near rows: trees grown on lines of cells.

`_near_promise` lists the points that count, `_line_search` plans, `_line_trees` grows and improves
trees, `_line_bounds` bounds them from below, `_cheapest_prunings` makes the path of smaller trees.
"""
