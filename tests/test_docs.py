"""Every public name is documented, and its docstring is one that numpydoc can read."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import importlib.util
import inspect
import io
import re
from collections import Counter
from pathlib import Path
from types import ModuleType

import module_map
import pytest
from sklearn.base import BaseEstimator

import ensemble_simplify

PUBLIC = sorted(
    name
    for name in dir(ensemble_simplify)
    if not name.startswith("_") and not isinstance(getattr(ensemble_simplify, name), ModuleType)
)
ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
API_PAGE = ROOT / "doc" / "reference" / "index.rst"

# Codes of numpydoc.validate that must not occur.
LAYOUT = {"GL03", "GL05", "GL06", "GL07", "GL08", "GL10", "SS01", "SS02", "SS03", "SS06"}
# The order (PR03) is tested below: experts' parameters have a section of their own.
PARAMETERS = {"PR01", "PR02", "PR04", "PR07", "PR10"}
RETURNS = {"RT01", "RT03"}


def public_methods():
    """Names Class.method of the public methods that the package itself defines or inherits."""
    for name in PUBLIC:
        value = getattr(ensemble_simplify, name)
        if isinstance(value, type):
            for method in dir(value):
                function = getattr(value, method, None)  # some are not for every estimator
                inside = str(getattr(function, "__module__", "")).startswith("ensemble_simplify")
                if inside and not method.startswith("_") and callable(function):
                    yield f"{name}.{method}"


def full_name(name):
    """Where numpydoc finds it: a function may bear the name of its package."""
    return f"{getattr(ensemble_simplify, name.partition('.')[0]).__module__}.{name}"


def errors(name, codes):
    validate = pytest.importorskip("numpydoc.validate").validate
    found = validate(full_name(name))["errors"]
    return [f"{code} {text}" for code, text in found if code in codes]


def documented(name):
    """Parameters of the signature; those of "Parameters", of "Other Parameters", attributes."""
    validation = pytest.importorskip("numpydoc.validate")
    scraped = pytest.importorskip("numpydoc.docscrape").get_doc_object
    document = validation.Validator(scraped(validation.Validator._load_obj(full_name(name))))
    common, other = document.doc_parameters, document.doc_other_parameters
    held = document._doc_parameters(["Attributes"])
    return document.signature_parameters, list(common), list(other), list(held)


def is_result(name):
    """Whether functions return it and nobody makes one: a data class that is no display."""
    value = getattr(ensemble_simplify, name)
    return dataclasses.is_dataclass(value) and not name.endswith(("Display", "Domain"))


def unannotated(function):
    """Parameters of a function without a type, and "return"."""
    signature = inspect.signature(inspect.unwrap(function))
    given = list(signature.parameters.values())
    if "." in function.__qualname__:
        given = given[1:]  # self or cls
    missing = [p.name for p in given if p.annotation is p.empty]
    untold = signature.return_annotation is signature.empty
    return missing + ["return"] * (untold and function.__name__ != "__init__")


def public_functions(value):
    """A public function, or the functions of a public class that are public and written here."""
    if not isinstance(value, type):
        yield value
        return
    for owner in value.__mro__:
        for name, member in vars(owner).items():
            member = getattr(member, "fget", getattr(member, "fn", member))
            member = getattr(member, "__func__", member)
            inside = (getattr(member, "__module__", None) or "").startswith("ensemble_simplify")
            if callable(member) and inside and (name == "__init__" or not name.startswith("_")):
                yield member


@pytest.mark.parametrize("name", PUBLIC)
def test_types_are_told(name):
    functions = list(public_functions(getattr(ensemble_simplify, name)))
    assert [(f.__qualname__, unannotated(f)) for f in functions if unannotated(f)] == []
    assert functions or issubclass(getattr(ensemble_simplify, name), Exception)


def test_types_that_are_missing_are_found():
    assert unannotated(unannotated) == ["function", "return"]


def is_error(name):
    value = getattr(ensemble_simplify, name)
    return isinstance(value, type) and issubclass(value, Exception)


def sections(name):
    document = inspect.getdoc(getattr(ensemble_simplify, name)) or ""
    return set(re.findall(r"^(\S[^\n]*)\n-{3,}$", document, re.MULTILINE))


def test_all_lists_the_public_names():
    assert sorted(getattr(ensemble_simplify, "__all__", [])) == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_reference_lists_the_name(name):
    entries = [line.strip() for line in API_PAGE.read_text(encoding="utf-8").splitlines()]
    assert name in entries, f"add {name} to an autosummary of doc/reference/index.rst"


@pytest.mark.parametrize("name", PUBLIC)
def test_docstring(name):
    value = getattr(ensemble_simplify, name)
    codes = LAYOUT | {"EX01"} | (set() if isinstance(value, type) else RETURNS)
    codes |= {"PR02"} if is_result(name) else PARAMETERS
    assert errors(name, codes) == []


@pytest.mark.parametrize("name", PUBLIC)
def test_docstring_has_its_sections(name):
    value = getattr(ensemble_simplify, name)
    wanted = {"Examples"}
    if not is_error(name) and inspect.signature(value).parameters:
        wanted.add("Attributes" if is_result(name) else "Parameters")
    if isinstance(value, type) and issubclass(value, BaseEstimator):
        # what was found or read is no method itself
        is_method = name not in (
            "AdditiveScorecard",
            "ImportedEnsemble",
            "OneOutput",
            "SimplifiedModel",
        )
        wanted |= {"Attributes", "References"} if is_method else {"Attributes"}
    assert wanted <= sections(name)


@pytest.mark.parametrize("name", list(public_methods()))
def test_method_docstring(name):
    assert errors(name, LAYOUT | PARAMETERS | RETURNS) == []


@pytest.mark.parametrize("name", [n for n in PUBLIC if not is_result(n) and not is_error(n)])
def test_parameters_come_in_the_order_of_the_signature(name):
    """Those that most users need, then the others; what must be given is not among the others."""
    order, common, other, _ = documented(name)
    assert common == [parameter for parameter in order if parameter not in other]
    assert other == [parameter for parameter in order if parameter in other]
    given = inspect.signature(getattr(ensemble_simplify, name)).parameters.values()
    assert not [each for each in given if each.name in other and each.default is each.empty]


@pytest.mark.parametrize("name", list(public_methods()))
def test_parameters_of_methods_come_in_the_order_of_the_signature(name):
    order, common, other, _ = documented(name)
    assert [*common, *other] == list(order)


@pytest.mark.parametrize("name", [*filter(is_result, PUBLIC)])
def test_what_a_result_holds_is_listed(name):
    """Its fields are attributes, in their order; properties may follow them."""
    value = getattr(ensemble_simplify, name)
    fields = [field.name for field in dataclasses.fields(value) if not field.name.startswith("_")]
    *_, held = documented(name)
    assert held[: len(fields)] == fields
    assert all(isinstance(vars(value)[more], property) for more in held[len(fields) :])


def test_architecture_page_shows_every_module(tmp_path):
    pytest.importorskip("matplotlib")
    path = ROOT / "doc" / "draw_architecture.py"
    spec = importlib.util.spec_from_file_location("draw_architecture", path)
    drawing = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(drawing)
    drawing.write_all(tmp_path)
    listed = (tmp_path / "modules.inc").read_text(encoding="utf-8")
    assert all(f"<b>{package}/</b>" in listed for package in module_map.PACKAGES)
    told = (tmp_path / "packages.inc").read_text(encoding="utf-8")
    assert re.findall(r"^- ``(\w+)``: \w", told, re.MULTILINE) == drawing.from_the_top()
    files = {path.relative_to(module_map.ROOT).as_posix() for path in module_map.sources()}
    files = {file for file in files if not file.endswith("__init__.py")}
    # each in one row, with what it is for
    assert sorted(files) == sorted(re.findall(r"``([\w/]+\.p\w+)``", listed))
    rows = re.findall(r"^   \* - (.+)\n     - (.*)$", listed, re.MULTILINE)
    assert len(rows) == listed.count("   * - ")
    assert all(told.endswith((".", "?")) for _, told in rows)
    # an SVG file holds letters as shapes, and each text in a comment before them
    svg = (tmp_path / "modules.svg").read_text(encoding="utf-8")
    drawn = Counter(re.findall(r"<!-- (\S+) -->", svg))
    modules = {module_map.module_of(path) for path in module_map.sources()}
    names = Counter(m.rpartition(".")[2] for m in modules if not m.endswith("__init__"))
    assert all(drawn[name] >= n for name, n in names.items())
    rooms = {m.split(".")[-2] for m in modules if m.endswith(".__init__")}
    assert all(drawn[f"{room}/"] == 1 for room in rooms)


ROOMS = sorted(path.parent for path in module_map.ROOT.rglob("*/__init__.py"))


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_face_of_a_package_names_its_files(room):
    face = ast.get_docstring(ast.parse((room / "__init__.py").read_text(encoding="utf-8")))
    named = {name.partition(".")[0] for name in re.findall(r"`(\w[\w.]*)/?`", face)}
    files = {path.stem for path in module_map.sources() if path.parent == room} - {"__init__"}
    rooms = {path.parent.name for path in room.glob("*/__init__.py")}
    assert named >= files | rooms
    assert {name for name in named if name.startswith("_")} <= files


def test_one_version_everywhere():
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    changed = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert cited[1] == changed[1] == ensemble_simplify.__version__


def test_examples_of_readme_print_what_they_say(monkeypatch):
    monkeypatch.chdir(ROOT)
    examples = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", README, re.DOTALL)
    assert len(examples) >= 2
    names, seconds = {}, re.compile(r"in \S+ s")
    for code, output in examples:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, names)
        assert seconds.sub("in ... s", printed.getvalue()) == seconds.sub("in ... s", output)
        if "outcome" in names:
            outcome = names.pop("outcome")
            # the picture is of this tree: python doc/figures/forest_to_tree.py draws it
            picture = (ROOT / "doc/_static/forest_to_tree.svg").read_text(encoding="utf-8")
            share = f"the same answer on {100 * outcome.verdict.agreement:.0f} % of new rows"
            named = outcome.best_model.named_tree
            pairs = zip(named.nodes.feature.tolist(), named.nodes.threshold.tolist(), strict=True)
            ends = [f"≤ {end:.4g}" for j, end in pairs if j >= 0 and named.levels(j) is None]
            assert ends
            assert all(text in picture for text in (share, *ends))
