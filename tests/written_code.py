"""Running what was written in other languages."""

from __future__ import annotations

import ctypes
import json
import shutil
import sqlite3
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

GCC = shutil.which("gcc")
needs_gcc = pytest.mark.skipif(GCC is None, reason="no C compiler")


def compiled(text, folder):
    """What gcc makes of a C file, under all its warnings."""
    source, library = folder / "model.c", folder / "model.so"
    source.write_text(text, encoding="ascii")
    options = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC"]
    subprocess.run([GCC, *options, "-o", library, source, "-lm"], check=True)
    return ctypes.CDLL(str(library))


def by_c(text, rows, folder, *, n_proba=0, real=False, n_texts=0, library=None):
    """What the C function `predict` answers to rows of doubles."""
    library = library or compiled(text, folder)
    pointer = ctypes.POINTER(ctypes.c_double)
    rows = np.ascontiguousarray(rows)
    address = [row.ctypes.data_as(pointer) for row in rows]

    def as_a_block(found, kind):
        """Check that rows given together are answered as one by one."""
        if hasattr(library, "predict_rows"):
            whole, count = np.empty_like(found), ctypes.c_long(len(rows))
            out = whole.ctypes.data_as(ctypes.POINTER(kind))
            library.predict_rows(rows.ctypes.data_as(pointer), count, out)
            np.testing.assert_array_equal(whole, found)
        return found

    if n_proba:
        found = np.empty((len(rows), n_proba))
        for own, out in zip(address, found, strict=True):
            library.predict(own, out.ctypes.data_as(pointer))
        return as_a_block(found, ctypes.c_double)
    if n_texts:
        texts = [(ctypes.c_char_p * n_texts)() for _ in rows]
        for own, out in zip(address, texts, strict=True):
            library.predict(own, out)
        return [[text.decode() for text in out] for out in texts]
    kind = ctypes.c_double if real else ctypes.c_int
    library.predict.restype = kind
    return as_a_block(np.array([library.predict(own) for own in address], dtype=kind), kind)


def by_sqlite(text, frame):
    """The columns that a query answers, in the order of the rows of a frame; `id` is its key.

    SQLite has no floats of 32 bits: casts to these, as other databases write them, call a function.
    """
    while (end := text.find(" AS REAL)")) >= 0:
        start = text.rindex("CAST(", 0, end)
        while text.count("(", start, end) != 1 + text.count(")", start, end):
            start = text.rindex("CAST(", 0, start)
        inside = text[start + len("CAST(") : end]
        text = f"{text[:start]}SINGLE({inside}{text[end + len(' AS REAL') :]}"
    with sqlite3.connect(":memory:") as connection:
        connection.create_function("SINGLE", 1, lambda number: float(np.float32(number)))
        frame.assign(id=np.arange(len(frame))).to_sql("rows", connection, index=False)
        found = pd.read_sql(text, connection)
    assert found["id"].is_unique
    return found.sort_values("id").drop(columns="id")


def by_duckdb(text, frame):
    """The same by DuckDB, which has float32."""
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        connection.register("rows", frame.assign(id=np.arange(len(frame))).astype(object))
        found = connection.execute(text).df()
    return found.sort_values("id").drop(columns="id")


def by_python(text, rows):
    names = {}
    exec(text, names)
    return [names["predict"](row) for row in rows]


NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="no Node.js")
_ANSWERS = """
const rows = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(rows.map((row) => module.exports.predict(row))));
"""


def by_javascript(text, rows):
    """What the function answers to rows, which JSON can hold."""
    told = json.dumps(rows).replace("NaN", "null")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "model.js"
        source.write_text(text + _ANSWERS, "utf8")
        found = subprocess.run([NODE, source], input=told, stdout=-1, text=True, check=True)
    return json.loads(found.stdout)
