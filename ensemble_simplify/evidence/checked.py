"""A file of evidence, checked, and compared with models at hand."""

from __future__ import annotations

import json
from dataclasses import dataclass
from os import PathLike
from typing import Any

from ensemble_simplify.evidence import checker
from ensemble_simplify.evidence.document import NoEvidence, model_in_json
from ensemble_simplify.reading import Model, common_forests, common_table

# Said where models are at hand, by how many these are.
_WHICH = {
    1: " Model A is the one that was given.",
    2: " Model A is the first one that was given, and model B the second one.",
}


@dataclass(frozen=True)
class CheckedEvidence:
    """Outcome of `check`.

    It is true (in the sense of ``if``) only if the evidence proves its claim, and is about the
    models that were given.

    Attributes
    ----------
    proven : bool or None
        True: the evidence proves its claim. False: it does not, or it is about other models. None:
        the file could not be checked, see `reason`.
    claim : str or None
        What is proven, in a sentence that the checker made from the data of the file.
    reason : str or None
        Why the claim is not proven, or why the file could not be checked.

    Examples
    --------
    >>> from ensemble_simplify import check
    >>> check("nowhere.json")
    CheckedEvidence(cannot tell: the file cannot be read: ...)
    """

    proven: bool | None
    claim: str | None = None
    reason: str | None = None

    def __bool__(self):
        return self.proven is True

    def __repr__(self):
        if self.proven:
            return f"CheckedEvidence(proven: {self.claim})"
        word = "not proven" if self.proven is False else "cannot tell"
        return f"CheckedEvidence({word}: {self.reason})"


def check(path: str | PathLike, *models: Any) -> CheckedEvidence:
    """Check a file of evidence again, and whether it is about the models that you have.

    The check shares no code with what made the file, and computes everything in the proof again.
    Only to compare the file with `models`, these are read by this package.

    Read more in the :ref:`guide <evidence>`.

    Parameters
    ----------
    path : str or path-like
        The file that ``save`` of an outcome wrote.
    *models : estimators
        Fitted models, as many as the file holds, in its order. Their trees, votes, columns and
        levels must be those in the file. Without them, the file is checked alone: its claim is
        about the models that it holds, whoever made these.

    Returns
    -------
    outcome : CheckedEvidence
        It is true if the claim is proven, and has the ``claim`` in words.

    Raises
    ------
    TypeError
        If a model cannot be read.
    ValueError
        If more or fewer models are given than the file holds.

    See Also
    --------
    verify : Whether two models answer alike. Its outcome has the method ``save``.

    Notes
    -----
    ``python -m ensemble_simplify check evidence.json`` does the same without models. The checker
    itself is one file that needs NumPy alone; ``ensemble_simplify.evidence.checker.__file__`` says
    where it is.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from ensemble_simplify import check, verify
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    >>> again = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    >>> other = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "evidence.json")
    ...     verify(tree, again).save(path)
    ...     check(path, tree, again)
    ...     check(path, tree, other)
    CheckedEvidence(proven: For every input of finite float64 numbers: model A
        (DecisionTreeClassifier of 1 tree) and model B (DecisionTreeClassifier of 1 tree) answer the
        same class. Model A is the first one that was given, and model B the second one.)
    CheckedEvidence(not proven: it is about other models than those that were given)
    """
    try:
        text = checker.text_of(path)
        claim = checker.check_text(text)
    except checker.Unproven as error:
        return CheckedEvidence(False, reason=str(error))
    except checker.Refused as error:
        return CheckedEvidence(None, reason=str(error))
    if models:
        held = [own["sha256"] for own in json.loads(text)["models"]]
        if len(held) != len(models):
            raise ValueError(
                f"{len(models)} models were given, but the evidence is about {len(held)}. Give as "
                "many, in the order of the file, or none."
            )
        if not any(own == held for own in _hashes(models)):
            reason = "it is about other models than those that were given"
            return CheckedEvidence(False, claim, reason)
        claim += _WHICH[len(models)]
    return CheckedEvidence(True, claim)


def _hashes(models):
    """Lists of hashes of models, in all ways in which evidence reads them."""
    for voting in ("estimator", "hard"):
        try:
            read = [Model.of(model, voting=voting) for model in models]
            if len(read) == 2:
                _, read = common_table(read)
            ways = [[m.finest for m in read], [m.forest for m in read]]
            ways += [common_forests(read)] if len(read) == 2 else []
            for forests in ways:
                yield [model_in_json(*own)["sha256"] for own in zip(read, forests, strict=True)]
        except (TypeError, ValueError, NoEvidence):
            # what has no such votes; the way of reading that the evidence took raised no error
            if voting == "estimator":
                raise
