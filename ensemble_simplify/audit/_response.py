"""Which answer of a model a question is about: its class, the probability of one, or its value.

A `Question` is about classes: those of the model, or "below", "within" and "above" a range of the
numbers that it answers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ensemble_simplify.grid import last_within
from ensemble_simplify.proof import rising_sums
from ensemble_simplify.reading import OnnxModel
from ensemble_simplify.writing import number, plain

# Classes of a number: below a range, in it, above it.
BELOW, WITHIN, ABOVE = 0, 1, 2
RESPONSES = ("auto", "class", "probabilities", "value")


class Response(NamedTuple):
    """What is asked."""

    kind: str  # "class", "probabilities" or "value"
    column: int = 0  # the class whose probability counts

    @classmethod
    def of(cls, audited, response, positive=None, *, rising=True):
        """The response that a user names, if the model has it.

        Of numbers, those that are no function of sums that rise with them are refused, if `rising`.
        """
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
            kind, other = (
                ("regressor", "value") if classes is None else ("classifier", "probabilities")
            )
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
            asked = cls("value")
        else:
            asked = cls("probabilities", class_of(classes.tolist(), positive))
        if rising and rising_sums(audited.forest, asked.column)[0] is None:
            remedy = "Ask about the class: response='class'."
            if classes is None:
                remedy = "Use nearest_flip or sufficient_box, which ask about ranges of it."
            raise TypeError(
                f"response={response!r} asks about numbers, but those of {name}(...) are neither "
                f"sums over its trees, nor a sigmoid or softmax of such sums. {remedy}"
            )
        return asked

    @property
    def method(self):
        """The method of the model that answers."""
        return "predict_proba" if self.kind == "probabilities" else "predict"

    @property
    def in_evidence(self):
        """What is asked about, as evidence says it."""
        return {"output": self.column} if self.kind == "probabilities" else self.kind

    def among(self, answers):
        """Classes, or float64 of shape (n_rows,), in what the method answers to rows."""
        if self.kind == "class":
            return answers
        answers = np.asarray(answers, dtype=np.float64)
        return answers[:, self.column] if self.kind == "probabilities" else answers

    def numbers(self, model, rows):
        """What the model itself answers to rows: classes, or float64 of shape (n_rows,)."""
        return self.among(model.answers(rows, self.method))


def shown_answers(answers):
    """Two answers in words: numbers in few digits, if these tell them apart."""
    if not all(isinstance(answer, float) for answer in answers):
        return [repr(answer) for answer in answers]
    short = [f"{answer:.6g}" for answer in answers]
    return short if short[0] != short[1] else [number(answer) for answer in answers]


def class_of(classes, label, parameter="positive"):
    """The number of the class that a user names in a parameter; by default, the upper of two."""
    if label is not None:
        if plain(label) not in classes:
            raise ValueError(f"{parameter}={plain(label)!r} is not one of the classes {classes}.")
        return classes.index(plain(label))
    if len(classes) != 2:
        raise ValueError(
            f"The model has the classes {classes}. Name the one whose probability counts as "
            f"{parameter}."
        )
    return 1


class Question(NamedTuple):
    """What is asked about rows: their class, or whether a number lies in a range."""

    response: Response
    range: tuple[float, float] | None = None  # both ends belong to it; None: the class is asked

    @classmethod
    def about(cls, response, low, high):
        """The question about a range of numbers: there are no probabilities beyond 0 and 1."""
        if response.kind == "probabilities":
            low, high = (-np.inf if low <= 0.0 else low), (np.inf if high >= 1.0 else high)
        return cls(response, (low, high))

    def forest(self, model):
        """The forest of classes that are asked about."""
        forest = model.finest
        if self.range is None:
            return forest
        link = forest.vote.link
        if self.response.kind == "value":
            if link is not None and not link.is_followed:
                raise TypeError(
                    f"The values of {model.name}(...) are exponentials, which it rounds in its own "
                    "way, so where they enter a range is not known. Ask about a copy of it: "
                    "import_model(export_model(model, 'json'))."
                )
            return forest.in_range(*self.range)
        if isinstance(model.estimator, OnnxModel) and link is not None:
            raise TypeError(
                f"The probabilities of {model.name}(...) are rounded by onnxruntime in its own "
                "way, so where they enter a range is not known. Ask the model that was converted, "
                "or about the class."
            )
        return forest.in_range(*self.range, self.response.column)

    def labels(self, answers):
        """The classes that are asked about, of classes or numbers that were answered."""
        if self.range is None:
            return answers
        low, high = self.range
        return np.where(answers < low, BELOW, np.where(answers > high, ABOVE, WITHIN))


# The question for the class.
CLASS = Question(Response("class"))


def range_of(given, parameter):
    """The range ``(low, high)`` that a user gave, in which None leaves an end open."""
    low, high = given if isinstance(given, tuple | list) and len(given) == 2 else (None, None)
    low = -np.inf if low is None else float(low)
    high = np.inf if high is None else float(high)
    if not low <= high or (low == -np.inf and high == np.inf):
        raise ValueError(
            f"{parameter}={given!r} is no range. Give (low, high) with low <= high. None leaves "
            "one end open."
        )
    return low, high


def range_around(answer, within):
    """The range of the doubles whose difference from an answer is at most a number."""
    low, high = -last_within(-answer, within), last_within(answer, within)
    return float(low), float(high)
