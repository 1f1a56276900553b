"""What pages share: elements of HTML, their style, fragments for notebooks and pages of their own.

Fragments take colours and type from what is around them, so that they suit light and dark themes;
only a page of its own says what is light and what is dark.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from html import escape
from importlib.resources import files


class Html(str):
    """Text that is HTML. All other text, such as a user's names, is escaped before it is shown."""

    __slots__ = ()


def in_html(content: str | Iterable) -> Html:
    """Text, or texts one after the other, for a page; numbers stay with their per cent."""
    if isinstance(content, Html):
        return content
    if isinstance(content, str):
        # the letter, not the entity: pictures are XML, which knows none by this name
        return Html(escape(content).replace(" %", "\N{NO-BREAK SPACE}%"))
    return Html("".join(map(in_html, content)))


def element(name: str, *content: str | Iterable, **attributes: object) -> Html:
    """An element of HTML or SVG.

    An underscore at the end of an attribute's name is left out, others are hyphens. Those that are
    None are left out. Floats get one digit, as pixels and per cents need no more.
    """
    told = "".join(
        f' {key.removesuffix("_").replace("_", "-")}="{_attribute(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Html(f"<{name}{told}>{in_html(content)}</{name}>")


def _attribute(value):
    return f"{value:.1f}" if isinstance(value, float) else escape(str(value))


@cache
def style_sheet(package: str, file: str) -> str:
    """The text of a style sheet that stands beside the modules of a package."""
    return files(package).joinpath(file).read_text(encoding="utf-8")


def _style(*sheets):
    # it holds no text of users, and quotes in it must stay
    return element("style", Html("".join(sheets)))


def fragment(title: str, content: Html, style: str = "") -> Html:
    """Content below a title for notebooks, with the style that it needs beside the common one."""
    below = element("div", element("h3", title), content, class_="es")
    return in_html([_style(style_sheet(__package__, "fragment.css"), style), below])


def page(title: str, content: Html, style: str = "") -> str:
    """Content below a title as a page of its own."""
    sheets = (style_sheet(__package__, name) for name in ("page.css", "fragment.css"))
    head = element("head", _META, element("title", title), _style(*sheets, style))
    body = element("body", element("main", element("h1", title), content, class_="es"))
    return f"<!DOCTYPE html>{element('html', head, body, lang='en')}\n"


_META = Html(
    '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
)
