"""Pictures for pages and notebooks: a tree, and curves over sizes, as the text of an inline SVG.

They take the colour of the text around them, so that they can be seen on light and on dark pages.
"""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import numpy as np

from ensemble_simplify.base import Html, element

# Colours of classes that people with any kind of colour vision tell apart (Okabe and Ito).
COLORS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999")
# Widths of letters in a wide typeface (DejaVu Sans), as parts of the size of the type.
_LETTERS = {
    **dict.fromkeys("'ijlIJ ,./:;\\|", 0.33),
    **dict.fromkeys('f-()[]t!r"*_`', 0.43),
    **dict.fromkeys("szcLFkvxyPTYaoe?", 0.60),
    **dict.fromkeys("w#+<=>^~M≤≥…", 0.87),
    **dict.fromkeys("%mW@", 1.0),
}
_USUAL, _CAPITAL, _WIDE = 0.65, 0.78, 1.05
# Measures of the drawing in pixels: size of type, a row of the leaves, the way between columns.
_TYPE, _LINE, _ROW, _LINK, _CURVE = 13, 17, 36, 78, 46
_PAD, _BAR, _WIDEST, _MOST_LINES = 10, 58, 190, 3


# ------------------------------------------------------------------- text


def text_width(text, size=_TYPE, *, bold=False) -> float:
    """How wide a text is, in pixels, in a typeface that is wide."""
    return size * (1.16 if bold else 1.0) * sum(map(_letter, text))


def _letter(letter):
    if letter in _LETTERS:
        return _LETTERS[letter]
    if unicodedata.east_asian_width(letter) in "WF":
        return _WIDE
    return _CAPITAL if letter.isupper() else _USUAL


def shortened(text, widest, *, bold=False) -> str:
    """A text, or its beginning and an ellipsis."""
    if text_width(text, bold=bold) <= widest:
        return text
    while text and text_width(text + "…", bold=bold) > widest:
        text = text[:-1]
    return text.rstrip() + "…"


def _broken(text, widest, most):
    """A text in lines of at most that width; what does not go into them is left out."""
    lines, words = [""], text.split(" ")
    while words:
        word = words.pop(0)
        longer = f"{lines[-1]} {word}".strip()
        if text_width(longer) <= widest:
            lines[-1] = longer
        elif not lines[-1]:
            cut = next(k for k in range(len(word), 0, -1) if k == 1 or _fits(word[:k], widest))
            lines[-1] = word[:cut]
            words.insert(0, word[cut:])
        else:
            lines.append("")
            words.insert(0, word)
    if len(lines) > most:
        lines[most - 1] = shortened(" ".join(lines[most - 1 :]), widest)
    return lines[:most]


def _fits(text, widest):
    return text_width(text) <= widest


# ------------------------------------------------------------------- shapes


def _text(x, y, text, *, size=_TYPE, anchor=None, bold=False, faint=False):
    return element(
        "text",
        text,
        x=float(x),
        y=float(y),
        font_size=size,
        text_anchor=anchor,
        font_weight="600" if bold else None,
        opacity=".72" if faint else None,
    )


def _line(*way, color="currentColor", opacity=None, width=None, dash=None):
    """A line along a way: letters of SVG's paths and numbers of pixels."""
    told = " ".join(step if isinstance(step, str) else f"{step:.1f}" for step in way)
    return element(
        "path",
        d=told,
        fill="none",
        stroke=color,
        stroke_opacity=opacity,
        stroke_width=width,
        stroke_dasharray=dash,
    )


def _box(x, y, width, height, *, fill="none", part=None, border=None, rx=None):
    """A rectangle; `part` is how strong its colour is, `border` its edge."""
    return element(
        "rect",
        x=float(x),
        y=float(y),
        width=float(width),
        height=float(height),
        rx=rx,
        fill=fill,
        fill_opacity=part,
        stroke="currentColor" if border else None,
        stroke_opacity=border,
    )


def _dot(x, y, radius, color, *told):
    """A dot; its edge tells light colours from a light page."""
    style = {"fill": color, "stroke": "currentColor", "stroke_opacity": ".5"}
    return element("circle", *told, cx=float(x), cy=float(y), r=radius, **style)


def _svg(width, height, title, parts, kind):
    width, height = f"{width:.0f}", f"{height:.0f}"
    return element(
        "svg",
        element("title", title),
        parts,
        class_=kind,
        role="img",
        aria_label=title,
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        fill="currentColor",
        xmlns="http://www.w3.org/2000/svg",
    )


# ------------------------------------------------------------------- tree


def color_of(leaf) -> str:
    """The colour of the class that a leaf answers; grey in regression."""
    return "#888888" if leaf.shares is None else COLORS[int(leaf.shares.argmax()) % len(COLORS)]


