"""A tree in words as lines of text, and drawn as SVG."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from sklearn.pipeline import Pipeline
from sklearn.tree import BaseDecisionTree

from ensemble_simplify.writing import one_line, percent

# Leaves up to which a tree is written and drawn.
MOST_DRAWN = 40
# Colours of classes that people with any kind of colour vision tell apart (Okabe and Ito).
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#f0e442", "#777777")
_LETTER, _ROW, _LINK = 7.0, 34, 64  # sizes in the drawing, in pixels
_LONGEST = 44  # letters of a condition that are drawn


@dataclass
class DrawnNode:
    """A split or a leaf."""

    text: str  # the condition to go left, or what the leaf answers
    share: float  # part of the weight of the rows that the tree was grown on
    place: int = -1  # of the answer among the classes; -1 for splits and in regression
    children: tuple = ()  # where the condition holds, and where it does not

    @property
    def n_leaves(self):
        """Number of leaves below."""
        return sum(child.n_leaves for child in self.children) or 1


def tree_of(fitted):
    """The scikit-learn tree in what a method found; None if it is none."""
    if isinstance(fitted, Pipeline):
        fitted = fitted[-1]
    if isinstance(fitted, BaseDecisionTree):
        return fitted
    return getattr(fitted, "decision_tree_", None)


def in_words(tree):
    """The root of a `NamedTree`, with what is below it."""
    made = {}
    for node, spans in reversed(list(tree.paths())):
        share = float(tree.weight[node] / tree.weight[0])
        left, right = int(tree.nodes.left[node]), int(tree.nodes.right[node])
        if left >= 0:
            made[node] = DrawnNode(
                tree.question(node, spans), share, -1, (made.pop(left), made.pop(right))
            )
        elif tree.classes is None:
            made[node] = DrawnNode(f"{tree.label(node):.4g}", share)
        else:
            made[node] = DrawnNode(
                one_line(tree.label(node)), share, int(tree.value[node].argmax())
            )
    return made[0]


def lines(node, indent=""):
    """The tree as a list of indented lines of text."""
    if not node.children:
        return [f"{indent}{node.text}"]
    yes, no = node.children
    listed = []
    for word, child in ((f"if {node.text}", yes), ("else", no)):
        if child.children:
            listed += [f"{indent}{word}:", *lines(child, indent + "    ")]
        else:
            listed.append(f"{indent}{word}: {child.text}")
    return listed


def svg(node, title):
    """The tree from left to right, as the text of an inline SVG.

    The title says what it shows for those who cannot see it.
    """
    widths = {}
    _widths(node, 0, widths)
    lefts, x = {}, 8.0
    for depth in sorted(widths):
        lefts[depth] = x
        x += widths[depth] + _LINK
    parts = []
    height = _ROW * node.n_leaves + 16
    _place(node, 0, 8.0, lefts, parts)
    return (
        f'<svg class="tree" role="img" viewBox="0 0 {x - _LINK + 8:.0f} {height}" '
        f'width="{x - _LINK + 8:.0f}" height="{height}" xmlns="http://www.w3.org/2000/svg">'
        f"<title>{escape(title)}</title>{''.join(parts)}</svg>"
    )


def _shown(node):
    text = node.text if len(node.text) <= _LONGEST else f"{node.text[: _LONGEST - 1]}…"
    return text if node.children else f"{text}  ({percent(node.share, digits=0, brief=True)})"


def _widths(node, depth, widths):
    width = _LETTER * len(_shown(node)) + 18
    widths[depth] = max(widths.get(depth, 0), width)
    for child in node.children:
        _widths(child, depth + 1, widths)


def _place(node, depth, top, lefts, parts):
    """Draw a node whose leaves begin at `top`; the height of its middle is returned."""
    x, width = lefts[depth], _LETTER * len(_shown(node)) + 18
    if node.children:
        yes, no = node.children
        ends = [
            _place(yes, depth + 1, top, lefts, parts),
            _place(no, depth + 1, top + _ROW * yes.n_leaves, lefts, parts),
        ]
        middle = sum(ends) / 2
        for word, end in zip(("yes", "no"), ends, strict=True):
            right = lefts[depth + 1]
            bend = right - _LINK + 14
            parts.append(
                f'<path d="M{x + width:.1f} {middle:.1f}H{bend:.1f}V{end:.1f}H{right:.1f}" '
                'fill="none" stroke="#9aa4ae" stroke-width="1.2"/>'
                f'<text x="{bend + 6:.1f}" y="{end - 4:.1f}" font-size="11" '
                f'fill="#5c6773">{word}</text>'
            )
    else:
        middle = top + _ROW / 2
    color = COLORS[node.place % len(COLORS)] if node.place >= 0 else "#5c6773"
    box = (
        f'<rect x="{x:.1f}" y="{middle - 12:.1f}" width="{width:.1f}" height="24" rx="5" '
        f'fill="{"#f4f6f8" if node.children else color}" '
        f'fill-opacity="{1 if node.children else 0.16}" '
        f'stroke="{"#9aa4ae" if node.children else color}"/>'
    )
    parts.append(
        f"<g><title>{escape(node.text)}</title>{box}"
        f'<text x="{x + 9:.1f}" y="{middle + 4.5:.1f}" font-size="13" '
        f'font-family="ui-monospace,Menlo,Consolas,monospace" '
        f'textLength="{width - 18:.1f}" lengthAdjust="spacingAndGlyphs" '
        f'fill="#22272e">{escape(_shown(node))}</text></g>'
    )
    return middle
