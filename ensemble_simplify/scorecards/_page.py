"""A card as it would be printed: as a page of its own, and as a fragment for notebooks."""

from __future__ import annotations

from html import escape

import numpy as np

from ensemble_simplify.base import fragment, in_html, page
from ensemble_simplify.scorecards._text import chance_in_words, quoted
from ensemble_simplify.writing import one_line, percent

CARD_STYLE = """
.es.es .scorecard{width:auto;min-width:min(100%,34em)}
.es.es .scorecard td,.es.es .scorecard th{padding:.28em .8em}
.es.es .scorecard tbody{border-top:2px solid rgba(128,128,128,.6)}
.es.es .scorecard tbody th{font-weight:650;text-align:left;border-bottom:0;max-width:15em;
overflow-wrap:break-word}
.es.es .scorecard td.left{max-width:30em;overflow-wrap:break-word}
.es.es .scorecard .share{white-space:nowrap}
.es.es .scorecard tfoot{border-top:2px solid;border-bottom:2px solid}
.es.es .scorecard tfoot td{font-weight:650}
.es.es .scorecard .points{font-weight:650;white-space:nowrap}
.es.es .scorecard .far{width:7em;padding:0;vertical-align:middle}
.es .far i{display:block;height:.8em;border-radius:1px}
.es.es .scorecard .own{min-width:6em;border:1px solid rgba(128,128,128,.6);text-align:center}
.es.es .scorecard thead .own{border-top:0}
.es.es .grid{width:auto;margin:0;font-size:1em}
.es.es .scorecard .grid tbody{border:0}
.es.es .scorecard .grid th{font-weight:400;font-size:.93em}
.es.es .scorecard .grid td,.es.es .scorecard .grid th{padding:.2em .7em;border:0}
.es.es .scorecard .grid td{border:1px solid rgba(128,128,128,.35);text-align:center;font-weight:650}
.es.es .chances{width:auto}.es.es .chances td{text-align:center}
@container (max-width:560px){
.es.es .scorecard .far,.es.es .scorecard .share,.es.es .scorecard .own{display:none}
.es.es .scorecard td,.es.es .scorecard th{padding:.25em .4em}}
@media print{body{font-size:11pt}.es .box{overflow:visible}
.es.es .scorecard tbody{break-inside:avoid}}
"""
_LESS, _MORE = "213,94,0", "0,114,178"


def _signed(text):
    """Points with the sign that is printed."""
    return text.replace("-", "\N{MINUS SIGN}")


def _bar(value, most):
    """A bar from the middle of its cell, to the left for points below zero."""
    length = 50 * abs(value) / most if most else 0.0
    start = 50.0 if value >= 0 else 50.0 - length
    color = _MORE if value >= 0 else _LESS
    return (
        f'<td class="far" aria-hidden="true"><i style="margin-left:{start:.1f}%;'
        f'width:{length:.1f}%;background:rgb({color})"></i></td>'
    )


def _tint(value, most):
    """A background that says how many points they are."""
    strength = 0.45 * abs(value) / most if most else 0.0
    return f'style="background:rgba({_MORE if value >= 0 else _LESS},{strength:.2f})"'


def _body(named, part, own, most, decimals):
    """The block of a part: its name beside its bins."""
    lines, single = part.told, len(named.heads) == 1
    name = f'<th scope="rowgroup" rowspan="{len(lines)}">{in_html(part.name)}</th>'
    if len(part.sides) == 2 and single:
        columns = 2 + (named.rows is not None) + 1
        first = name.replace(f'rowspan="{len(lines)}"', "")
        grid = _grid(named, part, most, decimals)
        return (
            f'<tbody><tr>{first}<td class="left" colspan="{columns}">{grid}</td>{own}</tr></tbody>'
        )
    rows = []
    for i, line in enumerate(lines):
        points = [_signed(named.in_points(value, decimals)) for value in line.points]
        cells = [f'<td class="left">{in_html(line.brief)}</td>']
        if single:
            cells += [f'<td class="points">{points[0]}</td>', _bar(line.points[0], most)]
        else:
            cells += [
                f'<td class="points" {_tint(value, most)}>{text}</td>'
                for value, text in zip(line.points, points, strict=True)
            ]
        if named.rows is not None:
            share = percent(line.share, digits=0, brief=True)
            cells.append(f'<td class="share">{in_html(share)}</td>')
        if own and not i:
            cells.append(own.replace("<td", f'<td rowspan="{len(lines)}"'))
        rows.append(f"<tr>{name if not i else ''}{''.join(cells)}</tr>")
    return f"<tbody>{''.join(rows)}</tbody>"


