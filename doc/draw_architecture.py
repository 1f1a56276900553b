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
# Of wings.
COLORS = "#3b6fb6 #8a5aa8 #2e8b62 #c27a12 #b8475f #4f8a99 #777777 #6b7d2a #a0522d #54606e".split()
KERNEL, PYTHON = ("#fbe3d3", "#c4622d"), ("#ffffff", "#8d99a6")  # face, edge
INK, FAINT, WALL = "#22272e", "#5c6773", "#eef1f4"
BOX_HEIGHT, GAP, COLUMN_GAP = 0.26, 0.06, 0.14
STEP = BOX_HEIGHT + GAP
HEADER, MARGIN, FLIGHT = 0.34, 0.1, 0.28  # FLIGHT: between roof, front, wings and ground
ROOM_HEADER = 0.24  # of a sub-room in a wing
BRICKS, LANES = 5, 3.1  # files in a row of a storey; width of the lanes of arrows at its right
NAMES = 1.12  # height of the names of the lanes
LEGEND = 0.36


# -- what the source says ------------------------------------------------------------------------


def files_by_module():
    """The files of each module, the one that explains it first: the .pyx before its .pxd."""
    files = {}
    for path in sorted(module_map.sources(), key=lambda path: path.suffix == ".pxd"):
        files.setdefault(module_map.module_of(path), []).append(path)
    return files


FILES = files_by_module()
IMPORTS = {
    module: {target for path in paths for target in module_map.module_imports(path)} - {module}
    for module, paths in FILES.items()
}


def first_line(module):
    """The first line of a module's docstring."""
    match = re.match(r'"""(.+?)("""|\n)', FILES[module][0].read_text(encoding="utf-8"))
    return match[1].strip().replace("`", "")


def face_of(room):
    """The module that speaks for a package, or for a sub-room of one."""
    return f"{room}.__init__"


def is_compiled(module):
    """Whether a module is a kernel, or declarations for kernels."""
    return FILES[module][0].suffix != ".py"


def modules_of(room):
    """Modules right in a package or sub-room, Python first, each before those it imports."""
    modules = {m for m in FILES if m.rpartition(".")[0] == room} - {face_of(room)}
    above = {m: {user for user in modules if m in IMPORTS[user]} for m in modules}
    steps = {}

    def count(module):
        if module not in steps:
            steps[module] = max((1 + count(user) for user in above[module]), default=0)
        return steps[module]

    return sorted(modules, key=lambda m: (is_compiled(m), count(m), m))


def rooms_of(package):
    """The sub-rooms of a package."""
    faces = [m for m in FILES if re.fullmatch(rf"{package}\.\w+\.__init__", m)]
    return sorted(m.removesuffix(".__init__") for m in faces)


def all_modules_of(package):
    """Modules of a package, and then of each sub-room, after its name with a slash."""
    found = modules_of(package)
    for room in rooms_of(package):
        found += [f"{room.rpartition('.')[2]}/", *modules_of(room)]
    return found


def packages_used(package):
    """The packages that the files of a package import."""
    found = {
        module_map.package_of(target)
        for module, targets in IMPORTS.items()
        if module_map.package_of(module) == package
        for target in targets
    }
    return found - {"", package}


def users_of(module):
    """The packages, and files beside them, that import a file beside the packages."""
    users = {module_map.package_of(m) or m for m, targets in IMPORTS.items() if module in targets}
    return sorted(users, key=lambda user: user.strip("_"))


