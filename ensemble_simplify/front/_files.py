"""The files of the command: models of all kinds, and tables as the models know them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from ensemble_simplify.front._simplified import SimplifiedModel, is_saved
from ensemble_simplify.reading import OnnxModel, family_of
from ensemble_simplify.writing import import_model, replacing, write_text


class CannotRead(Exception):
    """A file is of no use, or its columns do not go with the model; the text says why."""


# ------------------------------------------------------------------- models


def read_model(path: Path, *, trust: bool) -> Any:
    """The model in a file, by the end of its name; with `trust`, skops loads whatever it holds."""
    if not path.is_file():
        raise CannotRead(f"there is no file {path}.")
    if (kind := path.suffix.lower()) in _LIBRARIES:
        return _of_library(path, *_LIBRARIES[kind])
    if kind == ".json":
        return _of_json(path)
    if path.suffix != ".skops" or trust:
        print(
            f"Note: loading {path} can run any code that is in it. Load only files that you trust.",
            file=sys.stderr,
        )
    if path.suffix == ".skops":
        unknown, read = _of_library(path, "a model that skops saved", _skops)
        if unknown and not trust:
            raise CannotRead(
                f"{path} holds types that skops does not know: {', '.join(unknown)}. If you trust "
                "the file, add --trust."
            )
        return _of_library(path, "a model that skops saved", read)
    if is_saved(path):
        return SimplifiedModel.load(path)
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


def _boosted(path):
    import lightgbm

    return lightgbm.Booster(model_file=str(path))


def _extreme(path):
    import xgboost

    return xgboost.Booster(model_file=str(path))


def _cat(path):
    import catboost

    model = catboost.CatBoost().load_model(str(path))
    try:
        return catboost.to_classifier(model)
    except catboost.CatBoostError:  # it is none
        return model


# By the end of a file's name: what it is called, and what reads it.
_LIBRARIES = {
    ".onnx": ("an ONNX graph of one ensemble of trees", OnnxModel),
    ".txt": ("a model that LightGBM saved", _boosted),
    ".ubj": ("a model that XGBoost saved", _extreme),
    ".cbm": ("a model that CatBoost saved", _cat),
}


def _of_library(path, what, read):
    """A model in the form of another library."""
    try:
        return read(path)
    except ImportError as error:
        raise CannotRead(f"{path} is read with a library that is not installed: {error}") from error
    except Exception as error:  # whatever the library raises
        first = str(error).strip().split("\n")[0]
        raise CannotRead(
            f"{path} is not {what}, as the end of its name says: {first}. Save the model again."
        ) from error


def _of_json(path):
    """A tree or an ensemble that was exported, or a model of XGBoost."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):  # said by SimplifiedModel
        found = None
    if isinstance(found, dict) and found.get("format") == "ensemble_simplify.ensemble":
        return import_model(path.read_text(encoding="utf-8"))
    if isinstance(found, dict) and "learner" in found:
        return _of_library(path, *_LIBRARIES[".ubj"])
    return SimplifiedModel.load(path)


def _skops(path):
    """The types in a file that skops does not know, and what reads it all the same."""
    from skops import io

    unknown = io.get_untrusted_types(file=path)
    return unknown, lambda path: io.load(path, trusted=unknown)


# ------------------------------------------------------------------- tables


def read_rows(path: Path, models: list, target: str | None = None, *, labelled=True) -> tuple:
    """The columns that the first model was fitted on, and those of the target, or None.

    Columns of levels come as the models know them: what pandas takes for a gap ("None", "NA", ...)
    is a level where one of them knows such a level, and "01" is no number. Tables that are not
    `labelled` may lack the target.
    """
    table, texts = _frame(path)
    model, known = models[0], [own for own in map(_table_of, models) if own is not None]
    y = None
    if target is not None and (labelled or target in table.columns):
        if target not in table.columns:
            raise CannotRead(f"{path} has no column {target!r}. It has {_some(table.columns)}.")
        y = _labels(table.pop(target), texts, getattr(model, "classes_", None))
    names = getattr(model, "feature_names_in_", None)
    if names is None:  # as native boosters know them
        names = next((own.names for own in known if own.names is not None), None)
    if names is None:
        if (n := getattr(model, "n_features_in_", table.shape[1])) != table.shape[1]:
            beside = "" if y is None else " besides the target"
            raise CannotRead(
                f"{path} has {table.shape[1]} columns{beside}, but the model was fitted on {n}. "
                "Give its columns alone, and the target's name."
            )
        return _with_levels(table, texts, known).to_numpy(), y
    missing = [name for name in names if name not in table.columns]
    if missing:
        raise CannotRead(
            f"{path} has no column {missing[0]!r}, on which the model was fitted. It has "
            f"{_some(table.columns)}."
        )
    table = _with_levels(table[list(names)], texts, known)
    return known[0].as_taken(table) if known else table, y


