"""Draw and list the modules of ensemble_simplify, from their source."""

import re
import sys
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import module_map  # noqa: E402

KINDS = {
    # kind: face, edge, label of the legend
    "front": ("#dbe9f6", "#2b6cb0", "estimators and functions that users call"),
    "part": ("#e6f2e6", "#2f855a", "Python halves of a method"),
    "room": ("#f5f0dc", "#b7791f", "reading, writing, linear programs"),
    "kernel": ("#f6e0e0", "#c53030", "compiled kernels"),
}
# Used from everywhere; their edges would hide the others.
SHARED = ["_base", "_forest", "_thresholds", "_sklearn_tree"]
ASIDE = {"__init__", "_display", "_typedefs", *SHARED}
WIDTH, HEIGHT, GAP, BETWEEN, RISE = 1.62, 0.44, 0.18, 0.5, 0.95


def kind(module):
    if module in module_map.FRONT or module in {"_verify", "_domain"}:
        return "front"
    if module in module_map.KERNELS:
        return "kernel"
    return "room" if module in module_map.ROOMS else "part"


def read_edges():
    """Imports between the modules that are drawn as boxes of their own."""
    edges = {}
    for path in sorted(module_map.ROOT.iterdir()):
        if path.suffix in {".py", ".pyx", ".pxd"} and path.stem not in ASIDE:
            edges.setdefault(path.stem, set()).update(module_map.module_imports(path) - ASIDE)
    return edges


def direct(edges):
    """Only the edges that no longer way implies."""

    def reach(module):
        return set().union(edges[module], *(reach(m) for m in edges[module]))

    return {
        module: {m for m in used if not any(m in reach(other) for other in used)}
        for module, used in edges.items()
    }


def families(edges):
    """Modules that hang together, the largest family first."""
    left, found = set(edges), []
    while left:
        family, border = set(), {min(left)}
        while border:
            family |= border
            near = set().union(*(edges[m] for m in border))
            near |= {m for m in edges if edges[m] & border}
            border = near - family
        found.append(family)
        left -= family
    return sorted(found, key=lambda family: (-len(family), min(family)))


def rows_of(family, edges):
    """Rows from the top: users above what they use, kernels in one row at the bottom."""
    depth = {}

    def place(module):
        if module not in depth:
            users = [m for m in family if module in edges[m]]
            depth[module] = 1 + max(map(place, users), default=-1)
        return depth[module]

    rows = {}
    for module in sorted(family, key=lambda m: (place(m), m)):
        rows.setdefault(None if kind(module) == "kernel" else place(module), []).append(module)
    return rows


def settle(rows, edges, width):
    """Horizontal places: each row is centred and sorted by the mean place of its neighbours."""
    x = {}
    for _ in range(8):
        for members in rows.values():

            def pull(module):
                near = [x[m] for m in x if m in edges[module] or module in edges[m]]
                return sum(near) / len(near) if near else x.get(module, 0.0)

            members.sort(key=lambda m: (pull(m), m))
            start = (width - len(members) * WIDTH - (len(members) - 1) * GAP) / 2
            for i, module in enumerate(members):
                x[module] = start + i * (WIDTH + GAP)
    return x


def draw(target):
    """Write the drawing, as SVG, to a file."""
    edges = direct(read_edges())
    laid_out = [(family, rows_of(family, edges)) for family in families(edges)]
    n_rows = max(len(rows) for _, rows in laid_out)
    at, left = {}, 0.0
    for _, rows in laid_out:
        widest = max(len(members) for members in rows.values())
        width = widest * WIDTH + (widest - 1) * GAP
        for module, x in settle(rows, edges, width).items():
            row = next(r for r, members in rows.items() if module in members)
            at[module] = (left + x, (0 if row is None else n_rows - 1 - row) * RISE)
        left += width + BETWEEN
    right = left - BETWEEN
    top = (n_rows - 1) * RISE + HEIGHT

    figure = Figure(figsize=((right + 0.3) * 0.62, (top + 2.15) * 0.62))
    axes = figure.add_axes([0, 0, 1, 1])
    axes.set_xlim(-0.15, right + 0.15)
    axes.set_ylim(-2.0, top + 0.15)
    axes.set_axis_off()

    def box(x, y, width, text, of_kind, size=7.5):
        face, edge, _ = KINDS[of_kind]
        style = "round,pad=0,rounding_size=0.07"
        axes.add_patch(
            FancyBboxPatch(
                (x, y), width, HEIGHT, boxstyle=style, facecolor=face, edgecolor=edge, zorder=3
            )
        )
        middle = (x + width / 2, y + HEIGHT / 2)
        axes.text(*middle, text, ha="center", va="center", size=size, zorder=4)

    for module, used in edges.items():
        for other in used:
            (x0, y0), (x1, y1) = at[module], at[other]
            level = y0 == y1
            up = HEIGHT if level else 0.0
            start = (x0 + WIDTH / 2, y0 + up)
            end = (x1 + WIDTH / 2, y1 + HEIGHT)
            bend = f"arc3,rad={0.25 if x1 < x0 else -0.25}" if level else "arc3"
            arrow = {"arrowstyle": "-|>", "color": "#777777", "lw": 0.8, "connectionstyle": bend}
            axes.annotate("", end, start, arrowprops={**arrow, "shrinkA": 0, "shrinkB": 1})
    for module, (x, y) in at.items():
        box(x, y, WIDTH, module, kind(module))

    y = -1.0
    width = (right - GAP * (len(SHARED) - 1)) / len(SHARED)
    for i, module in enumerate(SHARED):
        box(i * (width + GAP), y, width, module, kind(module))
    axes.text(0, y + HEIGHT + 0.12, "used from all of the above", size=7.5, color="#555555")
    for i, (of_kind, (_, edge, label)) in enumerate(KINDS.items()):
        axes.text(i * right / 4, -1.75, f"\u25a0 {label}", size=7.5, color=edge, label=of_kind)
    figure.savefig(target, format="svg", metadata={"Date": None})


def list_modules(target):
    """Write a table of the modules, each with the first line of its docstring, to a file."""
    lines = [".. list-table::", "   :widths: 25 75", ""]
    sources = [p for p in module_map.ROOT.iterdir() if p.suffix in {".py", ".pyx", ".pxd"}]
    for path in sorted(sources):
        if path.suffix == ".pxd" and path.with_suffix(".pyx").exists():
            continue
        first = re.match(r'"""(.+?)("""|\n)', path.read_text(encoding="utf-8"))
        about = first[1].strip() if first else "The public names."
        lines += [f"   * - ``{path.name}``", f"     - {about}"]
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_all(directory):
    """Write the drawing and the table to a directory."""
    directory.mkdir(parents=True, exist_ok=True)
    draw(directory / "modules.svg")
    list_modules(directory / "modules.inc")


if __name__ == "__main__":
    write_all(Path(sys.argv[1]))
