"""A card as it would be printed: as a page of its own, and as a fragment for notebooks."""

from __future__ import annotations

import numpy as np

from ensemble_simplify.base import Html, element, fragment, in_html, page, style_sheet
from ensemble_simplify.scorecards._text import chance_in_words
from ensemble_simplify.writing import one_line, percent

CARD_STYLE = style_sheet(__package__, "card.css")
# Colours of points below zero and above, told apart with any kind of colour vision.
_LESS, _MORE = "213,94,0", "0,114,178"


def _signed(text):
    """Points with the sign that is printed."""
    return text.replace("-", "\N{MINUS SIGN}")


def _color(value):
    return _MORE if value >= 0 else _LESS


class _CardTable:
    """A card as a table: what is written in each cell, and which columns there are."""

    def __init__(self, named, with_room, decimals):
        self.named, self.decimals = named, decimals
        self.parts, self.single = named.parts(), len(named.heads) == 1
        self.with_rows, self.with_room = named.rows is not None, with_room and self.single
        # all bars and tints have one scale, of the points that are printed
        told = [line.points for part in self.parts for line in part.told]
        self.most = float(np.abs(told).max()) if told else 0.0

    def points(self, value):
        return _signed(self.named.in_points(value, self.decimals))

    def room(self, text="", rowspan=None):
        """The cell to write the points of a case in, if there is one."""
        return element("td", text, rowspan=rowspan, class_="own") if self.with_room else ""

    def tinted(self, value, class_=None):
        """Points before a background that says how many they are."""
        strength = 0.45 * abs(value) / self.most if self.most else 0.0
        style = f"background:rgba({_color(value)},{strength:.2f})"
        return element("td", self.points(value), class_=class_, style=style)

    def bar(self, value):
        """A bar from the middle of its cell, to the left for points below zero."""
        length = 50 * abs(value) / self.most if self.most else 0.0
        start = 50.0 if value >= 0 else 50.0 - length
        style = f"margin-left:{start:.1f}%;width:{length:.1f}%;background:rgb({_color(value)})"
        return element("td", element("i", style=style), class_="far", aria_hidden="true")

    def table(self) -> Html:
        named, heads = self.named, [("feature", None), ("answer", "left")]
        heads += [(head, None) for head in named.heads]
        tops = [element("th", text, scope="col", class_=side) for text, side in heads]
        # of several scores, a bar each would have no room: their cells are tinted
        tops += [element("th", class_="far")] * self.single
        tops += [element("th", named.counted, scope="col", class_="share")] * self.with_rows
        tops += [element("th", "this case", scope="col", class_="own")] * self.with_room
        start = [self.points(value) for value in named.start]
        first = element(
            "tr",
            element("th", "start", scope="row"),
            element("td"),
            (element("td", text, class_="points") for text in start),
            [element("td", class_="far")] * self.single,
            [element("td", class_="share")] * self.with_rows,
            self.room(start[0]),
        )
        bodies = [element("tbody", first), *map(self.block, self.parts)]
        if self.with_room:
            total = element(
                "td",
                "product" if self.named.card.link == "log" else "total",
                class_="left",
                colspan=len(tops) - 1,
            )
            bodies.append(element("tfoot", element("tr", total, self.room())))
        table = element("table", element("thead", element("tr", tops)), bodies, class_="scorecard")
        return element("div", table, class_="box")

    def block(self, part):
        """The block of a part: its name beside its bins."""
        lines = part.told
        if len(part.sides) == 2 and self.single:
            name = element("th", part.name, scope="rowgroup")
            columns = 3 + self.with_rows
            grid = element("td", self.grid(part), class_="left", colspan=columns)
            return element("tbody", element("tr", name, grid, self.room()))
        beside = element("th", part.name, scope="rowgroup", rowspan=len(lines))
        room, rows = self.room(rowspan=len(lines)), []
        for line in lines:
            cells = [element("td", line.brief, class_="left")]
            if self.single:
                value = line.points[0]
                cells += [element("td", self.points(value), class_="points"), self.bar(value)]
            else:
                cells += [self.tinted(value, "points") for value in line.points]
            if self.with_rows:
                share = percent(line.share, digits=0, brief=True)
                cells.append(element("td", share, class_="share"))
            rows.append(element("tr", beside, cells, room))
            # the name and the room for a case stand beside all lines, written with the first
            beside = room = ""
        return element("tbody", rows)

    def grid(self, part):
        """The points of a pair of columns as a table of its own."""
        first, second, lines = part.grid
        names = [self.named.shown(j) for j in part.term.columns]
        tops = [element("th", side.brief, scope="col") for side in second]
        rows = [element("tr", element("th", f"{names[0]}, by {names[1]}"), tops)]
        for side, own in zip(first, lines, strict=True):
            cells = [self.tinted(line.points[0]) for line in own]
            rows.append(element("tr", element("th", side.brief, scope="row"), cells))
        return element("table", element("tbody", rows), class_="grid")


def _chances(named, totals, texts):
    """What round totals mean, in two rows."""
    chances = map(chance_in_words, named.card.chances(totals))
    lines = [("total", map(_signed, texts)), (named.chance_head, chances)]
    rows = [
        element("tr", element("th", head, scope="row"), (element("td", text) for text in cells))
        for head, cells in lines
    ]
    return element("div", element("table", element("tbody", rows), class_="chances"), class_="box")


def card_content(named, *, with_room=False, decimals=None) -> Html:
    """The card as HTML; `with_room`: with a column to write the points of a case in."""
    shown = [_CardTable(named, with_room, decimals).table(), element("p", named.decision())]
    totals, texts = named.totals()
    if len(totals):
        shown.append(_chances(named, totals, texts))
    if scaling := named.scaling():
        shown.append(element("p", scaling))
    if unseen := named.unseen():
        shown.append(element("p", unseen, class_="small faint"))
    return in_html(shown)


def card_fragment(named, title="", about="") -> Html:
    """The card for notebooks and in other pages; `about` is a sentence below the title."""
    shown = [element("p", one_line(about))] if about else []
    return fragment(title or named.title, in_html([*shown, card_content(named)]), CARD_STYLE)


def card_page(named, title="", decimals=None) -> str:
    """The card as a page to print, with room for the points of a case."""
    told = card_content(named, with_room=True, decimals=decimals)
    return page(title or named.title, told, CARD_STYLE)
