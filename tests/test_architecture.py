"""The directions of imports between the modules of ensemble_simplify.

Front rooms (the estimators) may use every room below them; reading, writing,
LP and kernels do not know one another, except for the edges in `EXTRA`. Parts
are the Python halves of a method, between its front room and its kernels.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent / "ensemble_simplify"
NAME = "ensemble_simplify"

FRONT = {
    "_born_again",
    "_budget_forest",
    "_cultivated",
    "_display",
    "_estimate",
    "_feature_budget",
    "_genesim",
    "_ism",
    "_representer",
}
ROOMS = {"_forest", "_lp", "_sklearn_tree", "_thresholds"}
KERNELS = {path.stem for path in ROOT.glob("*.pyx")}
# Parts of a method, each with what it stands on; only front rooms import them.
PARTS = {
    "_budget_problem": {"_budget_model", "_closure", "_lp"},
    "_codes": {"_merge", "_sklearn_tree", "_thresholds"},
    "_grid": {"_cells"},
    "_inducers": {"_node_statistics", "_sklearn_tree", "_thresholds"},
    "_search": {"_bounds", "_cells", "_dp", "_grid"},
    "_heuristic": {"_cells", "_grid", "_search"},
    "_planner": {"_cells", "_grid", "_heuristic", "_search"},
    "_domain": set(),
    "_fidelity": {"_cells", "_grid"},
    "_verify": {"_certify", "_domain", "_forest", "_grid", "_thresholds"},
}
# The edges between rooms, or between kernels, that are wanted.
EXTRA = {
    "_forest": {"_thresholds"},
    "_certify": {"_cells"},
    "_dp": {"_cells"},
    "_merge": {"_cells"},
    "_smear": {"_cells"},
}
# Where a fitted ensemble keeps its trees.
ENSEMBLE_ATTRIBUTES = {
    "_predictors",
    "booster_",
    "estimator_weights_",
    "estimators_",
    "estimators_features_",
    "get_booster",
}


def allowed_imports(module):
    """Modules of the package that `module` may import, or None if it has no place here."""
    if module == "__init__":
        return FRONT | {"_domain", "_verify"}
    if module in FRONT:
        return {"_base"} | set(PARTS) | ROOMS | KERNELS
    if module in PARTS:
        return PARTS[module]
    if module == "_base":
        return ROOMS | KERNELS
    if module in ROOMS:
        return EXTRA.get(module, set())
    if module in KERNELS:
        return {"_typedefs"} | EXTRA.get(module, set())
    if module == "_typedefs":
        return set()
    return None


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


def import_violations(module, suffix, text):
    """Describe every import of one source file that the architecture forbids."""
    allowed = allowed_imports(module)
    if allowed is None:
        return [f"{module}{suffix} has no place in the architecture; give it one in this test"]
    found = []
    for name in python_imports(text) if suffix == ".py" else cython_imports(text):
        parts = name.split(".")
        if name.startswith("."):
            found.append(f"{module}{suffix} imports {name} relatively; write the full name")
        elif parts[0] == NAME:
            target = parts[1] if len(parts) > 1 else "__init__"
            if target != module and target not in allowed:
                found.append(f"{module}{suffix} must not import {NAME}.{target}")
        elif parts[:3] == ["sklearn", "tree", "_tree"] and module != "_sklearn_tree":
            found.append(f"{module}{suffix} must not touch sklearn.tree._tree; _sklearn_tree does")
        elif suffix != ".py" and parts[0] == "sklearn":
            found.append(f"{module}{suffix} must not import {name}: kernels know only arrays")
    if suffix != ".py" and re.search(
        r"^[ \t]*(from[ \t]+numpy[.\w]*[ \t]+)?cimport[ \t]+numpy|"
        r"^[ \t]*from[ \t]+numpy[.\w]*[ \t]+cimport",
        text,
        re.M,
    ):
        found.append(f"{module}{suffix} must not cimport numpy: kernels take typed memoryviews")
    return found


def attribute_violations(module, text):
    """Describe the private knowledge that one Python file uses and another one owns."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and node.value == "sklearn.tree._tree":
            touched = True
        elif isinstance(node, ast.Attribute):
            touched = ast.unparse(node) == "sklearn.tree._tree" or (
                node.attr == "__setstate__" and ast.unparse(node.value) != "super()"
            )
            owner = isinstance(node.value, ast.Name) and node.value.id == "self"
            if node.attr in ENSEMBLE_ATTRIBUTES and module != "_forest" and not owner:
                found.append(f"{module}.py must not read .{node.attr} of an ensemble; _forest does")
        else:
            continue
        if touched and module != "_sklearn_tree":
            found.append(f"{module}.py must not touch scikit-learn's Tree; _sklearn_tree does")
    return found


