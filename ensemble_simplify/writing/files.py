"""Files that are written as a whole, or stay as they were."""

from __future__ import annotations

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from errno import EISDIR, ENOENT
from os import PathLike, strerror
from pathlib import Path
from uuid import uuid4


@contextmanager
def replacing(path: str | PathLike) -> Generator[Path]:
    """A new file beside `path`, which takes its place once all is written.

    If writing fails, the new file is gone and the old one is as it was. What is no ordinary file,
    as a pipe or ``/dev/stdout``, is written directly.
    """
    path = Path(path).resolve()  # a link stays, and leads to the new file
    if path.exists() and not path.is_file():
        yield path
        return
    new = _beside(path)
    try:
        yield new
        if path.exists():
            shutil.copymode(path, new)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def write_text(path: str | PathLike, text: str) -> None:
    """Write text in UTF-8, as `replacing` does."""
    with replacing(path) as new:
        new.write_text(text, encoding="utf-8")


def check_place(path: Path) -> None:
    """Raise the OSError with which `replacing` would end, if there is one."""
    if path.is_dir():
        raise IsADirectoryError(EISDIR, "it is a folder")
    if path.is_file() or not path.exists():
        new = _beside(path.resolve())
        new.touch(exist_ok=False)
        new.unlink()


def _beside(path):
    if not path.parent.is_dir():
        raise FileNotFoundError(ENOENT, strerror(ENOENT), str(path.parent))
    # the end of the name says in which form some files are
    return path.with_name(f".unfinished-{uuid4().hex[:8]}-{path.name}")