def _frame(path):
    """A table as pandas reads it, and as it is written, all text; None where it has types."""
    try:
        import pandas as pd
    except ImportError as error:
        raise CannotRead("tables are read with pandas, which is not installed.") from error
    if not path.is_file():
        raise CannotRead(f"there is no file {path}.")
    kind = path.suffix.lower()
    try:
        if kind == ".parquet":
            return pd.read_parquet(path, engine="pyarrow"), None
        own = {"sep": "\t" if kind == ".tsv" else ","}
        read = pd.read_csv(path, low_memory=False, **own)
        return read, pd.read_csv(path, dtype=str, na_filter=False, **own)
    except ImportError as error:
        raise CannotRead(
            f"{path} is read with pyarrow, which is not installed. Install it, or give a table in "
            "CSV."
        ) from error
    except (ValueError, OSError) as error:  # of a parser, or of the encoding
        raise CannotRead(
            f"{path} is not a table that pandas can read: {error}. Give a table with a header, in "
            "CSV (with commas) or TSV (.tsv) and UTF-8, or in Parquet (.parquet)."
        ) from error


def write_answers(path: Path | None, columns: dict) -> str:
    """A table of answers, as text in CSV, or in a file whose name says how; "" then."""
    import pandas as pd

    table = pd.DataFrame(columns)
    kind = "" if path is None else path.suffix.lower()
    text = table.to_csv(index=False, sep="\t" if kind == ".tsv" else ",", lineterminator="\n")
    if path is None:
        return text
    if kind != ".parquet":
        write_text(path, text)
        return ""
    try:
        with replacing(path) as new:
            table.to_parquet(new, engine="pyarrow", index=False)
    except ImportError as error:
        raise CannotRead(
            f"{path} is written with pyarrow, which is not installed. Install it, or end the name "
            "in .csv."
        ) from error
    return ""


def _labels(column, texts, classes):
    """Labels: text where the classes are, and gaps where no class is called so."""
    if getattr(classes, "dtype", np.dtype(int)).kind not in "OSU":
        return column.to_numpy()
    known = set(map(str, classes.tolist()))
    if texts is None:
        return column.map(str, na_action="ignore").to_numpy(dtype=object)
    written = texts[column.name].astype(object)
    return written.where(column.notna() | written.isin(known), np.nan).to_numpy(dtype=object)


def _with_levels(table, texts, known):
    """A table whose columns hold the levels that some tables know, as these know them."""
    columns = {}
    for j, name in enumerate(table.columns):
        own = []
        for other in known:
            names = [] if other.names is None else list(other.names)
            at = names.index(name) if name in names else j  # boosters' names can have other signs
            own += [column for column in other.columns[at : at + 1] if column.levels is not None]
        if any(isinstance(level, str) for column in own for level in column.levels.tolist()):
            columns[name] = _entries(table[name], None if texts is None else texts[name], own)
    return table.assign(**columns)


def _entries(read, written, columns):
    """The entries of a column in which some models know levels that are text."""
    gap = None if columns[0].lacks_none else np.nan
    if written is None:
        return read.astype(object).where(read.notna().to_numpy(), gap).to_numpy(dtype=object)
    level_of = {}
    for column in columns[::-1]:  # of two levels with the same text, that of the first model
        levels = [level for level in column.levels.tolist() if level == level and level is not None]
        level_of |= {column.key(str(level)): level for level in levels}
    entry_of = {}
    for text, lacks in dict(zip(written.tolist(), read.isna().tolist(), strict=True)).items():
        keys = [key for column in columns if (key := column.key(text)) in level_of]
        entry = level_of[keys[0]] if keys else gap if lacks else text
        # of levels that a model knows by their hashes alone, what is written is the name
        entry_of[text] = text if isinstance(entry, str) else entry
    entries = np.empty(len(written), dtype=object)
    entries[:] = [entry_of[text] for text in written.tolist()]
    return entries


def _table_of(model):
    """The table that a model takes, as far as it can be told."""
    try:
        return family_of(model).table()
    except (TypeError, ValueError, ImportError):
        return None


def _some(names):
    shown = ", ".join(repr(name) for name in list(names)[:8])
    return shown + (f" and {len(names) - 8} more" if len(names) > 8 else "")
