"""Where figures come from, and how they get into ``benchmarks/results``."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import subprocess
import sys
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"


def cpu_name():
    """Model of the processor, as far as the system tells."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        found = re.search(r"^model name\s*:\s*(.+)$", info.read_text(), re.MULTILINE)
        if found:
            return found[1].strip()
    return platform.processor() or platform.machine()


def environment(*packages):
    """One line on where and when figures were measured, with the versions that matter.

    Parameters
    ----------
    *packages : str
        Names of further packages whose versions matter; those not installed are left out.
    """
    versions = [f"Python {platform.python_version()}"]
    for package in ("numpy", "scipy", "scikit-learn", *packages):
        with contextlib.suppress(PackageNotFoundError):
            versions.append(f"{package} {version(package)}")
    # Read, not imported: the peak memory of a parent counts in that of its children.
    source = (ROOT / "ensemble_simplify" / "__init__.py").read_text(encoding="utf-8")
    own = re.search(r'^__version__ = "(.+)"$', source, re.MULTILINE)[1]
    load = f", load {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    return (
        f"{date.today()}; {cpu_name()}, {os.cpu_count()} cores{load}; {', '.join(versions)}, "
        f"ensemble_simplify {own}"
    )


def run_program(program, arguments):
    """Run one of the programs of this directory, printing what it prints; return that.

    In a process of its own, so that one table's memory and imports do not count in another's.
    """
    command = [sys.executable, "-m", f"benchmarks.{program}", *arguments]
    lines = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed with exit code {process.returncode}")
    return "".join(lines)


def markers(name):
    """Lines between which the file of results holds the output of one table."""
    return f"<!-- begin {name} -->", f"<!-- end {name} -->"


def block(text, name):
    """What lies between the markers of a table; None if they are not there."""
    begin, end = markers(name)
    if begin not in text or end not in text:
        return None
    return text.split(begin, 1)[1].split(end, 1)[0]


def write_block(path, name, content):
    """Put the output of a table into a file of results, in place of what stood there."""
    begin, end = markers(name)
    text = path.read_text(encoding="utf-8") if path.exists() else f"# {path.stem}: measured\n"
    new = f"{begin}\n{content.strip()}\n{end}"
    old = block(text, name)
    if old is None:
        text = f"{text.rstrip()}\n\n## {name}\n\n{new}\n"
    else:
        text = text.replace(f"{begin}{old}{end}", new)
    path.write_text(text, encoding="utf-8")


def list_table(text):
    """The first table of a text in Markdown, and the paragraph above it, in reStructuredText.

    Parameters
    ----------
    text : str
        Cells hold plain words: no markup is translated.

    Returns
    -------
    str
    """
    above, bar, below = text.partition("\n\n|")
    rows = (bar + below).strip().split("\n\n")[0].splitlines()
    cells = [[cell.strip() for cell in row.strip().strip("|").split("|")] for row in rows]
    del cells[1]  # the line of dashes
    lines = [above.rsplit("\n\n", 1)[-1].strip(), "", ".. list-table::", "   :header-rows: 1", ""]
    for row in cells:
        # a figure and its error, and a bound, stay on one line
        row = [re.sub(r" (?=±)|(?<=±) |(?<=^<) ", "\N{NO-BREAK SPACE}", cell) for cell in row]
        lines += [f"   {'*' if i == 0 else ' '} - {cell}".rstrip() for i, cell in enumerate(row)]
    return "\n".join(lines) + "\n"


def write_page(path, text):
    """Write the first table of a text as a file that the documentation includes."""
    path.write_text(
        ".. Written by python -m benchmarks: do not edit.\n\n" + list_table(text), encoding="utf-8"
    )
