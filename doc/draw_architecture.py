"""Draw and list the modules of ensemble_simplify, from their source."""

import re
import sys
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from matplotlib.textpath import TextToPath

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import module_map  # noqa: E402

WIDTH = 10.4  # of the drawing, in inches; all places and sizes are in inches
COLORS = ["#3b6fb6", "#8a5aa8", "#2e8b62", "#c27a12", "#b8475f", "#4f8a99", "#777777"]  # of wings
KERNEL, PYTHON = ("#fbe3d3", "#c4622d"), ("#ffffff", "#8d99a6")  # face, edge
INK, FAINT = "#22272e", "#5c6773"
BRICKS = 5  # of the ground in a row
BRICK_HEIGHT, BRICK_GAP = 0.92, 0.08
BOX_HEIGHT, BOX_GAP, COLUMN_GAP = 0.26, 0.06, 0.14
STEP = BOX_HEIGHT + BOX_GAP
HEADER, MARGIN, FLIGHT = 0.34, 0.1, 0.28  # FLIGHT: between roof, wings and ground
LEGEND = 0.42
STOREY = 0.72  # of the front


# -- what the source says ------------------------------------------------------------------------


def read_imports():
    """The modules that each module imports, those of its declarations among them."""
    found = {}
    for path in module_map.sources():
        used = found.setdefault(module_map.module_of(path), set())
        used |= module_map.module_imports(path)
    return found


def first_line(path):
    """The first line of a module's docstring."""
    match = re.match(r'"""(.+?)("""|\n)', path.read_text(encoding="utf-8"))
    return match[1].strip().replace("`", "") if match else "The public names."


def sources_by_module():
    """The file that explains each module: the .pyx before its .pxd."""
    return {
        module_map.module_of(path): path
        for path in sorted(module_map.sources(), key=lambda path: path.suffix == ".pyx")
    }


def is_compiled(path):
    """Whether a file is a kernel, or declarations for kernels."""
    return path.suffix in {".pyx", ".pxd"}


def in_wing(module, wing):
    """Whether a module stands in a wing; the wing's face does not count."""
    return module.startswith(f"{wing}.") and not module.endswith(".__init__")


def longest_ways(modules, following):
    """For each module, the number of steps on the longest way along `following`."""
    steps = {}

    def count(module):
        if module not in steps:
            steps[module] = max((1 + count(m) for m in following(module)), default=0)
        return steps[module]

    return {module: count(module) for module in modules}


def stacked(modules, imports, files):
    """Modules of a wing from the top, each above those it imports, Python above kernels."""
    above = longest_ways(modules, lambda m: {user for user in modules if m in imports[user]})
    below = longest_ways(modules, lambda m: imports[m] & modules)
    return sorted(modules, key=lambda m: (is_compiled(files[m]), above[m], -below[m], m))


def wrapped(words, size, width):
    """Lines of words that are at most `width` inches wide in letters of a size."""
    lines, font = [""], FontProperties(size=size)
    for word in words:
        longer = f"{lines[-1]} {word}".strip()
        points, _, _ = TextToPath().get_text_width_height_descent(longer, font, ismath=False)
        if lines[-1] and points > 0.95 * 72 * width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


# -- the drawing ---------------------------------------------------------------------------------


class Drawing:
    """A figure whose units are inches, with boxes and texts; the origin is at the bottom."""

    def __init__(self, height):
        self.figure = Figure(figsize=(WIDTH, height))
        self.axes = self.figure.add_axes([0, 0, 1, 1])
        self.axes.set(xlim=(0, WIDTH), ylim=(0, height))
        self.axes.set_axis_off()

    def box(self, x, y, width, height, face, edge, *, line=0.9, rounding=0.05, zorder=3):
        style = f"round,pad=0,rounding_size={rounding}"
        self.axes.add_patch(
            FancyBboxPatch(
                (x, y), width, height, boxstyle=style, fc=face, ec=edge, lw=line, zorder=zorder
            )
        )

    def text(self, x, y, text, size, *, color=INK, ha="left", va="center", **how):
        self.axes.text(x, y, text, size=size, color=color, ha=ha, va=va, zorder=5, **how)

    def arrow(self, start, end):
        self.axes.add_patch(
            FancyArrowPatch(
                start, end, arrowstyle="-|>", mutation_scale=8, color=INK, lw=1.4, shrinkA=0,
                shrinkB=0, zorder=2,
            )
        )  # fmt: skip

    def dot(self, x, y, color):
        self.axes.plot(x, y, "o", ms=5.5, color=color, mec="none", zorder=5)


