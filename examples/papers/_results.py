"""Tables of benchmarks/results, for pages that would take too long to compute them."""

from pathlib import Path

import pandas as pd

ROOT = Path(globals().get("__file__", "papers/_results.py")).resolve().parents[2]


def read_table(file, title):
    """The first table after a heading or paragraph that begins with a title, as strings.

    A star after the name of a column (there is a note on it) is left out.
    """
    path = ROOT / "benchmarks" / "results" / file
    if not path.exists():
        raise FileNotFoundError(
            f"{path} does not exist. This page reads it: run the page in a clone of the repository."
        )
    lines = path.read_text(encoding="utf-8").splitlines()
    starts = [i for i, line in enumerate(lines) if line.lstrip("# ").startswith(title)]
    if not starts:
        raise ValueError(f"benchmarks/results/{file} has no part {title!r}.")
    begin = next(i for i in range(starts[0], len(lines)) if lines[i].startswith("|"))
    end = next((i for i in range(begin, len(lines)) if not lines[i].startswith("|")), len(lines))
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[begin:end]]
    cells[0] = [name.removesuffix(" *") for name in cells[0]]
    names = [f"{name}, again" if name in cells[0][:i] else name for i, name in enumerate(cells[0])]
    return pd.DataFrame(cells[2:], columns=names)


def with_paper(column, pattern):
    """Two columns of numbers, ours and the paper's, from cells like "0.798 / 0.793"."""
    return column.str.extract(pattern).astype(float)


class shown:
    """A table as a page shows it: HTML without row numbers, in a box of its own that scrolls.

    It must be the last expression of a block.
    """

    def __init__(self, table, decimals=None):
        self.table = table if decimals is None else table.round(decimals)

    def __repr__(self):
        return self.table.to_string(index=False)

    def _repr_html_(self):
        # numbers and their brackets stay on one line
        cells = self.table.map(
            lambda cell: cell.replace(" ", "\u00a0") if isinstance(cell, str) else cell
        )
        html = cells.to_html(index=False, border=0)
        return f'<div class="pst-scrollable-table-container" style="overflow-x: auto">{html}</div>'
