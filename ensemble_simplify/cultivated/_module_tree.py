"""Trees of modules as arrays, and in words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from heapq import heappop, heappush

import numpy as np

from ensemble_simplify.cultivated._modules import Router
from ensemble_simplify.grid import sized_nodes
from ensemble_simplify.writing import (
    level_in_words,
    one_line,
    plain,
    set_in_words,
    weakest_links,
)


@dataclass(frozen=True, eq=False, repr=False)
class ModuleTree:
    """A grown tree of modules as arrays; nodes are numbered in pre-order, the root is 0.

    Options of node ``i`` are ``option_start[i]:option_start[i + 1]``, best first, and every one has
    the same vote; thresholds of option ``o`` are ``cut_start[o]:cut_start[o + 1]``, ascending.
    """

    # of every node
    left: np.ndarray  # intp, -1 in leaves
    right: np.ndarray
    depth: np.ndarray  # intp
    mass: np.ndarray  # sum of the (weighted) fractions of the training rows in it
    value: np.ndarray  # (n_nodes, n_classes) shares of the classes in that mass
    response: np.ndarray  # what it answers as a leaf: `value`, or probabilities that were refitted
    option_start: np.ndarray  # (n_nodes + 1,)
    # of every option
    option_feature: np.ndarray  # intp
    option_flip: np.ndarray  # False: small values go left; True: large ones
    option_threshold: np.ndarray  # the best threshold, the "t" of "about t"
    option_impurity: np.ndarray  # mean Gini impurity of the children over its thresholds
    option_missing: np.ndarray  # fraction of a row that goes left if the feature's value is missing
    cut_start: np.ndarray  # (n_options + 1,)
    # of every threshold
    cut_threshold: np.ndarray
    cut_suffix: np.ndarray  # weight of this and all larger ones of its option; the first is 1

    def __repr__(self) -> str:
        return f"ModuleTree(n_modules={self.n_modules}, n_leaves={self.n_leaves})"

    @property
    def n_nodes(self) -> int:
        """Number of modules and leaves."""
        return len(self.left)

    @property
    def n_modules(self) -> int:
        """Number of inner nodes."""
        return int(np.count_nonzero(self.left >= 0))

    @property
    def n_leaves(self):
        """Number of leaves."""
        return self.n_nodes - self.n_modules

    @property
    def leaves(self) -> np.ndarray:
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
        """Leaves in the subtree of `node`."""
        return (int(self.sizes[node]) + 1) // 2

    @property
    def sizes(self) -> np.ndarray:
        """Number of nodes of every subtree, its root counted."""
        return sized_nodes(self.left)[:, 2]

    @property
    def decrease(self) -> np.ndarray:
        """Decrease of the mass times Gini impurity that every module brings; 0 in leaves."""
        loss = self.mass * self.impurity
        inner = self.left >= 0
        below = loss[self.left] + loss[self.right]
        return np.where(inner, loss - below, 0.0)

    @property
    def least_decrease(self) -> float:
        """The least decrease of impurity that a module brings, as part of the whole tree's mass."""
        return self.decrease[self.left >= 0].min(initial=np.inf) / self.mass[0]

    def best_first(self, max_leaf_nodes) -> ModuleTree:
        """The tree that has grown best first to so many leaves.

        A module depends on the rows in it alone, so that every order of growth finds the same
        modules: the tree that is grown best first is a part of the whole one. Of equal decreases
        the first in pre-order is taken.
        """
        decrease, is_leaf = self.decrease, np.ones(self.n_nodes, dtype=bool)
        waiting, n_leaves = [], 1
        if self.left[0] >= 0:
            heappush(waiting, (-decrease[0], 0))
        while waiting and n_leaves < max_leaf_nodes:
            _, node = heappop(waiting)
            is_leaf[node] = False
            n_leaves += 1
            for child in (int(self.left[node]), int(self.right[node])):
                if self.left[child] >= 0:
                    heappush(waiting, (-decrease[child], child))
        return self.cut_back(is_leaf)

    def pruning_path(self):
        """The trees of weakest-link pruning, from this one to its root.

        Costs are in units of Gini impurity: mean impurity of the leaves plus a price for each.
        Returns ``pruned_at`` (node i is a module in tree k of the path iff ``pruned_at[i] > k``)
        and, for each tree, the price from which on it is the best, rising from 0, the number of its
        leaves, and their mean impurity, weighted with their masses.
        """
        cost = self.mass * self.impurity / self.mass[0]
        pruned_at, alphas, n_leaves, impurities = weakest_links(sized_nodes(self.left), cost)
        return pruned_at, np.maximum(alphas, 0.0), n_leaves, impurities

    def pruned(self, alpha):
        """The tree that is best where every leaf costs `alpha`, see `pruning_path`."""
        if alpha <= 0:
            return self
        pruned_at, alphas, _, _ = self.pruning_path()
        return self.cut_back(pruned_at < np.searchsorted(alphas, alpha, side="right"))

    def cut_back(self, is_leaf):
        """The tree in which some nodes are leaves, and all nodes below them are gone.

        Leaves of this tree, and nodes below others that are marked, may be marked or not.
        """
        is_leaf = is_leaf | (self.left < 0)
        sizes, kept, node = self.sizes, np.zeros(self.n_nodes, dtype=bool), 0
        while node < self.n_nodes:
            kept[node] = True
            node += sizes[node] if is_leaf[node] else 1
        number = np.cumsum(kept) - 1
        inner = kept & ~is_leaf
        options = np.repeat(inner, np.diff(self.option_start))
        n_cuts = np.diff(self.cut_start)
        cuts = np.repeat(options, n_cuts)
        n_options = np.where(inner, np.diff(self.option_start), 0)[kept]
        return replace(
            self,
            left=np.where(inner, number[self.left], -1)[kept],
            right=np.where(inner, number[self.right], -1)[kept],
            depth=self.depth[kept],
            mass=self.mass[kept],
            value=self.value[kept],
            response=self.response[kept],
            option_start=np.concatenate([[0], np.cumsum(n_options)]),
            cut_start=np.concatenate([[0], np.cumsum(n_cuts[options])]),
            **{
                name: array[cuts if name.startswith("cut") else options]
                for name, array in vars(self).items()
                if "_" in name and not name.endswith("start")
            },
        )

    def answering(self, values):
        """The same tree whose leaves answer these values."""
        response = self.value.copy()
        response[self.leaves] = values
        return replace(self, response=response)

    def router(self, min_fraction) -> Router:
        """The compiled router of this tree."""
        return Router(self, min_fraction)

    def importances(self, n_features) -> np.ndarray:
        """Decrease of impurity owed to each feature, summing to one (or to zero)."""
        result = np.zeros(n_features)
        modules = np.flatnonzero(self.left >= 0)
        n_options = np.diff(self.option_start)[modules]
        # A module's decrease is divided among its options as their own decreases are.
        of_option = np.repeat(self.impurity[modules], n_options) - self.option_impurity
        module_of = np.repeat(np.arange(len(modules)), n_options)
        share = (
            of_option / np.bincount(module_of, weights=of_option, minlength=len(modules))[module_of]
        )
        np.add.at(
            result, self.option_feature, share * np.maximum(self.decrease[modules], 0.0)[module_of]
        )
        total = result.sum()
        return result / total if total > 0 else result

    @classmethod
    def from_codes(cls, grown, codes):
        """A tree that `grow` returned, with codes replaced by the values they stand for."""
        feature = grown["option_feature"]
        feature_of_cut = np.repeat(feature, np.diff(grown["cut_start"]))
        coded = ("option_center", "cut_code")
        return cls(
            response=grown["value"],
            option_threshold=codes.decode(feature, grown["option_center"]),
            cut_threshold=codes.decode(feature_of_cut, grown["cut_code"]),
            **{name: array for name, array in grown.items() if name not in coded},
        )