def draw_roof(drawing, bottom):
    """What users import."""
    drawing.box(0.06, bottom, WIDTH - 0.12, HEADER, INK, INK, rounding=0.08)
    middle = bottom + HEADER / 2 - 0.005
    drawing.text(0.18, middle, module_map.NAME, 10, color="white", weight="bold")
    about = "the public names, from the front, the wings and the ground"
    drawing.text(1.74, middle, about, 8.5, color="white")


def draw_front(drawing, modules, bottom, files):
    """The storey above the wings: what it is for, and its modules."""
    height, front = STOREY, module_map.FRONT
    drawing.box(0.06, bottom, WIDTH - 0.12, height, "#eef1f4", INK, line=1.2, rounding=0.08)
    y = bottom + height - 0.17
    drawing.text(0.18, y, f"{front}/", 10, weight="bold")
    drawing.text(0.7, y, first_line(files[f"{front}.__init__"]).rstrip("."), 8.5)
    width = (WIDTH - 0.36 - (len(modules) - 1) * BRICK_GAP) / len(modules)
    for i, module in enumerate(modules):
        x = 0.18 + i * (width + BRICK_GAP)
        drawing.box(x, bottom + MARGIN, width, BOX_HEIGHT, *PYTHON, line=0.8)
        name = module.rpartition(".")[2]
        drawing.text(
            x + width / 2, bottom + MARGIN + BOX_HEIGHT / 2 - 0.005, name, 8.5, ha="center"
        )


def about_wing(wing, width, files):
    """What a wing is for, in lines that fit a column."""
    words = first_line(files[f"{wing}.__init__"]).rstrip(".").split()
    return wrapped(words, 7.6, width - 2 * MARGIN)


def draw_wing(drawing, wing, modules, x, width, bottom, top, color, files, about_height):
    """A column: the wing's name, what it is for, and its modules."""
    drawing.box(x, bottom, width, top - bottom, color + "14", color, line=1.2, rounding=0.08)
    drawing.box(x, top - HEADER, width, HEADER, color, color, rounding=0.08, zorder=4)
    middle = x + width / 2
    drawing.text(
        middle, top - HEADER / 2 - 0.005, f"{wing}/", 9, color="white", ha="center", weight="bold"
    )
    about = about_wing(wing, width, files)
    drawing.text(x + MARGIN, top - HEADER - 0.09, "\n".join(about), 7.6, color=FAINT, va="top")
    python = [m for m in modules if not is_compiled(files[m])]
    kernels = [m for m in modules if is_compiled(files[m])]
    for (face, edge), part, y in (
        (PYTHON, python, top - HEADER - about_height - BOX_HEIGHT),
        (KERNEL, kernels, bottom + MARGIN + (len(kernels) - 1) * STEP),
    ):
        for i, module in enumerate(part):
            drawing.box(
                x + MARGIN, y - i * STEP, width - 2 * MARGIN, BOX_HEIGHT, face, edge, line=0.8
            )
            name = module.rpartition(".")[2]
            drawing.text(middle, y - i * STEP + BOX_HEIGHT / 2 - 0.005, name, 8.5, ha="center")


def draw_ground(drawing, bottom, top, users, colors, imports, files):
    """The base: bricks in their order from the bottom left, marked by the wings that use them."""
    drawing.box(0.06, bottom, WIDTH - 0.12, top - bottom, "#eef1f4", INK, line=1.2, rounding=0.08)
    drawing.text(0.18, top - 0.17, "The ground", 10, weight="bold")
    drawing.text(1.16, top - 0.17, "a module imports only modules with smaller numbers", 8.5)
    ground = module_map.GROUND
    width = (WIDTH - 0.36 - (BRICKS - 1) * BRICK_GAP) / BRICKS
    for i, module in enumerate(ground):
        x = 0.18 + i % BRICKS * (width + BRICK_GAP)
        y = bottom + 0.12 + i // BRICKS * (BRICK_HEIGHT + BRICK_GAP)
        drawing.box(x, y, width, BRICK_HEIGHT, *(KERNEL if is_compiled(files[module]) else PYTHON))
        drawing.text(x + 0.08, y + BRICK_HEIGHT - 0.13, f"{i + 1}", 7.5, color=FAINT)
        drawing.text(x + 0.27, y + BRICK_HEIGHT - 0.13, module, 8.8, weight="bold")
        words = first_line(files[module]).rstrip(".").split()
        while len(lines := wrapped(words, 7, width - 0.16)) > 3:
            words = [*words[:-2], words[-2] + "\u2026"]
        about = "\n".join(lines)
        drawing.text(x + 0.08, y + BRICK_HEIGHT - 0.24, about, 7, va="top")
        for j, wing in enumerate(users[module]):
            drawing.dot(x + 0.12 + 0.12 * j, y + 0.1, colors[wing])
        below = sorted(ground.index(m) + 1 for m in imports[module] if m in ground)
        if below:
            uses = "uses " + ", ".join(map(str, below))
            drawing.text(x + 0.08, y + 0.25, uses, 6.8, color=FAINT)


