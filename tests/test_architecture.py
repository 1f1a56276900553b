"""The directions of imports between the modules of ensemble_simplify.

A ground of six packages, a wing for each method, and the front above: wings import the ground, no
wing another; each package of the ground imports only those below it; the front imports the
ground and the faces of the wings, and nobody imports the front but the package's face and the
command. Files are imported from their own package only, but for kernels.
"""

from __future__ import annotations

import ast
import re

import pytest
from module_map import (
    CARD,
    COMMAND,
    ENSEMBLE_ATTRIBUTES,
    FOUNDATION,
    NAME,
    cython_imports,
    may_import,
    module_imports,
    module_of,
    package_imports,
    package_of,
    python_imports,
    sources,
)

# Who may use private helpers of scikit-learn: one place each.
PRIVATE_SKLEARN = {"base._scikit_learn", "writing.sklearn_tree"}
TREE_OWNER = "writing.sklearn_tree"


def import_violations(module, suffix, text):
    """Describe every import of one source file that the architecture forbids."""
    if not package_of(module) and module not in {*FOUNDATION, *CARD, "__init__", COMMAND}:
        return [f"{module}{suffix} has no place in the architecture; give it one in module_map"]
    found = [
        f"{module}{suffix} must not import {NAME}.{target}"
        for target in package_imports(text, suffix)
        if target != module and not may_import(module, target, suffix != ".py")
    ]
    for name in python_imports(text) if suffix == ".py" else cython_imports(text):
        parts = name.split(".")
        if name.startswith("."):
            found.append(f"{module}{suffix} imports {name} relatively; write the full name")
        elif parts[:3] == ["sklearn", "tree", "_tree"] and module != TREE_OWNER:
            found.append(f"{module}{suffix} must not touch sklearn.tree._tree; {TREE_OWNER} does")
        elif suffix != ".py" and parts[0] == "sklearn":
            found.append(f"{module}{suffix} must not import {name}: kernels know only arrays")
        elif (
            parts[0] == "sklearn"
            and any(part.startswith("_") for part in parts)
            and module not in PRIVATE_SKLEARN
        ):
            found.append(f"{module}{suffix} must not import the private {name}; base does")
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
            keeps = module.startswith(("reading.family", "reading.families."))
            keeps |= module == "writing.reweighted"  # of the vote that it makes itself
            if node.attr in ENSEMBLE_ATTRIBUTES and not keeps and not owner:
                found.append(
                    f"{module}.py must not touch .{node.attr} of an ensemble; reading does"
                )
        else:
            continue
        if touched and module != TREE_OWNER:
            found.append(f"{module}.py must not touch scikit-learn's Tree; {TREE_OWNER} does")
    return found


@pytest.mark.parametrize("path", sources(), ids=module_of)
def test_source_keeps_the_directions(path):
    text = path.read_text(encoding="utf-8")
    found = import_violations(module_of(path), path.suffix, text)
    if path.suffix == ".py":
        found += attribute_violations(module_of(path), text)
    assert not found, "\n".join(found)


def test_there_is_no_circle():
    imports = {}
    for path in sources():
        imports.setdefault(module_of(path), set()).update(module_imports(path))
    done = set()
    while len(done) < len(imports):
        # a face stands for the files of its package
        ready = {
            module
            for module, used in imports.items()
            if module not in done and all(u in done or f"{u}.__init__" in done for u in used)
        }
        assert ready, f"a circle among {sorted(set(imports) - done)}"
        done |= ready


