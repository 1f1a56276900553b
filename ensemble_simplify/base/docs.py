"""Text that docstrings share: a line ``{name}`` in a docstring stands for the text of that name."""

from __future__ import annotations

import re
from collections import ChainMap
from textwrap import indent
from types import FunctionType
from typing import ClassVar

_AX, _PLOT = "matplotlib Axes, default=None", "matplotlib Axes\n    The plot."

# What estimators have in common: parameters of the class, of methods, sections, attributes.
COMMON = {
    "time_limit": """\
time_limit : float or None, default=None
    Seconds; None: no limit.""",
    "verbose": """\
verbose : int, default=0
    If positive, progress is printed.""",
    "X": """\
X : array-like of shape (n_samples, n_features)
    Rows.""",
    "training_X": """\
X : array-like of shape (n_samples, n_features)
    Training rows. Values are cast to float32, as scikit-learn's trees do.""",
    "learned_X": """\
X : array-like of shape (n_samples, n_features)
    Training rows: numbers, which are cast to float32, or a table that has columns of text and
    categories, too. Any entry may be missing (NaN, None).""",
    "y": """\
y : array-like of shape (n_samples,)
    Class labels.""",
    "sample_weight": """\
sample_weight : array-like of shape (n_samples,) or None, default=None
    Non-negative weights of the rows.""",
    "fitted": """\
Returns
-------
self : estimator
    The fitted estimator.""",
    "predictions": """\
Returns
-------
ndarray of shape (n_samples,)
    Class labels, or values in regression.""",
    "probabilities": """\
Returns
-------
ndarray of shape (n_samples, n_classes)
    One column per class, in the order of `classes_`.""",
    "classes_": """\
classes_ : ndarray of shape (n_classes,)
    Class labels.""",
    "features_in": """\
n_features_in_ : int
    Number of features seen in `fit`.
feature_names_in_ : ndarray of shape (`n_features_in_`,)
    Names of features seen in `fit`; defined only if all are strings.""",
}


def shared_text(name="ax", given=_AX, kept=_PLOT, curves=True):
    """What the docstrings of a display have in common, for `Display`.

    `name`, `given` and `kept` describe the parameter that says where to draw, and the attribute
    that holds it; `curves` says whether there are curves, whose style can be chosen.
    """
    lines = style = ""
    if curves:
        lines = "\nlines_ : list of matplotlib Line2D\n    One for each curve."
        style = "\n**kwargs : dict\n    Passed to ``ax.plot`` for every curve, as ``linewidth=2``."
    return {
        "attributes": f"""\
Attributes
----------
{name}_ : {kept}
figure_ : matplotlib Figure
    Figure that holds it.{lines}""",
        "drawing": f"""\
{name} : {given}
    None draws into a new figure.{style}

Returns
-------
display : object
    The display, with `{name}_` and `figure_`.""",
    }


def fill_docs(owner, texts=COMMON):
    """Put the texts, which may hold others, into the docstring of a function or class."""

    def filled(text):
        return re.sub(r"^( *)\{(\w+)\}$", of_line, text, flags=re.MULTILINE)

    def of_line(found):
        return indent(filled(texts[found[2]]), found[1])

    if owner.__doc__:
        owner.__doc__ = filled(owner.__doc__)
    return owner


class SharesDocs:
    """Base of classes whose docstrings, and those of their methods, hold lines ``{name}``.

    The texts are those of `_texts` of the class and its bases, and the common ones.
    """

    _texts: ClassVar[dict[str, str]] = COMMON

    def __init_subclass__(cls):
        super().__init_subclass__()
        texts = ChainMap(*(vars(base).get("_texts", {}) for base in cls.__mro__))
        for member in (cls, *vars(cls).values()):
            # what a class method or scikit-learn's `available_if` wraps
            member = getattr(member, "__func__", getattr(member, "fn", member))
            if isinstance(member, type | FunctionType):
                fill_docs(member, texts)
