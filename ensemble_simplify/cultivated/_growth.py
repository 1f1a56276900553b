"""From rows to the tree before pruning: codes of the values, the table of `k`, the kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ensemble_simplify.cultivated._codes import MAX_BINS, encode
from ensemble_simplify.cultivated._grow import grow
from ensemble_simplify.cultivated._module_tree import ModuleTree

# A tree of few leaves, grown best first, is looked for in ever larger trees: how much larger.
FINER = 8.0
FINEST = 1e-5  # after this it is grown whole
MIN_WORK = 1_000_000  # rows times features; below this the whole tree is grown at once


@dataclass(frozen=True, eq=False)
class Grower:
    """Grows trees by the parameters of `CultivatedForestClassifier`.

    `rules` are those that the kernel takes as they are; `k` is "sqrt", a number or a function.
    """

    n_classes: int
    k: str | float | Callable
    max_leaf_nodes: int | None
    histogram: bool
    max_bins: int | None
    n_jobs: int | None
    rules: dict

    def tree(self, X, y, weight, least_price=0.0) -> tuple[ModuleTree, bool]:
        """The tree before pruning, and whether time was out before it was grown.

        Branches that do not pay where a leaf costs `least_price` may be missing.
        """
        max_bins = self.max_bins or int(min(max(8 * len(X) ** 0.5, 4096), MAX_BINS))
        codes = encode(X, weight, max_bins if self.histogram else None, self.n_jobs)
        k_mass, k_value = tabulate_k(self.k, weight.sum())

        def grown(least_impurity):
            tree = grow(
                None if self.histogram else codes.codes,
                codes.codes if self.histogram else None,
                codes.n_codes,
                y,
                weight,
                self.n_classes,
                k_mass=k_mass,
                k_value=k_value,
                # A branch saves no more than the impurity of its root. A little less, for rounding.
                min_impurity=least_impurity * weight.sum() * (1 - 1e-9),
                # a sorted list is quicker than a histogram of mostly empty bins
                list_below=max(2, int(codes.n_codes.mean()) // 2),
                n_jobs=self.n_jobs,
                **self.rules,
            )
            timed_out = tree.pop("timed_out")
            return ModuleTree.from_codes(tree, codes), timed_out

        if self.max_leaf_nodes is None:
            return grown(least_price)
        # Where nodes of little impurity stay leaves, the tree is found much sooner, and it is the
        # same if each of its modules saves more than such a node could.
        least = 1 / (FINER * self.max_leaf_nodes) if X.size > MIN_WORK else 0.0
        while True:
            tree, timed_out = grown(least)
            tree = tree.best_first(self.max_leaf_nodes)
            found = tree.n_leaves == self.max_leaf_nodes and tree.least_decrease > least
            if found or timed_out or least == 0:
                return tree, timed_out
            least = least / FINER if least > FINEST else 0.0


def tabulate_k(k, mass):
    """Table of k against the mass of a node; empty for the square root."""
    if isinstance(k, str):
        return np.empty(0), np.empty(0)
    if not callable(k):
        return np.array([mass]), np.array([float(k)])
    grid = np.union1d(np.linspace(0, mass, 2049)[1:], np.geomspace(1e-6 * mass, mass, 2049))
    table = np.array([float(k(m)) for m in grid])
    allowed = np.isfinite(table) & (table >= 0)
    if not allowed.all():
        bad = grid[~allowed][0]
        raise ValueError(
            f"k={k!r} gives {k(bad)} for a node of mass {bad:g}; it must give a "
            "finite number of observations, 0 or more."
        )
    return grid, table


def quarter_of_sqrt(mass):
    """The neighbourhoods of trees with few leaves."""
    return 0.25 * mass**0.5
