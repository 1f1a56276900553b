"""List the benchmarks: ``python -m benchmarks``."""

import ast
from pathlib import Path

for path in sorted(Path(__file__).parent.glob("[!_]*.py")):
    lines = (ast.get_docstring(ast.parse(path.read_text())) or "").splitlines()
    print(f"python -m benchmarks.{path.stem}\n    {lines[0] if lines else ''}")