@pytest.mark.parametrize(
    ("module", "suffix", "text"),
    [
        ("born_again._estimator", ".py", "from ensemble_simplify.genesim import merge_trees"),
        ("born_again._estimator", ".py", "from ensemble_simplify.genesim._display import X"),
        ("born_again._estimator", ".py", "from ensemble_simplify.grid.axes import Axes"),
        ("born_again._estimator", ".py", "from ensemble_simplify.front import simplify"),
        (
            "born_again._estimator",
            ".py",
            "from ensemble_simplify.front._table_tree import TableTree",
        ),
        ("born_again._x", ".py", "def f():\n    import ensemble_simplify.genesim._display"),
        ("genesim._display", ".py", "from ensemble_simplify import representer"),
        ("genesim._display", ".py", "from ensemble_simplify import BornAgainClassifier"),
        ("genesim._display", ".py", "from ensemble_simplify.genesim import GenesimClassifier"),
        ("genesim.__init__", ".py", "from ensemble_simplify.reading import Model"),
        ("grid.axes", ".py", "from ensemble_simplify.grid import Domain"),
        ("grid.axes", ".py", "from ensemble_simplify.reading import unwrap"),
        ("grid.axes", ".py", "from ensemble_simplify._dp import X"),
        ("reading.forest", ".py", "from ensemble_simplify.grid.thresholds import float32_floor"),
        ("reading.forest", ".py", "from ensemble_simplify.base import fit_context"),
        ("writing.languages", ".py", "from ensemble_simplify.proof import verify"),
        ("base.ensemble", ".py", "from ensemble_simplify.born_again import BornAgainClassifier"),
        ("proof.verify", ".py", "from ensemble_simplify.front import simplify"),
        ("proof.verify", ".py", "from ensemble_simplify.sampling import make_law"),
        ("sampling.law", ".py", "from ensemble_simplify.representer import RepresenterTree"),
        ("_typedefs", ".pxd", "from . cimport _regions"),
        ("_typedefs", ".pxd", "from ensemble_simplify.grid import Axes"),
        ("_helpers", ".py", "import numpy"),
        ("__init__", ".py", "from ensemble_simplify.genesim._display import X"),
        ("__main__", ".py", "from ensemble_simplify.genesim import merge_trees"),
        ("front._simplify", ".py", "from ensemble_simplify.genesim._display import X"),
        ("front._simplify", ".py", "from ensemble_simplify import verify"),
        ("front._simplify", ".py", "from ensemble_simplify.front import simplify"),
        ("front.__init__", ".py", "from ensemble_simplify.genesim import merge_trees"),
        ("_typedefs", ".pxd", "from ensemble_simplify.grid._regions cimport Node"),
        ("_typedefs", ".pxd", "cimport ensemble_simplify._dp"),
        (
            "_typedefs",
            ".pxd",
            "from ensemble_simplify.grid cimport (\n  _cells,  # axes\n  _x)",
        ),
        ("_typedefs", ".pxd", "    from ensemble_simplify.grid cimport \\\n        _cells"),
        ("_typedefs", ".pxd", "from ._cells cimport Axis"),
        ("_typedefs", ".pxd", "cimport numpy as cnp"),
        ("_typedefs", ".pxd", "from numpy.random cimport bitgen_t"),
        ("_typedefs", ".pxd", "from sklearn.tree._tree cimport Node"),
        ("_typedefs", ".pxd", "import sklearn"),
        ("grid._regions", ".pyx", "from ensemble_simplify.proof._certify cimport Certifier"),
        ("reading.forest", ".py", "from sklearn.tree._tree import Tree"),
        ("reading.forest", ".py", "from sklearn.tree import _tree"),
        ("reading.forest", ".py", "import sklearn.tree._tree as t"),
        ("genesim._display", ".py", "from sklearn.utils._param_validation import Interval"),
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
        ("feature_budget._estimator", "for tree in self.estimator_.estimators_: pass"),
        ("feature_budget._estimator", "getter = model.get_booster()"),
        ("reading.forest", "for tree in estimator.estimators_: pass"),
    ],
)
def test_forbidden_attribute_is_found(module, text):
    assert attribute_violations(module, text)


@pytest.mark.parametrize(
    ("module", "suffix", "text"),
    [
        ("born_again._estimator", ".py", "from ensemble_simplify.reading import Model"),
        ("born_again._estimator", ".py", "from ensemble_simplify.grid import Axes, Domain"),
        ("born_again._estimator", ".py", "from ensemble_simplify.born_again._display import X"),
        ("genesim.__init__", ".py", "from ensemble_simplify.genesim._display import X"),
        ("reading.forest", ".py", "from ensemble_simplify.grid import float32_floor"),
        ("writing.sklearn_tree", ".py", "from sklearn.tree._tree import NODE_DTYPE, Tree"),
        ("base._scikit_learn", ".py", "from sklearn.utils._param_validation import Interval"),
        ("__init__", ".py", "from ensemble_simplify.born_again import BornAgainClassifier"),
        ("front._simplify", ".py", "from ensemble_simplify.genesim import GenesimClassifier"),
        ("front._simplify", ".py", "from ensemble_simplify.reading import Model"),
        ("front._simplify", ".py", "from ensemble_simplify.front._table_tree import TableTree"),
        ("__main__", ".py", "from ensemble_simplify.front import simplify"),
        ("proof._certify", ".pyx", "from ensemble_simplify.grid._regions cimport Node"),
        ("_typedefs", ".pxd", "from libcpp.vector cimport vector\nimport numpy as np"),
    ],
)
def test_wanted_import_is_accepted(module, suffix, text):
    assert import_violations(module, suffix, text) == []
