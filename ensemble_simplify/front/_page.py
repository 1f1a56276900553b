"""The report as a page and as a fragment for notebooks, and a tree alone as such a fragment."""

from __future__ import annotations

from html import escape

import numpy as np

from ensemble_simplify.base import fragment, in_html, page
from ensemble_simplify.front._drawing import COLORS, color_of, curve_svg, tree_svg
from ensemble_simplify.front._next import next_steps
from ensemble_simplify.front._report import (
    COLUMNS_OF_DIFFERENCES,
    WHAT_VOLUME_IS,
    best_is_card,
    best_row,
    columns_of_curve,
    columns_of_methods,
    differences_told,
    heading_of_differences,
    heading_of_tree,
    how_judged,
    in_terms_of_simplify,
    interval,
    not_tried,
    noun_of,
    promises,
    remarks,
    share,
    size_of_row,
    title_of,
    what_columns_say,
)
from ensemble_simplify.front._rules import MOST_DRAWN, in_words, what_leaves_say
from ensemble_simplify.scorecards import CARD_STYLE, card_content
from ensemble_simplify.writing import percent

# The widths, in pixels, below which a drawing gives way to an outline; and how small it may become.
_RUNGS, _SMALLEST = range(300, 1101, 100), 0.85

_LEVELS = {"follows": "#009e73", "partly": "#e69f00", "none": "#d55e00"}

_STYLE = """
.es .verdict{border-left:5px solid;padding:.55em 1em;margin:.8em 0;border-radius:4px;
background:rgba(128,128,128,.11)}
.es .verdict p{margin:.25em 0}.es .verdict strong{font-size:1.08em}
.es .tiles{display:flex;flex-wrap:wrap;gap:.7em;margin:1em 0}
.es .tiles>div{flex:1 1 10em;border:1px solid rgba(128,128,128,.4);border-radius:8px;
padding:.5em .8em}
.es .tiles dt{font-size:.85em;opacity:.74;font-weight:400}
.es .tiles dd{margin:0}.es .tiles b{font-size:1.45em;font-weight:650;display:block;line-height:1.3}
.es svg{max-width:100%;height:auto;display:block;font-family:inherit}
.es .curves{display:flex;flex-wrap:wrap;gap:1em 2em}
.es .curves svg{flex:1 1 430px;min-width:min(290px,100%);max-width:540px}
.es .outline{display:none}.es .no-picture .outline{display:block}
.es .outline,.es .outline ul{list-style:none;margin:0;padding:0}
.es .outline li{position:relative;margin:0;padding:.16em 0 .16em 1.5em}
.es .outline>li{padding-left:0}
.es .outline ul{padding-left:.55em}
.es .outline li li::before{content:"";position:absolute;left:0;top:0;width:1.15em;height:1em;
border-left:1.5px solid rgba(128,128,128,.6);border-bottom:1.5px solid rgba(128,128,128,.6);
border-bottom-left-radius:6px}
.es .outline li li:not(:last-child)::after{content:"";position:absolute;left:0;top:0;bottom:0;
border-left:1.5px solid rgba(128,128,128,.6)}
.es .outline .side{opacity:.74;font-size:.85em;display:inline-block;min-width:1.9em}
.es .outline .ask{border:1px solid rgba(128,128,128,.5);border-radius:5px;padding:.02em .45em;
background:rgba(128,128,128,.12);overflow-wrap:anywhere}
.es .outline .leaf{overflow-wrap:anywhere}.es .outline .small{display:inline-block}
.es .outline .dot{display:inline-block;width:.75em;height:.75em;border-radius:50%;
border:1px solid rgba(128,128,128,.9);margin-right:.4em}
.es .bar{display:inline-flex;width:3.6em;height:.7em;margin:0 .5em;vertical-align:-.03em;
border:1px solid rgba(128,128,128,.7);overflow:hidden}
@container (max-width:620px){
.es.es .cards thead{position:absolute;left:-9999px}
.es.es .cards,.es.es .cards tbody,.es.es .cards tr,.es.es .cards th,.es.es .cards td{
display:block;width:auto;text-align:left}
.es.es .cards tr{padding:.45em .5em;border-bottom:1px solid rgba(128,128,128,.45)}
.es.es .cards th,.es.es .cards td{border:0;padding:.04em 0}
.es.es .cards td{display:inline-block;margin-right:1.1em}
.es.es .cards td.left{display:block;margin:0}
.es.es .cards tbody th{font-weight:650}
.es.es .cards td:empty{display:none}
.es.es .cards td::before{content:attr(data-label) ": ";opacity:.74}
.es.es .sizes{font-size:.82em}.es.es .sizes th,.es.es .sizes td{padding:.3em .25em}
.es .outline .bar{display:none}.es .outline .leaf b{margin-right:.4em}
.es .outline li li{padding-left:.8em}.es .outline li li::before{width:.6em}
.es .outline ul{padding-left:.15em}.es .outline .side{min-width:1.6em}}
"""
_STYLE += "".join(
    f"@container (max-width:{rung}px){{.es .upto{rung} .picture{{display:none}}"
    f".es .upto{rung} .outline{{display:block}}}}\n"
    for rung in _RUNGS
)


