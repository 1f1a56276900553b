"""The genetic algorithm: `_evolution` runs it, the kernels breed, merge, prune and score trees."""
