"""Models for those who serve and keep them: MLflow, over JSON, and skops."""

from __future__ import annotations

import sys
from importlib import import_module
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from numpy.typing import ArrayLike

from ensemble_simplify.base import safe_indexing
from ensemble_simplify.front._result import Simplification
from ensemble_simplify.front._simplified import SimplifiedModel
from ensemble_simplify.writing import export_model, import_model, write_text

# Rows that show what a model takes.
_SHOWN = 5
# What else the files of skops hold: they are plain data.
_PLAIN = (
    *("pandas.DataFrame", "pandas.StringDtype"),
    *("sklearn.tree._tree.Tree", "sklearn.utils._bunch.Bunch"),
)


def save_mlflow(model: Any, path: str | PathLike, *, X: ArrayLike | None = None) -> None:
    """Write a model as an MLflow model, which holds JSON and no pickle.

    ``mlflow.pyfunc.load_model(path)`` reads it and answers labels, or values in regression.
    ``mlflow models serve`` and registries take it, too. It needs the package mlflow, or
    mlflow-skinny.

    Read more in the :ref:`guide <ecosystem>`.

    Parameters
    ----------
    model : Simplification, SimplifiedModel or estimator
        The recommended tree of :func:`simplify`, one of its trees, or an ensemble or a tree that
        :func:`export_model` writes.
    path : str or path-like
        A folder, which is made.
    X : array-like or data frame of shape (n_samples, n_features) or None, default=None
        Some rows, of which MLflow keeps the types as the signature and the first as an example.

    Raises
    ------
    TypeError
        If the model is a scorecard of :func:`simplify`, or cannot be written in JSON.

    See Also
    --------
    import_model : Reads JSON without MLflow.

    Examples
    --------
    >>> import mlflow  # doctest: +SKIP
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from ensemble_simplify import save_mlflow
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    >>> save_mlflow(forest, "forest", X=X)  # doctest: +SKIP
    >>> mlflow.pyfunc.load_model("forest").predict(X[:2])  # doctest: +SKIP
    array([0, 0])
    """
    pyfunc, models = import_module("mlflow.pyfunc"), import_module("mlflow.models")
    if isinstance(model, Simplification):
        model = model.results[model.best]
    if isinstance(model, SimplifiedModel) and model.named_card is not None:
        raise TypeError(
            "model is a scorecard of simplify, which JSON cannot hold. Give the tree, as of "
            'simplify(kinds=("tree",)).'
        )
    with TemporaryDirectory() as folder:
        file = Path(folder) / "model.json"
        if isinstance(model, SimplifiedModel):
            file = file.with_stem("simplified")
            model.save(file)
        else:
            write_text(file, export_model(model, "json", X=X))
        about = {}
        if X is not None:
            answers = model.predict(X)
            shown: Any = X
            if hasattr(shown, "select_dtypes"):
                # MLflow calls categories texts, and refuses them then
                shown = shown.astype(dict.fromkeys(shown.select_dtypes("category"), object))
            about = {
                "signature": models.infer_signature(shown, answers),
                "input_example": safe_indexing(shown, slice(_SHOWN)),
            }
        pyfunc.save_model(
            str(path),
            loader_module="ensemble_simplify.front",
            data_path=str(file),
            pip_requirements=[f"ensemble-simplify=={sys.modules['ensemble_simplify'].__version__}"],
            **about,
        )


class _Served:
    """What MLflow asks for predictions."""

    def __init__(self, model):
        self.model = model

    def predict(self, model_input, params=None):
        """The answers to some rows."""
        return self.model.predict(model_input)


def _load_pyfunc(path):
    """What MLflow calls with the place of the data."""
    path = Path(path)
    path = path if path.is_file() else next(path.glob("*.json"))
    if path.stem == "simplified":
        return _Served(SimplifiedModel.load(path))
    return _Served(import_model(path.read_text("utf-8")))


def trusted_types(file: str | PathLike) -> list[str]:
    """The types of this package, and of plain data, that a file of skops needs.

    ``skops.io.load(file, trusted=trusted_types(file))`` reads a fitted estimator of this package.
    skops refuses the file if it needs any other type that it does not trust itself. It needs the
    package skops.

    Parameters
    ----------
    file : str or path-like
        What ``skops.io.dump`` wrote.

    Returns
    -------
    names : list of str
        Only classes are among them, whose attributes are set, and no functions, which would be run.

    See Also
    --------
    import_model : Reads models from JSON.

    Examples
    --------
    >>> import skops.io  # doctest: +SKIP
    >>> from sklearn.datasets import load_iris
    >>> from ensemble_simplify import CultivatedForestClassifier, trusted_types
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = CultivatedForestClassifier(random_state=0).fit(X, y)
    >>> skops.io.dump(forest, "forest.skops")  # doctest: +SKIP
    >>> skops.io.load("forest.skops", trusted=trusted_types("forest.skops"))  # doctest: +SKIP
    CultivatedForestClassifier(random_state=0)
    """
    from skops.io import get_untrusted_types

    return [name for name in get_untrusted_types(file=file) if name in _PLAIN or _is_own(name)]


def _is_own(name):
    module, _, attribute = name.rpartition(".")
    if not module.startswith("ensemble_simplify."):
        return False
    return isinstance(getattr(import_module(module), attribute, None), type)