def tree_svg(root, title) -> tuple[Html, float]:
    """A tree from left to right, its leaves below each other, and the width of the drawing.

    Parameters
    ----------
    root : DrawnNode
    title : str
        What the drawing shows, for those who cannot see it.

    Returns
    -------
    svg : str
    width : float
        In pixels, at the natural size.
    """
    drawing = _TreeDrawing(root)
    drawing.place(root, 0, 8.0)
    height = 16 + _ROW * len(drawing.leaves)
    return _svg(drawing.width, height, title, drawing.parts, "tree"), drawing.width


class _TreeDrawing:
    """Where the columns of a tree are, and the parts that were drawn so far."""

    def __init__(self, root):
        self.parts, self.leaves = [], root.leaves()
        # a column for each depth, as wide as its widest condition, so that all leaves and their
        # figures stand below each other and can be compared
        columns = _columns(root)
        self.lefts, self.widths, x = [], [], 4.0
        for texts in columns:
            boxes = [_broken(text, _WIDEST, _MOST_LINES) for text in texts]
            width = 2 * _PAD + max(text_width(line) for box in boxes for line in box)
            self.lefts.append(x)
            self.widths.append(width)
            x += width + _LINK
        self.at_leaves = x
        self.answer = min(
            max(text_width(leaf.text, bold=True) for leaf in self.leaves), float(_WIDEST)
        )
        support = max(text_width(leaf.support, 12) for leaf in self.leaves)
        self.bar_at = x + 16 + self.answer + 2 * _PAD
        self.support_at = self.bar_at + _BAR + 10
        self.width = self.support_at + support + 12
        values = [leaf.value for leaf in self.leaves]
        self.low, self.high = min(values), max(values)

    def place(self, node, depth, top):
        """Draw a node whose leaves begin at `top`; the height of its middle is returned."""
        if not node.children:
            self._leaf(node, top + _ROW / 2)
            return top + _ROW / 2
        begin = len(self.parts)
        yes, no = node.children
        below = top + _ROW * yes.n_leaves
        ends = self.place(yes, depth + 1, top), self.place(no, depth + 1, below)
        middle, x, width = sum(ends) / 2, self.lefts[depth], self.widths[depth]
        lines = _broken(node.text, _WIDEST, _MOST_LINES)
        wide = 2 * _PAD + max(map(text_width, lines))
        links = []
        for word, child, end in zip(("yes", "no"), node.children, ends, strict=True):
            right = self.lefts[depth + 1] if child.children else self.at_leaves
            bend, turn = x + width, x + width + _CURVE
            between = bend + _CURVE / 2
            way = ["M", x + wide, middle, "H", bend]
            way += ["C", between, middle, between, end, turn, end, "H", right]
            links += [
                _line(*way, opacity=".32", width=1.2 + 5 * child.part),
                _text(turn + 4, end - 5 - 2.5 * child.part, word, size=11, faint=True),
            ]
        height = _LINE * len(lines) + 9
        style = {"fill": "#888888", "part": ".13", "border": ".45", "rx": 6}
        box = _box(x, middle - height / 2, wide, height, **style)
        first = middle - _LINE * (len(lines) - 1) / 2 + 4.5
        words = [_text(x + _PAD, first + _LINE * i, line) for i, line in enumerate(lines)]
        told = element("title", f"{node.text} ({node.support})")
        # links lie below all boxes
        self.parts[begin:begin] = links
        self.parts.append(element("g", told, box, words))
        return middle

    def _leaf(self, leaf, middle):
        x, color, is_shown = self.at_leaves, color_of(leaf), not leaf.n_hidden
        text = shortened(leaf.text, _WIDEST, bold=is_shown)
        style = {"fill": color, "part": ".17", "border": ".35", "rx": 6}
        parts = [
            element("title", f"{leaf.text} ({leaf.support})"),
            _box(x, middle - 13, 16 + self.answer + _PAD, 26, **style),
            _dot(x + 12, middle, 5, color),
            _text(x + 22, middle + 4.5, text, bold=is_shown),
            _text(self.support_at, middle + 4.5, leaf.support, size=12, faint=True),
        ]
        self.parts.append(element("g", parts, self._bar(leaf, middle - 5)))

    def _bar(self, leaf, y):
        """The shares of the classes, or where the value lies among those of all leaves."""
        x = self.bar_at
        if leaf.n_hidden:
            return
        if leaf.shares is None:
            spread = self.high - self.low
            at = 0.5 if not spread > 0 else (leaf.value - self.low) / spread
            yield _line("M", x, y + 5, "h", _BAR, opacity=".35", width=2)
            yield _dot(x + 4 + at * (_BAR - 8), y + 5, 4.5, COLORS[0])
            return
        for place, share in enumerate(leaf.shares):
            if share * _BAR >= 0.5:
                yield _box(x, y, share * _BAR, 10, fill=COLORS[place % len(COLORS)])
            x += share * _BAR
        yield _box(self.bar_at, y, _BAR, 10, border=".4")


