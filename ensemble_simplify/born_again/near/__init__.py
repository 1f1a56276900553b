"""The same class, or nearly the same numbers, near rows: trees grown on lines of cells.

`_line_search` plans. `_line_trees` counts the points in a region, rates its splits, grows and
improves trees of classes, or of numbers, on that, and bounds them from below. `_path_trees` makes
the path of smaller trees, and says what their leaves answer.
"""
