"""What the displays share: their figure, axes, curves, and text of docstrings."""

from __future__ import annotations

import re
from functools import partial
from textwrap import indent
from types import FunctionType
from typing import Any, ClassVar, Self

import numpy as np


def pyplot(display):
    """Matplotlib's pyplot, or an error that tells what to install."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{type(display).__name__} draws with matplotlib, which is not installed. "
            "Install ensemble-simplify[plot]."
        ) from error
    return plt


def leaves_axis(ax):
    """Give a plot an x-axis of numbers of leaves: powers of two, in plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.set_xscale("log", base=2)
    ax.set_xlabel("leaves")
    ax.xaxis.set_major_locator(LogLocator(base=2))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())


def counts_axis(axis):
    """Give an axis of a plot whole numbers only."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))


def shares_axis(ax, shares):
    """Give a plot a y-axis of shares in per cent: a log scale with a place for zero below it.

    Parameters
    ----------
    ax : matplotlib Axes
    shares : ndarray
        All that is drawn; NaN is not.
    """
    from matplotlib.ticker import FuncFormatter

    positive = shares[shares > 0]
    least = 10.0 ** np.floor(np.log10(positive.min() if positive.size else 1e-3))
    ax.set_yscale("symlog", linthresh=least, linscale=0.5)
    # room for the marks at zero
    ax.set_ylim(bottom=-0.15 * least)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.3g} %"))


_AX, _PLOT = "matplotlib Axes, default=None", "matplotlib Axes\n    The plot."


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


class Display:
    """Base of all displays: the figure, and text that docstrings share.

    A line ``{attributes}`` or ``{drawing}`` in a docstring of a display stands for the text of that
    name in its `_texts`: the section of attributes, or the last parameters and what is returned.
    """

    _texts: ClassVar = shared_text(curves=False)

    def __init_subclass__(cls):
        super().__init_subclass__()
        for member in (cls, *vars(cls).values()):
            owner = getattr(member, "__func__", member)  # of a class method
            if isinstance(owner, type | FunctionType) and owner.__doc__:
                owner.__doc__ = re.sub(
                    r"^( *)\{(\w+)\}$",
                    lambda found: indent(cls._texts[found[2]], found[1]),
                    owner.__doc__,
                    flags=re.MULTILINE,
                )

    def _open(self, ax, **figure):
        """The axes to draw on: those given, or those of a new figure."""
        plt = pyplot(self)
        if ax is None:
            _, ax = plt.subplots(**{"figsize": (6, 4), "layout": "constrained", **figure})
        self.figure_ = np.ravel(ax)[0].figure
        return ax


class CurveDisplay(Display):
    """Base of the displays of curves: a display says in `_draw` what its curves are."""

    _texts: ClassVar = shared_text()
    # Where the legend is, if not where Matplotlib finds room.
    _legend: ClassVar = {}

    def plot(self, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the curves.

        Parameters
        ----------
        {drawing}
        """
        self.ax_ = ax = self._open(ax)
        self._draw(ax, *self._pens([ax], kwargs))
        ax.grid(alpha=0.3)
        ax.legend(**self._legend)
        return self

    def _draw(self, ax, curve):
        """Draw on `ax`, curves by ``curve(x, y, **style)``, which returns the line."""
        raise NotImplementedError

    def _pens(self, axes, wanted):
        """For each of the axes, a function that draws a curve, in the style that the user wants."""
        from matplotlib.cbook import normalize_kwargs
        from matplotlib.lines import Line2D

        self.lines_, wanted = [], normalize_kwargs(wanted, Line2D)

        def draw(ax, x, y, **style):
            self.lines_ += ax.plot(x, y, **{"markersize": 4, "linewidth": 1.2, **style, **wanted})
            return self.lines_[-1]

        return [partial(draw, ax) for ax in axes]

    def _ring(self, ax, x, y, **style):
        """Mark one place by a ring or another hollow mark."""
        ring = {"marker": "o", "ms": 11, "mfc": "none", "mew": 1.5, "ls": "none", "zorder": 3}
        ax.plot(x, y, **{**ring, **style})

    def _upright(self, ax, x, label):
        """Mark one size or cost by a line upwards."""
        ax.axvline(x, color="0.4", linewidth=1.2, linestyle=":", label=label)

    def _band(self, ax, line, low, high, label=None):
        """Shade the intervals about a curve."""
        color = line.get_color()
        ax.fill_between(line.get_xdata(), low, high, color=color, alpha=0.15, lw=0, label=label)
