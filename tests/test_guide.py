"""Pages of the user guide: their examples run, and print what the page says."""

import contextlib
import doctest
import io
import re
import textwrap
from pathlib import Path

import pytest
import sklearn

DOC = Path(__file__).resolve().parent.parent / "doc"
# Not run here. These call tools of others, or clusters, which have tests of their own, ...
NOT_RUN = {"how_to/distributed", "how_to/ecosystem"}
# ... and these show fragments.
NOT_RUN |= {"contributing", "install", "index"}


def pages_with(text):
    """Names of the pages that hold a text: those of the tutorial and of all parts."""
    parts = ("", "how_to/", "concepts/", "reference/")
    files = [file for part in parts for file in DOC.glob(f"{part}*.rst")]
    names = sorted(file.relative_to(DOC).with_suffix("").as_posix() for file in files)
    held = [name for name in names if text in (DOC / f"{name}.rst").read_text(encoding="utf-8")]
    return [name for name in held if name not in NOT_RUN]


# On these, examples are dialogues.
DIALOGUES = pages_with(">>> ")
# Every block of Python on these runs in the order of the page; what it prints is the next block.
PAGES = [page for page in pages_with(".. code-block:: python") if page not in DIALOGUES]
# The version with which the pages were written: others can fit other forests, or lack something.
WRITTEN_WITH = (1, 9)
pytestmark = pytest.mark.skipif(
    tuple(map(int, sklearn.__version__.split(".")[:2])) != WRITTEN_WITH,
    reason="The pages were written with another version of scikit-learn.",
)

# What some pages need and the package does not.
OTHERS = ("treelite",)

BLOCK = re.compile(
    r"^( *)\.\. code-block:: (python|text|none)\n(?: +:\w+:.*\n)*\n((?:\1 +.*\n|\n)+)", re.MULTILINE
)
SECONDS = re.compile(r"\b\d[\d.e-]* s\b")


def blocks(page):
    """The blocks of a page: whether each is code, and its text."""
    text = (DOC / f"{page}.rst").read_text(encoding="utf-8") + "\n"
    return [
        (kind == "python", textwrap.dedent(body).strip("\n"))
        for _, kind, body in BLOCK.findall(text)
    ]


def plain(text):
    """Without seconds, and without the ends of lines, where long ones are wrapped."""
    return " ".join(SECONDS.sub("... s", text).split())


@pytest.mark.parametrize("page", PAGES)
def test_examples_print_what_the_page_says(page, tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    for name in OTHERS:
        if any(is_code and f"import {name}\n" in body for is_code, body in blocks(page)):
            pytest.importorskip(name)
    monkeypatch.chdir(tmp_path)  # pages may write files
    names, found = {}, blocks(page)
    assert any(is_code for is_code, _ in found)
    for (is_code, body), (after, output) in zip(found, [*found[1:], (True, "")], strict=True):
        if not is_code:
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(body, names)
        told = plain(printed.getvalue())
        assert not told or not after, body
        assert not told or told == plain(output)


def test_start_page_prints_what_the_tutorial_does():
    code, output = (
        textwrap.dedent(body).strip("\n")
        for _, kind, body in BLOCK.findall((DOC / "index.rst").read_text(encoding="utf-8"))
        if kind in ("python", "none")
    )
    pages = [body for is_code, body in blocks("tutorial") if is_code]
    call = next(line for line in code.splitlines() if line.startswith("outcome = "))
    assert any(call in body for body in pages)
    assert plain(output) in plain((DOC / "tutorial.rst").read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", DIALOGUES)
def test_dialogues_answer_what_the_page_says(page):
    pytest.importorskip("pandas")
    text = (DOC / f"{page}.rst").read_text(encoding="utf-8")
    test = doctest.DocTestParser().get_doctest(text, {}, page, f"{page}.rst", 0)
    assert test.examples
    said = []
    doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=said.append)
    assert not said, "".join(said)
