"""The command line: read a model and a table, and print the report."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ensemble_simplify.front._simplify import simplify
from ensemble_simplify.reading import table_of


class CannotRead(Exception):
    """A file cannot be read, or its columns do not go with the model; the text says why."""


def main(arguments=None):
    """Run ``python -m ensemble_simplify``, by default with the arguments of the command line.

    Returns 0, or 2 after an error.
    """
    told = _parser().parse_args(arguments)
    try:
        if told.model.suffix != ".skops" or told.trust:
            print(
                f"Note: loading {told.model} can run any code that is in it. Load only files that "
                "you trust.",
                file=sys.stderr,
            )
        model = _model(told.model, trust=told.trust)
        X, y = _rows(told.data, told.target, model)
        found = simplify(
            model,
            X,
            y,
            max_leaves=told.max_leaves,
            time_limit=told.time_limit,
            random_state=told.random_state,
            verbose=told.verbose,
        )
        text = found.report(told.html)
    except (CannotRead, OSError, ValueError, TypeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    # a terminal that lacks a letter gets its code
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding))
    if told.html:
        print(f"\nThe report with the tree drawn is in {told.html}.")
    return 0


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m ensemble_simplify",
        description="Try what a fitted model can become, and compare the results.",
    )
    parser.add_argument(
        "model", type=Path, help="fitted model, written by joblib, pickle or skops (.skops)"
    )
    parser.add_argument("data", type=Path, help="table with a header, in CSV")
    parser.add_argument("--target", help="column that holds the true labels or values")
    parser.add_argument("--max-leaves", type=int, default=8, help="leaves to read (default: 8)")
    parser.add_argument(
        "--time-limit", type=float, default=None, help="seconds in all (default: none)"
    )
    parser.add_argument("--html", type=Path, help="where to write a page with the tree drawn")
    parser.add_argument("--random-state", type=int, default=0, help="seed (default: 0)")
    parser.add_argument(
        "--trust", action="store_true", help="load every type in a .skops file, known or not"
    )
    parser.add_argument("--verbose", action="store_true", help="print the progress")
    return parser


def _model(path, *, trust):
    if not path.is_file():
        raise CannotRead(f"there is no file {path}.")
    if path.suffix == ".skops":
        return _skops(path, trust=trust)
    import joblib

    try:
        return joblib.load(path)
    except (ImportError, AttributeError) as error:
        raise CannotRead(
            f"{path} needs a module that is not installed, or is of another version: {error}"
        ) from error
    except Exception as error:  # whatever a damaged file makes the unpickler raise
        raise CannotRead(
            f"{path} is not a model that joblib can read: {error}. Save the model again, with "
            "joblib.dump."
        ) from error


def _skops(path, *, trust):
    try:
        from skops import io
    except ImportError as error:
        raise CannotRead(f"{path} is read with skops, which is not installed.") from error
    try:
        unknown = io.get_untrusted_types(file=path)
        if trust or not unknown:
            return io.load(path, trusted=unknown)
    except Exception as error:  # whatever a damaged file makes skops raise
        raise CannotRead(
            f"{path} is not a model that skops can read: {error}. Save the model again, with "
            "skops.io.dump."
        ) from error
    raise CannotRead(
        f"{path} holds types that skops does not know: {', '.join(unknown)}. If you trust the "
        "file, add --trust."
    )


def _rows(path, target, model):
    """The columns that the model was fitted on, and the target."""
    try:
        import pandas as pd
    except ImportError as error:
        raise CannotRead("tables are read with pandas, which is not installed.") from error
    if not path.is_file():
        raise CannotRead(f"there is no file {path}.")
    try:
        table, y = pd.read_csv(path), None
    except ValueError as error:  # of pandas' parser, or of the encoding
        raise CannotRead(
            f"{path} is not a table that pandas can read: {error}. Give a table with a header, in "
            "CSV and UTF-8."
        ) from error
    if target is not None:
        if target not in table.columns:
            raise CannotRead(f"{path} has no column {target!r}. It has {_some(table.columns)}.")
        if table[target].isna().any():
            raise CannotRead(f"the column {target!r} of {path} has empty entries. Fill them in.")
        y = table.pop(target).to_numpy()
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        if (n := getattr(model, "n_features_in_", table.shape[1])) != table.shape[1]:
            raise CannotRead(
                f"{path} has {table.shape[1]} columns besides the target, but the model was "
                f"fitted on {n}. Give its columns alone, and the target's name."
            )
        return table.to_numpy(), y
    missing = [name for name in names if name not in table.columns]
    if missing:
        raise CannotRead(
            f"{path} has no column {missing[0]!r}, on which the model was fitted. It has "
            f"{_some(table.columns)}."
        )
    return _typed(table[list(names)], model), y


def _typed(table, model):
    """The table with pandas' categories where the model wants such."""
    try:
        known = table_of(model)
    except (TypeError, ValueError, ImportError):
        return table
    return known.decode(known.encode(table)) if known.as_category else table


def _some(names):
    shown = ", ".join(repr(name) for name in list(names)[:8])
    return shown + (", ..." if len(names) > 8 else "")
