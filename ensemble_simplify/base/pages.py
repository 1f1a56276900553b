"""What pages share: their style, text in HTML, fragments for notebooks and pages of their own.

Fragments take colours and type from what is around them, so that they suit light and dark themes;
only a page of its own says what is light and what is dark.
"""

from __future__ import annotations

from html import escape

_STYLE = """
.es{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;
font-size:15px;line-height:1.5;color:inherit;max-width:1120px;text-align:left}
.es *{box-sizing:border-box}
.es h1,.es h2,.es h3{color:inherit;font-weight:650;line-height:1.25;margin:1.7em 0 .5em}
.es h1{font-size:1.7em;margin-top:.3em}.es h2,.es h3{font-size:1.15em}
.es p{margin:.5em 0}.es .faint{opacity:.74}.es .small{font-size:.88em}
.es .box{container-type:inline-size;overflow-x:auto}
.es.es table{border-collapse:collapse;width:100%;margin:.6em 0;font-size:.92em;color:inherit;
border:0;table-layout:auto}
.es.es th,.es.es td{padding:.35em .7em;border:0;border-bottom:1px solid rgba(128,128,128,.35);
vertical-align:top;background:none;color:inherit;max-width:none;white-space:normal;
text-align:right;font-variant-numeric:tabular-nums;font-weight:400}
.es.es thead th{font-weight:650;vertical-align:bottom}
.es.es th:first-child,.es.es .left{text-align:left}
.es.es tbody tr,.es.es tbody tr:nth-child(odd),.es.es tbody tr:hover{background:none}
.es.es tbody tr.chosen{background:rgba(0,114,178,.17)}.es.es tr.chosen th{font-weight:650}
.es code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;
font-size:.9em;background:rgba(128,128,128,.15);color:inherit;padding:.12em .35em;
border-radius:4px;white-space:pre-wrap;overflow-wrap:anywhere}
.es ul.plain{list-style:none;margin:.4em 0;padding:0}.es ul.plain li{margin:.3em 0}
"""
_PAGE = """
:root{color-scheme:light dark}
body{margin:0;padding:1.2rem;background:#fff;color:#1f2328}
.es{margin:0 auto}
@media (prefers-color-scheme:dark){body{background:#14181d;color:#e4e8ec}}
"""


def in_html(text):
    """Text for a page; numbers stay with their per cent."""
    return escape(text).replace(" %", "&nbsp;%")


def fragment(title, content, style=""):
    """Content below a title for notebooks, with the style that it needs beside the common one."""
    return f'<style>{_STYLE}{style}</style><div class="es"><h3>{in_html(title)}</h3>{content}</div>'


def page(title, content, style=""):
    """Content below a title as a page of its own."""
    title = in_html(title)
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{_PAGE}{_STYLE}{style}</style></head>"
        f'<body><main class="es"><h1>{title}</h1>{content}</main></body></html>\n'
    )
