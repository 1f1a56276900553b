"""The blocks that a document is made of, and how each format writes them.

A section is a list of blocks: paragraphs, lists of sentences, tables, verbatim text and HTML, and
points that lead to other sections.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ensemble_simplify.base import Html, element, in_html, page
from ensemble_simplify.front._page import STYLE, list_of, table_of
from ensemble_simplify.scorecards import CARD_STYLE
from ensemble_simplify.writing import one_line, replacing, write_text

FORMATS = {".md": "Markdown", ".html": "HTML", ".docx": "Word"}


class Open(str):
    """A sentence on what is not decided, measured or proven; a document tells it at its head, too.

    It stands where other sentences do: as a paragraph or in a list.
    """

    __slots__ = ()


@dataclass(frozen=True)
class Cells:
    """A table; the first column names its rows."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Verbatim:
    """Text whose lines stay as they are, and what pages in HTML show in its place."""

    text: str
    html: Html | None = None


@dataclass(frozen=True)
class Section:
    """A part of the document: its key, its title, and its blocks."""

    key: str
    title: str
    blocks: Sequence

    @property
    def open_points(self) -> list[Open]:
        """What is open in it, in its order."""
        lines = (block if isinstance(block, list) else [block] for block in self.blocks)
        return [line for block in lines for line in block if isinstance(line, Open)]


@dataclass(frozen=True)
class Points:
    """Sentences, each with the section that it comes from; None where there is none."""

    lines: Sequence[tuple[Section | None, str]]


def open_points(sections) -> Points:
    """Everything that is open in some sections, each point told once."""
    found = {}
    for own in sections:
        for point in own.open_points:
            found.setdefault(str(point), own)
    return Points([(own, point) for point, own in found.items()])


def write_sections(path, title, sections, template=None) -> None:
    """Write sections to a file, in the format that its ending names."""
    ending = path.suffix.lower()
    if ending == ".docx":
        with replacing(path) as new:
            _in_word(title, sections, new)
        return
    write = _in_markdown if ending == ".md" else _in_html
    parts = [{"key": own.key, "title": own.title, "body": write(own.blocks)} for own in sections]
    if template is not None:
        write_text(path, _of_template(template, title, parts))
    elif ending == ".md":
        text = "".join(f"\n# {part['title']}\n\n{part['body']}" for part in parts)
        write_text(path, f"{title}\n{'=' * len(title)}\n{text}")
    else:
        body = ([element("h2", part["title"], id=part["key"]), part["body"]] for part in parts)
        write_text(path, page(title, in_html(in_html(own) for own in body), STYLE + CARD_STYLE))


def _of_template(template, title, parts):
    jinja2 = _needed("jinja2", "A template", "pip install jinja2.")
    text = Path(template).read_text(encoding="utf-8")
    # bodies are written, and escaped, here
    return (
        jinja2.Environment(undefined=jinja2.StrictUndefined)
        .from_string(text)
        .render(title=title, sections=parts, by_key={part["key"]: part for part in parts})
    )


def _in_markdown(blocks):
    return "".join(f"{_markdown(block)}\n\n" for block in blocks)


def _markdown(block):
    if isinstance(block, list):
        return "\n".join(f"- {_plain(line)}" for line in block)
    if isinstance(block, Points):
        return "\n".join(f"- {_led(own)}{_plain(text)}" for own, text in block.lines)
    if isinstance(block, Verbatim):
        return f"```\n{block.text.rstrip()}\n```"
    if isinstance(block, Cells):
        rule = ["---"] * len(block.heads)
        lines = [block.heads, rule, *block.rows]
        return "\n".join(f"| {' | '.join(_cell(own) for own in line)} |" for line in lines)
    return _plain(block)


def _led(section):
    """A link to a section, by the name that readers of Markdown make of its title."""
    if section is None:
        return ""
    name = re.sub(r"[^\w -]", "", section.title.lower()).replace(" ", "-")
    return f"[{_plain(section.title)}](#{name}): "


def _plain(text):
    """Text that Markdown shows as it is."""
    text = one_line(text)
    for letter in "\\`*_<>":
        text = text.replace(letter, f"\\{letter}")
    return text


def _cell(text):
    return text if text == "---" else _plain(text).replace("|", "\\|")


def _in_html(blocks):
    return in_html(_html(block) for block in blocks)


def _html(block):
    if isinstance(block, list):
        return list_of(block)
    if isinstance(block, Points):
        return list_of(
            text if own is None else [element("a", own.title, href=f"#{own.key}"), ": ", text]
            for own, text in block.lines
        )
    if isinstance(block, Verbatim):
        return block.html or element("pre", block.text)
    if isinstance(block, Cells):
        return table_of(block.rows, block.heads, None, left=block.heads)
    return element("p", block)


def needs_docx() -> Any:
    remedy = 'pip install "ensemble-simplify[document]", or write .html or .md.'
    return _needed("docx", "A document in Word", remedy)


def _needed(module, what, remedy) -> Any:
    """A package that is not needed but for this."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = {"docx": "python-docx"}.get(module, module)
        raise ImportError(f"{what} needs the package {package}. Install it: {remedy}") from error


def _in_word(title, sections, path):
    docx = needs_docx()
    document = docx.Document()
    document.add_heading(title, 0)
    for own in sections:
        _bookmarked(document.add_heading(own.title, 1), own.key)
        for block in own.blocks:
            if isinstance(block, list):
                for line in block:
                    document.add_paragraph(one_line(line), style="List Bullet")
            elif isinstance(block, Points):
                for target, text in block.lines:
                    paragraph = document.add_paragraph(style="List Bullet")
                    if target is not None:
                        _linked(paragraph, target)
                    paragraph.add_run(one_line(text))
            elif isinstance(block, Verbatim):
                run = document.add_paragraph().add_run(block.text.rstrip())
                run.font.name, run.font.size = "Courier New", docx.shared.Pt(8)
            elif isinstance(block, Cells):
                table = document.add_table(0, len(block.heads), style="Table Grid")
                for line in (block.heads, *block.rows):
                    for cell, text in zip(table.add_row().cells, line, strict=True):
                        cell.text = one_line(text)
            else:
                document.add_paragraph(one_line(block))
    with path.open("wb") as file:
        document.save(file)


def _bookmarked(heading, key):
    """Give a heading the name that links lead to."""
    at = str(len(heading._p.getparent()))  # a number of its own
    start = _mark("w:bookmarkStart", **{"w:id": at, "w:name": key})
    heading._p.insert(0, start)
    heading._p.append(_mark("w:bookmarkEnd", **{"w:id": at}))


def _linked(paragraph, section):
    """Begin a paragraph with a link to a section, for which python-docx has no function."""
    link = _mark("w:hyperlink", **{"w:anchor": section.key})
    run = paragraph.add_run(f"{section.title}: ")
    run.font.underline = True
    link.append(run._r)
    paragraph._p.append(link)


def _mark(name, **attributes):
    """An element of Word's own XML."""
    xml = importlib.import_module("docx.oxml")
    own = xml.OxmlElement(name)
    for key, value in attributes.items():
        own.set(importlib.import_module("docx.oxml.ns").qn(key), value)
    return own