class TreeText:
    """Writes modules, rules and the whole of a tree, with the names and levels of its features.

    For the other arguments see `CultivatedForestClassifier.describe_module`.
    """

    def __init__(self, tree, classes, names, levels, *, decimals, max_options, ranges=False):
        self.tree, self.classes, self.names, self.levels = tree, classes, names, levels
        self.decimals, self.max_options, self.ranges = decimals, max_options, ranges

    def decisions(self, node, *, left):
        """The options of a module, read as what leads to one of its sides."""
        options = self.tree.options(node)
        written = options if self.max_options is None else options[: self.max_options]
        decisions = [self._decision(option, left) for option in written]
        if len(written) < len(options):
            decisions.append(f"and {len(options) - len(written)} more")
        return decisions

    def rule(self, node):
        """The decisions on the way to a node, as one line."""
        steps = [self.decisions(module, left=left) for module, left in self.tree.path(node)]
        if not steps:
            return "every row"
        return " and ".join(s[0] if len(s) == 1 else f"[{', '.join(s)}]" for s in steps)

    def whole(self, max_depth):
        """The tree, a line for each side of a module and each leaf; deeper modules cut short."""
        tree, lines = self.tree, []
        pending = [(0, "")]
        while pending:
            node, condition = pending.pop()
            depth = int(tree.depth[node])
            if condition:
                lines.append("|   " * (depth - 1) + "|--- " + condition)
            bar = "|   " * depth + "|--- "
            if tree.left[node] < 0:
                lines.append(bar + self._leaf(node))
            elif depth >= max_depth:
                lines.append(f"{bar}... {tree.n_leaves_below(node)} leaves")
            else:
                pending.append((tree.right[node], self._condition(node, left=False)))
                pending.append((tree.left[node], self._condition(node, left=True)))
        return "\n".join(lines) + "\n"

    def _decision(self, option, left):
        tree = self.tree
        cuts = tree.cut_threshold[tree.cut_start[option] : tree.cut_start[option + 1]]
        feature, below = tree.option_feature[option], left != tree.option_flip[option]
        about = "about " if len(cuts) > 1 else ""
        sign, write = "<=" if below else ">", self._number
        if self.levels[feature] is not None:
            sign, write = "in", partial(self._set, self.levels[feature], below)
        text = f"{self.names[feature]} {sign} {about}{write(tree.option_threshold[option])}"
        if self.ranges and about:
            # the fewest levels first
            first, last = cuts[[0, -1]] if sign != "in" or below else cuts[[-1, 0]]
            text += f" ({write(first)} to {write(last)})"
        return text

    @staticmethod
    def _set(levels, below, code):
        """The levels up to a code, or above it."""
        side = levels[: int(code) + 1] if below else levels[int(code) + 1 :]
        return set_in_words([level_in_words(plain(level)) for level in side.tolist()])

    def _condition(self, node, *, left):
        n_options = len(self.tree.options(node))
        vote = f"vote of {n_options}: " if n_options > 1 else ""
        return vote + ", ".join(self.decisions(node, left=left))

    def _leaf(self, node) -> str:
        value, mass = self.tree.response[node], self.tree.mass[node]
        best = np.argmax(value)
        return f"class: {one_line(self.classes[best])} ({value[best]:.2f} of mass {mass:.1f})"

    def _number(self, value) -> str:
        decimals = self.decimals
        if decimals is None:
            decimals = 0 if value == 0 else max(0, 2 - int(np.floor(np.log10(abs(value)))))
        return f"{value:.{decimals}f}"
