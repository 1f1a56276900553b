"""What the displays share: their figure, axes and curves."""

from __future__ import annotations

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

    `shares` is all that is drawn; NaN is not.
    """
    from matplotlib.ticker import FuncFormatter

    positive = shares[shares > 0]
    least = 10.0 ** np.floor(np.log10(positive.min() if positive.size else 1e-3))
    ax.set_yscale("symlog", linthresh=least, linscale=0.5)
    # room for the marks at zero
    ax.set_ylim(bottom=-0.15 * least)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.3g} %"))


class Display:
    """Base of all displays: the figure."""

    def _open(self, ax, **figure):
        """The axes to draw on: those given, or those of a new figure."""
        plt = pyplot(self)
        if ax is None:
            _, ax = plt.subplots(**{"figsize": (6, 4), "layout": "constrained", **figure})
        self.figure_ = np.ravel(ax)[0].figure
        return ax


class CurveDisplay(Display):
    """Base of the displays of curves: a display says in `_draw` what its curves are."""

    # Where the legend is, if not where Matplotlib finds room.
    _legend: ClassVar = {}

    def plot(self, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None draws into a new figure.
        **kwargs : dict
            Passed to ``ax.plot`` for every curve, as ``linewidth=2``.

        Returns
        -------
        display : object
            The display, with `ax_` and `figure_`.
        """
        self.ax_ = ax = self._open(ax)
        self._draw(ax, self._pen(ax, kwargs))
        ax.grid(alpha=0.3)
        ax.legend(**self._legend)
        return self

    def _draw(self, ax, curve):
        """Draw on `ax`, curves by ``curve(x, y, **style)``, which returns the line."""
        raise NotImplementedError

    def _pen(self, ax, wanted):
        """A function that draws a curve, in the style that the user wants."""
        from matplotlib.cbook import normalize_kwargs
        from matplotlib.lines import Line2D

        # lw and linewidth are one wish, which would otherwise be given twice
        self.lines_, wanted = [], normalize_kwargs(wanted, Line2D)

        def draw(x, y, **style):
            self.lines_ += ax.plot(x, y, **{"markersize": 4, "linewidth": 1.2, **style, **wanted})
            return self.lines_[-1]

        return draw

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
