"""Trees of modules in words."""

from __future__ import annotations

from functools import partial

import numpy as np

from ensemble_simplify.writing import level_in_words, one_line, plain, set_in_words


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
        found = [self._decision(option, left) for option in written]
        if len(written) < len(options):
            found.append(f"and {len(options) - len(written)} more")
        return found

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

    def _leaf(self, node):
        value, mass = self.tree.response[node], self.tree.mass[node]
        best = np.argmax(value)
        return f"class: {one_line(self.classes[best])} ({value[best]:.2f} of mass {mass:.1f})"

    def _number(self, value):
        decimals = self.decimals
        if decimals is None:
            decimals = 0 if value == 0 else max(0, 2 - int(np.floor(np.log10(abs(value)))))
        return f"{value:.{decimals}f}"
