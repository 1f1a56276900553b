"""The genetic algorithm: trees that are merged, mutated, pruned and scored over rows.

`_evolution` runs it, and says how good a tree is. The kernel `_population` divides rows among the
nodes of trees, merges, scores and prunes trees, and keeps the fittest.
"""
