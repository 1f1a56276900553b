"""The same answers near rows: trees grown on lines of cells.

`_near_promise` lists the points that count, `_line_search` plans, `_line_trees` grows and improves
trees, `_line_bounds` bounds them from below, `_cheapest_prunings` makes the path of smaller trees.
Of numbers, `_number_trees` knows which share a leaf, and `_leaf_answers` what the leaf answers.
"""
