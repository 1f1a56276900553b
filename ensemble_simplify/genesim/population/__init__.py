"""The genetic algorithm: trees that are merged, mutated, pruned and scored over rows.

`_evolution` runs it, and `_scoring` says how good a tree is. Kernels: `_population` keeps the
fittest and makes new trees, `_merger` merges them, `_pruner` scores and prunes them, and
`_rows` divides rows among their nodes; `_trees` declares the trees that they hand on.
"""
