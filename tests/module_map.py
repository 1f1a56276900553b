"""The modules of ensemble_simplify: what each may import, and what its source does import.

The house has a ground floor, a wing for each method, and above them the front. The ground is listed
from the bottom up: a module imports only what stands before it. Wings import the ground, and no
other wing. The front imports the ground, and the public names of the wings from their faces.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent / "ensemble_simplify"
NAME = "ensemble_simplify"

GROUND = [
    "_typedefs",
    "_thresholds",
    "_sklearn_tree",
    "_lp",
    "_regions",
    "_pruning",
    "_cells",
    "_lines",
    "_bounded_trees",
    "_joint",
    "_dp_layout",
    "_dp",
    "_certify",
    "_axes",
    "_domain",
    "_votes",
    "_columns",
    "_set_trees",
    "_code_sets",
    "_pipelines",
    "_reading",
    "_boosting_readers",
    "_exchange",
    "_readers",
    "_named_tree",
    "_export",
    "_forest",
    "_writers",
    "_neighbourhood",
    "_separable",
    "_pairing",
    "_closeness",
    "_base",
    "_answers",
    "_twins",
    "_space",
    "_proof",
    "_verification",
    "_comparing",
    "_verify",
    "_agreement",
]
# The storey that knows all wings, and the command, which knows only the front.
FRONT = "front"
COMMAND = "__main__"
WINGS = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {FRONT}
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


def may_import(module, target):
    """Whether `module` may import `target`, both dotted names without the package's."""
    wing, _, part = module.rpartition(".")
    other_wing, _, _ = target.rpartition(".")
    if module == "__init__":
        # the public names come from the faces of the wings, and a few from the ground
        return target in WINGS or target == FRONT or target in GROUND
    if module == COMMAND:
        return target == FRONT
    if wing and part == "__init__":
        return other_wing == wing
    if wing == FRONT and target in WINGS:
        return True
    if target in ("__init__", FRONT, COMMAND) or target in WINGS:
        return False
    if wing:
        return target in GROUND or other_wing == wing
    return module in GROUND and target in GROUND and GROUND.index(target) < GROUND.index(module)


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
    known = {module_of(path) for path in sources()}
    for name in python_imports(text) if suffix == ".py" else cython_imports(text):
        parts = name.split(".")
        if parts[0] != NAME:
            continue
        # the longest part of the name that is a module; the rest is a name in it
        for end in range(len(parts), 1, -1):
            module = ".".join(parts[1:end])
            if module in known or module in WINGS or module == FRONT:
                yield module
                break
        else:
            yield "__init__" if len(parts) < 3 else ".".join(parts[1:-1])


def module_imports(path):
    """The modules of the package that a source file imports."""
    found = set(package_imports(path.read_text(encoding="utf-8"), path.suffix))
    return found - {module_of(path)}
