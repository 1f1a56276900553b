"""Trees of modules as arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ensemble_simplify.cultivated._route import Router


@dataclass(frozen=True, eq=False, repr=False)
class ModuleTree:
    """A grown tree of modules as arrays; nodes are numbered in pre-order, the root is 0.

    Attributes
    ----------
    left, right : ndarray of intp, shape (n_nodes,)
        Children; -1 in leaves.
    depth : ndarray of intp, shape (n_nodes,)
    mass : ndarray of float64, shape (n_nodes,)
        Sum of the (weighted) fractions of the training rows in the node.
    value : ndarray of float64, shape (n_nodes, n_classes)
        Shares of the classes in that mass.
    option_start : ndarray of intp, shape (n_nodes + 1,)
        Options of node ``i`` are ``option_start[i]:option_start[i + 1]``, best first; every one
        has the same vote.
    option_feature : ndarray of intp, shape (n_options,)
    option_flip : ndarray of bool, shape (n_options,)
        False: small values go left; True: large ones.
    option_threshold : ndarray of float64, shape (n_options,)
        The best threshold, the "t" of "about t".
    option_impurity : ndarray of float64, shape (n_options,)
        Mean Gini impurity of the children over the option's thresholds.
    option_missing : ndarray of float64, shape (n_options,)
        Fraction of a row that goes left when the feature's value is missing.
    cut_start : ndarray of intp, shape (n_options + 1,)
        Thresholds of option ``o`` are ``cut_start[o]:cut_start[o + 1]``, ascending.
    cut_threshold : ndarray of float64, shape (n_cuts,)
    cut_suffix : ndarray of float64, shape (n_cuts,)
        Weight of this threshold and all larger ones of its option; the first is 1.
    """

    left: np.ndarray
    right: np.ndarray
    depth: np.ndarray
    mass: np.ndarray
    value: np.ndarray
    option_start: np.ndarray
    option_feature: np.ndarray
    option_flip: np.ndarray
    option_threshold: np.ndarray
    option_impurity: np.ndarray
    option_missing: np.ndarray
    cut_start: np.ndarray
    cut_threshold: np.ndarray
    cut_suffix: np.ndarray

    def __repr__(self):
        return f"ModuleTree(n_modules={self.n_modules}, n_leaves={self.n_leaves})"

    @property
    def n_nodes(self):
        """Number of modules and leaves."""
        return len(self.left)

    @property
    def n_modules(self):
        """Number of inner nodes."""
        return int(np.count_nonzero(self.left >= 0))

    @property
    def n_leaves(self):
        """Number of leaves."""
        return self.n_nodes - self.n_modules

    @property
    def leaves(self):
        """Node numbers of the leaves, ascending."""
        return np.flatnonzero(self.left < 0)

    @property
    def impurity(self):
        """Gini impurity of every node."""
        return 1.0 - np.sum(self.value**2, axis=1)

    def options(self, node):
        """Numbers of the options of a node."""
        return range(self.option_start[node], self.option_start[node + 1])

    def path(self, node):
        """Pairs (module, went left) from the root down to `node`."""
        steps = []
        at = 0
        while at != node:
            goes_left = node < self.right[at]  # pre-order
            steps.append((at, goes_left))
            at = self.left[at] if goes_left else self.right[at]
        return steps

    def n_leaves_below(self, node):
        """Leaves in the subtree of `node`; in pre-order it is a run of nodes."""
        deeper = self.depth[node + 1 :] > self.depth[node]
        size = len(deeper) if deeper.all() else int(np.argmin(deeper))
        return int(np.count_nonzero(self.left[node : node + 1 + size] < 0))

    def router(self, min_fraction):
        """The compiled router of this tree."""
        return Router(
            self.left,
            self.right,
            self.value,
            self.option_start,
            self.option_feature,
            self.option_flip.view(np.uint8),
            self.option_missing,
            self.cut_start,
            self.cut_threshold,
            self.cut_suffix,
            min_fraction,
        )

    def importances(self, n_features):
        """Decrease of impurity owed to each feature, summing to one (or to zero)."""
        result = np.zeros(n_features)
        modules = np.flatnonzero(self.left >= 0)
        loss = self.mass * self.impurity
        decrease = loss[modules] - loss[self.left[modules]] - loss[self.right[modules]]
        n_options = np.diff(self.option_start)[modules]
        # A module's decrease is divided among its options as their own decreases are.
        own = np.repeat(self.impurity[modules], n_options) - self.option_impurity
        module_of = np.repeat(np.arange(len(modules)), n_options)
        part = own / np.bincount(module_of, weights=own, minlength=len(modules))[module_of]
        np.add.at(result, self.option_feature, part * np.maximum(decrease, 0.0)[module_of])
        total = result.sum()
        return result / total if total > 0 else result

    @classmethod
    def from_codes(cls, grown, codes):
        """A tree of the kernel, with codes replaced by the values they stand for.

        Parameters
        ----------
        grown : dict of ndarray
            From `_grow.grow`.
        codes : Codes
            What it was grown on.
        """
        feature = grown["option_feature"]
        feature_of_cut = np.repeat(feature, np.diff(grown["cut_start"]))
        coded = ("option_center", "cut_code")
        return cls(
            option_threshold=codes.decode(feature, grown["option_center"]),
            cut_threshold=codes.decode(feature_of_cut, grown["cut_code"]),
            **{name: array for name, array in grown.items() if name not in coded},
        )
