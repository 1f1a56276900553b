"""Size against agreement and accuracy, by scikit-learn's display convention."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from ensemble_simplify.base import Display, leaves_axis
from ensemble_simplify.front._drawing import apart

# Colours of results: those that tell most first, as in other drawings.
_COLORS = (
    "#0072b2 #d55e00 #009e73 #cc79a7 #e69f00 #56b4e9 "
    "#8a5aa8 #555555 #8c510a #7f8c00 #1b4f72 #b8475f"
).split()
_MARKERS = "osD^vP*Xph<>"
# Results of equal size are drawn apart, by this part of the width of all sizes in doublings.
_APART = 0.045
# No result is drawn farther than half of this from its size, in doublings.
_FARTHEST = 1.0


@dataclass(kw_only=True, eq=False, repr=False)
class SimplificationDisplay(Display):
    """Size of each result against its agreement with the model and its accuracy.

    Use :meth:`from_simplification` or :meth:`Simplification.plot`.

    Parameters
    ----------
    titles : list of str
        Name of each result.
    leaves : ndarray of shape (n_results,)
        Leaves of all its trees; of a scorecard, bins.
    agreement : ndarray of shape (n_results,)
        Agreement with the model.
    intervals : ndarray of shape (n_results, 2)
        Ends of its intervals.
    accuracy : ndarray of shape (n_results,)
        Accuracy; nan if it is not known.
    best : int, default=None
        The recommended result.
    model_accuracy : float, default=nan
        Accuracy of the model.
    is_classifier : bool, default=True
        Whether shares of rows are drawn, or coefficients of determination.
    curve : ndarray of shape (n_sizes, 3), default=empty
        Trees of several sizes: their leaves, agreement and accuracy.
    majority : float, default=nan
        Agreement of the most frequent answer.
    has_cards : bool, default=False
        Whether some results are scorecards.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        One for agreement, and one for accuracy if it is known.
    figure_ : matplotlib Figure
        Figure that holds it.

    See Also
    --------
    simplify : Finds what is drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from ensemble_simplify import SimplificationDisplay, simplify
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RandomForestClassifier(5, max_depth=2, random_state=0).fit(X, y)
    >>> outcome = simplify(model, X, y, methods="representer", random_state=0)
    >>> display = SimplificationDisplay.from_simplification(outcome)
    """

    titles: list[str]
    leaves: np.ndarray
    agreement: np.ndarray
    intervals: np.ndarray
    accuracy: np.ndarray
    best: int | None = None
    model_accuracy: float = np.nan
    is_classifier: bool = True
    curve: np.ndarray = field(default_factory=lambda: np.empty((0, 3)))
    majority: float = np.nan
    has_cards: bool = False

    @classmethod
    def from_simplification(cls, simplification: Any, *, axes: Any = None) -> Self:
        """Draw what was found.

        Parameters
        ----------
        simplification : Simplification
            Result of :func:`simplify`.
        axes : array-like of two matplotlib Axes, default=None
            None draws into a new figure.

        Returns
        -------
        display : object
            The display, with `axes_` and `figure_`.
        """
        by_name = {row.name: row for row in simplification.table}
        rows = [
            row
            for row in simplification.table
            if row.is_measured and row.name not in ("model", "majority")
        ]
        names = [row.name for row in rows]
        points = [(point.leaves, point.agreement, point.accuracy) for point in simplification.curve]
        return cls(
            titles=names,
            leaves=np.array([row.bins if row.is_card else row.leaves for row in rows]),
            agreement=np.array([row.agreement for row in rows]),
            intervals=np.array([[row.agreement_low, row.agreement_high] for row in rows]),
            accuracy=np.array([row.accuracy for row in rows]),
            best=names.index(simplification.best) if simplification.best in names else None,
            model_accuracy=by_name["model"].accuracy,
            is_classifier=simplification.is_classifier,
            has_cards=any(row.is_card for row in rows),
            curve=np.array(points, dtype=np.float64).reshape(-1, 3),
            majority=by_name["majority"].agreement if "majority" in by_name else np.nan,
        ).plot(axes=axes)

    def plot(self, *, axes: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        axes : array-like of two matplotlib Axes, default=None
            None draws into a new figure.

        Returns
        -------
        display : object
            The display, with `axes_` and `figure_`.
        """
        known = bool(np.isfinite(self.accuracy).any())
        figsize = 12.5 if known else 7, 4.8
        self.axes_ = axes = list(np.ravel(self._open(axes, ncols=1 + known, figsize=figsize)))
        share, accuracy = "agreement with the model", "accuracy"
        if not self.is_classifier:
            share, accuracy = f"{share} (R²)", "R² of y"
        level = self.majority, "the most frequent answer"
        self._panel(axes[0], self.agreement, self.intervals, self.curve[:, 1], level)
        axes[0].set_title(f"{share}, with intervals of 95 %", fontsize=10, loc="left")
        if known:
            level = self.model_accuracy, "the model"
            self._panel(axes[1], self.accuracy, None, self.curve[:, 2], level)
            axes[1].set_title(accuracy, fontsize=10, loc="left")
        return self

    def _panel(self, ax, heights, intervals, curve, level):
        """Results at their sizes, a line through the trees of several sizes, and a level."""
        places = beside(self.leaves)
        if len(curve) > 1:
            style = {"color": "#6b7683", "lw": 1.4, "marker": ".", "zorder": 2}
            ax.plot(self.curve[:, 0], curve, label="representer, by size", **style)
        for i, title in enumerate(self.titles):
            if not np.isfinite(heights[i]):
                continue
            color, marker = _COLORS[i % len(_COLORS)], _MARKERS[i % len(_MARKERS)]
            if intervals is not None:
                ax.plot([places[i]] * 2, intervals[i], color=color, lw=1.2, alpha=0.55, zorder=1)
            ax.plot(places[i], heights[i], marker, color=color, ms=7, label=title, zorder=3)
            if i == self.best:
                style = {"ms": 15, "mfc": "none", "mec": "#22272e", "label": "recommended"}
                ax.plot(places[i], heights[i], "o", **style)
        leaves_axis(ax)
        _room_for_few(ax, [*places, *self.curve[:, 0]])
        size = "leaves of all trees, or bins" if self.has_cards else "leaves of all trees"
        ax.set_xlabel(f"{size} (ring: recommended; line: representer by size)")
        ax.grid(alpha=0.3)
        if self.is_classifier:
            ax.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.3g} %")
        self._level(ax, *level)
        self._name(ax, places, heights)

    def _name(self, ax, places, heights):
        """Write the names beside the panel, each at its result's height as far as there is room."""
        known = [i for i in range(len(self.titles)) if np.isfinite(heights[i])]
        ax.figure.canvas.draw()  # the layout decides how high a line of text is
        low, high = ax.get_ylim()
        line = 12.5 * (high - low) * ax.figure.dpi / 72 / ax.get_window_extent().height
        wanted = [[-heights[i], i] for i in known]
        at = {i: -height for height, i in apart(wanted, line, -low)}
        place = ax.get_yaxis_transform()
        for i in known:
            color, marker = _COLORS[i % len(_COLORS)], _MARKERS[i % len(_MARKERS)]
            style = {"transform": place, "color": color, "clip_on": False, "ms": 5}
            ax.plot(1.035, at[i], marker, **style)
            is_best = {"fontweight": "bold"} if i == self.best else {}
            ax.annotate(
                self.titles[i],
                xy=(1.035, at[i]),
                xycoords=place,
                xytext=(8, 0),
                textcoords="offset points",
                va="center",
                fontsize=9,
                annotation_clip=False,
                **is_best,
            )
        ax.set_ylim(low, high)

    def _level(self, ax, height, name):
        """A horizontal line for comparison, if it is near to what is drawn."""
        low, high = ax.get_ylim()
        if not np.isfinite(height) or not low - 0.6 * (high - low) <= height <= high + (high - low):
            return
        ax.axhline(height, color="#555555", lw=1, ls=":", zorder=1)
        room = 0.07 * (high - low)
        ax.set_ylim(min(low, height - room), max(high, height + room))
        style = {"fontsize": 8, "color": "#555555", "ha": "left", "va": "bottom"}
        ax.text(0.01, height, name, transform=ax.get_yaxis_transform(), **style)


def _room_for_few(ax, sizes):
    """Leave room at the sides, where all sizes are nearly alike."""
    low, high = min(sizes), max(sizes)
    ax.set_xlim(low / 1.5, high * 1.5)


def beside(sizes) -> np.ndarray:
    """Places of results on the axis: at their sizes, equal ones a little apart."""
    sizes = np.asarray(sizes, dtype=np.float64)
    places = sizes.copy()
    if len(sizes) == 0:
        return places
    # in doublings, as the axis is: the same distance on the page at every size
    whole = _APART * max(np.log2(sizes.max() / sizes.min()), 3.0)
    for size in np.unique(sizes):
        own = np.flatnonzero(sizes == size)
        step = min(whole, _FARTHEST / max(len(own) - 1, 1))
        steps = np.arange(len(own)) - (len(own) - 1) / 2
        places[own] = size * 2.0 ** (step * steps)
    return places
