"""The modules of ensemble_simplify: what each may import, and what its source does import."""

from __future__ import annotations

import ast
import re
from pathlib import Path

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
    "_budget_loss": {"_budget_model"},
    "_budget_problem": {"_budget_model", "_closure", "_lp"},
    "_codes": {"_merge", "_sklearn_tree", "_thresholds"},
    "_grid": {"_cells"},
    "_inducers": {"_node_statistics", "_sklearn_tree", "_thresholds"},
    "_search": {"_bounds", "_cells", "_dp", "_grid"},
    "_heuristic": {"_cells", "_grid", "_search"},
    "_planner": {"_cells", "_grid", "_heuristic", "_search"},
    "_law": {"_base", "_smear"},
    "_module_tree": {"_modules"},
    "_predictor": set(),
    "_prices": {"_base"},
    "_smeared_tree": {"_law", "_predictor", "_sklearn_tree", "_smear"},
    "_domain": set(),
    "_fidelity": {"_cells"},
    "_verify": {"_certify", "_domain", "_forest", "_grid", "_thresholds"},
}
# The edges between rooms, or between kernels, that are wanted.
EXTRA = {
    "_forest": {"_thresholds"},
    "_dp": {"_cells"},
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


def module_imports(path):
    """Names, without the package, of the modules of the package that a source file imports."""
    text = path.read_text(encoding="utf-8")
    names = python_imports(text) if path.suffix == ".py" else cython_imports(text)
    found = {name.split(".")[1] for name in names if name.startswith(f"{NAME}.")}
    return found - {path.stem}
