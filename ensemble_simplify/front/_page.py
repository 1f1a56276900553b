"""The report as a page and as a fragment for notebooks, and a tree alone as such a fragment."""

from __future__ import annotations

import numpy as np

from ensemble_simplify.base import Html, element, fragment, in_html, page, style_sheet
from ensemble_simplify.front._drawing import COLORS, color_of, curve_svg, tree_svg
from ensemble_simplify.front._report import (
    COLUMNS_OF_DIFFERENCES,
    WHAT_VOLUME_IS,
    best_is_card,
    best_row,
    columns_of_curve,
    columns_of_methods,
    differences_told,
    ends_of,
    heading_of_differences,
    heading_of_tree,
    how_judged,
    in_terms_of_simplify,
    next_steps,
    not_tried,
    noun_of,
    promises,
    remarks,
    size_of_row,
    stability_told,
    time_taken,
    title_of,
    what_columns_say,
)
from ensemble_simplify.front._rules import MOST_DRAWN, in_words, what_leaves_say
from ensemble_simplify.front._statement import figure
from ensemble_simplify.front._try_row import try_section
from ensemble_simplify.scorecards import CARD_STYLE, card_content

# The widths, in pixels, below which a drawing gives way to an outline; and how small it may become.
_RUNGS, _SMALLEST = range(300, 1101, 100), 0.85

_LEVELS = {"follows": "#009e73", "partly": "#e69f00", "none": "#d55e00"}

# Each drawing may need more room than another, and style sheets have no variables in conditions.
STYLE = style_sheet(__package__, "report.css") + "".join(
    f"@container (max-width:{rung}px){{.es .upto{rung} .picture{{display:none}}"
    f".es .upto{rung} .outline{{display:block}}}}\n"
    for rung in _RUNGS
)


# ------------------------------------------------------------------- pieces


def table_of(cells, heads, chosen, *, left=(), name="cards") -> Html:
    """A table whose first column names its rows, and which becomes a list where it is narrow."""

    def side(head):
        return "left" if head in left else None

    rows = [
        element(
            "tr",
            element("th", first, scope="row"),
            # where the table is a list, each entry stands beside its heading; empty ones go
            (
                element("td", text, class_=side(head), data_label=head if text else None)
                for text, head in zip(rest, heads[1:], strict=True)
            ),
            class_="chosen" if i == chosen else None,
        )
        for i, (first, *rest) in enumerate(cells)
    ]
    top = element("tr", (element("th", head, scope="col", class_=side(head)) for head in heads))
    return _box(element("table", element("thead", top), element("tbody", rows), class_=name))


def _box(content):
    """What may be wider than the page: it scrolls by itself, and is what widths are measured of."""
    return element("div", content, class_="box")


def _faint(*content, name="span"):
    return element(name, *content, class_="small faint")


def _outline(node) -> Html:
    """A node of a tree as nested lists, which suit any width."""
    if not node.children:
        return _leaf(node)
    parts = (
        element("li", element("span", word, class_="side"), " ", _outline(child))
        for word, child in zip(("yes", "no"), node.children, strict=True)
    )
    return in_html([element("span", node.text, class_="ask"), element("ul", parts)])


def _leaf(leaf):
    if leaf.n_hidden:
        return element("span", f"{leaf.text} ({leaf.support})", class_="leaf faint")
    bar = " "
    if leaf.shares is not None:
        parts = (
            element("span", style=f"width:{100 * part:.1f}%;background:{COLORS[i % len(COLORS)]}")
            for i, part in enumerate(leaf.shares)
            if part >= 0.005
        )
        bar = element("span", parts, class_="bar", aria_hidden="true")
    dot = element("span", class_="dot", aria_hidden="true", style=f"background:{color_of(leaf)}")
    return element("span", dot, element("b", leaf.text), bar, _faint(leaf.support), class_="leaf")


def drawn_tree(named_tree, title):
    """A tree drawn, where there is room, or else as an outline."""
    root = in_words(named_tree)
    is_whole = named_tree.nodes.n_leaves <= MOST_DRAWN
    drawing, width = tree_svg(root, title)
    rung = next((rung for rung in _RUNGS if is_whole and rung >= _SMALLEST * width), None)
    shown = [element("ul", element("li", _outline(root)), class_="outline")]
    if rung is not None:
        shown.insert(0, element("div", drawing, class_="picture"))
    kind = "no-picture" if rung is None else f"upto{rung}"
    return in_html(
        [_box(element("div", shown, class_=kind)), _faint(what_leaves_say(named_tree), name="p")]
    )


def tree_html(named_tree, title, about="") -> Html:
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
    shown = [element("p", about)] if about else []
    if named_tree is not None:
        shown.append(drawn_tree(named_tree, title))
    return fragment(title, in_html(shown), STYLE)


# ------------------------------------------------------------------- report


