"""The second checker of evidence, which is a program in C: what it says of a file."""

import json
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest
from written_code import GCC

from ensemble_simplify.evidence import checker

SOURCE = Path(checker.__file__).with_suffix(".c")


@cache
def _program():
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name) / "checker"
    command = [GCC, "-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic"]
    subprocess.run([*command, str(SOURCE), "-lm", "-o", str(path)], check=True)
    # the folder lives as long as the path
    return path, folder


def second_opinion(document):
    """The exit code and the words of the program in C: of a document, or of text."""
    if GCC is None:
        pytest.skip("no C compiler")
    text = document if isinstance(document, str) else json.dumps(document)
    ran = subprocess.run([_program()[0]], input=text.encode(), capture_output=True)
    return ran.returncode, (ran.stdout + ran.stderr).decode()


def is_for_both(document):
    """Whether a document claims what both checkers know."""
    claim, kind = document["claim"], document["proof"]["kind"]
    return claim["kind"] == "same_class" and kind == "boxes" and len(document["models"]) == 2
