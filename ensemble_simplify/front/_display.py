"""Size against agreement and accuracy, by scikit-learn's display convention."""

from __future__ import annotations

import numpy as np

from ensemble_simplify.base import leaves_axis, pyplot

_COLORS = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
    "#8a5aa8",
    "#555555",
    "#8c510a",
    "#7f8c00",
    "#1b4f72",
    "#b8475f",
)
_MARKERS = "osD^vP*Xph<>"
# Results of equal size are drawn so many doublings of the size apart.
_APART = 0.14


class SimplificationDisplay:
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

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        One for agreement and, if it is known, one for accuracy.
    figure_ : matplotlib Figure
        Figure that holds them.

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
    >>> display.figure_.savefig("sizes.png")  # doctest: +SKIP
    """

    def __init__(
        self,
        *,
        titles,
        leaves,
        agreement,
        intervals,
        accuracy,
        best=None,
        model_accuracy=np.nan,
        is_classifier=True,
    ):
        self.titles = titles
        self.leaves = leaves
        self.agreement = agreement
        self.intervals = intervals
        self.accuracy = accuracy
        self.best = best
        self.model_accuracy = model_accuracy
        self.is_classifier = is_classifier

    @classmethod
    def from_simplification(cls, simplification, *, axes=None):
        """Draw what was found.

        Parameters
        ----------
        simplification : Simplification
            Result of :func:`simplify`.
        axes : array-like of two matplotlib Axes, default=None
            None draws into a new figure.

        Returns
        -------
        display : SimplificationDisplay
            With `axes_` and `figure_`.
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

    def plot(self, *, axes=None):
        """Draw.

        Parameters
        ----------
        axes : array-like of two matplotlib Axes, default=None
            None draws into a new figure.

        Returns
        -------
        display : SimplificationDisplay
            With `axes_` and `figure_`.
        """
        plt = pyplot(self)
        known = bool(np.isfinite(self.accuracy).any())
        if axes is None:
            _, axes = plt.subplots(
                1, 1 + known, figsize=(9 if known else 6, 4.6), squeeze=False, layout="constrained"
            )
        axes = list(np.ravel(axes))
        share, accuracy = "agreement with the model", "accuracy"
        if not self.is_classifier:
            share, accuracy = f"{share} (R²)", "R² of y"
        self._panel(axes[0], self.agreement, self.intervals)
        axes[0].set_title(f"{share}, with intervals of 95 %", fontsize=10, loc="left")
        if known:
            self._panel(axes[1], self.accuracy, None)
            axes[1].axhline(self.model_accuracy, color="#555555", lw=1, ls=":", zorder=1)
            axes[1].text(
                0.99,
                self.model_accuracy,
                "the model",
                fontsize=8,
                color="#555555",
                ha="right",
                va="bottom",
                transform=axes[1].get_yaxis_transform(),
            )
            axes[1].set_title(accuracy, fontsize=10, loc="left")
        self.axes_, self.figure_ = axes, axes[0].figure
        handles, labels = axes[0].get_legend_handles_labels()
        self.figure_.legend(
            handles, labels, loc="outside lower center", ncols=3, fontsize=8, frameon=False
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
            ax.plot(
                places[i],
                heights[i],
                marker,
                color=color,
                ms=7,
                label=title,
                ls="none",
                zorder=3,
            )
            if i == self.best:
                ax.plot(
                    places[i],
                    heights[i],
                    "o",
                    ms=15,
                    mfc="none",
                    mec="#22272e",
                    label="recommended",
                    ls="none",
                )
        front = pareto(self.leaves, heights)
        ax.plot(
            places[front],
            np.asarray(heights)[front],
            color="#9aa4ae",
            lw=1.2,
            drawstyle="steps-post",
            zorder=1,
            label="Pareto front: none is smaller and better",
        )
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
