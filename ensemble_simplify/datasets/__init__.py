"""Small real tables to try things on, shipped with the package; see README.md beside this file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sklearn.utils import Bunch

__all__ = ["load_credit", "load_heart", "load_heart_tests", "load_parkinsons"]


def load_heart(*, return_X_y: bool = False) -> Any:
    """Load findings on 303 patients: numbers, text and seven gaps.

    The question is whether an artery of the heart is narrowed: "yes" for 139 patients, "no" for
    164.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return only the table and the answers, as scikit-learn's loaders do.

    Returns
    -------
    data : Bunch or tuple
        ``(X, y)``, or a Bunch with ``data`` (DataFrame of shape (303, 13)), ``target`` (Series),
        ``frame`` (both), ``feature_names``, ``target_names`` and ``DESCR`` (source and licence).

    Raises
    ------
    ImportError
        If pandas is not installed.

    Examples
    --------
    >>> from ensemble_simplify.datasets import load_heart
    >>> X, y = load_heart(return_X_y=True)
    >>> X.shape, sorted(set(X["thallium"].dropna()))
    ((303, 13), ['fixed defect', 'normal', 'reversible defect'])
    """
    return _loaded("heart_cleveland.csv", "disease", return_X_y)


def load_credit(*, return_X_y: bool = False) -> Any:
    """Load 1,000 loans of a bank in South Germany, 1973 to 1975, in numbers and words.

    The risk was "good" for 700 of them and "bad" for 300, more than among all loans of the bank.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return only the table and the answers, as scikit-learn's loaders do.

    Returns
    -------
    data : Bunch or tuple
        ``(X, y)``, or a Bunch with ``data`` (DataFrame of shape (1000, 14)), ``target`` (Series),
        ``frame`` (both), ``feature_names``, ``target_names`` and ``DESCR`` (source and licence).

    Raises
    ------
    ImportError
        If pandas is not installed.

    Examples
    --------
    >>> from ensemble_simplify.datasets import load_credit
    >>> X, y = load_credit(return_X_y=True)
    >>> X.shape, int((y == "bad").sum())
    ((1000, 14), 300)
    """
    return _loaded("south_german_credit.csv", "risk", return_X_y)


def load_parkinsons(*, return_X_y: bool = False) -> Any:
    """Load 22 measures of 195 voice recordings of 31 people.

    The answer is 1 for recordings of people with Parkinson's disease, and 0 for the others.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return only the table and the answers, as scikit-learn's loaders do.

    Returns
    -------
    data : Bunch or tuple
        ``(X, y)``, or a Bunch with ``data`` (DataFrame of shape (195, 22)), ``target`` (Series),
        ``frame`` (both), ``feature_names``, ``target_names`` and ``DESCR`` (source and licence).

    Raises
    ------
    ImportError
        If pandas is not installed.

    Examples
    --------
    >>> from ensemble_simplify.datasets import load_parkinsons
    >>> load_parkinsons().data.shape
    (195, 22)
    """
    return _loaded("parkinsons.csv", "target", return_X_y)


def load_heart_tests(*, return_X_y: bool = False) -> Any:
    """Load 13 tests of 270 heart patients, with what each of the tests costs.

    The answer is 1 for patients with heart disease, and 0 for the others.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return only the table and the answers, as scikit-learn's loaders do.

    Returns
    -------
    data : Bunch or tuple
        ``(X, y)``, or a Bunch with ``data`` (DataFrame of shape (270, 13)), ``target`` (Series),
        ``frame`` (both), ``feature_names``, ``target_names``, ``DESCR`` (source and licence) and
        ``prices``: a DataFrame with a row a test, in Canadian dollars. ``price`` is the price of a
        test whose group is paid, and ``group_price`` what the tests of its ``group`` share.

    Raises
    ------
    ImportError
        If pandas is not installed.

    Examples
    --------
    >>> from ensemble_simplify.datasets import load_heart_tests
    >>> tests = load_heart_tests()
    >>> tests.data.shape, float(tests.prices.loc["thal", "price"])
    ((270, 13), 1.0)
    """
    data = _loaded("heart_statlog.csv", "target", return_X_y)
    if not return_X_y:
        data.prices = _read("heart_statlog_prices.csv", index_col="feature")
    return data


def _read(name, **options):
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "The tables of ensemble_simplify.datasets are pandas DataFrames, and pandas is not "
            "installed. Install pandas."
        ) from error
    return pd.read_csv(Path(__file__).with_name(name), **options)


def _loaded(name, target, return_X_y):
    frame = _read(name)
    X, y = frame.drop(columns=target), frame[target]
    if return_X_y:
        return X, y
    sources = Path(__file__).with_name("README.md").read_text(encoding="utf-8").splitlines()
    return Bunch(
        data=X,
        target=y,
        frame=frame,
        feature_names=list(X),
        target_names=sorted(y.unique().tolist()),
        DESCR=next(line for line in sources if f"`{name}`" in line),
    )
