"""Size against agreement and accuracy, by scikit-learn's display convention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ensemble_simplify.base import Display, leaves_axis, shared_text

_COLORS = (
    "#0072b2 #d55e00 #009e73 #cc79a7 #e69f00 #56b4e9 "
    "#8a5aa8 #555555 #8c510a #7f8c00 #1b4f72 #b8475f"
).split()
_MARKERS = "osD^vP*Xph<>"
# Results of equal size are drawn so many doublings of the size apart.
_APART = 0.14


@dataclass(kw_only=True, eq=False, repr=False)
class SimplificationDisplay(Display):
    """Size of each result against its agreement with the model and its accuracy.

    Use :meth:`from_simplification` or :meth:`Simplification.plot`.

    Parameters
    ----------
    titles : list of str
        Name of each result.
    leaves : ndarray of shape (n_results,)
        Leaves of all its trees.
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

    {attributes}

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
    >>> outcome = simplify(model, X, y, methods=["born_again"], random_state=0)
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

    _texts: ClassVar = shared_text(
        "axes",
        given="array-like of two matplotlib Axes, default=None",
        kept="list of matplotlib Axes\n    One for agreement, and one for accuracy if it is known.",
        curves=False,
    )

    @classmethod
    def from_simplification(cls, simplification: Any, *, axes: Any = None) -> Self:
        """Draw what was found.

        Parameters
        ----------
        simplification : Simplification
            Result of :func:`simplify`.
        {drawing}
        """
        model, *rows = simplification.table
        rows = [row for row in rows if row.is_measured]
        names = [row.name for row in rows]
        return cls(
            titles=[row.title for row in rows],
            leaves=np.array([row.leaves for row in rows]),
            agreement=np.array([row.agreement for row in rows]),
            intervals=np.array([[row.agreement_low, row.agreement_high] for row in rows]),
            accuracy=np.array([row.accuracy for row in rows]),
            best=names.index(simplification.best) if simplification.best in names else None,
            model_accuracy=model.accuracy,
            is_classifier=simplification.is_classifier,
        ).plot(axes=axes)

    def plot(self, *, axes: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        {drawing}
        """
        known = bool(np.isfinite(self.accuracy).any())
        figsize = 9 if known else 6, 4.6
        self.axes_ = axes = list(np.ravel(self._open(axes, ncols=1 + known, figsize=figsize)))
        share, accuracy = "agreement with the model", "accuracy"
        if not self.is_classifier:
            share, accuracy = f"{share} (R²)", "R² of y"
        self._panel(axes[0], self.agreement, self.intervals)
        axes[0].set_title(f"{share}, with intervals of 95 %", fontsize=10, loc="left")
        if known:
            right, height = axes[1], self.model_accuracy
            self._panel(right, self.accuracy, None)
            right.axhline(height, color="#555555", lw=1, ls=":", zorder=1)
            style = {"fontsize": 8, "color": "#555555", "ha": "right", "va": "bottom"}
            place = right.get_yaxis_transform()
            right.text(0.99, height, "the model", transform=place, **style)
            right.set_title(accuracy, fontsize=10, loc="left")
        legend = {"loc": "outside lower center", "ncols": 2 + known}
        self.figure_.legend(
            *axes[0].get_legend_handles_labels(), fontsize=8, frameon=False, **legend
        )
        return self

    def _panel(self, ax, heights, intervals):
        places = apart(self.leaves)
        for i, title in enumerate(self.titles):
            if not np.isfinite(heights[i]):
                continue
            color, marker = _COLORS[i % len(_COLORS)], _MARKERS[i % len(_MARKERS)]
            if intervals is not None:
                ax.plot([places[i]] * 2, intervals[i], color=color, lw=1, alpha=0.6)
            ax.plot(places[i], heights[i], marker, color=color, ms=7, label=title, zorder=3)
            if i == self.best:
                style = {"ms": 15, "mfc": "none", "mec": "#22272e", "label": "recommended"}
                ax.plot(places[i], heights[i], "o", **style)
        front = pareto(self.leaves, heights)
        style = {"color": "#9aa4ae", "lw": 1.2, "drawstyle": "steps-post", "zorder": 1}
        label = "Pareto front: none is smaller and better"
        ax.plot(places[front], np.asarray(heights)[front], label=label, **style)
        leaves_axis(ax)
        ax.set_xlabel("leaves of all trees")
        ax.grid(alpha=0.3)


def apart(sizes):
    """Places of results on the axis: at their sizes, equal ones a little apart."""
    sizes = np.asarray(sizes, dtype=np.float64)
    places = sizes.copy()
    for size in np.unique(sizes):
        own = np.flatnonzero(sizes == size)
        steps = np.arange(len(own)) - (len(own) - 1) / 2
        places[own] = size * 2.0 ** (_APART * steps)
    return places


def pareto(sizes, heights):
    """Numbers of the results that no smaller or equal one exceeds, by rising size."""
    front, top = [], -np.inf
    for i in sorted(range(len(sizes)), key=lambda i: (sizes[i], -np.nan_to_num(heights[i]))):
        if np.isfinite(heights[i]) and heights[i] > top:
            front.append(i)
            top = heights[i]
    return front
