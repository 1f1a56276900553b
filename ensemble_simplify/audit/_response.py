"""Which answer of a model a question is about: its class, the probability of one, or its value."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ensemble_simplify.proof import rising_sums
from ensemble_simplify.writing import plain

RESPONSES = ("auto", "class", "proba", "value")


class Response(NamedTuple):
    """What is asked.

    Attributes
    ----------
    kind : {"class", "proba", "value"}
    column : int
        The class whose probability counts; 0 of a value.
    """

    kind: str
    column: int = 0

    @classmethod
    def of(cls, audited, response, positive=None):
        """The response that a user names, if the model has it."""
        name, classes = audited.model.name, audited.forest.classes
        if response == "auto":
            response = "value" if classes is None else "class"
        if response == "class":
            if classes is None:
                raise TypeError(
                    f"response='class' asks about classes, but {name}(...) is a regressor. Use "
                    "response='value'."
                )
            return cls("class")
        if (response == "value") != (classes is None):
            kind, other = ("regressor", "value") if classes is None else ("classifier", "proba")
            raise TypeError(
                f"response={response!r} does not go with {name}(...), which is a {kind}. Use "
                f"response={other!r}."
            )
        if response == "value":
            if positive is not None:
                raise ValueError(
                    f"positive={positive!r} names a class, but {name}(...) is a regressor. Leave "
                    "it out."
                )
            found = cls("value")
        else:
            found = cls("proba", _class_of(classes.tolist(), positive))
        if rising_sums(audited.forest, found.column)[0] is None:
            raise TypeError(
                f"response={response!r} asks about numbers, but those of {name}(...) are neither "
                "sums of what its trees say nor the sigmoid or softmax of such sums. Ask about "
                "its class."
            )
        return found

    def numbers(self, model, rows):
        """What the model itself answers to rows: classes, or float64 of shape (n_rows,)."""
        if self.kind == "class":
            return model.answers(rows)
        if self.kind == "value":
            return np.asarray(model.answers(rows), dtype=np.float64)
        return np.asarray(model.answers(rows, "predict_proba"), dtype=np.float64)[:, self.column]


def _class_of(classes, positive):
    """The number of the class whose probability counts."""
    if positive is not None:
        if plain(positive) not in classes:
            raise ValueError(f"positive={positive!r} is not one of the classes {classes}.")
        return classes.index(plain(positive))
    if len(classes) != 2:
        raise ValueError(
            f"The model has the classes {classes}. Name the one whose probability counts as "
            "positive."
        )
    return 1
