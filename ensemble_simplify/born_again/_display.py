"""What smaller trees cost, in depth or in exceptions, by scikit-learn's display convention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ensemble_simplify.base import CurveDisplay, counts_axis, leaves_axis, shares_axis
from ensemble_simplify.born_again._promises import check_has_path


@dataclass(kw_only=True, eq=False, repr=False)
class DepthLeavesDisplay(CurveDisplay):
    """Draw the fewest leaves for each depth, to see what a shallower tree costs.

    Use :meth:`from_estimator`.

    Parameters
    ----------
    depth : ndarray of shape (n_points,)
        Depths at which fewer leaves become possible, in rising order.
    n_leaves : ndarray of shape (n_points,)
        The fewest leaves of a tree of at most each depth.
    points : dict of str to (int, int), default=None
        Depth and leaves of other trees, by name.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The plot.
    figure_ : matplotlib Figure
        Figure that holds it.
    lines_ : list of matplotlib Line2D
        One for each curve.

    See Also
    --------
    BornAgainClassifier.front : The numbers that are drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensemble_simplify import BornAgainClassifier, DepthLeavesDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BornAgainClassifier(random_state=0).fit(X, y)
    >>> display = DepthLeavesDisplay.from_estimator(model)
    """

    depth: np.ndarray
    n_leaves: np.ndarray
    points: dict[str, tuple[int, int]] | None = None

    # above the plot: the front takes two of its corners, other trees any of the rest
    _legend: ClassVar = {"loc": "lower left", "bbox_to_anchor": (0, 1), "frameon": False}

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, time_limit: float | None = None, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Find the fewest leaves for each depth, and draw them with the estimator's own tree.

        Parameters
        ----------
        estimator : BornAgainClassifier
            Fitted.
        time_limit : float or None, default=None
            Largest time of the search in seconds; None: no limit.
        ax : matplotlib Axes, default=None
            None draws into a new figure.
        **kwargs : dict
            Passed to ``ax.plot`` for every curve, as ``linewidth=2``.

        Returns
        -------
        display : object
            The display, with `ax_` and `figure_`.
        """
        check_is_fitted(estimator)
        depth, n_leaves = np.array(estimator.front(time_limit=time_limit)).T
        own = estimator.depth_unpruned_, estimator.n_leaves_unpruned_
        points = {f"the result ({estimator.objective})": own}
        if estimator.n_leaves_ < estimator.n_leaves_unpruned_:
            points["after pruning"] = estimator.depth_, estimator.n_leaves_
        return cls(depth=depth, n_leaves=n_leaves, points=points).plot(ax=ax, **kwargs)

    def _draw(self, ax, curve):
        label = "fewest leaves at each depth"
        curve(self.depth, self.n_leaves, marker="o", drawstyle="steps-post", label=label)
        for place in zip(self.depth, self.n_leaves, strict=True):
            ax.annotate(f"{place[1]}", place, (5, 5), textcoords="offset points", fontsize=8)
        for i, (name, (depth, n_leaves)) in enumerate((self.points or {}).items()):
            label = f"{name}: depth {depth}, {n_leaves} leaves"
            style = {"marker": "os^Dv"[i % 5], "color": f"C{1 + i % 6}"}
            self._ring(ax, depth, n_leaves, label=label, **style)
        counts_axis(ax.xaxis)
        counts_axis(ax.yaxis)
        ax.margins(0.08)
        ax.set(xlabel="depth", ylabel="leaves")


@dataclass(kw_only=True, eq=False, repr=False)
class ExceptionPathDisplay(CurveDisplay):
    """Draw exceptions against leaves, to see what a smaller tree costs in agreement.

    Use :meth:`from_estimator`.

    Parameters
    ----------
    n_leaves : ndarray of shape (n_trees,)
        Leaves of the trees, in rising order.
    exceptions : ndarray of shape (n_trees,)
        Share of the promised points on which each tree differs from the ensemble.
    row_exceptions : ndarray of shape (n_trees,)
        Share of the training rows on which each tree differs.
    disagreement : ndarray of shape (n_trees,)
        Share of the held-out rows on which each tree differs; NaN if there are none.
    max_changes : {0, 1}
        The promise: 0 for the training rows, 1 for single-feature changes of them.
    chosen : int or None, default=None
        Leaves of the estimator's own tree.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The plot.
    figure_ : matplotlib Figure
        Figure that holds it.
    lines_ : list of matplotlib Line2D
        One for each curve.

    See Also
    --------
    BornAgainClassifier.at : Takes another tree of the path.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensemble_simplify import BornAgainClassifier, ExceptionPathDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BornAgainClassifier(max_changes=1, random_state=0).fit(X, y)
    >>> display = ExceptionPathDisplay.from_estimator(model)
    """

    n_leaves: np.ndarray
    exceptions: np.ndarray
    row_exceptions: np.ndarray
    disagreement: np.ndarray
    max_changes: int
    chosen: int | None = None

    _legend: ClassVar = {"fontsize": 8}

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the path of a fitted estimator.

        Parameters
        ----------
        estimator : BornAgainClassifier or BornAgainRegressor
            Fitted with ``max_changes=0`` or 1.
        ax : matplotlib Axes, default=None
            None draws into a new figure.
        **kwargs : dict
            Passed to ``ax.plot`` for every curve, as ``linewidth=2``.

        Returns
        -------
        display : object
            The display, with `ax_` and `figure_`.
        """
        check_has_path(estimator)
        path = estimator.path_
        return cls(
            n_leaves=path.n_leaves,
            exceptions=path.n_exceptions / estimator.n_points_,
            row_exceptions=path.n_row_exceptions / estimator.n_rows_,
            disagreement=1.0 - path.agreement,
            max_changes=estimator.max_changes,
            chosen=estimator.n_leaves_,
        ).plot(ax=ax, **kwargs)

    def _draw(self, ax, curve):
        if self.max_changes == 1:
            label = "single-feature changes of training rows"
            curve(self.n_leaves, self.exceptions, marker="o", color="C0", label=label)
        curve(self.n_leaves, self.row_exceptions, marker="s", color="C1", label="training rows")
        if np.isfinite(self.disagreement).any():
            style = {"marker": "^", "linestyle": "--", "color": "C2"}
            curve(self.n_leaves, self.disagreement, label="rows the tree has not seen", **style)
        if self.chosen is not None:
            self._upright(ax, self.chosen, f"the result: {self.chosen} leaves")
        leaves_axis(ax)
        shares_axis(ax, np.concatenate([self.exceptions, self.row_exceptions, self.disagreement]))
        ax.set_ylim(top=1.0)
        ax.set(ylabel="share that differs from the ensemble")