def _grid(named, part, most, decimals):
    """The points of a pair of columns as a table of its own."""
    line_of = {line.sides: line for line in part.lines}
    first, second = ([k for k, s in enumerate(each) if s.is_told] for each in part.sides)
    names = [named.shown(j) for j in part.term.columns]
    top = "".join(f'<th scope="col">{in_html(part.sides[1][b].brief)}</th>' for b in second)
    rows = [f"<tr><th>{in_html(names[0])}, by {in_html(names[1])}</th>{top}</tr>"]
    for a in first:
        cells = []
        for b in second:
            value = line_of[a, b].points[0]
            text = _signed(named.in_points(value, decimals))
            cells.append(f"<td {_tint(value, most)}>{text}</td>")
        side = f'<th scope="row">{in_html(part.sides[0][a].brief)}</th>'
        rows.append(f"<tr>{side}{''.join(cells)}</tr>")
    return f'<table class="grid"><tbody>{"".join(rows)}</tbody></table>'


def card_content(named, *, with_room=False, decimals=None):
    """The card as HTML; `with_room`: with a column to write the points of a case in."""
    parts, single = named.parts(), len(named.heads) == 1
    with_room = with_room and single
    # in points, too, what is told of one card has one scale
    told = [line.points for part in parts for line in part.told]
    most = float(np.abs(told).max()) if told else 0.0
    own = '<td class="own"></td>' if with_room else ""
    heads = [f'<th scope="col">{in_html(head)}</th>' for head in named.heads]
    heads += ['<th class="far"></th>'] * single
    heads += ['<th scope="col" class="share">rows</th>'] * (named.rows is not None)
    heads += ['<th scope="col" class="own">this case</th>'] * with_room
    start = [_signed(named.in_points(value, decimals)) for value in named.start]
    begin = "".join(f'<td class="points">{value}</td>' for value in start)
    rest = 1 * single + (named.rows is not None)
    empty = '<td class="far"></td>' * single + '<td class="share"></td>' * (named.rows is not None)
    written = f'<td class="own">{start[0]}</td>'
    first = (
        f'<tbody><tr><th scope="row">start</th><td></td>{begin}{empty}'
        f"{written if with_room else ''}</tr></tbody>"
    )
    blocks = "".join(_body(named, part, own, most, decimals) for part in parts)
    total = ""
    if with_room:
        total = (
            f'<tfoot><tr><td class="left" colspan="{2 + len(named.heads) + rest}">total</td>{own}'
            "</tr></tfoot>"
        )
    table = (
        f'<div class="box"><table class="scorecard"><thead><tr><th scope="col">feature</th>'
        f'<th scope="col" class="left">answer</th>{"".join(heads)}</tr></thead>'
        f"{first}{blocks}{total}</table></div>"
    )
    said = f"<p>{in_html(named.decision())}</p>"
    totals, texts = named.totals()
    if len(totals):
        cells = "".join(f"<td>{_signed(text)}</td>" for text in texts)
        chances = "".join(f"<td>{in_html(chance_in_words(c))}</td>" for c in named.chance(totals))
        said += (
            '<div class="box"><table class="chances"><tbody>'
            f'<tr><th scope="row">total</th>{cells}</tr><tr><th scope="row">'
            f"chance of {in_html(quoted(named.scored[0]))}</th>{chances}</tr></tbody></table></div>"
        )
    if unseen := named.unseen():
        said += f'<p class="small faint">{in_html(unseen)}</p>'
    return table + said


def card_fragment(named, title="", about=""):
    """The card for notebooks and in other pages; `about` is a sentence below the title."""
    about = f"<p>{escape(one_line(about))}</p>" if about else ""
    return fragment(title or named.title, about + card_content(named), CARD_STYLE)


def card_page(named, title="", decimals=None):
    """The card as a page to print, with room for the points of a case."""
    told = card_content(named, with_room=True, decimals=decimals)
    return page(title or named.title, told, CARD_STYLE)