SOURCES = sorted(path for path in ROOT.iterdir() if path.suffix in {".py", ".pyx", ".pxd"})


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_source_keeps_the_directions(path):
    text = path.read_text(encoding="utf-8")
    found = import_violations(path.stem, path.suffix, text)
    if path.suffix == ".py":
        found += attribute_violations(path.stem, text)
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("module", "suffix", "text"),
    [
        ("_born_again", ".py", "from ensemble_simplify._genesim import merge_trees"),
        ("_genesim", ".py", "def f():\n    import ensemble_simplify._born_again"),
        ("_display", ".py", "from ensemble_simplify import _representer"),
        ("_forest", ".py", "from ensemble_simplify._sklearn_tree import write_tree"),
        ("_thresholds", ".py", "from ensemble_simplify._forest import Forest"),
        ("_sklearn_tree", ".py", "from ensemble_simplify import read_forest"),
        ("_base", ".py", "from ensemble_simplify._born_again import BornAgainClassifier"),
        ("_lp", ".py", "from . import _forest"),
        ("_grid", ".py", "from ensemble_simplify._search import solve"),
        ("_forest", ".py", "from ensemble_simplify._grid import Grid"),
        ("__init__", ".py", "from ensemble_simplify._forest import read_forest"),
        ("_typedefs", ".pxd", "from ensemble_simplify._cells cimport Axis"),
        ("_typedefs", ".pxd", "cimport ensemble_simplify._dp"),
        ("_typedefs", ".pxd", "from ensemble_simplify cimport (\n    _cells,  # axes\n    _dp)"),
        ("_typedefs", ".pxd", "    from ensemble_simplify cimport \\\n        _cells"),
        ("_typedefs", ".pxd", "from ._cells cimport Axis"),
        ("_typedefs", ".pxd", "cimport numpy as cnp"),
        ("_typedefs", ".pxd", "from numpy.random cimport bitgen_t"),
        ("_typedefs", ".pxd", "from sklearn.tree._tree cimport Node"),
        ("_typedefs", ".pxd", "import sklearn"),
        ("_forest", ".py", "from sklearn.tree._tree import Tree"),
        ("_forest", ".py", "from sklearn.tree import _tree"),
        ("_forest", ".py", "import sklearn.tree._tree as t"),
        ("_helpers", ".py", "import numpy"),
    ],
)
def test_forbidden_import_is_found(module, suffix, text):
    assert import_violations(module, suffix, text)


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("_born_again", "import sklearn.tree\nsklearn.tree._tree.Tree(1, 2, 1)"),
        ("_born_again", "estimator.tree_.__setstate__(state)"),
        ("_born_again", "importlib.import_module('sklearn.tree._tree')"),
        ("_feature_budget", "for tree in self.estimator_.estimators_: pass"),
        ("_feature_budget", "getter = model.get_booster()"),
    ],
)
def test_forbidden_attribute_is_found(module, text):
    assert attribute_violations(module, text)


@pytest.mark.parametrize(
    ("module", "suffix", "text"),
    [
        ("_born_again", ".py", "from ensemble_simplify._forest import read_forest\nimport numpy"),
        ("_born_again", ".py", "from ensemble_simplify import _lp, _sklearn_tree"),
        ("_born_again", ".py", "from ensemble_simplify._grid import Grid"),
        ("_forest", ".py", "from ensemble_simplify._thresholds import float32_floor"),
        ("_sklearn_tree", ".py", "from sklearn.tree._tree import NODE_DTYPE, Tree"),
        ("__init__", ".py", "from ensemble_simplify._born_again import BornAgainClassifier"),
        ("_typedefs", ".pxd", "from libcpp.vector cimport vector\nimport numpy as np"),
    ],
)
def test_wanted_import_is_accepted(module, suffix, text):
    assert import_violations(module, suffix, text) == []
