"""The report of a simplification: as text, as a fragment for notebooks, and as a page."""

from __future__ import annotations

from dataclasses import dataclass, replace
from html import escape

import numpy as np
from sklearn.pipeline import Pipeline

from ensemble_simplify.front._rules import tree_of
from ensemble_simplify.front._scores import is_uneven
from ensemble_simplify.reading import Model
from ensemble_simplify.writing import NamedTree, one_line, percent

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


def next_steps(found):
    """Lines of code that work with what was recommended, in pairs with what each does."""
    if found.best is None:
        return []
    steps = [("outcome.refit(X)", "the same method, learned from all rows")]
    fitted = found.best_model
    codes = fitted[0] if isinstance(fitted, Pipeline) else None
    if codes is None or not codes.fill:
        steps.append(('outcome.export("sql")', "the tree in SQL; also in C, Python, JSON or rules"))
    feature = _asked(found) if found.is_classifier and codes is None else None
    if feature is not None:
        steps.append(
            ("nearest_flip(outcome.best_model, row)", "the smallest change that flips an answer")
        )
        order = ""
        if len(fitted.classes_) > 2:
            order = f", positive={fitted.classes_.tolist()[-1]!r}"
        steps.append(
            (
                f"is_monotone(outcome.best_model, {feature!r}{order})",
                "does a higher value never lower the class?",
            )
        )
    return steps


def _asked(found):
    """A feature of numbers that the tree splits on first, by name or index; None if it has none."""
    fitted = found.best_model
    try:
        Model.of(fitted, classifier=True, check=False)
    except (TypeError, ValueError):
        return None
    nodes = tree_of(fitted).tree_
    table = getattr(fitted, "_table", None)
    for j in nodes.feature[nodes.children_left >= 0].tolist():
        if table is None or table.levels[j] is None:
            return found.feature_names[j] if hasattr(fitted, "feature_names_in_") else j
    return None


# Classes up to which the agreement is shown for each.
_MOST_CLASSES = 4

_STYLE = """
.es{font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;color:#22272e;
max-width:70rem;margin:0 auto}
.es h1{font-size:1.5rem;margin:.2em 0 .4em}.es h2{font-size:1.1rem;margin:1.6em 0 .4em}
.es .best{border-left:4px solid #0072b2;background:#eef5fb;padding:.6em .9em;margin:.8em 0}
.es table{border-collapse:collapse;width:100%;font-size:.9em}
.es th,.es td{text-align:left;vertical-align:top;padding:.35em .6em;border-bottom:1px solid #dde2e7}
.es td.n,.es th.n{text-align:right;white-space:nowrap}
.es tr.chosen{background:#eef5fb}.es .faint{color:#5c6773}
.es .wide{overflow-x:auto}.es svg.tree{max-width:none}
.es pre{display:none;overflow-x:auto;background:#f4f6f8;padding:.7em;font-size:.85em;
white-space:pre-wrap}
@media (max-width:640px){
.es thead{position:absolute;left:-9999px}
.es table,.es tbody,.es tr,.es td{display:block;width:auto}
.es tr{padding:.5em 0;border-bottom:1px solid #c5ccd3}
.es td,.es td.n{border:0;padding:.05em .6em;text-align:left;white-space:normal}
.es td[data-label]::before{content:attr(data-label) ": ";color:#5c6773}
.es td.name{font-weight:600}
.es .wide{display:none}.es pre{display:block}}
"""


# ------------------------------------------------------------------- cells


def _number(share, by_class):
    if by_class:
        return percent(share, brief=True)
    return f"{share:.3f}" if np.isfinite(share) else ""


def _size(row):
    if row.leaves is None:
        return ""
    leaves = f"{row.leaves:,} leaf" if row.leaves == 1 else f"{row.leaves:,} leaves"
    return leaves if row.trees == 1 else f"{row.trees} trees, {leaves}"


def _interval(row, by_class):
    if row.name == "model":
        return ""
    ends = (_number(end, by_class) for end in (row.agreement_low, row.agreement_high))
    low, high = (end.removesuffix(" %") for end in ends)
    return f"{low} to {high}"


def _classes(row):
    if row.name == "model" or not 1 < len(row.class_agreement) <= _MOST_CLASSES:
        return ""
    return ", ".join(
        f"{one_line(label)}: {percent(share, brief=True)}"
        for label, share in row.class_agreement.items()
    )


def _columns(found):
    """Headings of the columns, and how each cell of them is written."""
    by_class, rows = found.is_classifier, found.table
    columns = [("size", True, _size)]
    if any(np.isfinite(row.accuracy) for row in rows):
        head = "accuracy" if by_class else "R² of y"
        columns.append((head, True, lambda row: _number(row.accuracy, by_class)))
        if is_uneven(rows):
            columns.append(
                ("balanced accuracy", True, lambda row: _number(row.balanced_accuracy, True))
            )
    head = "agreement" if by_class else "agreement (R²)"
    columns += [
        (head, True, lambda row: "" if row.name == "model" else _number(row.agreement, by_class)),
        ("interval", True, lambda row: _interval(row, by_class)),
    ]
    if by_class and any(_classes(row) for row in rows):
        columns.append(("agreement by class", False, _classes))
    columns += [
        ("seconds", True, lambda row: "" if row.name == "model" else f"{row.seconds:.1f}"),
        ("promise", False, lambda row: row.promise),
    ]
    return columns


