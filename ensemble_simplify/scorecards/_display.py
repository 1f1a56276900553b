"""The points of a card over each feature as a picture, by scikit-learn's display convention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ensemble_simplify.base import Display
from ensemble_simplify.scorecards._text import NamedCard
from ensemble_simplify.writing import in_drawing, wrapped

# Panels in a row; inches of a panel of a feature, and of a line in one of levels.
_ACROSS = 3
_WIDE, _HIGH, _LINE = 4.0, 2.6, 0.22
_LESS, _MORE, _FAINT = "#d55e00", "#0072b2", "0.55"


@dataclass(kw_only=True, eq=False, repr=False)
class ScorecardDisplay(Display):
    """Points over each feature of a scorecard.

    A column of numbers is drawn as steps, one of levels as bars, and a pair of columns as a grid.
    All panels have the same scale of points.

    Use :meth:`from_estimator`.

    Parameters
    ----------
    card : object
        The card, with the names of columns, levels and classes.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        A panel for each feature, the one that tells rows apart most first.
    figure_ : matplotlib Figure
        Figure that holds them.

    See Also
    --------
    ScorecardClassifier : Its card is what is drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ensemble_simplify import ScorecardClassifier, ScorecardDisplay
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> fitted = ScorecardClassifier(max_bins=8, random_state=0).fit(X, y)
    >>> display = ScorecardDisplay.from_estimator(fitted)
    """

    card: NamedCard

    @classmethod
    def from_estimator(cls, estimator: Any, *, axes: Any = None) -> Self:
        """Draw the card of a fitted estimator.

        Parameters
        ----------
        estimator : ScorecardClassifier or ScorecardRegressor
            Fitted; also what :func:`scorecard` returns.
        axes : array-like of matplotlib Axes, default=None
            At least as many as features are used. None draws into a new figure.

        Returns
        -------
        display : ScorecardDisplay
            With ``axes_`` and ``figure_``.
        """
        check_is_fitted(estimator)
        return cls(card=estimator._named_card()).plot(axes=axes)

    def plot(self, *, axes: Any = None) -> Self:
        """Draw the points over each feature.

        Parameters
        ----------
        axes : array-like of matplotlib Axes, default=None
            At least as many as features are used. None draws into a new figure.

        Returns
        -------
        display : ScorecardDisplay
            With ``axes_`` and ``figure_``.
        """
        parts = self.card.parts()
        across = min(_ACROSS, max(len(parts), 1))
        down = -(-max(len(parts), 1) // across)
        if axes is None:
            most = max((len(p.told) for p in parts if self._is_list(p)), default=0)
            high = max(_HIGH, 1.0 + _LINE * most)
            axes = self._open(None, nrows=down, ncols=across, figsize=(_WIDE * across, high * down))
        else:
            axes = self._open(axes)
        axes = np.atleast_1d(axes).ravel()
        if len(axes) < len(parts):
            raise ValueError(
                f"axes has {len(axes)} axes, but the card uses {len(parts)} features. Give as many."
            )
        ends = np.array([line.points for part in parts for line in part.told]).ravel()
        low, high = min(ends.min(initial=0.0), 0.0), max(ends.max(initial=0.0), 0.0)
        # one scale for all panels, so that lengths tell which feature counts most; room for figures
        room = 0.12 * ((high - low) or 1.0)
        for part, ax in zip(parts, axes, strict=False):
            self._draw(part, ax, (low - room, high + room))
        for ax in axes[len(parts) :]:
            ax.set_axis_off()
        labels = [*self.card.heads] if self.card.card.link == "softmax" else []
        if labels and parts:
            marks = [axes[0].plot([], [], color=f"C{k}", lw=3)[0] for k in range(len(labels))]
            self.figure_.legend(
                marks,
                list(map(in_drawing, labels)),
                loc="outside lower center",
                ncols=min(len(labels), 6),
                frameon=False,
            )
        self.axes_ = axes[: max(len(parts), 1)]
        return self

    def _is_list(self, part):
        """Whether a part is drawn as a list of its bins."""
        if len(part.sides) == 2:
            return self.card.card.link == "softmax"
        return self.card.levels(part.term.columns[0]) is not None

    def _draw(self, part, ax, ends):
        ax.set_title(in_drawing(part.name), fontsize=10, loc="left")
        if self._is_list(part):
            self._list(part, ax, ends)
        elif len(part.sides) == 2:
            self._grid(part, ax, ends)
        else:
            self._steps(part, ax, ends)

    def _list(self, part, ax, ends):
        lines, n_scores = part.told, len(self.card.card.base)
        places = np.arange(len(lines), dtype=float)
        width = 0.8 / n_scores
        for k in range(n_scores):
            points = np.array([line.points[k] for line in lines])
            at = places + (k - (n_scores - 1) / 2) * width
            color = np.where(points < 0, _LESS, _MORE) if n_scores == 1 else f"C{k}"
            ax.barh(at, points, 0.9 * width, color=color)
            if n_scores == 1:
                for y, value in zip(at, points, strict=True):
                    self._number(ax, value, y, ends)
        ax.axvline(0, color="0.3", lw=0.8)
        ax.set_yticks(places, [wrapped(line.brief) for line in lines], fontsize=8)
        ax.set(xlim=ends, ylim=(len(lines) - 0.5, -0.5))
        self._label(ax.xaxis)
        ax.tick_params(axis="x", labelsize=8)
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.tick_params(axis="y", length=0)

    def _number(self, ax, value, y, ends):
        side = "left" if value >= 0 else "right"
        shift = (ends[1] - ends[0]) * (0.012 if value >= 0 else -0.012)
        ax.text(value + shift, y, self.card.in_points(value), va="center", ha=side, fontsize=8)

    def _steps(self, part, ax, ends):
        told = [(part.sides[0][line.sides[0]], line) for line in part.told]
        steps = [(side.ends, line) for side, line in told if side.ends is not None]
        # codes and gaps stand beside the numbers
        others = [(side, line) for side, line in told if side.ends is None]
        edges = np.array([low for (low, _), _ in steps[1:]])
        span = float(np.ptp(edges)) if len(edges) else 0.0
        room = 0.18 * span or 0.5 * abs(float(edges[0])) or 0.5 if len(edges) else 1.0
        first, last = (edges[0] - room, edges[-1] + room) if len(edges) else (0.0, 1.0)
        ax.axhline(0, color="0.3", lw=0.8)
        x = np.concatenate([[first], edges, [last]])
        at = last + 0.6 * room * np.arange(1, len(others) + 1)
        n_scores = part.term.points.shape[-1]
        for k in range(n_scores):
            color = _MORE if n_scores == 1 else f"C{k}"
            ax.stairs([line.points[k] for _, line in steps], x, baseline=None, color=color, lw=2)
            ax.plot(at, [line.points[k] for _, line in others], "o", color=color, ms=6)
        up = (ends[1] - ends[0]) * 0.015
        for a, b, (_, line) in zip(x[:-1], x[1:], steps if n_scores == 1 else (), strict=False):
            # where there is room
            if b - a > 0.06 * (last - first):
                text = self.card.in_points(line.points[0])
                place = (a + b) / 2, line.points[0] + up
                ax.text(*place, text, ha="center", va="bottom", fontsize=8)
        if others:
            ax.axvline(last, color="0.8", lw=0.8, ls=":")
        for place, (side, _) in zip(at, others, strict=True):
            name = in_drawing(side.brief)
            style = {"fontsize": 7, "rotation": 90, "color": "0.35"}
            ax.text(place, ends[0], name, ha="center", va="bottom", **style)
        ax.set(xlim=(first, last + 0.6 * room * (len(others) + bool(others))), ylim=ends)
        self._label(ax.yaxis)
        ax.tick_params(labelsize=8)
        ax.spines[["top", "right"]].set_visible(False)

    def _label(self, axis):
        """Say what an axis of points has: relativities are drawn by their logarithms."""
        axis.set_label_text(self.card.heads[0] if len(self.card.heads) == 1 else "points")
        if self.card.card.link == "log":
            axis.set_major_formatter(lambda value, _: f"{np.exp(value):.2g}")

    def _grid(self, part, ax, ends):
        from matplotlib.colors import LinearSegmentedColormap

        *sides, lines = part.grid
        values = np.array([[line.points[0] for line in own] for own in lines])
        most = max(abs(end) for end in ends)
        colors = LinearSegmentedColormap.from_list("points", [_LESS, "white", _MORE])
        ax.imshow(values, cmap=colors, vmin=-1.6 * most, vmax=1.6 * most, aspect="auto")
        for (a, b), value in np.ndenumerate(values):
            text = self.card.in_points(value)
            ax.text(b, a, text, ha="center", va="center", fontsize=9, color="black")
        rows, columns = ([wrapped(s.brief).replace(", up", ",\nup") for s in own] for own in sides)
        ax.set_yticks(range(len(rows)), rows, fontsize=8)
        ax.set_xticks(range(len(columns)), columns, fontsize=8)
        names = [in_drawing(self.card.shown(j)) for j in part.term.columns]
        ax.set_ylabel(names[0], fontsize=9)
        ax.set_xlabel(names[1], fontsize=9)
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
