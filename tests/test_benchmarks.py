"""The tables of ``python -m benchmarks``: all programs start, and recorded output is replaced."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
# At the end: where the package is installed, its sources here must not stand in for it.
sys.path.append(str(ROOT))

from benchmarks import __main__ as benchmarks  # noqa: E402
from benchmarks._record import block, list_table, markers, write_block  # noqa: E402

PROGRAMS = sorted({table.program for table in benchmarks.TABLES.values()})


# One process for all: most of the time goes into importing what they share.
HELP = """
import contextlib, io, json, runpy, sys, traceback
sys.path.append(sys.argv[1])
shown = {}
for program in sys.argv[2:]:
    sys.argv[:] = [program, "--help"]
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        try:
            runpy.run_module(f"benchmarks.{program}", run_name="__main__", alter_sys=True)
            status = 0
        except SystemExit as end:
            status = end.code
        except BaseException:
            status = traceback.format_exc()
    shown[program] = status, text.getvalue()
json.dump(shown, sys.stdout)
"""


@pytest.fixture(scope="module")
def shown():
    run = subprocess.run(
        [sys.executable, "-P", "-c", HELP, str(ROOT), *PROGRAMS],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(run.stdout)


@pytest.mark.parametrize("program", PROGRAMS)
def test_program_starts(program, shown):
    status, text = shown[program]
    assert status == 0
    assert "usage" in text


def test_list_names_every_table():
    listed = benchmarks.listing()
    assert all(name in listed for name in benchmarks.TABLES)


@pytest.mark.parametrize("path", sorted(benchmarks.RESULTS.glob("*.md")), ids=lambda p: p.stem)
def test_recorded_tables_are_known(path):
    text = path.read_text(encoding="utf-8")
    recorded = [line.split()[2] for line in text.splitlines() if line.startswith("<!-- begin ")]
    for name in recorded:
        assert benchmarks.result_file(benchmarks.TABLES[name]) == path
        assert block(text, name).strip()
        assert text.count(markers(name)[0]) == text.count(markers(name)[1]) == 1


PAGES = {name: table for name, table in benchmarks.TABLES.items() if table.page}


@pytest.mark.parametrize("name", PAGES)
def test_page_of_the_documentation_holds_the_recorded_table(name):
    table = PAGES[name]
    recorded = block(benchmarks.result_file(table).read_text(encoding="utf-8"), name)
    page = benchmarks.page_of(table).read_text(encoding="utf-8")
    assert page.endswith(list_table(recorded))
    # read independently: the cells of both, in order
    lines = recorded.partition("\n\n|")[2].partition("\n\n")[0].splitlines()
    rows = [line.strip().strip("|").split("|") for i, line in enumerate(lines) if i != 1]
    assert len({len(row) for row in rows}) == 1
    written = re.findall(r"^   [* ] -(.*)$", page, re.MULTILINE)
    assert [cell.strip() for cell in written] == [cell.strip() for row in rows for cell in row]


def test_output_replaces_what_stood_there(tmp_path):
    path = tmp_path / "results.md"
    write_block(path, "one", "first\n")
    write_block(path, "two", "second")
    path.write_text(path.read_text().replace("## two", "## Two, by hand"))
    write_block(path, "one", "third")
    text = path.read_text()
    assert block(text, "one").strip() == "third"
    assert block(text, "two").strip() == "second"
    assert "Two, by hand" in text
    assert "first" not in text