def draw_legend(drawing, y):
    """What the colours and dots mean."""
    for x, (face, edge), label in (
        (0.08, PYTHON, "Python"),
        (0.93, KERNEL, "compiled kernel, or its declarations"),
    ):
        drawing.box(x, y - 0.07, 0.22, 0.14, face, edge, rounding=0.03)
        drawing.text(x + 0.29, y, label, 8)
    drawing.dot(3.52, y, FAINT)
    drawing.text(3.62, y, "a wing of this colour imports the module", 8)
    drawing.text(WIDTH - 0.1, y, "inside a wing, modules import those below them", 8, ha="right")


def draw(target, kind="svg"):
    """Write the drawing to a file."""
    imports, files = read_imports(), sources_by_module()
    wings = sorted(module_map.WINGS)
    colors = dict(zip(wings, COLORS, strict=False))
    modules = {
        wing: stacked({m for m in imports if in_wing(m, wing)}, imports, files) for wing in wings
    }
    users = {
        module: [w for w in wings if any(module in imports[m] for m in modules[w])]
        for module in module_map.GROUND
    }
    n_rows = -(-len(module_map.GROUND) // BRICKS)
    ground_top = LEGEND + 0.4 + n_rows * (BRICK_HEIGHT + BRICK_GAP)
    bottom = ground_top + FLIGHT
    tallest = max(map(len, modules.values()))
    width = (WIDTH - 0.12 - (len(wings) - 1) * COLUMN_GAP) / len(wings)
    about_height = 0.18 + 0.128 * max(len(about_wing(wing, width, files)) for wing in wings)
    top = bottom + HEADER + about_height + tallest * STEP + 2 * MARGIN
    roof = top + FLIGHT + STOREY + 0.1
    drawing = Drawing(roof + HEADER + 0.06)
    draw_roof(drawing, roof)
    front = {m for m in imports if in_wing(m, module_map.FRONT)}
    draw_front(drawing, stacked(front, imports, files), top + FLIGHT, files)
    for i, wing in enumerate(wings):
        x = 0.06 + i * (width + COLUMN_GAP)
        place = x, width, bottom, top
        draw_wing(drawing, wing, modules[wing], *place, colors[wing], files, about_height)
        drawing.arrow((x + width / 2, top + FLIGHT), (x + width / 2, top + 0.01))
        drawing.arrow((x + width / 2, bottom), (x + width / 2, ground_top + 0.01))
    draw_ground(drawing, LEGEND, ground_top, users, colors, imports, files)
    draw_legend(drawing, LEGEND / 2)
    metadata = {"Date": None} if kind == "svg" else {}
    drawing.figure.savefig(target, format=kind, metadata=metadata)


# -- the list ------------------------------------------------------------------------------------


def table(title, modules, files):
    """Rows of reStructuredText: modules with the first lines of their docstrings."""
    yield from ("", f".. rubric:: {title}", "", ".. list-table::", "   :widths: 25 75", "")
    for module in modules:
        yield f"   * - ``{files[module].name}``"
        yield f"     - {first_line(files[module])}"


def list_modules(target):
    """Write tables of the ground, from the top down, and of every wing, to a file."""
    files = sources_by_module()
    front = module_map.FRONT
    modules = [module_map.COMMAND, *sorted(m for m in files if in_wing(m, front))]
    lines = [*table(f"``{front}/``: {first_line(files[f'{front}.__init__'])}", modules, files)]
    lines += [*table("The ground, from the top down", reversed(module_map.GROUND), files)]
    for wing in sorted(module_map.WINGS):
        modules = sorted(m for m in files if in_wing(m, wing))
        title = f"``{wing}/``: {first_line(files[f'{wing}.__init__'])}"
        lines += table(title, modules, files)
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_all(directory):
    """Write the drawing and the list to a directory."""
    directory.mkdir(parents=True, exist_ok=True)
    draw(directory / "modules.svg")
    list_modules(directory / "modules.inc")


if __name__ == "__main__":
    write_all(Path(sys.argv[1]))
