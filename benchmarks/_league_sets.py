"""The sets of the league, and its cells: a split of a set, a forest, and its answers.

Sets of packages were chosen by their names and descriptions alone, before any result was looked at:
at least 300 rows, a class or a number that one would ask for, and no relative of a set that took
part in choosing a default. Columns that give the target away are dropped. Others are the papers'.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.model_selection import train_test_split

from benchmarks._tables_of_packages import Source, read

MAX_ROWS = 2000
SETTINGS = ("own rows", "all rows")
NEW = {
    "c_credit_cards": Source("AER", "CreditCard", "card", drop="share expenditure"),
    "c_school": Source("AER", "GSOEP9402", "school"),
    "c_britain": Source("carData", "BEPS", "vote"),
    "c_monica": Source("DAAG", "monica", "outcome"),
    "c_benefits": Source("Ecdat", "Benefits", "ui"),
    "c_crackers": Source("Ecdat", "Cracker", "choice", drop="id"),
    "c_fishing": Source("Ecdat", "Fishing", "mode", drop="price catch"),
    "c_trains": Source("Ecdat", "Train", "choice", drop="id choiceid"),
    "c_colleges": Source("ISLR", "College", "Private"),
    "c_prenatal": Source("mlmRev", "guPrenat", "prenat", drop="kid mom cluster"),
    "c_alzheimer": Source("modeldata", "ad_data", "Class"),
    "c_credit": Source("modeldata", "credit_data", "Status"),
    "c_bodies": Source("openintro", "bdims", "sex"),
    "c_trump": Source("stevedata", "TV16", "votetrump", drop="uid"),
    "r_schools": Source("AER", "CASchools", "math", True, "district school read"),
    "r_rain": Source("crch", "RainIbk", "rain", True),
    "r_language": Source(
        "mlmRev", "bdf", "langPOST", True,
        "schoolNR pupilNR classNR aritPOST IQ.ver.cen avg.IQ.ver.cen grpSiz.cen",
    ),
    "r_checks": Source("modeldata", "check_times", "check_time", True, "package status"),
    "r_houses_saratoga": Source("mosaicData", "SaratogaHouses", "price", True),
    "r_rice": Source("plm", "RiceFarms", "goutput", True, "id noutput"),
    "r_houses_grinnell": Source(
        "Stat2Data", "GrinnellHouses", "SalePrice", True,
        "Address CostPerSqFt OrigPrice ListPrice SPLPPct",
    ),
    "r_airfares": Source(
        "wooldridge", "airfare", "fare", True, "id lfare ldist ldistsq lpassen"
    ),
}  # fmt: skip
PAPERS = (
    "australian", "eeg_eye_state", "fico_heloc", "magic", "pima_diabetes", "spambase",
    "steel_plates", "vehicle", "boston_housing", "ozone",
)  # fmt: skip
OF_VALUES = ("boston_housing", "ozone")


def names(data):
    """All sets that can be read, classification first; those of papers need a directory."""
    found = [*NEW, *(PAPERS if data else ())]
    return sorted(found, key=is_regression)  # stable


def is_regression(name):
    return name.startswith("r_") or name in OF_VALUES


def as_numbers(frame):
    """The columns of a frame as float32 numbers: codes for text, the median for other gaps."""
    X = pd.DataFrame(
        {
            column: values.astype(float)
            if pd.api.types.is_numeric_dtype(values)
            else pd.Categorical(values.astype("string")).codes
            for column, values in frame.items()
        }
    ).to_numpy(dtype=float)
    return np.where(np.isnan(X), np.nanmedian(X, axis=0), X).astype(np.float32).astype(float)


def load(name, data):
    """Numbers and targets of a set: every contestant sees the same.

    Text becomes codes in the order of the alphabet, unknown levels -1; other gaps the median. At
    most 2,000 rows, drawn at random.
    """
    if name in NEW:
        X, y = read(NEW[name], MAX_ROWS)
    else:
        table = np.genfromtxt(Path(data) / f"{name}.csv", delimiter=",", skip_header=1)
        rows = np.random.default_rng(0).permutation(len(table))[:MAX_ROWS]
        X, y = pd.DataFrame(table[rows, :-1]), table[rows, -1]
    X = as_numbers(X)
    if is_regression(name):
        return X, np.asarray(y, dtype=float)
    _, y, counts = np.unique(y, return_inverse=True, return_counts=True)
    often = counts[y] >= 10
    return X[often], np.unique(y[often], return_inverse=True)[1]


class Cell:
    """The rows of a split, and a forest with its answers to them; kept in a file.

    The forest is fitted on all of the user's rows ("own rows") or on 60 % of them ("all rows"); a
    third of the set judges.
    """

    def __init__(self, path, name, split):
        with np.load(path) as arrays:
            for key in arrays.files:
                setattr(self, key, arrays[key])
        self.name, self.split = name, split
        self._forest = None

    @property
    def regression(self):
        return is_regression(self.name)

    @property
    def forest(self):
        """The forest, fitted again; it has to answer as it did."""
        if self._forest is None:
            self._forest = fit_forest(self.X[self.seen], self.y[self.seen], self.split, self.name)
            if not np.array_equal(self._forest.predict(self.X_test), self.answers_test):
                raise RuntimeError(f"the forest of {self.name}, split {self.split}, is another now")
        return self._forest


def fit_forest(X, y, seed, name):
    kind = RandomForestRegressor if is_regression(name) else RandomForestClassifier
    return kind(n_jobs=1, random_state=seed).fit(X, y)


def make_cell(path, name, split, setting, data):
    """Write the file of a cell, unless it is there."""
    if path.exists():
        return
    from ensemble_simplify.reading import out_of_bag

    X, y = load(name, data)
    classes = None if is_regression(name) else y
    X, X_test, y, y_test = train_test_split(
        X, y, train_size=2 / 3, stratify=classes, random_state=split
    )
    seen = np.arange(len(X))
    if setting == "all rows":
        classes = None if is_regression(name) else y
        seen, _ = train_test_split(seen, train_size=0.6, stratify=classes, random_state=split)
    forest = fit_forest(X[seen], y[seen], split, name)
    answers = forest.predict(X)
    oob, voted = (
        out_of_bag(forest, X) if setting == "own rows" else (answers, np.ones(len(X), bool))
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.npz")  # another run may write it, too
    np.savez_compressed(
        part, X=X, y=y, X_test=X_test, y_test=y_test, seen=seen, answers=answers,
        answers_test=forest.predict(X_test), oob=oob, voted=voted,
    )  # fmt: skip
    part.replace(path)
