"""What the displays share."""

from __future__ import annotations

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
