"""The modules of ensemble_simplify: what each may import, and what its source does import.

The house has a ground of six packages, a wing for each method, and above them the front. A package
of the ground imports only those listed before it, and a wing the ground, but no other wing
(`BUILT_ON` has one). The front imports the ground and the wings. What stands in another package is
imported from its face.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent / "ensemble_simplify"
NAME = "ensemble_simplify"

# Files beside the packages that packages may use, from the bottom up.
FOUNDATION = ["_typedefs"]
# The packages of the ground, from the bottom up, and the kernels that the card puts beside them.
GROUND = ["grid", "reading", "writing", "base", "evidence", "proof", "sampling"]
CARD = ["_dp_layout", "_dp"]
# The storey that knows all wings, and the command, which knows only the front.
FRONT = "front"
COMMAND = "__main__"
PACKAGES = {path.parent.name for path in ROOT.glob("*/__init__.py")}
WINGS = PACKAGES - {FRONT, *GROUND}
# Wings whose tree another wing grows.
BUILT_ON = {"selective": "representer"}
KERNELS = {path.stem for path in ROOT.rglob("*.pyx")}
# Where a fitted ensemble keeps its trees.
ENSEMBLE_ATTRIBUTES = {
    "_predictors",
    "booster_",
    "estimator_weights_",
    "estimators_",
    "estimators_features_",
    "get_booster",
}


def sources():
    """Path of every Python and Cython source of the package."""
    return sorted(path for path in ROOT.rglob("*") if path.suffix in {".py", ".pyx", ".pxd"})


def module_of(path):
    """Dotted name, without the package's, of a source file: ``genesim._estimator``."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def package_of(module):
    """The package that a module stands in, or that it is; "" for files beside the packages."""
    first = module.partition(".")[0]
    return first if first in PACKAGES else ""


def may_import(module, target, kernel=False):
    """Whether `module` may import `target`, both dotted names without the package's.

    A package's face stands for its files: other packages import from it alone. Only kernels,
    which are compiled against declarations, name files of the packages below theirs.
    """
    here, there = package_of(module), package_of(target)
    is_face = target == there or target == f"{there}.__init__"
    if module == "__init__":
        return there != "" and is_face
    if module == COMMAND:
        return target == FRONT
    if target in ("__init__", COMMAND):
        return False
    if here and here == there:
        # a face hands on what its files hold; the files do not ask it
        return not is_face
    if module.endswith("__init__") and here in {*WINGS, FRONT}:
        return False
    if not there:
        if module in FOUNDATION:
            return False
        if target in CARD:
            return here in WINGS or (module in CARD and CARD.index(target) < CARD.index(module))
        return target in FOUNDATION
    if not (is_face or (kernel and there in GROUND)):
        return False
    if not here:
        return module in CARD and there == "grid"
    if there in GROUND:
        return here not in GROUND or GROUND.index(there) < GROUND.index(here)
    return (here == FRONT and there in WINGS) or BUILT_ON.get(here) == there


def handed_on(package):
    """The names that the face of a package hands on."""
    tree = ast.parse((ROOT / package / "__init__.py").read_text(encoding="utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    return {alias.asname or alias.name for node in imports for alias in node.names}


HANDED_ON = {package: handed_on(package) for package in PACKAGES}


def python_imports(text):
    """Full dotted names that Python source imports; relative ones keep their dots."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            separator = "" if base.endswith(".") else "."
            yield from (f"{base}{separator}{alias.name}" for alias in node.names)


CYTHON_FROM = re.compile(
    r"^[ \t]*from[ \t]+(?P<base>[.\w]+)[ \t]+c?import[ \t]*"
    r"(?:\((?P<block>[^)]*)\)|(?P<line>[^\n]*))",
    re.MULTILINE,
)
CYTHON_IMPORT = re.compile(r"^[ \t]*c?import[ \t]+(?P<line>[^\n]*)", re.MULTILINE)


def cython_imports(text):
    """Full dotted names that Cython source imports or cimports."""

    def names(listed):
        for name in re.sub(r"#[^\n]*", "", listed).replace("\\", " ").split(","):
            if name.split():
                yield name.split()[0]

    text = text.replace("\\\n", " ")
    for match in CYTHON_FROM.finditer(text):
        base = match["base"]
        separator = "" if base.endswith(".") else "."
        for name in names(match["block"] or match["line"] or ""):
            yield f"{base}{separator}{name}"
    for match in CYTHON_IMPORT.finditer(text):
        yield from names(match["line"])


def package_imports(text, suffix):
    """Dotted names, without the package's, of the modules that source text imports."""
    known = {module_of(path) for path in sources()} | PACKAGES
    for name in python_imports(text) if suffix == ".py" else cython_imports(text):
        parts = name.split(".")
        if parts[0] != NAME:
            continue
        if len(parts) == 3 and parts[2] in HANDED_ON.get(parts[1], ()):
            # a function may bear the name of its file
            yield parts[1]
            continue
        # the longest part of the name that is a module; the rest is a name in it
        for end in range(len(parts), 1, -1):
            module = ".".join(parts[1:end])
            if module in known or f"{module}.__init__" in known:
                yield module
                break
        else:
            yield "__init__" if len(parts) < 3 else ".".join(parts[1:-1])


def module_imports(path):
    """The modules of the package that a source file imports."""
    found = set(package_imports(path.read_text(encoding="utf-8"), path.suffix))
    return found - {module_of(path)}