def _tiles(found):
    """The figures that matter most, each with what it is and what it is to be compared with."""
    verdict, row, model = found.verdict, best_row(found), found.table[0]
    by_class, noun = found.is_classifier, noun_of(found)
    agreement = figure(verdict.agreement, by_class)
    tiles = [("agreement with the model", agreement, f"interval {ends_of(verdict, by_class)}")]
    if np.isfinite(verdict.tree_accuracy):
        what = f"accuracy of the {noun}" if by_class else f"R² of the {noun}"
        of_model = f"the model has {figure(verdict.model_accuracy, by_class)}"
        tiles.append((what, figure(verdict.tree_accuracy, by_class), of_model))
    if verdict.majority > 0:
        told = figure(verdict.majority, True)
        tiles.append((f"agreement without a {noun}", told, "by the most frequent answer alone"))
    beside = f"in one {noun}"
    if model.leaves:
        trees = "1 tree" if model.trees == 1 else f"{model.trees:,} trees"
        unit = " leaves" if best_is_card(found) else ""
        beside = f"the model has {model.leaves:,}{unit} in {trees}"
    tiles.append(("size", size_of_row(row), beside))
    told = (
        element("div", element("dt", what), element("dd", element("b", value), _faint(more)))
        for what, value, more in tiles
    )
    return element("dl", told, class_="tiles")


def _curves(found):
    by_class, points = found.is_classifier, found.curve
    sizes = [point.leaves for point in points]
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
    return element("div", drawn, class_="curves")


def _content(found, level):
    """The report below its title, headings being of a level; in the order of the text."""
    row = best_row(found)
    shown = [_verdict(found, row)]
    shown += [element("p", in_terms_of_simplify(note)) for note in found.notes[:2]]

    def section(title, *content):
        shown.extend([element(f"h{level}", title), *content])

    if row is not None:
        shown.append(_tiles(found))
        title, best = heading_of_tree(found), found.best_model
        if best.named_card is not None:
            section(title, card_content(best.named_card))
        elif best.named_tree is not None:
            section(title, drawn_tree(best.named_tree, title))
        if found._stability is not None:
            shown.append(element("p", stability_told(found, found._stability)))
        if (told := differences_told(found)) is not None:
            section(heading_of_differences(found), element("p", told.summary("The two")))
            if told.rules:
                cells = [rule.cells() for rule in told]
                shown += [table_of(cells, (*COLUMNS_OF_DIFFERENCES, f"the {noun_of(found)}"), None)]
                shown += [_faint(WHAT_VOLUME_IS, name="p")]
    if len(found.curve) > 1:
        heads = columns_of_curve(found)
        cells = [[write(point) for _, write in heads] for point in found.curve]
        best = next((i for i, point in enumerate(found.curve) if point.is_best), None)
        table = table_of(cells, [head for head, _ in heads], best, name="sizes")
        section("Trees of several sizes", _curves(found), table)
    heads = columns_of_methods(found)
    rows = [row for row in found.table if row.is_measured]
    cells = [[row.name, *(write(row) for _, write, _ in heads)] for row in rows]
    best = next((i for i, row in enumerate(rows) if row.name == found.best), None)
    names = ["method", *(head for head, _, _ in heads)]
    section("All methods", table_of(cells, names, best, left=("agreement by class",)))
    told = f"{how_judged(found)} {time_taken(found)} {what_columns_say(found)}"
    shown.append(_faint(told, name="p"))
    for title, told in (("Promised", promises(found)), ("Remarks", remarks(found))):
        if told:
            section(title, list_of((element("b", name), ": ", text) for name, text in told))
    if told := not_tried(found):
        shown.append(element("p", told, class_="small"))
    if steps := next_steps(found):
        section("Next", list_of((element("code", code), " ", what) for code, what in steps))
    return in_html(shown)


def _verdict(found, row):
    """The first sentence of the verdict in bold, the others, and why this one is recommended."""
    first, end, more = found.verdict.text.partition(". ")
    told = [element("p", element("strong", first + end), more)]
    if row is not None:
        told.append(element("p", found.reason))
    color = _LEVELS.get(found.verdict.level, "#888888")
    return element("div", told, class_="verdict", style=f"border-left-color:{color}")


def list_of(lines):
    return element("ul", (element("li", line) for line in lines), class_="plain")


def as_fragment(found) -> Html:
    """The report for notebooks, with the recommended tree drawn."""
    return fragment(title_of(found), _content(found, 3), _style_of(found))


def as_page(found, rows=None) -> str:
    """The report as a page of its own; a tree comes with a form in which a row is tried."""
    content, style, best = _content(found, 2), _style_of(found), found.best_model
    if best is not None and best.named_tree is not None:
        content = in_html([content, try_section(best.named_tree, rows)])
        style += style_sheet(__package__, "try_row.css")
    return page(title_of(found), content, style)


def _style_of(found):
    return STYLE + (CARD_STYLE if best_is_card(found) else "")