def wrapped(text, size, width):
    """Lines of a text that are at most `width` inches wide in letters of a size."""
    lines, font = [""], FontProperties(size=size)
    for word in text.split():
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

    def module(self, x, y, width, module):
        """The box of a module."""
        face, edge = KERNEL if is_compiled(module) else PYTHON
        self.box(x, y, width, BOX_HEIGHT, face, edge, line=0.8)
        name = module.rpartition(".")[2]
        self.text(x + width / 2, y + BOX_HEIGHT / 2 - 0.005, name, 8, ha="center")

    def arrow(self, start, end):
        self.axes.add_patch(
            FancyArrowPatch(
                start, end, arrowstyle="-|>", mutation_scale=8, color=INK, lw=1.4, shrinkA=0,
                shrinkB=0, zorder=2,
            )
        )  # fmt: skip

    def lane(self, x, top, ends, color):
        """An arrow down, with a head at each place where it ends; none for who imports nothing."""
        if not ends:
            return
        self.axes.plot([x, x], [top, min(ends)], color=color, lw=1.3, zorder=4)
        self.axes.plot([x] * len(ends), ends, "v", ms=6.5, color=color, mec="none", zorder=5)


def draw_roof(drawing, bottom):
    """What users import."""
    drawing.box(0.06, bottom, WIDTH - 0.12, HEADER, INK, INK, rounding=0.08)
    middle = bottom + HEADER / 2 - 0.005
    drawing.text(0.18, middle, module_map.NAME, 10, color="white", weight="bold")
    about = "the public names, from the front, the wings and the ground"
    drawing.text(1.74, middle, about, 8.5, color="white")


