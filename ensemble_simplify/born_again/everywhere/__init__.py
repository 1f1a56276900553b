"""The same class for every input: exact search over regions, heuristics, bounds.

`_planner` chooses and stops the parts, `_search` runs the dynamic programming, `_heuristic` grows
and improves trees, `_bounds` and `_fooling` bound them from below, `_grid` holds the cells that all
of them share, and says which numbers can share a leaf.
"""
