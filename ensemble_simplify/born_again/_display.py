"""What smaller trees cost, in depth or in exceptions, by scikit-learn's display convention."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ensemble_simplify.base import leaves_axis, pyplot, shares_axis


class DepthLeavesDisplay:
    """Draw the fewest leaves for each depth: what a shallower tree costs.

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

    See Also
    --------
    BornAgainClassifier.front : The numbers that are drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from ensemble_simplify import BornAgainClassifier, DepthLeavesDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(n_estimators=7, max_depth=3, random_state=0)
    >>> model = BornAgainClassifier(forest).fit(X, y)
    >>> display = DepthLeavesDisplay.from_estimator(model)
    >>> display.figure_.savefig("front.png")  # doctest: +SKIP
    """

    def __init__(self, *, depth, n_leaves, points=None):
        self.depth = depth
        self.n_leaves = n_leaves
        self.points = points

    @classmethod
    def from_estimator(cls, estimator, *, time_limit=None, ax=None):
        """Find the fewest leaves for each depth, and draw them with the estimator's own tree.

        Parameters
        ----------
        estimator : BornAgainClassifier
            Fitted.
        time_limit : float or None, default=None
            Largest time of the search in seconds; None: no limit.
        ax : matplotlib Axes, default=None
            None draws into a new figure.

        Returns
        -------
        display : DepthLeavesDisplay
            With `ax_` and `figure_`.
        """
        check_is_fitted(estimator)
        depth, n_leaves = np.array(estimator.front(time_limit=time_limit)).T
        own = estimator.depth_unpruned_, estimator.n_leaves_unpruned_
        points = {f"the result ({estimator.objective})": own}
        if estimator.n_leaves_ < estimator.n_leaves_unpruned_:
            points["after pruning"] = estimator.depth_, estimator.n_leaves_
        return cls(depth=depth, n_leaves=n_leaves, points=points).plot(ax=ax)

    def plot(self, *, ax=None):
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None draws into a new figure.

        Returns
        -------
        display : DepthLeavesDisplay
            With `ax_` and `figure_`.
        """
        plt = pyplot(self)
        from matplotlib.ticker import MaxNLocator

        if ax is None:
            _, ax = plt.subplots(figsize=(6, 4), layout="constrained")
        ax.plot(
            self.depth, self.n_leaves, "o-", color="C0", ms=5, lw=1,
            drawstyle="steps-post", label="fewest leaves at each depth",
        )  # fmt: skip
        for depth, n_leaves in zip(self.depth, self.n_leaves, strict=True):
            ax.annotate(
                f"{n_leaves}", (depth, n_leaves), (5, 5), textcoords="offset points", fontsize=8
            )
        for i, (name, (depth, n_leaves)) in enumerate((self.points or {}).items()):
            ax.plot(
                depth, n_leaves, "os^Dv"[i % 5], color=f"C{1 + i % 6}", ms=11, mfc="none",
                mew=1.5, label=f"{name}: depth {depth}, {n_leaves} leaves",
            )  # fmt: skip
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
        ax.margins(0.08)
        ax.set(xlabel="depth", ylabel="leaves")
        ax.grid(alpha=0.3)
        # above the plot: the front takes two of its corners, other trees any of the rest
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1), frameon=False)
        self.ax_ = ax
        self.figure_ = ax.figure
        return self


class ExceptionPathDisplay:
    """Draw exceptions against leaves: what a smaller tree costs in agreement.

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
    >>> display.figure_.savefig("path.png")  # doctest: +SKIP
    """

    def __init__(
        self, *, n_leaves, exceptions, row_exceptions, disagreement, max_changes, chosen=None
    ):
        self.n_leaves = n_leaves
        self.exceptions = exceptions
        self.row_exceptions = row_exceptions
        self.disagreement = disagreement
        self.max_changes = max_changes
        self.chosen = chosen

    @classmethod
    def from_estimator(cls, estimator, *, ax=None):
        """Draw the path of a fitted estimator.

        Parameters
        ----------
        estimator : BornAgainClassifier
            Fitted with ``max_changes=0`` or 1.
        ax : matplotlib Axes, default=None
            None draws into a new figure.

        Returns
        -------
        display : ExceptionPathDisplay
            With `ax_` and `figure_`.
        """
        check_is_fitted(estimator)
        if estimator.max_changes not in (0, 1):
            raise ValueError(
                f"max_changes={estimator.max_changes}: there is a path of exceptions with "
                "max_changes=0 or 1 only. Fit the estimator with one of them."
            )
        path = estimator.path_
        return cls(
            n_leaves=path.n_leaves,
            exceptions=path.n_exceptions / estimator.n_points_,
            row_exceptions=path.n_row_exceptions / estimator.n_rows_,
            disagreement=1.0 - path.agreement,
            max_changes=estimator.max_changes,
            chosen=estimator.n_leaves_,
        ).plot(ax=ax)

    def plot(self, *, ax=None):
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None draws into a new figure.

        Returns
        -------
        display : ExceptionPathDisplay
            With `ax_` and `figure_`.
        """
        plt = pyplot(self)
        if ax is None:
            _, ax = plt.subplots(figsize=(6, 4), layout="constrained")
        if self.max_changes == 1:
            ax.plot(
                self.n_leaves, self.exceptions, "o-", color="C0", ms=4, lw=1.2,
                label="single-feature changes of training rows",
            )  # fmt: skip
        ax.plot(
            self.n_leaves, self.row_exceptions, "s-", color="C1", ms=4, lw=1.2,
            label="training rows",
        )  # fmt: skip
        if np.isfinite(self.disagreement).any():
            ax.plot(
                self.n_leaves, self.disagreement, "^--", color="C2", ms=4, lw=1,
                label="rows the tree has not seen",
            )  # fmt: skip
        if self.chosen is not None:
            ax.axvline(
                self.chosen, color="0.4", lw=1, ls=":", label=f"the result: {self.chosen} leaves"
            )
        leaves_axis(ax)
        shares_axis(ax, np.concatenate([self.exceptions, self.row_exceptions, self.disagreement]))
        ax.set_ylim(top=1.0)
        ax.set(ylabel="share answered otherwise than by the ensemble")
        ax.grid(alpha=0.3)
        ax.legend(fontsize=8)
        self.ax_ = ax
        self.figure_ = ax.figure
        return self
