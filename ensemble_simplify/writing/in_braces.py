"""Fitted trees and ensembles in JavaScript, Java, Go and C#, and in Python and C, by one writer.

The walk over the nodes, and what is made of leaves, are functions of the same names and arguments
in a file of each language (`templates`). So what is written for a model, tables and calls of these
functions, differs in the few words of a `Braces`. All numbers are doubles; those of float32 are
rounded to it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date
from importlib.resources import files
from string import Template

import numpy as np

from ensemble_simplify.writing.code import Probability, StepWriter
from ensemble_simplify.writing.words import checked_text, counted, literal_kind, one_line

# Numbers in a line of a table.
_IN_A_LINE = 12
# Lines in a text of Java, which has at most 65,535 bytes.
_LINES = 200


def numbers_in_lines(entries) -> str:
    """Entries of a table; in all languages but Java, a comma may end it."""
    starts = range(0, len(entries), _IN_A_LINE)
    return "".join(f"\n    {', '.join(entries[i : i + _IN_A_LINE])}," for i in starts)


def in_comment(text) -> str:
    """Text inside of a comment: nothing in it ends the comment or joins lines."""
    return (
        one_line(text).replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?").rstrip("\\")
    )


def template_of(file) -> Template:
    """The template of a language; what it does not know raises KeyError."""
    return Template((files(str(__package__)) / "templates" / file).read_text("utf-8"))


def _in_texts(entries) -> str:
    """Entries of a table as texts, for a method of Java has room for some thousands of numbers."""
    size = _IN_A_LINE * _LINES
    texts = [" ".join(entries[i : i + size]) for i in range(0, len(entries), size)]
    return ", ".join(f'\n        "{text}"' for text in texts)


def _go_text(text) -> str:
    """A text in quotes. Halves of characters, of which JSON makes others, are unknown to Go."""
    plain = set(range(32, 127)) - {ord('"'), ord("\\")}
    return '"' + "".join(c if ord(c) in plain else f"\\U{ord(c):08x}" for c in text) + '"'


@dataclass(frozen=True)
class Braces:
    """What is said differently in a language.

    Attributes
    ----------
    file : str
        Its template.
    title : str
        Its name in sentences.
    number, place, levels : str
        Formats of declarations of a `name` as a `value`: a double, an integer, a table of levels.
    types : dict or None
        The types of labels, by those of Python; "probabilities" is that of probabilities.
    infinity, nan : str
    truth : tuple of two str
    product : str
        A format of a product; of one that could be joined with a sum, which rounds once, a
        conversion.
    end : str
        What ends a statement.
    indent : int
        Columns before a statement of the function.
    array : str
        A format of an array of doubles.
    dated : str or None
        A format of an entry that can be a date; None: dates are the texts that Python writes.
    spread : str
        A format of an array, and its length, whose entries are the arguments of a function.
    own : str
        A format of what stands before the names of functions, of the name of the function.
    place_of : str
        A format of a number as a place in an array.
    reads : str
        The function that makes a number of an entry of a row.
    gives : str
        A format of the statement that returns something.
    classes : str
        The table of the classes.
    table : function
        What writes the entries of a table.
    text : function
        What writes a text in quotes.
    names : bool
        Whether columns without names are called x0, x1, ..., or else found by their places.
    """

    file: str
    title: str
    number: str
    place: str
    levels: str
    types: dict | None = None
    infinity: str = "Infinity"
    nan: str = "NaN"
    truth: tuple = ("false", "true")
    product: str = "{}"
    end: str = ";"
    indent: int = 8
    array: str = "new double[] {{{}}}"
    spread: str = "{}"
    own: str = ""
    place_of: str = "{}"
    reads: str = "number"
    gives: str = "return {};"
    classes: str = "CLASSES"
    table: Callable = numbers_in_lines
    text: Callable = json.dumps
    names: bool = True
    dated: str | None = None


_SCRIPT = "const {name} = {value};"
BRACES = {
    "javascript": Braces(
        "model.js",
        "JavaScript",
        _SCRIPT,
        _SCRIPT,
        _SCRIPT,
        array="[{}]",
        spread="...{}",
        indent=4,
        names=False,
        dated="day({})",
    ),
    "java": Braces(
        "Model.java",
        "Java",
        "double {name} = {value};",
        "int {name} = {value};",
        "private static final Map<Object, Integer> {name} = {value};",
        {str: "String", float: "double", int: "long", bool: "boolean", "probabilities": "double[]"},
        infinity="Double.POSITIVE_INFINITY",
        nan="Double.NaN",
        table=_in_texts,
    ),
    "go": Braces(
        "model.go",
        "Go",
        "{name} := {value}",
        # a variable that is not used is an error
        "{name} := {value}; _ = {name}",
        "var {name} = {value}",
        {str: "string", float: "float64", int: "int64", bool: "bool", "probabilities": "[]float64"},
        infinity="math.Inf(1)",
        nan="math.NaN()",
        product="float64({})",
        end="",
        indent=4,
        array="[]float64{{{}}}",
        spread="{}...",
        reads="read",
        gives="return {}, nil",
        classes="Classes",
        text=_go_text,
    ),
    "csharp": Braces(
        "Model.cs",
        "C#",
        "double {name} = {value};",
        "int {name} = {value};",
        "private static readonly Dictionary<object, int> {name} = {value};",
        {str: "string", float: "double", int: "long", bool: "bool", "probabilities": "double[]"},
        infinity="double.PositiveInfinity",
        nan="double.NaN",
    ),
}


def _shortest_date(level):
    """A date, in UTC if it has a zone, without midnight and zeros after the last of its digits."""
    if getattr(level, "tzinfo", None) is not None:
        level = level.astimezone(UTC).replace(tzinfo=None)
    text = str(level)
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return text.removesuffix(" 00:00:00")


def ensemble_in_braces(ensemble, language, probabilities, name, told=()) -> str:
    """A file with a function of a row; see `export_model`. `told` are lines for a comment."""
    return BracesFile(ensemble, BRACES[language], name).text(probabilities, told)


class BracesFile(StepWriter):
    """One file: tables, and the calls that the function makes."""

    def __init__(self, ensemble, braces, name):
        self.ensemble, self.braces, self.name = ensemble, braces, name
        self.own = braces.own.format(name)
        self.steps, self.n_steps = [], 0

    # --------------------------------------------------------------- steps

    def literal(self, value):
        if math.isfinite(value):
            return repr(float(value))
        return f"{'-' if value < 0 else ''}{self.braces.infinity}"

    def _variable(self, value):
        self.n_steps += 1
        self.steps.append(self.braces.number.format(name=f"v{self.n_steps}", value=value))
        return f"v{self.n_steps}"

    def _truth(self, value):
        return self.braces.truth[bool(value)]

    def tree_sum(self, leaf_sum):
        function = f"{self.own}sum{'Single' if leaf_sum.single else ''}"
        place = f"{leaf_sum.start}, {leaf_sum.stop}, {leaf_sum.column}"
        return self._variable(f"{function}(leaf, {place}, {self.literal(leaf_sum.init)})")

    def operation(self, sign, one, two, single):
        value = f"{one} {sign} {two}"
        value = self.braces.product.format(value, own=self.own) if sign == "*" else value
        return self._variable(f"{self.own}single({value})" if single else value)

    def exponential(self, number, single):
        value = f"{self.own}power({number})"
        return self._variable(f"{self.own}single({value})" if single else value)

    def chosen(self, choice):
        numbers = f"{self.literal(choice.yes)}, {self.literal(choice.no)}"
        return self._variable(f"{self.own}choose(label_{choice.label}, {choice.column}, {numbers})")

    def text_of(self, text, lines):
        # only in JavaScript and Python, whose arrays hold what they are given
        label = f"label_{text.label}"
        texts = (f"[{', '.join(map(self.braces.text, own))}]" for own in (("",), *text.texts))
        line = self.braces.place_of.format(f"[{', '.join(['0', *lines])}][{label}]")
        return f"[{', '.join(texts)}][{label}][{line}]"

    def listed(self, numbers):
        """Numbers as the last arguments of a function."""
        return ", ".join(numbers)

    def above(self, label, number, target):
        how, at = self._truth(label.inclusive), self.listed(list(map(self.literal, label.at)))
        at = f", {at}" if at else ""
        self._place(target, f"{self.own}beyond({number}, {label.first}, {how}{at})")

    def largest(self, label, numbers, target):
        listed = self.listed(numbers)
        if label.softmax is not None:
            is_single = self._truth(label.softmax == "float32")
            listed = f"{self.own}softmax({is_single}, {listed})"
            listed = self.braces.spread.format(listed, len(numbers))
        self._place(target, f"{self.own}largest({self._truth(label.last)}, {listed})")

    def _place(self, target, value):
        self.steps.append(self.braces.place.format(name=target, value=value))

    # --------------------------------------------------------------- the whole

    def _kind(self):
        """The type of a label; labels of several types are told by their texts."""
        title = self.braces.title
        kinds = {literal_kind(label, "label", title) for label in self.ensemble.classes or ()}
        return str if len(kinds) > 1 else next(iter(kinds), float)

    def _answered(self, probabilities):
        """What answers, and its type; the steps before are written."""
        code = self.ensemble.code
        self.of_label = self._kind()
        self.labels(code)
        if probabilities:
            return self._probabilities(code.outputs), "probabilities"
        if self.ensemble.classes is None:
            return self.number(code.result), self.of_label
        self.label(code.result, "answer")
        return self._answer("answer"), self.of_label

    def _about(self):
        """What it is, as a sentence."""
        own, leaves = self.ensemble, len(self.ensemble.value)
        trees, columns = counted(own.n_trees, "tree"), counted(own.n_features, "column")
        return f"An ensemble of {trees} with {leaves} leaves on rows of {columns}."

    def text(self, probabilities, told):
        """The whole file."""
        ensemble, braces = self.ensemble, self.braces
        answer, of_answer = self._answered(probabilities)
        types = braces.types or dict.fromkeys([str, float, int, bool, "probabilities"], "")
        space = " " * braces.indent
        # CatBoost knows a truth value by the text of a number
        of_catboost = ensemble.table is not None and bool(ensemble.table.hashed)
        words = ("1", "0") if of_catboost else ("True", "False")
        return template_of(braces.file).substitute(
            self._tables(),
            about=self._comment([self._about(), *told]),
            name=self.name,
            true=words[0],
            false=words[1],
            answer=types[self.of_label],
            returned=types[of_answer],
            n_features=ensemble.n_features,
            n_scores=ensemble.value.shape[1],
            levels="\n".join(self._levels(j) for j in ensemble.coded),
            entries="\n".join(space + line for j in ensemble.used for line in self._entry(j)),
            steps="\n".join(space + step for step in [*self.steps, braces.gives.format(answer)]),
        )

    def _comment(self, lines):
        return in_comment(" ".join(lines)).replace("\\", "/")

    def _answer(self, label):
        """The class of a number."""
        return f"{self.braces.classes}[{label}]"

    def _tables(self):
        """Entries of the tables of the template."""
        ensemble, braces, forest = self.ensemble, self.braces, self.ensemble.forest
        is_leaf, sets = ensemble.leaf >= 0, forest.sets
        # of a leaf, the column is -1, and its number is in the place of the left child; of a set,
        # the end is its number, and the column has the number of columns added
        end, column = np.where(is_leaf, 0.0, ensemble.end), np.where(is_leaf, -1, forest.feature)
        first, codes = [], []
        if sets is not None:
            first, codes, is_set = sets.offsets, sets.goes_left.astype(int), ensemble.is_set
            column[is_set] += ensemble.n_features
            end[is_set] = sets.which[is_set]
        # missing values go left where the right child is negative
        right = np.where(ensemble.missing_left, -forest.right, forest.right)
        ends = list(map(self.literal, end.tolist()))
        if braces.table is _in_texts:
            ends = [text.replace(braces.infinity, "Infinity") for text in ends]
        tables = {
            "end": ends,
            "column": column,
            "left": np.where(is_leaf, ensemble.leaf, forest.left),
            "right": np.where(is_leaf, 0, right),
            "roots": ensemble.forest.offsets[:-1],
            "values": [repr(own) for own in ensemble.value.ravel().tolist()],
            "first_code": first,
            "codes": codes,
        }
        written = {key: braces.table(list(map(str, own))) for key, own in tables.items()}
        return written | {"classes": ", ".join(map(self._label, ensemble.classes or ()))}

    def _label(self, label):
        kind = self.of_label
        if kind is str:
            return self.braces.text(checked_text(str(label), "label", self.braces.title))
        return self._truth(label) if kind is bool else repr(kind(label))

    def _levels(self, j):
        levels, _ = self.ensemble.literals(j, mixed=False)
        if self._holds_dates(j):
            levels = list(map(_shortest_date, self.ensemble.levels(j)))
        listed = [
            self.braces.text(checked_text(level, "level", self.braces.title))
            if isinstance(level, str)
            else self.literal(level)
            for level in levels
        ]
        value = f"levels({', '.join(listed)})"
        return self.braces.levels.format(name=f"LEVELS_{j}", value=value)

    def _holds_dates(self, j):
        """Whether levels are dates, which the language has other texts of than Python."""
        are_dates = all(isinstance(level, date) for level in self.ensemble.levels(j))
        return self.braces.dated is not None and are_dates

    def _entry(self, j):
        """The statements that put an entry of a row, as a number, in its place."""
        ensemble, braces = self.ensemble, self.braces
        name = f"x{j}" if braces.names else j
        if ensemble.names is not None:
            name = ensemble.names[j]
        key = checked_text(name, "name", braces.title) if isinstance(name, str) else name
        entry = f"entry(row, {braces.text(key) if isinstance(key, str) else key})"
        levels = ensemble.levels(j)
        if levels is not None and self._holds_dates(j):
            entry = self.braces.dated.format(entry)
        if levels is None:
            return [f"x[{j}] = {braces.reads}({entry}){braces.end}"]
        is_text = any(isinstance(own, str) for own in ensemble.literals(j, mixed=False)[0])
        other = {"code": len(levels), "refused": -1, "missing": braces.nan}
        other = other[ensemble.unknown(j)]
        is_text = self._truth(is_text)
        return [f"x[{j}] = code({entry}, LEVELS_{j}, {is_text}, {other}){braces.end}"]

    def _probabilities(self, outputs):
        """What answers the probabilities of all classes."""
        first = outputs[0]
        if not isinstance(first, Probability):
            return self.braces.array.format(", ".join(map(self.number, outputs)))
        numbers = ", ".join(map(self.number, first.numbers))
        if first.link == "sigmoid":
            return f"{self.own}sigmoid({numbers})"
        return f"{self.own}softmax({self._truth(first.single)}, {numbers})"