# ------------------------------------------------------------------- pieces


def _table(cells, heads, chosen, *, left=(), name="cards"):
    """A table whose first column names its rows, and which becomes a list where it is narrow."""
    head = "".join(
        f'<th scope="col"{" class=left" if text in left else ""}>{in_html(text)}</th>'
        for text in heads
    )
    body = []
    for i, (first, *rest) in enumerate(cells):
        parts = [f'<th scope="row">{in_html(first)}</th>']
        for text, label in zip(rest, heads[1:], strict=True):
            side = ' class="left"' if label in left else ""
            data = f' data-label="{escape(label)}"' if text else ""
            parts.append(f"<td{side}{data}>{in_html(text)}</td>")
        mark = ' class="chosen"' if i == chosen else ""
        body.append(f"<tr{mark}>{''.join(parts)}</tr>")
    return (
        f'<div class="box"><table class="{name}"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def _outline(root):
    """A tree as nested lists, which suit any width."""
    if not root.children:
        return f'<ul class="outline"><li>{_leaf(root)}</li></ul>'
    return f'<ul class="outline"><li>{_split(root)}</li></ul>'


def _split(node):
    parts = []
    for word, child in zip(("yes", "no"), node.children, strict=True):
        below = _split(child) if child.children else _leaf(child)
        parts.append(f'<li><span class="side">{word}</span> {below}</li>')
    return f'<span class="ask">{in_html(node.text)}</span><ul>{"".join(parts)}</ul>'


def _leaf(leaf):
    if leaf.n_hidden:
        return f'<span class="leaf faint">{in_html(leaf.text)} ({in_html(leaf.support)})</span>'
    bar = ""
    if leaf.shares is not None:
        bar = "".join(
            f'<span style="width:{100 * part:.1f}%;background:{COLORS[i % len(COLORS)]}"></span>'
            for i, part in enumerate(leaf.shares)
            if part >= 0.005
        )
        bar = f'<span class="bar" aria-hidden="true">{bar}</span>'
    dot = f'<span class="dot" aria-hidden="true" style="background:{color_of(leaf)}"></span>'
    return (
        f'<span class="leaf">{dot}<b>{in_html(leaf.text)}</b>{bar or " "}'
        f'<span class="small faint">{in_html(leaf.support)}</span></span>'
    )


def _tree(named_tree, title):
    """A tree drawn, where there is room, or else as an outline."""
    root = in_words(named_tree)
    is_whole = named_tree.nodes.n_leaves <= MOST_DRAWN
    drawing, width = tree_svg(root, title)
    rung = next((rung for rung in _RUNGS if is_whole and rung >= _SMALLEST * width), None)
    picture, kind = f'<div class="picture">{drawing}</div>', f"upto{rung}"
    if rung is None:
        picture, kind = "", "no-picture"
    return (
        f'<div class="box"><div class="{kind}">{picture}{_outline(root)}</div></div>'
        f'<p class="small faint">{in_html(what_leaves_say(named_tree))}</p>'
    )


def tree_html(named_tree, title, about=""):
    """A tree as a fragment for notebooks, with the style that it needs.

    Parameters
    ----------
    named_tree : NamedTree or None
        None: there is only text.
    title : str
        Stands above it.
    about : str, default=""
        A sentence below the title.

    Returns
    -------
    html : str
    """
    drawn = "" if named_tree is None else _tree(named_tree, title)
    about = f"<p>{escape(about)}</p>" if about else ""
    return fragment(title, about + drawn, _STYLE)


# ------------------------------------------------------------------- report


def _tiles(found):
    """The figures that matter most."""
    verdict, row, model = found.verdict, best_row(found), found.table[0]
    by_class, noun = found.is_classifier, noun_of(found)
    tiles = [
        (
            "agreement with the model",
            share(verdict.agreement, by_class),
            f"interval {interval(verdict, by_class)}",
        )
    ]
    if np.isfinite(verdict.tree_accuracy):
        what = f"accuracy of the {noun}" if by_class else f"R² of the {noun}"
        own = share(verdict.model_accuracy, by_class)
        tiles.append((what, share(verdict.tree_accuracy, by_class), f"the model has {own}"))
    if verdict.majority > 0:
        told = percent(verdict.majority, brief=True)
        tiles.append((f"agreement without a {noun}", told, "by the most frequent answer alone"))
    if model.leaves:
        trees = "1 tree" if model.trees == 1 else f"{model.trees:,} trees"
        own = f"the model has {model.leaves:,}{' leaves' if best_is_card(found) else ''} in {trees}"
        tiles.append(("size", size_of_row(row), own))
    else:
        tiles.append(("size", size_of_row(row), f"in one {noun}"))
    told = "".join(
        f"<div><dt>{escape(what)}</dt><dd><b>{in_html(value)}</b>"
        f'<span class="small faint">{in_html(more)}</span></dd></div>'
        for what, value, more in tiles
    )
    return f'<dl class="tiles">{told}</dl>'


def _curves(found):
    by_class, points = found.is_classifier, found.curve
    sizes = [point.n_leaves for point in points]
    chosen = next((i for i, point in enumerate(points) if point.is_best), None)

    def written(height):
        return f"{100 * height:.4g} %" if by_class else f"{height:.3g}"

    ends = [(point.agreement_low, point.agreement_high) for point in points]
    options = {"chosen": chosen, "written": written}
    own = ("representer", [point.agreement for point in points], COLORS[0], False, ends)
    plain = ("plain_tree", [point.plain_agreement for point in points], COLORS[5], True, None)
    what = "agreement with the model" if by_class else "agreement with the model (R²)"
    drawn = [curve_svg(what, sizes, [own, plain], **options)]
    accuracy = [point.accuracy for point in points]
    if np.isfinite(accuracy).any():
        level = found.verdict.model_accuracy
        level = ("the model", level) if np.isfinite(level) else None
        what = "accuracy" if by_class else "R² of y"
        tree = ("representer", accuracy, COLORS[2], False, None)
        drawn.append(curve_svg(what, sizes, [tree], level=level, **options))
    return f'<div class="curves">{"".join(drawn)}</div>'


def _content(found, level):
    def heading(text):
        return f"<h{level}>{in_html(text)}</h{level}>"

    verdict, row = found.verdict, best_row(found)
    color = _LEVELS.get(verdict.level, "#888888")
    reason = f"<p>{in_html(found.reason)}</p>" if row is not None else ""
    first, end, more = verdict.text.partition(". ")
    parts = [
        f'<div class="verdict" style="border-left-color:{color}">'
        f"<p><strong>{in_html(first + end)}</strong>{in_html(more)}</p>{reason}</div>"
    ]
    parts += [f"<p>{in_html(in_terms_of_simplify(note))}</p>" for note in found.notes[:2]]
    if row is not None:
        parts.append(_tiles(found))
        tree, card = found.best_model.named_tree, found.best_model.named_card
        if card is not None:
            parts += [heading(heading_of_tree(found)), card_content(card)]
        elif tree is not None:
            title = heading_of_tree(found)
            parts += [heading(title), _tree(tree, title)]
        if (told := differences_told(found)) is not None:
            parts.append(heading(heading_of_differences(found)))
            parts.append(f"<p>{in_html(told.summary('The two'))}</p>")
            if told.rules:
                cells = [rule.cells() for rule in told]
                parts.append(_table(cells, COLUMNS_OF_DIFFERENCES, None))
                parts.append(f'<p class="small faint">{WHAT_VOLUME_IS}</p>')
    if len(found.curve) > 1:
        heads = columns_of_curve(found)
        cells = [[write(point) for _, write in heads] for point in found.curve]
        best = next((i for i, point in enumerate(found.curve) if point.is_best), None)
        parts += [heading("Trees of several sizes"), _curves(found)]
        parts.append(_table(cells, [head for head, _ in heads], best, name="sizes"))
    heads = columns_of_methods(found)
    rows = [row for row in found.table if row.is_measured]
    cells = [[row.name, *(write(row) for _, write, _ in heads)] for row in rows]
    best = next((i for i, row in enumerate(rows) if row.name == found.best), None)
    names = ["method", *(head for head, _, _ in heads)]
    parts += [heading("All methods"), _table(cells, names, best, left=("agreement by class",))]
    told = f"{how_judged(found)} {what_columns_say(found)}"
    parts.append(f'<p class="small faint">{in_html(told)}</p>')
    for title, told in (("Promised", promises(found)), ("Remarks", remarks(found))):
        if told:
            lines = "".join(
                f"<li><b>{in_html(name)}</b>: {in_html(text)}</li>" for name, text in told
            )
            parts.append(f'{heading(title)}<ul class="plain">{lines}</ul>')
    if told := not_tried(found):
        parts.append(f'<p class="small">{in_html(told)}</p>')
    if steps := next_steps(found):
        lines = "".join(
            f"<li><code>{escape(code)}</code> {in_html(what)}</li>" for code, what in steps
        )
        parts.append(f'{heading("Next")}<ul class="plain">{lines}</ul>')
    return "".join(parts)


def as_fragment(found):
    """The report for notebooks, with the recommended tree drawn."""
    return fragment(title_of(found), _content(found, 3), _style_of(found))


def as_page(found):
    """The report as a page of its own."""
    return page(title_of(found), _content(found, 2), _style_of(found))


def _style_of(found):
    return _STYLE + (CARD_STYLE if best_is_card(found) else "")