def _columns(root):
    """The conditions of the splits of each depth."""
    columns, level = [], [root]
    while any(node.children for node in level):
        columns.append([node.text for node in level if node.children])
        level = [child for node in level for child in node.children]
    return columns


# ------------------------------------------------------------------- curves


def curve_svg(title, sizes, curves, level=None, chosen=None, written=str) -> Html:
    """Curves over numbers of leaves, each named at its right end.

    Parameters
    ----------
    title : str
        What is drawn upwards.
    sizes : list of int
        Numbers of leaves.
    curves : list of tuple
        Name, heights, color, whether it is dashed, and the ends of the intervals or None.
    level : tuple or None
        Name and height of a horizontal line.
    chosen : int or None
        Which of the sizes is recommended.
    written : callable
        How a height is written.
    """
    width, height, left, top, bottom = 430.0, 230.0, 54.0, 34.0, 190.0
    heights = [h for _, line, _, _, ends in curves for h in [*line, *np.ravel(ends or [])]]
    heights += [] if level is None else [level[1]]
    ticks = _ticks([h for h in heights if np.isfinite(h)])
    low, high = ticks[0], ticks[-1]
    names = [name for name, *_ in curves] + ([level[0]] if level else [])
    right = width - 12 - max(text_width(name, 12) for name in names) - 12

    def x_of(i):
        return left + 14 + (right - left - 28) * (i / max(len(sizes) - 1, 1))

    def y_of(h):
        return bottom - (bottom - top) * (h - low) / (high - low)

    parts = [_text(8, 16, title, size=12, bold=True)]
    for tick in ticks:
        parts.append(_line("M", left, y_of(tick), "H", right, opacity=".15"))
        parts.append(_text(left - 7, y_of(tick) + 4, written(tick), size=11, anchor="end"))
    for i, size in enumerate(sizes):
        mark = {"bold": True} if i == chosen else {}
        parts.append(_text(x_of(i), bottom + 17, f"{size:,}", size=11, anchor="middle", **mark))
    parts.append(
        _text((left + right) / 2, bottom + 33, "leaves", size=11, anchor="middle", faint=True)
    )
    if chosen is not None:
        parts.append(_line("M", x_of(chosen), top, "V", bottom, opacity=".55", dash="2 3"))
    labels = []
    for name, line, color, dashed, ends in curves:
        at = [(x_of(i), y_of(h), h) for i, h in enumerate(line) if np.isfinite(h)]
        if not at:
            continue
        if ends is not None:
            # along the lower ends and back along the upper ones
            edge = [(x_of(i), y_of(e[0])) for i, e in enumerate(ends)]
            edge += [(x_of(i), y_of(e[1])) for i, e in reversed(list(enumerate(ends)))]
            points = " ".join(f"{x:.1f},{y:.1f}" for x, y in edge)
            parts.append(element("polygon", points=points, fill=color, fill_opacity=".16"))
        way = [step for x, y, _ in at for step in ("L", x, y)]
        parts.append(_line("M", *way[1:], color=color, width=2, dash="5 4" if dashed else None))
        parts += [_dot(x, y, 4, color, element("title", f"{name}: {written(h)}")) for x, y, h in at]
        labels.append([at[-1][1], name])
    if level is not None:
        y = y_of(level[1])
        parts.append(_line("M", left, y, "H", right, opacity=".7", width=1.2, dash="1 3"))
        labels.append([y, level[0]])
    for y, name in apart(labels, 14.0, bottom):
        parts.append(_text(right + 8, y + 4, name, size=12))
    said = ", ".join(
        f"{size} leaves: {written(h)}" for size, h in zip(sizes, curves[0][1], strict=True)
    )
    return _svg(width, height, f"{title}, {curves[0][0]}. {said}", parts, "curve")


def apart(labels, least, bottom) -> list:
    """Labels, pairs of a height and a name, moved such that none covers another."""
    labels = sorted(labels)
    for before, label in pairwise(labels):
        label[0] = max(label[0], before[0] + least)
    # what was pushed below the end is pushed up again, with all that it then meets
    limit = bottom
    for label in reversed(labels):
        label[0] = min(label[0], limit)
        limit = label[0] - least
    return labels


def _ticks(heights):
    """Three to six round numbers that heights lie between."""
    low, high = (min(heights), max(heights)) if heights else (0.0, 1.0)
    # curves that hardly differ must not look as if they did
    spread = max(high - low, 0.02)
    step = next(
        s * 10.0**e for e in range(-3, 12) for s in (1, 2, 5) if spread / (s * 10.0**e) <= 4
    )
    first, last = np.floor(low / step + 1e-9), np.ceil(high / step - 1e-9)
    last = max(last, first + 1)
    return [float(k * step) for k in np.arange(first, last + 1)]
