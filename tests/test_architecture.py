"""The directions of imports between the modules of ensemble_simplify.

Front rooms (the estimators) may use every room below them; reading, writing,
LP and kernels do not know one another, except for the edges in `EXTRA`. Parts
are the Python halves of a method, between its front room and its kernels.
"""

from __future__ import annotations

import ast
import re

import pytest
from module_map import (
    ENSEMBLE_ATTRIBUTES,
    EXTRA,
    NAME,
    PARTS,
    ROOT,
    allowed_imports,
    cython_imports,
    module_imports,
    python_imports,
)


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


def test_allowed_edges_are_used():
    used = {module: set() for module in {*PARTS, *EXTRA}}
    for path in SOURCES:
        if path.stem in used:
            used[path.stem] |= module_imports(path)
    stale = {
        module: (PARTS.get(module, set()) | EXTRA.get(module, set())) - imported
        for module, imported in used.items()
    }
    assert not any(stale.values()), stale


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
