"""A tree in words: its nodes as they are told and drawn, and the lines of text that tell it."""

from __future__ import annotations

import textwrap
from collections import deque
from dataclasses import dataclass

import numpy as np

from ensemble_simplify.writing import (
    CHANCE,
    CHANCE_BY_MODEL,
    OF_ANSWERS,
    one_line,
    percent,
)

# Leaves up to which a tree is written and drawn; of larger ones, the upper part is.
MOST_DRAWN = 40
# Letters in a line of text.
WIDTH = 100
_INDENT = "    "


@dataclass
class DrawnNode:
    """A split, a leaf, or a part of the tree that is too large to be shown."""

    text: str  # the condition to go left, or what the leaf answers
    n_rows: int  # that the tree was grown on and that come here
    part: float  # of the weight of all rows, between 0 and 1
    shares: np.ndarray | None = None  # of the classes, in a leaf of a classifier
    value: float = np.nan  # what a leaf answers in regression
    children: tuple = ()  # where the condition holds, and where it does not
    n_hidden: int = 0  # leaves of a part that is not shown
    shares_of: str = ""  # what they are, see `NamedTree`

    @property
    def n_leaves(self) -> int:
        """Number of leaves that are shown below, a hidden part being one."""
        return sum(child.n_leaves for child in self.children) or 1

    def leaves(self) -> list[DrawnNode]:
        """What is shown at the ends, from left to right."""
        return [leaf for child in self.children for leaf in child.leaves()] or [self]

    @property
    def support(self) -> str:
        """How many rows a leaf answers for, and the share, or chance, of its answer there."""
        rows = "1 row" if self.n_rows == 1 else f"{self.n_rows:,} rows"
        if self.n_hidden or self.shares is None:
            return rows
        share = percent(float(self.shares.max()), digits=0, brief=True)
        return f"{share}, {rows}" if self.shares_of else f"{share} of {rows}"


def in_words(tree, most=MOST_DRAWN) -> DrawnNode:
    """The root of a `NamedTree`, with what is below it: at most so many leaves and hidden parts."""
    nodes = tree.nodes
    shown = _shown(nodes, most)
    size = np.ones(len(nodes.left), dtype=np.intp)
    for node in range(len(size) - 1, -1, -1):  # in pre-order, children come later
        if nodes.left[node] >= 0:
            size[node] = size[nodes.left[node]] + size[nodes.right[node]]
    # the path to a node is known when its parent is
    told = {}
    for node, spans in tree.paths():
        if node in shown:
            told[node] = tree.question(node, spans) if nodes.left[node] >= 0 else ""
    made = {}
    for node in sorted(told, reverse=True):
        left, right = int(nodes.left[node]), int(nodes.right[node])
        drawn = DrawnNode(
            told[node], int(tree.rows[node]), float(tree.weight[node] / tree.weight[0])
        )
        if left >= 0 and left not in shown:
            drawn.text, drawn.n_hidden = f"{size[node]:,} more leaves", int(size[node])
        elif left >= 0:
            drawn.children = made.pop(left), made.pop(right)
        elif tree.classes is None:
            drawn.value = tree.label(node)
            drawn.text = written(drawn.value)
        else:
            drawn.text, drawn.shares = one_line(tree.label(node)), tree.value[node]
            drawn.shares_of = tree.shares_of
        made[node] = drawn
    return made[0]


def what_leaves_say(tree) -> str:
    """The figures beside the answer of a leaf explained."""
    if tree.classes is None:
        said = "Each leaf shows its answer and the number of training rows in it."
    elif tree.shares_of:
        what, explained = _SHARES[tree.shares_of]
        said = f"Each leaf shows its answer, {what}, and the number of training rows in it."
        said = f"{said} {explained}"
    else:
        said = "Each leaf shows its answer, and the share of the training rows in it that have it."
    if tree.nodes.n_leaves > MOST_DRAWN:
        said += " The lowest parts of the tree are not shown."
    return said.strip()


# What the shares in leaves are, and how they came about.
_DRAWN = "drawn towards that of the branches above, the more the fewer rows there are"
_NOT_BELOW = "No other answer is shown as more likely."
_SHARES = {
    CHANCE: (
        "the chance that it is right",
        f"This is its rate among the rows there whose y is known, {_DRAWN}. {_NOT_BELOW}",
    ),
    CHANCE_BY_MODEL: (
        "the chance that it is right in the eyes of the model",
        f"This is the model's mean probability there, {_DRAWN}. {_NOT_BELOW}",
    ),
    OF_ANSWERS: ("how often the model gives this answer there", ""),
}


def _shown(nodes, most):
    """The nodes that are shown: from the root down, level by level, until there are too many."""
    shown, waiting, n_ends = {0}, deque([0]), 1
    # level by level, so that what decides for most rows is seen first
    while waiting and n_ends < most:
        node = waiting.popleft()
        if nodes.left[node] >= 0:
            children = int(nodes.left[node]), int(nodes.right[node])
            shown.update(children)
            waiting.extend(children)
            n_ends += 1
    return shown


def written(value) -> str:
    """A number to read: four digits that count, and none of those before the point left out."""
    if 1_000 <= abs(value) < 1e15:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def leaves(number) -> str:
    """A number of leaves in words."""
    return "1 leaf" if number == 1 else f"{number:,} leaves"


def size_in_words(number, is_card=False) -> str:
    """A number of leaves, or of a scorecard's bins, in words."""
    if not is_card:
        return leaves(number)
    return "1 bin" if number == 1 else f"{number:,} bins"


def tree_lines(tree, width=WIDTH) -> list[str]:
    """The tree as a list of indented lines of text, none of them wider than told.

    Parameters
    ----------
    tree : NamedTree
    width : int, default=100

    Returns
    -------
    lines : list of str
    """
    root = in_words(tree)
    return [part for line in _lines(root) for part in _wrapped(line, width)]


def _lines(node, indent=""):
    if not node.children:
        return [f"{indent}always: {_ending(node)}"]
    listed = []
    for word, child in zip((f"if {node.text}", "else"), node.children, strict=True):
        if child.children:
            listed += [f"{indent}{word}:", *_lines(child, indent + _INDENT)]
        else:
            listed.append(f"{indent}{word}: {_ending(child)}")
    return listed


def _ending(leaf):
    return f"{leaf.text} ({leaf.support})"


def _wrapped(line, width):
    """A line as several ones if it is too long, those that go on being indented by more."""
    indent = line[: len(line) - len(line.lstrip())]
    indent = indent if len(indent) < width // 2 else indent[: width // 2]
    return textwrap.wrap(
        line.strip(),
        width,
        initial_indent=indent,
        subsequent_indent=indent + 2 * _INDENT,
        break_on_hyphens=False,
    )