def storey_height(modules, n_bricks=BRICKS):
    """Height of a storey with these modules."""
    return HEADER + -(-len(modules) // n_bricks) * STEP + GAP


def draw_storey(drawing, name, about, modules, bottom, width, n_bricks=BRICKS):
    """A package over the whole width: its name, what it is for, its modules in rows."""
    height = storey_height(modules, n_bricks)
    drawing.box(0.06, bottom, WIDTH - 0.12, height, WALL, INK, line=1.1, rounding=0.08)
    drawing.text(0.18, bottom + height - 0.18, name, 10, weight="bold")
    drawing.text(
        1.1, bottom + height - 0.18, wrapped(about.removesuffix("."), 8.2, width - 1.15)[0], 8.2
    )
    brick = (width - 0.24 + GAP) / n_bricks
    for i, module in enumerate(modules):
        y = bottom + height - HEADER - (i // n_bricks) * STEP - BOX_HEIGHT
        if module.endswith("/"):
            drawing.text(
                0.18 + i % n_bricks * brick, y + BOX_HEIGHT / 2, module, 8.2, weight="bold"
            )
        else:
            drawing.module(0.18 + i % n_bricks * brick, y, brick - GAP, module)


def wing_height(wing):
    """Height of the boxes of a wing's files and of its sub-rooms."""
    rooms = [ROOM_HEADER + GAP + len(modules_of(room)) * STEP + GAP for room in rooms_of(wing)]
    return len(modules_of(wing)) * STEP + sum(rooms)


def draw_wing(drawing, wing, x, width, bottom, top, color):
    """A column with the name of a wing."""
    drawing.box(x, bottom, width, top - bottom, color + "14", color, line=1.2, rounding=0.08)
    drawing.box(x, top - HEADER, width, HEADER, color, color, rounding=0.08, zorder=4)
    name = {"ha": "center", "weight": "bold"}
    middle = x + width / 2
    drawing.text(middle, top - HEADER / 2 - 0.005, f"{wing}/", 8.4, color="white", **name)


def draw_files(drawing, wing, x, width, top, color, about_height):
    """In the column of a wing: what it is for, its modules, and its sub-rooms."""
    name, middle = {"ha": "center", "weight": "bold"}, x + width / 2
    about = "\n".join(about_wing(wing, width))
    drawing.text(x + MARGIN, top - HEADER - 0.09, about, 7.6, color=FAINT, va="top")
    y = top - HEADER - about_height
    for module in modules_of(wing):
        drawing.module(x + MARGIN, y - BOX_HEIGHT, width - 2 * MARGIN, module)
        y -= STEP
    for room in rooms_of(wing):
        modules = modules_of(room)
        height = ROOM_HEADER + len(modules) * STEP + GAP
        drawing.box(x + 0.05, y - height, width - 0.1, height, color + "22", color, line=0.8)
        label = f"{room.rpartition('.')[2]}/"
        drawing.text(middle, y - ROOM_HEADER / 2, label, 8.3, color=color, **name)
        for i, module in enumerate(modules):
            below = y - ROOM_HEADER - i * STEP - BOX_HEIGHT
            drawing.module(x + MARGIN, below, width - 2 * MARGIN, module)
        y -= height + GAP


def about_wing(wing, width):
    """What a wing is for, in lines that fit a column."""
    return wrapped(first_line(face_of(wing)).removesuffix("."), 7.6, width - 2 * MARGIN)


def draw_ground(drawing, bottom, colors, *, files):
    """The storeys of the ground, each above those that it may import, and arrows down."""
    ground, y, middle = module_map.GROUND, bottom, {}
    for package in ground:
        modules = all_modules_of(package) if files else []
        about = first_line(face_of(package))
        draw_storey(drawing, f"{package}/", about, modules, y, WIDTH - 0.06 - LANES)
        middle[package] = y + storey_height(modules) / 2
        y += storey_height(modules) + GAP
    drawing.text(0.06, y + 0.17, "The ground", 10, weight="bold")
    told = "a package imports those below it; an arrow head stands in each that it does import"
    drawing.text(1.14, y + 0.17, told, 8.2)
    users = [*sorted(module_map.WINGS), module_map.FRONT, *reversed(ground[1:])]
    step = (LANES - 0.2) / len(users)
    for i, user in enumerate(users):
        x, color = WIDTH - LANES + (i + 0.5) * step, colors.get(user, INK)
        start = y + 0.03
        how = {"va": "bottom", "ha": "center", "rotation": 90, "weight": "bold"}
        if user in ground:
            start = middle[user]
            drawing.axes.plot(x, start, "s", ms=5.5, color=color, mec="none", zorder=5)
        if files or user not in ground:
            rise = 0.1 if user in ground else 0.03
            drawing.text(x, start + rise, user, 7.6, color=color, **how)
        drawing.lane(
            x,
            start,
            [middle[package] for package in ground if package in packages_used(user)],
            color,
        )


def ground_height(*, files):
    """Height of the storeys of the ground, with the names of the lanes above them."""
    heights = (storey_height(all_modules_of(p) if files else []) for p in module_map.GROUND)
    return sum(height + GAP for height in heights) + NAMES


def draw_beside(drawing, bottom):
    """The files beside the packages, what they are for and who imports them."""
    names = [m for m in FILES if "." not in m and m != "__init__"]
    height = HEADER + len(names) * STEP + GAP
    drawing.box(0.06, bottom, WIDTH - 0.12, height, WALL, INK, line=1.1, rounding=0.08)
    drawing.text(0.18, bottom + height - 0.18, "Files beside the packages", 10, weight="bold")
    for i, module in enumerate(sorted(names)):
        y = bottom + height - HEADER - i * STEP - BOX_HEIGHT
        drawing.module(0.18, y, 1.2, module)
        users = users_of(module)
        told = first_line(module).removesuffix(".") + (
            f"; for {', '.join(users)}" if 0 < len(users) < 5 else ""
        )
        drawing.text(1.5, y + BOX_HEIGHT / 2, wrapped(told, 7.6, WIDTH - 1.7)[0], 7.6)


def draw_legend(drawing, y):
    """What the colours mean."""
    for x, (face, edge), label in (
        (0.08, PYTHON, "Python"),
        (0.93, KERNEL, "compiled kernel, or its declarations"),
    ):
        drawing.box(x, y - 0.07, 0.22, 0.14, face, edge, rounding=0.03)
        drawing.text(x + 0.29, y, label, 8)
    drawing.text(WIDTH - 0.1, y, "no wing imports another", 8, ha="right")


def draw(target, kind="svg", *, files=True):
    """Write a drawing to a file: of all files, or of the packages alone."""
    wings, front = sorted(module_map.WINGS), module_map.FRONT
    colors = dict(zip(wings, COLORS, strict=True))
    width = (WIDTH - 0.12 - (len(wings) - 1) * COLUMN_GAP) / len(wings)
    in_front, lowest, column = [], MARGIN, HEADER
    if files:
        in_front = modules_of(front)
        lowest = LEGEND + HEADER + sum("." not in m for m in FILES) * STEP + GAP
        about_height = 0.18 + 0.128 * max(len(about_wing(wing, width)) for wing in wings)
        column += about_height + max(map(wing_height, wings)) + MARGIN
    bottom = lowest + ground_height(files=files) + FLIGHT
    top = bottom + column
    n_bricks = max(-(-len(in_front) // 2), 1)
    roof = top + FLIGHT + storey_height(in_front, n_bricks) + FLIGHT
    drawing = Drawing(roof + HEADER + 0.06)
    draw_roof(drawing, roof)
    about = first_line(face_of(front))
    draw_storey(drawing, f"{front}/", about, in_front, top + FLIGHT, WIDTH - 0.12, n_bricks)
    drawing.arrow((WIDTH / 2, roof), (WIDTH / 2, roof - FLIGHT + 0.01))
    draw_ground(drawing, lowest, colors, files=files)
    for i, wing in enumerate(wings):
        x = 0.06 + i * (width + COLUMN_GAP)
        draw_wing(drawing, wing, x, width, bottom, top, colors[wing])
        if files:
            draw_files(drawing, wing, x, width, top, colors[wing], about_height)
        if wing in packages_used(front):
            drawing.arrow((x + width / 2, top + FLIGHT), (x + width / 2, top + 0.01))
    if files:
        draw_beside(drawing, LEGEND)
        draw_legend(drawing, LEGEND / 2)
    metadata = {"Date": None} if kind == "svg" else {}
    drawing.figure.savefig(target, format=kind, metadata=metadata)


# -- the list ------------------------------------------------------------------------------------


def from_the_top():
    """All packages, each before those that it imports."""
    return [module_map.FRONT, *sorted(module_map.WINGS), *reversed(module_map.GROUND)]


def list_packages(target):
    """Write what each package is for, one line each, to a file."""
    lines = [f"- ``{name}``: {first_line(face_of(name))}" for name in from_the_top()]
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")


def table(title, about, rooms):
    """Rows of reStructuredText: files with the first lines of their docstrings, folded away."""
    yield from ("", ".. raw:: html", "", f"   <details><summary><b>{title}</b> {about}</summary>")
    if any(room or modules for room, modules in rooms):
        yield from ("", ".. list-table::", "   :widths: 30 70", "")
    for room, modules in rooms:
        if room:
            yield f"   * - **{room}/**"
            yield f"     - {first_line(face_of(room.replace('/', '.')))}"
        for module in modules:
            names = [path.relative_to(module_map.ROOT).as_posix() for path in FILES[module]]
            yield f"   * - {', '.join(f'``{name}``' for name in names)}"
            yield f"     - {first_line(module)}"
    yield from ("", ".. raw:: html", "", "   </details>")


def list_modules(target):
    """Write tables of all packages, from the top down, and of the files beside them, to a file."""
    lines = []
    for package in from_the_top():
        rooms = [("", modules_of(package))]
        rooms += [(room.replace(".", "/"), modules_of(room)) for room in rooms_of(package)]
        lines += table(f"{package}/", first_line(face_of(package)), rooms)
    beside = sorted(m for m in FILES if "." not in m and m != "__init__")
    lines += table("Files beside the packages", "", [("", beside)])
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_all(directory):
    """Write the drawings and the lists to a directory."""
    directory.mkdir(parents=True, exist_ok=True)
    draw(directory / "packages.svg", files=False)
    draw(directory / "modules.svg")
    list_packages(directory / "packages.inc")
    list_modules(directory / "modules.inc")


if __name__ == "__main__":
    write_all(Path(sys.argv[1]))
