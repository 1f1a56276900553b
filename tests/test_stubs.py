"""The typing stubs of the kernels say what the compiled modules hold."""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent / "ensemble_simplify"
KERNELS = sorted(ROOT.rglob("*.pyx"))


def stub_parameters(node):
    """Name of each parameter of a stub, whether it is keyword-only and whether it has a default."""
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    without = len(positional) - len(arguments.defaults)
    listed = [(a.arg, False, i >= without) for i, a in enumerate(positional)]
    pairs = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return listed + [(a.arg, True, default is not None) for a, default in pairs]


def kernel_parameters(function):
    return [
        (p.name, p.kind is p.KEYWORD_ONLY, p.default is not p.empty)
        for p in inspect.signature(function).parameters.values()
    ]


def differences(stub_body, owner, prefix):
    """Describe how the functions and classes of a stub differ from those of a module or class."""
    found, listed = [], set()
    for node in stub_body:
        if isinstance(node, ast.AnnAssign):
            name = node.target.id
        elif isinstance(node, ast.ClassDef | ast.FunctionDef):
            name = node.name
        else:
            continue
        listed.add(name)
        if name.startswith("__"):
            # Cython keeps no signature of special methods.
            continue
        value = getattr(owner, name, None)
        if value is None:
            found.append(f"{prefix}{name} is in the stub only")
        elif isinstance(node, ast.ClassDef):
            found += differences(node.body, value, f"{prefix}{name}.")
        elif isinstance(node, ast.FunctionDef) and callable(value):
            stub, real = stub_parameters(node), kernel_parameters(value)
            if stub != real:
                found.append(f"{prefix}{name}: the stub says {stub}, the kernel {real}")
    module = getattr(owner, "__module__", None) or owner.__name__
    for name, value in vars(owner).items():
        own = inspect.isclass(owner) or getattr(value, "__module__", None) == module
        if own and not name.startswith("_") and name not in listed:
            found.append(f"{prefix}{name} lacks a stub")
    return found


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda path: path.stem)
def test_stub_agrees_with_the_kernel(kernel):
    stub = kernel.with_suffix(".pyi")
    assert stub.exists(), f"write {stub.name}"
    parts = kernel.relative_to(ROOT.parent).with_suffix("").parts
    module = importlib.import_module(".".join(parts))
    body = ast.parse(stub.read_text(encoding="utf-8")).body
    assert differences(body, module, f"{kernel.stem}.") == []


def test_a_wrong_stub_is_found():
    module = importlib.import_module("ensemble_simplify.born_again._bounds")
    body = ast.parse("def unfooled_pairs(cells, first): ...\ndef missing(): ...").body
    found = differences(body, module, "")
    assert len(found) == 3