def _model_name(found):
    model = found.fitted["model"]
    return type(model[-1] if isinstance(model, Pipeline) else model).__name__


def _about(found):
    return (
        f"{found.n_rows:,} rows to learn from, {found.n_rows_aside:,} held out to measure; "
        f"{found.seconds:.0f} s in all."
    )


def _root(found):
    """The recommended tree in words, or None if it cannot be shown."""
    if found.best is None:
        return None
    fitted = found.best_model
    tree = tree_of(fitted)
    if tree is None or tree.get_n_leaves() > MOST_DRAWN:
        return None
    table = found.table_of_rows
    own = getattr(fitted, "_table", None)
    if own is not None and not own.is_plain:
        table = replace(own, gaps=table.gaps)
    filled = isinstance(fitted, Pipeline) and getattr(fitted[0], "fill", False)
    return in_words(NamedTree.of(tree).of_table(found.feature_names, table, filled))


# ------------------------------------------------------------------- text


def as_text(found, *, with_tree=False):
    """The report as lines of at most some hundred letters, `with_tree` the recommended one, too."""
    columns = [column for column in _columns(found) if column[0] != "promise"]
    measured = [row for row in found.table if row.is_measured]
    cells = [["", *(head for head, _, _ in columns)]]
    for row in measured:
        mark = "* " if row.name == found.best else "  "
        cells.append([mark + row.title, *(write(row) for _, _, write in columns)])
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    right = [False, *(number for _, number, _ in columns)]
    out = [f"What {_model_name(found)} can become", "", _about(found), ""]
    for line in cells:
        parts = [
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(line, widths, right, strict=True)
        ]
        out.append("  ".join(parts).rstrip())
    out += ["", f"Recommended: {found.best}. {found.reason}" if found.best else found.reason]
    out += found.notes
    promises = [row for row in measured if row.promise and not row.promise.startswith("none")]
    if promises:
        out += ["", "Promises (the others have none: they are measured on held-out rows):"]
        out += [f"  {row.name}: {row.promise}." for row in promises]
    noted = [row for row in found.table if row.note]
    if noted:
        out += ["", "Notes:"]
        out += [f"  {row.name}: {row.note}" for row in noted]
    if with_tree:
        root = _root(found)
        if root is not None:
            out += ["", f"The recommended tree ({found.best}):", "", *lines(root)]
        if steps := next_steps(found):
            width = max(len(code) for code, _ in steps)
            out += ["", "Next:", *(f"  {code.ljust(width)}  # {what}" for code, what in steps)]
    return "\n".join(out)


# ------------------------------------------------------------------- HTML


def _html(text):
    """Text for a page; numbers stay with their per cent."""
    return escape(text).replace(" %", "&nbsp;%")


def _html_table(found):
    columns = _columns(found)
    heads = "".join(
        f'<th scope="col"{" class=n" if number else ""}>{escape(head)}</th>'
        for head, number, _ in columns
    )
    body = []
    for row in found.table:
        name = f'<td class="name">{escape(row.title)}</td>'
        if not row.is_measured:
            body.append(
                f'<tr>{name}<td class="faint" colspan="{len(columns)}">{escape(row.note)}</td></tr>'
            )
            continue
        parts = []
        for head, number, write in columns:
            text = write(row)
            kind = ' class="n"' if number else ""
            label = f' data-label="{escape(head)}"' if text else ""
            if head == "promise" and row.note:
                text = f"{text}; {row.note}" if text else row.note
            parts.append(f"<td{kind}{label}>{_html(text)}</td>")
        chosen = ' class="chosen"' if row.name == found.best else ""
        body.append(f"<tr{chosen}>{name}{''.join(parts)}</tr>")
    return (
        f'<table><thead><tr><th scope="col">method</th>{heads}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table>"
    )


def _content(found, with_tree):
    notes = "".join(f"<p>{_html(note)}</p>" for note in found.notes)
    parts = [
        f'<p class="best"><strong>Recommended: {escape(str(found.best))}.</strong> '
        f"{_html(found.reason)}</p>",
        notes,
    ]
    root = _root(found) if with_tree else None
    if root is not None:
        best = next(row for row in found.table if row.name == found.best)
        drawing = svg(root, f"{best.title} with {best.leaves} leaves")
        parts += [
            "<h2>The recommended tree</h2>",
            f'<div class="wide">{drawing}<p class="faint">In brackets: part of the rows that the '
            "tree was grown on.</p></div>",
            f"<pre>{escape(chr(10).join(lines(root)))}</pre>",
        ]
    parts += ["<h2>All methods</h2>", _html_table(found)]
    parts.append(f'<p class="faint">{escape(_about(found))}</p>')
    if with_tree:
        steps = "".join(
            f"<li><code>{escape(code)}</code>: {escape(what)}</li>"
            for code, what in next_steps(found)
        )
        parts.append(f"<h2>Next</h2><ul>{steps}</ul>" if steps else "")
    return "".join(parts)


def as_fragment(found):
    """The table and the recommendation, for notebooks."""
    return f'<style>{_STYLE}</style><div class="es">{_content(found, with_tree=False)}</div>'


def as_page(found):
    """The report as a page of its own, with the recommended tree drawn."""
    title = escape(f"What {_model_name(found)} can become")
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>body{{margin:1rem}}{_STYLE}</style></head>"
        f'<body><main class="es"><h1>{title}</h1>{_content(found, with_tree=True)}</main></body>'
        "</html>\n"
    )
