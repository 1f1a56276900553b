"""Pages of the user guide: their examples run, and print what the page says."""

import contextlib
import io
import re
import textwrap
from pathlib import Path

import pytest
import sklearn

GUIDE = Path(__file__).resolve().parent.parent / "doc" / "user_guide"
# Every block of Python on these runs in the order of the page; a block of text after it is what it
# prints. On others, blocks are parts of longer programs.
PAGES = ["audit", "composing", "tables", "verify"]
# The version with which the pages were written: others can fit other forests.
WRITTEN_WITH = (1, 9)

BLOCK = re.compile(r"^( *)\.\. code-block:: (python|text)\n\n((?:\1 +.*\n|\n)+)", re.MULTILINE)
SECONDS = re.compile(r"\b\d[\d.e-]* s\b")


def blocks(page):
    """The blocks of code of a page: their language and their text."""
    text = (GUIDE / f"{page}.rst").read_text(encoding="utf-8") + "\n"
    return [(kind, textwrap.dedent(body).strip("\n")) for _, kind, body in BLOCK.findall(text)]


@pytest.mark.parametrize("page", PAGES)
def test_examples_print_what_the_page_says(page):
    pytest.importorskip("pandas")
    names, found = {}, blocks(page)
    assert len(found) >= 4
    for (kind, body), (after, output) in zip(found, [*found[1:], (None, "")], strict=True):
        if kind == "text":
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(body, names)
        told = SECONDS.sub("... s", printed.getvalue().strip("\n"))
        assert bool(told) == (after == "text"), body
        if tuple(map(int, sklearn.__version__.split(".")[:2])) == WRITTEN_WITH:
            assert told == (SECONDS.sub("... s", output) if told else "")
