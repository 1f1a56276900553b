"""The directions of imports between the modules of ensemble_simplify.

One ground floor, a wing for each method, and the front above them: wings import the ground, no wing
another; the ground imports neither a wing nor the package itself, and each of its modules only
those below it; the front imports the ground and the faces of the wings, and nobody imports the
front but the package's face and the command.
"""

from __future__ import annotations

import ast
import re

import pytest
from module_map import (
    COMMAND,
    ENSEMBLE_ATTRIBUTES,
    FRONT,
    GROUND,
    NAME,
    WINGS,
    cython_imports,
    may_import,
    module_imports,
    module_of,
    package_imports,
    python_imports,
    sources,
)

# Who may use private helpers of scikit-learn: one place each.
PRIVATE_SKLEARN = {"_base", "_sklearn_tree"}


def import_violations(module, suffix, text):
    """Describe every import of one source file that the architecture forbids."""
    if "." not in module and module not in {*GROUND, "__init__", COMMAND}:
        return [f"{module}{suffix} has no place in the architecture; give it one in module_map"]
    found = [
        f"{module}{suffix} must not import {NAME}.{target}"
        for target in package_imports(text, suffix)
        if target != module and not may_import(module, target)
    ]
    for name in python_imports(text) if suffix == ".py" else cython_imports(text):
        parts = name.split(".")
        if name.startswith("."):
            found.append(f"{module}{suffix} imports {name} relatively; write the full name")
        elif parts[:3] == ["sklearn", "tree", "_tree"] and module != "_sklearn_tree":
            found.append(f"{module}{suffix} must not touch sklearn.tree._tree; _sklearn_tree does")
        elif suffix != ".py" and parts[0] == "sklearn":
            found.append(f"{module}{suffix} must not import {name}: kernels know only arrays")
        elif (
            parts[0] == "sklearn"
            and any(part.startswith("_") for part in parts)
            and module not in PRIVATE_SKLEARN
        ):
            found.append(f"{module}{suffix} must not import the private {name}; _base does")
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
            keepers = {"_boosting_readers", "_readers", "_writers"}
            if node.attr in ENSEMBLE_ATTRIBUTES and module not in keepers and not owner:
                found.append(f"{module}.py must not touch .{node.attr} of an ensemble; _readers do")
        else:
            continue
        if touched and module != "_sklearn_tree":
            found.append(f"{module}.py must not touch scikit-learn's Tree; _sklearn_tree does")
    return found


@pytest.mark.parametrize("path", sources(), ids=module_of)
def test_source_keeps_the_directions(path):
    text = path.read_text(encoding="utf-8")
    found = import_violations(module_of(path), path.suffix, text)
    if path.suffix == ".py":
        found += attribute_violations(module_of(path), text)
    assert not found, "\n".join(found)


def test_the_ground_is_there_and_there_is_no_circle():
    imports = {}
    for path in sources():
        imports.setdefault(module_of(path), set()).update(module_imports(path))
    assert set(GROUND) <= set(imports)
    done = set()
    while len(done) < len(imports):
        # the face of a wing, or of the front, stands for its modules
        ready = {
            module
            for module, used in imports.items()
            if module not in done
            and all(u in done or (u in {*WINGS, FRONT} and f"{u}.__init__" in done) for u in used)
        }
        assert ready, f"a circle among {sorted(set(imports) - done)}"
        done |= ready


@pytest.mark.parametrize(
    ("module", "suffix", "text"),
    [
        ("born_again._estimator", ".py", "from ensemble_simplify.genesim import merge_trees"),
        ("born_again._estimator", ".py", "from ensemble_simplify.genesim._ism import X"),
        ("genesim._ism", ".py", "def f():\n    import ensemble_simplify.born_again._search"),
        ("genesim._display", ".py", "from ensemble_simplify import representer"),
        ("genesim._display", ".py", "from ensemble_simplify import BornAgainClassifier"),
        ("genesim._display", ".py", "from ensemble_simplify.genesim import GenesimClassifier"),
        ("genesim.__init__", ".py", "from ensemble_simplify._forest import read_forest"),
        ("_forest", ".py", "from ensemble_simplify._base import unwrap"),
        ("_readers", ".py", "from ensemble_simplify._forest import Forest"),
        ("_thresholds", ".py", "from ensemble_simplify._forest import Forest"),
        ("_sklearn_tree", ".py", "from ensemble_simplify import read_forest"),
        ("_base", ".py", "from ensemble_simplify.born_again._estimator import BornAgainClassifier"),
        ("_lp", ".py", "from . import _forest"),
        ("__init__", ".py", "from ensemble_simplify.genesim._ism import X"),
        ("_typedefs", ".pxd", "from ensemble_simplify._regions cimport Node"),
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
        ("genesim._ism", ".py", "from sklearn.utils._param_validation import Interval"),
        ("_helpers", ".py", "import numpy"),
        ("front._simplify", ".py", "from ensemble_simplify.genesim._ism import X"),
        ("front._simplify", ".py", "from ensemble_simplify import verify"),
        ("front._simplify", ".py", "from ensemble_simplify.front import simplify"),
        ("front.__init__", ".py", "from ensemble_simplify.genesim import merge_trees"),
        ("born_again._estimator", ".py", "from ensemble_simplify.front import simplify"),
        ("born_again._estimator", ".py", "from ensemble_simplify.front._tables import Table"),
        ("_verify", ".py", "from ensemble_simplify.front import simplify"),
        ("__main__", ".py", "from ensemble_simplify.genesim import merge_trees"),
    ],
)
def test_forbidden_import_is_found(module, suffix, text):
    assert import_violations(module, suffix, text)


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("born_again._estimator", "import sklearn.tree\nsklearn.tree._tree.Tree(1, 2, 1)"),
        ("born_again._estimator", "estimator.tree_.__setstate__(state)"),
        ("born_again._estimator", "importlib.import_module('sklearn.tree._tree')"),
        ("feature_budget._pruner", "for tree in self.estimator_.estimators_: pass"),
        ("feature_budget._pruner", "getter = model.get_booster()"),
        ("_forest", "for tree in estimator.estimators_: pass"),
    ],
)
def test_forbidden_attribute_is_found(module, text):
    assert attribute_violations(module, text)


@pytest.mark.parametrize(
    ("module", "suffix", "text"),
    [
        ("born_again._estimator", ".py", "from ensemble_simplify._forest import read_forest"),
        ("born_again._estimator", ".py", "from ensemble_simplify import _lp, _sklearn_tree"),
        ("born_again._estimator", ".py", "from ensemble_simplify.born_again._grid import Grid"),
        ("genesim.__init__", ".py", "from ensemble_simplify.genesim._ism import X"),
        ("_forest", ".py", "from ensemble_simplify._thresholds import float32_floor"),
        ("_sklearn_tree", ".py", "from sklearn.tree._tree import NODE_DTYPE, Tree"),
        ("_base", ".py", "from sklearn.utils._param_validation import Interval"),
        ("__init__", ".py", "from ensemble_simplify.born_again import BornAgainClassifier"),
        ("front._simplify", ".py", "from ensemble_simplify.genesim import GenesimClassifier"),
        ("front._simplify", ".py", "from ensemble_simplify._forest import read_forest"),
        ("front._simplify", ".py", "from ensemble_simplify.front._tables import Table"),
        ("__main__", ".py", "from ensemble_simplify.front import simplify"),
        ("_typedefs", ".pxd", "from libcpp.vector cimport vector\nimport numpy as np"),
    ],
)
def test_wanted_import_is_accepted(module, suffix, text):
    assert import_violations(module, suffix, text) == []
